//! What is known of the selected row: its times, its place, its arguments, the spans around it.

use egui::{RichText, ScrollArea, Ui};
use serde_json::Value;

use super::theme::Theme;
use super::{Command, Step};
use crate::base::time::{duration_text, seconds_text};
use crate::query::{Description, Snapshot};
use crate::scene::labels::shown;
use crate::store::lane::{LaneKind, RowIdx};

/// The selected row, described once when it was selected.
pub struct Details {
    row: RowIdx,
    description: Description,
    kind: LaneKind,
    arguments: Result<Option<Value>, String>,
    /// Names and rows, outermost first.
    ancestors: Vec<(String, RowIdx)>,
    origin_ns: i64,
}

impl Details {
    /// Looks up everything about a row; `None` if there is no such row.
    #[must_use]
    pub fn of_row(snapshot: &Snapshot, row: RowIdx) -> Option<Self> {
        let description = crate::query::describe::describe(snapshot, row)?;
        let arguments = match description.args_json.as_str() {
            "" => Ok(None),
            text => serde_json::from_str(text).map(Some).map_err(|error| error.to_string()),
        };
        let ancestors = description
            .ancestors
            .iter()
            .map(|&row| (named(snapshot.names().get(snapshot.row(row).name).text), row))
            .collect();
        let kind = snapshot.lane(row.lane).kind;
        Some(Self { row, description, kind, arguments, ancestors, origin_ns: snapshot.start_ns() })
    }

    /// The row that this describes.
    #[must_use]
    pub fn row(&self) -> RowIdx {
        self.row
    }

    /// Shows everything in two columns: the facts, and the arguments with the spans around.
    pub fn show(&self, ui: &mut Ui, theme: &Theme) -> Vec<Command> {
        let mut commands = Vec::new();
        ui.add_space(4.0);
        ui.horizontal(|ui| {
            ui.label(RichText::new(named(&self.description.name)).size(15.0).strong());
            if self.description.unfinished {
                ui.label(RichText::new("unfinished").color(theme.warning));
            }
            ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
                if ui.button("Close").on_hover_text("Esc").clicked() {
                    commands.push(Command::Select(None));
                }
                if ui.button("Zoom to it").on_hover_text("F").clicked() {
                    commands.push(Command::Step(Step::Selection));
                }
            });
        });
        ui.add_space(2.0);
        ui.columns(3, |columns| {
            let [facts, arguments, around] = columns else { return };
            scrolled(facts, "facts", |ui| self.show_facts(ui, theme));
            scrolled(arguments, "arguments", |ui| self.show_arguments(ui, theme));
            scrolled(around, "around", |ui| commands.extend(self.show_ancestors(ui, theme)));
        });
        commands
    }

    fn show_facts(&self, ui: &mut Ui, theme: &Theme) {
        let known = &self.description;
        let mut fact = |label: &str, text: String| {
            if !text.is_empty() {
                pair(ui, theme, label, &shown(&text));
            }
        };
        fact("Category", known.category.clone().unwrap_or_default());
        fact("Start", format!("{} s", seconds_text(known.start_ns.saturating_sub(self.origin_ns))));
        if self.kind == LaneKind::Spans {
            let more = if known.unfinished { " or more" } else { "" };
            fact("Duration", format!("{}{more}", duration_text(known.dur_ns)));
            fact("Self time", known.self_ns.map(duration_text).unwrap_or_default());
        }
        fact("Thread time", known.thread_dur_ns.map(signed_duration_text).unwrap_or_default());
        fact("Thread clock", known.thread_ts_ns.map(|ts| format!("{} s", seconds_text(ts))).unwrap_or_default());
        fact("Track", joined(&known.track_name, &known.tid.to_string()));
        fact("Process", joined(&known.process_name, &known.pid.to_string()));
        fact("Depth", known.depth.to_string());
        fact("Clock", format!("{} ns", known.start_ns));
    }

    fn show_arguments(&self, ui: &mut Ui, theme: &Theme) {
        heading(ui, theme, "Arguments");
        match &self.arguments {
            Ok(None) => {
                ui.label(RichText::new("None").color(theme.weak_text));
            }
            Ok(Some(Value::Object(members))) => {
                for (index, (key, value)) in members.iter().enumerate() {
                    show_value(ui, theme, key, value, index);
                }
            }
            Ok(Some(value)) => show_value(ui, theme, "value", value, 0),
            Err(error) => {
                ui.label(RichText::new(format!("Not readable as JSON: {error}")).color(theme.error));
                ui.add(egui::Label::new(RichText::new(shown(&self.description.args_json)).monospace()).wrap());
            }
        }
    }

    fn show_ancestors(&self, ui: &mut Ui, theme: &Theme) -> Vec<Command> {
        heading(ui, theme, "Within");
        if self.ancestors.is_empty() {
            ui.label(RichText::new("Nothing: it is outermost").color(theme.weak_text));
        }
        let mut commands = Vec::new();
        for (name, row) in self.ancestors.iter().rev() {
            if ui.link(name).clicked() {
                commands.push(Command::Reveal(*row));
            }
        }
        commands
    }
}

