//! Messages in packets of their own: Android's log, on the thread that wrote each, and triggers of the recording.

use super::fields::{builtin_clock, trace_packet};
use super::ftrace::FtraceDecoder;
use super::kernel_names::last;
use super::statistics_fields::{android_log, android_log_event, chrome_trigger, trigger};
use crate::formats::output::batch::bare;
use crate::formats::protobuf::decode::{Fields, ProtoValue};
use crate::formats::protobuf::numbers::FieldNumber;
use crate::model::args::Detail;
use crate::model::{Event, EventKind, TrackIdx};

/// Priorities of Android's log, by number.
const PRIORITIES: [&str; 8] = ["", "", "verbose", "debug", "info", "warn", "error", "fatal"];

/// Returns whether packets of this kind are triggers.
pub(super) fn is_trigger(kind: FieldNumber) -> bool {
    matches!(kind, trace_packet::TRIGGER | trace_packet::CHROME_TRIGGER | trace_packet::CLONE_SNAPSHOT_TRIGGER)
}

impl FtraceDecoder<'_> {
    /// Adds the messages of a log packet, which have times of their own.
    pub(super) fn android_log(&mut self, bytes: &[u8]) {
        for field in Fields::new(bytes).filter(|field| field.number == android_log::EVENTS) {
            self.log_message(field.value.bytes());
        }
    }

    /// Adds a trigger of the recording.
    pub(super) fn trigger(&mut self, kind: FieldNumber, ts_ns: i64, bytes: &[u8]) {
        let track = self.own_track("Trace Triggers");
        let args = &mut self.kernel.args;
        args.clear();
        let name = if kind == trace_packet::CHROME_TRIGGER {
            let name = last(bytes, chrome_trigger::TRIGGER_NAME).map(ProtoValue::bytes);
            if let Some(name) = name {
                args.text("chrome_trigger.name", name);
            }
            if let Some(hash) = last(bytes, chrome_trigger::TRIGGER_NAME_HASH) {
                args.number("chrome_trigger.name_hash", hash.number());
            }
            name.unwrap_or(b"chrome_trigger")
        } else {
            if let Some(producer) = last(bytes, trigger::PRODUCER_NAME) {
                args.text("producer_name", producer.bytes());
            }
            if let Some(user) = last(bytes, trigger::TRUSTED_PRODUCER_UID) {
                args.signed("trusted_producer_uid", user.signed());
            }
            last(bytes, trigger::TRIGGER_NAME).map_or(&b"trigger"[..], ProtoValue::bytes)
        };
        self.push_message(ts_ns, track, name, None);
    }

    fn log_message(&mut self, bytes: &[u8]) {
        let field_value = |field| last(bytes, field);
        let raw = field_value(android_log_event::TIMESTAMP).map_or(0, ProtoValue::number);
        let time = self.clocks.time(self.sequence, Some(builtin_clock::REALTIME), raw);
        let Some(ts_ns) = self.usable(time) else { return };
        let pid = field_value(android_log_event::PID).map_or(0, ProtoValue::signed);
        let tid = field_value(android_log_event::TID).map_or(pid, ProtoValue::signed);
        let track = self.tracks.thread(pid, tid);
        let track = self.batch.track(track, self.tracks);
        let args = &mut self.kernel.args;
        args.clear();
        if let Some(message) = field_value(android_log_event::MESSAGE) {
            args.text("message", message.bytes());
        }
        let priority =
            field_value(android_log_event::PRIO).and_then(|priority| usize::try_from(priority.number()).ok());
        let priority = priority.and_then(|priority| PRIORITIES.get(priority)).filter(|name| !name.is_empty());
        if let Some(priority) = priority {
            args.text("priority", priority.as_bytes());
        }
        let tag = field_value(android_log_event::TAG).map_or(&b""[..], ProtoValue::bytes);
        self.push_message(ts_ns, track, if tag.is_empty() { b"log" } else { tag }, Some(b"log"));
    }

    /// Adds an instant with the arguments written so far.
    fn push_message(&mut self, ts_ns: i64, track: TrackIdx, name: &[u8], category: Option<&[u8]>) {
        let detail = match self.kernel.args.finish() {
            "" => 0,
            args_json => self.batch.batch.chunk.details.push(&Detail { args_json, ..Detail::default() }),
        };
        let name = self.batch.name(name, category, self.place);
        self.batch.push(Event { detail, ..bare(ts_ns, EventKind::Instant, track, name) });
    }
}
