//! The summary of a whole trace once it is imported: how busy it is over time, and the summaries of its processes and
//! groups. Visits every lane, so a window computes it in the background.
//!
//! Each lane is queried for a fixed number of buckets, which its overview pyramid or a few blocks answer.

use std::sync::Arc;

use rayon::prelude::*;

use super::summaries::TrackSummaries;
use crate::base::cancel::{Cancel, Cancelled};
use crate::model::{Loss, SourcePos};
use crate::query::{Buckets, Snapshot, pixels};
use crate::store::lane::{LaneIdx, LaneKind};

/// Minimum number of buckets of the whole trace: one per two points of a wide screen, so that the map has no steps.
const BUCKETS: u64 = 1024;

/// The summary of a whole trace.
#[derive(Debug, Clone, Default)]
pub struct TraceSummary {
    /// The buckets of `filled`; `None` for the empty summary.
    pub(crate) buckets: Option<Buckets>,
    /// Number of outermost spans that start in each bucket, plus one for each track with a span that only passes
    /// through. If the first lane of a track has none, its next lane that has any is used: spans that overlap without
    /// nesting are there.
    pub(crate) filled: Vec<u32>,
    /// The processes and groups, each as one lane.
    pub(crate) track_summaries: Option<Arc<TrackSummaries>>,
    /// Times of losses that have one, sorted: at most one per bucket, because a frame draws all of them.
    pub(crate) losses_ns: Vec<i64>,
}

impl TraceSummary {
    /// Summarises a trace. Returns [`Cancelled`] if cancelled.
    pub(crate) fn from_snapshot(snapshot: &Snapshot, cancel: &Cancel) -> Result<Self, Cancelled> {
        let tracks = lanes_of_tracks(snapshot);
        let (start_ns, end_ns) = snapshot.drawn_range_ns();
        let buckets = Buckets::covering(start_ns, end_ns, end_ns.abs_diff(start_ns) / (2 * BUCKETS));
        let zeros = || vec![0_u32; buckets.count as usize];
        let filled = tracks
            .par_chunks(64)
            .map(|tracks| {
                let mut filled = zeros();
                for lanes in tracks {
                    cancel.check()?;
                    add_track(snapshot, lanes, buckets, &mut filled);
                }
                Ok(filled)
            })
            .try_reduce(zeros, |mut a, b| {
                a.iter_mut().zip(b).for_each(|(a, b)| *a = a.saturating_add(b));
                Ok(a)
            })?;
        let losses = snapshot.losses().iter().filter_map(|lost| match lost.first {
            SourcePos::Time(ts_ns) => Some(ts_ns),
            SourcePos::Offset(_) => None,
        });
        let mut losses_ns: Vec<i64> = losses.collect();
        let bucket = |ts_ns: i64| buckets.bucket_at(ts_ns);
        losses_ns.retain(|&ts_ns| (buckets.first..buckets.first + i64::from(buckets.count)).contains(&bucket(ts_ns)));
        losses_ns.sort_unstable();
        losses_ns.dedup_by_key(|ts_ns| bucket(*ts_ns));
        let track_summaries = Some(Arc::new(TrackSummaries::from_snapshot(snapshot, buckets, cancel)?));
        Ok(Self { buckets: Some(buckets), filled, track_summaries, losses_ns })
    }

    /// Creates the summary of a live trace. Only the spans of each bucket are known.
    #[must_use]
    pub(crate) fn from_filled(buckets: Buckets, filled: Vec<u32>) -> Self {
        Self { buckets: Some(buckets), filled, ..Self::default() }
    }

