//! Tables with very many rows.

use std::cell::Cell as Counter;
use std::collections::BTreeMap;

use egui::{Event, Key, Modifiers, pos2, vec2};

use super::*;
use crate::scene::color::Shade;
use crate::ui::command::COPY_BYTES_MAX;
use crate::ui::panels::PanelContext;
use crate::ui::panels::number::TableNumber;
use crate::ui::panels::value_menu::PanelValue;

/// Rows that count reads of their cells.
#[derive(Default)]
struct CountingRows {
    rows: u64,
    asked: Counter<u64>,
    last: Counter<u64>,
    /// How far the rows have moved down.
    moved: u64,
}

impl Rows for CountingRows {
    fn count(&self) -> u64 {
        self.rows
    }

    fn cell(&self, row: u64, column: usize) -> TableCell<'_> {
        self.asked.set(self.asked.get() + 1);
        self.last.set(self.last.get().max(row));
        if column == 0 {
            TableCell::Text(format!("name {row}").into())
        } else {
            TableCell::Number(TableNumber::Duration(row.into()))
        }
    }

    fn spoken(&self, row: u64) -> String {
        format!("name {row}")
    }

    fn value(&self, row: u64, _column: usize) -> PanelValue {
        PanelValue::new((row - self.moved).to_string())
    }

    fn copies_all(&self) -> bool {
        true
    }

    fn bar(&self, _row: u64, column: usize) -> Option<f64> {
        (column == 1).then_some(0.5)
    }
}

const COLUMNS: [TableColumn; 2] = [TableColumn::text("Name", 100.0), TableColumn::number("Total", 76.0)];

/// A screen of 400 x 300 points with a table.
struct Screen {
    ctx: egui::Context,
    table: TableView,
    rows: CountingRows,
    /// Whether the rows belong to the scope.
    is_current: bool,
    /// The commands of all frames.
    commands: Vec<Command>,
    /// The texts of the last frame, with their centres.
    texts: Vec<(String, egui::Pos2)>,
}

impl Screen {
    fn new(rows: u64) -> Self {
        let rows = CountingRows { rows, ..CountingRows::default() };
        let (ctx, table) = (egui::Context::default(), TableView::new("test", 19.0, None));
        Self { ctx, table, rows, is_current: true, commands: Vec::new(), texts: Vec::new() }
    }

    /// Runs a frame, and returns the number of cells read.
    fn frame(&mut self, events: Vec<Event>) -> u64 {
        self.frame_of(&COLUMNS, events);
        self.rows.asked.get()
    }

    /// Runs a frame with other columns, and returns the number of bars behind numbers.
    fn frame_of(&mut self, columns: &[TableColumn], events: Vec<Event>) -> usize {
        self.rows.asked.set(0);
        let screen_rect = Some(egui::Rect::from_min_size(pos2(0.0, 0.0), vec2(400.0, 300.0)));
        let input = egui::RawInput { screen_rect, events, ..egui::RawInput::default() };
        let (theme, tables) = (Theme::new(Shade::Dark), BTreeMap::new());
        let lit = Cell::new(None);
        let (cells, is_current) = (Cells::default(), self.is_current);
        let context = PanelContext { theme: &theme, cells, tables: &tables, dock_points: 310, is_current, lit: &lit };
        let (table, rows, commands) = (&mut self.table, &mut self.rows, &mut self.commands);
        let mut output = self.ctx.run_ui(input, |ui| {
            commands.extend(table.show(ui, columns, rows, &context.table("test", None)).commands);
        });
        self.texts.clear();
        output.shapes.iter().for_each(|clipped| collect_texts(&clipped.shape, &mut self.texts));
        // Nothing paints here, but egui requires that textures are taken or freed.
        output.textures_delta.clear();
        let bar = theme.accent.gamma_multiply(0.22);
        let is_bar = |shape: &egui::Shape| matches!(shape, egui::Shape::Rect(rect) if rect.fill == bar);
        output.shapes.iter().filter(|clipped| is_bar(&clipped.shape)).count()
    }

    fn press(&mut self, key: Key) {
        let event =
            |pressed| Event::Key { key, physical_key: None, pressed, repeat: false, modifiers: Modifiers::NONE };
        self.frame(vec![event(true)]);
        self.frame(vec![event(false)]);
    }

    fn click(&mut self, at: egui::Pos2) {
        self.click_with(egui::PointerButton::Primary, at);
    }

    fn click_with(&mut self, button: egui::PointerButton, at: egui::Pos2) {
        for pressed in [true, false] {
            let press = Event::PointerButton { pos: at, button, pressed, modifiers: Modifiers::NONE };
            self.frame(vec![Event::PointerMoved(at), press]);
        }
    }
}

