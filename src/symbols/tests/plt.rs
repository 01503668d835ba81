//! Names of the stubs through which a program calls functions of libraries.

use std::process::Command;

use super::*;

const PROGRAM: &str = "
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(int count, char **words) {
    void *(*volatile allocate)(size_t) = malloc;
    char *text = allocate(count);
    return (memchr(words[0], count, 9) != 0) + atoi(words[0]) + (malloc(3) != text) + (int)strlen(words[count - 1]);
}
";

/// Returns the addresses of stubs as printed by objdump, with their names.
fn stubs_of(path: &Path) -> Vec<(u64, String)> {
    let text = String::from_utf8(run(Command::new("objdump").arg("-dC").arg(path))).unwrap();
    let stub = |line: &str| {
        let (address, name) = line.strip_suffix(">:")?.split_once(" <")?;
        name.ends_with("@plt").then(|| (u64::from_str_radix(address, 16).unwrap(), name.to_owned()))
    };
    text.lines().filter_map(stub).collect()
}

/// Compares the names of all stubs, and of the addresses in them, with objdump.
fn assert_stubs(path: &Path, locator: &Locator, ways: &str) {
    let stubs = stubs_of(path);
    assert!(stubs.len() >= 4, "{ways}: {stubs:?}");
    for within in [0, 6] {
        let addresses: Vec<u64> = stubs.iter().map(|(address, _)| address + within).collect();
        let (ours, _) = named(path, &addresses, locator);
        let theirs: Vec<&str> = stubs.iter().map(|(_, name)| &**name).collect();
        assert_eq!(outermost(&ours), theirs, "{ways}");
    }
}

#[test]
fn stubs_of_a_program_have_the_names_of_objdump() {
    let folder = tempfile::tempdir().unwrap();
    let ways: [&[&str]; 6] = [
        &["-pie"],
        &["-no-pie", "-g"],
        &["-Wl,-z,lazy,-z,ibtplt"],
        &["-Wl,-z,now", "-s"],
        &["-shared", "-fPIC", "-g"],
        &["-Wl,--hash-style=sysv", "-Wl,-z,now,-z,ibtplt"],
    ];
    for (number, arguments) in ways.into_iter().enumerate() {
        let command = [&["gcc", "-O1", "-Wl,--build-id"], arguments].concat();
        let path = compile(folder.path(), &format!("work{number}"), PROGRAM, &command);
        assert_stubs(&path, &locator_of(folder.path()), &arguments.join(" "));
    }
    let path = compile(folder.path(), "cpp", CPP_PROGRAM, &["g++", "-O2", "-g", "-Wl,--build-id"]);
    assert_stubs(&path, &locator_of(folder.path()), "g++");
}

#[test]
fn stubs_of_a_stripped_program_are_named_beside_its_debug_file() {
    let folder = tempfile::tempdir().unwrap();
    let whole = compile(folder.path(), "whole", PROGRAM, &["gcc", "-O1", "-g", "-Wl,--build-id"]);
    let (work, debug) = (folder.path().join("work"), folder.path().join("work.debug"));
    run(Command::new("objcopy").arg("--only-keep-debug").args([&whole, &debug]));
    run(Command::new("strip").arg("-o").args([&work, &whole]));
    run(Command::new("objcopy").arg("--add-gnu-debuglink=work.debug").arg(&work).current_dir(folder.path()));
    std::fs::remove_file(&whole).unwrap();
    assert_stubs(&work, &locator_of(folder.path()), "stripped");
}

