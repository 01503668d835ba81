//! The navigation history of the flame graph: the view, and the bars that fill the width.

use crate::base::direction::Direction;
use crate::query::Snapshot;
use crate::query::flame::{
    FlameEdit, FlameNodeIdx, FlamePicture, FlameShape, FlameTree, FlameView, FunctionKey, Measure, is_unnamed,
};
use crate::ui::questions::FlameAnswer;

/// Limit for the states to go back to.
const STATES_MAX: usize = 100;

/// A part of the picture; a sandwich has two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FlamePart {
    /// The paths, or the callees of the function of a sandwich.
    Tree = 0,
    /// The callers of the function of a sandwich.
    Callers = 1,
}

/// A view and its zoom: for each part, the path of the bar that fills the width. The path starts at the child of the
/// root, and is empty for the root itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FlameState {
    pub(super) view: FlameView,
    pub(super) roots: [Vec<FunctionKey>; 2],
}

impl Default for FlameState {
    /// Addresses are useless in a picture, so unnamed frames are shown by module.
    fn default() -> Self {
        let view = FlameView { edits: vec![FlameEdit::UnnamedByModule], ..FlameView::default() };
        Self { view, roots: [Vec::new(), Vec::new()] }
    }
}

impl FlameState {
    /// Drops the edits, the focus and the bars of functions that have other names now.
    pub(super) fn retain_known(&mut self, snapshot: &Snapshot, answer: &FlameAnswer) {
        self.view.retain_known(snapshot, &answer.paths.tree);
        for part in [FlamePart::Tree, FlamePart::Callers] {
            let root = &mut self.roots[part as usize];
            *root = tree_of(&answer.picture, part).map_or_else(Vec::new, |tree| {
                keys_of(snapshot, &answer.picture, tree, node_of(snapshot, &answer.picture, tree, root))
            });
        }
    }
}

/// The states before and after the current one.
#[derive(Debug, Default)]
pub(super) struct FlameHistory {
    pub(super) current: FlameState,
    back: Vec<FlameState>,
    forward: Vec<FlameState>,
}

impl FlameHistory {
    /// Creates a history that begins with a state.
    pub(super) fn at(current: FlameState) -> Self {
        Self { current, ..Self::default() }
    }

    /// Goes to another state, and records the current one.
    pub(super) fn go(&mut self, state: FlameState) {
        if state == self.current {
            return;
        }
        if self.back.len() >= STATES_MAX {
            self.back.remove(0);
        }
        self.back.push(std::mem::replace(&mut self.current, state));
        self.forward.clear();
    }

    pub(super) fn step(&mut self, direction: Direction) {
        let (from, to) = match direction {
            Direction::Backward => (&mut self.back, &mut self.forward),
            Direction::Forward => (&mut self.forward, &mut self.back),
        };
        if let Some(state) = from.pop() {
            to.push(std::mem::replace(&mut self.current, state));
        }
    }

    pub(super) fn can_step(&self, direction: Direction) -> bool {
        match direction {
            Direction::Backward => !self.back.is_empty(),
            Direction::Forward => !self.forward.is_empty(),
        }
    }

    /// Goes to another shape, which has other bars.
    pub(super) fn set_shape(&mut self, shape: FlameShape) {
        let view = FlameView { shape, ..self.current.view.clone() };
        self.go(FlameState { view, roots: [Vec::new(), Vec::new()] });
    }

    /// Goes to a sandwich of a function in all paths. Unnamed frames stay shown by module, unless the function is
    /// unnamed.
    pub(super) fn set_unedited_sandwich(&mut self, function: FunctionKey) {
        let mut state = self.current.clone();
        let is_unnamed = is_unnamed(&function.name);
        state.view.edits.retain(|edit| *edit == FlameEdit::UnnamedByModule && !is_unnamed);
        state.view.focus = None;
        state.view.shape = FlameShape::Sandwich(function);
        state.roots = [Vec::new(), Vec::new()];
        self.go(state);
    }

    /// Goes to a view with one more edit.
    pub(super) fn add_edit(&mut self, edit: FlameEdit) {
        let mut state = self.current.clone();
        state.view.edits.retain(|other| *other != edit);
        state.view.edits.push(edit);
        self.go(state);
    }

    pub(super) fn remove_edit(&mut self, edit: &FlameEdit) {
        let mut state = self.current.clone();
        state.view.edits.retain(|other| other != edit);
        self.go(state);
    }

