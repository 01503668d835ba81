//! Sorts the events of several running sources by time: a state machine without a clock, a thread or a file.
//!
//! Each source has a queue. At every tick the orderer records a watermark: the smallest of the newest times of all
//! sources that are not idle. A watermark is effective once it is older than the delay: then all events up to it are
//! released. An event that comes after a later event was released is released at once, with its lateness. A full queue
//! rejects the next event, so that its source waits: nothing is dropped. While a queue is full, the delay is a second
//! at most: a longer one would block the source, and also the end of its stream.
//!
//! A source may have another clock, such as the time since boot. One sign is that its times stay far before the times
//! of another source, and advance no faster than the caller's clock. Another is that they stay somewhat before them,
//! while both sources send without pauses and with a steady lag. The times of the source are then shifted to the clock
//! of the other.
//!
//! Equivalent to a stable sort of all events by time, once all have arrived.

use std::cmp::{Ordering, Reverse};
use std::collections::{BinaryHeap, VecDeque};

use super::steady_lag::SteadyLag;

/// Maximum lag of a source, in addition to the delay, behind another with the same clock.
const BEHIND_NS: u64 = 10_000_000_000;

/// The same maximum for a source whose lag is steady.
const STEADILY_BEHIND_NS: u64 = 1_000_000_000;

/// Time in which a source must catch up, in addition to the delay.
const CATCH_UP_NS: u64 = 2_000_000_000;

/// Maximum delay while a queue is full.
const FULL_DELAY_NS: u64 = 1_000_000_000;

/// The settings of an orderer. Times are nanoseconds of the caller's clock.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OrdererLimits {
    /// How long an event waits for earlier ones, of any source.
    pub(crate) delay_ns: u64,
    /// Minimum time between two watermarks.
    pub(crate) tick_ns: u64,
    /// A source without an event for this long delays nothing.
    pub(crate) idle_ns: u64,
    /// Limit for the bytes in the queues of all sources, divided equally.
    pub(crate) queues_bytes: usize,
}

/// An event that no longer waits for earlier ones.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Released<T> {
    pub(crate) source: usize,
    /// How far its time is before the latest one released earlier; 0 if it is in order, or tolerated.
    pub(crate) late_ns: u64,
    /// Its arrival on the caller's clock.
    pub(crate) came_ns: u64,
    pub(crate) item: T,
}

/// The late events of a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct LateEvents {
    pub(crate) count: u64,
    pub(crate) most_ns: u64,
}

#[derive(Debug)]
struct QueuedEvent<T> {
    key_ns: i64,
    /// A sequence number over all sources, so that events at one time stay in the order of arrival.
    number: u64,
    came_ns: u64,
    bytes: usize,
    item: T,
}

impl<T> QueuedEvent<T> {
    fn rank(&self) -> (i64, u64) {
        (self.key_ns, self.number)
    }
}

impl<T> PartialEq for QueuedEvent<T> {
    fn eq(&self, other: &Self) -> bool {
        self.rank() == other.rank()
    }
}

impl<T> Eq for QueuedEvent<T> {}

impl<T> PartialOrd for QueuedEvent<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> Ord for QueuedEvent<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.rank().cmp(&other.rank())
    }
}

/// The events of one source.
#[derive(Debug)]
struct SourceQueue<T> {
    /// Events that arrived in time order.
    in_order: VecDeque<QueuedEvent<T>>,
    /// Events that arrived after a later one; inserting them into the sorted queue would move others.
    strays: BinaryHeap<Reverse<QueuedEvent<T>>>,
    newest_ns: Option<i64>,
    /// The time of the last event that arrived. Unlike `newest_ns`, it recovers from a single wrong time.
    last_ns: Option<i64>,
    /// Added to all times: the distance to the clock of another source.
    shift_ns: i64,
    /// Since when its times are far before the times of another source.
    behind: Option<Behind>,
    /// The lag of its times, before they are shifted.
    lag: SteadyLag,
    /// When the last event arrived, or when the source started.
    last_came_ns: u64,
    bytes: usize,
    /// Whether it rejected the last event.
    is_full: bool,
    is_awaited: bool,
    has_ended: bool,
    /// Lateness up to which an event counts as in order.
    tolerated_ns: u64,
    late: LateEvents,
}

