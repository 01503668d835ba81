//! Groups of tracks that the user makes: they have a name, fold, are a scope, and are kept with the trace.

use egui::{Event, Key, Modifiers, Pos2, Vec2, vec2};
use egui_kittest::kittest::Queryable;
use serde_json::json;

use crate::session::Session;

const SCREEN: Vec2 = Vec2::new(1200.0, 800.0);

/// Three threads in each of two processes. Each thread has as many spans as its id.
fn trace() -> String {
    let threads = [("web", 1), ("web", 2), ("web", 3), ("db", 4), ("db", 5), ("db", 6)];
    let named = threads.map(|(process, tid)| {
        let pid = if process == "web" { 1 } else { 2 };
        let process = json!({"ph": "M", "name": "process_name", "pid": pid, "args": {"name": process}});
        let thread =
            json!({"ph": "M", "name": "thread_name", "pid": pid, "tid": tid, "args": {"name": format!("worker {tid}")}});
        let span = |number: u32| {
            json!({"ph": "X", "name": format!("work{tid}"), "pid": pid, "tid": tid, "ts": number * 100, "dur": 50})
        };
        [process, thread].into_iter().chain((0..tid).map(span)).collect::<Vec<_>>()
    });
    json!(named.concat()).to_string()
}

fn opened() -> Session {
    let mut session = Session::empty(SCREEN, 1.0);
    session.open_text("groups.json", &trace());
    session.harness.run_steps(3);
    session
}

/// Returns the labels of the headers, from top to bottom, without whether they are in the scope.
fn heads(session: &Session) -> Vec<String> {
    session.head_labels().into_iter().map(|label| label.replace("in the scope, ", "")).collect()
}

fn head_at(session: &Session, label: &str) -> Pos2 {
    session.harness.get_by_label_contains(label).rect().center()
}

/// Selects tracks by Ctrl and clicks on their heads.
fn choose(session: &mut Session, tracks: &[u32]) {
    for track in tracks {
        let at = head_at(session, &format!("worker {track} "));
        session.click_with(at, Modifiers::COMMAND);
    }
}

/// Makes a group of tracks with a name.
fn grouped(session: &mut Session, tracks: &[u32], name: &str) {
    choose(session, tracks);
    session.give("Group selected tracks...");
    session.harness.run_steps(2);
    session.type_text(name);
    session.press(Modifiers::NONE, Key::Enter);
    session.harness.run_steps(2);
}

/// Opens the menu of a head and chooses an entry.
fn from_menu(session: &mut Session, head: &str, entry: &str) {
    let at = head_at(session, head);
    session.right_click(at);
    session.click(entry);
    session.harness.run_steps(3);
}

fn track(number: u32) -> String {
    format!("worker {number} {number}, unfolded")
}

#[test]
fn selected_tracks_of_two_processes_become_one_head_that_folds_and_the_trace_keeps_it() {
    let mut session = opened();
    assert!(!session.offers("Group selected tracks..."), "nothing is selected");
    grouped(&mut session, &[2, 5], "Pool");
    let [web, db] = ["web 1, unfolded", "db 2, unfolded"].map(str::to_owned);
    let with_group = |tracks: &[u32]| {
        let group = format!("Pool {} tracks, unfolded", tracks.len());
        let rest = |of: [u32; 3]| of.into_iter().filter(|number| !tracks.contains(number)).map(track);
        let heads = [group].into_iter().chain(tracks.iter().map(|&number| track(number)));
        let heads = heads.chain([web.clone()]).chain(rest([1, 2, 3])).chain([db.clone()]).chain(rest([4, 5, 6]));
        heads.collect::<Vec<_>>()
    };
    assert_eq!(heads(&session), with_group(&[2, 5]));
    // A third track joins, and another leaves.
    session.press(Modifiers::NONE, Key::Escape);
    choose(&mut session, &[6]);
    from_menu(&mut session, "Pool 2 tracks", "Add selected tracks");
    assert_eq!(heads(&session), with_group(&[2, 5, 6]));
    from_menu(&mut session, "worker 5 5", "Remove from the group");
    assert_eq!(heads(&session), with_group(&[2, 6]));
    session.give("Order by name");
    session.harness.run_steps(3);
    let by_name = heads(&session);
    let at = |head: &str| by_name.iter().position(|text| text.starts_with(head)).expect("a head");
    assert!(at("db") < at("Pool") && at("Pool") < at("web"), "{by_name:?}");
    assert_eq!(by_name[at("Pool") + 1..at("web")], [track(2), track(6)]);
    session.give("Trace order");
    session.harness.run_steps(3);
    session.press(Modifiers::NONE, Key::Escape);
    session.harness.run_steps(2);
    session.click("Pool 2 tracks, unfolded");
    session.wait_for_the_write();
    let folded: Vec<_> = heads(&session).into_iter().take(2).collect();
    assert_eq!(folded, ["Pool 2 tracks, folded".to_owned(), web.clone()]);
    // After a restart it is as it was.
    let mut again = session.opened_again(SCREEN, "groups.json");
    again.harness.run_steps(3);
    assert_eq!(heads(&again)[..2], folded);
    from_menu(&mut again, "Pool 2 tracks", "Ungroup");
    let all: Vec<_> = [web].into_iter().chain([1, 2, 3].map(track)).chain([db]).chain([4, 5, 6].map(track)).collect();
    assert_eq!(heads(&again), all);
}

