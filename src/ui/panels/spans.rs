//! The spans of the scope as a list: longest first, in time order, or in the order of another column. In time order,
//! only the rows in view are queried, so a billion scroll like ten. The selected span is highlighted, and scrolled into
//! view when the selection changes.

use std::sync::Arc;

use egui::{RichText, Ui};

use super::answer_state::{Exactness, show_exactness};
use super::dock_panel::{DockPanel, PanelTools, PanelView};
use super::head::{StopTexts, close_button, error_label, show_query_state, show_title_in};
use super::hit_list::{HitList, ListContent, ListRows};
use super::hit_table::{HitExport, HitTableRows};
use super::no_spans::{SpanView, no_spans_in_trace};
use super::ordered_list::OrderedList;
use super::panel_query::PanelQuery;
use crate::base::csv::Cells;
use crate::base::time::grouped_digits;
use crate::export::values::TableSource;
use crate::query::Snapshot;
use crate::query::ordered_rows::{ListColumn, ListOrder};
use crate::query::search::{Hit, Hits};
use crate::store::lane::RowIdx;
use crate::store::live_lanes::LaneMoves;
use crate::ui::command::Command;
use crate::ui::command_line::PanelCommandLine;
use crate::ui::panel::Panel;
use crate::ui::questions::{HitsOf, OrderedQuestion, Question, QuestionKind};
use crate::ui::selected_scope::SelectedScope;

/// Width below which the head of the panel lacks its scope, in points.
const NARROW_POINTS: f32 = 720.0;

/// The order of the list, and its kinds of rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct SpanOrder {
    by: ListOrder,
    /// Whether to list the instants and samples between the spans.
    with_instants: bool,
}

impl SpanOrder {
    const LONGEST: Self = Self { by: ListOrder::LONGEST, with_instants: false };
    const TIME: Self = Self { by: ListOrder::TIME, with_instants: false };
    const EVENTS: Self = Self { by: ListOrder::TIME, with_instants: true };

