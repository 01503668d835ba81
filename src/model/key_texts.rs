//! The texts of ids and track keys. Readers and the sort keep several of them for each track, so very long ones are
//! abbreviated when they are created. A hash of the whole text keeps distinct ones distinct.

use std::borrow::Cow;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_128;

/// Length beyond which a text is abbreviated; ids and names of tracks are shorter.
const KEY_TEXT_BYTES_MAX: usize = 256;

/// Length of the beginning that an abbreviated text keeps; with the hash, it stays within the limit of SECURITY.md for
/// a name.
const PREFIX_BYTES: usize = 92;

/// The text of an [`Id`](super::Id), in one machine word: a trace with a million threads stores four ids for each.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct IdText(Arc<Box<str>>);

/// The name in a [`TrackKey`](super::TrackKey).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
pub struct KeyName(Arc<str>);

/// Returns a short text, or the beginning of a long one with its hash.
pub(crate) fn abbreviated(text: &str) -> Cow<'_, str> {
    if text.len() <= KEY_TEXT_BYTES_MAX {
        return text.into();
    }
    let prefix = &text[..text.floor_char_boundary(PREFIX_BYTES)];
    format!("{prefix}... {:032x}", xxh3_128(text.as_bytes())).into()
}

impl<T: Into<Box<str>>> From<T> for IdText {
    fn from(text: T) -> Self {
        let text = text.into();
        let short = match abbreviated(&text) {
            Cow::Owned(short) => Some(short),
            Cow::Borrowed(_) => None,
        };
        Self(Arc::new(short.map_or(text, Into::into)))
    }
}

impl<T: Into<Arc<str>>> From<T> for KeyName {
    fn from(name: T) -> Self {
        let name = name.into();
        let short = match abbreviated(&name) {
            Cow::Owned(short) => Some(short),
            Cow::Borrowed(_) => None,
        };
        Self(short.map_or(name, Into::into))
    }
}

impl KeyName {
    /// Returns the text, shared with this name.
    pub(crate) fn shared(&self) -> Arc<str> {
        Arc::clone(&self.0)
    }
}

impl std::ops::Deref for IdText {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl std::ops::Deref for KeyName {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Display for IdText {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_abbreviated_and_distinct_ones_stay_distinct() {
        let long = |end: &str| format!("{}{end}", "é".repeat(30_000));
        let [a, b, again] = ["a", "b", "a"].map(|end| IdText::from(long(end)));
        assert!(a != b && a == again && a.len() <= 128 && a.starts_with("éé"));
        let [a, b] = ["a", "b"].map(|end| KeyName::from(long(end)));
        assert!(a != b && a.len() <= 128);
        let longest = "x".repeat(KEY_TEXT_BYTES_MAX);
        assert_eq!((&*IdText::from(&*longest), &*KeyName::from(&*longest)), (&*longest, &*longest));
    }
}
