//! Selects a function by name: its whole name, or the part before its parameters. Rejects ambiguous names.

use std::fmt;

use crate::model::Module;
use crate::query::Snapshot;
use crate::query::flame::{is_before_parameters, is_module};
use crate::symbols::lookup::TraceNames;

/// Limit for the candidates in an error.
const CANDIDATES_MAX: usize = 8;

/// A function of a module.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct FunctionChoice {
    pub(crate) name: String,
    /// Index of the module in the tables of the trace.
    pub(crate) module: u32,
}

/// Error of selecting a function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum NoFunction {
    /// No sampled function has the name.
    Unknown,
    /// The function has no samples in the scope.
    Unsampled,
    /// Several functions have the name; lists the first, each with its module.
    Several(Vec<(String, String)>),
}

impl fmt::Display for NoFunction {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown => formatter.write_str("no sampled function has this name, or its file was not found"),
            Self::Unsampled => formatter.write_str("the function has no samples in this part of the trace"),
            Self::Several(all) => {
                let all: Vec<String> = all.iter().map(|(name, module)| format!("`{name}` of {module}")).collect();
                write!(formatter, "several functions have this name: {}", all.join(", "))
            }
        }
    }
}

/// Returns the function with this name, or else the function with this name before its parameters. `module` is a path
/// or the end of a path. Returns an error if none or several match.
pub(crate) fn choose(
    snapshot: &Snapshot,
    trace_names: &TraceNames,
    name: &str,
    module: Option<&str>,
) -> Result<FunctionChoice, NoFunction> {
    let modules = &snapshot.tracks().modules;
    let is_meant = |candidate: &Module| {
        module.is_none_or(|module| [&candidate.category, &candidate.path].iter().any(|path| is_module(module, path)))
    };
    let (mut exact, mut short) = (Vec::new(), Vec::new());
    for ((row, candidate), names) in (0..).zip(modules).zip(&trace_names.modules) {
        if !is_meant(candidate) {
            continue;
        }
        for function in names.names.function_names() {
            let choice = || FunctionChoice { name: function.to_owned(), module: row };
            if function == name {
                exact.push(choice());
            } else if is_before_parameters(name, function) {
                short.push(choice());
            }
        }
    }
    let mut all = if exact.is_empty() { short } else { exact };
    all.sort_unstable();
    if all.len() > 1 {
        let named = |it: FunctionChoice| (it.name, modules[it.module as usize].category.to_string());
        return Err(NoFunction::Several(all.into_iter().take(CANDIDATES_MAX).map(named).collect()));
    }
    all.pop().ok_or(NoFunction::Unknown)
}
