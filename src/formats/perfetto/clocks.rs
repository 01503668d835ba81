//! Converts times of all clocks to the trace clock, using clock snapshots. A time without a path to the trace clock
//! stays as it is and counts as a loss.

use rustc_hash::FxHashMap;

use super::fields::{builtin_clock, clock, clock_snapshot};
use super::limits::has_room;
use crate::formats::output::batch::BatchBuilder;
use crate::formats::protobuf::decode::Fields;
use crate::model::{Loss, Losses, SourcePos};

/// The trace clock of traces that name none.
const BOOTTIME: u64 = builtin_clock::BOOTTIME;

const REALTIME: u64 = builtin_clock::REALTIME;

/// Clock of the oldest track events.
pub(super) const MONOTONIC: u64 = builtin_clock::MONOTONIC;

pub(super) const FTRACE_CLOCK: u64 = BOOTTIME;

/// Limit for stored readings, 32 MiB; snapshots are seconds apart.
const READINGS_MAX: usize = 2 << 20;

/// Limit for clocks in a snapshot; real snapshots have about ten.
const CLOCKS_IN_SNAPSHOT_MAX: usize = 32;

/// Limit for links of a clock, since an event whose clock has no link to the trace clock searches all of them.
const LINKS_MAX: usize = 64;

/// Limit for clocks; each sequence has two or three. Times of clocks beyond it are not converted.
const CLOCKS_MAX: usize = 1 << 20;

/// The clocks of a trace and the offsets between them.
#[derive(Debug, Default)]
pub(super) struct Clocks {
    /// The trace clock, set by the first snapshot.
    primary: Option<usize>,
    rows: FxHashMap<ClockKey, usize>,
    /// The most recently used clock, which is nearly always the next too.
    recent: Option<(ClockKey, usize)>,
    all: Vec<Clock>,
    readings: usize,
}

/// Id of a clock and its sequence, which is 0 for global clocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct ClockKey {
    sequence: u32,
    id: u64,
}

#[derive(Debug)]
struct Clock {
    unit_ns: u64,
    /// Whether each time is relative to the previous one.
    is_incremental: bool,
    /// The last time of an incremental clock.
    newest_ns: i64,
    /// Whether it belongs to one sequence.
    is_own: bool,
    /// Readings in snapshots that also have another clock.
    links: Vec<ClockLink>,
    /// The most recently used shift to the trace clock.
    recent: Option<Shift>,
}

#[derive(Debug)]
struct ClockLink {
    to: usize,
    /// Times on this clock, each with the offset of the other clock.
    readings: Vec<(i64, i64)>,
}

/// Offset of another clock within a range of times.
#[derive(Debug, Clone, Copy)]
#[expect(clippy::struct_field_names, reason = "units belong in names")]
struct Shift {
    from_ns: i64,
    until_ns: i64,
    shift_ns: i64,
}

/// A time on the trace clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Time {
    Known(i64),
    /// A time of a clock without a path to the trace clock, unconverted.
    Foreign(i64),
    /// A time that overflows 64 bits.
    Bad,
}

impl Time {
    /// Returns a usable time, and counts a loss for others.
    pub(super) fn usable(self, batch: &mut BatchBuilder, pos: SourcePos) -> Option<i64> {
        match self {
            Self::Known(ts_ns) => Some(ts_ns),
            Self::Foreign(ts_ns) => {
                batch.lose(Loss::UnknownClock, pos);
                Some(ts_ns)
            }
            Self::Bad => {
                batch.lose(Loss::BadTime, pos);
                None
            }
        }
    }
}

impl Clocks {
    /// Adds a snapshot written by `sequence`.
    #[inline(never)]
    pub(super) fn snapshot(&mut self, sequence: u32, bytes: &[u8], pos: SourcePos, losses: &mut Losses) {
        let mut readings: Vec<(usize, i64)> = Vec::new();
        let mut primary = BOOTTIME;
        let mut fields = Fields::new(bytes);
        for field in fields.by_ref() {
            match field.number {
                clock_snapshot::CLOCKS if readings.len() < CLOCKS_IN_SNAPSHOT_MAX => {
                    match self.reading(sequence, field.value.bytes()) {
                        Ok(reading) => readings.push(reading),
                        Err(loss) => losses.add(loss, pos),
                    }
                }
                clock_snapshot::CLOCKS => losses.add(Loss::OverLimit, pos),
                clock_snapshot::PRIMARY_TRACE_CLOCK => primary = field.value.number(),
                _ => {}
            }
        }
        if fields.is_broken() {
            losses.add(Loss::BadRecord, pos);
        }
        if self.primary.is_none() {
            self.primary = self.row(ClockKey { sequence: 0, id: primary });
        }
        self.link(&readings, pos, losses);
    }

