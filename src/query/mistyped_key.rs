//! Detects keys and expressions of filters that are parsed as parts of names: with typing errors, or in the syntax of
//! other tools.

use super::filter::{self, Filter, Term, Test, TextTest};
use super::snapshot::Snapshot;
use super::start_test::StartTest;
use crate::base::similar::nearest;

/// The marks that may follow a key.
const SIGNS: [char; 4] = [':', '=', '<', '>'];

/// Returns a sentence about a filter that matches nothing: about a mistyped key, or a start outside of the trace.
pub(crate) fn filter_hint(snapshot: &Snapshot, filter: &Filter) -> Option<String> {
    mistyped_key(filter).or_else(|| start_hint(filter, (snapshot.start_ns(), snapshot.end_ns())))
}

/// Returns a sentence about a word of a filter that probably means something else. It may be a key with a typing error,
/// such as `catt:io`, a test with blanks, such as `duration > 1ms`, or a regular expression.
pub(crate) fn mistyped_key(filter: &Filter) -> Option<String> {
    let text_of = |term: &Term| match &term.test {
        Test::Name(TextTest::Part(expression)) => unescaped(expression.as_str()),
        _ => String::new(),
    };
    let words: Vec<String> = filter.terms.iter().map(text_of).collect();
    let mut tests = (0..words.len()).filter_map(|first| parted_test(&words[first..]));
    words.iter().find_map(|word| hint_of_key(word)).or_else(|| tests.find_map(|test| hint_of_key(&test))).or_else(
        || {
            let expression = words.iter().find(|word| is_like_regex(word))?;
            Some(format!("`{expression}` is taken as part of a name: did you mean `/{expression}/`?"))
        },
    )
}

/// Returns a sentence about a test of starts that excludes a whole trace of this time range.
fn start_hint(filter: &Filter, (start_ns, end_ns): (i64, i64)) -> Option<String> {
    let excludes_all = |test: &StartTest, negated: bool| {
        let starts = test.on_clock_of(start_ns);
        if negated {
            *starts.start() <= start_ns && *starts.end() >= end_ns
        } else {
            *starts.end() < start_ns || *starts.start() > end_ns
        }
    };
    let is_outside = |test: &StartTest, negated| excludes_all(test, negated) && test.absolute().is_some();
    filter.terms.iter().find_map(|term| match &term.test {
        Test::Start(test) if is_outside(test, term.negated) => Some(format!(
            "`start` is a time of the trace's clock, on which it lasts from {start_ns} ns to {end_ns} ns: with a plus, \
             such as start<+300ms, it counts from the first event"
        )),
        _ => None,
    })
}

/// Joins a key, a sign and a value that blanks separate; returns `None` for other words.
fn parted_test(words: &[String]) -> Option<String> {
    match words {
        [key, sign, value, ..] if sign.chars().all(|c| SIGNS.contains(&c)) && !value.is_empty() => {
            (!key.is_empty() && !sign.is_empty()).then(|| format!("{key}{sign}{value}"))
        }
        [key, value, ..] if key.ends_with(SIGNS) || value.starts_with(SIGNS) => Some(format!("{key}{value}")),
        _ => None,
    }
}

/// Returns whether a word has the marks of a regular expression, which names hardly have.
fn is_like_regex(word: &str) -> bool {
    let is_anchored = word.len() > 1 && (word.starts_with('^') || word.ends_with('$'));
    is_anchored || word.contains(".*") || word.contains(".+")
}

/// Returns a sentence about a word whose key is not known, but a known one is similar.
fn hint_of_key(text: &str) -> Option<String> {
    let at = text.find(SIGNS)?;
    let (typed, sign, value) = (&text[..at], &text[at..=at], &text[at + 1..]);
    // Other tools negate with an exclamation mark.
    let (key, minus) = typed.strip_prefix('!').map_or((typed, ""), |key| (key, "-"));
    let meant = key_of_synonym(key).or_else(|| nearest(key, filter::keys()))?;
    let meant_sign = fitting_sign(meant, sign, value)?;
    if (meant, meant_sign) == (typed, sign) {
        return None;
    }
    let is_known = filter::keys().any(|known| known == typed);
    let reason = if is_known { "" } else { &*format!("unknown key `{typed}`, so ") };
    Some(format!("{reason}`{typed}{sign}` is taken as part of a name: did you mean `{minus}{meant}{meant_sign}`?"))
}

/// Returns the sign that a key takes before a value: the typed one if it fits. Returns `None` if the key does not take
/// the value, so that no refused word is suggested.
fn fitting_sign<'a>(key: &str, typed: &'a str, value: &str) -> Option<&'a str> {
    let bare_value = value.trim_start_matches(SIGNS);
    let words = [(typed, value), (":", bare_value), (">", bare_value)];
    words.into_iter().find(|(sign, value)| is_test_of(key, &format!("{key}{sign}{value}"))).map(|(sign, _)| sign)
}

