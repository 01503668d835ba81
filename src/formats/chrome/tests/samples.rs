//! Tests of samples, and of the stacks of other events.

use super::*;
use crate::base::budget::Budget;
use crate::formats::ReadContext;
use crate::formats::testing::read_with;
use crate::model::SampleMeasure;

const FRAMES: &str = r#"{"1":{"name":"main","category":"app"},"2":{"name":"parse","parent":"1"},"3":{"name":"lost","parent":9},
    "4":{"name":"a","parent":5},"5":{"name":"b","parent":4},"0x6":{"name":"p\u00e9","parent":2}}"#;

/// Returns time, track, name, stack and arguments of samples.
fn samples(reading: &Reading) -> Vec<(i64, &TrackKey, &str, String, &str)> {
    let samples = reading.events.iter().filter(|event| event.kind == EventKind::Sample);
    samples
        .map(|event| (event.ts_ns, &event.track, event.name.as_str(), event.stack.join(";"), event.args.as_str()))
        .collect()
}

#[test]
fn samples_have_their_stacks_wherever_the_table_is() {
    let events = r#"[{"ph":"P","ts":1,"pid":1,"tid":2,"sf":2,"name":"cycles","args":{"a":1},"weight":3},
        {"ph":"P","ts":2,"pid":1,"tid":2,"sf":"0x6"},{"ph":"P","ts":3,"pid":1,"tid":2,"stack":["main","x"]},
        {"ph":"P","ts":4,"pid":1,"tid":2,"name":"alone"},{"ph":"P","ts":5,"pid":1,"tid":2},
        {"ph":"P","ts":6,"pid":1,"tid":2,"stack":[],"name":"none"},{"name":"s","ph":"X","ts":7,"dur":1,"pid":1,"tid":2}]"#;
    let before =
        format!(r#"{{"other":["stackFrames",{{"stackFrames":1}}],"stackFrames":{FRAMES},"traceEvents":{events}}}"#);
    let after = format!(r#"{{"traceEvents":{events}, "stackFrames" : {FRAMES} }}"#);
    let track = &thread(1, 2);
    let expected = [
        (1000, track, "cycles", "main;parse".to_owned(), r#"{"a":1,"event":"cycles","period":3}"#),
        (2000, track, "", "main;parse;pé".to_owned(), ""),
        (3000, track, "", "main;x".to_owned(), ""),
        (4000, track, "alone", "alone".to_owned(), ""),
        (5000, track, "", String::new(), ""),
        (6000, track, "none", String::new(), r#"{"event":"none"}"#),
    ];
    for text in [before, after] {
        let reading = read(&text);
        assert_eq!(samples(&reading), expected, "{text}");
        assert!(reading.losses.is_empty() && reading.events.len() == 7);
        for piece_bytes in (1..=text.len()).step_by(7) {
            assert_eq!(read_in_pieces(text.as_bytes(), piece_bytes).expect("a capture"), reading, "{piece_bytes}");
        }
    }
}

#[test]
fn a_weight_is_the_period_of_the_event_that_the_name_tells() {
    for (fields, expected) in [
        (r#""name":"cache-misses","weight":100"#, ("cache-misses", 100)),
        (r#""weight":5"#, ("", 5)),
        (r#""name":"f","weight":"4""#, ("f", 4)),
        // Neither a fraction nor a weight beside another measure.
        (r#""name":"cycles","weight":1.5"#, ("", 1)),
        (r#""name":"f","weight":3,"args":{"event":"cycles","period":7}"#, ("cycles", 7)),
        // Longspan writes the innermost function as the name.
        (r#""name":"main","args":{"event":"cycles","period":7,"unit":"count"}"#, ("cycles", 7)),
        (r#""name":"main""#, ("", 1)),
        (r#""name":"ma\u0069n""#, ("", 1)),
        (r#""name":"faults""#, ("faults", 1)),
        (r#""name":"faults","args":{"event":"cycles"}"#, ("cycles", 1)),
        (r#""name":"""#, ("", 1)),
    ] {
        let reading =
            read(&format!(r#"{{"stackFrames":{FRAMES},"traceEvents":[{{"ph":"P","ts":1,"sf":1,{fields}}}]}}"#));
        let measure = SampleMeasure::from_args(&reading.events[0].args);
        assert_eq!(((&*measure.event, measure.weight), reading.lost()), (expected, vec![]), "{fields}");
    }
}

#[test]
fn a_stack_that_is_not_in_the_table_or_is_a_cycle_is_counted() {
    let events =
        r#"[{"ph":"P","ts":1,"sf":3},{"ph":"P","ts":2,"sf":4},{"ph":"P","ts":3,"sf":77},{"ph":"P","ts":4,"sf":1}]"#;
    let reading = read(&format!(r#"{{"traceEvents":{events},"stackFrames":{FRAMES}}}"#));
    assert_eq!(reading.lost(), [(Loss::MissingText, 3)]);
    assert_eq!(samples(&reading).iter().filter(|sample| sample.3 == "main").count(), 1);
    assert_eq!(reading.events.len(), 4);
    // Without a table, and with a truncated one.
    for text in [events.to_owned(), format!(r#"{{"traceEvents":{events},"stackFrames":{{"1":{{"na"#)] {
        let reading = read(&text);
        assert_eq!(reading.losses.count(Loss::MissingText), 4, "{text}");
        assert_eq!(samples(&reading).len(), 4);
    }
}

#[test]
fn a_deep_stack_is_whole_in_a_sample_and_cut_in_an_argument() {
    let frame = |k: u32| match k {
        0 => r#""0":{"name":"f0"}"#.to_owned(),
        _ => format!(r#""{k}":{{"name":"f{k}","parent":{}}}"#, k - 1),
    };
    // The rows before the outermost frames refer to later rows.
    let frames: Vec<_> = (0..1100).rev().map(frame).collect();
    let events = r#"[{"ph":"P","ts":1,"pid":1,"tid":1,"sf":1099},{"ph":"P","ts":2,"pid":1,"tid":1,"sf":1098},
        {"ph":"X","ts":3,"dur":1,"pid":1,"tid":1,"sf":1099},{"ph":"X","ts":4,"dur":1,"pid":1,"tid":1,"sf":1023}]"#;
    let reading = read(&format!(r#"{{"traceEvents":{events},"stackFrames":{{{}}}}}"#, frames.join(",")));
    let depths: Vec<_> = reading.events.iter().map(|event| event.stack.len()).collect();
    assert_eq!((depths, reading.lost()), (vec![1100, 1099, 0, 0], vec![(Loss::DeepNesting, 1)]));
    let names: Vec<_> = (0..1024).map(|k| format!(r#""f{k}""#)).collect();
    let expected = format!(r#"{{"stack":[{}]}}"#, names.join(","));
    assert!(reading.events[2..].iter().all(|event| event.args == expected));
}

#[test]
fn a_table_of_frames_that_exceeds_the_memory_is_the_reason_of_missing_stacks() {
    let events =
        r#"[{"ph":"P","ts":1,"sf":1},{"ph":"X","ts":2,"dur":1,"pid":1,"tid":1,"sf":1},{"ph":"P","ts":3,"sf":2}]"#;
    let frames: Vec<_> = (0..3000).map(|id| format!(r#""{id}":{{"name":"{}"}}"#, "x".repeat(100))).collect();
    let file = file_of(format!(r#"{{"traceEvents":{events},"stackFrames":{{{}}}}}"#, frames.join(",")).as_bytes());
    let context = |limit_bytes| ReadContext { budget: Budget::new(limit_bytes), ..ReadContext::default() };
    let reading = read_with(file.path(), &context(1 << 20)).expect("a capture");
    assert_eq!((reading.events.len(), reading.lost()), (3, vec![(Loss::OverLimit, 3)]));
    let advice = reading.losses.iter().next().map(|lost| lost.advice.into_owned()).expect("one");
    assert!(advice.ends_with("`--memory 3MiB` suffices."), "{advice}");
    assert_eq!(read_with(file.path(), &context(3 << 20)).expect("a capture").lost(), []);
}

#[test]
fn events_with_long_stacks_are_read_in_several_batches() {
    let long = "x".repeat(60_000);
    let events: Vec<_> =
        (0..200).map(|ts| format!(r#"{{"ph":"X","ts":{ts},"dur":1,"pid":1,"tid":1,"sf":1}}"#)).collect();
    let text = format!(r#"{{"traceEvents":[{}],"stackFrames":{{"1":{{"name":"{long}"}}}}}}"#, events.join(","));
    let reading = read(&text);
    assert_eq!((reading.events.len(), reading.lost()), (200, vec![]));
    assert_eq!(read_in_pieces(text.as_bytes(), 100).expect("a capture"), reading);
}

#[test]
fn frames_that_a_live_stream_cannot_have_yet_are_counted_only_if_no_table_comes() {
    let events = r#"[{"ph":"P","ts":1,"sf":3},{"ph":"X","ts":2,"dur":1,"pid":1,"tid":1,"sf":4,"esf":1},
        {"ph":"P","ts":3,"sf":77}]"#;
    for (text, lost) in [
        (format!(r#"{{"traceEvents":{events},"stackFrames":{FRAMES}}}"#), vec![]),
        // A table before the events is complete when they arrive: one of four samples has a whole stack.
        (format!(r#"{{"stackFrames":{FRAMES},"traceEvents":{events}}}"#), vec![(Loss::MissingText, 3)]),
        (format!(r#"{{"traceEvents":{events},"other":{{"stackFrames":1}}}}"#), vec![(Loss::MissingText, 4)]),
        (events.to_owned(), vec![(Loss::MissingText, 4)]),
    ] {
        for lens in [&[1000][..], &[7], &[1, 60, 3]] {
            let reading = read_live(text.as_bytes(), lens).expect("a stream");
            assert_eq!((reading.lost(), reading.events.len()), (lost.clone(), 3), "{text}");
        }
    }
}

#[test]
fn the_array_of_samples_finds_its_threads_among_those_of_the_events() {
    let events = r#"[{"name":"s","ph":"X","ts":1,"dur":9,"pid":7,"tid":2},{"name":"s","ph":"X","ts":1,"dur":9,"pid":8,"tid":2}]"#;
    let array = r#"[{"cpu":0,"tid":2,"ts":1000.5,"name":"cycles:HG","sf":2,"weight":1},{"tid":5,"ts":2,"sf":1}]"#;
    let (pid, tid) = (Id::None, Id::Number(5));
    let unowned = &TrackKey { pid, tid, ..thread(0, 0) };
    let text = format!(r#"{{"traceEvents":{events},"samples":{array},"stackFrames":{FRAMES}}}"#);
    let reading = read(&text);
    let expected = [
        (2_000, unowned, "", "main".to_owned(), ""),
        (1_000_500, &thread(7, 2), "cycles:HG", "main;parse".to_owned(), r#"{"cpu":0,"event":"cycles:HG","period":1}"#),
    ];
    assert_eq!(samples(&reading), expected);
    assert!(reading.losses.is_empty());
    for piece_bytes in (1..=text.len()).step_by(5) {
        assert_eq!(read_in_pieces(text.as_bytes(), piece_bytes).expect("a capture"), reading, "{piece_bytes}");
    }
    // Before the events, no thread is known; the array alone is also a trace.
    let first = read(&format!(r#"{{"samples":{array},"stackFrames":{FRAMES},"traceEvents":{events}}}"#));
    assert!(samples(&first).iter().all(|sample| sample.1.pid == Id::None) && first.events.len() == 4);
    assert_eq!(read(&format!(r#"{{"samples":{array},"stackFrames":{FRAMES}}}"#)).events.len(), 2);
}

#[test]
fn a_record_of_the_array_of_samples_with_a_process_is_in_it() {
    let reading = read(&format!(
        r#"{{"traceEvents":[{{"name":"s","ph":"X","ts":7,"dur":1,"pid":2,"tid":"0"}}],
        "samples":[{{"cpu":"-1","name":"","ts":"5","pid":1,"tid":"0","weight":"1","sf":2}}],"stackFrames":{FRAMES}}}"#
    ));
    let found: Vec<_> =
        samples(&reading).into_iter().map(|(ts_ns, key, _, stack, _)| (ts_ns, key.pid.clone(), stack)).collect();
    assert_eq!(found, [(5000, Id::Number(1), "main;parse".to_owned())]);
}

#[test]
fn which_process_a_sample_is_of_does_not_depend_on_where_batches_begin() {
    let text = r#"[{"tid":2,"ts":1,"sf":1},{"ph":"X","pid":7,"tid":2,"ts":2,"dur":1},{"tid":2,"ts":3,"sf":1},
        {"ph":"X","pid":8,"tid":2,"ts":4,"dur":1},{"tid":2,"ts":5,"sf":1},{"ph":"i","pid":9,"tid":3,"ts":6},
        {"tid":3,"ts":7,"sf":1},{"tid":4,"ts":8,"sf":1}]"#;
    let reading = read(text);
    let pids: Vec<&Id> = samples(&reading).iter().map(|sample| &sample.1.pid).collect();
    let [seven, nine] = [7, 9].map(Id::Number);
    assert_eq!(pids, [&Id::None, &seven, &seven, &nine, &Id::None]);
    for piece_bytes in 1..=text.len() {
        assert_eq!(read_in_pieces(text.as_bytes(), piece_bytes).expect("a capture"), reading, "{piece_bytes}");
    }
}

#[test]
fn stacks_of_spans_are_arguments() {
    let reading = read(&format!(
        r#"{{"traceEvents":[{{"name":"a","ph":"X","ts":1,"dur":1,"sf":2,"esf":1,"args":{{"k":1}}}},
            {{"name":"b","ph":"B","ts":2,"stack":["x","y"],".file":"f"}},{{"ph":"E","ts":3,"sf":2}},
            {{"name":"i","ph":"i","ts":4,"sf":99}}],"stackFrames":{FRAMES}}}"#
    ));
    let args: Vec<&str> = reading.events.iter().map(|event| event.args.as_str()).collect();
    let expected = [
        r#"{"k":1,"stack":["main","parse"],"end_stack":["main"]}"#,
        r#"{"stack":["x","y"],".file":"f"}"#,
        r#"{"end_stack":["main","parse"]}"#,
        r#"{"stack":99}"#,
    ];
    assert_eq!((args, reading.lost()), (expected.to_vec(), vec![(Loss::MissingText, 1)]));
}

#[test]
fn stacks_of_a_real_capture_are_those_of_a_plain_reading() {
    let path = data("go_trace.json");
    let plain: serde_json::Value = serde_json::from_slice(&std::fs::read(&path).expect("a file")).expect("strict JSON");
    let names = |frame: &serde_json::Value| {
        let mut names = Vec::new();
        let mut next = frame.clone();
        while !next.is_null() {
            let frame = &plain["stackFrames"][next.to_string()];
            names.insert(0, frame["name"].as_str().expect("a name").to_owned());
            next = frame["parent"].clone();
        }
        serde_json::json!(names)
    };
    let mut expected = Vec::new();
    for event in plain["traceEvents"].as_array().expect("events") {
        for (member, argument) in [("sf", "stack"), ("esf", "end_stack")] {
            if !event[member].is_null() {
                expected.push((argument, names(&event[member]).to_string()));
            }
        }
    }
    let reading = read_path(&path).expect("a capture");
    let mut found = Vec::new();
    for event in reading.events.iter().filter(|event| !event.args.is_empty()) {
        let args: serde_json::Value = serde_json::from_str(&event.args).expect("an object");
        for argument in ["stack", "end_stack"] {
            found.extend(args.get(argument).map(|stack| (argument, stack.to_string())));
        }
    }
    expected.sort();
    found.sort();
    assert_eq!((found.len(), reading.lost()), (459, vec![]));
    assert_eq!(found, expected);
}

/// Two profiles with the same id in different processes, as V8's tracer writes them.
const PROFILE: [&str; 5] = [
    r#"{"cat":"v8","name":"Profile","ph":"P","pid":1,"tid":5,"id":"0x1","ts":10,"args":{"data":{"startTime":100}}}"#,
    r#"{"name":"Profile","ph":"P","pid":2,"tid":6,"id":"0x1","ts":11,"args":{"data":{"startTime":1000}}}"#,
    r#"{"name":"ProfileChunk","ph":"P","pid":1,"tid":9,"id":"0x1","ts":20,"args":{"data":{"cpuProfile":{"nodes":[
        {"id":1,"callFrame":{"functionName":"(root)"}},{"id":2,"parent":1,"callFrame":{"functionName":"main","url":"x/a.js","lineNumber":9}}],
        "samples":[2,2]},"timeDeltas":[5,10],"lines":[1,1]}}}"#,
    r#"{"name":"ProfileChunk","ph":"P","pid":2,"tid":9,"id":"0x1","ts":21,"args":{"data":{"cpuProfile":{"nodes":[
        {"id":2,"callFrame":{"functionName":"other"}}],"samples":[2]},"timeDeltas":[1]}}}"#,
    r#"{"name":"ProfileChunk","ph":"P","pid":1,"tid":9,"id":"0x1","ts":30,"args":{"data":{"cpuProfile":{"nodes":[
        {"id":3,"parent":2,"callFrame":{"functionName":"f"}}],"samples":[3,8,2]},"timeDeltas":[-3,1,1]}}}"#,
];

/// Returns the arguments of a sample that lasts so long.
fn timed(ns: u64) -> String {
    format!(r#"{{"event":"time","unit":"ns","period":{ns}}}"#)
}

#[test]
fn a_profile_of_v8_lasts_until_the_end_that_its_last_chunk_has() {
    let end = r#"{"name":"ProfileChunk","ph":"P","pid":1,"tid":9,"id":"0x1","ts":40,"args":{"data":{"endTime":160}}}"#;
    let reading = read(&format!("[{},{},{end}]", PROFILE[0], PROFILE[2]));
    let weights: Vec<String> = samples(&reading).iter().map(|sample| sample.4.to_owned()).collect();
    assert_eq!(weights, [timed(10_000), timed(45_000)]);
}

#[test]
fn profiles_of_v8_come_together_from_their_chunks() {
    let text = format!("[{}]", PROFILE.join(",\n"));
    let reading = read(&text);
    let (one, two) = (&thread(1, 5), &thread(2, 6));
    let main = "main (a.js:10)";
    // Samples are listed out of order, that at 113 us without a stack. Without an end, the usual interval is repeated.
    let [seven_us, one_us] = [7000, 1000].map(timed);
    let expected = [
        (105_000, one, "", main.to_owned(), &*seven_us),
        (112_000, one, "", format!("{main};f"), &*one_us),
        (114_000, one, "", main.to_owned(), &*one_us),
        (115_000, one, "", main.to_owned(), &*one_us),
        (1_001_000, two, "", "other".to_owned(), &*one_us),
    ];
    assert_eq!(samples(&reading), expected);
    assert_eq!((reading.lost(), reading.events.len()), (vec![(Loss::MissingText, 1)], 5));
    for piece_bytes in (1..=text.len()).step_by(11) {
        assert_eq!(read_in_pieces(text.as_bytes(), piece_bytes).expect("a capture"), reading, "{piece_bytes}");
    }
}

#[test]
fn parts_of_a_profile_may_be_in_any_order() {
    let reading = read(&format!("[{}]", PROFILE.join(",")));
    for order in [[4, 3, 2, 1, 0], [2, 0, 4, 1, 3], [0, 1, 4, 3, 2], [2, 3, 0, 1, 4]] {
        let text = format!("[{}]", order.map(|part: usize| PROFILE[part]).join(","));
        let shuffled = read(&text);
        assert_eq!((samples(&shuffled), shuffled.lost()), (samples(&reading), reading.lost()), "{order:?}");
        for piece_bytes in (1..=text.len()).step_by(97) {
            assert_eq!(read_in_pieces(text.as_bytes(), piece_bytes).expect("a capture"), shuffled, "{piece_bytes}");
        }
    }
}

#[test]
fn parts_of_a_profile_in_a_live_stream_may_be_in_any_order_even_if_its_start_is_late() {
    let reading = read(&format!("[{}]", PROFILE.join(",")));
    let later = r#"{"name":"later","ph":"i","pid":1,"tid":1,"ts":9000000}"#;
    for order in [[0, 1, 2, 3, 4], [4, 3, 2, 1, 0], [2, 0, 4, 1, 3], [0, 1, 4, 3, 2]] {
        let parts = order.map(|part: usize| PROFILE[part]);
        // Within the time that parts wait; chunks that have waited in vain; parts that waited before more events.
        let starts_first = order[..2] == [0, 1];
        let texts = [
            format!("[{}]", parts.join(",")),
            format!("[{},{later}]", parts.join(",")),
            format!("[{},{later},{},{}]", [PROFILE[4], PROFILE[3], PROFILE[2]].join(","), PROFILE[1], PROFILE[0]),
        ];
        for text in &texts[..if starts_first { 2 } else { 3 }] {
            for lens in [&[100_000][..], &[300], &[1, 700, 30]] {
                let mut live = read_live(text.as_bytes(), lens).expect("a stream");
                live.events.retain(|event| event.name != "later");
                assert_eq!((samples(&live), live.lost()), (samples(&reading), reading.lost()), "{text} {lens:?}");
            }
        }
    }
    let lost = read_live(format!("[{},{later}]", PROFILE[2]).as_bytes(), &[300]).expect("a stream").lost();
    assert_eq!(lost, [(Loss::MissingWeight, 1)]);
}

#[test]
fn parts_beyond_the_memory_that_come_late_are_counted_and_the_later_ones_are_right() {
    // The sixteenth part of the budget has none of the long chunks.
    let chunk = |node: u32, ts: u32, padding: usize| {
        let caller = node - 1;
        let nodes = format!(r#"{{"id":{node},"parent":{caller},"callFrame":{{"functionName":"f{node}"}}}}"#);
        let profile = format!(r#"{{"nodes":[{nodes}],"samples":[{node}]}}"#);
        let lines = "1,".repeat(padding);
        let data = format!(r#"{{"cpuProfile":{profile},"timeDeltas":[10],"lines":[{lines}1]}}"#);
        format!(r#"{{"name":"ProfileChunk","ph":"P","pid":1,"tid":9,"id":"0x1","ts":{ts},"args":{{"data":{data}}}}}"#)
    };
    let root = r#"{"name":"ProfileChunk","ph":"P","pid":1,"tid":9,"id":"0x1","ts":15,"args":{"data":{"cpuProfile":{"nodes":[{"id":1,"callFrame":{"functionName":"(root)"}}],"samples":[]},"timeDeltas":[]}}}"#;
    let chunks = [chunk(3, 30, 40_000), chunk(4, 40, 40_000), chunk(2, 20, 1), chunk(5, 50, 1)];
    let text = format!("[{},{root},{}]", PROFILE[0], chunks.join(","));
    let small = ReadContext { budget: Budget::new(1 << 20), ..ReadContext::default() };
    let file = file_of(text.as_bytes());
    let reading = read_with(file.path(), &small).expect("a capture");
    let times: Vec<i64> = samples(&reading).iter().map(|sample| sample.0).collect();
    assert_eq!((times, reading.lost()), (vec![110_000, 120_000, 140_000], vec![(Loss::OverLimit, 1)]));
    assert_eq!(samples(&reading)[2].3, "f2;f3;f4;f5");
}

#[test]
fn samples_of_a_profile_without_its_start_are_placed_by_their_first_chunk() {
    let reading = read(&format!("[{},{}]", PROFILE[2], PROFILE[4]));
    let writer = &thread(1, 9);
    let main = "main (a.js:10)";
    let [seven_us, one_us] = [7000, 1000].map(timed);
    // The first chunk is of 20 us, and the samples in it are 5 and 10 us apart.
    let expected = [
        (10_000, writer, "", main.to_owned(), &*seven_us),
        (17_000, writer, "", format!("{main};f"), &*one_us),
        (19_000, writer, "", main.to_owned(), &*one_us),
        (20_000, writer, "", main.to_owned(), &*one_us),
    ];
    assert_eq!(samples(&reading), expected);
    assert_eq!(reading.lost(), [(Loss::MissingText, 1), (Loss::MissingWeight, 1)]);
}

#[test]
fn a_chunk_without_the_beginning_of_its_profile_and_one_that_is_none_are_counted() {
    let lost = |records: &[&str]| read(&format!("[{}]", records.join(","))).lost();
    assert_eq!(lost(&PROFILE[4..]), [(Loss::MissingState, 3)], "each sample");
    let end = r#"{"name":"ProfileChunk","ph":"P","pid":1,"tid":9,"id":"0x1","ts":40,"args":{"data":{"endTime":160}}}"#;
    assert_eq!(lost(&[end]), [(Loss::MissingState, 1)]);
    let damaged = PROFILE[2].replace(r#""samples":[2,2]"#, r#""samples":"all""#);
    assert_eq!(lost(&[PROFILE[0], &damaged]), [(Loss::BadRecord, 1)]);
    let timeless = PROFILE[0].replace("startTime", "start");
    assert_eq!(lost(&[&timeless]), [(Loss::BadTime, 1)]);
}

#[test]
fn a_profile_in_one_event_has_its_times_beside_its_calls() {
    // The forms of webpack's profiling plugin and of Chrome in 2017: an instant, and a sample.
    let profile = |ph: &str, times: &str| {
        format!(
            r#"[{{"name":"CpuProfile","ph":"{ph}","pid":1,"tid":5,"id":7,"ts":900,"args":{{"data":{{"cpuProfile":{{"nodes":[
            {{"id":1,"callFrame":{{"functionName":"(root)"}},"children":[2]}},{{"id":2,"callFrame":{{"functionName":"f"}}}}],
            "samples":[2,1,2]{times}}}}}}}}}]"#
        )
    };
    let thread = &thread(1, 5);
    let [five, ten] = [5000, 10_000].map(timed);
    let expected = [
        (105_000, thread, "", "f".to_owned(), &*five),
        (110_000, thread, "", String::new(), &*ten),
        (120_000, thread, "", "f".to_owned(), &*ten),
    ];
    for ph in ["I", "P"] {
        let text = profile(ph, r#","startTime":100,"endTime":130,"timeDeltas":[5,5,10]"#);
        let reading = read(&text);
        assert_eq!(samples(&reading), expected, "{ph}");
        assert_eq!((reading.lost(), reading.events.len()), (vec![], 3));
        for piece_bytes in (1..=text.len()).step_by(13) {
            assert_eq!(read_in_pieces(text.as_bytes(), piece_bytes).expect("a capture"), reading, "{piece_bytes}");
        }
        assert_eq!(read(&profile(ph, "")).lost(), [(Loss::BadTime, 1)]);
    }
    // An instant with that name but without a profile stays an instant.
    let reading = read(r#"[{"name":"CpuProfile","ph":"I","pid":1,"tid":5,"ts":1,"args":{"data":{"sessionId":1}}}]"#);
    assert_eq!((reading.events.len(), reading.events[0].kind), (1, EventKind::Instant));
}

#[test]
fn each_document_of_a_file_has_its_own_table_also_in_the_reply_of_a_protocol() {
    let document = |at: u32, name: &str| {
        let event = format!(r#"[{{"ph":"P","ts":{at},"pid":1,"tid":1,"sf":"1"}}]"#);
        format!(
            r#"{{"traceEvents":{event},"stackFrames":{{"1":{{"name":"{name}"}},"2":{{"name":"in","parent":"1"}}}}}}"#
        )
    };
    let (one, other) = (document(1, "one"), document(2, "other"));
    let reply = |document: &str| format!(r#"{{"id":1,"result":{document}}}"#);
    let without = r#"{"traceEvents":[{"ph":"P","ts":3,"pid":1,"tid":1,"sf":"1"}]}"#;
    let expected = [(1000, "one"), (2000, "other"), (3000, "")];
    for documents in [
        [one.clone(), other.clone(), without.to_owned()],
        [reply(&one), reply(&other), reply(without)],
        [without.to_owned(), other, one],
    ] {
        let text = documents.join("\n");
        let reading = read(&text);
        let stacks: Vec<_> = samples(&reading).into_iter().map(|sample| (sample.0, sample.3)).collect();
        assert_eq!(stacks, expected.map(|(ts_ns, stack)| (ts_ns, stack.to_owned())), "{text}");
        assert_eq!(reading.lost(), [(Loss::MissingText, 1)], "the last event has no table");
        for piece_bytes in (1..=text.len()).step_by(7) {
            assert_eq!(read_in_pieces(text.as_bytes(), piece_bytes).expect("a capture"), reading, "{piece_bytes}");
        }
    }
}
