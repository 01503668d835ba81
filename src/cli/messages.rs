//! Messages on stderr; the only module that writes them. They contain names from traces and file names, so control
//! characters are escaped. A message that cannot be written is dropped: a full or closed stderr must not end a command.

use std::ffi::OsString;
use std::fmt::Display;
use std::io::{self, Write};

use clap::Parser as _;
use clap::error::ContextKind;

use super::low_args::LowArgs;
use crate::base::escape::{escaped, escaped_lines, is_control};

/// Writes a message of one line after the name of the program.
pub(super) fn say(sentence: impl Display) {
    show(&format!("longspan: {}\n", escaped(&sentence.to_string())));
}

/// Writes a message of several lines, such as the errors of several files.
pub(super) fn say_lines(text: impl Display) {
    show(&format!("longspan: {}\n", escaped_lines(&text.to_string())));
}

/// Writes `text` unchanged and in one write, so that the lines of two processes do not mix.
pub(super) fn show(text: &str) {
    io::stderr().write_all(text.as_bytes()).ok(); // there is nowhere to report the error
}

/// Formats a count with a noun, such as `1 span` or `2 spans`.
pub(super) fn counted(count: u64, thing: &str) -> String {
    let ending = if count == 1 { "" } else { "s" };
    format!("{count} {thing}{ending}")
}

/// Formats a text of several lines that repeats arguments or names of a trace, such as an error in an expression.
pub(super) fn lines_about(text: &str, words: &[OsString]) -> String {
    // A line break in an argument could start a line that looks like another message.
    if words.iter().any(has_control) { escaped(text).into_owned() } else { escaped_lines(text).into_owned() }
}

/// Parses arguments. For an unknown option, the error suggests a similar option, if any. It never suggests `--` before
/// the option, which would then be taken as a file.
pub(super) fn parsed<W: Into<OsString> + Clone>(words: impl IntoIterator<Item = W>) -> Result<LowArgs, clap::Error> {
    LowArgs::try_parse_from(words).map_err(|mut answer| {
        answer.remove(ContextKind::Suggested);
        answer
    })
}

/// Returns the parser's error, help or version for these arguments.
pub(super) fn usage_text(words: &[OsString], answer: &clap::Error) -> String {
    if !words.iter().any(has_control) {
        return answer.render().to_string();
    }
    // The message repeats arguments, so they are parsed again with their control characters escaped.
    let shown = words.iter().map(|word| escaped(&word.to_string_lossy()).into_owned());
    match parsed(shown) {
        Err(answer) => escaped_lines(&answer.render().to_string()).into_owned(),
        Ok(_) => format!("{}\n", escaped(&answer.render().to_string())),
    }
}

/// Writes the parser's response to arguments without a command: help, the version or an error. Returns the I/O error of
/// the write.
pub(super) fn answer(answer: &clap::Error, words: &[OsString]) -> io::Result<()> {
    if !words.iter().any(has_control) {
        return answer.print(); // in colours, if the terminal supports them
    }
    let text = usage_text(words, answer);
    if answer.use_stderr() { io::stderr().write_all(text.as_bytes()) } else { io::stdout().write_all(text.as_bytes()) }
}

fn has_control(word: &OsString) -> bool {
    word.to_string_lossy().chars().any(is_control)
}

#[cfg(test)]
mod tests {
    use super::counted;

    #[test]
    fn one_thing_is_in_the_singular() {
        assert_eq!([0, 1, 2].map(|count| counted(count, "event")), ["0 events", "1 event", "2 events"]);
    }
}
