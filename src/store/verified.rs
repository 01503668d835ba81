//! Tracks which parts of a mapped store passed their checksum. Each part is checked once, on its first read. Checking
//! everything at opening would read the whole store, and checking every use would cost more than the use.
//!
//! Lock-free: two threads may check the same part at once, with the same result.

use std::iter;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

const UNKNOWN: u8 = 0;
const INTACT: u8 = 1;
const DAMAGED: u8 = 2;
/// Not checked, but its read from the disk was started.
const FETCHED: u8 = 3;

/// Parts that the disk reads ahead while parts are read in order: about a megabyte of rows. With eight, a cold sweep
/// took a third longer than with the readahead of the system.
const PARTS_AHEAD: usize = 32;

/// The state of each part, in one byte.
#[derive(Debug)]
pub(crate) struct Verified {
    parts: Box<[AtomicU8]>,
    damaged: AtomicU64,
}

impl Verified {
    /// Starts with all of `parts` parts unchecked.
    #[must_use]
    pub(crate) fn new(parts: usize) -> Self {
        Self { parts: (0..parts).map(|_| AtomicU8::new(UNKNOWN)).collect(), damaged: AtomicU64::new(0) }
    }

    /// Returns whether a part is intact; calls `check` on the first use.
    pub(crate) fn is_intact(&self, part: usize, check: impl FnOnce() -> bool) -> bool {
        let Some(state) = self.parts.get(part) else { return false };
        // Relaxed is enough: the state describes bytes that never change, and orders nothing else.
        match state.load(Ordering::Relaxed) {
            UNKNOWN | FETCHED => {
                let intact = check();
                let old_state = state.swap(if intact { INTACT } else { DAMAGED }, Ordering::Relaxed);
                if !intact && matches!(old_state, UNKNOWN | FETCHED) {
                    self.damaged.fetch_add(1, Ordering::Relaxed);
                }
                intact
            }
            known_state => known_state == INTACT,
        }
    }

    /// Iterates over the parts to fetch from the disk before `part` is checked: that part, and a later one while parts
    /// are read in order. Marks them as fetched.
    pub(crate) fn parts_to_fetch(&self, part: usize) -> impl Iterator<Item = usize> + use<'_> {
        let before = part.checked_sub(1).and_then(|before| self.parts.get(before));
        let is_in_order = before.is_some_and(|state| state.load(Ordering::Relaxed) != UNKNOWN);
        let parts = iter::once(part).chain(is_in_order.then_some(part + PARTS_AHEAD));
        parts.filter(|&part| self.mark_fetched(part))
    }

    /// Marks a part as fetched. Returns whether it neither was fetched nor checked before.
    pub(crate) fn mark_fetched(&self, part: usize) -> bool {
        let state = self.parts.get(part);
        state.is_some_and(|state| {
            // Most parts are known, and a plain load is faster.
            state.load(Ordering::Relaxed) == UNKNOWN
                && state.compare_exchange(UNKNOWN, FETCHED, Ordering::Relaxed, Ordering::Relaxed).is_ok()
        })
    }

    /// Number of parts found damaged.
    #[must_use]
    pub(crate) fn damaged(&self) -> u64 {
        self.damaged.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_fetched_ahead_only_where_they_are_read_in_order() {
        let verified = Verified::new(60);
        let fetched = |part| {
            let parts: Vec<usize> = verified.parts_to_fetch(part).collect();
            verified.is_intact(part, || true);
            parts
        };
        assert_eq!([fetched(0), fetched(1), fetched(5)], [vec![0], vec![1, 33], vec![5]]);
        assert_eq!([fetched(6), fetched(4), fetched(2)], [vec![6, 38], vec![4], vec![2, 34]]);
        // No part is fetched twice, and none beyond the end.
        assert!(verified.mark_fetched(10) && !verified.mark_fetched(10) && !verified.mark_fetched(38));
        assert!(!verified.mark_fetched(6) && !verified.mark_fetched(60));
        assert_eq!([fetched(10), fetched(11), fetched(34), fetched(40)], [vec![], vec![11, 43], vec![], vec![40]]);
        assert_eq!(verified.damaged(), 0);
    }

    #[test]
    fn each_part_is_checked_once_and_counted_once() {
        let verified = Verified::new(2);
        let mut checks = 0;
        for _ in 0..3 {
            assert!(verified.is_intact(0, || {
                checks += 1;
                true
            }));
            assert!(!verified.is_intact(1, || {
                checks += 1;
                false
            }));
        }
        assert_eq!((checks, verified.damaged()), (2, 1));
        assert!(!verified.is_intact(2, || true), "there is no such part");
        let verified = Verified::new(2);
        assert!(verified.mark_fetched(0) && verified.mark_fetched(1));
        for _ in 0..2 {
            assert!(verified.is_intact(0, || true) && !verified.is_intact(1, || false));
        }
        assert_eq!(verified.damaged(), 1);
    }
}
