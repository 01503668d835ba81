//! Field numbers and enum values of polled statistics, logs and triggers, as in [`super::fields`].

use crate::formats::protobuf::numbers::proto_numbers;

proto_numbers! {
    fields sys_stats = "perfetto.protos.SysStats" {
        MEMINFO = 1,
        VMSTAT = 2,
        CPU_STAT = 3,
        NUM_FORKS = 4,
        NUM_IRQ_TOTAL = 5,
        NUM_IRQ = 6,
        NUM_SOFTIRQ_TOTAL = 7,
        NUM_SOFTIRQ = 8,
        COLLECTION_END_TIMESTAMP = 9,
        DEVFREQ = 10,
        CPUFREQ_KHZ = 11,
        BUDDY_INFO = 12,
        DISK_STAT = 13,
        PSI = 14,
        THERMAL_ZONE = 15,
        CPUIDLE_STATE = 16,
        GPUFREQ_MHZ = 17,
        SLAB_INFO = 18,
    }
    fields cpu_times = "perfetto.protos.SysStats.CpuTimes" {
        CPU_ID = 1,
        USER_NS = 2,
        USER_NICE_NS = 3,
        SYSTEM_MODE_NS = 4,
        IDLE_NS = 5,
        IO_WAIT_NS = 6,
        IRQ_NS = 7,
        SOFTIRQ_NS = 8,
        STEAL_NS = 9,
    }
    fields interrupt_count = "perfetto.protos.SysStats.InterruptCount" {
        IRQ = 1,
        COUNT = 2,
    }
    fields device_frequency = "perfetto.protos.SysStats.DevfreqValue" {
        KEY = 1,
        VALUE = 2,
    }
    fields disk_stat = "perfetto.protos.SysStats.DiskStat" {
        DEVICE_NAME = 1,
        READ_SECTORS = 2,
        READ_TIME_MS = 3,
        WRITE_SECTORS = 4,
        WRITE_TIME_MS = 5,
        DISCARD_SECTORS = 6,
        DISCARD_TIME_MS = 7,
        FLUSH_COUNT = 8,
        FLUSH_TIME_MS = 9,
    }
    fields buddy_info = "perfetto.protos.SysStats.BuddyInfo" {
        NODE = 1,
        ZONE = 2,
        ORDER_PAGES = 3,
    }
    fields pressure = "perfetto.protos.SysStats.PsiSample" {
        RESOURCE = 1,
        TOTAL_NS = 2,
    }
    values pressure_resource = "perfetto.protos.SysStats.PsiSample.PsiResource" {
        PSI_RESOURCE_CPU_SOME = 1,
        PSI_RESOURCE_CPU_FULL = 2,
        PSI_RESOURCE_IO_SOME = 3,
        PSI_RESOURCE_IO_FULL = 4,
        PSI_RESOURCE_MEMORY_SOME = 5,
        PSI_RESOURCE_MEMORY_FULL = 6,
    }
    fields thermal_zone = "perfetto.protos.SysStats.ThermalZone" {
        NAME = 1,
        TEMP = 2,
        TYPE = 3,
    }
    fields cpu_idle_state = "perfetto.protos.SysStats.CpuIdleState" {
        CPU_ID = 1,
        CPUIDLE_STATE_ENTRY = 2,
    }
    fields cpu_idle_state_entry = "perfetto.protos.SysStats.CpuIdleStateEntry" {
        STATE = 1,
        DURATION_US = 2,
    }
    fields slab_info = "perfetto.protos.SysStats.SlabInfo" {
        NAME = 1,
        PAGES_PER_SLAB = 2,
        NUM_SLABS = 3,
    }
    fields process_stats = "perfetto.protos.ProcessStats" {
        PROCESSES = 1,
    }
    fields process_stats_process = "perfetto.protos.ProcessStats.Process" {
        PID = 1,
        VM_SIZE_KB = 2,
        VM_RSS_KB = 3,
        RSS_ANON_KB = 4,
        RSS_FILE_KB = 5,
        RSS_SHMEM_KB = 6,
        VM_SWAP_KB = 7,
        VM_LOCKED_KB = 8,
        VM_HWM_KB = 9,
        OOM_SCORE_ADJ = 10,
        CHROME_PRIVATE_FOOTPRINT_KB = 13,
        CHROME_PEAK_RESIDENT_SET_KB = 14,
        FDS = 15,
        SMR_RSS_KB = 16,
        SMR_PSS_KB = 17,
        SMR_PSS_ANON_KB = 18,
        SMR_PSS_FILE_KB = 19,
        SMR_PSS_SHMEM_KB = 20,
        RUNTIME_USER_MODE = 21,
        RUNTIME_KERNEL_MODE = 22,
        SMR_SWAP_PSS_KB = 23,
        DMABUF_RSS_KB = 24,
    }
    fields sys_stats_memory = "perfetto.protos.SysStats.MeminfoValue" {
        KEY = 1,
        VALUE = 2,
    }
    fields trigger = "perfetto.protos.Trigger" {
        TRIGGER_NAME = 1,
        PRODUCER_NAME = 2,
        TRUSTED_PRODUCER_UID = 3,
    }
    fields chrome_trigger = "perfetto.protos.ChromeTrigger" {
        TRIGGER_NAME = 1,
        TRIGGER_NAME_HASH = 2,
    }
    fields android_log = "perfetto.protos.AndroidLogPacket" {
        EVENTS = 1,
    }
    fields android_log_event = "perfetto.protos.AndroidLogPacket.LogEvent" {
        PID = 2,
        TID = 3,
        TIMESTAMP = 5,
        TAG = 6,
        PRIO = 7,
        MESSAGE = 8,
    }
    fields power_rails = "perfetto.protos.PowerRails" {
        RAIL_DESCRIPTOR = 1,
        ENERGY_DATA = 2,
        SESSION_UUID = 3,
    }
    fields rail_descriptor = "perfetto.protos.PowerRails.RailDescriptor" {
        INDEX = 1,
        RAIL_NAME = 2,
    }
    fields rail_energy = "perfetto.protos.PowerRails.EnergyData" {
        INDEX = 1,
        TIMESTAMP_MS = 2,
        ENERGY = 3,
    }
    fields display_state = "perfetto.protos.InitialDisplayState" {
        DISPLAY_STATE = 1,
    }
    fields battery_counters = "perfetto.protos.BatteryCounters" {
        CHARGE_COUNTER_UAH = 1,
        CAPACITY_PERCENT = 2,
        CURRENT_UA = 3,
        CURRENT_AVG_UA = 4,
        NAME = 5,
        VOLTAGE_UV = 7,
    }
}
