//! The names of the dock's panels. Each is registered in `src/app/panels/set.rs`.

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
