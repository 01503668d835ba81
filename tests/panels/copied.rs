//! Copy to the clipboard, and paste from it.

use egui::{Event, Key, Modifiers, OutputCommand, vec2};
use egui_kittest::kittest::{NodeT, Queryable};

use crate::session::Session;

const SCREEN: egui::Vec2 = vec2(1280.0, 800.0);

/// Returns the text that the last frame copied.
pub(crate) fn copied(session: &Session) -> Option<String> {
    let commands = &session.harness.output().platform_output.commands;
    commands.iter().find_map(|command| match command {
        OutputCommand::CopyText(text) => Some(text.clone()),
        _ => None,
    })
}

/// Copies the statistics as CSV, by the command palette.
pub(crate) fn copied_as_csv(session: &mut Session) -> String {
    session.press(Modifiers::COMMAND | Modifiers::SHIFT, Key::P);
    session.harness.step();
    session.type_text("copy the statistics");
    // Without the release, which would be a separate frame.
    let (key, modifiers) = (Key::Enter, Modifiers::NONE);
    session.harness.event(Event::Key { key, physical_key: None, pressed: true, repeat: false, modifiers });
    session.until("the table", |session| copied(session).is_some());
    copied(session).expect("a table")
}

/// Opens a session with a selected request, and closes the search.
fn with_request() -> Session {
    let mut session = Session::with_capture(SCREEN, 1.0);
    session.search("request");
    session.press(Modifiers::NONE, Key::Enter);
    session.until("the request", |session| session.summary().contains("Selected: request"));
    session
}

#[test]
fn the_key_to_copy_copies_the_selected_span_but_in_a_field_the_words_there() {
    let mut session = with_request();
    session.harness.event(Event::Copy);
    session.harness.step();
    assert_eq!(copied(&session), None, "nothing is selected in the field of the search");
    session.press(Modifiers::NONE, Key::Escape);
    session.harness.step();
    session.harness.event(Event::Copy);
    session.harness.step();
    let text = copied(&session).expect("a text");
    for part in ["name: request", "duration: 1000000 ns", "track: main 1", "category: net", "/index.html"] {
        assert!(text.contains(part), "{part} is not in {text}");
    }
    session.press(Modifiers::NONE, Key::Escape);
    session.until("nothing selected", |session| session.summary().contains("Nothing selected."));
    session.harness.event(Event::Copy);
    session.harness.step();
    assert_eq!(copied(&session), None);
}

#[test]
fn statistics_are_copied_as_they_are_shown_by_their_button_and_exact_by_their_command() {
    let mut session = Session::with_capture(SCREEN, 1.0);
    session.press(Modifiers::COMMAND, Key::T);
    session.until("the lines", |session| session.harness.query_all_by_role(egui::Role::ListItem).count() == 3);
    // Partial totals have no quantiles.
    session.until("the whole answer", |session| session.says("exact"));
    session.click("Copy");
    let shown = copied(&session).expect("a table");
    assert!(shown.starts_with("Name\tCount\tTotal (ns)\tTotal share\t"), "{shown}");
    assert_eq!(
        shown.lines().nth(1).map(|line| line.split('\t').take(3).collect()),
        Some(vec!["request", "1", "1000000"])
    );
    let table = copied_as_csv(&mut session);
    let lines: Vec<_> = table.lines().collect();
    let columns =
        "name,category,count,total,self,mean,p50,p99,min,max,distinct,deviation,p90,p95,unfinished,quantile_error";
    assert_eq!(lines[0], columns);
    assert_eq!(
        lines[1],
        "request,net,1,1000000,700000,1000000,1000000,1000000,1000000,1000000,1000000,0,1000000,1000000,0,0"
    );
    assert_eq!(lines.len(), 4);
}

