//! Names that are made of the fields of a kernel event, by parts: those of spans, of tracks and of counters.

use std::fmt::Write as _;

use super::interned::Interned;
use crate::formats::protobuf::decode::{Fields, ProtoValue};
use crate::formats::protobuf::numbers::FieldNumber;

/// A part of a name.
#[derive(Debug, Clone, Copy)]
pub(super) enum NamePart {
    Text(&'static str),
    /// A field that is a number, 0 without the field.
    Number(FieldNumber),
    /// The same with at least three digits.
    ThreeDigits(FieldNumber),
    /// A number in hexadecimal digits between two texts; nothing where the number is 0.
    HexUnlessZero(&'static str, FieldNumber, &'static str),
    /// A device number, written as `major:minor`.
    Device(FieldNumber),
    /// A field that is text.
    Field(FieldNumber),
    /// The name that a table gives a number, or the number.
    Known(FieldNumber, &'static [(u64, &'static str)]),
    /// A function of the kernel, interned or by its address.
    Function(FieldNumber),
    /// The CPU of the event.
    Cpu,
}

/// An event and where it happens.
#[derive(Debug, Clone, Copy)]
pub(super) struct KernelEvent<'a> {
    pub(super) number: FieldNumber,
    pub(super) bytes: &'a [u8],
    pub(super) cpu: u64,
    pub(super) tid: i64,
    /// The functions of the kernel that the writer interned.
    pub(super) symbols: Option<&'a Interned<Box<[u8]>>>,
}

impl KernelEvent<'_> {
    /// A name of these parts.
    pub(super) fn name(&self, parts: &[NamePart]) -> String {
        let mut name = String::new();
        let number = |field| last(self.bytes, field).map_or(0, ProtoValue::number);
        let text = |field| String::from_utf8_lossy(last(self.bytes, field).map_or(&b""[..], ProtoValue::bytes));
        for &part in parts {
            // A string takes all that is written.
            let _ = match part {
                NamePart::Text(text) => name.write_str(text),
                NamePart::Number(field) => write!(name, "{}", number(field).cast_signed()),
                NamePart::ThreeDigits(field) => write!(name, "{:03}", number(field)),
                NamePart::HexUnlessZero(before, field, after) => match number(field) {
                    0 => Ok(()),
                    number => write!(name, "{before}{number:x}{after}"),
                },
                // The events of file systems have the old encoding, with 8 bits of minor.
                NamePart::Device(field) => write!(name, "{}:{}", number(field) >> 8, number(field) & 0xff),
                NamePart::Field(field) => name.write_str(&text(field)),
                NamePart::Known(field, names) => {
                    let number = number(field);
                    match names.iter().find(|&&(known, _)| known == number) {
                        Some((_, known)) => name.write_str(known),
                        None => write!(name, "{number}"),
                    }
                }
                NamePart::Function(field) => {
                    let function = number(field);
                    match self.symbols.and_then(|symbols| symbols.get(function)) {
                        Some(known) => name.write_str(&String::from_utf8_lossy(known)),
                        None => write!(name, "{function:#x}"),
                    }
                }
                NamePart::Cpu => write!(name, "{}", self.cpu),
            };
        }
        name
    }
}

/// The last value of a field.
pub(super) fn last(bytes: &[u8], field: FieldNumber) -> Option<ProtoValue<'_>> {
    Fields::new(bytes).filter(|found| found.number == field).last().map(|found| found.value)
}
