//! Layouts of few tracks at once, and of many in the background.

use super::*;
use crate::frame::RectBudget;
use crate::query::Snapshot;
use crate::query::snapshot::track_reads;
use crate::scene::arrange::{TrackOrder, layout};
use crate::scene::color::Shade;
use crate::scene::rows::RowHeights;
use crate::scene::tests::{snapshot, threads};
use crate::store::lane::{LaneIdx, RowIdx};
use crate::ui::settings::Navigation;
use crate::ui::theme::Theme;

#[test]
fn a_cleared_filter_returns_to_the_rows_before_it_or_to_the_span_selected_since() {
    let names: Vec<String> = (0..200).map(|number| format!("thread {number}")).collect();
    let spans: Vec<_> = names.iter().map(|name| ("a", name.as_str(), 1)).collect();
    let theme = Theme::new(Shade::Dark);
    let mut timeline = Timeline::new(
        threads(&spans),
        RectBudget::SOFTWARE,
        &theme,
        Navigation { animation: false, ..Navigation::default() },
    );
    timeline.show_only(&TrackSet::ALL);
    let whole_px = timeline.rows.layout.height_px();
    let filter = |timeline: &mut Timeline, words: &str| {
        timeline.change_rows(RowCommand::Filter(words.to_owned()));
        assert!(timeline.due_layout().is_none(), "few rows are laid out at once");
    };
    timeline.scroll_to(1500.0);
    let before = (timeline.row_anchor(), timeline.view.now().scroll_px());
    assert!(before.0.is_some(), "scrolled");
    for words in ["thread 19", "nothing of this name"] {
        for typed in ["t", words, ""] {
            filter(&mut timeline, typed);
            assert_eq!(timeline.rows.layout.height_px() == whole_px, typed != words, "{typed}");
            assert_eq!(timeline.view.now().scroll_px() == 0.0, !typed.is_empty(), "the first match is in view");
        }
        assert_eq!((timeline.row_anchor(), timeline.view.now().scroll_px()), before, "after {words}");
    }
    filter(&mut timeline, "thread 199");
    let row = |lane| RowIdx { lane: LaneIdx(lane), row: 0 };
    let last = (0..200).find(|&lane| {
        let track = timeline.snapshot.lane(LaneIdx(lane)).track;
        &*timeline.snapshot.track(track).name == "thread 199"
    });
    timeline.selection.select(last.map(row));
    filter(&mut timeline, "");
    assert!(timeline.view.now().scroll_px() > 1500.0, "{}", timeline.view.now().scroll_px());
}

