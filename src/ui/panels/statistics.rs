//! The statistics of the scope: spans grouped by name or another key, in a sortable table with a filter. Beside it are
//! the durations, the distribution over time, and the longest spans of the selected group. The call tree is one more
//! grouping.

use std::sync::Arc;
use std::time::Instant;

use egui::{ComboBox, RichText, Role, ScrollArea, Ui, WidgetInfo};

use super::PanelContext;
use super::answer_state::{Exactness, show_exactness, show_stopped};
use super::dock_panel::{DockPanel, PanelTools, PanelView};
use super::group_columns::GroupColumn;
use super::group_facts;
use super::group_label::group_word;
use super::group_lines::GroupLines;
use super::group_rows::GroupRows;
use super::head::{StopTexts, close_button, show_order_state, show_query_state, show_title};
use super::no_spans::no_spans;
use super::panel_query::PanelQuery;
use super::sample_lines::SampleLines;
use super::span_calls::SpanCalls;
use super::table::{TABLE_ROW_POINTS, TableView};
use super::table_order::OrderedRows;
use crate::base::csv::Cells;
use crate::base::progress::Progress;
use crate::export::values::TableSource;
use crate::model::NameIdx;
use crate::query::Snapshot;
use crate::query::group_choice::GroupChoice;
use crate::query::groups::{GroupBy, NameKey, OwnerKey, SpanGroup};
use crate::query::sample_table::SampleTable;
use crate::scene::labels::shown;
use crate::store::live_lanes::LaneMoves;
use crate::ui::command::Command;
use crate::ui::command_line::PanelCommandLine;
use crate::ui::panel::Panel;
use crate::ui::questions::{GroupFacts, GroupQuantiles, PtrEq, Question, QuestionKind};
use crate::ui::selected_scope::SelectedScope;
use crate::ui::theme::Theme;
use crate::ui::timeline::state::Timeline;
use crate::ui::widgets::field;
use crate::ui::widgets::reading_order::on_screen;

/// Name of the table in the saved layouts.
const TABLE: &str = "statistics";

/// Height of the menu of keys in points, enough to show it without scrolling.
const MENU_POINTS: f32 = 400.0;

/// Width of the list of the longest spans beside the bars of their group.
const LONGEST_POINTS: f32 = 220.0;

/// Width in points below which the toolbar is reduced.
const NARROW_POINTS: f32 = 640.0;

/// The menu entry for the call tree.
const CALL_TREE: &str = "Call tree";

/// The keys in the menu; span arguments are too many for a menu.
const KEYS: [GroupBy; 8] = {
    const fn keys(name: Option<NameKey>, track: Option<OwnerKey>) -> GroupBy {
        GroupBy::Keys { name, track }
    }
    [
        keys(Some(NameKey::Name), None),
        keys(Some(NameKey::Category), None),
        keys(None, Some(OwnerKey::Thread)),
        keys(None, Some(OwnerKey::Process)),
        keys(Some(NameKey::Name), Some(OwnerKey::Thread)),
        keys(Some(NameKey::Name), Some(OwnerKey::Process)),
        keys(Some(NameKey::Category), Some(OwnerKey::Thread)),
        keys(Some(NameKey::Category), Some(OwnerKey::Process)),
    ]
};

/// The totals by some keys, and the facts about one group; or the call tree.
#[derive(Debug)]
pub(crate) struct StatisticsPanel {
    by: GroupBy,
    /// Whether the call tree is shown instead of the totals.
    shows_calls: bool,
    calls: SpanCalls,
    /// The scope and the keys of the totals, complete or partial.
    query: PanelQuery<(SelectedScope, GroupBy)>,
    /// The message of a failed order of the rows.
    order_error: Option<String>,
    /// The message of a failed query about the selected group; empty if it was cancelled.
    facts_error: Option<String>,
    rows: GroupRows,
    table: TableView,
    words: String,
    /// The group whose row is to be scrolled into view, and the generation of the rows that lack it.
    to_reveal: Option<(SpanGroup, Option<u64>)>,
    facts: Option<Arc<GroupFacts>>,
    /// The exact quantiles of a group, and the query for them, which follows the facts.
    quantiles: Option<Arc<GroupQuantiles>>,
    quantiles_to_ask: Option<Question>,
    /// When partial totals were requested, and when they are next.
    asked_at: Option<Instant>,
    rests_until: Option<Instant>,
}

