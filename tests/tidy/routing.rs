//! Commands and events are matched without wildcards, so that a new variant without an arm does not compile.

use crate::code::{is_word, words};

/// The modules to check, and the enums that they match exhaustively.
const MODULES: &[&str] = &["ui", "app"];
const ROUTED: &[&str] = &[
    "Command",
    "AppCommand",
    "SettingCommand",
    "TabCommand",
    "TimelineCommand",
    "PanelCommand",
    "BookmarkCommand",
    "ScopeCommand",
    "RowCommand",
    "NavigationStep",
    "Panel",
    "ToolWindow",
    "Effect",
    "WindowEffect",
    "Question",
    "Answer",
    "CloseChoice",
    "CustomGroupCommand",
    "InterruptedCommand",
    "DerivedCommand",
    "LiveCommand",
    "UserEvent",
    "TaskEvent",
    "TabEvent",
    "DialogChoice",
];

/// Returns every wildcard arm of a match on one of these enums: its position, and the enum.
pub(crate) fn wildcards(module: &str, code: &str) -> Vec<(usize, &'static str)> {
    if !MODULES.contains(&module) {
        return Vec::new();
    }
    let matches = words(code, "match").filter_map(|at| {
        let open = body_of(code, at)?;
        let arms = patterns(code, open);
        let names =
            |name: &&&str| arms.iter().any(|(_, pattern)| words(pattern, name).any(|at| follows(pattern, at, name)));
        let routed = ROUTED.iter().find(names)?;
        let (wildcard, _) = arms.iter().find(|(_, pattern)| is_wildcard(pattern))?;
        Some((*wildcard, *routed))
    });
    matches.collect()
}

/// Returns whether the name is followed by a variant, to exclude variants with the name of a type.
fn follows(pattern: &str, at: usize, name: &str) -> bool {
    pattern[at + name.len()..].starts_with("::") && !pattern[..at].ends_with("::")
}

fn is_wildcard(pattern: &str) -> bool {
    let pattern = pattern.trim();
    let starts_low = pattern.starts_with(|c: char| c.is_lowercase() || c == '_');
    starts_low && pattern.chars().all(is_word) && !matches!(pattern, "true" | "false")
}

/// Returns the opening brace of the body of a `match`: the first one outside the parentheses of the scrutinee.
fn body_of(code: &str, at: usize) -> Option<usize> {
    let mut depth = 0;
    code[at..].char_indices().find_map(|(length, c)| {
        depth += i32::from(matches!(c, '(' | '[')) - i32::from(matches!(c, ')' | ']'));
        (c == '{' && depth == 0).then_some(at + length)
    })
}

/// Returns the patterns of the arms of the body at `open`, with their positions.
fn patterns(code: &str, open: usize) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    let (mut depth, mut begin, mut in_pattern) = (0, open + 1, true);
    for (length, c) in code[open..].char_indices() {
        let at = open + length;
        match c {
            '{' | '(' | '[' => depth += 1,
            '}' | ')' | ']' => {
                depth -= 1;
                if depth == 0 {
                    break;
                }
                // A block ends its arm without a comma.
                if depth == 1 && c == '}' && !in_pattern {
                    (begin, in_pattern) = (at + 1, true);
                }
            }
            '=' if depth == 1 && in_pattern && code[at..].starts_with("=>") => {
                let pattern = code[begin..at].trim_start_matches(|c: char| c.is_whitespace() || c == ',');
                found.push((at - pattern.len(), pattern));
                in_pattern = false;
            }
            ',' if depth == 1 && !in_pattern => (begin, in_pattern) = (at + 1, true),
            _ => {}
        }
    }
    found
}
