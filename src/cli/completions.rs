//! `longspan completions`: prints the shell completion script.

use clap::CommandFactory;
use clap_complete::Shell;

use super::error::CliError;
use super::low_args::LowArgs;
use super::stdout::to_stdout;

/// Prints the script of a shell.
pub(super) fn print(shell: Shell) -> Result<(), CliError> {
    // Into memory first: the generator panics if a write fails, as on a full disk.
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut LowArgs::command(), "longspan", &mut script);
    to_stdout(|out| Ok(out.write_all(&script)?))
}
