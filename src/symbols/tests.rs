//! Resolves programs that are compiled here, and compares the names with other tools; and damaged files.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::cache::NameCache;
use super::elf::ElfFile;
use super::file::InputFile;
use super::locate::Locator;
use super::module_names::ModuleNames;
use super::resolve::resolve;
use super::state::NameState;
use crate::base::cancel::Cancel;
use crate::base::demangle::demangle;
use crate::model::modules::{KernelAnchor, ModuleBuilds};
use crate::model::{BuildId, Module, ModuleKind};

mod costs;
mod cpp;
mod damage;
mod dropped;
mod go;
mod located;
mod plt;
mod separate;
mod split;

const BYTES_MAX: u64 = 1 << 30;

const C_PROGRAM: &str = r"
#include <stdlib.h>
static inline __attribute__((always_inline)) long inner(long x) {
    long sum = 0;
    for (long i = 0; i < x % 100; i++)
        sum += i * x ^ sum;
    return sum;
}
static inline __attribute__((always_inline)) long twice(long x) {
    return inner(x) + inner(x + 1);
}
__attribute__((noinline)) long outer(long x) {
    return twice(x) + inner(x & 7);
}
static int compare(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
int main(int argc, char **argv) {
    int numbers[16];
    for (int i = 0; i < 16; i++) numbers[i] = (int)outer(argc + i);
    qsort(numbers, 16, sizeof *numbers, compare);
    return numbers[3] & 1;
}
";

const CPP_PROGRAM: &str = r#"
#include <algorithm>
#include <map>
#include <string>
#include <vector>
namespace shop {
template <typename T> struct Basket {
    std::vector<T> things;
    void add(const T &thing) { things.push_back(thing); }
    __attribute__((noinline)) T heaviest() const { return *std::max_element(things.begin(), things.end()); }
};
struct Item {
    virtual ~Item() {}
    virtual int price(int, const std::string &) const { return 3; }
};
}
__attribute__((noinline)) int count(std::map<std::string, int> &map, int n) {
    for (int i = 0; i < n; i++) map[std::to_string(i)] += [&](int x) { return x * n; }(i);
    return (int)map.size();
}
int main(int argc, char **) {
    shop::Basket<int> basket;
    for (int i = 0; i < argc + 9; i++) basket.add(i * 7 % 5);
    std::map<std::string, int> map;
    return basket.heaviest() + count(map, argc + 20) + shop::Item().price(argc, "x");
}
"#;

const RUST_PROGRAM: &str = r#"
use std::collections::BTreeMap;
trait Shape { fn area(&self) -> f64; }
struct Circle(f64);
impl Shape for Circle {
    #[inline(never)]
    fn area(&self) -> f64 { std::f64::consts::PI * self.0 * self.0 }
}
#[inline(never)]
fn words<'a>(text: &'a str, counts: &mut BTreeMap<&'a str, usize>) -> usize {
    text.split_whitespace().map(|word| word.trim()).for_each(|word| *counts.entry(word).or_default() += 1);
    counts.values().copied().max().unwrap_or(0)
}
fn main() {
    let mut counts = BTreeMap::new();
    let text = std::env::args().collect::<Vec<_>>().join(" ");
    let most = words(&text, &mut counts);
    let shapes: Vec<Box<dyn Shape>> = (0..most + 3).map(|n| Box::new(Circle(n as f64)) as Box<dyn Shape>).collect();
    println!("{}", shapes.iter().map(|shape| shape.area()).sum::<f64>());
}
"#;

/// Function, file and line as the tool writes them, innermost first.
type Chain = Vec<(String, String)>;

/// Compiles a program with a compiler and its arguments.
pub(super) fn compile(folder: &Path, name: &str, source: &str, command: &[&str]) -> PathBuf {
    let extension = match command[0] {
        "gcc" => "c",
        "g++" => "cpp",
        _ => "rs",
    };
    let (input, output) = (folder.join(format!("{name}.{extension}")), folder.join(name));
    std::fs::write(&input, source).unwrap();
    run(Command::new(command[0]).args(&command[1..]).arg(&input).arg("-o").arg(&output).current_dir(folder));
    output
}

