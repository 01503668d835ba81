//! Converts records to the events of a batch, with one arm per phase. It keeps their order, and does not pair or nest.

mod samples;
mod scheduling;

use std::borrow::Cow;

use xxhash_rust::xxh3::xxh3_64;

use samples::ThreadOwners;
pub(super) use samples::UnownedThread;

use super::fields::RecordField;
use super::frames::{BatchStacks, StackFrames};
use super::phases::{Phase, phase};
use super::tables::{ChromeTables, RepairedRow, id, push_part, text_within};
use super::wire::{ChromeRecord, member, members};
use crate::formats::input::decimal::{duration_from_micros, nanos_from_micros};
use crate::formats::json::scan::{JsonValue, Shape};
use crate::formats::json::text::{Repairs, quoted, valid_json};
use crate::formats::output::batch::LABEL_BYTES_MAX;
use crate::formats::profiles::v8_parts::{ProfilePart, ProfileRole};
use crate::model::args::Detail;
use crate::model::{
    Batch, Chunk, Event, EventFlags, EventKind, Loss, LossValue, Losses, Metadata, NameIdx, SourcePos, TrackIdx,
    TrackKind,
};

/// Builds the batch of one piece of the trace. Its rows may borrow from the piece, since pieces are parsed on several
/// threads.
#[derive(Debug, Default)]
pub(super) struct ChromeEvents<'a> {
    chunk: Chunk,
    tables: ChromeTables<'a>,
    stacks: BatchStacks,
    metadata: Vec<Metadata>,
    pub(super) losses: Losses,
    /// References to frames of a live stream, whose table comes later if at all.
    unresolved: Losses,
    scratch: Vec<u8>,
    /// The stack frames of the trace, once they were searched for.
    frames: Option<&'a StackFrames>,
    wants_frames: bool,
    unowned: Vec<UnownedThread>,
    owners: ThreadOwners,
    profiles: Vec<ProfilePart>,
    recognised: u64,
    unrecognised: u64,
}

/// The events of a piece of the array, with data that only the reader of the whole trace can complete.
#[derive(Debug)]
pub(super) struct ChromeBatch {
    pub(super) batch: Batch,
    /// Threads in the batch whose process is not recorded.
    pub(super) unowned: Vec<UnownedThread>,
    /// Parts of V8 profiles, as in the trace.
    pub(super) profiles: Vec<ProfilePart>,
    /// Whether a stack frame was referenced without a table of frames.
    pub(super) wants_frames: bool,
    /// Losses of a live stream, if it turns out to have no table of frames.
    pub(super) unresolved: Losses,
    /// Number of records with the members of an event, and without.
    pub(super) recognised: u64,
    pub(super) unrecognised: u64,
}

/// Position, time and name of a record, shared by all of its events.
#[derive(Debug, Clone, Copy)]
pub(super) struct EventSite {
    pub(super) pos: SourcePos,
    pub(super) ts_ns: i64,
    pub(super) name: NameIdx,
}

/// Bytes of a common record, to estimate the number of events.
const RECORD_BYTES: usize = 128;

/// Limit for the detail bytes of a batch.
const BATCH_DETAIL_BYTES: usize = 4 << 20;

/// Limit for the series of one counter event, each of which is a track; writers have a dozen.
const COUNTER_SERIES_MAX: usize = 1 << 16;

impl<'a> ChromeEvents<'a> {
    /// Creates a builder with capacity for the records in `len` bytes.
    pub(super) fn for_bytes(len: usize, frames: Option<&'a StackFrames>) -> Self {
        let records = len / RECORD_BYTES;
        let mut builder = Self { frames, tables: ChromeTables::for_records(records), ..Self::default() };
        builder.chunk.events.reserve(records);
        builder
    }

    /// Returns whether the batch should be emitted before the piece ends. The stack frames of an event may be many
    /// times longer than its record.
    pub(super) fn is_full(&self) -> bool {
        self.chunk.details.bytes.len() >= BATCH_DETAIL_BYTES
    }

