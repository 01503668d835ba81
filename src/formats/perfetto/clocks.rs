//! Converts times of every clock to the one clock of the capture, by the snapshots that the capture holds of several
//! clocks at once. A time without a way to that clock stays as it is and counts as a loss.

use rustc_hash::FxHashMap;

use super::fields::{builtin_clock, clock, clock_snapshot};
use crate::formats::protobuf::decode::Fields;
use crate::model::{Loss, Losses, SourcePos};

/// The clock of a capture that says nothing else.
const BOOTTIME: u64 = builtin_clock::BOOTTIME;

const REALTIME: u64 = builtin_clock::REALTIME;

/// The clock of the oldest track events.
pub(super) const MONOTONIC: u64 = builtin_clock::MONOTONIC;

/// The clock of the kernel's events.
pub(super) const KERNEL: u64 = BOOTTIME;

/// Snapshots come every few seconds; this many readings take 32 MiB.
const READINGS_MAX: usize = 2 << 20;

/// A snapshot has some ten clocks.
const CLOCKS_IN_SNAPSHOT_MAX: usize = 32;

/// The most clocks that one is linked to: an event of a clock without a link to the capture's
/// clock searches all of them.
const LINKS_MAX: usize = 64;

/// Each sequence has two or three. All clocks beyond this limit count as one.
const CLOCKS_MAX: usize = 1 << 20;

/// The clocks of a capture and the offsets between them.
#[derive(Debug, Default)]
pub(super) struct Clocks {
    /// Fixed by the first snapshot.
    primary: Option<usize>,
    rows: FxHashMap<ClockKey, usize>,
    /// The most recently used clock: nearly always the next one too.
    recent: Option<(ClockKey, usize)>,
    all: Vec<Clock>,
    readings: usize,
}

/// A clock's id, and the sequence that it belongs to: 0 for those of the whole capture.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct ClockKey {
    sequence: u32,
    id: u64,
}

#[derive(Debug)]
struct Clock {
    unit_ns: u64,
    /// Each time is a delta to the one before.
    is_incremental: bool,
    newest_ns: i64,
    is_own: bool,
    /// Readings together with other clocks.
    links: Vec<ClockLink>,
    /// The last shift to the capture's clock, which is valid for a range of times.
    recent: Option<Shift>,
}

#[derive(Debug)]
struct ClockLink {
    to: usize,
    /// By time here: how much later the other clock is.
    readings: Vec<(i64, i64)>,
}

/// How much later another clock is, from a time up to another.
#[derive(Debug, Clone, Copy)]
#[expect(clippy::struct_field_names, reason = "units belong in names")]
struct Shift {
    from_ns: i64,
    until_ns: i64,
    later_ns: i64,
}

/// A time on the capture's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Time {
    Known(i64),
    /// No snapshot leads to the capture's clock; the time is that of its own clock.
    Foreign(i64),
    /// The time does not fit into 64 bits.
    Bad,
}

impl Clocks {
    /// Reads a snapshot that `sequence` wrote.
    #[inline(never)]
    pub(super) fn snapshot(&mut self, sequence: u32, bytes: &[u8], place: SourcePos, losses: &mut Losses) {
        let mut readings: Vec<(usize, i64)> = Vec::new();
        let mut primary = BOOTTIME;
        let mut fields = Fields::new(bytes);
        for field in fields.by_ref() {
            match field.number {
                clock_snapshot::CLOCKS if readings.len() < CLOCKS_IN_SNAPSHOT_MAX => {
                    match self.reading(sequence, field.value.bytes()) {
                        Some(reading) => readings.push(reading),
                        None => losses.add(Loss::BadTime, place),
                    }
                }
                clock_snapshot::CLOCKS => losses.add(Loss::OverLimit, place),
                clock_snapshot::PRIMARY_TRACE_CLOCK => primary = field.value.number(),
                _ => {}
            }
        }
        if fields.is_broken() {
            losses.add(Loss::BadRecord, place);
        }
        if self.primary.is_none() {
            self.primary = Some(self.row(ClockKey { sequence: 0, id: primary }));
        }
        self.link(&readings, place, losses);
    }

    /// The nanoseconds to add to the capture's times for UTC, by the first snapshot of both clocks.
    pub(super) fn utc_offset_ns(&self) -> Option<i64> {
        let realtime = *self.rows.get(&key(0, REALTIME))?;
        let primary = self.primary?;
        if primary == realtime {
            return Some(0);
        }
        let link = self.all[realtime].links.iter().find(|link| link.to == primary)?;
        link.readings.first()?.1.checked_neg()
    }

