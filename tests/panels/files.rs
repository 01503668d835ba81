//! Several files on one timeline: the losses of each, the alignment of their clocks, and the restore after a restart.

use egui::{Key, Modifiers, vec2};
use egui_kittest::kittest::{NodeT, Queryable};

use crate::session::Session;

const SCREEN: egui::Vec2 = vec2(1280.0, 800.0);

/// Returns the offsets of the files in milliseconds.
fn offsets(session: &Session) -> Vec<String> {
    let fields = session.harness.query_all_by_role(egui::Role::TextInput);
    let of_files =
        fields.filter(|field| field.accesskit_node().label().is_some_and(|label| label.starts_with("Moved by")));
    of_files.map(|field| field.accesskit_node().value().unwrap_or_default()).collect()
}

fn move_other(session: &mut Session, text: &str) {
    session.harness.get_by_label("Moved by: other.json").focus();
    session.harness.step();
    session.press(Modifiers::COMMAND, Key::A);
    session.type_text(text);
    session.press(Modifiers::NONE, Key::Enter);
}

#[test]
fn a_file_is_moved_in_time_by_what_is_typed_and_the_view_stays_where_it_was() {
    let mut session = Session::with_two_files(SCREEN);
    session.give("Files and their clocks");
    session.until("the files", |session| session.says("Moved by: capture.json"));
    session.press(Modifiers::NONE, Key::M);
    session.until("a mark", |session| session.says("Marker 1"));
    assert!(session.summary().contains("Timeline of 4 tracks"), "{}", session.summary());
    move_other(&mut session, "soon");
    session.until("what is wrong", |session| session.says("expected a number of nanoseconds"));
    let end =
        |session: &mut Session| session.harness.state_mut().timeline_mut().expect("a timeline").snapshot().end_ns();
    assert_eq!(end(&mut session), 1_000_000_000);
    move_other(&mut session, "+1.5ms");
    session.until("the files imported again", |session| {
        session.harness.state().shown_sources().files()[1].offset_ns == 1_500_000
    });
    assert_eq!(end(&mut session), 1_001_500_000);
    assert_eq!(session.harness.state().tab_count(), 1);
    session.until("the mark again", |session| session.says("Marker 1"));
    session.until("the fields", |session| offsets(session).len() == 2);
    assert!(!session.harness.get_by_label("Apply").is_focused());
}

#[test]
fn aligned_files_start_at_once_from_any_offsets() {
    let mut session = Session::with_two_files(SCREEN);
    let late = session.capture.with_file_name("late.json");
    let spans =
        r#"[{"ph":"X","name":"b","pid":8,"tid":9,"ts":9000,"dur":1},{"ph":"i","name":"a","pid":8,"tid":8,"ts":7000}]"#;
    std::fs::write(&late, spans).expect("written");
    let stacks = session.capture.with_file_name("stacks.folded");
    std::fs::write(&stacks, "main;work 5\n").expect("written");
    session.open(&[session.capture.with_file_name("other.json"), late, stacks]);
    session.give("Files and their clocks");
    session.until("the files", |session| session.says("Moved by: other.json"));
    move_other(&mut session, "-2ms");
    let offsets_ns = |session: &Session| {
        let files = session.harness.state().shown_sources().files().to_vec();
        files.iter().map(|file| file.offset_ns).collect::<Vec<_>>()
    };
    session.until("the files imported again", |session| offsets_ns(session) == [-2_000_000, 0, 0]);
    session.click("Align starts");
    session.until("the offsets", |session| offsets(session) == ["-2ms", "-9ms", "0s"]);
    assert_eq!(offsets_ns(&session), [-2_000_000, 0, 0], "nothing moves before Apply");
    session.click("Apply");
    session.until("the files aligned", |session| offsets_ns(session) == [-2_000_000, -9_000_000, 0]);
}

#[test]
fn losses_are_shown_at_their_file_and_lead_to_their_list() {
    let mut session = Session::with_two_files(SCREEN);
    session.give("Files and their clocks");
    session.until("the losses of both", |session| session.harness.query_all_by_label("1 lost").count() == 2);
    session.harness.query_all_by_label("1 lost").next().expect("a link").click();
    session.until("the list", |session| session.says("in capture.json") && session.says("in other.json"));
}

