//! Copies a JSON value in pieces, without the members that a reader does not use. A request with a large body stays
//! small. Checks only strings and brackets, since the copy is parsed later.

use crate::formats::json::scan;
use crate::formats::json::skip::ValueSkipper;

/// Limit for open brackets in the copy.
const DEPTH_MAX: usize = scan::DEPTH_MAX as usize;

/// The copy of one value, between two pieces of it.
#[derive(Debug)]
pub(super) struct Abridger {
    /// Keys of the members to copy, at any depth. Other members are `null` in the copy.
    kept_keys: &'static [&'static str],
    copy: Vec<u8>,
    /// Whether the copy exceeded one of its limits.
    is_over: bool,
    /// Number of open brackets.
    depth: usize,
    /// Whether each open bracket within the limit is an object, outermost first.
    are_objects: [bool; DEPTH_MAX],
    state: AbridgeState,
}

#[derive(Debug, Clone, Copy)]
enum AbridgeState {
    /// Between values, or before a key if `is_key`.
    Between {
        is_key: bool,
    },
    /// In a string, whose copy starts at `copy_start`.
    Text {
        copy_start: usize,
        is_key: bool,
        is_escape: bool,
    },
    AfterKey {
        is_kept: bool,
    },
    Skipped(ValueSkipper),
}

