//! Detects a mistyped command: it would be opened as a trace, and a window would report a missing file.

use clap::CommandFactory as _;

use super::error::CliError;
use super::low_args::LowArgs;
use crate::model::{Input, Sources};

/// Similarity from which words are confused; clap's own suggestions start at 0.7, which also accepts words with just a
/// common beginning.
const LIKENESS_MIN: f64 = 0.8;

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
fn meant(word: &str) -> Option<String> {
    let commands = LowArgs::command();
    let names = commands.get_subcommands().filter(|command| !command.is_hide_set()).map(clap::Command::get_name);
    let alike = names.map(|name| (strsim::jaro(word, name), name)).filter(|(likeness, _)| *likeness >= LIKENESS_MIN);
    let (_, name) = alike.max_by(|(one, _), (other, _)| one.total_cmp(other))?;
    Some(name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

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
