//! Tests of requests with text that is not strict JSON, with odd spans, and with attributes of resources.

use super::{field, fixed};
use crate::formats::testing::{Reading, read, read_bytes};
use crate::model::{EventFlags, EventKind, Loss, Metadata};

/// A request of three spans, the second with the text `@` and the attribute value `#`, which tests replace.
const REQUEST: &str = r#"{"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"s"}}]},
"scopeSpans":[{"spans":[{"traceId":"1","spanId":"1","name":"n1","startTimeUnixNano":"1000","endTimeUnixNano":"1500"},
{"traceId":"1","spanId":"2","name":"@","startTimeUnixNano":"2000","endTimeUnixNano":"2500","attributes":[{"key":"k","value":#}]},
{"traceId":"1","spanId":"3","name":"n3","startTimeUnixNano":"3000","endTimeUnixNano":"3500"}]}]}]}"#;

/// Reads the request with a name and an attribute: on a line, on a line without a line break, and over several lines.
fn readings(name: &[u8], value: &str) -> [Reading; 3] {
    let text = REQUEST.replace('#', value);
    let (before, after) = text.split_once('@').expect("a name");
    let pretty = [before.as_bytes(), name, after.as_bytes()].concat();
    let line = [before.replace('\n', "").as_bytes(), name, after.replace('\n', "").as_bytes()].concat();
    [[&line[..], b"\n"].concat(), line, pretty].map(|bytes| read_bytes(&bytes).expect("a trace"))
}

fn process_names(reading: &Reading) -> Vec<String> {
    let names = reading.metadata.iter().filter_map(|fact| match fact {
        Metadata::ProcessName { name, .. } => Some(name.to_string()),
        _ => None,
    });
    names.collect()
}

