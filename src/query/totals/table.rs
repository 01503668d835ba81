//! Tables of totals by name or by another key, and tables that are still being summed.

use std::hash::BuildHasher as _;
use std::sync::{Arc, Mutex};

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use rustc_hash::FxBuildHasher;

use super::numbers::NameTotals;
use super::values::GroupValue;
use crate::query::groups::{GroupBy, SpanGroup};

/// Totals by name, or by another key.
///
/// A trace may have millions of names. A list grows in place, while a map of all this would be in memory twice when it
/// grows.
#[derive(Debug, Clone, Default)]
pub struct Totals {
    by: GroupBy,
    /// Hash table of the indices into the lists, which is a third of a map with groups as keys.
    index: HashTable<u32>,
    groups: Vec<SpanGroup>,
    rows: Vec<NameTotals>,
    /// Texts of the argument values that are grouped by.
    values: Vec<Arc<str>>,
}

/// Compares groups independent of the order in which they were added.
impl PartialEq for Totals {
    fn eq(&self, other: &Self) -> bool {
        self.by == other.by && self.by_group() == other.by_group()
    }
}

impl Eq for Totals {}

/// Totals that are being summed, readable from another thread.
#[derive(Debug, Default)]
pub struct GrowingTotals(Mutex<Totals>);

impl Totals {
    /// Limit for the number of groups by two keys: there may be as many as spans, and each takes a hundred bytes to a
    /// kilobyte.
    pub(crate) const PAIRS_MAX: usize = 1 << 18;

    /// Returns the key that spans are grouped by.
    #[must_use]
    pub(crate) fn by(&self) -> &GroupBy {
        &self.by
    }

    /// Returns the totals of one group.
    #[must_use]
    pub(crate) fn get(&self, group: SpanGroup) -> Option<&NameTotals> {
        Some(&self.rows[self.index_of(group)? as usize])
    }

    /// Returns the totals in a row of [`Self::numbered`].
    #[must_use]
    pub(crate) fn at(&self, row: u32) -> &NameTotals {
        &self.rows[row as usize]
    }

    /// Returns all groups with a span and their rows, in no particular order.
    pub(crate) fn numbered(&self) -> impl Iterator<Item = (u32, SpanGroup, &NameTotals)> {
        let rows = (0..).zip(&self.groups).zip(&self.rows);
        rows.filter(|(_, totals)| totals.count > 0).map(|((row, group), totals)| (row, *group, totals))
    }

    /// Returns the group of a row of [`Self::numbered`].
    #[must_use]
    pub(crate) fn group_at(&self, row: u32) -> SpanGroup {
        self.groups[row as usize]
    }

    /// Returns all groups with a span, sorted by name, then by track.
    #[must_use]
    pub(crate) fn by_group(&self) -> Vec<(SpanGroup, &NameTotals)> {
        let mut all: Vec<_> = self.groups.iter().copied().zip(&self.rows).filter(|(_, row)| row.count > 0).collect();
        all.sort_unstable_by_key(|(group, _)| *group);
        all
    }

    /// Returns the value of a group, for grouping by an argument.
    #[must_use]
    pub(crate) fn value(&self, group: SpanGroup) -> GroupValue<'_> {
        GroupValue::new(group, &self.values)
    }

    /// Returns whether groups beyond the limit are merged in [`SpanGroup::OTHERS`].
    #[must_use]
    pub(crate) fn has_others(&self) -> bool {
        self.index_of(SpanGroup::OTHERS).is_some()
    }

    fn index_of(&self, group: SpanGroup) -> Option<u32> {
        self.index.find(hash(group), |&index| self.groups[index as usize] == group).copied()
    }

    pub(super) fn row(&mut self, group: SpanGroup) -> &mut NameTotals {
        let is_full = self.by.is_pair() && self.rows.len() >= Self::PAIRS_MAX;
        let group = if is_full && self.index_of(group).is_none() { SpanGroup::OTHERS } else { group };
        let groups = &mut self.groups;
        let entry = self.index.entry(
            hash(group),
            |&index| groups[index as usize] == group,
            |&index| hash(groups[index as usize]),
        );
        let index = match entry {
            Entry::Occupied(index) => *index.get(),
            Entry::Vacant(free) => {
                // Names and tracks have 32 bits, and pairs of them a limit.
                let index = groups.len() as u32;
                free.insert(index);
                groups.push(group);
                self.rows.push(NameTotals::new(self.by.has_union()));
                index
            }
        };
        &mut self.rows[index as usize]
    }

    /// Adds the texts of new values.
    pub(super) fn add_values(&mut self, texts: &[Arc<str>]) {
        let old_count = self.values.len().min(texts.len());
        self.values.extend_from_slice(&texts[old_count..]);
    }
}

fn hash(group: SpanGroup) -> u64 {
    FxBuildHasher.hash_one(group)
}

impl GrowingTotals {
    /// Creates empty totals with a grouping key.
    #[must_use]
    pub fn grouped(by: GroupBy) -> Self {
        Self(Mutex::new(Totals { by, ..Totals::default() }))
    }

    /// Returns the key that spans are grouped by.
    #[must_use]
    pub(super) fn by(&self) -> GroupBy {
        self.0.lock().map(|totals| totals.by.clone()).unwrap_or_default()
    }

    #[must_use]
    pub(crate) fn so_far(&self) -> Totals {
        self.0.lock().map(|totals| totals.clone()).unwrap_or_default()
    }

    /// Ends the sum, and returns the totals of every group.
    #[must_use]
    pub fn into_totals(self) -> Totals {
        self.0.into_inner().unwrap_or_default()
    }

    /// Changes the totals, unless a thread panicked while changing them.
    pub(super) fn change(&self, change: impl FnOnce(&mut Totals)) {
        if let Ok(mut totals) = self.0.lock() {
            change(&mut totals);
        }
    }
}
