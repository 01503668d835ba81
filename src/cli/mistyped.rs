//! Detects mistyped words: a command, which would be opened as a trace, and a key of a filter, which would be a name.

use clap::CommandFactory as _;

use super::error::CliError;
use super::low_args::LowArgs;
use crate::model::{Input, Sources};
use crate::query::filter::{self, Filter, Test, TextTest};

/// Similarity from which words are confused; clap's own suggestions start at 0.7, which also accepts words with just a
/// common beginning.
const LIKENESS_MIN: f64 = 0.8;

/// The marks that may follow a key.
const SIGNS: [char; 4] = [':', '=', '<', '>'];

/// Returns an error if the first file does not exist and its name is similar to a command.
pub(super) fn refuse(sources: &Sources) -> Result<(), CliError> {
    let Some(Input::File(path)) = sources.files().first().map(|file| &file.input) else { return Ok(()) };
    let Some(word) = path.to_str().filter(|word| !word.contains(['/', '\\', '.']) && !path.exists()) else {
        return Ok(());
    };
    match meant(word) {
        Some(command) => {
            let command = format!("`{word}` is neither a file nor a command: did you mean `longspan {command}`?");
            Err(CliError::Usage(command))
        }
        None => Ok(()),
    }
}

/// Returns the command most similar to a word.
pub(super) fn meant(word: &str) -> Option<String> {
    let commands = LowArgs::command();
    let names = commands.get_subcommands().filter(|command| !command.is_hide_set()).map(clap::Command::get_name);
    nearest(word, names).map(str::to_owned)
}

/// Returns a sentence about a word of a filter whose key looks like a known one with a typing error, such as `catt:io`.
pub(super) fn mistyped_key(filter: &Filter) -> Option<String> {
    filter.terms.iter().find_map(|term| {
        let Test::Name(TextTest::Part(expression)) = &term.test else { return None };
        let text = unescaped(expression.as_str());
        let at = text.find(SIGNS)?;
        let (key, sign, value) = (&text[..at], &text[at..=at], &text[at + 1..]);
        let meant = key_of_synonym(key).or_else(|| nearest(key, filter::keys()))?;
        let meant_sign = fitting_sign(meant, sign, value)?;
        Some(format!(
            "unknown key `{key}`, so `{key}{sign}` is taken as part of a name: did you mean `{meant}{meant_sign}`?"
        ))
    })
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

/// Returns the name most similar to a word, if any is similar.
fn nearest<'a>(word: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let alike = names.map(|name| (strsim::jaro(word, name), name)).filter(|(likeness, _)| *likeness >= LIKENESS_MIN);
    alike.max_by(|(one, _), (other, _)| one.total_cmp(other)).map(|(_, name)| name)
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
        ] {
            assert!(hint(words).is_some_and(|hint| hint.contains(meant)), "{words}: {:?}", hint(words));
        }
        for words in ["cat:io", "std::vec", "a<b>", "read", "10:30"] {
            assert_eq!(hint(words), None, "{words}");
        }
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
        // These values are no times or positions.
        for word in ["begin:frame", "time::Duration", "duration>soon", "withn:main"] {
            assert_eq!(mistyped_key(&Filter::parse(word).expect("a filter")), None, "{word}");
        }
    }

    #[test]
    fn a_slip_means_the_nearest_command_and_another_word_none() {
        let slips =
            [("stat", "stats"), ("exprot", "export"), ("serach", "search"), ("flames", "flame"), ("Info", "info")];
        for (slip, command) in slips {
            assert_eq!(meant(slip).as_deref(), Some(command));
        }
        for word in ["trace", "boot", "x", ""] {
            assert_eq!(meant(word), None, "{word}");
        }
    }
}
