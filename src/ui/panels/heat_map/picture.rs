//! Draws the cells of a heat map as one image, with its scales, and the cell under the pointer or the cursor.

use std::sync::Arc;

use egui::{Align2, Color32, ColorImage, FontId, Painter, Rect, TextureHandle, TextureOptions, Ui, pos2, vec2};

use super::scope::CellBounds;
use crate::query::heat_map::{HeatCell, HeatCells, HeatMap, HeatMapAxis};
use crate::scene::color::Shade;
use crate::scene::heat_map::{ROW_POINTS, count_ticks, duration_ticks, pixels};
use crate::scene::palette::densities;
use crate::ui::questions::PtrEq;
use crate::ui::theme::{Theme, color32};

/// Width of the duration labels on the left, in points.
const LEFT_POINTS: f32 = 66.0;
/// Width of the colour key to the left of the duration labels.
const KEY_POINTS: f32 = 74.0;
/// Height of the time labels below.
const BELOW_POINTS: f32 = 18.0;
/// Gap above the row of zero-length spans.
const GAP_POINTS: f32 = 4.0;
const FONT_POINTS: f32 = 10.5;

/// The cells of the last map, and their image.
#[derive(Default)]
pub(super) struct HeatPicture {
    key: Option<PictureKey>,
    pub(super) cells: Arc<HeatCells>,
    texture: Option<TextureHandle>,
}

#[derive(Debug, PartialEq, Eq)]
struct PictureKey {
    /// The map, which is kept alive: another map could get its address.
    map: PtrEq<HeatMap>,
    rows_max: usize,
    shade: Shade,
}

impl std::fmt::Debug for HeatPicture {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HeatPicture").field("key", &self.key).finish_non_exhaustive()
    }
}

/// The areas of a picture.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct HeatLayout {
    /// The rectangle of the cells, without the axes.
    pub(super) plot: Rect,
    key: Option<Rect>,
}

impl HeatLayout {
    /// Divides an area below a canvas that starts at `canvas_left`. The cells start there too, if there is space for
    /// labels.
    pub(super) fn new(room: Rect, canvas_left: f32) -> Self {
        let left = canvas_left.max(room.left() + LEFT_POINTS);
        let has_key = left - room.left() >= LEFT_POINTS + KEY_POINTS;
        let plot = Rect::from_min_max(pos2(left, room.top() + 4.0), room.max - vec2(0.0, BELOW_POINTS));
        let plot = Rect::from_min_size(plot.min, plot.size().max(vec2(1.0, 1.0)));
        let key =
            Rect::from_min_max(pos2(room.left() + 2.0, plot.top() + 14.0), pos2(room.left() + 12.0, plot.bottom()));
        Self { plot, key: has_key.then_some(key) }
    }

    /// Converts a time on an axis to x.
    pub(super) fn x_of(&self, axis: &HeatMapAxis, ts_ns: i64) -> f32 {
        let since_ns = i128::from(ts_ns) - i128::from(axis.start_ns());
        let part = since_ns as f64 / axis.width_ns() as f64;
        self.plot.left() + (part * f64::from(self.plot.width())) as f32
    }
}

impl HeatPicture {
    /// Computes the cells of a map for a height, unless the last frame had the same cells.
    pub(super) fn update(&mut self, ui: &Ui, map: &Arc<HeatMap>, layout: &HeatLayout, theme: &Theme) {
        let rows_max = (layout.plot.height() / ROW_POINTS) as usize;
        let key = Some(PictureKey { map: PtrEq(Arc::clone(map)), rows_max, shade: theme.shade });
        if self.key == key {
            return;
        }
        self.key = key;
        self.cells = Arc::new(map.cells_in(rows_max));
        let size = [self.cells.columns(), self.cells.rows()];
        if size[1] == 0 {
            self.texture = None;
            return;
        }
        let colors = pixels(&self.cells, &densities(theme.shade)).into_iter().map(color32).collect();
        let image = ColorImage::new(size, colors);
        match &mut self.texture {
            Some(texture) => texture.set(image, TextureOptions::NEAREST),
            None => self.texture = Some(ui.ctx().load_texture("heat map", image, TextureOptions::NEAREST)),
        }
    }

    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    /// Returns the rectangles of the scale's rows and of zero-length spans.
    fn parts(&self, plot: Rect) -> (Rect, Option<Rect>) {
        if !self.cells.has_zero {
            return (plot, None);
        }
        let row = (plot.height() / self.cells.rows().max(1) as f32).clamp(ROW_POINTS, 14.0).min(plot.height() / 2.0);
        let zero = plot.with_min_y(plot.bottom() - row);
        (plot.with_max_y(zero.top() - GAP_POINTS), Some(zero))
    }

