//! The lines of the statistics table, one per group of spans, and their order by a column. There may be a million, so a
//! line is small: its texts and numbers are looked up in the totals when it is shown.

use std::borrow::Cow;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::elided::LABEL_SEPARATOR;
use super::group_columns::{GroupColumn, Number, SUMMED};
use super::group_label::{category_label, group_label};
use super::table_order::{TableData, TableSort, matching_rows, sort_rows};
use crate::base::cancel::{Cancel, Cancelled};
use crate::export::group_table::{compare_groups, group_values};
use crate::export::values::TableValue;
use crate::query::Snapshot;
use crate::query::groups::{GroupBy, NameKey, SpanGroup};
use crate::query::totals::{NameTotals, Totals, TotalsColumn};

/// Numbers of a group: counts, and durations in nanoseconds.
const NUMBERS: usize = TotalsColumn::ALL.len();

/// Lines between two checks for cancellation.
const LINES_BETWEEN_CHECKS: usize = 1 << 14;

/// A line of the table.
#[derive(Debug, Clone, Copy)]
pub(super) struct GroupLine {
    pub(super) group: SpanGroup,
    /// Row of the group in the totals.
    row: u32,
    /// Whether the quantiles come from a sketch.
    pub(super) is_sketched: bool,
    /// Whether names of other categories have the same label.
    pub(super) has_category: bool,
}

/// The lines with their totals and trace.
#[derive(Debug, Clone)]
pub struct GroupLines {
    totals: Arc<Totals>,
    snapshot: Snapshot,
    /// In the order of their groups.
    lines: Vec<GroupLine>,
    /// Sums of all lines, by column of numbers; `None` if no line has the number.
    sums: [Number; NUMBERS],
    /// Whether instants start in the scope; only known without lines.
    has_instants: bool,
}

/// Properties of the matching lines as a whole.
#[derive(Debug, Default)]
pub struct GroupTableFacts {
    /// Sums of the matching lines; `None` if no line has the number.
    pub(super) sums: [Number; NUMBERS],
    /// The largest number of the sort column.
    pub(super) largest: u128,
    /// Whether quantiles of a line come from a sketch.
    pub(super) has_sketched: bool,
    /// Whether several lines have one name, in different categories.
    pub(super) has_category: bool,
    /// Whether a line has some of the words only in the category beside its label.
    pub(super) has_words_in_category: bool,
}

impl GroupLines {
    /// Creates the lines of some totals. A million take a second.
    ///
    /// # Errors
    /// Returns `Cancelled` if cancelled.
    pub(crate) fn new(totals: Arc<Totals>, snapshot: &Snapshot, cancel: &Cancel) -> Result<Self, Cancelled> {
        let (mut lines, mut sums) = (Vec::new(), [None; NUMBERS]);
        for (row, group, sum) in totals.numbered() {
            if lines.len().is_multiple_of(LINES_BETWEEN_CHECKS) {
                cancel.check()?;
            }
            add(&mut sums, sum);
            lines.push(GroupLine { group, row, is_sketched: sum.quantile_error() > 0.0, has_category: false });
        }
        lines.sort_unstable_by_key(|line| line.group);
        let mut lines = Self { totals, snapshot: snapshot.clone(), lines, sums, has_instants: false };
        lines.mark_categories(cancel)?;
        Ok(lines)
    }

    /// Records whether instants start in the scope.
    pub(crate) fn with_instants(self, has_instants: bool) -> Self {
        Self { has_instants, ..self }
    }

    pub(super) fn has_instants(&self) -> bool {
        self.has_instants
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    pub(super) fn totals(&self) -> &Arc<Totals> {
        &self.totals
    }

    pub(super) fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    pub(super) fn all(&self) -> &[GroupLine] {
        &self.lines
    }

    /// Returns the sums of all lines, for columns with a meaningful sum.
    pub(super) fn sums(&self) -> &[Number; NUMBERS] {
        &self.sums
    }

    /// Returns the totals of a line.
    pub(super) fn numbers(&self, line: GroupLine) -> &NameTotals {
        self.totals.at(line.row)
    }

    /// Returns the values of a line in a file.
    pub(super) fn values(&self, line: GroupLine) -> Vec<TableValue<'_>> {
        group_values(&self.totals, line.row, &self.snapshot)
    }

    /// Returns the label of a line, and a tooltip, which may be empty.
    pub(super) fn label(&self, line: GroupLine) -> (String, String) {
        group_label(&self.totals, line.group, &self.snapshot)
    }

    /// Returns the label with the category that tells it apart.
    pub(super) fn text(&self, line: GroupLine) -> String {
        let label = self.label(line).0;
        if line.has_category { format!("{label}{LABEL_SEPARATOR}{}", self.category(line)) } else { label }
    }

