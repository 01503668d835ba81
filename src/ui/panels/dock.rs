//! The dock below the timeline: a tab per open panel, one of them active. The user sets its height. Unless the panel is
//! maximised, the timeline keeps two fifths of the window, or half of the height that other bars leave.

use egui::epaint::text::FontsView;
use egui::{Button, Frame, Id, Rect, Role, ScrollArea, Sense, Ui, WidgetInfo, scroll_area};

use super::elided::{SCOPE_LETTERS, short_scope};
use super::table_keys::{offer_keyboard, take_keyboard};
use crate::base::direction::Direction;
use crate::scene::labels::shown;
use crate::ui::command::{AppCommand, Command, PanelCommand, ScopeCommand, SettingCommand, TimelineCommand};
use crate::ui::panel::{DockTab, OpenPanels, Panel};
use crate::ui::purpose::Purpose;
use crate::ui::selected_scope::SelectedScope;
use crate::ui::theme::Theme;
use crate::ui::widgets::letters::letter_width;
use crate::ui::widgets::tip_text::tip_text;

/// The reason why rows of another scope are not copied.
pub(super) const NOT_COUNTED: &str = "The rows of this scope are not counted yet";

/// Share of the window that the timeline keeps.
const TIMELINE_PART: f32 = 0.4;

/// Width of all panel actions side by side, in points.
const TOOLS_POINTS: f32 = 250.0;

/// Width of the menu of panel actions, used if they do not fit.
const TABLE_POINTS: f32 = 64.0;

/// Width of the button that maximises a panel.
const FULL_POINTS: f32 = 52.0;

/// Width of the button that pins a panel, and of the button that selects the scope of a pinned panel, in points.
const PIN_POINTS: f32 = 38.0;
const USE_SCOPE_POINTS: f32 = 74.0;

/// Minimum height of the dock in points, if there is space: its tabs, a panel's toolbar, a table header and some rows.
const POINTS_MIN: f32 = 140.0;

/// Height of the tabs with their margins, in points.
const HEADS_POINTS: f32 = 41.0;

/// Minimum height of a panel below the tabs, in points: a toolbar, a table header and some rows.
const CONTENT_POINTS_MIN: f32 = 100.0;

/// A tab as the dock shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DockHead {
    pub(crate) tab: DockTab,
    /// A count after the title; may be empty.
    pub(crate) count: String,
    pub(crate) pin: PinState,
    pub(crate) tools: PanelTools,
    /// Whether the answer belongs to the scope; otherwise it is neither copied nor exported.
    pub(crate) is_current: bool,
}

impl DockHead {
    fn title(&self) -> String {
        let gap = if self.count.is_empty() { "" } else { " " };
        let of = match &self.pin {
            PinState::Pinned { title, .. } => format!(" {}", short_scope(title, SCOPE_LETTERS)),
            PinState::None | PinState::Full | PinState::Free => String::new(),
        };
        format!("{}{of}{gap}{}", self.tab.panel.title(), self.count)
    }
}

/// Whether a panel keeps its scope.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PinState {
    /// The panel has no scope to keep.
    None,
    /// The panel follows the scope, and cannot be pinned, because too many panels are pinned.
    Full,
    /// The panel follows the scope, and can be pinned.
    Free,
    Pinned {
        title: String,
        /// The scope to select again; `None` if it is the selected one.
        scope: Option<Box<SelectedScope>>,
    },
}

impl PinState {
    /// Returns the width of the buttons in points, with gaps.
    fn width(&self) -> f32 {
        match self {
            Self::None => 0.0,
            Self::Full | Self::Free => PIN_POINTS,
            Self::Pinned { .. } => PIN_POINTS + USE_SCOPE_POINTS,
        }
    }

