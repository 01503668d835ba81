//! The table widget: names on the left, numbers on the right, a header that sorts, resizable columns. Only the rows in
//! view are read and painted, so a million rows scroll like ten.

mod cells;
mod columns;
mod copy;
mod header_keys;
mod menu;
mod rows;
mod total;
mod tree;

use std::cell::Cell;
use std::collections::BTreeSet;

pub(crate) use cells::RowsInView;
use cells::{TEXT_POINTS, paint_cells, paint_text, tip_of};
use columns::{choose_columns, visible};
use egui::{Id, Rect, Role, ScrollArea, Sense, Ui, WidgetInfo, pos2, vec2};
use menu::{OpenMenu, show_menu};
pub(crate) use rows::{Rows, TableCell};
use total::show_total;
pub(crate) use tree::TreeRow;
use tree::{TreeStep, key_step};

use super::table_column::TableColumn;
use super::table_keys::{RowMove, copies, hold, take_keyboard, take_steps};
use crate::base::csv::Cells;
use crate::frame::lit::Lit;
use crate::ui::chrome::menu_bar;
use crate::ui::command::{AppCommand, Command, ScopeCommand, SettingCommand, TimelineCommand};
use crate::ui::settings::TableLayout;
use crate::ui::theme::Theme;
use crate::ui::widgets::context_menu::{context_menu, opens_menu};
use crate::ui::widgets::field::FIELD_BYTES_MAX;
use crate::ui::widgets::marks;
use crate::ui::widgets::spoken::take_spoken_focus;

/// Height of a row of most tables, in points.
pub(super) const TABLE_ROW_POINTS: f32 = 19.0;

/// Height of the header, in points.
const HEAD_POINTS: f32 = 19.0;

/// Width of the sort arrow, in points.
const ARROW_POINTS: f32 = 11.0;

/// Width of the scroll bar, in points.
const BAR_POINTS: f32 = 14.0;

/// Minimum and maximum width of a resized column, in points.
const WIDTH_MIN: u16 = 30;
const WIDTH_MAX: u16 = 4000;

/// The parts of a table that may differ from frame to frame.
pub(crate) struct TableLook<'a> {
    pub(crate) theme: &'a Theme,
    pub(crate) cells: Cells,
    /// The saved layout of this table.
    pub(crate) saved: Option<&'a TableLayout>,
    /// The reason for an empty table.
    pub(crate) absence: Option<&'a str>,
    /// Whether its rows belong to the scope of the panel; otherwise the table is not copied.
    pub(crate) is_current: bool,
    /// Where the table puts the spans of its hovered row.
    pub(crate) lit: Option<&'a Cell<Option<Lit>>>,
}

/// The response of a table to one frame: the clicked row, a row to load, and commands.
#[derive(Debug, Default)]
pub(crate) struct TableResponse {
    pub(crate) clicked: Option<u64>,
    /// A row of a tree whose children are to be shown or hidden.
    pub(crate) toggled: Option<u64>,
    /// A row of a tree below which everything is to be shown.
    pub(crate) expanded: Option<u64>,
    /// A row in view that is not loaded.
    pub(crate) missing: Option<u64>,
    pub(crate) commands: Vec<Command>,
}

/// A table: its layout and scroll position.
#[derive(Debug)]
pub(crate) struct TableView {
    name: &'static str,
    row_points: f32,
    layout: TableLayout,
    is_restored: bool,
    /// The top row, plus the fraction of it that has scrolled away.
    top: f64,
    to_reveal: Option<u64>,
    /// The row that the panel shows as chosen, and where it has moved since the last frame: from and to.
    chosen: Option<u64>,
    moved: Option<(u64, u64)>,
    last_shown: Option<u64>,
    /// The row that had the keyboard last, to which Tab returns.
    last_focused: Option<u64>,
    /// The header that had the keyboard last.
    last_header: Option<usize>,
    menu: Option<OpenMenu>,
}

