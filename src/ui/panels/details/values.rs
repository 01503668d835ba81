//! Labels beside values, and the arguments of a row as such pairs. A frame lays out a bounded part of each value and of
//! each object; the rest is counted.

use std::borrow::Cow;

use egui::{RichText, Ui};
use serde_json::Value as Json;

use crate::base::time::grouped_digits;
use crate::query::argument_path::{ArgumentPath, value_text};
use crate::query::derived::DerivedKind;
use crate::query::groups::GroupBy;
use crate::scene::labels::shown;
use crate::ui::chrome::progress::bytes_text;
use crate::ui::command::Command;
use crate::ui::panels::value_menu::{self, PanelValue};
use crate::ui::theme::Theme;
use crate::ui::widgets::context_menu::context_menu;
use crate::ui::widgets::reading_order::on_screen;
use crate::ui::widgets::tip_text::tip_text;

/// Minimum width of the labels, in points.
pub(super) const NAME_POINTS: f32 = 92.0;

/// Limit for the bytes of a value in the panel: a screen of text. Layout takes about 400 bytes of memory for each.
const VALUE_BYTES_MAX: usize = 4096;

/// Limit for the bytes of a label, which is cut at the end of its line.
const LABEL_BYTES_MAX: usize = 512;

/// Limit for the shown members of an object or an array.
const MEMBERS_MAX: usize = 200;

/// The keys of a member in the arguments of a row, outermost first.
#[derive(Clone)]
struct MemberKeys<'a> {
    args: &'a Json,
    keys: Vec<&'a str>,
}

impl<'a> MemberKeys<'a> {
    /// Returns the keys of a member of this member.
    fn inside(&self, key: &'a str) -> Self {
        Self { args: self.args, keys: self.keys.iter().copied().chain([key]).collect() }
    }
}

/// A member with its key, and its keys from the outermost if a filter can express them.
type Member<'a> = (Cow<'a, str>, &'a Json, Option<MemberKeys<'a>>);

/// Shows the arguments of a row.
pub(super) fn show_arguments(ui: &mut Ui, theme: &Theme, args: &Json, commands: &mut Vec<Command>) {
    if args.is_object() {
        let keys = MemberKeys { args, keys: Vec::new() };
        show_members(ui, theme, (args, Some(&keys)), commands);
    } else {
        show_value(ui, theme, ("value", NAME_POINTS), (args, None), 0, commands);
    }
}

/// Shows the first members of an object or an array, and the number of the others.
fn show_members<'a>(
    ui: &mut Ui,
    theme: &Theme,
    (value, keys): (&'a Json, Option<&MemberKeys<'a>>),
    commands: &mut Vec<Command>,
) {
    // No filter can express the members of arrays, which have no keys.
    let (members, count): (Vec<Member<'a>>, usize) = match value {
        Json::Object(members) => {
            let inside = |key: &'a String| keys.map(|keys| keys.inside(key));
            let first = members.iter().take(MEMBERS_MAX);
            (first.map(|(key, value)| (Cow::Borrowed(&**key), value, inside(key))).collect(), members.len())
        }
        Json::Array(items) => {
            let first = items.iter().take(MEMBERS_MAX).enumerate();
            (first.map(|(index, value)| (index.to_string().into(), value, None)).collect(), items.len())
        }
        _ => return,
    };
    let width = keys_width(ui, members.iter().map(|(key, value, _)| (&**key, *value)));
    let hidden = count - members.len();
    for (index, (key, value, keys)) in members.into_iter().enumerate() {
        show_value(ui, theme, (&key, width), (value, keys), index, commands);
    }
    if hidden > 0 {
        show_rest(ui, theme, &grouped_digits(hidden as u64));
    }
}

/// Shows how much is left out.
pub(super) fn show_rest(ui: &mut Ui, theme: &Theme, amount: &str) {
    ui.label(RichText::new(format!("and {amount} more")).color(theme.weak_text))
        .on_hover_text("Copy at the top copies all of it");
}