    /// Shows the button that pins a panel, and for a pinned one the button that selects its scope, right to left.
    fn show(&self, ui: &mut Ui) -> Option<Command> {
        let (is_pinned, is_enabled, hint) = match self {
            Self::None => return None,
            Self::Full => (false, false, "Too many panels are pinned: close one of them"),
            Self::Free => (false, true, "Keeps the panel on this scope; opening it again adds a tab"),
            Self::Pinned { .. } => (true, true, "Closes this tab, and opens the panel for the selected scope"),
        };
        let mut chosen = None;
        let button = ui.add_enabled(is_enabled, Button::selectable(is_pinned, "Pin"));
        button.widget_info(|| WidgetInfo::selected(Role::Button, is_enabled, is_pinned, "Pin panel"));
        if button.on_hover_text(hint).on_disabled_hover_text(hint).clicked() {
            chosen = Some(Command::Panel(PanelCommand::TogglePin));
        }
        if let Self::Pinned { title, scope } = self {
            let scope_text = tip_text(title.strip_prefix("of ").unwrap_or(title));
            let hint = format!("Selects the scope of this panel again: {scope_text}");
            let button = ui.add_enabled(scope.is_some(), Button::new("Use scope"));
            let button = button.on_hover_text(hint).on_disabled_hover_text("This scope is selected");
            if let Some(scope) = scope.as_ref().filter(|_| button.clicked()) {
                chosen = Some(Command::Timeline(TimelineCommand::Scope(ScopeCommand::Set(scope.clone()))));
            }
        }
        chosen
    }
}

/// The panel actions that the dock offers beside the tabs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct PanelTools {
    /// Whether the table or graph can be copied as shown.
    pub(crate) copies: bool,
    /// Whether the table or graph can be exported to a file.
    pub(crate) exports: bool,
    /// Whether a command line has the same result.
    pub(crate) has_command: bool,
}

impl PanelTools {
    pub(crate) const ALL: Self = Self { copies: true, exports: true, has_command: true };

    /// Shows the actions right to left, or top to bottom in a menu.
    fn show(self, ui: &mut Ui, tab: DockTab, is_current: bool) -> Option<Command> {
        let mut chosen = None;
        let mut entry = |(is_offered, is_enabled): (bool, bool), text: &str, hint: &str, command: AppCommand| {
            if !is_offered {
                return;
            }
            let button = ui.add_enabled(is_enabled, Button::new(text)).on_hover_text(hint);
            if button.on_disabled_hover_text(NOT_COUNTED).clicked() {
                chosen = Some(Command::App(command));
                ui.close();
            }
        };
        let same = "Copies the equivalent command line";
        entry((self.has_command, true), "Copy as command", same, AppCommand::CopyCommandLine(tab));
        let (purpose, whole, shown) = if tab.panel == Panel::Flame {
            let whole = "Writes the graph as SVG, folded stacks, JSON or a pprof profile, by file extension";
            (Purpose::FlameGraph(tab), whole, "Copies the paths as folded stacks, a line per path")
        } else {
            let whole = "Writes the whole table as CSV or JSON, by file extension";
            (
                Purpose::Table(tab),
                whole,
                "Copies the table, with the columns that do not fit; it pastes into a spreadsheet",
            )
        };
        entry((self.exports, is_current), "Export...", whole, AppCommand::Choose(purpose));
        entry((self.copies, is_current), "Copy", shown, AppCommand::CopyPanel(tab));
        chosen
    }
}

/// A move of the keyboard in the next frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum KeyboardMove {
    /// To the content of the active panel.
    In,
    /// Back to the timeline.
    Out,
}

/// The dock of a trace.
#[derive(Debug)]
pub(crate) struct Dock {
    /// The panels that follow the scope and that the user has opened, in no order.
    open: Vec<Panel>,
    /// The tabs by last activation, latest first.
    recent: Vec<DockTab>,
    /// Whether the user has opened or closed a panel.
    is_changed: bool,
    is_full: bool,
    /// The height during a drag of the edge, in points.
    dragged: Option<f32>,
    /// The tab that was scrolled into view last, and the width of the tab bar then.
    revealed: Option<(DockTab, f32)>,
    keyboard_move: Option<KeyboardMove>,
    /// Whether a part of the dock had the keyboard in the last frame.
    has_keyboard: bool,
    /// The tab to which the keyboard came from the timeline, and the direction of the steps then.
    entered: Option<(DockTab, Direction)>,
    /// The button of the active tab.
    active_button: Option<Id>,
}

impl Default for Dock {
    fn default() -> Self {
        let open = OpenPanels::initial().panels().to_vec();
        Self {
            open,
            recent: Vec::new(),
            is_changed: false,
            is_full: false,
            dragged: None,
            revealed: None,
            keyboard_move: None,
            has_keyboard: false,
            entered: None,
            active_button: None,
        }
    }
}

impl Dock {
    /// Default height in points: the tabs, both histograms and the longest spans of a name fit.
    pub(crate) const POINTS: u16 = 310;

