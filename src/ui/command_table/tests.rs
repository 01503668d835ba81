//! The command table: its order, its keys, and the documented list of keys.

use std::fmt::Write;

use super::*;
use crate::base::generated_docs::assert_generated;

#[test]
#[cfg(not(target_os = "macos"))] // other names of keys
fn keys_in_the_docs_are_those_of_the_table() {
    let ctx = egui::Context::default();
    let mut text = String::from("| mouse and held keys | |\n|---|---|\n");
    GESTURES.iter().for_each(|(keys, what)| writeln!(text, "| {keys} | {what} |").unwrap());
    for menu in Menu::ALL {
        let entries = TABLE.iter().filter(|entry| entry.menu == menu && !entry.keys.is_empty());
        let rows = entries.map(|entry| {
            let keys: Vec<_> = entry.keys.iter().map(|key| format!("`{}`", key_text(&ctx, *key))).collect();
            format!("| {} | {} |\n", keys.join(", "), entry.title)
        });
        let rows: String = rows.collect();
        if !rows.is_empty() {
            write!(text, "\n| {} | |\n|---|---|\n{rows}", menu.title()).unwrap();
        }
    }
    assert_generated("keys.md", "the table of commands", &text);
}

#[test]
fn no_two_commands_share_a_key_or_a_title() {
    // A key may have another meaning while a trace runs.
    for left_out in [When::Live, When::StillSpan] {
        let entries = TABLE.iter().filter(|entry| entry.when != left_out);
        let keys: Vec<_> = entries.flat_map(|entry| entry.keys).collect();
        for (index, key) in keys.iter().enumerate() {
            assert!(!keys[index + 1..].contains(key), "{key:?}");
        }
    }
    let keys: Vec<_> = TABLE.iter().flat_map(|entry| entry.keys).collect();
    for (index, entry) in TABLE.iter().enumerate() {
        assert!(TABLE[index + 1..].iter().all(|other| other.title != entry.title), "{}", entry.title);
    }
    // The held keys for navigation must stay free.
    for held in [Key::W, Key::A, Key::S, Key::D] {
        assert!(!keys.contains(&&plain(held)), "{held:?}");
    }
}

#[test]
fn the_commands_of_a_menu_are_adjacent_and_start_without_a_separator() {
    let menus: Vec<_> = TABLE.iter().map(|entry| entry.menu).collect();
    let mut order = menus.clone();
    order.dedup();
    assert_eq!(order, Menu::ALL);
    for menu in Menu::ALL {
        let first = TABLE.iter().find(|entry| entry.menu == menu).unwrap();
        assert!(!first.begins_section, "{}", first.title);
    }
}

#[test]
fn a_menu_has_at_most_twelve_entries_and_those_of_a_submenu_are_adjacent() {
    for menu in Menu::ALL {
        let entries: Vec<_> = TABLE.iter().filter(|entry| entry.menu == menu).collect();
        let shown: Vec<_> = entries.chunk_by(|a, b| a.submenu.is_some() && a.submenu == b.submenu).collect();
        assert!(shown.len() <= 12, "{} has {}", menu.title(), shown.len());
        let mut submenus: Vec<_> = shown.iter().filter_map(|entries| entries[0].submenu).collect();
        let count = submenus.len();
        submenus.sort_unstable();
        submenus.dedup();
        assert_eq!(submenus.len(), count, "{}: {submenus:?}", menu.title());
        for entries in shown {
            assert!(entries.len() <= 12, "{:?}", entries[0].submenu);
            assert!(entries[0].submenu.is_none() || entries.len() > 1, "a list of one: {}", entries[0].title);
        }
    }
}
