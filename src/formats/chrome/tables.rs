//! Maps raw JSON bytes of names, categories and ids to rows of a batch's tables. Decodes each distinct text once.

use rustc_hash::FxHashMap;

use crate::formats::input::text::parsed;
use crate::formats::json::scan::{JsonValue, Shape};
use crate::formats::json::text::{Repairs, decode};
use crate::formats::output::row_index::bounded_row;
use crate::model::{Id, Metadata, NameIdx, NameRow, Names, TrackIdx, TrackKey, TrackKind};

/// A row, and the repairs of its text.
#[derive(Debug, Clone, Copy)]
pub(super) struct RepairedRow<T> {
    pub(super) row: T,
    pub(super) repairs: Repairs,
}

/// Two values that were looked up together, and their row.
#[derive(Debug, Clone, Copy)]
struct RecentRow<'a, T> {
    values: [JsonValue<'a>; 2],
    repaired_row: RepairedRow<T>,
}

/// Categories of `performance.measure` in web pages and in Node.js.
const USER_TIMINGS: [&str; 2] = ["blink.user_timing", "node.perf.usertiming"];

/// Limit for recent pairs. A hundred functions take most of the time of most programs, and a thousand nearly all.
const RECENT_SLOTS_MAX: usize = 1024;

/// The most recent pairs of values, since records repeat them. A pair is at the slot of one of its values.
#[derive(Debug)]
struct RecentRows<'a, T>(Vec<Option<RecentRow<'a, T>>>);

/// Names and tracks of one batch, looked up by raw bytes. Two spellings of a text get two rows, which ingest merges.
/// The bytes of a piece bound the number of rows.
#[derive(Debug)]
pub(super) struct ChromeTables<'a> {
    pub(super) names: Vec<NameRow<Box<str>>>,
    pub(super) tracks: Vec<TrackKey>,
    /// Units of counters, each in front of the events of its batch.
    pub(super) units: Vec<Metadata>,
    name_rows: FxHashMap<Box<[u8]>, RepairedRow<NameIdx>>,
    track_rows: FxHashMap<Box<[u8]>, RepairedRow<TrackIdx>>,
    recent_names: RecentRows<'a, NameIdx>,
    recent_threads: RecentRows<'a, TrackIdx>,
    key: Vec<u8>,
}

impl Default for ChromeTables<'_> {
    fn default() -> Self {
        Self::for_records(0)
    }
}

impl<'a> ChromeTables<'a> {
    /// Creates tables for about this many records.
    pub(super) fn for_records(records: usize) -> Self {
        Self {
            names: vec![NameRow::default()],
            tracks: Vec::new(),
            units: Vec::new(),
            name_rows: FxHashMap::default(),
            track_rows: FxHashMap::default(),
            recent_names: RecentRows::for_records(records),
            recent_threads: RecentRows::for_records(records),
            key: Vec::new(),
        }
    }

    /// Returns the row of a name with its category.
    pub(super) fn name(&mut self, name: &JsonValue<'a>, category: &JsonValue<'a>) -> RepairedRow<NameIdx> {
        let slot = self.recent_names.slot(name);
        if let Some(repaired_row) = self.recent_names.find(slot, name, category) {
            return repaired_row;
        }
        let repaired_row = self.name_row(name, category);
        self.recent_names.0[slot] = Some(RecentRow { values: [*name, *category], repaired_row });
        repaired_row
    }

    fn name_row(&mut self, name: &JsonValue<'a>, category: &JsonValue<'a>) -> RepairedRow<NameIdx> {
        self.key.clear();
        push_part(&mut self.key, name);
        push_part(&mut self.key, category);
        if let Some(&repaired_row) = self.name_rows.get(&self.key[..]) {
            return repaired_row;
        }
        let mut repairs = Repairs::default();
        let text = bounded_text(name, &mut repairs);
        // An empty category is none.
        let category = (!category.is_absent()).then(|| bounded_text(category, &mut repairs));
        let category = category.filter(|category| !category.is_empty());
        let repaired_row = if text.is_empty() && category.is_none() {
            RepairedRow { row: NameIdx::EMPTY, repairs }
        } else {
            let row = NameIdx(bounded_row(self.names.len()));
            self.names.push(NameRow::new(text, category));
            RepairedRow { row, repairs }
        };
        self.name_rows.insert(self.key.as_slice().into(), repaired_row);
        repaired_row
    }

