//! Tests of the event that each kind of packet becomes.

use std::io::Write as _;

use super::encode::{Message, capture, child, clock, event, message, packet, process, thread};
use super::*;
use crate::model::EventKind as K;
use crate::model::{Id, Metadata, TrackKey, TrackKind};

const BEGIN: u64 = 1;
const END: u64 = 2;
const INSTANT: u64 = 3;
const COUNTER: u64 = 4;

#[test]
fn spans_instants_and_flows_of_a_thread_that_is_described_after_them() {
    let flows = message().number(9, BEGIN).number(11, 7).bytes(23, "a").bytes(22, "c").bytes(22, "d").fixed(47, 99);
    let reading = read([
        packet(10).message(11, flows),
        event(20, INSTANT, 7, "i"),
        event(30, END, 7, ""),
        thread(7, 100, 101, "worker"),
    ]);
    let kinds = [
        (10, EventKind::Begin, "a"),
        (10, EventKind::FlowStep, "a"),
        (20, EventKind::Instant, "i"),
        (30, EventKind::End, ""),
    ];
    assert_eq!(reading.kinds(), kinds);
    assert_eq!(reading.events[0].category.as_deref(), Some("c,d"));
    assert_eq!(reading.events[1].value, 99);
    assert_eq!(reading.events[3].flags, EventFlags::UNNAMED);
    let (pid, tid) = (Id::Number(100), Id::Number(101));
    for event in &reading.events {
        assert_eq!((event.track.kind, &event.track.pid, &event.track.tid), (TrackKind::Thread, &pid, &tid));
    }
    assert_eq!(reading.metadata, [Metadata::ThreadName { pid, tid, name: "worker".into() }]);
    assert_eq!(reading.lost(), []);
}

#[test]
fn of_two_events_in_a_packet_the_last_one_counts_and_takes_nothing_from_the_other() {
    let named = |name| message().number(9, BEGIN).number(11, 7).bytes(23, name);
    let first = named("first").number(16, 5).number(17, 6).bytes(4, b"").fixed(47, 99);
    let other = message().message(12, message().message(2, message().number(1, 3).bytes(2, "interned")));
    let last = message().number(9, INSTANT).number(11, 7).number(10, 3);
    let mut two = packet(10).message(11, first).message(11, last);
    two.0.extend(other.0);
    let reading = read([thread(7, 100, 101, "t"), two]);
    assert_eq!(reading.kinds(), [(10, EventKind::Instant, "interned")]);
    assert_eq!(reading.events[0].args, "");
    assert_eq!(reading.lost(), []);
}

#[test]
fn tracks_of_one_merge_key_share_a_name_and_those_of_another_have_another() {
    let merged = |uuid, name: &str, merging, key: Message| {
        let track = message().number(1, uuid).number(5, 1).bytes(2, name).number(15, merging);
        let mut track = message().number(10, 1).message(60, Message([track.0, key.0].concat()));
        track.0.shrink_to_fit();
        track
    };
    let key = |text: &str| message().bytes(16, text);
    let reading = read(
        [
            process(1, 50, "app"),
            merged(2, "lane 1", 3, key("k")),
            merged(3, "lane 2", 3, key("k")),
            merged(4, "lane 1", 3, key("other")),
            merged(5, "lane 1", 3, message().number(17, 7)),
            merged(6, "lane 3", 3, message().number(17, 7)),
            // Without a key, or with a merge behaviour that ignores the key, tracks merge by name.
            merged(7, "lane 4", 3, message()),
            merged(8, "lane 5", 1, key("k")),
            merged(9, "lane 6", 2, key("k")),
        ]
        .into_iter()
        .chain((2..10).map(|uuid| event(uuid, BEGIN, uuid, "e"))),
    );
    let names: Vec<&str> = reading.events.iter().map(|event| &*event.track.name).collect();
    let seventh = "lane 1 (number 7)";
    assert_eq!(names, ["lane 1", "lane 1", "lane 1 (other)", seventh, seventh, "lane 4", "lane 5", "lane 6"]);
    let slots: Vec<u32> = reading.events.iter().map(|event| event.track.slot).collect();
    assert_eq!(slots[..2], [TrackKey::SLOT_SIBLING, TrackKey::SLOT_SIBLING + 1], "two tracks");
    assert_eq!(slots[7], TrackKey::SLOT_ALONE);
}