    /// Returns the open panels, to be saved.
    #[must_use]
    pub(crate) fn to_saved(&self) -> OpenPanels {
        // Pinned panels end with the window, as their scopes do.
        let recent = self.recent.iter().filter(|tab| tab.pin.is_none()).map(|tab| tab.panel);
        let recent = recent.filter(|panel| self.is_open(*panel));
        // The order of panels that were never activated has no meaning.
        let others = Panel::ALL.into_iter().filter(|panel| self.is_open(*panel));
        OpenPanels::new(recent.chain(others))
    }

    /// Opens the saved panels, unless the user has already opened or closed one.
    pub(crate) fn restore(&mut self, saved: &OpenPanels) {
        if !self.is_changed {
            self.open = saved.panels().to_vec();
            self.recent = saved.panels().iter().copied().map(DockTab::from).collect();
        }
    }

    /// Returns whether the user has opened a panel and not closed it.
    #[must_use]
    pub(crate) fn is_open(&self, panel: Panel) -> bool {
        self.open.contains(&panel)
    }

    /// Opens a panel and activates it.
    pub(crate) fn open(&mut self, panel: Panel) {
        self.is_changed = true;
        if !self.is_open(panel) {
            self.open.push(panel);
        }
        self.activate(panel.into());
    }

    /// Opens a panel without activating it. The active panel of `shown`, the tabs of the last frame, stays active.
    pub(crate) fn open_behind(&mut self, panel: Panel, shown: &[DockTab]) {
        let active = self.active(shown);
        self.open(panel);
        active.into_iter().for_each(|tab| self.activate(tab));
    }

    pub(crate) fn close(&mut self, panel: Panel) {
        self.is_changed = true;
        self.open.retain(|other| *other != panel);
    }

    /// Closes a panel, or opens it. An open but inactive panel is activated instead. `shown` are the tabs of the last
    /// frame.
    pub(crate) fn toggle(&mut self, panel: Panel, shown: &[DockTab]) {
        let tab = panel.into();
        let is_behind = shown.contains(&tab) && self.active(shown) != Some(tab);
        if self.is_open(panel) && !is_behind { self.close(panel) } else { self.open(panel) }
    }

    /// Activates a tab once its panel is open.
    pub(crate) fn activate(&mut self, tab: DockTab) {
        self.recent.retain(|other| *other != tab);
        self.recent.insert(0, tab);
    }

    /// Drops pinned tabs that are no longer among `open`, as their numbers are not reused.
    fn forget_closed(&mut self, open: &[DockTab]) {
        self.recent.retain(|tab| tab.pin.is_none() || open.contains(tab));
    }

    /// Returns the active tab among `open`: the one that was activated last.
    #[must_use]
    pub(crate) fn active(&self, open: &[DockTab]) -> Option<DockTab> {
        let recent = self.recent.iter().copied().find(|tab| open.contains(tab));
        recent.or_else(|| open.first().copied())
    }

    /// Activates the next tab to the right or left, wrapping around, and gives its panel the keyboard. If the only
    /// panel has the keyboard, it returns the keyboard to the timeline.
    pub(crate) fn step(&mut self, open: &[DockTab], direction: Direction) {
        let Some(active) = self.active(open) else { return };
        let has_keyboard = self.keyboard_move.map_or(self.has_keyboard, |moved| moved == KeyboardMove::In);
        self.keyboard_move = Some(KeyboardMove::In);
        if !has_keyboard {
            self.entered = Some((active, direction));
            return;
        }
        let (entered, first_direction) = *self.entered.get_or_insert((active, direction));
        let at = open.iter().position(|tab| *tab == active).unwrap_or(0);
        let next = match direction {
            Direction::Forward => at + 1,
            Direction::Backward => at + open.len() - 1,
        };
        let next = open[next % open.len()];
        // A step back from the first panel leads to the timeline, as does a step on from the last one.
        let beside_timeline = if direction == first_direction { next } else { active };
        if entered == beside_timeline {
            self.keyboard_move = Some(KeyboardMove::Out);
        } else {
            self.activate(next);
        }
    }

    /// Maximises the panel, or restores the timeline.
    pub(crate) fn toggle_full(&mut self) {
        self.is_full = !self.is_full;
    }

    /// Restores the timeline. Returns whether a panel was maximised.
    pub(crate) fn leave_full(&mut self) -> bool {
        std::mem::take(&mut self.is_full)
    }

    #[must_use]
    pub(crate) fn is_full(&self) -> bool {
        self.is_full
    }

