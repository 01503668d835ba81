//! Encodes protobuf fields; the counterpart of `decode`.

use super::numbers::{FieldNumber, wire_type};

pub(crate) fn push_varint(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

/// Appends a tag and a varint.
pub(crate) fn push_number(bytes: &mut Vec<u8>, field: FieldNumber, value: u64) {
    push_varint(bytes, u64::from(field.get()) << 3 | wire_type::VARINT);
    push_varint(bytes, value);
}

/// Appends a tag and eight bytes, little endian.
pub(crate) fn push_fixed64(bytes: &mut Vec<u8>, field: FieldNumber, value: u64) {
    push_varint(bytes, u64::from(field.get()) << 3 | wire_type::FIXED64);
    bytes.extend_from_slice(&value.to_le_bytes());
}

/// Appends a text field, or a message that is already encoded.
pub(crate) fn push_bytes(bytes: &mut Vec<u8>, field: FieldNumber, value: &[u8]) {
    push_header(bytes, field, value.len());
    bytes.extend_from_slice(value);
}

/// Appends the header of a text field or a message of this length.
pub(crate) fn push_header(bytes: &mut Vec<u8>, field: FieldNumber, len: usize) {
    push_varint(bytes, u64::from(field.get()) << 3 | wire_type::LENGTH_DELIMITED);
    push_varint(bytes, len as u64);
}

/// Appends a message field that `fill` encodes. Reserves one byte for the length: most messages are shorter than 128
/// bytes, so nothing moves.
pub(crate) fn push_message(bytes: &mut Vec<u8>, field: FieldNumber, fill: impl FnOnce(&mut Vec<u8>)) {
    push_varint(bytes, u64::from(field.get()) << 3 | wire_type::LENGTH_DELIMITED);
    let at = bytes.len();
    bytes.push(0);
    fill(bytes);
    let len = bytes.len() - at - 1;
    if let Ok(short @ 0..0x80) = u8::try_from(len) {
        bytes[at] = short;
        return;
    }
    // The longer length is appended, then moved before the message.
    let end = bytes.len();
    push_varint(bytes, len as u64);
    let length_bytes = bytes.len() - end;
    bytes[at..].rotate_right(length_bytes);
    bytes.remove(at + length_bytes);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::protobuf::decode::{Fields, ProtoField, ProtoValue};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn fields_come_back(numbers in proptest::collection::vec((1u32..1000, any::<u64>()), 0..9), text in ".{0,300}") {
            let mut bytes = Vec::new();
            push_message(&mut bytes, FieldNumber::new(7), |bytes| {
                numbers.iter().for_each(|&(field, value)| push_number(bytes, FieldNumber::new(field), value));
                push_bytes(bytes, FieldNumber::new(8), text.as_bytes());
                push_fixed64(bytes, FieldNumber::new(9), 5);
            });
            let outer: Vec<ProtoField<'_>> = Fields::new(&bytes).collect();
            prop_assert_eq!(outer.len(), 1);
            let mut inner = Fields::new(outer[0].value.bytes());
            for &(number, value) in &numbers {
                prop_assert_eq!(inner.next(), Some(ProtoField { number: FieldNumber::new(number), value: ProtoValue::Varint(value) }));
            }
            prop_assert_eq!(inner.next(), Some(ProtoField { number: FieldNumber::new(8), value: ProtoValue::Bytes(text.as_bytes()) }));
            prop_assert_eq!(inner.next(), Some(ProtoField { number: FieldNumber::new(9), value: ProtoValue::Fixed64(5) }));
            prop_assert_eq!(inner.next(), None);
            prop_assert!(!inner.is_broken());
        }
    }
}
