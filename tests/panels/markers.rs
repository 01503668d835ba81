//! Markers: their flags on the ruler can be read and clicked, and each time has one of them.

use egui::{Event, Key, Modifiers, Pos2, Rect, Vec2, pos2, vec2};
use egui_kittest::kittest::Queryable;

use crate::session::Session;

const SCREEN: Vec2 = vec2(1280.0, 800.0);

/// Adds a marker under the pointer.
fn mark(session: &mut Session, at: Pos2) {
    session.harness.event(Event::PointerMoved(at));
    session.harness.step();
    session.press(Modifiers::NONE, Key::M);
    session.harness.run_steps(2);
}

fn flag(session: &Session, number: usize) -> Rect {
    session.harness.get_by_label(&format!("Marker {number}")).rect()
}

#[test]
fn each_flag_ends_where_the_next_one_begins() {
    let mut session = Session::with_capture(SCREEN, 1.0);
    session.harness.run_steps(3);
    let canvas = session.harness.get_by_role(egui::Role::Canvas).rect();
    // Alone, with 60, 20 and no points to the next.
    let lefts = [canvas.left() + 300.0, canvas.left() + 200.0, canvas.left() + 140.0, canvas.left() + 120.0];
    for left in lefts {
        mark(&mut session, pos2(left, canvas.bottom() - 5.0));
    }
    let flags = [4, 3, 2, 1].map(|number| flag(&session, number));
    assert!(flags.windows(2).all(|pair| pair[0].right() < pair[1].left()), "{flags:?}");
    assert!(flags.iter().all(|flag| flag.width() >= 4.0), "{flags:?}");
    assert!((flags[2].width() - flags[3].width()).abs() < 1.0, "both have room for their names: {flags:?}");
    assert!(flags[1].width() > flags[0].width(), "{flags:?}");
}

#[test]
fn pressing_the_key_again_at_the_same_time_adds_no_second_marker() {
    let mut session = Session::with_capture(SCREEN, 1.0);
    session.harness.run_steps(3);
    let canvas = session.harness.get_by_role(egui::Role::Canvas).rect();
    mark(&mut session, pos2(canvas.left() + 120.0, canvas.bottom() - 5.0));
    for _ in 0..11 {
        session.press(Modifiers::NONE, Key::M);
    }
    session.harness.run_steps(2);
    assert!(session.says("Button: Marker 1") && !session.says("Button: Marker 2"));
    session.press(Modifiers::COMMAND, Key::Z);
    session.harness.run_steps(2);
    assert!(!session.says("Button: Marker 1"), "all of that is one step");
}
