//! The rows of a table that match its filter, in the order of a column. A million rows take a second, so a large table
//! is filtered and sorted in the background. Until then it keeps the rows that it shows.

use std::cmp::Ordering;
use std::fmt::Debug;
use std::sync::Arc;

use crate::base::cancel::{Cancel, Cancelled};

/// Limit for the rows that are ordered in the frame, which takes two milliseconds.
const ROWS_IN_FRAME_MAX: usize = 1 << 12;

/// Rows between two checks for cancellation.
const ROWS_BETWEEN_CHECKS: usize = 1 << 12;

/// The filter and the sort column of a table.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TableSort {
    /// The column, and whether the order is ascending; `None` for the original order.
    pub(crate) column: Option<(usize, bool)>,
    /// Lower-case words that a row must contain; may be empty.
    pub(crate) words: String,
}

/// All rows of a table, shared with the background.
pub trait TableData: Debug + Send + Sync {
    /// Properties of the matching rows as a whole, such as their sums.
    type Facts: Debug + Default + Send + Sync;

    /// Returns the number of rows.
    fn count(&self) -> usize;

    /// Returns the indices of the matching rows in the requested order, and their facts.
    ///
    /// # Errors
    /// Returns `Cancelled` if cancelled.
    fn order(&self, sort: &TableSort, cancel: &Cancel) -> Result<(Vec<u32>, Self::Facts), Cancelled>;
}

/// The rows of a table in one order.
#[derive(Debug)]
pub struct OrderedRows<D: TableData> {
    pub(super) data: Arc<D>,
    pub(super) sort: TableSort,
    /// Indices of the matching rows.
    pub(super) rows: Vec<u32>,
    pub(super) facts: D::Facts,
}

impl<D: TableData> OrderedRows<D> {
    /// Finds and sorts the rows.
    ///
    /// # Errors
    /// Returns `Cancelled` if cancelled.
    pub(crate) fn new(data: Arc<D>, sort: TableSort, cancel: &Cancel) -> Result<Self, Cancelled> {
        let (rows, facts) = data.order(&sort, cancel)?;
        Ok(Self { data, sort, rows, facts })
    }
}

/// The rows that a table shows, and the rows that will replace them.
#[derive(Debug)]
pub(super) struct OrderedTable<D: TableData> {
    shown: Option<Arc<OrderedRows<D>>>,
    /// The newest rows, which are shown once they are in order.
    newest: Option<Arc<D>>,
    sort: TableSort,
    /// The order that is being made in the background.
    asked: Option<(Arc<D>, TableSort)>,
    generation: u64,
}

impl<D: TableData> Default for OrderedTable<D> {
    fn default() -> Self {
        Self { shown: None, newest: None, sort: TableSort::default(), asked: None, generation: 0 }
    }
}

impl<D: TableData> OrderedTable<D> {
    pub(super) fn set_data(&mut self, data: Arc<D>) {
        self.newest = Some(data);
        self.update();
    }

    /// Drops all rows; the words and the sort column stay.
    pub(super) fn clear(&mut self) {
        (self.newest, self.shown, self.asked) = (None, None, None);
        self.generation += 1;
    }

    /// Records that the rows answer an earlier question. They stay until other rows are set.
    pub(super) fn expire(&mut self) {
        (self.newest, self.asked) = (None, None);
    }

    /// Returns whether the shown rows are the newest, and belong to the last question.
    pub(super) fn is_current(&self) -> bool {
        let newest = self.newest.as_ref().zip(self.shown.as_ref());
        newest.is_some_and(|(newest, shown)| Arc::ptr_eq(newest, &shown.data))
    }

    /// Returns whether there are rows of the last question, shown or not.
    pub(super) fn has_newest(&self) -> bool {
        self.newest.is_some()
    }

    /// Drops rows that answer an earlier question, because the answer to the last question does not arrive.
    pub(super) fn drop_expired(&mut self) {
        if self.newest.is_none() {
            self.clear();
        }
    }

    /// Shows only rows that contain these words, in any case.
    pub(super) fn set_words(&mut self, words: &str) {
        self.sort.words = words.to_lowercase();
        self.update();
    }

    pub(super) fn sort(&mut self, column: usize, ascending: bool) {
        self.sort.column = Some((column, ascending));
        self.update();
    }