#[test]
fn two_tracks_of_one_name_stay_two_and_belong_to_their_process() {
    let alone =
        message().number(10, 1).message(60, message().number(1, 4).number(5, 1).bytes(2, "queue").number(15, 2));
    let reading = read([
        process(1, 50, "app"),
        child(2, 1, "queue"),
        child(3, 1, "queue"),
        child(5, 2, "inner"),
        alone,
        event(1, BEGIN, 2, "a"),
        event(2, BEGIN, 3, "b"),
        event(3, BEGIN, 4, "c"),
        event(3, BEGIN, 5, "e"),
        event(4, BEGIN, 1, "d"),
    ]);
    let keys: Vec<&TrackKey> = reading.events.iter().map(|event| &event.track).collect();
    assert!(keys[..4].iter().all(|key| key.kind == TrackKind::Async));
    assert!(keys.iter().all(|key| key.pid == Id::Number(50)));
    assert_eq!([keys[0].slot, keys[1].slot], [TrackKey::SLOT_SIBLING, TrackKey::SLOT_SIBLING + 1]);
    assert_eq!(keys[2].slot, TrackKey::SLOT_ALONE);
    assert_eq!(keys[4].kind, TrackKind::Process);
    // A child track is prefixed by its parent, and merges with children of the same parent.
    let names = keys.iter().map(|key| &*key.name).collect::<Vec<_>>();
    assert_eq!(names, ["queue", "queue", "queue", "queue / inner", ""]);
}

#[test]
fn a_cycle_of_parents_ends() {
    let reading = read([child(2, 3, "x"), child(3, 2, "y"), event(1, BEGIN, 2, "a")]);
    assert_eq!(reading.events[0].track.pid, Id::None);
}

#[test]
fn interned_texts_belong_to_their_sequence_until_its_state_is_cleared() {
    let interned = |name: &str| message().message(2, message().number(1, 1).bytes(2, name));
    let named = |ts_ns: u64, sequence: u64| {
        let event = message().number(9, INSTANT).number(10, 1);
        message().number(8, ts_ns).number(10, sequence).message(11, event)
    };
    let reading = read([
        named(1, 1).message(12, interned("one")).number(13, 1),
        named(2, 2).message(12, interned("two")).number(13, 1),
        named(3, 1),
        named(4, 1).number(13, 1),
        named(5, 2).number(13, 2),
        named(6, 2).number(13, 2).number(42, 1),
        named(7, 2).number(13, 2),
    ]);
    let names: Vec<&str> = reading.events.iter().map(|event| event.name.as_str()).collect();
    assert_eq!(names, ["one", "two", "one", "", "two"]);
    assert_eq!(reading.lost(), [(Loss::RecorderLost, 1), (Loss::MissingState, 2), (Loss::MissingText, 1)]);
}

#[test]
fn times_are_converted_by_the_previous_clock_snapshot() {
    let snapshot = |clocks: Vec<Message>| {
        let snapshot = clocks.into_iter().fold(message(), |snapshot, clock| snapshot.message(1, clock));
        message().number(10, 1).message(6, snapshot)
    };
    let at = |ts: u64, clock: u64| {
        let instant = message().number(9, INSTANT).bytes(23, "i");
        message().number(8, ts).number(10, 1).number(58, clock).message(11, instant)
    };
    let incremental = clock(64, 5).number(3, 1).number(4, 1000);
    let reading = read([
        snapshot(vec![clock(6, 1_000_000), clock(3, 400_000)]),
        snapshot(vec![clock(3, 500_000), incremental, clock(65, 70)]),
        at(410_000, 3),
        // 5 us + 2 us, then + 3 us, on a clock that is 495 us behind the monotonic one.
        at(2, 64),
        at(3, 64),
        at(71, 65),
        snapshot(vec![clock(6, 3_000_000), clock(3, 2_000_000)]),
        at(2_100_000, 3),
        at(1_900_000, 3),
        at(77, 99),
    ]);
    let mut times: Vec<i64> = reading.events.iter().map(|event| event.ts_ns).collect();
    times.sort_unstable();
    assert_eq!(times, [77, 1_010_000, 1_100_001, 1_102_000, 1_105_000, 2_500_000, 3_100_000]);
    assert_eq!(reading.lost(), [(Loss::UnknownClock, 1)]);
}

