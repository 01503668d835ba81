//! Effects of a single frame: several presses of a key in a slow one, and the size of a window in its first one.

use egui::{Event, Key, Modifiers, vec2};
use egui_kittest::kittest::NodeT;

use crate::session::Session;

const SCREEN: egui::Vec2 = vec2(1280.0, 800.0);

#[test]
fn presses_of_a_slow_frame_lead_as_many_menus_on() {
    let mut session = Session::with_capture(SCREEN, 1.0);
    session.press(Modifiers::NONE, Key::F10);
    session.until("the first menu", |session| session.says("Quit"));
    for pressed in [true, false, true, false, true, false] {
        let modifiers = Modifiers::NONE;
        session.harness.event(Event::Key {
            key: Key::ArrowRight,
            physical_key: None,
            pressed,
            repeat: false,
            modifiers,
        });
    }
    session.until("the fourth menu", |session| session.says("Previous span") && !session.says("Quit"));
}

#[test]
fn a_window_opens_in_its_final_size() {
    let mut session = Session::with_capture(SCREEN, 1.0);
    for _ in 0..2 {
        session.harness.run_steps(2);
        session.press(Modifiers::NONE, Key::M);
    }
    for (command, first) in [("Markers", "Name"), ("Preferences...", "Import memory limit"), ("Import issues", "lost")]
    {
        session.press(Modifiers::COMMAND | Modifiers::SHIFT, Key::P);
        session.harness.step();
        session.type_text(command);
        session.press(Modifiers::NONE, Key::Enter);
        let rect = |session: &Session| {
            let mut dialogs = session.harness.root().children_recursive();
            dialogs.find(|node| node.accesskit_node().role() == egui::accesskit::Role::Dialog).map(|node| node.rect())
        };
        for _ in 0..4 {
            if rect(&session).is_none() {
                session.harness.step();
            }
        }
        let opened = rect(&session).expect(first);
        session.harness.run_steps(3);
        assert_eq!(rect(&session), Some(opened), "{command}");
        session.press(Modifiers::NONE, Key::Escape);
        session.harness.run_steps(2);
    }
}
