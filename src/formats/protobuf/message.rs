//! Reads single fields of an encoded message. Each call passes through the whole message, so hot loops use [`Fields`].

use std::borrow::Cow;

use super::decode::{Fields, ProtoValue};
use super::numbers::FieldNumber;

/// An encoded message. The last value of a field counts.
pub(crate) trait ProtoMessage {
    /// Returns the value of a field.
    fn value(&self, field: FieldNumber) -> Option<ProtoValue<'_>>;

    /// Returns the messages or texts of a repeated field.
    fn repeated(&self, field: FieldNumber) -> impl Iterator<Item = &[u8]>;

    /// Returns the numbers of a repeated field, packed or not.
    fn numbers(&self, field: FieldNumber) -> impl Iterator<Item = u64>;

    /// Returns a number; 0 without a value.
    fn number(&self, field: FieldNumber) -> u64 {
        self.value(field).map_or(0, ProtoValue::number)
    }

    /// Returns a signed number; 0 without a value.
    fn signed(&self, field: FieldNumber) -> i64 {
        self.value(field).map_or(0, ProtoValue::signed)
    }

    /// Returns a message or a text.
    fn content(&self, field: FieldNumber) -> Option<&[u8]> {
        self.value(field).map(ProtoValue::bytes)
    }

    /// Returns a text; empty without a value.
    fn text(&self, field: FieldNumber) -> Cow<'_, str> {
        String::from_utf8_lossy(self.content(field).unwrap_or_default())
    }
}

impl ProtoMessage for [u8] {
    fn value(&self, field: FieldNumber) -> Option<ProtoValue<'_>> {
        Fields::new(self).filter(|each| each.number == field).last().map(|each| each.value)
    }

    fn repeated(&self, field: FieldNumber) -> impl Iterator<Item = &[u8]> {
        Fields::new(self).filter(move |each| each.number == field).map(|each| each.value.bytes())
    }

    fn numbers(&self, field: FieldNumber) -> impl Iterator<Item = u64> {
        Fields::new(self).filter(move |each| each.number == field).flat_map(|each| each.value.varints())
    }
}
