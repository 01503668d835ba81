//! Checks the functions and modules that a view names, and completes names without parameters. `f` means `f(int)` if no
//! other function has that name, and `libc.so.6!f` means the function of that module.

use std::collections::BTreeSet;
use std::fmt;

use super::functions::{FunctionBuilder, FunctionKey, Functions};
use super::module_titles::inside;
use super::view::{FlameEdit, FlameShape, FlameView, ViewBuilder};
use crate::model::NameIdx;
use crate::model::names::{NO_FRAMES, NO_NAME};
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

/// Separates a module from the name of its function, as in debuggers.
const MODULE_END: char = '!';

impl FunctionKey {
    /// Returns the text that names the function to the command line.
    #[must_use]
    pub(crate) fn to_name(&self) -> String {
        match self.module.as_deref() {
            None | Some("") => self.name.to_string(),
            // The name of all functions of a module is the module in brackets.
            Some(module) if inside(&self.name) == module => self.name.to_string(),
            Some(module) => format!("{module}{MODULE_END}{}", self.name),
        }
    }

    /// Splits a text that may name the module too into module and function, at each possible place.
    fn in_modules(&self) -> impl Iterator<Item = (&str, &str)> {
        let text = &*self.name;
        text.match_indices(MODULE_END).map(|(end, separator)| (&text[..end], &text[end + separator.len()..]))
    }
}

/// Returns whether a text is the name of a function, or the part before its parameters.
fn is_name(name: &str, function: &str) -> bool {
    name == function || is_before_parameters(name, function)
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
    /// Completes the names of functions. Returns the names of functions and modules that no path contains.
    pub(crate) fn complete_names(&mut self, snapshot: &Snapshot, calls: &CallTree) -> Vec<(Box<str>, NameMismatch)> {
        if self.subjects().next().is_none() {
            return Vec::new();
        }
        let functions = ViewBuilder::new(FunctionBuilder::new(snapshot), self).functions_of(calls);
        let names = functions.all().map(|function| functions.text(snapshot, function));
        let has_empty_stacks = calls.nodes().first().is_some_and(|root| root.own > 0 || root.count > 0);
        let names: BTreeSet<&str> = names.chain(has_empty_stacks.then_some(NO_FRAMES)).collect();
        let checked = self.subjects().map(|subject| match subject {
            EditSubject::Function(key) => {
                let completed = match complete(key, &names) {
                    Err(NameMismatch::NoFunction) => complete_in_module(key, snapshot, &functions),
                    completed => completed,
                };
                completed.map_err(|mismatch| (key.name.clone(), mismatch))
            }
            EditSubject::Module(module) if has_module(&functions, module) => Ok(()),
            EditSubject::Module(module) => Err((module.into(), NameMismatch::NoModule)),
        });
        checked.filter_map(Result::err).collect()
    }

    /// Returns a test of whether the view hides or focuses the function of a name.
    pub(crate) fn selects_name<'a>(&'a self, snapshot: &'a Snapshot) -> impl FnMut(NameIdx) -> bool + 'a {
        let mut functions = FunctionBuilder::new(snapshot);
        let by_module = self.edits.contains(&FlameEdit::UnnamedByModule);
        let hidden =
            self.edits.iter().filter_map(|edit| if let FlameEdit::Hide(key) = edit { Some(key) } else { None });
        let keys: Vec<&FunctionKey> = self.focus.iter().chain(hidden).collect();
        let hides_idle = self.edits.contains(&FlameEdit::HideIdle);
        move |name| {
            let function = functions.function(name, by_module);
            let text = functions.functions().text(snapshot, function);
            let all = functions.functions();
            let is_meant = |key: &&FunctionKey| {
                let is_in_module = |(module, name)| all.is_in_module(function, module) && is_name(name, text);
                is_name(&key.name, text) || key.in_modules().any(is_in_module)
            };
            hides_idle && functions.is_idle(function) || keys.iter().any(is_meant)
        }
    }

    /// Drops the edits, the focus and the sandwich of functions and modules that the paths lack.
    pub(crate) fn retain_known(&mut self, snapshot: &Snapshot, calls: &CallTree) {
        if self.subjects().next().is_none() {
            return;
        }
        let functions = ViewBuilder::new(FunctionBuilder::new(snapshot), self).functions_of(calls);
        let has = |key: &FunctionKey| functions.all().any(|function| functions.has_key(snapshot, function, key));
        self.focus.take_if(|key| !has(key));
        if matches!(&self.shape, FlameShape::Sandwich(key) if !has(key)) {
            self.shape = FlameShape::TopDown;
        }
        self.edits.retain_mut(|edit| match edit.subject() {
            Some(EditSubject::Function(key)) => has(key),
            Some(EditSubject::Module(module)) => has_module(&functions, module),
            None => true,
        });
    }

    /// Returns the functions and modules that the view names.
    fn subjects(&mut self) -> impl Iterator<Item = EditSubject<'_>> {
        let sandwich = if let FlameShape::Sandwich(key) = &mut self.shape { Some(key) } else { None };
        let focus = sandwich.into_iter().chain(&mut self.focus).map(EditSubject::Function);
        focus.chain(self.edits.iter_mut().filter_map(FlameEdit::subject))
    }
}

fn complete(key: &mut FunctionKey, names: &BTreeSet<&str>) -> Result<(), NameMismatch> {
    if names.contains(&*key.name) {
        return Ok(());
    }
    if *key.name == *NO_NAME && names.contains("") {
        key.name = "".into();
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

/// Completes a key whose name is a module and a function. If no function of the module has the whole name, the part of
/// a name before its parameters counts.
fn complete_in_module(key: &mut FunctionKey, snapshot: &Snapshot, functions: &Functions) -> Result<(), NameMismatch> {
    let meant = |(module, name): (&str, &str)| -> Vec<FunctionKey> {
        let in_module = functions.all().filter(|&function| functions.is_in_module(function, module));
        let keys = in_module.map(|function| functions.key(snapshot, function));
        let mut meant: Vec<_> = keys.filter(|key| is_name(name, &key.name)).collect();
        if meant.iter().any(|key| *key.name == *name) {
            meant.retain(|key| *key.name == *name);
        }
        meant
    };
    let mut meant = key.in_modules().map(meant).find(|meant| !meant.is_empty()).unwrap_or_default();
    match meant.len() {
        0 => Err(NameMismatch::NoFunction),
        1 => {
            *key = meant.swap_remove(0);
            Ok(())
        }
        _ => {
            meant.sort_unstable();
            Err(NameMismatch::Several(meant.iter().take(FUNCTIONS_MAX).map(|key| key.to_name().into()).collect()))
        }
    }
}

fn has_module(functions: &Functions, module: &str) -> bool {
    functions.all().any(|function| functions.is_in_module(function, module))
}
