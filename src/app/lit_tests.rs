//! The hovered row of a panel lights its spans on the tracks.

use egui::{Event, Pos2, pos2};

use super::tests::{Session, TWO_SPANS, snapshot};
use crate::model::Sources;
use crate::scene::color::Rgba;
use crate::ui::command::{Command, PanelCommand};
use crate::ui::panel::Panel;

/// Height of the timeline on the screen of 600 points; the dock is below.
const TIMELINE_POINTS: f32 = 330.0;

/// Returns the position of a text in the dock.
fn in_dock(session: &Session, text: &str) -> Option<Pos2> {
    let mut texts = session.texts.iter().zip(&session.positions).rev();
    texts.find(|(shown, at)| *shown == text && at.y > TIMELINE_POINTS).map(|(_, at)| *at)
}

/// Opens a panel of the two spans, and waits for a row in it.
fn opened(panel: Panel) -> Session {
    let mut session = Session::new();
    session.app.show_trace(snapshot(TWO_SPANS), Sources::default(), false);
    session.app.act(Command::Panel(PanelCommand::Show(panel)));
    session.until("the row", |session| in_dock(session, "omega").is_some() && !session.app.tab().panels.is_busy());
    session
}

fn point_at(session: &mut Session, at: Pos2) {
    (0..2).for_each(|_| session.frame(vec![Event::PointerMoved(at)]));
}

fn colors(session: &mut Session) -> Vec<Rgba> {
    let frame = session.app.timeline_mut().and_then(|timeline| timeline.last_frame()).expect("a frame");
    frame.rects.iter().map(|rect| rect.color).collect()
}

#[test]
fn a_hovered_name_dims_the_spans_of_others_at_once_and_no_longer_than_it_is_hovered() {
    let mut session = opened(Panel::Statistics);
    let before = colors(&mut session);
    let row = in_dock(&session, "omega").expect("its row");
    point_at(&mut session, row);
    let lit = colors(&mut session);
    assert_eq!(lit.len(), before.len());
    assert_eq!(lit[1], before[1], "omega");
    assert_eq!(lit[0], before[0].with_opacity(lit[0].0[3]), "alpha");
    assert!(lit[0].0[3] < 255);
    assert!(!session.app.tab().panels.is_busy(), "no query is started");
    assert!(!session.app.timeline_mut().is_some_and(|timeline| timeline.has_past()));
    // One frame after the pointer has left.
    session.frame(vec![Event::PointerMoved(pos2(2.0, 2.0))]);
    assert_eq!(colors(&mut session), before);
    point_at(&mut session, row);
    session.frame(vec![Event::PointerGone]);
    session.frame(Vec::new());
    assert_eq!(colors(&mut session), before);
}

#[test]
fn a_hovered_span_of_a_list_has_an_outline_and_dims_nothing() {
    let mut session = opened(Panel::Spans);
    let before = colors(&mut session);
    let row = in_dock(&session, "omega").expect("its row");
    point_at(&mut session, row);
    let timeline = session.app.timeline_mut().expect("a trace");
    let (has_spans, outlined) = timeline.lit();
    let outlined = outlined.expect("a row");
    assert!(!has_spans);
    assert_eq!(timeline.snapshot().row(outlined).start_ns, 600_000);
    assert_eq!(timeline.selected(), None);
    assert_eq!(colors(&mut session), before);
    point_at(&mut session, pos2(2.0, 2.0));
    assert_eq!(session.app.timeline_mut().map(|timeline| timeline.lit()), Some((false, None)));
}

#[test]
fn a_hovered_bar_of_a_flame_graph_lights_the_spans_of_its_function() {
    let mut session = opened(Panel::Flame);
    let before = colors(&mut session);
    let bar = in_dock(&session, "omega").expect("its bar");
    point_at(&mut session, bar);
    let lit = colors(&mut session);
    assert!(lit[0] != before[0] && lit[1] == before[1], "{lit:?}");
    point_at(&mut session, pos2(2.0, 2.0));
    assert_eq!(colors(&mut session), before);
}

#[test]
fn a_later_snapshot_of_a_trace_that_grows_is_lit_too() {
    let mut session = opened(Panel::Statistics);
    let row = in_dock(&session, "omega").expect("its row");
    point_at(&mut session, row);
    session.app.show_trace(snapshot(TWO_SPANS), Sources::default(), true);
    session.until("the row", |session| in_dock(session, "omega").is_some());
    session.frame(Vec::new());
    assert_eq!(session.app.timeline_mut().map(|timeline| timeline.lit()), Some((true, None)));
}
