//! Tests of the events that each phase becomes.

use super::*;
use crate::model::{Event, Metadata};

/// Reads records, and asserts that nothing is lost.
fn clean(records: &str) -> Vec<ReadEvent> {
    let reading = read(&format!("[{records}]"));
    assert!(reading.losses.is_empty(), "{:?}", reading.losses);
    reading.events
}

fn kinds(records: &str) -> Vec<EventKind> {
    clean(records).into_iter().map(|event| event.kind).collect()
}

#[test]
fn spans_that_meet_at_a_fraction_of_a_nanosecond_do_not_overlap() {
    // Ticks of a clock with 3 GHz. Rounded alone, the second duration would end a nanosecond after its parent.
    let events = clean(
        r#"{"ph":"X","name":"frame","ts":10.000333,"dur":2.000333},{"ph":"X","name":"a","ts":10.000333,"dur":1.000333},
           {"ph":"X","name":"b","ts":11.000666,"dur":1.0}, {"ph":"X","name":"c","ts":11.000666,"dur":1.0000000}"#,
    );
    let spans: Vec<_> = events.iter().map(|event| (event.ts_ns, event.ts_ns + event.value as i64)).collect();
    assert_eq!(spans, [(10_000, 12_001), (10_000, 11_001), (11_001, 12_001), (11_001, 12_001)]);
}

#[test]
fn a_complete_span_has_all_its_fields() {
    let events = clean(
        r#"{"name":"f","cat":"c,d","ph":"X","ts":1.5,"dur":"2","pid":7,"tid":8,"tts":3,"tdur":0.25,"args":{"a" : [1]}}"#,
    );
    let expected = ReadEvent {
        ts_ns: 1500,
        kind: EventKind::Complete,
        name: "f".into(),
        category: Some("c,d".into()),
        track: thread(7, 8),
        value: 2000,
        depth: 0,
        flags: EventFlags::NONE,
        thread_ts_ns: Some(3000),
        thread_dur_ns: Some(250),
        args: r#"{"a" : [1]}"#.into(),
        stack: Vec::new(),
        modules: Vec::new(),
    };
    assert_eq!(events, [expected]);
}

#[test]
fn begins_ends_and_instants_go_to_their_tracks() {
    let events = clean(
        r#"{"name":"a","ph":"B","ts":1,"pid":1,"tid":2},{"ph":"E","ts":2,"pid":1,"tid":2},{"ph":"E","ts":3,"name":"","pid":1},
           {"ph":"i","ts":4,"s":"g","pid":1,"tid":2},{"ph":"I","ts":5,"s":"p","pid":1,"tid":2},{"ph":"R","ts":6,"pid":1,"tid":2},
           {"ph":"i","ts":7,"s":"nonsense","pid":1,"tid":2}"#,
    );
    let seen: Vec<_> = events.iter().map(|event| (event.kind, event.track.kind, event.flags)).collect();
    let none = EventFlags::NONE;
    assert_eq!(
        seen,
        [
            (EventKind::Begin, TrackKind::Thread, none),
            (EventKind::End, TrackKind::Thread, EventFlags::UNNAMED),
            (EventKind::End, TrackKind::Thread, none),
            (EventKind::Instant, TrackKind::Global, none),
            (EventKind::Instant, TrackKind::Process, none),
            (EventKind::Instant, TrackKind::Thread, none),
            (EventKind::Instant, TrackKind::Thread, none),
        ]
    );
    assert_eq!(events[2].track.tid, Id::Number(1), "without a thread id, that of the process");
    assert_eq!((&events[3].track.pid, &events[4].track.tid), (&Id::None, &Id::None));
}

