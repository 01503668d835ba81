//! Playwright traces (`trace.zip`), with a JSON object per line. `trace.trace` has calls, which become spans below
//! their parents with their logs. Its console messages, errors, events and program output become spans without a
//! duration. `trace.network` has requests in the form of HAR entries. Times are shifted to the time since 1970, so that
//! both files share a timeline. Snapshots, pictures and inputs are ignored, and lines of other types counted.

mod messages;
mod wire;

use rustc_hash::FxHashMap;
use serde_json::value::RawValue;

use self::messages::{has_content, plain, push_raw, push_stack};
use self::wire::{CallMetadata, ConsoleText, PlaywrightLine, PrintedLine};

use super::har::{HarEntry, RequestKey, add_entry};
use crate::formats::format::{DataKind, Format, Opener};
use crate::formats::input::lines::{LineParser, Output, TextLine};
use crate::formats::json::document::TimeUnit;
use crate::formats::json::outline::Outline;
use crate::formats::json::sniff::looks_like_json;
use crate::formats::json::text::{line_loss, parse};
use crate::formats::otlp::layout::{Layout, Point, ServiceSpan, span_id};
use crate::formats::output::args::ArgsWriter;
use crate::formats::output::batch::BatchBuilder;
use crate::formats::{ReadError, input};
use crate::model::{Loss, LossValue, Losses, SourcePos};

pub(crate) const FORMAT: Format = Format {
    name: "Playwright trace",
    record: "A record is a line with an object that has a type and a time.",
    sniff: looks_like_playwright,
    is_event: None,
    live: None,
    shows: &[DataKind::Spans, DataKind::Instants, DataKind::Flows, DataKind::Arguments],
    opener: Opener::Trace(|source, _| Ok(input::lines::open(source, Playwright::default()))),
};

/// Limit for the bytes of open calls and of messages that wait for their time.
const OPEN_BYTES_MAX: usize = 64 << 20;

/// Approximate bytes of a call or a log without its texts.
const CALL_BYTES: usize = 160;

/// Returns whether the first line is a trace header or a request.
fn looks_like_playwright(head: &[u8]) -> bool {
    looks_like_json(head) && {
        let outline = Outline::from_head(head);
        outline.has_all(&["type", "playwrightVersion"])
            || outline.has_all(&["type", "wallTime", "monotonicTime"])
            || outline.has_all(&["type", "version", "browserName", "options"])
            || outline.has_all(&["type", "snapshot.startedDateTime", "snapshot.request"])
    }
}

#[derive(Default)]
struct Playwright {
    layout: Layout,
    /// Offset from the clock of the trace to the time since 1970.
    offset_ns: i64,
    /// Start of the trace since 1970, until the first call relates its clock to that.
    began_ns: Option<i64>,
    /// Latest time so far, for lines without a time.
    newest_ns: Option<i64>,
    open: FxHashMap<String, OpenAction>,
    /// Console messages of version 4 by their ids, until the event that has their time.
    console_texts: FxHashMap<String, ConsoleText>,
    /// Messages before the first call, in the clock of the trace.
    early: Vec<ServiceSpan>,
    /// Bytes of open calls, console texts and early messages.
    open_bytes: usize,
    requests: u64,
}

/// A call without its end.
struct OpenAction {
    start_ns: i64,
    parent: Option<u64>,
    name: Box<[u8]>,
    args: ArgsWriter,
    logs: Vec<Point>,
    is_failed: bool,
    pos: SourcePos,
    bytes: usize,
}

impl LineParser for Playwright {
    /// Snapshots of large pages have several MiB.
    const LINE_BYTES_MAX: usize = 64 << 20;

