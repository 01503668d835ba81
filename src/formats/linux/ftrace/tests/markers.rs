//! Tests of the texts that programs write into `trace_marker`, as Chromium and `HiTrace` do.

use crate::formats::testing::read;
use crate::model::{EventKind, Loss};

#[test]
fn markers_of_chromium_have_arguments_and_categories() {
    let line = |text: &str| format!("  CrMain-99 (   99) [000] ...1  100.000400: tracing_mark_write: {text}\n");
    let texts = [
        "B|99|RunTask|src=a;line=5|toplevel",
        "C|99|mem-used|1234|v8",
        "B|99|Idle||toplevel",
        "B|99|a|b|c d",
        "C|99|x|y",
        "C|99|heap|7|NaN",
        "C|99|heap|7|",
        "C|99|heap|7|a b",
        "C|99|heap|7|a=b",
    ];
    let reading = read(&texts.map(line).concat());
    let found: Vec<_> =
        reading.events.iter().map(|event| (&*event.name, event.category.as_deref(), &*event.args)).collect();
    let expected = [
        ("RunTask", Some("toplevel"), r#"{"src":"a","line":"5"}"#),
        ("mem-used", Some("v8"), ""),
        ("Idle", Some("toplevel"), ""),
        ("a|b|c d", None, ""),
    ];
    assert_eq!((found, reading.lost()), (expected.to_vec(), vec![(Loss::BadCounter, 5)]));
    assert_eq!(f64::from_bits(reading.events[1].value), 1234.0);
}

#[test]
fn markers_of_hitrace_have_levels_categories_arguments_and_ids_in_front_of_them() {
    let line = |text: &str| format!("  <...>-99 (-------) [000] ....  100.000400: tracing_mark_write: {text}\n");
    let texts = [
        "S|99|H:load|1001|M62|network|url=a,size=5",
        "F|99|H:load|1001|M62",
        "C|99|H:open files|3|D05",
        "B|99|H:draw|M62|key=value",
        "E|99|M62",
        // Without levels, as in earlier versions.
        "S|99|H:old task 123",
        "F|99|H:old task 123",
        "C|99|H:old count 500",
        "B|99|H:old|Mx|y",
        "E|99|",
    ];
    let reading = read(&texts.map(line).concat());
    let found: Vec<_> = reading
        .events
        .iter()
        .map(|event| (event.kind, &*event.name, event.category.as_deref(), &*event.args))
        .collect();
    let (begin, end, counter) = (EventKind::Begin, EventKind::End, EventKind::Counter);
    let (async_begin, async_end) = (EventKind::AsyncBegin, EventKind::AsyncEnd);
    let expected = [
        (async_begin, "H:load", Some("network"), r#"{"url":"a","size":"5"}"#),
        (async_end, "H:load", None, ""),
        (counter, "H:open files", None, ""),
        (begin, "H:draw", None, r#"{"key":"value"}"#),
        (end, "", None, ""),
        (async_begin, "H:old task", None, ""),
        (async_end, "H:old task", None, ""),
        (counter, "H:old count", None, ""),
        (begin, "H:old|Mx|y", None, ""),
        (end, "", None, ""),
    ];
    assert_eq!((found, reading.lost()), (expected.to_vec(), vec![]));
    let ids: Vec<u64> = reading.events.iter().map(|event| event.value).collect();
    assert_eq!((ids[0], ids[5]), (ids[1], ids[6]), "the end has the id of its begin");
    assert_eq!([ids[2], ids[7]].map(f64::from_bits), [3.0, 500.0]);
}

#[test]
fn the_process_of_a_marker_is_that_of_its_line_whatever_id_a_container_gives_it() {
    let line = |us: u32, text: &str| format!("  app-100 (   50) [000] ...1  1.{us:06}: {text}\n");
    let texts =
        ["tracing_mark_write: B|2|frame", "other: x=1", "tracing_mark_write: E|2", "tracing_mark_write: I|2|end"];
    let lines: String = (1..).zip(texts).map(|(us, text)| line(us, text)).collect();
    let reading = read(&lines);
    let pids: Vec<String> = reading.events.iter().map(|event| event.track.pid.to_string()).collect();
    assert_eq!((pids, reading.lost()), (vec!["50".to_owned(); 4], vec![]));
    // Without one, it is that of the marker.
    let reading = read(&lines.replace("   50", "-----"));
    assert!(reading.events.iter().all(|event| event.track.pid == crate::model::Id::Number(2)));
}
