//! The dock: its tabs, its height, and the minimum height of the timeline.

use egui::{Key, Modifiers, pos2, vec2};
use egui_kittest::kittest::{NodeT, Queryable};

use crate::session::Session;

const SCREEN: egui::Vec2 = vec2(1280.0, 800.0);

/// Returns the tabs of the dock, and the active one.
fn tabs(session: &Session) -> (Vec<String>, Vec<String>) {
    let tabs = session.harness.query_all_by_role(egui::Role::Tab).map(|tab| {
        let node = tab.accesskit_node();
        (node.label().unwrap_or_default(), node.toggled() == Some(egui::accesskit::Toggled::True))
    });
    let tabs: Vec<_> = tabs.collect();
    let shown = tabs.iter().filter(|(_, is_shown)| *is_shown).map(|(name, _)| name.clone()).collect();
    (tabs.into_iter().map(|(name, _)| name).collect(), shown)
}

#[track_caller]
fn assert_shown(session: &mut Session, name: &str) {
    session.harness.run_steps(2);
    assert_eq!(tabs(session).1, [name], "{:?}", tabs(session).0);
}

fn canvas(session: &Session) -> egui::Rect {
    session.harness.get_by_role(egui::Role::Canvas).rect()
}

#[test]
fn each_open_panel_has_a_tab_and_keys_go_from_one_to_the_next() {
    let mut session = Session::with_capture(SCREEN, 1.0);
    assert!(tabs(&session).0.is_empty());
    session.press(Modifiers::COMMAND, Key::T);
    assert_shown(&mut session, "Statistics panel");
    session.press(Modifiers::COMMAND, Key::G);
    assert_shown(&mut session, "Flame graph panel");
    session.press(Modifiers::COMMAND, Key::F);
    assert_shown(&mut session, "Search panel");
    assert_eq!(tabs(&session).0, ["Statistics panel", "Flame graph panel", "Search panel"]);
    session.press(Modifiers::NONE, Key::F6);
    assert_shown(&mut session, "Search panel");
    session.press(Modifiers::NONE, Key::F6);
    assert_shown(&mut session, "Statistics panel");
    session.press(Modifiers::SHIFT, Key::F6);
    assert_shown(&mut session, "Search panel");
    session.press(Modifiers::NONE, Key::Escape);
    assert_shown(&mut session, "Statistics panel");
    session.click("Flame graph panel");
    assert_shown(&mut session, "Flame graph panel");
    // A key first activates its panel, and then closes it.
    session.press(Modifiers::COMMAND, Key::T);
    assert_shown(&mut session, "Statistics panel");
    session.press(Modifiers::COMMAND, Key::T);
    assert_shown(&mut session, "Flame graph panel");
    session.press(Modifiers::COMMAND, Key::G);
    session.harness.run_steps(2);
    assert!(tabs(&session).0.is_empty());
}

#[test]
fn the_height_is_kept_and_leaves_the_timeline_two_fifths_of_the_window() {
    let mut session = Session::with_capture(SCREEN, 1.0);
    session.press(Modifiers::COMMAND, Key::T);
    session.harness.run_steps(3);
    let edge = |session: &Session| session.harness.get_by_label("Height of the panels").rect().center();
    let before = edge(&session);
    session.drag(before, before - vec2(0.0, 100.0));
    let higher = edge(&session);
    assert!((before.y - higher.y - 100.0).abs() < 6.0, "{before} {higher}");
    session.close();
    let mut again = session.opened_again(SCREEN, "capture.json");
    again.press(Modifiers::COMMAND, Key::G);
    again.harness.run_steps(3);
    assert!((edge(&again).y - higher.y).abs() < 2.0, "{} {higher}", edge(&again));
    let from = edge(&again);
    again.drag(from, pos2(from.x, 40.0));
    // The menu bar above the timeline does not count.
    let menu = again.harness.get_by_label("File").rect().bottom();
    assert!(edge(&again).y - menu >= SCREEN.y * 0.4 - 8.0, "{}", edge(&again));
}