#[test]
fn a_name_field_that_scrolled_out_of_view_does_not_take_the_keyboard_when_it_returns() {
    let mut session = Session::empty(Vec2::new(1200.0, 300.0), 1.0);
    session.open_text("groups.json", &trace());
    session.harness.run_steps(3);
    choose(&mut session, &[1, 2]);
    session.give("Group selected tracks...");
    session.harness.run_steps(2);
    let shows_field = |session: &Session| session.harness.query_by_label("Name of the group").is_some();
    assert!(shows_field(&session));
    let over_rows = session.harness.get_by_label("Name of the group").rect().center() + vec2(400.0, 60.0);
    session.harness.event(Event::PointerMoved(over_rows));
    session.harness.step();
    let turn = |session: &mut Session, points: f32| {
        let (unit, phase) = (egui::MouseWheelUnit::Point, egui::TouchPhase::Move);
        let (delta, source, modifiers) = (vec2(0.0, points), egui::MouseWheelSource::Unknown, Modifiers::NONE);
        session.harness.event(Event::MouseWheel { unit, delta, phase, source, modifiers });
        session.harness.run_steps(60);
    };
    turn(&mut session, -2000.0);
    assert!(!shows_field(&session), "the header is above the view");
    turn(&mut session, 4000.0);
    assert!(heads(&session)[0].contains("2 tracks"), "{:?}", heads(&session));
    assert!(!shows_field(&session));
}

#[test]
fn a_group_is_renamed_and_is_a_scope_for_statistics_and_for_hiding_the_others() {
    let mut session = opened();
    grouped(&mut session, &[1, 4], "");
    session.press(Modifiers::NONE, Key::Escape);
    assert_eq!(heads(&session)[0], "Group 1 2 tracks, unfolded");
    from_menu(&mut session, "Group 1 2 tracks", "Rename the group...");
    session.type_text("First");
    session.press(Modifiers::NONE, Key::Escape);
    session.harness.run_steps(2);
    assert_eq!(heads(&session)[0], "First 2 tracks, unfolded");
    from_menu(&mut session, "First 2 tracks", "Statistics of the group");
    session.until("the lines of both threads", |session| {
        let lines = session.harness.query_all_by_role(egui::Role::ListItem).count();
        lines == 2 && session.says("ListItem: work1") && session.says("ListItem: work4")
    });
    session.give("Show only the tracks of the scope");
    session.harness.run_steps(3);
    assert_eq!(heads(&session), ["First 2 tracks, unfolded".to_owned(), track(1), track(4)]);
    // A second group takes a track from the first, which stays with the other.
    session.give("Show hidden tracks");
    session.press(Modifiers::NONE, Key::Escape);
    session.harness.run_steps(2);
    grouped(&mut session, &[4, 5], "Second");
    let first: Vec<_> = heads(&session).into_iter().take(5).collect();
    let [one, two] = ["First 1 track, unfolded", "Second 2 tracks, unfolded"].map(str::to_owned);
    assert_eq!(first, [one, track(1), two, track(4), track(5)]);
    session.give("Ungroup selected tracks");
    session.harness.run_steps(3);
    assert!(!session.says("Second"), "{:?}", session.node_texts());
}

#[test]
fn groups_are_dragged_among_themselves_and_keep_their_numbers() {
    let mut session = opened();
    for track in 1..4 {
        grouped(&mut session, &[track], "");
        session.press(Modifiers::NONE, Key::Escape);
    }
    let groups = |session: &Session| {
        let heads = heads(session).into_iter().filter_map(|head| head.strip_prefix("Group ").map(str::to_owned));
        heads.map(|head| head[..1].to_owned()).collect::<String>()
    };
    assert_eq!(groups(&session), "123");
    let (from, to) = (head_at(&session, "Group 3 1 track"), head_at(&session, "Group 1 1 track"));
    session.drag(from, to - Vec2::new(0.0, 5.0));
    assert_eq!(groups(&session), "312");
    from_menu(&mut session, "Group 1 1 track", "Move down");
    assert_eq!(groups(&session), "321");
    session.press(Modifiers::COMMAND, Key::Z);
    session.harness.run_steps(3);
    assert_eq!(groups(&session), "312");
    from_menu(&mut session, "Group 2 1 track", "Move down");
    assert_eq!(groups(&session), "312", "it is already last, so the entry is disabled");
    session.press(Modifiers::NONE, Key::Escape);
    session.harness.run_steps(2);
    // A group is not moved below a process.
    let (from, to) = (head_at(&session, "Group 3 1 track"), head_at(&session, "worker 5 5"));
    session.drag(from, to);
    assert_eq!(groups(&session), "312");
    session.wait_for_the_write();
    let again = session.opened_again(SCREEN, "groups.json");
    assert_eq!(groups(&again), "312");
}
