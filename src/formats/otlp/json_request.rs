//! A JSON request, and its spans. Ids should be hexadecimal, but base64 is converted. Integers may be quoted, enums may
//! be names or numbers, and `null` means absent. If a request cannot be parsed as a whole, its text is repaired, and
//! each span is parsed on its own.

use std::path::PathBuf;

use serde_json::value::RawValue;

use super::attributes::{
    Attributes, ERROR_STATUS, SERVICE_NAME, ServiceTexts, SpanResource, SpanTexts, count_dropped, kind_name,
    status_name,
};
use super::ids::{SPAN_BYTES, TRACE_BYTES, id_text};
use super::json_messages::{
    JsonAnyValue, JsonScope, JsonSpan, LoneSpan, ParsedSpan, Request, Resource, ResourceAttribute,
};
use super::layout::{Layout, Point, ServiceSpan, UNFINISHED_NS, exported_end, span_ids};
use crate::formats::ReadError;
use crate::formats::input::lines::Output;
use crate::formats::json::document::{Document, JsonExtent, TimeUnit};
use crate::formats::json::text::parse;
use crate::formats::output::batch::BatchBuilder;
use crate::model::{Loss, SourcePos};

/// Description of a file with metrics or logs only.
pub(super) const WITHOUT_SPANS: &str = "metrics or logs of OpenTelemetry without spans";

/// Creates the error for a file with metrics or logs only.
pub(super) fn no_spans(path: PathBuf) -> ReadError {
    ReadError::malformed(path, 0, "a trace", WITHOUT_SPANS)
}

