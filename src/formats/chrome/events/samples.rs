//! Samples of call stacks, and the stacks of other events.
//!
//! A sample is an event of phase `P`, or a record of the array `samples`, which has no phase. Its stack is `sf`, an id
//! in `stackFrames`, or `stack`, an array of names, outermost first. Without either, an event of phase `P` is one frame
//! with its own name. Otherwise, the sample is named after the sampled event, with its `weight`. Spans may have `sf` or
//! `stack` for their start, and `esf` or `estack` for their end, which become arguments.

use std::borrow::Cow;

use rustc_hash::FxHashMap;

use super::{ChromeEvents, EventSite, is_set, number_text};
use crate::formats::chrome::fields::RecordField;
use crate::formats::chrome::tables::id;
use crate::formats::chrome::wire::{ChromeRecord, member};
use crate::formats::input::decimal::nanos_from_micros;
use crate::formats::json::scan::{JsonValue, Scanner, Shape};
use crate::formats::json::text::{Repairs, decode, valid_json};
use crate::formats::output::batch::STACK_FRAMES_MAX;
use crate::formats::output::row_index::bounded_row;
use crate::formats::profiles::v8_parts::{ProfilePart, ProfileRole};
use crate::model::{Event, EventKind, Id, Loss, NameIdx, SourcePos, StackIdx, TrackIdx, TrackKey, TrackKind};

/// A thread whose process is unknown.
#[derive(Debug)]
pub(in crate::formats::chrome) struct UnownedThread {
    /// Its track in the batch.
    pub(in crate::formats::chrome) track: TrackIdx,
    /// First process in the batch with this thread id before its samples.
    pub(in crate::formats::chrome) owner: Option<Id>,
}

/// Threads of a batch by id.
#[derive(Debug, Default)]
pub(super) struct ThreadOwners {
    /// Process of the first thread with each id whose process is known.
    process_of_tid: FxHashMap<Id, Id>,
    /// Number of tracks of the batch that are already in `process_of_tid`.
    tracks_searched: usize,
    /// Index of the last unowned thread with each id.
    unowned: FxHashMap<Id, usize>,
}

impl ThreadOwners {
    /// Returns the process of the first thread with this id in `tracks`, which may only grow between calls.
    fn owner(&mut self, tid: &Id, tracks: &[TrackKey]) -> Option<&Id> {
        for key in &tracks[self.tracks_searched..] {
            if key.kind == TrackKind::Thread && key.pid != Id::None && !self.process_of_tid.contains_key(&key.tid) {
                self.process_of_tid.insert(key.tid.clone(), key.pid.clone());
            }
        }
        self.tracks_searched = tracks.len();
        self.process_of_tid.get(tid)
    }
}

impl<'a> ChromeEvents<'a> {
    /// Adds an event of phase `P`.
    pub(super) fn add_sample(&mut self, record: &ChromeRecord<'a>, site: EventSite) {
        if let Some(role) = ProfileRole::from_name(record[RecordField::Name].text)
            && self.add_profile(record, site, role)
        {
            return;
        }
        let stack = self.record_stack(record, site.pos, true);
        let track = if is_set(&record.rare(b"untimed")) {
            let row = self.tables.untimed_thread(&record[RecordField::Pid], &record[RecordField::Tid]);
            self.count_repairs(row, site.pos)
        } else {
            self.thread(record, site.pos)
        };
        let event = self.event(record, site, EventKind::Sample);
        self.push_event(Event { value: u64::from(stack.0), track, ..event });
    }

    /// Adds a V8 profile event; returns false if it contains no profile.
    pub(super) fn add_profile(&mut self, record: &ChromeRecord<'a>, site: EventSite, role: ProfileRole) -> bool {
        let EventSite { pos, ts_ns, .. } = site;
        let data = member(&record[RecordField::Args], b"data");
        let has_profile = role != ProfileRole::Whole || member(&data, b"cpuProfile").shape == Shape::Object;
        if data.shape != Shape::Object || !has_profile {
            return false;
        }
        let mut repairs = Repairs::default();
        self.profiles.push(ProfilePart {
            pid: id(&record[RecordField::Pid], &mut repairs),
            tid: id(&record[RecordField::Tid], &mut repairs),
            id: record[RecordField::Id].text.into(),
            role,
            ts_ns,
            clock_shift_ns: 0,
            data: valid_json(&data, &mut repairs).into(),
            pos,
        });
        repairs.count(&mut self.losses, pos);
        true
    }