fn run(command: &mut Command) -> Vec<u8> {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}; .ci/setup installs it"));
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

/// Returns the load segments as printed by readelf: offset, address and size.
fn segments(path: &Path) -> Vec<(u64, u64, u64)> {
    let text = String::from_utf8(run(Command::new("readelf").arg("-lW").arg(path))).unwrap();
    let number = |text: &str| u64::from_str_radix(text.trim_start_matches("0x"), 16).unwrap();
    let rows = text.lines().filter_map(|line| line.trim().strip_prefix("LOAD"));
    rows.map(|row| {
        let columns: Vec<&str> = row.split_whitespace().collect();
        (number(columns[0]), number(columns[1]), number(columns[3]))
    })
    .collect()
}

/// Returns every byte address of the wanted functions, as printed by nm.
fn addresses(path: &Path, is_wanted: impl Fn(&str) -> bool) -> Vec<u64> {
    let text = String::from_utf8(run(Command::new("nm").args(["-S", "--defined-only"]).arg(path))).unwrap();
    let mut all = Vec::new();
    for line in text.lines() {
        let columns: Vec<&str> = line.split_whitespace().collect();
        if let [start, bytes, kind, name] = columns[..]
            && matches!(kind, "T" | "t" | "W" | "w")
            && is_wanted(name)
        {
            let number = |text| u64::from_str_radix(text, 16).unwrap();
            all.extend(number(start)..number(start) + number(bytes));
        }
    }
    all.sort_unstable();
    all.dedup();
    all
}

/// Returns the answers of a tool to addresses on its standard input.
fn asked(tool: &mut Command, addresses: &[u64]) -> Vec<Chain> {
    let mut child = tool.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("a tool that .ci/setup installs");
    let mut input = child.stdin.take().unwrap();
    let text = addresses.iter().map(|address| format!("{address:#x}")).collect::<Vec<_>>().join("\n") + "\n";
    let writer = std::thread::spawn(move || input.write_all(text.as_bytes()));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    let mut chains: Vec<Chain> = Vec::new();
    let text = String::from_utf8_lossy(&output.stdout);
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if line.starts_with("0x") {
            chains.push(Vec::new());
        } else {
            let location = lines.next().unwrap().split(" (discriminator").next().unwrap();
            // An unknown line is 0 in one tool and a question mark in the other.
            let location = location.strip_suffix(":?").map_or(location.to_owned(), |file| format!("{file}:0"));
            // One tool adds the part that the compiler moved away: `(.cold)`.
            let function = line.split(" (.").next().unwrap().to_owned();
            chains.last_mut().unwrap().push((function, location));
        }
    }
    chains
}

fn addr2line(path: &Path, addresses: &[u64]) -> Vec<Chain> {
    asked(Command::new("addr2line").args(["-a", "-i", "-f", "-C", "-e"]).arg(path), addresses)
}

fn llvm_symbolizer(path: &Path, addresses: &[u64]) -> Vec<Chain> {
    let arguments = ["-a", "-i", "-f", "-C", "--output-style=GNU", "-e"];
    asked(Command::new("llvm-symbolizer").args(arguments).arg(path), addresses)
}

fn build_id(path: &Path) -> Option<BuildId> {
    let bytes = std::fs::read(path).unwrap();
    ElfFile::read(InputFile::from_bytes(path.into(), bytes)).unwrap().build_id()
}

fn module(path: &Path) -> Module {
    Module { path: path.to_str().unwrap().into(), build_id: build_id(path), ..Module::default() }
}

fn named_with(module: &Module, offsets: &[u64], locator: &Locator) -> ModuleNames {
    resolve(module, offsets, locator, BYTES_MAX, &Cancel::default()).unwrap()
}