impl Default for StatisticsPanel {
    fn default() -> Self {
        Self {
            by: GroupBy::default(),
            shows_calls: false,
            calls: SpanCalls::default(),
            query: PanelQuery::default(),
            order_error: None,
            facts_error: None,
            rows: GroupRows::default(),
            table: TableView::new(TABLE, TABLE_ROW_POINTS, Some(GroupColumn::TOTAL.index())),
            words: String::new(),
            to_reveal: None,
            facts: None,
            quantiles: None,
            quantiles_to_ask: None,
            asked_at: None,
            rests_until: None,
        }
    }
}

impl StatisticsPanel {
    /// Groups by name, selects one and scrolls to its row. Returns the query about it, if the scope is known.
    pub(crate) fn choose(&mut self, name: NameIdx) -> Option<Question> {
        self.group_by(GroupBy::default());
        let group = SpanGroup::from_name(name);
        (self.rows.chosen, self.facts, self.to_reveal) = (Some(group), None, Some((group, None)));
        self.facts_error = None;
        self.words.clear();
        self.rows.set_words("");
        let scope = self.query.last().map(|(scope, _)| scope.clone());
        scope.map(|scope| Question::Group(GroupChoice::from_name(name), scope))
    }

    /// Returns a panel without answers that groups by the same keys and has the same filter.
    #[must_use]
    pub(crate) fn with_same_settings(&self) -> Self {
        let (calls, shows_calls) = (self.calls.with_same_settings(), self.shows_calls);
        let mut next = Self { by: self.by.clone(), shows_calls, calls, words: self.words.clone(), ..Self::default() };
        next.rows.set_words(&next.words);
        next
    }

    /// Groups by keys; the next frame starts the query.
    pub(crate) fn group_by(&mut self, by: GroupBy) {
        self.shows_calls = false;
        if self.by != by {
            self.by = by;
            self.words.clear();
            self.rows.set_words("");
            self.rows.forget();
            self.facts = None;
        }
    }

    /// Sets the lines of complete totals, unless other keys are requested by now.
    pub(crate) fn set_complete_lines(&mut self, lines: Arc<GroupLines>) {
        self.query.end();
        self.set_lines(lines);
    }

    fn set_lines(&mut self, lines: Arc<GroupLines>) {
        // Spans without the argument of the groups are left out, but cover the others.
        let omits_spans = matches!(self.by, GroupBy::Argument(_))
            || self.query.last().is_some_and(|(scope, _)| !scope.filter.is_empty());
        if *lines.totals().by() == self.by {
            self.rows.set_lines(lines, omits_spans);
        }
    }

    fn is_asked(&self, scope: &SelectedScope) -> bool {
        self.query.last().is_some_and(|(asked_scope, by)| asked_scope == scope && *by == self.by)
    }

    /// Sets the lines of partial totals.
    pub(crate) fn set_partial_lines(&mut self, lines: Arc<GroupLines>) {
        /// The pause after partial totals, as a multiple of the time that they took, so that counting goes on.
        const PAUSE_FACTOR: u32 = 4;
        let now = Instant::now();
        let took = self.asked_at.take().map(|asked_at| now.duration_since(asked_at));
        self.rests_until = took.map(|took| now + took * PAUSE_FACTOR);
        self.set_lines(lines);
    }

