//! The keyboard on the headers of a table. Tab stops at one of them, and Left and Right go from header to header.

use egui::{FocusDirection, Key, Modifiers, Ui};

use super::{Painting, TableView};
use crate::ui::panels::table_keys::{hold_grid, release};

impl TableView {
    /// Moves by the keys of a focused header. Returns the column at whose header Tab stops: the one with the keyboard,
    /// or that had it last, or the first.
    pub(super) fn step_headers(&mut self, ui: &Ui, painting: &Painting<'_>) -> Option<usize> {
        let is_sortable = |column: &usize| painting.columns[*column].is_sortable;
        let headers: Vec<usize> = painting.visible.iter().copied().filter(is_sortable).collect();
        let focused = ui.memory(egui::Memory::focused);
        if let Some(at) = headers.iter().position(|header| Some(painting.head_id(*header)) == focused) {
            let next = step(ui, at, headers.len(), painting.head_id(headers[at]));
            self.last_header = Some(headers[next]);
            if next != at {
                ui.memory_mut(|memory| memory.request_focus(painting.head_id(headers[next])));
            }
        }
        self.last_header.filter(|header| headers.contains(header)).or(headers.first().copied())
    }
}

/// Returns the number of the header to which the keys lead.
fn step(ui: &Ui, at: usize, count: usize, id: egui::Id) -> usize {
    if egui::Popup::is_any_open(ui.ctx()) {
        release(ui, id);
        return at;
    }
    hold_grid(ui, id);
    let presses = |key| ui.input_mut(|input| input.count_and_consume_key(Modifiers::NONE, key));
    let [left, right, first, last] = [Key::ArrowLeft, Key::ArrowRight, Key::Home, Key::End].map(presses);
    let next = match (first, last) {
        (0, 0) => (at + right).saturating_sub(left).min(count - 1),
        (_, 0) => 0,
        _ => count - 1,
    };
    if next != at {
        // In the first frame with the focus, egui would move it to another widget.
        ui.memory_mut(|memory| memory.move_focus(FocusDirection::None));
    }
    next
}
