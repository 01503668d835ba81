//! Processes, threads and tracks: names and sort indices before and after their events.

use super::labels::{LABEL_BYTES, LABEL_BYTES_MAX, LONG_LABEL_BYTES_MAX};
use super::*;
use crate::model::GroupPath;
use crate::model::counter_unit::unit_in_name;

fn thread(pid: i64, tid: i64) -> TrackKey {
    TrackKey::thread(Id::Number(pid), Id::Number(tid))
}

#[test]
fn a_track_or_process_beyond_the_last_index_is_none_and_never_another() {
    let mut registry = Registry::with_limit(1);
    let [first, second] = [registry.track(&thread(1, 7)), registry.track(&thread(2, 7))];
    assert_eq!((first, second), (Some(TrackIdx(0)), Some(TrackIdx(1))));
    assert_eq!((registry.track(&thread(1, 8)), registry.process(&Id::Number(3))), (None, None));
    let name = |pid, tid| Metadata::ThreadName { pid: Id::Number(pid), tid: Id::Number(tid), name: "late".into() };
    for tid in 7..10 {
        registry.apply(&name(1, tid));
    }
    registry.apply(&Metadata::ProcessName { pid: Id::Number(3), name: "late".into() });
    assert_eq!(registry.over_limit(), 2, "the name of thread 9, and of process 3");
    assert_eq!((registry.track(&thread(1, 7)), registry.tables().tracks.len()), (first, 2));
    assert_eq!(registry.derived(TrackIdx(0), TrackKind::Samples, "", "samples"), None);
}

#[test]
fn names_apply_whether_they_come_before_or_after_the_events_and_the_last_wins() {
    let mut registry = Registry::default();
    let name = |tid, name: &str| Metadata::ThreadName { pid: Id::Number(1), tid: Id::Number(tid), name: name.into() };
    registry.apply(&name(7, "early"));
    let early = registry.track(&thread(1, 7)).unwrap();
    let late = registry.track(&thread(1, 8)).unwrap();
    registry.apply(&name(8, "late"));
    registry.apply(&name(8, "last"));
    assert_eq!(&*registry.tables().tracks[early.index()].name, "early");
    assert_eq!(&*registry.tables().tracks[late.index()].name, "last");
}

#[test]
fn the_kernels_name_counts_where_nothing_else_names_the_thread_and_its_states_are_named_alike() {
    let mut registry = Registry::default();
    let (pid, one, two) = (Id::Number(1), Id::Number(7), Id::Number(8));
    let kernel = |tid: &Id| Metadata::KernelName { pid: pid.clone(), tid: tid.clone(), name: "comm".into() };
    registry.apply(&Metadata::ThreadName { pid: pid.clone(), tid: one.clone(), name: "told".into() });
    registry.apply(&kernel(&one));
    let told = registry.track(&thread(1, 7)).unwrap();
    let states = registry.track(&TrackKey { kind: TrackKind::State, ..thread(1, 8) }).unwrap();
    registry.apply(&kernel(&two));
    assert_eq!(&*registry.tables().tracks[told.index()].name, "told");
    assert_eq!(&*registry.tables().tracks[states.index()].name, "comm");
}

#[test]
fn a_process_without_a_name_is_called_as_the_kernel_calls_its_main_thread() {
    let kernel =
        |pid, tid, name: &str| Metadata::KernelName { pid: Id::Number(pid), tid: Id::Number(tid), name: name.into() };
    let mut registry = Registry::default();
    registry.apply(&Metadata::ProcessName { pid: Id::Number(2), name: "told".into() });
    // A name of a process without tracks does not create one.
    for (pid, tid, name) in [(1, 1, "main"), (1, 7, "worker"), (2, 2, "comm"), (3, 8, "other"), (4, 4, "absent")] {
        registry.apply(&kernel(pid, tid, name));
    }
    let of_file = |number: i64| Id::Text(format!("{number} in b.txt").into());
    for (pid, tid) in [(5, 5), (6, 7)] {
        registry.apply(&Metadata::KernelName { pid: of_file(pid), tid: Id::Number(tid), name: "main".into() });
    }
    let later = [5, 6].map(|pid| TrackKey { pid: of_file(pid), ..thread(5, 5) });
    for key in [thread(1, 7), thread(2, 2), thread(3, 8)].into_iter().chain(later) {
        registry.track(&key).unwrap();
    }
    registry.drop_metadata();
    let names = registry.tables().processes.iter().map(|process| (process.pid.clone(), &*process.name));
    let names: std::collections::BTreeMap<_, _> = names.collect();
    let number = Id::Number;
    let of_one = [(number(1), "main"), (number(2), "told"), (number(3), "")];
    assert_eq!(names, of_one.into_iter().chain([(of_file(5), "main"), (of_file(6), "")]).collect());
}

