//! The report of `longspan bench`: distributions of the costs of frames.

use std::time::Duration;

use serde::Serialize;

use crate::frame::FrameCost;
use crate::scene::rects::Rect;

/// The printed object; its names are a contract with scripts.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    pub(super) spans: u64,
    /// Maximum number of lanes in view of any frame.
    pub(super) lanes_in_view: usize,
    pub(super) frames: u32,
    /// The warm frames, whose fields are written directly into the object.
    #[serde(flatten)]
    pub(super) warm: Distributions,
    pub(super) cold: Option<Distributions>,
    /// The frames that waited for all of their tiles.
    pub(super) whole: Distributions,
    /// The GPU that the window would use here.
    pub(super) adapter: Option<String>,
    /// The same zoom drawn with this GPU, if requested.
    pub(super) drawn: Option<DrawTimings>,
    pub(super) steps: Vec<FrameTiming>,
}

#[derive(Debug, Serialize)]
pub(super) struct Distributions {
    queries_per_frame: Distribution<u64>,
    ns_per_query: Distribution<f64>,
    /// CPU time of all threads while the frame was built.
    cpu_ms: Percentiles,
    /// Wall time from the start of the frame to its rectangles; longer if other programs use the CPU.
    wall_ms: Percentiles,
    /// CPU time of all threads between frames, for late tiles and prefetches.
    between_ms: Percentiles,
    read_bytes: Distribution<u64>,
    instances: Distribution<u64>,
    uploaded_bytes: Distribution<u64>,
    late: Late,
}

/// Frames with a tile drawn coarser than it should be, because the exact tile was late.
#[derive(Debug, Serialize)]
struct Late {
    frames: usize,
    /// The most late frames in a row.
    frames_in_a_row: usize,
    tiles: Distribution<u64>,
}

#[derive(Debug, Serialize)]
struct Distribution<T> {
    p50: T,
    max: T,
}

#[derive(Debug, Serialize)]
struct Percentiles {
    p50: f64,
    p95: f64,
    p99: f64,
    max: f64,
}

/// Times of frames that are drawn as in the window, but onto a texture.
#[derive(Debug, Serialize)]
pub(super) struct DrawTimings {
    /// From the start of a frame until its rectangles and triangles are built.
    interface_ms: Percentiles,
    /// From there until they are uploaded and the commands are submitted.
    submit_ms: Percentiles,
    /// From there until the GPU has finished.
    gpu_ms: Percentiles,
    /// All three together.
    frame_ms: Percentiles,
    late: Late,
}

/// The measurements of one frame.
#[derive(Debug, Clone, Copy, Serialize)]
pub(super) struct FrameTiming {
    pub(super) pass: Pass,
    /// Zoom factor relative to the whole trace.
    pub(super) zoom: f64,
    pub(super) queries: u64,
    pub(super) cpu_ms: f64,
    pub(super) wall_ms: f64,
    pub(super) between_ms: f64,
    /// Wall time per query of all threads together; `None` without queries.
    pub(super) ns_per_query: Option<f64>,
    pub(super) read_bytes: u64,
    pub(super) late_tiles: u64,
    #[serde(skip)]
    pub(super) instances: u64,
    #[serde(skip)]
    pub(super) lanes: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Pass {
    Cold,
    Warm,
    Whole,
}

impl Distributions {
    pub(super) fn from_steps(steps: &[FrameTiming]) -> Self {
        let whole = |measure: fn(&FrameTiming) -> u64| Distribution::from_counts(steps.iter().map(measure).collect());
        let query_ns = sorted(steps.iter().filter_map(|step| step.ns_per_query).collect());
        Self {
            queries_per_frame: whole(|step| step.queries),
            ns_per_query: Distribution {
                p50: percentile(&query_ns, 50).unwrap_or(0.0),
                max: query_ns.last().copied().unwrap_or(0.0),
            },
            cpu_ms: Percentiles::from_values(steps.iter().map(|step| step.cpu_ms).collect()),
            wall_ms: Percentiles::from_values(steps.iter().map(|step| step.wall_ms).collect()),
            between_ms: Percentiles::from_values(steps.iter().map(|step| step.between_ms).collect()),
            read_bytes: whole(|step| step.read_bytes),
            instances: whole(|step| step.instances),
            uploaded_bytes: whole(|step| step.instances * size_of::<Rect>() as u64),
            late: Late::from_frames(&steps.iter().map(|step| step.late_tiles).collect::<Vec<_>>()),
        }
    }
}

impl Distribution<u64> {
    fn from_counts(mut counts: Vec<u64>) -> Self {
        counts.sort_unstable();
        Self { p50: percentile(&counts, 50).unwrap_or(0), max: counts.last().copied().unwrap_or(0) }
    }
}

impl Percentiles {
    fn from_values(values: Vec<f64>) -> Self {
        let values = sorted(values);
        let at_percent = |percent| percentile(&values, percent).unwrap_or(0.0);
        Self { p50: at_percent(50), p95: at_percent(95), p99: at_percent(99), max: at_percent(100) }
    }
}

impl Late {
    /// Counts the frames with late tiles, from the number in each frame.
    fn from_frames(late_tiles: &[u64]) -> Self {
        Self {
            frames: late_tiles.iter().filter(|&&tiles| tiles > 0).count(),
            frames_in_a_row: late_tiles.split(|&tiles| tiles == 0).map(<[u64]>::len).max().unwrap_or(0),
            tiles: Distribution::from_counts(late_tiles.to_vec()),
        }
    }
}

impl DrawTimings {
    pub(super) fn from_frames(frames: &[FrameCost]) -> Self {
        let times = |time: fn(&FrameCost) -> Duration| {
            Percentiles::from_values(frames.iter().map(|frame| time(frame).as_secs_f64() * 1e3).collect())
        };
        Self {
            interface_ms: times(|frame| frame.interface),
            submit_ms: times(|frame| frame.submit),
            gpu_ms: times(|frame| frame.gpu),
            frame_ms: times(|frame| frame.interface + frame.submit + frame.gpu),
            late: Late::from_frames(&frames.iter().map(|frame| frame.late_tiles as u64).collect::<Vec<_>>()),
        }
    }
}

fn sorted(mut values: Vec<f64>) -> Vec<f64> {
    values.sort_unstable_by(f64::total_cmp);
    values
}

/// Returns the smallest value that is at least as large as `percent` % of all values.
fn percentile<T: Copy>(sorted: &[T], percent: usize) -> Option<T> {
    let rank = (sorted.len() * percent).div_ceil(100).max(1);
    sorted.get(rank - 1).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_values_that_were_measured() {
        let values: Vec<u32> = (1..=200).collect();
        assert_eq!([50, 95, 99, 100].map(|percent| percentile(&values, percent)), [100, 190, 198, 200].map(Some));
        assert_eq!(percentile(&[7], 50), Some(7));
        assert_eq!(percentile::<u32>(&[], 50), None);
    }
}
