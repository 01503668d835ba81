//! Tests of records with members of other types, and of records that are not strict JSON.

use super::spans;
use crate::formats::testing::{Reading, read, read_bytes};
use crate::model::{EventFlags, EventKind, Loss};

/// Traces of two spans in each format, the first with a text `@` and a value `#` that tests replace.
const TRACES: [(&str, &str); 6] = [
    (
        "HAR",
        r#"{"log":{"version":"1.2","creator":{},"entries":[
        {"startedDateTime":"2026-01-01T00:00:00Z","time":5,"request":{"method":"GET","url":"http://a/@"},
         "response":{"status":200},"timings":{"wait":5},"extra":[{"x":1},{"x":#},{"x":2}]},
        {"startedDateTime":"2026-01-01T00:00:01Z","time":5,"request":{"method":"GET","url":"http://b/"}}]}}"#,
    ),
    (
        "Zipkin",
        r#"[{"traceId":"1","id":"1","name":"@","kind":"SERVER","timestamp":1000,"duration":5,
          "annotations":[{"timestamp":1001,"value":"x"}],"tags":{"a":#}},
         {"traceId":"1","id":"2","name":"b","kind":"SERVER","timestamp":2000,"duration":5}]"#,
    ),
    (
        "Zipkin lines",
        "{\"traceId\":\"1\",\"id\":\"1\",\"name\":\"@\",\"kind\":\"SERVER\",\"timestamp\":1000,\"duration\":5,\
         \"localEndpoint\":{\"serviceName\":\"s\"},\"tags\":{\"a\":#}}\n\
         {\"traceId\":\"1\",\"id\":\"2\",\"name\":\"b\",\"kind\":\"SERVER\",\"timestamp\":2000,\"duration\":5}",
    ),
    (
        "Jaeger",
        r#"{"data":[{"traceID":"1","spans":[
        {"traceID":"1","spanID":"1","operationName":"@","references":[],"startTime":1000,"duration":5,
         "tags":[{"key":"a","value":1},{"key":"b","value":#},{"key":"c","value":2}],"logs":[],"processID":"p1"},
        {"traceID":"1","spanID":"2","operationName":"b","references":[],"startTime":2000,"duration":5}],
        "processes":{"p1":{"serviceName":"s"}}}]}"#,
    ),
    (
        "Next.js",
        "[{\"name\":\"@\",\"duration\":5,\"timestamp\":1000,\"id\":1,\"startTime\":1,\"traceId\":\"t\",\"tags\":{\"a\":#}}]\n\
         [{\"name\":\"b\",\"duration\":5,\"timestamp\":2000,\"id\":2,\"tags\":{},\"startTime\":2,\"traceId\":\"t\"}]",
    ),
    (
        "Playwright",
        "{\"type\":\"context-options\",\"playwrightVersion\":\"1\",\"wallTime\":5,\"monotonicTime\":5}\n\
         {\"type\":\"before\",\"callId\":\"1\",\"startTime\":6,\"title\":\"@\",\"params\":{\"a\":#}}\n\
         {\"type\":\"after\",\"callId\":\"1\",\"endTime\":7}\n\
         {\"type\":\"before\",\"callId\":\"2\",\"startTime\":8,\"title\":\"b\"}\n\
         {\"type\":\"after\",\"callId\":\"2\",\"endTime\":9}",
    ),
];

/// Returns the number of requests, without their phases.
fn count(reading: &Reading) -> usize {
    let spans = reading.events.iter().filter(|event| event.kind == EventKind::Complete);
    spans.filter(|event| event.name != "wait").count()
}

fn with(trace: &str, name: &[u8], value: &str) -> Vec<u8> {
    let trace = trace.replace('#', value);
    let (before, after) = trace.split_once('@').expect("a text");
    [before.as_bytes(), name, after.as_bytes()].concat()
}

