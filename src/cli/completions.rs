//! `longspan completions`: prints the shell completion script.

use std::fmt::Write as _;

use clap::builder::{PossibleValuesParser, Resettable};
use clap::{Arg, Command, CommandFactory};
use clap_complete::Shell;

use super::error::CliError;
use super::examples::commands;
use super::low_args::LowArgs;
use super::stdout::to_stdout;

/// Prints the script of a shell.
pub(super) fn print(shell: Shell) -> Result<(), CliError> {
    let script = script(shell);
    to_stdout(|out| Ok(out.write_all(script.as_bytes())?))
}

/// Returns the script of a shell.
fn script(shell: Shell) -> String {
    // The `man` command accepts any text, so that it can suggest a command for a mistyped word.
    let commands = PossibleValuesParser::new(commands().collect::<Vec<_>>());
    let command = without_terminators(LowArgs::command())
        .mut_subcommand("man", |man| man.mut_arg("command", |arg| arg.value_parser(commands)));
    let mut root = if shell == Shell::Zsh { without_positionals(&command) } else { command.clone() };
    // Into memory first: the generator panics if a write fails, as on a full disk.
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut root, "longspan", &mut script);
    let mut script = String::from_utf8_lossy(&script).into_owned();
    match shell {
        Shell::Zsh => for_zsh(&script),
        Shell::Bash => for_bash(&script),
        Shell::Fish => {
            add_values(&command, &mut script);
            script
        }
        _ => script,
    }
}

/// Completes files in the script for zsh: as the first word, beside the commands, and after a file. Options may follow
/// the files of a command, which a second colon would prevent.
fn for_zsh(script: &str) -> String {
    let choices = "{_alternative 'commands:command:_longspan_commands' 'files:trace:_files'}";
    script
        .replace("\":: :_longspan_commands\"", &format!("\":: :{choices}\""))
        .replacen("case $line[1] in\n", "case $line[1] in\n(*[./]*) _files ;;\n", 1)
        .replace("\n'*::", "\n'*:")
}

/// Completes files in the script for bash after a command that has only options: options are offered after a dash. If
/// the script offers nothing, bash offers files.
fn for_bash(script: &str) -> String {
    const OFFER: &str = "            COMPREPLY=( $(compgen -W \"${opts}\" -- \"${cur}\") )";
    let mut has_options_only = false;
    let lines = script.lines().map(|line| {
        if let Some(words) = line.trim_start().strip_prefix("opts=\"").and_then(|words| words.strip_suffix('"')) {
            has_options_only = !words.is_empty() && words.split(' ').all(|word| word.starts_with('-'));
        }
        match line.split_once(" || ${COMP_CWORD} -eq ") {
            Some((dash, _)) if has_options_only => format!("{dash} ]] ; then\n"),
            None if has_options_only && line == OFFER => "            COMPREPLY=()\n".to_owned(),
            _ => format!("{line}\n"),
        }
    });
    lines.collect()
}

/// Removes the terminators of values: nobody can type them, and the script for zsh would contain them.
fn without_terminators(command: Command) -> Command {
    command.mut_args(|arg| arg.value_terminator(Resettable::Reset)).mut_subcommands(without_terminators)
}

/// Removes the positionals of the program itself. In the script for zsh they would come before the command, so that it
/// would never be recognised.
fn without_positionals(program: &Command) -> Command {
    let options = program.get_arguments().filter(|arg| !arg.is_positional());
    // The options may conflict with a positional, or require one.
    let options = options.map(|arg| arg.clone().conflicts_with(Resettable::Reset).requires(Resettable::Reset));
    Command::new("longspan")
        .version(env!("CARGO_PKG_VERSION"))
        .args(options)
        .subcommands(program.get_subcommands().cloned())
}

/// Adds the possible values of positionals, which the script for fish lacks, in place of file names.
fn add_values(program: &Command, script: &mut String) {
    for command in program.get_subcommands() {
        let values = command.get_positionals().flat_map(Arg::get_possible_values);
        let values: Vec<_> = values.map(|value| value.get_name().to_owned()).collect();
        if !values.is_empty() {
            let (name, values) = (command.get_name(), values.join(" "));
            let condition = format!("__fish_longspan_using_subcommand {name}");
            writeln!(script, "complete -c longspan -n \"{condition}\" -f -a \"{values}\"").ok(); // into memory
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_word_in_zsh_is_a_command_or_a_file_and_options_may_follow_files() {
        let script = script(Shell::Zsh);
        let (root, commands) = script.split_once("case $state in").expect("the options of the program");
        assert!(root.contains(":{_alternative 'commands:command:_longspan_commands' 'files:trace:_files'}"), "{root}");
        assert!(!root.contains("\n'::") && !root.contains("\n'*::"), "a positional before the command: {root}");
        assert!(commands.contains("case $line[1] in\n(*[./]*) _files ;;\n            (demo)"), "{commands}");
        assert!(commands.contains("\n'*:files -- ") && !commands.contains("\n'*::"), "{commands}");
    }

    /// Runs the script with these words on the command line, and completes the last word.
    fn bash_offers(words: &[&str]) -> Vec<String> {
        let (line, last) = (words.join("' '"), words.len() - 1);
        let call = format!(
            "COMP_WORDS=('{line}'); COMP_CWORD={last}; COMPREPLY=()\n_longspan longspan '{}' '{}'\nprintf '%s\\n' \"${{COMPREPLY[@]}}\"",
            words[last],
            words[last - 1]
        );
        let shell = std::process::Command::new("bash").arg("-c").arg(script(Shell::Bash) + &call).output();
        let output = shell.expect("bash");
        String::from_utf8(output.stdout)
            .expect("text")
            .lines()
            .filter(|word| !word.is_empty())
            .map(str::to_owned)
            .collect()
    }

    #[cfg(unix)]
    #[test]
    fn bash_offers_files_after_a_command_and_options_after_a_dash() {
        assert!(bash_offers(&["longspan", ""]).contains(&"stats".to_owned()));
        assert_eq!(bash_offers(&["longspan", "stats", ""]), [] as [&str; 0]);
        assert_eq!(bash_offers(&["longspan", "stats", "trace.json", ""]), [] as [&str; 0]);
        assert!(bash_offers(&["longspan", "stats", "trace.json", "--b"]).contains(&"--by".to_owned()));
        assert!(bash_offers(&["longspan", "stats", "--samples", ""]).contains(&"module".to_owned()));
        assert!(bash_offers(&["longspan", "cache", ""]).contains(&"list".to_owned()));
        assert!(bash_offers(&["longspan", "completions", ""]).contains(&"zsh".to_owned()));
    }

    #[test]
    fn fish_offers_the_shells_and_the_commands_of_the_manual() {
        let script = script(Shell::Fish);
        let values = |command: &str| {
            let condition = format!("__fish_longspan_using_subcommand {command}\" -f -a \"");
            let (_, rest) = script.split_once(&condition).unwrap_or_else(|| panic!("{command}: {script}"));
            rest.split_once('"').expect("a closing quote").0.split(' ').map(str::to_owned).collect::<Vec<_>>()
        };
        assert!(["bash", "zsh", "fish"].iter().all(|shell| values("completions").contains(&(*shell).to_owned())));
        assert!(["stats", "man", "cache"].iter().all(|name| values("man").contains(&(*name).to_owned())));
    }
}