    /// Shows lines that were ordered in the background.
    pub(crate) fn set_ordered(&mut self, ordered: Arc<OrderedRows<GroupLines>>) {
        self.rows.set_ordered(ordered);
    }

    /// Returns the queries for partial totals while spans are counted, and for the order of many lines.
    fn ask_lines(&mut self, view: &PanelView<'_>) -> Vec<Command> {
        let is_counting = (view.progress)(QuestionKind::Totals).is_some();
        let is_due = (view.progress)(QuestionKind::PartialTotals).is_none()
            && self.rests_until.is_none_or(|until| until <= Instant::now());
        let partial = (is_counting && is_due && !self.query.keeps_answer()).then_some(Question::PartialTotals);
        if partial.is_some() {
            self.asked_at = Some(Instant::now());
        }
        let order = self.rows.take_request().map(|(lines, sort)| Question::OrderGroups(PtrEq(lines), sort));
        partial.into_iter().chain(order).map(Command::from).collect()
    }

    /// Sets the facts about the selected group.
    pub(crate) fn set_facts(&mut self, facts: Arc<GroupFacts>) {
        let scope = self.query.last().map(|(scope, _)| scope.clone());
        self.quantiles_to_ask = scope.map(|scope| Question::Quantiles(facts.group.clone(), scope));
        (self.facts, self.quantiles) = (Some(facts), None);
    }

    /// Sets the exact quantiles of the selected group.
    pub(crate) fn set_quantiles(&mut self, quantiles: Arc<GroupQuantiles>) {
        self.quantiles = Some(quantiles);
    }

    pub(crate) fn set_calls(&mut self, answer: &Arc<SampleTable>, snapshot: &Snapshot) {
        self.calls.set_answer(answer, snapshot);
    }

    /// Shows calls that were ordered in the background.
    pub(crate) fn set_ordered_calls(&mut self, ordered: Arc<OrderedRows<SampleLines>>) {
        self.calls.set_ordered(ordered);
    }

    /// Selects a group whose row is in view.
    fn choose_shown(&mut self, group: SpanGroup) -> Option<Command> {
        (self.rows.chosen, self.facts, self.facts_error) = (Some(group), None, None);
        let (scope, _) = self.query.last()?;
        Some(Command::from(Question::Group(self.rows.choice(group)?, scope.clone())))
    }

    /// Queries the totals of a scope, and the facts about the selected group in it, unless they are answered.
    fn ask_all(&mut self, scope: &SelectedScope) -> Vec<Command> {
        if !self.query.begin(&(scope.clone(), self.by.clone())) {
            return Vec::new();
        }
        if !self.query.keeps_answer() {
            (self.facts, self.quantiles) = (None, None);
            self.rows.expire();
        }
        (self.order_error, self.facts_error) = (None, None);
        // Values have other indices in other totals.
        if matches!(self.by, GroupBy::Argument(_)) {
            self.rows.chosen = None;
        }
        let chosen = match self.rows.chosen {
            Some(group) if self.by == GroupBy::default() => Some(GroupChoice::from_name(group.name)),
            chosen => chosen.and_then(|group| self.rows.choice(group)),
        };
        let about = chosen.map(|group| Command::from(Question::Group(group, scope.clone())));
        [Command::from(Question::Totals(scope.clone(), self.by.clone()))].into_iter().chain(about).collect()
    }

