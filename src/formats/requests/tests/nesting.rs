//! Tests of calls below their parents, and of phases within their request.

use super::{shown, spans};
use crate::formats::testing::read;
use crate::model::{EventKind, Id, Loss};

#[test]
fn calls_of_playwright_are_below_their_parents_and_its_output_is_shown() {
    let header = r#"{"version":10,"type":"context-options","origin":"testRunner","playwrightVersion":"1","options":{},"wallTime":1700000000000,"monotonicTime":0}"#;
    let before = |id: &str, parent: &str, start: u32| {
        format!(r#"{{"type":"before","callId":"{id}","parentId":{parent},"title":"{id}","startTime":{start}}}"#)
    };
    let after = |id: &str, end: u32| format!(r#"{{"type":"after","callId":"{id}","endTime":{end}}}"#);
    let lines = [
        header.to_owned(),
        before("hooks", "null", 0),
        before("fixture", r#""hooks""#, 1),
        before("context", r#""fixture""#, 2),
        after("context", 3),
        after("fixture", 4),
        after("hooks", 5),
        before("outer", "null", 6),
        before("GET", r#""outer""#, 7),
        before("POST", r#""outer""#, 8),
        r#"{"type":"stdout","timestamp":9,"text":"hello\n"}"#.to_owned(),
        r#"{"type":"stderr","timestamp":10,"base64":"AAE="}"#.to_owned(),
        r#"{"type":"stderr","timestamp":10,"base64":"ZXJyCg=="}"#.to_owned(),
        after("GET", 11),
        after("POST", 12),
        after("outer", 13),
        before("alone", r#""elsewhere""#, 14),
        after("alone", 15),
        r#"{"type":"error","message":"no"}"#.to_owned(),
        r#"{"type":"next","a":1}"#.to_owned(),
    ];
    let reading = read(&lines.join("\n"));
    let row = |name: &str| shown(&reading, name).track.tid.to_string();
    let rows = ["hooks", "fixture", "context", "outer", "GET", "alone", "POST"].map(row);
    assert_eq!(rows, ["1", "1", "1", "1", "1", "1", "2"], "overlapping calls do not nest");
    let arrows = reading.events.iter().filter(|event| event.kind == EventKind::FlowEnd);
    assert_eq!(arrows.map(|arrow| &*arrow.name).collect::<Vec<_>>(), ["POST"]);
    assert_eq!(shown(&reading, "hello").args, r#"{"type":"stdout"}"#);
    assert_eq!(shown(&reading, "stderr").args, r#"{"type":"stderr","base64":"AAE="}"#);
    assert_eq!(shown(&reading, "err").args, r#"{"type":"stderr"}"#);
    assert_eq!(shown(&reading, "no").args, r#"{"type":"test error"}"#);
    assert_eq!(reading.lost(), [(Loss::IgnoredPacket, 1)]);
    assert_eq!(read(header).lost(), [], "a trace without events");
}

#[test]
fn a_child_with_the_times_of_its_parent_is_below_it_in_any_order() {
    let span = |id: &str, parent: &str| {
        format!(
            r#"{{"traceId":"1","id":"{id}",{parent}"name":"{id}","timestamp":10,"duration":9,"localEndpoint":{{"serviceName":"s"}}}}"#
        )
    };
    let spans = [span("c", r#""parentId":"b","#), span("a", ""), span("b", r#""parentId":"a","#)];
    for order in [[0, 1, 2], [1, 2, 0], [2, 0, 1], [0, 2, 1]] {
        let reading = read(&format!("[{}]", order.map(|index| &*spans[index]).join(",")));
        let shown: Vec<_> = reading.events.iter().map(|event| (event.kind, &*event.name, &event.track.tid)).collect();
        assert_eq!(shown, ["a", "b", "c"].map(|name| (EventKind::Complete, name, &Id::Number(1))), "{order:?}");
    }
}

#[test]
fn a_servers_half_without_that_of_its_client_is_below_the_parent() {
    let span = |id: &str, more: &str, start: u32| {
        format!(
            r#"{{"traceId":"1","id":"{id}","name":"{id} {start}","timestamp":{start},"duration":9,{more},"localEndpoint":{{"serviceName":"s{start}"}}}}"#
        )
    };
    let parent = span("a", r#""kind":"CLIENT""#, 10);
    let client = span("b", r#""kind":"CLIENT","parentId":"a""#, 12);
    let server = span("b", r#""kind":"SERVER","parentId":"a","shared":true"#, 14);
    let orders = [
        (vec![&parent, &server], vec![(10, 14)]),
        (vec![&server, &parent], vec![(10, 14)]),
        (vec![&parent, &client, &server], vec![(10, 12), (12, 14)]),
        (vec![&server, &parent, &client], vec![(10, 12), (12, 14)]),
        (vec![&client, &server], vec![(12, 14)]),
        (vec![&server], vec![]),
    ];
    for (order, expected) in orders {
        let order: Vec<&str> = order.into_iter().map(String::as_str).collect();
        for text in [format!("[{}]", order.join(",")), order.join("\n") + "\n"] {
            let reading = read(&text);
            let of = |kind: EventKind| {
                let flows = reading.events.iter().filter(move |event| event.kind == kind);
                flows.map(|flow| (flow.value, flow.ts_ns / 1000)).collect::<Vec<_>>()
            };
            // Both ends of a flow have the same number.
            let ends = of(EventKind::FlowEnd);
            let end_of = |flow: u64, start: i64| ends.iter().find(|&&(id, end)| id == flow && end > start);
            let flows =
                of(EventKind::FlowStart).into_iter().map(|(id, start)| (start, end_of(id, start).expect("an end").1));
            assert_eq!(flows.collect::<Vec<_>>(), expected, "{text}");
            assert_eq!(reading.lost(), []);
        }
    }
}

#[test]
fn a_request_has_its_total_time_for_any_sum_of_its_phases() {
    let har = |time: &str, timings: &str| {
        let text = format!(
            r#"{{"log":{{"version":"1.2","creator":{{}},"entries":[{{"startedDateTime":0,"time":{time},"request":{{"method":"GET","url":"r"}},"timings":{{{timings}}}}}]}}}}"#
        );
        let args = read(&text).events[0].args.clone();
        (
            spans(&text, 0).into_iter().map(|(start, dur, name)| format!("{name} {start}+{dur}")).collect::<Vec<_>>(),
            args,
        )
    };
    // Playwright's own requests: `send` begins with the request, and contains `connect`.
    let (found, args) =
        har("13.106", r#""send":9.146,"wait":4.064,"receive":0.42,"dns":2,"connect":8.622,"ssl":1,"blocked":-1"#);
    let expected = ["GET r 0+13106", "send 0+9146", "connect 0+8622", "dns 0+2000", "ssl 7622+1000", "wait 9146+3960"];
    assert_eq!(found, expected);
    let phases = r#""dns_ms":2,"connect_ms":8.622,"ssl_ms":1,"send_ms":9.146,"wait_ms":4.064,"receive_ms":0.42}"#;
    assert!(args.ends_with(phases), "{args}");
    for (time, timings, expected) in [
        // Clipped at the end of the request.
        (
            "5",
            r#""connect":3,"send":1,"wait":9"#,
            vec!["GET r 0+5000", "connect 0+3000", "send 3000+1000", "wait 4000+1000"],
        ),
        ("7", r#""wait":5"#, vec!["GET r 0+7000", "wait 0+5000"]),
        // No time.
        ("-1", r#""wait":5"#, vec!["GET r 0+5000", "wait 0+5000"]),
        ("0", r#""wait":5"#, vec!["GET r 0+5000", "wait 0+5000"]),
        ("null", r#""send":0,"wait":null"#, vec!["GET r 0+0"]),
    ] {
        let (found, args) = har(time, timings);
        assert_eq!(found, expected, "{time}");
        assert_eq!(args.contains("_ms"), time == "5", "{args}");
    }
}
