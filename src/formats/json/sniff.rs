//! Distinguishes the formats in JSON by the first bytes of a document.

/// Whether there is a key of this name: a text with a colon after it. The same text may be a name in any document.
pub(crate) fn has_key(head: &[u8], key: &str) -> bool {
    let quoted = format!("\"{key}\"");
    let mut found = memchr::memmem::find_iter(head, quoted.as_bytes());
    found.any(|at| head[at + quoted.len()..].trim_ascii_start().starts_with(b":"))
}

/// An array or object, after a byte order mark and white space perhaps.
pub(crate) fn looks_like_json(head: &[u8]) -> bool {
    let head = head.strip_prefix("\u{feff}".as_bytes()).unwrap_or(head);
    matches!(head.trim_ascii_start().first(), Some(b'[' | b'{'))
}