#[test]
fn counters_are_multiplied_and_summed_and_the_threads_own_time_goes_to_its_spans() {
    let counter = |uuid: u64, name: &str, counter: Message| {
        let descriptor = message().number(1, uuid).number(5, 7).bytes(2, name).message(8, counter);
        message().number(10, 1).message(60, descriptor)
    };
    let defaults = message().message(11, message().number(11, 7).number(31, 20).number(31, 21));
    let spans = |ts_ns: u64, kind: u64, values: &[u64]| {
        let event = message().number(9, kind);
        packet(ts_ns).message(11, values.iter().fold(event, |event, &value| event.number(12, value)))
    };
    let reading = read([
        thread(7, 1, 2, "t"),
        counter(20, "time", message().number(1, 1).number(4, 1000).number(5, 1)),
        counter(21, "memory", message().number(3, 3).number(4, 1024)),
        message().number(10, 1).number(13, 1).message(59, defaults),
        spans(1, BEGIN, &[5, 1]),
        spans(2, END, &[3]),
        packet(3).message(11, message().number(9, COUNTER).number(11, 21).number(30, 2)),
        packet(4).message(11, message().number(9, COUNTER).number(11, 21).fixed(44, 0.5f64.to_bits())),
        packet(5).message(11, message().number(9, COUNTER).number(11, 21)),
    ]);
    let values: Vec<(i64, f64)> = reading
        .events
        .iter()
        .filter(|event| event.kind == EventKind::Counter)
        .map(|event| (event.ts_ns, f64::from_bits(event.value)))
        .collect();
    assert_eq!(values, [(1, 1024.0), (3, 2048.0), (4, 512.0)]);
    let counter = reading.events.iter().find(|event| event.kind == EventKind::Counter).expect("one");
    assert_eq!((&*counter.track.name, &counter.track.tid), ("memory", &Id::Number(2)));
    assert_eq!(reading.unit(&counter.track), "bytes");
    let thread_times: Vec<i64> = reading.events.iter().filter_map(|event| event.thread_ts_ns).collect();
    assert_eq!(thread_times, [5000, 8000]);
    assert_eq!(reading.lost(), [(Loss::BadCounter, 1)]);
}

#[test]
fn a_counter_has_its_unit_wherever_it_is_named() {
    let described = |uuid: u64, more: fn(Message) -> Message, counter: Message| {
        message().number(10, 1).message(60, more(message().number(1, uuid).message(8, counter)))
    };
    let value = |uuid: u64, more: fn(Message) -> Message| {
        packet(uuid).message(11, more(message().number(9, COUNTER).number(11, uuid).number(30, 2)))
    };
    let reading = read([
        // Named by a later descriptor, by the event, by its type, and with its own unit.
        described(20, |track| track.bytes(10, "memory"), message().number(3, 3)),
        described(21, |track| track, message().number(3, 1)),
        described(22, |track| track, message().number(1, 2)),
        described(23, |track| track.bytes(2, "load"), message().number(3, 2).bytes(6, "%")),
        described(24, |track| track.bytes(2, "runs"), message().number(3, 2)),
        value(20, |event| event),
        value(21, |event| event.bytes(23, "waited")),
        value(22, |event| event),
        value(23, |event| event),
        value(24, |event| event),
    ]);
    let expected =
        [("memory", "bytes"), ("waited", "ns"), ("thread_instruction_count", ""), ("load", "%"), ("runs", "")];
    assert_eq!(reading.counters(), expected);
}

#[test]
fn instructions_and_call_stacks_of_events_are_arguments() {
    let thread = message().number(1, 4).number(2, 5).number(8, 1000);
    let tables = message()
        .message(5, message().number(1, 1).bytes(2, "main"))
        .message(6, message().number(1, 1).number(2, 1))
        .message(6, message().number(1, 2).number(4, 16))
        .message(7, message().number(1, 3).number(2, 1).number(2, 2));
    let instant = |ts_ns: u64, more: Message| packet(ts_ns).message(11, more.number(9, INSTANT));
    let legacy = message().number(2, u64::from(b'X')).number(3, 1).number(15, 60);
    let inline = message().message(1, message().bytes(1, "main")).message(1, message().bytes(1, "f\"").number(3, 7));
    let reading = read([
        packet(0).number(13, 1).message(44, thread).message(12, tables),
        instant(1, message().number(8, 20)),
        instant(2, message().number(20, 7)),
        instant(3, message().number(8, 30).message(55, inline)),
        packet(4).message(11, message().message(6, legacy)),
        instant(5, message().number(56, 3)),
        instant(6, message().number(56, 4)),
    ]);
    let args: Vec<&str> = reading.events.iter().map(|event| &*event.args).collect();
    let expected = [
        r#"{"thread_instruction_count":1020}"#,
        r#"{"thread_instruction_count":7}"#,
        r#"{"thread_instruction_count":1050,"callstack":["main","f\""]}"#,
        r#"{"thread_instruction_delta":60}"#,
        r#"{"callstack":["main","0x10"]}"#,
        "",
    ];
    assert_eq!(args, expected);
    assert_eq!(reading.lost(), [(Loss::MissingText, 1)]);
}

