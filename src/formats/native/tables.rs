//! Incremental tables of a growing trace: each table chunk has the names, processes, tracks and losses that are new or
//! changed. So a truncated trace has all tables for the events before the cut, and nothing is written twice. Refuses
//! contradictory patches. Rows of lost chunks get placeholder names.

use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize};

use crate::formats::output::row_index::bounded_row;
use crate::model::facts::TraceFact;
use crate::model::{
    Id, Losses, Module, NameIdx, NameRow, Names, Process, ProcessIdx, Track, TrackIdx, TrackKey, TrackTables,
};

/// Limit for missing rows before a patch: far more than a patch has, far fewer than fill memory.
pub(super) const MISSING_ROWS_MAX: usize = 1 << 20;

/// Limit for the text of a patch, far below the 64 MiB that a reader accepts.
const PATCH_TEXT_BYTES: usize = 8 << 20;

/// Changes to the tables since the previous patch.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TablesPatch {
    /// Row of the first name.
    pub(crate) first_name: u32,
    pub(crate) names: Vec<NameRow<Box<str>>>,
    /// New and changed processes with their rows.
    pub(crate) processes: Vec<(ProcessIdx, Process)>,
    /// New and changed tracks with their rows.
    pub(crate) tracks: Vec<(TrackIdx, Track)>,
    /// Losses since the previous patch.
    pub(crate) losses: Losses,
    /// New and changed units of counters. Older readers ignore them and the groups, and older patches end before them.
    #[serde(deserialize_with = "rows_if_any")]
    pub(crate) units: Vec<(TrackIdx, Arc<str>)>,
    /// New and changed groups of tracks. Added to the format after the units.
    #[serde(deserialize_with = "rows_if_any")]
    pub(crate) groups: Vec<(TrackIdx, Arc<str>)>,
    /// The rows of `names` whose spans failed, in ascending order. Added to the format after the groups.
    #[serde(deserialize_with = "rows_if_any")]
    pub(crate) failed: Vec<NameIdx>,
    /// New and changed facts. Added to the format after the failed names.
    #[serde(deserialize_with = "rows_if_any")]
    pub(crate) facts: Vec<TraceFact>,
}

/// Reads rows at the end of a patch, or none if it ends before them. A checksum covers the bytes.
#[expect(clippy::unnecessary_wraps, reason = "the signature that serde calls")]
fn rows_if_any<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Vec<T>, D::Error> {
    Ok(Vec::deserialize(deserializer).unwrap_or_default())
}

/// The state of the tables that are already written.
#[derive(Debug, Default)]
pub(crate) struct TablesWritten {
    names: usize,
    tracks: TrackTables,
}

impl TablesWritten {
    /// Returns the UTC offset that was written.
    #[must_use]
    pub(crate) fn utc_offset_ns(&self) -> Option<i64> {
        self.tracks.utc_offset_ns
    }

    /// Returns the modules that were written.
    #[must_use]
    pub(crate) fn modules(&self) -> &[Module] {
        &self.tracks.modules
    }

    /// Returns the patches from the written tables to these, and marks them as written.
    pub(crate) fn advance(&mut self, names: &Names, tracks: &TrackTables) -> Vec<TablesPatch> {
        let mut patches = vec![TablesPatch::default()];
        let mut text_bytes = 0;
        // Row 0 is the empty name, which every table has.
        for row in self.names.max(1)..names.len() {
            let index = NameIdx(bounded_row(row));
            let name = names.get(index);
            let text = name.text.len() + name.category.map_or(0, str::len);
            let patch = open_patch(&mut patches, &mut text_bytes, text);
            if patch.names.is_empty() {
                patch.first_name = index.0;
            }
            patch.names.push(name.boxed());
            patch.failed.extend(name.is_failed.then_some(index));
        }
        for (row, process) in (0..).map(ProcessIdx).zip(&tracks.processes) {
            if self.tracks.processes.get(row.index()) != Some(process) {
                let text = process.name.len() + process.labels.len();
                open_patch(&mut patches, &mut text_bytes, text).processes.push((row, process.clone()));
            }
        }
        for (row, track) in (0..).map(TrackIdx).zip(&tracks.tracks) {
            if self.tracks.tracks.get(row.index()) != Some(track) {
                let text = track.name.len() + track.key.name.len();
                open_patch(&mut patches, &mut text_bytes, text).tracks.push((row, track.clone()));
            }
        }
        for (&track, unit) in &tracks.units {
            if self.tracks.units.get(&track) != Some(unit) {
                open_patch(&mut patches, &mut text_bytes, unit.len()).units.push((track, Arc::clone(unit)));
            }
        }
        for (track, group) in tracks.groups.iter() {
            if self.tracks.groups.get(track) != Some(group) {
                open_patch(&mut patches, &mut text_bytes, group.len()).groups.push((track, Arc::clone(group)));
            }
        }
        for fact in tracks.facts.since(&self.tracks.facts) {
            open_patch(&mut patches, &mut text_bytes, fact.bytes()).facts.push(fact);
        }
        self.names = names.len();
        self.tracks.clone_from(tracks);
        patches.retain(|patch| *patch != TablesPatch::default());
        patches
    }
}

