//! A `ResourceSpans` message, and its spans. Metrics and log records in their place are skipped.

use super::attributes::{
    Attributes, SERVICE_NAME, ServiceTexts, SpanResource, SpanTexts, WriteJson, count_dropped, kind_name, status_name,
    write_link, write_list, write_object,
};
use super::fields::{
    any_value, array_value, event, key_value, kvlist, link, log_record, metric, resource, resource_spans, scope,
    scope_spans, span, status, status_code,
};
use super::ids::{SPAN_BYTES, TRACE_BYTES, hex};
use super::layout::{Layout, Point, ServiceSpan, exported_end, span_ids};
use crate::formats::output::args::{push_double, push_quoted};
use crate::formats::output::batch::BatchBuilder;
use crate::formats::protobuf::decode::{Fields, ProtoValue};
use crate::model::{Loss, SourcePos};

/// Limit for `ResourceSpans`; a larger one is damage.
pub(super) const RESOURCE_BYTES_MAX: usize = 64 << 20;

/// Limit for nested values; the JSON parser of arguments allows 128.
const DEPTH_MAX: u32 = 100;

/// Returns whether this looks like the name of an attribute of a resource.
pub(super) fn is_attribute_key(key: &[u8]) -> bool {
    key.len() > 2 && key.iter().all(|&byte| byte.is_ascii_alphanumeric() || b"._-/".contains(&byte))
}

/// An encoded attribute value, nested in `depth` others.
#[derive(Clone, Copy)]
struct ProtoAnyValue<'a> {
    bytes: &'a [u8],
    depth: u32,
}

impl WriteJson for ProtoAnyValue<'_> {
    fn write_json(&self, json: &mut String) {
        use std::fmt::Write as _;
        let depth = self.depth + 1;
        let value = Fields::new(self.bytes)
            .find(|field| any_value::STRING_VALUE <= field.number && field.number <= any_value::BYTES_VALUE);
        match value.map(|field| (field.number, field.value)) {
            Some((any_value::STRING_VALUE, text)) => push_quoted(json, &String::from_utf8_lossy(text.bytes())),
            Some((any_value::BOOL_VALUE, flag)) => json.push_str(if flag.number() == 0 { "false" } else { "true" }),
            Some((any_value::INT_VALUE, number)) => {
                let _ = write!(json, "{}", number.signed()); // to memory
            }
            Some((any_value::DOUBLE_VALUE, number)) => push_double(json, number.double()),
            Some((any_value::ARRAY_VALUE, list)) if depth < DEPTH_MAX => {
                let values = Fields::new(list.bytes()).filter(|field| field.number == array_value::VALUES);
                write_list(values.map(|field| ProtoAnyValue { bytes: field.value.bytes(), depth }), json);
            }
            Some((any_value::KVLIST_VALUE, list)) if depth < DEPTH_MAX => {
                let members = Fields::new(list.bytes()).filter(|field| field.number == kvlist::VALUES);
                let members: Vec<_> = members.map(|field| key_value(field.value.bytes(), depth)).collect();
                let texts: Vec<_> = members.iter().map(|member| String::from_utf8_lossy(member.0)).collect();
                write_object(texts.iter().map(|text| &**text).zip(members.iter().map(|member| member.1)), json);
            }
            Some((any_value::BYTES_VALUE, bytes)) => {
                push_quoted(json, &hex(bytes.bytes()));
            }
            _ => json.push_str("null"),
        }
    }
}

fn key_value(bytes: &[u8], depth: u32) -> (&[u8], ProtoAnyValue<'_>) {
    let (mut key, mut value) = (&b""[..], &b""[..]);
    for field in Fields::new(bytes) {
        match field.number {
            key_value::KEY => key = field.value.bytes(),
            key_value::VALUE => value = field.value.bytes(),
            _ => {}
        }
    }
    (key, ProtoAnyValue { bytes: value, depth })
}

/// An encoded span link: ids and attributes.
#[derive(Clone, Copy)]
struct ProtoLink<'a>(&'a [u8]);

struct ProtoLinks<'a>(Vec<ProtoLink<'a>>);

impl WriteJson for ProtoLink<'_> {
    fn write_json(&self, json: &mut String) {
        let id = |number| {
            Fields::new(self.0).find(|field| field.number == number).map_or(String::new(), |id| hex(id.value.bytes()))
        };
        let ids = [id(link::TRACE_ID), id(link::SPAN_ID)];
        let members: Vec<_> = Fields::new(self.0).filter(|field| field.number == link::ATTRIBUTES).collect();
        let members: Vec<_> = members.iter().map(|member| key_value(member.value.bytes(), 0)).collect();
        let texts: Vec<_> = members.iter().map(|member| String::from_utf8_lossy(member.0)).collect();
        let attributes = texts.iter().map(|text| &**text).zip(members.iter().map(|member| member.1));
        write_link(ids.each_ref().map(|id| &**id), attributes, json);
    }
}

impl WriteJson for ProtoLinks<'_> {
    fn write_json(&self, json: &mut String) {
        write_list(self.0.iter().copied(), json);
    }
}