#[test]
fn annotations_become_one_json_object_however_they_nest() {
    let named = |name: &str| message().bytes(10, name);
    let entry = named("k\"").number(4, u64::MAX);
    let dictionary = named("dict").message(11, entry).message(11, named("l").bytes(6, "line\n"));
    let array = named("array").message(12, message().number(2, 1)).message(12, message().fixed(5, f64::NAN.to_bits()));
    let nested = message().number(1, 1).bytes(2, "a").message(3, message().number(5, 4));
    let event = message()
        .number(9, INSTANT)
        .message(4, dictionary)
        .message(4, array)
        .message(4, named("nested").message(8, nested))
        .message(4, named("json").bytes(9, "{\"x\":[1]}"))
        .message(4, named("no json").bytes(9, "{x"))
        .message(4, named("pointer").number(7, 255))
        .message(4, named("interned").number(17, 3))
        .message(4, named("lost").number(17, 4))
        .message(4, named("nothing"))
        .message(4, message().number(1, 9).number(3, 8))
        .message(33, message().bytes(2, "f.cc").bytes(3, "main").number(4, 3))
        .number(52, 77)
        .message(1005, message());
    let texts = message().message(29, message().number(1, 3).bytes(2, "text"));
    let reading = read([packet(1).message(12, texts).message(11, event)]);
    let args: serde_json::Value = serde_json::from_str(&reading.events[0].args).expect("JSON");
    let expected = serde_json::json!({
        "debug.dict": {"k\"": -1, "l": "line\n"},
        "debug.array": [true, "NaN"],
        "debug.nested": {"a": 4},
        "debug.json": {"x": [1]},
        "debug.no json": "{x",
        "debug.pointer": "0xff",
        "debug.interned": "text",
        "debug.lost": null,
        "debug.nothing": null,
        "debug.?": 8,
        "source_location": {"file_name": "f.cc", "function_name": "main", "line_number": 3},
        "correlation_id": 77,
    });
    assert_eq!(args, expected);
    assert_eq!(reading.lost(), [(Loss::IgnoredArguments, 1), (Loss::MissingText, 2)]);
}

#[test]
fn legacy_events_are_read_by_their_phases() {
    let phase = |ts_ns: u64, phase: char, more: fn(Message) -> Message| {
        let legacy = more(message().number(2, u64::from(phase)));
        packet(ts_ns).message(11, message().bytes(23, "n").bytes(22, "c").number(11, 7).message(6, legacy))
    };
    let reading = read([
        thread(7, 1, 2, "t"),
        phase(1, 'B', |legacy| legacy.number(8, 5).number(13, 2)),
        phase(2, 'E', |legacy| legacy),
        phase(3, 'X', |legacy| legacy.number(3, 9)),
        phase(4, 'I', |legacy| legacy.number(14, 2)),
        phase(5, 'b', |legacy| legacy.number(6, 1)),
        phase(6, 'e', |legacy| legacy.number(6, 1)),
        phase(7, 'b', |legacy| legacy.number(10, 1)),
        phase(8, 's', |legacy| legacy.number(6, 3)),
        phase(9, 'f', |legacy| legacy.number(6, 3)),
        phase(10, 'B', |legacy| legacy.number(19, 44)),
        phase(11, 'e', |legacy| legacy),
        phase(12, 'N', |legacy| legacy),
        phase(13, 'X', |legacy| legacy.number(3, (-1i64) as u64)),
    ]);
    let kinds: Vec<EventKind> = reading.events.iter().map(|event| event.kind).collect();
    let expected = [
        K::Begin,
        K::FlowStart,
        K::End,
        K::Complete,
        K::Instant,
        K::AsyncBegin,
        K::AsyncEnd,
        K::AsyncBegin,
        K::FlowStart,
        K::FlowEnd,
        K::Begin,
        K::Instant,
        K::Complete,
    ];
    assert_eq!(kinds, expected);
    let events = &reading.events;
    assert_eq!(events[3].value, 9000);
    assert_eq!(events[4].track.kind, TrackKind::Process);
    assert_eq!(events[5].value, events[6].value);
    assert_ne!(events[5].value, events[7].value, "an id of one process is another than one of all");
    assert_eq!(events[8].value, events[9].value);
    assert_eq!((&events[10].track.pid, &events[10].track.tid), (&Id::Number(1), &Id::Number(44)));
    let lost = [(Loss::NegativeDuration, 1), (Loss::IgnoredPhase, 1), (Loss::BadAsync, 1)];
    assert_eq!(reading.lost(), lost);
}

