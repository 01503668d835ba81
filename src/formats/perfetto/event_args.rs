//! Writes the arguments of track events into their details: annotations, typed arguments, source locations, stacks.

use std::borrow::Cow;

use super::event_builder::{PerfettoEventBuilder, TrackEvent};
use super::fields::{inline_callstack, inline_frame, task_execution, track_event};
use super::own_fields::own_track_event;
use super::sequence::location;
use super::values::{TypedWriter, ValueTables};
use crate::formats::protobuf::decode::{Fields, ProtoValue};
use crate::formats::protobuf::message::ProtoMessage as _;
use crate::formats::protobuf::numbers::FieldNumber;
use crate::model::Loss;
use crate::model::args::Detail;

/// Limit for typed arguments of an event, since each of its fields is compared with all of them.
const TYPED_MAX: usize = 256;

impl PerfettoEventBuilder<'_> {
    /// Stores the arguments and thread times of an event, and returns the index for
    /// [`Event::detail`](crate::model::Event::detail).
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
        self.batch.detail(&detail)
    }

    fn write_args(&mut self, event: &TrackEvent<'_>) {
        let mut typed = Vec::new();
        for field in Fields::new(event.bytes) {
            let number = field.number;
            // A small event may refer to a long interned text any number of times.
            let is_skipped = self.args.is_too_long() && number != track_event::THREAD_INSTRUCTION_COUNT_DELTA;
            if is_skipped || self.write_arg(number, field.value) || is_no_argument(number) || typed.contains(&number) {
                continue;
            }
            if typed.len() < TYPED_MAX {
                typed.push(number);
            } else {
                self.batch.lose(Loss::OverLimit, self.pos);
            }
        }
        if !typed.is_empty() {
            let (json, schema) = (&mut self.args.json, self.tracks.schema_for(&typed));
            let (texts, losses) = (&self.sequence.texts, self.batch.losses());
            let shared = &mut ValueTables { texts, tracks: self.tracks, pos: self.pos, losses };
            TypedWriter { json, schema, shared, shows_unknown: false }.track_event(event.bytes, &typed);
        }
    }

    /// Writes a field that is an argument of every kind of event. Returns whether this is such a field.
    fn write_arg(&mut self, number: FieldNumber, value: ProtoValue<'_>) -> bool {
        let texts = &self.sequence.texts;
        let losses = self.batch.losses();
        let pos = self.pos;
        match (number, value) {
            (track_event::DEBUG_ANNOTATIONS, ProtoValue::Bytes(bytes)) => {
                let tracks = &mut *self.tracks;
                self.args.annotation(bytes, &mut ValueTables { texts, tracks, pos, losses });
            }
            (track_event::TASK_EXECUTION, ProtoValue::Bytes(bytes)) => {
                let iid = Fields::new(bytes).find(|field| field.number == task_execution::POSTED_FROM_IID);
                let iid = iid.map(|field| field.value.number());
                match iid.and_then(|iid| texts.locations.get(iid)) {
                    Some(location) => self.args.location("task.posted_from", location),
                    None => losses.add(Loss::MissingText, pos),
                }
            }
            (track_event::LOG_MESSAGE, ProtoValue::Bytes(bytes)) => {
                let tracks = &mut *self.tracks;
                self.args.log_message(bytes, &mut ValueTables { texts, tracks, pos, losses });
            }
            (track_event::SOURCE_LOCATION, ProtoValue::Bytes(bytes)) => {
                self.args.location("source_location", &location(bytes).1);
            }
            (track_event::SOURCE_LOCATION_IID, value) => match texts.locations.get(value.number()) {
                Some(location) => self.args.location("source_location", location),
                None => losses.add(Loss::MissingText, pos),
            },
            (track_event::CORRELATION_ID, value) => self.args.number("correlation_id", value.number()),
            (track_event::CORRELATION_ID_STR, ProtoValue::Bytes(bytes)) => self.args.text("correlation_id", bytes),
            (track_event::CORRELATION_ID_STR_IID, value) => match texts.correlations.get(value.number()) {
                Some(text) => self.args.text("correlation_id", text),
                None => losses.add(Loss::MissingText, pos),
            },
            (track_event::THREAD_INSTRUCTION_COUNT_DELTA, value) => {
                let sum = &mut self.sequence.newest_instructions;
                *sum = sum.wrapping_add(value.signed());
                self.args.signed("thread_instruction_count", *sum);
            }
            // An absolute value does not change the sum.
            (track_event::THREAD_INSTRUCTION_COUNT_ABSOLUTE, value) => {
                self.args.signed("thread_instruction_count", value.signed());
            }
            (track_event::CALLSTACK, ProtoValue::Bytes(bytes)) => {
                self.args.stack("callstack", inline_frame_names(bytes), pos, losses);
            }
            (track_event::CALLSTACK_IID, value) => match self.sequence.stacks.names(value.number()) {
                Some(names) => self.args.stack("callstack", names, pos, losses),
                None => losses.add(Loss::MissingText, pos),
            },
            _ => return false,
        }
        true
    }
}

/// Returns the function names of a call stack within an event.
fn inline_frame_names(callstack: &[u8]) -> impl Iterator<Item = Option<Cow<'_, [u8]>>> {
    callstack.repeated(inline_callstack::FRAMES).map(|frame| {
        let mut fields = Fields::new(frame);
        let function = fields.find(|field| field.number == inline_frame::FUNCTION_NAME);
        Some(function.map_or(&b""[..], |field| field.value.bytes()).into())
    })
}

/// Returns whether a field belongs to the event itself: its time, name, track, flows or counters.
fn is_no_argument(number: FieldNumber) -> bool {
    matches!(
        number,
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
            | track_event::TERMINATING_FLOW_IDS
            | own_track_event::UNFINISHED_DUR_NS
    )
}
