//! The welcome page: ways to open a trace, traces that a killed window left, recent traces, and three keys.

use std::time::{SystemTime, UNIX_EPOCH};

use egui::{Align, Layout, RichText, Ui};

use crate::base::time::{ago_text, counted};
use crate::scene::labels::shown;
use crate::ui::chrome::progress::bytes_text;
use crate::ui::command::{AppCommand, Command, InterruptedCommand};
use crate::ui::command_table::key_of;
use crate::ui::interrupted_traces::{InterruptedOffer, InterruptedTrace};
use crate::ui::purpose::Purpose;
use crate::ui::recent::{RecentFacts, RecentTrace};
use crate::ui::theme::Theme;

/// Recent traces that the page shows.
const RECENT_MAX: usize = 5;

/// Interrupted traces that the page shows.
const INTERRUPTED_MAX: usize = 3;

/// File managers put the path of a copied file on the clipboard, so pasting works where dropping does not.
const DROP: &str = "Drop a trace anywhere in this window";
const PASTE: &str = "Copy a trace in the file manager and paste it here with Ctrl+V (Wayland: files cannot be dropped)";

/// The keys for the first minute, by the titles of their commands.
const KEYS: [(&str, &str); 3] = [("Open...", "open"), ("Commands...", "all commands"), ("Keys", "all keys")];

/// Shows the page. `recent` has the last opened trace first.
pub(crate) fn show(
    ui: &mut Ui,
    recent: &[RecentTrace],
    offer: &InterruptedOffer,
    takes_drops: bool,
    theme: &Theme,
) -> Option<Command> {
    let mut command = None;
    let free = ui.available_height();
    let now_s = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    // A low window scrolls.
    egui::ScrollArea::vertical().auto_shrink(false).show(ui, |ui| {
        ui.with_layout(Layout::top_down(Align::Center), |ui| {
            ui.add_space((free * 0.28 - if recent.is_empty() { 0.0 } else { 60.0 }).max(10.0));
            ui.label(RichText::new("Longspan").size(34.0).strong());
            ui.add_space(2.0);
            let hint = if takes_drops { DROP } else { PASTE };
            ui.label(RichText::new(hint).size(15.0).color(theme.weak_text));
            ui.add_space(18.0);
            let buttons = show_buttons(ui, theme);
            let interrupted = show_interrupted_traces(ui, offer, now_s, theme);
            command = show_recent(ui, recent, now_s, theme).or(interrupted).or(buttons);
            ui.add_space(14.0);
            let keys = KEYS.map(|(title, what)| format!("{}  {what}", key_of(ui.ctx(), title)));
            ui.label(RichText::new(keys.join("     ")).small().color(theme.weak_text));
        });
    });
    command
}

fn show_buttons(ui: &mut Ui, theme: &Theme) -> Option<Command> {
    const SIZE: egui::Vec2 = egui::vec2(200.0, 36.0);
    let primary = RichText::new("Open a trace...").size(15.0).color(theme.canvas);
    let open = ui.add(egui::Button::new(primary).fill(theme.accent).min_size(SIZE)).clicked();
    ui.add_space(2.0);
    let demo = ui.add(egui::Button::new(RichText::new("Open a demo").size(15.0)).min_size(SIZE)).clicked();
    let open = open.then_some(AppCommand::Choose(Purpose::Open));
    open.or(demo.then_some(AppCommand::OpenDemo)).map(Command::App)
}

/// Shows the interrupted traces, if there are any.
fn show_interrupted_traces(ui: &mut Ui, offer: &InterruptedOffer, now_s: u64, theme: &Theme) -> Option<Command> {
    if offer.traces.is_empty() {
        return None;
    }
    ui.add_space(14.0);
    ui.label(RichText::new("Followed until the window was closed").small().color(theme.warning));
    let mut command = None;
    for trace in offer.traces.iter().take(INTERRUPTED_MAX) {
        let is_asked = offer.asked.as_ref() == Some(&trace.folder);
        command = show_interrupted_trace(ui, trace, is_asked, now_s, theme).or(command);
    }
    let more = offer.traces.len().saturating_sub(INTERRUPTED_MAX);
    if more > 0 {
        let text = format!("and {more} more: longspan cache list");
        ui.label(RichText::new(text).small().color(theme.weak_text));
    }
    command
}

