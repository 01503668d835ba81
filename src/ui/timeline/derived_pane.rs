//! Draws the series of derived tracks. Work per frame is bounded by its pixels; late series are drawn as before. A
//! scale covers the values around the view too, and changes smoothly.

use std::sync::Arc;
use std::time::Instant;

use egui::{Rect, Shape};

use super::derived::DerivedRow;
use super::layout::StripLayout;
use crate::query::Buckets;
use crate::query::derived::DerivedSeries;
use crate::render::Rects;
use crate::render::rects::Layer;
use crate::scene::counters::{self, CounterBand, Scale};
use crate::scene::derived::{
    column_text, drawn_cells, logarithmic_cells, logarithmic_range_text, logarithmic_scale, range_text, scale,
};
use crate::scene::motion::FLIGHT_SECONDS;
use crate::scene::palette::Palette;
use crate::scene::viewport::Viewport;
use crate::tiles::derived::{ColumnLoader, ColumnQuery};
use crate::ui::command::DerivedId;

/// The strips of derived tracks, with their columns and their last frame.
#[derive(Default)]
pub(super) struct DerivedPane {
    loader: ColumnLoader,
    drawn: Option<DrawnStrips>,
    moving: Vec<MovingScale>,
    /// The series in the last frame, by row. It stays while the columns of a later series are late.
    shown: Vec<(DerivedId, Arc<DerivedSeries>)>,
    /// Whether frames wait for all columns, as pictures do.
    waits: bool,
}

/// The scale of a row, moving to another scale.
struct MovingScale {
    row: DerivedId,
    from: Scale,
    to: Scale,
    began_s: f64,
}

impl MovingScale {
    /// Returns the scale at a time, and whether it is still moving. Fast at first, as flights are.
    fn at(&self, now_s: f64) -> (Scale, bool) {
        let part = ((now_s - self.began_s) / FLIGHT_SECONDS).clamp(0.0, 1.0);
        if part >= 1.0 { (self.to, false) } else { (self.from.towards(self.to, 1.0 - (1.0 - part).powi(3)), true) }
    }
}

/// The last frame of the strips.
struct DrawnStrips {
    view: Viewport,
    /// The columns of the series.
    buckets: Buckets,
    strips: StripLayout,
    rects: Rects,
    /// The scale of each row, once it is drawn.
    scales: Vec<Option<Scale>>,
    /// Whether the next frame will differ, because columns are late or a scale is moving.
    is_unfinished: bool,
}

/// Returns the columns of a view: one to two pixels wide, so that each is visible.
fn columns_of(view: &Viewport) -> Buckets {
    let width_ns = view.ns_per_px().ceil().max(1.0) as u64;
    Buckets::covering(view.start_ns(), view.end_ns(), width_ns)
}

fn column_width_ns(buckets: Buckets) -> u64 {
    1 << buckets.width_log2
}

impl DerivedPane {
    /// Drops the last frame, but keeps the columns.
    pub(super) fn redraw(&mut self) {
        self.drawn = None;
    }

    /// Drops the scale of a row, because another scale does not continue it.
    pub(super) fn forget_scale(&mut self, row: DerivedId) {
        self.moving.retain(|moving| moving.row != row);
    }

    /// Returns the series of a row that the answered columns contain: the newest, or the series of the last frame.
    fn series_in_columns<'a>(&'a self, row: &'a DerivedRow) -> Option<&'a Arc<DerivedSeries>> {
        let (answer, newest) = (self.loader.answer()?, row.series()?);
        let before = self.shown.iter().find(|(id, _)| *id == row.id).map(|(_, series)| series);
        [Some(newest), before].into_iter().flatten().find(|series| answer.cells(series).is_some())
    }

    /// Makes frames wait for all columns.
    pub(super) fn wait_for_all(&mut self) {
        self.waits = true;
    }

    /// Moves the scale of a row to `to`; at once without a time, or for a new row.
    fn moved(&mut self, row: DerivedId, to: Scale, now_s: Option<f64>) -> (Scale, bool) {
        let at = self.moving.iter().position(|moving| moving.row == row);
        let (Some(at), Some(now_s)) = (at, now_s) else {
            self.moving.retain(|moving| moving.row != row);
            self.moving.push(MovingScale { row, from: to, to, began_s: f64::NEG_INFINITY });
            return (to, false);
        };
        let moving = &mut self.moving[at];
        if moving.to != to {
            *moving = MovingScale { from: moving.at(now_s).0, to, began_s: now_s, ..*moving };
        }
        moving.at(now_s)
    }