    /// Returns the load of each of `columns` equal parts of `[start_ns, end_ns)`, relative to the busiest. Square
    /// roots of the counts are compared, so that small counts stay visible beside large ones.
    #[must_use]
    pub(crate) fn columns(&self, start_ns: i64, end_ns: i64, columns: usize) -> Vec<f32> {
        let Some(buckets) = self.buckets else { return vec![0.0; columns] };
        let whole = i128::from(end_ns) - i128::from(start_ns);
        let width_ns = (1_u64 << buckets.width_log2) as f64;
        let first = (i128::from(start_ns) - (i128::from(buckets.first) << buckets.width_log2)) as f64 / width_ns;
        let buckets_per_column = whole.max(1) as f64 / columns.max(1) as f64 / width_ns;
        // Means, since a maximum would depend on how many buckets a column touches: a regular pattern would show beats.
        let mean = |column: usize| {
            let from = (first + buckets_per_column * column as f64).max(0.0);
            let to = first + buckets_per_column * (column + 1) as f64;
            let touched = from as usize..(to.ceil().max(0.0) as usize).min(self.filled.len());
            let filled = touched.map(|bucket| {
                let part = to.min((bucket + 1) as f64) - from.max(bucket as f64);
                f64::from(self.filled[bucket]) * part
            });
            filled.sum::<f64>() / buckets_per_column
        };
        let means: Vec<f64> = (0..columns).map(mean).collect();
        let most = means.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
        means.into_iter().map(|mean| (mean / most).sqrt() as f32).collect()
    }
}

/// Returns the lanes of each track that show when it is busy: spans and instants, or else samples. Spans of deeper
/// lanes lie within spans of the first lane as long as spans nest.
fn lanes_of_tracks(snapshot: &Snapshot) -> Vec<Vec<LaneIdx>> {
    let summary = snapshot.summary();
    // Values of counters would drown spans in a map of both.
    let has_values_alone = [summary.spans, summary.instants, summary.samples] == [0; 3];
    let has_overlaps = snapshot.losses().count(Loss::Overlap) > 0;
    let lanes_max = if has_overlaps { usize::MAX } else { 1 };
    let of_track = |track| {
        let lanes = || snapshot.lanes_of(track).map(|lane| (LaneIdx(lane), snapshot.lane(LaneIdx(lane)).kind));
        let mut spans: Vec<_> = lanes().filter(|(_, kind)| *kind == LaneKind::Spans).take(lanes_max).collect();
        let is_other = |kind| kind == LaneKind::Instants || spans.is_empty() && kind == LaneKind::Samples;
        let other = lanes().find(|(_, kind)| is_other(*kind));
        spans.extend(other);
        if has_values_alone {
            spans.extend(lanes().find(|(_, kind)| *kind == LaneKind::Counter));
        }
        spans.into_iter().map(|(lane, _)| lane).collect()
    };
    snapshot.display_order().iter().map(|&track| of_track(track)).collect()
}

/// Adds to each bucket the count of the first lane of a track that has any there.
fn add_track(snapshot: &Snapshot, lanes: &[LaneIdx], buckets: Buckets, filled: &mut [u32]) {
    // Tracks with one lane, like nearly all, need no flags.
    let mut is_taken = if lanes.len() > 1 { vec![false; filled.len()] } else { Vec::new() };
    let (mut cells, mut starts) = (Vec::new(), Vec::new());
    for &lane in lanes {
        cells.clear();
        pixels::starts(snapshot, lane, buckets, &mut starts);
        if snapshot.lane(lane).kind == LaneKind::Counter {
            for (filled, &values) in filled.iter_mut().zip(&starts) {
                *filled = filled.saturating_add(u32::try_from(values).unwrap_or(u32::MAX));
            }
            continue;
        }
        pixels::longest(snapshot, lane, buckets, &mut cells);
        for cell in &cells {
            let index_of = |bucket: i64| (bucket - buckets.first).clamp(0, filled.len() as i64) as usize;
            for bucket in index_of(cell.first_bucket)..index_of(cell.end_bucket()) {
                // The cells of one lane share no bucket, so a marked bucket belongs to an earlier lane.
                if is_taken.get_mut(bucket).is_some_and(|is_taken| std::mem::replace(is_taken, true)) {
                    continue;
                }
                // A span that only passes through counts as one.
                let count = u32::try_from(starts[bucket]).unwrap_or(u32::MAX).max(1);
                filled[bucket] = filled[bucket].saturating_add(count);
            }
        }
    }
}
