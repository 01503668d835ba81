//! Spans added up by name, of the selected time or of all: a table that sorts by any column and can be narrowed, and beside
//! it the spans of the chosen name: how long they take, when they are, and the longest.

use std::io::Write;
use std::sync::Arc;

use egui::{Align2, Color32, FontId, Pos2, Rect, RichText, ScrollArea, Sense, Shape, Stroke, Ui, vec2};

use crate::base::csv::Cells;
use crate::base::progress::Progress;
use crate::base::time::{duration_text, grouped_digits, seconds_text};
use crate::model::NameIdx;
use crate::query::Snapshot;
use crate::query::aggregate::{NameTotals, Totals};
use crate::query::filter::quoted;
use crate::scene::labels::{shorten_middle, shown};
use crate::ui::command::{AppCommand, Command, Panel, PanelCommand, TimelineCommand};
use crate::ui::command_table::key_of;
use crate::ui::purpose::Purpose;
use crate::ui::questions::{NameFacts, Question, TimeRange};
use crate::ui::theme::Theme;
use crate::ui::widgets::bars::Bars;
use crate::ui::widgets::field;
use crate::ui::widgets::reading_order::on_screen;

/// The height of a row, in points.
const ROW_POINTS: f32 = 19.0;

/// The room of the arrow at the column that lines are sorted by, in points.
const ARROW_POINTS: f32 = 11.0;

/// A column of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Column {
    Name,
    Count,
    #[default]
    Total,
    Own,
    Mean,
    Median,
    P99,
    Min,
    Max,
}

impl Column {
    const ALL: [Self; 9] =
        [Self::Name, Self::Count, Self::Total, Self::Own, Self::Mean, Self::Median, Self::P99, Self::Min, Self::Max];

    fn title(self) -> &'static str {
        match self {
            Self::Name => "Name",
            Self::Count => "Count",
            Self::Total => "Total",
            Self::Own => "Self",
            Self::Mean => "Mean",
            Self::Median => "p50",
            Self::P99 => "p99",
            Self::Min => "Min",
            Self::Max => "Max",
        }
    }
}

/// A row of the table: what is sorted by is worked out once.
#[derive(Debug, Clone)]
struct Line {
    name: NameIdx,
    text: String,
    category: String,
    /// By [`Column`], without the name: a count, and nanoseconds.
    numbers: [u128; 8],
}

/// The panel.
#[derive(Debug, Default)]
pub(crate) struct StatisticsPanel {
    is_open: bool,
    /// Of when the totals are or will be; `None`: nothing was asked.
    asked: Option<TimeRange>,
    totals: Option<Arc<Totals>>,
    /// Whether counting was stopped before all spans were counted.
    is_stopped: bool,
    /// A line for each name, as they are sorted.
    lines: Vec<Line>,
    /// Which of the lines have the words in their name: worked out when either changes, as there may be a million.
    shown: Vec<u32>,
    words: String,
    sorted_by: Column,
    ascending: bool,
    chosen: Option<NameIdx>,
    /// The name whose line is to be brought into view.
    to_reveal: Option<NameIdx>,
    facts: Option<Arc<NameFacts>>,
}

impl StatisticsPanel {
    /// Opens or closes it.
    pub(crate) fn toggle(&mut self) {
        self.is_open = !self.is_open;
    }

    /// Opens it.
    pub(crate) fn open(&mut self) {
        self.is_open = true;
    }

    /// Chooses a name and brings its line into view. Returns what is to be asked, if the time is known of which.
    pub(crate) fn choose(&mut self, name: NameIdx) -> Option<Question> {
        (self.chosen, self.facts, self.to_reveal) = (Some(name), None, Some(name));
        self.words.clear();
        self.filter();
        self.asked.map(|range| Question::Name(name, range))
    }

    /// Whether it is shown.
    #[must_use]
    pub(crate) fn is_open(&self) -> bool {
        self.is_open
    }

    /// Forgets what was added up.
    pub(crate) fn forget(&mut self) {
        let (is_open, words) = (self.is_open, std::mem::take(&mut self.words));
        *self = Self { is_open, words, sorted_by: self.sorted_by, ascending: self.ascending, ..Self::default() };
    }

    /// Takes note that no more will be counted.
    pub(crate) fn stopped(&mut self) {
        self.is_stopped = true;
    }

