//! Paints the cells of a table, and builds their tooltips.

use std::ops::Range;

use egui::{Align2, Color32, FontId, Painter, Pos2, Rect, vec2};

use super::tree::TreeRow;
use super::{Painting, Rows, TableCell};
use crate::ui::panels::elided::elided;
use crate::ui::panels::table_column::TableColumn;
use crate::ui::theme::Theme;
use crate::ui::widgets::marks;
use crate::ui::widgets::reading_order::on_screen;
use crate::ui::widgets::tip_text::tip_text;

/// Size of the letters of texts and numbers.
pub(super) const TEXT_POINTS: f32 = 12.0;

/// The position of the rows in view.
pub(crate) struct RowsInView {
    /// The rows; the first and the last may be cut.
    pub(crate) rows: Range<u64>,
    /// Top of the first row.
    pub(crate) top: f32,
    pub(crate) row_points: f32,
    /// The cells of the first column, without the header.
    pub(crate) cells: Rect,
    pub(crate) pointer: Option<Pos2>,
}

/// Returns the tooltip of a cell: more about it if there is more, else its whole text or exact number.
pub(super) fn tip_of(rows: &dyn Rows, row: u64, column: usize) -> String {
    if let Some(more) = rows.more(row, column) {
        return more;
    }
    match rows.cell(row, column) {
        TableCell::Empty => String::new(),
        TableCell::Text(text) => tip_text(&text),
        TableCell::Number(number) => number.exact(),
    }
}

/// Paints the visible cells of a row, with their bars, and the arrow of a tree row.
pub(super) fn paint_cells(
    painter: &Painter,
    painting: &Painting<'_>,
    rect: Rect,
    (row, rows): (u64, &dyn Rows),
    sorted_by: Option<usize>,
) {
    let theme = painting.look.theme;
    for &number in &painting.visible {
        let column = &painting.columns[number];
        let cell = painting.cell(rect, number);
        let is_sorted = sorted_by == Some(number);
        if let Some(part) = rows.bar(row, number).filter(|_| is_sorted || !column.is_sortable) {
            painter.rect_filled(marks::bar(cell, part), 1.0, theme.accent.gamma_multiply(0.22));
        }
        let tree_row = rows.tree_row(row).filter(|_| number == 0);
        if let Some(tree_row) = tree_row {
            tree_row.paint_arrow(painter, cell, theme.weak_text);
        }
        let indent = tree_row.map_or(rows.indent(number), TreeRow::indent);
        let inside = cell.with_min_x((cell.left() + indent).min(cell.right()));
        paint_cell(painter, inside, &rows.cell(row, number), column, theme);
    }
}

pub(super) fn paint_cell(painter: &Painter, cell: Rect, content: &TableCell<'_>, column: &TableColumn, theme: &Theme) {
    match content {
        TableCell::Empty => {}
        TableCell::Text(text) => {
            let font = if column.is_code { FontId::monospace(TEXT_POINTS) } else { FontId::proportional(TEXT_POINTS) };
            paint_text(painter, cell, text, font, column.is_number, theme.text);
        }
        TableCell::Number(number) => {
            let inside = cell.shrink2(vec2(4.0, 0.0));
            let painter = painter.with_clip_rect(cell.intersect(painter.clip_rect()));
            number.paint(&painter, inside, &FontId::proportional(TEXT_POINTS), (theme.text, theme.weak_text));
        }
    }
}

/// Paints a text, elided to the width of its cell, and returns its rectangle.
pub(super) fn paint_text(
    painter: &Painter,
    cell: Rect,
    text: &str,
    font: FontId,
    is_right: bool,
    color: Color32,
) -> Rect {
    let inside = cell.shrink2(vec2(4.0, 0.0));
    let text = elided(painter, text, inside.width(), &font);
    let painter = painter.with_clip_rect(inside.intersect(painter.clip_rect()));
    let (at, align) = if is_right {
        (inside.right_center(), Align2::RIGHT_CENTER)
    } else {
        (inside.left_center(), Align2::LEFT_CENTER)
    };
    // Without a colour, this is the layout that the width was measured with.
    let galley = painter.layout_no_wrap(on_screen(&text).into_owned(), font, Color32::PLACEHOLDER);
    let rect = align.anchor_size(at, galley.size());
    painter.galley(rect.min, galley, color);
    rect
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_laid_out_once_for_its_width_and_its_colours() {
        let context = egui::Context::default();
        context.begin_pass(egui::RawInput::default());
        let painter = context.layer_painter(egui::LayerId::background());
        let cell = Rect::from_min_size(Pos2::ZERO, vec2(200.0, 20.0));
        for (color, is_right) in [(Color32::RED, false), (Color32::BLUE, true)] {
            let rect = paint_text(&painter, cell, "request", FontId::proportional(TEXT_POINTS), is_right, color);
            assert!(cell.contains_rect(rect));
        }
        #[expect(clippy::redundant_closure_for_method_calls, reason = "the method is of one lifetime only")]
        let galleys = context.fonts(|fonts| fonts.num_galleys_in_cache());
        assert_eq!(galleys, 1);
        // Nothing takes the glyph textures.
        context.end_pass().textures_delta.clear();
    }
}
