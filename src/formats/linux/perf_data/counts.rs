//! Counter values read by samples. With `:S`, the group leader samples, and each sample reads all counters of the
//! group. Counters are cumulative, so the period of a sample is the increase since the previous one, as in perf. Each
//! other counter of the group that increased becomes a sample of its own event.

use crate::base::bytes::ByteCursor;

use rustc_hash::FxHashMap;

use super::wire::CountFormat;

/// Limit for counters; an event has one per CPU or per thread.
const COUNTERS_MAX: usize = 1 << 20;

/// A counter id, and its increase since the previous sample.
pub(super) type Counted = (u64, u64);

/// Last values of counters by id, and by thread if each thread has its own counter.
#[derive(Debug, Default)]
pub(super) struct CounterValues {
    last: FxHashMap<(u64, Option<i32>), u64>,
    counted: Vec<Counted>,
}

impl CounterValues {
    /// Returns the counters that increased since the previous sample, in sample order. `own_id` is the counter of a
    /// sample whose counts have no ids. `thread` is the counted thread, or `None` if threads share the counts. Returns
    /// `None` if the bytes end early.
    pub(super) fn count(
        &mut self,
        format: CountFormat,
        bytes: &[u8],
        own_id: Option<u64>,
        thread: Option<i32>,
    ) -> Option<&[Counted]> {
        self.counted.clear();
        let mut front = ByteCursor(bytes);
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
            let counter = (id, thread);
            if self.last.len() >= COUNTERS_MAX && !self.last.contains_key(&counter) {
                continue;
            }
            let before = self.last.insert(counter, value).unwrap_or(0);
            // A counter that was reset restarts from zero.
            let delta = value.checked_sub(before).unwrap_or(value);
            if delta > 0 {
                self.counted.push((id, delta));
            }
        }
        Some(&self.counted)
    }
}
