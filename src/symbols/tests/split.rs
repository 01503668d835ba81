//! Programs with split debug information in `.dwo` files or a `.dwp` package, compared with the same programs without
//! splitting.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::{
    C_PROGRAM, CPP_PROGRAM, RUST_PROGRAM, addresses, assert_same, compile, llvm_symbolizer, locator_of, named, run,
};
use crate::symbols::locate::Locator;
use crate::symbols::state::NameState;

/// Compiles a program of two units with inlined functions.
fn split_program(folder: &Path, version: &str) -> PathBuf {
    std::fs::write(folder.join("second.c"), C_PROGRAM.replace("main", "second").replace("outer", "further")).unwrap();
    let more = ["-c", "second.c", "-o", "second.o"];
    let flags = ["-O2", "-g", version, "-gsplit-dwarf"];
    run(Command::new("gcc").args(flags).args(more).current_dir(folder));
    let source = C_PROGRAM.replace("return numbers[3] & 1;", "extern int second(); return second(numbers[3], argv);");
    // One object and one source file each, as build systems do.
    std::fs::write(folder.join("work.c"), source).unwrap();
    run(Command::new("gcc").args(flags).args(["-c", "work.c", "-o", "work.o"]).current_dir(folder));
    run(Command::new("gcc").args(["-Wl,--build-id", "work.o", "second.o", "-o", "work"]).current_dir(folder));
    folder.join("work")
}

fn functions_of(program: &Path) -> Vec<u64> {
    addresses(program, |name| ["main", "outer", "compare", "second", "further"].contains(&name))
}

#[test]
fn split_functions_are_those_of_the_same_program_in_one_file() {
    for version in ["-gdwarf-5", "-gdwarf-4"] {
        let folder = tempfile::tempdir().unwrap();
        let program = split_program(folder.path(), version);
        let all = functions_of(&program);
        let (ours, module) = named(&program, &all, &locator_of(folder.path()));
        assert_eq!((module.state, module.is_verified), (NameState::Complete, true), "{version}");
        assert!(ours.iter().any(|chain| chain.len() >= 3), "{version}: nothing is inlined");
        // The same code, with all of its debug information inside.
        let whole = tempfile::tempdir().unwrap();
        for name in ["work.c", "second.c"] {
            std::fs::copy(folder.path().join(name), whole.path().join(name)).unwrap();
        }
        let map = format!("-fdebug-prefix-map={}={}", whole.path().display(), folder.path().display());
        let command = ["-O2", "-g", version, &map, "-Wl,--build-id", "work.c", "second.c", "-o", "work"];
        run(Command::new("gcc").args(command).current_dir(whole.path()));
        let same = whole.path().join("work");
        assert_eq!(functions_of(&same), all);
        let (theirs, _) = named(&same, &all, &locator_of(whole.path()));
        assert!(assert_same(&ours, &theirs, &all) > 200);
    }
}

#[test]
fn a_package_has_the_functions_of_all_units() {
    let folder = tempfile::tempdir().unwrap();
    // The binutils tool packs only the older version; the tool of LLVM 14 does not terminate with files of GCC.
    let program = split_program(folder.path(), "-gdwarf-4");
    let all = functions_of(&program);
    let (before, _) = named(&program, &all, &locator_of(folder.path()));
    run(Command::new("dwp").args(["-e", "work", "-o", "work.dwp"]).current_dir(folder.path()));
    for name in ["work.dwo", "second.dwo"] {
        std::fs::remove_file(folder.path().join(name)).unwrap();
    }
    let (packed, module) = named(&program, &all, &locator_of(folder.path()));
    assert_eq!(module.state, NameState::Complete);
    assert_same(&packed, &before, &all);
}

