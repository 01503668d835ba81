//! A JSON request, and its spans. Ids should be hexadecimal, but base64 is converted. Integers may be quoted, enums may
//! be names or numbers, and `null` means absent.

use std::path::PathBuf;

use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::attributes::{
    Attributes, SpanTexts, WriteJson, kind_name, status_name, write_double, write_link, write_list, write_object,
};
use super::ids::{SPAN_BYTES, TRACE_BYTES, id_text};
use super::layout::{Layout, Point, ServiceSpan, span_id};
use crate::formats::ReadError;
use crate::formats::input::lines::Output;
use crate::formats::json::document::{Document, JsonExtent, TimeUnit};
use crate::formats::output::args::push_quoted;
use crate::formats::output::batch::BatchBuilder;
use crate::model::{Loss, SourcePos};

/// Description of a file with metrics or logs only.
pub(super) const WITHOUT_SPANS: &str = "metrics or logs of OpenTelemetry without spans";

/// Creates the error for a file with metrics or logs only.
pub(super) fn no_spans(path: PathBuf) -> ReadError {
    ReadError::Malformed { path, offset: 0, expected: "a trace".to_owned(), found: WITHOUT_SPANS.to_owned() }
}

/// Returns whether this is JSON whose first key is `resourceSpans`, in either spelling, or that of metrics or logs.
pub(super) fn is_json_request(head: &[u8]) -> bool {
    let text = head.trim_ascii_start();
    let key = text.strip_prefix(b"{").map(<[u8]>::trim_ascii_start).unwrap_or_default();
    let begins = |keys: &[&str]| keys.iter().any(|name| key.starts_with(format!("\"{name}\"").as_bytes()));
    begins(&["resourceSpans", "resource_spans", "resourceMetrics", "resourceLogs"])
}

#[derive(Deserialize)]
pub(super) struct Request<'a> {
    #[serde(borrow, default, rename = "resourceSpans", alias = "resource_spans")]
    spans: Option<Vec<ResourceSpans<'a>>>,
    /// Collectors write metrics and logs to the same file.
    #[serde(borrow, rename = "resourceMetrics")]
    metrics: Option<&'a RawValue>,
    #[serde(borrow, rename = "resourceLogs")]
    logs: Option<&'a RawValue>,
    /// The members of one `ResourceSpans` without a request around it, or of its counterparts.
    #[serde(borrow)]
    resource: Option<Resource<'a>>,
    #[serde(borrow, rename = "scopeSpans", alias = "instrumentationLibrarySpans")]
    scope_spans: Option<Vec<ScopeSpans<'a>>>,
    #[serde(borrow, rename = "scopeMetrics")]
    scope_metrics: Option<&'a RawValue>,
    #[serde(borrow, rename = "scopeLogs")]
    scope_logs: Option<&'a RawValue>,
}

impl Request<'_> {
    pub(super) fn has_spans(&self) -> bool {
        self.spans.is_some() || self.scope_spans.is_some()
    }

    pub(super) fn has_others(&self) -> bool {
        let others = [self.metrics, self.logs, self.scope_metrics, self.scope_logs];
        others.iter().any(Option::is_some)
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ResourceSpans<'a> {
    #[serde(borrow, default)]
    resource: Option<Resource<'a>>,
    #[serde(
        borrow,
        default,
        deserialize_with = "or_default",
        alias = "scope_spans",
        alias = "instrumentationLibrarySpans"
    )]
    scope_spans: Vec<ScopeSpans<'a>>,
}

#[derive(Deserialize)]
struct Resource<'a> {
    #[serde(borrow, default, deserialize_with = "or_default")]
    attributes: Vec<KeyValue<'a>>,
}

#[derive(Deserialize)]
struct ScopeSpans<'a> {
    #[serde(default, alias = "instrumentationLibrary")]
    scope: Option<JsonScope>,
    #[serde(borrow, default, deserialize_with = "or_default")]
    spans: Vec<JsonSpan<'a>>,
}