#[test]
fn ids_are_never_folded() {
    let events = clean(
        r#"{"ph":"B","ts":1,"pid":-1,"tid":140354353736576},{"ph":"B","ts":2,"pid":"1","tid":99999999999999999999},
           {"ph":"B","ts":2.5,"pid":"007","tid":"-12"},{"ph":"B","ts":3},{"ph":"B","ts":4,"tid":5},{"ph":"B","ts":5,"pid":null,"tid":1.0},{"ph":"B","ts":6,"pid":1,"tid":"\u0041"}"#,
    );
    let ids: Vec<_> = events.into_iter().map(|event| (event.track.pid, event.track.tid)).collect();
    let text = |text: &str| Id::Text(text.into());
    assert_eq!(
        ids,
        [
            (Id::Number(-1), Id::Number(140_354_353_736_576)),
            // Writers such as rocprof put numbers in quotes in some of the events of a process.
            (Id::Number(1), text("99999999999999999999")),
            (text("007"), Id::Number(-12)),
            (Id::None, Id::None),
            (Id::None, Id::Number(5)),
            (Id::None, text("1.0")),
            (Id::Number(1), text("A")),
        ]
    );
}

#[test]
fn each_numeric_series_of_a_counter_is_a_track_and_ids_keep_counters_apart() {
    let reading = read(
        r#"[{"ph":"C","name":"mem","ts":1,"pid":1,"args":{"used":1.5,"free":"2","x":true,"y":null,"z":1e400}},
           {"ph":"C","name":"mem","id":1,"ts":2,"pid":1,"args":{"used":3}},{"ph":"C","name":"mem","id":"0x1","ts":3,"pid":1,"args":{"used":4}},
           {"ph":"C","name":"empty","ts":4,"pid":1,"args":{}},{"ph":"C","name":"none","ts":5,"pid":1}]"#,
    );
    let seen: Vec<_> = reading.events.iter().map(|event| (&*event.track.name, f64::from_bits(event.value))).collect();
    assert_eq!(seen, [("mem used", 1.5), ("mem free", 2.0), ("mem[1] used", 3.0), ("mem[0x1] used", 4.0)]);
    assert_eq!(reading.lost(), [(Loss::BadCounter, 5)]);
    assert!(reading.events.iter().all(|event| event.track.kind == TrackKind::Counter && event.name == "mem"));
}