    /// Returns the order to make in the background, once.
    pub(super) fn take_request(&mut self) -> Option<(Arc<D>, TableSort)> {
        let newest = self.newest.as_ref().filter(|_| !self.is_in_order())?;
        let is_same = |(data, sort): &(Arc<D>, TableSort)| Arc::ptr_eq(data, newest) && *sort == self.sort;
        if self.asked.as_ref().is_some_and(is_same) {
            return None;
        }
        let order = (Arc::clone(newest), self.sort.clone());
        self.asked = Some((Arc::clone(&order.0), order.1.clone()));
        Some(order)
    }

    /// Shows the rows in an order from the background, unless another order is needed by now.
    pub(super) fn set_ordered(&mut self, ordered: Arc<OrderedRows<D>>) {
        let is_newest = self.newest.as_ref().is_some_and(|newest| Arc::ptr_eq(newest, &ordered.data));
        if is_newest && ordered.sort == self.sort {
            self.show(ordered);
        }
    }

    /// Returns whether the newest rows are shown in the requested order.
    pub(super) fn is_in_order(&self) -> bool {
        match (&self.newest, &self.shown) {
            (Some(newest), Some(shown)) => Arc::ptr_eq(newest, &shown.data) && shown.sort == self.sort,
            (newest, shown) => newest.is_none() && shown.is_none(),
        }
    }

    pub(super) fn shown_rows(&self) -> Option<&Arc<OrderedRows<D>>> {
        self.shown.as_ref()
    }

    /// Returns the data of the shown rows.
    pub(super) fn data(&self) -> Option<&Arc<D>> {
        self.shown.as_ref().map(|shown| &shown.data)
    }

    /// Returns the facts about the shown rows.
    pub(super) fn facts(&self) -> Option<&D::Facts> {
        self.shown.as_ref().map(|shown| &shown.facts)
    }

    /// Returns the sort column of the shown rows, and whether they are ascending.
    pub(super) fn sorted_by(&self) -> Option<(usize, bool)> {
        self.shown.as_ref().and_then(|shown| shown.sort.column)
    }

    /// Returns the number of shown rows.
    pub(super) fn count(&self) -> u64 {
        self.shown.as_ref().map_or(0, |shown| shown.rows.len() as u64)
    }

    /// Returns the index of a shown row in the data.
    pub(super) fn row(&self, row: u64) -> Option<usize> {
        let shown = self.shown.as_ref()?;
        shown.rows.get(usize::try_from(row).ok()?).map(|&row| row as usize)
    }

    /// Returns a number that changes with the shown rows.
    pub(super) fn generation(&self) -> u64 {
        self.generation
    }

    fn update(&mut self) {
        let Some(newest) = self.newest.as_ref().filter(|newest| newest.count() <= ROWS_IN_FRAME_MAX) else { return };
        if !self.is_in_order()
            && let Ok(ordered) = OrderedRows::new(Arc::clone(newest), self.sort.clone(), &Cancel::default())
        {
            self.show(Arc::new(ordered));
        }
    }

    fn show(&mut self, ordered: Arc<OrderedRows<D>>) {
        (self.shown, self.asked) = (Some(ordered), None);
        self.generation += 1;
    }
}

/// Returns the indices of the rows that match.
///
/// # Errors
/// Returns `Cancelled` if cancelled.
pub(super) fn matching_rows(
    count: usize,
    cancel: &Cancel,
    is_match: impl Fn(usize) -> bool,
) -> Result<Vec<u32>, Cancelled> {
    let mut rows = Vec::new();
    for (number, row) in (0u32..).zip(0..count) {
        if row.is_multiple_of(ROWS_BETWEEN_CHECKS) {
            cancel.check()?;
        }
        if is_match(row) {
            rows.push(number);
        }
    }
    Ok(rows)
}