    pub(super) fn finish(self) -> ChromeBatch {
        let (mut chunk, mut metadata) = (self.chunk, self.metadata);
        chunk.sort();
        metadata.extend(self.tables.units);
        let batch = Batch {
            chunk,
            names: self.tables.names,
            names_before: 0,
            stacks: self.stacks.stacks,
            tracks: self.tables.tracks,
            metadata,
            losses: self.losses,
        };
        let Self { unowned, profiles, wants_frames, unresolved, recognised, unrecognised, .. } = self;
        ChromeBatch { batch, unowned, profiles, wants_frames, unresolved, recognised, unrecognised }
    }

    /// Adds the record at byte `offset` of the trace. Skips an object without members.
    pub(super) fn add_record(&mut self, record: &ChromeRecord<'a>, offset: u64) {
        let pos = SourcePos::Offset(offset);
        if record.is_empty {
            return;
        }
        if record.is_bare_sample() {
            self.recognised += 1;
            return self.add_bare_sample(record, pos);
        }
        let ph = &record[RecordField::Ph];
        let phase = if ph.shape == Shape::String {
            self.recognised += 1;
            phase(ph.text)
        } else {
            self.unrecognised += 1;
            Phase::Unknown
        };
        if matches!(phase, Phase::Unknown | Phase::Ignored) {
            let loss = if phase == Phase::Unknown { Loss::UnknownPhase } else { Loss::IgnoredPhase };
            return self.losses.add_value(loss, LossValue::text(ph.text), pos);
        }
        if phase == Phase::Metadata {
            return self.add_metadata(record, pos);
        }
        let Ok(ts_ns) = nanos_from_micros(number_text(&record[RecordField::Ts])) else {
            return self.losses.add(Loss::BadTime, pos);
        };
        if phase == Phase::OldAsync(EventKind::AsyncStepInto) && is_thread_state(record) {
            return self.add_state(record, pos, ts_ns);
        }
        let name = match phase {
            Phase::OldAsync(EventKind::AsyncStepInto | EventKind::AsyncStepPast) => step_name(record),
            _ => record[RecordField::Name],
        };
        let name = self.tables.name(&name, &record[RecordField::Cat]);
        let name = self.count_repairs(name, pos);
        let site = EventSite { pos, ts_ns, name };
        match phase {
            Phase::Span(kind) => self.add_span(record, site, kind),
            Phase::Instant => self.add_instant(record, site),
            Phase::Counter => self.add_counter(record, site),
            Phase::Async(kind) => self.add_async(record, site, kind, false),
            Phase::OldAsync(kind) => self.add_async(record, site, kind, true),
            Phase::Flow(kind) => self.add_flow(record, site, kind),
            Phase::Object(what) => self.add_object(record, site, what),
            Phase::Sample => self.add_sample(record, site),
            Phase::Metadata | Phase::Ignored | Phase::Unknown => {}
        }
    }

    fn add_span(&mut self, record: &ChromeRecord<'a>, site: EventSite, kind: EventKind) {
        if kind == EventKind::Complete && self.add_run(record, site) {
            return;
        }
        let mut event = self.thread_event(record, site, kind);
        if kind == EventKind::Complete {
            self.set_duration(record, &mut event, site.pos);
        } else if kind == EventKind::Begin && is_set(&record.rare(b"unfinished")) {
            self.set_duration(record, &mut event, site.pos);
            event.flags = EventFlags::UNFINISHED;
        } else if kind == EventKind::End && record[RecordField::Name].is_absent() {
            event.flags = EventFlags::UNNAMED;
        }
        self.chunk.events.push(event);
        if !record[RecordField::BindId].is_absent() && kind != EventKind::End {
            self.add_bound_flow(record, &event);
        }
    }

    fn set_duration(&mut self, record: &ChromeRecord<'a>, event: &mut Event, pos: SourcePos) {
        let (start, dur) = (number_text(&record[RecordField::Ts]), number_text(&record[RecordField::Dur]));
        match duration_from_micros(start, dur) {
            Ok(dur_ns) if dur_ns < 0 => self.losses.add(Loss::NegativeDuration, pos),
            Ok(dur_ns) if dur_ns <= i64::MAX.abs_diff(event.ts_ns).into() => event.value = dur_ns as u64,
            // A span must not end after the last representable nanosecond.
            Ok(dur_ns) if dur_ns <= i64::MAX.into() => {
                event.value = i64::MAX.abs_diff(event.ts_ns);
                self.losses.add(Loss::BadNumber, pos);
            }
            // Tracers omit the duration of a span that has not ended.
            Err(_) if record[RecordField::Dur].is_absent() => event.flags = EventFlags::UNFINISHED,
            Ok(_) | Err(_) => {
                event.flags = EventFlags::UNFINISHED;
                self.losses.add(Loss::BadNumber, pos);
            }
        }
    }

