//! A cached store that was altered between two commands. `tests/faults/altered.rs` covers every command and position.

use std::fs;

use crate::harness::longspan;

#[test]
fn a_damaged_store_is_reported_and_rebuilt() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    let (trace, cache) = (path("a.longspan"), path("cache"));
    longspan(&["synth", "-o", &trace, "--spans", "20000", "--threads", "2", "--format", "native"]).done();
    let args = ["stats", &trace, "--format", "csv", "--cache", &cache];
    let expected = longspan(&args).done();
    let store = fs::read_dir(&cache).expect("the cache").map(|entry| entry.expect("an entry").path());
    let store = store.into_iter().find(|path| path.extension().is_some_and(|ending| ending == "lsstore"));
    let store = store.expect("a cached store");
    let mut bytes = fs::read(&store).expect("read");
    // The altered byte is in the body, which is verified on read.
    let place = bytes.len() / 3;
    bytes[place] ^= 0x10;
    fs::write(&store, bytes).expect("written");

    let again = longspan(&args);
    let message = again.stderr.clone();
    assert!(message.contains(&format!("{trace} is sorted again")) && message.contains("is damaged"), "{message}");
    assert!(again.done() == expected, "the result is whole");
    let after = longspan(&args);
    assert!(after.stderr.is_empty(), "{}", after.stderr);
    assert!(after.done() == expected, "the store is rebuilt");
}