    fn line(&mut self, line: TextLine<'_>, batch: &mut BatchBuilder) {
        if line.bytes.trim_ascii().is_empty() {
            return;
        }
        let (pos, mut copy) = (line.pos(), String::new());
        let Some(parsed) = parse::<PlaywrightLine<'_>>(line.bytes, &mut copy, pos, batch.losses()) else {
            return batch.lose(line_loss(&line), pos);
        };
        match parsed.kind.as_str() {
            "context-options" => {
                let to_ns = |time: Option<&RawValue>| TimeUnit::Milliseconds.nanos(time?).ok();
                let clocks = to_ns(parsed.wall_time).zip(to_ns(parsed.monotonic_time));
                self.offset_ns = clocks.and_then(|(wall, own_ns)| wall.checked_sub(own_ns)).unwrap_or(0);
                self.began_ns = to_ns(parsed.wall_time).filter(|_| clocks.is_none());
                self.newest_ns = to_ns(parsed.wall_time).filter(|_| clocks.is_some());
            }
            "action" => self.whole_call(parsed, pos, batch),
            "event" if parsed.metadata.is_some() => self.created_object(&parsed, pos, batch),
            "event" => self.event(&parsed, pos, batch),
            "object" if parsed.class.as_deref() == Some("ConsoleMessage") => self.console_object(&parsed, pos, batch),
            "before" => {
                self.set_clock(parsed.wall_time, parsed.start_time);
                self.begin(&parsed, pos, batch);
            }
            "after" => self.end(&parsed, pos, batch),
            "log" => self.log(&parsed, pos, batch),
            "error" => self.error(&parsed, pos, batch),
            "console" | "stdout" | "stderr" => {
                // Repairs of the line are counted already.
                let (mut copy, mut counted) = (String::new(), Losses::default());
                match parse::<PrintedLine<'_>>(line.bytes, &mut copy, pos, &mut counted) {
                    Some(printed) => self.printed(&printed, pos, batch),
                    None => batch.lose(line_loss(&line), pos),
                }
            }
            "resource-snapshot" => {
                let entry = parsed.snapshot.map(|snapshot| serde_json::from_str::<HarEntry<'_>>(snapshot.get()));
                let Some(Ok(entry)) = entry else { return batch.lose(Loss::BadRecord, pos) };
                let service = self.layout.service("requests", batch);
                self.requests += 1;
                let request = RequestKey { number: self.requests, service, pos };
                add_entry(&entry, request, &mut self.layout, batch);
            }
            "frame-snapshot" | "screencast-frame" | "input" => {}
            other => batch.lose_value(Loss::IgnoredPacket, LossValue::text(other.as_bytes()), pos),
        }
    }

    fn after_line(&mut self, out: &mut Output<'_>) -> Result<(), ReadError> {
        self.layout.flush_if_full(out)
    }

    fn finish(&mut self, out: &mut Output<'_>) -> Result<(), ReadError> {
        self.push_early();
        let mut open: Vec<_> = std::mem::take(&mut self.open).into_iter().collect();
        open.sort_by_key(|(_, call)| (call.start_ns, call.pos));
        for (id, call) in open {
            self.push(&id, call, None, out.batch);
        }
        self.layout.flush(out)
    }
}

impl Playwright {
    fn time(&mut self, millis: Option<&RawValue>) -> Option<i64> {
        let ts_ns = TimeUnit::Milliseconds.nanos(millis?).ok()?.checked_add(self.offset_ns)?;
        self.newest_ns = self.newest_ns.max(Some(ts_ns));
        Some(ts_ns)
    }

    /// Opens a call, and returns whether it is open.
    fn begin(&mut self, line: &PlaywrightLine<'_>, pos: SourcePos, batch: &mut BatchBuilder) -> bool {
        let Some(start_ns) = self.time(line.start_time) else {
            batch.lose(Loss::BadTime, pos);
            return false;
        };
        let call = || Some(format!("{}.{}", line.class.as_deref()?, line.method.as_deref()?));
        let mut name =
            line.title.clone().or_else(|| line.api_name.clone()).or_else(call).unwrap_or_else(|| "call".to_owned());
        if let Some(subtitle) = line.subtitle.as_deref().filter(|subtitle| !subtitle.is_empty()) {
            name.push(' ');
            name.push_str(subtitle);
        }
        let mut args = ArgsWriter::default();
        push_raw("params", line.params, &mut args);
        push_stack(line.stack, &mut args);
        let bytes = CALL_BYTES + name.len() + args.json.len() + line.call_id.len();
        if self.open_bytes + bytes > OPEN_BYTES_MAX {
            batch.lose(Loss::OverLimit, pos);
            return false;
        }
        self.open_bytes += bytes;
        let (name, logs, parent) = (plain(&name), Vec::new(), line.parent_id.as_deref().map(call_span_id));
        let call = OpenAction { start_ns, parent, name, args, logs, is_failed: false, pos, bytes };
        let former = self.open.insert(line.call_id.clone(), call);
        if let Some(former) = former {
            self.push(&line.call_id, former, None, batch);
        }
        true
    }

