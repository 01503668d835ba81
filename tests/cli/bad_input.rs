//! Unreadable or hostile input gives an error with the file, the offset, and what was expected and found, or a counted
//! loss. It must not cause a panic, a hang, an abort or a silent drop.

use std::fs;
use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::harness::{data, folder, longspan, records, text};

#[test]
fn files_that_are_not_traces_are_refused_with_path_offset_and_content() {
    let folder = folder();
    let cases: &[(&str, &[u8], &[&str])] = &[
        ("empty.json", b"", &["empty"]),
        ("blank.json", b" \n\t ", &["unrecognised file format"]),
        ("picture.png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", &["this is a picture", "open the trace"]),
        (
            "trace.pftrace",
            b"\xff\xff\xff\xff\xff\xff",
            &["byte 0", "found ff ff", "Its name suggests", "Perfetto", "Supported: "],
        ),
        ("text.txt", b"Dear diary,\n", &["byte 0", "unrecognised file format", "found", "Dear"]),
        ("number.json", b"42", &["unrecognised file format", "found", "Chrome JSON, which begins with [ or {"]),
        ("other.json", b"{\"name\": \"package\", \"version\": 1}", &["expected", "traceEvents"]),
        ("numbers.json", b"[1, 2, 3]", &["expected"]),
    ];
    for (name, content, expected) in cases {
        let path = folder.path().join(name);
        fs::write(&path, content).expect("written");
        let message = longspan(&["info", "--no-cache", text(&path)]).failed(1);
        assert!(message.contains(name), "{name}: {message}");
        for part in *expected {
            assert!(message.contains(part), "{name}: no `{part}` in {message}");
        }
    }
}

/// A log without a valid line.
const BAD_LOG: &str = "# ninja log v5\nnothing\nmore\n";

#[test]
fn a_file_without_a_valid_record_is_refused_alone_with_others_and_in_archives() {
    let folder = folder();
    let write = |name: &str, content: &[u8]| {
        let path = folder.path().join(name);
        fs::write(&path, content).expect("written");
        path
    };
    let bad = write("bad.log", BAD_LOG.as_bytes());
    let (empty, good) = (write("empty.json", b"[]"), data("ninja_log.txt"));
    let mut archive = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    archive.start_file("in/bad.log", zip::write::SimpleFileOptions::default()).expect("written");
    archive.write_all(BAD_LOG.as_bytes()).expect("written");
    let archive = write("bad.zip", &archive.finish().expect("written").into_inner());
    let lost = "the format is Ninja log, but no event could be read: 2 bad_record, the first at byte 15 (line 2), found \"nothing\".";
    for files in [&[&bad][..], &[&bad, &empty], &[&bad, &bad], &[&archive]] {
        for command in ["info", "spans", "stats", "dump"] {
            let files: Vec<&str> = files.iter().map(|path| text(path)).collect();
            let message = longspan(&[&[command, "--no-cache"][..], &files].concat()).failed(1);
            assert!(message.contains(lost) && message.contains("A command is a line"), "{message}");
        }
    }
    // Beside a file with events, it is an import issue.
    let output = longspan(&["info", "--no-cache", text(&bad), text(&good)]);
    assert!(output.stderr.contains(lost), "{}", output.stderr);
    output.done();
    // A file without records is a trace without events.
    let output = longspan(&["info", "--no-cache", text(&empty)]);
    assert!(output.stderr.contains("no_events"), "{}", output.stderr);
    output.done();
}

