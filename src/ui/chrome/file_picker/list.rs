//! The content of a folder with name, size and age: folders first, then sorted by a column. Only the rows in view are
//! drawn.

use std::cmp::{Ordering, Reverse};

use egui::{Align2, FontId, Rect, RichText, Role, ScrollArea, Sense, Ui, WidgetInfo, pos2, vec2};

use crate::base::time::ago_text;
use crate::scene::labels::shown;
use crate::scene::natural_order::natural_key;
use crate::ui::chrome::progress::bytes_text;
use crate::ui::theme::Theme;
use crate::ui::widgets::{marks, spoken};

/// A file or folder in a listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FolderEntry {
    pub(crate) is_file: bool,
    pub(crate) name: String,
    pub(crate) bytes: u64,
    /// Last change in seconds since 1970, if the system knows it.
    pub(crate) modified_s: Option<u64>,
}

/// A sortable column of the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EntryColumn {
    Name,
    Size,
    Modified,
}

/// Each column with its title and width in points; 0 for the rest of the width.
const COLUMNS: [(EntryColumn, &str, f32); 3] =
    [(EntryColumn::Name, "Name", 0.0), (EntryColumn::Size, "Size", 90.0), (EntryColumn::Modified, "Modified", 120.0)];

/// Gap between two columns, in points.
const COLUMN_GAP: f32 = 14.0;

/// The sorted entries of a folder, and the cursor of the arrow keys.
#[derive(Debug, Clone)]
pub(super) struct FolderList {
    entries: Vec<FolderEntry>,
    column: EntryColumn,
    is_reversed: bool,
    cursor: Option<usize>,
    must_reveal: bool,
}

pub(super) struct EntryClick {
    pub(super) name: String,
    pub(super) is_file: bool,
    pub(super) is_double: bool,
}

impl FolderList {
    pub(super) fn new(entries: Vec<FolderEntry>) -> Self {
        let mut list =
            Self { entries, column: EntryColumn::Name, is_reversed: false, cursor: None, must_reveal: false };
        list.sort();
        list
    }

    /// Sorts the entries like another list.
    pub(super) fn with_order_of(mut self, before: &Self) -> Self {
        (self.column, self.is_reversed) = (before.column, before.is_reversed);
        self.sort();
        self
    }

    pub(super) fn is_folder(&self, name: &str) -> bool {
        self.entries.iter().any(|entry| !entry.is_file && entry.name == name)
    }

    pub(super) fn is_file(&self, name: &str) -> bool {
        self.entries.iter().any(|entry| entry.is_file && entry.name == name)
    }

    /// Moves the cursor by some rows, and returns the name of the row at the cursor.
    pub(super) fn step(&mut self, rows: isize) -> Option<&str> {
        let last = self.entries.len().checked_sub(1)?;
        let next = match self.cursor {
            Some(row) => row.saturating_add_signed(rows).min(last),
            None if rows < 0 => last,
            None => 0,
        };
        self.cursor = Some(next);
        self.must_reveal = true;
        self.entries.get(next).map(|entry| entry.name.as_str())
    }

    /// Sorts by a column, or reverses the order of the sort column. Sizes and times start with the largest.
    fn sort_by(&mut self, column: EntryColumn) {
        self.is_reversed = self.column == column && !self.is_reversed;
        self.column = column;
        self.sort();
    }

    fn sort(&mut self) {
        let (column, is_reversed) = (self.column, self.is_reversed);
        let by_name = |entry: &FolderEntry| (natural_key(&entry.name), entry.name.clone());
        // Names are unique, so the order does not depend on the previous one.
        self.entries.sort_by_cached_key(by_name);
        self.entries.sort_by(|one, other| {
            let order = match column {
                EntryColumn::Name => Ordering::Equal,
                EntryColumn::Size => Reverse(one.bytes).cmp(&Reverse(other.bytes)),
                EntryColumn::Modified => Reverse(one.modified_s).cmp(&Reverse(other.modified_s)),
            };
            one.is_file.cmp(&other.is_file).then(if is_reversed { order.reverse() } else { order })
        });
        if column == EntryColumn::Name && is_reversed {
            let files = self.entries.partition_point(|entry| !entry.is_file);
            let (folders, files) = self.entries.split_at_mut(files);
            folders.reverse();
            files.reverse();
        }
        self.cursor = None;
    }

