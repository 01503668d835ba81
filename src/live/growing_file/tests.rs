//! Files that are read while they are written, by writers that append, overwrite their end, or begin again.

use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::*;
use crate::base::budget::Memory;
use crate::base::cancel::Cancel;
use crate::live::arrivals::{self, LiveInput, WaitResult};
use crate::live::feed::{self, SourceCount};
use crate::live::source_note::Say;
use crate::live::spool_files::SpoolFiles;

/// A file in the hands of a writer, and what a reader has read of it.
struct WrittenFile {
    written: tempfile::NamedTempFile,
    file: GrowingFile,
    read: Vec<u8>,
}

impl WrittenFile {
    fn new() -> Self {
        let written = tempfile::NamedTempFile::new().unwrap();
        let file = GrowingFile::new(File::open(written.path()).unwrap(), false);
        Self { written, file, read: Vec::new() }
    }

    fn path(&self) -> &Path {
        self.written.path()
    }

    fn append(&mut self, text: &str) {
        self.written.write_all(text.as_bytes()).unwrap();
    }

    /// Writes over the last bytes, as one write.
    fn overwrite(&mut self, end_len: usize, text: &str) {
        self.written.seek(SeekFrom::End(-i64::try_from(end_len).unwrap())).unwrap();
        self.append(text);
    }

    /// Looks for a replacement like the reading thread, and then reads to the end.
    #[track_caller]
    fn read(&mut self) {
        // Each change gets another modification time.
        std::thread::sleep(Duration::from_millis(5));
        assert_eq!(self.why_replaced(), None);
        loop {
            let block = self.file.read().unwrap();
            if block.is_empty() {
                return;
            }
            self.read.extend(block);
        }
    }

    fn why_replaced(&mut self) -> Option<&'static str> {
        let here = fs::metadata(self.path()).unwrap();
        self.file.why_replaced(&here)
    }

    /// Returns everything that was read, after the session has ended.
    fn end(mut self) -> String {
        self.read.extend(self.file.take_held());
        String::from_utf8(self.read).unwrap()
    }
}

