//! The open spans of a track or of an async id, to find the one that an end names. A scan from the innermost span is
//! the fastest for the few that are usually open. If there are many, their names are counted, so that an end of another
//! name visits none of them.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::WaitingBegin;
use crate::live::feed::LiveName;
use crate::model::TrackKey;

/// Number of open spans above which their names are counted.
const SCANNED_MAX: usize = 16;

#[cfg(test)]
thread_local! {
    /// Number of visited spans.
    pub(super) static VISITED: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

#[derive(Debug, Default)]
pub(super) struct OpenSpans {
    /// Outermost first.
    begins: Vec<WaitingBegin>,
    /// Number of spans by name, once there were many.
    names: Option<FxHashMap<Box<str>, u32>>,
}

impl OpenSpans {
    pub(super) fn push(&mut self, begin: WaitingBegin) {
        if let Some(names) = &mut self.names {
            count_name(names, &begin.name);
        }
        self.begins.push(begin);
        if self.names.is_none() && self.begins.len() > SCANNED_MAX {
            let names = self.names.insert(FxHashMap::default());
            self.begins.iter().for_each(|begin| count_name(names, &begin.name));
        }
    }

    #[must_use]
    pub(super) fn is_empty(&self) -> bool {
        self.begins.is_empty()
    }

    /// Returns the open spans, outermost first.
    #[must_use]
    pub(super) fn begins(&self) -> &[WaitingBegin] {
        &self.begins
    }

    /// Moves all spans to another track.
    pub(super) fn set_track(&mut self, track: &Arc<TrackKey>) {
        self.begins.iter_mut().for_each(|begin| begin.track = Arc::clone(track));
    }

    /// Returns the position of the innermost span of a name for which `is_wanted` returns true.
    #[must_use]
    pub(super) fn last_of(&self, name: &str, is_wanted: impl Fn(&WaitingBegin) -> bool) -> Option<usize> {
        if self.names.as_ref().is_some_and(|names| !names.contains_key(name)) {
            return None;
        }
        self.begins.iter().rposition(|begin| {
            #[cfg(test)]
            VISITED.set(VISITED.get() + 1);
            *begin.name.text == *name && is_wanted(begin)
        })
    }

    /// Removes the span at a position.
    pub(super) fn remove(&mut self, position: usize) -> WaitingBegin {
        let begin = self.begins.remove(position);
        self.forget_name(&begin.name);
        begin
    }

    /// Removes the spans from a position on, and returns them outermost first.
    #[must_use]
    pub(super) fn cut(&mut self, position: usize) -> Vec<WaitingBegin> {
        let cut: Vec<WaitingBegin> = self.begins.drain(position..).collect();
        cut.iter().for_each(|begin| self.forget_name(&begin.name));
        cut
    }

    fn forget_name(&mut self, name: &LiveName) {
        let Some(names) = &mut self.names else { return };
        if let Some(count) = names.get_mut(&*name.text) {
            *count -= 1;
            if *count == 0 {
                names.remove(&*name.text);
            }
        }
    }
}

fn count_name(names: &mut FxHashMap<Box<str>, u32>, name: &LiveName) {
    match names.get_mut(&*name.text) {
        Some(count) => *count += 1,
        None => drop(names.insert(name.text.clone(), 1)),
    }
}
