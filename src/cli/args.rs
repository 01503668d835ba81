//! Validates the parsed command line: fills in defaults, compiles expressions, rejects contradictions. Touches no file.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap_complete::Shell;
use regex::Regex;

use super::error::CliError;
use super::last_argument::split_last;
use super::live_args::{Follow, follow_args, listen_args, live_filter, live_sources, until_filter};
use super::live_rows::LiveRowFormat;
use super::low_args::{
    LowAnnotate, LowArgs, LowBench, LowCommand, LowCommon, LowExport, LowFlame, LowMan, LowOffsets, LowRecord,
    LowRender, LowRows, LowSearch, LowSpans, LowStats, LowSymbols, LowSynth, LowWindow,
};
use super::low_cache::{LowCacheAction, LowCacheClear};
use super::low_choices::{LowColorBy, LowFlameFormat, LowFormat, LowHues, LowTheme};
use super::low_live::{LowLive, LowRetention, LowTail, LowTailFormat};
use super::low_stats::LowStatsOf;
use super::messages::say;
pub(super) use super::question_args::{Annotate, Flame, PathSource, Search, SpanChoice, Spans, Stats, Symbols};
use super::scope::ScopeArgs;
use super::shared_args::{
    cache_folder, cells_of, check_memory, csv_safe_is_for_csv, expression, filter, import_args, refuse_terminal,
    row_format, scope_args, sources, to_write, trace,
};
pub(super) use super::task_args::{Bench, Export, ImportArgs, Record, Render, ShowProgress, SynthArgs, TailArgs};
use crate::base::budget::Memory;
use crate::base::csv::Cells;
use crate::export::ExportFormat;
use crate::export::code_table::CodeSide;
use crate::export::flame::FlameFormat;
use crate::export::format::ends_in_gz;
use crate::export::output::{STDOUT, is_stdout};
use crate::export::table::RowFormat;
use crate::live::arrivals::LiveInput;
use crate::model::Sources;
use crate::query::flame::FlameView;
use crate::scene::color::Shade;
use crate::scene::palette::{ColorBy, Colors, Hues};
use crate::symbols::sources::SourceMap;

/// A validated command with its arguments.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "a process has one value")]
pub(super) enum CliCommand {
    OnTrace(TraceCommand, ImportArgs),
    InstallDesktop,
    UninstallDesktop,
    Synth(SynthArgs),
    Tail(TailArgs),
    CacheList { folder: PathBuf },
    CacheClear { folder: PathBuf, followed: bool },
    Completions { shell: Shell },
    ManPage { words: Vec<String> },
    ManPages { folder: PathBuf },
}

/// A command that imports a trace.
#[derive(Debug)]
pub(super) enum TraceCommand {
    Window { sources: Sources, follow: Option<Follow>, demo: bool },
    Demo,
    Info { sources: Sources, json: bool },
    Spans(Spans),
    Stats(Stats),
    Flame(Flame),
    Search(Search),
    Symbols(Symbols),
    Annotate(Annotate),
    Export(Export),
    Render(Render),
    Record(Record),
    Dump { sources: Sources },
    Bench(Bench),
}

/// The arguments of all commands that read rows.
struct RowListing {
    sources: Sources,
    scope: ScopeArgs,
    name: Option<Regex>,
    format: RowFormat,
}

