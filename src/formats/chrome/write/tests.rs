//! Tests of the written lines.

use super::*;
use crate::model::frame_sources::FrameSources;
use crate::model::{Metadata, Registry, TrackIdx, TrackKey};

/// Returns tables with one track of each kind, and a few names.
fn tables() -> (Names, Registry, [TrackIdx; 5]) {
    let mut names = Names::default();
    names.intern("plain", None);
    names.intern("say \"hi\"\n", Some("c\\d"));
    let mut registry = Registry::default();
    let (pid, tid) = (Id::Number(1), Id::Text("worker é".into()));
    let kinds = [TrackKind::Global, TrackKind::Process, TrackKind::Thread, TrackKind::Async, TrackKind::Counter];
    let tracks = kinds.map(|kind| {
        let pid = if kind == TrackKind::Global { Id::None } else { pid.clone() };
        let tid = if kind == TrackKind::Thread { tid.clone() } else { Id::None };
        let name = if kind == TrackKind::Counter { "plain[7] free" } else { "" };
        registry.track(&TrackKey { kind, pid, tid, name: name.into(), slot: 0 }).unwrap()
    });
    registry.apply(&Metadata::ProcessName { pid: pid.clone(), name: "p".into() });
    registry.apply(&Metadata::ProcessLabels { pid: pid.clone(), labels: "l".into() });
    registry.apply(&Metadata::ProcessSortIndex { pid: pid.clone(), sort_index: -3 });
    registry.apply(&Metadata::ThreadName { pid: pid.clone(), tid: tid.clone(), name: "t".into() });
    registry.apply(&Metadata::ThreadSortIndex { pid, tid, sort_index: 4 });
    (names, registry, tracks)
}

fn event(kind: EventKind, track: TrackIdx) -> Event {
    let (name, flags) = (NameIdx(1), EventFlags::NONE);
    Event { ts_ns: 1_234_567, value: 0x2a, track, name, detail: 0, depth: 0, kind, flags }
}

fn written(events: &[(Event, Vec<u8>)]) -> (Vec<String>, serde_json::Value) {
    let (names, registry, _) = tables();
    let stacks = Stacks::default();
    let mut writer =
        ChromeJsonWriter::new(Vec::new(), &names, (&stacks, FrameSources::NONE), registry.tables()).unwrap();
    events.iter().for_each(|(event, blob)| writer.event(event, blob).unwrap());
    let text = String::from_utf8(writer.finish().unwrap()).unwrap();
    let lines = text.lines().filter(|line| line.starts_with("{\"ph\":") && !line.starts_with("{\"ph\":\"M\""));
    (lines.map(|line| line.trim_end_matches(',').to_owned()).collect(), serde_json::from_str(&text).unwrap())
}

fn line(event: Event, detail: &Detail<'_>) -> String {
    let mut blob = Vec::new();
    if !detail.is_empty() {
        detail.encode_into(&mut blob);
    }
    written(&[(event, blob)]).0.remove(0)
}

