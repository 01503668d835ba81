//! Checks the functions and modules that a view names, and completes names without parameters: `f` stands for `f(int)`
//! if no other function has that name.

use std::collections::BTreeSet;
use std::fmt;

use super::functions::{FunctionBuilder, FunctionKey, Functions};
use super::view::{FlameEdit, FlameView, ViewBuilder};
use crate::query::Snapshot;
use crate::query::stacks::CallTree;

/// Limit for the functions in a message.
const FUNCTIONS_MAX: usize = 8;

/// The reason why a name of a view has no effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum NameMismatch {
    NoFunction,
    NoModule,
    /// Several functions have the name before their parameters; lists the first.
    Several(Vec<Box<str>>),
}

impl fmt::Display for NameMismatch {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoFunction => formatter.write_str("no function has this name"),
            Self::NoModule => formatter.write_str("no function is in this module"),
            Self::Several(all) => {
                let all: Vec<String> = all.iter().map(|name| format!("`{name}`")).collect();
                write!(formatter, "several functions have this name: {}", all.join(", "))
            }
        }
    }
}

/// Returns whether a function has a name before its parameters.
#[must_use]
pub(crate) fn is_before_parameters(name: &str, function: &str) -> bool {
    function.strip_prefix(name).is_some_and(|rest| rest.starts_with('('))
}

/// The function or module to which an edit of a view is limited.
enum EditSubject<'v> {
    Function(&'v mut FunctionKey),
    Module(&'v str),
}

impl FlameEdit {
    fn subject(&mut self) -> Option<EditSubject<'_>> {
        match self {
            Self::Hide(key) | Self::Merge(key) | Self::CollapseRecursionOf(key) => Some(EditSubject::Function(key)),
            Self::CollapseModule(module) => Some(EditSubject::Module(module)),
            Self::CollapseRecursion | Self::MergeKernel | Self::HideIdle | Self::UnnamedByModule => None,
        }
    }
}

impl FlameView {
    /// Completes the names of functions, and returns those of functions and modules that the paths lack.
    pub(crate) fn complete_names(&mut self, snapshot: &Snapshot, calls: &CallTree) -> Vec<(Box<str>, NameMismatch)> {
        if self.subjects().next().is_none() {
            return Vec::new();
        }
        let functions = ViewBuilder::new(FunctionBuilder::new(snapshot), self).functions_of(calls);
        let names: BTreeSet<&str> = functions.all().map(|function| functions.text(snapshot, function)).collect();
        let checked = self.subjects().map(|subject| match subject {
            EditSubject::Function(key) => complete(key, &names).map_err(|mismatch| (key.name.clone(), mismatch)),
            EditSubject::Module(module) if has_module(&functions, module) => Ok(()),
            EditSubject::Module(module) => Err((module.into(), NameMismatch::NoModule)),
        });
        checked.filter_map(Result::err).collect()
    }

    /// Drops the edits and the focus of functions and modules that the paths lack.
    pub(crate) fn retain_known(&mut self, snapshot: &Snapshot, calls: &CallTree) {
        if self.subjects().next().is_none() {
            return;
        }
        let functions = ViewBuilder::new(FunctionBuilder::new(snapshot), self).functions_of(calls);
        let has = |key: &FunctionKey| functions.all().any(|function| functions.has_key(snapshot, function, key));
        self.focus.take_if(|key| !has(key));
        self.edits.retain_mut(|edit| match edit.subject() {
            Some(EditSubject::Function(key)) => has(key),
            Some(EditSubject::Module(module)) => has_module(&functions, module),
            None => true,
        });
    }

    /// Returns the functions and modules that the view names.
    fn subjects(&mut self) -> impl Iterator<Item = EditSubject<'_>> {
        let focus = self.focus.iter_mut().map(EditSubject::Function);
        focus.chain(self.edits.iter_mut().filter_map(FlameEdit::subject))
    }
}

fn complete(key: &mut FunctionKey, names: &BTreeSet<&str>) -> Result<(), NameMismatch> {
    if names.contains(&*key.name) {
        return Ok(());
    }
    let from_name = names.range(&*key.name..).take_while(|function| function.starts_with(&*key.name));
    let mut meant = from_name.filter(|function| is_before_parameters(&key.name, function)).copied();
    match (meant.next(), meant.next()) {
        (None, _) => Err(NameMismatch::NoFunction),
        (Some(function), None) => {
            key.name = function.into();
            Ok(())
        }
        (Some(first), Some(second)) => {
            let all = [first, second].into_iter().chain(meant).take(FUNCTIONS_MAX);
            Err(NameMismatch::Several(all.map(Into::into).collect()))
        }
    }
}

fn has_module(functions: &Functions, module: &str) -> bool {
    functions.all().any(|function| functions.module(function) == module)
}