    /// Shows the tabs, and the active tab's `content` below. `points` is the saved height.
    pub(crate) fn show(
        &mut self,
        ui: &mut Ui,
        (frame, theme): (Frame, &Theme),
        heads: &[DockHead],
        points: u16,
        content: impl FnOnce(&mut Ui, DockTab),
    ) -> Vec<Command> {
        let open: Vec<_> = heads.iter().map(|head| head.tab).collect();
        self.forget_closed(&open);
        let Some(active) = self.active(&open) else {
            self.is_full = false;
            return Vec::new();
        };
        let mut commands = Vec::new();
        match self.keyboard_move.take() {
            Some(KeyboardMove::In) => {
                offer_keyboard(ui.ctx());
                self.has_keyboard = true;
            }
            Some(KeyboardMove::Out) => ui.memory_mut(|memory| {
                memory.focused().inspect(|focused| memory.surrender_focus(*focused));
            }),
            None => {}
        }
        let available = ui.available_height();
        let timeline = (TIMELINE_PART * ui.ctx().content_rect().height()).min(available / 2.0);
        let most = (available - timeline).max(HEADS_POINTS.min(available));
        let wanted = self.dragged.unwrap_or_else(|| f32::from(points));
        let height = if self.is_full { available } else { wanted.clamp(POINTS_MIN.min(most), most) };
        egui::Panel::bottom("dock").resizable(false).exact_size(height).frame(frame).show(ui, |ui| {
            let dock = ui.max_rect().expand2(egui::vec2(frame.inner_margin.leftf(), frame.inner_margin.topf()));
            commands.extend(self.drag_edge(ui, dock, most, theme));
            commands.extend(self.show_tab_row(ui, heads, active));
            // In a low window, the panel scrolls as a whole.
            let room = egui::vec2(ui.available_width(), ui.available_height().max(CONTENT_POINTS_MIN));
            let is_low = room.y > ui.available_height();
            let scrolls =
                ScrollArea::new([false, is_low]).id_salt("low panel").auto_shrink(false).min_scrolled_height(0.0);
            scrolls.show(ui, |ui| {
                ui.allocate_ui(room, |ui| ui.push_id(tab_id(active), |ui| content(ui, active)));
            });
            // Content without rows leaves the keyboard to its tab.
            if let Some(tab) = self.active_button.filter(|_| take_keyboard(ui.ctx())) {
                ui.memory_mut(|memory| memory.request_focus(tab));
            }
            self.has_keyboard = ui.memory(egui::Memory::focused).is_some_and(|focused| {
                // A widget that gets the keyboard before it is shown has no response yet.
                let shown = ui.ctx().read_response(focused);
                shown.map_or(self.has_keyboard, |shown| dock.contains(shown.rect.center()))
            });
            self.entered = self.entered.filter(|_| self.has_keyboard);
        });
        commands
    }

