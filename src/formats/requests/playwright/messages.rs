//! Console messages, errors, events and program output of a Playwright trace. Each is a span of zero duration, so that
//! its text can be long and it has its own row.

use std::io::Read as _;

use serde_json::value::RawValue;

use super::wire::{
    CallMetadata, ConsoleText, CreatedMessage, MessageEvent, PageErrorEvent, PlaywrightLine, PrintedLine, StackPosition,
};
use super::{CALL_BYTES, OPEN_BYTES_MAX, Playwright};
use crate::formats::input::base64::Base64Reader;
use crate::formats::input::text::without_colours;
use crate::formats::json::text::without_escaped_colours;
use crate::formats::otlp::layout::ServiceSpan;
use crate::formats::output::args::ArgsWriter;
use crate::formats::output::batch::BatchBuilder;
use crate::model::{Loss, SourcePos};

/// Returns the text of output that is not valid UTF-8, with replacement characters. Returns `None` for binary data.
fn text_of_base64(base64: &str) -> Option<String> {
    let mut bytes = Vec::new();
    Base64Reader::new(base64.as_bytes()).read_to_end(&mut bytes).ok()?;
    (!bytes.contains(&0)).then(|| String::from_utf8_lossy(&bytes).into_owned())
}

impl Playwright {
    /// Adds a console message, or output of the program.
    pub(super) fn printed(&mut self, line: &PrintedLine<'_>, pos: SourcePos, batch: &mut BatchBuilder) {
        let is_console = line.kind == "console";
        let kind = if is_console { line.message_type.as_deref().unwrap_or("log") } else { &line.kind };
        let time = if is_console { line.time } else { line.timestamp };
        let mut args = typed(kind);
        let decoded = line.base64.as_deref().and_then(text_of_base64);
        if let (Some(base64), None) = (&line.base64, &decoded) {
            args.text("base64", base64.as_bytes());
        }
        let text = line.text.as_deref().or(decoded.as_deref());
        let text = text.map(|text| if is_console { text } else { text.trim_end_matches(['\n', '\r']) });
        let name = text.filter(|text| is_console || !text.is_empty());
        self.message(name.unwrap_or(if is_console { "console" } else { kind }), args, time, pos, batch);
    }

    /// Adds an error of a test. It has no time, and its line follows the lines of the failed call.
    pub(super) fn error(&mut self, line: &PlaywrightLine<'_>, pos: SourcePos, batch: &mut BatchBuilder) {
        let mut args = typed("test error");
        push_stack(line.stack, &mut args);
        let name = line.message.as_deref().unwrap_or("error");
        match self.newest_ns.or(self.began_ns) {
            Some(ts_ns) => self.push_message(name, args, ts_ns, pos, batch),
            None => batch.lose(Loss::BadTime, pos),
        }
    }

    /// Adds an event of a version from 4 on. The text of a console message of version 4 is in an earlier line.
    pub(super) fn event(&mut self, line: &PlaywrightLine<'_>, pos: SourcePos, batch: &mut BatchBuilder) {
        let params = line.params.map_or("null", RawValue::get);
        let method = line.method.as_deref().unwrap_or("event");
        if method == "console"
            && let Ok(MessageEvent { message }) = serde_json::from_str(params)
            && let Some(ConsoleText { kind, text }) = self.take_console_text(&message.guid)
        {
            let args = typed(kind.as_deref().unwrap_or("log"));
            return self.message(text.as_deref().unwrap_or("console"), args, line.time, pos, batch);
        }
        let mut args = typed(method);
        if method == "pageerror"
            && let Ok(PageErrorEvent { error: thrown }) = serde_json::from_str(params)
        {
            let value = thrown.value.map(RawValue::get);
            let error = thrown.error.unwrap_or_default();
            if let Some(stack) = &error.stack {
                args.text("stack", &without_colours(stack.as_bytes()));
            }
            let name = if error.message.is_empty() { value.unwrap_or(method) } else { &error.message };
            return self.message(name, args, line.time, pos, batch);
        }
        push_raw("params", line.params, &mut args);
        let class = line.class.as_deref().unwrap_or("event");
        self.message(&format!("{class}.{method}"), args, line.time, pos, batch);
    }

