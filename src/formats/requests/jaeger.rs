//! Jaeger JSON, as its API returns and its UI saves it: `data` is an array of traces, each with spans and processes.
//! The traces may also be a bare array, or the document a single trace. Each line may be a span with its process, as
//! Jaeger stores them in Elasticsearch. Times are microseconds since 1970. Logs become instants, tags arguments.

use rustc_hash::FxHashMap;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{SpanDecoder, SpanDocument, SpanLines, or_default, times};
use crate::formats::format::{Format, Opener, Shown};
use crate::formats::input::lines::Output;
use crate::formats::json::document::{Document, JsonExtent, TimeUnit};
use crate::formats::json::outline::Outline;
use crate::formats::json::sniff::looks_like_json;
use crate::formats::otlp::layout::{Layout, Point, ServiceSpan, span_id};
use crate::formats::output::args::ArgsWriter;
use crate::formats::output::batch::BatchBuilder;
use crate::formats::{ReadError, Reader, input};
use crate::model::{Loss, SourcePos};

pub(crate) const FORMAT: Format = Format {
    name: "Jaeger",
    record: "A span is an object with traceID, spanID, operationName, startTime and duration.",
    sniff: looks_like_jaeger,
    shows: &[Shown::Spans, Shown::Instants, Shown::Flows, Shown::Arguments],
    opener: Opener::Capture(|source, _| {
        if is_lines(&Outline::from_head(source.head())) {
            return Ok(input::lines::open(source, SpanLines::new(take_line)));
        }
        Ok(Reader::Stream(Box::new(SpanDocument { source: Some(source), decoder: Jaeger })))
    }),
};

/// Returns whether each line is a span, possibly in an Elasticsearch hit.
fn is_lines(outline: &Outline) -> bool {
    outline.has_all(&["traceID", "operationName"]) || outline.has_all(&["_source.traceID", "_source.operationName"])
}

/// Returns whether this is an object whose `data` contains traces with spans, or a bare trace or array.
fn looks_like_jaeger(head: &[u8]) -> bool {
    looks_like_json(head) && {
        let outline = Outline::from_head(head);
        outline.has_all(&["data", "data[].spans"]) && !outline.has_all(&["traceEvents"])
            || outline.has_all(&["data[].traceID"])
            || outline.has_all(&["spans[].operationName"])
            || outline.has_all(&["[].spans[].operationName"])
            || is_lines(&outline)
    }
}

struct Jaeger;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct JaegerSpan<'a> {
    #[serde(rename = "traceID", default, deserialize_with = "or_default")]
    trace_id: String,
    #[serde(rename = "spanID", default, deserialize_with = "or_default")]
    span_id: String,
    /// The parent in old traces; newer ones have it in the references.
    #[serde(rename = "parentSpanID")]
    parent_span_id: Option<String>,
    #[serde(default, deserialize_with = "or_default")]
    operation_name: String,
    #[serde(default, deserialize_with = "or_default")]
    references: Vec<Reference>,
    #[serde(borrow)]
    start_time: Option<&'a RawValue>,
    #[serde(borrow)]
    duration: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "or_default")]
    tags: Vec<Tag<'a>>,
    #[serde(borrow, default, deserialize_with = "or_default")]
    logs: Vec<Log<'a>>,
    #[serde(rename = "processID", default, deserialize_with = "or_default")]
    process_id: String,
    process: Option<JaegerProcess>,
    #[serde(default, deserialize_with = "or_default")]
    warnings: Vec<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Reference {
    #[serde(default, deserialize_with = "or_default")]
    ref_type: String,
    #[serde(rename = "traceID", default, deserialize_with = "or_default")]
    trace_id: String,
    #[serde(rename = "spanID", default, deserialize_with = "or_default")]
    span_id: String,
}

#[derive(Deserialize)]
struct Tag<'a> {
    #[serde(default, deserialize_with = "or_default")]
    key: String,
    #[serde(borrow)]
    value: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Log<'a> {
    #[serde(borrow)]
    timestamp: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "or_default")]
    fields: Vec<Tag<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct JaegerProcess {
    #[serde(default, deserialize_with = "or_default")]
    service_name: String,
}

impl SpanDecoder for Jaeger {
    fn decode(
        &mut self,
        document: &Document,
        extent: JsonExtent,
        layout: &mut Layout,
        out: &mut Output<'_>,
    ) -> Result<bool, ReadError> {
        let mut traces = Some(extent);
        if !document.is_array(extent)? {
            let [data, spans] = document.pick(extent, ["data", "spans"])?;
            if data.is_none() && spans.is_some() {
                take_trace(document, extent, layout, out)?;
                return Ok(true);
            }
            traces = data;
        }
        let has_traces = traces.is_some();
        let mut traces = document.items(traces);
        while let Some(trace) = traces.next()? {
            take_trace(document, trace, layout, out)?;
        }
        Ok(has_traces)
    }
}

