//! Names that several functions have: they differ in their categories, or are written alike.

use std::fs;

use serde_json::Value;

use crate::harness::{folder, longspan, text};

#[test]
fn paths_of_equal_text_are_one_line_and_nodes_of_json_have_their_categories() {
    let folder = folder();
    let file = folder.path().join("spans.json");
    let span = |(name, category, ts, dur): (&str, &str, u32, u32)| {
        format!(r#"{{"ph":"X","name":"{name}","cat":"{category}","ts":{ts},"dur":{dur},"pid":1,"tid":1}}"#)
    };
    let spans = [
        ("a", "x", 0, 10),
        ("b;c", "x", 0, 1),
        ("a", "y", 10, 10),
        ("b,c", "x", 10, 2),
        ("d", "", 12, 3),
        ("e", "x", 20, 1),
    ];
    fs::write(&file, format!("[{}]", spans.map(span).join(","))).expect("written");
    let flame = |format: &str| longspan(&["flame", "--no-cache", text(&file), "--format", format]).done();
    let mut lines: Vec<String> = flame("folded").lines().map(str::to_owned).collect();
    lines.sort_unstable();
    assert_eq!(lines, ["a 14000", "a;b,c 3000", "a;d 3000", "e 1000"]);
    let tree: Value = serde_json::from_str(&flame("json")).expect("JSON");
    let nodes = tree["nodes"].as_array().expect("an array");
    let mut found: Vec<_> = nodes.iter().map(|node| (node["name"].as_str(), node["category"].as_str())).collect();
    found.sort_unstable();
    let named = [("", None), ("a", Some("x")), ("a", Some("y")), ("b,c", Some("x")), ("b;c", Some("x")), ("d", None)];
    let expected = named.into_iter().chain([("e", Some("x"))]);
    assert_eq!(found, expected.map(|(name, category)| (Some(name), category)).collect::<Vec<_>>());
}
