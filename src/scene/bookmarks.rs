//! The user's bookmarks: named points in time, sorted by time. Intervals are measured from the selected bookmark.

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::base::direction::Direction;
use serde::{Deserialize, Serialize};

/// Identifies a bookmark; reused only after its addition was undone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct BookmarkId(pub u32);

/// A point in time marked by the user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Bookmark {
    pub(crate) id: BookmarkId,
    pub(crate) ts_ns: i64,
    pub(crate) name: String,
}

impl Bookmark {
    /// Returns the name to show: the default name if the user gave none.
    #[must_use]
    pub(crate) fn title(&self) -> Cow<'_, str> {
        if self.name.trim().is_empty() { self.id.default_name().into() } else { (&*self.name).into() }
    }
}

impl BookmarkId {
    /// Returns the name of a bookmark that the user has not named.
    #[must_use]
    pub(crate) fn default_name(self) -> String {
        format!("Marker {}", self.0)
    }
}

/// The bookmarks of a trace.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Bookmarks {
    all: Vec<Bookmark>,
    /// Number of bookmarks ever made.
    made: u32,
    /// The selected bookmark, from which intervals are measured, and the previous bookmark.
    chosen: [Option<BookmarkId>; 2],
}

impl Bookmarks {
    pub(crate) const COUNT_MAX: usize = 1000;

    /// Returns all bookmarks, in time order.
    #[must_use]
    pub(crate) fn all(&self) -> &[Bookmark] {
        &self.all
    }

    #[must_use]
    pub(crate) fn get(&self, id: BookmarkId) -> Option<&Bookmark> {
        self.all.iter().find(|mark| mark.id == id)
    }

    /// Returns the selected bookmark, from which intervals are measured.
    #[must_use]
    pub(crate) fn chosen(&self) -> Option<&Bookmark> {
        self.chosen[0].and_then(|id| self.get(id))
    }

    /// Adds a bookmark and selects it, unless there are too many. Selects the bookmark of exactly this time instead, if
    /// there is one.
    pub(crate) fn add(&mut self, ts_ns: i64) {
        match self.all.iter().find(|mark| mark.ts_ns == ts_ns).map(|mark| mark.id) {
            Some(id) => self.choose(id),
            None => self.insert(ts_ns),
        }
    }

    /// Adds a bookmark and selects it, unless there are too many. Saved traces may have several bookmarks at the same
    /// time.
    fn insert(&mut self, ts_ns: i64) {
        if self.all.len() >= Self::COUNT_MAX {
            return;
        }
        self.made += 1;
        let id = BookmarkId(self.made);
        let index = self.all.partition_point(|mark| mark.ts_ns <= ts_ns);
        self.all.insert(index, Bookmark { id, ts_ns, name: id.default_name() });
        self.choose(id);
    }

    /// Selects a bookmark; the previously selected one becomes the other end of the interval.
    pub(crate) fn choose(&mut self, id: BookmarkId) {
        if self.chosen[0] != Some(id) {
            self.chosen = [Some(id), self.chosen[0]];
        }
    }

    /// Renames a bookmark. A bookmark with an empty name is shown under its default name.
    pub(crate) fn rename(&mut self, id: BookmarkId, name: &str) {
        if let Some(mark) = self.all.iter_mut().find(|mark| mark.id == id) {
            name.clone_into(&mut mark.name);
        }
    }

    pub(crate) fn remove(&mut self, id: BookmarkId) {
        self.all.retain(|mark| mark.id != id);
        let [last, before] = self.chosen.map(|chosen| chosen.filter(|&chosen| chosen != id));
        self.chosen = if last.is_some() { [last, before] } else { [before, None] };
    }

    /// Returns the interval between the two bookmarks added or selected last.
    #[must_use]
    pub(crate) fn measured(&self) -> Option<(i64, i64)> {
        let [Some(a), Some(b)] = self.chosen.map(|id| id.and_then(|id| self.get(id))) else { return None };
        Some((a.ts_ns.min(b.ts_ns), a.ts_ns.max(b.ts_ns)))
    }