    /// Adds a flow of version 2: the flags of a span say whether a flow leaves it, enters it, or both.
    fn add_bound_flow(&mut self, record: &ChromeRecord<'a>, span: &Event) {
        let kind = match (is_set(&record[RecordField::FlowIn]), is_set(&record[RecordField::FlowOut])) {
            (false, false) => return,
            (false, true) => EventKind::FlowStart,
            (true, true) => EventKind::FlowStep,
            (true, false) => EventKind::FlowEnd,
        };
        let value = self.hash(b'v', &[plain(record[RecordField::BindId])]);
        self.chunk.events.push(Event { kind, value, flags: EventFlags::BIND_ENCLOSING, detail: 0, ..*span });
    }

    fn add_instant(&mut self, record: &ChromeRecord<'a>, site: EventSite) {
        // The samples of the profile are shown instead of the instant.
        if record[RecordField::Name].is_text(b"CpuProfile") && self.add_profile(record, site, ProfileRole::Whole) {
            return;
        }
        let mut event = self.event(record, site, EventKind::Instant);
        event.track = match record[RecordField::S].text {
            b"g" => self.track(TrackKind::Global, &JsonValue::ABSENT, &JsonValue::ABSENT, &[], site.pos),
            b"p" => self.track(TrackKind::Process, &record[RecordField::Pid], &JsonValue::ABSENT, &[], site.pos),
            _ => self.thread(record, site.pos),
        };
        self.chunk.events.push(event);
    }

    fn add_counter(&mut self, record: &ChromeRecord<'a>, site: EventSite) {
        let (id, _) = record_id(record);
        let mut series_count = 0;
        for (series, value) in members(&record[RecordField::Args]) {
            series_count += 1;
            if series_count > COUNTER_SERIES_MAX {
                self.losses.add(Loss::OverLimit, site.pos);
                break;
            }
            let text = std::str::from_utf8(number_text(&value)).ok();
            let number = text.and_then(|text| text.trim().parse().ok()).filter(|number: &f64| number.is_finite());
            let Some(number) = number else {
                self.losses.add(Loss::BadCounter, site.pos);
                continue;
            };
            let parts = [record[RecordField::Name], plain(id), series, record.rare(b"unit")];
            let track = self.track(TrackKind::Counter, &record[RecordField::Pid], &JsonValue::ABSENT, &parts, site.pos);
            self.chunk.events.push(Event { value: number.to_bits(), track, ..event_at(site, EventKind::Counter) });
        }
        if series_count == 0 {
            self.losses.add(Loss::BadCounter, site.pos);
        }
    }

    fn add_async(&mut self, record: &ChromeRecord<'a>, site: EventSite, kind: EventKind, by_name: bool) {
        let (id, is_local) = record_id(record);
        if id.is_absent() {
            self.losses.add(Loss::BadAsync, site.pos);
            let alone = self.thread_event(record, site, EventKind::Instant);
            self.chunk.events.push(alone);
            return;
        }
        let scope =
            if record[RecordField::Scope].is_absent() { record[RecordField::Cat] } else { record[RecordField::Scope] };
        let process = if is_local { record[RecordField::Pid] } else { JsonValue::ABSENT };
        let name = if by_name { record[RecordField::Name] } else { JsonValue::ABSENT };
        let value = self.hash(if by_name { b'S' } else { b'b' }, &[scope, plain(id), process, name]);
        let owner = if is_set(&record.rare(b"global")) { JsonValue::ABSENT } else { record[RecordField::Pid] };
        let track = self.track(TrackKind::Async, &owner, &JsonValue::ABSENT, &[record[RecordField::Cat]], site.pos);
        let mut event = Event { value, track, ..self.event(record, site, kind) };
        if kind == EventKind::AsyncEnd && record[RecordField::Name].is_absent() {
            event.flags = EventFlags::UNNAMED;
        }
        self.chunk.events.push(event);
        if kind == EventKind::AsyncBegin && is_set(&record.rare(b"unfinished")) {
            self.add_async_duration(record, event, site.pos);
        }
    }

