//! Decides whether each trace of a file is shown by itself, and names traces by their root spans.
//!
//! A file of a few traces is a result of a search, in which users look for one request. In a larger file, each trace
//! would need a header and rows of its own, so all traces share rows.

use std::collections::hash_map::Entry;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};
use xxhash_rust::xxh3::xxh3_64;

use crate::model::key_texts::abbreviated;

/// Most traces of a file that are shown each by itself. Searches of Jaeger and Tempo return 20 unless asked for more.
const TRACES_SHOWN_MAX: usize = 32;

/// Letters of the short form of an id.
const SHORT_ID_LETTERS: usize = 8;

/// The number of a trace in a file.
pub(super) type TraceNumber = u32;

/// A span that may be the root of a trace.
#[derive(Debug, Clone, Copy)]
pub(super) struct RootCandidate<'s> {
    pub(super) trace: Option<TraceNumber>,
    pub(super) id: u64,
    pub(super) parent: Option<u64>,
    pub(super) name: &'s [u8],
}

/// The traces of a file, unless there are too many to show.
#[derive(Debug, Default)]
pub(super) struct Traces {
    numbers: FxHashMap<u64, TraceNumber>,
    /// By number.
    ids: Vec<Box<str>>,
    are_too_many: bool,
}

impl Traces {
    /// Returns the number of a trace; `None` without an id, and once there are too many.
    pub(super) fn number(&mut self, id: &str) -> Option<TraceNumber> {
        if id.is_empty() || self.are_too_many {
            return None;
        }
        let next = self.ids.len() as TraceNumber;
        match self.numbers.entry(xxh3_64(id.as_bytes())) {
            Entry::Occupied(entry) => Some(*entry.get()),
            Entry::Vacant(_) if self.ids.len() == TRACES_SHOWN_MAX => {
                self.are_too_many = true;
                None
            }
            Entry::Vacant(entry) => {
                self.ids.push(Box::from(&*abbreviated(id)));
                Some(*entry.insert(next))
            }
        }
    }

    /// Returns whether each trace is shown by itself: there are several, and not too many.
    pub(super) fn are_shown(&self) -> bool {
        self.ids.len() > 1 && !self.are_too_many
    }

    /// Returns the titles of traces by number: the name of the root span and a short form of the id. `spans` are all
    /// spans in order of start.
    pub(super) fn titles<'s>(&self, spans: impl Iterator<Item = RootCandidate<'s>> + Clone) -> Vec<Arc<str>> {
        let ids: FxHashSet<u64> = spans.clone().map(|span| span.id).collect();
        // By number: the rank and the name of the first span of the least rank. Without a root, a span whose parent is
        // in no file is the outermost.
        let mut roots: Vec<Option<(u8, &[u8])>> = vec![None; self.ids.len()];
        for span in spans {
            let Some(root) = span.trace.and_then(|trace| roots.get_mut(trace as usize)) else { continue };
            let rank = match span.parent {
                None => 0,
                Some(parent) if !ids.contains(&parent) => 1,
                Some(_) => 2,
            };
            if root.is_none_or(|(least, _)| rank < least) {
                *root = Some((rank, span.name));
            }
        }
        let names = roots.iter().map(|root| root.map_or("".into(), |(_, name)| String::from_utf8_lossy(name)));
        let named = names.zip(self.short_ids()).map(|(name, id)| match name.trim() {
            "" => format!("Trace {id}").into(),
            name => format!("{} {id}", abbreviated(name)).into(),
        });
        named.collect()
    }

    /// Returns the short forms of ids, and whole ids where the short forms are not unique.
    fn short_ids(&self) -> Vec<&str> {
        let short = |id: &'_ str| -> std::ops::Range<usize> {
            // Ids of 64 bits may be padded to 128.
            let zeros = id.len() - id.trim_start_matches('0').len();
            let start = if zeros == id.len() { 0 } else { zeros };
            let end = id[start..].char_indices().nth(SHORT_ID_LETTERS).map_or(id.len(), |(end, _)| start + end);
            start..end
        };
        let mut counts: FxHashMap<&str, u32> = FxHashMap::default();
        self.ids.iter().for_each(|id| *counts.entry(&id[short(id)]).or_default() += 1);
        let shown = self.ids.iter().map(|id| match &id[short(id)] {
            short if counts.get(short) == Some(&1) => short,
            _ => id,
        });
        shown.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_short_where_that_tells_them_apart() {
        let mut traces = Traces::default();
        let ids = ["4bf92f3577b34da6", "0000000000000000a1", "a1", "00", "4bf92f3500000000", "äöüäöüäöüä"];
        for (id, number) in ids.iter().zip(0..) {
            assert_eq!((traces.number(id), traces.number(id)), (Some(number), Some(number)));
        }
        let whole = ["4bf92f3577b34da6", "0000000000000000a1", "a1", "00", "4bf92f3500000000", "äöüäöüäö"];
        assert_eq!(traces.short_ids(), whole);
        assert_eq!(traces.number(""), None);
    }

    #[test]
    fn one_trace_and_very_many_are_not_shown_each_by_itself() {
        let mut traces = Traces::default();
        for number in 0..TRACES_SHOWN_MAX + 2 {
            let is_known = traces.number(&format!("trace {number}")).is_some();
            assert_eq!(is_known, number < TRACES_SHOWN_MAX);
            assert_eq!(traces.are_shown(), (1..TRACES_SHOWN_MAX).contains(&number), "{number}");
        }
        assert_eq!(traces.number("trace 0"), None);
    }
}
