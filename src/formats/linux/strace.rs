//! The output of `strace -f -ttt` and `-tt`: one line per system call, `PID time name(args) = result <seconds>`. With
//! `-T` a call is a span; without it only a call that another thread interrupted has two times, and all others are
//! instants. Times without a date (`-tt`) begin at midnight and go on past the next one. The table of sums that `-C`
//! prints after the calls has no times, so the reader skips it.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::formats::format::{Format, Opener, Shown};
use crate::formats::input::decimal::nanos_from_seconds;
use crate::formats::input::lines::{LineParser, Output, TextLine, head_lines};
use crate::formats::input::source::Source;
use crate::formats::output::args::ArgsWriter;
use crate::formats::output::batch::{BatchBuilder, bare, text};
use crate::formats::{ReadError, Reader};
use crate::model::args::Detail;
use crate::model::{Event, EventFlags, EventKind, Id, Loss, Metadata, SourcePos, TrackKey, TrackKind};

/// The most threads with calls that wait for their second half; a machine has fewer threads.
const WAITING_MAX: usize = 1 << 20;

/// The most calls of one thread that wait, each within the one before. Calls that never end would wait for ever.
const CALLS_DEEP_MAX: usize = 64;

const DAY_NS: i64 = 86_400_000_000_000;

/// Fewer digits are a distance of `strace -r` rather than a time.
const EPOCH_DIGITS: usize = 9;

/// Text of strace with times.
pub(crate) const FORMAT: Format = Format {
    name: "strace",
    sniff: looks_like_strace,
    shows: &[Shown::Spans, Shown::Instants, Shown::Arguments],
    opener: Opener::Capture(|source, _| Ok(open(source))),
};

/// Whether the first lines are those of `strace` with times.
fn looks_like_strace(head: &[u8]) -> bool {
    let mut lines = head_lines(head).filter(|line| !line.is_empty() && !line.starts_with(b"strace: "));
    lines
        .next()
        .is_some_and(|line| StraceRecord::from_line(line).is_some_and(|record| record.what != StraceEvent::Unknown))
}

/// Whether the first line is a call as `strace` prints it without times, or with their distances alone (`-r`).
#[must_use]
pub(crate) fn looks_like_strace_without_times(head: &[u8]) -> bool {
    let Some(line) = head_lines(head).find(|line| !line.is_empty() && !line.starts_with(b"strace: ")) else {
        return false;
    };
    // At most a process and a distance precede the call.
    let is_number = |word: &[u8]| word.iter().all(|&byte| byte.is_ascii_digit() || byte == b'.');
    let mut rest = line.trim_ascii_start();
    for _ in ["process", "distance"] {
        let (first, after) = word(rest);
        rest = if is_number(first) { after } else { rest };
    }
    matches!(StraceEvent::from_text(rest), StraceEvent::Call { .. } | StraceEvent::Begun { .. })
        && !looks_like_strace(head)
}

/// Makes a reader of what `strace` printed.
fn open(source: Source) -> Reader {
    crate::formats::input::lines::open(source, Strace::default())
}

#[derive(Debug, Default)]
struct Strace {
    /// By thread: the calls whose ends have not been printed, outermost first. `ltrace -S` prints system calls within
    /// the calls of libraries that make them.
    waiting: FxHashMap<i64, SmallVec<[UnfinishedCall; 1]>>,
    /// The offset of times of day, and the last of these times.
    day_ns: i64,
    last_of_day_ns: i64,
    /// Whether the batch says already that times are UTC.
    has_utc: bool,
    /// Whether the line before was of a table of sums.
    is_in_table: bool,
    args: ArgsWriter,
}

#[derive(Debug)]
struct UnfinishedCall {
    start_ns: i64,
    name: Box<[u8]>,
    args: Box<[u8]>,
    place: SourcePos,
}