/// The fields of a span, without its attributes, events and links.
#[derive(Default)]
struct ProtoSpan<'a> {
    trace: &'a [u8],
    id: &'a [u8],
    parent: &'a [u8],
    name: &'a [u8],
    kind: u64,
    start: Option<u64>,
    end: u64,
    status: &'a [u8],
    /// Number of attributes, events and links that the program has dropped.
    dropped: u64,
}

impl<'a> ProtoSpan<'a> {
    /// Returns `None` if the span is damaged.
    fn read(bytes: &'a [u8]) -> Option<Self> {
        let mut read = Self::default();
        let mut fields = Fields::new(bytes);
        for field in fields.by_ref() {
            match (field.number, field.value) {
                (span::TRACE_ID, value) => read.trace = value.bytes(),
                (span::SPAN_ID, value) => read.id = value.bytes(),
                (span::PARENT_SPAN_ID, value) => read.parent = value.bytes(),
                (span::NAME, value) => read.name = value.bytes(),
                (span::KIND, value) => read.kind = value.number(),
                (span::START_TIME_UNIX_NANO, ProtoValue::Fixed64(ns)) => read.start = Some(ns),
                (span::END_TIME_UNIX_NANO, ProtoValue::Fixed64(ns)) => read.end = ns,
                (span::STATUS, ProtoValue::Bytes(bytes)) => read.status = bytes,
                (
                    span::DROPPED_ATTRIBUTES_COUNT | span::DROPPED_EVENTS_COUNT | span::DROPPED_LINKS_COUNT,
                    ProtoValue::Varint(count),
                ) => read.dropped = read.dropped.saturating_add(count),
                _ => {}
            }
        }
        (!fields.is_broken()).then_some(read)
    }
}

/// Returns the code and the message of a status.
fn status_of(bytes: &[u8]) -> (u64, &[u8]) {
    let (mut code, mut message) = (0, &b""[..]);
    for field in Fields::new(bytes) {
        match field.number {
            status::MESSAGE => message = field.value.bytes(),
            status::CODE => code = field.value.number(),
            _ => {}
        }
    }
    (code, message)
}

/// Converts messages to spans of a layout.
#[derive(Default)]
pub(super) struct ProtoDecoder {
    attributes: Attributes,
    /// Whether messages had spans (`has_spans`), or metrics or logs (`has_others`).
    pub(super) has_spans: bool,
    pub(super) has_others: bool,
}

impl ProtoDecoder {
    pub(super) fn resource_spans(
        &mut self,
        bytes: &[u8],
        pos: SourcePos,
        layout: &mut Layout,
        batch: &mut BatchBuilder,
    ) {
        let mut texts = ServiceTexts::default();
        self.attributes.begin();
        let mut fields = Fields::new(bytes);
        for field in fields.by_ref().filter(|field| field.number == resource_spans::RESOURCE) {
            for attribute in Fields::new(field.value.bytes()).filter(|field| field.number == resource::ATTRIBUTES) {
                let (key, value) = key_value(attribute.value.bytes(), 0);
                if let Some(named) = texts.get_mut(key)
                    && let Some(text) = Fields::new(value.bytes).find(|field| field.number == any_value::STRING_VALUE)
                {
                    *named = String::from_utf8_lossy(text.value.bytes()).into_owned();
                }
                if key != SERVICE_NAME {
                    self.attributes.value(key, &value);
                }
            }
        }
        let is_broken = fields.is_broken();
        let resource = texts.add(&self.attributes.finish(), layout, batch);
        for of_scope in Fields::new(bytes).filter(|field| field.number == resource_spans::SCOPE_SPANS) {
            let bytes = of_scope.value.bytes();
            let named = Fields::new(bytes).find(|field| field.number == scope_spans::SCOPE);
            let named =
                named.and_then(|named| Fields::new(named.value.bytes()).find(|field| field.number == scope::NAME));
            let scope = named.map(|scope| String::from_utf8_lossy(scope.value.bytes()).into_owned());
            let mut fields = Fields::new(bytes);
            for span in fields.by_ref().filter(|field| field.number == scope_spans::SPANS) {
                let scope = scope.as_deref().unwrap_or_default();
                match self.span(span.value.bytes(), &resource, scope, pos, batch) {
                    Ok((trace_id, span)) => layout.push_of_trace(&trace_id, span),
                    Err(Some(loss)) => batch.lose(loss, pos),
                    // Metrics and logs are skipped.
                    Err(None) => {}
                }
            }
            if fields.is_broken() {
                batch.lose(Loss::BadRecord, pos);
            }
        }
        if is_broken {
            batch.lose(Loss::BadRecord, pos);
        }
    }

