//! Finds the spans that flows connect with a span: the whole chain of each flow that touches it, from start to end. A
//! flow has only an id, so all points of all flows are scanned: work for the background, bounded by their number.
//! [`LINKS_MAX`] bounds the result.
//!
//! A flow leaves the span around its start, or else the last span before it. It passes through the spans around its
//! steps. It arrives at the span around its end or, if the trace says so, at the next span of that track.

use std::cmp::Ordering;

use rayon::prelude::*;
use rustc_hash::FxHashSet;

use super::cursor::LaneCursor;
use super::flow_points::{FlowRow, PointRange, each_point, flow_row, span_of};
use super::snapshot::Snapshot;
use super::span_sweep::SpanSweep;
use super::wakings::run_links;
use crate::base::cancel::{Cancel, Cancelled};
use crate::model::NameIdx;
use crate::store::flow::{FlowBound, FlowRole};
use crate::store::{LaneIdx, LaneKind, RowIdx};

/// Maximum number of links: a frame could not draw more.
pub(crate) const LINKS_MAX: usize = 1000;

/// Limit for the collected points of its flows. The points nearest to the span are kept.
const POINTS_MAX: usize = 100_000;

/// Limit for the rows that are mapped to a later snapshot of a live trace.
const MAPPED_MAX: usize = 64;

/// A connection of two spans.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FlowLink {
    pub(crate) name: NameIdx,
    /// The span that it leaves.
    pub(crate) from: RowIdx,
    pub(crate) from_ns: i64,
    /// The span at which it arrives.
    pub(crate) to: RowIdx,
    pub(crate) to_ns: i64,
}

/// The flows of a span.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FlowChain {
    /// Links in time order, at most [`LINKS_MAX`].
    pub(crate) links: Vec<FlowLink>,
    /// Whether links were left out.
    pub(crate) is_cut: bool,
    /// For states and CPU runs, the link from the thread that woke this one.
    pub(crate) waking: Option<FlowLink>,
    /// The CPU run of a state, or the state of a run.
    pub(crate) same_run: Option<RowIdx>,
}

impl FlowChain {
    /// Returns the links that arrive at a span.
    pub(crate) fn incoming(&self, row: RowIdx) -> impl Iterator<Item = &FlowLink> {
        self.links.iter().filter(move |link| link.to == row)
    }

    /// Maps the flows to a later snapshot of the trace. Returns `None` if a row has moved, or if there are too many
    /// rows to map between two frames. The flows must then be searched again.
    #[must_use]
    pub(crate) fn since(&self, earlier: &Snapshot, later: &Snapshot) -> Option<Self> {
        if self.links.len() > MAPPED_MAX {
            return None;
        }
        let moved = |link: &FlowLink| {
            let [from, to] = [link.from, link.to].map(|row| later.row_since(earlier, row));
            Some(FlowLink { from: from?, to: to?, ..*link })
        };
        let links = self.links.iter().map(moved).collect::<Option<_>>()?;
        let waking = self.waking.as_ref().map(moved);
        let same_run = self.same_run.map(|row| later.row_since(earlier, row));
        if waking.is_some_and(|link| link.is_none()) || same_run.is_some_and(|row| row.is_none()) {
            return None;
        }
        Some(Self { links, is_cut: self.is_cut, waking: waking.flatten(), same_run: same_run.flatten() })
    }

    /// Returns the links that leave a span.
    pub(crate) fn outgoing(&self, row: RowIdx) -> impl Iterator<Item = &FlowLink> {
        self.links.iter().filter(move |link| link.from == row)
    }
}

