//! The command line as parsed by clap: names, types and help texts. [`super::args`] validates it.

use std::path::PathBuf;

use clap::builder::{OsStringValueParser, PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;

use super::examples::examples;
use super::flame_view::LowFlameEdits;
use super::low_cache::LowCache;
use super::low_choices::{LowColorBy, LowFlameFormat, LowFormat, LowHues, LowRowFormat, LowTheme, LowUnit};
use super::low_live::{LowFollow, LowFollowLimits, LowLive, LowRetention, LowTail};
use super::low_scope::LowScope;
use super::low_stats::LowStatsOf;
use super::number_args::{any_number, frames, part, port, scale, synth_depth, synth_threads, threads};
use super::units::SizeArg;
use crate::base::units::{bytes, signed_time_ns};
use crate::base::version::VERSION;
use crate::formats::sniff::names;
use crate::query::derived::DerivedTrack;
use crate::query::groups::GroupBy;

/// A viewer for trace timelines of a billion spans.
#[derive(Debug, Parser)]
#[command(
    name = "longspan",
    version,
    long_version = VERSION.as_str(),
    about,
    args_conflicts_with_subcommands = true,
    subcommand_help_heading = "Commands"
)]
#[command(
    after_help = format!(
        "Traces are recognised by their content: {}; also inside gzip, zstd, bzip2, zip and tar.\n\n\
         Exit status: 0 done (import issues, if any, are on stderr), 1 the input or output failed, 2 wrong usage.\n\n{}",
        names(),
        examples("")
    )
)]
pub(super) struct LowArgs {
    /// The command; without it, the files are opened in the window.
    #[command(subcommand)]
    pub(crate) command: Option<LowCommand>,
    /// The files to open in the window.
    #[command(flatten)]
    pub(crate) window: LowWindow,
}

#[derive(Debug, Args)]
pub(super) struct LowWindow {
    /// Traces to open in the window; several share one timeline; - is stdin, and pipes are accepted
    #[arg(value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) offsets: LowOffsets,
    /// Open a generated trace
    #[arg(long, conflicts_with_all = ["files", "follow", "command"])]
    pub(crate) demo: bool,
    /// Register Longspan on this user's desktop, so that a double click opens traces, and exit
    #[arg(long, conflicts_with_all = ["files", "demo"])]
    pub(crate) install_desktop: bool,
    /// Undo --install-desktop, and exit
    #[arg(long, conflicts_with_all = ["files", "demo", "install_desktop"])]
    pub(crate) uninstall_desktop: bool,
    #[command(flatten)]
    pub(crate) follow: LowFollow,
    #[command(flatten)]
    pub(crate) common: LowCommon,
}

/// How files are read: their time offsets, and the unit of their weights.
#[derive(Debug, Args)]
pub(super) struct LowOffsets {
    /// Add an offset to the times of a file, such as b.json=+1.5ms; FILE is a given path or its file name
    #[arg(long = "offset", value_name = "FILE=TIME", value_parser = offset, requires = "files", allow_hyphen_values = true)]
    pub(crate) offsets: Vec<(String, i64)>,
    /// The unit of the weights in collapsed stacks, which have none [default: samples]
    #[arg(long, value_enum, requires = "files")]
    pub(crate) unit: Option<LowUnit>,
}

/// The files that a command loads.
#[derive(Debug, Args)]
pub(super) struct LowTrace {
    /// The trace; several files share one timeline; - is stdin, and pipes are accepted
    // Without a terminator, the parser takes a file before an option for the argument that follows the files. No
    // argument contains this one, so all positionals are files; `last_argument` splits off the last.
    #[arg(value_name = "FILE", required = true, value_terminator = "\0", value_parser = file_or_empty())]
    pub(crate) files: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) offsets: LowOffsets,
}

// Options after a flattened group would be under its heading too, so that groups with one are last.

