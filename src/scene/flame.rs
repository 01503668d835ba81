//! Lays out the bars of a flame graph: each as wide as its share, below its caller. Children too narrow to see are one
//! bar with their exact sum. The work grows with the bars, not with the tree.

use crate::query::flame::{FlameNodeIdx, FlameTree, FunctionIdx, Measure};
use crate::query::samples::SampleSum;

/// Bars narrower than this, in points, are merged into one.
const WIDTH_MIN: f64 = 1.5;

/// Limit for the bars of a picture: some ninety per row of pixels of a large screen. Deeper levels need a zoom.
const BARS_MAX: usize = 200_000;

/// A bar of a [`FlameLayout`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct FlameBar {
    pub(crate) content: BarContent,
    /// Left and right end, in points from the left end of the picture.
    pub(crate) left: f32,
    pub(crate) right: f32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BarContent {
    Node(FlameNodeIdx),
    /// The children of a node that are too narrow, and children without a separate node.
    Others {
        parent: FlameNodeIdx,
        /// `None` if some children have no node.
        count: Option<usize>,
        sum: SampleSum,
    },
}

/// The bars below a node, level by level.
#[derive(Debug, Default)]
pub(crate) struct FlameLayout {
    bars: Vec<FlameBar>,
    /// Index of the first bar of each level, and the end of all.
    levels: Vec<usize>,
    /// Whether deeper levels were left out.
    pub(crate) is_cut: bool,
}

pub(crate) type NamesOf<'f, 't> = &'f dyn Fn(FunctionIdx) -> &'t str;

/// The order of sibling bars.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum BarOrder {
    #[default]
    HeaviestFirst,
    /// By function name, so that two pictures can be compared.
    ByName,
}

impl FlameLayout {
    /// Lays out a node and its descendants. `texts` gives the names of functions for ordering by name.
    #[must_use]
    pub(crate) fn new(
        tree: &FlameTree,
        root: FlameNodeIdx,
        measure: Measure,
        width: f32,
        texts: Option<NamesOf<'_, '_>>,
    ) -> Self {
        Self::with_limit(tree, root, measure, width, texts, BARS_MAX)
    }

    fn with_limit(
        tree: &FlameTree,
        root: FlameNodeIdx,
        measure: Measure,
        width: f32,
        texts: Option<NamesOf<'_, '_>>,
        bars_max: usize,
    ) -> Self {
        let whole = measure.amount(tree.node(root).total);
        let mut layout = Self { bars: Vec::new(), levels: vec![0], is_cut: false };
        if whole == 0 {
            return layout;
        }
        // Totals beyond 64 bits are capped, so that children may exceed the total of their parent.
        let per_weight = (whole < u64::MAX).then(|| f64::from(width) / whole as f64);
        layout.bars.push(FlameBar { content: BarContent::Node(root), left: 0.0, right: width });
        let mut first = 0;
        while first < layout.bars.len() {
            let end = layout.bars.len();
            layout.levels.push(end);
            if end >= bars_max {
                layout.is_cut = true;
                break;
            }
            for index in first..end {
                layout.push_children(index, tree, measure, per_weight, texts);
            }
            first = end;
        }
        layout
    }

