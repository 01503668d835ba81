//! The content of a sample ledger node: counts by stack and event, and by track and event. Packed as differences that
//! are usually small.

use super::ledger::NodeContent;
use super::sums::{Additive, merge_sorted};
use crate::model::{SampleSum, StackIdx, TrackIdx};

/// The samples of an event on a track.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TrackSamples {
    pub(crate) sum: SampleSum,
    /// Time and row of the first sample.
    pub(crate) first: (i64, u64),
}

/// A stack or a track, and the index of an event.
pub(crate) type EventKey<T> = (T, u32);

/// Samples of a range of time, sorted by key.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct SampleNode {
    pub(crate) tracks: Vec<(EventKey<TrackIdx>, TrackSamples)>,
    pub(crate) stacks: Vec<(EventKey<StackIdx>, SampleSum)>,
}

impl TrackSamples {
    /// Adds the samples of another range, or of another part of the track.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.sum.add(other.sum);
        self.first = self.first.min(other.first);
    }
}

impl Additive for TrackSamples {
    fn add(&mut self, other: &Self) {
        self.merge(other);
    }
}

impl Additive for SampleSum {
    fn add(&mut self, other: &Self) {
        Self::add(self, *other);
    }
}

impl SampleNode {
    /// Returns the number of samples on all tracks.
    pub(super) fn samples(&self) -> u64 {
        self.tracks.iter().map(|(_, samples)| samples.sum.samples).sum()
    }
}

impl NodeContent for SampleNode {
    fn merge(&mut self, other: &Self) {
        merge_sorted(&mut self.tracks, &other.tracks);
        merge_sorted(&mut self.stacks, &other.stacks);
    }

    fn pack(&self, out: &mut Vec<u8>) -> postcard::Result<()> {
        let mut packed = postcard::to_extend(&(self.tracks.len() as u64), std::mem::take(out))?;
        // A weight that equals the number of samples takes one byte.
        let beyond = |sum: SampleSum| sum.weight.wrapping_sub(sum.samples);
        let mut before = 0;
        for &((track, event), TrackSamples { sum, first }) in &self.tracks {
            packed = postcard::to_extend(&(track.0 - before, event, sum.samples, beyond(sum), first), packed)?;
            before = track.0;
        }
        before = 0;
        for &((stack, event), sum) in &self.stacks {
            packed = postcard::to_extend(&(stack.0 - before, event, sum.samples, beyond(sum)), packed)?;
            before = stack.0;
        }
        *out = packed;
        Ok(())
    }

    fn items(&self) -> usize {
        self.stacks.len()
    }
}

/// Calls `each_track` and `each_stack` for the items of a node. Returns false if the bytes are invalid.
pub(super) fn unpack(
    bytes: &[u8],
    mut each_track: impl FnMut(EventKey<TrackIdx>, TrackSamples),
    mut each_stack: impl FnMut(EventKey<StackIdx>, SampleSum),
) -> bool {
    let sum = |samples: u64, beyond: u64| SampleSum { samples, weight: samples.wrapping_add(beyond) };
    let Ok((tracks, mut rest)) = postcard::take_from_bytes::<u64>(bytes) else { return false };
    let mut track = 0_u32;
    for _ in 0..tracks {
        let taken = postcard::take_from_bytes::<(u32, u32, u64, u64, (i64, u64))>(rest);
        let Ok(((step, event, samples, beyond, first), after)) = taken else { return false };
        track = track.wrapping_add(step);
        each_track((TrackIdx(track), event), TrackSamples { sum: sum(samples, beyond), first });
        rest = after;
    }
    let mut stack = 0_u32;
    while !rest.is_empty() {
        let taken = postcard::take_from_bytes::<(u32, u32, u64, u64)>(rest);
        let Ok(((step, event, samples, beyond), after)) = taken else { return false };
        stack = stack.wrapping_add(step);
        each_stack((StackIdx(stack), event), sum(samples, beyond));
        rest = after;
    }
    true
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    prop_compose! {
        fn sums()(samples in any::<u64>(), weight in any::<u64>()) -> SampleSum {
            SampleSum { samples, weight }
        }
    }

    proptest! {
        #[test]
        fn nodes_come_back_as_they_were_written(
            tracks in proptest::collection::btree_map(
                (any::<u32>(), 0..3_u32), (sums(), any::<(i64, u64)>()), 0..20),
            stacks in proptest::collection::btree_map((any::<u32>(), 0..3_u32), sums(), 0..60),
        ) {
            let tracks = tracks.into_iter().map(|((track, event), (sum, first))| {
                ((TrackIdx(track), event), TrackSamples { sum, first })
            });
            let stacks = stacks.into_iter().map(|((stack, event), sum)| ((StackIdx(stack), event), sum));
            let node = SampleNode { tracks: tracks.collect(), stacks: stacks.collect() };
            let mut bytes = Vec::new();
            node.pack(&mut bytes).unwrap();
            let mut read = SampleNode::default();
            let SampleNode { tracks, stacks } = &mut read;
            let is_node = unpack(&bytes, |key, item| tracks.push((key, item)), |key, item| stacks.push((key, item)));
            prop_assert!(is_node);
            prop_assert_eq!(&read, &node);
            // A truncated node is invalid, unless it is cut between two stacks.
            let cut = &bytes[..bytes.len() - 1];
            let is_node = unpack(cut, |_, _| {}, |_, _| {});
            prop_assert!(!is_node);
        }
    }
}
