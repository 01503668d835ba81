//! The code panel: samples per line and per instruction of a function, opened from a table.

use std::path::{Path, PathBuf};

use egui::vec2;
use egui_kittest::kittest::{NodeT, Queryable};

use crate::copied::copied;
use crate::frame::run_by_shell;
use crate::protobuf::message;
use crate::recording::{MAPPED_AT, address, build_id, program, recording};
use crate::session::Session;

const SCREEN: egui::Vec2 = vec2(1280.0, 800.0);

/// Opens a recording of a program that is compiled in another folder, and the code of `outer` from the samples table.
fn with_code(session: &mut Session) -> PathBuf {
    with_code_of(session, recording)
}

/// The same for a recording that `write` writes into a folder.
fn with_code_of(session: &mut Session, write: fn(&Path, &Path) -> PathBuf) -> PathBuf {
    let folder = session.capture.parent().expect("a folder").to_path_buf();
    let program = program(&folder, "");
    let path = write(&folder, &program);
    session.open(&[path]);
    session.give("Samples");
    session.until("named rows", |session| session.says("outer, self 0"));
    session.harness.run_steps(2);
    show_code_of(session, "outer");
    folder
}

/// Shows the code of a function from the samples table, which is open.
fn show_code_of(session: &mut Session, function: &str) {
    let rows = session.harness.query_all_by_role(egui::Role::ListItem);
    let is_meant = |label: Option<String>| label.is_some_and(|label| label.starts_with(function));
    let row = rows.into_iter().find(|row| is_meant(row.accesskit_node().label())).expect("a row");
    let rect = row.rect();
    session.right_click(rect.left_center() + vec2(12.0, 0.0));
    session.click("Show code");
}

#[test]
fn a_function_has_its_lines_and_instructions_with_their_samples() {
    let mut session = Session::empty(SCREEN, 1.0);
    with_code(&mut session);
    let line = "3: __attribute__((noinline)) int outer(int x) { return inner(x) ^ 7; }, self 0, total 2";
    session.until("the lines", |session| session.says(line));
    assert!(session.says("work.c") && session.says("outer: 0 samples"), "{}", session.node_texts().join("\n"));
    session.click("Assembly");
    session.until("the instructions", |session| session.says("lea eax, [rdi+1], self 2, total 2"));
    session.click("Copy as command");
    let printed = run_by_shell(&copied(&session).expect("a command"));
    assert!(printed.starts_with("address,self,total,"), "{printed}");
    assert!(printed.contains("\"lea eax, [rdi+1]\"") && printed.contains(",inner,"), "{printed}");
    session.click("Source");
    session.until("the lines again", |session| session.says(line));
    session.click("Copy as command");
    assert!(run_by_shell(&copied(&session).expect("a command")).starts_with("file,line,self,total,"));
    // The panel queries another part of the trace.
    session.click("Close");
    session.give("Code");
    session.until("the lines once more", |session| session.says(line));
}

#[test]
fn the_menu_of_a_sampled_bar_shows_the_code_of_its_innermost_function() {
    let mut session = Session::empty(SCREEN, 1.0);
    let folder = session.capture.parent().expect("a folder").to_path_buf();
    let path = recording(&folder, &program(&folder, ""));
    session.open(&[path]);
    session.give("Samples");
    session.until("named rows", |session| session.says("outer, self 0"));
    // The bars are short.
    session.press(egui::Modifiers::NONE, egui::Key::CloseBracket);
    session.give("Fit selection");
    let main = |session: &Session| {
        let canvas = session.harness.get_by_role(egui::Role::Canvas).rect();
        let chart = session.harness.get_by_label_contains("samples 7, unfolded").rect();
        egui::pos2(canvas.center().x, chart.top() + 12.0)
    };
    session.harness.run_steps(30);
    session.right_click(main(&session));
    session.until("the menu", |session| session.says("Samples by function"));
    session.click("Show code");
    session.until("the lines", |session| session.says("4: int main(int argc, char **argv)"));
}

/// Writes a pprof profile that names its functions: a stack in `inner`, which is inlined into `outer`.
fn named_profile(folder: &Path, program: &Path) -> PathBuf {
    let line = |function: u64| message().number(1, function);
    let [code, caller] = [address(program, "outer") + 3, address(program, "main") + 5];
    let location = |id: u64, address: u64| message().number(1, id).number(2, 1).number(3, address);
    let mapping = message().number(1, 1).number(2, MAPPED_AT).number(3, MAPPED_AT + 0x10_0000).number(5, 3);
    let function = |id: u64| message().number(1, id).number(2, 4 + id);
    let texts = ["", "samples", "count", program.to_str().expect("text"), &build_id(program), "inner", "outer", "main"];
    let profile = message()
        .message(1, &message().number(1, 1).number(2, 2))
        .message(2, &message().bytes(1, &[1, 2]).bytes(2, &[2]))
        .message(3, &mapping.number(6, 4))
        .message(4, &location(1, code).message(4, &line(1)).message(4, &line(2)))
        .message(4, &location(2, caller).message(4, &line(3)))
        .message(5, &function(1))
        .message(5, &function(2))
        .message(5, &function(3));
    let profile = texts.iter().fold(profile, |profile, text| profile.bytes(6, text.as_bytes()));
    let path = folder.join("named.pb");
    std::fs::write(&path, profile.0).expect("written");
    path
}

#[test]
fn a_function_that_a_profile_names_has_its_code_too() {
    let mut session = Session::empty(SCREEN, 1.0);
    with_code_of(&mut session, named_profile);
    // A profile has one sample per stack.
    let line = "3: __attribute__((noinline)) int outer(int x) { return inner(x) ^ 7; }, self 0, total 1";
    session.until("the lines", |session| session.says(line));
    session.click("Assembly");
    session.until("the instructions", |session| session.says("lea eax, [rdi+1], self 1, total 1"));
}