/// The geometry, columns and style shared while a frame is painted.
struct Painting<'a> {
    columns: &'a [TableColumn],
    /// Indices of the columns that are not hidden.
    visible: Vec<usize>,
    /// Indices of the columns that are copied, whether they fit or not.
    copied: Vec<usize>,
    hidden: BTreeSet<usize>,
    /// Left and right end of each column; equal if it is hidden.
    edges: Vec<(f32, f32)>,
    look: &'a TableLook<'a>,
    id: Id,
}

impl TableView {
    /// Creates a table that is initially sorted by a column, largest first.
    #[must_use]
    pub(crate) fn new(name: &'static str, row_points: f32, sorted_by: Option<usize>) -> Self {
        Self {
            name,
            row_points,
            layout: TableLayout { sorted_by, ..TableLayout::default() },
            is_restored: false,
            top: 0.0,
            to_reveal: None,
            chosen: None,
            moved: None,
            last_shown: None,
            last_focused: None,
            last_header: None,
            menu: None,
        }
    }

    /// Returns the sort column, and whether the order is ascending.
    #[must_use]
    pub(crate) fn sorting(&self) -> Option<(usize, bool)> {
        self.layout.sorted_by.map(|column| (column, self.layout.ascending))
    }

    /// Shows a sort column that the panel has chosen.
    pub(crate) fn set_sorting(&mut self, column: usize, ascending: bool) {
        (self.layout.sorted_by, self.layout.ascending) = (Some(column), ascending);
    }

    /// Returns all rows as text, with tabs between cells. Columns that the user has hidden are left out; columns that
    /// only do not fit are copied.
    #[must_use]
    pub(crate) fn copied(&self, columns: &[TableColumn], rows: &dyn Rows, cells: Cells) -> String {
        copy::all(rows, columns, &columns::chosen(columns, &self.layout), cells)
    }

    /// Returns the last row that the last frame showed.
    #[must_use]
    pub(crate) fn last_shown(&self) -> Option<u64> {
        self.last_shown
    }

    /// Scrolls a row to the middle of the view in the next frame.
    pub(crate) fn reveal(&mut self, row: u64) {
        self.to_reveal = Some(row);
    }

    /// Sets the row that is shown as chosen. If the row has the keyboard, it keeps the keyboard when it moves.
    pub(crate) fn set_chosen_row(&mut self, row: Option<u64>) {
        self.moved = self.chosen.zip(row).filter(|(from, to)| from != to);
        self.chosen = row;
    }

    /// Shows the header, the rows in view and the total row in the available space.
    pub(crate) fn show(
        &mut self,
        ui: &mut Ui,
        columns: &[TableColumn],
        rows: &mut dyn Rows,
        look: &TableLook<'_>,
    ) -> TableResponse {
        let mut response = TableResponse::default();
        self.restore(columns, rows, look.saved);
        let available = ui.available_width() - BAR_POINTS;
        let hidden = columns::hidden(columns, &self.layout, |column| self.width(column), available);
        let edges = columns::edges(columns, &hidden, |column| self.width(column), available);
        let width = edges.last().map_or(0.0, |(_, right)| *right);
        let right = ui.available_rect_before_wrap().right();
        ScrollArea::horizontal().id_salt(self.name).auto_shrink(false).show(ui, |ui| {
            ui.spacing_mut().item_spacing.y = 0.0;
            let (visible, copied) = (visible(columns, &hidden), columns::chosen(columns, &self.layout));
            // An id of the surrounding area would change when another panel opens beside it, and lose the focus.
            let id = Id::unique(("table", self.name));
            let painting = Painting { columns, visible, copied, hidden, edges, look, id };
            let before = self.layout.clone();
            let is_resized = self.show_headers(ui, &painting, rows, width);
            if self.layout != before || is_resized {
                // Saved once the drag ends.
                let is_down = ui.input(|input| input.pointer.any_down());
                response.commands.extend(
                    (!is_down).then(|| Command::Setting(SettingCommand::Table(self.name, self.layout.clone()))),
                );
            }
            if let Some(absence) = look.absence {
                ui.label(egui::RichText::new(absence).color(look.theme.weak_text));
            }
            let mut body = ui.available_rect_before_wrap();
            body.set_width(width);
            ui.allocate_rect(body, Sense::hover());
            if (0..columns.len()).any(|column| rows.total(column).is_some()) {
                let total = body.with_min_y(body.bottom() - HEAD_POINTS);
                body.max.y = total.top();
                show_total(ui, &painting, total, rows);
            }
            self.show_rows(ui, &painting, (body, right), rows, &mut response);
        });
        response
    }

