//! Writes attributes of spans and resources of both encodings as a JSON object.

use std::sync::Arc;

use super::fields::{span_kind, status_code};
use super::layout::Layout;
use super::services::ServiceKey;
use crate::formats::output::args::{ArgsWriter, lossy_text, push_quoted};
use crate::formats::output::batch::BatchBuilder;
use crate::model::{Loss, SourcePos};

const DROPPED: &str = "The program dropped attributes, events or links at the limits of its SDK. Raise these limits, such as \
    OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT and OTEL_SPAN_EVENT_COUNT_LIMIT, to keep them.";

/// Counts the attributes, events and links of a span that the program dropped.
pub(super) fn count_dropped(count: u64, pos: SourcePos, batch: &mut BatchBuilder) {
    batch.losses().add_many_because(DROPPED, Loss::RecorderLost, pos, count);
}

/// The service and the attributes of a resource, for its spans.
#[derive(Debug, Clone)]
pub(super) struct SpanResource {
    pub(super) service: u32,
    pub(super) attributes: Option<Arc<str>>,
}

/// The attributes that identify a service.
#[derive(Debug, Default)]
pub(super) struct ServiceTexts {
    name: String,
    namespace: String,
    instance: String,
}

impl ServiceTexts {
    /// Returns the text to set for an attribute that identifies the service.
    pub(super) fn get_mut(&mut self, key: &[u8]) -> Option<&mut String> {
        match key {
            SERVICE_NAME => Some(&mut self.name),
            b"service.namespace" => Some(&mut self.namespace),
            b"service.instance.id" => Some(&mut self.instance),
            _ => None,
        }
    }

    /// Adds the service to the layout, with the other attributes of its resource.
    pub(super) fn add(&self, attributes: &str, layout: &mut Layout, batch: &mut BatchBuilder) -> SpanResource {
        let name = if self.name.is_empty() { "unknown service" } else { &self.name };
        let key = ServiceKey { name, namespace: &self.namespace, instance: &self.instance };
        let service = layout.service_of(key, batch);
        SpanResource { service, attributes: layout.resource(service, attributes) }
    }
}

/// The attribute that names the process, so that spans do not repeat it.
pub(super) const SERVICE_NAME: &[u8] = b"service.name";

/// Builds the JSON object of ids and attributes of a span. The values of a key that repeats become an array.
#[derive(Debug, Default)]
pub(super) struct Attributes {
    args: ArgsWriter,
    /// The keys and the JSON of the values, without separators.
    texts: String,
    /// The ends of each key and its value in the texts.
    ends: Vec<(usize, usize)>,
}

/// A value that can be written as JSON.
pub(super) trait WriteJson {
    /// Appends exactly one JSON value.
    fn write_json(&self, json: &mut String);
}

/// The texts of a span that are not attributes; empty if it has none.
#[derive(Debug)]
pub(super) struct SpanTexts<'a> {
    pub(super) scope: &'a str,
    pub(super) kind: &'a str,
    pub(super) status: &'a str,
    pub(super) message: &'a str,
    pub(super) trace_id: &'a str,
    pub(super) span_id: &'a str,
    pub(super) parent_span_id: &'a str,
}

impl Attributes {
    /// Begins the object of a span event or a resource.
    pub(super) fn begin(&mut self) {
        self.texts.clear();
        self.ends.clear();
    }

    /// Begins the object of a span with its texts.
    pub(super) fn begin_span(&mut self, texts: &SpanTexts<'_>) {
        self.begin();
        for (key, text) in [
            (&b"scope"[..], texts.scope),
            (b"kind", texts.kind),
            (b"status", texts.status),
            (b"message", texts.message),
            (b"trace_id", texts.trace_id),
            (b"span_id", texts.span_id),
            (b"parent_span_id", texts.parent_span_id),
        ] {
            if !text.is_empty() {
                self.text(key, text);
            }
        }
    }

    pub(super) fn text(&mut self, key: &[u8], text: &str) {
        self.add(key, |json| push_quoted(json, text));
    }

    pub(super) fn value(&mut self, key: &[u8], value: &impl WriteJson) {
        self.add(key, |json| value.write_json(json));
    }

    fn add(&mut self, key: &[u8], write_value: impl FnOnce(&mut String)) {
        self.texts.push_str(&lossy_text(key));
        let key_end = self.texts.len();
        write_value(&mut self.texts);
        self.ends.push((key_end, self.texts.len()));
    }

    pub(super) fn finish(&mut self) -> Box<str> {
        let mut start = 0;
        let members = self.ends.iter().map(|&(key_end, end)| {
            let key = &self.texts[std::mem::replace(&mut start, end)..key_end];
            (key, &self.texts[key_end..end])
        });
        self.args.clear();
        self.args.members(&members.collect::<Vec<_>>(), |value, json| json.push_str(value));
        self.args.finish().into()
    }
}

pub(super) fn write_list<T: WriteJson>(values: impl IntoIterator<Item = T>, json: &mut String) {
    json.push('[');
    for (position, value) in values.into_iter().enumerate() {
        if position > 0 {
            json.push(',');
        }
        value.write_json(json);
    }
    json.push(']');
}

pub(super) fn write_object<'k, T: WriteJson>(members: impl IntoIterator<Item = (&'k str, T)>, json: &mut String) {
    json.push('{');
    for (position, (key, value)) in members.into_iter().enumerate() {
        if position > 0 {
            json.push(',');
        }
        push_quoted(json, key);
        json.push(':');
        value.write_json(json);
    }
    json.push('}');
}

/// Writes the trace id, the span id and the attributes of a link to another span.
pub(super) fn write_link<'k, T: WriteJson>(
    [trace_id, span_id]: [&str; 2],
    attributes: impl IntoIterator<Item = (&'k str, T)>,
    json: &mut String,
) {
    json.push_str("{\"trace_id\":");
    push_quoted(json, trace_id);
    json.push_str(",\"span_id\":");
    push_quoted(json, span_id);
    json.push_str(",\"attributes\":");
    write_object(attributes, json);
    json.push('}');
}

/// Returns the name of a span kind without its prefix; empty if it is unspecified.
pub(super) fn kind_name(kind: u64) -> &'static str {
    match kind {
        span_kind::SPAN_KIND_INTERNAL => "INTERNAL",
        span_kind::SPAN_KIND_SERVER => "SERVER",
        span_kind::SPAN_KIND_CLIENT => "CLIENT",
        span_kind::SPAN_KIND_PRODUCER => "PRODUCER",
        span_kind::SPAN_KIND_CONSUMER => "CONSUMER",
        _ => "",
    }
}

/// The name of the status of spans that failed.
pub(super) const ERROR_STATUS: &str = "ERROR";

/// Returns the name of a status code without its prefix; empty if it is unset.
pub(super) fn status_name(code: u64) -> &'static str {
    match code {
        status_code::STATUS_CODE_OK => "OK",
        status_code::STATUS_CODE_ERROR => ERROR_STATUS,
        _ => "",
    }
}
