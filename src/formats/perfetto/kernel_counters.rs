//! Tables of the kernel events that are counters or driver markers, and their fields. Also decodes battery counters,
//! which have packets of their own.

use super::device_fields::{
    clk_rate_event, devfreq_event, f2fs_latency_event, fastrpc_event, kgsl_frequency_event, memory_record_event,
    oom_score_event,
};
use super::kernel_fields::{
    clock_event, cooling_event, cpu_frequency_limits_event, cpu_idle_event, cpu_util_event, dpu_mark_event, f2fs_event,
    ftrace_event, g2d_mark_event, gpu_frequency_event, gpu_memory_event, heap_event, ion_event, lwis_mark_event,
    mali_mark_event, mark_event, samsung_mark_event, sde_mark_event, thermal_event, ufs_clock_event,
};
use super::kernel_names::NamePart::{Device, Known, Number as NumberOf, Text, TextField};
use super::kernel_names::{KernelEvent, NamePart};
use super::statistics_fields::battery_counters;
use crate::formats::protobuf::decode::ProtoValue;
use crate::formats::protobuf::message::ProtoMessage as _;
use crate::formats::protobuf::numbers::FieldNumber;

/// An event whose fields are counter values.
struct KernelCounters {
    event: FieldNumber,
    owner: CounterOwner,
    counters: &'static [KernelCounter],
}

/// The field of a value, and the name of its counter.
struct KernelCounter {
    value: FieldNumber,
    name: [NamePart; 4],
    /// The unit of its values; empty if they have none.
    unit: &'static str,
}

