//! Menus and windows: what the right button offers, what Escape closes, what is chosen in the preferences, and that all of it
//! can be read in a small window.

use egui::{Event, Key, Modifiers, PointerButton, Pos2, Vec2, pos2, vec2};
use egui_kittest::kittest::{NodeT, Queryable};

use crate::desk::Desk;

const SCREEN: Vec2 = vec2(1280.0, 800.0);
const SMALL: Vec2 = vec2(640.0, 400.0);

/// A point on the span of a track: in the first lane of its rows, at a part of the time in view.
fn on_track(desk: &Desk, track: &str, part: f32) -> Pos2 {
    let canvas = desk.harness.get_by_role(egui::Role::Canvas).rect();
    let nodes = desk.harness.root().children_recursive();
    let mut names = nodes.filter(|node| {
        let label = node.accesskit_node().label().unwrap_or_default();
        label.starts_with(track) && label.ends_with("folded")
    });
    let name = names.next().unwrap_or_else(|| panic!("no {track}:\n{}", desk.told().join("\n")));
    pos2(canvas.left() + canvas.width() * part, name.rect().top() + 12.0)
}

fn press_button(desk: &mut Desk, at: Pos2, button: PointerButton) {
    desk.harness.event(Event::PointerMoved(at));
    desk.harness.step();
    for pressed in [true, false] {
        desk.harness.event(Event::PointerButton { pos: at, button, pressed, modifiers: Modifiers::NONE });
        desk.harness.step();
    }
    desk.harness.run_steps(2);
}

/// A capture on which a request was clicked with a button, which selects it.
fn with_request(button: PointerButton) -> Desk {
    let mut desk = Desk::with_capture(SCREEN, 1.0);
    desk.harness.run_steps(3);
    let at = on_track(&desk, "main", 0.45);
    press_button(&mut desk, at, button);
    assert!(desk.summary().contains("Selected: request"), "{}", desk.summary());
    desk
}

#[test]
fn the_right_button_selects_the_span_under_it_and_offers_what_can_be_done_with_it() {
    let mut desk = with_request(PointerButton::Secondary);
    for offered in ["Zoom to the span", "Copy the span", "Search for this name", "Mark this moment", "Hide the track"] {
        assert!(desk.says(offered), "{offered}:\n{}", desk.told().join("\n"));
    }
    assert!(!desk.says("Statistics of this time"), "no time is selected");
    desk.click("Statistics of this name");
    desk.until("the name chosen in the statistics", |desk| desk.says("Label: Over time"));
    assert!(desk.says("Label: request"), "{}", desk.told().join("\n"));
    // Where nothing is, there is still the moment.
    let at = on_track(&desk, "main", 0.99);
    press_button(&mut desk, at, PointerButton::Secondary);
    assert!(!desk.says("Zoom to the span"));
    desk.harness.get_by_label_contains("Mark this moment").click();
    desk.harness.step();
    desk.until("a mark where the menu was opened", |desk| desk.says("Button: Mark Mark 1"));
}

#[test]
fn selected_time_says_how_long_it_is_and_a_click_there_adds_up_what_is_in_it() {
    let mut desk = Desk::with_capture(SCREEN, 1.0);
    desk.harness.run_steps(3);
    let ruler = desk.harness.get_by_label("Ruler: drag to select time").rect();
    let drag = |desk: &mut Desk, from: f32, to: f32| {
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
            desk.harness.event(event);
            desk.harness.step();
        }
        desk.harness.run_steps(2);
        desk.harness.state_mut().timeline_mut().expect("a timeline").range().expect("a range")
    };
    let (from_ns, to_ns) = drag(&mut desk, 0.2, 0.5);
    // An edge that is taken hold of moves alone.
    let longer = drag(&mut desk, 0.5, 0.8);
    assert_eq!(longer.0, from_ns);
    assert!(longer.1 > to_ns, "{longer:?} after {to_ns}");
    let turned = drag(&mut desk, 0.8, 0.1);
    assert_eq!(turned.1, from_ns, "an edge that passes the other takes its place");
    let lengths = desk.harness.query_all_by_role(egui::Role::Button);
    let lengths = lengths.filter_map(|node| node.accesskit_node().label());
    let length = lengths.into_iter().find(|label| label.starts_with("Statistics of the selected ")).expect("a length");
    desk.click(&length);
    desk.until("the statistics", |desk| desk.says("of the selected ") && desk.says("ListItem: request"));
}

#[test]
fn escape_closes_an_open_menu_and_nothing_behind_it() {
    let mut desk = with_request(PointerButton::Primary);
    desk.click("View");
    desk.until("the menu", |desk| desk.says("Button: Whole capture"));
    desk.press(Modifiers::NONE, Key::Escape);
    desk.until("no menu", |desk| !desk.says("Button: Whole capture"));
    assert!(desk.summary().contains("Selected: request"), "{}", desk.summary());
    desk.press(Modifiers::NONE, Key::Escape);
    desk.until("nothing selected", |desk| desk.summary().contains("Nothing selected."));
}

#[test]
fn the_preferences_hold_what_the_menus_choose_and_change_it() {
    let mut desk = Desk::with_capture(SCREEN, 1.0);
    desk.give("Preferences");
    desk.until("the preferences", |desk| desk.says("Size of text"));
    desk.harness.run_steps(2);
    let theme = |desk: &Desk| desk.harness.state().theme().shade;
    assert_eq!(theme(&desk), longspan::facade::scene::color::Shade::Dark);
    desk.click("Light");
    assert_eq!(theme(&desk), longspan::facade::scene::color::Shade::Light);
    desk.click("Larger text");
    desk.until("larger text", |desk| desk.says("110 %"));
    desk.click("Tall");
    let tall = |desk: &mut Desk| {
        desk.harness.step();
        desk.harness.get_by_label("Tall").accesskit_node().toggled() == Some(egui::accesskit::Toggled::True)
    };
    assert!(tall(&mut desk));
}

#[test]
fn in_a_small_window_the_keys_and_the_names_of_marks_can_be_read() {
    let mut desk = Desk::with_capture(SMALL, 1.0);
    desk.give("Keys");
    desk.until("the keys", |desk| desk.says("Mouse and held keys"));
    desk.harness.run_steps(3);
    let screen = egui::Rect::from_min_size(Pos2::ZERO, SMALL);
    for text in ["Drag", "Move in time and through the rows"] {
        let place = desk.harness.get_by_label(text).rect();
        assert!(screen.contains_rect(place), "{text} at {place}");
    }
    desk.press(Modifiers::NONE, Key::Escape);
    desk.press(Modifiers::NONE, Key::M);
    desk.give("List of marks");
    desk.until("the marks", |desk| desk.says("TextInput: Name of Mark 1"));
    desk.harness.run_steps(3);
    let field = desk.harness.query_all_by_role(egui::Role::TextInput);
    let field = field.into_iter().find(|node| node.accesskit_node().value().as_deref() == Some("Mark 1"));
    assert!(field.expect("the name").rect().width() > 100.0);
}

#[test]
fn in_the_smallest_window_a_file_can_be_chosen_and_the_choice_be_given_up() {
    let smallest = vec2(480.0, 320.0);
    let screen = egui::Rect::from_min_size(Pos2::ZERO, smallest);
    let mut desk = Desk::with_capture(smallest, 1.0);
    desk.give("Open by path");
    desk.until("the dialog", |desk| desk.says("Name or path"));
    desk.harness.run_steps(3);
    for text in ["Up", "Open", "Cancel"] {
        let place = desk.harness.get_by_label(text).rect();
        assert!(screen.contains_rect(place), "{text} at {place}");
    }
}
