//! Builds names of spans, tracks and counters from the fields of a kernel event.

use std::fmt::Write as _;

use super::interned::Interned;
use crate::formats::protobuf::decode::{Fields, ProtoValue};
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
    /// A kernel function by interned name, or by address.
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
    /// Interned kernel symbols of the sequence.
    pub(super) symbols: Option<&'a Interned<Box<[u8]>>>,
}

impl KernelEvent<'_> {
    /// Builds a name from its parts.
    pub(super) fn name(&self, parts: &[NamePart]) -> String {
        let mut name = String::new();
        let number = |field| last(self.bytes, field).map_or(0, ProtoValue::number);
        let text = |field| String::from_utf8_lossy(last(self.bytes, field).map_or(&b""[..], ProtoValue::bytes));
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
                NamePart::Function(field) => {
                    let function = number(field);
                    match self.symbols.and_then(|symbols| symbols.get(function)) {
                        Some(symbol) => name.write_str(&String::from_utf8_lossy(symbol)),
                        None => write!(name, "{function:#x}"),
                    }
                }
                NamePart::Cpu => write!(name, "{}", self.cpu),
            };
        }
        name
    }
}

/// Returns all numbers of a repeated field.
pub(super) fn numbers_in(bytes: &[u8], field: FieldNumber) -> impl Iterator<Item = u64> + use<'_> {
    let fields = Fields::new(bytes).filter(move |each| each.number == field);
    fields.flat_map(|each| each.value.numbers(false))
}

/// Returns the last value of a field.
pub(super) fn last(bytes: &[u8], number: FieldNumber) -> Option<ProtoValue<'_>> {
    Fields::new(bytes).filter(|field| field.number == number).last().map(|field| field.value)
}
