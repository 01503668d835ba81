//! The first events of the files of a trace that has several, to align their clocks.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::snapshot::Snapshot;

/// Returns the time of the first event of each file, with its offset. Files without timed events are missing.
#[must_use]
pub(crate) fn file_starts_ns(snapshot: &Snapshot) -> FxHashMap<Arc<str>, i64> {
    let mut starts_ns = FxHashMap::default();
    let processes = &snapshot.tracks().processes;
    for info in snapshot.event_lanes().map(|lane| snapshot.lane(lane)).filter(|info| info.rows > 0) {
        let track = snapshot.track(info.track);
        let Some(file) = processes[track.process.index()].file.as_ref().filter(|_| !track.key.is_untimed()) else {
            continue;
        };
        let start_ns = starts_ns.entry(Arc::clone(file)).or_insert(info.start_ns);
        *start_ns = info.start_ns.min(*start_ns);
    }
    starts_ns
}