impl CliCommand {
    /// Validates a command line and fills in defaults. Returns [`CliError::Usage`] for a value out of range, an invalid
    /// expression, or contradicting options.
    pub(super) fn from_low(low: LowArgs) -> Result<Self, CliError> {
        Ok(match low.command {
            None if low.window.install_desktop => Self::InstallDesktop,
            None if low.window.uninstall_desktop => Self::UninstallDesktop,
            None => window(low.window)?,
            Some(LowCommand::Demo(demo)) => Self::OnTrace(TraceCommand::Demo, import_args(demo.common)?),
            Some(LowCommand::Info(info)) => {
                let command = TraceCommand::Info { sources: trace(info.trace)?, json: info.json };
                Self::OnTrace(command, import_args(info.common)?)
            }
            Some(LowCommand::Spans(low)) => spans(low)?,
            Some(LowCommand::Stats(low)) => stats(low)?,
            Some(LowCommand::Flame(low)) => flame(low)?,
            Some(LowCommand::Search(low)) => search(low)?,
            Some(LowCommand::Symbols(low)) => symbols(low)?,
            Some(LowCommand::Annotate(low)) => annotate(low)?,
            Some(LowCommand::Export(low)) => export(low)?,
            Some(LowCommand::Render(low)) => render(low)?,
            Some(LowCommand::Synth(low)) => synth(low)?,
            Some(LowCommand::Tail(low)) => Self::Tail(tail(low)?),
            Some(LowCommand::Record(low)) => record(low)?,
            Some(LowCommand::Listen(low)) => {
                let (follow, common) = listen_args(low)?;
                let (sources, demo) = (Sources::default(), false);
                Self::OnTrace(TraceCommand::Window { sources, follow: Some(follow), demo }, import_args(common)?)
            }
            Some(LowCommand::Dump(low)) => {
                Self::OnTrace(TraceCommand::Dump { sources: trace(low.trace)? }, import_args(low.common)?)
            }
            Some(LowCommand::Cache(low)) => match low.action {
                LowCacheAction::List(which) => Self::CacheList { folder: cache_folder(which.cache)? },
                LowCacheAction::Clear(LowCacheClear { followed, which }) => {
                    Self::CacheClear { folder: cache_folder(which.cache)?, followed }
                }
            },
            Some(LowCommand::Bench(LowBench { trace: sources, frames, size, draw, common })) => {
                let bench = Bench { sources: trace(sources)?, frames, size, draws: draw };
                Self::OnTrace(TraceCommand::Bench(bench), import_args(common)?)
            }
            Some(LowCommand::Completions(low)) => Self::Completions { shell: low.shell },
            Some(LowCommand::Man(LowMan { output: Some(folder), .. })) => Self::ManPages { folder },
            Some(LowCommand::Man(LowMan { command, output: None })) => Self::ManPage { words: command },
        })
    }

    /// Returns the limit for the threads of the command.
    pub(super) fn threads(&self) -> usize {
        if let Self::OnTrace(_, import) = self { import.threads } else { usize::MAX }
    }
}

fn window(low: LowWindow) -> Result<CliCommand, CliError> {
    let LowWindow { files, offsets, follow, demo, common, .. } = low;
    let sources = sources(files, offsets)?;
    let follow = follow_args(follow, &sources)?;
    Ok(CliCommand::OnTrace(TraceCommand::Window { sources, follow, demo }, import_args(common)?))
}

/// Validates the arguments of a command that reads rows, and of its import.
fn row_args(low: LowRows) -> Result<(RowListing, ImportArgs), CliError> {
    let LowRows { trace: files, scope, name, format, cells, common } = low;
    let format = row_format(format, cells)?;
    let (scope, name) = (scope_args(scope)?, expression("--name", name)?);
    let rows = RowListing { sources: trace(files)?, scope, name, format };
    Ok((rows, import_args(common)?))
}

fn spans(low: LowSpans) -> Result<CliCommand, CliError> {
    let LowSpans { rows, limit, longest } = low;
    let (RowListing { sources, scope, name, format }, import) = row_args(rows)?;
    let first = SpanChoice::First { count: limit.unwrap_or(u64::MAX) };
    let choice = longest.map_or(first, |count| SpanChoice::Longest { count });
    let spans = Spans { sources, scope: scope.named(name.as_ref()), choice, format };
    Ok(CliCommand::OnTrace(TraceCommand::Spans(spans), import))
}

fn stats(low: LowStats) -> Result<CliCommand, CliError> {
    let LowStats { subject, rows, by } = low;
    let (RowListing { sources, scope, name, format }, import) = row_args(rows)?;
    let LowStatsOf { samples, counters, scheduling, heat_map } = subject;
    let scheduling = scheduling.map(Into::into);
    let stats = Stats { sources, scope, by, name, samples, format, counters, scheduling, heat_map };
    Ok(CliCommand::OnTrace(TraceCommand::Stats(stats), import))
}