/// The options of every command that loads a trace.
#[derive(Debug, Args)]
#[command(next_help_heading = "Loading")]
pub(super) struct LowCommon {
    /// Memory limit of a load, such as 512MiB or 2G, at least 8MiB [default: 1GiB]
    #[arg(long, value_name = "BYTES", value_parser = bytes)]
    pub(crate) memory: Option<u64>,
    /// Number of worker threads [default: one per core]
    #[arg(long, value_name = "N", value_parser = threads, allow_negative_numbers = true)]
    pub(crate) threads: Option<u16>,
    /// Cache folder of sorted traces [default: longspan in the user's cache folder]
    #[arg(long, value_name = "DIR")]
    pub(crate) cache: Option<PathBuf>,
    /// Neither read nor write the cache
    #[arg(long, conflicts_with = "cache")]
    pub(crate) no_cache: bool,
    /// Search this folder, or archive of `perf archive`, first for symbol files; may be given several times
    #[arg(long, value_name = "DIR", conflicts_with = "no_symbols")]
    pub(crate) symbols: Vec<PathBuf>,
    /// Do not symbolize: show functions as recorded, by address
    #[arg(long)]
    pub(crate) no_symbols: bool,
    /// When to show progress on stderr; auto: if it is a terminal
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    pub(crate) progress: LowProgress,
}

/// The conditions for showing progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum LowProgress {
    Auto,
    Always,
    Never,
}

/// The commands, in the order of the help text.
#[derive(Debug, Subcommand)]
pub(super) enum LowCommand {
    /// Generate, sort, index and show a demo trace; with no display, draw it into a PNG file
    #[command(after_help = examples("demo"))]
    Demo(LowDemo),
    /// Print the contents of a trace, and how it was loaded
    #[command(after_help = examples("info"))]
    Info(LowInfo),
    /// Print the spans of a trace, sorted by time, then depth, or the longest
    #[command(after_help = examples("spans"))]
    Spans(LowSpans),
    /// Print the totals of the spans of a trace by name or other keys, the largest first; of its
    /// samples if it has no spans
    #[command(after_help = examples("stats"))]
    Stats(LowStats),
    /// Print the call paths of a trace with their weights, of its spans or its samples
    #[command(after_help = examples("flame"))]
    Flame(LowFlame),
    /// Count the spans, instants and samples of a trace that match a filter
    #[command(after_help = examples("search"))]
    Search(LowSearch),
    /// List the modules of sampled code, whether they have symbols, and how to get missing ones
    #[command(after_help = examples("symbols"))]
    Symbols(LowSymbols),
    /// Print one function with its samples, line by line of its source or instruction by instruction
    #[command(after_help = examples("annotate"))]
    Annotate(LowAnnotate),
    /// Write a sorted trace or a part of it to a file
    #[command(after_help = examples("export"))]
    Export(LowExport),
    /// Draw a trace into a PNG file, the same image as in the window
    #[command(after_help = examples("render"))]
    Render(LowRender),
    /// Write a generated trace
    #[command(after_help = examples("synth"))]
    Synth(LowSynth),
    /// Print the spans of live traces as soon as they are sorted
    #[command(after_help = examples("tail"))]
    Tail(LowTail),
    /// Record live traces, and sort them into one file when they end
    #[command(after_help = examples("record"))]
    Record(LowRecord),
    /// Show traces that programs send to a private socket or, with --otlp, from OpenTelemetry exporters
    #[command(after_help = examples("listen"))]
    Listen(LowListen),
    /// Print all data of a trace as JSON lines
    #[command(after_help = examples("dump"))]
    Dump(LowDump),
    /// List or clear the cache of sorted traces
    #[command(after_help = examples("cache"))]
    Cache(LowCache),
    /// Measure the frames of a scripted zoom from the whole trace to one span and back
    #[command(after_help = examples("bench"))]
    Bench(LowBench),
    /// Print the completion script of a shell
    #[command(after_help = examples("completions"))]
    Completions(LowCompletions),
    /// Print a man page, or write all of them
    #[command(after_help = examples("man"))]
    Man(LowMan),
}

