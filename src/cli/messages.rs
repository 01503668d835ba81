//! Messages for a person, on stderr: the one place that writes them. A message that cannot be written is dropped: a full
//! or closed stderr must not end a command that does its work.

use std::fmt::Display;
use std::io::{self, Write};

/// Says a sentence, behind the name of the program.
pub fn say(sentence: impl Display) {
    show(&format!("longspan: {sentence}\n"));
}

/// Writes `text` as it is, in one piece, so that the lines of two processes do not mix.
pub fn show(text: &str) {
    io::stderr().write_all(text.as_bytes()).ok(); // nobody is left to tell
}
