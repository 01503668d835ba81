//! Names of C++ that debug information does not have as a whole, and mangled names of the standard library.

use std::collections::BTreeSet;
use std::process::Command;

use regex::Regex;

use super::{Chain, Locator, addresses, compile, llvm_symbolizer, locator_of, named, run};
use crate::base::demangle::demangle;

/// Functions of one file: overloads, anonymous namespaces, lambdas and local classes.
const PROGRAM: &str = r#"
#include <cstdio>
#include <cstdlib>
#define COMPILED __attribute__((noinline))
#define INLINED __attribute__((always_inline))
struct A {}; struct B {};
static COMPILED double work(A, int n) { volatile double s = 0; for (int i = 0; i < n; i++) s += i; return s; }
static COMPILED double work(B, int n) { volatile double s = 0; for (int i = 0; i < n; i++) s -= i; return s; }
namespace aa {
namespace {
COMPILED double work(int n) { volatile double s = 0; for (int i = 0; i < n; i++) s += i; return s; }
inline INLINED double part(int n) { volatile double s = n; return s * 2; }
union Both { static inline INLINED double half(int n) { volatile double s = n; return s / 2; } };
}
struct Shop {
    template <class F> static inline INLINED double each(F f) { double s = 0; for (int i = 0; i < 9; i++) s += f(i); return s; }
    double late(int n);
};
inline INLINED double Shop::late(int n) { volatile double s = n; return s + 7; }
COMPILED double run(int n) {
    return work(n) + part(n) + Both::half(n) + Shop().late(n) + Shop::each([&](int x) { volatile double y = x; return y * n; });
}
}
namespace bb {
static COMPILED double work(int n) { volatile double s = 0; for (int i = 0; i < n; i++) s += i * 3; return s; }
template <class F> static COMPILED double apply(F f, int n) { double s = 0; for (int i = 0; i < n; i++) s += f(i); return s; }
COMPILED double one(int n) { return apply([](int i) INLINED { volatile double x = i; return x + 1; }, n); }
COMPILED double two(int n) { return apply([](int i) COMPILED { volatile double x = i; return x + 2; }, n) + work(n); }
}
static INLINED inline double nested(int n) {
    auto inner = [](int i) INLINED { volatile double x = i; return x * 2; };
    return inner(n);
}
static COMPILED double outer(int n) {
    struct { INLINED double without_a_name(int n) { volatile double s = n; if (n == 77) std::abort(); return s + 1; } } local;
    return nested(n) + local.without_a_name(n);
}
extern "C" COMPILED int in_c(int n) { volatile int s = n; return s + 1; }
int main(int count, char **) {
    double all = work(A(), count) + work(B(), count) + aa::run(count) + bb::one(count) + bb::two(count) + outer(count);
    std::printf("%f", all + in_c(count));
}
"#;

fn is_own(name: &str) -> bool {
    ["main", "in_c"].contains(&name)
        || ["work", "run", "one", "two", "apply", "outer", "clE"].iter().any(|own| name.contains(own))
}

/// Asserts that compiled functions have the names of the tool, and inlined functions the same names, perhaps after
/// scopes. Returns all names.
fn assert_whole(ours: &[Chain], theirs: &[Chain]) -> BTreeSet<String> {
    let spelled = |name: &str| name.split(".constprop").next().unwrap().replace("'lambda'(int)", "{lambda(int)#1}");
    for (ours, theirs) in ours.iter().zip(theirs) {
        assert_eq!(ours.len(), theirs.len(), "{ours:?}\n{theirs:?}");
        let ((our_function, our_location), (function, location)) = (ours.last().unwrap(), theirs.last().unwrap());
        assert_eq!((our_function, our_location), (&spelled(function), location));
        for ((name, our_location), (function, location)) in ours.iter().zip(theirs) {
            let function = spelled(function);
            assert!(*name == function || name.ends_with(&format!("::{function}")), "{name}, {function}");
            assert_eq!(our_location, location);
        }
    }
    ours.iter().flatten().map(|(name, _)| name.clone()).collect()
}

