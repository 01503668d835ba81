//! The columns of the statistics table: the label of a group and its numbers.

use super::table_column::{NUMBER_POINTS, TableColumn};
use crate::query::totals::TotalsColumn;

/// A number of a group; `None` while its durations are being counted, or if it is unknown.
pub(super) type Number = Option<u128>;

/// A column of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum GroupColumn {
    Label,
    /// Share of a group in the whole of a number; see [`Shares`].
    Share,
    Number(TotalsColumn),
}

impl GroupColumn {
    /// The column of the default sort order.
    pub(super) const TOTAL: Self = Self::Number(TotalsColumn::Total);

    /// All columns in the order of the table. Files have the order of [`TotalsColumn::ALL`], which scripts rely on.
    const ORDER: [Self; 2 + TotalsColumn::ALL.len()] = [
        Self::Label,
        Self::Number(TotalsColumn::Count),
        Self::Number(TotalsColumn::Total),
        Self::Share,
        Self::Number(TotalsColumn::Own),
        Self::Number(TotalsColumn::Mean),
        Self::Number(TotalsColumn::Min),
        Self::Number(TotalsColumn::Median),
        Self::Number(TotalsColumn::P90),
        Self::Number(TotalsColumn::P95),
        Self::Number(TotalsColumn::P99),
        Self::Number(TotalsColumn::Max),
        Self::Number(TotalsColumn::Deviation),
        Self::Number(TotalsColumn::Distinct),
        Self::Number(TotalsColumn::Unfinished),
    ];

    /// Returns the column at an index.
    pub(super) fn at(index: usize) -> Self {
        Self::ORDER[index]
    }

    /// Returns the index of the column.
    pub(super) fn index(self) -> usize {
        Self::ORDER.iter().position(|&column| column == self).expect("the order has all columns")
    }

    /// Returns the column's number in totals; `None` for a label and a share.
    pub(super) fn number(self) -> Option<TotalsColumn> {
        match self {
            Self::Label | Self::Share => None,
            Self::Number(number) => Some(number),
        }
    }

    pub(super) fn is_quantile(self) -> bool {
        QUANTILES.iter().any(|&(number, _)| self == Self::Number(number))
    }

    pub(super) fn is_count(self) -> bool {
        matches!(self, Self::Number(TotalsColumn::Count | TotalsColumn::Unfinished))
    }

    /// Returns whether the numbers of all groups have a meaningful sum.
    pub(super) fn has_sum(self) -> bool {
        self.number().is_some_and(|number| SUMMED.contains(&number))
    }
}

/// The numbers whose sum over groups has a meaning.
pub(super) const SUMMED: [TotalsColumn; 5] =
    [TotalsColumn::Count, TotalsColumn::Total, TotalsColumn::Own, TotalsColumn::Distinct, TotalsColumn::Unfinished];

/// The number that the share column refers to, and its whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Shares {
    pub(super) part: TotalsColumn,
    /// The number whose sum over all groups is the whole.
    pub(super) whole: TotalsColumn,
}

impl Shares {
    /// Returns the shares of a number with a sum. Totals count nested spans twice, so their whole is the sum of self
    /// times. That is the time of the outermost spans, and more where children of one span overlap. If spans are left
    /// out, self times lack their time.
    pub(super) fn of(part: TotalsColumn, omits_spans: bool) -> Self {
        let counts_nested = matches!(part, TotalsColumn::Total | TotalsColumn::Distinct);
        Self { part, whole: if counts_nested && !omits_spans { TotalsColumn::Own } else { part } }
    }

    /// Returns whether the shares of all groups add up to one.
    pub(super) fn has_sum(self) -> bool {
        self.part == self.whole
    }

    /// Returns the column with the title and the tooltip of these shares.
    pub(super) fn column(self, column: TableColumn) -> TableColumn {
        let (title, of_self, of_sum) = match self.part {
            TotalsColumn::Count => ("Count share", "", "Count as a part of the count of all groups."),
            TotalsColumn::Own => ("Self share", "", "Self time as a part of the self time of all groups."),
            TotalsColumn::Distinct => (
                "Distinct share",
                "Distinct time as a part of the self time of all groups. That is the time of the outermost spans, and \
                 more where children of one span overlap. Nested spans count for each of their groups, so the shares \
                 may add up to more than 100 %.",
                "Distinct time as a part of the sum of all groups.",
            ),
            TotalsColumn::Unfinished => ("Unfinished share", "", "Number as a part of the number of all groups."),
            TotalsColumn::Total
            | TotalsColumn::Mean
            | TotalsColumn::Median
            | TotalsColumn::P99
            | TotalsColumn::Min
            | TotalsColumn::Max
            | TotalsColumn::Deviation
            | TotalsColumn::P90
            | TotalsColumn::P95 => (
                "Total share",
                "Total as a part of the self time of all groups. That is the time of the outermost spans, and more \
                 where children of one span overlap. Nested spans count for each of their groups, so the shares may \
                 add up to more than 100 %.",
                "Total as a part of the sum of all groups. The filter of the scope or the argument of the groups leaves \
                 spans out, so the time of the outermost spans is unknown.",
            ),
        };
        TableColumn { title, meaning: if self.has_sum() { of_sum } else { of_self }, ..column }
    }
}

