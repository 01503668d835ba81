//! Many tabs: all of them are reachable, even if they do not fit in the bar.

use egui::vec2;
use egui_kittest::kittest::{NodeT, Queryable};

use crate::session::Session;

#[test]
fn tabs_that_have_no_room_are_in_a_list_and_their_whole_names_under_the_pointer() {
    let mut session = Session::with_capture(vec2(640.0, 400.0), 1.0);
    assert!(session.harness.query_by_label("All tabs").is_none(), "one tab needs no list");
    let name = |number: usize| format!("{number} {}.json", "a long name ".repeat(8));
    for number in 0..12 {
        let path = session.capture.with_file_name(name(number));
        std::fs::copy(&session.capture, &path).expect("copied");
        session.harness.state_mut().open_files(&[path]);
        let title = format!("{} - Longspan", name(number));
        session.until("the tab", |session| session.harness.state().title() == title);
    }
    session.click("All tabs");
    session.harness.run_steps(3);
    let wanted = name(2);
    let nodes = |session: &Session| -> Vec<(egui::Role, egui::Rect)> {
        let found = session.harness.get_all_by_label(&wanted);
        found.map(|node| (node.accesskit_node().role(), node.rect())).collect()
    };
    // The tab itself has the same name.
    let entry = nodes(&session).into_iter().find(|(role, _)| *role != egui::Role::Tab).expect("an entry of the list");
    session.left_click(entry.1.center());
    assert_eq!(session.harness.state().title(), format!("{wanted} - Longspan"));
    let tab = nodes(&session).into_iter().find(|(role, _)| *role == egui::Role::Tab).expect("the tab");
    session.harness.event(egui::Event::PointerMoved(tab.1.left_center() + vec2(12.0, 0.0)));
    session.until("its name", |session| session.says(&format!("Label: {wanted}")));
}

#[test]
fn the_menu_of_a_tab_copies_its_path_and_closes_the_others() {
    let mut session = Session::with_capture(vec2(900.0, 500.0), 1.0);
    for name in ["second.json", "third.json"] {
        let path = session.capture.with_file_name(name);
        std::fs::copy(&session.capture, &path).expect("copied");
        session.harness.state_mut().open_files(&[path]);
        session.until("the tab", |session| session.harness.state().title() == format!("{name} - Longspan"));
        session.until("it is read", |session| !session.says("Button: Cancel"));
    }
    session.harness.run_steps(3);
    let tab = session.harness.get_by_role_and_label(egui::Role::Tab, "second.json").rect();
    let at = tab.left_center() + vec2(12.0, 0.0);
    session.right_click(at);
    session.click("Copy path");
    let path = session.capture.with_file_name("second.json").display().to_string();
    assert_eq!(crate::copied::copied(&session), Some(path));
    session.right_click(at);
    session.click("Reload");
    session.until("it again", |session| session.harness.state().title() == "second.json - Longspan");
    session.until("it is read", |session| session.harness.query_by_role(egui::Role::Canvas).is_some());
    session.harness.run_steps(5);
    session.right_click(at);
    session.click("Close others");
    session.harness.run_steps(3);
    assert_eq!(session.harness.state().tab_count(), 1);
    assert_eq!(session.harness.state().title(), "second.json - Longspan");
}
