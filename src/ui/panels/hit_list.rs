//! Lists of rows of the trace: hits of a search, spans of a scope. In time order, a list is unbounded and never built
//! as a whole: its pages are loaded when they come into view. A click on another column asks for the first rows in its
//! order. The details of the selected row are beside the list if they fit.

use std::borrow::Cow;

use egui::Ui;

use super::dock_panel::PanelView;
use super::number::TableNumber;
use super::table::{Rows, TABLE_ROW_POINTS, TableCell, TableView};
use super::table_column::TableColumn;
use super::value_menu::PanelValue;
use crate::base::csv::Cells;
use crate::base::time::duration_text;
use crate::base::units::duration_word;
use crate::frame::lit::Lit;
use crate::model::Process;
use crate::query::Snapshot;
use crate::query::filter::exactly;
use crate::query::groups::{GroupBy, OwnerKey};
use crate::query::ordered_rows::{ListColumn, ListOrder};
use crate::query::search::{Hit, moved_hits};
use crate::scene::labels::shown_name;
use crate::scene::titles::{distinct_title, process_title};
use crate::store::lane::{LaneKind, RowIdx};
use crate::store::live_lanes::LaneMoves;
use crate::ui::command::{Command, TimelineCommand};
use crate::ui::questions::{HitsOf, Question};
use crate::ui::settings::TableLayout;
use crate::ui::timeline::ruler_clock::RulerClock;

/// Below this width, the list takes the whole dock.
const BESIDE_POINTS: f32 = 900.0;

/// Rows per page: more than fit on the largest screen, so that one notch of the wheel stays in the page.
const PAGE_ROWS: usize = 200;

/// Width of a start time below 100 hours.
const START_POINTS: f32 = 120.0;

const COLUMNS: [TableColumn; 5] = [
    TableColumn::text("Name", 140.0),
    TableColumn::number("Duration", 76.0),
    TableColumn::number("Start", START_POINTS),
    TableColumn::text("Track", 170.0),
    TableColumn::text("Process", 150.0),
];

/// The order of each column.
const ORDERS: [ListColumn; COLUMNS.len()] =
    [ListColumn::Name, ListColumn::Duration, ListColumn::Start, ListColumn::Track, ListColumn::Process];

/// The source of the rows of a list.
#[derive(Debug, Clone, Copy)]
pub(super) enum ListRows<'a> {
    /// A number of rows, loaded in pages.
    Paged(u64, HitsOf),
    All(&'a [Hit]),
}

/// The rows of a list.
pub(super) struct ListContent<'a> {
    pub(super) rows: ListRows<'a>,
    pub(super) order: ListOrder,
    /// The reason for an empty list.
    pub(super) absence: Option<&'a str>,
}

/// A list: its table and the loaded page.
#[derive(Debug)]
pub(super) struct HitList {
    name: &'static str,
    table: TableView,
    page: (u64, Vec<Hit>),
    asked: Option<u64>,
    /// The first row of the page whose query has failed. It is not repeated until the list shows other rows.
    failed: Option<u64>,
    /// Whether the page belongs to an earlier answer, and is shown until it is loaded again.
    is_outdated: bool,
    clicked: Option<RowIdx>,
    /// The order that a click on a header asks for.
    chosen_order: Option<ListOrder>,
    shows_beside: bool,
    /// The clock of the shown starts; `None` before the first frame.
    clock: Option<RulerClock>,
}

impl HitList {
    /// Creates a list. `name` is the noun for its rows, and the name of its saved layout.
    pub(super) fn new(name: &'static str) -> Self {
        let table = TableView::new(name, TABLE_ROW_POINTS, None);
        Self {
            name,
            table,
            page: (0, Vec::new()),
            asked: None,
            failed: None,
            is_outdated: false,
            clicked: None,
            chosen_order: None,
            shows_beside: false,
            clock: None,
        }
    }

