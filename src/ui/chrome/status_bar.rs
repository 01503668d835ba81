//! The status bar: the open trace, its counts, its import issues, the colour key.

use egui::{Layout, RichText, Ui};

use super::color_key;
use super::live_badge::{self, LiveStatus};
use crate::base::time::{counted, duration_text};
use crate::query::Snapshot;
use crate::scene::labels::shown;
use crate::scene::palette::{ColorBy, Palette};
use crate::ui::command::Command;
use crate::ui::panels::losses;
use crate::ui::theme::Theme;
use crate::ui::widgets::letters::text_width;
use crate::ui::widgets::spoken;

/// The content of the status bar beside the counts of the trace.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct StatusLine<'a> {
    pub(crate) trace_name: &'a str,
    /// A notice for the user, such as which of several files was opened.
    pub(crate) note: &'a str,
    pub(crate) palette: Option<&'a Palette>,
    /// Why the rest of the trace was not sorted.
    pub(crate) interruption: Option<&'a str>,
    /// The status of a live trace.
    pub(crate) live: Option<&'a LiveStatus>,
}

/// Space for import issues and for the gaps between texts.
const BADGES_POINTS: f32 = 180.0;

/// Space for the first facts of a live trace.
const LIVE_POINTS: f32 = 200.0;

/// Width of the name of the trace that is shown in any case.
const TITLE_POINTS_MIN: f32 = 60.0;

/// Width of the colour key, in points.
const KEY_POINTS: f32 = 270.0;

pub(crate) fn show(ui: &mut Ui, snapshot: Option<&Snapshot>, status: StatusLine<'_>, theme: &Theme) -> Option<Command> {
    let rect = ui.available_rect_before_wrap();
    let buttons_points = status.live.map_or(0.0, |_| live_badge::buttons_points(ui));
    let texts = rect.with_max_x((rect.right() - buttons_points).max(rect.left()));
    let mut command = in_line(ui, texts, |ui| {
        // Growing numbers neither move the buttons nor cover them.
        ui.shrink_clip_rect(texts);
        show_texts(ui, snapshot, &status, theme)
    });
    if let Some(live) = status.live {
        let buttons = rect.with_min_x(texts.right() + ui.spacing().item_spacing.x);
        command = in_line(ui, buttons, |ui| live_badge::show_buttons(ui, live)).or(command.take());
    }
    command
}

/// Shows widgets from left to right in a part of the bar.
fn in_line<R>(ui: &mut Ui, rect: egui::Rect, content: impl FnOnce(&mut Ui) -> R) -> R {
    let line = egui::UiBuilder::new().max_rect(rect).layout(Layout::left_to_right(egui::Align::Center));
    ui.scope_builder(line, content).inner
}

fn show_texts(ui: &mut Ui, snapshot: Option<&Snapshot>, status: &StatusLine<'_>, theme: &Theme) -> Option<Command> {
    let mut command = None;
    match snapshot {
        Some(snapshot) => command = show_trace(ui, snapshot, status, theme),
        None => _ = ui.label(weak("No trace".to_owned(), theme)),
    }
    if let Some(live) = status.live {
        live_badge::show(ui, live, theme);
    }
    if !status.note.is_empty() {
        let note = shown(status.note);
        let is_whole = small_width(ui, &note) <= ui.available_width();
        let label = egui::Label::new(weak(note.clone().into_owned(), theme)).truncate();
        let response = ui.add(label.show_tooltip_when_elided(false));
        spoken::announce(&response);
        if !is_whole {
            response.on_hover_text(&*note);
        }
    }
    // Nothing may cover the import issues.
    let palette = status.palette.filter(|palette| palette.by() == ColorBy::Duration);
    if let Some(palette) = palette.filter(|_| ui.available_width() >= KEY_POINTS) {
        ui.with_layout(Layout::right_to_left(egui::Align::Center), |ui| color_key::show(ui, palette, theme));
    }
    command
}

fn weak(text: String, theme: &Theme) -> RichText {
    RichText::new(text).small().color(theme.weak_text)
}

