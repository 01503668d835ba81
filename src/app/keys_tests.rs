//! Several keys in one frame, as in a slow frame: each has the same effect as alone.

use egui::{Event, Key, Modifiers};

use super::tests::{Session, TWO_SPANS, snapshot};
use crate::store::{LaneIdx, RowIdx};
use crate::ui::command::{AppCommand, Command, TimelineCommand, ToolWindow};

/// More frames than a field takes to appear, and than a jump takes.
const FRAMES: usize = 12;

/// Presses and releases a key.
fn tap(modifiers: Modifiers, key: Key) -> [Event; 2] {
    [true, false].map(|pressed| Event::Key { key, physical_key: None, pressed, repeat: false, modifiers })
}

fn plain(key: Key) -> [Event; 2] {
    tap(Modifiers::NONE, key)
}

/// Types a letter, with the events of a keyboard.
fn letter(key: Key) -> [Event; 3] {
    let [pressed, released] = plain(key);
    [pressed, Event::Text(key.name().to_lowercase()), released]
}

fn with_alpha_selected() -> Session {
    let mut session = Session::new();
    session.app.show_trace(snapshot(TWO_SPANS), "two".into(), false);
    session.app.act(Command::Timeline(TimelineCommand::Select(Some(RowIdx { lane: LaneIdx(0), row: 0 }))));
    session.frame(Vec::new());
    assert_eq!(session.selected_name().as_deref(), Some("alpha"));
    session
}

/// Sends each event in its own frame, or all in one; with `gap` frames in between.
fn give(session: &mut Session, events: Vec<Event>, gap: Option<usize>) {
    match gap {
        None => session.frame(events),
        Some(gap) => events.into_iter().for_each(|event| {
            session.frame(vec![event]);
            (0..gap).for_each(|_| session.frame(Vec::new()));
        }),
    }
    (0..FRAMES).for_each(|_| session.frame(Vec::new()));
}

/// Returns a point on the uppermost matching text, which is in the timeline above the panels.
fn place_of(session: &Session, text: &str) -> egui::Pos2 {
    let shown = session.texts.iter().zip(&session.positions).filter(|(shown, _)| *shown == text);
    let places = shown.map(|(_, place)| *place + egui::vec2(4.0, 4.0));
    places.min_by(|one, other| one.y.total_cmp(&other.y)).unwrap_or_else(|| panic!("no {text}: {:?}", session.texts))
}

fn shows_search(session: &Session) -> bool {
    session.shows("Previous") && session.shows("Close")
}

#[test]
fn escape_right_after_ctrl_f_closes_the_search_and_keeps_the_selection() {
    for gap in [None, Some(0), Some(1), Some(2), Some(3)] {
        let mut session = with_alpha_selected();
        give(&mut session, tap(Modifiers::COMMAND, Key::F).to_vec(), None);
        assert!(shows_search(&session));
        give(&mut session, plain(Key::Escape).to_vec(), None);
        assert!(!shows_search(&session));
        // The same without waiting for the field.
        let events = [tap(Modifiers::COMMAND, Key::F), plain(Key::Escape)].concat();
        give(&mut session, events, gap);
        assert!(!shows_search(&session), "with {gap:?} frames between");
        assert_eq!(session.selected_name().as_deref(), Some("alpha"), "with {gap:?} frames between");
        give(&mut session, plain(Key::Escape).to_vec(), None);
        assert_eq!(session.selected_name(), None, "the next one is for the selection");
    }
}

#[test]
fn escape_right_before_ctrl_f_clears_the_selection() {
    let mut session = with_alpha_selected();
    give(&mut session, [plain(Key::Escape), tap(Modifiers::COMMAND, Key::F)].concat(), None);
    assert!(shows_search(&session));
    assert_eq!(session.selected_name(), None);
}

#[test]
fn letters_right_after_ctrl_f_are_searched_and_run_no_commands() {
    for gap in [None, Some(0), Some(1), Some(2), Some(3)] {
        let mut session = with_alpha_selected();
        let before = *session.app.timeline_mut().unwrap().view();
        let mut events = tap(Modifiers::COMMAND, Key::F).to_vec();
        // Alone, M adds a bookmark, and A moves the view while it is held.
        events.extend([Key::O, Key::M, Key::E, Key::G, Key::A].into_iter().flat_map(letter));
        events.extend(plain(Key::Enter));
        give(&mut session, events, gap);
        session.until("the hit", |session| session.selected_name().as_deref() == Some("omega"));
        let timeline = session.app.timeline_mut().unwrap();
        assert!(timeline.marks().all().is_empty(), "with {gap:?} frames between");
        // The list of hits takes some of the width, but the time is the same.
        let width = timeline.view().width_ns() / before.width_ns();
        assert!((width - 1.0).abs() < 1e-6, "with {gap:?} frames between");
        assert_eq!(timeline.view().start_ns(), before.start_ns(), "with {gap:?} frames between");
    }
}

#[test]
fn words_right_after_their_shortcut_reach_the_command_palette_and_the_track_filter() {
    let shift = Modifiers::COMMAND | Modifiers::SHIFT;
    let typed = |key, text: &str| [tap(shift, key).to_vec(), vec![Event::Text(text.to_owned())]].concat();
    let mut session = with_alpha_selected();
    give(&mut session, [typed(Key::P, "light theme"), plain(Key::Enter).to_vec()].concat(), None);
    assert_eq!(session.app.theme().shade, crate::scene::color::Shade::Light);
    give(&mut session, typed(Key::F, "nobody"), None);
    let filter = |session: &mut Session| session.app.timeline_mut().unwrap().arrangement().filter.clone();
    assert_eq!(filter(&mut session), "nobody");
    give(&mut session, plain(Key::Escape).to_vec(), None);
    assert_eq!(filter(&mut session), "");
}

