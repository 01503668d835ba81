//! Sums of spans by name over one range of time: counts, times, whole durations. Sums of disjoint ranges are additive,
//! so a ledger stores them for slices of time.

use std::cmp::Ordering;

use serde::{Deserialize, Serialize};

use crate::base::sketch::Sketch;
use crate::model::NameIdx;

/// Sums of the spans of one name in one range of time.
///
/// Times are clipped to the range and additive over disjoint ranges. Whole durations belong to the range in which a
/// span starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct NameSums {
    /// Spans that start in the range.
    pub(crate) starts: u64,
    /// Time of the spans within the range.
    pub(crate) total_ns: u128,
    /// The part of the total during which a child runs. The rest is self time.
    pub(crate) covered_ns: u128,
    /// Time in which at least one span of the name is open on its track: recursion counts once.
    pub(crate) union_ns: u128,
    /// Whole durations of the spans that start in the range.
    pub(crate) whole_ns: u128,
    /// Squares of these durations, in square nanoseconds; saturates.
    pub(crate) whole_squares: u128,
    /// Shortest whole duration; `u64::MAX` for none.
    pub(crate) min_ns: u64,
    /// Longest whole duration; 0 for none.
    pub(crate) max_ns: u64,
}

impl NameSums {
    pub(crate) const EMPTY: Self = Self {
        starts: 0,
        total_ns: 0,
        covered_ns: 0,
        union_ns: 0,
        whole_ns: 0,
        whole_squares: 0,
        min_ns: u64::MAX,
        max_ns: 0,
    };

    #[inline]
    pub(crate) fn add_whole(&mut self, dur_ns: u64) {
        self.starts += 1;
        self.whole_ns += u128::from(dur_ns);
        self.whole_squares = self.whole_squares.saturating_add(u128::from(dur_ns) * u128::from(dur_ns));
        self.min_ns = self.min_ns.min(dur_ns);
        self.max_ns = self.max_ns.max(dur_ns);
    }
}

/// A value that is additive over disjoint ranges of time.
pub(crate) trait Additive: Clone {
    /// Adds the value of another range or of other spans.
    fn add(&mut self, other: &Self);
}

impl Additive for NameSums {
    #[inline]
    fn add(&mut self, other: &Self) {
        self.starts += other.starts;
        self.total_ns += other.total_ns;
        self.covered_ns += other.covered_ns;
        self.union_ns += other.union_ns;
        self.whole_ns += other.whole_ns;
        self.whole_squares = self.whole_squares.saturating_add(other.whole_squares);
        self.min_ns = self.min_ns.min(other.min_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
    }
}

impl Additive for Sketch {
    fn add(&mut self, other: &Self) {
        self.merge(other.clone());
    }
}

/// Values by name, sorted by name index.
pub(crate) type ByName<T> = Vec<(NameIdx, T)>;

/// Adds `from` to `into`, both sorted by key, such as the name index. Linear in both.
pub(crate) fn merge_sorted<K: Copy + Ord, T: Additive>(into: &mut Vec<(K, T)>, from: &[(K, T)]) {
    if into.is_empty() {
        into.extend_from_slice(from);
        return;
    }
    let mut rest = add_in_place(into, from);
    if rest.is_empty() {
        return;
    }
    let mut merged = Vec::with_capacity(into.len() + rest.len());
    for (key, mut sums) in into.drain(..) {
        while let Some(((other, item), others)) = rest.split_first() {
            match other.cmp(&key) {
                Ordering::Less => merged.push((*other, item.clone())),
                Ordering::Equal => sums.add(item),
                Ordering::Greater => break,
            }
            rest = others;
        }
        merged.push((key, sums));
    }
    merged.extend_from_slice(rest);
    *into = merged;
}

/// Adds the items of `from` in place, up to the first key missing from `into`. Returns the rest of `from`.
fn add_in_place<'f, K: Copy + Ord, T: Additive>(into: &mut [(K, T)], from: &'f [(K, T)]) -> &'f [(K, T)] {
    let mut entries = into.iter_mut();
    for (index, (name, item)) in from.iter().enumerate() {
        match entries.find(|(entry, _)| entry >= name) {
            Some((entry, sums)) if entry == name => sums.add(item),
            _ => return &from[index..],
        }
    }
    &[]
}

