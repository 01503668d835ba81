//! Tests of generated archives, with recorded traces.

use std::io::Write as _;

use crate::formats::input::ahead::STARTED;
use crate::formats::input::unpack::{Allowance, UnpackOutcome};
use crate::formats::native::write::NativeWriter;
use crate::formats::reader::SMALL_BYTES;
use crate::formats::testing::{Reading, data, file_of, gzip, read_bytes, read_cut};
use crate::formats::{ReadContext, Reader, sniff};
use crate::model::args::Detail;
use crate::model::{
    Chunk, Event, EventKind, Id, Loss, Losses, Metadata, NameIdx, Names, Registry, SourcePos, Stacks, TrackKey,
};

fn bytes_of(file: &str) -> Vec<u8> {
    std::fs::read(data(file)).expect("a file")
}

fn zip_of(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut writer = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, bytes) in files {
        let options = zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Deflated);
        writer.start_file(*name, options).expect("written");
        writer.write_all(bytes).expect("written");
    }
    writer.finish().expect("written").into_inner()
}

fn tar_of(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for (name, bytes) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        builder.append_data(&mut header, name, *bytes).expect("written");
    }
    builder.into_inner().expect("written")
}

fn names(reading: &Reading) -> Vec<(String, String)> {
    let mut names: Vec<_> =
        reading.events.iter().map(|event| (event.track.pid.to_string(), event.name.clone())).collect();
    names.sort();
    names
}

#[test]
fn all_captures_of_an_archive_are_on_one_timeline_and_their_processes_stay_apart() {
    let (ninja, go) = (bytes_of("ninja_log.txt"), bytes_of("go_trace.json"));
    let alone = [read_bytes(&ninja).expect("a trace"), read_bytes(&go).expect("a trace")];
    let files: [(&str, &[u8]); 4] =
        [("a/.ninja", b"hidden"), ("a/ninja_log", &ninja), ("b/go.json", &go), ("readme.txt", b"plain text\n")];
    let packed = [zip_of(&files), tar_of(&files), gzip(&tar_of(&files)), gzip(&zip_of(&files))];
    for archive in packed {
        let reading = read_bytes(&archive).expect("a trace");
        let mut expected = names(&alone[0]);
        expected.extend(names(&alone[1]).into_iter().map(|(pid, name)| {
            let pid = if pid.is_empty() { "b/go.json".to_owned() } else { format!("{pid} in b/go.json") };
            (pid, name)
        }));
        expected.sort();
        assert_eq!(names(&reading), expected);
        assert_eq!(reading.lost(), [(Loss::UnknownMember, 1)]);
        let labelled = |label: &str| {
            let has = |told: &Metadata| matches!(told, Metadata::ProcessLabels { labels, .. } if &**labels == label);
            reading.metadata.iter().any(has)
        };
        assert!(labelled("ninja_log") && labelled("go.json"));
    }
}

