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