    /// Returns the row of a thread. A missing thread id means the thread with the id of the process.
    pub(super) fn thread(&mut self, pid: &JsonValue<'a>, tid: &JsonValue<'a>) -> RepairedRow<TrackIdx> {
        let tid = if tid.is_absent() { pid } else { tid };
        let slot = self.recent_threads.slot(tid);
        if let Some(repaired_row) = self.recent_threads.find(slot, pid, tid) {
            return repaired_row;
        }
        let repaired_row = self.track(TrackKind::Thread, pid, tid, &[]);
        self.recent_threads.0[slot] = Some(RecentRow { values: [*pid, *tid], repaired_row });
        repaired_row
    }

    /// Returns the row of a CPU track. In a trace of several files, CPUs have a process.
    pub(super) fn cpu_track(&mut self, pid: &JsonValue<'a>, cpu: u32) -> TrackIdx {
        self.key.clear();
        self.key.push(TrackKind::Cpu as u8);
        self.key.extend_from_slice(&cpu.to_le_bytes());
        push_part(&mut self.key, pid);
        if let Some(repaired_row) = self.track_rows.get(&self.key[..]) {
            return repaired_row.row;
        }
        let row = TrackIdx(bounded_row(self.tracks.len()));
        let (tid, name) = (Id::Number(cpu.into()), format!("CPU {cpu}").into());
        let mut repairs = Repairs::default();
        let pid = id(pid, &mut repairs);
        self.tracks.push(TrackKey { kind: TrackKind::Cpu, pid, tid, name, slot: cpu });
        self.track_rows.insert(self.key.as_slice().into(), RepairedRow { row, repairs });
        row
    }

    /// Returns the row of a thread whose samples have no times, as in exports of this program.
    pub(super) fn untimed_thread(&mut self, pid: &JsonValue<'a>, tid: &JsonValue<'a>) -> RepairedRow<TrackIdx> {
        let tid = if tid.is_absent() { pid } else { tid };
        self.track_in_slot((TrackKind::Thread, TrackKey::SLOT_UNTIMED), pid, tid, &[])
    }

    /// Returns the row of a track. `parts` make its name, as in [`counter_name`]. A fourth one is the unit of a
    /// counter.
    pub(super) fn track(
        &mut self,
        kind: TrackKind,
        pid: &JsonValue<'a>,
        tid: &JsonValue<'a>,
        parts: &[JsonValue<'a>],
    ) -> RepairedRow<TrackIdx> {
        self.track_in_slot((kind, 0), pid, tid, parts)
    }

    fn track_in_slot(
        &mut self,
        (kind, slot): (TrackKind, u32),
        pid: &JsonValue<'a>,
        tid: &JsonValue<'a>,
        parts: &[JsonValue<'a>],
    ) -> RepairedRow<TrackIdx> {
        self.key.clear();
        self.key.push(kind as u8);
        self.key.extend_from_slice(&slot.to_le_bytes());
        push_part(&mut self.key, pid);
        push_part(&mut self.key, tid);
        for part in parts {
            push_part(&mut self.key, part);
        }
        if let Some(&repaired_row) = self.track_rows.get(&self.key[..]) {
            return repaired_row;
        }
        let mut repairs = Repairs::default();
        let (pid, tid) = (id(pid, &mut repairs), id(tid, &mut repairs));
        let mut texts = parts.iter().map(|part| (!part.is_absent()).then(|| bounded_text(part, &mut repairs)));
        let mut next = || texts.next().flatten();
        let mut stated_unit = None;
        let name = match kind {
            TrackKind::Counter => {
                let name = counter_name(next(), next(), next());
                let unit = next().unwrap_or_default();
                match name_before_unit(&name, &unit) {
                    Some(before) => {
                        stated_unit = Some(unit);
                        before.into()
                    }
                    None => name,
                }
            }
            TrackKind::Async => next().unwrap_or_default(),
            _ => Box::default(),
        };
        let row = TrackIdx(bounded_row(self.tracks.len()));
        // User timings have distinct names, but belong together.
        let is_user_timing = |category: &str| USER_TIMINGS.contains(&category.trim());
        let is_named = kind == TrackKind::Async && name.split(',').any(is_user_timing);
        let slot = if is_named { TrackKey::SLOT_NAMED } else { slot };
        let key = TrackKey { kind, pid, tid, name: name.into(), slot };
        self.units.extend(stated_unit.map(|unit| Metadata::CounterUnit { key: key.clone(), unit: unit.into() }));
        self.tracks.push(key);
        let repaired_row = RepairedRow { row, repairs };
        self.track_rows.insert(self.key.as_slice().into(), repaired_row);
        repaired_row
    }
}

impl<'a, T: Copy> RecentRows<'a, T> {
    /// Allocates no more slots than the number of records justifies.
    fn for_records(records: usize) -> Self {
        let slots = records.clamp(16, RECENT_SLOTS_MAX).next_power_of_two();
        Self(vec![None; slots])
    }

    /// Hashes the length and the last bytes of a text, in which texts like `f1` and `f2`, or thread ids, differ.
    #[inline]
    fn slot(&self, value: &JsonValue<'_>) -> usize {
        let text = value.text;
        let last = match text.last_chunk() {
            Some(&last) => u32::from_le_bytes(last),
            None => text.iter().fold(0, |last, &byte| last << 8 | u32::from(byte)),
        };
        // The middle bits of the product depend on all bits of the text.
        let hash = (last ^ text.len() as u32).wrapping_mul(0x9e37_79b1) >> 16;
        hash as usize & (self.0.len() - 1)
    }

    #[inline]
    fn find(&self, slot: usize, first: &JsonValue<'a>, second: &JsonValue<'a>) -> Option<RepairedRow<T>> {
        let recent = self.0[slot].as_ref()?;
        (same(&recent.values[0], first) && same(&recent.values[1], second)).then_some(recent.repaired_row)
    }
}

/// Returns the name of a counter series: `name series`, or `name[id] series` if the counter has an id.
fn counter_name(name: Option<Box<str>>, id: Option<Box<str>>, series: Option<Box<str>>) -> Box<str> {
    let mut text = name.unwrap_or_default().into_string();
    if let Some(id) = id {
        text = format!("{text}[{id}]");
    }
    if let Some(series) = series.filter(|series| !series.is_empty()) {
        if !text.is_empty() {
            text.push(' ');
        }
        text.push_str(&series);
    }
    text.into()
}

/// Returns the name of a counter without the unit in brackets that exports of this program add.
fn name_before_unit<'n>(name: &'n str, unit: &str) -> Option<&'n str> {
    let before = name.strip_suffix(')')?.strip_suffix(unit)?.strip_suffix(" (")?;
    (!before.is_empty()).then_some(before)
}

