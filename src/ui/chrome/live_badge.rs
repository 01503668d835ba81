//! The status of a live trace in the status bar: event rate, delay of the picture, late events and free disk space.
//! Beside it are buttons to follow, pause and stop.

use std::fmt::Write as _;
use std::time::Duration;

use egui::{RichText, Ui, vec2};

use super::progress::bytes_text;
use crate::base::time::{duration_text, grouped_digits};
use crate::scene::labels::shown;
use crate::ui::command::{AppCommand, Command, LiveCommand};
use crate::ui::theme::Theme;
use crate::ui::widgets::letters::text_width;

/// Below this, the disk will soon be too full for a growing trace.
const FREE_BYTES_FEW: u64 = 2 << 30;

/// More unread bytes than are normally in transit: the source is faster than the import.
const UNREAD_BYTES_MANY: u64 = 4 << 20;

/// Status of a live trace.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct LiveStatus {
    pub(crate) rows_per_s: f64,
    /// Age of the oldest row of the snapshot when it was built.
    pub(crate) behind: Option<Duration>,
    /// Bytes that are spooled but not parsed yet.
    pub(crate) unread_bytes: u64,
    pub(crate) late: u64,
    /// The source with the most late events.
    pub(crate) latest_source: Option<String>,
    pub(crate) most_late_ns: u64,
    /// Rows shown below the others because they arrived late.
    pub(crate) apart: u64,
    /// Rows dropped so far, which were the oldest.
    pub(crate) dropped: u64,
    pub(crate) disk_bytes: u64,
    pub(crate) free_bytes: Option<u64>,
    pub(crate) is_paused: bool,
    pub(crate) is_stopping: bool,
    pub(crate) follows: bool,
}

pub(crate) fn show(ui: &mut Ui, status: &LiveStatus, theme: &Theme) {
    ui.label(RichText::new(rate_text(status)).small().color(theme.text));
    if status.late + status.apart > 0 {
        let color = theme.warning;
        ui.label(RichText::new(late_text(status)).small().color(color)).on_hover_text(late_hint(status));
    }
    if status.dropped > 0 {
        let text = format!("{} oldest dropped", grouped_digits(status.dropped));
        ui.label(RichText::new(text).small().color(theme.weak_text))
            .on_hover_text("Only the most recent part is kept (--keep); older spans are dropped");
    }
    let is_little = status.free_bytes.is_some_and(|free| free < FREE_BYTES_FEW);
    let color = if is_little { theme.warning } else { theme.weak_text };
    ui.label(RichText::new(disk_text(status)).small().color(color))
        .on_hover_text("All received data is kept on disk until the trace is closed");
}

/// Returns the width of the buttons, which is the same in every state: a button never takes the place of another.
pub(crate) fn buttons_points(ui: &Ui) -> f32 {
    let gap = ui.spacing().item_spacing.x;
    BUTTONS.iter().map(|titles| gap + button_points(ui, titles)).sum()
}

/// Shows the buttons from left to right, in a fixed order.
pub(crate) fn show_buttons(ui: &mut Ui, status: &LiveStatus) -> Option<Command> {
    let mut command = None;
    let widths = BUTTONS.map(|titles| button_points(ui, titles));
    let mut button =
        |ui: &mut Ui, index: usize, (title, hint): (&str, &str), disabled_reason: Option<&str>, to: LiveCommand| {
            let button = egui::Button::new(RichText::new(title).small()).small().min_size(vec2(widths[index], 0.0));
            let response = ui.add_enabled(disabled_reason.is_none(), button).on_hover_text(hint);
            if response.on_disabled_hover_text(disabled_reason.unwrap_or_default()).clicked() {
                command = Some(Command::App(AppCommand::Live(to)));
            }
        };
    let [follow, pause, stop] = BUTTONS;
    let is_at_edge = status.follows && !status.is_paused;
    let disabled_reason = is_at_edge.then_some("The newest data is at the right edge already");
    let hint = "Keep the newest data at the right edge (Space)";
    button(ui, 0, (follow[0], hint), disabled_reason, LiveCommand::Follow);
    let pause = if status.is_paused {
        (pause[1], "Show the data received since the pause")
    } else if is_at_edge {
        (pause[0], "Freezes the view; data is still being received (Space)")
    } else {
        (pause[0], "Freezes the view; data is still being received")
    };
    button(ui, 1, pause, None, LiveCommand::TogglePause);
    let disabled_reason = status.is_stopping.then_some("The sources are ending");
    button(ui, 2, (stop[0], "End the sources and sort all received data"), disabled_reason, LiveCommand::Stop);
    command
}

