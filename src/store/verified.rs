//! Tracks which parts of a mapped store passed their checksum. Each part is checked once, on its first read. Checking
//! everything at opening would read the whole store, and checking every use would cost more than the use.
//!
//! Lock-free: two threads may check the same part at once, with the same result.

use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

const UNKNOWN: u8 = 0;
const INTACT: u8 = 1;
const DAMAGED: u8 = 2;

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
            UNKNOWN => {
                let intact = check();
                let old_state = state.swap(if intact { INTACT } else { DAMAGED }, Ordering::Relaxed);
                if !intact && old_state == UNKNOWN {
                    self.damaged.fetch_add(1, Ordering::Relaxed);
                }
                intact
            }
            known_state => known_state == INTACT,
        }
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
    }
}
