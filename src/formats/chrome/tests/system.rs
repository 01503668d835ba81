//! The kernel trace in a document equals the same text alone, beside the events of the document.

use super::*;
use crate::formats::testing::read_live;
use crate::model::SourcePos;

const TEXT: &str = "# tracer: nop\n#\n  sh-10    (   10) [000] ...1  1.000000: tracing_mark_write: B|10|h\u{e9} \"x\"\\y\n\
    sh-10    (   10) [000] ...1  1.000500: tracing_mark_write: E|10\n\
    sh-10    (   10) [000] d..2  2.000000: sched_switch: prev_comm=sh prev_pid=10 prev_prio=120 prev_state=S ==> next_comm=a\tb next_pid=11 next_prio=120\n\
    a-11    (   11) [000] d..2  2.100000: sched_switch: prev_comm=a prev_pid=11 prev_prio=120 prev_state=S ==> next_comm=swapper next_pid=0 next_prio=120\n";

fn document(text: &str) -> String {
    let event = r#"{"ph":"X","pid":1,"tid":1,"ts":1500000,"dur":1,"name":"own"}"#;
    let quoted = serde_json::to_string(text).expect("text").replace('\u{e9}', "\\u00e9").replace('x', "\\u0078");
    format!(r#"{{"traceEvents":[{event}],"systemTraceEvents":{quoted},"otherData":{{}}}}"#)
}

#[test]
fn the_kernels_trace_is_read_as_it_is_alone_however_the_document_is_cut() {
    let (whole, alone) = (read(&document(TEXT)), read(TEXT));
    assert!(alone.events.len() > 4 && alone.lost().is_empty());
    let kernels: Vec<_> = whole.events.iter().filter(|event| event.name != "own").cloned().collect();
    assert_eq!(kernels, alone.events);
    assert_eq!((whole.events.len(), whole.lost()), (alone.events.len() + 1, vec![]));
    for piece_bytes in [1, 2, 3, 5, 64, 1000] {
        assert_eq!(read_in_pieces(document(TEXT).as_bytes(), piece_bytes).expect("a trace"), whole, "{piece_bytes}");
    }
    assert_eq!(read_live(document(TEXT).as_bytes(), &[1, 70, 13]).expect("a stream"), whole);
    // Before the events, and without any.
    let alone_in_document = format!(r#"{{"systemTraceEvents":{}}}"#, serde_json::to_string(TEXT).expect("text"));
    assert_eq!(read(&alone_in_document).events, alone.events);
    assert_eq!(read(r#"{"traceEvents":[],"systemTraceEvents":""}"#), Reading::default());
    assert_eq!(read(r##"{"systemTraceEvents":"# tracer: nop\n#\n"}"##), Reading::default());
}

#[test]
fn a_pair_of_escaped_surrogates_is_one_character_and_a_half_is_replaced() {
    for (meant, escaped) in [
        ("\u{1f600}", r"\ud83d\uDE00"),
        ("\u{fffd}x\u{fffd}", r"\ud83dx\ude00"),
        ("\u{fffd}\u{1f600}\u{fffd} ", r"\ud83d\ud83d\ude00\ude00\b"),
        ("\u{fffd}\u{e9}", r"\ud83d\u00e9"),
    ] {
        let expected = read(&TEXT.replace('\u{e9}', meant));
        let quoted = serde_json::to_string(TEXT).expect("text").replace('\u{e9}', escaped);
        let text = format!(r#"{{"systemTraceEvents":{quoted}}}"#);
        assert_eq!((&read(&text).events, read(&text).lost()), (&expected.events, vec![]), "{escaped}");
        for piece_bytes in [1, 3, 5] {
            let reading = read_in_pieces(text.as_bytes(), piece_bytes).expect("a trace");
            assert_eq!(reading.events, expected.events, "{escaped} {piece_bytes}");
        }
    }
}

#[test]
fn a_string_that_is_cut_anywhere_keeps_the_lines_before_the_cut() {
    let text = document(TEXT);
    let (start, end) = (text.find("# tracer").expect("a string"), text.find(",\"otherData").expect("its end"));
    let mut most = 0;
    for len in start..end {
        let part = read_bytes(&text.as_bytes()[..len]).expect("a part");
        assert_eq!(part.losses.count(Loss::Truncated), 1, "{len}: {:?}", part.lost());
        assert!(part.events.len() >= most.min(1), "{len}");
        most = most.max(part.events.len());
    }
    assert!(most > 4, "{most}");
}

#[test]
fn a_string_that_is_not_a_trace_and_other_values_are_notes() {
    let with = |value: &str| read(&format!(r#"{{"traceEvents":[{{"ph":"i","ts":9}}],"systemTraceEvents":{value}}}"#));
    let text = with(r#""no\ntrace \ud83d\u12""#);
    assert_eq!(text.lost(), [(Loss::IgnoredMetadata, 1)]);
    let start = r#"{"traceEvents":[{"ph":"i","ts":9}],"systemTraceEvents":""#.len() as u64;
    assert_eq!(text.losses.iter().next().map(|lost| lost.first), Some(SourcePos::Offset(start)));
    let damaged = r#""no trace\n a-1 [000] 1.5: sched_waking: comm=b pid=2 prio=120 target_cpu=000\n""#;
    assert_eq!(with(damaged).lost(), [(Loss::BadRecord, 1)]);
    assert_eq!(with(r#"{"type":"fuchsia","events":[]}"#).lost(), [(Loss::IgnoredPhase, 1)]);
}
