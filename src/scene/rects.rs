//! Converts the spans under pixel columns to rectangles. Spans narrower than a column share it. No span is drawn twice,
//! and no span with a column to itself is hidden.
//!
//! Equivalent to drawing, in each column, the longest of the spans that touch it.

use super::color::Rgba;
use super::palette::Palette;
use super::viewport::Viewport;
use crate::model::NameIdx;
use crate::query::{Buckets, Cell, RowCount};

/// Drawing style of a rectangle, as bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(crate) struct RectStyle(pub u32);

impl RectStyle {
    /// Flat, in a single colour.
    pub(crate) const PLAIN: Self = Self(0);
    /// A darker edge, which separates neighbours.
    pub(crate) const EDGE: Self = Self(1);
    /// A torn right edge: the end is missing from the trace.
    pub(crate) const TORN: Self = Self(2);
    /// A diamond inside the rectangle: an instant.
    pub(crate) const DIAMOND: Self = Self(4);
    /// A red top edge and corner: a span that failed.
    pub(crate) const FAILED: Self = Self(8);

    #[must_use]
    pub(crate) fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Returns whether every bit of `other` is set.
    #[cfg(test)]
    #[must_use]
    pub(crate) fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

/// A rectangle on the canvas, in pixels from its upper left corner.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Rect {
    pub(crate) x0: f32,
    pub(crate) y0: f32,
    pub(crate) x1: f32,
    pub(crate) y1: f32,
    pub(crate) color: Rgba,
    pub(crate) style: RectStyle,
}

/// A run of a lane that one rectangle covers: a span, or neighbouring columns of narrow spans with the same name.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct ColumnRun {
    /// Left edge, on a whole pixel.
    pub(crate) x0: f64,
    /// Right edge, on a whole pixel.
    pub(crate) x1: f64,
    /// Name of the span, or of the longest in each column.
    pub(crate) name: NameIdx,
    /// Row in the lane, of the longest span if narrow.
    pub(crate) row: u64,
    /// Duration, of the longest span if narrow.
    pub(crate) dur_ns: u64,
    /// Whether this is a single span, at least a column wide.
    pub(crate) wide: bool,
    /// Whether the end of the span is missing from the trace.
    pub(crate) unfinished: bool,
    /// Whether the right edge is torn: there the trace has lost the span, and the edge is in view.
    pub(crate) torn: bool,
}

/// Spans that reach out of view are clipped at this distance, so that their edges are not visible.
pub(crate) const OUTSIDE_PX: f64 = 8.0;

/// Returns the pixel of a time, clipped outside of the view.
#[must_use]
pub(crate) fn clipped_x(view: &Viewport, ts_ns: i64) -> f64 {
    view.x_from_time(ts_ns).round().clamp(-OUTSIDE_PX, view.width_px() + OUTSIDE_PX)
}

/// Minimum width of a span with an edge; below, the edge would be all of it.
const EDGE_MIN_PX: f64 = 4.0;

/// The runs of one lane, at most one per column, with narrow spans sharing columns.
#[derive(Debug, Clone, Default)]
pub(crate) struct Columns {
    pieces: Vec<ColumnRun>,
    column_px: f64,
}

impl Columns {
    /// Computes the runs of a lane's cells, in columns of a pixel.
    #[must_use]
    pub(crate) fn from_cells(view: &Viewport, buckets: Buckets, cells: &[Cell]) -> Self {
        let mut packer = ColumnPacker::new(view, buckets, cells.len());
        cells.iter().for_each(|cell| packer.push_cell(cell));
        packer.finish()
    }

    /// Doubles the width of the columns: the longest span of two columns is the longer of their longest spans.
    #[must_use]
    pub(crate) fn wider(&self) -> Self {
        let column_px = 2.0 * self.column_px;
        // The width is a power of two, so the reciprocal is exact.
        let columns_per_px = column_px.recip();
        let mut pieces = Vec::with_capacity(self.pieces.len());
        for piece in &self.pieces {
            let is_wide = piece.wide && piece.x1 - piece.x0 >= column_px;
            let first = floor(piece.x0 * columns_per_px);
            // A single span takes the column of its start; a merged run takes all columns that it touches.
            let end = if piece.wide { first + 1.0 } else { -floor(-piece.x1 * columns_per_px) };
            let next = if is_wide {
                *piece
            } else {
                ColumnRun {
                    x0: first * column_px,
                    x1: end * column_px,
                    wide: false,
                    unfinished: false,
                    torn: false,
                    ..*piece
                }
            };
            push_run(&mut pieces, next);
        }
        Self { pieces, column_px }
    }

