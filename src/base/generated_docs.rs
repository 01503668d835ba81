//! Generated parts of the documents in `docs/`. A test compares each with the file, or writes it if `UPDATE_DOCS` is
//! set.

use std::path::Path;

/// Compares the part of `docs/<file>` that is generated from `origin` with `expected`, or writes it.
///
/// A part lies between the comments `<!-- generated from ORIGIN: ... -->` and `<!-- end -->`.
///
/// # Panics
/// Panics if the file has no such part, or if it differs.
#[track_caller]
pub(crate) fn assert_generated(file: &str, origin: &str, expected: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs").join(file);
    let text = std::fs::read_to_string(&path).expect("a document");
    let (before, rest) = text.split_once(&format!("<!-- generated from {origin}: ")).expect("a part that is generated");
    let (command, rest) = rest.split_once(" -->\n").expect("the end of the comment");
    let (part, after) = rest.split_once("<!-- end -->").expect("the end of the part");
    let expected = format!("\n{}\n\n", expected.trim());
    if std::env::var_os("UPDATE_DOCS").is_some() {
        let begin = format!("{before}<!-- generated from {origin}: {command} -->\n");
        std::fs::write(&path, format!("{begin}{expected}<!-- end -->{after}")).expect("a document that can be written");
    } else {
        assert!(part == expected, "docs/{file} is out of date: run `{command}`\nit should have:{expected}");
    }
}