fn locator_of(folder: &Path) -> Locator {
    Locator::without_system([], &[folder.to_path_buf()])
}

/// Returns our answers, in the format of the tools.
fn named(path: &Path, addresses: &[u64], locator: &Locator) -> (Vec<Chain>, ModuleNames) {
    let segments = segments(path);
    let offset = |address: u64| {
        let segment = segments.iter().find(|(_, start, bytes)| (*start..start + bytes).contains(&address));
        let &(offset, start, _) = segment.unwrap();
        address - start + offset
    };
    let offsets: Vec<u64> = addresses.iter().map(|&address| offset(address)).collect();
    let module = named_with(&module(path), &offsets, locator);
    let chains = offsets.iter().map(|&offset| {
        let functions = module.names.get(offset).expect("an address that was looked up");
        let location =
            |file: &str, line: u32| if file.is_empty() { "??:0".to_owned() } else { format!("{file}:{line}") };
        functions.map(|it| (it.name.to_owned(), location(it.file, it.line))).collect()
    });
    (chains.collect(), module)
}

/// Compares all addresses, and returns their number.
fn assert_same(ours: &[Chain], theirs: &[Chain], addresses: &[u64]) -> usize {
    assert_eq!(ours.len(), theirs.len());
    let differ = ours.iter().zip(theirs).zip(addresses).filter(|((ours, theirs), _)| ours != theirs);
    // Collects each pair of different functions once.
    let mut pairs = std::collections::BTreeMap::new();
    for ((ours, theirs), at) in differ {
        let pair = ours.iter().zip(theirs).find(|(ours, theirs)| ours != theirs);
        let text =
            pair.map_or(format!("{ours:?}\n  not {theirs:?}"), |(ours, theirs)| format!("{ours:?}\n  not {theirs:?}"));
        pairs.entry(text).or_insert(at);
    }
    let texts: Vec<_> = pairs.iter().take(12).map(|(text, at)| format!("{at:#x}: {text}")).collect();
    assert!(pairs.is_empty(), "{} of {}:\n{}", pairs.len(), ours.len(), texts.join("\n"));
    ours.len()
}

#[test]
fn functions_of_c_are_those_of_addr2line_and_llvm_symbolizer() {
    let folder = tempfile::tempdir().unwrap();
    let ways: [(&str, &[&str]); 6] = [
        ("pie", &["gcc", "-O2", "-g", "-Wl,--build-id"]),
        ("no_pie", &["gcc", "-O2", "-g", "-no-pie", "-Wl,--build-id"]),
        ("version_4", &["gcc", "-O2", "-gdwarf-4", "-Wl,--build-id"]),
        ("zlib", &["gcc", "-O2", "-g", "-gz=zlib", "-Wl,--build-id"]),
        ("not_optimised", &["gcc", "-O0", "-g", "-Wl,--build-id"]),
        ("library", &["gcc", "-O2", "-g", "-shared", "-fPIC", "-Wl,--build-id"]),
    ];
    for (name, command) in ways {
        let path = compile(folder.path(), name, C_PROGRAM, command);
        let addresses = addresses(&path, |name| ["main", "outer", "compare"].contains(&name));
        let (ours, module) = named(&path, &addresses, &locator_of(folder.path()));
        assert_eq!((&module.state, module.is_verified), (&NameState::Complete, true), "{name}");
        assert_same(&ours, &addr2line(&path, &addresses), &addresses);
        let count = assert_same(&ours, &llvm_symbolizer(&path, &addresses), &addresses);
        assert!(count > 100, "{name}: {count}");
        let deepest = ours.iter().map(Vec::len).max().unwrap();
        assert_eq!(deepest, 3, "{name}");
    }
}

