//! The messages of a JSON request. Unknown members are skipped, `null` means absent, and times and enums stay text. A
//! message of another type is refused with all that contains it, except a resource, a scope and a [`LoneSpan`].

use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::attributes::{WriteJson, write_link, write_list, write_object};
use super::ids::{SPAN_BYTES, TRACE_BYTES, id_text};
use crate::formats::json::lenient;
use crate::formats::output::args::{push_double, push_quoted};

/// A request, whose spans are of type `S`.
#[derive(Deserialize)]
#[serde(bound(deserialize = "S: Deserialize<'de>"))]
pub(super) struct Request<'a, S> {
    #[serde(borrow, default, rename = "resourceSpans", alias = "resource_spans")]
    pub(super) spans: Option<Vec<ResourceSpans<'a, S>>>,
    /// Collectors write metrics and logs to the same file.
    #[serde(borrow, rename = "resourceMetrics")]
    pub(super) metrics: Option<&'a RawValue>,
    #[serde(borrow, rename = "resourceLogs")]
    pub(super) logs: Option<&'a RawValue>,
    /// The members of one `ResourceSpans` without a request around it, or of its counterparts.
    #[serde(borrow)]
    pub(super) resource: Option<&'a RawValue>,
    #[serde(rename = "scopeSpans", alias = "instrumentationLibrarySpans")]
    pub(super) scope_spans: Option<Vec<ScopeSpans<S>>>,
    #[serde(borrow, rename = "scopeMetrics")]
    pub(super) scope_metrics: Option<&'a RawValue>,
    #[serde(borrow, rename = "scopeLogs")]
    pub(super) scope_logs: Option<&'a RawValue>,
}

impl<S> Request<'_, S> {
    pub(super) fn has_spans(&self) -> bool {
        self.spans.is_some() || self.scope_spans.is_some()
    }

    pub(super) fn has_others(&self) -> bool {
        let others = [self.metrics, self.logs, self.scope_metrics, self.scope_logs];
        others.iter().any(Option::is_some)
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", bound(deserialize = "S: Deserialize<'de>"))]
pub(super) struct ResourceSpans<'a, S> {
    #[serde(borrow)]
    pub(super) resource: Option<&'a RawValue>,
    #[serde(
        default,
        deserialize_with = "null_as_default",
        alias = "scope_spans",
        alias = "instrumentationLibrarySpans"
    )]
    pub(super) scope_spans: Vec<ScopeSpans<S>>,
}

#[derive(Deserialize)]
pub(super) struct Resource<'a> {
    #[serde(borrow, default, deserialize_with = "null_as_default")]
    pub(super) attributes: Vec<ResourceAttribute<'a>>,
}

/// An attribute of a resource, whose value is parsed on its own: all spans of the request depend on the others.
#[derive(Deserialize)]
pub(super) struct ResourceAttribute<'a> {
    #[serde(default, deserialize_with = "lenient::text")]
    pub(super) key: String,
    #[serde(borrow)]
    pub(super) value: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(bound(deserialize = "S: Deserialize<'de>"))]
pub(super) struct ScopeSpans<S> {
    #[serde(default, deserialize_with = "lenient::or_default", alias = "instrumentationLibrary")]
    pub(super) scope: Option<JsonScope>,
    #[serde(default, deserialize_with = "null_as_default")]
    pub(super) spans: Vec<S>,
}

/// A span of a request that was parsed as a whole, or on its own.
pub(super) trait ParsedSpan<'a> {
    /// Returns the span; `None` if it could not be parsed.
    fn span(&self) -> Option<&JsonSpan<'a>>;
}

impl<'a> ParsedSpan<'a> for JsonSpan<'a> {
    fn span(&self) -> Option<&JsonSpan<'a>> {
        Some(self)
    }
}

/// A span that is parsed on its own.
pub(super) struct LoneSpan<'a>(Option<JsonSpan<'a>>);

impl<'de: 'a, 'a> Deserialize<'de> for LoneSpan<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <&RawValue>::deserialize(deserializer)?;
        Ok(Self(serde_json::from_str(text.get()).ok()))
    }
}

impl<'a> ParsedSpan<'a> for LoneSpan<'a> {
    fn span(&self) -> Option<&JsonSpan<'a>> {
        self.0.as_ref()
    }
}

