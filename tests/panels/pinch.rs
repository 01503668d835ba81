//! A pinch on a trackpad, which no X server can simulate.

use egui::{Event, pos2, vec2};
use egui_kittest::kittest::Queryable;

use crate::session::Session;

#[test]
fn a_pinch_zooms_by_as_much_as_the_fingers_and_the_time_under_the_pointer_stays() {
    let mut session = Session::with_capture(vec2(1280.0, 800.0), 1.0);
    session.harness.run_steps(3);
    let canvas = session.harness.get_by_role(egui::Role::Canvas).rect();
    let right = canvas.width() * 0.25;
    let view = |session: &mut Session| *session.harness.state_mut().timeline_mut().expect("a timeline").view();
    let before = view(&mut session);
    session.harness.event(Event::PointerMoved(pos2(canvas.left() + right, canvas.center().y)));
    session.harness.step();
    for _ in 0..2 {
        session.harness.event(Event::Zoom(1.5));
        session.harness.step();
    }
    let after = view(&mut session);
    let factor = before.ns_per_px() / after.ns_per_px();
    assert!((factor - 2.25).abs() < 0.01, "{factor}");
    let moved_px = after.x_from_time(before.time_from_x(f64::from(right))) - f64::from(right);
    assert!(moved_px.abs() < 1.0, "{moved_px}");
}
