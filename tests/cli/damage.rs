//! A cached store that was altered between two commands. `tests/faults/altered.rs` covers every command and position.

use std::fs;

use crate::harness::longspan;

#[test]
fn a_damaged_store_is_told_and_made_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    let (capture, cache) = (path("a.longspan"), path("cache"));
    longspan(&["synth", "-o", &capture, "--spans", "20000", "--threads", "2", "--format", "native"]).done();
    let words = ["stats", &capture, "--format", "csv", "--cache", &cache];
    let expected = longspan(&words).done();
    let kept = fs::read_dir(&cache).expect("the cache").map(|entry| entry.expect("an entry").path());
    let kept = kept.into_iter().find(|path| path.extension().is_some_and(|ending| ending == "lsstore"));
    let kept = kept.expect("a kept store");
    let mut bytes = fs::read(&kept).expect("read");
    // In the body, which is verified on read.
    let place = bytes.len() / 3;
    bytes[place] ^= 0x10;
    fs::write(&kept, bytes).expect("written");

    let again = longspan(&words);
    let message = again.stderr.clone();
    assert!(message.contains(&format!("{capture} is sorted again")) && message.contains("is damaged"), "{message}");
    assert!(again.done() == expected, "the result is whole");
    let after = longspan(&words);
    assert!(after.stderr.is_empty(), "{}", after.stderr);
    assert!(after.done() == expected, "the store is made again");
}
