//! Orders events with the same time so that each flow starts before it goes on and ends. Readers drop a step or an end
//! whose flow has not started.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;

use crate::model::TrackIdx;
use crate::store::flow::FlowRole;

/// One of the events of one time.
#[derive(Debug, Clone, Copy)]
pub(super) struct TiedEvent {
    pub(super) track: TrackIdx,
    /// Whether it is a point of a flow: points between two other events of their track may swap.
    pub(super) is_point: bool,
}

/// A point of a flow, with the index of the event that is written with it.
#[derive(Debug, Clone, Copy)]
pub(super) struct TiedPoint {
    pub(super) flow: u64,
    pub(super) role: FlowRole,
    pub(super) event: usize,
}

/// Returns the order in which to write events of one time; `None` for the order that they have. Each event is as early
/// as possible. A cycle of flows and tracks is broken at its first event.
///
/// A flow that `is_open` before this time and starts again is left as it is: its end may belong to the earlier flow.
pub(super) fn flow_order(
    events: &[TiedEvent],
    points: Vec<TiedPoint>,
    is_open: impl Fn(u64) -> bool,
) -> Option<Vec<usize>> {
    let flow_edges = flow_edges(points, is_open);
    if flow_edges.iter().all(|(before, after)| before < after) {
        return None;
    }
    let (in_track, in_flow) = (Edges::new(events.len(), track_edges(events)), Edges::new(events.len(), flow_edges));
    Some(ordered(in_track, in_flow))
}

/// Events that precede others.
struct Edges {
    /// The events that follow each one.
    after: Vec<Vec<usize>>,
    /// Number of events before each one that are not written.
    waits: Vec<u32>,
}

impl Edges {
    fn new(events: usize, edges: Vec<(usize, usize)>) -> Self {
        let mut new = Self { after: vec![Vec::new(); events], waits: vec![0; events] };
        for (before, after) in edges {
            new.after[before].push(after);
            new.waits[after] += 1;
        }
        new
    }

    /// Returns the events that wait for no other event once `event` is written.
    fn written(&mut self, event: usize) -> Vec<usize> {
        let Self { after, waits } = self;
        let mut after = std::mem::take(&mut after[event]);
        after.retain(|&after| {
            waits[after] -= 1;
            waits[after] == 0
        });
        after
    }
}

/// Returns the edges between consecutive points of each flow: starts, then steps, then ends.
fn flow_edges(mut points: Vec<TiedPoint>, is_open: impl Fn(u64) -> bool) -> Vec<(usize, usize)> {
    points.sort_by_key(|point| (point.flow, point.role as u8, point.event));
    let is_ordered = |of_flow: &&[TiedPoint]| {
        let starts = of_flow.iter().filter(|point| point.role == FlowRole::Start).count();
        starts == 0 || starts == 1 && !is_open(of_flow[0].flow)
    };
    let flows = points.chunk_by(|a, b| a.flow == b.flow).filter(is_ordered);
    let pairs = flows.flat_map(|of_flow| of_flow.windows(2).map(|pair| (pair[0].event, pair[1].event)));
    pairs.filter(|(before, after)| before != after).collect()
}

/// Returns the edges that keep the order of each track, apart from points between two other events.
fn track_edges(events: &[TiedEvent]) -> Vec<(usize, usize)> {
    let mut edges = Vec::new();
    // By track: the last event that is not a point, and the points after it.
    let mut last: FxHashMap<TrackIdx, (Option<usize>, Vec<usize>)> = FxHashMap::default();
    for (index, event) in events.iter().enumerate() {
        let (before, points) = last.entry(event.track).or_default();
        edges.extend(before.map(|before| (before, index)));
        if event.is_point {
            points.push(index);
        } else {
            edges.extend(points.drain(..).map(|point| (point, index)));
            *before = Some(index);
        }
    }
    edges
}

fn ordered(mut in_track: Edges, mut in_flow: Edges) -> Vec<usize> {
    let events = in_track.waits.len();
    let mut order = Vec::with_capacity(events);
    // Events that no other event of their track precedes. Blocked events wait for their flow.
    let (mut ready, mut blocked) = (BTreeSet::new(), BTreeSet::new());
    let first = (0..events).filter(|&event| in_track.waits[event] == 0);
    first.for_each(|event| _ = if in_flow.waits[event] == 0 { ready.insert(event) } else { blocked.insert(event) });
    while let Some(event) = ready.pop_first().or_else(|| blocked.pop_first()) {
        order.push(event);
        for freed in in_track.written(event) {
            _ = if in_flow.waits[freed] == 0 { ready.insert(freed) } else { blocked.insert(freed) };
        }
        for freed in in_flow.written(event) {
            if blocked.remove(&freed) {
                ready.insert(freed);
            }
        }
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the order of events that are written as words. A word has the letter of the track, and `x` for an event
    /// that is no point of a flow. For a point, it has a role (`s`, `t`, `f`) and a digit of the flow. Flow 9 is open
    /// before.
    fn order(text: &str) -> String {
        let words: Vec<&str> = text.split(' ').collect();
        let track = |word: &str| TrackIdx(u32::from(word.as_bytes()[0]));
        let events: Vec<_> =
            words.iter().map(|word| TiedEvent { track: track(word), is_point: !word.ends_with('x') }).collect();
        let points = words.iter().enumerate().filter_map(|(event, word)| {
            let role = match word.as_bytes()[1] {
                b's' => FlowRole::Start,
                b't' => FlowRole::Step,
                b'f' => FlowRole::End,
                _ => return None,
            };
            Some(TiedPoint { flow: u64::from(word.as_bytes()[2] - b'0'), role, event })
        });
        let order = flow_order(&events, points.collect(), |flow| flow == 9);
        order.map_or(text.to_owned(), |order| order.into_iter().map(|event| words[event]).collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn an_end_follows_its_start_and_its_steps_on_any_track() {
        assert_eq!(order("af1 bs1"), "bs1 af1");
        assert_eq!(order("af1 bt1 cs1"), "cs1 bt1 af1");
        assert_eq!(order("af1 bt1"), "bt1 af1");
        assert_eq!(order("af1 as1"), "as1 af1");
        assert_eq!(order("as1 bf1 bf2 as2 ax"), "as1 bf1 as2 bf2 ax");
    }

    #[test]
    fn a_point_stays_between_the_spans_of_its_track() {
        // Spans after the end wait with the end, and spans before the start come before it.
        assert_eq!(order("ax af1 ax bx bs1 bx"), "ax bx bs1 af1 ax bx");
        assert_eq!(order("ax af1 ax bx bx bs1 cx"), "ax bx bx bs1 af1 ax cx");
    }

    #[test]
    fn a_cycle_of_tracks_and_flows_is_broken_at_its_first_event() {
        assert_eq!(order("af1 ax as1"), "af1 ax as1");
        assert_eq!(order("af1 ax as2 bf2 bx bs1"), "af1 ax as2 bf2 bx bs1");
    }

    #[test]
    fn a_flow_that_starts_again_keeps_its_order() {
        assert_eq!(order("af9 bs9"), "af9 bs9");
        assert_eq!(order("af9 bt9"), "bt9 af9");
        assert_eq!(order("af1 bs1 cf1 ds1"), "af1 bs1 cf1 ds1");
    }
}
