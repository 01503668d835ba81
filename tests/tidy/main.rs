//! Checks the rules of the repository by reading its files. Each rule is one table, and violations are reported with
//! file and line. The checks distinguish code from comments and text, but do not resolve names.

#[cfg(target_os = "linux")]
mod ci_test;
mod code;
mod documents;
mod imports;
mod numbers;
mod packages;
mod rings;
mod routing;
mod types;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use code::{code_of, without_tests, words};
use imports::{IMPORTS, PACKAGES, imports, module_of};
use numbers::bare_numbers;
use routing::wildcards;

/// The files that name field numbers; a test compares the numbers with the public definitions.
const NUMBERS: &[&str] = &[
    "src/formats/perfetto/fields.rs",
    "src/formats/perfetto/kernel_fields.rs",
    "src/formats/perfetto/device_fields.rs",
    "src/formats/perfetto/own_fields.rs",
    "src/formats/perfetto/packet_fields.rs",
    "src/formats/perfetto/statistics_fields.rs",
    "src/formats/otlp/fields.rs",
    "src/formats/profiles/pprof/fields.rs",
    "src/formats/profiles/pprof/own_fields.rs",
    "src/formats/protobuf/",
];

/// Banned text in code, the replacement to suggest, and the files that may contain it.
const BANS: &[(&str, &str, &[&str])] = &[
    ("unsafe", "a safe interface; maps are in base/mapped.rs", &["src/base/mapped.rs"]),
    ("todo!", "the thing itself", &[]),
    ("unimplemented!", "the thing itself", &[]),
    ("dbg!", "an assertion in a test", &[]),
    // These panic if stdout or stderr is closed or full.
    ("print!", "a `Write` that the caller gives", &[]),
    ("println!", "a `Write` that the caller gives", &["benches/", "tests/"]),
    ("eprint!", "an error that the caller shows, or cli::messages", &[]),
    ("eprintln!", "an error that the caller shows, or cli::messages", &["benches/"]),
    ("allow", "#[expect(lint, reason = \"..\")]", &[]),
    ("ignore", "a test fast enough to run always, or a bench", &[]),
    ("process::exit", "an exit status that `main` returns", &[]),
    ("FieldNumber::new", "a constant of fields.rs", &["src/formats/protobuf/"]),
    ("proto_numbers!", "a constant of fields.rs", NUMBERS),
    ("BitField::new", "a constant of fields.rs", &["src/formats/fxt/fields.rs"]),
];

/// The allowed entries of the top level.
const TOP_LEVEL: &[&str] = &[
    "CHANGELOG.md",
    "Cargo.toml",
    "Cargo.lock",
    "deny.toml",
    "LICENSE-APACHE",
    "LICENSE-MIT",
    "README.md",
    "SECURITY.md",
    "assets",
    "benches",
    "docs",
    "clippy.toml",
    "rustfmt.toml",
    "shaders",
    "src",
    "tests",
    ".ci",
    ".gitattributes",
    ".gitignore",
];

/// Openings of comments that say nothing about the subject.
const OPENINGS: &[&str] = &["What", "Whatever", "Whoever", "So many", "As no", "Whose"];

/// A longer file contains more than one idea.
const LINES_MAX: usize = 600;

/// The width of `rustfmt.toml`, which leaves comments alone.
const COMMENT_COLUMNS_MAX: usize = 120;

#[test]
fn the_repository_keeps_its_own_rules() {
    let files = source_files();
    assert!(files.len() > 10, "only {} source files were found", files.len());
    let problems: Vec<String> = files.iter().flat_map(|(path, text)| problems_of(path, text)).collect();
    assert!(problems.is_empty(), "\n{}\n", problems.join("\n"));
}

#[test]
fn no_files_import_each_other_in_a_ring() {
    let rings = rings::rings(&source_files());
    assert!(rings.is_empty(), "\n{}\n", rings.join("\n"));
}

#[test]
fn no_two_types_have_one_name() {
    let names = types::second_names(&source_files());
    assert!(names.is_empty(), "\n{}\n", names.join("\n"));
}

#[test]
fn tests_with_and_without_the_window_share_compiled_packages() {
    let manifest = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml"));
    let manifest = manifest.expect("a manifest");
    let missing = packages::missing_in_tests(&manifest);
    assert!(missing.is_empty(), "\n{}\n", missing.join("\n"));
    // Another layout of the manifest must not hide them all.
    assert!(packages::missing_in_tests(&manifest.replace("dev-dependencies]", "]")).len() > 5);
}

#[test]
fn the_top_level_holds_nothing_unexpected() {
    let mut unexpected = top_level();
    unexpected.retain(|name| !TOP_LEVEL.contains(&name.as_str()) && name != ".git");
    assert!(unexpected.is_empty(), "at the top level, but not in the table: {unexpected:?}");
}

