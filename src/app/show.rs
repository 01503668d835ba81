//! Shows the application's state: the menu, the timeline, the panels and the dialogs over them.

mod windows;

use std::cell::Cell;
use std::sync::Arc;

use egui::{Event, RichText, Ui};

use super::follow::FollowTask;
use super::open_trace::OpenTrace;
use super::state::{App, Effect, WindowEffect};
use super::tab::Tab;
use super::tasks;
use crate::base::direction::Direction;
use crate::scene::labels::{shorten_middle, shown};
use crate::scene::palette::Colors;
use crate::ui::chrome::floating_window;
use crate::ui::chrome::menu_bar;
use crate::ui::chrome::status_bar;
use crate::ui::chrome::status_bar::StatusLine;
use crate::ui::chrome::tab_bar;
use crate::ui::chrome::welcome;
use crate::ui::command::{AppCommand, COPY_BYTES_MAX, Command, TimelineCommand};
use crate::ui::command_table::{
    DockState, EditState, MenuList, ScopeState, SelectedState, ShownSettings, TabsState, TimelineState, TraceState,
    UiState,
};
use crate::ui::held_keys::correct_repeats;
use crate::ui::keys::{keep_for_field, pressed};
use crate::ui::panels::PanelContext;
use crate::ui::panels::scope_bar::show_named;
use crate::ui::recent::RecentTrace;
use crate::ui::timeline::named_scopes::NamedScope;
use crate::ui::timeline::state::Timeline;
use crate::ui::widgets::field;
use crate::ui::widgets::letters::letter_width;
use crate::ui::widgets::press::remember_press;
use crate::ui::widgets::reading_order::on_screen;

/// Height of the status bar, in points.
const STATUS_POINTS: f32 = 24.0;

impl App {
    /// Applies theme, fonts and font size to egui if they have changed.
    fn apply_theme(&mut self, ctx: &egui::Context) {
        if !self.is_theme_applied {
            self.theme.apply(ctx);
            ctx.options_mut(|options| options.max_passes = floating_window::PASSES_MAX);
            ctx.set_font_providers(vec![Arc::new(self.fonts.clone())]);
            // The font size preference is relative to the desktop's font size.
            let percent = f32::from(self.preferences.text_percent) * f32::from(self.desktop.text_percent) / 100.0;
            ctx.set_zoom_factor(percent.clamp(50.0, 300.0) / 100.0);
            self.is_theme_applied = true;
        }
    }

    /// Shows everything and handles the input of a frame.
    pub fn show(&mut self, ui: &mut Ui) -> Vec<WindowEffect> {
        self.apply_theme(ui.ctx());
        ui.ctx().accesskit_node_builder(egui::accesskit_root_id(), |node| node.set_label(self.title()));
        self.repair(self.shown_tab);
        self.unwind_again();
        self.renew_late_answers(ui.ctx());
        // Keys, menus and tabs may show another tab, so they run after the commands of what this frame shows.
        let (mut commands, mut later) = (Vec::new(), Vec::new());
        let frame = egui::Frame::side_top_panel(ui.style()).fill(self.theme.panel);
        let state = self.ui_state();
        remember_press(ui.ctx());
        if ui.input(|input| input.events.iter().any(is_action)) {
            self.tab_mut().notes.end_refusal();
        }
        keep_for_field(ui, &state);
        correct_repeats(ui.ctx());
        self.close_window_by_key(ui);
        if let Some(timeline) = self.timeline_mut() {
            timeline.cancel_drag_by_key(ui);
        }
        later.extend(pressed(ui, &state));
        self.show_menu_bar(ui, frame, &state, &mut later);
        if self.tabs.len() > 1 {
            self.show_tab_bar(ui, frame, &mut later);
        }
        let mut tab_order = std::mem::take(&mut self.tab_order);
        tab_order.visit_timeline(ui);
        self.show_status_bar(ui, frame, &mut commands);
        self.start_trace_work(ui.ctx());
        self.show_panels(ui, frame, &mut commands);
        let mut central = ui.max_rect();
        tab_order.show_timeline(ui, |ui| {
            let shown = egui::CentralPanel::no_frame().show(ui, |ui| self.show_central(ui, &mut commands));
            central = shown.response.rect;
        });
        self.tab_order = tab_order;
        self.show_windows(ui, &state, central.bottom(), &mut commands);
        self.show_palette(ui, &state, &mut commands);
        self.show_go_to_time(ui, &mut commands);
        commands.extend(later);
        let effects = self.run_commands(ui.ctx(), commands);
        self.open_dropped(ui);
        self.end_frame(ui);
        effects
    }

