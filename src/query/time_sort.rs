//! Sorts values by time with a radix sort, whose cost does not depend on the number of lanes. Independent of the
//! meaning of the values.

use bytemuck::{Pod, Zeroable};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct TimedValue {
    pub(crate) ts_ns: i64,
    pub(crate) value: u64,
}

/// An entry that [`sort_by_time`] can sort.
pub(crate) trait Timed: Copy {
    fn ts_ns(self) -> i64;
}

impl Timed for TimedValue {
    fn ts_ns(self) -> i64 {
        self.ts_ns
    }
}

impl Timed for i64 {
    fn ts_ns(self) -> i64 {
        self
    }
}

/// Below this length a comparison sort is faster than counting digits.
const COMPARED_MAX: usize = 1024;

/// Bits of a digit; its counts fit in the first-level cache.
const DIGIT_BITS: u32 = 11;

/// Sorts entries by time, stably. Leaves `scratch` in an unspecified state.
///
/// Equivalent to `entries.sort_by_key(Timed::ts_ns)`, whose comparisons grow with the number of lanes.
pub(crate) fn sort_by_time<T: Timed>(entries: &mut Vec<T>, scratch: &mut Vec<T>) {
    if entries.is_sorted_by_key(|entry| entry.ts_ns()) {
        return;
    }
    if entries.len() <= COMPARED_MAX {
        entries.sort_by_key(|entry| entry.ts_ns());
        return;
    }
    let times = || entries.iter().map(|entry| entry.ts_ns());
    let (Some(first_ns), Some(last_ns)) = (times().min(), times().max()) else { return };
    let bits = u64::BITS - last_ns.abs_diff(first_ns).leading_zeros();
    scratch.clear();
    scratch.extend_from_slice(entries);
    for shift in (0..bits).step_by(DIGIT_BITS as usize) {
        let digit = |entry: T| (entry.ts_ns().abs_diff(first_ns) >> shift) as usize & ((1 << DIGIT_BITS) - 1);
        let mut offsets = [0usize; 1 << DIGIT_BITS];
        for &entry in entries.iter() {
            offsets[digit(entry)] += 1;
        }
        let mut next = 0;
        for offset in &mut offsets {
            next += std::mem::replace(offset, next);
        }
        for &entry in entries.iter() {
            let offset = &mut offsets[digit(entry)];
            scratch[*offset] = entry;
            *offset += 1;
        }
        std::mem::swap(entries, scratch);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::ledger_traces::RandomSequence;

    #[test]
    fn the_order_is_that_of_a_stable_sort_for_any_width_of_times() {
        let mut random = RandomSequence(5);
        for (count, bits) in [(0, 1), (1, 5), (900, 62), (1025, 0), (3000, 3), (5000, 11), (4000, 12), (5000, 40)] {
            for first_ns in [0, i64::MIN, -77, i64::MAX - (1 << bits)] {
                let times =
                    (0..count).map(|_| first_ns + random.below(1 << bits.min(30)) as i64 * (1 << (bits.max(30) - 30)));
                let entries = times.zip(0..).map(|(ts_ns, value)| TimedValue { ts_ns, value });
                let mut entries: Vec<TimedValue> = entries.collect();
                if count > 2 && bits == 40 {
                    (entries[0].ts_ns, entries[1].ts_ns) = (i64::MAX, i64::MIN);
                }
                let mut expected = entries.clone();
                expected.sort_by_key(|entry| entry.ts_ns);
                let mut times: Vec<i64> = entries.iter().map(|entry| entry.ts_ns).collect();
                sort_by_time(&mut entries, &mut Vec::new());
                assert_eq!(entries, expected, "{count} {bits} {first_ns}");
                sort_by_time(&mut times, &mut vec![7; 3]);
                assert!(times.iter().eq(expected.iter().map(|entry| &entry.ts_ns)));
            }
        }
    }
}
