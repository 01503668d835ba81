//! The repository's own rules, checked by reading its files. Each rule is one table; what breaks a rule is named with
//! its file and line. Knows Rust only as far as telling code from comments and text; it resolves no names.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What each module may import: only what stands to its left in the way of the data.
const IMPORTS: &[(&str, &[&str])] = &[
    ("base", &[]),
    ("model", &["base"]),
    ("formats", &["base", "model"]),
    ("store", &["base", "model"]),
    ("ingest", &["base", "model", "formats", "store"]),
    ("query", &["base", "model", "store"]),
    ("export", &["base", "model", "formats", "store", "query"]),
    ("synth", &["base", "model", "formats"]),
    ("scene", &["base", "model", "store", "query"]),
    ("render", &["base", "scene"]),
    ("ui", &["base", "model", "store", "query", "export", "scene", "render"]),
    ("app", &["base", "model", "formats", "store", "ingest", "query", "export", "synth", "scene", "render", "ui"]),
    (
        "cli",
        &["base", "model", "formats", "store", "ingest", "query", "export", "synth", "scene", "render", "ui", "app"],
    ),
    (
        "facade",
        &[
            "base", "model", "formats", "store", "ingest", "query", "export", "synth", "scene", "render", "ui", "app",
            "cli",
        ],
    ),
    ("main", &["run"]),
    ("lib", &[]),
];

/// Where a package may be used: the beginnings of the paths of its files.
const PACKAGES: &[(&str, &[&str])] = &[
    ("memmap2", &["src/base/mapped.rs"]),
    ("wgpu", &["src/render/", "src/app/"]),
    ("egui_wgpu", &["src/render/", "src/app/"]),
    ("egui", &["src/ui/", "src/render/", "src/app/"]),
    ("egui_winit", &["src/app/"]),
    ("egui_system_font_provider", &["src/app/fonts.rs"]),
    ("winit", &["src/app/"]),
    ("rfd", &["src/app/"]),
    ("zbus", &["src/app/"]),
    ("x11rb", &["src/app/keyboard.rs", "tests/window/"]),
    ("clap", &["src/cli/"]),
    ("signal_hook", &["src/base/"]),
    ("libc", &["src/base/mapped.rs"]),
];

/// What may not stand in code, what to write instead, and where it may stand all the same.
const BANS: &[(&str, &str, &[&str])] = &[
    ("unsafe", "a safe interface; maps are in base/mapped.rs", &["src/base/mapped.rs"]),
    ("todo!", "the thing itself", &[]),
    ("unimplemented!", "the thing itself", &[]),
    ("dbg!", "an assertion in a test", &[]),
    // These panic where stdout or stderr is closed or full.
    ("print!", "a `Write` that the caller gives", &[]),
    ("println!", "a `Write` that the caller gives", &["benches/", "tests/"]),
    ("eprint!", "an error that the caller shows, or cli::messages", &[]),
    ("eprintln!", "an error that the caller shows, or cli::messages", &["benches/"]),
    ("allow", "#[expect(lint, reason = \"..\")]", &[]),
    ("ignore", "a test fast enough to run always, or a bench", &[]),
    ("process::exit", "an exit status that `main` returns", &[]),
];

/// What the top level may hold.
const TOP_LEVEL: &[&str] = &[
    "Cargo.toml",
    "Cargo.lock",
    "deny.toml",
    "LICENSE-APACHE",
    "LICENSE-MIT",
    "README.md",
    "SECURITY.md",
    "assets",
    "benches",
    "clippy.toml",
    "rustfmt.toml",
    "shaders",
    "src",
    "tests",
    ".ci",
    ".gitattributes",
    ".gitignore",
];

/// A file longer than this holds more than one idea.
const LINES_MAX: usize = 600;

#[test]
fn the_repository_keeps_its_own_rules() {
    let files = source_files();
    assert!(files.len() > 10, "only {} source files were found", files.len());
    let problems: Vec<String> = files.iter().flat_map(|(path, text)| problems_of(path, text)).collect();
    assert!(problems.is_empty(), "\n{}\n", problems.join("\n"));
}

