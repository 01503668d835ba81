//! JSON requests, one per line as collectors write files, or a single document.

use serde::Deserialize;

use super::console::{ConsoleSpans, looks_like_console};
use super::cut_line::whole_spans;
use super::json_lines::JsonLines;
use super::json_request::{JsonDecoder, is_json_request, no_spans};
use super::logged::{decode_logged_line, looks_like_logged};
use crate::formats::format::{ArrivalKey, DataKind, Format, Opener};
use crate::formats::input::lines::{Output, TextLine};
use crate::formats::input::source::Source;
use crate::formats::json::document::Document;
use crate::formats::json::outline::Outline;
use crate::formats::json::sniff::{looks_like_json, whole_object};
use crate::formats::json::text::line_loss;
use crate::formats::output::batch::BatchBuilder;
use crate::formats::{BatchSink, ReadContext, ReadError, Reader, StreamReader};

pub(crate) const FORMAT: Format = Format {
    name: "OpenTelemetry JSON",
    record: "A span is an object with traceId, spanId, name, startTimeUnixNano and endTimeUnixNano.",
    sniff: looks_like_otlp,
    is_event: None,
    live: Some(ArrivalKey::EndWithPoints),
    shows: &[DataKind::Spans, DataKind::Instants, DataKind::Flows, DataKind::Arguments],
    opener: Opener::Trace(open),
};

/// Returns whether this is JSON with requests, or text with requests or printed spans in it.
fn looks_like_otlp(head: &[u8]) -> bool {
    is_json_request(head) || is_wrapped(head) || looks_like_console(head) || looks_like_logged(head)
}

/// Returns whether requests are elements of an array, or wrapped as in responses of Tempo and Jaeger.
fn is_wrapped(head: &[u8]) -> bool {
    looks_like_json(head) && {
        let outline = Outline::from_head(head);
        let keys = ["[].resourceSpans", "trace.resourceSpans", "result.resourceSpans", "batches[].resource"];
        keys.iter().any(|key| outline.has_all(&[key])) || is_empty_trace(head)
    }
}

/// Returns whether this is Tempo's response for a trace without spans.
fn is_empty_trace(head: &[u8]) -> bool {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "its presence tells Tempo from other tools")]
    struct EmptyTrace {
        batches: [(); 0],
    }
    whole_object::<EmptyTrace>(head).is_some()
}

/// Creates a reader of requests.
fn open(mut source: Source, context: &ReadContext) -> Result<Reader, ReadError> {
    if looks_like_console(source.head()) {
        return Ok(crate::formats::input::lines::open(source, ConsoleSpans::default()));
    }
    if !is_json_request(source.head()) && !is_wrapped(source.head()) && looks_like_logged(source.head()) {
        return Ok(crate::formats::input::lines::open(source, JsonLines::new(decode_logged_line)));
    }
    if source.is_live() {
        // A pretty-printed document is written at once, not live.
        return Ok(crate::formats::input::lines::open(source, JsonLines::new(decode_line)));
    }
    if is_wrapped(source.head()) {
        return Ok(Reader::stream(OneRequest { source }));
    }
    let first = source.head().trim_ascii_start();
    let line = first.split(|&byte| byte == b'\n').next().unwrap_or_default();
    // The first line of a pretty-printed document is not a complete request.
    let is_by_line = if line.len() < first.len() {
        line.trim_ascii_end().ends_with(b"}")
    } else {
        let mut block = vec![0; LINE_BYTES_USUAL];
        let len = source.fill(&mut block)?;
        let is_by_line = len < LINE_BYTES_USUAL || block.contains(&b'\n');
        source = Source::open(source.path(), context)?;
        is_by_line
    };
    if is_by_line {
        return Ok(crate::formats::input::lines::open(source, JsonLines::new(decode_line)));
    }
    Ok(Reader::stream(OneRequest { source }))
}

/// A longer first line is the whole file, since collectors write requests of a few MiB at most.
const LINE_BYTES_USUAL: usize = 4 << 20;

/// Decodes a line that is a request.
fn decode_line(line: TextLine<'_>, decoder: &mut JsonDecoder, batch: &mut BatchBuilder) {
    if line.bytes.trim_ascii().is_empty() {
        return;
    }
    if decoder.decode_text(line.bytes, line.pos(), batch).is_none() {
        batch.lose(line_loss(&line), line.pos());
        if !line.has_end
            && let Some(request) = whole_spans(line.bytes)
        {
            decoder.decode_text(&request, line.pos(), batch);
        }
    }
}

/// A trace that is a single request of any size.
struct OneRequest {
    source: Source,
}

impl StreamReader for OneRequest {
    fn read(self: Box<Self>, sink: &mut dyn BatchSink, context: &ReadContext) -> Result<(), ReadError> {
        let path = self.source.path().to_owned();
        let document = Document::open(self.source, context)?;
        let (mut decoder, mut batch) = (JsonDecoder::default(), BatchBuilder::new(context.chunk_limits));
        decoder.decode_document(&document, &mut Output::new(&mut batch, &mut *sink, context))?;
        if decoder.has_others_only() {
            return Err(no_spans(path));
        }
        decoder.layout.finish(&mut Output::new(&mut batch, &mut *sink, context))?;
        document.count_rest(batch.losses())?;
        batch.flush(sink)
    }
}
