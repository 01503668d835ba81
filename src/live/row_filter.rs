//! A filter of rows that are not in a store yet. Terms that need a store are rejected: those about the spans above a
//! row.

use super::pairs::{LiveNames, LiveRow};
use crate::model::TrackKind;
use crate::query::argument_path::value_text;
use crate::query::filter::{Filter, Term, Test};

/// A filter of rows as they arrive.
#[derive(Debug, Clone, Default)]
pub(crate) struct LiveFilter(Filter);

impl LiveFilter {
    /// Creates a filter. Returns a sentence about the first term that cannot be tested row by row.
    pub(crate) fn new(filter: Filter) -> Result<Self, String> {
        let needs_store = |term: &Term| match term.test {
            Test::Inside(_) => Some("in:"),
            Test::Within(_) => Some("within:"),
            _ => None,
        };
        match filter.terms.iter().find_map(needs_store) {
            Some(word) => Err(format!(
                "{word} needs a complete trace, because a span may be written after those in it: record the trace, \
                 and search the recording"
            )),
            None => Ok(Self(filter)),
        }
    }

    /// Returns whether a row matches; flow points never do.
    pub(crate) fn takes(&self, row: &LiveRow, names: &LiveNames) -> bool {
        !row.is_flow() && self.0.terms.iter().all(|term| holds(&term.test, row, names) != term.negated)
    }
}

fn holds(test: &Test, row: &LiveRow, names: &LiveNames) -> bool {
    match test {
        Test::Name(test) => test.holds(&row.name.text),
        Test::Category(test) => row.name.category.as_ref().is_some_and(|category| test.holds(category)),
        Test::Thread(test) => {
            let name = if row.track.kind == TrackKind::Thread { names.thread(&row.track) } else { &row.track.name };
            test.holds(name) || test.holds(&row.track.tid.to_string())
        }
        Test::Process(test) => test.holds(names.process(&row.track)) || test.holds(&row.track.pid.to_string()),
        Test::Duration(range) => range.contains(&row.dur_ns()),
        Test::Start(range) => range.contains(&row.ts_ns),
        Test::Argument { path, test } => {
            let args = serde_json::from_str(&row.args).unwrap_or_default();
            path.find(&args).is_some_and(|value| test.holds(&value_text(value)))
        }
        // Rejected by `new`.
        Test::Inside(_) | Test::Within(_) => false,
    }
}
