//! Tests of small traces of each tool, against its own display, and of format detection.

mod jaeger;
mod nesting;
mod odd_members;

use crate::formats::input::source::HEAD_BYTES;
use crate::formats::testing::{ReadEvent, Reading, data, format_of, read, read_bytes, read_path};
use crate::model::{EventFlags, EventKind, Loss, Metadata};

/// Returns a trace of the fuzz corpus.
fn corpus(name: &str) -> String {
    let path = data("").join("../fuzz/corpus").join(name);
    std::fs::read_to_string(path).expect("a small capture")
}

/// Returns start and duration in microseconds since `from_us`, and name of each span.
fn spans(text: &str, from_us: i64) -> Vec<(i64, u64, String)> {
    let reading = read(text);
    let spans = reading.events.into_iter().filter(|event| event.kind == EventKind::Complete);
    spans.map(|span| (span.ts_ns / 1000 - from_us, span.value / 1000, span.name)).collect()
}

/// Returns the first span or instant with this name; flows also have names of spans.
fn shown<'r>(reading: &'r Reading, name: &str) -> &'r ReadEvent {
    let mut shown =
        reading.events.iter().filter(|event| matches!(event.kind, EventKind::Complete | EventKind::Instant));
    shown.find(|event| event.name == name).expect("an event")
}

