//! Draws instants: a diamond each if there is room, a bar if they crowd. An instant is never hidden completely.

use super::color::Rgba;
use super::rects::{ColumnRun, Rect, RectStyle};

/// A row of instants on the canvas.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct InstantBand {
    pub(crate) y0: f32,
    pub(crate) y1: f32,
}

/// Adds a marker for each run of a lane of instants. A diamond is as wide as the row is high. If the next instant is
/// closer, both become bars of at least a pixel.
pub(crate) fn rects(runs: &[ColumnRun], band: InstantBand, color_of: impl Fn(&ColumnRun) -> Rgba, out: &mut Vec<Rect>) {
    let half_px = ((band.y1 - band.y0) / 2.0).floor();
    let width_px = f64::from(half_px * 2.0);
    for (index, run) in runs.iter().enumerate() {
        let before = index.checked_sub(1).and_then(|before| runs.get(before));
        let room_left = before.map_or(f64::MAX, |before| run.x0 - before.x1);
        let room_right = runs.get(index + 1).map_or(f64::MAX, |after| after.x0 - run.x1);
        let alone = run.x1 - run.x0 <= 2.0 && room_left.min(room_right) >= width_px;
        let (x0, x1) = (run.x0 as f32, run.x1 as f32);
        let color = color_of(run);
        if alone {
            let middle = f32::midpoint(x0, x1);
            let (x0, x1) = (middle - half_px, middle + half_px);
            out.push(Rect { x0, y0: band.y0, x1, y1: band.y1, color, style: RectStyle::DIAMOND });
        } else {
            out.push(Rect { x0, y0: band.y0, x1, y1: band.y1, color, style: RectStyle::PLAIN });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::NameIdx;

    fn instant(x0: f64) -> ColumnRun {
        ColumnRun {
            x0,
            x1: x0 + 1.0,
            name: NameIdx::EMPTY,
            row: 0,
            dur_ns: 0,
            wide: false,
            unfinished: false,
            torn: false,
        }
    }

    #[test]
    fn a_crowd_of_instants_never_overlaps() {
        let runs: Vec<_> = [10.0, 14.0, 100.0, 200.0, 205.0].map(instant).into();
        let mut out = Vec::new();
        rects(&runs, InstantBand { y0: 0.0, y1: 10.0 }, |_| Rgba::default(), &mut out);
        assert_eq!(out.len(), 5);
        assert!(out.windows(2).all(|pair| pair[0].x1 <= pair[1].x0), "{out:?}");
        assert_eq!(out.iter().filter(|rect| rect.style.has(RectStyle::DIAMOND)).count(), 1);
    }
}