    /// Returns the number of [`Columns::runs`].
    #[must_use]
    pub(crate) fn run_count(&self, palette: &Palette) -> usize {
        self.pieces.len() - self.pieces.windows(2).filter(|pair| are_one(&pair[0], &pair[1], palette)).count()
    }

    /// Returns the runs; neighbouring columns of narrow spans with one name and colour are merged.
    #[must_use]
    pub(crate) fn runs(&self, palette: &Palette) -> Vec<ColumnRun> {
        // One allocation instead of one per doubling, in each lane of each frame.
        let mut out: Vec<ColumnRun> = Vec::with_capacity(self.pieces.len());
        for piece in &self.pieces {
            match out.last_mut() {
                Some(last) if are_one(last, piece, palette) => {
                    last.x1 = piece.x1;
                    if piece.dur_ns > last.dur_ns {
                        (last.row, last.dur_ns) = (piece.row, piece.dur_ns);
                    }
                }
                _ => out.push(*piece),
            }
        }
        out
    }
}

/// Converts the cells of a lane to [`Columns`] of a pixel, one after the other.
#[derive(Debug)]
pub(crate) struct ColumnPacker<'a> {
    view: &'a Viewport,
    buckets: Buckets,
    pieces: Vec<ColumnRun>,
    /// Spans shorter than this are narrower than a pixel. Divisions by the width of a pixel are much of the work in a
    /// crowded lane. Such a span needs no division, and the edge between neighbouring buckets needs one instead of two.
    surely_narrow_ns: f64,
    /// The bucket after the last cell that fills its buckets, and the x of its start in pixels.
    edge: (i64, f64),
}

impl<'a> ColumnPacker<'a> {
    /// Reserves space for `cells` cells of buckets of a view.
    #[must_use]
    pub(crate) fn new(view: &'a Viewport, buckets: Buckets, cells: usize) -> Self {
        let pieces = Vec::with_capacity(cells.min(view.width_px() as usize + 2));
        Self { view, buckets, pieces, surely_narrow_ns: view.ns_per_px() * 0.999, edge: (i64::MIN, 0.0) }
    }

    /// Adds the next cell, in time order.
    pub(crate) fn push_cell(&mut self, cell: &Cell) {
        let view = self.view;
        let next = if (cell.dur_ns() as f64) < self.surely_narrow_ns {
            self.narrow(cell)
        } else {
            let (left, right) = (view.x_from_time(cell.start_ns), view.x_from_time(cell.end_ns));
            if right - left >= 1.0 { wide(view, cell, left, right) } else { self.narrow(cell) }
        };
        if next.x1 > -OUTSIDE_PX && next.x0 < view.width_px() + OUTSIDE_PX {
            push_run(&mut self.pieces, next);
        }
    }

    /// Returns the columns of all cells.
    #[must_use]
    pub(crate) fn finish(self) -> Columns {
        Columns { pieces: self.pieces, column_px: 1.0 }
    }

    /// Returns one pixel for a single span, and all pixels of the buckets for several, so that a dense run has no
    /// holes.
    fn narrow(&mut self, cell: &Cell) -> ColumnRun {
        let x_of = |bucket| self.view.x_from_time(self.buckets.start_ns(bucket));
        let cell_start_ns = self.buckets.start_ns(cell.first_bucket);
        // If the span starts before its cell, any row that starts in the cell is a different span.
        let starts_before = cell.start_ns < cell_start_ns;
        let others = match cell.rows() {
            RowCount::Many => true,
            RowCount::One => starts_before,
            RowCount::Zero => false,
        };
        let (first, end) = if others {
            let start_x = if self.edge.0 == cell.first_bucket { self.edge.1 } else { x_of(cell.first_bucket) };
            let end_x = x_of(cell.end_bucket());
            self.edge = (cell.end_bucket(), end_x);
            // A bucket that ends on a pixel's edge does not touch the next pixel.
            (floor(start_x), -floor(1e-6 - end_x))
        } else {
            let left = floor(self.view.x_from_time(if starts_before { cell_start_ns } else { cell.start_ns }));
            (left, left + 1.0)
        };
        ColumnRun {
            x0: first,
            x1: end.max(first + 1.0),
            name: cell.name,
            row: cell.row,
            dur_ns: cell.dur_ns(),
            wide: false,
            unfinished: false,
            torn: false,
        }
    }
}

fn are_one(left: &ColumnRun, right: &ColumnRun, palette: &Palette) -> bool {
    let meet = !left.wide && !right.wide && left.x1 >= right.x0;
    meet && left.name == right.name && palette.is_same(left.dur_ns, right.dur_ns)
}

