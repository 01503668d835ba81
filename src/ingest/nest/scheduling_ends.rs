//! The last scheduling event of each file, at which its open thread states end.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::model::{Registry, TrackIdx};

/// The time of the last scheduling event so far, by file.
pub(super) struct SchedulingEnds {
    /// The file of each process, as a row of `last_ns`. Empty if the trace is a single file.
    file_of_process: Vec<u32>,
    last_ns: Vec<i64>,
}

impl SchedulingEnds {
    pub(super) fn new(registry: &Registry) -> Self {
        let mut ends = Self { file_of_process: Vec::new(), last_ns: vec![i64::MIN] };
        let processes = &registry.tables().processes;
        if processes.iter().all(|process| process.file.is_none()) {
            return ends;
        }
        let mut rows: FxHashMap<&Option<Arc<str>>, u32> = FxHashMap::default();
        for process in processes {
            let next = rows.len() as u32;
            ends.file_of_process.push(*rows.entry(&process.file).or_insert(next));
        }
        ends.last_ns = vec![i64::MIN; rows.len()];
        ends
    }

    /// Notes a scheduling event of a track.
    pub(super) fn add(&mut self, registry: &Registry, track: TrackIdx, ts_ns: i64) {
        let file = self.file_of(registry, track);
        if let Some(last_ns) = self.last_ns.get_mut(file) {
            *last_ns = (*last_ns).max(ts_ns);
        }
    }

    /// Returns the time of the last scheduling event in the file of a track.
    pub(super) fn last_ns(&self, registry: &Registry, track: TrackIdx) -> i64 {
        self.last_ns.get(self.file_of(registry, track)).copied().unwrap_or(i64::MIN)
    }

    fn file_of(&self, registry: &Registry, track: TrackIdx) -> usize {
        let process = registry.tables().tracks.get(track.index()).map_or(0, |track| track.process.index());
        self.file_of_process.get(process).map_or(0, |&file| file as usize)
    }
}
