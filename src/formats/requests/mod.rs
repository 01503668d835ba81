//! Request traces in JSON: spans of services with parents but without threads, laid out like OpenTelemetry spans.
//! `zipkin`, `jaeger` and `next_js` decode the spans of three tools. `har` decodes browser requests, `playwright` test
//! calls and requests.

pub(crate) mod har;
pub(crate) mod jaeger;
pub(crate) mod next_js;
pub(crate) mod playwright;
pub(crate) mod zipkin;
mod zipkin_span;
mod zipkin_v1;

#[cfg(test)]
mod tests;

use serde_json::value::RawValue;

use super::json::document::{Document, JsonExtent, TimeUnit};
use super::json::text::line_loss;
use super::otlp::layout::Layout;
use super::output::batch::BatchBuilder;
use super::{BatchSink, ReadContext, ReadError, StreamReader};
use crate::formats::input::lines::{LineParser, Output, TextLine};
use crate::formats::input::source::Source;
use crate::model::{Loss, SourcePos};

/// Decodes the spans of a document into a layout.
trait SpanDecoder: Send {
    /// Decodes the document that starts at `extent`. Returns whether it has the members that hold spans.
    fn decode(&mut self, extent: JsonExtent, sink: &mut SpanSink<'_, '_>) -> Result<bool, ReadError>;
}

/// The spans of a document on their way to the output.
struct SpanSink<'s, 'o> {
    document: &'s Document,
    layout: &'s mut Layout,
    out: &'s mut Output<'o>,
}

/// A trace that is a document of spans. Responses that were appended to one file follow each other.
struct SpanDocument<D> {
    source: Source,
    decoder: D,
}

impl<D: SpanDecoder> StreamReader for SpanDocument<D> {
    fn read(mut self: Box<Self>, sink: &mut dyn BatchSink, context: &ReadContext) -> Result<(), ReadError> {
        let document = Document::open(self.source, context)?;
        let (mut layout, mut batch) = (Layout::default(), BatchBuilder::new(context.chunk_limits));
        let mut next = Some(document.whole());
        while let Some(extent) = next {
            context.cancel.check()?;
            let out = &mut Output::new(&mut batch, &mut *sink, context);
            let mut spans = SpanSink { document: &document, layout: &mut layout, out };
            let has_spans = self.decoder.decode(extent, &mut spans)?;
            if !has_spans && extent != document.whole() && !document.is_cut() {
                batch.lose(Loss::TrailingData, extent.pos());
            }
            next = document.next_document()?;
        }
        layout.finish(&mut Output::new(&mut batch, &mut *sink, context))?;
        if batch.batch().losses.count(Loss::Truncated) == 0 {
            document.count_rest(batch.losses())?;
        }
        batch.flush(sink)
    }
}

/// Decodes spans that follow each other as values, each as it could be on a line.
fn decode_values(from: JsonExtent, decode: DecodeSpans, sink: &mut SpanSink<'_, '_>) -> Result<(), ReadError> {
    let SpanSink { document, layout, out } = sink;
    let mut values = document.values(from);
    while let Some(value) = values.next()? {
        let (pos, losses) = (SourcePos::Offset(value.offset), out.batch.losses());
        value.count_losses(losses);
        if !value.text.is_empty() && decode(value.text, pos, layout, out.batch).is_none() {
            out.batch.lose(Loss::BadRecord, pos);
        }
        layout.flush_if_full(out)?;
    }
    Ok(())
}

/// Returns whether the first line is a whole object, as if each line was.
fn begins_with_object_line(head: &[u8]) -> bool {
    let first = head.trim_ascii_start();
    let line = &first[..memchr::memchr(b'\n', first).unwrap_or(first.len())];
    let line = line.trim_ascii_end();
    line.strip_suffix(b",").unwrap_or(line).ends_with(b"}")
}

/// Decodes the spans of a line; returns `None` for a line without any.
type DecodeSpans = fn(&[u8], SourcePos, &mut Layout, &mut BatchBuilder) -> Option<()>;

/// A trace with spans on each line.
struct SpanLines {
    layout: Layout,
    decode: DecodeSpans,
}

impl SpanLines {
    fn new(decode: DecodeSpans) -> Self {
        Self { layout: Layout::default(), decode }
    }
}

impl LineParser for SpanLines {
    fn line(&mut self, line: TextLine<'_>, batch: &mut BatchBuilder) {
        let text = line.bytes.trim_ascii();
        let text = text.strip_suffix(b",").unwrap_or(text);
        if !matches!(text, b"" | b"[" | b"]") && (self.decode)(text, line.pos(), &mut self.layout, batch).is_none() {
            batch.lose(line_loss(&TextLine { bytes: text, ..line }), line.pos());
        }
    }

    fn after_line(&mut self, out: &mut Output<'_>) -> Result<(), ReadError> {
        self.layout.flush_if_full(out)
    }

    fn pause(&mut self, out: &mut Output<'_>) -> Result<(), ReadError> {
        self.layout.flush(out)
    }

    fn finish(&mut self, out: &mut Output<'_>) -> Result<(), ReadError> {
        self.layout.finish(out)
    }
}

/// Returns start and end of a span in nanoseconds, for a clock that started `offset_ns` after 1970. Without a valid
/// start, the span is counted as lost. Without a valid duration, it is unfinished; a malformed duration is counted.
fn times(
    start: Option<&RawValue>,
    duration: Option<&RawValue>,
    unit: TimeUnit,
    offset_ns: i64,
    pos: SourcePos,
    batch: &mut BatchBuilder,
) -> Option<(i64, Option<i64>)> {
    let start_ns = start.and_then(|start| unit.nanos(start).ok()?.checked_add(offset_ns));
    let Some(start_ns) = start_ns else {
        batch.lose(Loss::BadTime, pos);
        return None;
    };
    let dur_ns = duration.and_then(|duration| unit.nanos(duration).ok());
    if duration.is_some() && dur_ns.is_none() {
        batch.lose(Loss::BadNumber, pos);
    }
    Some((start_ns, dur_ns.map(|dur_ns| start_ns.saturating_add(dur_ns))))
}

/// Returns the text of an id that is a number or text.
fn id_text(id: &RawValue) -> &str {
    id.get().trim_matches('"')
}