#[test]
fn a_static_program_has_the_names_of_its_resolved_functions() {
    let folder = tempfile::tempdir().unwrap();
    let path = compile(folder.path(), "work", PROGRAM, &["gcc", "-O1", "-static", "-Wl,--build-id"]);
    let text = String::from_utf8(run(Command::new("readelf").arg("-SW").arg(&path))).unwrap();
    let plt = text.lines().find_map(|line| line.split_once(" .plt ")).unwrap().1;
    let column = |number| u64::from_str_radix(plt.split_whitespace().nth(number).unwrap(), 16).unwrap();
    let addresses: Vec<u64> = (column(1)..column(1) + column(3)).step_by(8).collect();
    let (ours, _) = named(&path, &addresses, &locator_of(folder.path()));
    let names = outermost(&ours);
    assert!(names.iter().all(|name| name.ends_with("@plt")), "{names:?}");
    assert!(names.contains(&"memchr@plt") && names.contains(&"strlen@plt"), "{names:?}");
}

#[test]
fn many_sections_of_relocations_and_stubs_of_one_slot_are_read_within_limits() {
    let folder = tempfile::tempdir().unwrap();
    // All stubs jump to one slot, whose name is 1 MiB long; thousands of sections relocate it.
    let source = "
        .section .plt, \"ax\", @progbits
        stubs: .rept 60000
        .byte 0xff, 0x25
        .long slot - . - 4
        .balign 8
        .endr
        .section .slots, \"aw\", @progbits
        slot: .quad 0
        .text
        .globl _start
        .type _start, @function
        _start: ret
        .size _start, 1
        .section .names, \"\", @progbits
        names: .byte 0
        .fill 1048576, 1, 0x61
        .byte 0
        .section .table, \"\", @progbits
        .fill 24, 1, 0
        .long 1, 0, 0, 0, 0, 0
        .section .relocations, \"\", @progbits
        .rept 100000
        .quad slot, 0x100000007, 0
        .endr\n";
    let (input, output) = (folder.path().join("work.s"), folder.path().join("work"));
    std::fs::write(&input, source).unwrap();
    run(Command::new("gcc").args(["-nostdlib", "-static", "-Wl,--build-id", "-o"]).args([&output, &input]));
    let address = addresses(&output, |name| name == "_start")[0];
    let segments = segments(&output);
    let (offset, start, _) =
        segments.iter().find(|(_, start, bytes)| (*start..start + bytes).contains(&address)).unwrap();
    let offset = address - start + offset;
    let mut bytes = std::fs::read(&output).unwrap();
    let number = |bytes: &[u8], at: usize, len: usize| {
        bytes[at..at + len].iter().rev().fold(0u64, |number, &byte| number << 8 | u64::from(byte)) as usize
    };
    let (table, count, texts) = (number(&bytes, 40, 8), number(&bytes, 60, 2), number(&bytes, 62, 2));
    let row_at = |row: usize| table + 64 * row;
    let texts_at = number(&bytes, row_at(texts) + 24, 8);
    let named = |bytes: &[u8], name: &str| {
        let is_named = |row: &usize| {
            let at = texts_at + number(bytes, row_at(*row), 4);
            bytes[at..].starts_with(name.as_bytes()) && bytes[at + name.len()] == 0
        };
        (0..count).find(is_named).unwrap()
    };
    let (symbols, names) = (named(&bytes, ".table"), named(&bytes, ".names"));
    bytes[row_at(symbols) + 40] = names as u8;
    let relocations = row_at(named(&bytes, ".relocations"));
    (bytes[relocations + 4], bytes[relocations + 40]) = (4, symbols as u8);
    let row = bytes[relocations..relocations + 64].to_vec();
    let moved = bytes[table..row_at(count)].to_vec();
    let start = bytes.len() as u64;
    bytes.extend(moved);
    (0..20_000).for_each(|_| bytes.extend(&row));
    bytes[40..48].copy_from_slice(&start.to_le_bytes());
    bytes[60..62].copy_from_slice(&(count as u16 + 20_000).to_le_bytes());
    std::fs::write(&output, &bytes).unwrap();

    let started = std::time::Instant::now();
    // The segments of the program are unchanged.
    let found =
        named_with(&Module { path: "/bin/work".into(), ..Module::default() }, &[offset], &locator_of(folder.path()));
    assert_eq!(found.names.named(), 1);
    assert!(started.elapsed() < std::time::Duration::from_secs(5), "{:?}", started.elapsed());
}
