//! Menus and windows: entries of the context menu, windows that Escape closes, and choices in the preferences. A small
//! window shows all of them.

use egui::{Event, Key, Modifiers, PointerButton, Pos2, Vec2, pos2, vec2};
use egui_kittest::kittest::{NodeT, Queryable};

use crate::session::Session;

const SCREEN: Vec2 = vec2(1280.0, 800.0);
const SMALL: Vec2 = vec2(640.0, 400.0);

/// Returns a point in the first lane of a track, at a fraction of the visible time.
fn on_track(session: &Session, track: &str, part: f32) -> Pos2 {
    let canvas = session.harness.get_by_role(egui::Role::Canvas).rect();
    let nodes = session.harness.root().children_recursive();
    let mut names = nodes.filter(|node| {
        let label = node.accesskit_node().label().unwrap_or_default();
        label.starts_with(track) && label.ends_with("folded")
    });
    let name = names.next().unwrap_or_else(|| panic!("no {track}:\n{}", session.node_texts().join("\n")));
    pos2(canvas.left() + canvas.width() * part, name.rect().top() + 12.0)
}

fn press_button(session: &mut Session, at: Pos2, button: PointerButton) {
    session.harness.event(Event::PointerMoved(at));
    session.harness.step();
    for pressed in [true, false] {
        session.harness.event(Event::PointerButton { pos: at, button, pressed, modifiers: Modifiers::NONE });
        session.harness.step();
    }
    session.harness.run_steps(2);
}

/// Opens a session in which a click of this button has selected a request.
fn with_request(button: PointerButton) -> Session {
    let mut session = Session::with_capture(SCREEN, 1.0);
    session.harness.run_steps(3);
    let at = on_track(&session, "main", 0.45);
    press_button(&mut session, at, button);
    assert!(session.summary().contains("Selected: request"), "{}", session.summary());
    session
}

#[test]
fn a_click_beside_an_open_menu_only_closes_it() {
    let mut session = with_request(PointerButton::Secondary);
    assert!(session.says("Zoom to the span"));
    let heads = session.head_labels();
    let at = on_track(&session, "main", 0.99);
    press_button(&mut session, at, PointerButton::Primary);
    assert!(!session.says("Zoom to the span"), "the menu is closed");
    assert!(session.summary().contains("Selected: request"), "{}", session.summary());
    let right = on_track(&session, "main", 0.45);
    press_button(&mut session, right, PointerButton::Secondary);
    press_button(&mut session, pos2(30.0, right.y), PointerButton::Primary);
    assert_eq!(session.head_labels(), heads, "no track is folded");
    assert!(!session.says("Zoom to the span"), "the menu is closed");
    press_button(&mut session, at, PointerButton::Primary);
    assert!(!session.summary().contains("Selected: request"), "the next click selects: {}", session.summary());
    // The map is right below the menu bar.
    let start_ns =
        |session: &mut Session| session.harness.state_mut().timeline_mut().expect("a timeline").view().start_ns();
    (0..4).for_each(|_| session.give("Zoom in"));
    session.harness.run_steps(30);
    let (view_ns, map) = (start_ns(&mut session), session.harness.get_by_label("Map of the whole trace").rect());
    press_button(&mut session, right, PointerButton::Secondary);
    press_button(&mut session, map.left_center() + vec2(5.0, 0.0), PointerButton::Primary);
    session.harness.run_steps(30);
    assert_eq!(start_ns(&mut session), view_ns, "no jump on the map");
    press_button(&mut session, map.left_center() + vec2(5.0, 0.0), PointerButton::Primary);
    session.harness.run_steps(30);
    assert_ne!(start_ns(&mut session), view_ns, "the next click jumps");
}

#[test]
fn the_right_button_selects_the_span_under_it_and_offers_what_can_be_done_with_it() {
    let mut session = with_request(PointerButton::Secondary);
    for offered in ["Zoom to the span", "Copy the span", "Search for this name", "Add marker", "The track"] {
        assert!(session.says(offered), "{offered}:\n{}", session.node_texts().join("\n"));
    }
    assert!(!session.says("Statistics of the scope"), "nothing is selected");
    assert!(!session.says("Hide the track") && !session.says("Scope: inside this span"), "they are in submenus");
    session.click("Statistics of this name");
    session.until("the name chosen in the statistics", |session| session.says("Label: Over time"));
    assert!(session.says("Label: request"), "{}", session.node_texts().join("\n"));
    // Without a span, the menu has the entries for the time under the pointer.
    let at = on_track(&session, "main", 0.99);
    press_button(&mut session, at, PointerButton::Secondary);
    assert!(!session.says("Zoom to the span"));
    session.harness.get_by_label_contains("Add marker").click();
    session.harness.step();
    session.until("a mark where the menu was opened", |session| session.says("Button: Marker 1"));
}

