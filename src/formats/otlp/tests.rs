//! Tests of both encodings, on a recording of a collector and on generated requests.

mod by_trace;
mod logged;
mod odd_requests;
mod sized;

use proptest::prelude::*;

use crate::formats::testing::{Reading, data, read, read_bytes, read_cut, read_live, read_path};
use crate::model::{EventFlags, EventKind, Id, Loss, Metadata};

/// A span to write: start, end, id, parent (0 for none), service.
type Plain = (i64, i64, u64, u64, usize);

fn json(spans: &[Plain]) -> String {
    let of = |service: usize| -> Vec<String> {
        let spans = spans.iter().filter(|span| span.4 == service);
        let span = |&(start, end, id, parent, _): &Plain| {
            format!(
                r#"{{"traceId":"t1","spanId":"{id:x}","parentSpanId":"{}","name":"s{id}","kind":2,"startTimeUnixNano":"{start}","endTimeUnixNano":{end}}}"#,
                if parent == 0 { String::new() } else { format!("{parent:x}") }
            )
        };
        spans.map(span).collect()
    };
    let line = |service: usize| {
        format!(
            r#"{{"resourceSpans":[{{"resource":{{"attributes":[{{"key":"service.name","value":{{"stringValue":"v{service}"}}}}]}},"scopeSpans":[{{"scope":{{"name":"lib"}},"spans":[{}]}}]}}]}}"#,
            of(service).join(",")
        )
    };
    format!("{}\n{}\n", line(0), line(1))
}

fn field(number: u32, bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    for mut value in [u64::from(number << 3 | 2), bytes.len() as u64] {
        while value >= 0x80 {
            out.push(value as u8 | 0x80);
            value >>= 7;
        }
        out.push(value as u8);
    }
    out.extend(bytes);
    out
}

fn fixed(number: u32, value: i64) -> Vec<u8> {
    [&[(number << 3 | 1) as u8][..], &value.to_le_bytes()].concat()
}

/// Writes the same requests as protobuf; ids are bytes, so their text differs.
fn protobuf(spans: &[Plain]) -> Vec<u8> {
    let id = |number: u64| number.to_be_bytes();
    let of = |service: usize| {
        let spans = spans.iter().filter(|span| span.4 == service);
        let span = |&(start, end, number, parent, _): &Plain| {
            let parent = if parent == 0 { Vec::new() } else { field(4, &id(parent)) };
            let head = [field(1, b"0123456789abcdef"), field(2, &id(number)), parent].concat();
            let name = field(5, format!("s{number}").as_bytes());
            field(2, &[head, name, vec![6 << 3, 2], fixed(7, start), fixed(8, end)].concat())
        };
        spans.flat_map(span).collect::<Vec<u8>>()
    };
    let request = |service: usize| {
        let value = field(1, format!("v{service}").as_bytes());
        let attribute = [field(1, b"service.name"), field(2, &value)].concat();
        let scope = [field(1, &field(1, b"lib")), of(service)].concat();
        field(1, &[field(1, &field(1, &attribute)), field(2, &scope)].concat())
    };
    [request(0), request(1)].concat()
}

#[test]
fn spans_of_protobuf_with_the_status_of_an_error_failed() {
    let span = |name: &str, code: u8| {
        let ids = [field(1, b"0123456789abcdef"), field(2, name.as_bytes())].concat();
        let status = field(15, &[field(2, b"message"), vec![3 << 3, code]].concat());
        field(2, &[ids, field(5, name.as_bytes()), fixed(7, 5), fixed(8, 9), status].concat())
    };
    let spans = [span("no", 2), span("ok", 1), span("unset", 0)].concat();
    let scope = [field(1, &field(1, b"lib")), spans].concat();
    let attribute = [field(1, b"service.name"), field(2, &field(1, b"shop"))].concat();
    let request = [field(1, &field(1, &attribute)), field(2, &scope)].concat();
    let reading = read_bytes(&field(1, &request)).expect("a capture");
    assert_eq!(reading.failed.iter().collect::<Vec<_>>(), ["no"]);
}

