//! Decodes protobuf fields without descriptors, allocation or recursion. Rejects groups, which are obsolete. Malformed
//! bytes end the iteration, and [`Fields::is_broken`] reports it.

use std::ops::Range;

use super::numbers::{FieldNumber, wire_type};
use crate::model::Loss;

const VARINT_BYTES_MAX: usize = 10;

/// The numbers that a field can have.
const FIELD_NUMBERS: Range<u64> = 1..1 << 29;

/// Iterator over the fields of a message.
#[derive(Debug, Clone)]
pub(crate) struct Fields<'a> {
    bytes: &'a [u8],
    broken: bool,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct ProtoField<'a> {
    pub(crate) number: FieldNumber,
    pub(crate) value: ProtoValue<'a>,
}

/// A value as encoded on the wire.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum ProtoValue<'a> {
    Varint(u64),
    Fixed64(u64),
    Bytes(&'a [u8]),
    Fixed32(u32),
}

impl<'a> Fields<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, broken: false }
    }

    /// Returns the bytes after the fields read so far.
    pub(crate) fn rest(&self) -> &'a [u8] {
        self.bytes
    }

    /// Returns whether the iteration ended before the end of the message.
    pub(crate) fn is_broken(&self) -> bool {
        self.broken
    }

    /// Returns the next tag, which combines field number and wire type; `None` at the end. For the hottest loops: the
    /// caller then reads the value with [`Self::varint`], [`Self::bytes`] or [`Self::value`].
    #[expect(clippy::inline_always, reason = "the innermost loop of a reader: a call costs as much as a field")]
    #[inline(always)]
    pub(crate) fn tag(&mut self) -> Option<u64> {
        if self.bytes.is_empty() { None } else { self.whole(take_varint) }
    }

    /// Returns the next tag and value if both are single bytes, like most varints; otherwise reads nothing.
    #[expect(clippy::inline_always, reason = "as above")]
    #[inline(always)]
    pub(crate) fn small(&mut self) -> Option<(u8, u8)> {
        let (&[tag, value], rest) = self.bytes.split_first_chunk()?;
        let pair = u16::from_le_bytes([tag, value]);
        // Neither byte has a continuation bit, and the wire type is varint. Subtracting 8 also checks that the field
        // number is not 0.
        if (pair | pair.wrapping_sub(8)) & 0x8087 != 0 {
            return None;
        }
        self.bytes = rest;
        Some((tag, value))
    }

    /// Returns the value after a [`varint_tag`]; 0 if it is truncated.
    #[expect(clippy::inline_always, reason = "as above")]
    #[inline(always)]
    pub(crate) fn varint(&mut self) -> u64 {
        self.whole(take_varint).unwrap_or(0)
    }

    /// Returns the value after a [`bytes_tag`]; `None` if it is truncated.
    #[expect(clippy::inline_always, reason = "as above")]
    #[inline(always)]
    pub(crate) fn bytes(&mut self) -> Option<&'a [u8]> {
        self.whole(|bytes| {
            let len = usize::try_from(take_varint(bytes)?).ok()?;
            let (value, rest) = bytes.split_at_checked(len)?;
            *bytes = rest;
            Some(value)
        })
    }

    /// Returns the field after any tag.
    #[expect(clippy::inline_always, reason = "as above")]
    #[inline(always)]
    pub(crate) fn value(&mut self, tag: u64) -> Option<ProtoField<'a>> {
        // Field numbers have 29 bits.
        let number = u32::try_from(tag >> 3).ok().filter(|&number| (1..1 << 29).contains(&number));
        let value = match tag & wire_type::MASK {
            wire_type::VARINT => self.whole(take_varint).map(ProtoValue::Varint),
            wire_type::FIXED64 => self.whole(take_chunk).map(|chunk| ProtoValue::Fixed64(u64::from_le_bytes(*chunk))),
            wire_type::LENGTH_DELIMITED => self.bytes().map(ProtoValue::Bytes),
            wire_type::FIXED32 => self.whole(take_chunk).map(|chunk| ProtoValue::Fixed32(u32::from_le_bytes(*chunk))),
            _ => None,
        };
        self.whole(|_| Some(ProtoField { number: FieldNumber::new(number?), value: value? }))
    }

    /// Reads with `take`; a truncated value ends the iteration.
    #[expect(clippy::inline_always, reason = "as above")]
    #[inline(always)]
    fn whole<T>(&mut self, take: impl FnOnce(&mut &'a [u8]) -> Option<T>) -> Option<T> {
        let taken = take(&mut self.bytes);
        if taken.is_none() {
            self.broken = true;
            self.bytes = &[];
        }
        taken
    }
}

