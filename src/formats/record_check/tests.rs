//! Files without a readable record are refused with their format and the first position; files without a record are
//! traces without events.

use std::io::Write as _;

use crate::formats::sniff::{self, FORMATS};
use crate::formats::testing::{context, file_of, gzip};
use crate::formats::{BatchSink, ReadError, Reader};
use crate::model::Batch;

#[derive(Default)]
struct EventCount(usize);

impl BatchSink for EventCount {
    fn accept(&mut self, batch: Batch) -> Result<(), ReadError> {
        self.0 += batch.chunk.events.len();
        Ok(())
    }
}

/// Reads bytes as a user would, and returns the number of events.
fn read(bytes: &[u8]) -> Result<usize, ReadError> {
    let file = file_of(bytes);
    let mut count = EventCount::default();
    match sniff::open(file.path(), &context(1))? {
        Reader::Stream(reader) => reader.read(&mut count, &context(1))?,
        Reader::Chunks(trace) => {
            crate::formats::native::batches::read(&trace, file.path(), &mut count, &context(1))?;
        }
    }
    Ok(count.0)
}

/// Formats, each with a file that begins as the format and has only bad records, and a part of the error.
const BAD: &[(&str, &[u8], &str)] = &[
    ("Ninja log", b"# ninja log v5\nnothing\nmore\n", "2 bad_record, the first at byte 15 (line 2), found \"nothing\""),
    ("Chrome JSON", br#"[{"ph":"X","name":"a"},{"ph":"!","ts":1}]"#, "1 bad_time, 1 unknown_phase"),
    ("Chrome JSON", br#"{"traceEvents":[{"ph":"X","na"#, "truncated, the first at byte 16 (line 1)"),
    (
        "ftrace",
        b"# tracer: nop\n#\nfour words of text\n",
        "1 bad_record, the first at byte 16 (line 3), found \"four words of te\"",
    ),
    (
        "Austin samples",
        b"# austin: 3.6.0\n# mode: wall\nP1;T1;f nothing\n",
        "1 bad_record, the first at byte 29 (line 3)",
    ),
    ("Callgrind profile", b"# callgrind format\nevents: Ir\n\nfn=f\nx y\n", "(line 5), found \"x y\""),
    ("Tracy zones", b"name,src_file,src_line,ns_since_start,exec_time_ns,thread\na,b,c,d,e,f\n", "(line 2)"),
    ("Xdebug trace", b"Version: 3.1.0\nFile format: 4\nTRACE START [2024-01-01 00:00:00]\nx\ty\n", "(line 4)"),
    ("HAR", br#"{"log":{"version":"1.2","creator":{},"entries":[{"request":{}}]}}"#, "the first at byte"),
    ("OpenTelemetry JSON", br#"{"resourceSpans":[{"scopeSpans":[{"spans":[{"name":"a"}]}]}]}"#, "the first at byte"),
    (
        "V8 CPU profile",
        br#"{"nodes":[{"id":1,"callFrame":{"functionName":"f"}}],"startTime":1,"samples":[9],"timeDeltas":[1]}"#,
        "missing_text",
    ),
    ("Fuchsia trace", b"\x10\0\x04FxT\x16\0\x2f\0\0\0\0\0\0\0", "truncated, the first at byte 8, found 2f 00 00"),
    (
        "Spall",
        b"\x0d\xf0\xad\x0b\0\0\0\0\x01\0\0\0\0\0\0\0\0\0\0\0\0\0\xf0\x3f\0\0\0\0\0\0\0\0\x63\x63",
        "the first at byte 32, found \"cc\"",
    ),
];

/// Formats with nothing in them.
const EMPTY: &[&[u8]] = &[
    b"[]",
    b"[",
    b"{}",
    br#"{"traceEvents":[]}"#,
    br#"{"traceEvents":null}"#,
    br#"{"traceEvents": null, "displayTimeUnit":"ns","stackFrames":null}"#,
    br#"[{"ph":"M","name":"process_name","pid":1,"args":{"name":"a"}}]"#,
    b"# ninja log v5\n",
    b"# tracer: nop\n#\n",
    br#"{"log":{"version":"1.2","creator":{},"entries":[]}}"#,
    br#"{"resourceSpans":[]}"#,
    b"\x10\0\x04FxT\x16\0",
    b"\x0d\xf0\xad\x0b\0\0\0\0\x01\0\0\0\0\0\0\0\0\0\0\0\0\0\xf0\x3f\0\0\0\0\0\0\0\0",
    b"# callgrind format\nevents: Ir\n\n",
    br#"{"$schema":"https://www.speedscope.app/file-format-schema.json","profiles":[],"shared":{"frames":[]}}"#,
];

#[test]
fn a_file_of_bad_records_is_refused_with_its_format_its_losses_and_a_record() {
    for (format, bytes, lost) in BAD {
        let error = read(bytes).expect_err(format).to_string();
        assert!(error.contains(&format!(": the format is {format}, but no event could be read: ")), "{error}");
        assert!(error.contains(lost), "{error}");
        let record = FORMATS.iter().find(|known| known.name == *format).map_or("", |known| known.record);
        assert!(error.ends_with(record) && !record.is_empty(), "{error}");
    }
}

#[test]
fn a_file_without_records_is_a_trace_without_events() {
    for bytes in EMPTY {
        let read = read(bytes);
        assert!(matches!(read, Ok(0)), "{}: {read:?}", String::from_utf8_lossy(bytes));
    }
}

#[test]
fn every_supported_format_describes_its_records() {
    for format in FORMATS.iter().filter(|format| !format.shows.is_empty() || format.is_archive()) {
        assert!(format.record.ends_with('.'), "{}", format.name);
    }
}

#[test]
fn the_first_position_is_that_in_the_unpacked_text() {
    let error = read(&gzip(BAD[0].1)).expect_err("refused").to_string();
    assert!(error.contains(BAD[0].2), "{error}");
}

#[test]
fn one_event_is_enough_and_the_rest_is_counted() {
    assert_eq!(read(b"# ninja log v5\nnothing\n1\t2\t3\tout\tabc\n").expect("read"), 1);
}

#[test]
fn a_reason_is_a_sentence_of_its_own() {
    let mut archive = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let options = zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
    archive.start_file("a.json", options).expect("written");
    archive.write_all(b"[]").expect("written");
    let mut archive = archive.finish().expect("written").into_inner();
    let entry = memchr::memmem::rfind(&archive, b"PK\x01\x02").expect("an entry");
    // The methods of the file and of its entry.
    archive[8] = 12;
    archive[entry + 10] = 12;
    let error = read(&archive).expect_err("refused").to_string();
    let expected = "/a.json: it is compressed with method 12; only stored and deflated files are supported. The archive \
                    must contain a trace in a supported format.";
    assert!(error.ends_with(expected), "{error}");
}
