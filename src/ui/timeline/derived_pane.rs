//! The curves of derived tracks as they are drawn. Work in a frame is bounded by its pixels; curves that are late are
//! drawn as they were.

use std::time::Instant;

use egui::{Rect, Shape};

use super::derived::DerivedRow;
use super::layout::as_f32;
use crate::query::Buckets;
use crate::render::Rects;
use crate::render::rects::Layer;
use crate::scene::counters::{self, CounterBand, Scale};
use crate::scene::derived::{column_text, drawn_cells, range_text, scale};
use crate::scene::palette::Palette;
use crate::scene::viewport::Viewport;
use crate::tiles::derived::{ColumnLoader, ColumnQuery};

/// The strips as they are drawn.
#[derive(Default)]
pub(super) struct DerivedPane {
    loader: ColumnLoader,
    drawn: Option<DrawnStrips>,
    /// Whether frames wait for all columns, as pictures do.
    waits: bool,
}

/// The last frame of the strips.
struct DrawnStrips {
    view: Viewport,
    /// Columns that curves are of.
    buckets: Buckets,
    height_px: f32,
    rects: Rects,
    /// By row: its scale, once it is drawn.
    scales: Vec<Option<Scale>>,
    is_late: bool,
}

/// The columns of a view: as wide as one pixel to two, so that each is seen.
fn columns_of(view: &Viewport) -> Buckets {
    let width_ns = view.ns_per_px().ceil().max(1.0) as u64;
    Buckets::covering(view.start_ns(), view.end_ns(), width_ns)
}

fn column_width_ns(buckets: Buckets) -> u64 {
    1 << buckets.width_log2
}

impl DerivedPane {
    /// Has the next frame drawn again.
    pub(super) fn redraw(&mut self) {
        self.drawn = None;
    }

    /// From now on frames wait for all columns.
    pub(super) fn wait_for_all(&mut self) {
        self.waits = true;
    }

    /// Draws the curves again unless nothing has changed. Returns whether some are late.
    pub(super) fn draw(
        &mut self,
        rows: &[DerivedRow],
        view: &Viewport,
        (height_points, scale): (f32, f32),
        palette: &Palette,
        deadline: Instant,
    ) -> bool {
        let height_px = (height_points * scale).round();
        let is_same = |drawn: &DrawnStrips| drawn.view == *view && drawn.height_px == height_px && !drawn.is_late;
        if rows.is_empty() || self.drawn.as_ref().is_some_and(is_same) {
            return false;
        }
        let series: Vec<_> = rows.iter().filter_map(|row| row.series().cloned()).collect();
        if !series.is_empty() && !self.waits {
            self.loader.start().ok(); // without a thread, frames wait
        }
        let is_late = self.loader.prepare(&ColumnQuery { buckets: columns_of(view), series }, deadline);
        let (mut rects, mut scales) = (Vec::new(), Vec::new());
        let Some(answer) = self.loader.answer() else { return is_late };
        let line_px = scale.round().max(1.0);
        let row_px = height_px / rows.len() as f32;
        for (number, row) in rows.iter().enumerate() {
            let cells = row.series().and_then(|series| Some((series, answer.cells(series)?)));
            let row_scale = cells.map(|(series, cells)| (self::scale(&row.kind, series.largest(), cells), cells));
            if let Some((scale, cells)) = row_scale {
                let top_px = row_px * number as f32;
                let band = CounterBand {
                    y0: (top_px + 3.0 * line_px).round(),
                    y1: (top_px + row_px - 2.0 * line_px).round(),
                    color: palette.text_color(&row.described()),
                    line_px,
                };
                counters::rects(view, answer.buckets(), &drawn_cells(&row.kind, cells), scale, &band, &mut rects);
            }
            scales.push(row_scale.map(|(scale, _)| scale));
        }
        let size_px = [as_f32(view.width_px()), height_px];
        let buckets = answer.buckets();
        let rects = Rects::new(&rects, size_px, scale, Layer::Derived);
        self.drawn = Some(DrawnStrips { view: *view, buckets, height_px, rects, scales, is_late });
        is_late
    }

    /// The curves of the last frame, for a place on the window.
    pub(super) fn shape(&self, place: Rect) -> Option<Shape> {
        self.drawn.as_ref().map(|drawn| drawn.rects.shape(place))
    }

    /// The range of the curve of a row, once it is drawn.
    pub(super) fn range_text(&self, number: usize, row: &DerivedRow) -> Option<String> {
        let drawn = self.drawn.as_ref()?;
        let scale = (*drawn.scales.get(number)?)?;
        Some(range_text(&row.kind, scale, column_width_ns(drawn.buckets)))
    }

    /// The value of the column of a row at a time, and the start of that column.
    pub(super) fn column_text(&self, row: &DerivedRow, ts_ns: i64) -> Option<(String, i64)> {
        let answer = self.loader.answer()?;
        let (cells, buckets) = (answer.cells(row.series()?)?, answer.buckets());
        let bucket = buckets.bucket_at(ts_ns);
        let after = cells.partition_point(|cell| cell.first_bucket <= bucket);
        let cell = after.checked_sub(1).map(|cell| &cells[cell]).filter(|cell| bucket < cell.end_bucket());
        Some((column_text(&row.kind, cell, column_width_ns(buckets)), buckets.start_ns(bucket)))
    }
}
