//! Files in folders that the user names in any way, in copies of another machine, and without a recorded build-id.

use super::*;
use crate::symbols::sources::{SourceFolders, SourceMap};

/// Compiles the program with debug information in `folder/work`, and returns its path and the addresses in it.
fn compiled(folder: &Path) -> (PathBuf, Vec<u64>) {
    let program = compile(folder, "work", C_PROGRAM, &["gcc", "-O2", "-g", "-Wl,--build-id"]);
    let addresses = addresses(&program, |name| ["main", "outer", "compare"].contains(&name));
    (program, addresses)
}

/// Moves the debug information of `folder/work` to a file, and strips the program.
fn split_off(folder: &Path, debug: &Path, link: &[&str]) {
    std::fs::create_dir_all(debug.parent().unwrap()).unwrap();
    run(Command::new("objcopy").args(["--only-keep-debug", "work"]).arg(debug).current_dir(folder));
    run(Command::new("strip").arg("work").current_dir(folder));
    run(Command::new("objcopy").args(link).arg("work").current_dir(folder));
}

/// Returns the path of a debug file by build-id, below a folder.
fn by_build_id(folder: &Path, program: &Path) -> PathBuf {
    let digits = build_id(program).unwrap().to_string();
    folder.join(".build-id").join(&digits[..2]).join(format!("{}.debug", &digits[2..]))
}

/// Returns the state of a module from folders that the user gave.
fn state(module: &Module, given: &[PathBuf]) -> NameState {
    named_with(module, &[0x1100], &Locator::without_system([], given)).state
}

#[test]
fn folders_that_are_named_with_parents_are_searched() {
    let outer = tempfile::tempdir().unwrap();
    let [here, there] = ["here", "there"].map(|name| outer.path().join(name));
    [&here, &there].into_iter().for_each(|folder| std::fs::create_dir(folder).unwrap());
    let (program, _) = compiled(&there);
    let recorded = Module { path: "/elsewhere/work".into(), ..module(&program) };
    let way = here.join("../there");
    assert_eq!(state(&recorded, std::slice::from_ref(&way)), NameState::Complete);
    let trace = way.join("perf.data");
    let beside = |module: &Module| named_with(module, &[0x1100], &Locator::without_system([&*trace], &[])).state;
    assert_eq!(beside(&recorded), NameState::Complete);
    let maps = vec![SourceMap::parse(&format!("/build={}", way.display())).unwrap()];
    let sources = SourceFolders::for_traces([], &[], maps);
    assert_eq!(sources.read("/build/work.c").unwrap().line(2), Some("#include <stdlib.h>"));
    for folders in [
        SourceFolders::for_traces([&*trace], &[], Vec::new()),
        SourceFolders::for_traces([], std::slice::from_ref(&way), Vec::new()),
        SourceFolders::for_traces([], &[], vec![SourceMap::parse(way.to_str().unwrap()).unwrap()]),
    ] {
        assert!(folders.read(there.join("work.c").to_str().unwrap()).is_ok());
    }
    // The trace itself cannot leave a folder that way, whatever it names.
    let up = Module { path: way.join("work").to_str().unwrap().into(), ..recorded.clone() };
    assert_eq!(state(&up, &[here]), NameState::NoFile);
}

#[cfg(unix)]
#[test]
fn a_parent_of_a_link_is_that_of_its_target() {
    let outer = tempfile::tempdir().unwrap();
    let [plain, deep] = ["plain", "far/deep"].map(|name| outer.path().join(name));
    for folder in [&plain, &deep, &outer.path().join("far/plain")] {
        std::fs::create_dir_all(folder).unwrap();
    }
    std::os::unix::fs::symlink(&deep, outer.path().join("link")).unwrap();
    let (program, _) = compiled(&plain);
    let (recorded, way) = (module(&program), outer.path().join("link/../plain"));
    // If the link were not resolved, the path would lead to the program.
    assert_eq!(state(&recorded, std::slice::from_ref(&way)), NameState::NoFile);
    let mut roots = crate::symbols::file::Roots::default();
    roots.add(&way);
    assert!(matches!(roots.open(&program), Err(crate::symbols::file::OpenError::OutsideRoots { .. })));
    std::fs::copy(&program, outer.path().join("far/plain/work")).unwrap();
    assert_eq!(state(&recorded, &[way]), NameState::Complete);
}

