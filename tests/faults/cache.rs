//! The cache folder when it is not writable, full, shared, or has a store of a trace that changed.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use longspan::facade::base::disk::{Disk, SystemDisk};
use longspan::facade::ingest::LoadOptions;
use longspan::facade::store::Store;

use crate::harness::{files, folder, json_trace, limited, lines, load, longspan, native_trace, options};

#[test]
fn a_cache_folder_that_cannot_be_created_or_written_is_reported_and_not_used() {
    let folder = folder();
    let trace = native_trace(folder.path(), 2000);
    let expected = lines(&load(&trace, &options(None)).expect("loads").store);
    let below_a_file = trace.join("cache");
    // Nobody can create a file in this folder, not even root, which ignores permissions.
    let unwritable = Path::new("/proc/self/task");
    for cache in [&below_a_file, unwritable] {
        let loaded = load(&trace, &options(Some(cache))).expect("loads without a cache");
        let note = loaded.report.note.expect("a note for the user");
        assert!(note.contains(cache.to_str().expect("text")), "{note}");
        assert_eq!(lines(&loaded.store), expected);
    }
}

#[test]
fn a_trace_that_changes_during_the_load_is_not_cached_and_reported() {
    /// Appends to the trace at the first write of the store.
    #[derive(Debug)]
    struct Growing(PathBuf, AtomicBool);

    impl Disk for Growing {
        fn write_all_at(&self, file: &File, bytes: &[u8], offset: u64) -> io::Result<()> {
            if !self.1.swap(true, Ordering::Relaxed) {
                let mut trace = OpenOptions::new().append(true).open(&self.0)?;
                trace.write_all(b" ")?;
            }
            SystemDisk.write_all_at(file, bytes, offset)
        }

        fn sync(&self, file: &File) -> io::Result<()> {
            SystemDisk.sync(file)
        }

        fn sync_folder(&self, folder: &Path) -> io::Result<()> {
            SystemDisk.sync_folder(folder)
        }

        fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
            SystemDisk.rename(from, to)
        }
    }

    let folder = folder();
    for trace in [json_trace(folder.path(), 2000), native_trace(folder.path(), 2000)] {
        let cache = folder.path().join("cache");
        let growing = Arc::new(Growing(trace.clone(), AtomicBool::new(false)));
        let loaded = load(&trace, &LoadOptions { disk: growing, ..options(Some(&cache)) }).expect("loads");
        assert!(loaded.report.note.is_some_and(|note| note.contains("changed while it was read")));
        assert!(!lines(&loaded.store).is_empty(), "what was read can be seen");
        assert_eq!(files(&cache), [] as [PathBuf; 0]);
        assert!(load(&trace, &options(Some(&cache))).expect("loads").report.note.is_none());
        fs::remove_dir_all(cache).expect("removed");
    }
}

#[test]
fn a_load_removes_old_stores_beyond_the_limit_but_not_its_own() {
    let folder = folder();
    let cache = folder.path().join("cache");
    let traces = [500, 600, 700].map(|spans| native_trace(folder.path(), spans));
    let bytes = traces.clone().map(|trace| load(&trace, &options(Some(&cache))).expect("loads").store.file_bytes());
    assert_eq!(files(&cache).len(), 3);
    fs::remove_file(&traces[2]).expect("removed");
    let last = native_trace(folder.path(), 700);
    let limit = |cache_bytes_max| LoadOptions { cache_bytes_max, ..options(Some(&cache)) };
    assert!(!load(&last, &limit(bytes[2] + bytes[1])).expect("loads").report.cached, "it is another file");
    assert_eq!(files(&cache).len(), 1 + 1, "the new one and what fits beside it");
    assert!(load(&last, &limit(0)).expect("loads").report.cached);
    fs::remove_file(&last).expect("removed");
    let loaded = load(&native_trace(folder.path(), 700), &limit(0)).expect("loads");
    assert_eq!(files(&cache), [loaded.store.path()], "its own stays, though there is no room even for that");
}