    /// Drops the rows; the table keeps its columns.
    pub(super) fn forget(&mut self) {
        (self.page, self.asked, self.failed, self.clicked) = ((0, Vec::new()), None, None, None);
        self.is_outdated = false;
    }

    /// Loads the page again, because the answer has changed. The scroll position stays.
    pub(super) fn renew(&mut self) {
        (self.asked, self.failed, self.is_outdated) = (None, None, !self.page.1.is_empty());
    }

    /// Maps the rows of the loaded page, because lanes have moved.
    pub(super) fn move_rows(&mut self, moves: &LaneMoves) {
        self.page.1 = moved_hits(&self.page.1, moves);
        self.clicked = self.clicked.and_then(|row| moves.row(row));
    }

    /// Drops the rows and scrolls to the top.
    pub(super) fn restart(&mut self) {
        self.forget();
        self.table.reveal(0);
    }

    /// Sets the loaded page, whose first row has the index `first`.
    pub(super) fn set_page(&mut self, first: u64, hits: Vec<Hit>) {
        self.page = (first, hits);
        (self.asked, self.failed, self.is_outdated) = (None, None, false);
    }

    /// Records that the queried page cannot be loaded.
    pub(super) fn fail_page(&mut self) {
        self.failed = self.asked.take();
    }

    /// Scrolls a row to the middle of the view.
    pub(super) fn reveal(&mut self, number: u64) {
        self.table.reveal(number);
    }

    /// Returns the row that was clicked since the last call.
    #[must_use]
    pub(super) fn take_clicked(&mut self) -> Option<RowIdx> {
        self.clicked.take()
    }

    /// Returns the order that was chosen by a click on a header since the last call.
    #[must_use]
    pub(super) fn take_order(&mut self) -> Option<ListOrder> {
        self.chosen_order.take()
    }

    /// Returns the last row that the last frame showed.
    #[must_use]
    pub(super) fn last_shown(&self) -> Option<u64> {
        self.table.last_shown()
    }

    /// Returns whether the last frame had space for details beside the list.
    #[must_use]
    pub(super) fn shows_beside(&self) -> bool {
        self.shows_beside
    }

    /// Returns the rows of a list as text, with tabs between cells. A paged list gives the loaded page.
    #[must_use]
    pub(super) fn copied(&self, rows: ListRows<'_>, snapshot: &Snapshot, cells: Cells) -> String {
        let hits = self.copied_hits(rows);
        let (total, page) = (hits.len() as u64, (0, hits));
        let clock = self.clock.unwrap_or_else(|| RulerClock::from_start(snapshot));
        let rows = HitRows { things: self.name, total, page, selected: None, snapshot, clock, sorted: None };
        self.table.copied(&COLUMNS, &rows, cells)
    }

    /// Returns how many rows are copied and how many there are, if these are more than are copied.
    #[must_use]
    pub(super) fn copied_part(&self, rows: ListRows<'_>) -> Option<(u64, u64)> {
        let copied = self.copied_hits(rows).len() as u64;
        match rows {
            ListRows::Paged(total, _) => (copied < total).then_some((copied, total)),
            ListRows::All(_) => None,
        }
    }

    fn copied_hits<'a>(&'a self, rows: ListRows<'a>) -> &'a [Hit] {
        match rows {
            ListRows::Paged(..) => &self.page.1,
            ListRows::All(hits) => hits,
        }
    }

    /// Shows the list, and beside it the details of the selected row if they fit.
    pub(super) fn show(&mut self, ui: &mut Ui, view: &PanelView<'_>, content: &ListContent<'_>) -> Vec<Command> {
        let rect = ui.available_rect_before_wrap();
        self.shows_beside = rect.width() > BESIDE_POINTS;
        let Some(details) = view.details.filter(|_| self.shows_beside) else {
            return self.show_table(ui, view, content);
        };
        let mut commands = Vec::new();
        let list = rect.with_max_x(rect.left() + rect.width() * 0.45);
        ui.scope_builder(egui::UiBuilder::new().max_rect(list), |ui| {
            commands.extend(self.show_table(ui, view, content));
        });
        let beside = rect.with_min_x(list.right() + 14.0);
        ui.scope_builder(egui::UiBuilder::new().max_rect(beside), |ui| {
            commands.extend(details.show(ui, view.context.theme, view.timeline.clock()));
        });
        commands
    }