    /// Returns the vertical range of a row.
    fn row_range(&self, plot: Rect, row: usize) -> egui::Rangef {
        let (scale, zero) = self.parts(plot);
        match (zero, row.checked_sub(usize::from(self.cells.has_zero))) {
            (Some(zero), None) => zero.y_range(),
            (_, row) => {
                let height = scale.height() / self.cells.scale_rows().max(1) as f32;
                let bottom = scale.bottom() - row.unwrap_or(0) as f32 * height;
                egui::Rangef::new(bottom - height, bottom)
            }
        }
    }

    /// Returns the rectangle of a cell of a map, on an axis that may differ from the map's.
    pub(super) fn cell_rect(&self, layout: &HeatLayout, map: &HeatMap, axis: &HeatMapAxis, cell: HeatCell) -> Rect {
        let left = layout.x_of(axis, map.axis.start_of(cell.column));
        let right = layout.x_of(axis, map.axis.start_of(cell.column + 1));
        Rect::from_x_y_ranges(left..=right.max(left + 1.0), self.row_range(layout.plot, cell.row))
    }

    /// Returns the cell of a map at a point; points beyond the plot give the nearest cell.
    ///
    /// Returns `None` before and after the time of the map, unless `is_clamped`.
    pub(super) fn cell_at(
        &self,
        layout: &HeatLayout,
        map: &HeatMap,
        axis: &HeatMapAxis,
        (at, is_clamped): (egui::Pos2, bool),
    ) -> Option<HeatCell> {
        if self.cells.rows() == 0 {
            return None;
        }
        let at = layout.plot.clamp(at);
        let part = f64::from((at.x - layout.plot.left()) / layout.plot.width());
        let since_ns = (part * axis.width_ns() as f64) as i128;
        let ts_ns = i128::from(axis.start_ns()) + since_ns.min(axis.width_ns() - 1);
        let ts_ns = i64::try_from(ts_ns).unwrap_or(i64::MAX);
        let column = match map.axis.column_of(ts_ns) {
            None if is_clamped && ts_ns < map.axis.start_ns() => 0,
            None if is_clamped => map.axis.columns() - 1,
            column => column?,
        };
        let first = usize::from(self.cells.has_zero);
        let (scale, zero) = self.parts(layout.plot);
        let row = match zero {
            Some(zero) if at.y >= zero.top() - GAP_POINTS / 2.0 || self.cells.scale_rows() == 0 => 0,
            _ => {
                let part = (scale.bottom() - at.y).max(0.0) / scale.height().max(1.0);
                first + ((part * self.cells.scale_rows() as f32) as usize).min(self.cells.scale_rows() - 1)
            }
        };
        Some(HeatCell { column, row })
    }

    /// Returns the rectangle of selected bounds.
    pub(super) fn bounds_rect(&self, layout: &HeatLayout, axis: &HeatMapAxis, bounds: &CellBounds) -> Option<Rect> {
        let (from_ns, to_ns) = bounds.times_ns.unwrap_or((axis.start_ns(), axis.end_ns()));
        let x = layout.x_of(axis, from_ns)..=layout.x_of(axis, to_ns);
        let Some((least, most)) = bounds.durations_ns else {
            return Some(Rect::from_x_y_ranges(x, layout.plot.y_range()));
        };
        let rows: Vec<usize> = (0..self.cells.rows())
            .filter(|&row| {
                let (first, last) = self.cells.durations(row);
                first <= most && last >= least
            })
            .collect();
        let (low, high) = (self.row_range(layout.plot, *rows.first()?), self.row_range(layout.plot, *rows.last()?));
        Some(Rect::from_x_y_ranges(x, high.min..=low.max))
    }

