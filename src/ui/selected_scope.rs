//! The part of the trace that the user has selected: time, tracks and a filter.

use std::sync::Arc;

use crate::model::TrackSet;
use crate::query::Snapshot;
use crate::query::drawn_unit::AxisUnit;
use crate::query::filter::{Filter, written_words};
use crate::query::matcher::Matcher;
use crate::query::scope::Scope;

/// A time range, from its first nanosecond to the first after it; `None` for the whole trace.
pub(crate) type TimeRange = Option<(i64, i64)>;

/// The selected part of the trace. Clones are cheap.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct SelectedScope {
    pub(crate) range: TimeRange,
    pub(crate) tracks: TrackSet,
    /// A valid filter; may be empty.
    pub(crate) filter: Arc<str>,
}

impl SelectedScope {
    /// Returns whether nothing is selected, so that queries cover the whole trace.
    #[must_use]
    pub(crate) fn is_whole(&self) -> bool {
        self.range.is_none() && self.tracks.is_all() && self.filter.is_empty()
    }

    /// Converts to a scope of a trace, with another filter in addition. Compiles both filters.
    #[must_use]
    pub(crate) fn with_filter(&self, snapshot: &Snapshot, more: &str) -> Scope {
        // Panels accept only valid filters.
        let filters = [&*self.filter, more].map(|text| Filter::parse(text).unwrap_or_default());
        let terms = filters.into_iter().flat_map(|filter| filter.terms).collect();
        let range = Scope::from_range(self.range.map(|(from_ns, _)| from_ns), self.range.map(|(_, to_ns)| to_ns));
        Scope { tracks: self.tracks.clone(), ..range }.matching(Matcher::new(snapshot, &Filter { terms }))
    }

    /// Returns the scope of the rows that match another filter too.
    #[must_use]
    pub(crate) fn with_more(&self, more: &str) -> Self {
        Self { filter: joined_filter(&self.filter, more).into(), ..self.clone() }
    }

    /// Describes the scope in the time unit of the trace, for the title of a panel.
    #[must_use]
    pub(crate) fn title(&self, unit: &AxisUnit) -> String {
        match self.range {
            None if self.is_whole() => "of the whole trace".to_owned(),
            Some((from_ns, to_ns)) if self.tracks.is_all() && self.filter.is_empty() => {
                let length = unit.length_text(to_ns.abs_diff(from_ns));
                length.map_or_else(|| "of the selection".to_owned(), |length| format!("of the selected {length}"))
            }
            _ => "of the scope".to_owned(),
        }
    }
}

/// Returns a filter of rows that match both filters. Either filter may be empty.
pub(crate) fn joined_filter(filter: &str, more: &str) -> String {
    format!("{filter} {more}").trim().to_owned()
}

/// Adds a word to a filter. If both test the whole text of one key, as `name:/^a$/` does, rows may have either text;
/// otherwise rows must match both.
pub(crate) fn widened_filter(filter: &str, more: &str) -> String {
    let joined = || joined_filter(filter, more);
    let (Some((key, text)), Ok(words)) = (whole_text(more), written_words(filter)) else { return joined() };
    let is_of_key = |word: &&str| whole_text(word).is_some_and(|(other, _)| other == key);
    let Some(index) = words.iter().position(is_of_key) else { return joined() };
    let texts = whole_text(words[index]).map_or("", |(_, texts)| alternatives(texts));
    if has_alternative(texts, text) {
        return filter.to_owned();
    }
    let widened = format!("{key}:/^(?:{texts}|{text})$/");
    let words = words.iter().enumerate().map(|(at, word)| if at == index { &*widened } else { word });
    words.collect::<Vec<_>>().join(" ")
}

/// Returns the key of a word that tests a whole text, and the expression of the text.
fn whole_text(word: &str) -> Option<(&str, &str)> {
    let (key, value) = word.split_once(':').filter(|(key, _)| !key.starts_with('-'))?;
    Some((key, value.strip_prefix("/^")?.strip_suffix("$/")?))
}

/// Returns whether a text is one of the alternatives of an expression, which are separated by unescaped bars.
fn has_alternative(texts: &str, text: &str) -> bool {
    let mut is_escaped = false;
    let is_bar = |letter: char| {
        let was_escaped = is_escaped;
        is_escaped = letter == '\\' && !was_escaped;
        letter == '|' && !was_escaped
    };
    texts.split(is_bar).any(|other| other == text)
}

/// Returns the alternatives of an expression without the group around them.
fn alternatives(texts: &str) -> &str {
    let inner = texts.strip_prefix("(?:").and_then(|rest| rest.strip_suffix(')'));
    let has_groups = |inner: &str| inner.replace("\\(", "").replace("\\)", "").contains(['(', ')']);
    inner.filter(|inner| !has_groups(inner)).unwrap_or(texts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::filter::Test;

    #[test]
    fn a_word_is_added_as_another_text_of_its_key_or_as_one_more_condition() {
        let add = |filter: &str, more: &str| widened_filter(filter, more);
        assert_eq!(add("", "name:/^a$/"), "name:/^a$/");
        assert_eq!(add("name:/^a$/", "name:/^a$/"), "name:/^a$/");
        let two = add("dur>1ms name:/^a$/", "name:/^b\\(c\\)$/");
        assert_eq!(two, "dur>1ms name:/^(?:a|b\\(c\\))$/");
        assert_eq!(add(&two, "name:/^d$/"), "dur>1ms name:/^(?:a|b\\(c\\)|d)$/");
        assert_eq!(add("name:/^a$/", "thread:/^7$/"), "name:/^a$/ thread:/^7$/");
        assert_eq!(add("-name:/^a$/ name:/^a$/", "name:/^b$/"), "-name:/^a$/ name:/^(?:a|b)$/");
        // The bar of a name separates nothing.
        assert_eq!(add("name:/^a\\|b$/", "name:/^b$/"), "name:/^(?:a\\|b|b)$/");
        assert_eq!(add("name:/^(?:a\\\\|b)$/", "name:/^b$/"), "name:/^(?:a\\\\|b)$/");
        assert_eq!(add("name:/^(?:a)|(?:b)$/", "name:/^c$/"), "name:/^(?:(?:a)|(?:b)|c)$/");
        let names = Filter::parse(&add("name:/^a$/", "name:/^b$/")).expect("a filter");
        let Test::Name(test) = &names.terms[0].test else { panic!("{names:?}") };
        assert_eq!(["a", "b", "ab"].map(|name| test.holds(name)), [true, true, false]);
    }

    #[test]
    fn a_filter_is_joined_to_that_of_the_scope_without_blanks_around_it() {
        let scope =
            |filter: &str| SelectedScope { range: Some((1, 2)), filter: filter.into(), ..SelectedScope::default() };
        assert_eq!(scope("").with_more("name:a "), scope("name:a"));
        assert_eq!(scope("dur>1ms").with_more(""), scope("dur>1ms"));
        assert_eq!(scope("dur>1ms").with_more("name:a"), scope("dur>1ms name:a"));
    }
}
