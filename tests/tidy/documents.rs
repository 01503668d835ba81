//! Checks that the files named in the documents exist, such as the tests of the invariants.

use std::path::Path;

/// The documents that name files of the repository.
const DOCUMENTS: &[&str] =
    &["README.md", "SECURITY.md", "docs/architecture.md", "docs/benchmarks.md", "docs/contributing.md"];

/// Folders below which a path is one of the repository. Rust files may also be named by their path below `src`.
const FOLDERS: &[&str] = &[".ci/", "assets/", "benches/", "docs/", "shaders/", "src/", "tests/"];

/// Returns the paths in the code spans of a document that no file or folder has.
fn missing_paths(document: &str, text: &str, exists: impl Fn(&str) -> bool) -> Vec<String> {
    // Every second part of a line is in backticks.
    let codes = text.lines().flat_map(|line| line.split('`').skip(1).step_by(2));
    let is_path = |code: &&str| {
        let is_plain = code.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-./".contains(&byte));
        // Paths with NAME or `foo` stand for files of the reader.
        let is_example = code.contains("NAME") || code.starts_with("foo/");
        let is_file = code.contains('/') && Path::new(code).extension().is_some_and(|kind| kind == "rs");
        is_plain && !is_example && (is_file || FOLDERS.iter().any(|folder| code.starts_with(folder)))
    };
    let missing = codes.filter(is_path).filter(|path| !exists(path) && !exists(&format!("src/{path}")));
    missing.map(|path| format!("{document}: no file has the path {path}")).collect()
}

#[test]
fn the_files_named_in_the_documents_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for document in DOCUMENTS {
        let text = std::fs::read_to_string(root.join(document)).expect("a document");
        let missing = missing_paths(document, &text, |path| root.join(path).exists());
        assert!(missing.is_empty(), "\n{}\n", missing.join("\n"));
    }
}

#[test]
fn a_path_in_a_document_without_its_file_is_missing() {
    let text = "See `a/b.rs`, `src/c` and\n`tests/d.rs`; `foo/tests.rs`, `src/NAME.rs`, `.ci/run --long`, x/y.rs, `f()`, `e.rs`.";
    let exists = |path: &str| path == "src/a/b.rs" || path == "src/c";
    assert_eq!(missing_paths("docs/a.md", text, exists), ["docs/a.md: no file has the path tests/d.rs"]);
    let named = missing_paths("docs/a.md", text, |_| false);
    assert_eq!(named.len(), 3, "{named:?}");
}