    /// Stores the text of a console message of version 4 until its event.
    pub(super) fn console_object(&mut self, line: &PlaywrightLine<'_>, pos: SourcePos, batch: &mut BatchBuilder) {
        let text = line.initializer.map(|initializer| serde_json::from_str::<ConsoleText>(initializer.get()));
        let Some(Ok(text)) = text else { return batch.lose(Loss::BadRecord, pos) };
        let bytes = text.bytes() + line.guid.len();
        if self.open_bytes + bytes > OPEN_BYTES_MAX {
            return batch.lose(Loss::OverLimit, pos);
        }
        self.open_bytes += bytes;
        if let Some(former) = self.console_texts.insert(line.guid.clone(), text) {
            self.open_bytes -= former.bytes() + line.guid.len();
        }
    }

    fn take_console_text(&mut self, guid: &str) -> Option<ConsoleText> {
        let text = self.console_texts.remove(guid)?;
        self.open_bytes -= text.bytes() + guid.len();
        Some(text)
    }

    /// Adds an event of version 3 if it creates a console message.
    pub(super) fn created_object(&mut self, line: &PlaywrightLine<'_>, pos: SourcePos, batch: &mut BatchBuilder) {
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
        let args = typed(initializer.kind.as_deref().unwrap_or("log"));
        self.message(initializer.text.as_deref().unwrap_or("console"), args, event.start_time, pos, batch);
    }

    fn message(
        &mut self,
        name: &str,
        args: ArgsWriter,
        time: Option<&RawValue>,
        pos: SourcePos,
        batch: &mut BatchBuilder,
    ) {
        match self.time(time) {
            Some(ts_ns) => self.push_message(name, args, ts_ns, pos, batch),
            None => batch.lose(Loss::BadTime, pos),
        }
    }

    /// Adds a message. Before the first call, the offset of its clock may not be known yet.
    fn push_message(&mut self, name: &str, mut args: ArgsWriter, ts_ns: i64, pos: SourcePos, batch: &mut BatchBuilder) {
        let service = self.layout.service("console", batch);
        let span = ServiceSpan::new(service, plain(name), ts_ns, Some(ts_ns), pos);
        let span = ServiceSpan { args: args.finish().into(), ..span };
        if self.began_ns.is_none() || self.newest_ns.is_none() {
            return self.layout.push(span);
        }
        let bytes = message_bytes(&span);
        if self.open_bytes + bytes > OPEN_BYTES_MAX {
            return batch.lose(Loss::OverLimit, pos);
        }
        self.open_bytes += bytes;
        self.early.push(span);
    }

    /// Adds the messages before the first call. Without any call, the trace begins with the first of them.
    pub(super) fn push_early(&mut self) {
        if let (Some(began_ns), Some(first)) = (self.began_ns.take(), self.early.first()) {
            self.offset_ns = began_ns.saturating_sub(first.start_ns);
        }
        for mut span in std::mem::take(&mut self.early) {
            self.open_bytes -= message_bytes(&span);
            span.start_ns = span.start_ns.saturating_add(self.offset_ns);
            span.end_ns = Some(span.start_ns);
            self.layout.push(span);
        }
    }
}

impl ConsoleText {
    fn bytes(&self) -> usize {
        CALL_BYTES + [&self.kind, &self.text].into_iter().flatten().map(String::len).sum::<usize>()
    }
}

fn message_bytes(span: &ServiceSpan) -> usize {
    CALL_BYTES + span.name.len() + span.args.len()
}

fn typed(kind: &str) -> ArgsWriter {
    let mut args = ArgsWriter::default();
    args.text("type", kind.as_bytes());
    args
}

/// Returns a text without the colours of a terminal, in which test runners print errors.
pub(super) fn plain(text: &str) -> Box<[u8]> {
    without_colours(text.as_bytes()).into()
}

/// Adds a value, unless it is empty.
pub(super) fn push_raw(key: &str, value: Option<&RawValue>, args: &mut ArgsWriter) {
    if let Some(value) = value.filter(|value| has_content(value)) {
        args.key("", key.as_bytes());
        args.json.push_str(&without_escaped_colours(value.get()));
    }
}

/// Returns whether a value is neither `null` nor empty.
pub(super) fn has_content(value: &RawValue) -> bool {
    !matches!(value.get(), "null" | "{}" | "[]")
}

/// Adds source positions as a list of texts, innermost first.
pub(super) fn push_stack(stack: Option<&RawValue>, args: &mut ArgsWriter) {
    let positions = stack.map(|stack| serde_json::from_str::<Vec<StackPosition>>(stack.get()));
    let Some(Ok(positions)) = positions else { return push_raw("stack", stack, args) };
    if positions.is_empty() {
        return;
    }
    let texts: Vec<String> =
        positions.iter().map(|StackPosition { file, line, column }| format!("{file}:{line}:{column}")).collect();
    args.key("", b"stack");
    args.json.push_str(&serde_json::Value::from(texts).to_string());
}
