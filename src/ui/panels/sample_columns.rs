//! The columns of the sample table: of functions, modules, threads, events and calls, and of a call tree of spans.

use super::table_column::{NUMBER_POINTS, TableColumn};
use crate::query::sample_table::SampleBy;

/// The content of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SampleColumn {
    Name,
    /// The module or category, or another second text.
    SecondaryText,
    Own,
    OwnShare,
    Total,
    TotalShare,
    OwnSamples,
    Samples,
    Spans,
    /// Mean time of the spans.
    Mean,
}

pub(super) const COLUMN_COUNT: usize = 8;

/// The columns of samples, in the order of the table.
const OF_SAMPLES: [SampleColumn; COLUMN_COUNT] = {
    use SampleColumn::{Name, Own, OwnSamples, OwnShare, Samples, SecondaryText, Total, TotalShare};
    [Name, SecondaryText, Own, OwnShare, Total, TotalShare, OwnSamples, Samples]
};

/// The columns of spans, in the order of the statistics.
const OF_SPANS: [SampleColumn; COLUMN_COUNT] = {
    use SampleColumn::{Mean, Name, Own, OwnShare, SecondaryText, Spans, Total, TotalShare};
    [Name, Spans, Total, TotalShare, Own, OwnShare, Mean, SecondaryText]
};

impl SampleColumn {
    /// Returns the content of a column of samples or spans.
    pub(super) fn at(column: usize, is_of_spans: bool) -> Self {
        if is_of_spans { OF_SPANS[column] } else { OF_SAMPLES[column] }
    }
}

/// Columns of the default sort order: the self weight of groups, and the total of calls, of samples and of spans.
pub(super) const FIRST_SORTED: usize = 2;
pub(super) const FIRST_SORTED_CALLS: usize = 4;
pub(super) const FIRST_SORTED_SPANS: usize = 2;

/// Returns the columns; the first two depend on the grouping.
const fn titled(name: &'static str, secondary_text: &'static str) -> [TableColumn; COLUMN_COUNT] {
    [
        TableColumn::text(name, 180.0),
        TableColumn::text(secondary_text, 110.0),
        TableColumn::number("Self", NUMBER_POINTS).meaning("Samples in the code itself, not in its callees."),
        TableColumn::number("Self share", 66.0).unsortable().meaning("Self as a share of all samples of the scope."),
        TableColumn::number("Total", NUMBER_POINTS)
            .meaning("Samples in the code and in its callees. Recursion counts once."),
        TableColumn::number("Total share", 70.0).unsortable().meaning("Total as a share of all samples of the scope."),
        TableColumn::number("Self samples", 84.0).meaning("Number of samples of Self, regardless of their weights."),
        TableColumn::number("Samples", 70.0).meaning("Number of samples of Total, regardless of their weights."),
    ]
}

/// Width of calls, with room for their indentation, in points.
const CALL_POINTS: f32 = 320.0;

const BY_FUNCTION: [TableColumn; COLUMN_COUNT] = titled("Function", "Module");
const BY_MODULE: [TableColumn; COLUMN_COUNT] = titled("Module", "Kind");
const BY_THREAD: [TableColumn; COLUMN_COUNT] = titled("Thread", "Process");
const BY_EVENT: [TableColumn; COLUMN_COUNT] = titled("Event", "Unit");
const BY_CALL: [TableColumn; COLUMN_COUNT] = {
    let mut columns = titled("Call", "Module");
    columns[0].width = CALL_POINTS;
    columns
};

/// The columns of a call tree of spans.
const SPANS: [TableColumn; COLUMN_COUNT] = [
    TableColumn::text("Name", CALL_POINTS),
    TableColumn::number("Count", 70.0).meaning("Number of spans with this path, also of those that the scope cuts."),
    TableColumn::number("Total", NUMBER_POINTS)
        .meaning("Time of these spans with the spans below them, only the part within the scope."),
    TableColumn::number("Total share", 72.0).unsortable().meaning("Total as a share of all spans of the scope."),
    TableColumn::number("Self", NUMBER_POINTS)
        .meaning("Time of these spans without the spans below them, only the part within the scope."),
    TableColumn::number("Self share", 68.0).unsortable().meaning("Self as a share of all spans of the scope."),
    TableColumn::number("Mean", NUMBER_POINTS)
        .meaning("Total divided by Count: the mean duration, only the part within the scope."),
    TableColumn::text("Category", 100.0).hide_rank(1),
];

/// The columns of an inverted call tree of spans.
const INVERTED_SPANS: [TableColumn; COLUMN_COUNT] = {
    let mut columns = SPANS;
    columns[1].meaning = "Number of spans of the first level that have these callers.";
    columns[2].meaning = "Self time of the spans of the first level that have these callers, only the part within the \
                          scope.";
    columns[4].meaning = "Self time of the spans of the first level; callers have none here.";
    columns[6].meaning = "Total divided by Count: the mean self time, only the part within the scope.";
    columns
};

/// Returns the columns of a call tree of spans.
pub(super) fn span_columns(is_inverted: bool) -> &'static [TableColumn] {
    if is_inverted { &INVERTED_SPANS } else { &SPANS }
}

/// Returns the columns of samples.
pub(super) fn columns(by: SampleBy) -> &'static [TableColumn] {
    match by {
        SampleBy::Function => &BY_FUNCTION,
        SampleBy::Module => &BY_MODULE,
        SampleBy::Thread => &BY_THREAD,
        SampleBy::Event => &BY_EVENT,
        SampleBy::CallTree | SampleBy::InvertedCallTree => &BY_CALL,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_sorted_by_a_number_that_their_title_names() {
        for (columns, first, is_of_spans, title) in [
            (&BY_FUNCTION, FIRST_SORTED, false, "Self"),
            (&BY_CALL, FIRST_SORTED_CALLS, false, "Total"),
            (&SPANS, FIRST_SORTED_SPANS, true, "Total"),
            (&INVERTED_SPANS, FIRST_SORTED_SPANS, true, "Total"),
        ] {
            let expected = if title == "Self" { SampleColumn::Own } else { SampleColumn::Total };
            assert_eq!((columns[first].title, SampleColumn::at(first, is_of_spans)), (title, expected));
        }
    }

    #[test]
    fn texts_are_on_the_left_and_every_number_of_spans_has_a_meaning() {
        for (columns, is_of_spans) in [(&BY_CALL, false), (&SPANS, true), (&INVERTED_SPANS, true)] {
            for (index, column) in columns.iter().enumerate() {
                let is_text =
                    matches!(SampleColumn::at(index, is_of_spans), SampleColumn::Name | SampleColumn::SecondaryText);
                assert_eq!(column.is_number, !is_text, "{}", column.title);
                assert_eq!(column.meaning.is_empty(), is_text, "{}", column.title);
            }
        }
    }
}