/// A source whose times are far before the times of another source.
#[derive(Debug, Clone, Copy)]
struct Behind {
    since_ns: u64,
    /// The time of its last event then.
    last_ns: i64,
}

impl<T> SourceQueue<T> {
    /// Returns the shifted time and the number of the next event.
    fn first(&self) -> Option<(i64, u64)> {
        let stray = self.strays.peek().map(|Reverse(stray)| stray.rank());
        let next = self.in_order.front().map(QueuedEvent::rank);
        let (key_ns, number) = stray.into_iter().chain(next).min()?;
        Some((self.shifted(key_ns), number))
    }

    fn shifted(&self, key_ns: i64) -> i64 {
        key_ns.saturating_add(self.shift_ns)
    }

    fn newest(&self) -> Option<i64> {
        self.newest_ns.map(|newest_ns| self.shifted(newest_ns))
    }

    fn take_first(&mut self) -> Option<QueuedEvent<T>> {
        let stray = self.strays.peek().map(|Reverse(stray)| stray.rank());
        let is_stray = stray.is_some_and(|stray| self.in_order.front().is_none_or(|next| stray < next.rank()));
        let first = if is_stray { self.strays.pop().map(|Reverse(stray)| stray) } else { self.in_order.pop_front() };
        self.bytes -= first.as_ref().map_or(0, |first| first.bytes);
        first
    }
}

/// A watermark, effective once the delay has passed.
#[derive(Debug, Clone, Copy)]
struct Watermark {
    noted_ns: u64,
    key_ns: i64,
}

/// Sorts the events of sources, which may be added later.
#[derive(Debug)]
pub(crate) struct Orderer<T> {
    limits: OrdererLimits,
    queues: Vec<SourceQueue<T>>,
    /// Sources that have not ended, or have queued events: of a thousand connections, most have ended.
    active: Vec<usize>,
    /// Rank and source of the first event of each queue, earliest first. Entries of other events are outdated.
    firsts: BinaryHeap<Reverse<((i64, u64), usize)>>,
    /// Number of queued events.
    queued: usize,
    /// Number of sources that have not ended.
    running: usize,
    /// Bytes in the queues of all sources.
    bytes: usize,
    /// Number of full queues.
    full: usize,
    /// The maximum delay while a queue is full.
    full_delay_ns: u64,
    /// Whether a delay was shortened.
    has_shortened: bool,
    /// At most one per tick of the delay, oldest first.
    watermarks: VecDeque<Watermark>,
    last_tick_ns: Option<u64>,
    /// Events up to this time may be released; `None` at the start.
    release_to_ns: Option<i64>,
    last_released_ns: Option<i64>,
    pushed: u64,
    /// Sources whose times were shifted since [`Orderer::take_shifted`] was last called.
    shifted: Vec<usize>,
    /// The latest time of the caller's clock, which may step back.
    now_ns: u64,
}

impl<T> Orderer<T> {
    pub(crate) fn new(limits: OrdererLimits, now_ns: u64) -> Self {
        Self {
            limits,
            queues: Vec::new(),
            active: Vec::new(),
            firsts: BinaryHeap::new(),
            queued: 0,
            running: 0,
            bytes: 0,
            full: 0,
            full_delay_ns: FULL_DELAY_NS,
            has_shortened: false,
            watermarks: VecDeque::new(),
            last_tick_ns: None,
            release_to_ns: None,
            last_released_ns: None,
            pushed: 0,
            shifted: Vec::new(),
            now_ns,
        }
    }

