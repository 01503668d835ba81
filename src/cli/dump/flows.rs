//! Finds the spans that a flow connects. A flow leaves the span around its start, or else the last span before it. It
//! passes through the spans around its steps. It arrives at the span around its end, or at the next span of that track.
//! Rows come in time order; memory grows with the open flows.

use rustc_hash::FxHashMap;

use super::latest::Latest;
use crate::model::TrackIdx;
use crate::store::flow::{FlowBound, FlowPoint, FlowRole};

/// Open flows, by the span or the track that they have reached.
#[derive(Debug, Default)]
pub(super) struct FlowTracker {
    /// By flow: the last span that the flow was in.
    within: FxHashMap<u64, u64>,
    /// By track: flows that arrive at the next span of the track.
    arriving: FxHashMap<TrackIdx, Vec<FlowArrival>>,
    /// Points of the last time.
    held: Vec<HeldPoint>,
}

#[derive(Debug, Clone, Copy)]
struct FlowArrival {
    from: u64,
    ts_ns: i64,
}

/// Both ends of a connection, as span ids.
pub(super) type Connection = (u64, u64);

/// Limit for held points: if more points have one time, they keep the order of their lanes.
const HELD_MAX: usize = 1 << 16;

/// A point of a flow that waits for the other points of its time.
#[derive(Debug, Clone, Copy)]
struct HeldPoint {
    track: TrackIdx,
    ts_ns: i64,
    flow: u64,
    point: FlowPoint,
}

impl FlowTracker {
    /// Adds a span, and appends the connections that arrive at it.
    pub(super) fn span(&mut self, track: TrackIdx, start_ns: i64, id: u64, connections: &mut Vec<Connection>) {
        let Some(arrivals) = self.arriving.get_mut(&track) else { return };
        // Spans that start at the time of the arrival existed when it was recorded, so they are not the next span.
        arrivals.retain(|arrival| {
            let is_next = start_ns > arrival.ts_ns;
            if is_next {
                connections.push((arrival.from, id));
            }
            !is_next
        });
    }

    /// Adds a point of `flow`, once all spans that start at its time are in `latest`. [`Self::connect`] must be called
    /// before the next time, and appends the connection of the point.
    pub(super) fn point(
        &mut self,
        (track, ts_ns): (TrackIdx, i64),
        flow: u64,
        point: FlowPoint,
        latest: &Latest,
        connections: &mut Vec<Connection>,
    ) {
        self.held.push(HeldPoint { track, ts_ns, flow, point });
        if self.held.len() == HELD_MAX {
            self.connect(latest, connections);
        }
    }

    /// Appends the connections of all points of one time.
    pub(super) fn connect(&mut self, latest: &Latest, connections: &mut Vec<Connection>) {
        let mut held = std::mem::take(&mut self.held);
        self.order(&mut held);
        held.drain(..).for_each(|held| self.connect_point(held, latest, connections));
        self.held = held;
    }

    /// Moves the start of a flow before its steps, and its end after them, if they are on several tracks. The order of
    /// lanes has no meaning. A flow that is open and starts again is not reordered, since the end may belong to the
    /// earlier flow.
    fn order(&self, held: &mut [HeldPoint]) {
        struct Tied {
            track: TrackIdx,
            has_more_tracks: bool,
            starts: u32,
        }
        let mut flows: FxHashMap<u64, Tied> = FxHashMap::default();
        for &HeldPoint { track, flow, point, .. } in &*held {
            let tied = flows.entry(flow).or_insert(Tied { track, has_more_tracks: false, starts: 0 });
            tied.has_more_tracks |= tied.track != track;
            tied.starts += u32::from(point.role == FlowRole::Start);
        }
        let is_ordered = |flow: u64, tied: &Tied| {
            let has_one_start = tied.starts == 1 && !self.within.contains_key(&flow);
            tied.has_more_tracks && (tied.starts == 0 || has_one_start)
        };
        flows.retain(|&flow, tied| is_ordered(flow, tied));
        if !flows.is_empty() {
            held.sort_by_key(|held| {
                (held.flow, if flows.contains_key(&held.flow) { held.point.role as u8 } else { 0 })
            });
        }
    }