#[test]
fn functions_of_one_file_have_whole_names() {
    let folder = tempfile::tempdir().unwrap();
    let ways: [(&str, &[&str]); 5] = [
        ("usual", &["g++", "-O2", "-g", "-Wl,--build-id"]),
        ("version_4", &["g++", "-O2", "-gdwarf-4", "-Wl,--build-id"]),
        ("types", &["g++", "-O2", "-g", "-fdebug-types-section", "-Wl,--build-id"]),
        ("linked", &["g++", "-O2", "-g", "-flto", "-Wl,--build-id"]),
        ("split", &["g++", "-O2", "-g", "-gsplit-dwarf", "-Wl,--build-id"]),
    ];
    for (way, command) in ways {
        let path = compile(folder.path(), way, PROGRAM, command);
        let addresses = addresses(&path, is_own);
        let (ours, _) = named(&path, &addresses, &locator_of(folder.path()));
        let names = assert_whole(&ours, &llvm_symbolizer(&path, &addresses));
        let expected = [
            "work(A, int)",
            "work(B, int)",
            "aa::(anonymous namespace)::work(int)",
            "aa::(anonymous namespace)::part",
            "aa::(anonymous namespace)::Both::half",
            "aa::Shop::late(int)",
            "aa::Shop::each<aa::run(int)::<lambda(int)> >",
            "aa::run(int)::(anonymous struct)::operator()",
            "bb::work(int)",
            "bb::one(int)::(anonymous struct)::operator()",
            "bb::two(int)::{lambda(int)#1}::operator()(int) const",
            "nested",
            "nested::(anonymous struct)::operator()",
            "outer(int)",
            "outer::(anonymous struct)::without_a_name",
            "in_c",
            "main",
        ];
        // Classes of type units are at another place than their functions.
        let missing: Vec<_> = expected.iter().filter(|&&name| !names.contains(name)).collect();
        assert!(missing.is_empty() || way == "types", "{way}: {missing:?} of {names:#?}");
    }
}

/// Functions that are both compiled and inlined, for which GCC writes no linkage names.
const INLINED_AND_COMPILED: &str = r"
namespace {
struct V { double x, y; double operator()(int n) const; };
inline __attribute__((always_inline)) double norm(const V &v) { volatile double s = v.x; return s + v.y; }
inline __attribute__((always_inline)) double norm(double x) { volatile double s = x; return s * 2; }
template <class T> inline __attribute__((always_inline)) double twice(T t) { volatile double s = t; return s * 3; }
inline __attribute__((always_inline)) double V::operator()(int n) const { volatile double s = n; return s + x; }
}
static inline __attribute__((always_inline)) double only_inlined(double x) { volatile double s = x; return s * 5; }
double (*volatile norm_of_v)(const V &) = norm;
double (*volatile norm_of_x)(double) = norm;
double (*volatile twice_of_x)(double) = twice<double>;
double (V::*volatile call)(int) const = &V::operator();
__attribute__((noinline)) double inlines(V *v, int n) {
    return norm(v[n]) + norm(v[n].x) + twice(v[n].y) + v[n](n) + only_inlined(v[n].x);
}
int main(int count, char **) {
    V v[4] = {{1, 2}, {3, 4}, {5, 6}, {7, 8}};
    return inlines(v, count) + norm_of_v(v[1]) + norm_of_x(3) + twice_of_x(4) + (v[2].*call)(count);
}
";

#[test]
fn inlined_copies_of_a_function_of_one_file_have_the_name_of_its_compiled_copy() {
    let folder = tempfile::tempdir().unwrap();
    let ways: [(&str, &[&str]); 4] = [
        ("usual", &["g++", "-O2", "-g", "-Wl,--build-id"]),
        ("version_4", &["g++", "-O2", "-gdwarf-4", "-Wl,--build-id"]),
        ("linked", &["g++", "-O2", "-g", "-flto", "-Wl,--build-id"]),
        ("split", &["g++", "-O2", "-g", "-gsplit-dwarf", "-Wl,--build-id"]),
    ];
    for (way, command) in ways {
        let path = compile(folder.path(), way, INLINED_AND_COMPILED, command);
        let names = |of: &[&str], is_inlined: bool| {
            let addresses = addresses(&path, |name| of.iter().any(|part| name.contains(part)));
            let (ours, _) = named(&path, &addresses, &locator_of(folder.path()));
            let frames = ours.iter().flat_map(|chain| {
                let (inlined, compiled) = chain.split_at(chain.len() - 1);
                if is_inlined { inlined } else { compiled }
            });
            frames.map(|(name, _)| name.clone()).collect::<BTreeSet<_>>()
        };
        let mut compiled = names(&["norm", "twice", "1Vcl"], false);
        assert_eq!(compiled.len(), 4, "{way}: {compiled:?}");
        assert!(
            compiled.contains("(anonymous namespace)::norm((anonymous namespace)::V const&)"),
            "{way}: {compiled:?}"
        );
        compiled.insert("only_inlined".to_owned());
        assert_eq!(names(&["7inlines"], true), compiled, "{way}");
    }
}