/// The fields of a line.
#[derive(Debug, Clone, Copy)]
struct StraceRecord<'a> {
    /// Without `-f`, the one thread has no number.
    tid: Option<i64>,
    ns: i64,
    is_of_day: bool,
    what: StraceEvent<'a>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum StraceEvent<'a> {
    /// A whole call: `name(args) = result <seconds>`.
    Call {
        name: &'a [u8],
        args: &'a [u8],
        result: &'a [u8],
        dur_ns: Option<i64>,
    },
    /// The begin of a call: `name(args <unfinished ...>`.
    Begun {
        name: &'a [u8],
        args: &'a [u8],
    },
    /// `<... name resumed>args) = result <seconds>`
    Resumed {
        name: &'a [u8],
        args: &'a [u8],
        result: &'a [u8],
        dur_ns: Option<i64>,
    },
    /// `--- signal ---` or `+++ exited with 0 +++`
    Note(&'a [u8]),
    Unknown,
}

impl<'a> StraceRecord<'a> {
    fn from_line(line: &'a [u8]) -> Option<Self> {
        let mut rest = line.trim_ascii_start();
        if let Some(after) = rest.strip_prefix(b"[pid ") {
            let end = memchr::memchr(b']', after)?;
            let (tid, after) = (number(after[..end].trim_ascii())?, &after[end + 1..]);
            return Self::timed(Some(tid), after.trim_ascii_start());
        }
        let (first, after) = word(rest);
        let tid = number(first);
        if tid.is_some() {
            rest = after;
        }
        Self::timed(tid, rest)
    }

    fn timed(tid: Option<i64>, rest: &'a [u8]) -> Option<Self> {
        let (time, rest) = word(rest);
        let (ns, is_of_day) = match time_of_day(time) {
            Some(ns) => (ns, true),
            None if memchr::memchr(b'.', time)? >= EPOCH_DIGITS => (nanos_from_seconds(time).ok()?, false),
            None => return None,
        };
        Some(Self { tid, ns, is_of_day, what: StraceEvent::from_text(rest) })
    }
}

impl<'a> StraceEvent<'a> {
    fn from_text(rest: &'a [u8]) -> Self {
        if let Some(resumed) = rest.strip_prefix(b"<... ") {
            let Some(end) = memchr::memmem::find(resumed, b" resumed>") else { return Self::Unknown };
            let (args, result, dur_ns) = ended(&resumed[end + b" resumed>".len()..]);
            return Self::Resumed { name: &resumed[..end], args, result, dur_ns };
        }
        if rest.starts_with(b"--- ") || rest.starts_with(b"+++ ") {
            return Self::Note(note(rest));
        }
        let Some(open) = memchr::memchr(b'(', rest) else { return Self::Unknown };
        let (name, rest) = (&rest[..open], &rest[open + 1..]);
        if name.is_empty() || !name.iter().all(|&byte| byte.is_ascii_alphanumeric() || byte == b'_') {
            return Self::Unknown;
        }
        if let Some(args) = rest.strip_suffix(b"<unfinished ...>") {
            return Self::Begun { name, args: args.trim_ascii_end() };
        }
        let (args, result, dur_ns) = ended(rest);
        if result.is_empty() { Self::Unknown } else { Self::Call { name, args, result, dur_ns } }
    }
}

/// The last arguments, the result and the duration in `args) = result <seconds>`. The result is empty if there is none.
fn ended(mut rest: &[u8]) -> (&[u8], &[u8], Option<i64>) {
    let mut dur_ns = None;
    if let Some(timed) = rest.strip_suffix(b">")
        && let Some(open) = memchr::memmem::rfind(timed, b" <")
        && let Ok(ns) = nanos_from_seconds(&timed[open + 2..])
    {
        (rest, dur_ns) = (&timed[..open], Some(ns));
    }
    let Some(equals) = memchr::memmem::rfind(rest, b" = ") else { return (rest, b"", dur_ns) };
    let args = rest[..equals].trim_ascii_end();
    (args.strip_suffix(b")").unwrap_or(args).trim_ascii(), rest[equals + 3..].trim_ascii(), dur_ns)
}

/// Whether a line may be below the head of a table of sums: a ruler, or a share in percent and more.
fn is_of_table(line: &[u8]) -> bool {
    let (first, rest) = word(line.trim_ascii());
    let is_share = || first.contains(&b'.') && first.iter().all(|&byte| byte.is_ascii_digit() || byte == b'.');
    first.starts_with(b"---") || is_share() && !rest.is_empty()
}

/// The text between the marks of `--- signal ---`.
fn note(line: &[u8]) -> &[u8] {
    let (mark, note) = line.split_at(3);
    let note = note.trim_ascii();
    note.strip_suffix(mark).unwrap_or(note).trim_ascii_end()
}

fn word(text: &[u8]) -> (&[u8], &[u8]) {
    let (word, rest) = text.split_at(memchr::memchr(b' ', text).unwrap_or(text.len()));
    (word, rest.trim_ascii_start())
}

fn number(text: &[u8]) -> Option<i64> {
    let is_number = !text.is_empty() && text.iter().all(u8::is_ascii_digit);
    is_number.then(|| std::str::from_utf8(text).ok()?.parse().ok()).flatten()
}

/// `HH:MM:SS`, with decimal places or not.
fn time_of_day(text: &[u8]) -> Option<i64> {
    let [hours @ .., b':', m1, m2, b':', s1, s2] = text.get(..8)? else { return None };
    let (hours, minutes) = (number(hours)?, number(&[*m1, *m2])?);
    let seconds = nanos_from_seconds(&[&[*s1, *s2], &text[8..]].concat()).ok()?;
    (hours < 24 && minutes < 60).then_some(seconds + (hours * 60 + minutes) * 60_000_000_000)
}

impl LineParser for Strace {
    fn line(&mut self, line: TextLine<'_>, batch: &mut BatchBuilder) {
        let place = line.place();
        if line.bytes.trim_ascii().is_empty() {
            return;
        }
        if line.bytes.starts_with(b"strace: ") {
            return batch.lose(Loss::IgnoredMetadata, place);
        }
        let Some(record) = StraceRecord::from_line(line.bytes) else {
            let begins_table = line.bytes.trim_ascii_start().starts_with(b"% time ");
            self.is_in_table = begins_table || self.is_in_table && is_of_table(line.bytes);
            return match (begins_table, self.is_in_table) {
                (false, true) => {}
                (true, _) => batch.lose(Loss::IgnoredMetadata, place),
                _ => batch.lose(line.loss(), place),
            };
        };
        self.is_in_table = false;
        let Some(ts_ns) = self.time(record) else { return batch.lose(Loss::BadTime, place) };
        if !record.is_of_day && !std::mem::replace(&mut self.has_utc, true) {
            batch.batch.metadata.push(Metadata::Utc { offset_ns: 0 });
        }
        let tid = record.tid.unwrap_or(0);
        match record.what {
            StraceEvent::Call { name, args, result, dur_ns } => {
                let result = Some(result);
                self.call(batch, &Done { tid, start_ns: ts_ns, dur_ns, name, args: [args, b""], result, place });
                if name == b"execve" && result == Some(b"0") {
                    name_thread(batch, tid, args, place);
                }
            }
            StraceEvent::Begun { name, args } => {
                let begun = UnfinishedCall { start_ns: ts_ns, name: name.into(), args: args.into(), place };
                if self.waiting.len() >= WAITING_MAX && !self.waiting.contains_key(&tid) {
                    return batch.lose(Loss::OverLimit, place);
                }
                let calls = self.waiting.entry(tid).or_default();
                calls.push(begun);
                if calls.len() > CALLS_DEEP_MAX {
                    let outermost = calls.remove(0);
                    self.endless(batch, tid, &outermost);
                }
            }
            StraceEvent::Resumed { name, args, result, dur_ns } => {
                let result = Some(result);
                let mut calls = self.waiting.remove(&tid).unwrap_or_default();
                match calls.iter().rposition(|begun| *begun.name == *name) {
                    Some(position) => {
                        // Calls within it end with it at the latest, and nothing says when.
                        for within in calls.drain(position + 1..) {
                            self.endless(batch, tid, &within);
                        }
                        let begun = calls.remove(position);
                        let start_ns = begun.start_ns;
                        let dur_ns = dur_ns.or_else(|| ts_ns.checked_sub(start_ns));
                        let args = [&*begun.args, args];
                        self.call(batch, &Done { tid, start_ns, dur_ns, name, args, result, place });
                        if name == b"execve" && result == Some(b"0") {
                            name_thread(batch, tid, &begun.args, place);
                        }
                    }
                    None => batch.lose(Loss::UnmatchedEnd, place),
                }
                if !calls.is_empty() {
                    self.waiting.insert(tid, calls);
                }
            }
            StraceEvent::Note(note) => {
                let (track, name) = (batch.track_with(&thread(tid)), batch.name(note, None, place));
                batch.push(bare(ts_ns, EventKind::Instant, track, name));
            }
            StraceEvent::Unknown => batch.lose(line.loss(), place),
        }
    }

    fn finish(&mut self, out: &mut Output<'_>) -> Result<(), ReadError> {
        let waiting = std::mem::take(&mut self.waiting).into_iter();
        let mut waiting: Vec<_> =
            waiting.flat_map(|(tid, calls)| calls.into_iter().map(move |begun| (tid, begun))).collect();
        waiting.sort_by_key(|(tid, begun)| (begun.start_ns, *tid));
        for (tid, begun) in waiting {
            self.endless(out.batch, tid, &begun);
            out.flush_if_full()?;
        }
        Ok(())
    }
}

/// A call with what is known of it.
struct Done<'a> {
    tid: i64,
    start_ns: i64,
    dur_ns: Option<i64>,
    name: &'a [u8],
    /// The printed arguments, in two parts if another thread's line came between.
    args: [&'a [u8]; 2],
    result: Option<&'a [u8]>,
    place: SourcePos,
}

impl Strace {
    /// The time of a line. Times of day that jump back by half a day have passed midnight.
    fn time(&mut self, record: StraceRecord<'_>) -> Option<i64> {
        if !record.is_of_day {
            return Some(record.ns);
        }
        if record.ns < self.last_of_day_ns - DAY_NS / 2 {
            self.day_ns = self.day_ns.checked_add(DAY_NS)?;
        }
        self.last_of_day_ns = record.ns;
        self.day_ns.checked_add(record.ns)
    }

    fn call(&mut self, batch: &mut BatchBuilder, call: &Done<'_>) {
        let mut event = self.event(batch, call);
        match call.dur_ns {
            Some(dur_ns) if dur_ns >= 0 => event.value = dur_ns.unsigned_abs(),
            Some(_) => batch.lose(Loss::NegativeDuration, call.place),
            None => event.kind = EventKind::Instant,
        }
        batch.push(event);
    }

    /// A call whose end was never printed.
    fn endless(&mut self, batch: &mut BatchBuilder, tid: i64, begun: &UnfinishedCall) {
        batch.lose(Loss::UnmatchedBegin, SourcePos::Time(begun.start_ns));
        let UnfinishedCall { start_ns, name, args, place } = begun;
        let (start_ns, place, args) = (*start_ns, *place, [&**args, b""]);
        let event = self.event(batch, &Done { tid, start_ns, dur_ns: None, name, args, result: None, place });
        batch.push(Event { flags: EventFlags::UNFINISHED, ..event });
    }

    fn event(&mut self, batch: &mut BatchBuilder, call: &Done<'_>) -> Event {
        let (track, name) = (batch.track_with(&thread(call.tid)), batch.name(call.name, None, call.place));
        self.args.clear();
        if call.args.iter().any(|part| !part.is_empty()) {
            self.args.text("args", &call.args.join(&b""[..]));
        }
        if let Some(result) = call.result {
            self.args.text("ret", result);
        }
        let args_json = self.args.finish();
        let detail = batch.batch.chunk.details.push(&Detail { args_json, ..Detail::default() });
        Event { detail, ..bare(call.start_ns, EventKind::Complete, track, name) }
    }
}

/// The key of a thread; `strace` never names its process.
fn thread(tid: i64) -> TrackKey {
    TrackKey { kind: TrackKind::Thread, pid: Id::None, tid: Id::Number(tid), name: Arc::default(), slot: 0 }
}

/// Names a thread after the program that it began to run: the last part of the first path in quotes.
fn name_thread(batch: &mut BatchBuilder, tid: i64, args: &[u8], place: SourcePos) {
    let path = args.split(|&byte| byte == b'"').nth(1).unwrap_or_default();
    let name = path.rsplit(|&byte| byte == b'/').next().unwrap_or_default();
    if !name.is_empty() {
        let name = text(name, place, &mut batch.batch.losses);
        batch.batch.metadata.push(Metadata::ThreadName { pid: Id::None, tid: Id::Number(tid), name });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::testing::{data, read, read_bytes, read_path};

    #[test]
    fn every_call_of_a_real_capture_is_there_with_its_time() {
        let reading = read_path(&data("strace_ttt.txt.gz")).expect("a capture");
        let mut text = String::new();
        let file = std::fs::File::open(data("strace_ttt.txt.gz")).expect("a file");
        std::io::Read::read_to_string(&mut flate2::read::GzDecoder::new(file), &mut text).expect("text");
        // Plainly: a line that does not go on with a call begins an event at its time, in microseconds.
        let mut expected: Vec<(i64, String)> = Vec::new();
        for line in text.lines().filter(|line| !line.contains("resumed>")) {
            let mut words = line.split_ascii_whitespace();
            let (_, time, what) = (words.next(), words.next().expect("a time"), words.next().expect("a call"));
            let name = match what.split('(').next() {
                Some("+++") => "exited with 0",
                name => name.expect("a name"),
            };
            expected.push((time.replace('.', "").parse::<i64>().expect("digits") * 1000, name.to_owned()));
        }
        let mut found: Vec<(i64, String)> =
            reading.events.iter().map(|event| (event.ts_ns, event.name.clone())).collect();
        expected.sort();
        found.sort();
        assert_eq!(found, expected);
        assert_eq!(reading.losses.count(Loss::UnmatchedBegin), reading.losses.total(), "{:?}", reading.lost());
        let spans = reading.events.iter().filter(|event| event.kind == EventKind::Complete).count();
        assert_eq!(spans, text.matches("<unfinished").count());
        let told: Vec<_> = reading.metadata.iter().collect();
        let [Metadata::Utc { offset_ns: 0 }, Metadata::ThreadName { name, .. }] = told[..] else { panic!("{told:?}") };
        assert_eq!(&**name, "node");
    }

    #[test]
    fn a_call_that_another_thread_interrupts_is_one_span_with_all_its_arguments() {
        let reading = read(
            "7  1795166531.000001 read(3,  <unfinished ...>\n8  1795166531.000002 close(3) = 0 <0.000004>\n\
             7  1795166531.000005 <... read resumed>\"a = b\", 4096) = 5 <0.000003>\n\
             8  1795166531.000009 <... poll resumed>) = 1\n8  1795166531.000010 +++ exited with 0 +++\n\
             8  1795166531.000020 wait4(-1,  <unfinished ...>\n",
        );
        let base = 1_795_166_531_000_000_000;
        assert_eq!(
            reading.short().iter().map(|&(ts, value, name)| (ts - base, value, name)).collect::<Vec<_>>(),
            [(1000, 3000, "read"), (2000, 4000, "close"), (10_000, 0, "exited with 0"), (20_000, 0, "wait4")]
        );
        assert_eq!(reading.events[0].args, r#"{"args":"3,\"a = b\", 4096","ret":"5"}"#);
        assert!(reading.events[3].flags.has(EventFlags::UNFINISHED));
        assert_eq!(reading.lost(), [(Loss::UnmatchedBegin, 1), (Loss::UnmatchedEnd, 1)]);
    }

    #[test]
    fn calls_within_a_call_that_waits_are_resumed_by_their_names() {
        // As `ltrace -S` prints a call of a library and the system call that it makes.
        let reading = read(
            "7 1795166531.000001 pthread_create(0x2 <unfinished ...>\n\
             7 1795166531.000002 SYS_mask(0, 8 <unfinished ...>\n\
             7 1795166531.000003 <... SYS_mask resumed> ) = 0\n\
             7 1795166531.000004 SYS_lost(0 <unfinished ...>\n\
             7 1795166531.000009 <... pthread_create resumed> ) = 0\n",
        );
        let mut found: Vec<_> = reading
            .events
            .iter()
            .map(|event| {
                (
                    event.ts_ns % 1_000_000,
                    &*event.name,
                    (!event.flags.has(EventFlags::UNFINISHED)).then_some(event.value),
                )
            })
            .collect();
        found.sort_unstable();
        let expected =
            [(1_000, "pthread_create", Some(8_000)), (2_000, "SYS_mask", Some(1_000)), (4_000, "SYS_lost", None)];
        assert_eq!((found, reading.lost()), (expected.to_vec(), vec![(Loss::UnmatchedBegin, 1)]));
        let endless = "7 1795166531.000001 f(0 <unfinished ...>\n".repeat(CALLS_DEEP_MAX * 3);
        assert_eq!(read(&endless).events.len(), CALLS_DEEP_MAX * 3);
    }

    #[test]
    fn times_of_day_go_on_past_midnight() {
        let reading = read("[pid 7] 23:59:59.999999 getpid() = 7\r\n[pid 8] 00:00:00.000001 getpid() = 8\r\n");
        let times: Vec<i64> = reading.events.iter().map(|event| event.ts_ns).collect();
        assert_eq!(times, [DAY_NS - 1000, DAY_NS + 1000]);
        assert_eq!(reading.events[1].track.tid, Id::Number(8));
        assert_eq!(reading.lost(), []);
        let seconds = read("12:00:01 getpid() = 7\n");
        assert_eq!(seconds.events[0].ts_ns, 43_201_000_000_000);
    }

    #[test]
    fn lines_that_are_no_calls_are_counted_and_the_rest_is_shown() {
        let reading = read(
            "7 1795166531.000001 getpid() = 7\nstrace: Process 9 attached\n7 1795166531.0x getuid() = 0\n\
             output of the program\n7 1795166531.000003 getgid() = 0\n",
        );
        assert_eq!(reading.events.len(), 2);
        assert_eq!(reading.lost(), [(Loss::BadRecord, 2), (Loss::IgnoredMetadata, 1)]);
    }

    #[test]
    fn the_table_of_sums_behind_the_calls_is_no_damage() {
        let table = "% time     seconds  usecs/call     calls    errors syscall\n------ ----------- ----------- --------- --------- ----------------\n 62.50    0.000500         250         2         1 openat\n 37.50    0.000300         300         1           read\n------ ----------- ----------- --------- --------- ----------------\n100.00    0.000800                     3         1 total\n";
        let call = "7 1795166531.000001 getpid() = 7\n";
        let reading = read(&format!("{call}{table}{call}"));
        assert_eq!(reading.events.len(), 2);
        assert_eq!(reading.lost(), [(Loss::IgnoredMetadata, 1)]);
        // Output of the program is no part of the table, and a table without its head is none.
        let reading = read(&format!("{call}{table}output of the program\n 37.50 of it\n{call}{}", &table[60..]));
        assert_eq!(reading.events.len(), 2);
        assert_eq!(reading.lost(), [(Loss::BadRecord, 7), (Loss::IgnoredMetadata, 1)]);
    }

    #[test]
    fn a_capture_that_is_cut_anywhere_keeps_the_calls_before_the_cut() {
        let whole = b"7 1795166531.000001 getpid() = 7\n7 1795166531.000002 read(0, \"\", 1) = 0\n";
        let events = read_bytes(whole).expect("a capture").events;
        for len in 33..whole.len() {
            let reading = read_bytes(&whole[..len]).expect("a capture");
            assert_eq!(reading.events[0], events[0], "{len} bytes");
            let lost = reading.losses.total();
            assert!(reading.events.len() == 2 || lost == u64::from(len > 33), "{len} bytes, {:?}", reading.lost());
        }
    }
}
