//! Every edit is undone and redone, and nothing else.

use super::super::edit_history::STEPS_MAX;
use super::super::saved::SavedTimeline;
use super::*;
use crate::base::direction::Direction;
use crate::frame::RectBudget;
use crate::model::{ProcessIdx, TrackIdx};
use crate::query::derived::DerivedKind;
use crate::scene::arrange::TrackOrder;
use crate::scene::bookmarks::BookmarkId;
use crate::scene::color::Shade;
use crate::scene::counter_form::CounterForm;
use crate::scene::custom_groups::{CustomGroup, CustomGroupId};
use crate::scene::rows::GroupKind;
use crate::scene::tests::threads;
use crate::ui::command::{
    BookmarkCommand, CustomGroupCommand, DerivedCommand, DerivedId, NavigationStep, RowCommand, ScopeCommand,
};
use crate::ui::selected_scope::SelectedScope;
use crate::ui::settings::Navigation;
use crate::ui::theme::Theme;

fn timeline() -> Timeline {
    let snapshot = threads(&[("a", "one", 1), ("b", "two", 2), ("c", "three", 3)]);
    Timeline::new(snapshot, RectBudget::SOFTWARE, &Theme::new(Shade::Dark), Navigation::default())
}

fn act(timeline: &mut Timeline, command: TimelineCommand) {
    timeline.act(command);
    assert!(timeline.due_layout().is_none(), "few tracks");
}

fn mark(command: BookmarkCommand) -> TimelineCommand {
    TimelineCommand::Bookmark(command)
}

fn rows(command: RowCommand) -> TimelineCommand {
    TimelineCommand::Rows(command)
}

fn undo(timeline: &mut Timeline) {
    act(timeline, TimelineCommand::UndoEdit);
}

fn redo(timeline: &mut Timeline) {
    act(timeline, TimelineCommand::RedoEdit);
}

/// Returns commands that change every part of the saved state, with the parts.
fn edits() -> Vec<(PartKind, TimelineCommand)> {
    let track = TrackIdx(1);
    let scope = TimelineCommand::Scope;
    let derived = TimelineCommand::Derived;
    let group = |command| rows(RowCommand::Group(command));
    let of_track = SelectedScope { tracks: [track].into_iter().collect(), ..SelectedScope::default() };
    vec![
        (PartKind::Bookmarks, mark(BookmarkCommand::AddAt(5))),
        (PartKind::Bookmarks, mark(BookmarkCommand::Rename(BookmarkId(1), "named".to_owned()))),
        (PartKind::Bookmarks, mark(BookmarkCommand::AddAt(7))),
        (PartKind::Bookmarks, mark(BookmarkCommand::Remove(BookmarkId(1)))),
        (PartKind::Scopes, scope(ScopeCommand::Save("mine".to_owned()))),
        (PartKind::Scopes, scope(ScopeCommand::Delete(0))),
        (PartKind::Derived, derived(DerivedCommand::Add(DerivedKind::Rate, SelectedScope::default()))),
        (PartKind::Derived, derived(DerivedCommand::Add(DerivedKind::Rate, of_track))),
        (PartKind::Derived, derived(DerivedCommand::Rename(DerivedId(2), "named".to_owned()))),
        (PartKind::Derived, derived(DerivedCommand::SetLogarithmic(DerivedId(2), true))),
        (PartKind::Derived, derived(DerivedCommand::Remove(DerivedId(1)))),
        (PartKind::Groups, group(CustomGroupCommand::GroupScope)),
        (PartKind::Groups, group(CustomGroupCommand::Rename(CustomGroupId(1), "named".to_owned()))),
        (PartKind::Groups, group(CustomGroupCommand::Ungroup(CustomGroupId(1)))),
        (PartKind::Pinned, rows(RowCommand::TogglePin(track))),
        (PartKind::Pinned, rows(RowCommand::TogglePin(track))),
        (PartKind::Moves, rows(RowCommand::Step(GroupKind::Process(ProcessIdx(1)), Direction::Backward))),
        (PartKind::Moves, rows(RowCommand::Step(GroupKind::Process(ProcessIdx(1)), Direction::Forward))),
        (PartKind::Moves, rows(RowCommand::ForgetMoves)),
        (PartKind::Hidden, rows(RowCommand::Hide(GroupKind::Track(track)))),
        (PartKind::Hidden, rows(RowCommand::ShowHidden)),
        (PartKind::Hidden, rows(RowCommand::ShowOnlyScope)),
        (PartKind::Order, rows(RowCommand::Order(TrackOrder::Name))),
        (PartKind::Counters, rows(RowCommand::ShowCounterAs(track, CounterForm::Rate))),
    ]
}