#[test]
fn a_single_file_has_no_list_of_files() {
    let mut session = Session::with_capture(SCREEN, 1.0);
    session.give("Files and their clocks");
    session.harness.run_steps(3);
    assert!(!session.says("Moved by"));
}

#[test]
fn several_files_that_were_opened_are_one_click_away_with_their_offsets() {
    let mut session = Session::with_two_files(SCREEN);
    session.give("Files and their clocks");
    session.until("the files", |session| session.says("Moved by: other.json"));
    move_other(&mut session, "-2s");
    session.until("the files imported again", |session| {
        session.harness.state().shown_sources().files()[1].offset_ns == -2_000_000_000
    });
    session.close();
    let mut session = session.started_again(SCREEN);
    session.harness.step();
    session.click("capture.json and other.json");
    session.until_timeline();
    assert!(session.summary().contains("Timeline of 4 tracks"), "{}", session.summary());
    let start_ns = session.harness.state_mut().timeline_mut().expect("a timeline").snapshot().start_ns();
    assert_eq!(start_ns, -2_000_000_000);
}

#[test]
fn files_that_are_opened_again_by_path_have_their_last_offsets_and_markers() {
    let mut session = Session::with_two_files(SCREEN);
    let paths = [session.capture.clone(), session.capture.with_file_name("other.json")];
    session.give("Files and their clocks");
    session.until("the files", |session| session.says("Moved by: other.json"));
    move_other(&mut session, "-2s");
    let is_moved = |session: &Session| session.harness.state().shown_sources().files()[1].offset_ns == -2_000_000_000;
    session.until("the files imported again", is_moved);
    session.press(Modifiers::NONE, Key::M);
    session.until("a marker", |session| session.says("Marker 1"));
    session.close();
    let mut session = session.started_again(SCREEN);
    session.harness.step();
    session.open(&paths);
    assert!(is_moved(&session));
    session.until("the marker again", |session| session.says("Marker 1"));
    assert!(session.says("Restored the file offsets of the last session"), "{}", session.node_texts().join("\n"));
    // Offsets that the user types are the last ones.
    session.give("Files and their clocks");
    session.until("the files", |session| session.says("Moved by: other.json"));
    move_other(&mut session, "0");
    session.until("the files imported again", |session| {
        session.harness.state().shown_sources().files()[1].offset_ns == 0 && !session.says("Restored the file offsets")
    });
    session.close();
    let mut session = session.started_again(SCREEN);
    session.harness.step();
    session.open(&paths);
    assert_eq!(session.harness.state().shown_sources().files()[1].offset_ns, 0);
}

#[test]
fn the_error_of_an_offset_moves_no_field_and_covers_none() {
    let mut session = Session::with_two_files(SCREEN);
    session.give("Files and their clocks");
    session.until("the files", |session| session.says("Moved by: other.json"));
    session.harness.run_steps(5);
    let labels = ["Moved by: capture.json", "Moved by: other.json", "Apply"];
    let fields = |session: &Session| labels.map(|label| session.harness.get_by_label(label).rect());
    let before = fields(&session);
    session.harness.get_by_label("Moved by: capture.json").focus();
    session.harness.step();
    session.press(Modifiers::COMMAND, Key::A);
    session.type_text("soon");
    session.until("the error", |session| session.says("expected a number of nanoseconds"));
    session.harness.run_steps(3);
    assert_eq!(fields(&session), before);
    let error = session.harness.get_by_label_contains("expected a number of nanoseconds").rect();
    assert!(before.iter().all(|rect| !rect.intersects(error)), "{error:?} {before:?}");
}

fn button(pressed: bool, pos: egui::Pos2, modifiers: Modifiers) -> egui::Event {
    egui::Event::PointerButton { pos, button: egui::PointerButton::Primary, pressed, modifiers }
}

/// Presses at `from` and moves to `to`, without the release.
fn take_hold(session: &mut Session, from: egui::Pos2, to: egui::Pos2, modifiers: Modifiers) {
    for event in [egui::Event::PointerMoved(from), button(true, from, modifiers)] {
        session.harness.event_modifiers(event, modifiers);
        session.harness.step();
    }
    for step in 1..=4 {
        let at = from + (to - from) * (step as f32 / 4.0);
        session.harness.event_modifiers(egui::Event::PointerMoved(at), modifiers);
        session.harness.step();
    }
}

