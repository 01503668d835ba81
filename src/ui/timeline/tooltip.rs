//! The tooltip of the span, the instant or the counter under the pointer.

use egui::{Color32, RichText, Sense, Ui, Vec2};

use super::layout::TimelineLayout;
use super::sampling::sampling_text;
use super::state::Timeline;
use crate::base::time::grouped_digits;
use crate::query::counters::drawn_until_ns;
use crate::query::pick::rows_starting;
use crate::scene::labels::{shown, shown_name};
use crate::store::lane::{LaneKind, RowIdx, Span};
use crate::ui::chrome::floating_window::has_opened_over_pointer;
use crate::ui::theme::Theme;
use crate::ui::widgets::tip_text::tip_text;

/// Width and height of the colour swatch before the value of a counter.
const SWATCH_POINTS: f32 = 8.0;

/// The content of a tooltip.
pub(super) struct Tip {
    pub(super) title: String,
    pub(super) lines: Vec<TipLine>,
}

/// A line of a tooltip, with the colour of the curve that it is about.
pub(super) struct TipLine {
    pub(super) color: Option<Color32>,
    pub(super) text: String,
}

impl From<String> for TipLine {
    fn from(text: String) -> Self {
        Self { color: None, text }
    }
}

impl Tip {
    fn with_line(mut self, line: Option<String>) -> Self {
        self.lines.extend(line.map(TipLine::from));
        self
    }
}

impl From<[String; 2]> for Tip {
    fn from([title, below]: [String; 2]) -> Self {
        Self { title, lines: vec![below.into()] }
    }
}

impl Timeline {
    /// Picks the row under the pointer, and shows its tooltip.
    pub(super) fn show_hover(&mut self, response: &egui::Response, layout: &TimelineLayout, theme: &Theme, ui: &Ui) {
        let at = response.hover_pos().filter(|_| !response.dragged());
        let hovered = at.and_then(|at| self.row_under(layout, at));
        if self.selection.hover(hovered) {
            ui.ctx().request_repaint();
        }
        let tip = hovered
            .map(|row| Tip::from(self.span_text(row, &self.snapshot.row(row))))
            .map(|tip| tip.with_line(hovered.and_then(|row| sampling_text(&self.snapshot, row))))
            .map(|tip| tip.with_line(hovered.and_then(|row| self.neighbours_text(row))))
            .or_else(|| at.and_then(|at| self.counter_tip(layout, at)))
            .or_else(|| at.and_then(|at| self.derived_text(layout, at)).map(Tip::from));
        // It would cover a window that a key has opened.
        if let Some(Tip { title, lines }) = tip.filter(|_| !has_opened_over_pointer(ui.ctx())) {
            response.clone().on_hover_ui_at_pointer(|ui| {
                ui.set_max_width(420.0);
                ui.label(RichText::new(title).strong());
                for TipLine { color, text } in lines {
                    let text = RichText::new(text).color(theme.weak_text);
                    let Some(color) = color else {
                        ui.label(text);
                        continue;
                    };
                    ui.horizontal(|ui| {
                        let (swatch, _) = ui.allocate_exact_size(Vec2::splat(SWATCH_POINTS), Sense::hover());
                        ui.painter().rect_filled(swatch, 2.0, color);
                        ui.label(text);
                    });
                }
            });
        }
    }

    /// Returns how many rows start within a pixel of the hovered row, if a pixel is wider than the row. Takes two
    /// searches, however many rows there are.
    fn neighbours_text(&self, row: RowIdx) -> Option<String> {
        let ns_per_px = self.view.now().ns_per_px();
        let span = self.snapshot.row(row);
        if span.dur_ns as f64 >= ns_per_px {
            return None;
        }
        let half_ns = (ns_per_px / 2.0).ceil() as u64;
        // The row may be some pixels beside the pointer.
        let ts_ns = span.start_ns;
        let (from_ns, to_ns) = (ts_ns.saturating_sub_unsigned(half_ns), ts_ns.saturating_add_unsigned(half_ns));
        let count = rows_starting(&self.snapshot, row.lane, from_ns, to_ns);
        let kind = match self.snapshot.lane(row.lane).kind {
            LaneKind::Spans if self.is_bar_of_samples(row) => "bars",
            LaneKind::Spans => "spans",
            LaneKind::Samples => "samples",
            LaneKind::Instants | LaneKind::Counter | LaneKind::Flows => "instants",
        };
        (count > 1).then(|| format!("One of {} {kind} in this pixel: zoom in to see each", grouped_digits(count)))
    }

    fn is_bar_of_samples(&self, row: RowIdx) -> bool {
        self.snapshot.track(self.snapshot.lane(row.lane).track).key.kind.is_derived()
    }

    fn span_text(&self, row: RowIdx, span: &Span) -> [String; 2] {
        let name = self.snapshot.names().get(span.name);
        let title = tip_text(&shown_name(name.text));
        let lane = self.snapshot.lane(row.lane);
        let unit = self.snapshot.drawn_unit(lane.track);
        let dur = match lane.kind {
            LaneKind::Spans if span.unfinished => {
                // It has no end, and is drawn until the trace ends.
                let drawn_ns = drawn_until_ns(&self.snapshot, row).abs_diff(span.start_ns).max(span.dur_ns);
                format!("{} or more, unfinished", unit.text(drawn_ns))
            }
            LaneKind::Spans => unit.text(span.dur_ns),
            LaneKind::Samples => "sample".to_owned(),
            _ => "instant".to_owned(),
        };
        let start = if unit.is_time() { format!("  ·  at {}", self.time_text(span.start_ns)) } else { String::new() };
        let failed = if name.is_failed { "  ·  failed" } else { "" };
        let category = name.category.filter(|category| !category.is_empty());
        let category = category.map(|category| format!("  ·  {}", shown(category))).unwrap_or_default();
        [title, format!("{dur}{failed}{start}{category}")]
    }
}