    fn show_menu_bar(&self, ui: &mut Ui, frame: egui::Frame, state: &UiState, commands: &mut Vec<Command>) {
        egui::Panel::top("menu").frame(frame.inner_margin(egui::Margin::symmetric(6, 3))).show(ui, |ui| {
            commands.extend(menu_bar::show(ui, state, |ui, list| match list {
                MenuList::Recent => recent_menu(ui, self.preferences.recent.traces()),
                MenuList::SavedScopes => {
                    let timeline = self.tab().trace.as_ref().map(|trace| &trace.timeline);
                    saved_scopes_menu(ui, timeline.map(Timeline::named_scopes).unwrap_or_default())
                }
            }));
        });
    }

    fn show_tab_bar(&self, ui: &mut Ui, frame: egui::Frame, commands: &mut Vec<Command>) {
        let frame = frame.inner_margin(egui::Margin::symmetric(6, 1));
        egui::Panel::top("tabs").exact_size(tab_bar::HEIGHT).frame(frame).show(ui, |ui| {
            commands.extend(tab_bar::show(ui, &self.tab_titles(), &self.theme));
        });
        if self.tabs.iter().any(Tab::is_busy) {
            // Often enough for the progress bars of other tabs.
            ui.ctx().request_repaint_after(std::time::Duration::from_millis(500));
        }
    }

    fn show_status_bar(&self, ui: &mut Ui, frame: egui::Frame, commands: &mut Vec<Command>) {
        let tab = self.tab();
        let frame = frame.inner_margin(egui::Margin::symmetric(10, 0));
        egui::Panel::bottom("status").exact_size(STATUS_POINTS).frame(frame).show(ui, |ui| {
            let timeline = tab.trace.as_ref().map(|trace| &trace.timeline);
            let live = tab.live_status();
            let of_order = tab.trace.as_ref().and_then(OpenTrace::order_note).filter(|_| tab.notes.text().is_empty());
            let of_selected = timeline.and_then(|timeline| tab.panels.note(timeline));
            let of_trace = tab.notes.reply_text().or(of_selected.as_deref()).or(of_order.as_deref());
            let status = StatusLine {
                trace_name: &tab.trace.as_ref().map(OpenTrace::title).unwrap_or_default(),
                note: of_trace.unwrap_or(tab.notes.text()),
                palette: timeline.map(Timeline::palette),
                interruption: timeline.and_then(Timeline::interruption),
                live: live.as_ref(),
            };
            commands.extend(status_bar::show(ui, timeline.map(Timeline::snapshot), status, &self.theme));
        });
    }

    /// Starts the background work of the trace that has become due since the last frame.
    fn start_trace_work(&mut self, ctx: &egui::Context) {
        let tab = &mut self.tabs[self.shown_tab];
        let Some(trace) = &mut tab.trace else { return };
        trace.look_up_selected(&tab.wake);
        if let Some(wait) = trace.compute_derived(&self.options.load, &tab.wake) {
            ctx.request_repaint_after(wait);
        }
        trace.rank_tracks(tab.panels.is_searching(), &tab.wake);
        if trace.ranks.is_running() {
            ctx.request_repaint_after(std::time::Duration::from_millis(100));
        }
    }

    /// Shows the search bar and the panels of the dock.
    fn show_panels(&mut self, ui: &mut Ui, frame: egui::Frame, commands: &mut Vec<Command>) {
        let cells = self.cells();
        let Self { tabs, shown_tab, theme, preferences, .. } = self;
        let tab = &mut tabs[*shown_tab];
        let Some(trace) = &mut tab.trace else { return };
        tab.panels.set_source_folders(&preferences.source_folders);
        let (tables, dock_points) = (&preferences.tables, preferences.dock_points);
        let lit = Cell::new(None);
        let context = PanelContext { theme, cells, tables, dock_points, is_current: true, lit: &lit };
        let shown = (&trace.timeline, trace.details.as_ref());
        commands.extend(tab.panels.show(ui, frame, shown, context));
        // The timeline is drawn after the panels, in the same frame.
        trace.timeline.light(lit.take());
    }

