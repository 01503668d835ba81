//! Converts a point on the canvas to the lane and the time under it. A query then finds the span.

use super::rows::{Group, LaneRow, RowLayout};
use super::viewport::Viewport;

/// The lane, group and time under a point of the canvas.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Picked {
    /// The lane, if the point is on one.
    pub(crate) lane: Option<LaneRow>,
    /// The process header or the track, if the point is on one.
    pub(crate) group: Option<Group>,
    pub(crate) ts_ns: i64,
    /// Distance to either side at which a span still counts as hit.
    pub(crate) tolerance_ns: u64,
}

/// Picks the lane, group and time under a point, in pixels from the upper left corner of the canvas.
#[must_use]
pub(crate) fn pick(layout: &RowLayout, view: &Viewport, x: f64, y: f64) -> Picked {
    /// Half the width of the smallest click target.
    const REACH_PX: f64 = 3.0;
    let (top_px, _) = view.pixels_in_view();
    let (y_px, tolerance_ns) = (top_px + y.max(0.0) as u64, (REACH_PX * view.ns_per_px()).ceil() as u64);
    Picked {
        lane: layout.lanes_within(y_px, y_px + 1).first().copied(),
        group: layout.groups_within(y_px, y_px + 1).first().copied(),
        ts_ns: view.time_from_x(x),
        tolerance_ns,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{ProcessIdx, TrackIdx};
    use crate::scene::rows::{Folded, GroupKind, RowHeights, TrackRows};
    use crate::store::lane::{LaneIdx, LaneKind};

    #[test]
    fn every_row_of_pixels_picks_the_lane_that_is_drawn_there() {
        let tracks = [TrackRows {
            track: TrackIdx(0),
            process: ProcessIdx(0),
            custom_group: None,
            lanes: 0..50,
            group: None,
            starts_folded: false,
            curves: 0,
        }];
        let layout =
            RowLayout::new(tracks, |_| LaneKind::Spans, |_| None, &Folded::default(), &RowHeights::at_scale(1.5));
        let mut view = Viewport::covering(0, 1000, 500.0, 300.0);
        view.scroll(333.0, 1e6);
        for y in 0..300_u32 {
            let picked = pick(&layout, &view, 250.0, f64::from(y) + 0.5);
            let lane = picked.lane.map(|row| row.top_px <= u64::from(333 + y) && row.lane < LaneIdx(50));
            assert_eq!(lane, Some(true), "{y}");
        }
    }

    #[test]
    fn the_header_and_the_void_below_have_no_lane() {
        let tracks = [TrackRows {
            track: TrackIdx(0),
            process: ProcessIdx(7),
            custom_group: None,
            lanes: 0..1,
            group: None,
            starts_folded: false,
            curves: 0,
        }];
        let layout =
            RowLayout::new(tracks, |_| LaneKind::Spans, |_| None, &Folded::default(), &RowHeights::at_scale(1.0));
        let view = Viewport::covering(0, 1000, 500.0, 300.0);
        let header = pick(&layout, &view, 0.0, 3.0);
        assert_eq!(header.group.map(|group| group.kind), Some(GroupKind::Process(ProcessIdx(7))));
        assert_eq!(header.lane, None);
        assert_eq!(pick(&layout, &view, 0.0, 299.0).group, None);
    }
}
