//! Demangles function names of C++ and Rust. A mangled name can expand without end, so the output is bounded; an
//! invalid name is kept.

use std::fmt::{self, Write};

use cpp_demangle::{DemangleOptions, ParseOptions, Symbol};

/// Longer names are cut. C++ templates reach some thousand bytes.
pub(super) const NAME_BYTES_MAX: usize = 4096;

/// Nesting limit of a mangled name; real ones have some ten levels.
const NESTING_MAX: u32 = 96;

/// A bounded writer: returns an error beyond its limit.
#[derive(Default)]
struct DemangledName(String);

impl Write for DemangledName {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let room = NAME_BYTES_MAX - self.0.len().min(NAME_BYTES_MAX);
        if text.len() <= room {
            self.0.push_str(text);
            return Ok(());
        }
        self.0.push_str(&text[..text.floor_char_boundary(room)]);
        Err(fmt::Error)
    }
}

/// Returns the demangled name of a function, or the name itself.
#[must_use]
pub(super) fn demangle(mangled: &[u8]) -> String {
    let text = String::from_utf8_lossy(&mangled[..mangled.len().min(NAME_BYTES_MAX * 4)]);
    let (name, suffix) = split_suffix(&text);
    let readable = rust(name).or_else(|| cpp(name));
    let Some(mut readable) = readable else { return cut(text.into_owned()) };
    readable.push_str(suffix);
    cut(readable)
}

/// Splits off a suffix that compilers add to clones: `.constprop.0`, `.cold`, `.llvm.123`.
fn split_suffix(text: &str) -> (&str, &str) {
    let is_mangled = text.starts_with("_Z") || text.starts_with("_R");
    let dot = text.find('.').filter(|_| is_mangled).unwrap_or(text.len());
    // Rust names have dots of their own: `..` for `::`, and `$`.
    if text[dot..].starts_with("..") || text[..dot].contains('$') { (text, "") } else { text.split_at(dot) }
}

fn rust(name: &str) -> Option<String> {
    let symbol = rustc_demangle::try_demangle(name).ok()?;
    let mut text = DemangledName::default();
    let written = write!(text, "{symbol:#}");
    (written.is_ok() || text.0.len() >= NAME_BYTES_MAX / 2).then_some(text.0)
}

fn cpp(name: &str) -> Option<String> {
    if !name.starts_with("_Z") && !name.starts_with("__Z") {
        return None;
    }
    let with_return = with_return_type(name);
    let symbol = parsed(with_return.as_deref().unwrap_or(name))?;
    let mut text = DemangledName::default();
    let options = DemangleOptions::default().recursion_limit(NESTING_MAX);
    let written = symbol.structured_demangle(&mut text, &options);
    // The demangler leaves a comma before an empty parameter pack.
    (written.is_ok() || text.0.len() >= NAME_BYTES_MAX / 2).then(|| text.0.replace(", >", ">"))
}

fn parsed(name: &str) -> Option<Symbol<&str>> {
    Symbol::new_with_options(name, &ParseOptions::default().recursion_limit(NESTING_MAX)).ok()
}

/// Inserts a return type into the name of a template constructor. Such names have none, but the demangler takes the
/// first parameter for it and omits that.
fn with_return_type(name: &str) -> Option<String> {
    /// Limit for the attempts, since each parses the name.
    const BYTES_MAX: usize = 2048;
    const ENDS_MAX: usize = 64;
    if name.len() > BYTES_MAX || !name.starts_with("_ZN") {
        return None;
    }
    let is_start = |&at: &usize| matches!(name.as_bytes()[at..], [b'C', b'1'..=b'5', b'I', ..]);
    // The name up to here is that of a constructor, so its template arguments follow.
    let start = (3..name.len()).filter(is_start).find(|&at| parsed(&format!("{}E", &name[..at + 2])).is_some())?;
    let ends = name[start..].match_indices('E').map(|(at, _)| start + at + 1).take(ENDS_MAX);
    let end = ends.into_iter().find(|&end| name.is_char_boundary(end) && parsed(&name[..end]).is_some())?;
    (end < name.len()).then(|| format!("{}v{}", &name[..end], &name[end..]))
}

fn cut(mut text: String) -> String {
    if text.len() > NAME_BYTES_MAX {
        text.truncate(text.floor_char_boundary(NAME_BYTES_MAX));
    }
    text
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_are_readable_and_others_stay() {
        let cases = [
            ("_ZN3foo3barEid", "foo::bar(int, double)"),
            ("_ZN4core3fmt9Formatter3pad17h0123456789abcdefE", "core::fmt::Formatter::pad"),
            ("_RNvC6_123foo3bar", "123foo::bar"),
            ("_ZN3fooC2Ev.constprop.0", "foo::foo().constprop.0"),
            ("_ZN1AC1IiEEPKcT_", "A::A<int>(char const*, int)"),
            ("_ZN1AC2Ei", "A::A(int)"),
            ("_Z1fIiJEEvT_", "void f<int>(int)"),
            ("main", "main"),
            ("main.cold", "main.cold"),
            ("_Zwrong", "_Zwrong"),
            ("", ""),
        ];
        for (mangled, readable) in cases {
            assert_eq!(demangle(mangled.as_bytes()), readable);
        }
    }

    #[test]
    fn a_short_name_that_stands_for_a_long_one_is_cut() {
        // Each substitution doubles the text.
        let twice = |at| format!("S{}_S{}_E1aI", to_36(at), to_36(at));
        let doubling = (0..24).map(twice).collect::<Vec<_>>().concat();
        let long = format!("_Z1fI1aI{doubling}");
        assert!(demangle(long.as_bytes()).len() <= NAME_BYTES_MAX);
        let deep = format!("_Z1f{}i", "P".repeat(100_000));
        assert!(demangle(deep.as_bytes()).len() <= NAME_BYTES_MAX);
    }

    fn to_36(number: u32) -> char {
        char::from_digit(number, 36).unwrap().to_ascii_uppercase()
    }

    proptest! {
        #[test]
        fn any_bytes_are_some_name(start in "(_Z|_R|__Z|)", rest in proptest::collection::vec(any::<u8>(), 0..200)) {
            let name = [start.as_bytes(), &rest].concat();
            prop_assert!(demangle(&name).len() <= NAME_BYTES_MAX);
        }

        #[test]
        fn any_letters_of_mangling_are_some_name(name in "_Z[NSTIEKLRPFi0-9a-zA-Z_]{0,80}") {
            prop_assert!(demangle(name.as_bytes()).len() <= NAME_BYTES_MAX);
        }
    }
}
