//! The rows outside of a part of a trace that complete the part. They are the previous value of each counter, and the
//! other ends of flows with the spans that they connect. Spans that reach into the part already belong to it.
//!
//! A flow has few points, which may be anywhere, so all flows of the trace are scanned. Memory grows with the flows of
//! the part, not with its rows.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rustc_hash::FxHashSet;

use super::derived::ExportedCounter;
use super::options::ExportOptions;
use crate::base::cancel::{Cancel, Cancelled};
use crate::model::{NameIdx, ProcessIdx, TrackIdx, TrackKind};
use crate::query::Snapshot;
use crate::query::cursor::LaneCursor;
use crate::query::flow_points::{FlowRow, span_of};
use crate::query::matcher::Matcher;
use crate::query::row_filter::RowFilter;
use crate::query::row_slices::RowSlices;
use crate::query::rows::{SortedRow, SortedRows};
use crate::query::scope::Scope;
use crate::query::span_sweep::SpanSweep;
use crate::store::flow::FlowPoint;
use crate::store::{LaneIdx, LaneKind, RowIdx};

/// Flow points between two checks for cancellation: some milliseconds.
const POINTS_BETWEEN_CHECKS: u64 = 64 * 1024;

/// The rows of a part: rows of `lanes` in a time range, and some rows from outside the range.
#[derive(Debug, Clone)]
pub(crate) struct Excerpt {
    /// Lanes whose rows in the range are exported.
    pub(crate) lanes: Vec<LaneIdx>,
    /// Start and end of the range; the end is exclusive.
    pub(crate) range: (Option<i64>, Option<i64>),
    /// Filter of the rows in the range; `None` for all.
    matcher: Option<Arc<Matcher>>,
    /// Rows from outside, in time order, parents first.
    pub(crate) outside: Vec<SortedRow>,
    /// Derived tracks besides the rows.
    pub(crate) derived: Vec<ExportedCounter>,
}

/// The rows of an excerpt within its range, in time order.
pub(crate) struct ExcerptRows<'a> {
    rows: SortedRows<'a>,
    filter: Option<RowFilter<'a>>,
    /// The next row that passes the filter, if it was looked for.
    passed: Option<SortedRow>,
}

impl ExcerptRows<'_> {
    /// Returns the start of the next row.
    pub(crate) fn next_start_ns(&mut self) -> Option<i64> {
        if self.filter.is_none() {
            return self.rows.next_start_ns();
        }
        if self.passed.is_none() {
            self.passed = self.next();
        }
        self.passed.map(|row| row.row.start_ns)
    }
}

impl Iterator for ExcerptRows<'_> {
    type Item = SortedRow;

    fn next(&mut self) -> Option<SortedRow> {
        let Some(filter) = &mut self.filter else { return self.rows.next() };
        self.passed.take().or_else(|| self.rows.by_ref().find(|row| filter.passes(row)))
    }
}

impl Excerpt {
    /// Selects the part given by `options`. Returns `Cancelled` if cancelled.
    pub(crate) fn new(snapshot: &Snapshot, options: &ExportOptions, cancel: &Cancel) -> Result<Self, Cancelled> {
        let all = || snapshot.event_lanes();
        let Scope { from_ns, to_ns, matcher, .. } = &options.scope;
        let matcher = (!matcher.is_every_row_of_lane()).then(|| Arc::clone(matcher));
        let tracks = options.scope.span_tracks(snapshot);
        let is_wanted = |&lane: &LaneIdx| {
            let info = snapshot.lane(lane);
            // A row filter excludes counters and flows.
            let is_judged = matches!(info.kind, LaneKind::Spans | LaneKind::Instants | LaneKind::Samples);
            tracks.contains(info.track) && (matcher.is_none() || is_judged)
        };
        let lanes: Vec<LaneIdx> = all().filter(is_wanted).collect();
        let mut excerpt = Self { lanes, range: (*from_ns, *to_ns), matcher, outside: Vec::new(), derived: Vec::new() };
        let has_all_lanes = excerpt.lanes.len() == all().count();
        if has_all_lanes && excerpt.range == (None, None) || excerpt.matcher.is_some() {
            return Ok(excerpt);
        }
        let mut needed: BTreeSet<RowIdx> =
            excerpt.lanes.iter().filter_map(|&lane| held_value(snapshot, lane, (*from_ns)?)).collect();
        excerpt.other_ends(snapshot, cancel, &mut needed)?;
        needed.retain(|&row| !excerpt.contains(snapshot, row));
        excerpt.outside = needed.into_iter().filter_map(|row| sorted_row(snapshot, row)).collect();
        excerpt.outside.sort_by_key(|row| (row.row.start_ns, row.kind, snapshot.lane(row.index.lane).depth));
        Ok(excerpt)
    }

