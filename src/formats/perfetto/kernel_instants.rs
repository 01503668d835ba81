//! Kernel events without a meaning of their own: instants of their thread, with all fields as arguments, as in the text
//! of ftrace. Undescribed events and fields are named by number.

use std::borrow::Cow;

use super::ftrace::SystemEventBuilder;
use super::kernel_fields::{ftrace_event, generic_event, generic_field};
use super::kernel_names::KernelEvent;
use super::kernel_types::KernelTypes;
use crate::formats::output::args::ArgsWriter;
use crate::formats::protobuf::decode::{Fields, ProtoValue};
use crate::formats::protobuf::message::ProtoMessage as _;
use crate::model::{Event, EventKind, Loss};

/// Limit for arguments of an event; the rest is counted as a loss.
const ARGS_MAX: usize = 256;

impl SystemEventBuilder<'_> {
    /// Adds the instant of an event.
    pub(super) fn push_instant(&mut self, ts_ns: i64, event: &KernelEvent<'_>) {
        let args = &mut self.state.args;
        args.clear();
        let (name, is_whole) = if event.number == ftrace_event::GENERIC {
            write_generic(args, event.bytes)
        } else {
            write_typed(args, event, &self.state.types)
        };
        if !is_whole {
            self.batch.lose(Loss::LongArgs, self.pos);
        }
        args.number("cpu", event.cpu);
        let detail = self.batch.args(args.finish());
        let track = self.thread_track(event.tid);
        let name = self.batch.name(name.as_bytes(), None, self.pos);
        self.batch.push(Event { detail, ..Event::new(ts_ns, EventKind::Instant, track, name) });
    }
}

/// Writes the fields of an event by the table of types. Returns its name, and whether all fields were written.
pub(super) fn write_typed(args: &mut ArgsWriter, event: &KernelEvent<'_>, types: &KernelTypes) -> (String, bool) {
    let event_type = types.get(event.number);
    let name = event_type.map(|event_type| &*event_type.name).filter(|name| !name.is_empty());
    let name = name.map_or_else(|| format!("ftrace_event {}", event.number.get()), str::to_owned);
    for (written, field) in Fields::new(event.bytes).enumerate() {
        if written >= ARGS_MAX {
            return (name, false);
        }
        let kernel_field =
            event_type.and_then(|event_type| event_type.fields.iter().find(|one| one.number == field.number));
        let key =
            kernel_field.map_or_else(|| field.number.get().to_string().into(), |field| Cow::Borrowed(&*field.name));
        match field.value {
            ProtoValue::Bytes(text) => args.text(&key, text),
            value if kernel_field.is_some_and(|field| field.is_signed) => args.signed(&key, value.signed()),
            value => args.number(&key, value.number()),
        }
    }
    (name, true)
}

/// Writes an event that names itself and its fields. Returns as [`write_typed`] does.
fn write_generic(args: &mut ArgsWriter, bytes: &[u8]) -> (String, bool) {
    let name = bytes.content(generic_event::EVENT_NAME).unwrap_or(&b"generic"[..]);
    let name = String::from_utf8_lossy(name).into_owned();
    for (written, field) in bytes.repeated(generic_event::FIELD).enumerate() {
        if written >= ARGS_MAX {
            return (name, false);
        }
        let key = field.content(generic_field::NAME).unwrap_or(&b"?"[..]);
        let key = String::from_utf8_lossy(key);
        if let Some(text) = field.value(generic_field::STR_VALUE) {
            args.text(&key, text.bytes());
        } else if let Some(value) = field.value(generic_field::INT_VALUE) {
            args.signed(&key, value.signed());
        } else if let Some(value) = field.value(generic_field::UINT_VALUE) {
            args.number(&key, value.number());
        }
    }
    (name, true)
}
