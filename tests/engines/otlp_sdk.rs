//! Spans that the OpenTelemetry SDK exports to a recording, as protobuf, compressed or not: all arrive with their times
//! and parents.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::tools::{longspan, output_of, python};

/// Exports calls with three steps each, in batches, and prints their names and end times.
const APP: &str = r#"
import sys
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

port = sys.argv[1]
for service, compression in [("shop", Compression.NoCompression), ("bank", Compression.Gzip)]:
    provider = TracerProvider(resource=Resource.create({"service.name": service}))
    exporter = OTLPSpanExporter(endpoint=f"http://localhost:{port}/v1/traces", compression=compression)
    provider.add_span_processor(BatchSpanProcessor(exporter, max_export_batch_size=64, schedule_delay_millis=50))
    tracer = provider.get_tracer("test")
    for call in range(100):
        with tracer.start_as_current_span(f"call {call}", attributes={"call": call, "service": service}) as outer:
            for step in range(3):
                with tracer.start_as_current_span(f"step {step}") as inner:
                    inner.add_event("half of it")
                print(service, inner.name, inner.start_time, inner.end_time)
        print(service, outer.name, outer.start_time, outer.end_time)
    provider.shutdown()
"#;

#[test]
fn spans_of_the_sdk_are_recorded_with_times_and_parents() {
    let python = python("otlp.txt");
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("out.longspan");
    let mut record = Command::new(env!("CARGO_BIN_EXE_longspan"));
    record.args(["record", "otlp:0", "-o"]).arg(&out).stdin(Stdio::null()).stderr(Stdio::piped());
    let mut record = record.spawn().expect("it starts");
    let mut stderr = BufReader::new(record.stderr.take().expect("a pipe")).lines().map_while(Result::ok);
    let line = stderr.find(|line| line.contains("listening for OTLP")).expect("it listens");
    let port = line.split("127.0.0.1:").nth(1).and_then(|rest| rest.split('/').next()).expect("a port");
    let sent = output_of(Command::new(&python).args(["-c", APP, port]));
    assert!(Command::new("kill").args(["-INT", &record.id().to_string()]).status().expect("kill").success());
    let stderr: Vec<String> = stderr.collect();
    assert!(record.wait().expect("it ends").success(), "{stderr:?}");
    let rows = longspan(&["dump"], &[&out]);
    let rows: Vec<Value> = rows.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let slices: Vec<&Value> = rows.iter().filter(|row| row["t"] == "slice").collect();
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let mut found: Vec<String> = slices
        .iter()
        .filter(|row| row["dur"] != 0)
        .map(|row| {
            let start = row["ts"].as_i64().expect("a time");
            format!("{} {start} {}", text(&row["name"]), start + row["dur"].as_i64().expect("a time"))
        })
        .collect();
    let mut expected: Vec<String> =
        sent.lines().map(|line| line.split_once(' ').expect("a service").1.to_owned()).collect();
    found.sort();
    expected.sort();
    assert_eq!(expected.len(), 800);
    assert!(found == expected, "{} of {}", found.len(), expected.len());
    // Steps are nested in their calls, and their events are there.
    let of_depth = |depth: u64| slices.iter().filter(move |row| row["depth"] == depth && row["dur"] != 0);
    assert!(of_depth(0).all(|row| text(&row["name"]).starts_with("call")), "calls are outermost");
    assert_eq!((of_depth(0).count(), of_depth(1).count()), (200, 600));
    assert_eq!(slices.iter().filter(|row| row["name"] == "half of it").count(), 600);
}