/// Returns the rows of spans: service, row, start, end, name.
fn sorted_spans(reading: &Reading) -> Vec<(Id, Id, i64, i64, String)> {
    let spans = reading.events.iter().filter(|event| event.kind == EventKind::Complete);
    let mut sorted_spans: Vec<_> = spans
        .map(|event| {
            let end = event.ts_ns + event.value as i64;
            (event.track.pid.clone(), event.track.tid.clone(), event.ts_ns, end, event.name.clone())
        })
        .collect();
    sorted_spans.sort();
    sorted_spans
}

#[test]
fn null_means_absent_in_every_field() {
    let line = r#"{"resourceSpans":[{"resource":null,"scopeSpans":null},{"resource":{"attributes":null},"scopeSpans":[
        {"scope":null,"spans":null},{"scope":{"name":null},"spans":[{"traceId":null,"spanId":"1","parentSpanId":null,"name":null,
        "kind":null,"startTimeUnixNano":"5","endTimeUnixNano":"7","attributes":[{"key":null,"value":null},{"key":"k","value":{"arrayValue":{"values":null}}}],
        "events":[{"timeUnixNano":"6","name":null,"attributes":null}],"links":null,"status":{"code":null,"message":null}},
        {"spanId":"2","name":"b","startTimeUnixNano":"9","endTimeUnixNano":"9","attributes":null,"events":null,"status":null}]}]}]}"#;
    // One line, and a pretty-printed document.
    for text in [format!("{}\n{{\"resourceSpans\":null}}\n", line.replace('\n', "")), line.to_owned()] {
        let reading = read(&text);
        assert_eq!(reading.lost(), [], "{text}");
        let seen: Vec<_> =
            reading.events.iter().map(|event| (event.ts_ns, event.value, &*event.name, &*event.args)).collect();
        let first = r#"{"span_id":"1","":null,"k":[]}"#;
        assert_eq!(seen, [(5, 2, "", first), (6, 0, "", ""), (9, 0, "b", r#"{"span_id":"2"}"#)]);
    }
}

proptest! {
    #[test]
    fn both_encodings_place_every_span_and_none_overlaps_another_on_its_row_without_nesting(
        spans in proptest::collection::vec((1i64..60, 1i64..40, 0u64..20, 0usize..2), 0..20),
    ) {
        let spans: Vec<Plain> = spans.iter().enumerate().map(|(position, &(start, dur, parent, service))| {
            let id = position as u64 + 1;
            (start, start + dur, id, if parent < id { parent } else { 0 }, service)
        }).collect();
        let found = sorted_spans(&read(&json(&spans)));
        let mut expected: Vec<_> = spans.iter().map(|span| (span.0, span.1, format!("s{}", span.2))).collect();
        let mut plain: Vec<_> = found.iter().map(|span| (span.2, span.3, span.4.clone())).collect();
        expected.sort();
        plain.sort();
        prop_assert_eq!(plain, expected);
        for a in &found {
            for b in found.iter().filter(|b| (&a.0, &a.1) == (&b.0, &b.1) && a.2 <= b.2) {
                let is_inside = b.3 <= a.3 || a.2 == b.2 && a.3 <= b.3;
                prop_assert!(b.2 >= a.3 || is_inside, "{:?} {:?}", a, b);
            }
        }
        prop_assert_eq!(sorted_spans(&read_bytes(&protobuf(&spans)).expect("a capture")), found);
    }
}

#[test]
fn a_child_is_below_its_parent_and_one_that_does_not_fit_has_a_flow() {
    // Two overlapping children of one parent, and one in another service.
    let spans = [(10, 50, 1, 0, 0), (20, 40, 2, 1, 0), (30, 45, 3, 1, 0), (22, 30, 4, 2, 1)];
    for reading in [read(&json(&spans)), read_bytes(&protobuf(&spans)).expect("a capture")] {
        let rows: Vec<_> = sorted_spans(&reading).into_iter().map(|span| (span.0, span.1, span.4)).collect();
        let row = |pid, tid, name: &str| (Id::Number(pid), Id::Number(tid), name.to_owned());
        assert_eq!(rows, [row(1, 1, "s1"), row(1, 1, "s2"), row(1, 2, "s3"), row(2, 1, "s4")]);
        let arrows: Vec<_> = reading
            .events
            .iter()
            .filter(|event| matches!(event.kind, EventKind::FlowStart | EventKind::FlowEnd))
            .map(|event| (event.kind, event.track.tid.to_string(), &*event.name))
            .collect();
        assert_eq!(arrows.len(), 4);
        assert_eq!(reading.lost(), []);
        assert!(reading.events[0].args.starts_with(r#"{"scope":"lib","kind":"SERVER","trace_id":"#));
    }
}

#[test]
fn spans_of_several_live_requests_have_arrows_from_their_parents_whichever_comes_first() {
    // Services export spans when they end: children before their parents, but for one, and one without a parent.
    let requests = [(22, 30, 4, 2, 1), (20, 40, 2, 1, 0), (10, 50, 1, 0, 0), (45, 60, 5, 1, 1), (46, 47, 6, 99, 1)];
    let texts = requests.map(|span| json(&[span]));
    let arrows = |reading: &Reading| {
        let of = |kind| reading.events.iter().filter(move |event| event.kind == kind);
        let mut arrows: Vec<_> = of(EventKind::FlowEnd)
            .map(|end| {
                let start = of(EventKind::FlowStart).find(|start| start.value == end.value).expect("both ends");
                assert_eq!(reading.lost(), []);
                (end.name.clone(), start.ts_ns, start.track.pid.clone(), end.ts_ns, end.track.pid.clone())
            })
            .collect();
        arrows.sort();
        arrows
    };
    let pid = Id::Number;
    let between = [("s4", 20, 1, 22, 2), ("s5", 10, 1, 45, 2)];
    let below = ("s2", 10, 1, 20, 1);
    let texts_of = |(name, from_ns, from, to_ns, to): (&str, i64, i64, i64, i64)| {
        (name.to_owned(), from_ns, pid(from), to_ns, pid(to))
    };
    let whole = read(&texts.concat());
    assert_eq!(arrows(&whole), between.map(texts_of), "the other one is below its parent");
    let live = read_live(texts.concat().as_bytes(), &texts.each_ref().map(String::len)).expect("readable");
    assert_eq!(arrows(&live), [below, between[0], between[1]].map(texts_of));
}

#[test]
fn an_unfinished_span_keeps_its_row_to_the_end() {
    // A child of the unfinished span, and a later span without a parent.
    let spans = [(10, 0, 1, 0, 0), (20, 40, 2, 1, 0), (50, 60, 3, 0, 0)];
    for reading in [read(&json(&spans)), read_bytes(&protobuf(&spans)).expect("a capture")] {
        let row = |name: &str| &reading.events.iter().find(|event| event.name == name).expect("shown").track.tid;
        assert_eq!([row("s1"), row("s2"), row("s3")], [&Id::Number(1), &Id::Number(1), &Id::Number(2)]);
        let flags: Vec<_> = reading.events.iter().map(|event| event.flags).collect();
        assert_eq!(flags, [EventFlags::UNFINISHED, EventFlags::NONE, EventFlags::NONE], "three spans and no flow");
        assert_eq!(reading.lost(), []);
    }
}

#[test]
fn unknown_fields_between_resources_are_skipped_and_counted() {
    let [first, second] = [(10, 50, 1, 0, 0), (20, 40, 2, 0, 1)].map(|span| protobuf(&[span]));
    let others = [field(15, b"later"), fixed(15, 7), vec![15 << 3, 0x81, 1], vec![15 << 3 | 5, 1, 2, 3, 4]];
    let expected = read_bytes(&[first.clone(), second.clone()].concat()).expect("a capture");
    let bytes = [first.clone(), others.concat(), second.clone()].concat();
    for reading in [read_bytes(&bytes).expect("a capture"), read_cut(&bytes, 7, 3).expect("a capture")] {
        assert_eq!((&reading.events, reading.lost()), (&expected.events, vec![(Loss::IgnoredPacket, 4)]));
    }
    // Damage ends the reading: a group, and field number 0.
    for damage in [vec![15 << 3 | 3], field(0, b"zero")] {
        let reading = read_bytes(&[first.clone(), damage, second.clone()].concat()).expect("a capture");
        assert_eq!((sorted_spans(&reading).len(), reading.lost()), (1, vec![(Loss::BadRecord, 1)]));
    }
    // A message beyond the limit costs only itself.
    let long = field(1, &vec![0; 65 << 20]);
    let reading = read_bytes(&[first.clone(), long, second].concat()).expect("a capture");
    assert_eq!((&reading.events, reading.lost()), (&expected.events, vec![(Loss::OverLimit, 1)]));
    let cut = read_bytes(&[first, field(15, b"later")[..4].to_vec()].concat()).expect("a capture");
    assert_eq!(cut.lost(), [(Loss::Truncated, 1), (Loss::IgnoredPacket, 1)]);
}

#[test]
fn rows_are_not_threads_and_a_parent_is_found_by_a_base64_or_hexadecimal_id() {
    let span = |id: &str, parent: &str, ts: u32| {
        format!(
            r#"{{"traceId":"IaF/uFj+icx/BOgGYvSlPQ==","spanId":"{id}","parentSpanId":"{parent}","name":"n",
            "startTimeUnixNano":"{ts}","endTimeUnixNano":"{}"}}"#,
            100 - ts
        )
    };
    // The child has its parent id in hexadecimal, as the protocol requires.
    let spans = [span("55Bnt9Wd37M=", "AAAAAAAAAAA=", 10), span("0102030405060708", "E79067B7D59DDFB3", 20)];
    let reading = read(&format!(r#"{{"resourceSpans":[{{"scopeSpans":[{{"spans":[{}]}}]}}]}}"#, spans.join(",")));
    let rows: Vec<_> = sorted_spans(&reading).into_iter().map(|span| span.1).collect();
    assert_eq!(rows, [Id::Number(1), Id::Number(1)], "the child is not below its parent");
    let (root, child) = (&reading.events[0].args, &reading.events[1].args);
    assert!(root.ends_with(r#""span_id":"e79067b7d59ddfb3"}"#), "{root}");
    assert!(child.ends_with(r#""span_id":"0102030405060708","parent_span_id":"e79067b7d59ddfb3"}"#), "{child}");
    let names: Vec<_> = reading
        .metadata
        .iter()
        .filter_map(|fact| match fact {
            Metadata::ThreadName { name, .. } => Some(&**name),
            _ => None,
        })
        .collect();
    assert_eq!(names, ["Spans"]);
}

#[test]
fn attributes_events_and_links_are_kept_whatever_their_types() {
    let reading = read(
        r#"{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"IaF/uFj+icx/BOgGYvSlPQ==","spanId":"a","name":"db",
        "kind":"SPAN_KIND_CLIENT","startTimeUnixNano":5,"endTimeUnixNano":"9","status":{"code":"STATUS_CODE_ERROR","message":"no"},
        "attributes":[{"key":"i","value":{"intValue":"9007199254740993"}},{"key":"d","value":{"doubleValue":1.5}},
        {"key":"b","value":{"boolValue":true}},{"key":"l","value":{"arrayValue":{"values":[{"stringValue":"x"},{}]}}},
        {"key":"o","value":{"kvlistValue":{"values":[{"key":"k","value":{"intValue":1}}]}}}],
        "events":[{"timeUnixNano":"7","name":"row","attributes":[{"key":"n","value":{"intValue":0}}]}],
        "links":[{"traceId":"IaF/uFj+icx/BOgGYvSlPQ==","spanId":"xytqEl9VpYM=","attributes":[{"key":"l","value":{"intValue":"1"}}],"flags":256}]}]}]}]}"#,
    );
    assert_eq!(
        reading.events[0].args,
        r#"{"kind":"CLIENT","status":"ERROR","message":"no","trace_id":"21a17fb858fe89cc7f04e80662f4a53d","span_id":"a","i":9007199254740993,"d":1.5,"b":true,"l":["x",null],"o":{"k":1},"links":[{"trace_id":"21a17fb858fe89cc7f04e80662f4a53d","span_id":"c72b6a125f55a583","attributes":{"l":1}}]}"#
    );
    assert_eq!((reading.events[1].ts_ns, &*reading.events[1].name, &*reading.events[1].args), (7, "row", r#"{"n":0}"#));
    assert_eq!(reading.lost(), []);
}

#[test]
fn a_real_capture_has_every_span_and_event_with_its_own_times() {
    let path = data("otlp.jsonl.gz");
    let reading = read_path(&path).expect("a capture");
    let mut text = String::new();
    let file = std::fs::File::open(path).expect("a file");
    std::io::Read::read_to_string(&mut flate2::read::GzDecoder::new(file), &mut text).expect("text");
    let (mut spans, mut points) = (Vec::new(), 0);
    for line in text.lines() {
        let request: serde_json::Value = serde_json::from_str(line).expect("JSON");
        for of_resource in request["resourceSpans"].as_array().expect("a list") {
            for of_scope in of_resource["scopeSpans"].as_array().expect("a list") {
                for span in of_scope["spans"].as_array().expect("a list") {
                    let ns = |key: &str| span[key].as_str().expect("text").parse::<i64>().expect("digits");
                    let name = span["name"].as_str().expect("text").to_owned();
                    spans.push((ns("startTimeUnixNano"), ns("endTimeUnixNano"), name));
                    points += span["events"].as_array().map_or(0, Vec::len);
                }
            }
        }
    }
    let mut found: Vec<_> = sorted_spans(&reading).into_iter().map(|span| (span.2, span.3, span.4)).collect();
    spans.sort();
    found.sort();
    assert_eq!(found, spans);
    assert_eq!(reading.events.iter().filter(|event| event.kind == EventKind::Instant).count(), points);
    assert_eq!(reading.lost(), []);
}

#[test]
fn a_damaged_event_or_link_of_a_span_is_counted() {
    let span = |part: &[u8]| {
        let head =
            [field(1, b"0123456789abcdef"), field(2, &[7; 8]), field(5, b"s"), fixed(7, 1), fixed(8, 9)].concat();
        let spans = field(2, &[&head, part].concat());
        let attribute = [field(1, b"service.name"), field(2, &field(1, b"v"))].concat();
        let scope = field(2, &[field(1, &field(1, b"lib")), spans].concat());
        field(1, &[field(1, &field(1, &attribute)), scope].concat())
    };
    // The attributes end after 1 of 5 bytes.
    let cut = [&[3 << 3 | 2, 5][..], b"a"].concat();
    let (event, link) = ([fixed(1, 2), cut].concat(), [&[4 << 3 | 2, 5][..], b"a"].concat());
    for (part, lost) in [
        (vec![], vec![]),
        (field(11, &event), vec![(Loss::BadRecord, 1)]),
        (field(13, &link), vec![(Loss::BadRecord, 1)]),
    ] {
        assert_eq!(read_bytes(&span(&part)).expect("a request").lost(), lost);
    }
}

#[test]
fn damage_costs_its_line_and_a_cut_the_lines_after_it() {
    let spans = [(10, 50, 1, 0, 0), (20, 40, 2, 1, 0), (30, 45, 3, 1, 1)];
    let whole = json(&spans);
    let second = whole.find('\n').expect("a line") + 1;
    let damaged = read(&format!("{}{{\"resourceSpans\":[}}\n{}", &whole[..second], &whole[second..]));
    assert_eq!(damaged.events, read(&whole).events);
    assert_eq!(damaged.lost(), [(Loss::BadRecord, 1)]);
    for len in second..whole.len() - 1 {
        let reading = read(&whole[..len]);
        assert!(sorted_spans(&reading).len() >= 2, "{len} bytes");
        assert!(reading.losses.total() == u64::from(len > second) || sorted_spans(&reading).len() == 3, "{len} bytes");
    }
    let whole = protobuf(&spans);
    for len in 40..whole.len() {
        let reading = read_bytes(&whole[..len]).expect("a capture");
        assert!(reading.losses.total() > 0 || sorted_spans(&reading).len() == 2, "{len} bytes");
    }
}

#[test]
fn a_real_request_of_bytes_has_its_spans_events_and_links() {
    // `run`, and twelve times `item` with three spans in it, the third of which fails four times.
    let reading = read_path(&data("otlp_python.binpb")).expect("a capture");
    assert_eq!(reading.lost(), []);
    let of = |kind, name: &str| {
        reading.events.iter().filter(|event| event.kind == kind && event.name == name).collect::<Vec<_>>()
    };
    for (kind, name, count) in [
        (EventKind::Complete, "run", 1),
        (EventKind::Complete, "item", 12),
        (EventKind::Complete, "compress", 12),
        (EventKind::Complete, "hash", 12),
        (EventKind::Complete, "parse", 12),
        (EventKind::Instant, "compressed", 12),
        (EventKind::Instant, "given up", 4),
    ] {
        assert_eq!(of(kind, name).len(), count, "{name}");
    }
    let within = |inner: &crate::formats::testing::ReadEvent, outer: &crate::formats::testing::ReadEvent| {
        let end = |event: &crate::formats::testing::ReadEvent| event.ts_ns + event.value as i64;
        outer.ts_ns <= inner.ts_ns && end(inner) <= end(outer)
    };
    for (item, hash) in of(EventKind::Complete, "item").into_iter().zip(of(EventKind::Complete, "hash")) {
        assert!(within(hash, item));
        let [item, hash] =
            [item, hash].map(|event| serde_json::from_str::<serde_json::Value>(&event.args).expect("JSON"));
        let link = &hash["links"][0];
        assert_eq!((&link["span_id"], &link["trace_id"]), (&item["span_id"], &item["trace_id"]));
        assert_eq!(link["attributes"], serde_json::json!({"why": "input"}));
    }
}

#[test]
fn requests_read_the_same_within_arrays_and_answers_of_tools() {
    let span = r#"{"traceId":"5b8efff798038103d269b633813fc60c","spanId":"eee19b7ec3c1b174","name":"n","startTimeUnixNano":"1544712660000000000","endTimeUnixNano":"1544712661000000000"}"#;
    let resources = format!(r#"[{{"resource":{{}},"scopeSpans":[{{"scope":{{"name":"lib"}},"spans":[{span}]}}]}}]"#);
    let request = format!(r#"{{"resourceSpans":{resources}}}"#);
    for text in [
        request.clone(),
        format!("[{request}]"),
        format!(r#"{{"batches":{resources}}}"#),
        format!(r#"{{"trace":{request},"metrics":{{}}}}"#),
        format!(r#"{{"result":{request}}}"#),
        format!("{{\"resourceMetrics\":[]}}\n{{\"resourceLogs\":[{{}}]}}\n{request}\n"),
    ] {
        let reading = read(&text);
        assert_eq!(reading.short(), [(1_544_712_660_000_000_000, 1_000_000_000, "n")], "{text}");
        assert_eq!(reading.lost(), [], "{text}");
    }
    let empty = read(r#"{"batches":[]}"#);
    assert_eq!((empty.events.len(), empty.lost()), (0, vec![]), "a response without spans");
    for other in [r#"{"batches":[],"jobs":[]}"#, r#"{"batches":[1]}"#, r#"{"batches":{}}"#] {
        assert_ne!(crate::formats::testing::format_of(other.as_bytes()), Some("OpenTelemetry JSON"), "{other}");
    }
    let two = read(&format!("[{request},\n{request}]\n"));
    assert_eq!(two.events.len(), 2);
    let of_lines = "{\n  \"resourceMetrics\": [{}]\n}\n{\n  \"resourceSpans\": []\n}\n";
    assert_eq!(read(of_lines).lost(), [], "a document with spans beside one with metrics");
}

#[test]
fn metrics_or_logs_without_spans_are_refused_on_one_line_and_on_several() {
    for text in [
        "{\"resourceMetrics\":[{}]}\n",
        "{\n  \"resourceMetrics\": [{}]\n}\n",
        "{\n  \"resourceLogs\": [\n    {}\n  ]\n}\n{\n  \"resourceMetrics\": []\n}\n",
    ] {
        let error = read_bytes(text.as_bytes()).expect_err("no spans").to_string();
        assert!(error.contains("byte 0: expected a trace, found metrics or logs of OpenTelemetry"), "{error}");
    }
}

#[test]
fn spans_of_console_exporters_are_read() {
    let corpus = |name: &str| {
        let path = data("").join("../fuzz/corpus/otlp_json").join(name);
        std::fs::read_to_string(path).expect("a small capture")
    };
    // Start and duration in nanoseconds, name, start of the arguments; then a span event.
    let (start, ms) = (1_704_164_645_678_901_000, 1_000_000);
    let python = read(&corpus("console_python"));
    assert_eq!(
        python.short(),
        [
            (start, 100 * ms as u64, "foo"),
            (start + 10 * ms, 10 * ms as u64, "bar"),
            (1_704_164_645_700_000_000, 0, "e")
        ]
    );
    assert_eq!(python.lost(), [(Loss::IgnoredMetadata, 1)], "what the program printed");
    assert_eq!(python.events[0].track, python.events[1].track, "the child is below its parent");
    let go = read(&corpus("console_go"));
    assert_eq!(go.short()[0], (start + 234 - 3_600_000_000_000, 100 * ms as u64, "foo"));
    assert!(go.events[0].args.contains(r#""a":"b""#), "{}", go.events[0].args);
    let node = read(&corpus("console_node"));
    assert_eq!(node.short(), [(1_704_164_645_678_000_000, 23_456_780, "main"), (1_704_164_645_680_000_000, 0, "e")]);
    assert!(node.events[0].args.contains(r#""key":"it's","deep":"[Object]","long":"ab""#), "{}", node.events[0].args);
    assert_eq!((go.lost(), node.lost()), (vec![], vec![(Loss::RecorderLost, 1)]), "an object too deep to print");
    for (reading, service) in [(&python, "unknown_service"), (&go, "svc"), (&node, "unknown_service:node")] {
        let is = |told: &Metadata| matches!(told, Metadata::ProcessName { name, .. } if **name == *service);
        assert!(reading.metadata.iter().any(is), "{service}");
    }
    let whole = corpus("console_python");
    for len in whole.find("\"events\"").expect("there")..whole.len() {
        let reading = read(&whole[..len]);
        let is_cut = reading.losses.count(Loss::Truncated) + reading.losses.count(Loss::BadRecord) > 0;
        assert!(reading.events.len() == 3 || is_cut || reading.events.len() == 2, "{len} bytes: {:?}", reading.short());
    }
}
