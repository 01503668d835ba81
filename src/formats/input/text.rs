//! Words and numbers of text lines, whose bytes may not be UTF-8. Times are not parsed here, but by [`super::decimal`],
//! which never rounds.

use std::borrow::Cow;
use std::str::FromStr;

use memchr::memmem;

/// Parses a number. Returns `None` for anything else, including spaces around it.
pub(crate) fn parsed<T: FromStr>(text: &[u8]) -> Option<T> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

/// Splits a text at its first space. Returns the word before it, and the text from the next word on.
pub(crate) fn split_word(text: &[u8]) -> (&[u8], &[u8]) {
    let (word, rest) = text.split_at(memchr::memchr(b' ', text).unwrap_or(text.len()));
    (word, rest.trim_ascii_start())
}

/// Splits a text at the first `separator`, which belongs to neither part. Without one, the second part is empty.
pub(crate) fn split_at_byte(text: &[u8], separator: u8) -> (&[u8], &[u8]) {
    let position = memchr::memchr(separator, text).unwrap_or(text.len());
    (&text[..position], text.get(position + 1..).unwrap_or_default())
}

/// Removes the escape sequences that colour text in a terminal.
pub(crate) fn without_colours(text: &[u8]) -> Cow<'_, [u8]> {
    const START: &[u8] = b"\x1b[";
    if memmem::find(text, START).is_none() {
        return Cow::Borrowed(text);
    }
    let (mut plain, mut rest) = (Vec::with_capacity(text.len()), text);
    while let Some(at) = memmem::find(rest, START) {
        let sequence = &rest[at + START.len()..];
        let len = sequence.iter().take_while(|byte| byte.is_ascii_digit() || **byte == b';').count();
        let is_colour = sequence.get(len) == Some(&b'm');
        let (text_len, skipped) = if is_colour { (at, len + 1) } else { (at + START.len(), 0) };
        plain.extend_from_slice(&rest[..text_len]);
        rest = &sequence[skipped..];
    }
    plain.extend_from_slice(rest);
    Cow::Owned(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_sequences_of_colours_are_removed() {
        for (text, expected) in [
            (&b"\x1b[0m[16\x1b[1;39m:\x1b[32mx"[..], &b"[16:x"[..]),
            (b"\x1b[2Kx\x1b[31", b"\x1b[2Kx\x1b[31"),
            (b"plain", b"plain"),
        ] {
            assert_eq!(&*without_colours(text), expected);
        }
    }
}
