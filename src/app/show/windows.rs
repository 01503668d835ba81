//! Shows the windows and dialogs above the timeline and the panels.

use egui::Ui;

use super::STATUS_POINTS;
use crate::app::state::{App, OpenToolWindows};
use crate::ui::chrome::dialog_outcome::DialogOutcome;
use crate::ui::chrome::floating_window::FloatingWindow;
use crate::ui::chrome::{close_dialog, message, progress};
use crate::ui::command::{AppCommand, Command, ToolWindow};
use crate::ui::command_table::UiState;
use crate::ui::keys::is_behind_another;
use crate::ui::panels::{about, bookmarks, keys, losses, preferences};
use crate::ui::settings::Sizes;

impl OpenToolWindows {
    /// Shows a window while it is open. Its own button may close it.
    fn show(&mut self, ctx: &egui::Context, window: ToolWindow, content: impl FnOnce(&mut Ui)) {
        let mut is_open = self.is_open(window);
        floating_window(window).show(ctx, &mut is_open, content);
        if is_open != self.is_open(window) {
            self.toggle(window);
        }
    }
}

fn floating_window(window: ToolWindow) -> FloatingWindow {
    match window {
        ToolWindow::Losses => FloatingWindow::resizable("Import issues", 460.0),
        ToolWindow::Bookmarks => FloatingWindow::resizable("Markers", 460.0),
        ToolWindow::Derived => FloatingWindow::resizable("Derived tracks", 460.0),
        ToolWindow::Sources => FloatingWindow::resizable("Files and their clocks", 600.0),
        ToolWindow::Preferences => FloatingWindow::fitted("Preferences"),
        ToolWindow::Keys => FloatingWindow::fitted("Keys"),
        ToolWindow::About => FloatingWindow::fitted("About Longspan"),
    }
}

impl App {
    /// Handles Escape: it leaves a text field, then closes a window, restores the timeline, and clears the selection.
    pub(super) fn close_window_by_key(&mut self, ui: &Ui) {
        let is_behind_a_dialog = self.dialogs.has_any() || !self.tab().messages.is_empty();
        let is_behind = is_behind_a_dialog || is_behind_another(ui.ctx());
        if is_behind || ui.ctx().text_edit_focused() || !ui.input(|input| input.key_pressed(egui::Key::Escape)) {
            return;
        }
        if self.tool_windows.close_last() || self.tab_mut().panels.leave_full() {
            ui.input_mut(|input| input.consume_key(egui::Modifiers::NONE, egui::Key::Escape));
        }
    }

    /// Shows the windows and dialogs. The progress of a task is above `central_bottom`, the end of the timeline.
    pub(super) fn show_windows(
        &mut self,
        ui: &mut Ui,
        state: &UiState,
        central_bottom: f32,
        commands: &mut Vec<Command>,
    ) {
        self.show_progress(ui.ctx(), central_bottom, commands);
        self.show_trace_windows(ui.ctx(), commands);
        self.show_app_windows(ui.ctx(), state, commands);
        if let Some(open) = &mut self.dialogs.picker {
            commands.extend(open.picker.show(ui, &self.theme));
        }
        if let Some(request) = &mut self.dialogs.close_request {
            commands.extend(close_dialog::show(ui, &request.question, &self.theme));
            request.question.is_new = false;
        } else if let Some(message) = self.tabs[self.shown_tab].messages.front() {
            commands.extend(message::show(ui, message.title, &message.text, &self.theme));
        }
    }

