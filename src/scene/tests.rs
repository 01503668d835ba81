//! Traces from text, for the tests of other modules, and tests of the arrangement of whole traces.

use std::cmp::Reverse;
use std::io::Write;

use proptest::prelude::*;

use super::arrange::{self, Arrangement, OVERLAYS_MAX, TrackOrder};
use super::counter_overlay::{CounterOverlay, have_one_unit, overlaid_row};
use super::rows::{Folded, GroupKind, RowHeights};
use super::titles::{group_title, title_below, track_title};
use crate::base::cancel::Cancel;
use crate::base::progress::Progress;
use crate::ingest::{self, CachePolicy, LoadOptions};
use crate::model::{ProcessIdx, TrackIdx, TrackKind, TrackSet};
use crate::query::Snapshot;
use crate::query::track_groups::GroupId;

/// Imports a trace of Chrome JSON.
#[must_use]
pub(crate) fn snapshot(json: &str) -> Snapshot {
    snapshot_of_bytes(json.as_bytes())
}

/// Imports a trace of any format.
#[must_use]
pub(crate) fn snapshot_of_bytes(trace: &[u8]) -> Snapshot {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(trace).unwrap();
    let options = LoadOptions { cache: CachePolicy::None, ..LoadOptions::default() };
    let loaded = ingest::open(file.path(), &options, &Cancel::default(), &Progress::default()).unwrap();
    Snapshot::new(loaded.store)
}

/// Returns the titles of the headers of groups, with colons, and of tracks as they are shown, indented by level.
pub(crate) fn outline_of(snapshot: &Snapshot, arrangement: &Arrangement) -> Vec<String> {
    let layout = arrange::layout(snapshot, arrangement, Some(&[]), &RowHeights::at_scale(1.0));
    let indented = |level: usize, title: &str| format!("{}{title}", "  ".repeat(level));
    let rows = layout.groups_within(0, layout.height_px()).into_iter().filter_map(|row| match row.kind {
        GroupKind::Custom(_) | GroupKind::Process(_) => None,
        GroupKind::Tracks(group) => {
            let title = group_title(snapshot, &snapshot.group(group).expect("a group"));
            Some(indented(group.level.into(), &format!("{title}:")))
        }
        GroupKind::Track(track) => {
            let group = snapshot.group_of(track);
            let title = title_below(snapshot, track, group.map_or(0, |group| group.named_levels()));
            let title = title.unwrap_or_else(|| track_title(snapshot.track(track)).0);
            Some(indented(snapshot.groups_of(track).count(), &title))
        }
    });
    rows.collect()
}

/// Returns the outline in trace order, with all groups unfolded.
pub(crate) fn outline(snapshot: &Snapshot) -> Vec<String> {
    let folded = snapshot.groups().iter().filter(|group| group.starts_folded());
    let mut arrangement = Arrangement::default();
    arrangement.folded.toggled_groups = folded.map(|group| group.id).collect();
    outline_of(snapshot, &arrangement)
}

/// Builds a span of one microsecond for each `(process, thread, start)`, on threads named after both.
pub(crate) fn threads(spans: &[(&str, &str, u32)]) -> Snapshot {
    let lines = spans.iter().map(|(process, thread, start)| {
        format!(
            r#"{{"ph":"M","name":"process_name","pid":"{process}","args":{{"name":"{process}"}}}},
            {{"ph":"M","name":"thread_name","pid":"{process}","tid":"{thread}","args":{{"name":"{thread}"}}}},
            {{"ph":"X","name":"x","pid":"{process}","tid":"{thread}","ts":{start},"dur":1}}"#
        )
    });
    snapshot(&format!("[{}]", lines.collect::<Vec<_>>().join(",")))
}