/// The start of a field in a stream of fields, which may be longer than the bytes at hand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FieldHead {
    /// Number and wire type, as returned by [`bytes_tag`].
    pub(crate) tag: u64,
    /// Bytes before the content: the tag, and the length of a text or message.
    pub(crate) head_bytes: u64,
    pub(crate) content_bytes: u64,
}

impl FieldHead {
    /// Maximum bytes that are decoded: two varints.
    pub(crate) const BYTES_MAX: usize = 2 * VARINT_BYTES_MAX;

    /// Decodes the head at the start of `bytes`. Fails with [`Loss::Truncated`] if it continues after their end, and
    /// with [`Loss::BadRecord`] if it is not a field.
    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, Loss> {
        let mut rest = bytes;
        let tag = take_varint(&mut rest).ok_or_else(|| no_varint(rest))?;
        if !FIELD_NUMBERS.contains(&(tag >> 3)) {
            return Err(Loss::BadRecord);
        }
        let before = rest.len();
        let content_bytes = match tag & wire_type::MASK {
            wire_type::VARINT => {
                let mut value = rest;
                take_varint(&mut value).ok_or_else(|| no_varint(value))?;
                (before - value.len()) as u64
            }
            wire_type::FIXED64 => size_of::<u64>() as u64,
            wire_type::FIXED32 => size_of::<u32>() as u64,
            wire_type::LENGTH_DELIMITED => take_varint(&mut rest).ok_or_else(|| no_varint(rest))?,
            _ => return Err(Loss::BadRecord),
        };
        Ok(Self { tag, head_bytes: (bytes.len() - rest.len()) as u64, content_bytes })
    }

    pub(crate) fn number(self) -> FieldNumber {
        FieldNumber::new((self.tag >> 3) as u32)
    }
}

/// Returns why bytes do not start with a varint.
fn no_varint(bytes: &[u8]) -> Loss {
    if bytes.len() < VARINT_BYTES_MAX { Loss::Truncated } else { Loss::BadRecord }
}

fn take_chunk<'a, const LEN: usize>(bytes: &mut &'a [u8]) -> Option<&'a [u8; LEN]> {
    let (chunk, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(chunk)
}

/// Returns the field of a single-byte tag and value, as returned by [`Fields::small`].
#[inline]
pub(crate) fn small_field<'a>(tag: u64, value: u64) -> ProtoField<'a> {
    ProtoField { number: FieldNumber::new((tag >> 3) as u32), value: ProtoValue::Varint(value) }
}

/// Returns the tag of a varint field.
pub(crate) const fn varint_tag(number: FieldNumber) -> u64 {
    (number.get() as u64) << 3
}

/// Returns the tag of a text or message field.
pub(crate) const fn bytes_tag(number: FieldNumber) -> u64 {
    (number.get() as u64) << 3 | wire_type::LENGTH_DELIMITED
}

impl<'a> Iterator for Fields<'a> {
    type Item = ProtoField<'a>;

    #[expect(clippy::inline_always, reason = "as above")]
    #[inline(always)]
    fn next(&mut self) -> Option<ProtoField<'a>> {
        let tag = self.tag()?;
        self.value(tag)
    }
}

impl<'a> ProtoValue<'a> {
    /// Returns a number of any width; 0 for bytes.
    pub(crate) fn number(self) -> u64 {
        match self {
            Self::Varint(number) | Self::Fixed64(number) => number,
            Self::Fixed32(number) => u64::from(number),
            Self::Bytes(_) => 0,
        }
    }

    /// Returns the value as a field number, for descriptors; `None` if no field can have it.
    pub(crate) fn field_number(self) -> Option<FieldNumber> {
        FIELD_NUMBERS.contains(&self.number()).then(|| FieldNumber::new(self.number() as u32))
    }

    /// Returns the number as signed: negative numbers are encoded with 64 bits.
    pub(crate) fn signed(self) -> i64 {
        self.number() as i64
    }