    fn show_tab_row(&mut self, ui: &mut Ui, heads: &[DockHead], active: DockTab) -> Vec<Command> {
        let mut commands = Vec::new();
        let Some(head) = heads.iter().find(|head| head.tab == active) else { return commands };
        let (tools, is_current) = (head.tools, head.is_current);
        ui.horizontal(|ui| {
            ui.spacing_mut().item_spacing.x = 2.0;
            ui.spacing_mut().button_padding.y = 2.0;
            let room = ui.available_width();
            let fixed_points = FULL_POINTS + head.pin.width();
            let is_wide = room - tabs_points(ui, heads) >= TOOLS_POINTS + fixed_points;
            let tools_points = match (tools == PanelTools::default(), is_wide) {
                (true, _) => 0.0,
                (false, true) => TOOLS_POINTS,
                (false, false) => TABLE_POINTS,
            };
            // Tabs that do not fit scroll; otherwise they would overlap the actions.
            let tabs_room = (room - fixed_points - tools_points).max(TABLE_POINTS);
            let hidden = scroll_area::ScrollBarVisibility::AlwaysHidden;
            let tabs = ScrollArea::horizontal().id_salt("tabs").max_width(tabs_room).scroll_bar_visibility(hidden);
            tabs.show(ui, |ui| ui.horizontal(|ui| self.show_tabs(ui, heads, active, tabs_room)));
            ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
                let response = ui.add(Button::selectable(self.is_full, "Full"));
                if response.on_hover_text("Maximizes the panel; Esc restores it").clicked() {
                    commands.push(PanelCommand::ToggleFull.into());
                }
                commands.extend(head.pin.show(ui));
                if tools == PanelTools::default() {
                    return;
                }
                if is_wide {
                    commands.extend(tools.show(ui, active, is_current));
                } else {
                    let inside = ui.menu_button("Table", |ui| tools.show(ui, active, is_current)).inner;
                    commands.extend(inside.flatten());
                }
            });
        });
        commands
    }

    /// Shows the tabs in some width, and scrolls to the active one when it changes.
    fn show_tabs(&mut self, ui: &mut Ui, heads: &[DockHead], active: DockTab, room: f32) {
        let reveals = self.revealed.replace((active, room)) != Some((active, room));
        for head in heads {
            let is_active = head.tab == active;
            let mut response = ui.add(Button::selectable(is_active, head.title()));
            let label = match &head.pin {
                PinState::Pinned { title, .. } => {
                    response = response.on_hover_text(tip_text(&format!("{} {title}, pinned", head.tab.panel.title())));
                    format!("{} {}, pinned panel", head.tab.panel.title(), shown(title))
                }
                PinState::None | PinState::Full | PinState::Free => format!("{} panel", head.tab.panel.title()),
            };
            response.widget_info(|| WidgetInfo::selected(Role::Tab, true, is_active, &label));
            if is_active {
                self.active_button = Some(response.id);
            }
            if is_active && reveals {
                response.scroll_to_me(None);
            }
            if response.clicked() {
                self.activate(head.tab);
            }
        }
    }

    /// Shows the upper edge, which the user drags.
    fn drag_edge(&mut self, ui: &Ui, dock: Rect, most: f32, theme: &Theme) -> Option<Command> {
        const GRIP_POINTS: f32 = 5.0;
        if self.is_full {
            return None;
        }
        let grip = dock.with_max_y(dock.top() + GRIP_POINTS);
        let response = ui.interact(grip, ui.scope_id().with("edge"), Sense::DRAG);
        response.widget_info(|| WidgetInfo::labeled(Role::Splitter, true, "Height of the panels"));
        if response.hovered() || response.dragged() {
            ui.set_cursor_icon(egui::CursorIcon::ResizeVertical);
            ui.painter().hline(dock.x_range(), dock.top() + 1.0, egui::Stroke::new(2.0, theme.accent));
        }
        if let Some(at) = response.interact_pointer_pos().filter(|_| response.dragged()) {
            self.dragged = Some((dock.bottom() - at.y).clamp(POINTS_MIN.min(most), most));
        }
        let points = self.dragged.take_if(|_| response.drag_stopped())?;
        Some(Command::Setting(SettingCommand::DockHeight(points.round() as u16)))
    }
}

/// Returns the identity of the content of a tab, so that each pinned panel has its own scroll position.
fn tab_id(tab: DockTab) -> (&'static str, u32) {
    (tab.panel.title(), tab.pin.map_or(0, |pin| pin.0))
}

