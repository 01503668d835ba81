//! Demangles function names of C++ and Rust. A mangled name can expand without end, so the output is bounded; an
//! invalid name is kept. The middle of a long name is replaced by a hash, so that different functions stay different.

mod rewrite;

use std::fmt::{self, Write};

use cpp_demangle::{DemangleOptions, ParseOptions, Symbol};
use xxhash_rust::xxh3::xxh3_64;

/// Suffix of the names of stubs through which a file calls functions of others.
pub(crate) const STUB_SUFFIX: &str = "@plt";

/// Longer names are shortened. C++ templates reach some thousand bytes.
pub(crate) const NAME_BYTES_MAX: usize = 4096;

/// Bytes of the end of a shortened name, which has the name of a method and its parameters.
const END_BYTES: usize = 1024;

/// Limit for a demangled name before it is shortened.
const DEMANGLED_BYTES_MAX: usize = 256 << 10;

/// Longer mangled names stay mangled.
const MANGLED_BYTES_MAX: usize = 64 << 10;

/// Nesting limit of a mangled name; real ones have some ten levels.
const NESTING_MAX: u32 = 96;

/// A bounded writer: returns an error beyond its limit.
#[derive(Default)]
struct DemangledName(String);

impl Write for DemangledName {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let room = DEMANGLED_BYTES_MAX - self.0.len().min(DEMANGLED_BYTES_MAX);
        if text.len() <= room {
            self.0.push_str(text);
            return Ok(());
        }
        self.0.push_str(&text[..text.floor_char_boundary(room)]);
        Err(fmt::Error)
    }
}

impl DemangledName {
    /// Returns whether the text is a name. An incomplete text is used only if it is shortened anyway.
    fn has_name(&self, written: fmt::Result) -> bool {
        written.is_ok() || self.0.len() > 2 * NAME_BYTES_MAX
    }
}

/// Returns the demangled name of a function, or the name itself.
#[must_use]
pub(crate) fn demangle(mangled: &[u8]) -> String {
    demangle_with(mangled, DemangleOptions::default())
}

/// Returns the demangled name of a function that is part of another name, which has no return type there.
pub(crate) fn demangle_without_return_type(mangled: &[u8]) -> String {
    demangle_with(mangled, DemangleOptions::default().no_return_type())
}

fn demangle_with(mangled: &[u8], options: DemangleOptions) -> String {
    if let Some(function) = mangled.strip_suffix(STUB_SUFFIX.as_bytes()) {
        return demangle_with(function, options) + STUB_SUFFIX;
    }
    let text = String::from_utf8_lossy(mangled);
    if mangled.len() > MANGLED_BYTES_MAX {
        return shortened(&text, mangled);
    }
    let (name, suffix) = split_suffix(&text);
    let with_suffix = |end: usize| Some(cpp(&text[..end], options)? + &text[end..]);
    let readable = rust(name).or_else(|| cpp(name, options)).map(|name| name + suffix);
    let readable = readable.or_else(|| later_suffixes(&text).find_map(with_suffix));
    let readable = readable.unwrap_or_else(|| text.into_owned());
    if readable.len() > NAME_BYTES_MAX { shortened(&readable, mangled) } else { readable }
}

/// Replaces the middle of a long name by a hash of the mangled name. Ends may be equal, and an expansion has no end.
fn shortened(name: &str, mangled: &[u8]) -> String {
    let middle = format!("\u{2026}{:08x}\u{2026}", xxh3_64(mangled) as u32);
    let start = name.floor_char_boundary(NAME_BYTES_MAX - END_BYTES - middle.len());
    let end = name.ceil_char_boundary(name.len() - END_BYTES);
    [&name[..start], &middle, &name[end..]].concat()
}

