//! The spans that console exporters print, from their JSON (Python, Go) or the text of `util.inspect` (Node.js).

use serde_json::{Map, Value, json};

use super::inspect;
use crate::base::time::epoch_nanos;
use crate::formats::otlp::attributes::{
    Attributes, ERROR_STATUS, SERVICE_NAME, ServiceTexts, SpanResource, SpanTexts, WriteJson, kind_name,
};
use crate::formats::otlp::fields::status_code;
use crate::formats::otlp::layout::{Layout, Point, ServiceSpan, UNFINISHED_NS, exported_end, span_ids};
use crate::formats::output::batch::BatchBuilder;
use crate::model::{Loss, SourcePos};

/// The end of a span that has not ended, as Go prints it: the zero value of its times.
const ZERO_TIME_OF_GO: &str = "0001-01-01T00:00:00Z";

/// The message about parts that Node.js left out of a text.
const OMITTED: &str = "The console exporter of Node.js abbreviates nested, long and many values; what it printed is shown. \
    Export by OTLP to keep them whole.";

/// A span with all fields that the exporters print.
pub(super) struct ConsoleSpan {
    trace_id: String,
    id: String,
    parent: Option<String>,
    name: String,
    /// Attributes of the resource as keys and JSON values.
    resource: Vec<(String, Value)>,
    start_ns: i64,
    /// `None` if it could not be read.
    end_ns: Option<i64>,
    kind: String,
    scope: String,
    status: String,
    status_message: String,
    /// Attributes as keys and JSON values.
    attributes: Vec<(String, Value)>,
    events: Vec<ConsoleEvent>,
    /// Events without a valid time.
    bad_times: u64,
    /// Events, links and attributes of another type.
    bad_parts: u64,
    links: Vec<Value>,
    /// Elements and values that Node.js left out of a text.
    omitted: u64,
}

/// An event of a span: a time with a name.
struct ConsoleEvent {
    ts_ns: i64,
    name: String,
    attributes: Vec<(String, Value)>,
}

fn text_at(value: &Value, pointer: &str) -> String {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// Returns the members of attributes, and adds the number of attributes of another type to `bad_parts`.
fn members(value: Option<&Value>, bad_parts: &mut u64) -> Vec<(String, Value)> {
    match value {
        Some(Value::Object(members)) => members.iter().map(|(key, value)| (key.clone(), value.clone())).collect(),
        // Go prints attributes as `{"Key":"a","Value":{"Type":"STRING","Value":"b"}}`.
        Some(Value::Array(pairs)) => {
            let pair =
                |pair: &Value| Some((pair.get("Key")?.as_str()?.to_owned(), pair.pointer("/Value/Value")?.clone()));
            let members: Vec<_> = pairs.iter().filter_map(pair).collect();
            *bad_parts += (pairs.len() - members.len()) as u64;
            members
        }
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Bool(_) | Value::Number(_) | Value::String(_)) => {
            *bad_parts += 1;
            Vec::new()
        }
    }
}

/// Returns a time that is printed as text.
fn text_time(time: &Value) -> Option<i64> {
    epoch_nanos(time.as_str()?)
}

/// Returns the end of a span; `None` if it could not be read.
fn end_time(end: Option<&Value>) -> Option<i64> {
    match end {
        None | Some(Value::Null) => Some(UNFINISHED_NS),
        Some(Value::String(text)) if text == ZERO_TIME_OF_GO => Some(UNFINISHED_NS),
        Some(end) => text_time(end),
    }
}

/// The keys of the time, the name and the attributes of an event in Python and PHP.
const EVENT_KEYS: [&str; 3] = ["timestamp", "name", "attributes"];

/// Returns the objects of the array at a JSON pointer, and adds the number of other elements to `bad_parts`.
fn objects<'v>(value: &'v Value, pointer: &str, bad_parts: &mut u64) -> Vec<&'v Value> {
    let part = value.pointer(pointer).filter(|part| !part.is_null());
    *bad_parts += u64::from(part.is_some_and(|part| !part.is_array()));
    let elements = part.and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let objects: Vec<_> = elements.iter().filter(|element| element.is_object()).collect();
    *bad_parts += (elements.len() - objects.len()) as u64;
    objects
}

