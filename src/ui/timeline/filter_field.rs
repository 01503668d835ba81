//! The field above the track names, which filters rows by words in their names, and the menu of their arrangement.

use egui::{Rect, Ui, UiBuilder, vec2};

use super::state::Timeline;
use crate::scene::arrange::TrackOrder;
use crate::scene::rows::TrackDensity;
use crate::ui::command::{Command, RowCommand, SettingCommand, TimelineCommand};
use crate::ui::theme::Theme;
use crate::ui::widgets::field;

/// Returns the title of an order.
#[must_use]
pub(crate) fn order_title(order: TrackOrder) -> &'static str {
    match order {
        TrackOrder::Trace => "Trace order",
        TrackOrder::Name => "By name",
        TrackOrder::FirstEvent => "By first event",
        TrackOrder::Activity => "By number of events",
        TrackOrder::Longest => "By longest span",
        TrackOrder::Busy => "By busy time",
        TrackOrder::Hits => "By hits of the search",
    }
}

/// Returns the title of a track height.
#[must_use]
pub(crate) fn density_title(density: TrackDensity) -> &'static str {
    match density {
        TrackDensity::Compact => "Compact",
        TrackDensity::Normal => "Normal",
        TrackDensity::Tall => "Tall",
    }
}

/// Shows the field and the menu in `rect`.
pub(crate) fn show(timeline: &mut Timeline, ui: &mut Ui, rect: Rect, theme: &Theme, commands: &mut Vec<Command>) {
    const MENU_WIDTH: f32 = 26.0;
    if rect.height() < MENU_WIDTH {
        return;
    }
    let inside = rect.shrink2(vec2(8.0, 5.0));
    let rows = |command| Command::Timeline(TimelineCommand::Rows(command));
    ui.scope_builder(UiBuilder::new().max_rect(inside), |ui| {
        ui.spacing_mut().item_spacing.x = 4.0;
        ui.set_clip_rect(rect);
        ui.horizontal_centered(|ui| {
            let mut words = timeline.tracks.arrangement().filter.clone();
            let width = (inside.width() - MENU_WIDTH - 4.0).max(20.0);
            // Escape clears the words first, and only then the selection.
            let filter = egui::EventFilter { escape: true, horizontal_arrows: true, ..egui::EventFilter::default() };
            let response = field::add_sized(ui, vec2(width, inside.height()), &mut words, |field| {
                let field = field.hint_text("Filter tracks").background_color(theme.canvas).event_filter(filter);
                field.align(egui::Align2::LEFT_CENTER)
            });
            response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::TextInput, true, "Filter tracks"));
            if timeline.tracks.take_filter_focus() {
                response.request_focus();
            }
            if response.has_focus() && ui.input_mut(|input| input.consume_key(egui::Modifiers::NONE, egui::Key::Escape))
            {
                words.clear();
                response.surrender_focus();
            }
            if words != timeline.tracks.arrangement().filter {
                commands.push(rows(RowCommand::Filter(words)));
            }
            let button = egui::Button::new("").min_size(vec2(MENU_WIDTH, inside.height()));
            let menu = egui::containers::menu::MenuButton::from_button(button);
            let (response, _) = menu.ui(ui, |ui| commands.extend(arrange_menu(ui, timeline)));
            // The icon for sorting: lines of decreasing length.
            for (line, half_width) in (0_u8..3).zip([6.0, 4.0, 2.0]) {
                let at = response.rect.center() + vec2(0.0, f32::from(line) * 4.0 - 4.0);
                let stroke = egui::Stroke::new(1.5, theme.text);
                ui.painter().hline(at.x - half_width..=at.x + half_width, at.y, stroke);
            }
            response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Button, true, "Arrange tracks"));
        });
    });
}

fn arrange_menu(ui: &mut Ui, timeline: &Timeline) -> Option<Command> {
    let mut chosen = None;
    let rows = |command| Command::Timeline(TimelineCommand::Rows(command));
    let mut choose = |ui: &mut Ui, selected: bool, title: &str, command: Command| {
        if ui.selectable_label(selected, title).clicked() {
            chosen = Some(command);
            ui.close();
        }
    };
    ui.set_min_width(150.0);
    ui.label(egui::RichText::new("Order").small().weak());
    for order in TrackOrder::ALL {
        choose(ui, timeline.tracks.arrangement().order == order, order_title(order), rows(RowCommand::Order(order)));
    }
    ui.separator();
    ui.label(egui::RichText::new("Height").small().weak());
    for density in [TrackDensity::Compact, TrackDensity::Normal, TrackDensity::Tall] {
        let command = Command::Setting(SettingCommand::Density(density));
        choose(ui, timeline.tracks.density() == density, density_title(density), command);
    }
    ui.separator();
    choose(ui, false, "Fold all processes", rows(RowCommand::FoldAll(true)));
    choose(ui, false, "Unfold all", rows(RowCommand::FoldAll(false)));
    let hidden = timeline.tracks.arrangement().folded.hidden.len();
    if hidden > 0 {
        let title = format!("Show {hidden} hidden");
        choose(ui, false, &title, rows(RowCommand::ShowHidden));
    }
    chosen
}