/// Returns the flows that touch a span, each with its whole chain; for scheduling rows, also the waking and the
/// counterpart row. Returns `Cancelled` if cancelled.
pub(crate) fn chain(snapshot: &Snapshot, row: RowIdx, cancel: &Cancel) -> Result<FlowChain, Cancelled> {
    let run = run_links(snapshot, row, cancel)?;
    let waking = run.waking.map(|(from, woken_ns)| FlowLink {
        name: NameIdx::EMPTY,
        from,
        from_ns: within_span(snapshot, from, woken_ns),
        to: row,
        to_ns: woken_ns,
    });
    let mut chain = FlowChain { waking, same_run: run.same_run, ..FlowChain::default() };
    let flows = flows_of(snapshot, row, cancel)?;
    if flows.is_empty() {
        return Ok(chain);
    }
    let lanes: Vec<LaneIdx> = (0..snapshot.store().lane_count())
        .map(LaneIdx)
        .filter(|&lane| snapshot.lane(lane).kind == LaneKind::Flows)
        .collect();
    let span = snapshot.row(row);
    let near = (span.start_ns, span.end_ns());
    let of_lanes: Vec<(Vec<FlowRow>, bool)> =
        lanes.par_iter().map(|&lane| points_of(snapshot, lane, (&flows, near), cancel)).collect::<Result<_, _>>()?;
    chain.is_cut = of_lanes.iter().any(|&(_, is_cut)| is_cut);
    let mut points: Vec<FlowRow> = of_lanes.into_iter().flat_map(|(points, _)| points).collect();
    chain.is_cut |= keep_nearest(&mut points, near);
    // Stable: points at one time stay in the order of their lanes.
    points.sort_by_key(|point| (point.flow, point.ts_ns, point.point.role as u8));
    let points = with_spans(snapshot, points, cancel)?;
    for of_flow in points.chunk_by(|(a, _), (b, _)| a.flow == b.flow) {
        cancel.check()?;
        chain.links.extend(links_of(snapshot, of_flow, row));
    }
    chain.links.sort_by_key(|link| (link.from_ns, link.to_ns, link.from, link.to));
    chain.is_cut |= chain.links.len() > LINKS_MAX;
    chain.links.truncate(LINKS_MAX);
    Ok(chain)
}

/// Returns points of flows, each with its span, in the given order.
fn with_spans(
    snapshot: &Snapshot,
    points: Vec<FlowRow>,
    cancel: &Cancel,
) -> Result<Vec<(FlowRow, Option<RowIdx>)>, Cancelled> {
    let mut in_time: Vec<usize> = (0..points.len()).collect();
    in_time.sort_by_key(|&number| (points[number].track, points[number].ts_ns));
    let mut spans = vec![None; points.len()];
    for of_track in in_time.chunk_by(|&a, &b| points[a].track == points[b].track) {
        let mut sweep = SpanSweep::new(snapshot, points[of_track[0]].track);
        for &number in of_track {
            cancel.check()?;
            spans[number] = span_of(snapshot, &mut sweep, &points[number]);
        }
    }
    Ok(points.into_iter().zip(spans).collect())
}

/// Returns the links of one flow, in the runs between two starts that touch `row`.
fn links_of(snapshot: &Snapshot, points: &[(FlowRow, Option<RowIdx>)], row: RowIdx) -> Vec<FlowLink> {
    let mut links = Vec::new();
    let mut run: Vec<FlowLink> = Vec::new();
    let mut within: Option<(RowIdx, i64)> = None;
    let close = |run: &mut Vec<FlowLink>, links: &mut Vec<FlowLink>| {
        if run.iter().any(|link| link.from == row || link.to == row) {
            links.append(run);
        }
        run.clear();
    };
    for &(flow_row, span) in points {
        if flow_row.point.role == FlowRole::Start {
            close(&mut run, &mut links);
            within = span.map(|span| (span, within_span(snapshot, span, flow_row.ts_ns)));
            continue;
        }
        if let (Some((from, from_ns)), Some(to)) = (within, span) {
            run.push(FlowLink {
                name: flow_row.name,
                from,
                from_ns,
                to,
                to_ns: within_span(snapshot, to, flow_row.ts_ns),
            });
        }
        if flow_row.point.role == FlowRole::Step {
            within = span.map(|span| (span, within_span(snapshot, span, flow_row.ts_ns))).or(within);
        } else if flow_row.point.binds_enclosing && flow_row.point.bound != FlowBound::Time {
            // The flow terminates here: a later point with this id starts another flow.
            close(&mut run, &mut links);
            within = None;
        }
    }
    close(&mut run, &mut links);
    links
}

/// Clamps a time into a span: a point that binds to the next span comes before it.
fn within_span(snapshot: &Snapshot, row: RowIdx, ts_ns: i64) -> i64 {
    let span = snapshot.row(row);
    ts_ns.clamp(span.start_ns, span.end_ns())
}

/// Returns the flows with a point that belongs to a span. If the span is alone in its lane, the search may cover all
/// points of its track.
pub(super) fn flows_of(snapshot: &Snapshot, row: RowIdx, cancel: &Cancel) -> Result<FxHashSet<u64>, Cancelled> {
    let mut flows = FxHashSet::default();
    let range = PointRange::around(snapshot, row.lane, row.row..row.row + 1);
    let take = |point: &FlowRow, of: RowIdx| {
        if of == row {
            flows.insert(point.flow);
        }
    };
    each_point(snapshot, snapshot.lane(row.lane).track, range, cancel, take)?;
    Ok(flows)
}