    /// Takes the totals, all of them or those so far.
    pub(crate) fn take_totals(&mut self, totals: Arc<Totals>, snapshot: &Snapshot) {
        self.lines = totals.by_name().into_iter().map(|(name, totals)| line(name, totals, snapshot)).collect();
        self.totals = Some(totals);
        self.sort();
    }

    /// Takes the facts about the chosen name.
    pub(crate) fn take_name(&mut self, facts: Arc<NameFacts>) {
        self.facts = Some(facts);
    }

    /// The same of a name whose line is in view.
    fn choose_shown(&mut self, name: NameIdx) -> Option<Command> {
        (self.chosen, self.facts) = (Some(name), None);
        self.asked.map(|range| Command::Panel(PanelCommand::Ask(Question::Name(name, range))))
    }

    /// Shows the table and the chosen name. `range` is the selected time.
    pub(crate) fn show(
        &mut self,
        ui: &mut Ui,
        snapshot: &Snapshot,
        range: TimeRange,
        progress: Option<&Progress>,
        theme: &Theme,
    ) -> Vec<Command> {
        let mut commands = Vec::new();
        if self.asked != Some(range) {
            (self.asked, self.facts, self.is_stopped) = (Some(range), None, false);
            commands.push(Command::Panel(PanelCommand::Ask(Question::Totals(range))));
            commands.extend(self.chosen.map(|name| Command::Panel(PanelCommand::Ask(Question::Name(name, range)))));
        }
        ui.horizontal(|ui| {
            let of = match range {
                Some((from_ns, to_ns)) => format!("of the selected {}", duration_text(to_ns.abs_diff(from_ns))),
                None => "of the whole capture".to_owned(),
            };
            let is_narrow = ui.available_width() < NARROW_POINTS;
            let title = ui.label(RichText::new("Statistics").strong());
            if is_narrow {
                title.on_hover_text(of);
            } else {
                ui.label(RichText::new(of).color(theme.weak_text));
            }
            let width = if is_narrow { 90.0 } else { 160.0 };
            let response = field::add(ui, &mut self.words, |field| {
                field.hint_text("Filter names").desired_width(width).background_color(theme.canvas)
            });
            response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::TextInput, true, "Filter names"));
            if response.changed() {
                self.filter();
            }
            self.show_progress(ui, progress, range, theme, &mut commands);
            ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
                if ui.button("Close").clicked() {
                    commands.push(Command::Panel(PanelCommand::Toggle(Panel::Statistics)));
                }
                if is_narrow {
                    ui.menu_button("CSV", |ui| show_csv(ui, &mut commands));
                } else {
                    show_csv(ui, &mut commands);
                }
            });
        });
        let place = ui.available_rect_before_wrap();
        let has_facts = self.chosen.is_some() && place.width() > 700.0;
        let table = if has_facts { place.with_max_x(place.left() + place.width() * 0.62) } else { place };
        ui.scope_builder(egui::UiBuilder::new().max_rect(table), |ui| {
            let absence = self.absence(snapshot, ui.ctx()).filter(|_| progress.is_none());
            self.show_table(ui, absence.as_deref(), theme, &mut commands);
        });
        if has_facts {
            let beside = place.with_min_x(table.right() + 14.0);
            ui.scope_builder(egui::UiBuilder::new().max_rect(beside), |ui| {
                self.show_chosen(ui, snapshot, theme, &mut commands);
            });
        }
        commands
    }

    /// Says that not all is counted yet, and lets that be stopped.
    fn show_progress(
        &mut self,
        ui: &mut Ui,
        progress: Option<&Progress>,
        range: TimeRange,
        theme: &Theme,
        commands: &mut Vec<Command>,
    ) {
        if let Some(progress) = progress {
            let part = progress.view().fraction().unwrap_or(0.0);
            ui.add(egui::ProgressBar::new(part).desired_width(100.0).desired_height(6.0));
            ui.label(RichText::new("so far").color(theme.warning)).on_hover_text("Not all spans are counted yet");
            if ui.button("Stop").clicked() {
                commands.push(Command::Panel(PanelCommand::StopCounting));
            }
        } else if self.is_stopped {
            ui.label(RichText::new("stopped: not all spans are counted").color(theme.warning));
            if ui.button("Count all").clicked() {
                self.is_stopped = false;
                commands.push(Command::Panel(PanelCommand::Ask(Question::Totals(range))));
            }
        }
    }

    /// Why there is no line, where all is counted.
    fn absence(&self, snapshot: &Snapshot, ctx: &egui::Context) -> Option<String> {
        self.totals.as_ref()?;
        if !self.shown.is_empty() {
            return None;
        }
        Some(match (self.lines.is_empty(), snapshot.summary().samples) {
            (false, _) => "No name has these words.".to_owned(),
            (true, 0) => "No spans here.".to_owned(),
            (true, _) => format!("No spans here. The flame graph ({}) adds up samples.", key_of(ctx, "Flame graph")),
        })
    }

    fn show_table(&mut self, ui: &mut Ui, absence: Option<&str>, theme: &Theme, commands: &mut Vec<Command>) {
        let width = (ui.available_width() - 14.0).max(TABLE_POINTS_MIN);
        let mut chosen = None;
        ScrollArea::horizontal().id_salt("columns").auto_shrink(false).show(ui, |ui| {
            self.show_heads(ui, width, theme);
            if let Some(absence) = absence {
                ui.label(RichText::new(absence).color(theme.weak_text));
            }
            chosen = self.show_lines(ui, width, theme);
        });
        if let Some(name) = chosen {
            commands.extend(self.choose_shown(name));
        }
    }

    /// The heads of the columns: a click sorts by one.
    fn show_heads(&mut self, ui: &mut Ui, width: f32, theme: &Theme) {
        let header = ui.allocate_exact_size(vec2(width, ROW_POINTS), Sense::click()).0;
        for (column, (left, right)) in Column::ALL.into_iter().zip(columns_of(width)) {
            let cell = Rect::from_x_y_ranges(header.left() + left..=header.left() + right, header.y_range());
            let response = ui.interact(cell, ui.scope_id().with(column.title()), Sense::click());
            response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Button, true, column.title()));
            let color = if response.hovered() { theme.text } else { theme.weak_text };
            let is_sorted = self.sorted_by == column;
            let text = cell.with_max_x(cell.right() - if is_sorted { ARROW_POINTS } else { 0.0 });
            let painted = paint_cell(ui, text, column, column.title(), color);
            if is_sorted {
                ui.painter().add(arrow(painted.right_center() + vec2(ARROW_POINTS * 0.7, 0.0), self.ascending, color));
            }
            if response.clicked() {
                // Names from the first, numbers from the largest.
                self.ascending = if self.sorted_by == column { !self.ascending } else { column == Column::Name };
                self.sorted_by = column;
                self.sort();
            }
        }
    }

    /// The lines in view. Returns the name that was chosen.
    fn show_lines(&mut self, ui: &mut Ui, width: f32, theme: &Theme) -> Option<NameIdx> {
        let columns = columns_of(width);
        let mut chosen = None;
        let mut area = ScrollArea::vertical().id_salt("totals").auto_shrink(false);
        if let Some(line) = self.line_to_reveal() {
            self.to_reveal = None;
            let above = (ui.available_height() - ROW_POINTS) / 2.0;
            area = area.vertical_scroll_offset((line as f32 * ROW_POINTS - above).max(0.0));
        }
        area.show_rows(ui, ROW_POINTS, self.shown.len(), |ui, rows| {
            ui.spacing_mut().item_spacing.y = 0.0;
            for line in self.shown.get(rows).unwrap_or_default().iter().map(|&line| &self.lines[line as usize]) {
                let (row, response) = ui.allocate_exact_size(vec2(width, ROW_POINTS), Sense::click());
                if self.chosen == Some(line.name) || response.hovered() {
                    let color = if self.chosen == Some(line.name) { theme.raised } else { theme.header };
                    ui.painter().rect_filled(row, 2.0, color);
                }
                for (column, (left, right)) in Column::ALL.into_iter().zip(columns) {
                    let cell = Rect::from_x_y_ranges(row.left() + left..=row.left() + right, row.y_range());
                    paint_cell(ui, cell, column, &line.text_of(column), theme.text);
                }
                response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::ListItem, true, shown(&line.text)));
                if response.clicked() {
                    chosen = Some(line.name);
                }
                response.on_hover_text(line.tip());
            }
        });
        chosen
    }

    /// Which line is to be brought into view, if it is there.
    fn line_to_reveal(&self) -> Option<usize> {
        let name = self.to_reveal?;
        self.shown.iter().position(|&line| self.lines[line as usize].name == name)
    }

    fn show_chosen(&self, ui: &mut Ui, snapshot: &Snapshot, theme: &Theme, commands: &mut Vec<Command>) {
        let Some(name) = self.chosen else { return };
        let text = snapshot.names().get(name).text;
        ui.horizontal(|ui| {
            ui.add(egui::Label::new(RichText::new(on_screen(&shown(text))).strong()).truncate());
            if ui.small_button("Search").clicked() {
                commands.push(Command::Panel(PanelCommand::SearchFor(quoted(text))));
            }
        });
        ScrollArea::vertical().id_salt("chosen").auto_shrink(false).show(ui, |ui| {
            if let Some(totals) = self.totals.as_ref().and_then(|totals| totals.get(name)) {
                // Four bars an octave tell a factor of 1.2 apart.
                let bars = totals.sketch().bars(2);
                let counts: Vec<u64> = bars.iter().map(|bar| bar.count).collect();
                let title = |bar: usize| {
                    let bar = bars[bar];
                    let (least, most) = (duration_text(bar.least_ns), duration_text(bar.most_ns));
                    format!("{} of {least} to {most}", grouped_digits(bar.count))
                };
                let end = |bar: Option<u64>| bar.map(duration_text).unwrap_or_default();
                let (first, last) = (bars.first().map(|bar| bar.least_ns), bars.last().map(|bar| bar.most_ns));
                let shown = Bars { title: "Durations", counts: &counts, ends: (end(first), end(last)) };
                if let Some(bar) = shown.show(ui, theme, title).and_then(|bar| bars.get(bar)) {
                    let filter = format!("dur>={}ns dur<={}ns {}", bar.least_ns, bar.most_ns, quoted(text));
                    commands.push(Command::Panel(PanelCommand::SearchFor(filter)));
                }
            }
            let Some(facts) = self.facts.as_ref().filter(|facts| facts.name == name) else {
                ui.spinner();
                return;
            };
            let (from_ns, to_ns) = facts.range;
            let time_of = |part: usize| {
                let width = i128::from(to_ns) - i128::from(from_ns);
                let ts_ns = i128::from(from_ns) + width * part as i128 / facts.over_time.len().max(1) as i128;
                i64::try_from(ts_ns).unwrap_or(to_ns)
            };
            let title = |part: usize| {
                let at = seconds_text(time_of(part).saturating_sub(snapshot.start_ns()));
                format!("{} from {at} s on", grouped_digits(facts.over_time[part]))
            };
            let end = |ts_ns: i64| format!("{} s", seconds_text(ts_ns.saturating_sub(snapshot.start_ns())));
            let ends = (end(from_ns), end(to_ns));
            let shown = Bars { title: "Over time", counts: &facts.over_time, ends };
            if let Some(part) = shown.show(ui, theme, title) {
                commands.push(Command::Timeline(TimelineCommand::ShowSlice(time_of(part), time_of(part + 1))));
            }
            ui.label(RichText::new("Longest").small().color(theme.weak_text));
            for hit in &facts.longest {
                let at = seconds_text(hit.start_ns.saturating_sub(snapshot.start_ns()));
                if ui.link(format!("{}  at {at} s", duration_text(hit.dur_ns))).clicked() {
                    commands.push(Command::Timeline(TimelineCommand::Reveal(hit.row)));
                }
            }
        });
    }

    fn sort(&mut self) {
        let (column, ascending) = (self.sorted_by, self.ascending);
        self.lines.sort_by(|a, b| {
            let order = match column {
                Column::Name => a.text.cmp(&b.text),
                number => a.numbers[number as usize - 1].cmp(&b.numbers[number as usize - 1]),
            };
            let order = if ascending { order } else { order.reverse() };
            order.then(a.name.cmp(&b.name))
        });
        self.filter();
    }

    fn filter(&mut self) {
        let words = self.words.to_lowercase();
        let numbered = (0..).zip(&self.lines);
        let matching = numbered.filter(|(_, line)| line.text.to_lowercase().contains(&words));
        self.shown = matching.map(|(number, _)| number).collect();
    }

    /// The lines that are shown, as comma-separated text in nanoseconds.
    #[must_use]
    pub(crate) fn csv(&self, cells: Cells) -> String {
        let mut csv = b"name,category,count,total,self,mean,p50,p99,min,max\n".to_vec();
        for line in self.shown.iter().map(|&line| &self.lines[line as usize]) {
            // memory takes everything
            cells.write(&mut csv, &line.text).ok();
            csv.push(b',');
            cells.write(&mut csv, &line.category).ok();
            for number in line.numbers {
                write!(csv, ",{number}").ok();
            }
            csv.push(b'\n');
        }
        String::from_utf8_lossy(&csv).into_owned()
    }
}

