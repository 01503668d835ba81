//! The groups of a written trace: each is the parent of its tracks.
//!
//! A reader puts the names of parents before those of tracks. So a track is below a parent only if its name begins with
//! that of the group, or if it is a counter, which has its own name.

use rustc_hash::FxHashMap;

use crate::model::{Id, ProcessIdx, Track, TrackIdx, TrackKind, TrackTables, below_group};

/// A parent to write.
#[derive(Debug, Clone, Copy)]
pub(super) struct WrittenGroup<'a> {
    pub(super) name: &'a str,
    /// A track of the group, which has its process and thread.
    pub(super) first: &'a Track,
    /// Least sort index of its tracks.
    pub(super) rank: i64,
}

/// The parents of a trace, and their tracks.
#[derive(Debug, Default)]
pub(super) struct WrittenGroups<'a> {
    all: Vec<WrittenGroup<'a>>,
    numbers: FxHashMap<u32, u32>,
}

impl<'a> WrittenGroups<'a> {
    pub(super) fn new(tables: &'a TrackTables) -> Self {
        let mut found = Self::default();
        let mut known: FxHashMap<(ProcessIdx, &Id, &str), u32> = FxHashMap::default();
        for (row, _) in tables.groups.iter() {
            let Some((name, track)) = nested_track(tables, row) else { continue };
            let number = *known.entry((track.process, &track.key.tid, name)).or_insert_with(|| {
                found.all.push(WrittenGroup { name, first: track, rank: track.sort_index });
                found.all.len() as u32 - 1
            });
            found.numbers.insert(row.0, number);
            let rank = &mut found.all[number as usize].rank;
            *rank = (*rank).min(track.sort_index);
        }
        found
    }

    pub(super) fn all(&self) -> &[WrittenGroup<'a>] {
        &self.all
    }

    /// Returns the number of the parent of a track, if it has one.
    pub(super) fn number(&self, row: u32) -> Option<u64> {
        self.numbers.get(&row).copied().map(u64::from)
    }

    /// Returns the name of a track below its parent, or below its process or thread.
    pub(super) fn name_below<'t>(&self, row: u32, track: &'t Track) -> &'t str {
        let is_path = track.key.kind == TrackKind::Async;
        let group = self.numbers.get(&row).filter(|_| is_path).map(|&number| self.all[number as usize].name);
        group.and_then(|group| below_group(&track.name, group)).unwrap_or(&track.name)
    }
}

/// Returns a track that can be below a parent, and the name of its group.
fn nested_track(tables: &TrackTables, row: TrackIdx) -> Option<(&str, &Track)> {
    let (name, track) = (tables.group(row)?, tables.tracks.get(row.index())?);
    let is_own = *track.name == *name;
    let has_path = below_group(&track.name, name).is_some();
    (has_path || track.key.kind == TrackKind::Counter && !is_own).then_some((name, track))
}
