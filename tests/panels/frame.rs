//! Features of all tables: selected columns, export to files, and the equivalent command line.

use std::process::Command;

use egui::{Event, Key, Modifiers, vec2};
use egui_kittest::kittest::Queryable;

use crate::copied::copied;
use crate::session::Session;

const SCREEN: egui::Vec2 = vec2(1280.0, 800.0);

/// Returns the output of a shell for a line that starts with `longspan`.
pub(crate) fn run_by_shell(line: &str) -> String {
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_longspan"));
    let folder = program.parent().expect("a folder").display();
    let cache = tempfile::tempdir().expect("a folder");
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("PATH={folder}:$PATH; {line}")]).env("XDG_CACHE_HOME", cache.path());
    let output = shell.output().expect("a shell");
    assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

#[test]
fn a_right_click_on_a_head_hides_and_shows_columns_and_they_are_kept() {
    let mut session = Session::with_statistics(SCREEN);
    let has_head = |session: &Session, head: &str| session.harness.query_by_label(head).is_some();
    assert!(has_head(&session, "Distinct") && has_head(&session, "p90"));
    let head = session.harness.get_by_label("Mean").rect().center();
    session.right_click(head);
    session.click("Column Distinct");
    session.click("Column p90");
    session.press(Modifiers::NONE, Key::Escape);
    session.harness.run_steps(2);
    assert!(!has_head(&session, "Distinct") && !has_head(&session, "p90") && has_head(&session, "p95"));
    // Quantiles come after the totals, and a column without any number has no unit.
    session.until("a table without the hidden columns", |session| {
        session.harness.get_by_label("Copy").click();
        let has_columns =
            |table: String| !table.contains("Distinct") && table.contains("\tDeviation (ns)\tUnfinished\n");
        copied(session).is_some_and(has_columns)
    });
    let mut again = session.opened_again(SCREEN, "capture.json");
    // The panel is open again, as the trace was left.
    again.until("the lines", |session| session.harness.query_all_by_role(egui::Role::ListItem).count() == 3);
    assert!(!has_head(&again, "Distinct") && has_head(&again, "p95"));
    let head = again.harness.get_by_label("Mean").rect().center();
    again.right_click(head);
    again.click("All columns");
    again.harness.run_steps(2);
    assert!(has_head(&again, "Distinct") && has_head(&again, "p90"));
}

#[test]
fn the_command_that_is_copied_prints_the_same_table() {
    let mut session = Session::with_statistics(SCREEN);
    session.give("Copy the statistics as CSV");
    session.click("Copy as command");
    let line = copied(&session).expect("a command");
    let path = session.capture.display().to_string();
    session.until("a sign", |session| session.says("The command is copied: paste it into a terminal."));
    assert_eq!(line, format!("longspan stats {path}"));
    let printed = run_by_shell(&line);
    assert!(printed.starts_with("name,category,count,"), "{printed}");
    assert_eq!(printed.lines().nth(1).map(|line| line.starts_with("request,net,1,1000000,700000,")), Some(true));
    // With a filter of names, which only the panel has.
    session.click("Filter names");
    session.type_text("Writ");
    session.harness.run_steps(2);
    session.click("Copy as command");
    let line = copied(&session).expect("a command");
    assert_eq!(line, format!("longspan stats --name '(?i)Writ' {path}"));
    assert_eq!(run_by_shell(&line).lines().count(), 2);
}

#[test]
fn the_command_of_a_search_counts_its_hits() {
    let mut session = Session::with_capture(SCREEN, 1.0);
    session.search("-cat:net dur>=100us");
    session.until("the hits", |session| session.harness.query_by_label("Copy as command").is_some());
    session.click("Copy as command");
    let line = copied(&session).expect("a command");
    assert!(line.ends_with(" -- '-cat:net dur>=100us'"), "{line}");
    let (command, query) = line.split_once(" -- ").expect("a query");
    assert_eq!(run_by_shell(&format!("{command} -- {query}")).trim(), "4");
}

#[test]
fn a_panel_says_how_exact_its_numbers_are() {
    let mut session = Session::with_statistics(SCREEN);
    session.until("the state", |session| session.says("Label: exact"));
    assert!(session.harness.query_by_label("p50").is_some());
    // More spans of a name than the panel stores individually.
    let mut session = Session::empty(SCREEN, 1.0);
    let span = |k: u32| format!(r#"{{"ph":"X","name":"tick","pid":1,"tid":1,"ts":{},"dur":{}}}"#, k * 10, 1 + k % 7);
    let spans: Vec<String> = (0..300).map(span).collect();
    session.open_text("many.json", &format!("[{}]", spans.join(",")));
    session.press(Modifiers::COMMAND, Key::T);
    session.until("the line", |session| session.harness.query_all_by_role(egui::Role::ListItem).count() == 1);
    session.until("the error", |session| session.says("Label: exact, ~p to within 3.1 %"));
    for head in ["~p50", "~p90", "~p95", "~p99", "Min", "Max"] {
        assert!(session.harness.query_by_label(head).is_some(), "{head}");
    }
    let row = session.harness.get_by_label("tick").rect();
    let column = session.harness.get_by_label("~p50").rect();
    session.harness.event(Event::PointerMoved(egui::pos2(column.center().x, row.center().y)));
    session.until("the tip", |session| session.says("ns\nto within 3.1 %"));
}