#[test]
fn functions_of_cpp_are_those_of_llvm_symbolizer() {
    let folder = tempfile::tempdir().unwrap();
    let path = compile(folder.path(), "cpp", CPP_PROGRAM, &["g++", "-O2", "-g", "-Wl,--build-id"]);
    let addresses = addresses(&path, |name| name == "main" || name.starts_with("_Z"));
    let (ours, _) = named(&path, &addresses, &locator_of(folder.path()));
    // Our demangler omits `&&` in parameter packs, adds a blank after `operator<`, and writes packs of numbers
    // (arguments of `_Index_tuple` here) with their types. The tool does not demangle one name.
    let same_words = |chains: &[Chain]| -> Vec<Chain> {
        let word = |text: &str| {
            if text.contains("std::_Index_tuple<") {
                return "a pack of numbers".to_owned();
            }
            if text.starts_with("_ZSt14__relocate_a_1") {
                return demangle(text.as_bytes());
            }
            text.replace("&&", "").replace("operator< <", "operator<<")
        };
        let chain = |chain: &Chain| chain.iter().map(|(name, location)| (word(name), location.clone())).collect();
        chains.iter().map(chain).collect()
    };
    let theirs = same_words(&llvm_symbolizer(&path, &addresses));
    let count = assert_same(&same_words(&ours), &theirs, &addresses);
    assert!(count > 1000, "{count}");
    let names: Vec<&str> = ours.iter().flatten().map(|(name, _)| name.as_str()).collect();
    assert!(names.contains(&"shop::Basket<int>::heaviest() const"));
}

#[test]
fn functions_of_rust_are_those_of_other_tools() {
    let folder = tempfile::tempdir().unwrap();
    let ways: [(&str, &[&str]); 2] = [("usual", &[]), ("v0", &["-Csymbol-mangling-version=v0"])];
    for (name, mangling) in ways {
        let command = [&["rustc", "-O", "-g", "-Clink-arg=-Wl,--build-id"], mangling].concat();
        let path = compile(folder.path(), name, RUST_PROGRAM, &command);
        let addresses = addresses(&path, |name| name.contains("words") || name.contains("area"));
        let (ours, module) = named(&path, &addresses, &locator_of(folder.path()));
        assert_eq!(module.state, NameState::Complete);
        // Each tool supports one of the two name manglings; it shows the other as C++, or unchanged.
        let theirs = if name == "v0" { llvm_symbolizer } else { addr2line };
        let count = assert_same(&ours, &theirs(&path, &addresses), &addresses);
        assert!(count > 100, "{count}");
    }
}

/// Returns the name of the outermost function at each address.
fn outermost(chains: &[Chain]) -> Vec<&str> {
    chains.iter().map(|chain| chain.last().map_or("", |(name, _)| name)).collect()
}

#[test]
fn a_stripped_program_has_the_names_of_its_debug_file() {
    // The second one is linked at a fixed address.
    ["-pie", "-no-pie"].into_iter().for_each(check_stripped);
}

fn check_stripped(kind: &str) {
    let folder = tempfile::tempdir().unwrap();
    let whole = compile(folder.path(), "whole", C_PROGRAM, &["gcc", "-O2", "-g", kind, "-Wl,--build-id"]);
    let (work, debug) = (folder.path().join("work"), tempfile::tempdir().unwrap());
    let digits = build_id(&whole).unwrap().to_string();
    let kept = debug.path().join(".build-id").join(&digits[..2]);
    std::fs::create_dir_all(&kept).unwrap();
    let debug_file = kept.join(format!("{}.debug", &digits[2..]));
    run(Command::new("objcopy").arg("--only-keep-debug").args([&whole, &debug_file]));
    run(Command::new("strip").arg("-o").args([&work, &whole]));
    let addresses = addresses(&whole, |name| ["main", "outer", "compare"].contains(&name));
    let theirs = addr2line(&whole, &addresses);
    std::fs::remove_file(&whole).unwrap();

    let recorded = module(&work);
    let (ours, module) = named(&work, &addresses, &locator_of(folder.path()));
    assert_eq!(module.state, NameState::Stripped);
    assert!(ours.iter().all(Vec::is_empty));

    let both = Locator::without_system([], &[folder.path().into(), debug.path().into()]);
    let (ours, module) = named(&work, &addresses, &both);
    assert_eq!((module.state, module.is_verified), (NameState::Complete, true));
    assert_same(&ours, &theirs, &addresses);
    // With the debug file only: the linker of this machine leaves distances of code as in the file.
    let (ours, names) = named(&work, &addresses, &locator_of(debug.path()));
    assert_same(&ours, &theirs, &addresses);
    assert_eq!(names.state, NameState::Complete);
    // No function is at these offsets.
    let names = named_with(&recorded, &[1, 0x00ff_0000], &both);
    assert_eq!((names.names.named(), names.state), (0, NameState::NoFunction));
}

