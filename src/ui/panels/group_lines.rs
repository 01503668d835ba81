//! The lines of the statistics table: one per group of spans, in the order of a column. There may be a million, so a line
//! is small: its texts and numbers are looked up in the totals when it is shown.

use std::borrow::Cow;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::group_label::{category_label, group_label};
use crate::query::Snapshot;
use crate::query::groups::{GroupBy, NameKey, SpanGroup};
use crate::query::totals::{NUMBER_COLUMNS, NameTotals, Totals};

/// Numbers of a group: counts, and durations in nanoseconds.
const NUMBERS: usize = NUMBER_COLUMNS.len();

/// Index of the total, which lines are sorted by first.
const TOTAL: usize = 1;

/// A line of the table.
#[derive(Debug, Clone, Copy)]
pub(super) struct GroupLine {
    pub(super) group: SpanGroup,
    /// Row of the totals.
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
    lines: Vec<GroupLine>,
    /// Sums of all lines.
    sums: [u128; NUMBERS],
    /// The number that the lines are sorted by, `None` for the label, and whether the order is ascending.
    order: (Option<usize>, bool),
}

impl GroupLines {
    /// Creates the lines of some totals, largest total first. A million take a second.
    #[must_use]
    pub(crate) fn new(totals: Arc<Totals>, snapshot: &Snapshot) -> Self {
        let (mut lines, mut sums) = (Vec::new(), [0; NUMBERS]);
        for (row, group, sum) in totals.numbered() {
            add(&mut sums, sum);
            lines.push(GroupLine { group, row, is_sketched: sum.quantile_error() > 0.0, has_category: false });
        }
        let mut lines = Self { totals, snapshot: snapshot.clone(), lines, sums, order: (Some(TOTAL), false) };
        lines.mark_categories();
        lines.sort_lines();
        lines
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
    pub(super) fn sums(&self) -> &[u128; NUMBERS] {
        &self.sums
    }

    /// Returns the totals of a line.
    pub(super) fn numbers(&self, line: GroupLine) -> &NameTotals {
        self.totals.at(line.row)
    }

    /// Returns the label of a line, and a tooltip, which may be empty.
    pub(super) fn label(&self, line: GroupLine) -> (String, String) {
        group_label(&self.totals, line.group, &self.snapshot)
    }

    /// Returns the label with the category that tells it apart.
    pub(super) fn text(&self, line: GroupLine) -> String {
        let label = self.label(line).0;
        if line.has_category { format!("{label}  ·  {}", self.category(line)) } else { label }
    }

    /// Sorts by a number, or by the label.
    pub(super) fn sort(&mut self, number: Option<usize>, ascending: bool) {
        if self.order != (number, ascending) {
            self.order = (number, ascending);
            self.sort_lines();
        }
    }

    fn sort_lines(&mut self) {
        let (number, ascending) = self.order;
        self.lines = match number {
            Some(number) => self.sorted_by(ascending, |line| self.numbers(line).number(number)),
            None => self.sorted_by(ascending, |line| {
                let category = if line.has_category { self.category(line) } else { "" };
                (self.label(line).0, category)
            }),
        };
    }

    /// Returns the lines in the order of a key, and those of one key in the order of their groups.
    fn sorted_by<K: Ord>(&self, ascending: bool, key: impl Fn(GroupLine) -> K) -> Vec<GroupLine> {
        let mut keyed: Vec<_> = self.lines.iter().map(|&line| (key(line), line)).collect();
        keyed.sort_unstable_by(|(a, a_line), (b, b_line)| {
            let order = if ascending { a.cmp(b) } else { b.cmp(a) };
            order.then(a_line.group.cmp(&b_line.group))
        });
        keyed.into_iter().map(|(_, line)| line).collect()
    }

    fn category(&self, line: GroupLine) -> &str {
        category_label(self.snapshot.names().get(line.group.name).category)
    }

    /// Marks lines whose label is that of names in several categories.
    fn mark_categories(&mut self) {
        let &GroupBy::Keys { name: Some(NameKey::Name), track } = self.totals.by() else { return };
        let (snapshot, totals) = (&self.snapshot, &self.totals);
        let label = |line: &GroupLine| match track {
            None => Cow::Borrowed(snapshot.names().get(line.group.name).text),
            Some(_) => Cow::Owned(group_label(totals, line.group, snapshot).0),
        };
        let mut names = FxHashMap::default();
        let mut repeated = FxHashSet::default();
        for line in &self.lines {
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
            return;
        }
        let has_category = |line: &GroupLine| line.group != SpanGroup::OTHERS && repeated.contains(&label(line));
        let marks: Vec<bool> = self.lines.iter().map(has_category).collect();
        self.lines.iter_mut().zip(marks).for_each(|(line, mark)| line.has_category = mark);
    }
}

/// Adds the numbers of a group to sums. Quantiles and the like have none.
pub(super) fn add(sums: &mut [u128; NUMBERS], of: &NameTotals) {
    /// The count, the total, the self time, the distinct time, and the unfinished spans.
    const SUMMED: [usize; 5] = [0, TOTAL, 2, 8, 12];
    for number in SUMMED {
        sums[number] = sums[number].saturating_add(of.number(number).unwrap_or(0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::cancel::Cancel;
    use crate::base::progress::Progress;
    use crate::query::scope::Scope;
    use crate::query::totals::{GrowingTotals, add_up};

    fn lines_of(json: &str, by: &str) -> GroupLines {
        let snapshot = crate::scene::tests::snapshot(json);
        let growing = GrowingTotals::grouped(by.parse().unwrap());
        add_up(&snapshot, &Scope::default(), &growing, &Cancel::default(), &Progress::default()).unwrap();
        GroupLines::new(Arc::new(growing.so_far()), &snapshot)
    }

    fn texts(lines: &GroupLines) -> Vec<String> {
        lines.all().iter().map(|&line| lines.text(line)).collect()
    }

    const TRACE: &str = r#"[
        {"ph":"X","name":"b","cat":"net","pid":1,"tid":1,"ts":0,"dur":50},
        {"ph":"X","name":"a","cat":"io","pid":1,"tid":1,"ts":100,"dur":30},
        {"ph":"X","name":"b","cat":"io","pid":1,"tid":2,"ts":200,"dur":10},
        {"ph":"X","name":"c","cat":"io","pid":1,"tid":2,"ts":300,"dur":10}]"#;

    #[test]
    fn lines_are_sorted_by_number_or_label_and_ambiguous_names_have_their_category() {
        let mut lines = lines_of(TRACE, "name");
        assert_eq!(texts(&lines), ["b  ·  net", "a", "b  ·  io", "c"]);
        assert_eq!(lines.sums()[..3], [4, 100_000, 100_000]);
        lines.sort(Some(TOTAL), true);
        // Equal ones keep the order of their groups.
        assert_eq!(texts(&lines), ["b  ·  io", "c", "a", "b  ·  net"]);
        lines.sort(None, true);
        assert_eq!(texts(&lines), ["a", "b  ·  io", "b  ·  net", "c"]);
        lines.sort(None, false);
        assert_eq!(texts(&lines), ["c", "b  ·  net", "b  ·  io", "a"]);
        let totals: Vec<_> = lines.all().iter().map(|&line| lines.numbers(line).total_ns).collect();
        assert_eq!(totals, [10_000, 50_000, 10_000, 30_000]);
    }

    #[test]
    fn pairs_with_an_ambiguous_name_have_its_category() {
        let lines = lines_of(TRACE, "name,process");
        let with_category = lines.all().iter().filter(|line| line.has_category).count();
        assert_eq!(with_category, 2, "{:?}", texts(&lines));
        assert!(lines_of(TRACE, "thread").all().iter().all(|line| !line.has_category));
        assert!(lines_of(TRACE, "category").all().iter().all(|line| !line.has_category));
    }
}
