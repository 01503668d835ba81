//! Symbolized names of a recording: they appear after the trace is shown, and the panel lists missing files.

use egui::vec2;
use egui_kittest::kittest::{NodeT, Queryable};

use crate::copied::copied;
use crate::frame::run_by_shell;
#[cfg(target_arch = "x86_64")]
use crate::recording::raw_stack::{recorded, written};
use crate::recording::{build_id, program, recording};
use crate::session::Session;

const SCREEN: egui::Vec2 = vec2(1280.0, 800.0);

/// Opens a recording of a compiled program, and lists its modules.
fn opened(session: &mut Session) -> String {
    let folder = session.capture.parent().expect("a folder").to_path_buf();
    let program = program(&folder, "");
    let path = recording(&folder, &program);
    session.open(&[path]);
    session.give("Symbols");
    session.until("the rows", |session| session.harness.query_all_by_role(egui::Role::ListItem).count() == 2);
    build_id(&program)
}

#[test]
fn modules_have_their_samples_the_reason_why_names_are_missing_and_the_command_that_brings_them() {
    let mut session = Session::empty(SCREEN, 1.0);
    let digits = opened(&mut session);
    let missing = "ab".repeat(20);
    let texts = session.node_texts().join("\n");
    assert!(session.says("/work, named, 3 samples"), "{texts}");
    let row = format!("libmissing.so, no file, 1 samples, debuginfod-find debuginfo {missing}");
    assert!(session.says(&row), "{texts}");
    assert!(session.says("2 of 3 addresses have names; 1 file lacks names"), "{texts}");
    session.click("Copy");
    let table = copied(&session).expect("a table");
    assert!(table.contains(&digits) && table.contains(&missing), "{table}");
    session.click("Copy as command");
    let printed = run_by_shell(&copied(&session).expect("a command"));
    assert!(printed.starts_with("module,build_id,samples,frames,named,state,"), "{printed}");
    assert!(printed.contains(&format!("/work,{digits},3,2,2,named,yes,")), "{printed}");
}

#[test]
fn symbols_that_are_located_later_name_the_open_trace() {
    let mut session = Session::empty(SCREEN, 1.0);
    let folder = session.capture.parent().expect("a folder").to_path_buf();
    let program = program(&folder, "");
    let path = recording(&folder, &program);
    let kept = folder.join("kept");
    std::fs::create_dir_all(&kept).expect("made");
    std::fs::rename(&program, kept.join("work")).expect("moved");
    session.open(&[path]);
    session.give("Symbols");
    session.until("the rows", |session| session.says("/work, no file, 3 samples, debuginfod-find"));
    let locate = session.harness.get_by_label("Locate").accesskit_node();
    assert!(locate.is_disabled() && locate.description().is_some_and(|why| why.contains("path of a folder")));
    session.click("Folder with symbols");
    session.type_text("/nowhere/at all");
    session.click("Locate");
    session.until("an error", |session| session.says("/nowhere/at all: no such folder"));
    // The command for an archive is shown to its end.
    let archive = folder.join("symbols.tar.gz");
    std::fs::write(&archive, "").expect("written");
    session.click("Folder with symbols");
    session.press(egui::Modifiers::COMMAND, egui::Key::A);
    session.type_text(archive.to_str().expect("text"));
    session.click("Locate");
    let command = format!("tar -xf {} -C {}", archive.display(), folder.join("symbols-symbols").display());
    session.until("a command", |session| session.says(&command));
    let empty = folder.join("empty");
    std::fs::create_dir(&empty).expect("made");
    session.click("Folder with symbols");
    // The field keeps the focus after Enter.
    let locate = |session: &mut Session, folder: &str| {
        session.press(egui::Modifiers::COMMAND, egui::Key::A);
        session.type_text(folder);
        session.press(egui::Modifiers::NONE, egui::Key::Enter);
    };
    locate(&mut session, empty.to_str().expect("text"));
    session.until("an error", |session| session.says(&format!("nothing found in {}", empty.display())));
    // The path of a folder may go through another folder.
    locate(&mut session, empty.join("../kept").to_str().expect("text"));
    session.until("names", |session| session.says("/work, named, 3 samples"));
    let texts = session.node_texts().join("\n");
    assert!(!session.says("no such folder") && !session.says("nothing found"), "{texts}");
    // The command searches there too.
    session.click("Copy as command");
    let command = copied(&session).expect("a command");
    let printed = run_by_shell(&command);
    assert!(printed.contains(",3,2,2,named,yes,"), "{command}\n{printed}");
}

#[cfg(target_arch = "x86_64")]
#[test]
fn stacks_are_unwound_again_when_their_files_are_located() {
    let mut session = Session::empty(SCREEN, 1.0);
    let folder = session.capture.parent().expect("a folder").to_path_buf();
    let (program, recording) = recorded(&folder, &["-O0", "-static"]);
    let path = written(&folder, &[&recording]);
    let kept = folder.join("kept");
    std::fs::create_dir_all(&kept).expect("made");
    std::fs::rename(&program, kept.join("deep")).expect("moved");
    session.open(&[path]);
    session.give("Flame graph");
    // The innermost frame, and the mark of a cut stack.
    session.until("a cut stack", |session| session.says("Flame graph of 2 bars"));
    session.give("Symbols");
    session.click("Folder with symbols");
    session.type_text(kept.to_str().expect("text"));
    session.click("Locate");
    session.until("a note", |session| session.says("Files for its stacks were found"));
    let whole = format!("Flame graph of {} bars", recording.frames().len());
    session.give("Flame graph");
    session.until("a whole stack", |session| session.says(&whole));
    session.give("Symbols");
    session.until("names", |session| session.says("/deep, named, 1 samples"));
    assert!(!session.says("Files for its stacks were found"), "{}", session.node_texts().join("\n"));
}

#[test]
fn functions_are_found_by_their_names_and_have_their_source_lines() {
    let mut session = Session::empty(SCREEN, 1.0);
    opened(&mut session);
    session.give("Flame graph");
    // main, outer, the inlined inner, and the file without symbols. Without the inlined function there are three.
    session.until("named paths", |session| session.says("Flame graph of 4 bars"));
    // The inlined function is found in the bar of its caller.
    session.give("Search");
    session.type_text("inner");
    session.until("its hits", |session| session.says(" hit"));
    session.press(egui::Modifiers::NONE, egui::Key::Enter);
    session.until("the details", |session| session.says("work.c:2"));
    let texts = session.node_texts().join("\n");
    assert!(session.says("outer \u{203a} inner") && session.says("Inlined in"), "{texts}");
    assert!(session.says("outer at ") && session.says("work.c:3"), "{texts}");
    assert!(session.says("Label: Module") && !session.says("Label: Category"), "{texts}");
}

#[test]
fn an_inlined_function_that_is_chosen_is_found_on_the_tracks() {
    let mut session = Session::empty(SCREEN, 1.0);
    opened(&mut session);
    session.give("Samples");
    session.until("named rows", |session| session.says("inner, self 2"));
    session.harness.run_steps(2);
    session.harness.get_by_label_contains("inner, self 2").click();
    session.harness.step();
    session.until("its hits", |session| session.says(" hits") && !session.says("No hits"));
}
