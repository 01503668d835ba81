//! Pointer and keys on a timeline without a window: the resulting view and selection.

use super::tests::{Session, TWO_SPANS, snapshot};
use crate::model::TrackIdx;
use crate::scene::rows::{GroupKind, TrackDensity};
use crate::store::{LaneIdx, RowIdx};
use crate::ui::command::{BookmarkCommand, Command, NavigationStep, RowCommand, SettingCommand, TimelineCommand};
use crate::ui::settings::Sizes;

/// Presses at a point, moves along `way`, and releases in the frame of the last movement, as on a slow machine.
fn drag(session: &mut Session, way: &[egui::Pos2], button: egui::PointerButton) {
    let button = |pos, pressed| egui::Event::PointerButton { pos, button, pressed, modifiers: egui::Modifiers::NONE };
    session.frame(vec![egui::Event::PointerMoved(way[0])]);
    session.frame(vec![button(way[0], true)]);
    let (last, between) = way[1..].split_last().unwrap();
    between.iter().for_each(|&pos| session.frame(vec![egui::Event::PointerMoved(pos)]));
    // The pointer moves on after the release.
    let beyond = *last + egui::vec2(30.0, 0.0);
    session.frame(vec![egui::Event::PointerMoved(*last), button(*last, false), egui::Event::PointerMoved(beyond)]);
}

#[test]
fn the_last_movement_of_a_drag_counts_if_the_release_is_in_its_frame() {
    let mut session = Session::new();
    session.app.show_trace(snapshot(TWO_SPANS), "two".into(), false);
    session.frame(Vec::new());
    let still = Command::Setting(SettingCommand::Navigation(crate::ui::settings::Navigation::STILL));
    session.app.act(still);
    (0..4).for_each(|_| drop(session.app.act(Command::Timeline(TimelineCommand::Step(NavigationStep::ZoomIn)))));
    session.frame(Vec::new());
    let way = [700.0, 680.0, 640.0, 560.0].map(|x| egui::pos2(x, 400.0));
    let before = *session.app.timeline_mut().unwrap().view();
    drag(&mut session, &way, egui::PointerButton::Primary);
    let after = *session.app.timeline_mut().unwrap().view();
    let moved_px = before.x_from_time(after.start_ns());
    assert!((moved_px - 140.0).abs() < 0.5, "the view went {moved_px} pixels, the hand 140");
    session.frame(Vec::new());
    assert_eq!(*session.app.timeline_mut().unwrap().view(), after, "and no further");
    let throws = crate::ui::settings::Navigation { inertia: true, ..crate::ui::settings::Navigation::STILL };
    session.app.act(Command::Setting(SettingCommand::Navigation(throws)));
    drag(&mut session, &way, egui::PointerButton::Primary);
    (0..30).for_each(|_| session.frame(Vec::new()));
    let thrown = *session.app.timeline_mut().unwrap().view();
    let moved_px = after.x_from_time(thrown.start_ns());
    assert!(moved_px > 200.0, "with ten frames a second too, it goes on: {moved_px} pixels");
    session.app.act(Command::Setting(SettingCommand::Navigation(crate::ui::settings::Navigation::STILL)));
    let after = thrown;
    drag(&mut session, &way, egui::PointerButton::Middle);
    let (from_ns, to_ns) = session.app.timeline_mut().unwrap().range().expect("a slice of time");
    let width_px = after.x_from_time(to_ns) - after.x_from_time(from_ns);
    assert!((width_px - 140.0).abs() < 0.5, "{width_px} pixels are selected");
}

