//! Several files on one timeline: what each lost, how their clocks are brought together, and that all of them come back.

use egui::{Key, Modifiers, vec2};
use egui_kittest::kittest::{NodeT, Queryable};

use crate::desk::Desk;

const SCREEN: egui::Vec2 = vec2(1280.0, 800.0);

/// The files with what each is moved by, in milliseconds.
fn offsets(desk: &Desk) -> Vec<String> {
    let fields = desk.harness.query_all_by_role(egui::Role::TextInput);
    let of_files =
        fields.filter(|field| field.accesskit_node().label().is_some_and(|label| label.starts_with("Moved by")));
    of_files.map(|field| field.accesskit_node().value().unwrap_or_default()).collect()
}

fn move_other(desk: &mut Desk, text: &str) {
    desk.harness.get_by_label("Moved by: other.json").focus();
    desk.harness.step();
    desk.press(Modifiers::COMMAND, Key::A);
    desk.type_text(text);
    desk.press(Modifiers::NONE, Key::Enter);
}

#[test]
fn a_file_is_moved_in_time_by_what_is_typed_and_the_view_stays_where_it_was() {
    let mut desk = Desk::with_two_files(SCREEN);
    desk.give("Files and their clocks");
    desk.until("the files", |desk| desk.says("Moved by: capture.json"));
    desk.press(Modifiers::NONE, Key::M);
    desk.until("a mark", |desk| desk.says("Mark 1"));
    assert!(desk.summary().contains("Timeline of 4 tracks"), "{}", desk.summary());
    move_other(&mut desk, "soon");
    desk.until("what is wrong", |desk| desk.says("expected a number of nanoseconds"));
    let end = |desk: &mut Desk| desk.harness.state_mut().timeline_mut().expect("a timeline").snapshot().end_ns();
    assert_eq!(end(&mut desk), 1_000_000_000);
    move_other(&mut desk, "+1.5ms");
    desk.until("the files anew", |desk| desk.harness.state().shown_sources().files()[1].offset_ns == 1_500_000);
    assert_eq!(end(&mut desk), 1_001_500_000);
    assert_eq!(desk.harness.state().tab_count(), 1);
    desk.until("the mark again", |desk| desk.says("Mark 1"));
    desk.until("the fields", |desk| offsets(desk).len() == 2);
    assert!(!desk.harness.get_by_label("Apply").is_focused());
}

#[test]
fn losses_are_told_of_the_file_that_has_them_and_lead_to_their_list() {
    let mut desk = Desk::with_two_files(SCREEN);
    desk.give("Files and their clocks");
    desk.until("the losses of both", |desk| desk.harness.query_all_by_label("1").count() == 2);
    desk.harness.query_all_by_label("1").next().expect("a link").click();
    desk.until("the list", |desk| desk.says("in capture.json") && desk.says("in other.json"));
}

#[test]
fn a_single_file_has_no_list_of_files() {
    let mut desk = Desk::with_capture(SCREEN, 1.0);
    desk.give("Files and their clocks");
    desk.harness.run_steps(3);
    assert!(!desk.says("Moved by"));
}

#[test]
fn several_files_that_were_opened_are_one_click_away_with_their_offsets() {
    let mut desk = Desk::with_two_files(SCREEN);
    desk.give("Files and their clocks");
    desk.until("the files", |desk| desk.says("Moved by: other.json"));
    move_other(&mut desk, "-2s");
    desk.until("the files anew", |desk| desk.harness.state().shown_sources().files()[1].offset_ns == -2_000_000_000);
    let mut desk = desk.started_again(SCREEN);
    desk.harness.step();
    desk.click("capture.json and other.json");
    desk.until("the timeline", |desk| desk.harness.query_by_role(egui::Role::Canvas).is_some());
    assert!(desk.summary().contains("Timeline of 4 tracks"), "{}", desk.summary());
    let start_ns = desk.harness.state_mut().timeline_mut().expect("a timeline").snapshot().start_ns();
    assert_eq!(start_ns, -2_000_000_000);
}

/// The places of a drag by the hand from one to another, in steps.
fn drag(desk: &mut Desk, from: egui::Pos2, to: egui::Pos2, modifiers: Modifiers) {
    take_hold(desk, from, to, modifiers);
    desk.harness.event_modifiers(button(false, to, modifiers), modifiers);
    desk.harness.step();
}

fn button(pressed: bool, pos: egui::Pos2, modifiers: Modifiers) -> egui::Event {
    egui::Event::PointerButton { pos, button: egui::PointerButton::Primary, pressed, modifiers }
}

