//! A Zipkin span of either version, and the half of it that one service recorded.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::or_default;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ZipkinSpan<'a> {
    #[serde(default, deserialize_with = "or_default")]
    pub(super) trace_id: String,
    #[serde(default, deserialize_with = "or_default")]
    pub(super) id: String,
    pub(super) parent_id: Option<String>,
    #[serde(default, deserialize_with = "or_default")]
    pub(super) name: String,
    pub(super) kind: Option<String>,
    #[serde(borrow)]
    pub(super) timestamp: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) duration: Option<&'a RawValue>,
    pub(super) local_endpoint: Option<Endpoint>,
    pub(super) remote_endpoint: Option<Endpoint>,
    #[serde(borrow, default, deserialize_with = "or_default")]
    pub(super) annotations: Vec<Annotation<'a>>,
    /// Tags of version 1.
    #[serde(borrow, default, deserialize_with = "or_default")]
    pub(super) binary_annotations: Vec<BinaryAnnotation<'a>>,
    #[serde(borrow)]
    pub(super) tags: Option<&'a RawValue>,
    #[serde(default, deserialize_with = "or_default")]
    pub(super) shared: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Endpoint {
    #[serde(default, deserialize_with = "or_default")]
    pub(super) service_name: String,
    #[serde(default, deserialize_with = "or_default")]
    pub(super) ipv4: String,
    #[serde(default, deserialize_with = "or_default")]
    pub(super) port: u32,
}

#[derive(Deserialize)]
pub(super) struct Annotation<'a> {
    #[serde(borrow)]
    pub(super) timestamp: Option<&'a RawValue>,
    #[serde(default, deserialize_with = "or_default")]
    pub(super) value: String,
    /// In version 1: the host that recorded it.
    pub(super) endpoint: Option<Endpoint>,
}

#[derive(Deserialize)]
pub(super) struct BinaryAnnotation<'a> {
    #[serde(default, deserialize_with = "or_default")]
    pub(super) key: String,
    #[serde(borrow)]
    pub(super) value: Option<&'a RawValue>,
    pub(super) endpoint: Option<Endpoint>,
}

/// The part of a span that one service recorded; the whole span in version 2.
pub(super) struct Half<'s> {
    pub(super) service: Option<&'s str>,
    pub(super) kind: Option<&'s str>,
    pub(super) start_ns: i64,
    /// 0 if it has not ended.
    pub(super) end_ns: i64,
    pub(super) remote: Option<&'s str>,
    /// Whether it is the server's half of a span that the client also recorded.
    pub(super) is_shared: bool,
}