#[test]
fn times_of_the_oldest_traces_are_relative_to_a_thread_descriptor() {
    let descriptor = message().number(1, 1).number(2, 2).number(6, 1000).number(7, 50);
    let snapshot = message().message(1, clock(6, 1_000_000)).message(1, clock(3, 1_000_000));
    let event = |delta_us: u64| message().number(9, INSTANT).bytes(23, "i").number(1, delta_us).number(2, 3);
    let reading = read([
        message().number(10, 1).message(6, snapshot),
        message().number(10, 1).message(44, descriptor),
        message().number(10, 1).message(11, event(5)),
        message().number(10, 1).message(11, event(6)),
    ]);
    assert_eq!(reading.kinds(), [(1_005_000, EventKind::Instant, "i"), (1_011_000, EventKind::Instant, "i")]);
    assert_eq!(reading.events[1].thread_ts_ns, Some(56_000));
    assert_eq!(reading.events[0].track.tid, Id::Number(2));
}

#[test]
fn bundles_are_unpacked_and_a_bundle_of_bundles_of_bundles_is_not() {
    let inner = capture([event(1, INSTANT, 0, "a"), event(2, INSTANT, 0, "b")]);
    let deflated = |bytes: &[u8]| {
        let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(bytes).expect("memory");
        encoder.finish().expect("memory")
    };
    let zstd = zstd::encode_all(&inner[..], 1).expect("memory");
    let twice = capture([message().bytes(50, deflated(&inner))]);
    let thrice = capture([message().bytes(50, deflated(&twice))]);
    let reading = read([
        message().bytes(50, deflated(&inner)),
        message().bytes(133, zstd),
        message().bytes(50, deflated(&twice)),
        message().bytes(50, deflated(&thrice)),
        message().bytes(50, &deflated(&inner)[..12]),
    ]);
    assert_eq!(reading.kinds().iter().filter(|event| event.2 == "b").count(), 3);
    assert_eq!(reading.losses.count(Loss::DeepNesting), 1);
    assert_eq!(reading.losses.count(Loss::BadRecord), 1);
}

