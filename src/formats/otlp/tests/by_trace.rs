//! Tests of rows and groups by trace: each request of a few is by itself, and thousands share rows.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::sorted_spans;
use crate::formats::testing::{Reading, read, read_live};
use crate::model::{Id, Metadata};
use crate::scene::tests::{outline, snapshot_of_bytes};

#[derive(Debug, Clone)]
struct TracedSpan {
    trace: String,
    id: u64,
    /// 0 for none.
    parent: u64,
    service: usize,
    start_ns: i64,
    end_ns: i64,
    name: String,
}

/// Writes requests of OTLP with the spans of each service, one per line.
fn otlp(spans: &[TracedSpan]) -> String {
    let of_service = |service: usize| {
        let spans = spans.iter().filter(|span| span.service == service).map(|span| {
            let TracedSpan { trace, id, parent, start_ns, end_ns, name, .. } = span;
            let parent = if *parent == 0 { String::new() } else { format!("{parent:x}") };
            format!(
                r#"{{"traceId":"{trace}","spanId":"{id:x}","parentSpanId":"{parent}","name":"{name}","startTimeUnixNano":"{start_ns}","endTimeUnixNano":"{end_ns}"}}"#
            )
        });
        let spans = spans.collect::<Vec<_>>().join(",");
        format!(
            r#"{{"resourceSpans":[{{"resource":{{"attributes":[{{"key":"service.name","value":{{"stringValue":"v{service}"}}}}]}},"scopeSpans":[{{"spans":[{spans}]}}]}}]}}"#
        )
    };
    format!("{}\n{}\n", of_service(0), of_service(1))
}

