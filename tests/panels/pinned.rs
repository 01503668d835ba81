//! Panels that are pinned to a scope: a second tab of the same kind follows the scope that is selected later.

use egui::{Key, Modifiers, Vec2, pos2, vec2};
use egui_kittest::kittest::{NodeT, Queryable};

use crate::copied::{copied, copied_as_csv};
use crate::session::Session;

const SCREEN: Vec2 = vec2(1400.0, 800.0);

const ALL: &str = "Statistics of the whole trace, pinned panel";

/// Returns the tabs of the dock.
fn tabs(session: &Session) -> Vec<String> {
    let tabs = session.harness.query_all_by_role(egui::Role::Tab);
    tabs.map(|tab| tab.accesskit_node().label().unwrap_or_default()).collect()
}

/// Selects a part of the visible time on all tracks.
fn select_time(session: &mut Session, from: f32, to: f32) {
    let ruler = session.harness.get_by_label("Ruler: drag to select time").rect();
    let at = |part: f32| pos2(ruler.left() + ruler.width() * part, ruler.center().y);
    session.drag(at(from), at(to));
}

/// Returns whether the shown panel, and not its tab, says that it is pinned.
fn is_pinned(session: &Session) -> bool {
    session.node_texts().iter().any(|text| text.ends_with(", pinned"))
}

fn is_disabled(session: &Session, label: &str) -> bool {
    session.harness.get_by_label(label).accesskit_node().is_disabled()
}

fn until_counted(session: &mut Session, rows: &str) {
    session.until(rows, |session| session.says(rows) && session.says("Label: exact"));
}

/// Returns a session with the statistics of the whole trace, counted and pinned.
fn with_pinned() -> Session {
    let mut session = Session::with_statistics(SCREEN);
    until_counted(&mut session, "3 names, Count 5");
    session.click("Pin panel");
    session.harness.run_steps(3);
    session
}

#[test]
fn a_pinned_panel_keeps_its_scope_beside_one_of_the_selected_scope() {
    let mut session = with_pinned();
    assert_eq!(tabs(&session), [ALL]);
    assert!(session.says("Label: of the whole trace, pinned") && session.says("3 names, Count 5"));
    assert!(is_disabled(&session, "Use scope"), "it is the selected one");
    // The last fifth has a part of two spans.
    select_time(&mut session, 0.8, 0.89);
    session.harness.run_steps(5);
    assert!(session.says("3 names, Count 5") && session.says("Label: exact"), "nothing is counted again");
    session.press(Modifiers::COMMAND, Key::T);
    until_counted(&mut session, "2 names, Count 2");
    assert_eq!(tabs(&session), ["Statistics panel", ALL]);
    assert!(!is_pinned(&session), "{}", session.node_texts().join("\n"));
    session.click(ALL);
    session.harness.run_steps(3);
    assert!(session.says("3 names, Count 5") && session.says("Label: exact"), "{}", session.node_texts().join("\n"));
    // The command and the copied table have the scope of the pinned panel.
    session.click("Copy as command");
    let line = copied(&session).expect("a command");
    assert!(!line.contains("--from"), "{line}");
    session.click("Copy");
    assert_eq!(copied(&session).map(|table| table.lines().count()), Some(4));
    session.click("Use scope");
    session.until("the scope", |session| !session.says("Remove the time from the scope"));
    session.click("Statistics panel");
    session.until("the whole", |session| session.says("3 names, Count 5"));
    session.click(ALL);
    session.harness.run_steps(2);
    session.click("Close");
    session.harness.run_steps(3);
    assert_eq!(tabs(&session), ["Statistics panel"]);
}

#[test]
fn a_pinned_panel_has_its_own_queries_and_follows_the_scope_again() {
    let mut session = with_pinned();
    // Another grouping is counted for the scope of the panel.
    select_time(&mut session, 0.8, 0.89);
    session.click("Group by");
    session.harness.run_steps(3);
    session.click("Thread");
    until_counted(&mut session, "2 threads, Count 5");
    session.click("Pin panel");
    // The panel follows the scope again with its grouping.
    until_counted(&mut session, "2 threads, Count 2");
    assert_eq!(tabs(&session), ["Statistics panel"]);
    session.press(Modifiers::COMMAND, Key::G);
    session.until("the graph", |session| session.says("Label: exact"));
    session.give("Pin panel");
    session.harness.run_steps(3);
    let flame =
        tabs(&session).into_iter().find(|tab| tab.starts_with("Flame graph of 0.0008")).expect("a pinned graph");
    session.give("Clear selection");
    session.press(Modifiers::COMMAND, Key::G);
    session.until("the whole graph", |session| session.says("of the whole trace") && session.says("Label: exact"));
    assert_eq!(tabs(&session), ["Statistics panel", "Flame graph panel", &flame]);
    assert!(!is_pinned(&session));
    for _ in 0..2 {
        session.press(Modifiers::NONE, Key::F6);
        session.harness.run_steps(3);
    }
    assert!(is_pinned(&session), "F6 goes to pinned panels too");
}

