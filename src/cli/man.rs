//! `longspan man`: the manual pages, built from the help texts: one of the program, and one per command.

use std::fs;
use std::path::Path;

use clap::{Command, CommandFactory};
use clap_mangen::Man;

use super::error::CliError;
use super::low_args::LowArgs;
use super::stdout::to_stdout;
use crate::base::escape::escaped;
use crate::base::similar::nearest;

/// Prints the page of a command, such as `stats` or `cache list`, or of the program without any words. Returns
/// [`CliError::Usage`] for an unknown command.
pub(super) fn print(command: &str) -> Result<(), CliError> {
    let words = std::iter::once("longspan").chain(command.split_whitespace());
    let name = words.collect::<Vec<_>>().join("-");
    let Some(page) = pages().into_iter().find(|page| name_of(page) == name) else {
        let unknown = escaped(command);
        let names: Vec<String> = pages().iter().filter_map(command_of).collect();
        let advice = match nearest(&unknown, names.iter().map(String::as_str)) {
            Some(command) => format!(": did you mean `longspan man {command}`?"),
            None => "; `longspan --help` lists them".to_owned(),
        };
        return Err(CliError::Usage(format!("there is no command '{unknown}'{advice}")));
    };
    let text = rendered(page)?;
    to_stdout(|out| Ok(out.write_all(&text)?))
}

/// Writes every page into a folder, which is created if it is missing.
pub(super) fn write_all(folder: &Path) -> Result<(), CliError> {
    let failed = |path: &Path, source| CliError::File { path: path.into(), source };
    fs::create_dir_all(folder).map_err(|source| failed(folder, source))?;
    for page in pages() {
        let path = folder.join(format!("{}.1", name_of(&page)));
        let text = rendered(page)?;
        fs::write(&path, text).map_err(|source| failed(&path, source))?;
    }
    Ok(())
}

/// Returns a page. Its footer has the name and the version of the program, whatever its command.
fn rendered(page: Command) -> Result<Vec<u8>, CliError> {
    let mut text = Vec::new();
    Man::new(page).source(concat!("longspan ", env!("CARGO_PKG_VERSION"))).render(&mut text)?;
    Ok(text)
}

/// Returns the name of a page: `longspan-cache-list` for `longspan cache list`.
fn name_of(page: &Command) -> &str {
    page.get_display_name().unwrap_or_else(|| page.get_name())
}

/// Returns the command of a page, such as `cache list`; `None` for the page of the program.
fn command_of(page: &Command) -> Option<String> {
    Some(name_of(page).strip_prefix("longspan-")?.replace('-', " "))
}

/// Returns the program and each of its commands.
fn pages() -> Vec<Command> {
    let mut program = LowArgs::command().disable_help_subcommand(true);
    program.build();
    let mut pages = Vec::new();
    add_pages(&program, &mut pages);
    pages
}

fn add_pages(command: &Command, pages: &mut Vec<Command>) {
    pages.push(command.clone());
    command.get_subcommands().for_each(|command| add_pages(command, pages));
}
