//! Disks that fail: every write, sync and rename of a load in turn, once and permanently. Also power loss, after which
//! only a part of the unsynced writes may exist.

use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use longspan::facade::base::budget::Memory;
use longspan::facade::base::cancel::Cancel;
use longspan::facade::base::disk::{Disk, SystemDisk};
use longspan::facade::base::progress::Progress;
use longspan::facade::ingest::{self, CachePolicy, Ledgers, LoadError, LoadOptions};
use longspan::facade::model::Sources;
use longspan::facade::store::Store;
use longspan::facade::store::cache::Cache;

use crate::harness::{Random, files, folder, json_trace, lines, load, native_trace, options};

const NO_SPACE: i32 = 28;
const BROKEN_MEDIUM: i32 = 5;

/// Counts requests down to the one that fails.
#[derive(Debug)]
struct Refusing {
    requests: AtomicU64,
    refused: u64,
    for_good: bool,
    os_error: i32,
    slowness: Duration,
    /// Whether files cannot be synced.
    refuses_syncs: bool,
}

impl Refusing {
    fn new(refused: u64, for_good: bool, os_error: i32) -> Self {
        let requests = AtomicU64::new(0);
        Self { requests, refused, for_good, os_error, slowness: Duration::ZERO, refuses_syncs: false }
    }

    fn request(&self) -> io::Result<()> {
        std::thread::sleep(self.slowness);
        let request = self.requests.fetch_add(1, Ordering::Relaxed);
        if request == self.refused || (self.for_good && request > self.refused) {
            return Err(io::Error::from_raw_os_error(self.os_error));
        }
        Ok(())
    }
}

impl Disk for Refusing {
    fn write_all_at(&self, file: &File, bytes: &[u8], offset: u64) -> io::Result<()> {
        // A disk that fills up writes a part.
        let taken = self.request().inspect_err(|_| {
            SystemDisk.write_all_at(file, &bytes[..bytes.len() / 2], offset).expect("the disk of the test is not full");
        });
        taken.and_then(|()| SystemDisk.write_all_at(file, bytes, offset))
    }

    fn sync(&self, file: &File) -> io::Result<()> {
        if self.refuses_syncs {
            return Err(io::Error::from_raw_os_error(self.os_error));
        }
        self.request().and_then(|()| SystemDisk.sync(file))
    }

    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        self.request().and_then(|()| SystemDisk.sync_folder(folder))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.request().and_then(|()| SystemDisk.rename(from, to))
    }
}

fn on(disk: Arc<dyn Disk>, cache: &Path) -> LoadOptions {
    LoadOptions { disk, ..options(Some(cache)) }
}

/// Repeats the load of `capture`, each time with the next request failing.
fn refuse_each_request_of(trace: &Path) {
    let folder = folder();
    let cache = folder.path().join("cache");
    let counting = Arc::new(Refusing::new(u64::MAX, false, 0));
    let expected = lines(&load(trace, &on(counting.clone(), &cache)).expect("loads").store);
    Cache::open(&cache).expect("a cache").clear().expect("cleared");
    let requests = counting.requests.load(Ordering::Relaxed);
    assert!(requests >= 7, "spill, store, syncs, rename: {requests} requests");

    let mut ignored = 0;
    for refused in 0..requests {
        for (for_good, os_error) in [(false, NO_SPACE), (true, BROKEN_MEDIUM)] {
            let refusing = Arc::new(Refusing::new(refused, for_good, os_error));
            let error = match load(trace, &on(refusing, &cache)) {
                Err(error) => error,
                // Name texts stay in memory if they cannot be spilled. The last two requests give a complete store its
                // name, and it is shown even if they fail. All other failures end the load.
                Ok(loaded) => {
                    assert_eq!(lines(&loaded.store), expected, "request {refused}");
                    let is_complete = refused >= requests - 2;
                    assert!(!for_good || is_complete, "request {refused}");
                    let is_named = !files(&cache).is_empty();
                    assert!(is_named == (refused != requests - 2), "request {refused}");
                    assert_eq!(loaded.report.note.is_none(), is_named, "request {refused}: {:?}", loaded.report.note);
                    Cache::open(&cache).expect("a cache").clear().expect("cleared");
                    ignored += u64::from(!is_complete);
                    continue;
                }
            };
            let LoadError::Write { folder, source, .. } = &error else { panic!("request {refused}: {error:?}") };
            assert_eq!((folder.as_path(), source.raw_os_error()), (cache.as_path(), Some(os_error)));
            let message = error.to_string();
            assert!(message.contains(cache.to_str().expect("text")), "{message}");
            assert!(files(&cache).is_empty(), "request {refused} leaves {:?}", files(&cache));
        }
    }
    assert_eq!(lines(&load(trace, &options(Some(&cache))).expect("loads").store), expected);
    assert!(ignored <= requests / 2, "{ignored} of {requests} refused requests were ignored");
}