#[test]
fn a_program_without_debug_information_has_its_functions() {
    let folder = tempfile::tempdir().unwrap();
    let path = compile(folder.path(), "plain", C_PROGRAM, &["gcc", "-O2", "-Wl,--build-id"]);
    let addresses = addresses(&path, |name| ["main", "outer", "compare"].contains(&name));
    let (ours, module) = named(&path, &addresses, &locator_of(folder.path()));
    assert_eq!(module.state, NameState::FunctionsOnly);
    assert_eq!(outermost(&ours), outermost(&addr2line(&path, &addresses)));
    // The first stub follows `_init`, which has no size, and does not belong to it.
    let main = self::addresses(&path, |name| name == "main")[0];
    let text = String::from_utf8(run(Command::new("readelf").arg("-SW").arg(&path))).unwrap();
    let plt = text.lines().find_map(|line| line.split_once(" .plt ")).unwrap().1;
    let plt = u64::from_str_radix(plt.split_whitespace().nth(1).unwrap(), 16).unwrap();
    let (ours, _) = named(&path, &[plt, main], &locator_of(folder.path()));
    assert_eq!(outermost(&ours), ["", "main"]);
}

#[test]
fn another_build_names_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = compile(folder.path(), "work", C_PROGRAM, &["gcc", "-O2", "-g", "-Wl,--build-id"]);
    let recorded = module(&path);
    let offsets = [0x1100, 0x1110];
    assert_eq!(named_with(&recorded, &offsets, &locator_of(folder.path())).state, NameState::Complete);
    let later = C_PROGRAM.replace("i * x", "i + x");
    compile(folder.path(), "work", &later, &["gcc", "-O2", "-g", "-Wl,--build-id"]);
    let module = named_with(&recorded, &offsets, &locator_of(folder.path()));
    assert_eq!((module.state, module.names.named()), (NameState::OtherBuild, 0));
    assert_eq!(module.path.as_deref(), Some(&*path.canonicalize().unwrap()));
    // A file without a build-id does not match a recorded one either.
    run(Command::new("objcopy").args(["--remove-section", ".note.gnu.build-id"]).arg(&path));
    assert_eq!(named_with(&recorded, &offsets, &locator_of(folder.path())).state, NameState::OtherBuild);
    std::fs::remove_file(&path).unwrap();
    assert_eq!(named_with(&recorded, &offsets, &locator_of(folder.path())).state, NameState::NoFile);
}