/// Sorts rows by key; ties keep index order in both directions.
///
/// # Errors
/// Returns `Cancelled` if cancelled.
pub(super) fn sort_rows<K>(
    rows: &mut [u32],
    ascending: bool,
    cancel: &Cancel,
    key: impl Fn(usize) -> K,
    compare: impl Fn(&K, &K) -> Ordering,
) -> Result<(), Cancelled> {
    let mut keyed = Vec::with_capacity(rows.len());
    for (number, &row) in rows.iter().enumerate() {
        if number.is_multiple_of(ROWS_BETWEEN_CHECKS) {
            cancel.check()?;
        }
        keyed.push((key(row as usize), row));
    }
    keyed.sort_unstable_by(|(one, one_row), (other, other_row)| {
        let order = compare(one, other);
        let order = if ascending { order } else { order.reverse() };
        order.then(one_row.cmp(other_row))
    });
    rows.iter_mut().zip(keyed).for_each(|(row, (_, sorted))| *row = sorted);
    cancel.check()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows of numbers, which match the words that they contain.
    #[derive(Debug)]
    struct NumberRows(Vec<u32>);

    impl TableData for NumberRows {
        type Facts = u32;

        fn count(&self) -> usize {
            self.0.len()
        }

        fn order(&self, sort: &TableSort, cancel: &Cancel) -> Result<(Vec<u32>, u32), Cancelled> {
            let mut rows = matching_rows(self.0.len(), cancel, |row| self.0[row].to_string().contains(&sort.words))?;
            if let Some((_, ascending)) = sort.column {
                sort_rows(&mut rows, ascending, cancel, |row| self.0[row], Ord::cmp)?;
            }
            let sum = rows.iter().map(|&row| self.0[row as usize]).sum();
            Ok((rows, sum))
        }
    }

    fn shown(table: &OrderedTable<NumberRows>) -> Vec<u32> {
        let rows = (0..table.count()).map(|row| table.row(row).unwrap());
        rows.map(|row| table.data().unwrap().0[row]).collect()
    }

    /// Runs the order that the table asks for.
    fn answer(table: &mut OrderedTable<NumberRows>) -> Option<Arc<OrderedRows<NumberRows>>> {
        let (data, sort) = table.take_request()?;
        Some(Arc::new(OrderedRows::new(data, sort, &Cancel::default()).unwrap()))
    }

    #[test]
    fn small_tables_are_in_order_at_once_and_ties_keep_their_order() {
        let mut table = OrderedTable::default();
        table.set_data(Arc::new(NumberRows(vec![3, 12, 1, 12])));
        assert_eq!(shown(&table), [3, 12, 1, 12]);
        table.sort(0, false);
        let rows: Vec<_> = (0..4).map(|row| table.row(row).unwrap()).collect();
        assert_eq!((rows, table.facts()), (vec![1, 3, 0, 2], Some(&28)));
        table.sort(0, true);
        let rows: Vec<_> = (0..4).map(|row| table.row(row).unwrap()).collect();
        assert_eq!(rows, [2, 0, 1, 3]);
        table.set_words("1");
        assert_eq!((shown(&table), table.facts()), (vec![1, 12, 12], Some(&25)));
        assert!(table.is_in_order() && table.take_request().is_none());
        table.clear();
        assert_eq!((table.count(), table.facts(), table.row(0)), (0, None, None));
    }

    #[test]
    fn large_tables_keep_their_rows_until_the_newest_order_has_arrived() {
        let large = ROWS_IN_FRAME_MAX as u32 + 1;
        let mut table = OrderedTable::default();
        table.set_data(Arc::new(NumberRows((0..large).collect())));
        assert_eq!((table.count(), table.is_in_order()), (0, false));
        let first = answer(&mut table).unwrap();
        assert!(table.take_request().is_none(), "one order is asked for once");
        table.set_ordered(first);
        assert_eq!((shown(&table).len(), table.is_in_order()), (large as usize, true));

        table.sort(0, false);
        let outdated = answer(&mut table).unwrap();
        table.set_words("4096");
        assert_eq!(table.row(0), Some(0), "the rows in view stay");
        let wanted = answer(&mut table).unwrap();
        table.set_ordered(outdated);
        assert_eq!(table.row(0), Some(0), "an order of other words is not shown");
        table.set_ordered(wanted);
        assert_eq!((shown(&table), table.sorted_by()), (vec![4096], Some((0, false))));

        table.set_data(Arc::new(NumberRows((1..=large).collect())));
        let of_old_data = answer(&mut table).unwrap();
        table.set_data(Arc::new(NumberRows((2..large + 2).collect())));
        table.set_ordered(of_old_data);
        assert!(!table.is_in_order(), "rows that were replaced are not shown");
        let ordered = answer(&mut table).unwrap();
        table.set_ordered(ordered);
        assert_eq!((shown(&table), table.is_in_order()), (vec![4096], true));
    }

    #[test]
    fn orders_end_when_cancelled() {
        let (cancel, data) = (Cancel::default(), Arc::new(NumberRows(vec![1, 2])));
        cancel.cancel();
        assert!(OrderedRows::new(data, TableSort::default(), &cancel).is_err());
    }
}