#[derive(Deserialize)]
struct JsonScope {
    #[serde(default, deserialize_with = "or_default")]
    name: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct JsonSpan<'a> {
    #[serde(default, deserialize_with = "or_default", alias = "trace_id")]
    trace_id: String,
    #[serde(default, deserialize_with = "or_default", alias = "span_id")]
    span_id: String,
    #[serde(default, alias = "parent_span_id")]
    parent_span_id: Option<String>,
    #[serde(default, deserialize_with = "or_default")]
    name: String,
    #[serde(borrow)]
    kind: Option<&'a RawValue>,
    #[serde(borrow, alias = "start_time_unix_nano")]
    start_time_unix_nano: Option<&'a RawValue>,
    #[serde(borrow, alias = "end_time_unix_nano")]
    end_time_unix_nano: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "or_default")]
    attributes: Vec<KeyValue<'a>>,
    #[serde(borrow, default, deserialize_with = "or_default")]
    events: Vec<JsonEvent<'a>>,
    #[serde(borrow, default, deserialize_with = "or_default")]
    links: Vec<JsonLink<'a>>,
    #[serde(borrow)]
    status: Option<JsonStatus<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct JsonLink<'a> {
    #[serde(default, deserialize_with = "or_default", alias = "trace_id")]
    trace_id: String,
    #[serde(default, deserialize_with = "or_default", alias = "span_id")]
    span_id: String,
    #[serde(borrow, default, deserialize_with = "or_default")]
    attributes: Vec<KeyValue<'a>>,
}

#[derive(Deserialize)]
struct JsonStatus<'a> {
    #[serde(borrow)]
    code: Option<&'a RawValue>,
    #[serde(default, deserialize_with = "or_default")]
    message: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct JsonEvent<'a> {
    #[serde(borrow, alias = "time_unix_nano")]
    time_unix_nano: Option<&'a RawValue>,
    #[serde(default, deserialize_with = "or_default")]
    name: String,
    #[serde(borrow, default, deserialize_with = "or_default")]
    attributes: Vec<KeyValue<'a>>,
}

#[derive(Deserialize)]
struct KeyValue<'a> {
    #[serde(default, deserialize_with = "or_default")]
    key: String,
    #[serde(borrow)]
    value: Option<JsonAnyValue<'a>>,
}

/// Exactly one member is present.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(clippy::struct_field_names, reason = "the format calls them so")]
struct JsonAnyValue<'a> {
    #[serde(alias = "string_value")]
    string_value: Option<String>,
    #[serde(alias = "bool_value")]
    bool_value: Option<bool>,
    #[serde(borrow, alias = "int_value")]
    int_value: Option<&'a RawValue>,
    #[serde(borrow, alias = "double_value")]
    double_value: Option<&'a RawValue>,
    #[serde(borrow, alias = "array_value")]
    array_value: Option<Array<'a>>,
    #[serde(borrow, alias = "kvlist_value")]
    kvlist_value: Option<List<'a>>,
    #[serde(alias = "bytes_value")]
    bytes_value: Option<String>,
}

#[derive(Deserialize)]
struct Array<'a> {
    #[serde(borrow, default, deserialize_with = "or_default")]
    values: Vec<JsonAnyValue<'a>>,
}

#[derive(Deserialize)]
struct List<'a> {
    #[serde(borrow, default, deserialize_with = "or_default")]
    values: Vec<KeyValue<'a>>,
}

/// Deserializes `null` as the default, since many exporters write it for absent values.
fn or_default<'de, T: Deserialize<'de> + Default, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    Option::deserialize(deserializer).map(Option::unwrap_or_default)
}

impl WriteJson for JsonAnyValue<'_> {
    fn write_json(&self, json: &mut String) {
        let whole = |text: &str| text.trim_matches('"').parse::<i64>().ok();
        if let Some(text) = self.string_value.as_ref().or(self.bytes_value.as_ref()) {
            push_quoted(json, text);
        } else if let Some(value) = self.bool_value {
            json.push_str(if value { "true" } else { "false" });
        } else if let Some(number) = self.int_value.and_then(|value| whole(value.get())) {
            json.push_str(&number.to_string());
        } else if let Some(text) = self.double_value.or(self.int_value).map(RawValue::get) {
            match text.trim_matches('"').parse() {
                Ok(number) => write_double(number, json),
                Err(_) => push_quoted(json, text.trim_matches('"')),
            }
        } else if let Some(array) = &self.array_value {
            write_list(&array.values, json);
        } else if let Some(list) = &self.kvlist_value {
            write_object(list.values.iter().map(|member| (member.key.as_str(), &member.value)), json);
        } else {
            json.push_str("null");
        }
    }
}

