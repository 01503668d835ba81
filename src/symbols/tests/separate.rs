//! Debug information in other files than the program, and embedded compressed tables.

use super::*;

/// The functions that the tests compare.
const FUNCTIONS: [&str; 3] = ["main", "outer", "compare"];

/// A program in a folder, with its addresses and the answers of another tool.
struct Compared {
    program: PathBuf,
    addresses: Vec<u64>,
    theirs: Vec<Chain>,
}

fn compared(folder: &Path, name: &str, arguments: &[&str]) -> Compared {
    let program = compile(folder, name, C_PROGRAM, &[&["gcc", "-O2", "-g"], arguments].concat());
    let addresses = addresses(&program, |name| FUNCTIONS.contains(&name));
    let theirs = addr2line(&program, &addresses);
    Compared { program, addresses, theirs }
}

fn objcopy(arguments: &[&str], folder: &Path) {
    run(Command::new("objcopy").args(arguments).current_dir(folder));
}

#[test]
fn a_debug_file_that_the_program_names_is_taken_if_it_is_of_the_build() {
    for build_id in ["-Wl,--build-id", "-Wl,--build-id=none"] {
        let folder = tempfile::tempdir().unwrap();
        let Compared { program, addresses, theirs } = compared(folder.path(), "work", &[build_id]);
        objcopy(&["--only-keep-debug", "work", "apart.dbg"], folder.path());
        objcopy(&["--strip-all", "--add-gnu-debuglink=apart.dbg", "work"], folder.path());
        let locator = || locator_of(folder.path());
        let (ours, module) = named(&program, &addresses, &locator());
        assert_eq!((module.state, module.is_verified), (NameState::Complete, build_id == "-Wl,--build-id"));
        assert_eq!(module.path, Some(folder.path().canonicalize().unwrap().join("apart.dbg")));
        assert_same(&ours, &theirs, &addresses);

        let (apart, below) = (folder.path().join("apart.dbg"), folder.path().join(".debug"));
        std::fs::create_dir(&below).unwrap();
        std::fs::rename(&apart, below.join("apart.dbg")).unwrap();
        assert_same(&named(&program, &addresses, &locator()).0, &theirs, &addresses);

        // Another file with that name has another build-id, or another checksum.
        let later = C_PROGRAM.replace("i * x", "i + x");
        compile(folder.path(), "later", &later, &["gcc", "-O2", "-g", build_id]);
        objcopy(&["--only-keep-debug", "later", ".debug/apart.dbg"], folder.path());
        let (ours, module) = named(&program, &addresses, &locator());
        assert_eq!(module.state, NameState::Stripped);
        assert!(ours.iter().all(Vec::is_empty));
    }
}

