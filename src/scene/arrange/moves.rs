//! The order in which the user has put processes, groups and tracks: in trace order, each is moved among the rows below
//! its header.
//!
//! A move puts a row beside another row. So the saved order has one entry per move, not per row. Rows that were not
//! moved stay in trace order, also when the trace is imported again with other rows.

use std::ops::Range;

use rustc_hash::{FxHashMap, FxHashSet};
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

use crate::model::{ProcessIdx, TrackIdx};
use crate::query::Snapshot;
use crate::query::track_groups::GroupId;
use crate::query::track_map::TrackMap;
use crate::scene::rows::{GroupKind, RowSection, TrackRows};

/// Limit for the moves of one trace.
pub(crate) const MOVES_MAX: usize = 1000;

/// A row that can be moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) enum MovableRow {
    Process(ProcessIdx),
    /// A group of the trace, with all of its tracks.
    Group(GroupId),
    /// A thread with its states and samples, or another track.
    Thread(TrackIdx),
}

/// Puts a row beside another row below the same header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct MovedRow {
    pub(crate) row: MovableRow,
    pub(crate) beside: MovableRow,
    /// Whether it is put after the other row, and not before it.
    pub(crate) is_after: bool,
}

/// The moves of a trace, oldest first. Each applies to the result of the previous ones.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(from = "Vec<MovedRow>")]
pub(crate) struct RowMoves(Vec<MovedRow>);

impl From<Vec<MovedRow>> for RowMoves {
    /// Leaves out moves beyond the limit: the file may have been edited by hand.
    fn from(mut moves: Vec<MovedRow>) -> Self {
        moves.truncate(MOVES_MAX);
        Self(moves)
    }
}

/// The rows that contain a track below the header of its section, outermost first, and the track itself.
type RowPath = SmallVec<[MovableRow; 3]>;

impl MovableRow {
    /// Returns the row of a header or a track; `None` for a group of the user.
    #[must_use]
    pub(crate) fn from_kind(snapshot: &Snapshot, kind: GroupKind) -> Option<Self> {
        match kind {
            GroupKind::Custom(_) => None,
            GroupKind::Process(process) => Some(Self::Process(process)),
            GroupKind::Tracks(group) => Some(Self::Group(group)),
            GroupKind::Track(track) => Some(Self::Thread(snapshot.thread_of(track))),
        }
    }

    fn mapped(self, map: &TrackMap) -> Option<Self> {
        match self {
            Self::Process(process) => map.process(process).map(Self::Process),
            Self::Group(group) => map.group(group).map(Self::Group),
            Self::Thread(track) => map.track(track).map(Self::Thread),
        }
    }
}

impl RowMoves {
    #[must_use]
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds a move. An earlier move of the same row is dropped, unless another row was put beside the row since.
    /// Returns false and changes nothing if there are too many moves.
    #[must_use]
    pub(crate) fn add(&mut self, added: MovedRow) -> bool {
        let earlier = self.0.iter().rposition(|other| other.row == added.row);
        let replaced = earlier.filter(|&at| self.0[at..].iter().all(|other| other.beside != added.row));
        let has_room = self.0.len() < MOVES_MAX || replaced.is_some();
        if has_room && added.row != added.beside {
            replaced.map(|at| self.0.remove(at));
            self.0.push(added);
        }
        has_room
    }

    /// Returns the moves in another import of the trace, without moves of missing rows.
    #[must_use]
    pub(crate) fn mapped(&self, map: &TrackMap) -> Self {
        let mapped = |moved: &MovedRow| {
            let (row, beside) = (moved.row.mapped(map)?, moved.beside.mapped(map)?);
            Some(MovedRow { row, beside, ..*moved })
        };
        Self(self.0.iter().filter_map(mapped).collect())
    }

    /// Applies the moves to tracks in trace order, in which the tracks below each header are adjacent. Takes time
    /// linear in the tracks.
    ///
    /// Equivalent to removing each moved row from the list below its header, and inserting it beside the other row.
    #[must_use]
    pub(crate) fn apply(&self, snapshot: &Snapshot, tracks: Vec<TrackRows>) -> Vec<TrackRows> {
        if self.is_empty() {
            return tracks;
        }
        let moved = self.0.iter().map(|moved| moved.row).collect();
        let named = self.0.iter().flat_map(|moved| [moved.row, moved.beside]).collect();
        let mut sorter = MoveSorter { moves: &self.0, moved, named, ordered: Vec::with_capacity(tracks.len()) };
        sorter.add_sections(snapshot, &tracks);
        sorter.ordered
    }
}