/// Shows the traces that were opened last, if there are any.
fn show_recent(ui: &mut Ui, recent: &[RecentTrace], now_s: u64, theme: &Theme) -> Option<Command> {
    if recent.is_empty() {
        return None;
    }
    ui.add_space(14.0);
    ui.label(RichText::new("Recent").small().color(theme.weak_text));
    let mut command = None;
    for RecentTrace { sources, facts } in recent.iter().take(RECENT_MAX) {
        let (title, paths) = (sources.title(), sources.to_string());
        if ui.link(shown(&title).into_owned()).on_hover_text(shown(&paths).into_owned()).clicked() {
            command = Some(Command::App(AppCommand::Open(sources.clone())));
        }
        if let Some(facts) = facts {
            ui.label(RichText::new(facts_text(*facts, now_s)).small().color(theme.weak_text));
        }
    }
    command
}

/// Shows an interrupted trace with its actions.
fn show_interrupted_trace(
    ui: &mut Ui,
    trace: &InterruptedTrace,
    is_asked: bool,
    now_s: u64,
    theme: &Theme,
) -> Option<Command> {
    let title = shown(&trace.title).into_owned();
    let mut wanted = None;
    let mut button = |ui: &mut Ui, text: String, hint: &str, give: fn(std::path::PathBuf) -> InterruptedCommand| {
        let button = egui::Button::new(RichText::new(text).small()).small();
        if ui.add(button).on_hover_text(hint).clicked() {
            wanted = Some(give(trace.folder.clone()));
        }
    };
    // Centres one row, by its width in the previous frame.
    let id = ui.scope_id().with(&trace.folder);
    let width = ui.data(|data| data.get_temp::<f32>(id)).unwrap_or(300.0);
    let row = ui.allocate_ui_with_layout(egui::vec2(width, 20.0), Layout::left_to_right(Align::Center), |ui| {
        if is_asked {
            ui.label(
                RichText::new(format!("This is the only copy of the data from {title}.")).small().color(theme.warning),
            );
            button(
                ui,
                format!("Delete {}", bytes_text(trace.bytes)),
                "This cannot be undone",
                InterruptedCommand::Delete,
            );
            button(ui, "Keep it".to_owned(), "Offer it again at the next start", InterruptedCommand::Keep);
        } else {
            button(ui, format!("Recover {title}"), "Sort all received data and show it", InterruptedCommand::Open);
            ui.label(RichText::new(interrupted_text(trace, now_s)).small().color(theme.weak_text));
            button(ui, "Later".to_owned(), "Keep it, and offer it again at the next start", InterruptedCommand::Keep);
            button(ui, "Delete...".to_owned(), "Ask whether to delete it", InterruptedCommand::AskToDelete);
        }
    });
    ui.data_mut(|data| data.insert_temp(id, row.response.rect.width()));
    wanted.map(|wanted| Command::App(AppCommand::Interrupted(wanted)))
}

/// Formats a text such as `1 200 000 events  ·  45 MB  ·  5 minutes ago`.
fn interrupted_text(trace: &InterruptedTrace, now_s: u64) -> String {
    let rows = trace.rows.map(|rows| format!("{}  ·  ", counted(rows, "event"))).unwrap_or_default();
    format!("{rows}{}  ·  {}", bytes_text(trace.bytes), ago_text(now_s.saturating_sub(trace.changed_s)))
}

/// Formats the size of a trace and when it was opened; `now_s` is in seconds since 1970.
fn facts_text(facts: RecentFacts, now_s: u64) -> String {
    format!("{}  ·  {}", bytes_text(facts.bytes), ago_text(now_s.saturating_sub(facts.opened_s)))
}