#[test]
fn async_ids_follow_category_scope_and_process() {
    let value = |fields: &str| {
        let events = clean(&format!(r#"{{"ph":"b","ts":1,"cat":"c","name":"n",{fields}}}"#));
        assert_eq!((events[0].track.kind, &*events[0].track.name), (TrackKind::Async, "c"));
        events[0].value
    };
    let base = value(r#""id":1,"pid":1"#);
    assert_eq!(value(r#""id":"1","pid":2,"name":"other""#), base, "global, and whatever the name");
    assert_ne!(value(r#""id":"0x1","pid":1"#), base);
    assert_eq!(value(r#""id2":{"global":"1"},"pid":9"#), base);
    assert_ne!(value(r#""id2":{"local":"1"},"pid":1"#), base);
    assert_ne!(value(r#""id2":{"local":"1"},"pid":1"#), value(r#""id2":{"local":"1"},"pid":2"#));
    assert_ne!(value(r#""id":1,"pid":1,"scope":"s""#), base);
    let all = r#"{"ph":"b","id":1,"ts":1},{"ph":"n","id":1,"ts":2},{"ph":"e","id":1,"ts":3}"#;
    assert_eq!(kinds(all), [EventKind::AsyncBegin, EventKind::AsyncInstant, EventKind::AsyncEnd]);
}

#[test]
fn old_async_steps_carry_the_name_of_the_step_and_share_the_id_of_their_span() {
    let events = clean(
        r#"{"ph":"S","cat":"c","name":"load","id":1,"ts":1},{"ph":"T","cat":"c","name":"load","id":1,"ts":2,"args":{"step":"dns"}},
           {"ph":"p","cat":"c","name":"load","id":1,"ts":3,"args":{"step":"tcp"}},{"ph":"F","cat":"c","name":"load","id":1,"ts":4}"#,
    );
    let seen: Vec<_> = events.iter().map(|event| (event.kind, event.name.as_str())).collect();
    let expected = [
        (EventKind::AsyncBegin, "load"),
        (EventKind::AsyncStepInto, "dns"),
        (EventKind::AsyncStepPast, "tcp"),
        (EventKind::AsyncEnd, "load"),
    ];
    assert_eq!(seen, expected);
    assert!(events.iter().all(|event| event.value == events[0].value));
}

#[test]
fn an_async_event_without_an_id_is_shown_on_its_thread_and_counted() {
    let reading = read(r#"[{"ph":"b","name":"n","cat":"c","ts":1,"pid":1,"tid":2}]"#);
    assert_eq!((reading.events[0].kind, reading.events[0].track.kind), (EventKind::Instant, TrackKind::Thread));
    assert_eq!(reading.lost(), [(Loss::BadAsync, 1)]);
}

#[test]
fn an_empty_category_is_none() {
    let events = clean(r#"{"ph":"i","name":"n","cat":"","ts":1},{"ph":"i","name":"n","ts":2}"#);
    assert_eq!(events.iter().map(|event| event.category.as_deref()).collect::<Vec<_>>(), [None, None]);
}

#[test]
fn flows_bind_as_catapult_binds_them() {
    let events = clean(
        r#"{"ph":"s","cat":"c","name":"n","id":1,"ts":1},{"ph":"t","cat":"c","name":"n","id":"1","ts":2},{"ph":"f","cat":"c","name":"n","id":1,"ts":3},
           {"ph":"f","bp":"e","cat":"c","name":"n","id":1,"ts":4},{"ph":"f","cat":"disabled-input","name":"n","id":1,"ts":5}"#,
    );
    let binds: Vec<_> = events.iter().map(|event| event.flags.has(EventFlags::BIND_ENCLOSING)).collect();
    assert_eq!(binds, [true, true, false, true, true]);
    assert!(events[..4].iter().all(|event| event.value == events[0].value));
    assert_ne!(events[4].value, events[0].value, "another category");
    assert_eq!(read(r#"[{"ph":"s","name":"n","ts":1}]"#).lost(), [(Loss::BadFlow, 1)]);
}

#[test]
fn flow_points_have_the_depth_that_an_export_wrote() {
    let events = clean(
        r#"{"ph":"s","name":"n","id":1,"ts":1,"place":16387},{"ph":"f","bp":"e","name":"n","id":1,"ts":2,"place":"32768"},
           {"ph":"t","name":"n","id":1,"ts":3,"place":-1},{"ph":"t","name":"n","id":1,"ts":4,"place":65536},{"ph":"i","name":"n","ts":5,"place":7}"#,
    );
    let depths: Vec<_> = events.iter().map(|event| (event.depth, event.flags.has(EventFlags::PLACED))).collect();
    let latest = (Event::FLOW_OF_LATEST, false);
    assert_eq!(depths, [(16387, true), (32768, true), latest, latest, (0, false)]);
    assert!(events.iter().all(|event| event.args.is_empty()));
}

#[test]
fn a_span_with_a_bind_id_is_also_a_flow() {
    use EventKind::{Begin, Complete, End, FlowEnd, FlowStart, FlowStep};
    let events = clean(
        r#"{"ph":"X","name":"a","ts":1,"dur":1,"bind_id":"0x9","flow_out":true},{"ph":"X","name":"b","ts":2,"dur":1,"bind_id":"0x9","flow_in":true,"flow_out":true},
           {"ph":"B","name":"c","ts":3,"bind_id":"0x9","flow_in":true,"flow_out":false},{"ph":"E","ts":4,"bind_id":"0x9","flow_in":true}"#,
    );
    let kinds: Vec<_> = events.iter().map(|event| event.kind).collect();
    assert_eq!(kinds, [Complete, FlowStart, Complete, FlowStep, Begin, FlowEnd, End]);
    assert_eq!(events[1].value, events[5].value);
    assert!(events[1].flags.has(EventFlags::BIND_ENCLOSING));
}

#[test]
fn metadata_needs_no_time_and_unknown_kinds_are_counted() {
    let reading = read(
        r#"[{"ph":"M","name":"process_name","pid":1,"args":{"name":"p"}},{"ph":"M","name":"thread_name","pid":1,"tid":2,"ts":null,"args":{"name":"t\u00e9"}},
           {"ph":"M","name":"thread_name","pid":3,"args":{"name":"main"}},{"ph":"M","name":"process_sort_index","pid":1,"args":{"sort_index":-5}},
           {"ph":"M","name":"thread_sort_index","pid":1,"tid":2,"args":{"sort_index":"7"}},{"ph":"M","name":"process_labels","pid":1,"args":{"labels":"a,b"}},
           {"ph":"M","name":"num_cpus","pid":1,"args":{"number":4}},{"ph":"M","name":"process_name","pid":1}]"#,
    );
    let (one, two, three) = (Id::Number(1), Id::Number(2), Id::Number(3));
    let expected = [
        Metadata::ProcessName { pid: one.clone(), name: "p".into() },
        Metadata::ThreadName { pid: one.clone(), tid: two.clone(), name: "té".into() },
        Metadata::ThreadName { pid: three.clone(), tid: three, name: "main".into() },
        Metadata::ProcessSortIndex { pid: one.clone(), sort_index: -5 },
        Metadata::ThreadSortIndex { pid: one.clone(), tid: two, sort_index: 7 },
        Metadata::ProcessLabels { pid: one, labels: "a,b".into() },
    ];
    assert_eq!(reading.metadata, expected);
    assert_eq!(reading.lost(), [(Loss::IgnoredMetadata, 2)]);
}

#[test]
fn events_that_a_full_buffer_dropped_are_a_loss() {
    let overflowed = |at: &str| {
        let args = format!(r#""args":{{"overflowed_at_ts":{at}}}"#);
        read(&format!(r#"[{{"ph":"M","name":"trace_buffer_overflowed","pid":1,"ts":0,{args}}}]"#)).lost()
    };
    assert_eq!(overflowed("1600"), [(Loss::RecorderLost, 1)]);
    assert_eq!(overflowed("0"), [(Loss::IgnoredMetadata, 1)], "nothing was dropped");
    for (metadata, expected) in [
        (r#"{"version":"1.1","overflow":true}"#, vec![(Loss::RecorderLost, 1)]),
        (r#"{"overflow":false}"#, vec![]),
        ("true", vec![]),
        (&format!(r#"{{"text":"{}","overflow":true}}"#, "x".repeat(5000)), vec![]),
    ] {
        let after = format!(r#"{{"traceEvents":[{{"ph":"i","ts":1}}],"viztracer_metadata":{metadata},"more":[1]}}"#);
        let before = format!(r#"{{"viztracer_metadata":{metadata},"traceEvents":[{{"ph":"i","ts":1}}]}}"#);
        assert_eq!((read(&after).lost(), read(&before).lost()), (expected.clone(), expected), "{metadata}");
    }
}

#[test]
fn events_of_objects_are_on_one_track_of_their_process() {
    let events = clean(
        r#"{"ph":"N","name":"Layer","cat":"cc","pid":1,"tid":2,"id":"0x9","ts":1},{"ph":"O","name":"Layer","pid":1,"tid":3,"id2":{"local":7},"ts":2,"tts":1,"args":{"snapshot":{"a":1}}},
           {"ph":"D","name":"Tree","pid":1,"tid":2,"id":"0x9","ts":3,"args":{}},{"ph":"N","name":"Layer","pid":2,"ts":4}"#,
    );
    let seen: Vec<_> = events.iter().map(|event| (event.kind, &*event.name, &*event.args)).collect();
    let instant = EventKind::Instant;
    assert_eq!(
        seen,
        [
            (instant, "Layer", r#"{"object":"created","id":"0x9"}"#),
            (instant, "Layer", r#"{"snapshot":{"a":1},"object":"seen","id":7}"#),
            (instant, "Tree", r#"{"object":"deleted","id":"0x9"}"#),
            (instant, "Layer", r#"{"object":"created"}"#),
        ]
    );
    for (event, pid) in events.iter().zip([1, 1, 1, 2]) {
        assert_eq!((event.track.kind, &*event.track.name), (TrackKind::Async, "objects"));
        assert_eq!((&event.track.pid, &event.track.tid), (&Id::Number(pid), &Id::None));
    }
    assert_eq!(read(r#"[{"ph":"O","name":"x"}]"#).lost(), [(Loss::BadTime, 1)]);
}

#[test]
fn phases_that_no_timeline_shows_are_counted() {
    let ignored = ["v", "V", "(", ")", "="].map(|ph| format!(r#"{{"ph":"{ph}","ts":1}}"#)).join(",");
    let unknown = r#"{"ph":"?","ts":1},{"ph":"","ts":1},{"ph":1,"ts":1},{"ts":1},{"ph":null}"#;
    let reading = read(&format!("[{ignored},{unknown}]"));
    assert_eq!(reading.lost(), [(Loss::UnknownPhase, 5), (Loss::IgnoredPhase, 5)]);
    assert!(reading.events.is_empty());
}

#[test]
fn arguments_that_are_not_an_object_and_undefined_members_are_kept() {
    let args = |fields: &str| clean(&format!(r#"{{"ph":"i","ts":1,{fields}}}"#)).remove(0).args;
    assert_eq!(args(r#""args":"text""#), r#"{"args":"text"}"#);
    assert_eq!(args(r#""args":[1,{"a":2}]"#), r#"{"args":[1,{"a":2}]}"#);
    assert_eq!(args(r#""args":{ }"#), "");
    assert_eq!(args(r#""args":null"#), "");
    assert_eq!(args(r#""cname":"good","use_async_tts":1,"outside":true,"weight":2"#), "");
    // Bazel writes the output of an action beside its arguments.
    assert_eq!(args(r#""out":"a.o","args":{"target":"//a"}"#), r#"{"target":"//a","out":"a.o"}"#);
    assert_eq!(args(r#""a\u0062":{"c":[NaN]}"#), r#"{"ab":{"c":["NaN"]}}"#);
    assert_eq!(args(r#"".file":"m.rs",".line":3,"args":{"a":1}"#), r#"{"a":1,".file":"m.rs",".line":3}"#);
    assert_eq!(args(r#"".file":"m.rs""#), r#"{".file":"m.rs"}"#);
}

#[test]
fn spans_of_the_go_command_end_by_their_names_wherever_they_overlap() {
    let go = |events: &str| {
        format!("[\n{{\"name\":\"Running build command\",\"ph\":\"B\",\"ts\":1,\"pid\":0,\"tid\":0}}{events}\n]")
    };
    let event =
        |ph: &str, name: &str, ts: u32| format!(r#",{{"name":"{name}","ph":"{ph}","ts":{ts},"pid":0,"tid":0}}"#);
    let rows =
        [("B", "a", 2), ("B", "b", 3), ("B", "a", 4), ("E", "a", 5), ("E", "a", 6), ("B", "c", 7), ("E", "b", 8)];
    let events = rows.map(|(ph, name, ts)| event(ph, name, ts)).concat();
    let text = go(&(events + &event("E", "Running build command", 9) + &event("E", "other", 10)));
    let reading = read(&text);
    let seen: Vec<_> = reading.events.iter().map(|it| (it.ts_ns / 1000, it.kind, it.value / 1000, &*it.name)).collect();
    let complete = EventKind::Complete;
    let expected = [
        (1, complete, 8, "Running build command"),
        (2, complete, 4, "a"),
        (3, complete, 5, "b"),
        (4, complete, 1, "a"),
        (7, EventKind::Begin, 0, "c"),
        (10, EventKind::End, 0, "other"),
    ];
    assert_eq!((seen, reading.lost()), (expected.to_vec(), vec![]));
    let is_issue = |event: &ReadEvent| event.kind == complete && !event.flags.has(EventFlags::MAY_OVERLAP);
    assert!(!reading.events.iter().any(is_issue), "their overlaps are no import issues");
    for piece_bytes in [1, 60, 100, 200, 333] {
        let mut pieces = read_in_pieces(text.as_bytes(), piece_bytes).expect("a capture");
        pieces.events.sort_by_key(|event| event.ts_ns);
        assert_eq!(pieces, reading, "{piece_bytes}");
    }
    // Of any other tool, the end of a span ends those inside it.
    let other = read(&text.replace("Running build command", "Running"));
    assert!(other.events.iter().all(|event| event.kind != complete));
}

#[test]
fn names_that_are_not_text_show_their_json_and_the_last_duplicate_key_wins() {
    let events = clean(
        r#"{"ph":"i","ts":1,"name":42},{"ph":"i","ts":2,"name":{"a":1}},{"ph":"i","ts":3,"name":null},{"name":"a","ph":"X","name":"b","ts":9,"ts":4,"ph":"i"}"#,
    );
    let names: Vec<_> = events.iter().map(|event| event.name.as_str()).collect();
    assert_eq!(names, ["42", "{\"a\":1}", "", "b"]);
}

#[test]
fn a_clock_sync_is_shown_where_it_happened() {
    let events = clean(r#"{"ph":"c","name":"clock_sync","ts":5,"pid":1,"tid":2,"args":{"sync_id":"x","issue_ts":3}}"#);
    let [event] = &events[..] else { panic!("{events:?}") };
    assert_eq!((event.kind, event.ts_ns, &*event.name), (EventKind::Instant, 5000, "clock_sync"));
    assert_eq!(event.args, r#"{"sync_id":"x","issue_ts":3}"#);
}

#[test]
fn the_first_letter_of_a_phase_is_what_it_means() {
    let reading = read(r#"[{"ph":"XXX","ts":5.1,"dur":500.1,"name":"a"},{"ph":"B ","ts":6,"name":"b"}]"#);
    let found: Vec<_> = reading.events.iter().map(|event| (event.ts_ns, event.kind, event.value)).collect();
    assert_eq!(found, [(5100, EventKind::Complete, 500_100), (6000, EventKind::Begin, 0)]);
    assert_eq!(reading.lost(), []);
}

#[test]
fn measures_of_pages_and_of_node_are_on_tracks_of_one_name() {
    use crate::model::TrackKey;
    let measure = |cat: &str, name: &str, id: u32, ts: u32| {
        let part = |ph: &str, ts: u32| {
            format!(r#"{{"ph":"{ph}","cat":"{cat}","id":{id},"name":"{name}","pid":1,"tid":1,"ts":{ts}}}"#)
        };
        format!("{},{}", part("b", ts), part("e", ts + 5))
    };
    for (cat, slot) in [
        ("blink.user_timing", TrackKey::SLOT_NAMED),
        ("node,node.perf,node.perf.usertiming", TrackKey::SLOT_NAMED),
        ("devtools.timeline,blink.user_timing", TrackKey::SLOT_NAMED),
        ("blink.user_timing.net", 0),
    ] {
        let reading = read(&format!("[{},{}]", measure(cat, "frame 0", 1, 10), measure(cat, "frame 10", 2, 20)));
        assert!(reading.events.iter().all(|event| event.track.slot == slot), "{cat}");
        assert_eq!(&*reading.events[0].track.name, cat);
    }
}

#[test]
fn an_asynchronous_end_without_a_name_closes_the_innermost_span_of_its_id() {
    let reading =
        read(r#"[{"ph":"b","cat":"c","id":1,"name":"a","pid":1,"ts":1},{"ph":"e","cat":"c","id":1,"pid":1,"ts":5}]"#);
    assert_eq!(reading.events[1].flags, EventFlags::UNNAMED);
}

#[test]
fn states_of_threads_are_on_a_track_of_their_own_by_the_words_for_their_letters() {
    let state = |ts: u32, name: &str, args: &str| {
        format!(r#"{{"ph":"T","cat":"thread_state","name":"{name}","pid":1,"tid":2,"ts":{ts},"dur":5{args}}}"#)
    };
    let states = [
        state(0, "Running", ""),
        state(5, "D", r#","args":{"io_wait":1}"#),
        state(10, "odd", ""),
        state(15, "Unknown", ""),
    ];
    // Without a duration it is a step of an async span.
    let step = r#"{"ph":"T","cat":"thread_state","name":"s","id":1,"pid":1,"tid":2,"ts":20}"#;
    let reading = read(&format!("[{},{step}]", states.join(",")));
    let found: Vec<_> = reading
        .events
        .iter()
        .map(|event| (event.track.kind, event.kind, event.value, &*event.name, event.category.as_deref(), &*event.args))
        .collect();
    let (state, complete) = (crate::model::TrackKind::State, EventKind::Complete);
    let expected = [
        (state, complete, 5000, "Running", Some("Running"), ""),
        (state, complete, 5000, "Uninterruptible sleep", Some("D"), r#"{"io_wait":1}"#),
        (state, complete, 5000, "odd", Some("odd"), ""),
        (state, complete, 5000, "Unknown", None, ""),
    ];
    assert_eq!(found[..4], expected);
    assert_eq!((reading.events[4].kind, reading.lost()), (EventKind::AsyncStepInto, vec![]));
}

#[test]
fn runs_on_cpus_and_asynchronous_spans_of_no_process_come_back_from_an_export() {
    let run = r#"{"ph":"X","tid":"CPU 3","ts":1,"name":"a","cpu":"3","dur":5,"unfinished":true,"args":{"tid":7}}"#;
    let global = r#"{"ph":"b","cat":"c","id":1,"name":"g","pid":0,"global":true,"ts":2}"#;
    // With a process, or with a non-numeric CPU, it is a normal span.
    let others = r#"{"ph":"X","pid":1,"tid":2,"ts":3,"name":"b","cpu":"3","dur":5},{"ph":"X","tid":2,"ts":4,"name":"b","cpu":"x","dur":5}"#;
    let reading = read(&format!("[{run},{global},{others}]"));
    let found: Vec<_> =
        reading.events.iter().map(|event| (event.track.kind, event.track.pid.clone(), event.track.slot)).collect();
    let (cpu, thread, none) = (crate::model::TrackKind::Cpu, crate::model::TrackKind::Thread, crate::model::Id::None);
    let expected = [
        (cpu, none.clone(), 3),
        (crate::model::TrackKind::Async, none.clone(), 0),
        (thread, crate::model::Id::Number(1), 0),
        (thread, none, 0),
    ];
    assert_eq!(found, expected);
    assert_eq!((&*reading.events[0].track.name, reading.events[0].track.tid.to_string()), ("CPU 3", "3".to_owned()));
    assert_eq!(reading.events[0].flags, EventFlags::UNFINISHED.with(EventFlags::PLACED));
    assert_eq!((&*reading.events[0].args, reading.lost()), (r#"{"tid":7}"#, vec![]));
}

#[test]
fn a_member_beside_the_arguments_hides_no_argument_with_its_key() {
    let reading = read(
        r#"[{"ph":"X","name":"a","pid":1,"tid":1,"ts":1,"dur":5,"args":{"out":1,"stack":"s"},"out":2,"in":3,"stack":["f"]},
        {"ph":"P","name":"cycles","pid":1,"tid":1,"ts":2,"args":{"out":1},"out":2}]"#,
    );
    let args: Vec<&str> = reading.events.iter().map(|event| &*event.args).collect();
    let expected = [r#"{"out":1,"stack":"s","event.stack":["f"],"event.out":2,"in":3}"#, r#"{"out":1,"event.out":2}"#];
    assert_eq!((args, reading.lost()), (expected.to_vec(), vec![]));
}

#[test]
fn later_documents_with_clocks_of_their_own_are_moved_to_that_of_the_first() {
    let base = |ms: u32| format!(r#""baseTimeNanoseconds":17000000000{ms:02}000000"#);
    let events = |name: &str| {
        let profile = r#"{"ph":"P","name":"CpuProfile","pid":1,"tid":1,"ts":1,"args":{"data":{"startTime":1,"cpuProfile":{
            "nodes":[{"id":1,"callFrame":{"functionName":"f"}}],"samples":[1],"timeDeltas":[1]}}}}"#;
        format!(r#""traceEvents":[{{"ph":"X","name":"{name}","pid":1,"tid":1,"ts":0,"dur":5}},{profile}]"#)
    };
    let (first, later) = (format!("{{{},{}}}", events("a"), base(0)), format!("{{{},{}}}", base(2), events("b")));
    let text = [first.clone(), later, format!("{{{}}}", events("c"))].join("\n");
    let reading = read(&text);
    let expected = [(0, "a"), (0, "c"), (2000, ""), (2000, ""), (2_000_000, "b"), (2_002_000, "")];
    assert_eq!(reading.short().iter().map(|&(ts, _, name)| (ts, name)).collect::<Vec<_>>(), expected);
    assert_eq!(reading.lost(), []);
    for piece_bytes in (1..=text.len()).step_by(7) {
        assert_eq!(read_in_pieces(text.as_bytes(), piece_bytes).expect("a capture"), reading, "{piece_bytes}");
    }
    let late = read(&[first, format!("{{{},{}}}", events("b"), base(2))].join("\n"));
    assert_eq!(late.lost(), [(Loss::UnknownClock, 1)]);
    assert_eq!(late.short().iter().filter(|event| event.0 == 0).count(), 2);
}
