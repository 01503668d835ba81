//! Tables of totals by name or by other groups, and those that are still being added up.

use std::sync::{Arc, Mutex};

use rustc_hash::FxHashMap;

use super::numbers::NameTotals;
use super::values::GroupValue;
use crate::query::groups::{GroupBy, SpanGroup};

/// Totals by name, or by what else spans are grouped by.
///
/// A trace may have millions of names: a list grows in place, while a map of all this would be in memory twice.
#[derive(Debug, Clone, Default)]
pub struct Totals {
    by: GroupBy,
    /// By group, its index in the lists.
    index: FxHashMap<SpanGroup, u32>,
    groups: Vec<SpanGroup>,
    rows: Vec<NameTotals>,
    /// The texts of the values that are grouped by.
    values: Vec<Arc<str>>,
}

/// Equal are those of the same groups, in whatever order these were added.
impl PartialEq for Totals {
    fn eq(&self, other: &Self) -> bool {
        self.by == other.by && self.by_group() == other.by_group()
    }
}

impl Eq for Totals {}

/// Totals that are being added up, and can be read from another thread meanwhile.
#[derive(Debug, Default)]
pub struct GrowingTotals(Mutex<Totals>);

impl Totals {
    /// Groups of two keys that are told apart: there may be as many as spans, and each takes some
    /// hundred bytes to a kilobyte.
    pub(crate) const PAIRS_MAX: usize = 1 << 18;

    /// The keys that they are grouped by.
    #[must_use]
    pub(crate) fn by(&self) -> &GroupBy {
        &self.by
    }

    /// The totals of one group.
    #[must_use]
    pub(crate) fn of_group(&self, group: SpanGroup) -> Option<&NameTotals> {
        self.rows.get(*self.index.get(&group)? as usize)
    }

    /// All groups that have a span, in order of their names, then tracks.
    #[must_use]
    pub(crate) fn by_group(&self) -> Vec<(SpanGroup, &NameTotals)> {
        let mut all: Vec<_> = self.groups.iter().copied().zip(&self.rows).filter(|(_, row)| row.count > 0).collect();
        all.sort_unstable_by_key(|(group, _)| *group);
        all
    }

    /// The value of a group, where they are grouped by the values of an argument.
    #[must_use]
    pub(crate) fn value(&self, group: SpanGroup) -> GroupValue<'_> {
        GroupValue::new(group, &self.values)
    }

    /// Whether groups beyond the most that are told apart are one row together: [`SpanGroup::OTHERS`].
    #[must_use]
    pub(crate) fn has_others(&self) -> bool {
        self.index.contains_key(&SpanGroup::OTHERS)
    }

    pub(super) fn row(&mut self, group: SpanGroup) -> &mut NameTotals {
        let is_full = self.by.is_pair() && self.rows.len() >= Self::PAIRS_MAX;
        let group = if is_full && !self.index.contains_key(&group) { SpanGroup::OTHERS } else { group };
        let index = *self.index.entry(group).or_insert_with(|| {
            self.groups.push(group);
            self.rows.push(NameTotals::new(self.by.has_union()));
            self.rows.len() as u32 - 1
        });
        &mut self.rows[index as usize]
    }

    /// Adds the texts of values beyond those that are known.
    pub(super) fn add_values(&mut self, texts: &[Arc<str>]) {
        let known = self.values.len().min(texts.len());
        self.values.extend_from_slice(&texts[known..]);
    }
}

impl GrowingTotals {
    /// Nothing yet, to be grouped by other keys than names.
    #[must_use]
    pub fn grouped(by: GroupBy) -> Self {
        Self(Mutex::new(Totals { by, ..Totals::default() }))
    }

    /// The keys that they are grouped by.
    #[must_use]
    pub(super) fn by(&self) -> GroupBy {
        self.0.lock().map(|totals| totals.by.clone()).unwrap_or_default()
    }

    #[must_use]
    pub(crate) fn so_far(&self) -> Totals {
        self.0.lock().map(|totals| totals.clone()).unwrap_or_default()
    }

    /// Ends the addition, with the totals of every name.
    #[must_use]
    pub fn into_totals(self) -> Totals {
        self.0.into_inner().unwrap_or_default()
    }

    /// Changes them, unless a thread that did has died.
    pub(super) fn change(&self, change: impl FnOnce(&mut Totals)) {
        if let Ok(mut totals) = self.0.lock() {
            change(&mut totals);
        }
    }
}
