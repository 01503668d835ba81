//! Detects JSON formats by the first bytes of a document.

use serde::Deserialize;

use crate::formats::input::source::HEAD_BYTES;

/// Parses a document that is complete in the head. Returns `None` for a longer document, or another shape.
pub(crate) fn whole_document<'h, T: Deserialize<'h>>(head: &'h [u8]) -> Option<T> {
    serde_json::from_slice(head).ok().filter(|_| head.len() < HEAD_BYTES)
}

/// Like [`whole_document`] for an object only: a structure can also be parsed from an array of its members.
pub(crate) fn whole_object<'h, T: Deserialize<'h>>(head: &'h [u8]) -> Option<T> {
    whole_document(head).filter(|_| head.trim_ascii_end().ends_with(b"}"))
}

/// Returns whether a key exists: a quoted text with a colon after it. The text alone may be a string value.
pub(crate) fn has_key(head: &[u8], key: &str) -> bool {
    let quoted = format!("\"{key}\"");
    let mut key_positions = memchr::memmem::find_iter(head, quoted.as_bytes());
    key_positions.any(|at| head[at + quoted.len()..].trim_ascii_start().starts_with(b":"))
}

/// Returns whether JSON has the keys of Chrome's events.
pub(crate) fn has_chrome_events(head: &[u8]) -> bool {
    has_key(head, "ph") || has_key(head, "traceEvents")
}

/// Returns whether text starts like a JSON object or array, after optional white space. Log lines often start with a
/// time or a level in brackets, and PHP stacks with `{main}`.
pub(crate) fn looks_like_json(head: &[u8]) -> bool {
    match head.trim_ascii_start() {
        [b'{', rest @ ..] => {
            let first = rest.trim_ascii_start().first();
            first.is_none_or(|first| !first.is_ascii_alphabetic() && *first != b'_')
        }
        [b'[', rest @ ..] => match rest.trim_ascii_start() {
            [] | [b'{' | b'[' | b']' | b',' | b'"', ..] => true,
            number => {
                let len = number.iter().take_while(|&&byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte)).count();
                len > 0 && matches!(number[len..].trim_ascii_start().first(), Some(b','))
            }
        },
        _ => false,
    }
}
