//! Compares traces of real tracers with a naive parse of the same bytes by `serde_json`.

use serde_json::Value;

use super::*;

/// A record of the naive parse: phase, name, category, start, duration.
type Plain = (String, String, Option<String>, i64, Option<i64>);

/// Parses decimal microseconds to nanoseconds, digit by digit; the only exponents in real traces are JAX's `e-07`.
fn plain_nanos(value: &Value) -> i64 {
    let text = value.to_string();
    if text.contains('e') {
        return 0; // 9.9999999999999995e-07 µs
    }
    let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
    let decimals: String = fraction.chars().chain(std::iter::repeat('0')).take(4).collect();
    let tenths: i128 = format!("{whole}{decimals}").parse().expect("digits");
    i64::try_from((tenths + 5) / 10).expect("in range")
}

fn plain_records(bytes: &[u8]) -> Vec<Plain> {
    let json: Value = serde_json::from_slice(bytes).expect("strict JSON");
    let records = json.get("traceEvents").unwrap_or(&json).as_array().expect("events");
    let text = |record: &Value, key: &str| record.get(key).and_then(Value::as_str).map(str::to_owned);
    let mut plain: Vec<Plain> = records
        .iter()
        .filter(|record| record.get("ph").is_some_and(|ph| ph != "M" && ph != "C"))
        .map(|record| {
            let dur_ns = (record["ph"] == "X").then(|| plain_nanos(&record["dur"]));
            let name = text(record, "name").unwrap_or_default();
            (text(record, "ph").unwrap_or_default(), name, text(record, "cat"), plain_nanos(&record["ts"]), dur_ns)
        })
        .collect();
    plain.sort_by_key(|record| record.3);
    plain
}

fn letter(kind: EventKind) -> &'static str {
    match kind {
        EventKind::Complete => "X",
        EventKind::Begin => "B",
        EventKind::End => "E",
        EventKind::Instant => "i",
        EventKind::AsyncBegin => "b",
        EventKind::AsyncEnd => "e",
        EventKind::FlowStart => "s",
        EventKind::FlowStep => "t",
        _ => "?",
    }
}

fn check(file: &str, counters: usize, metadata: usize, lost: &[(Loss, u64)]) {
    let path = data(file);
    let reading = read_path(&path).expect("a capture");
    let mut bytes = Vec::new();
    let mut source = Source::open(&path, &context(1)).expect("a file");
    std::io::Read::read_to_end(&mut source, &mut bytes).expect("read");
    let seen: Vec<Plain> = reading
        .events
        .iter()
        .filter(|event| event.kind != EventKind::Counter)
        .map(|event| {
            let dur_ns = (event.kind == EventKind::Complete).then(|| i64::try_from(event.value).expect("in range"));
            (letter(event.kind).to_owned(), event.name.clone(), event.category.clone(), event.ts_ns, dur_ns)
        })
        .collect();
    let mut plain = plain_records(&bytes);
    plain.iter_mut().filter(|record| record.0 == "I").for_each(|record| record.0 = "i".to_owned());
    assert_eq!(seen.len(), plain.len(), "{file}");
    for (seen, plain) in seen.iter().zip(&plain) {
        assert_eq!(seen, plain, "{file}");
    }
    assert_eq!(reading.events.iter().filter(|event| event.kind == EventKind::Counter).count(), counters, "{file}");
    assert_eq!(reading.metadata.len(), metadata, "{file}");
    assert_eq!(reading.lost(), lost, "{file}");
    for piece_bytes in [1000, 70_000, 300_000] {
        assert_eq!(read_in_pieces(&bytes, piece_bytes).expect("a capture"), reading, "{file} in {piece_bytes}");
    }
}

#[test]
fn go_execution_trace() {
    check("go_trace.json", 2801, 16, &[]);
}

#[test]
fn pyspy_with_47_bit_thread_ids() {
    check("pyspy_chrome.json", 0, 0, &[]);
}

#[test]
fn tracing_chrome_async_spans() {
    check("tracing_chrome_async.json.gz", 0, 4, &[]);
}

#[test]
fn tracing_chrome_spans_on_threads() {
    check("tracing_chrome_threads.json.gz", 0, 4, &[]);
}

#[test]
fn viztracer_with_source_code_in_strings() {
    check("viztracer_ring.json.gz", 0, 6, &[(Loss::RecorderLost, 1)]);
}

#[test]
fn jax_with_17_digits_and_an_empty_record() {
    check("jax.trace.json.gz", 0, 10, &[]);
}

#[test]
fn threads_of_pyspy_stay_apart() {
    let path = data("pyspy_chrome.json");
    let reading = read_path(&path).expect("a capture");
    let tids: std::collections::BTreeSet<_> = reading.events.iter().map(|event| event.track.tid.clone()).collect();
    assert_eq!(tids.len(), 4);
}

#[test]
fn events_without_an_array_are_read_one_after_the_other() {
    let event = |number: usize| format!(r#"{{"name":"a{number}","ph":"X","ts":{number},"dur":5,"pid":1,"tid":1}}"#);
    let lines: Vec<String> = (0..9).map(event).collect();
    let array = read(&format!("[{}]", lines.join(",")));
    for separator in ["\n", "", ",\r\n"] {
        let text = lines.join(separator) + "\n";
        let reading = read(&text);
        assert_eq!((&reading.events, reading.lost()), (&array.events, vec![]), "{separator:?}");
        for piece_bytes in (1..=text.len()).step_by(13) {
            assert_eq!(read_in_pieces(text.as_bytes(), piece_bytes).expect("a trace"), reading, "{piece_bytes}");
        }
    }
    let cut = lines.join("\n");
    let reading = read(&cut[..cut.len() - 5]);
    assert_eq!((reading.events.len(), reading.lost()), (8, vec![(Loss::Truncated, 1)]));
    // Only the event of the damaged line is lost, and other objects are not events.
    let reading = read(&format!("{}\n{{\"name\" nonsense\n{}\n{{\"x\":1}}\n{}\n", lines[0], lines[1], lines[2]));
    assert_eq!(reading.names(), ["a0", "a1", "a2"]);
    // The first line of a stream may come alone.
    assert_eq!(read(&lines[0]).names(), ["a0"]);
    assert!(read_bytes(br#"{"name":"a0","ts":1,"dur":5}"#).is_err(), "an object may be anything");
}

#[test]
fn the_first_event_without_an_array_may_be_longer_than_the_head() {
    let text = "x".repeat(2 * crate::formats::input::source::HEAD_BYTES);
    let args_last = format!(r#"{{"ph":"X","name":"a","ts":1,"dur":5,"pid":1,"tid":1,"args":{{"text":"{text}"}}}}"#);
    let args_first = format!(r#"{{"args":{{"text":"{text}"}},"ph":"X","name":"b","ts":2,"dur":5,"pid":1,"tid":1}}"#);
    let short = r#"{"ph":"X","name":"c","ts":3,"dur":5,"pid":1,"tid":1}"#;
    for (first, name) in [(args_last, "a"), (args_first, "b")] {
        let reading = read(&format!("{first}\n{short}\n"));
        assert_eq!((reading.names(), reading.lost()), (vec![name, "c"], vec![]));
        // The whole document may still be an envelope.
        let reading = read(&format!(r#"{{"otherData":{{"ph":"X","text":"{text}"}},"traceEvents":[{first}]}}"#));
        assert_eq!(reading.names(), [name]);
    }
}
