//! The end of a span that is to be written, ordered by time.

use std::cmp::Ordering;

use crate::formats::perfetto::write::Overlap;
use crate::model::TrackIdx;

/// The end of a span on a row of a track.
#[derive(Clone, Copy)]
pub(super) struct SpanEnd {
    /// Time, depth (the innermost first) and sequence number, as one number that takes a single comparison.
    key: u128,
    pub(super) track: TrackIdx,
    pub(super) overlap: Overlap,
}

impl SpanEnd {
    /// Maps times to unsigned numbers in the same order.
    const SIGN: u64 = 1 << 63;
    /// Number of bits of sequence numbers, for more spans than a store can have.
    const NUMBER_BITS: u32 = 48;

    pub(super) fn new(end_ns: i64, depth: u16, number: u64, (track, overlap): (TrackIdx, Overlap)) -> Self {
        let time = u128::from(end_ns.cast_unsigned() ^ Self::SIGN) << 64;
        let order = u64::from(!depth) << Self::NUMBER_BITS | number;
        Self { key: time | u128::from(order), track, overlap }
    }

    pub(super) fn end_ns(&self) -> i64 {
        ((self.key >> 64) as u64 ^ Self::SIGN).cast_signed()
    }
}

impl PartialEq for SpanEnd {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}

impl Eq for SpanEnd {}

impl PartialOrd for SpanEnd {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for SpanEnd {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key.cmp(&other.key)
    }
}

#[cfg(test)]
mod tests {
    use std::cmp::Reverse;

    use super::*;

    #[test]
    fn ends_are_ordered_by_time_then_from_the_innermost_then_by_number() {
        let mut keys = Vec::new();
        for end_ns in [i64::MIN, -1, 0, 1, i64::MAX] {
            for depth in [0, 1, u16::MAX] {
                keys.extend([0, 1, (1 << 48) - 1].map(|number| (end_ns, Reverse(depth), number)));
            }
        }
        let end = |&(end_ns, Reverse(depth), number): &(i64, Reverse<u16>, u64)| {
            SpanEnd::new(end_ns, depth, number, (TrackIdx(3), 1))
        };
        for a in &keys {
            assert_eq!(end(a).end_ns(), a.0);
            for b in &keys {
                assert_eq!(end(a).cmp(&end(b)), a.cmp(b), "{a:?} {b:?}");
            }
        }
    }
}
