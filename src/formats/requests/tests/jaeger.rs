//! Tests of the arguments of Jaeger's spans, and of its empty results.

use crate::formats::testing::{format_of, read, read_bytes};
use crate::model::{Loss, Metadata};

/// Returns the result of Jaeger's API with a span that has these additional members, in a process with these tags.
fn result(members: &str, tags: &str) -> String {
    let span = format!(
        r#"{{"traceID":"t","spanID":"s","operationName":"op","startTime":1700000000000000,"duration":1,{members},"processID":"p"}}"#
    );
    format!(
        r#"{{"data":[{{"traceID":"t","spans":[{span}],"processes":{{"p":{{"serviceName":"svc","tags":{tags}}}}}}}],"total":0}}"#
    )
}

fn args(members: &str, tags: &str) -> String {
    let reading = read(&result(members, tags));
    assert_eq!(reading.lost(), [], "{members} {tags}");
    reading.events[0].args.clone()
}

#[test]
fn each_value_of_a_repeated_key_is_kept() {
    let tag = |key: &str, value: &str| format!(r#"{{"key":"{key}","type":"string","value":{value}}}"#);
    let tags = format!("[{},{},{}]", tag("k", "\"1\""), tag("j", "true"), tag("k", "2"));
    let values = r#""k":["1",2],"j":true"#;
    let ids = r#"{"trace_id":"t","span_id":"s""#;
    let members = format!(r#""tags":{tags},"warnings":["w1","w2"]"#);
    assert_eq!(args(&members, "[]"), format!(r#"{ids},{values},"warning":["w1","w2"]}}"#));
    assert_eq!(args(r#""warnings":["w1"]"#, &tags), format!(r#"{ids},"warning":"w1","process":{{{values}}}}}"#));
    let log = format!(r#""logs":[{{"timestamp":1700000000000000,"fields":{tags}}}]"#);
    let reading = read(&result(&log, "[]"));
    assert_eq!(reading.events[1].args, format!("{{{values}}}"));
    // A tag with the name of an id does not hide it.
    let members = format!(r#""tags":[{}]"#, tag("span_id", "7"));
    assert_eq!(args(&members, "null"), r#"{"trace_id":"t","span_id":["s",7]}"#);
    assert_eq!(args(r#""tags":null"#, "{\"other\":1}"), format!("{ids}}}"), "the service is known all the same");
}

#[test]
fn references_beside_the_parent_are_links() {
    let reference = |kind: &str, trace: &str, span: &str| {
        format!(r#"{{"refType":"{kind}","traceID":"{trace}","spanID":"{span}"}}"#)
    };
    let link = |kind: &str, trace: &str, span: &str| {
        format!(r#"{{"trace_id":"{trace}","span_id":"{span}","attributes":{{"opentracing.ref_type":"{kind}"}}}}"#)
    };
    let [child, follows, other] = [("CHILD_OF", "t", "1"), ("FOLLOWS_FROM", "t", "3"), ("FOLLOWS_FROM", "u", "4")]
        .map(|(kind, trace, span)| reference(kind, trace, span));
    let (same, far) = (link("follows_from", "t", "3"), link("follows_from", "u", "4"));
    let ids = r#"{"trace_id":"t","span_id":"s","parent_span_id":"#;
    for (references, expected) in [
        (child.clone(), format!(r#"{ids}"1"}}"#)),
        (format!("{child},{follows},{other}"), format!(r#"{ids}"1","links":[{same},{far}]}}"#)),
        (format!("{follows},{child}"), format!(r#"{ids}"1","links":[{same}]}}"#)),
        // It places the span, and its trace is only in the link.
        (other.clone(), format!(r#"{ids}"4","links":[{far}]}}"#)),
    ] {
        assert_eq!(args(&format!(r#""references":[{references}]"#), "[]"), expected, "{references}");
    }
}

#[test]
fn a_result_without_traces_is_a_trace_without_events() {
    let result = |data: &str, errors: &str| {
        format!(r#"{{"data": {data}, "total": 0, "limit": 0, "offset": 0, "errors": {errors}}}"#)
    };
    for errors in ["null", "[]"] {
        let text = result("[]", errors);
        assert_eq!(format_of(text.as_bytes()), Some("Jaeger"));
        let reading = read(&text);
        assert_eq!((reading.events.len(), reading.lost()), (0, vec![]), "{text}");
    }
    for data in ["[]", "null"] {
        let answer = result(data, r#"[{"code":404,"msg":"trace not found"}]"#);
        let error = read_bytes(answer.as_bytes()).expect_err("no trace").to_string();
        assert!(error.contains("an answer of its API without one: trace not found"), "{error}");
    }
    for other in [result(r#"["service"]"#, "null"), r#"{"data":[]}"#.to_owned()] {
        assert_ne!(format_of(other.as_bytes()), Some("Jaeger"), "{other}");
    }
}

#[test]
fn a_table_of_processes_beyond_the_limit_costs_only_the_process_that_is() {
    let long = "x".repeat(17 << 20);
    let process = |id: &str, tag: &str| {
        format!(r#""{id}":{{"serviceName":"service {id}","tags":[{{"key":"k","value":"{tag}"}}]}}"#)
    };
    let span = |id: &str| {
        format!(
            r#"{{"traceID":"t","spanID":"{id}","operationName":"op","startTime":1,"duration":1,"processID":"{id}"}}"#
        )
    };
    let ids = ["a", "b\\u0021", "c"];
    let spans = ids.map(span).join(",");
    let processes = [process(ids[0], "1"), process(ids[1], "2"), process(ids[2], &long)].join(",");
    let reading = read(&format!(r#"{{"data":[{{"traceID":"t","spans":[{spans}],"processes":{{{processes}}}}}]}}"#));
    let names = reading.metadata.iter().filter_map(|fact| match fact {
        Metadata::ProcessName { name, .. } => Some(&**name),
        _ => None,
    });
    assert_eq!(names.collect::<Vec<_>>(), ["service a", "service b!", "unknown service"]);
    assert_eq!(reading.lost(), [(Loss::OverLimit, 1)]);
}

#[test]
fn tags_that_elasticsearch_stores_as_fields_are_tags() {
    let span = |tags: &str, process_tags: &str| {
        format!(
            r#"{{"traceID":"t","spanID":"a","operationName":"op","startTime":1,"duration":1,{tags},"process":{{"serviceName":"s",{process_tags}}}}}"#
        )
    };
    let listed = span(
        r#""tags":[{"key":"error","value":true},{"key":"http.method","value":"GET"}]"#,
        r#""tags":[{"key":"host.name","value":"h"}]"#,
    );
    let fields = span(r#""tags":[],"tag":{"error":true,"http@method":"GET"}"#, r#""tag":{"host@name":"h"}"#);
    let hit = |span: &str| format!(r#"{{"_index":"jaeger-span","_source":{span}}}"#);
    let reading = read(&hit(&fields));
    assert_eq!((reading.events.len(), reading.lost()), (1, vec![]));
    assert!(reading.events[0].args.contains(r#""http.method":"GET""#), "{}", reading.events[0].args);
    assert_eq!(reading.events, read(&hit(&listed)).events);
}