#[derive(Debug, Args)]
pub(super) struct LowDemo {
    #[command(flatten)]
    pub(crate) common: LowCommon,
}

#[derive(Debug, Args)]
pub(super) struct LowInfo {
    #[command(flatten)]
    pub(crate) trace: LowTrace,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) common: LowCommon,
}

/// Rows of a trace, and how they are written.
#[derive(Debug, Args)]
pub(super) struct LowRows {
    #[command(flatten)]
    pub(crate) trace: LowTrace,
    /// Only spans whose name contains a match of this regular expression; for samples, functions, modules, threads
    /// or events
    #[arg(long, value_name = "RE")]
    pub(crate) name: Option<String>,
    /// Output format
    #[arg(long, default_value = "csv")]
    pub(crate) format: LowRowFormat,
    #[command(flatten)]
    pub(crate) cells: LowCells,
    #[command(flatten)]
    pub(crate) scope: LowScope,
    #[command(flatten)]
    pub(crate) common: LowCommon,
}

#[derive(Debug, Args)]
pub(super) struct LowSpans {
    /// Maximum number of spans
    #[arg(long, value_name = "N", value_parser = any_number, allow_negative_numbers = true)]
    pub(crate) limit: Option<u64>,
    /// The N longest spans, longest first; an unfinished span lasts until the last event of its track
    #[arg(long, value_name = "N", value_parser = any_number, allow_negative_numbers = true, conflicts_with = "limit")]
    pub(crate) longest: Option<u64>,
    #[command(flatten)]
    pub(crate) rows: LowRows,
}

#[derive(Debug, Args)]
pub(super) struct LowStats {
    #[command(flatten)]
    pub(crate) subject: LowStatsOf,
    /// Group by name, category, thread, process, a name or category with a thread or process such as name,thread, or
    /// the value of an argument, such as arg:url, with keys as in --filter
    #[arg(long, value_name = "KEYS", default_value = "name")]
    pub(crate) by: GroupBy,
    #[command(flatten)]
    pub(crate) rows: LowRows,
}

#[derive(Debug, Args)]
pub(super) struct LowFlame {
    #[command(flatten)]
    pub(crate) trace: LowTrace,
    /// The call paths of spans, even if the trace has samples, and no spans but thread states and runs on CPUs
    #[arg(long, conflicts_with_all = ["samples", "event"])]
    pub(crate) spans: bool,
    /// The call paths of samples, even if the trace has spans
    #[arg(long)]
    pub(crate) samples: bool,
    /// The samples of this event [default: the one with the most samples; for pprof, its default]
    #[arg(long, value_name = "E", allow_hyphen_values = true)]
    pub(crate) event: Option<String>,
    #[command(flatten)]
    pub(crate) edits: LowFlameEdits,
    /// Count the call paths of spans that the store has merged, by reading all spans of the scope; the smallest stay
    /// merged if there are more than 1,048,576 (fewer below 512 MiB of --memory)
    #[arg(long)]
    pub(crate) exact: bool,
    /// Output format
    #[arg(long, default_value = "folded")]
    pub(crate) format: LowFlameFormat,
    #[command(flatten)]
    pub(crate) scope: LowScope,
    #[command(flatten)]
    pub(crate) common: LowCommon,
}

#[derive(Debug, Args)]
pub(super) struct LowSearch {
    #[command(flatten)]
    pub(crate) trace: LowTrace,
    #[arg(
        value_name = "QUERY",
        required = true,
        conflicts_with = "files",
        help = "What to look for: a filter, with the words of --filter, after -- where it begins with a minus"
    )]
    pub(crate) query: Option<String>,
    #[command(flatten)]
    pub(crate) scope: LowScope,
    #[command(flatten)]
    pub(crate) common: LowCommon,
}

