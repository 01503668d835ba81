//! Jaeger JSON, as its API returns and its UI saves it: `data` is an array of traces, each with spans and processes.
//! The traces or spans may also be a bare array, or the document a single trace. Each line may be a span with its
//! process, as Jaeger stores them in Elasticsearch. Times are microseconds since 1970. Logs become instants, tags
//! arguments. The first reference that names a parent places the span; the others are links.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{SpanDecoder, SpanDocument, SpanLines, SpanSink, begins_with_object_line, decode_values, times};
use crate::formats::format::{DataKind, Format, Opener};
use crate::formats::json::document::{Document, JsonExtent, TableCharge, TimeUnit};
use crate::formats::json::lenient::{LenientList, or_default, text};
use crate::formats::json::outline::Outline;
use crate::formats::json::sniff::{looks_like_json, whole_object};
use crate::formats::json::text::parse;
use crate::formats::otlp::layout::{Layout, Point, ServiceSpan, span_id};
use crate::formats::output::args::{ArgsWriter, push_quoted};
use crate::formats::output::batch::BatchBuilder;
use crate::formats::{ReadError, Reader, input};
use crate::model::{Loss, Losses, SourcePos};

pub(crate) const FORMAT: Format = Format {
    name: "Jaeger",
    record: "A span is an object with traceID, spanID, operationName, startTime and duration.",
    sniff: looks_like_jaeger,
    is_event: None,
    live: None,
    shows: &[DataKind::Spans, DataKind::Instants, DataKind::Flows, DataKind::Arguments],
    opener: Opener::Trace(|source, _| {
        if let Some(error) =
            empty_result(source.head()).and_then(|result| result.errors.first().map(|error| error.msg.clone()))
        {
            let found = format!("an answer of its API without one: {}", error.escape_debug());
            return Err(ReadError::malformed(source.path(), 0, "a trace of Jaeger", found));
        }
        let is_bare = is_bare(&Outline::from_head(source.head()));
        if is_bare && begins_with_object_line(source.head()) {
            return Ok(input::lines::open(source, SpanLines::new(decode_line)));
        }
        Ok(Reader::stream(SpanDocument { source, decoder: Jaeger { is_bare } }))
    }),
};

/// Returns whether the first object is a span, possibly in an Elasticsearch hit.
fn is_bare(outline: &Outline) -> bool {
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
            || outline.has_all(&["[].traceID", "[].spanID", "[].operationName"])
            || is_bare(&outline)
            || empty_result(head).is_some()
    }
}

/// A response of the API without traces.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "their presence tells the API from other tools")]
struct EmptyResult {
    data: Option<[(); 0]>,
    total: u64,
    limit: u64,
    offset: u64,
    #[serde(default)]
    errors: LenientList<ApiError>,
}

/// An error of the API, such as `trace not found`.
#[derive(Deserialize)]
struct ApiError {
    #[serde(default, deserialize_with = "text")]
    msg: String,
}

/// Parses a response of the API without traces, with or without an error.
fn empty_result(head: &[u8]) -> Option<EmptyResult> {
    whole_object::<EmptyResult>(head).filter(|result| result.errors.bad_count == 0)
}

struct Jaeger {
    /// Whether the document is a span, possibly before others.
    is_bare: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct JaegerSpan<'a> {
    #[serde(rename = "traceID", default, deserialize_with = "text")]
    trace_id: String,
    #[serde(rename = "spanID", default, deserialize_with = "text")]
    span_id: String,
    /// The parent in old traces; newer traces have it in the references.
    #[serde(rename = "parentSpanID", default, deserialize_with = "text")]
    parent_span_id: Option<String>,
    #[serde(default, deserialize_with = "text")]
    operation_name: String,
    #[serde(default)]
    references: LenientList<Reference>,
    #[serde(borrow)]
    start_time: Option<&'a RawValue>,
    #[serde(borrow)]
    duration: Option<&'a RawValue>,
    #[serde(borrow, default)]
    tags: LenientList<Tag<'a>>,
    /// Tags as members of an object, as Jaeger stores them in Elasticsearch with `tags-as-fields`.
    #[serde(borrow)]
    tag: Option<&'a RawValue>,
    #[serde(borrow, default)]
    logs: LenientList<Log<'a>>,
    #[serde(rename = "processID", default, deserialize_with = "text")]
    process_id: String,
    #[serde(default, deserialize_with = "or_default")]
    process: Option<JaegerProcess>,
    #[serde(borrow)]
    warnings: Option<&'a RawValue>,
}

