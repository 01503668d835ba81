//! Zipkin's spans of version 2: an array of spans, or an array of traces that are arrays
//! of spans, in microseconds since
//! 1970. Annotations are instants, and tags are arguments. A span that a server shares with its client has its id; an
//! arrow leads from the client's half to the server's. Version 1 is not read.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::{SpanDecoder, SpanDocument, or_default, times};
use crate::formats::format::{Format, Opener, Shown};
use crate::formats::input::lines::Output;
use crate::formats::json::document::{Document, JsonExtent, TimeUnit};
use crate::formats::json::outline::Outline;
use crate::formats::json::sniff::looks_like_json;
use crate::formats::otlp::layout::{Layout, Point, ServiceSpan, span_id};
use crate::formats::output::args::ArgsWriter;
use crate::formats::{ReadError, Reader};
use crate::model::{Loss, SourcePos};

pub(crate) const FORMAT: Format = Format {
    name: "Zipkin",
    sniff: looks_like_zipkin,
    shows: &[Shown::Spans, Shown::Instants, Shown::Flows, Shown::Arguments],
    opener: Opener::Capture(|source, _| {
        let is_nested = Outline::from_head(source.head()).has_all(&["[][].traceId"]);
        Ok(Reader::Stream(Box::new(SpanDocument { source: Some(source), decoder: Zipkin { is_nested } })))
    }),
};

/// Whether this is an array of spans with the ids of Zipkin, or one of such arrays.
fn looks_like_zipkin(head: &[u8]) -> bool {
    if !looks_like_json(head) {
        return false;
    }
    let outline = Outline::from_head(head);
    let has = |begin: &str| {
        let path = |key: &str| format!("{begin}.{key}");
        let has = |key: &str| outline.has_all(&[&path(key)]);
        // Next.js has the same ids, and a second start in milliseconds.
        has("traceId")
            && has("id")
            && !has("startTime")
            && !has("ph")
            && ["timestamp", "localEndpoint", "annotations", "kind"].iter().any(|key| has(key))
    };
    has("[]") || has("[][]")
}

struct Zipkin {
    /// Whether the array is one of traces.
    is_nested: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ZipkinSpan<'a> {
    #[serde(default, deserialize_with = "or_default")]
    trace_id: String,
    #[serde(default, deserialize_with = "or_default")]
    id: String,
    parent_id: Option<String>,
    #[serde(default, deserialize_with = "or_default")]
    name: String,
    kind: Option<String>,
    #[serde(borrow)]
    timestamp: Option<&'a RawValue>,
    #[serde(borrow)]
    duration: Option<&'a RawValue>,
    local_endpoint: Option<Endpoint>,
    remote_endpoint: Option<Endpoint>,
    #[serde(borrow, default, deserialize_with = "or_default")]
    annotations: Vec<Annotation<'a>>,
    #[serde(borrow)]
    tags: Option<&'a RawValue>,
    #[serde(default, deserialize_with = "or_default")]
    shared: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Endpoint {
    #[serde(default, deserialize_with = "or_default")]
    service_name: String,
    #[serde(default, deserialize_with = "or_default")]
    ipv4: String,
    #[serde(default, deserialize_with = "or_default")]
    port: u32,
}

#[derive(Deserialize)]
struct Annotation<'a> {
    #[serde(borrow)]
    timestamp: Option<&'a RawValue>,
    #[serde(default, deserialize_with = "or_default")]
    value: String,
}

impl SpanDecoder for Zipkin {
    fn take(&mut self, document: &Document, layout: &mut Layout, out: &mut Output<'_>) -> Result<(), ReadError> {
        if !self.is_nested {
            return take_spans(document, document.whole(), layout, out);
        }
        let mut traces = document.items(Some(document.whole()));
        while let Some(trace) = traces.next()? {
            take_spans(document, trace, layout, out)?;
        }
        Ok(())
    }
}

fn take_spans(
    document: &Document,
    spans: JsonExtent,
    layout: &mut Layout,
    out: &mut Output<'_>,
) -> Result<(), ReadError> {
    let mut spans = document.elements(Some(spans));
    while let Some(element) = spans.next()? {
        let place = SourcePos::Offset(element.offset);
        let Some(span) = element.parse::<ZipkinSpan<'_>>(&mut out.batch.batch.losses) else { continue };
        take_span(&span, place, layout, out);
        if layout.is_full(out.budget()) {
            layout.flush(out)?;
        }
    }
    Ok(())
}

fn take_span(span: &ZipkinSpan<'_>, place: SourcePos, layout: &mut Layout, out: &mut Output<'_>) {
    const UNIT: TimeUnit = TimeUnit::Microseconds;
    let Some((start_ns, end_ns)) = times(span.timestamp, span.duration, UNIT, 0) else {
        return out.batch.lose(Loss::BadTime, place);
    };
    let service = span.local_endpoint.as_ref().map(|endpoint| &*endpoint.service_name).filter(|name| !name.is_empty());
    let service = layout.service(service.unwrap_or("unknown service"), out.batch);
    let mut args = ArgsWriter::default();
    let parent = span.parent_id.as_deref();
    let remote = span.remote_endpoint.as_ref();
    let address = remote.filter(|remote| !remote.ipv4.is_empty()).map(|remote| match remote.port {
        0 => remote.ipv4.clone(),
        port => format!("{}:{port}", remote.ipv4),
    });
    for (key, text) in [
        ("kind", span.kind.as_deref()),
        ("trace_id", Some(&*span.trace_id)),
        ("span_id", Some(&*span.id)),
        ("parent_span_id", parent),
        ("remote_service", remote.map(|remote| &*remote.service_name)),
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
    let mut points = Vec::new();
    for annotation in &span.annotations {
        match annotation.timestamp.and_then(|timestamp| UNIT.nanos(timestamp).ok()) {
            Some(ts_ns) => points.push(Point { ts_ns, name: annotation.value.as_bytes().into(), args: "".into() }),
            None => out.batch.lose(Loss::BadTime, place),
        }
    }
    let id_of = |id: &str| span_id(span.trace_id.as_bytes(), id.as_bytes());
    // The client's half has the same id, and is what called the server's.
    let parent = if span.shared { Some(span.id.as_str()) } else { parent };
    layout.push(ServiceSpan {
        start_ns,
        end_ns,
        id: id_of(&span.id),
        parent: parent.map(id_of),
        service,
        name: span.name.as_bytes().into(),
        args: args.finish().into(),
        points,
        place,
    });
}
