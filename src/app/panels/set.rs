//! The panels of the dock, each registered once, with a field and an arm. Everything else uses their trait.

use crate::ui::panel::Panel;
use crate::ui::panels::code::CodePanel;
use crate::ui::panels::counters::CountersPanel;
use crate::ui::panels::dock_panel::{DetailsTab, DockPanel};
use crate::ui::panels::flame::FlamePanel;
use crate::ui::panels::heat_map::HeatMapPanel;
use crate::ui::panels::samples::SamplesPanel;
use crate::ui::panels::scheduling::SchedulingPanel;
use crate::ui::panels::search::SearchPanel;
use crate::ui::panels::spans::SpansPanel;
use crate::ui::panels::statistics::StatisticsPanel;
use crate::ui::panels::symbols::SymbolsPanel;

/// The panels of a tab.
#[derive(Default)]
pub(super) struct PanelSet {
    pub(super) details: DetailsTab,
    pub(super) statistics: StatisticsPanel,
    pub(super) spans: SpansPanel,
    pub(super) counters: CountersPanel,
    pub(super) scheduling: SchedulingPanel,
    pub(super) heat_map: HeatMapPanel,
    pub(super) flame: FlamePanel,
    pub(super) samples: SamplesPanel,
    pub(super) code: CodePanel,
    pub(super) symbols: SymbolsPanel,
    pub(super) search: SearchPanel,
}

impl PanelSet {
    /// Moves a panel into a separate set. A new panel with the same settings remains.
    pub(super) fn take(&mut self, panel: Panel) -> Self {
        let mut own = Self::default();
        own.renew_like(panel, self);
        self.swap(panel, &mut own);
        own
    }

    /// Replaces a panel by a new one without answers, with the settings of the panel in another set.
    pub(super) fn renew_like(&mut self, panel: Panel, other: &Self) {
        match panel {
            Panel::Statistics => self.statistics = other.statistics.with_same_settings(),
            Panel::Spans => self.spans = other.spans.with_same_settings(),
            Panel::Counters => self.counters = other.counters.with_same_settings(),
            Panel::Scheduling => self.scheduling = other.scheduling.with_same_settings(),
            Panel::HeatMap => self.heat_map = other.heat_map.with_same_settings(),
            Panel::Flame => self.flame = other.flame.with_same_settings(),
            Panel::Samples => self.samples = other.samples.with_same_settings(),
            // These panels are never pinned.
            Panel::Details | Panel::Code | Panel::Symbols | Panel::Search => {}
        }
    }

    fn swap(&mut self, panel: Panel, other: &mut Self) {
        use std::mem::swap;
        match panel {
            Panel::Statistics => swap(&mut self.statistics, &mut other.statistics),
            Panel::Spans => swap(&mut self.spans, &mut other.spans),
            Panel::Counters => swap(&mut self.counters, &mut other.counters),
            Panel::Scheduling => swap(&mut self.scheduling, &mut other.scheduling),
            Panel::HeatMap => swap(&mut self.heat_map, &mut other.heat_map),
            Panel::Flame => swap(&mut self.flame, &mut other.flame),
            Panel::Samples => swap(&mut self.samples, &mut other.samples),
            // These panels are never pinned.
            Panel::Details | Panel::Code | Panel::Symbols | Panel::Search => {}
        }
    }

    pub(super) fn get_mut(&mut self, panel: Panel) -> &mut dyn DockPanel {
        match panel {
            Panel::Details => &mut self.details,
            Panel::Statistics => &mut self.statistics,
            Panel::Spans => &mut self.spans,
            Panel::Counters => &mut self.counters,
            Panel::Scheduling => &mut self.scheduling,
            Panel::HeatMap => &mut self.heat_map,
            Panel::Flame => &mut self.flame,
            Panel::Samples => &mut self.samples,
            Panel::Code => &mut self.code,
            Panel::Symbols => &mut self.symbols,
            Panel::Search => &mut self.search,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::groups::GroupBy;

    #[test]
    fn every_panel_with_a_query_of_its_own_can_stop_it() {
        let mut set = PanelSet::default();
        for panel in Panel::ALL {
            // The details need no query.
            let has_none = panel == Panel::Details;
            assert_eq!(set.get_mut(panel).stop().is_empty(), has_none, "{}", panel.title());
        }
    }

    #[test]
    fn a_panel_that_is_moved_leaves_one_with_the_same_settings() {
        let mut set = PanelSet::default();
        set.statistics.group_by("thread".parse::<GroupBy>().unwrap());
        set.spans.list_instants();
        let statistics = set.statistics.command_line();
        assert_ne!(StatisticsPanel::default().command_line(), statistics);
        let own = set.take(Panel::Statistics);
        assert_eq!([&own, &set].map(|set| set.statistics.command_line()), [statistics.clone(), statistics]);
        // A list with instants has no command line.
        assert!(SpansPanel::default().command_line().is_some());
        let own = set.take(Panel::Spans);
        assert_eq!([&own, &set].map(|set| set.spans.command_line()), [None, None]);
    }
}
