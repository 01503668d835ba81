//! Playwright traces (`trace.zip`), with a JSON object per line. `trace.trace` has calls, which become spans below
//! their parents with their logs. Its console messages and program output become spans without a duration.
//! `trace.network` has requests in the form of HAR entries. Times are shifted to the time since 1970, so that both
//! files share a timeline. Snapshots, pictures and inputs are ignored, and lines of other types counted.

use rustc_hash::FxHashMap;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::har::{HarEntry, add_entry};
use crate::formats::format::{DataKind, Format, Opener};
use crate::formats::input::lines::{LineParser, Output, TextLine};
use crate::formats::json::document::TimeUnit;
use crate::formats::json::lenient::{or_default, text};
use crate::formats::json::outline::Outline;
use crate::formats::json::sniff::looks_like_json;
use crate::formats::json::text::{line_loss, parse};
use crate::formats::otlp::layout::{Layout, Point, ServiceSpan, span_id};
use crate::formats::output::args::ArgsWriter;
use crate::formats::output::batch::BatchBuilder;
use crate::formats::{ReadError, input};
use crate::model::{Loss, LossValue, SourcePos};

pub(crate) const FORMAT: Format = Format {
    name: "Playwright trace",
    record: "A record is a line with an object that has a type and a time.",
    sniff: looks_like_playwright,
    shows: &[DataKind::Spans, DataKind::Instants, DataKind::Flows, DataKind::Arguments],
    opener: Opener::Trace(|source, _| Ok(input::lines::open(source, Playwright::default()))),
};

/// Limit for the bytes of open calls.
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
    open: FxHashMap<String, OpenAction>,
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
    pos: SourcePos,
    bytes: usize,
}

/// A line of any type.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PlaywrightLine<'a> {
    #[serde(rename = "type", default, deserialize_with = "text")]
    kind: String,
    #[serde(borrow)]
    wall_time: Option<&'a RawValue>,
    #[serde(borrow)]
    monotonic_time: Option<&'a RawValue>,
    #[serde(default, deserialize_with = "text")]
    call_id: String,
    /// The call that contains this one.
    #[serde(default, deserialize_with = "text")]
    parent_id: Option<String>,
    #[serde(borrow)]
    start_time: Option<&'a RawValue>,
    #[serde(borrow)]
    end_time: Option<&'a RawValue>,
    #[serde(borrow)]
    time: Option<&'a RawValue>,
    /// The time of program output.
    #[serde(borrow)]
    timestamp: Option<&'a RawValue>,
    /// The call as written by the user.
    #[serde(default, deserialize_with = "text")]
    title: Option<String>,
    #[serde(default, deserialize_with = "text")]
    api_name: Option<String>,
    #[serde(default, deserialize_with = "text")]
    class: Option<String>,
    #[serde(default, deserialize_with = "text")]
    method: Option<String>,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
    #[serde(default, deserialize_with = "text")]
    message: Option<String>,
    #[serde(default, deserialize_with = "text")]
    message_type: Option<String>,
    #[serde(default, deserialize_with = "text")]
    text: Option<String>,
    /// Program output that is not text.
    #[serde(default, deserialize_with = "text")]
    base64: Option<String>,
    #[serde(borrow)]
    snapshot: Option<&'a RawValue>,
    #[serde(borrow)]
    log: Option<&'a RawValue>,
    #[serde(borrow)]
    metadata: Option<&'a RawValue>,
}

/// A call or an event as versions up to 3 have it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CallMetadata<'a> {
    #[serde(default, deserialize_with = "text")]
    id: String,
    #[serde(rename = "type", default, deserialize_with = "text")]
    class: Option<String>,
    #[serde(default, deserialize_with = "text")]
    method: Option<String>,
    #[serde(default, deserialize_with = "text")]
    api_name: Option<String>,
    #[serde(default, deserialize_with = "or_default")]
    internal: bool,
    #[serde(borrow)]
    start_time: Option<&'a RawValue>,
    #[serde(borrow)]
    end_time: Option<&'a RawValue>,
    #[serde(borrow)]
    wall_time: Option<&'a RawValue>,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
    #[serde(borrow)]
    log: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

/// The console message that an event of version 3 creates.
#[derive(Deserialize)]
struct CreatedMessage {
    initializer: MessageText,
}

#[derive(Deserialize)]
struct MessageText {
    #[serde(rename = "type", default, deserialize_with = "text")]
    kind: Option<String>,
    #[serde(default, deserialize_with = "text")]
    text: Option<String>,
}

impl LineParser for Playwright {
    /// Snapshots of large pages have several MiB.
    const LINE_BYTES_MAX: usize = 64 << 20;

