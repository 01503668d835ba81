//! The names of processes and tracks as they are shown, searched and sorted: never empty, safe on one line.

use super::labels::shown;
use crate::model::{Process, Track, TrackKind};

/// The name of a process with its id.
#[must_use]
pub(crate) fn process_title(process: &Process) -> String {
    let pid = process.pid.to_string();
    let text = match (process.name.is_empty(), pid.is_empty()) {
        (false, false) => format!("{} {pid}", process.name),
        (false, true) => process.name.to_string(),
        (true, false) => format!("Process {pid}"),
        (true, true) => "Global tracks".to_owned(),
    };
    shown(&text).into_owned()
}

/// The name of a track, and its id where the name does not hold it.
#[must_use]
pub(crate) fn track_title(track: &Track) -> (String, String) {
    let tid = track.key.tid.to_string();
    let (text, beside) = match (track.name.is_empty(), tid.is_empty()) {
        (false, _) if track.key.kind == TrackKind::Cpu => (track.name.to_string(), String::new()),
        (false, _) if track.key.kind == TrackKind::State => (track.name.to_string(), format!("{tid} state")),
        (false, _) => (track.name.to_string(), tid),
        (true, false) => (format!("Thread {tid}"), String::new()),
        (true, true) => ("Events".to_owned(), String::new()),
    };
    (shown(&text).into_owned(), shown(&beside).into_owned())
}
