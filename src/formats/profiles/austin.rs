//! Samples of Python programs as `austin` prints them, one per line:
//! `P<process>;T<interpreter>:<thread>;frames metric`. Frames are separated by semicolons, and each is
//! `file:function:line`. The metric is the time since the previous sample of the thread in microseconds, or the bytes
//! allocated. Mode `full` has `time,idle,memory`: the time while the thread was not idle and the memory become samples
//! of rows of their own. There are no timestamps: samples of a row are consecutive from zero.

use rustc_hash::FxHashMap;

use crate::formats::format::{DataKind, Format, Opener};
use crate::formats::input::lines::{LineParser, TextLine, head_lines};
use crate::formats::input::source::Source;
use crate::formats::input::text::{parsed, split_at_byte};
use crate::formats::output::args::ArgsWriter;
use crate::formats::output::batch::{BatchBuilder, STACK_FRAMES_MAX, text};
use crate::formats::output::modules::{file_name, path_text};
use crate::formats::{Reader, input};
use crate::model::sample_measure::{BYTES, NANOSECONDS};
use crate::model::{Id, Loss, Metadata, StackIdx, TrackKey};

pub(crate) const FORMAT: Format = Format {
    name: "Austin samples",
    record: "A sample is a line of process, thread, frames and a number: \"P1;T1;main.py:f:3 100\".",
    sniff: looks_like_austin,
    is_event: Some(begins_with_sample),
    live: None,
    shows: &[DataKind::Arguments, DataKind::Samples],
    opener: Opener::Trace(|source, _| Ok(open(source))),
};

/// Limit for threads; samples of more threads are counted as lost.
const THREADS_MAX: usize = 1 << 16;

/// Event of the time of mode `full`.
const WALL: &str = "wall";

/// Returns whether the text starts with austin's heading, or with a sample.
fn looks_like_austin(head: &[u8]) -> bool {
    head.trim_ascii_start().starts_with(b"# austin") || begins_with_sample(head)
}

/// Returns whether the first line that is neither empty nor a part of the heading is a sample.
fn begins_with_sample(text: &[u8]) -> bool {
    let is_note = |line: &[u8]| line.trim_ascii().is_empty() || line.starts_with(b"#");
    head_lines(text).find(|line| !is_note(line)).is_some_and(is_sample)
}

/// Returns whether a line is a sample of austin, which resembles a collapsed stack.
pub(super) fn is_sample(line: &[u8]) -> bool {
    Sample::from_line(line).is_some()
}

/// Creates a reader of samples.
fn open(source: Source) -> Reader {
    input::lines::open(source, Austin::default())
}

#[derive(Debug, Default)]
struct Austin {
    /// Time of the next sample, by process and thread.
    now_ns: FxHashMap<(i64, Id), i64>,
    /// The kind of time or memory that is measured, from the heading.
    mode: Option<Box<str>>,
    args: ArgsWriter,
}

/// A line: one sample of one thread.
#[derive(Debug)]
struct Sample<'a> {
    pid: i64,
    tid: Id,
    frames: &'a [u8],
    metric: i64,
    full: Option<FullMetrics>,
}

/// The other metrics of mode `full`.
#[derive(Debug, Clone, Copy)]
struct FullMetrics {
    is_idle: bool,
    memory: i64,
}

/// The measure of a row of samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AustinRow {
    /// The metric of the line.
    Main,
    Cpu,
    Memory,
}

impl<'a> Sample<'a> {
    fn from_line(line: &'a [u8]) -> Option<Self> {
        let line = line.trim_ascii_end();
        let (stack, metric) = line.split_at(memchr::memrchr(b' ', line)?);
        let mut metrics = metric[1..].split(|&byte| byte == b',');
        let metric = metrics.next().and_then(parsed)?;
        let full = match (metrics.next(), metrics.next().and_then(parsed)) {
            (Some(idle), Some(memory)) => Some(FullMetrics { is_idle: idle == b"1", memory }),
            _ => None,
        };
        let (process, rest) = split_at_byte(stack, b';');
        let (thread, frames) = split_at_byte(rest, b';');
        let pid = parsed(process.strip_prefix(b"P")?)?;
        let thread = thread.strip_prefix(b"T")?;
        // Newer versions print the interpreter before the thread.
        let thread = memchr::memrchr(b':', thread).map_or(thread, |colon| &thread[colon + 1..]);
        let tid = match parsed(thread) {
            Some(tid) => Id::Number(tid),
            None if thread.is_empty() => return None,
            None => Id::Text(String::from_utf8_lossy(thread).into()),
        };
        Some(Self { pid, tid, frames, metric, full })
    }
}

