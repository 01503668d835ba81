//! Reports which modules are resolved, the number of affected samples, and a command that installs missing symbols.
//! Commands are shown and never run.

use std::path::Path;

use rustc_hash::{FxHashMap, FxHashSet};

use super::lookup::{FrameCounts, TraceFrames, TraceNames};
use super::state::NameState;
use crate::base::cancel::{Cancel, Cancelled};
use crate::base::progress::Progress;
use crate::base::shell;
use crate::model::unwind::StackEnd;
use crate::model::{BuildId, Module, ModuleKind, NameIdx};
use crate::query::Snapshot;
use crate::query::samples::SampleHistogram;
use crate::query::scope::Scope;

/// Shows the addresses of the kernel to all users: at 0 the first setting hides them where the second one is above 1.
const HIDDEN_COMMAND: &str = "sudo sysctl kernel.kptr_restrict=0 kernel.perf_event_paranoid=1";

/// The report of a module: counts, or the reason for missing names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ModuleReport {
    /// Index of the module in the tables of the trace.
    pub(crate) module: usize,
    /// Samples with a frame in the module.
    pub(crate) samples: u64,
    /// Distinct frames with an address, and the resolved ones.
    pub(crate) frames: u64,
    pub(crate) named: u64,
    /// The frames at addresses at which several JIT-compiled functions were; they have the name of the last.
    pub(crate) replaced: u64,
    pub(crate) state: NameState,
    /// Whether the file is known to be the recorded one; `None` without names.
    pub(crate) is_verified: Option<bool>,
    /// The file that the names come from, or that is another build.
    pub(crate) file: Option<String>,
    /// A shell command that installs the missing names.
    pub(crate) command: Option<String>,
}

/// Returns the modules of a trace, most samples first. `traces` are the paths in commands. Returns `Cancelled` if
/// cancelled.
pub(crate) fn report(
    snapshot: &Snapshot,
    frames: &TraceFrames,
    trace_names: &TraceNames,
    traces: &[&Path],
    cancel: &Cancel,
    progress: &Progress,
) -> Result<Vec<ModuleReport>, Cancelled> {
    let modules = &snapshot.tracks().modules;
    let samples = samples_by_module(snapshot, cancel, progress)?;
    let counts = frames.counts(trace_names);
    let row = |(index, module): (usize, &Module)| {
        let names = trace_names.modules.get(index);
        let FrameCounts { frames, named, replaced } = counts[index];
        // Without an address, the recorder has already named all functions.
        let state = if frames == 0 { NameState::Complete } else { names.map_or(NameState::Unwanted, |it| it.state) };
        let build_id = match state {
            NameState::SharedMissing => names.and_then(|names| names.missing_shared.as_ref()),
            _ => module.build_id.as_ref().or_else(|| names?.own_build_id.as_ref()),
        };
        let outside = names.and_then(|names| match state {
            NameState::OutsideRoots => names.path.as_ref()?.parent(),
            _ => names.split_folder.as_deref(),
        });
        ModuleReport {
            module: index,
            samples: samples[index],
            frames,
            named,
            replaced,
            is_verified: names.filter(|_| named > 0).map(|names| names.is_verified),
            file: names.and_then(|names| Some(names.path.as_ref()?.display().to_string())),
            command: command((module, build_id), (state, outside), traces),
            state,
        }
    };
    let mut rows: Vec<_> = modules.iter().enumerate().map(row).collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.samples));
    Ok(rows)
}

/// Counts the functions in stacks that have no module. Returns an error if cancelled.
pub(crate) fn functions_without_module(snapshot: &Snapshot, cancel: &Cancel) -> Result<u64, Cancelled> {
    /// Stack rows between two checks for cancellation: less than a millisecond.
    const ROWS_AT_ONCE: usize = 1 << 16;
    let (names, modules) = (snapshot.raw_names(), &snapshot.tracks().modules);
    let categories: FxHashSet<&str> = modules.iter().map(|module| &*module.category).collect();
    let is_function_without_module = |name: NameIdx| {
        let name = names.get(name);
        let has_module = name.category.is_some_and(|category| categories.contains(category));
        !has_module && !StackEnd::is_mark(name.text)
    };
    let mut is_known = vec![false; names.len()];
    let mut count = 0;
    for rows in snapshot.raw_stacks().rows().chunks(ROWS_AT_ONCE) {
        cancel.check()?;
        for name in rows.iter().map(|row| row.name) {
            let Some(is_known) = is_known.get_mut(name.index()) else { continue };
            let is_again = std::mem::replace(is_known, true);
            count += u64::from(!is_again && is_function_without_module(name));
        }
    }
    Ok(count)
}

/// Counts the samples with a frame in each module.
fn samples_by_module(snapshot: &Snapshot, cancel: &Cancel, progress: &Progress) -> Result<Vec<u64>, Cancelled> {
    let (modules, names) = (&snapshot.tracks().modules, snapshot.raw_names());
    let rows: FxHashMap<&str, usize> = modules.iter().map(|module| &*module.category).zip(0..).collect();
    let module_of = |name| rows.get(names.get(name).category?).copied();
    let histogram = SampleHistogram::count(snapshot, &Scope::default(), cancel, progress)?;
    let mut samples = vec![0; modules.len()];
    let mut seen = Vec::new();
    for (stack, sum) in (0..histogram.events().len()).flat_map(|event| histogram.stacks(event)) {
        seen.clear();
        seen.extend(snapshot.raw_stacks().frames(stack).filter_map(module_of));
        seen.sort_unstable();
        seen.dedup();
        seen.iter().for_each(|&module| samples[module] += sum.samples);
    }
    Ok(samples)
}

