//! Flame graphs of more paths than fit into memory.

use std::fs;

use crate::harness::{folder, longspan, text};

#[test]
fn the_stated_share_of_merged_paths_is_that_of_the_written_graph() {
    let folder = folder();
    let file = folder.path().join("stacks.folded");
    let stack = |stack| format!("main;f{};g{stack} {}\n", stack % 1000, 1 + stack % 7);
    let stacks = (0..40_000).map(stack).collect::<Vec<_>>().concat();
    fs::write(&file, stacks).expect("written");
    for args in [&["--inverted"][..], &[]] {
        let output = longspan(&[&["flame", "--no-cache", "--memory", "8MiB", text(&file)], args].concat());
        let message = output.stderr.clone();
        let (mut others, mut total) = (0, 0);
        for line in output.done().lines() {
            let (path, weight) = line.rsplit_once(' ').expect("a path and its weight");
            let weight: u64 = weight.parse().expect("a number");
            total += weight;
            others += if path.contains("[others]") { weight } else { 0 };
        }
        let share = format!("{:.2} % of the total is in [others]", others as f64 * 100.0 / total as f64);
        assert!(others > 0 && message.contains(&share), "{args:?}: {message}, and {share}");
        let paths: u64 = message.split(' ').find_map(|word| word.parse().ok()).expect("a number of paths");
        assert!(paths <= 40_000, "{args:?}: {message}");
    }
}
