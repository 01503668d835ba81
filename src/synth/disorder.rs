//! Reorders events like a real trace: most in time order, some late, a few much later. Holds the delayed events and one
//! chunk, for any length of the trace.

use std::cmp::Reverse;
use std::collections::binary_heap::{BinaryHeap, PeekMut};

use super::random::Random;
use crate::formats::native::write::CHUNK_EVENTS;
use crate::model::{Chunk, Event};

/// One stray in this many is far: most tracers delay an event until a span ends, few until a buffer is full.
const FAR_ONE_IN: u64 = 32;
/// Lateness of a near stray in events, as powers of two.
const NEAR_LOG2: std::ops::Range<u64> = 2..12;
/// Lateness of a far stray: up to two million events, thirty chunks.
const FAR_LOG2: std::ops::Range<u64> = 16..21;

/// Takes events in time order and returns chunks in trace order.
#[derive(Debug)]
pub(super) struct Disorder {
    random: Random,
    /// An event strays if 32 random bits are below this.
    threshold: u64,
    position: u64,
    strays: BinaryHeap<Reverse<Stray>>,
    chunk: Chunk,
}

/// An event that is written out of order.
#[derive(Debug)]
struct Stray {
    release: u64,
    /// Orders strays that are released at the same position.
    number: u64,
    event: Event,
    blob: Box<[u8]>,
}

impl Disorder {
    /// Creates a reordering in which a `fraction` of the events, from 0 to 1, strays.
    #[must_use]
    pub(super) fn new(seed: u64, fraction: f64) -> Self {
        let threshold = (fraction.clamp(0.0, 1.0) * 2f64.powi(32)) as u64;
        let random = Random::new(seed, u64::MAX);
        Self { random, threshold, position: 0, strays: BinaryHeap::new(), chunk: Chunk::default() }
    }

    /// Adds the next event with the blob of its details, and returns a chunk if it is full.
    #[must_use]
    pub(super) fn push(&mut self, event: Event, blob: &[u8]) -> Option<Chunk> {
        self.position += 1;
        let bits = self.random.next();
        if bits >> 32 < self.threshold {
            let powers = if (bits & 0xffff).is_multiple_of(FAR_ONE_IN) { FAR_LOG2 } else { NEAR_LOG2 };
            let distance = 1 << (powers.start + self.random.below(powers.end - powers.start));
            let release = self.position + distance + self.random.below(distance);
            self.strays.push(Reverse(Stray { release, number: self.position, event, blob: blob.into() }));
        } else {
            self.emit(event, blob);
        }
        while self.chunk.events.len() < CHUNK_EVENTS
            && let Some(stray) = self.release_stray()
        {
            self.emit(stray.event, &stray.blob);
        }
        (self.chunk.events.len() >= CHUNK_EVENTS).then(|| self.take_chunk())
    }

    /// Returns the last chunks, with all events that are still delayed.
    #[must_use]
    pub(super) fn finish(mut self) -> Vec<Chunk> {
        let mut chunks = Vec::new();
        while let Some(Reverse(stray)) = self.strays.pop() {
            self.emit(stray.event, &stray.blob);
            if self.chunk.events.len() >= CHUNK_EVENTS {
                chunks.push(self.take_chunk());
            }
        }
        if !self.chunk.events.is_empty() {
            chunks.push(self.chunk);
        }
        chunks
    }

    fn release_stray(&mut self) -> Option<Stray> {
        let stray = self.strays.peek_mut()?;
        (stray.0.release <= self.position).then(|| PeekMut::pop(stray).0)
    }

    fn take_chunk(&mut self) -> Chunk {
        let mut chunk = Chunk::default();
        chunk.events.reserve_exact(CHUNK_EVENTS);
        std::mem::replace(&mut self.chunk, chunk)
    }

    fn emit(&mut self, mut event: Event, blob: &[u8]) {
        event.detail = if blob.is_empty() { 0 } else { self.chunk.details.push_blob(blob) };
        self.chunk.events.push(event);
    }
}

impl Stray {
    fn order(&self) -> (u64, u64) {
        (self.release, self.number)
    }
}

impl PartialEq for Stray {
    fn eq(&self, other: &Self) -> bool {
        self.order() == other.order()
    }
}

impl Eq for Stray {}

impl PartialOrd for Stray {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Stray {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.order().cmp(&other.order())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{EventFlags, EventKind, NameIdx, TrackIdx};

    fn shuffle(count: i64, fraction: f64) -> Vec<i64> {
        let mut disorder = Disorder::new(1, fraction);
        let mut chunks = Vec::new();
        for ts_ns in 0..count {
            let (kind, flags) = (EventKind::Instant, EventFlags::NONE);
            let event =
                Event { ts_ns, value: 0, track: TrackIdx(0), name: NameIdx(0), detail: 0, depth: 0, kind, flags };
            chunks.extend(disorder.push(event, &ts_ns.to_le_bytes()));
            assert!(disorder.strays.len() < 200_000, "what is held does not grow with the capture");
        }
        chunks.extend(disorder.finish());
        assert!(chunks.iter().rev().skip(1).all(|chunk| chunk.events.len() == CHUNK_EVENTS));
        for chunk in &chunks {
            assert!(chunk.events.iter().all(|event| chunk.details.blob(event.detail) == event.ts_ns.to_le_bytes()));
        }
        chunks.iter().flat_map(|chunk| &chunk.events).map(|event| event.ts_ns).collect()
    }

    #[test]
    fn every_event_comes_out_once_whatever_the_disorder() {
        for fraction in [0.0, 0.01, 1.0] {
            let mut order = shuffle(300_000, fraction);
            order.sort_unstable();
            assert!(order.into_iter().eq(0..300_000), "{fraction}");
        }
    }

    #[test]
    fn the_requested_fraction_strays_and_none_without_disorder() {
        let late = |order: &[i64]| {
            let latest =
                order.iter().scan(i64::MIN, |latest, &ts_ns| Some(std::mem::replace(latest, ts_ns.max(*latest))));
            order.iter().zip(latest).filter(|&(&ts_ns, latest)| ts_ns < latest).count()
        };
        assert_eq!(late(&shuffle(100_000, 0.0)), 0);
        let strays = late(&shuffle(1_000_000, 0.01));
        assert!((9_000..11_000).contains(&strays), "{strays}");
    }
}
