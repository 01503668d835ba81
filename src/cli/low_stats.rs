//! The options of `longspan stats`, as parsed by clap; see [`super::low_args`].

use clap::{Args, ValueEnum};

use crate::query::heat_map::HeatMapGrid;
use crate::query::scheduling::ScheduledKind;

/// The rows that `stats` sums up, other than spans.
#[derive(Debug, Args)]
pub(super) struct LowStatsOf {
    /// Totals of samples, each event in its unit, even if the trace has spans
    #[arg(
        long,
        value_name = "BY",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "function",
        conflicts_with = "by"
    )]
    pub(crate) samples: Option<LowSampleBy>,
    /// Statistics of counters: samples, smallest, largest, mean over time, first, last, change, change per second
    #[arg(long, conflicts_with_all = ["name", "by", "samples"])]
    pub(crate) counters: bool,
    /// Scheduling: time running, runnable and waiting, of each thread, process or CPU
    #[arg(
        long,
        value_name = "OF",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "thread",
        conflicts_with_all = ["name", "by", "samples", "counters"]
    )]
    pub(crate) scheduling: Option<LowScheduling>,
    /// Heat map: number of spans by start time and duration; PARTS of the time range, and ROWS per doubling of
    /// the duration: 1, 2, 4, 8, 16 or 32
    #[arg(
        long,
        value_name = "PARTSxROWS",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "100x4",
        conflicts_with_all = ["by", "samples", "counters", "scheduling"]
    )]
    pub(crate) heat_map: Option<HeatMapGrid>,
}

/// The rows of a table of samples. Functions with the same name are one row, or one for each module.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(super) enum LowSampleBy {
    #[default]
    Function,
    FunctionModule,
    Module,
    Thread,
    Event,
}

/// The rows of a table of scheduling.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum LowScheduling {
    Thread,
    Process,
    Cpu,
}

impl From<LowScheduling> for ScheduledKind {
    fn from(low: LowScheduling) -> Self {
        match low {
            LowScheduling::Thread => Self::Threads,
            LowScheduling::Process => Self::Processes,
            LowScheduling::Cpu => Self::Cpus,
        }
    }
}
