//! The validated arguments of the commands that import, follow, write or draw.

use std::path::PathBuf;
use std::time::Duration;

use super::live_rows::LiveRowFormat;
use super::scope::ScopeArgs;
use super::units::SizeArg;
use crate::base::budget::Memory;
use crate::export::ExportFormat;
use crate::live::arrivals::LiveInput;
use crate::live::live_store::Retention;
use crate::live::row_filter::LiveFilter;
use crate::model::Sources;
use crate::query::derived::DerivedTrack;
use crate::scene::color::Shade;
use crate::scene::palette::Colors;

/// The options of every import.
#[expect(clippy::struct_excessive_bools, reason = "each is an option of its own")]
#[derive(Debug, Clone)]
pub(super) struct ImportArgs {
    /// Whether the command line has no import option.
    #[cfg_attr(not(feature = "window"), expect(dead_code, reason = "only windows take over from each other"))]
    pub(crate) has_default_options: bool,
    /// Memory limit of an import, if `--memory` is given.
    pub(crate) memory_bytes: Option<u64>,
    /// Memory of this size, or of the default size; all imports of the command share it.
    pub(crate) memory: Memory,
    pub(crate) threads: usize,
    /// The cache folder; `None` for no cache.
    pub(crate) cache: Option<PathBuf>,
    pub(crate) progress: ShowProgress,
    /// Folders to search for debug files, before the folders of the system.
    pub(crate) symbols: Vec<PathBuf>,
    /// Whether symbols are resolved; unset by `--no-symbols`.
    pub(crate) symbolizes: bool,
    /// Whether the sources were loaded before in this process: their losses are printed once.
    pub(crate) is_retry: bool,
    /// Prefers addresses over recorded names if a profile has both, so that symbols name the frames.
    pub(crate) code_addresses: bool,
}

/// How progress is shown on stderr.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ShowProgress {
    /// A single line that is overwritten.
    Line,
    /// A line per second, for a file or a pipe.
    Log,
    Not,
}

/// The arguments of `longspan tail`.
#[derive(Debug)]
pub(super) struct TailArgs {
    pub(crate) inputs: Vec<LiveInput>,
    pub(crate) filter: LiveFilter,
    /// Stops at the first matching row.
    pub(crate) until: Option<LiveFilter>,
    pub(crate) format: LiveRowFormat,
    /// How long events wait for earlier ones, if given.
    pub(crate) delay: Option<Duration>,
    pub(crate) memory: Memory,
}

/// The arguments of `longspan record`.
#[derive(Debug)]
pub(super) struct Record {
    pub(crate) inputs: Vec<LiveInput>,
    pub(crate) output: PathBuf,
    /// Stops at the first matching row.
    pub(crate) until: Option<LiveFilter>,
    /// Limit for the bytes to record.
    pub(crate) disk_cap: u64,
    /// The retained part of the trace, if not everything.
    pub(crate) keep: Option<Retention>,
    /// How long events wait for earlier ones, if given.
    pub(crate) delay: Option<Duration>,
}

/// The arguments of `longspan export`.
#[derive(Debug)]
pub(super) struct Export {
    pub(crate) sources: Sources,
    pub(crate) output: PathBuf,
    pub(crate) format: ExportFormat,
    pub(crate) scope: ScopeArgs,
    /// Whether resolved function names are written instead of addresses.
    pub(crate) is_symbolized: bool,
    /// Counters to compute and write.
    pub(crate) derived: Vec<DerivedTrack>,
}

/// The arguments of `longspan render`.
#[derive(Debug)]
#[cfg_attr(not(feature = "window"), expect(dead_code, reason = "this build draws nothing"))]
pub(super) struct Render {
    pub(crate) sources: Sources,
    pub(crate) output: PathBuf,
    pub(crate) size: SizeArg,
    /// Whether the timeline is drawn without the rest of the window.
    pub(crate) is_timeline_only: bool,
    /// Pixels per point of the window.
    pub(crate) scale: f32,
    /// Dark or light; `None` follows the desktop.
    pub(crate) shade: Option<Shade>,
    pub(crate) colors: Colors,
    pub(crate) scope: ScopeArgs,
}

/// The arguments of `longspan synth`.
#[derive(Debug)]
pub(super) struct SynthArgs {
    pub(crate) output: PathBuf,
    pub(crate) spans: u64,
    pub(crate) threads: u32,
    pub(crate) depth: u16,
    pub(crate) disorder: f64,
    pub(crate) seed: u64,
    pub(crate) format: ExportFormat,
}

/// The arguments of `longspan bench`.
#[derive(Debug, Clone)]
pub(super) struct Bench {
    pub(crate) sources: Sources,
    pub(crate) frames: u32,
    pub(crate) size: SizeArg,
    /// Whether to draw the frames as well.
    pub(crate) draws: bool,
}