/// Returns the events at a JSON pointer, and the number of events without a valid time. The array has the keys of their
/// time, name and attributes.
fn events(
    value: &Value,
    pointer: &str,
    [time, name, attributes]: [&str; 3],
    ts_ns: impl Fn(&Value) -> Option<i64>,
    bad_parts: &mut u64,
) -> (Vec<ConsoleEvent>, u64) {
    let (mut events, mut bad_times) = (Vec::new(), 0);
    for event in objects(value, pointer, bad_parts) {
        match event.get(time).and_then(&ts_ns) {
            Some(ts_ns) => {
                let name = event.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
                events.push(ConsoleEvent { ts_ns, name, attributes: members(event.get(attributes), bad_parts) });
            }
            None => bad_times += 1,
        }
    }
    (events, bad_times)
}

/// Returns links as the other encodings have them: the ids at these pointers, and the attributes under this key.
fn links(value: &Value, pointer: &str, [trace_id, span_id, attributes]: [&str; 3], bad_parts: &mut u64) -> Vec<Value> {
    let id = |link: &Value, key: &str| text_at(link, key).trim_start_matches("0x").to_owned();
    let printed = objects(value, pointer, bad_parts);
    let link = |link: &Value| {
        let attributes: Map<_, _> = members(link.get(attributes), bad_parts).into_iter().collect();
        json!({"trace_id": id(link, trace_id), "span_id": id(link, span_id), "attributes": attributes})
    };
    printed.into_iter().map(link).collect()
}

/// The reason why a value is not read as a span.
enum Unread {
    /// It is a span without a valid time or id.
    BadSpan,
    /// It is not a span.
    Other,
}

impl ConsoleSpan {
    /// Returns the spans of a text: an object, an array of them, or the spans of a scope. A span is `None` if it has no
    /// valid time or id. Returns `None` if the text contains anything else.
    pub(super) fn all_from_text(text: &[u8]) -> Option<Vec<Option<Self>>> {
        let text = std::str::from_utf8(text).ok()?.trim_end().trim_end_matches(',');
        let (value, omitted) = match serde_json::from_str::<Value>(text) {
            Ok(value) => (value, 0),
            Err(_) => inspect::parse(text)?,
        };
        let of_scope = value.pointer("/scope/spans").and_then(Value::as_array);
        let spans = value.as_array().or(of_scope).map_or(std::slice::from_ref(&value), Vec::as_slice);
        let mut bad_of_resource = 0;
        let resource = of_scope.and_then(|_| value.pointer("/resource/attributes"));
        let resource = members(resource, &mut bad_of_resource);
        let scope = of_scope.map(|_| text_at(&value, "/scope/name")).unwrap_or_default();
        // The first span has the counts of all.
        let (mut omitted, mut bad_of_resource) = (Some(omitted), Some(bad_of_resource));
        let mut complete = |span: Self| {
            let resource = if span.resource.is_empty() { resource.clone() } else { span.resource };
            let scope = if span.scope.is_empty() { scope.clone() } else { span.scope };
            let bad_parts = span.bad_parts + bad_of_resource.take().unwrap_or(0);
            Self { resource, scope, bad_parts, omitted: omitted.take().unwrap_or(0), ..span }
        };
        let spans = spans.iter().map(|value| match Self::from_value(value) {
            Ok(span) => Some(Some(complete(span))),
            Err(Unread::BadSpan) => Some(None),
            Err(Unread::Other) => None,
        });
        spans.collect()
    }

    fn from_value(value: &Value) -> Result<Self, Unread> {
        let has = |pointer: &str| value.pointer(pointer).is_some();
        let span = if has("/context/trace_id") && has("/start_time") {
            Self::from_python(value)
        } else if has("/SpanContext") {
            Self::from_go(value)
        } else if has("/traceId") && has("/timestamp") && has("/duration") {
            Self::from_node(value)
        } else if has("/context/trace_id") && has("/start") {
            Self::from_php(value)
        } else {
            return Err(Unread::Other);
        };
        span.ok_or(Unread::BadSpan)
    }

