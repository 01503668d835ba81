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
