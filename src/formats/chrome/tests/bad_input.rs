//! Damaged, hostile or unrelated input gives an error that names the bytes, or all events outside the damage.

use std::io::Write as _;

use std::path::Path;

use super::*;
use crate::formats::testing::gzip;

fn spans(count: usize) -> Vec<String> {
    (0..count).map(|k| format!(r#"{{"name":"s{k}","ph":"X","ts":{k},"dur":1,"pid":1,"tid":1}}"#)).collect()
}

fn error_of(bytes: &[u8]) -> String {
    let file = file_of(bytes);
    let error = read_path(file.path()).expect_err("no capture").to_string();
    error.replace(&file.path().display().to_string(), "FILE")
}

#[test]
fn other_files_are_refused_with_the_bytes_found() {
    assert_eq!(error_of(b""), "FILE: the file is empty");
    for (bytes, found) in [(&b"\x01\x02\xff"[..], "01 02 ff"), (b"hello", "\"hello\"")] {
        let error = error_of(bytes);
        let (before, known) = error.split_once(". Supported: ").expect("what would have been taken");
        assert_eq!(before, format!("FILE: byte 0: unrecognised file format, found {found}"));
        assert!(known.contains("Perfetto, ") && known.contains(", Chrome JSON"), "{known}");
    }
    assert_eq!(error_of(b"[1,2,3]"), "FILE: byte 1: expected an object for each event, found \"1,2,3]\"");
    assert_eq!(
        error_of(br#"{"a":1,"b":[{"ph":"X"}]}"#),
        "FILE: byte 24: expected an array of events, or an object with the key traceEvents, found an object with the keys a, b"
    );
    assert_eq!(error_of(br#"{"traceEvents":[4]}"#), "FILE: byte 16: expected an object for each event, found \"4]}\"");
    assert_eq!(
        error_of(br#"{"traceEvents":{"a":[]}}"#),
        "FILE: byte 24: expected an array of events, or an object with the key traceEvents, found an object with the keys traceEvents (not an array)"
    );
    assert_eq!(error_of(b"{5nonsense"), "FILE: byte 1: expected a key and its value, found \"5nonsense\"");
    let folder = tempfile::tempdir().expect("a folder");
    assert!(matches!(read_path(folder.path()), Err(ReadError::NotAFile { .. })));
    assert!(matches!(read_path(Path::new("/dev/zero")), Err(ReadError::NotAFile { .. })));
    assert!(matches!(read_path(Path::new("/does/not/exist")), Err(ReadError::Io { .. })));
}

#[test]
fn objects_that_are_not_events_are_not_a_trace() {
    let expected = "FILE: byte 0: expected the events of a trace, each with a phase (`ph`), found ";
    let rows = [
        (r#"[{"a":1},{"b":2,"ts":3},{}]"#, "2 objects without, with the keys a, b, ts"),
        (r#"{"traceEvents":[{"name":"x"}]}"#, "1 object without, with the keys traceEvents"),
        (
            r#"[{"traceId":"1","id":"1","name":"a","parentId":"2"}]"#,
            "1 object without, with the keys traceId, id, name, parentId; nearest to Zipkin (3 of its 5 keys) and Next.js trace \
             (3 of its 5 keys)",
        ),
    ];
    for (text, found) in rows {
        assert_eq!(error_of(text.as_bytes()), format!("{expected}{found}"), "{text}");
    }
    let found =
        "expected an array of events, or an object with the key traceEvents, found an object with the keys samples, b";
    assert_eq!(error_of(br#"{"samples":[],"b":2}"#), format!("FILE: byte 20: {found}"));
    // A single event makes it a trace.
    assert_eq!(read(r#"[{"a":1},{"ph":"i","ts":1}]"#).lost(), [(Loss::UnknownPhase, 1)]);
    // Log lines with brackets are not JSON.
    for log in ["[0.009s] started\n", "[INFO] started\n"] {
        assert!(error_of(log.as_bytes()).contains("unrecognised file format"), "{log}");
    }
}

#[test]
fn empty_captures_are_captures() {
    for text in ["[]", "{}", "\u{feff} []", "[", r#"{"traceEvents":[]}"#, "[{}]", "[,]", "[]\n\n"] {
        assert_eq!(read(text), Reading::default(), "{text}");
    }
    // Go writes an empty list as `null`.
    for text in [r#"{"traceEvents":null}"#, r#"{"a":{}, "traceEvents" : null,"b":1}"#] {
        for block_bytes in [1, 7, 4096] {
            let reading = read_cut(text.as_bytes(), block_bytes, 100).expect("a trace");
            assert_eq!(reading, Reading::default(), "{text}");
        }
    }
}

#[test]
fn the_object_form_finds_its_events_wherever_the_key_is() {
    let before = r#""stackFrames":{"1":{"name":"}],{\""}},"displayTimeUnit":"ns","#;
    let after = r#","sample":[{"ph":"X"}],"systemTraceEvents":"[{\"ph\":1}]","otherData":null,"traceEvents":[{"ph":"i","ts":9}] "#;
    let reading = read(&format!("\u{feff}\n{{{before}\"traceEvents\" : [{}]{after}}}\n", spans(2).join(",")));
    assert_eq!(reading.names(), ["s0", "s1", ""]);
    // The string is not a kernel trace.
    assert_eq!(reading.lost(), [(Loss::IgnoredMetadata, 1)]);
}

#[test]
fn an_open_array_is_whole_and_an_open_object_is_not() {
    let all = spans(3).join(",\n");
    assert_eq!(read(&format!("[{all}")).lost(), []);
    assert_eq!(read(&format!("[{all},\n")).lost(), []);
    let object = read(&format!(r#"{{"traceEvents":[{all},"#));
    assert_eq!((object.names(), object.lost()), (vec!["s0", "s1", "s2"], vec![(Loss::Truncated, 1)]));
    let cut = read(&format!(r#"[{all},{{"name":"half","#));
    assert_eq!((cut.names(), cut.lost()), (vec!["s0", "s1", "s2"], vec![(Loss::Truncated, 1)]));
    assert_eq!(
        cut.losses.iter().next().map(|lost| lost.first),
        Some(crate::model::SourcePos::Offset(all.len() as u64 + 2))
    );
    let in_metadata = read(&format!(r#"{{"traceEvents":[{all}],"otherData":{{"a":"#));
    assert_eq!(in_metadata.lost(), [(Loss::Truncated, 1)]);
}

#[test]
fn missing_and_trailing_commas_lose_nothing() {
    let reading = read(&format!("[{}\n,,\n{} ,]", spans(2).join(" \n"), r#"{"ph":"i","ts":9}"#));
    assert_eq!(reading.events.len(), 3);
    assert_eq!(reading.lost(), [(Loss::MissingComma, 1)]);
}

#[test]
fn commas_after_the_last_member_or_value_lose_nothing() {
    let reading =
        read(r#"[{"ph":"X","ts":1,"dur":4,"name":"a","args":{"a":2,"b":[1,],},},{"ph":"i","ts":9,"name":"b" , },]"#);
    assert_eq!((reading.names(), reading.lost()), (vec!["a", "b"], vec![]));
    assert_eq!(reading.events[0].args, r#"{"a":2,"b":[1]}"#);
}

#[test]
fn braces_and_commas_and_line_breaks_in_strings_are_text() {
    let name = "},{\"ph\":\"X\",\n\\";
    let json = serde_json::to_string(name).expect("text").replace("\\n", "\n");
    let reading = read(&format!(r#"[{{"ph":"i","ts":1,"name":{json}}},{{"ph":"i","ts":2,"args":{{"k":"}},{{ 	"}}}}]"#));
    assert_eq!(reading.names(), [name, ""]);
    assert_eq!(reading.events[1].args, r#"{"k":"},{ \t"}"#);
    assert_eq!(reading.lost(), [(Loss::ControlCharacter, 2)]);
}

#[test]
fn an_unterminated_string_costs_its_own_record_alone() {
    let broken = [
        r#"{"name":"open,"ph":"X","ts":1,"dur":1}"#,
        r#"{"ph":"X","ts":1,"dur":1,"name":"open}"#,
        r#"{"ph":"X","ts":1,"name":"cut"#,
        r#"{"ph":"X","ts":1,"args":{"a":["#,
        r#"{"ph":"X","ts":1,"args":{"a":[1,"#,
        r#"{"ph":"X","ts":1 "dur":1}"#,
        r#"{"ph":"X",,"ts":1}"#,
        r#"{"ph":"X","ts":'1'}"#,
        r#""text""#,
        "12",
        "}",
        ":",
    ];
    for broken in broken {
        let all = spans(6);
        let text = format!("[{},{broken},\n{}]", all[..3].join(","), all[3..].join(","));
        let reading = read(&text);
        assert_eq!(reading.names(), ["s0", "s1", "s2", "s3", "s4", "s5"], "{broken}");
        assert_eq!(reading.lost(), [(Loss::BadRecord, 1)], "{broken}");
        for piece_bytes in 1..60 {
            assert_eq!(read_in_pieces(text.as_bytes(), piece_bytes).expect("a capture"), reading, "{broken}");
        }
    }
}

#[test]
fn bad_times_and_durations_are_counted_and_what_can_be_shown_is() {
    let reading = read(
        r#"[{"ph":"i","name":"nan","ts":NaN},{"ph":"i","name":"huge","ts":1e400},{"ph":"i","name":"none"},{"ph":"i","name":"null","ts":null},
            {"ph":"i","name":"obj","ts":{}},{"ph":"i","name":"late","ts":9223372036854775.808},{"ph":"i","name":"early","ts":-9223372036854775.808},
            {"ph":"X","name":"nodur","ts":1},{"ph":"X","name":"nulldur","ts":2,"dur":null},{"ph":"X","name":"baddur","ts":3,"dur":"x"},
            {"ph":"X","name":"negative","ts":4,"dur":-1},{"ph":"X","name":"long","ts":9223372036854775,"dur":1},{"ph":"X","name":"fine","ts":"5","dur":1e0}]"#,
    );
    assert_eq!(reading.names(), ["early", "nodur", "nulldur", "baddur", "negative", "fine", "long"]);
    let lost = [(Loss::BadNumber, 2), (Loss::BadTime, 6), (Loss::NegativeDuration, 1)];
    assert_eq!(reading.lost(), lost);
    let values: Vec<_> = reading.events.iter().map(|event| (event.value, event.flags)).collect();
    let unfinished = (0, EventFlags::UNFINISHED);
    let none = EventFlags::NONE;
    assert_eq!(values, [(0, none), unfinished, unfinished, unfinished, (0, none), (1000, none), (807, none)]);
}

#[test]
fn a_span_from_the_first_to_the_last_nanosecond_has_its_duration() {
    let span = |ts: &str, dur: &str| format!(r#"[{{"ph":"X","name":"a","pid":1,"tid":1,"ts":{ts},"dur":{dur}}}]"#);
    let shown = |ts: &str, dur: &str| {
        let reading = read(&span(ts, dur));
        let event = &reading.events[0];
        (event.value, event.flags.has(EventFlags::UNFINISHED), reading.lost())
    };
    let (first, longest) = ("-9223372036854775.808", "18446744073709551.615");
    assert_eq!(shown(first, longest), (u64::MAX, false, vec![]));
    assert_eq!(shown(first, "9223372036854775.808"), (1 << 63, false, vec![]));
    let lost = vec![(Loss::BadNumber, 1)];
    assert_eq!(shown("0", longest), (0, true, lost.clone()));
    assert_eq!(shown(first, "18446744073709551.616"), (0, true, lost));
}

#[test]
fn text_that_is_not_utf8_or_is_too_long_is_kept_repaired() {
    let mut bytes = b"[{\"ph\":\"i\",\"ts\":1,\"name\":\"a\xff\xfeb\",\"args\":{\"k\":\"\xc3\"}}".to_vec();
    let long = "é".repeat(40_000);
    bytes.extend_from_slice(
        format!(r#",{{"ph":"i","ts":2,"name":"{long}"}},{{"ph":"i","ts":3,"name":"\ud83d\ude00\ud800"}}"#).as_bytes(),
    );
    bytes.extend_from_slice(",{\"ph\":\"i\",\"ts\":4,\"name\":\"\u{202e}bidi\\u0007\"}]".as_bytes());
    let reading = read_bytes(&bytes).expect("a capture");
    assert_eq!(reading.events[0].name, "a\u{fffd}\u{fffd}b");
    assert_eq!(reading.events[0].args, "{\"k\":\"\u{fffd}\"}");
    assert_eq!(reading.events[1].name.len(), 64 * 1024);
    assert_eq!(reading.events[2].name, "😀\u{fffd}");
    assert_eq!(reading.events[3].name, "\u{202e}bidi\u{7}");
    assert_eq!(reading.lost(), [(Loss::BadUtf8, 3), (Loss::LongText, 1)]);
}

#[test]
fn a_million_brackets_neither_overflow_the_stack_nor_hide_what_follows() {
    for (open, close) in [("[", "]"), (r#"{"a":"#, "}")] {
        let deep = format!("{}1{}", open.repeat(1_000_000), close.repeat(1_000_000));
        let all = spans(2);
        let reading = read(&format!(r#"[{},{{"ph":"i","ts":1,"args":{deep}}},{}]"#, all[0], all[1]));
        assert_eq!((reading.names(), reading.lost()), (vec!["s0", "s1"], vec![(Loss::DeepNesting, 1)]));
        let open_end = read(&format!(r#"[{},{{"ph":"i","args":{}"#, all[0], open.repeat(1_000_000)));
        assert_eq!(
            open_end.lost(),
            [(Loss::DeepNesting, 1), (Loss::Truncated, 1)].map(|loss| loss).into_iter().rev().collect::<Vec<_>>()
        );
    }
    assert!(error_of("[".repeat(1_000_000).as_bytes()).contains("expected an object for each event"));
    let at_limit = format!(r#"{{"ph":"i","ts":1,"args":{}1{}}}"#, "[".repeat(127), "]".repeat(127));
    assert_eq!(read(&format!("[{at_limit}]")).lost(), []);
}

#[test]
fn a_capture_inside_of_arguments_is_not_mistaken_for_the_capture() {
    let inner = spans(50).join(",");
    let text = format!(r#"[{},{{"ph":"i","ts":7,"args":{{"trace":[{inner}]}}}},{}]"#, spans(1)[0], spans(1)[0]);
    let reading = read(&text);
    assert_eq!((reading.events.len(), reading.lost()), (3, vec![]));
    for piece_bytes in [1, 64, 500, 1000, 2000] {
        assert_eq!(read_in_pieces(text.as_bytes(), piece_bytes).expect("a capture"), reading, "{piece_bytes}");
    }
}

#[test]
fn compressed_captures_read_as_plain_ones_and_a_cut_one_keeps_what_came_out() {
    let text = format!("[{}]", spans(5000).join(","));
    let plain = read(&text);
    let (first, second) = text.as_bytes().split_at(text.len() / 3);
    let members = [gzip(first), gzip(second)].concat();
    let zstd = |bytes: &[u8]| zstd::encode_all(bytes, 1).expect("memory");
    let frames = [zstd(first), zstd(second)].concat();
    for packed in [&members, &frames, &gzip(&frames), &zstd(&members)] {
        assert_eq!(read_bytes(packed).expect("a capture"), plain);
    }
    for packed in [&gzip(text.as_bytes()), &zstd(text.as_bytes())] {
        let cut = read_bytes(&packed[..packed.len() * 2 / 3]).expect("a capture");
        assert!(!cut.events.is_empty() && plain.events.starts_with(&cut.events));
        assert_eq!(cut.lost(), [(Loss::Truncated, 1)]);
    }
    assert!(error_of(&gzip(&gzip(&gzip(text.as_bytes())))).contains("found 1f 8b"), "three layers");
    assert!(error_of(&[0x1f, 0x8b, 8, 1, 2]).contains("none that can be decompressed"));
    assert_eq!(error_of(&gzip(b"")), "FILE: the file is empty");
}

/// Returns a gzip of `mib` MiB of one byte, between a head and a tail.
fn bomb(head: &[u8], filler: u8, mib: usize, tail: &[u8]) -> Vec<u8> {
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    let block = vec![filler; 1 << 20];
    gzip.write_all(head).expect("memory");
    (0..mib).for_each(|_| gzip.write_all(&block).expect("memory"));
    gzip.write_all(tail).expect("memory");
    gzip.finish().expect("memory")
}

#[test]
fn a_bomb_is_refused_or_stepped_over_in_bounded_memory() {
    assert!(error_of(&bomb(b"", 0, 1024, b"")).contains("found 00 00"));
    let all = spans(2);
    let head = format!(r#"[{},{{"ph":"i","ts":1,"name":""#, all[0]);
    let tail = format!(r#""}},{}]"#, all[1]);
    let reading = read_bytes(&bomb(head.as_bytes(), b'a', 256, tail.as_bytes())).expect("a capture");
    assert_eq!((reading.names(), reading.lost()), (vec!["s0", "s1"], vec![(Loss::OverLimit, 1)]));
    let key = bomb(b"{\"", b'k', 128, b"\":1}");
    assert!(error_of(&key).contains("expected a key below 64 MiB"));
}

#[test]
fn traces_that_follow_each_other_in_a_file_are_all_read() {
    let event = |ts: u32| format!(r#"{{"ph":"X","name":"a","pid":1,"tid":1,"ts":{ts},"dur":2}}"#);
    let array = |ts: u32| format!("[{}]", event(ts));
    let object = |ts: u32| format!(r#"{{"traceEvents":[{}],"displayTimeUnit":"ns"}}"#, event(ts));
    for text in [
        format!("{}{}{}", array(1), array(4), array(8)),
        format!("{}\n{}\n{}\n", object(1), array(4), object(8)),
        format!("{}\n{}\n[{},", array(1), object(4), event(8)),
    ] {
        let reading = read(&text);
        assert_eq!(
            (reading.short(), reading.lost()),
            (vec![(1000, 2000, "a"), (4000, 2000, "a"), (8000, 2000, "a")], vec![]),
            "{text}"
        );
    }
    for rest in ["[1, 2]", "{5", "x"] {
        let reading = read(&format!("{}{rest}", array(1)));
        assert_eq!((reading.events.len(), reading.losses.total()), (1, 1), "{rest}");
    }
}

#[test]
fn events_in_messages_of_a_protocol_are_read_like_an_array() {
    let all = spans(2);
    let (both, expected) = (all.join(","), read(&format!("[{}]", all.join(","))));
    let chunk = |event: &str| format!(r#"{{"method":"Tracing.dataCollected","params":{{"value":[{event}]}}}}"#);
    let complete = r#"{"method":"Tracing.tracingComplete","params":{"dataLossOccurred":false}}"#;
    for text in [
        format!(r#"{{"value":[{both}]}}"#),
        format!(r#"{{"value":[1,[2]],"result":"","params":[{{"a":1}}],"traceEvents":[{both}]}}"#),
        format!(r#"{{"id":1,"result":{{"type":"Timeline","traceEvents":[{both}],"timeOriginMicros":0}}}}"#),
        chunk(&both),
        format!("{}\n{}\n{complete}\n", chunk(&all[0]), chunk(&all[1])),
        format!("[{},\n{},{complete}]\n", chunk(&all[0]), chunk(&all[1])),
        format!(r#"[{{"params":{{"value":1}},"method":"Network.dataReceived"}} {}"#, chunk(&both)),
        format!("{{\"id\":1,\"result\":{{}}}}\n{{\"params\":{{\"value\":0.5}}}}\n{}\n{complete}", chunk(&both)),
    ] {
        assert_eq!(read(&text), expected, "{text}");
        for piece_bytes in 1..90 {
            assert_eq!(read_in_pieces(text.as_bytes(), piece_bytes).expect("a capture"), expected, "{text}");
        }
    }
    let cut = chunk(&both);
    assert_eq!(read(&cut[..cut.len() - 1]).lost(), [(Loss::Truncated, 1)]);
    let lossy = complete.replace("false", "true");
    assert_eq!(read(&format!("{}\n{lossy}", chunk(&both))).lost(), [(Loss::RecorderLost, 1)]);
    assert_eq!(read(&format!("[{},{lossy}]", chunk(&both))).lost(), [(Loss::RecorderLost, 1)]);
    for other in [
        r#"[{"method":"Network.dataReceived","params":{"value":[{"a":1}]}}]"#.to_owned(),
        r#"{"value":[{"a":1}]}"#.to_owned(),
        r#"{"method":"Page.enable","params":{}}"#.to_owned(),
        format!(r#"{{"params":{{"params":{{"params":{{"value":[{both}]}}}}}}}}"#),
        format!("{}{}", r#"{"params":"#.repeat(1_000_000), "}".repeat(1_000_000)),
    ] {
        assert!(read_bytes(other.as_bytes()).is_err(), "{other:.99}");
    }
}