    const ALL: [(Self, &'static str); 3] =
        [(Self::LONGEST, "Longest"), (Self::TIME, "By time"), (Self::EVENTS, "With instants")];

    fn is_by_time(self) -> bool {
        self.by == ListOrder::TIME
    }

    /// Returns the order after a click on a header. Instants have no duration.
    fn sorted_by(self, by: ListOrder) -> Self {
        Self { by, with_instants: self.with_instants && by.column != ListColumn::Duration }
    }
}

/// The list and its queries.
#[derive(Debug)]
pub(crate) struct SpansPanel {
    order: SpanOrder,
    query: PanelQuery<(SelectedScope, SpanOrder)>,
    /// The spans in time order; `None` until they are counted.
    hits: Option<Hits>,
    ordered: OrderedList,
    list: HitList,
    /// The selected span that the list was last scrolled to.
    followed: Option<RowIdx>,
    /// The message of a page that could not be loaded.
    page_error: Option<String>,
}

impl Default for SpansPanel {
    fn default() -> Self {
        Self {
            order: SpanOrder::LONGEST,
            query: PanelQuery::default(),
            hits: None,
            ordered: OrderedList::default(),
            list: HitList::new("spans"),
            followed: None,
            page_error: None,
        }
    }
}

impl SpansPanel {
    /// Returns the rows in time order, which are loaded in pages.
    #[must_use]
    pub(crate) fn hits(&self) -> Option<&Hits> {
        self.hits.as_ref()
    }

    /// Sets the rows in time order; the scroll position stays if the trace has grown.
    pub(crate) fn set_hits(&mut self, hits: Hits) {
        self.query.end();
        if self.hits.replace(hits).is_some() {
            self.list.renew();
        } else {
            self.list.restart();
            self.followed = None;
        }
    }

    pub(crate) fn set_page(&mut self, first: u64, hits: Vec<Hit>) {
        self.page_error = None;
        self.list.set_page(first, hits);
    }

    /// Sets the first rows; the scroll position stays if the list is extended or the trace has grown.
    pub(crate) fn set_ordered(&mut self, hits: Arc<Vec<Hit>>) {
        self.query.end();
        if self.ordered.hits().is_none() {
            self.list.restart();
            self.followed = None;
        }
        self.ordered.set_hits(hits);
    }

    /// Sets the index of the selected row, and scrolls to it.
    pub(crate) fn reveal_number(&mut self, row: RowIdx, number: Option<u64>) {
        if let Some(number) = number.filter(|_| self.followed == Some(row)) {
            self.list.reveal(number);
        }
    }

    /// Returns a panel without an answer that lists the same kind of rows in the same order.
    #[must_use]
    pub(crate) fn with_same_settings(&self) -> Self {
        Self { order: self.order, ..Self::default() }
    }

    /// Lists instants and samples as well, in time order.
    pub(crate) fn list_instants(&mut self) {
        self.order = SpanOrder::EVENTS;
    }

    fn is_answered(&self) -> bool {
        self.hits.is_some() || self.ordered.hits().is_some()
    }

    /// Queries the spans if the scope or the order has changed, or the trace has grown.
    fn ask(&mut self, scope: &SelectedScope) -> Option<Question> {
        if !self.query.begin(&(scope.clone(), self.order)) {
            return None;
        }
        if !self.query.keeps_answer() {
            (self.hits, self.ordered) = (None, OrderedList::default());
            self.list.forget();
        }
        self.page_error = None;
        if self.order.is_by_time() {
            return Some(Question::Spans { scope: scope.clone(), with_instants: self.order.with_instants });
        }
        Some(self.ordered_question(scope, self.ordered.query_len()))
    }

    fn ordered_question(&self, scope: &SelectedScope, count: usize) -> Question {
        let SpanOrder { by: order, with_instants } = self.order;
        let (of, scope, text) = (HitsOf::Spans, scope.clone(), String::new());
        Question::Ordered(Box::new(OrderedQuestion { of, scope, text, order, with_instants, count }))
    }

    /// Queries more of the first rows once the last one is in view.
    fn ask_more(&mut self, scope: &SelectedScope) -> Option<Question> {
        let count = self.ordered.grow(self.list.last_shown())?;
        Some(self.ordered_question(scope, count))
    }

    /// Scrolls to the selected span if it is in the list. A span that was clicked in the list is in view already.
    fn follow(&mut self, selected: Option<RowIdx>) -> Option<Question> {
        if selected == self.followed || !self.is_answered() {
            return None;
        }
        self.followed = selected;
        let row = selected?;
        if self.list.take_clicked() == Some(row) {
            return None;
        }
        if self.order.is_by_time() {
            return Some(Question::NumberOf(HitsOf::Spans, row));
        }
        self.list.reveal(self.ordered.position(row)?);
        None
    }

    fn show_head(&mut self, ui: &mut Ui, view: &PanelView<'_>) -> Vec<Command> {
        let theme = view.context.theme;
        let kind = if self.order.is_by_time() { QuestionKind::Spans } else { QuestionKind::OrderedSpans };
        let progress = self.query.progress((view.progress)(kind));
        let is_current = self.is_current(view.scope());
        let mut commands = Vec::new();
        ui.horizontal(|ui| {
            show_title_in(ui, "Spans", view, NARROW_POINTS, |spare| view.scope_title(spare));
            for (order, text) in SpanOrder::ALL {
                ui.selectable_value(&mut self.order, order, text);
            }
            let texts = StopTexts::COUNT;
            commands.extend(show_query_state(ui, Panel::Spans, &mut self.query, progress, texts, theme));
            ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
                commands.extend(close_button(ui, Panel::Spans));
                if let Some(error) = &self.page_error {
                    error_label(ui, error, theme);
                } else if progress.is_none() && is_current && self.query.stopped().is_none() {
                    show_exactness(ui, Exactness::Exact, view);
                }
                let text = self.count_text(progress.is_some());
                ui.add(egui::Label::new(RichText::new(text).color(theme.weak_text)).truncate());
            });
        });
        commands
    }

    /// Returns the number of rows as text; it is a lower bound while more are queried.
    fn count_text(&self, is_asking: bool) -> String {
        match &self.hits {
            Some(hits) => grouped_digits(hits.total()),
            None => self.ordered.count_text(self.order.by, is_asking),
        }
    }

    fn list_rows<'a>(&self, ordered: &'a [Hit]) -> ListRows<'a> {
        match &self.hits {
            Some(hits) => ListRows::Paged(hits.total(), HitsOf::Spans),
            None => ListRows::All(ordered),
        }
    }

    /// Returns the reason for an empty list.
    fn absence(&self, snapshot: &Snapshot, is_whole: bool) -> &'static str {
        let summary = snapshot.summary();
        match self.order.with_instants {
            false if summary.spans == 0 => no_spans_in_trace(summary, SpanView::List),
            true if is_whole => "The trace has no spans, instants or samples.",
            _ => "Nothing here: extend the scope in time, or choose other tracks.",
        }
    }
}