#[test]
fn debug_files_are_found_by_the_build_id_of_a_file_without_a_recorded_one() {
    let (folder, debug) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (program, addresses) = compiled(folder.path());
    let theirs = addr2line(&program, &addresses);
    let (id, kept) = (build_id(&program), by_build_id(debug.path(), &program));
    split_off(folder.path(), &kept, &[]);
    let recorded = Module { build_id: None, ..module(&program) };
    let given = [folder.path().to_path_buf(), debug.path().to_path_buf()];
    let locator = Locator::without_system([], &given);
    // The file offsets of this linker are the addresses.
    let found = named_with(&recorded, &addresses, &locator);
    assert_eq!((found.state, found.is_verified, found.own_build_id), (NameState::Complete, false, id));
    let innermost = |chain: &Chain| chain[0].0.clone();
    let ours = addresses.iter().map(|&address| found.names.get(address).unwrap().next().unwrap().name.to_owned());
    assert!(ours.eq(theirs.iter().map(innermost)));
    // The debug file of another build is not mixed with the program, although the user gave its folder.
    std::fs::remove_file(kept).unwrap();
    let later =
        compile(debug.path(), "later", &C_PROGRAM.replace("i * x", "i + x"), &["gcc", "-O2", "-g", "-Wl,--build-id"]);
    std::fs::rename(later, debug.path().join("work.debug")).unwrap();
    let found = named_with(&recorded, &addresses, &locator);
    assert_eq!((found.state, found.names.named()), (NameState::Stripped, 0));
}

#[test]
fn a_deleted_file_is_found_by_its_name_in_folders_that_the_user_gives() {
    let folder = tempfile::tempdir().unwrap();
    let (program, _) = compiled(folder.path());
    let deleted = Module { path: format!("{} (deleted)", program.display()).into(), ..module(&program) };
    let unknown = Module { build_id: None, ..deleted.clone() };
    let given = [folder.path().to_path_buf()];
    assert_eq!([&deleted, &unknown].map(|module| state(module, &given)), [NameState::Complete; 2]);
    // Unless the user gives the folder, the file at that path is the replacement of the recorded file.
    let trace = folder.path().join("perf.data");
    std::fs::write(&trace, b"").unwrap();
    let beside = |module: &Module| named_with(module, &[0x1100], &Locator::without_system([&*trace], &[])).state;
    assert_eq!([&deleted, &unknown].map(beside), [NameState::Complete, NameState::OtherBuild]);
}

#[test]
fn copies_of_another_machine_have_debug_files_where_systems_install_them() {
    let here = ["by build-id", "by link", "by name"];
    for way in here {
        let (folder, root) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let (program, addresses) = compiled(folder.path());
        let theirs = addr2line(&program, &addresses);
        let installed = root.path().join("usr/lib/debug");
        let (debug, link) = match way {
            "by build-id" => (by_build_id(&installed, &program), vec![]),
            "by link" => (installed.join("opt/x/apart.dbg"), vec!["--add-gnu-debuglink"]),
            _ => (installed.join("opt/x/work.debug"), vec![]),
        };
        let link: Vec<String> = link.iter().map(|option| format!("{option}={}", debug.display())).collect();
        split_off(folder.path(), &debug, &link.iter().map(String::as_str).collect::<Vec<_>>());
        std::fs::create_dir_all(root.path().join("opt/x")).unwrap();
        std::fs::rename(&program, root.path().join("opt/x/work")).unwrap();
        let recorded = Module { path: "/opt/x/work".into(), ..module(&root.path().join("opt/x/work")) };
        let found = named_with(&recorded, &addresses, &locator_of(root.path()));
        assert_eq!((found.state, found.is_verified), (NameState::Complete, true), "{way}");
        let ours = addresses.iter().map(|&address| found.names.get(address).unwrap().count());
        assert!(ours.eq(theirs.iter().map(Vec::len)), "{way}");
    }
}