#[test]
fn text_that_is_not_strict_json_costs_no_span() {
    let number = r#"{"doubleValue":1.5}"#;
    for (name, value, shown, lost) in [
        (&b"n2"[..], number, "n2", None),
        (br"n2 \ud83d", number, "n2 \u{fffd}", Some(Loss::BadUtf8)),
        (b"caf\xe9", number, "caf\u{fffd}", Some(Loss::BadUtf8)),
        (b"n2\t", number, "n2\t", Some(Loss::ControlCharacter)),
        (b"n2", r#"{"doubleValue":NaN}"#, "n2", None),
        (b"n2", r#"{"stringValue":"\udc00"}"#, "n2", Some(Loss::BadUtf8)),
    ] {
        for reading in readings(name, value) {
            let lost: Vec<_> = lost.map(|loss| (loss, 1)).into_iter().collect();
            assert_eq!((reading.names(), reading.lost()), (vec!["n1", shown, "n3"], lost), "{shown}: {value}");
        }
    }
    let [reading, ..] = readings(b"n2", r#"{"doubleValue":NaN}"#);
    assert!(reading.events[1].args.ends_with(r#","k":"NaN"}"#), "{}", reading.events[1].args);
}

#[test]
fn an_odd_span_is_the_only_one_lost_and_nothing_is_called_truncated() {
    for value in [r#"{"boolValue":"maybe"}"#, r#""plain""#, r#"{"stringValue":7}"#, r#"{"intValue":1},"key":"again""#] {
        for reading in readings(b"n2", value) {
            assert_eq!((reading.names(), reading.lost()), (vec!["n1", "n3"], vec![(Loss::BadRecord, 1)]), "{value}");
        }
    }
    // A scope of another type, and a line that really ends early, whose first two spans are whole.
    let line = REQUEST.replace('\n', "").replace('#', "null");
    let scoped = read(&line.replace(r#"{"spans""#, r#"{"scope":["lib"],"spans""#));
    assert_eq!((scoped.names().len(), scoped.lost()), (3, vec![]));
    let cut = read(&format!("{line}\n{}", &line[..line.len() - 40]));
    assert_eq!((cut.names().len(), cut.lost()), (5, vec![(Loss::Truncated, 1)]));
}

#[test]
fn services_of_several_namespaces_are_processes_with_their_resources() {
    let resources = [("prod", "web-1"), ("test", "web-2"), ("prod", "web-1")];
    let attribute = |key: &str, value: &str| format!(r#"{{"key":"{key}","value":{{"stringValue":"{value}"}}}}"#);
    let requests = resources.map(|(namespace, pod)| {
        let texts = [("service.name", "web"), ("service.namespace", namespace), ("k8s.pod.name", pod)];
        let attributes = texts.map(|(key, value)| attribute(key, value)).join(",");
        format!(
            r#"{{"resource":{{"attributes":[{attributes}]}},"scopeSpans":[{{"spans":[{{"traceId":"1","spanId":"1",
            "name":"a","startTimeUnixNano":"1000","endTimeUnixNano":"1500"}}]}}]}}"#
        )
    });
    let document = format!(r#"{{"resourceSpans":[{}]}}"#, requests.join(","));
    let protobuf_attribute =
        |key: &str, value: &str| field(1, &[field(1, key.as_bytes()), field(2, &field(1, value.as_bytes()))].concat());
    let protobuf = resources.map(|(namespace, pod)| {
        let texts = [("service.name", "web"), ("service.namespace", namespace), ("k8s.pod.name", pod)];
        let attributes = texts.map(|(key, value)| protobuf_attribute(key, value)).concat();
        let span = [field(1, b"1"), field(2, b"1"), field(5, b"a"), fixed(7, 1000), fixed(8, 1500)].concat();
        field(1, &[field(1, &attributes), field(2, &field(2, &span))].concat())
    });
    let line = document.replace('\n', "") + "\n";
    for bytes in [document.into_bytes(), line.into_bytes(), protobuf.concat()] {
        let reading = read_bytes(&bytes).expect("a trace");
        assert_eq!(process_names(&reading), ["web", "prod/web", "test/web"], "the first is renamed");
        assert_eq!(reading.lost(), []);
        let spans: Vec<_> = reading.events.iter().filter(|event| event.kind == EventKind::Complete).collect();
        let of_test = spans.iter().filter(|span| span.args.contains("test")).collect::<Vec<_>>();
        assert_eq!((spans.len(), of_test.len()), (3, 1));
        let resource = r#","resource":{"service.namespace":"test","k8s.pod.name":"web-2"}}"#;
        assert!(of_test[0].args.ends_with(resource), "{}", of_test[0].args);
        let pids: std::collections::BTreeSet<_> = spans.iter().map(|span| format!("{:?}", span.track.pid)).collect();
        assert_eq!(pids.len(), 2, "{pids:?}");
    }
}

#[test]
fn odd_attributes_of_a_resource_are_texts_and_cost_no_span() {
    let odd = r#""attributes":[{"key":"a","value":"plain"},{"key":"b","value":{"boolValue":3}},"#;
    for reading in readings(b"n2", "null") {
        assert_eq!(reading.names().len(), 3);
    }
    let text = REQUEST.replace('#', "null").replacen(r#""attributes":["#, odd, 1);
    for text in [text.replace('\n', ""), text] {
        let reading = read(&text);
        assert_eq!((reading.names().len(), reading.lost(), process_names(&reading)), (3, vec![], vec!["s".to_owned()]));
        let resource = r#""resource":{"a":"plain","b":"{\"boolValue\":3}"}}"#;
        assert!(reading.events[0].args.ends_with(resource), "{}", reading.events[0].args);
    }
    let listed = read(
        &REQUEST
            .replace('#', "null")
            .replacen(r#"{"attributes":[{"key":"service.name""#, r#"[{"x":[{"key":"a""#, 1)
            .replacen("}}]},", "}}]}],", 1),
    );
    assert_eq!((listed.names().len(), listed.lost()), (3, vec![(Loss::BadRecord, 1)]));
}

#[test]
fn attributes_events_and_links_that_the_program_dropped_are_counted() {
    let members = r#""name":"n1","droppedAttributesCount":2,"droppedEventsCount":"3","droppedLinksCount":4,
        "events":[{"timeUnixNano":"1100","name":"e","droppedAttributesCount":5}],
        "links":[{"traceId":"1","spanId":"3","droppedAttributesCount":6}]"#;
    let json = REQUEST.replace('#', "null").replace(r#""name":"n1""#, members);
    let count = |number: u8, count: u8| vec![number << 3, count];
    let event = [fixed(1, 1100), field(2, b"e"), count(4, 5)].concat();
    let link = [field(1, b"1"), field(2, b"3"), count(5, 6)].concat();
    let counts = [count(10, 2), count(12, 3), count(14, 4), field(11, &event), field(13, &link)].concat();
    let span = [field(1, b"1"), field(2, b"1"), field(5, b"n1"), fixed(7, 1000), fixed(8, 1500), counts].concat();
    let value = field(2, &field(1, b"s"));
    let attributes = field(1, &[field(1, b"service.name"), value].concat());
    let protobuf = field(1, &[field(1, &attributes), field(2, &field(2, &span))].concat());
    for bytes in [json.replace('\n', "").into_bytes(), json.into_bytes(), protobuf] {
        let reading = read_bytes(&bytes).expect("a trace");
        assert_eq!(reading.lost(), [(Loss::RecorderLost, 20)]);
        let advice = reading.losses.iter().next().map(|lost| lost.advice.into_owned()).unwrap_or_default();
        assert!(advice.contains("OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT"), "{advice}");
    }
}

#[test]
fn a_span_with_an_end_that_is_not_a_time_is_unfinished_and_counted() {
    let with_end = |end: &str| {
        let text = REQUEST.replace('#', "null").replace('@', "n2");
        assert!(text.contains(r#""endTimeUnixNano":"2500""#), "{text}");
        read(&text.replace(r#""endTimeUnixNano":"2500""#, &format!(r#""endTimeUnixNano":{end}"#)))
    };
    for (end, lost) in [
        (r#""abc""#, vec![(Loss::BadNumber, 1)]),
        ("true", vec![(Loss::BadNumber, 1)]),
        (r#""18446744073709551615""#, vec![(Loss::BadNumber, 1)]),
        (r#""""#, vec![]),
        ("null", vec![]),
        ("0", vec![]),
    ] {
        let reading = with_end(end);
        assert_eq!((reading.names(), reading.lost()), (vec!["n1", "n2", "n3"], lost), "{end}");
        let flags: Vec<_> = reading.events.iter().map(|event| event.flags).collect();
        assert_eq!(flags, [EventFlags::NONE, EventFlags::UNFINISHED, EventFlags::NONE], "{end}");
    }
    let name = [field(1, b"service.name"), field(2, &field(1, b"s"))].concat();
    let span = [field(1, b"1"), field(2, b"1"), field(5, b"a"), fixed(7, 1000), fixed(8, -1)].concat();
    let request = [field(1, &field(1, &name)), field(2, &field(2, &span))].concat();
    let reading = read_bytes(&field(1, &request)).expect("a trace");
    assert_eq!((reading.events[0].flags, reading.lost()), (EventFlags::UNFINISHED, vec![(Loss::BadNumber, 1)]));
}

#[test]
fn attributes_named_like_parts_of_their_span_hide_nothing() {
    let json = r#"{"resourceSpans":[{"resource":{"attributes":[{"key":"host","value":{"stringValue":"h"}}]},"scopeSpans":[{"scope":{"name":"lib"},
        "spans":[{"traceId":"t","spanId":"s","name":"op","kind":2,"status":{"code":2,"message":"boom"},"startTimeUnixNano":5,"endTimeUnixNano":9,
        "attributes":[{"key":"kind","value":{"stringValue":"own"}},{"key":"status","value":{"intValue":404}},
        {"key":"message","value":{"stringValue":"m"}},{"key":"a","value":{"intValue":1}},{"key":"a","value":{"intValue":2}},
        {"key":"resource","value":{"stringValue":"r"}}]}]}]}]}"#;
    let attribute = |key: &str, value: &[u8]| field(9, &[field(1, key.as_bytes()), field(2, value)].concat());
    let text = |text: &str| field(1, text.as_bytes());
    let number = |number: u8| vec![3 << 3, number];
    let attributes = [
        attribute("kind", &text("own")),
        attribute("status", &number(104)),
        attribute("message", &text("m")),
        attribute("a", &number(1)),
        attribute("a", &number(2)),
        attribute("resource", &text("r")),
    ];
    let status = field(15, &[field(2, b"boom"), vec![3 << 3, 2]].concat());
    let head = [field(1, b"t"), field(2, b"s"), field(5, b"op"), vec![6 << 3, 2], fixed(7, 5), fixed(8, 9)].concat();
    let span = field(2, &[head, attributes.concat(), status].concat());
    let resource = field(1, &field(1, &[field(1, b"host"), field(2, &text("h"))].concat()));
    let request = field(1, &[resource, field(2, &[field(1, &field(1, b"lib")), span].concat())].concat());
    for (reading, ids, status) in [
        (read(json), r#""trace_id":"t","span_id":"s""#, 404),
        (read_bytes(&request).expect("a request"), r#""trace_id":"74","span_id":"73""#, 104),
    ] {
        let expected = format!(
            r#"{{"scope":"lib","kind":["SERVER","own"],"status":["ERROR",{status}],"message":["boom","m"],{ids},"a":[1,2],"resource":"r","resource_attributes":{{"host":"h"}}}}"#
        );
        assert_eq!(reading.events[0].args, expected);
        assert_eq!(reading.lost(), []);
    }
}
