//! The toolbar of the flame graph: the history of views, shapes, options, the search, edits, and breadcrumbs.

use std::iter::once;

use egui::{Button, RichText, Ui};

use super::FlamePanel;
use super::amounts::{Amounts, share_text};
use super::menu;
use super::state::FlamePart;
use crate::base::direction::Direction;
use crate::base::time::grouped_digits;
use crate::query::Snapshot;
use crate::query::flame::{FlameNodeIdx, FlameShape, FunctionIdx, FunctionKey};
use crate::scene::labels::{shown, shown_name};
use crate::ui::chrome::menu_bar;
use crate::ui::command::{Command, PanelCommand, TimelineCommand};
use crate::ui::panels::dock_panel::PanelView;
use crate::ui::panels::elided::elided;
use crate::ui::theme::Theme;
use crate::ui::widgets::field;
use crate::ui::widgets::reading_order::on_screen;
use crate::ui::widgets::tip_text::tip_text;

/// Maximum width of a name in the breadcrumbs, in points.
const STEP_POINTS: f32 = 160.0;

/// Width of the function of a sandwich with its sums, in points.
const SUBJECT_POINTS: f32 = 360.0;

impl FlamePanel {
    /// Shows the toolbar of the picture.
    pub(super) fn show_tools(&mut self, ui: &mut Ui, view: &PanelView<'_>, commands: &mut Vec<Command>) {
        let (snapshot, theme) = (view.snapshot(), view.context.theme);
        let steps =
            [(Direction::Backward, "Back", "The previous view"), (Direction::Forward, "Forward", "The next view")];
        for (direction, text, hint) in steps {
            let button = ui.add_enabled(self.history.can_step(direction), Button::new(text));
            if button.on_hover_text(hint).clicked() {
                self.history.step(direction);
            }
        }
        self.show_shapes(ui, snapshot);
        let amounts = self.answer.as_ref().map(|answer| Amounts::new(&answer.paths));
        let weight = amounts.filter(Amounts::has_weight).map(|amounts| amounts.weight_title());
        ui.menu_button("Options", |ui| {
            menu_bar::scrolled(ui, |ui| menu::options_menu(ui, weight, &mut self.look, &mut self.history));
        });
        // Not beside the shapes, because it leads to the timeline.
        commands.extend(self.show_time_order(ui, view).into_iter().flatten());
        self.show_search(ui, snapshot, theme);
        // The subject comes and goes with the shape, so the buttons are before it.
        self.show_subject(ui, theme);
        menu::edits_menu(ui, &mut self.history);
        self.show_way(ui, snapshot);
    }

    fn show_shapes(&mut self, ui: &mut Ui, snapshot: &Snapshot) {
        let shape = self.history.current.view.shape.clone();
        let is_sandwich = matches!(shape, FlameShape::Sandwich(_));
        let mut wanted = None;
        for (is_on, text, hint) in [
            (shape == FlameShape::TopDown, "Top-down", "From the outermost function to its callees"),
            (shape == FlameShape::Inverted, "Inverted", "From the innermost function to its callers"),
            (is_sandwich, "Sandwich", "One function between its callers and its callees"),
        ] {
            if ui.selectable_label(is_on, text).on_hover_text(hint).clicked() && !is_on {
                wanted = Some(text);
            }
        }
        match wanted {
            Some("Top-down") => self.history.set_shape(FlameShape::TopDown),
            Some("Inverted") => self.history.set_shape(FlameShape::Inverted),
            Some(_) => {
                if let Some(function) = self.hottest(snapshot) {
                    self.history.set_shape(FlameShape::Sandwich(function));
                }
            }
            None => {}
        }
    }

    /// Shows the function of a sandwich with its sums.
    fn show_subject(&self, ui: &mut Ui, theme: &Theme) {
        let FlameShape::Sandwich(function) = &self.answered_shape else { return };
        let Some(answer) = self.answer.as_ref().filter(|_| ui.available_width() > SUBJECT_POINTS) else { return };
        let (picture, amounts) = (&answer.picture, Amounts::new(&answer.paths));
        let (total, own) = (picture.tree.node(FlameNodeIdx::ROOT).total, picture.own);
        let measure = picture.measure;
        let share = |sum| share_text(measure.amount(sum), measure.amount(picture.whole));
        let font = egui::TextStyle::Body.resolve(ui.style());
        let name = shown_name(&function.name);
        let short = elided(ui.painter(), &name, STEP_POINTS, &font).into_owned();
        let text = format!("of {}: {}, self {}", on_screen(&short), share(total), share(own));
        let hint = format!("{}\n{}\nby itself: {}", tip_text(&name), amounts.text(total), amounts.text(own));
        ui.label(RichText::new(text).color(theme.weak_text)).on_hover_text(hint);
    }