#[test]
fn each_kind_of_event_has_its_letter_and_its_members() {
    let [global, process, thread, asynchronous, counter] = tables().2;
    let nothing = Detail::default();
    let is = |event: Event, expected: &str| assert_eq!(line(event, &nothing), expected);
    let on_thread = r#""pid":1,"tid":"worker é","ts":1234.567,"name":"plain""#;
    is(event(EventKind::Complete, thread), &format!(r#"{{"ph":"X",{on_thread},"dur":0.042}}"#));
    let endless = Event { flags: EventFlags::UNFINISHED, ..event(EventKind::Complete, thread) };
    is(endless, &format!(r#"{{"ph":"B",{on_thread},"dur":0.042,"unfinished":true}}"#));
    is(event(EventKind::Begin, thread), &format!(r#"{{"ph":"B",{on_thread}}}"#));
    is(event(EventKind::End, thread), &format!(r#"{{"ph":"E",{on_thread}}}"#));
    let unnamed = Event { flags: EventFlags::UNNAMED, ..event(EventKind::End, thread) };
    is(unnamed, r#"{"ph":"E","pid":1,"tid":"worker é","ts":1234.567}"#);
    is(event(EventKind::Instant, thread), &format!(r#"{{"ph":"i",{on_thread},"s":"t"}}"#));
    is(event(EventKind::Instant, process), r#"{"ph":"i","pid":1,"ts":1234.567,"name":"plain","s":"p"}"#);
    is(event(EventKind::Instant, global), r#"{"ph":"i","ts":1234.567,"name":"plain","s":"g"}"#);
    is(event(EventKind::Instant, asynchronous), r#"{"ph":"n","pid":1,"ts":1234.567,"name":"plain","id":"0x2a"}"#);
    is(event(EventKind::AsyncBegin, asynchronous), r#"{"ph":"b","pid":1,"ts":1234.567,"name":"plain","id":"0x2a"}"#);
    let value = Event { value: 0.1f64.to_bits(), ..event(EventKind::Counter, counter) };
    is(value, r#"{"ph":"C","pid":1,"ts":1234.567,"name":"plain","id":"7","args":{"free":0.1}}"#);
    let start = Event { value: 0, ..event(EventKind::FlowStart, thread) };
    is(start, &format!(r#"{{"ph":"s",{on_thread},"id":"0x0"}}"#));
    let end = Event { value: u64::MAX, flags: EventFlags::BIND_ENCLOSING, ..event(EventKind::FlowEnd, thread) };
    is(end, &format!(r#"{{"ph":"f",{on_thread},"id":"0xffffffffffffffff","bp":"e"}}"#));
}

#[test]
fn names_and_orders_of_processes_and_threads_come_first() {
    let (_, json) = written(&[]);
    let events = json["traceEvents"].as_array().unwrap();
    let found: Vec<String> = events.iter().map(|event| format!("{} {}", event["name"], event["args"])).collect();
    assert_eq!(
        found,
        [
            r#""process_name" {"name":"p"}"#,
            r#""process_labels" {"labels":"l"}"#,
            r#""process_sort_index" {"sort_index":-3}"#,
            r#""thread_name" {"name":"t"}"#,
            r#""thread_sort_index" {"sort_index":4}"#,
        ]
    );
}

#[test]
fn times_keep_every_nanosecond_at_both_ends_of_time() {
    let micros = |ns: i64| {
        let mut line = Vec::new();
        push_micros(&mut line, ns < 0, ns.unsigned_abs());
        String::from_utf8(line).unwrap()
    };
    assert_eq!([0, 1, 999, 1000, 12_345].map(micros), ["0.000", "0.001", "0.999", "1.000", "12.345"]);
    assert_eq!([-1, i64::MAX, i64::MIN].map(micros), ["-0.001", "9223372036854775.807", "-9223372036854775.808"]);
    let mut line = Vec::new();
    push_micros(&mut line, false, u64::MAX);
    assert_eq!(line, b"18446744073709551.615");
}

#[test]
fn text_is_escaped_and_arguments_go_out_as_they_came_in() {
    let thread = tables().2[2];
    let named = Event { name: NameIdx(2), ..event(EventKind::Begin, thread) };
    let detail = Detail {
        thread_ts_ns: Some(-5),
        thread_dur_ns: Some(7_000),
        args_json: r#"{ "big":123456789012345678901234567890, "e":1e400, "s":"\u00e9" }"#,
    };
    let line = line(named, &detail);
    assert!(line.contains(r#""name":"say \"hi\"\n","cat":"c\\d""#), "{line}");
    assert!(line.contains(r#","tts":-0.005,"tdur":7.000,"args":{ "big":1234567890"#), "{line}");
    assert!(line.contains(r#""e":1e400, "s":"\u00e9" }}"#), "{line}");
}

#[test]
fn arguments_that_are_not_json_cannot_break_the_file() {
    let thread = tables().2[2];
    for args_json in ["{\"a\":", "}]", "[1]", "{\"a\":1}{", "\u{0}"] {
        let mut blob = Vec::new();
        Detail { args_json, ..Detail::default() }.encode_into(&mut blob);
        let (_, json) = written(&[(event(EventKind::Complete, thread), blob)]);
        let last = json["traceEvents"].as_array().unwrap().last().unwrap();
        assert_eq!(last["args"]["args"], args_json);
    }
    let lines = written(&[(event(EventKind::Begin, thread), b"\0{\"a\":\n1}".to_vec())]).0;
    assert!(lines[0].ends_with("\"args\":{\"a\": 1}}"), "one line each: {}", lines[0]);
}

#[test]
fn numbers_that_json_has_no_word_for_go_out_as_text() {
    let counter = tables().2[4];
    for value in [f64::NAN, f64::INFINITY] {
        let (_, json) =
            written(&[(Event { value: value.to_bits(), ..event(EventKind::Counter, counter) }, Vec::new())]);
        assert!(json["traceEvents"].as_array().unwrap().last().unwrap()["args"]["free"].is_string());
    }
}

#[test]
fn the_points_of_a_flow_agree_in_the_name_that_it_began_with() {
    let thread = tables().2[2];
    let start = event(EventKind::FlowStart, thread);
    let end = Event { name: NameIdx(2), ..event(EventKind::FlowEnd, thread) };
    let lines = written(&[(start, Vec::new()), (end, Vec::new()), (end, Vec::new())]).0;
    assert!(lines[1].contains(r#""name":"plain""#), "{}", lines[1]);
    assert!(lines[2].contains(r#""name":"say"#), "a flow that is over does not name the next");
}

#[test]
fn the_parts_of_a_counter_put_together_are_its_track_again() {
    let parts = |whole, counter| {
        let (name, id, series) = counter_parts(whole, counter);
        (name.to_owned(), id.map(str::to_owned), series.to_owned())
    };
    let is = |name: &str, id: Option<&str>, series: &str| (name.to_owned(), id.map(str::to_owned), series.to_owned());
    assert_eq!(parts("memory heap", "memory"), is("memory", None, "heap"));
    assert_eq!(parts("memory[0x1] heap", "memory"), is("memory", Some("0x1"), "heap"));
    assert_eq!(parts("memory[0x1]", "memory"), is("memory", Some("0x1"), ""));
    assert_eq!(parts("memory", "memory"), is("memory", None, ""));
    assert_eq!(parts("memory ", "memory"), is("memory ", None, ""));
    assert_eq!(parts("memory]x", "memory"), is("memory]x", None, ""));
    assert_eq!(parts("other", "memory"), is("other", None, ""));
    assert_eq!(parts("heap", ""), is("heap", None, ""));
}

/// Returns the lines of the events with tracks of a registry, and with a stack of two functions.
fn written_on(registry: &Registry, events: &[Event]) -> String {
    let (mut names, mut stacks) = (Names::default(), Stacks::default());
    let [outer, inner] = ["outer", "inner"].map(|name| names.intern(name, None));
    names.intern("outer \u{203a} inner", None);
    stacks.intern_path([outer, inner]);
    let mut writer =
        ChromeJsonWriter::new(Vec::new(), &names, (&stacks, FrameSources::NONE), registry.tables()).unwrap();
    events.iter().for_each(|event| writer.event(event, &[]).unwrap());
    String::from_utf8(writer.finish().unwrap()).unwrap()
}

#[test]
fn counters_of_one_name_stay_apart_and_keep_their_units() {
    let mut registry = Registry::default();
    let key = |pid, slot| TrackKey {
        slot,
        name: "depth".into(),
        ..TrackKey::new(TrackKind::Counter, Id::Number(pid), Id::None)
    };
    let tracks = [key(1, 0), key(1, 1), key(2, 0)].map(|key| {
        registry.apply(&Metadata::CounterUnit { key: key.clone(), unit: "jobs".into() });
        registry.track(&key).unwrap()
    });
    let event =
        |track: TrackIdx| Event { value: 0.5f64.to_bits(), name: NameIdx::EMPTY, ..event(EventKind::Counter, track) };
    let text = written_on(&registry, &[tracks[1], tracks[0], tracks[2], tracks[1]].map(event));
    let reading = crate::formats::testing::read(&text);
    let seen: Vec<_> = reading.events.iter().map(|event| (event.track.pid.to_string(), &*event.track.name)).collect();
    let is = |pid: &str, name| (pid.to_owned(), name);
    assert_eq!(seen, [is("1", "depth"), is("1", "depth[#2]"), is("2", "depth"), is("1", "depth")]);
    let units = reading.metadata.iter().filter_map(|metadata| match metadata {
        Metadata::CounterUnit { key, unit } => Some((key.name.to_string(), &**unit)),
        _ => None,
    });
    let units: std::collections::BTreeSet<_> = units.collect();
    assert_eq!(units, [("depth".to_owned(), "jobs"), ("depth[#2]".to_owned(), "jobs")].into());
    assert!(text.contains("(jobs)"), "other readers have the unit in the name: {text}");
}

#[test]
fn an_inlined_function_is_not_an_event_of_its_sample() {
    let mut registry = Registry::default();
    let track = registry.track(&TrackKey::thread(Id::Number(1), Id::Number(1))).unwrap();
    // The name of the frame with its inlined function, and the stack of both.
    let text = written_on(&registry, &[Event { value: 2, name: NameIdx(3), ..event(EventKind::Sample, track) }]);
    let reading = crate::formats::testing::read(&text);
    let measure = crate::model::SampleMeasure::from_args(&reading.events[0].args);
    assert_eq!((&*measure.event, &*reading.events[0].name), ("", "inner"), "{text}");
}