#[derive(Debug, Args)]
pub(super) struct LowSymbols {
    #[command(flatten)]
    pub(crate) trace: LowTrace,
    /// Output format
    #[arg(long, default_value = "csv")]
    pub(crate) format: LowRowFormat,
    #[command(flatten)]
    pub(crate) cells: LowCells,
    #[command(flatten)]
    pub(crate) common: LowCommon,
}

#[derive(Debug, Args)]
pub(super) struct LowAnnotate {
    #[command(flatten)]
    pub(crate) trace: LowTrace,
    /// The function: its name as `stats` prints it, or that name without its parameters
    #[arg(value_name = "FUNCTION", required = true, conflicts_with = "files")]
    pub(crate) function: Option<String>,
    /// The module of the function, if several modules have one of that name: its path, or the end of its path
    #[arg(long, value_name = "MODULE", allow_hyphen_values = true)]
    pub(crate) module: Option<String>,
    /// Print the lines of its source; this is the default
    #[arg(long, conflicts_with = "assembly")]
    pub(crate) source: bool,
    /// Print its instructions; x86 and AArch64 only
    #[arg(long)]
    pub(crate) assembly: bool,
    /// Read sources below this folder; FROM=DIR replaces the prefix FROM of paths in debug information;
    /// may be given several times
    #[arg(long, value_name = "[FROM=]DIR")]
    pub(crate) source_map: Vec<String>,
    /// Count the samples of this event [default: the one with the most samples; for pprof, its default]
    #[arg(long, value_name = "E", allow_hyphen_values = true)]
    pub(crate) event: Option<String>,
    /// Output format
    #[arg(long, default_value = "csv")]
    pub(crate) format: LowRowFormat,
    #[command(flatten)]
    pub(crate) cells: LowCells,
    #[command(flatten)]
    pub(crate) scope: LowScope,
    #[command(flatten)]
    pub(crate) common: LowCommon,
}

/// How the cells of comma-separated text are written.
#[derive(Debug, Clone, Copy, Args)]
pub(super) struct LowCells {
    /// For csv: put an apostrophe before text that a spreadsheet would evaluate (= + - @, tab, line break)
    #[arg(long)]
    pub(crate) csv_safe: bool,
}

#[derive(Debug, Args)]
pub(super) struct LowExport {
    #[command(flatten)]
    pub(crate) trace: LowTrace,
    /// The file to write, replaced only once everything is written; - is stdout
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: PathBuf,
    /// The format [default: by the extension of OUT: .longspan or none native, .json and .json.gz chrome,
    /// .pftrace perfetto, .pb.gz and .pprof pprof, .csv, .parquet]
    #[arg(long)]
    pub(crate) format: Option<LowFormat>,
    /// Write function names in place of addresses, where symbols are found
    #[arg(long, conflicts_with = "no_symbols")]
    pub(crate) symbolized: bool,
    /// Add a counter that is computed from the rows of the scope: count, rate, concurrency, busy, max-duration,
    /// p1 to p99, sum:arg.KEY or sum:counter.NAME; then every:TIME, the width of its steps; then a filter as for
    /// `search`; may be given several times
    #[arg(long, value_name = "TRACK", value_parser = DerivedTrack::parse)]
    pub(crate) derive: Vec<DerivedTrack>,
    /// For Parquet: write separate files for each process
    #[arg(long)]
    pub(crate) by_process: bool,
    /// For native: leave out the sorted store: less than half the size, but slower to open
    #[arg(long)]
    pub(crate) compact: bool,
    #[command(flatten)]
    pub(crate) cells: LowCells,
    #[command(flatten)]
    pub(crate) scope: LowScope,
    #[command(flatten)]
    pub(crate) common: LowCommon,
}

