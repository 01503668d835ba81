//! Spans that OpenTelemetry console exporters print between other program output: multi-line objects as JSON (Python,
//! Go, and PHP in arrays) or as JavaScript (Node.js), possibly in colours. Other lines, including JSON logs, are only
//! counted. Refuses the text formats of .NET, Rust, C++ and Ruby. Java's logging exporter prints no times.

mod inspect;
mod span;
#[cfg(test)]
mod tests;

use memchr::memmem;

use self::span::ConsoleSpan;
use super::layout::Layout;
use crate::formats::ReadError;
use crate::formats::input::lines::{LineParser, Output, TextLine, head_lines};
use crate::formats::input::source::HEAD_BYTES;
use crate::formats::input::text::without_colours;
use crate::formats::json::outline::Outline;
use crate::formats::output::batch::BatchBuilder;
use crate::model::{Loss, SourcePos};

/// Limit for the text of a span or an array of spans. A span usually takes a few KiB, and PHP prints up to 512 at once.
const SPAN_TEXT_MAX: usize = 4 << 20;

/// Returns whether any line starts an object that is a span of a console exporter.
pub(super) fn looks_like_console(head: &[u8]) -> bool {
    let head = without_colours(head);
    let mut at = 0;
    for line in head_lines(&head) {
        if line.starts_with(b"{") {
            let rest = &head[at.min(head.len())..];
            let rest = &rest[..rest.len().min(HEAD_BYTES)];
            let object = &rest[..memmem::find(rest, b"\n}").unwrap_or(rest.len())];
            let outline = Outline::from_head(if line.len() > 1 { line } else { object });
            if outline.has_all(&["context.trace_id", "context.span_id", "start_time"])
                || outline.has_all(&["SpanContext.TraceID", "StartTime"])
                || outline.has_all(&["resource.attributes", "scope.name", "scope.spans"])
                || line == b"{" && is_inspected(object)
            {
                return true;
            }
        }
        if line == b"[" && looks_like_php(&head[(at + 1).min(head.len())..]) {
            return true;
        }
        at += line.len() + 1;
        at += usize::from(head.get(at - 1) == Some(&b'\r'));
    }
    false
}

/// Returns whether the first element of an array is a span of PHP.
fn looks_like_php(elements: &[u8]) -> bool {
    let elements = elements[..elements.len().min(HEAD_BYTES)].trim_ascii_start();
    elements.starts_with(b"{")
        && Outline::from_head(elements).has_all(&["context.trace_id", "context.span_id", "start", "end"])
}

/// Returns whether a JavaScript object has the members of a span.
fn is_inspected(text: &[u8]) -> bool {
    let has = |key: &[u8]| memmem::find(text, key).is_some();
    has(b"traceId: '") && has(b"\n  timestamp: ") && has(b"\n  duration: ")
}

/// Returns whether damaged text is probably a span: it has the ids of a span, or begins as exporters begin a span.
fn is_of_span(text: &[u8]) -> bool {
    let has = |key: &[u8]| memmem::find(text, key).is_some();
    has(b"\"context\"") && has(b"\"trace_id\"")
        || has(b"\"SpanContext\"")
        || has(b"traceId: '") && has(b"\n  instrumentationScope: ")
        || text.starts_with(b"{\n  resource: {")
}

/// Parses spans from console lines.
#[derive(Default)]
pub(super) struct ConsoleSpans {
    /// The current object, and the position of its start.
    text: Vec<u8>,
    pos: Option<SourcePos>,
    layout: Layout,
}

impl ConsoleSpans {
    /// Counts the current object, which is not a whole span, as lost or as lines of the program.
    fn lose(&self, loss: Loss, pos: SourcePos, batch: &mut BatchBuilder) {
        if is_of_span(&self.text) {
            return batch.lose(loss, pos);
        }
        let lines = self.text.split(|&byte| byte == b'\n').filter(|line| !line.trim_ascii().is_empty());
        batch.losses().add_many(Loss::IgnoredMetadata, pos, lines.count() as u64);
    }
}

impl LineParser for ConsoleSpans {
    fn line(&mut self, line: TextLine<'_>, batch: &mut BatchBuilder) {
        let bytes = &*without_colours(line.bytes);
        let begins = bytes.starts_with(b"{") || bytes == b"[";
        if let Some(pos) = self.pos.filter(|_| begins || self.text.len() > SPAN_TEXT_MAX) {
            self.lose(Loss::BadRecord, pos, batch);
            self.pos = None;
        }
        if self.pos.is_none() {
            if !begins {
                let is_empty = bytes.trim_ascii().is_empty();
                return batch.losses().add_many(Loss::IgnoredMetadata, line.pos(), u64::from(!is_empty));
            }
            self.text.clear();
            self.pos = Some(line.pos());
        }
        self.text.extend_from_slice(bytes);
        self.text.push(b'\n');
        let ends = matches!(bytes, b"}" | b"}," | b"]") || begins && bytes.trim_ascii_end().ends_with(b"}");
        if ends && let Some(pos) = self.pos.take() {
            match ConsoleSpan::all_from_text(&self.text) {
                Some(spans) => spans.into_iter().for_each(|span| match span {
                    Some(span) => span.push(pos, &mut self.layout, batch),
                    None => batch.lose(line.loss(), pos),
                }),
                None => self.lose(line.loss(), pos, batch),
            }
        }
    }

    fn after_line(&mut self, out: &mut Output<'_>) -> Result<(), ReadError> {
        self.layout.flush_if_full(out)
    }

    fn pause(&mut self, out: &mut Output<'_>) -> Result<(), ReadError> {
        self.layout.flush(out)
    }

    fn finish(&mut self, out: &mut Output<'_>) -> Result<(), ReadError> {
        if let Some(pos) = self.pos {
            self.lose(Loss::Truncated, pos, out.batch);
        }
        self.layout.finish(out)
    }
}
