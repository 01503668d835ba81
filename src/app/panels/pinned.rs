//! The panels that are pinned to an earlier scope, for comparing: each has its own queries, which the queries of other
//! panels do not replace. They are not saved with the trace.

use super::Panels;
use super::set::PanelSet;
use crate::app::analysis::Analysis;
use crate::app::event::TaskId;
use crate::query::Snapshot;
use crate::store::live_lanes::LaneMoves;
use crate::ui::panel::{DockTab, Panel, PinId};
use crate::ui::panels::dock_panel::DockPanel;
use crate::ui::panels::scope_bar::scope_text;
use crate::ui::questions::{Question, QuestionKind};
use crate::ui::selected_scope::SelectedScope;
use crate::ui::timeline::state::Timeline;

/// Limit for the pinned panels of a trace, whose answers stay in memory.
pub(super) const PINNED_MAX: usize = 8;

/// A panel that keeps its scope.
pub(super) struct PinnedPanel {
    id: PinId,
    panel: Panel,
    pub(super) scope: SelectedScope,
    /// Describes the scope, without the kind of the panel.
    pub(super) title: String,
    pub(super) analysis: Analysis,
    /// Only one panel of the set is shown.
    pub(super) set: PanelSet,
}

impl PinnedPanel {
    #[must_use]
    pub(super) fn tab(&self) -> DockTab {
        DockTab { panel: self.panel, pin: Some(self.id) }
    }

    pub(super) fn panel_mut(&mut self) -> &mut dyn DockPanel {
        self.set.get_mut(self.panel)
    }

    /// Cancels its query; it keeps its partial results.
    pub(super) fn stop_query(&mut self) {
        for kind in self.set.get_mut(self.panel).stop() {
            self.analysis.stop(*kind);
        }
    }
}

/// The pinned panels of a trace, in the order in which they were pinned.
#[derive(Default)]
pub(super) struct PinnedPanels {
    list: Vec<PinnedPanel>,
    pinned: u32,
}

impl PinnedPanels {
    /// Moves a panel with its answers and its running queries out of the panels that follow the scope. `None` if it
    /// has no scope, or if too many are pinned.
    pub(super) fn pin(
        &mut self,
        panel: Panel,
        (scope, title): (SelectedScope, String),
        (set, analysis): (&mut PanelSet, &mut Analysis),
    ) -> Option<DockTab> {
        if !self.can_pin(panel) {
            return None;
        }
        self.pinned += 1;
        let queries = analysis.take_queries_of(panel);
        let pinned =
            PinnedPanel { id: PinId(self.pinned), panel, scope, title, analysis: queries, set: set.take(panel) };
        let tab = pinned.tab();
        self.list.push(pinned);
        Some(tab)
    }

    #[must_use]
    pub(super) fn can_pin(&self, panel: Panel) -> bool {
        can_pin(panel) && !self.is_full()
    }

    #[must_use]
    pub(super) fn is_full(&self) -> bool {
        self.list.len() >= PINNED_MAX
    }

    /// Drops a pinned panel and cancels its queries.
    pub(super) fn close(&mut self, id: PinId) {
        self.list.retain(|pinned| pinned.id != id);
    }

    /// Drops all pinned panels, because their scopes are of another trace.
    pub(super) fn clear(&mut self) {
        self.list.clear();
    }

    #[must_use]
    pub(super) fn get(&self, id: PinId) -> Option<&PinnedPanel> {
        self.list.iter().find(|pinned| pinned.id == id)
    }

    pub(super) fn get_mut(&mut self, id: PinId) -> Option<&mut PinnedPanel> {
        self.list.iter_mut().find(|pinned| pinned.id == id)
    }

    /// Returns the pinned panels of a kind.
    pub(super) fn of_panel_mut(&mut self, panel: Panel) -> impl Iterator<Item = &mut PinnedPanel> {
        self.list.iter_mut().filter(move |pinned| pinned.panel == panel)
    }

    pub(super) fn all_mut(&mut self) -> impl Iterator<Item = &mut PinnedPanel> {
        self.list.iter_mut()
    }

    /// Maps the rows of all answers, because lanes have moved.
    pub(super) fn move_rows(&mut self, moves: &LaneMoves) {
        self.list.iter_mut().for_each(|pinned| pinned.panel_mut().move_rows(moves));
    }

    #[must_use]
    pub(super) fn is_busy(&self) -> bool {
        self.list.iter().any(|pinned| pinned.analysis.is_busy())
    }

    /// Removes a running query with this id. Returns its panel, and the snapshot that it has read.
    pub(super) fn take_awaited(&mut self, id: TaskId, kind: QuestionKind) -> Option<(PinId, Snapshot)> {
        self.list.iter_mut().find_map(|pinned| Some((pinned.id, pinned.analysis.take_awaited(id, kind)?)))
    }
}

impl Panels {
    /// Closes the pinned panels, whose scopes are of another trace.
    pub(in crate::app) fn unpin_all(&mut self) {
        self.pinned.clear();
    }