    /// Adds the time to which an async span without an end lasts, as exported by this program.
    fn add_async_duration(&mut self, record: &ChromeRecord<'a>, begin: Event, pos: SourcePos) {
        let mut span = Event { value: 0, ..begin };
        self.set_duration(record, &mut span, pos);
        let (kind, flags) = (EventKind::AsyncEnd, EventFlags::UNFINISHED);
        let ts_ns = begin.ts_ns.saturating_add_unsigned(span.value);
        self.chunk.events.push(Event { ts_ns, kind, flags, detail: 0, ..begin });
    }

    fn add_flow(&mut self, record: &ChromeRecord<'a>, site: EventSite, kind: EventKind) {
        let (id, _) = record_id(record);
        if id.is_absent() {
            return self.losses.add(Loss::BadFlow, site.pos);
        }
        // The end of a flow binds to the next span, unless it has `bp`. In some categories, Chrome always binds it to
        // the enclosing span.
        let category = record[RecordField::Cat].text;
        let binds_around = kind != EventKind::FlowEnd
            || record[RecordField::Bp].is_text(b"e")
            || memchr::memmem::find(category, b"input").is_some()
            || memchr::memmem::find(category, b"ipc.flow").is_some();
        let mut event = self.thread_event(record, site, kind);
        event.value = self.hash(b's', &[record[RecordField::Cat], record[RecordField::Name], plain(id)]);
        if binds_around {
            event.flags = EventFlags::BIND_ENCLOSING;
        }
        if kind != EventKind::FlowEnd {
            event.depth = Event::FLOW_OF_LATEST;
        }
        let place = std::str::from_utf8(number_text(&record.rare(b"place"))).ok();
        if let Some(depth) = place.and_then(|place| place.parse().ok()) {
            (event.depth, event.flags) = (depth, event.flags.with(EventFlags::PLACED));
        }
        self.chunk.events.push(event);
    }

    /// Adds an event in the life of an object, with its snapshot. All objects of a process share one track.
    fn add_object(&mut self, record: &ChromeRecord<'a>, site: EventSite, what: &str) {
        let mut repairs = Repairs::default();
        let has_args =
            record[RecordField::Args].shape == Shape::Object && !is_empty_object(record[RecordField::Args].text);
        let args = if has_args { valid_json(&record[RecordField::Args], &mut repairs) } else { "".into() };
        let mut members = vec![("object".into(), quoted(what).into())];
        let (id, _) = record_id(record);
        if !id.is_absent() {
            members.push(("id".into(), valid_json(&id, &mut repairs)));
        }
        repairs.count(&mut self.losses, site.pos);
        let (args_json, thread_ts_ns) =
            (&*with_members(args, &members), self.thread_time(&record[RecordField::Tts], site.pos));
        let detail = self.chunk.details.push(&Detail { thread_ts_ns, args_json, ..Detail::default() });
        let objects = JsonValue { text: b"objects", shape: Shape::String, ..JsonValue::ABSENT };
        let track = self.track(TrackKind::Async, &record[RecordField::Pid], &JsonValue::ABSENT, &[objects], site.pos);
        self.chunk.events.push(Event { track, detail, ..event_at(site, EventKind::Instant) });
    }