/// Returns the saved state without the view.
fn saved(timeline: &Timeline) -> SavedTimeline {
    let mut saved = timeline.to_saved();
    (saved.start_ns, saved.end_ns, saved.scrolled_part) = (0, 0, 0.0);
    saved
}

#[test]
fn every_edit_is_undone_in_turn_and_done_again() {
    let mut timeline = timeline();
    let scope = SelectedScope { tracks: [TrackIdx(0), TrackIdx(1)].into_iter().collect(), ..SelectedScope::default() };
    act(&mut timeline, TimelineCommand::Scope(ScopeCommand::Set(Box::new(scope))));
    let mut states = vec![saved(&timeline)];
    for (kind, command) in edits() {
        let before = timeline.part(kind);
        act(&mut timeline, command.clone());
        assert!(timeline.part(kind) != before, "{command:?} has an effect");
        states.push(saved(&timeline));
    }
    let last = states.len() - 1;
    for state in states[..last].iter().rev() {
        assert!(timeline.undoable().is_some());
        undo(&mut timeline);
        assert_eq!(saved(&timeline), *state);
        assert!(timeline.take_note().is_some_and(|note| note.starts_with("Undone: ")));
    }
    assert_eq!(timeline.undoable(), None);
    undo(&mut timeline);
    for state in &states[1..] {
        assert!(timeline.redoable().is_some());
        redo(&mut timeline);
        assert_eq!(saved(&timeline), *state);
    }
    assert_eq!(timeline.redoable(), None);
}

#[test]
fn views_and_selections_are_not_edits_and_stay_when_one_is_undone() {
    let mut timeline = timeline();
    act(&mut timeline, rows(RowCommand::TogglePin(TrackIdx(0))));
    act(&mut timeline, TimelineCommand::Step(NavigationStep::ZoomIn));
    act(&mut timeline, rows(RowCommand::Filter("o".to_owned())));
    act(&mut timeline, rows(RowCommand::ToggleFold(GroupKind::Track(TrackIdx(2)))));
    let before = saved(&timeline);
    assert_eq!(timeline.undoable(), Some("pinning of the track"));
    undo(&mut timeline);
    let after = saved(&timeline);
    assert!(after.arrangement.pinned.is_empty());
    assert_eq!(
        (after.arrangement.filter, after.arrangement.folded),
        (before.arrangement.filter, before.arrangement.folded)
    );
    assert_eq!(timeline.undoable(), None);
}

#[test]
fn a_new_edit_drops_what_could_be_redone_and_one_without_effect_does_not() {
    let mut timeline = timeline();
    act(&mut timeline, mark(BookmarkCommand::AddAt(5)));
    undo(&mut timeline);
    act(&mut timeline, mark(BookmarkCommand::Remove(BookmarkId(9))));
    assert_eq!((timeline.undoable(), timeline.redoable()), (None, Some("addition of the marker")));
    act(&mut timeline, rows(RowCommand::TogglePin(TrackIdx(0))));
    assert_eq!((timeline.undoable(), timeline.redoable()), (Some("pinning of the track"), None));
}

#[test]
fn the_letters_of_a_name_are_one_step() {
    let mut timeline = timeline();
    act(&mut timeline, mark(BookmarkCommand::AddAt(5)));
    for name in ["n", "na", "nam", "name"] {
        act(&mut timeline, mark(BookmarkCommand::Rename(BookmarkId(1), name.to_owned())));
    }
    undo(&mut timeline);
    assert_eq!(timeline.marks().all()[0].name, "Marker 1");
    redo(&mut timeline);
    assert_eq!(timeline.marks().all()[0].name, "name");
}

#[test]
fn each_name_is_a_step_and_one_that_is_typed_back_is_none() {
    let mut timeline = timeline();
    act(&mut timeline, mark(BookmarkCommand::AddAt(5)));
    let rename = |timeline: &mut Timeline, names: &[&str]| {
        act(timeline, mark(BookmarkCommand::StartNaming));
        for name in names {
            act(timeline, mark(BookmarkCommand::Rename(BookmarkId(1), (*name).to_owned())));
        }
    };
    let name = |timeline: &Timeline| timeline.marks().all()[0].name.clone();
    rename(&mut timeline, &["A"]);
    rename(&mut timeline, &["A b", "A bc"]);
    rename(&mut timeline, &["A b", "A bc"]);
    undo(&mut timeline);
    assert_eq!(name(&timeline), "A", "no step for the last");
    // A name after an undo is a separate step.
    act(&mut timeline, mark(BookmarkCommand::Rename(BookmarkId(1), "B".to_owned())));
    undo(&mut timeline);
    assert_eq!(name(&timeline), "A");
    undo(&mut timeline);
    assert_eq!((name(&timeline).as_str(), timeline.undoable()), ("Marker 1", Some("addition of the marker")));
}

