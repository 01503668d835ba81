//! Traces of tests with ledgers: random spans as a plain list for oracles, and the store of the same spans.

use std::fs::File;
use std::sync::Arc;

use super::Snapshot;
use crate::base::cancel::Cancel;
use crate::base::progress::Progress;
use crate::model::{Id, Names, Registry, TrackIdx, TrackKey, TrackKind};
use crate::store::ledger::LedgerShape;
use crate::store::ledger_build::LedgerContext;
use crate::store::{LaneKind, Meta, Row, Store, StoreWriter, Summary};

/// A span of the oracle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Span {
    pub(super) track: u32,
    pub(super) lane: u16,
    pub(super) start_ns: i64,
    pub(super) dur_ns: u64,
    pub(super) name: u32,
}

impl Span {
    pub(super) fn end_ns(&self) -> i64 {
        self.start_ns.saturating_add_unsigned(self.dur_ns)
    }
}

/// A random sequence that is the same everywhere.
pub(super) struct Sequence(pub(super) u64);

impl Sequence {
    pub(super) fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

/// Lanes of random spans: ties, spans without a duration, children that outlast their parents, gaps between lanes.
pub(super) fn spans(tracks: u32, lanes: u16, rows: u64, seed: u64, first_ns: i64) -> Vec<Span> {
    let mut random = Sequence(seed | 1);
    let mut spans = Vec::new();
    for track in 0..tracks {
        for lane in 0..lanes {
            let mut free_ns = first_ns.saturating_add(random.below(40) as i64);
            for _ in 0..rows / u64::from(1 + track) {
                let start_ns = free_ns.saturating_add((random.below(3) * random.below(60 >> lane.min(4))) as i64);
                let dur_ns = random.below(300 >> lane.min(5)) * random.below(5);
                let names = if random.below(9) == 0 { 12 } else { 5 };
                let name = 1 + random.below(names) as u32;
                spans.push(Span { track, lane: lane * 2, start_ns, dur_ns, name });
                free_ns = start_ns.saturating_add_unsigned(dur_ns);
            }
        }
    }
    spans
}

/// Trees of many levels for a thousand spans.
pub(super) const SMALL: LedgerShape =
    LedgerShape { rows_min: 1, slice_rows: 16, leaf_rows: 8, fan_out: 3, sketch_slices: 2 };

pub(super) fn store(spans: &[Span], shape: Option<LedgerShape>, budget_bytes: usize) -> (File, Snapshot) {
    let (mut names, mut registry) = (Names::default(), Registry::default());
    for name in 0..13 {
        names.intern(&format!("name {name}"), None);
    }
    let file = tempfile::tempfile().unwrap();
    let mut writer = StoreWriter::new(file.try_clone().unwrap(), 1 << 24).unwrap();
    for tid in 0..=spans.iter().map(|span| span.track).max().unwrap_or(0) {
        let (pid, tid) = (Id::Number(1), Id::Number(tid.into()));
        registry.track(&TrackKey { kind: TrackKind::Thread, pid, tid, name: Arc::default(), slot: 0 });
    }
    let mut lane = None;
    for span in spans {
        let place = (span.track, span.lane);
        let index = match lane {
            Some((known, index)) if known == place => index,
            _ => writer.add_lane(TrackIdx(span.track), LaneKind::Spans, span.lane),
        };
        lane = Some((place, index));
        writer.push(index, Row { start_ns: span.start_ns, value: span.dur_ns, detail: 0, name: span.name }).unwrap();
    }
    let end_ns = spans.iter().map(Span::end_ns).max().unwrap_or(0);
    let summary = Summary { end_ns, ..Summary::default() };
    let meta = Meta { names: names.into(), tracks: registry.tables().clone(), summary, ..Meta::default() };
    let (cancel, progress) = (Cancel::default(), Progress::default());
    let context = shape.map(|shape| LedgerContext { shape, budget_bytes, cancel: &cancel, progress: &progress });
    writer.finish_with_ledger(meta, context.as_ref()).unwrap();
    let snapshot = Snapshot::new(Store::from_file(&file, "test".as_ref()).unwrap().into());
    (file, snapshot)
}

/// Ranges at the bounds of slices, beside them, and anywhere.
pub(super) fn ranges(snapshot: &Snapshot, random: &mut Sequence, count: usize) -> Vec<(Option<i64>, Option<i64>)> {
    let bounds = snapshot.store().ledger().map(|ledger| ledger.bounds_ns().to_vec()).unwrap_or_default();
    let (first, last) = (bounds.first().copied().unwrap_or(0), snapshot.end_ns());
    let moment = |random: &mut Sequence| match random.below(6) {
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
        // The largest time stands for no end.
        ranges.push((from_ns, to_ns.filter(|&to_ns| to_ns < i64::MAX)));
    }
    ranges
}
