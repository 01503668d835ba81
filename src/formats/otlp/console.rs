//! Spans printed by OpenTelemetry console exporters between other program output: multi-line objects as JSON (Python,
//! Go) or as JavaScript (Node.js). Other lines are ignored. Java's logging exporter prints no times, and the text
//! formats of .NET and Rust are not supported.

use serde_json::Value;

use super::attributes::kind_name;
use super::layout::{Layout, Point, ServiceSpan, span_id};
use crate::base::time::epoch_nanos;
use crate::formats::ReadError;
use crate::formats::input::lines::{LineParser, Output, TextLine, head_lines};
use crate::formats::json::outline::Outline;
use crate::formats::output::args::{ArgsWriter, push_quoted};
use crate::formats::output::batch::BatchBuilder;
use crate::model::{Loss, SourcePos};

/// Limit for the text of a span, which takes some KiB.
const SPAN_TEXT_MAX: usize = 1 << 20;

/// Returns whether the first line that starts an object starts a span of a console exporter.
pub(super) fn looks_like_console(head: &[u8]) -> bool {
    let mut at = 0;
    for line in head_lines(head) {
        if line.starts_with(b"{") {
            let rest = &head[at.min(head.len())..];
            let outline = Outline::from_head(rest);
            return outline.has_all(&["context.trace_id", "context.span_id", "start_time"])
                || outline.has_all(&["SpanContext.TraceID", "StartTime"])
                || line == b"{" && is_inspected(rest);
        }
        at += line.len() + 1;
        at += usize::from(head.get(at - 1) == Some(&b'\r'));
    }
    false
}

/// Returns whether a JavaScript object has the members of a span.
fn is_inspected(text: &[u8]) -> bool {
    let has = |key: &[u8]| memchr::memmem::find(text, key).is_some();
    has(b"traceId: '") && has(b"\n  timestamp: ") && has(b"\n  duration: ")
}

/// Parses spans from console lines.
#[derive(Default)]
pub(super) struct ConsoleSpans {
    /// The current object, and the position of its start.
    text: Vec<u8>,
    place: Option<SourcePos>,
    layout: Layout,
}

impl LineParser for ConsoleSpans {
    fn line(&mut self, line: TextLine<'_>, batch: &mut BatchBuilder) {
        let begins = line.bytes.starts_with(b"{");
        if let Some(place) = self.place.filter(|_| begins || self.text.len() > SPAN_TEXT_MAX) {
            batch.lose(Loss::BadRecord, place);
            self.place = None;
        }
        if self.place.is_none() {
            if !begins {
                let is_empty = line.bytes.trim_ascii().is_empty();
                return batch.batch.losses.add_many(Loss::IgnoredMetadata, line.place(), u64::from(!is_empty));
            }
            self.text.clear();
            self.place = Some(line.place());
        }
        self.text.extend_from_slice(line.bytes);
        self.text.push(b'\n');
        let ends = matches!(line.bytes, b"}" | b"},") || begins && line.bytes.trim_ascii_end().ends_with(b"}");
        if ends && let Some(place) = self.place.take() {
            match ConsoleSpan::from_text(&self.text) {
                Some(span) => span.push(place, &mut self.layout, batch),
                None => batch.lose(line.loss(), place),
            }
        }
    }

    fn after_line(&mut self, out: &mut Output<'_>) -> Result<(), ReadError> {
        if self.layout.is_full(out.budget()) { self.layout.flush(out) } else { Ok(()) }
    }

    fn pause(&mut self, out: &mut Output<'_>) -> Result<(), ReadError> {
        self.layout.flush(out)
    }

    fn finish(&mut self, out: &mut Output<'_>) -> Result<(), ReadError> {
        if let Some(place) = self.place {
            out.batch.lose(Loss::Truncated, place);
        }
        self.layout.flush(out)
    }
}

/// A span with all fields that the exporters print.
struct ConsoleSpan {
    trace_id: String,
    id: String,
    parent: Option<String>,
    name: String,
    service: Option<String>,
    start_ns: i64,
    end_ns: i64,
    kind: String,
    scope: String,
    status: String,
    /// Attributes as keys and JSON values.
    attributes: Vec<(String, Value)>,
    events: Vec<ConsoleEvent>,
}

/// A span event.
struct ConsoleEvent {
    ts_ns: i64,
    name: String,
    attributes: Vec<(String, Value)>,
}