/// Returns the rectangle of a run between two heights.
#[must_use]
pub(crate) fn rect(run: &ColumnRun, y0: f32, y1: f32, color: Rgba) -> Rect {
    let edge = if run.wide && run.x1 - run.x0 >= EDGE_MIN_PX { RectStyle::EDGE } else { RectStyle::PLAIN };
    let style = if run.torn { edge.with(RectStyle::TORN) } else { edge };
    Rect { x0: run.x0 as f32, y0, x1: run.x1 as f32, y1, color, style }
}

fn wide(view: &Viewport, cell: &Cell, left: f64, right: f64) -> ColumnRun {
    let x0 = left.round().max(-OUTSIDE_PX);
    let x1 = right.round().min(view.width_px() + OUTSIDE_PX);
    ColumnRun {
        x0,
        x1: x1.max(x0 + 1.0),
        name: cell.name,
        row: cell.row,
        dur_ns: cell.dur_ns(),
        wide: true,
        unfinished: cell.unfinished,
        torn: cell.unfinished && right <= view.width_px() + OUTSIDE_PX,
    }
}

/// Rounds down a pixel near the canvas: `f64::floor` is a call on processors without the instruction.
fn floor(px: f64) -> f64 {
    let whole = px as i64 as f64;
    if whole > px { whole - 1.0 } else { whole }
}

