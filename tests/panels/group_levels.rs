//! Groups within groups: the queues of a GPU with their engines, as headers that fold, scope and stay at the top.

use std::path::Path;

use egui::{Event, Key, Modifiers, MouseWheelSource, MouseWheelUnit, Rect, TouchPhase, Vec2};
use egui_kittest::kittest::Queryable;

use crate::copied::copied;
use crate::session::Session;

const SCREEN: Vec2 = Vec2::new(1200.0, 800.0);

const GPU: &str = "GPU 8 tracks";
const QUEUES: [&str; 2] = ["GPU / Queue 1 4 tracks", "GPU / Queue 2 4 tracks"];
const ENGINE: &str = "GPU / Queue 1 / Engine 2 tracks";

fn with_queues(size: Vec2) -> Session {
    let mut session = Session::empty(size, 1.0);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/nested_tracks.pftrace.gz");
    session.open(&[path]);
    session.harness.run_steps(3);
    session
}

fn count(session: &Session, start: &str) -> usize {
    session.head_labels().iter().filter(|head| head.starts_with(start)).count()
}

fn toggle(session: &mut Session, head: &str) {
    let is_unfolded = session.head_labels().contains(&format!("{head}, unfolded"));
    session.click(&format!("{head}, {}", if is_unfolded { "unfolded" } else { "folded" }));
    session.harness.run_steps(8);
}

#[test]
fn an_outer_header_folds_all_within_and_an_inner_one_its_part() {
    let mut session = with_queues(SCREEN);
    let queue = ["Engine 2 tracks", "Engine / Copy", "Engine / Draw", "Depth"];
    let all = |queue_number: usize| queue.map(|head| format!("GPU / Queue {queue_number} / {head}"));
    for head in all(1).into_iter().chain(all(2)).chain([GPU, QUEUES[0], QUEUES[1]].map(str::to_owned)) {
        assert_eq!(count(&session, &head), 1, "{head} in {:?}", session.head_labels());
    }
    toggle(&mut session, ENGINE);
    assert_eq!(count(&session, "GPU / Queue 1 / Engine / "), 0, "{:?}", session.head_labels());
    assert_eq!(count(&session, "GPU / Queue 2 / Engine / "), 2);
    toggle(&mut session, QUEUES[0]);
    assert_eq!((count(&session, "GPU / Queue 1 / "), count(&session, "GPU / Queue 2 / ")), (0, 4));
    toggle(&mut session, GPU);
    assert_eq!(count(&session, "GPU / "), 0);
    toggle(&mut session, GPU);
    // Inner groups are as they were.
    assert_eq!((count(&session, "GPU / Queue 1 / "), count(&session, "GPU / Queue 2 / ")), (0, 4));
    toggle(&mut session, QUEUES[0]);
    assert_eq!(count(&session, &format!("{ENGINE}, folded")), 1);
}

#[test]
fn an_inner_group_is_a_scope_a_filter_and_is_hidden() {
    let mut session = with_queues(SCREEN);
    let head = session.harness.get_by_label_contains(QUEUES[0]).rect().center();
    session.right_click(head);
    session.click("Statistics of the group");
    session.until("its spans", |session| session.says("4 tracks") && session.says("ListItem: submit 1"));
    assert!(!session.says("ListItem: submit 2") && !session.says("ListItem: frame"));
    // The groups around it have a part of the scope too, and its tracks all.
    assert_eq!(count(&session, "GPU 8 tracks, in the scope"), 1, "{:?}", session.head_labels());
    assert_eq!(count(&session, "GPU / Queue 2 4 tracks, in the scope"), 0);
    session.right_click(head);
    session.click("Copy the name");
    assert_eq!(copied(&session).as_deref(), Some("GPU / Queue 1"));
    session.right_click(head);
    session.click("Hide the group");
    session.harness.run_steps(2);
    assert_eq!(
        (count(&session, "GPU / Queue 1"), count(&session, "GPU 4 tracks")),
        (0, 1),
        "{:?}",
        session.head_labels()
    );
}

#[test]
fn a_hit_unfolds_all_groups_around_it() {
    let mut session = with_queues(SCREEN);
    toggle(&mut session, ENGINE.replace('1', "2").as_str());
    toggle(&mut session, QUEUES[1]);
    toggle(&mut session, GPU);
    session.search("name:\"draw mesh\" track:\"Queue 2 / Engine\"");
    session.until("the hits", |session| session.says("40 hits"));
    session.press(Modifiers::NONE, Key::Enter);
    session.until("its track", |session| count(session, "GPU / Queue 2 / Engine / Draw") == 1);
}

#[test]
fn the_header_of_the_innermost_group_stays_at_the_top_with_the_names_of_those_around_it() {
    let mut session = with_queues(Vec2::new(1200.0, 360.0));
    let rect = |session: &Session, label: &str| -> Option<Rect> {
        session.harness.query_by_label_contains(label).map(|node| node.rect())
    };
    let canvas = session.harness.get_by_role(egui::Role::Canvas).rect();
    session.harness.event(Event::PointerMoved(canvas.center()));
    let mut seen = Vec::new();
    for _ in 0..60 {
        let (unit, phase) = (MouseWheelUnit::Point, TouchPhase::Move);
        let (delta, source, modifiers) = (Vec2::new(0.0, -15.0), MouseWheelSource::Unknown, Modifiers::NONE);
        session.harness.event(Event::MouseWheel { unit, delta, phase, source, modifiers });
        session.harness.run_steps(4);
        let Some(process) = rect(&session, "renderer 50").filter(|process| process.top() <= canvas.top()) else {
            continue;
        };
        let at_top = |label: &&str| rect(&session, label).is_some_and(|group| group.top() == process.bottom());
        let labels = [GPU, QUEUES[0], ENGINE, QUEUES[1], "GPU / Queue 2 / Engine 2 tracks"];
        if let Some(label) = labels.iter().find(|label| at_top(label))
            && seen.last() != Some(label)
        {
            seen.push(*label);
        }
    }
    assert_eq!(seen.get(..4), Some(&[GPU, QUEUES[0], ENGINE, QUEUES[0]][..]), "{seen:?} {:?}", session.head_labels());
}
