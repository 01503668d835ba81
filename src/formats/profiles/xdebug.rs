//! Xdebug function traces of PHP in the computer-readable format (`.xt`, `xdebug.trace_format=1`). Lines have
//! tab-separated fields, one for each call and one for its end, in seconds since the start. Calls become spans of one
//! thread with file, line and arguments; memory use becomes a counter. `xdebug_text` reads the human-readable format;
//! the HTML format is refused.

use rustc_hash::FxHashMap;

use super::xdebug_text::{XdebugText, looks_like_text, memory_in_use, name_thread, thread};
use crate::formats::format::{DataKind, Format, Opener};
use crate::formats::input::decimal::nanos_from_seconds;
use crate::formats::input::lines::{LineParser, Output, TextLine, head_lines};
use crate::formats::input::source::Source;
use crate::formats::output::args::ArgsWriter;
use crate::formats::output::batch::{BatchBuilder, bare};
use crate::formats::{ReadError, Reader, input};
use crate::model::args::Detail;
use crate::model::{Event, EventFlags, EventKind, Loss, SourcePos};

pub(crate) const FORMAT: Format = Format {
    name: "Xdebug trace",
    record: "A call is a line of depth, number, 0, time, memory and function, with tabs between them.",
    sniff: looks_like_xdebug,
    shows: &[DataKind::Spans, DataKind::Counters, DataKind::Arguments],
    opener: Opener::Trace(|source, _| Ok(open(source))),
};

/// Limit for the bytes of open calls. PHP nests a few thousand deep.
const OPEN_BYTES_MAX: usize = 64 << 20;

/// Approximate bytes of a call without its texts.
const CALL_BYTES: usize = 128;

/// Returns whether the heading is that of a function trace.
fn looks_like_xdebug(head: &[u8]) -> bool {
    head_lines(head).take(3).any(|line| line.starts_with(b"File format: ")) && head.starts_with(b"Version: ")
        || head.starts_with(b"TRACE START [") && head_lines(head).nth(1).is_some_and(|line| line.contains(&b'\t'))
        || looks_like_text(head)
}

/// Creates a reader of a trace.
fn open(source: Source) -> Reader {
    if looks_like_text(source.head()) {
        return input::lines::open(source, XdebugText::default());
    }
    input::lines::open(source, Xdebug::default())
}

#[derive(Debug, Default)]
struct Xdebug {
    /// Open calls by number.
    open: FxHashMap<u64, OpenCall>,
    open_bytes: usize,
    args: ArgsWriter,
    is_named: bool,
}

#[derive(Debug)]
struct OpenCall {
    start_ns: i64,
    name: Box<[u8]>,
    args: Box<str>,
    place: SourcePos,
}

impl OpenCall {
    fn bytes(&self) -> usize {
        CALL_BYTES + self.name.len() + self.args.len()
    }
}

fn number(text: Option<&[u8]>) -> Option<u64> {
    std::str::from_utf8(text?).ok()?.parse().ok()
}

impl LineParser for Xdebug {
    fn line(&mut self, line: TextLine<'_>, batch: &mut BatchBuilder) {
        let headings = [&b"Version: "[..], b"File format: ", b"TRACE START", b"TRACE END"];
        if line.bytes.trim_ascii().is_empty() || headings.iter().any(|begin| line.bytes.starts_with(begin)) {
            return;
        }
        if !self.is_named {
            self.is_named = true;
            name_thread(batch);
        }
        let mut fields = line.bytes.split(|&byte| byte == b'\t');
        let (level, call, kind) = (fields.next(), number(fields.next()), fields.next().unwrap_or_default());
        let (time, memory) = (fields.next().unwrap_or_default(), fields.next());
        // The last line has the final time and memory, and no call.
        let is_last = level == Some(b"") && call.is_none() && kind.is_empty();
        // Return values and assigned values have neither a time nor memory.
        if kind == b"R" && call.is_some() || kind == b"A" {
            return;
        }
        // A truncated line may lack digits of its time.
        let time = nanos_from_seconds(time).ok().filter(|_| memory.is_some());
        let Some(ts_ns) = time else { return batch.lose(line.loss(), line.pos()) };
        match (kind, call) {
            (b"0", Some(call)) => self.begin(call, ts_ns, fields, line, batch),
            (b"1", Some(call)) => self.end(call, ts_ns, line, batch),
            _ if is_last => {}
            _ => return batch.lose(line.loss(), line.pos()),
        }
        match number(memory) {
            Some(bytes) if line.has_end || kind == b"0" => memory_in_use(ts_ns, bytes, batch),
            // It may be truncated.
            Some(_) => {}
            None => batch.lose(if line.has_end { Loss::BadCounter } else { Loss::Truncated }, line.pos()),
        }
    }

    fn finish(&mut self, out: &mut Output<'_>) -> Result<(), ReadError> {
        let mut open: Vec<_> = std::mem::take(&mut self.open).into_values().collect();
        open.sort_by_key(|call| (call.start_ns, call.place));
        for call in open {
            let mut event = span(&call, out.batch);
            event.flags = EventFlags::UNFINISHED;
            out.batch.push(event);
            out.flush_if_full()?;
        }
        Ok(())
    }
}