fn take_trace(
    document: &Document,
    trace: JsonExtent,
    layout: &mut Layout,
    out: &mut Output<'_>,
) -> Result<(), ReadError> {
    // Processes come after the spans that refer to them.
    let [spans, processes] = document.pick(trace, ["spans", "processes"])?;
    let processes: Option<FxHashMap<String, JaegerProcess>> = document.value(processes, &mut out.batch.batch.losses)?;
    let processes = processes.unwrap_or_default();
    let mut spans = document.elements(spans);
    while let Some(element) = spans.next()? {
        let place = SourcePos::Offset(element.offset);
        let Some(span) = element.parse::<JaegerSpan<'_>>(&mut out.batch.batch.losses) else { continue };
        let process = span.process.as_ref().or_else(|| processes.get(&span.process_id));
        let name = process.map_or("", |process| &process.service_name);
        let name = if name.is_empty() { "unknown service" } else { name };
        take_span(&span, name, place, layout, out.batch);
        if layout.is_full(out.budget()) {
            layout.flush(out)?;
        }
    }
    Ok(())
}

/// Decodes a line with a span and its process.
fn take_line(line: &[u8], place: SourcePos, layout: &mut Layout, batch: &mut BatchBuilder) -> Option<()> {
    #[derive(Deserialize)]
    struct Hit<'a> {
        #[serde(borrow, rename = "_source")]
        source: &'a RawValue,
    }
    let hit = serde_json::from_slice::<Hit<'_>>(line).ok();
    let text = hit.as_ref().map_or(line, |hit| hit.source.get().as_bytes());
    let span = serde_json::from_slice::<JaegerSpan<'_>>(text).ok()?;
    let name = span.process.as_ref().map_or("", |process| &process.service_name);
    let name = if name.is_empty() { "unknown service" } else { name };
    take_span(&span, name, place, layout, batch);
    Some(())
}

fn take_span(span: &JaegerSpan<'_>, service: &str, place: SourcePos, layout: &mut Layout, batch: &mut BatchBuilder) {
    const UNIT: TimeUnit = TimeUnit::Microseconds;
    let Some((start_ns, end_ns)) = times(span.start_time, span.duration, UNIT, 0) else {
        return batch.lose(Loss::BadTime, place);
    };
    let service = layout.service(service, batch);
    let mut args = ArgsWriter::default();
    let child_of = || span.references.iter().find(|reference| reference.ref_type == "CHILD_OF");
    let reference = child_of().or(span.references.first());
    let old = span.parent_span_id.as_deref().filter(|parent| !parent.is_empty());
    let parent = reference.map(|reference| (&*reference.trace_id, &*reference.span_id));
    let parent = parent.or(old.map(|parent| (&*span.trace_id, parent)));
    args.text("trace_id", span.trace_id.as_bytes());
    args.text("span_id", span.span_id.as_bytes());
    if let Some((_, parent)) = parent {
        args.text("parent_span_id", parent.as_bytes());
    }
    write_tags(&span.tags, &mut args);
    for warning in &span.warnings {
        args.text("warning", warning.as_bytes());
    }
    let mut points = Vec::new();
    for log in &span.logs {
        let Some(ts_ns) = log.timestamp.and_then(|timestamp| UNIT.nanos(timestamp).ok()) else {
            batch.lose(Loss::BadTime, place);
            continue;
        };
        let text = |key: &str| {
            let field = log.fields.iter().find(|field| field.key == key)?;
            serde_json::from_str::<String>(field.value?.get()).ok()
        };
        let name = text("event").or_else(|| text("message")).unwrap_or_else(|| "log".to_owned());
        let mut args = ArgsWriter::default();
        write_tags(&log.fields, &mut args);
        points.push(Point { ts_ns, name: name.as_bytes().into(), args: args.finish().into() });
    }
    layout.push(ServiceSpan {
        start_ns,
        end_ns,
        id: span_id(span.trace_id.as_bytes(), span.span_id.as_bytes()),
        parent: parent.map(|(trace, parent)| span_id(trace.as_bytes(), parent.as_bytes())),
        service,
        name: span.operation_name.as_bytes().into(),
        args: args.finish().into(),
        points,
        place,
    });
}

fn write_tags(tags: &[Tag<'_>], args: &mut ArgsWriter) {
    for tag in tags {
        args.key("", tag.key.as_bytes());
        args.json.push_str(tag.value.map_or("null", RawValue::get));
    }
}
