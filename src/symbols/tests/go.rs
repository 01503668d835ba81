//! Go programs without debug information and symbols, compared with `go tool addr2line` on the whole program.

use super::*;
use crate::symbols::code::listing::decoded_at;
use crate::symbols::elf::{RELOCATION_BYTES, RELOCATIONS};

const PROGRAM: &str = r#"
package main

import (
    "os"
    "sort"
    "strings"
)

type shape interface{ area(int) int }
type square struct{ side int }

func (s *square) area(n int) int { return s.side * s.side * n }

func small(x int) int { return x*x + 1 }

//go:noinline
func outer(x int) int {
    sum := 0
    for i := 0; i < x; i++ {
        sum += small(i) ^ 7
    }
    return sum
}

func generic[T any](all []T, f func(T) int) (sum int) {
    for _, one := range all {
        sum += f(one)
    }
    return
}

func main() {
    words := strings.Fields("the quick brown fox")
    sort.Slice(words, func(a, b int) bool { return len(words[a]) < len(words[b]) })
    var s shape = &square{len(os.Args)}
    done := make(chan int)
    go func() { done <- outer(len(words)) }()
    os.Exit((s.area(3) + <-done + generic(words, func(w string) int { return len(w) })) & 1)
}
"#;

/// Builds the program with some options.
fn build(folder: &Path, name: &str, options: &[&str]) -> PathBuf {
    let (source, output) = (folder.join("work.go"), folder.join(name));
    std::fs::write(&source, PROGRAM).unwrap();
    let cache = std::env::temp_dir().join("longspan-go-cache");
    let mut go = Command::new("go");
    go.env("GO111MODULE", "off").env("GOFLAGS", "").env("GOCACHE", cache).env("HOME", folder).current_dir(folder);
    let built = go.arg("build").args(options).arg("-o").arg(&output).arg("work.go").output().expect("go, of .ci/setup");
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    output
}

/// Returns function and position of each address by `go tool addr2line`; `?` if unknown.
fn by_go(program: &Path, addresses: &[u64]) -> Vec<(String, String)> {
    let mut go = Command::new("go");
    let tool = ["tool", "addr2line"];
    let mut child =
        go.args(tool).arg(program).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("go, of .ci/setup");
    let (mut input, asked) = (child.stdin.take().unwrap(), addresses.to_vec());
    let writer = std::thread::spawn(move || {
        for address in asked {
            writeln!(input, "{address:#x}").unwrap();
        }
    });
    let output = String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap();
    writer.join().unwrap();
    let lines: Vec<&str> = output.lines().collect();
    lines.chunks_exact(2).map(|pair| (pair[0].to_owned(), pair[1].to_owned())).collect()
}

/// Returns the first and the last address of the code.
fn code(program: &Path) -> (u64, u64) {
    let elf = ElfFile::read(InputFile::from_bytes(program.to_path_buf(), std::fs::read(program).unwrap())).unwrap();
    let row = (0..64).find(|&row| elf.section(row).is_some_and(|it| Some(it.address) == text_of(&elf))).unwrap();
    (text_of(&elf).unwrap(), elf.end_of(row as u16).unwrap())
}

fn text_of(elf: &ElfFile) -> Option<u64> {
    elf.named(".text").map(|section| section.address)
}

/// Returns functions by address, as listed by `nm`.
fn by_nm(program: &Path) -> Vec<(u64, String)> {
    let output = Command::new("nm").arg("-n").arg(program).output().expect("nm, of .ci/setup");
    let text = String::from_utf8(output.stdout).unwrap();
    let symbol = |line: &str| {
        let (address, rest) = line.split_once(' ')?;
        let (kind, name) = rest.split_once(' ')?;
        let is_function = matches!(kind, "t" | "T") && !matches!(name, "runtime.text" | "runtime.etext");
        // Assembly functions have their ABI after their name.
        let name = name.strip_suffix(".abi0").unwrap_or(name);
        is_function.then_some((u64::from_str_radix(address, 16).ok()?, name.to_owned()))
    };
    text.lines().filter_map(symbol).collect()
}

/// Linked by GCC, as programs with C are.
const EXTERNAL: &str = "-linkmode=external ";

/// Returns the complete program, its code addresses including some before and after, and their names from the stripped
/// program.
fn stripped(folder: &Path, options: &[&str], linking: &str) -> (PathBuf, Vec<u64>, ModuleNames) {
    let whole = build(folder, "whole", &[options, &[&format!("-ldflags={linking}")]].concat());
    let bare = build(folder, "bare", &[options, &[&format!("-ldflags={linking}-s -w")]].concat());
    let (start, end) = code(&bare);
    assert_eq!((start, end), code(&whole));
    let addresses: Vec<u64> = (start - 64..end + 64).step_by(11).collect();
    let found = names_of(folder, "bare", &addresses);
    assert_eq!((&found.state, found.is_verified), (&NameState::Complete, false));
    (whole, addresses, found)
}