impl Xdebug {
    /// Parses `name user-defined include file line count argument..`, after the memory.
    fn begin<'f>(
        &mut self,
        number: u64,
        start_ns: i64,
        mut fields: impl Iterator<Item = &'f [u8]>,
        line: TextLine<'_>,
        batch: &mut BatchBuilder,
    ) {
        let place = line.pos();
        let Some(name) = fields.next().filter(|name| !name.is_empty()) else { return batch.lose(line.loss(), place) };
        let (is_user, include) = (fields.next(), fields.next());
        let (file, line_number) = (fields.next(), fields.next());
        // The last field may be truncated.
        if !line.has_end && line_number.is_none() {
            return batch.lose(Loss::Truncated, place);
        }
        self.args.clear();
        let mut text = |key: &str, value: Option<&[u8]>| {
            if let Some(value) = value.filter(|value| !value.is_empty()) {
                self.args.text(key, value);
            }
        };
        text("file", file);
        text("include", include);
        if let Some(line_number) = self::number(line_number) {
            self.args.number("line", line_number);
        }
        if is_user == Some(b"0") {
            self.args.key("", b"internal");
            self.args.json.push_str("true");
        }
        let count = self::number(fields.next()).unwrap_or(0);
        for (position, argument) in (0..count).zip(fields) {
            self.args.text(&format!("argument {position}"), argument);
        }
        let call = OpenCall { start_ns, name: name.into(), args: self.args.finish().into(), place };
        self.open_bytes += call.bytes();
        if self.open_bytes > OPEN_BYTES_MAX {
            self.open_bytes -= call.bytes();
            return batch.lose(Loss::OverLimit, place);
        }
        if let Some(former) = self.open.insert(number, call) {
            // Numbers are unique within one run only.
            self.open_bytes -= former.bytes();
            let mut event = span(&former, batch);
            event.flags = EventFlags::UNFINISHED;
            batch.push(event);
        }
    }

    fn end(&mut self, call: u64, end_ns: i64, line: TextLine<'_>, batch: &mut BatchBuilder) {
        let Some(call) = self.open.remove(&call) else { return batch.lose(Loss::UnmatchedEnd, line.pos()) };
        self.open_bytes -= call.bytes();
        let mut event = span(&call, batch);
        match end_ns.checked_sub(call.start_ns).map(u64::try_from) {
            Some(Ok(dur_ns)) => event.value = dur_ns,
            _ => batch.lose(Loss::NegativeDuration, line.pos()),
        }
        batch.push(event);
    }
}

fn span(call: &OpenCall, batch: &mut BatchBuilder) -> Event {
    let (track, name) = (batch.track_with(&thread()), batch.name(&call.name, None, call.place));
    let detail = batch.batch.chunk.details.push(&Detail { args_json: &call.args, ..Detail::default() });
    Event { detail, ..bare(call.start_ns, EventKind::Complete, track, name) }
}

#[cfg(test)]
mod tests {
    use crate::formats::testing::{read, read_path, unpacked};
    use crate::model::{EventFlags, EventKind, Loss};

    const HEAD: &str = "Version: 3.2.0\nFile format: 4\nTRACE START [2026-11-22 10:51:11.903167]\n";

    #[test]
    fn calls_have_their_location_and_arguments_and_memory_is_a_counter() {
        let reading = read(&format!(
            "{HEAD}1\t0\t0\t0.000279\t396840\t{{main}}\t1\t\t/w.php\t0\t0\n2\t1\t0\t0.0003\t396900\tstrlen\t0\t\t/w.php\t2\t2\t'a'\t7\n\
             2\t1\t1\t0.0004\t396872\n2\t1\tR\t\t\t1\n2\t\tA\t\t\t\t/w.php\t3\t$a\t5\n2\t9\t1\t0.0005\t5\nnonsense\n\t\t\t0.0006\t360\nTRACE END   [x]\n"
        ));
        let spans: Vec<_> = reading.events.iter().filter(|event| event.kind == EventKind::Complete).collect();
        let found: Vec<_> = spans.iter().map(|span| (span.ts_ns, span.value, span.name.as_str())).collect();
        assert_eq!(found, [(279_000, 0, "{main}"), (300_000, 100_000, "strlen")]);
        assert!(spans[0].flags.has(EventFlags::UNFINISHED), "it has no end");
        assert_eq!(spans[0].args, r#"{"file":"/w.php","line":0}"#);
        let expected = r#"{"file":"/w.php","line":2,"internal":true,"argument 0":"'a'","argument 1":"7"}"#;
        assert_eq!(spans[1].args, expected);
        let counters = reading.events.iter().filter(|event| event.kind == EventKind::Counter);
        let values: Vec<_> = counters.map(|event| f64::from_bits(event.value)).collect();
        assert_eq!(values, [396_840.0, 396_900.0, 396_872.0, 5.0, 360.0]);
        assert_eq!(reading.lost(), [(Loss::UnmatchedEnd, 1), (Loss::BadRecord, 1)]);
    }

    #[test]
    fn a_real_trace_has_a_span_for_each_call() {
        let text = unpacked("people/xdebug-trace.xt.gz");
        let reading = read_path(&crate::formats::testing::data("people/xdebug-trace.xt.gz")).expect("a trace");
        let calls = text.lines().filter(|line| line.split('\t').nth(2) == Some("0")).count();
        let spans = reading.events.iter().filter(|event| event.kind == EventKind::Complete);
        assert_eq!(spans.count(), calls - 1);
        // The file ends in the middle of its last line, which is a call.
        assert_eq!(reading.lost(), [(Loss::Truncated, 1)]);
    }
}