#[derive(Deserialize)]
pub(super) struct JsonScope {
    #[serde(default, deserialize_with = "null_as_default")]
    pub(super) name: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct JsonSpan<'a> {
    #[serde(default, deserialize_with = "null_as_default", alias = "trace_id")]
    pub(super) trace_id: String,
    #[serde(default, deserialize_with = "null_as_default", alias = "span_id")]
    pub(super) span_id: String,
    #[serde(default, alias = "parent_span_id")]
    pub(super) parent_span_id: Option<String>,
    #[serde(default, deserialize_with = "null_as_default")]
    pub(super) name: String,
    #[serde(borrow)]
    pub(super) kind: Option<&'a RawValue>,
    #[serde(borrow, alias = "start_time_unix_nano")]
    pub(super) start_time_unix_nano: Option<&'a RawValue>,
    #[serde(borrow, alias = "end_time_unix_nano")]
    pub(super) end_time_unix_nano: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "null_as_default")]
    pub(super) attributes: Vec<KeyValue<'a>>,
    #[serde(borrow, default, deserialize_with = "null_as_default")]
    pub(super) events: Vec<JsonEvent<'a>>,
    #[serde(borrow, default, deserialize_with = "null_as_default")]
    pub(super) links: Vec<JsonLink<'a>>,
    #[serde(borrow)]
    pub(super) status: Option<JsonStatus<'a>>,
    #[serde(borrow, alias = "dropped_attributes_count")]
    pub(super) dropped_attributes_count: Option<&'a RawValue>,
    #[serde(borrow, alias = "dropped_events_count")]
    pub(super) dropped_events_count: Option<&'a RawValue>,
    #[serde(borrow, alias = "dropped_links_count")]
    pub(super) dropped_links_count: Option<&'a RawValue>,
}

impl JsonSpan<'_> {
    /// Returns the number of attributes, events and links that the program dropped.
    pub(super) fn dropped_count(&self) -> u64 {
        let own = [self.dropped_attributes_count, self.dropped_events_count, self.dropped_links_count];
        let of_links = self.links.iter().map(|link| link.dropped_attributes_count);
        let of_events = self.events.iter().map(|event| event.dropped_attributes_count);
        let counts = own.into_iter().chain(of_links).chain(of_events).flatten();
        counts.filter_map(|count| count.get().trim_matches('"').parse().ok()).fold(0, u64::saturating_add)
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct JsonLink<'a> {
    #[serde(default, deserialize_with = "null_as_default", alias = "trace_id")]
    pub(super) trace_id: String,
    #[serde(default, deserialize_with = "null_as_default", alias = "span_id")]
    pub(super) span_id: String,
    #[serde(borrow, default, deserialize_with = "null_as_default")]
    pub(super) attributes: Vec<KeyValue<'a>>,
    #[serde(borrow, alias = "dropped_attributes_count")]
    pub(super) dropped_attributes_count: Option<&'a RawValue>,
}

#[derive(Deserialize)]
pub(super) struct JsonStatus<'a> {
    #[serde(borrow)]
    pub(super) code: Option<&'a RawValue>,
    #[serde(default, deserialize_with = "null_as_default")]
    pub(super) message: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct JsonEvent<'a> {
    #[serde(borrow, alias = "time_unix_nano")]
    pub(super) time_unix_nano: Option<&'a RawValue>,
    #[serde(default, deserialize_with = "null_as_default")]
    pub(super) name: String,
    #[serde(borrow, default, deserialize_with = "null_as_default")]
    pub(super) attributes: Vec<KeyValue<'a>>,
    #[serde(borrow, alias = "dropped_attributes_count")]
    pub(super) dropped_attributes_count: Option<&'a RawValue>,
}

#[derive(Deserialize)]
pub(super) struct KeyValue<'a> {
    #[serde(default, deserialize_with = "null_as_default")]
    pub(super) key: String,
    #[serde(borrow)]
    pub(super) value: Option<JsonAnyValue<'a>>,
}

/// Exactly one member is present.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(clippy::struct_field_names, reason = "the format calls them so")]
pub(super) struct JsonAnyValue<'a> {
    #[serde(alias = "string_value")]
    pub(super) string_value: Option<String>,
    #[serde(alias = "bool_value")]
    pub(super) bool_value: Option<bool>,
    #[serde(borrow, alias = "int_value")]
    pub(super) int_value: Option<&'a RawValue>,
    #[serde(borrow, alias = "double_value")]
    pub(super) double_value: Option<&'a RawValue>,
    #[serde(borrow, alias = "array_value")]
    pub(super) array_value: Option<Array<'a>>,
    #[serde(borrow, alias = "kvlist_value")]
    pub(super) kvlist_value: Option<List<'a>>,
    #[serde(alias = "bytes_value")]
    pub(super) bytes_value: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct Array<'a> {
    #[serde(borrow, default, deserialize_with = "null_as_default")]
    pub(super) values: Vec<JsonAnyValue<'a>>,
}

#[derive(Deserialize)]
pub(super) struct List<'a> {
    #[serde(borrow, default, deserialize_with = "null_as_default")]
    pub(super) values: Vec<KeyValue<'a>>,
}

/// Deserializes `null` as the default, since many exporters write it for absent values.
fn null_as_default<'de, T: Deserialize<'de> + Default, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
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
                Ok(number) => push_double(json, number),
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