    fn line(&mut self, line: TextLine<'_>, batch: &mut BatchBuilder) {
        if line.bytes.trim_ascii().is_empty() {
            return;
        }
        let (pos, mut copy) = (line.pos(), String::new());
        let Some(parsed) = parse::<PlaywrightLine<'_>>(line.bytes, &mut copy, pos, &mut batch.batch.losses) else {
            return batch.lose(line_loss(&line), pos);
        };
        match parsed.kind.as_str() {
            "context-options" => {
                let to_ns = |time: Option<&RawValue>| TimeUnit::Milliseconds.nanos(time?).ok();
                let clocks = to_ns(parsed.wall_time).zip(to_ns(parsed.monotonic_time));
                self.offset_ns = clocks.and_then(|(wall, own_ns)| wall.checked_sub(own_ns)).unwrap_or(0);
                self.began_ns = to_ns(parsed.wall_time).filter(|_| clocks.is_none());
            }
            "action" => self.whole_call(parsed, pos, batch),
            "event" if parsed.metadata.is_some() => self.event(&parsed, pos, batch),
            "before" => _ = self.begin(&parsed, pos, batch),
            "after" => self.end(&parsed, pos, batch),
            "log" => self.log(&parsed, pos, batch),
            "console" => {
                let kind = parsed.message_type.as_deref().unwrap_or("log");
                self.message(kind, (parsed.text.as_deref(), None), parsed.time, pos, batch);
            }
            "stdout" | "stderr" => {
                let text = parsed.text.as_deref().map(|text| text.trim_end_matches(['\n', '\r']));
                let content = (text, parsed.base64.as_deref());
                self.message(&parsed.kind, content, parsed.timestamp, pos, batch);
            }
            "resource-snapshot" => {
                let entry = parsed.snapshot.map(|snapshot| serde_json::from_str::<HarEntry<'_>>(snapshot.get()));
                let Some(Ok(entry)) = entry else { return batch.lose(Loss::BadRecord, pos) };
                let service = self.layout.service("requests", batch);
                self.requests += 1;
                add_entry(&entry, self.requests, service, pos, &mut self.layout, batch);
            }
            "frame-snapshot" | "screencast-frame" | "input" => {}
            // Errors of a test, for example, have no time.
            other => batch.lose_value(Loss::IgnoredPacket, LossValue::text(other.as_bytes()), pos),
        }
    }

    fn after_line(&mut self, out: &mut Output<'_>) -> Result<(), ReadError> {
        self.layout.flush_if_full(out)
    }

    fn finish(&mut self, out: &mut Output<'_>) -> Result<(), ReadError> {
        let mut open: Vec<_> = std::mem::take(&mut self.open).into_iter().collect();
        open.sort_by_key(|(_, call)| (call.start_ns, call.pos));
        for (id, call) in open {
            // End 0 means unfinished.
            self.push(&id, call, 0, out.batch);
        }
        self.layout.flush(out)
    }
}

impl Playwright {
    fn time(&self, millis: Option<&RawValue>) -> Option<i64> {
        TimeUnit::Milliseconds.nanos(millis?).ok()?.checked_add(self.offset_ns)
    }

    /// Opens a call, and returns whether it is open.
    fn begin(&mut self, line: &PlaywrightLine<'_>, pos: SourcePos, batch: &mut BatchBuilder) -> bool {
        let Some(start_ns) = self.time(line.start_time) else {
            batch.lose(Loss::BadTime, pos);
            return false;
        };
        let call = || Some(format!("{}.{}", line.class.as_deref()?, line.method.as_deref()?));
        let name =
            line.title.clone().or_else(|| line.api_name.clone()).or_else(call).unwrap_or_else(|| "call".to_owned());
        let mut args = ArgsWriter::default();
        if let Some(params) = line.params.filter(|params| !matches!(params.get(), "null" | "{}")) {
            args.key("", b"params");
            args.json.push_str(params.get());
        }
        let bytes = CALL_BYTES + name.len() + args.json.len() + line.call_id.len();
        if self.open_bytes + bytes > OPEN_BYTES_MAX {
            batch.lose(Loss::OverLimit, pos);
            return false;
        }
        self.open_bytes += bytes;
        let (name, logs, parent) = (name.as_bytes().into(), Vec::new(), line.parent_id.as_deref().map(call_span_id));
        let call = OpenAction { start_ns, parent, name, args, logs, pos, bytes };
        let former = self.open.insert(line.call_id.clone(), call);
        if let Some(former) = former {
            self.push(&line.call_id, former, 0, batch);
        }
        true
    }