fn collect_texts(shape: &egui::Shape, texts: &mut Vec<(String, egui::Pos2)>) {
    match shape {
        egui::Shape::Text(text) => texts.push((text.galley.text().to_owned(), text.visual_bounding_rect().center())),
        egui::Shape::Vec(shapes) => shapes.iter().for_each(|shape| collect_texts(shape, texts)),
        _ => {}
    }
}

#[test]
fn rows_of_another_scope_are_not_copied_as_a_table() {
    for is_current in [true, false] {
        let mut screen = Screen::new(3);
        screen.is_current = is_current;
        screen.frame(Vec::new());
        screen.click_with(egui::PointerButton::Secondary, pos2(50.0, 40.0));
        // The first frame of a menu only measures it.
        for _ in 0..2 {
            screen.frame(Vec::new());
        }
        let entry = screen.texts.iter().find(|(text, _)| text == "Copy table").expect("the menu").1;
        screen.click(entry);
        let is_copied = screen.commands.iter().any(|command| matches!(command, Command::App(AppCommand::CopyText(_))));
        assert_eq!(is_copied, is_current);
    }
}

#[test]
fn a_menu_is_about_the_row_that_was_clicked_although_rows_are_sorted_again() {
    let mut screen = Screen::new(10);
    screen.rows.moved = 1;
    screen.frame(Vec::new());
    screen.click_with(egui::PointerButton::Secondary, pos2(50.0, 70.0));
    screen.frame(Vec::new());
    screen.rows.moved = 0;
    screen.frame(Vec::new());
    let entry = screen.texts.iter().find(|(text, _)| text == "Copy value").expect("the menu").1;
    screen.click(entry);
    let copied = screen.commands.iter().find_map(|command| match command {
        Command::App(AppCommand::CopyText(text)) => Some(&**text),
        _ => None,
    });
    assert_eq!(copied, Some("1"), "the third row had this value");
}

#[test]
fn the_work_of_a_frame_depends_on_the_rows_in_view_and_not_on_the_length_of_the_table() {
    let mut few = Screen::new(1_000);
    let mut many = Screen::new(100_000_000);
    few.frame(Vec::new());
    many.frame(Vec::new());
    let asked = few.frame(Vec::new());
    assert!((10..200).contains(&asked), "{asked}");
    assert_eq!(many.frame(Vec::new()), asked);
    many.table.reveal(99_999_999);
    assert!(many.frame(Vec::new()) <= asked + 4);
    assert_eq!(many.rows.last.get(), 99_999_999, "the last row is shown");
}

#[test]
fn a_table_too_long_to_copy_is_not_formatted_to_its_end() {
    let screen = Screen::new(100_000_000);
    let text = screen.table.copied(&COLUMNS, &screen.rows, Cells::default());
    assert!((COPY_BYTES_MAX + 1..COPY_BYTES_MAX + 100).contains(&text.len()), "{}", text.len());
}

#[test]
fn the_keys_scroll_through_a_hundred_million_rows() {
    let mut screen = Screen::new(100_000_000);
    screen.frame(Vec::new());
    screen.click(pos2(50.0, 60.0));
    // The focus is known only in the next frame.
    screen.frame(Vec::new());
    assert!(crate::ui::panels::table_keys::has_keyboard(&screen.ctx));
    screen.press(Key::End);
    assert!(screen.table.top > 99_999_900.0, "{}", screen.table.top);
    screen.press(Key::ArrowUp);
    screen.press(Key::PageUp);
    assert!(screen.table.top < 99_999_990.0 && screen.table.top > 99_999_900.0, "{}", screen.table.top);
    screen.press(Key::Home);
    assert_eq!(screen.table.top, 0.0);
    screen.press(Key::PageDown);
    screen.press(Key::PageDown);
    assert!(screen.table.top > 5.0 && screen.table.top < 40.0, "{}", screen.table.top);
}

#[test]
fn the_focus_follows_the_chosen_row_to_another_place_and_stays_on_any_other_row() {
    let focused_row = |screen: &Screen| {
        let focused = screen.ctx.memory(egui::Memory::focused).expect("a focus");
        let is_focused = |slot: &u64| Id::unique(("table", "test")).with(("row", *slot)) == focused;
        screen.table.top as u64 + (0..30).find(is_focused).expect("a row")
    };
    let mut screen = Screen::new(100);
    screen.frame(Vec::new());
    screen.click(pos2(50.0, 60.0));
    screen.frame(Vec::new());
    let row = focused_row(&screen);
    for chosen in [row, row + 4, 90, 2] {
        screen.table.set_chosen_row(Some(chosen));
        screen.frame(Vec::new());
        screen.frame(Vec::new());
        assert_eq!(focused_row(&screen), chosen);
    }
    screen.press(Key::ArrowDown);
    screen.table.set_chosen_row(Some(50));
    screen.frame(Vec::new());
    assert_eq!(focused_row(&screen), 3);
}

