//! Writes folded stacks: a line per path, `outer;inner;innermost weight`, as flame graph tools read them. Semicolons in
//! names become commas, and control characters are escaped, because both would end a name. A backslash precedes the
//! `#` of a line that would be a comment.

use std::io::{self, Write};

use super::{FlameGraph, PATH_FRAMES_MAX, bounded_sums};
use crate::base::escape::escaped;
use crate::model::names::{NO_FRAMES, NO_NAME};
use crate::query::flame::FlameNodeIdx;

/// Writes the paths with a weight of their own, in order of first appearance. Returns the number of cut paths, or the
/// I/O error of `out`.
pub(crate) fn write_folded(graph: &FlameGraph<'_>, out: &mut dyn Write) -> io::Result<u64> {
    let mut path: Vec<&str> = Vec::new();
    let (sums, paths_cut) = bounded_sums(graph.nodes(), PATH_FRAMES_MAX);
    for (row, sum) in (0..).zip(sums) {
        let own_weight = graph.measure.amount(sum);
        if own_weight == 0 {
            continue;
        }
        path.clear();
        path.extend(graph.path(FlameNodeIdx(row)));
        for (position, &text) in path.iter().rev().enumerate() {
            let text = if text.is_empty() { NO_NAME } else { text };
            if position > 0 {
                out.write_all(b";")?;
            } else if text == "#" || text.starts_with("# ") {
                out.write_all(b"\\")?;
            }
            out.write_all(escaped(text).replace(';', ",").as_bytes())?;
        }
        if path.is_empty() {
            out.write_all(NO_FRAMES.as_bytes())?;
        }
        writeln!(out, " {own_weight}")?;
    }
    Ok(paths_cut)
}