/// Builds a span on each of some threads, and as many as `deep` inside the first ones.
fn nested(tracks: usize, deep: usize) -> Snapshot {
    let span = |tid: usize, ts: usize, dur: usize| {
        format!(r#"{{"ph":"X","name":"x","pid":1,"tid":{tid},"ts":{ts},"dur":{dur}}}"#)
    };
    let outer = (0..tracks).map(|tid| span(tid, 0, 9));
    snapshot(&format!("[{}]", outer.chain((0..deep).map(|tid| span(tid, 1, 3))).collect::<Vec<_>>().join(",")))
}

/// Returns the track and the depth of each lane in view.
fn lanes_in_view(timeline: &Timeline) -> Vec<(TrackIdx, u32)> {
    let rows = timeline.rows.layout.lanes_in_view(timeline.view.now()).into_iter();
    let lanes = rows.map(|row| {
        let lane = timeline.snapshot.lane(row.lane);
        assert_eq!(timeline.rows.layout.row_of(row.lane, lane.track), Some(row), "of {:?}", row.lane);
        (lane.track, lane.depth.into())
    });
    lanes.collect()
}

/// Changes the rows of many tracks, and returns their layout.
fn layout_for(timeline: &mut Timeline, command: RowCommand) -> ArrangeJob {
    timeline.change_rows(command);
    timeline.due_layout().expect("many tracks")
}

#[test]
fn the_rows_of_many_tracks_stay_until_those_of_the_latest_snapshot_are_laid_out() {
    let theme = Theme::new(Shade::Dark);
    let first = nested(3000, 0);
    let mut timeline = Timeline::new(first, RectBudget::SOFTWARE, &theme, Navigation::default());
    let job = layout_for(&mut timeline, RowCommand::Order(TrackOrder::Trace));
    timeline.set_arranged(job.run());
    timeline.scroll_to(20_000.0);
    let (anchor, shown) = (timeline.row_anchor(), lanes_in_view(&timeline));
    assert!(anchor.is_some() && shown.len() > 10 && shown.iter().all(|(_, depth)| *depth == 0), "{shown:?}");

    // All lanes of the second snapshot have other indices.
    let reads = track_reads();
    let mut timeline = timeline.with_snapshot(nested(3100, 3000));
    assert!(track_reads() - reads < 100, "{} reads", track_reads() - reads);
    assert_eq!((timeline.row_anchor(), lanes_in_view(&timeline)), (anchor, shown.clone()));
    let second = timeline.due_layout().expect("other rows");

    // The third arrives meanwhile, and waits.
    let mut timeline = timeline.with_snapshot(nested(3200, 3100));
    assert_eq!((timeline.row_anchor(), lanes_in_view(&timeline)), (anchor, shown.clone()));
    assert!(timeline.due_layout().is_none(), "one at a time");
    let top = |timeline: &Timeline| timeline.row_anchor().map(|anchor| anchor.kind);
    timeline.set_arranged(second.run());
    let both: Vec<_> = lanes_in_view(&timeline);
    assert_eq!(top(&timeline), anchor.map(|anchor| anchor.kind), "the rows in view stay there");
    assert!(both.iter().any(|(_, depth)| *depth == 1), "{both:?}");
    assert!(timeline.rows.layout.group_of(GroupKind::Track(TrackIdx(3150))).is_none(), "it is of the third");
    let third = timeline.due_layout().expect("other rows again");
    timeline.set_arranged(third.run());
    assert!(timeline.due_layout().is_none());
    assert_eq!((top(&timeline), lanes_in_view(&timeline)), (anchor.map(|anchor| anchor.kind), both));
    let laid_out = nested(3200, 3100);
    let alone = layout(&laid_out, timeline.arrangement(), None, &RowHeights::at_scale(1.0));
    assert_eq!(timeline.rows.layout, alone);

    // A layout that fails does not keep later layouts from starting.
    let mut timeline = timeline.with_snapshot(nested(3200, 3200));
    let failed = timeline.due_layout().expect("other rows").number();
    let mut timeline = timeline.with_snapshot(nested(3200, 3200));
    timeline.keep_rows(failed + 1);
    assert!(timeline.due_layout().is_none(), "another has failed");
    timeline.keep_rows(failed);
    assert!(timeline.due_layout().is_some());

    // Without some of the tracks, nothing of the earlier rows can be shown.
    let fewer = timeline.with_snapshot(nested(3000, 0));
    assert_eq!(fewer.rows.layout.height_px(), 0);
}

#[test]
fn an_order_that_is_chosen_while_a_snapshot_is_laid_out_replaces_that_layout() {
    let theme = Theme::new(Shade::Dark);
    let timeline = Timeline::new(nested(3000, 0), RectBudget::SOFTWARE, &theme, Navigation::default());
    let mut timeline = timeline.with_snapshot(nested(3000, 3000));
    let of_snapshot = timeline.due_layout().expect("other rows");
    let ordered = layout_for(&mut timeline, RowCommand::Order(TrackOrder::Name));
    timeline.set_arranged(of_snapshot.run());
    assert_eq!(timeline.rows.layout.height_px(), 0, "in another order");
    timeline.set_arranged(ordered.run());
    let alone = layout(&nested(3000, 3000), timeline.arrangement(), None, &RowHeights::at_scale(1.0));
    assert_eq!(timeline.rows.layout, alone);
    assert!(timeline.due_layout().is_none());
}

#[test]
fn many_tracks_are_hidden_and_shown_by_a_layout_in_the_background() {
    let theme = Theme::new(Shade::Dark);
    let mut timeline = Timeline::new(nested(3000, 0), RectBudget::SOFTWARE, &theme, Navigation::default());
    let job = layout_for(&mut timeline, RowCommand::Order(TrackOrder::Trace));
    timeline.set_arranged(job.run());
    let whole_px = timeline.rows.layout.height_px();
    let process = GroupKind::Process(timeline.snapshot.track(TrackIdx(0)).process);
    let reads = track_reads();
    let hidden = layout_for(&mut timeline, RowCommand::Hide(process));
    assert!(track_reads() - reads < 20, "{} reads", track_reads() - reads);
    assert_eq!(timeline.rows.layout.height_px(), whole_px, "not yet");
    timeline.set_arranged(hidden.run());
    assert_eq!(timeline.rows.layout.height_px(), 0);
    let shown = layout_for(&mut timeline, RowCommand::ShowHidden);
    timeline.set_arranged(shown.run());
    assert_eq!(timeline.rows.layout.height_px(), whole_px);
    timeline.change_rows(RowCommand::Hide(GroupKind::Track(TrackIdx(3))));
    assert!(timeline.due_layout().is_none(), "a single one");
    assert!((1..whole_px).contains(&timeline.rows.layout.height_px()));
}

#[test]
fn a_group_of_many_tracks_is_folded_by_a_layout_in_the_background() {
    let theme = Theme::new(Shade::Dark);
    let counter = |number| format!(r#"{{"ph":"C","name":"c{number}","pid":1,"ts":5,"args":{{"v":7}}}}"#);
    let counters = snapshot(&format!("[{}]", (0..3000).map(counter).collect::<Vec<_>>().join(",")));
    let group = *counters.groups().iter().find(|group| group.tracks == 3000).expect("a group of all counters");
    let mut timeline = Timeline::new(counters, RectBudget::SOFTWARE, &theme, Navigation::default());
    let job = layout_for(&mut timeline, RowCommand::Order(TrackOrder::Trace));
    timeline.set_arranged(job.run());
    let kind = GroupKind::Tracks(group.id);
    let mut heights = vec![timeline.rows.layout.height_px()];
    for _ in 0..2 {
        let (before_px, reads) = (timeline.rows.layout.height_px(), track_reads());
        timeline.change_rows(RowCommand::ToggleFold(kind));
        assert!(track_reads() - reads < 20, "{} reads", track_reads() - reads);
        assert_eq!(timeline.rows.layout.height_px(), before_px, "not yet");
        let job = timeline.due_layout().expect("a layout");
        timeline.set_arranged(job.run());
        let alone = layout(&timeline.snapshot, timeline.arrangement(), None, &RowHeights::at_scale(1.0));
        assert_eq!(timeline.rows.layout, alone);
        heights.push(timeline.rows.layout.height_px());
    }
    assert!(heights[0] == heights[2] && heights[0] != heights[1], "{heights:?}");
    assert!(timeline.due_layout().is_none());
}

#[test]
fn resolved_names_lay_out_no_rows_again() {
    let snapshot = threads(&[("a", "one", 1), ("a", "two", 2), ("b", "three", 3)]);
    let theme = Theme::new(Shade::Dark);
    let mut timeline = Timeline::new(snapshot.clone(), RectBudget::SOFTWARE, &theme, Navigation::default());
    timeline.show_only(&TrackSet::ALL);
    let (height_px, reads) = (timeline.rows.layout.height_px(), track_reads());
    let renamed = timeline.with_names(snapshot.with_overlay(None));
    assert_eq!((renamed.rows.layout.height_px(), track_reads()), (height_px, reads));
    let imported_again = threads(&[("a", "one", 1)]);
    assert!(renamed.with_snapshot(imported_again).rows.layout.height_px() < height_px);
}

#[test]
fn another_order_keeps_the_selected_span_in_view_or_shows_the_first_rows() {
    let names: Vec<String> = (0..200).map(|number| format!("thread {number}")).collect();
    let spans: Vec<_> = names.iter().map(|name| ("a", name.as_str(), 1)).collect();
    for (is_selected, is_scrolled) in [(true, false), (true, true), (false, true)] {
        let theme = Theme::new(Shade::Dark);
        let navigation = Navigation { animation: false, ..Navigation::default() };
        let mut timeline = Timeline::new(threads(&spans), RectBudget::SOFTWARE, &theme, navigation);
        timeline.show_only(&TrackSet::ALL);
        timeline.scroll_to(1500.0);
        // A span in the middle of the view, or one far above it.
        let in_view = lanes_in_view(&timeline);
        let track = in_view[in_view.len() / 2].0;
        let lane = timeline.snapshot.lanes_of(track).map(LaneIdx).next().expect("a lane");
        let row = RowIdx { lane, row: 0 };
        timeline.selection.select(is_selected.then_some(row));
        if is_scrolled {
            timeline.scroll_to(3000.0);
        }
        for command in [RowCommand::Order(TrackOrder::Name), RowCommand::ForgetMoves] {
            timeline.change_rows(command);
            assert!(timeline.due_layout().is_none(), "few rows are laid out at once");
            if is_selected && !is_scrolled {
                assert!(timeline.is_in_view(row), "{track:?}");
                assert!(lanes_in_view(&timeline).iter().any(|(shown, _)| *shown == track));
            } else {
                assert_eq!(timeline.view.now().scroll_px(), 0.0);
            }
        }
    }
}
