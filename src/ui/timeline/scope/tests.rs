//! The tracks of a process, a group and a chart of samples.

use super::*;
use crate::frame::RectBudget;
use crate::query::Snapshot;
use crate::query::snapshot::track_reads;
use crate::scene::bookmarks::Bookmarks;
use crate::scene::color::Shade;
use crate::scene::tests::{snapshot, threads};
use crate::ui::command::{BookmarkCommand, CustomGroupCommand, RowCommand};
use crate::ui::settings::Navigation;
use crate::ui::theme::Theme;

fn timeline(snapshot: Snapshot) -> Timeline {
    Timeline::new(snapshot, RectBudget::SOFTWARE, &Theme::new(Shade::Dark), Navigation::default())
}

/// Returns the names of the tracks of the scope.
fn names(timeline: &Timeline) -> Vec<String> {
    let mut names: Vec<_> =
        timeline.scope().tracks.iter().map(|track| timeline.snapshot.track(track).name.to_string()).collect();
    names.sort();
    names
}

fn track_named(timeline: &Timeline, name: &str) -> TrackIdx {
    let mut all = timeline.snapshot.display_order().iter().copied();
    all.find(|&track| *timeline.snapshot.track(track).name == *name).unwrap()
}

#[test]
fn a_process_has_all_of_its_tracks_even_if_they_are_filtered_out_hidden_or_in_a_custom_group() {
    let mut timeline = timeline(threads(&[("a", "one", 1), ("a", "two", 2), ("a", "three", 3), ("b", "four", 4)]));
    let process = timeline.snapshot.track(track_named(&timeline, "one")).process;
    let only = |timeline: &mut Timeline| {
        timeline.change_scope(ScopeCommand::ClearTracks);
        timeline.change_scope(ScopeCommand::Only(GroupKind::Process(process)));
        names(timeline)
    };
    let all = ["one", "three", "two"];
    assert_eq!(only(&mut timeline), all);
    let tracks = [track_named(&timeline, "two"), track_named(&timeline, "four")];
    timeline.selection.select_tracks(tracks.into_iter().collect(), &timeline.snapshot);
    for command in [
        RowCommand::Hide(GroupKind::Track(track_named(&timeline, "three"))),
        RowCommand::Group(CustomGroupCommand::GroupScope),
    ] {
        timeline.change_rows(command);
    }
    assert_eq!(only(&mut timeline), all);
    let group = timeline.tracks.arrangement().custom_groups.all()[0].id;
    timeline.change_rows(RowCommand::Filter("one".to_owned()));
    assert_eq!(only(&mut timeline), all);
    timeline.change_scope(ScopeCommand::Only(GroupKind::Custom(group)));
    assert_eq!(names(&timeline), ["four", "two"]);
    // Tracks outside of a process are not added to it.
    timeline.change_scope(ScopeCommand::Toggle(GroupKind::Process(process)));
    assert_eq!(names(&timeline), ["four", "one", "three", "two"]);
}

/// A drag over folded processes asks for the tracks of each of them in every frame.
#[test]
fn the_tracks_of_a_process_are_found_without_reading_those_of_the_others() {
    let names: Vec<_> = (0..2000).map(|number| (format!("process {}", number / 2), format!("{number}"))).collect();
    let spans: Vec<_> = names.iter().map(|(process, thread)| (process.as_str(), thread.as_str(), 1)).collect();
    let timeline = timeline(threads(&spans));
    let process = timeline.snapshot.track(track_named(&timeline, "1000")).process;
    let before = track_reads();
    let tracks = timeline.tracks_with_rows_of(GroupKind::Process(process));
    let names: Vec<_> = tracks.iter().map(|&track| &*timeline.snapshot.track(track).name).collect();
    assert_eq!(names, ["1000", "1001"]);
    assert!(track_reads() - before < 20, "{} reads", track_reads() - before);
}

