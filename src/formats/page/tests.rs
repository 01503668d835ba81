//! Tests of whole pages.

use crate::formats::ReadError;
use crate::formats::testing::{Reading, gzip, read, read_bytes};
use crate::model::{EventKind, Id, Loss, TrackKind};

const JSON: &str = r#"{"traceEvents":[{"name":"a","ph":"X","ts":1,"dur":5,"pid":7,"tid":7},{"ph":"P","pid":7,"tid":7,"ts":2,"sf":1}],"stackFrames":{"1":{"name":"f"}}}"#;
const EVENT: &str = r#"{"name":"a","ph":"X","ts":1,"dur":5,"pid":7,"tid":7}"#;
const TEXT: &str = "# tracer: nop\na-1   (    1) [000] ...1 5.000001: my_event: a=1";

fn page(parts: &[String]) -> String {
    format!("<!DOCTYPE html>\n<html><script>var x = 1;</script>\n{}</html>\n", parts.concat())
}

fn systrace(text: &str) -> String {
    format!("<script class=\"trace-data\" type=\"application/text\">\n{text}\n</script>\n")
}

/// The part that trace2html writes: compressed, and in base64.
fn viewer_data(text: &str, kind: &str) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut base64 = String::new();
    for bytes in gzip(text.as_bytes()).chunks(3) {
        let bits = bytes.iter().chain(&[0, 0]).take(3).fold(0, |bits, &byte| bits << 8 | usize::from(byte));
        let digit = |at: usize| if at <= bytes.len() { DIGITS[bits >> (18 - 6 * at) & 63] } else { b'=' };
        base64.extend((0..4).map(|at| char::from(digit(at))));
    }
    format!("<script id=\"viewer-data\" type=\"{kind}\">\n{base64}\n</script>\n")
}

/// Returns time, kind and name of the events on thread tracks.
fn threads(reading: &Reading) -> Vec<(i64, EventKind, &str)> {
    let of_threads = reading.events.iter().filter(|event| event.track.kind == TrackKind::Thread);
    of_threads.map(|event| (event.ts_ns, event.kind, event.name.as_str())).collect()
}

#[test]
fn the_json_of_a_page_is_read_as_it_is_alone() {
    let alone = read(JSON);
    assert_eq!(alone.events.len(), 2);
    for part in
        [viewer_data(JSON, "application/json"), systrace(JSON), viewer_data(&format!("[{EVENT}]"), "text/plain")]
    {
        let reading = read(&page(&[part]));
        assert_eq!(reading.events[0], alone.events[0]);
        assert_eq!(reading.lost(), []);
    }
    let reading = read(&page(&[viewer_data(JSON, "application/json")]));
    assert_eq!(reading, alone, "with its stacks");
    let text = read(&page(&[viewer_data(TEXT, "text/plain")]));
    assert_eq!((text.names(), text.lost()), (vec!["my_event"], vec![]));
    let packed = gzip(page(&[viewer_data(JSON, "application/json")]).as_bytes());
    assert_eq!(read_bytes(&packed).expect("a trace"), alone, "a compressed page");
}

#[test]
fn json_and_text_of_a_page_are_read_each_with_its_processes() {
    let (json, text) = (systrace(JSON), systrace(TEXT));
    let clock = systrace("{\"traceEvents\":[{\"ph\":\"c\",\"ts\":1}]}");
    let tasks = systrace("USER PID PPID\nroot 100 1");
    for (parts, part) in [([&json, &text, &clock, &tasks], 1), ([&text, &clock, &tasks, &json], 4)] {
        let reading = read(&page(&parts.map(Clone::clone)));
        let found: Vec<_> = reading.events.iter().map(|event| (&*event.name, event.track.pid.clone())).collect();
        let owner = Id::Text(format!("7 in part {part}").into());
        let expected = [("a", owner.clone()), ("", owner), ("my_event", Id::Number(1))];
        assert_eq!(found, expected);
        assert!(reading.lost().iter().all(|(loss, _)| *loss == Loss::IgnoredMetadata), "{:?}", reading.lost());
        assert!(reading.losses.count(Loss::IgnoredMetadata) >= 1);
    }
}

#[test]
fn a_damaged_part_costs_itself_only() {
    let whole = viewer_data(JSON, "application/json");
    let damaged = whole.replacen("H4sI", "H4sI!", 1);
    let error = read_bytes(page(std::slice::from_ref(&damaged)).as_bytes()).expect_err("no trace").to_string();
    assert!(error.ends_with("expected base64, found other characters"), "{error}");
    let reading = read(&page(&[systrace(TEXT), damaged, whole.clone()]));
    assert_eq!((reading.names(), reading.lost()), (vec!["a", "", "my_event"], vec![(Loss::UnreadableMember, 1)]));
    // A page that was cut ends within its part.
    let cut = page(&[systrace(JSON)]);
    let reading = read(&cut[..cut.find("stackFrames").expect("there")]);
    assert_eq!((reading.events.len(), reading.losses.count(Loss::Truncated)), (2, 1));
    let other = read(&page(&[systrace(TEXT), viewer_data("no trace", "text/plain")]));
    assert_eq!((other.names(), other.lost()), (vec!["my_event"], vec![(Loss::BadRecord, 1)]));
}

