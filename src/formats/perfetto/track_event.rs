//! Track events -> events: one for the span, instant or counter that it is, and one for each flow and each further
//! counter that it carries.

use std::ops::Deref;

use super::args::Shared;
use super::fields::{inline_callstack, inline_frame, log_message, task_execution, track_event, track_event_type};
use super::legacy::Legacy;
use super::packets::Part;
use super::parse::{EventFields, More, Number, OwnTime};
use super::schema::TypedWriter;
use super::sequence::Sequence;
use super::tracks::{TrackNumber, Tracks};
use crate::formats::output::args::ArgsWriter;
use crate::formats::output::batch::{BatchBuilder, bare};
use crate::formats::protobuf::decode::{Fields, Value};
use crate::model::args::Detail;
use crate::model::{Event, EventFlags, EventKind, Loss, NameIdx, SourcePos};

/// What all events are made with.
pub(super) struct Maker<'m> {
    pub(super) sequence: &'m mut Sequence,
    pub(super) tracks: &'m mut Tracks,
    pub(super) batch: &'m mut BatchBuilder,
    pub(super) args: &'m mut ArgsWriter,
    pub(super) place: SourcePos,
}

/// A track event; what is repeated in it is read again from `bytes` where it is used.
#[derive(Debug)]
pub(super) struct TrackEvent<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) name: Option<&'a [u8]>,
    pub(super) legacy: Option<&'a Legacy<'a>>,
    fields: &'a EventFields,
    more: &'a More,
}

impl Deref for TrackEvent<'_> {
    type Target = EventFields;

    fn deref(&self) -> &EventFields {
        self.fields
    }
}

/// The most typed arguments of an event by their numbers: each field of the event is compared with them.
const TYPED_MAX: usize = 256;

impl<'a> TrackEvent<'a> {
    /// The event of these bytes, whose parts are of `block`.
    #[inline]
    pub(super) fn new(
        bytes: &'a [u8],
        fields: &'a EventFields,
        more: &'a More,
        legacy: Option<&'a Legacy<'a>>,
        block: &'a [u8],
    ) -> Self {
        Self { bytes, name: more.name.map(|part: Part| part.in_block(block)), legacy, fields, more }
    }

    /// Whether it has neither name nor category, as most ends of spans.
    #[inline]
    fn is_unnamed(&self) -> bool {
        self.name.is_none()
            && self.name_iid == 0
            && self.categories == 0
            && !self.has_inline_category
            && self.legacy.is_none()
    }

    /// The time in the oldest captures, which is told within the event.
    pub(super) fn own_us(&self, sequence: &mut Sequence) -> Option<i64> {
        match self.more.own_time? {
            OwnTime::Absolute(us) => Some(us),
            OwnTime::Later(us) => {
                sequence.newest_us = sequence.newest_us.checked_add(us)?;
                Some(sequence.newest_us)
            }
        }
    }
}

