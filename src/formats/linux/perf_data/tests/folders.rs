//! Tests of recordings in a folder of several files.

use super::*;

/// Builds a file without records, whose only feature section is the layout of its folder.
fn head_of_folder(layout: u64) -> Vec<u8> {
    let (attrs_at, data_at) = (104u64, 104 + 80);
    let mut bytes = b"PERFILE2".to_vec();
    let sections = [104, 80, attrs_at, 80, data_at, 0, 0, 0];
    bytes.extend(sections.iter().flat_map(|word| word.to_le_bytes()));
    let features = 1u64 << 24;
    bytes.extend([features, 0, 0, 0].iter().flat_map(|word| word.to_le_bytes()));
    bytes.extend([0; 80]);
    bytes.extend([data_at + 16, 8, layout].iter().flat_map(|word| word.to_le_bytes()));
    bytes
}

#[test]
fn a_recording_whose_samples_are_in_other_files_is_refused_with_the_command_that_converts_it() {
    let error = read_bytes(&head_of_folder(1)).expect_err("refused").to_string();
    assert!(error.contains("perf record --threads") && error.contains("perf script -i FOLDER"), "{error}");
    // Beside a copy of the kernel, the records are in the file itself.
    assert!(read_bytes(&head_of_folder(0)).is_ok());
}