impl Abridger {
    pub(super) fn new(kept_keys: &'static [&'static str]) -> Self {
        let state = AbridgeState::Between { is_key: false };
        Self { kept_keys, copy: Vec::new(), is_over: false, depth: 0, are_objects: [false; DEPTH_MAX], state }
    }

    /// Returns the copy; empty if it exceeds a limit.
    pub(super) fn into_copy(self) -> Vec<u8> {
        if self.is_over { Vec::new() } else { self.copy }
    }

    /// Continues with the next bytes of an object; the copy has at most `bytes_max` bytes. Returns the length of the
    /// object in these bytes if it ends there.
    pub(super) fn advance(&mut self, bytes: &[u8], bytes_max: usize) -> Option<usize> {
        let mut pos = 0;
        while let Some(&byte) = bytes.get(pos) {
            match self.state {
                AbridgeState::Skipped(mut skip) => {
                    let Some(len) = skip.advance(&bytes[pos..]) else {
                        self.state = AbridgeState::Skipped(skip);
                        return None;
                    };
                    pos += len;
                    self.state = AbridgeState::Between { is_key: false };
                }
                AbridgeState::Text { copy_start, is_key, is_escape } => {
                    let rest = &bytes[pos..];
                    let end = if is_escape { Some(0) } else { memchr::memchr2(b'"', b'\\', rest) };
                    let len = end.map_or(rest.len(), |end| end + 1);
                    self.push(&rest[..len], bytes_max);
                    pos += len;
                    self.state = match end {
                        Some(end) if !is_escape && rest[end] == b'"' => self.after_text(copy_start, is_key),
                        Some(_) => AbridgeState::Text { copy_start, is_key, is_escape: !is_escape },
                        None => self.state,
                    };
                }
                // The colon is missing, so the text is not a key.
                AbridgeState::AfterKey { .. } if byte != b':' && !byte.is_ascii_whitespace() => {
                    self.state = AbridgeState::Between { is_key: false };
                }
                AbridgeState::AfterKey { is_kept } => {
                    self.push(&[byte], bytes_max);
                    pos += 1;
                    if byte == b':' && is_kept {
                        self.state = AbridgeState::Between { is_key: false };
                    } else if byte == b':' {
                        self.push(b"null", bytes_max);
                        self.state = AbridgeState::Skipped(ValueSkipper::default());
                    }
                }
                AbridgeState::Between { is_key } => {
                    pos += 1;
                    self.copy_between(byte, is_key, bytes_max);
                    if self.depth == 0 && matches!(byte, b'}' | b']') {
                        return Some(pos);
                    }
                }
            }
        }
        None
    }

    /// Copies a byte outside of texts.
    fn copy_between(&mut self, byte: u8, is_key: bool, bytes_max: usize) {
        let copy_start = self.copy.len();
        self.push(&[byte], bytes_max);
        match byte {
            b'"' => self.state = AbridgeState::Text { copy_start, is_key, is_escape: false },
            b'{' | b'[' => self.open(byte == b'{'),
            b'}' | b']' => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
        if matches!(byte, b'{' | b'[' | b'}' | b']' | b',') {
            let is_key = matches!(byte, b'{' | b',') && self.is_in_object();
            self.state = AbridgeState::Between { is_key };
        }
    }

    fn after_text(&self, copy_start: usize, is_key: bool) -> AbridgeState {
        if !is_key {
            return AbridgeState::Between { is_key: false };
        }
        let text = self.copy.get(copy_start + 1..self.copy.len().saturating_sub(1)).unwrap_or_default();
        AbridgeState::AfterKey { is_kept: self.kept_keys.iter().any(|key| key.as_bytes() == text) }
    }

    fn open(&mut self, is_object: bool) {
        match self.are_objects.get_mut(self.depth) {
            Some(flag) => *flag = is_object,
            None => self.is_over = true,
        }
        self.depth += 1;
    }

    /// Returns whether the innermost open bracket is an object; false beyond the limit.
    fn is_in_object(&self) -> bool {
        self.depth.checked_sub(1).is_some_and(|level| self.are_objects.get(level) == Some(&true))
    }

    /// Copies bytes, unless the limit is exceeded.
    fn push(&mut self, bytes: &[u8], bytes_max: usize) {
        self.is_over |= self.copy.len() + bytes.len() > bytes_max;
        if !self.is_over {
            self.copy.extend_from_slice(bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn a_copy_has_the_kept_members_of_each_object_however_the_value_is_cut() {
        let value =
            json!({"url": "a\"\\,{}", "text": "x\"]}\\", "n": [1, {"text": {"url": 2}, "url": {"n": null}}], "z": 5});
        let text = format!("{value},1");
        let kept = json!({"url": "a\"\\,{}", "text": null, "n": [1, {"text": null, "url": {"n": null}}], "z": null});
        for block_bytes in 1..text.len() {
            let (mut abridger, mut before) = (Abridger::new(&["url", "n"]), 0);
            let end = text.as_bytes().chunks(block_bytes).find_map(|block| {
                let end = abridger.advance(block, 1000).map(|len| before + len);
                before += block.len();
                end
            });
            assert_eq!(end, Some(text.len() - 2), "{block_bytes}");
            assert_eq!(serde_json::from_slice::<Value>(&abridger.into_copy()).expect("JSON"), kept, "{block_bytes}");
        }
        let mut abridger = Abridger::new(&["url", "n"]);
        assert_eq!(abridger.advance(text.as_bytes(), 10), Some(text.len() - 2));
        assert!(abridger.into_copy().is_empty());
    }

    #[test]
    fn an_object_of_any_depth_ends_at_its_bracket_and_has_no_copy_beyond_the_limit() {
        for depth in [1, DEPTH_MAX - 1, DEPTH_MAX, 1000] {
            let text = format!("{{\"n\":{}{}}}", "[".repeat(depth), "]".repeat(depth));
            let mut abridger = Abridger::new(&["n"]);
            assert_eq!(abridger.advance(text.as_bytes(), 10_000), Some(text.len()), "{depth}");
            let copy = if depth < DEPTH_MAX { text } else { String::new() };
            assert_eq!(String::from_utf8(abridger.into_copy()).expect("UTF-8"), copy, "{depth}");
        }
    }

    #[test]
    fn a_key_without_a_colon_does_not_hide_the_end_of_its_object() {
        for text in [
            r#"{"x"}"#,
            r#"{"n":[{"x" }],"n":1}"#,
            r#"{"x"[{}]}"#,
            r#"{"x","}":[]}"#,
            r#"{"x" "}"}"#,
            r#"{"x" 5,"n":{}}"#,
        ] {
            for block_bytes in 1..text.len() {
                let (mut abridger, mut before) = (Abridger::new(&["n"]), 0);
                let end = format!("{text},{{}}}}").as_bytes().chunks(block_bytes).find_map(|block| {
                    let end = abridger.advance(block, 1000).map(|len| before + len);
                    before += block.len();
                    end
                });
                assert_eq!(end, Some(text.len()), "{text} {block_bytes}");
            }
        }
    }
}
