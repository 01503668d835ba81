//! The names of the dock's panels and of its tabs. Each panel is registered in `src/app/panels/set.rs`.

/// A panel of the dock, left to right.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Panel {
    Details,
    Statistics,
    Spans,
    Counters,
    Scheduling,
    HeatMap,
    Flame,
    Samples,
    Code,
    Symbols,
    Search,
}

/// A panel that is pinned to a scope. Numbers count from 1, and are not reused in a tab of the window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PinId(pub(crate) u32);

/// A tab of the dock: a panel that follows the scope, or one that is pinned to an earlier scope.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DockTab {
    pub(crate) panel: Panel,
    pub(crate) pin: Option<PinId>,
}

impl From<Panel> for DockTab {
    fn from(panel: Panel) -> Self {
        Self { panel, pin: None }
    }
}

impl Panel {
    /// All panels in tab order. The length is that of the enum as long as `Search` is its last variant.
    pub(crate) const ALL: [Self; Self::Search as usize + 1] = [
        Self::Details,
        Self::Statistics,
        Self::Spans,
        Self::Counters,
        Self::Scheduling,
        Self::HeatMap,
        Self::Flame,
        Self::Samples,
        Self::Code,
        Self::Symbols,
        Self::Search,
    ];

    /// Returns the title of the tab.
    #[must_use]
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Details => "Details",
            Self::Statistics => "Statistics",
            Self::Spans => "Spans",
            Self::Counters => "Counters",
            Self::Scheduling => "Scheduling",
            Self::HeatMap => "Heat map",
            Self::Flame => "Flame graph",
            Self::Samples => "Samples",
            Self::Code => "Code",
            Self::Symbols => "Symbols",
            Self::Search => "Search",
        }
    }

    /// Returns the suffix of the suggested file name for its table.
    #[must_use]
    pub(crate) fn file_stem(self) -> &'static str {
        match self {
            Self::Details => "details",
            Self::Statistics => "statistics",
            Self::Spans => "spans",
            Self::Counters => "counters",
            Self::Scheduling => "scheduling",
            Self::HeatMap => "heat-map",
            Self::Flame => "flame-graph",
            Self::Samples => "samples",
            Self::Code => "code",
            Self::Symbols => "symbols",
            Self::Search => "hits",
        }
    }
}
