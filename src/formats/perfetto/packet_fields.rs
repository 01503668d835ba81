//! Field numbers and enum values of packets of devices, Android and Windows, as in [`super::fields`].

use crate::formats::protobuf::numbers::proto_numbers;

proto_numbers! {
    fields frame_timeline_event = "perfetto.protos.FrameTimelineEvent" {
        EXPECTED_DISPLAY_FRAME_START = 1,
        ACTUAL_DISPLAY_FRAME_START = 2,
        EXPECTED_SURFACE_FRAME_START = 3,
        ACTUAL_SURFACE_FRAME_START = 4,
        FRAME_END = 5,
    }
    fields expected_display_frame = "perfetto.protos.FrameTimelineEvent.ExpectedDisplayFrameStart" {
        COOKIE = 1,
        TOKEN = 2,
        PID = 3,
    }
    fields actual_display_frame = "perfetto.protos.FrameTimelineEvent.ActualDisplayFrameStart" {
        TOKEN = 2,
        PID = 3,
        PRESENT_TYPE = 4,
        ON_TIME_FINISH = 5,
        GPU_COMPOSITION = 6,
        JANK_TYPE = 7,
        PREDICTION_TYPE = 8,
        JANK_SEVERITY_TYPE = 9,
    }
    fields expected_surface_frame = "perfetto.protos.FrameTimelineEvent.ExpectedSurfaceFrameStart" {
        TOKEN = 2,
        DISPLAY_FRAME_TOKEN = 3,
        PID = 4,
        LAYER_NAME = 5,
    }
    fields actual_surface_frame = "perfetto.protos.FrameTimelineEvent.ActualSurfaceFrameStart" {
        TOKEN = 2,
        DISPLAY_FRAME_TOKEN = 3,
        PID = 4,
        LAYER_NAME = 5,
        PRESENT_TYPE = 6,
        ON_TIME_FINISH = 7,
        GPU_COMPOSITION = 8,
        JANK_TYPE = 9,
        PREDICTION_TYPE = 10,
        IS_BUFFER = 11,
        JANK_SEVERITY_TYPE = 12,
    }
    fields frame_end = "perfetto.protos.FrameTimelineEvent.FrameEnd" {
        COOKIE = 1,
    }
    fields frame_event = "perfetto.protos.GraphicsFrameEvent" {
        BUFFER_EVENT = 1,
    }
    fields buffer_event = "perfetto.protos.GraphicsFrameEvent.BufferEvent" {
        FRAME_NUMBER = 1,
        TYPE = 2,
        LAYER_NAME = 3,
        DURATION_NS = 4,
        BUFFER_ID = 5,
    }
    fields gpu_counter_event = "perfetto.protos.GpuCounterEvent" {
        COUNTER_DESCRIPTOR = 1,
        COUNTERS = 2,
        GPU_ID = 3,
        COUNTER_DESCRIPTOR_IID = 4,
    }
    fields gpu_counter = "perfetto.protos.GpuCounterEvent.GpuCounter" {
        COUNTER_ID = 1,
        INT_VALUE = 2,
        DOUBLE_VALUE = 3,
    }
    fields gpu_counter_descriptor = "perfetto.protos.GpuCounterDescriptor" {
        SPECS = 1,
    }
    fields gpu_counter_spec = "perfetto.protos.GpuCounterDescriptor.GpuCounterSpec" {
        COUNTER_ID = 1,
        NAME = 2,
        NUMERATOR_UNITS = 7,
        DENOMINATOR_UNITS = 8,
    }
    fields interned_gpu_counters = "perfetto.protos.InternedGpuCounterDescriptor" {
        COUNTER_DESCRIPTOR = 2,
    }
    fields graphics_context = "perfetto.protos.InternedGraphicsContext" {
        PID = 2,
    }
    fields gpu_log = "perfetto.protos.GpuLog" {
        SEVERITY = 1,
        TAG = 2,
        LOG_MESSAGE = 3,
    }
    values gpu_log_severity = "perfetto.protos.GpuLog.Severity" {
        LOG_SEVERITY_VERBOSE = 1,
        LOG_SEVERITY_DEBUG = 2,
        LOG_SEVERITY_INFO = 3,
        LOG_SEVERITY_WARNING = 4,
        LOG_SEVERITY_ERROR = 5,
    }
    fields gpu_memory_total = "perfetto.protos.GpuMemTotalEvent" {
        PID = 2,
        SIZE = 3,
    }
    fields gpu_frequency = "perfetto.protos.GenericGpuFrequencyEvent" {
        GPU_ID = 1,
        FREQUENCY_KHZ = 2,
    }
    fields render_stage = "perfetto.protos.GpuRenderStageEvent" {
        EVENT_ID = 1,
        DURATION = 2,
        HW_QUEUE_ID = 3,
        STAGE_ID = 4,
        CONTEXT = 5,
        EXTRA_DATA = 6,
        SPECIFICATIONS = 7,
        RENDER_TARGET_HANDLE = 8,
        RENDER_PASS_HANDLE = 9,
        SUBMISSION_ID = 10,
        GPU_ID = 11,
        COMMAND_BUFFER_HANDLE = 12,
        HW_QUEUE_IID = 13,
        STAGE_IID = 14,
        RENDER_PASS_INSTANCE_ID = 16,
        NAME = 17,
        NAME_IID = 20,
    }
    fields render_stage_data = "perfetto.protos.GpuRenderStageEvent.ExtraData" {
        NAME = 1,
        VALUE = 2,
    }
    fields gpu_stage_specifications = "perfetto.protos.GpuRenderStageEvent.Specifications" {
        CONTEXT_SPEC = 1,
        HW_QUEUE = 2,
        STAGE = 3,
    }
    fields context_spec = "perfetto.protos.GpuRenderStageEvent.Specifications.ContextSpec" {
        CONTEXT = 1,
        PID = 2,
    }
    fields render_stage_description = "perfetto.protos.GpuRenderStageEvent.Specifications.Description" {
        NAME = 1,
    }
    fields vulkan_api_event = "perfetto.protos.VulkanApiEvent" {
        VK_DEBUG_UTILS_OBJECT_NAME = 1,
        VK_QUEUE_SUBMIT = 2,
    }
    fields vulkan_object_name = "perfetto.protos.VulkanApiEvent.VkDebugUtilsObjectName" {
        OBJECT = 4,
        OBJECT_NAME = 5,
    }
    fields vulkan_submit = "perfetto.protos.VulkanApiEvent.VkQueueSubmit" {
        DURATION_NS = 1,
        PID = 2,
        TID = 3,
        VK_QUEUE = 4,
        SUBMISSION_ID = 6,
    }
    fields property = "perfetto.protos.AndroidSystemProperty" {
        VALUES = 1,
    }
    fields property_value = "perfetto.protos.AndroidSystemProperty.PropertyValue" {
        NAME = 1,
        VALUE = 2,
    }
    fields uid_times = "perfetto.protos.CpuPerUidData" {
        CLUSTER_COUNT = 1,
        UID = 2,
        TOTAL_TIME_MS = 3,
    }
    fields energy_breakdown = "perfetto.protos.AndroidEnergyEstimationBreakdown" {
        ENERGY_CONSUMER_DESCRIPTOR = 1,
        ENERGY_CONSUMER_ID = 2,
        ENERGY_UWS = 3,
        PER_UID_BREAKDOWN = 4,
    }
    fields energy_of_uid = "perfetto.protos.AndroidEnergyEstimationBreakdown.EnergyUidBreakdown" {
        UID = 1,
        ENERGY_UWS = 2,
    }
    fields energy_descriptor = "perfetto.protos.AndroidEnergyConsumerDescriptor" {
        ENERGY_CONSUMERS = 1,
    }
    fields energy_consumer = "perfetto.protos.AndroidEnergyConsumer" {
        ENERGY_CONSUMER_ID = 1,
        NAME = 4,
    }
    fields entity_residency = "perfetto.protos.EntityStateResidency" {
        POWER_ENTITY_STATE = 1,
        RESIDENCY = 2,
    }
    fields power_entity_state = "perfetto.protos.EntityStateResidency.PowerEntityState" {
        ENTITY_INDEX = 1,
        STATE_INDEX = 2,
        ENTITY_NAME = 3,
        STATE_NAME = 4,
    }
    fields state_residency = "perfetto.protos.EntityStateResidency.StateResidency" {
        ENTITY_INDEX = 1,
        STATE_INDEX = 2,
        TOTAL_TIME_IN_STATE_MS = 3,
    }
    fields kernel_wakelock_data = "perfetto.protos.KernelWakelockData" {
        WAKELOCK = 1,
        WAKELOCK_ID = 2,
        TIME_HELD_MILLIS = 3,
    }
    fields kernel_wakelock = "perfetto.protos.KernelWakelockData.Wakelock" {
        WAKELOCK_ID = 1,
        WAKELOCK_NAME = 2,
        WAKELOCK_TYPE = 3,
    }
    values kernel_wakelock_type = "perfetto.protos.KernelWakelockData.Wakelock.Type" {
        WAKELOCK_TYPE_NATIVE = 2,
    }
    fields network_event = "perfetto.protos.NetworkPacketEvent" {
        DIRECTION = 1,
        NETWORK_INTERFACE = 2,
        LENGTH = 3,
        UID = 4,
        TAG = 5,
        IP_PROTO = 6,
        TCP_FLAGS = 7,
        LOCAL_PORT = 8,
        REMOTE_PORT = 9,
        ICMP_TYPE = 10,
        ICMP_CODE = 11,
    }
    fields network_bundle = "perfetto.protos.NetworkPacketBundle" {
        IID = 1,
        CTX = 2,
        PACKET_TIMESTAMPS = 3,
        PACKET_LENGTHS = 4,
        TOTAL_PACKETS = 5,
        TOTAL_DURATION = 6,
        TOTAL_LENGTH = 7,
    }
    fields network_context = "perfetto.protos.NetworkPacketContext" {
        CTX = 2,
    }
    values traffic_direction = "perfetto.protos.TrafficDirection" {
        DIR_INGRESS = 1,
        DIR_EGRESS = 2,
    }
    fields kernel_process_tree = "perfetto.protos.GenericKernelProcessTree" {
        PROCESSES = 1,
        THREADS = 2,
    }
    fields kernel_process = "perfetto.protos.GenericKernelProcessTree.Process" {
        PID = 1,
        CMDLINE = 3,
    }
    fields kernel_thread = "perfetto.protos.GenericKernelProcessTree.Thread" {
        TID = 1,
        PID = 2,
        COMM = 3,
    }
    fields disk_operation = "perfetto.protos.DiskIoEtwEvent" {
        DISK_NUMBER = 1,
        TRANSFER_SIZE = 3,
        BYTE_OFFSET = 4,
        FILE_OBJECT = 5,
        IRP_PTR = 6,
        RESPONSE_TIME = 7,
        ISSUING_THREAD_ID = 8,
        OPCODE = 9,
    }
    fields file_path_operation = "perfetto.protos.FileIoPathOperationEtwEvent" {
        IRP_PTR = 1,
        FILE_OBJECT = 2,
        FILE_KEY = 3,
        TTID = 5,
        INFO_CLASS = 6,
        FILE_NAME = 7,
        OPCODE = 8,
    }
    fields vulkan_memory = "perfetto.protos.VulkanMemoryEvent" {
        SOURCE = 1,
        OPERATION = 2,
        PID = 4,
        MEMORY_ADDRESS = 5,
        MEMORY_SIZE = 6,
        ALLOCATION_SCOPE = 8,
        DEVICE_MEMORY = 17,
        MEMORY_TYPE = 18,
        OBJECT_HANDLE = 20,
    }
    values vulkan_memory_source = "perfetto.protos.VulkanMemoryEvent.Source" {
        SOURCE_DRIVER = 1,
        SOURCE_DEVICE_MEMORY = 3,
        SOURCE_BUFFER = 4,
        SOURCE_IMAGE = 5,
    }
    values vulkan_memory_operation = "perfetto.protos.VulkanMemoryEvent.Operation" {
        OP_CREATE = 1,
        OP_DESTROY = 2,
        OP_BIND = 3,
        OP_DESTROY_BOUND = 4,
    }
    fields heap_sample = "perfetto.protos.ProfilePacket.HeapSample" {
        CALLSTACK_ID = 1,
        SELF_ALLOCATED = 2,
        SELF_FREED = 3,
        SELF_MAX = 8,
    }
    fields process_heap = "perfetto.protos.ProfilePacket.ProcessHeapSamples" {
        PID = 1,
        SAMPLES = 2,
        REJECTED_CONCURRENT = 4,
        BUFFER_OVERRAN = 7,
        BUFFER_CORRUPTED = 8,
        TIMESTAMP = 9,
        HIT_GUARDRAIL = 10,
        HEAP_NAME = 11,
    }
    fields profile_packet = "perfetto.protos.ProfilePacket" {
        PROCESS_DUMPS = 5,
    }
    fields statsd_atom = "perfetto.protos.StatsdAtom" {
        ATOM = 1,
        TIMESTAMP_NANOS = 2,
    }
    fields journal_event = "perfetto.protos.SystemdJournaldEvent" {
        PID = 1,
        TID = 2,
        UID = 3,
        PRIO = 5,
        TAG = 6,
        MESSAGE = 7,
        COMM = 8,
        SYSTEMD_UNIT = 10,
    }
    fields trigger_names = "perfetto.protos.ChromeStudyTranslationTable" {
        HASH_TO_NAME = 1,
    }
    fields trigger_name = "perfetto.protos.ChromeStudyTranslationTable.HashToNameEntry" {
        KEY = 1,
        VALUE = 2,
    }
    fields wakelock_bundle = "perfetto.protos.AppWakelockBundle" {
        INTERN_ID = 1,
        ENCODED_TS = 2,
    }
    fields wakelock_info = "perfetto.protos.AppWakelockInfo" {
        TAG = 2,
        FLAGS = 3,
        OWNER_PID = 4,
        OWNER_UID = 5,
        WORK_UID = 6,
    }
    fields etw_bundle = "perfetto.protos.EtwTraceEventBundle" {
        CPU = 1,
        EVENT = 2,
    }
    fields etw_event = "perfetto.protos.EtwTraceEvent" {
        TIMESTAMP = 1,
        C_SWITCH = 2,
        READY_THREAD = 3,
        CPU = 4,
        THREAD_ID = 5,
        MEM_INFO = 6,
        FILE_IO_CREATE = 7,
        FILE_IO_DIR_ENUM = 8,
        FILE_IO_INFO = 9,
        FILE_IO_READ_WRITE = 10,
        FILE_IO_SIMPLE_OP = 11,
        FILE_IO_OP_END = 12,
        FILE_IO_PATH_OPERATION = 14,
        DISK_IO = 15,
    }
    fields context_switch = "perfetto.protos.CSwitchEtwEvent" {
        NEW_THREAD_ID = 1,
        OLD_THREAD_ID = 2,
        NEW_THREAD_PRIORITY = 3,
        OLD_THREAD_STATE = 8,
        OLD_THREAD_STATE_INT = 13,
    }
    values old_thread_state = "perfetto.protos.CSwitchEtwEvent.OldThreadState" {
        INITIALIZED = 0,
        READY = 1,
        RUNNING = 2,
        STANDBY = 3,
        TERMINATED = 4,
        WAITING = 5,
        TRANSITION = 6,
        DEFERRED_READY = 7,
    }
    fields ready_thread = "perfetto.protos.ReadyThreadEtwEvent" {
        T_THREAD_ID = 1,
    }
    fields memory_information = "perfetto.protos.MemInfoEtwEvent" {
        ZERO_PAGE_COUNT = 2,
        FREE_PAGE_COUNT = 3,
        MODIFIED_PAGE_COUNT = 4,
        MODIFIED_NO_WRITE_PAGE_COUNT = 5,
        BAD_PAGE_COUNT = 6,
        MODIFIED_PAGE_COUNT_PAGE_FILE = 9,
        PAGED_POOL_PAGE_COUNT = 10,
        NON_PAGED_POOL_PAGE_COUNT = 11,
        MDL_PAGE_COUNT = 12,
        COMMIT_PAGE_COUNT = 13,
    }
    fields file_create = "perfetto.protos.FileIoCreateEtwEvent" {
        IRP_PTR = 1,
        FILE_OBJECT = 2,
        TTID = 3,
        CREATE_OPTIONS = 4,
        FILE_ATTRIBUTES = 5,
        SHARE_ACCESS = 6,
        OPEN_PATH = 7,
    }
    fields file_read_write = "perfetto.protos.FileIoReadWriteEtwEvent" {
        OFFSET = 1,
        IRP_PTR = 2,
        FILE_OBJECT = 3,
        FILE_KEY = 4,
        TTID = 5,
        IO_SIZE = 6,
        IO_FLAGS = 7,
        OPCODE = 8,
    }
    fields file_simple_op = "perfetto.protos.FileIoSimpleOpEtwEvent" {
        IRP_PTR = 1,
        FILE_OBJECT = 2,
        FILE_KEY = 3,
        TTID = 4,
        OPCODE = 5,
    }
    fields file_information = "perfetto.protos.FileIoInfoEtwEvent" {
        IRP_PTR = 1,
        FILE_OBJECT = 2,
        FILE_KEY = 3,
        EXTRA_INFO = 4,
        TTID = 5,
        INFO_CLASS = 6,
        OPCODE = 7,
    }
    fields file_enumeration = "perfetto.protos.FileIoDirEnumEtwEvent" {
        IRP_PTR = 1,
        FILE_OBJECT = 2,
        FILE_KEY = 3,
        TTID = 4,
        LENGTH = 5,
        INFO_CLASS = 6,
        FILE_INDEX = 7,
        FILE_NAME = 8,
        OPCODE = 9,
    }
    fields file_op_end = "perfetto.protos.FileIoOpEndEtwEvent" {
        IRP_PTR = 1,
        EXTRA_INFO = 2,
        NT_STATUS = 3,
    }
}