fn flame(low: LowFlame) -> Result<CliCommand, CliError> {
    let LowFlame { trace: files, scope, spans, samples, event, edits, exact: is_exact, format, common } = low;
    let format = match format {
        LowFlameFormat::Folded => FlameFormat::Folded,
        LowFlameFormat::Svg => FlameFormat::Svg,
        LowFlameFormat::Json => FlameFormat::Json,
        LowFlameFormat::Pprof if edits.inverted => {
            let message = "--inverted cannot be combined with --format pprof: pprof tools invert profiles themselves";
            return Err(CliError::Usage(message.to_owned()));
        }
        LowFlameFormat::Pprof => {
            refuse_terminal(Path::new(STDOUT), "redirect it")?;
            FlameFormat::Pprof
        }
    };
    let (sources, scope) = (trace(files)?, scope_args(scope)?);
    let view = FlameView::from(edits);
    let source = match (spans, samples || event.is_some()) {
        (true, _) => Some(PathSource::Spans),
        (false, true) => Some(PathSource::Samples),
        (false, false) => None,
    };
    let flame = Flame { sources, scope, source, event, view, is_exact, format };
    Ok(CliCommand::OnTrace(TraceCommand::Flame(flame), import_args(common)?))
}

fn search(low: LowSearch) -> Result<CliCommand, CliError> {
    let LowSearch { trace: files, query, scope, common } = low;
    let (files, query) = split_last(files, query, "QUERY")?;
    let mut scope = scope_args(scope)?;
    let query_terms = filter("QUERY", &query)?.terms;
    scope.query_terms = query_terms.len();
    scope.filter.terms.extend(query_terms);
    let search = Search { sources: trace(files)?, scope };
    Ok(CliCommand::OnTrace(TraceCommand::Search(search), import_args(common)?))
}

fn symbols(low: LowSymbols) -> Result<CliCommand, CliError> {
    let LowSymbols { trace: files, format, cells, common } = low;
    let symbols = Symbols { sources: trace(files)?, format: row_format(format, cells)? };
    Ok(CliCommand::OnTrace(TraceCommand::Symbols(symbols), import_args(common)?))
}

fn annotate(low: LowAnnotate) -> Result<CliCommand, CliError> {
    let LowAnnotate { trace: files, function, module, event, scope, common, .. } = low;
    if common.no_symbols {
        let message = "--no-symbols cannot be combined with `annotate`: without names there is no function";
        return Err(CliError::Usage(message.to_owned()));
    }
    let (files, function) = split_last(files, function, "FUNCTION")?;
    let map = |text: String| {
        let usage = || CliError::Usage(format!("--source-map {text}: give a folder, or FROM=FOLDER"));
        let map = SourceMap::parse(&text).ok_or_else(usage)?;
        if let Some(problem) = map.problem() {
            say(format_args!("--source-map {problem}"));
        }
        Ok(map)
    };
    let annotate = Annotate {
        sources: trace(files)?,
        scope: scope_args(scope)?,
        function,
        module,
        side: if low.assembly { CodeSide::Assembly } else { CodeSide::Source },
        source_maps: low.source_map.into_iter().map(map).collect::<Result<_, CliError>>()?,
        event,
        format: row_format(low.format, low.cells)?.into(),
    };
    Ok(CliCommand::OnTrace(TraceCommand::Annotate(annotate), import_args(common)?))
}

fn tail(low: LowTail) -> Result<TailArgs, CliError> {
    let LowTail { live, filter: text, until, format, memory } = low;
    let filter = live_filter("--filter", text)?.unwrap_or_default();
    let until = until_filter(until)?;
    let (inputs, delay) = live_inputs(live)?;
    let format = match format {
        LowTailFormat::Text => LiveRowFormat::Text,
        LowTailFormat::Jsonl => LiveRowFormat::JsonLines,
    };
    check_memory(memory)?;
    Ok(TailArgs { inputs, filter, until, format, delay, memory: memory.map_or_else(Memory::default, Memory::new) })
}