#[test]
fn the_menu_of_a_span_within_a_scope_has_twelve_entries_at_most() {
    let mut session = with_request(PointerButton::Secondary);
    session.click("More for this span");
    session.until("the submenu", |session| session.says("Scope: spans of this name"));
    session.click("Scope: spans of this name");
    session.harness.run_steps(3);
    let at = on_track(&session, "main", 0.45);
    press_button(&mut session, at, PointerButton::Secondary);
    session.until("the menu", |session| session.says("Statistics of the scope"));
    let first = ["Zoom to the span", "Copy the span", "Search for this name", "Statistics of this name"];
    let first = first.into_iter().chain(["Flame graph of this span"]);
    let rest = ["More for this span", "Statistics of the scope", "Flame graph of the scope", "More for the scope"];
    let last = ["Add marker", "The track"];
    let texts = session.node_texts();
    let at = |entry: &str| texts.iter().position(|text| text.starts_with(&format!("Button: {entry}")));
    let places: Vec<_> = first.chain(rest).chain(last).map(|entry| at(entry).expect(entry)).collect();
    assert!(places.is_sorted(), "most used first: {places:?}");
    assert!(places.len() <= 12);
    for inside in ["Scope: inside this span", "Export the scope...", "Hide the track", "Statistics of the track"] {
        assert!(at(inside).is_none(), "{inside} is in a submenu");
    }
}

#[test]
fn selected_time_says_how_long_it_is_and_a_click_there_adds_up_what_is_in_it() {
    let mut session = Session::with_capture(SCREEN, 1.0);
    session.harness.run_steps(3);
    let ruler = session.harness.get_by_label("Ruler: drag to select time").rect();
    let drag = |session: &mut Session, from: f32, to: f32| {
        let at = |part: f32| pos2(ruler.left() + ruler.width() * part, ruler.center().y);
        let button = |pressed, pos| Event::PointerButton {
            pos,
            button: PointerButton::Primary,
            pressed,
            modifiers: Modifiers::NONE,
        };
        for event in
            [Event::PointerMoved(at(from)), button(true, at(from)), Event::PointerMoved(at(to)), button(false, at(to))]
        {
            session.harness.event(event);
            session.harness.step();
        }
        session.harness.run_steps(2);
        session.harness.state_mut().timeline_mut().expect("a timeline").range().expect("a range")
    };
    let (from_ns, to_ns) = drag(&mut session, 0.2, 0.5);
    // A drag of an edge moves only this edge.
    let longer = drag(&mut session, 0.5, 0.8);
    assert_eq!(longer.0, from_ns);
    assert!(longer.1 > to_ns, "{longer:?} after {to_ns}");
    let turned = drag(&mut session, 0.8, 0.1);
    assert_eq!(turned.1, from_ns, "an edge that passes the other takes its place");
    let lengths = session.harness.query_all_by_role(egui::Role::Button);
    let lengths = lengths.filter_map(|node| node.accesskit_node().label());
    let length = lengths.into_iter().find(|label| label.starts_with("Statistics of the selected ")).expect("a length");
    session.click(&length);
    session.until("the statistics", |session| session.says("of the selected ") && session.says("ListItem: request"));
}

#[test]
fn escape_closes_an_open_menu_and_nothing_behind_it() {
    let mut session = with_request(PointerButton::Primary);
    session.click("View");
    session.until("the menu", |session| session.says("Button: Whole trace"));
    session.press(Modifiers::NONE, Key::Escape);
    session.until("no menu", |session| !session.says("Button: Whole trace"));
    assert!(session.summary().contains("Selected: request"), "{}", session.summary());
    session.press(Modifiers::NONE, Key::Escape);
    session.until("nothing selected", |session| session.summary().contains("Nothing selected."));
}