#[test]
fn functions_without_symbols_have_their_scopes() {
    let folder = tempfile::tempdir().unwrap();
    let path = compile(folder.path(), "work", PROGRAM, &["g++", "-O2", "-g", "-Wl,--build-id"]);
    let addresses = addresses(&path, is_own);
    run(Command::new("objcopy").arg("--strip-symbols=/dev/stdin").arg(&path).stdin(symbols(&path)));
    let (ours, _) = named(&path, &addresses, &Locator::without_system([], &[folder.path().into()]));
    let names: BTreeSet<&str> = ours.iter().filter_map(|chain| Some(&*chain.last()?.0)).collect();
    for name in ["work", "aa::(anonymous namespace)::work", "bb::work", "aa::run(int)", "outer", "in_c", "main"] {
        assert!(names.contains(name), "{name}: {names:#?}");
    }
}

/// Returns the names of all symbols, one per line.
fn symbols(path: &std::path::Path) -> std::fs::File {
    let text = String::from_utf8(run(Command::new("nm").args(["-j", "--defined-only"]).arg(path))).unwrap();
    let list = path.with_extension("list");
    std::fs::write(&list, text).unwrap();
    std::fs::File::open(list).unwrap()
}

const LIBRARY_PROGRAM: &str = r#"
#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <tuple>
#include <vector>
struct Item { std::string name; int count; Item(std::string n, int c) : name(n), count(c) {} };
template <class... T> int sum(const T &...all) { return (0 + ... + int(sizeof(all))); }
template <class... T> int moved(int first, T &&...all) { return first + sum(all...); }
int main(int count, char **) {
    std::vector<int> numbers(count);
    std::sort(numbers.begin(), numbers.end());
    std::vector<Item> items;
    items.emplace_back("a", 1);
    std::map<std::string, std::unique_ptr<Item>> map;
    map.emplace("b", std::make_unique<Item>("c", 2));
    std::deque<std::pair<int, std::string>> queue;
    queue.emplace_back(3, "d");
    std::swap(items[0], items[0]);
    std::string text = "e";
    std::thread([&](int x) { text += std::to_string(x); }, 4).join();
    std::function<int(int)> add = [count](int x) { return x + count; };
    auto all = std::make_tuple(1, 2.0, std::string("f"));
    return (text == items[0].name) + add(5) + sum(text, items[0], 'x') + moved(6) + moved(7, text, 8.0f) + std::get<0>(all);
}
"#;

#[test]
fn names_of_the_standard_library_are_those_of_another_demangler() {
    let folder = tempfile::tempdir().unwrap();
    let path = compile(folder.path(), "library", LIBRARY_PROGRAM, &["g++", "-std=c++17", "-O0", "-pthread"]);
    let list = String::from_utf8(run(Command::new("nm").args(["-j", "--defined-only"]).arg(&path))).unwrap();
    let names: Vec<&str> = list.lines().filter(|name| name.starts_with("_Z") && !name.starts_with("_ZT")).collect();
    let theirs = String::from_utf8(run(Command::new("c++filt").args(&names))).unwrap();
    // Our demangler writes types of numbers, omits `&&` in packs, and encloses members of types.
    let number = Regex::new(r"\((?:unsigned )?(?:int|long|long long)\)(-?\d+)").unwrap();
    let suffix = Regex::new(r"\b(\d+)u?l{0,2}\b").unwrap();
    let same_words = |name: &str| {
        let name = number.replace_all(name, "$1");
        suffix.replace_all(&name, "$1").replace("&&", "").replace(['(', ')', ' '], "")
    };
    let (mut differ, mut rewritten) = (Vec::new(), 0);
    for (name, theirs) in names.iter().zip(theirs.lines()) {
        let ours = demangle(name.as_bytes());
        // Packs of numbers, packs within other types, return types that are arrays, and names within functions are
        // left.
        let is_left = ["JX", "IJDp", "Index_tuple", "RA2_", "_ZZ"].iter().any(|part| name.contains(part));
        if ours == *name || same_words(&ours) != same_words(theirs) && !is_left {
            differ.push(format!("{name}\n  {ours}\n  {theirs}"));
        }
        rewritten += usize::from(name.contains("srSt") || name.contains("DpO") || name.contains("DpRK"));
    }
    assert!(differ.is_empty(), "{} of {}:\n{}", differ.len(), names.len(), differ.join("\n"));
    assert!(names.len() > 500 && rewritten > 40, "{} {rewritten}", names.len());
}