/// Returns the tracked names at the top level; without a checkout, all names except build outputs.
fn top_level() -> BTreeSet<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let listed = Command::new("git").args(["ls-files", "-z"]).current_dir(root).output();
    if let Ok(output) = listed
        && output.status.success()
        && !output.stdout.is_empty()
    {
        let paths = String::from_utf8_lossy(&output.stdout).into_owned();
        let tops = paths.split_terminator('\0').filter_map(|path| path.split('/').next());
        return tops.map(str::to_owned).collect();
    }
    let entries = root.read_dir().expect("the sources are readable");
    let names = entries.map(|entry| entry.expect("the sources are readable").file_name());
    names.map(|name| name.to_string_lossy().into_owned()).filter(|name| name != "target").collect()
}

/// Returns every Rust and shader file, as its path from the root and its text.
fn source_files() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    let mut folders: Vec<PathBuf> = ["src", "tests", "benches", "shaders"].map(|folder| root.join(folder)).into();
    while let Some(folder) = folders.pop() {
        // A folder that does not exist in this revision needs no check.
        let Ok(entries) = folder.read_dir() else { continue };
        for entry in entries {
            let path = entry.expect("the sources are readable").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|kind| kind == "rs" || kind == "wgsl") {
                let text = std::fs::read_to_string(&path).expect("sources are UTF-8");
                let from_root = path.strip_prefix(root).expect("below the root");
                files.push((from_root.to_string_lossy().replace('\\', "/"), text));
            }
        }
    }
    files.sort();
    files
}

/// Returns all violations in one file.
fn problems_of(path: &str, text: &str) -> Vec<String> {
    let mut problems = Vec::new();
    let mut report = |line: usize, what: String| problems.push(format!("{path}:{line}: {what}"));

    let lines = text.lines().count();
    if lines > LINES_MAX {
        report(lines, format!("{lines} lines; more than {LINES_MAX} hold more than one idea"));
    }
    let is_rust = Path::new(path).extension().is_some_and(|kind| kind == "rs");
    let opening = if is_rust { "//!" } else { "//" };
    if !text.starts_with(opening) {
        report(1, format!("does not open with `{opening}` and what it does"));
    }
    if !is_rust {
        return problems;
    }

    for (number, line) in text.lines().enumerate() {
        if let Some(opening) = paraphrase(line) {
            report(number + 1, format!("a comment opens with `{opening}`; open with the noun"));
        }
        let columns = line.chars().count();
        if line.trim_start().starts_with("//") && columns > COMMENT_COLUMNS_MAX {
            report(number + 1, format!("a comment of {columns} columns; wrap it at {COMMENT_COLUMNS_MAX}"));
        }
    }
    let code = code_of(text);
    let line_of = |at: usize| code[..at].matches('\n').count() + 1;
    let kept_at_home = |homes: &[&str]| homes.iter().any(|home| path.starts_with(home));
    for (word, instead, homes) in BANS {
        for at in words(&code, word) {
            let in_attribute = !matches!(*word, "allow" | "ignore") || code[..at].trim_end().ends_with(['[', ',']);
            if in_attribute && !kept_at_home(homes) {
                report(line_of(at), format!("`{word}` is banned, use {instead}"));
            }
        }
    }
    for at in words(&code, "expect").filter(|&at| code[..at].ends_with('[')) {
        let end = code[at..].find(")]").map_or(code.len(), |length| at + length);
        for lint in allowed_lints().filter(|lint| words(&code[at..end], lint).next().is_some()) {
            report(line_of(at), format!("an `expect` of `{lint}`, which Cargo.toml allows; remove it"));
        }
        if !code[at..end].contains("reason = ") {
            report(line_of(at), "an `expect` without a reason; say why the lint is wrong here".to_owned());
        }
    }
    if !path.starts_with("src/") {
        return problems;
    }

    for (package, homes) in PACKAGES {
        for at in words(&code, package) {
            let used = code[at + package.len()..].starts_with("::") || code[..at].ends_with("use ");
            if used && !code[..at].ends_with("::") && !kept_at_home(homes) {
                report(line_of(at), format!("`{package}` is used outside of {}", homes.join(", ")));
            }
        }
    }
    // Tests may import from the right, since a round trip needs both ends.
    let code = without_tests(path, &code);
    let module = module_of(path);
    let Some((_, allowed)) = IMPORTS.iter().find(|(name, _)| *name == module) else {
        report(1, format!("the module `{module}` is not in the table of imports"));
        return problems;
    };
    for at in bare_numbers(path, &code) {
        report(line_of(at), "a bare number; name it in fields.rs".to_owned());
    }
    for (at, target) in imports(path, &code) {
        if target != module && !allowed.contains(&target) {
            report(line_of(at), format!("`{module}` may not import `{target}`"));
        }
    }
    for (at, routed) in wildcards(module, &code) {
        report(line_of(at), format!("an arm for every other `{routed}`; list the variants"));
    }
    problems
}