    fn add_metadata(&mut self, record: &ChromeRecord<'a>, pos: SourcePos) {
        let mut repairs = Repairs::default();
        let pid = id(&record[RecordField::Pid], &mut repairs);
        let thread = |repairs: &mut Repairs| {
            if record[RecordField::Tid].is_absent() { pid.clone() } else { id(&record[RecordField::Tid], repairs) }
        };
        let text = |key: &[u8], repairs: &mut Repairs| {
            let value = member(&record[RecordField::Args], key);
            (!value.is_absent()).then(|| text_within(&value, LABEL_BYTES_MAX, repairs))
        };
        // A sort index is an integer, so it is parsed like a time in thousandths, without its last three digits.
        let order = || {
            let value = member(&record[RecordField::Args], b"sort_index");
            let text = std::str::from_utf8(number_text(&value)).ok()?;
            text.parse().ok().or_else(|| Some(nanos_from_micros(text.as_bytes()).ok()? / 1000))
        };
        let metadata = match record[RecordField::Name].text {
            b"process_name" => text(b"name", &mut repairs).map(|name| Metadata::ProcessName { pid: pid.clone(), name }),
            b"process_labels" => {
                text(b"labels", &mut repairs).map(|labels| Metadata::ProcessLabels { pid: pid.clone(), labels })
            }
            b"thread_name" => text(b"name", &mut repairs).map(|name| Metadata::ThreadName {
                pid: pid.clone(),
                tid: thread(&mut repairs),
                name,
            }),
            b"process_sort_index" => {
                order().map(|sort_index| Metadata::ProcessSortIndex { pid: pid.clone(), sort_index })
            }
            b"thread_sort_index" => order().map(|sort_index| Metadata::ThreadSortIndex {
                pid: pid.clone(),
                tid: thread(&mut repairs),
                sort_index,
            }),
            _ => None,
        };
        repairs.count(&mut self.losses, pos);
        if record[RecordField::Name].text == b"trace_buffer_overflowed"
            && number_text(&member(&record[RecordField::Args], b"overflowed_at_ts")) != b"0"
        {
            return self.losses.add_because("the trace buffer overflowed", Loss::RecorderLost, pos);
        }
        match metadata {
            Some(metadata) => self.metadata.push(metadata),
            None => {
                self.losses.add_value(Loss::IgnoredMetadata, LossValue::text(record[RecordField::Name].text), pos);
            }
        }
    }

    /// Creates an event with its details, without a track.
    fn event(&mut self, record: &ChromeRecord<'a>, site: EventSite, kind: EventKind) -> Event {
        Event { detail: self.detail(record, kind, site.pos), ..event_at(site, kind) }
    }

    fn push_event(&mut self, event: Event) {
        self.chunk.events.push(event);
    }

    fn thread_event(&mut self, record: &ChromeRecord<'a>, site: EventSite, kind: EventKind) -> Event {
        let track = self.thread(record, site.pos);
        Event { track, ..self.event(record, site, kind) }
    }

    fn thread(&mut self, record: &ChromeRecord<'a>, pos: SourcePos) -> TrackIdx {
        let repaired_row = self.tables.thread(&record[RecordField::Pid], &record[RecordField::Tid]);
        self.count_repairs(repaired_row, pos)
    }

