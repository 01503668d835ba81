//! The open async spans of one track, in order of begin.
//!
//! Equivalent to a list scanned for each query. More than `FEW` spans are also indexed by end and by name, so that a
//! query takes O(log n).

use std::collections::{BTreeSet, VecDeque};

use crate::model::NameIdx;

/// An async span whose end is not written yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct AsyncSpan {
    pub(super) start_ns: i64,
    /// Its end; `None` if unknown.
    pub(super) end_ns: Option<i64>,
    pub(super) depth: u16,
    pub(super) name: NameIdx,
    /// The id of its tree.
    pub(super) id: u64,
    /// A sequence number, increasing with each opened span.
    pub(super) number: u64,
}

impl AsyncSpan {
    /// Returns whether an end with this name, written when this span ends, would close `inner` instead.
    fn would_close(&self, inner: &Self) -> bool {
        let ends_first = match (self.end_ns, inner.end_ns) {
            (Some(end_ns), Some(inner_end_ns)) => end_ns < inner_end_ns,
            (end_ns, _) => end_ns.is_some(),
        };
        ends_first && self.name == inner.name
    }
}

/// The open spans of a track.
#[derive(Debug, Default)]
pub(super) struct AsyncSpans<const FEW: usize = 32> {
    open: VecDeque<AsyncSpan>,
    index: Option<Box<Index>>,
}

/// The numbers of the spans with a known end.
#[derive(Debug, Default)]
struct Index {
    by_end: BTreeSet<(i64, u16, u64)>,
    by_name: BTreeSet<(NameIdx, i64, u64)>,
}

impl Index {
    fn insert(&mut self, span: &AsyncSpan) {
        if let Some(end_ns) = span.end_ns {
            self.by_end.insert((end_ns, span.depth, span.number));
            self.by_name.insert((span.name, end_ns, span.number));
        }
    }

    fn remove(&mut self, span: &AsyncSpan) {
        if let Some(end_ns) = span.end_ns {
            self.by_end.remove(&(end_ns, span.depth, span.number));
            self.by_name.remove(&(span.name, end_ns, span.number));
        }
    }
}

impl<const FEW: usize> AsyncSpans<FEW> {
    /// Returns the span that started last.
    pub(super) fn last(&self) -> Option<&AsyncSpan> {
        self.open.back()
    }

    /// Adds a span. Its number is larger than all earlier numbers.
    pub(super) fn push(&mut self, span: AsyncSpan) {
        self.open.push_back(span);
        match &mut self.index {
            Some(index) => index.insert(&span),
            None if self.open.len() > FEW => {
                let mut index = Box::<Index>::default();
                self.open.iter().for_each(|span| index.insert(span));
                self.index = Some(index);
            }
            None => {}
        }
    }

    /// Returns the span with this number.
    pub(super) fn get(&self, number: u64) -> Option<&AsyncSpan> {
        self.open.get(self.position(number)?)
    }

    /// Removes the span with this number.
    pub(super) fn remove(&mut self, number: u64) -> Option<AsyncSpan> {
        let removed = self.open.remove(self.position(number)?)?;
        if let Some(index) = &mut self.index {
            index.remove(&removed);
        }
        if self.open.len() <= FEW / 2 {
            self.index = None;
        }
        Some(removed)
    }

    /// Removes the spans that end at `end_ns`, at `depth` or deeper, and returns them in order of begin.
    pub(super) fn take_ending(&mut self, end_ns: i64, depth: u16) -> Vec<AsyncSpan> {
        let mut ending: Vec<u64> = if let Some(index) = &self.index {
            let range = (end_ns, depth, 0)..=(end_ns, u16::MAX, u64::MAX);
            index.by_end.range(range).map(|&(_, _, number)| number).collect()
        } else {
            let ends = self.open.iter().filter(|span| span.end_ns == Some(end_ns) && span.depth >= depth);
            ends.map(|span| span.number).collect()
        };
        ending.sort_unstable();
        ending.into_iter().filter_map(|number| self.remove(number)).collect()
    }

    /// Returns whether readers would take the end of an open span for the end of `inner`.
    pub(super) fn would_close(&self, inner: &AsyncSpan) -> bool {
        let Some(index) = &self.index else { return self.open.iter().any(|outer| outer.would_close(inner)) };
        let first = index.by_name.range((inner.name, i64::MIN, 0)..).next();
        first.is_some_and(|&(name, end_ns, _)| {
            name == inner.name && inner.end_ns.is_none_or(|inner_end_ns| end_ns < inner_end_ns)
        })
    }

    fn position(&self, number: u64) -> Option<usize> {
        self.open.binary_search_by_key(&number, |span| span.number).ok()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn many_open_spans_answer_as_few_do(
            steps in proptest::collection::vec((0u32..5, prop::option::of(0i64..30), 0u16..6, 0u8..6, 0usize..60), 0..200),
        ) {
            let (mut indexed, mut scanned) = (AsyncSpans::<0>::default(), AsyncSpans::<{ usize::MAX }>::default());
            let mut number = 0;
            for (name, end_ns, depth, step, index) in steps {
                let wanted = scanned.open.get(index).map_or(0, |span| span.number);
                match step {
                    0 => prop_assert_eq!(indexed.remove(wanted), scanned.remove(wanted)),
                    1 => {
                        let end_ns = end_ns.unwrap_or(0);
                        prop_assert_eq!(indexed.take_ending(end_ns, depth), scanned.take_ending(end_ns, depth));
                    }
                    _ => {
                        number += 1;
                        let span = AsyncSpan { start_ns: 0, end_ns, depth, name: NameIdx(name), id: 0, number };
                        prop_assert_eq!(indexed.would_close(&span), scanned.would_close(&span));
                        indexed.push(span);
                        scanned.push(span);
                    }
                }
                prop_assert_eq!(indexed.get(wanted), scanned.get(wanted));
                prop_assert_eq!(indexed.last(), scanned.last());
            }
        }
    }
}