    /// Draws the header and the rows in view. `is_chosen` returns whether a file is selected; `now_s` is in seconds
    /// since 1970.
    pub(super) fn show(
        &mut self,
        ui: &mut Ui,
        theme: &Theme,
        now_s: u64,
        is_chosen: impl Fn(&str) -> bool,
    ) -> Option<EntryClick> {
        self.show_head(ui, theme);
        if self.entries.is_empty() {
            ui.label(RichText::new("This folder is empty").color(theme.weak_text));
        }
        let mut click = None;
        let row_points = ui.spacing().interact_size.y;
        let mut area = ScrollArea::vertical().auto_shrink(false);
        if let Some(row) = self.cursor.filter(|_| std::mem::take(&mut self.must_reveal)) {
            area = area.vertical_scroll_offset(scrolled_to(row, row_points, ui));
        }
        ui.spacing_mut().item_spacing.y = 0.0;
        area.show_rows(ui, row_points, self.entries.len(), |ui, rows| {
            for row in rows {
                let Some(entry) = self.entries.get(row) else { break };
                let is_marked = self.cursor == Some(row) || (entry.is_file && is_chosen(&entry.name));
                click = show_entry(ui, theme, entry, is_marked, now_s).or(click.take());
            }
        });
        click
    }

    fn show_head(&mut self, ui: &mut Ui, theme: &Theme) {
        let (rect, _) = ui.allocate_exact_size(vec2(ui.available_width(), 20.0), Sense::hover());
        let mut chosen = None;
        for ((column, title, _), cell) in COLUMNS.into_iter().zip(cells(rect)) {
            let response = ui.interact(cell, ui.scope_id().with(title), Sense::click());
            let is_sorted = self.column == column;
            let color = if is_sorted || response.hovered() { theme.text } else { theme.weak_text };
            let font = FontId::proportional(12.0);
            let text = ui.painter().text(cell.left_center(), Align2::LEFT_CENTER, title, font, color);
            if is_sorted {
                // Names start with the smallest, the other columns with the largest.
                let points_up = (column == EntryColumn::Name) != self.is_reversed;
                ui.painter().add(marks::arrow(text.right_center() + vec2(10.0, 0.0), points_up, color));
            }
            response.widget_info(|| WidgetInfo::selected(Role::Button, true, is_sorted, format!("Sort by {title}")));
            if response.clicked() {
                chosen = Some(column);
            }
        }
        if let Some(column) = chosen {
            self.sort_by(column);
        }
    }

    /// Announces the row at the cursor to screen readers.
    pub(super) fn speak(&self, ui: &Ui, now_s: u64) {
        let at = ui.min_rect().min;
        spoken::say(ui, ui.scope_id().with("entry"), at, || {
            let Some((row, entry)) = self.cursor.and_then(|row| Some((row, self.entries.get(row)?))) else {
                return String::new();
            };
            let kind = if entry.is_file { bytes_text(entry.bytes) } else { "folder".to_owned() };
            let age = entry.modified_s.map(|at_s| format!(", {}", ago_text(now_s.saturating_sub(at_s))));
            format!("{}, {kind}{}, {} of {}", entry.name, age.unwrap_or_default(), row + 1, self.entries.len())
        });
    }
}

/// Returns the scroll offset that centres a row in the rest of the panel.
fn scrolled_to(row: usize, row_points: f32, ui: &Ui) -> f32 {
    let top = row as f32 * row_points;
    (top - (ui.available_height() - row_points) / 2.0).max(0.0)
}

/// Returns the cells of a row; the first takes the rest of the width.
fn cells(row: Rect) -> [Rect; 3] {
    let mut right = row.right();
    let mut cells = COLUMNS.map(|_| row);
    for (cell, (_, _, width)) in cells.iter_mut().zip(COLUMNS).rev() {
        let left = if width > 0.0 { right - width } else { row.left() };
        *cell = Rect::from_min_max(pos2(left.max(row.left()) + 4.0, row.top()), pos2(right, row.bottom()));
        right = left;
    }
    cells
}

