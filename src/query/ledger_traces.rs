//! Test traces with ledgers: random spans as a plain list for oracles, and the store of the same spans.

use std::fs::File;

use super::Snapshot;
use crate::base::cancel::Cancel;
use crate::base::progress::Progress;
use crate::model::args::Detail;
use crate::model::{Id, NameIdx, NameRow, Names, Registry, TrackIdx, TrackKey};
use crate::store::ledger::LedgerShape;
use crate::store::ledger_build::LedgerContext;
use crate::store::path_ledger::{PathLedger, PathShape};
use crate::store::sample_ledger::SampleShape;
use crate::store::{LaneKind, Meta, Row, Store, StoreWriter, Summary};

/// A span of the oracle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct TraceSpan {
    pub(super) track: u32,
    pub(super) lane: u16,
    pub(super) start_ns: i64,
    pub(super) dur_ns: u64,
    pub(super) name: u32,
}

impl TraceSpan {
    pub(super) fn end_ns(&self) -> i64 {
        self.start_ns.saturating_add_unsigned(self.dur_ns)
    }
}

pub(super) fn category(name: u32) -> Option<String> {
    (!name.is_multiple_of(4)).then(|| format!("category {}", name % 4))
}

/// Returns the id of the process of a track.
pub(super) fn process(track: u32) -> u32 {
    100 + track / 2
}

/// Returns the value of the argument `of.five`.
pub(super) fn argument(span: &TraceSpan) -> Option<u64> {
    (!span.dur_ns.is_multiple_of(3)).then_some(span.dur_ns % 5)
}

/// Returns whether the span failed; half of its name do, so that both kinds are in every sum.
pub(super) fn is_failed(span: &TraceSpan) -> bool {
    (span.dur_ns / 2).is_multiple_of(2)
}

/// Returns whether the last span of the lane has no end in the trace.
pub(super) fn has_no_end(span: &TraceSpan) -> bool {
    (span.track + u32::from(span.lane) / 2).is_multiple_of(3)
}

/// Returns the spans without an end: the last of some lanes.
pub(super) fn unfinished(spans: &[TraceSpan]) -> Vec<TraceSpan> {
    let is_last = |&(number, span): &(usize, &TraceSpan)| {
        !spans[number + 1..].iter().any(|later| (later.track, later.lane) == (span.track, span.lane))
    };
    spans.iter().enumerate().filter(is_last).map(|(_, span)| *span).filter(has_no_end).collect()
}

/// A pseudo-random sequence that is the same on every platform.
pub(super) struct RandomSequence(pub(super) u64);

