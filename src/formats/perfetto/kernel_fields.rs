//! Field numbers and values of enumerations of the kernel's events in Perfetto's format, as in [`super::fields`].

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
    fields battery_counters = "perfetto.protos.BatteryCounters" {
        CHARGE_COUNTER_UAH = 1,
        CAPACITY_PERCENT = 2,
        CURRENT_UA = 3,
        CURRENT_AVG_UA = 4,
        NAME = 5,
        VOLTAGE_UV = 7,
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
}
