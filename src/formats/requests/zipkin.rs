//! Zipkin spans: an array of spans, an array of traces, or lines of either, with microseconds since 1970. Annotations
//! become instants, tags arguments. A span that a server shares with its client has the same id; a flow connects the
//! client's side to the server's. Without the client's side, the server's side is below the parent of the span. Spans
//! of version 1 are decoded by `zipkin_v1`.

use serde_json::value::RawValue;

use super::zipkin_span::{SpanSide, ZipkinSpan};
use super::{SpanDecoder, SpanDocument, SpanLines, SpanSink, begins_with_object_line, decode_values, times, zipkin_v1};
use crate::formats::format::{DataKind, Format, Opener};
use crate::formats::input::lines::head_lines;
use crate::formats::json::document::{JsonExtent, TimeUnit};
use crate::formats::json::outline::Outline;
use crate::formats::json::sniff::{looks_like_json, whole_document};
use crate::formats::json::text::parse;
use crate::formats::otlp::layout::{Layout, Point, ServiceSpan, span_id};
use crate::formats::output::args::ArgsWriter;
use crate::formats::output::batch::BatchBuilder;
use crate::formats::{ReadError, Reader, input};
use crate::model::{Loss, SourcePos};

pub(crate) const FORMAT: Format = Format {
    name: "Zipkin",
    record: "A span is an object with traceId, id, timestamp and duration.",
    sniff: looks_like_zipkin,
    is_event: None,
    live: None,
    shows: &[DataKind::Spans, DataKind::Instants, DataKind::Flows, DataKind::Arguments],
    opener: Opener::Trace(|source, _| {
        let outline = Outline::from_head(source.head());
        let is_bare = outline.has_all(&["traceId"]);
        if is_bare && begins_with_object_line(source.head()) || has_array_lines(source.head()) {
            return Ok(input::lines::open(source, SpanLines::new(decode_line)));
        }
        let is_nested = outline.has_all(&["[][].traceId"]) || has_empty_traces(source.head());
        Ok(Reader::stream(SpanDocument { source, decoder: Zipkin { is_nested, is_bare } }))
    }),
};

/// Returns whether this is an array of spans with Zipkin ids, or an array of such arrays.
fn looks_like_zipkin(head: &[u8]) -> bool {
    if !looks_like_json(head) {
        return false;
    }
    let outline = Outline::from_head(head);
    let has = |begin: &str| {
        let path = |key: &str| format!("{begin}.{key}");
        let has = |key: &str| outline.has_all(&[&path(key)]);
        // Next.js has the same ids, and also a start time in milliseconds.
        has("traceId")
            && has("id")
            && !has("startTime")
            && !has("ph")
            && ["timestamp", "localEndpoint", "annotations", "kind"].iter().any(|key| has(key))
    };
    let has_one = || {
        outline.has_all(&["traceId", "id", "name"])
            && (outline.has_all(&["localEndpoint.serviceName"]) || outline.has_all(&["annotations[].endpoint"]))
    };
    has("[]") || has("[][]") || has_one() || has_empty_traces(head)
}

/// Returns whether the document is an array of empty traces. An empty array may be a result of other tools.
fn has_empty_traces(head: &[u8]) -> bool {
    whole_document::<Vec<[(); 0]>>(head).is_some_and(|traces| !traces.is_empty())
}

/// Returns whether the first two lines are arrays of objects.
fn has_array_lines(head: &[u8]) -> bool {
    let is_array = |line: &&[u8]| line.starts_with(b"[{") && line.ends_with(b"}]");
    head_lines(head).filter(|line| !line.is_empty()).take(2).filter(is_array).count() == 2
}

struct Zipkin {
    /// Whether the document is an array of traces.
    is_nested: bool,
    /// Whether the document is a span, possibly before others.
    is_bare: bool,
}

impl SpanDecoder for Zipkin {
    fn decode(&mut self, extent: JsonExtent, sink: &mut SpanSink<'_, '_>) -> Result<bool, ReadError> {
        if self.is_bare {
            decode_values(extent, decode_line, sink)?;
            return Ok(true);
        }
        let is_array = sink.document.is_array(extent)?;
        if !self.is_nested {
            decode_spans(extent, sink)?;
            return Ok(is_array);
        }
        let mut traces = sink.document.items(Some(extent));
        while let Some(trace) = traces.next()? {
            decode_spans(trace, sink)?;
        }
        Ok(is_array)
    }
}

fn decode_spans(spans: JsonExtent, sink: &mut SpanSink<'_, '_>) -> Result<(), ReadError> {
    let SpanSink { document, layout, out } = sink;
    let mut spans = document.elements(Some(spans));
    while let Some(element) = spans.next()? {
        let pos = SourcePos::Offset(element.offset);
        let Some(span) = element.parse::<ZipkinSpan<'_>>(out.batch.losses()) else { continue };
        add_span(&span, pos, layout, out.batch);
        layout.flush_if_full(out)?;
    }
    Ok(())
}

