//! Reads facts from packets that describe the system, its processes, and programs of Chromium.

use super::clocks::{Clocks, Time};
use super::fields::{
    builtin_clock, chrome_process_descriptor, process_descriptor, process_tree, process_tree_process, system_info,
    trace_packet, track_descriptor, utsname,
};
use crate::formats::protobuf::decode::ProtoValue;
use crate::formats::protobuf::message::ProtoMessage as _;
use crate::formats::protobuf::numbers::FieldNumber;
use crate::model::facts::{START_TS, Subject, TraceFact};
use crate::model::{Id, Metadata};

const BYTES_PER_GB: i64 = 1_000_000_000;

/// Texts about the system, with Perfetto's names.
const SYSTEM_NAMES: &[(FieldNumber, &str)] = &[
    (utsname::SYSNAME, "system_name"),
    (utsname::VERSION, "system_version"),
    (utsname::RELEASE, "system_release"),
    (utsname::MACHINE, "system_machine"),
];
const SYSTEM_TEXTS: &[(FieldNumber, &str)] = &[
    (system_info::ANDROID_BUILD_FINGERPRINT, "android_build_fingerprint"),
    (system_info::ANDROID_DEVICE_MANUFACTURER, "android_device_manufacturer"),
    (system_info::ANDROID_SOC_MODEL, "android_soc_model"),
    (system_info::ANDROID_HARDWARE_REVISION, "android_hardware_revision"),
    (system_info::ANDROID_STORAGE_MODEL, "android_storage_model"),
    (system_info::ANDROID_RAM_MODEL, "android_ram_model"),
    (system_info::TRACING_SERVICE_VERSION, "tracing_service_version"),
];
const SYSTEM_NUMBERS: &[(FieldNumber, &str)] = &[
    (system_info::ANDROID_SDK_VERSION, "android_sdk_version"),
    (system_info::TIMEZONE_OFF_MINS, "timezone_off_mins"),
    (system_info::SYSTEM_RAM_BYTES, "system_ram_bytes"),
];

/// Returns the facts in a packet. Times are converted to the clock of the trace.
pub(super) fn facts(kind: FieldNumber, bytes: &[u8], sequence: u32, clocks: &mut Clocks) -> Vec<Metadata> {
    let facts = match kind {
        trace_packet::SYSTEM_INFO => system(bytes),
        trace_packet::PROCESS_TREE => {
            bytes.repeated(process_tree::PROCESSES).flat_map(|bytes| process(bytes, sequence, clocks)).collect()
        }
        trace_packet::TRACK_DESCRIPTOR => chrome_process(bytes),
        _ => Vec::new(),
    };
    facts.into_iter().map(|fact| Metadata::Fact { fact: Box::new(fact) }).collect()
}

fn system(bytes: &[u8]) -> Vec<TraceFact> {
    let names = bytes.content(system_info::UTSNAME).unwrap_or_default();
    let names = SYSTEM_NAMES.iter().map(|row| (names, row)).chain(SYSTEM_TEXTS.iter().map(|row| (bytes, row)));
    let text = |(bytes, &(field, key)): (&[u8], &(FieldNumber, &str))| {
        bytes.content(field).map(|_| TraceFact::text(Subject::Recording, key, &bytes.text(field)))
    };
    let number = |&(field, key): &(FieldNumber, &str)| {
        Some(TraceFact::number(Subject::Recording, key, bytes.value(field)?.signed()))
    };
    let memory = bytes.value(system_info::SYSTEM_RAM_BYTES).map(|bytes| {
        // As sold: a phone with 11.9 GB has 12.
        let gigabytes = bytes.signed().saturating_add(BYTES_PER_GB - 1).div_euclid(BYTES_PER_GB);
        TraceFact::number(Subject::Recording, "system_ram_gb", gigabytes)
    });
    names.filter_map(text).chain(SYSTEM_NUMBERS.iter().filter_map(number)).chain(memory).collect()
}

fn process(bytes: &[u8], sequence: u32, clocks: &mut Clocks) -> Vec<TraceFact> {
    let subject = Subject::Process(Id::Number(bytes.signed(process_tree_process::PID)));
    let number = |field| bytes.value(field).map(ProtoValue::signed);
    let command: Vec<_> = bytes.repeated(process_tree_process::CMDLINE).map(String::from_utf8_lossy).collect();
    let mut facts = Vec::new();
    if !command.is_empty() {
        facts.push(TraceFact::text(subject.clone(), "cmdline", &command.join(" ")));
    }
    let begun = number(process_tree_process::PROCESS_START_FROM_BOOT).and_then(|ns| u64::try_from(ns).ok());
    let begun = begun.filter(|&ns| ns > 0).map(|ns| clocks.time(sequence, Some(builtin_clock::BOOTTIME), ns));
    // Without a path to the clock of the trace, the time would be wrong.
    if let Some(Time::Known(start_ns)) = begun {
        facts.push(TraceFact::number(subject.clone(), START_TS, start_ns));
    }
    let keys = [(process_tree_process::UID, "uid"), (process_tree_process::IS_KTHREAD, "is_kthread")];
    facts.extend(
        keys.into_iter().filter_map(|(field, key)| Some(TraceFact::number(subject.clone(), key, number(field)?))),
    );
    facts
}

fn chrome_process(bytes: &[u8]) -> Vec<TraceFact> {
    let process = bytes.content(track_descriptor::PROCESS).map(|process| process.signed(process_descriptor::PID));
    let program = bytes.content(track_descriptor::CHROME_PROCESS).unwrap_or_default();
    let app = program.content(chrome_process_descriptor::HOST_APP_PACKAGE_NAME);
    let (Some(pid), Some(app)) = (process, app) else { return Vec::new() };
    let subject = Subject::Process(Id::Number(pid));
    vec![TraceFact::text(subject, "chrome.host_app_package_name", &String::from_utf8_lossy(app))]
}
