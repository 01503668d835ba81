//! The menus of the flame graph: actions of a bar, and options of the picture.

use egui::{Role, Ui, WidgetInfo};

use super::picture::BarColor;
use super::state::{FlameHistory, FlamePart, keys_of, tree_of};
use crate::query::Snapshot;
use crate::query::flame::{FlameEdit, FlameNodeIdx, FlamePicture, FlameShape, FunctionKey, Measure};
use crate::scene::flame::BarOrder;
use crate::scene::labels::shown;
use crate::ui::chrome::menu_bar;
use crate::ui::command::Command;
use crate::ui::panels::value_menu::{self, PanelValue};
use crate::ui::questions::{PathsOf, SampledFunction};
use crate::ui::widgets::reading_order::on_screen;

/// Maximum length of a name in a menu, in letters.
const LETTERS_MAX: usize = 40;

/// Limit for the edits beside each other; the others are in a menu.
const EDITS_MAX: usize = 4;

/// How the bars of a picture are drawn.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct BarLook {
    pub(super) order: BarOrder,
    pub(super) color: BarColor,
}

/// Edits that can be toggled.
const SWITCHES: [(FlameEdit, &str, &str); 4] = [
    (FlameEdit::CollapseRecursion, "Collapse recursion", "A function that calls itself is one bar"),
    (FlameEdit::UnnamedByModule, "Addresses by module", "Frames without a name are shown as their module"),
    (FlameEdit::MergeKernel, "Merge kernel into callers", "Kernel functions count for their callers"),
    (FlameEdit::HideIdle, "Hide idle", "Leaves out the paths in which a processor or a program waits for work"),
];

/// Shows the menu of a bar. Returns commands for the window.
pub(super) fn bar_menu(
    ui: &mut Ui,
    snapshot: &Snapshot,
    picture: &FlamePicture,
    (part, node): (FlamePart, FlameNodeIdx),
    of: &PathsOf,
    history: &mut FlameHistory,
) -> Vec<Command> {
    let tree = tree_of(picture, part).filter(|tree| node.index() < tree.nodes().len());
    let Some(tree) = tree.filter(|_| node != FlameNodeIdx::ROOT) else {
        ui.close();
        return Vec::new();
    };
    let function = tree.node(node).function;
    let key = picture.functions.key(snapshot, function);
    let value = match picture.functions.name(function) {
        Some(name) => {
            let function = match of {
                PathsOf::Samples(event) => Some(SampledFunction { key: key.clone(), event: event.clone() }),
                PathsOf::Spans => None,
            };
            PanelValue::from_name(&key.name, name).with_function(function)
        }
        None => PanelValue::new(&*key.name),
    };
    let commands = value_menu::show(ui, &value);
    ui.separator();
    let is_chosen = |ui: &mut Ui, text: &str, hint: &str| {
        let is_clicked = ui.button(text).on_hover_text(hint).clicked();
        if is_clicked {
            ui.close();
        }
        is_clicked
    };
    if is_chosen(ui, "Zoom to this bar", "The bar takes the whole width") {
        history.zoom(part, keys_of(snapshot, picture, tree, node));
    }
    if is_chosen(ui, "Focus on function", "Only the paths with this function, from it on") {
        history.focus_on_bar(part, key.clone());
    }
    if is_chosen(ui, "Callers and callees", "A sandwich: this function between its callers and its callees") {
        history.set_shape(FlameShape::Sandwich(key.clone()));
    }
    if is_chosen(ui, "Merge into callers", "The function counts as a part of its callers") {
        history.add_edit(FlameEdit::Merge(key.clone()));
    }
    if is_chosen(ui, "Hide function", "Leaves out the paths with this function, from it on") {
        history.add_edit(FlameEdit::Hide(key.clone()));
    }
    if is_chosen(ui, "Collapse its recursion", "Recursive calls, direct or indirect, are one bar") {
        history.add_edit(FlameEdit::CollapseRecursionOf(key.clone()));
    }
    if let Some(module) = key.module.filter(|module| !module.is_empty()) {
        let (kind, hint) = match of {
            PathsOf::Samples(_) => ("module", "Adjacent frames of this module are one bar"),
            PathsOf::Spans => ("category", "Adjacent spans of this category are one bar"),
        };
        if is_chosen(ui, &format!("Collapse {kind} {}", short(&module)), hint) {
            history.add_edit(FlameEdit::CollapseModule(module));
        }
    }
    commands
}