impl Line {
    /// The whole name, which the table may have cut, and its category.
    fn tip(&self) -> String {
        match self.category.as_str() {
            "" => on_screen(&shown(&self.text)).into_owned(),
            category => format!("{}\n{}", on_screen(&shown(&self.text)), on_screen(&shown(category))),
        }
    }

    fn text_of(&self, column: Column) -> String {
        match column {
            Column::Name => shown(&self.text).into_owned(),
            Column::Count => grouped_digits(u64::try_from(self.numbers[0]).unwrap_or(u64::MAX)),
            time => duration_text(u64::try_from(self.numbers[time as usize - 1]).unwrap_or(u64::MAX)),
        }
    }
}

fn line(name: NameIdx, totals: &NameTotals, snapshot: &Snapshot) -> Line {
    let row = snapshot.names().get(name);
    let times = [totals.mean_ns(), totals.quantile_ns(0.5), totals.quantile_ns(0.99), totals.min_ns, totals.max_ns];
    let [mean, median, p99, min, max] = times.map(u128::from);
    Line {
        name,
        text: row.text.to_owned(),
        category: row.category.unwrap_or_default().to_owned(),
        numbers: [totals.count.into(), totals.total_ns, totals.self_ns, mean, median, p99, min, max],
    }
}

/// The width of a column of numbers: no number may lose its first digits.
const NUMBER_POINTS: f32 = 76.0;