/// Returns whether this is JSON whose first key is `resourceSpans`, in either spelling, or the key of metrics or logs.
pub(super) fn is_json_request(head: &[u8]) -> bool {
    let text = head.trim_ascii_start();
    let key = text.strip_prefix(b"{").map(<[u8]>::trim_ascii_start).unwrap_or_default();
    let begins = |keys: &[&str]| keys.iter().any(|name| key.starts_with(format!("\"{name}\"").as_bytes()));
    begins(&["resourceSpans", "resource_spans", "resourceMetrics", "resourceLogs"])
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

    /// Decodes the text of a request. Returns whether it has data of any kind; `None` if it is not a request.
    pub(super) fn decode_text(&mut self, text: &[u8], pos: SourcePos, batch: &mut BatchBuilder) -> Option<bool> {
        if let Ok(request) = serde_json::from_slice::<Request<'_, JsonSpan<'_>>>(text) {
            return Some(self.decode_request(&request, pos, batch));
        }
        let mut copy = String::new();
        let request: Request<'_, LoneSpan<'_>> = parse(text, &mut copy, pos, batch.losses())?;
        Some(self.decode_request(&request, pos, batch))
    }

    fn decode_request<'a, S: ParsedSpan<'a>>(
        &mut self,
        request: &Request<'_, S>,
        pos: SourcePos,
        batch: &mut BatchBuilder,
    ) -> bool {
        self.has_others |= request.has_others();
        self.has_spans |= request.has_spans();
        let alone = request.scope_spans.as_ref().map(|scopes| (request.resource, scopes));
        let within = request.spans.iter().flatten();
        let within = within.map(|of_resource| (of_resource.resource, &of_resource.scope_spans));
        for (resource, scopes) in within.chain(alone) {
            let resource = self.resource(resource, pos, batch);
            for of_scope in scopes {
                let scope = of_scope.scope.as_ref().map_or("", |scope| &scope.name);
                for span in &of_scope.spans {
                    match span.span() {
                        Some(span) => self.span(span, &resource, scope, pos, batch),
                        None => batch.lose(Loss::BadRecord, pos),
                    }
                }
            }
        }
        request.has_spans() || request.has_others()
    }

    /// Like [`Self::decode_text`] for a request of any size, span by span.
    pub(super) fn decode_document(&mut self, document: &Document, out: &mut Output<'_>) -> Result<(), ReadError> {
        let mut next = Some(document.whole());
        while let Some(extent) = next {
            if document.is_array(extent)? {
                let mut requests = document.items(Some(extent));
                while let Some(request) = requests.next()? {
                    self.decode_members(document, request, out)?;
                }
            } else {
                self.decode_members(document, extent, out)?;
            }
            next = document.next_document()?;
        }
        Ok(())
    }

    fn decode_members(
        &mut self,
        document: &Document,
        object: JsonExtent,
        out: &mut Output<'_>,
    ) -> Result<(), ReadError> {
        let mut members = document.members(object);
        while let Some((key, value)) = members.next()? {
            match &*key {
                b"resourceSpans" | b"resource_spans" | b"batches" => self.decode_resources(document, value, out)?,
                b"resourceMetrics" | b"resourceLogs" => self.has_others |= document.is_array(value)?,
                b"trace" | b"result" => {
                    let [spans] = document.pick(value, ["resourceSpans"])?;
                    if let Some(spans) = spans {
                        self.decode_resources(document, spans, out)?;
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn decode_resources(
        &mut self,
        document: &Document,
        all: JsonExtent,
        out: &mut Output<'_>,
    ) -> Result<(), ReadError> {
        self.has_spans |= document.is_array(all)?;
        let mut resources = document.items(Some(all));
        while let Some(of_resource) = resources.next()? {
            let keys = ["resource", "scopeSpans", "scope_spans", "instrumentationLibrarySpans"];
            let [resource, scopes, also, formerly] = document.pick(of_resource, keys)?;
            let resource_pos = resource.unwrap_or(of_resource).pos();
            let resource: Option<Box<RawValue>> = document.value(resource, out.batch.losses())?;
            let resource = self.resource(resource.as_deref(), resource_pos, out.batch);
            let mut scopes = document.items(scopes.or(also).or(formerly));
            while let Some(of_scope) = scopes.next()? {
                let [scope, also, spans] = document.pick(of_scope, ["scope", "instrumentationLibrary", "spans"])?;
                let scope: Option<JsonScope> = document.value(scope.or(also), out.batch.losses())?;
                let scope = scope.map(|scope| scope.name).unwrap_or_default();
                let mut spans = document.elements(spans);
                while let Some(span) = spans.next()? {
                    let pos = SourcePos::Offset(span.offset);
                    let Some(span) = span.parse::<JsonSpan<'_>>(out.batch.losses()) else { continue };
                    self.span(&span, &resource, &scope, pos, out.batch);
                    self.layout.flush_if_full(out)?;
                }
            }
        }
        Ok(())
    }

    /// Adds the service of a resource, and writes its other attributes. A value of another type is shown as its
    /// text.
    fn resource(&mut self, resource: Option<&RawValue>, pos: SourcePos, batch: &mut BatchBuilder) -> SpanResource {
        let resource = resource.map(|resource| serde_json::from_str::<Option<Resource<'_>>>(resource.get()));
        let resource = resource.unwrap_or(Ok(None)).unwrap_or_else(|_| {
            batch.lose(Loss::BadRecord, pos);
            None
        });
        let mut texts = ServiceTexts::default();
        self.attributes.begin();
        for ResourceAttribute { key, value } in resource.iter().flat_map(|resource| &resource.attributes) {
            let key = key.as_bytes();
            let Some(text) = value.map(RawValue::get) else { continue };
            let value = serde_json::from_str::<JsonAnyValue<'_>>(text);
            if let Some(named) = texts.get_mut(key)
                && let Ok(JsonAnyValue { string_value: Some(text), .. }) = &value
            {
                named.clone_from(text);
            }
            if key != SERVICE_NAME {
                match value {
                    Ok(value) => self.attributes.value(key, &value),
                    Err(_) => self.attributes.text(key, text.trim_matches('"')),
                }
            }
        }
        texts.add(&self.attributes.finish(), &mut self.layout, batch)
    }

    fn span(
        &mut self,
        span: &JsonSpan<'_>,
        resource: &SpanResource,
        scope: &str,
        pos: SourcePos,
        batch: &mut BatchBuilder,
    ) {
        let Some(start_ns) = time_ns(span.start_time_unix_nano) else { return batch.lose(Loss::BadTime, pos) };
        let (trace_id, own_id) = (id_text(&span.trace_id, TRACE_BYTES), id_text(&span.span_id, SPAN_BYTES));
        let parent = span.parent_span_id.as_deref().map(|parent| id_text(parent, SPAN_BYTES));
        let parent = parent.filter(|parent| parent.bytes().any(|byte| byte != b'0'));
        let attributes = &mut self.attributes;
        let code = span.status.as_ref().and_then(|status| status.code);
        let status = code.map_or("", |code| enumeration(code, "STATUS_CODE_", status_name));
        attributes.begin_span(&SpanTexts {
            scope,
            kind: span.kind.map_or("", |kind| enumeration(kind, "SPAN_KIND_", kind_name)),
            status,
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
        let points = self.points(span, pos, batch);
        count_dropped(span.dropped_count(), pos, batch);
        // An empty text means absent, like `null`.
        let end = span.end_time_unix_nano.filter(|end| end.get() != r#""""#);
        let end_ns = end.map_or(Ok(UNFINISHED_NS), |end| TimeUnit::Nanoseconds.nanos(end));
        let SpanResource { service, attributes: resource } = resource.clone();
        let (id, parent) = span_ids(trace_id.as_bytes(), own_id.as_bytes(), parent.as_deref().map(str::as_bytes));
        self.layout.push_of_trace(
            &trace_id,
            ServiceSpan {
                start_ns,
                end_ns: exported_end(end_ns.ok(), start_ns, pos, batch),
                id,
                parent,
                service,
                name: span.name.as_bytes().into(),
                args,
                resource,
                points,
                is_failed: status == ERROR_STATUS,
                pos,
            },
        );
    }

    /// Converts the events of a span.
    fn points(&mut self, span: &JsonSpan<'_>, pos: SourcePos, batch: &mut BatchBuilder) -> Vec<Point> {
        let mut points = Vec::with_capacity(span.events.len());
        for event in &span.events {
            let Some(ts_ns) = time_ns(event.time_unix_nano) else {
                batch.lose(Loss::BadTime, pos);
                continue;
            };
            self.attributes.begin();
            for attribute in &event.attributes {
                self.attributes.value(attribute.key.as_bytes(), &attribute.value);
            }
            points.push(Point { ts_ns, name: event.name.as_bytes().into(), args: self.attributes.finish() });
        }
        points
    }
}

fn time_ns(time: Option<&RawValue>) -> Option<i64> {
    TimeUnit::Nanoseconds.nanos(time?).ok()
}

/// Returns an enum name without its prefix, or the name of a number.
fn enumeration<'a>(value: &'a RawValue, prefix: &str, name_of: fn(u64) -> &'static str) -> &'a str {
    let text = value.get().trim_matches('"');
    match text.parse() {
        Ok(number) => name_of(number),
        Err(_) => Some(text.strip_prefix(prefix).unwrap_or(text)).filter(|name| *name != "UNSET").unwrap_or_default(),
    }
}
