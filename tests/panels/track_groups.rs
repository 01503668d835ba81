//! Track groups: many async spans with the same name are one row until the group is unfolded.

use egui::{Key, Modifiers, Vec2};
use egui_kittest::kittest::Queryable;
use serde_json::json;

use crate::copied::copied;
use crate::session::Session;

const SCREEN: Vec2 = Vec2::new(1200.0, 800.0);

/// Concurrent promises and timers, and counters.
fn trace(promises: u32) -> String {
    let tree = |name: &str, id: u32| {
        let event = |phase: &str, ts: u32| json!({"ph": phase, "cat": "c", "name": name, "id": format!("{name}{id}"), "pid": 7, "tid": 7, "ts": ts});
        [event("b", id), event("e", 1000 + id * 10)]
    };
    let trees = (0..promises).flat_map(|id| tree("PROMISE", id)).chain((0..5).flat_map(|id| tree("TIMER", id)));
    let counters =
        ["a", "b", "c", "d"].map(|name| json!({"ph": "C", "name": name, "pid": 7, "ts": 5, "args": {"v": 1}}));
    let thread = json!({"ph": "X", "name": "work", "pid": 7, "tid": 7, "ts": 0, "dur": 3000});
    json!(trees.chain(counters).chain([thread]).collect::<Vec<_>>()).to_string()
}

fn with_groups(promises: u32) -> Session {
    let mut session = Session::empty(SCREEN, 1.0);
    session.open_text("groups.json", &trace(promises));
    session.harness.run_steps(3);
    session
}

#[test]
fn many_promises_are_one_row_that_a_click_unfolds_and_another_folds_again() {
    let mut session = with_groups(40);
    let folded = session.head_labels();
    let wanted = ["PROMISE 40 tracks, folded", "TIMER 5 tracks, unfolded", "Counters 4 tracks, unfolded"];
    for head in wanted {
        assert_eq!(folded.iter().filter(|text| *text == head).count(), 1, "{head} in {folded:?}");
    }
    let shown = |session: &Session, name: &str| session.head_labels().iter().filter(|text| **text == *name).count();
    assert_eq!((shown(&session, "PROMISE, unfolded"), shown(&session, "TIMER, unfolded")), (0, 5));
    session.click("PROMISE 40 tracks, folded");
    session.harness.run_steps(2);
    assert!(shown(&session, "PROMISE, unfolded") > 5, "{:?}", session.head_labels());
    session.click("PROMISE 40 tracks, unfolded");
    session.harness.run_steps(2);
    session.click("TIMER 5 tracks, unfolded");
    session.harness.run_steps(8);
    assert_eq!((shown(&session, "PROMISE, unfolded"), shown(&session, "TIMER, unfolded")), (0, 0));
    let mut again = session.opened_again(SCREEN, "groups.json");
    again.harness.run_steps(3);
    assert_eq!(shown(&again, "TIMER 5 tracks, folded"), 1, "{:?}", again.head_labels());
}

#[test]
fn a_group_is_a_scope_and_is_hidden_and_a_search_unfolds_it() {
    let mut session = with_groups(40);
    let head = session.harness.get_by_label("PROMISE 40 tracks, folded").rect().center();
    session.right_click(head);
    session.click("Statistics of the group");
    session.until("the lines", |session| session.says("40 tracks"));
    session.until("only promises", |session| {
        let lines = session.harness.query_all_by_role(egui::Role::ListItem).count();
        lines == 1 && session.says("ListItem: PROMISE")
    });
    let head = session.harness.get_by_label_contains("PROMISE 40 tracks").rect().center();
    session.right_click(head);
    session.click("Copy the name");
    assert_eq!(copied(&session).as_deref(), Some("PROMISE"));
    session.harness.run_steps(2);
    session.right_click(head);
    session.click("Hide the group");
    session.harness.run_steps(2);
    assert!(session.harness.query_by_label_contains("PROMISE 40 tracks").is_none());
    assert!(session.says("40 hidden tracks"), "{:?}", session.node_texts());
    session.press(Modifiers::NONE, Key::Escape);
    session.press(Modifiers::NONE, Key::Escape);
    session.search("name:PROMISE");
    session.until("the hits", |session| session.says("40 hits"));
    session.press(Modifiers::NONE, Key::Enter);
    // The other tracks stay hidden.
    session.until("its track", |session| {
        session.says("PROMISE 1 track, in the scope, unfolded") || session.says("PROMISE 1 track, unfolded")
    });
}

#[test]
fn the_headers_of_a_process_and_of_its_group_stay_at_the_top_and_the_menu_of_a_track_folds_the_group() {
    let mut session = with_groups(60);
    session.click("PROMISE 60 tracks, folded");
    session.harness.run_steps(2);
    for _ in 0..2 {
        session.press(Modifiers::NONE, Key::PageDown);
    }
    session.harness.run_steps(3);
    let rect = |session: &Session, label: &str| session.harness.get_by_label(label).rect();
    let canvas = session.harness.get_by_role(egui::Role::Canvas).rect();
    let [process, group] = ["Process 7, unfolded", "PROMISE 60 tracks, unfolded"].map(|label| rect(&session, label));
    assert_eq!(process.top(), canvas.top(), "{:?}", session.head_labels());
    assert_eq!(group.top(), process.bottom());
    let tracks: Vec<_> = session.harness.query_all_by_label("PROMISE, unfolded").map(|node| node.rect()).collect();
    assert!(tracks.iter().all(|track| track.top() >= group.bottom()), "no name is below the headers");
    session.right_click(tracks[tracks.len() / 2].center());
    session.click("Fold its group");
    session
        .until("the folded group", |session| session.head_labels().contains(&"PROMISE 60 tracks, folded".to_owned()));
}
