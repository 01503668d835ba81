//! Why a search lists no hits.

use super::SearchPanel;
use crate::query::Snapshot;
use crate::query::filter::Filter;
use crate::query::mistyped_key::filter_hint;

impl SearchPanel {
    /// Returns the reason for an empty list of a valid filter, and an action to take.
    #[must_use]
    pub(super) fn absence(&self, snapshot: &Snapshot) -> Option<String> {
        if let Some(failure) = &self.failure {
            return Some(failure.clone());
        }
        match &self.hits {
            Some(hits) if hits.total() == 0 => Some(match filter_hint(snapshot, &Filter::parse(&self.text).ok()?) {
                Some(hint) => format!("Nothing matches this filter: {hint}"),
                None if self.scope.is_whole() => "Nothing matches this filter: shorten it above.".to_owned(),
                None => "Nothing in the scope matches this filter: widen the scope, or shorten the filter.".to_owned(),
            }),
            Some(_) if self.ordered.hits().is_some_and(|hits| hits.is_empty()) => {
                Some("No hit is a span, so none has a duration.".to_owned())
            }
            _ => None,
        }
    }
}
