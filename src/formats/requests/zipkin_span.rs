//! A Zipkin span of either version, and the half of it that one service recorded.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::formats::json::lenient::{LenientList, or_default, text};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ZipkinSpan<'a> {
    #[serde(default, deserialize_with = "text")]
    pub(super) trace_id: String,
    #[serde(default, deserialize_with = "text")]
    pub(super) id: String,
    #[serde(default, deserialize_with = "text")]
    pub(super) parent_id: Option<String>,
    #[serde(default, deserialize_with = "text")]
    pub(super) name: String,
    #[serde(default, deserialize_with = "text")]
    pub(super) kind: Option<String>,
    #[serde(borrow)]
    pub(super) timestamp: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) duration: Option<&'a RawValue>,
    #[serde(default, deserialize_with = "or_default")]
    pub(super) local_endpoint: Option<Endpoint>,
    #[serde(default, deserialize_with = "or_default")]
    pub(super) remote_endpoint: Option<Endpoint>,
    #[serde(borrow, default)]
    pub(super) annotations: LenientList<Annotation<'a>>,
    /// Tags of version 1.
    #[serde(borrow, default)]
    pub(super) binary_annotations: LenientList<BinaryAnnotation<'a>>,
    #[serde(borrow)]
    pub(super) tags: Option<&'a RawValue>,
    /// A boolean, which some tools write in quotes.
    #[serde(default, deserialize_with = "text")]
    shared: String,
}

impl ZipkinSpan<'_> {
    /// Returns the number of elements of other types in its lists.
    pub(super) fn bad_count(&self) -> u64 {
        self.annotations.bad_count + self.binary_annotations.bad_count
    }

    pub(super) fn is_shared(&self) -> bool {
        self.shared == "true"
    }

    /// Returns whether it has the tag `error`, whose value is a message, perhaps an empty one.
    pub(super) fn is_failed(&self) -> bool {
        #[derive(Deserialize)]
        struct ErrorTag<'a> {
            #[serde(borrow)]
            error: Option<&'a RawValue>,
        }
        let is_error = |value: &RawValue| !matches!(value.get(), "false" | "\"false\"" | "null");
        let is_old_error = |tag: &BinaryAnnotation<'_>| tag.key == "error" && tag.value.is_some_and(is_error);
        // Most spans have no such tag, so the others are not parsed.
        let tags = self.tags.filter(|tags| tags.get().contains("\"error\""));
        let tag = tags.and_then(|tags| serde_json::from_str::<ErrorTag<'_>>(tags.get()).ok());
        tag.and_then(|tag| tag.error).is_some_and(is_error) || self.binary_annotations.iter().any(is_old_error)
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Endpoint {
    #[serde(default, deserialize_with = "text")]
    pub(super) service_name: String,
    #[serde(default, deserialize_with = "text")]
    pub(super) ipv4: String,
    #[serde(default, deserialize_with = "text")]
    pub(super) port: String,
}

#[derive(Deserialize)]
pub(super) struct Annotation<'a> {
    #[serde(borrow)]
    pub(super) timestamp: Option<&'a RawValue>,
    #[serde(default, deserialize_with = "text")]
    pub(super) value: String,
    /// In version 1: the host that recorded it.
    #[serde(default, deserialize_with = "or_default")]
    pub(super) endpoint: Option<Endpoint>,
}

#[derive(Deserialize)]
pub(super) struct BinaryAnnotation<'a> {
    #[serde(default, deserialize_with = "text")]
    pub(super) key: String,
    #[serde(borrow)]
    pub(super) value: Option<&'a RawValue>,
    #[serde(default, deserialize_with = "or_default")]
    pub(super) endpoint: Option<Endpoint>,
}

/// The part of a span that one service recorded; the whole span in version 2.
pub(super) struct SpanSide<'s> {
    pub(super) service: Option<&'s str>,
    pub(super) kind: Option<&'s str>,
    pub(super) start_ns: i64,
    /// `None` if it has not ended.
    pub(super) end_ns: Option<i64>,
    pub(super) remote: Option<&'s str>,
    /// Whether it is the server's side of a span that the client also recorded.
    pub(super) is_shared: bool,
}