/// Formats `path/file.py:function:12` as `function (file.py:12)`, and returns its path too; returns anything else
/// unchanged, without a path.
fn title(frame: &[u8]) -> (Box<[u8]>, &[u8]) {
    // Newer versions append the last line and columns: `path/file.py:function:12:13:1:9`.
    let mut first_number = frame.len();
    while let Some(colon) = memchr::memrchr(b':', &frame[..first_number])
        && parsed::<i64>(&frame[colon + 1..first_number]).is_some()
    {
        first_number = colon;
    }
    let line_end = frame.get(first_number + 1..).and_then(|rest| memchr::memchr(b':', rest));
    let frame = line_end.map_or(frame, |len| &frame[..first_number + 1 + len]);
    let parts = memchr::memrchr(b':', frame).and_then(|last| {
        let (before, line) = (&frame[..last], &frame[last + 1..]);
        let colon = memchr::memrchr(b':', before)?;
        let (path, function) = (&before[..colon], &before[colon + 1..]);
        (parsed::<i64>(line).is_some() && !function.is_empty()).then_some((path, function, line))
    });
    let Some((path, function, line)) = parts else { return (frame.into(), b"") };
    ([function, b" (", file_name(path), b":", line, b")"].concat().into(), path)
}

impl LineParser for Austin {
    fn line(&mut self, line: TextLine<'_>, batch: &mut BatchBuilder) {
        let bytes = line.bytes.trim_ascii();
        if let Some(heading) = bytes.strip_prefix(b"# ") {
            if let Some(mode) = heading.strip_prefix(b"mode: ") {
                self.mode = Some(text(mode, line.pos(), batch.losses()));
            }
            return;
        }
        if bytes.is_empty() || bytes.starts_with(b"#") {
            return;
        }
        let Some(sample) = Sample::from_line(bytes) else { return batch.lose(line.loss(), line.pos()) };
        let (is_memory, is_full) = ["memory", "full"].map(|mode| self.mode.as_deref() == Some(mode)).into();
        if is_full && sample.full.is_none() && !line.has_end {
            return batch.lose(line.loss(), line.pos());
        }
        line.count_missing_end(batch);
        let Some(full) = sample.full.filter(|_| !is_memory) else {
            let mode = self.mode.take();
            let event = if is_full { WALL } else { mode.as_deref().unwrap_or("time") };
            self.add(&sample, AustinRow::Main, (event, is_memory, sample.metric), line, batch);
            self.mode = mode;
            return;
        };
        self.add(&sample, AustinRow::Main, (WALL, false, sample.metric), line, batch);
        if !full.is_idle {
            self.add(&sample, AustinRow::Cpu, ("cpu", false, sample.metric), line, batch);
        }
        if full.memory != 0 {
            self.add(&sample, AustinRow::Memory, ("memory", true, full.memory), line, batch);
        }
    }
}

