//! `longspan annotate`: a function with the samples of one event, as source lines or as instructions. Source files are
//! opened only below the given folders.

use std::path::Path;

use super::args::{Annotate, ImportArgs};
use super::empty_answers::say_no_samples;
use super::error::CliError;
use super::event_choice::chosen_event;
use super::load::{load, retry_if_damaged};
use super::messages::say;
use super::progress_line::ProgressLine;
use super::stdout::to_stdout;
use super::symbols::{locator, names, symbol_bytes_max};
use crate::base::cancel::Cancel;
use crate::base::progress::Progress;
use crate::base::shell;
use crate::export::code_table::{CodeSide, CodeTable};
use crate::export::values::{TableSource as _, TableValueWriter};
use crate::export::{SinkError, check};
use crate::formats::native::write::WriteError;
use crate::formats::sniff::has_code_addresses;
use crate::model::SourceFile;
use crate::query::Snapshot;
use crate::query::flame::is_before_parameters;
use crate::query::samples::SampleHistogram;
use crate::symbols::code::choice::{NoFunction, choose};
use crate::symbols::code::listing::{FunctionCode, list};
use crate::symbols::code::samples::CodeSamples;
use crate::symbols::lookup::TraceFrames;
use crate::symbols::sources::{SourceFolders, SourceProblem};

/// Prints a row for each line or instruction.
pub(super) fn print(annotate: &Annotate, import: &ImportArgs) -> Result<(), CliError> {
    retry_if_damaged(&annotate.sources, import, |import| print_once(annotate, import))
}

fn print_once(annotate: &Annotate, import: &ImportArgs) -> Result<(), CliError> {
    let snapshot = Snapshot::new(load(&annotate.sources, import)?.store);
    let scope = annotate.scope.on(&snapshot)?;
    let progress = Progress::default();
    let line = ProgressLine::start(&progress, import.progress);
    let cancel = Cancel::default();
    let histogram = SampleHistogram::count(&snapshot, &scope, &cancel, &progress).unwrap_or_default(); // never cancelled
    drop(line);
    check(snapshot.store())?;
    if let Some(by_address) = by_address(annotate, import)
        && is_sampled_by_name(&annotate.function, &snapshot, &histogram)
    {
        // The second import needs the memory of the first.
        drop((snapshot, histogram, scope));
        return print_once(annotate, &by_address);
    }
    let Some(event) = chosen_event(annotate.event.as_deref(), &snapshot, &histogram)? else {
        say_no_samples(&snapshot, &annotate.scope);
        return write(None, annotate);
    };
    let frames = TraceFrames::from_snapshot(&snapshot);
    let trace_names = names(&snapshot, &frames, &annotate.sources, import);
    let function = match choose(&snapshot, &trace_names, &annotate.function, annotate.module.as_deref()) {
        Ok(function) => function,
        Err(NoFunction::Unknown) => {
            if is_sampled_by_name(&annotate.function, &snapshot, &histogram) {
                say_named(&annotate.function, annotate, import);
            } else {
                let function = &annotate.function;
                let nearest = trace_names.nearest(function);
                let hint = nearest.map(|name| format!("; did you mean {}?", shell::quoted(name))).unwrap_or_default();
                say(format_args!("{function}: {}{hint}", NoFunction::Unknown));
            }
            return write(None, annotate);
        }
        Err(several) => return Err(CliError::Usage(format!("{}: {several}; --module takes one", annotate.function))),
    };
    let samples =
        CodeSamples { snapshot: &snapshot, frames: &frames, found: &trace_names, histogram: &histogram, event };
    let paths = annotate.sources.files().iter().map(SourceFile::path);
    let folders = SourceFolders::for_traces(paths, &import.symbols, annotate.source_maps.clone());
    let locator = locator(&annotate.sources, import);
    let listed = list(samples, &function, (&locator, &folders), symbol_bytes_max(import), &cancel);
    let Ok(code) = listed else { return Ok(()) }; // never cancelled
    let is_named_otherwise = code.sums.total.samples == 0 && is_sampled_by_name(&code.name, &snapshot, &histogram);
    if is_named_otherwise {
        say_named(&code.name, annotate, import);
    } else if !import.is_retry {
        let is_whole = annotate.scope.options().is_empty() && histogram.events().len() == 1;
        say_what_is_missing(&code, annotate.side, is_whole);
    }
    write(Some(code), annotate)
}

