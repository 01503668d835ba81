//! A tree of call paths as a file: folded stacks, a picture, JSON, or a profile of pprof. Holds no more than the tree,
//! which is bounded; draws and writes without recursion, since stacks may be 65,536 frames deep.

mod folded;
mod json;
mod pprof;
mod svg;

pub(crate) use folded::write_folded;
pub(crate) use json::write_json;
pub(crate) use pprof::write_pprof;
pub(crate) use svg::write_svg;

use crate::base::time::{duration_text, grouped_digits};
use crate::model::sample_measure::NANOSECONDS;
use crate::query::Snapshot;
use crate::query::flame::{FlameNode, FlameNodeIdx, FlamePicture, Measure};
use crate::query::samples::SampleSum;

/// A tree with the meaning of its weights.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FlameGraph<'a> {
    pub(crate) snapshot: &'a Snapshot,
    pub(crate) picture: &'a FlamePicture,
    /// The number that weights are.
    pub(crate) measure: Measure,
    /// The event that was sampled; empty if the trace does not name it, or for spans.
    pub(crate) event: &'a str,
    /// The unit of the weights.
    pub(crate) unit: &'a str,
    /// The things that are counted: spans or samples.
    pub(crate) things: &'static str,
    /// The most that a path may have beyond its sums: small paths count as others of those above them.
    pub(crate) missing: SampleSum,
    /// Whether each path begins with the innermost frame.
    pub(crate) is_inverted: bool,
}

impl<'a> FlameGraph<'a> {
    /// All nodes, the root first, parents before their children.
    fn nodes(&self) -> &'a [FlameNode] {
        self.picture.tree.nodes()
    }

    /// The name of a node's function.
    fn text(&self, node: &FlameNode) -> &'a str {
        let picture: &'a FlamePicture = self.picture;
        picture.functions.text(self.snapshot, node.function)
    }

    /// The weight of a node with all that is below it, and that of its own.
    fn weights(&self, node: &FlameNode) -> (u64, u64) {
        (self.measure.of(node.total), self.measure.of(node.own))
    }

    /// The names of a path, innermost first.
    fn path(&self, node: FlameNodeIdx) -> impl Iterator<Item = &'a str> + '_ {
        let below_root = |node: FlameNodeIdx| (node != FlameNodeIdx::ROOT).then_some(node);
        let tree = &self.picture.tree;
        let nodes = std::iter::successors(below_root(node), move |at| below_root(tree.node(*at).parent));
        nodes.map(|node| self.text(tree.node(node)))
    }

    /// A weight with its unit, for a person.
    fn weight_text(&self, weight: u64) -> String {
        if self.unit == NANOSECONDS {
            duration_text(weight)
        } else {
            format!("{} {}", grouped_digits(weight), self.unit)
        }
    }
}