    /// Returns the offset from trace times to UTC in nanoseconds, from the first snapshot with both clocks.
    pub(super) fn utc_offset_ns(&self) -> Option<i64> {
        let realtime = *self.rows.get(&key(0, REALTIME))?;
        let primary = self.primary?;
        if primary == realtime {
            return Some(0);
        }
        let link = self.all[realtime].links.iter().find(|link| link.to == primary)?;
        link.readings.first()?.1.checked_neg()
    }

    /// Converts a time that `sequence` wrote with clock `id` to the trace clock.
    #[inline]
    pub(super) fn time(&mut self, sequence: u32, id: Option<u64>, raw: u64) -> Time {
        match id {
            Some(id) => self.clock_time(sequence, id, raw),
            None => i64::try_from(raw).map_or(Time::Bad, Time::Known),
        }
    }

    /// Returns what converts times of clock `id` to the trace clock by addition, near a time; 0 if unknown.
    pub(super) fn shift_ns(&mut self, sequence: u32, id: u64, ts_ns: i64) -> i64 {
        let raw = ts_ns.max(0);
        match self.time(sequence, Some(id), raw.cast_unsigned()) {
            Time::Known(shifted_ns) => shifted_ns.saturating_sub(raw),
            Time::Foreign(_) | Time::Bad => 0,
        }
    }

    fn clock_time(&mut self, sequence: u32, id: u64, raw: u64) -> Time {
        let Some(row) = self.row(key(sequence, id)) else {
            return i64::try_from(raw).map_or(Time::Bad, Time::Foreign);
        };
        let clock = &mut self.all[row];
        let Some(mut ns) = raw.checked_mul(clock.unit_ns).and_then(|ns| i64::try_from(ns).ok()) else {
            return Time::Bad;
        };
        if clock.is_incremental {
            let Some(sum) = clock.newest_ns.checked_add(ns) else { return Time::Bad };
            clock.newest_ns = sum;
            ns = sum;
        }
        if let Some(shift) = clock.recent.filter(|shift| (shift.from_ns..shift.until_ns).contains(&ns)) {
            return ns.checked_add(shift.shift_ns).map_or(Time::Bad, Time::Known);
        }
        self.shifted(row, ns)
    }

    /// Converts to the trace clock, directly or through one other clock.
    fn shifted(&mut self, row: usize, ns: i64) -> Time {
        let primary = match self.primary {
            Some(primary) => primary,
            None if self.rows.get(&ClockKey { sequence: 0, id: BOOTTIME }) == Some(&row) => row,
            None => return Time::Foreign(ns),
        };
        if row == primary {
            return Time::Known(ns);
        }
        if let Some(shift) = self.shift(row, primary, ns) {
            self.all[row].recent = Some(shift);
            return ns.checked_add(shift.shift_ns).map_or(Time::Bad, Time::Known);
        }
        let between = self.all[row].links.iter().find_map(|link| {
            let first = self.shift(row, link.to, ns)?;
            let there_ns = ns.checked_add(first.shift_ns)?;
            let second = self.shift(link.to, primary, there_ns)?;
            there_ns.checked_add(second.shift_ns)
        });
        between.map_or(Time::Foreign(ns), Time::Known)
    }

    /// Returns the offset of the last reading before a time, or of the first reading if there is none.
    fn shift(&self, from: usize, to: usize, ns: i64) -> Option<Shift> {
        let readings = &self.all[from].links.iter().find(|link| link.to == to)?.readings;
        let next = readings.partition_point(|&(reading_ns, _)| reading_ns <= ns);
        let row = next.saturating_sub(1);
        let (from_ns, shift_ns) = *readings.get(row)?;
        let until_ns = readings.get(row + 1).map_or(i64::MAX, |&(reading_ns, _)| reading_ns);
        Some(Shift { from_ns: if row == 0 { i64::MIN } else { from_ns }, until_ns, shift_ns })
    }

    /// Decodes a reading: the row of its clock, and its time.
    fn reading(&mut self, sequence: u32, bytes: &[u8]) -> Result<(usize, i64), Loss> {
        let (mut id, mut raw, mut is_incremental, mut unit_ns) = (0, 0, false, 1);
        for field in Fields::new(bytes) {
            match field.number {
                clock::CLOCK_ID => id = field.value.number(),
                clock::TIMESTAMP => raw = field.value.number(),
                clock::IS_INCREMENTAL => is_incremental = field.value.number() != 0,
                clock::UNIT_MULTIPLIER_NS => unit_ns = field.value.number().max(1),
                _ => {}
            }
        }
        let row = self.row(key(sequence, id)).ok_or(Loss::OverLimit)?;
        let ns = raw.checked_mul(unit_ns).and_then(|ns| i64::try_from(ns).ok()).ok_or(Loss::BadTime)?;
        let clock = &mut self.all[row];
        (clock.unit_ns, clock.is_incremental, clock.newest_ns, clock.recent) = (unit_ns, is_incremental, ns, None);
        Ok((row, ns))
    }

