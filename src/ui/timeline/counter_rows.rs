//! Counters on the timeline: the texts of their ranges and values, and rows that several counters share.

use egui::{Align2, Color32, FontId, Rect, Ui, pos2, vec2};

use super::layout::TimelineLayout;
use super::state::Timeline;
use super::tooltip::{Tip, TipLine};
use crate::model::{TrackIdx, TrackKind};
use crate::query::counters::{HeldValue, held_value, sample_at, value_at};
use crate::scene::arrange::OVERLAYS_MAX;
use crate::scene::counter_form::CounterForm;
use crate::scene::counter_overlay::{
    CounterChoice, CounterOverlay, OVERLAID_MAX, OverlaidRow, counter_lane, have_one_unit, overlaid_row,
};
use crate::scene::counters::{change_text, computed_value_text, exact_value_text, range_ends, with_unit};
use crate::scene::labels::{shorten_middle, shown};
use crate::scene::rows::{GroupKind, LEGEND_POINTS};
use crate::store::lane::{LaneIdx, LaneKind, RowIdx};
use crate::ui::command::RowCommand;
use crate::ui::theme::Theme;
use crate::ui::widgets::letters::letter_width;
use crate::ui::widgets::reading_order::on_screen;

/// Why counters do not share a row.
const FEW: &str = "A row has two to eight counters";
const FEW_IN_SCOPE: &str = "Select two to eight counters first (of one unit to stack them): Ctrl + click their names";
const OF_ONE_UNIT: &str = "A stack has two to eight counters of one unit";
const NONE_SHARED: &str = "Each has a row of its own already";

/// A menu entry that changes rows, and why it is disabled.
#[derive(Debug, Clone)]
pub(super) struct RowChoice {
    pub(super) text: &'static str,
    pub(super) command: RowCommand,
    /// Why it is disabled; `None` if it is enabled.
    pub(super) disabled_reason: Option<&'static str>,
}

impl RowChoice {
    /// Disables the entry for a reason, unless it is possible.
    pub(super) fn enabled_if(self, is_enabled: bool, reason: &'static str) -> Self {
        Self { disabled_reason: (!is_enabled).then_some(reason), ..self }
    }

    pub(super) fn new(text: &'static str, command: RowCommand) -> Self {
        Self { text, command, disabled_reason: None }
    }
}

impl Timeline {
    /// Returns the rows that several counters share.
    pub(super) fn overlaid_rows(&self) -> Vec<OverlaidRow> {
        let arrangement = self.tracks.arrangement();
        let rows = arrangement.overlays.iter();
        rows.filter_map(|overlay| overlaid_row(&self.snapshot, overlay, &arrangement.counters)).collect()
    }

    /// Returns the row of several counters whose first counter is `track`.
    pub(super) fn row_led_by(&self, track: TrackIdx) -> Option<OverlaidRow> {
        let arrangement = self.tracks.arrangement();
        let overlay = arrangement.overlay_of(track).filter(|overlay| overlay.lead() == track)?;
        overlaid_row(&self.snapshot, overlay, &arrangement.counters)
    }

    /// Returns the possible commands for the counters of the scope; none if the scope has all tracks.
    pub(crate) fn counter_choice(&self) -> CounterChoice {
        self.choice_of(self.selection.counters())
    }

    fn choice_of(&self, counters: &[TrackIdx]) -> CounterChoice {
        let can_overlay = (2..=OVERLAID_MAX).contains(&counters.len());
        let is_shared = |&track: &TrackIdx| self.tracks.arrangement().overlay_of(track).is_some();
        CounterChoice {
            can_overlay,
            can_stack: can_overlay && have_one_unit(&self.snapshot, counters),
            can_separate: counters.iter().any(is_shared),
            has_counter: !counters.is_empty(),
        }
    }

