//! The span whose inside is the scope, shown by its name: the filter has only its position.

use crate::query::Snapshot;
use crate::query::filter::{Filter, Term, Test, written_words};
use crate::query::inside::numbered_span;
use crate::scene::labels::{shorten_middle, shown};
use crate::ui::selected_scope::joined_filter;

/// Length of a name before it is shortened, in letters.
const LETTERS_MAX: f32 = 60.0;

/// The first word of a filter, such as `within:#17/2@1500`, with the name of its span.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct InsideSpan {
    word: String,
    name: String,
}

impl InsideSpan {
    /// Splits a filter into the span that its first word names, if it does, and the other words.
    #[must_use]
    pub(super) fn split<'a>(snapshot: &Snapshot, filter: &'a str) -> (Option<Self>, &'a str) {
        let whole = filter.trim();
        match Self::first_of(snapshot, whole) {
            Some(inside) => {
                let rest = whole[inside.word.len()..].trim_start();
                (Some(inside), rest)
            }
            None => (None, filter),
        }
    }

    fn first_of(snapshot: &Snapshot, filter: &str) -> Option<Self> {
        let word = *written_words(filter).ok()?.first()?;
        let filter = Filter::parse(word).ok()?;
        let [Term { negated: false, test: Test::Within(position) }] = &filter.terms[..] else { return None };
        let name = snapshot.row(numbered_span(snapshot, position)?).name;
        Some(Self { word: word.to_owned(), name: snapshot.names().get(name).text.to_owned() })
    }

    /// Returns the filter of the span and of other words.
    #[must_use]
    pub(super) fn with(&self, words: &str) -> String {
        joined_filter(&self.word, words)
    }

    /// Returns the text for the scope bar, such as `inside RunTask`.
    #[must_use]
    pub(super) fn text(&self) -> String {
        let name = shown(&self.name);
        format!("inside {}", shorten_middle(&name, LETTERS_MAX, |_| 1.0).unwrap_or_default())
    }

    /// Returns the word of the filter.
    #[must_use]
    pub(super) fn word(&self) -> &str {
        &self.word
    }
}

/// Returns a filter as people read it: a span by its name.
#[must_use]
pub(super) fn filter_text(snapshot: &Snapshot, filter: &str) -> String {
    match InsideSpan::split(snapshot, filter) {
        (Some(inside), "") => inside.text(),
        (Some(inside), rest) => format!("{}, {rest}", inside.text()),
        (None, filter) => filter.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::tests::snapshot;

    #[test]
    fn a_filter_of_the_inside_of_a_span_has_its_name() {
        let snapshot = snapshot(
            r#"[{"ph":"X","name":"request","pid":1,"tid":1,"ts":1,"dur":9},
                {"ph":"X","name":"read","pid":1,"tid":1,"ts":2,"dur":3}]"#,
        );
        let track = crate::query::track_number::track_number(snapshot.lane(crate::store::LaneIdx(0)).track);
        let word = |depth: u8, start_ns: u32| format!("within:{track}/{depth}@{start_ns}");
        for (filter, text, rest) in [
            (word(0, 1000), "inside request", ""),
            (word(1, 2000), "inside read", ""),
            (format!(" {}  dur>1us read ", word(0, 1000)), "inside request, dur>1us read", "dur>1us read"),
        ] {
            assert_eq!(filter_text(&snapshot, &filter), text);
            let (inside, others) = InsideSpan::split(&snapshot, &filter);
            let inside = inside.expect("a span");
            assert_eq!(others, rest);
            assert_eq!(inside.with(others), joined_filter(inside.word(), rest));
        }
        // No span is there, or the filter has another meaning.
        for filter in [word(0, 7), word(7, 1000), "within:#99/0@1".to_owned(), format!("!{}", word(0, 1000))] {
            assert_eq!(InsideSpan::split(&snapshot, &filter), (None, &*filter), "{filter}");
        }
        for filter in ["", "read", "\"", "read within:#1/0@1000"] {
            assert_eq!(filter_text(&snapshot, filter), filter);
        }
    }
}