    /// Adds a record of `samples`, which has a thread id, and rarely a process id, as of Hermes.
    pub(super) fn add_bare_sample(&mut self, record: &ChromeRecord<'a>, pos: SourcePos) {
        let Ok(ts_ns) = nanos_from_micros(number_text(&record[RecordField::Ts])) else {
            return self.losses.add(Loss::BadTime, pos);
        };
        let name = self.tables.name(&record[RecordField::Name], &record[RecordField::Cat]);
        let name = self.count_repairs(name, pos);
        let stack = self.record_stack(record, pos, false);
        let has_process = !record[RecordField::Pid].is_absent();
        let track = if has_process { self.thread(record, pos) } else { self.thread_of_any_process(record, pos) };
        let event = self.event(record, EventSite { pos, ts_ns, name }, EventKind::Sample);
        self.push_event(Event { value: u64::from(stack.0), track, ..event });
    }

    /// Returns the thread of a sample without a process. It belongs to the first process before it in the trace that
    /// has this thread id. Searches this batch; the reader handles earlier batches.
    fn thread_of_any_process(&mut self, record: &ChromeRecord<'a>, pos: SourcePos) -> TrackIdx {
        let mut repairs = Repairs::default();
        let tid = id(&record[RecordField::Tid], &mut repairs);
        repairs.count(&mut self.losses, pos);
        let tracks = &mut self.tables.tracks;
        let unowned_thread = self.owners.unowned.get(&tid).map(|&index| &self.unowned[index]);
        if let Some(UnownedThread { track, owner: Some(_) }) = unowned_thread {
            return *track;
        }
        let owner = self.owners.owner(&tid, tracks).cloned();
        if let (Some(UnownedThread { track, .. }), None) = (unowned_thread, &owner) {
            return *track;
        }
        let track = TrackIdx(bounded_row(tracks.len()));
        self.owners.unowned.insert(tid.clone(), self.unowned.len());
        tracks.push(TrackKey::thread(Id::None, tid));
        self.unowned.push(UnownedThread { track, owner });
        track
    }

    fn record_stack(&mut self, record: &ChromeRecord<'a>, pos: SourcePos, by_name: bool) -> StackIdx {
        let (frame, names) = (record.rare(b"sf"), record.rare(b"stack"));
        if names.shape == Shape::Array {
            let names = elements(&names).take(STACK_FRAMES_MAX);
            return names.fold(StackIdx::EMPTY, |stack, name| {
                let name = self.tables.name(&name, &JsonValue::default());
                let name = self.count_repairs(name, pos);
                self.stacks.stacks.intern(stack, name)
            });
        }
        if frame.is_absent() {
            let name = self.tables.name(&record[RecordField::Name], &JsonValue::default()).row;
            let has_frame = by_name && name != NameIdx::EMPTY;
            return if has_frame { self.stacks.stacks.intern(StackIdx::EMPTY, name) } else { StackIdx::EMPTY };
        }
        let Some(frames) = self.frames else {
            self.wants_frames = true;
            return StackIdx::EMPTY;
        };
        self.stacks.intern_id((frame.text, pos), frames, &mut self.tables.names).unwrap_or_else(|| {
            self.lose_frames(pos);
            StackIdx::EMPTY
        })
    }

    /// Counts a reference to missing frames, or to a table that is too large.
    fn lose_frames(&mut self, pos: SourcePos) {
        if let Some(reason) = self.frames.and_then(|frames| frames.too_large.as_deref()) {
            return self.losses.add_because(reason, Loss::OverLimit, pos);
        }
        let is_awaited = self.frames.is_some_and(|frames| frames.is_awaited);
        let losses = if is_awaited { &mut self.unresolved } else { &mut self.losses };
        losses.add(Loss::MissingText, pos);
    }

