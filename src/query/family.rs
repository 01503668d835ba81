//! The parent of a span on its track, and its longest children. Each query reads the forests of a few lanes, for any
//! number of spans.

use super::cursor::LaneCursor;
use super::describe::ancestors;
use super::snapshot::Snapshot;
use crate::store::{LaneIdx, LaneKind, RowIdx};

/// Children may be this many lanes below, because a span that overlaps its neighbours takes the next free lane.
const LANES_BELOW_MAX: usize = 8;

/// Returns the innermost span around a row.
#[must_use]
pub(crate) fn parent(snapshot: &Snapshot, row: RowIdx) -> Option<RowIdx> {
    let info = snapshot.lane(row.lane);
    let span = snapshot.row(row);
    // An instant is drawn below all spans of its track at its time.
    let depth = if info.kind == LaneKind::Spans { info.depth } else { u16::MAX };
    ancestors(snapshot, info.track, depth, span.start_ns, span.end_ns()).pop()
}

/// Returns the longest span directly below a span, the first one on ties.
#[must_use]
pub(crate) fn longest_child(snapshot: &Snapshot, row: RowIdx) -> Option<RowIdx> {
    longest_children(snapshot, row, 1).first().copied()
}

/// Returns at most `count` of the longest spans directly below a span, longest first.
///
/// Equivalent to sorting by duration the spans that start within it on the next lane that has any.
#[must_use]
pub(crate) fn longest_children(snapshot: &Snapshot, row: RowIdx, count: usize) -> Vec<RowIdx> {
    let info = snapshot.lane(row.lane);
    if info.kind != LaneKind::Spans {
        return Vec::new();
    }
    let span = snapshot.row(row);
    let lanes = snapshot.lanes_of(info.track).map(LaneIdx).filter(|&lane| {
        let other = snapshot.lane(lane);
        other.kind == LaneKind::Spans && other.depth > info.depth
    });
    for lane in lanes.take(LANES_BELOW_MAX) {
        let mut cursor = LaneCursor::new(snapshot.store(), lane);
        let from = cursor.first_from(span.start_ns);
        let to = cursor.first_from(span.end_ns());
        if from.row >= to.row {
            continue;
        }
        // The longest span splits the range in two, and each part has a longest span again.
        let mut ranges = vec![(from.row, to.row)];
        let mut candidates: Vec<(u64, RowIdx, (u64, u64))> = Vec::new();
        let mut longest = Vec::new();
        while longest.len() < count {
            for (first, end) in ranges.drain(..) {
                let (first, end) = (cursor.position_of(first), cursor.position_of(end));
                if let Some((position, dur_ns)) = cursor.longest(first, end) {
                    candidates.push((dur_ns, RowIdx { lane, row: position.row }, (first.row, end.row)));
                }
            }
            let best =
                (0..candidates.len()).max_by_key(|&at| (candidates[at].0, std::cmp::Reverse(candidates[at].1.row)));
            let Some(best) = best else { break };
            let (_, child, (first, end)) = candidates.swap_remove(best);
            ranges.extend([(first, child.row), (child.row + 1, end)]);
            longest.push(child);
        }
        return longest;
    }
    Vec::new()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::tests::snapshot;

    #[test]
    fn the_longest_children_are_those_of_a_sorted_list_and_each_has_the_span_as_its_parent() {
        let durations: Vec<u32> = (0..200).map(|n| (n * 7919 + n * n) % 97 + 1).collect();
        let mut lines = vec![r#"{"ph":"X","name":"root","pid":1,"tid":1,"ts":0,"dur":30000}"#.to_owned()];
        lines.extend(durations.iter().zip(0..).map(|(dur, index)| {
            format!(r#"{{"ph":"X","name":"n","pid":1,"tid":1,"ts":{},"dur":{dur}}}"#, index * 100 + 1)
        }));
        let snapshot = snapshot(&format!("[{}]", lines.join(",")));
        let root = RowIdx { lane: LaneIdx(0), row: 0 };
        let mut sorted: Vec<u64> = durations.iter().map(|&dur| u64::from(dur) * 1000).collect();
        sorted.sort_unstable_by(|a, b| b.cmp(a));
        for count in [1, 2, 12, 200, 500] {
            let children = longest_children(&snapshot, root, count);
            let found: Vec<u64> = children.iter().map(|&row| snapshot.row(row).dur_ns).collect();
            assert_eq!(found, &sorted[..count.min(200)], "{count}");
            assert!(children.iter().all(|&row| parent(&snapshot, row) == Some(root)));
        }
        assert_eq!(longest_child(&snapshot, root), longest_children(&snapshot, root, 1).first().copied());
        assert_eq!(parent(&snapshot, root), None);
        let leaf = longest_child(&snapshot, root).unwrap();
        assert_eq!(longest_child(&snapshot, leaf), None);
    }
}
