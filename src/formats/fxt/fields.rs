//! Bit fields and constants of the Fuchsia trace format, named as in its specification. A test compares them with a
//! table from the specification.

/// A range of bits in a word, both ends included, as in the specification.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct BitField {
    first: u32,
    last: u32,
}

impl BitField {
    const fn new(first: u32, last: u32) -> Self {
        assert!(first <= last && last < 64, "bits of a 64-bit word");
        Self { first, last }
    }

    /// Reads the field from a word.
    pub(super) const fn get(self, word: u64) -> u64 {
        (word << (63 - self.last)) >> (63 - self.last + self.first)
    }
}

/// Declares a module of constants per header (`bits`, of [`BitField`]) and per enumeration (`values`, of `u64`). For
/// tests, `ALL` lists them: module, constant, and its value, or its first and last bit.
macro_rules! fxt_fields {
    ($($sort:ident $module:ident { $($name:ident = $first:literal $(..= $last:literal)?,)* })*) => {
        $(pub(super) mod $module {
            $(fxt_fields!(@$sort $name $first $($last)?);)*
        })*

        #[cfg(test)]
        const ALL: &[(&str, &str, &str)] =
            &[$($((stringify!($module), stringify!($name), concat!($first $(, "..=", $last)?)),)*)*];
    };
    (@bits $name:ident $first:literal $last:literal) => {
        pub(in crate::formats::fxt) const $name: super::BitField = super::BitField::new($first, $last);
    };
    (@values $name:ident $number:literal) => {
        pub(in crate::formats::fxt) const $name: u64 = $number;
    };
}

fxt_fields! {
    bits record {
        RECORD_TYPE = 0..=3,
        RECORD_SIZE = 4..=15,
    }
    values record_type {
        METADATA = 0,
        INITIALIZATION = 1,
        STRING = 2,
        THREAD = 3,
        EVENT = 4,
        KERNEL_OBJECT = 7,
        SCHEDULING = 8,
        LOG = 9,
        PROFILER = 10,
        LARGE = 15,
    }
    bits large_record {
        RECORD_SIZE = 4..=35,
    }
    bits metadata {
        METADATA_TYPE = 16..=19,
        PROVIDER_ID = 20..=51,
    }
    values metadata_type {
        PROVIDER_INFO = 1,
        PROVIDER_SECTION = 2,
        PROVIDER_EVENT = 3,
        TRACE_INFO = 4,
    }
    bits provider_info {
        NAME_LENGTH = 52..=59,
    }
    bits provider_event {
        EVENT_ID = 52..=55,
    }
    values provider_event_id {
        BUFFER_FILLED_UP = 0,
    }
    bits string {
        STRING_INDEX = 16..=30,
        STRING_LENGTH = 32..=46,
    }
    bits thread {
        THREAD_INDEX = 16..=23,
    }
    bits event {
        EVENT_TYPE = 16..=19,
        NUMBER_OF_ARGUMENTS = 20..=23,
        THREAD = 24..=31,
        CATEGORY = 32..=47,
        NAME = 48..=63,
    }
    values event_type {
        INSTANT = 0,
        COUNTER = 1,
        DURATION_BEGIN = 2,
        DURATION_END = 3,
        DURATION_COMPLETE = 4,
        ASYNC_BEGIN = 5,
        ASYNC_INSTANT = 6,
        ASYNC_END = 7,
        FLOW_BEGIN = 8,
        FLOW_STEP = 9,
        FLOW_END = 10,
    }
    bits kernel_object {
        KERNEL_OBJECT_TYPE = 16..=23,
        NAME = 24..=39,
        NUMBER_OF_ARGUMENTS = 40..=43,
    }
    values kernel_object_type {
        PROCESS = 1,
        THREAD = 2,
    }
    bits scheduling {
        SCHEDULING_RECORD_TYPE = 60..=63,
    }
    values scheduling_record_type {
        LEGACY_CONTEXT_SWITCH = 0,
        CONTEXT_SWITCH = 1,
        THREAD_WAKEUP = 2,
    }
    bits legacy_context_switch {
        CPU_NUMBER = 16..=23,
        OUTGOING_THREAD_STATE = 24..=27,
        OUTGOING_THREAD = 28..=35,
        INCOMING_THREAD = 36..=43,
        OUTGOING_THREAD_PRIORITY = 44..=51,
        INCOMING_THREAD_PRIORITY = 52..=59,
    }
    bits context_switch {
        ARGUMENT_COUNT = 16..=19,
        CPU_NUMBER = 20..=35,
        OUTGOING_THREAD_STATE = 36..=39,
    }
    values thread_state {
        NEW = 0,
        RUNNING = 1,
        SUSPENDED = 2,
        BLOCKED = 3,
    }
    bits log {
        MESSAGE_LENGTH = 16..=30,
        THREAD = 32..=39,
    }
    bits argument {
        ARGUMENT_TYPE = 0..=3,
        ARGUMENT_SIZE = 4..=15,
        ARGUMENT_NAME = 16..=31,
        ARGUMENT_VALUE = 32..=63,
    }
    values argument_type {
        NULL = 0,
        INT32 = 1,
        UINT32 = 2,
        INT64 = 3,
        UINT64 = 4,
        DOUBLE = 5,
        STRING = 6,
        POINTER = 7,
        KERNEL_OBJECT_ID = 8,
        BOOLEAN = 9,
    }
    bits string_argument {
        ARGUMENT_VALUE = 32..=47,
    }
    bits boolean_argument {
        ARGUMENT_VALUE = 32..=32,
    }
    bits string_ref {
        LENGTH = 0..=14,
        IS_INLINE = 15..=15,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::fxt::wire::MAGIC;

    /// Bit fields and constants of the specification: header or enumeration, name, first and last bit or the value.
    const TABLE: &str = include_str!("../../../tests/proto/fxt_fields.csv");

    #[test]
    fn bit_fields_and_numbers_are_those_of_the_specification() {
        let rows: Vec<Vec<&str>> = TABLE.lines().skip(1).map(|row| row.split(',').collect()).collect();
        for (module, name, range) in ALL {
            let (first, last) = range.split_once("..=").unwrap_or((range, range));
            let expected = [module, &*name.to_lowercase(), first, last];
            assert!(rows.iter().any(|row| *row == expected), "the table has no row {expected:?}");
        }
    }

    #[test]
    fn the_magic_record_reads_as_the_specification_says() {
        assert_eq!(record::RECORD_TYPE.get(MAGIC), record_type::METADATA);
        assert_eq!(record::RECORD_SIZE.get(MAGIC), 1);
        assert_eq!(metadata::METADATA_TYPE.get(MAGIC), metadata_type::TRACE_INFO);
        assert_eq!(BitField::new(24, 55).get(MAGIC), 0x1654_7846);
        assert_eq!(BitField::new(0, 63).get(MAGIC), MAGIC);
    }
}