#[test]
fn the_preferences_hold_what_the_menus_choose_and_change_it() {
    let mut session = Session::with_capture(SCREEN, 1.0);
    session.give("Preferences");
    session.until("the preferences", |session| session.says("Font size"));
    session.harness.run_steps(2);
    let theme = |session: &Session| session.harness.state().theme().shade;
    assert_eq!(theme(&session), longspan::facade::scene::color::Shade::Dark);
    session.click("Light");
    assert_eq!(theme(&session), longspan::facade::scene::color::Shade::Light);
    session.click("Larger text");
    session.until("larger text", |session| session.says("110 %"));
    // The window adopts its new size.
    session.harness.run_steps(3);
    session.click("Tall");
    let tall = |session: &mut Session| {
        session.harness.step();
        session.harness.get_by_label("Tall").accesskit_node().toggled() == Some(egui::accesskit::Toggled::True)
    };
    assert!(tall(&mut session));
}

#[test]
fn in_a_small_window_the_keys_and_the_names_of_marks_can_be_read() {
    let mut session = Session::with_capture(SMALL, 1.0);
    session.give("Keys");
    session.until("the keys", |session| session.says("Mouse and held keys"));
    session.harness.run_steps(3);
    let screen = egui::Rect::from_min_size(Pos2::ZERO, SMALL);
    for text in ["Drag", "Move in time and through the tracks"] {
        let place = session.harness.get_by_label(text).rect();
        assert!(screen.contains_rect(place), "{text} at {place}");
    }
    session.press(Modifiers::NONE, Key::Escape);
    session.press(Modifiers::NONE, Key::M);
    session.give("Markers");
    session.until("the marks", |session| session.says("TextInput: Name of Marker 1"));
    session.harness.run_steps(3);
    let field = session.harness.query_all_by_role(egui::Role::TextInput);
    let field = field.into_iter().find(|node| node.accesskit_node().value().as_deref() == Some("Marker 1"));
    assert!(field.expect("the name").rect().width() > 100.0);
}

#[test]
fn in_the_smallest_window_a_file_can_be_chosen_and_the_choice_be_given_up() {
    let smallest = vec2(480.0, 320.0);
    let screen = egui::Rect::from_min_size(Pos2::ZERO, smallest);
    let mut session = Session::with_capture(smallest, 1.0);
    session.give("Open by path");
    session.until("the dialog", |session| session.says("Name or path"));
    session.harness.run_steps(3);
    for text in ["Up", "Open", "Cancel"] {
        let place = session.harness.get_by_label(text).rect();
        assert!(screen.contains_rect(place), "{text} at {place}");
    }
}

#[test]
fn the_menu_of_files_has_the_recent_traces_second_and_the_way_out_last() {
    let mut session = Session::with_capture(SCREEN, 1.0);
    session.click("File");
    session.harness.run_steps(2);
    let texts = session.node_texts();
    let at = |entry: &str| texts.iter().position(|text| text.starts_with(&format!("Button: {entry}"))).expect(entry);
    assert_eq!(at("Open recent"), at("Open...") + 1, "{texts:?}");
    assert!(at("Quit") > at("Close the tab") && at("Open by path...") > at("Open recent"));
}

#[test]
fn version_licence_and_graphics_card_are_in_the_help_and_not_in_the_line_at_the_bottom() {
    let mut session = Session::with_capture(SCREEN, 1.0);
    session.harness.state_mut().set_adapter("A graphics card".to_owned(), false);
    session.harness.run_steps(3);
    assert!(!session.says("A graphics card"), "it stands nowhere for ever");
    session.give("About Longspan");
    session.until("the facts", |session| session.says("A graphics card") && session.says("MIT OR Apache-2.0"));
    session.click("Copy");
    let lines = crate::copied::copied(&session).expect("lines for a report");
    assert!(lines.starts_with(concat!("Longspan: ", env!("CARGO_PKG_VERSION"), " (")), "{lines}");
    assert!(lines.ends_with("Graphics: A graphics card"), "{lines}");
    session.press(Modifiers::NONE, Key::Escape);
    session.harness.run_steps(2);
    assert!(!session.says("A graphics card"));
}

