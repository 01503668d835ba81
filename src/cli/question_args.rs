//! The arguments of the commands that query a trace.

use regex::Regex;

use super::low_stats::LowSampleBy;
use super::scope::ScopeArgs;
use crate::export::code_table::CodeSide;
use crate::export::flame::FlameFormat;
use crate::export::table::RowFormat;
use crate::export::values::ValueFormat;
use crate::model::Sources;
use crate::query::flame::FlameView;
use crate::query::groups::GroupBy;
use crate::query::heat_map::HeatMapGrid;
use crate::query::scheduling::ScheduledKind;
use crate::symbols::sources::SourceMap;

/// The arguments of `longspan spans`.
#[derive(Debug)]
pub(super) struct Spans {
    pub(crate) sources: Sources,
    pub(crate) scope: ScopeArgs,
    pub(crate) choice: SpanChoice,
    pub(crate) format: RowFormat,
}

/// The spans to print, and their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SpanChoice {
    /// The first, by time, then depth.
    First {
        count: u64,
    },
    Longest {
        count: u64,
    },
}

/// The arguments of `longspan stats`.
#[derive(Debug)]
pub(super) struct Stats {
    pub(crate) sources: Sources,
    pub(crate) scope: ScopeArgs,
    pub(crate) by: GroupBy,
    /// Filters names of spans, or the rows of samples.
    pub(crate) name: Option<Regex>,
    /// Queries samples even if there are spans.
    pub(crate) samples: Option<LowSampleBy>,
    pub(crate) format: RowFormat,
    /// Queries counters instead of spans.
    pub(crate) counters: bool,
    /// Queries scheduling instead of spans.
    pub(crate) scheduling: Option<ScheduledKind>,
    /// Counts by time and duration instead of by name.
    pub(crate) heat_map: Option<HeatMapGrid>,
}

/// The arguments of `longspan flame`.
#[derive(Debug)]
pub(super) struct Flame {
    pub(crate) sources: Sources,
    pub(crate) scope: ScopeArgs,
    /// The source of the paths; `None` for the default.
    pub(crate) source: Option<PathSource>,
    /// The name of an event, or its title with the unit.
    pub(crate) event: Option<String>,
    pub(crate) view: FlameView,
    /// Whether to count small paths that the ledger lacks.
    pub(crate) is_exact: bool,
    pub(crate) format: FlameFormat,
}

/// The source of call paths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PathSource {
    Spans,
    Samples,
}

/// The arguments of `longspan search`.
#[derive(Debug)]
pub(super) struct Search {
    pub(crate) sources: Sources,
    pub(crate) scope: ScopeArgs,
}

/// The arguments of `longspan symbols`.
#[derive(Debug)]
pub(super) struct Symbols {
    pub(crate) sources: Sources,
    pub(crate) format: RowFormat,
}

/// The arguments of `longspan annotate`.
#[derive(Debug)]
pub(super) struct Annotate {
    pub(crate) sources: Sources,
    pub(crate) scope: ScopeArgs,
    pub(crate) function: String,
    /// A path or a file name.
    pub(crate) module: Option<String>,
    pub(crate) side: CodeSide,
    pub(crate) source_maps: Vec<SourceMap>,
    /// The name of an event, or its title with the unit.
    pub(crate) event: Option<String>,
    pub(crate) format: ValueFormat,
}
