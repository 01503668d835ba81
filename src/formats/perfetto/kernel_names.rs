//! Builds names of spans, tracks and counters from the fields of a kernel event.

use std::fmt::Write as _;

use super::device_fields::workqueue_event;
use super::kernel_fields::{ftrace_event, funcgraph_entry_event, funcgraph_exit_event, sched_blocked_reason_event};
use crate::formats::protobuf::message::ProtoMessage as _;
use crate::formats::protobuf::numbers::FieldNumber;

#[derive(Debug, Clone, Copy)]
pub(super) enum NamePart {
    Text(&'static str),
    /// A numeric field; 0 if it is missing.
    Number(FieldNumber),
    /// A numeric field with at least three digits.
    ThreeDigits(FieldNumber),
    /// A hexadecimal number between two texts; nothing if the number is 0.
    HexUnlessZero(&'static str, FieldNumber, &'static str),
    /// A device number, written as `major:minor`.
    Device(FieldNumber),
    TextField(FieldNumber),
    /// The table entry of a number, or the number itself.
    Known(FieldNumber, &'static [(u64, &'static str)]),
    /// A kernel function by interned name, or by address. [`function_field`] returns the same field.
    Function(FieldNumber),
    /// The CPU of the event.
    Cpu,
}

/// A kernel event with its CPU and thread.
#[derive(Debug, Clone, Copy)]
pub(super) struct KernelEvent<'a> {
    pub(super) number: FieldNumber,
    pub(super) bytes: &'a [u8],
    pub(super) cpu: u64,
    pub(super) tid: i64,
    /// Name of the function in the field of [`function_field`]; empty if it is unknown.
    pub(super) function: &'a [u8],
}

/// Returns the field with the kernel function of an event.
pub(super) fn function_field(event: FieldNumber) -> Option<FieldNumber> {
    match event {
        ftrace_event::SCHED_BLOCKED_REASON => Some(sched_blocked_reason_event::CALLER),
        ftrace_event::WORKQUEUE_EXECUTE_START => Some(workqueue_event::FUNCTION),
        ftrace_event::FUNCGRAPH_ENTRY => Some(funcgraph_entry_event::FUNC),
        ftrace_event::FUNCGRAPH_EXIT => Some(funcgraph_exit_event::FUNC),
        _ => None,
    }
}

impl KernelEvent<'_> {
    /// Builds a name from its parts.
    pub(super) fn name(&self, parts: &[NamePart]) -> String {
        let mut name = String::new();
        let number = |field| self.bytes.number(field);
        let text = |field| self.bytes.text(field);
        for &part in parts {
            // Writing to a string cannot fail.
            let _ = match part {
                NamePart::Text(text) => name.write_str(text),
                NamePart::Number(field) => write!(name, "{}", number(field).cast_signed()),
                NamePart::ThreeDigits(field) => write!(name, "{:03}", number(field)),
                NamePart::HexUnlessZero(before, field, after) => match number(field) {
                    0 => Ok(()),
                    number => write!(name, "{before}{number:x}{after}"),
                },
                // File system events use the old encoding with 8 minor bits.
                NamePart::Device(field) => write!(name, "{}:{}", number(field) >> 8, number(field) & 0xff),
                NamePart::TextField(field) => name.write_str(&text(field)),
                NamePart::Known(field, names) => {
                    let number = number(field);
                    match names.iter().find(|&&(value, _)| value == number) {
                        Some((_, value_name)) => name.write_str(value_name),
                        None => write!(name, "{number}"),
                    }
                }
                NamePart::Function(field) if self.function.is_empty() => write!(name, "{:#x}", number(field)),
                NamePart::Function(_) => name.write_str(&String::from_utf8_lossy(self.function)),
                NamePart::Cpu => write!(name, "{}", self.cpu),
            };
        }
        name
    }
}