impl Austin {
    /// Adds a sample to a row of its thread: an event, whether it is memory, and its metric.
    fn add(
        &mut self,
        sample: &Sample<'_>,
        row: AustinRow,
        (event, is_memory, metric): (&str, bool, i64),
        line: TextLine<'_>,
        batch: &mut BatchBuilder,
    ) {
        if is_memory && metric < 0 {
            // Freed memory does not belong in an allocation profile.
            return batch.lose(Loss::IgnoredPhase, line.pos());
        }
        let weight = u64::try_from(metric).ok().and_then(|metric| metric.checked_mul(if is_memory { 1 } else { 1000 }));
        let Some(weight) = weight else { return batch.lose(Loss::BadNumber, line.pos()) };
        let pid = sample.pid;
        let tid = match row {
            AustinRow::Main => sample.tid.clone(),
            AustinRow::Cpu | AustinRow::Memory => Id::Text(format!("{} ({event})", sample.tid).into()),
        };
        if !self.now_ns.contains_key(&(pid, tid.clone())) {
            if self.now_ns.len() >= THREADS_MAX {
                return batch.lose(Loss::OverLimit, line.pos());
            }
            let name = format!("Thread {tid}").into();
            let (pid, tid) = (Id::Number(pid), tid.clone());
            batch.add_metadata(Metadata::ThreadName { pid, tid, name });
        }
        let now_ns = self.now_ns.entry((pid, tid.clone())).or_insert(0);
        let ts_ns = *now_ns;
        let Some(next_ns) = ts_ns.checked_add_unsigned(weight) else { return batch.lose(Loss::BadTime, line.pos()) };
        *now_ns = next_ns;
        let mut stack = StackIdx::EMPTY;
        let mut frames = sample.frames.split(|&byte| byte == b';').filter(|frame| !frame.is_empty());
        for frame in frames.by_ref().take(STACK_FRAMES_MAX) {
            let (title, path) = title(frame);
            // Functions in files of the same name differ in their paths.
            let path = Some(path).filter(|path| file_name(path).len() < path.len()).map(path_text);
            let name = batch.name(&title, path.as_deref().map(str::as_bytes), line.pos());
            stack = batch.frame(stack, name);
        }
        if frames.next().is_some() {
            batch.lose(Loss::DeepNesting, line.pos());
        }
        self.args.clear();
        let unit = if is_memory { BYTES } else { NANOSECONDS };
        self.args.measure(event, unit, weight);
        let detail = batch.args(self.args.finish());
        let key = TrackKey::untimed_thread(Id::Number(pid), tid);
        let track = batch.track_with(&key);
        batch.push_sample(ts_ns, track, stack, detail);
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::*;
    use crate::formats::testing::{data, format_of, read, read_path, unpacked};
    use crate::model::SampleMeasure;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn samples_of_a_thread_follow_each_other(
            samples in prop::collection::vec((0..3i64, "[a-z]{1,4}(;[a-z]{1,4}){0,3}", 0..5000u64), 1..20),
        ) {
            let mut lines = "# austin: 3.7.0\n# mode: wall\n\n".to_owned();
            let (mut now, mut expected) = ([0u64; 3], Vec::new());
            for (thread, stack, micros) in &samples {
                let frames: Vec<String> = stack.split(';').map(|name| format!("/a/b.py:{name}:7")).collect();
                writeln!(lines, "P5;T0:{thread};{} {micros}", frames.join(";")).expect("into memory");
                let titles: Vec<String> = stack.split(';').map(|name| format!("{name} (b.py:7)")).collect();
                let at = &mut now[*thread as usize];
                expected.push((*at as i64 * 1000, *thread, titles, micros * 1000));
                *at += micros;
            }
            let reading = read(&lines);
            let mut found: Vec<_> = reading.events.iter().map(|event| {
                let Id::Number(tid) = event.track.tid else { panic!("{event:?}") };
                // A sample is as wide as its line says, also the last of a thread.
                assert_eq!(event.track.slot, TrackKey::SLOT_UNTIMED);
                (event.ts_ns, tid, event.stack.clone(), SampleMeasure::from_args(&event.args).weight)
            }).collect();
            found.sort();
            expected.sort();
            prop_assert_eq!(found, expected);
            prop_assert_eq!(reading.losses.total(), 0);
        }
    }

