//! Names of functions as scripts see them: of a program that is compiled, and a recording of it that is written.

use std::fs;
use std::process::Command;

use serde_json::Value;

use crate::harness::{folder, longspan, records, text};
use crate::recording::{build_id, program, recording, run};

/// Runs `symbols`, and returns state, named frames and command of the modules that end so.
fn state(words: &[&str], module: &str) -> [String; 3] {
    let text = longspan(&[&["symbols", "--no-cache"], words].concat()).done();
    assert!(text.starts_with("module,build_id,samples,frames,named,state,verified,file,command\n"), "{text}");
    let table = records(&text);
    let row = table.iter().find(|row| row[0].ends_with(module)).unwrap_or_else(|| panic!("{table:?}"));
    [row[5].clone(), row[4].clone(), row[8].clone()]
}

fn folded(words: &[&str]) -> Vec<String> {
    let text = longspan(&[&["flame", "--no-cache"], words].concat()).done();
    text.lines().map(str::to_owned).collect()
}

#[test]
fn functions_have_their_names_unless_the_user_says_not_to() {
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
    assert!(stats.stderr.contains("2 of 3 functions have names"), "{}", stats.stderr);
    let stats = stats.done();
    assert!(stats.contains(",inner,2,2,2,2\n") && stats.contains(",main,0,3,0,3\n"), "{stats}");
    assert!(longspan(&["dump", "--no-cache", file]).done().contains(r#""stack":["inner","outer","main"]"#));
    // Exports are as recorded, unless names are asked for.
    for (words, expected) in [(&["--symbolized"][..], true), (&[], false)] {
        for output in ["out.json", "out.pftrace", "out.longspan", "out.pb.gz"] {
            let output = folder.path().join(output);
            longspan(&[&["export", "--no-cache", file, "-o", text(&output)], words].concat()).done();
            let mut all = folded(&[text(&output), "--no-symbols"]);
            all.sort();
            assert_eq!(all == named, expected, "{}: {all:?}", output.display());
        }
    }
    // An export as recorded still knows its modules: that without --symbolized was the last.
    let mut all = folded(&[text(&folder.path().join("out.longspan"))]);
    all.sort();
    assert_eq!(all, named);
}

#[test]
fn the_modules_say_why_names_are_missing_and_what_brings_them() {
    let folder = folder();
    let program = program(folder.path(), "");
    let (digits, file) = (build_id(&program), recording(folder.path(), &program));
    let file = text(&file);
    let work = |words: &[&str]| state(&[&[file], words].concat(), "/work");
    let fetch = format!("debuginfod-find debuginfo {digits}");
    assert_eq!(work(&[]), ["named", "2", ""]);
    assert_eq!(work(&["--no-symbols"])[1], "0");
    let missing = format!("debuginfod-find debuginfo {}", "ab".repeat(20));
    assert_eq!(state(&[file], "libmissing.so"), ["no file", "0", &missing]);

    let kept = folder.path().join("kept");
    fs::create_dir_all(&kept).expect("made");
    fs::copy(&program, kept.join("work")).expect("copied");
    run(Command::new("strip").arg("-g").arg(&program));
    assert_eq!(work(&[]), ["no debug info", "2", &fetch]);
    run(Command::new("strip").arg(&program));
    assert_eq!(work(&[]), ["stripped", "0", &fetch]);
    assert_eq!(work(&["--symbols", text(&kept)]), ["named", "2", ""]);
    // Another program at the path is not asked for names.
    crate::recording::program(folder.path(), "int other(int x) { return x + 1; }");
    assert_eq!(work(&[]), ["other build", "0", &fetch]);
    assert_eq!(work(&["--symbols", text(&kept)]), ["named", "2", ""]);
    fs::remove_file(&program).expect("removed");
    assert_eq!(work(&[]), ["no file", "0", &fetch]);
    // A trace in another folder: the program is outside what is searched.
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
fn a_trace_without_addresses_has_no_modules() {
    let folder = folder();
    let file = folder.path().join("spans.json");
    fs::write(&file, r#"[{"name":"a","ph":"X","ts":0,"dur":1,"pid":1,"tid":1}]"#).expect("written");
    let answer = longspan(&["symbols", "--no-cache", text(&file)]);
    assert!(answer.stderr.contains("no frame has an address"), "{}", answer.stderr);
    assert_eq!(answer.done().lines().count(), 1);
    longspan(&["symbols", "--no-cache", text(&file), "--symbols", "/", "--no-symbols"]).failed(2);
}
