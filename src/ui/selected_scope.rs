//! The part of the trace that the user has selected: time, tracks and a filter.

use std::sync::Arc;

use crate::model::TrackSet;
use crate::query::Snapshot;
use crate::query::drawn_unit::AxisUnit;
use crate::query::filter::Filter;
use crate::query::matcher::Matcher;
use crate::query::scope::Scope;

/// A time range, from its first nanosecond to the first after it; `None` for the whole trace.
pub(crate) type TimeRange = Option<(i64, i64)>;

/// The selected part of the trace. Clones are cheap.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct SelectedScope {
    pub(crate) range: TimeRange,
    pub(crate) tracks: TrackSet,
    /// A valid filter; may be empty.
    pub(crate) filter: Arc<str>,
}

impl SelectedScope {
    /// Returns whether nothing is selected, so that queries cover the whole trace.
    #[must_use]
    pub(crate) fn is_whole(&self) -> bool {
        self.range.is_none() && self.tracks.is_all() && self.filter.is_empty()
    }

    /// Converts to a scope of a trace, with another filter in addition. Compiles both filters.
    #[must_use]
    pub(crate) fn with_filter(&self, snapshot: &Snapshot, more: &str) -> Scope {
        // Panels accept only valid filters.
        let filters = [&*self.filter, more].map(|text| Filter::parse(text).unwrap_or_default());
        let terms = filters.into_iter().flat_map(|filter| filter.terms).collect();
        let range = Scope::from_range(self.range.map(|(from_ns, _)| from_ns), self.range.map(|(_, to_ns)| to_ns));
        Scope { tracks: self.tracks.clone(), ..range }.matching(Matcher::new(snapshot, &Filter { terms }))
    }

    /// Returns the scope of the rows that match another filter too.
    #[must_use]
    pub(crate) fn with_more(&self, more: &str) -> Self {
        Self { filter: joined_filter(&self.filter, more).into(), ..self.clone() }
    }

    /// Describes the scope, for the title of a panel. `unit` is that of the trace.
    #[must_use]
    pub(crate) fn title(&self, unit: &AxisUnit) -> String {
        match self.range {
            None if self.is_whole() => "of the whole trace".to_owned(),
            Some((from_ns, to_ns)) if self.tracks.is_all() && self.filter.is_empty() => {
                let length = unit.length_text(to_ns.abs_diff(from_ns));
                length.map_or_else(|| "of the selection".to_owned(), |length| format!("of the selected {length}"))
            }
            _ => "of the scope".to_owned(),
        }
    }
}

/// Returns a filter of rows that match both filters, either of which may be empty.
pub(crate) fn joined_filter(filter: &str, more: &str) -> String {
    format!("{filter} {more}").trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_is_joined_to_that_of_the_scope_without_blanks_around_it() {
        let scope =
            |filter: &str| SelectedScope { range: Some((1, 2)), filter: filter.into(), ..SelectedScope::default() };
        assert_eq!(scope("").with_more("name:a "), scope("name:a"));
        assert_eq!(scope("dur>1ms").with_more(""), scope("dur>1ms"));
        assert_eq!(scope("dur>1ms").with_more("name:a"), scope("dur>1ms name:a"));
    }
}
