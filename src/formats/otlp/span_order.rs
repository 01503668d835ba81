//! Orders spans for the layout: by start, longer first, and parents before their children if both times are equal.

use std::cmp::Reverse;

use rustc_hash::FxHashMap;

/// The times of a span, and its place among others.
#[derive(Debug, Clone, Copy)]
pub(super) struct SpanKey {
    pub(super) start_ns: i64,
    pub(super) end_ns: i64,
    pub(super) id: u64,
    /// Its caller. For the server's half of a call, this is the client's half, which has the same id.
    pub(super) parent: Option<u64>,
}

impl SpanKey {
    fn times(self) -> (i64, Reverse<i64>) {
        (self.start_ns, Reverse(self.end_ns))
    }

    fn is_servers_half(self) -> bool {
        self.parent == Some(self.id)
    }
}

/// Sorts spans so that each parent precedes the children within its times. Otherwise the order of the trace stays.
pub(super) fn sort<T>(spans: &mut [T], key_of: impl Fn(&T) -> SpanKey) {
    spans.sort_by_key(|span| key_of(span).times());
    for equal in spans.chunk_by_mut(|one, next| key_of(one).times() == key_of(next).times()) {
        if equal.len() > 1 {
            put_parents_first(equal, &key_of);
        }
    }
}

/// Puts parents before their children, and clients' halves before servers' halves.
fn put_parents_first<T>(spans: &mut [T], key_of: impl Fn(&T) -> SpanKey) {
    let mut indices: FxHashMap<(u64, bool), usize> = FxHashMap::default();
    for (index, key) in spans.iter().map(&key_of).enumerate() {
        indices.entry((key.id, key.is_servers_half())).or_insert(index);
    }
    let parent = |key: SpanKey| {
        let parent = key.parent?;
        // Children are below the server's half if there is one.
        let servers = indices.get(&(parent, true)).filter(|_| !key.is_servers_half());
        servers.or_else(|| indices.get(&(parent, false))).copied()
    };
    let parents: Vec<Option<usize>> = spans.iter().map(|span| parent(key_of(span))).collect();
    let (mut ranks, mut next_rank, mut path) = (vec![None; spans.len()], 0, Vec::new());
    for first in 0..spans.len() {
        let mut next = Some(first);
        while let Some(index) = next.filter(|&index| ranks[index].is_none()) {
            // A span of this path has a rank already, so a cycle ends.
            ranks[index] = Some(usize::MAX);
            path.push(index);
            next = parents[index];
        }
        while let Some(index) = path.pop() {
            ranks[index] = Some(next_rank);
            next_rank += 1;
        }
    }
    let mut ranks = ranks.into_iter();
    spans.sort_by_cached_key(|_| ranks.next());
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    type PlainSpan = (u64, Option<u64>, i64, i64);

    fn sorted_ids(spans: &[PlainSpan]) -> Vec<(u64, bool)> {
        let key = |&(id, parent, start_ns, end_ns): &PlainSpan| SpanKey { start_ns, end_ns, id, parent };
        let mut spans = spans.to_vec();
        sort(&mut spans, key);
        spans.iter().map(|span| (span.0, key(span).is_servers_half())).collect()
    }

    #[test]
    fn spans_that_call_each_other_in_a_cycle_are_all_kept() {
        assert_eq!(sorted_ids(&[(1, Some(2), 5, 9), (2, Some(1), 5, 9)]), [(2, false), (1, false)]);
        assert_eq!(sorted_ids(&[(1, Some(1), 5, 9)]), [(1, true)]);
    }

    #[test]
    fn a_servers_half_is_between_its_clients_half_and_its_children() {
        let (client, server, child) = ((1, None, 5, 9), (1, Some(1), 5, 9), (2, Some(1), 5, 9));
        for spans in [[child, server, client], [child, client, server], [client, child, server]] {
            assert_eq!(sorted_ids(&spans), [(1, false), (1, true), (2, false)]);
        }
    }

    proptest! {
        #[test]
        fn each_parent_precedes_the_children_within_its_times(
            spans in prop::collection::vec((any::<u64>(), 1..4i64, 1..4i64), 1..40),
        ) {
            let all: Vec<_> = (0..).zip(&spans).map(|(id, &(parent, start_ns, dur_ns))| {
                (id, (id > 0).then(|| parent % id.max(1)), start_ns, start_ns + dur_ns)
            }).collect();
            // Children come first, as exporters write them.
            let order = sorted_ids(&all.iter().copied().rev().collect::<Vec<_>>());
            let position = |id: u64| order.iter().position(|&(sorted, _)| sorted == id);
            for &(id, parent, start_ns, end_ns) in &all {
                let Some((parent, _, from_ns, to_ns)) = parent.map(|parent| all[parent as usize]) else { continue };
                if from_ns <= start_ns && end_ns <= to_ns {
                    prop_assert!(position(parent) < position(id));
                }
            }
            prop_assert_eq!(order.len(), all.len());
        }
    }
}
