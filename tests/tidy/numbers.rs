//! Finds bare numbers that need the name of a field or value. Protobuf field numbers and Fuchsia bit fields have types
//! that only `proto_numbers!` and `fxt_fields!` construct, so a bare number in a call does not compile. This rule
//! covers patterns and comparisons of raw values.

use super::code::{is_word, words};

/// The files and folders to check.
const HOMES: &[&str] = &[
    "src/formats/fxt/",
    "src/formats/linux/perf_data/",
    "src/formats/linux/uftrace/",
    "src/formats/multi/archive/",
    "src/formats/native/",
    "src/formats/otlp/",
    "src/formats/perfetto/",
    "src/formats/profiles/firefox/",
    "src/formats/profiles/pprof/",
    "src/formats/spall/",
    "src/formats/tracy.rs",
    "src/symbols/",
];

/// Returns the positions of bare numbers in the code of a file.
pub(crate) fn bare_numbers(path: &str, code: &str) -> Vec<usize> {
    if !HOMES.iter().any(|home| path.starts_with(home)) {
        return Vec::new();
    }
    let mut found: Vec<usize> = patterns(code).flat_map(|(at, pattern)| literals(at, pattern)).collect();
    found.extend(compared(code));
    found.sort_unstable();
    found.dedup();
    found
}

/// Returns the patterns of match arms, `matches!` and `let`, without guards.
fn patterns(code: &str) -> impl Iterator<Item = (usize, &str)> {
    let arms = code.match_indices("=>").map(|(end, _)| {
        let start = arm_start(&code[..end]);
        (start, &code[start..end])
    });
    let matches = words(code, "matches!").filter_map(|at| {
        let open = at + code[at..].find('(')? + 1;
        let comma = open + split(&code[open..], ',')?;
        let end = open + split(&code[open..], ')')?;
        Some((comma, code.get(comma..end)?))
    });
    let lets = words(code, "let").filter_map(|at| {
        let end = at + split(&code[at..], '=')?;
        let typed = split(&code[at..end], ':').map_or(end, |length| at + length);
        Some((at, &code[at..typed]))
    });
    arms.chain(matches).chain(lets).map(|(at, pattern)| {
        let guard = words(pattern, "if").next().unwrap_or(pattern.len());
        (at, &pattern[..guard])
    })
}

/// Returns the start of the pattern at the end of `before`: after the previous arm, or after the brace that opens the
/// match.
fn arm_start(before: &str) -> usize {
    let mut depth = 0;
    for (at, c) in before.char_indices().rev() {
        // The end of a pattern with fields closes a brace too, but the brace of the previous arm is on its own line.
        let ends_arm = match c {
            '>' => before[..at].ends_with('='),
            '}' => before[..at].trim_end_matches(' ').ends_with('\n'),
            _ => false,
        };
        if depth == 0 && ends_arm {
            return at + 1;
        }
        match c {
            ')' | ']' | '}' => depth += 1,
            '(' | '[' | '{' if depth > 0 => depth -= 1,
            '(' | '[' | '{' | ',' | ';' if depth == 0 => return at + 1,
            _ => {}
        }
    }
    0
}

/// Returns the position of `mark` outside of brackets.
fn split(code: &str, mark: char) -> Option<usize> {
    let mut depth = 0;
    for (at, c) in code.char_indices() {
        if depth == 0 && c == mark {
            return Some(at);
        }
        depth += i32::from(matches!(c, '(' | '[' | '{')) - i32::from(matches!(c, ')' | ']' | '}'));
    }
    None
}

/// Returns the positions of numbers in a pattern. 0 is exempt, since it only represents a missing field.
fn literals(at: usize, pattern: &str) -> impl Iterator<Item = usize> {
    let starts = pattern.char_indices().filter(|&(start, c)| {
        let is_first = c.is_ascii_digit() && !pattern[..start].chars().next_back().is_some_and(is_word);
        let is_zero = c == '0' && !pattern[start + 1..].chars().next().is_some_and(is_word);
        is_first && !is_zero
    });
    starts.map(move |(start, _)| at + start)
}

/// Returns the positions where a raw value is compared with a nonzero number. Sizes of types are exempt, since they are
/// compared with a layout.
fn compared(code: &str) -> impl Iterator<Item = usize> {
    ["==", "!="].into_iter().flat_map(move |sign| {
        code.match_indices(sign).filter_map(move |(at, _)| {
            let right = code[at + sign.len()..].trim_start();
            let is_bare = right.starts_with(|c: char| ('1'..='9').contains(&c));
            (is_bare && is_raw(code[..at].trim_end())).then_some(at)
        })
    })
}

/// Returns whether code ends with a raw value: a call without arguments, a bit field of a word, a number or a type.
fn is_raw(left: &str) -> bool {
    let is_call = left.ends_with("()") && !left.ends_with(">()");
    let is_bit_field = || {
        let (before, word) = left.strip_suffix(')')?.rsplit_once(".get(")?;
        Some(before.ends_with(is_word) && !word.contains('('))
    };
    is_call || ["number", "_type"].iter().any(|end| left.ends_with(end)) || is_bit_field() == Some(true)
}