    /// Returns a number of a `sint` field, whose lowest bit is the sign.
    pub(crate) fn zigzag(self) -> i64 {
        let number = self.number();
        (number >> 1).cast_signed() ^ -(number & 1).cast_signed()
    }

    /// Returns a `double` or a `float`; other numbers are converted.
    pub(crate) fn double(self) -> f64 {
        match self {
            Self::Fixed64(bits) => f64::from_bits(bits),
            Self::Fixed32(bits) => f64::from(f32::from_bits(bits)),
            Self::Varint(number) => number as f64,
            Self::Bytes(_) => 0.0,
        }
    }

    /// Returns a text or a message; empty for a number.
    pub(crate) fn bytes(self) -> &'a [u8] {
        match self {
            Self::Bytes(bytes) => bytes,
            _ => &[],
        }
    }

    /// Returns the varints of a repeated field, packed or not.
    pub(crate) fn varints(self) -> ProtoNumbers<'a> {
        self.numbers(false)
    }

    /// Returns the numbers of a repeated field, packed or not. `wide` selects 8 bytes for each packed number, not
    /// varints.
    pub(crate) fn numbers(self, wide: bool) -> ProtoNumbers<'a> {
        match self {
            Self::Bytes(packed) => ProtoNumbers { alone: None, packed, wide },
            number => ProtoNumbers { alone: Some(number.number()), packed: &[], wide },
        }
    }
}

/// Iterator over the numbers of a field, returned by [`ProtoValue::numbers`].
#[derive(Debug, Clone)]
pub(crate) struct ProtoNumbers<'a> {
    alone: Option<u64>,
    packed: &'a [u8],
    wide: bool,
}

impl Iterator for ProtoNumbers<'_> {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        if let Some(number) = self.alone.take() {
            return Some(number);
        }
        if !self.wide {
            return take_varint(&mut self.packed);
        }
        let (chunk, rest) = self.packed.split_first_chunk()?;
        self.packed = rest;
        Some(u64::from_le_bytes(*chunk))
    }
}

/// Reads a varint of at most ten bytes from the front. Inlines only the common lengths of one and two bytes, since
/// every call site gets a copy.
#[inline]
pub(crate) fn take_varint(bytes: &mut &[u8]) -> Option<u64> {
    match **bytes {
        [first @ ..0x80, ref rest @ ..] => {
            *bytes = rest;
            Some(u64::from(first))
        }
        [first, second @ ..0x80, ref rest @ ..] => {
            *bytes = rest;
            Some(u64::from(first & 0x7f) | u64::from(second) << 7)
        }
        _ => {
            let (number, len) = long_varint(bytes);
            *bytes = &bytes[len..];
            (len > 0).then_some(number)
        }
    }
}

/// Decodes the varint at the start of `bytes`, and returns it with its length; both are 0 if it is truncated. Takes and
/// returns values, so that the caller's position stays in registers.
#[inline(never)]
fn long_varint(bytes: &[u8]) -> (u64, usize) {
    if let Some(word) = bytes.first_chunk()
        && let Some(whole) = varint_of_word(u64::from_le_bytes(*word))
    {
        return whole;
    }
    let mut number = 0;
    for (position, &byte) in bytes.iter().take(VARINT_BYTES_MAX).enumerate() {
        // Bits beyond the 64th are dropped, as in every implementation.
        number |= u64::from(byte & 0x7f) << (7 * position);
        if byte < 0x80 {
            return (number, position + 1);
        }
    }
    (0, 0)
}