/// Decodes a line with a span or an array of spans.
fn decode_line(line: &[u8], pos: SourcePos, layout: &mut Layout, batch: &mut BatchBuilder) -> Option<()> {
    let mut copy = String::new();
    if line.starts_with(b"[") {
        let spans: Vec<&RawValue> = parse(line, &mut copy, pos, batch.losses())?;
        for span in spans {
            match serde_json::from_str(span.get()) {
                Ok(span) => add_span(&span, pos, layout, batch),
                Err(_) => batch.lose(Loss::BadRecord, pos),
            }
        }
    } else {
        let span = parse(line, &mut copy, pos, batch.losses())?;
        add_span(&span, pos, layout, batch);
    }
    Some(())
}

const UNIT: TimeUnit = TimeUnit::Microseconds;

fn add_span(span: &ZipkinSpan<'_>, pos: SourcePos, layout: &mut Layout, batch: &mut BatchBuilder) {
    let sides = zipkin_v1::span_sides(span);
    if !sides.is_empty() {
        batch.losses().add_many(Loss::BadRecord, pos, span.bad_count());
        // The annotations may have these times too.
        let own_times = [span.timestamp, span.duration].into_iter().flatten();
        let bad_times = own_times.filter(|time| UNIT.nanos(time).is_err()).count();
        batch.losses().add_many(Loss::BadNumber, pos, bad_times as u64);
        return sides.iter().for_each(|side| add_side(span, side, pos, layout, batch));
    }
    let Some((start_ns, end_ns)) = times(span.timestamp, span.duration, UNIT, 0, pos, batch) else { return };
    batch.losses().add_many(Loss::BadRecord, pos, span.bad_count());
    let side = SpanSide {
        service: span.local_endpoint.as_ref().map(|endpoint| &*endpoint.service_name),
        kind: span.kind.as_deref(),
        start_ns,
        end_ns,
        remote: span.remote_endpoint.as_ref().map(|remote| &*remote.service_name),
        is_shared: span.is_shared(),
    };
    add_side(span, &side, pos, layout, batch);
}

fn add_side(span: &ZipkinSpan<'_>, side: &SpanSide<'_>, pos: SourcePos, layout: &mut Layout, batch: &mut BatchBuilder) {
    let service = side.service.filter(|name| !name.is_empty()).unwrap_or("unknown service");
    let service = layout.service(service, batch);
    let mut args = ArgsWriter::default();
    let parent = span.parent_id.as_deref();
    let remote = span.remote_endpoint.as_ref();
    let address = remote.filter(|remote| !remote.ipv4.is_empty()).map(|remote| match &*remote.port {
        "" | "0" => remote.ipv4.clone(),
        port => format!("{}:{port}", remote.ipv4),
    });
    for (key, text) in [
        ("kind", side.kind),
        ("trace_id", Some(&*span.trace_id)),
        ("span_id", Some(&*span.id)),
        ("parent_span_id", parent),
        ("remote_service", side.remote),
        ("remote_address", address.as_deref()),
    ] {
        if let Some(text) = text.filter(|text| !text.is_empty()) {
            args.text(key, text.as_bytes());
        }
    }
    if let Some(tags) = span.tags.filter(|tags| !matches!(tags.get(), "null" | "{}")) {
        args.key("", b"tags");
        args.json.push_str(tags.get());
    }
    zipkin_v1::write_tags(span, &mut args);
    let mut points = Vec::new();
    for annotation in &*span.annotations {
        let is_others = annotation.endpoint.as_ref().is_some_and(|endpoint| {
            side.service.is_some_and(|service| !endpoint.service_name.is_empty() && endpoint.service_name != service)
        });
        if is_others {
            continue;
        }
        match annotation.timestamp.and_then(|timestamp| UNIT.nanos(timestamp).ok()) {
            Some(ts_ns) => points.push(Point { ts_ns, name: annotation.value.as_bytes().into(), args: "".into() }),
            None => batch.lose(Loss::BadTime, pos),
        }
    }
    let id_of = |id: &str| span_id(span.trace_id.as_bytes(), id.as_bytes());
    let laid_out = ServiceSpan {
        id: id_of(&span.id),
        parent: parent.map(id_of),
        args: args.finish().into(),
        points,
        is_failed: span.is_failed(),
        ..ServiceSpan::new(service, span.name.as_bytes(), side.start_ns, side.end_ns, pos)
    };
    if side.is_shared {
        layout.push_shared(&span.trace_id, laid_out);
    } else {
        layout.push_of_trace(&span.trace_id, laid_out);
    }
}