#[test]
fn the_copied_statistics_are_byte_for_byte_those_of_the_command_line() {
    let mut session = Session::empty(SCREEN, 1.0);
    let path = session.capture.with_file_name("ties.json");
    let span = |name: &str, ts: u32, dur: u32| {
        format!(r#"{{"ph":"X","name":"{name}","pid":1,"tid":1,"ts":{ts},"dur":{dur}}}"#)
    };
    // Equal totals, and quantiles from a sketch.
    let ties = ["b", "a", "c"].into_iter().zip(0..).map(|(name, at)| span(name, at * 10, 5));
    let many = (0..300).map(|at| span("many", 1000 + at * 10, 1 + at % 7));
    let spans: Vec<_> = ties.chain(many).collect();
    std::fs::write(&path, format!("[{}]", spans.join(","))).expect("written");
    session.open(std::slice::from_ref(&path));
    session.press(Modifiers::COMMAND, Key::T);
    session.until("the whole answer", |session| session.says("exact"));
    let printed = crate::frame::run_by_shell(&format!("longspan stats '{}'", path.display()));
    assert!(printed.contains("\na,,1,5000,"), "{printed}");
    assert_eq!(copied_as_csv(&mut session), printed);
}

#[test]
fn cells_that_a_spreadsheet_takes_for_formulas_are_marked_if_that_is_preferred() {
    let mut session = Session::empty(SCREEN, 1.0);
    session.open_text("formula.json", r#"[{"ph":"X","name":"=1+1","cat":"-x","pid":1,"tid":1,"ts":0,"dur":5}]"#);
    session.press(Modifiers::COMMAND, Key::T);
    session.until("the line", |session| session.harness.query_all_by_role(egui::Role::ListItem).count() == 1);
    assert!(copied_as_csv(&mut session).contains("\n=1+1,-x,1,"));
    session.give("Preferences");
    session.until("the preferences", |session| session.says("Formula-like text in CSV"));
    session.harness.run_steps(3);
    session.click("Marked");
    assert!(copied_as_csv(&mut session).contains("\n'=1+1,'-x,1,"));
}

#[test]
fn paths_that_are_pasted_are_opened_together_and_what_is_none_is_said() {
    let mut session = Session::empty(SCREEN, 1.0);
    session.harness.step();
    session.harness.event(Event::Paste("a sentence\nand another".to_owned()));
    session.until("the note", |session| session.harness.state().note() == "The copied text is not a file path.");
    let second = session.capture.with_file_name("a copy.json");
    std::fs::copy(&session.capture, &second).expect("copied");
    let address = format!("file://{}", second.display()).replace(' ', "%20");
    let lines = format!("{}\n{address}\n\nnothing\n", session.capture.display());
    session.harness.event(Event::Paste(lines));
    session.until_timeline();
    assert_eq!(session.harness.state().title(), "capture.json and a copy.json - Longspan");
    assert!(session.summary().contains("Timeline of 6 tracks"), "{}", session.summary());
    assert_eq!(session.harness.state().note(), "2 of 3 copied lines are file paths; the others were skipped.");
}

#[test]
fn text_pasted_into_a_field_opens_no_trace() {
    let mut session = Session::with_capture(SCREEN, 1.0);
    let path = session.capture.display().to_string();
    session.press(Modifiers::COMMAND, Key::F);
    session.harness.step();
    session.harness.event(Event::Paste(path));
    session.harness.run_steps(2);
    assert_eq!(session.harness.state().tab_count(), 1);
    assert_eq!(session.harness.state().note(), "");
    session.until("no hits", |session| session.says("Label: No hits"));
}

#[test]
fn text_pasted_into_a_field_is_cut_at_64_kib_and_a_note_says_so() {
    let mut session = Session::with_capture(SCREEN, 1.0);
    session.press(Modifiers::COMMAND, Key::F);
    session.harness.step();
    session.harness.event(Event::Paste("write ".repeat(200_000)));
    session.harness.run_steps(2);
    assert_eq!(session.harness.state().note(), "A field takes 64 KiB of text; the rest was left out.");
    let field = session.harness.get_by_label("Search").accesskit_node().value().map(|value| value.len());
    assert_eq!(field, Some(64 * 1024));
    // Shorter text in the field is searched again.
    session.press(Modifiers::COMMAND, Key::A);
    session.type_text("write");
    session.until("the hits", |session| session.says("Label: 2 hits"));
}

#[test]
fn of_thousands_of_pasted_paths_those_that_are_there_are_opened_and_every_other_one_is_listed() {
    let mut session = Session::empty(SCREEN, 1.0);
    session.harness.step();
    let missing: Vec<_> = (0..26_000).map(|number| format!("/none/such/trace {number}.json")).collect();
    let lines = format!("{}\n{}\n", missing.join("\n"), session.capture.display());
    session.harness.event(Event::Paste(lines));
    session.until_timeline();
    let message = session.harness.state().message().expect("what is not there").to_owned();
    assert_eq!(message.lines().count(), missing.len());
    let is_listed = |path: &String, line: &str| line.starts_with(&format!("{path}: "));
    assert!(missing.iter().zip(message.lines()).all(|(path, line)| is_listed(path, line)));
    // Only the visible part of the list is laid out.
    let shown = session.harness.query_all_by_label_contains("/none/such/").count();
    assert!((5..50).contains(&shown), "{shown} lines");
}

#[test]
fn a_thread_without_a_name_has_the_same_words_in_the_details_as_beside_the_timeline() {
    let mut session = Session::with_capture(SCREEN, 1.0);
    session.search("write");
    session.press(Modifiers::NONE, Key::Enter);
    session.until("the span", |session| session.summary().contains("Selected: write"));
    session.press(Modifiers::NONE, Key::Escape);
    session.until("the details", |session| session.says("Label: Self time"));
    assert!(session.says("Button: Thread 2, unfolded") && session.says("Label: Thread 2"));
    assert!(session.says("Label: server 1") && session.says("Label: Category"));
    session.harness.event(Event::Copy);
    session.harness.step();
    let text = copied(&session).expect("a text");
    assert!(text.contains("\ntrack: Thread 2\nprocess: server 1\n"), "{text}");
}
