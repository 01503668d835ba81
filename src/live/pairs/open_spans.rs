//! The open spans of a track or of an async id, to find the span that an end names. Usually few are open, and a scan
//! from the innermost span is the fastest. If there are many, they are indexed by name, so that an end visits no span
//! of another name.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::WaitingBegin;
use crate::model::TrackKey;

/// Number of open spans above which they are indexed by name.
const SCANNED_MAX: usize = 16;

#[cfg(test)]
thread_local! {
    /// Number of visited spans.
    pub(super) static VISITED: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

#[derive(Debug, Default)]
pub(super) struct OpenSpans {
    /// By number, outermost first. Spans of an async id may end in any order.
    begins: BTreeMap<u64, WaitingBegin>,
    /// The number of the next span.
    next: u64,
    /// The numbers by name, once there were many spans.
    names: Option<FxHashMap<Box<str>, Vec<u64>>>,
    /// Begins that are not kept: each count with the lowest number of a span inside of them, ascending.
    dropped: Vec<(u64, u64)>,
}

impl OpenSpans {
    pub(super) fn push(&mut self, begin: WaitingBegin) {
        if let Some(names) = &mut self.names {
            add_name(names, self.next, &begin.name.text);
        }
        self.begins.insert(self.next, begin);
        self.next += 1;
        if self.names.is_none() && self.begins.len() > SCANNED_MAX {
            let names = self.names.insert(FxHashMap::default());
            self.begins.iter().for_each(|(&number, begin)| add_name(names, number, &begin.name.text));
        }
    }

    #[must_use]
    pub(super) fn is_empty(&self) -> bool {
        self.begins.is_empty()
    }

    /// Iterates over the spans inside the span with this number, or over all, outermost first.
    pub(super) fn inside(&self, outer: Option<u64>) -> impl Iterator<Item = &WaitingBegin> {
        let after = outer.map_or(Bound::Unbounded, Bound::Excluded);
        self.begins.range((after, Bound::Unbounded)).map(|(_, begin)| begin)
    }

    /// Returns all spans, outermost first.
    pub(super) fn into_begins(self) -> impl Iterator<Item = WaitingBegin> {
        self.begins.into_values()
    }

    /// Moves all spans to another track.
    pub(super) fn set_track(&mut self, track: &Arc<TrackKey>) {
        self.begins.values_mut().for_each(|begin| begin.track = Arc::clone(track));
    }

    /// Returns the track of the innermost span on a wanted track, if that is one of the last few.
    #[must_use]
    pub(super) fn last_track(&self, is_wanted: impl Fn(&TrackKey) -> bool) -> Option<&Arc<TrackKey>> {
        self.begins.values().rev().take(SCANNED_MAX).map(|begin| &begin.track).find(|track| is_wanted(track))
    }

    /// Returns the number of the innermost span for which `is_wanted` returns true.
    #[must_use]
    pub(super) fn last(&self, is_wanted: impl Fn(&WaitingBegin) -> bool) -> Option<u64> {
        self.begins.iter().rev().find(|(_, begin)| is_wanted(begin)).map(|(&number, _)| number)
    }

    /// Returns the number of the innermost span of a name for which `is_wanted` returns true.
    #[must_use]
    pub(super) fn last_of(&self, name: &str, is_wanted: impl Fn(&WaitingBegin) -> bool) -> Option<u64> {
        let is_wanted = |begin: &WaitingBegin| {
            #[cfg(test)]
            VISITED.set(VISITED.get() + 1);
            *begin.name.text == *name && is_wanted(begin)
        };
        match &self.names {
            Some(names) => names.get(name)?.iter().rev().copied().find(|number| is_wanted(&self.begins[number])),
            None => self.last(is_wanted),
        }
    }

    /// Removes the span with a number.
    pub(super) fn remove(&mut self, number: u64) -> Option<WaitingBegin> {
        let begin = self.begins.remove(&number)?;
        self.forget_name(number, &begin.name.text);
        Some(begin)
    }

    /// Removes the span with a number and its children, and returns them innermost first. A span that begins at
    /// `end_ns` is no child, in either order of the events, unless the removed span has no duration.
    #[must_use]
    pub(super) fn cut(&mut self, number: u64, end_ns: i64) -> Vec<WaitingBegin> {
        let is_empty = self.begins.get(&number).is_some_and(|outer| outer.start_ns >= end_ns);
        let children = self.begins.range(number..).take_while(|(_, begin)| is_empty || begin.start_ns < end_ns);
        let Some(last) = children.map(|(&number, _)| number).last() else { return Vec::new() };
        let mut cut = Vec::new();
        // Innermost first, so that no number in the index of names moves.
        while let Some((&inner, _)) = self.begins.range(number..=last).next_back() {
            cut.extend(self.remove(inner));
        }
        self.dropped.retain(|(inside, _)| *inside <= number);
        cut
    }

    /// Counts a begin inside the innermost span that is not kept, so that its end closes no other span.
    pub(super) fn drop_begin(&mut self) {
        let inside = self.next_inside();
        match self.dropped.last_mut() {
            Some((number, count)) if *number >= inside => *count += 1,
            _ => self.dropped.push((inside, 1)),
        }
    }

    /// Removes a begin that is not kept, if one is inside the innermost span, and returns whether one was.
    pub(super) fn take_dropped(&mut self) -> bool {
        let inside = self.next_inside();
        let Some((_, count)) = self.dropped.last_mut().filter(|(number, _)| *number >= inside) else { return false };
        *count -= 1;
        if *count == 0 {
            self.dropped.pop();
        }
        true
    }

    /// Returns the lowest number of a span inside the innermost one.
    fn next_inside(&self) -> u64 {
        self.begins.last_key_value().map_or(0, |(&number, _)| number + 1)
    }

    fn forget_name(&mut self, number: u64, name: &str) {
        let Some(names) = &mut self.names else { return };
        if let Some(numbers) = names.get_mut(name) {
            if let Ok(position) = numbers.binary_search(&number) {
                numbers.remove(position);
            }
            if numbers.is_empty() {
                names.remove(name);
            }
        }
    }
}

fn add_name(names: &mut FxHashMap<Box<str>, Vec<u64>>, number: u64, name: &str) {
    match names.get_mut(name) {
        Some(numbers) => numbers.push(number),
        None => drop(names.insert(name.into(), vec![number])),
    }
}