    fn show_keys(&mut self, ui: &mut Ui) {
        let mut chosen = None;
        let title = match &self.by {
            _ if self.shows_calls => CALL_TREE.to_lowercase(),
            GroupBy::Argument(path) => format!("by argument {}", on_screen(&shown(path.dotted()))),
            keys @ GroupBy::Keys { .. } => format!("by {}", group_word(keys).title.to_lowercase()),
        };
        let menu = ComboBox::from_id_salt("keys").selected_text(&title).height(MENU_POINTS);
        let menu = menu.show_ui(ui, |ui| {
            for keys in &KEYS {
                let is_chosen = !self.shows_calls && self.by == *keys;
                if ui.selectable_label(is_chosen, group_word(keys).title).clicked() {
                    chosen = Some(keys.clone());
                    // Only a click with the pointer closes the list by itself.
                    ui.close();
                }
            }
            let hint = "Which spans run within which, with their number, total and self time";
            if ui.selectable_label(self.shows_calls, CALL_TREE).on_hover_text(hint).clicked() {
                self.shows_calls = true;
                ui.close();
            }
            ui.weak("by an argument: right-click its value in Details");
        });
        let mut info = WidgetInfo::labeled(Role::ComboBox, true, "Group by");
        info.current_text_value = Some(title);
        menu.response.widget_info(|| info.clone());
        menu.response.on_hover_text("Keys by which spans are grouped, or their call tree");
        if let Some(by) = chosen {
            self.group_by(by);
        }
    }

    /// Shows the title and the choice of keys. Returns whether the line is narrow.
    fn show_title(&mut self, ui: &mut Ui, view: &PanelView<'_>) -> bool {
        let of = view.scope_title(view.spare_points(ui, NARROW_POINTS));
        let is_narrow = ui.available_width() < view.narrow_points(NARROW_POINTS);
        show_title(ui, "Statistics", of, !is_narrow, view.context.theme);
        self.show_keys(ui);
        is_narrow
    }

    fn show_calls(&mut self, ui: &mut Ui, view: &PanelView<'_>) -> Vec<Command> {
        let mut commands: Vec<_> = self.calls.ask(view.scope()).into_iter().collect();
        ui.horizontal(|ui| {
            self.show_title(ui, view);
            self.calls.show_tools(ui, view, &mut commands);
        });
        commands.extend(self.calls.show_table(ui, view));
        commands
    }