    /// Focuses on the function of a bar: shows the paths that contain it, starting at it. Below a callee of a sandwich
    /// these no longer contain the sandwich's function, so the shape becomes top down.
    pub(super) fn focus_on_bar(&mut self, part: FlamePart, function: FunctionKey) {
        let mut state = self.current.clone();
        if part == FlamePart::Tree && matches!(state.view.shape, FlameShape::Sandwich(_)) {
            state.view.shape = FlameShape::TopDown;
        }
        state.view.focus = Some(function);
        state.roots = [Vec::new(), Vec::new()];
        self.go(state);
    }

    /// Shows the paths from their outermost functions on again.
    pub(super) fn remove_focus(&mut self) {
        let mut state = self.current.clone();
        state.view.focus = None;
        state.roots = [Vec::new(), Vec::new()];
        self.go(state);
    }

    /// Fills the width of a part with the bar of a path.
    pub(super) fn zoom(&mut self, part: FlamePart, path: Vec<FunctionKey>) {
        let mut state = self.current.clone();
        state.roots[part as usize] = path;
        self.go(state);
    }
}

/// Returns the command line options of a view; `None` for a sandwich, which is two trees.
pub(super) fn options(view: &FlameView) -> Option<Vec<String>> {
    let mut options = Vec::new();
    match view.shape {
        FlameShape::TopDown => {}
        FlameShape::Inverted => options.push("--inverted".to_owned()),
        FlameShape::Sandwich(_) => return None,
    }
    options.extend((view.measure == Measure::Count).then(|| "--count".to_owned()));
    let mut option = |name: &str, value: Option<&str>| {
        options.push(name.to_owned());
        options.extend(value.map(str::to_owned));
    };
    if let Some(key) = &view.focus {
        option("--focus", Some(&key.to_name()));
    }
    for edit in &view.edits {
        match edit {
            FlameEdit::Hide(key) => option("--hide", Some(&key.to_name())),
            FlameEdit::Merge(key) => option("--merge", Some(&key.to_name())),
            FlameEdit::CollapseModule(module) => option("--collapse-module", Some(module)),
            FlameEdit::CollapseRecursionOf(key) => option("--collapse-recursion-of", Some(&key.to_name())),
            FlameEdit::CollapseRecursion => option("--collapse-recursion", None),
            FlameEdit::MergeKernel => option("--merge-kernel", None),
            FlameEdit::HideIdle => option("--hide-idle", None),
            FlameEdit::UnnamedByModule => option("--by-module", None),
        }
    }
    Some(options)
}

/// Returns the tree of a part; `None` if the picture has no such part.
pub(super) fn tree_of(picture: &FlamePicture, part: FlamePart) -> Option<&FlameTree> {
    match part {
        FlamePart::Tree => Some(&picture.tree),
        FlamePart::Callers => picture.callers.as_ref(),
    }
}

/// Returns the path of a node as function keys.
pub(super) fn keys_of(
    snapshot: &Snapshot,
    picture: &FlamePicture,
    tree: &FlameTree,
    node: FlameNodeIdx,
) -> Vec<FunctionKey> {
    let key = |node: FlameNodeIdx| picture.functions.key(snapshot, tree.node(node).function);
    tree.path(node).into_iter().map(key).collect()
}