    /// Adds a source, and returns its index. If `is_awaited`, it may have earlier events than all others, and delays
    /// them until it is idle. Other sources delay nothing before their first event.
    pub(crate) fn add_source(&mut self, now_ns: u64, is_awaited: bool) -> usize {
        self.now_ns = self.now_ns.max(now_ns);
        self.queues.push(SourceQueue {
            in_order: VecDeque::new(),
            strays: BinaryHeap::new(),
            newest_ns: None,
            last_ns: None,
            shift_ns: 0,
            behind: None,
            lag: SteadyLag::default(),
            last_came_ns: self.now_ns,
            bytes: 0,
            is_full: false,
            is_awaited,
            has_ended: false,
            tolerated_ns: 0,
            late: LateEvents::default(),
        });
        let source = self.queues.len() - 1;
        self.active.push(source);
        self.running += 1;
        // If all earlier sources have ended, their events were released.
        self.release_to_ns = self.release_to_ns.filter(|&to_ns| to_ns < i64::MAX).or(self.last_released_ns);
        source
    }

    /// Sets the lateness up to which events of a source count as in order.
    pub(crate) fn tolerate(&mut self, source: usize, late_ns: u64) {
        self.queues[source].tolerated_ns = late_ns;
    }

    /// Returns the sources that have not ended, or have queued events.
    pub(crate) fn active(&self) -> &[usize] {
        &self.active
    }

    /// Queues the next event of a source, which arrives at `now_ns` and is ordered by `key_ns`. Returns it if the queue
    /// is full; an empty queue accepts any event.
    pub(crate) fn push(&mut self, source: usize, key_ns: i64, bytes: usize, item: T, now_ns: u64) -> Result<(), T> {
        self.now_ns = self.now_ns.max(now_ns);
        let part = self.limits.queues_bytes / self.active.len().max(1);
        let queue = &mut self.queues[source];
        // With fewer sources the shares were larger, and may still be used.
        let is_full = queue.bytes + bytes > part || self.bytes + bytes > self.limits.queues_bytes.saturating_mul(2);
        let is_full = queue.bytes > 0 && is_full;
        match (std::mem::replace(&mut queue.is_full, is_full), is_full) {
            (false, true) => self.full += 1,
            (true, false) => self.full -= 1,
            _ => {}
        }
        if is_full {
            return Err(item);
        }
        queue.bytes += bytes;
        self.bytes += bytes;
        queue.last_came_ns = self.now_ns;
        let waiting = QueuedEvent { key_ns, number: self.pushed, came_ns: self.now_ns, bytes, item };
        let rank = (queue.shifted(key_ns), self.pushed);
        self.pushed += 1;
        self.queued += 1;
        if queue.first().is_none_or(|first| rank < first) {
            self.firsts.push(Reverse((rank, source)));
        }
        if queue.in_order.back().is_none_or(|last| last.key_ns <= key_ns) {
            queue.in_order.push_back(waiting);
        } else {
            queue.strays.push(Reverse(waiting));
        }
        queue.newest_ns = queue.newest_ns.max(Some(key_ns));
        queue.last_ns = Some(key_ns);
        queue.lag.add(key_ns, self.now_ns);
        Ok(())
    }

    /// Marks a source as ended, so that it delays nothing.
    pub(crate) fn end(&mut self, source: usize) {
        if !std::mem::replace(&mut self.queues[source].has_ended, true) {
            self.running -= 1;
        }
        if std::mem::take(&mut self.queues[source].is_full) {
            self.full -= 1;
        }
        if self.running == 0 {
            self.release_to_ns = Some(i64::MAX);
        }
        self.forget_ended(source);
    }

    /// Returns whether a source has ended, and all its events are released.
    pub(crate) fn is_over(&self, source: usize) -> bool {
        self.queues[source].has_ended && self.queues[source].first().is_none()
    }

    fn forget_ended(&mut self, source: usize) {
        if self.is_over(source) {
            self.active.retain(|active| *active != source);
        }
    }

