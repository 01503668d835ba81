//! The names of processes and tracks as they are shown, searched and sorted: never empty, safe on one line.

use super::labels::shown;
use crate::model::short_name::short_name;
use crate::model::{GroupPath, Id, PATH_SEPARATOR, Process, Track, TrackIdx, TrackKind};
use crate::query::Snapshot;
use crate::query::track_groups::TrackGroup;

/// Returns the name of a process with its id.
#[must_use]
pub(crate) fn process_title(process: &Process) -> String {
    let pid = process.pid.to_string();
    let name = short_name(&process.name);
    let text = match (name.trim().is_empty(), pid.is_empty()) {
        (false, false) => format!("{name} {pid}"),
        (false, true) => name.into_owned(),
        (true, false) if process.pid == Id::Number(-1) => "Unknown process".to_owned(),
        (true, false) => format!("Process {pid}"),
        (true, true) => "Global tracks".to_owned(),
    };
    shown(&text).into_owned()
}

/// Returns the whole name of a process if its title has only a part of it.
#[must_use]
pub(crate) fn command_line(process: &Process) -> Option<&str> {
    (*short_name(&process.name) != *process.name).then_some(&*process.name)
}

/// Returns the name of a track, and its id if the name does not contain it.
#[must_use]
pub(crate) fn track_title(track: &Track) -> (String, String) {
    let tid = track.key.tid.to_string();
    let (text, secondary) = match (track.name.trim().is_empty(), tid.is_empty()) {
        (false, _) if track.key.kind == TrackKind::Cpu || *track.name == *tid => {
            (track.name.to_string(), String::new())
        }
        (false, _) if track.key.kind == TrackKind::State => (track.name.to_string(), format!("{tid} state")),
        (false, _) => (track.name.to_string(), tid),
        // perf writes this for a thread that has ended.
        (true, false) if track.key.tid == Id::Number(-1) => ("Unknown thread".to_owned(), tid),
        (true, false) => (format!("Thread {tid}"), String::new()),
        (true, true) => ("Events".to_owned(), String::new()),
    };
    (shown(&text).into_owned(), shown(&secondary).into_owned())
}

/// Returns the name of a track, with its id if another track has the same name.
#[must_use]
pub(crate) fn distinct_title(snapshot: &Snapshot, track: TrackIdx) -> String {
    let (title, secondary) = track_title(snapshot.track(track));
    if secondary.is_empty() || !snapshot.has_shared_name(track) { title } else { format!("{title} {secondary}") }
}

/// Returns the name of a group of tracks, without the names of its outer groups.
#[must_use]
pub(crate) fn group_title(snapshot: &Snapshot, group: &TrackGroup) -> String {
    match (path_of(snapshot, group), group.kind) {
        (Some(path), _) => shown(path.name()).into_owned(),
        (None, Some(TrackKind::Counter)) => "Counters".to_owned(),
        (None, Some(TrackKind::Cpu)) => "CPUs".to_owned(),
        (None, _) => track_title(snapshot.track(group.id.lead)).0,
    }
}

/// Returns the name of a group of tracks after the names of its outer groups.
#[must_use]
pub(crate) fn group_path_title(snapshot: &Snapshot, group: &TrackGroup) -> String {
    match path_of(snapshot, group) {
        Some(path) => shown(&path_title(path.names())).into_owned(),
        None => group_title(snapshot, group),
    }
}

/// Returns the path of a group that the trace names.
fn path_of<'s>(snapshot: &'s Snapshot, group: &TrackGroup) -> Option<GroupPath<'s>> {
    let path = snapshot.tracks().group(group.id.lead).filter(|_| group.is_named)?;
    Some(path.outermost(group.named_levels()))
}

/// Returns the title of a track below the headers of its outermost `levels` groups. `None` if it equals the title of
/// the track elsewhere.
#[must_use]
pub(crate) fn title_below(snapshot: &Snapshot, track: TrackIdx, levels: usize) -> Option<String> {
    let path = snapshot.tracks().group(track)?;
    let track = snapshot.track(track);
    let below = if track.key.kind == TrackKind::Counter {
        // The name of a counter is not its path, and counters of several parents may have one name.
        let is_repeated = |name: &&str| track.name.to_lowercase().starts_with(&name.to_lowercase());
        path_title(path.names().skip(levels).filter(|name| !is_repeated(name)).chain([&*track.name]))
    } else if levels > 0 {
        let group = path.outermost(levels);
        let own = || Some(group.name()).filter(|_| group.is_name_of(&track.name));
        group.below(&track.name).or_else(own)?.to_owned()
    } else {
        return None;
    };
    Some(shown(&below).into_owned()).filter(|below| !below.trim().is_empty())
}

