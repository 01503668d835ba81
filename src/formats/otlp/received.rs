//! Converts requests received over HTTP to a stream in a file format: JSON objects, one per line, or concatenated
//! protobuf messages. Rejects invalid requests.

use serde::de::IgnoredAny;

use super::fields::{any_value, key_value, request, resource, resource_spans};
use crate::formats::protobuf::decode::Fields;
use crate::formats::protobuf::encode::{push_bytes, push_header};
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

/// Converts a JSON request to a line, in place; returns `false` if it is invalid.
#[must_use]
pub(crate) fn make_json_line(body: &mut Vec<u8>) -> bool {
    let is_valid = serde_json::from_slice::<IgnoredAny>(body).is_ok();
    if !is_valid || !body.trim_ascii_start().starts_with(b"{") {
        return false;
    }
    body.truncate(body.trim_ascii_end().len());
    // Strings contain no raw line breaks, so this only changes white space.
    body.iter_mut().filter(|byte| matches!(byte, b'\n' | b'\r')).for_each(|byte| *byte = b' ');
    body.push(b'\n');
    true
}

/// Reduces a protobuf request to its concatenated `ResourceSpans`, in place; returns `false` if it is invalid.
#[must_use]
pub(crate) fn keep_protobuf_messages(body: &mut Vec<u8>) -> bool {
    let (mut read, mut kept) = (0, 0);
    let mut header = Vec::new();
    loop {
        let mut fields = Fields::new(&body[read..]);
        let Some(field) = fields.next() else {
            let is_whole = !fields.is_broken();
            body.truncate(kept);
            return is_whole;
        };
        let (number, len) = (field.number, field.value.bytes().len());
        read = body.len() - fields.rest().len();
        if number == request::RESOURCE_SPANS {
            header.clear();
            push_header(&mut header, number, len);
            // A header is never shorter than this one, so no unread byte is overwritten.
            let start = kept + header.len();
            body.copy_within(read - len..read, start);
            body[kept..start].copy_from_slice(&header);
            kept = start + len;
        }
    }
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
    fn streams_are_recognised_with_any_first_request() {
        assert_eq!(format_of(&protobuf_head()).map(|format| format.name), Some("OpenTelemetry protobuf"));
        assert_eq!(format_of(JSON_HEAD).map(|format| format.name), Some("OpenTelemetry JSON"));
    }

    #[test]
    fn requests_become_parts_of_streams_and_others_are_refused() {
        let changed = |change: fn(&mut Vec<u8>) -> bool, body: &[u8]| {
            let mut bytes = Vec::with_capacity(body.len() + 1);
            bytes.extend_from_slice(body);
            let address = bytes.as_ptr();
            let is_valid = change(&mut bytes);
            assert_eq!(bytes.as_ptr(), address, "nothing is copied");
            is_valid.then_some(bytes)
        };
        let json_line = |body: &[u8]| changed(make_json_line, body);
        let protobuf_messages = |body: &[u8]| changed(keep_protobuf_messages, body);
        assert_eq!(json_line(b" {\r\n\"a\": \"x\\ny\"\n}\n").unwrap(), b" {  \"a\": \"x\\ny\" }\n");
        for wrong in ["", "[]", "{", "{}{}", "null", "\u{1}"] {
            assert_eq!(json_line(wrong.as_bytes()), None, "{wrong}");
        }
        let long = vec![7; 300];
        let resources = [message(request::RESOURCE_SPANS, &long), message(request::RESOURCE_SPANS, b"")].concat();
        // Fields of later versions of the format are skipped.
        let other = [0x7a, 1, 0];
        assert_eq!(protobuf_messages(&[&other[..], &resources, &other].concat()).unwrap(), resources);
        // A length may be written with more bytes than it needs.
        let loose = [&b"\x0a\x83\x80\x00"[..], b"abc", &resources].concat();
        assert_eq!(protobuf_messages(&loose).unwrap(), [&b"\x0a\x03abc"[..], &resources].concat());
        assert_eq!(protobuf_messages(b"").unwrap(), b"");
        assert_eq!(protobuf_messages(&resources[..200]), None);
        assert_eq!(protobuf_messages(b"\xff\xff"), None);
    }
}