    /// Returns the counters of a shared row, of a group, or of the scope: at most one more than a row can have.
    pub(super) fn counters_of(&self, of: Option<GroupKind>) -> Vec<TrackIdx> {
        match of {
            None => self.selection.counters().to_vec(),
            Some(GroupKind::Custom(_) | GroupKind::Process(_)) => Vec::new(),
            Some(GroupKind::Tracks(group)) => {
                let counters = self.snapshot.group(group).filter(|group| group.kind == Some(TrackKind::Counter));
                let is_small = counters.is_some_and(|group| group.tracks as usize <= OVERLAID_MAX);
                let arrangement = self.tracks.arrangement();
                let with_shared = |track| match arrangement.overlay_of(track) {
                    Some(overlay) => overlay.counters().collect(),
                    None => vec![track],
                };
                let tracks = if is_small { self.rows.layout.tracks_of(GroupKind::Tracks(group)) } else { Vec::new() };
                tracks.into_iter().flat_map(with_shared).collect()
            }
            Some(GroupKind::Track(track)) => {
                let overlay = self.tracks.arrangement().overlay_of(track);
                overlay.map_or_else(|| vec![track], |overlay| overlay.counters().collect())
            }
        }
    }

    /// Returns the menu entries for the counters of a header: their form, and whether they share a row.
    pub(super) fn counter_choices(&self, kind: GroupKind) -> Vec<RowChoice> {
        let counters = self.counters_of(Some(kind));
        let of = Some(kind);
        let overlay = |is_stacked| RowCommand::OverlayCounters { of, is_stacked };
        match kind {
            GroupKind::Tracks(group) => {
                let group = self.snapshot.group(group).filter(|group| group.kind == Some(TrackKind::Counter));
                if group.is_none() {
                    return Vec::new();
                }
                let can = self.choice_of(&counters);
                vec![
                    RowChoice::new("Overlay its counters", overlay(false)).enabled_if(can.can_overlay, FEW),
                    RowChoice::new("Stack its counters", overlay(true)).enabled_if(can.can_stack, OF_ONE_UNIT),
                    RowChoice::new("Separate its counters", RowCommand::SeparateCounters(of))
                        .enabled_if(can.can_separate, NONE_SHARED),
                ]
            }
            GroupKind::Track(track) if self.snapshot.track(track).key.kind == TrackKind::Counter => {
                let current = self.tracks.counter_form(track);
                let forms = CounterForm::ALL.into_iter().filter(|form| *form != current).map(|form| {
                    let text = match form {
                        CounterForm::Value => "Show its values",
                        CounterForm::Fitted => "Fit the scale to its values",
                        CounterForm::Change => "Show its changes",
                        CounterForm::Rate => "Show its rate per second",
                    };
                    RowChoice::new(text, RowCommand::ShowCounterAs(track, form))
                });
                let mut choices: Vec<_> = forms.collect();
                if let Some(row) = self.row_led_by(track) {
                    let can_stack = self.choice_of(&counters).can_stack;
                    choices.push(if row.is_stacked {
                        RowChoice::new("Overlay instead of stacking", overlay(false))
                    } else {
                        RowChoice::new("Stack the counters", overlay(true)).enabled_if(can_stack, OF_ONE_UNIT)
                    });
                    choices.push(RowChoice::new("Separate the counters", RowCommand::SeparateCounters(of)));
                } else {
                    let can = self.counter_choice();
                    let of_scope = |is_stacked| RowCommand::OverlayCounters { of: None, is_stacked };
                    let overlaid = RowChoice::new("Overlay the counters of the scope", of_scope(false));
                    choices.push(overlaid.enabled_if(can.can_overlay, FEW_IN_SCOPE));
                    let stacked = RowChoice::new("Stack the counters of the scope", of_scope(true));
                    choices.push(stacked.enabled_if(can.can_stack, FEW_IN_SCOPE));
                }
                choices
            }
            GroupKind::Custom(_) | GroupKind::Process(_) | GroupKind::Track(_) => Vec::new(),
        }
    }

    /// Draws counters in one row. Returns false if they cannot share a row, or if there are too many shared rows.
    pub(super) fn overlay_counters(&mut self, of: Option<GroupKind>, is_stacked: bool) -> bool {
        let counters = self.counters_of(of);
        let is_stacked = is_stacked && have_one_unit(&self.snapshot, &counters);
        let Some(overlay) = CounterOverlay::new(&counters, is_stacked) else { return false };
        let is_overlaid = self.tracks.arrangement_mut().overlay(overlay);
        if !is_overlaid {
            let most = OVERLAYS_MAX;
            self.note = Some(format!("At most {most} rows of several counters: separate one to add another.").into());
        }
        is_overlaid
    }

