//! Tests of spans between other output of a program, as exporters print them.

use crate::formats::testing::{format_of, read};
use crate::model::{EventFlags, Loss, Metadata};

/// Returns a span that Node.js prints, with these attributes and events.
fn node(attributes: &str, events: &str) -> String {
    format!(
        "{{\n  resource: {{ attributes: {{}} }},\n  instrumentationScope: {{ name: 'lib', version: undefined }},\n  \
         traceId: 'a0a1',\n  parentSpanContext: undefined,\n  name: 's',\n  id: 'cbeb',\n  kind: 0,\n  \
         timestamp: 1795627259462000,\n  duration: 837.5,\n  attributes: {{ {attributes} }},\n  \
         status: {{ code: 2, message: 'bad' }},\n  events: {events},\n  links: [\n    {{\n      \
         context: {{ traceId: 'f0', spanId: 'e1', traceFlags: 1, traceState: undefined }},\n      \
         attributes: {{ l: 1 }}\n    }}\n  ]\n}}\n"
    )
}

/// Returns a span that Python prints.
fn python() -> String {
    "{\n    \"name\": \"p\",\n    \"context\": {\n        \"trace_id\": \"0x1\",\n        \"span_id\": \"0x2\"\n    },\n    \
     \"parent_id\": null,\n    \"start_time\": \"2026-11-25T16:48:10.8Z\",\n    \"end_time\": \"2026-11-25T16:48:10.9Z\",\n    \
     \"status\": {\n        \"status_code\": \"ERROR\",\n        \"description\": \"no\"\n    },\n    \
     \"attributes\": {\n        \"n\": NaN\n    },\n    \"events\": [],\n    \
     \"links\": [\n        {\n            \"context\": {\"trace_id\": \"0xf0\", \"span_id\": \"0xe1\"},\n            \
     \"attributes\": {}\n        }\n    ]\n}\n"
        .to_owned()
}

/// Returns a span that PHP prints, indented by `indent` spaces.
fn php(name: &str, id: &str, parent: &str, start: &str, indent: usize) -> String {
    let lines = format!(
        "{{\n    \"name\": \"{name}\",\n    \"context\": {{\n        \"trace_id\": \"a1\",\n        \
         \"span_id\": \"{id}\",\n        \"trace_flags\": 1\n    }},\n    \"resource\": {{\n        \
         \"service.name\": \"shop\"\n    }},\n    \"parent_span_id\": \"{parent}\",\n    \
         \"kind\": \"KIND_SERVER\",\n    \"start\": {start},\n    \"end\": 1700000000500000000,\n    \
         \"attributes\": {{\n        \"a\": 1\n    }},\n    \"status\": {{\n        \"code\": \"Unset\",\n        \
         \"description\": \"\"\n    }},\n    \"events\": [\n        {{\n            \"name\": \"ev\",\n            \
         \"timestamp\": 1700000000100000005,\n            \"attributes\": []\n        }}\n    ],\n    \"links\": []\n}}"
    );
    lines.lines().map(|line| format!("{}{line}", " ".repeat(indent))).collect::<Vec<_>>().join("\n")
}