    /// Splits the excerpt by process; processes without rows are left out.
    #[must_use]
    pub(crate) fn by_process(&self, snapshot: &Snapshot) -> BTreeMap<ProcessIdx, Self> {
        let mut parts: BTreeMap<ProcessIdx, Self> = BTreeMap::new();
        let empty = || Self {
            lanes: Vec::new(),
            range: self.range,
            matcher: self.matcher.clone(),
            outside: Vec::new(),
            derived: Vec::new(),
        };
        let process_of = |lane: LaneIdx| snapshot.track(snapshot.lane(lane).track).process;
        for &lane in &self.lanes {
            parts.entry(process_of(lane)).or_insert_with(empty).lanes.push(lane);
        }
        for &row in &self.outside {
            parts.entry(process_of(row.index.lane)).or_insert_with(empty).outside.push(row);
        }
        for counter in &self.derived {
            parts.entry(counter.process).or_insert_with(empty).derived.push(counter.clone());
        }
        parts
    }

    /// Returns the excerpt with spans only.
    #[must_use]
    pub(crate) fn only_spans(&self, snapshot: &Snapshot) -> Self {
        let is_spans = |lane: LaneIdx| snapshot.lane(lane).kind == LaneKind::Spans;
        Self {
            lanes: self.lanes.iter().copied().filter(|&lane| is_spans(lane)).collect(),
            range: self.range,
            matcher: self.matcher.clone(),
            outside: self.outside.iter().copied().filter(|row| is_spans(row.index.lane)).collect(),
            derived: Vec::new(),
        }
    }

    /// Returns whether it has the CPU runs of all threads whose states it has. Only then do the ends of runs give the
    /// states.
    #[must_use]
    pub(crate) fn has_runs_of_states(&self, snapshot: &Snapshot) -> bool {
        let is_of = |kind: TrackKind| move |lane: &LaneIdx| snapshot.track(snapshot.lane(*lane).track).key.kind == kind;
        let lanes = || self.lanes.iter().copied();
        let has_all_cpus = || {
            let cpus_of_trace = snapshot.event_lanes().filter(is_of(TrackKind::Cpu)).count();
            lanes().filter(is_of(TrackKind::Cpu)).count() == cpus_of_trace
        };
        self.matcher.is_none() && (!self.has_states(snapshot) || has_all_cpus())
    }

    /// Returns whether it has states of threads.
    #[must_use]
    pub(crate) fn has_states(&self, snapshot: &Snapshot) -> bool {
        self.lanes.iter().any(|&lane| snapshot.track(snapshot.lane(lane).track).key.kind == TrackKind::State)
    }

    /// Returns its rows within the range, in time order.
    #[must_use]
    pub(crate) fn rows<'a>(&self, snapshot: &'a Snapshot) -> ExcerptRows<'a> {
        self.rows_of(snapshot, self.range.0)
    }

    /// Returns its rows from a later time on, and those that reach beyond that time.
    #[must_use]
    pub(crate) fn rows_from<'a>(&self, snapshot: &'a Snapshot, from_ns: i64) -> ExcerptRows<'a> {
        self.rows_of(snapshot, Some(self.range.0.map_or(from_ns, |start_ns| start_ns.max(from_ns))))
    }

    fn rows_of<'a>(&self, snapshot: &'a Snapshot, from_ns: Option<i64>) -> ExcerptRows<'a> {
        let rows = SortedRows::new(snapshot, self.lanes.iter().copied(), from_ns, self.range.1);
        let filter = self.matcher.as_ref().map(|matcher| RowFilter::new(snapshot, Arc::clone(matcher)));
        ExcerptRows { rows, filter, passed: None }
    }

    /// Divides its rows into slices of time; `None` if they cannot be divided.
    #[must_use]
    pub(crate) fn slices<'a>(&self, snapshot: &'a Snapshot, slice_rows: usize) -> Option<RowSlices<'a>> {
        let is_all_rows = self.matcher.is_none() && self.outside.is_empty();
        is_all_rows.then(|| RowSlices::new(snapshot, &self.lanes, self.range, slice_rows))?
    }

    /// Returns the first time of its rows and derived values; `None` without any.
    #[must_use]
    pub(crate) fn start_ns(&self, snapshot: &Snapshot) -> Option<i64> {
        let rows = [self.rows(snapshot).next(), self.outside.first().copied()];
        let derived = self.derived.iter().filter_map(|counter| Some(counter.steps.clone().next()?.0));
        rows.into_iter().flatten().map(|row| row.row.start_ns).chain(derived).min()
    }

    /// Estimates the number of rows; spans that start before the range are not counted.
    #[must_use]
    pub(crate) fn count(&self, snapshot: &Snapshot) -> u64 {
        let (from_ns, to_ns) = self.range;
        let in_range = |&lane: &LaneIdx| {
            let mut cursor = LaneCursor::new(snapshot.store(), lane);
            let first = from_ns.map_or(0, |from_ns| cursor.first_from(from_ns).row);
            let end = to_ns.map_or(cursor.lane().rows(), |to_ns| cursor.first_from(to_ns).row);
            end.saturating_sub(first)
        };
        self.lanes.iter().map(in_range).sum::<u64>() + self.outside.len() as u64
    }

    /// Returns whether a row of the part starts outside of its range.
    #[must_use]
    pub(crate) fn starts_outside(&self, start_ns: i64) -> bool {
        let (from_ns, to_ns) = self.range;
        from_ns.is_some_and(|from_ns| start_ns < from_ns) || to_ns.is_some_and(|to_ns| start_ns >= to_ns)
    }

    /// Returns whether a row already belongs to the part.
    fn contains(&self, snapshot: &Snapshot, row: RowIdx) -> bool {
        let span = snapshot.row(row);
        let (from_ns, to_ns) = self.range;
        let begins_before_end = to_ns.is_none_or(|to_ns| span.start_ns < to_ns);
        let reaches_in = from_ns.is_none_or(|from_ns| span.start_ns >= from_ns || span.end_ns() > from_ns);
        // Counter values have no duration, so one from before the range does not reach in.
        begins_before_end && reaches_in && self.lanes.binary_search(&row.lane).is_ok()
    }

    /// Adds the outside points of flows that have a point in the part, and the rows that all their points connect.
    fn other_ends(&self, snapshot: &Snapshot, cancel: &Cancel, needed: &mut BTreeSet<RowIdx>) -> Result<(), Cancelled> {
        let is_flows = |lane: &LaneIdx| snapshot.lane(*lane).kind == LaneKind::Flows;
        let mut flows = FxHashSet::default();
        for lane in self.lanes.iter().copied().filter(is_flows) {
            for row in SortedRows::new(snapshot, [lane], self.range.0, self.range.1) {
                if row.index.row.is_multiple_of(POINTS_BETWEEN_CHECKS) {
                    cancel.check()?;
                }
                flows.insert(row.row.value);
            }
        }
        if flows.is_empty() {
            return Ok(());
        }
        for lane in snapshot.event_lanes().filter(is_flows) {
            let mut connected = ConnectedSpans::new(snapshot, snapshot.lane(lane).track);
            for point in SortedRows::new(snapshot, [lane], None, None) {
                if point.index.row.is_multiple_of(POINTS_BETWEEN_CHECKS) {
                    cancel.check()?;
                }
                if flows.contains(&point.row.value) {
                    needed.insert(point.index);
                    connected.add(snapshot, &point, needed);
                }
            }
            connected.finish(snapshot, cancel, needed)?;
        }
        Ok(())
    }
}