    /// Returns the name of a shared row and the range of each unit; `None` for other tracks.
    pub(super) fn overlaid_text(&self, track: TrackIdx) -> Option<(String, String)> {
        let row = self.row_led_by(track)?;
        let what = if row.is_stacked { "stacked" } else { "overlaid" };
        let ranges = self.panes_ranges(row.lead);
        let ranges = row
            .units
            .iter()
            .zip(ranges)
            .map(|(unit, (min, max))| row.form.range_text(range_ends(min, max), &shown(unit)));
        Some((format!("{} {what} counters", row.curves.len()), ranges.collect::<Vec<_>>().join("; ")))
    }

    /// Returns the ranges of a row in the last frame that shows it.
    fn panes_ranges(&self, lead: LaneIdx) -> Vec<(f64, f64)> {
        let ranges = [&self.rows, &self.pinned].into_iter().filter_map(|pane| pane.ranges(lead));
        ranges.map(<[_]>::to_vec).next().unwrap_or_default()
    }

    /// Returns the range of a counter as text, once it was drawn. It is the range in view for all forms but values.
    pub(super) fn counter_range_text(&self, track: TrackIdx) -> Option<String> {
        let lane = counter_lane(&self.snapshot, track)?;
        let form = self.tracks.counter_form(track);
        let (min, max) = match form {
            CounterForm::Value => self.rows.counter_range(lane).or_else(|| self.pinned.counter_range(lane))?,
            CounterForm::Fitted | CounterForm::Change | CounterForm::Rate => {
                self.panes_ranges(lane).first().copied().unwrap_or_default()
            }
        };
        Some(form.range_text(range_ends(min, max), &shown(self.snapshot.tracks().unit(track))))
    }

    /// Returns the names of the counters of a row, with their colours.
    pub(super) fn legend(&self, track: TrackIdx) -> Vec<(Color32, String)> {
        let row = self.row_led_by(track);
        let curves = row.iter().flat_map(|row| row.curves.iter().enumerate());
        let entries = curves.map(|(index, curve)| (self.series_color(index), self.counter_name(curve.track)));
        let mut entries: Vec<_> = entries.collect();
        // The order from top to bottom of a stack.
        if row.is_some_and(|row| row.is_stacked) {
            entries.reverse();
        }
        entries
    }

    fn series_color(&self, index: usize) -> Color32 {
        let [red, green, blue, _] = self.palette().series_color(index).0;
        Color32::from_rgb(red, green, blue)
    }

    /// Returns the name of a counter, with its process if the row has counters of several processes.
    fn counter_name(&self, track: TrackIdx) -> String {
        let title = self.track_text(track).0;
        let process = self.snapshot.track(track).process;
        let overlay = self.tracks.arrangement().overlay_of(track);
        let is_of_several = overlay
            .is_some_and(|overlay| overlay.counters().any(|other| self.snapshot.track(other).process != process));
        let process = self.process_text(process);
        if is_of_several && !process.is_empty() { format!("{title} of {process}") } else { title }
    }

    /// Returns the value of the counter under the pointer, or of each counter in its row.
    pub(super) fn counter_tip(&self, layout: &TimelineLayout, at: egui::Pos2) -> Option<Tip> {
        let picked = self.picked(layout, at);
        let lane = picked.lane.filter(|lane| lane.kind == LaneKind::Counter)?;
        let track = self.snapshot.lane(lane.lane).track;
        let Some(row) = self.row_led_by(track) else {
            let held = value_at(&self.snapshot, lane.lane, picked.ts_ns)?;
            let since = self.time_text(held.since_ns);
            let below = format!("{}  ·  since {since}", self.held_text(track, held, self.tracks.counter_form(track)));
            return Some(Tip { title: self.track_text(track).0, lines: vec![TipLine::from(below)] });
        };
        let mut sum = None;
        let mut lines: Vec<TipLine> = Vec::new();
        for (index, curve) in row.curves.iter().enumerate() {
            let held = value_at(&self.snapshot, curve.lane, picked.ts_ns);
            let text = held.map_or("none".to_owned(), |held| self.held_text(curve.track, held, row.form));
            if let Some(held) = held.filter(|held| held.value.is_finite()) {
                *sum.get_or_insert(0.0) += held.value;
            }
            let text = format!("{}: {text}", on_screen(&shown(&self.counter_name(curve.track))));
            lines.push(TipLine { color: Some(self.series_color(index)), text });
        }
        if let Some(sum) = sum.filter(|_| row.is_stacked) {
            lines.reverse();
            let unit = row.units.first().map_or("", |unit| unit);
            lines.push(TipLine::from(format!("sum: {}", with_unit(&exact_value_text(sum), unit))));
        }
        let at = self.time_text(picked.ts_ns);
        Some(Tip { title: format!("at {at}"), lines })
    }