    /// Applies the saved layout, once.
    fn restore(&mut self, columns: &[TableColumn], rows: &mut dyn Rows, saved: Option<&TableLayout>) {
        if std::mem::replace(&mut self.is_restored, true) {
            return;
        }
        if let Some(saved) = saved {
            let is_column = |column: &usize| columns.get(*column).is_some_and(|column| column.is_sortable);
            let sorted_by = saved.sorted_by.filter(is_column);
            let (sorted_by, ascending) = match sorted_by {
                Some(_) => (sorted_by, saved.ascending),
                None => (self.layout.sorted_by, self.layout.ascending),
            };
            self.layout = TableLayout { sorted_by, ascending, ..saved.clone() };
        }
        if let Some((column, ascending)) = self.sorting() {
            rows.sort(column, ascending);
        }
    }

    fn width(&self, column: usize) -> Option<f32> {
        let width = self.layout.widths.get(column).copied().flatten()?;
        Some(f32::from(width.clamp(WIDTH_MIN, WIDTH_MAX)))
    }

    /// Shows the header: a click sorts, a drag of an edge resizes. Returns whether a drag of an edge ended,
    /// or a double click reset a width.
    fn show_headers(&mut self, ui: &mut Ui, painting: &Painting<'_>, rows: &mut dyn Rows, width: f32) -> bool {
        let Painting { columns, edges, look, .. } = painting;
        let header = ui.allocate_exact_size(vec2(width, HEAD_POINTS), Sense::hover()).0;
        let mut is_resized = false;
        let tab_stop = self.step_headers(ui, painting);
        for &number in &painting.visible {
            let column = &columns[number];
            let (left, right) = edges[number];
            let cell = Rect::from_x_y_ranges(header.left() + left..=header.left() + right, header.y_range());
            // The Tab key stops at one header, and skips those that only open the column menu.
            let sense = if tab_stop == Some(number) { Sense::click() } else { Sense::CLICK };
            let role = if column.is_sortable { Role::Button } else { Role::ColumnHeader };
            let response = ui.interact(cell, painting.head_id(number), sense);
            if column.is_sortable && tab_stop != Some(number) {
                take_spoken_focus(&response);
            }
            response.widget_info(|| WidgetInfo::labeled(role, true, column.title));
            let is_lit = column.is_sortable && (response.hovered() || response.has_focus());
            let color = if is_lit { look.theme.text } else { look.theme.weak_text };
            let is_sorted = self.layout.sorted_by == Some(number);
            let text = cell.with_max_x(cell.right() - if is_sorted { ARROW_POINTS } else { 0.0 });
            let font = egui::FontId::proportional(TEXT_POINTS);
            let painted = paint_text(ui.painter(), text, column.title, font, column.is_number, color);
            if is_sorted {
                let middle = painted.right_center() + vec2(ARROW_POINTS * 0.7, 0.0);
                ui.painter().add(marks::arrow(middle, self.layout.ascending, color));
            }
            choose_columns(&response, columns, &mut self.layout, &painting.hidden);
            let response = if column.meaning.is_empty() { response } else { response.on_hover_text(column.meaning) };
            if response.clicked() && column.is_sortable {
                self.sort_by(number, column.is_number);
                rows.sort(number, self.layout.ascending);
            }
            is_resized |= self.drag_edge(ui, painting, cell, number);
        }
        is_resized
    }