    /// Shows the table and the selected group.
    fn show_all(&mut self, ui: &mut Ui, view: &PanelView<'_>) -> Vec<Command> {
        let (scope, context, theme) = (view.scope(), view.context, view.context.theme);
        let mut commands = self.ask_all(scope);
        let begun = Progress::default();
        let progress = self.query.progress((view.progress)(QuestionKind::Totals));
        // The query starts after this frame.
        let is_waiting = !self.rows.is_counted() && self.query.stopped().is_none() && self.order_error.is_none();
        let progress = progress.or_else(|| is_waiting.then_some(&begun));
        ui.horizontal(|ui| {
            let width = if self.show_title(ui, view) { 90.0 } else { 160.0 };
            let hint = if group_word(&self.by).singular() == "name" { "Filter names" } else { "Filter rows" };
            if field::add_table_filter(ui, &mut self.words, hint, width, theme.canvas) {
                self.rows.set_words(&self.words);
            }
            let texts = StopTexts { stopped: "stopped: not all spans are counted", repeat: "Count all" };
            commands.extend(show_query_state(ui, Panel::Statistics, &mut self.query, progress, texts, theme));
            if progress.is_none() && self.query.stopped().is_none() {
                show_order_state(ui, self.order_error.as_deref(), self.rows.is_in_order(), theme);
            }
            ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
                commands.extend(close_button(ui, Panel::Statistics));
                if progress.is_none() && self.rows.is_current() && self.query.stopped().is_none() {
                    show_exactness(ui, self.exactness(), view);
                }
            });
        });
        let rect = ui.available_rect_before_wrap();
        let has_facts = self.rows.chosen.is_some() && rect.width() > 700.0;
        let table = if has_facts { rect.with_max_x(rect.left() + rect.width() * 0.62) } else { rect };
        ui.scope_builder(egui::UiBuilder::new().max_rect(table), |ui| {
            let absence = self.absence(view, ui.ctx()).filter(|_| progress.is_none());
            commands.extend(self.show_table(ui, absence.as_deref(), context));
        });
        commands.extend(self.quantiles_to_ask.take().map(Command::from));
        // Runs after the table, which restores the saved sort order.
        commands.extend(self.ask_lines(view));
        if has_facts {
            let beside = rect.with_min_x(table.right() + 14.0);
            ui.scope_builder(egui::UiBuilder::new().max_rect(beside), |ui| {
                let is_counted = progress.is_none() && self.rows.is_current() && self.query.stopped().is_none();
                self.show_chosen(ui, view.timeline, is_counted, theme, &mut commands);
            });
        }
        commands
    }

    fn exactness(&self) -> Exactness {
        if self.rows.has_sketched() { Exactness::SketchedQuantiles } else { Exactness::Exact }
    }

    /// Returns the reason for an empty table, once all is counted.
    fn absence(&self, view: &PanelView<'_>, ctx: &egui::Context) -> Option<String> {
        self.rows.totals()?;
        if !self.rows.is_empty() {
            return None;
        }
        if !self.rows.has_no_line() {
            return Some(format!("No {} matches.", group_word(&self.by).singular()));
        }
        Some(no_spans(view, ctx, self.rows.has_instants()))
    }

    fn show_table(&mut self, ui: &mut Ui, absence: Option<&str>, context: PanelContext<'_>) -> Vec<Command> {
        if let Some((group, _)) = self.to_reveal.filter(|(_, missed)| *missed != Some(self.rows.generation())) {
            let row = self.rows.row_of(group);
            self.to_reveal = row.is_none().then(|| (group, Some(self.rows.generation())));
            if let Some(row) = row {
                self.table.reveal(row);
            }
        }
        self.table.set_chosen_row(self.rows.chosen_row());
        let columns = self.rows.columns();
        let mut shown = self.table.show(ui, &columns, &mut self.rows, &context.table(TABLE, absence));
        let chosen = shown.clicked.and_then(|row| self.rows.group(row));
        shown.commands.extend(chosen.and_then(|group| self.choose_shown(group)));
        shown.commands
    }

    fn show_chosen(
        &self,
        ui: &mut Ui,
        timeline: &Timeline,
        is_counted: bool,
        theme: &Theme,
        commands: &mut Vec<Command>,
    ) {
        let snapshot = timeline.snapshot();
        let Some((group, totals)) = self.rows.chosen.zip(self.rows.totals()) else { return };
        let choice = self.rows.choice(group);
        let filter = choice.as_ref().and_then(|choice| choice.filter(snapshot));
        let filter = filter.as_deref();
        group_facts::show_title(ui, &self.rows.title(group, snapshot), filter, commands);
        if is_counted && totals.get(group).is_none() {
            let word = group_word(&self.by).singular();
            let text = format!("The scope has no span of this {word}: widen it, or choose another {word}.");
            ui.label(RichText::new(text).color(theme.weak_text));
            return;
        }
        let facts = self.facts.as_ref().filter(|facts| choice.as_ref() == Some(&facts.group));
        let rect = ui.available_rect_before_wrap();
        let list = rect.with_min_x(rect.right() - LONGEST_POINTS.min(rect.width() * 0.5));
        let bars = rect.with_max_x(list.left() - 10.0);
        ui.scope_builder(egui::UiBuilder::new().max_rect(bars), |ui| {
            ScrollArea::vertical().id_salt("chosen").auto_shrink(false).show(ui, |ui| {
                if let Some(totals) = totals.get(group) {
                    let exact = self.quantiles.as_ref().filter(|exact| choice.as_ref() == Some(&exact.group));
                    group_facts::show_quantiles(ui, totals, exact.and_then(|exact| exact.quantiles.as_ref()), theme);
                    group_facts::show_durations(ui, totals.sketch(), filter, theme, commands);
                }
                match (facts, &self.facts_error) {
                    _ if choice.is_none() => {}
                    (Some(facts), _) => group_facts::show_over_time(ui, facts, timeline, theme, commands),
                    (None, Some(error)) => {
                        let error = Some(&**error).filter(|error| !error.is_empty());
                        show_stopped(ui, "stopped: click the row to count it", error, theme);
                    }
                    (None, None) => _ = ui.spinner(),
                }
            });
        });
        let Some(facts) = facts else { return };
        // Beside the bars, some of the longest spans stay visible even in a short dock.
        ui.scope_builder(egui::UiBuilder::new().max_rect(list), |ui| {
            ScrollArea::vertical().id_salt("longest").auto_shrink(false).show(ui, |ui| {
                group_facts::show_longest(ui, &facts.longest, timeline, theme, commands);
            });
        });
    }
}