    /// Returns whether to query the page from this row on.
    fn ask_page(&mut self, first: u64) -> bool {
        let is_new = self.asked.is_none() && self.failed != Some(first);
        if is_new {
            (self.asked, self.failed) = (Some(first), None);
        }
        is_new
    }

    fn show_table(&mut self, ui: &mut Ui, view: &PanelView<'_>, content: &ListContent<'_>) -> Vec<Command> {
        let &ListContent { rows, order, absence } = content;
        let (total, page, of) = match rows {
            ListRows::Paged(total, of) => (total, (self.page.0, &*self.page.1), Some(of)),
            ListRows::All(hits) => (hits.len() as u64, (0, hits), None),
        };
        let (snapshot, selected) = (view.snapshot(), view.timeline.selected());
        let clock = *self.clock.insert(view.timeline.clock());
        let mut shown_rows = HitRows { things: self.name, total, page, selected, snapshot, clock, sorted: None };
        let mut look = view.context.table(self.name, absence.filter(|_| total == 0));
        // A saved order would scan the trace whenever the list is opened.
        let saved = look.saved.map(|saved| TableLayout { sorted_by: None, ..saved.clone() });
        look.saved = saved.as_ref();
        if let Some(column) = ORDERS.iter().position(|column| *column == order.column) {
            self.table.set_sorting(column, order.is_ascending);
        }
        let mut shown = self.table.show(ui, &columns_for(snapshot, clock), &mut shown_rows, &look);
        if let Some(hit) = shown.clicked.and_then(|row| hit_at(page, row)) {
            self.clicked = Some(hit.row);
            shown.commands.push(TimelineCommand::Reveal(hit.row).into());
        }
        let sorted = shown_rows.sorted.map(|(column, is_ascending)| ListOrder { column: ORDERS[column], is_ascending });
        self.chosen_order = sorted.filter(|sorted| *sorted != order).or(self.chosen_order);
        // A page starts some rows earlier, for scrolling up.
        let missing = shown.missing.map(|row| row.saturating_sub(PAGE_ROWS as u64 / 4));
        let outdated = self.is_outdated.then_some(self.page.0);
        if let (Some(first), Some(of)) = (missing.or(outdated), of)
            && self.ask_page(first)
        {
            shown.commands.push(Question::Page(of, first, PAGE_ROWS).into());
        }
        shown.commands
    }
}

/// Returns a hit, if it is in the page.
fn hit_at((first, hits): (u64, &[Hit]), number: u64) -> Option<Hit> {
    hits.get(usize::try_from(number.checked_sub(first)?).ok()?).copied()
}

/// The rows of a table, with one loaded page.
struct HitRows<'a> {
    /// The noun for the rows.
    things: &'static str,
    total: u64,
    page: (u64, &'a [Hit]),
    selected: Option<RowIdx>,
    snapshot: &'a Snapshot,
    clock: RulerClock,
    /// The column of a clicked header, and whether the order is ascending.
    sorted: Option<(usize, bool)>,
}

/// Returns the columns, with space for the start times of a trace.
fn columns_for(snapshot: &Snapshot, clock: RulerClock) -> [TableColumn; COLUMNS.len()] {
    /// Width of a digit, and the letters within [`START_POINTS`].
    const DIGIT_POINTS: f32 = 6.6;
    const LETTERS: usize = 17;
    let letters = [snapshot.start_ns(), snapshot.end_ns()].map(|ts_ns| clock.time_text(ts_ns).chars().count());
    let more = letters.into_iter().max().unwrap_or(0).saturating_sub(LETTERS);
    let width = START_POINTS + DIGIT_POINTS * more as f32;
    COLUMNS.map(|column| if column.title == "Start" { TableColumn { width, ..column } } else { column })
}

