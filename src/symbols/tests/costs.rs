//! Hostile files that name large ones: the bytes read are counted.

use super::*;

/// Units of the program that name files with their functions.
const UNITS: usize = 40;

/// Bytes of a unit in a file that the program names.
const DWO_BYTES: u64 = 16 << 20;

/// Assembles a source text to a relocatable file or a program.
fn assembled(source: &str, output: &Path, options: &[&str]) {
    let input = output.with_extension("s");
    std::fs::write(&input, source).unwrap();
    run(Command::new("gcc").args(options).arg("-o").args([output, &input]));
}

/// Assembles a program whose skeleton units cover the same function. Each names a file, and has its own id.
fn with_skeletons(folder: &Path, name: impl Fn(usize) -> String) -> PathBuf {
    let unit = |row: usize| {
        format!(
            ".long end{row} - begin{row}
            begin{row}: .short 5
            .byte 4, 8
            .long 0
            .quad {}
            .uleb128 1
            .quad _start
            .long 16
            .asciz \"{}\"
            end{row}:\n",
            0x1122_3344_0000 + row,
            name(row)
        )
    };
    let source = format!(
        ".text
        .globl _start
        .type _start, @function
        _start: .skip 16, 0x90
        .size _start, 16
        .section .debug_abbrev, \"\", @progbits
        .uleb128 1, 0x4a
        .byte 0
        .uleb128 0x11, 1, 0x12, 6, 0x76, 8
        .byte 0, 0, 0
        .section .debug_info, \"\", @progbits
        {}",
        (0..UNITS).map(unit).collect::<String>()
    );
    let output = folder.join("work");
    assembled(&source, &output, &["-nostdlib", "-static", "-Wl,--build-id"]);
    output
}

/// Assembles a file with one unit that has no id of the program, and large sections.
fn foreign_unit(path: &Path) {
    let source = format!(
        ".section .debug_abbrev.dwo, \"\", @progbits
        .uleb128 1, 0x11
        .byte 0, 0, 0, 0
        .section .debug_info.dwo, \"\", @progbits
        .long end - begin
        begin: .short 5
        .byte 5, 8
        .long 0
        .quad 0x99
        .uleb128 1
        .fill {DWO_BYTES}, 1, 0
        end:
        .section .debug_str.dwo, \"\", @progbits
        .fill {DWO_BYTES}, 1, 0x41\n"
    );
    assembled(&source, path, &["-c"]);
}

/// Returns the bytes read to resolve the function of a program whose split files are not found.
fn bytes_read(program: &Path) -> u64 {
    let locator = locator_of(program.parent().unwrap());
    let address = addresses(program, |name| name == "_start")[3];
    assert_eq!(named(program, &[address], &locator).1.state, NameState::SplitMissing);
    locator.bytes_read()
}

#[test]
fn a_file_that_many_units_name_is_read_once_and_its_texts_are_not() {
    let folder = tempfile::tempdir().unwrap();
    foreign_unit(&folder.path().join("x.dwo"));
    let bytes = bytes_read(&with_skeletons(folder.path(), |_| "x.dwo".to_owned()));
    assert!((DWO_BYTES..DWO_BYTES + (1 << 20)).contains(&bytes), "{bytes}");
}

#[test]
fn all_files_without_a_wanted_unit_have_one_limit() {
    let folder = tempfile::tempdir().unwrap();
    foreign_unit(&folder.path().join("0.dwo"));
    for row in 1..UNITS {
        std::fs::hard_link(folder.path().join("0.dwo"), folder.path().join(format!("{row}.dwo"))).unwrap();
    }
    let bytes = bytes_read(&with_skeletons(folder.path(), |row| format!("{row}.dwo")));
    assert!(bytes < (256 << 20) + 2 * DWO_BYTES && bytes < UNITS as u64 * DWO_BYTES, "{bytes}");
    assert!(bytes > 200 << 20, "each file is read: {bytes}");
}

#[test]
fn a_debug_file_that_has_mostly_holes_is_not_summed_up() {
    let folder = tempfile::tempdir().unwrap();
    let program = compile(folder.path(), "work", C_PROGRAM, &["gcc", "-O2", "-g", "-Wl,--build-id=none"]);
    let apart = folder.path().join("apart.dbg");
    run(Command::new("objcopy").arg("--only-keep-debug").args([&program, &apart]));
    let link = ["--strip-all", "--add-gnu-debuglink=apart.dbg", "work"];
    run(Command::new("objcopy").args(link).current_dir(folder.path()));
    let found = |locator: &Locator| named_with(&module(&program), &[0x1100], locator).state;
    let whole = std::fs::metadata(&apart).unwrap().len();
    assert_eq!(found(&locator_of(folder.path())), NameState::Complete);
    // All checksums have one limit.
    assert_eq!(found(&locator_of(folder.path()).with_checksum_bytes_max(whole)), NameState::Complete);
    let bounded = locator_of(folder.path()).with_checksum_bytes_max(whole - 1);
    assert_eq!(found(&bounded), NameState::Stripped);
    assert!(bounded.bytes_read() < whole, "{}", bounded.bytes_read());
    let twice = locator_of(folder.path()).with_checksum_bytes_max(whole * 3 / 2);
    assert_eq!([found(&twice), found(&twice)], [NameState::Complete, NameState::Stripped]);

    std::fs::File::options().write(true).open(&apart).unwrap().set_len(40 << 30).unwrap();
    let locator = locator_of(folder.path());
    assert_eq!(found(&locator), NameState::Stripped);
    assert!(locator.bytes_read() < whole, "{}", locator.bytes_read());
}

#[test]
fn a_file_with_very_many_notes_is_not_read_for_its_build_id() {
    let folder = tempfile::tempdir().unwrap();
    let note = |row: usize| format!(".section .note.n{row}, \"\", @note\n.fill 16384, 4, 0xffffff\n");
    assembled(&(0..200).map(note).collect::<String>(), &folder.path().join("work"), &["-c"]);
    let locator = locator_of(folder.path());
    let recorded = Module { path: "/x/work".into(), build_id: BuildId::new(&[1; 20]), ..Module::default() };
    assert_eq!(named_with(&recorded, &[0x10], &locator).state, NameState::OtherBuild);
    assert!(locator.bytes_read() < 5 << 20, "{}", locator.bytes_read());
}
