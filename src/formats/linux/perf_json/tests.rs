//! Tests of the whole reader, against the reader of the perf.data file that a document was converted from.

use super::UNTIMED_NS;
use crate::formats::output::batch::STACK_FRAMES_MAX;
use crate::formats::testing::{ReadEvent, Reading, data, format_of, read, read_bytes, read_path};
use crate::model::{EventKind, Id, Loss, Metadata, TrackKind};

const HEAD: &str = r#"{"linux-perf-json-version": 1, "headers": {"arch": "x86_64"}, "samples": ["#;

/// Writes a document of these samples, the members of an object each.
fn document(samples: &[&str]) -> String {
    let objects: Vec<String> = samples.iter().map(|members| format!("{{{members}}}")).collect();
    format!("{HEAD}{}]}}\n", objects.join(", "))
}

/// Returns time, process, thread and stack depth of samples.
fn samples_of(reading: &Reading) -> Vec<(i64, Id, Id, usize)> {
    let samples = reading.events.iter().filter(|event| event.kind == EventKind::Sample);
    let row = |event: &ReadEvent| (event.ts_ns, event.track.pid.clone(), event.track.tid.clone(), event.stack.len());
    let mut samples: Vec<_> = samples.map(row).collect();
    samples.sort();
    samples
}

/// Returns the last kernel name of each thread with a name.
fn names_of(reading: &Reading) -> std::collections::BTreeMap<Id, String> {
    let names = reading.metadata.iter().filter_map(|said| match said {
        Metadata::KernelName { tid, name, .. } => Some((tid.clone(), name.to_string())),
        _ => None,
    });
    names.collect()
}

#[test]
fn samples_and_threads_are_those_of_the_file_that_was_converted() {
    let converted = read_path(&data("perf_events.json.gz")).expect("a capture");
    let recorded = read_path(&data("perf_events.data.gz")).expect("a capture");
    assert_eq!(samples_of(&converted).len(), 191);
    // Both sides have the same callers; tracepoints without any are events only in the recording.
    let deep = |reading: &Reading| {
        let samples = samples_of(reading).into_iter();
        samples.filter(|(.., depth)| *depth > 1).collect::<Vec<_>>()
    };
    assert_eq!(deep(&converted), deep(&recorded));
    assert_eq!(deep(&converted).len(), 86);
    let (names, all) = (names_of(&converted), names_of(&recorded));
    assert!(!names.is_empty() && names.iter().all(|(tid, name)| all.get(tid) == Some(name)), "{names:?} {all:?}");
    assert_eq!(converted.lost(), []);
}

