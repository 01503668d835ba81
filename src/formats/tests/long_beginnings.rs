//! Tests of files whose first record follows more text than the head holds.

use crate::formats::testing::{format_of, read};

/// Asserts that a text after a long beginning is in a format, and has as many events.
fn assert_read_after(beginning: &str, text: &str, format: &str) {
    let long = format!("{beginning}{text}");
    assert!(beginning.len() > 4096, "{format}");
    assert_eq!(read(&long).events.len(), read(text).events.len(), "{format}");
    let compressed = crate::formats::testing::gzip(long.as_bytes());
    let compressed = crate::formats::testing::read_bytes(&compressed).expect("a trace");
    assert_eq!(compressed.events, read(&long).events, "{format}");
    assert_eq!(format_of(text.as_bytes()), Some(format));
}

#[test]
fn records_after_long_beginnings_are_recognised() {
    let log = "2026-01-01 00:00:00,000 INFO [main] org.example.App - starting\n".repeat(100);
    let console = "{\n    \"name\": \"p\",\n    \"context\": {\n        \"trace_id\": \"0x1\",\n        \"span_id\": \"0x2\"\n    },\n    \
        \"parent_id\": null,\n    \"start_time\": \"2026-11-25T16:48:10.8Z\",\n    \"end_time\": \"2026-11-25T16:48:10.9Z\"\n}\n";
    let span =
        r#"{"traceId":"01","spanId":"02","name":"a","startTimeUnixNano":"1000000000","endTimeUnixNano":"1000000005"}"#;
    let request = format!(
        r#"INFO: {{"resource":{{"attributes":[{{"key":"a","value":{{}}}}]}},"scopeSpans":[{{"spans":[{span}]}}]}}"#
    );
    assert_read_after(&log, console, "OpenTelemetry JSON");
    assert_read_after(&log.replace("INFO", "\x1b[32mINFO\x1b[0m"), console, "OpenTelemetry JSON");
    assert_read_after(&"{\"level\":\"info\",\"msg\":\"x\"}\n".repeat(200), console, "OpenTelemetry JSON");
    assert_read_after(&log, &(request + "\n"), "OpenTelemetry JSON");
    let comments = "# This line belongs to the beginning of the file.\n".repeat(100);
    assert_read_after(&comments, "a 8 5.000001: cycles: \na 8 5.000002: cycles: \n", "perf script");
    assert_read_after(&comments, "a;b 3\nc 4\n", "Collapsed stacks");
    let line = "  bash-977   [000] 17284.993652: sched_waking: comm=b pid=9 prio=120 target_cpu=001\n";
    assert_read_after(&"CPU 7 is empty\n".repeat(300), line, "ftrace");
    let profile = "creator: c\nevents: Ir\nfn=f\n1 2\nfn=g\n1 3\n";
    assert_read_after(&format!("version: 1\ncmd: {}\n", "x".repeat(6000)), profile, "Callgrind profile");
}

#[test]
fn spans_with_a_long_first_member_are_recognised() {
    for (members, format) in [
        (r#""traceId":"1","id":"2","name":"n","timestamp":1,"duration":5"#, "Zipkin"),
        (r#""traceId":"1","id":2,"name":"n","timestamp":1,"duration":5,"startTime":1700000000000"#, "Next.js trace"),
    ] {
        let long = format!(r#"[{{"tags":{{"sql":"{}"}},{members}}}]"#, "x".repeat(6000));
        assert_eq!(read(&long).events.len(), 1, "{format}");
        assert_eq!(format_of(format!("[{{{members}}}]").as_bytes()), Some(format));
    }
    // The events of Chrome may follow other members.
    let events = r#""traceEvents":[{"name":"a","ph":"X","ts":1,"dur":2,"pid":1,"tid":1,"args":{"nodes":[{"callFrame":{"functionName":"f"}}]}}]"#;
    for len in [6000, 100_000] {
        assert_eq!(read(&format!(r#"{{"metadata":"{}",{events}}}"#, "x".repeat(len))).short(), [(1000, 2000, "a")]);
    }
}