#[test]
fn undoing_a_name_of_a_group_leaves_it_folded() {
    let mut timeline = timeline();
    let scope = SelectedScope { tracks: [TrackIdx(0), TrackIdx(1)].into_iter().collect(), ..SelectedScope::default() };
    act(&mut timeline, TimelineCommand::Scope(ScopeCommand::Set(Box::new(scope))));
    let (id, group) = (CustomGroupId(1), |command| rows(RowCommand::Group(command)));
    let toggle = || rows(RowCommand::ToggleFold(GroupKind::Custom(id)));
    act(&mut timeline, group(CustomGroupCommand::GroupScope));
    act(&mut timeline, group(CustomGroupCommand::Rename(id, "named".to_owned())));
    act(&mut timeline, toggle());
    let state = |timeline: &Timeline| {
        let title = timeline.tracks.arrangement().custom_groups.get(id).map(CustomGroup::title);
        (title, timeline.is_folded(GroupKind::Custom(id)))
    };
    let [unnamed, named] = ["Group 1", "named"].map(|title| Some(title.to_owned()));
    undo(&mut timeline);
    assert_eq!(state(&timeline), (unnamed, true));
    act(&mut timeline, toggle());
    redo(&mut timeline);
    assert_eq!(state(&timeline), (named.clone(), false));
    // A group that returns is folded as it was.
    act(&mut timeline, toggle());
    act(&mut timeline, group(CustomGroupCommand::Ungroup(id)));
    undo(&mut timeline);
    assert_eq!(state(&timeline), (named, true));
}

#[test]
fn selecting_a_marker_by_adding_it_again_is_not_an_edit() {
    let mut timeline = timeline();
    for ts_ns in [5, 7, 5] {
        act(&mut timeline, mark(BookmarkCommand::AddAt(ts_ns)));
    }
    assert_eq!(timeline.marks().chosen().map(|mark| mark.ts_ns), Some(5));
    undo(&mut timeline);
    assert_eq!(timeline.marks().all().iter().map(|mark| mark.ts_ns).collect::<Vec<_>>(), [5], "the last addition");
    undo(&mut timeline);
    assert_eq!((timeline.marks().all().len(), timeline.undoable()), (0, None));
}

#[test]
fn unpinning_is_called_that() {
    let mut timeline = timeline();
    for title in ["pinning of the track", "unpinning of the track"] {
        act(&mut timeline, rows(RowCommand::TogglePin(TrackIdx(0))));
        assert_eq!(timeline.undoable(), Some(title));
    }
}

#[test]
fn only_the_last_steps_are_kept() {
    let mut timeline = timeline();
    for ts_ns in 0..STEPS_MAX as i64 + 20 {
        act(&mut timeline, mark(BookmarkCommand::AddAt(ts_ns)));
    }
    (0..STEPS_MAX + 20).for_each(|_| undo(&mut timeline));
    assert_eq!(timeline.marks().all().len(), 20);
    assert_eq!(timeline.undoable(), None);
}

#[test]
fn steps_with_many_hidden_tracks_are_kept_within_a_limit() {
    let names: Vec<String> = (0..20).map(|number| format!("thread {number}")).collect();
    let tracks: Vec<_> = names.iter().map(|name| ("a", name.as_str(), 1)).collect();
    let snapshot = threads(&tracks);
    let mut timeline = Timeline::new(snapshot, RectBudget::SOFTWARE, &Theme::new(Shade::Dark), Navigation::default());
    for track in 0..8 {
        act(&mut timeline, rows(RowCommand::Hide(GroupKind::Track(TrackIdx(track)))));
    }
    // Steps restore 7, 6 and fewer tracks; all steps together may keep 16.
    (0..8).for_each(|_| undo(&mut timeline));
    assert_eq!(timeline.tracks.arrangement().folded.hidden.len(), 6);
    (0..8).for_each(|_| redo(&mut timeline));
    assert_eq!(timeline.tracks.arrangement().folded.hidden.len(), 8);
    // The last step is kept whatever it restores.
    for track in 8..18 {
        act(&mut timeline, rows(RowCommand::Hide(GroupKind::Track(TrackIdx(track)))));
    }
    act(&mut timeline, rows(RowCommand::ShowHidden));
    undo(&mut timeline);
    assert_eq!(timeline.tracks.arrangement().folded.hidden.len(), 18);
}

#[test]
fn a_restored_state_cannot_be_undone() {
    let mut timeline = timeline();
    act(&mut timeline, mark(BookmarkCommand::AddAt(5)));
    let saved = timeline.to_saved();
    timeline.restore(saved);
    assert_eq!(timeline.undoable(), None);
}