/// Returns whether a track has the events of the parent that its outermost `levels` groups are named after.
#[must_use]
pub(crate) fn is_of_parent(snapshot: &Snapshot, track: TrackIdx, levels: usize) -> bool {
    let path = snapshot.tracks().group(track);
    levels > 0 && path.is_some_and(|path| path.outermost(levels).is_name_of(&snapshot.track(track).name))
}

/// Joins the names of levels of groups, as titles show them.
pub(super) fn path_title<'n>(names: impl Iterator<Item = &'n str>) -> String {
    names.collect::<Vec<_>>().join(PATH_SEPARATOR)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_placeholder_id_is_not_shown_as_the_number_of_a_thread() {
        let json = r#"[{"ph":"X","name":"a","pid":-1,"tid":-1,"ts":0,"dur":1},
            {"ph":"X","name":"a","pid":-2,"tid":-2,"ts":0,"dur":1}]"#;
        let snapshot = crate::scene::tests::snapshot(json);
        let titles: Vec<_> = snapshot.display_order().iter().map(|&track| track_title(snapshot.track(track))).collect();
        let title = |text: &str, secondary: &str| (text.to_owned(), secondary.to_owned());
        assert!(titles.contains(&title("Unknown thread", "-1")), "{titles:?}");
        assert!(titles.contains(&title("Thread -2", "")), "{titles:?}");
        let processes: Vec<_> = snapshot.store().meta().tracks.processes.iter().map(process_title).collect();
        assert!(processes.contains(&"Unknown process".to_owned()), "{processes:?}");
        assert!(processes.contains(&"Process -2".to_owned()), "{processes:?}");
    }

    #[test]
    fn a_name_of_blanks_counts_as_missing() {
        let json = r#"[{"ph":"X","name":"a","pid":3,"tid":108,"ts":0,"dur":1},
            {"ph":"M","name":"process_name","pid":3,"args":{"name":" "}},
            {"ph":"M","name":"thread_name","pid":3,"tid":108,"args":{"name":"\t "}}]"#;
        let snapshot = crate::scene::tests::snapshot(json);
        let track = snapshot.track(snapshot.display_order()[0]);
        assert_eq!(track_title(track), ("Thread 108".to_owned(), String::new()));
        assert_eq!(process_title(&snapshot.store().meta().tracks.processes[0]), "Process 3");
    }

    #[test]
    fn threads_of_one_name_have_their_ids_in_their_titles() {
        let json = r#"[{"ph":"X","name":"a","pid":1,"tid":7,"ts":0,"dur":1},
            {"ph":"X","name":"a","pid":1,"tid":8,"ts":0,"dur":1},
            {"ph":"X","name":"a","pid":1,"tid":9,"ts":0,"dur":1},
            {"ph":"M","name":"thread_name","pid":1,"tid":7,"args":{"name":"pool"}},
            {"ph":"M","name":"thread_name","pid":1,"tid":8,"args":{"name":"pool"}},
            {"ph":"M","name":"thread_name","pid":1,"tid":9,"args":{"name":"main"}}]"#;
        let snapshot = crate::scene::tests::snapshot(json);
        let titles: Vec<_> = snapshot.display_order().iter().map(|&track| distinct_title(&snapshot, track)).collect();
        assert_eq!(titles, ["pool 7", "pool 8", "main"]);
    }

    #[test]
    fn an_id_that_is_the_name_is_shown_once() {
        let snapshot = crate::scene::tests::snapshot(
            r#"[{"ph":"X","name":"a","pid":1,"tid":"worker","ts":0,"dur":1},
            {"ph":"M","name":"thread_name","pid":1,"tid":"worker","args":{"name":"worker"}}]"#,
        );
        let titles: Vec<_> = snapshot.display_order().iter().map(|&track| track_title(snapshot.track(track))).collect();
        assert_eq!(titles, [("worker".to_owned(), String::new())]);
    }
}
