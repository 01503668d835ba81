//! The open traces as tabs above the timeline. Shown only for more than one.

use egui::{Align, Color32, Label, Layout, Rect, RichText, Sense, Ui, pos2, vec2};

use super::menu_bar;
use crate::scene::labels::shown;
use crate::ui::command::{AppCommand, Command, TabCommand};
use crate::ui::command_table::with_disabled_reason;
use crate::ui::theme::Theme;
use crate::ui::widgets::context_menu::context_menu;

/// The title and the state of a tab.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct TabTitle {
    pub(crate) text: String,
    /// Progress of its running task, 0 to 1.
    pub(crate) progress_fraction: Option<f32>,
    /// Whether it has an unread error.
    pub(crate) has_failed: bool,
    /// Whether it is the active tab.
    pub(crate) is_shown: bool,
    /// Number of its files, two at most; pipes and programs do not count.
    pub(crate) files: usize,
    /// Why it cannot be read again; `None` if it can.
    pub(crate) reload_disabled: Option<&'static str>,
}

/// Height of the bar, in points.
pub(crate) const HEIGHT: f32 = 28.0;

/// Shows the tabs, narrower the more there are. A click activates a tab; a middle click or a click on its cross closes
/// it; a right click opens its menu.
pub(crate) fn show(ui: &mut Ui, tabs: &[TabTitle], theme: &Theme) -> Vec<Command> {
    const WIDTH_MAX: f32 = 220.0;
    // Narrower tabs of files with a common prefix would all look alike; the list has the tabs that do not fit.
    const WIDTH_MIN: f32 = 110.0;
    const LIST_WIDTH: f32 = 28.0;
    let (mut command, mut chosen) = (None, Vec::new());
    let room = ui.available_width();
    let is_crowded = tabs.len() as f32 * WIDTH_MIN > room;
    let room = if is_crowded { room - LIST_WIDTH } else { room };
    let width = (room / tabs.len().max(1) as f32).clamp(WIDTH_MIN, WIDTH_MAX);
    if is_crowded {
        let rect = Rect::from_min_size(ui.max_rect().right_top() - vec2(LIST_WIDTH, 0.0), vec2(LIST_WIDTH, HEIGHT));
        let mut corner = ui.new_child(egui::UiBuilder::new().max_rect(rect).id_salt("list of tabs"));
        command = show_list(&mut corner, tabs);
    }
    egui::ScrollArea::horizontal().id_salt("tabs").max_width(room).show(ui, |ui| {
        ui.with_layout(Layout::left_to_right(Align::Center), |ui| {
            ui.spacing_mut().item_spacing.x = 2.0;
            for (index, tab) in tabs.iter().enumerate() {
                let response = show_tab(ui, tab, width - 2.0, theme, &mut |close| {
                    if close {
                        command = Some(TabCommand::CloseAt(index));
                    }
                });
                if response.middle_clicked() {
                    command = Some(TabCommand::CloseAt(index));
                } else if response.clicked() && command.is_none() {
                    command = Some(TabCommand::Show(index));
                }
                context_menu(&response).show(|ui| chosen.extend(show_menu(ui, (index, tab), tabs.len())));
                if tab.is_shown {
                    response.scroll_to_me(None);
                }
            }
        });
    });
    command.into_iter().map(Command::Tab).chain(chosen).collect()
}

/// Shows the menu of a tab, and returns the chosen commands.
fn show_menu(ui: &mut Ui, (index, tab): (usize, &TabTitle), count: usize) -> Vec<Command> {
    let mut chosen = Vec::new();
    let mut entry = |ui: &mut Ui, text: &str, disabled: Option<&str>, commands: Vec<Command>| {
        let response = ui.add_enabled(disabled.is_none(), egui::Button::new(text));
        if disabled.into_iter().fold(response, with_disabled_reason).clicked() {
            chosen = commands;
            ui.close();
        }
    };
    entry(ui, "Close", None, vec![Command::Tab(TabCommand::CloseAt(index))]);
    let is_alone = (count == 1).then_some("Only one tab is open");
    entry(ui, "Close others", is_alone, vec![Command::Tab(TabCommand::CloseOthers(index))]);
    ui.separator();
    let reload = vec![Command::Tab(TabCommand::Show(index)), Command::App(AppCommand::OpenAgain)];
    entry(ui, "Reload", tab.reload_disabled, reload);
    let has_none = (tab.files == 0).then_some("It has no file");
    let copy = if tab.files > 1 { "Copy paths" } else { "Copy path" };
    entry(ui, copy, has_none, vec![Command::Tab(TabCommand::CopyPaths(index))]);
    chosen
}

/// Shows a menu of all tabs, also of tabs out of view.
fn show_list(ui: &mut Ui, tabs: &[TabTitle]) -> Option<TabCommand> {
    let button = ui.menu_button("…", |ui| {
        let mut chosen = None;
        menu_bar::scrolled(ui, |ui| {
            for (index, tab) in tabs.iter().enumerate() {
                if ui.selectable_label(tab.is_shown, shown(&tab.text)).clicked() {
                    chosen = Some(TabCommand::Show(index));
                    ui.close();
                }
            }
        });
        chosen
    });
    button.response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Button, true, "All tabs"));
    button.response.on_hover_text("All tabs");
    button.inner.flatten()
}

fn show_tab(ui: &mut Ui, tab: &TabTitle, width: f32, theme: &Theme, closed: &mut dyn FnMut(bool)) -> egui::Response {
    let (rect, response) = ui.allocate_exact_size(vec2(width, HEIGHT - 4.0), Sense::click());
    let ground = match (tab.is_shown, response.hovered()) {
        (true, _) => theme.raised,
        (false, true) => theme.header,
        (false, false) => Color32::TRANSPARENT,
    };
    let painter = ui.painter();
    painter.rect_filled(rect, 4.0, ground);
    if let Some(fraction) = tab.progress_fraction {
        let end = rect.left() + rect.width() * fraction.clamp(0.02, 1.0);
        let bar = Rect::from_min_max(pos2(rect.left(), rect.bottom() - 2.0), pos2(end, rect.bottom()));
        painter.rect_filled(bar, 0.0, theme.accent);
    }
    let color = match (tab.has_failed, tab.is_shown) {
        (true, _) => theme.error,
        (false, true) => theme.text,
        (false, false) => theme.weak_text,
    };
    let room = rect.shrink2(vec2(8.0, 0.0));
    let cross = Rect::from_min_max(pos2(room.right() - 16.0, rect.top()), room.right_bottom());
    let text = RichText::new(shown(&tab.text).into_owned()).color(color);
    let name = room.with_max_x(cross.left() - 2.0);
    let layout = Layout::left_to_right(Align::Center);
    // The child allocates no space, since the tab has allocated it already.
    let mut inside = ui.new_child(egui::UiBuilder::new().max_rect(name).layout(layout));
    inside.add(Label::new(text).truncate().selectable(false).sense(Sense::empty()));
    let close = ui.interact(cross, response.id.with("close"), Sense::click());
    let color = if close.hovered() { theme.text } else { theme.weak_text };
    ui.painter().text(cross.center(), egui::Align2::CENTER_CENTER, "×", egui::FontId::proportional(15.0), color);
    close.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Button, true, format!("Close {}", shown(&tab.text))));
    closed(close.clicked());
    response.widget_info(|| egui::WidgetInfo::selected(egui::Role::Tab, true, tab.is_shown, shown(&tab.text)));
    response.on_hover_text(shown(&tab.text))
}