#[test]
fn an_interned_correlation_id_is_its_text() {
    let texts = message()
        .message(42, message().number(1, 5).bytes(2, "no id"))
        .message(43, message().number(1, 5).bytes(2, "frame 8"));
    let event = message().number(9, INSTANT).number(54, 5);
    let reading = read([packet(1).message(12, texts).message(11, event)]);
    assert_eq!(reading.events[0].args, r#"{"correlation_id":"frame 8"}"#);
    assert_eq!(reading.lost(), []);
}

#[test]
fn events_on_track_0_belong_to_the_thread_of_their_sequence() {
    let of_thread = message().number(10, 1).message(44, message().number(1, 5).number(2, 6));
    let reading = read([of_thread, event(10, BEGIN, 0, "a"), event(20, END, 0, "")]);
    assert!(reading.events.iter().all(|event| event.track.kind == TrackKind::Thread));
    let ids: Vec<_> = reading.events.iter().map(|event| (event.track.pid.clone(), event.track.tid.clone())).collect();
    assert_eq!(ids, vec![(Id::Number(5), Id::Number(6)); 2]);
}

#[test]
fn asynchronous_ends_without_a_name_close_their_span() {
    let part = |ts_ns, phase: u8, name: &str| {
        let legacy = message().number(2, phase.into()).number(6, 77);
        let event = message().message(6, legacy);
        packet(ts_ns).message(11, if name.is_empty() { event } else { event.bytes(23, name) })
    };
    let reading = read([part(10, b'b', "load"), part(20, b'e', "")]);
    let found: Vec<_> = reading.events.iter().map(|event| (event.kind, event.flags)).collect();
    assert_eq!(found, [(K::AsyncBegin, EventFlags::NONE), (K::AsyncEnd, EventFlags::UNNAMED)]);
}

#[test]
fn events_without_a_track_belong_to_the_thread_that_their_writer_described_or_that_they_name() {
    let instant = || message().number(9, INSTANT);
    let other = instant().number(11, 0).message(6, message().number(18, 5).number(19, 9));
    let older = message().number(11, 0).message(6, message().number(2, b'I'.into()));
    let mut elsewhere = packet(5).message(11, instant());
    elsewhere.0.extend(message().number(10, 2).0);
    let packets = [
        thread(7, 5, 8, "t"),
        packet(1).message(11, instant()),
        packet(2).message(11, other),
        packet(3).message(11, older),
        packet(4).message(11, instant().number(11, 0)),
        elsewhere,
    ];
    let reading = read(packets);
    let tids: Vec<_> = reading.events.iter().map(|event| (event.track.kind, event.track.tid.clone())).collect();
    let (kind, tid) = (TrackKind::Thread, Id::Number);
    let global = (TrackKind::Global, Id::None);
    assert_eq!(tids, [(kind, tid(8)), (kind, tid(9)), (kind, tid(8)), global.clone(), global]);
}

#[test]
fn a_process_that_reuses_a_pid_is_another_process() {
    let packets = [
        process(10, 5, "first"),
        thread(11, 5, 6, "t"),
        event(1, INSTANT, 11, "a"),
        process(20, 5, "second"),
        thread(21, 5, 7, "u"),
        event(2, INSTANT, 20, "b"),
        event(3, INSTANT, 21, "c"),
        event(4, INSTANT, 11, "d"),
    ];
    let reading = read(packets);
    let pids: Vec<_> = reading.events.iter().map(|event| event.track.pid.to_string()).collect();
    assert_eq!(pids, ["5", "5 (2)", "5 (2)", "5"]);
    let name = |pid, name: &str| Metadata::ProcessName { pid, name: name.into() };
    assert_eq!(reading.metadata[0], name(Id::Number(5), "first"));
    assert!(reading.metadata.contains(&name(Id::Text("5 (2)".into()), "second")), "{:?}", reading.metadata);
}

#[test]
fn a_long_command_line_is_cut_only_if_it_is_shown() {
    let long = "/opt/browser --type=renderer ".repeat(100);
    let process = |uuid, pid| message().number(1, uuid).message(3, pid);
    let described = |process: Message| message().number(10, 1).message(60, process);
    let named = process(1, message().number(1, 5).bytes(2, &*long).bytes(6, "Renderer"));
    let reading = read([described(named), event(1, INSTANT, 1, "a")]);
    assert_eq!(reading.lost(), []);
    // Renderers of Chromium write it as their name.
    let command = |uuid, pid| process(uuid, message().number(1, pid).bytes(2, &*long).bytes(6, &*long));
    let typed = command(3, 7).message(6, message().number(1, 2));
    let first = process(4, message().number(1, 8).bytes(6, "Renderer"));
    let processes = [typed, first, command(4, 8)].map(described);
    assert_eq!(read(processes.into_iter().chain([event(1, INSTANT, 4, "a")])).lost(), []);
    let unnamed = process(2, message().number(1, 6).bytes(2, &*long));
    assert_eq!(read([described(unnamed), event(1, INSTANT, 2, "a")]).lost(), [(Loss::LongText, 1)]);
}

#[test]
fn processes_and_threads_are_ordered_by_rank_where_the_capture_says_so() {
    let root = |explicit| {
        message().number(10, 1).message(60, message().number(1, 0).number(19, explicit).number(20, explicit))
    };
    let ranked = |track: Message, rank| message().number(10, 1).message(60, track.number(12, rank));
    let orders = |explicit| {
        let process = message().number(1, 1).message(3, message().number(1, 5).bytes(6, "p"));
        let thread = message().number(1, 2).message(4, message().number(1, 5).number(2, 6));
        let reading = read([root(explicit), ranked(process, 3), ranked(thread, 4), event(1, INSTANT, 2, "a")]);
        let is_order =
            |said: &&Metadata| matches!(said, Metadata::ProcessSortIndex { .. } | Metadata::ThreadSortIndex { .. });
        reading.metadata.iter().filter(is_order).cloned().collect::<Vec<_>>()
    };
    let (pid, tid) = (Id::Number(5), Id::Number(6));
    let expected = [
        Metadata::ProcessSortIndex { pid: pid.clone(), sort_index: 3 },
        Metadata::ThreadSortIndex { pid, tid, sort_index: 4 },
    ];
    assert_eq!((orders(1), orders(0)), (expected.to_vec(), vec![]));
}

#[test]
fn incremental_counters_add_up_even_if_their_values_are_doubles() {
    let counter = message().number(1, 9).bytes(2, "c").message(8, message().number(4, 10).number(5, 1));
    let value = |at, double: f64| {
        packet(at).message(11, message().number(9, COUNTER).number(11, 9).fixed(44, double.to_bits()))
    };
    let reading = read([message().number(10, 1).message(60, counter), value(1, 1.5), value(2, 2.0), value(3, -0.5)]);
    let values: Vec<f64> = reading.events.iter().map(|event| f64::from_bits(event.value)).collect();
    assert_eq!(values, [15.0, 35.0, 30.0]);
}

#[test]
fn names_of_spans_and_tracks_are_translated_from_the_table_on() {
    let pair = |raw: &str, name: &str| message().message(1, message().bytes(1, raw).bytes(2, name));
    let table = message().message(4, pair("a", "whole.name")).message(5, pair("t", "whole track"));
    let table = message().message(82, table);
    let packets = [
        process(1, 5, "p"),
        child(2, 1, "t"),
        event(1, INSTANT, 2, "a"),
        table,
        child(3, 1, "t"),
        event(2, INSTANT, 3, "a"),
        event(3, INSTANT, 3, "b"),
    ];
    let reading = read(packets);
    let found: Vec<_> = reading.events.iter().map(|event| (&*event.track.name, &*event.name)).collect();
    assert_eq!(found, [("t", "a"), ("whole track", "whole.name"), ("whole track", "b")]);
}

#[test]
fn flows_of_a_state_bind_to_the_state_at_their_time() {
    let state = |name: &str| message().number(9, 5).number(11, 7).bytes(23, name);
    let reading = read([
        process(1, 100, "chrome"),
        child(7, 1, "Priority"),
        packet(10).message(11, state("low").fixed(47, 99)),
        packet(20).message(11, state("high").fixed(48, 99)),
    ]);
    let kinds = [(10, K::State, "low"), (10, K::FlowStep, "low"), (20, K::State, "high"), (20, K::FlowEnd, "high")];
    assert_eq!(reading.kinds(), kinds);
    let points = [1, 3].map(|event: usize| (reading.events[event].value, reading.events[event].depth));
    assert_eq!(points, [(99, 0), (99, 0)]);
    assert!(reading.events.iter().all(|event| event.track == reading.events[0].track));
    assert_eq!(reading.lost(), []);
}

#[test]
fn states_of_a_track_end_each_other_and_have_no_row_with_tracks_of_their_name() {
    const STATE: u64 = 5;
    let reading = read([
        process(1, 100, "chrome"),
        child(7, 1, "Priority"),
        child(8, 1, "Priority"),
        event(10, STATE, 7, "low"),
        event(15, STATE, 8, "low"),
        event(20, STATE, 7, "high"),
        event(30, STATE, 7, ""),
        event(40, BEGIN, 7, "span"),
    ]);
    let kinds = [(10, K::State, "low"), (15, K::State, "low"), (20, K::State, "high"), (30, K::State, "")];
    assert_eq!(reading.kinds(), [&kinds[..], &[(40, K::Begin, "span")]].concat());
    let slots = [0, 1, 4].map(|event: usize| reading.events[event].track.slot);
    assert_eq!((slots[0], slots[1]), (TrackKey::SLOT_ALONE, TrackKey::SLOT_ALONE + 1));
    assert!(slots[2] < TrackKey::SLOT_ALONE, "a span of the same uuid is on another track");
    assert!(reading.events.iter().all(|event| &*event.track.name == "Priority"));
    assert_eq!(reading.lost(), []);
}
