//! System limits on address space and open files, and traces with more threads than a system allows files or maps.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::Duration;

use longspan::facade::formats::native::write::NativeWriter;
use longspan::facade::model::{Chunk, Event, EventFlags, EventKind, Id, Losses, Names, Registry, TrackKey, TrackKind};

use crate::harness::{anonymous_kib, folder, limited, longspan};

/// More than the default maximum number of maps of a process, which is 65,530.
const MANY_THREADS: u32 = 80_000;

/// Writes threads that alternate in adding a span with a nested span.
fn many_threads(folder: &Path, threads: u32, rounds: u32) -> PathBuf {
    let path = folder.join("threads.longspan");
    let (mut names, mut registry) = (Names::default(), Registry::default());
    let name = names.intern("work", None);
    let tracks: Vec<_> = (0..threads)
        .map(|thread| {
            let (pid, tid) = (Id::Number(1), Id::Number(thread.into()));
            registry.track(&TrackKey { kind: TrackKind::Thread, pid, tid, name: "".into(), slot: 0 }).expect("room")
        })
        .collect();
    let (outer, inner) = ((0, 100), (10, 50));
    let event = |turn: u64, track, (offset_ns, dur_ns): (i64, u64)| Event {
        ts_ns: turn as i64 * 7 + offset_ns,
        value: dur_ns,
        track,
        name,
        detail: 0,
        depth: 0,
        kind: EventKind::Complete,
        flags: EventFlags::NONE,
    };
    let turns = (0..rounds).flat_map(|_| &tracks).zip(0..);
    let events: Vec<Event> =
        turns.flat_map(|(&track, turn)| [event(turn, track, inner), event(turn, track, outer)]).collect();
    let mut writer = NativeWriter::new(File::create(&path).expect("created"), false).expect("written");
    writer.write_tables(&names, registry.tables()).expect("written");
    for events in events.chunks(1 << 16) {
        writer.write_chunk(&Chunk { events: events.to_vec(), ..Chunk::default() }).expect("written");
    }
    writer.finish(&Losses::default()).expect("written");
    path
}

#[test]
fn a_load_needs_at_most_2_gib_of_address_space_and_64_files() {
    let folder = folder();
    let (trace, cache) = (many_threads(folder.path(), 5000, 30), folder.path().join("cache"));
    let args = ["info", "--json", "--cache", cache.to_str().expect("text"), trace.to_str().expect("text")];
    let output = limited("ulimit -n 64; ulimit -v 2097152", &args).output().expect("the program starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let info: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(info["spans"], 5000 * 30 * 2);
}

/// Peak values of the sampled resources of a process.
#[derive(Debug, Default)]
pub(crate) struct Peaks {
    pub anonymous_kib: u64,
    maps: usize,
    files: usize,
}

impl Peaks {
    /// Runs a command that prints JSON, and returns its peaks and the JSON.
    pub(crate) fn of(mut command: Command) -> (Self, serde_json::Value) {
        let mut child = command.spawn().expect("the program starts");
        let mut peaks = Self::default();
        while child.try_wait().expect("a child").is_none() {
            peaks.sample(&child);
            std::thread::sleep(Duration::from_millis(2));
        }
        let output = child.wait_with_output().expect("a child");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        (peaks, serde_json::from_slice(&output.stdout).expect("JSON"))
    }

    fn sample(&mut self, child: &Child) {
        self.anonymous_kib = self.anonymous_kib.max(anonymous_kib(child));
        let folder = PathBuf::from(format!("/proc/{}", child.id()));
        let maps = fs::read_to_string(folder.join("maps")).unwrap_or_default().lines().count();
        self.maps = self.maps.max(maps);
        let files = folder.join("fd").read_dir().map_or(0, Iterator::count);
        self.files = self.files.max(files);
    }
}

#[test]
fn eighty_thousand_threads_need_few_maps_few_files_and_bounded_memory() {
    let folder = folder();
    let trace = many_threads(folder.path(), MANY_THREADS, 3);
    let args = ["info", "--json", "--no-cache", trace.to_str().expect("text")];
    let (peaks, info) = Peaks::of(longspan(&args));
    assert_eq!((&info["spans"], &info["threads"]), (&(MANY_THREADS * 6).into(), &MANY_THREADS.into()));
    let lanes = info["lanes"].as_u64().expect("a number");
    assert!(peaks.maps < 1000 && peaks.files < 64, "{peaks:?}");
    assert!(peaks.anonymous_kib < 100_000 + lanes, "{peaks:?} for {lanes} lanes");
}