/// A drag that has not ended.
fn take_hold(desk: &mut Desk, from: egui::Pos2, to: egui::Pos2, modifiers: Modifiers) {
    for event in [egui::Event::PointerMoved(from), button(true, from, modifiers)] {
        desk.harness.event_modifiers(event, modifiers);
        desk.harness.step();
    }
    for step in 1..=4 {
        let at = from + (to - from) * (step as f32 / 4.0);
        desk.harness.event_modifiers(egui::Event::PointerMoved(at), modifiers);
        desk.harness.step();
    }
}

/// Where the rows of the second file are.
fn row_of_other(desk: &Desk) -> egui::Pos2 {
    let canvas = desk.harness.get_by_role(egui::Role::Canvas).rect();
    let row = desk.harness.query_all_by_role(egui::Role::Button).find_map(|node| {
        let label = node.accesskit_node().label().unwrap_or_default();
        label.contains("other.json").then(|| node.rect())
    });
    egui::pos2(canvas.left() + 200.0, row.expect("the process of the other file").center().y)
}

#[test]
fn a_drag_with_ctrl_moves_the_file_of_the_rows_under_the_hand_and_no_other() {
    let mut desk = Desk::with_two_files(SCREEN);
    desk.harness.run_steps(3);
    let from = row_of_other(&desk);
    let (start_ns, ns_per_px) = {
        let view = *desk.harness.state_mut().timeline_mut().expect("a timeline").view();
        (view.start_ns(), view.ns_per_px())
    };
    drag(&mut desk, from, from + vec2(100.0, 0.0), Modifiers::COMMAND);
    desk.until("the files anew", |desk| desk.harness.state().shown_sources().files()[1].offset_ns != 0);
    let files = desk.harness.state().shown_sources();
    assert_eq!(files.files()[0].offset_ns, 0);
    let expected_ns = 100.0 * ns_per_px;
    let moved_ns = files.files()[1].offset_ns as f64;
    assert!((moved_ns - expected_ns).abs() <= 2.0 * ns_per_px, "{moved_ns} and not {expected_ns}");
    // What is looked at stays where it was: the hand has moved a file and not the view.
    let view = *desk.harness.state_mut().timeline_mut().expect("a timeline").view();
    assert_eq!(view.start_ns(), start_ns);
    assert!((view.ns_per_px() / ns_per_px - 1.0).abs() < 1e-6, "{} and not {ns_per_px}", view.ns_per_px());
}

#[test]
fn escape_lets_a_file_on_its_way_go_back_to_where_it_was() {
    let mut desk = Desk::with_two_files(SCREEN);
    desk.harness.run_steps(3);
    let from = row_of_other(&desk);
    let to = from + vec2(100.0, 0.0);
    take_hold(&mut desk, from, to, Modifiers::COMMAND);
    let moved = |desk: &mut Desk| {
        let timeline = desk.harness.state_mut().timeline_mut().expect("a timeline");
        timeline.moved_file().map(|(file, by_ns)| (file.to_owned(), by_ns > 0))
    };
    assert_eq!(moved(&mut desk), Some(("other.json".to_owned(), true)));
    desk.harness.key_press_modifiers(Modifiers::COMMAND, egui::Key::Escape);
    desk.harness.step();
    desk.harness.event_modifiers(button(false, to, Modifiers::COMMAND), Modifiers::COMMAND);
    desk.harness.run_steps(3);
    assert_eq!(moved(&mut desk), None);
    assert!(desk.harness.state().shown_sources().files().iter().all(|file| file.offset_ns == 0));
    // The next drag is one like any other.
    drag(&mut desk, from, to, Modifiers::COMMAND);
    desk.until("the files anew", |desk| desk.harness.state().shown_sources().files()[1].offset_ns != 0);
}

#[test]
fn the_arrow_beside_an_offset_moves_its_file_as_far_as_the_hand() {
    let mut desk = Desk::with_two_files(SCREEN);
    desk.give("Files and their clocks");
    desk.until("the files", |desk| desk.says("Drag to move: other.json"));
    desk.harness.run_steps(3);
    let arrow = desk.harness.get_by_label("Drag to move: other.json").rect().center();
    let ns_per_px = desk.harness.state_mut().timeline_mut().expect("a timeline").view().ns_per_px();
    drag(&mut desk, arrow, arrow - vec2(50.0, 0.0), Modifiers::NONE);
    desk.until("the files anew", |desk| desk.harness.state().shown_sources().files()[1].offset_ns != 0);
    let moved_ns = desk.harness.state().shown_sources().files()[1].offset_ns as f64;
    assert!((moved_ns + 50.0 * ns_per_px).abs() <= 2.0 * ns_per_px, "{moved_ns}");
    desk.until("the field", |desk| offsets(desk).get(1).is_some_and(|text| text.starts_with('-')));
}
