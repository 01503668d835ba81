//! The columns of the statistics table: the label of a group and its numbers.

use super::table_column::{NUMBER_POINTS, TableColumn};
use crate::query::totals::TotalsColumn;

/// A number of a group; `None` while its durations are being counted, or if it is unknown.
pub(super) type Number = Option<u128>;

/// A column of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum GroupColumn {
    Label,
    Count,
    Total,
    Share,
    Own,
    Mean,
    Median,
    P99,
    Min,
    Max,
    Distinct,
    Deviation,
    P90,
    P95,
    Unfinished,
}

impl GroupColumn {
    pub(super) const ALL: [Self; 15] = [
        Self::Label,
        Self::Count,
        Self::Total,
        Self::Share,
        Self::Own,
        Self::Mean,
        Self::Median,
        Self::P99,
        Self::Min,
        Self::Max,
        Self::Distinct,
        Self::Deviation,
        Self::P90,
        Self::P95,
        Self::Unfinished,
    ];

    /// Returns the column's number in totals; `None` for a label and a share.
    pub(super) fn number(self) -> Option<TotalsColumn> {
        match self {
            Self::Label | Self::Share => None,
            Self::Count => Some(TotalsColumn::Count),
            Self::Total => Some(TotalsColumn::Total),
            Self::Own => Some(TotalsColumn::Own),
            Self::Mean => Some(TotalsColumn::Mean),
            Self::Median => Some(TotalsColumn::Median),
            Self::P99 => Some(TotalsColumn::P99),
            Self::Min => Some(TotalsColumn::Min),
            Self::Max => Some(TotalsColumn::Max),
            Self::Distinct => Some(TotalsColumn::Distinct),
            Self::Deviation => Some(TotalsColumn::Deviation),
            Self::P90 => Some(TotalsColumn::P90),
            Self::P95 => Some(TotalsColumn::P95),
            Self::Unfinished => Some(TotalsColumn::Unfinished),
        }
    }

    pub(super) fn is_quantile(self) -> bool {
        matches!(self, Self::Median | Self::P90 | Self::P95 | Self::P99)
    }

    pub(super) fn is_count(self) -> bool {
        matches!(self, Self::Count | Self::Unfinished)
    }

    /// Returns whether the numbers of all groups have a meaningful sum.
    pub(super) fn has_sum(self) -> bool {
        matches!(self, Self::Count | Self::Total | Self::Own | Self::Distinct | Self::Unfinished)
    }
}

/// Width of a label of two names.
pub(super) const PAIR_POINTS: f32 = 260.0;

/// The columns of the table of spans by name. Labels have space for some twenty letters.
pub(super) const COLUMNS: [TableColumn; GroupColumn::ALL.len()] = [
    TableColumn::text("Name", 140.0),
    TableColumn::number("Count", NUMBER_POINTS),
    TableColumn::number("Total", NUMBER_POINTS),
    TableColumn::number("Share", 58.0).unsortable(),
    TableColumn::number("Self", NUMBER_POINTS),
    TableColumn::number("Mean", NUMBER_POINTS),
    TableColumn::number("p50", NUMBER_POINTS),
    TableColumn::number("p99", NUMBER_POINTS),
    TableColumn::number("Min", NUMBER_POINTS),
    TableColumn::number("Max", NUMBER_POINTS),
    TableColumn::number("Distinct", NUMBER_POINTS),
    TableColumn::number("Deviation", NUMBER_POINTS),
    TableColumn::number("p90", NUMBER_POINTS),
    TableColumn::number("p95", NUMBER_POINTS),
    TableColumn::number("Unfinished", NUMBER_POINTS),
];

/// Column of the default sort order.
pub(super) const FIRST_SORTED: usize = GroupColumn::Total as usize;