fn text_at(value: &Value, pointer: &str) -> String {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn members(value: Option<&Value>) -> Vec<(String, Value)> {
    match value {
        Some(Value::Object(members)) => members.iter().map(|(key, value)| (key.clone(), value.clone())).collect(),
        // Go prints attributes as `{"Key":"a","Value":{"Type":"STRING","Value":"b"}}`.
        Some(Value::Array(pairs)) => {
            let pair =
                |pair: &Value| Some((pair.get("Key")?.as_str()?.to_owned(), pair.pointer("/Value/Value")?.clone()));
            pairs.iter().filter_map(pair).collect()
        }
        _ => Vec::new(),
    }
}

fn service(members: &[(String, Value)]) -> Option<String> {
    let named = members.iter().find(|(key, _)| key == "service.name")?;
    named.1.as_str().map(str::to_owned)
}

/// Returns the elements of the array at a JSON pointer.
fn items<'v>(value: &'v Value, pointer: &str) -> &'v [Value] {
    value.pointer(pointer).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

impl ConsoleSpan {
    fn from_text(text: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(text).ok()?.trim_end().trim_end_matches(',');
        let value = serde_json::from_str::<Value>(text);
        let value = value.or_else(|_| serde_json::from_str(&json_from_inspected(text).unwrap_or_default())).ok()?;
        if value.get("context").is_some() {
            Self::from_python(&value)
        } else if value.get("SpanContext").is_some() {
            Self::from_go(&value)
        } else {
            Self::from_node(&value)
        }
    }

    fn from_python(value: &Value) -> Option<Self> {
        let event = |event: &Value| {
            let ts_ns = epoch_nanos(event.get("timestamp")?.as_str()?)?;
            Some(ConsoleEvent { ts_ns, name: text_at(event, "/name"), attributes: members(event.get("attributes")) })
        };
        let resource = value.get("resource");
        let resource = resource.and_then(|resource| resource.get("attributes")).or(resource);
        let kind = text_at(value, "/kind");
        Some(Self {
            trace_id: text_at(value, "/context/trace_id").trim_start_matches("0x").to_owned(),
            id: text_at(value, "/context/span_id").trim_start_matches("0x").to_owned(),
            parent: value.get("parent_id").and_then(Value::as_str).map(|id| id.trim_start_matches("0x").to_owned()),
            name: text_at(value, "/name"),
            service: service(&members(resource)),
            start_ns: epoch_nanos(value.get("start_time")?.as_str()?)?,
            end_ns: value.get("end_time").and_then(Value::as_str).and_then(epoch_nanos).unwrap_or(0),
            kind: kind.strip_prefix("SpanKind.").unwrap_or(&kind).to_owned(),
            scope: String::new(),
            status: text_at(value, "/status/status_code"),
            attributes: members(value.get("attributes")),
            events: items(value, "/events").iter().filter_map(event).collect(),
        })
    }

    fn from_go(value: &Value) -> Option<Self> {
        let event = |event: &Value| {
            let ts_ns = epoch_nanos(event.get("Time")?.as_str()?)?;
            Some(ConsoleEvent { ts_ns, name: text_at(event, "/Name"), attributes: members(event.get("Attributes")) })
        };
        let scope = text_at(value, "/InstrumentationScope/Name");
        Some(Self {
            trace_id: text_at(value, "/SpanContext/TraceID"),
            id: text_at(value, "/SpanContext/SpanID"),
            parent: Some(text_at(value, "/Parent/SpanID")),
            name: text_at(value, "/Name"),
            service: service(&members(value.get("Resource"))),
            start_ns: epoch_nanos(value.get("StartTime")?.as_str()?)?,
            end_ns: value.get("EndTime").and_then(Value::as_str).and_then(epoch_nanos).unwrap_or(0),
            kind: kind_name(value.get("SpanKind").and_then(Value::as_u64).unwrap_or(0)).to_owned(),
            scope: if scope.is_empty() { text_at(value, "/InstrumentationLibrary/Name") } else { scope },
            status: text_at(value, "/Status/Code").to_uppercase(),
            attributes: members(value.get("Attributes")),
            events: items(value, "/Events").iter().filter_map(event).collect(),
        })
    }

    fn from_node(value: &Value) -> Option<Self> {
        /// Offset to the numbers of OTLP, where 0 means unspecified.
        const KINDS_BEGIN_AT: u64 = 1;
        let micros = |key: &str| Some((value.get(key)?.as_f64()? * 1000.0).round() as i64);
        let event = |event: &Value| {
            let time = items(event, "/time");
            let ts_ns = time.first()?.as_i64()?.checked_mul(1_000_000_000)?.checked_add(time.get(1)?.as_i64()?)?;
            Some(ConsoleEvent { ts_ns, name: text_at(event, "/name"), attributes: members(event.get("attributes")) })
        };
        // Microseconds since 1970 are exact only as integers.
        let start = value.get("timestamp")?;
        let start_ns = start.as_i64().and_then(|start| start.checked_mul(1000)).or_else(|| micros("timestamp"))?;
        let parent = value.get("parentId").and_then(Value::as_str).map(str::to_owned);
        let parent = parent.or_else(|| Some(text_at(value, "/parentSpanContext/spanId")));
        Some(Self {
            trace_id: value.get("traceId")?.as_str()?.to_owned(),
            id: text_at(value, "/id"),
            parent,
            name: text_at(value, "/name"),
            service: service(&members(value.pointer("/resource/attributes"))),
            start_ns,
            end_ns: start_ns.saturating_add(micros("duration")?),
            kind: kind_name(value.get("kind").and_then(Value::as_u64).unwrap_or(0) + KINDS_BEGIN_AT).to_owned(),
            scope: text_at(value, "/instrumentationScope/name"),
            status: if value.pointer("/status/code").and_then(Value::as_u64) == Some(2) { "ERROR" } else { "" }
                .to_owned(),
            attributes: members(value.get("attributes")),
            events: items(value, "/events").iter().filter_map(event).collect(),
        })
    }

