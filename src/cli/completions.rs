//! `longspan completions`: prints the shell completion script.

use clap::builder::Resettable;
use clap::{Command, CommandFactory};
use clap_complete::Shell;

use super::error::CliError;
use super::low_args::LowArgs;
use super::stdout::to_stdout;

/// Prints the script of a shell.
pub(super) fn print(shell: Shell) -> Result<(), CliError> {
    // Into memory first: the generator panics if a write fails, as on a full disk.
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut without_terminators(LowArgs::command()), "longspan", &mut script);
    to_stdout(|out| Ok(out.write_all(&script)?))
}

/// Removes the terminators of values: nobody can type them, and the script for zsh would contain them.
fn without_terminators(command: Command) -> Command {
    command.mut_args(|arg| arg.value_terminator(Resettable::Reset)).mut_subcommands(without_terminators)
}