    /// Returns the line of a group.
    pub(super) fn line_of(&self, group: SpanGroup) -> Option<GroupLine> {
        self.lines.binary_search_by_key(&group, |line| line.group).ok().map(|index| self.lines[index])
    }

    fn category(&self, line: GroupLine) -> &str {
        category_label(self.snapshot.names().get(line.group.name).category)
    }

    /// Marks lines whose label belongs to names in several categories.
    fn mark_categories(&mut self, cancel: &Cancel) -> Result<(), Cancelled> {
        let &GroupBy::Keys { name: Some(NameKey::Name), track } = self.totals.by() else { return Ok(()) };
        let (snapshot, totals) = (&self.snapshot, &self.totals);
        let label = |line: &GroupLine| match track {
            None => Cow::Borrowed(snapshot.names().get(line.group.name).text),
            Some(_) => Cow::Owned(group_label(totals, line.group, snapshot).0),
        };
        let mut names = FxHashMap::default();
        let mut repeated = FxHashSet::default();
        for (number, line) in self.lines.iter().enumerate() {
            if number.is_multiple_of(LINES_BETWEEN_CHECKS) {
                cancel.check()?;
            }
            match names.entry(label(line)) {
                Entry::Vacant(entry) => {
                    entry.insert(line.group.name);
                }
                Entry::Occupied(entry) if *entry.get() == line.group.name => {}
                Entry::Occupied(entry) => {
                    repeated.insert(entry.key().clone());
                }
            }
        }
        if repeated.is_empty() {
            return Ok(());
        }
        let has_category = |line: &GroupLine| line.group != SpanGroup::OTHERS && repeated.contains(&label(line));
        let marks: Vec<bool> = self.lines.iter().map(has_category).collect();
        self.lines.iter_mut().zip(marks).for_each(|(line, mark)| line.has_category = mark);
        Ok(())
    }
}

impl TableData for GroupLines {
    type Facts = GroupTableFacts;

    fn count(&self) -> usize {
        self.lines.len()
    }

    fn order(&self, sort: &TableSort, cancel: &Cancel) -> Result<(Vec<u32>, GroupTableFacts), Cancelled> {
        let has_words = |line| sort.words.is_empty() || self.text(line).to_lowercase().contains(&sort.words);
        let mut rows = matching_rows(self.lines.len(), cancel, |row| has_words(self.lines[row]))?;
        let number = |column: usize, line| self.numbers(line).number(GroupColumn::at(column).number()?);
        match sort.column {
            Some((column, ascending)) if GroupColumn::at(column) == GroupColumn::Label => {
                let key = |row: usize| {
                    let line = self.lines[row];
                    (self.label(line).0, if line.has_category { self.category(line) } else { "" })
                };
                sort_rows(&mut rows, ascending, cancel, key, Ord::cmp)?;
            }
            Some((column, ascending)) => {
                // Equal numbers are in the order of `longspan stats`.
                let key = |row: usize| (number(column, self.lines[row]), self.lines[row].group);
                let label = |a: SpanGroup, b: SpanGroup| {
                    let order = compare_groups(&self.totals, a, b, &self.snapshot);
                    if ascending { order } else { order.reverse() }
                };
                sort_rows(&mut rows, ascending, cancel, key, |a, b| a.0.cmp(&b.0).then_with(|| label(a.1, b.1)))?;
            }
            None => {}
        }
        let mut facts = GroupTableFacts::default();
        let has_words_in_label = |line: GroupLine| {
            sort.words.is_empty() || !line.has_category || self.label(line).0.to_lowercase().contains(&sort.words)
        };
        let is_repeated = rows.len() > 1;
        for &row in &rows {
            let line = self.lines[row as usize];
            add(&mut facts.sums, self.numbers(line));
            facts.has_sketched |= line.is_sketched;
            facts.has_category |= is_repeated && line.has_category;
            facts.has_words_in_category |= !has_words_in_label(line);
        }
        // The lines are in the order of the column, so the largest is at an end.
        let ends = [rows.first(), rows.last()].into_iter().flatten();
        let numbers = ends.filter_map(|&row| number(sort.column?.0, self.lines[row as usize]));
        facts.largest = numbers.max().unwrap_or(0);
        Ok((rows, facts))
    }
}