/// Sums by name, added row by row: an array by name refers to a dense list, so a row costs no hash.
#[derive(Debug)]
pub(crate) struct SumTable {
    /// Slot of each name in the lists; [`NO_SLOT`] for names without sums.
    slots: Vec<u32>,
    names: Vec<NameIdx>,
    sums: Vec<NameSums>,
    /// By slot: the latest end of the name's spans in a range, and the number of the range. A span that starts before
    /// this end overlaps.
    until: Vec<(i64, u32)>,
    /// Number of the current range.
    range: u32,
}

/// No trace has this many names.
const NO_SLOT: u32 = u32::MAX;

/// Names are sorted while at most one in this many is used; with more, all slots are scanned.
const SPARSE: usize = 16;

impl SumTable {
    /// Returns the bytes of a table of `name_count` names, if `used` names have sums.
    #[must_use]
    pub(crate) const fn bytes(name_count: usize, used: usize) -> usize {
        name_count * size_of::<u32>() + used * (size_of::<NameSums>() + size_of::<NameIdx>() + size_of::<(i64, u32)>())
    }

    /// Creates an empty table for names below `name_count`; it grows for later names.
    #[must_use]
    pub(crate) fn new(name_count: usize) -> Self {
        Self { slots: vec![NO_SLOT; name_count], names: Vec::new(), sums: Vec::new(), until: Vec::new(), range: 0 }
    }

    /// Returns the number of names with sums.
    #[must_use]
    pub(crate) fn len(&self) -> usize {
        self.names.len()
    }

    /// Returns the slot of a name, valid until the table is drained.
    #[inline]
    pub(crate) fn slot(&mut self, name: NameIdx) -> usize {
        match self.slots.get(name.index()) {
            Some(&slot) if slot != NO_SLOT => slot as usize,
            _ => self.add_slot(name),
        }
    }

    #[cold]
    fn add_slot(&mut self, name: NameIdx) -> usize {
        if self.slots.len() <= name.index() {
            self.slots.resize(name.index() + 1, NO_SLOT);
        }
        let slot = self.names.len();
        // There are no more slots than names, whose indices have 32 bits.
        self.slots[name.index()] = slot as u32;
        self.names.push(name);
        self.sums.push(NameSums::EMPTY);
        self.until.push((i64::MIN, self.range));
        slot
    }

    /// Returns the sums at a slot.
    #[inline]
    pub(crate) fn at(&mut self, slot: usize) -> &mut NameSums {
        &mut self.sums[slot]
    }

    /// Adds the time `[from_ns, to_ns)` of a span. Spans of a range come in order of their clipped starts.
    #[inline]
    pub(crate) fn add_time(&mut self, slot: usize, from_ns: i64, to_ns: i64) {
        let (sums, until) = (&mut self.sums[slot], &mut self.until[slot]);
        sums.total_ns += u128::from(to_ns.abs_diff(from_ns));
        let until_ns = if until.1 == self.range { until.0 } else { i64::MIN };
        if to_ns > until_ns {
            sums.union_ns += u128::from(to_ns.abs_diff(from_ns.max(until_ns)));
            *until = (to_ns, self.range);
        }
    }

    pub(crate) fn merge(&mut self, name: NameIdx, sums: &NameSums) {
        let slot = self.slot(name);
        self.sums[slot].add(sums);
    }

    /// Starts a range of time on a track. Its spans overlap no earlier spans.
    pub(crate) fn begin_range(&mut self) {
        self.range = self.range.wrapping_add(1);
    }

    /// Removes and returns all sums, sorted by name index.
    pub(crate) fn drain(&mut self) -> ByName<NameSums> {
        let mut sorted = Vec::with_capacity(self.names.len());
        if self.names.len() * SPARSE < self.slots.len() {
            let order = |slot: &u32| self.names[*slot as usize];
            let mut slots: Vec<u32> = self.names.iter().map(|name| self.slots[name.index()]).collect();
            slots.sort_unstable_by_key(order);
            sorted.extend(slots.iter().map(|&slot| (self.names[slot as usize], self.sums[slot as usize])));
        } else {
            let used = self.slots.iter().filter(|&&slot| slot != NO_SLOT);
            sorted.extend(used.map(|&slot| (self.names[slot as usize], self.sums[slot as usize])));
        }
        self.names.iter().for_each(|name| self.slots[name.index()] = NO_SLOT);
        self.names.clear();
        self.sums.clear();
        self.until.clear();
        sorted
    }
}

