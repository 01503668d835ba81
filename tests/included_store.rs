//! Exports that include their store: a load gives the same result whether the store is used, damaged or false.

use std::fs;
use std::path::{Path, PathBuf};

use longspan::facade::base::cancel::Cancel;
use longspan::facade::base::progress::Progress;
use longspan::facade::export::{ExportFormat, ExportOptions, export};
use longspan::facade::formats::native::wire::{ChunkKind, DirectoryEntry};
use longspan::facade::formats::native::write::NativeWriter;
use longspan::facade::ingest::{self, CachePolicy, LoadOptions, Loaded};
use longspan::facade::query::Snapshot;
use longspan::facade::query::rows::SortedRows;
use longspan::facade::query::scope::Scope;
use longspan::facade::store::details::DetailReader;
use longspan::facade::store::{DetailRef, LaneIdx, LaneKind, LoadStats, Summary};
use longspan::facade::synth::{Synth, SynthOptions, write};

const COMPACT: ExportFormat = ExportFormat::Native { compact: true };
const CARRYING: ExportFormat = ExportFormat::Native { compact: false };

fn load(path: &Path) -> Loaded {
    let options = LoadOptions { threads: 2, cache: CachePolicy::None, ..LoadOptions::default() };
    let loaded = ingest::open(path, &options, &Cancel::default(), &Progress::default());
    loaded.unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn exported(from: &Loaded, output: &Path, format: ExportFormat) {
    let (snapshot, options) = (Snapshot::new(from.store.clone()), ExportOptions::whole(format));
    export(&snapshot, &"/none".into(), output, &options, &Cancel::default(), &Progress::default()).expect("exported");
}

/// Returns the whole content of a store, including the bits of each row. Details are compared by their bytes, since
/// their positions differ between stores.
fn rows(loaded: &Loaded) -> Vec<String> {
    let snapshot = Snapshot::new(loaded.store.clone());
    let lanes = (0..loaded.store.lane_count()).map(LaneIdx);
    let mut reader = DetailReader::default();
    let mut lines = Vec::new();
    for row in SortedRows::new(&snapshot, lanes, None, None) {
        let lane = snapshot.lane(row.index.lane);
        let detail = match row.kind {
            LaneKind::Flows => row.row.detail.to_le_bytes().to_vec(),
            _ => loaded.store.detail(DetailRef(row.row.detail), &mut reader).to_vec(),
        };
        let (start_ns, value, name) = (row.row.start_ns, row.row.value, row.row.name);
        lines.push(format!("{lane:?} {} {start_ns} {value} {name} {} {detail:?}", row.index.row, row.unfinished));
    }
    let meta = loaded.store.meta();
    lines.push(format!("{:?} {:?}", meta.tracks, meta.losses));
    lines
}

fn assert_same(a: &Loaded, b: &Loaded, name: &str) {
    let (a, b) = (rows(a), rows(b));
    let differs = a.iter().zip(&b).find(|(a, b)| a != b);
    assert!(
        a.len() == b.len() && differs.is_none(),
        "{name}: {} and {} rows, the first of them: {differs:?}",
        a.len(),
        b.len()
    );
}

/// Returns the summary without the source size and the load statistics.
fn counts(loaded: &Loaded) -> Summary {
    Summary { source_bytes: 0, load: LoadStats::default(), ..loaded.store.meta().summary.clone() }
}

/// Returns whether the load used the included store without reading the events.
fn used_store(loaded: &Loaded) -> bool {
    loaded.store.meta().summary.load.chunks_open_max == 0
}

/// Loads the exports with and without a store. Also returns the path of the export with a store.
fn both(trace: &Path, folder: &Path) -> (Loaded, Loaded, PathBuf) {
    let (first, output) = (load(trace), folder.join("carrying.longspan"));
    let compact = folder.join("compact.longspan");
    exported(&first, &output, CARRYING);
    exported(&first, &compact, COMPACT);
    (load(&output), load(&compact), output)
}

fn synthetic(folder: &Path, spans: u64) -> PathBuf {
    let path = folder.join("synthetic.longspan");
    let synth = Synth::new(SynthOptions { spans, disorder: 0.02, ..SynthOptions::demo() });
    write::write_native(&synth, fs::File::create(&path).expect("created")).expect("written");
    path
}

/// Returns the directory entry of the first store part in a trace.
fn store_part(bytes: &[u8]) -> DirectoryEntry {
    let is_part = |entry: &DirectoryEntry| entry.header.is_whole() && entry.header.kind() == Some(ChunkKind::Store);
    let headers = (0..bytes.len() - 80)
        .step_by(8)
        .map(|at| DirectoryEntry { offset: at as u64, header: bytemuck::pod_read_unaligned(&bytes[at..at + 80]) });
    headers.into_iter().find(is_part).expect("a part of a store")
}

#[test]
fn every_test_trace_loads_from_its_included_store_as_from_its_events() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut traces = 0;
    for entry in fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data")).expect("the data of the tests")
    {
        let path = entry.expect("an entry").path();
        let options = LoadOptions { cache: CachePolicy::None, ..LoadOptions::default() };
        if !path.is_file() || ingest::open(&*path, &options, &Cancel::default(), &Progress::default()).is_err() {
            continue;
        }
        let (carrying, compact, output) = both(&path, folder.path());
        let name = path.display();
        assert!(used_store(&carrying), "{name}: {:?}", carrying.report.note);
        assert_eq!(counts(&carrying), counts(&compact), "{name}");
        assert_same(&carrying, &compact, &name.to_string());
        // A second export includes the same store, byte for byte.
        let again = folder.path().join("again.longspan");
        exported(&carrying, &again, CARRYING);
        assert!(fs::read(&again).unwrap() == fs::read(&output).unwrap(), "{name}");
        traces += 1;
    }
    assert!(traces > 25, "{traces} traces");
}