/// One argument; objects and arrays unfold. Shows at most some hundred members of each: a frame must stay a frame.
fn show_value(ui: &mut Ui, theme: &Theme, key: &str, value: &Value, salt: usize) {
    const MEMBERS_MAX: usize = 200;
    let mut nested = |summary: String, members: Vec<(String, &Value)>| {
        let title = format!("{}  {summary}", shown(key));
        egui::CollapsingHeader::new(title).id_salt((key, salt)).default_open(members.len() <= 8).show(ui, |ui| {
            let hidden = members.len().saturating_sub(MEMBERS_MAX);
            for (index, (key, value)) in members.into_iter().take(MEMBERS_MAX).enumerate() {
                show_value(ui, theme, &key, value, index);
            }
            if hidden > 0 {
                ui.label(RichText::new(format!("and {hidden} more")).color(theme.weak_text));
            }
        });
    };
    match value {
        Value::Object(members) => {
            nested(format!("{{{}}}", members.len()), members.iter().map(|(key, value)| (key.clone(), value)).collect());
        }
        Value::Array(items) => nested(
            format!("[{}]", items.len()),
            items.iter().enumerate().map(|(index, value)| (index.to_string(), value)).collect(),
        ),
        plain => {
            let text = match plain {
                Value::String(text) => shown(text).into_owned(),
                other => other.to_string(),
            };
            pair(ui, theme, &shown(key), &text);
        }
    }
}

/// A name and a value beside it; the value can be selected and copied, and takes as many lines as it needs.
fn pair(ui: &mut Ui, theme: &Theme, name: &str, value: &str) {
    const NAME_WIDTH: f32 = 92.0;
    ui.horizontal_top(|ui| {
        let name = egui::Label::new(RichText::new(name).color(theme.weak_text)).truncate();
        let size = egui::vec2(NAME_WIDTH, ui.text_style_height(&egui::TextStyle::Body));
        ui.allocate_ui_with_layout(size, egui::Layout::left_to_right(egui::Align::Min), |ui| {
            ui.set_min_width(NAME_WIDTH);
            ui.add(name);
        });
        ui.add(egui::Label::new(value).selectable(true).wrap());
    });
}

fn scrolled(ui: &mut Ui, salt: &str, content: impl FnOnce(&mut Ui)) {
    ScrollArea::vertical().id_salt(salt).auto_shrink(false).show(ui, |ui| {
        // Lines of text and not of buttons.
        ui.spacing_mut().interact_size.y = ui.text_style_height(&egui::TextStyle::Body);
        ui.spacing_mut().item_spacing.y = 4.0;
        content(ui);
    });
}

fn heading(ui: &mut Ui, theme: &Theme, text: &str) {
    ui.label(RichText::new(text).small().color(theme.weak_text));
}

fn named(text: &str) -> String {
    if text.is_empty() { "(no name)".to_owned() } else { shown(text).into_owned() }
}

fn joined(name: &str, id: &str) -> String {
    match (name.is_empty(), id.is_empty()) {
        (false, false) => format!("{name} ({id})"),
        (false, true) => name.to_owned(),
        (true, _) => id.to_owned(),
    }
}

fn signed_duration_text(dur_ns: i64) -> String {
    let sign = if dur_ns < 0 { "-" } else { "" };
    format!("{sign}{}", duration_text(dur_ns.unsigned_abs()))
}
