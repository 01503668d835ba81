//! The user's bookmarks: points in time, named, sorted by time, with the one that intervals are measured from.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

/// Identifies a bookmark; never reused.
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
    /// Returns the name to show: the default one if it has none.
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
    /// The selected bookmark, from which intervals are measured, and the one before it.
    chosen: [Option<BookmarkId>; 2],
}

impl Bookmarks {
    const COUNT_MAX: usize = 1000;

    /// Returns all bookmarks, in time order.
    #[must_use]
    pub(crate) fn all(&self) -> &[Bookmark] {
        &self.all
    }

    #[must_use]
    pub(crate) fn get(&self, id: BookmarkId) -> Option<&Bookmark> {
        self.all.iter().find(|mark| mark.id == id)
    }

    /// Returns the selected bookmark.
    #[must_use]
    pub(crate) fn chosen(&self) -> Option<&Bookmark> {
        self.chosen[0].and_then(|id| self.get(id))
    }

    /// Adds a bookmark and selects it, unless there are too many.
    pub(crate) fn add(&mut self, ts_ns: i64) {
        if self.all.len() >= Self::COUNT_MAX {
            return;
        }
        self.made += 1;
        let id = BookmarkId(self.made);
        let index = self.all.partition_point(|mark| mark.ts_ns <= ts_ns);
        self.all.insert(index, Bookmark { id, ts_ns, name: id.default_name() });
        self.choose(id);
    }

    /// Selects a bookmark.
    pub(crate) fn choose(&mut self, id: BookmarkId) {
        if self.chosen[0] != Some(id) {
            self.chosen = [Some(id), self.chosen[0]];
        }
    }

    /// Renames a bookmark. One with an empty name is shown under its default name.
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

    /// Returns the first bookmark after a time, or the last before it.
    #[must_use]
    pub(crate) fn next(&self, ts_ns: i64, forward: bool) -> Option<&Bookmark> {
        if forward {
            self.all.iter().find(|mark| mark.ts_ns > ts_ns)
        } else {
            self.all.iter().rev().find(|mark| mark.ts_ns < ts_ns)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bookmarks_are_sorted_by_time() {
        let mut marks = Bookmarks::default();
        [50, 10, 30, 30].into_iter().for_each(|ts_ns| marks.add(ts_ns));
        let times: Vec<_> = marks.all().iter().map(|mark| mark.ts_ns).collect();
        assert_eq!(times, [10, 30, 30, 50]);
        assert_eq!(marks.next(30, true).map(|mark| mark.ts_ns), Some(50));
        assert_eq!(marks.next(30, false).map(|mark| mark.ts_ns), Some(10));
        assert_eq!(marks.next(50, true), None);
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