#[cfg(unix)]
#[test]
fn a_link_names_no_file_in_another_folder() {
    let (folder, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let Compared { program, addresses, .. } = compared(folder.path(), "work", &["-Wl,--build-id"]);
    objcopy(&["--only-keep-debug", "work", "apart.dbg"], folder.path());
    objcopy(&["--strip-all", "--add-gnu-debuglink=apart.dbg", "work"], folder.path());
    let debug = outside.path().join("apart.dbg");
    std::fs::rename(folder.path().join("apart.dbg"), &debug).unwrap();
    std::os::unix::fs::symlink(&debug, folder.path().join("apart.dbg")).unwrap();
    let state = || named(&program, &addresses, &locator_of(folder.path())).1.state;
    assert_eq!(state(), NameState::Stripped);
    // A link with folders in its name, as an attacker would write it.
    let path = debug.to_str().unwrap();
    for name in [path.to_owned(), format!("../{}/apart.dbg", outside.path().file_name().unwrap().to_str().unwrap())] {
        let mut link = name.into_bytes();
        link.resize((link.len() + 1).next_multiple_of(4) + 4, 0);
        std::fs::write(folder.path().join("link"), link).unwrap();
        objcopy(&["--update-section", ".gnu_debuglink=link", "work"], folder.path());
        assert_eq!(state(), NameState::Stripped);
    }
}

#[test]
fn functions_of_a_packed_table_have_their_names() {
    let folder = tempfile::tempdir().unwrap();
    let Compared { program, addresses, theirs } =
        compared(folder.path(), "library", &["-shared", "-fPIC", "-Wl,--build-id"]);
    // Like the debug files of distributions: all functions that are not dynamic symbols.
    objcopy(&["--only-keep-debug", "library", "debug"], folder.path());
    objcopy(&["-S", "--keep-symbol=compare", "debug", "mini"], folder.path());
    run(Command::new("xz").arg("mini").current_dir(folder.path()));
    objcopy(&["--strip-all", "--add-section", ".gnu_debugdata=mini.xz", "library"], folder.path());
    std::fs::remove_file(folder.path().join("debug")).unwrap();
    let (ours, module) = named(&program, &addresses, &locator_of(folder.path()));
    assert_eq!(module.state, NameState::FunctionsOnly);
    assert_eq!(outermost(&ours), outermost(&theirs));
    assert!(outermost(&ours).contains(&"compare"));
    // If the embedded table is damaged, the dynamic symbols remain.
    std::fs::write(folder.path().join("mini.xz"), b"\xfd7zXZ\0damaged").unwrap();
    objcopy(&["--update-section", ".gnu_debugdata=mini.xz", "library"], folder.path());
    let (ours, _) = named(&program, &addresses, &locator_of(folder.path()));
    assert!(outermost(&ours).contains(&"outer") && !outermost(&ours).contains(&"compare"));
}

#[test]
fn debug_information_that_programs_share_is_followed() {
    let folder = tempfile::tempdir().unwrap();
    let command = ["g++", "-O2", "-g", "-gdwarf-4", "-Wl,--build-id"];
    let program = compile(folder.path(), "work", CPP_PROGRAM, &command);
    compile(folder.path(), "other", &CPP_PROGRAM.replace("* 7 %", "* 3 %"), &command);
    let addresses = addresses(&program, |name| name == "main" || name.starts_with("_Z"));
    let locator = || locator_of(folder.path());
    let (before, _) = named(&program, &addresses, &locator());
    assert!(before.iter().any(|chain| chain.len() > 3));
    let kept = folder.path().join("kept");
    std::fs::create_dir(&kept).unwrap();
    std::fs::copy(&program, kept.join("work")).unwrap();
    run(Command::new("dwz").args(["-m", "shared.dwz", "-r", "work", "other"]).current_dir(folder.path()));
    let link =
        run(Command::new("readelf").args(["--string-dump=.gnu_debugaltlink", "work"]).current_dir(folder.path()));
    assert!(String::from_utf8_lossy(&link).contains("shared.dwz"));
    let (after, module) = named(&program, &addresses, &locator());
    assert_eq!((module.state, module.is_verified), (NameState::Complete, true));
    assert_same(&after, &before, &addresses);
    assert_same(
        &after.iter().map(outermost_of).collect::<Vec<_>>(),
        &chains_by_binutils(&program, &addresses),
        &addresses,
    );

    // A shared file of another build, or none, yields no names: functions have symbol names.
    let shared = folder.path().join("shared.dwz");
    let id = build_id(&shared).unwrap();
    compile(folder.path(), "shared.dwz", CPP_PROGRAM, &command);
    let (without, module) = named(&program, &addresses, &locator());
    assert_eq!((module.state, module.missing_shared), (NameState::SharedMissing, Some(id)));
    assert!(without.iter().map(Vec::len).sum::<usize>() < before.iter().map(Vec::len).sum());
    std::fs::remove_file(shared).unwrap();
    assert_same(&named(&program, &addresses, &locator()).0, &without, &addresses);

    // A complete file of the build is better, though it is found later.
    let locator = Locator::without_system([], &[folder.path().to_owned(), kept.clone()]);
    let (whole, module) = named(&program, &addresses, &locator);
    assert_eq!((module.state, module.path), (NameState::Complete, kept.join("work").canonicalize().ok()));
    assert_same(&whole, &before, &addresses);
}

/// Returns the outermost function without its line, as a normalised name.
fn outermost_of(chain: &Chain) -> Chain {
    chain.last().map(|(name, _)| (plain(name), String::new())).into_iter().collect()
}

fn chains_by_binutils(program: &Path, addresses: &[u64]) -> Vec<Chain> {
    addr2line(program, addresses).iter().map(outermost_of).collect()
}

/// Normalises a name to what both demanglers agree on.
fn plain(name: &str) -> String {
    let end = name.find(['(', '<', '[']).unwrap_or(name.len());
    name[..end].rsplit(' ').next().unwrap_or_default().to_owned()
}