#[derive(Debug, Args)]
pub(super) struct LowRender {
    #[command(flatten)]
    pub(crate) trace: LowTrace,
    /// The PNG file to write; - is stdout
    #[arg(short, long, value_name = "PNG")]
    pub(crate) output: PathBuf,
    /// Size in pixels
    #[arg(long, value_name = "WxH", default_value = "1920x1080")]
    pub(crate) size: SizeArg,
    /// Draw the timeline alone, as File > Export image does: without menus, fields and scroll bars
    #[arg(long)]
    pub(crate) timeline_only: bool,
    /// Pixels per point of text and lines, 0.5 to 8: 2 for high-resolution screens
    #[arg(long, value_name = "N", default_value = "1", value_parser = scale)]
    pub(crate) scale: f32,
    /// Dark, light, or the setting of the desktop
    #[arg(long, value_enum, default_value_t)]
    pub(crate) theme: LowTheme,
    #[arg(long, value_enum, default_value_t, help = "The property that colours spans")]
    pub(crate) color: LowColorBy,
    /// Set of colours
    #[arg(long, value_enum, default_value_t)]
    pub(crate) palette: LowHues,
    #[command(flatten)]
    pub(crate) scope: LowScope,
    #[command(flatten)]
    pub(crate) common: LowCommon,
}

#[derive(Debug, Args)]
pub(super) struct LowSynth {
    /// The file to write; - is stdout
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: PathBuf,
    /// Number of spans
    #[arg(long, value_name = "N", value_parser = any_number, allow_negative_numbers = true)]
    pub(crate) spans: u64,
    /// Number of threads of the trace
    #[arg(long, value_name = "N", default_value = "16", value_parser = synth_threads, allow_negative_numbers = true)]
    pub(crate) threads: u32,
    /// Maximum nesting depth of spans
    #[arg(long, value_name = "N", default_value = "10", value_parser = synth_depth, allow_negative_numbers = true)]
    pub(crate) depth: u16,
    /// Share of events that are late in the file, 0 to 1; 1 is a random order
    #[arg(long, value_name = "F", default_value = "0.01", value_parser = part)]
    pub(crate) disorder: f64,
    /// Seed of the random numbers: the same seed gives the same trace
    #[arg(long, value_name = "N", default_value = "1", value_parser = any_number, allow_negative_numbers = true)]
    pub(crate) seed: u64,
    /// The format [default: chrome for .json and .json.gz, perfetto for .pftrace, native for .longspan or none]
    #[arg(long, value_parser = generated_format())]
    pub(crate) format: Option<LowFormat>,
}

#[derive(Debug, Args)]
pub(super) struct LowRecord {
    #[command(flatten)]
    pub(crate) live: LowLive,
    #[command(flatten)]
    pub(crate) recording: LowRetention,
    /// Memory limit, such as 512MiB or 2G, at least 8MiB [default: 1GiB]
    #[arg(long, value_name = "BYTES", value_parser = bytes)]
    pub(crate) memory: Option<u64>,
    /// Number of worker threads [default: one per core]
    #[arg(long, value_name = "N", value_parser = threads, allow_negative_numbers = true)]
    pub(crate) threads: Option<u16>,
    /// When to show progress on stderr; auto: if it is a terminal
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    pub(crate) progress: LowProgress,
}

#[derive(Debug, Args)]
#[expect(clippy::doc_markdown, reason = "the help shows no marks")]
pub(super) struct LowListen {
    /// The socket: each connection sends a trace in any format that can be followed; its folder must be private
    /// [default: longspan/listen.sock in XDG_RUNTIME_DIR; none with --otlp]
    #[arg(value_name = "PATH")]
    pub(crate) path: Option<PathBuf>,
    /// Receive OTLP over HTTP (JSON and protobuf) from this machine, on 127.0.0.1 and this port; 0 picks a free one
    #[arg(
        long,
        value_name = "PORT",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "4318",
        value_parser = port
    )]
    pub(crate) otlp: Option<u16>,
    #[command(flatten)]
    pub(crate) limits: LowFollowLimits,
    #[command(flatten)]
    pub(crate) common: LowCommon,
}

#[derive(Debug, Args)]
pub(super) struct LowDump {
    #[command(flatten)]
    pub(crate) trace: LowTrace,
    #[command(flatten)]
    pub(crate) common: LowCommon,
}

