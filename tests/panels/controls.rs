//! Every control has a name and is on the screen, in every panel, at every size.

use egui::{Key, Modifiers, Vec2, vec2};
use egui_kittest::Node;
use egui_kittest::kittest::{NodeT, Queryable};

use crate::session::Session;

/// The minimum window size, and a common one.
const SIZES: [Vec2; 2] = [vec2(640.0, 400.0), vec2(1280.0, 800.0)];
const SCALES: [f32; 3] = [1.0, 2.0, 3.0];

/// The commands that open panels, and a text that each shows.
const PANELS: [(&str, &str); 9] = [
    ("Preferences", "Import memory limit"),
    ("Import issues", "end"),
    ("Markers", "marker"),
    ("Keys", "Mouse and held keys"),
    ("Statistics", "ListItem: request"),
    ("Flame graph", "Image: Flame graph of"),
    ("Samples", "This trace has no samples."),
    ("Search...", "TextInput: Search"),
    ("Open by path", "Open a trace"),
];

/// Controls that may be scrolled out of view: the last columns of the statistics and samples tables, and the last lines
/// of the preferences.
const SCROLLED: [&str; 20] = [
    "Usual",
    "Colour-blind-safe",
    "Scrolls the tracks",
    "Zooms",
    "Samples",
    "p99",
    "Min",
    "Distinct",
    "Deviation",
    "p90",
    "p95",
    "Unfinished",
    "Max",
    "On",
    "Off",
    "In a tab here",
    "In a new window",
    "Unchanged",
    "Marked",
    "Add",
];

/// Asserts that every control has a name, and that every button is on the screen, within reach of the pointer.
fn check(session: &mut Session, size: Vec2, what: &str) {
    // Menus and windows take a second pass for their layout.
    session.harness.run_steps(3);
    let unnamed = session.harness.unnamed_widgets();
    assert!(unnamed.is_empty(), "{what}: without a name:\n{}", unnamed.join("\n"));
    let screen = egui::Rect::from_min_size(egui::Pos2::ZERO, size).expand(1.0);
    let nodes = session.harness.root().children_recursive();
    let buttons = nodes.filter(|node| node.accesskit_node().role() == egui::Role::Button);
    let outside: Vec<_> = buttons
        .filter(|node| !screen.contains(node.rect().center()))
        .filter(|node| !SCROLLED.contains(&node.accesskit_node().label().unwrap_or_default().as_str()))
        .map(|node| format!("{:?} at {}", node.accesskit_node().label(), node.rect()))
        .collect();
    assert!(outside.is_empty(), "{what}: outside of the screen:\n{}", outside.join("\n"));
}

#[test]
fn every_control_of_every_panel_has_a_name_and_lies_on_the_screen() {
    for size in SIZES {
        for scale in SCALES {
            let mut session = Session::empty(size, scale);
            check(&mut session, size, &format!("nothing open, {size} at {scale}"));
            let mut session = Session::with_capture(size, scale);
            check(&mut session, size, &format!("a capture, {size} at {scale}"));
            for (command, shows) in PANELS {
                let mut session = Session::with_capture(size, scale);
                session.give(command);
                session.until(command, |session| session.says(shows));
                check(&mut session, size, &format!("{command}, {size} at {scale}"));
            }
        }
        let mut session = Session::with_two_files(size);
        session.give("Files and their clocks");
        session.until("the files", |session| session.says("Moved by: other.json"));
        check(&mut session, size, &format!("the files, {size}"));
    }
}

#[test]
fn the_tabulator_and_among_tracks_the_arrows_lead_to_every_button_of_the_window() {
    let mut session = Session::with_capture(SIZES[1], 1.0);
    // The label of a counter includes its range once that is loaded.
    session.until("the counter", |session| session.says("queue length 3 to 3"));
    let buttons = |session: &Session| {
        let nodes = session.harness.root().children_recursive();
        let buttons = nodes.filter(|node| {
            let node = node.accesskit_node();
            node.role() == egui::Role::Button && !node.is_disabled()
        });
        buttons.map(|node| node.accesskit_node().label().unwrap_or_default()).collect::<Vec<_>>()
    };
    let wanted = buttons(&session);
    assert!(wanted.len() > 5, "{wanted:?}");
    let mut reached = Vec::new();
    for _ in 0..4 * wanted.len() {
        session.press(Modifiers::NONE, Key::Tab);
        reached.extend(focused(&session));
        // The names of tracks are one stop.
        while focused(&session).is_some_and(|label| label.ends_with("folded")) {
            session.press(Modifiers::NONE, Key::ArrowDown);
            session.harness.step();
            if focused(&session).as_ref() == reached.last() {
                break;
            }
            reached.extend(focused(&session));
        }
    }
    let missed: Vec<_> = wanted.iter().filter(|button| !reached.contains(button)).collect();
    assert!(missed.is_empty(), "the tabulator does not reach {missed:?}; it reached {reached:?}");
}

