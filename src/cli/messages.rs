//! Messages for a person, on stderr: the one place that writes them. Names in them come from traces and file names, so control
//! characters are escapes. A message that cannot be written is dropped: a full or closed stderr must not end a command that
//! does its work.

use std::ffi::OsString;
use std::fmt::Display;
use std::io::{self, Write};

use crate::base::escape::{escaped, escaped_lines, is_control};

/// Writes a message of one line after the name of the program.
pub fn say(sentence: impl Display) {
    show(&format!("longspan: {}\n", escaped(&sentence.to_string())));
}

/// Writes a message whose own text has several lines, such as an error in an expression.
pub fn say_lines(text: &str) {
    show(&format!("longspan: {}\n", escaped_lines(text)));
}

/// Writes `text` as it is, in one piece, so that the lines of two processes do not mix.
pub fn show(text: &str) {
    io::stderr().write_all(text.as_bytes()).ok(); // nobody is left to tell
}

/// Writes the parser's answer to words that it does not take as a command: help, the version or an error.
///
/// # Errors
/// What the system says to the write.
pub fn answer(answer: &clap::Error, words: &[OsString]) -> io::Result<()> {
    let has_control = |word: &OsString| word.to_string_lossy().chars().any(is_control);
    if !words.iter().any(has_control) {
        return answer.print();
    }
    // The answer repeats a word: without the parser's own colours nothing in it may act on the terminal.
    let text = answer.render().to_string();
    let text = escaped_lines(&text);
    if answer.use_stderr() { io::stderr().write_all(text.as_bytes()) } else { io::stdout().write_all(text.as_bytes()) }
}