impl JaegerSpan<'_> {
    /// Returns the number of elements of other types in its lists.
    fn bad_count(&self) -> u64 {
        let fields: u64 = self.logs.iter().map(|log| log.fields.bad_count).sum();
        self.references.bad_count + self.tags.bad_count + self.logs.bad_count + fields
    }

    /// Returns the warnings as JSON, given a list or a single one.
    fn warnings(&self) -> Vec<&str> {
        let Some(warnings) = self.warnings.map(RawValue::get) else { return Vec::new() };
        let listed = serde_json::from_str::<Option<Vec<&RawValue>>>(warnings).map(Option::unwrap_or_default);
        listed.map_or_else(|_| vec![warnings], |listed| listed.into_iter().map(RawValue::get).collect())
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Reference {
    #[serde(default, deserialize_with = "text")]
    ref_type: String,
    #[serde(rename = "traceID", default, deserialize_with = "text")]
    trace_id: String,
    #[serde(rename = "spanID", default, deserialize_with = "text")]
    span_id: String,
}

#[derive(Deserialize)]
struct Tag<'a> {
    #[serde(default, deserialize_with = "text")]
    key: String,
    #[serde(borrow)]
    value: Option<&'a RawValue>,
}

/// Returns the tags of an object. Their names have `@` instead of dots, which Elasticsearch does not allow there.
fn tags_of_fields(fields: Option<&RawValue>) -> Vec<Tag<'_>> {
    let fields = fields.and_then(|fields| serde_json::from_str::<BTreeMap<String, &RawValue>>(fields.get()).ok());
    let tag = |(key, value): (String, _)| Tag { key: key.replace('@', "."), value: Some(value) };
    fields.unwrap_or_default().into_iter().map(tag).collect()
}

impl Tag<'_> {
    /// Returns whether it marks a failed span.
    fn is_error(&self) -> bool {
        let is_true = |value: &RawValue| matches!(value.get(), "true" | "\"true\"");
        self.key == "error" && self.value.is_some_and(is_true)
    }
}

#[derive(Deserialize)]
struct Log<'a> {
    #[serde(borrow)]
    timestamp: Option<&'a RawValue>,
    #[serde(borrow, default)]
    fields: LenientList<Tag<'a>>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase")]
struct JaegerProcess {
    #[serde(default, deserialize_with = "text")]
    service_name: String,
    tags: Option<Box<RawValue>>,
    tag: Option<Box<RawValue>>,
}

/// A process as its spans show it.
struct ProcessTexts {
    service: String,
    /// Tags as a JSON object; empty without any.
    tags: String,
}

impl ProcessTexts {
    fn new(process: JaegerProcess, pos: SourcePos, losses: &mut Losses) -> Self {
        let JaegerProcess { service_name, tags, tag } = process;
        let service = if service_name.is_empty() { "unknown service".to_owned() } else { service_name };
        // Other types of tags do not make the service unknown.
        let tags: Option<LenientList<Tag<'_>>> = tags.as_ref().and_then(|tags| serde_json::from_str(tags.get()).ok());
        let mut tags = tags.unwrap_or_default();
        tags.extend(tags_of_fields(tag.as_deref()));
        losses.add_many(Loss::BadRecord, pos, tags.bad_count);
        Self { service, tags: write_tags(&values(&tags).collect::<Vec<_>>()) }
    }
}

impl SpanDecoder for Jaeger {
    fn decode(&mut self, extent: JsonExtent, sink: &mut SpanSink<'_, '_>) -> Result<bool, ReadError> {
        if self.is_bare {
            decode_values(extent, decode_line, sink)?;
            return Ok(true);
        }
        let mut traces = Some(extent);
        let document = sink.document;
        if document.is_array(extent)? {
            if has_bare_spans(document, extent)? {
                let processes = Processes::new(FxHashMap::default(), extent.pos(), sink.out.batch.losses());
                decode_spans(Some(extent), &processes, sink)?;
                return Ok(true);
            }
        } else {
            let [data, spans] = document.pick(extent, ["data", "spans"])?;
            if data.is_none() && spans.is_some() {
                decode_trace(extent, sink)?;
                return Ok(true);
            }
            traces = data;
        }
        let has_traces = traces.is_some();
        let mut traces = document.items(traces);
        while let Some(trace) = traces.next()? {
            decode_trace(trace, sink)?;
        }
        Ok(has_traces)
    }
}