#[test]
fn a_held_search_shortcut_delays_no_later_key() {
    let mut session = with_alpha_selected();
    let [pressed, released] = tap(Modifiers::COMMAND, Key::F);
    let mut events = vec![pressed; 200];
    events.push(released);
    events.extend(letter(Key::O));
    give(&mut session, events, None);
    session.until("the hits", |session| session.shows("1 hit"));
}

#[test]
fn a_held_key_repeats_a_step_but_adds_one_marker_and_opens_one_panel() {
    let hold = |session: &mut Session, modifiers, key| {
        let [pressed, released] = tap(modifiers, key);
        (0..6).for_each(|_| session.frame(vec![pressed.clone()]));
        session.frame(vec![released]);
        (0..FRAMES).for_each(|_| session.frame(Vec::new()));
    };
    let mut session = with_alpha_selected();
    for row in [0, 1] {
        session.app.act(Command::Timeline(TimelineCommand::Select(Some(RowIdx { lane: LaneIdx(0), row }))));
        hold(&mut session, Modifiers::NONE, Key::M);
    }
    assert_eq!(session.app.timeline_mut().unwrap().marks().all().len(), 2, "one for each press");
    hold(&mut session, Modifiers::COMMAND, Key::T);
    assert!(session.shows("Statistics"), "an even number of toggles would close it");
    let width_ns = |session: &mut Session| session.app.timeline_mut().unwrap().view().width_ns();
    let before = width_ns(&mut session);
    give(&mut session, plain(Key::Plus).to_vec(), None);
    let once = width_ns(&mut session);
    hold(&mut session, Modifiers::NONE, Key::Plus);
    assert!(width_ns(&mut session) / once < (once / before).powi(3), "the zoom repeats");
}

#[test]
fn letters_in_the_frame_of_a_click_on_a_field_are_its_text_and_run_no_commands() {
    let mut session = with_alpha_selected();
    let field = place_of(&session, "Filter tracks");
    let modifiers = Modifiers::NONE;
    let press = |pressed| Event::PointerButton { pos: field, button: egui::PointerButton::Primary, pressed, modifiers };
    session.frame(vec![Event::PointerMoved(field)]);
    let clicked = vec![press(true), press(false)];
    let typed = [Key::M, Key::O].into_iter().flat_map(letter);
    give(&mut session, clicked.into_iter().chain(typed).collect(), None);
    let timeline = session.app.timeline_mut().unwrap();
    assert_eq!(timeline.arrangement().filter, "mo");
    assert!(timeline.marks().all().is_empty(), "M alone adds a marker");
}

#[test]
fn a_click_with_ctrl_in_one_slow_frame_is_one_with_ctrl_though_the_key_is_released_in_it() {
    let mut session = with_alpha_selected();
    let head = place_of(&session, "Thread 1");
    session.frame(vec![Event::PointerMoved(head)]);
    let modifiers = Modifiers::COMMAND;
    let press = |pressed| Event::PointerButton { pos: head, button: egui::PointerButton::Primary, pressed, modifiers };
    // The frame itself has the keys that are held at its end: none.
    session.frame(vec![press(true), press(false)]);
    (0..FRAMES).for_each(|_| session.frame(Vec::new()));
    assert!(!session.app.timeline_mut().unwrap().scope().tracks.is_all());
}

#[test]
fn a_shifted_key_is_pressed_again_after_shift_was_released_first() {
    let key = |key, pressed, modifiers| {
        let physical_key = Some(Key::Slash);
        vec![Event::Key { key, physical_key, pressed, repeat: false, modifiers }]
    };
    let mut session = with_alpha_selected();
    for is_shown in [true, false, true] {
        session.frame(key(Key::Questionmark, true, Modifiers::SHIFT));
        // While the key is held, it does not toggle.
        session.frame(key(Key::Questionmark, true, Modifiers::SHIFT));
        session.frame(key(Key::Slash, false, Modifiers::NONE));
        assert_eq!(session.app.tool_windows.is_open(ToolWindow::Keys), is_shown);
    }
    // If the window loses the focus while a key is held, the release goes to another window.
    session.frame(key(Key::Questionmark, true, Modifiers::SHIFT));
    session.frame(vec![Event::WindowFocused(false)]);
    session.frame(key(Key::Questionmark, true, Modifiers::SHIFT));
    assert!(session.app.tool_windows.is_open(ToolWindow::Keys), "toggled twice");
}

#[test]
fn escape_closes_the_window_that_was_opened_last() {
    let mut session = with_alpha_selected();
    let opened = [ToolWindow::About, ToolWindow::Bookmarks, ToolWindow::Keys, ToolWindow::Losses];
    for window in opened {
        session.app.act(Command::App(AppCommand::Toggle(window)));
    }
    session.app.act(Command::App(AppCommand::Toggle(ToolWindow::Bookmarks)));
    for last in [ToolWindow::Losses, ToolWindow::Keys, ToolWindow::About] {
        assert!(session.app.tool_windows.is_open(last));
        give(&mut session, plain(Key::Escape).to_vec(), None);
        assert!(!session.app.tool_windows.is_open(last), "{last:?} was opened last");
    }
}