#[test]
fn a_mistyped_command_is_an_error_and_opens_no_window() {
    let folder = folder();
    let trace = folder.path().join("trace.json");
    fs::write(&trace, r#"[{"ph":"X","name":"a","ts":0,"dur":1}]"#).expect("written");
    let message = longspan(&["stat", text(&trace)]).failed(2);
    assert!(message.contains("`stat` is neither a file nor a command: did you mean `longspan stats`?"), "{message}");
    let message = longspan(&["--folow", text(&trace)]).failed(2);
    assert!(message.contains("a similar argument exists: '--follow'") && !message.contains("-- --folow"), "{message}");
}

#[test]
fn paths_that_are_not_files_are_refused() {
    let folder = folder();
    let missing = folder.path().join("missing.json");
    assert!(longspan(&["info", "--no-cache", text(&missing)]).failed(1).contains("missing.json"));
    assert!(longspan(&["info", "--no-cache", text(folder.path())]).failed(1).contains("not a file"));
    assert!(longspan(&["info", "--no-cache", "/dev/zero"]).failed(1).contains("not a file"));
}

#[test]
fn a_trace_truncated_at_any_byte_shows_the_events_before() {
    let folder = folder();
    let path = folder.path().join("cut.json");
    let whole = fs::read(data("pyspy_chrome.json")).expect("test data");
    let mut before = 0;
    for part in 1..=12 {
        fs::write(&path, &whole[..whole.len() * part / 12]).expect("written");
        let spans = records(&longspan(&["spans", "--no-cache", text(&path)]).done()).len();
        assert!(spans >= before, "{part} of 12: {spans} spans, but {before} in a shorter part");
        before = spans;
    }
    assert_eq!(before, 335, "all that the whole file holds");
}

#[test]
fn a_truncated_gzip_shows_the_events_before_and_reports_it() {
    let folder = folder();
    let path = folder.path().join("cut.json.gz");
    let whole = fs::read(data("jax.trace.json.gz")).expect("test data");
    fs::write(&path, &whole[..whole.len() / 2]).expect("written");
    let output = longspan(&["spans", "--no-cache", text(&path)]);
    assert!(output.stderr.contains("truncated"), "{}", output.stderr);
    assert!(records(&output.done()).len() > 1000);
}

#[test]
fn a_million_brackets_do_not_overflow_the_stack() {
    let folder = folder();
    for (name, content) in [
        ("brackets.json", "[".repeat(1_000_000)),
        ("braces.json", format!("[{}", "{\"args\":".repeat(1_000_000))),
        ("args.json", format!("[{{\"ph\":\"X\",\"ts\":1,\"dur\":1,\"args\":{{\"a\":{0}", "[".repeat(1_000_000))),
    ] {
        let path = folder.path().join(name);
        fs::write(&path, content).expect("written");
        let output = longspan(&["info", "--no-cache", text(&path)]);
        assert!(matches!(output.status, Some(0 | 1)), "{name}: {output:?}");
        assert!(!output.stderr.contains("panicked") && !output.stderr.is_empty(), "{name}: {output:?}");
    }
}

#[test]
fn damaged_events_are_counted_and_all_others_are_shown() {
    let folder = folder();
    let path = folder.path().join("damaged.json");
    let cases: &[(&str, &str)] = &[
        (r#"{"ph":"X","pid":1,"tid":1,"ts":NaN,"dur":1,"name":"x"}"#, "bad_"),
        (r#"{"ph":"X","pid":1,"tid":1,"ts":1e400,"dur":1,"name":"x"}"#, "bad_time"),
        (r#"{"ph":"X","pid":1,"tid":1,"dur":1,"name":"x"}"#, "bad_time"),
        (r#"{"ph":"X","pid":1,"tid":1,"ts":9223372036854775807,"dur":1,"name":"x"}"#, "bad_time"),
        (r#"{"ph":"X","pid":1,"tid":1,"ts":5,"dur":-1,"name":"x"}"#, "negative_duration"),
        (r#"{"ph":"X","pid":1,"tid":1,"ts":5,"dur":"x","name":"x"}"#, "bad_number"),
        (r#"{"ph":"?","pid":1,"tid":1,"ts":5,"name":"x"}"#, "unknown_phase"),
        (r#"{"pid":1,"tid":1,"ts":5,"name":"x"}"#, "unknown_phase"),
        (r#"{"ph":"C","pid":1,"ts":5,"name":"x","args":{"a":true}}"#, "bad_counter"),
        (r#"{"ph":"s","pid":1,"tid":1,"ts":5,"name":"x"}"#, "bad_flow"),
        (r#"{"ph":"b","pid":1,"tid":1,"ts":5,"name":"x"}"#, "bad_async"),
        (r#"{"ph":"E","pid":1,"tid":1,"ts":5,"name":"x"}"#, "unmatched_end"),
        ("{\"ph\":\"i\",\"pid\":1,\"tid\":1,\"ts\":5,\"name\":\"a\u{1}b\"}", "control_character"),
        (r#"{"ph":"X","pid":1,"tid":1,"ts":5,"dur":1,"name""#, "bad_record"),
    ];
    for (damaged, loss) in cases {
        let event = |ts: u32, name: &str| format!(r#"{{"ph":"X","pid":1,"tid":2,"ts":{ts},"dur":1,"name":"{name}"}}"#);
        fs::write(&path, format!("[{},\n{damaged},\n{}]", event(1, "before"), event(9, "after"))).expect("written");
        let output = longspan(&["spans", "--no-cache", text(&path)]);
        assert!(output.stderr.contains(loss), "{damaged}: no {loss} in {}", output.stderr);
        let spans = output.done();
        assert!(spans.contains(",before,") && spans.contains(",after,"), "{damaged}: {spans}");
    }
}

#[test]
fn bytes_that_are_not_utf8_are_replaced_and_counted() {
    let folder = folder();
    let path = folder.path().join("latin1.json");
    fs::write(&path, b"[{\"ph\":\"X\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":1,\"name\":\"caf\xe9\"}]").expect("written");
    let output = longspan(&["spans", "--no-cache", text(&path)]);
    assert!(output.stderr.contains("bad_utf8"), "{}", output.stderr);
    assert!(output.done().contains("caf\u{fffd}"));
}

#[test]
fn a_small_file_that_unpacks_to_a_gigabyte_is_read_in_bounded_memory() {
    let folder = folder();
    let path = folder.path().join("bomb.json.gz");
    let mut gzip = GzEncoder::new(fs::File::create(&path).expect("created"), Compression::fast());
    gzip.write_all(b"[{\"ph\":\"X\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":1,\"name\":\"first\"},\n").expect("written");
    let zeros = vec![0u8; 1 << 20];
    for _ in 0..300 {
        gzip.write_all(&zeros).expect("written");
    }
    gzip.finish().expect("written");
    let output = longspan(&["spans", "--no-cache", "--memory", "64MiB", text(&path)]);
    assert!(!output.stderr.is_empty(), "something was lost");
    assert!(output.done().contains(",first,"));
}

#[test]
fn any_flipped_byte_costs_at_most_a_counted_loss() {
    let folder = folder();
    let native = folder.path().join("small.longspan");
    longspan(&["synth", "-o", text(&native), "--spans", "2000", "--threads", "2"]).done();
    let json = fs::read(data("ugly.json")).expect("test data");
    let native = fs::read(native).expect("written");
    let gzip = fs::read(data("tracing_chrome_async.json.gz")).expect("test data");
    let path = folder.path().join("flipped");
    for whole in [&json, &native, &gzip] {
        for round in 0..40usize {
            let mut damaged = whole.clone();
            // Offsets across the file, more of them near the start, where headers are.
            let place = if round % 2 == 0 { whole.len() * round / 40 } else { round * 3 % whole.len() };
            damaged[place] ^= 1 << (round % 8);
            fs::write(&path, &damaged).expect("written");
            let output = longspan(&["dump", "--no-cache", text(&path)]);
            assert!(matches!(output.status, Some(0 | 1)), "byte {place}: {output:?}");
            assert!(!output.stderr.contains("panicked"), "byte {place}: {}", output.stderr);
            assert!(output.status == Some(0) || output.stderr.contains("flipped"), "byte {place}: {}", output.stderr);
        }
    }
}

#[test]
fn an_invalid_number_of_an_option_is_an_error_with_the_expected_range() {
    for (args, expected) in [
        (&["spans", "x.json", "--limit", "abc"][..], "expected a whole number, found `abc`"),
        (&["spans", "x.json", "--longest", "-1"], "expected a whole number, found `-1`"),
        (&["spans", "x.json", "--limit", "99999999999999999999"], "which exceeds 64 bits"),
        (&["info", "x.json", "--threads", "0"], "expected a whole number from 1 to 65535, found `0`"),
        (&["synth", "-o", "x.json", "--spans", "many"], "expected a whole number, found `many`"),
        (&["synth", "-o", "x.json", "--spans", "1", "--seed", "x"], "expected a whole number, found `x`"),
        (&["bench", "x.json", "--frames", "1"], "expected a whole number from 2 to 1000000, found `1`"),
    ] {
        let message = longspan(args).failed(2);
        assert!(message.contains(expected), "{args:?}: {message}");
    }
}

#[test]
fn a_search_without_hits_explains_how_the_filter_was_parsed() {
    let folder = folder();
    let file = folder.path().join("one.json");
    fs::write(&file, r#"[{"ph":"X","pid":1,"tid":1,"ts":0,"dur":5,"name":"n"}]"#).expect("written");
    let search = |args: &str| longspan(&["search", "--no-cache", text(&file), args]);
    let missed = search("duration>1us");
    assert!(missed.stderr.contains("did you mean `dur>`"), "{}", missed.stderr);
    assert_eq!(missed.done(), "0\n");
    assert_eq!(search("n").stderr, "");
    search("cat!:c").failed(2);
    assert_eq!(search("zz").stderr, "longspan: no rows in this part: none matches the query\n");
    let both = longspan(&["search", "--no-cache", "--filter", "n", text(&file), "zz"]);
    assert!(both.stderr.ends_with(": none matches --filter and the query\n"), "{}", both.stderr);
}