impl HitRows<'_> {
    fn name(&self, hit: &Hit) -> Cow<'_, str> {
        shown_name(self.snapshot.names().get(hit.name).text)
    }

    fn track(&self, hit: &Hit) -> String {
        distinct_title(self.snapshot, self.snapshot.lane(hit.row.lane).track)
    }

    fn process(&self, hit: &Hit) -> Option<&Process> {
        let process = self.snapshot.track(self.snapshot.lane(hit.row.lane).track).process;
        self.snapshot.tracks().processes.get(process.index())
    }

    fn process_title(&self, hit: &Hit) -> String {
        self.process(hit).map(process_title).unwrap_or_default()
    }

    /// Returns the duration of a span; `None` for rows of other kinds.
    fn dur_ns(&self, hit: &Hit) -> Option<u64> {
        (self.snapshot.lane(hit.row.lane).kind == LaneKind::Spans).then_some(hit.dur_ns)
    }

    fn start(&self, hit: &Hit) -> String {
        self.clock.time_text(hit.start_ns)
    }
}

impl HitRows<'_> {
    /// Returns the value of a cell alone, without its row.
    fn value_of(&self, hit: &Hit, column: usize) -> PanelValue {
        match column {
            0 => PanelValue::from_name(self.snapshot.names().get(hit.name).text, hit.name),
            1 => match self.dur_ns(hit) {
                Some(dur_ns) => PanelValue::new(dur_ns.to_string()).found_by(format!("dur={}", duration_word(dur_ns))),
                None => PanelValue::default(),
            },
            2 => PanelValue::new(self.start(hit).trim_end_matches(" s")),
            3 => {
                let track = self.track(hit);
                let name = &self.snapshot.track(self.snapshot.lane(hit.row.lane).track).name;
                let filter = (!name.is_empty()).then(|| format!("thread:{}", exactly(name)));
                PanelValue { filter, ..PanelValue::new(track) }
            }
            4 => {
                let filter = self.process(hit).filter(|process| !process.name.is_empty());
                let filter = filter.map(|process| format!("process:{}", exactly(&process.name)));
                PanelValue { filter, ..PanelValue::new(self.process_title(hit)) }
            }
            _ => PanelValue::default(),
        }
    }
}

impl Rows for HitRows<'_> {
    fn count(&self) -> u64 {
        self.total
    }

    fn is_loaded(&self, row: u64) -> bool {
        hit_at(self.page, row).is_some()
    }

    fn is_chosen(&self, row: u64) -> bool {
        self.selected.is_some_and(|selected| hit_at(self.page, row).is_some_and(|hit| hit.row == selected))
    }

    fn cell(&self, row: u64, column: usize) -> TableCell<'_> {
        let Some(hit) = hit_at(self.page, row) else { return TableCell::Empty };
        match column {
            0 => TableCell::Text(self.name(&hit)),
            1 => match self.dur_ns(&hit) {
                Some(dur_ns) => TableCell::Number(TableNumber::Duration(dur_ns.into())),
                None => TableCell::Empty,
            },
            2 => TableCell::Text(self.start(&hit).into()),
            3 => TableCell::Text(self.track(&hit).into()),
            4 => TableCell::Text(self.process_title(&hit).into()),
            _ => TableCell::Empty,
        }
    }

    fn sort(&mut self, column: usize, ascending: bool) {
        self.sorted = Some((column, ascending));
    }

    fn spoken(&self, row: u64) -> String {
        let Some(hit) = hit_at(self.page, row) else { return String::new() };
        let (name, track, start) = (self.name(&hit), self.track(&hit), self.start(&hit));
        let dur = self.dur_ns(&hit).map(|dur_ns| format!(", {}", duration_text(dur_ns))).unwrap_or_default();
        format!("{name}, {track}, at {start}{dur}")
    }

    fn value(&self, row: u64, column: usize) -> PanelValue {
        let Some(hit) = hit_at(self.page, row) else { return PanelValue::default() };
        let value = self.value_of(&hit, column);
        // Instants and samples have no sums of spans.
        if self.dur_ns(&hit).is_none() {
            return value;
        }
        let owner = match column {
            3 => Some(OwnerKey::Thread),
            4 => Some(OwnerKey::Process),
            _ => None,
        };
        let by = owner.map(|owner| GroupBy::Keys { name: None, track: Some(owner) });
        value.in_row_of(self.snapshot.names().get(hit.name).text, hit.name).grouped_by(by)
    }

    fn lit(&self, row: u64) -> Option<Lit> {
        hit_at(self.page, row).map(|hit| Lit::Row(hit.row))
    }

    fn summary(&self, first: u64, in_view: u64) -> String {
        match self.total {
            0 => format!("No {}", self.things),
            total => {
                let (things, last) = (capitalised(self.things), (first + in_view).min(total));
                format!("{things} {} to {last} of {total}", first + 1)
            }
        }
    }
}