#[test]
fn a_click_selects_a_span_keys_step_from_it_and_escape_clears_it() {
    let mut session = Session::new();
    session.app.show_trace(snapshot(TWO_SPANS), "two".into(), false);
    session.frame(Vec::new());
    // Probes downwards at a time within the first span, until its row is hit.
    let hit = (0..20).any(|step| {
        session.click(350.0, 60.0 + 6.0 * f32::from(i16::try_from(step).unwrap()));
        session.selected_name().is_some()
    });
    assert!(hit, "no click hits the span");
    assert_eq!(session.selected_name().as_deref(), Some("alpha"));
    session.press(egui::Key::Period);
    assert_eq!(session.selected_name().as_deref(), Some("omega"));
    session.press(egui::Key::Period);
    assert_eq!(session.selected_name().as_deref(), Some("omega"), "there is none after the last");
    session.press(egui::Key::Escape);
    assert_eq!(session.selected_name(), None);
}

#[test]
fn a_step_back_restores_the_previous_view_and_escape_clears_the_range_before_the_span() {
    let mut session = Session::new();
    session.app.show_trace(snapshot(TWO_SPANS), "two".into(), false);
    session.frame(Vec::new());
    let settle = |session: &mut Session, command| {
        session.app.act(command);
        (0..4).for_each(|_| session.frame(Vec::new()));
        let view = session.app.timeline_mut().unwrap().view();
        (view.start_ns(), view.ns_per_px())
    };
    let whole = settle(&mut session, Command::Timeline(TimelineCommand::Step(NavigationStep::Whole)));
    let row = RowIdx { lane: LaneIdx(0), row: 1 };
    let omega = settle(&mut session, Command::Timeline(TimelineCommand::Reveal(row)));
    let fitted = settle(&mut session, Command::Timeline(TimelineCommand::Step(NavigationStep::Selection)));
    assert!(fitted.1 < omega.1);
    assert_eq!(settle(&mut session, Command::Timeline(TimelineCommand::Step(NavigationStep::Back))), whole);
    assert_eq!(settle(&mut session, Command::Timeline(TimelineCommand::Step(NavigationStep::Forward))), fitted);
    settle(&mut session, Command::Timeline(TimelineCommand::Bookmark(BookmarkCommand::Add)));
    settle(&mut session, Command::Timeline(TimelineCommand::Step(NavigationStep::Whole)));
    settle(&mut session, Command::Timeline(TimelineCommand::Select(None)));
    settle(&mut session, Command::Timeline(TimelineCommand::Bookmark(BookmarkCommand::Add)));
    settle(&mut session, Command::Timeline(TimelineCommand::Select(Some(row))));
    settle(&mut session, Command::Timeline(TimelineCommand::Bookmark(BookmarkCommand::Measure)));
    assert!(session.app.timeline_mut().unwrap().range().is_some());
    session.press(egui::Key::Escape);
    assert_eq!(
        (session.app.timeline_mut().unwrap().range(), session.selected_name().as_deref()),
        (None, Some("omega"))
    );
    session.press(egui::Key::Escape);
    assert_eq!(session.selected_name(), None);
}

#[test]
fn a_revealed_span_is_shown_even_if_it_was_folded_hidden_or_filtered() {
    let mut session = Session::new();
    session.app.show_trace(snapshot(TWO_SPANS), "two".into(), false);
    session.frame(Vec::new());
    let row = RowIdx { lane: LaneIdx(0), row: 1 };
    for command in [
        RowCommand::FoldAll(true),
        RowCommand::Hide(GroupKind::Track(TrackIdx(0))),
        RowCommand::Filter("nothing is called so".to_owned()),
    ] {
        session.app.act(Command::Timeline(TimelineCommand::Rows(command)));
    }
    session.app.act(Command::Timeline(TimelineCommand::Reveal(row)));
    session.frame(Vec::new());
    let timeline = session.app.timeline_mut().unwrap();
    assert!(timeline.last_frame().is_some_and(|frame| !frame.rects.is_empty()), "the span is not drawn");
    assert_eq!(timeline.arrangement().filter, "");
}