#[test]
fn a_file_without_a_build_id_is_taken_where_it_fits_and_is_not_verified() {
    let folder = tempfile::tempdir().unwrap();
    let path = compile(folder.path(), "work", C_PROGRAM, &["gcc", "-O2", "-g", "-Wl,--build-id=none"]);
    let trace = folder.path().join("perf.data");
    std::fs::write(&trace, b"").unwrap();
    let beside = || Locator::without_system([&*trace], &[]);
    let recorded = module(&path);
    assert_eq!(recorded.build_id, None);
    let found = named_with(&recorded, &[0x1100], &beside());
    assert_eq!((found.state, found.is_verified), (NameState::Complete, false));
    let other_inode = Module { inode: Some(1), ..recorded.clone() };
    assert_eq!(named_with(&other_inode, &[0x1100], &beside()).state, NameState::OtherBuild);
    let late = std::time::SystemTime::now() + std::time::Duration::from_mins(1);
    std::fs::File::options().append(true).open(&path).unwrap().set_modified(late).unwrap();
    assert_eq!(named_with(&recorded, &[0x1100], &beside()).state, NameState::OtherBuild);
    // A folder given by the user is accepted.
    assert_eq!(named_with(&recorded, &[0x1100], &locator_of(folder.path())).state, NameState::Complete);
}

#[test]
fn names_of_a_build_that_is_probably_the_recorded_one_are_not_verified() {
    let folder = tempfile::tempdir().unwrap();
    let path = compile(folder.path(), "work", C_PROGRAM, &["gcc", "-O2", "-g", "-Wl,--build-id"]);
    let certain = module(&path);
    let probable = Module { inode: Some(1), ..certain.clone() };
    for (module, is_verified) in [(certain, true), (probable, false)] {
        let found = named_with(&module, &[0x1100], &locator_of(folder.path()));
        assert_eq!((found.state, found.is_verified), (NameState::Complete, is_verified));
    }
}

#[test]
fn code_that_a_program_made_has_the_names_that_it_listed() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("perf-7.map"), b"1000 20 LazyCompile:*work app.js:3\n").unwrap();
    let module = Module { path: "/tmp/perf-7.map".into(), kind: ModuleKind::Jit(7), ..Module::default() };
    let found = named_with(&module, &[0x1008, 0x1020], &locator_of(folder.path()));
    let at = |address| found.names.get(address).unwrap().map(|it| it.name.to_owned()).collect::<Vec<_>>();
    assert_eq!((at(0x1008), at(0x1020)), (vec!["LazyCompile:*work app.js:3".to_owned()], vec![]));
    assert_eq!((found.state, found.is_verified), (NameState::Complete, false));
}

