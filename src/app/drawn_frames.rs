//! Draws frames as the window does, panels and all, but onto a texture, and measures each until the GPU has finished
//! it. Nothing is presented, so the refresh rate of a display plays no part.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::offscreen::Headless;
use super::picture::app_without_window;
use crate::base::cancel::Cancel;
use crate::frame::FrameCost;
use crate::model::Sources;
use crate::query::Snapshot;
use crate::render::readback::{self, OffscreenTarget};
use crate::render::{Gpu, GpuError, Painter};
use crate::scene::color::Shade;
use crate::scene::palette::Colors;
use crate::store::RowIdx;
use crate::tiles::trace_summary::TraceSummary;

/// The views of a sequence of frames.
pub(crate) struct FrameViews {
    /// A row that is scrolled into view.
    pub(crate) row: Option<RowIdx>,
    /// The time range of each frame, `[from_ns, to_ns)`.
    pub(crate) ranges: Vec<(i64, i64)>,
    /// Width and height of the window in pixels.
    pub(crate) size_px: [u32; 2],
    /// Time from one frame to the next.
    pub(crate) frame_time: Duration,
}

/// Frames before the first measured one. They lay out the window, and let the driver compile its shaders.
const WARM_UP_FRAMES: usize = 3;

/// Draws a frame for each range of `views`.
///
/// # Errors
/// Returns a [`GpuError`] if nothing can draw, or if the GPU is lost meanwhile.
pub(crate) fn draw_frames(snapshot: &Snapshot, views: &FrameViews) -> Result<Vec<FrameCost>, GpuError> {
    let gpu = Gpu::headless()?;
    let mut painter = Painter::new(&gpu, readback::FORMAT);
    let target = OffscreenTarget::new(&gpu, painter.format(), views.size_px)?;
    let mut app = app_without_window(&gpu, Shade::Dark, Colors::default());
    let summary = TraceSummary::from_snapshot(snapshot, &Cancel::default());
    app.show_trace(snapshot.clone(), Sources::default(), false);
    app.disable_repair();
    if let Some(timeline) = app.timeline_mut() {
        timeline.wait_for_rows();
        if let Ok(summary) = summary {
            timeline.set_trace_summary(Arc::new(summary));
        }
    }
    let mut headless = Headless::new(&gpu, views.size_px, 1.0);
    let background = app.theme().canvas;
    let mut costs = Vec::with_capacity(views.ranges.len());
    let warm_up = views.ranges.iter().take(1).cycle().take(WARM_UP_FRAMES);
    let mut due = Instant::now();
    for (frame, &(from_ns, to_ns)) in warm_up.chain(&views.ranges).enumerate() {
        let began = Instant::now();
        if let Some(timeline) = app.timeline_mut() {
            if let Some(row) = views.row.filter(|_| frame + 1 == WARM_UP_FRAMES) {
                timeline.reveal(row);
            }
            timeline.show_exactly(from_ns, to_ns);
        }
        let picture = headless.pass(&gpu, &mut painter, background, |ui| {
            // The effects are ignored, since only the frame is measured.
            app.show(ui);
        });
        let (interface, built) = (began.elapsed(), Instant::now());
        painter.paint(&gpu, target.view(), views.size_px, picture);
        let (submit, submitted) = (built.elapsed(), Instant::now());
        gpu.finish()?;
        let gpu = submitted.elapsed();
        let late_tiles = app.timeline_mut().and_then(|timeline| Some(timeline.last_frame()?.pending)).unwrap_or(0);
        if frame >= WARM_UP_FRAMES {
            costs.push(FrameCost { interface, submit, gpu, late_tiles });
        }
        due = (due + views.frame_time).max(Instant::now());
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
    }
    Ok(costs)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::tests::{TWO_SPANS, snapshot};
    use crate::store::LaneIdx;

    #[test]
    fn each_view_is_drawn_and_measured_once() {
        let snapshot = snapshot(TWO_SPANS);
        let (start_ns, end_ns) = (snapshot.start_ns(), snapshot.end_ns());
        let ranges = vec![(start_ns, end_ns), (start_ns, end_ns / 2), (end_ns / 2, end_ns), (-100, end_ns + 100)];
        let row = Some(RowIdx { lane: LaneIdx(0), row: 1 });
        let views = FrameViews { row, ranges, size_px: [640, 200], frame_time: Duration::ZERO };
        let costs = draw_frames(&snapshot, &views).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(costs.len(), 4);
        assert!(costs.iter().all(|cost| cost.interface > Duration::ZERO && cost.submit > Duration::ZERO), "{costs:?}");
    }

    #[test]
    fn a_size_beyond_the_gpu_is_an_error() {
        let views = FrameViews { row: None, ranges: vec![(0, 1)], size_px: [0, 200], frame_time: Duration::ZERO };
        let refused = draw_frames(&snapshot(TWO_SPANS), &views);
        assert!(matches!(refused, Err(GpuError::TooLarge { width: 0, height: 200, .. })), "{refused:?}");
    }
}
