//! The counters that samples read: with `:S`, the leader of a group samples, and each sample reads all counters of the
//! group. A counter counts on, so a sample stands for what was added since the sample before: that is its period, as
//! perf has it, and a follower that has counted something is a sample of its own event.

use rustc_hash::FxHashMap;

use super::wire::{CountFormat, PerfBytes};

/// Counters that are remembered: an event has one for each CPU, or for each thread.
const COUNTERS_MAX: usize = 1 << 20;

/// A counter's id, and how much it counted since the sample before.
pub(super) type Counted = (u64, u64);

/// The last values of counters, by their ids.
#[derive(Debug, Default)]
pub(super) struct Counters {
    last: FxHashMap<u64, u64>,
    counted: Vec<Counted>,
}

impl Counters {
    /// The counters that have counted something since the sample before, in the order of the sample. `own_id` is the
    /// counter of a sample whose counts have no ids. `None` if the bytes end before the counts.
    pub(super) fn count(&mut self, format: CountFormat, bytes: &[u8], own_id: Option<u64>) -> Option<&[Counted]> {
        self.counted.clear();
        let mut front = PerfBytes(bytes);
        let values = if format.is_group() { front.u64()? } else { 1 };
        if format.is_group() {
            front.bytes(format.time_bytes())?;
        }
        for _ in 0..values {
            let value = front.u64()?;
            if !format.is_group() {
                front.bytes(format.time_bytes())?;
            }
            let id = if format.has_id() { Some(front.u64()?) } else { own_id };
            if format.has_lost() {
                front.u64()?;
            }
            let Some(id) = id else { continue };
            if self.last.len() >= COUNTERS_MAX && !self.last.contains_key(&id) {
                continue;
            }
            let before = self.last.insert(id, value).unwrap_or(0);
            // A counter that was reset begins again.
            let delta = value.checked_sub(before).unwrap_or(value);
            if delta > 0 {
                self.counted.push((id, delta));
            }
        }
        Some(&self.counted)
    }
}