/// Returns whether the elements of an array are spans, as `jq` extracts them from a trace.
fn has_bare_spans(document: &Document, array: JsonExtent) -> Result<bool, ReadError> {
    let Some(first) = document.items(Some(array)).next()? else { return Ok(false) };
    let [name, spans] = document.pick(first, ["operationName", "spans"])?;
    Ok(name.is_some() && spans.is_none())
}

/// The processes of a trace by their ids.
struct Processes {
    by_id: FxHashMap<String, ProcessTexts>,
    unknown: ProcessTexts,
}

impl Processes {
    fn new(by_id: FxHashMap<String, ProcessTexts>, pos: SourcePos, losses: &mut Losses) -> Self {
        Self { by_id, unknown: ProcessTexts::new(JaegerProcess::default(), pos, losses) }
    }
}

fn decode_trace(trace: JsonExtent, sink: &mut SpanSink<'_, '_>) -> Result<(), ReadError> {
    let document = sink.document;
    // Processes come after the spans that refer to them.
    let [spans, processes] = document.pick(trace, ["spans", "processes"])?;
    let mut charge = document.table_charge();
    let losses = sink.out.batch.losses();
    let processes = process_table(document, processes, &mut charge, losses)?;
    let processes = Processes::new(processes, trace.pos(), losses);
    decode_spans(spans, &processes, sink)
}

fn decode_spans(
    spans: Option<JsonExtent>,
    processes: &Processes,
    sink: &mut SpanSink<'_, '_>,
) -> Result<(), ReadError> {
    let SpanSink { document, layout, out } = sink;
    let mut spans = document.elements(spans);
    while let Some(element) = spans.next()? {
        let pos = SourcePos::Offset(element.offset);
        let losses = out.batch.losses();
        let Some(mut span) = element.parse::<JaegerSpan<'_>>(losses) else { continue };
        span.tags.extend(tags_of_fields(span.tag));
        let own = span.process.take().map(|process| ProcessTexts::new(process, pos, losses));
        let process = own.as_ref().or_else(|| processes.by_id.get(&span.process_id)).unwrap_or(&processes.unknown);
        add_span(&span, process, pos, layout, out.batch);
        layout.flush_if_full(out)?;
    }
    Ok(())
}

/// Reads the processes of a trace by their ids, one at a time, since a table may be larger than the memory for it.
fn process_table(
    document: &Document,
    table: Option<JsonExtent>,
    charge: &mut TableCharge<'_>,
    losses: &mut Losses,
) -> Result<FxHashMap<String, ProcessTexts>, ReadError> {
    let mut processes = FxHashMap::default();
    let Some(table) = table else { return Ok(processes) };
    let mut members = document.members(table);
    while let Some((key, extent)) = members.next()? {
        let Some(process) = document.value::<JaegerProcess>(Some(extent), losses)? else { continue };
        let texts = ProcessTexts::new(process, extent.pos(), losses);
        let quoted = [b"\"", &*key, b"\""].concat();
        let id = serde_json::from_slice(&quoted).unwrap_or_else(|_| String::from_utf8_lossy(&key).into_owned());
        let text_bytes = id.len() + texts.service.len() + texts.tags.len();
        if charge.add_within_limit(text_bytes + 2 * size_of::<(String, ProcessTexts)>()) {
            processes.insert(id, texts);
        } else {
            losses.add(Loss::OverLimit, extent.pos());
            break;
        }
    }
    Ok(processes)
}

/// Decodes a line with a span and its process.
fn decode_line(line: &[u8], pos: SourcePos, layout: &mut Layout, batch: &mut BatchBuilder) -> Option<()> {
    #[derive(Deserialize)]
    struct ElasticHit<'a> {
        #[serde(borrow, rename = "_source")]
        source: &'a RawValue,
    }
    let (mut copy, mut span_copy) = (String::new(), String::new());
    let losses = batch.losses();
    let hit: Option<ElasticHit<'_>> = parse(line, &mut copy, pos, losses);
    let text = hit.as_ref().map_or(line, |hit| hit.source.get().as_bytes());
    let mut span: JaegerSpan<'_> = parse(text, &mut span_copy, pos, losses)?;
    span.tags.extend(tags_of_fields(span.tag));
    let process = ProcessTexts::new(span.process.take().unwrap_or_default(), pos, losses);
    add_span(&span, &process, pos, layout, batch);
    Some(())
}

