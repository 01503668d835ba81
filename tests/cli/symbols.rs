//! Function names of a compiled program in a synthetic recording of it.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::harness::{NO_FOLDER, folder, longspan, records, text};
use crate::recording::{KERNEL_AT, MAPPED_AT, RecordedMap, address, build_id, program, recording, run, written};

/// Runs `symbols`, and returns state, named frames and command of the modules whose name ends in `module`.
fn state(args: &[&str], module: &str) -> [String; 3] {
    let text = longspan(&[&["symbols", "--no-cache"], args].concat()).done();
    assert!(text.starts_with("module,build_id,samples,frames,named,state,verified,file,command\n"), "{text}");
    let table = records(&text);
    let row = table.iter().find(|row| row[0].ends_with(module)).unwrap_or_else(|| panic!("{table:?}"));
    [row[5].clone(), row[4].clone(), row[8].clone()]
}

fn folded(args: &[&str]) -> Vec<String> {
    let text = longspan(&[&["flame", "--no-cache"], args].concat()).done();
    text.lines().map(str::to_owned).collect()
}

#[test]
fn functions_are_symbolized_unless_symbols_are_turned_off() {
    let folder = folder();
    let program = program(folder.path(), "");
    let file = recording(folder.path(), &program);
    let file = text(&file);
    let named = ["main;libmissing.so+0x40 1", "main;outer;inner 2"];
    let mut all = folded(&[file]);
    all.sort();
    assert_eq!(all, named);
    let raw = folded(&[file, "--no-symbols"]);
    assert!(raw.iter().all(|path| path.starts_with("work+0x")), "{raw:?}");
    let stats = longspan(&["stats", "--no-cache", file]);
    assert!(stats.stderr.contains("2 of 3 addresses have names"), "{}", stats.stderr);
    let stats = stats.done();
    assert!(stats.contains(",inner,2,2,2,2\n") && stats.contains(",main,0,3,0,3\n"), "{stats}");
    assert!(longspan(&["dump", "--no-cache", file]).done().contains(r#""stack":["inner","outer","main"]"#));
    // Exports contain recorded names, unless symbolized names are requested.
    for (args, expected) in [(&["--symbolized"][..], true), (&[], false)] {
        for output in ["out.json", "out.pftrace", "out.longspan", "out.pb.gz"] {
            let output = folder.path().join(output);
            longspan(&[&["export", "--no-cache", file, "-o", text(&output)], args].concat()).done();
            let mut all = folded(&[text(&output), "--no-symbols"]);
            all.sort();
            assert_eq!(all == named, expected, "{}: {all:?}", output.display());
        }
    }
    // The last export, without --symbolized, still has its modules.
    let mut all = folded(&[text(&folder.path().join("out.longspan"))]);
    all.sort();
    assert_eq!(all, named);
}

#[test]
fn a_call_at_the_end_of_a_function_counts_as_an_address_with_a_name() {
    let folder = folder();
    let salt = "#include <stdlib.h>\n__attribute__((noinline)) void last_call(int x) { exit(x); }";
    let program = program(folder.path(), salt);
    let symbols = run(Command::new("nm").arg("-S").arg(&program));
    let line = symbols.lines().find(|line| line.ends_with(" T last_call")).expect("a function");
    let len = line.split_whitespace().nth(1).and_then(|len| u64::from_str_radix(len, 16).ok()).expect("a length");
    let maps = [RecordedMap { start: MAPPED_AT, path: text(&program), build_id: &build_id(&program) }];
    let end = address(&program, "last_call") + len;
    let file = written(folder.path(), &maps, &[&[address(&program, "outer") + 3, end, address(&program, "main") + 5]]);
    assert_eq!(folded(&[text(&file)]), ["main;last_call;outer;inner 1"]);
    assert_eq!(state(&[text(&file)], "work")[1], "3");
    let stats = longspan(&["stats", "--no-cache", text(&file)]).stderr;
    assert!(!stats.contains("addresses have names"), "{stats}");
}

#[test]
fn commands_that_fill_a_cache_of_names_at_the_same_time_agree_and_keep_all_names() {
    let folder = folder();
    let program = program(folder.path(), "");
    let file = recording(folder.path(), &program);
    let expected = longspan(&["flame", "--no-cache", text(&file)]).done();
    let caches = ["one", "two", "three"].map(|name| folder.path().join(name));
    let flame = |cache: &Path| longspan(&["flame", "--cache", text(cache), text(&file)]).done();
    for cache in &caches {
        fs::create_dir(cache).expect("created");
        std::thread::scope(|scope| {
            let running: Vec<_> = (0..5).map(|_| scope.spawn(|| flame(cache))).collect();
            running.into_iter().for_each(|one| assert_eq!(one.join().expect("an answer"), expected));
        });
    }
    fs::remove_file(&program).expect("removed");
    caches.iter().for_each(|cache| assert_eq!(flame(cache), expected, "from the cache alone"));
}

#[test]
fn symbolized_profiles_have_addresses_files_and_lines() {
    let folder = folder();
    let program = program(folder.path(), "");
    let [outer, main] = ["outer", "main"].map(|name| address(&program, name));
    let maps = [
        RecordedMap { start: MAPPED_AT, path: text(&program), build_id: &build_id(&program) },
        RecordedMap { start: KERNEL_AT, path: "[kernel.kallsyms]_text", build_id: "" },
    ];
    // Frames that call, that are sampled where they call, and that the kernel interrupts there.
    let stacks: [&[u64]; 4] =
        [&[outer + 3, main + 5], &[main + 5], &[KERNEL_AT + 0x40, outer, main + 5], &[KERNEL_AT + 0x40, main + 5]];
    let file = written(folder.path(), &maps, &stacks);
    let output = folder.path().join("out.pb.gz");
    longspan(&["export", "--no-cache", text(&file), "-o", text(&output), "--symbolized"]).done();
    // The sums per path equal the sums of the recording.
    assert_eq!(folded(&[text(&output), "--no-symbols"]), folded(&[text(&file)]));
    let raw = run(Command::new("go").args(["tool", "pprof", "-raw", text(&output)]));
    let (source, offset) = (text(&folder.path().join("work.c")).to_owned(), |address: u64| address - MAPPED_AT);
    let position = |line: u32| format!("{source}:{line}");
    for (address, functions) in [
        (offset(outer) + 3, vec![format!("inner {}", position(2)), format!("outer {}", position(3))]),
        (offset(main) + 4, vec![format!("main {}", position(4))]),
        (offset(main) + 5, vec![format!("main {}", position(4))]),
    ] {
        let mut lines = raw.lines().skip_while(|line| !line.contains(&format!(": {address:#x} M=")));
        let found: Vec<_> = lines.by_ref().take(functions.len()).collect();
        let is_same = |(line, function): (&&str, &String)| line.contains(&format!("{function} s="));
        assert!(!found.is_empty() && found.iter().zip(&functions).all(is_same), "{address:#x} {functions:?}\n{raw}");
    }
    assert!(raw.contains("/work ") && raw.contains("[FN][FL][LN][IN]"), "{raw}");
}

#[test]
fn samples_of_a_dump_have_the_source_positions_of_their_frames() {
    let folder = folder();
    let program = program(folder.path(), "");
    let file = recording(folder.path(), &program);
    let samples = |args: &[&str]| -> Vec<Value> {
        let text = longspan(&[&["dump", "--no-cache", text(&file)], args].concat()).done();
        let rows = text.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
        rows.filter(|row| row["t"] == "sample").collect()
    };
    let source = |line: u32| format!("{}:{line}", text(&folder.path().join("work.c")));
    let positions = samples(&[]).iter().map(|sample| sample["source"].clone()).collect::<Vec<_>>();
    let whole = serde_json::json!([source(2), source(3), source(4)]);
    assert_eq!(positions, [whole.clone(), whole, serde_json::json!([null, source(4)])]);
    assert!(samples(&["--no-symbols"]).iter().all(|sample| sample.get("source").is_none()));
}

#[test]
fn a_link_out_of_the_searched_folders_names_the_folder_of_its_target() {
    let (folder, elsewhere) = (folder(), folder());
    let program = program(elsewhere.path(), "");
    let link = folder.path().join("work");
    std::os::unix::fs::symlink(&program, &link).expect("linked");
    let maps = map(text(&link), "");
    let file = written(folder.path(), &maps, &[&[address(&program, "outer") + 3]]);
    let [state, _, command] = self::state(&[text(&file)], "/work");
    let real = elsewhere.path().canonicalize().expect("a folder");
    assert_eq!(state, "not searched");
    assert_eq!(command, format!("longspan symbols {} --symbols {}", text(&file), text(&real)));
    let folder = command.rsplit(' ').next().expect("a folder");
    assert_eq!(self::state(&[text(&file), "--symbols", folder], "/work")[0], "named");
}

#[test]
fn addresses_at_which_several_jit_functions_were_are_counted() {
    let folder = folder();
    let maps = map("//anon", "");
    let file = written(folder.path(), &maps, &[&[MAPPED_AT + 8], &[MAPPED_AT + 0x28]]);
    let list = format!("{MAPPED_AT:x} 20 first\n{:x} 10 kept\n{MAPPED_AT:x} 20 last\n", MAPPED_AT + 0x20);
    fs::write(folder.path().join("perf-7.map"), list).expect("written");
    let output = longspan(&["symbols", "--no-cache", text(&file)]);
    let note = "1 of 2 addresses had several functions, and have the last name";
    assert!(output.stderr.contains(note), "{}", output.stderr);
    assert_eq!(records(&output.done())[0][4], "2");
}

#[test]
fn a_frame_with_inlined_functions_matches_the_exact_name_of_each() {
    let folder = folder();
    let program = program(folder.path(), "");
    let file = recording(folder.path(), &program);
    let counts = [
        ("name:/^inner$/", "2"),
        ("name:/^outer$/", "2"),
        ("name:/^outer \u{203a} inner$/", "2"),
        ("-name:/^inner$/", "1"),
        ("name:/^inner$/ -name:/^outer$/", "0"),
        ("name:/^main$/", "0"),
    ];
    for (filter, count) in counts {
        assert_eq!(longspan(&["search", "--no-cache", text(&file), "--", filter]).done().trim(), count, "{filter}");
        let stats = ["stats", "--no-cache", "--samples", text(&file), &format!("--filter={filter}")];
        let rows = records(&longspan(&stats).done());
        let own: u32 = rows.iter().map(|row| row[5].parse::<u32>().expect("a number")).sum();
        assert_eq!(own.to_string(), count, "{filter}: {rows:?}");
    }
}

#[test]
fn the_module_list_explains_missing_symbols_and_suggests_a_command() {
    let folder = folder();
    let program = program(folder.path(), "");
    let (digits, file) = (build_id(&program), recording(folder.path(), &program));
    let file = text(&file);
    let work = |args: &[&str]| state(&[&[file], args].concat(), "/work");
    let fetch = format!("debuginfod-find debuginfo {digits}");
    assert_eq!(work(&[]), ["named", "2", ""]);
    assert_eq!(work(&["--no-symbols"]), ["not searched", "0", ""]);
    let unwanted = longspan(&["symbols", "--no-cache", file, "--no-symbols"]);
    assert!(unwanted.stderr.contains("nothing was searched, because of --no-symbols"), "{}", unwanted.stderr);
    let missing = format!("debuginfod-find debuginfo {}", "ab".repeat(20));
    assert_eq!(state(&[file], "libmissing.so"), ["no file", "0", &missing]);

    let symbol_folder = folder.path().join("symbols");
    fs::create_dir_all(&symbol_folder).expect("made");
    fs::copy(&program, symbol_folder.join("work")).expect("copied");
    run(Command::new("strip").arg("-g").arg(&program));
    assert_eq!(work(&[]), ["no debug info", "2", &fetch]);
    run(Command::new("strip").arg(&program));
    assert_eq!(work(&[]), ["stripped", "0", &fetch]);
    assert_eq!(work(&["--symbols", text(&symbol_folder)]), ["named", "2", ""]);
    // Another program at the path is not used for symbols.
    crate::recording::program(folder.path(), "int other(int x) { return x + 1; }");
    assert_eq!(work(&[]), ["other build", "0", &fetch]);
    assert_eq!(work(&["--symbols", text(&symbol_folder)]), ["named", "2", ""]);
    fs::remove_file(&program).expect("removed");
    assert_eq!(work(&[]), ["no file", "0", &fetch]);
    // The trace is in another folder, so the program is outside the searched folders.
    let elsewhere = self::folder();
    let copy = elsewhere.path().join("perf.data");
    fs::copy(file, &copy).expect("copied");
    let [state, named, command] = state(&[text(&copy)], "/work");
    assert_eq!((&*state, &*named), ("not searched", "0"));
    let searched = format!("longspan symbols {} --symbols {}", text(&copy), text(folder.path()));
    assert_eq!(command, searched);

    let rows = longspan(&["symbols", "--no-cache", "--format", "json", file]).done();
    let first: Value = serde_json::from_str(rows.lines().next().expect("a row")).expect("JSON");
    assert_eq!((&first["samples"], &first["build_id"]), (&Value::from(3), &Value::from(digits)));
}

#[test]
fn a_module_without_a_recorded_build_id_is_fetched_by_the_build_id_of_its_file() {
    let folder = folder();
    let program = program(folder.path(), "");
    let maps = [RecordedMap { start: MAPPED_AT, path: text(&program), build_id: "" }];
    let file = written(folder.path(), &maps, &[&[address(&program, "outer") + 3]]);
    let fetch = format!("debuginfod-find debuginfo {}", build_id(&program));
    run(Command::new("strip").arg(&program));
    assert_eq!(state(&[text(&file), "--symbols", text(folder.path())], "/work"), ["stripped", "0", &fetch]);
}

fn map<'a>(path: &'a str, build_id: &'a str) -> [RecordedMap<'a>; 1] {
    [RecordedMap { start: MAPPED_AT, path, build_id }]
}

#[test]
fn a_program_built_after_one_of_several_traces_is_not_used_for_that_trace() {
    let outer = folder();
    let [old, new, other] = ["old", "new", "other"].map(|name| outer.path().join(name));
    [&old, &new, &other].into_iter().for_each(|folder| fs::create_dir(folder).expect("made"));
    let program = program(&new, "");
    let at = address(&program, "outer") + 3;
    let recorded = written(&new, &map(text(&program), ""), &[&[at]]);
    let id = build_id(&program);
    let same_program = |folder: &Path, id: &str, seconds: u64| {
        let trace = written(folder, &map(text(&program), id), &[&[at]]);
        let written = fs::metadata(&program).and_then(|it| it.modified()).expect("a time");
        let before = written - std::time::Duration::from_secs(seconds);
        fs::File::options().append(true).open(&trace).and_then(|it| it.set_modified(before)).expect("set");
        trace
    };
    let both = |first: &Path, second: &Path| state(&[text(first), text(second)], "/work")[0].clone();
    let in_any_order = |first: &Path, second: &Path, expected: &str| {
        assert_eq!([both(first, second), both(second, first)], [expected; 2]);
    };
    in_any_order(&recorded, &same_program(&old, "", 0), "named");
    in_any_order(&recorded, &same_program(&old, "", 60), "other build");
    in_any_order(&recorded, &same_program(&old, &"cd".repeat(20), 0), "several builds");
    // An older trace of another program says nothing of this one.
    let unrelated = written(&other, &map("/usr/lib/longspan-test/libmissing.so", ""), &[&[at]]);
    fs::File::options()
        .append(true)
        .open(&unrelated)
        .and_then(|it| it.set_modified(std::time::UNIX_EPOCH))
        .expect("set");
    in_any_order(&recorded, &unrelated, "named");
    let with_id = same_program(&new, &id, 0);
    in_any_order(&with_id, &same_program(&old, "", 0), "named");
    in_any_order(&with_id, &same_program(&old, "", 60), "several builds");
}

#[test]
fn a_trace_without_addresses_has_no_modules() {
    let folder = folder();
    let file = folder.path().join("spans.json");
    fs::write(&file, r#"[{"name":"a","ph":"X","ts":0,"dur":1,"pid":1,"tid":1}]"#).expect("written");
    let output = longspan(&["symbols", "--no-cache", text(&file)]);
    assert!(output.stderr.contains("no frame has an address"), "{}", output.stderr);
    assert_eq!(output.done().lines().count(), 1);
    longspan(&["symbols", "--no-cache", text(&file), "--symbols", "/", "--no-symbols"]).failed(2);
}

#[test]
fn a_function_interrupted_at_its_first_byte_has_its_own_name() {
    let folder = folder();
    let program = program(folder.path(), "");
    let (outer, main) = (address(&program, "outer"), address(&program, "main") + 5);
    let maps = [
        RecordedMap { start: MAPPED_AT, path: text(&program), build_id: &build_id(&program) },
        RecordedMap { start: KERNEL_AT, path: "[kernel.kallsyms]_text", build_id: "" },
    ];
    let file = written(folder.path(), &maps, &[&[KERNEL_AT + 0x40, outer, main]]);
    // The address is not a call, so it must not be moved back before the start of the function.
    let all = folded(&[text(&file)]);
    let [path] = &all[..] else { panic!("{all:?}") };
    let frames: Vec<&str> = path.split(';').collect();
    assert_eq!(frames[..2], ["main", "outer"], "{path}");
    assert!(frames[frames.len() - 1].starts_with("[kernel.kallsyms]+0x"), "{path}");
}

/// Returns the files that a command opens and the programs that it starts, by strace.
#[cfg(target_os = "linux")]
pub(crate) fn opened(folder: &Path, args: &[&str]) -> Vec<String> {
    let log = folder.join("strace.log");
    let calls = "--trace=open,openat,openat2,creat,execve,connect";
    let output = Command::new("strace")
        .args(["-f", "-qq", "-s", "4096", calls, "-o", text(&log), env!("CARGO_BIN_EXE_longspan")])
        .args(args)
        .env("HOME", NO_FOLDER)
        .output()
        .expect("strace, which .ci/setup installs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let log = fs::read_to_string(log).expect("a log");
    assert!(!log.contains("connect("), "{log}");
    let is_done = |line: &&str| line.rsplit_once(" = ").is_some_and(|(_, result)| !result.starts_with('-'));
    let path = |line: &str| line.split('"').nth(1).map(str::to_owned);
    log.lines().filter(is_done).filter_map(path).collect()
}

#[cfg(target_os = "linux")]
#[test]
fn no_file_outside_the_searched_folders_is_opened_for_any_recorded_path() {
    use std::os::unix::fs::symlink;
    let (folder, outside) = (folder(), folder());
    let inside = |name: &str| folder.path().join(name);
    let secret = program(outside.path(), "");
    let id = build_id(&secret);
    let apart = outside.path().join("apart.dbg");
    run(Command::new("objcopy").arg("--only-keep-debug").args([&secret, &apart]));
    // A stripped program is beside the trace. Links to its debug file and its build-id lead out of the folder.
    let stripped = inside("stripped");
    run(Command::new("objcopy")
        .arg("--strip-all")
        .arg(format!("--add-gnu-debuglink={}", text(&apart)))
        .args([&secret, &stripped]));
    symlink(&apart, inside("apart.dbg")).expect("linked");
    symlink(&secret, inside("link")).expect("linked");
    symlink(outside.path(), inside("folder")).expect("linked");
    let by_id = inside(&format!(".build-id/{}", &id[..2]));
    fs::create_dir_all(&by_id).expect("made");
    symlink(&apart, by_id.join(format!("{}.debug", &id[2..]))).expect("linked");
    let up = inside("..").join(outside.path().file_name().expect("a name")).join("work");
    let (link, below) = (inside("link"), inside("folder/work"));
    let paths = [
        text(&secret),
        text(&link),
        text(&below),
        text(&up),
        text(&stripped),
        "/proc/1/environ",
        "/dev/zero",
        "/etc/passwd",
    ];
    let start = |row: usize| MAPPED_AT + row as u64 * 0x1000_0000;
    let maps: Vec<_> =
        (0..).zip(paths).map(|(row, path)| RecordedMap { start: start(row), path, build_id: &id }).collect();
    let stacks: Vec<[u64; 1]> = (0..paths.len()).map(|row| [start(row) + 0x1140]).collect();
    let stacks: Vec<&[u64]> = stacks.iter().map(|stack| &stack[..]).collect();
    let file = written(folder.path(), &maps, &stacks);

    let args = ["symbols", "--no-cache", text(&file)];
    let all = opened(folder.path(), &args);
    assert!(all.iter().any(|path| path == text(&file)) && all.iter().any(|path| path == text(&stripped)), "{all:?}");
    let is_refused = |path: &&String| {
        path.starts_with(text(outside.path())) || paths[5..].contains(&path.as_str()) || path.contains("/folder/")
    };
    assert_eq!(all.iter().find(is_refused), None);
    let programs = all.iter().filter(|path| *path == env!("CARGO_BIN_EXE_longspan")).count();
    assert_eq!(programs, 1, "no other program is started: {all:?}");
    // The folder that the user gave is searched, so the test sees the files opened there.
    let given = opened(folder.path(), &[&args[..], &["--symbols", text(outside.path())]].concat());
    assert!(given.iter().any(|path| path.starts_with(text(outside.path()))), "{given:?}");
}

/// The folders and links of `perf archive`: build-ids link to files below the recorded paths.
#[cfg(target_os = "linux")]
#[test]
fn a_perf_archive_is_searched_like_a_folder_and_by_itself_beside_its_trace() {
    let (folder, elsewhere) = (folder(), folder());
    let program = program(folder.path(), "");
    let (file, digits) = (recording(folder.path(), &program), build_id(&program));
    let archived = elsewhere.path().join("archived");
    let below = format!("home/ann/work/{digits}");
    fs::create_dir_all(archived.join(&below)).expect("made");
    fs::rename(&program, archived.join(&below).join("elf")).expect("moved");
    let links = archived.join(".build-id").join(&digits[..2]);
    fs::create_dir_all(&links).expect("made");
    std::os::unix::fs::symlink(format!("../../{below}"), links.join(&digits[2..])).expect("linked");
    for (option, name) in [("-cf", "a.tar"), ("-czf", "perf data.tar.gz"), ("-cjf", "no ending"), ("-cJf", "a.tar.xz")]
    {
        let archive = elsewhere.path().join(name);
        run(Command::new("tar").arg(option).arg(&archive).arg("-C").arg(&archived).args([".build-id", "home"]));
        if name != "a.tar.xz" {
            assert_eq!(state(&[text(&file), "--symbols", text(&archive)], "/work"), ["named", "2", ""], "{name}");
        }
    }
    fs::remove_dir_all(&archived).expect("removed");
    assert_ne!(state(&[text(&file)], "/work")[0], "named");
    // An archive that is cut after its first files is used as far as it was read.
    let whole = fs::read(elsewhere.path().join("a.tar")).expect("read");
    let cut = elsewhere.path().join("cut.tar");
    fs::write(&cut, &whole[..whole.len() / 2]).expect("written");
    let output = longspan(&["symbols", "--no-cache", text(&file), "--symbols", text(&cut)]);
    assert_eq!(output.status, Some(0), "{}", output.stderr);
    assert!(output.stderr.contains("cut.tar: not unpacked completely: it ends early"), "{}", output.stderr);
    // One that longspan does not unpack is refused with a command that does.
    let packed = elsewhere.path().join("a.tar.xz");
    let message = longspan(&["symbols", "--no-cache", text(&file), "--symbols", text(&packed)]).failed(2);
    let command = message.split("name the folder: ").nth(1).expect("a command").lines().next().expect("a line");
    run(Command::new("sh").args(["-c", command]));
    let unpacked = command.rsplit(" -C ").next().expect("a folder").trim_matches('\'');
    assert_eq!(state(&[text(&file), "--symbols", unpacked], "/work"), ["named", "2", ""]);
    let message = longspan(&["symbols", "--no-cache", text(&file), "--symbols", text(&file)]).failed(2);
    assert!(message.contains("neither a folder nor an archive"), "{message}");
    // Beside the trace, the archive of its name is found.
    let mut beside = file.clone().into_os_string();
    beside.push(".tar.bz2");
    fs::rename(elsewhere.path().join("no ending"), &beside).expect("moved");
    assert_eq!(state(&[text(&file)], "/work"), ["named", "2", ""]);
}

/// A trace in Spall's automatic format: `main` is entered and calls `inner`.
#[cfg(target_os = "linux")]
#[test]
fn an_inaccessible_folder_is_refused_with_the_reason() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = folder();
    let file = recording(folder.path(), &program(folder.path(), ""));
    let locked = folder.path().join("locked");
    fs::create_dir(&locked).expect("made");
    fs::set_permissions(&locked, fs::Permissions::from_mode(0o000)).expect("locked");
    let longspan = env!("CARGO_BIN_EXE_longspan");
    // Root enters any folder unless it gives that up.
    let start = || {
        if fs::read_dir(&locked).is_err() {
            return Command::new(longspan);
        }
        let mut command = Command::new("setpriv");
        command.args(["--bounding-set=-dac_override,-dac_read_search", longspan]);
        command
    };
    let below = locked.join("below");
    for refused in [&locked, &below] {
        let arguments = ["symbols", "--no-cache", text(&file), "--symbols", text(refused)];
        let output = start().args(arguments).output().expect("setpriv, which .ci/setup installs");
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{message}");
        assert!(message.contains(&format!("{}: permission denied", text(refused))), "{message}");
    }
}

#[test]
fn spans_of_instrumented_functions_are_symbolized() {
    let folder = folder();
    let program = program(folder.path(), "");
    let path = text(&program).as_bytes();
    let header = [0xabad_f00d, 3, 1f64.to_bits(), MAPPED_AT].map(u64::to_le_bytes).concat();
    let (main, outer) = (address(&program, "main"), address(&program, "outer"));
    // One tick after the previous event. Addresses are XORed with the previous one, in 8 bytes.
    let enter = |address: u64| [&[0b1100, 1][..], &address.to_le_bytes(), &[0]].concat();
    let buffer = [enter(main), enter(main ^ outer), vec![0x40, 1, 0x40, 1]].concat();
    let size = u32::try_from(buffer.len()).expect("few").to_le_bytes();
    let buffer = [&size[..], &7u32.to_le_bytes(), &1000u64.to_le_bytes(), &2u32.to_le_bytes(), &buffer].concat();
    let file = folder.path().join("auto.spall");
    let path_len = u16::try_from(path.len()).expect("a path").to_le_bytes();
    fs::write(&file, [&header, &path_len[..], path, &buffer].concat()).expect("written");
    let stats = |args: &[&str]| longspan(&[&["stats", "--no-cache", text(&file)], args].concat()).done();
    let named = stats(&[]);
    assert!(named.contains("main") && named.contains("outer") && !named.contains("work+0x"), "{named}");
    let raw = stats(&["--no-symbols"]);
    assert!(raw.contains(&format!("work+{:#x}", outer - MAPPED_AT)) && !raw.contains("outer"), "{raw}");
    assert_eq!(state(&[text(&file)], "/work")[1], "2");
}

#[test]
fn two_programs_with_one_file_name_are_two_modules() {
    let outer = folder();
    let [first, second] = ["d1", "d2"].map(|name| {
        let folder = outer.path().join(name);
        fs::create_dir(&folder).expect("made");
        // This is another build, with the same addresses.
        program(&folder, &format!("int salt_{name};"))
    });
    let starts = [MAPPED_AT, MAPPED_AT + 0x1000_0000];
    let ids = [&first, &second].map(|program| build_id(program));
    assert_ne!(ids[0], ids[1]);
    let maps = [(starts[0], &first, &ids[0]), (starts[1], &second, &ids[1])]
        .map(|(start, path, build_id)| RecordedMap { start, path: text(path), build_id });
    let main = [address(&first, "main") + 5, address(&second, "main") + 5 + starts[1] - starts[0]];
    let file = written(outer.path(), &maps, &[&[main[0]], &[main[1]], &[main[1]]]);
    let run = |args: &[&str]| longspan(&[args, &["--no-cache", text(&file)]].concat());
    let rows = |by: &str| {
        let table = run(&["stats", by]).done();
        records(&table).into_iter().map(|row| row[2..row.len() - 4].join(" ")).collect::<Vec<_>>()
    };
    assert_eq!(rows("--samples=module"), ["d2/work", "d1/work"]);
    assert_eq!(rows("--samples=function-module"), ["main d2/work", "main d1/work"]);
    assert_eq!(rows("--samples"), ["main"]);
    let flame = |module: &str| run(&["flame", "--collapse-module", module]).done();
    for (module, paths) in [
        ("d1/work", "[d1/work] 1\nmain 2\n"),
        (text(&second), "main 1\n[d2/work] 2\n"),
        ("work", "[d1/work] 1\n[d2/work] 2\n"),
    ] {
        assert_eq!(flame(module), paths);
    }
    let annotate = |args: &[&str]| longspan(&[&["annotate", "--no-cache", text(&file), "main"], args].concat());
    let several = annotate(&[]);
    assert!(several.stderr.contains("/d1/work, `main` of "), "{}", several.stderr);
    for (module, samples) in [("d1/work", "1"), (text(&second), "2")] {
        let lines = records(&annotate(&["--module", module]).done());
        assert!(lines.iter().any(|line| line[5] == samples), "{lines:?}");
    }
}

#[test]
fn a_missing_symbol_folder_is_named_on_stderr() {
    let folder = folder();
    let file = recording(folder.path(), &program(folder.path(), ""));
    let missing = folder.path().join("none");
    let message = |option: &str| format!("longspan: {option} {}: no such folder\n", text(&missing));
    let output = longspan(&["symbols", "--no-cache", text(&file), "--symbols", text(&missing)]);
    assert_eq!(output.stderr, message("--symbols"));
    output.done();
    let map = format!("/build={}", text(&missing));
    let output = longspan(&["annotate", "--no-cache", text(&file), "main", "--source-map", &map]);
    assert!(output.stderr.contains(&message("--source-map")), "{}", output.stderr);
    output.done();
}