#[test]
fn texts_of_the_status_bar_do_not_overlap() {
    for size in SIZES {
        let mut session = Session::with_capture(size, 1.0);
        session.give("Colour by duration");
        session.harness.run_steps(3);
        let nodes = session.harness.root().children_recursive();
        let is_of_line = |node: &Node<'_>| {
            let role = node.accesskit_node().role();
            [egui::Role::Label, egui::Role::Button, egui::Role::Image].contains(&role)
                && node.rect().center().y >= size.y - 24.0
        };
        let parts: Vec<(String, egui::Rect)> = nodes
            .filter(is_of_line)
            .map(|node| (format!("{:?}", node.accesskit_node().value()), node.rect()))
            .collect();
        assert!(parts.len() >= 3, "{parts:?}");
        for (index, (name, rect)) in parts.iter().enumerate() {
            for (other, other_rect) in &parts[index + 1..] {
                assert!(!rect.shrink(1.0).intersects(*other_rect), "{size}: {name} {rect} on {other} {other_rect}");
            }
        }
    }
}

/// Returns the label of the control with the keyboard.
fn focused(session: &Session) -> Option<String> {
    let nodes = session.harness.root().children_recursive();
    nodes.filter(Node::is_focused).find_map(|node| node.accesskit_node().label())
}

/// Returns whether a ring of one point is painted just inside a rectangle.
fn has_ring(session: &Session, rect: egui::Rect) -> bool {
    let is_ring = |shape: &egui::Shape| {
        matches!(shape, egui::Shape::Rect(ring) if ring.stroke.width == 1.0
            && ring.fill == egui::Color32::TRANSPARENT
            && (ring.rect.expand(0.5).min - rect.min).length() < 1.0
            && (ring.rect.expand(0.5).max - rect.max).length() < 1.0)
    };
    session.harness.output().shapes.iter().any(|clipped| is_ring(&clipped.shape))
}

/// Presses Tab until a control with this label has the keyboard. Returns the labels on the way.
#[track_caller]
fn tab_to(session: &mut Session, label: &str) -> Vec<String> {
    let mut passed = Vec::new();
    for _ in 0..80 {
        session.press(Modifiers::NONE, Key::Tab);
        session.harness.step();
        match focused(session) {
            Some(focused) if focused == label => return passed,
            other => passed.extend(other),
        }
    }
    panic!("Tab does not lead to {label}: {passed:?}");
}

#[test]
fn the_tabulator_leads_from_the_menu_bar_over_the_tracks_to_the_panels_and_around() {
    let mut session = Session::with_workers(SIZES[1]);
    session.press(Modifiers::COMMAND, Key::T);
    session.until("the lines", |session| session.says("ListItem: job 1"));
    session.click("Filter tracks");
    session.harness.run_steps(2);
    let is_row = |label: &String| label.starts_with("job ");
    let after_tracks = tab_to(&mut session, "File");
    assert_eq!(after_tracks.iter().filter(|label| is_row(label)).count(), 1, "{after_tracks:?}");
    let before_tracks = tab_to(&mut session, "Filter tracks");
    assert!(!before_tracks.iter().any(is_row), "{before_tracks:?}");
    assert_eq!(before_tracks.iter().filter(|label| label.ends_with("folded")).count(), 1, "{before_tracks:?}");
    tab_to(&mut session, "File");
    session.press(Modifiers::SHIFT, Key::Tab);
    session.harness.run_steps(2);
    assert_eq!(focused(&session).as_ref(), after_tracks.last(), "the last of the panels");
}

#[test]
fn the_headers_of_a_table_are_one_stop_and_arrows_go_through_them() {
    let mut session = Session::with_workers(SIZES[1]);
    session.press(Modifiers::COMMAND, Key::T);
    session.until("the lines", |session| session.says("ListItem: job 1"));
    session.click("Filter tracks");
    session.harness.run_steps(2);
    let headers = ["Name", "Count", "Total", "Self", "Mean"];
    let passed = tab_to(&mut session, "File");
    let stops: Vec<_> = passed.iter().filter(|label| headers.contains(&label.as_str())).collect();
    assert_eq!(stops, ["Name"], "{passed:?}");
    tab_to(&mut session, "Name");
    session.press(Modifiers::NONE, Key::ArrowRight);
    session.harness.run_steps(2);
    let next = focused(&session).expect("a header");
    assert!(next != "Name" && session.harness.query_by_role_and_label(egui::Role::Button, &next).is_some(), "{next}");
    session.press(Modifiers::NONE, Key::Home);
    session.harness.run_steps(2);
    assert_eq!(focused(&session).as_deref(), Some("Name"));
    for first_name in ["job 1", "job 9"] {
        session.press(Modifiers::NONE, Key::Enter);
        session.until("the order of names", |session| {
            let mut rows = session.harness.query_all_by_role(egui::Role::ListItem);
            rows.find_map(|row| row.accesskit_node().label()).is_some_and(|label| label == first_name)
        });
    }
}

