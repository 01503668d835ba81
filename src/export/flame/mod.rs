//! Writes a call tree to a file: folded stacks, SVG, JSON, or pprof. Memory depends only on the tree, which is bounded;
//! there is no recursion, because stacks may be 65,536 frames deep.

mod file;
mod folded;
mod json;
mod pprof;
mod svg;

pub(crate) use file::{FlameFormat, FlameSource, export_flame, write_graph};
pub(crate) use folded::write_folded;

use crate::base::time::{duration_text, grouped_digits};
use crate::export::capped_text;
use crate::model::sample_measure::NANOSECONDS;
use crate::query::Snapshot;
use crate::query::flame::{FlameNode, FlameNodeIdx, FlamePicture, Measure};
use crate::query::samples::SampleSum;
use crate::query::stacks::FoldedPaths;

/// Limit for the frames of a path that is written as a whole, as in async-profiler. The paths of a recursion of 65,536
/// levels would take gigabytes.
pub(crate) const PATH_FRAMES_MAX: u32 = 2048;

/// A tree with the meaning of its weights.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FlameGraph<'a> {
    pub(crate) snapshot: &'a Snapshot,
    pub(crate) picture: &'a FlamePicture,
    /// The measure of the weights.
    pub(crate) measure: Measure,
    /// The sampled event; empty for spans, or if the trace does not name it.
    pub(crate) event: &'a str,
    /// The unit of the weights.
    pub(crate) unit: &'a str,
    /// Noun for the counted rows: spans or samples.
    pub(crate) things: &'static str,
    /// Maximum that a path may lack: small paths count as others of their parents.
    pub(crate) missing: SampleSum,
    /// Whether each path starts with the innermost frame.
    pub(crate) is_inverted: bool,
}

impl<'a> FlameGraph<'a> {
    /// Returns all nodes, the root first, parents before children.
    fn nodes(&self) -> &'a [FlameNode] {
        self.picture.tree.nodes()
    }

    /// Returns the name of a node's function.
    fn text(&self, node: &FlameNode) -> &'a str {
        let picture: &'a FlamePicture = self.picture;
        picture.functions.text(self.snapshot, node.function)
    }

    /// Returns total and own weight of a node.
    fn weights(&self, node: &FlameNode) -> (u64, u64) {
        (self.measure.amount(node.total), self.measure.amount(node.own))
    }

    /// Iterates over the names of a path, innermost first.
    fn path(&self, node: FlameNodeIdx) -> impl Iterator<Item = &'a str> + '_ {
        self.nodes_of_path(node).map(|node| self.text(node))
    }

    /// Iterates over the nodes of a path, innermost first, without the root.
    fn nodes_of_path(&self, node: FlameNodeIdx) -> impl Iterator<Item = &'a FlameNode> + use<'a> {
        let below_root = |node: FlameNodeIdx| (node != FlameNodeIdx::ROOT).then_some(node);
        let tree = &self.picture.tree;
        let nodes = std::iter::successors(below_root(node), move |at| below_root(tree.node(*at).parent));
        nodes.map(|node| tree.node(node))
    }

    /// Describes the weight of paths that are cut because there are too many, or they are too long; `None` without any.
    pub(crate) fn folded_text(&self) -> Option<String> {
        let FoldedPaths { paths, sum } = self.picture.folded;
        let percent = self.measure.amount(sum) as f64 * 100.0 / self.measure.amount(self.picture.whole).max(1) as f64;
        (paths > 0).then(|| folded_text(paths, (!sum.is_empty()).then_some(percent)))
    }

    /// Formats a weight with its unit.
    fn weight_text(&self, weight: u64) -> String {
        if self.unit == NANOSECONDS {
            duration_text(weight)
        } else {
            // Units are plurals, such as `spans` and `bytes`.
            let unit = if weight == 1 { self.unit.strip_suffix('s').unwrap_or(self.unit) } else { self.unit };
            format!("{} {unit}", grouped_digits(weight))
        }
    }
}

/// Returns the sum of each path without its children, in order of the nodes. Paths of more than `frames_max` frames
/// count for their first frames. Also returns the number of such paths.
fn bounded_sums(nodes: &[FlameNode], frames_max: u32) -> (Vec<SampleSum>, u64) {
    let mut sums = vec![SampleSum::default(); nodes.len()];
    let mut paths_cut = 0;
    // The frames of each path, and the node that it counts for.
    let mut paths: Vec<(u32, usize)> = Vec::with_capacity(nodes.len());
    for (row, node) in nodes.iter().enumerate() {
        let (frames, counted_at) = match paths.get(node.parent.index()).filter(|_| row > 0) {
            None => (0, row),
            Some(&(frames, _)) if frames < frames_max => (frames + 1, row),
            Some(&(frames, counted_at)) => (frames, counted_at),
        };
        paths_cut += u64::from(counted_at != row && !node.own.is_empty());
        sums[counted_at].add(node.own);
        paths.push((frames, counted_at));
    }
    (sums, paths_cut)
}

/// The parts of a written graph that differ from the tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct FlameLimits {
    /// Paths that count for their first frames.
    pub(crate) paths_cut: u64,
    /// Values that are written as the maximum.
    pub(crate) values_capped: u64,
}

impl FlameLimits {
    /// Describes each limit that was met.
    pub(crate) fn texts(self) -> impl Iterator<Item = String> {
        [cut_text(self.paths_cut), capped_text(self.values_capped)].into_iter().flatten()
    }
}

/// Describes the paths that are cut where each is written as a whole; `None` without any.
fn cut_text(paths_cut: u64) -> Option<String> {
    let are = if paths_cut == 1 { "path is cut to its" } else { "paths are cut to their" };
    (paths_cut > 0)
        .then(|| format!("{paths_cut} {are} first {PATH_FRAMES_MAX} frames, the maximum of the format; JSON has all"))
}

/// Describes paths that are merged, and their share of the total if it is known.
fn folded_text(paths: u64, percent: Option<f64>) -> String {
    let merged = if paths == 1 { "path is merged" } else { "paths are merged" };
    let share = percent.map(|percent| format!("; {percent:.2} % of the total is in [others] of shorter paths"));
    format!("{paths} {merged}, because there are too many, or they are too long{}", share.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::flame::test_tree;

    #[test]
    fn paths_of_too_many_frames_count_for_their_first_frames() {
        let tree = test_tree((0..4).map(|parent| (parent, SampleSum { samples: 1, weight: u64::from(parent) + 1 })));
        let weights = |frames_max| {
            let (sums, paths_cut) = bounded_sums(tree.nodes(), frames_max);
            (sums.iter().map(|sum| sum.weight).collect::<Vec<_>>(), paths_cut)
        };
        assert_eq!(weights(4), (vec![0, 1, 2, 3, 4], 0));
        assert_eq!(weights(2), (vec![0, 1, 9, 0, 0], 2));
    }

    #[test]
    fn merged_paths_are_said_in_full_sentences() {
        assert_eq!(folded_text(1, None), "1 path is merged, because there are too many, or they are too long");
        let text = "2 paths are merged, because there are too many, or they are too long; 3.00 % of the total is in [others] of \
                    shorter paths";
        assert_eq!(folded_text(2, Some(3.0)), text);
        let text = "path is cut to its first 2048 frames, the maximum of the format; JSON has all";
        assert_eq!((cut_text(0), cut_text(1)), (None, Some(format!("1 {text}"))));
        assert!(cut_text(2).is_some_and(|text| text.starts_with("2 paths are cut to their first 2048 frames,")));
    }
}