    fn from_python(value: &Value) -> Option<Self> {
        let resource = value.get("resource");
        let resource = resource.and_then(|resource| resource.get("attributes")).or(resource);
        let kind = text_at(value, "/kind");
        let mut bad_parts = 0;
        let (events, bad_times) = events(value, "/events", EVENT_KEYS, text_time, &mut bad_parts);
        Some(Self {
            trace_id: text_at(value, "/context/trace_id").trim_start_matches("0x").to_owned(),
            id: text_at(value, "/context/span_id").trim_start_matches("0x").to_owned(),
            parent: value.get("parent_id").and_then(Value::as_str).map(|id| id.trim_start_matches("0x").to_owned()),
            name: text_at(value, "/name"),
            resource: members(resource, &mut bad_parts),
            start_ns: text_time(value.get("start_time")?)?,
            end_ns: end_time(value.get("end_time")),
            kind: kind.strip_prefix("SpanKind.").unwrap_or(&kind).to_owned(),
            scope: String::new(),
            status: text_at(value, "/status/status_code"),
            status_message: text_at(value, "/status/description"),
            attributes: members(value.get("attributes"), &mut bad_parts),
            events,
            bad_times,
            links: links(value, "/links", ["/context/trace_id", "/context/span_id", "attributes"], &mut bad_parts),
            bad_parts,
            omitted: 0,
        })
    }

    fn from_php(value: &Value) -> Option<Self> {
        let mut bad_parts = 0;
        let (events, bad_times) = events(value, "/events", EVENT_KEYS, Value::as_i64, &mut bad_parts);
        let kind = text_at(value, "/kind");
        let end_ns = match value.get("end") {
            None | Some(Value::Null) => Some(UNFINISHED_NS),
            Some(end) => end.as_i64(),
        };
        Some(Self {
            trace_id: text_at(value, "/context/trace_id"),
            id: text_at(value, "/context/span_id"),
            parent: Some(text_at(value, "/parent_span_id")),
            name: text_at(value, "/name"),
            resource: members(value.get("resource"), &mut bad_parts),
            start_ns: value.get("start")?.as_i64()?,
            end_ns,
            kind: kind.strip_prefix("KIND_").unwrap_or(&kind).to_owned(),
            scope: String::new(),
            status: text_at(value, "/status/code").to_uppercase(),
            status_message: text_at(value, "/status/description"),
            attributes: members(value.get("attributes"), &mut bad_parts),
            events,
            bad_times,
            links: links(value, "/links", ["/context/trace_id", "/context/span_id", "attributes"], &mut bad_parts),
            bad_parts,
            omitted: 0,
        })
    }

    fn from_go(value: &Value) -> Option<Self> {
        let scope = text_at(value, "/InstrumentationScope/Name");
        let mut bad_parts = 0;
        let (events, bad_times) = events(value, "/Events", ["Time", "Name", "Attributes"], text_time, &mut bad_parts);
        Some(Self {
            trace_id: text_at(value, "/SpanContext/TraceID"),
            id: text_at(value, "/SpanContext/SpanID"),
            parent: Some(text_at(value, "/Parent/SpanID")),
            name: text_at(value, "/Name"),
            resource: members(value.get("Resource"), &mut bad_parts),
            start_ns: text_time(value.get("StartTime")?)?,
            end_ns: end_time(value.get("EndTime")),
            kind: kind_name(value.get("SpanKind").and_then(Value::as_u64).unwrap_or(0)).to_owned(),
            scope: if scope.is_empty() { text_at(value, "/InstrumentationLibrary/Name") } else { scope },
            status: text_at(value, "/Status/Code").to_uppercase(),
            status_message: text_at(value, "/Status/Description"),
            attributes: members(value.get("Attributes"), &mut bad_parts),
            events,
            bad_times,
            links: links(
                value,
                "/Links",
                ["/SpanContext/TraceID", "/SpanContext/SpanID", "Attributes"],
                &mut bad_parts,
            ),
            bad_parts,
            omitted: 0,
        })
    }