    /// Returns the sample of the counter whose value holds at a point of the window. Of several counters in a row, it
    /// is the counter that changed last.
    pub(super) fn sample_under(&self, layout: &TimelineLayout, at: egui::Pos2) -> Option<RowIdx> {
        let picked = self.picked(layout, at);
        let lane = picked.lane.filter(|lane| lane.kind == LaneKind::Counter)?.lane;
        let shared = self.row_led_by(self.snapshot.lane(lane).track);
        let lanes = shared.map_or(vec![lane], |row| row.curves.iter().map(|curve| curve.lane).collect());
        let samples = lanes.into_iter().filter_map(|lane| sample_at(&self.snapshot, lane, picked.ts_ns));
        samples.max_by_key(|sample| self.snapshot.row(*sample).start_ns)
    }

    /// Returns the lane in which a row is drawn: the lane of its first counter.
    pub(super) fn drawn_lane(&self, lane: LaneIdx) -> LaneIdx {
        let track = self.snapshot.lane(lane).track;
        let lead = self.tracks.row_of(track);
        if lead == track { lane } else { counter_lane(&self.snapshot, lead).unwrap_or(lane) }
    }

    /// Returns the name of a sample's counter, its value and its unit.
    pub(super) fn sample_text(&self, sample: RowIdx) -> String {
        let track = self.snapshot.lane(sample.lane).track;
        let value = held_value(&self.snapshot, sample).map_or(String::new(), |held| exact_value_text(held.value));
        format!("{}, {}", self.track_text(track).0, with_unit(&value, self.snapshot.tracks().unit(track)))
    }

    /// Formats a value with its unit and its last change. For a counter that is drawn as its rate, the rate comes
    /// first.
    fn held_text(&self, track: TrackIdx, held: HeldValue, form: CounterForm) -> String {
        let unit = self.snapshot.tracks().unit(track);
        let change = held.change().map(|change| format!("  ·  changed by {}", change_text(change)));
        let rate = held.rate().filter(|_| form == CounterForm::Rate);
        let rate = rate.map(|rate| format!("{} {}/s  ·  ", computed_value_text(rate), shown(unit)));
        let value = with_unit(&exact_value_text(held.value), unit);
        format!("{}{value}{}", rate.unwrap_or_default(), change.unwrap_or_default())
    }
}

/// Paints the names of the counters of a row. Names that do not fit above the bottom are left out.
pub(super) fn paint_legend(ui: &Ui, theme: &Theme, entries: &[(Color32, String)], rect: Rect, clip: Rect) {
    const SIDE: f32 = 8.0;
    let painter = ui.painter_at(clip);
    let font = FontId::proportional(11.0);
    for (index, (color, name)) in entries.iter().enumerate() {
        let middle = rect.top() + LEGEND_POINTS * (index as f32 + 0.5);
        if middle + LEGEND_POINTS / 2.0 > rect.bottom() + 1.0 {
            break;
        }
        let swatch = Rect::from_center_size(pos2(rect.left() + SIDE / 2.0, middle), vec2(SIDE, SIDE));
        painter.rect_filled(swatch, 1.0, *color);
        let left = rect.left() + SIDE + 5.0;
        let name = shown(name);
        let cut = ui.fonts_mut(|fonts| {
            let cut = shorten_middle(&name, rect.right() - left, |letter| letter_width(fonts, &font, letter));
            cut.map(std::borrow::Cow::into_owned)
        });
        let text = on_screen(&cut.unwrap_or_default()).into_owned();
        painter.text(pos2(left, middle), Align2::LEFT_CENTER, text, font.clone(), theme.weak_text);
    }
}