/// Decodes the varint at the start of eight bytes, and returns it with its length; `None` if it is longer. Handles all
/// bytes at once, since timestamps have seven.
#[inline]
fn varint_of_word(word: u64) -> Option<(u64, usize)> {
    let last_bytes = !word & 0x8080_8080_8080_8080;
    if last_bytes == 0 {
        return None;
    }
    // All bits up to the cleared continuation bit of the last byte.
    let varint_bits = last_bytes ^ (last_bytes - 1);
    let sevens = word & varint_bits & 0x7f7f_7f7f_7f7f_7f7f;
    let pairs = sevens & 0x007f_007f_007f_007f | (sevens & 0x7f00_7f00_7f00_7f00) >> 1;
    let fours = pairs & 0x0000_3fff_0000_3fff | (pairs & 0x3fff_0000_3fff_0000) >> 2;
    let eight = fours & 0x0fff_ffff | (fours & 0x0fff_ffff_0000_0000) >> 4;
    Some((eight, last_bytes.trailing_zeros() as usize / 8 + 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_length_beyond_the_end_ends_the_iteration_as_broken() {
        let mut fields = Fields::new(&[0x08, 0x96, 0x01, 0x12, 5, b'a']);
        assert_eq!(fields.next(), Some(ProtoField { number: FieldNumber::new(1), value: ProtoValue::Varint(150) }));
        assert_eq!(fields.next(), None);
        assert!(fields.is_broken());
        assert_eq!(fields.next(), None);
    }

    #[test]
    fn the_head_of_a_field_is_decoded_for_every_wire_type() {
        let head = |tag, head_bytes, content_bytes| Ok(FieldHead { tag, head_bytes, content_bytes });
        for (bytes, expected) in [
            (&[0x08, 0x96, 0x01, 0xff][..], head(0x08, 1, 2)),
            (&[0x09], head(0x09, 1, 8)),
            (&[0x0a, 0x81, 0x01], head(0x0a, 3, 129)),
            (&[0xfd, 0x01], head(0xfd, 2, 4)),
            (&[], Err(Loss::Truncated)),
            (&[0x80], Err(Loss::Truncated)),
            (&[0x08], Err(Loss::Truncated)),
            (&[0x0a, 0x80], Err(Loss::Truncated)),
            (&[0x02, 0x00], Err(Loss::BadRecord)),
            (&[0x0b, 0x00], Err(Loss::BadRecord)),
            (&[0x80; FieldHead::BYTES_MAX], Err(Loss::BadRecord)),
            (&[0xff, 0xff, 0xff, 0xff, 0xff, 0x01], Err(Loss::BadRecord)),
        ] {
            assert_eq!(FieldHead::decode(bytes), expected, "{bytes:x?}");
        }
    }

    #[test]
    fn the_longest_varint_ends_after_ten_bytes() {
        assert_eq!(take_varint(&mut &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1][..]), Some(u64::MAX));
        assert_eq!(take_varint(&mut &[0x80; 20][..]), None);
        assert_eq!(take_varint(&mut &[0x80; 3][..]), None);
    }

    #[test]
    fn small_returns_two_bytes_only_if_they_are_a_whole_varint_field() {
        for pair in 0..=u16::MAX {
            let bytes = [&pair.to_le_bytes()[..], &[7]].concat();
            let (mut walk, mut small) = (Fields::new(&bytes), Fields::new(&bytes));
            let expected = match walk.next() {
                Some(ProtoField { number, value: ProtoValue::Varint(value) }) if walk.rest() == [7] => {
                    Some(((number.get() << 3) as u8, value as u8))
                }
                _ => None,
            };
            assert_eq!(small.small(), expected, "{bytes:x?}");
            assert_eq!(small.rest().len(), if expected.is_some() { 1 } else { 3 });
            assert_eq!(Fields::new(&bytes[..1]).small(), None);
        }
    }

    proptest! {
        #[test]
        fn a_varint_is_the_same_at_the_end_of_the_bytes_and_before_others(number: u64, shift in 0u32..64, more: Vec<u8>) {
            let number = number >> shift;
            let mut bytes = Vec::new();
            super::super::encode::push_varint(&mut bytes, number);
            prop_assert_eq!(take_varint(&mut &bytes[..]), Some(number));
            bytes.extend(&more);
            let mut rest = &bytes[..];
            prop_assert_eq!(take_varint(&mut rest), Some(number));
            prop_assert_eq!(rest, &more[..]);
        }

        #[test]
        fn iteration_over_any_bytes_ends(bytes: Vec<u8>) {
            prop_assert!(Fields::new(&bytes).count() <= bytes.len());
            prop_assert!(ProtoValue::Bytes(&bytes).varints().count() <= bytes.len());
            prop_assert!(ProtoValue::Bytes(&bytes).numbers(true).count() <= bytes.len());
        }
    }

    #[test]
    fn a_number_that_no_field_can_have_is_not_that_of_another() {
        let number = |number: u64| ProtoValue::Varint(number).field_number().map(FieldNumber::get);
        let numbers = [1, (1 << 29) - 1, 0, 1 << 29, (1 << 32) + 1, u64::MAX].map(number);
        assert_eq!(numbers, [Some(1), Some((1 << 29) - 1), None, None, None, None]);
    }
}