    /// Appends the bars of the children of a bar, and one bar for all children that are too narrow. Without
    /// `per_weight`, the scale is chosen so that the children fit the bar.
    fn push_children(
        &mut self,
        bar: usize,
        tree: &FlameTree,
        measure: Measure,
        per_weight: Option<f64>,
        texts: Option<NamesOf<'_, '_>>,
    ) {
        let FlameBar { content: BarContent::Node(node), left, right } = self.bars[bar] else { return };
        let weight = |node: FlameNodeIdx| measure.amount(tree.node(node).total);
        let children = tree.children(node);
        let per_weight = per_weight.unwrap_or_else(|| {
            let of_children: u128 = children.iter().map(|&child| u128::from(weight(child))).sum();
            f64::from(right - left) / of_children.max(weight(node).into()) as f64
        });
        // Sorted heaviest first, so the wide ones come first.
        let wide = children.partition_point(|&child| weight(child) as f64 * per_weight >= WIDTH_MIN);
        let mut drawn = children[..wide].to_vec();
        let has_others = tree.has_others(node);
        drawn.retain(|&child| !has_others || tree.node(child).function != FunctionIdx::OTHERS);
        if let Some(text) = texts {
            drawn.sort_by_key(|&child| text(tree.node(child).function));
        }
        let left_out = children.len() - drawn.len();
        let mut others = tree.node(node).total;
        others.subtract(tree.node(node).own);
        let mut left = f64::from(left);
        let mut push = |content: BarContent, weight: u64| {
            let right = left + weight as f64 * per_weight;
            self.bars.push(FlameBar { content, left: left as f32, right: right as f32 });
            left = right;
        };
        for child in drawn {
            others.subtract(tree.node(child).total);
            push(BarContent::Node(child), weight(child));
        }
        if left_out > 0 && measure.amount(others) as f64 * per_weight >= WIDTH_MIN {
            let count = (!has_others).then_some(left_out);
            push(BarContent::Others { parent: node, count, sum: others }, measure.amount(others));
        }
    }

    /// Returns the number of levels, including the root.
    #[must_use]
    pub(crate) fn levels(&self) -> usize {
        self.levels.len().saturating_sub(1)
    }

    /// Returns the bars of a level, left to right.
    #[must_use]
    pub(crate) fn level(&self, level: usize) -> &[FlameBar] {
        &self.bars[self.levels[level]..self.levels[level + 1]]
    }

