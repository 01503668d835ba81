//! The total row below a table.

use egui::{Rect, Role, Sense, Ui, WidgetInfo};

use super::cells::paint_cell;
use super::{Painting, Rows, TableCell};

/// Shows the sums of the columns that have a sum.
pub(super) fn show_total(ui: &Ui, painting: &Painting<'_>, rect: Rect, rows: &dyn Rows) {
    let theme = painting.look.theme;
    ui.painter().hline(rect.x_range(), rect.top(), egui::Stroke::new(1.0, theme.line));
    let mut spoken = Vec::new();
    for &number in &painting.visible {
        let column = &painting.columns[number];
        let cell = rows.total(number).unwrap_or(TableCell::Empty);
        paint_cell(ui.painter(), painting.cell(rect, number), &cell, column, theme);
        spoken.push(match &cell {
            TableCell::Empty => continue,
            TableCell::Text(text) => text.clone().into_owned(),
            TableCell::Number(value) => format!("{} {}", column.title, value.text()),
        });
    }
    let response = ui.interact(rect, painting.id.with("total"), Sense::hover());
    response.widget_info(|| WidgetInfo::labeled(Role::Label, true, spoken.join(", ")));
    let Some(at) = response.hover_pos() else { return };
    if let Some(TableCell::Number(number)) = rows.total(painting.column_at(rect, at.x)) {
        // The response is as wide as the table, so a tooltip below it would be far from the number.
        response.on_hover_text_at_pointer(number.exact());
    }
}