#[test]
fn a_chart_of_samples_stands_for_the_track_with_the_samples() {
    let sample = |tid: u32, ts: u32| {
        let args = r#"{"event":"clock","unit":"ns","period":1000}"#;
        format!(r#"{{"ph":"P","name":"s","pid":1,"tid":{tid},"ts":{ts},"sf":"spin","args":{args}}}"#)
    };
    let samples = [sample(1, 1), sample(1, 2), sample(2, 3)].join(",");
    let timeline =
        timeline(snapshot(&format!(r#"{{"stackFrames":{{"spin":{{"name":"spin"}}}},"traceEvents":[{samples}]}}"#)));
    let charts = timeline.snapshot.display_order().iter().copied();
    let charts: Vec<_> = charts.filter(|&track| timeline.snapshot.track(track).key.kind.is_derived()).collect();
    assert_eq!(charts.len(), 2);
    for chart in charts {
        let added = timeline.with_rows_inside(vec![chart]);
        let [_, samples] = added[..] else { panic!("{added:?}") };
        let is_sampled = |lane| timeline.snapshot.lane(LaneIdx(lane)).kind == LaneKind::Samples;
        assert!(timeline.snapshot.lanes_of(samples).any(is_sampled));
        let thread = |track: TrackIdx| timeline.snapshot.track(track).key.tid.clone();
        assert_eq!(thread(samples), thread(chart));
        assert_eq!(timeline.tracks_with_rows_of(GroupKind::Track(chart)), added);
    }
}

#[test]
fn the_samples_row_of_a_thread_in_the_scope_is_in_it_too() {
    let sample = |tid: u32, ts: u32| {
        let args = r#"{"event":"clock","unit":"ns","period":1000}"#;
        format!(r#"{{"ph":"P","name":"s","pid":1,"tid":{tid},"ts":{ts},"sf":"spin","args":{args}}}"#)
    };
    let span = |tid: u32| format!(r#"{{"ph":"X","name":"a","pid":1,"tid":{tid},"ts":0,"dur":9}}"#);
    let rows = [span(1), span(2), sample(1, 1), sample(2, 3)].join(",");
    let mut timeline =
        timeline(snapshot(&format!(r#"{{"stackFrames":{{"spin":{{"name":"spin"}}}},"traceEvents":[{rows}]}}"#)));
    let tracks = timeline.snapshot.display_order().to_vec();
    let tid = |timeline: &Timeline, track: TrackIdx| timeline.snapshot.track(track).key.tid.to_string();
    let is_chart = |timeline: &Timeline, track: TrackIdx| timeline.snapshot.track(track).key.kind.is_derived();
    let find = |tid_text: &str, chart: bool| {
        let is_it = |track: &TrackIdx| tid(&timeline, *track) == tid_text && is_chart(&timeline, *track) == chart;
        GroupKind::Track(tracks.iter().copied().find(is_it).unwrap())
    };
    let (thread, chart, others) = (find("1", false), find("1", true), [find("2", false), find("2", true)]);
    timeline.change_scope(ScopeCommand::Only(thread));
    assert!(timeline.is_in_scope(thread) && timeline.is_in_scope(chart));
    assert!(!others.iter().any(|&other| timeline.is_in_scope(other)));
    // Both rows stand for the thread, so each removes the thread from the scope.
    for row in [chart, thread] {
        timeline.change_scope(ScopeCommand::Only(others[0]));
        timeline.change_scope(ScopeCommand::Toggle(thread));
        timeline.change_scope(ScopeCommand::Toggle(row));
        assert!(!timeline.is_in_scope(thread) && !timeline.is_in_scope(chart));
        assert!(others.iter().all(|&other| timeline.is_in_scope(other)));
    }
}

#[test]
fn a_filter_or_marker_beyond_the_limit_is_refused_with_a_note() {
    let mut timeline = timeline(threads(&[("a", "one", 1)]));
    timeline.change_scope(ScopeCommand::AddFilter("dur>1".to_owned()));
    assert_eq!(timeline.take_note(), None);
    timeline.change_scope(ScopeCommand::AddFilter("n".repeat(FIELD_BYTES_MAX)));
    assert_eq!(timeline.take_note().as_deref(), Some("The filter of the scope would be longer than 64 KiB."));
    assert_eq!(timeline.scope().filter.to_string(), "dur>1");
    for ts_ns in 0..=Bookmarks::COUNT_MAX as i64 {
        assert_eq!(timeline.take_note(), None, "{ts_ns}");
        timeline.change_marks(&BookmarkCommand::AddAt(ts_ns));
    }
    assert_eq!(timeline.take_note().as_deref(), Some("A trace has at most 1\u{2009}000 markers: remove one first."));
}