    /// Paints the background, the grid and the cells of a map on an axis.
    pub(super) fn paint(
        &self,
        painter: &Painter,
        layout: &HeatLayout,
        map: &HeatMap,
        axis: &HeatMapAxis,
        theme: &Theme,
    ) {
        let plot = layout.plot;
        let (scale, zero) = self.parts(plot);
        let font = FontId::proportional(FONT_POINTS);
        let label = |y: f32, text: &str| {
            painter.text(pos2(plot.left() - 6.0, y), Align2::RIGHT_CENTER, text, font.clone(), theme.weak_text);
        };
        for tick in duration_ticks(&self.cells, f64::from(scale.height()), 15.0) {
            let y = scale.bottom() - (tick.part * f64::from(scale.height())) as f32;
            painter.hline(plot.x_range(), y, egui::Stroke::new(1.0, theme.line));
            if zero.is_some_and(|zero| zero.center().y - y < 13.0) {
                continue;
            }
            label(y.clamp(plot.top() + 5.0, plot.bottom() - 5.0), &tick.label);
        }
        if let Some(zero) = zero {
            label(zero.center().y, "0 ns");
        }
        let cells = painter.with_clip_rect(plot.intersect(painter.clip_rect()));
        let unknown = |from: usize, to: usize| {
            let x = layout.x_of(axis, map.axis.start_of(from))..=layout.x_of(axis, map.axis.start_of(to));
            cells.rect_filled(Rect::from_x_y_ranges(x, plot.y_range()), 0.0, theme.header);
        };
        if map.counted.start > 0 {
            unknown(0, map.counted.start);
        }
        if map.counted.end < map.axis.columns() {
            unknown(map.counted.end, map.axis.columns());
        }
        let Some(texture) = &self.texture else { return };
        let (left, right) = (layout.x_of(axis, map.axis.start_ns()), layout.x_of(axis, map.axis.start_of(usize::MAX)));
        let image = |rows: Rect, top: f32, bottom: f32| {
            let rect = Rect::from_x_y_ranges(left..=right, rows.y_range());
            let uv = Rect::from_min_max(pos2(0.0, top), pos2(1.0, bottom));
            cells.image(texture.id(), rect, uv, Color32::WHITE);
        };
        let part = self.cells.scale_rows() as f32 / self.cells.rows() as f32;
        if self.cells.scale_rows() > 0 {
            image(scale, 0.0, part);
        }
        if let Some(zero) = zero {
            image(zero, part, 1.0);
        }
    }

    /// Paints the colour key with its counts.
    pub(super) fn paint_key(&self, painter: &Painter, layout: &HeatLayout, theme: &Theme) {
        let Some(key) = layout.key.filter(|_| self.cells.most > 0) else { return };
        let font = FontId::proportional(FONT_POINTS);
        let ramp = densities(theme.shade);
        let ramp = if self.cells.most == 1 { &ramp[ramp.len() - 1..] } else { &ramp[..] };
        let height = key.height() / ramp.len() as f32;
        for (step, color) in ramp.iter().enumerate() {
            let bottom = key.bottom() - step as f32 * height;
            let rect = Rect::from_x_y_ranges(key.x_range(), bottom - height..=bottom);
            painter.rect_filled(rect, 0.0, color32(*color));
        }
        let title = pos2(key.left(), key.top() - 3.0);
        painter.text(title, Align2::LEFT_BOTTOM, "spans", font.clone(), theme.weak_text);
        for tick in count_ticks(self.cells.most, f64::from(key.height()), 13.0) {
            let y = key.bottom() - (tick.part * f64::from(key.height())) as f32;
            let y = y.clamp(key.top() + 5.0, key.bottom() - 5.0);
            painter.text(pos2(key.right() + 5.0, y), Align2::LEFT_CENTER, tick.label, font.clone(), theme.text);
        }
    }
}

/// Paints the background and the time labels below it.
pub(super) fn paint_times(painter: &Painter, layout: &HeatLayout, ticks: &[(f32, String)], theme: &Theme) {
    let plot = layout.plot;
    painter.rect_filled(plot, 0.0, theme.canvas);
    let font = FontId::proportional(FONT_POINTS);
    let mut free = f32::NEG_INFINITY;
    for (x, label) in ticks.iter().filter(|(x, _)| plot.x_range().contains(*x)) {
        painter.vline(*x, plot.bottom()..=plot.bottom() + 4.0, egui::Stroke::new(1.0, theme.weak_text));
        painter.vline(*x, plot.y_range(), egui::Stroke::new(1.0, theme.grid));
        let galley = painter.layout_no_wrap(label.clone(), font.clone(), theme.weak_text);
        let at = pos2(x + 3.0, plot.bottom() + 3.0);
        if at.x >= free && at.x + galley.size().x <= plot.right() {
            free = at.x + galley.size().x + 8.0;
            painter.galley(at, galley, theme.weak_text);
        }
    }
}