fn add_span(
    span: &JaegerSpan<'_>,
    process: &ProcessTexts,
    pos: SourcePos,
    layout: &mut Layout,
    batch: &mut BatchBuilder,
) {
    const UNIT: TimeUnit = TimeUnit::Microseconds;
    let Some((start_ns, end_ns)) = times(span.start_time, span.duration, UNIT, 0, pos, batch) else { return };
    batch.losses().add_many(Loss::BadRecord, pos, span.bad_count());
    let service = layout.service(&process.service, batch);
    let child_of = span.references.iter().position(|reference| reference.ref_type == "CHILD_OF");
    let reference_index = child_of.unwrap_or(0);
    let reference = span.references.get(reference_index);
    let old = span.parent_span_id.as_deref().filter(|parent| !parent.is_empty());
    let parent = reference.map(|reference| (&*reference.trace_id, &*reference.span_id));
    let parent = parent.or(old.map(|parent| (&*span.trace_id, parent)));
    let mut args = vec![("trace_id", TagValue::Text(&span.trace_id)), ("span_id", TagValue::Text(&span.span_id))];
    args.extend(parent.map(|(_, parent)| ("parent_span_id", TagValue::Text(parent))));
    args.extend(values(&span.tags));
    args.extend(span.warnings().into_iter().map(|warning| ("warning", TagValue::Json(warning))));
    // The id of a parent in another trace is not enough to find it.
    let is_link = |(index, link): &(usize, &Reference)| *index != reference_index || link.trace_id != span.trace_id;
    let links = links_json(span.references.iter().enumerate().filter(is_link).map(|(_, link)| link));
    args.extend((!links.is_empty()).then_some(("links", TagValue::Json(&links))));
    args.extend((!process.tags.is_empty()).then_some(("process", TagValue::Json(&process.tags))));
    let mut points = Vec::new();
    for log in &*span.logs {
        let Some(ts_ns) = log.timestamp.and_then(|timestamp| UNIT.nanos(timestamp).ok()) else {
            batch.lose(Loss::BadTime, pos);
            continue;
        };
        let text = |key: &str| {
            let field = log.fields.iter().find(|field| field.key == key)?;
            serde_json::from_str::<String>(field.value?.get()).ok()
        };
        let name = text("event").or_else(|| text("message")).unwrap_or_else(|| "log".to_owned());
        let args = write_tags(&values(&log.fields).collect::<Vec<_>>()).into();
        points.push(Point { ts_ns, name: name.as_bytes().into(), args });
    }
    layout.push_of_trace(
        &span.trace_id,
        ServiceSpan {
            id: span_id(span.trace_id.as_bytes(), span.span_id.as_bytes()),
            parent: parent.map(|(trace, parent)| span_id(trace.as_bytes(), parent.as_bytes())),
            args: write_tags(&args).into(),
            points,
            is_failed: span.tags.iter().any(Tag::is_error),
            ..ServiceSpan::new(service, span.operation_name.as_bytes(), start_ns, end_ns, pos)
        },
    );
}

/// The value of a tag: plain text, or JSON.
#[derive(Clone, Copy)]
enum TagValue<'a> {
    Text(&'a str),
    Json(&'a str),
}

fn values<'t>(tags: &'t [Tag<'_>]) -> impl Iterator<Item = (&'t str, TagValue<'t>)> {
    tags.iter().map(|tag| (&*tag.key, TagValue::Json(tag.value.map_or("null", RawValue::get))))
}

/// Returns tags as a JSON object; empty without any.
fn write_tags(tags: &[(&str, TagValue<'_>)]) -> String {
    let mut args = ArgsWriter::default();
    args.members(tags, |value, json| match value {
        TagValue::Text(text) => push_quoted(json, text),
        TagValue::Json(value) => json.push_str(value),
    });
    args.finish().to_owned()
}

/// Returns references as a JSON array in the form of OpenTelemetry's links; empty without any. The attribute follows
/// OpenTelemetry's conventions.
fn links_json<'r>(references: impl Iterator<Item = &'r Reference>) -> String {
    let mut json = String::new();
    for Reference { ref_type, trace_id, span_id } in references {
        json.push(if json.is_empty() { '[' } else { ',' });
        let mut link = ArgsWriter::default();
        link.text("trace_id", trace_id.as_bytes());
        link.text("span_id", span_id.as_bytes());
        if !ref_type.is_empty() {
            let mut attributes = ArgsWriter::default();
            attributes.text("opentracing.ref_type", ref_type.to_lowercase().as_bytes());
            link.key("", b"attributes");
            link.json.push_str(attributes.finish());
        }
        json.push_str(link.finish());
    }
    if !json.is_empty() {
        json.push(']');
    }
    json
}