/// Adds the numbers of a group to sums. Quantiles and the like have no sum.
fn add(sums: &mut [Number; NUMBERS], of: &NameTotals) {
    for column in SUMMED {
        if let Some(value) = of.number(column) {
            let sum = &mut sums[column as usize];
            *sum = Some(sum.unwrap_or(0).saturating_add(value));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::table_order::OrderedRows;
    use super::*;
    use crate::base::progress::Progress;
    use crate::query::scope::Scope;
    use crate::query::totals::{GrowingTotals, add_up};

    fn lines_of(json: &str, by: &str) -> Arc<GroupLines> {
        let snapshot = crate::scene::tests::snapshot(json);
        let growing = GrowingTotals::grouped(by.parse().unwrap());
        add_up(&snapshot, &Scope::default(), &growing, &Cancel::default(), &Progress::default()).unwrap();
        Arc::new(GroupLines::new(Arc::new(growing.so_far()), &snapshot, &Cancel::default()).unwrap())
    }

    fn ordered(lines: &Arc<GroupLines>, column: GroupColumn, ascending: bool, words: &str) -> OrderedRows<GroupLines> {
        let sort = TableSort { column: Some((column.index(), ascending)), words: words.to_owned() };
        OrderedRows::new(Arc::clone(lines), sort, &Cancel::default()).unwrap()
    }

    fn texts(ordered: &OrderedRows<GroupLines>) -> Vec<String> {
        let lines = &ordered.data;
        ordered.rows.iter().map(|&row| lines.text(lines.all()[row as usize])).collect()
    }

    const TRACE: &str = r#"[
        {"ph":"X","name":"b","cat":"net","pid":1,"tid":1,"ts":0,"dur":50},
        {"ph":"X","name":"a","cat":"io","pid":1,"tid":1,"ts":100,"dur":30},
        {"ph":"X","name":"b","cat":"io","pid":1,"tid":2,"ts":200,"dur":10},
        {"ph":"X","name":"c","cat":"io","pid":1,"tid":2,"ts":300,"dur":10}]"#;

    #[test]
    fn lines_are_sorted_by_number_or_label_and_ambiguous_names_have_their_category() {
        let lines = lines_of(TRACE, "name");
        assert_eq!(texts(&ordered(&lines, GroupColumn::TOTAL, false, "")), ["b  ·  net", "a", "b  ·  io", "c"]);
        assert_eq!(lines.sums()[..3], [4, 100_000, 100_000].map(Some));
        // Equal totals are sorted by label.
        let by_total = ordered(&lines, GroupColumn::TOTAL, true, "");
        assert_eq!(texts(&by_total), ["b  ·  io", "c", "a", "b  ·  net"]);
        assert_eq!((by_total.facts.sums, by_total.facts.largest), (*lines.sums(), 50_000));
        assert_eq!(texts(&ordered(&lines, GroupColumn::Label, true, "")), ["a", "b  ·  io", "b  ·  net", "c"]);
        let by_label = ordered(&lines, GroupColumn::Label, false, "");
        assert_eq!(texts(&by_label), ["c", "b  ·  net", "b  ·  io", "a"]);
        let totals: Vec<_> =
            by_label.rows.iter().map(|&row| lines.numbers(lines.all()[row as usize]).total_ns).collect();
        assert_eq!(totals, [10_000, 50_000, 10_000, 30_000]);
    }

    #[test]
    fn words_match_names_and_their_categories_and_sums_are_of_the_matching_lines() {
        let lines = lines_of(TRACE, "name");
        let io = ordered(&lines, GroupColumn::TOTAL, false, "io");
        assert_eq!(texts(&io), ["b  ·  io"], "a category counts only where it is shown");
        assert!(io.facts.has_words_in_category);
        assert_eq!((io.facts.sums[..2].to_vec(), io.facts.has_category), (vec![Some(1), Some(10_000)], false));
        let both = ordered(&lines, GroupColumn::Number(TotalsColumn::Count), true, "b");
        assert!(!both.facts.has_words_in_category);
        assert_eq!((both.facts.sums[..2].to_vec(), both.facts.has_category), (vec![Some(2), Some(60_000)], true));
        let none = ordered(&lines, GroupColumn::TOTAL, false, "x");
        assert_eq!((none.rows.len(), none.facts.largest), (0, 0));
    }

    #[test]
    fn groups_without_a_distinct_time_have_no_sum_of_it() {
        let distinct = TotalsColumn::Distinct as usize;
        for (by, expected) in [("name", Some(100_000)), ("process", None), ("thread", None), ("category", None)] {
            let lines = lines_of(TRACE, by);
            assert_eq!(lines.sums()[distinct], expected, "{by}");
            assert_eq!(ordered(&lines, GroupColumn::TOTAL, false, "").facts.sums[distinct], expected, "{by}");
        }
    }

    #[test]
    fn pairs_with_an_ambiguous_name_have_its_category() {
        let lines = lines_of(TRACE, "name,process");
        let with_category = lines.all().iter().filter(|line| line.has_category).count();
        assert_eq!(with_category, 2, "{lines:?}");
        assert!(lines_of(TRACE, "thread").all().iter().all(|line| !line.has_category));
        assert!(lines_of(TRACE, "category").all().iter().all(|line| !line.has_category));
    }
}