#[test]
fn a_package_that_rustc_made_has_the_names_that_llvm_symbolizer_reads() {
    for version in ["-Cdwarf-version=4", "-Cdwarf-version=5"] {
        let folder = tempfile::tempdir().unwrap();
        let split = ["-Csplit-debuginfo=packed", "-Csymbol-mangling-version=v0", version];
        let command = [&["rustc", "-O", "-g", "-Clink-arg=-Wl,--build-id"], &split[..]].concat();
        let program = compile(folder.path(), "work", RUST_PROGRAM, &command);
        assert!(folder.path().join("work.dwp").exists());
        let all = addresses(&program, |name| name.contains("words") || name.contains("area"));
        let (ours, module) = named(&program, &all, &locator_of(folder.path()));
        assert_eq!(module.state, NameState::Complete, "{version}");
        assert!(ours.iter().any(|chain| chain.len() > 3), "{version}: nothing is inlined");
        assert!(assert_same(&ours, &llvm_symbolizer(&program, &all), &all) > 100);
    }
}

#[test]
fn missing_and_foreign_parts_leave_functions_and_lines_and_say_so() {
    let folder = tempfile::tempdir().unwrap();
    let program = split_program(folder.path(), "-gdwarf-5");
    let all = functions_of(&program);
    let (before, _) = named(&program, &all, &locator_of(folder.path()));
    let outermost: Vec<_> = before.iter().map(|chain| chain.last().unwrap().0.clone()).collect();
    let check = |states: &str| {
        let (ours, module) = named(&program, &all, &locator_of(folder.path()));
        assert_eq!(module.state, NameState::SplitMissing, "{states}");
        assert_eq!(ours.iter().map(|chain| chain.last().unwrap().0.clone()).collect::<Vec<_>>(), outermost, "{states}");
        assert!(ours.iter().all(|chain| chain[0].1.contains(".c:")), "{states}: {ours:?}");
        ours.iter().map(Vec::len).sum::<usize>()
    };
    // One of two units is still complete.
    std::fs::rename(folder.path().join("second.dwo"), folder.path().join("kept")).unwrap();
    let some = check("one is missing");
    assert!(some > all.len() && some < before.iter().map(Vec::len).sum());
    // A file of another build, a file of another unit, and arbitrary bytes.
    let other = tempfile::tempdir().unwrap();
    compile(other.path(), "second", CPP_PROGRAM, &["g++", "-O2", "-g", "-gsplit-dwarf"]);
    let mut files = std::fs::read_dir(other.path()).unwrap().map(|file| file.unwrap().path());
    let foreign = files.find(|path| path.extension().is_some_and(|ending| ending == "dwo"));
    std::fs::copy(foreign.unwrap(), folder.path().join("second.dwo")).unwrap();
    assert_eq!(check("another build"), some);
    std::fs::copy(folder.path().join("work.dwo"), folder.path().join("second.dwo")).unwrap();
    assert_eq!(check("another unit"), some);
    let whole = std::fs::read(folder.path().join("kept")).unwrap();
    for end in (0..whole.len()).step_by(97) {
        std::fs::write(folder.path().join("second.dwo"), &whole[..end]).unwrap();
        named(&program, &all, &locator_of(folder.path()));
    }
    std::fs::write(folder.path().join("second.dwo"), whole).unwrap();
    assert_eq!(named(&program, &all, &locator_of(folder.path())).1.state, NameState::Complete);
}

#[test]
fn parts_outside_the_roots_are_not_opened() {
    let (folder, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let program = split_program(elsewhere.path(), "-gdwarf-5");
    let moved = folder.path().join("work");
    std::fs::rename(&program, &moved).unwrap();
    let all = functions_of(&moved);
    // The recorded folder still has the files, but was not given by the user.
    let state = |locator: &Locator| {
        let names = named(&moved, &all, locator).1;
        (names.state, names.split_folder)
    };
    let outside = Some(elsewhere.path().to_path_buf());
    assert_eq!(state(&locator_of(folder.path())), (NameState::SplitMissing, outside));
    let given = [folder.path().to_path_buf(), elsewhere.path().to_path_buf()];
    assert_eq!(state(&Locator::without_system([], &given)), (NameState::Complete, None));
    std::fs::remove_file(elsewhere.path().join("second.dwo")).unwrap();
    assert_eq!(state(&Locator::without_system([], &given)), (NameState::SplitMissing, None), "searched in vain");
}