#[test]
fn old_compressed_sections_have_the_names_of_plain_ones() {
    let folder = tempfile::tempdir().unwrap();
    let (program, addresses) = compiled(folder.path());
    let theirs = addr2line(&program, &addresses);
    run(Command::new("objcopy").arg("--compress-debug-sections=zlib-gnu").arg(&program));
    let sections = String::from_utf8(run(Command::new("readelf").arg("-SW").arg(&program))).unwrap();
    assert!(sections.contains(".zdebug_info") && !sections.contains(" .debug_info"), "{sections}");
    let (ours, found) = named(&program, &addresses, &locator_of(folder.path()));
    assert_eq!(found.state, NameState::Complete);
    assert_same(&ours, &theirs, &addresses);
    // The limit applies to the unpacked size, which the file claims.
    let bounded = |bytes_max: u64| {
        resolve(&module(&program), &[0x1100], &locator_of(folder.path()), bytes_max, &Cancel::default()).unwrap().state
    };
    assert_eq!([512, BYTES_MAX].map(bounded), [NameState::Unreadable, NameState::Complete]);
    let whole = std::fs::read(&program).unwrap();
    for at in memchr::memmem::find_iter(&whole, b"ZLIB") {
        for (from, bytes) in [(at, &b"ZLIC"[..]), (at + 4, &[0xff; 8]), (at + 4, &[0; 8]), (at + 12, &[0; 2])] {
            let mut damaged = whole.clone();
            damaged[from..from + bytes.len()].copy_from_slice(bytes);
            std::fs::write(&program, damaged).unwrap();
            assert!([NameState::Unreadable, NameState::Complete].contains(&bounded(BYTES_MAX)), "{from}");
        }
    }
}

/// Sets when a file was written, in seconds from now.
fn set_written(path: &Path, seconds: i64) {
    let now = std::time::SystemTime::now();
    let by = std::time::Duration::from_secs(seconds.unsigned_abs());
    let written = if seconds < 0 { now - by } else { now + by };
    std::fs::File::options().append(true).open(path).unwrap().set_modified(written).unwrap();
}

#[test]
fn a_file_of_no_recorded_build_is_older_than_all_traces_that_recorded_it() {
    let folder = tempfile::tempdir().unwrap();
    let (program, _) = compiled(folder.path());
    let traces = ["old.data", "new.data"].map(|name| folder.path().join(name));
    for (trace, seconds) in traces.iter().zip([-60, 60]) {
        std::fs::write(trace, b"").unwrap();
        set_written(trace, seconds);
    }
    let locator = Locator::without_system(traces.iter().map(PathBuf::as_path), &[]);
    let unknown = Module { build_id: None, ..module(&program) };
    let partly_known = Module { builds: ModuleBuilds::Uncertain, ..module(&program) };
    let state = |module: &Module, recorders: &[usize]| {
        let found = named_with(module, &[0x1100], &locator.with_recorders(recorders));
        assert!(!found.is_verified);
        found.state
    };
    for (recorders, states) in [
        (&[][..], [NameState::OtherBuild, NameState::Ambiguous]),
        (&[0], [NameState::OtherBuild, NameState::Ambiguous]),
        (&[1], [NameState::Complete, NameState::Complete]),
    ] {
        assert_eq!([&unknown, &partly_known].map(|module| state(module, recorders)), states, "{recorders:?}");
    }
    // A file that fits must have the build-id that some traces recorded.
    let other = Module { build_id: BuildId::new(&[7; 20]), ..partly_known };
    assert_eq!(state(&other, &[1]), NameState::Ambiguous);
}

