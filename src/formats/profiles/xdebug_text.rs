//! Xdebug function traces of PHP in the human-readable format (`xdebug.trace_format=0`, the default): a line for each
//! call, `seconds memory -> function(arguments) file:line`, indented by depth. Ends are recorded only with return
//! values (`>=> value`); otherwise a call lasts until the next one that is not nested in it. Variable values are
//! ignored.

use crate::formats::ReadError;
use crate::formats::input::decimal::nanos_from_seconds;
use crate::formats::input::lines::{LineParser, Output, TextLine, head_lines};
use crate::formats::output::args::ArgsWriter;
use crate::formats::output::batch::{BatchBuilder, bare};
use crate::model::args::Detail;
use crate::model::{Event, EventFlags, EventKind, Id, Loss, Metadata, NameIdx, SourcePos, TrackKey, TrackKind};

/// Limit for open calls; PHP runs out of memory earlier.
const OPEN_MAX: usize = 1 << 16;

/// Returns whether the heading is followed by a call in this format.
pub(super) fn looks_like_text(head: &[u8]) -> bool {
    let mut lines = head_lines(head);
    lines.next().is_some_and(|line| line.starts_with(b"TRACE START ["))
        && lines.next().and_then(TextRecord::from_line).is_some_and(|record| record.kind == TextKind::Call)
}

/// A line, indented by its depth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct TextRecord<'a> {
    ts_ns: i64,
    memory: u64,
    kind: TextKind,
    depth: usize,
    /// Text after the arrow.
    text: &'a [u8],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TextKind {
    Call,
    Return,
    /// The final time and memory.
    End,
}

impl<'a> TextRecord<'a> {
    fn from_line(line: &'a [u8]) -> Option<Self> {
        let (time, rest) = word(line.trim_ascii_start());
        let (memory, rest) = word(rest.trim_ascii_start());
        let ts_ns = time.contains(&b'.').then(|| nanos_from_seconds(time).ok())??;
        let memory = std::str::from_utf8(memory).ok()?.parse().ok()?;
        let text = rest.trim_ascii_start();
        let (indent, text) = (rest.len() - text.len(), text.trim_ascii_end());
        if text.is_empty() {
            return Some(Self { ts_ns, memory, kind: TextKind::End, depth: 0, text });
        }
        // Two spaces per level, after one for a call and two for a return.
        let (kind, before, text) = match text.strip_prefix(b"-> ") {
            Some(call) => (TextKind::Call, 1, call),
            None => (TextKind::Return, 2, text.strip_prefix(b">=>")?),
        };
        Some(Self { ts_ns, memory, kind, depth: indent.saturating_sub(before) / 2, text })
    }
}

fn word(text: &[u8]) -> (&[u8], &[u8]) {
    text.split_at(memchr::memchr(b' ', text).unwrap_or(text.len()))
}

#[derive(Debug, Default)]
pub(super) struct XdebugText {
    /// Open calls, outermost first.
    open: Vec<OpenCall>,
    args: ArgsWriter,
    is_named: bool,
}

#[derive(Debug)]
struct OpenCall {
    depth: usize,
    start_ns: i64,
    name: Box<[u8]>,
    args: Box<str>,
    place: SourcePos,
}

impl LineParser for XdebugText {
    fn line(&mut self, line: TextLine<'_>, batch: &mut BatchBuilder) {
        let text = line.bytes.trim_ascii();
        if text.is_empty() || text.starts_with(b"TRACE START") || text.starts_with(b"TRACE END") {
            return;
        }
        // The value of a variable: neither a time nor a call.
        if text.starts_with(b"=> ") {
            return;
        }
        // A truncated file may cut a number or a name.
        let record = TextRecord::from_line(line.bytes).filter(|_| line.has_end);
        let Some(TextRecord { ts_ns, memory, kind, depth, text }) = record else {
            return batch.lose(line.loss(), line.pos());
        };
        if !std::mem::replace(&mut self.is_named, true) {
            name_thread(batch);
        }
        memory_in_use(ts_ns, memory, batch);
        while self.open.last().is_some_and(|call| call.depth >= depth) {
            self.close(Some(ts_ns), batch);
        }
        if kind != TextKind::Call {
            return;
        }
        if self.open.len() >= OPEN_MAX {
            return batch.lose(Loss::DeepNesting, line.pos());
        }
        let call = self.call(depth, ts_ns, text, line.pos());
        self.open.push(call);
    }

    fn finish(&mut self, out: &mut Output<'_>) -> Result<(), ReadError> {
        while !self.open.is_empty() {
            self.close(None, out.batch);
            out.flush_if_full()?;
        }
        Ok(())
    }
}

impl XdebugText {
    /// Parses a call `function($a = 1) /file.php:3`.
    fn call(&mut self, depth: usize, start_ns: i64, text: &[u8], place: SourcePos) -> OpenCall {
        let open = memchr::memchr(b'(', text).unwrap_or(text.len());
        let close = memchr::memmem::rfind(text, b") ").unwrap_or(text.len()).max(open);
        let (file, line_number) = text.get(close + 2..).map_or((&b""[..], None), |location| {
            let colon = memchr::memrchr(b':', location).unwrap_or(location.len());
            let line_number =
                location.get(colon + 1..).and_then(|digits| std::str::from_utf8(digits).ok()?.parse().ok());
            (&location[..colon], line_number)
        });
        self.args.clear();
        if !file.is_empty() {
            self.args.text("file", file);
        }
        if let Some(line_number) = line_number {
            self.args.number("line", line_number);
        }
        if let Some(arguments) = text.get(open + 1..close).filter(|arguments| !arguments.is_empty()) {
            self.args.text("arguments", arguments);
        }
        OpenCall { depth, start_ns, name: text[..open].into(), args: self.args.finish().into(), place }
    }