/// Writes the same for Jaeger.
fn jaeger(spans: &[TracedSpan]) -> String {
    let span = |span: &TracedSpan| {
        let TracedSpan { trace, id, parent, service, start_ns, end_ns, name } = span;
        let reference = format!(r#"{{"refType":"CHILD_OF","traceID":"{trace}","spanID":"{parent:x}"}}"#);
        let references = if *parent == 0 { String::new() } else { reference };
        format!(
            r#"{{"traceID":"{trace}","spanID":"{id:x}","operationName":"{name}","references":[{references}],"startTime":{start_ns},"duration":{},"tags":[],"logs":[],"processID":"p{service}"}}"#,
            end_ns - start_ns
        )
    };
    format!(
        r#"{{"data":[{{"traceID":"t","spans":[{}],"processes":{{"p0":{{"serviceName":"v0","tags":[]}},"p1":{{"serviceName":"v1","tags":[]}}}}}}]}}"#,
        spans.iter().map(span).collect::<Vec<_>>().join(",")
    )
}

/// Writes the same for Zipkin.
fn zipkin(spans: &[TracedSpan]) -> String {
    let span = |span: &TracedSpan| {
        let TracedSpan { trace, id, parent, service, start_ns, end_ns, name } = span;
        let parent = if *parent == 0 { String::new() } else { format!(r#""parentId":"{parent:x}","#) };
        format!(
            r#"{{"traceId":"{trace}","id":"{id:x}",{parent}"name":"{name}","timestamp":{start_ns},"duration":{},"localEndpoint":{{"serviceName":"v{service}"}}}}"#,
            end_ns - start_ns
        )
    };
    format!("[{}]", spans.iter().map(span).collect::<Vec<_>>().join(","))
}

/// Three requests: one with spans of another service that overlap, one whose child outlasts it, one without its root.
fn requests() -> Vec<TracedSpan> {
    let [cart, home, lost] = ["aaaaaaaa11111111", "bbbbbbbb22222222", "00000000cccccccc33"];
    let span = |trace: &str, (id, parent): (u64, u64), service, (start_ns, end_ns), name: &str| TracedSpan {
        trace: trace.to_owned(),
        id,
        parent,
        service,
        start_ns,
        end_ns,
        name: name.to_owned(),
    };
    vec![
        span(cart, (2, 1), 1, (15, 25), "read"),
        span(cart, (3, 1), 1, (20, 40), "write"),
        span(cart, (1, 0), 0, (10, 50), "GET /cart"),
        span(home, (5, 4), 0, (35, 70), "render"),
        span(home, (4, 0), 0, (30, 60), "GET /home"),
        span(lost, (7, 6), 1, (85, 90), "inner"),
        span(lost, (6, 99), 1, (80, 95), "outer"),
    ]
}

#[test]
fn each_request_of_a_few_is_by_itself_below_its_root_and_its_id_in_order_of_time() {
    let expected = [
        "GET /cart aaaaaaaa",
        "GET /home bbbbbbbb:",
        "  Spans",
        "  Spans",
        "GET /cart aaaaaaaa:",
        "  Spans",
        "  Spans",
        "outer cccccccc",
    ];
    for text in [otlp(&requests()), jaeger(&requests()), zipkin(&requests())] {
        // The first span by time is of the first service, whichever comes first in the file.
        assert_eq!(outline(&snapshot_of_bytes(text.as_bytes())), expected, "{text}");
    }
}

#[test]
fn requests_share_rows_if_there_are_very_many_or_one_or_if_others_may_follow() {
    let sequential = |count: u64| {
        let span = |number: u64| TracedSpan {
            trace: format!("{:x}", 0xabc0_0000 + number),
            id: number + 1,
            parent: 0,
            service: 0,
            start_ns: number as i64 * 10 + 1,
            end_ns: number as i64 * 10 + 5,
            name: "GET".to_owned(),
        };
        otlp(&(0..count).map(span).collect::<Vec<_>>())
    };
    for (count, rows) in [(1, 1), (2, 2), (32, 32), (33, 1), (1000, 1)] {
        let lines = outline(&snapshot_of_bytes(sequential(count).as_bytes()));
        assert_eq!(lines.len(), rows, "{count}: {lines:?}");
        assert_eq!(lines[0], if rows == 1 { "Spans".to_owned() } else { "GET abc00000".to_owned() });
    }
    let is_group = |metadata: &&Metadata| matches!(metadata, Metadata::TrackGroup { .. });
    let groups = |reading: &Reading| reading.metadata.iter().filter(is_group).count();
    assert_eq!(groups(&read(&otlp(&requests()))), 4);
    // A reader that waits for more has laid out what it has.
    let text = otlp(&requests());
    assert_eq!(groups(&read_live(text.as_bytes(), &[100]).expect("a trace")), 0);
}

/// The spans of a row: start, end and name.
type RowSpans = Vec<(i64, i64, String)>;

/// Returns the spans of each row, by service.
fn rows(reading: &Reading) -> Vec<(Id, RowSpans)> {
    let mut rows: BTreeMap<(Id, Id), RowSpans> = BTreeMap::new();
    for (pid, tid, start_ns, end_ns, name) in sorted_spans(reading) {
        rows.entry((pid, tid)).or_default().push((start_ns, end_ns, name));
    }
    let mut rows: Vec<_> = rows.into_iter().map(|((pid, _), spans)| (pid, spans)).collect();
    rows.sort();
    rows
}

proptest! {
    #[test]
    fn the_rows_of_a_trace_are_those_of_a_file_with_only_that_trace(
        spans in proptest::collection::vec((0usize..4, 1i64..60, 1i64..40, 0u64..20, 0usize..2), 2..30),
    ) {
        let spans: Vec<_> = spans.iter().zip(1u64..).map(|(&(trace, start_ns, dur_ns, parent, service), id)| {
            let name = format!("s{id}");
            let parent = if parent < id { parent } else { 0 };
            TracedSpan { trace: format!("{trace}"), id, parent, service, start_ns, end_ns: start_ns + dur_ns, name }
        }).collect();
        let traces = ["0", "1", "2", "3"];
        let alone = traces.iter().flat_map(|trace| {
            let of_trace: Vec<_> = spans.iter().filter(|span| span.trace == **trace).cloned().collect();
            rows(&read(&otlp(&of_trace)))
        });
        let mut expected: Vec<_> = alone.collect();
        expected.sort();
        prop_assert_eq!(rows(&read(&otlp(&spans))), expected);
    }
}
