//! Field numbers of pprof messages, named as in the public `profile.proto`; a test compares them with a table generated
//! from it.

use crate::formats::protobuf::numbers::proto_numbers;

proto_numbers! {
    fields profile = "perftools.profiles.Profile" {
        SAMPLE_TYPE = 1,
        SAMPLE = 2,
        MAPPING = 3,
        LOCATION = 4,
        FUNCTION = 5,
        STRING_TABLE = 6,
        DROP_FRAMES = 7,
        KEEP_FRAMES = 8,
        TIME_NANOS = 9,
        DURATION_NANOS = 10,
        PERIOD_TYPE = 11,
        PERIOD = 12,
        COMMENT = 13,
        DEFAULT_SAMPLE_TYPE = 14,
        TICK_UNIT = 15,
        LABEL_SET = 16,
    }
    fields value_type = "perftools.profiles.ValueType" {
        TYPE = 1,
        UNIT = 2,
    }
    fields sample = "perftools.profiles.Sample" {
        LOCATION_ID = 1,
        VALUE = 2,
        LABEL = 3,
    }
    fields label = "perftools.profiles.Label" {
        KEY = 1,
        STR = 2,
        NUM = 3,
        NUM_UNIT = 4,
    }
    fields mapping = "perftools.profiles.Mapping" {
        ID = 1,
        MEMORY_START = 2,
        FILE_OFFSET = 4,
        FILENAME = 5,
        BUILD_ID = 6,
        HAS_FUNCTIONS = 7,
        HAS_FILENAMES = 8,
        HAS_LINE_NUMBERS = 9,
        HAS_INLINE_FRAMES = 10,
    }
    fields location = "perftools.profiles.Location" {
        ID = 1,
        MAPPING_ID = 2,
        ADDRESS = 3,
        LINE = 4,
    }
    fields line = "perftools.profiles.Line" {
        FUNCTION_ID = 1,
        LINE = 2,
    }
    fields function = "perftools.profiles.Function" {
        ID = 1,
        NAME = 2,
        SYSTEM_NAME = 3,
        FILENAME = 4,
    }
}
