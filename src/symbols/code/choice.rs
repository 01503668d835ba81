//! A function by the name that a person gives: all of its name, or that before its parameters. Refuses
//! names that several functions have.

use std::fmt;

use crate::model::Module;
use crate::query::Snapshot;
use crate::symbols::lookup::TraceNames;

/// Names that an answer to an ambiguous question lists.
const CANDIDATES_MAX: usize = 8;

/// A function of a module.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct FunctionChoice {
    pub(crate) name: String,
    /// The row of the module in the tables of the trace.
    pub(crate) module: u32,
}

/// Why no function is meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum NoFunction {
    /// No sampled function has the name.
    Unknown,
    /// Several have, of which these are the first: each with its module.
    Several(Vec<(String, String)>),
}

impl fmt::Display for NoFunction {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown => formatter.write_str("no sampled function has this name, or its file was not found"),
            Self::Several(all) => {
                let all: Vec<String> = all.iter().map(|(name, module)| format!("`{name}` of {module}")).collect();
                write!(formatter, "several functions have this name: {}", all.join(", "))
            }
        }
    }
}

/// The function that a name means: that of the same name, else the one with that name before its parameters. `module`
/// is a path or the name of a file.
///
/// # Errors
/// If none or several functions have the name.
pub(crate) fn choose(
    snapshot: &Snapshot,
    found: &TraceNames,
    name: &str,
    module: Option<&str>,
) -> Result<FunctionChoice, NoFunction> {
    let modules = &snapshot.tracks().modules;
    let is_meant = |own: &Module| {
        let file = own.path.rsplit('/').next().unwrap_or_default();
        let bare = file.trim_start_matches('[').trim_end_matches(']');
        module.is_none_or(|module| [&own.category, &own.path, file, bare].contains(&module))
    };
    let (mut exact, mut short) = (Vec::new(), Vec::new());
    for ((row, own), names) in (0..).zip(modules).zip(&found.modules) {
        if !is_meant(own) {
            continue;
        }
        for function in names.names.function_names() {
            let choice = || FunctionChoice { name: function.to_owned(), module: row };
            if function == name {
                exact.push(choice());
            } else if function.strip_prefix(name).is_some_and(|rest| rest.starts_with('(')) {
                short.push(choice());
            }
        }
    }
    let mut all = if exact.is_empty() { short } else { exact };
    all.sort_unstable();
    match all.len() {
        0 => Err(NoFunction::Unknown),
        1 => Ok(all.swap_remove(0)),
        _ => {
            let named = |it: FunctionChoice| (it.name, modules[it.module as usize].category.to_string());
            Err(NoFunction::Several(all.into_iter().take(CANDIDATES_MAX).map(named).collect()))
        }
    }
}