    /// Returns the interval between a bookmark and the previous bookmark in time; `None` for the first.
    #[must_use]
    pub(crate) fn interval_to(&self, id: BookmarkId) -> Option<(i64, i64)> {
        let index = self.all.iter().position(|mark| mark.id == id)?;
        let before = self.all.get(index.checked_sub(1)?)?;
        Some((before.ts_ns, self.all[index].ts_ns))
    }

    /// Returns the first bookmark after a time, or the last before it.
    #[must_use]
    pub(crate) fn next(&self, ts_ns: i64, direction: Direction) -> Option<&Bookmark> {
        match direction {
            Direction::Forward => self.all.iter().find(|mark| mark.ts_ns > ts_ns),
            Direction::Backward => self.all.iter().rev().find(|mark| mark.ts_ns < ts_ns),
        }
    }

    /// Returns `saved` with what one window has changed between `before` and `now`. Each window numbers its own
    /// bookmarks, so a bookmark is recognised by its time.
    #[must_use]
    pub(crate) fn merged(mut saved: Self, before: &Self, now: &Self) -> Self {
        if before == now {
            return saved;
        }
        if saved == *before {
            return now.clone();
        }
        let (old, new) = (before.by_time(), now.by_time());
        let ids: BTreeMap<_, _> = saved.by_time().into_iter().map(|(time, mark)| (time, mark.id)).collect();
        for id in old.keys().filter(|time| !new.contains_key(time)).filter_map(|time| ids.get(time)) {
            saved.remove(*id);
        }
        let mut new_ids = BTreeMap::new();
        for (time, mark) in &new {
            let is_changed = old.get(time).is_none_or(|earlier| earlier.name != mark.name);
            let Some(id) = ids.get(time).copied().or_else(|| saved.add_if(is_changed, mark.ts_ns)) else { continue };
            if is_changed {
                let is_unnamed = mark.name == mark.id.default_name();
                saved.rename(id, &if is_unnamed { id.default_name() } else { mark.name.clone() });
            }
            new_ids.insert(mark.id, id);
        }
        saved.chosen = now.chosen.map(|id| new_ids.get(&id?).copied());
        saved
    }

    /// Adds a bookmark if `is_wanted` and there is room, and returns its id.
    fn add_if(&mut self, is_wanted: bool, ts_ns: i64) -> Option<BookmarkId> {
        let made = self.made;
        if is_wanted {
            self.insert(ts_ns);
        }
        (self.made > made).then_some(BookmarkId(self.made))
    }