#[test]
fn arrays_and_scopes_of_spans_that_php_prints_have_all_of_them() {
    let start = "1700000000000000000";
    let later = "1700000000100000000";
    let [child, root] = [php("child", "b2", "b1", later, 4), php("root", "b1", "", start, 4)];
    let scope = |spans: &str| {
        format!(
            "{{\n    \"resource\": {{\n        \"attributes\": {{\n            \"host.name\": \"h\"\n        }}\n    }},\n    \
             \"scope\": {{\n        \"name\": \"lib\",\n        \"spans\": [\n{spans}\n        ]\n    }}\n}}\n"
        )
    };
    let of_scope = scope(&[php("child", "b2", "b1", later, 12), php("root", "b1", "", start, 12)].join(",\n"));
    for text in [
        format!("Starting\n[\n{child}\n]\n[\n{root}\n]\n"),
        format!("Starting\n[\n{child},\n{root}\n]\n"),
        format!("Starting\n{of_scope}"),
    ] {
        assert_eq!(format_of(text.as_bytes()), Some("OpenTelemetry JSON"), "{text}");
        let reading = read(&text);
        assert_eq!(reading.lost(), [(Loss::IgnoredMetadata, 1)], "{text}");
        let of = |name: &str| reading.events.iter().find(|event| event.name == name).expect("an event");
        let (child, root) = (of("child"), of("root"));
        assert_eq!((root.ts_ns, root.value, &root.track), (1_700_000_000_000_000_000, 500_000_000, &child.track));
        let scope = if text.contains("scope") { r#""scope":"lib","# } else { "" };
        let parent = r#""parent_span_id":"b1","#;
        let args = format!(r#"{{{scope}"kind":"SERVER","trace_id":"a1","span_id":"b2",{parent}"a":1}}"#);
        assert_eq!(child.args, args);
        assert_eq!(of("ev").ts_ns, 1_700_000_000_100_000_005);
        let is_shop = |fact: &Metadata| matches!(fact, Metadata::ProcessName { name, .. } if name.starts_with("shop"));
        assert!(reading.metadata.iter().any(is_shop));
    }
    // A span without a time, and an array of something else.
    let reading = read(&format!("[\n{child},\n{}\n]\n[\n  1\n]\n", php("x", "b3", "", "\"soon\"", 4)));
    assert_eq!(reading.lost(), [(Loss::BadRecord, 1), (Loss::IgnoredMetadata, 3)]);
}

#[test]
fn a_span_that_node_abbreviates_is_kept_and_what_is_missing_is_counted() {
    for (attributes, expected, omitted) in [
        ("l: 'xx'... 2000 more characters", r#""l":"xx... 2000 more characters""#, 1),
        ("b: [\n      0, 1,\n      ... 50 more items\n    ]", r#""b":[0,1,"... 50 more items"]"#, 50),
        ("a: [Array], o: [Object]", r#""a":"[Array]","o":"[Object]""#, 2),
        (r"e: '\x1B[31m\x00\\'", r#""e":"\u001b[31m\u0000\\""#, 0),
        ("n: NaN, i: -Infinity, z: -0", r#""n":"NaN","i":"-Infinity","z":-0"#, 0),
    ] {
        let reading = read(&node(attributes, "[]"));
        let links = r#""links":[{"trace_id":"f0","span_id":"e1","attributes":{"l":1}}]}"#;
        let args = &reading.events[0].args;
        assert!(args.ends_with(&format!("{expected},{links}")), "{args}");
        assert!(args.contains(r#""status":"ERROR","message":"bad","trace_id""#), "{args}");
        let expected = if omitted > 0 { vec![(Loss::RecorderLost, omitted)] } else { vec![] };
        assert_eq!(reading.lost(), expected, "{attributes}");
    }
    let events = "[\n    { name: 'e', attributes: {}, time: [ 1795627259, 5 ] },\n    \
                  { name: 'no time', attributes: {} },\n    ... 10 more items\n  ]";
    let reading = read(&node("", events));
    assert_eq!(reading.events.len(), 2, "the span and an event");
    assert_eq!(reading.lost(), [(Loss::BadTime, 1), (Loss::RecorderLost, 10)]);
}

#[test]
fn an_absurd_number_of_omitted_elements_is_counted_at_once() {
    let items = format!("a: [ 1, ... {} more items, ... 5 more items ]", u64::MAX);
    assert_eq!(read(&node(&items, "[]")).lost(), [(Loss::RecorderLost, u64::MAX)]);
    let kind = node("", "[]").replace("kind: 0", &format!("kind: {}", u64::MAX));
    assert_eq!(read(&kind).events.len(), 1);
}

#[test]
fn objects_of_the_program_before_between_and_after_spans_are_notes() {
    let log = "{\"level\":\"info\",\"trace_id\":\"1\",\"msg\":\"x\"}\n";
    for span in [node("", "[]"), python(), python().replace(['\n', '\t'], "") + "\n"] {
        for (noise, lines) in [(log, 1), ("{ weird\n}\n", 2), ("{ weird\n", 1), ("{}\n", 1), ("plain\n", 1)] {
            let text = format!("{noise}{span}{noise}{span}{noise}");
            assert_eq!(format_of(text.as_bytes()), Some("OpenTelemetry JSON"), "{noise}");
            let reading = read(&text);
            assert_eq!(reading.events.len(), 2, "{noise}");
            assert_eq!(reading.lost(), [(Loss::IgnoredMetadata, 3 * lines)], "{noise}");
        }
        // Damage in a span is a loss.
        let (start, rest) = span.split_at(span.len() - 30);
        let reading = read(&format!("{span}{start}\n{span}"));
        assert_eq!((reading.events.len(), reading.losses.total()), (2, 1), "{rest}");
        assert_eq!(reading.lost(), [(Loss::BadRecord, 1)]);
        assert_eq!(read(&format!("{span}{start}")).lost(), [(Loss::Truncated, 1)]);
    }
    assert_eq!(format_of(log.repeat(3).as_bytes()), Some("Chrome JSON"), "logs alone are no spans");
}

#[test]
fn the_description_and_links_of_spans_of_python_are_arguments() {
    let reading = read(&python());
    let args = &reading.events[0].args;
    assert!(reading.failed.contains(&reading.events[0].name), "its status is an error");
    assert!(args.contains(r#""status":"ERROR","message":"no","trace_id":"1","span_id":"2","n":"NaN""#), "{args}");
    assert!(args.ends_with(r#""links":[{"trace_id":"f0","span_id":"e1","attributes":{}}]}"#), "{args}");
}

#[test]
fn events_links_and_attributes_of_another_type_are_counted() {
    let python =
        python().replace("\"events\": []", "\"events\": [7, \"x\"]").replace("\"links\": [", "\"links\": [null,");
    let go = "{\"Name\":\"g\",\"SpanContext\":{\"TraceID\":\"01\",\"SpanID\":\"02\"},\
         \"StartTime\":\"2026-11-25T16:48:10.8Z\",\"EndTime\":\"2026-11-25T16:48:10.9Z\",\
         \"Attributes\":[{\"Key\":\"a\",\"Value\":{\"Type\":\"INT64\",\"Value\":1}},{\"Key\":\"b\"},3]}\n";
    for (text, bad) in [(&*python, 3), (go, 2)] {
        assert_eq!(read(text).lost(), [(Loss::BadRecord, bad)], "{text}");
    }
}

#[test]
fn colours_of_values_change_nothing() {
    let plain = node("a: 1, b: 'x'", "[]");
    let coloured = plain.replace('\'', "\u{1b}[32m'\u{1b}[39m").replace("undefined", "\u{1b}[1;90mundefined\u{1b}[39m");
    assert_ne!(plain, coloured);
    let (expected, reading) = (read(&plain), read(&format!("{coloured}\u{1b}[2K plain\n")));
    assert_eq!(reading.events, expected.events);
    assert_eq!(reading.lost(), [(Loss::IgnoredMetadata, 1)]);
}

#[test]
fn a_span_whose_end_cannot_be_read_is_unfinished_and_counted() {
    let python = |end: &str| python().replace("\"2026-11-25T16:48:10.9Z\"", end);
    let go = |end: &str| {
        format!(
            "{{\n\t\"Name\": \"g\",\n\t\"SpanContext\": {{\n\t\t\"TraceID\": \"a1\",\n\t\t\"SpanID\": \"b2\"\n\t}},\n\t\
             \"StartTime\": \"2026-11-25T16:48:10.8Z\",\n\t\"EndTime\": {end}\n}}\n"
        )
    };
    for (text, flags, lost) in [
        (python("\"2026-11-25T16:48:10.9Z\""), EventFlags::NONE, vec![]),
        (python("null"), EventFlags::UNFINISHED, vec![]),
        (python("\"soon\""), EventFlags::UNFINISHED, vec![(Loss::BadNumber, 1)]),
        (go("\"2026-11-25T16:48:10.9Z\""), EventFlags::NONE, vec![]),
        (go("\"0001-01-01T00:00:00Z\""), EventFlags::UNFINISHED, vec![]),
        (go("7"), EventFlags::UNFINISHED, vec![(Loss::BadNumber, 1)]),
    ] {
        let reading = read(&text);
        assert_eq!((reading.events[0].flags, reading.lost()), (flags, lost), "{text}");
    }
}

#[test]
fn the_attributes_of_a_resource_are_those_of_its_spans() {
    let python = python().replacen("\"links\"", "\"resource\": {\"attributes\": {RESOURCE}},\n    \"links\"", 1);
    let python = |resource: &str| python.replace("RESOURCE", resource);
    let node = |resource: &str| node("", "[]").replace("attributes: {} }", &format!("attributes: {{ {resource} }} }}"));
    let go = |resource: &str| {
        let pairs = resource.split(", ").map(|pair| {
            let (key, value) = pair.split_once(": ").expect("a pair");
            format!("{{\"Key\":{key},\"Value\":{{\"Type\":\"STRING\",\"Value\":{value}}}}}")
        });
        format!(
            "{{\"Name\":\"g\",\"SpanContext\":{{\"TraceID\":\"01\",\"SpanID\":\"02\"}},\
             \"StartTime\":\"2026-11-25T16:48:10.8Z\",\"EndTime\":\"2026-11-25T16:48:10.9Z\",\"Resource\":[{}]}}\n",
            pairs.collect::<Vec<_>>().join(",")
        )
    };
    let resource =
        |host: &str| format!(r#""service.name": "shop é", "host.name": "{host}", "service.instance.id": "i""#);
    for text in [python(&resource("h")), node(&resource("h")), go(&resource("h"))] {
        let reading = read(&text);
        let args = &reading.events[0].args;
        assert!(args.ends_with(r#","resource":{"host.name":"h","service.instance.id":"i"}}"#), "{args}");
        assert!(
            reading.metadata.iter().any(|metadata| matches!(metadata,
            Metadata::ProcessName { name, .. } if name.starts_with("shop é"))),
            "{:?}",
            reading.metadata
        );
        assert_eq!(reading.lost(), []);
    }
    // Another resource does not inherit these.
    let reading = read(&[python(&resource("h")), python(&resource("g")), python(r#""service.name": "b""#)].concat());
    let hosts = reading.events.iter().map(|event| event.args.contains("\"g\"") || event.args.contains("\"resource\""));
    assert_eq!(hosts.collect::<Vec<_>>(), [true, true, false]);
}
