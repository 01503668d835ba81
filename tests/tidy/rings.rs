//! Finds import cycles: files that import each other, directly or indirectly. A file and its folder (`a.rs`, `a/b.rs`)
//! count as one, and a name that a `mod.rs` re-exports counts as an import of the declaring file.

use std::collections::{BTreeMap, BTreeSet};

use crate::code::{code_of, is_word, without_tests, words};

/// The names of modules from the crate root to an item.
type ModulePath = Vec<String>;

/// Every file below `src` with its code, and the targets of re-exported names.
struct Crate {
    code: BTreeMap<String, String>,
    files: BTreeMap<ModulePath, String>,
    exports: BTreeMap<ModulePath, ModulePath>,
}

/// Returns each cycle of files below `src`, as `a -> b -> a`.
pub(crate) fn rings(files: &[(String, String)]) -> Vec<String> {
    let mut edges = Crate::new(files).edges();
    // A file without remaining imports is in no cycle.
    loop {
        let before = edges.len();
        let left: BTreeSet<String> = edges.keys().cloned().collect();
        for targets in edges.values_mut() {
            targets.retain(|target| left.contains(target));
        }
        edges.retain(|_, targets| !targets.is_empty());
        if edges.len() == before {
            break;
        }
    }
    let mut rings = Vec::new();
    while let Some(first) = edges.keys().next().cloned() {
        let mut way = vec![first];
        let start = loop {
            let last = &way[way.len() - 1];
            let Some(next) = edges.get(last).and_then(|targets| targets.first()).cloned() else { break None };
            if let Some(start) = way.iter().position(|file| *file == next) {
                break Some(start);
            }
            way.push(next);
        };
        if let Some(start) = start {
            rings.push(format!("{} -> {}", way[start..].join(" -> "), way[start]));
        }
        for file in way {
            edges.remove(&file);
        }
    }
    rings
}

impl Crate {
    fn new(files: &[(String, String)]) -> Self {
        let below_src = files.iter().filter(|(path, _)| path.starts_with("src/") && !is_test(path));
        let code: BTreeMap<_, _> =
            below_src.map(|(path, text)| (path.clone(), without_tests(path, &code_of(text)))).collect();
        let files = code.keys().map(|path| (module_path(path), path.clone())).collect();
        let mut this = Self { code, files, exports: BTreeMap::new() };
        let mut exports = BTreeMap::new();
        for (module, path) in &this.files {
            for tree in uses(&this.code[path]).filter(|tree| tree.is_exported).flat_map(|tree| tree.leaves()) {
                let name = tree.alias.or(tree.path.last().cloned()).unwrap_or_default();
                let target = this.absolute(&tree.path, module).unwrap_or_else(|| [&module[..], &tree.path].concat());
                exports.insert([&module[..], &[name]].concat(), target);
            }
        }
        this.exports = exports;
        this
    }

    /// Returns the files that each file imports.
    fn edges(&self) -> BTreeMap<String, BTreeSet<String>> {
        let mut edges = BTreeMap::<_, BTreeSet<_>>::new();
        for (module, path) in &self.files {
            let code = &self.code[path];
            let is_door = path.ends_with("/mod.rs") || path == "src/lib.rs";
            let mut imported: Vec<ModulePath> = uses(code)
                .filter(|tree| !(is_door && tree.is_exported))
                .flat_map(|tree| tree.leaves())
                .map(|leaf| leaf.path)
                .collect();
            imported.extend(inline_paths(code));
            for path_of_item in imported {
                let Some(target) = self.absolute(&path_of_item, module).and_then(|path| self.file_of(&path, 0)) else {
                    continue;
                };
                let (from, to) = (self.unit(path), self.unit(&target));
                if from != to {
                    edges.entry(from).or_default().insert(to);
                }
            }
        }
        edges
    }

    /// Resolves a path from the crate root. `None` for paths of packages.
    fn absolute(&self, path: &[String], module: &[String]) -> Option<ModulePath> {
        match path.first()?.as_str() {
            "crate" => Some(path[1..].to_vec()),
            "self" => Some([module, &path[1..]].concat()),
            "super" => {
                let above = path.iter().take_while(|name| *name == "super").count();
                let home = &module[..module.len().checked_sub(above)?];
                Some([home, &path[above..]].concat())
            }
            first => {
                let child = [module, &[first.to_owned()]].concat();
                self.files.contains_key(&child).then(|| [module, path].concat())
            }
        }
    }

    /// Returns the file that declares an item.
    fn file_of(&self, path: &[String], depth: usize) -> Option<String> {
        for length in (1..=path.len()).rev() {
            if let Some(target) = self.exports.get(&path[..length]).filter(|_| depth < 8) {
                return self.file_of(&[&target[..], &path[length..]].concat(), depth + 1);
            }
        }
        (1..=path.len()).rev().find_map(|length| self.files.get(&path[..length])).cloned()
    }

    /// Returns the file whose folder contains this file, or else the file.
    fn unit(&self, path: &str) -> String {
        let slashes = path.match_indices('/').map(|(at, _)| format!("{}.rs", &path[..at]));
        slashes.into_iter().find(|owner| self.code.contains_key(owner)).unwrap_or_else(|| path.to_owned())
    }
}

fn is_test(path: &str) -> bool {
    path.ends_with("tests.rs") || path.contains("/tests/") || path.ends_with("/testing.rs")
}

fn module_path(path: &str) -> ModulePath {
    let below = path.trim_start_matches("src/").trim_end_matches(".rs");
    let below = below.strip_suffix("/mod").unwrap_or(below);
    below.split('/').map(str::to_owned).collect()
}

