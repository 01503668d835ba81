//! Compares field numbers with the public definitions, in tables that `tests/proto/proto_fields.py` and
//! `pprof_fields.py` generate.

use std::collections::{HashMap, HashSet};

use crate::formats::profiles::pprof;
use crate::formats::{otlp, perfetto};

const TABLES: [&str; 2] =
    [include_str!("../../../tests/proto/proto_fields.csv"), include_str!("../../../tests/proto/pprof_fields.csv")];

/// Returns the rows of the tables: message or enum, field or value, number.
fn rows() -> impl Iterator<Item = (&'static str, &'static str, u32)> {
    TABLES.iter().flat_map(|table| table.lines().skip(1)).map(|line| {
        let mut cells = line.split(',');
        let mut next = || cells.next().expect("three cells");
        let (message, field, number) = (next(), next(), next());
        (message, field, number.parse().expect("a number"))
    })
}

/// Returns the numbers that the code names: message or enum, constant, number.
fn named() -> Vec<(&'static str, &'static str, u32)> {
    [
        perfetto::fields::ALL,
        perfetto::kernel_fields::ALL,
        perfetto::statistics_fields::ALL,
        perfetto::device_fields::ALL,
        perfetto::packet_fields::ALL,
        otlp::fields::ALL,
        pprof::fields::ALL,
    ]
    .concat()
}

fn numbers() -> HashMap<(&'static str, String), u32> {
    rows().map(|(message, field, number)| ((message, field.to_uppercase()), number)).collect()
}

#[test]
fn every_constant_has_the_number_of_the_public_definitions() {
    let numbers = numbers();
    let all = named();
    assert!(all.len() > 250, "{}", all.len());
    for (message, name, number) in all {
        assert_eq!(numbers.get(&(message, name.to_owned())), Some(&number), "{message}.{name}");
    }
}

#[test]
fn the_fields_that_this_program_adds_are_free_in_their_messages() {
    for &(message, name, number) in &[perfetto::own_fields::ALL, pprof::own_fields::ALL].concat() {
        let mut fields = rows().filter(|(of, ..)| *of == message).peekable();
        assert!(fields.peek().is_some(), "{message}");
        assert!(fields.all(|(_, field, other)| (field.to_uppercase() != name) && other < number), "{message}.{name}");
    }
}

#[test]
fn the_table_holds_the_messages_that_are_used_and_no_others() {
    let named = named().into_iter().map(|(message, ..)| message);
    // Also the messages that are decoded with the numbers of another message.
    let alike = IIDS.iter().map(|&(message, _)| message).chain(WAKINGS).chain(PAIRS.map(|(message, _)| message));
    let used: HashSet<&str> = named.chain(alike).collect();
    let held: HashSet<&str> = rows().map(|(message, ..)| message).collect();
    assert_eq!(used.symmetric_difference(&held).collect::<Vec<_>>(), [] as [&&str; 0]);
}

/// Messages of interned texts and their text fields: all are decoded like the last one.
const IIDS: [(&str, &str); 8] = [
    ("perfetto.protos.InternedGpuRenderStageSpecification", "NAME"),
    ("perfetto.protos.EventCategory", "NAME"),
    ("perfetto.protos.EventName", "NAME"),
    ("perfetto.protos.DebugAnnotationName", "NAME"),
    ("perfetto.protos.DebugAnnotationValueTypeName", "NAME"),
    ("perfetto.protos.LogMessageBody", "BODY"),
    ("perfetto.protos.HistogramName", "NAME"),
    ("perfetto.protos.InternedString", "STR"),
];

