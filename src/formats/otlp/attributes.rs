//! What spans carry, whichever encoding it came in -> one JSON object.

use super::fields::{span_kind, status_code};
use crate::formats::output::args::{ArgsWriter, push_quoted};

/// A span's ids and attributes on their way to JSON.
#[derive(Debug, Default)]
pub(super) struct Attributes {
    args: ArgsWriter,
}

/// A value that is written as it is met.
pub(super) trait WriteJson {
    /// Appends exactly one JSON value.
    fn write_json(&self, json: &mut String);
}

impl Attributes {
    pub(super) fn begin(&mut self) {
        self.args.clear();
    }

    /// Adds a text that is not empty.
    pub(super) fn text(&mut self, key: &str, value: &str) {
        if !value.is_empty() {
            self.args.text(key, value.as_bytes());
        }
    }

    pub(super) fn value(&mut self, key: &[u8], value: &impl WriteJson) {
        self.args.key("", key);
        value.write_json(&mut self.args.json);
    }

    pub(super) fn finish(&mut self) -> Box<str> {
        self.args.finish().into()
    }
}

/// A list of values.
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

/// An object.
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

/// A number; JSON has no word for those that are none.
pub(super) fn write_double(value: f64, json: &mut String) {
    use std::fmt::Write as _;
    // to memory
    let _ = if value.is_finite() { write!(json, "{value:?}") } else { write!(json, "\"{value}\"") };
}

/// What kind of span it is.
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

/// How a span went.
pub(super) fn status_name(code: u64) -> &'static str {
    match code {
        status_code::STATUS_CODE_OK => "OK",
        status_code::STATUS_CODE_ERROR => "ERROR",
        _ => "",
    }
}