#[test]
fn a_cache_folder_removed_during_the_load_is_reported_and_not_used() {
    /// Removes the folder at the first write of the store.
    #[derive(Debug)]
    struct Vanishing(PathBuf, AtomicBool);

    impl Disk for Vanishing {
        fn write_all_at(&self, file: &File, bytes: &[u8], offset: u64) -> io::Result<()> {
            if !self.1.swap(true, Ordering::Relaxed) {
                fs::remove_dir_all(&self.0)?;
            }
            SystemDisk.write_all_at(file, bytes, offset)
        }

        fn sync(&self, file: &File) -> io::Result<()> {
            SystemDisk.sync(file)
        }

        fn sync_folder(&self, folder: &Path) -> io::Result<()> {
            SystemDisk.sync_folder(folder)
        }

        fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
            SystemDisk.rename(from, to)
        }
    }

    let folder = folder();
    let (trace, cache) = (native_trace(folder.path(), 2000), folder.path().join("cache"));
    let expected = lines(&load(&trace, &options(None)).expect("loads").store);
    let disk = Arc::new(Vanishing(cache.clone(), AtomicBool::new(false)));
    let loaded = load(&trace, &LoadOptions { disk, ..options(Some(&cache)) }).expect("loads all the same");
    let note = loaded.report.note.expect("a note for the user");
    assert!(note.contains(cache.to_str().expect("text")), "{note}");
    assert!(lines(&loaded.store) == expected);
    assert!(load(&trace, &options(Some(&cache))).expect("loads").report.note.is_none(), "the store is rebuilt");
}

#[test]
#[cfg(unix)]
fn a_cache_folder_of_another_user_is_refused_reported_and_not_used() {
    let folder = folder();
    let (trace, mut cache) = (native_trace(folder.path(), 2000), folder.path().join("cache"));
    fs::create_dir(&cache).expect("made");
    if std::os::unix::fs::chown(&cache, Some(12345), None).is_err() {
        // A user who may not change the owner of a folder owns no system folder.
        cache = "/usr".into();
    }
    let before = files(&cache);
    let args = ["info", "--cache", cache.to_str().expect("text"), trace.to_str().expect("text")];
    let output = longspan(&args).output().expect("the program starts");
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && message.contains("belongs to user"), "{message}");
    assert_eq!(files(&cache), before);
    for action in ["list", "clear"] {
        let output = longspan(&["cache", action, "--cache", args[2]]).output().expect("the program starts");
        assert_eq!(output.status.code(), Some(1));
        let message = String::from_utf8_lossy(&output.stderr);
        let fails = if action == "list" { ": cannot read: " } else { ": cannot write: " };
        assert!(message.contains("belongs to user") && message.contains(fails), "{message}");
    }
}

#[test]
#[cfg(feature = "window")]
fn a_demo_on_a_failing_disk_is_an_error_and_leaves_no_file() {
    let folder = folder();
    let cache = folder.path().join("cache");
    let mut command = limited("ulimit -f 100", &["demo", "--cache", cache.to_str().expect("text")]);
    let output = command.env_remove("DISPLAY").env_remove("WAYLAND_DISPLAY").output().expect("the program starts");
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{message}");
    assert!(message.contains("cannot write the demo trace: File too large"), "{message}");
    assert_eq!(files(&cache), [] as [PathBuf; 0]);
}

#[test]
fn two_processes_may_load_the_same_trace_concurrently() {
    let folder = folder();
    let (trace, cache) = (native_trace(folder.path(), 20_000), folder.path().join("cache"));
    let expected = lines(&load(&trace, &options(None)).expect("loads").store);
    for _ in 0..10 {
        let args = ["info", "--cache", cache.to_str().expect("text"), trace.to_str().expect("text")];
        let children = [0, 1, 2].map(|_| longspan(&args).spawn().expect("the program starts"));
        for child in children {
            let output = child.wait_with_output().expect("a child");
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        }
        let stores = files(&cache);
        assert_eq!(stores.len(), 1, "{stores:?}");
        assert_eq!(lines(&Arc::new(Store::open(&stores[0]).expect("whole"))), expected);
        fs::remove_file(&stores[0]).expect("removed");
    }
}

#[test]
fn a_full_disk_is_a_clear_error_and_leaves_no_file() {
    let folder = folder();
    let (trace, cache) = (native_trace(folder.path(), 60_000), folder.path().join("cache"));
    let args = ["info", "--cache", cache.to_str().expect("text"), trace.to_str().expect("text")];
    // A limit on the file size fails writes like a full disk.
    let output = limited("ulimit -f 200", &args).output().expect("the program starts");
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{message}");
    assert!(message.contains(args[2]) && message.contains("File too large"), "{message}");
    assert_eq!(files(&cache), [] as [PathBuf; 0]);
}