    /// Draws the series again unless nothing has changed. Scales move with the time `now_s`. Returns whether the next
    /// frame will differ.
    pub(super) fn draw(
        &mut self,
        rows: &[DerivedRow],
        view: &Viewport,
        (strips, scale): (StripLayout, f32),
        palette: &Palette,
        (deadline, now_s): (Instant, Option<f64>),
    ) -> bool {
        let is_same = |drawn: &DrawnStrips| drawn.view == *view && drawn.strips == strips && !drawn.is_unfinished;
        if rows.is_empty() || self.drawn.as_ref().is_some_and(is_same) {
            return false;
        }
        let series: Vec<_> = rows.iter().filter_map(|row| row.series().cloned()).collect();
        if !series.is_empty() && !self.waits {
            self.loader.start().ok(); // without a thread, frames wait
        }
        let is_late = self.loader.prepare(&ColumnQuery { buckets: columns_of(view), series }, deadline);
        let (mut rects, mut scales) = (Vec::new(), Vec::new());
        let scale_of = |row: &DerivedRow| {
            let (answer, series) = (self.loader.answer()?, self.series_in_columns(row)?);
            let range = answer.range(series)?;
            let cells = answer.cells(series)?;
            Some(if row.is_log { logarithmic_scale(cells, range.1) } else { self::scale(&row.kind, range) })
        };
        let wanted: Vec<Option<Scale>> = rows.iter().map(scale_of).collect();
        let ways = rows.iter().zip(&wanted).map(|(row, to)| to.map(|to| self.moved(row.id, to, now_s)));
        let ways: Vec<Option<(Scale, bool)>> = ways.collect();
        let is_unfinished = is_late || ways.iter().flatten().any(|(_, goes_on)| *goes_on);
        let Some(answer) = self.loader.answer() else { return is_late };
        let line_px = scale.round().max(1.0);
        let row_px = strips.strip_points * scale;
        let top_px = |number: usize| strips.top_points(number) * scale;
        for (number, row) in rows.iter().enumerate() {
            let cells = self.series_in_columns(row).and_then(|series| answer.cells(series));
            if let Some(((scale, _), cells)) = ways[number].zip(cells) {
                let top_px = top_px(number);
                let band = CounterBand {
                    y0: (top_px + 3.0 * line_px).round(),
                    y1: (top_px + row_px - 2.0 * line_px).round(),
                    color: palette.hashed_color(&row.described()),
                    line_px,
                    fill_opacity: CounterBand::FAINT,
                };
                let cells = if row.is_log { logarithmic_cells(cells).into() } else { drawn_cells(&row.kind, cells) };
                counters::rects(view, answer.buckets(), &cells, scale, &band, &mut rects);
            }
            scales.push(wanted[number]);
        }
        let size_px = [view.width_px() as f32, (strips.area_points * scale).round()];
        let buckets = answer.buckets();
        let rects = Rects::new(&rects, size_px, scale, Layer::Derived);
        self.shown = rows.iter().filter_map(|row| Some((row.id, Arc::clone(self.series_in_columns(row)?)))).collect();
        self.drawn = Some(DrawnStrips { view: *view, buckets, strips, rects, scales, is_unfinished });
        is_unfinished
    }

    /// Returns the series of the last frame, at a position of the window.
    pub(super) fn shape(&self, rect: Rect) -> Option<Shape> {
        self.drawn.as_ref().map(|drawn| drawn.rects.shape(rect))
    }

    /// Returns the value range of a row, once it is drawn.
    pub(super) fn range_text(&self, number: usize, row: &DerivedRow) -> Option<String> {
        let drawn = self.drawn.as_ref()?;
        let scale = (*drawn.scales.get(number)?)?;
        let width_ns = column_width_ns(drawn.buckets);
        Some(if row.is_log { logarithmic_range_text(scale) } else { range_text(&row.kind, scale, width_ns) })
    }

    /// Returns the value of a row's column at a time, and the start of that column.
    pub(super) fn column_text(&self, row: &DerivedRow, ts_ns: i64) -> Option<(String, i64)> {
        let answer = self.loader.answer()?;
        let (cells, buckets) = (answer.cells(self.series_in_columns(row)?)?, answer.buckets());
        let bucket = buckets.bucket_at(ts_ns);
        let after = cells.partition_point(|cell| cell.first_bucket <= bucket);
        let cell = after.checked_sub(1).map(|cell| &cells[cell]).filter(|cell| bucket < cell.end_bucket());
        Some((column_text(&row.kind, cell, column_width_ns(buckets)), buckets.start_ns(bucket)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::cancel::Cancel;
    use crate::base::progress::Progress;
    use crate::query::derived::{DerivedKind, DerivedRoom, derive};
    use crate::query::scope::Scope;
    use crate::scene::color::Shade;
    use crate::ui::selected_scope::SelectedScope;
    use crate::ui::timeline::derived::DerivedState;

    #[test]
    fn a_series_stays_until_the_columns_of_the_next_one_are_there() {
        let snapshot = crate::scene::tests::snapshot(r#"[{"ph":"X","name":"a","pid":1,"tid":1,"ts":1,"dur":9}]"#);
        let room = DerivedRoom::new(std::env::temp_dir(), 1 << 20);
        let series = || {
            let (cancel, progress) = (Cancel::default(), Progress::default());
            derive(&snapshot, &Scope::default(), &DerivedKind::Count, &room, &cancel, &progress).map(Arc::new).unwrap()
        };
        let row = |state| DerivedRow {
            id: DerivedId(1),
            name: String::new(),
            kind: DerivedKind::Count,
            scope: SelectedScope::default(),
            is_log: false,
            state,
        };
        let (first, next) = (series(), series());
        let view = Viewport::covering(0, 10_000, 100.0, 100.0);
        let mut pane = DerivedPane::default();
        let draw = |pane: &mut DerivedPane, row: &DerivedRow| {
            pane.redraw();
            let strips = (StripLayout::new(1, 40.0, 0.0), 1.0);
            pane.wait_for_all();
            pane.draw(std::slice::from_ref(row), &view, strips, &Palette::new(Shade::Dark), (Instant::now(), None));
        };
        draw(&mut pane, &row(DerivedState::Computed(Arc::clone(&first))));
        let renewed = row(DerivedState::Outdated(Arc::clone(&next)));
        let is = |pane: &DerivedPane, series: &Arc<DerivedSeries>| {
            pane.series_in_columns(&renewed).is_some_and(|answered| Arc::ptr_eq(answered, series))
        };
        assert!(is(&pane, &first) && pane.column_text(&renewed, 1000).is_some(), "its columns are not there yet");
        assert!(pane.series_in_columns(&row(DerivedState::Waiting)).is_none());
        draw(&mut pane, &renewed);
        assert!(is(&pane, &next));
    }
}
