//! The tooltip of the span, the instant or the counter under the pointer.

use egui::{Pos2, RichText, Ui};

use super::layout::TimelineLayout;
use super::state::Timeline;
use crate::base::time::{duration_text, seconds_text};
use crate::query::counters::value_at;
use crate::scene::counters::exact_value_text;
use crate::scene::labels::{shown, shown_name};
use crate::store::lane::{LaneKind, RowIdx, Span};
use crate::ui::theme::Theme;
use crate::ui::widgets::reading_order::on_screen;

impl Timeline {
    /// Picks the row under the pointer, and shows its tooltip.
    pub(super) fn show_hover(&mut self, response: &egui::Response, layout: &TimelineLayout, theme: &Theme, ui: &Ui) {
        let at = response.hover_pos().filter(|_| !response.dragged());
        let hovered = at.and_then(|at| self.row_under(layout, at));
        if self.selection.hover(hovered) {
            ui.ctx().request_repaint();
        }
        let tip = hovered
            .map(|row| self.span_text(row, &self.snapshot.row(row)))
            .or_else(|| at.and_then(|at| self.counter_text(layout, at)))
            .or_else(|| at.and_then(|at| self.derived_text(layout, at)));
        if let Some([title, below]) = tip {
            response.clone().on_hover_ui_at_pointer(|ui| {
                ui.set_max_width(420.0);
                ui.label(RichText::new(title).strong());
                ui.label(RichText::new(below).color(theme.weak_text));
            });
        }
    }

    fn span_text(&self, row: RowIdx, span: &Span) -> [String; 2] {
        let name = self.snapshot.names().get(span.name);
        let title = on_screen(&shown_name(name.text)).into_owned();
        let dur = match self.snapshot.lane(row.lane).kind {
            LaneKind::Spans if span.unfinished => format!("{} or more, unfinished", duration_text(span.dur_ns)),
            LaneKind::Spans => duration_text(span.dur_ns),
            LaneKind::Samples => "sample".to_owned(),
            _ => "instant".to_owned(),
        };
        let start = seconds_text(span.start_ns.saturating_sub(self.snapshot.start_ns()));
        let category = name.category.filter(|category| !category.is_empty());
        let category = category.map(|category| format!("  ·  {}", shown(category))).unwrap_or_default();
        [title, format!("{dur}  ·  at {start} s{category}")]
    }

    fn counter_text(&self, layout: &TimelineLayout, at: Pos2) -> Option<[String; 2]> {
        let picked = self.picked(layout, at);
        let lane = picked.lane.filter(|lane| lane.kind == LaneKind::Counter)?;
        let held = value_at(&self.snapshot, lane.lane, picked.ts_ns)?;
        let track = self.snapshot.lane(lane.lane).track;
        let (name, _) = self.track_text(track);
        let since = seconds_text(held.since_ns.saturating_sub(self.snapshot.start_ns()));
        let change = held.before.map(|before| held.value - before).filter(|change| change.is_finite());
        let change = change.map(|change| {
            let sign = if change > 0.0 { "+" } else { "" };
            format!("  ·  changed by {sign}{}", exact_value_text(change))
        });
        let unit = shown(self.snapshot.tracks().unit(track));
        let unit = if unit.is_empty() { String::new() } else { format!(" {unit}") };
        let value = exact_value_text(held.value);
        Some([name, format!("{value}{unit}{}  ·  since {since} s", change.unwrap_or_default())])
    }
}
