//! The table of spans by group, for `longspan stats` and for the statistics in the window. It has the columns, the
//! rows, and the order of rows with equal numbers.

use std::cmp::Ordering;

use super::values::TableValue;
use crate::model::Id;
use crate::query::Snapshot;
use crate::query::groups::{GroupBy, SpanGroup};
use crate::query::totals::{LabelCell, Totals, TotalsColumn, label_cells, label_columns};

/// The column after the numbers: the maximum relative error of a quantile.
const QUANTILE_ERROR: &str = "quantile_error";

/// Returns the columns of a table of these groups.
#[must_use]
pub(crate) fn group_columns(by: &GroupBy) -> Vec<&'static str> {
    label_columns(by).into_iter().chain(TotalsColumn::ALL.map(TotalsColumn::name)).chain([QUANTILE_ERROR]).collect()
}

/// Returns the values of a row of the totals, durations in nanoseconds.
#[must_use]
pub(crate) fn group_values<'a>(totals: &'a Totals, row: u32, snapshot: &'a Snapshot) -> Vec<TableValue<'a>> {
    let numbers = totals.at(row);
    let mut values: Vec<_> = label_cells(totals, totals.group_at(row), snapshot)
        .map(|cell| match cell {
            LabelCell::Nothing | LabelCell::Id(Id::None) => TableValue::Empty,
            LabelCell::Text(text) => TableValue::Text(text.into()),
            LabelCell::Id(Id::Number(number)) => TableValue::Whole((*number).into()),
            LabelCell::Id(Id::Text(text)) => TableValue::Text((&**text).into()),
        })
        .collect();
    // Pairs beyond the limit are one row without a label.
    values.resize_with(label_columns(totals.by()).len(), || TableValue::Empty);
    values.extend(numbers.numbers().map(TableValue::from_option));
    values.push(TableValue::Float(numbers.quantile_error()));
    values
}

/// Compares groups by label, and groups of the same label by their order in the trace.
#[must_use]
pub(crate) fn compare_groups(totals: &Totals, one: SpanGroup, other: SpanGroup, snapshot: &Snapshot) -> Ordering {
    label_cells(totals, one, snapshot).cmp(label_cells(totals, other, snapshot)).then(one.cmp(&other))
}
