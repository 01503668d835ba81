//! Examples of each command, at the end of its help and of its page in the manual.

/// The examples of each command. The name is empty for the examples of the program.
const EXAMPLES: [(&str, &[&str]); 22] = [
    ("", &["longspan trace.json", "longspan server.pftrace client.json --offset client.json=+1.5ms"]),
    ("demo", &["longspan demo", "longspan demo --no-cache"]),
    ("info", &["longspan info trace.json", "longspan info perf.data --json"]),
    ("spans", &["longspan spans trace.json --longest 10", "longspan spans trace.json --filter 'dur>1ms cat:io'"]),
    ("stats", &["longspan stats trace.json --by name,thread", "longspan stats perf.data --samples=module"]),
    ("flame", &["longspan flame trace.json > paths.folded", "longspan flame perf.data --focus main --inverted"]),
    ("search", &["longspan search trace.json 'dur>16ms thread:main'", "longspan search trace.json -- -cat:io"]),
    ("symbols", &["longspan symbols perf.data", "longspan symbols perf.data --symbols target/release"]),
    ("annotate", &["longspan annotate perf.data main", "longspan annotate perf.data memcpy --assembly"]),
    (
        "export",
        &["longspan export trace.json -o part.pftrace --from +1s --to +2s", "longspan export trace.json -o spans.csv"],
    ),
    (
        "render",
        &["longspan render trace.json -o trace.png", "longspan render trace.json -o part.png --from +1s --to +2s"],
    ),
    (
        "synth",
        &["longspan synth -o big.longspan --spans 1000000", "longspan synth -o small.json --spans 1000 --threads 4"],
    ),
    ("tail", &["longspan tail growing.json --filter 'dur>1ms'", "longspan tail -- ./server --trace -"]),
    ("record", &["longspan record growing.json -o day.longspan", "longspan record otlp -o last.longspan --keep 30min"]),
    ("listen", &["longspan listen --otlp", "longspan listen --otlp=4318 --keep 20GB"]),
    ("dump", &["longspan dump trace.json", "longspan dump trace.json > trace.jsonl"]),
    ("cache", &["longspan cache list", "longspan cache clear"]),
    ("cache list", &["longspan cache list", "longspan cache list --cache /tmp/traces"]),
    ("cache clear", &["longspan cache clear", "longspan cache clear --followed"]),
    ("bench", &["longspan bench trace.json", "longspan bench trace.json --frames 480 --draw"]),
    (
        "completions",
        &[
            "longspan completions fish > ~/.config/fish/completions/longspan.fish",
            "longspan completions zsh > _longspan",
        ],
    ),
    ("man", &["longspan man stats", "longspan man --output man1"]),
];

/// Returns the names of the commands of the program.
pub(super) fn commands() -> impl Iterator<Item = &'static str> {
    EXAMPLES.iter().map(|(name, _)| *name).filter(|name| !name.is_empty() && !name.contains(' '))
}

/// Returns the text with the examples of a command, such as `stats` or `cache list`.
pub(super) fn examples(command: &str) -> String {
    let lines = EXAMPLES.iter().filter(|(name, _)| *name == command).flat_map(|(_, lines)| *lines);
    lines.fold("Examples:".to_owned(), |text, line| text + "\n  " + line)
}

#[cfg(test)]
mod tests {
    use clap::{Command, CommandFactory, Parser};

    use super::*;
    use crate::cli::low_args::LowArgs;

    #[test]
    fn each_command_has_two_examples_that_parse() {
        let mut program = LowArgs::command().disable_help_subcommand(true);
        program.build();
        assert_eq!(check(&program), EXAMPLES.len());
    }

    /// Checks a command with its subcommands, and returns their number.
    fn check(command: &Command) -> usize {
        let name = command.get_bin_name().unwrap_or_else(|| command.get_name());
        let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        let (_, examples) = help.split_once("Examples:\n").unwrap_or_else(|| panic!("no examples: {name}"));
        assert_eq!(examples.lines().count(), 2, "{name}");
        for example in examples.lines().map(str::trim) {
            let begins = example.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '));
            assert!(begins, "{name}: {example}");
            let (words, _) = example.split_once(" > ").unwrap_or((example, ""));
            if let Err(error) = LowArgs::try_parse_from(shell_words(words)) {
                panic!("{example}: {error}");
            }
        }
        1 + command.get_subcommands().map(check).sum::<usize>()
    }

    /// Splits a line at blanks outside of single quotes, as a shell does.
    fn shell_words(line: &str) -> Vec<String> {
        let mut words = vec![String::new()];
        let mut is_quoted = false;
        for letter in line.chars() {
            match letter {
                '\'' => is_quoted = !is_quoted,
                ' ' if !is_quoted => words.push(String::new()),
                _ => words.last_mut().expect("a word").push(letter),
            }
        }
        words
    }
}