/// Shows the menu of options.
pub(super) fn options_menu(ui: &mut Ui, weight: Option<String>, look: &mut BarLook, history: &mut FlameHistory) {
    let mut view = history.current.view.clone();
    if let Some(title) = weight {
        ui.radio_value(&mut view.measure, Measure::Weight, format!("Widths: {title}"));
        ui.radio_value(&mut view.measure, Measure::Count, "Widths: count");
        ui.separator();
    }
    ui.radio_value(&mut look.order, BarOrder::HeaviestFirst, "Heaviest first");
    ui.radio_value(&mut look.order, BarOrder::ByName, "In order of names");
    ui.separator();
    ui.radio_value(&mut look.color, BarColor::Name, "Colour by name");
    ui.radio_value(&mut look.color, BarColor::Module, "Colour by module");
    ui.radio_value(&mut look.color, BarColor::Share, "Colour by share");
    ui.separator();
    for (edit, title, hint) in SWITCHES {
        let mut is_on = view.edits.contains(&edit);
        if ui.checkbox(&mut is_on, title).on_hover_text(hint).changed() {
            view.edits.retain(|other| *other != edit);
            view.edits.extend(is_on.then_some(edit));
        }
    }
    let mut state = history.current.clone();
    state.view = view;
    history.go(state);
}

/// Shows the active edits, each as a button that removes it.
pub(super) fn edits_menu(ui: &mut Ui, history: &mut FlameHistory) {
    let key = |key: &FunctionKey| short(&key.name);
    let mut removed = None;
    if let Some(focus) = &history.current.view.focus {
        let text = format!("only {} \u{d7}", key(focus));
        if ui.small_button(text).on_hover_text("Shows all paths again").clicked() {
            history.remove_focus();
            return;
        }
    }
    let text = |edit: &FlameEdit| {
        Some(match edit {
            FlameEdit::Hide(function) => format!("without {} \u{d7}", key(function)),
            FlameEdit::Merge(function) => format!("merged {} \u{d7}", key(function)),
            FlameEdit::CollapseModule(module) => format!("collapsed {} \u{d7}", short(module)),
            FlameEdit::CollapseRecursionOf(function) => format!("recursion of {} \u{d7}", key(function)),
            FlameEdit::CollapseRecursion => "recursion collapsed \u{d7}".to_owned(),
            FlameEdit::MergeKernel => "kernel merged \u{d7}".to_owned(),
            FlameEdit::HideIdle => "without idle \u{d7}".to_owned(),
            FlameEdit::UnnamedByModule => return None,
        })
    };
    let edits: Vec<_> = history.current.view.edits.iter().filter_map(|edit| Some((edit, text(edit)?))).collect();
    let (first, others) = edits.split_at(edits.len().min(EDITS_MAX));
    for (edit, text) in first {
        if ui.small_button(text).on_hover_text("Takes this back").clicked() {
            removed = Some((*edit).clone());
        }
    }
    if !others.is_empty() {
        let menu = ui.menu_button("\u{2026}", |ui| {
            menu_bar::scrolled(ui, |ui| {
                for (edit, text) in others {
                    if ui.button(text).on_hover_text("Takes this back").clicked() {
                        removed = Some((*edit).clone());
                        ui.close();
                    }
                }
            });
        });
        menu.response.widget_info(|| WidgetInfo::labeled(Role::Button, true, "More edits"));
    }
    if let Some(edit) = removed {
        history.remove_edit(&edit);
    }
}

/// Shortens a name of the trace for a menu.
fn short(text: &str) -> String {
    let text = shown(text);
    let text = match text.char_indices().nth(LETTERS_MAX) {
        Some((end, _)) => format!("{}\u{2026}", &text[..end]),
        None => text.into_owned(),
    };
    on_screen(&text).into_owned()
}
