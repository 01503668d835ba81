//! Recordings of uftrace, which are folders: the input has several files, with a separator between them. Checks that
//! the result is the same for any block size, and that it is bounded by the input.

use std::path::Path;

use longspan::facade::formats::{ChunkLimits, ReadContext, ReadError, sniff};

use super::reading::{Reading, assert_same, read};

/// The separator of files, which no text has.
const SEPARATOR: &[u8] = b"\xff==\xff";

/// The files in the order of the input.
const FILES: [&str; 8] =
    ["info", "task.txt", "1.dat", "perf-cpu0.dat", "sid-ab12.map", "prog.sym", "prog.dbg", "events.txt"];

/// No record takes fewer bytes; a function may end with its caller, and a switch adds a run and a state.
const RECORD_BYTES: usize = 16;
const EVENTS_PER_RECORD_MAX: usize = 4;

pub(super) fn check(bytes: &[u8]) {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, part) in FILES.iter().zip(split(bytes)) {
        std::fs::write(folder.path().join(name), part).expect("written");
    }
    let usual = read_folder(folder.path(), None);
    for block_bytes in [1, 61] {
        let other = read_folder(folder.path(), Some(block_bytes));
        match (&usual, &other) {
            (Ok(usual), Ok(other)) => assert_same(usual, other, &format!("blocks of {block_bytes} bytes")),
            (Err(usual), Err(other)) => assert_eq!(usual.to_string(), other.to_string()),
            (usual, other) => panic!("{:?} but {:?}", usual.as_ref().err(), other.as_ref().err()),
        }
    }
    if let Ok(reading) = usual {
        assert!(reading.events.len() <= (bytes.len() / RECORD_BYTES + 1) * EVENTS_PER_RECORD_MAX);
    }
}

/// Returns the parts between separators.
fn split(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = Some(bytes);
    std::iter::from_fn(move || {
        let part = rest?;
        let at = part.windows(SEPARATOR.len()).position(|window| window == SEPARATOR);
        rest = at.map(|at| &part[at + SEPARATOR.len()..]);
        Some(&part[..at.unwrap_or(part.len())])
    })
}

fn read_folder(folder: &Path, block_bytes: Option<usize>) -> Result<Reading, ReadError> {
    let chunk_limits = ChunkLimits { block_bytes, batch_events: block_bytes.map(|_| 3) };
    let context = ReadContext { threads: 1, chunk_limits, ..ReadContext::default() };
    read(sniff::open(folder, &context)?, &context)
}