    /// Returns whether the active panel is pinned.
    #[must_use]
    pub(in crate::app) fn is_pinned(&self) -> bool {
        self.dock.active(&self.open_tabs).is_some_and(|tab| tab.pin.is_some())
    }

    /// Returns whether the active panel is pinned or can be.
    #[must_use]
    pub(in crate::app) fn can_toggle_pin(&self) -> bool {
        let active = self.dock.active(&self.open_tabs);
        active.is_some_and(|tab| tab.pin.is_some() || self.pinned.can_pin(tab.panel))
    }

    /// Pins the active panel to the selected scope. If it is pinned already, closes it and opens the panel of its kind
    /// for the selected scope. If that panel was not open, it takes the settings of the pinned panel.
    pub(super) fn toggle_pin(&mut self, timeline: &Timeline) {
        let Some(DockTab { panel, pin }) = self.dock.active(&self.open_tabs) else { return };
        if let Some(id) = pin {
            if let Some(pinned) = self.pinned.get(id).filter(|_| !self.dock.is_open(panel)) {
                self.set.renew_like(panel, &pinned.set);
                // The queries of the replaced panel are cancelled.
                drop(self.analysis.take_queries_of(panel));
            }
            self.pinned.close(id);
            self.dock.open(panel);
            return;
        }
        let scope = timeline.scope().clone();
        let title = format!("of {}", scope_text(timeline, &scope));
        if let Some(tab) = self.pinned.pin(panel, (scope, title), (&mut self.set, &mut self.analysis)) {
            self.dock.close(panel);
            self.dock.activate(tab);
        }
    }

    /// Returns whether a tab belonged to a pinned panel that was closed.
    #[must_use]
    pub(in crate::app) fn is_closed(&self, tab: DockTab) -> bool {
        tab.pin.is_some_and(|id| self.pinned.get(id).is_none())
    }

    /// Returns the tab of the statistics that commands refer to: the active one, or the first that is open.
    #[must_use]
    pub(in crate::app) fn statistics_tab(&self) -> Option<DockTab> {
        let is_of_statistics = |tab: &DockTab| tab.panel == Panel::Statistics;
        let active = self.dock.active(&self.open_tabs).filter(is_of_statistics);
        let following = self.dock.is_open(Panel::Statistics).then(|| Panel::Statistics.into());
        let mut pinned = self.pinned.list.iter().map(PinnedPanel::tab);
        active.or(following).or_else(|| pinned.find(is_of_statistics))
    }

    /// Returns the scope of a pinned panel.
    #[must_use]
    pub(in crate::app) fn scope_of(&self, tab: DockTab) -> Option<&SelectedScope> {
        Some(&self.pinned.get(tab.pin?)?.scope)
    }

    /// Runs a query of a pinned panel.
    pub(super) fn ask_pinned(&mut self, pin: PinId, question: Question, snapshot: &Snapshot) {
        let id = self.next_id();
        if let Some(pinned) = self.pinned.get_mut(pin) {
            pinned.analysis.ask(id, question, snapshot, pinned.set.spans.hits(), &self.wake);
        }
    }
}

/// Returns whether a panel has a scope to keep.
#[must_use]
pub(super) fn can_pin(panel: Panel) -> bool {
    match panel {
        Panel::Statistics
        | Panel::Spans
        | Panel::Counters
        | Panel::Scheduling
        | Panel::HeatMap
        | Panel::Flame
        | Panel::Samples => true,
        // The details are of the selected span, and the search has the scope of its hits on the timeline.
        Panel::Details | Panel::Code | Panel::Symbols | Panel::Search => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pinned_panel_is_moved_and_at_most_eight_are_pinned() {
        let (mut set, mut analysis, mut pinned) = (PanelSet::default(), Analysis::default(), PinnedPanels::default());
        let mut pin = |pinned: &mut PinnedPanels, panel| {
            pinned.pin(panel, (SelectedScope::default(), "of all".to_owned()), (&mut set, &mut analysis))
        };
        assert_eq!(pin(&mut pinned, Panel::Details), None);
        let tabs: Vec<_> = (0..PINNED_MAX).filter_map(|_| pin(&mut pinned, Panel::Statistics)).collect();
        assert_eq!(tabs.len(), PINNED_MAX);
        assert!(tabs.iter().zip(&tabs[1..]).all(|(one, next)| one != next));
        assert!(pinned.is_full() && !pinned.can_pin(Panel::Flame));
        assert_eq!(pin(&mut pinned, Panel::Flame), None);
        let closed = tabs[3].pin.expect("a pin");
        pinned.close(closed);
        assert!(pinned.get(closed).is_none());
        // Numbers are not reused, so an answer to a closed panel reaches no other panel.
        assert!(pin(&mut pinned, Panel::Flame).is_some_and(|tab| !tabs.contains(&tab) && tab.pin != Some(closed)));
        assert_eq!(pinned.of_panel_mut(Panel::Statistics).count(), PINNED_MAX - 1);
    }
}