    /// Sorts names ascending, numbers descending; a second click reverses the order.
    fn sort_by(&mut self, column: usize, is_number: bool) {
        let is_again = self.layout.sorted_by == Some(column);
        self.layout.ascending = if is_again { !self.layout.ascending } else { !is_number };
        self.layout.sorted_by = Some(column);
    }

    /// Resizes a column; a double click resets its width. Returns whether the change is complete.
    fn drag_edge(&mut self, ui: &Ui, painting: &Painting<'_>, head: Rect, column: usize) -> bool {
        const GRIP_POINTS: f32 = 3.0;
        let title = painting.columns[column].title;
        let grip = Rect::from_x_y_ranges(head.right() - GRIP_POINTS..=head.right() + GRIP_POINTS, head.y_range());
        // Skipped by the Tab key: edges have no value to type.
        let response = ui.interact(grip, painting.id.with(("edge", title)), Sense::CLICK | Sense::DRAG);
        response.widget_info(|| WidgetInfo::labeled(Role::Splitter, true, format!("Width of {title}")));
        if response.hovered() || response.dragged() {
            ui.set_cursor_icon(egui::CursorIcon::ResizeColumn);
            ui.painter().vline(head.right(), head.y_range(), egui::Stroke::new(1.0, painting.look.theme.accent));
        }
        let width = if response.double_clicked() {
            None
        } else if let Some(at) = response.interact_pointer_pos().filter(|_| response.dragged()) {
            let width = (at.x - head.left()).round().clamp(f32::from(WIDTH_MIN), f32::from(WIDTH_MAX));
            Some(width as u16)
        } else {
            return response.drag_stopped();
        };
        if self.layout.widths.len() <= column {
            self.layout.widths.resize(column + 1, None);
        }
        self.layout.widths[column] = width;
        response.drag_stopped() || width.is_none()
    }

    fn show_rows(
        &mut self,
        ui: &Ui,
        painting: &Painting<'_>,
        (body, right): (Rect, f32),
        rows: &mut dyn Rows,
        shown: &mut TableResponse,
    ) {
        let count = rows.count();
        let in_view = f64::from((body.height() / self.row_points).max(1.0));
        let list = ui.interact(body, painting.id.with("list"), Sense::hover());
        self.follow_focus(ui, painting, in_view, count);
        if let Some(row) = self.to_reveal.take() {
            self.top = row as f64 - in_view / 2.0;
        }
        if list.contains_pointer() && count as f64 > in_view {
            // Taken from the panel around it, which may scroll too.
            let delta = ui.input_mut(|input| std::mem::take(&mut input.smooth_scroll_delta.y));
            self.top -= f64::from(delta / self.row_points);
        }
        let bar = Rect::from_min_max(pos2(right - BAR_POINTS + 2.0, body.top()), pos2(right - 2.0, body.bottom()));
        self.drag_bar(ui, painting, bar, in_view, count);
        self.clamp(in_view, count);
        if count > 0 && take_keyboard(ui.ctx()) {
            let row = self.chosen.filter(|row| *row < count).unwrap_or(self.top as u64);
            self.focus_row(ui, painting, row, (in_view, count));
        }
        self.step(ui, painting, in_view, rows, shown);
        let first = self.top as u64;
        let tab_slot = self.tab_slot(ui, painting, in_view, count);
        self.last_shown = None;
        let mut revealed = None;
        let role = if rows.tree_row(0).is_some() { Role::Tree } else { Role::List };
        list.widget_info(|| WidgetInfo::labeled(role, true, rows.summary(first, in_view as u64)));
        for slot in 0..slot_count(in_view) {
            let row = first + slot;
            if row >= count {
                break;
            }
            let top = body.top() + (row as f64 - self.top) as f32 * self.row_points;
            let rect = Rect::from_x_y_ranges(body.x_range(), top..=top + self.row_points);
            if !rect.intersect(body).is_positive() {
                continue;
            }
            if !rows.is_loaded(row) {
                shown.missing = Some(row);
                break;
            }
            self.last_shown = Some(row);
            let is_tab_stop = slot == tab_slot;
            if self.show_row(ui, painting, (rect, body), (slot, row, is_tab_stop), rows, shown) {
                revealed = Some(row);
            }
        }
        if let Some(row) = revealed {
            self.focus_row(ui, painting, row, (in_view, count));
            ui.ctx().request_repaint();
        }
        let rows_in_view = first..count.min(first + slot_count(in_view));
        let top = body.top() + (first as f64 - self.top) as f32 * self.row_points;
        let pointer = ui.input(|input| input.pointer.hover_pos()).filter(|_| list.contains_pointer());
        let cells = painting.cell(body, 0);
        let view = RowsInView { rows: rows_in_view, top, row_points: self.row_points, cells, pointer };
        rows.paint_over(&ui.painter_at(body.intersect(ui.clip_rect())), &view, painting.look.theme);
    }