/// Returns a mangled name without the suffix of a clone; `None` for other names.
pub(crate) fn without_suffix(name: &[u8]) -> Option<&[u8]> {
    let text = std::str::from_utf8(name).ok().filter(|text| text.starts_with("_Z") || text.starts_with("_R"))?;
    let (name, suffix) = split_suffix(text);
    let is_name = suffix.is_empty() || name.starts_with("_R") || parsed(name).is_some();
    let end = if is_name { name.len() } else { later_suffixes(text).find(|&end| parsed(&text[..end]).is_some())? };
    Some(&text.as_bytes()[..end])
}

/// Returns where a suffix may start in a name that has dots itself, such as `._anon_1`.
fn later_suffixes(text: &str) -> impl Iterator<Item = usize> {
    const DOTS_MAX: usize = 8;
    let dots = text.match_indices('.').map(|(dot, _)| dot).skip(1).take(DOTS_MAX);
    dots.chain(std::iter::once(text.len())).filter(|_| text.starts_with("_Z") && text.contains('.'))
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
    text.has_name(written).then_some(text.0)
}

fn cpp(name: &str, options: DemangleOptions) -> Option<String> {
    if !name.starts_with("_Z") && !name.starts_with("__Z") {
        return None;
    }
    let expanded = rewrite::with_pack(name);
    let name = expanded.as_deref().unwrap_or(name);
    let with_return = rewrite::with_return_type(name);
    let name = with_return.as_deref().unwrap_or(name);
    let Some(symbol) = parsed(name) else {
        let with_members = rewrite::with_members(name)?;
        return Some(rewrite::without_members(&written(&parsed(&with_members)?, options)?));
    };
    written(&symbol, options)
}

fn written(symbol: &Symbol<&str>, options: DemangleOptions) -> Option<String> {
    let mut text = DemangledName::default();
    let written = symbol.structured_demangle(&mut text, &options.recursion_limit(NESTING_MAX));
    text.has_name(written).then(|| rewrite::as_usual(text.0))
}