impl KernelCounter {
    const fn in_unit(self, unit: &'static str) -> Self {
        Self { unit, ..self }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CounterOwner {
    /// None: the counter is global.
    Global,
    /// The process whose pid is in this field; pid 0 is global.
    Process(FieldNumber),
    /// The thread of the event.
    Thread,
}

/// Creates a counter of the CPU or device whose number is in the field `number_field`.
const fn numbered(
    value: FieldNumber,
    before: &'static str,
    number_field: FieldNumber,
    after: &'static str,
) -> KernelCounter {
    KernelCounter { value, name: [Text(before), NumberOf(number_field), Text(after), Text("")], unit: "" }
}

/// Creates a counter whose name is in the field `name_field`.
const fn named(value: FieldNumber, name_field: FieldNumber, after: &'static str) -> KernelCounter {
    KernelCounter { value, name: [TextField(name_field), Text(after), Text(""), Text("")], unit: "" }
}

/// Creates a counter with a fixed name.
const fn alone(value: FieldNumber, name: &'static str) -> KernelCounter {
    KernelCounter { value, name: [Text(name), Text(""), Text(""), Text("")], unit: "" }
}

/// Creates a counter of an F2FS device.
const fn f2fs(value: FieldNumber, after: &'static str) -> KernelCounter {
    KernelCounter { value, name: [Text("f2fs_iostat.["), Device(f2fs_event::DEV), Text(after), Text("")], unit: "" }
}

/// Creates a counter of the latency of an F2FS device.
const fn f2fs_latency(value: FieldNumber, after: &'static str) -> KernelCounter {
    let device = Device(f2fs_latency_event::DEV);
    KernelCounter { value, name: [Text("f2fs_iostat_latency.["), device, Text(after), Text("")], unit: "" }
}

/// Creates a counter of memory events of one kind.
const fn memory_event(value: FieldNumber, after: &'static str) -> KernelCounter {
    let kind = Known(memory_record_event::TYPE, MEMORY_EVENTS);
    KernelCounter { value, name: [Text("mem.mm."), kind, Text(after), Text("")], unit: "" }
}

/// Creates a counter of the memory of a signal processor.
const fn fastrpc(value: FieldNumber, before: &'static str) -> KernelCounter {
    let processor = Known(fastrpc_event::CID, SIGNAL_PROCESSORS);
    KernelCounter { value, name: [Text(before), processor, Text("]"), Text("")], unit: "bytes" }
}

/// Kinds of `mm_event_record`.
const MEMORY_EVENTS: &[(u64, &str)] = &[
    (0, "min_flt"),
    (1, "maj_flt"),
    (2, "read_io"),
    (3, "compaction"),
    (4, "reclaim"),
    (5, "swp_flt"),
    (6, "kern_alloc"),
];

const SIGNAL_PROCESSORS: &[(u64, &str)] = &[(0, "ADSP"), (1, "MDSP"), (2, "SDSP"), (3, "CDSP")];

/// Creates the global counters of an event.
const fn global_counters(event: FieldNumber, counters: &'static [KernelCounter]) -> KernelCounters {
    KernelCounters { event, owner: CounterOwner::Global, counters }
}

const COUNTERS: &[KernelCounters] = &[
    global_counters(
        ftrace_event::CPU_IDLE,
        &[numbered(cpu_idle_event::STATE, "CPU ", cpu_idle_event::CPU_ID, " idle state")],
    ),
    global_counters(
        ftrace_event::CPU_FREQUENCY_LIMITS,
        &[
            numbered(
                cpu_frequency_limits_event::MAX_FREQ,
                "Cpu ",
                cpu_frequency_limits_event::CPU_ID,
                " Max Freq Limit",
            )
            .in_unit("kHz"),
            numbered(
                cpu_frequency_limits_event::MIN_FREQ,
                "Cpu ",
                cpu_frequency_limits_event::CPU_ID,
                " Min Freq Limit",
            )
            .in_unit("kHz"),
        ],
    ),
    global_counters(
        ftrace_event::SCHED_CPU_UTIL_CFS,
        &[
            numbered(cpu_util_event::CPU_UTIL, "Cpu ", cpu_util_event::CPU, " Util"),
            numbered(cpu_util_event::CAPACITY, "Cpu ", cpu_util_event::CPU, " Cap"),
            numbered(cpu_util_event::NR_RUNNING, "Cpu ", cpu_util_event::CPU, " Nr Running"),
        ],
    ),
    global_counters(
        ftrace_event::GPU_FREQUENCY,
        &[numbered(gpu_frequency_event::STATE, "GPU ", gpu_frequency_event::GPU_ID, " frequency").in_unit("kHz")],
    ),
    // The three clock events share these fields.
    global_counters(
        ftrace_event::CLOCK_SET_RATE,
        &[named(clock_event::STATE, clock_event::NAME, " Frequency").in_unit("Hz")],
    ),
    global_counters(ftrace_event::CLOCK_ENABLE, &[named(clock_event::STATE, clock_event::NAME, " State")]),
    global_counters(ftrace_event::CLOCK_DISABLE, &[named(clock_event::STATE, clock_event::NAME, " State")]),
    global_counters(
        ftrace_event::THERMAL_TEMPERATURE,
        &[named(thermal_event::TEMP, thermal_event::THERMAL_ZONE, " Temperature").in_unit("m°C")],
    ),
    global_counters(
        ftrace_event::KGSL_GPU_FREQUENCY,
        &[numbered(kgsl_frequency_event::GPU_FREQ, "GPU ", kgsl_frequency_event::GPU_ID, " frequency").in_unit("kHz")],
    ),
    global_counters(
        ftrace_event::DEVFREQ_FREQUENCY,
        &[named(devfreq_event::FREQ, devfreq_event::DEV_NAME, " Frequency")],
    ),
    global_counters(
        ftrace_event::CLK_SET_RATE,
        &[named(clk_rate_event::RATE, clk_rate_event::NAME, " Frequency").in_unit("Hz")],
    ),
    KernelCounters {
        event: ftrace_event::OOM_SCORE_ADJ_UPDATE,
        owner: CounterOwner::Process(oom_score_event::PID),
        counters: &[alone(oom_score_event::OOM_SCORE_ADJ, "oom_score_adj")],
    },
    KernelCounters {
        event: ftrace_event::MM_EVENT_RECORD,
        owner: CounterOwner::Thread,
        counters: &[
            memory_event(memory_record_event::COUNT, ".count"),
            memory_event(memory_record_event::MAX_LAT, ".max_lat").in_unit("µs"),
            memory_event(memory_record_event::AVG_LAT, ".avg_lat").in_unit("µs"),
        ],
    },
    global_counters(ftrace_event::FASTRPC_DMA_STAT, &[fastrpc(fastrpc_event::TOTAL_ALLOCATED, "mem.fastrpc[")]),
    KernelCounters {
        event: ftrace_event::FASTRPC_DMA_STAT,
        owner: CounterOwner::Thread,
        counters: &[fastrpc(fastrpc_event::LEN, "mem.fastrpc_change[")],
    },
    global_counters(ftrace_event::CDEV_UPDATE, &[named(cooling_event::TARGET, cooling_event::TYPE, " Cooling Device")]),
    global_counters(ftrace_event::UFSHCD_CLK_GATING, &[alone(ufs_clock_event::STATE, "io.ufs.clkgating")]),
    global_counters(
        ftrace_event::DMA_HEAP_STAT,
        &[alone(heap_event::TOTAL_ALLOCATED, "mem.dma_heap").in_unit("bytes")],
    ),
    KernelCounters {
        event: ftrace_event::DMA_HEAP_STAT,
        owner: CounterOwner::Thread,
        counters: &[alone(heap_event::LEN, "mem.dma_heap_change").in_unit("bytes")],
    },
    global_counters(ftrace_event::ION_STAT, &[alone(ion_event::TOTAL_ALLOCATED, "mem.ion").in_unit("bytes")]),
    KernelCounters {
        event: ftrace_event::ION_STAT,
        owner: CounterOwner::Thread,
        counters: &[alone(ion_event::LEN, "mem.ion_change").in_unit("bytes")],
    },
    KernelCounters {
        event: ftrace_event::GPU_MEM_TOTAL,
        owner: CounterOwner::Process(gpu_memory_event::PID),
        counters: &[alone(gpu_memory_event::SIZE, "GPU Memory").in_unit("bytes")],
    },
    global_counters(
        ftrace_event::F2FS_IOSTAT_LATENCY,
        &[
            f2fs_latency(f2fs_latency_event::D_RD_PEAK, "].read_data_peak"),
            f2fs_latency(f2fs_latency_event::D_RD_AVG, "].read_data_avg"),
            f2fs_latency(f2fs_latency_event::D_RD_CNT, "].read_data_cnt"),
            f2fs_latency(f2fs_latency_event::D_WR_S_PEAK, "].write_sync_data_peak"),
            f2fs_latency(f2fs_latency_event::D_WR_S_AVG, "].write_sync_data_avg"),
            f2fs_latency(f2fs_latency_event::D_WR_S_CNT, "].write_sync_data_cnt"),
            f2fs_latency(f2fs_latency_event::D_WR_AS_PEAK, "].write_async_data_peak"),
            f2fs_latency(f2fs_latency_event::D_WR_AS_AVG, "].write_async_data_avg"),
            f2fs_latency(f2fs_latency_event::D_WR_AS_CNT, "].write_async_data_cnt"),
            f2fs_latency(f2fs_latency_event::N_RD_PEAK, "].read_node_peak"),
            f2fs_latency(f2fs_latency_event::N_RD_AVG, "].read_node_avg"),
            f2fs_latency(f2fs_latency_event::N_RD_CNT, "].read_node_cnt"),
            f2fs_latency(f2fs_latency_event::N_WR_S_PEAK, "].write_sync_node_peak"),
            f2fs_latency(f2fs_latency_event::N_WR_S_AVG, "].write_sync_node_avg"),
            f2fs_latency(f2fs_latency_event::N_WR_S_CNT, "].write_sync_node_cnt"),
            f2fs_latency(f2fs_latency_event::N_WR_AS_PEAK, "].write_async_node_peak"),
            f2fs_latency(f2fs_latency_event::N_WR_AS_AVG, "].write_async_node_avg"),
            f2fs_latency(f2fs_latency_event::N_WR_AS_CNT, "].write_async_node_cnt"),
            f2fs_latency(f2fs_latency_event::M_RD_PEAK, "].read_meta_peak"),
            f2fs_latency(f2fs_latency_event::M_RD_AVG, "].read_meta_avg"),
            f2fs_latency(f2fs_latency_event::M_RD_CNT, "].read_meta_cnt"),
            f2fs_latency(f2fs_latency_event::M_WR_S_PEAK, "].write_sync_meta_peak"),
            f2fs_latency(f2fs_latency_event::M_WR_S_AVG, "].write_sync_meta_avg"),
            f2fs_latency(f2fs_latency_event::M_WR_S_CNT, "].write_sync_meta_cnt"),
            f2fs_latency(f2fs_latency_event::M_WR_AS_PEAK, "].write_async_meta_peak"),
            f2fs_latency(f2fs_latency_event::M_WR_AS_AVG, "].write_async_meta_avg"),
            f2fs_latency(f2fs_latency_event::M_WR_AS_CNT, "].write_async_meta_cnt"),
        ],
    ),
    global_counters(
        ftrace_event::F2FS_IOSTAT,
        &[
            f2fs(f2fs_event::APP_RIO, "].read_app_total"),
            f2fs(f2fs_event::APP_DRIO, "].read_app_direct"),
            f2fs(f2fs_event::APP_BRIO, "].read_app_buffered"),
            f2fs(f2fs_event::APP_MRIO, "].read_app_mapped"),
            f2fs(f2fs_event::FS_DRIO, "].read_fs_data"),
            f2fs(f2fs_event::FS_GDRIO, "].read_fs_gdata"),
            f2fs(f2fs_event::FS_CDRIO, "].read_fs_cdata"),
            f2fs(f2fs_event::FS_NRIO, "].read_fs_node"),
            f2fs(f2fs_event::FS_MRIO, "].read_fs_meta"),
            f2fs(f2fs_event::APP_WIO, "].write_app_total"),
            f2fs(f2fs_event::APP_DIO, "].write_app_direct"),
            f2fs(f2fs_event::APP_BIO, "].write_app_buffered"),
            f2fs(f2fs_event::APP_MIO, "].write_app_mapped"),
            f2fs(f2fs_event::FS_DIO, "].write_fs_data"),
            f2fs(f2fs_event::FS_NIO, "].write_fs_node"),
            f2fs(f2fs_event::FS_MIO, "].write_fs_meta"),
            f2fs(f2fs_event::FS_GC_DIO, "].write_gc_data"),
            f2fs(f2fs_event::FS_GC_NIO, "].write_gc_node"),
            f2fs(f2fs_event::FS_CP_DIO, "].write_cp_data"),
            f2fs(f2fs_event::FS_CP_NIO, "].write_cp_node"),
            f2fs(f2fs_event::FS_CP_MIO, "].write_cp_meta"),
            f2fs(f2fs_event::FS_DISCARD, "].other_fs_discard"),
        ],
    ),
];

/// A driver marker: the fields that hold the parts of a program marker.
struct DriverMarker {
    event: FieldNumber,
    pid: FieldNumber,
    name: FieldNumber,
    /// Field of the letter of the marker kind.
    letter: Option<FieldNumber>,
    /// Field that distinguishes starts from ends, for events without a letter.
    begins: Option<FieldNumber>,
    value: Option<FieldNumber>,
}

const MARKERS: &[DriverMarker] = &[
    DriverMarker {
        event: ftrace_event::TRACING_MARK_WRITE,
        pid: mark_event::PID,
        name: mark_event::TRACE_NAME,
        letter: None,
        begins: Some(mark_event::TRACE_BEGIN),
        value: None,
    },
    DriverMarker {
        event: ftrace_event::SDE_TRACING_MARK_WRITE,
        pid: sde_mark_event::PID,
        name: sde_mark_event::TRACE_NAME,
        letter: Some(sde_mark_event::TRACE_TYPE),
        begins: Some(sde_mark_event::TRACE_BEGIN),
        value: Some(sde_mark_event::VALUE),
    },
    DriverMarker {
        event: ftrace_event::DPU_TRACING_MARK_WRITE,
        pid: dpu_mark_event::PID,
        name: dpu_mark_event::NAME,
        letter: Some(dpu_mark_event::TYPE),
        begins: None,
        value: Some(dpu_mark_event::VALUE),
    },
    // The message has the same fields as the one before.
    DriverMarker {
        event: ftrace_event::PANEL_WRITE_GENERIC,
        pid: dpu_mark_event::PID,
        name: dpu_mark_event::NAME,
        letter: Some(dpu_mark_event::TYPE),
        begins: None,
        value: Some(dpu_mark_event::VALUE),
    },
    DriverMarker {
        event: ftrace_event::G2D_TRACING_MARK_WRITE,
        pid: g2d_mark_event::PID,
        name: g2d_mark_event::NAME,
        letter: Some(g2d_mark_event::TYPE),
        begins: None,
        value: Some(g2d_mark_event::VALUE),
    },
    DriverMarker {
        event: ftrace_event::MALI_TRACING_MARK_WRITE,
        pid: mali_mark_event::PID,
        name: mali_mark_event::NAME,
        letter: Some(mali_mark_event::TYPE),
        begins: None,
        value: Some(mali_mark_event::VALUE),
    },
    DriverMarker {
        event: ftrace_event::LWIS_TRACING_MARK_WRITE,
        pid: lwis_mark_event::PID,
        name: lwis_mark_event::FUNC_NAME,
        letter: Some(lwis_mark_event::TYPE),
        begins: None,
        value: Some(lwis_mark_event::VALUE),
    },
    DriverMarker {
        event: ftrace_event::SAMSUNG_TRACING_MARK_WRITE,
        pid: samsung_mark_event::PID,
        name: samsung_mark_event::TRACE_NAME,
        letter: Some(samsung_mark_event::TRACE_TYPE),
        begins: Some(samsung_mark_event::TRACE_BEGIN),
        value: Some(samsung_mark_event::VALUE),
    },
];

/// The fields of a battery, the names of their counters, and the units.
const BATTERY: &[(FieldNumber, &str, &str)] = &[
    (battery_counters::CHARGE_COUNTER_UAH, "charge_uah", "µAh"),
    (battery_counters::CAPACITY_PERCENT, "capacity_pct", "%"),
    (battery_counters::CURRENT_UA, "current_ua", "µA"),
    (battery_counters::CURRENT_AVG_UA, "current.avg_ua", "µA"),
    (battery_counters::VOLTAGE_UV, "voltage_uv", "µV"),
];

/// The idle state of a CPU that has left its state, which the kernel writes as [`u32::MAX`].
const NOT_IDLE: f64 = -1.0;

/// Returns the owners, names, units and values of the counters of an event.
pub(super) fn counter_values<'e>(
    event: &'e KernelEvent<'e>,
) -> impl Iterator<Item = (CounterOwner, String, &'static str, f64)> + 'e {
    let rows = COUNTERS.iter().filter(|row| row.event == event.number);
    rows.flat_map(|row| row.counters.iter().map(move |counter| (row.owner, counter))).map(|(owner, counter)| {
        let value = event.bytes.signed(counter.value);
        let has_left_idle = event.number == ftrace_event::CPU_IDLE && value == i64::from(u32::MAX);
        let value = if has_left_idle { NOT_IDLE } else { value as f64 };
        (owner, event.name(&counter.name), counter.unit, value)
    })
}

/// Returns whether an event has counters.
pub(super) fn has_counters(event: FieldNumber) -> bool {
    COUNTERS.iter().any(|row| row.event == event)
}

/// Returns a driver marker as the text of a program marker; `None` for other events.
pub(super) fn marker_text(event: FieldNumber, tid: i64, bytes: &[u8]) -> Option<Vec<u8>> {
    let parts = MARKERS.iter().find(|marker| marker.event == event)?;
    let number = |field: Option<FieldNumber>| field.and_then(|field| bytes.value(field)).map(ProtoValue::signed);
    let begins = number(parts.begins).is_some_and(|begins| begins != 0);
    let letter = number(parts.letter).and_then(|letter| u8::try_from(letter).ok()).filter(|&letter| letter != 0);
    let letter = letter.unwrap_or(if begins { b'B' } else { b'E' });
    let pid = number(Some(parts.pid)).unwrap_or(tid);
    let name = bytes.content(parts.name).unwrap_or_default();
    let mut text = [&[letter, b'|'], pid.to_string().as_bytes(), b"|", name].concat();
    if letter == b'C' {
        text.extend_from_slice(format!("|{}", number(parts.value).unwrap_or(0)).as_bytes());
    }
    Some(text)
}

/// Returns the names, units and values of the counters of a battery, which may have a name.
pub(super) fn battery_values(bytes: &[u8]) -> impl Iterator<Item = (String, &'static str, f64)> {
    let name = bytes.text(battery_counters::NAME);
    let dot = if name.is_empty() { "" } else { "." };
    BATTERY.iter().filter_map(move |&(field, what, unit)| {
        let value = match bytes.value(field)? {
            ProtoValue::Fixed32(bits) => f64::from(f32::from_bits(bits)),
            value => value.signed() as f64,
        };
        value.is_finite().then(|| (format!("batt.{name}{dot}{what}"), unit, value))
    })
}