/// Parses a process or thread id: an integer is a number, also in quotes, as Chrome and Perfetto read it. All else is
/// text.
pub(super) fn id(value: &JsonValue<'_>, repairs: &mut Repairs) -> Id {
    if value.is_absent() {
        return Id::None;
    }
    let number: Option<i64> = parsed(value.text);
    // Another spelling, such as `007`, may be another id.
    let is_number = |number: i64| value.shape == Shape::Scalar || number.to_string().as_bytes() == value.text;
    match number {
        Some(number) if is_number(number) => Id::Number(number),
        _ => Id::Text(bounded_text(value, repairs).into()),
    }
}

/// Returns the text of a value, truncated to [`Names::TEXT_BYTES_MAX`].
pub(super) fn bounded_text(value: &JsonValue<'_>, repairs: &mut Repairs) -> Box<str> {
    text_within(value, Names::TEXT_BYTES_MAX, repairs)
}

/// Decodes a string of a limited length.
pub(super) fn text_within(value: &JsonValue<'_>, bytes_max: usize, repairs: &mut Repairs) -> Box<str> {
    let text = decode(value, repairs);
    if text.len() <= bytes_max {
        return text.into();
    }
    repairs.add(Repairs::CUT);
    text[..text.floor_char_boundary(bytes_max)].into()
}

#[inline]
fn same(a: &JsonValue<'_>, b: &JsonValue<'_>) -> bool {
    a.shape == b.shape && same_text(a.text, b.text)
}

/// Compares texts. Short ones are compared as two words that may overlap, because a call costs more.
#[inline]
fn same_text(a: &[u8], b: &[u8]) -> bool {
    match a.len() {
        len if len != b.len() => false,
        4..=7 => a.first_chunk::<4>() == b.first_chunk() && a.last_chunk::<4>() == b.last_chunk(),
        8..=16 => a.first_chunk::<8>() == b.first_chunk() && a.last_chunk::<8>() == b.last_chunk(),
        _ => a == b,
    }
}

/// Appends a value to a key, so that different lists of values give different keys.
pub(super) fn push_part(key: &mut Vec<u8>, value: &JsonValue<'_>) {
    key.push(value.shape as u8);
    key.extend_from_slice(&value.text.len().to_le_bytes());
    key.extend_from_slice(value.text);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::same_text;

    proptest! {
        #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

        #[test]
        fn texts_are_the_same_if_their_bytes_are(text in "[ab]{0,20}", other in "[ab]{0,20}", at: prop::sample::Index) {
            let (a, mut b) = (text.as_bytes(), other.into_bytes());
            prop_assert_eq!(same_text(a, &b), a == b);
            b = a.to_vec();
            prop_assert!(same_text(a, &b));
            if !b.is_empty() {
                let at = at.index(b.len());
                b[at] ^= 1;
                prop_assert!(!same_text(a, &b));
            }
        }
    }
}