#[test]
fn a_pinned_panel_that_follows_the_scope_again_leaves_the_settings_of_an_open_one_of_its_kind() {
    let mut session = with_pinned();
    session.press(Modifiers::COMMAND, Key::T);
    until_counted(&mut session, "3 names, Count 5");
    session.click(ALL);
    session.harness.run_steps(2);
    session.click("Group by");
    session.harness.run_steps(3);
    session.click("Thread");
    until_counted(&mut session, "2 threads, Count 5");
    session.click("Pin panel");
    until_counted(&mut session, "3 names, Count 5");
    assert_eq!(tabs(&session), ["Statistics panel"]);
}

#[test]
fn the_statistics_of_the_active_tab_are_copied_as_csv() {
    let mut session = with_pinned();
    // No other statistics are open.
    assert_eq!(copied_as_csv(&mut session).lines().count(), 4);
    select_time(&mut session, 0.8, 0.89);
    session.press(Modifiers::COMMAND, Key::T);
    until_counted(&mut session, "2 names, Count 2");
    assert_eq!(copied_as_csv(&mut session).lines().count(), 3);
    session.click(ALL);
    session.harness.run_steps(2);
    assert_eq!(copied_as_csv(&mut session).lines().count(), 4);
}

#[test]
fn a_long_filter_in_the_scope_of_a_pinned_panel_leaves_its_tools_in_view() {
    for width in [900.0, 1400.0] {
        let mut session = Session::with_capture(vec2(width, 800.0), 1.0);
        session.press(Modifiers::COMMAND, Key::T);
        until_counted(&mut session, "3 names, Count 5");
        select_time(&mut session, 0.1, 0.89);
        session.harness.get_by_label("Filter of the scope").focus();
        session.harness.step();
        session.type_text(&format!("-{}", "n".repeat(150)));
        session
            .until("the filtered spans", |session| session.says("Label: of the scope") && session.says("Label: exact"));
        for (key, tools) in [(Key::T, &["Group by", "Filter names"][..]), (Key::G, &["Options"]), (Key::E, &[])] {
            if key != Key::T {
                session.press(Modifiers::COMMAND, key);
            }
            session.harness.run_steps(3);
            session.give("Pin panel");
            session.harness.run_steps(3);
            assert!(is_disabled(&session, "Use scope"), "{key:?} is pinned");
            let close = session.harness.get_by_label("Close").rect();
            assert!(close.left() > width - 100.0 && close.right() <= width, "{key:?} {width} {close}");
            // The title uses the free space; the tab stays short.
            let title = session.node_texts().into_iter().find(|text| text.ends_with(", pinned"));
            let letters = title.map_or(0, |title| title.chars().filter(|&letter| letter == 'n').count());
            assert!(width < 1000.0 || letters > 40, "{key:?}: {letters} letters");
            for tool in tools.iter().copied() {
                let tool_rect = session.harness.get_by_label(tool).rect();
                assert!(tool_rect.right() < close.left() || tool_rect.top() > close.bottom(), "{tool} {tool_rect}");
            }
        }
    }
}

#[test]
fn at_most_eight_panels_are_pinned() {
    let mut session = Session::with_capture(SCREEN, 1.0);
    for _ in 0..8 {
        session.press(Modifiers::COMMAND, Key::T);
        session.until("the statistics", |session| tabs(session).contains(&"Statistics panel".to_owned()));
        session.give("Pin panel");
        session.harness.run_steps(2);
    }
    assert_eq!(tabs(&session), [ALL; 8]);
    session.press(Modifiers::COMMAND, Key::T);
    session.until("the statistics", |session| tabs(session).contains(&"Statistics panel".to_owned()));
    session.harness.run_steps(2);
    assert!(is_disabled(&session, "Pin panel"));
    assert!(!session.offers("Pin panel"));
}

#[test]
fn no_panel_of_another_scope_is_called_exact_or_copied() {
    let mut session = Session::with_capture(SCREEN, 1.0);
    for (key, head) in [(Key::T, "Statistics"), (Key::G, "Flame graph"), (Key::L, "Spans")] {
        session.press(Modifiers::COMMAND, key);
        session.until(head, |session| session.says("Label: exact"));
        assert!(!is_disabled(&session, "Copy"));
    }
    for key in [Key::T, Key::G, Key::L] {
        session.press(Modifiers::COMMAND, key);
        session.until("the whole trace", |session| session.says("of the whole trace") && session.says("Label: exact"));
        // Another panel is shown while the scope changes.
        session.give("Counters");
        session.harness.run_steps(2);
        select_time(&mut session, 0.8, 0.89);
        session.press(Modifiers::COMMAND, key);
        for _ in 0..4 {
            // No event is handled, so no answer arrives.
            session.harness.step();
            let texts = session.node_texts().join("\n");
            assert!(!session.says("Label: exact"), "{key:?} {texts}");
            assert!(
                session.harness.query_by_label("Copy").is_none_or(|copy| copy.accesskit_node().is_disabled()),
                "{texts}"
            );
        }
        session.until("the scope", |session| session.says("Label: exact"));
        session.give("Clear selection");
        session.harness.run_steps(2);
    }
}