fn capitalised(word: &str) -> String {
    let (first, rest) = word.split_at_checked(1).unwrap_or((word, ""));
    format!("{}{rest}", first.to_ascii_uppercase())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::NameIdx;
    use crate::store::lane::LaneIdx;

    #[test]
    fn a_page_that_cannot_be_loaded_is_queried_again_when_the_list_is_scrolled() {
        let mut list = HitList::new("spans");
        assert!(list.ask_page(0) && !list.ask_page(200), "one page at a time");
        list.fail_page();
        assert!(!list.ask_page(0), "each frame would query it");
        assert!(list.ask_page(200));
        list.set_page(200, Vec::new());
        assert!(list.ask_page(0));
    }

    #[test]
    fn start_times_of_any_length_fit_their_column() {
        for (ts_us, letters) in [(1, 13), (9_100_000_000_000_u64, 20)] {
            let json = format!(
                r#"[{{"ph":"X","name":"a","tid":1,"ts":0,"dur":1}},{{"ph":"X","name":"b","tid":1,"ts":{ts_us},"dur":0}}]"#
            );
            let snapshot = crate::scene::tests::snapshot(&json);
            let clock = RulerClock::from_start(&snapshot);
            assert_eq!(clock.time_text(snapshot.end_ns()).chars().count(), letters);
            let start = columns_for(&snapshot, clock).into_iter().find(|column| column.title == "Start");
            assert!(start.is_some_and(|start| start.width - 8.0 >= letters as f32 * 6.5), "{letters} letters");
        }
    }

    #[test]
    fn equal_thread_names_have_their_process_beside_them_which_is_a_filter() {
        let json = r#"[{"ph":"M","name":"process_name","pid":7,"args":{"name":"Renderer \"a\""}},
            {"ph":"X","name":"draw","pid":7,"tid":7,"ts":0,"dur":1},
            {"ph":"X","name":"draw","pid":8,"tid":8,"ts":0,"dur":1}]"#;
        let snapshot = crate::scene::tests::snapshot(json);
        let hit =
            |lane| Hit { start_ns: 0, row: RowIdx { lane: LaneIdx(lane), row: 0 }, dur_ns: 1000, name: NameIdx::EMPTY };
        let (hits, clock) = ([hit(0), hit(1)], RulerClock::from_start(&snapshot));
        let rows = HitRows {
            things: "spans",
            total: 2,
            page: (0, &hits),
            selected: None,
            snapshot: &snapshot,
            clock,
            sorted: None,
        };
        let column = COLUMNS.iter().position(|column| column.title == "Process").expect("the column");
        let shown = [0, 1].map(|row| match rows.cell(row, column) {
            TableCell::Text(text) => text.into_owned(),
            _ => String::new(),
        });
        assert_eq!(shown, [r#"Renderer "a" 7"#, "Process 8"]);
        let filters = [0, 1].map(|row| rows.value(row, column).filter);
        assert_eq!(filters, [Some(format!("process:{}", exactly(r#"Renderer "a""#))), None]);
    }
}