    fn from_node(value: &Value) -> Option<Self> {
        /// Offset to the numbers of OTLP, where 0 means unspecified.
        const KINDS_BEGIN_AT: u64 = 1;
        let nanos_from_micros_at = |key: &str| Some((value.get(key)?.as_f64()? * 1000.0).round() as i64);
        // Seconds and nanoseconds.
        let pair_time =
            |time: &Value| time.get(0)?.as_i64()?.checked_mul(1_000_000_000)?.checked_add(time.get(1)?.as_i64()?);
        // Microseconds since 1970 are exact only as integers.
        let start = value.get("timestamp")?;
        let start_ns = start.as_i64().and_then(|start| start.checked_mul(1000));
        let start_ns = start_ns.or_else(|| nanos_from_micros_at("timestamp"))?;
        let parent = value.get("parentId").and_then(Value::as_str).map(str::to_owned);
        let parent = parent.or_else(|| Some(text_at(value, "/parentSpanContext/spanId")));
        // Marks of omitted parts are texts, and counted already.
        let mut marks = 0;
        let (events, bad_times) = events(value, "/events", ["time", "name", "attributes"], pair_time, &mut marks);
        let is_error = value.pointer("/status/code").and_then(Value::as_u64) == Some(status_code::STATUS_CODE_ERROR);
        Some(Self {
            trace_id: value.get("traceId")?.as_str()?.to_owned(),
            id: text_at(value, "/id"),
            parent,
            name: text_at(value, "/name"),
            resource: members(value.pointer("/resource/attributes"), &mut marks),
            start_ns,
            end_ns: Some(start_ns.saturating_add(nanos_from_micros_at("duration")?)),
            kind: kind_name(value.get("kind").and_then(Value::as_u64).unwrap_or(0).saturating_add(KINDS_BEGIN_AT))
                .to_owned(),
            scope: text_at(value, "/instrumentationScope/name"),
            status: if is_error { ERROR_STATUS } else { "" }.to_owned(),
            status_message: text_at(value, "/status/message"),
            attributes: members(value.get("attributes"), &mut marks),
            events,
            bad_times,
            links: links(value, "/links", ["/context/traceId", "/context/spanId", "attributes"], &mut marks),
            bad_parts: 0,
            omitted: 0,
        })
    }

    pub(super) fn push(self, pos: SourcePos, layout: &mut Layout, batch: &mut BatchBuilder) {
        let parent = self.parent.filter(|parent| parent.bytes().any(|byte| byte != b'0'));
        let mut attributes = Attributes::default();
        let SpanResource { service, attributes: resource } = service_of(&self.resource, &mut attributes, layout, batch);
        attributes.begin_span(&SpanTexts {
            scope: &self.scope,
            kind: &self.kind,
            status: if self.status == "UNSET" { "" } else { &self.status },
            message: &self.status_message,
            trace_id: &self.trace_id,
            span_id: &self.id,
            parent_span_id: parent.as_deref().unwrap_or_default(),
        });
        for (key, value) in &self.attributes {
            attributes.value(key.as_bytes(), value);
        }
        if !self.links.is_empty() {
            attributes.value(b"links", &Value::from(self.links));
        }
        let args = attributes.finish();
        batch.losses().add_many(Loss::BadTime, pos, self.bad_times);
        batch.losses().add_many(Loss::BadRecord, pos, self.bad_parts);
        batch.losses().add_many_because(OMITTED, Loss::RecorderLost, pos, self.omitted);
        let mut points = Vec::with_capacity(self.events.len());
        for event in &self.events {
            attributes.begin();
            for (key, value) in &event.attributes {
                attributes.value(key.as_bytes(), value);
            }
            let name = event.name.as_bytes().into();
            points.push(Point { ts_ns: event.ts_ns, name, args: attributes.finish() });
        }
        let parent = parent.as_deref().map(str::as_bytes);
        let (id, parent) = span_ids(self.trace_id.as_bytes(), self.id.as_bytes(), parent);
        layout.push_of_trace(
            &self.trace_id,
            ServiceSpan {
                start_ns: self.start_ns,
                end_ns: exported_end(self.end_ns, self.start_ns, pos, batch),
                id,
                parent,
                service,
                name: self.name.as_bytes().into(),
                args,
                resource,
                points,
                is_failed: self.status == ERROR_STATUS,
                pos,
            },
        );
    }
}

/// Adds the service of a resource, and writes its other attributes for its spans.
fn service_of(
    resource: &[(String, Value)],
    attributes: &mut Attributes,
    layout: &mut Layout,
    batch: &mut BatchBuilder,
) -> SpanResource {
    let mut texts = ServiceTexts::default();
    attributes.begin();
    for (key, value) in resource {
        let key = key.as_bytes();
        if let (Some(named), Some(text)) = (texts.get_mut(key), value.as_str()) {
            text.clone_into(named);
        }
        if key != SERVICE_NAME {
            attributes.value(key, value);
        }
    }
    texts.add(&attributes.finish(), layout, batch)
}

impl WriteJson for Value {
    fn write_json(&self, json: &mut String) {
        json.push_str(&self.to_string());
    }
}