#[test]
fn a_profile_with_names_is_read_by_address_once() {
    let mut session = Session::empty(SCREEN, 1.0);
    let folder = with_code_of(&mut session, named_profile);
    session.until("the lines", |session| session.says("3: __attribute__((noinline)) int outer"));
    // Without the file, only what was read before has code.
    std::fs::remove_file(folder.join("named.pb")).expect("a file");
    session.give("Samples");
    session.until("the functions", |session| session.says("main, self 0"));
    session.harness.run_steps(2);
    show_code_of(&mut session, "main");
    session.until("other lines", |session| session.says("4: int main(int argc, char **argv)"));
}

#[test]
fn code_says_that_names_are_missing_and_is_listed_once_they_are_located() {
    let mut session = Session::empty(SCREEN, 1.0);
    let folder = session.capture.parent().expect("a folder").to_path_buf();
    let path = recording(&folder, &program(&folder, ""));
    session.open(&[path]);
    session.give("Symbols");
    session.until("the look-up", |session| session.says("looking up names"));
    session.click("Stop");
    session.until("its end", |session| session.says("The lookup was stopped"));
    session.give("Samples");
    session.until("the functions", |session| session.says("self 2"));
    session.harness.run_steps(2);
    show_code_of(&mut session, "");
    let reason = "The names of the functions are not looked up: Locate in Analyze > Symbols looks them up.";
    session.until("the reason", |session| session.says(reason));
    session.give("Symbols");
    session.click("Folder with symbols");
    session.type_text(folder.to_str().expect("text"));
    session.click("Locate");
    session.until("the names", |session| session.says("addresses have names"));
    session.give("Code");
    session.until("another state", |session| !session.says(reason));
}

#[test]
fn a_function_without_samples_in_the_scope_asks_for_a_wider_one() {
    let mut session = Session::empty(SCREEN, 1.0);
    with_code(&mut session);
    session.until("the lines", |session| session.says("self 0, total 2"));
    let reason = "The function has no samples here: extend the scope in time, or choose other tracks.";
    // A sample of another function, and no sample at all.
    crate::scope::click_head(&mut session, "Thread 7", crate::scope::CTRL);
    for filter in ["start>=3us", "start>=4us"] {
        session.harness.get_by_label("Filter of the scope").focus();
        session.harness.step();
        session.type_text(filter);
        session.until("the reason", |session| session.says(reason));
        assert!(!session.says("no sampled function"), "{}", session.node_texts().join("\n"));
        session.click("Assembly");
        session.until("the reason again", |session| session.says(reason));
        session.click("Source");
        session.click("Remove the filter from the scope");
        session.until("the lines again", |session| session.says("self 0, total 2") && !session.says(reason));
    }
}

#[test]
fn sources_are_read_below_folders_that_are_named() {
    let mut session = Session::empty(SCREEN, 1.0);
    let folder = with_code(&mut session);
    session.until("the lines", |session| session.says("self 0, total 2"));
    let elsewhere = tempfile::tempdir().expect("a folder");
    std::fs::rename(folder.join("work.c"), elsewhere.path().join("work.c")).expect("moved");
    session.click("Folder of sources");
    session.type_text("/nowhere");
    session.press(egui::Modifiers::NONE, egui::Key::Enter);
    session.until("the reason", |session| session.says("/nowhere: no such folder"));
    // The field keeps the focus after Enter.
    session.press(egui::Modifiers::COMMAND, egui::Key::A);
    session.type_text(&format!("{}={}", folder.display(), elsewhere.path().display()));
    session.press(egui::Modifiers::NONE, egui::Key::Enter);
    session.until("the text", |session| session.says("3: __attribute__((noinline)) int outer"));
}

#[test]
fn folders_of_the_preferences_have_sources_until_they_are_removed() {
    let mut session = Session::empty(SCREEN, 1.0);
    let folder = with_code(&mut session);
    session.until("the lines", |session| session.says("self 0, total 2"));
    let elsewhere = tempfile::tempdir().expect("a folder");
    std::fs::rename(folder.join("work.c"), elsewhere.path().join("work.c")).expect("moved");
    let map = format!("{}={}", folder.display(), elsewhere.path().display());
    session.give("Preferences");
    session.until("the preferences", |session| session.says("Source folders"));
    session.harness.run_steps(2);
    let missing = std::path::absolute("nosuchfolder").expect("a path").display().to_string();
    for (typed, reason) in [
        ("nosuchfolder", format!("{missing}: there is no such folder")),
        ("=abc", "expected a folder, or FROM=FOLDER".to_owned()),
        (&map, String::new()),
        (&map, format!("{map} is already in the list")),
    ] {
        if typed == "nosuchfolder" {
            session.click("Source folder");
        }
        // The field keeps the focus after Enter.
        session.press(egui::Modifiers::COMMAND, egui::Key::A);
        session.type_text(typed);
        session.press(egui::Modifiers::NONE, egui::Key::Enter);
        session.until("the reason", |session| session.says(&reason));
        session.until("the folder", |session| session.says("Remove ") == (typed == map));
    }
    let text = "3: __attribute__((noinline)) int outer";
    session.until("the text", |session| session.says(text));
    session.click("Copy as command");
    let printed = run_by_shell(&copied(&session).expect("a command"));
    assert!(printed.contains("__attribute__((noinline)) int outer"), "{printed}");
    session.click(&format!("Remove {map}"));
    session.until("no text", |session| session.says("work.c (no such file)") && !session.says(text));
}