fn record(low: LowRecord) -> Result<CliCommand, CliError> {
    let LowRecord { live, recording: LowRetention { output, until, disk_cap, keep }, memory, threads, progress } = low;
    if output == Path::new("-") || is_stdout(&output) {
        let message = "-o -: a recording is kept in files beside OUT, so that OUT must be a file";
        return Err(CliError::Usage(message.to_owned()));
    }
    if !matches!(ExportFormat::from_output(&output), Ok(ExportFormat::Native { .. })) {
        let message = "-o: a recording is a Longspan trace, OUT.longspan; write other formats with `longspan export`";
        return Err(CliError::Usage(message.to_owned()));
    }
    let until = until_filter(until)?;
    let (inputs, delay) = live_inputs(live)?;
    let (cache, symbols) = (None, Vec::new());
    let common = LowCommon { memory, threads, cache, no_cache: true, symbols, no_symbols: true, progress };
    let record = Record { inputs, output, until, disk_cap: disk_cap.unwrap_or(u64::MAX), keep, delay };
    Ok(CliCommand::OnTrace(TraceCommand::Record(record), import_args(common)?))
}

/// Returns the running sources, and how long their events wait for each other, if given.
fn live_inputs(low: LowLive) -> Result<(Vec<LiveInput>, Option<Duration>), CliError> {
    let LowLive { sources: paths, command, delay } = low;
    let files = sources(paths, LowOffsets { offsets: Vec::new(), unit: None })?;
    let mut inputs = live_sources(&files)?;
    inputs.extend((!command.is_empty()).then_some(LiveInput::Command(command)));
    if inputs.is_empty() {
        let message = "expected a SOURCE (a file, a pipe, - for stdin, unix:PATH or otlp), or -- and a COMMAND whose output is read";
        return Err(CliError::Usage(message.to_owned()));
    }
    Ok((inputs, delay.map(Duration::from_nanos)))
}

fn colors(by: LowColorBy, hues: LowHues) -> Colors {
    let by = match by {
        LowColorBy::Name => ColorBy::Name,
        LowColorBy::Category => ColorBy::Category,
        LowColorBy::Thread => ColorBy::Track,
        LowColorBy::Duration => ColorBy::Duration,
    };
    let hues = match hues {
        LowHues::Usual => Hues::Usual,
        LowHues::Colorblind => Hues::ColorBlind,
    };
    Colors { by, hues }
}

fn export(low: LowExport) -> Result<CliCommand, CliError> {
    let format = export_format(&low)?;
    let LowExport { trace: files, output, scope, symbolized: is_symbolized, derive: derived, common, .. } = low;
    if !derived.is_empty() && !format.has_counters() {
        return Err(CliError::Usage(format!("--derive makes counters, and {} contains none", format.label())));
    }
    let (scope, sources, output) = (scope_args(scope)?, trace(files)?, to_write(output));
    if matches!(format, ExportFormat::Parquet { .. }) && is_stdout(&output) {
        let message = "Parquet is a folder of tables, which cannot be written to stdout: give a new folder, as in -o tables.parquet; --format csv writes the spans to stdout";
        return Err(CliError::Usage(message.to_owned()));
    }
    if !matches!(format, ExportFormat::Csv { .. }) {
        refuse_terminal(&output, "give --output FILE, or redirect")?;
    }
    let export = Export { sources, output, format, scope, is_symbolized, derived };
    Ok(CliCommand::OnTrace(TraceCommand::Export(export), import_args(common)?))
}

