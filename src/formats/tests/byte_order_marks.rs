//! Tests of text as Windows writes it: with a byte order mark, or in UTF-16.

use std::path::Path;

use super::shown::files_in;
use crate::formats::testing::{format_of, read, read_bytes};

#[test]
fn texts_read_the_same_with_a_byte_order_mark_and_in_utf_16() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz/corpus");
    let mut formats = std::collections::BTreeSet::new();
    for path in files_in(&corpus) {
        // Archives have zeros.
        let Some(text) = std::fs::read_to_string(&path).ok().filter(|text| !text.contains('\0')) else { continue };
        let Ok(plain) = read_bytes(text.as_bytes()) else { continue };
        let marked = read_bytes(format!("\u{feff}{text}").as_bytes()).expect("a trace");
        assert_eq!((&marked.events, marked.lost()), (&plain.events, plain.lost()), "{}", path.display());
        let wide: Vec<u8> = std::iter::once(0xfeff).chain(text.encode_utf16()).flat_map(u16::to_le_bytes).collect();
        let wide = read_bytes(&wide).expect("a trace");
        assert_eq!((&wide.events, wide.lost()), (&plain.events, plain.lost()), "{}", path.display());
        formats.extend(format_of(text.as_bytes()));
    }
    assert!(formats.len() >= 20, "{formats:?}");
}

#[test]
fn austin_is_recognised_after_an_empty_line() {
    let text = "# austin: 3.7.0\n# mode: wall\n\nP1;T1:2;main.py:f:3 100\n";
    assert_eq!(format_of(text.as_bytes()), Some("Austin samples"));
    for beginning in ["\n", "\u{feff}\n", "\u{feff}"] {
        assert_eq!(read(&format!("{beginning}{text}")).events, read(text).events, "{beginning:?}");
    }
}