/// Returns whether a word is a test of this key and not of a name that contains its marks.
fn is_test_of(key: &str, word: &str) -> bool {
    let Ok(filter) = Filter::parse(word) else { return false };
    matches!(&filter.terms[..], [term] if key == "name" || !matches!(term.test, Test::Name(_)))
}

/// Returns the text of an escaped regular expression.
fn unescaped(expression: &str) -> String {
    let mut chars = expression.chars();
    std::iter::from_fn(|| chars.next().map(|c| if c == '\\' { chars.next().unwrap_or(c) } else { c })).collect()
}

/// Returns the key for a word of the same meaning.
fn key_of_synonym(word: &str) -> Option<&'static str> {
    match word {
        "duration" | "length" => Some("dur"),
        "ts" | "time" | "begin" => Some("start"),
        "tid" => Some("thread"),
        "pid" => Some("process"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_of_a_filter_with_a_typing_error_means_the_nearest_key() {
        let hint = |words: &str| mistyped_key(&Filter::parse(words).expect("a filter"));
        for (words, meant) in [
            ("catt:io", "`cat:`"),
            ("x proces:db", "`process:`"),
            ("durr>1ms", "`dur>`"),
            ("-thred:a", "`thread:`"),
            ("duration>1us", "`dur>`"),
            ("!cat:io", "`-cat:`"),
            ("!thred:a", "`-thread:`"),
            ("duration > 10ms", "`dur>`"),
            ("duration >10ms", "`dur>`"),
            ("duration> 10ms", "`dur>`"),
            ("read catt: io", "`cat:`"),
            ("^Frame", "`/^Frame/`"),
            ("a Frame$", "`/Frame$/`"),
            ("Run.*Task", "`/Run.*Task/`"),
        ] {
            assert!(hint(words).is_some_and(|hint| hint.contains(meant)), "{words}: {:?}", hint(words));
        }
        for words in ["cat:io", "std::vec", "a<b>", "read", "10:30", "a > b", "$", "^", "/^Frame/", "~^Frame"] {
            assert_eq!(hint(words), None, "{words}");
        }
    }

    #[test]
    fn a_known_key_with_another_sign_is_not_called_unknown_and_never_means_itself() {
        let hint = |word: &str| mistyped_key(&Filter::parse(word).expect("a filter"));
        let expected = "`is=` is taken as part of a name: did you mean `is:`?";
        assert_eq!(hint("is=failed").as_deref(), Some(expected));
        assert_eq!(hint("is::failed"), None);
        let expected = "`has=` is taken as part of a name: did you mean `has:`?";
        assert_eq!(hint("has=flow").as_deref(), Some(expected));
        assert_eq!(hint("hash:5"), None);
        let unknown = hint("catt:io").unwrap_or_default();
        assert!(unknown.starts_with("unknown key `catt`, so `catt:` is taken"), "{unknown}");
    }

    #[test]
    fn a_suggested_key_has_a_sign_that_it_takes_before_the_value() {
        for (word, meant, suggested) in [
            ("tid=7", "`thread:`?", "thread:7"),
            ("tid==7", "`thread:`?", "thread:7"),
            ("pid=1", "`process:`?", "process:1"),
            ("duration:5", "`dur>`?", "dur>5"),
            ("duration=1.5ms", "`dur=`?", "dur=1.5ms"),
            ("durr>=5us", "`dur>`?", "dur>=5us"),
            ("time:-5", "`start>`?", "start>-5"),
            ("begin<2s", "`start<`?", "start<2s"),
            ("withn:main/2@1500", "`within:`?", "within:main/2@1500"),
        ] {
            let hint = mistyped_key(&Filter::parse(word).expect("a filter")).unwrap_or_default();
            assert!(hint.ends_with(meant), "{word}: {hint}");
            let filter = Filter::parse(suggested).expect("a filter");
            assert!(!matches!(filter.terms[0].test, Test::Name(_)), "{suggested}: {filter:?}");
        }
        let name = mistyped_key(&Filter::parse("nmae=read").expect("a filter"));
        assert!(name.is_some_and(|hint| hint.ends_with("`name:`?")));
        // These values are neither times nor positions.
        for word in ["begin:frame", "time::Duration", "duration>soon", "withn:main"] {
            assert_eq!(mistyped_key(&Filter::parse(word).expect("a filter")), None, "{word}");
        }
    }

    #[test]
    fn a_start_outside_of_the_trace_has_a_hint() {
        let hint = |text: &str| start_hint(&Filter::parse(text).expect("a filter"), (1_000, 2_000));
        for text in ["start<300", "a start>2us", "start=999", "-start>=1us", "-start<=2us"] {
            let hint = hint(text).unwrap_or_default();
            assert!(hint.contains("from 1000 ns to 2000 ns") && hint.contains("start<+300ms"), "{text}: {hint}");
        }
        for text in ["start<1001", "start>=2us", "start>+5us", "-start>1us", "-start<300", "a"] {
            assert_eq!(hint(text), None, "{text}");
        }
    }
}