#[test]
fn the_order_of_a_track_applies_whether_it_comes_before_or_after_the_events() {
    let mut registry = Registry::default();
    let counter = |name: &str| TrackKey { kind: TrackKind::Counter, name: name.into(), ..thread(1, 7) };
    let order = |name: &str, sort_index| Metadata::TrackSortIndex { key: counter(name), sort_index };
    registry.apply(&order("early", 5));
    let tracks = ["early", "late"].map(|name| registry.track(&counter(name)).unwrap());
    registry.apply(&order("late", -1));
    assert_eq!(tracks.map(|track| registry.tables().tracks[track.index()].sort_index), [5, -1]);
}

#[test]
fn the_group_of_a_track_applies_whether_it_comes_before_or_after_the_events() {
    let mut registry = Registry::default();
    let counter = |name: &str| TrackKey { kind: TrackKind::Counter, name: name.into(), ..thread(1, 7) };
    let group = |key: TrackKey| Metadata::TrackGroup { key, group: "GPU".into() };
    registry.apply(&group(counter("early")));
    let process = TrackKey::new(TrackKind::Process, Id::Number(1), Id::None);
    registry.apply(&group(process.clone()));
    let keys = [counter("early"), counter("late"), counter("other"), process];
    let tracks = keys.map(|key| registry.track(&key).unwrap());
    registry.apply(&group(counter("late")));
    let groups = tracks.map(|track| registry.tables().group(track).map(GroupPath::name));
    assert_eq!(groups, [Some("GPU"), Some("GPU"), None, None], "a process is in no group");
    registry.truncate_tracks(1);
    assert_eq!(registry.track(&counter("late")), Some(TrackIdx(1)));
    assert_eq!(registry.tables().group(TrackIdx(1)), None, "a sort that starts over has other tracks");
}

#[test]
fn the_same_tid_in_two_processes_is_two_threads() {
    let mut registry = Registry::default();
    assert_ne!(registry.track(&thread(1, 7)), registry.track(&thread(2, 7)));
    assert_eq!(registry.tables().processes.len(), 2);
}

#[test]
fn a_name_has_its_unit_at_its_end_or_before_its_series() {
    for (name, unit) in [
        ("MemFree (bytes)", Some("bytes")),
        ("load (of all) (%)", Some("%")),
        ("heat (°C) ", Some("°C")),
        ("calls (main)", None),
        ("heap (bytes) value", Some("bytes")),
        ("waits (ns) of main", None),
        ("waits (ns)ago", None),
        ("(ns) first", None),
        ("bytes)", None),
        ("", None),
    ] {
        assert_eq!(unit_in_name(name), unit, "{name}");
    }
}

#[test]
fn the_unit_of_a_counter_applies_whether_it_comes_before_or_after_the_events() {
    let mut registry = Registry::default();
    let counter = |name: &str| TrackKey { kind: TrackKind::Counter, name: name.into(), ..thread(1, 7) };
    let unit = |name: &str, unit: &str| Metadata::CounterUnit { key: counter(name), unit: unit.into() };
    registry.apply(&unit("early", "bytes"));
    let tracks = ["early", "late", "load (%)", "other"].map(|name| registry.track(&counter(name)).unwrap());
    registry.apply(&unit("late", "ms"));
    registry.apply(&unit("late", "ns"));
    assert_eq!(tracks.map(|track| registry.tables().unit(track)), ["bytes", "ns", "%", ""]);
    let named = tracks.map(|track| registry.tables().name_with_unit(track).into_owned());
    assert_eq!(named, ["early (bytes)", "late (ns)", "load (%)", "other"]);
    registry.truncate_tracks(1);
    assert_eq!(registry.track(&counter("late")), Some(TrackIdx(1)));
    assert_eq!(registry.tables().unit(TrackIdx(1)), "", "a sort that starts over has other tracks");
}