/// Returns the format of an export: from the option, else by the name of the output, else the native format.
fn export_format(low: &LowExport) -> Result<ExportFormat, CliError> {
    let &LowExport { ref output, format, by_process, compact, cells, .. } = low;
    let format = written_format(output, format)?;
    if by_process && !matches!(format, ExportFormat::Parquet { .. }) {
        return Err(CliError::Usage("--by-process requires --format parquet: other formats are one file".to_owned()));
    }
    if compact && !matches!(format, ExportFormat::Native { .. }) {
        let message = "--compact requires --format native: other formats contain no sorted store";
        return Err(CliError::Usage(message.to_owned()));
    }
    if cells.csv_safe && !matches!(format, ExportFormat::Csv { .. }) {
        return Err(csv_safe_is_for_csv());
    }
    Ok(match format {
        ExportFormat::Native { .. } => ExportFormat::Native { compact },
        ExportFormat::Parquet { .. } => ExportFormat::Parquet { by_process },
        ExportFormat::Csv { .. } => ExportFormat::Csv { cells: cells_of(cells, &to_write(output.clone())) },
        ExportFormat::ChromeJson { .. } | ExportFormat::Perfetto | ExportFormat::Pprof => format,
    })
}

fn render(low: LowRender) -> Result<CliCommand, CliError> {
    let LowRender { trace: files, output, size, timeline_only, scale, theme, color, palette, scope, common } = low;
    let (colors, scope) = (colors(color, palette), scope_args(scope)?);
    let shade = match theme {
        LowTheme::Dark => Some(Shade::Dark),
        LowTheme::Light => Some(Shade::Light),
        LowTheme::System => None,
    };
    refuse_other_picture(&output)?;
    let (sources, output) = (trace(files)?, to_write(output));
    refuse_terminal(&output, "give --output FILE, or redirect")?;
    let is_timeline_only = timeline_only;
    let render = Render { sources, output, size, is_timeline_only, scale, shade, colors, scope };
    Ok(CliCommand::OnTrace(TraceCommand::Render(render), import_args(common)?))
}

/// Refuses the extensions of other files than PNG, because their content would not match their name.
fn refuse_other_picture(output: &Path) -> Result<(), CliError> {
    let ending = output.extension().filter(|ending| !ending.is_empty() && !ending.eq_ignore_ascii_case("png"));
    match ending {
        None => Ok(()),
        Some(ending) => Err(CliError::Usage(format!(
            "{}: images are written as PNG, not as .{}: give a name that ends in .png",
            output.display(),
            ending.display()
        ))),
    }
}

fn synth(low: LowSynth) -> Result<CliCommand, CliError> {
    let LowSynth { output, spans, threads, depth, disorder, seed, format } = low;
    let format = generated_format(&output, format)?;
    let output = to_write(output);
    refuse_terminal(&output, "give --output FILE, or redirect")?;
    Ok(CliCommand::Synth(SynthArgs { output, spans, threads, depth, disorder, seed, format }))
}

/// Returns the format of a generated trace, which not all formats can hold.
fn generated_format(output: &Path, given: Option<LowFormat>) -> Result<ExportFormat, CliError> {
    match written_format(output, given) {
        Ok(format @ (ExportFormat::Native { .. } | ExportFormat::ChromeJson { .. } | ExportFormat::Perfetto)) => {
            Ok(format)
        }
        _ => Err(CliError::Usage(format!(
            "{}: cannot be generated: give a name that ends in .longspan, .json, .json.gz or .pftrace, or a --format",
            output.display()
        ))),
    }
}

/// Returns the given format, or else the format by the name of the output.
fn written_format(output: &Path, given: Option<LowFormat>) -> Result<ExportFormat, CliError> {
    Ok(match given {
        Some(LowFormat::Native) => ExportFormat::NATIVE,
        Some(LowFormat::Chrome) => ExportFormat::ChromeJson { gzip: ends_in_gz(output) },
        Some(LowFormat::Perfetto) => ExportFormat::Perfetto,
        Some(LowFormat::Pprof) => ExportFormat::Pprof,
        Some(LowFormat::Csv) => ExportFormat::Csv { cells: Cells::default() },
        Some(LowFormat::Parquet) => ExportFormat::Parquet { by_process: false },
        None => {
            ExportFormat::from_output(output).map_err(|error| CliError::Usage(format!("{error}, or a --format")))?
        }
    })
}

#[cfg(test)]
mod tests;