    /// Shows the timeline, or the welcome page without a trace.
    fn show_central(&mut self, ui: &mut Ui, commands: &mut Vec<Command>) {
        let theme = &self.theme;
        let tab = &mut self.tabs[self.shown_tab];
        let is_drawn = !tab.panels.is_full();
        if let Some(trace) = &mut tab.trace {
            if is_drawn {
                commands.extend(trace.timeline.show(ui, theme));
            }
            tasks::start_due_layout(&mut trace.timeline, &tab.wake);
            // The scope changes also while a panel hides the timeline.
            tab.panels.update_queries(&trace.timeline);
            if is_drawn {
                tab.panels.find_matches(&trace.timeline);
                return;
            }
        }
        ui.painter().rect_filled(ui.max_rect(), 0.0, theme.canvas);
        if tab.follow.is_some() {
            let waiting = format!("Waiting for the first events of {}", tab.title());
            // The note may say why no event comes, and is cut off in the status bar.
            let lines = [&waiting, tab.notes.text()].map(shown);
            let text = lines.join("\n\n");
            ui.centered_and_justified(|ui| ui.label(RichText::new(text.trim_end()).color(theme.weak_text)));
        } else if tab.running.is_none() && tab.trace.is_none() && !tab.awaits_trace {
            let recent = self.preferences.recent.traces();
            commands.extend(welcome::show(ui, recent, &self.interrupted.offered, self.takes_drops, theme));
        }
    }

    /// Runs the commands of a frame. Returns the effects for the window.
    fn run_commands(&mut self, ctx: &egui::Context, commands: Vec<Command>) -> Vec<WindowEffect> {
        let mut effects = Vec::new();
        for command in commands {
            match self.act(command) {
                Some(Effect::Copy(text)) if text.len() > COPY_BYTES_MAX => {
                    let limit_mib = COPY_BYTES_MAX >> 20;
                    self.reply(format!(
                        "Nothing is copied: it is longer than {limit_mib} MiB. Export... writes tables of any length."
                    ));
                }
                Some(Effect::Copy(text)) => ctx.copy_text(text),
                Some(Effect::Window(effect)) => effects.push(effect),
                None => {}
            }
        }
        effects
    }

    /// Saves changes at the end of a frame.
    fn end_frame(&mut self, ui: &Ui) {
        if field::take_overflow(ui.ctx()) {
            let limit_kib = field::FIELD_BYTES_MAX / 1024;
            self.reply(format!("A field takes {limit_kib} KiB of text; the rest was left out."));
        }
        let now_s = ui.input(|input| input.time);
        let preferences_wait_s = self.save_preferences(now_s);
        let reply_wait_s = self.tab_mut().notes.expire(now_s);
        let (folders, writes) = (self.options.folders.as_ref(), &self.writes);
        for tab in &mut self.tabs {
            if let Some(failure) = tab.keeper.take_failure() {
                tab.notes.add(failure);
            }
        }
        // A tab that was left right after a change is saved as well.
        let waits_s = self.tabs.iter_mut().filter_map(|tab| tab.save_changes(folders, writes, now_s));
        let waits_s = waits_s.chain(reply_wait_s).chain(preferences_wait_s);
        if let Some(wait_s) = waits_s.min_by(f64::total_cmp) {
            ui.ctx().request_repaint_after_secs(wait_s as f32);
        }
    }

    /// Opens dropped files, and shows a hint while they hover.
    fn open_dropped(&mut self, ui: &Ui) {
        let (hovers, dropped) = ui.input(|input| {
            let paths = input.raw.dropped_files.iter().map(|file| file.path().to_owned()).collect::<Vec<_>>();
            (!input.raw.hovered_files.is_empty(), paths)
        });
        if hovers {
            let layer = egui::LayerId::new(egui::Order::Foreground, egui::Id::unique("drop"));
            let painter = ui.ctx().layer_painter(layer);
            let screen = ui.ctx().content_rect();
            painter.rect_filled(screen, 0.0, self.theme.canvas.gamma_multiply(0.85));
            let font = egui::FontId::proportional(22.0);
            painter.text(screen.center(), egui::Align2::CENTER_CENTER, "Drop to open", font, self.theme.text);
        }
        if !dropped.is_empty() {
            self.open_files(&dropped);
        }
    }

    /// Returns the colour scheme of the open trace, or else of the next one.
    fn colors(&self) -> Colors {
        self.tab().trace.as_ref().map_or(self.preferences.colors, |trace| trace.timeline.colors())
    }