#[test]
fn a_thread_whose_process_comes_late_has_its_earlier_track_and_names_and_no_empty_process_is_left() {
    let mut registry = Registry::default();
    let [early, other] = [thread(7, 7), thread(9, 9)].map(|key| registry.track(&key).unwrap());
    let id = Id::Number;
    registry.apply(&Metadata::KernelName { pid: id(7), tid: id(7), name: "worker".into() });
    let to_process = Metadata::ThreadProcess { tid: id(7), before: id(7), pid: id(5) };
    // The registry applies it before the tracks of its batch, and again in its order.
    registry.apply(&to_process);
    assert_eq!(registry.track(&thread(5, 7)), Some(early));
    registry.apply(&to_process);
    let reused = registry.track(&thread(9, 7)).unwrap();
    assert_ne!(reused, early, "the same number in another process");
    registry.drop_metadata();
    let tables = registry.tables();
    let pids: Vec<&Id> = tables.processes.iter().map(|process| &process.pid).collect();
    assert_eq!(pids, [&id(9), &id(5)]);
    assert!(tables.processes.iter().all(|process| process.name.is_empty()), "{:?}", tables.processes);
    let process_of = |track: TrackIdx| tables.processes[tables.tracks[track.index()].process.index()].pid.clone();
    assert_eq!([early, other, reused].map(process_of), [id(5), id(9), id(9)]);
    assert_eq!(&*tables.tracks[early.index()].name, "worker");
    assert_eq!(registry.track(&thread(5, 7)), Some(early), "the hash tables are built again");
}

#[test]
fn long_names_are_cut_and_all_names_together_have_a_limit() {
    let mut registry = Registry::default();
    let name =
        |pid: i64, bytes: usize| Metadata::ProcessName { pid: Id::Number(pid), name: "é".repeat(bytes / 2).into() };
    registry.apply(&name(0, 10_000));
    registry.apply(&name(1, LABEL_BYTES_MAX));
    assert_eq!((registry.cut_labels(), registry.are_labels_full()), (1, false));
    (2..20_000).for_each(|pid| registry.apply(&name(pid, LABEL_BYTES_MAX)));
    let lens: Vec<usize> = registry.tables().processes.iter().map(|process| process.name.len()).collect();
    assert_eq!((lens[0], lens[1], lens[19_999]), (LABEL_BYTES_MAX, LABEL_BYTES_MAX, LABEL_BYTES));
    assert!(lens.iter().sum::<usize>() <= LONG_LABEL_BYTES_MAX + lens.len() * LABEL_BYTES);
    assert_eq!(registry.cut_labels(), 1 + lens[2..].iter().filter(|&&len| len == LABEL_BYTES).count() as u64);
    assert!(registry.are_labels_full());
    // A name that is stored whole stays so, though there is no room for another.
    registry.apply(&name(1, LABEL_BYTES_MAX));
    assert_eq!(registry.tables().processes[1].name.len(), LABEL_BYTES_MAX);
}

#[test]
fn long_names_that_are_repeated_or_replaced_stay_whole() {
    let mut registry = Registry::default();
    let (pid, tid) = (Id::Number(1), Id::Number(7));
    let name = |number: usize| -> Box<str> { format!("{number:>500}").into() };
    let track = registry.track(&thread(1, 7)).unwrap();
    // Counted anew each time, the repeated name alone would exceed the limit.
    for number in (0..40_000).map(|round| if round < 30_000 { 0 } else { round }) {
        registry.apply(&Metadata::ProcessName { pid: pid.clone(), name: name(number) });
        registry.apply(&Metadata::ProcessLabels { pid: pid.clone(), labels: name(number) });
        registry.apply(&Metadata::ThreadName { pid: pid.clone(), tid: tid.clone(), name: name(number) });
        registry.apply(&Metadata::KernelName { pid: pid.clone(), tid: tid.clone(), name: name(number) });
    }
    let Process { name: process_name, labels, .. } = &registry.tables().processes[0];
    let thread_name = &registry.tables().tracks[track.index()].name;
    let expected = &*name(39_999);
    assert_eq!([&**process_name, &**labels, &**thread_name], [expected; 3]);
    assert_eq!((registry.cut_labels(), registry.are_labels_full()), (0, false));
}