    /// Returns all bars, level by level.
    #[cfg(test)]
    #[must_use]
    pub(crate) fn bars(&self) -> &[FlameBar] {
        &self.bars
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::flame::{test_tree, tree_of_functions};

    /// Builds a tree of nodes with their parents and own weights.
    fn tree(nodes: &[(u32, u64)]) -> FlameTree {
        test_tree(nodes.iter().map(|&(parent, weight)| (parent, SampleSum { samples: 1, weight })))
    }

    fn texts(layout: &FlameLayout) -> Vec<String> {
        let text = |bar: &FlameBar| {
            let range = format!("{}..{}", bar.left, bar.right);
            match bar.content {
                BarContent::Node(node) => format!("{} {range}", node.0),
                BarContent::Others { parent, count, sum } => {
                    let count = count.map_or_else(String::new, |count| format!("{count} "));
                    format!("{count}others of {} with {} in {} {range}", parent.0, sum.weight, sum.samples)
                }
            }
        };
        layout.bars().iter().map(text).collect()
    }

    #[test]
    fn narrow_bars_are_merged_into_one_with_their_exact_sum() {
        // 100 points: 60 and 39 times 1 below the root, and 5 below the first.
        let mut nodes = vec![(0, 55), (1, 5)];
        nodes.extend(vec![(0, 1); 39]);
        nodes.push((0, 1));
        let tree = tree(&nodes);
        let layout = FlameLayout::new(&tree, FlameNodeIdx::ROOT, Measure::Weight, 100.0, None);
        let expected = ["0 0..100", "1 0..60", "40 others of 0 with 40 in 40 60..100", "2 0..5"];
        assert_eq!(texts(&layout), expected);
        assert_eq!((layout.levels(), layout.level(1).len()), (3, 2));
        // A wide picture has room for each.
        let layout = FlameLayout::new(&tree, FlameNodeIdx::ROOT, Measure::Weight, 1000.0, None);
        assert_eq!(layout.bars().len(), 43);
        // In focus, the bar takes the full width.
        let layout = FlameLayout::new(&tree, FlameNodeIdx(1), Measure::Weight, 120.0, None);
        assert_eq!(texts(&layout), ["1 0..120", "2 0..10"]);
    }

    #[test]
    fn children_beyond_the_largest_total_stay_within_the_bar_of_their_parent() {
        let half = 1 << 63;
        let tree = tree(&[(0, half), (0, half), (0, half), (1, half), (2, half), (2, half)]);
        let layout = FlameLayout::new(&tree, FlameNodeIdx::ROOT, Measure::Weight, 100.0, None);
        let [level, inner] = [1, 2].map(|level| layout.level(level).to_vec());
        assert_eq!((level.len(), inner.len()), (3, 3));
        for bars in [&level, &inner] {
            assert!(bars.iter().all(|bar| bar.left < bar.right && bar.right <= 100.001), "{bars:?}");
            assert!(bars.is_sorted_by(|one, next| one.right <= next.left), "{bars:?}");
        }
        assert!((level[2].right - 100.0).abs() < 1e-3, "{level:?}");
    }

    #[test]
    fn paths_without_a_node_are_one_bar_with_those_that_are_too_narrow() {
        // The second node is others: 30, beside 60 and five ones.
        let mut nodes = vec![(0, 60), (0, 30)];
        nodes.extend(vec![(0, 2); 5]);
        let sum = |weight| SampleSum { samples: 1, weight };
        let functions = [3, FunctionIdx::OTHERS.0, 4, 5, 6, 7, 8];
        let nodes = nodes.into_iter().zip(functions);
        let tree = tree_of_functions(nodes.map(|((parent, own), function)| (parent, function, sum(own))));
        let layout = FlameLayout::new(&tree, FlameNodeIdx::ROOT, Measure::Weight, 50.0, None);
        assert_eq!(texts(&layout), ["0 0..50", "1 0..30", "others of 0 with 40 in 6 30..50"]);
        let layout = FlameLayout::new(&tree, FlameNodeIdx::ROOT, Measure::Weight, 100.0, None);
        assert_eq!(texts(&layout)[6..], ["7 68..70", "others of 0 with 30 in 1 70..100"]);
    }

    #[test]
    fn bars_are_in_the_order_of_their_names_or_weights() {
        let tree = tree(&[(0, 1), (0, 3), (0, 2)]);
        // Functions have the indices of their nodes, which follow the root and the others.
        let names = ["c", "b", "a"];
        let text = |function: FunctionIdx| names[function.index() - 2];
        let layout = FlameLayout::new(&tree, FlameNodeIdx::ROOT, Measure::Weight, 60.0, Some(&text));
        assert_eq!(texts(&layout)[1..], ["3 0..20", "2 20..50", "1 50..60"]);
        let layout = FlameLayout::new(&tree, FlameNodeIdx::ROOT, Measure::Weight, 60.0, None);
        assert_eq!(texts(&layout)[1..], ["2 0..30", "3 30..50", "1 50..60"]);
        let layout = FlameLayout::new(&tree, FlameNodeIdx::ROOT, Measure::Count, 60.0, None);
        assert_eq!(layout.bars().len(), 4);
    }

    #[test]
    fn work_is_bounded_by_the_pixels() {
        // A million children of the root: one bar of others.
        let many = tree(&vec![(0, 1); 1 << 20]);
        let layout = FlameLayout::new(&many, FlameNodeIdx::ROOT, Measure::Weight, 1000.0, None);
        assert_eq!(layout.bars().len(), 2);
        // A stack of 65,536 frames is cut where the picture is full.
        let deep = tree(&(0..1 << 16).map(|parent| (parent, 1)).collect::<Vec<_>>());
        let layout = FlameLayout::with_limit(&deep, FlameNodeIdx::ROOT, Measure::Weight, 1e6, None, 500);
        assert!(layout.is_cut);
        assert_eq!(layout.bars().len(), 500);
        let none = FlameTree::default();
        assert_eq!(FlameLayout::new(&none, FlameNodeIdx::ROOT, Measure::Weight, 100.0, None).levels(), 0);
    }
}
