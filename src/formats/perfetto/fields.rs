//! Field numbers and enum values of the Perfetto messages that the reader and the writer use. Names are the same as in
//! the public .proto files; a test checks all numbers against a table generated from them.

use crate::formats::protobuf::numbers::proto_numbers;

proto_numbers! {
    fields trace = "perfetto.protos.Trace" {
        PACKET = 1,
    }
    fields trace_packet = "perfetto.protos.TracePacket" {
        FTRACE_EVENTS = 1,
        PROCESS_TREE = 2,
        TRUSTED_UID = 3,
        CHROME_EVENTS = 5,
        CLOCK_SNAPSHOT = 6,
        SYS_STATS = 7,
        TIMESTAMP = 8,
        PROCESS_STATS = 9,
        TRUSTED_PACKET_SEQUENCE_ID = 10,
        TRACK_EVENT = 11,
        INTERNED_DATA = 12,
        SEQUENCE_FLAGS = 13,
        TRACE_CONFIG = 33,
        FTRACE_STATS = 34,
        TRACE_STATS = 35,
        SYNCHRONIZATION_MARKER = 36,
        PROFILE_PACKET = 37,
        BATTERY = 38,
        ANDROID_LOG = 39,
        POWER_RAILS = 40,
        INCREMENTAL_STATE_CLEARED = 41,
        PREVIOUS_PACKET_DROPPED = 42,
        PROCESS_DESCRIPTOR = 43,
        THREAD_DESCRIPTOR = 44,
        SYSTEM_INFO = 45,
        TRIGGER = 46,
        COMPRESSED_PACKETS = 50,
        CHROME_METADATA = 51,
        GPU_COUNTER_EVENT = 52,
        GPU_RENDER_STAGE_EVENT = 53,
        STREAMING_PROFILE_PACKET = 54,
        HEAP_GRAPH = 56,
        GRAPHICS_FRAME_EVENT = 57,
        TIMESTAMP_CLOCK_ID = 58,
        TRACE_PACKET_DEFAULTS = 59,
        TRACK_DESCRIPTOR = 60,
        VULKAN_MEMORY_EVENT = 62,
        GPU_LOG = 63,
        VULKAN_API_EVENT = 65,
        PERF_SAMPLE = 66,
        SERVICE_EVENT = 69,
        INITIAL_DISPLAY_STATE = 70,
        GPU_MEM_TOTAL_EVENT = 71,
        EXTENSION_DESCRIPTOR = 72,
        STREAMING_ALLOCATION = 74,
        STREAMING_FREE = 75,
        FRAME_TIMELINE_EVENT = 76,
        ANDROID_ENERGY_ESTIMATION_BREAKDOWN = 77,
        UI_STATE = 78,
        TRUSTED_PID = 79,
        TRANSLATION_TABLE = 82,
        STATSD_ATOM = 84,
        ANDROID_SYSTEM_PROPERTY = 86,
        FIRST_PACKET_ON_SEQUENCE = 87,
        NETWORK_PACKET = 88,
        TRACE_UUID = 89,
        TRACK_EVENT_RANGE_OF_INTEREST = 90,
        ENTITY_STATE_RESIDENCY = 91,
        NETWORK_PACKET_BUNDLE = 92,
        ETW_EVENTS = 95,
        MACHINE_ID = 98,
        CHROME_TRIGGER = 109,
        CLONE_SNAPSHOT_TRIGGER = 113,
        KERNEL_WAKELOCK_DATA = 115,
        APP_WAKELOCK_BUNDLE = 116,
        GENERIC_KERNEL_TASK_STATE_EVENT = 117,
        GENERIC_KERNEL_CPU_FREQ_EVENT = 118,
        CPU_PER_UID_DATA = 119,
        GENERIC_KERNEL_TASK_RENAME_EVENT = 120,
        GENERIC_KERNEL_PROCESS_TREE = 122,
        TRACE_PROVENANCE = 124,
        TRACE_ATTRIBUTES = 126,
        GENERIC_GPU_FREQUENCY_EVENT = 129,
        JOURNALD_EVENT = 132,
        ZSTD_COMPRESSED_PACKETS = 133,
        STACK_SAMPLE = 135,
    }
    values sequence_flags = "perfetto.protos.TracePacket.SequenceFlags" {
        SEQ_INCREMENTAL_STATE_CLEARED = 1,
        SEQ_NEEDS_INCREMENTAL_STATE = 2,
    }
    fields trace_packet_defaults = "perfetto.protos.TracePacketDefaults" {
        TRACK_EVENT_DEFAULTS = 11,
        PERF_SAMPLE_DEFAULTS = 12,
        TIMESTAMP_CLOCK_ID = 58,
    }
    fields track_event_defaults = "perfetto.protos.TrackEventDefaults" {
        TRACK_UUID = 11,
        EXTRA_COUNTER_TRACK_UUIDS = 31,
        EXTRA_DOUBLE_COUNTER_TRACK_UUIDS = 45,
    }
    fields interned_data = "perfetto.protos.InternedData" {
        EVENT_CATEGORIES = 1,
        EVENT_NAMES = 2,
        DEBUG_ANNOTATION_NAMES = 3,
        SOURCE_LOCATIONS = 4,
        FUNCTION_NAMES = 5,
        FRAMES = 6,
        CALLSTACKS = 7,
        BUILD_IDS = 16,
        MAPPING_PATHS = 17,
        SOURCE_PATHS = 18,
        MAPPINGS = 19,
        LOG_MESSAGE_BODY = 20,
        GRAPHICS_CONTEXTS = 23,
        GPU_SPECIFICATIONS = 24,
        HISTOGRAM_NAMES = 25,
        KERNEL_SYMBOLS = 26,
        DEBUG_ANNOTATION_VALUE_TYPE_NAMES = 27,
        DEBUG_ANNOTATION_STRING_VALUES = 29,
        PACKET_CONTEXT = 30,
        APP_WAKELOCK_INFO = 42,
        CORRELATION_ID_STR = 43,
        GPU_COUNTER_DESCRIPTORS = 47,
    }
    fields interned_string = "perfetto.protos.InternedString" {
        IID = 1,
        STR = 2,
    }
    fields track_event = "perfetto.protos.TrackEvent" {
        TIMESTAMP_DELTA_US = 1,
        THREAD_TIME_DELTA_US = 2,
        CATEGORY_IIDS = 3,
        DEBUG_ANNOTATIONS = 4,
        TASK_EXECUTION = 5,
        LEGACY_EVENT = 6,
        THREAD_INSTRUCTION_COUNT_DELTA = 8,
        TYPE = 9,
        NAME_IID = 10,
        TRACK_UUID = 11,
        EXTRA_COUNTER_VALUES = 12,
        TIMESTAMP_ABSOLUTE_US = 16,
        THREAD_TIME_ABSOLUTE_US = 17,
        THREAD_INSTRUCTION_COUNT_ABSOLUTE = 20,
        LOG_MESSAGE = 21,
        CATEGORIES = 22,
        NAME = 23,
        COUNTER_VALUE = 30,
        EXTRA_COUNTER_TRACK_UUIDS = 31,
        SOURCE_LOCATION = 33,
        SOURCE_LOCATION_IID = 34,
        FLOW_IDS_OLD = 36,
        TERMINATING_FLOW_IDS_OLD = 42,
        DOUBLE_COUNTER_VALUE = 44,
        EXTRA_DOUBLE_COUNTER_TRACK_UUIDS = 45,
        EXTRA_DOUBLE_COUNTER_VALUES = 46,
        FLOW_IDS = 47,
        TERMINATING_FLOW_IDS = 48,
        CORRELATION_ID = 52,
        CORRELATION_ID_STR = 53,
        CORRELATION_ID_STR_IID = 54,
        CALLSTACK = 55,
        CALLSTACK_IID = 56,
    }
    values track_event_type = "perfetto.protos.TrackEvent.Type" {
        TYPE_SLICE_BEGIN = 1,
        TYPE_SLICE_END = 2,
        TYPE_INSTANT = 3,
        TYPE_COUNTER = 4,
        TYPE_STATE = 5,
    }
    fields inline_callstack = "perfetto.protos.TrackEvent.InlineCallstack" {
        FRAMES = 1,
    }
    fields inline_frame = "perfetto.protos.TrackEvent.InlineCallstack.Frame" {
        FUNCTION_NAME = 1,
    }
    fields legacy_event = "perfetto.protos.TrackEvent.LegacyEvent" {
        NAME_IID = 1,
        PHASE = 2,
        DURATION_US = 3,
        THREAD_DURATION_US = 4,
        UNSCOPED_ID = 6,
        ID_SCOPE = 7,
        BIND_ID = 8,
        LOCAL_ID = 10,
        GLOBAL_ID = 11,
        BIND_TO_ENCLOSING = 12,
        FLOW_DIRECTION = 13,
        INSTANT_EVENT_SCOPE = 14,
        THREAD_INSTRUCTION_DELTA = 15,
        PID_OVERRIDE = 18,
        TID_OVERRIDE = 19,
    }
    values flow_direction = "perfetto.protos.TrackEvent.LegacyEvent.FlowDirection" {
        FLOW_IN = 1,
        FLOW_OUT = 2,
        FLOW_INOUT = 3,
    }
    values instant_event_scope = "perfetto.protos.TrackEvent.LegacyEvent.InstantEventScope" {
        SCOPE_GLOBAL = 1,
        SCOPE_PROCESS = 2,
    }
    fields debug_annotation = "perfetto.protos.DebugAnnotation" {
        NAME_IID = 1,
        BOOL_VALUE = 2,
        UINT_VALUE = 3,
        INT_VALUE = 4,
        DOUBLE_VALUE = 5,
        STRING_VALUE = 6,
        POINTER_VALUE = 7,
        NESTED_VALUE = 8,
        LEGACY_JSON_VALUE = 9,
        NAME = 10,
        DICT_ENTRIES = 11,
        ARRAY_VALUES = 12,
        PROTO_TYPE_NAME_IID = 13,
        PROTO_VALUE = 14,
        PROTO_TYPE_NAME = 16,
        STRING_VALUE_IID = 17,
    }
    fields nested_value = "perfetto.protos.DebugAnnotation.NestedValue" {
        NESTED_TYPE = 1,
        DICT_KEYS = 2,
        DICT_VALUES = 3,
        ARRAY_VALUES = 4,
        INT_VALUE = 5,
        DOUBLE_VALUE = 6,
        BOOL_VALUE = 7,
        STRING_VALUE = 8,
    }
    values nested_type = "perfetto.protos.DebugAnnotation.NestedValue.NestedType" {
        DICT = 1,
        ARRAY = 2,
    }
    fields source_location = "perfetto.protos.SourceLocation" {
        IID = 1,
        FILE_NAME = 2,
        FUNCTION_NAME = 3,
        LINE_NUMBER = 4,
    }
    fields task_execution = "perfetto.protos.TaskExecution" {
        POSTED_FROM_IID = 1,
    }
    fields log_message = "perfetto.protos.LogMessage" {
        SOURCE_LOCATION_IID = 1,
        BODY_IID = 2,
    }
    fields track_descriptor = "perfetto.protos.TrackDescriptor" {
        UUID = 1,
        NAME = 2,
        PROCESS = 3,
        THREAD = 4,
        PARENT_UUID = 5,
        CHROME_PROCESS = 6,
        COUNTER = 8,
        STATIC_NAME = 10,
        CHILD_ORDERING = 11,
        SIBLING_ORDER_RANK = 12,
        ATRACE_NAME = 13,
        SIBLING_MERGE_BEHAVIOR = 15,
        SIBLING_MERGE_KEY = 16,
        SIBLING_MERGE_KEY_INT = 17,
        PROCESS_ORDERING = 19,
        THREAD_ORDERING = 20,
    }
    values child_ordering = "perfetto.protos.TrackDescriptor.ChildTracksOrdering" {
        LEXICOGRAPHIC = 1,
        EXPLICIT = 3,
    }
    values process_ordering = "perfetto.protos.TrackDescriptor.ProcessOrdering" {
        PROCESS_ORDERING_EXPLICIT = 1,
    }
    values thread_ordering = "perfetto.protos.TrackDescriptor.ThreadOrdering" {
        THREAD_ORDERING_EXPLICIT = 1,
    }
    values sibling_merge_behavior = "perfetto.protos.TrackDescriptor.SiblingMergeBehavior" {
        SIBLING_MERGE_BEHAVIOR_NONE = 2,
        SIBLING_MERGE_BEHAVIOR_BY_SIBLING_MERGE_KEY = 3,
    }
    fields counter_descriptor = "perfetto.protos.CounterDescriptor" {
        TYPE = 1,
        UNIT = 3,
        UNIT_MULTIPLIER = 4,
        IS_INCREMENTAL = 5,
        UNIT_NAME = 6,
    }
    values counter_type = "perfetto.protos.CounterDescriptor.BuiltinCounterType" {
        COUNTER_THREAD_TIME_NS = 1,
        COUNTER_THREAD_INSTRUCTION_COUNT = 2,
    }
    values counter_unit = "perfetto.protos.CounterDescriptor.Unit" {
        UNIT_TIME_NS = 1,
        UNIT_SIZE_BYTES = 3,
    }
    fields process_descriptor = "perfetto.protos.ProcessDescriptor" {
        PID = 1,
        CMDLINE = 2,
        LEGACY_SORT_INDEX = 3,
        PROCESS_NAME = 6,
        START_TIMESTAMP_NS = 7,
        PROCESS_LABELS = 8,
    }
    values chrome_process_type = "perfetto.protos.ProcessDescriptor.ChromeProcessType" {
        PROCESS_BROWSER = 1,
        PROCESS_RENDERER = 2,
        PROCESS_UTILITY = 3,
        PROCESS_ZYGOTE = 4,
        PROCESS_SANDBOX_HELPER = 5,
        PROCESS_GPU = 6,
        PROCESS_PPAPI_PLUGIN = 7,
        PROCESS_PPAPI_BROKER = 8,
    }
    fields chrome_process_descriptor = "perfetto.protos.ChromeProcessDescriptor" {
        PROCESS_TYPE = 1,
        HOST_APP_PACKAGE_NAME = 4,
    }
    fields thread_descriptor = "perfetto.protos.ThreadDescriptor" {
        PID = 1,
        TID = 2,
        LEGACY_SORT_INDEX = 3,
        THREAD_NAME = 5,
        REFERENCE_TIMESTAMP_US = 6,
        REFERENCE_THREAD_TIME_US = 7,
        REFERENCE_THREAD_INSTRUCTION_COUNT = 8,
    }
    fields process_tree = "perfetto.protos.ProcessTree" {
        PROCESSES = 1,
        THREADS = 2,
    }
    fields process_tree_process = "perfetto.protos.ProcessTree.Process" {
        PID = 1,
        CMDLINE = 3,
        UID = 5,
        PROCESS_START_FROM_BOOT = 7,
        IS_KTHREAD = 8,
    }
    fields process_tree_thread = "perfetto.protos.ProcessTree.Thread" {
        TID = 1,
        NAME = 2,
        TGID = 3,
    }
    fields translation_table = "perfetto.protos.TranslationTable" {
        SLICE_NAME = 4,
        PROCESS_TRACK_NAME = 5,
        CHROME_STUDY = 6,
    }
    fields slice_names = "perfetto.protos.SliceNameTranslationTable" {
        RAW_TO_DEOBFUSCATED_NAME = 1,
    }
    fields track_names = "perfetto.protos.ProcessTrackNameTranslationTable" {
        RAW_TO_DEOBFUSCATED_NAME = 1,
    }
    fields translation = "perfetto.protos.SliceNameTranslationTable.RawToDeobfuscatedNameEntry" {
        KEY = 1,
        VALUE = 2,
    }
    fields system_info = "perfetto.protos.SystemInfo" {
        UTSNAME = 1,
        ANDROID_BUILD_FINGERPRINT = 2,
        TRACING_SERVICE_VERSION = 4,
        ANDROID_SDK_VERSION = 5,
        PAGE_SIZE = 6,
        TIMEZONE_OFF_MINS = 7,
        ANDROID_SOC_MODEL = 9,
        ANDROID_HARDWARE_REVISION = 10,
        ANDROID_STORAGE_MODEL = 11,
        ANDROID_RAM_MODEL = 12,
        ANDROID_DEVICE_MANUFACTURER = 14,
        SYSTEM_RAM_BYTES = 16,
    }
    fields utsname = "perfetto.protos.Utsname" {
        SYSNAME = 1,
        VERSION = 2,
        RELEASE = 3,
        MACHINE = 4,
    }
    fields clock_snapshot = "perfetto.protos.ClockSnapshot" {
        CLOCKS = 1,
        PRIMARY_TRACE_CLOCK = 2,
    }
    fields clock = "perfetto.protos.ClockSnapshot.Clock" {
        CLOCK_ID = 1,
        TIMESTAMP = 2,
        IS_INCREMENTAL = 3,
        UNIT_MULTIPLIER_NS = 4,
    }
    values builtin_clock = "perfetto.protos.ClockSnapshot.Clock.BuiltinClocks" {
        REALTIME = 1,
        MONOTONIC = 3,
        MONOTONIC_RAW = 5,
        BOOTTIME = 6,
        MONOTONIC_COARSE = 4,
    }
    fields callstack = "perfetto.protos.Callstack" {
        IID = 1,
        FRAME_IDS = 2,
    }
    fields frame = "perfetto.protos.Frame" {
        IID = 1,
        FUNCTION_NAME_ID = 2,
        MAPPING_ID = 3,
        REL_PC = 4,
        SOURCE_PATH_IID = 5,
        LINE_NUMBER = 6,
    }
    fields mapping = "perfetto.protos.Mapping" {
        IID = 1,
        BUILD_ID = 2,
        PATH_STRING_IDS = 7,
    }
    fields perf_sample = "perfetto.protos.PerfSample" {
        CPU = 1,
        PID = 2,
        TID = 3,
        CALLSTACK_IID = 4,
        CPU_MODE = 5,
        TIMEBASE_COUNT = 6,
        FOLLOWER_COUNTS = 7,
        KERNEL_RECORDS_LOST = 17,
        SAMPLE_SKIPPED_REASON = 18,
    }
    fields perf_sample_defaults = "perfetto.protos.PerfSampleDefaults" {
        TIMEBASE = 1,
        FOLLOWERS = 4,
    }
    fields timebase = "perfetto.protos.PerfEvents.Timebase" {
        PERIOD = 1,
        FREQUENCY = 2,
        TRACEPOINT = 3,
        COUNTER = 4,
        NAME = 10,
    }
    fields follower_event = "perfetto.protos.FollowerEvent" {
        COUNTER = 1,
        TRACEPOINT = 2,
        NAME = 4,
    }
    fields perf_tracepoint = "perfetto.protos.PerfEvents.Tracepoint" {
        NAME = 1,
    }
    values perf_counter = "perfetto.protos.PerfEvents.Counter" {
        SW_CPU_CLOCK = 1,
        SW_PAGE_FAULTS = 2,
        SW_TASK_CLOCK = 3,
        SW_CONTEXT_SWITCHES = 4,
        SW_CPU_MIGRATIONS = 5,
        SW_PAGE_FAULTS_MIN = 6,
        SW_PAGE_FAULTS_MAJ = 7,
        SW_ALIGNMENT_FAULTS = 8,
        SW_EMULATION_FAULTS = 9,
        HW_CPU_CYCLES = 10,
        HW_INSTRUCTIONS = 11,
        HW_CACHE_REFERENCES = 12,
        HW_CACHE_MISSES = 13,
        HW_BRANCH_INSTRUCTIONS = 14,
        HW_BRANCH_MISSES = 15,
        HW_BUS_CYCLES = 16,
        HW_STALLED_CYCLES_FRONTEND = 17,
        HW_STALLED_CYCLES_BACKEND = 18,
        HW_REF_CPU_CYCLES = 19,
    }
    values cpu_mode = "perfetto.protos.Profiling.CpuMode" {
        MODE_KERNEL = 1,
        MODE_USER = 2,
    }
    fields streaming_profile_packet = "perfetto.protos.StreamingProfilePacket" {
        CALLSTACK_IID = 1,
        TIMESTAMP_DELTA_US = 2,
    }
    fields extension_descriptor = "perfetto.protos.ExtensionDescriptor" {
        EXTENSION_SET = 1,
    }
    fields file_descriptor_set = "perfetto.protos.FileDescriptorSet" {
        FILE = 1,
    }
    fields file_descriptor = "perfetto.protos.FileDescriptorProto" {
        PACKAGE = 2,
        MESSAGE_TYPE = 4,
        ENUM_TYPE = 5,
        EXTENSION = 7,
    }
    fields message_descriptor = "perfetto.protos.DescriptorProto" {
        NAME = 1,
        FIELD = 2,
        NESTED_TYPE = 3,
        ENUM_TYPE = 4,
        EXTENSION = 6,
    }
    fields enum_descriptor = "perfetto.protos.EnumDescriptorProto" {
        NAME = 1,
        VALUE = 2,
    }
    fields enum_value_descriptor = "perfetto.protos.EnumValueDescriptorProto" {
        NAME = 1,
        NUMBER = 2,
    }
    fields field_descriptor = "perfetto.protos.FieldDescriptorProto" {
        NAME = 1,
        EXTENDEE = 2,
        NUMBER = 3,
        LABEL = 4,
        TYPE = 5,
        TYPE_NAME = 6,
    }
    values field_type = "perfetto.protos.FieldDescriptorProto.Type" {
        TYPE_DOUBLE = 1,
        TYPE_FLOAT = 2,
        TYPE_INT64 = 3,
        TYPE_UINT64 = 4,
        TYPE_INT32 = 5,
        TYPE_FIXED64 = 6,
        TYPE_FIXED32 = 7,
        TYPE_BOOL = 8,
        TYPE_STRING = 9,
        TYPE_MESSAGE = 11,
        TYPE_BYTES = 12,
        TYPE_UINT32 = 13,
        TYPE_ENUM = 14,
        TYPE_SFIXED32 = 15,
        TYPE_SFIXED64 = 16,
        TYPE_SINT32 = 17,
        TYPE_SINT64 = 18,
    }
    values field_label = "perfetto.protos.FieldDescriptorProto.Label" {
        LABEL_REPEATED = 3,
    }
}