/// Returns the width of all tabs side by side.
fn tabs_points(ui: &Ui, heads: &[DockHead]) -> f32 {
    let font = egui::TextStyle::Button.resolve(ui.style());
    let around = 2.0 * ui.spacing().button_padding.x + ui.spacing().item_spacing.x;
    let width = |fonts: &mut FontsView<'_>, title: &str| -> f32 {
        title.chars().map(|letter| letter_width(fonts, &font, letter)).sum()
    };
    ui.fonts_mut(|fonts| heads.iter().map(|head| width(fonts, &head.title()) + around).sum())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ui::panel::PinId;

    #[test]
    fn closing_a_tab_shows_the_previous_one() {
        let mut dock = Dock::default();
        assert_eq!(dock.active(&[]), None);
        dock.activate(Panel::Statistics.into());
        dock.activate(Panel::Search.into());
        let open = [Panel::Details, Panel::Statistics, Panel::Search].map(DockTab::from);
        assert_eq!(dock.active(&open), Some(Panel::Search.into()));
        assert_eq!(dock.active(&open[..2]), Some(Panel::Statistics.into()));
        assert_eq!(dock.active(&open[..1]), Some(Panel::Details.into()));
    }

    #[test]
    fn a_panel_behind_another_comes_to_the_front_before_it_closes() {
        let mut dock = Dock::default();
        let shown = |dock: &Dock| Panel::ALL.into_iter().filter(|panel| dock.is_open(*panel)).collect::<Vec<_>>();
        dock.toggle(Panel::Statistics, &[]);
        dock.toggle(Panel::Flame, &[Panel::Statistics.into()]);
        let tabs = [Panel::Statistics, Panel::Flame].map(DockTab::from);
        dock.toggle(Panel::Statistics, &tabs);
        assert_eq!((dock.active(&tabs), dock.is_open(Panel::Statistics)), (Some(Panel::Statistics.into()), true));
        dock.toggle(Panel::Statistics, &tabs);
        assert_eq!(shown(&dock), [Panel::Details, Panel::Flame]);
        // Details without a selected span have no tab, and close at once.
        dock.toggle(Panel::Details, &[Panel::Flame.into()]);
        assert_eq!(shown(&dock), [Panel::Flame]);
    }

    #[test]
    fn a_panel_opens_beside_a_pinned_one_of_its_kind() {
        let mut dock = Dock::default();
        let pinned = DockTab { panel: Panel::Statistics, pin: Some(PinId(1)) };
        dock.activate(pinned);
        dock.toggle(Panel::Statistics, &[pinned]);
        let tabs = [Panel::Statistics.into(), pinned];
        assert_eq!((dock.is_open(Panel::Statistics), dock.active(&tabs)), (true, Some(Panel::Statistics.into())));
        dock.toggle(Panel::Statistics, &tabs);
        assert_eq!((dock.is_open(Panel::Statistics), dock.active(&[pinned])), (false, Some(pinned)));
        assert_ne!(tab_id(pinned), tab_id(Panel::Statistics.into()));
    }

    #[test]
    fn saved_panels_are_opened_again_with_the_shown_one_in_front_unless_the_user_has_opened_others() {
        let mut dock = Dock::default();
        [Panel::Statistics, Panel::Flame, Panel::Search].into_iter().for_each(|panel| dock.open(panel));
        dock.activate(Panel::Statistics.into());
        let mut again = Dock::default();
        again.restore(&dock.to_saved());
        let tabs = [Panel::Statistics, Panel::Flame, Panel::Search];
        assert!(tabs.iter().all(|panel| again.is_open(*panel)));
        assert_eq!(again.active(&tabs.map(DockTab::from)), Some(Panel::Statistics.into()));
        assert_eq!(again.to_saved(), dock.to_saved());
        let mut other = Dock::default();
        other.open(Panel::Counters);
        other.restore(&dock.to_saved());
        assert!(other.is_open(Panel::Counters) && !other.is_open(Panel::Statistics));
        let mut closed = Dock::default();
        closed.open(Panel::Counters);
        closed.close(Panel::Counters);
        closed.restore(&dock.to_saved());
        assert!(!closed.is_open(Panel::Statistics), "opened and closed while the trace was loaded");
    }

    #[test]
    fn closed_pinned_tabs_are_forgotten_but_panels_that_may_open_again_are_not() {
        let mut dock = Dock::default();
        let pinned = [1, 2].map(|id| DockTab { panel: Panel::Statistics, pin: Some(PinId(id)) });
        pinned.into_iter().chain([Panel::Details.into()]).for_each(|tab| dock.activate(tab));
        dock.forget_closed(&pinned[1..]);
        assert_eq!(dock.recent, [Panel::Details.into(), pinned[1]]);
    }

    #[test]
    fn steps_go_from_the_timeline_through_all_panels_and_back() {
        let open = [Panel::Details, Panel::Statistics, Panel::Search].map(DockTab::from);
        let steps = |direction| {
            let mut dock = Dock::default();
            dock.activate(Panel::Statistics.into());
            let step = |_| {
                dock.step(&open, direction);
                let has_keyboard = dock.keyboard_move == Some(KeyboardMove::In);
                dock.active(&open).filter(|_| has_keyboard).map(|tab| tab.panel)
            };
            (0..5).map(step).collect::<Vec<_>>()
        };
        let [details, statistics, search] = [Panel::Details, Panel::Statistics, Panel::Search].map(Some);
        assert_eq!(steps(Direction::Forward), [statistics, search, details, None, details]);
        assert_eq!(steps(Direction::Backward), [statistics, details, search, None, search]);
        let mut dock = Dock::default();
        let there_and_back = [Direction::Forward, Direction::Forward, Direction::Backward, Direction::Backward];
        there_and_back.into_iter().for_each(|direction| dock.step(&open, direction));
        assert_eq!((dock.active(&open), dock.keyboard_move), (Some(open[0]), Some(KeyboardMove::Out)));
    }
}
