//! Decodes log packets. Messages of Android's log and systemd's journal go on the thread that wrote them; statsd atoms
//! and triggers have separate tracks.

use super::clocks::Time;
use super::fields::{builtin_clock, trace_packet};
use super::ftrace::SystemEventBuilder;
use super::packet_events::ArgForm::{Known, Text, Unsigned};
use super::packet_events::{PacketArg, write_args};
use super::packet_fields::{journal_event, statsd_atom};
use super::statistics_fields::{android_log, android_log_event, chrome_trigger, trigger};
use crate::formats::output::args::ArgsWriter;
use crate::formats::protobuf::decode::{Fields, ProtoValue};
use crate::formats::protobuf::message::ProtoMessage as _;
use crate::formats::protobuf::numbers::FieldNumber;
use crate::model::facts::{Subject, TraceFact};
use crate::model::{Loss, Metadata};

/// Priorities of Android's log, by number.
const PRIORITIES: [&str; 8] = ["", "", "verbose", "debug", "info", "warn", "error", "fatal"];

const JOURNAL_PRIORITIES: &[(u64, &str)] = &[
    (0, "emergency"),
    (1, "alert"),
    (2, "critical"),
    (3, "error"),
    (4, "warning"),
    (5, "notice"),
    (6, "info"),
    (7, "debug"),
];

const JOURNAL_ARGS: &[PacketArg] = &[
    PacketArg("message", journal_event::MESSAGE, Text),
    PacketArg("priority", journal_event::PRIO, Known(JOURNAL_PRIORITIES)),
    PacketArg("unit", journal_event::SYSTEMD_UNIT, Text),
    PacketArg("comm", journal_event::COMM, Text),
    PacketArg("uid", journal_event::UID, Unsigned),
];

/// Limit for fields of a statistics message; the rest is counted as a loss.
const UNTYPED_MAX: usize = 256;

/// Writes the fields of a message without a type, by number. Returns whether all were written.
fn write_untyped(args: &mut ArgsWriter, value: ProtoValue<'_>) -> bool {
    for (written, field) in Fields::new(value.bytes()).enumerate() {
        if written >= UNTYPED_MAX {
            return false;
        }
        let key = field.number.get().to_string();
        match field.value {
            ProtoValue::Bytes(bytes) => match std::str::from_utf8(bytes) {
                Ok(text) if !text.contains(char::is_control) => args.text(&key, bytes),
                _ => args.text(&key, format!("({} bytes)", bytes.len()).as_bytes()),
            },
            value => args.signed(&key, value.signed()),
        }
    }
    true
}

impl SystemEventBuilder<'_> {
    /// Adds the messages of a log packet, each with its time.
    pub(super) fn android_log(&mut self, bytes: &[u8]) {
        for event in bytes.repeated(android_log::EVENTS) {
            self.log_message(event);
        }
    }

    /// Adds a trigger of the recording.
    pub(super) fn trigger(&mut self, kind: FieldNumber, ts_ns: i64, bytes: &[u8]) {
        let track = self.global_track("Trace Triggers");
        let args = &mut self.state.args;
        args.clear();
        let translated;
        let name = if kind == trace_packet::CHROME_TRIGGER {
            let name = bytes.content(chrome_trigger::TRIGGER_NAME);
            let hash = bytes.value(chrome_trigger::TRIGGER_NAME_HASH).map(ProtoValue::number);
            translated = hash.and_then(|hash| self.tracks.translations().trigger(hash)).map(<[u8]>::to_vec);
            let name = name.or(translated.as_deref());
            if let Some(name) = name {
                args.text("chrome_trigger.name", name);
            }
            if let Some(hash) = bytes.value(chrome_trigger::TRIGGER_NAME_HASH) {
                args.number("chrome_trigger.name_hash", hash.number());
            }
            name.unwrap_or(b"chrome_trigger")
        } else {
            if let Some(producer) = bytes.value(trigger::PRODUCER_NAME) {
                args.text("producer_name", producer.bytes());
            }
            if let Some(user) = bytes.value(trigger::TRUSTED_PRODUCER_UID) {
                args.signed("trusted_producer_uid", user.signed());
            }
            bytes.content(trigger::TRIGGER_NAME).unwrap_or(&b"trigger"[..])
        };
        if kind != trace_packet::CHROME_TRIGGER && self.state.first_trigger_ns.is_none_or(|first_ns| ts_ns < first_ns) {
            self.state.first_trigger_ns = Some(ts_ns);
            let fact = TraceFact::text(Subject::Recording, "trace_trigger", &String::from_utf8_lossy(name));
            self.batch.add_metadata(Metadata::Fact { fact: Box::new(fact) });
        }
        self.push_message(ts_ns, track, name, None);
    }

    /// Adds the messages of Android's statistics daemon, whose times are in the packet. Their types are not in the
    /// trace, so they are named by number.
    pub(super) fn statsd_atoms(&mut self, time: Option<Time>, bytes: &[u8]) {
        let mut times = bytes.numbers(statsd_atom::TIMESTAMP_NANOS);
        for atom in bytes.repeated(statsd_atom::ATOM) {
            let own = times.next().map(|raw| self.clocks.time(self.sequence, None, raw));
            let Some(time) = own.or(time) else {
                self.batch.lose(Loss::BadTime, self.pos);
                continue;
            };
            let Some(ts_ns) = self.usable(time) else { continue };
            for atom in Fields::new(atom) {
                let track = self.global_track("Statsd Atoms");
                let args = &mut self.state.args;
                args.clear();
                if !write_untyped(args, atom.value) {
                    self.batch.lose(Loss::LongArgs, self.pos);
                }
                let name = format!("atom_{}", atom.number.get());
                self.push_message(ts_ns, track, name.as_bytes(), Some(b"statsd"));
            }
        }
    }

    /// Adds a message of systemd's journal to the thread that wrote it.
    pub(super) fn journal_message(&mut self, ts_ns: i64, bytes: &[u8]) {
        let pid = bytes.signed(journal_event::PID);
        let tid = bytes.value(journal_event::TID).map_or(pid, ProtoValue::signed);
        let track = self.tracks.thread(pid, tid);
        let track = self.batch.track(track, self.tracks);
        self.state.args.clear();
        write_args(&mut self.state.args, bytes, JOURNAL_ARGS);
        let tag = bytes.content(journal_event::TAG).unwrap_or_default();
        self.push_message(ts_ns, track, if tag.is_empty() { b"log" } else { tag }, Some(b"log"));
    }

    fn log_message(&mut self, bytes: &[u8]) {
        let field_value = |field| bytes.value(field);
        let raw = field_value(android_log_event::TIMESTAMP).map_or(0, ProtoValue::number);
        let time = self.clocks.time(self.sequence, Some(builtin_clock::REALTIME), raw);
        let Some(ts_ns) = self.usable(time) else { return };
        let pid = field_value(android_log_event::PID).map_or(0, ProtoValue::signed);
        let tid = field_value(android_log_event::TID).map_or(pid, ProtoValue::signed);
        let track = self.tracks.thread(pid, tid);
        let track = self.batch.track(track, self.tracks);
        let args = &mut self.state.args;
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
}