/// Distributions of whole durations by name, added row by row.
///
/// Counts are spread over megabytes. Durations are buffered, so that the processor fetches many counts at once: one by
/// one, these cache misses took as long as the sweep.
#[derive(Debug, Default)]
pub(crate) struct SketchTable {
    waiting: Vec<(NameIdx, u64)>,
    /// One plus the index of each name in the list; 0 for names without durations.
    slots: Vec<u32>,
    sketches: Vec<(NameIdx, Sketch)>,
}

impl SketchTable {
    /// Buffered durations, which fit in the first-level cache.
    const WAITING_MAX: usize = 1024;

    /// Adds the whole duration of a span.
    #[inline]
    pub(crate) fn add(&mut self, name: NameIdx, dur_ns: u64) {
        self.waiting.push((name, dur_ns));
        if self.waiting.len() >= Self::WAITING_MAX {
            self.count_waiting();
        }
    }

    fn count_waiting(&mut self) {
        for (name, dur_ns) in self.waiting.drain(..) {
            if self.slots.len() <= name.index() {
                self.slots.resize(name.index() + 1, 0);
            }
            let slot = &mut self.slots[name.index()];
            if *slot == 0 {
                self.sketches.push((name, Sketch::default()));
                // There are no more sketches than names; these have 32 bits, and none is `u32::MAX`.
                *slot = self.sketches.len() as u32;
            }
            self.sketches[*slot as usize - 1].1.add(dur_ns);
        }
    }

    /// Removes and returns all sketches, sorted by name index.
    pub(crate) fn drain(&mut self) -> ByName<Sketch> {
        self.count_waiting();
        self.sketches.iter().for_each(|(name, _)| self.slots[name.index()] = 0);
        let mut sorted = std::mem::take(&mut self.sketches);
        sorted.sort_unstable_by_key(|(name, _)| *name);
        sorted
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    fn sums(rows: &[(u32, u64)]) -> ByName<NameSums> {
        let mut table = SumTable::new(4);
        for &(name, dur_ns) in rows {
            let slot = table.slot(NameIdx(name));
            table.at(slot).add_whole(dur_ns);
            table.at(slot).total_ns += u128::from(dur_ns);
        }
        table.drain()
    }

    proptest! {
        #[test]
        fn sums_of_parts_add_up_to_the_sums_of_the_whole(
            rows in proptest::collection::vec((0u32..200, 0u64..=u64::MAX), 0..80),
            cut in 0usize..80,
        ) {
            let (first, second) = rows.split_at(cut.min(rows.len()));
            let mut merged = sums(first);
            merge_sorted(&mut merged, &sums(second));
            let mut by_name: BTreeMap<u32, Vec<u64>> = BTreeMap::new();
            rows.iter().for_each(|&(name, dur_ns)| by_name.entry(name).or_default().push(dur_ns));
            prop_assert_eq!(&merged, &sums(&rows));
            prop_assert!(merged.iter().map(|(name, _)| name.0).eq(by_name.keys().copied()));
            for ((_, sums), durs) in merged.iter().zip(by_name.values()) {
                let whole: u128 = durs.iter().copied().map(u128::from).sum();
                prop_assert_eq!((sums.starts, sums.whole_ns, sums.total_ns), (durs.len() as u64, whole, whole));
                prop_assert_eq!((Some(&sums.min_ns), Some(&sums.max_ns)), (durs.iter().min(), durs.iter().max()));
            }
        }
    }

    #[test]
    fn a_drained_table_starts_empty() {
        let mut table = SumTable::new(1000);
        table.begin_range();
        for name in [7, 999, 3, 2000] {
            let slot = table.slot(NameIdx(name));
            table.add_time(slot, 0, 10);
            table.add_time(slot, 5, 12);
        }
        let drained = table.drain();
        assert_eq!(drained.iter().map(|(name, _)| name.0).collect::<Vec<_>>(), [3, 7, 999, 2000]);
        assert!(drained.iter().all(|(_, sums)| (sums.total_ns, sums.union_ns) == (17, 12)));
        assert!(table.drain().is_empty());
    }
}
