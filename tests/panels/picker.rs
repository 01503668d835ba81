//! The built-in file picker: folders, sorting, keys, and names of output files.

use std::path::PathBuf;

use egui::{Key, Modifiers, vec2};
use egui_kittest::kittest::{NodeT, Queryable};

use crate::session::Session;

const SCREEN: egui::Vec2 = vec2(1280.0, 800.0);

/// Opens a session with a picker in a folder with `deep/two.json`, `big.json` and `capture.json`.
fn picking() -> (Session, PathBuf) {
    let mut session = Session::with_capture(SCREEN, 1.0);
    let folder = session.capture.parent().expect("a folder").to_owned();
    std::fs::create_dir_all(folder.join("deep")).expect("a folder");
    let span = r#"[{"ph":"X","name":"two","pid":1,"tid":1,"ts":0,"dur":5}]"#;
    std::fs::write(folder.join("deep/two.json"), span).expect("written");
    std::fs::write(folder.join("big.json"), format!("{span}{}", " ".repeat(9000))).expect("written");
    session.give("Open by path");
    session.until("the list", |session| session.says("deep/"));
    (session, folder)
}

fn field(session: &Session) -> String {
    session.harness.get_by_label("Name or path").accesskit_node().value().unwrap_or_default()
}

/// Returns the listed files, from top to bottom.
fn files(session: &Session) -> Vec<String> {
    let texts = session.node_texts();
    texts
        .iter()
        .filter_map(|text| text.strip_prefix("Button: "))
        .filter(|name| name.contains(".json"))
        .map(str::to_owned)
        .collect()
}

fn opened(session: &Session, name: &str) -> bool {
    let state = session.harness.state();
    !session.says("Name or path") && state.shown_sources().to_string().ends_with(name) && session.says("Timeline of")
}

#[test]
fn arrows_go_through_the_list_and_enter_goes_into_a_folder_and_opens_a_file() {
    let (mut session, _) = picking();
    session.press(Modifiers::NONE, Key::ArrowDown);
    while field(&session) != "deep" {
        session.press(Modifiers::NONE, Key::ArrowDown);
        assert!(!field(&session).contains(".json"), "folders come first");
    }
    session.until("the spoken row", |session| session.says("deep, folder"));
    session.press(Modifiers::NONE, Key::Enter);
    session.until("the folder", |session| session.says("two.json"));
    session.press(Modifiers::ALT, Key::ArrowUp);
    session.until("the folder above", |session| session.says("big.json"));
    session.press(Modifiers::NONE, Key::ArrowUp);
    assert_eq!(field(&session), "capture.json");
    session.press(Modifiers::NONE, Key::ArrowUp);
    assert_eq!(field(&session), "big.json");
    session.press(Modifiers::NONE, Key::Enter);
    session.until("the trace", |session| opened(session, "big.json"));
}

#[test]
fn a_typed_folder_is_gone_into_and_a_typed_file_is_opened() {
    let (mut session, folder) = picking();
    session.type_text(&folder.join("deep").to_string_lossy());
    session.press(Modifiers::NONE, Key::Enter);
    session.until("the folder", |session| session.says("two.json"));
    assert_eq!(field(&session), "", "the field is free for the name of a file");
    session.type_text("two.json");
    session.press(Modifiers::NONE, Key::Enter);
    session.until("the trace", |session| opened(session, "two.json"));
}

#[test]
fn a_folder_that_is_a_trace_is_opened_and_not_gone_into() {
    let (mut session, _) = picking();
    session.type_text(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/uftrace"));
    session.press(Modifiers::NONE, Key::Enter);
    session.until("the trace", |session| opened(session, "uftrace"));
    assert!(session.says("calls"), "the name of the program");
}

#[test]
fn heads_sort_by_size_and_back_and_another_folder_keeps_the_order() {
    let (mut session, _) = picking();
    assert_eq!(files(&session), ["big.json", "capture.json"]);
    session.click("Sort by Name");
    session.until("names backwards", |session| files(session) == ["capture.json", "big.json"]);
    session.click("Sort by Size");
    session.until("the largest first", |session| files(session) == ["big.json", "capture.json"]);
    session.click("Sort by Size");
    session.until("the smallest first", |session| files(session) == ["capture.json", "big.json"]);
    session.click("deep/");
    session.until("the folder", |session| session.says("two.json"));
    session.press(Modifiers::ALT, Key::ArrowUp);
    session.until("the same order", |session| files(session) == ["capture.json", "big.json"]);
}

#[test]
fn a_missing_folder_is_said_and_a_missing_file_is_not_kept_as_recent() {
    let (mut session, folder) = picking();
    let missing = folder.join("captur.json");
    session.type_text(&missing.to_string_lossy());
    session.press(Modifiers::NONE, Key::Enter);
    session.until("the error", |session| session.says("no such file: did you mean capture.json?"));
    // The dialog stays in its folder, and the message goes with the next letter.
    assert!(session.says("Name or path") && session.says("big.json"));
    session.type_text("x");
    session.harness.run_steps(2);
    assert!(!session.says("no such file"));
    session.press(Modifiers::NONE, Key::Escape);
    session.click("File");
    session.harness.run_steps(2);
    session.click("Open recent");
    session.harness.run_steps(2);
    assert!(
        !session.node_texts().iter().any(|text| text.starts_with("Button: captur.json")),
        "{:?}",
        session.node_texts()
    );
}

#[test]
fn letters_typed_after_an_arrow_replace_the_chosen_name() {
    let (mut session, _) = picking();
    session.press(Modifiers::NONE, Key::ArrowUp);
    assert_eq!(field(&session), "capture.json");
    session.harness.run_steps(2);
    session.type_text("b");
    session.harness.run_steps(2);
    assert_eq!(field(&session), "b");
}
