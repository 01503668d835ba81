//! The tabs of the dock: panels that follow the scope, and pinned panels, whose commands are addressed to them.

use egui::Ui;

use super::pinned::{PinnedPanels, can_pin};
use super::set::PanelSet;
use crate::ui::command::{AppCommand, Command, PanelCommand};
use crate::ui::panel::{DockTab, Panel, PinId};
use crate::ui::panels::PanelContext;
use crate::ui::panels::dock::{Dock, DockHead, PinState};
use crate::ui::panels::dock_panel::{DockPanel, PanelView};
use crate::ui::selected_scope::SelectedScope;

/// Shows a pinned panel. `view` belongs to the panels that follow the scope.
pub(super) fn show_pinned(ui: &mut Ui, all: &mut PinnedPanels, id: PinId, view: &PanelView<'_>) -> Vec<Command> {
    let Some(pinned) = all.get_mut(id) else { return Vec::new() };
    let tab = pinned.tab();
    let (scope, analysis) = (&pinned.scope, &pinned.analysis);
    let progress = |kind| analysis.progress(kind);
    let panel = pinned.set.get_mut(tab.panel);
    let context = PanelContext { is_current: panel.is_current(scope), ..view.context };
    let pinned_title = Some(&*pinned.title);
    let has_invalid_filter = false;
    let view = PanelView { scope, pinned: pinned_title, has_invalid_filter, progress: &progress, context, ..*view };
    let commands = panel.show(ui, &view);
    commands.into_iter().map(|command| address_to_pin(command, tab, id)).collect()
}

/// Returns a command of a pinned panel that is addressed to it, and not to the panel of its kind.
fn address_to_pin(command: Command, tab: DockTab, id: PinId) -> Command {
    if let Command::Panel(PanelCommand::Ask(question)) = command {
        return Command::Panel(PanelCommand::AskPinned(id, question));
    }
    if command == Command::Panel(PanelCommand::StopQuery(tab.panel)) {
        return Command::Panel(PanelCommand::StopPinned(id));
    }
    if command == Command::Panel(PanelCommand::Toggle(tab.panel)) {
        return Command::Panel(PanelCommand::ClosePinned(id));
    }
    if command == Command::App(AppCommand::CopyTable(tab.panel.into())) {
        return Command::App(AppCommand::CopyTable(tab));
    }
    command
}

/// Returns the tabs of the open panels with content. Pinned panels are to the right of the panel of their kind.
pub(super) fn heads(
    dock: &Dock,
    (set, pinned): (&mut PanelSet, &mut PinnedPanels),
    view: &PanelView<'_>,
) -> Vec<DockHead> {
    let is_full = pinned.is_full();
    let mut heads = Vec::new();
    for panel in Panel::ALL {
        let shown = set.get_mut(panel);
        if dock.is_open(panel) && shown.has_content(view) {
            let pin = match (can_pin(panel), is_full) {
                (false, _) => PinState::None,
                (true, true) => PinState::Full,
                (true, false) => PinState::Free,
            };
            heads.push(head_of(panel.into(), shown, pin, view.scope()));
        }
        for pinned in pinned.of_panel_mut(panel) {
            let scope = (pinned.scope != *view.scope()).then(|| Box::new(pinned.scope.clone()));
            let pin = PinState::Pinned { title: pinned.title.clone(), scope };
            let (tab, scope) = (pinned.tab(), pinned.scope.clone());
            heads.push(head_of(tab, pinned.panel_mut(), pin, &scope));
        }
    }
    heads
}

fn head_of(tab: DockTab, shown: &dyn DockPanel, pin: PinState, scope: &SelectedScope) -> DockHead {
    DockHead { tab, count: shown.count(), pin, tools: shown.tools(), is_current: shown.is_current(scope) }
}