/// Returns a point on the rows of the second file.
fn row_of_other(session: &Session) -> egui::Pos2 {
    let canvas = session.harness.get_by_role(egui::Role::Canvas).rect();
    let row = session.harness.query_all_by_role(egui::Role::Button).find_map(|node| {
        let label = node.accesskit_node().label().unwrap_or_default();
        label.contains("other.json").then(|| node.rect())
    });
    egui::pos2(canvas.left() + 200.0, row.expect("the process of the other file").center().y)
}

#[test]
fn a_drag_with_ctrl_moves_the_file_of_the_rows_under_the_hand_and_no_other() {
    let mut session = Session::with_two_files(SCREEN);
    session.harness.run_steps(3);
    let from = row_of_other(&session);
    let (start_ns, ns_per_px) = {
        let view = *session.harness.state_mut().timeline_mut().expect("a timeline").view();
        (view.start_ns(), view.ns_per_px())
    };
    session.drag_with(from, from + vec2(100.0, 0.0), Modifiers::COMMAND);
    session
        .until("the files imported again", |session| session.harness.state().shown_sources().files()[1].offset_ns != 0);
    let files = session.harness.state().shown_sources();
    assert_eq!(files.files()[0].offset_ns, 0);
    let expected_ns = 100.0 * ns_per_px;
    let moved_ns = files.files()[1].offset_ns as f64;
    assert!((moved_ns - expected_ns).abs() <= 2.0 * ns_per_px, "{moved_ns} and not {expected_ns}");
    // The view stays, because the drag has moved a file.
    let view = *session.harness.state_mut().timeline_mut().expect("a timeline").view();
    assert_eq!(view.start_ns(), start_ns);
    assert!((view.ns_per_px() / ns_per_px - 1.0).abs() < 1e-6, "{} and not {ns_per_px}", view.ns_per_px());
}

#[test]
fn escape_lets_a_file_on_its_way_go_back_to_where_it_was() {
    let mut session = Session::with_two_files(SCREEN);
    session.harness.run_steps(3);
    let from = row_of_other(&session);
    let to = from + vec2(100.0, 0.0);
    take_hold(&mut session, from, to, Modifiers::COMMAND);
    let moved = |session: &mut Session| {
        let timeline = session.harness.state_mut().timeline_mut().expect("a timeline");
        timeline.moved_file().map(|(file, by_ns)| (file.to_owned(), by_ns > 0))
    };
    assert_eq!(moved(&mut session), Some(("other.json".to_owned(), true)));
    session.harness.key_press_modifiers(Modifiers::COMMAND, egui::Key::Escape);
    session.harness.step();
    session.harness.event_modifiers(button(false, to, Modifiers::COMMAND), Modifiers::COMMAND);
    session.harness.run_steps(3);
    assert_eq!(moved(&mut session), None);
    assert!(session.harness.state().shown_sources().files().iter().all(|file| file.offset_ns == 0));
    // The next drag starts from scratch.
    session.drag_with(from, to, Modifiers::COMMAND);
    session
        .until("the files imported again", |session| session.harness.state().shown_sources().files()[1].offset_ns != 0);
}

#[test]
fn the_arrow_beside_an_offset_moves_its_file_as_far_as_the_hand() {
    let mut session = Session::with_two_files(SCREEN);
    session.give("Files and their clocks");
    session.until("the files", |session| session.says("Drag to move: other.json"));
    session.harness.run_steps(3);
    let arrow = session.harness.get_by_label("Drag to move: other.json").rect().center();
    let ns_per_px = session.harness.state_mut().timeline_mut().expect("a timeline").view().ns_per_px();
    session.drag(arrow, arrow - vec2(50.0, 0.0));
    session
        .until("the files imported again", |session| session.harness.state().shown_sources().files()[1].offset_ns != 0);
    let moved_ns = session.harness.state().shown_sources().files()[1].offset_ns as f64;
    assert!((moved_ns + 50.0 * ns_per_px).abs() <= 2.0 * ns_per_px, "{moved_ns}");
    session.until("the field", |session| offsets(session).get(1).is_some_and(|text| text.starts_with('-')));
}
