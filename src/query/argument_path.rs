//! The path of an argument: the one way in which filters, grouping keys and derived tracks read a key.
//!
//! A path has parts, separated by dots. At each object, all remaining parts joined by dots are tried as one key, then
//! fewer: `http.status` reads `{"http.status":1}` as well as `{"http":{"status":1}}`. If an object has both, the longer
//! key wins. A part in quotes may contain any text, and its dots do not separate: `"External id"`, `a."b.c"`.

use std::borrow::Cow;
use std::fmt;

use serde_json::Value;

use super::decimal_number::DecimalNumber;
use super::quoting::quoted;

/// The path of an argument, outermost key first.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct ArgumentPath {
    /// The parts, joined by dots.
    text: String,
    /// The end of each part in the text.
    ends: Vec<usize>,
}

/// A path that was read from the front of a text.
struct PrefixPath<'a> {
    path: ArgumentPath,
    /// The text from the first mark on.
    rest: &'a str,
    /// Whether each part has letters or quotes, and each quote is closed.
    is_complete: bool,
}

impl ArgumentPath {
    /// Creates a path from its parts.
    #[must_use]
    pub(crate) fn from_parts<'a>(parts: impl IntoIterator<Item = &'a str>) -> Self {
        let mut path = Self::default();
        for part in parts {
            if !path.ends.is_empty() {
                path.text.push('.');
            }
            path.text.push_str(part);
            path.ends.push(path.text.len());
        }
        path
    }

    /// Parses a path such as `a.b` or `a."b c"`. Returns `None` for an empty part without quotes, or an open quote.
    #[must_use]
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let PrefixPath { path, is_complete, .. } = Self::prefix(text, |_| false);
        is_complete.then_some(path)
    }

    /// Splits a path from the front of a text, up to the first mark outside quotes. The path is `None` as for
    /// [`Self::parse`].
    pub(super) fn split_off(text: &str, is_mark: impl Fn(char) -> bool) -> (Option<Self>, &str) {
        let PrefixPath { path, rest, is_complete } = Self::prefix(text, is_mark);
        (is_complete.then_some(path), rest)
    }

    fn prefix(text: &str, is_mark: impl Fn(char) -> bool) -> PrefixPath<'_> {
        let (mut path, mut is_complete) = (Self::default(), true);
        let (mut in_quotes, mut has_quotes, mut part_start) = (false, false, 0);
        let mut chars = text.char_indices();
        let mut rest = "";
        while let Some((at, c)) = chars.next() {
            match c {
                '"' => (in_quotes, has_quotes) = (!in_quotes, true),
                '\\' if in_quotes => match chars.next() {
                    Some((_, escaped @ ('"' | '\\'))) => path.text.push(escaped),
                    other => path.text.extend(['\\'].into_iter().chain(other.map(|(_, c)| c))),
                },
                c if in_quotes => path.text.push(c),
                c if is_mark(c) => {
                    rest = &text[at..];
                    break;
                }
                '.' => {
                    is_complete &= has_quotes || path.text.len() > part_start;
                    path.ends.push(path.text.len());
                    path.text.push('.');
                    (has_quotes, part_start) = (false, path.text.len());
                }
                c => path.text.push(c),
            }
        }
        is_complete &= !in_quotes && (has_quotes || path.text.len() > part_start);
        path.ends.push(path.text.len());
        PrefixPath { path, rest, is_complete }
    }

    /// Returns the path that reads the member with these keys, one per object. Returns `None` if there is no such
    /// member, or if each path to the member reads a different member.
    #[must_use]
    pub(crate) fn from_member(root: &Value, keys: &[&str]) -> Option<Self> {
        let member = keys.iter().try_fold(root, |value, key| value.as_object()?.get(*key))?;
        // With parts between all dots, the path also reads rows that nest the key otherwise.
        let split = Self::from_parts(keys.iter().flat_map(|key| key.split('.')));
        let whole = Self::from_parts(keys.iter().copied());
        [split, whole].into_iter().find(|path| path.find(root).is_some_and(|found| std::ptr::eq(found, member)))
    }

    /// Returns the filter word that matches rows with this value.
    #[must_use]
    pub(crate) fn filter(&self, value: &str) -> String {
        format!("arg.{self}={}", quoted(value))
    }

    /// Returns the keys joined by dots, without quotes.
    #[must_use]
    pub(crate) fn dotted(&self) -> &str {
        &self.text
    }

    /// Returns the value at the path.
    #[must_use]
    pub(crate) fn find<'v>(&self, root: &'v Value) -> Option<&'v Value> {
        self.find_from(root, 0)
    }

    /// Returns the value at the parts from `first` on. Recursion is bounded by the depth of the value.
    fn find_from<'v>(&self, value: &'v Value, first: usize) -> Option<&'v Value> {
        if first == self.ends.len() {
            return Some(value);
        }
        let members = value.as_object()?;
        let start = first.checked_sub(1).map_or(0, |before| self.ends[before] + 1);
        (first..self.ends.len()).rev().find_map(|last| {
            let member = members.get(&self.text[start..self.ends[last]])?;
            self.find_from(member, last + 1)
        })
    }

    fn parts(&self) -> impl Iterator<Item = &str> {
        let starts = std::iter::once(0).chain(self.ends.iter().map(|end| end + 1));
        starts.zip(&self.ends).map(|(start, &end)| &self.text[start..end])
    }
}

/// Writes the path as filters and grouping keys take it, with quotes where they are necessary.
impl fmt::Display for ArgumentPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_plain = |c: char| c.is_alphanumeric() || "_-$@/".contains(c);
        for (position, part) in self.parts().enumerate() {
            if position > 0 {
                f.write_str(".")?;
            }
            // In a filter, a slash after a minus starts an expression.
            if !part.is_empty() && part.chars().all(is_plain) && !part.contains("-/") {
                f.write_str(part)?;
            } else {
                f.write_str(&quoted(part))?;
            }
        }
        Ok(())
    }
}

/// Returns the value of an argument as text: a string verbatim, anything else as JSON.
#[must_use]
pub(crate) fn value_text(value: &Value) -> Cow<'_, str> {
    match value {
        Value::String(text) => Cow::Borrowed(text),
        other => Cow::Owned(other.to_string()),
    }
}

/// Returns the text of the group that a value belongs to: a number in one notation, or else its text. The notation of
/// the first number of a group would depend on the scope.
#[must_use]
pub(crate) fn group_text(value: &Value) -> Cow<'_, str> {
    let text = value_text(value);
    match DecimalNumber::parse(&text).filter(|_| value.is_number()) {
        Some(decimal) => Cow::Owned(decimal.to_text()),
        None => text,
    }
}

#[cfg(test)]
mod tests;