    /// Records a watermark if it is time for one, and releases events up to each watermark older than the delay.
    pub(crate) fn tick(&mut self, now_ns: u64) {
        self.now_ns = self.now_ns.max(now_ns);
        if self.last_tick_ns.is_none_or(|last_ns| self.now_ns - last_ns >= self.limits.tick_ns) {
            self.last_tick_ns = Some(self.now_ns);
            self.shift_clocks();
            self.shift_steady_clocks();
            if let Some(key_ns) = self.watermark() {
                self.watermarks.push_back(Watermark { noted_ns: self.now_ns, key_ns });
            }
        }
        let delay_ns = self.shortened(self.limits.delay_ns);
        while let Some(first) = self.watermarks.front()
            && self.now_ns - first.noted_ns >= delay_ns
        {
            self.has_shortened |= delay_ns < self.limits.delay_ns;
            self.release_to_ns = self.release_to_ns.max(Some(first.key_ns));
            self.watermarks.pop_front();
        }
    }

    /// Stops delaying events while a queue is full, so that the ends of all streams arrive.
    pub(crate) fn hurry(&mut self) {
        self.full_delay_ns = 0;
    }

    /// Returns whether events were released before the delay, because a queue was full.
    pub(crate) fn has_shortened_delay(&self) -> bool {
        self.has_shortened
    }

    /// Returns a wait, or less while a queue is full.
    fn shortened(&self, wait_ns: u64) -> u64 {
        if self.full > 0 { wait_ns.min(self.full_delay_ns) } else { wait_ns }
    }

    /// Returns the time up to which all sources that are not idle have arrived. If all are idle, nothing is delayed.
    fn watermark(&self) -> Option<i64> {
        let live = || self.active().iter().map(|&source| &self.queues[source]).filter(|queue| !queue.has_ended);
        let idle_ns = self.shortened(self.limits.idle_ns);
        let is_idle = |queue: &&SourceQueue<T>| self.now_ns - queue.last_came_ns >= idle_ns;
        if live().all(|queue| is_idle(&queue)) {
            return self.active.iter().filter_map(|&source| self.queues[source].newest()).max();
        }
        // A source without events may still have an earlier one.
        let is_waited_for = |queue: &&SourceQueue<T>| queue.is_awaited || queue.newest_ns.is_some();
        let newest = live().filter(is_waited_for).filter(|queue| !is_idle(queue)).map(SourceQueue::newest);
        newest.min().flatten()
    }

    /// Shifts the times of sources that lag. Sources with one clock get the same shift, so that they stay in order.
    fn shift_clocks(&mut self) {
        let catch_up_ns = self.limits.delay_ns.saturating_add(CATCH_UP_NS);
        let behind_ns = self.limits.delay_ns.saturating_add(BEHIND_NS);
        let now_ns = self.now_ns;
        let has_come = |queue: &SourceQueue<T>| now_ns - queue.last_came_ns < catch_up_ns;
        let queues = || self.active.iter().map(|&source| &self.queues[source]);
        let latest = queues().filter(|queue| has_come(queue) || queue.first().is_some());
        let latest = latest.filter_map(|queue| Some((queue.shifted(queue.last_ns?), queue.last_came_ns)));
        let Some((latest_ns, latest_came_ns)) = latest.max() else { return };
        let is_behind = |time_ns: i64| time_ns < latest_ns && time_ns.abs_diff(latest_ns) > behind_ns;
        for position in 0..self.active.len() {
            let source = self.active[position];
            let queue = &self.queues[source];
            let Some(last_ns) = queue.last_ns.filter(|&last_ns| has_come(queue) && is_behind(queue.shifted(last_ns)))
            else {
                self.queues[source].behind = None;
                continue;
            };
            let now = Behind { since_ns: self.now_ns, last_ns };
            let behind = queue.behind.unwrap_or(now);
            let waited_ns = self.now_ns - behind.since_ns;
            if waited_ns < catch_up_ns {
                self.queues[source].behind = Some(behind);
                continue;
            }
            if last_ns > behind.last_ns && last_ns.abs_diff(behind.last_ns) > waited_ns.saturating_mul(2) {
                // A file that is read from its start, for example.
                self.queues[source].behind = Some(now);
                continue;
            }
            let near = |shift_ns: &i64| last_ns.saturating_add(*shift_ns).abs_diff(latest_ns) <= behind_ns;
            let of_others = self.active.iter().map(|&other| self.queues[other].shift_ns);
            // Both clocks are assumed to advance like the caller's clock.
            let since_latest_ns = queue.last_came_ns.cast_signed().saturating_sub(latest_came_ns.cast_signed());
            let distance_ns = || latest_ns.saturating_add(since_latest_ns).saturating_sub(last_ns);
            let shift_ns = of_others.filter(near).min().unwrap_or_else(distance_ns);
            self.shift(source, shift_ns);
        }
    }