/// The titles of each button from left to right.
const BUTTONS: [&[&str]; 3] = [&["Follow"], &["Pause", "Resume"], &["Stop"]];

/// Returns the width of a button, which has room for its widest title.
fn button_points(ui: &Ui, titles: &[&str]) -> f32 {
    let font = egui::TextStyle::Small.resolve(ui.style());
    let widest = titles.iter().map(|title| text_width(ui, title, &font)).fold(0.0, f32::max);
    widest.ceil() + 2.0 * ui.spacing().button_padding.x + 2.0
}

/// Formats a text such as `1 200 events/s · behind by 140 ms`.
fn rate_text(status: &LiveStatus) -> String {
    let rate = status.rows_per_s.round() as u64;
    let rate = format!("{} events/s", grouped_digits(rate));
    let state = match status.behind {
        _ if status.is_stopping => "stopping".to_owned(),
        _ if status.is_paused => "paused".to_owned(),
        _ if status.unread_bytes > UNREAD_BYTES_MANY => format!("{} to be read", bytes_text(status.unread_bytes)),
        Some(behind) => {
            format!("behind by {} ms", grouped_digits(u64::try_from(behind.as_millis()).unwrap_or(u64::MAX)))
        }
        None => "waiting".to_owned(),
    };
    format!("{rate}  ·  {state}")
}

fn late_text(status: &LiveStatus) -> String {
    let source = status.latest_source.as_ref().map(|name| format!(", most of {}", shown(name))).unwrap_or_default();
    format!("{} late{source}", grouped_digits(status.late.max(status.apart)))
}

fn late_hint(status: &LiveStatus) -> String {
    let mut hint = format!(
        "{} events arrived after later ones were shown, up to {} late. Increase --delay to wait for them.",
        grouped_digits(status.late),
        duration_text(status.most_late_ns)
    );
    if status.apart > 0 {
        let apart = grouped_digits(status.apart);
        write!(hint, " {apart} spans and points are shown below the others until everything is sorted.").ok(); // into memory
    }
    hint
}

fn disk_text(status: &LiveStatus) -> String {
    // Rows of `--keep` are in memory until they are many.
    let used = match status.disk_bytes {
        0 => "nothing on disk yet".to_owned(),
        bytes => format!("{} on disk", bytes_text(bytes)),
    };
    match status.free_bytes {
        Some(free) => format!("{used}, {} free", bytes_text(free)),
        None => used,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_badge_has_the_event_rate_the_delay_and_the_free_disk_space() {
        let status = LiveStatus {
            rows_per_s: 1204.4,
            behind: Some(Duration::from_millis(142)),
            late: 3,
            latest_source: Some("worker\u{202e}.json".to_owned()),
            most_late_ns: 1_500_000,
            apart: 2,
            disk_bytes: 5 << 20,
            free_bytes: Some(3 << 30),
            ..LiveStatus::default()
        };
        assert_eq!(rate_text(&status), "1\u{2009}204 events/s  ·  behind by 142 ms");
        assert_eq!(rate_text(&LiveStatus { is_paused: true, ..status.clone() }), "1\u{2009}204 events/s  ·  paused");
        let ahead = LiveStatus { unread_bytes: 7 << 20, ..status.clone() };
        assert!(rate_text(&ahead).ends_with("  ·  7.0 MiB to be read"), "{}", rate_text(&ahead));
        assert_eq!(rate_text(&LiveStatus::default()), "0 events/s  ·  waiting");
        assert!(late_text(&status).starts_with("3 late, most of worker") && !late_text(&status).contains('\u{202e}'));
        assert!(late_hint(&status).contains("up to 1.5"), "{}", late_hint(&status));
        assert!(late_hint(&status).contains("2 spans and points are shown below"));
        assert_eq!(disk_text(&status), "5.0 MiB on disk, 3.0 GiB free");
        let in_memory = LiveStatus { disk_bytes: 0, free_bytes: None, ..status };
        assert_eq!(disk_text(&in_memory), "nothing on disk yet");
    }
}