fn parsed(name: &str) -> Option<Symbol<&str>> {
    Symbol::new_with_options(name, &ParseOptions::default().recursion_limit(NESTING_MAX)).ok()
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
            ("_ZN3foo3barEid@plt", "foo::bar(int, double)@plt"),
            ("memchr@plt", "memchr@plt"),
            ("_ZN3fooC2Ev.constprop.0", "foo::foo().constprop.0"),
            ("_ZN1AC1IiEEPKcT_", "A::A<int>(char const*, int)"),
            ("_ZN1AC2Ei", "A::A(int)"),
            ("_Z1fIiJEEvT_", "void f<int>(int)"),
            ("_Z1fIJEEvDpRKT_", "void f<>()"),
            ("_Z1fIJRiOdRKcEEvDpOT_", "void f<int&, double&&, char const&>(int&, double&&, char const&)"),
            ("_Z1fIJRiOdiEEvDpRT_", "void f<int&, double&&, int>(int&, double&, int&)"),
            (
                "_ZN4llvm12hash_combineIJhhjEEENS_9hash_codeEDpRKT_",
                "llvm::hash_code llvm::hash_combine<unsigned char, unsigned char, unsigned int>\
                 (unsigned char const&, unsigned char const&, unsigned int const&)",
            ),
            (
                "_ZN1aC1IJid5FirStcEEEDpRKT_",
                "a::a<int, double, FirSt, char>(int const&, double const&, FirSt const&, char const&)",
            ),
            (
                "_ZN1AIJcEE1fIJiSt4pairIiiEEEEvDpPT_",
                "void A<char>::f<int, std::pair<int, int> >(int*, std::pair<int, int>*)",
            ),
            ("_Z1fI1AEN1BIXsr1CIT_E5valueEE4typeES3_", "B<C<A>::value>::type f<A>(A)"),
            (
                "_ZSt14__relocate_a_1IccENSt9enable_ifIXsrSt24__is_bitwise_relocatableIT_vE5valueEPS2_E4typeES4_S4_S4_RSaIT0_E",
                "std::enable_if<std::__is_bitwise_relocatable<char, void>::value, char*>::type \
                 std::__relocate_a_1<char, char>(char*, char*, char*, std::allocator<char>&)",
            ),
            ("_ZN1t2opI10._anon_141EEvT_.part.0", "void t::op<._anon_141>(._anon_141).part.0"),
            ("_Zli4_lity", "operator\"\" _lit(unsigned long long)"),
            ("_ZN2usli3_kmEe", "us::operator\"\" _km(long double)"),
            ("_Z5fautoILm5EElv", "long fauto<5ul>()"),
            ("_Z5fautoILln7EElv", "long fauto<-7l>()"),
            ("_Z5fautoILc99EElv", "long fauto<(char)99>()"),
            (
                "_Z4fidxIJLm0ELm1EERSt5tupleIJilEEElOT0_St16integer_sequenceImJXspT_EEE",
                "long fidx<0ul, 1ul, std::tuple<int, long>&>\
                 (std::tuple<int, long>&, std::integer_sequence<unsigned long, 0ul, 1ul>)",
            ),
            ("_Z1fIJLj1EEJEJEEvSt5tupleIJXspT_EEES0_IJXspT0_EEE", "void f<1u>(std::tuple<1u>, std::tuple<>)"),
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
    fn a_short_name_that_stands_for_a_long_one_is_shortened() {
        // Each substitution doubles the text.
        let twice = |at| format!("S{}_S{}_E1aI", to_36(at), to_36(at));
        let doubling = (0..24).map(twice).collect::<Vec<_>>().concat();
        let long = format!("_Z1fI1aI{doubling}");
        assert!(demangle(long.as_bytes()).len() <= NAME_BYTES_MAX);
        let deep = format!("_Z1f{}i", "P".repeat(100_000));
        assert!(demangle(deep.as_bytes()).len() <= NAME_BYTES_MAX);
    }

    #[test]
    fn long_names_that_differ_at_their_end_or_in_their_middle_stay_different() {
        let name = |size: usize, middle: &str, method: &str| {
            let arguments = format!("{}{middle}{}", "3Map".repeat(size), "3Map".repeat(size));
            demangle(format!("_ZN1LI{arguments}E{}{method}Ei", method.len()).as_bytes())
        };
        let long = |middle, method| name(1200, middle, method);
        let names = [long("i", "alpha"), long("i", "beta"), long("c", "beta"), long("c", "beta")];
        for (name, end) in names.iter().zip(["alpha", "beta", "beta", "beta"]) {
            assert!(name.starts_with("L<Map, Map, "), "{name}");
            assert!(name.ends_with(&format!("Map, Map>::{end}(int)")), "{name}");
            assert!(name.contains('\u{2026}') && name.len() <= NAME_BYTES_MAX, "{name}");
        }
        assert!(names[0] != names[1] && names[1] != names[2] && names[2] == names[3]);
        let short = name(100, "i", "alpha");
        assert!(short.len() > 1000 && !short.contains('\u{2026}'), "{short}");
        let mangled = |end: &str| demangle(format!("_Z{}{end}", "a".repeat(70_000)).as_bytes());
        assert_ne!(mangled("x"), mangled("y"));
        assert!(mangled("x").len() <= NAME_BYTES_MAX);
    }

    fn to_36(number: u32) -> char {
        char::from_digit(number, 36).unwrap().to_ascii_uppercase()
    }

    proptest! {
        #[test]
        fn any_bytes_are_demangled_within_the_limit_of_a_name(start in "(_Z|_R|__Z|)", rest in proptest::collection::vec(any::<u8>(), 0..200)) {
            let name = [start.as_bytes(), &rest].concat();
            prop_assert!(demangle(&name).len() <= NAME_BYTES_MAX);
        }

        #[test]
        fn any_mangled_letters_are_demangled_within_the_limit_of_a_name(name in "_Z[NSTIEKLRPFi0-9a-zA-Z_]{0,80}") {
            prop_assert!(demangle(name.as_bytes()).len() <= NAME_BYTES_MAX);
        }
    }
}