impl DockPanel for StatisticsPanel {
    fn move_rows(&mut self, moves: &LaneMoves) {
        if let Some(facts) = &mut self.facts {
            *facts = Arc::new(facts.moved(moves));
        }
    }

    fn forget(&mut self) -> Option<Question> {
        (self.query, self.facts) = (PanelQuery::default(), None);
        (self.quantiles, self.quantiles_to_ask) = (None, None);
        (self.order_error, self.facts_error) = (None, None);
        self.rows.forget();
        self.calls.forget();
        None
    }

    fn renew(&mut self) -> Option<Question> {
        self.query.renew();
        self.calls.renew();
        None
    }

    fn stop(&mut self) -> &'static [QuestionKind] {
        if self.shows_calls {
            return self.calls.stop();
        }
        self.fail(QuestionKind::Totals, "");
        &[QuestionKind::Totals, QuestionKind::Quantiles]
    }

    fn fail(&mut self, kind: QuestionKind, message: &str) {
        match kind {
            QuestionKind::Totals => {
                self.rows.drop_expired();
                self.query.fail(message);
            }
            QuestionKind::OrderGroups if !message.is_empty() => self.order_error = Some(message.to_owned()),
            QuestionKind::Group => self.facts_error = Some(message.to_owned()),
            QuestionKind::SpanCalls | QuestionKind::OrderSpanCalls => self.calls.fail(kind, message),
            _ => {}
        }
    }

    fn show(&mut self, ui: &mut Ui, view: &PanelView<'_>) -> Vec<Command> {
        if self.shows_calls { self.show_calls(ui, view) } else { self.show_all(ui, view) }
    }

    fn tools(&self) -> PanelTools {
        PanelTools::ALL
    }

    fn is_current(&self, scope: &SelectedScope) -> bool {
        if self.shows_calls {
            return self.calls.is_current(scope);
        }
        self.is_asked(scope) && self.rows.is_current()
    }

    fn copied(&self, _snapshot: &Snapshot, cells: Cells) -> Option<String> {
        if self.shows_calls {
            return Some(self.calls.copied(cells));
        }
        Some(self.table.copied(&self.rows.columns(), &self.rows, cells))
    }

    fn to_export(&self, _snapshot: &Snapshot) -> Option<Box<dyn TableSource>> {
        if self.shows_calls {
            return self.calls.to_export();
        }
        Some(Box::new(self.rows.to_export()?))
    }

    fn command_line(&self) -> Option<PanelCommandLine> {
        if self.shows_calls {
            return Some(self.calls.command_line());
        }
        let mut line = PanelCommandLine::new("stats");
        let is_by_name = self.by == GroupBy::default();
        // The option searches names only. The command prints all groups if some are shown because of their categories.
        let names_have_words = is_by_name && self.rows.have_words_in_names();
        line.omits_words = !self.words.is_empty() && !names_have_words;
        if !is_by_name {
            line.options = vec!["--by".to_owned(), self.by.to_string()];
        } else if !self.words.is_empty() && !line.omits_words {
            line.options = vec!["--name".to_owned(), format!("(?i){}", regex::escape(&self.words))];
        }
        Some(line)
    }
}

#[cfg(test)]
mod tests;