#[test]
fn frames_beyond_the_limit_are_counted() {
    let frames = vec![r#"{"symbol":"f"}"#; STACK_FRAMES_MAX + 3].join(",");
    let reading = read(&document(&[&format!(r#""timestamp": 5, "pid": 7, "tid": 8, "callchain": [{frames}]"#)]));
    assert_eq!(reading.events[0].stack.len(), STACK_FRAMES_MAX);
    assert_eq!(reading.lost(), [(Loss::DeepNesting, 3)]);
}

#[test]
fn frames_have_the_names_of_functions_and_files_and_addresses_without_them() {
    let reading =
        read(&document(&[r#""timestamp": 5, "pid": 7, "tid": 8, "cpu": 1, "comm": "a \"b\"\n", "callchain": [
            {"ip": "0x7f10", "symbol": "f<int>", "dso": "libc.so.6"}, {"ip": "0x20", "symbol": "g"},
            {"ip": "0x30", "dso": "[vdso]"}, {"ip": "0x0"}, {}]"#]));
    let [sample] = &reading.events[..] else { panic!("one event") };
    assert_eq!(sample.stack, ["[unknown]", "0x0", "[vdso]", "g", "f<int>"]);
    let modules: Vec<_> = sample.modules.iter().map(Option::as_deref).collect();
    assert_eq!(modules, [None, None, Some("[vdso]"), None, Some("libc.so.6")]);
    assert_eq!((sample.ts_ns, &*sample.args), (5, r#"{"cpu":1}"#));
    assert_eq!((&sample.track.pid, &sample.track.tid), (&Id::Number(7), &Id::Number(8)));
    assert_eq!(names_of(&reading)[&Id::Number(8)], "a \"b\"\n");
    assert_eq!(reading.lost(), []);
}

#[test]
fn fields_after_the_stack_make_scheduling_system_calls_and_instants() {
    let one = r#""callchain": [{"ip": "0x1"}]"#;
    let two = r#""callchain": [{"ip": "0x1", "symbol": "f"}, {"ip": "0x2", "symbol": "g"}]"#;
    let of = |ts: u32, tid: u32, stack: &str, fields: &str| {
        format!(r#""timestamp": {ts}, "pid": {tid}, "tid": {tid}, "cpu": 0, "comm": "c{tid}", {stack}, {fields}"#)
    };
    let switch = r#""prev_comm": "c7", "prev_pid": "7", "prev_prio": "120", "prev_state": "1", "next_comm": "c9", "next_pid": "9", "next_prio": "98""#;
    let lines = [
        of(10, 7, one, switch),
        of(12, 9, two, r#""comm": "c7", "pid": "7", "prio": "120", "target_cpu": "0""#),
        of(14, 9, one, r#""id": "0", "args": "ARRAY[01]""#),
        of(15, 9, one, r#""id": "0", "ret": "3""#),
        of(16, 9, one, r#""__syscall_nr": "1", "fd": "3""#),
        of(17, 9, two, r#""__syscall_nr": "1", "ret": "-9""#),
        of(18, 9, one, r#""dev": "0x10", "len": "-4", "text": "a \"b\"", "more": "007""#),
        of(20, 9, one, &switch.replace("c7", "x").replace("\"9\"", "\"0\"").replace("\"7\"", "\"9\"")),
    ];
    let reading = read(&document(&lines.iter().map(String::as_str).collect::<Vec<_>>()));
    let of_kind = |kind: EventKind| {
        let events = reading.events.iter().filter(move |event| event.kind == kind);
        events.map(|event| (event.ts_ns, &*event.name, &*event.args)).collect::<Vec<_>>()
    };
    let run = (10, "c9", r#"{"pid":9,"tid":9,"prio":98,"end_state":"S"}"#);
    assert_eq!(of_kind(EventKind::Complete), [run]);
    let states: Vec<_> = of_kind(EventKind::State).into_iter().map(|(ts_ns, name, _)| (ts_ns, name)).collect();
    let expected = [(10, "Sleeping"), (10, "Running"), (12, "Runnable"), (20, "Sleeping")];
    assert_eq!(states, expected);
    let begins = [
        (14, "sys_read", r#"{"id":0,"args":"ARRAY[01]","cpu":0}"#),
        (16, "sys_write", r#"{"__syscall_nr":1,"fd":3,"cpu":0}"#),
    ];
    assert_eq!(of_kind(EventKind::Begin), begins);
    assert_eq!(of_kind(EventKind::End).iter().map(|end| end.0).collect::<Vec<_>>(), [15, 17]);
    let other = r#"{"dev":"0x10","len":-4,"text":"a \"b\"","more":"007","cpu":0}"#;
    assert_eq!(of_kind(EventKind::Instant), [(18, "(unnamed event)", other)]);
    // A tracepoint is also a sample if it has callers.
    let wakeup = r#"{"event":"sched:sched_wakeup","comm":"c7","pid":7,"prio":120,"target_cpu":0,"cpu":0}"#;
    assert_eq!(of_kind(EventKind::Sample), [(12, "", wakeup), (17, "", r#"{"event":"sys_write","cpu":0}"#)]);
    assert!(reading.events.iter().any(|event| event.track.kind == TrackKind::Cpu));
    assert_eq!(reading.lost(), []);
}

#[test]
fn damage_costs_its_own_sample_or_frame_only() {
    let stack = r#""callchain": [{"ip": "0x1", "symbol": "f"}]"#;
    let long = format!(r#""timestamp": 8, "tid": 3, "callchain": [{{"symbol": "{}"}}]"#, "n".repeat(500));
    let reading = read(&document(&[
        &format!(r#""timestamp": "5", "pid": "7", "tid": "8", {stack}"#),
        &format!(r#""timestamp": "x", "pid": 7, "tid": 8, {stack}"#),
        &format!(r#""pid": 7, "tid": 8, {stack}"#),
        &format!(r#""timestamp": 6, {stack}"#),
        r#""timestamp": -9, "pid": 7, "callchain": [7, {"symbol": "g"}, {"symbol": 8}]"#,
        r#""timestamp": 7, "tid": 8, "callchain": {}"#,
        &long,
    ]));
    let seen: Vec<_> = reading.events.iter().map(|event| (event.ts_ns, event.stack.concat().len())).collect();
    assert_eq!(seen, [(-9, 1), (5, 1), (7, 0), (8, 500)]);
    assert_eq!(reading.lost(), [(Loss::BadTime, 2), (Loss::BadRecord, 4)]);
    let text = document(&[&format!(r#""timestamp": 1, "tid": 1, {stack}"#)]).replacen("[{", "[17, {\"a\" 1}, {", 1);
    let reading = read(&text);
    assert_eq!((reading.events.len(), reading.lost()), (1, vec![(Loss::BadRecord, 2)]));
}

#[test]
fn samples_without_times_are_apart_or_at_the_time_before() {
    let of = |ts: i64| format!(r#""timestamp": {ts}, "pid": 7, "tid": 7, "callchain": []"#);
    let times = |written: &[i64]| {
        let lines: Vec<String> = written.iter().map(|&ts| of(ts)).collect();
        let reading = read(&document(&lines.iter().map(String::as_str).collect::<Vec<_>>()));
        (reading.events.iter().map(|event| event.ts_ns).collect::<Vec<_>>(), reading.lost())
    };
    let apart = [1, 2, 3].map(|number| number * UNTIMED_NS).to_vec();
    assert_eq!(times(&[-1, -1, -1]), (apart, vec![(Loss::NoTimes, 1)]));
    assert_eq!(times(&[5, -1, 9]), (vec![5, 5, 9], vec![]));
    let unknown = read(&document(&[r#""timestamp": 1, "pid": -1, "tid": -1, "comm": ":-1", "callchain": []"#]));
    assert!(names_of(&unknown).is_empty());
}

#[test]
fn a_document_that_is_cut_anywhere_keeps_the_samples_before_the_cut() {
    let text = document(
        &[1, 2, 3]
            .map(|ts| {
                format!(r#""timestamp": {ts}, "pid": 7, "tid": 7, "callchain": [{{"ip": "0x1"}}], "len": "{ts}""#)
            })
            .each_ref()
            .map(String::as_str),
    );
    let ends: Vec<usize> = text
        .match_indices("\"}")
        .map(|(at, _)| at + 2)
        .filter(|&end| end > HEAD.len() && text[end..].starts_with([',', ']']))
        .collect();
    for len in HEAD.len()..text.len() - 2 {
        let reading = read_bytes(&text.as_bytes()[..len]).expect("a part");
        let whole = ends.iter().filter(|&&end| end <= len && text[end..].starts_with([',', ']'])).count();
        let events = reading.events.iter().filter(|event| event.kind == EventKind::Instant).count();
        assert!(events <= 3 && (events == 3 || events <= whole), "{len}: {events} of {whole}");
        assert_eq!(reading.losses.count(Loss::Truncated), 1, "{len}");
    }
    assert!(read_bytes(&text.as_bytes()[..40]).is_err(), "without samples");
}

#[test]
fn empty_recordings_have_no_events_and_other_keys_are_refused() {
    assert_eq!(read(&document(&[])).events.len(), 0);
    let marked =
        format!("\u{feff}{}", document(&[r#""timestamp": 1, "tid": 1, "callchain": []"#]).replace(' ', "\r\n"));
    assert_eq!(read(&marked).events.len(), 1);
    assert_eq!(format_of(br#"{"linux-perf-json-version":1,"traceEvents":[]}"#), Some("Chrome JSON"));
    assert!(read_bytes(br#"{"linux-perf-json-version":1,"headers":{}}"#).is_err());
    let reading = read(&format!("{}{}", document(&[r#""timestamp": 1, "tid": 1, "callchain": []"#]), document(&[])));
    assert_eq!((reading.events.len(), reading.lost()), (1, vec![(Loss::TrailingData, 1)]));
}

/// perf writes each byte from 0x80 as a negative number, where `char` has a sign.
#[test]
fn bytes_that_perf_writes_as_negative_numbers_are_text_again() {
    let reading = read(&document(&[
        r#""timestamp": 5, "pid": 7, "tid": 7, "comm": "na\uffffffc3\uffffffafve", "callchain": [
            {"ip": "0x1", "symbol": "f\uffffffe2\uffffff82\uffffffac", "dso": "l\uffffffc3\uffffffa9.so"}, {"ip": "0x2", "symbol": "\uffffx"}],
            "filename": "\uffffffc3\uffffffa4""#,
    ]));
    let sample = &reading.events[1];
    assert_eq!(sample.stack, ["\u{ffff}x", "f\u{20ac}"]);
    assert_eq!(sample.modules[1].as_deref(), Some("l\u{e9}.so"));
    assert_eq!(names_of(&reading)[&Id::Number(7)], "na\u{ef}ve");
    assert!(reading.events[0].args.contains("\u{e4}"), "{}", reading.events[0].args);
    assert_eq!(reading.lost(), []);
}

#[test]
fn the_clocks_of_the_header_give_the_time_of_day() {
    let clocks = r#""arch": "x86_64", "clockid": 1, "clock-time": 1000, "real-time": 1700000000000001000"#;
    let text =
        document(&[r#""timestamp": 5, "pid": 7, "tid": 7, "callchain": []"#]).replace(r#""arch": "x86_64""#, clocks);
    let utc = |reading: &Reading| reading.metadata.contains(&Metadata::Utc { offset_ns: 1_700_000_000_000_000_000 });
    assert!(utc(&read(&text)));
    assert!(!utc(&read(&text.replace("real-time", "no-time"))));
}