/// Returns the lints that the manifest allows.
fn allowed_lints() -> impl Iterator<Item = &'static str> {
    include_str!("../../Cargo.toml").lines().filter_map(|line| line.strip_suffix(" = \"allow\""))
}

/// Returns the word of [`OPENINGS`] at the start of a comment line.
fn paraphrase(line: &str) -> Option<&'static str> {
    let comment = line.trim_start().strip_prefix("//")?;
    let text = comment.strip_prefix(['/', '!']).unwrap_or(comment).strip_prefix(' ')?;
    OPENINGS.iter().copied().find(|opening| words(text, opening).next() == Some(0))
}

/// A line of 121 columns.
const LONG_COMMENT: &str = "// This comment is one column longer than the others may be, because the sentence goes on \
                            and on up to its very last word";

#[test]
fn a_broken_rule_is_found_and_named() {
    let cases = [
        ("src/model/a.rs", "use crate::formats::Reader;", "`model` may not import `formats`"),
        ("src/store/a.rs", "use crate::{base::time, query::{self, x}};", "`store` may not import `query`"),
        ("src/store/a.rs", "fn f() { let x = crate::ui::theme(); }", "`store` may not import `ui`"),
        ("src/store/a.rs", "use super::super::query::x;", "`store` may not import `query`"),
        ("src/store/mod.rs", "use super::query::x;", "`store` may not import `query`"),
        ("src/main.rs", "use longspan::store::x;", "`main` may not import `store`"),
        ("src/lib.rs", "pub use crate::base::time;", "`lib` may not import `base`"),
        ("src/nowhere/a.rs", "", "`nowhere` is not in the table"),
        ("src/ui/a.rs", "use wgpu::Device;", "`wgpu` is used outside of src/render/, src/app/"),
        ("src/scene/a.rs", "fn f(p: egui::Pos2) {}", "`egui` is used outside"),
        ("src/store/a.rs", "use memmap2;", "`memmap2` is used outside of src/base/mapped.rs"),
        ("src/store/a.rs", "fn f() { unsafe { g() } }", "`unsafe` is banned"),
        ("src/store/a.rs", "/// What it holds.\nstruct A;", "a.rs:3: a comment opens with `What`; open with the noun"),
        ("tests/a.rs", "    //! So many of them.", "opens with `So many`"),
        ("benches/a.rs", "fn f() {\n    // Whose it is.\n}", "a.rs:4: a comment opens with `Whose`"),
        ("src/store/a.rs", LONG_COMMENT, "a.rs:3: a comment of 121 columns; wrap it at 120"),
        ("src/store/a.rs", "fn f() { todo!() }", "`todo!` is banned, use the thing itself"),
        ("src/store/a.rs", "fn f() { println!(\"x\"); }", "`println!` is banned"),
        ("src/cli/a.rs", "fn f() { eprintln!(\"x\"); }", "`eprintln!` is banned"),
        ("src/cli/a.rs", "#[allow(dead_code)]\nfn f() {}", "`allow` is banned"),
        ("tests/a.rs", "#[test]\n#[ignore]\nfn f() {}", "a.rs:4: `ignore` is banned"),
        ("src/cli/a.rs", "#[expect(dead_code)]\nfn f() {}", "without a reason"),
        ("src/cli/a.rs", "#[expect(clippy::float_cmp, reason = \"x\")]\nfn f() {}", "which Cargo.toml allows"),
        (
            "src/app/a.rs",
            "fn f() { match (g(c), 1) {\n    (Command::App(_), 1) => { h() }\n    other => k(other),\n} }",
            "a.rs:5: an arm for every other `Command`",
        ),
        (
            "src/ui/a.rs",
            "fn f() { match c { NavigationStep::Left => match d { A => 1, _ => 2 }, _ => {} } }",
            "every other `NavigationStep`",
        ),
        ("src/formats/otlp/a.rs", "const A: FieldNumber = FieldNumber::new(3);", "`FieldNumber::new` is banned"),
        ("src/formats/perfetto/a.rs", "proto_numbers! {}", "`proto_numbers!` is banned, use a constant of fields.rs"),
        ("src/formats/fxt/a.rs", "const A: BitField = BitField::new(3, 4);", "`BitField::new` is banned"),
        ("src/formats/fxt/a.rs", "match TYPE.get(header) {\n    A => {}\n    3 => {}\n}", "a.rs:5: a bare number"),
        ("src/formats/fxt/a.rs", "let y = TYPE.get(header) == 3;", "a bare number"),
        ("src/formats/perfetto/a.rs", "match x {\n    A => {}\n    3 => {}\n}", "a.rs:5: a bare number"),
        ("src/formats/perfetto/a.rs", "match x {\n    A => {\n    }\n    B | 7 if y == 0 => {}\n}", "a.rs:6: a bare"),
        ("src/formats/perfetto/a.rs", "match x { Some((number @ (A | 5), Value::Bytes(b))) => b }", "a bare number"),
        ("src/formats/perfetto/a.rs", "match x { (Field { number: 4, value }, _) => value }", "a bare number"),
        ("src/formats/otlp/a.rs", "match x {\n    B => f(1),\n    0..=4 => f(x),\n}", "a.rs:5: a bare number"),
        ("src/formats/otlp/a.rs", "let y = matches!(f(x, 1), A | 6);", "a bare number"),
        ("src/formats/otlp/a.rs", "if let Some((9, value)) = f(1) {}", "a bare number"),
        ("src/formats/otlp/a.rs", "let y = value.number() == 3;", "a bare number"),
        ("src/formats/otlp/a.rs", "let y = field.number != 3;", "a bare number"),
    ];
    for (path, code, expected) in cases {
        let problems = problems_of(path, &format!("//! Does.\n\n{code}"));
        assert!(
            problems.len() == 1 && problems[0].contains(expected),
            "{path}: {code}\nfound {problems:?}\nnot {expected}"
        );
    }
    assert!(problems_of("src/base/a.rs", "fn f() {}")[0].contains("does not open with `//!`"));
    assert!(problems_of("src/base/a.rs", &"//! Long.\n".repeat(LINES_MAX + 1))[0].contains("601 lines"));
}

