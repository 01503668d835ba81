//! Programs whose linker dropped functions that nothing calls, compared with the same programs with all functions.

use super::*;

/// A function that nothing calls, larger than the part of a program before its code.
const DROPPED: &str = "void dropped(void) { __asm__(\".skip 0x4000, 0x90\"); }\n";

/// Links a program of some sources in order, and returns the addresses and chains of its other functions.
fn linked(folder: &Path, sources: &[&str], flags: &[&str]) -> (Vec<u64>, Vec<Chain>) {
    let command = ["-O2", "-ffunction-sections", "-Wl,--build-id", "-o", "work"];
    run(Command::new("gcc").args(command).args(flags).args(sources).current_dir(folder));
    let work = folder.join("work");
    let addresses = addresses(&work, |name| ["main", "outer", "compare"].contains(&name));
    let chains = named(&work, &addresses, &locator_of(folder)).0;
    (addresses, chains)
}

#[test]
fn functions_that_the_linker_dropped_do_not_name_the_code_of_others() {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in [("dropped.c", DROPPED), ("program.c", C_PROGRAM), ("both.c", &[DROPPED, C_PROGRAM].concat())] {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    for sources in [&["both.c"][..], &["dropped.c", "program.c"]] {
        // Without pages of its own, code follows the tables at address 0 in one segment.
        for flags in [&["-gdwarf-4"][..], &["-gdwarf-5"], &["-gdwarf-5", "-Wl,-z,noseparate-code"]] {
            let (_, theirs) = linked(folder.path(), sources, flags);
            let (addresses, ours) = linked(folder.path(), sources, &[flags, &["-Wl,--gc-sections"]].concat());
            assert!(addresses.iter().all(|address| *address < 0x4000), "{sources:?} {flags:?}");
            assert!(assert_same(&ours, &theirs, &addresses) > 100, "{sources:?} {flags:?}");
        }
    }
}
