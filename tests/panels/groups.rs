//! Statistics by other keys than names: the menu of keys, the context menu of a value, and the contents of a group.

use egui::{Key, Modifiers, vec2};
use egui_kittest::kittest::Queryable;

use crate::copied::copied;
use crate::frame::run_by_shell;
use crate::session::Session;

const SCREEN: egui::Vec2 = vec2(1280.0, 800.0);

fn rows(session: &Session) -> usize {
    session.harness.query_all_by_role(egui::Role::ListItem).count()
}

fn with_table() -> Session {
    let mut session = Session::with_capture(SCREEN, 1.0);
    session.press(Modifiers::COMMAND, Key::T);
    session.until("the lines", |session| rows(session) == 3);
    session.harness.run_steps(2);
    session
}

/// Selects keys in the menu.
pub(crate) fn group_by(session: &mut Session, title: &str) {
    session.click("Group by");
    session.harness.run_steps(2);
    session.click(title);
    session.harness.run_steps(2);
}

#[test]
fn the_menu_of_keys_groups_by_each_and_the_command_that_is_copied_prints_the_same() {
    let mut session = with_table();
    let path = session.capture.display().to_string();
    for (title, shown, keys, groups) in [
        ("Category", "by category", "category", 2),
        ("Thread", "by thread", "thread", 2),
        ("Process", "by process", "process", 1),
        ("Name and thread", "by name and thread", "name,thread", 3),
        ("Category and process", "by category and process", "category,process", 2),
    ] {
        group_by(&mut session, title);
        assert!(session.says(shown), "{shown}");
        session.until(keys, |session| rows(session) == groups && session.says("Label: exact"));
        assert!(session.harness.query_by_label(title).is_some(), "the column is called {title}");
        session.click("Copy as command");
        let line = copied(&session).expect("a command");
        assert_eq!(line, format!("longspan stats --by {keys} {path}"));
        assert_eq!(run_by_shell(&line).lines().count(), groups + 1, "{keys}");
    }
}

#[test]
fn a_category_has_its_sum_its_facts_and_its_spans() {
    let mut session = with_table();
    group_by(&mut session, "Category");
    session.until("two categories", |session| session.says("2 categories, Count 5, Total 2.000 ms"));
    session.click("io");
    session.until("its longest", |session| session.says("400.0 µs  at 0.000000000 s"));
    session.click("Search");
    session.until("its spans", |session| session.says("4 hits"));
}

#[test]
fn an_argument_of_a_span_is_a_key_from_the_menu_of_its_value() {
    let mut session = Session::with_capture(SCREEN, 1.0);
    session.search("request");
    session.press(Modifiers::NONE, Key::Enter);
    session.until("its details", |session| session.says("/index.html"));
    let value = session.harness.get_by_label("/index.html").rect().center();
    session.right_click(value);
    session.click("Copy key");
    assert_eq!(copied(&session).as_deref(), Some("url"));
    session.right_click(value);
    session.click("Group by this key");
    session.until("the values", |session| rows(session) >= 2 && session.says("by argument url"));
    session.until("all spans", |session| session.says("2 values, Count 5"));
    assert!(session.says("/index.html") && session.says("(not set)"));
    session.click("Copy as command");
    let line = copied(&session).expect("a command");
    assert!(line.starts_with("longspan stats --by arg:url "), "{line}");
    assert_eq!(run_by_shell(&line).lines().count(), 3);
    // The statistics of a name are grouped by name again.
    session.right_click(value);
    session.press(Modifiers::NONE, Key::Escape);
    group_by(&mut session, "Name");
    session.until("the names", |session| session.says("3 names, Count 5"));
}