    /// Decodes a span. `Err(Some)` is the loss to count for a damaged span; `Err(None)` is a metric or a log record.
    fn span(
        &mut self,
        bytes: &[u8],
        resource: &SpanResource,
        scope: &str,
        pos: SourcePos,
        batch: &mut BatchBuilder,
    ) -> Result<(String, ServiceSpan), Option<Loss>> {
        let Some(mut span) = ProtoSpan::read(bytes) else { return Err(Some(Loss::BadRecord)) };
        if span.start.is_none() && span.end == 0 && is_metric_or_log(bytes) {
            self.has_others = true;
            return Err(None);
        }
        self.has_spans = true;
        let Some(Ok(start_ns)) = span.start.map(i64::try_from) else { return Err(Some(Loss::BadTime)) };
        let end_ns = exported_end(i64::try_from(span.end).ok(), start_ns, pos, batch);
        let parent = Some(span.parent).filter(|parent| parent.iter().any(|&byte| byte != 0));
        let (code, message) = status_of(span.status);
        let trace_id = hex(span.trace);
        self.attributes.begin_span(&SpanTexts {
            scope,
            kind: kind_name(span.kind),
            status: status_name(code),
            message: &String::from_utf8_lossy(message),
            trace_id: &trace_id,
            span_id: &hex(span.id),
            parent_span_id: &hex(parent.unwrap_or_default()),
        });
        for field in Fields::new(bytes).filter(|field| field.number == span::ATTRIBUTES) {
            let (key, value) = key_value(field.value.bytes(), 0);
            self.attributes.value(key, &value);
        }
        self.links(bytes, &mut span.dropped, pos, batch);
        let args = self.attributes.finish();
        let points = self.points(bytes, &mut span.dropped, pos, batch);
        count_dropped(span.dropped, pos, batch);
        let (id, parent) = span_ids(span.trace, span.id, parent);
        let SpanResource { service, attributes: resource } = resource.clone();
        let (name, is_failed) = (span.name.into(), code == status_code::STATUS_CODE_ERROR);
        let span = ServiceSpan { start_ns, end_ns, id, parent, service, name, args, resource, points, is_failed, pos };
        Ok((trace_id, span))
    }

    /// Writes the links of a span, if it has any, and adds the attributes that they lack to `dropped`.
    fn links(&mut self, span: &[u8], dropped: &mut u64, pos: SourcePos, batch: &mut BatchBuilder) {
        let links: Vec<_> = Fields::new(span).filter(|field| field.number == span::LINKS).collect();
        if links.is_empty() {
            return;
        }
        for link in &links {
            let mut fields = Fields::new(link.value.bytes());
            for field in fields.by_ref().filter(|field| field.number == link::DROPPED_ATTRIBUTES_COUNT) {
                *dropped = dropped.saturating_add(field.value.number());
            }
            if fields.is_broken() {
                batch.lose(Loss::BadRecord, pos);
            }
        }
        let links = links.iter().map(|link| ProtoLink(link.value.bytes())).collect();
        self.attributes.value(b"links", &ProtoLinks(links));
    }

    /// Decodes the events of a span, and adds the attributes that they lack to `dropped`.
    fn points(&mut self, span: &[u8], dropped: &mut u64, pos: SourcePos, batch: &mut BatchBuilder) -> Vec<Point> {
        let mut points = Vec::new();
        for event in Fields::new(span).filter(|field| field.number == span::EVENTS) {
            let (mut ts, mut name) = (None, &b""[..]);
            self.attributes.begin();
            let mut fields = Fields::new(event.value.bytes());
            for field in fields.by_ref() {
                match field.number {
                    event::TIME_UNIX_NANO => ts = i64::try_from(field.value.number()).ok(),
                    event::NAME => name = field.value.bytes(),
                    event::ATTRIBUTES => {
                        let (key, value) = key_value(field.value.bytes(), 0);
                        self.attributes.value(key, &value);
                    }
                    event::DROPPED_ATTRIBUTES_COUNT => *dropped = dropped.saturating_add(field.value.number()),
                    _ => {}
                }
            }
            if fields.is_broken() {
                batch.lose(Loss::BadRecord, pos);
            } else if ts.is_none() {
                batch.lose(Loss::BadTime, pos);
            }
            let args = self.attributes.finish();
            points.extend(ts.map(|ts_ns| Point { ts_ns, name: name.into(), args }));
        }
        points
    }
}

/// Returns whether a message without a start, in the place of a span, is a metric or a log record. Requests with these
/// have the same structure around them.
fn is_metric_or_log(bytes: &[u8]) -> bool {
    let (mut has_ids, mut is_named, mut has_data) = ([false; 2], false, false);
    for field in Fields::new(bytes) {
        match (field.number, field.value) {
            (log_record::TIME_UNIX_NANO | log_record::OBSERVED_TIME_UNIX_NANO, ProtoValue::Fixed64(_))
            | (log_record::SEVERITY_NUMBER, ProtoValue::Varint(_))
            | (metric::SUM, ProtoValue::Bytes(_)) => return true,
            (metric::NAME, ProtoValue::Bytes(text)) => {
                is_named = !text.is_empty();
                has_ids[0] = text.len() == TRACE_BYTES;
            }
            (span::SPAN_ID, ProtoValue::Bytes(id)) => has_ids[1] = id.len() == SPAN_BYTES,
            (
                metric::GAUGE | metric::HISTOGRAM | metric::EXPONENTIAL_HISTOGRAM | metric::SUMMARY,
                ProtoValue::Bytes(_),
            ) => has_data = true,
            _ => {}
        }
    }
    is_named && has_data && has_ids != [true; 2]
}