/// Shows threads with a span each.
fn show_threads(count: u32) -> Session {
    let threads = (0..count).map(|tid| format!(r#"{{"ph":"X","name":"t{tid}","pid":1,"tid":{tid},"ts":0,"dur":400}}"#));
    let mut session = Session::new();
    let json = format!("[{}]", threads.collect::<Vec<_>>().join(","));
    session.app.show_trace(snapshot(&json), "many".into(), false);
    session.frame(Vec::new());
    session
}

#[test]
fn the_details_panel_does_not_cover_the_selected_span() {
    let mut session = show_threads(40);
    let before = session.app.timeline_mut().unwrap().view().height_px();
    // Probes upwards from the bottom of the canvas, until a row is hit.
    let hit = (0..10).any(|step| {
        session.click(350.0, 570.0 - 4.0 * f32::from(i16::try_from(step).unwrap()));
        session.selected_name().is_some()
    });
    assert!(hit, "no click hits a span");
    session.frame(Vec::new());
    session.frame(Vec::new());
    let timeline = session.app.timeline_mut().unwrap();
    let view = *timeline.view();
    assert!(view.height_px() < before - 100.0, "the details are open");
    assert!(view.scroll_px() > 0.0, "the row is behind the details");
}

#[test]
fn another_height_or_text_size_leaves_the_first_row_in_view() {
    let mut session = show_threads(200);
    let row = RowIdx { lane: LaneIdx(60), row: 0 };
    session.app.act(Command::Timeline(TimelineCommand::Reveal(row)));
    session.app.act(Command::Timeline(TimelineCommand::Select(None)));
    (0..20).for_each(|_| session.frame(Vec::new()));
    let first = |session: &mut Session| {
        let view = *session.app.timeline_mut().unwrap().view();
        assert!(view.scroll_px() > 0.0);
        session.app.timeline_mut().unwrap().first_row()
    };
    let before = first(&mut session);
    for command in [
        SettingCommand::Density(TrackDensity::Compact),
        SettingCommand::Density(TrackDensity::Tall),
        SettingCommand::Density(TrackDensity::Normal),
        SettingCommand::TextPercent(150),
        SettingCommand::TextPercent(100),
    ] {
        session.app.act(Command::Setting(command));
        (0..4).for_each(|_| session.frame(Vec::new()));
        assert_eq!(first(&mut session), before);
    }
}

#[test]
fn the_width_of_track_names_is_kept_for_other_traces() {
    let mut session = Session::new();
    session.app.show_trace(snapshot(TWO_SPANS), "two".into(), false);
    session.app.act(Command::Setting(SettingCommand::GutterWidth(321)));
    session.app.show_tab_for_more();
    session.app.show_trace(snapshot(TWO_SPANS), "other".into(), false);
    let widths: Vec<f32> = session.app.timelines().map(|timeline| timeline.gutter_points()).collect();
    assert_eq!(widths, [321.0, 321.0]);
    assert_eq!(session.app.preferences.gutter_points, 321);
}

#[test]
fn a_changed_size_of_the_cache_keeps_the_memory_limit_of_the_command_line() {
    let mut session = Session::new();
    let (memory_bytes, cache_bytes) = (session.app.preferences.memory_bytes, session.app.preferences.cache_bytes);
    session.app.options.load.memory.set_limit_bytes(123 << 20);
    let sizes = Sizes { memory_bytes, cache_bytes: cache_bytes / 2 };
    session.app.act(Command::Setting(SettingCommand::Sizes(sizes)));
    let load = &session.app.options.load;
    assert_eq!((load.memory.limit_bytes(), load.cache_bytes_max), (123 << 20, cache_bytes / 2));
    let sizes = Sizes { memory_bytes: memory_bytes * 2, ..sizes };
    session.app.act(Command::Setting(SettingCommand::Sizes(sizes)));
    assert_eq!(session.app.options.load.memory.limit_bytes(), memory_bytes * 2);
}

#[test]
fn a_tap_that_ends_within_a_frame_still_zooms() {
    let mut session = Session::new();
    session.app.show_trace(snapshot(TWO_SPANS), "two".into(), false);
    session.frame(Vec::new());
    let whole = session.app.timeline_mut().unwrap().view().ns_per_px();
    let event = |pressed| egui::Event::Key {
        key: egui::Key::W,
        physical_key: None,
        pressed,
        repeat: false,
        modifiers: egui::Modifiers::NONE,
    };
    session.frame(vec![event(true), event(false)]);
    let once = session.app.timeline_mut().unwrap().view().ns_per_px();
    assert!(once < whole);
    session.frame(vec![event(true), event(false), event(true), event(false)]);
    let thrice = session.app.timeline_mut().unwrap().view().ns_per_px();
    assert!(((once / thrice) / (whole / once).powi(2) - 1.0).abs() < 1e-9, "two taps in a frame are two");
}

#[test]
fn held_keys_zoom_and_the_home_key_shows_everything_again() {
    let mut session = Session::new();
    session.app.show_trace(snapshot(TWO_SPANS), "two".into(), false);
    session.frame(Vec::new());
    let ns_per_px = |session: &mut Session| session.app.timeline_mut().unwrap().view().ns_per_px();
    let whole = ns_per_px(&mut session);
    session.press(egui::Key::W);
    assert!(ns_per_px(&mut session) < whole);
    session.press(egui::Key::Home);
    session.frame(Vec::new());
    assert!((ns_per_px(&mut session) - whole).abs() < 1e-9);
}

#[test]
fn a_shortcut_key_held_longer_than_its_modifier_does_not_move_the_view() {
    let mut session = Session::new();
    session.app.show_trace(snapshot(TWO_SPANS), "two".into(), false);
    session.frame(Vec::new());
    // S alone zooms out, so the view must be able to zoom out.
    session.app.act(Command::Setting(SettingCommand::Navigation(crate::ui::settings::Navigation::STILL)));
    (0..4).for_each(|_| drop(session.app.act(Command::Timeline(TimelineCommand::Step(NavigationStep::ZoomIn)))));
    session.frame(Vec::new());
    let before = *session.app.timeline_mut().unwrap().view();
    let event = |pressed, repeat, modifiers| egui::Event::Key {
        key: egui::Key::S,
        physical_key: None,
        pressed,
        repeat,
        modifiers,
    };
    // With Ctrl and Shift: the picture at the shown size.
    session.frame(vec![event(true, false, egui::Modifiers::COMMAND | egui::Modifiers::SHIFT)]);
    for _ in 0..3 {
        session.frame(Vec::new());
        session.frame(vec![event(true, true, egui::Modifiers::NONE)]);
    }
    session.frame(vec![event(false, false, egui::Modifiers::NONE)]);
    let after = *session.app.timeline_mut().unwrap().view();
    assert_eq!((after.start_ns(), after.width_ns().to_bits()), (before.start_ns(), before.width_ns().to_bits()));
    session.frame(vec![event(true, false, egui::Modifiers::NONE)]);
    let tapped = session.app.timeline_mut().unwrap().view().ns_per_px();
    session.frame(Vec::new());
    let held = session.app.timeline_mut().unwrap().view().ns_per_px();
    assert!(before.ns_per_px() < tapped && tapped < held, "{} {tapped} {held}", before.ns_per_px());
}

#[test]
fn a_step_to_a_span_says_why_there_is_none_while_all_is_folded() {
    let mut session = Session::new();
    session.app.show_trace(snapshot(TWO_SPANS), "two".into(), false);
    session.frame(Vec::new());
    for (is_folded, note) in
        [(true, "No unfolded track in view has a span: unfold a process or zoom out."), (false, "")]
    {
        session.app.act(Command::Timeline(TimelineCommand::Rows(RowCommand::FoldAll(is_folded))));
        session.app.tab_mut().notes.clear();
        session.app.act(Command::Timeline(TimelineCommand::Step(NavigationStep::Next)));
        assert_eq!(session.app.note(), note);
        assert_eq!(session.app.timeline_mut().unwrap().selected().is_some(), !is_folded);
    }
}
