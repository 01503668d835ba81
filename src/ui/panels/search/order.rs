//! The order of the list of hits, and the first hits in an order other than time.

use std::sync::Arc;

use egui::{RichText, Ui};

use super::SearchPanel;
use crate::base::progress::Progress;
use crate::query::ordered_rows::{ListColumn, ListOrder};
use crate::query::search::{Hit, Hits};
use crate::ui::command::Command;
use crate::ui::panel::Panel;
use crate::ui::panels::answer_state::show_counting;
use crate::ui::panels::head::stop_button;
use crate::ui::panels::hit_list::ListRows;
use crate::ui::panels::ordered_list::OrderedList;
use crate::ui::questions::{HitsOf, OrderedQuestion, Question};
use crate::ui::theme::Theme;

/// The orders with a button. A click on a header sorts by another column.
const ORDERS: [(ListOrder, &str); 2] = [(ListOrder::TIME, "By time"), (ListOrder::LONGEST, "Longest")];

impl SearchPanel {
    /// Shows the choice of the order, with the number of listed hits or the progress of the query for them.
    pub(super) fn show_order(&mut self, ui: &mut Ui, progress: Option<&Progress>, theme: &Theme) -> Option<Command> {
        let (before, mut command) = (self.order, None);
        ui.horizontal(|ui| {
            for (order, text) in ORDERS {
                ui.selectable_value(&mut self.order, order, text);
            }
            if self.order != ListOrder::TIME {
                let count = self.ordered.count_text(self.order, progress.is_some());
                let count = match self.order.column {
                    _ if self.ordered.hits().is_none() => "The first hits are searched.".to_owned(),
                    ListColumn::Duration => format!("{count} of the hits that are spans"),
                    _ => format!("{count} of the hits"),
                };
                ui.label(RichText::new(count).color(theme.weak_text));
                if let Some(progress) = progress.filter(|progress| progress.view().total > 0) {
                    show_counting(ui, progress, theme);
                    command = stop_button(ui, Panel::Search);
                }
            }
        });
        if self.order != before {
            self.restart();
        }
        command
    }

    /// Drops the rows in the order before.
    pub(super) fn restart(&mut self) {
        (self.ordered, self.has_asked_ordered) = (OrderedList::default(), false);
        self.list.restart();
    }

    /// Queries the first hits unless they are queried, and more of them once the last one is in view.
    pub(super) fn ask_ordered(&mut self) -> Option<Question> {
        if self.order == ListOrder::TIME || self.hits.is_none() {
            return None;
        }
        let count =
            if self.has_asked_ordered { self.ordered.grow(self.list.last_shown())? } else { self.ordered.query_len() };
        self.has_asked_ordered = true;
        let (text, scope, order) = (self.text.clone(), self.scope.clone(), self.order);
        let question = OrderedQuestion { of: HitsOf::Search, scope, text, order, with_instants: true, count };
        Some(Question::Ordered(Box::new(question)))
    }

    pub(super) fn list_rows<'a>(&self, ordered: &'a [Hit]) -> ListRows<'a> {
        match self.order {
            ListOrder::TIME => ListRows::Paged(self.hits.as_ref().map_or(0, Hits::total), HitsOf::Search),
            _ => ListRows::All(ordered),
        }
    }

    pub(super) fn ordered_hits(&self) -> Arc<Vec<Hit>> {
        self.ordered.hits().cloned().unwrap_or_default()
    }
}
