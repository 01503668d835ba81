//! Quotes of the filter language.

/// Quotes a text as a filter word that matches it literally, also as a part and in any case.
#[must_use]
pub(crate) fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// Returns the value of a filter word that matches only this text.
#[must_use]
pub(crate) fn exactly(text: &str) -> String {
    format!("/^{}$/", regex::escape(text).replace('/', "\\/"))
}

/// Returns the filter word that matches only the rows of a name.
#[must_use]
pub(crate) fn name_word(name: &str) -> String {
    format!("name:{}", exactly(name))
}