/// The text between `use` and `;`.
struct UseTree<'a> {
    text: &'a str,
    is_exported: bool,
}

/// A single name in a `use`.
struct UseLeaf {
    path: ModulePath,
    alias: Option<String>,
}

fn uses(code: &str) -> impl Iterator<Item = UseTree<'_>> {
    words(code, "use").filter_map(|at| {
        let line = code[..at].rfind(['\n', ';', '}']).map_or(0, |end| end + 1);
        let before = code[line..at].trim();
        let text = &code[at + "use".len()..];
        let end = text.find(';')?;
        // A bound of captured lifetimes, `use<'a>`, is not a statement.
        let is_statement = !text.starts_with('<') && (before.is_empty() || before.starts_with("pub"));
        is_statement.then(|| UseTree { text: &text[..end], is_exported: before.starts_with("pub") })
    })
}

impl UseTree<'_> {
    fn leaves(&self) -> Vec<UseLeaf> {
        let text: String = self.text.split_whitespace().collect::<Vec<_>>().join(" ");
        let mut leaves = Vec::new();
        add_leaves("", &text, &mut leaves);
        leaves
    }
}

fn add_leaves(before: &str, tree: &str, leaves: &mut Vec<UseLeaf>) {
    let tree = tree.trim();
    if let Some((path, group)) = tree.split_once('{') {
        let group = group.trim_end().trim_end_matches('}');
        let inner_opens = group.matches('{').count() - group.matches('}').count();
        let group = format!("{group}{}", "}".repeat(inner_opens));
        let (mut depth, mut start) = (0, 0);
        for (at, c) in group.char_indices().chain([(group.len(), ',')]) {
            match c {
                '{' => depth += 1,
                '}' => depth -= 1,
                ',' if depth == 0 => {
                    add_leaves(&format!("{before}{}", path.trim()), &group[start..at], leaves);
                    start = at + 1;
                }
                _ => {}
            }
        }
    } else if !tree.is_empty() {
        let (path, alias) =
            tree.split_once(" as ").map_or((tree, None), |(path, alias)| (path, Some(alias.to_owned())));
        let full = format!("{before}{path}");
        let names = full.split("::").map(|name| name.trim().to_owned()).filter(|name| name != "self" && name != "*");
        let mut names: ModulePath = names.collect();
        if full.starts_with("self") {
            names.insert(0, "self".to_owned());
        }
        leaves.push(UseLeaf { path: names, alias });
    }
}

/// Returns the paths in code with at least two names, outside of `use`.
fn inline_paths(code: &str) -> Vec<ModulePath> {
    let mut paths = Vec::new();
    let mut rest = 0;
    while let Some(at) = code[rest..].find("::").map(|at| rest + at) {
        let start = code[..at].rfind(|c: char| !is_word(c)).map_or(0, |end| end + 1);
        let end = code[at..].find(|c: char| !is_word(c) && c != ':').map_or(code.len(), |length| at + length);
        let statement = code[..start].rfind([';', '{', '}']).map_or(0, |end| end + 1);
        let is_use = words(&code[statement..start], "use").next().is_some();
        if !is_use && start < at && !code[..start].ends_with("::") {
            paths.push(code[start..end].split("::").filter(|name| !name.is_empty()).map(str::to_owned).collect());
        }
        rest = end.max(at + 2);
    }
    paths
}

#[test]
fn a_ring_is_found_through_paths_children_and_re_exports() {
    let of = |files: &[(&str, &str)]| {
        let files: Vec<_> = files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect();
        rings(&files)
    };
    let ring = |files: &[(&str, &str)], expected: &str| assert_eq!(of(files), [expected], "{files:?}");
    ring(
        &[("src/m/a.rs", "use super::b::B;"), ("src/m/b.rs", "fn f() { crate::m::a::f() }")],
        "src/m/a.rs -> src/m/b.rs -> src/m/a.rs",
    );
    ring(
        &[
            ("src/m/mod.rs", "mod a; mod b; pub(crate) use b::{B, C as D};"),
            ("src/m/a.rs", "use super::{x::Y, D};"),
            ("src/m/b.rs", "use super::a;"),
        ],
        "src/m/a.rs -> src/m/b.rs -> src/m/a.rs",
    );
    ring(
        &[("src/m/mod.rs", "fn f() { a::g() } struct S;"), ("src/m/a.rs", "use super::S;")],
        "src/m/a.rs -> src/m/mod.rs -> src/m/a.rs",
    );
    let none = |files: &[(&str, &str)]| assert_eq!(of(files), [""; 0], "{files:?}");
    none(&[("src/m/a.rs", "mod b; use b::B;"), ("src/m/a/b.rs", "use super::A;")]);
    none(&[("src/m/a.rs", "use super::b::B;"), ("src/m/b.rs", "#[cfg(test)]\nmod tests { use crate::m::a::A; }")]);
    none(&[("src/m/a.rs", "pub fn f() -> impl Sized + use<> { 1 } } struct S { a: u8 } fn g() { h(); }")]);
    none(&[("src/m/a.rs", "use super::b::B; // super::c"), ("src/m/b.rs", "/// [`super::a`]\nfn f() {}")]);
    none(&[
        ("src/m/mod.rs", "pub(crate) use a::A; mod a; mod b;"),
        ("src/m/a.rs", ""),
        ("src/m/b.rs", "use super::A;"),
    ]);
}
