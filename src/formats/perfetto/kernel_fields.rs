//! Field numbers and enum values of kernel event messages, as in [`super::fields`].

use crate::formats::protobuf::numbers::proto_numbers;

proto_numbers! {
    fields ftrace_event_bundle = "perfetto.protos.FtraceEventBundle" {
        CPU = 1,
        EVENT = 2,
        LOST_EVENTS = 3,
        COMPACT_SCHED = 4,
        FTRACE_CLOCK = 5,
        FTRACE_TIMESTAMP = 6,
        BOOT_TIMESTAMP = 7,
        GENERIC_EVENT_DESCRIPTORS = 11,
    }
    fields generic_descriptor = "perfetto.protos.FtraceEventBundle.GenericEventDescriptor" {
        FIELD_ID = 1,
        EVENT_DESCRIPTOR = 2,
    }
    fields generic_event = "perfetto.protos.GenericFtraceEvent" {
        EVENT_NAME = 1,
        FIELD = 2,
    }
    fields generic_field = "perfetto.protos.GenericFtraceEvent.Field" {
        NAME = 1,
        STR_VALUE = 3,
        INT_VALUE = 4,
        UINT_VALUE = 5,
    }
    fields compact_sched = "perfetto.protos.FtraceEventBundle.CompactSched" {
        SWITCH_TIMESTAMP = 1,
        SWITCH_PREV_STATE = 2,
        SWITCH_NEXT_PID = 3,
        SWITCH_NEXT_PRIO = 4,
        INTERN_TABLE = 5,
        SWITCH_NEXT_COMM_INDEX = 6,
        WAKING_TIMESTAMP = 7,
        WAKING_PID = 8,
        WAKING_COMM_INDEX = 11,
    }
    values ftrace_clock = "perfetto.protos.FtraceClock" {
        FTRACE_CLOCK_MONO_RAW = 4,
    }
    fields ftrace_event = "perfetto.protos.FtraceEvent" {
        TIMESTAMP = 1,
        PID = 2,
        PRINT = 3,
        SCHED_SWITCH = 4,
        CPU_FREQUENCY = 11,
        CPU_FREQUENCY_LIMITS = 12,
        CPU_IDLE = 13,
        SCHED_WAKEUP = 17,
        SCHED_BLOCKED_REASON = 18,
        SCHED_WAKING = 20,
        BINDER_TRANSACTION = 50,
        BINDER_TRANSACTION_RECEIVED = 51,
        SCHED_WAKEUP_NEW = 114,
        GENERIC = 327,
        SYS_ENTER = 329,
        SYS_EXIT = 330,
        TASK_NEWTASK = 235,
        TASK_RENAME = 236,
        TRACING_MARK_WRITE = 80,
        GPU_FREQUENCY = 332,
        SDE_TRACING_MARK_WRITE = 333,
        DPU_TRACING_MARK_WRITE = 348,
        G2D_TRACING_MARK_WRITE = 349,
        MALI_TRACING_MARK_WRITE = 350,
        SCHED_CPU_UTIL_CFS = 421,
        LWIS_TRACING_MARK_WRITE = 467,
        SAMSUNG_TRACING_MARK_WRITE = 484,
        BINDER_COMMAND = 485,
        BINDER_RETURN = 486,
        CLOCK_ENABLE = 14,
        CLOCK_DISABLE = 15,
        CLOCK_SET_RATE = 16,
        SOFTIRQ_ENTRY = 24,
        SOFTIRQ_EXIT = 25,
        IRQ_HANDLER_ENTRY = 36,
        IRQ_HANDLER_EXIT = 37,
        MM_VMSCAN_DIRECT_RECLAIM_BEGIN = 46,
        MM_VMSCAN_DIRECT_RECLAIM_END = 47,
        RSS_STAT = 313,
        ION_STAT = 335,
        GPU_MEM_TOTAL = 340,
        THERMAL_TEMPERATURE = 341,
        CDEV_UPDATE = 342,
        DMA_HEAP_STAT = 351,
        RSS_STAT_THROTTLED = 359,
        TCP_RETRANSMIT_SKB = 363,
        NAPI_GRO_RECEIVE_ENTRY = 365,
        NAPI_GRO_RECEIVE_EXIT = 366,
        UFSHCD_COMMAND = 406,
        UFSHCD_CLK_GATING = 407,
        DMA_FENCE_WAIT_START = 417,
        DMA_FENCE_WAIT_END = 418,
        F2FS_IOSTAT = 419,
        V4L2_QBUF = 422,
        V4L2_DQBUF = 423,
        FUNCGRAPH_ENTRY = 437,
        FUNCGRAPH_EXIT = 438,
        CMA_ALLOC_START = 465,
        CMA_ALLOC_INFO = 466,
        CMA_ALLOC_FINISH = 576,
        KPROBE_EVENT = 542,
        NETIF_RECEIVE_SKB = 360,
        NET_DEV_XMIT = 361,
        INET_SOCK_SET_STATE = 362,
        DRM_SCHED_JOB = 411,
        DRM_RUN_JOB = 412,
        DRM_SCHED_PROCESS_JOB = 413,
        DMA_FENCE_INIT = 414,
        DMA_FENCE_EMIT = 415,
        DMA_FENCE_SIGNALED = 416,
        DRM_SCHED_JOB_DONE = 592,
        DRM_SCHED_JOB_QUEUE = 593,
        DRM_SCHED_JOB_RUN = 594,
        IPI_ENTRY = 21,
        IPI_EXIT = 22,
        I2C_READ = 27,
        I2C_WRITE = 28,
        I2C_RESULT = 29,
        LOWMEMORY_KILL = 35,
        EXT4_DA_WRITE_BEGIN = 41,
        EXT4_DA_WRITE_END = 42,
        EXT4_SYNC_FILE_ENTER = 43,
        EXT4_SYNC_FILE_EXIT = 44,
        BLOCK_RQ_ISSUE = 45,
        WORKQUEUE_EXECUTE_END = 57,
        WORKQUEUE_EXECUTE_START = 58,
        REGULATOR_DISABLE = 60,
        REGULATOR_DISABLE_COMPLETE = 61,
        REGULATOR_ENABLE = 62,
        REGULATOR_ENABLE_COMPLETE = 63,
        REGULATOR_SET_VOLTAGE = 65,
        REGULATOR_SET_VOLTAGE_COMPLETE = 66,
        MM_COMPACTION_BEGIN = 99,
        MM_COMPACTION_END = 103,
        SUSPEND_RESUME = 113,
        BLOCK_RQ_COMPLETE = 125,
        EXT4_TRUNCATE_ENTER = 215,
        EXT4_TRUNCATE_EXIT = 216,
        EXT4_UNLINK_ENTER = 217,
        EXT4_UNLINK_EXIT = 218,
        F2FS_SYNC_FILE_ENTER = 255,
        F2FS_SYNC_FILE_EXIT = 256,
        F2FS_UNLINK_ENTER = 268,
        F2FS_UNLINK_EXIT = 269,
        F2FS_WRITE_BEGIN = 271,
        F2FS_WRITE_END = 273,
        CLK_SET_RATE = 322,
        OOM_SCORE_ADJ_UPDATE = 326,
        MM_EVENT_RECORD = 328,
        MARK_VICTIM = 334,
        SCM_CALL_START = 338,
        SCM_CALL_END = 339,
        FASTRPC_DMA_STAT = 347,
        KFREE_SKB = 367,
        WAKEUP_SOURCE_ACTIVATE = 404,
        WAKEUP_SOURCE_DEACTIVATE = 405,
        ANDROID_FS_DATAREAD_END = 431,
        ANDROID_FS_DATAREAD_START = 432,
        ANDROID_FS_DATAWRITE_END = 433,
        ANDROID_FS_DATAWRITE_START = 434,
        VIRTIO_VIDEO_CMD = 439,
        VIRTIO_VIDEO_CMD_DONE = 440,
        VIRTIO_VIDEO_RESOURCE_QUEUE = 441,
        VIRTIO_VIDEO_RESOURCE_QUEUE_DONE = 442,
        MM_SHRINK_SLAB_START = 443,
        MM_SHRINK_SLAB_END = 444,
        TRUSTY_SMC = 445,
        TRUSTY_SMC_DONE = 446,
        TRUSTY_STD_CALL32 = 447,
        TRUSTY_STD_CALL32_DONE = 448,
        TRUSTY_SHARE_MEMORY = 449,
        TRUSTY_SHARE_MEMORY_DONE = 450,
        TRUSTY_RECLAIM_MEMORY = 451,
        TRUSTY_RECLAIM_MEMORY_DONE = 452,
        TRUSTY_IPC_CONNECT = 455,
        TRUSTY_IPC_CONNECT_END = 456,
        TRUSTY_IPC_READ = 460,
        TRUSTY_IPC_READ_END = 461,
        MALI_MALI_KCPU_CQS_WAIT_START = 471,
        MALI_MALI_KCPU_CQS_WAIT_END = 472,
        MALI_MALI_KCPU_FENCE_WAIT_START = 474,
        MALI_MALI_KCPU_FENCE_WAIT_END = 475,
        HYP_ENTER = 476,
        HYP_EXIT = 477,
        SUSPEND_RESUME_MINIMAL = 481,
        MALI_MALI_CSF_INTERRUPT_START = 482,
        MALI_MALI_CSF_INTERRUPT_END = 483,
        GPU_WORK_PERIOD = 488,
        RPM_STATUS = 489,
        F2FS_GC_BEGIN = 496,
        F2FS_GC_END = 497,
        DEVICE_PM_CALLBACK_START = 504,
        DEVICE_PM_CALLBACK_END = 505,
        KGSL_GPU_FREQUENCY = 509,
        KGSL_ADRENO_CMDBATCH_QUEUED = 534,
        KGSL_ADRENO_CMDBATCH_SYNC = 536,
        KGSL_ADRENO_CMDBATCH_RETIRED = 537,
        DEVFREQ_FREQUENCY = 541,
        BLOCK_IO_START = 546,
        BLOCK_IO_DONE = 547,
        HRTIMER_EXPIRE_ENTRY = 553,
        HRTIMER_EXPIRE_EXIT = 554,
        LOCAL_TIMER_ENTRY = 559,
        LOCAL_TIMER_EXIT = 560,
        MM_ALLOC_CONTIG_MIGRATE_RANGE_INFO = 577,
        HYPERVISOR_HYP_EXIT = 584,
        HYPERVISOR_HYP_ENTER = 588,
        MM_VMSCAN_MEMCG_RECLAIM_BEGIN = 607,
        MM_VMSCAN_MEMCG_RECLAIM_END = 608,
        F2FS_IOSTAT_LATENCY = 420,
        PANEL_WRITE_GENERIC = 490,
        PARAM_SET_VALUE_CPM = 543,
        FWTP_PERFETTO_COUNTER = 596,
        FWTP_PERFETTO_SLICE = 600,
        VIRTIO_GPU_CMD_QUEUE = 468,
        VIRTIO_GPU_CMD_RESPONSE = 469,
    }
    fields cpu_frequency_limits_event = "perfetto.protos.CpuFrequencyLimitsFtraceEvent" {
        MIN_FREQ = 1,
        MAX_FREQ = 2,
        CPU_ID = 3,
    }
    fields cpu_idle_event = "perfetto.protos.CpuIdleFtraceEvent" {
        STATE = 1,
        CPU_ID = 2,
    }
    fields gpu_frequency_event = "perfetto.protos.GpuFrequencyFtraceEvent" {
        GPU_ID = 1,
        STATE = 2,
    }
    fields cpu_util_event = "perfetto.protos.SchedCpuUtilCfsFtraceEvent" {
        CAPACITY = 2,
        CPU = 4,
        CPU_UTIL = 6,
        NR_RUNNING = 11,
    }
    fields mark_event = "perfetto.protos.TracingMarkWriteFtraceEvent" {
        PID = 1,
        TRACE_NAME = 2,
        TRACE_BEGIN = 3,
    }
    fields sde_mark_event = "perfetto.protos.SdeTracingMarkWriteFtraceEvent" {
        PID = 1,
        TRACE_NAME = 2,
        TRACE_TYPE = 3,
        VALUE = 4,
        TRACE_BEGIN = 5,
    }
    fields dpu_mark_event = "perfetto.protos.DpuTracingMarkWriteFtraceEvent" {
        PID = 1,
        NAME = 4,
        TYPE = 5,
        VALUE = 6,
    }
    fields g2d_mark_event = "perfetto.protos.G2dTracingMarkWriteFtraceEvent" {
        PID = 1,
        NAME = 4,
        TYPE = 5,
        VALUE = 6,
    }
    fields mali_mark_event = "perfetto.protos.MaliTracingMarkWriteFtraceEvent" {
        NAME = 1,
        PID = 2,
        TYPE = 3,
        VALUE = 4,
    }
    fields lwis_mark_event = "perfetto.protos.LwisTracingMarkWriteFtraceEvent" {
        TYPE = 2,
        PID = 3,
        FUNC_NAME = 4,
        VALUE = 5,
    }
    fields samsung_mark_event = "perfetto.protos.SamsungTracingMarkWriteFtraceEvent" {
        PID = 1,
        TRACE_NAME = 2,
        TRACE_BEGIN = 3,
        TRACE_TYPE = 4,
        VALUE = 5,
    }
    fields sched_blocked_reason_event = "perfetto.protos.SchedBlockedReasonFtraceEvent" {
        PID = 1,
        CALLER = 2,
        IO_WAIT = 3,
    }
    fields binder_transaction_event = "perfetto.protos.BinderTransactionFtraceEvent" {
        DEBUG_ID = 1,
        TARGET_NODE = 2,
        TO_PROC = 3,
        TO_THREAD = 4,
        REPLY = 5,
        CODE = 6,
        FLAGS = 7,
    }
    fields binder_received_event = "perfetto.protos.BinderTransactionReceivedFtraceEvent" {
        DEBUG_ID = 1,
    }
    fields binder_return_event = "perfetto.protos.BinderReturnFtraceEvent" {
        CMD = 1,
    }
    fields task_state_event = "perfetto.protos.GenericKernelTaskStateEvent" {
        CPU = 1,
        COMM = 2,
        TID = 3,
        STATE = 4,
        PRIO = 5,
    }
    values task_state = "perfetto.protos.GenericKernelTaskStateEvent.TaskStateEnum" {
        TASK_STATE_UNKNOWN = 0,
        TASK_STATE_CREATED = 1,
        TASK_STATE_RUNNABLE = 2,
        TASK_STATE_RUNNING = 3,
        TASK_STATE_INTERRUPTIBLE_SLEEP = 4,
        TASK_STATE_UNINTERRUPTIBLE_SLEEP = 5,
        TASK_STATE_STOPPED = 6,
        TASK_STATE_DEAD = 7,
        TASK_STATE_DESTROYED = 8,
    }
    fields kernel_frequency_event = "perfetto.protos.GenericKernelCpuFrequencyEvent" {
        CPU = 1,
        FREQ_HZ = 2,
    }
    fields kernel_rename_event = "perfetto.protos.GenericKernelTaskRenameEvent" {
        TID = 1,
        COMM = 2,
    }
    fields task_newtask_event = "perfetto.protos.TaskNewtaskFtraceEvent" {
        PID = 1,
        COMM = 2,
        CLONE_FLAGS = 3,
    }
    fields task_rename_event = "perfetto.protos.TaskRenameFtraceEvent" {
        PID = 1,
        NEWCOMM = 3,
    }
    fields print_event = "perfetto.protos.PrintFtraceEvent" {
        BUF = 2,
    }
    fields cpu_frequency_event = "perfetto.protos.CpuFrequencyFtraceEvent" {
        STATE = 1,
        CPU_ID = 2,
    }
    fields sched_switch_event = "perfetto.protos.SchedSwitchFtraceEvent" {
        PREV_COMM = 1,
        PREV_PID = 2,
        PREV_PRIO = 3,
        PREV_STATE = 4,
        NEXT_COMM = 5,
        NEXT_PID = 6,
        NEXT_PRIO = 7,
    }
    fields sched_waking_event = "perfetto.protos.SchedWakingFtraceEvent" {
        COMM = 1,
        PID = 2,
    }
    fields sys_enter_event = "perfetto.protos.SysEnterFtraceEvent" {
        ID = 1,
        ARGS = 2,
    }
    fields sys_exit_event = "perfetto.protos.SysExitFtraceEvent" {
        ID = 1,
        RET = 2,
    }
    fields clock_event = "perfetto.protos.ClockSetRateFtraceEvent" {
        NAME = 1,
        STATE = 2,
    }
    fields softirq_event = "perfetto.protos.SoftirqEntryFtraceEvent" {
        VEC = 1,
    }
    fields irq_entry_event = "perfetto.protos.IrqHandlerEntryFtraceEvent" {
        IRQ = 1,
        NAME = 2,
    }
    fields irq_exit_event = "perfetto.protos.IrqHandlerExitFtraceEvent" {
        RET = 2,
    }
    fields reclaim_begin_event = "perfetto.protos.MmVmscanDirectReclaimBeginFtraceEvent" {
        ORDER = 1,
    }
    fields reclaim_end_event = "perfetto.protos.MmVmscanDirectReclaimEndFtraceEvent" {
        NR_RECLAIMED = 1,
    }
    fields rss_event = "perfetto.protos.RssStatFtraceEvent" {
        MEMBER = 1,
        SIZE = 2,
        CURR = 3,
        MM_ID = 4,
    }
    fields rss_throttled_event = "perfetto.protos.RssStatThrottledFtraceEvent" {
        CURR = 1,
        MEMBER = 2,
        MM_ID = 3,
        SIZE = 4,
    }
    fields heap_event = "perfetto.protos.DmaHeapStatFtraceEvent" {
        LEN = 2,
        TOTAL_ALLOCATED = 3,
        INODE = 1,
    }
    fields ion_event = "perfetto.protos.IonStatFtraceEvent" {
        LEN = 2,
        TOTAL_ALLOCATED = 3,
    }
    fields gpu_memory_event = "perfetto.protos.GpuMemTotalFtraceEvent" {
        PID = 2,
        SIZE = 3,
    }
    fields thermal_event = "perfetto.protos.ThermalTemperatureFtraceEvent" {
        TEMP = 2,
        THERMAL_ZONE = 4,
    }
    fields cooling_event = "perfetto.protos.CdevUpdateFtraceEvent" {
        TARGET = 1,
        TYPE = 2,
    }
    fields tcp_retransmit_event = "perfetto.protos.TcpRetransmitSkbFtraceEvent" {
        DPORT = 2,
        SPORT = 6,
    }
    fields napi_entry_event = "perfetto.protos.NapiGroReceiveEntryFtraceEvent" {
        LEN = 7,
        NAME = 10,
    }
    fields napi_exit_event = "perfetto.protos.NapiGroReceiveExitFtraceEvent" {
        RET = 1,
    }
    fields ufs_command_event = "perfetto.protos.UfshcdCommandFtraceEvent" {
        OPCODE = 5,
        TAG = 7,
        GROUP_ID = 9,
        STR_T = 10,
    }
    fields ufs_clock_event = "perfetto.protos.UfshcdClkGatingFtraceEvent" {
        STATE = 2,
    }
    fields fence_wait_event = "perfetto.protos.DmaFenceWaitStartFtraceEvent" {
        CONTEXT = 1,
        SEQNO = 3,
    }
    fields f2fs_event = "perfetto.protos.F2fsIostatFtraceEvent" {
        APP_BIO = 1,
        APP_BRIO = 2,
        APP_DIO = 3,
        APP_DRIO = 4,
        APP_MIO = 5,
        APP_MRIO = 6,
        APP_RIO = 7,
        APP_WIO = 8,
        DEV = 9,
        FS_CDRIO = 10,
        FS_CP_DIO = 11,
        FS_CP_MIO = 12,
        FS_CP_NIO = 13,
        FS_DIO = 14,
        FS_DISCARD = 15,
        FS_DRIO = 16,
        FS_GC_DIO = 17,
        FS_GC_NIO = 18,
        FS_GDRIO = 19,
        FS_MIO = 20,
        FS_MRIO = 21,
        FS_NIO = 22,
        FS_NRIO = 23,
    }
    fields v4l2_event = "perfetto.protos.V4l2QbufFtraceEvent" {
        INDEX = 4,
        MINOR = 5,
        SEQUENCE = 6,
        TYPE = 18,
    }
    fields funcgraph_entry_event = "perfetto.protos.FuncgraphEntryFtraceEvent" {
        FUNC = 2,
    }
    fields funcgraph_exit_event = "perfetto.protos.FuncgraphExitFtraceEvent" {
        FUNC = 3,
    }
    fields cma_start_event = "perfetto.protos.CmaAllocStartFtraceEvent" {
        COUNT = 2,
        NAME = 3,
    }
    fields cma_info_event = "perfetto.protos.CmaAllocInfoFtraceEvent" {
        ERR_ISO = 3,
        ERR_MIG = 4,
        ERR_TEST = 5,
        NR_MAPPED = 7,
        NR_MIGRATED = 8,
        NR_RECLAIMED = 9,
        PFN = 10,
    }
    fields kprobe_event = "perfetto.protos.KprobeEvent" {
        NAME = 1,
        TYPE = 2,
    }
    fields drm_job_event = "perfetto.protos.DrmSchedJobFtraceEvent" {
        ID = 4,
        NAME = 6,
    }
    fields drm_queue_event = "perfetto.protos.DrmSchedJobQueueFtraceEvent" {
        NAME = 1,
        FENCE_CONTEXT = 5,
        FENCE_SEQNO = 6,
    }
    fields drm_run_event = "perfetto.protos.DrmRunJobFtraceEvent" {
        FENCE = 2,
        ID = 4,
        NAME = 6,
    }
    fields drm_start_event = "perfetto.protos.DrmSchedJobRunFtraceEvent" {
        NAME = 1,
        FENCE_CONTEXT = 5,
        FENCE_SEQNO = 6,
    }
    fields drm_process_event = "perfetto.protos.DrmSchedProcessJobFtraceEvent" {
        FENCE = 1,
    }
    fields drm_done_event = "perfetto.protos.DrmSchedJobDoneFtraceEvent" {
        FENCE_CONTEXT = 1,
        FENCE_SEQNO = 2,
    }
    fields dma_fence_event = "perfetto.protos.DmaFenceInitFtraceEvent" {
        CONTEXT = 1,
        SEQNO = 3,
        TIMELINE = 4,
    }
    fields net_device_event = "perfetto.protos.NetifReceiveSkbFtraceEvent" {
        LEN = 1,
        NAME = 2,
    }
    fields socket_state_event = "perfetto.protos.InetSockSetStateFtraceEvent" {
        DPORT = 2,
        NEWSTATE = 4,
        PROTOCOL = 6,
        SKADDR = 8,
        SPORT = 9,
    }
    values kprobe_type = "perfetto.protos.KprobeEvent.KprobeType" {
        KPROBE_TYPE_BEGIN = 1,
        KPROBE_TYPE_END = 2,
        KPROBE_TYPE_INSTANT = 3,
    }
}