fn record(number: usize, len: usize) -> String {
    let filler = "x".repeat(len.saturating_sub(10));
    format!(r#"{{"n":{number},"f":"{filler}"}}"#)
}

#[test]
fn a_writer_that_overwrites_its_end_loses_and_doubles_nothing() {
    for (start, end) in [
        ("[", "]"),
        ("[\n", "\n]"),
        ("\u{feff} [\n", " \n]\r\n"),
        (r#"{"traceEvents":["#, "]}"),
        ("{\"traceEvents\":[\n", "\n]}\n"),
        ("{\"otherData\":{\"a\":[1]},\n\"traceEvents\": [\n", "\n] }\n"),
        ("[\n", "\n{}]"),
        ("{\"traceEvents\":[\n", "\n],\"displayTimeUnit\":\"ns\"}"),
        (
            "{\"traceEvents\":[\n",
            "\n], \"otherData\": {\"hosts\": [\"a]\", {}], \"n\": [[1], 2]}, \"stackFrames\": {}\n}\n",
        ),
    ] {
        for len in (10..=400).step_by(39) {
            let mut followed = WrittenFile::new();
            followed.read();
            followed.append(&format!("{start}{}{end}", record(0, len)));
            followed.read();
            for number in 1..6 {
                let next = format!(",\n{}{end}", record(number, len));
                // Some writers flush in the middle, but not over a part of a long end.
                let is_cut = number % 2 == 0 && next.len() / 2 >= end.len();
                let cut = if is_cut { next.len() / 2 } else { next.len() };
                followed.overwrite(end.len(), &next[..cut]);
                followed.read();
                followed.append(&next[cut..]);
                followed.read();
            }
            let records: Vec<String> = (0..6).map(|number| record(number, len)).collect();
            let expected = format!("{start}{}{end}", records.join(",\n"));
            assert_eq!(fs::read_to_string(followed.path()).unwrap(), expected);
            assert_eq!(followed.end(), expected, "{start}{len}");
        }
    }
}

#[test]
fn a_writer_that_truncates_its_end_before_the_next_record_continues_the_trace() {
    let mut followed = WrittenFile::new();
    followed.append("[\n{\"n\":0}\n]");
    followed.read();
    let len = fs::metadata(followed.path()).unwrap().len();
    followed.written.as_file().set_len(len - 2).unwrap();
    followed.read();
    followed.overwrite(0, ",\n{\"n\":1}\n]");
    followed.read();
    assert_eq!(followed.end(), "[\n{\"n\":0},\n{\"n\":1}\n]");
}

#[test]
fn nothing_is_held_back_of_records_whose_end_stays() {
    // Lines of JSON, text, and records that are followed by a comma.
    for text in ["{\"resourceSpans\":[{\"a\":[1]}]}\n", "write(1, \"]\", 1) = 1]\n", "[\n{\"a\":[{}]},", "[{\"a\":[1]}"]
    {
        let mut followed = WrittenFile::new();
        followed.append(text);
        followed.read();
        assert_eq!(String::from_utf8_lossy(&followed.read), text);
    }
    // More white space than a writer would overwrite.
    let mut followed = WrittenFile::new();
    followed.append(&format!("[{{}}]{}", "\n".repeat(HELD_BYTES_MAX)));
    followed.read();
    assert_eq!(followed.read.len(), 4 + HELD_BYTES_MAX);
}

#[test]
fn a_file_with_no_length_is_read_to_its_end() {
    let mut file = GrowingFile::new(File::open("/proc/self/limits").unwrap(), false);
    let mut read = Vec::new();
    loop {
        let block = file.read().unwrap();
        if block.is_empty() {
            break;
        }
        read.extend(block);
    }
    assert_eq!(read, fs::read("/proc/self/limits").unwrap());
}

#[test]
fn the_length_of_a_file_is_known_before_its_first_byte_is_read() {
    let written = tempfile::NamedTempFile::new().unwrap();
    written.as_file().set_len(7).unwrap();
    let ends = [written.path(), Path::new("/proc/self/limits")].map(|path| {
        let mut file = GrowingFile::new(File::open(path).unwrap(), false);
        (file.end(), file.has_length)
    });
    assert_eq!(ends, [(7, true), (u64::MAX, false)]);
}

#[test]
fn a_file_that_is_rewritten_or_truncated_is_another_trace() {
    for (start, end) in [("[\n", "\n]"), ("{\"traceEvents\":[\n", "\n]}\n")] {
        for len in (10..=400).step_by(39) {
            let mut followed = WrittenFile::new();
            followed.read();
            assert_eq!(followed.why_replaced(), None, "it is empty");
            followed.append(&format!("{start}{}{end}", record(0, len)));
            followed.read();
            let before = fs::metadata(followed.path()).unwrap().len();
            std::thread::sleep(Duration::from_millis(20));
            // The new file is longer, or as long.
            followed.written.rewind().unwrap();
            followed.append(&format!("{start}{}", record(7, len).replace('x', "y").replace("\"n\"", "\"m\"")));
            followed.append(if len % 2 == 0 { end } else { ",\n" });
            assert!(fs::metadata(followed.path()).unwrap().len() >= before);
            assert!(
                followed.why_replaced().is_some_and(|reason| reason.contains("from its beginning")),
                "{start}{len}"
            );
            followed.written.as_file().set_len(3).unwrap();
            assert!(followed.why_replaced().is_some_and(|reason| reason.contains("was truncated")));
        }
    }
}

#[test]
fn a_replaced_file_ends_with_the_end_that_was_held_back() {
    let mut followed = WrittenFile::new();
    followed.append("[\n{\"n\":0}\n]");
    followed.read();
    let folder = followed.path().parent().unwrap();
    let mut other = tempfile::NamedTempFile::new_in(folder).unwrap();
    other.write_all(b"[\n{\"n\":9}\n]").unwrap();
    other.persist(followed.path()).unwrap();
    assert!(followed.why_replaced().is_some_and(|reason| reason.contains("was replaced")));
    assert_eq!(followed.end(), "[\n{\"n\":0}\n]");
}

#[test]
fn a_program_that_goes_on_at_its_old_position_in_a_truncated_file_leaves_a_hole() {
    let written = tempfile::NamedTempFile::new().unwrap();
    let mut file = GrowingFile::new(File::open(written.path()).unwrap(), true);
    assert_eq!(file.read().unwrap(), b"");
    written.as_file().set_len(3 * BLOCK_BYTES as u64 + 7).unwrap();
    assert_eq!(file.read().unwrap(), b"");
    let mut writer = File::options().append(true).open(written.path()).unwrap();
    writer.write_all(b"a\0b").unwrap();
    assert_eq!(file.read().unwrap(), b"a\0b", "later zeros are data");
    writer.write_all(b"\0").unwrap();
    assert_eq!(file.read().unwrap(), b"\0");
    assert_eq!(file.offset, 3 * BLOCK_BYTES as u64 + 11);
    assert_eq!(file.why_replaced(&fs::metadata(written.path()).unwrap()), None);
}

#[test]
fn all_of_a_file_is_spooled_after_a_stop_however_slow_its_parser_is() {
    for pace in [Pace::Waits, Pace::RunsAhead] {
        let folder = tempfile::tempdir().unwrap();
        let (path, bytes) = (folder.path().join("large"), vec![b'x'; 3 * REST_BYTES as usize + 5]);
        fs::write(&path, &bytes).unwrap();
        let (stop, files) = (Cancel::default(), SpoolFiles::beside(&folder.path().join("out"), u64::MAX));
        let say: Say = Arc::new(|note| panic!("{note}"));
        let input = LiveInput::Input(path.into());
        let part = Some(files.part(0).unwrap());
        let (mut arrivals, _) = arrivals::start(arrivals::prepare(&input, pace).unwrap(), &stop, &say, part).unwrap();
        let mut block = vec![0; BLOCK_BYTES];
        while arrivals.wait(Duration::from_millis(100)) != WaitResult::End {
            arrivals.take_bytes(&mut block);
            std::thread::sleep(Duration::from_millis(50));
            stop.cancel();
        }
        assert_eq!(files.bytes(), bytes.len() as u64, "{pace:?}");
        assert!(fs::read(&files.paths()[0]).unwrap() == bytes, "{pace:?}");
    }
}

#[test]
fn all_of_a_file_is_spooled_that_replaces_another_one_right_before_a_stop() {
    // More blocks than the parser waits with, and more bytes than are parsed after a stop.
    for (pace, len) in [(Pace::Waits, 20 * BLOCK_BYTES + 5), (Pace::RunsAhead, 3 * REST_BYTES as usize + 5)] {
        let folder = tempfile::tempdir().unwrap();
        let [path, other] = ["rotated", "other"].map(|name| folder.path().join(name));
        let bytes = vec![b'x'; len];
        fs::write(&path, "first").unwrap();
        fs::write(&other, &bytes).unwrap();
        let (stop, files) = (Cancel::default(), SpoolFiles::beside(&folder.path().join("out"), u64::MAX));
        let stopped = stop.clone();
        // The sentence comes right before the new file.
        let say: Say = Arc::new(move |note| {
            assert!(note.to_string().contains("was replaced"), "{note}");
            stopped.cancel();
        });
        let input = LiveInput::Input(path.clone().into());
        let part = Some(files.part(0).unwrap());
        let (arrivals, _) = arrivals::start(arrivals::prepare(&input, pace).unwrap(), &stop, &say, part).unwrap();
        let fed = feed::start(
            arrivals,
            path.clone(),
            &Memory::default(),
            SourceCount::Few,
            false,
            crossbeam_channel::bounded(1).0,
        );
        let began = Instant::now();
        while files.bytes() < 5 {
            assert!(began.elapsed() < Duration::from_mins(1), "the first file is not read");
            thread::sleep(Duration::from_millis(5));
        }
        fs::rename(&other, &path).unwrap();
        // A session ends with its sources, and sorts what is recorded then.
        fed.iter().for_each(drop);
        assert!(fs::read(&files.paths()[1]).unwrap() == bytes, "{pace:?}");
    }
}