/// Tracks that are being put in order.
struct MoveSorter<'a> {
    moves: &'a [MovedRow],
    moved: FxHashSet<MovableRow>,
    /// The moved rows, and the rows that they were put beside.
    named: FxHashSet<MovableRow>,
    ordered: Vec<TrackRows>,
}

impl MoveSorter<'_> {
    fn add_sections(&mut self, snapshot: &Snapshot, tracks: &[TrackRows]) {
        let sections: Vec<&[TrackRows]> = tracks.chunk_by(|one, other| one.section() == other.section()).collect();
        let rows: Vec<Option<MovableRow>> = sections.iter().map(|section| process_of(section)).collect();
        for at in self.order_of(&rows) {
            let section = sections[at];
            let paths: Vec<RowPath> = section.iter().map(|track| path_of(snapshot, track)).collect();
            if paths.iter().flatten().any(|row| self.moved.contains(row)) {
                self.add_level(section, &paths, 0);
            } else {
                self.ordered.extend_from_slice(section);
            }
        }
    }

    /// Adds the tracks below one header. Their paths up to `level` are the same.
    fn add_level(&mut self, tracks: &[TrackRows], paths: &[RowPath], level: usize) {
        let mut runs: Vec<Range<usize>> = Vec::new();
        for at in 0..tracks.len() {
            match runs.last_mut() {
                Some(run) if paths[run.start].get(level) == paths[at].get(level) => run.end = at + 1,
                Some(_) | None => runs.push(at..at + 1),
            }
        }
        let rows: Vec<Option<MovableRow>> = runs.iter().map(|run| paths[run.start].get(level).copied()).collect();
        for at in self.order_of(&rows) {
            let run = runs[at].clone();
            if paths[run.start].len() > level + 1 {
                self.add_level(&tracks[run.clone()], &paths[run], level + 1);
            } else {
                self.ordered.extend_from_slice(&tracks[run]);
            }
        }
    }

    /// Returns the order of rows below one header, as indices into them.
    fn order_of(&self, rows: &[Option<MovableRow>]) -> Vec<usize> {
        let indices = rows.iter().enumerate().filter_map(|(at, row)| Some(((*row)?, at)));
        let indices: FxHashMap<MovableRow, usize> = indices.filter(|(row, _)| self.named.contains(row)).collect();
        let index_of = |row: MovableRow| indices.get(&row).copied();
        let is_moved = |row: &MovableRow| self.moved.contains(row);
        let moves = if indices.keys().any(is_moved) { self.moves } else { &[] };
        let moves = moves.iter().filter_map(|it| Some((index_of(it.row)?, index_of(it.beside)?, it.is_after)));
        // A ring, with an item before the first and after the last.
        let end = rows.len();
        let mut next: Vec<usize> = (1..=end).chain([0]).collect();
        let mut previous: Vec<usize> = [end].into_iter().chain(0..end).collect();
        for (row, beside, is_after) in moves.filter(|(row, beside, _)| row != beside) {
            (next[previous[row]], previous[next[row]]) = (next[row], previous[row]);
            let before = if is_after { beside } else { previous[beside] };
            let after = next[before];
            (next[before], previous[row], next[row], previous[after]) = (row, before, after, row);
        }
        std::iter::successors(Some(next[end]), |&at| Some(next[at])).take_while(|&at| at != end).collect()
    }
}

/// Returns the process of a section; `None` for a group of the user.
fn process_of(section: &[TrackRows]) -> Option<MovableRow> {
    match section.first()?.section() {
        RowSection::Process(process) => Some(MovableRow::Process(process)),
        RowSection::Custom(_) => None,
    }
}

fn path_of(snapshot: &Snapshot, track: &TrackRows) -> RowPath {
    let groups = snapshot.groups_of(track.track).filter(|_| track.group.is_some());
    let mut path: RowPath = std::iter::once(MovableRow::Thread(snapshot.thread_of(track.track))).collect();
    path.extend(groups.map(|group| MovableRow::Group(group.id)));
    path.reverse();
    path
}

#[cfg(test)]
mod tests;
