//! Profiles with addresses from recorders other than perf: Perfetto, samply, Firefox, and pprof. Each test compiles a
//! program, writes a profile of it, and compares function names with nm and the source.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::harness::{command, folder, longspan, records, text};
use crate::protobuf::{Message, message};
use crate::recording::{MAPPED_AT, address, build_id, program, run};

/// A program whose code addresses equal neither its file offsets nor its image offsets.
struct Moved {
    path: PathBuf,
    build_id: Vec<u8>,
    /// Linked addresses: in `outer` where `inner` was inlined, and after its call in `main`.
    linked: [u64; 2],
}

impl Moved {
    fn compile(folder: &Path) -> Self {
        // All recordings have the same source.
        program(folder, "");
        let (source, path) = (folder.join("work.c"), folder.join("moved"));
        let place = ["-no-pie", "-Wl,--section-start=.text=0x480000", "-Wl,--build-id"];
        run(Command::new("gcc").args(["-O2", "-g", "-fno-ipa-icf"]).args(place).arg(&source).arg("-o").arg(&path));
        let digits = build_id(&path);
        let byte = |at| u8::from_str_radix(&digits[at..at + 2], 16).expect("a byte");
        let build_id = (0..digits.len()).step_by(2).map(byte).collect();
        let linked = [address(&path, "outer") - MAPPED_AT + 3, address(&path, "main") - MAPPED_AT + 5];
        Self { path, build_id, linked }
    }

    /// Returns the loaded segments, by readelf: offset, address and size.
    fn segments(&self) -> Vec<[u64; 3]> {
        let number = |word: &str| u64::from_str_radix(word.trim_start_matches("0x"), 16).expect("a number");
        let table = run(Command::new("readelf").arg("-lW").arg(&self.path));
        let rows = table.lines().filter_map(|line| line.trim().strip_prefix("LOAD"));
        let row = |row: &str| {
            let args: Vec<u64> = row.split_whitespace().take(4).map(number).collect();
            [args[0], args[1], args[3]]
        };
        rows.map(row).collect()
    }

    fn offset(&self, address: u64) -> u64 {
        let segments = self.segments();
        let [offset, start, _] = segments.iter().find(|it| (it[1]..it[1] + it[2]).contains(&address)).expect("loaded");
        address - start + offset
    }

    fn in_image(&self, address: u64) -> u64 {
        address - self.segments()[0][1]
    }

    fn path(&self) -> &str {
        text(&self.path)
    }

    fn digits(&self) -> String {
        self.build_id.iter().fold(String::new(), |digits, byte| format!("{digits}{byte:02x}"))
    }
}

/// Stack 1 is main, outer. Stack 2 is an address in a missing file, called by main.
fn perfetto(moved: &Moved) -> Vec<u8> {
    let text = |iid: u64, text: &[u8]| message().number(1, iid).bytes(2, text);
    // Perfetto has already moved the address of a call back.
    let frame = |iid: u64, mapping: u64, address: u64| message().number(1, iid).number(3, mapping).number(4, address);
    let parts = moved.path().trim_start_matches('/').split_once('/').expect("folders");
    let tables = message()
        .message(16, &text(1, &moved.build_id))
        .message(17, &text(1, parts.0.as_bytes()))
        .message(17, &text(2, parts.1.as_bytes()))
        .message(17, &text(3, b"/usr/lib/longspan-test/libmissing.so"))
        .message(19, &message().number(1, 1).number(2, 1).number(7, 1).number(7, 2))
        .message(19, &message().number(1, 2).number(7, 3))
        .message(6, &frame(1, 1, moved.linked[0]))
        .message(6, &frame(2, 1, moved.linked[1] - 1))
        .message(6, &frame(3, 2, 0x40))
        .message(7, &message().number(1, 1).number(2, 2).number(2, 1))
        .message(7, &message().number(1, 2).number(2, 2).number(2, 3));
    let sample = |ts_ns: u64, stack: u64| {
        let sample = message().number(1, 0).number(2, 7).number(3, 7).number(4, stack);
        message().number(8, ts_ns).number(10, 1).message(66, &sample)
    };
    let first = message().number(10, 1).number(13, 1).message(12, &tables);
    let packets = [first, sample(1000, 1), sample(2000, 1), sample(3000, 2)];
    packets.iter().fold(message(), |trace, packet| trace.message(1, packet)).0
}