impl DockPanel for SpansPanel {
    fn show(&mut self, ui: &mut Ui, view: &PanelView<'_>) -> Vec<Command> {
        let summary = view.snapshot().summary();
        let has_events = summary.instants > 0 || summary.samples > 0;
        let is_log = summary.spans == 0 && has_events && !view.timeline.is_live();
        if self.query.last().is_none() && is_log {
            // For a log, this is the only list with rows. The spans of a live trace may follow.
            self.list_instants();
        }
        let mut commands = self.show_head(ui, view);
        let scope = view.scope();
        let questions = [self.ask(scope), self.ask_more(scope), self.follow(view.timeline.selected())];
        commands.extend(questions.into_iter().flatten().map(Command::from));
        let absence = match (self.is_answered(), self.query.stopped()) {
            (true, _) => Some(self.absence(view.snapshot(), scope.is_whole())),
            (false, None) => Some("The spans are being counted."),
            (false, Some(_)) => None,
        };
        let ordered = self.ordered.hits().cloned().unwrap_or_default();
        let (rows, order) = (self.list_rows(&ordered), self.order.by);
        commands.extend(self.list.show(ui, view, &ListContent { rows, order, absence }));
        if let Some(by) = self.list.take_order() {
            self.order = self.order.sorted_by(by);
        }
        commands
    }

    fn shows_details(&self) -> bool {
        self.list.shows_beside()
    }

    fn tools(&self) -> PanelTools {
        let has_rows = self.is_answered();
        PanelTools { copies: has_rows, exports: has_rows, has_command: self.command_line().is_some() }
    }

    fn is_current(&self, scope: &SelectedScope) -> bool {
        let is_asked = |(asked, order): &(SelectedScope, SpanOrder)| asked == scope && *order == self.order;
        self.is_answered() && self.query.last().is_some_and(is_asked)
    }

    fn copied(&self, snapshot: &Snapshot, cells: Cells) -> Option<String> {
        let ordered = self.ordered.hits().cloned().unwrap_or_default();
        Some(self.list.copied(self.list_rows(&ordered), snapshot, cells))
    }

    fn copied_part(&self) -> Option<(u64, u64)> {
        self.list.copied_part(self.list_rows(&[]))
    }

    fn to_export(&self, snapshot: &Snapshot) -> Option<Box<dyn TableSource>> {
        let rows = match &self.hits {
            Some(hits) => HitTableRows::Hits(hits.clone()),
            None => HitTableRows::List(self.ordered.hits().cloned()?),
        };
        Some(Box::new(HitExport::new(snapshot, rows, self.order.with_instants)))
    }

    fn command_line(&self) -> Option<PanelCommandLine> {
        let line = PanelCommandLine::new("spans");
        match self.order {
            SpanOrder::LONGEST => Some(PanelCommandLine { options: self.ordered.command_options(), ..line }),
            SpanOrder::TIME => Some(line),
            // The command lists only spans, in these two orders.
            _ => None,
        }
    }

    fn forget(&mut self) -> Option<Question> {
        *self = self.with_same_settings();
        None
    }

    fn renew(&mut self) -> Option<Question> {
        self.query.renew();
        None
    }

    fn move_rows(&mut self, moves: &LaneMoves) {
        self.list.move_rows(moves);
        self.followed = self.followed.and_then(|row| moves.row(row));
        self.ordered.move_rows(moves);
    }

    fn stop(&mut self) -> &'static [QuestionKind] {
        self.query.stop();
        self.ordered.fail();
        &[QuestionKind::Spans, QuestionKind::OrderedSpans]
    }

    fn fail(&mut self, kind: QuestionKind, message: &str) {
        match kind {
            QuestionKind::Spans => self.query.fail(message),
            QuestionKind::OrderedSpans => {
                self.query.fail(message);
                self.ordered.fail();
            }
            QuestionKind::SpanPage => {
                self.list.fail_page();
                self.page_error = Some(message.to_owned()).filter(|message| !message.is_empty());
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_that_cannot_be_loaded_has_an_error_until_another_one_is() {
        let mut panel = SpansPanel::default();
        panel.fail(QuestionKind::SpanPage, "no thread");
        assert_eq!(panel.page_error.as_deref(), Some("no thread"));
        panel.set_page(200, Vec::new());
        assert_eq!(panel.page_error, None);
    }

    #[test]
    fn a_reopened_list_has_the_order_of_the_pinned_one_but_not_its_answer() {
        for (order, _) in SpanOrder::ALL {
            let mut panel = SpansPanel { order, ..SpansPanel::default() };
            assert!(panel.ask(&SelectedScope::default()).is_some());
            let reopened = panel.with_same_settings();
            assert_eq!((reopened.order, reopened.query.last()), (order, None));
        }
    }
}
