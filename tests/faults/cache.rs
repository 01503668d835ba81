//! The cache folder when it is not writable, full, shared, or has a store of a trace that changed.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use longspan::facade::base::disk::{Disk, SystemDisk};
use longspan::facade::ingest::LoadOptions;
use longspan::facade::store::Store;

use crate::harness::{files, folder, json_capture, limited, lines, load, longspan, native_capture, options};

#[test]
fn a_folder_that_cannot_be_made_or_written_is_noted_and_does_without() {
    let folder = folder();
    let capture = native_capture(folder.path(), 2000);
    let expected = lines(&load(&capture, &options(None)).expect("loads").store);
    let below_a_file = capture.join("cache");
    // A folder in which nobody can create a file, not even root, which ignores permissions.
    let unwritable = Path::new("/proc/self/task");
    for cache in [&below_a_file, unwritable] {
        let loaded = load(&capture, &options(Some(cache))).expect("loads without a cache");
        let note = loaded.report.note.expect("the user is told");
        assert!(note.contains(cache.to_str().expect("text")), "{note}");
        assert_eq!(lines(&loaded.store), expected);
    }
}

#[test]
fn a_capture_that_changes_during_the_load_is_not_kept_and_noted() {
    /// Appends to the trace at the first write of the store.
    #[derive(Debug)]
    struct Growing(PathBuf, AtomicBool);

    impl Disk for Growing {
        fn write_all_at(&self, file: &File, bytes: &[u8], offset: u64) -> io::Result<()> {
            if !self.1.swap(true, Ordering::Relaxed) {
                let mut capture = OpenOptions::new().append(true).open(&self.0)?;
                capture.write_all(b" ")?;
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
    for capture in [json_capture(folder.path(), 2000), native_capture(folder.path(), 2000)] {
        let cache = folder.path().join("cache");
        let growing = Arc::new(Growing(capture.clone(), AtomicBool::new(false)));
        let loaded = load(&capture, &LoadOptions { disk: growing, ..options(Some(&cache)) }).expect("loads");
        assert!(loaded.report.note.is_some_and(|note| note.contains("changed while it was read")));
        assert!(!lines(&loaded.store).is_empty(), "what was read can be seen");
        assert_eq!(files(&cache), [] as [PathBuf; 0]);
        assert!(load(&capture, &options(Some(&cache))).expect("loads").report.note.is_none());
        fs::remove_dir_all(cache).expect("removed");
    }
}

#[test]
fn a_load_removes_old_stores_beyond_the_limit_but_not_its_own() {
    let folder = folder();
    let cache = folder.path().join("cache");
    let captures = [500, 600, 700].map(|spans| native_capture(folder.path(), spans));
    let bytes =
        captures.clone().map(|capture| load(&capture, &options(Some(&cache))).expect("loads").store.file_bytes());
    assert_eq!(files(&cache).len(), 3);
    fs::remove_file(&captures[2]).expect("removed");
    let last = native_capture(folder.path(), 700);
    let limit = |cache_bytes_max| LoadOptions { cache_bytes_max, ..options(Some(&cache)) };
    assert!(!load(&last, &limit(bytes[2] + bytes[1])).expect("loads").report.cached, "it is another file");
    assert_eq!(files(&cache).len(), 1 + 1, "the new one and what fits beside it");
    assert!(load(&last, &limit(0)).expect("loads").report.cached);
    fs::remove_file(&last).expect("removed");
    let loaded = load(&native_capture(folder.path(), 700), &limit(0)).expect("loads");
    assert_eq!(files(&cache), [loaded.store.path()], "its own stays, though there is no room even for that");
}

#[test]
fn a_folder_that_vanishes_during_the_load_is_noted_and_does_without() {
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
    let (capture, cache) = (native_capture(folder.path(), 2000), folder.path().join("cache"));
    let expected = lines(&load(&capture, &options(None)).expect("loads").store);
    let disk = Arc::new(Vanishing(cache.clone(), AtomicBool::new(false)));
    let loaded = load(&capture, &LoadOptions { disk, ..options(Some(&cache)) }).expect("loads all the same");
    let note = loaded.report.note.expect("the user is told");
    assert!(note.contains(cache.to_str().expect("text")), "{note}");
    assert!(lines(&loaded.store) == expected);
    assert!(load(&capture, &options(Some(&cache))).expect("loads").report.note.is_none(), "it is made again");
}

#[test]
#[cfg(unix)]
fn a_folder_of_another_user_is_refused_and_said_and_done_without() {
    let folder = folder();
    let (capture, mut cache) = (native_capture(folder.path(), 2000), folder.path().join("cache"));
    fs::create_dir(&cache).expect("made");
    if std::os::unix::fs::chown(&cache, Some(12345), None).is_err() {
        // A user who may not change the owner of a folder owns no system folder.
        cache = "/usr".into();
    }
    let before = files(&cache);
    let words = ["info", "--cache", cache.to_str().expect("text"), capture.to_str().expect("text")];
    let output = longspan(&words).output().expect("the program starts");
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && message.contains("belongs to user"), "{message}");
    assert_eq!(files(&cache), before);
    for action in ["list", "clear"] {
        let output = longspan(&["cache", action, "--cache", words[2]]).output().expect("the program starts");
        assert_eq!(output.status.code(), Some(1));
        assert!(String::from_utf8_lossy(&output.stderr).contains("belongs to user"));
    }
}

#[test]
#[cfg(feature = "window")]
fn a_demo_that_the_disk_refuses_is_an_error_and_leaves_nothing() {
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
fn two_processes_may_load_the_same_capture_at_once() {
    let folder = folder();
    let (capture, cache) = (native_capture(folder.path(), 20_000), folder.path().join("cache"));
    let expected = lines(&load(&capture, &options(None)).expect("loads").store);
    for _ in 0..10 {
        let words = ["info", "--cache", cache.to_str().expect("text"), capture.to_str().expect("text")];
        let children = [0, 1, 2].map(|_| longspan(&words).spawn().expect("the program starts"));
        for child in children {
            let output = child.wait_with_output().expect("a child");
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        }
        let kept = files(&cache);
        assert_eq!(kept.len(), 1, "{kept:?}");
        assert_eq!(lines(&Arc::new(Store::open(&kept[0]).expect("whole"))), expected);
        fs::remove_file(&kept[0]).expect("removed");
    }
}

#[test]
fn a_full_disk_is_an_error_that_says_so_and_leaves_nothing() {
    let folder = folder();
    let (capture, cache) = (native_capture(folder.path(), 60_000), folder.path().join("cache"));
    let words = ["info", "--cache", cache.to_str().expect("text"), capture.to_str().expect("text")];
    // A limit on the file size fails writes like a full disk.
    let output = limited("ulimit -f 200", &words).output().expect("the program starts");
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{message}");
    assert!(message.contains(words[2]) && message.contains("File too large"), "{message}");
    assert_eq!(files(&cache), [] as [PathBuf; 0]);
}
