//! Stores: a damaged one is rejected, or yields a part of the written rows and reports a loss. Any bytes of a store in
//! another file are rejected, or its rows are sorted with valid references. Any bytes decode as blocks, and encoded
//! rows are restored. The input only selects the damage, since the store format changes with every version.

use std::sync::LazyLock;

use longspan::facade::store::block::{BLOCK_ROWS, Block, Row, encode};
use longspan::facade::store::carried::CarriedStore;
use longspan::facade::store::{Store, StoreWriter};

use super::reading::file_of;
use super::rows;

/// A small store with one of everything, and its rows.
static WHOLE: LazyLock<(Vec<u8>, Vec<rows::Row>)> = LazyLock::new(|| {
    let trace = file_of(include_bytes!("../corpus/load/ugly.json"));
    let mut written = rows::rows(&rows::load(trace.path(), 1, 256 << 20).expect("a trace"));
    written.sort();
    let folder = tempfile::tempdir().expect("a folder for temporary files");
    (rows::cached_store(trace.path(), folder.path()), written)
});

pub(super) fn check(bytes: &[u8]) {
    check_blocks(bytes);
    check_parts(bytes);
    let (whole, expected) = &*WHOLE;
    let mut damaged = whole.clone();
    for edit in bytes.chunks_exact(4) {
        let at = (usize::from(u16::from_le_bytes([edit[0], edit[1]])) * damaged.len()) >> 16;
        match edit[2] {
            0..128 => damaged[at] ^= edit[3],
            128..250 => damaged[at] = edit[3],
            _ => damaged.truncate(at.max(1)),
        }
    }
    let file = file_of(&damaged);
    let Ok(store) = Store::open(file.path()) else { return assert_ne!(damaged, *whole) };
    let is_whole = store.damaged_in_all() == 0;
    let mut found = rows::rows_of(store);
    found.sort();
    if is_whole {
        assert_eq!(found, *expected);
    }
    // Damaged details are read as empty.
    let known =
        |row: &rows::Row| expected.iter().any(|known| rows::Row { args: known.args.clone(), ..row.clone() } == *known);
    assert!(found.iter().all(known), "a row that was never written");
}

/// Imports a store from its parts, with the damage selected by `bytes`.
fn check_parts(bytes: &[u8]) {
    let whole = Store::open(file_of(&WHOLE.0).path()).expect("a store");
    let mut parts: Vec<Vec<u8>> = whole.carried_parts().map(|part| part.expect("whole")).collect();
    for edit in bytes.chunks_exact(4) {
        let part = &mut parts[0];
        let at = (usize::from(u16::from_le_bytes([edit[0], edit[1]])) * part.len()) >> 16;
        part[at] ^= edit[3];
    }
    let target = tempfile::NamedTempFile::new().expect("a file");
    let writer = StoreWriter::new(target.reopen().expect("opened"), 1 << 16).expect("begun");
    let mut store = CarriedStore::new(writer, whole.meta(), 1);
    if store.add_parts(&parts).expect("written").is_ok() && store.finish(whole.meta()).expect("written").is_ok() {
        let rows = rows::rows_of(Store::open(target.path()).expect("a store"));
        assert!(rows.is_sorted_by_key(|row| row.start_ns));
    }
}

/// Decodes arbitrary bytes as a block, and encodes them as rows.
fn check_blocks(bytes: &[u8]) {
    let rows_claimed = bytes.first().map_or(0, |&byte| usize::from(byte));
    let mut decoded = Vec::new();
    let block = Block::new(bytes, rows_claimed, 5);
    block.decode(&mut decoded);
    assert_eq!(decoded.len(), rows_claimed.clamp(1, BLOCK_ROWS));
    let (least, _) = block.name_bounds();
    assert_eq!(decoded[0].start_ns, 5);
    let number = |bytes: &[u8]| bytes.iter().fold(0u64, |number, &byte| number << 8 | u64::from(byte));
    let mut rows: Vec<Row> = bytes
        .chunks(13)
        .take(BLOCK_ROWS)
        .map(|part| Row {
            start_ns: number(part).cast_signed(),
            value: number(&part[part.len() / 3..]),
            detail: number(&part[part.len() / 2..]),
            name: number(&part[part.len() - 1..]) as u32 ^ least,
        })
        .collect();
    rows.sort_by_key(|row| row.start_ns);
    if let Some(first) = rows.first() {
        let mut packed = Vec::new();
        encode(&rows, &mut packed);
        let mut back = Vec::new();
        Block::new(&packed, rows.len(), first.start_ns).decode(&mut back);
        assert_eq!(back, rows);
    }
}