#[test]
fn the_top_level_holds_nothing_unexpected() {
    let mut unexpected = top_level();
    unexpected.retain(|name| !TOP_LEVEL.contains(&name.as_str()) && name != ".git");
    assert!(unexpected.is_empty(), "at the top level, but not in the table: {unexpected:?}");
}

/// The names at the top level that the repository keeps. Outside of a checkout: all but builds.
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

/// Every Rust and shader file, as its path from the root and its text.
fn source_files() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    let mut folders: Vec<PathBuf> = ["src", "tests", "benches", "shaders"].map(|folder| root.join(folder)).into();
    while let Some(folder) = folders.pop() {
        // a folder that this revision does not have holds nothing to check
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

/// Everything that is wrong with one file.
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
    // Tests may look to the right: a round trip needs both ends.
    let code = without_tests(path, &code);
    let module = module_of(path);
    let Some((_, allowed)) = IMPORTS.iter().find(|(name, _)| *name == module) else {
        report(1, format!("the module `{module}` is not in the table of imports"));
        return problems;
    };
    for (at, target) in imports(path, &code) {
        if target != module && !allowed.contains(&target) {
            report(line_of(at), format!("`{module}` may not import `{target}`"));
        }
    }
    problems
}

/// The top-level module that a file below `src` belongs to.
fn module_of(path: &str) -> &str {
    let below = path.strip_prefix("src/").unwrap_or(path);
    below.split_once('/').map_or_else(|| below.trim_end_matches(".rs"), |(folder, _)| folder)
}

/// Every path that begins at the crate's root, as where it stands and the top-level module it names.
fn imports<'a>(path: &str, code: &'a str) -> Vec<(usize, &'a str)> {
    let mut found = Vec::new();
    let root = if path == "src/main.rs" { "longspan" } else { "crate" };
    for at in words(code, root) {
        let Some(rest) = code[at + root.len()..].strip_prefix("::") else { continue };
        found.extend(first_segments(rest).into_iter().map(|segment| (at, segment)));
    }
    // `super::` as often as the file is deep is `crate::`
    let below = path.trim_start_matches("src/").trim_end_matches(".rs").trim_end_matches("/mod");
    let depth = below.split('/').count();
    for at in words(code, "super").filter(|&at| !code[..at].ends_with("super::")) {
        let rest = code[at..].trim_start_matches("super::");
        let steps = (code.len() - at - rest.len()) / "super::".len();
        if steps < depth {
            continue;
        }
        let known = |segment: &&str| IMPORTS.iter().any(|(module, _)| module == segment);
        found.extend(first_segments(rest).into_iter().filter(known).map(|segment| (at, segment)));
    }
    found
}

/// The first name of a path, or of each path in a group in braces.
fn first_segments(rest: &str) -> Vec<&str> {
    let name = |text: &'_ str| text.find(|c: char| !is_word(c)).unwrap_or(text.len());
    let Some(group) = rest.strip_prefix('{') else { return vec![&rest[..name(rest)]] };
    let mut segments = Vec::new();
    let (mut depth, mut expected) = (0, true);
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' => expected = depth == 0,
            _ if expected && is_word(c) => {
                segments.push(&group[at..at + name(&group[at..])]);
                expected = false;
            }
            _ => {}
        }
    }
    segments
}

/// Where `word` stands in `code` and is not a part of a longer word.
fn words<'a>(code: &'a str, word: &'a str) -> impl Iterator<Item = usize> + 'a {
    code.match_indices(word).map(|(at, _)| at).filter(move |&at| {
        let before = code[..at].chars().next_back();
        let after = code[at + word.len()..].chars().next();
        let ends_later = word.ends_with(is_word) && after.is_some_and(is_word);
        !ends_later && !before.is_some_and(is_word)
    })
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// `code` with its test modules blanked out.
fn without_tests(path: &str, code: &str) -> String {
    if path.ends_with("/tests.rs") || path.contains("/tests/") {
        return String::new();
    }
    let mut kept = code.to_owned();
    for (start, mark) in code.match_indices("#[cfg(test)]") {
        let after = start + mark.len();
        let Some(open) = code[after..].find(['{', ';']).map(|length| after + length) else { continue };
        let mut depth = 0;
        let end = code[open..].char_indices().find_map(|(at, c)| {
            depth += i32::from(c == '{') - i32::from(c == '}');
            (depth == 0).then_some(open + at)
        });
        let end = end.map_or(code.len(), |end| end + 1);
        kept.replace_range(start..end, &blank(&code[start..end]));
    }
    kept
}

/// `text` with comments, strings and characters blanked out; line breaks stay, so that positions keep their lines.
fn code_of(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let (length, is_code) = token(rest, c);
        let (piece, tail) = rest.split_at(length);
        if is_code {
            code.push_str(piece);
        } else {
            code.push_str(&blank(piece));
        }
        rest = tail;
    }
    code
}

