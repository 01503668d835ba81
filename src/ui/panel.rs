//! The names of the dock's panels and of its tabs, and which panels are open. Each panel is registered in
//! `src/app/panels/set.rs`.

use serde::{Deserialize, Serialize};

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

/// A tab of the dock: a panel that follows the scope, or a panel that is pinned to an earlier scope.
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
    /// All panels in tab order. The length equals the number of variants as long as `Search` is the last variant.
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

/// The open panels, saved until the trace is opened again: the last activated one first.
///
/// The code is left out, because the function that it shows is not saved.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(from = "Vec<String>", into = "Vec<String>")]
pub(crate) struct OpenPanels(Vec<Panel>);

impl OpenPanels {
    /// Collects open panels, the last activated one first.
    pub(crate) fn new(panels: impl IntoIterator<Item = Panel>) -> Self {
        let mut open = Vec::new();
        for panel in panels.into_iter().filter(|panel| *panel != Panel::Code) {
            if !open.contains(&panel) {
                open.push(panel);
            }
        }
        Self(open)
    }

    /// Returns the panels of a trace that is opened for the first time: the details, which appear once a span is
    /// selected.
    #[must_use]
    pub(crate) fn initial() -> Self {
        Self(vec![Panel::Details])
    }

    /// Returns the panels without one of them.
    #[must_use]
    pub(crate) fn without(mut self, panel: Panel) -> Self {
        self.0.retain(|other| *other != panel);
        self
    }

    /// Returns the panels, the last activated one first.
    #[must_use]
    pub(crate) fn panels(&self) -> &[Panel] {
        &self.0
    }
}

impl From<Vec<String>> for OpenPanels {
    /// Skips unknown names, which a later version may have written.
    fn from(names: Vec<String>) -> Self {
        let named = |name: &String| Panel::ALL.into_iter().find(|panel| panel.file_stem() == name);
        Self::new(names.iter().filter_map(named))
    }
}

impl From<OpenPanels> for Vec<String> {
    fn from(open: OpenPanels) -> Self {
        open.0.into_iter().map(|panel| panel.file_stem().to_owned()).collect()
    }
}

/// The search panel in its saved form.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct SavedSearch {
    /// The typed filter; empty if it is too long to be saved.
    pub(crate) text: String,
    /// Whether the longest hits are listed instead of all in time order.
    pub(crate) is_longest: bool,
}

impl SavedSearch {
    /// Limit for the text. A part of a longer text would be another filter, so a longer text is not saved.
    const TEXT_BYTES_MAX: usize = 4096;

    #[must_use]
    pub(crate) fn new(text: &str, is_longest: bool) -> Self {
        let text = if text.len() <= Self::TEXT_BYTES_MAX { text.to_owned() } else { String::new() };
        Self { text, is_longest }
    }
}

/// The saved state of the panels of a trace.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct SavedPanels {
    pub(crate) open: OpenPanels,
    pub(crate) search: SavedSearch,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_search_that_is_too_long_is_not_saved_in_part() {
        let text = |length| SavedSearch::new(&"a".repeat(length), false).text.len();
        assert_eq!([0, 7, 4096, 4097, 1 << 20].map(text), [0, 7, 4096, 0, 0]);
    }

    #[test]
    fn open_panels_are_saved_by_name_and_unknown_ones_are_skipped() {
        let all = OpenPanels::new(Panel::ALL);
        let text = serde_json::to_string(&all).unwrap();
        assert_eq!(serde_json::from_str::<OpenPanels>(&text).unwrap(), all);
        let edited = r#"["statistics","teleport","code","hits","statistics","details"]"#;
        let read: OpenPanels = serde_json::from_str(edited).unwrap();
        assert_eq!(read.panels(), [Panel::Statistics, Panel::Search, Panel::Details]);
    }
}
