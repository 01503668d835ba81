//! The known future ends on one track, in time order. It does not record which spans they close.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::steps;

/// End times. The next end is a field, because every event of the track is compared with it. The others are boxed,
/// because a million tracks may have none.
#[derive(Debug, Default)]
pub(crate) struct PendingEnds {
    next_ns: Option<i64>,
    later: Option<Box<LaterEnds>>,
}

/// Ends after the next end.
#[derive(Debug, Default)]
struct LaterEnds {
    /// In descending order, so that the next end is the last.
    later_ns: Vec<i64>,
    /// Ends whose position in `later_ns` is far from its end.
    far: BinaryHeap<Reverse<i64>>,
}

impl PendingEnds {
    /// More ends would close spans of more lanes than exist.
    const COUNT_MAX: usize = 1 << 16;

    /// Adds an end. Returns false if there are too many.
    #[must_use]
    pub(crate) fn add(&mut self, end_ns: i64) -> bool {
        let Some(next_ns) = self.next_ns else {
            self.next_ns = Some(end_ns);
            return true;
        };
        let later = self.later.get_or_insert_default();
        if later.count() + 1 >= Self::COUNT_MAX {
            return false;
        }
        // Spans nest, so a new end is nearly always the next one.
        if end_ns <= next_ns {
            later.later_ns.push(next_ns);
            self.next_ns = Some(end_ns);
        } else {
            later.add(end_ns);
        }
        true
    }

    /// Removes and returns the next end if it is at most `to_ns`.
    #[inline]
    pub(crate) fn take_next(&mut self, to_ns: i64) -> Option<i64> {
        let next_ns = self.next_ns.filter(|&next_ns| next_ns <= to_ns)?;
        self.next_ns = self.later.as_mut().and_then(|later| later.take_first());
        Some(next_ns)
    }
}

impl LaterEnds {
    /// Maximum number of ends to move for an insertion.
    const MOVED_MAX: usize = 32;

    fn count(&self) -> usize {
        self.later_ns.len() + self.far.len()
    }

    fn add(&mut self, end_ns: i64) {
        let index = self.later_ns.partition_point(|&later_ns| later_ns >= end_ns);
        let moved = self.later_ns.len() - index;
        steps::add(moved.min(Self::MOVED_MAX) + 1);
        if moved <= Self::MOVED_MAX {
            self.later_ns.insert(index, end_ns);
        } else {
            self.far.push(Reverse(end_ns));
        }
    }

    fn take_first(&mut self) -> Option<i64> {
        match (self.later_ns.last(), self.far.peek()) {
            (Some(later_ns), Some(Reverse(far_ns))) if far_ns < later_ns => self.far.pop().map(|Reverse(ns)| ns),
            (None, Some(_)) => self.far.pop().map(|Reverse(ns)| ns),
            _ => self.later_ns.pop(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn ends_come_in_order_of_time_whatever_the_order_in_which_they_are_added(
            steps in proptest::collection::vec((0i64..5000, 0i64..20), 0..400),
        ) {
            let (mut ends, mut oracle, mut now_ns) = (PendingEnds::default(), Vec::new(), 0);
            for (dur_ns, step_ns) in steps {
                prop_assert!(ends.add(now_ns + dur_ns));
                oracle.push(now_ns + dur_ns);
                oracle.sort_unstable();
                now_ns += step_ns;
                let come = oracle.partition_point(|&end_ns| end_ns <= now_ns);
                let expected: Vec<i64> = oracle.drain(..come).collect();
                let taken: Vec<i64> = std::iter::from_fn(|| ends.take_next(now_ns)).collect();
                prop_assert_eq!(taken, expected);
            }
            prop_assert_eq!(std::iter::from_fn(|| ends.take_next(i64::MAX)).collect::<Vec<_>>(), oracle);
        }
    }

    #[test]
    fn ends_in_the_order_of_their_begins_move_few_others() {
        let (mut ends, count) = (PendingEnds::default(), 1_000_000);
        let steps = steps::count(|| {
            for now_ns in 0..count {
                assert!(ends.add(now_ns + 60_000));
                assert_eq!(ends.take_next(now_ns), (now_ns >= 60_000).then_some(now_ns));
            }
        });
        assert!(steps <= 40 * count.cast_unsigned(), "{steps} steps");
    }

    #[test]
    fn the_number_of_pending_ends_is_limited() {
        let mut ends = PendingEnds::default();
        let added = (0..1_000_000).filter(|_| ends.add(i64::MAX)).count();
        assert_eq!(added, PendingEnds::COUNT_MAX);
    }
}