    /// Returns the bookmarks by time, then by number.
    fn by_time(&self) -> BTreeMap<(i64, usize), &Bookmark> {
        let number =
            |index: usize| self.all[..index].iter().rev().take_while(|m| m.ts_ns == self.all[index].ts_ns).count();
        self.all.iter().enumerate().map(|(index, mark)| ((mark.ts_ns, number(index)), mark)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bookmarks_are_sorted_by_time() {
        let mut marks = Bookmarks::default();
        [50, 10, 30].into_iter().for_each(|ts_ns| marks.add(ts_ns));
        let times: Vec<_> = marks.all().iter().map(|mark| mark.ts_ns).collect();
        assert_eq!(times, [10, 30, 50]);
        assert_eq!(marks.next(30, Direction::Forward).map(|mark| mark.ts_ns), Some(50));
        assert_eq!(marks.next(30, Direction::Backward).map(|mark| mark.ts_ns), Some(10));
        assert_eq!(marks.next(50, Direction::Forward), None);
    }

    #[test]
    fn a_bookmark_added_again_at_its_time_is_selected_and_no_second_one_is_made() {
        let mut marks = Bookmarks::default();
        [50, 10, 50, 50].into_iter().for_each(|ts_ns| marks.add(ts_ns));
        assert_eq!(marks.all().iter().map(|mark| mark.ts_ns).collect::<Vec<_>>(), [10, 50]);
        assert_eq!(marks.chosen().map(|mark| mark.id), Some(BookmarkId(1)));
        assert_eq!(marks.measured(), Some((10, 50)));
        // The next bookmark is numbered without a gap.
        marks.add(60);
        assert_eq!(marks.chosen().map(|mark| mark.name.as_str()), Some("Marker 3"));
    }

    #[test]
    fn an_interval_ends_at_a_bookmark_and_starts_at_the_one_before_it_in_time() {
        let mut marks = Bookmarks::default();
        [300, 100, 200].into_iter().for_each(|ts_ns| marks.add(ts_ns));
        let intervals = [1, 2, 3].map(|id| marks.interval_to(BookmarkId(id)));
        assert_eq!(intervals, [Some((200, 300)), None, Some((100, 200))]);
        marks.remove(BookmarkId(3));
        assert_eq!(marks.interval_to(BookmarkId(1)), Some((100, 300)));
        assert_eq!(marks.interval_to(BookmarkId(3)), None);
    }

    #[test]
    fn a_bookmark_with_an_empty_name_is_shown_under_its_default_name() {
        let mut marks = Bookmarks::default();
        marks.add(7);
        for (name, title) in [("start", "start"), ("", "Marker 1"), (" ", "Marker 1"), ("end", "end")] {
            marks.rename(BookmarkId(1), name);
            let mark = &marks.all()[0];
            assert_eq!((&*mark.name, &*mark.title()), (name, title));
        }
    }

    #[test]
    fn bookmarks_of_two_windows_are_merged_and_each_changes_its_own() {
        let marked = |marks: &Bookmarks, times: &[i64]| {
            let mut marks = marks.clone();
            times.iter().for_each(|&ts_ns| marks.insert(ts_ns));
            marks
        };
        let texts = |marks: &Bookmarks| {
            let text = |mark: &Bookmark| format!("{} {} {}", mark.id.0, mark.ts_ns, mark.title());
            marks.all().iter().map(text).collect::<Vec<_>>()
        };
        let before = marked(&Bookmarks::default(), &[10]);
        let (mut one, mut other) = (marked(&before, &[5]), marked(&before, &[7, 7]));
        one.rename(BookmarkId(1), "ten");
        let saved = Bookmarks::merged(before.clone(), &before, &one);
        assert_eq!(saved, one);
        let both = Bookmarks::merged(saved, &before, &other);
        assert_eq!(texts(&both), ["2 5 Marker 2", "3 7 Marker 3", "4 7 Marker 4", "1 10 ten"]);
        assert_eq!(both.chosen().map(|mark| mark.id), Some(BookmarkId(4)));
        // A window also changes bookmarks with another number in the file.
        let shown = other.clone();
        other.remove(BookmarkId(1));
        other.rename(BookmarkId(2), "seven");
        assert_eq!(texts(&Bookmarks::merged(both, &shown, &other)), ["2 5 Marker 2", "3 7 seven", "4 7 Marker 4"]);
    }

    #[test]
    fn the_last_two_selected_are_measured_and_a_removed_one_is_not() {
        let mut marks = Bookmarks::default();
        marks.add(500);
        assert_eq!(marks.measured(), None);
        marks.add(100);
        assert_eq!(marks.measured(), Some((100, 500)));
        marks.add(300);
        assert_eq!(marks.measured(), Some((100, 300)));
        marks.choose(BookmarkId(1));
        assert_eq!(marks.measured(), Some((300, 500)));
        marks.remove(BookmarkId(3));
        assert_eq!((marks.measured(), marks.chosen().map(|mark| mark.ts_ns)), (None, Some(500)));
        marks.remove(BookmarkId(1));
        assert_eq!(marks.chosen(), None);
        // A new bookmark has a new name.
        marks.add(7);
        assert_eq!(marks.chosen().map(|mark| mark.name.as_str()), Some("Marker 4"));
    }
}
