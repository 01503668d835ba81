//! Converts requests received over HTTP to a stream in a file format: JSON objects, one per line, or concatenated
//! protobuf messages. Rejects invalid requests.

use serde::de::IgnoredAny;

use super::fields::{any_value, key_value, request, resource, resource_spans};
use crate::formats::protobuf::decode::Fields;
use crate::formats::protobuf::encode::push_bytes;
use crate::formats::protobuf::numbers::FieldNumber;

/// First line of a JSON stream, so that the format is detected independently of the first request.
pub(crate) const JSON_HEAD: &[u8] = b"{\"resourceSpans\":[]}\n";

/// Returns the first message of a protobuf stream: a resource without spans, so that the format is detected.
pub(crate) fn protobuf_head() -> Vec<u8> {
    let value = message(any_value::STRING_VALUE, b"Longspan");
    let attribute = [message(key_value::KEY, b"telemetry.receiver"), message(key_value::VALUE, &value)].concat();
    let of_resource = message(resource::ATTRIBUTES, &attribute);
    message(request::RESOURCE_SPANS, &message(resource_spans::RESOURCE, &of_resource))
}

/// Converts a JSON request to a line; returns `None` if it is invalid.
pub(crate) fn json_line(body: &[u8]) -> Option<Vec<u8>> {
    let body = body.trim_ascii();
    serde_json::from_slice::<IgnoredAny>(body).ok().filter(|_| body.starts_with(b"{"))?;
    // Strings contain no raw line breaks, so this only changes white space.
    let without_ends = body.iter().map(|&byte| if matches!(byte, b'\n' | b'\r') { b' ' } else { byte });
    Some(without_ends.chain([b'\n']).collect())
}

/// Returns the concatenated `ResourceSpans` of a protobuf request; `None` if it is invalid.
pub(crate) fn protobuf_messages(body: &[u8]) -> Option<Vec<u8>> {
    let mut fields = Fields::new(body);
    let mut messages = Vec::with_capacity(body.len());
    for field in fields.by_ref().filter(|field| field.number == request::RESOURCE_SPANS) {
        push_bytes(&mut messages, request::RESOURCE_SPANS, field.value.bytes());
    }
    (!fields.is_broken()).then_some(messages)
}

fn message(field: FieldNumber, bytes: &[u8]) -> Vec<u8> {
    let mut message = Vec::new();
    push_bytes(&mut message, field, bytes);
    message
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::sniff::format_of;

    #[test]
    fn streams_are_recognised_whatever_their_first_request_holds() {
        assert_eq!(format_of(&protobuf_head()).map(|format| format.name), Some("OpenTelemetry protobuf"));
        assert_eq!(format_of(JSON_HEAD).map(|format| format.name), Some("OpenTelemetry JSON"));
    }

    #[test]
    fn requests_become_parts_of_streams_and_others_are_refused() {
        assert_eq!(json_line(b" {\r\n\"a\": \"x\\ny\"\n}\n").unwrap(), b"{  \"a\": \"x\\ny\" }\n");
        for wrong in ["", "[]", "{", "{}{}", "null", "\u{1}"] {
            assert_eq!(json_line(wrong.as_bytes()), None, "{wrong}");
        }
        let long = vec![7; 300];
        let resources = [message(request::RESOURCE_SPANS, &long), message(request::RESOURCE_SPANS, b"")].concat();
        // Fields of later versions of the format are skipped.
        let other = [0x7a, 1, 0];
        assert_eq!(protobuf_messages(&[&other[..], &resources, &other].concat()).unwrap(), resources);
        assert_eq!(protobuf_messages(b"").unwrap(), b"");
        assert_eq!(protobuf_messages(&resources[..200]), None);
        assert_eq!(protobuf_messages(b"\xff\xff"), None);
    }
}