#[test]
fn code_that_only_looks_like_a_broken_rule_passes() {
    let cases = [
        ("src/store/a.rs", "/// Whatsoever.\nfn f() {} // What?\n/// The rest, what remains.\nfn g() {}"),
        ("src/ingest/a.rs", "use crate::{formats::Reader, store::lane::{LaneIdx, LaneInfo}};"),
        ("src/store/a.rs", "/// See [`crate::query::x`].\nfn f() {} // crate::query, todo!"),
        ("src/store/a.rs", "/* /* unsafe */ crate::ui::x */ fn f<'a>(x: &'a str) -> char { '\"' }"),
        ("src/store/a.rs", "const A: &str = \"crate::query::x \\\" unsafe\"; const B: &str = r#\"\" todo!()\"#;"),
        ("src/store/a.rs", "const Q: char = '\\''; const S: &str = \"unsafe\";"),
        ("src/store/a.rs", "#[cfg(test)]\nmod tests {\n    use crate::query::x;\n    fn f() { if true {} }\n}"),
        ("src/store/tests.rs", "use crate::query::x;"),
        ("src/store/a.rs", "mod b { use super::super::lane::x; }"),
        ("src/store/a.rs", "fn unsafe_names() { self.allow(x); x.ignore(); y.expect(\"a reason\"); }"),
        ("src/render/a.rs", "use wgpu::Device; use egui_wgpu::CallbackTrait;"),
        ("src/query/a.rs", "let x = super::egui::y;"),
        ("benches/a.rs", "fn f() { println!(\"x\"); }"),
        ("src/cli/a.rs", "#[expect(dead_code, reason = \"shown in a moment\")]\nfn f() {}"),
        ("tests/a.rs", "use longspan::store::x;"),
        (
            "src/ui/a.rs",
            "fn f() { match c { NavigationStep::Left => match d { A => 1, _ => 2 }, NavigationStep::Right => 3 } }",
        ),
        ("src/ui/a.rs", "fn f() { match c { Some(Command::Tab(_)) if g() => 1, Some(_) => 2, None => 3 } }"),
        ("src/cli/a.rs", "fn f() { match c { Command::Info => 1, _ => 2 } }"),
        ("src/formats/json/a.rs", "match x { 3 => {} _ => {} }"),
        ("src/formats/perfetto/tests/a.rs", "match x { 3 => {} _ => {} }"),
        (
            "src/formats/perfetto/a.rs",
            "match x {\n    A => f(3, [4; 5]),\n    0 => f(1),\n    B2 if y == 6 => {\n        7\n    }\n    _ => 8,\n}",
        ),
        ("src/formats/perfetto/a.rs", "let y: [u8; 3] = f(2); let z = y.len() > 1 && x == 1 || x.number() == 0;"),
        ("src/formats/perfetto/a.rs", "let y = matches!(f(x, 1), A | B if x > 2) || x < 3;"),
    ];
    for (path, code) in cases {
        let problems = problems_of(path, &format!("//! Does.\n\n{code}"));
        assert!(problems.is_empty(), "{path}: {code}\nfound {problems:?}");
    }
}