#[test]
fn zipkins_spans_have_their_services_tags_annotations_and_callers() {
    let text = corpus("zipkin/spans.json");
    let reading = read(&text);
    let epoch_us = 1_500_000_000_000_000;
    let expected = [(0, 5000, "get /"), (1000, 3000, "q"), (1500, 2000, "q"), (1600, 0, "open")];
    assert_eq!(spans(&text, epoch_us), expected.map(|(start, dur, name)| (start, dur, name.to_owned())));
    let names = |reading: &Reading| {
        let names = reading.metadata.iter().filter_map(|fact| match fact {
            Metadata::ProcessName { name, .. } => Some(name.to_string()),
            _ => None,
        });
        names.collect::<Vec<_>>()
    };
    assert_eq!(names(&reading), ["fe", "db", "unknown service"]);
    let open = shown(&reading, "open");
    assert!(open.flags.has(EventFlags::UNFINISHED), "it has no duration");
    let first = reading.events.iter().find(|event| event.name == "get /").expect("a span");
    assert_eq!(first.args, r#"{"kind":"SERVER","trace_id":"1","span_id":"1","tags":{"a":"b"}}"#);
    let instant = reading.events.iter().find(|event| event.kind == EventKind::Instant).expect("an annotation");
    assert_eq!((instant.name.as_str(), instant.ts_ns), ("ws", (epoch_us + 100) * 1000));
    // From the client's half to the server's, and from there to the span of another service.
    let arrows = reading.events.iter().filter(|event| event.kind == EventKind::FlowEnd);
    assert_eq!(arrows.map(|end| end.ts_ns / 1000 - epoch_us).collect::<Vec<_>>(), [1500, 1600]);
    assert_eq!(reading.lost(), [(Loss::BadTime, 1)]);
    let traces = spans(&corpus("zipkin/traces.json"), 0);
    assert_eq!(traces, [(10, 4, "a".to_owned()), (20, 4, "b".to_owned())]);
}

#[test]
fn jaegers_spans_have_the_processes_that_follow_them() {
    let text = corpus("jaeger/trace.json");
    let reading = read(&text);
    let expected = [(0, 5000, "GET"), (1000, 3000, "q"), (1500, 10, "old")];
    assert_eq!(spans(&text, 1_500_000_000_000_000), expected.map(|(start, dur, name)| (start, dur, name.to_owned())));
    let of = |name: &str| shown(&reading, name);
    assert_eq!(of("GET").track.pid, of("old").track.pid);
    assert_ne!(of("GET").track.pid, of("q").track.pid);
    // The child fits below its parent.
    assert_eq!(of("GET").track, of("old").track);
    assert_eq!(of("GET").args, r#"{"trace_id":"t","span_id":"1","a":"b","n":7,"warning":"clock skew"}"#);
    assert_eq!((of("retry").kind, of("retry").args.as_str()), (EventKind::Instant, r#"{"event":"retry","x":1}"#));
    assert_eq!(reading.lost(), [(Loss::BadTime, 1)]);
}

#[test]
fn the_spans_of_next_js_are_in_time_since_1970_and_below_their_parents() {
    let text = corpus("next_js/trace");
    let found = spans(&text, 1_795_344_951_469_000);
    let expected = [(-907, 5000, "next-build"), (0, 284, "compile"), (93, 300, "lint"), (1093, 0, "open")];
    assert_eq!(found, expected.map(|(start, dur, name)| (start, dur, name.to_owned())));
    let reading = read(&text);
    let of = |name: &str| shown(&reading, name);
    assert_eq!(of("next-build").track, of("compile").track);
    assert_ne!(of("compile").track, of("lint").track, "they overlap");
    assert_eq!(reading.lost(), []);
    // A cut costs the span that contains it.
    let cut = text.find("\"open\"").expect("the last span");
    let reading = read_bytes(&text.as_bytes()[..cut]).expect("a part");
    assert_eq!(reading.losses.count(Loss::Truncated), 1);
    assert_eq!(reading.names().iter().filter(|name| !name.is_empty()).count(), 5, "three spans and an arrow");
}

#[test]
fn the_requests_of_a_page_have_their_phases_and_all_of_them_their_times() {
    let text = corpus("har/pages.har");
    let reading = read(&text);
    let mut found = spans(&text, 1_767_225_600_000_000);
    found.sort_by_key(|&(start, dur, _)| (start, std::cmp::Reverse(dur)));
    let expected = [
        (0, 60_000, "home"),
        (1000, 50_000, "GET http://a/x"),
        (1000, 1000, "blocked"),
        (2000, 2000, "dns"),
        (4000, 10_000, "connect"),
        (9000, 5000, "ssl"),
        (10_000, 5250, "POST http://a/y"),
        (10_000, 250, "send"),
        (10_250, 5000, "wait"),
        (14_000, 30_000, "wait"),
        (44_000, 7000, "receive"),
    ];
    assert_eq!(found, expected.map(|(start, dur, name)| (start, dur, name.to_owned())));
    let request = reading.events.iter().find(|event| event.name == "GET http://a/x").expect("a request");
    assert_eq!(
        request.args,
        "{\"url\":\"http://a/x?q=1\",\"http_version\":\"h2\",\"status\":200,\"status_text\":\"OK\",\
         \"mime_type\":\"text/html\",\"content_bytes\":10,\"transfer_bytes\":120,\"server\":\"127.0.0.1\",\
         \"resource_type\":\"document\"}"
    );
    let instants = reading.events.iter().filter(|event| event.kind == EventKind::Instant);
    let instants: Vec<_> = instants.map(|event| event.name.as_str()).collect();
    assert_eq!(instants, ["onContentLoad", "onLoad"]);
    // Its phases are on the row of the request.
    let ssl = reading.events.iter().find(|event| event.name == "ssl").expect("a phase");
    assert_eq!(ssl.track, request.track);
    assert_eq!(reading.lost(), [(Loss::BadTime, 1)]);
}

#[test]
fn a_page_that_is_loaded_again_is_a_process_of_its_own() {
    let page = |id: &str, seconds: u32| {
        format!(
            r#"{{"id":"{id}","title":"http://h/","startedDateTime":"2024-01-02T03:04:{seconds:02}Z","pageTimings":{{"onLoad":50}}}}"#
        )
    };
    let entry = |page: &str, seconds: u32| {
        format!(
            r#"{{"startedDateTime":"2024-01-02T03:04:{seconds:02}Z","time":5,"pageref":"{page}","request":{{"method":"GET","url":"http://h/{page}"}}}}"#
        )
    };
    let log = |pages: &str, entries: &str| {
        format!(r#"{{"log":{{"entries":[{entries}],"pages":[{pages}],"creator":{{}},"version":"1.2"}}}}"#)
    };
    let names = |reading: &Reading| {
        let names = reading.metadata.iter().filter_map(|fact| match fact {
            Metadata::ProcessName { name, .. } => Some(name.to_string()),
            _ => None,
        });
        names.collect::<Vec<_>>()
    };
    let once = read(&log(&page("p1", 1), &entry("p1", 1)));
    assert_eq!(names(&once), ["http://h/"]);
    let entries = [entry("p1", 1), entry("p2", 9)].join(",");
    let twice = read(&log(&[page("p1", 1), page("p2", 9)].join(","), &entries));
    assert_eq!(names(&twice), ["http://h/", "http://h/ (p1)", "http://h/ (p2)"], "the first is renamed");
    assert_ne!(shown(&twice, "GET http://h/p1").track.pid, shown(&twice, "GET http://h/p2").track.pid);
    // Entries may come before the other members, and be longer than the part that is looked at.
    let long = log(&page("p1", 1), &vec![entry("p1", 1); 700].join(","));
    assert!(long.find("pages").is_some_and(|at| at > HEAD_BYTES));
    assert_eq!(format_of(long.as_bytes()), Some("HAR"));
    assert_eq!(read(&long).lost(), []);
}

#[test]
fn requests_that_playwright_recorded_are_all_there() {
    let reading = read_path(&data("people/pw.har")).expect("a capture");
    let text = std::fs::read_to_string(data("people/pw.har")).expect("text");
    let json: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let entries = json["log"]["entries"].as_array().expect("a list");
    let requests = reading.events.iter().filter(|event| event.args.contains("\"url\""));
    assert_eq!(requests.count(), entries.len());
    assert_eq!(reading.lost(), []);
}

#[test]
fn the_calls_of_playwright_have_their_logs_and_its_requests_their_phases() {
    let text = corpus("playwright/small.trace");
    let reading = read(&text);
    let began_us = 1_795_343_847_745_000 - 1_051_188;
    let expected = [(1_059_496, 11_000, "Page.goto"), (1_061_000, 0, "404"), (1_071_000, 0, "Click")];
    assert_eq!(spans(&text, began_us), expected.map(|(start, dur, name)| (start, dur, name.to_owned())));
    assert!(shown(&reading, "Click").flags.has(EventFlags::UNFINISHED));
    let goto = shown(&reading, "Page.goto");
    assert_eq!(goto.args, r#"{"params":{"url":"http://a/"},"error":{"message":"no"}}"#);
    let log = shown(&reading, "navigating");
    assert_eq!((log.kind, &log.track), (EventKind::Instant, &goto.track));
    assert_eq!(reading.lost(), []);
    let requests = read(&corpus("playwright/small.network"));
    assert_eq!(requests.names(), ["GET http://a/", "send", "wait", "receive"]);
    // A truncated line costs only itself.
    for len in 200..text.len() {
        let part = read_bytes(&text.as_bytes()[..len]).expect("a part");
        assert!(part.events.len() <= reading.events.len() && part.losses.total() <= 1, "{len}");
    }
}

#[test]
fn each_format_is_recognised_by_its_keys() {
    let rows = [
        ("zipkin/spans.json", "Zipkin"),
        ("zipkin/traces.json", "Zipkin"),
        ("jaeger/trace.json", "Jaeger"),
        ("next_js/trace", "Next.js trace"),
        ("har/pages.har", "HAR"),
        ("har/plain.har", "HAR"),
        ("playwright/small.trace", "Playwright trace"),
        ("playwright/small.network", "Playwright trace"),
    ];
    for (file, format) in rows {
        assert_eq!(format_of(corpus(file).as_bytes()), Some(format), "{file}");
    }
    // The same keys in event arguments are not keys of the document.
    let trace =
        r#"[{"ph":"X","ts":1,"dur":1,"name":"x","args":{"traceId":"1","id":"2","log":{"version":1,"creator":1}}}]"#;
    assert_eq!(format_of(trace.as_bytes()), Some("Chrome JSON"));
}

#[test]
fn jaegers_traces_read_the_same_in_every_document_that_holds_them() {
    let answer = corpus("jaeger/trace.json");
    let expected = read(&answer);
    let value: serde_json::Value = serde_json::from_str(&answer).expect("JSON");
    let traces = value["data"].as_array().expect("traces");
    let alone = read(&serde_json::Value::Array(traces.clone()).to_string());
    assert_eq!(alone.short(), expected.short());
    let [trace] = &traces[..] else { panic!("one trace") };
    let one = read(&trace.to_string());
    assert_eq!(one.short(), expected.short());
    // The forms stored by Elasticsearch, and written by elasticdump.
    let span = r#"{"traceID":"a","spanID":"1","operationName":"op","references":[],"startTime":1500000000000000,"duration":5,"tags":[],"logs":[],"process":{"serviceName":"svc","tags":[]}}"#;
    for line in [span.to_owned(), format!(r#"{{"_index":"jaeger-span","_id":"x","_source":{span}}}"#)] {
        let reading = read(&format!("{line}\n{}\n", line.replace("000,", "007,")));
        let base = 1_500_000_000_000_000_000;
        assert_eq!(reading.short(), [(base, 5000, "op"), (base + 7000, 5000, "op")], "{line}");
        assert_eq!(reading.lost(), []);
    }
}

#[test]
fn zipkins_spans_read_the_same_alone_and_on_lines() {
    let text = r#"{"traceId":"1","id":"2","name":"get","timestamp":1500000000000000,"duration":9,"localEndpoint":{"serviceName":"fe"}}"#;
    let expected = [(1_500_000_000_000_000_000, 9000, "get")];
    for one in [text.to_owned(), text.replace("{\"traceId", "{\n\"traceId"), format!("[{text}]"), format!("{text}\n")] {
        let reading = read(&one);
        assert_eq!((reading.short(), reading.lost()), (expected.to_vec(), vec![]), "{one}");
    }
    for empty in ["[[]]", "[ [], [] ]\n"] {
        assert_eq!(format_of(empty.as_bytes()), Some("Zipkin"), "{empty}");
        let reading = read(empty);
        assert_eq!((reading.events.len(), reading.lost()), (0, vec![]), "{empty}");
    }
    assert_eq!(read("[]").lost(), [], "an empty result, of whatever tool");
    for two in [format!("{text}\n{text}\n"), format!("[{text}]\n[{text}]\n")] {
        assert_eq!(read(&two).short(), [expected[0]; 2], "{two}");
    }
}

#[test]
fn zipkins_spans_of_version_1_have_the_times_of_their_annotations() {
    let at = |us: u32, value: &str, service: &str| {
        format!(
            r#"{{"timestamp":1500000000000{us:03},"value":"{value}","endpoint":{{"serviceName":"{service}","ipv4":"1.2.3.4"}}}}"#
        )
    };
    let span = |id: u32, more: &str, annotations: &[String]| {
        format!(
            r#"{{"traceId":"1","id":"{id}","name":"n{id}",{more}"annotations":[{}],"binaryAnnotations":[{{"key":"http.path","value":"/a","endpoint":{{"serviceName":"fe"}}}}]}}"#,
            annotations.join(",")
        )
    };
    let spans = [
        span(1, r#""timestamp":1500000000000000,"duration":900,"#, &[at(0, "sr", "fe"), at(900, "ss", "fe")]),
        span(
            2,
            r#""parentId":"1","#,
            &[
                at(100, "cs", "fe"),
                at(200, "sr", "be"),
                at(250, "note", "be"),
                at(300, "ss", "be"),
                at(400, "cr", "fe"),
            ],
        ),
        span(3, r#""parentId":"1","timestamp":1500000000000500,"duration":10,"#, &[]),
    ];
    let reading = read(&format!("[{}]", spans.join(",")));
    let base = 1_500_000_000_000_000_000;
    let shown: Vec<_> = reading
        .events
        .iter()
        .filter(|event| event.kind == EventKind::Complete)
        .map(|event| ((event.ts_ns - base) / 1000, event.value / 1000, &*event.name, event.track.pid.clone()))
        .collect();
    let [fe, be] = [0, 1].map(|index| shown[index * 2].3.clone());
    assert_ne!(fe, be);
    assert_eq!(
        shown,
        [(0, 900, "n1", fe.clone()), (100, 300, "n2", fe.clone()), (200, 100, "n2", be.clone()), (500, 10, "n3", fe)]
    );
    let note = reading.events.iter().find(|event| event.name == "note").expect("an instant");
    assert_eq!((note.kind, &note.track.pid), (EventKind::Instant, &be));
    assert!(reading.events.iter().any(|event| event.kind == EventKind::FlowEnd), "from the client to the server");
    let first = reading.events.iter().find(|event| event.name == "n1").expect("a span");
    assert!(first.args.contains(r#""tags":{"http.path":"/a"}"#), "{}", first.args);
    assert_eq!(reading.lost(), []);
}

#[test]
fn spans_that_jq_extracts_or_prints_are_read() {
    let text = corpus("next_js/trace");
    let mut pretty = String::new();
    for line in text.lines() {
        let array: Vec<serde_json::Value> = serde_json::from_str(line).expect("an array");
        pretty += &(serde_json::to_string_pretty(&array).expect("JSON") + "\n");
    }
    let (compact, pretty) = (read(&text), read(&pretty));
    assert_eq!(pretty.lost(), []);
    let of = |reading: &Reading| {
        let mut spans: Vec<_> = reading.short().iter().map(|&(ts, dur, name)| (ts, dur, name.to_owned())).collect();
        spans.sort();
        spans
    };
    assert_eq!(of(&pretty), of(&compact));
    // Spans of Jaeger without their processes.
    let span = |id: u32| {
        format!(
            r#"{{"traceID":"a","spanID":"{id}","operationName":"op {id}","references":[],"startTime":1500000000000000,"duration":5,"processID":"p1"}}"#
        )
    };
    let spans = format!("[{},{}]", span(1), span(2));
    assert_eq!(format_of(spans.as_bytes()), Some("Jaeger"));
    let reading = read(&spans);
    assert_eq!((reading.names().join(","), reading.lost()), ("op 1,op 2".to_owned(), vec![]));
}

#[test]
fn single_spans_that_jq_prints_on_several_lines_are_read() {
    let zipkin =
        r#"{"traceId":"1","id":"NN","name":"op NN","timestamp":1000,"duration":5,"localEndpoint":{"serviceName":"s"}}"#;
    let jaeger = r#"{"traceID":"a","spanID":"NN","operationName":"op NN","references":[],"startTime":1500,"duration":5,"process":{"serviceName":"s"}}"#;
    let hit = &format!(r#"{{"_index":"jaeger","_source":{jaeger}}}"#);
    let next_js =
        r#"{"traceId":"a","id":NN,"name":"op NN","timestamp":100,"duration":5,"startTime":1700000000000,"tags":{}}"#;
    for (format, span) in [("Zipkin", zipkin), ("Jaeger", jaeger), ("Jaeger", hit), ("Next.js trace", next_js)] {
        let line = |id: u32| span.replace("NN", &id.to_string());
        let pretty = |id: u32| {
            let value: serde_json::Value = serde_json::from_str(&line(id)).expect("JSON");
            serde_json::to_string_pretty(&value).expect("JSON")
        };
        let lines = format!("{}\n{}\n", line(1), line(2));
        let printed = format!("{}\n{}\n", pretty(1), pretty(2));
        assert_eq!([&lines, &printed].map(|text| format_of(text.as_bytes())), [Some(format); 2]);
        let reading = read(&printed);
        assert_eq!((reading.names().join(","), reading.lost()), ("op 1,op 2".to_owned(), vec![]), "{printed}");
        assert_eq!(reading.short(), read(&lines).short());
        let damaged = read(&format!("{}\n{{\"x\": 1\n}}\n{}", pretty(1), pretty(2)));
        assert_eq!(damaged.names(), ["op 1", "op 2"]);
        let cut = read(&printed[..printed.len() - 9]);
        assert_eq!((cut.names(), cut.lost()), (vec!["op 1"], vec![(Loss::Truncated, 1)]), "{format}");
    }
}

#[test]
fn requests_of_har_begin_at_dates_of_every_spelling() {
    let at = |started: &str| {
        let har = format!(
            r#"{{"log":{{"version":"1.2","creator":{{"name":"x"}},"entries":[{{"startedDateTime":{started},"time":5,"request":{{"method":"GET","url":"http://x"}}}}]}}}}"#
        );
        let reading = read(&har);
        assert_eq!(reading.lost(), [], "{started}");
        reading.events[0].ts_ns
    };
    let expected = 1_704_164_645_678_000_000;
    for started in [
        r#""2024-01-02T03:04:05.678Z""#,
        r#""2024-01-02T04:04:05.678\u002B01:00""#,
        r#""2024-01-02T02:04:05.6780000-01:00""#,
        r#""2024-01-02 03:04:05.678""#,
        r#""2024-01-02T03:04:05.678""#,
        "1704164645678",
    ] {
        assert_eq!(at(started), expected, "{started}");
    }
}

/// A trace of version 3: calls and events with all that is known of them under `metadata`.
const PLAYWRIGHT_3: &str = r#"{"version":3,"type":"context-options","browserName":"chromium","platform":"linux","wallTime":1700000000000,"options":{}}
{"type":"event","metadata":{"id":"","startTime":999,"type":"Page","method":"__create__","params":{}}}
{"type":"action","metadata":{"id":"call@1","startTime":1000,"endTime":1500.5,"type":"Page","method":"goto","apiName":"page.goto","params":{"url":"http://a/"},"log":["navigating"]}}
{"type":"event","metadata":{"startTime":1200,"type":"ConsoleMessage","method":"__create__","params":{"guid":"g","initializer":{"type":"error","text":"404"}}}}
{"type":"action","metadata":{"id":"call@2","startTime":1600,"endTime":1601,"type":"Tracing","method":"tracingStop","internal":true}}
{"type":"action","metadata":{"id":"call@3","startTime":1700,"endTime":0,"type":"Frame","method":"click","log":[],"error":{"error":{"message":"no"}}}}
{"type":"screencast-frame","timestamp":1065}
{"type":"action","callId":"call@4","startTime":1800,"endTime":1801,"class":"Frame","method":"fill","wallTime":1,"log":[]}
"#;

#[test]
fn calls_of_early_traces_of_playwright_are_spans_and_no_line_of_a_healthy_one_is_a_loss() {
    let reading = read(PLAYWRIGHT_3);
    let begun_ns = 1_700_000_000_000_000_000;
    let mut starts: Vec<_> = reading
        .events
        .iter()
        .filter(|event| !event.name.is_empty())
        .map(|event| ((event.ts_ns - begun_ns) / 1_000_000, &*event.name, event.value, &*event.args))
        .collect();
    starts.dedup_by_key(|start| start.1);
    let expected = [
        (0, "page.goto", 500_500_000, r#"{"params":{"url":"http://a/"},"log":["navigating"]}"#),
        (200, "404", 0, r#"{"type":"error"}"#),
        (700, "Frame.click", 0, r#"{"error":{"error":{"message":"no"}}}"#),
        (800, "Frame.fill", 1_000_000, ""),
    ];
    assert_eq!(starts, expected);
    assert_eq!(reading.lost(), []);
    // Its own calls are not traced, but log.
    let log = r#"{"type":"log","callId":"internal","time":1900,"message":"x"}"#;
    assert_eq!(read(&format!("{PLAYWRIGHT_3}{log}\n")).lost(), [(Loss::IgnoredMetadata, 1)]);
    let events = reading.events.len();
    for len in PLAYWRIGHT_3.find('\n').unwrap() + 1..PLAYWRIGHT_3.len() {
        let part = read_bytes(&PLAYWRIGHT_3.as_bytes()[..len]).expect("a part");
        let is_cut = !PLAYWRIGHT_3[..len].ends_with(['\n', '}']) || part.losses.count(Loss::Truncated) > 0;
        assert_eq!(part.losses.total(), u64::from(is_cut), "{len}: {:?}", part.lost());
        assert!(part.events.len() <= events, "{len}");
    }
}

#[test]
fn traces_of_playwright_without_the_start_of_its_clock_begin_with_their_first_call() {
    let version_6 = r#"{"version":6,"type":"context-options","browserName":"chromium","options":{},"platform":"linux","wallTime":1700000000000}
{"type":"before","callId":"call@6","apiName":"page.goto","class":"Frame","method":"goto","startTime":5000.5,"wallTime":1700000000100,"params":{"url":"https://a"}}
{"type":"event","time":5015,"class":"BrowserContext","method":"page","params":{}}
{"type":"console","time":5016,"messageType":"log","text":"con"}
{"type":"after","callId":"call@6","endTime":5120.5,"log":["navigating","done"]}
"#;
    let begun_ns = 1_700_000_000_000_000_000;
    let shown = |text: &str| {
        let reading = read(text);
        assert_eq!(reading.lost(), [], "{text}");
        let events = reading.events.into_iter().filter(|event| event.kind == EventKind::Complete);
        let mut shown: Vec<_> =
            events.map(|event| ((event.ts_ns - begun_ns) / 100_000, event.name, event.value, event.args)).collect();
        shown.sort();
        shown
    };
    let of = |at: i64, name: &str, dur_ns: u64, args: &str| (at, name.to_owned(), dur_ns, args.to_owned());
    let call_args = r#"{"params":{"url":"https://a"},"log":["navigating","done"]}"#;
    let goto = of(1000, "page.goto", 120_000_000, call_args);
    let event = of(1145, "BrowserContext.page", 0, r#"{"type":"page"}"#);
    assert_eq!(shown(version_6), [goto.clone(), event, of(1155, "con", 0, r#"{"type":"log"}"#)]);
    // Version 4 has the text of a console message in one line, and its time in another, here before the first call.
    let version_4 = r#"{"version":4,"type":"context-options","browserName":"chromium","options":{},"platform":"linux","wallTime":1700000000000}
{"type":"object","class":"ConsoleMessage","guid":"m@1","initializer":{"type":"error","text":"boom","args":[],"location":{}}}
{"type":"event","time":4990.5,"class":"BrowserContext","method":"console","params":{"message":{"guid":"m@1"}}}
"#;
    let call = version_6.lines().filter(|line| line.contains("call@6")).collect::<Vec<_>>().join("\n");
    let boom = |at| of(at, "boom", 0, r#"{"type":"error"}"#);
    assert_eq!(shown(&format!("{version_4}{call}\n")), [boom(900), goto]);
    assert_eq!(shown(version_4), [boom(0)], "without a call, the trace begins with the message");
}

#[test]
fn failures_that_playwright_recorded_are_shown_with_their_positions_and_without_colours() {
    let text = r#"{"version":10,"type":"context-options","browserName":"","playwrightVersion":"1.65.1","wallTime":1000,"monotonicTime":0}
{"type":"error","message":"before all","stack":[]}
{"type":"before","callId":"a@1","startTime":10,"class":"Test","method":"pw:api","title":"GET","subtitle":"127.0.0.1/a","params":{},"stack":[{"file":"/a.ts","line":7,"column":29},{"file":"/a.ts","line":5,"column":3}]}
{"type":"event","time":11,"class":"Page","method":"pageerror","params":{"error":{"error":{"message":"x","stack":"s"}}}}
{"type":"event","time":12,"class":"Page","method":"pageerror","params":{"error":{"value":{"n":1}}}}
{"type":"after","callId":"a@1","endTime":20,"error":{"name":"","message":"\u001b[31mno\u001b[39m"}}
{"type":"error","message":"\u001b[31mTest timeout\u001b[39m of 300ms","stack":[{"file":"/a.ts","line":12,"column":18}]}
"#;
    let reading = read(text);
    let of = |name: &str| {
        let event = shown(&reading, name);
        (event.ts_ns / 1_000_000 - 1000, event.args.as_str())
    };
    let stack = r#""stack":["/a.ts:7:29","/a.ts:5:3"]"#;
    assert_eq!(of("GET 127.0.0.1/a"), (10, &*format!(r#"{{{stack},"error":{{"name":"","message":"no"}}}}"#)));
    assert_eq!(of("before all"), (0, r#"{"type":"test error"}"#));
    assert_eq!(of("x"), (11, r#"{"type":"pageerror","stack":"s"}"#));
    assert_eq!(of(r#"{"n":1}"#), (12, r#"{"type":"pageerror"}"#));
    // An error has no time, so it follows the call that failed.
    assert_eq!(of("Test timeout of 300ms"), (20, r#"{"type":"test error","stack":["/a.ts:12:18"]}"#));
    assert_eq!(reading.lost(), []);
}

#[test]
fn documents_that_were_appended_to_one_file_are_all_read_and_other_data_is_counted() {
    let span = r#"{"traceID":"a","spanID":"1","operationName":"op","startTime":1500000000000000,"duration":5,"processID":"p"}"#;
    let trace = format!(r#"{{"traceID":"a","spans":[{span}],"processes":{{"p":{{"serviceName":"s"}}}}}}"#);
    let response = format!(r#"{{"data":[{trace}],"total":0}}"#);
    let request = r#"{"startedDateTime":"2026-01-02T03:04:05Z","time":9,"request":{"method":"GET","url":"http://h/"},"timings":{}}"#;
    let log = format!(r#"{{"log":{{"version":"1.2","creator":{{}},"pages":[],"entries":[{request}]}}}}"#);
    let spans_of = |text: &str| {
        let reading = read(text);
        (reading.short().len(), reading.lost())
    };
    let trailing = vec![(Loss::TrailingData, 1)];
    for one in [&response, &trace, &format!("[{trace}]"), &log] {
        let (count, lost) = spans_of(one);
        assert_eq!((count > 0, lost), (true, vec![]), "{one}");
        for separator in ["", "\n", "\r\n\r\n", ",\n"] {
            let joined = [&**one, one, one].join(separator);
            assert_eq!(spans_of(&joined), (3 * count, vec![]), "{joined}");
        }
        for rest in ["garbage", "\"text\"", "{}", "{\"error\":{\"code\":500}}"] {
            assert_eq!(spans_of(&format!("{one}\n{rest}")), (count, trailing.clone()), "{one} {rest}");
        }
        let cut = format!("{one}\n{}", &one[..one.len() / 2]);
        let (kept, lost) = spans_of(&cut);
        assert_eq!((kept >= count, lost), (true, vec![(Loss::Truncated, 1)]), "{cut}");
    }
    let two = spans_of(&format!("[{trace},{trace}]")).0;
    assert_eq!(two, 2 * spans_of(&trace).0, "all traces of a bare array");
}

#[test]
fn requests_that_never_ended_or_last_long_have_the_ends_that_are_known() {
    let entry = |name: &str, members: &str| {
        format!(r#"{{"startedDateTime":"2026-01-01T00:00:00Z","request":{{"method":"GET","url":"{name}"}}{members}}}"#)
    };
    let entries = [
        entry("pending", r#","time":-1,"response":{"status":-1}"#),
        entry("waiting", r#","time":null,"timings":{"wait":-1}"#),
        entry("blocked", r#","time":0,"response":{"status":0}"#),
        entry("failed", r#","response":{"status":0,"_error":"net::ERR_ABORTED"}"#),
        // A socket that was open for 30 days.
        entry("open", r#","time":2592000000,"response":{"status":101}"#),
        entry("endless", r#","time":1e30,"response":{"status":200}"#),
    ];
    let text = format!(r#"{{"log":{{"version":"1.2","creator":{{"name":"c"}},"entries":[{}]}}}}"#, entries.join(","));
    let reading = read(&text);
    let of = |name: &str| {
        let event = shown(&reading, &format!("GET {name}"));
        (event.flags.has(EventFlags::UNFINISHED), event.value)
    };
    assert_eq!(["pending", "waiting"].map(of), [(true, 0); 2]);
    assert_eq!(["blocked", "failed", "endless"].map(of), [(false, 0); 3]);
    assert_eq!(of("open"), (false, 30 * 86_400 * 1_000_000_000));
    assert_eq!(reading.lost(), [(Loss::BadNumber, 1)]);
}

#[test]
fn a_page_that_never_loaded_ends_with_the_load_of_its_content() {
    let reading = read(
        r#"{"log":{"version":"1.2","creator":{"name":"W"},"pages":[{"startedDateTime":"2024-03-10T10:00:00.000Z",
        "id":"p1","title":"t","pageTimings":{"onContentLoad":120.5,"onLoad":-1}}],"entries":[]}}"#,
    );
    let page = reading.events.iter().find(|event| event.name == "t").expect("a page");
    assert_eq!(page.value, 120_500_000);
    assert!(
        reading.names().contains(&"onContentLoad") && !reading.names().contains(&"onLoad"),
        "{:?}",
        reading.names()
    );
}
