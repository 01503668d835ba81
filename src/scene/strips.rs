//! The strip that a folded process shows in place of its tracks: in each column the longest of the outermost spans of its
//! busiest tracks.
//!
//! The slow answer: the same over all its tracks. Of processes with more than [`TRACKS_MAX`] tracks those with fewer events
//! are left out, because a frame must not ask eighty thousand of them.

use super::color::Rgba;
use super::palette::Palette;
use super::rects::{Look, Rect};
use super::viewport::Viewport;
use crate::model::{NameIdx, Names};
use crate::query::{Buckets, Cell};

/// So many tracks of a process stand for it: forty folded processes fill a screen, and then ask as much as all rows of it.
pub const TRACKS_MAX: usize = 8;

/// A column of a strip, in pixels: wider than one of a lane, because eight lanes share it.
const COLUMN_PX: f64 = 3.0;

/// Where a strip is drawn on the canvas.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Band {
    /// Its upper edge.
    pub y0: f32,
    /// Its lower edge.
    pub y1: f32,
}

/// The buckets of the strips of a view.
#[must_use]
pub fn buckets_of(view: &Viewport) -> Buckets {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "positive, and a float to u64 saturates"
    )]
    let least_ns = (view.ns_per_px() * COLUMN_PX / 2.0).ceil() as u64;
    Buckets::covering(view.start_ns(), view.end_ns(), least_ns)
}

/// A lane of a strip: the colour of its track, where tracks have colours, and its cells.
pub type StripLane = (Rgba, Vec<Cell>);

/// The strip from the cells of each of its lanes, added to `out`.
pub fn rects(
    view: &Viewport,
    buckets: Buckets,
    lanes: &[StripLane],
    band: Band,
    names: &Names,
    palette: &Palette,
    out: &mut Vec<Rect>,
) {
    let mut run: Option<Run> = None;
    for column in longest_of(buckets, lanes) {
        let next = column.map(|column| Run {
            color: palette.of_span(names.get(column.name), column.dur_ns(), column.of_track),
            x0: column.x0(view, buckets),
            x1: column.x1(view, buckets),
        });
        match (&mut run, next) {
            (Some(run), Some(next)) if run.color == next.color && run.x1 >= next.x0 => run.x1 = next.x1,
            (_, next) => {
                out.extend(run.take().map(|run| run.rect(view, band)));
                run = next;
            }
        }
    }
    out.extend(run.map(|run| run.rect(view, band)));
}

/// What stands for a bucket of a strip.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Column {
    bucket: i64,
    start_ns: i64,
    end_ns: i64,
    name: NameIdx,
    of_track: Rgba,
}

impl Column {
    fn dur_ns(&self) -> u64 {
        self.end_ns.abs_diff(self.start_ns)
    }

    /// Where the span begins in the bucket.
    fn x0(&self, view: &Viewport, buckets: Buckets) -> f64 {
        view.x_from_time(self.start_ns.max(buckets.start_ns(self.bucket))).floor()
    }

    /// Where it ends in the bucket.
    fn x1(&self, view: &Viewport, buckets: Buckets) -> f64 {
        view.x_from_time(self.end_ns.min(buckets.start_ns(self.bucket + 1))).ceil()
    }
}

/// Neighbouring columns of one colour.
struct Run {
    color: Rgba,
    x0: f64,
    x1: f64,
}

impl Run {
    #[expect(clippy::cast_possible_truncation, reason = "pixels on the canvas are exact in an f32")]
    fn rect(&self, view: &Viewport, band: Band) -> Rect {
        let x0 = self.x0.clamp(0.0, view.width_px()) as f32;
        let x1 = self.x1.clamp(0.0, view.width_px()) as f32;
        Rect { x0, y0: band.y0, x1: x1.max(x0 + 1.0), y1: band.y1, color: self.color, look: Look::PLAIN }
    }
}

/// For each bucket the longest span of all lanes, the first lane's of equals.
fn longest_of(buckets: Buckets, lanes: &[StripLane]) -> Vec<Option<Column>> {
    let mut columns: Vec<Option<Column>> = vec![None; buckets.count as usize];
    for (of_track, cell) in lanes.iter().flat_map(|(of_track, cells)| cells.iter().map(|cell| (*of_track, cell))) {
        let from = cell.first_bucket.max(buckets.first);
        let end = (cell.first_bucket + i64::from(cell.bucket_count)).min(buckets.end());
        for bucket in from..end {
            let next = Column { bucket, start_ns: cell.start_ns, end_ns: cell.end_ns, name: cell.name, of_track };
            let place = usize::try_from(bucket - buckets.first).ok().and_then(|place| columns.get_mut(place));
            if let Some(known) = place
                && known.is_none_or(|known| known.dur_ns() < next.dur_ns())
            {
                *known = Some(next);
            }
        }
    }
    columns
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::Crowd;
    use crate::scene::color::Shade;

    fn cell(first_bucket: i64, bucket_count: u32, start_ns: i64, end_ns: i64, name: u32) -> Cell {
        Cell {
            first_bucket,
            bucket_count,
            row: 0,
            start_ns,
            end_ns,
            name: NameIdx(name),
            unfinished: false,
            first_rows: Crowd::of(1),
            last_rows: Crowd::default(),
        }
    }

    #[test]
    fn in_each_column_the_longest_span_of_all_tracks_is_drawn_and_equal_neighbours_are_one_rectangle() {
        let mut view = Viewport::of_capture(0, 1_000_000, 1000.0, 100.0);
        view.show_exactly(0, 100_000);
        let buckets = buckets_of(&view);
        let width_ns = buckets.start_ns(1);
        // A long span over the first ten buckets of one track; short ones in each of twenty of another.
        let long = vec![cell(0, 10, 0, 10 * width_ns, 1)];
        let short = (0..20).map(|n| cell(n, 1, n * width_ns, (n + 1) * width_ns, 2)).collect();
        let mut out = Vec::new();
        let palette = Palette::new(Shade::Dark);
        let band = Band { y0: 3.0, y1: 20.0 };
        let of_track = Rgba::default();
        let mut names = Names::default();
        for number in 0..2 {
            names.intern(&format!("name {number}"), None);
        }
        rects(&view, buckets, &[(of_track, long), (of_track, short)], band, &names, &palette, &mut out);
        assert_eq!(out.len(), 2, "{out:?}");
        assert!(out[0].x1 > out[0].x0 && (out[1].x0 - out[0].x1).abs() <= 1.0, "{out:?}");
        let end = view.x_from_time(20 * width_ns).ceil();
        assert!((f64::from(out[1].x1) - end).abs() <= 1.0, "{out:?} {end}");
    }

    #[test]
    fn nothing_is_drawn_where_no_track_has_a_span() {
        let view = Viewport::of_capture(0, 1_000_000, 1000.0, 100.0);
        let mut out = Vec::new();
        let palette = Palette::new(Shade::Dark);
        let band = Band { y0: 0.0, y1: 1.0 };
        rects(&view, buckets_of(&view), &[(Rgba::default(), vec![])], band, &Names::default(), &palette, &mut out);
        assert_eq!(out, []);
    }
}