#[test]
fn text_that_is_not_strict_json_is_shown_with_replacement_characters() {
    for (format, trace) in TRACES {
        let plain = read_bytes(&with(trace, b"a", "1")).expect("a trace");
        assert_eq!((count(&plain), plain.lost()), (2, vec![]), "{format}");
        for (name, shown, lost) in [
            (&br"a\ud83d"[..], "a\u{fffd}", Some(Loss::BadUtf8)),
            (b"caf\xe9", "caf\u{fffd}", Some(Loss::BadUtf8)),
            (b"a\tb", "a\tb", Some(Loss::ControlCharacter)),
            (br"a\ud83d\ude00", "a\u{1f600}", None),
        ] {
            let reading = read_bytes(&with(trace, name, "NaN")).expect("a trace");
            let lost: Vec<_> = lost.map(|loss| (loss, 1)).into_iter().collect();
            assert_eq!((count(&reading), reading.lost()), (2, lost), "{format}: {shown}");
            assert!(reading.names().iter().any(|name| name.ends_with(shown)), "{format}: {:?}", reading.names());
        }
    }
}

#[test]
fn a_record_that_is_not_json_is_the_only_one_lost() {
    for (format, trace) in TRACES {
        // A call without its beginning.
        let others = if format == "Playwright" { vec![(Loss::UnmatchedEnd, 1)] } else { vec![] };
        let reading = read_bytes(&with(trace, b"a", "?")).expect("a trace");
        let lost = [others, vec![(Loss::BadRecord, 1)]].concat();
        assert_eq!((count(&reading), reading.lost()), (1, lost), "{format}");
    }
}

