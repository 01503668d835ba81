//! Detects mistyped commands, which would be opened as traces.

use clap::CommandFactory as _;

use super::error::CliError;
use super::low_args::LowArgs;
use crate::base::similar::nearest;
use crate::model::{Input, Sources};

/// Returns an error if the first file does not exist and its name is similar to a command.
pub(super) fn refuse(sources: &Sources) -> Result<(), CliError> {
    let Some(Input::File(path)) = sources.files().first().map(|file| &file.input) else { return Ok(()) };
    let Some(word) = path.to_str().filter(|word| !word.contains(['/', '\\', '.']) && !path.exists()) else {
        return Ok(());
    };
    match suggestion(word) {
        Some(command) => {
            let command = format!("`{word}` is neither a file nor a command: did you mean `longspan {command}`?");
            Err(CliError::Usage(command))
        }
        None => Ok(()),
    }
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
}
