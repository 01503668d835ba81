//! Tests of requests in the log of a Java program.

use super::{Plain, json, sorted_spans};
use crate::formats::testing::{format_of, read, read_bytes};
use crate::model::Loss;

const SPANS: [Plain; 3] = [(10, 50, 1, 0, 0), (20, 40, 2, 1, 0), (30, 45, 3, 1, 1)];

/// The lines of Java's logger, of the agent's, and of Logback, before a request.
const PREFIXES: [&str; 4] = [
    "Jan 01, 2024 1:00:00 AM io.opentelemetry.exporter.logging.otlp.OtlpJsonLoggingSpanExporter export\nINFO: ",
    "[otel.javaagent 2024-01-01 01:00:00:000 +0000] [BatchSpanProcessor_WorkerThread-1] INFO \
     io.opentelemetry.exporter.logging.otlp.OtlpJsonLoggingSpanExporter - ",
    "01:00:00.000 [main] {app=x} INFO i.o.e.l.o.OtlpJsonLoggingSpanExporter -- ",
    "",
];

/// Returns requests, and the same as single `ResourceSpans`.
fn forms() -> [Vec<String>; 2] {
    let requests: Vec<String> = json(&SPANS).lines().map(str::to_owned).collect();
    let bare = |line: &String| line.strip_prefix(r#"{"resourceSpans":["#)?.strip_suffix("]}").map(str::to_owned);
    let alone = requests.iter().map(|line| bare(line).expect("a request")).collect();
    [requests, alone]
}

#[test]
fn requests_after_the_prefix_of_a_logger_read_like_those_of_a_file() {
    let expected = read(&json(&SPANS));
    for form in forms() {
        for prefix in PREFIXES {
            for end in ["\n", "\r\n", "\u{1b}[0m\n"] {
                if prefix.is_empty() && end.starts_with('\u{1b}') {
                    continue;
                }
                let lines: Vec<String> = form.iter().map(|request| format!("{prefix}{request}{end}")).collect();
                let text = lines.concat();
                assert_eq!(format_of(text.as_bytes()), Some("OpenTelemetry JSON"), "{text}");
                let reading = read(&text);
                assert_eq!((sorted_spans(&reading), reading.lost()), (sorted_spans(&expected), vec![]), "{text}");
            }
        }
    }
}

#[test]
fn other_lines_of_the_log_are_counted() {
    let [_, alone] = forms();
    let request = format!("INFO: {}\n", alone[0]);
    let noise = "[main] INFO started in 5 ms\n\n{\"resource\":\"users/5\",\"n\":1}\nGET {\"resourceId\":5}\n";
    let reading = read(&format!("{noise}{request}{noise}{request}{noise}"));
    assert_eq!((sorted_spans(&reading).len(), reading.lost()), (4, vec![(Loss::IgnoredMetadata, 9)]));
    let cut = &request[..request.len() / 2];
    assert_eq!(read(&format!("{request}{cut}\n{request}")).lost(), [(Loss::BadRecord, 1)]);
    assert_eq!(read(&format!("{request}{cut}")).lost(), [(Loss::Truncated, 1)]);
    for (noise, kind) in [(noise, "no request"), (r#"{"msg":"x {\"resource\":{}}"}"#, "quoted")] {
        assert_ne!(format_of(noise.as_bytes()), Some("OpenTelemetry JSON"), "{kind}");
    }
}

#[test]
fn a_request_longer_than_the_head_is_recognised_by_its_resource() {
    let [_, alone] = forms();
    let attributes: Vec<String> =
        (0..200).map(|i| format!(r#"{{"key":"process.command_args.{i}","value":{{"stringValue":"x"}}}},"#)).collect();
    let request = alone[0].replacen("[{", &format!("[{}{{", attributes.concat()), 1);
    let reading = read(&format!("INFO: {request}\n"));
    assert_eq!((sorted_spans(&reading).len(), reading.lost()), (2, vec![]));
}

#[test]
fn logged_metrics_and_logs_are_skipped() {
    let [_, alone] = forms();
    let metrics = r#"INFO: {"resource":{"attributes":[]},"scopeMetrics":[{}]}"#;
    let logs = r#"INFO: {"resource":{},"scopeLogs":[]}"#;
    let reading = read(&format!("{metrics}\n{logs}\nINFO: {}\n", alone[0]));
    assert_eq!((sorted_spans(&reading).len(), reading.lost()), (2, vec![]));
    let error = read_bytes(format!("{metrics}\n{logs}\n").as_bytes()).expect_err("no spans").to_string();
    assert!(error.contains("metrics or logs of OpenTelemetry without spans"), "{error}");
}
