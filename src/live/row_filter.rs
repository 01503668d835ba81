//! A filter of rows that are not in a store yet. Terms that need a store are rejected: terms about the spans above a
//! row, and about flows.

use super::pairs::RowValue;
use super::session::SourceRow;
use crate::model::TrackKind;
use crate::model::args::has_members;
use crate::query::filter::{Filter, RowData, Term, Test};

/// The reason for the end of a recording once a row passes its filter.
pub(crate) const UNTIL_MET: &str = "a row passes --until: the recording ends";

/// A filter of rows as they arrive.
#[derive(Debug, Clone, Default)]
pub(crate) struct LiveFilter(Filter);

impl LiveFilter {
    /// Creates a filter. Returns a sentence about the first term that cannot be tested row by row.
    pub(crate) fn new(filter: Filter) -> Result<Self, String> {
        let needs_store = |term: &Term| match term.test {
            Test::Inside(_) => Some(("in:", "children")),
            Test::Within(_) => Some(("within:", "children")),
            Test::Has(RowData::Flow) => Some(("has:flow", "flows")),
            Test::Start(start) if start.absolute().is_none() => Some(("start and +T", "successors")),
            Test::Name(_)
            | Test::Category(_)
            | Test::Failed
            | Test::Thread(_)
            | Test::Process(_)
            | Test::Duration(_)
            | Test::Start(_)
            | Test::Argument { .. }
            | Test::Has(RowData::Arguments | RowData::Stack) => None,
        };
        match filter.terms.iter().find_map(needs_store) {
            Some((word, others)) => Err(format!(
                "{word} needs a complete trace, because a span may be written after its {others}: record the trace, \
                 and search the recording"
            )),
            None => Ok(Self(filter)),
        }
    }

    /// Returns whether a row matches; flow points never do.
    pub(crate) fn takes(&self, row: &SourceRow<'_>) -> bool {
        !row.row.is_flow() && self.0.terms.iter().all(|term| holds(&term.test, row) != term.negated)
    }
}

fn holds(test: &Test, source_row: &SourceRow<'_>) -> bool {
    let &SourceRow { row, names, .. } = source_row;
    match test {
        Test::Name(test) => test.holds(&row.name.text),
        Test::Failed => row.name.is_failed,
        Test::Category(test) => row.name.category.as_ref().is_some_and(|category| test.holds(category)),
        Test::Thread(test) => {
            let is_of_thread = matches!(row.track.kind, TrackKind::Thread | TrackKind::State);
            let name = if is_of_thread { names.thread(&row.track) } else { &row.track.name };
            test.holds(name) || test.holds(&row.track.tid.to_string())
        }
        Test::Process(test) => test.holds_process(names.process(&row.track), &row.track.pid),
        Test::Duration(range) => range.contains(&row.dur_ns(source_row.now_ns)),
        Test::Start(start) => start.absolute().is_some_and(|range| range.contains(&row.ts_ns)),
        Test::Argument { path, test } => {
            let args = serde_json::from_str(&row.args).unwrap_or_default();
            path.find(&args).is_some_and(|value| test.holds_value(value))
        }
        Test::Has(RowData::Arguments) => has_members(&row.args),
        Test::Has(RowData::Stack) => matches!(&row.value, RowValue::Sample(stack) if !stack.is_empty()),
        // Rejected by `new`.
        Test::Inside(_) | Test::Within(_) | Test::Has(RowData::Flow) => false,
    }
}