    /// Shows the progress of the running tasks: beside the picture if there is one, else in the middle.
    fn show_progress(&self, ctx: &egui::Context, central_bottom: f32, commands: &mut Vec<Command>) {
        /// Gap between the progress of a task and the edge of the timeline.
        const GAP: egui::Vec2 = egui::vec2(-20.0, -16.0);
        let tab = self.tab();
        let import = tab.running.as_ref().map(|task| (task, AppCommand::CancelImport));
        let write = tab.writing.as_ref().map(|writing| (&writing.task, AppCommand::CancelWrite));
        if import.is_none() && write.is_none() {
            return;
        }
        let (align, offset) = match &tab.trace {
            Some(_) => {
                let below = ctx.content_rect().bottom() - central_bottom;
                // A maximised panel leaves no timeline.
                let below = if tab.panels.is_full() { STATUS_POINTS } else { below };
                (egui::Align2::RIGHT_BOTTOM, GAP - egui::vec2(0.0, below))
            }
            None => (egui::Align2::CENTER_CENTER, egui::Vec2::ZERO),
        };
        let window = egui::Window::new("Progress").title_bar(false).resizable(false).anchor(align, offset);
        window.show(ctx, |ui| {
            for (index, (task, cancel)) in import.into_iter().chain(write).enumerate() {
                if index > 0 {
                    ui.separator();
                }
                commands.extend(progress::show(ui, (&task.title, cancel), &task.progress, &self.theme));
            }
        });
        // Ten times a second is enough for a progress bar.
        ctx.request_repaint_after(std::time::Duration::from_millis(100));
    }

    /// Shows the windows about the trace of the tab.
    fn show_trace_windows(&mut self, ctx: &egui::Context, commands: &mut Vec<Command>) {
        let Self { tabs, shown_tab, tool_windows, theme, .. } = self;
        let tab = &mut tabs[*shown_tab];
        let Some(trace) = &tab.trace else { return };
        let timeline = &trace.timeline;
        tool_windows.show(ctx, ToolWindow::Losses, |ui| {
            commands.extend(losses::list(ui, timeline.snapshot().losses(), timeline.clock(), theme));
        });
        tool_windows.show(ctx, ToolWindow::Bookmarks, |ui| {
            commands.extend(bookmarks::show(ui, timeline, theme));
        });
        tool_windows.show(ctx, ToolWindow::Derived, |ui| {
            commands.extend(tab.derived.show(ui, timeline, theme));
        });
        if trace.sources.files().len() > 1 {
            tool_windows.show(ctx, ToolWindow::Sources, |ui| {
                commands.extend(tab.sources.show(ui, &trace.sources, timeline, theme));
            });
        }
    }

    /// Shows the windows that need no trace.
    fn show_app_windows(&mut self, ctx: &egui::Context, state: &UiState, commands: &mut Vec<Command>) {
        let Self { preferences: chosen, tool_windows, theme, .. } = self;
        let sizes = Sizes { memory_bytes: chosen.memory_bytes, cache_bytes: chosen.cache_bytes };
        let toggles = (chosen.second_start, chosen.csv_safe);
        tool_windows.show(ctx, ToolWindow::Preferences, |ui| {
            commands.extend(preferences::show(ui, state, sizes, toggles, &chosen.source_folders, theme));
        });
        tool_windows.show(ctx, ToolWindow::Keys, |ui| {
            keys::show(ui, theme);
        });
        tool_windows.show(ctx, ToolWindow::About, |ui| {
            commands.extend(about::show(ui, &self.adapter, theme));
        });
    }

    /// Shows the command palette, if it is open.
    pub(super) fn show_palette(&mut self, ui: &mut Ui, state: &UiState, commands: &mut Vec<Command>) {
        let Some(palette) = &mut self.dialogs.palette else { return };
        match palette.show(ui, state, &self.theme) {
            DialogOutcome::Open => {}
            DialogOutcome::Closed => self.dialogs.palette = None,
            DialogOutcome::Given(command) => {
                self.dialogs.palette = None;
                commands.push(command);
            }
        }
    }

    /// Shows the field for a time to go to, if it is open.
    pub(super) fn show_go_to_time(&mut self, ui: &Ui, commands: &mut Vec<Command>) {
        let Self { dialogs, tabs, shown_tab, theme, .. } = self;
        let go_to_time = &mut dialogs.go_to_time;
        let (Some(field), Some(trace)) = (go_to_time.as_mut(), &tabs[*shown_tab].trace) else {
            *go_to_time = None;
            return;
        };
        match field.show(ui, &trace.timeline, theme) {
            DialogOutcome::Open => {}
            DialogOutcome::Closed => *go_to_time = None,
            DialogOutcome::Given(command) => {
                *go_to_time = None;
                commands.push(command);
            }
        }
    }
}
