//! Detects mistyped commands, which would be opened as traces.

use std::ffi::OsString;
use std::path::Path;

use clap::CommandFactory as _;

use super::error::CliError;
use super::low_args::LowArgs;
use crate::base::escape::escaped;
use crate::base::similar::nearest;
use crate::model::{Input, Sources};

/// Returns an error if the first file does not exist and its name is similar to a command.
pub(super) fn refuse(sources: &Sources) -> Result<(), CliError> {
    let Some(Input::File(path)) = sources.files().first().map(|file| &file.input) else { return Ok(()) };
    path.to_str().and_then(question).map_or(Ok(()), |question| Err(CliError::Usage(question)))
}

/// Returns a question about the command of a line that is invalid, perhaps because of that command.
pub(super) fn question_about(words: &[OsString]) -> Option<String> {
    let mut words = words.iter().skip(1).filter_map(|word| word.to_str()).filter(|word| !word.starts_with('-'));
    let first = words.next()?;
    question(if first == "help" { words.next()? } else { first })
}

/// Asks for the command that a word means; `None` for a file, a command or a word unlike any.
fn question(word: &str) -> Option<String> {
    let is_name = !word.contains(['/', '\\', '.']) && !Path::new(word).exists();
    let command = suggestion(word).filter(|command| is_name && command != word)?;
    let word = escaped(word);
    Some(format!("`{word}` is neither a file nor a command: did you mean `longspan {command}`?"))
}

/// Returns the command most similar to a word.
pub(super) fn suggestion(word: &str) -> Option<String> {
    let commands = LowArgs::command();
    let names = commands.get_subcommands().filter(|command| !command.is_hide_set()).map(clap::Command::get_name);
    nearest(word, names).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_means_the_nearest_command_and_another_word_none() {
        let slips =
            [("stat", "stats"), ("exprot", "export"), ("serach", "search"), ("flames", "flame"), ("Info", "info")];
        for (slip, command) in slips {
            assert_eq!(suggestion(slip).as_deref(), Some(command));
        }
        for word in ["trace", "boot", "x", ""] {
            assert_eq!(suggestion(word), None, "{word}");
        }
    }

    #[test]
    fn a_line_that_is_invalid_because_of_its_command_gets_the_question() {
        let question = |line: &str| {
            let words = line.split(' ').map(OsString::from).collect::<Vec<_>>();
            question_about(&words).map(|question| question.rsplit('`').nth(1).unwrap_or_default().to_owned())
        };
        for (line, command) in [
            ("longspan stat t.json --by name", "longspan stats"),
            ("longspan exprot a.json -o b.json", "longspan export"),
            ("longspan help stast", "longspan stats"),
        ] {
            assert_eq!(question(line).as_deref(), Some(command), "{line}");
        }
        for line in ["longspan stats --nonsense", "longspan help stats", "longspan --nonsense", "longspan t.json --by"]
        {
            assert_eq!(question(line), None, "{line}");
        }
    }
}
