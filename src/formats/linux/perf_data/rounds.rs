//! Sorts records by time. perf writes the buffer of one CPU after the other. After a round, no record is older than the
//! newest record of the previous round.
//!
//! Some events have no times, such as samples of `perf record --per-thread`. They are at the time of the record before
//! them in the file, or of the oldest record. In a file without any times, samples are a millisecond apart.

use super::wire::kind;
use crate::base::budget::Budget;
use crate::base::budget_shares::BudgetShare;
use crate::formats::input::lengths::saturating_len;

/// Distance between samples of a file without times.
const UNTIMED_NS: i64 = 1_000_000;

/// Least limit for the memory of waiting records, whatever the budget is: the ring buffers of a small machine.
const WAITING_BYTES_LEAST: u64 = 16 << 20;

/// A record that waits for its round to end.
#[derive(Debug, Clone, Copy)]
struct WaitingRecord {
    time_ns: i64,
    kind: u32,
    misc: u16,
    start: usize,
    len: usize,
    offset: u64,
}

/// A record in time order.
#[derive(Debug, Clone, Copy)]
pub(super) struct PerfRecord<'a> {
    pub(super) time_ns: i64,
    pub(super) kind: u32,
    pub(super) misc: u16,
    pub(super) body: &'a [u8],
    pub(super) offset: u64,
}

/// Records that wait for the end of their round.
#[derive(Debug, Default)]
pub(super) struct Rounds {
    waiting: Vec<WaitingRecord>,
    bytes: Vec<u8>,
    /// Limit for the memory of both. Without rounds, records are sorted in pieces of this size.
    bytes_max: usize,
    /// Time of the newest record that was released before its round ended.
    early_ns: Option<i64>,
    /// Time of the last record in the file.
    last_ns: Option<i64>,
    oldest_ns: Option<i64>,
    newest_ns: Option<i64>,
    /// Time of the newest record of the previous round.
    safe_ns: Option<i64>,
    /// Time of the last sample in a file without times.
    untimed_ns: i64,
}

impl Rounds {
    pub(super) fn new(budget: &Budget) -> Self {
        let bytes_max = BudgetShare::PerfRecords.bytes(budget).max(WAITING_BYTES_LEAST);
        Self { bytes_max: saturating_len(bytes_max), ..Self::default() }
    }

    /// Adds a record. `time_ns` is its time, if it has one. Returns false if later records have been released already.
    pub(super) fn push(&mut self, time_ns: Option<i64>, kind: u32, misc: u16, body: &[u8], offset: u64) -> bool {
        // perf first lists the state before recording, without times or at 0, in order.
        let own_ns = time_ns.filter(|&time_ns| time_ns != 0 || kind == kind::SAMPLE);
        if let Some(time_ns) = own_ns {
            self.last_ns = Some(time_ns);
            self.oldest_ns = Some(self.oldest_ns.map_or(time_ns, |oldest_ns| oldest_ns.min(time_ns)));
            self.newest_ns = self.newest_ns.max(Some(time_ns));
        }
        let time_ns = time_ns.or(self.last_ns).unwrap_or(0);
        let start = self.bytes.len();
        self.bytes.extend_from_slice(body);
        self.waiting.push(WaitingRecord { time_ns, kind, misc, start, len: body.len(), offset });
        own_ns.is_none() || own_ns >= self.early_ns
    }

    /// Returns whether waiting records exceed the limit, so that they must be released early.
    pub(super) fn is_full(&self) -> bool {
        self.bytes.len() + size_of_val(&*self.waiting) > self.bytes_max
    }