    /// Shows a row. Returns whether it has just got the keyboard while a part of it is out of view.
    fn show_row(
        &mut self,
        ui: &Ui,
        painting: &Painting<'_>,
        (rect, body): (Rect, Rect),
        (slot, row, is_tab_stop): (u64, u64, bool),
        rows: &dyn Rows,
        shown: &mut TableResponse,
    ) -> bool {
        let theme = painting.look.theme;
        // Identified by its slot on the screen, so that the focus stays there while the table scrolls. Tab stops at one
        // row only.
        let sense = if is_tab_stop { Sense::click() } else { Sense::CLICK };
        let response = ui.interact(rect.intersect(body), painting.slot_id(slot), sense);
        if !is_tab_stop {
            take_spoken_focus(&response);
        }
        let is_cut = response.gained_focus() && !response.contains_pointer() && !body.expand(0.5).contains_rect(rect);
        let (is_chosen, tree_row) = (rows.is_chosen(row), rows.tree_row(row));
        let role = if tree_row.is_some() { Role::TreeItem } else { Role::ListItem };
        response.widget_info(|| WidgetInfo::selected(role, true, is_chosen, rows.spoken(row)));
        let painter = ui.painter_at(body.intersect(ui.clip_rect()));
        if let Some(lit) = painting.look.lit.filter(|_| response.hovered()) {
            lit.set(rows.lit(row));
        }
        if is_chosen || response.hovered() || response.has_focus() {
            painter.rect_filled(rect, 2.0, if is_chosen { theme.raised } else { theme.header });
        }
        if response.has_focus() {
            let stroke = egui::Stroke::new(1.0, theme.accent);
            painter.rect_stroke(rect.shrink(0.5), 2.0, stroke, egui::StrokeKind::Inside);
        }
        paint_cells(&painter, painting, rect, (row, rows), self.layout.sorted_by);
        if response.clicked() {
            let name = painting.cell(rect, 0);
            let is_arrow = |at: egui::Pos2| tree_row.is_some_and(|tree_row| tree_row.is_on_arrow(name, at.x));
            let is_toggled = response.interact_pointer_pos().is_some_and(is_arrow);
            let adds = ui.input(|input| input.modifiers.command);
            let column = response.interact_pointer_pos().map(|at| painting.column_at(rect, at.x));
            match column.filter(|_| adds).and_then(|column| scope_filter(painting, rows, row, column)) {
                Some(filter) => {
                    let add = TimelineCommand::Scope(ScopeCommand::AddFilter(filter));
                    shown.commands.push(Command::Timeline(add));
                }
                None => *if is_toggled { &mut shown.toggled } else { &mut shown.clicked } = Some(row),
            }
            response.request_focus();
        }
        let column = response.hover_pos().or(response.interact_pointer_pos()).map(|at| painting.column_at(rect, at.x));
        if opens_menu(&response) {
            // The Menu key opens the menu of the name.
            let column = column.filter(|_| response.secondary_clicked()).unwrap_or(0);
            self.menu = OpenMenu::new(slot, (row, column), painting, rows);
        }
        if let Some(open) = self.menu.as_ref().filter(|open| open.slot == slot) {
            context_menu(&response).show(|ui| {
                menu_bar::scrolled(ui, |ui| shown.commands.extend(show_menu(ui, painting, open, rows)));
            });
        }
        let Some(column) = column else { return is_cut };
        // A row is as wide as the table, so a tooltip below it would be far from the cell.
        response.on_hover_ui_at_pointer(|ui| {
            ui.set_max_width(ui.spacing().tooltip_width);
            ui.label(tip_of(rows, row, column));
        });
        is_cut
    }