#[test]
fn each_failed_disk_request_of_a_native_load_is_an_error_with_path_and_reason() {
    let folder = folder();
    refuse_each_request_of(&native_trace(folder.path(), 3000));
}

#[test]
fn each_failed_disk_request_of_a_json_load_is_an_error_with_path_and_reason() {
    let folder = folder();
    refuse_each_request_of(&json_trace(folder.path(), 3000));
}

#[test]
fn previews_stay_readable_after_their_load_has_failed() {
    let folder = folder();
    let (trace, cache) = (native_trace(folder.path(), 300_000), folder.path().join("cache"));
    let expected = lines(&load(&trace, &options(None)).expect("loads").store);
    // The disk is slow enough for previews. Only the syncs at the end fail.
    let never = Refusing::new(u64::MAX, false, NO_SPACE);
    let slow = Refusing { slowness: Duration::from_millis(3), refuses_syncs: true, ..never };
    let mut previews = Vec::new();
    let (cancel, progress) = (Cancel::default(), Progress::default());
    let mut take = |preview| previews.push(preview);
    let failed = ingest::open_with_previews(
        &Sources::from(&trace),
        &on(Arc::new(slow), &cache),
        &cancel,
        &progress,
        Some(&mut take),
    );
    assert!(matches!(failed, Err(LoadError::Write { .. })), "{failed:?}");
    let is_whole = |preview: &Arc<Store>| preview.meta().summary.sorted_to_ns.is_none();
    let (last, earlier) = previews.split_last().expect("a load of this length has previews");
    assert!(is_whole(last) && !earlier.is_empty() && !earlier.iter().any(is_whole), "{} previews", previews.len());
    for preview in &previews {
        let found = lines(preview);
        let Some(until_ns) = preview.meta().summary.sorted_to_ns else {
            assert!(found == expected, "the last one has all rows");
            continue;
        };
        // Spans without an end so far are missing; all others are right.
        let mut all = expected.iter();
        assert!(found.iter().all(|line| line.unfinished || all.any(|other| other == line)), "up to {until_ns} ns");
    }
}

/// A disk with room for files of a size. It counts the bytes of the largest file.
#[derive(Debug)]
struct Small {
    file_bytes_max: u64,
    file_bytes: AtomicU64,
}

impl Small {
    fn new(file_bytes_max: u64) -> Arc<Self> {
        Arc::new(Self { file_bytes_max, file_bytes: AtomicU64::new(0) })
    }
}

