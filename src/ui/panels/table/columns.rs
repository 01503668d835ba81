//! The visible columns of a table, chosen by a right click on the header. The first column cannot be hidden. Without a
//! choice, the least used columns of some tables are hidden where they do not fit.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use egui::{PopupCloseBehavior, Response};

use super::TableColumn;
use crate::ui::chrome::menu_bar;
use crate::ui::settings::TableLayout;
use crate::ui::widgets::context_menu::context_menu;

/// Returns the indices of the columns that the user has not hidden, whether they fit or not.
#[must_use]
pub(super) fn chosen(columns: &[TableColumn], layout: &TableLayout) -> Vec<usize> {
    visible(columns, &layout.hidden)
}

/// Returns the indices of the columns that are not hidden.
#[must_use]
pub(super) fn visible(columns: &[TableColumn], hidden: &BTreeSet<usize>) -> Vec<usize> {
    (0..columns.len()).filter(|&column| column == 0 || !hidden.contains(&column)).collect()
}

/// Returns the hidden columns: the user's choice, or else the least used columns that do not fit. The sort column
/// stays.
#[must_use]
pub(super) fn hidden(
    columns: &[TableColumn],
    layout: &TableLayout,
    width: impl Fn(usize) -> Option<f32>,
    available: f32,
) -> BTreeSet<usize> {
    let mut hidden = layout.hidden.clone();
    if layout.has_chosen_columns || !hidden.is_empty() {
        return hidden;
    }
    let least = |number: usize| width(number).unwrap_or(columns[number].width);
    let mut needed: f32 = (0..columns.len()).map(least).sum();
    let is_spare = |number: &usize| columns[*number].hide_rank > 0 && layout.sorted_by != Some(*number);
    let mut spare: Vec<usize> = (0..columns.len()).filter(is_spare).collect();
    spare.sort_by_key(|&number| Reverse(columns[number].hide_rank));
    for number in spare {
        if needed <= available {
            break;
        }
        needed -= least(number);
        hidden.insert(number);
    }
    hidden
}

/// Returns the left and right edge of each column; hidden ones have no width. The first column takes the rest of the
/// width, and shares it with text columns, whose names would otherwise be cut beside empty space.
#[must_use]
pub(super) fn edges(
    columns: &[TableColumn],
    hidden: &BTreeSet<usize>,
    chosen: impl Fn(usize) -> Option<f32>,
    available: f32,
) -> Vec<(f32, f32)> {
    /// Share of the spare width for text columns after the first.
    const TEXT_PART: f32 = 0.4;
    let least = |number: usize| chosen(number).unwrap_or(columns[number].width);
    let shown = visible(columns, hidden);
    let is_open = |number: &usize| !columns[*number].is_number && chosen(*number).is_none();
    let spare = (available - shown.iter().map(|&number| least(number)).sum::<f32>()).max(0.0);
    let texts = shown.iter().skip(1).copied().filter(is_open).count().max(1) as f32;
    // No column gets more than twice its width.
    let more =
        |number: usize| if is_open(&number) { (spare * TEXT_PART / texts).min(columns[number].width) } else { 0.0 };
    let given: f32 = shown.iter().skip(1).map(|&number| more(number)).sum();
    let mut right = 0.0;
    let edges = (0..columns.len()).map(|number| {
        let left = right;
        right += match number {
            0 if chosen(0).is_none() => least(0) + spare - given,
            0 => least(0),
            _ if hidden.contains(&number) => 0.0,
            _ => least(number) + more(number),
        };
        (left, right)
    });
    edges.collect()
}

/// Shows the column menu while it is open at a header. It stays open for several choices. `hidden` are the columns that
/// are hidden in this frame.
pub(super) fn choose_columns(
    head: &Response,
    columns: &[TableColumn],
    layout: &mut TableLayout,
    hidden: &BTreeSet<usize>,
) {
    let menu = context_menu(head).close_behavior(PopupCloseBehavior::CloseOnClickOutside);
    menu.show(|ui| {
        menu_bar::scrolled(ui, |ui| {
            for (number, column) in columns.iter().enumerate().skip(1) {
                let mut is_shown = !hidden.contains(&number);
                if ui.checkbox(&mut is_shown, format!("Column {}", column.title)).changed() {
                    (layout.hidden, layout.has_chosen_columns) = (hidden.clone(), true);
                    if is_shown {
                        layout.hidden.remove(&number);
                    } else {
                        layout.hidden.insert(number);
                    }
                }
            }
            ui.separator();
            if ui.button("All columns").clicked() {
                layout.hidden.clear();
                layout.has_chosen_columns = true;
                ui.close();
            }
            if columns.iter().any(|column| column.hide_rank > 0) && ui.button("Columns that fit").clicked() {
                layout.hidden.clear();
                layout.has_chosen_columns = false;
                ui.close();
            }
        });
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    const COLUMNS: [TableColumn; 4] = [
        TableColumn::text("Name", 100.0),
        TableColumn::number("Total", 80.0),
        TableColumn::text("Track", 150.0),
        TableColumn::number("Count", 70.0),
    ];

    fn widths(layout: &TableLayout, chosen: [Option<f32>; 4], available: f32) -> Vec<f32> {
        let edges = edges(&COLUMNS, &layout.hidden, |number| chosen[number], available);
        edges.into_iter().map(|(left, right)| right - left).collect()
    }

    #[test]
    fn names_in_later_columns_have_a_part_of_the_spare_width() {
        let layout = TableLayout::default();
        assert_eq!(widths(&layout, [None; 4], 400.0), [100.0, 80.0, 150.0, 70.0]);
        assert_eq!(widths(&layout, [None; 4], 300.0), [100.0, 80.0, 150.0, 70.0], "a table scrolls");
        assert_eq!(widths(&layout, [None; 4], 500.0), [160.0, 80.0, 190.0, 70.0]);
        assert_eq!(widths(&layout, [None; 4], 1400.0), [950.0, 80.0, 300.0, 70.0]);
        // A width set by the user stays.
        assert_eq!(widths(&layout, [None, None, Some(120.0), None], 1400.0), [1130.0, 80.0, 120.0, 70.0]);
        let hidden = TableLayout { hidden: [2].into(), ..TableLayout::default() };
        assert_eq!(widths(&hidden, [None; 4], 1400.0), [1250.0, 80.0, 0.0, 70.0]);
    }

    #[test]
    fn the_least_used_columns_are_hidden_where_they_do_not_fit_unless_the_user_chose_columns() {
        let mut columns = COLUMNS;
        (columns[1].hide_rank, columns[3].hide_rank) = (1, 2);
        let hidden_at = |layout: &TableLayout, available: f32| -> Vec<usize> {
            hidden(&columns, layout, |_| None, available).into_iter().collect()
        };
        let layout = TableLayout::default();
        assert!(hidden_at(&layout, 400.0).is_empty());
        assert_eq!(hidden_at(&layout, 399.0), [3]);
        assert_eq!(hidden_at(&layout, 329.0), [1, 3]);
        assert_eq!(hidden_at(&layout, 10.0), [1, 3], "the others stay");
        let sorted = TableLayout { sorted_by: Some(3), ..TableLayout::default() };
        assert_eq!(hidden_at(&sorted, 10.0), [1]);
        let all = TableLayout { has_chosen_columns: true, ..TableLayout::default() };
        assert!(hidden_at(&all, 10.0).is_empty());
        let earlier = TableLayout { hidden: [2].into(), ..TableLayout::default() };
        assert_eq!(hidden_at(&earlier, 10.0), [2], "a choice of an earlier version");
    }
}