#[test]
fn a_part_of_one_long_line_does_not_count_as_a_line_of_text() {
    let long =
        JSON.replace("\"name\":\"a\"", &format!("\"name\":\"a\",\"args\":{{\"x\":\"{}\"}}", "y".repeat(3 << 20)));
    let reading = read(&page(&[systrace(&long), systrace(TEXT)]));
    assert_eq!((reading.names(), reading.lost()), (vec!["a", "", "my_event"], vec![]));
}

#[test]
fn losses_and_errors_of_a_part_have_positions_of_the_page() {
    let before = "x".repeat(5000);
    let bad = format!(r#"{{"traceEvents":[{EVENT},{{"name":"b","ph":"X","ts":"?","dur":5}}]}}"#);
    for part in [systrace(&bad), viewer_data(&bad, "application/json")] {
        let reading = read(&page(&[before.clone(), part]));
        let files: Vec<_> = reading.losses.iter().map(|lost| lost.file).collect();
        assert_eq!(files, [Some("part 1")], "the position is that in the part");
    }
    let offset = |page: &str| match read_bytes(page.as_bytes()) {
        Err(ReadError::Malformed { offset, .. }) => offset as usize,
        other => panic!("{other:?}"),
    };
    let bad = r#"{"first":{"ph":"X"},"traceEvents":7}"#;
    let plain = page(&[before.clone(), systrace(bad)]);
    assert_eq!(offset(&plain), plain.find(bad).expect("there") + offset(&format!("{bad}\n")));
    // Positions in compressed data have no equivalent in the page.
    let packed = page(&[before.clone(), viewer_data(bad, "application/json")]);
    let content = packed.find("\nH4sI").expect("there");
    assert_eq!(offset(&packed), content);
    let damaged = packed.replacen("H4sI", "H4sI!", 1);
    assert_eq!(offset(&damaged), content);
}

#[test]
fn the_text_of_an_old_page_is_read_beside_json() {
    let quoted = TEXT.replace('\n', "\\n\\\n");
    let old = format!("<script>\nvar linuxPerfData = \"\\\n{quoted}\\n\\\n\";\n</script>\n");
    for parts in [[old.clone(), systrace(JSON)], [systrace(JSON), old]] {
        let reading = read(&page(&parts));
        assert_eq!((reading.names(), reading.lost()), (vec!["a", "", "my_event"], vec![]));
    }
}

#[test]
fn a_page_of_systrace_is_read_inside_of_its_trace_only() {
    let line = "app-7 (5) [000] ...1 1.000001: tracing_mark_write: B|5|draw";
    for end in ["", "\\n\\"] {
        let page = format!(
            "<!DOCTYPE html>\n<html><script>\nvar x-1 [000] 1.0: y: z;\n</script>\n\
             <script class=\"trace-data\" type=\"application/text\">\n# tracer: nop{end}\n{line}{end}\n</script>\n<p>end</p>\n"
        );
        let reading = read(&page);
        assert_eq!(threads(&reading), [(1_000_001_000, EventKind::Begin, "draw")]);
        assert_eq!(reading.lost(), []);
    }
    let page = read_bytes(b"<html>\n<p>no trace</p>\n</html>\n").expect_err("no trace").to_string();
    assert!(page.ends_with("byte 0: expected a trace, found an HTML page without a trace"), "{page}");
    let viewer =
        "<!DOCTYPE html>\n<html>\n<script id=\"viewer-data\" type=\"application/json\">\nx\n</script></html>\n";
    let page = read_bytes(viewer.as_bytes()).expect_err("no trace").to_string();
    assert!(
        page.ends_with("found a page (HTML) of a trace viewer such as trace2html: open the JSON that it was made from"),
        "{page}"
    );
}

#[test]
fn parts_of_a_page_that_are_not_a_kernel_trace_are_notes() {
    let line = |us: u32, text: &str| format!(" app-7  (    5) [003] ...1  1.{us:06}: tracing_mark_write: {text}\n");
    let part = |text: &str| format!("<script class=\"trace-data\" type=\"application/text\">\n{text}</script>\n");
    let trace = format!("# tracer: nop\n{}damage\n{}", line(1, "B|5|draw"), line(3, "E|5"));
    let page = [
        "<!DOCTYPE html>\n<html>\n",
        &part("USER PID CMD\nroot 7 app\n"),
        &part(&trace),
        &part("{\"traceEvents\":[]}\n"),
    ]
    .concat();
    let reading = read(&page);
    assert_eq!(threads(&reading), [(1_000_001_000, EventKind::Begin, "draw"), (1_000_003_000, EventKind::End, "")]);
    assert_eq!(reading.lost(), [(Loss::BadRecord, 1), (Loss::IgnoredMetadata, 3)]);
    // The form of the first version of systrace.
    let quoted = trace.replace("damage\n", "").replace('\n', "\\n\\\n");
    let old = read(&format!("<!DOCTYPE HTML>\n<script>\nvar linuxPerfData = \"\\\n{quoted}\";\n</script>\n"));
    assert_eq!((threads(&old), old.lost()), (threads(&reading), vec![]));
    let unquoted = trace.replace("damage\n", "");
    for end in ["", "\\n\\\n         "] {
        let quoted = unquoted.trim_end().replace('\n', "\\n\\\n") + end;
        let old = read(&format!("<!DOCTYPE HTML>\n<script>\nvar linuxPerfData = \"\\\n{quoted}\\n\";\n</script>\n"));
        assert_eq!((threads(&old), old.lost()), (threads(&reading), vec![]));
    }
}
