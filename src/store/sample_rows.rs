//! Reads the samples of parts of lanes, each with its event and weight. Details are read in file order: samples of many
//! threads have their details side by side, so each block of details is unpacked once.

use crate::base::cancel::{Cancel, Cancelled};
use crate::model::StackIdx;
use crate::model::args::Detail;
use crate::model::sample_measure::SampleMeasure;

use super::block::BLOCK_ROWS;
use super::details::DetailReader;
use super::lane::{DetailRef, LaneIdx, LaneInfo, LaneKind};
use super::read::Store;

/// Samples whose details are read together: 2.5 MiB.
const WAITING_MAX: usize = 64 * 1024;

/// The samples of a lane in a range of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SamplePart {
    pub(crate) lane: LaneIdx,
    pub(crate) from_ns: i64,
    /// The end; `None` for the end of the lane.
    pub(crate) to_ns: Option<i64>,
}

/// A sample of a lane.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MeasuredRow {
    pub(crate) part: usize,
    pub(crate) ts_ns: i64,
    pub(crate) row: u64,
    pub(crate) stack: StackIdx,
}

/// Iterates over the sample lanes of events, in order.
pub(crate) fn sample_lanes(store: &Store) -> impl Iterator<Item = (LaneIdx, LaneInfo)> + '_ {
    let tracks = &store.meta().tracks.tracks;
    let lanes = (0..store.lane_count()).map(|lane| (LaneIdx(lane), store.lane(LaneIdx(lane)).info()));
    lanes.filter(|(_, info)| {
        let is_event = tracks.get(info.track.index()).is_some_and(|track| !track.key.kind.is_derived());
        info.kind == LaneKind::Samples && is_event
    })
}

impl SamplePart {
    /// Intersects the part with another range of time.
    #[must_use]
    pub(crate) fn within(self, from_ns: i64, to_ns: Option<i64>) -> Self {
        let to_ns = match (self.to_ns, to_ns) {
            (Some(own_ns), Some(other)) => Some(own_ns.min(other)),
            (own_ns, other) => own_ns.or(other),
        };
        Self { from_ns: self.from_ns.max(from_ns), to_ns, ..self }
    }

    #[must_use]
    pub(crate) fn is_before_end(&self, ts_ns: i64) -> bool {
        self.to_ns.is_none_or(|to_ns| ts_ns < to_ns)
    }

    /// Returns an upper bound of its rows without reading them, from whole extents.
    #[must_use]
    pub(crate) fn rows_at_most(&self, store: &Store) -> u64 {
        let extents = store.lane(self.lane).extents();
        let first = extents.partition_point(|extent| extent.first_start_ns < self.from_ns).saturating_sub(1);
        let end = extents.partition_point(|extent| self.is_before_end(extent.first_start_ns));
        match (extents.get(first), end.checked_sub(1).and_then(|last| extents.get(last))) {
            (Some(first), Some(last)) => (last.first_row + u64::from(last.rows)).saturating_sub(first.first_row),
            _ => 0,
        }
    }
}

/// Calls `take` for each sample of `parts`, in no order. A sample without a detail has no measure. Damaged rows are
/// skipped. Returns `Cancelled` if cancelled.
pub(crate) fn each_measured(
    store: &Store,
    parts: &[SamplePart],
    cancel: &Cancel,
    mut take: impl FnMut(MeasuredRow, Option<&SampleMeasure<'_>>),
) -> Result<(), Cancelled> {
    let (mut waiting, mut reader) = (Vec::new(), DetailReader::default());
    for (number, part) in parts.iter().enumerate() {
        let lane = store.lane(part.lane);
        let extents = lane.extents();
        let first = extents.partition_point(|extent| extent.first_start_ns < part.from_ns).saturating_sub(1);
        for (index, record) in extents.iter().enumerate().skip(first) {
            if !part.is_before_end(record.first_start_ns) {
                break;
            }
            cancel.check()?;
            let Some(extent) = lane.extent(index) else { continue };
            let blocks = extent.directory();
            let first = blocks.partition_point(|entry| entry.first_start_ns < part.from_ns).saturating_sub(1);
            for (block, entry) in blocks.iter().enumerate().skip(first) {
                if !part.is_before_end(entry.first_start_ns) {
                    break;
                }
                let block = extent.block(block);
                let (mut starts, mut values) = ([0; BLOCK_ROWS], [0; BLOCK_ROWS]);
                block.times(&mut starts, &mut values);
                for slot in 0..block.rows() {
                    let ts_ns = starts[slot];
                    if ts_ns < part.from_ns || !part.is_before_end(ts_ns) {
                        continue;
                    }
                    let row = record.first_row + u64::from(entry.first_row()) + slot as u64;
                    let sample = MeasuredRow { part: number, ts_ns, row, stack: StackIdx::from_value(values[slot]) };
                    match block.detail(slot) {
                        0 => take(sample, None),
                        detail => waiting.push((detail, sample)),
                    }
                }
                if waiting.len() >= WAITING_MAX {
                    cancel.check()?;
                    measure(store, &mut waiting, &mut reader, &mut take);
                }
            }
        }
    }
    measure(store, &mut waiting, &mut reader, &mut take);
    Ok(())
}

/// Measures the collected samples, in the order of their details.
fn measure(
    store: &Store,
    waiting: &mut Vec<(u64, MeasuredRow)>,
    reader: &mut DetailReader,
    take: &mut impl FnMut(MeasuredRow, Option<&SampleMeasure<'_>>),
) {
    waiting.sort_unstable_by_key(|&(detail, _)| detail);
    for (detail, sample) in waiting.drain(..) {
        let detail = Detail::decode(store.detail(DetailRef(detail), reader));
        take(sample, Some(&SampleMeasure::from_args(detail.args_json)));
    }
}