#[test]
fn a_damaged_included_store_is_ignored_and_no_event_is_missing() {
    let folder = tempfile::tempdir().expect("a folder");
    let (carrying, compact, output) = both(&synthetic(folder.path(), 30_000), folder.path());
    assert!(used_store(&carrying) && !used_store(&compact) && rows(&carrying) == rows(&compact));
    let mut bytes = fs::read(&output).expect("written");
    let part = store_part(&bytes);
    bytes[part.offset as usize + 80 + part.header.payload_bytes as usize / 2] ^= 1;
    fs::write(&output, &bytes).expect("damaged");
    let sorted = load(&output);
    assert!(!used_store(&sorted) && rows(&sorted) == rows(&compact));
    assert_eq!(counts(&sorted), counts(&compact));
    assert!(sorted.report.note.is_some_and(|note| note.contains("sorted again")));
}

/// Writes a trace without events that includes parts of a store.
fn carry(of: &Loaded, parts: &[Vec<u8>], output: &Path) -> Loaded {
    let meta = of.store.meta();
    let mut writer = NativeWriter::new(fs::File::create(output).expect("created"), true).expect("begun");
    writer.write_tables(&meta.names, &meta.tracks).expect("written");
    writer.write_stacks(&meta.stacks).expect("written");
    parts.iter().for_each(|part| writer.write_store_part(part).expect("written"));
    writer.finish(&meta.losses).expect("written");
    load(output)
}

#[test]
fn only_a_complete_store_of_the_same_trace_is_imported() {
    let folder = tempfile::tempdir().expect("a folder");
    let first = load(&synthetic(folder.path(), 300_000));
    let parts: Vec<Vec<u8>> = first.store.carried_parts().map(|part| part.expect("whole")).collect();
    let output = folder.path().join("made-up");
    assert!(parts.len() > 2, "{} parts", parts.len());
    assert_same(&carry(&first, &parts, &output), &first, "as it is");
    let spans = |parts: &[Vec<u8>]| carry(&first, parts, &output).store.meta().summary.spans;
    assert_eq!(spans(&parts[..parts.len() - 1]), 0, "without its last part");
    let mut of_no_version = parts.clone();
    of_no_version[1][0] ^= 0x80;
    assert_eq!(spans(&of_no_version), 0);
    let in_disorder: Vec<_> = parts.iter().rev().chain(parts.last()).cloned().collect();
    assert_eq!(spans(&in_disorder), 0, "rows that go back in time");
}

#[test]
fn a_partial_export_has_no_store_and_several_files_use_none() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = synthetic(folder.path(), 5_000);
    let (first, part, whole) = (load(&path), folder.path().join("part.longspan"), folder.path().join("whole.longspan"));
    let snapshot = Snapshot::new(first.store.clone());
    let options = ExportOptions {
        scope: Scope::from_range(Some(snapshot.start_ns() + 1), None),
        ..ExportOptions::whole(CARRYING)
    };
    export(&snapshot, &"/none".into(), &part, &options, &Cancel::default(), &Progress::default()).expect("exported");
    assert!(!used_store(&load(&part)));
    exported(&first, &whole, CARRYING);
    let together = longspan::facade::model::Sources::unmoved([whole.clone(), whole]);
    let options = LoadOptions { cache: CachePolicy::None, ..LoadOptions::default() };
    let both = ingest::open(together, &options, &Cancel::default(), &Progress::default()).expect("opened");
    assert_eq!(both.store.meta().summary.spans, 2 * first.store.meta().summary.spans);
    assert!(!used_store(&both));
}