/// Shows the name of the trace, its counts if there is room, and its import issues.
fn show_trace(ui: &mut Ui, snapshot: &Snapshot, status: &StatusLine<'_>, theme: &Theme) -> Option<Command> {
    let summary = snapshot.summary();
    let dur = duration_text(summary.end_ns.abs_diff(summary.start_ns));
    let dur = if snapshot.has_times() { format!("  ·  {dur}") } else { String::new() };
    let tracks = snapshot.display_order().len() as u64;
    let counts = format!(
        "{}  ·  {}{dur}",
        events_text(summary.spans, summary.samples, (summary.instants, summary.counters)),
        counted(tracks, "track")
    );
    let [title_points, counts_points, note_points] =
        [status.trace_name, &counts, status.note].map(|text| small_width(ui, &shown(text)));
    let live_points = if status.live.is_some() { LIVE_POINTS } else { 0.0 };
    let room = ui.available_width() - BADGES_POINTS - live_points;
    // A notice is new, and counts are not.
    let shows_counts = if status.note.is_empty() {
        counts_points + title_points.min(TITLE_POINTS_MIN) <= room
    } else {
        title_points + counts_points + note_points <= room
    };
    let others_points = if shows_counts { counts_points } else { note_points.min(room / 2.0) };
    let room = (room - others_points).max(TITLE_POINTS_MIN);
    let hidden_counts = if shows_counts { "" } else { &*counts };
    show_title(ui, &shown(status.trace_name), title_points, room, hidden_counts);
    if shows_counts {
        ui.label(weak(counts, theme));
    }
    if let Some(reason) = status.interruption {
        ui.label(RichText::new("Incomplete").small().color(theme.error)).on_hover_text(shown(reason));
    }
    losses::badge(ui, snapshot, theme)
}

/// Shows the name of the trace, cut to a width so that what follows it stays in view. One tooltip has the whole name if
/// it is cut, and the counts without room.
fn show_title(ui: &mut Ui, name: &str, name_points: f32, points_max: f32, hidden_counts: &str) {
    let label = egui::Label::new(RichText::new(name).small()).truncate().show_tooltip_when_elided(false);
    let title = ui.scope(|ui| {
        ui.set_max_width(points_max.ceil());
        ui.add(label)
    });
    let whole_name = if name_points > points_max { name } else { "" };
    let lines = [whole_name, hidden_counts].into_iter().filter(|line| !line.is_empty()).collect::<Vec<_>>();
    if !lines.is_empty() {
        title.inner.on_hover_text(lines.join("\n"));
    }
}

/// Returns the width of a text in the line.
fn small_width(ui: &Ui, text: &str) -> f32 {
    text_width(ui, text, &egui::TextStyle::Small.resolve(ui.style()))
}

/// Formats the numbers of spans and samples: a profile has only samples, and most traces have none. A trace with
/// neither shows its instants, or else its counter values.
pub(crate) fn events_text(spans: u64, samples: u64, (instants, values): (u64, u64)) -> String {
    match (spans, samples) {
        (0, 0) if instants > 0 => counted(instants, "instant"),
        (0, 0) if values > 0 => counted(values, "counter value"),
        (_, 0) => counted(spans, "span"),
        (0, _) => counted(samples, "sample"),
        _ => format!("{}  ·  {}", counted(spans, "span"), counted(samples, "sample")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_of_events_that_a_trace_lacks_are_left_out() {
        let said = [(0, 0), (1, 0), (12, 0), (0, 1), (0, 1204), (34, 12)]
            .map(|(spans, samples)| events_text(spans, samples, (0, 7)));
        let expected =
            ["7 counter values", "1 span", "12 spans", "1 sample", "1\u{2009}204 samples", "34 spans  ·  12 samples"];
        assert_eq!(said, expected);
        assert_eq!([events_text(0, 0, (1, 7)), events_text(0, 0, (0, 0))], ["1 instant", "0 spans"]);
    }
}