/// Builds threads 8 and 9 with states, and an event of thread 8.
pub(crate) fn threads_with_states() -> Snapshot {
    let switch = |ts: u32, from: u32, to: u32| {
        format!(
            "w 7/{from} [000] 1.{ts:06}: sched:sched_switch: prev_comm=w prev_pid={from} prev_prio=120 prev_state=S \
            ==> next_comm=w next_pid={to} next_prio=120\n"
        )
    };
    let waiting = "w 7/8 [000] 1.000004: sched:sched_stat_wait: comm=w pid=8 delay=1 [ns]\n";
    snapshot(&[switch(1, 8, 9), switch(2, 9, 8), switch(3, 8, 9), waiting.to_owned()].concat())
}

fn in_order(order: TrackOrder) -> Arrangement {
    Arrangement { order, ..Arrangement::default() }
}

fn shown(snapshot: &Snapshot, order: TrackOrder, filter: &str) -> Vec<String> {
    let tracks = arrange::tracks(snapshot, &Arrangement { filter: filter.to_owned(), ..in_order(order) }, None);
    tracks.iter().map(|rows| snapshot.track(rows.track).name.to_string()).collect()
}

#[test]
fn tracks_are_in_the_chosen_order_and_those_of_a_process_together() {
    let snapshot = threads(&[
        ("beta", "worker 10", 50),
        ("beta", "worker 9", 30),
        ("alpha", "main", 40),
        ("alpha", "main", 60),
        ("alpha", "idle", 70),
        ("beta", "worker 9", 80),
        ("beta", "worker 9", 90),
    ]);
    assert_eq!(shown(&snapshot, TrackOrder::Trace, ""), ["worker 10", "worker 9", "main", "idle"]);
    assert_eq!(shown(&snapshot, TrackOrder::Name, ""), ["idle", "main", "worker 9", "worker 10"]);
    assert_eq!(shown(&snapshot, TrackOrder::FirstEvent, ""), ["worker 9", "worker 10", "main", "idle"]);
    assert_eq!(shown(&snapshot, TrackOrder::Activity, ""), ["worker 9", "worker 10", "main", "idle"]);
}