    /// Ends the innermost call; without a time it is unfinished.
    fn close(&mut self, end_ns: Option<i64>, batch: &mut BatchBuilder) {
        let Some(call) = self.open.pop() else { return };
        let (track, name) = (batch.track_with(&thread()), batch.name(&call.name, None, call.place));
        let detail = batch.batch.chunk.details.push(&Detail { args_json: &call.args, ..Detail::default() });
        let event = Event { detail, ..bare(call.start_ns, EventKind::Complete, track, name) };
        let Some(end_ns) = end_ns else { return batch.push(Event { flags: EventFlags::UNFINISHED, ..event }) };
        let dur_ns = u64::try_from(end_ns.saturating_sub(call.start_ns));
        if dur_ns.is_err() {
            batch.lose(Loss::NegativeDuration, call.place);
        }
        batch.push(Event { value: dur_ns.unwrap_or(event.value), ..event });
    }
}

/// Returns the key of the single PHP thread.
pub(super) fn thread() -> TrackKey {
    TrackKey::thread(Id::None, Id::Number(1))
}

pub(super) fn name_thread(batch: &mut BatchBuilder) {
    let (pid, tid, name) = (Id::None, Id::Number(1), "PHP".into());
    batch.batch.metadata.push(Metadata::ThreadName { pid, tid, name });
}

pub(super) fn memory_in_use(ts_ns: i64, bytes: u64, batch: &mut BatchBuilder) {
    let name = "memory".into();
    let key = TrackKey { kind: TrackKind::Counter, pid: Id::None, tid: Id::None, name, slot: 0 };
    let value = (bytes as f64).to_bits();
    let track = batch.counter_track(&key, "bytes");
    batch.push(Event { value, ..bare(ts_ns, EventKind::Counter, track, NameIdx::EMPTY) });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::testing::{Reading, read};
    use proptest::prelude::*;

    fn spans(reading: &Reading) -> Vec<(i64, u64, String)> {
        let spans = reading.events.iter().filter(|event| event.kind == EventKind::Complete);
        let mut spans: Vec<_> = spans.map(|span| (span.ts_ns / 1000, span.value / 1000, span.name.clone())).collect();
        spans.sort();
        spans
    }

    /// Returns a line as Xdebug prints it.
    fn line(millis: usize, level: usize, arrow: &str, text: &str) -> String {
        format!("{:>10} {:>10} {}{arrow} {text}\n", format!("0.{millis:04}"), 397_456, "  ".repeat(level))
    }

    #[test]
    fn calls_last_until_the_next_that_is_not_below_them_or_to_their_return() {
        let head = "TRACE START [2024-01-02 03:04:05.678901]\n";
        let text = [
            head,
            &line(3, 1, "->", "{main}() /tmp/a.php:0"),
            &line(4, 2, "->", "foo($a = 'x) y', $b = 1) /tmp/my a.php:4"),
            "                         => $c = 5 /tmp/a.php:3\n",
            &line(6, 3, "->", "strlen('abc') /tmp/a.php:5"),
            &line(7, 3, " >=>", "3"),
            &line(10, 2, "->", "Bar->baz() /tmp/a.php:9"),
            "    0.0012     340000\nTRACE END   [2024-01-02 03:04:05.680101]\n\n",
        ]
        .concat();
        let reading = read(&text);
        let expected = [(300, 900, "{main}"), (400, 600, "foo"), (600, 100, "strlen"), (1000, 200, "Bar->baz")];
        assert_eq!(spans(&reading), expected.map(|(start, dur, name)| (start, dur, name.to_owned())));
        let foo = reading.events.iter().find(|event| event.name == "foo").expect("a call");
        assert_eq!(foo.args, r#"{"file":"/tmp/my a.php","line":4,"arguments":"$a = 'x) y', $b = 1"}"#);
        let memory = reading.events.iter().filter(|event| event.kind == EventKind::Counter).count();
        assert_eq!((memory, reading.lost()), (6, vec![]));
        for len in text.find("foo").expect("there")..text.len() {
            let cut = read(&text[..len]);
            assert!(cut.events.len() >= 2 && cut.losses.total() <= 1, "{len} bytes: {:?}", cut.lost());
        }
    }

    proptest! {
        #[test]
        fn each_call_ends_where_the_next_line_that_is_not_deeper_begins(steps in proptest::collection::vec(0usize..4, 1..30)) {
            // Depths of a real program: at most one more than the previous line.
            let mut depths = vec![0usize];
            for step in steps {
                let before = depths[depths.len() - 1];
                depths.push((before + 1).saturating_sub(step).max(1));
            }
            let mut text = "TRACE START [2024-01-02 03:04:05.678901]\n".to_owned();
            for (at, depth) in depths.iter().enumerate() {
                text += &line(at + 1, depth + 1, "->", &format!("f{at}() /a.php:1"));
            }
            let end = format!("    0.{:04}     340000\n", depths.len() + 1);
            text += &end;
            // Naive oracle: searches the later lines for the end.
            let mut expected: Vec<_> = (0..depths.len())
                .map(|at| {
                    let end = (at + 1..depths.len()).find(|&later| depths[later] <= depths[at]).unwrap_or(depths.len());
                    (100 * (at as i64 + 1), 100 * (end - at) as u64, format!("f{at}"))
                })
                .collect();
            expected.sort();
            let reading = read(&text);
            prop_assert_eq!(spans(&reading), expected);
            prop_assert_eq!(reading.lost(), []);
        }
    }
}