/// Messages that are decoded with the numbers of another message.
const PAIRS: [(&str, &str); 21] = [
    ("perfetto.protos.VirtioGpuCmdResponseFtraceEvent", "perfetto.protos.VirtioGpuCmdQueueFtraceEvent"),
    ("perfetto.protos.PanelWriteGenericFtraceEvent", "perfetto.protos.DpuTracingMarkWriteFtraceEvent"),
    ("perfetto.protos.ClockEnableFtraceEvent", "perfetto.protos.ClockSetRateFtraceEvent"),
    ("perfetto.protos.ClockDisableFtraceEvent", "perfetto.protos.ClockSetRateFtraceEvent"),
    ("perfetto.protos.SoftirqExitFtraceEvent", "perfetto.protos.SoftirqEntryFtraceEvent"),
    ("perfetto.protos.V4l2DqbufFtraceEvent", "perfetto.protos.V4l2QbufFtraceEvent"),
    ("perfetto.protos.DmaFenceWaitEndFtraceEvent", "perfetto.protos.DmaFenceWaitStartFtraceEvent"),
    ("perfetto.protos.DmaFenceEmitFtraceEvent", "perfetto.protos.DmaFenceInitFtraceEvent"),
    ("perfetto.protos.DmaFenceSignaledFtraceEvent", "perfetto.protos.DmaFenceInitFtraceEvent"),
    ("perfetto.protos.NetDevXmitFtraceEvent", "perfetto.protos.NetifReceiveSkbFtraceEvent"),
    ("perfetto.protos.VirtioVideoCmdDoneFtraceEvent", "perfetto.protos.VirtioVideoCmdFtraceEvent"),
    ("perfetto.protos.VirtioVideoResourceQueueDoneFtraceEvent", "perfetto.protos.VirtioVideoResourceQueueFtraceEvent"),
    ("perfetto.protos.BlockIoDoneFtraceEvent", "perfetto.protos.BlockIoStartFtraceEvent"),
    ("perfetto.protos.BlockRqIssueFtraceEvent", "perfetto.protos.BlockIoStartFtraceEvent"),
    ("perfetto.protos.BlockRqCompleteFtraceEvent", "perfetto.protos.BlockIoStartFtraceEvent"),
    ("perfetto.protos.WakeupSourceDeactivateFtraceEvent", "perfetto.protos.WakeupSourceActivateFtraceEvent"),
    ("perfetto.protos.AndroidFsDatawriteStartFtraceEvent", "perfetto.protos.AndroidFsDatareadStartFtraceEvent"),
    ("perfetto.protos.AndroidFsDatawriteEndFtraceEvent", "perfetto.protos.AndroidFsDatareadEndFtraceEvent"),
    ("perfetto.protos.I2cWriteFtraceEvent", "perfetto.protos.I2cReadFtraceEvent"),
    ("perfetto.protos.DevicePmCallbackEndFtraceEvent", "perfetto.protos.DevicePmCallbackStartFtraceEvent"),
    ("perfetto.protos.SysStats.VmstatValue", "perfetto.protos.SysStats.MeminfoValue"),
];

/// Wakeup messages: all are decoded like the last one.
const WAKINGS: [&str; 3] = [
    "perfetto.protos.SchedWakeupFtraceEvent",
    "perfetto.protos.SchedWakeupNewFtraceEvent",
    "perfetto.protos.SchedWakingFtraceEvent",
];

#[test]
fn messages_that_are_read_as_one_have_the_same_numbers() {
    let numbers = numbers();
    let of = |message: &'static str, name: &str| numbers.get(&(message, name.to_owned())).copied();
    for (message, text) in IIDS {
        assert_eq!(of(message, "IID"), of("perfetto.protos.InternedString", "IID"), "{message}");
        assert_eq!(of(message, text), of("perfetto.protos.InternedString", "STR"), "{message}");
    }
    let tables = [
        "perfetto.protos.Callstack",
        "perfetto.protos.Frame",
        "perfetto.protos.Mapping",
        "perfetto.protos.InternedGraphicsContext",
        "perfetto.protos.InternedGpuCounterDescriptor",
        "perfetto.protos.NetworkPacketContext",
        "perfetto.protos.AppWakelockInfo",
    ];
    for message in tables {
        assert_eq!(of(message, "IID"), of("perfetto.protos.InternedString", "IID"), "{message}");
    }
    let decoded =
        [perfetto::kernel_fields::ALL, perfetto::statistics_fields::ALL, perfetto::device_fields::ALL].concat();
    for (message, counterpart) in PAIRS {
        let fields: Vec<_> = decoded.iter().filter(|(of, ..)| *of == counterpart).collect();
        assert!(!fields.is_empty(), "{counterpart}");
        for (_, field, number) in fields {
            assert_eq!(of(message, field), Some(*number), "{message}.{field}");
        }
    }
    for message in WAKINGS {
        for field in ["COMM", "PID"] {
            assert_eq!(of(message, field), of("perfetto.protos.SchedWakingFtraceEvent", field), "{message}");
        }
    }
}