#[test]
fn a_panel_in_full_has_all_of_the_room_until_escape() {
    let mut session = Session::with_capture(SCREEN, 1.0);
    session.search("request");
    session.press(Modifiers::NONE, Key::Enter);
    session.until("the request", |session| session.summary().contains("Selected: request"));
    session.press(Modifiers::NONE, Key::Escape);
    session.press(Modifiers::COMMAND, Key::T);
    session.harness.run_steps(3);
    let room = canvas(&session);
    session.click("Full");
    session.harness.run_steps(2);
    assert!(session.harness.query_by_role(egui::Role::Canvas).is_none(), "the timeline has no room");
    session.press(Modifiers::NONE, Key::Escape);
    session.harness.run_steps(3);
    assert!((canvas(&session).height() - room.height()).abs() < 1.0);
    assert!(session.summary().contains("Selected: request"), "{}", session.summary());
}

#[test]
fn a_search_in_full_is_repeated_when_the_scope_changes() {
    let mut session = Session::with_capture(SCREEN, 1.0);
    session.search("write");
    session.until("the hits", |session| session.says("Hits 1 to 2 of 2"));
    let ruler = session.harness.get_by_label("Ruler: drag to select time").rect();
    let on_ruler = |part: f32| pos2(ruler.left() + ruler.width() * part, ruler.center().y);
    session.drag(on_ruler(0.55), on_ruler(0.95));
    session.until("the hit in the scope", |session| session.says("Hits 1 to 1 of 1"));
    session.click("Full");
    session.harness.run_steps(2);
    assert!(session.harness.query_by_role(egui::Role::Canvas).is_none(), "the timeline has no room");
    session.click("Remove the time from the scope");
    session.until("all hits", |session| session.says("Hits 1 to 2 of 2"));
}

#[test]
fn a_span_that_is_clicked_brings_its_details_to_the_front() {
    let mut session = Session::with_capture(SCREEN, 1.0);
    session.press(Modifiers::COMMAND, Key::T);
    session.harness.run_steps(3);
    let canvas = canvas(&session);
    let selects = (0..60).any(|row| {
        let at = pos2(canvas.center().x, canvas.top() + 4.0 * row as f32);
        session.left_click(at);
        session.summary().contains("Selected: ")
    });
    assert!(selects, "no click selects a span");
    assert_shown(&mut session, "Details panel");
    session.press(Modifiers::NONE, Key::Escape);
    assert_shown(&mut session, "Statistics panel");
}

#[test]
fn hits_have_the_details_of_the_one_that_was_gone_to_beside_them() {
    let mut session = Session::with_capture(SCREEN, 1.0);
    session.press(Modifiers::COMMAND, Key::F);
    session.harness.step();
    assert!(session.says("Type above what to look for"), "an empty pane says what to do");
    session.type_text("request");
    session.until("the list", |session| session.says("Hits 1 to 1 of 1"));
    session.press(Modifiers::NONE, Key::Enter);
    session.until("its arguments", |session| session.says("/index.html") && session.says("Hits 1 to 1 of 1"));
    assert_shown(&mut session, "Search panel");
}

#[test]
fn tabs_without_room_scroll_and_none_is_drawn_over_the_actions() {
    let size = vec2(640.0, 400.0);
    let mut session = Session::with_capture(size, 1.0);
    for panel in ["Statistics", "Spans", "Counters", "Flame graph", "Samples", "Heat map", "Scheduling", "Symbols"] {
        session.give(panel);
        session.harness.run_steps(3);
        let tab = session.harness.get_by_label(&format!("{panel} panel")).rect();
        let full = session.harness.get_by_label("Full").rect();
        assert!(full.right() <= size.x && tab.left() >= 0.0, "{panel} at {tab}, Full at {full}");
        assert!(tab.right() <= full.left(), "{panel} at {tab} is over Full at {full}");
        if let Some(table) = session.harness.query_by_label("Table") {
            assert!(tab.right() <= table.rect().left(), "{panel} at {tab} is over Table at {}", table.rect());
        }
    }
}

