//! A whole load of a trace in any format. One thread with ample memory gives the same rows and losses as three threads
//! with minimal memory. An export in the native format gives the same rows again.

use std::path::Path;

use longspan::facade::base::cancel::Cancel;
use longspan::facade::base::progress::Progress;
use longspan::facade::export::{ExportFormat, ExportOptions, export};
use longspan::facade::query::Snapshot;

use super::reading::file_of;
use super::rows::{load, rows};

/// More memory than any input needs.
const AMPLE_BYTES: u64 = 256 << 20;

/// So little that the load spills as much as possible. Profiles that must be in memory may take a quarter of it.
const TIGHT_BYTES: u64 = 256 << 10;

/// Maximum input size; larger inputs may not fit in the tight memory.
const INPUT_BYTES_MAX: usize = 16 << 10;

pub(super) fn check(bytes: &[u8]) {
    if bytes.len() > INPUT_BYTES_MAX {
        return;
    }
    let file = file_of(bytes);
    let (ample, tight) = (load(file.path(), 1, AMPLE_BYTES), load(file.path(), 3, TIGHT_BYTES));
    let (ample, tight) = match (ample, tight) {
        (Ok(ample), Ok(tight)) => (ample, tight),
        (Err(ample), Err(tight)) => return assert_eq!(ample.to_string(), tight.to_string()),
        // The unpacked input exceeds the tight memory.
        (Ok(_), Err(error)) if error.to_string().contains("--memory") => return,
        (ample, tight) => panic!("{:?} but {:?}", ample.err(), tight.err()),
    };
    let expected = rows(&ample);
    assert_eq!(rows(&tight), expected);
    assert_eq!(tight.losses(), ample.losses());
    assert_eq!(tight.tracks(), ample.tracks());
    assert!(expected.is_sorted_by_key(|row| row.start_ns));
    if !expected.is_empty() {
        let (mut back, mut expected) = (rows(&written_back(&ample, file.path())), expected);
        back.sort();
        expected.sort();
        assert_eq!(back, expected);
    }
}

/// Exports a trace in the native format and reads it back.
fn written_back(snapshot: &Snapshot, source: &Path) -> Snapshot {
    let folder = tempfile::tempdir().expect("a folder for temporary files");
    let output = folder.path().join("back.longspan");
    let options = ExportOptions::whole(ExportFormat::Native { compact: false });
    export(snapshot, &source.into(), &output, &options, &Cancel::default(), &Progress::default()).expect("written");
    load(&output, 1, AMPLE_BYTES).expect("read back")
}
