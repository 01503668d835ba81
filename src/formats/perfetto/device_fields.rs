//! Field numbers of the kernel events of devices, as in [`super::kernel_fields`].

use crate::formats::protobuf::numbers::proto_numbers;

proto_numbers! {
    fields virtual_gpu_event = "perfetto.protos.VirtioGpuCmdQueueFtraceEvent" {
        DEV = 2,
        NAME = 5,
        SEQNO = 7,
        TYPE = 8,
        VQ = 9,
    }
    fields f2fs_latency_event = "perfetto.protos.F2fsIostatLatencyFtraceEvent" {
        D_RD_AVG = 1,
        D_RD_CNT = 2,
        D_RD_PEAK = 3,
        D_WR_AS_AVG = 4,
        D_WR_AS_CNT = 5,
        D_WR_AS_PEAK = 6,
        D_WR_S_AVG = 7,
        D_WR_S_CNT = 8,
        D_WR_S_PEAK = 9,
        DEV = 10,
        M_RD_AVG = 11,
        M_RD_CNT = 12,
        M_RD_PEAK = 13,
        M_WR_AS_AVG = 14,
        M_WR_AS_CNT = 15,
        M_WR_AS_PEAK = 16,
        M_WR_S_AVG = 17,
        M_WR_S_CNT = 18,
        M_WR_S_PEAK = 19,
        N_RD_AVG = 20,
        N_RD_CNT = 21,
        N_RD_PEAK = 22,
        N_WR_AS_AVG = 23,
        N_WR_AS_CNT = 24,
        N_WR_AS_PEAK = 25,
        N_WR_S_AVG = 26,
        N_WR_S_CNT = 27,
        N_WR_S_PEAK = 28,
    }
    fields parameter_event = "perfetto.protos.ParamSetValueCpmFtraceEvent" {
        BODY = 1,
        VALUE = 2,
        TIMESTAMP = 3,
    }
    fields firmware_counter_event = "perfetto.protos.FwtpPerfettoCounterFtraceEvent" {
        TIMESTAMP = 1,
        NAME = 4,
        VALUE = 5,
    }
    fields firmware_slice_event = "perfetto.protos.FwtpPerfettoSliceFtraceEvent" {
        TIMESTAMP = 1,
        TRACK_ID = 2,
        CATEGORY = 3,
        NAME = 4,
        BEGIN = 5,
    }
    fields i2c_event = "perfetto.protos.I2cReadFtraceEvent" {
        ADAPTER_NR = 1,
    }
    fields workqueue_event = "perfetto.protos.WorkqueueExecuteStartFtraceEvent" {
        FUNCTION = 2,
    }
    fields adreno_queued = "perfetto.protos.KgslAdrenoCmdbatchQueuedFtraceEvent" {
        ID = 1,
    }
    fields adreno_retired = "perfetto.protos.KgslAdrenoCmdbatchRetiredFtraceEvent" {
        ID = 1,
        TIMESTAMP = 2,
        START = 6,
        RETIRE = 7,
        PRIO = 8,
    }
    fields adreno_sync = "perfetto.protos.KgslAdrenoCmdbatchSyncFtraceEvent" {
        TICKS = 3,
    }
    fields android_fs_event = "perfetto.protos.AndroidFsDatareadStartFtraceEvent" {
        INO = 4,
        OFFSET = 5,
    }
    fields android_fs_end_event = "perfetto.protos.AndroidFsDatareadEndFtraceEvent" {
        INO = 2,
        OFFSET = 3,
    }
    fields block_event = "perfetto.protos.BlockIoStartFtraceEvent" {
        DEV = 1,
        SECTOR = 2,
    }
    fields device_callback_event = "perfetto.protos.DevicePmCallbackStartFtraceEvent" {
        DEVICE = 1,
        DRIVER = 2,
    }
    fields gpu_work_event = "perfetto.protos.GpuWorkPeriodFtraceEvent" {
        GPU_ID = 1,
        UID = 2,
        START_TIME_NS = 3,
        END_TIME_NS = 4,
        TOTAL_ACTIVE_DURATION_NS = 5,
    }
    fields kfree_event = "perfetto.protos.KfreeSkbFtraceEvent" {
        PROTOCOL = 2,
    }
    fields runtime_power_event = "perfetto.protos.RpmStatusFtraceEvent" {
        NAME = 1,
        STATUS = 2,
    }
    fields suspend_event = "perfetto.protos.SuspendResumeFtraceEvent" {
        ACTION = 1,
        VAL = 2,
        START = 3,
    }
    fields suspend_minimal_event = "perfetto.protos.SuspendResumeMinimalFtraceEvent" {
        START = 1,
    }
    fields victim_event = "perfetto.protos.MarkVictimFtraceEvent" {
        PID = 1,
    }
    fields low_memory_event = "perfetto.protos.LowmemoryKillFtraceEvent" {
        PID = 2,
    }
    fields video_command_event = "perfetto.protos.VirtioVideoCmdFtraceEvent" {
        STREAM_ID = 1,
        TYPE = 2,
    }
    fields video_resource_event = "perfetto.protos.VirtioVideoResourceQueueFtraceEvent" {
        QUEUE_TYPE = 5,
        RESOURCE_ID = 6,
        STREAM_ID = 7,
    }
    fields wakeup_event = "perfetto.protos.WakeupSourceActivateFtraceEvent" {
        NAME = 1,
    }
    fields migrate_range_event = "perfetto.protos.MmAllocContigMigrateRangeInfoFtraceEvent" {
        NR_MIGRATED = 3,
        NR_RECLAIMED = 4,
        NR_MAPPED = 5,
    }
    fields kgsl_frequency_event = "perfetto.protos.KgslGpuFrequencyFtraceEvent" {
        GPU_FREQ = 1,
        GPU_ID = 2,
    }
    fields devfreq_event = "perfetto.protos.DevfreqFrequencyFtraceEvent" {
        DEV_NAME = 1,
        FREQ = 2,
    }
    fields clk_rate_event = "perfetto.protos.ClkSetRateFtraceEvent" {
        NAME = 1,
        RATE = 2,
    }
    fields oom_score_event = "perfetto.protos.OomScoreAdjUpdateFtraceEvent" {
        OOM_SCORE_ADJ = 2,
        PID = 3,
    }
    fields memory_record_event = "perfetto.protos.MmEventRecordFtraceEvent" {
        AVG_LAT = 1,
        COUNT = 2,
        MAX_LAT = 3,
        TYPE = 4,
    }
    fields fastrpc_event = "perfetto.protos.FastrpcDmaStatFtraceEvent" {
        CID = 1,
        LEN = 2,
        TOTAL_ALLOCATED = 3,
    }
}