/// Returns the points of some flows in a lane, nearest to a range of time, and whether others were dropped.
fn points_of(
    snapshot: &Snapshot,
    lane: LaneIdx,
    (flows, near): (&FxHashSet<u64>, (i64, i64)),
    cancel: &Cancel,
) -> Result<(Vec<FlowRow>, bool), Cancelled> {
    /// Rows between two checks for cancellation: about 100 µs.
    const ROWS_AT_ONCE: u64 = 4096;
    let info = snapshot.lane(lane);
    let mut cursor = LaneCursor::new(snapshot.store(), lane);
    let (mut points, mut is_cut) = (Vec::new(), false);
    for number in 0..info.rows {
        if number % ROWS_AT_ONCE == 0 {
            cancel.check()?;
        }
        let wanted = flow_row(&mut cursor, number, info.track).filter(|point| flows.contains(&point.flow));
        points.extend(wanted);
        // Dropping half of the points at once amortises the search for the nearest.
        if points.len() == 2 * POINTS_MAX {
            is_cut |= keep_nearest(&mut points, near);
        }
    }
    is_cut |= keep_nearest(&mut points, near);
    Ok((points, is_cut))
}

/// Keeps the [`POINTS_MAX`] points nearest to a range of time, in their order. Returns whether others were dropped.
fn keep_nearest(points: &mut Vec<FlowRow>, (start_ns, end_ns): (i64, i64)) -> bool {
    if points.len() <= POINTS_MAX {
        return false;
    }
    let distance_ns = |point: &FlowRow| point.ts_ns.abs_diff(point.ts_ns.clamp(start_ns, end_ns));
    let mut distances_ns: Vec<u64> = points.iter().map(distance_ns).collect();
    let (nearer, &mut last_ns, _) = distances_ns.select_nth_unstable(POINTS_MAX - 1);
    let mut last_left = POINTS_MAX - nearer.iter().filter(|&&distance_ns| distance_ns < last_ns).count();
    points.retain(|point| match distance_ns(point).cmp(&last_ns) {
        Ordering::Less => true,
        Ordering::Equal => last_left.checked_sub(1).is_some_and(|left| {
            last_left = left;
            true
        }),
        Ordering::Greater => false,
    });
    true
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::model::{Id, Registry, TrackIdx, TrackKey};
    use crate::scene::tests::snapshot;
    use crate::store::flow::FlowPoint;
    use crate::store::growing::GrowingStore;
    use crate::store::{Meta, Row};

    /// Spans of 10 µs named by letters, each on its own thread, and flow points between them.
    const CHAINS: &str = r#"[
        {"ph":"X","name":"a","pid":1,"tid":1,"ts":0,"dur":10}, {"ph":"X","name":"b","pid":1,"tid":2,"ts":20,"dur":10},
        {"ph":"X","name":"c","pid":1,"tid":3,"ts":40,"dur":10}, {"ph":"X","name":"d","pid":1,"tid":1,"ts":100,"dur":10},
        {"ph":"X","name":"e","pid":1,"tid":2,"ts":120,"dur":10}, {"ph":"X","name":"f","pid":1,"tid":3,"ts":60,"dur":10},
        {"ph":"s","name":"x","id":7,"cat":"k","pid":1,"tid":1,"ts":5}, {"ph":"t","name":"x","id":7,"cat":"k","pid":1,"tid":2,"ts":25},
        {"ph":"f","name":"x","id":7,"cat":"k","pid":1,"tid":3,"ts":45,"bp":"e"},
        {"ph":"s","name":"x","id":7,"cat":"k","pid":1,"tid":1,"ts":105}, {"ph":"f","name":"x","id":7,"cat":"k","pid":1,"tid":2,"ts":125,"bp":"e"},
        {"ph":"s","name":"y","id":8,"cat":"k","pid":1,"tid":2,"ts":28}, {"ph":"f","name":"y","id":8,"cat":"k","pid":1,"tid":3,"ts":52}]"#;

    fn named(snapshot: &Snapshot, name: &str) -> RowIdx {
        let lanes = (0..snapshot.store().lane_count()).map(LaneIdx);
        let mut rows = lanes.flat_map(|lane| (0..snapshot.lane(lane).rows).map(move |row| RowIdx { lane, row }));
        let is_span = |row: &RowIdx| snapshot.lane(row.lane).kind == LaneKind::Spans;
        rows.find(|row| is_span(row) && snapshot.names().get(snapshot.row(*row).name).text == name).unwrap()
    }

    fn links(snapshot: &Snapshot, of: &str) -> Vec<String> {
        let chain = chain(snapshot, named(snapshot, of), &Cancel::default()).unwrap();
        let name = |row: RowIdx| snapshot.names().get(snapshot.row(row).name).text.to_owned();
        chain.links.iter().map(|link| format!("{}->{}", name(link.from), name(link.to))).collect()
    }

    #[test]
    fn the_whole_chain_is_found_from_each_of_its_spans_and_no_chain_that_uses_the_id_again() {
        let snapshot = snapshot(CHAINS);
        assert_eq!(links(&snapshot, "a"), ["a->b", "b->c"]);
        assert_eq!(links(&snapshot, "c"), ["a->b", "b->c"]);
        assert_eq!(links(&snapshot, "d"), ["d->e"]);
        assert_eq!(links(&snapshot, "e"), ["d->e"]);
    }

    #[test]
    fn a_flow_that_does_not_bind_to_what_is_around_its_end_arrives_at_the_next_span() {
        let snapshot = snapshot(CHAINS);
        assert_eq!(links(&snapshot, "b"), ["a->b", "b->c", "b->f"]);
        assert_eq!(links(&snapshot, "f"), ["b->f"]);
    }

    #[test]
    fn a_flow_leaves_the_last_instant_of_its_time_and_needs_no_span_around_it() {
        for (around, instant_us, expected) in [
            (r#"{"ph":"X","name":"outer","pid":1,"tid":1,"ts":0,"dur":100},"#, 10, "post"),
            ("", 10, "post"),
            (r#"{"ph":"X","name":"outer","pid":1,"tid":1,"ts":0,"dur":100},"#, 9, "outer"),
        ] {
            let snapshot = snapshot(&format!(
                r#"[{around}{{"ph":"i","s":"t","name":"post","pid":1,"tid":1,"ts":{instant_us}}},
                {{"ph":"s","name":"x","id":7,"cat":"k","pid":1,"tid":1,"ts":10}},
                {{"ph":"X","name":"run","pid":1,"tid":2,"ts":50,"dur":10}},
                {{"ph":"f","bp":"e","name":"x","id":7,"cat":"k","pid":1,"tid":2,"ts":50}}]"#
            ));
            assert_eq!(links(&snapshot, "run"), [format!("{expected}->run")]);
        }
    }

    #[test]
    fn a_flow_leaves_the_span_that_is_open_and_not_one_above_it_that_has_ended() {
        let snapshot = snapshot(
            r#"[{"ph":"X","name":"a","pid":1,"tid":1,"ts":0,"dur":10},{"ph":"X","name":"b","pid":1,"tid":1,"ts":5,"dur":10},
            {"ph":"s","name":"x","id":7,"pid":1,"tid":1,"ts":12},{"ph":"X","name":"d","pid":1,"tid":2,"ts":14,"dur":5},
            {"ph":"f","bp":"e","name":"x","id":7,"pid":1,"tid":2,"ts":15}]"#,
        );
        assert_eq!(links(&snapshot, "d"), ["b->d"]);
        let is_flows = |&lane: &LaneIdx| snapshot.lane(lane).kind == LaneKind::Flows;
        let lanes: Vec<_> = (0..snapshot.store().lane_count()).map(LaneIdx).filter(is_flows).collect();
        let mut cursor = LaneCursor::new(snapshot.store(), lanes[0]);
        assert_eq!(FlowPoint::from_bits(cursor.row(0).unwrap().detail).depth, Some(1), "the depth of b");
    }

    #[test]
    fn a_point_between_two_spans_that_begin_with_it_belongs_to_the_one_before_it() {
        let text = r#"[{"ph":"X","name":"from","pid":1,"tid":1,"ts":0,"dur":5},{"ph":"s","name":"x","id":1,"pid":1,"tid":1,"ts":1},
            {"ph":"s","name":"x","id":2,"pid":1,"tid":1,"ts":2},{"ph":"X","name":"around","pid":1,"tid":2,"ts":10,"dur":20},
            {"ph":"X","name":"outer","pid":1,"tid":2,"ts":20,"dur":9},{"ph":"f","name":"x","id":1,"pid":1,"tid":2,"ts":20,"bp":"e"},
            {"ph":"X","name":"inner","pid":1,"tid":2,"ts":20,"dur":3},{"ph":"f","name":"x","id":2,"pid":1,"tid":2,"ts":20,"bp":"e"}]"#;
        let of_outer = snapshot(text);
        assert_eq!(links(&of_outer, "from"), ["from->outer", "from->inner"]);
        // A span that is written at its end comes after its points.
        let written_at_its_end = snapshot(
            &text.replace("\"outer\",\"pid\":1,\"tid\":2,\"ts\":20", "\"outer\",\"pid\":1,\"tid\":2,\"ts\":19"),
        );
        assert_eq!(links(&written_at_its_end, "from"), ["from->inner", "from->inner"]);
    }

    /// A live trace has late rows in lanes of their own, below the others.
    #[test]
    fn flow_points_and_instants_in_any_lane_of_a_track_belong_to_their_rows() {
        let mut store = GrowingStore::new(tempfile::tempfile().unwrap(), 100).unwrap();
        let mut add = |kind, depth, rows: &[(i64, u64, u64)]| {
            let lane = store.add_lane(TrackIdx(0), kind, depth).unwrap();
            for &(start_ns, value, detail) in rows {
                store.push(lane, Row { start_ns, value, detail, name: 0 }).unwrap();
            }
        };
        let point = |role, depth, bound| {
            let point = FlowPoint { role, binds_enclosing: true, depth: Some(depth), bound };
            point.to_bits()
        };
        let end = point(FlowRole::End, 0, FlowBound::Time);
        let [start, start_of_instant] =
            [FlowBound::Time, FlowBound::Instant].map(|bound| point(FlowRole::Start, 1, bound));
        add(LaneKind::Instants, 0, &[(1010, 1, 0)]);
        add(LaneKind::Instants, 0, &[(60, 2, 0)]);
        add(LaneKind::Spans, 0, &[(1000, 100, 0)]);
        add(LaneKind::Spans, 1, &[(0, 100, 0)]);
        add(LaneKind::Flows, 0, &[(1050, 7, end), (1060, 8, end)]);
        add(LaneKind::Flows, 0, &[(50, 7, start), (60, 8, start_of_instant)]);
        let mut registry = Registry::default();
        registry.track(&TrackKey::thread(Id::None, Id::None));
        let meta = Meta { tracks: registry.tables().clone(), ..Meta::default() };
        let snapshot = Snapshot::new(Arc::new(store.preview(meta).unwrap()));
        let [late_instant, span, late_span] = [1, 2, 3].map(|lane| RowIdx { lane: LaneIdx(lane), row: 0 });
        let linked = |row| {
            let chain = chain(&snapshot, row, &Cancel::default()).unwrap();
            chain.links.iter().map(|link| (link.from, link.to)).collect::<Vec<_>>()
        };
        assert_eq!(linked(late_span), [(late_span, span)]);
        assert_eq!(linked(late_instant), [(late_instant, span)]);
        assert_eq!(linked(span), [(late_span, span), (late_instant, span)]);
    }

    #[test]
    fn a_span_amid_very_many_points_has_its_flows_and_the_chain_is_cut_around_it() {
        let steps = |from_us: usize| {
            (from_us..from_us + POINTS_MAX)
                .map(|ts| format!("{{\"ph\":\"t\",\"ts\":{ts},\"id\":1,\"pid\":1,\"tid\":1}}"))
        };
        let span = |name: &str, tid: u32, ts: usize| {
            format!(r#"{{"ph":"X","name":"{name}","pid":1,"tid":{tid},"ts":{ts},"dur":1}}"#)
        };
        // The only span of its thread and lane: all points of the track are around it.
        let late = 2 * POINTS_MAX + 10;
        let ends = [
            span("late", 1, late),
            format!(r#"{{"ph":"s","name":"own","id":2,"pid":1,"tid":1,"ts":{late}.5}}"#),
            format!(r#"{{"ph":"t","id":1,"pid":1,"tid":1,"ts":{late}.6}}"#),
            span("next", 2, late + 10),
            format!(r#"{{"ph":"f","bp":"e","name":"own","id":2,"pid":1,"tid":2,"ts":{}.5}}"#, late + 10),
            format!(r#"{{"ph":"f","bp":"e","id":1,"pid":1,"tid":2,"ts":{}.5}}"#, late + 10),
        ];
        let events: Vec<_> = steps(0).chain(steps(POINTS_MAX)).chain(ends).collect();
        let snapshot = snapshot(&format!("[{}]", events.join(",")));
        let chain = chain(&snapshot, named(&snapshot, "late"), &Cancel::default()).unwrap();
        assert!(chain.is_cut, "more points than are collected");
        assert_eq!(
            links(&snapshot, "late").iter().filter(|link| *link == "late->next").count(),
            2,
            "{:?}",
            chain.links.len()
        );
    }

    #[test]
    fn a_look_that_is_stopped_ends() {
        let snapshot = snapshot(CHAINS);
        let cancel = Cancel::default();
        cancel.cancel();
        assert!(chain(&snapshot, named(&snapshot, "a"), &cancel).is_err());
    }
}
