//! Validates the options that several commands share: files, loading, the scope, and the form of the output.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use regex::Regex;

use super::error::CliError;
use super::low_args::{LowCells, LowCommon, LowOffsets, LowProgress, LowTrace};
use super::low_choices::{LowRowFormat, LowTrackKind, LowUnit};
use super::low_scope::LowScope;
use super::messages::say;
use super::scope::{ScopeArgs, TimeBounds};
use super::task_args::{ImportArgs, ShowProgress};
use crate::base::budget::Memory;
use crate::base::csv::Cells;
use crate::base::files::FileKind;
use crate::export::output::{STDOUT, is_stdout};
use crate::export::table::RowFormat;
use crate::model::{Input, SourceFile, Sources};
use crate::query::filter::{Filter, regex_reason};
use crate::query::scope::TrackChoice;
use crate::query::track_number::numbered_track;
use crate::store::cache::Cache;
use crate::symbols::locate::symbols_problem;

pub(super) fn trace(low: LowTrace) -> Result<Sources, CliError> {
    if low.files.iter().any(|file| file.as_os_str().is_empty()) {
        return Err(CliError::Usage("FILE is empty: give a path, or - for stdin".to_owned()));
    }
    sources(low.files, low.offsets)
}

/// Returns the files with their offsets.
pub(super) fn sources(files: Vec<PathBuf>, LowOffsets { offsets, unit }: LowOffsets) -> Result<Sources, CliError> {
    let input = |path: PathBuf| if path == Path::new("-") { Input::stdin() } else { path.into() };
    let mut files: Vec<SourceFile> =
        files.into_iter().map(|path| SourceFile { input: input(path), offset_ns: 0 }).collect();
    if files.iter().filter(|file| matches!(file.input, Input::Stdin(_))).count() > 1 {
        return Err(CliError::Usage("stdin can be read only once, but it is given more than once".to_owned()));
    }
    let mut moved = vec![false; files.len()];
    for (file, offset_ns) in offsets {
        let is_path = |source: &SourceFile| source.input == input(PathBuf::from(&file));
        let is_name = |source: &SourceFile| source.path().file_name() == Some(OsStr::new(&file));
        // The path of one FILE may equal the file name of another.
        let has_path = files.iter().any(is_path);
        let is_meant = |&row: &usize| if has_path { is_path(&files[row]) } else { is_name(&files[row]) };
        let meant: Vec<usize> = (0..files.len()).filter(is_meant).collect();
        let problem = match meant[..] {
            [position] if !moved[position] => {
                (files[position].offset_ns, moved[position]) = (offset_ns, true);
                continue;
            }
            [_] => "the file has an offset already",
            [] => "no FILE has that name",
            _ if has_path => "that FILE is given more than once; give one of them by another path, such as a link",
            _ => "several FILEs have that name; give the path of one",
        };
        return Err(CliError::Usage(format!("--offset {file}: {problem}")));
    }
    Ok(Sources::new(files).with_weight_unit(unit.map(LowUnit::weight_unit)))
}

/// Minimum memory limit of an import. Readers use fixed shares of it for tables of names and stack frames, plus a block
/// per format. Less memory is not enough even for small traces.
const MEMORY_BYTES_MIN: u64 = 8 << 20;

/// Limit for worker threads. More are no faster, and the system may refuse to start them.
const THREADS_MAX: usize = 256;

pub(super) fn import_args(common: LowCommon) -> Result<ImportArgs, CliError> {
    let cores = || std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    // A dumb terminal shows escape sequences as text.
    let can_overwrite = std::io::stderr().is_terminal() && std::env::var_os("TERM").is_none_or(|name| name != "dumb");
    let progress = match common.progress {
        LowProgress::Never => ShowProgress::Not,
        _ if can_overwrite => ShowProgress::Line,
        LowProgress::Always => ShowProgress::Log,
        LowProgress::Auto => ShowProgress::Not,
    };
    check_memory(common.memory)?;
    // A folder that is missing is only reported, but a file in its place is a usage error.
    for (path, problem) in common.symbols.iter().filter_map(|path| Some((path, symbols_problem(path)?))) {
        if path.try_exists().unwrap_or(true) {
            return Err(CliError::Usage(format!("--symbols {problem}")));
        }
        say(format_args!("--symbols {problem}"));
    }
    let has_default_options = common.memory.is_none()
        && common.threads.is_none()
        && common.cache.is_none()
        && !common.no_cache
        && common.symbols.is_empty()
        && !common.no_symbols;
    Ok(ImportArgs {
        has_default_options,
        memory_bytes: common.memory,
        memory: common.memory.map_or_else(Memory::default, Memory::new),
        threads: common.threads.map_or_else(cores, usize::from).min(THREADS_MAX),
        cache: if common.no_cache { None } else { Some(cache_folder(common.cache)?) },
        progress,
        symbols: common.symbols,
        symbolizes: !common.no_symbols,
        is_retry: false,
        code_addresses: false,
    })
}