    /// Shows the button that leads to the stacks of the scope on their track, which a maximised panel would cover.
    fn show_time_order(&self, ui: &mut Ui, view: &PanelView<'_>) -> Option<[Command; 2]> {
        let track = self.answer.as_ref().and_then(|answer| answer.track);
        let button = ui.add_enabled(track.is_some(), Button::new("Time order"));
        let button = button.on_hover_text("The stacks on their track, in the order of time");
        let is_clicked = button.on_disabled_hover_text("No track has stacks yet").clicked();
        let track = track.filter(|_| is_clicked)?;
        let show = Command::Timeline(TimelineCommand::ShowTrack(track, view.scope().range));
        Some([show, Command::Panel(PanelCommand::LeaveFull)])
    }

    /// Returns the function of the bar that fills the width, or else the function with the largest self weight.
    fn hottest(&self, snapshot: &Snapshot) -> Option<FunctionKey> {
        if let Some(key) = self.root_path(snapshot, FlamePart::Tree).last() {
            return Some(key.clone());
        }
        let picture = &self.answer.as_ref()?.picture;
        let measure = self.history.current.view.measure;
        let function = if self.history.current.view.shape == FlameShape::Inverted {
            let mut functions =
                picture.tree.children(FlameNodeIdx::ROOT).iter().map(|&child| picture.tree.node(child).function);
            functions.find(|&function| function != FunctionIdx::OTHERS)?
        } else {
            let sums = picture.tree.sums_by(picture.functions.len(), FunctionIdx::index);
            picture.functions.all().max_by_key(|function| measure.amount(sums[function.index()].own))?
        };
        Some(picture.functions.key(snapshot, function))
    }

    /// Shows the search field, and the share of the paths with a match.
    fn show_search(&mut self, ui: &mut Ui, snapshot: &Snapshot, theme: &Theme) {
        // Escape clears the search first, and only then the scope.
        let keys = egui::EventFilter { escape: true, horizontal_arrows: true, ..egui::EventFilter::default() };
        let width = if ui.available_width() < 400.0 { 90.0 } else { 140.0 };
        if ui.available_width() < width {
            ui.end_row();
        }
        let response = field::add(ui, &mut self.words, |field| {
            field.hint_text("Find functions").desired_width(width).background_color(theme.canvas).event_filter(keys)
        });
        response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::TextInput, true, "Find functions"));
        let leaves =
            response.has_focus() && ui.input_mut(|input| input.consume_key(egui::Modifiers::NONE, egui::Key::Escape));
        if leaves {
            self.words.clear();
            response.surrender_focus();
        }
        if response.changed() || leaves {
            self.search(snapshot);
        }
        let (Some(answer), Some(found)) = (&self.answer, &self.found) else {
            if !self.words.trim().is_empty() && self.answer.is_some() {
                ui.label(RichText::new("no expression").color(theme.error));
            }
            return;
        };
        let measure = self.history.current.view.measure;
        let whole = measure.amount(answer.picture.whole);
        let functions = if found.functions == 1 { "function" } else { "functions" };
        let share = share_text(measure.amount(found.sum), whole);
        let text = format!("{share} in {} {functions}", grouped_digits(found.functions as u64));
        let hint = format!("{}: each path once", Amounts::new(&answer.paths).text(found.sum));
        ui.label(text).on_hover_text(hint);
    }

    /// Shows the breadcrumbs: the ancestors of the bar that fills the width.
    fn show_way(&mut self, ui: &mut Ui, snapshot: &Snapshot) {
        for part in [FlamePart::Tree, FlamePart::Callers] {
            let path = self.root_path(snapshot, part).to_vec();
            if path.is_empty() {
                continue;
            }
            let first = path.len().saturating_sub(5);
            let steps = once(0).chain(first.max(1)..path.len());
            for len in steps {
                // The first breadcrumb is always in reach, and leads back.
                if len > 0 && ui.available_width() < STEP_POINTS {
                    break;
                }
                let text = if len == 0 { "All".to_owned() } else { shown(&path[len - 1].name).into_owned() };
                let font = egui::TextStyle::Small.resolve(ui.style());
                let short = elided(ui.painter(), &text, STEP_POINTS, &font).into_owned();
                if ui.small_button(on_screen(&short)).on_hover_text(tip_text(&text)).clicked() {
                    self.history.zoom(part, path[..len].to_vec());
                }
            }
        }
    }
}