impl RandomSequence {
    pub(super) fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

/// Builds lanes of random spans: ties, zero-length spans, children that outlast their parents, gaps between lanes.
pub(super) fn spans(tracks: u32, lanes: u16, rows: u64, seed: u64, first_ns: i64) -> Vec<TraceSpan> {
    let mut random = RandomSequence(seed | 1);
    let mut spans = Vec::new();
    for track in 0..tracks {
        for lane in 0..lanes {
            let mut free_ns = first_ns.saturating_add(random.below(40) as i64);
            for _ in 0..rows / u64::from(1 + track) {
                let start_ns = free_ns.saturating_add((random.below(3) * random.below(60 >> lane.min(4))) as i64);
                let dur_ns = random.below(300 >> lane.min(5)) * random.below(5);
                let names = if random.below(9) == 0 { 12 } else { 5 };
                let name = 1 + random.below(names) as u32;
                spans.push(TraceSpan { track, lane: lane * 2, start_ns, dur_ns, name });
                free_ns = start_ns.saturating_add_unsigned(dur_ns);
            }
        }
    }
    spans
}

/// Builds spans nested like calls, each with a random name out of many: most have their own path. Deeper spans are
/// shorter.
pub(super) fn calls(tracks: u32, roots: u64, depth_max: u16, names: u64, seed: u64, first_ns: i64) -> Vec<TraceSpan> {
    let mut random = RandomSequence(seed | 1);
    let mut spans = Vec::new();
    for track in 0..tracks {
        let mut free_ns = first_ns;
        for _ in 0..roots {
            let start_ns = free_ns.saturating_add(random.below(50) as i64);
            let root = TraceSpan { track, lane: 0, start_ns, dur_ns: 100 + random.below(3000), name: 1 };
            free_ns = root.end_ns();
            let mut waiting = vec![root];
            while let Some(span) = waiting.pop() {
                let mut at_ns = span.start_ns;
                for _ in 0..random.below(if span.lane + 1 < depth_max { 5 } else { 1 }) {
                    let start_ns = at_ns.saturating_add(random.below(4) as i64);
                    let room_ns = span.end_ns().abs_diff(start_ns.min(span.end_ns()));
                    let dur_ns = random.below(room_ns / 2 + 1);
                    if start_ns < span.end_ns() {
                        let usual = 1 + random.below(names);
                        let name = 1 + random.below(usual) as u32;
                        waiting.push(TraceSpan { track, lane: span.lane + 1, start_ns, dur_ns, name });
                    }
                    at_ns = start_ns.saturating_add_unsigned(dur_ns);
                }
                spans.push(span);
            }
        }
    }
    spans.sort_by_key(|span| (span.track, span.lane, span.start_ns));
    spans
}

/// Trees of many levels for a thousand spans.
pub(super) const SMALL: LedgerShape =
    LedgerShape { rows_min: 1, slice_rows: 16, leaf_rows: 8, fan_out: 3, sketch_slices: 2 };

pub(super) fn store(spans: &[TraceSpan], shape: Option<LedgerShape>, budget_bytes: usize) -> (File, Snapshot) {
    store_of_shapes(spans, shape.map(|shape| (shape, PathShape::default())), budget_bytes)
}

/// Builds the store of spans with only a path ledger.
pub(super) fn store_of_paths(spans: &[TraceSpan], shape: Option<PathShape>, budget_bytes: usize) -> (File, Snapshot) {
    store_of_shapes(spans, shape.map(|shape| (LedgerShape::default(), shape)), budget_bytes)
}

fn store_of_shapes(
    spans: &[TraceSpan],
    shapes: Option<(LedgerShape, PathShape)>,
    budget_bytes: usize,
) -> (File, Snapshot) {
    let (mut names, mut registry) = (Names::default(), Registry::default());
    for name in 0..13 {
        names.intern(&format!("name {name}"), category(name + 1).as_deref());
    }
    let failed_names: Vec<NameIdx> = (0..names.len() as u32)
        .map(|name| {
            let row = NameRow { is_failed: true, ..names.get(NameIdx(name)) }.boxed();
            names.intern_row(row.borrowed())
        })
        .collect();
    let file = tempfile::tempfile().unwrap();
    let mut writer = StoreWriter::new(file.try_clone().unwrap(), 1 << 24).unwrap();
    for tid in 0..=spans.iter().map(|span| span.track).max().unwrap_or(0) {
        let (pid, tid) = (Id::Number(process(tid).into()), Id::Number(tid.into()));
        registry.track(&TrackKey::thread(pid, tid));
    }
    let mut lane = None;
    for span in spans {
        let lane_key = (span.track, span.lane);
        let index = match lane {
            Some((last, index)) if last == lane_key => index,
            _ => writer.add_lane(TrackIdx(span.track), LaneKind::Spans, span.lane).unwrap(),
        };
        lane = Some((lane_key, index));
        let args_json = argument(span).map(|value| format!(r#"{{"of":{{"five":{value}}}}}"#)).unwrap_or_default();
        let mut blob = Vec::new();
        Detail { args_json: &args_json, ..Detail::default() }.encode_into(&mut blob);
        let detail = if args_json.is_empty() { 0 } else { writer.push_detail(&blob).unwrap().0 };
        let TraceSpan { start_ns, dur_ns: value, name, .. } = *span;
        let name = if is_failed(span) { failed_names[name as usize].0 } else { name };
        writer.push(index, Row { start_ns, value, detail, name }).unwrap();
        if has_no_end(span) {
            writer.mark_unfinished(index);
        }
    }
    let end_ns = spans.iter().map(TraceSpan::end_ns).max().unwrap_or(0);
    let summary = Summary { end_ns, ..Summary::default() };
    let meta = Meta { names: names.into(), tracks: registry.tables().clone(), summary, ..Meta::default() };
    let (cancel, progress) = (Cancel::default(), Progress::default());
    let samples = SampleShape::default();
    let context = shapes.map(|(shape, paths)| LedgerContext {
        shape,
        samples,
        paths,
        budget_bytes,
        started: std::time::Instant::now(),
        cancel: &cancel,
        progress: &progress,
    });
    writer.finish_with_ledger(meta, context.as_ref(), |_| {}).unwrap();
    let snapshot = Snapshot::new(Store::from_file(&file, "test".as_ref()).unwrap().into());
    (file, snapshot)
}

/// Returns ranges at the bounds of slices, next to them, and anywhere.
pub(super) fn ranges(
    snapshot: &Snapshot,
    random: &mut RandomSequence,
    count: usize,
) -> Vec<(Option<i64>, Option<i64>)> {
    let ledger = snapshot.store().ledger().or_else(|| snapshot.store().path_ledger().map(PathLedger::trees));
    let bounds = ledger.map(|ledger| ledger.bounds_ns().to_vec()).unwrap_or_default();
    let (first, last) = (bounds.first().copied().unwrap_or(0), snapshot.end_ns());
    let moment = |random: &mut RandomSequence| match random.below(6) {
        0 => None,
        1 | 2 if !bounds.is_empty() => {
            let bound = bounds[random.below(bounds.len() as u64) as usize];
            Some(bound.saturating_add(random.below(3) as i64 - 1))
        }
        _ => Some(first.saturating_add_unsigned(random.below(last.abs_diff(first).max(1)))),
    };
    let mut ranges = vec![(None, None)];
    while ranges.len() < count {
        let (a, b) = (moment(random), moment(random));
        let (from_ns, to_ns) = if a.is_some() && b.is_some() { (a.min(b), a.max(b)) } else { (a, b) };
        // `i64::MAX` means no end.
        ranges.push((from_ns, to_ns.filter(|&to_ns| to_ns < i64::MAX)));
    }
    ranges
}