#[test]
fn pictures_pages_and_reports_beside_a_trace_are_not_losses() {
    let trace = bytes_of("ninja_log.txt");
    let others: [(&str, &[u8]); 5] = [
        ("a.png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"),
        ("a.pdf", b"%PDF-1.7\n"),
        ("a.mp4", b"\0\0\0\x20ftypisom\0\0\x02\0"),
        ("a.html", b"<!DOCTYPE html>\n<html><body>A report</body></html>\n"),
        ("a.devtoolslog.json", br#"[{"method":"Network.requestWillBeSent","params":{}}]"#),
    ];
    let files = [&[("ninja_log", &*trace)], &others[..]].concat();
    assert_eq!(read_bytes(&zip_of(&files)).expect("a trace").lost(), [(Loss::UnknownMember, 5)]);
    let error = read_bytes(&zip_of(&others)).expect_err("no trace").to_string();
    assert!(error.contains("a.png") && error.contains("a picture"), "{error}");
}

#[test]
fn text_after_messages_of_its_recorder_is_read_like_outside_of_an_archive() {
    let calls = b"hello from the program\n7 1.000001 getpid() = 7 <0.000004>\n7 1.000009 getpid() = 7 <0.000004>\n";
    let alone = read_bytes(calls).expect("a trace");
    assert_eq!((alone.events.len(), alone.lost()), (2, vec![(Loss::BadRecord, 1)]));
    for archive in [zip_of(&[("calls", calls)]), tar_of(&[("calls", calls)])] {
        assert_eq!(names(&read_bytes(&archive).expect("a trace")), names(&alone));
    }
}

#[test]
fn archives_appended_to_another_are_read_and_other_data_after_it_is_counted() {
    let ninja = bytes_of("ninja_log.txt");
    let [first, second] = ["a.log", "b.log"].map(|name| tar_of(&[(name, &ninja)]));
    let together = names(&read_bytes(&tar_of(&[("a.log", &ninja), ("b.log", &ninja)])).expect("a capture"));
    // Archives end with two blocks of zeros, and GNU tar fills a record of 20 blocks.
    for padding in [0, 512, 10_240] {
        let joined = [&first[..], &vec![0; padding], &second].concat();
        for archive in [gzip(&joined), joined] {
            let reading = read_bytes(&archive).expect("a capture");
            assert_eq!((names(&reading), reading.lost()), (together.clone(), vec![]), "{padding}");
        }
    }
    let garbage = [&first[..], b"no archive"].concat();
    let reading = read_bytes(&garbage).expect("a capture");
    let lost: Vec<_> = reading.losses.iter().map(|lost| (lost.loss, lost.first)).collect();
    assert_eq!(lost, [(Loss::TrailingData, SourcePos::Offset(first.len() as u64))]);
    assert!(read_bytes(&[&first[..], &[0; 100]].concat()).expect("a capture").losses.is_empty());
}

/// Process labels may precede the first event, in another batch.
#[test]
fn names_of_processes_in_a_file_without_events_are_not_those_of_the_next_file() {
    let named = br#"[{"ph":"M","name":"process_name","pid":1,"args":{"name":"other"}}]"#;
    let events = br#"[{"ph":"X","name":"a","pid":1,"tid":1,"ts":1,"dur":5}]"#;
    let reading = read_bytes(&zip_of(&[("1.json", named), ("2.json", events)])).expect("an archive");
    assert_eq!(reading.events[0].track.pid, Id::Text("1 in 2.json".into()));
    let reading = read_bytes(&zip_of(&[("1.json", b"[]"), ("2.json", events)])).expect("an archive");
    assert_eq!(reading.events[0].track.pid, Id::Number(1), "the first file has no processes");
}

#[test]
fn labels_that_a_capture_gives_win_over_the_name_of_its_file() {
    let json = r#"[{"ph":"M","name":"process_labels","pid":7,"args":{"labels":"own"}},
        {"ph":"X","name":"other","pid":8,"tid":8,"ts":1,"dur":2},{"ph":"X","name":"a","pid":7,"tid":7,"ts":1,"dur":2}]"#;
    let archive = tar_of(&[("a.json", json.as_bytes()), ("b.json", br#"[{"ph":"i","name":"b","pid":9,"ts":1}]"#)]);
    for block_bytes in [1, 100, 1 << 20] {
        let reading = read_cut(&archive, block_bytes, 1).expect("a trace");
        let of_process = |number: i64| {
            let mut labels = reading.metadata.iter().filter_map(|told| match told {
                Metadata::ProcessLabels { pid, labels } if *pid == Id::Number(number) => Some(&**labels),
                _ => None,
            });
            labels.next_back()
        };
        assert_eq!((of_process(7), of_process(8)), (Some("own"), Some("a.json")), "{block_bytes}");
    }
}

#[test]
fn a_capture_that_is_alone_in_its_archive_is_what_it_is_outside_of_it() {
    let ninja = bytes_of("ninja_log.txt");
    assert_eq!(read_bytes(&zip_of(&[("log", &ninja)])).expect("a trace"), read_bytes(&ninja).expect("a trace"));
}

/// Returns a native trace: two threads with names, arguments and a sample with its stack.
fn native() -> Vec<u8> {
    let (mut names, mut registry, mut stacks) = (Names::default(), Registry::default(), Stacks::default());
    let mut writer = NativeWriter::new(Vec::new(), false).expect("written");
    for number in 0..2 {
        let (pid, tid) = (Id::Number(5), Id::Number(number));
        let key = TrackKey::thread(pid, tid);
        let (track, name) = (registry.track(&key).unwrap(), names.intern(&format!("span {number}"), Some("cat")));
        let stack = stacks.intern_path([names.intern("main", None), names.intern("leaf", None)]);
        let mut chunk = Chunk::default();
        let detail = chunk.details.push(&Detail { args_json: r#"{"a":1}"#, ..Detail::default() });
        let span = Event { value: 7, detail, ..Event::new(10 * number, EventKind::Complete, track, name) };
        let sample = Event::new(10 * number + 5, EventKind::Sample, track, NameIdx::EMPTY);
        chunk.events.extend([span, Event { value: u64::from(stack.0), ..sample }]);
        writer.write_tables(&names, registry.tables()).expect("written");
        writer.write_stacks(&stacks).expect("written");
        writer.write_chunk(&chunk).expect("written");
    }
    writer.finish(&Losses::default()).expect("written")
}

#[test]
fn a_native_capture_is_read_beside_others_and_inside_of_gzip() {
    let ninja = bytes_of("ninja_log.txt");
    let reading = read_bytes(&zip_of(&[("ninja", &ninja), ("x.longspan", &native())])).expect("a trace");
    let of_native: Vec<_> =
        reading.events.iter().filter(|event| event.track.pid.to_string() == "5 in x.longspan").collect();
    let found: Vec<_> = of_native.iter().map(|event| (event.ts_ns, event.value, &*event.name, &*event.args)).collect();
    let args = r#"{"a":1}"#;
    assert_eq!(found, [(0, 7, "span 0", args), (5, 0, "", ""), (10, 7, "span 1", args), (15, 0, "", "")]);
    assert_eq!((of_native[1].stack.join(";"), of_native[0].category.as_deref()), ("main;leaf".to_owned(), Some("cat")));
    assert_eq!(reading.lost(), []);

    let file = file_of(&gzip(&native()));
    match sniff::open(file.path(), &ReadContext::default()).expect("a trace") {
        Reader::Chunks(trace) => {
            assert_eq!(trace.source.heads().len(), 2);
            assert_eq!(trace.source.load(1).expect("a chunk").events.len(), 2);
        }
        Reader::Stream(_) => panic!("a native trace is read by position"),
    }
}

#[test]
fn damage_of_one_file_leaves_the_others() {
    let ninja = bytes_of("ninja_log.txt");
    let files: [(&str, &[u8]); 2] = [("bad.json.gz", b"\x1f\x8b\x08nothing"), ("good", &ninja)];
    let reading = read_bytes(&zip_of(&files)).expect("a trace");
    assert_eq!(reading.events.len(), 42);
    assert_eq!(reading.lost(), [(Loss::UnreadableMember, 1)]);
    // A truncated archive shows the files before the cut.
    let whole = tar_of(&[("one", &ninja), ("two", &ninja)]);
    let reading = read_bytes(&whole[..whole.len() - 2600]).expect("a trace");
    assert!(reading.events.len() > 42 && reading.losses.total() > 0, "{:?}", reading.lost());
    for len in (600..3000).step_by(97) {
        let reading = read_bytes(&whole[..len]).expect("a trace");
        assert!(reading.losses.total() > 0 || len % 512 == 0, "{len} bytes: {:?}", reading.lost());
    }
}

#[test]
fn a_truncated_zip_archive_shows_the_files_before_the_cut() {
    let ninja = bytes_of("ninja_log.txt");
    let (one, two) = (zip_of(&[("one", &ninja)]), zip_of(&[("one", &ninja), ("two", &ninja)]));
    let list_at = |archive: &[u8]| memchr::memmem::find(archive, b"PK\x01\x02").expect("a list");
    let lost = |reading: &Reading| reading.losses.iter().map(|lost| (lost.loss, lost.first)).collect::<Vec<_>>();
    let whole = read_bytes(&two).expect("a trace");
    for cut in [list_at(&two), list_at(&two) + 9, two.len() - 9] {
        let reading = read_bytes(&two[..cut]).expect("a trace");
        assert_eq!(names(&reading), names(&whole), "{cut}");
        assert_eq!(lost(&reading), [(Loss::Truncated, SourcePos::Offset(list_at(&two) as u64))], "{cut}");
    }
    // The only file keeps its ids, also if the cut is within its content.
    let alone = read_bytes(&ninja).expect("a trace");
    assert_eq!(names(&read_bytes(&one[..list_at(&one)]).expect("a trace")), names(&alone));
    let part = read_bytes(&one[..list_at(&one) - 90]).expect("a trace");
    assert!((1..42).contains(&part.events.len()) && names(&alone).contains(&names(&part)[0]), "{:?}", part.lost());
    assert!(lost(&part).contains(&(Loss::Truncated, SourcePos::Offset(0))));
    // A header that claims a longer content than there is.
    let mut lying = two[..list_at(&two)].to_vec();
    lying[18..22].copy_from_slice(&u32::MAX.wrapping_sub(1).to_le_bytes());
    assert_eq!(read_bytes(&lying).expect("a trace").events.len(), 42);
}

#[test]
fn archives_without_a_trace_are_refused() {
    let inner = zip_of(&[("ninja", &bytes_of("ninja_log.txt"))]);
    for archive in [zip_of(&[("text", b"plain\n")]), tar_of(&[("text", b"plain\n")])] {
        let error = read_bytes(&archive).expect_err("refused").to_string();
        assert!(error.contains("expected a trace in the archive"), "{error}");
    }
    let error = read_bytes(&inner[..33]).expect_err("refused").to_string();
    assert!(error.contains("expected a zip archive") && error.contains("truncated"), "{error}");
    let refused = zip_of(&[("dir/x.tracy", b"tr\xfdPxxxxxxxx")]);
    let error = read_bytes(&refused).expect_err("refused").to_string();
    assert!(error.contains("dir/x.tracy: this is a trace of Tracy") && error.contains("tracy-csvexport"), "{error}");
}

#[test]
fn an_archive_of_very_much_is_ended_at_the_limit_and_all_files_share_it() {
    let (path, context) = (std::path::Path::new("archive"), ReadContext::default());
    let mut allowance = Allowance { left_bytes: 1500 };
    let mut unpack = |len: u64| {
        let mut bytes = std::io::Read::take(std::io::repeat(b'x'), len);
        let (file, outcome) = allowance.unpack(&mut bytes, path, &context).expect("unpacked");
        (outcome, file.len())
    };
    assert_eq!(unpack(1000), (UnpackOutcome::Complete, 1000));
    assert_eq!(unpack(u64::MAX), (UnpackOutcome::LimitReached, 500));
    assert_eq!(unpack(1), (UnpackOutcome::LimitReached, 0));
}

/// Reads a file like [`read_bytes`], and counts the threads that the reader started.
fn read_counting_threads(bytes: &[u8]) -> (Reading, usize) {
    let before = STARTED.get();
    let reading = read_bytes(bytes).expect("a trace");
    (reading, STARTED.get() - before)
}

#[test]
fn small_members_are_read_without_threads_and_large_ones_with_them() {
    let span = |number: usize| format!(r#"{{"name":"s","ph":"X","ts":{number},"dur":1,"pid":1,"tid":2}}"#);
    let json = |spans: usize| format!("[{}]", (0..spans).map(span).collect::<Vec<_>>().join(","));
    let perfetto = bytes_of("chromium.pftrace.gz");
    let small = json(100);
    let packed = [gzip(small.as_bytes()), zstd::encode_all(small.as_bytes(), 1).expect("in memory")];
    let members: Vec<&[u8]> = std::iter::once(small.as_bytes()).chain(packed.iter().map(Vec::as_slice)).collect();
    let files: Vec<_> = (0..300).map(|number| (format!("{number}.json"), members[number % members.len()])).collect();
    let files: Vec<(&str, &[u8])> = files.iter().map(|(name, bytes)| (name.as_str(), *bytes)).collect();
    for archive in [zip_of(&files), tar_of(&files)] {
        assert!(archive.len() > SMALL_BYTES || archive[..2] == *b"PK");
        let (reading, started) = read_counting_threads(&archive);
        assert_eq!((reading.events.len(), started, reading.lost()), (300 * 100, 0, vec![]));
    }
    let (reading, started) = read_counting_threads(&small.as_bytes()[..small.len() / 2]);
    assert_eq!((reading.lost(), started), (vec![(Loss::Truncated, 1)], 0));
    assert!(perfetto.len() > SMALL_BYTES && read_counting_threads(&perfetto).1 > 0);
    let (reading, started) = read_counting_threads(json(2000).as_bytes());
    assert_eq!((reading.events.len(), started > 0), (2000, true));
}

/// Small packed files may unpack to many pieces, which are parsed one by one.
#[test]
fn a_small_file_that_unpacks_to_much_is_read_as_the_unpacked_one_is() {
    let span = |number: usize| format!("{{\"name\":\"s\",\"ph\":\"X\",\"ts\":{number},\"dur\":1,\"pid\":1,\"tid\":2}}");
    let json = format!("[{}]", (0..5000).map(span).collect::<Vec<_>>().join(",\n"));
    let packed = zstd::encode_all(json.as_bytes(), 19).expect("in memory");
    assert!(packed.len() < SMALL_BYTES && json.len() > 3 * SMALL_BYTES);
    let (unpacked, started) = read_counting_threads(json.as_bytes());
    assert!(started > 0);
    assert_eq!(read_counting_threads(&packed), (unpacked.clone(), 0));
    for len in [packed.len() / 2, packed.len() - 3] {
        let reading = read_counting_threads(&packed[..len]);
        assert_eq!((reading.0.lost(), reading.1), (vec![(Loss::Truncated, 1)], 0));
        assert_eq!(reading.0.events[..], unpacked.events[..reading.0.events.len()]);
    }
}

/// Sets a 16-bit field of each entry in the central directory, `at` bytes after the start of the entry, to `value`.
fn with_entry_field(mut archive: Vec<u8>, at: usize, value: u16) -> Vec<u8> {
    let entries: Vec<usize> = memchr::memmem::find_iter(&archive, b"PK\x01\x02").collect();
    for entry in entries {
        archive[entry + at..entry + at + 2].copy_from_slice(&value.to_le_bytes());
    }
    archive
}

#[test]
fn a_file_that_cannot_be_unpacked_is_named_with_the_reason() {
    let ninja = bytes_of("ninja_log.txt");
    for (at, value, why) in [(8, 1, "it is encrypted"), (10, 14, "it is compressed with method 14")] {
        let one = with_entry_field(zip_of(&[("in/one.log", &ninja)]), at, value);
        let error = read_named(&one, "a.zip").expect_err(why).to_string();
        assert!(error.contains("the format is zip archive") && error.contains("a.zip/in/one.log: "), "{error}");
        assert!(error.contains(why), "{error}");
        // The other one is read.
        let mut two = zip_of(&[("one", &ninja), ("two", &ninja)]);
        let second = memchr::memmem::rfind(&two, b"PK\x01\x02").expect("an entry");
        two[second + at..second + at + 2].copy_from_slice(&value.to_le_bytes());
        let reading = read_bytes(&two).expect("a trace");
        let lost: Vec<_> =
            reading.losses.iter().map(|lost| (lost.loss, lost.file, lost.advice.contains(why))).collect();
        assert_eq!((reading.events.len(), lost), (42, vec![(Loss::UnreadableMember, Some("two"), true)]));
    }
}

/// A sink that drops everything.
struct Nowhere;

impl crate::formats::BatchSink for Nowhere {
    fn accept(&mut self, _: crate::model::Batch) -> Result<(), crate::formats::ReadError> {
        Ok(())
    }
}

/// The artifact of a build is a zip of the zip archives that tools write.
#[test]
fn an_archive_in_an_archive_is_named_with_what_to_do() {
    let ninja = bytes_of("ninja_log.txt");
    let files: [(&str, &[u8]); 1] = [("log", &ninja)];
    let inner = [zip_of(&files), tar_of(&files), gzip(&tar_of(&files))];
    for inner in &inner {
        for outer in [zip_of(&[("d/in", inner)]), tar_of(&[("page", b"<html>"), ("notes", b"a\n"), ("d/in", inner)])] {
            let error = read_named(&outer, "out").expect_err("refused").to_string();
            let said = "out/d/in: this is an archive in an archive, which Longspan does not read: unpack the outer";
            assert!(error.contains(said), "{error}");
        }
        // Traces beside it are read, and it is a loss.
        let reading = read_bytes(&zip_of(&[("log", &ninja), ("in", inner)])).expect("a trace");
        let lost: Vec<_> = reading.losses.iter().map(|lost| (lost.loss, lost.file, lost.count)).collect();
        assert_eq!((reading.events.len(), lost), (42, vec![(Loss::UnreadableMember, Some("in"), 1)]));
    }
}

#[test]
fn files_around_a_trace_are_one_note_without_a_file() {
    let ninja = bytes_of("ninja_log.txt");
    let files = [("a/README.md", &b"# a\n"[..]), ("log", &ninja), ("b/notes", b"b\n"), ("c/mountinfo", b"c\n")];
    for archive in [zip_of(&files), tar_of(&files)] {
        let reading = read_bytes(&archive).expect("a trace");
        let lost: Vec<_> = reading.losses.iter().map(|lost| (lost.loss, lost.file, lost.count)).collect();
        assert_eq!((reading.events.len(), lost), (42, vec![(Loss::UnknownMember, None, 3)]));
        assert!(Loss::UnknownMember.is_note());
    }
}

/// Reads bytes in a file of this name.
fn read_named(bytes: &[u8], name: &str) -> Result<Reading, crate::formats::ReadError> {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join(name);
    std::fs::write(&path, bytes).expect("written");
    let Reader::Stream(reader) = sniff::open(&path, &ReadContext::default())? else { panic!("a stream") };
    reader.read(&mut Nowhere, &ReadContext::default())?;
    Ok(Reading::default())
}

#[test]
fn only_attachments_of_playwright_traces_are_known_files() {
    let trace = std::fs::read(data("../fuzz/corpus/playwright/small.trace")).expect("a file");
    let files = |trace: &[u8]| {
        zip_of(&[("resources/a.html", b"<html>"), ("t", trace), ("src/b.mjs", b"f()"), ("t.stacks", b"x")])
    };
    assert_eq!(read_bytes(&files(&trace)).expect("a trace").lost(), [(Loss::IgnoredMetadata, 3)]);
    let lost = read_bytes(&files(&bytes_of("ninja_log.txt"))).expect("a trace").lost();
    assert_eq!(lost, [(Loss::UnknownMember, 3)]);
}

#[test]
fn files_after_an_attachment_that_is_cut_are_counted() {
    let trace = std::fs::read(data("../fuzz/corpus/playwright/small.trace")).expect("a file");
    let picture: Vec<u8> = (0..5000_u32).map(|at| (at.wrapping_mul(0x9E37_79B9) >> 24) as u8).collect();
    let whole = zip_of(&[("trace.trace", &trace), ("resources/a.jpeg", &picture), ("trace.network", &trace)]);
    let at = memchr::memmem::find(&zip_of(&[("trace.trace", &trace)]), b"PK\x01\x02").expect("a list");
    let reading = read_bytes(&whole[..at + 1000]).expect("a trace");
    assert_eq!(reading.events.len(), read_bytes(&trace).expect("a trace").events.len());
    let lost: Vec<_> = reading.losses.iter().map(|lost| (lost.loss, lost.file, lost.first)).collect();
    let expected =
        [(Loss::Truncated, None, SourcePos::Offset(at as u64)), (Loss::IgnoredMetadata, None, SourcePos::Offset(0))];
    assert_eq!(lost, expected);
}

#[test]
fn empty_playwright_logs_are_not_losses_and_a_trace_with_only_a_header_opens_empty() {
    let trace = std::fs::read(data("../fuzz/corpus/playwright/small.trace")).expect("a file");
    let files: [(&str, &[u8]); 3] =
        [("attachments/c5b7", b"# Text"), ("0-trace.network", b""), ("0-trace.trace", &trace)];
    assert_eq!(read_bytes(&zip_of(&files)).expect("a trace").lost(), [(Loss::IgnoredMetadata, 2)]);
    let header = &trace[..trace.iter().position(|&byte| byte == b'\n').expect("a line")];
    let png: &[u8] = b"\x89PNG\r\n\x1a\n";
    for picture in ["resources/a.png", "attachments/b"] {
        let empty = zip_of(&[(picture, png), ("trace.trace", header), ("trace.network", b"")]);
        let reading = read_bytes(&empty).expect("a trace without events");
        assert_eq!((reading.events.len(), reading.lost()), (0, vec![(Loss::IgnoredMetadata, 2)]));
    }
    assert!(read_bytes(&zip_of(&[("resources/a.png", png)])).is_err(), "a picture alone is no trace");
}

#[test]
fn only_bodies_that_a_har_names_are_known_files() {
    let har = br#"{"log":{"version":"1.2","creator":{},"entries":[{"startedDateTime":0,"time":1,
        "request":{"method":"GET","url":"r","postData":{"_file":"p.txt"}},"response":{"content":{"_file": "b.png"}}}]}}"#;
    let png: &[u8] = b"\x89PNG\r\n\x1a\n";
    for folder in ["", "a/"] {
        let path = |name: &str| format!("{folder}{name}");
        let [body, posted, log, other] = ["b.png", "p.txt", "har.har", "c.png"].map(path);
        let archive = zip_of(&[(&body, png), (&posted, b"text"), (&log, har), (&other, png), ("b/b.png", png)]);
        let reading = read_bytes(&archive).expect("a trace");
        let mut lost = reading.lost();
        lost.sort();
        assert_eq!(lost, [(Loss::IgnoredMetadata, 2), (Loss::UnknownMember, 2)]);
    }
}

#[test]
fn an_archive_without_files_is_said_to_be_empty() {
    let mut folder = tar::Builder::new(Vec::new());
    let mut header = tar::Header::new_gnu();
    header.set_entry_type(tar::EntryType::Directory);
    header.set_size(0);
    folder.append_data(&mut header, "traces/", &[][..]).expect("written");
    let folder = folder.into_inner().expect("written");
    let empty = [zip_of(&[]), tar_of(&[]), vec![0; 10_240], gzip(&tar_of(&[])), folder, zip_of(&[(".hidden", b"x")])];
    for archive in empty {
        let error = read_bytes(&archive).expect_err("no trace").to_string();
        assert!(error.ends_with("expected a trace in the archive, found an empty archive"), "{error}");
    }
    for zeros in [100, 1000, 4096 + 1, 10_240 + 512, 1 << 20] {
        let error = read_bytes(&vec![0; zeros]).expect_err("no trace").to_string();
        assert!(error.contains("unrecognised file format"), "{zeros}: {error}");
    }
}