    /// Moves by the keys of the focused row, and copies that row.
    fn step(&mut self, ui: &Ui, painting: &Painting<'_>, in_view: f64, rows: &dyn Rows, shown: &mut TableResponse) {
        let Some(last) = rows.count().checked_sub(1) else { return };
        let Some(slot) = painting.focused_slot(ui, in_view) else { return };
        let row = (self.top as u64 + slot).min(last);
        let is_tree = rows.tree_row(row).is_some();
        hold(ui, painting.slot_id(slot), is_tree);
        if copies(ui) && rows.is_loaded(row) {
            let text = copy::row(rows, &painting.copied, row, painting.look.cells);
            shown.commands.push(AppCommand::CopyText(text).into());
        }
        let steps = take_steps(ui);
        let row = match key_step(ui, rows, row) {
            Some(TreeStep::Toggle) => return shown.toggled = Some(row),
            Some(TreeStep::ExpandAll) => return shown.expanded = Some(row),
            Some(TreeStep::Move(target)) => target,
            None if steps.is_empty() => return,
            None => row,
        };
        let page = (in_view as i64 - 1).max(1);
        let target = steps.into_iter().fold(row, |row, step| match step {
            RowMove::By(rows) => row.saturating_add_signed(rows).min(last),
            RowMove::Pages(pages) => row.saturating_add_signed(pages * page).min(last),
            RowMove::First => 0,
            RowMove::Last => last,
        });
        let id = self.focus_row(ui, painting, target, (in_view, last + 1));
        // The arrow key is consumed.
        ui.memory_mut(|memory| memory.move_focus(egui::FocusDirection::None));
        hold(ui, id, is_tree);
    }

    /// Gives a row the keyboard, and brings it into view. Returns its id.
    fn focus_row(&mut self, ui: &Ui, painting: &Painting<'_>, row: u64, (in_view, count): (f64, u64)) -> Id {
        self.bring_into_view(row, in_view, count);
        let id = painting.slot_id(row - self.top as u64);
        ui.memory_mut(|memory| memory.request_focus(id));
        id
    }

    /// Returns the slot to which Tab leads: of the row with the keyboard, or else of the row that had it last, of the
    /// chosen row, or of the first row in view.
    fn tab_slot(&mut self, ui: &Ui, painting: &Painting<'_>, in_view: f64, count: u64) -> u64 {
        let first = self.top as u64;
        if let Some(slot) = painting.focused_slot(ui, in_view) {
            self.last_focused = Some(first + slot);
            return slot;
        }
        let in_view = first..count.min((self.top + in_view).ceil() as u64);
        let row = [self.last_focused, self.chosen].into_iter().flatten().find(|row| in_view.contains(row));
        row.map_or(0, |row| row - first)
    }