/// Appends a run to the right of the others. If two need the same pixels, the longer span wins.
fn push_run(out: &mut Vec<ColumnRun>, mut next: ColumnRun) {
    while let Some(last) = out.last_mut() {
        if last.x1 <= next.x0 {
            break;
        }
        if next.dur_ns > last.dur_ns {
            last.x1 = next.x0;
            if last.x1 > last.x0 {
                break;
            }
            out.pop();
        } else {
            next.x0 = last.x1;
            if next.x0 >= next.x1 {
                return;
            }
            break;
        }
    }
    out.push(next);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::scene::color::Shade;
    use crate::scene::palette::{ColorBy, Colors, duration_step};

    /// Returns one cell per non-empty run of buckets, by a plain scan over sorted spans `(start, dur, name)`.
    fn cells(buckets: Buckets, spans: &[(i64, i64, u32)]) -> Vec<Cell> {
        let mut cells: Vec<Cell> = Vec::new();
        for bucket in buckets.first..buckets.end() {
            let (from, to) = (buckets.start_ns(bucket), buckets.start_ns(bucket + 1));
            let touching = |&(start, dur, _): &(i64, i64, u32)| {
                start < to && start + dur > from || (dur == 0 && start >= from && start < to)
            };
            let best = spans.iter().zip(0_u64..).filter(|(span, _)| touching(span)).max_by_key(|(span, _)| span.1);
            let Some((&(start_ns, dur, name), row)) = best else { continue };
            let rows = spans.iter().filter(|span| span.0 >= from && span.0 < to).count() as u64;
            let cell = Cell {
                first_bucket: bucket,
                bucket_count: 1,
                row,
                start_ns,
                end_ns: start_ns + dur,
                name: NameIdx(name),
                unfinished: false,
                first_rows: RowCount::from_count(rows),
                last_rows: RowCount::default(),
            };
            if !cells.last_mut().is_some_and(|last| last.extend(&cell)) {
                cells.push(cell);
            }
        }
        cells
    }

    fn drawn(view: &Viewport, spans: &[(i64, i64, u32)], column_px: f64) -> Vec<ColumnRun> {
        drawn_by(ColorBy::Name, view, spans, column_px)
    }

    fn drawn_by(by: ColorBy, view: &Viewport, spans: &[(i64, i64, u32)], column_px: f64) -> Vec<ColumnRun> {
        let buckets = Buckets::covering(view.start_ns(), view.end_ns(), (view.ns_per_px() / 2.0) as u64);
        let mut columns = Columns::from_cells(view, buckets, &cells(buckets, spans));
        while columns.column_px < column_px {
            columns = columns.wider();
        }
        let palette = Palette::from_colors(Colors { by, ..Colors::default() }, Shade::Dark);
        let runs = columns.runs(&palette);
        assert_eq!(runs.len(), columns.run_count(&palette));
        runs
    }

    /// 1000 pixels of 100 ns each, from 0.
    fn view() -> Viewport {
        let mut view = Viewport::covering(0, 1_000_000, 1000.0, 100.0);
        view.show_exactly(0, 100_000);
        view
    }

    #[test]
    fn two_narrow_spans_share_one_pixel() {
        let drawn = drawn(&view(), &[(1010, 20, 1), (1050, 30, 2)], 1.0);
        assert_eq!(drawn.len(), 1, "{drawn:?}");
        assert_eq!((drawn[0].x0, drawn[0].x1, drawn[0].name), (10.0, 11.0, NameIdx(2)));
    }

    #[test]
    fn a_lone_instant_is_one_pixel_wide() {
        let drawn = drawn(&view(), &[(4242, 0, 1)], 1.0);
        assert_eq!((drawn.len(), drawn[0].x0, drawn[0].x1), (1, 42.0, 43.0));
    }

    #[test]
    fn a_dense_run_of_one_name_is_one_rectangle_without_holes() {
        let spans: Vec<_> = (0..2000).map(|n| (20_000 + n * 10, 8, 7)).collect();
        let drawn = drawn(&view(), &spans, 1.0);
        assert_eq!(drawn.len(), 1, "{drawn:?}");
        // A bucket that starts a little earlier reaches into the previous pixel.
        assert_eq!((drawn[0].x0, drawn[0].x1), (199.0, 400.0));
    }

    #[test]
    fn narrow_neighbours_of_one_name_are_one_rectangle_unless_their_durations_have_two_colours() {
        assert_ne!(duration_step(20_000), duration_step(90_000));
        let spans: Vec<_> = (0..100).map(|n| (n * 100_000, if n < 60 { 20_000 } else { 90_000 }, 7)).collect();
        let mut view = view();
        view.set_trace(0, 100_000_000);
        view.show_exactly(0, 100_000_000);
        assert_eq!(drawn(&view, &spans, 1.0).len(), 1);
        let drawn = drawn_by(ColorBy::Duration, &view, &spans, 1.0);
        let edges: Vec<_> = drawn.iter().map(|run| (run.x0, run.x1, run.dur_ns)).collect();
        assert_eq!(edges, [(0.0, 60.0, 20_000), (60.0, 100.0, 90_000)]);
    }

    #[test]
    fn a_span_across_the_whole_view_is_one_rectangle_cut_outside() {
        let drawn = drawn(&view(), &[(-1_000_000_000, 2_000_000_000, 1)], 1.0);
        assert_eq!((drawn.len(), drawn[0].x0, drawn[0].x1), (1, -OUTSIDE_PX, 1000.0 + OUTSIDE_PX));
        assert_eq!(rect(&drawn[0], 0.0, 10.0, Rgba::default()).style, RectStyle::EDGE);
    }

    #[test]
    fn a_span_whose_start_is_hidden_has_the_pixels_that_it_and_the_hidden_ones_reach() {
        // The second span starts in the last bucket of the first, and hides the third in the bucket in which the second
        // ends.
        let drawn = drawn(&view(), &[(31_241, 128, 1), (31_395, 94, 1), (31_507, 9, 1)], 1.0);
        let edges: Vec<_> = drawn.iter().map(|run| (run.x0, run.x1, run.row)).collect();
        assert_eq!(edges, [(312.0, 314.0, 0), (314.0, 316.0, 1)]);
    }

    #[test]
    fn wide_neighbours_meet_on_a_whole_pixel() {
        let drawn = drawn(&view(), &[(1000, 1049, 1), (2049, 2000, 1)], 1.0);
        let edges: Vec<_> = drawn.iter().map(|run| (run.x0, run.x1)).collect();
        assert_eq!(edges, [(10.0, 20.0), (20.0, 40.0)]);
    }

    proptest! {
        #[test]
        fn nothing_is_drawn_twice_and_nothing_lone_vanishes(
            gaps in prop::collection::vec((1_i64..400, 0_i64..400, 0_u32..3), 1..150),
            column_px in prop_oneof![Just(1.0), Just(2.0), Just(4.0)],
        ) {
            let mut now_ns = 5000;
            let spans: Vec<_> = gaps
                .iter()
                .map(|&(gap, dur, name)| {
                    let start = now_ns + gap;
                    now_ns = start + dur;
                    (start, dur, name)
                })
                .collect();
            let view = view();
            let drawn = drawn(&view, &spans, column_px);
            for pair in drawn.windows(2) {
                prop_assert!(pair[0].x1 <= pair[1].x0, "{:?}", pair);
            }
            for run in &drawn {
                prop_assert!(run.x1 - run.x0 >= 1.0);
                prop_assert!(run.x0.fract() == 0.0 && run.x1.fract() == 0.0);
            }
            for &(start, dur, _) in &spans {
                let (x0, x1) = (start as f64 / 100.0, (start + dur) as f64 / 100.0);
                // A longer span hides the others of its bucket, at most a column wide, and its edges are rounded to a
                // pixel.
                let reach_px = column_px + 0.5;
                let near = drawn.iter().any(|run| run.x0 <= x1 + reach_px && run.x1 >= x0 - reach_px);
                prop_assert!(near, "nothing at {}..{}: {:?}", x0, x1, drawn);
            }
        }
    }
}
