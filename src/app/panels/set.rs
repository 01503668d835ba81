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
    /// Moves a panel into a set of its own. A new one with the same settings remains.
    pub(super) fn take(&mut self, panel: Panel) -> Self {
        use std::mem::{replace, take};
        let mut own = Self::default();
        match panel {
            Panel::Details => own.details = take(&mut self.details),
            Panel::Statistics => {
                let next = self.statistics.with_same_settings();
                own.statistics = replace(&mut self.statistics, next);
            }
            Panel::Spans => own.spans = take(&mut self.spans),
            Panel::Counters => own.counters = take(&mut self.counters),
            Panel::Scheduling => own.scheduling = take(&mut self.scheduling),
            Panel::HeatMap => own.heat_map = take(&mut self.heat_map),
            Panel::Flame => {
                let next = self.flame.with_same_settings();
                own.flame = replace(&mut self.flame, next);
            }
            Panel::Samples => own.samples = take(&mut self.samples),
            Panel::Code => own.code = take(&mut self.code),
            Panel::Symbols => own.symbols = take(&mut self.symbols),
            Panel::Search => own.search = take(&mut self.search),
        }
        own
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