#[test]
fn a_value_is_found_and_grouped_by_any_key() {
    // Each value is in another number of spans, and all are in the first.
    let values = [
        (r#""http.status":"alpha""#, "alpha", "arg:http.status", 2),
        (r#""External id":"beta""#, "beta", r#"'arg:"External id"'"#, 3),
        (r#""say \"x\"":"gamma""#, "gamma", r#"'arg:"say \"x\""'"#, 4),
        (r#""at":{"b.c d":"delta"}"#, "delta", r#"'arg:at.b."c d"'"#, 5),
    ];
    let spans = (0..7).map(|span| {
        let args: Vec<&str> = values.iter().filter(|(.., spans)| span < *spans).map(|(member, ..)| *member).collect();
        let (args, ts) = (args.join(","), span * 20);
        format!(r#"{{"ph":"X","name":"call","pid":1,"tid":1,"ts":{ts},"dur":10,"args":{{{args}}}}}"#)
    });
    let text = format!("[{}]", spans.collect::<Vec<_>>().join(","));
    let mut session = Session::empty(SCREEN, 1.0);
    session.open_text("keys.json", &text);
    session.search("call");
    session.press(Modifiers::NONE, Key::Enter);
    session.until("its details", |session| session.says("7 hits") && session.says("alpha"));
    for (_, value, _, spans) in values {
        let at = session.harness.get_by_label(value).rect().center();
        session.right_click(at);
        session.click("Find spans with this value");
        session.until(value, |session| session.says(&format!("{spans} hits")));
    }
    for (_, value, keys, spans) in values {
        session.press(Modifiers::COMMAND, Key::F);
        session.until(value, |session| session.says(value));
        let at = session.harness.get_by_label(value).rect().center();
        session.right_click(at);
        session.click("Group by this key");
        session.until(value, |session| rows(session) == 2 && session.says("2 values, Count 7"));
        session.click("Copy as command");
        let line = copied(&session).expect("a command");
        assert!(line.starts_with(&format!("longspan stats --by {keys} ")), "{line}");
        let table = run_by_shell(&line);
        assert!(table.lines().any(|line| line.starts_with(&format!("{value},value,{spans},"))), "{table}");
    }
}

#[test]
fn names_of_several_categories_are_told_apart_in_rows_copies_and_the_filter() {
    let mut session = Session::empty(SCREEN, 1.0);
    let span = |name: &str, category: &str, dur: u32| {
        format!(r#"{{"ph":"X","name":"{name}","cat":"{category}","pid":1,"tid":1,"ts":0,"dur":{dur}}}"#)
    };
    let spans = [span("a", "x", 1), span("a", "y", 2), span("a", "", 3), span("b", "x", 4)];
    session.open_text("names.json", &format!("[{}]", spans.join(",")));
    session.press(Modifiers::COMMAND, Key::T);
    session.until("the rows", |session| rows(session) == 4 && session.says("Label: exact"));
    for row in ["b", "a  ·  x", "a  ·  y", "a  ·  (no category)"] {
        session.harness.get_by_role_and_label(egui::Role::ListItem, row);
    }
    assert!(session.says("4 names and categories, Count 4"), "{}", session.node_texts().join("\n"));
    session.click("Copy");
    let table = copied(&session).expect("a table");
    let names: Vec<_> = table.lines().skip(1).filter_map(|line| line.split('\t').next()).collect();
    assert_eq!(names, ["b", "a  ·  (no category)", "a  ·  y", "a  ·  x"]);
    let row = session.harness.get_by_role_and_label(egui::Role::ListItem, "a  ·  y").rect();
    session.right_click(row.left_center() + vec2(12.0, 0.0));
    session.click("Copy name");
    assert_eq!(copied(&session).as_deref(), Some("a"), "a value is the name alone");
    session.click("Filter names");
    session.type_text("b");
    session.until("one name", |session| session.says("1 name, Count 1"));
    // With threads, names of one category keep their label.
    group_by(&mut session, "Name and thread");
    session.until("the pairs", |session| session.says("4 pairs, Count 4"));
    session.harness.get_by_role_and_label(egui::Role::ListItem, "b  ·  Thread 1");
    session.harness.get_by_role_and_label(egui::Role::ListItem, "a  ·  Thread 1  ·  y");
}