#[derive(Debug, Args)]
pub(super) struct LowBench {
    #[command(flatten)]
    pub(crate) trace: LowTrace,
    /// Number of frames
    #[arg(long, value_name = "N", default_value = "240", value_parser = frames, allow_negative_numbers = true)]
    pub(crate) frames: u32,
    /// Size of a frame in pixels
    #[arg(long, value_name = "WxH", default_value = "1920x1080")]
    pub(crate) size: SizeArg,
    /// Also draw the frames offscreen, and measure the GPU
    #[arg(long)]
    pub(crate) draw: bool,
    #[command(flatten)]
    pub(crate) common: LowCommon,
}

#[derive(Debug, Args)]
pub(super) struct LowCompletions {
    /// The shell; bash reads the script from /usr/share/bash-completion/completions/longspan
    pub(crate) shell: Shell,
}

#[derive(Debug, Args)]
pub(super) struct LowMan {
    /// The command to describe, such as stats or cache list [default: the program]
    #[arg(conflicts_with = "output")]
    pub(crate) command: Vec<String>,
    /// Write all pages into this folder
    #[arg(short, long, value_name = "DIR")]
    pub(crate) output: Option<PathBuf>,
}

/// Returns a parser of paths that accepts an empty text, which may be the last argument of a command.
fn file_or_empty() -> impl TypedValueParser<Value = PathBuf> {
    OsStringValueParser::new().map(PathBuf::from)
}

/// Returns the formats of `synth`; the others cannot hold a whole trace in one file.
fn generated_format() -> impl TypedValueParser<Value = LowFormat> {
    let formats = [LowFormat::Native, LowFormat::Chrome, LowFormat::Perfetto];
    let names = PossibleValuesParser::new(formats.iter().filter_map(ValueEnum::to_possible_value));
    names.try_map(|name| LowFormat::from_str(&name, false))
}

fn offset(text: &str) -> Result<(String, i64), String> {
    // A file name may contain an equals sign; a time does not.
    let (file, time) = text.rsplit_once('=').ok_or("expected FILE=TIME, such as b.json=+1.5ms")?;
    Ok((file.to_owned(), signed_time_ns(time.strip_prefix('+').unwrap_or(time))?))
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;

    use clap::CommandFactory;

    use super::*;
    use crate::base::generated_docs::assert_generated;

    #[test]
    fn help_in_the_docs_is_that_of_the_command_line() {
        let mut text = String::new();
        let mut program = LowArgs::command().term_width(110);
        program.build();
        write_help(&program, &mut text);
        assert_generated("cli.md", "the command line", &text);
    }

    #[test]
    fn only_the_options_of_a_group_are_under_its_heading() {
        let mut program = LowArgs::command();
        program.build();
        let groups = [
            ("Scope", LowScope::augment_args(clap::Command::new("scope"))),
            ("Loading", LowCommon::augment_args(clap::Command::new("loading"))),
        ];
        for command in program.get_subcommands() {
            for (heading, group) in &groups {
                for option in command.get_arguments().filter(|arg| arg.get_help_heading() == Some(heading)) {
                    let is_known = group.get_arguments().any(|known| known.get_id() == option.get_id());
                    assert!(is_known, "{}: {} is under {heading}", command.get_name(), option.get_id());
                }
            }
        }
    }

    /// Appends the help of a command, then the help of its subcommands.
    fn write_help(command: &clap::Command, text: &mut String) {
        let name = command.get_bin_name().unwrap_or(command.get_name());
        let help = command.clone().term_width(110).render_long_help().to_string();
        let lines: Vec<&str> = help.lines().map(str::trim_end).collect();
        writeln!(text, "### {name}\n\n```text\n{}\n```\n", lines.join("\n").trim()).unwrap();
        for command in command.get_subcommands().filter(|command| command.get_name() != "help") {
            write_help(command, text);
        }
    }
}
