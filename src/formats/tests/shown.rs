//! Compares the documented kinds of data of each format with the events of sample traces: recordings of other tools in
//! `tests/data`, and small inputs in `tests/fuzz/corpus`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::formats::format::DataKind;
use crate::formats::input::source::Source;
use crate::formats::sniff::FORMATS;
use crate::formats::testing::{ReadEvent, read_path};
use crate::model::{EventKind, TrackKind};

/// Kinds of data that only generated traces have, since no recorded trace is available.
const MADE: [(&str, DataKind); 2] = [("Perfetto", DataKind::Samples), ("Spall", DataKind::Arguments)];

fn shown_of(event: &ReadEvent) -> impl Iterator<Item = DataKind> {
    let what = match event.kind {
        EventKind::State => DataKind::Scheduling,
        _ if event.track.kind == TrackKind::Cpu => DataKind::Scheduling,
        EventKind::Complete
        | EventKind::Begin
        | EventKind::End
        | EventKind::AsyncBegin
        | EventKind::AsyncEnd
        | EventKind::AsyncStepInto
        | EventKind::AsyncStepPast => DataKind::Spans,
        EventKind::Instant | EventKind::AsyncInstant => DataKind::Instants,
        EventKind::Counter => DataKind::Counters,
        EventKind::FlowStart | EventKind::FlowStep | EventKind::FlowEnd => DataKind::Flows,
        EventKind::Sample => DataKind::Samples,
    };
    // Scheduling has generated arguments, which do not count.
    let has_arguments = !event.args.is_empty() && what != DataKind::Scheduling;
    [Some(what), has_arguments.then_some(DataKind::Arguments)].into_iter().flatten()
}

/// Returns the files of a folder and its subfolders.
pub(super) fn files_in(folder: &Path) -> Vec<PathBuf> {
    let entries = folder.read_dir().expect("a folder").map(|entry| entry.expect("an entry").path());
    let (folders, mut files): (Vec<_>, Vec<_>) = entries.partition(|path| path.is_dir());
    files.extend(folders.iter().flat_map(|folder| files_in(folder)));
    files
}

#[test]
fn each_format_shows_what_the_table_says_and_no_more() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut shown: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for path in [files_in(&root.join("tests/data")), files_in(&root.join("tests/fuzz/corpus"))].concat() {
        let Ok(source) = Source::open(&path, &crate::formats::ReadContext::default()) else { continue };
        let Some(format) = crate::formats::sniff::format_of(source.head()) else { continue };
        // Native traces may contain everything; archives contain traces.
        if format.name == "Longspan trace" || format.shows.is_empty() {
            continue;
        }
        // Some of them are damaged.
        let Ok(reading) = read_path(&path) else { continue };
        let labels = reading.events.iter().flat_map(shown_of).map(DataKind::label);
        shown.entry(format.name).or_default().extend(labels);
    }
    for (format, made) in MADE {
        let is_new = shown.entry(format).or_default().insert(made.label());
        assert!(is_new, "{format}: a kept capture has {} now", made.label());
    }
    let mut expected = BTreeMap::new();
    for format in FORMATS.iter().filter(|format| !format.shows.is_empty() && format.name != "Longspan trace") {
        expected.insert(format.name, format.shows.iter().map(|shown| shown.label()).collect::<BTreeSet<_>>());
    }
    assert_eq!(shown, expected);
}