    /// Emits all waiting records before their round ends.
    pub(super) fn release_early<E>(&mut self, take: impl FnMut(PerfRecord<'_>) -> Result<(), E>) -> Result<(), E> {
        self.early_ns = self.newest_ns;
        self.release(i64::MAX, take)
    }

    /// Ends a round: emits the records that no later record can precede.
    pub(super) fn finish_round<E>(&mut self, take: impl FnMut(PerfRecord<'_>) -> Result<(), E>) -> Result<(), E> {
        let safe_ns = std::mem::replace(&mut self.safe_ns, self.newest_ns);
        safe_ns.map_or(Ok(()), |safe_ns| self.release(safe_ns, take))
    }

    /// Emits all waiting records, at the end of the trace.
    pub(super) fn finish<E>(&mut self, take: impl FnMut(PerfRecord<'_>) -> Result<(), E>) -> Result<(), E> {
        self.release(i64::MAX, take)
    }

    fn release<E>(&mut self, up_to_ns: i64, mut take: impl FnMut(PerfRecord<'_>) -> Result<(), E>) -> Result<(), E> {
        self.waiting.sort_by_key(|waiting| waiting.time_ns);
        let count = self.waiting.partition_point(|waiting| waiting.time_ns <= up_to_ns);
        let later = self.waiting.split_off(count);
        for WaitingRecord { time_ns, kind, misc, start, len, offset } in self.waiting.drain(..) {
            let time_ns = match self.oldest_ns {
                _ if kind != kind::SAMPLE => time_ns,
                Some(oldest_ns) => time_ns.max(oldest_ns),
                None => {
                    self.untimed_ns = self.untimed_ns.saturating_add(UNTIMED_NS);
                    self.untimed_ns
                }
            };
            take(PerfRecord { time_ns, kind, misc, body: &self.bytes[start..start + len], offset })?;
        }
        let mut bytes = Vec::new();
        for waiting in later {
            let start = bytes.len();
            bytes.extend_from_slice(&self.bytes[waiting.start..waiting.start + waiting.len]);
            self.waiting.push(WaitingRecord { start, ..waiting });
        }
        self.bytes = bytes;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_released_in_order_once_no_earlier_one_can_follow() {
        let mut rounds = Rounds::default();
        let push = |rounds: &mut Rounds, time_ns: i64| {
            rounds.push(Some(time_ns), kind::SAMPLE, 0, &time_ns.to_le_bytes(), 0);
        };
        let mut taken = Vec::new();
        let mut take = |record: PerfRecord<'_>| {
            assert_eq!(record.body, record.time_ns.to_le_bytes());
            taken.push(record.time_ns);
            Ok::<(), ()>(())
        };
        for time_ns in [5, 9, 3, 7] {
            push(&mut rounds, time_ns);
        }
        rounds.finish_round(&mut take).expect("taken");
        for time_ns in [8, 12, 10] {
            push(&mut rounds, time_ns);
        }
        rounds.finish_round(&mut take).expect("taken");
        rounds.finish(&mut take).expect("taken");
        assert_eq!(taken, [3, 5, 7, 8, 9, 10, 12]);
    }

    #[test]
    fn a_record_is_late_if_later_ones_were_released_for_want_of_memory() {
        let mut rounds = Rounds::new(&Budget::new(1));
        let push = |rounds: &mut Rounds, time_ns: i64, len: usize| {
            rounds.push(Some(time_ns), kind::SAMPLE, 0, &vec![0; len], 0)
        };
        assert!(push(&mut rounds, 10, 8 << 20) && !rounds.is_full());
        assert!(push(&mut rounds, 5, 0) && push(&mut rounds, 20, 9 << 20) && rounds.is_full());
        let mut taken = Vec::new();
        let mut take = |record: PerfRecord<'_>| {
            taken.push(record.time_ns);
            Ok::<(), ()>(())
        };
        rounds.release_early(&mut take).expect("taken");
        assert!(!rounds.is_full());
        assert!(!push(&mut rounds, 19, 0) && push(&mut rounds, 20, 0) && push(&mut rounds, 21, 0));
        rounds.finish(&mut take).expect("taken");
        assert_eq!(taken, [5, 10, 20, 19, 20, 21]);
    }

    #[test]
    fn small_records_count_with_the_memory_that_they_wait_in() {
        let mut rounds = Rounds::new(&Budget::new(1));
        while !rounds.is_full() {
            rounds.push(Some(1), kind::SAMPLE, 0, &[0; 8], 0);
        }
        let bytes = size_of_val(&*rounds.waiting) + rounds.bytes.len();
        assert!(bytes as u64 <= WAITING_BYTES_LEAST + 100, "{bytes}");
    }
}