    /// Shifts the times of sources that lag another source by a constant distance. Batches are sent with pauses, and
    /// the lag of buffered events varies, so only sources with another clock remain.
    fn shift_steady_clocks(&mut self) {
        let behind_ns = self.limits.delay_ns.saturating_add(STEADILY_BEHIND_NS);
        let lead_of = |source: usize| {
            let queue: &SourceQueue<T> = &self.queues[source];
            Some(queue.shifted(queue.lag.lead_ns(self.now_ns)?)).filter(|_| !queue.has_ended)
        };
        let leads: Vec<_> = self.active.iter().filter_map(|&source| Some((lead_of(source)?, source))).collect();
        let Some(&(most_ns, _)) = leads.iter().max() else { return };
        for (lead_ns, source) in leads {
            let distance_ns = most_ns.saturating_sub(lead_ns);
            if distance_ns.unsigned_abs() > behind_ns {
                let shift_ns = self.queues[source].shift_ns.saturating_add(distance_ns);
                self.shift(source, shift_ns);
            }
        }
    }

    fn shift(&mut self, source: usize, shift_ns: i64) {
        let queue = &mut self.queues[source];
        // Its lateness so far was measured by another clock.
        (queue.shift_ns, queue.behind, queue.late) = (shift_ns, None, LateEvents::default());
        self.firsts.extend(queue.first().map(|rank| Reverse((rank, source))));
        self.shifted.push(source);
    }

    /// Returns the sources whose times have been shifted since the last call.
    pub(crate) fn take_shifted(&mut self) -> Vec<usize> {
        std::mem::take(&mut self.shifted)
    }

    /// Returns the next released event, the earliest first.
    pub(crate) fn pop(&mut self) -> Option<Released<T>> {
        let release_to_ns = self.release_to_ns?;
        let (key_ns, source) = loop {
            let &Reverse((rank, source)) = self.firsts.peek()?;
            if self.queues[source].first() == Some(rank) {
                break (rank.0, source);
            }
            self.firsts.pop();
        };
        if key_ns > release_to_ns {
            return None;
        }
        self.firsts.pop();
        let queue = &mut self.queues[source];
        let QueuedEvent { came_ns, bytes, item, .. } = queue.take_first()?;
        self.firsts.extend(queue.first().map(|rank| Reverse((rank, source))));
        self.bytes -= bytes;
        self.queued -= 1;
        self.forget_ended(source);
        let late_ns = self.last_released_ns.filter(|&last_ns| last_ns > key_ns).map_or(0, |last| last.abs_diff(key_ns));
        self.last_released_ns = self.last_released_ns.max(Some(key_ns));
        let late_ns = if late_ns <= self.queues[source].tolerated_ns { 0 } else { late_ns };
        if late_ns > 0 {
            let late = &mut self.queues[source].late;
            late.count += 1;
            late.most_ns = late.most_ns.max(late_ns);
        }
        Some(Released { source, late_ns, came_ns, item })
    }

    /// Returns whether events are queued, so that time has to pass.
    pub(crate) fn has_waiting(&self) -> bool {
        self.queued > 0
    }

    /// Returns the late events of a source.
    pub(crate) fn late(&self, source: usize) -> LateEvents {
        self.queues[source].late
    }
}

#[cfg(test)]
mod tests;