    /// Scrolls up if rows have been removed, such as the rows below a collapsed row. Keeps the focus on its row, or on
    /// the last row if its row was removed; scrolls to a chosen row that has moved with the focus.
    fn follow_focus(&mut self, ui: &Ui, painting: &Painting<'_>, in_view: f64, count: u64) {
        let before = self.top as u64;
        self.clamp(in_view, count);
        let Some(last) = count.checked_sub(1) else { return };
        let Some(slot) = painting.focused_slot(ui, in_view) else { return };
        let row = match self.moved.take().filter(|(from, _)| *from == before + slot) {
            Some((_, to)) => {
                self.bring_into_view(to.min(last), in_view, count);
                to
            }
            None => before + slot,
        };
        let target = row.min(last).saturating_sub(self.top as u64);
        if target != slot {
            ui.memory_mut(|memory| memory.request_focus(painting.slot_id(target)));
        }
    }

    /// Scrolls no further than needed to show a whole row.
    fn bring_into_view(&mut self, row: u64, in_view: f64, count: u64) {
        self.top = self.top.min(row as f64).max((row + 1) as f64 - in_view);
        self.clamp(in_view, count);
    }

    fn clamp(&mut self, in_view: f64, count: u64) {
        self.top = self.top.clamp(0.0, (count as f64 - in_view).max(0.0));
    }

    /// Shows the scroll bar. egui's own fails, because a list of a hundred million rows exceeds its height limit.
    fn drag_bar(&mut self, ui: &Ui, painting: &Painting<'_>, bar: Rect, in_view: f64, count: u64) {
        const HANDLE_MIN: f32 = 20.0;
        let most = count as f64 - in_view;
        if most <= 0.0 {
            return;
        }
        let theme = painting.look.theme;
        let response = ui.interact(bar, painting.id.with("bar"), Sense::CLICK | Sense::DRAG);
        response.widget_info(|| WidgetInfo::slider(true, self.top, format!("Scroll {}", self.name)));
        let handle = (bar.height() * (in_view / count as f64) as f32).max(HANDLE_MIN).min(bar.height());
        let way = (bar.height() - handle).max(1.0);
        if let Some(at) = response.interact_pointer_pos() {
            self.top = f64::from((at.y - bar.top() - handle / 2.0) / way).clamp(0.0, 1.0) * most;
        }
        let top = bar.top() + (self.top / most).clamp(0.0, 1.0) as f32 * way;
        let handle = Rect::from_min_size(pos2(bar.left() + 1.0, top), vec2(8.0, handle));
        ui.painter().rect_filled(handle, 4.0, if response.hovered() { theme.weak_text } else { theme.raised });
    }
}

impl Painting<'_> {
    fn head_id(&self, column: usize) -> Id {
        self.id.with(("head", self.columns[column].title))
    }

    fn slot_id(&self, slot: u64) -> Id {
        self.id.with(("row", slot))
    }

    /// Returns the slot that has the keyboard focus.
    fn focused_slot(&self, ui: &Ui, in_view: f64) -> Option<u64> {
        let focused = ui.memory(egui::Memory::focused)?;
        (0..slot_count(in_view)).find(|slot| self.slot_id(*slot) == focused)
    }

    fn cell(&self, row: Rect, column: usize) -> Rect {
        let (left, right) = self.edges[column];
        Rect::from_x_y_ranges(row.left() + left..=row.left() + right, row.y_range())
    }

    fn column_at(&self, row: Rect, x: f32) -> usize {
        let at = self.edges.iter().position(|(_, right)| x < row.left() + right);
        // A hidden column has no width, so the column found is visible.
        at.or(self.visible.last().copied()).unwrap_or(0)
    }
}

/// Returns the filter that a cell adds to the scope: the cell's own filter, or for a number the filter of its row.
fn scope_filter(painting: &Painting<'_>, rows: &dyn Rows, row: u64, column: usize) -> Option<String> {
    let own = (!painting.columns[column].is_number).then(|| rows.value(row, column).filter).flatten();
    own.or_else(|| rows.value(row, 0).filter).filter(|filter| filter.len() <= FIELD_BYTES_MAX)
}

/// Returns the maximum number of rows that are wholly or partly in view.
fn slot_count(in_view: f64) -> u64 {
    in_view.ceil() as u64 + 1
}

#[cfg(test)]
mod tests;
