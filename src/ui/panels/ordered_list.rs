//! The first rows of a list in an order other than time. A limited number is queried, and more once the last one is in
//! view.

use std::sync::Arc;

use crate::base::time::grouped_digits;
use crate::query::ordered_rows::ListOrder;
use crate::query::search::{Hit, moved_hits};
use crate::store::lane::RowIdx;
use crate::store::live_lanes::LaneMoves;

/// Number of rows to list initially, and factor by which it grows when the end is reached.
const ROWS_FIRST: usize = 1_000;
const ROWS_STEP: usize = 4;

/// Limit for the rows: 4 MiB. Beyond it, a narrower scope is more useful.
const ROWS_MAX: usize = 100_000;

/// The rows and the number that was queried.
#[derive(Debug)]
pub(super) struct OrderedList {
    /// `None` until the answer arrives.
    hits: Option<Arc<Vec<Hit>>>,
    queried: usize,
    /// The queried number of the last answer.
    answered: usize,
    /// Whether the query for more has failed or was stopped. It is repeated after the end was out of view.
    has_failed: bool,
}

impl Default for OrderedList {
    fn default() -> Self {
        Self { hits: None, queried: ROWS_FIRST, answered: ROWS_FIRST, has_failed: false }
    }
}

impl OrderedList {
    #[must_use]
    pub(super) fn hits(&self) -> Option<&Arc<Vec<Hit>>> {
        self.hits.as_ref()
    }

    pub(super) fn set_hits(&mut self, hits: Arc<Vec<Hit>>) {
        (self.hits, self.answered, self.has_failed) = (Some(hits), self.queried, false);
    }

    /// Notes that the last query has failed or was stopped.
    pub(super) fn fail(&mut self) {
        (self.queried, self.has_failed) = (self.answered, true);
    }

    /// Maps the rows, because lanes have moved.
    pub(super) fn move_rows(&mut self, moves: &LaneMoves) {
        if let Some(hits) = &mut self.hits {
            *hits = Arc::new(moved_hits(hits, moves));
        }
    }

    /// Returns the number of rows to query.
    #[must_use]
    pub(super) fn query_len(&self) -> usize {
        self.queried
    }

    /// Returns a larger number of rows to query, once the last one is in view and if there may be more.
    pub(super) fn grow(&mut self, last_shown: Option<u64>) -> Option<usize> {
        let count = self.hits.as_ref()?.len();
        let is_at_end = last_shown.is_some_and(|last| last + 1 >= count as u64);
        self.has_failed &= is_at_end;
        if !is_at_end || self.has_failed || count < self.queried || self.queried >= ROWS_MAX {
            return None;
        }
        self.queried = (self.queried * ROWS_STEP).min(ROWS_MAX);
        Some(self.queried)
    }

    /// Returns the index of a row in the list.
    #[must_use]
    pub(super) fn position(&self, row: RowIdx) -> Option<u64> {
        let number = self.hits.as_ref()?.iter().position(|hit| hit.row == row)?;
        Some(number as u64)
    }

    /// Returns the number of rows as text. It is a lower bound while more are queried.
    #[must_use]
    pub(super) fn count_text(&self, order: ListOrder, is_asking: bool) -> String {
        match &self.hits {
            None => String::new(),
            Some(hits) if hits.len() < self.queried && !is_asking => grouped_digits(hits.len() as u64),
            Some(hits) if order == ListOrder::LONGEST => format!("the {} longest", grouped_digits(hits.len() as u64)),
            Some(hits) => format!("the first {}", grouped_digits(hits.len() as u64)),
        }
    }

    /// Returns the options of `longspan spans` that list the same spans, if they are the longest.
    #[must_use]
    pub(super) fn command_options(&self) -> Vec<String> {
        let count = self.hits.as_ref().map_or(ROWS_FIRST, |hits| hits.len()).max(1);
        vec!["--longest".to_owned(), count.to_string()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::NameIdx;
    use crate::store::lane::LaneIdx;

    fn hits(count: u64) -> Arc<Vec<Hit>> {
        let hit = |row| Hit { row: RowIdx { lane: LaneIdx(0), row }, start_ns: 0, dur_ns: 0, name: NameIdx(0) };
        Arc::new((0..count).map(hit).collect())
    }

    #[test]
    fn a_list_whose_extension_was_stopped_is_not_said_to_be_complete_and_grows_later() {
        let mut list = OrderedList::default();
        list.set_hits(hits(1000));
        assert_eq!(list.grow(Some(999)), Some(4000));
        list.fail();
        assert_eq!(list.count_text(ListOrder::LONGEST, false), "the 1\u{2009}000 longest");
        // The user has stopped the query, and has not scrolled since.
        assert_eq!((list.grow(Some(999)), list.grow(Some(10)), list.grow(Some(999))), (None, None, Some(4000)));
        list.set_hits(hits(1500));
        assert_eq!(
            (list.count_text(ListOrder::LONGEST, false).as_str(), list.grow(Some(1499))),
            ("1\u{2009}500", None)
        );
    }
}
