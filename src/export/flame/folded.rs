//! Writes folded stacks: a line per path, `outer;inner;innermost weight`, as flame graph tools read them. Semicolons in
//! names become commas, and control characters are escaped, because both would end a name. A backslash precedes the
//! `#` of a line that would be a comment. Paths of one text, whose functions differ in their categories, are one line.

use std::borrow::Cow;
use std::io::{self, Write};

use rustc_hash::FxHashMap;

use super::{FlameGraph, PATH_FRAMES_MAX, bounded_sums};
use crate::base::escape::escaped;
use crate::model::names::{NO_FRAMES, NO_NAME};
use crate::query::flame::FlameNodeIdx;
use crate::query::samples::SampleSum;

/// Writes the paths with a weight of their own, in order of first appearance. Returns the number of cut paths, or the
/// I/O error of `out`.
pub(crate) fn write_folded(graph: &FlameGraph<'_>, out: &mut dyn Write) -> io::Result<u64> {
    let mut path: Vec<&str> = Vec::new();
    let (mut sums, paths_cut) = bounded_sums(graph.nodes(), PATH_FRAMES_MAX);
    add_equal_paths(graph, &mut sums);
    for (row, sum) in (0..).zip(sums) {
        let own_weight = graph.measure.amount(sum);
        if own_weight == 0 {
            continue;
        }
        path.clear();
        path.extend(graph.path(FlameNodeIdx(row)));
        for (position, &text) in path.iter().rev().enumerate() {
            if position > 0 {
                out.write_all(b";")?;
            } else if text == "#" || text.starts_with("# ") {
                out.write_all(b"\\")?;
            }
            out.write_all(written_name(text).as_bytes())?;
        }
        if path.is_empty() {
            out.write_all(NO_FRAMES.as_bytes())?;
        }
        writeln!(out, " {own_weight}")?;
    }
    Ok(paths_cut)
}

/// Moves the sum of each path to the first path with the same text. Compares names with parents only: whole paths would
/// take gigabytes.
fn add_equal_paths(graph: &FlameGraph<'_>, sums: &mut [SampleSum]) {
    let mut rows: FxHashMap<(usize, Cow<'_, str>), usize> = FxHashMap::default();
    // By row: the first sum with the text of its path.
    let mut firsts: Vec<usize> = Vec::with_capacity(sums.len());
    for (row, node) in graph.nodes().iter().enumerate() {
        let parent = firsts.get(node.parent.index()).copied().filter(|_| row > 0);
        let first = parent.map_or(row, |parent| *rows.entry((parent, written_name(graph.text(node)))).or_insert(row));
        firsts.push(first);
        if first != row {
            let sum = std::mem::take(&mut sums[row]);
            sums[first].add(sum);
        }
    }
}

/// Returns a name as it is written.
fn written_name(text: &str) -> Cow<'_, str> {
    let name = escaped(if text.is_empty() { NO_NAME } else { text });
    if name.contains(';') { name.replace(';', ",").into() } else { name }
}