fn names_of(folder: &Path, program: &str, addresses: &[u64]) -> ModuleNames {
    let module = Module { path: format!("/bin/{program}").into(), kind: ModuleKind::Linked, ..Module::default() };
    resolve(&module, addresses, &locator_of(folder), BYTES_MAX, &Cancel::default()).unwrap()
}

/// Returns the offset of the table in a program.
fn table_in(program: &[u8]) -> usize {
    let is_header = |window: &[u8]| {
        [0xf0, 0xf1].map(|first| [first, 255, 255, 255, 0, 0, 1, 8]).contains(window.first_chunk().unwrap())
    };
    program.windows(8).position(is_header).unwrap()
}

/// Clears the address of the first instruction in the table, which Go writes up to version 1.25.
fn clear_start(program: &Path) {
    let mut bytes = std::fs::read(program).unwrap();
    let table = table_in(&bytes);
    bytes[table + 24..table + 32].fill(0);
    std::fs::write(program, bytes).unwrap();
}

/// Clears the words that loading the program fills, as linkers for other processors do.
fn clear_relocated(program: &Path) {
    let mut bytes = std::fs::read(program).unwrap();
    let elf = ElfFile::read(InputFile::from_bytes(program.into(), bytes.clone())).unwrap();
    let segments = segments(program);
    for table in elf.sections_of(RELOCATIONS).filter_map(|table| elf.bytes_of(table, BYTES_MAX)) {
        for row in table.as_chunks::<RELOCATION_BYTES>().0.iter().filter(|row| row[8] == 8) {
            let slot = u64::from_le_bytes(*row.first_chunk().unwrap());
            let (offset, start, _) =
                segments.iter().find(|(_, start, bytes)| (*start..start + bytes).contains(&slot)).unwrap();
            bytes[(slot - start + offset) as usize..][..8].fill(0);
        }
    }
    std::fs::write(program, bytes).unwrap();
}

#[test]
fn functions_files_and_lines_of_stripped_programs_are_those_of_go() {
    let folder = tempfile::tempdir().unwrap();
    let (whole, addresses, found) = stripped(folder.path(), &[], "");
    let mut named = 0;
    for (&address, (function, location)) in addresses.iter().zip(by_go(&whole, &addresses)) {
        let own: Vec<_> = found.names.get(address).unwrap().collect();
        // Go's own tool has the line of the innermost function, and the name of the outermost one.
        match own[..] {
            [] => assert_eq!((&*function, &*location), ("?", "?:0"), "{address:#x}"),
            [name] if name.line == 0 => {
                // The padding after a function has no line.
                assert_eq!(name.name, function, "{address:#x}");
                assert!(location == "?:0" || location == ":-1", "{address:#x}: {location}");
            }
            [innermost, ..] => {
                assert_eq!(own.last().map(|outermost| outermost.name), Some(&*function), "{address:#x}");
                assert_eq!(format!("{}:{}", innermost.file, innermost.line), location, "{address:#x}");
                named += 1;
            }
        }
    }
    assert!(named > 30_000, "{named} of {}", addresses.len());
}

#[test]
fn inlined_functions_of_stripped_programs_are_those_of_the_debug_information() {
    let folder = tempfile::tempdir().unwrap();
    let (_, addresses, found) = stripped(folder.path(), &[], "");
    check_inlined(folder.path(), &addresses, &found);
    // From Go 1.26 on, the description of the module has a separate section.
    let rename = ["--rename-section", ".noptrdata=.go.module", "bare"];
    run(Command::new("objcopy").args(rename).current_dir(folder.path()));
    check_inlined(folder.path(), &addresses, &names_of(folder.path(), "bare", &addresses));
    // The constants of Go follow the constants of C.
    let (_, addresses, found) = stripped(folder.path(), &[], EXTERNAL);
    check_inlined(folder.path(), &addresses, &found);
}

/// Compares names from the tables of Go's own stack traces with names from the debug information.
fn check_inlined(folder: &Path, addresses: &[u64], found: &ModuleNames) {
    let whole = names_of(folder, "whole", addresses);
    let functions = |names: &ModuleNames, address| {
        let all = names.names.get(address).unwrap();
        all.map(|it| (it.name.to_owned(), it.file.to_owned(), it.line)).collect::<Vec<_>>()
    };
    let (mut same, mut different) = (0, Vec::new());
    for &address in addresses {
        let (own, expected) = (functions(found, address), functions(&whole, address));
        if own.len() < 2 && expected.len() < 2 {
            continue;
        }
        if own == expected { same += 1 } else { different.push((address, own, expected)) }
    }
    // The two differ at single instructions, where the compiler moved code.
    assert!(same > 5000 && different.len() * 50 < same, "{same}, {}: {:#x?}", different.len(), different.get(..8));
}