#[test]
fn arrows_go_from_title_to_title_of_the_menu_bar_and_open_a_menu() {
    let mut session = Session::with_capture(SIZES[1], 1.0);
    session.harness.run_steps(3);
    tab_to(&mut session, "File");
    let summary = session.summary();
    session.press(Modifiers::NONE, Key::ArrowRight);
    session.harness.run_steps(2);
    assert_eq!(focused(&session).as_deref(), Some("Edit"));
    session.press(Modifiers::NONE, Key::ArrowLeft);
    session.press(Modifiers::NONE, Key::ArrowLeft);
    session.harness.run_steps(2);
    assert_eq!(focused(&session).as_deref(), Some("Help"));
    assert_eq!(session.summary(), summary, "the timeline stays");
    session.press(Modifiers::NONE, Key::ArrowDown);
    session.until("the menu", |session| session.says("Button: About"));
    session.harness.run_steps(2);
    assert!(focused(&session).is_some_and(|label| label != "Help"), "{:?}", focused(&session));
}

#[test]
fn the_menu_key_and_shift_f10_open_the_menu_of_the_selected_span() {
    for (modifiers, key) in [(Modifiers::NONE, Key::Menu), (Modifiers::SHIFT, Key::F10)] {
        let mut session = Session::with_capture(SIZES[1], 1.0);
        session.press(modifiers, key);
        session.harness.run_steps(2);
        assert!(!session.says("Zoom to the span"), "nothing is selected");
        session.press(Modifiers::NONE, Key::ArrowDown);
        session.until("a span", |session| session.summary().contains("Selected: "));
        session.press(modifiers, key);
        session.until("its menu", |session| session.says("Zoom to the span"));
        session.harness.run_steps(2);
        let label = focused(&session).expect("an entry with the keyboard");
        assert!(session.harness.query_by_role_and_label(egui::Role::Button, &label).is_some(), "{label}");
        session.press(Modifiers::NONE, Key::Escape);
        session.until("no menu", |session| !session.says("Zoom to the span"));
    }
}

#[test]
fn the_names_of_tracks_are_one_stop_with_a_ring_and_keys_go_through_them_and_fold_them() {
    let mut session = Session::with_workers(SIZES[1]);
    session.press(Modifiers::COMMAND, Key::T);
    session.until("the lines", |session| session.says("ListItem: job 1"));
    session.press(Modifiers::NONE, Key::F6);
    session.harness.run_steps(2);
    assert!(focused(&session).is_some_and(|label| label.starts_with("job ")));
    let mut stops = Vec::new();
    // The panels are after the tracks, and the menu bar is before them.
    tab_to(&mut session, "Help");
    while stops.len() < 12 {
        session.press(Modifiers::NONE, Key::Tab);
        let label = focused(&session).unwrap_or_default();
        stops.push(label.clone());
        if label.starts_with("Filter tracks") {
            break;
        }
    }
    let names: Vec<_> = stops.iter().filter(|label| label.ends_with("folded")).collect();
    assert!(names.len() == 1 && stops.len() <= 5 && stops.iter().all(|label| !label.starts_with("job")), "{stops:?}");
    let head = |session: &Session| focused(session).filter(|label| label.ends_with("folded")).expect("a name");
    session.press(Modifiers::SHIFT, Key::Tab);
    session.harness.run_steps(2);
    let first = head(&session);
    assert!(has_ring(&session, session.harness.get_by_label(&first).rect()), "{first}");
    session.press(Modifiers::NONE, Key::End);
    session.harness.run_steps(2);
    let last = head(&session);
    let rect = session.harness.get_by_label(&last).rect();
    assert!(last.starts_with("worker 79") && has_ring(&session, rect), "scrolled into view: {last} at {rect}");
    session.press(Modifiers::NONE, Key::ArrowUp);
    session.harness.run_steps(2);
    assert!(head(&session).starts_with("worker 78"), "{}", head(&session));
    for (key, state) in [(Key::ArrowLeft, ", folded"), (Key::ArrowRight, ", unfolded"), (Key::Enter, ", folded")] {
        session.press(Modifiers::NONE, key);
        session.harness.run_steps(2);
        assert!(head(&session).starts_with("worker 78") && head(&session).ends_with(state), "{}", head(&session));
    }
    session.press(Modifiers::NONE, Key::ArrowLeft);
    session.harness.run_steps(2);
    assert_eq!(head(&session), first, "a folded track leads to its process");
    session.press(Modifiers::NONE, Key::Menu);
    session.until("its menu", |session| session.says("Hide the process"));
}
