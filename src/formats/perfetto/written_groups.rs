//! The groups of a written trace: each is the parent of its tracks and of its inner groups.
//!
//! A reader puts the names of parents before the names of tracks. So a track is below a parent only if its name begins
//! with the names of its groups, or if it is a counter. Names of counters get no prefix.

use rustc_hash::FxHashMap;

use crate::model::{GroupPath, Id, ProcessIdx, Track, TrackIdx, TrackKind, TrackTables};

#[derive(Debug, Clone, Copy)]
pub(super) struct WrittenGroup<'a> {
    /// Its path, whose last name is its own.
    pub(super) path: GroupPath<'a>,
    /// The number of the group that contains it.
    pub(super) outer: Option<u32>,
    /// A track of the group, which has its process and thread.
    pub(super) first: &'a Track,
    /// Least sort index of its tracks.
    pub(super) rank: i64,
}

/// The parents of a trace, each after its own parent, and their tracks.
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
            let Some((path, track)) = nested_track(tables, row) else { continue };
            let with_outer = |outer: Option<u32>, path: GroupPath<'a>| {
                let number = *known.entry((track.process, &track.key.tid, path.as_str())).or_insert_with(|| {
                    found.all.push(WrittenGroup { path, outer, first: track, rank: track.sort_index });
                    found.all.len() as u32 - 1
                });
                let rank = &mut found.all[number as usize].rank;
                *rank = (*rank).min(track.sort_index);
                Some(number)
            };
            let innermost = path.outer_paths().fold(None, with_outer);
            found.numbers.extend(innermost.map(|number| (row.0, number)));
        }
        found
    }

    pub(super) fn all(&self) -> &[WrittenGroup<'a>] {
        &self.all
    }

    /// Returns the number of the parent of a track, if it has one.
    pub(super) fn number(&self, row: u32) -> Option<u32> {
        self.numbers.get(&row).copied()
    }

    /// Returns the name of a track below its parent, or below its process or thread.
    pub(super) fn name_below<'t>(&self, row: u32, track: &'t Track) -> &'t str {
        let is_path = track.key.kind == TrackKind::Async;
        let group = self.number(row).filter(|_| is_path).map(|number| self.all[number as usize].path);
        group.and_then(|group| group.below(&track.name)).unwrap_or(&track.name)
    }
}

/// Returns a track that can be below a parent, and the path of that. The events of a parent itself are below the next
/// parent, beside the tracks of the group.
fn nested_track(tables: &TrackTables, row: TrackIdx) -> Option<(GroupPath<'_>, &Track)> {
    let (path, track) = (tables.group(row)?, tables.tracks.get(row.index())?);
    let is_below = |path: GroupPath<'_>| match track.key.kind {
        TrackKind::Counter => *track.name != *path.name(),
        TrackKind::Async => path.below(&track.name).is_some(),
        // The track of a thread is below the track of its process.
        TrackKind::Global
        | TrackKind::Process
        | TrackKind::Thread
        | TrackKind::Samples
        | TrackKind::Cpu
        | TrackKind::State => false,
    };
    let outer = || Some(path.levels()).filter(|&levels| levels > 1).map(|levels| path.outermost(levels - 1));
    let parent = Some(path).filter(|&path| is_below(path)).or_else(|| outer().filter(|&outer| is_below(outer)))?;
    Some((parent, track))
}