/// Below this the table scrolls: names of some twenty letters, and all numbers.
const TABLE_POINTS_MIN: f32 = 140.0 + NUMBER_POINTS * (Column::ALL.len() - 1) as f32;

/// Below this width the line above the table says and offers less.
const NARROW_POINTS: f32 = 640.0;

/// What can be done with the table.
fn show_csv(ui: &mut Ui, commands: &mut Vec<Command>) {
    if ui.button("Copy as CSV").clicked() {
        commands.push(Command::App(AppCommand::CopyTable));
    }
    if ui.button("Save as CSV...").clicked() {
        commands.push(Command::App(AppCommand::Choose(Purpose::Table)));
    }
}

/// The left and right end of each column.
fn columns_of(width: f32) -> [(f32, f32); Column::ALL.len()] {
    let numbers = NUMBER_POINTS * (Column::ALL.len() - 1) as f32;
    std::array::from_fn(|column| {
        let right = width - numbers + NUMBER_POINTS * column as f32;
        (if column == 0 { 0.0 } else { right - NUMBER_POINTS }, right)
    })
}

/// Points up where the smallest stands first, down where the largest does.
fn arrow(middle: Pos2, points_up: bool, color: Color32) -> Shape {
    let tip = if points_up { -2.5 } else { 2.5 };
    let corners = [(-4.0, -tip), (4.0, -tip), (0.0, tip)].map(|(x, y)| middle + vec2(x, y));
    Shape::convex_polygon(corners.to_vec(), color, Stroke::NONE)
}

/// Returns where the text stands. Names are shortened in their middle: many differ only at their end.
fn paint_cell(ui: &Ui, cell: Rect, column: Column, text: &str, color: Color32) -> Rect {
    let inside = cell.shrink2(vec2(4.0, 0.0));
    let font = FontId::proportional(12.0);
    let text = match column {
        Column::Name => ui.fonts_mut(|fonts| {
            shorten_middle(text, inside.width(), |letter| fonts.glyph_width(&font, letter)).unwrap_or_default()
        }),
        _ => text.into(),
    };
    let painter = ui.painter().with_clip_rect(inside.intersect(ui.clip_rect()));
    let (at, align) = match column {
        Column::Name => (inside.left_center(), Align2::LEFT_CENTER),
        _ => (inside.right_center(), Align2::RIGHT_CENTER),
    };
    painter.text(at, align, on_screen(&text), font, color)
}
