//! The options of a flame graph view.

use clap::Args;

use crate::query::flame::{FlameEdit, FlameShape, FlameView, FunctionKey, Measure};

/// The view of a flame graph and its edits.
#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
pub(super) struct LowFlameEdits {
    /// Print each path innermost frame first
    #[arg(long)]
    pub(crate) inverted: bool,
    /// Count spans or samples instead of adding up their weights
    #[arg(long)]
    pub(crate) count: bool,
    /// Only paths with this function, from its outermost call on
    #[arg(long, value_name = "NAME", allow_hyphen_values = true)]
    pub(crate) focus: Option<String>,
    /// Leave out this function and everything that it calls; can be repeated, as
    /// --merge, --collapse-module and --collapse-recursion-of can
    #[arg(long, value_name = "NAME", allow_hyphen_values = true)]
    pub(crate) hide: Vec<String>,
    /// Count this function as a part of its callers
    #[arg(long, value_name = "NAME", allow_hyphen_values = true)]
    pub(crate) merge: Vec<String>,
    /// Show neighbouring frames of this module, by its path or the end of it, or category of spans, as one
    #[arg(long, value_name = "MODULE", allow_hyphen_values = true)]
    pub(crate) collapse_module: Vec<String>,
    /// Show direct and indirect recursion of this function as one call
    #[arg(long, value_name = "NAME", allow_hyphen_values = true)]
    pub(crate) collapse_recursion_of: Vec<String>,
    /// Show each function that calls itself as one call
    #[arg(long)]
    pub(crate) collapse_recursion: bool,
    /// Count functions of the kernel as a part of their callers
    #[arg(long)]
    pub(crate) merge_kernel: bool,
    /// Leave out the paths in which a processor or a program waits for work
    #[arg(long)]
    pub(crate) hide_idle: bool,
    /// Show frames whose name is an address as their module
    #[arg(long)]
    pub(crate) by_module: bool,
}

impl From<LowFlameEdits> for FlameView {
    fn from(low: LowFlameEdits) -> Self {
        // A function of any module.
        let key = |name: String| FunctionKey { name: name.into(), module: None };
        let mut edits = Vec::new();
        edits.extend(low.hide.into_iter().map(key).map(FlameEdit::Hide));
        edits.extend(low.merge.into_iter().map(key).map(FlameEdit::Merge));
        edits.extend(low.collapse_module.into_iter().map(|module| FlameEdit::CollapseModule(module.into())));
        edits.extend(low.collapse_recursion_of.into_iter().map(key).map(FlameEdit::CollapseRecursionOf));
        for (is_on, edit) in [
            (low.collapse_recursion, FlameEdit::CollapseRecursion),
            (low.merge_kernel, FlameEdit::MergeKernel),
            (low.hide_idle, FlameEdit::HideIdle),
            (low.by_module, FlameEdit::UnnamedByModule),
        ] {
            edits.extend(is_on.then_some(edit));
        }
        Self {
            shape: if low.inverted { FlameShape::Inverted } else { FlameShape::TopDown },
            measure: if low.count { Measure::Count } else { Measure::Weight },
            focus: low.focus.map(key),
            edits,
        }
    }
}
