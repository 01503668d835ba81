//! Distinguishes the formats in JSON by the first bytes of a document.

/// Whether there is a key of this name: a text with a colon after it. The same text may be a name in any document.
pub(crate) fn has_key(head: &[u8], key: &str) -> bool {
    let quoted = format!("\"{key}\"");
    let mut found = memchr::memmem::find_iter(head, quoted.as_bytes());
    found.any(|at| head[at + quoted.len()..].trim_ascii_start().starts_with(b":"))
}

/// An object or an array that begins as those of JSON do, after a byte order mark and white space perhaps. Logs often
/// begin each line with a time or a level in brackets, and stacks of PHP begin with `{main}`.
pub(crate) fn looks_like_json(head: &[u8]) -> bool {
    let head = head.strip_prefix("\u{feff}".as_bytes()).unwrap_or(head);
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