/// Writes the same stacks, of two samples and one. With `has_names`, the profile names its functions, also the inlined
/// one.
fn pprof(moved: &Moved, has_names: bool) -> Vec<u8> {
    const MAPPED: u64 = 0x7000_0000;
    // This mapping has only the code, aligned to a page.
    let [code, caller] = moved.linked.map(|address| moved.offset(address));
    let page = code & !0xfff;
    let location = |id: u64, mapping: u64, address: u64, functions: &[u64]| {
        let line = |location: Message, function: &u64| location.message(4, &message().number(1, *function));
        let location = message().number(1, id).number(2, mapping).number(3, address);
        if has_names { functions.iter().fold(location, line) } else { location }
    };
    let mapping = message().number(1, 1).number(2, MAPPED).number(3, MAPPED + 0x10000).number(4, page).number(5, 3);
    let missing = "/usr/lib/longspan-test/libmissing.so";
    let texts = ["", "samples", "count", moved.path(), missing, &moved.digits(), "inner", "outer", "main"];
    let texts = texts.map(str::to_owned);
    let function = |id: u64, name: u64| message().number(1, id).number(2, name);
    let profile = message()
        .message(1, &message().number(1, 1).number(2, 2))
        .message(2, &message().bytes(1, &[1, 2]).bytes(2, &[2]))
        .message(2, &message().bytes(1, &[3, 2]).bytes(2, &[1]))
        .message(3, &mapping.number(6, 5))
        .message(3, &message().number(1, 2).number(5, 4))
        .message(4, &location(1, 1, MAPPED + code - page, &[1, 2]))
        .message(4, &location(2, 1, MAPPED + caller - page, &[3]))
        .message(4, &location(3, 2, 0x40, &[]))
        .message(5, &function(1, 6))
        .message(5, &function(2, 7))
        .message(5, &function(3, 8));
    texts.iter().fold(profile, |profile, text| profile.bytes(6, text.as_bytes())).0
}

/// The processed format, as written by samply: call addresses are moved back.
fn samply(moved: &Moved, identity: &str) -> String {
    let [code, caller] = [moved.in_image(moved.linked[0]), moved.in_image(moved.linked[1]) - 1];
    format!(
        r#"{{"meta":{{"interval":1,"startTime":1000,"preprocessedProfileVersion":49,"categories":[]}},
"libs":[{{"name":"moved","path":"{}",{identity}}},
 {{"name":"libmissing.so","path":"/usr/lib/longspan-test/libmissing.so"}}],
"threads":[{{"name":"main","pid":7,"tid":7,
 "samples":{{"length":3,"stack":[1,1,2],"timeDeltas":[1,1,1]}},"markers":{{"length":0}},
 "stackTable":{{"length":3,"prefix":[null,0,0],"frame":[0,1,2]}},
 "frameTable":{{"length":3,"func":[0,1,2],"line":[null,null,null],"address":[{caller},{code},64]}},
 "funcTable":{{"length":3,"name":[0,1,2],"fileName":[null,null,null],"resource":[0,0,1]}},
 "resourceTable":{{"length":2,"lib":[0,1],"name":[0,0]}},
 "stringArray":["{caller:#x}","{code:#x}","0x40"]}}]}}"#,
        moved.path()
    )
}

/// The format that Firefox writes on exit, with addresses in memory.
fn gecko(moved: &Moved) -> String {
    let [code, caller] = moved.linked.map(|address| MAPPED_AT + moved.in_image(address));
    let (missing, end) = (MAPPED_AT + 0x1000_0000, MAPPED_AT + 0x100_0000);
    format!(
        r#"{{"meta":{{"version":24,"interval":1,"startTime":1000,"categories":[]}},
"libs":[{{"name":"moved","path":"{}","codeId":"{}","start":{MAPPED_AT},"end":{end},"offset":0}},
 {{"name":"libmissing.so","path":"/usr/lib/longspan-test/libmissing.so","start":{missing},"end":{}}}],
"threads":[{{"name":"main","pid":"7","tid":7,
 "samples":{{"schema":{{"stack":0,"time":1}},"data":[[1,1],[1,2],[2,3]]}},
 "markers":{{"schema":{{"name":0}},"data":[]}},
 "stackTable":{{"schema":{{"prefix":0,"frame":1}},"data":[[null,0],[0,1],[0,2]]}},
 "frameTable":{{"schema":{{"location":0}},"data":[[0],[1],[2]]}},
 "stringTable":["{caller:#x}","{code:#x}","{:#x}"]}}],"processes":[]}}"#,
        moved.path(),
        moved.digits(),
        missing + 0x1000,
        missing + 0x40,
    )
}

