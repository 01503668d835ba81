//! The dock below the timeline: a tab for each panel that is open, one of them shown. Its height is the user's, and
//! leaves the timeline two fifths of the window, unless the panel is given all of the room.

use egui::{Button, Frame, Rect, RichText, Role, Sense, Ui, WidgetInfo};

use crate::ui::command::{AppCommand, Command, PanelCommand};
use crate::ui::theme::Theme;

/// The part of the window that stays with the timeline.
const TIMELINE_PART: f32 = 0.4;

/// The lowest dock, in points.
const POINTS_MIN: f32 = 80.0;

/// A panel of the dock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DockTab {
    Details,
    Statistics,
    Flame,
    Search,
}

impl DockTab {
    /// The tabs from left to right.
    pub(crate) const ALL: [Self; 4] = [Self::Details, Self::Statistics, Self::Flame, Self::Search];

    fn title(self) -> &'static str {
        match self {
            Self::Details => "Details",
            Self::Statistics => "Statistics",
            Self::Flame => "Flame graph",
            Self::Search => "Search",
        }
    }
}

/// A tab as the dock shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DockHead {
    pub(crate) tab: DockTab,
    /// A count after the title; empty where there is none.
    pub(crate) count: String,
}

/// The dock of a trace.
#[derive(Debug, Default)]
pub(crate) struct Dock {
    /// Tabs from the one that was shown last.
    recent: Vec<DockTab>,
    is_full: bool,
    /// The height during a drag of the edge, in points.
    dragged: Option<f32>,
}

impl Dock {
    /// The height of the dock before the user changes it, in points: below the tabs, the two histograms and the longest
    /// spans of a name fit.
    pub(crate) const POINTS: u16 = 310;

    /// Shows a tab once its panel is open.
    pub(crate) fn activate(&mut self, tab: DockTab) {
        self.recent.retain(|other| *other != tab);
        self.recent.insert(0, tab);
    }

    /// The tab that is shown, of those that are open: the one that was shown last.
    #[must_use]
    pub(crate) fn active(&self, open: &[DockTab]) -> Option<DockTab> {
        let recent = self.recent.iter().copied().find(|tab| open.contains(tab));
        recent.or_else(|| open.first().copied())
    }

    /// Shows the next tab to the right, or the one to the left; after the last comes the first.
    pub(crate) fn step(&mut self, open: &[DockTab], forward: bool) {
        let Some(active) = self.active(open) else { return };
        let at = open.iter().position(|tab| *tab == active).unwrap_or(0);
        let count = open.len();
        self.activate(open[if forward { (at + 1) % count } else { (at + count - 1) % count }]);
    }

    /// Gives the panel all of the room, or the timeline its part again.
    pub(crate) fn toggle_full(&mut self) {
        self.is_full = !self.is_full;
    }

    /// Gives the timeline its part again; says whether it had none.
    pub(crate) fn leave_full(&mut self) -> bool {
        std::mem::take(&mut self.is_full)
    }

    #[must_use]
    pub(crate) fn is_full(&self) -> bool {
        self.is_full
    }

    /// Shows the tabs, and the active tab's `content` in the room below. `points` is the saved height.
    pub(crate) fn show(
        &mut self,
        ui: &mut Ui,
        (frame, theme): (Frame, &Theme),
        heads: &[DockHead],
        points: u16,
        content: impl FnOnce(&mut Ui, DockTab),
    ) -> Vec<Command> {
        let open: Vec<_> = heads.iter().map(|head| head.tab).collect();
        let Some(active) = self.active(&open) else {
            self.is_full = false;
            return Vec::new();
        };
        let mut commands = Vec::new();
        let available = ui.available_height();
        let most = (available - TIMELINE_PART * ui.ctx().content_rect().height()).max(POINTS_MIN).min(available);
        let wanted = self.dragged.unwrap_or_else(|| f32::from(points));
        let height = if self.is_full { available } else { wanted.clamp(POINTS_MIN.min(most), most) };
        egui::Panel::bottom("dock").resizable(false).exact_size(height).frame(frame).show(ui, |ui| {
            let dock = ui.max_rect().expand2(egui::vec2(frame.inner_margin.leftf(), frame.inner_margin.topf()));
            commands.extend(self.drag_edge(ui, dock, most, theme));
            commands.extend(self.show_heads(ui, heads, active));
            ui.push_id(active.title(), |ui| content(ui, active));
        });
        commands
    }

    fn show_heads(&mut self, ui: &mut Ui, heads: &[DockHead], active: DockTab) -> Vec<Command> {
        let mut commands = Vec::new();
        ui.horizontal(|ui| {
            ui.spacing_mut().item_spacing.x = 2.0;
            ui.spacing_mut().button_padding.y = 2.0;
            for DockHead { tab, count } in heads {
                let title = tab.title();
                let gap = if count.is_empty() { "" } else { " " };
                let text = RichText::new(format!("{title}{gap}{count}"));
                let response = ui.add(Button::selectable(*tab == active, text));
                let label = format!("{title} panel");
                response.widget_info(|| WidgetInfo::selected(Role::Tab, true, *tab == active, &label));
                if response.clicked() {
                    self.activate(*tab);
                }
            }
            ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
                let response = ui.add(Button::selectable(self.is_full, "Full"));
                if response.on_hover_text("All of the room for the panel; Esc gives it back").clicked() {
                    commands.push(Command::Panel(PanelCommand::ToggleFull));
                }
            });
        });
        commands
    }

    /// The upper edge, which the user drags.
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
        Some(Command::App(AppCommand::KeepDockHeight(points.round() as u16)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tab_that_was_shown_before_comes_back_when_one_closes() {
        let mut dock = Dock::default();
        assert_eq!(dock.active(&[]), None);
        dock.activate(DockTab::Statistics);
        dock.activate(DockTab::Search);
        let open = [DockTab::Details, DockTab::Statistics, DockTab::Search];
        assert_eq!(dock.active(&open), Some(DockTab::Search));
        assert_eq!(dock.active(&open[..2]), Some(DockTab::Statistics));
        assert_eq!(dock.active(&open[..1]), Some(DockTab::Details));
    }

    #[test]
    fn steps_go_round() {
        let mut dock = Dock::default();
        let open = [DockTab::Details, DockTab::Statistics, DockTab::Search];
        let mut seen = Vec::new();
        for forward in [true, true, true, false, false] {
            dock.step(&open, forward);
            seen.extend(dock.active(&open));
        }
        assert_eq!(
            seen,
            [DockTab::Statistics, DockTab::Search, DockTab::Details, DockTab::Search, DockTab::Statistics]
        );
    }
}