/// Returns how to read the sources by address, if they were read by name and some profile has both. A scope with names
/// or times would not match the profile by address.
fn by_address(annotate: &Annotate, import: &ImportArgs) -> Option<ImportArgs> {
    let is_possible = annotate.scope.is_by_track() && has_more_by_address(annotate, import);
    is_possible.then(|| ImportArgs { code_addresses: true, ..import.clone() })
}

/// Returns whether some source was read by name, and can be read by address.
fn has_more_by_address(annotate: &Annotate, import: &ImportArgs) -> bool {
    !import.code_addresses && import.symbolizes && annotate.sources.files().iter().any(has_code_addresses)
}

/// Reports that the samples of a function have names instead of addresses, and the options that prevent reading them by
/// address.
fn say_named(function: &str, annotate: &Annotate, import: &ImportArgs) {
    let rest = if !annotate.scope.is_by_track() && has_more_by_address(annotate, import) {
        "; without --from, --to and --filter they are read by address"
    } else {
        ", so its code cannot be listed"
    };
    say(format_args!("{function}: its samples were imported by name, without addresses{rest}"));
}

/// Returns whether the trace itself uses this name for a sampled function, as profiles without addresses do.
fn is_sampled_by_name(name: &str, snapshot: &Snapshot, histogram: &SampleHistogram) -> bool {
    let is_meant = |function: &str| function == name || is_before_parameters(name, function);
    let mut events = 0..histogram.events().len();
    events.any(|event| histogram.by_text(snapshot, event).iter().any(|function| function.key.is_some_and(is_meant)))
}

/// Writes the rows of a function, if there is one.
fn write(code: Option<FunctionCode>, annotate: &Annotate) -> Result<(), CliError> {
    let (cancel, progress) = (Cancel::default(), Progress::default());
    to_stdout(|out| {
        let mut writer = TableValueWriter::begin(out, annotate.format, annotate.side.columns())?;
        if let Some(code) = code {
            let table = CodeTable { code: code.into(), side: annotate.side };
            match table.write(&mut writer, &cancel, &progress) {
                Err(SinkError::Write(WriteError::Io(error))) => return Err(error.into()),
                // The task is never cancelled, and the table writer fails only with errors of its output.
                Ok(())
                | Err(
                    SinkError::Write(_)
                    | SinkError::TooLong { .. }
                    | SinkError::TooManyOverlaps { .. }
                    | SinkError::Cancelled(_),
                ) => {}
            }
        }
        writer.end()?;
        Ok(())
    })
}

/// Reports missing samples, texts or instructions, with the option that adds them. `is_whole`: the scope has all
/// samples of the trace.
fn say_what_is_missing(code: &FunctionCode, side: CodeSide, is_whole: bool) {
    if code.sums.total.samples == 0 {
        // The names include functions at return addresses, where no sample was taken.
        let reason = if is_whole { NoFunction::Unknown } else { NoFunction::Unsampled };
        say(format_args!("{}: {reason}", code.name));
        return;
    }
    match side {
        CodeSide::Source if code.files.is_empty() => {
            let hint = if code.assembly.is_ok() { "; --assembly lists instructions" } else { "" };
            say(format_args!("{}: no debug information has its lines{hint}", code.name));
        }
        CodeSide::Source => {
            for file in &code.files {
                if let Some(path) = file.opened.as_ref().ok().filter(|_| file.is_newer) {
                    say(format_args!("{}: newer than the program, so its lines may differ", path.display()));
                }
                let Err(problem) = &file.opened else { continue };
                let recorded = Path::new(&file.recorded);
                let hint = match problem {
                    SourceProblem::NotNamed if !recorded.has_root() => {
                        " (--source-map DIR: the folder of its sources)".to_owned()
                    }
                    SourceProblem::NotNamed => {
                        let folder = recorded.parent().unwrap_or(Path::new("/"));
                        format!(" (--source-map {})", shell::quoted_path(folder))
                    }
                    SourceProblem::Missing | SourceProblem::Unreadable => String::new(),
                };
                say(format_args!("{}: {}{hint}", file.recorded, problem.label()));
            }
        }
        CodeSide::Assembly => match &code.assembly {
            Err(reason) => say(format_args!("{}: {}", code.name, reason.message())),
            Ok(assembly) if assembly.is_cut => {
                say(format_args!("{}: only its first {} instructions", assembly.symbol, assembly.instructions.len()));
            }
            Ok(_) => {}
        },
    }
}