#[test]
fn a_kernel_whose_address_is_unknown_is_not_said_to_lack_a_file() {
    let folder = tempfile::tempdir().unwrap();
    for kind in [ModuleKind::Kernel, ModuleKind::KernelModule] {
        let module = Module { path: "[kernel.kallsyms]".into(), kind, ..Module::default() };
        assert_eq!(named_with(&module, &[0x1000], &locator_of(folder.path())).state, NameState::NoKernelAddress);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn functions_that_node_dumped_have_the_names_of_its_list() {
    let folder = tempfile::tempdir().unwrap();
    let program = "function work(n) { let x = 0; for (let i = 0; i < n; i++) x += Math.sqrt(i) * (i % 7); return x; }
        let sum = 0; for (let i = 0; i < 3000; i++) sum += work(1000); console.log(process.pid)";
    let arguments = ["--perf-prof", "--perf-basic-prof", "-e", program];
    let pid = run(Command::new("node").args(arguments).current_dir(folder.path()));
    let pid: u32 = String::from_utf8(pid).unwrap().trim().parse().unwrap();
    // The oracle is the list, which is in a folder shared by all users. Code replaced other code.
    let list = PathBuf::from(format!("/tmp/perf-{pid}.map"));
    let text = std::fs::read_to_string(&list).unwrap();
    std::fs::remove_file(list).unwrap();
    let row = |line: &'_ str| {
        let (start, rest) = line.split_once(' ').unwrap();
        let (bytes, name) = rest.split_once(' ').unwrap();
        let number = |text: &str| u64::from_str_radix(text.trim_start_matches("0x"), 16).unwrap();
        (number(start)..number(start) + number(bytes), name.to_owned())
    };
    // Interpreted functions have no code, and are only in the list.
    let rows: Vec<_> = text.lines().map(row).filter(|(_, name)| !name.contains(":~")).collect();
    let last = |address: u64| rows.iter().rfind(|(code, _)| code.contains(&address)).map(|(_, name)| (address, name));
    let names: std::collections::BTreeMap<_, _> = rows.iter().filter_map(|(code, _)| last(code.start)).collect();
    let addresses: Vec<u64> = names.keys().copied().collect();
    let module =
        Module { path: format!("/tmp/perf-{pid}.map").into(), kind: ModuleKind::Jit(pid), ..Module::default() };
    let found = named_with(&module, &addresses, &locator_of(folder.path()));
    assert_eq!(found.path, Some(folder.path().canonicalize().unwrap().join(format!("jit-{pid}.dump"))));
    let differ = names.iter().filter(|&(&address, &name)| {
        found.names.get(address).unwrap().next().is_none_or(|function| function.name != *name)
    });
    let differ: Vec<_> = differ.collect();
    assert!(differ.is_empty(), "{} of {}: {:?}", differ.len(), names.len(), &differ[..differ.len().min(9)]);
    assert!(names.len() > 500 && names.values().any(|name| name.contains("work")), "{}", names.len());
    // A dump of another process with this name is rejected.
    let other = Module { kind: ModuleKind::Jit(pid + 1), ..module };
    let dump = |pid: u32| folder.path().join(format!("jit-{pid}.dump"));
    std::fs::rename(dump(pid), dump(pid + 1)).unwrap();
    assert_eq!(named_with(&other, &addresses, &locator_of(folder.path())).names.named(), 0);
}

#[test]
fn a_kept_list_of_a_kernel_names_it_at_another_address() {
    let folder = tempfile::tempdir().unwrap();
    let id = BuildId::new(&[0xab; 20]).unwrap();
    let kept = folder.path().join(".build-id/ab").join("ab".repeat(19));
    std::fs::create_dir_all(&kept).unwrap();
    std::fs::write(kept.join("kallsyms"), b"ffffffff81000000 T _text\nffffffff81000100 T work\n").unwrap();
    let module = Module {
        path: "[kernel.kallsyms]".into(),
        build_id: Some(id),
        kind: ModuleKind::Kernel,
        anchor: Some(KernelAnchor { symbol: "_text".into(), address: 0xffff_ffff_9000_0000, release: None }),
        ..Module::default()
    };
    let found = named_with(&module, &[0xffff_ffff_9000_0108], &locator_of(folder.path()));
    let name = found.names.get(0xffff_ffff_9000_0108).unwrap().next().map(|it| it.name.to_owned());
    assert_eq!((name.as_deref(), found.is_verified), (Some("work"), true));
}

#[cfg(target_os = "linux")]
#[test]
fn a_kernel_without_a_build_id_is_the_running_one_only_at_its_release_and_address() {
    let folder = tempfile::tempdir().unwrap();
    let locator = Locator::for_traces([&*folder.path().join("perf.data")], &[]);
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
    let list = std::fs::read_to_string("/proc/kallsyms").unwrap();
    let mut functions = list.lines().filter_map(|line| {
        let (address, rest) = line.split_once(' ')?;
        Some((u64::from_str_radix(address, 16).ok()?, rest.strip_prefix("T ")?))
    });
    let (address, symbol) = functions.find(|(_, name)| *name == "_stext").expect("the start of the kernel");
    let named = |release: Option<&str>, at: u64| {
        let anchor = KernelAnchor { symbol: symbol.into(), address: at, release: release.map(Into::into) };
        let kernel = Module { path: "[kernel.kallsyms]".into(), kind: ModuleKind::Kernel, ..Module::default() };
        let found = named_with(&Module { anchor: Some(anchor), ..kernel }, &[at + 1], &locator);
        (found.names.named(), found.state, found.is_verified)
    };
    // Kernels may hide their addresses, which are 0 then.
    let recorded = if address == 0 { (0, NameState::Hidden, false) } else { (1, NameState::Complete, false) };
    let unknown = (0, NameState::NoBuildId, false);
    assert_eq!(named(Some(release.trim()), address), recorded);
    assert_eq!(named(None, address), unknown);
    assert_eq!(named(Some("1.2.3-other"), address), unknown);
    if address != 0 {
        assert_eq!(named(Some(release.trim()), address + 0x20_0000), unknown);
    }
}

#[test]
fn names_from_a_cache_are_those_of_a_plain_look_up_in_any_order() {
    let (folder, kept) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let path = compile(folder.path(), "work", C_PROGRAM, &["gcc", "-O2", "-g", "-Wl,--build-id"]);
    let recorded = module(&path);
    let plain = locator_of(folder.path());
    let cached = locator_of(folder.path()).with_cache(Some(NameCache::in_folder(kept.path())));
    let same = |locator: &Locator, offsets: &[u64], bytes_max: u64| {
        let theirs = named_with(&recorded, offsets, &plain);
        let ours = resolve(&recorded, offsets, locator, bytes_max, &Cancel::default()).unwrap();
        for &offset in offsets {
            let of = |names: &ModuleNames| {
                let functions = names.names.get(offset).map(|it| it.map(|it| format!("{it:?}")).collect::<Vec<_>>());
                functions.unwrap_or_default()
            };
            assert_eq!(of(&ours), of(&theirs), "{offset:#x}");
        }
        assert_eq!(ours.state, NameState::Complete);
    };
    let mut state = 7u64;
    let mut all = std::collections::BTreeSet::new();
    for _ in 0..8 {
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            0xf00 + (state >> 33) % 0x600
        };
        // Includes addresses without a name.
        let batch: std::collections::BTreeSet<u64> = (0..60).map(|_| next()).collect();
        all.extend(&batch);
        same(&cached, &batch.into_iter().collect::<Vec<_>>(), BYTES_MAX);
    }
    // Cached names need no debug information, which exceeds the limit here.
    let all: Vec<u64> = all.into_iter().collect();
    same(&cached, &all, 16);
    // Cached names do not need the program either.
    let gone = Locator::without_system([], &[kept.path().into()]).with_cache(Some(NameCache::in_folder(kept.path())));
    same(&gone, &all, 16);
    // An address that is not in the cache needs the program.
    let partly = named_with(&recorded, &[&all[..], &[0x5000]].concat(), &gone);
    assert_eq!((partly.state, named_with(&recorded, &all, &gone).state), (NameState::NoFile, NameState::Complete));
    // The same build without debug information has fewer names than the cache; uncached addresses get these names.
    let whole = std::fs::read(&path).unwrap();
    run(Command::new("strip").arg("-g").arg(&path));
    assert_eq!(named_with(&recorded, &all, &cached).state, NameState::Complete);
    let main = addresses(&path, |name| name == "main")[0];
    let found = named_with(&recorded, &[main, 0x5000], &cached);
    assert_eq!(found.names.get(main).unwrap().next().unwrap().name, "main");
    // Names of functions are kept too, if only dynamic symbols are left.
    let later = tempfile::tempdir().unwrap();
    let cached = locator_of(folder.path()).with_cache(Some(NameCache::in_folder(later.path())));
    let named = |state| {
        let found = named_with(&recorded, &all, &cached);
        assert_eq!(found.state, state);
        found.names.named()
    };
    let functions = named(NameState::FunctionsOnly);
    run(Command::new("strip").arg(&path));
    assert_eq!(named(NameState::FunctionsOnly), functions);
    assert!(functions > 0);
    // Better names replace the names of functions.
    std::fs::write(&path, &whole).unwrap();
    named(NameState::Complete);
    std::fs::write(&path, &whole[..whole.len() / 2]).unwrap();
    named(NameState::Complete);
    // A file that ends before its tables is not called stripped.
    assert_eq!(named_with(&recorded, &all, &locator_of(folder.path())).state, NameState::Unreadable);
}