impl Disk for Small {
    fn write_all_at(&self, file: &File, bytes: &[u8], offset: u64) -> io::Result<()> {
        let room = self.file_bytes_max.saturating_sub(offset) as usize;
        SystemDisk.write_all_at(file, &bytes[..bytes.len().min(room)], offset)?;
        self.file_bytes.fetch_max(offset + bytes.len() as u64, Ordering::Relaxed);
        if room < bytes.len() { Err(io::Error::from_raw_os_error(NO_SPACE)) } else { Ok(()) }
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

#[test]
fn a_disk_without_room_for_ledgers_costs_only_them_and_they_are_built_by_the_next_load() {
    let folder = folder();
    // The trace has enough rows for ledgers, and all of its events stay in memory.
    let (trace, cache) = (json_trace(folder.path(), 270_000), folder.path().join("cache"));
    let with = |disk: Arc<dyn Disk>| LoadOptions { memory: Memory::new(1 << 28), ..on(disk, &cache) };
    let disk = Small::new(u64::MAX);
    let without = LoadOptions { cache: CachePolicy::None, ledgers: Ledgers::IfCached, ..with(disk.clone()) };
    let expected = lines(&load(&trace, &without).expect("loads").store);
    let rows_bytes = disk.file_bytes.load(Ordering::Relaxed);
    let disk = Small::new(u64::MAX);
    assert_eq!(load(&trace, &with(disk.clone())).expect("loads").report.note, None);
    let whole_bytes = disk.file_bytes.load(Ordering::Relaxed);
    assert!(rows_bytes + 1500 < whole_bytes, "{rows_bytes} of {whole_bytes} bytes: there are ledgers");
    Cache::open(&cache).expect("a cache").clear().expect("cleared");
    // The measurements of a load take a few bytes more or less, and the trailer takes some 300.
    for file_bytes_max in [rows_bytes + 64, whole_bytes - 600] {
        let loaded = load(&trace, &with(Small::new(file_bytes_max))).expect("the rows are complete");
        assert!(lines(&loaded.store) == expected && loaded.store.damaged_in_all() == 0, "{file_bytes_max} bytes");
        let note = loaded.report.note.expect("a note");
        assert!(note.contains("Sums cannot be written in") && note.contains("No space left"), "{note}");
        assert!(files(&cache).is_empty(), "{:?}", files(&cache));
    }
    assert!(load(&trace, &with(Small::new(rows_bytes - 600))).is_err());
    let loaded = load(&trace, &with(Arc::new(SystemDisk))).expect("loads");
    assert_eq!((loaded.report.cached, loaded.report.note, files(&cache).len()), (false, None, 1));
}

/// A request to a disk.
#[derive(Debug, Clone)]
enum Request {
    Write { offset: u64, bytes: Vec<u8> },
    Sync,
    Rename,
}

/// Performs and records each request.
#[derive(Debug, Default)]
struct Remembering(Mutex<Vec<Request>>);

impl Remembering {
    fn remember(&self, request: Request) {
        self.0.lock().expect("no test panics with it").push(request);
    }
}

impl Disk for Remembering {
    fn write_all_at(&self, file: &File, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.remember(Request::Write { offset, bytes: bytes.to_vec() });
        SystemDisk.write_all_at(file, bytes, offset)
    }

    fn sync(&self, file: &File) -> io::Result<()> {
        self.remember(Request::Sync);
        SystemDisk.sync(file)
    }

    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        self.remember(Request::Sync);
        SystemDisk.sync_folder(folder)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.remember(Request::Rename);
        SystemDisk.rename(from, to)
    }
}

/// Returns a possible disk content after power loss at `moment`: all synced writes, and a random part of the others.
fn image(requests: &[Request], moment: usize, random: &mut Random) -> Vec<u8> {
    let durable = requests[..moment].iter().rposition(|request| matches!(request, Request::Sync)).unwrap_or(0);
    let mut image = Vec::new();
    for (place, request) in requests[..moment].iter().enumerate() {
        let Request::Write { offset, bytes } = request else { continue };
        let written = if place < durable { bytes.len() } else { random.below(2 * bytes.len() as u64) as usize };
        let written = &bytes[..written.min(bytes.len())];
        let (start, end) = (*offset as usize, *offset as usize + written.len());
        image.resize(image.len().max(end), 0);
        image[start..end].copy_from_slice(written);
    }
    image
}

#[test]
fn a_power_loss_at_any_moment_leaves_a_complete_store_or_one_that_does_not_open() {
    let folder = folder();
    let (trace, cache) = (native_trace(folder.path(), 20_000), folder.path().join("cache"));
    let remembering = Arc::new(Remembering::default());
    // With this memory, nothing is spilled, so all requests are for the store.
    let options = LoadOptions { memory: Memory::new(1 << 26), ..on(remembering.clone(), &cache) };
    let expected = lines(&load(&trace, &options).expect("loads").store);
    let requests = remembering.0.lock().expect("no test panics with it").clone();
    let renamed = requests.iter().position(|request| matches!(request, Request::Rename)).expect("published");
    assert!(matches!(requests[renamed - 1], Request::Sync), "what gets its name is durable");

    let (mut random, file) = (Random(1), folder.path().join("image"));
    let mut opened = 0;
    for moment in 0..=renamed {
        for _ in 0..40 {
            fs::write(&file, image(&requests, moment, &mut random)).expect("written");
            if let Ok(store) = Store::open(&file) {
                assert_eq!(lines(&Arc::new(store)), expected, "after {moment} requests");
                opened += 1;
            }
        }
    }
    assert!(opened >= 40, "once all is durable it opens");
}