impl WriteJson for JsonLink<'_> {
    fn write_json(&self, json: &mut String) {
        let ids = [id_text(&self.trace_id, TRACE_BYTES), id_text(&self.span_id, SPAN_BYTES)];
        let attributes = self.attributes.iter().map(|attribute| (attribute.key.as_str(), &attribute.value));
        write_link(ids.each_ref().map(|id| &**id), attributes, json);
    }
}

impl WriteJson for Vec<JsonLink<'_>> {
    fn write_json(&self, json: &mut String) {
        write_list(self, json);
    }
}

impl<T: WriteJson> WriteJson for &T {
    fn write_json(&self, json: &mut String) {
        (*self).write_json(json);
    }
}

impl<T: WriteJson> WriteJson for Option<T> {
    fn write_json(&self, json: &mut String) {
        match self {
            Some(value) => value.write_json(json),
            None => json.push_str("null"),
        }
    }
}

/// Converts requests to spans of a layout.
#[derive(Default)]
pub(super) struct JsonDecoder {
    pub(super) layout: Layout,
    attributes: Attributes,
    /// Whether requests had spans (`has_spans`), or metrics or logs (`has_others`).
    pub(super) has_spans: bool,
    pub(super) has_others: bool,
}

impl JsonDecoder {
    /// Returns whether there were metrics or logs, and no spans.
    pub(super) fn has_others_only(&self) -> bool {
        self.has_others && !self.has_spans
    }

    pub(super) fn take_request(&mut self, request: &Request<'_>, place: SourcePos, batch: &mut BatchBuilder) {
        self.has_others |= request.has_others();
        self.has_spans |= request.has_spans();
        let alone = request.scope_spans.as_ref().map(|scopes| (request.resource.as_ref(), scopes));
        let within = request.spans.iter().flatten();
        let within = within.map(|of_resource| (of_resource.resource.as_ref(), &of_resource.scope_spans));
        for (resource, scopes) in within.chain(alone) {
            let service = self.service(resource, batch);
            for of_scope in scopes {
                let scope = of_scope.scope.as_ref().map_or("", |scope| &scope.name);
                for span in &of_scope.spans {
                    self.span(span, service, scope, place, batch);
                }
            }
        }
    }

    /// Like [`Self::take_request`] for a request of any size, span by span.
    pub(super) fn take_document(&mut self, document: &Document, out: &mut Output<'_>) -> Result<(), ReadError> {
        let mut next = Some(document.whole());
        while let Some(extent) = next {
            if document.is_array(extent)? {
                let mut requests = document.items(Some(extent));
                while let Some(request) = requests.next()? {
                    self.take_members(document, request, out)?;
                }
            } else {
                self.take_members(document, extent, out)?;
            }
            next = document.next_document()?;
        }
        Ok(())
    }