#[test]
fn a_low_window_keeps_rows_of_the_timeline_and_nothing_covers_the_tabs() {
    // The last is a window of 640x400 pixels with a font of 200 %.
    for (size, rows_points) in
        [(vec2(640.0, 400.0), [90.0, 70.0]), (vec2(512.0, 350.0), [70.0, 40.0]), (vec2(320.0, 200.0), [30.0, 0.0])]
    {
        for (searches, rows_points) in [false, true].into_iter().zip(rows_points) {
            let mut session = Session::with_capture(size, 1.0);
            session.press(Modifiers::COMMAND, Key::T);
            session.harness.run_steps(3);
            if searches {
                session.press(Modifiers::COMMAND, Key::F);
                session.harness.run_steps(3);
                let field = session.harness.get_by_role_and_label(egui::Role::TextInput, "Search").rect();
                assert!(field.left() < 20.0, "the field begins its line: {field}");
            }
            let (rows, bar) = (canvas(&session), session.harness.get_by_label("Full").rect());
            let what = format!("{size} searches: {searches}: rows {rows}, tabs {bar}");
            assert!(rows.height() >= rows_points, "{what}");
            assert!(rows.bottom() <= bar.top() && bar.bottom() <= size.y, "{what}");
            if let Some(filter) = session.harness.query_by_label("Filter tracks") {
                assert!(filter.rect().bottom() <= rows.top(), "{what}, filter {}", filter.rect());
            }
            let close = session.harness.get_all_by_label("Close").map(|close| close.rect());
            let words = session.harness.query_by_label("Filter names").map(|words| words.rect());
            for close in close {
                assert!(words.is_none_or(|words| !words.intersects(close)), "{what}: {words:?} and {close}");
            }
        }
    }
}

#[test]
fn f6_brings_the_keyboard_to_a_row_of_the_only_panel_and_back() {
    let mut session = Session::with_statistics(SCREEN);
    let focused =
        |session: &Session| session.harness.query_all_by_role(egui::Role::ListItem).position(|row| row.is_focused());
    assert_eq!(focused(&session), None);
    session.press(Modifiers::NONE, Key::F6);
    session.harness.run_steps(2);
    assert_eq!(focused(&session), Some(0));
    session.press(Modifiers::NONE, Key::ArrowDown);
    session.harness.run_steps(2);
    assert_eq!(focused(&session), Some(1));
    session.press(Modifiers::NONE, Key::F6);
    session.harness.run_steps(2);
    assert_eq!(focused(&session), None, "the keys are those of the timeline again");
    // A panel without rows has the keyboard at its tab.
    session.press(Modifiers::COMMAND, Key::T);
    session.press(Modifiers::COMMAND, Key::G);
    session.until("the graph", |session| session.says("Label: exact"));
    session.press(Modifiers::NONE, Key::F6);
    session.harness.run_steps(2);
    assert!(session.harness.get_by_label("Flame graph panel").is_focused());
}

#[test]
fn f6_leads_to_the_panel_that_is_shown_then_to_the_others_and_back_to_the_timeline() {
    let mut session = Session::with_statistics(SCREEN);
    session.press(Modifiers::COMMAND, Key::L);
    session.press(Modifiers::COMMAND, Key::G);
    session.until("the graph", |session| session.says("Label: exact"));
    let has_focus = |session: &Session| session.harness.root().children_recursive().any(|node| node.is_focused());
    assert!(!has_focus(&session));
    for panel in ["Flame graph panel", "Statistics panel", "Spans panel"] {
        session.press(Modifiers::NONE, Key::F6);
        session.harness.run_steps(3);
        assert_shown(&mut session, panel);
        assert!(has_focus(&session), "{panel}");
    }
    session.press(Modifiers::NONE, Key::F6);
    session.harness.run_steps(3);
    assert_shown(&mut session, "Spans panel");
    assert!(!has_focus(&session), "the keys are those of the timeline again");
}

#[test]
fn each_panel_says_beside_its_title_what_it_is_of() {
    let mut session = Session::with_capture(SCREEN, 1.0);
    for panel in ["Statistics", "Flame graph", "Samples", "Spans", "Counters", "Scheduling", "Heat map"] {
        session.give(panel);
        session.until(panel, |session| session.says(&format!("Label: {panel}")));
        session.harness.run_steps(2);
        let texts = session.node_texts();
        let title = texts.iter().position(|text| *text == format!("Label: {panel}")).expect(panel);
        assert!(texts[title + 1].starts_with("Label: of the whole trace"), "{panel}: {}", texts[title + 1]);
    }
}