    /// The time on the capture's clock of a time that `sequence` writes by its clock `id`.
    #[inline]
    pub(super) fn time(&mut self, sequence: u32, id: Option<u64>, raw: u64) -> Time {
        match id {
            Some(id) => self.clock_time(sequence, id, raw),
            None => i64::try_from(raw).map_or(Time::Bad, Time::Known),
        }
    }

    fn clock_time(&mut self, sequence: u32, id: u64, raw: u64) -> Time {
        let row = self.row(key(sequence, id));
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
            return ns.checked_add(shift.later_ns).map_or(Time::Bad, Time::Known);
        }
        self.shifted(row, ns)
    }

    /// Goes to the capture's clock directly, or by one clock between.
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
            return ns.checked_add(shift.later_ns).map_or(Time::Bad, Time::Known);
        }
        let between = self.all[row].links.iter().find_map(|link| {
            let first = self.shift(row, link.to, ns)?;
            let there_ns = ns.checked_add(first.later_ns)?;
            let second = self.shift(link.to, primary, there_ns)?;
            there_ns.checked_add(second.later_ns)
        });
        between.map_or(Time::Foreign(ns), Time::Known)
    }

    /// The last reading before a time counts for it; before the first, the first.
    fn shift(&self, from: usize, to: usize, ns: i64) -> Option<Shift> {
        let readings = &self.all[from].links.iter().find(|link| link.to == to)?.readings;
        let next = readings.partition_point(|&(reading_ns, _)| reading_ns <= ns);
        let row = next.saturating_sub(1);
        let (from_ns, later_ns) = *readings.get(row)?;
        let until_ns = readings.get(row + 1).map_or(i64::MAX, |&(reading_ns, _)| reading_ns);
        Some(Shift { from_ns: if row == 0 { i64::MIN } else { from_ns }, until_ns, later_ns })
    }

    fn reading(&mut self, sequence: u32, bytes: &[u8]) -> Option<(usize, i64)> {
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
        let row = self.row(key(sequence, id));
        let ns = i64::try_from(raw.checked_mul(unit_ns)?).ok()?;
        let clock = &mut self.all[row];
        (clock.unit_ns, clock.is_incremental, clock.newest_ns, clock.recent) = (unit_ns, is_incremental, ns, None);
        Some((row, ns))
    }

    /// Records the offsets of one snapshot's clocks to the capture's clock, or else to those of the whole capture.
    /// Links between any two clocks would take memory by the square of their number.
    fn link(&mut self, readings: &[(usize, i64)], place: SourcePos, losses: &mut Losses) {
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
                let Some(later_ns) = to_ns.checked_sub(from_ns) else {
                    losses.add(Loss::BadTime, place);
                    continue;
                };
                if self.readings >= READINGS_MAX {
                    losses.add(Loss::OverLimit, place);
                    return;
                }
                let links = &mut self.all[from].links;
                let known = links.iter().position(|link| link.to == to);
                if known.is_none() && links.len() >= LINKS_MAX {
                    losses.add(Loss::OverLimit, place);
                    continue;
                }
                let position = known.unwrap_or_else(|| {
                    links.push(ClockLink { to, readings: Vec::new() });
                    links.len() - 1
                });
                let known = &mut links[position].readings;
                if known.last().is_some_and(|&(newest_ns, _)| newest_ns > from_ns) {
                    // The clock was set back, as a wall clock may be: its earlier times stay as they are.
                    continue;
                }
                known.push((from_ns, later_ns));
                self.readings += 1;
            }
        }
    }

    #[inline]
    fn row(&mut self, key: ClockKey) -> usize {
        match self.recent {
            Some((recent, row)) if recent == key => row,
            _ => {
                let row = self.look_up(key);
                self.recent = Some((key, row));
                row
            }
        }
    }

    fn look_up(&mut self, key: ClockKey) -> usize {
        if self.all.len() >= CLOCKS_MAX && !self.rows.contains_key(&key) {
            return 0;
        }
        *self.rows.entry(key).or_insert_with(|| {
            self.all.push(Clock {
                unit_ns: 1,
                is_incremental: false,
                newest_ns: 0,
                is_own: key.sequence != 0,
                links: Vec::new(),
                recent: None,
            });
            self.all.len() - 1
        })
    }
}

/// The ids from 64 to 127 mean another clock for each sequence.
fn key(sequence: u32, id: u64) -> ClockKey {
    ClockKey { sequence: if (64..128).contains(&id) { sequence } else { 0 }, id }
}