    fn take_members(&mut self, document: &Document, object: JsonExtent, out: &mut Output<'_>) -> Result<(), ReadError> {
        let mut members = document.members(object);
        while let Some((key, value)) = members.next()? {
            match &*key {
                b"resourceSpans" | b"resource_spans" | b"batches" => self.take_resources(document, value, out)?,
                b"resourceMetrics" | b"resourceLogs" => self.has_others |= document.is_array(value)?,
                b"trace" | b"result" => {
                    let [spans] = document.pick(value, ["resourceSpans"])?;
                    if let Some(spans) = spans {
                        self.take_resources(document, spans, out)?;
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn take_resources(&mut self, document: &Document, all: JsonExtent, out: &mut Output<'_>) -> Result<(), ReadError> {
        self.has_spans |= document.is_array(all)?;
        let mut resources = document.items(Some(all));
        while let Some(of_resource) = resources.next()? {
            let keys = ["resource", "scopeSpans", "scope_spans", "instrumentationLibrarySpans"];
            let [resource, scopes, also, formerly] = document.pick(of_resource, keys)?;
            let resource = resource.map(|resource| document.text(resource)).transpose()?.unwrap_or_default();
            let resource = serde_json::from_slice::<Option<Resource<'_>>>(&resource).ok().flatten();
            let service = self.service(resource.as_ref(), out.batch);
            let mut scopes = document.items(scopes.or(also).or(formerly));
            while let Some(of_scope) = scopes.next()? {
                let [scope, also, spans] = document.pick(of_scope, ["scope", "instrumentationLibrary", "spans"])?;
                let scope: Option<JsonScope> = document.value(scope.or(also), &mut out.batch.batch.losses)?;
                let scope = scope.map(|scope| scope.name).unwrap_or_default();
                let mut spans = document.elements(spans);
                while let Some(span) = spans.next()? {
                    let place = SourcePos::Offset(span.offset);
                    let Some(span) = span.parse::<JsonSpan<'_>>(&mut out.batch.batch.losses) else { continue };
                    self.span(&span, service, &scope, place, out.batch);
                    if self.layout.is_full(out.budget()) {
                        self.layout.flush(out)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn service(&mut self, resource: Option<&Resource<'_>>, batch: &mut BatchBuilder) -> u32 {
        let attributes = resource.map_or(&[][..], |resource| &resource.attributes);
        let named = attributes.iter().find(|attribute| attribute.key == "service.name");
        let name = named.and_then(|attribute| attribute.value.as_ref()?.string_value.as_deref());
        self.layout.service(name.unwrap_or("unknown service"), batch)
    }

    fn span(&mut self, span: &JsonSpan<'_>, service: u32, scope: &str, place: SourcePos, batch: &mut BatchBuilder) {
        let time = |time: Option<&RawValue>| TimeUnit::Nanoseconds.nanos(time?).ok();
        let Some(start_ns) = time(span.start_time_unix_nano) else { return batch.lose(Loss::BadTime, place) };
        let (trace_id, own_id) = (id_text(&span.trace_id, TRACE_BYTES), id_text(&span.span_id, SPAN_BYTES));
        let parent = span.parent_span_id.as_deref().map(|parent| id_text(parent, SPAN_BYTES));
        let parent = parent.filter(|parent| parent.bytes().any(|byte| byte != b'0'));
        let attributes = &mut self.attributes;
        let code = span.status.as_ref().and_then(|status| status.code);
        attributes.begin_span(&SpanTexts {
            scope,
            kind: span.kind.map_or("", |kind| enumeration(kind, "SPAN_KIND_", kind_name)),
            status: code.map_or("", |code| enumeration(code, "STATUS_CODE_", status_name)),
            message: span.status.as_ref().map_or("", |status| &status.message),
            trace_id: &trace_id,
            span_id: &own_id,
            parent_span_id: parent.as_deref().unwrap_or_default(),
        });
        for attribute in &span.attributes {
            attributes.value(attribute.key.as_bytes(), &attribute.value);
        }
        if !span.links.is_empty() {
            attributes.value(b"links", &span.links);
        }
        let args = attributes.finish();
        let mut points = Vec::with_capacity(span.events.len());
        for event in &span.events {
            let Some(ts_ns) = time(event.time_unix_nano) else {
                batch.lose(Loss::BadTime, place);
                continue;
            };
            self.attributes.begin();
            for attribute in &event.attributes {
                self.attributes.value(attribute.key.as_bytes(), &attribute.value);
            }
            points.push(Point { ts_ns, name: event.name.as_bytes().into(), args: self.attributes.finish() });
        }
        let id_of = |id: &str| span_id(trace_id.as_bytes(), id.as_bytes());
        self.layout.push(ServiceSpan {
            start_ns,
            end_ns: time(span.end_time_unix_nano).unwrap_or(0),
            id: id_of(&own_id),
            parent: parent.as_deref().map(id_of),
            service,
            name: span.name.as_bytes().into(),
            args,
            points,
            pos: place,
        });
    }
}

/// Returns an enum name without its prefix, or the name of a number.
fn enumeration<'a>(value: &'a RawValue, prefix: &str, name_of: fn(u64) -> &'static str) -> &'a str {
    let text = value.get().trim_matches('"');
    match text.parse() {
        Ok(number) => name_of(number),
        Err(_) => Some(text.strip_prefix(prefix).unwrap_or(text)).filter(|name| *name != "UNSET").unwrap_or_default(),
    }
}