    /// Stores the offsets of a snapshot to the trace clock, or to all global clocks if the snapshot lacks it. Links
    /// between all pairs would take quadratic memory.
    fn link(&mut self, readings: &[(usize, i64)], pos: SourcePos, losses: &mut Losses) {
        let has_primary = readings.iter().any(|&(row, _)| Some(row) == self.primary);
        for &(to, to_ns) in readings {
            let is_target = if has_primary { Some(to) == self.primary } else { !self.all[to].is_own };
            if !is_target {
                continue;
            }
            for &(from, from_ns) in readings {
                if from == to {
                    continue;
                }
                let Some(shift_ns) = to_ns.checked_sub(from_ns) else {
                    losses.add(Loss::BadTime, pos);
                    continue;
                };
                if self.readings >= READINGS_MAX {
                    losses.add(Loss::OverLimit, pos);
                    return;
                }
                let links = &mut self.all[from].links;
                let existing_link = links.iter().position(|link| link.to == to);
                if existing_link.is_none() && links.len() >= LINKS_MAX {
                    losses.add(Loss::OverLimit, pos);
                    continue;
                }
                let position = existing_link.unwrap_or_else(|| {
                    links.push(ClockLink { to, readings: Vec::new() });
                    links.len() - 1
                });
                let link_readings = &mut links[position].readings;
                if link_readings.last().is_some_and(|&(newest_ns, _)| newest_ns > from_ns) {
                    // The clock was set back, like a wall clock: its earlier readings stay valid.
                    continue;
                }
                link_readings.push((from_ns, shift_ns));
                self.readings += 1;
            }
        }
    }

    /// Returns the row of a clock; `None` for a new one if there are too many.
    #[inline]
    fn row(&mut self, key: ClockKey) -> Option<usize> {
        match self.recent {
            Some((recent, row)) if recent == key => Some(row),
            _ => {
                let row = self.look_up(key)?;
                self.recent = Some((key, row));
                Some(row)
            }
        }
    }

    fn look_up(&mut self, key: ClockKey) -> Option<usize> {
        if !has_room(&self.rows, &key, CLOCKS_MAX) {
            return None;
        }
        Some(*self.rows.entry(key).or_insert_with(|| {
            self.all.push(Clock {
                unit_ns: 1,
                is_incremental: false,
                newest_ns: 0,
                is_own: key.sequence != 0,
                links: Vec::new(),
                recent: None,
            });
            self.all.len() - 1
        }))
    }
}

/// Returns the key of a clock; ids 64 to 127 are local to a sequence.
fn key(sequence: u32, id: u64) -> ClockKey {
    ClockKey { sequence: if (64..128).contains(&id) { sequence } else { 0 }, id }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::protobuf::encode::{push_message, push_number};

    /// Returns a snapshot of clocks and their times.
    fn snapshot(clocks: &[(u64, u64)]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for &(id, ts) in clocks {
            push_message(&mut bytes, clock_snapshot::CLOCKS, |bytes| {
                push_number(bytes, clock::CLOCK_ID, id);
                push_number(bytes, clock::TIMESTAMP, ts);
            });
        }
        bytes
    }

    #[test]
    fn times_of_clocks_beyond_the_limit_are_unknown() {
        let (mut clocks, mut losses) = (Clocks::default(), Losses::default());
        let (pos, last) = (SourcePos::Offset(0), u32::MAX);
        let both = snapshot(&[(BOOTTIME, 1000), (64, 10)]);
        clocks.snapshot(1, &both, pos, &mut losses);
        for sequence in 2..=CLOCKS_MAX as u32 {
            clocks.time(sequence, Some(64), 0);
        }
        assert_eq!(clocks.time(last, Some(64), 7), Time::Foreign(7));
        // The second snapshot of the trace clock is known, that of the last clock is not.
        clocks.snapshot(last, &both, pos, &mut losses);
        assert_eq!((losses.count(Loss::OverLimit), losses.total()), (1, 1));
        assert_eq!(clocks.time(last, Some(64), 7), Time::Foreign(7));
        assert_eq!(clocks.time(last, Some(64), u64::MAX), Time::Bad);
        assert_eq!(clocks.time(1, Some(64), 11), Time::Known(1001));
        assert_eq!(clocks.time(last, Some(BOOTTIME), 5), Time::Known(5));
    }
}