impl Maker<'_> {
    /// Takes a track event.
    pub(super) fn take(&mut self, event: &TrackEvent<'_>, ts_ns: i64) {
        if event.is_broken {
            // What was read is shown all the same.
            self.batch.lose(Loss::BadRecord, self.place);
        }
        let kind = match u64::from(event.kind) {
            track_event_type::TYPE_SLICE_BEGIN => EventKind::Begin,
            track_event_type::TYPE_SLICE_END => EventKind::End,
            track_event_type::TYPE_INSTANT => EventKind::Instant,
            track_event_type::TYPE_COUNTER => {
                self.counter(event, ts_ns);
                self.further_counters(event, ts_ns);
                return;
            }
            _ => {
                if let Some(legacy) = event.legacy {
                    return self.legacy(event, legacy, ts_ns);
                }
                self.further_counters(event, ts_ns);
                return self.batch.lose(Loss::UnknownPhase, self.place);
            }
        };
        let name = self.name(event);
        let track = self.track_of(event);
        let thread_ts_ns = self.thread_time(event, ts_ns);
        let track = self.batch.track(track, self.tracks);
        let is_unnamed = kind == EventKind::End && name == NameIdx::EMPTY;
        let flags = if is_unnamed { EventFlags::UNNAMED } else { EventFlags::NONE };
        let detail = self.detail(event, thread_ts_ns, None);
        let made = || Event { detail, flags, ..bare(ts_ns, kind, track, name) };
        if event.has_flows || event.legacy.is_some() {
            self.push_with_flows(event, made());
        } else {
            // Made in its place: to make it here and move it there costs as much as all the rest.
            self.batch.push(made());
        }
    }

    #[inline(never)]
    fn push_with_flows(&mut self, event: &TrackEvent<'_>, made: Event) {
        // A flow binds to the span that is open: one that ends here still is.
        if made.kind == EventKind::End {
            self.flows(event, &made);
        }
        self.batch.push(made);
        if made.kind != EventKind::End {
            self.flows(event, &made);
        }
        if let Some(legacy) = event.legacy {
            self.bound_flow(legacy, &made);
        }
    }

    /// The row of the event's name and categories. Several categories are one, with commas.
    #[inline]
    pub(super) fn name(&mut self, event: &TrackEvent<'_>) -> NameIdx {
        if event.is_unnamed() {
            return NameIdx::EMPTY;
        }
        let name_iid = match event.legacy {
            Some(legacy) if event.name_iid == 0 => legacy.name_iid,
            _ => event.name_iid,
        };
        // The number 0 stands for no category among the known names, and for a missing one in an event.
        let has_known_category = event.categories == 0 || event.categories == 1 && event.category_iid != 0;
        let is_simple = event.name.is_none() && has_known_category && !event.has_inline_category;
        if is_simple
            && let Some(known) = self.sequence.known_name(self.batch.names_number(), name_iid, event.category_iid)
        {
            return known;
        }
        self.new_name(event, name_iid, is_simple)
    }

    #[inline(never)]
    fn new_name(&mut self, event: &TrackEvent<'_>, name_iid: u64, is_simple: bool) -> NameIdx {
        let texts = &self.sequence.texts;
        let interned = texts.names.get(name_iid).map(|name| &**name);
        let mut is_missing = event.name.or(interned).is_none() && name_iid != 0;
        let name = event.name.or(interned).unwrap_or_default();
        let row = if event.categories == 0 && !event.has_inline_category {
            self.batch.name(name, None, self.place)
        } else {
            let mut categories: Vec<&[u8]> = Vec::new();
            for field in Fields::of(event.bytes) {
                match field.number {
                    track_event::CATEGORY_IIDS => {
                        for iid in field.value.numbers(false) {
                            match texts.categories.get(iid) {
                                Some(category) => categories.push(category),
                                None => is_missing = true,
                            }
                        }
                    }
                    track_event::CATEGORIES => categories.push(field.value.bytes()),
                    _ => {}
                }
            }
            let joined;
            let category: Option<&[u8]> = match categories[..] {
                [] => None,
                [one] => Some(one),
                _ => {
                    joined = categories.join(&b","[..]);
                    Some(&joined)
                }
            };
            self.batch.name(name, category, self.place)
        };
        if is_missing {
            self.batch.lose(Loss::MissingText, self.place);
        } else if is_simple {
            self.sequence.remember_name(self.batch.names_number(), name_iid, event.category_iid, row);
        }
        row
    }

    /// The event's track, or the writer's, or the writer's thread, or that of the whole capture.
    #[inline]
    pub(super) fn track_of(&mut self, event: &TrackEvent<'_>) -> TrackNumber {
        let uuid = match (event.track.or(self.sequence.defaults.track), self.sequence.thread) {
            (Some(uuid), _) => uuid,
            (None, Some((pid, tid))) => return self.tracks.thread(pid, tid),
            (None, None) => 0,
        };
        if let Some((recent, track)) = self.sequence.recent_track
            && recent == uuid
        {
            return track;
        }
        let track = self.tracks.spans(uuid);
        self.sequence.recent_track = Some((uuid, track));
        track
    }

    #[inline(never)]
    fn counter(&mut self, event: &TrackEvent<'_>, ts_ns: i64) {
        let uuid = event.track.or(self.sequence.defaults.track).unwrap_or(0);
        let Some(value) = event.more.counter else { return self.batch.lose(Loss::BadCounter, self.place) };
        let name = match self.name_text(event) {
            Some(name) => String::from_utf8_lossy(name).into_owned(),
            None => String::new(),
        };
        self.push_value(uuid, value, &name, ts_ns);
    }

    fn name_text<'n>(&'n self, event: &TrackEvent<'n>) -> Option<&'n [u8]> {
        event.name.or_else(|| self.sequence.texts.names.get(event.name_iid).map(|name| &**name))
    }

    /// Adds a value of a counter; `name` if nothing names it.
    fn push_value(&mut self, uuid: u64, value: Number, name: &str, ts_ns: i64) {
        let (track, counter) = self.tracks.counter(uuid, name);
        let value = match value {
            Number::Whole(value) => {
                let value = if counter.is_incremental { self.sum(uuid, value) } else { value };
                value as f64 * counter.multiplier as f64
            }
            Number::Double(value) => value * counter.multiplier as f64,
        };
        if !value.is_finite() {
            return self.batch.lose(Loss::BadCounter, self.place);
        }
        let track = self.batch.track(track, self.tracks);
        self.batch.push(Event { value: value.to_bits(), ..bare(ts_ns, EventKind::Counter, track, NameIdx::EMPTY) });
    }

    fn sum(&mut self, uuid: u64, distance: i64) -> i64 {
        let sum = self.sequence.sums.entry(uuid).or_default();
        *sum = sum.wrapping_add(distance);
        *sum
    }

    /// Takes the counters that the event carries, and returns the thread's own time if it is among them.
    #[inline(never)]
    fn further_counters(&mut self, event: &TrackEvent<'_>, ts_ns: i64) -> Option<i64> {
        if !event.has_counters {
            return None;
        }
        let mut thread_ts_ns = None;
        for (of_values, of_uuids, is_double) in [
            (track_event::EXTRA_COUNTER_VALUES, track_event::EXTRA_COUNTER_TRACK_UUIDS, false),
            (track_event::EXTRA_DOUBLE_COUNTER_VALUES, track_event::EXTRA_DOUBLE_COUNTER_TRACK_UUIDS, true),
        ] {
            let own = || {
                Fields::of(event.bytes).filter(|field| field.number == of_uuids).flat_map(|f| f.value.numbers(false))
            };
            let values = Fields::of(event.bytes)
                .filter(|field| field.number == of_values)
                .flat_map(|field| field.value.numbers(is_double));
            let has_own = own().next().is_some();
            let mut own = own();
            for (position, value) in values.enumerate() {
                let defaults = &self.sequence.defaults;
                let defaults = if is_double { &defaults.double_counters } else { &defaults.counters };
                let uuid = if has_own { own.next() } else { defaults.get(position).copied() };
                let Some(uuid) = uuid else {
                    self.batch.lose(Loss::BadCounter, self.place);
                    continue;
                };
                if is_double {
                    self.push_value(uuid, Number::Double(f64::from_bits(value)), "", ts_ns);
                    continue;
                }
                let counter = self.tracks.descriptor(uuid).and_then(|descriptor| descriptor.counter);
                match counter {
                    // Told beside the span's own time rather than drawn: it is one value for each end of a span.
                    Some(counter) if counter.is_thread_time => {
                        let value = if counter.is_incremental { self.sum(uuid, value as i64) } else { value as i64 };
                        thread_ts_ns = value.checked_mul(counter.multiplier);
                        if thread_ts_ns.is_none() {
                            self.batch.lose(Loss::BadNumber, self.place);
                        }
                    }
                    _ => self.push_value(uuid, Number::Whole(value as i64), "", ts_ns),
                }
            }
        }
        thread_ts_ns
    }

    /// The thread's own time at the event, by either way of telling it.
    pub(super) fn thread_time(&mut self, event: &TrackEvent<'_>, ts_ns: i64) -> Option<i64> {
        let by_counter = if event.has_counters { self.further_counters(event, ts_ns) } else { None };
        let us = event.more.own_thread_time.map(|time| match time {
            OwnTime::Absolute(us) => us,
            OwnTime::Later(us) => {
                self.sequence.newest_thread_us = self.sequence.newest_thread_us.wrapping_add(us);
                self.sequence.newest_thread_us
            }
        });
        by_counter.or_else(|| us?.checked_mul(1000))
    }

    /// Flows that pass through the event. Which end of a flow it is, only the order of times tells: the first is where it
    /// begins.
    pub(super) fn flows(&mut self, event: &TrackEvent<'_>, made: &Event) {
        if !event.has_flows {
            return;
        }
        let depth = match made.kind {
            EventKind::Instant => Event::FLOW_OF_INSTANT,
            _ => Event::FLOW_OF_SPAN,
        };
        for field in Fields::of(event.bytes) {
            let (kind, wide) = match field.number {
                track_event::FLOW_IDS_OLD => (EventKind::FlowStep, false),
                track_event::FLOW_IDS => (EventKind::FlowStep, true),
                track_event::TERMINATING_FLOW_IDS_OLD => (EventKind::FlowEnd, false),
                track_event::TERMINATING_FLOW_IDS => (EventKind::FlowEnd, true),
                _ => continue,
            };
            for value in field.value.numbers(wide) {
                let flags = EventFlags::BIND_ENCLOSING;
                self.batch.push(Event { kind, value, flags, depth, detail: 0, ..*made });
            }
        }
    }

    /// Keeps the arguments and the thread's own times, and returns what [`Event::detail`] holds for them.
    #[inline]
    pub(super) fn detail(
        &mut self,
        event: &TrackEvent<'_>,
        thread_ts_ns: Option<i64>,
        thread_dur_ns: Option<i64>,
    ) -> u32 {
        let has_args = event.has_args || event.legacy.is_some_and(|legacy| legacy.thread_instructions.is_some());
        if !has_args && thread_ts_ns.is_none() && thread_dur_ns.is_none() {
            return 0;
        }
        self.keep_detail(event, thread_ts_ns, thread_dur_ns)
    }

    #[inline(never)]
    fn keep_detail(&mut self, event: &TrackEvent<'_>, thread_ts_ns: Option<i64>, thread_dur_ns: Option<i64>) -> u32 {
        self.args.clear();
        if event.has_args {
            self.write_args(event);
        }
        if let Some(instructions) = event.legacy.and_then(|legacy| legacy.thread_instructions) {
            self.args.signed("thread_instruction_delta", instructions);
        }
        let detail = Detail { thread_ts_ns, thread_dur_ns, args_json: self.args.finish() };
        self.batch.batch.chunk.details.push(&detail)
    }

    fn write_args(&mut self, event: &TrackEvent<'_>) {
        let texts = &self.sequence.texts;
        let losses = &mut self.batch.batch.losses;
        let place = self.place;
        let mut typed = Vec::new();
        for field in Fields::of(event.bytes) {
            match (field.number, field.value) {
                (track_event::DEBUG_ANNOTATIONS, Value::Bytes(bytes)) => {
                    let tracks = &mut *self.tracks;
                    self.args.annotation(bytes, &mut Shared { texts, tracks, place, losses });
                }
                (track_event::TASK_EXECUTION, Value::Bytes(bytes)) => {
                    let iid = Fields::of(bytes).find(|field| field.number == task_execution::POSTED_FROM_IID);
                    let iid = iid.map(|field| field.value.number());
                    match iid.and_then(|iid| texts.locations.get(iid)) {
                        Some(location) => self.args.location("task.posted_from", location),
                        None => losses.add(Loss::MissingText, place),
                    }
                }
                (track_event::LOG_MESSAGE, Value::Bytes(bytes)) => {
                    let iid = Fields::of(bytes).find(|field| field.number == log_message::BODY_IID);
                    let iid = iid.map(|field| field.value.number());
                    match iid.and_then(|iid| texts.messages.get(iid)) {
                        Some(message) => self.args.text("log_message", message),
                        None => losses.add(Loss::MissingText, place),
                    }
                }
                (track_event::SOURCE_LOCATION, Value::Bytes(bytes)) => {
                    self.args.location("source_location", &super::sequence::location(bytes).1);
                }
                (track_event::SOURCE_LOCATION_IID, value) => match texts.locations.get(value.number()) {
                    Some(location) => self.args.location("source_location", location),
                    None => losses.add(Loss::MissingText, place),
                },
                (track_event::CORRELATION_ID, value) => self.args.number("correlation_id", value.number()),
                (track_event::CORRELATION_ID_STR, Value::Bytes(bytes)) => self.args.text("correlation_id", bytes),
                (track_event::CORRELATION_ID_STR_IID, value) => match texts.correlations.get(value.number()) {
                    Some(text) => self.args.text("correlation_id", text),
                    None => losses.add(Loss::MissingText, place),
                },
                (
                    number @ (track_event::THREAD_INSTRUCTION_COUNT_DELTA
                    | track_event::THREAD_INSTRUCTION_COUNT_ABSOLUTE),
                    value,
                ) => {
                    let sum = &mut self.sequence.newest_instructions;
                    // One that is told in full stands for itself alone.
                    let is_delta = number == track_event::THREAD_INSTRUCTION_COUNT_DELTA;
                    let count = if is_delta { sum.wrapping_add(value.signed()) } else { value.signed() };
                    if is_delta {
                        *sum = count;
                    }
                    self.args.signed("thread_instruction_count", count);
                }
                (track_event::CALLSTACK, Value::Bytes(bytes)) => {
                    let frames = Fields::of(bytes).filter(|field| field.number == inline_callstack::FRAMES);
                    let names = frames.map(|frame| {
                        let mut fields = Fields::of(frame.value.bytes());
                        let function = fields.find(|field| field.number == inline_frame::FUNCTION_NAME);
                        Some(function.map_or(&b""[..], |field| field.value.bytes()).into())
                    });
                    self.args.stack("callstack", names, place, losses);
                }
                (track_event::CALLSTACK_IID, value) => match self.sequence.stacks.names(value.number()) {
                    Some(names) => self.args.stack("callstack", names, place, losses),
                    None => losses.add(Loss::MissingText, place),
                },
                // Those that are no arguments.
                (
                    track_event::TIMESTAMP_DELTA_US
                    | track_event::THREAD_TIME_DELTA_US
                    | track_event::CATEGORY_IIDS
                    | track_event::LEGACY_EVENT
                    | track_event::TYPE
                    | track_event::NAME_IID
                    | track_event::TRACK_UUID
                    | track_event::EXTRA_COUNTER_VALUES
                    | track_event::TIMESTAMP_ABSOLUTE_US
                    | track_event::THREAD_TIME_ABSOLUTE_US
                    | track_event::CATEGORIES
                    | track_event::NAME
                    | track_event::COUNTER_VALUE
                    | track_event::EXTRA_COUNTER_TRACK_UUIDS
                    | track_event::FLOW_IDS_OLD
                    | track_event::TERMINATING_FLOW_IDS_OLD
                    | track_event::DOUBLE_COUNTER_VALUE
                    | track_event::EXTRA_DOUBLE_COUNTER_TRACK_UUIDS
                    | track_event::EXTRA_DOUBLE_COUNTER_VALUES
                    | track_event::FLOW_IDS
                    | track_event::TERMINATING_FLOW_IDS,
                    _,
                ) => {}
                (number, _) if typed.contains(&number) => {}
                (number, _) if typed.len() < TYPED_MAX => typed.push(number),
                _ => losses.add(Loss::OverLimit, place),
            }
        }
        if !typed.is_empty() {
            let (json, schema) = (&mut self.args.json, self.tracks.schema_for(&typed));
            TypedWriter { json, schema, place, losses, shows_unknown: false }.track_event(event.bytes, &typed);
        }
    }
}