/// Shows one argument; objects and arrays are expandable.
fn show_value<'a>(
    ui: &mut Ui,
    theme: &Theme,
    (key, width): (&str, f32),
    (value, keys): (&'a Json, Option<MemberKeys<'a>>),
    salt: usize,
    commands: &mut Vec<Command>,
) {
    let summary = match value {
        Json::Object(members) => Some((format!("{{{}}}", members.len()), members.len())),
        Json::Array(items) => Some((format!("[{}]", items.len()), items.len())),
        _ => None,
    };
    if let Some((summary, count)) = summary {
        let title = format!("{}  {summary}", shown(beginning(key, LABEL_BYTES_MAX).0));
        egui::CollapsingHeader::new(title).id_salt((key, salt)).default_open(count <= 8).show(ui, |ui| {
            show_members(ui, theme, (value, keys.as_ref()), commands);
        });
        return;
    }
    let text = value_text(value);
    let in_menu = || {
        let path = keys.and_then(|MemberKeys { args, keys }| ArgumentPath::from_member(args, &keys));
        let filter = path.as_ref().map(|path| path.filter(&text));
        let sum = path.clone().filter(|_| value.is_number()).map(DerivedKind::Sum);
        let by = path.map(GroupBy::Argument);
        PanelValue { filter, sum, ..PanelValue::new(&*text) }.with_argument(key).grouped_by(by)
    };
    commands.extend(pair(ui, theme, (key, width), (&text, None), in_menu));
}

/// Returns the width of the label column for plain values: as wide as the longest label, if values have more room.
fn keys_width<'a>(ui: &Ui, members: impl Iterator<Item = (&'a str, &'a Json)>) -> f32 {
    /// Maximum share of the width for labels.
    const PART_MAX: f32 = 0.45;
    let font = egui::TextStyle::Body.resolve(ui.style());
    let plain = members.filter(|(_, value)| !value.is_object() && !value.is_array());
    let width = |key: &str| {
        let letters = beginning(key, LABEL_BYTES_MAX).0.chars();
        ui.fonts_mut(|fonts| letters.map(|letter| fonts.glyph_width(&font, letter)).sum())
    };
    let longest = plain.map(|(key, _)| width(key)).fold(0.0, f32::max);
    longest.ceil().min(ui.available_width() * PART_MAX).max(NAME_POINTS)
}

/// Shows a label beside a value, which can be selected, copied, and wrapped. The tooltip of a shortened value has the
/// whole value. A right click opens the menu of the whole value, which is built only then. Returns the chosen commands.
pub(super) fn pair(
    ui: &mut Ui,
    theme: &Theme,
    (name, width): (&str, f32),
    (text, whole): (&str, Option<&str>),
    value: impl FnOnce() -> PanelValue,
) -> Vec<Command> {
    let mut chosen = Vec::new();
    ui.horizontal_top(|ui| {
        let name = on_screen(&shown(beginning(name, LABEL_BYTES_MAX).0)).into_owned();
        let name = egui::Label::new(RichText::new(name).color(theme.weak_text)).truncate();
        let size = egui::vec2(width, ui.text_style_height(&egui::TextStyle::Body));
        ui.allocate_ui_with_layout(size, egui::Layout::left_to_right(egui::Align::Min), |ui| {
            ui.set_min_width(width);
            ui.add(name);
        });
        ui.vertical(|ui| {
            let (first, hidden) = beginning(text, VALUE_BYTES_MAX);
            // A text that can be copied keeps its stored order: reordered text must not be selectable.
            let safe = shown(first);
            let ordered = on_screen(&safe);
            let is_as_written = matches!(ordered, Cow::Borrowed(_));
            let label = egui::Label::new(&*ordered).selectable(is_as_written).sense(egui::Sense::CLICK).wrap();
            let mut response = ui.add(label);
            if let Some(whole) = whole {
                response = response.on_hover_text(tip_text(whole));
            }
            if hidden > 0 {
                show_rest(ui, theme, &bytes_text(hidden as u64));
            }
            context_menu(&response).show(|ui| chosen = value_menu::show(ui, &value()));
        });
    });
    chosen
}

/// Shows the beginning of a text that is not readable as JSON.
pub(super) fn show_raw(ui: &mut Ui, theme: &Theme, text: &str) {
    let (first, hidden) = beginning(text, VALUE_BYTES_MAX);
    ui.add(egui::Label::new(RichText::new(shown(first)).monospace()).wrap());
    if hidden > 0 {
        show_rest(ui, theme, &bytes_text(hidden as u64));
    }
}

/// Returns the beginning of a text, and how many bytes follow it.
fn beginning(text: &str, bytes_max: usize) -> (&str, usize) {
    let end = text.floor_char_boundary(bytes_max);
    (&text[..end], text.len() - end)
}