#[test]
fn the_focus_stays_on_its_row_when_rows_at_the_end_go() {
    let mut screen = Screen::new(100);
    screen.frame(Vec::new());
    screen.click(pos2(50.0, 60.0));
    screen.frame(Vec::new());
    let focused_row = |screen: &Screen| {
        let focused = screen.ctx.memory(egui::Memory::focused).expect("a focus");
        let is_focused = |slot: &u64| Id::unique(("table", "test")).with(("row", *slot)) == focused;
        screen.table.top as u64 + (0..30).find(is_focused).expect("a row")
    };
    screen.press(Key::End);
    (0..5).for_each(|_| screen.press(Key::ArrowUp));
    assert_eq!(focused_row(&screen), 94);
    // Rows below the focused row are removed, then the focused row, and then so many that the others fit.
    for (rows, focused) in [(97, 94), (40, 39), (3, 2), (2, 1)] {
        screen.rows.rows = rows;
        (0..2).for_each(|_| _ = screen.frame(Vec::new()));
        assert_eq!(focused_row(&screen), focused, "{rows}");
    }
}

#[test]
fn saved_widths_are_clamped_and_a_saved_order_by_an_unknown_column_is_ignored() {
    let mut screen = Screen::new(10);
    // The first column, which cannot be hidden, and a column that does not exist.
    let (widths, hidden) = (vec![None, Some(60_000)], [0, 9].into());
    let saved = TableLayout { widths, sorted_by: Some(7), ascending: true, hidden, ..TableLayout::default() };
    screen.table.restore(&COLUMNS, &mut screen.rows, Some(&saved));
    assert_eq!(screen.table.width(1), Some(f32::from(WIDTH_MAX)));
    assert_eq!(screen.table.sorting(), None);
    assert_eq!(columns::chosen(&COLUMNS, &screen.table.layout), (0..COLUMNS.len()).collect::<Vec<_>>());
}

#[test]
fn numbers_have_bars_in_the_sorted_column_and_where_no_column_can_be_sorted() {
    let mut screen = Screen::new(3);
    screen.frame(Vec::new());
    assert_eq!(screen.frame_of(&COLUMNS, Vec::new()), 0);
    let fixed = COLUMNS.map(|column| TableColumn { is_sortable: false, ..column });
    assert_eq!(screen.frame_of(&fixed, Vec::new()), 3);
    screen.table.layout.sorted_by = Some(1);
    assert_eq!(screen.frame_of(&COLUMNS, Vec::new()), 3);
}

#[test]
fn tab_leaves_the_table_and_shift_tab_returns_to_its_row() {
    let mut screen = Screen::new(100);
    screen.frame(Vec::new());
    let row_3 = pos2(50.0, HEAD_POINTS + 3.5 * 19.0);
    screen.click(row_3);
    screen.frame(Vec::new());
    let slot = |screen: &Screen| {
        let focused = screen.ctx.memory(egui::Memory::focused);
        (0..30_u64).find(|slot| focused == Some(Id::unique(("table", "test")).with(("row", *slot))))
    };
    assert_eq!(slot(&screen), Some(3));
    screen.press(Key::Tab);
    screen.frame(Vec::new());
    assert_eq!(slot(&screen), None, "one row is the only stop of the table");
    let shift_tab =
        |pressed| Event::Key { key: Key::Tab, physical_key: None, pressed, repeat: false, modifiers: Modifiers::SHIFT };
    for _ in 0..4 {
        if slot(&screen).is_none() {
            screen.frame(vec![shift_tab(true)]);
            screen.frame(vec![shift_tab(false)]);
        }
    }
    assert_eq!(slot(&screen), Some(3));
}

#[test]
fn a_row_that_gets_the_keyboard_is_wholly_in_view() {
    let mut screen = Screen::new(100);
    screen.frame(Vec::new());
    screen.table.top = 10.4;
    screen.frame(Vec::new());
    let first = Id::unique(("table", "test")).with(("row", 0_u64));
    for _ in 0..5 {
        if screen.ctx.memory(egui::Memory::focused) != Some(first) {
            screen.press(Key::Tab);
        }
    }
    screen.frame(Vec::new());
    assert_eq!(screen.ctx.memory(egui::Memory::focused), Some(first));
    assert_eq!(screen.table.top, 10.0, "it is not cut");
}