    /// Returns additional arguments of an event: the stacks of a span, the weight of a sample.
    pub(super) fn rare_args(
        &mut self,
        record: &ChromeRecord<'a>,
        kind: EventKind,
        pos: SourcePos,
    ) -> Vec<(Cow<'a, str>, Cow<'a, str>)> {
        let mut args: Vec<(Cow<'a, str>, Cow<'a, str>)> = Vec::new();
        for (key, value) in &record.rare {
            let is_end = kind == EventKind::End || key.text.starts_with(b"e");
            let shown = if is_end { "end_stack" } else { "stack" };
            let mut repairs = Repairs::default();
            match (key.text, kind) {
                (b"weight", EventKind::Sample) => args.extend(sample_measure(record, value, &mut repairs)),
                (b"cpu", EventKind::Sample) => args.push(("cpu".into(), valid_json(value, &mut repairs))),
                (b"weight" | b"cpu" | b"place" | b"unfinished" | b"global" | b"untimed" | b"unit", _)
                | (_, EventKind::Sample) => {}
                (b"stack" | b"estack", _) => args.push((shown.into(), valid_json(value, &mut repairs))),
                _ => match self.frames.map(|frames| frames.names_json(value.text, pos)) {
                    Some(Some((names, is_cut))) => {
                        if is_cut {
                            self.losses.add(Loss::DeepNesting, pos);
                        }
                        args.push((shown.into(), names.into()));
                    }
                    Some(None) => {
                        self.lose_frames(pos);
                        args.push((shown.into(), valid_json(value, &mut repairs)));
                    }
                    None => self.wants_frames = true,
                },
            }
            repairs.count(&mut self.losses, pos);
        }
        if kind == EventKind::Sample && record.rare(b"weight").is_absent() {
            let mut repairs = Repairs::default();
            args.extend(self.sample_event(record, pos, &mut repairs));
            repairs.count(&mut self.losses, pos);
        }
        args
    }

    /// Returns the event of a sample without a weight. This is its name, unless the name only repeats the innermost
    /// frame, as in exports of this program.
    fn sample_event(
        &self,
        record: &ChromeRecord<'a>,
        pos: SourcePos,
        repairs: &mut Repairs,
    ) -> Option<(Cow<'a, str>, Cow<'a, str>)> {
        let (name, frame, stack) = (&record[RecordField::Name], record.rare(b"sf"), record.rare(b"stack"));
        let has_stack = stack.shape == Shape::Array || !frame.is_absent();
        let is_told = has_measure(record) || name.shape != Shape::String || name.text.is_empty();
        if !has_stack || is_told {
            return None;
        }
        let is_frame = if stack.shape == Shape::Array {
            elements(&stack).last().is_some_and(|innermost| innermost.text == name.text)
        } else {
            let text = decode(name, &mut Repairs::default());
            self.frames
                .and_then(|frames| frames.innermost(frame.text, pos))
                .is_some_and(|innermost| *innermost == *text)
        };
        (!is_frame).then(|| ("event".into(), valid_json(name, repairs)))
    }
}

/// Returns whether the arguments of a sample tell its event or period.
fn has_measure(record: &ChromeRecord<'_>) -> bool {
    [&b"event"[..], b"period"].iter().any(|key| !member(&record[RecordField::Args], key).is_absent())
}

/// Returns the arguments of a weight: its event, which is the name of the sample, and the period. Returns a weight
/// unchanged if it is not a whole number, or if the arguments have a measure.
fn sample_measure<'a>(
    record: &ChromeRecord<'a>,
    weight: &JsonValue<'a>,
    repairs: &mut Repairs,
) -> Vec<(Cow<'a, str>, Cow<'a, str>)> {
    let weight = valid_json(weight, repairs);
    // Hermes writes the number as text.
    let period = weight.trim_matches('"');
    if has_measure(record) || period.parse::<u64>().is_err() {
        return vec![("weight".into(), weight)];
    }
    let period = period.to_owned();
    let name = &record[RecordField::Name];
    let event = (name.shape == Shape::String).then(|| ("event".into(), valid_json(name, repairs)));
    event.into_iter().chain([("period".into(), period.into())]).collect()
}

/// Iterates over the elements of an array that the scanner has validated.
fn elements<'a>(array: &JsonValue<'a>) -> impl Iterator<Item = JsonValue<'a>> + use<'a> {
    let mut scanner = Scanner::new(array.text, 0);
    std::iter::from_fn(move || {
        scanner.peek().ok()?;
        scanner.pos += 1; // the opening bracket, a comma, or the closing bracket
        scanner.value(0).ok()
    })
}