fn folded(args: &[&str]) -> Vec<String> {
    let text = longspan(&[&["flame", "--no-cache"], args].concat()).done();
    let mut all: Vec<String> = text.lines().map(str::to_owned).collect();
    all.sort();
    all
}

#[test]
fn frames_of_other_recorders_are_symbolized_by_their_addresses() {
    let folder = folder();
    let moved = Moved::compile(folder.path());
    assert!(moved.offset(moved.linked[0]) != moved.in_image(moved.linked[0]), "the two are to differ");
    let code_id = format!(r#""codeId":"{}","breakpadId":"{}""#, moved.digits(), "0".repeat(33));
    // The Breakpad id: numbers from the first bytes of the build-id, and an age.
    let of_bytes = [3, 2, 1, 0, 5, 4, 7, 6].into_iter().chain(8..16).map(|at| moved.build_id[at]);
    let guid = of_bytes.fold(String::new(), |digits, byte| format!("{digits}{byte:02X}"));
    let breakpad = format!(r#""codeId":null,"breakpadId":"{guid}0""#);
    let files = [
        ("stacks.pftrace", perfetto(&moved)),
        ("heap.pb", pprof(&moved, false)),
        ("samply.json", samply(&moved, &code_id).into()),
        ("breakpad.json", samply(&moved, &breakpad).into()),
        ("gecko.json", gecko(&moved).into()),
    ];
    for (name, bytes) in files {
        let file = folder.path().join(name);
        fs::write(&file, bytes).expect("written");
        let file = text(&file);
        assert_eq!(folded(&[file]), ["main;libmissing.so+0x40 1", "main;outer;inner 2"], "{name}");
        let raw = folded(&[file, "--no-symbols"]);
        assert!(raw.len() == 2 && raw.iter().all(|path| path.starts_with("moved+0x")), "{name}: {raw:?}");
        let table = records(&longspan(&["symbols", "--no-cache", file]).done());
        let row = |end: &str| table.iter().find(|row| row[0].ends_with(end)).expect("a module").clone();
        let (own, missing) = (row("/moved"), row("/libmissing.so"));
        // A pprof profile has one sample per stack.
        let samples = if name == "heap.pb" { "2" } else { "3" };
        assert_eq!((&*own[2], &*own[5], &*own[6]), (samples, "named", "yes"), "{name}: {own:?}");
        assert_eq!((&*missing[2], &*missing[5]), ("1", "no file"), "{name}: {missing:?}");
        // Cached names are separate for each recording, since its addresses have another base.
        let cache = folder.path().join("cache");
        for _ in 0..2 {
            let text = longspan(&["flame", "--cache", text(&cache), file]).done();
            assert!(text.contains("main;outer;inner 2"), "{name}: {text}");
        }
    }
    // Another build of the program does not symbolize anything.
    let other = ["-no-pie", "-O1", "-g", "-Wl,--section-start=.text=0x480000", "-Wl,--build-id"];
    run(Command::new("gcc").args(other).arg(folder.path().join("work.c")).arg("-o").arg(&moved.path));
    for name in ["stacks.pftrace", "heap.pb", "samply.json", "breakpad.json", "gecko.json"] {
        let table = records(&longspan(&["symbols", "--no-cache", text(&folder.path().join(name))]).done());
        let own = table.iter().find(|row| row[0].ends_with("/moved")).expect("a module");
        assert_eq!((&*own[4], &*own[5]), ("0", "other build"), "{name}");
    }
}

/// Returns samples by module, functions with their modules, and modules with their build-ids, as the trace shows them.
fn modules_of(file: &Path) -> [Vec<Vec<String>>; 3] {
    let file = text(file);
    let sorted = |mut rows: Vec<Vec<String>>| {
        rows.sort();
        rows
    };
    let weights = |grouping: &str| {
        let table = records(&longspan(&["stats", "--no-cache", file, grouping]).done());
        // Samples of one stack are merged in a profile, so these are not counted.
        sorted(table.into_iter().map(|row| row[2..5].to_vec()).collect())
    };
    let symbols = records(&longspan(&["symbols", "--no-cache", file]).done());
    let named = symbols.into_iter().map(|row| [&row[..2], &row[3..6]].concat());
    [weights("--samples=module"), weights("--samples=function"), sorted(named.collect())]
}

#[test]
fn a_profile_with_function_names_is_annotated_by_its_addresses() {
    let folder = folder();
    let moved = Moved::compile(folder.path());
    let [unnamed, named] = [false, true].map(|has_names| {
        let file = folder.path().join(if has_names { "named.pb" } else { "unnamed.pb" });
        fs::write(&file, pprof(&moved, has_names)).expect("written");
        file
    });
    assert_eq!(folded(&[text(&named), "--no-symbols"]), ["main;libmissing.so+0x40 1", "main;outer;inner 2"]);
    for function in ["main", "outer", "inner"] {
        for side in [&["--assembly"][..], &[]] {
            let [expected, found] = [&unnamed, &named]
                .map(|file| longspan(&[&["annotate", "--no-cache", text(file), function], side].concat()));
            assert_eq!(found.stdout, expected.stdout, "{function} {side:?}");
            assert!(expected.stdout.lines().count() > 2, "{expected:?}");
        }
    }
    // Without the file, or in a part by time, there is no code.
    let missing = |more: &[&str]| {
        let args = [&["annotate", "--no-cache", text(&named), "outer"][..], more].concat();
        let result = longspan(&args);
        assert_eq!(result.stdout.lines().count(), 1, "{result:?}");
        result.stderr
    };
    let by_name = "outer: its samples were imported by name, without addresses";
    for part in [["--from", "+0ns"], ["--filter", "dur<1s"]] {
        let remedy = format!("{by_name}; without --from, --to and --filter they are read by address");
        assert!(missing(&part).contains(&remedy), "{part:?}: {}", missing(&part));
    }
    // A profile from a pipe or in an archive is not read again, whatever the scope.
    let archive = folder.path().join("named.tar");
    run(Command::new("tar").arg("-cf").arg(&archive).arg("-C").arg(folder.path()).arg("named.pb"));
    for part in [&[][..], &["--from", "+0ns"]] {
        for file in ["-", text(&archive)] {
            let args = [&["annotate", "--no-cache", file, "outer"][..], part].concat();
            let output = command(&args).stdin(fs::File::open(&named).expect("a file")).output().expect("an answer");
            let stderr = String::from_utf8_lossy(&output.stderr);
            assert!(stderr.contains(&format!("{by_name}, so its code cannot be listed")), "{file} {part:?}: {stderr}");
        }
    }
    fs::remove_file(&moved.path).expect("a file");
    assert!(missing(&[]).contains("its file was not found"), "{}", missing(&[]));
}

#[test]
fn modules_of_functions_and_addresses_survive_pprof_and_perfetto() {
    let folder = folder();
    let moved = Moved::compile(folder.path());
    let code_id = format!(r#""codeId":"{}","breakpadId":"{}""#, moved.digits(), "0".repeat(33));
    let at = |name: &str| folder.path().join(name);
    let files = [
        ("stacks.pftrace", perfetto(&moved)),
        ("heap.pb", pprof(&moved, false)),
        ("samply.json", samply(&moved, &code_id).into()),
    ];
    for (name, bytes) in files {
        fs::write(at(name), bytes).expect("written");
        // Addresses are looked up after the export, functions before.
        for symbols in [&[][..], &["--symbolized"]] {
            let (recorded, native) = (at(name), at("native.longspan"));
            let args = ["export", "--no-cache", text(&recorded), "-o", text(&native)];
            longspan(&[&args[..], symbols].concat()).done();
            let expected = modules_of(&native);
            assert!(expected[0].iter().any(|row| row[0] == "moved"), "{name}: {expected:?}");
            for other in ["other.pb.gz", "other.pftrace"] {
                longspan(&["export", "--no-cache", text(&native), "-o", text(&at(other))]).done();
                longspan(&["export", "--no-cache", text(&at(other)), "-o", text(&at("again.longspan"))]).done();
                assert_eq!(modules_of(&at("again.longspan")), expected, "{name}, {symbols:?}, {other}");
            }
        }
    }
}
