//! Writes JSON for scripts: one object with the nodes of the tree as a list. Nodes are not nested, because JSON parsers
//! reject a few hundred levels, and stacks are deeper.

use std::io::{self, Write};

use super::FlameGraph;
use crate::export::table::json_text;

/// Writes the nodes, each after its parent; the first is the root. Returns the I/O error of `out`.
pub(crate) fn write_json(graph: &FlameGraph<'_>, out: &mut dyn Write) -> io::Result<()> {
    let FlameGraph { event, unit, things, is_inverted, .. } = *graph;
    out.write_all(b"{\"event\":")?;
    json_text(out, event)?;
    out.write_all(b",\"unit\":")?;
    json_text(out, unit)?;
    let (folded, missing) = (graph.picture.folded.paths, graph.measure.amount(graph.missing));
    write!(
        out,
        ",\"of\":\"{things}\",\"inverted\":{is_inverted},\"folded\":{folded},\"missing\":{missing},\"nodes\":["
    )?;
    for (row, node) in graph.nodes().iter().enumerate() {
        out.write_all(if row == 0 { b"\n{\"parent\":null,\"name\":" } else { b",\n{\"parent\":" })?;
        if row > 0 {
            write!(out, "{},\"name\":", node.parent.index())?;
        }
        json_text(out, graph.text(node))?;
        if let Some(category) = graph.picture.functions.category(graph.snapshot, node.function) {
            out.write_all(b",\"category\":")?;
            json_text(out, category)?;
        }
        let (total, own_weight) = graph.weights(node);
        write!(out, ",\"total\":{total},\"self\":{own_weight},\"count\":{}}}", node.own.samples)?;
    }
    out.write_all(b"\n]}\n")
}