/// Returns the node of a path, or the deepest existing ancestor.
pub(super) fn node_of(
    snapshot: &Snapshot,
    picture: &FlamePicture,
    tree: &FlameTree,
    path: &[FunctionKey],
) -> FlameNodeIdx {
    let mut node = FlameNodeIdx::ROOT;
    for key in path {
        let has_key = |child: &&FlameNodeIdx| picture.functions.has_key(snapshot, tree.node(**child).function, key);
        // A deeper function of the path may be a child of another ancestor.
        let Some(&child) = tree.children(node).iter().find(has_key) else { break };
        node = child;
    }
    node
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::base::cancel::Cancel;
    use crate::model::NameIdx;
    use crate::query::samples::SampleSum;
    use crate::query::stacks::{CallPaths, CallTree};

    #[test]
    fn functions_that_have_other_names_now_are_in_no_edit_and_no_path() {
        let snapshot = crate::scene::tests::snapshot(r#"[{"ph":"X","name":"alpha","pid":1,"tid":1,"ts":0,"dur":4}]"#);
        let mut names = (0..snapshot.names().len()).map(|row| NameIdx(row as u32));
        let alpha = names.find(|&name| snapshot.names().get(name).text == "alpha").expect("a span");
        let tree = CallTree::from_paths([([alpha], SampleSum { samples: 1, weight: 1 })].into_iter());
        let key = |name: &str| FunctionKey { name: name.into(), module: Some("".into()) };
        let mut state = FlameState::default();
        let picture = FlamePicture::new(&snapshot, &tree, &state.view, &Cancel::default()).expect("a picture");
        let (paths, picture) = (Arc::new(CallPaths { tree, ..CallPaths::default() }), Arc::new(picture));
        state.view.edits.extend([FlameEdit::Hide(key("[pie]")), FlameEdit::Merge(key("alpha"))]);
        state.view.focus = Some(key("pie+0x5"));
        state.roots = [vec![key("alpha"), key("[pie]")], vec![key("[pie]")]];
        state.retain_known(&snapshot, &FlameAnswer { paths, picture, track: None });
        assert_eq!(state.view.edits, [FlameEdit::UnnamedByModule, FlameEdit::Merge(key("alpha"))]);
        assert_eq!(state.view.focus, None);
        assert_eq!(state.roots, [vec![key("alpha")], vec![]]);
    }

    #[test]
    fn a_path_of_another_scope_ends_at_its_last_ancestor_here() {
        let rows = ["main", "B"].map(|name| format!(r#"{{"ph":"X","name":"{name}","pid":1,"tid":1,"ts":0,"dur":4}}"#));
        let snapshot = crate::scene::tests::snapshot(&format!("[{}]", rows.join(",")));
        let name = |text: &str| {
            let mut names = (0..snapshot.names().len()).map(|row| NameIdx(row as u32));
            names.find(|&name| snapshot.names().get(name).text == text).expect("a span")
        };
        let path = [name("main"), name("B")];
        let tree = CallTree::from_paths([(path, SampleSum { samples: 1, weight: 1 })].into_iter());
        let picture =
            FlamePicture::new(&snapshot, &tree, &FlameView::default(), &Cancel::default()).expect("a picture");
        let texts_of = |names: &[&str]| -> Vec<String> {
            let path: Vec<_> =
                names.iter().map(|&name| FunctionKey { name: name.into(), module: Some("".into()) }).collect();
            let keys = keys_of(&snapshot, &picture, &picture.tree, node_of(&snapshot, &picture, &picture.tree, &path));
            keys.into_iter().map(|key| key.name.into()).collect()
        };
        assert_eq!(texts_of(&["main", "B"]), ["main", "B"]);
        // The scope has no `A`, and `B` has another index.
        assert_eq!(texts_of(&["main", "A", "B"]), ["main"]);
    }

    #[test]
    fn a_function_of_another_panel_is_shown_in_all_paths_and_unnamed_frames_by_module() {
        let key = |name: &str| FunctionKey { name: name.into(), module: Some("m".into()) };
        let mut history = FlameHistory::default();
        history.add_edit(FlameEdit::HideIdle);
        history.focus_on_bar(FlamePart::Tree, key("f"));
        for (name, edits) in [("g", &[FlameEdit::UnnamedByModule][..]), ("m+0x5", &[])] {
            history.set_unedited_sandwich(key(name));
            let FlameView { shape, edits: remaining, focus, .. } = &history.current.view;
            assert_eq!((shape, &remaining[..], focus), (&FlameShape::Sandwich(key(name)), edits, &None));
        }
    }

    #[test]
    fn a_focus_on_a_callee_of_a_sandwich_is_shown_top_down() {
        let key = |name: &str| FunctionKey { name: name.into(), module: None };
        for (part, shape) in
            [(FlamePart::Tree, FlameShape::TopDown), (FlamePart::Callers, FlameShape::Sandwich(key("f")))]
        {
            let mut history = FlameHistory::default();
            history.set_shape(FlameShape::Sandwich(key("f")));
            history.focus_on_bar(part, key("g"));
            assert_eq!((&history.current.view.shape, &history.current.view.focus), (&shape, &Some(key("g"))));
        }
    }

    #[test]
    fn a_step_back_restores_the_previous_state_and_a_step_forward_the_next() {
        let mut history = FlameHistory::default();
        let key = FunctionKey { name: "f".into(), module: None };
        history.zoom(FlamePart::Tree, vec![key.clone()]);
        history.set_shape(FlameShape::Inverted);
        history.add_edit(FlameEdit::HideIdle);
        history.add_edit(FlameEdit::HideIdle);
        history.step(Direction::Backward);
        history.step(Direction::Backward);
        assert_eq!(history.current.roots[0], std::slice::from_ref(&key));
        assert_eq!(history.current.view.shape, FlameShape::TopDown);
        history.step(Direction::Forward);
        assert_eq!(history.current.view.shape, FlameShape::Inverted);
        assert!(history.current.roots[0].is_empty());
        // A new step clears the forward history.
        history.focus_on_bar(FlamePart::Tree, key);
        assert!(!history.can_step(Direction::Forward) && history.can_step(Direction::Backward));
        for number in 0..2 * STATES_MAX {
            history.zoom(FlamePart::Callers, vec![FunctionKey { name: number.to_string().into(), module: None }]);
        }
        assert_eq!(history.back.len(), STATES_MAX);
    }
}