    fn push(self, place: SourcePos, layout: &mut Layout, batch: &mut BatchBuilder) {
        let service = layout.service(self.service.as_deref().unwrap_or("unknown service"), batch);
        let parent = self.parent.filter(|parent| parent.bytes().any(|byte| byte != b'0'));
        let mut args = ArgsWriter::default();
        for (key, text) in [
            ("scope", self.scope.as_str()),
            ("kind", &self.kind),
            ("status", if self.status == "UNSET" { "" } else { &self.status }),
            ("trace_id", &self.trace_id),
            ("span_id", &self.id),
            ("parent_span_id", parent.as_deref().unwrap_or_default()),
        ] {
            if !text.is_empty() {
                args.text(key, text.as_bytes());
            }
        }
        write_attributes(&self.attributes, &mut args);
        let mut points = Vec::with_capacity(self.events.len());
        for event in &self.events {
            let mut args = ArgsWriter::default();
            write_attributes(&event.attributes, &mut args);
            points.push(Point { ts_ns: event.ts_ns, name: event.name.as_bytes().into(), args: args.finish().into() });
        }
        let id_of = |id: &str| span_id(self.trace_id.as_bytes(), id.as_bytes());
        layout.push(ServiceSpan {
            start_ns: self.start_ns,
            end_ns: self.end_ns,
            id: id_of(&self.id),
            parent: parent.as_deref().map(id_of),
            service,
            name: self.name.as_bytes().into(),
            args: args.finish().into(),
            points,
            place,
        });
    }
}

fn write_attributes(attributes: &[(String, Value)], args: &mut ArgsWriter) {
    for (key, value) in attributes {
        args.key("", key.as_bytes());
        args.json.push_str(&value.to_string());
    }
}

/// Converts the output of `util.inspect` of Node.js to JSON: it has unquoted keys and single-quoted strings.
fn json_from_inspected(text: &str) -> Option<String> {
    let mut json = String::with_capacity(text.len() + text.len() / 8);
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        match first {
            '\'' | '"' | '`' => {
                let mut whole = String::new();
                rest = push_inspected_text(rest, &mut whole)?;
                // Long strings are split and joined by plus signs.
                while let Some(next) = rest.trim_start().strip_prefix('+') {
                    rest = push_inspected_text(next.trim_start(), &mut whole)?;
                }
                push_quoted(&mut json, &whole);
            }
            '[' if rest[1..].starts_with(|next: char| next.is_ascii_uppercase()) => {
                // `[Object]` replaces objects that are too deep to print.
                rest = &rest[rest.find(']')? + 1..];
                json.push_str("null");
            }
            '{' | '}' | '[' | ']' | ',' | ':' | ' ' | '\n' => {
                json.push(first);
                rest = &rest[1..];
            }
            _ => {
                let end = rest.find(|next: char| !(next.is_alphanumeric() || "_$.-+".contains(next)));
                let (word, after) = rest.split_at(end.filter(|&end| end > 0)?);
                rest = after;
                let is_number = || serde_json::from_str::<serde_json::Number>(word).is_ok();
                if rest.starts_with(':') {
                    push_quoted(&mut json, word);
                } else if matches!(word, "true" | "false" | "null") || is_number() {
                    json.push_str(word);
                } else {
                    json.push_str("null");
                }
            }
        }
    }
    Some(json)
}

/// Appends a quoted string, and returns the rest.
fn push_inspected_text<'t>(text: &'t str, whole: &mut String) -> Option<&'t str> {
    let quote = text.chars().next().filter(|quote| matches!(quote, '\'' | '"' | '`'))?;
    let mut letters = text[1..].char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '\\' => match letters.next()?.1 {
                'n' => whole.push('\n'),
                't' => whole.push('\t'),
                'r' => whole.push('\r'),
                other => whole.push(other),
            },
            end if end == quote => return Some(&text[1 + at + 1..]),
            other => whole.push(other),
        }
    }
    None
}