    fn ui_state(&self) -> UiState {
        let tab = self.tab();
        let timeline = tab.trace.as_ref().map(|trace| &trace.timeline);
        let arrangement = timeline.map(Timeline::arrangement);
        UiState {
            tabs: TabsState { count: self.tabs.len(), has_closed: !self.closed_tabs.is_empty() },
            trace: TraceState {
                is_open: timeline.is_some(),
                files: tab.trace.as_ref().map_or(0, |trace| trace.sources.files().len()),
                reload: tab.reload_state(),
                can_export: tab.can_export(),
                is_busy: tab.is_busy(),
                is_live: tab.is_live(),
                is_paused: tab.follow.as_ref().is_some_and(FollowTask::is_paused),
                has_times: timeline.is_some_and(|timeline| timeline.snapshot().has_times()),
                has_utc: timeline.is_some_and(|timeline| timeline.snapshot().utc_offset_ns().is_some()),
            },
            selected: SelectedState {
                has_span: timeline.is_some_and(|timeline| timeline.selected().is_some()),
                has_flow_before: timeline
                    .is_some_and(|timeline| timeline.linked_by_flow(Direction::Backward).is_some()),
                has_flow_after: timeline.is_some_and(|timeline| timeline.linked_by_flow(Direction::Forward).is_some()),
            },
            scope: ScopeState {
                is_restricted: timeline.is_some_and(|timeline| !timeline.scope().is_whole()),
                has_time: timeline.is_some_and(|timeline| timeline.scope().range.is_some()),
                has_tracks: timeline.is_some_and(|timeline| !timeline.scope().tracks.is_all()),
                counters: timeline.map(Timeline::counter_choice).unwrap_or_default(),
            },
            dock: DockState {
                statistics: tab.panels.statistics_tab(),
                can_pin: tab.panels.can_toggle_pin(),
                is_pinned: tab.panels.is_pinned(),
                is_searching: tab.panels.is_searching(),
                has_hits: tab.panels.has_hits(),
            },
            timeline: TimelineState {
                has_past: timeline.is_some_and(Timeline::has_past),
                has_future: timeline.is_some_and(Timeline::has_future),
                order: arrangement.map(|arrangement| arrangement.order).unwrap_or_default(),
                has_hidden: arrangement.is_some_and(|arrangement| !arrangement.folded.hidden.is_empty()),
                has_moves: arrangement.is_some_and(|arrangement| !arrangement.moves.is_empty()),
                ruler_origin: timeline.map(Timeline::ruler_origin).unwrap_or_default(),
                has_bookmarks: timeline.is_some_and(|timeline| !timeline.marks().all().is_empty()),
                can_measure: timeline.is_some_and(|timeline| timeline.marks().measured().is_some()),
            },
            edits: EditState {
                undoable: timeline.and_then(Timeline::undoable),
                redoable: timeline.and_then(Timeline::redoable),
            },
            settings: ShownSettings {
                shade: self.preferences.shade,
                colors: self.colors(),
                text_percent: self.preferences.text_percent,
                navigation: self.navigation(),
                density: self.preferences.density,
            },
        }
    }
}

/// Returns whether an event is an action of the user.
fn is_action(event: &Event) -> bool {
    matches!(event, Event::Key { pressed: true, .. } | Event::PointerButton { pressed: true, .. } | Event::Text(_))
}

/// Shows the menu of saved scopes, if there are any.
fn saved_scopes_menu(ui: &mut Ui, saved: &[NamedScope]) -> Option<Command> {
    if saved.is_empty() {
        return None;
    }
    ui.separator();
    let chosen = ui.menu_button("Saved scopes", |ui| show_named(ui, saved)).inner.flatten()?;
    Some(Command::Timeline(TimelineCommand::Scope(chosen)))
}

/// Shows the menu of recent traces, if there are any.
fn recent_menu(ui: &mut Ui, recent: &[RecentTrace]) -> Option<Command> {
    /// Maximum width of a title, which must not wrap.
    const TITLE_POINTS: f32 = 300.0;
    if recent.is_empty() {
        return None;
    }
    let mut chosen = None;
    ui.menu_button("Open recent", |ui| {
        let font = egui::TextStyle::Button.resolve(ui.style());
        for RecentTrace { sources, .. } in recent {
            let (title, paths) = (sources.title(), sources.to_string());
            let title = shown(&title);
            let title = ui.fonts_mut(|fonts| {
                shorten_middle(&title, TITLE_POINTS, |letter| letter_width(fonts, &font, letter)).unwrap_or_default()
            });
            if ui.button(on_screen(&title).into_owned()).on_hover_text(shown(&paths).into_owned()).clicked() {
                chosen = Some(Command::App(AppCommand::Open(sources.clone())));
                ui.close();
            }
        }
    });
    chosen
}