/// Returns a patch with room for the next row.
fn open_patch<'a>(patches: &'a mut Vec<TablesPatch>, text_bytes: &mut usize, row_bytes: usize) -> &'a mut TablesPatch {
    // Each row counts 64 bytes plus its text, so that many empty rows are split too.
    *text_bytes += row_bytes + 64;
    if *text_bytes > PATCH_TEXT_BYTES {
        *text_bytes = row_bytes + 64;
        patches.push(TablesPatch::default());
    }
    let last = patches.len() - 1;
    &mut patches[last]
}

/// Why a patch cannot be applied.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PatchError {
    /// It starts too far after the known rows.
    #[error("a patch of {table} that begins at row {first} where {have} are known")]
    TooFar { table: &'static str, first: usize, have: usize },
    /// It contains rows that are already known.
    #[error("a patch that begins at row {first} where {have} are known")]
    Known { first: usize, have: usize },
}

/// The tables that result from the patches applied so far.
#[derive(Debug, Default)]
pub struct TablesRead {
    pub(crate) names: Names,
    /// Processes and tracks so far.
    pub(crate) tracks: TrackTables,
    pub(crate) losses: Losses,
}

impl TablesRead {
    /// Creates empty tables, with `no_names` as their name table.
    #[must_use]
    pub(crate) fn new(no_names: Names) -> Self {
        Self { names: no_names, ..Self::default() }
    }

    /// Adds the rows of the next patch; rows of lost patches get placeholders.
    ///
    /// # Errors
    /// [`PatchError`] if the patch does not continue the tables, which are then unchanged.
    pub fn apply(&mut self, patch: TablesPatch) -> Result<(), PatchError> {
        let first_name = patch.first_name as usize;
        if !patch.names.is_empty() && first_name < self.names.len() {
            return Err(PatchError::Known { first: first_name, have: self.names.len() });
        }
        let named = if patch.names.is_empty() { self.names.len() } else { first_name };
        check_distance("names", named, self.names.len())?;
        let last_process = patch.processes.iter().map(|(row, _)| row.index());
        let last_process = last_process.chain(patch.tracks.iter().map(|(_, track)| track.process.index())).max();
        check_distance("processes", last_process.unwrap_or(0), self.tracks.processes.len() + patch.processes.len())?;
        let last_track = patch.tracks.iter().map(|(row, _)| row.index()).max();
        check_distance("tracks", last_track.unwrap_or(0), self.tracks.tracks.len() + patch.tracks.len())?;

        while self.names.len() < named {
            let lost = format!("(lost name {})", self.names.len());
            self.names.push(NameRow::new(&*lost, None));
        }
        for (row, name) in (patch.first_name..).map(NameIdx).zip(&patch.names) {
            let is_failed = patch.failed.binary_search(&row).is_ok();
            self.names.push(NameRow { is_failed, ..name.borrowed() });
        }
        let processes = &mut self.tracks.processes;
        while last_process.is_some_and(|last| last >= processes.len()) {
            let pid = Id::Text(format!("(lost process {})", processes.len()).into());
            processes.push(Process { pid, ..Process::default() });
        }
        for (row, process) in patch.processes {
            processes[row.index()] = process;
        }
        let tracks = &mut self.tracks.tracks;
        while last_track.is_some_and(|last| last >= tracks.len()) {
            tracks.push(lost_track(tracks.len()));
        }
        for (row, track) in patch.tracks {
            tracks[row.index()] = track;
        }
        self.tracks.units.extend(patch.units);
        patch.groups.into_iter().for_each(|(track, group)| self.tracks.groups.insert(track, group));
        for fact in &patch.facts {
            let _ = self.tracks.facts.insert(fact); // a writer has as many as fit
        }
        self.losses.merge(&patch.losses);
        Ok(())
    }