#[test]
fn the_process_of_the_tracks_in_view_stays_at_the_top_until_the_next_one_pushes_it_out() {
    let mut session = Session::empty(SCREEN, 1.0);
    let span = |pid: u32, tid: u32| format!(r#"{{"ph":"X","name":"a","pid":{pid},"tid":{tid},"ts":{tid},"dur":9}}"#);
    let spans: Vec<String> = [1, 2].into_iter().flat_map(|pid| (0..60).map(move |tid| span(pid, tid))).collect();
    session.open_text("threads.json", &format!("[{}]", spans.join(",")));
    session.harness.run_steps(3);
    let header = |session: &Session, pid: u32| session.harness.get_by_label(&format!("Process {pid}, unfolded")).rect();
    let top = header(&session, 1).top();
    for _ in 0..5 {
        session.press(Modifiers::SHIFT, Key::ArrowDown);
    }
    session.harness.run_steps(8);
    assert!(session.harness.query_by_label("Thread 0, unfolded").is_none(), "it was scrolled out of view");
    assert_eq!(header(&session, 1).top(), top, "the header stayed");
    // A click on it folds the group, as anywhere else.
    let names = session.harness.query_all_by_label_contains("Thread").map(|name| name.rect().top()).collect::<Vec<_>>();
    assert!(names.iter().all(|name| *name >= header(&session, 1).bottom() - 0.5), "no name is under it: {names:?}");
    let mut was_pushed = false;
    for _ in 0..40 {
        session.press(Modifiers::SHIFT, Key::ArrowDown);
        session.harness.run_steps(4);
        let first = session.harness.query_by_label("Process 1, unfolded").map(|header| header.rect());
        let second = session.harness.query_by_label("Process 2, unfolded").map(|header| header.rect());
        if let (Some(first), Some(second)) = (first, second) {
            assert!(first.bottom() <= second.top() + 0.5, "{first} {second}");
            was_pushed |= first.height() < second.height() - 1.0;
        }
        if first.is_none() {
            break;
        }
    }
    assert!(was_pushed, "the next header comes over it");
    assert_eq!(header(&session, 2).top(), top);
    let at = header(&session, 2).center();
    press_button(&mut session, at, PointerButton::Primary);
    session.until("the fold", |session| session.says("Process 2, folded"));
}

#[test]
fn the_list_of_commands_is_as_high_as_ever_after_one_that_was_short() {
    let mut session = Session::with_capture(SCREEN, 1.0);
    session.give("Whole trace");
    session.harness.run_steps(3);
    session.press(Modifiers::COMMAND | Modifiers::SHIFT, Key::P);
    session.harness.run_steps(4);
    session.type_text("theme");
    session.harness.run_steps(4);
    // The third in the list, by the pointer, since items out of view cannot be clicked.
    let place = session.harness.get_by_label("Light theme").rect().center();
    session.left_click(place);
    assert_eq!(session.harness.state().theme().shade, longspan::facade::scene::color::Shade::Light);
}

#[test]
fn a_choice_in_a_submenu_is_given_with_two_clicks() {
    let mut session = Session::with_capture(SCREEN, 1.0);
    session.click("View");
    session.harness.run_steps(2);
    session.click("Theme");
    session.until("the submenu", |session| session.says("Light theme"));
    session.click("Light theme");
    session.harness.run_steps(2);
    assert_eq!(session.harness.state().theme().shade, longspan::facade::scene::color::Shade::Light);
    assert!(!session.says("Dark theme"), "both menus are closed");
}

#[test]
fn the_list_of_commands_is_within_the_smallest_window() {
    let size = vec2(480.0, 320.0);
    let mut session = Session::with_capture(size, 1.0);
    session.press(Modifiers::COMMAND | Modifiers::SHIFT, Key::P);
    session.harness.run_steps(4);
    session.type_text("theme");
    session.harness.run_steps(4);
    let screen = egui::Rect::from_min_size(egui::Pos2::ZERO, size);
    for label in ["Light theme", "Dark theme", "Follow system theme"] {
        let rect = session.harness.get_by_role_and_label(egui::Role::Button, label).rect();
        assert!(screen.contains_rect(rect), "{label}: {rect:?}");
    }
}

#[test]
fn the_history_is_offered_where_there_is_a_view_to_go_to_and_its_keys_do_nothing_else() {
    let mut session = Session::with_capture(SCREEN, 1.0);
    session.harness.run_steps(3);
    let whole = session.summary();
    assert!(!session.offers("Back") && !session.offers("Forward"));
    // Left alone would move the view.
    for key in [Key::ArrowLeft, Key::ArrowRight] {
        session.press(Modifiers::ALT, key);
        session.harness.run_steps(8);
        assert_eq!(session.summary(), whole);
    }
    session.press(Modifiers::NONE, Key::Plus);
    session.until("a closer view", |session| session.summary() != whole);
    assert!(session.offers("Back") && !session.offers("Forward"));
    session.press(Modifiers::ALT, Key::ArrowLeft);
    session.until("the whole again", |session| session.summary() == whole);
    assert!(!session.offers("Back") && session.offers("Forward"));
}

#[test]
fn a_reply_to_a_key_is_shown_for_some_seconds() {
    let mut session = Session::with_capture(SCREEN, 1.0);
    session.harness.run_steps(3);
    session.press(Modifiers::ALT, Key::ArrowLeft);
    session.until("why nothing happens", |session| session.says("Back: There is no earlier view."));
    // Frames are a quarter of a second apart.
    session.harness.run_steps(60);
    assert!(!session.says("Back: There is no earlier view."));
}

#[test]
fn hits_are_gone_to_while_a_search_has_some() {
    let mut session = Session::with_capture(SCREEN, 1.0);
    assert!(!session.offers("Next hit") && !session.offers("Previous hit"), "no search");
    session.press(Modifiers::COMMAND, Key::F);
    session.harness.step();
    session.press(Modifiers::NONE, Key::F3);
    session.type_text("nobody");
    session.until("no hits", |session| session.says("Nothing matches this filter"));
    assert!(!session.offers("Next hit") && !session.offers("Previous hit"), "no hits");
    session.click("Search");
    session.press(Modifiers::COMMAND, Key::A);
    session.type_text("read");
    session.until("the hits", |session| session.says("2 hits"));
    assert!(session.offers("Next hit") && session.offers("Previous hit"));
    session.press(Modifiers::NONE, Key::F3);
    session.until("a hit", |session| session.summary().contains("Selected: read, 200 µs"));
    session.press(Modifiers::NONE, Key::Escape);
    session.until("no search", |session| session.harness.query_by_label("Search").is_none());
    assert!(!session.offers("Next hit"), "closed");
    // The text is searched for again when the field is opened again.
    session.press(Modifiers::COMMAND, Key::F);
    session.until("its hits", |session| session.says("2 hits"));
    session.press(Modifiers::NONE, Key::F3);
    session.until("the next hit", |session| session.summary().contains("Selected: read, 100 µs"));
}

#[test]
fn the_list_of_keys_wraps_within_a_window_of_large_text() {
    // 1024 x 700 pixels with text of 190 %, and a wider one with two columns.
    for size in [vec2(539.0, 368.0), vec2(820.0, 600.0), SCREEN] {
        let mut session = Session::with_capture(size, 1.0);
        session.give("Keys");
        session.until("the keys", |session| session.says("Mouse and held keys"));
        session.harness.run_steps(6);
        let title = session.harness.get_by_label("Mouse and held keys").rect();
        let labels = session.harness.query_all_by_role(egui::Role::Label);
        let places: Vec<_> = labels.map(|label| label.rect()).filter(|place| place.top() >= title.top()).collect();
        assert!(places.len() > 20, "{}", places.len());
        for place in places {
            assert!(place.left() >= 0.0 && place.right() <= size.x, "{place} in {size}");
        }
    }
}

#[test]
fn the_menu_of_the_ruler_adds_a_marker_there_and_that_of_the_marker_names_it_and_counts_from_it() {
    let mut session = Session::with_capture(SCREEN, 1.0);
    session.harness.run_steps(3);
    let ruler = session.harness.get_by_label_contains("Ruler: drag").rect();
    let at = pos2(ruler.left() + ruler.width() * 0.4, ruler.bottom() - 4.0);
    session.right_click(at);
    let node = session.harness.get_by_label("Ruler from the chosen marker");
    assert!(node.accesskit_node().is_disabled());
    assert!(!session.says("Clear the selected time"));
    session.click("Add marker here");
    session.harness.run_steps(3);
    let flag = session.harness.get_by_label("Marker 1").rect();
    assert!((flag.left() - at.x).abs() < 2.0, "{flag} at {at}");
    session.right_click(flag.center());
    session.click("Name of Marker 1");
    session.harness.run_steps(2);
    session.type_text("deploy");
    session.harness.run_steps(3);
    assert!(session.says("Count the ruler from here"), "typing leaves the menu open");
    session.click("Count the ruler from here");
    session.harness.run_steps(4);
    assert!(session.says("Marker deploy"), "{}", session.node_texts().join("\n"));
    assert!(!session.says("Count the ruler from here"), "the menu is closed");
    // The second click opens the menu at the new position.
    session.right_click(at + vec2(200.0, 0.0));
    session.click("Ruler from the start of the trace");
    session.harness.run_steps(3);
    assert!(!session.says("Ruler from the start of the trace"));
}

#[test]
fn the_menu_of_a_marker_measures_the_interval_that_ends_at_it() {
    const ENTRY: &str = "Measure from previous marker";
    let mut session = Session::with_capture(SCREEN, 1.0);
    session.harness.run_steps(3);
    for part in [0.3, 0.5, 0.7] {
        let at = on_track(&session, "main", part);
        session.harness.event(Event::PointerMoved(at));
        session.harness.step();
        session.press(Modifiers::NONE, Key::M);
    }
    assert!(session.offers("Measure between the last two"));
    let flag = session.harness.get_by_label("Marker 3").rect().center();
    session.right_click(flag);
    session.click("Remove");
    session.harness.run_steps(2);
    // One end of the last interval is missing.
    assert!(!session.offers("Measure between the last two"));
    let open = |session: &mut Session, marker: &str| {
        let flag = session.harness.get_by_label(marker).rect().center();
        session.right_click(flag);
        session.harness.get_by_label(ENTRY).accesskit_node().is_disabled()
    };
    assert!(open(&mut session, "Marker 1"), "there is none before the first");
    session.press(Modifiers::NONE, Key::Escape);
    session.harness.run_steps(2);
    let view = session.harness.state_mut().timeline_mut().expect("a timeline").view();
    let width_ns = (view.end_ns() - view.start_ns()) as f64;
    let [from_ns, to_ns] = [0.3, 0.5].map(|part| view.start_ns() + (width_ns * part) as i64);
    let slack_ns = (width_ns * 0.01) as u64;
    assert!(!open(&mut session, "Marker 2"));
    session.click(ENTRY);
    session.harness.run_steps(3);
    let range = session.harness.state_mut().timeline_mut().expect("a timeline").range().expect("an interval");
    assert!(range.0.abs_diff(from_ns) <= slack_ns && range.1.abs_diff(to_ns) <= slack_ns, "{range:?}");
}

#[test]
fn a_trace_that_has_changed_on_disk_can_be_reloaded_and_a_copied_command_says_that_it_has() {
    let mut session = Session::empty(SCREEN, 1.0);
    assert!(!session.offers("Reload"));
    let capture = session.capture.clone();
    let write = |name: &str| {
        let text = format!(r#"[{{"ph":"X","name":"{name}","pid":1,"tid":1,"ts":7,"dur":4}}]"#);
        std::fs::write(&capture, text).expect("written");
    };
    let has_changed = |session: &Session| session.says("has changed since it was opened");
    write("a");
    session.open(std::slice::from_ref(&capture));
    session.press(Modifiers::COMMAND, Key::T);
    session.until("the span", |session| session.says("ListItem: a"));
    session.click("Copy as command");
    session.harness.run_steps(2);
    assert!(!has_changed(&session));
    write("another");
    session.click("Copy as command");
    session.until("the note", has_changed);
    session.give("Reload");
    session.until("the file as it is now", |session| session.says("ListItem: another"));
    session.click("Copy as command");
    session.harness.run_steps(2);
    assert!(!has_changed(&session));
}

/// Returns why a menu entry is disabled; `None` if it is enabled.
fn absence(session: &Session, entry: &str) -> Option<String> {
    let node = session.harness.get_by_role_and_label(egui::Role::Button, entry);
    let node = node.accesskit_node();
    node.is_disabled().then(|| node.description().unwrap_or_default())
}

#[test]
fn a_disabled_entry_says_why_it_is_and_what_to_do() {
    let mut session = Session::empty(SCREEN, 1.0);
    session.click("Analyze");
    session.harness.run_steps(2);
    assert_eq!(absence(&session, "Details").as_deref(), Some("No trace is open"));
    let mut session = Session::with_capture(SCREEN, 1.0);
    session.click("Tracks");
    session.harness.run_steps(2);
    let why = "Select tracks first: Ctrl + click on their names";
    for entry in ["Groups", "Show only the tracks of the scope"] {
        assert_eq!(absence(&session, entry).as_deref(), Some(why), "{entry}");
    }
    assert_eq!(absence(&session, "Order"), None);
    let place = session.harness.get_by_role_and_label(egui::Role::Button, "Groups").rect().center();
    session.harness.event(Event::PointerMoved(place));
    session.until("the tooltip", |session| session.says(&format!("Label: {why}")));
    // A click on it closes nothing, and one beside the menu does.
    session.left_click(place);
    session.harness.run_steps(3);
    assert!(session.says("Show only the tracks of the scope"), "the menu is still open");
    let beside = session.harness.get_by_role(egui::Role::Canvas).rect().center();
    session.left_click(beside);
    session.harness.run_steps(3);
    assert!(!session.says("Show only the tracks of the scope"));
    session.click("Go");
    session.harness.run_steps(2);
    let why = "No trace is live: File > Follow... shows one while it is written";
    assert_eq!(absence(&session, "Live").as_deref(), Some(why));
}

#[test]
fn the_menu_of_a_head_opens_its_flame_graph_and_its_spans_and_adds_it_to_the_scope() {
    let mut session = Session::with_capture(SCREEN, 1.0);
    session.harness.run_steps(3);
    let right = (PointerButton::Secondary, Modifiers::NONE);
    crate::scope::click_head(&mut session, "main", right);
    session.click("Spans of the track");
    session.until("its spans", |session| session.says("ListItem: request") && !session.says("ListItem: write"));
    crate::scope::click_head(&mut session, "Thread 2", right);
    session.click("Add to the scope");
    session.until("all spans", |session| session.says("ListItem: request") && session.says("ListItem: write"));
    crate::scope::click_head(&mut session, "Thread 2", right);
    session.click("Remove from the scope");
    session.until("its spans", |session| session.says("ListItem: request") && !session.says("ListItem: write"));
    crate::scope::click_head(&mut session, "Thread 2", right);
    session.click("Flame graph of the track");
    session.until("the flame graph", |session| session.says("Image: Flame graph of "));
}

#[test]
fn a_screen_reader_clicks_a_name_without_the_keys_of_an_earlier_press() {
    let mut session = Session::with_capture(SCREEN, 1.0);
    session.harness.run_steps(3);
    crate::scope::click_head(&mut session, "main", crate::scope::CTRL);
    let label = crate::scope::head(&session, "main");
    assert!(label.ends_with("in the scope, unfolded"), "{label}");
    session.harness.get_by_label(&label).click_accesskit();
    session.harness.run_steps(3);
    let label = crate::scope::head(&session, "main");
    assert!(label.ends_with("in the scope, folded"), "{label}");
}

#[test]
fn the_menu_bar_opens_by_a_key_and_left_and_right_lead_from_menu_to_menu() {
    for (modifiers, key) in [(Modifiers::NONE, Key::F10), (Modifiers::ALT, Key::F)] {
        let mut session = with_request(PointerButton::Primary);
        session.press(modifiers, key);
        session.until("the first menu", |session| session.says("Quit"));
        assert!(session.harness.get_by_label_contains("Open...").is_focused(), "{}", session.node_texts().join("\n"));
        session.press(Modifiers::NONE, Key::ArrowRight);
        session.until("the next menu", |session| session.says("Copy the span") && !session.says("Quit"));
        session.press(Modifiers::NONE, Key::ArrowLeft);
        session.until("the first again", |session| session.says("Quit"));
        session.press(Modifiers::NONE, Key::ArrowLeft);
        session.until("the last menu", |session| session.says("About Longspan"));
        session.press(Modifiers::NONE, Key::Escape);
        session.until("no menu", |session| !session.says("About Longspan"));
        assert!(session.summary().contains("Selected: request"), "{}", session.summary());
    }
}