#[test]
fn members_of_other_types_do_not_cost_their_span() {
    let har = TRACES[0].1.replace('#', "1");
    let zipkin = TRACES[1].1.replace('#', "1");
    let jaeger = TRACES[3].1.replace('#', "1");
    for (trace, member, others) in [
        (&har, r#""time":5"#, &[r#""time":5,"connection":7,"pageref":8,"_priority":9,"serverIPAddress":{}"#][..]),
        (
            &har,
            r#""status":200"#,
            &[
                r#""status":"200""#,
                r#""status":200.0"#,
                r#""status":200,"statusText":4,"_error":{"code":5},"bodySize":"6","_transferSize":"7""#,
                r#""status":200,"content":{"size":"8","mimeType":9}"#,
                r#""status":200,"content":"text""#,
            ],
        ),
        (&har, r#"{"wait":5}"#, &["[]", "5", r#""none""#]),
        (&har, r#"{"status":200}"#, &["[]", "null", r#""200""#]),
        (
            &zipkin,
            r#""kind""#,
            &[
                r#""shared":"true","kind""#,
                r#""shared":1,"parentId":7,"kind""#,
                r#""localEndpoint":"here","remoteEndpoint":{"serviceName":1,"ipv4":2,"port":"3"},"kind""#,
            ],
        ),
        (&zipkin, r#""value":"x""#, &[r#""value":7"#, r#""value":{}"#, r#""value":"x","endpoint":[]"#]),
        (&zipkin, r#""id":"1""#, &[r#""id":1"#]),
        (
            &jaeger,
            r#""logs":[]"#,
            &[
                r#""logs":{}"#,
                r#""logs":null,"warnings":"slow""#,
                r#""logs":[],"warnings":["a",7],"process":"p1""#,
                r#""logs":[],"parentSpanID":7"#,
            ],
        ),
        (&jaeger, r#""spanID":"1""#, &[r#""spanID":1"#]),
        (&jaeger, r#""processID":"p1""#, &[r#""processID":1"#]),
        (
            &jaeger,
            r#""references":[]"#,
            &[r#""references":{}"#, r#""references":[{"refType":1,"traceID":2,"spanID":3}]"#],
        ),
    ] {
        for other in others {
            assert!(trace.contains(member), "{member}");
            let reading = read(&trace.replacen(member, other, 1));
            assert_eq!((count(&reading), reading.lost()), (2, vec![]), "{other}");
        }
    }
    let converted = read(&har.replace(r#""status":200"#, r#""status":"404","_error":{"code":5},"bodySize":"6""#));
    let args = &converted.events[0].args;
    assert!(args.ends_with(r#""status":404,"body_bytes":6,"error":{"code":5}}"#), "{args}");
    let warned = read(&jaeger.replace(r#""logs":[]"#, r#""warnings":"slow""#));
    assert!(warned.events[0].args.contains(r#""warning":"slow""#), "{}", warned.events[0].args);
    let shared =
        read(&zipkin.replace(r#""kind""#, r#""shared":"true","remoteEndpoint":{"ipv4":"h","port":"3"},"kind""#));
    assert!(shared.events[0].args.contains(r#""remote_address":"h:3""#), "{}", shared.events[0].args);
}

#[test]
fn a_span_with_a_duration_that_is_not_a_number_is_unfinished_and_counted() {
    for trace in [TRACES[1], TRACES[2], TRACES[3], TRACES[4]].map(|(_, trace)| trace.replace('#', "1")) {
        for (duration, lost) in [("null", vec![]), (r#""5ms""#, vec![(Loss::BadNumber, 1)])] {
            let reading = read(&trace.replacen(r#""duration":5"#, &format!(r#""duration":{duration}"#), 1));
            let unfinished = reading.events.iter().filter(|event| event.flags.has(EventFlags::UNFINISHED)).count();
            assert_eq!((count(&reading), unfinished, reading.lost()), (2, 1, lost), "{trace}");
        }
    }
    // A span of version 1 also has the times of its annotations.
    let first_version = r#"[{"traceId":"1","id":"1","name":"a","timestamp":1000,"duration":"5ms","annotations":[
        {"timestamp":1000,"value":"cs","endpoint":{"serviceName":"s"}},
        {"timestamp":1005,"value":"cr","endpoint":{"serviceName":"s"}}]}]"#;
    let reading = read(first_version);
    let span = reading.events.iter().find(|event| event.kind == EventKind::Complete).expect("a span");
    assert_eq!((span.value, reading.lost()), (5_000, vec![(Loss::BadNumber, 1)]));
}

#[test]
fn a_span_at_time_0_without_a_duration_is_unfinished() {
    for trace in [
        r#"[{"traceId":"aa","id":"01","name":"a","timestamp":0,"localEndpoint":{"serviceName":"s"}}]"#,
        r#"{"data":[{"traceID":"aa","spans":[{"traceID":"aa","spanID":"01","operationName":"a","startTime":0}]}]}"#,
        r#"[{"traceId":"aa","id":1,"name":"a","timestamp":0,"duration":null,"startTime":0}]"#,
    ] {
        let reading = read(trace);
        let spans: Vec<_> = reading.events.iter().map(|event| (event.ts_ns, event.value, event.flags)).collect();
        assert_eq!((spans, reading.lost()), (vec![(0, 0, EventFlags::UNFINISHED)], vec![]), "{trace}");
    }
}

#[test]
fn elements_of_other_types_cost_no_other_element_of_their_list() {
    let zipkin = TRACES[1].1.replace('#', "1");
    let jaeger = TRACES[3].1.replace('#', "1");
    let lists = [
        (&zipkin, r#""annotations":["#, r#""annotations":[@"#),
        (&zipkin, r#""tags":{"a":1}"#, r#""binaryAnnotations":[@{"key":"k","value":1}]"#),
        (&jaeger, r#""tags":["#, r#""tags":[@"#),
        (&jaeger, r#""logs":[]"#, r#""logs":[@{"timestamp":1001,"fields":[]}]"#),
        (&jaeger, r#""logs":[]"#, r#""logs":[{"timestamp":1001,"fields":[@{"key":"k","value":1}]}]"#),
        (&jaeger, r#""references":[]"#, r#""references":[@{"refType":"CHILD_OF","traceID":"1","spanID":"9"}]"#),
        (&jaeger, r#""serviceName":"s""#, r#""serviceName":"s","tags":[@{"key":"k","value":1}]"#),
    ];
    for (trace, member, list) in lists {
        assert!(trace.contains(member), "{member}");
        let with = |elements: &str| read(&trace.replacen(member, &list.replace('@', elements), 1));
        let (sound, odd) = (with(""), with(r#""x",7,"#));
        assert_eq!((sound.lost(), odd.lost()), (vec![], vec![(Loss::BadRecord, 2)]), "{list}");
        assert_eq!(odd.events, sound.events, "{list}");
    }
}

#[test]
fn tls_is_a_phase_of_its_own_where_the_total_needs_it() {
    let har = |timings: &str, total: u32| {
        let text = format!(
            r#"{{"log":{{"version":"1.2","creator":{{}},"entries":[{{"startedDateTime":"2026-01-01T00:00:00Z",
            "time":{total},"request":{{"method":"GET","url":"a"}},"timings":{timings}}}]}}}}"#
        );
        let spans = spans(&text, 1_767_225_600_000_000).into_iter();
        spans.skip(1).map(|(start_us, dur_us, name)| (start_us / 1000, dur_us / 1000, name)).collect::<Vec<_>>()
    };
    let named = |spans: &[(i64, u64, &str)]| {
        spans.iter().map(|&(start, dur, name)| (start, dur, name.to_owned())).collect::<Vec<_>>()
    };
    // Firefox.
    let timings = r#"{"blocked":1,"dns":10,"connect":20,"ssl":60,"send":0,"wait":100,"receive":5}"#;
    let apart = [(0, 1, "blocked"), (1, 10, "dns"), (11, 20, "connect"), (31, 60, "ssl"), (91, 100, "wait")];
    assert_eq!(har(timings, 196), named(&[&apart[..], &[(191, 5, "receive")]].concat()));
    let resumed = r#"{"blocked":1,"dns":0,"connect":0,"ssl":40,"send":0,"wait":10,"receive":5}"#;
    let expected = [(0, 1, "blocked"), (1, 40, "ssl"), (41, 10, "wait"), (51, 5, "receive")];
    assert_eq!(har(resumed, 56), named(&expected));
    // Chrome, where `connect` contains `ssl`.
    let within = r#"{"connect":80,"ssl":60,"wait":100,"receive":5}"#;
    let expected = [(0, 80, "connect"), (20, 60, "ssl"), (80, 100, "wait"), (180, 5, "receive")];
    assert_eq!(har(within, 185), named(&expected));
}

#[test]
fn requests_with_bodies_of_any_size_are_shown_without_them() {
    let body = "</script>\\\"},{\\n".repeat(1 << 20);
    let entry = |url: &str, body: &str| {
        format!(
            r#"{{"startedDateTime":"2024-01-01T00:00:00Z","time":5,"request":{{"method":"GET","url":"{url}","postData":{{"text":"{body}"}}}},"response":{{"status":200,"content":{{"size":7,"mimeType":"text/html","text":"{body}"}}}},"timings":{{"wait":5}}}}"#
        )
    };
    let har = |entries: [String; 3]| format!(r#"{{"log":{{"version":"1.2","entries":[{}]}}}}"#, entries.join(","));
    let requests = |body: &str| {
        let reading = read(&har([entry("u1", body), entry("u2", "b"), entry("u3", body)]));
        assert_eq!(reading.lost(), []);
        reading.events.into_iter().map(|event| (event.ts_ns, event.value, event.name, event.args)).collect::<Vec<_>>()
    };
    assert_eq!(requests(&body), requests("b"));
    let reading = read(&har([entry("u1", "b"), entry(&"u".repeat(17 << 20), "b"), entry("u3", "b")]));
    assert_eq!(reading.lost(), [(Loss::OverLimit, 1)], "the address is used");
    assert_eq!(reading.events.iter().filter(|event| event.name.starts_with("GET")).count(), 2);
}