    /// Returns the complete tables: every track has a process, even if that was lost.
    #[must_use]
    pub fn finish(mut self) -> (Names, TrackTables, Losses) {
        if !self.tracks.tracks.is_empty() && self.tracks.processes.is_empty() {
            self.tracks.processes.push(Process::default());
        }
        let tracks = self.tracks.tracks.len();
        self.tracks.units.retain(|track, _| track.index() < tracks);
        self.tracks.groups.truncate(TrackIdx(bounded_row(tracks)));
        (self.names, self.tracks, self.losses)
    }
}

fn check_distance(table: &'static str, first: usize, have: usize) -> Result<(), PatchError> {
    let fits = first <= have.saturating_add(MISSING_ROWS_MAX);
    if fits { Ok(()) } else { Err(PatchError::TooFar { table, first, have }) }
}

fn lost_track(row: usize) -> Track {
    let name: Box<str> = format!("(lost track {row})").into();
    let tid = Id::Text(name.as_ref().into());
    let key = TrackKey::thread(Id::None, tid);
    Track { key, process: ProcessIdx(0), name: name.into(), sort_index: 0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::facts::Subject;

    fn track(tid: i64, name: &str) -> Track {
        let key = TrackKey::thread(Id::Number(1), Id::Number(tid));
        Track { key, process: ProcessIdx(0), name: name.into(), sort_index: 0 }
    }

    fn tables(tracks: &[Track]) -> TrackTables {
        TrackTables { processes: vec![Process::default()], tracks: tracks.to_vec(), ..TrackTables::default() }
    }

    fn read(patches: impl IntoIterator<Item = TablesPatch>) -> (Names, TrackTables, Losses) {
        let mut read = TablesRead::default();
        patches.into_iter().for_each(|patch| read.apply(patch).unwrap());
        read.finish()
    }

    #[test]
    fn a_thread_that_is_renamed_later_has_its_last_name() {
        let mut written = TablesWritten::default();
        let mut names = Names::default();
        names.intern("a", Some("c"));
        let mut patches = written.advance(&names, &tables(&[track(1, "early")]));
        names.intern("b", None);
        let last = tables(&[track(1, "late"), track(2, "new")]);
        patches.extend(written.advance(&names, &last));
        assert_eq!(written.advance(&names, &last), []);
        let (read_names, read_tracks, _) = read(patches);
        assert_eq!(read_tracks, last);
        assert_eq!(read_names.len(), 3);
        assert_eq!(read_names.get(NameIdx(2)).text, "b");
    }

    #[test]
    fn a_lost_patch_moves_no_row_of_the_others() {
        let mut written = TablesWritten::default();
        let mut names = Names::default();
        names.intern("a", None);
        let lost = written.advance(&names, &tables(&[track(1, "a")]));
        assert_eq!(lost.len(), 1);
        names.intern("b", None);
        let kept = written.advance(&names, &tables(&[track(1, "a"), track(2, "b")]));
        let (read_names, read_tracks, _) = read(kept);
        assert_eq!(read_names.get(NameIdx(1)).text, "(lost name 1)");
        assert_eq!(read_names.get(NameIdx(2)).text, "b");
        assert_eq!(&*read_tracks.tracks[0].name, "(lost track 0)");
        assert_eq!(read_tracks.tracks[1], track(2, "b"));
        assert_eq!(read_tracks.processes.len(), 1);
    }

    #[test]
    fn a_patch_that_asks_for_a_billion_missing_rows_is_refused_and_changes_nothing() {
        let mut read = TablesRead::default();
        let far = u32::MAX;
        let name = vec![NameRow::new("x".into(), None)];
        let names = TablesPatch { first_name: far, names: name.clone(), ..TablesPatch::default() };
        let processes =
            TablesPatch { processes: vec![(ProcessIdx(far), Process::default())], ..TablesPatch::default() };
        let tracks = TablesPatch { tracks: vec![(TrackIdx(far), track(1, ""))], ..TablesPatch::default() };
        let owner = Track { process: ProcessIdx(far), ..track(1, "") };
        let owners = TablesPatch { tracks: vec![(TrackIdx(0), owner)], ..TablesPatch::default() };
        let known = TablesPatch { first_name: 0, names: name, ..TablesPatch::default() };
        for patch in [names, processes, tracks, owners, known] {
            assert!(read.apply(patch).is_err());
        }
        assert_eq!((read.names.len(), read.tracks), (1, TrackTables::default()));
    }

    #[test]
    fn many_names_are_cut_into_patches_that_a_reader_accepts() {
        let mut names = Names::default();
        let long = "x".repeat(60_000);
        for row in 0..300 {
            names.intern(&format!("{row}{long}"), None);
        }
        let patches = TablesWritten::default().advance(&names, &TrackTables::default());
        assert!(patches.len() > 1);
        let text_bytes = |patch: &TablesPatch| patch.names.iter().map(|row| row.text.len()).sum::<usize>();
        assert!(patches.iter().all(|patch| text_bytes(patch) <= PATCH_TEXT_BYTES));
        assert_eq!(read(patches).0.len(), 301);
    }

    /// The fields that patches had before units and groups.
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct EarlierPatch {
        first_name: u32,
        names: Vec<NameRow<Box<str>>>,
        processes: Vec<(ProcessIdx, Process)>,
        tracks: Vec<(TrackIdx, Track)>,
        losses: Losses,
    }

    #[test]
    fn names_of_failures_are_read_back_and_older_readers_take_them_for_others() {
        let (mut names, mut written) = (Names::default(), TablesWritten::default());
        let failed = NameRow { is_failed: true, ..NameRow::new("a", Some("c")) };
        names.intern("b", None);
        names.intern_row(failed);
        let mut patches = written.advance(&names, &TrackTables::default());
        let later = names.intern_row(NameRow { text: "b", category: None, ..failed });
        patches.extend(written.advance(&names, &TrackTables::default()));
        let earlier: EarlierPatch = postcard::from_bytes(&postcard::to_stdvec(&patches[0]).unwrap()).unwrap();
        assert_eq!(earlier.names.len(), 3);
        let back = patches.iter().map(|patch| postcard::from_bytes(&postcard::to_stdvec(patch).unwrap()).unwrap());
        let read = read(back).0;
        for name in (0..names.len() as u32).map(NameIdx) {
            assert_eq!((read.get(name), read.regular(name)), (names.get(name), names.regular(name)));
        }
        assert_eq!(read.regular(later), NameIdx(1));
    }

    #[test]
    fn units_groups_and_facts_are_read_back_and_older_readers_and_patches_do_without_them() {
        let mut tables = tables(&[track(1, "a"), track(2, "b")]);
        tables.units.insert(TrackIdx(1), "bytes".into());
        tables.groups.insert(TrackIdx(0), "GPU".into());
        tables.facts.insert(&TraceFact::text(Subject::Process(Id::Number(1)), "cmdline", "a -b"));
        let mut written = TablesWritten::default();
        let patches = written.advance(&Names::default(), &tables);
        assert_eq!(written.advance(&Names::default(), &tables), []);
        let bytes = postcard::to_stdvec(&patches[0]).unwrap();
        let back: TablesPatch = postcard::from_bytes(&bytes).unwrap();
        assert_eq!(read([back]).1, tables);
        let earlier: EarlierPatch = postcard::from_bytes(&bytes).unwrap();
        assert_eq!(earlier.tracks, patches[0].tracks);
        let without: TablesPatch = postcard::from_bytes(&postcard::to_stdvec(&earlier).unwrap()).unwrap();
        assert_eq!((without.tracks, without.units, without.groups), (earlier.tracks, Vec::new(), Vec::new()));
        // A unit and a group that come later, and those of a track that is lost.
        tables.units.insert(TrackIdx(0), "ns".into());
        tables.groups.insert(TrackIdx(1), "CPU".into());
        tables.facts.insert(&TraceFact::text(Subject::Process(Id::Number(1)), "cmdline", "a -c"));
        tables.facts.insert(&TraceFact::number(Subject::Recording, "system_ram_gb", 12));
        let later = written.advance(&Names::default(), &tables);
        assert_eq!(later.len(), 1);
        let of_lost = || vec![(TrackIdx(9), "s".into())];
        let lost = TablesPatch { units: of_lost(), groups: of_lost(), ..TablesPatch::default() };
        assert_eq!(read(patches.into_iter().chain(later).chain([lost])).1, tables);
    }
}
