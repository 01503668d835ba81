//! No two visible types of the crate have the same name, so that a search for a type is unambiguous.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::code::{code_of, is_word, without_tests, words};

/// Names that two types still share. The table only shrinks: a name that has become unique must be removed.
const SHARED: &[&str] = &[];

/// Keywords that declare a type.
const ITEMS: &[&str] = &["struct", "enum", "union", "trait", "type"];

/// Returns the names of types that are visible beyond their files and declared in two of them, with these files.
pub(crate) fn second_names(files: &[(String, String)]) -> Vec<String> {
    shared_names(files, SHARED)
}

fn shared_names(files: &[(String, String)], allowed: &[&str]) -> Vec<String> {
    let mut homes = BTreeMap::<String, BTreeSet<&str>>::new();
    for (path, text) in files {
        let is_test = path.ends_with("_tests.rs") || !path.starts_with("src/");
        if is_test || Path::new(path).extension().is_none_or(|ending| ending != "rs") {
            continue;
        }
        for name in visible_types(path, &without_tests(path, &code_of(text))) {
            homes.entry(name).or_default().insert(path);
        }
    }
    homes.retain(|_, paths| paths.len() > 1);
    let unused = allowed.iter().filter(|name| !homes.contains_key(**name));
    let unused = unused.map(|name| format!("`{name}` is one type by now; remove it from the table of shared names"));
    let shared = homes.iter().filter(|(name, _)| !allowed.contains(&name.as_str()));
    let shared = shared.map(|(name, paths)| {
        let paths: Vec<&str> = paths.iter().copied().collect();
        format!("`{name}` is more than one type: {}; name them apart", paths.join(", "))
    });
    shared.chain(unused).collect()
}

/// Returns the types of a file that other files can name. Names that are visible within a format only are exempt, and
/// so are variants for different systems.
fn visible_types(path: &str, code: &str) -> Vec<String> {
    let is_format = path.starts_with("src/formats/");
    let items = ITEMS.iter().flat_map(|item| words(code, item).map(move |at| (at, item.len())));
    let types = items.filter(|&(at, _)| {
        let line = code[..at].rfind('\n').map_or(0, |before| before + 1);
        let visibility = code[line..at].trim();
        let is_visible = match visibility {
            "pub" | "pub(crate)" => true,
            _ => !is_format && visibility.starts_with("pub("),
        };
        is_visible && !is_of_one_system(&code[..line])
    });
    let name = |(at, length): (usize, usize)| {
        let rest = code[at + length..].trim_start();
        rest[..rest.find(|c: char| !is_word(c)).unwrap_or(rest.len())].to_owned()
    };
    types.map(name).collect()
}

/// Returns whether one of the attributes directly before an item is a `cfg`.
fn is_of_one_system(before: &str) -> bool {
    let attributes = before.lines().rev().take_while(|line| line.trim().is_empty() || line.trim().starts_with("#["));
    attributes.into_iter().any(|line| line.trim().starts_with("#[cfg("))
}

#[test]
fn a_second_type_of_one_name_is_found_and_named() {
    let found = |files: &[(&str, &str)], allowed: &[&str]| {
        let files: Vec<_> = files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect();
        shared_names(&files, allowed)
    };
    let twice = [("src/ui/a.rs", "pub struct Row(u8);"), ("src/query/a.rs", "fn f() {}\n    pub(super) enum Row {}\n")];
    assert_eq!(found(&twice, &[]), ["`Row` is more than one type: src/query/a.rs, src/ui/a.rs; name them apart"]);
    assert!(found(&twice, &["Row"]).is_empty());
    let apart = [twice[0], ("src/query/a.rs", "pub(crate) type RowCount = u8;")];
    assert!(found(&apart, &[]).is_empty());
    assert_eq!(found(&apart, &["Row"]), ["`Row` is one type by now; remove it from the table of shared names"]);
    let formats =
        [("src/formats/otlp/a.rs", "pub(crate) trait Step {}"), ("src/formats/fxt/a.rs", "pub trait Step {}")];
    assert_eq!(found(&formats, &[]).len(), 1);
    let left_alone = [
        ("src/formats/otlp/b.rs", "pub(super) struct Step;\nstruct Link;"),
        ("src/formats/fxt/b.rs", "pub(super) struct Step;\n// pub struct Step;"),
        ("src/app/b.rs", "struct Link;\n#[cfg(test)]\nmod tests {\n    pub struct Row;\n}"),
        ("src/app/c.rs", "#[cfg(unix)]\n#[derive(Debug)]\npub struct Row;\nlet pub_struct = \"pub struct Row\";"),
        ("src/ui/a.rs", "pub struct Row;"),
        ("src/ui/row_tests.rs", "pub struct Row;"),
        ("tests/a.rs", "pub struct Row;"),
    ];
    assert!(found(&left_alone, &[]).is_empty(), "{:?}", found(&left_alone, &[]));
}
