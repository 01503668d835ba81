//! Formats that state which spans failed, with spans that did and spans that look alike and did not.

use crate::formats::testing::{Reading, read};
use crate::model::EventKind;

/// Returns the names of the spans that failed, and of the others.
fn by_failure(reading: &Reading) -> (Vec<&str>, Vec<&str>) {
    let spans = reading.events.iter().filter(|event| event.kind == EventKind::Complete);
    spans.map(|event| &*event.name).partition(|name| reading.failed.contains(*name))
}

#[test]
fn otlp_spans_with_the_status_of_an_error_failed() {
    let span = |name: &str, status: &str| {
        format!(r#"{{"spanId":"{name}","name":"{name}","startTimeUnixNano":"5","endTimeUnixNano":"9"{status}}}"#)
    };
    let spans = [
        span("named", r#","status":{"code":"STATUS_CODE_ERROR"}"#),
        span("numbered", r#","status":{"code":2,"message":"no"}"#),
        span("ok", r#","status":{"code":1}"#),
        span("unset", r#","status":{}"#),
        span("none", ""),
    ];
    let text = format!(r#"{{"resourceSpans":[{{"scopeSpans":[{{"spans":[{}]}}]}}]}}"#, spans.join(","));
    assert_eq!(by_failure(&read(&text)), (vec!["named", "numbered"], vec!["ok", "unset", "none"]));
}

#[test]
fn jaegers_spans_with_a_true_error_tag_failed() {
    let span = |name: &str, tag: &str| {
        format!(
            r#"{{"traceID":"1","spanID":"{name}","operationName":"{name}","startTime":5,"duration":9,"processID":"p",
            "tags":[{tag}]}}"#
        )
    };
    let spans = [
        span("boolean", r#"{"key":"error","type":"bool","value":true}"#),
        span("text", r#"{"key":"error","type":"string","value":"true"}"#),
        span("false", r#"{"key":"error","type":"bool","value":false}"#),
        span("other", r#"{"key":"errors","type":"bool","value":true}"#),
    ];
    let text = format!(
        r#"{{"data":[{{"traceID":"1","spans":[{}],"processes":{{"p":{{"serviceName":"s"}}}}}}]}}"#,
        spans.join(",")
    );
    assert_eq!(by_failure(&read(&text)), (vec!["boolean", "text"], vec!["false", "other"]));
}

#[test]
fn zipkins_spans_with_an_error_tag_failed_whatever_its_message() {
    let span = |name: &str, rest: &str| {
        format!(r#"{{"traceId":"1","id":"{name}","name":"{name}","timestamp":5,"duration":9{rest}}}"#)
    };
    let spans = [
        span("message", r#","tags":{"error":"timeout"}"#),
        span("empty", r#","tags":{"http.path":"/","error":""}"#),
        span("old", r#","binaryAnnotations":[{"key":"error","value":"no"}]"#),
        span("false", r#","tags":{"error":"false"}"#),
        span("value", r#","tags":{"level":"error"}"#),
        span("none", ""),
    ];
    let text = format!("[{}]", spans.join(","));
    assert_eq!(by_failure(&read(&text)), (vec!["message", "empty", "old"], vec!["false", "value", "none"]));
}

#[test]
fn requests_with_an_error_or_a_status_of_one_failed_and_their_phases_did_not() {
    let entry = |name: &str, response: &str| {
        format!(
            r#"{{"startedDateTime":"2026-01-01T00:00:00Z","time":5,"request":{{"method":"GET","url":"{name}"}},
            "response":{response},"timings":{{"wait":5}}}}"#
        )
    };
    let entries = [
        entry("missing", r#"{"status":404}"#),
        entry("text", r#"{"status":"500"}"#),
        entry("refused", r#"{"status":0,"_error":"net::ERR_CONNECTION_REFUSED"}"#),
        entry("moved", r#"{"status":301}"#),
        entry("blocked", r#"{"status":0}"#),
    ];
    let text = format!(r#"{{"log":{{"version":"1.2","creator":{{"name":"c"}},"entries":[{}]}}}}"#, entries.join(","));
    let reading = read(&text);
    let (failed, others) = by_failure(&reading);
    assert_eq!(failed, ["GET missing", "GET text", "GET refused"]);
    assert_eq!(others.iter().filter(|name| **name != "wait").count(), 2, "{others:?}");
}

#[test]
fn playwrights_calls_with_an_error_failed() {
    let text = r#"{"version":8,"type":"context-options","origin":"library","wallTime":1700000000000,"monotonicTime":1}
{"type":"before","callId":"call@1","startTime":1,"class":"Page","method":"goto","params":{}}
{"type":"after","callId":"call@1","endTime":2,"error":{"message":"no"}}
{"type":"before","callId":"call@2","startTime":3,"class":"Page","method":"click","params":{}}
{"type":"after","callId":"call@2","endTime":4,"error":null}
{"type":"before","callId":"call@3","startTime":5,"class":"Page","method":"close","params":{}}
{"type":"after","callId":"call@3","endTime":6}
"#;
    assert_eq!(by_failure(&read(text)), (vec!["Page.goto"], vec!["Page.click", "Page.close"]));
}
