//! Orders of tracks that are counted in the background: busy time, and hits of the search.

use egui::{Key, Modifiers, Vec2};

use crate::session::Session;

const SCREEN: Vec2 = Vec2::new(1200.0, 800.0);

/// Three threads: a long span, many short ones, and the longest time in all.
const TRACE: &str = r#"[
    {"ph":"X","name":"long","pid":1,"tid":1,"ts":0,"dur":100},
    {"ph":"X","name":"short","pid":1,"tid":2,"ts":0,"dur":5},
    {"ph":"X","name":"short","pid":1,"tid":2,"ts":10,"dur":5},
    {"ph":"X","name":"short","pid":1,"tid":2,"ts":20,"dur":5},
    {"ph":"X","name":"inner","pid":1,"tid":2,"ts":20,"dur":5},
    {"ph":"X","name":"middle","pid":1,"tid":3,"ts":0,"dur":60},
    {"ph":"X","name":"middle","pid":1,"tid":3,"ts":70,"dur":60},
    {"ph":"X","name":"short","pid":1,"tid":3,"ts":140,"dur":5}]"#;

/// Waits until the threads are in this order.
fn until_ordered(session: &mut Session, threads: [u32; 3]) {
    let expected = threads.map(|tid| format!("Button: Thread {tid}, unfolded"));
    session.until(&format!("{threads:?}"), |session| {
        let heads = session.node_texts().into_iter().filter(|text| text.starts_with("Button: Thread "));
        heads.collect::<Vec<_>>() == expected
    });
}

#[test]
fn tracks_are_ordered_by_counts_that_come_later_and_the_order_follows_the_search() {
    let mut session = Session::empty(SCREEN, 1.0);
    session.open_text("order.json", TRACE);
    until_ordered(&mut session, [1, 2, 3]);
    session.give("Order by busy time");
    until_ordered(&mut session, [3, 1, 2]);
    session.give("Order by hits of the search");
    session.until("the reason", |session| session.says("Tracks are in trace order until a search has hits"));
    until_ordered(&mut session, [1, 2, 3]);
    session.search("short");
    until_ordered(&mut session, [2, 3, 1]);
    assert!(!session.says("Tracks are in trace order"));
    session.press(Modifiers::COMMAND, Key::A);
    session.type_text("middle");
    until_ordered(&mut session, [3, 1, 2]);
    session.press(Modifiers::NONE, Key::Escape);
    until_ordered(&mut session, [1, 2, 3]);
    // The order is kept with the trace, and waits for the next search.
    let mut again = session.opened_again(SCREEN, "order.json");
    again.search("short");
    until_ordered(&mut again, [2, 3, 1]);
}
