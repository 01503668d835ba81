//! Converts a sorted trace to plain rows, to compare it with another trace of the same events.

use std::path::Path;
use std::sync::Arc;

use longspan::facade::base::budget::Memory;
use longspan::facade::base::cancel::Cancel;
use longspan::facade::base::progress::Progress;
use longspan::facade::ingest::{self, CachePolicy, LoadError, LoadOptions};
use longspan::facade::model::args::Detail;
use longspan::facade::model::{NameIdx, StackIdx, TrackKey};
use longspan::facade::query::Snapshot;
use longspan::facade::query::rows::{SortedRow, SortedRows};
use longspan::facade::store::details::DetailReader;
use longspan::facade::store::{DetailRef, LaneKind, Store};

/// A row with resolved indices.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Row {
    pub start_ns: i64,
    pub lane: String,
    pub value: u64,
    pub unfinished: bool,
    pub name: String,
    pub category: Option<String>,
    pub args: String,
    pub stack: Vec<String>,
}

/// Sorts a trace without a cache.
pub(super) fn load(path: &Path, threads: usize, budget_bytes: u64) -> Result<Snapshot, LoadError> {
    let options =
        LoadOptions { threads, memory: Memory::new(budget_bytes), cache: CachePolicy::None, ..LoadOptions::default() };
    let loaded = ingest::open(path, &options, &Cancel::default(), &Progress::default())?;
    Ok(Snapshot::new(loaded.store))
}

/// Sorts a trace into a cached store, and returns the bytes of its file.
pub(super) fn cached_store(path: &Path, folder: &Path) -> Vec<u8> {
    let options = LoadOptions { cache: CachePolicy::Folder(folder.to_owned()), ..LoadOptions::default() };
    let loaded = ingest::open(path, &options, &Cancel::default(), &Progress::default()).expect("a trace");
    std::fs::read(loaded.store.path()).expect("a cached store")
}

/// Returns all rows of a trace, by time.
pub(super) fn rows(snapshot: &Snapshot) -> Vec<Row> {
    let mut reader = DetailReader::default();
    SortedRows::new(snapshot, snapshot.event_lanes(), None, None)
        .map(|row| row_of(snapshot, &row, &mut reader))
        .collect()
}

/// Returns all rows of a possibly damaged store.
pub(super) fn rows_of(store: Store) -> Vec<Row> {
    rows(&Snapshot::new(Arc::new(store)))
}

fn row_of(snapshot: &Snapshot, row: &SortedRow, reader: &mut DetailReader) -> Row {
    let lane = snapshot.lane(row.index.lane);
    let TrackKey { kind, pid, tid, name, slot } = &snapshot.track(lane.track).key;
    let text = snapshot.names().get(NameIdx(row.row.name));
    let is_sample = row.kind == LaneKind::Samples;
    let frames = snapshot.stacks().frames(StackIdx::from_value(if is_sample { row.row.value } else { 0 }));
    let detail = Detail::decode(snapshot.store().detail(DetailRef(row.row.detail), reader));
    Row {
        start_ns: row.row.start_ns,
        lane: format!("{kind:?} {pid:?} {tid:?} {} {slot} {:?} {}", &**name, lane.kind, lane.depth),
        value: if is_sample { 0 } else { row.row.value },
        unfinished: row.unfinished,
        name: text.text.to_owned(),
        category: text.category.map(str::to_owned),
        args: format!("{detail:?}"),
        stack: frames.map(|frame| snapshot.names().get(frame).text.to_owned()).collect(),
    }
}