pub(super) fn check_memory(memory: Option<u64>) -> Result<(), CliError> {
    if let Some(given) = memory.filter(|given| *given < MEMORY_BYTES_MIN) {
        let least = MEMORY_BYTES_MIN >> 20;
        return Err(CliError::Usage(format!("--memory: {given} bytes are too few, at least {least} MiB are needed")));
    }
    Ok(())
}

pub(super) fn cache_folder(given: Option<PathBuf>) -> Result<PathBuf, CliError> {
    given
        .or_else(Cache::default_folder)
        .ok_or_else(|| CliError::Usage("this user has no cache folder; give --cache DIR or --no-cache".into()))
}

pub(super) fn scope_args(low: LowScope) -> Result<ScopeArgs, CliError> {
    let LowScope { from, to, track, process, thread, kind, filter: query } = low;
    let range = TimeBounds { from, to };
    range.check()?;
    let numbered =
        track.as_deref().and_then(|text| text.split(',').map(|number| numbered_track(number.trim())).collect());
    let track = if numbered.is_none() { track } else { None };
    let tracks = TrackChoice {
        track: expression("--track", track)?,
        numbered: numbered.unwrap_or_default(),
        process: expression("--process", process)?,
        thread: expression("--thread", thread)?,
        kinds: kind.into_iter().map(LowTrackKind::kind).collect(),
    };
    let filter = filter("--filter", query.as_deref().unwrap_or_default())?;
    Ok(ScopeArgs { range, tracks, filter, name: None, query_terms: 0 })
}

pub(super) fn filter(option: &str, text: &str) -> Result<Filter, CliError> {
    Filter::parse(text).map_err(|error| CliError::Usage(format!("{option}: {error}")))
}

pub(super) fn expression(option: &str, text: Option<String>) -> Result<Option<Regex>, CliError> {
    let compile = |text: String| {
        Regex::new(&text).map_err(|error| CliError::Usage(format!("{option}: {}", regex_reason(&error))))
    };
    text.map(compile).transpose()
}

pub(super) fn row_format(format: LowRowFormat, cells: LowCells) -> Result<RowFormat, CliError> {
    match format {
        LowRowFormat::Csv => Ok(RowFormat::Csv(cells_of(cells, Path::new(STDOUT)))),
        LowRowFormat::Jsonl if cells.csv_safe => Err(csv_safe_is_for_csv()),
        LowRowFormat::Jsonl => Ok(RowFormat::JsonLines),
    }
}

pub(super) fn csv_safe_is_for_csv() -> CliError {
    CliError::Usage("--csv-safe requires --format csv: spreadsheets evaluate formulas only in CSV".to_owned())
}

/// Cells of a file keep their bytes; on a terminal, control characters are escaped.
pub(super) fn cells_of(low: LowCells, output: &Path) -> Cells {
    Cells { spreadsheet_safe: low.csv_safe, escaped: is_terminal(output) }
}

/// Returns whether an output is a terminal, under any name. Opens devices only: opening a pipe would wait.
fn is_terminal(output: &Path) -> bool {
    if is_stdout(output) {
        return std::io::stdout().is_terminal();
    }
    let kind = fs::metadata(output).map(|metadata| FileKind::from_metadata(&metadata));
    kind.is_ok_and(|kind| kind == FileKind::Device)
        && File::options().write(true).open(output).is_ok_and(|device| device.is_terminal())
}

/// Rejects a terminal as output: names are written verbatim, and a terminal would interpret control characters.
pub(super) fn refuse_terminal(output: &Path, remedy: &str) -> Result<(), CliError> {
    if is_terminal(output) {
        let name = if is_stdout(output) { "stdout".into() } else { output.to_string_lossy() };
        let message = format!("{name} is a terminal, and this format is for files and pipes: {remedy}");
        return Err(CliError::Usage(message));
    }
    Ok(())
}

/// Returns the output path: `-` is stdout.
pub(super) fn to_write(output: PathBuf) -> PathBuf {
    if output == Path::new("-") { STDOUT.into() } else { output }
}
