//! Field numbers as a newtype, so that decoders can only match them by name.

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub(crate) struct FieldNumber(u32);

impl FieldNumber {
    /// Not a valid field number.
    pub(crate) const NONE: Self = Self(0);

    /// Creates the constant of a field in [`proto_numbers`], or converts the number in a tag.
    pub(crate) const fn new(number: u32) -> Self {
        Self(number)
    }

    pub(crate) const fn get(self) -> u32 {
        self.0
    }
}

/// Wire types: the lower three bits of a tag.
pub(super) mod wire_type {
    pub(in super::super) const MASK: u64 = 0b111;
    pub(in super::super) const VARINT: u64 = 0;
    pub(in super::super) const FIXED64: u64 = 1;
    pub(in super::super) const LENGTH_DELIMITED: u64 = 2;
    pub(in super::super) const FIXED32: u64 = 5;
}

/// Declares a module of constants for each message (`fields`, of [`FieldNumber`]) and each enum (`values`, of `u64`).
///
/// Tests iterate over `ALL`: the full name of the message or enum, the name of the constant, and its number.
macro_rules! proto_numbers {
    ($($sort:ident $module:ident = $message:literal { $($name:ident = $number:literal,)* })*) => {
        $(pub(crate) mod $module {
            $($crate::formats::protobuf::numbers::proto_numbers!(@$sort $name $number);)*
        })*

        #[cfg(test)]
        pub(crate) const ALL: &[(&str, &str, u32)] = &[$($(($message, stringify!($name), $number),)*)*];
    };
    (@fields $name:ident $number:literal) => {
        pub(crate) const $name: $crate::formats::protobuf::numbers::FieldNumber =
            $crate::formats::protobuf::numbers::FieldNumber::new($number);
    };
    (@values $name:ident $number:literal) => {
        pub(crate) const $name: u64 = $number;
    };
}

pub(crate) use proto_numbers;
