//! Quotes of the filter language.

/// Quotes a text as a filter word that matches it literally.
#[must_use]
pub(crate) fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}