    fn connect_point(
        &mut self,
        HeldPoint { track, ts_ns, flow, point }: HeldPoint,
        latest: &Latest,
        connections: &mut Vec<Connection>,
    ) {
        let begun_at_depth = || point.depth.and_then(|depth| latest.at(track, depth));
        let at_depth = || begun_at_depth().map(|span| span.id);
        let around = match point.bound {
            // By time instead of trace order: tracers write a span when it ends, after the points within it. The order
            // decides only between spans that start at the time of the point, and for a point exactly at the end of a
            // span. A point without an enclosing span was written right after its span.
            FlowBound::Time => {
                let between = begun_at_depth().filter(|span| span.start_ns == ts_ns);
                let around = between.or_else(|| latest.around(track, ts_ns)).map(|span| span.id);
                around.or_else(at_depth).or_else(|| latest.last(track).map(|span| span.id))
            }
            FlowBound::Span => at_depth(),
            FlowBound::Instant => latest.instant(track, ts_ns).or_else(at_depth),
        };
        let from = self.within.get(&flow).copied();
        match (point.role, from, around) {
            (FlowRole::Start, _, Some(around)) => {
                self.within.insert(flow, around);
            }
            (FlowRole::Step, from, Some(around)) => {
                connections.extend(from.map(|from| (from, around)));
                self.within.insert(flow, around);
            }
            (FlowRole::End, Some(from), Some(around)) if point.binds_enclosing => {
                connections.push((from, around));
                if point.bound != FlowBound::Time {
                    // The flow terminates here: a later point with this id starts another flow.
                    self.within.remove(&flow);
                }
            }
            (FlowRole::End, Some(from), _) if !point.binds_enclosing => {
                // Among spans that start with the point, spans below the enclosing span come after the point in the
                // trace.
                let first_inside = point.depth.map_or(0, |depth| usize::from(depth) + 1);
                match latest.starting_at(track, first_inside, ts_ns) {
                    Some(next) => connections.push((from, next)),
                    None => self.arriving.entry(track).or_default().push(FlowArrival { from, ts_ns }),
                }
            }
            _ => {} // before the first span of its track a point connects nothing
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::last_spans::LastSpan;

    const TRACK: TrackIdx = TrackIdx(0);

    #[derive(Default)]
    struct Dumped {
        latest: Latest,
        flows: FlowTracker,
        found: Vec<Connection>,
    }

    impl Dumped {
        fn span(&mut self, depth: u16, id: u64, start_ns: i64, end_ns: i64) {
            self.latest.put(TRACK, depth, LastSpan { id, start_ns, end_ns });
            self.flows.span(TRACK, start_ns, id, &mut self.found);
        }

        fn point(&mut self, role: FlowRole, ts_ns: i64, depth: Option<u16>) {
            let point = FlowPoint { role, binds_enclosing: false, depth, bound: FlowBound::Time };
            self.flows.point((TRACK, ts_ns), 77, point, &self.latest, &mut self.found);
            self.flows.connect(&self.latest, &mut self.found);
        }
    }

    #[test]
    fn a_flow_leaves_the_span_around_it_and_arrives_at_the_next() {
        let mut dumped = Dumped::default();
        dumped.span(0, 1, 0, 10);
        dumped.point(FlowRole::Start, 5, Some(0));
        dumped.point(FlowRole::End, 12, None);
        dumped.span(0, 2, 15, 20);
        dumped.span(0, 3, 25, 30);
        assert_eq!(dumped.found, [(1, 2)]);
    }

    #[test]
    fn a_flow_of_one_moment_connects_its_spans_whatever_the_order_of_their_tracks() {
        let tracks = [0, 1, 2].map(TrackIdx);
        let roles = [FlowRole::Start, FlowRole::Step, FlowRole::End];
        for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
            let mut dumped = Dumped::default();
            for (track, id) in tracks.into_iter().zip(1..) {
                dumped.latest.put(track, 0, LastSpan { id, start_ns: 0, end_ns: 10 });
            }
            for at in order {
                let point =
                    FlowPoint { role: roles[at], binds_enclosing: true, depth: Some(0), bound: FlowBound::Time };
                dumped.flows.point((tracks[at], 5), 77, point, &dumped.latest, &mut dumped.found);
            }
            dumped.flows.connect(&dumped.latest, &mut dumped.found);
            assert_eq!(dumped.found, [(1, 2), (2, 3)], "{order:?}");
        }
    }

    #[test]
    fn a_span_that_starts_with_the_point_is_the_next_only_if_it_stood_after_it() {
        let mut dumped = Dumped::default();
        dumped.span(0, 1, 0, 10);
        dumped.point(FlowRole::Start, 0, Some(0));
        dumped.span(0, 2, 20, 30);
        dumped.point(FlowRole::End, 20, None);
        dumped.point(FlowRole::End, 20, Some(0));
        dumped.span(1, 3, 25, 26);
        assert_eq!(dumped.found, [(1, 2), (1, 3)]);
    }

    #[test]
    fn a_point_between_two_spans_that_begin_with_it_belongs_to_the_one_before_it() {
        let mut dumped = Dumped::default();
        dumped.span(0, 1, 0, 10);
        dumped.point(FlowRole::Start, 5, Some(0));
        for (depth, id, start_ns) in [(0, 2, 20), (1, 3, 21), (2, 4, 21)] {
            dumped.span(depth, id, start_ns, 30);
        }
        for depth in [1, 2, 0] {
            dumped.point(FlowRole::Step, 21, Some(depth));
        }
        assert_eq!(dumped.found, [(1, 3), (3, 4), (4, 4)], "what begins with it is inside of what began before");
    }

    #[test]
    fn a_point_that_nothing_is_around_belongs_to_what_began_last() {
        let mut dumped = Dumped::default();
        dumped.span(0, 1, 0, 10);
        dumped.span(1, 2, 2, 4);
        dumped.point(FlowRole::Start, 12, None);
        dumped.span(0, 3, 20, 30);
        dumped.point(FlowRole::Step, 20, None);
        assert_eq!(dumped.found, [(2, 3)]);
    }

    #[test]
    fn a_point_of_a_certain_span_is_not_taken_for_one_of_those_inside_that_begin_with_it() {
        let mut dumped = Dumped::default();
        dumped.span(0, 1, 0, 10);
        dumped.span(1, 2, 0, 5);
        dumped.span(2, 3, 0, 4);
        let point = |role, depth| FlowPoint { role, binds_enclosing: true, depth: Some(depth), bound: FlowBound::Span };
        for (flow, depth) in [(1, 0), (2, 1)] {
            let at = (TRACK, 0);
            dumped.flows.point(at, flow, point(FlowRole::Step, depth), &dumped.latest, &mut dumped.found);
        }
        dumped.flows.connect(&dumped.latest, &mut dumped.found);
        dumped.latest.put_instant(TRACK, 9, 3);
        let mark = FlowPoint { bound: FlowBound::Instant, ..point(FlowRole::End, 2) };
        dumped.flows.point((TRACK, 3), 1, mark, &dumped.latest, &mut dumped.found);
        dumped.flows.point((TRACK, 3), 2, point(FlowRole::End, 2), &dumped.latest, &mut dumped.found);
        dumped.flows.point((TRACK, 3), 2, point(FlowRole::Step, 2), &dumped.latest, &mut dumped.found);
        dumped.flows.connect(&dumped.latest, &mut dumped.found);
        assert_eq!(dumped.found, [(1, 9), (2, 3)], "a flow that was terminated goes on nowhere");
    }

    #[test]
    fn steps_make_a_chain() {
        let mut dumped = Dumped::default();
        dumped.point(FlowRole::Step, 0, None);
        for (id, start_ns) in [(1, 10), (2, 20), (3, 30)] {
            dumped.span(0, id, start_ns, start_ns + 5);
            dumped.point(FlowRole::Step, start_ns + 1, Some(0));
        }
        assert_eq!(dumped.found, [(1, 2), (2, 3)]);
    }
}
