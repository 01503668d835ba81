//! Traces to load, and the whole content of a store in a comparable form.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use longspan::facade::base::budget::Memory;
use longspan::facade::base::cancel::Cancel;
use longspan::facade::base::disk::{Disk, SystemDisk};
use longspan::facade::base::progress::Progress;
use longspan::facade::formats::native::write::NativeWriter;
use longspan::facade::ingest::{self, CachePolicy, LoadError, LoadOptions, Loaded};
use longspan::facade::model::{Chunk, Event, Losses, NameIdx};
use longspan::facade::query::Snapshot;
use longspan::facade::query::rows::SortedRows;
use longspan::facade::store::details::DetailReader;
use longspan::facade::store::{DetailRef, LaneIdx, LaneKind, Store};
use longspan::facade::synth::{Synth, SynthOptions};

/// Returns the current anonymous memory of a child in KiB: without its code, libraries and mapped files.
pub(crate) fn anonymous_kib(child: &Child) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

/// A row of a store with resolved indices.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Line {
    pub start_ns: i64,
    pub value: u64,
    pub name: String,
    pub track: String,
    pub depth: u16,
    pub kind: LaneKind,
    pub unfinished: bool,
    pub blob: Vec<u8>,
}

/// Returns all rows of a store, by time.
pub(crate) fn lines(store: &Arc<Store>) -> Vec<Line> {
    let snapshot = Snapshot::new(Arc::clone(store));
    let mut reader = DetailReader::default();
    SortedRows::new(&snapshot, (0..store.lane_count()).map(LaneIdx), None, None)
        .map(|row| {
            let info = snapshot.lane(row.index.lane);
            let key = &snapshot.track(info.track).key;
            let has_blob = row.kind != LaneKind::Flows;
            let detail = DetailRef(if has_blob { row.row.detail } else { 0 });
            let name = NameIdx(row.row.name);
            Line {
                start_ns: row.row.start_ns,
                value: row.row.value,
                name: snapshot.names().get(name).text.to_owned(),
                track: format!("{key:?}"),
                depth: info.depth,
                kind: row.kind,
                unfinished: row.unfinished,
                blob: store.detail(detail, &mut reader).to_vec(),
            }
        })
        .collect()
}

/// Returns whether `part` is a subsequence of `whole`.
pub(crate) fn is_part_of(part: &[Line], whole: &[Line]) -> bool {
    let mut rest = whole.iter();
    part.iter().all(|line| rest.any(|other| other == line))
}

/// A disk that ignores syncs, which thousands of loads would wait for.
#[derive(Debug)]
pub(crate) struct Hasty;

impl Disk for Hasty {
    fn write_all_at(&self, file: &File, bytes: &[u8], offset: u64) -> io::Result<()> {
        SystemDisk.write_all_at(file, bytes, offset)
    }

    fn sync(&self, _file: &File) -> io::Result<()> {
        Ok(())
    }

    fn sync_folder(&self, _folder: &Path) -> io::Result<()> {
        Ok(())
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        SystemDisk.rename(from, to)
    }
}

/// Load options for tests: little memory, so that events are spilled.
pub(crate) fn options(cache: Option<&Path>) -> LoadOptions {
    let cache = cache.map_or(CachePolicy::None, |folder| CachePolicy::Folder(folder.into()));
    LoadOptions { memory: Memory::new(1 << 16), threads: 2, cache, disk: Arc::new(Hasty), ..LoadOptions::default() }
}

pub(crate) fn load(trace: &Path, options: &LoadOptions) -> Result<Loaded, LoadError> {
    ingest::open(trace, options, &Cancel::default(), &Progress::default())
}

/// Number of events per chunk of native traces: few, so that a small trace has many chunks.
pub(crate) const CHUNK_EVENTS: usize = 500;

/// Writes a native trace with one of everything that a trace can contain.
pub(crate) fn native_trace(folder: &Path, spans: u64) -> PathBuf {
    let path = folder.join(format!("trace-{spans}.longspan"));
    let synth = Synth::new(SynthOptions { spans, threads: 5, disorder: 0.1, ..SynthOptions::demo() });
    let mut writer = NativeWriter::new(File::create(&path).expect("created"), false).expect("written");
    writer.write_tables(synth.names(), synth.tracks()).expect("written");
    let written = synth.generate(&mut |large| {
        large.events.chunks(CHUNK_EVENTS).try_for_each(|events| {
            let mut chunk = Chunk::default();
            for event in events {
                let blob = large.details.blob(event.detail);
                let detail = if blob.is_empty() { 0 } else { chunk.details.push_blob(blob) };
                chunk.events.push(Event { detail, ..*event });
            }
            writer.write_chunk(&chunk)
        })
    });
    written.expect("written");
    writer.finish(&Losses::default()).expect("written");
    path
}

/// Writes a JSON trace with nearly sorted spans that have arguments.
pub(crate) fn json_trace(folder: &Path, spans: u64) -> PathBuf {
    let path = folder.join(format!("trace-{spans}.json"));
    let mut text = b"[".to_vec();
    for k in 0..spans {
        let (ts, tid, comma) = (k * 10 + (k * 7919) % 97, k % 3, if k == 0 { "" } else { ",\n" });
        write!(
            text,
            r#"{comma}{{"ph":"X","pid":1,"tid":{tid},"ts":{ts},"dur":4,"name":"n{}","args":{{"k":{k}}}}}"#,
            k % 11
        )
        .expect("memory");
    }
    text.extend_from_slice(b"]");
    fs::write(&path, text).expect("written");
    path
}

/// Returns the files of a folder, by name.
pub(crate) fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = folder.read_dir().map(|entries| entries.map(|entry| entry.expect("readable").path()));
    let mut files: Vec<_> = entries.into_iter().flatten().collect();
    files.sort();
    files
}

pub(crate) fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a folder for temporary files")
}

/// Pseudo-random numbers, the same in every run.
pub(crate) struct Random(pub u64);

impl Random {
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit.max(1)
    }
}

/// Returns the number of moments or positions to test: `few`, or 500 with `LONGSPAN_LONG_TESTS`, which `.ci/run --long`
/// sets.
pub(crate) fn moments(few: u64) -> u64 {
    if std::env::var_os("LONGSPAN_LONG_TESTS").is_some() { 500 } else { few }
}

/// Returns the command of the real program with these arguments.
pub(crate) fn longspan(args: &[&str]) -> Command {
    quiet(Command::new(env!("CARGO_BIN_EXE_longspan")), args)
}

/// Like [`longspan`], but with default signal handlers, since the parent may ignore some signals, as nohup does.
pub(crate) fn signalled(args: &[&str]) -> Command {
    let mut command = Command::new("env");
    command.args(["--default-signal=HUP,INT,TERM", env!("CARGO_BIN_EXE_longspan")]);
    quiet(command, args)
}

/// Like [`longspan`], with limits that a shell sets first.
pub(crate) fn limited(limits: &str, args: &[&str]) -> Command {
    let mut command = Command::new("bash");
    command.args(["-c", &format!("{limits}; exec \"$0\" \"$@\""), env!("CARGO_BIN_EXE_longspan")]);
    quiet(command, args)
}

fn quiet(mut command: Command, args: &[&str]) -> Command {
    command.args(args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}