    fn track(
        &mut self,
        kind: TrackKind,
        pid: &JsonValue<'a>,
        tid: &JsonValue<'a>,
        parts: &[JsonValue<'a>],
        pos: SourcePos,
    ) -> TrackIdx {
        let repaired_row = self.tables.track(kind, pid, tid, parts);
        self.count_repairs(repaired_row, pos)
    }

    fn count_repairs<T>(&mut self, repaired_row: RepairedRow<T>, pos: SourcePos) -> T {
        repaired_row.repairs.count(&mut self.losses, pos);
        repaired_row.row
    }

    /// Stores the arguments and the thread clock times, and returns the value of [`Event::detail`].
    fn detail(&mut self, record: &ChromeRecord<'a>, kind: EventKind, pos: SourcePos) -> u32 {
        let has_more = !(record.others.is_empty() && record.rare.is_empty());
        if record[RecordField::Args].is_absent()
            && record[RecordField::Tts].is_absent()
            && record[RecordField::Tdur].is_absent()
            && !has_more
        {
            return 0;
        }
        let mut repairs = Repairs::default();
        let mut args = match record[RecordField::Args].shape {
            Shape::Absent => "".into(),
            Shape::Object if is_empty_object(record[RecordField::Args].text) => "".into(),
            Shape::Object => valid_json(&record[RecordField::Args], &mut repairs),
            _ => format!("{{\"args\":{}}}", valid_json(&record[RecordField::Args], &mut repairs)).into(),
        };
        if has_more {
            let mut members = self.rare_args(record, kind, pos);
            // The measure of a sample is the last of its event, unit and period.
            let measure_count = if kind == EventKind::Sample { members.len() } else { 0 };
            for (key, value) in &record.others {
                members.push((crate::formats::json::text::decode(key, &mut repairs), valid_json(value, &mut repairs)));
            }
            for (key, _) in &mut members[measure_count..] {
                if !member(&record[RecordField::Args], key.as_bytes()).is_absent() {
                    *key = format!("event.{key}").into();
                }
            }
            args = with_members(args, &members);
        }
        repairs.count(&mut self.losses, pos);
        let thread_ts_ns = self.thread_time(&record[RecordField::Tts], pos);
        let thread_dur_ns = self.thread_time(&record[RecordField::Tdur], pos);
        self.chunk.details.push(&Detail { thread_ts_ns, thread_dur_ns, args_json: &args })
    }

    fn thread_time(&mut self, value: &JsonValue<'a>, pos: SourcePos) -> Option<i64> {
        if value.is_absent() {
            return None;
        }
        let time = nanos_from_micros(number_text(value));
        if time.is_err() {
            self.losses.add(Loss::BadNumber, pos);
        }
        time.ok()
    }

    /// Hashes a list of texts; `domain` separates the kinds of ids.
    fn hash(&mut self, domain: u8, parts: &[JsonValue<'a>]) -> u64 {
        self.scratch.clear();
        self.scratch.push(domain);
        for part in parts {
            push_part(&mut self.scratch, part);
        }
        xxh3_64(&self.scratch)
    }
}

fn event_at(site: EventSite, kind: EventKind) -> Event {
    Event::new(site.ts_ns, kind, TrackIdx(0), site.name)
}

/// Returns the digits of a number, which may be in a string. Empty for other values.
pub(super) fn number_text<'a>(value: &JsonValue<'a>) -> &'a [u8] {
    match value.shape {
        Shape::Scalar | Shape::String => value.text,
        Shape::Absent | Shape::Object | Shape::Array => b"",
    }
}

/// Removes the quotes of an id: the number 1 and the string "1" are one id, "0x1" is another.
fn plain(id: JsonValue<'_>) -> JsonValue<'_> {
    let shape = if id.shape == Shape::String { Shape::Scalar } else { id.shape };
    JsonValue { shape, ..id }
}

/// Returns the id of a record, from its `id` or its `id2`, and whether it is local to its process.
fn record_id<'a>(record: &ChromeRecord<'a>) -> (JsonValue<'a>, bool) {
    if !record[RecordField::Id].is_absent() {
        return (record[RecordField::Id], false);
    }
    let id2 = &record[RecordField::Id2];
    let global = member(id2, b"global");
    if global.is_absent() { (member(id2, b"local"), true) } else { (global, false) }
}

/// Returns whether a record is a thread state, as in Perfetto's JSON. Steps of async spans have no duration.
fn is_thread_state(record: &ChromeRecord<'_>) -> bool {
    record[RecordField::Cat].is_text(b"thread_state") && !record[RecordField::Dur].is_absent()
}

fn step_name<'a>(record: &ChromeRecord<'a>) -> JsonValue<'a> {
    let step = member(&record[RecordField::Args], b"step");
    if step.is_absent() { record[RecordField::Name] } else { step }
}

/// Returns whether an object, including its braces, has no members.
fn is_empty_object(json: &[u8]) -> bool {
    json.get(1..).is_some_and(|rest| rest.trim_ascii_start() == b"}")
}

fn is_set(flag: &JsonValue<'_>) -> bool {
    !flag.is_absent() && !matches!(flag.text, b"false" | b"0" | b"")
}

/// Appends members to a JSON object; `args` is the text of an object, or empty.
fn with_members<'t>(args: Cow<'t, str>, members: &[(Cow<'_, str>, Cow<'_, str>)]) -> Cow<'t, str> {
    if members.is_empty() {
        return args;
    }
    let mut text = String::from(args.strip_suffix('}').unwrap_or("{"));
    for (key, value) in members {
        if text.trim_ascii_end() != "{" {
            text.push(',');
        }
        text.push_str(&quoted(key));
        text.push(':');
        text.push_str(value);
    }
    text.push('}');
    text.into()
}