    fn end(&mut self, line: &PlaywrightLine<'_>, pos: SourcePos, batch: &mut BatchBuilder) {
        let Some(mut call) = self.open.remove(&line.call_id) else { return batch.lose(Loss::UnmatchedEnd, pos) };
        call.add_result(line);
        let end_ns = self.time(line.end_time);
        if end_ns.is_none() {
            batch.lose(Loss::BadTime, pos);
        }
        self.push(&line.call_id, call, end_ns, batch);
    }

    /// Adds a call from a line that has both its start and end.
    fn whole_call(&mut self, mut line: PlaywrightLine<'_>, pos: SourcePos, batch: &mut BatchBuilder) {
        let mut wall_time = line.wall_time;
        if let Some(metadata) = line.metadata {
            let Ok(call) = serde_json::from_str::<CallMetadata<'_>>(metadata.get()) else {
                return batch.lose(Loss::BadRecord, pos);
            };
            if call.internal || call.method.as_deref().is_some_and(|method| method.starts_with("tracing")) {
                return; // a call of Playwright itself
            }
            wall_time = call.wall_time;
            let CallMetadata { id, class, method, api_name, start_time, end_time, params, log, error, .. } = call;
            line = PlaywrightLine {
                call_id: id,
                class,
                method,
                api_name,
                start_time,
                end_time,
                params,
                log,
                error,
                ..line
            };
        }
        self.set_clock(wall_time, line.start_time);
        if !self.begin(&line, pos, batch) {
            return;
        }
        let Some(mut call) = self.open.remove(&line.call_id) else { return };
        call.add_result(&line);
        // A call that did not end has the end 0.
        let end = line.end_time.filter(|end| !matches!(end.get(), "0" | "null"));
        let end_ns = self.time(end);
        if end.is_some() && end_ns.is_none() {
            batch.lose(Loss::BadTime, pos);
        }
        self.push(&line.call_id, call, end_ns, batch);
    }

    /// Sets the clock offset of a trace without a start of its clock, from the first time in it.
    fn set_clock(&mut self, wall_time: Option<&RawValue>, own_time: Option<&RawValue>) {
        let Some(began_ns) = self.began_ns.take() else { return };
        let to_ns = |time: Option<&RawValue>| TimeUnit::Milliseconds.nanos(time?).ok();
        let distance_ns = to_ns(own_time).and_then(|own_ns| to_ns(wall_time).unwrap_or(began_ns).checked_sub(own_ns));
        self.offset_ns = distance_ns.unwrap_or(0);
        self.newest_ns = self.newest_ns.map(|own_ns| own_ns.saturating_add(self.offset_ns));
        self.push_early();
    }

    /// Adds a log to its call, while that is open.
    fn log(&mut self, line: &PlaywrightLine<'_>, pos: SourcePos, batch: &mut BatchBuilder) {
        let Some(ts_ns) = self.time(line.time) else { return batch.lose(Loss::BadTime, pos) };
        let name: Box<[u8]> = plain(line.message.as_deref().unwrap_or("log"));
        match self.open.get_mut(&line.call_id) {
            Some(call) if self.open_bytes + CALL_BYTES + name.len() <= OPEN_BYTES_MAX => {
                self.open_bytes += CALL_BYTES + name.len();
                call.bytes += CALL_BYTES + name.len();
                call.logs.push(Point { ts_ns, name, args: "".into() });
            }
            Some(_) => batch.lose(Loss::OverLimit, pos),
            // Playwright does not trace its own calls, but logs in them.
            None => batch.lose_value(Loss::IgnoredMetadata, LossValue::text(b"log"), pos),
        }
    }

    fn push(&mut self, id: &str, mut call: OpenAction, end_ns: Option<i64>, batch: &mut BatchBuilder) {
        self.open_bytes -= call.bytes;
        let service = self.layout.service("calls", batch);
        self.layout.push(ServiceSpan {
            id: call_span_id(id),
            parent: call.parent,
            args: call.args.finish().into(),
            points: call.logs,
            is_failed: call.is_failed,
            ..ServiceSpan::new(service, call.name, call.start_ns, end_ns, call.pos)
        });
    }
}

impl OpenAction {
    /// Adds the logs and the error of the line that ends the call.
    fn add_result(&mut self, line: &PlaywrightLine<'_>) {
        for (key, value) in [("log", line.log), ("error", line.error)] {
            push_raw(key, value, &mut self.args);
        }
        self.is_failed = line.error.is_some_and(has_content);
    }
}

/// Hashes the id of a call.
fn call_span_id(id: &str) -> u64 {
    span_id(b"call", id.as_bytes())
}
