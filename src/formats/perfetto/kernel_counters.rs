//! Kernel events that are values of counters, and the markers of drivers, by tables: which fields of an event are what.
//! Also the counters of batteries, which are packets of their own.

use super::kernel_fields::{
    battery_counters, cpu_frequency_limits_event, cpu_idle_event, cpu_util_event, dpu_mark_event, ftrace_event,
    g2d_mark_event, gpu_frequency_event, lwis_mark_event, mali_mark_event, mark_event, samsung_mark_event,
    sde_mark_event,
};
use crate::formats::protobuf::decode::{Fields, ProtoValue};
use crate::formats::protobuf::numbers::FieldNumber;

/// An event whose fields are values of counters of one CPU or device.
struct KernelCounters {
    event: FieldNumber,
    /// The number of the CPU or device.
    of: FieldNumber,
    /// Fields, and the names of their counters before and after that number.
    values: &'static [(FieldNumber, &'static str, &'static str)],
}

const COUNTERS: &[KernelCounters] = &[
    KernelCounters {
        event: ftrace_event::CPU_IDLE,
        of: cpu_idle_event::CPU_ID,
        values: &[(cpu_idle_event::STATE, "CPU ", " idle state")],
    },
    KernelCounters {
        event: ftrace_event::CPU_FREQUENCY_LIMITS,
        of: cpu_frequency_limits_event::CPU_ID,
        values: &[
            (cpu_frequency_limits_event::MAX_FREQ, "Cpu ", " Max Freq Limit"),
            (cpu_frequency_limits_event::MIN_FREQ, "Cpu ", " Min Freq Limit"),
        ],
    },
    KernelCounters {
        event: ftrace_event::SCHED_CPU_UTIL_CFS,
        of: cpu_util_event::CPU,
        values: &[
            (cpu_util_event::CPU_UTIL, "Cpu ", " Util"),
            (cpu_util_event::CAPACITY, "Cpu ", " Cap"),
            (cpu_util_event::NR_RUNNING, "Cpu ", " Nr Running"),
        ],
    },
    KernelCounters {
        event: ftrace_event::GPU_FREQUENCY,
        of: gpu_frequency_event::GPU_ID,
        values: &[(gpu_frequency_event::STATE, "GPU ", " frequency (kHz)")],
    },
];

/// A marker of a driver: the fields that are the parts of the markers that programs write.
struct DriverMarker {
    event: FieldNumber,
    pid: FieldNumber,
    name: FieldNumber,
    /// The letter of the kind of marker.
    letter: Option<FieldNumber>,
    /// Where there is no letter: whether a span begins.
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

/// The fields of a battery and the names of their counters.
const BATTERY: &[(FieldNumber, &str)] = &[
    (battery_counters::CHARGE_COUNTER_UAH, "charge_uah"),
    (battery_counters::CAPACITY_PERCENT, "capacity_pct"),
    (battery_counters::CURRENT_UA, "current_ua"),
    (battery_counters::CURRENT_AVG_UA, "current.avg_ua"),
    (battery_counters::VOLTAGE_UV, "voltage_uv"),
];

/// The names and values of the counters of an event; `None` if it is no event of counters.
pub(super) fn counter_values(event: FieldNumber, bytes: &[u8]) -> Option<impl Iterator<Item = (String, f64)>> {
    let counters = COUNTERS.iter().find(|counters| counters.event == event)?;
    let of = last(bytes, counters.of).map_or(0, ProtoValue::number);
    Some(counters.values.iter().map(move |&(field, before, after)| {
        let value = last(bytes, field).map_or(0, ProtoValue::number);
        // The largest number means that the CPU left its rest.
        let value = if value == u64::from(u32::MAX) { -1.0 } else { value as f64 };
        (format!("{before}{of}{after}"), value)
    }))
}

/// The text that a program would write for the marker of a driver; `None` if the event is none.
pub(super) fn marker_text(event: FieldNumber, tid: i64, bytes: &[u8]) -> Option<Vec<u8>> {
    let parts = MARKERS.iter().find(|marker| marker.event == event)?;
    let number = |field: Option<FieldNumber>| field.and_then(|field| last(bytes, field)).map(ProtoValue::signed);
    let begins = number(parts.begins).is_some_and(|begins| begins != 0);
    let letter = number(parts.letter).and_then(|letter| u8::try_from(letter).ok()).filter(|&letter| letter != 0);
    let letter = letter.unwrap_or(if begins { b'B' } else { b'E' });
    let pid = number(Some(parts.pid)).unwrap_or(tid);
    let name = last(bytes, parts.name).map_or(&b""[..], ProtoValue::bytes);
    let mut text = [&[letter, b'|'], pid.to_string().as_bytes(), b"|", name].concat();
    if letter == b'C' {
        text.extend_from_slice(format!("|{}", number(parts.value).unwrap_or(0)).as_bytes());
    }
    Some(text)
}

/// The names and values of the counters of a battery, which may have a name.
pub(super) fn battery_values(bytes: &[u8]) -> impl Iterator<Item = (String, f64)> {
    let name = String::from_utf8_lossy(last(bytes, battery_counters::NAME).map_or(&b""[..], ProtoValue::bytes));
    let dot = if name.is_empty() { "" } else { "." };
    BATTERY.iter().filter_map(move |&(field, what)| {
        let value = match last(bytes, field)? {
            ProtoValue::Fixed32(bits) => f64::from(f32::from_bits(bits)),
            value => value.signed() as f64,
        };
        value.is_finite().then(|| (format!("batt.{name}{dot}{what}"), value))
    })
}

/// The last value of a field.
fn last(bytes: &[u8], field: FieldNumber) -> Option<ProtoValue<'_>> {
    Fields::new(bytes).filter(|found| found.number == field).last().map(|found| found.value)
}