/// Returns the command that installs missing names, if one is known. `build_id` identifies the missing file. `outside`
/// is the folder of the missing files, if it is outside the searched folders.
fn command(
    (module, build_id): (&Module, Option<&BuildId>),
    (state, outside): (NameState, Option<&Path>),
    traces: &[&Path],
) -> Option<String> {
    let fetched = || Some(format!("debuginfod-find debuginfo {}", build_id?));
    let searched = |folder: &Path| {
        let traces: Vec<_> = traces.iter().map(|trace| shell::quoted_path(trace)).collect();
        // The root of the file system is never searched.
        folder.parent()?;
        Some(format!("longspan symbols {} --symbols {}", traces.join(" "), shell::quoted_path(folder)))
    };
    match state {
        NameState::Complete
        | NameState::NoFunction
        | NameState::Ambiguous
        | NameState::Nameless
        | NameState::Unwanted
        | NameState::NoKernelAddress
        // For data of a pipe, `perf inject -b` adds only the build-ids of programs.
        | NameState::NoBuildId => None,
        NameState::Hidden => Some(HIDDEN_COMMAND.to_owned()),
        // Tools that pack `.dwo` files differ too much to suggest one.
        NameState::OutsideRoots | NameState::SplitMissing => searched(outside?),
        // Functions listed by a process itself cannot be fetched.
        _ if matches!(module.kind, ModuleKind::Jit(_) | ModuleKind::JitDump) => copied_list(module, traces),
        NameState::FunctionsOnly
        | NameState::Stripped
        | NameState::NoFile
        | NameState::OtherBuild
        | NameState::SharedMissing
        | NameState::Unreadable => fetched(),
    }
}

/// Comment of commands that only work where the trace was recorded.
const WHERE_RECORDED: &str = "# on the recorded machine";

/// Returns the command that copies the function list of a process beside the first trace.
fn copied_list(module: &Module, traces: &[&Path]) -> Option<String> {
    // A pipe is in no folder of the user.
    let folder = traces.first()?.parent().filter(|folder| !folder.starts_with("/dev"))?;
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let [list, folder] = [Path::new(&*module.path), folder].map(shell::quoted_path);
    Some(format!("cp {list} {folder} {WHERE_RECORDED}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_name_the_build_or_the_folder_and_cannot_be_more_than_one() {
        let traces = [Path::new("/t/perf.data"), Path::new("/t/second one.data")];
        let module = Module { path: "/recorded/work".into(), ..Module::default() };
        let unknown = |state, outside: Option<&str>| command((&module, None), (state, outside.map(Path::new)), &traces);
        let searched = r"longspan symbols /t/perf.data '/t/second one.data' --symbols";
        let outside = unknown(NameState::OutsideRoots, Some("/a b;reboot/c'd"));
        assert_eq!(outside.unwrap(), format!(r"{searched} '/a b;reboot/c'\''d'"));
        assert_eq!(unknown(NameState::SplitMissing, Some("/build")).unwrap(), format!("{searched} /build"));
        assert_eq!([None, Some("/")].map(|split| unknown(NameState::SplitMissing, split)), [None, None]);
        assert_eq!(unknown(NameState::NoFile, None), None);
        let id = BuildId::new(&[0xab, 0xcd]);
        let known = |state| command((&module, id.as_ref()), (state, None), &traces);
        assert!(known(NameState::Hidden).unwrap().ends_with(" kernel.kptr_restrict=0 kernel.perf_event_paranoid=1"));
        assert_eq!(known(NameState::OtherBuild).unwrap(), "debuginfod-find debuginfo abcd");
        let helpless = [NameState::Complete, NameState::Unwanted, NameState::NoBuildId, NameState::NoKernelAddress];
        assert_eq!(helpless.map(known), [const { None }; 4]);
        let list = Module { path: "/tmp/perf-7.map".into(), kind: ModuleKind::Jit(7), ..Module::default() };
        let jit = |state, traces: &[&Path]| command((&list, None), (state, None), traces);
        assert_eq!(jit(NameState::NoFile, &traces).unwrap(), "cp /tmp/perf-7.map /t # on the recorded machine");
        assert_eq!(jit(NameState::Ambiguous, &traces), None);
    }

    #[test]
    fn functions_without_a_module_are_counted_once() {
        let frames = r#"{"cut":{"name":"[stack cut: recorded bytes end]"},"main":{"name":"main","parent":"cut"},
            "spin":{"name":"spin","parent":"main"},"wait":{"name":"wait","parent":"main"}}"#;
        let sample =
            |frame: &str, ts: u32| format!(r#"{{"ph":"P","name":"s","pid":1,"tid":1,"ts":{ts},"sf":"{frame}"}}"#);
        let samples = [sample("spin", 1), sample("wait", 2), sample("spin", 3)].join(",");
        let snapshot =
            crate::scene::tests::snapshot(&format!(r#"{{"stackFrames":{frames},"traceEvents":[{samples}]}}"#));
        assert_eq!(functions_without_module(&snapshot, &Cancel::default()).unwrap(), 3);
    }
}