/// The length in bytes of the token that `rest` begins with, and whether it is code.
fn token(rest: &str, first: char) -> (usize, bool) {
    let length_to = |from: usize, end: &str| rest[from..].find(end).map_or(rest.len(), |at| from + at + end.len());
    if rest.starts_with("//") {
        return (rest.find('\n').unwrap_or(rest.len()), false);
    }
    if rest.starts_with("/*") {
        return (block_comment_length(rest), false);
    }
    if is_word(first) {
        let length = rest.find(|c: char| !is_word(c)).unwrap_or(rest.len());
        let tail = rest[length..].trim_start_matches('#');
        if matches!(&rest[..length], "r" | "br" | "cr") && tail.starts_with('"') {
            let open = rest.len() - tail.len() + 1;
            let end = format!("\"{}", "#".repeat(open - 1 - length));
            return (length_to(open, &end), false);
        }
        return (length, true);
    }
    match first {
        '"' => (quoted_length(rest, '"'), false),
        // a character, unless it is a lifetime: that has no quote after its first letter
        '\'' if rest.starts_with("'\\") || rest.chars().nth(2) == Some('\'') => (quoted_length(rest, '\''), false),
        _ => (first.len_utf8(), true),
    }
}

/// The length of a block comment, with those inside of it.
fn block_comment_length(rest: &str) -> usize {
    let (mut depth, mut at) = (0, 0);
    loop {
        if rest[at..].starts_with("/*") {
            depth += 1;
        } else if rest[at..].starts_with("*/") {
            depth -= 1;
        } else {
            match rest[at..].chars().next() {
                Some(c) => at += c.len_utf8(),
                None => return at,
            }
            continue;
        }
        at += 2;
        if depth == 0 {
            return at;
        }
    }
}

/// The length of what stands in quotes, where a backslash takes the next character along.
fn quoted_length(rest: &str, quote: char) -> usize {
    let mut chars = rest.char_indices().skip(1);
    while let Some((at, c)) = chars.next() {
        if c == '\\' {
            chars.next();
        } else if c == quote {
            return at + 1;
        }
    }
    rest.len()
}

/// Spaces of the same length in bytes, with the same line breaks.
fn blank(piece: &str) -> String {
    piece.bytes().map(|byte| if byte == b'\n' { '\n' } else { ' ' }).collect()
}

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
        ("src/store/a.rs", "fn f() { todo!() }", "`todo!` is banned, use the thing itself"),
        ("src/store/a.rs", "fn f() { println!(\"x\"); }", "`println!` is banned"),
        ("src/cli/a.rs", "fn f() { eprintln!(\"x\"); }", "`eprintln!` is banned"),
        ("src/cli/a.rs", "#[allow(dead_code)]\nfn f() {}", "`allow` is banned"),
        ("tests/a.rs", "#[test]\n#[ignore]\nfn f() {}", "a.rs:4: `ignore` is banned"),
        ("src/cli/a.rs", "#[expect(dead_code)]\nfn f() {}", "without a reason"),
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
fn what_only_looks_like_a_broken_rule_is_left_alone() {
    let cases = [
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
    ];
    for (path, code) in cases {
        let problems = problems_of(path, &format!("//! Does.\n\n{code}"));
        assert!(problems.is_empty(), "{path}: {code}\nfound {problems:?}");
    }
}