    fn end(&mut self, line: &PlaywrightLine<'_>, pos: SourcePos, batch: &mut BatchBuilder) {
        let Some(mut call) = self.open.remove(&line.call_id) else { return batch.lose(Loss::UnmatchedEnd, pos) };
        if let Some(error) = line.error.filter(|error| error.get() != "null") {
            call.args.key("", b"error");
            call.args.json.push_str(error.get());
        }
        let end_ns = self.time(line.end_time);
        if end_ns.is_none() {
            batch.lose(Loss::BadTime, pos);
        }
        self.push(&line.call_id, call, end_ns.unwrap_or(0), batch);
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
        let has = |value: &&RawValue| !matches!(value.get(), "null" | "[]");
        for (key, value) in [("log", line.log), ("error", line.error)] {
            if let Some(value) = value.filter(has) {
                call.args.key("", key.as_bytes());
                call.args.json.push_str(value.get());
            }
        }
        // A call that did not end has the end 0.
        let end_ns = line.end_time.filter(|end| !matches!(end.get(), "0" | "null"));
        let end_ns = end_ns.map_or(Some(0), |end| self.time(Some(end)));
        if end_ns.is_none() {
            batch.lose(Loss::BadTime, pos);
        }
        self.push(&line.call_id, call, end_ns.unwrap_or(0), batch);
    }

    /// Adds an event of version 3 if it is a console message; others have no time.
    fn event(&mut self, line: &PlaywrightLine<'_>, pos: SourcePos, batch: &mut BatchBuilder) {
        let Some(metadata) = line.metadata else { return };
        let Ok(event) = serde_json::from_str::<CallMetadata<'_>>(metadata.get()) else {
            return batch.lose(Loss::BadRecord, pos);
        };
        if event.class.as_deref() != Some("ConsoleMessage") || event.method.as_deref() != Some("__create__") {
            return;
        }
        let message = event.params.map(|params| serde_json::from_str::<CreatedMessage>(params.get()));
        let Some(Ok(CreatedMessage { initializer })) = message else { return batch.lose(Loss::BadRecord, pos) };
        self.set_clock(event.wall_time, event.start_time);
        let kind = initializer.kind.as_deref().unwrap_or("log");
        self.message(kind, (initializer.text.as_deref(), None), event.start_time, pos, batch);
    }

    /// Sets the clock offset of a trace without a start of its clock, from the first time in it.
    fn set_clock(&mut self, wall_time: Option<&RawValue>, own_time: Option<&RawValue>) {
        let Some(began_ns) = self.began_ns.take() else { return };
        let to_ns = |time: Option<&RawValue>| TimeUnit::Milliseconds.nanos(time?).ok();
        let distance_ns = to_ns(own_time).and_then(|own_ns| to_ns(wall_time).unwrap_or(began_ns).checked_sub(own_ns));
        self.offset_ns = distance_ns.unwrap_or(0);
    }

    /// Adds a log to its call, while that is open.
    fn log(&mut self, line: &PlaywrightLine<'_>, pos: SourcePos, batch: &mut BatchBuilder) {
        let Some(ts_ns) = self.time(line.time) else { return batch.lose(Loss::BadTime, pos) };
        let name: Box<[u8]> = line.message.as_deref().unwrap_or("log").as_bytes().into();
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

    /// Adds a message as a span of zero duration, so that its text can be long and it has its own row.
    fn message(
        &mut self,
        kind: &str,
        (text, base64): (Option<&str>, Option<&str>),
        time: Option<&RawValue>,
        pos: SourcePos,
        batch: &mut BatchBuilder,
    ) {
        let Some(ts_ns) = self.time(time) else { return batch.lose(Loss::BadTime, pos) };
        let mut args = ArgsWriter::default();
        args.text("type", kind.as_bytes());
        if let Some(base64) = base64 {
            args.text("base64", base64.as_bytes());
        }
        let name = text.unwrap_or("console").as_bytes().into();
        let service = self.layout.service("console", batch);
        self.layout.push(ServiceSpan {
            start_ns: ts_ns,
            end_ns: ts_ns,
            id: 0,
            parent: None,
            service,
            name,
            args: args.finish().into(),
            resource: None,
            points: Vec::new(),
            pos,
        });
    }

    fn push(&mut self, id: &str, mut call: OpenAction, end_ns: i64, batch: &mut BatchBuilder) {
        self.open_bytes -= call.bytes;
        let service = self.layout.service("calls", batch);
        self.layout.push(ServiceSpan {
            start_ns: call.start_ns,
            end_ns,
            id: call_span_id(id),
            parent: call.parent,
            service,
            name: call.name,
            args: call.args.finish().into(),
            resource: None,
            points: call.logs,
            pos: call.pos,
        });
    }
}

/// Hashes the id of a call.
fn call_span_id(id: &str) -> u64 {
    span_id(b"call", id.as_bytes())
}