/// The quantiles with their titles when they come from sketches.
pub(super) const QUANTILES: [(TotalsColumn, &str); 4] = [
    (TotalsColumn::Median, "~p50"),
    (TotalsColumn::P90, "~p90"),
    (TotalsColumn::P95, "~p95"),
    (TotalsColumn::P99, "~p99"),
];

/// Width of a label of two names.
pub(super) const PAIR_POINTS: f32 = 260.0;

/// The columns of the table of spans by name. Labels have space for some 28 letters. The least used numbers are
/// hidden where they do not fit.
pub(super) const COLUMNS: [TableColumn; GroupColumn::ORDER.len()] = [
    TableColumn::text("Name", 186.0),
    number("Count"),
    number("Total").meaning(
        "Sum of the durations, only the part within the scope. A span inside another one of its group counts too, \
             unlike in Distinct.",
    ),
    // The rows set its title and its meaning.
    TableColumn::number("Share", 68.0).unsortable().meaning("Share of the whole."),
    number("Self")
        .meaning("Sum of the durations without the time in which child spans run, only the part within the scope."),
    number("Mean").meaning("Mean duration of whole spans, also of those that reach beyond the scope."),
    number("Min").meaning("Shortest duration of whole spans, also of those that reach beyond the scope.").hide_rank(2),
    quantile("p50")
        .meaning("Median of whole spans: half of them take at most this long. ~ marks a value within 3.1 %."),
    quantile("p90")
        .meaning("90 % of the spans, as a whole, take at most this long. ~ marks a value within 3.1 %.")
        .hide_rank(4),
    quantile("p95")
        .meaning("95 % of the spans, as a whole, take at most this long. ~ marks a value within 3.1 %.")
        .hide_rank(6),
    quantile("p99").meaning("99 % of the spans, as a whole, take at most this long. ~ marks a value within 3.1 %."),
    number("Max").meaning(
        "Longest duration of whole spans, also of those that reach beyond the scope. So it may be more than the total, \
         which is clipped to the scope.",
    ),
    number("Deviation")
        .meaning("Standard deviation of the durations of whole spans, as a measure of how much they differ.")
        .hide_rank(5),
    number("Distinct")
        .meaning(
            "Time in which at least one span of the group is open on its track, only the part within the scope: \
             recursion counts once.",
        )
        .hide_rank(3),
    TableColumn::number("Unfinished", 70.0).meaning("Number of spans without an end in the trace.").hide_rank(1),
];

const fn number(title: &'static str) -> TableColumn {
    TableColumn::number(title, NUMBER_POINTS)
}

/// Quantiles are durations of few letters, so that all columns fit in a window of 1280 points.
const fn quantile(title: &'static str) -> TableColumn {
    TableColumn::number(title, 70.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_whose_title_is_not_plain_has_a_meaning() {
        let plain = ["Name", "Count"];
        let without = COLUMNS.iter().filter(|column| column.meaning.is_empty()).map(|column| column.title);
        assert_eq!(without.collect::<Vec<_>>(), plain);
    }

    #[test]
    fn each_number_of_durations_says_whether_it_is_clipped_to_the_scope() {
        let clipped = [TotalsColumn::Total, TotalsColumn::Own, TotalsColumn::Distinct];
        for number in TotalsColumn::ALL.into_iter().filter(|&number| !GroupColumn::Number(number).is_count()) {
            let column = COLUMNS[GroupColumn::Number(number).index()];
            let is_clipped = column.meaning.contains("only the part within the scope");
            assert_eq!(is_clipped, clipped.contains(&number), "{}", column.title);
            let is_whole = column.meaning.contains("whole");
            assert_eq!(is_whole, !is_clipped, "{}", column.title);
        }
    }

    #[test]
    fn names_and_the_most_used_numbers_fit_beside_the_facts_of_a_name() {
        // The width of the table in a window of 1280 points.
        const AVAILABLE_POINTS: f32 = 776.0;
        let spare = COLUMNS.iter().filter(|column| column.hide_rank > 0).map(|column| column.width).sum::<f32>();
        let all = COLUMNS.iter().map(|column| column.width).sum::<f32>();
        assert!(COLUMNS[0].width >= 180.0 && all - spare <= AVAILABLE_POINTS, "{all} {spare}");
    }

    #[test]
    fn the_share_column_says_what_it_is_a_share_of() {
        for number in SUMMED {
            for omits_spans in [false, true] {
                let column = Shares::of(number, omits_spans).column(COLUMNS[GroupColumn::Share.index()]);
                let name = number.name();
                assert_eq!(column.title.to_lowercase(), format!("{name} share"));
                assert!(column.meaning.len() > 20, "{name} {omits_spans}");
                let mentions_sum = column.meaning.contains("more than 100 %");
                assert_eq!(mentions_sum, !Shares::of(number, omits_spans).has_sum(), "{name} {omits_spans}");
            }
        }
    }

    #[test]
    fn each_index_is_that_of_its_column_and_has_its_title() {
        for index in 0..COLUMNS.len() {
            assert_eq!(GroupColumn::at(index).index(), index);
        }
        let title = |column: GroupColumn| COLUMNS[column.index()].title;
        let titles = [GroupColumn::Label, GroupColumn::Share, GroupColumn::TOTAL].map(title);
        assert_eq!(titles, ["Name", "Share", "Total"]);
        for number in TotalsColumn::ALL {
            assert_eq!(title(GroupColumn::Number(number)).to_lowercase(), number.name());
        }
    }
}