#[test]
fn functions_of_programs_that_run_anywhere_are_those_of_nm() {
    // Go's own tools have no names for them.
    let folder = tempfile::tempdir().unwrap();
    let (whole, addresses, found) = stripped(folder.path(), &["-buildmode=pie"], "");
    check_functions(&whole, &addresses, &found);
}

#[test]
fn functions_of_programs_that_gcc_links_are_those_of_nm() {
    let folder = tempfile::tempdir().unwrap();
    for mode in ["-buildmode=exe", "-buildmode=pie"] {
        let (whole, addresses, found) = stripped(folder.path(), &[mode], EXTERNAL);
        check_functions(&whole, &addresses, &found);
        for change in [clear_start, clear_relocated] {
            change(&folder.path().join("bare"));
            check_functions(&whole, &addresses, &names_of(folder.path(), "bare", &addresses));
        }
    }
}

#[test]
fn functions_of_c_beside_those_of_go_are_those_of_the_symbol_table() {
    let folder = tempfile::tempdir().unwrap();
    for mode in ["-buildmode=exe", "-buildmode=pie"] {
        let work = build(folder.path(), "work", &[mode, &format!("-ldflags={EXTERNAL}-w")]);
        // The C parts have debug information even so.
        run(Command::new("strip").arg("-g").arg(&work));
        let symbols = by_nm(&work);
        let address = |name: &str| symbols.iter().find(|(_, it)| it == name).unwrap().0;
        let found = names_of(folder.path(), "work", &[address("_start"), address("main.outer")]);
        let first = |name| found.names.get(address(name)).unwrap().last().map(|it| (it.name, it.line > 0));
        assert_eq!((first("_start"), first("main.outer")), (Some(("_start", false)), Some(("main.outer", true))));
    }
}

fn check_functions(whole: &Path, addresses: &[u64], found: &ModuleNames) {
    let symbols = by_nm(whole);
    for &address in addresses {
        let at = symbols.partition_point(|(start, _)| *start <= address);
        let start = at.checked_sub(1).map(|at| symbols[at].0);
        // The list has no stubs, which are before the code.
        let own = found.names.get(address).unwrap().last().filter(|own| !own.name.ends_with("@plt"));
        // Go omits the text between brackets.
        let is_same = |own: &str, name: &str| own == name || own.contains("[...]");
        let is_one =
            own.is_none_or(|own| symbols.iter().any(|(at, name)| Some(*at) == start && is_same(own.name, name)));
        assert!(is_one, "{address:#x}: {own:?}");
    }
    assert!(found.names.named() > 30_000, "{} of {}", found.names.named(), addresses.len());
}

#[test]
fn functions_of_stripped_programs_have_the_bounds_of_nm() {
    let folder = tempfile::tempdir().unwrap();
    let (whole, ..) = stripped(folder.path(), &[], "");
    let symbols = by_nm(&whole);
    let at = symbols.iter().position(|(_, name)| name == "main.outer").unwrap();
    let (start, end) = (symbols[at].0, symbols[at + 1].0);
    let module = Module { path: "/bin/bare".into(), kind: ModuleKind::Linked, ..Module::default() };
    let addresses = [start, end - 1, end];
    let decoded = decoded_at(&module, &addresses, &locator_of(folder.path()), BYTES_MAX, &Cancel::default()).unwrap();
    let bounds = |row: usize| Some(decoded[row].first()?.range.start..decoded[row].last()?.range.end);
    assert_eq!([bounds(0), bounds(1)], [Some(start..end), Some(start..end)]);
    assert_eq!(decoded[2].first().map(|it| it.range.start), Some(end));
}

#[test]
fn damaged_tables_of_go_name_what_they_can() {
    let folder = tempfile::tempdir().unwrap();
    let whole = std::fs::read(build(folder.path(), "work", &["-ldflags=-s -w"])).unwrap();
    let table = table_in(&whole);
    let addresses: Vec<u64> = (0x40_0000..0x48_0000).step_by(4099).chain([0, u64::MAX]).collect();
    let module = Module { path: "/bin/work".into(), kind: ModuleKind::Linked, ..Module::default() };
    let names = |bytes: &[u8]| {
        std::fs::write(folder.path().join("work"), bytes).unwrap();
        let started = std::time::Instant::now();
        let found = resolve(&module, &addresses, &locator_of(folder.path()), BYTES_MAX, &Cancel::default()).unwrap();
        assert!(started.elapsed() < std::time::Duration::from_secs(5));
        found.names.named()
    };
    assert!(names(&whole) > 60);
    for at in (table..table + 72).chain((table + 72..whole.len()).step_by((whole.len() - table) / 60)) {
        for value in [0, 0x7f, 0xff] {
            let mut bytes = whole.clone();
            bytes[at] = value;
            names(&bytes);
        }
    }
    for end in (table..whole.len()).step_by((whole.len() - table) / 30) {
        names(&whole[..end]);
    }
    // Every byte is a delta: lines that never end.
    let mut endless = whole.clone();
    endless[table + 72..].fill(2);
    names(&endless);
}