/// The spans and instants of a track that flow points connect, with the ancestors of the spans.
struct ConnectedSpans<'a> {
    sweep: SpanSweep<'a>,
    /// Connected spans, which need not be open at the time of their points.
    spans: BTreeSet<RowIdx>,
}

impl<'a> ConnectedSpans<'a> {
    fn new(snapshot: &'a Snapshot, track: TrackIdx) -> Self {
        Self { sweep: SpanSweep::new(snapshot, track), spans: BTreeSet::new() }
    }

    /// Adds the spans around one more point, and the row that it connects; points come in time order.
    fn add(&mut self, snapshot: &'a Snapshot, row: &SortedRow, needed: &mut BTreeSet<RowIdx>) {
        let ts_ns = row.row.start_ns;
        let point = FlowPoint::from_bits(row.row.detail);
        let inside = point.depth.map_or(0, |depth| depth.saturating_add(1));
        self.sweep.seek(ts_ns);
        needed.extend(self.sweep.take_around(inside, ts_ns));
        let (flow, track, name) = (row.row.value, self.sweep.track(), NameIdx(row.row.name));
        match span_of(snapshot, &mut self.sweep, &FlowRow { flow, ts_ns, track, name, point }) {
            Some(span) if snapshot.lane(span.lane).kind == LaneKind::Spans => _ = self.spans.insert(span),
            instant => needed.extend(instant),
        }
    }

    /// Adds the connected spans, with their ancestors.
    fn finish(self, snapshot: &'a Snapshot, cancel: &Cancel, needed: &mut BTreeSet<RowIdx>) -> Result<(), Cancelled> {
        let mut spans: Vec<_> = self.spans.into_iter().map(|row| (snapshot.row(row), row)).collect();
        spans.sort_by_key(|(span, row)| (span.start_ns, *row));
        let mut sweep = SpanSweep::new(snapshot, self.sweep.track());
        for (span, row) in spans {
            cancel.check()?;
            sweep.seek(span.start_ns);
            needed.extend(sweep.take_around(snapshot.lane(row.lane).depth, span.end_ns()));
            needed.insert(row);
        }
        Ok(())
    }
}

/// Returns the last value of a counter before `from_ns`.
fn held_value(snapshot: &Snapshot, lane: LaneIdx, from_ns: i64) -> Option<RowIdx> {
    if snapshot.lane(lane).kind != LaneKind::Counter {
        return None;
    }
    let row = LaneCursor::new(snapshot.store(), lane).first_from(from_ns).row.checked_sub(1)?;
    Some(RowIdx { lane, row })
}

fn sorted_row(snapshot: &Snapshot, index: RowIdx) -> Option<SortedRow> {
    let mut cursor = LaneCursor::new(snapshot.store(), index.lane);
    let unfinished = cursor.lane().is_unfinished(index.row);
    Some(SortedRow { index, kind: cursor.lane().info().kind, row: cursor.row(index.row)?, unfinished })
}