    #[test]
    fn older_threads_odd_frames_and_memory_are_read_and_the_rest_is_counted() {
        let reading = read(
            "# austin: 3.0\n# mode: memory\nP1;T0x7f12;a.py:f:3;:GC: 10\nP1;T9 5\nP1;T9;C:\\x\\y.py:<module>:1 7,0,3\n\
             P1;T9;x -5\nno sample\n# duration: 5\nP1;T9;cut 1",
        );
        let found: Vec<_> =
            reading.events.iter().map(|event| (event.ts_ns, event.stack.join(" > "), event.args.as_str())).collect();
        let args = |bytes: u64| format!(r#"{{"event":"memory","unit":"bytes","period":{bytes}}}"#);
        let [ten, five, seven, one] = [10, 5, 7, 1].map(args);
        // The last sample may be whole, without its line break.
        let expected =
            [(0, "f (a.py:3) > :GC:", &*ten), (0, "", &*five), (5, "<module> (y.py:1)", &*seven), (12, "cut", &*one)];
        assert_eq!(found, expected.map(|(ts_ns, stack, args)| (ts_ns, stack.to_owned(), args)));
        assert_eq!(reading.lost(), [(Loss::BadRecord, 1), (Loss::IgnoredPhase, 1), (Loss::UnendedLine, 1)]);
        assert_eq!(format_of(b"P1;T0:1;a.py:f:3 10\nP1;T0:1;a.py:f:3 10\n"), Some("Austin samples"));
        assert_eq!(format_of(b"main;f 10\n"), Some("Collapsed stacks"));
    }

    #[test]
    fn time_on_the_cpu_and_memory_of_full_samples_are_rows_of_their_own() {
        let reading = read(
            "# austin: 3.6.0\n# mode: full\n\nP1;T11;a.py:f:2 100,1,0\nP1;T11;a.py:f:2 200,0,4096\nP1;T11;a.py:g:3 300,0,-9\n",
        );
        let mut found: Vec<_> = reading
            .events
            .iter()
            .map(|event| {
                let measure = SampleMeasure::from_args(&event.args);
                (measure.event.into_owned(), event.ts_ns, measure.weight, event.track.tid.to_string())
            })
            .collect();
        found.sort();
        let expected = [
            ("cpu", 0, 200_000, "11 (cpu)"),
            ("cpu", 200_000, 300_000, "11 (cpu)"),
            ("memory", 0, 4096, "11 (memory)"),
            ("wall", 0, 100_000, "11"),
            ("wall", 100_000, 200_000, "11"),
            ("wall", 300_000, 300_000, "11"),
        ];
        let expected = expected.map(|(event, ts_ns, weight, tid)| (event.to_owned(), ts_ns, weight, tid.to_owned()));
        assert_eq!(found, expected);
        assert_eq!(reading.lost(), [(Loss::IgnoredPhase, 1)]);
    }

    #[test]
    fn a_full_sample_without_all_metrics_has_no_measure_of_its_own() {
        let heading = "# austin: 3.6.0\n# mode: full\n\n";
        for cut in ["P1;T11;a.py:f:2 200,0", "P1;T11;a.py:f:2 200,0,", "P1;T11;a.py:f:2 2"] {
            let part = read(&format!("{heading}P1;T11;a.py:f:2 1,1,0\n{cut}"));
            assert_eq!((part.events.len(), part.lost()), (1, vec![(Loss::Truncated, 1)]), "{cut}");
            let whole = read(&format!("{heading}{cut}\n"));
            let events: Vec<_> = whole.events.iter().map(|event| SampleMeasure::from_args(&event.args).event).collect();
            assert_eq!((&*events, whole.lost()), (&["wall".into()][..], vec![]), "{cut}");
        }
    }

    #[test]
    fn a_first_sample_that_exceeds_the_head_is_recognised() {
        let frames = vec!["/a/b.py:f:7"; 10_000].join(";");
        let reading = read(&format!("P5;T0:1;{frames} 100\nP5;T0:1;/a/b.py:g:7 100\n"));
        let depths: Vec<usize> = reading.events.iter().map(|event| event.stack.len()).collect();
        assert_eq!((depths, reading.lost()), (vec![10_000, 1], vec![]));
        assert_eq!(reading.events[0].stack[0], "f (b.py:7)");
    }

    #[test]
    fn a_real_capture_takes_as_long_as_its_lines_say() {
        let reading = read_path(&data("people/austin.txt.gz")).expect("a capture");
        let text = unpacked("people/austin.txt.gz");
        let lines = text.lines().filter(|line| line.starts_with('P'));
        let sum: u64 = lines.clone().map(|line| line.rsplit(' ').next().unwrap().parse::<u64>().unwrap()).sum();
        assert_eq!(reading.events.len(), lines.count());
        let found: u64 = reading.events.iter().map(|event| SampleMeasure::from_args(&event.args).weight).sum();
        assert_eq!((found, reading.lost()), (sum * 1000, vec![]));
    }

    #[test]
    fn functions_in_files_of_the_same_name_differ_in_the_paths_of_these() {
        let reading =
            read("# austin: 3.7.0\n# mode: wall\n\nP5;T0:1;/a/__init__.py:f:7;/b/__init__.py:f:7;c.py:f:7 5\n");
        assert_eq!(reading.events[0].stack, ["f (__init__.py:7)", "f (__init__.py:7)", "f (c.py:7)"]);
        let paths: Vec<_> = reading.events[0].modules.iter().map(Option::as_deref).collect();
        assert_eq!(paths, [Some("/a/__init__.py"), Some("/b/__init__.py"), None]);
    }

    #[test]
    fn frames_with_columns_have_the_line_that_they_begin_at() {
        for (frame, expected) in [
            ("/x/a.py:f:8", "f (a.py:8)"),
            ("/x/a.py:f:8:9:2:3", "f (a.py:8)"),
            ("C:\\x\\a.py:f:8:9", "f (a.py:8)"),
            (":GC:", ":GC:"),
            ("5:6", "5:6"),
        ] {
            assert_eq!(String::from_utf8_lossy(&title(frame.as_bytes()).0), expected);
        }
        let reading = read("# austin: 3.6.0\n# mode: memory\n\nP1;T0:1;a.py:f:8 1024\nP1;T0:1;a.py:f:8 -99\n");
        assert_eq!((reading.events.len(), reading.lost()), (1, vec![(Loss::IgnoredPhase, 1)]));
    }
}