fn show_entry(ui: &mut Ui, theme: &Theme, entry: &FolderEntry, is_marked: bool, now_s: u64) -> Option<EntryClick> {
    let (rect, response) =
        ui.allocate_exact_size(vec2(ui.available_width(), ui.spacing().interact_size.y), Sense::click());
    if is_marked || response.hovered() {
        let ground = if is_marked { theme.accent.gamma_multiply(0.3) } else { theme.raised };
        ui.painter().rect_filled(rect, 3.0, ground);
    }
    let name = shown(&entry.name);
    let name = if entry.is_file { name.into_owned() } else { format!("{name}/") };
    let size = if entry.is_file { bytes_text(entry.bytes) } else { String::new() };
    let age = entry.modified_s.map(|at_s| ago_text(now_s.saturating_sub(at_s))).unwrap_or_default();
    let texts = [(&name, theme.text, 0.0), (&size, theme.weak_text, 1.0), (&age, theme.weak_text, 0.0)];
    for ((text, color, aligned), cell) in texts.into_iter().zip(cells(rect)) {
        let galley = egui::WidgetText::from(RichText::new(text).color(color)).into_galley(
            ui,
            Some(egui::TextWrapMode::Truncate),
            cell.width() - COLUMN_GAP,
            egui::TextStyle::Body,
        );
        let free = cell.size() - galley.size() - vec2(COLUMN_GAP, 0.0);
        ui.painter().galley(cell.min + vec2(free.x * aligned, free.y / 2.0), galley, color);
    }
    response.widget_info(|| WidgetInfo::selected(Role::Button, true, is_marked, name.clone()));
    response.clicked().then(|| EntryClick {
        name: entry.name.clone(),
        is_file: entry.is_file,
        is_double: response.double_clicked(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list() -> FolderList {
        let entry =
            |is_file, name: &str, bytes, modified_s| FolderEntry { is_file, name: name.to_owned(), bytes, modified_s };
        FolderList::new(vec![
            entry(true, "b.json", 5, Some(30)),
            entry(false, "Zoo", 0, Some(10)),
            entry(true, "A.json", 9, Some(20)),
            entry(false, "attic", 0, None),
            entry(true, "a.json", 9, None),
        ])
    }

    fn names(list: &FolderList) -> Vec<&str> {
        list.entries.iter().map(|entry| entry.name.as_str()).collect()
    }

    #[test]
    fn folders_come_first_in_every_order_and_ties_are_sorted_by_name() {
        let mut list = list();
        assert_eq!(names(&list), ["attic", "Zoo", "A.json", "a.json", "b.json"]);
        list.sort_by(EntryColumn::Name);
        assert_eq!(names(&list), ["Zoo", "attic", "b.json", "a.json", "A.json"]);
        list.sort_by(EntryColumn::Size);
        assert_eq!(names(&list), ["attic", "Zoo", "A.json", "a.json", "b.json"]);
        list.sort_by(EntryColumn::Size);
        assert_eq!(names(&list)[2..], ["b.json", "A.json", "a.json"]);
        list.sort_by(EntryColumn::Modified);
        assert_eq!(names(&list), ["Zoo", "attic", "b.json", "A.json", "a.json"]);
    }

    #[test]
    fn numbered_files_are_in_the_order_of_their_numbers() {
        let entries = ["trace 10.json", "trace 2.json", "Trace 1.json"].map(|name| FolderEntry {
            is_file: true,
            name: name.to_owned(),
            bytes: 1,
            modified_s: None,
        });
        assert_eq!(names(&FolderList::new(entries.to_vec())), ["Trace 1.json", "trace 2.json", "trace 10.json"]);
    }

    #[test]
    fn steps_stop_at_the_first_and_the_last_row() {
        let mut list = list();
        assert_eq!(list.step(-1), Some("b.json"), "upwards from nowhere is the last");
        assert_eq!(list.step(1), Some("b.json"));
        assert_eq!(list.step(-100), Some("attic"));
        assert_eq!(list.step(2), Some("A.json"));
        assert_eq!(FolderList::new(Vec::new()).step(1), None);
    }

    #[test]
    fn another_folder_keeps_the_order() {
        let mut before = list();
        before.sort_by(EntryColumn::Size);
        before.sort_by(EntryColumn::Size);
        let after = list().with_order_of(&before);
        assert_eq!(names(&after), names(&before));
    }
}