#[test]
fn two_processes_with_one_id_in_several_traces_have_no_names() {
    let folder = tempfile::tempdir().unwrap();
    let traces = ["a/perf.data", "b/perf.data"].map(|name| folder.path().join(name));
    for trace in &traces {
        std::fs::create_dir(trace.parent().unwrap()).unwrap();
        std::fs::write(trace.with_file_name("perf-7.map"), b"1000 100 first\n").unwrap();
    }
    let module = Module { path: "/tmp/perf-7.map".into(), kind: ModuleKind::Jit(7), ..Module::default() };
    let locator = Locator::without_system(traces.iter().map(PathBuf::as_path), &[]);
    let names = |recorders: &[usize]| {
        let found = named_with(&module, &[0x1010], &locator.with_recorders(recorders));
        let name = found.names.get(0x1010).and_then(|mut functions| Some(functions.next()?.name.to_owned()));
        (found.state, name)
    };
    let (first, second) = (Some("first".to_owned()), Some("second".to_owned()));
    assert_eq!(names(&[]), (NameState::Complete, first.clone()));
    std::fs::write(traces[1].with_file_name("perf-7.map"), b"1000 100 second\n").unwrap();
    assert_eq!(names(&[]), (NameState::Ambiguous, None));
    assert_eq!([names(&[0]), names(&[1])], [first, second].map(|name| (NameState::Complete, name)));
}

#[cfg(target_os = "linux")]
#[test]
fn a_list_of_a_process_that_ran_long_after_the_recording_is_not_used() {
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("perf.data");
    std::fs::write(&trace, b"").unwrap();
    // No process has such an id.
    let pid = u32::MAX - std::process::id();
    let list = PathBuf::from(format!("/tmp/perf-{pid}.map"));
    std::fs::write(&list, b"1000 100 work\n").unwrap();
    let is_created_known = std::fs::metadata(&list).unwrap().created().is_ok();
    let module = Module { path: list.to_str().unwrap().into(), kind: ModuleKind::Jit(pid), ..Module::default() };
    let named = |hours: i64| {
        set_written(&trace, -hours * 3600);
        named_with(&module, &[0x1010], &Locator::for_traces([&*trace], &[])).names.named()
    };
    let found = [named(0), named(1), named(48)];
    std::fs::remove_file(&list).unwrap();
    assert_eq!(found, [1, 1, usize::from(!is_created_known)]);
}

#[cfg(target_os = "linux")]
#[test]
fn the_page_of_functions_of_the_kernel_lacks_nothing_if_all_have_names() {
    let folder = tempfile::tempdir().unwrap();
    let locator = Locator::for_traces([&*folder.path().join("perf.data")], &[folder.path().into()]);
    // Such a page has dynamic symbols only.
    let command = ["gcc", "-O1", "-shared", "-nostdlib", "-s", "-Wl,--build-id", "-Wl,-z,noseparate-code"];
    let path = compile(folder.path(), "vdso", "int clock(int x) { return x * 3; }", &command);
    let text = String::from_utf8(run(Command::new("nm").args(["-D"]).arg(&path))).unwrap();
    let clock = u64::from_str_radix(text.lines().find(|line| line.ends_with(" T clock")).unwrap()[..16].trim(), 16);
    let vdso = Module { kind: ModuleKind::Vdso, ..module(&path) };
    let state = |offsets: &[u64]| named_with(&vdso, offsets, &locator).state;
    let clock = clock.unwrap();
    assert_eq!([state(&[clock]), state(&[1, clock])], [NameState::Complete, NameState::Stripped]);
    // The cache has the addresses of all traces.
    let cached = locator.clone().with_cache(Some(NameCache::in_folder(&folder.path().join("cache"))));
    let state = |offsets: &[u64]| named_with(&vdso, offsets, &cached).state;
    assert_eq!([state(&[1, clock]), state(&[clock])], [NameState::Stripped, NameState::Complete]);
}