#[test]
fn tracks_in_order_of_their_longest_span_are_those_of_a_loop_over_all_spans() {
    let span = |pid: u32, tid: u32, ts: u32, dur: u32| {
        format!(r#"{{"ph":"X","name":"x","pid":{pid},"tid":{tid},"ts":{ts},"dur":{dur}}}"#)
    };
    let spans: Vec<(u32, u32, u32, u32)> =
        (0..400).map(|k: u32| (k % 2, k % 7, k * 100, k.wrapping_mul(2_654_435_761) % 97)).collect();
    let texts: Vec<_> = spans.iter().map(|&(pid, tid, ts, dur)| span(pid, tid, ts, dur)).collect();
    let counter = r#"{"ph":"C","name":"n","pid":1,"ts":5,"args":{"v":999999999}}"#;
    let snapshot = snapshot(&format!("[{},{counter}]", texts.join(",")));
    let tracks = arrange::tracks(&snapshot, &in_order(TrackOrder::Longest), None);
    let longest = |pid: &str, tid: &str| {
        let of_track =
            spans.iter().filter(|(p, t, ..)| p.to_string() == pid && (tid.is_empty() || t.to_string() == tid));
        of_track.map(|span| span.3).max().unwrap_or(0)
    };
    let found: Vec<_> = tracks
        .iter()
        .map(|rows| {
            let key = &snapshot.track(rows.track).key;
            let (pid, tid) = (key.pid.to_string(), key.tid.to_string());
            let own = if tid.is_empty() { 0 } else { longest(&pid, &tid) };
            (longest(&pid, ""), own)
        })
        .collect();
    assert_eq!(found.len(), 15);
    assert!(found.is_sorted_by(|one, other| one >= other), "{found:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    /// The oracle sorts lists of lists: processes by their sums, and in each process the groups and threads by their
    /// sums.
    #[test]
    fn counted_tracks_are_in_the_order_of_nested_stable_sorts(
        ranks in prop::collection::vec(0_u64..5, 24),
        grouped in prop::collection::btree_set(0_u32..24, 0..6),
    ) {
        // Six threads, four async tracks of a name and two counters in each of two processes.
        let of_process = |pid: u32| {
            let thread = |tid: u32| format!(r#"{{"ph":"X","name":"x","pid":{pid},"tid":{tid},"ts":{tid},"dur":1}}"#);
            let event = |phase: &str, id: u32, ts: u32| {
                format!(r#"{{"ph":"{phase}","cat":"c","name":"d","id":"{pid}-{id}","pid":{pid},"tid":1,"ts":{ts}}}"#)
            };
            let counter = |name: &str| format!(r#"{{"ph":"C","name":"{name}","pid":{pid},"ts":1,"args":{{"v":1}}}}"#);
            let trees = (0..4).flat_map(|id| [event("b", id, id), event("e", id, 9)]).collect::<Vec<_>>();
            let parts = [(1..7).map(thread).collect(), trees, ["a", "b"].map(counter).to_vec()];
            parts.concat()
        };
        // The second process is first in trace order.
        let order = r#"{"ph":"M","name":"process_sort_index","pid":2,"args":{"sort_index":-1}}"#.to_owned();
        let snapshot = snapshot(&format!("[{}]", [of_process(1), of_process(2), vec![order]].concat().join(",")));
        prop_assert_eq!(snapshot.display_order().len(), 24);
        // Some tracks have no rows.
        let ranks: Vec<u64> = (0..snapshot.tracks().tracks.len()).map(|track| ranks[track % 24]).collect();
        let mut arrangement = in_order(TrackOrder::Busy);
        let custom: TrackSet = grouped.iter().copied().map(TrackIdx).collect();
        let _ = arrangement.custom_groups.make(custom.clone());
        let found: Vec<_> = arrange::tracks(&snapshot, &arrangement, Some(&ranks)).iter().map(|row| row.track).collect();
        let rank = |track: &TrackIdx| ranks[track.index()];
        let sum = |tracks: &Vec<TrackIdx>| Reverse(tracks.iter().map(rank).sum::<u64>());
        let parts_of = |tracks: Vec<TrackIdx>, unit: &dyn Fn(TrackIdx) -> u32| {
            let mut parts: Vec<(u32, Vec<TrackIdx>)> = Vec::new();
            for track in tracks {
                match parts.iter_mut().find(|(of, _)| *of == unit(track)) {
                    Some((_, tracks)) => tracks.push(track),
                    None => parts.push((unit(track), vec![track])),
                }
            }
            let mut parts: Vec<Vec<TrackIdx>> = parts.into_iter().map(|(_, tracks)| tracks).collect();
            parts.sort_by_key(sum);
            parts
        };
        let is_custom = |track: TrackIdx| custom.contains(track);
        let all = snapshot.display_order().iter().copied();
        let (grouped, others): (Vec<_>, Vec<_>) = all.partition(|&track| is_custom(track));
        let section = |track: TrackIdx| if is_custom(track) { u32::MAX } else { snapshot.track(track).process.0 };
        let unit = |track: TrackIdx| match snapshot.group_of(track).filter(|_| !is_custom(track)) {
            Some(group) => 1000 + group.id.lead.0,
            None => track.0,
        };
        let sections = parts_of([grouped, others].concat(), &section);
        let units = sections.into_iter().flat_map(|tracks| parts_of(tracks, &unit));
        let expected: Vec<_> = units.flat_map(|tracks| parts_of(tracks, &|track| track.0)).flatten().collect();
        prop_assert_eq!(found, expected);
        // Before the counts are known, tracks are in trace order.
        let plain = in_order(TrackOrder::Hits);
        let found = arrange::tracks(&snapshot, &plain, None);
        prop_assert!(found.iter().map(|row| row.track).eq(snapshot.display_order().iter().copied()));
    }
}

#[test]
fn tracks_of_a_group_stay_together_in_every_order() {
    // Two names of async spans, four of each at a time, and counters whose names lie between.
    let tree = |name: &str, id: usize, ts: usize| {
        let event = |phase: &str, ts: usize| {
            format!(r#"{{"ph":"{phase}","cat":"c","name":"{name}","id":"{name}{id}","pid":1,"tid":1,"ts":{ts}}}"#)
        };
        [event("b", ts), event("e", ts + 10 + ts % 7)]
    };
    let trees = (0..4).flat_map(|id| [tree("b", id, id * 2), tree("d", id, 1 + id)]).flatten();
    let counters = ["a", "c", "e", "g"].into_iter().zip(0..);
    let counters =
        counters.map(|(name, ts)| format!(r#"{{"ph":"C","name":"{name}","pid":1,"ts":{ts},"args":{{"v":1}}}}"#));
    let thread = |tid: u32| format!(r#"{{"ph":"X","name":"x","pid":1,"tid":{tid},"ts":{tid},"dur":{tid}}}"#);
    let lines: Vec<_> = trees.chain(counters).chain([1, 2].map(thread)).collect();
    let snapshot = snapshot(&format!("[{}]", lines.join(",")));
    assert_eq!(snapshot.groups().len(), 3);
    for order in TrackOrder::ALL {
        let tracks = arrange::tracks(&snapshot, &in_order(order), Some(&[]));
        let runs: Vec<_> = tracks
            .chunk_by(|one, next| one.group.is_some() && one.group == next.group)
            .filter_map(|run| run[0].group.map(|group| (group.id, run.len())))
            .collect();
        assert_eq!(runs.len(), 3, "{order:?}: {runs:?}");
        assert_eq!(tracks.len(), 4 + 4 + 4 + 2);
    }
}

#[test]
fn states_stay_with_their_thread_in_every_order_and_are_not_spans() {
    let switch = |head: &str, from: &str, to: &str| {
        let [(from, from_tid), (to, to_tid)] = [from, to].map(|task| task.split_once('-').unwrap());
        let before = format!("prev_comm={from} prev_pid={from_tid} prev_prio=120 prev_state=S");
        format!("{head}: sched_switch: {before} ==> next_comm={to} next_pid={to_tid} next_prio=120\n")
    };
    let marker = |head: &str, text: &str| format!("{head}: tracing_mark_write: {text}\n");
    // Thread "b" sleeps for a minute, and "a" has the longest span.
    let lines = [
        "# tracer: nop\n".to_owned(),
        switch("<idle>-0 (-----) [000] .... 1.000000", "idle-0", "b-8"),
        marker("b-8 ( 7) [000] .... 1.000010", "B|7|short"),
        marker("b-8 ( 7) [000] .... 1.000020", "E|7"),
        switch("b-8 ( 7) [000] .... 1.000030", "b-8", "a-7"),
        marker("a-7 ( 7) [000] .... 1.000040", "B|7|long"),
        marker("a-7 ( 7) [000] .... 2.000000", "E|7"),
        switch("a-7 ( 7) [000] .... 2.000010", "a-7", "idle-0"),
        switch("<idle>-0 (-----) [000] .... 61.000000", "idle-0", "b-8"),
        switch("b-8 ( 7) [000] .... 61.000010", "b-8", "idle-0"),
    ];
    let snapshot = snapshot(&lines.concat());
    for order in TrackOrder::ALL {
        let tracks = arrange::tracks(&snapshot, &in_order(order), Some(&[]));
        let keys = tracks.iter().map(|rows| &snapshot.track(rows.track).key);
        let of_threads: Vec<_> = keys
            .filter(|key| matches!(key.kind, TrackKind::State | TrackKind::Thread))
            .map(|key| (key.tid.to_string(), key.kind))
            .collect();
        let pair = |tid: &str| [(tid.to_owned(), TrackKind::State), (tid.to_owned(), TrackKind::Thread)];
        // By events and by the first one, "b" is before "a".
        let expected = match order {
            TrackOrder::Name | TrackOrder::Longest => [pair("7"), pair("8")],
            _ => [pair("8"), pair("7")],
        };
        assert_eq!(of_threads, expected.concat(), "{order:?}");
    }
}

#[test]
fn an_overlay_whose_lead_is_filtered_out_stays_in_the_process_of_the_other() {
    let counter = |pid: u32, name: &str| format!(r#"{{"ph":"C","name":"{name}","pid":{pid},"ts":5,"args":{{"v":7}}}}"#);
    let lines = [counter(1, "a"), counter(2, "b"), counter(2, "c"), counter(2, "d")];
    let snapshot = snapshot(&format!("[{}]", lines.join(",")));
    let track = |name: &str| {
        let tracks = &snapshot.tracks().tracks;
        TrackIdx(tracks.iter().position(|track| track.name.starts_with(name)).unwrap() as u32)
    };
    let mut arrangement = Arrangement { filter: "2".to_owned(), ..Arrangement::default() };
    assert!(arrangement.overlay(CounterOverlay::new(&[track("a"), track("c")], false).unwrap()));
    let layout = arrange::layout(&snapshot, &arrangement, None, &RowHeights::at_scale(1.0));
    let groups = layout.groups_within(0, layout.height_px());
    let heads = groups.iter().filter(|group| matches!(group.kind, GroupKind::Process(_)));
    assert_eq!(heads.count(), 1, "{groups:?}");
    assert!(layout.group_of(GroupKind::Track(track("a"))).is_some(), "the row of the overlay");
}

#[test]
fn a_filter_finds_every_word_in_the_names_of_tracks_and_processes() {
    let snapshot = threads(&[("Alpha", "Main", 1), ("Alpha", "worker", 2), ("beta", "main", 3)]);
    assert_eq!(shown(&snapshot, TrackOrder::Trace, "main"), ["Main", "main"]);
    assert_eq!(shown(&snapshot, TrackOrder::Trace, "ALPHA main"), ["Main"]);
    assert_eq!(shown(&snapshot, TrackOrder::Name, "alpha"), ["Main", "worker"]);
    assert_eq!(shown(&snapshot, TrackOrder::Trace, "gamma"), [""; 0]);
}

#[test]
fn a_filter_by_the_name_of_a_thread_keeps_its_samples() {
    let sample = |comm: &str, tid: u32| {
        format!("{comm} 7/{tid} [000] {tid}.000000: 250000 cycles:\n\t     1139 spin+0x1 (/app)\n\n")
    };
    let snapshot = snapshot(&[sample("worker", 8), sample("idler", 9)].concat());
    assert_eq!(shown(&snapshot, TrackOrder::Trace, "worker"), ["worker", "samples"]);
    assert_eq!(shown(&snapshot, TrackOrder::Trace, "idl samples"), ["samples"]);
    let tracks = snapshot.display_order();
    assert_eq!(tracks.iter().map(|&track| snapshot.thread_of(track)).collect::<Vec<_>>(), {
        let [worker, idler] = [tracks[0], tracks[2]];
        [worker, worker, idler, idler]
    });
}

#[test]
fn pinned_tracks_are_laid_out_also_where_they_are_hidden_and_unknown_ones_are_left_out() {
    let snapshot = threads(&[("a", "one", 1), ("a", "two", 2)]);
    let folded = Folded {
        processes: std::iter::once(ProcessIdx(0)).collect(),
        hidden: std::iter::once(TrackIdx(1)).collect(),
        ..Folded::default()
    };
    let pinned = vec![TrackIdx(1), TrackIdx(77)];
    let arrangement = Arrangement { folded, pinned, ..Arrangement::default() };
    let layout = arrange::pinned_layout(&snapshot, &arrangement, &RowHeights::at_scale(1.0));
    let groups = layout.groups_within(0, 1000);
    assert_eq!(groups.iter().map(|group| group.kind).collect::<Vec<_>>(), [GroupKind::Track(TrackIdx(1))]);
}

#[test]
fn counters_of_an_overlay_have_one_row_and_each_its_own_again() {
    let counter = |series: &str| format!(r#"{{"ph":"C","name":"n","pid":1,"ts":1,"args":{{"{series}":1}}}}"#);
    let snapshot = snapshot(&format!("[{}]", ["(ns)", "b", "c"].map(counter).join(",")));
    let [a, b, c] = [0, 1, 2].map(TrackIdx);
    let mut arrangement = Arrangement::default();
    let shown = |arrangement: &Arrangement| {
        let layout = arrange::layout(&snapshot, arrangement, None, &RowHeights::at_scale(1.0));
        [a, b, c].map(|track| layout.group_of(GroupKind::Track(track)).is_some())
    };
    assert!(arrangement.overlay(CounterOverlay::new(&[b, c], true).unwrap()));
    assert_eq!(shown(&arrangement), [true, true, false]);
    let row = overlaid_row(&snapshot, &arrangement.overlays[0], &[]).unwrap();
    assert_eq!((row.curves.len(), row.units.as_slice(), row.is_stacked), (2, &[String::new()][..], true));
    // A counter is in one row only, and the rest of the other overlay is removed.
    assert!(arrangement.overlay(CounterOverlay::new(&[a, b], true).unwrap()));
    assert_eq!((shown(&arrangement), arrangement.overlays.len()), ([true, false, true], 1));
    let row = overlaid_row(&snapshot, &arrangement.overlays[0], &[]).unwrap();
    assert_eq!((row.units.len(), row.is_stacked), (2, false), "nanoseconds and numbers are no sum");
    assert!(!have_one_unit(&snapshot, &[a, b]) && have_one_unit(&snapshot, &[b, c]));
    arrangement.separate(&[b]);
    assert_eq!((shown(&arrangement), arrangement.overlays.len()), ([true; 3], 0));
    // One more row than is allowed is refused, and nothing changes.
    let pair = |number: usize, is_stacked| {
        let [first, second] = [2 * number, 2 * number + 1].map(|track| TrackIdx(track as u32));
        CounterOverlay::new(&[first, second], is_stacked).unwrap()
    };
    assert!((0..OVERLAYS_MAX).all(|number| arrangement.overlay(pair(number, false))));
    let full = arrangement.clone();
    assert!(!arrangement.overlay(pair(OVERLAYS_MAX, false)));
    assert_eq!(arrangement, full);
    assert!(arrangement.overlay(pair(0, true)), "it takes the place of another");
    // An overlay of another trace, as in saved state.
    let unknown = CounterOverlay::new(&[TrackIdx(77), a], false).unwrap();
    assert_eq!(overlaid_row(&snapshot, &unknown, &[]), None);
}

#[test]
fn a_shared_row_selects_all_of_its_counters_and_is_found_by_each() {
    let counter = |series: &str| format!(r#"{{"ph":"C","name":"n","pid":1,"ts":1,"args":{{"{series}":1}}}}"#);
    let snapshot = snapshot(&format!("[{}]", ["apple", "pear", "plum"].map(counter).join(",")));
    let [a, b, c] = [0, 1, 2].map(TrackIdx);
    let mut arrangement = Arrangement::default();
    assert_eq!(arrangement.with_counters(vec![a, c]), [a, c]);
    assert!(arrangement.overlay(CounterOverlay::new(&[a, c], true).unwrap()));
    assert_eq!(arrangement.with_counters(vec![a, b]), [a, b, c]);
    assert_eq!(arrangement.with_counters(vec![b]), [b]);
    for (filter, expected) in [
        ("apple", [true, false, false]),
        ("plum", [true, false, false]),
        ("pear", [false, true, false]),
        ("", [true, true, false]),
    ] {
        let arrangement = Arrangement { filter: filter.to_owned(), ..arrangement.clone() };
        let layout = arrange::layout(&snapshot, &arrangement, None, &RowHeights::at_scale(1.0));
        let shown = [a, b, c].map(|track| layout.group_of(GroupKind::Track(track)).is_some());
        assert_eq!(shown, expected, "{filter}");
    }
}

/// Builds a process with `threads` threads and the counters `n0` to `n15`, which start folded, and a process with a
/// thread.
fn folded_counters(threads: u32) -> (Snapshot, GroupId) {
    let counter = |number: u32| format!(r#"{{"ph":"C","name":"n{number}","pid":1,"ts":5,"args":{{"v":7}}}}"#);
    let thread = |pid: u32, tid: u32| format!(r#"{{"ph":"X","name":"x","pid":{pid},"tid":{tid},"ts":{tid},"dur":1}}"#);
    let lines = (0..16).map(counter).chain((0..threads).map(|tid| thread(1, tid))).chain([thread(2, 7)]);
    let snapshot = snapshot(&format!("[{}]", lines.collect::<Vec<_>>().join(",")));
    let group = snapshot.groups()[0].id;
    (snapshot, group)
}

#[test]
fn a_filter_unfolds_its_matches_until_it_is_cleared() {
    let (snapshot, group) = folded_counters(1);
    let counter = snapshot.display_order().iter().copied().find(|&track| snapshot.track(track).name.starts_with("n3"));
    let counter = counter.unwrap();
    let header = GroupKind::Tracks(group);
    let process = snapshot.track(counter).process;
    let shows = |arrangement: &Arrangement| {
        let layout = arrange::layout(&snapshot, arrangement, None, &RowHeights::at_scale(1.0));
        for kind in [header, GroupKind::Process(process)] {
            assert_eq!(layout.is_folded(kind), arrangement.is_folded(&snapshot, kind), "{kind:?}");
        }
        layout.group_of(GroupKind::Track(counter)).is_some()
    };
    let mut arrangement = Arrangement::default();
    assert!(!shows(&arrangement));
    for is_process_folded in [false, true] {
        if is_process_folded {
            arrangement.folded.processes.insert(process);
        }
        arrangement.filter = "n3".to_owned();
        assert!(shows(&arrangement), "{is_process_folded}");
        arrangement.folded_in_filter.insert(header);
        assert!(!shows(&arrangement), "{is_process_folded}");
        arrangement.folded_in_filter.clear();
        arrangement.filter.clear();
        assert!(!shows(&arrangement), "{is_process_folded}");
    }
    // Groups that the user has unfolded stay unfolded.
    arrangement = Arrangement::default();
    arrangement.folded.toggled_groups.insert(group);
    assert!(shows(&arrangement));
    arrangement.filter = "n3".to_owned();
    assert!(shows(&arrangement));
}

#[test]
fn a_group_counts_the_tracks_that_are_neither_filtered_out_nor_hidden() {
    let (snapshot, group) = folded_counters(1);
    let arrangement = Arrangement { filter: "n1".to_owned(), ..Arrangement::default() };
    let mut layout = arrange::layout(&snapshot, &arrangement, None, &RowHeights::at_scale(1.0));
    assert_eq!(layout.shown_tracks(group), Some(7), "n1 and n10 to n15");
    let first = layout.tracks_of(GroupKind::Tracks(group))[0];
    layout.set_hidden(first, true);
    assert_eq!(layout.shown_tracks(group), Some(6));
}

#[test]
fn chosen_tracks_are_visible_and_whole_processes_keep_their_folded_groups() {
    for (threads, chosen, is_unfolded) in [
        (1, &["n3"][..], true),
        (1, &["n"], true),
        (1, &["n", "Thread 0"], false),
        (1, &["n", "Thread 0", "Thread 7"], false),
        // The whole process, and nothing else.
        (0, &["n"], true),
        (0, &["n", "Thread 7"], false),
    ] {
        let (snapshot, group) = folded_counters(threads);
        let title = |track: TrackIdx| super::titles::track_title(snapshot.track(track)).0;
        let is_chosen = |track| chosen.iter().any(|&start| title(track).starts_with(start));
        let chosen_tracks = TrackSet::from_fn(snapshot.tracks().tracks.len(), is_chosen);
        let mut arrangement = Arrangement::default();
        arrangement.unfold_groups_of(&snapshot, &chosen_tracks);
        assert_eq!(!arrangement.is_folded(&snapshot, GroupKind::Tracks(group)), is_unfolded, "{threads} {chosen:?}");
    }
}
