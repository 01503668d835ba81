//! The arguments of the commands that ask a trace a question.

use regex::Regex;

use super::scope::ScopeArgs;
use crate::export::code_table::CodeSide;
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

/// Which spans of a scope are printed, in which order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SpanChoice {
    /// The first, in order of time, then depth.
    First { count: u64 },
    /// The spans of greatest duration, in falling order.
    Longest { count: u64 },
}

/// The arguments of `longspan stats`.
#[derive(Debug)]
pub(super) struct Stats {
    pub(crate) sources: Sources,
    pub(crate) scope: ScopeArgs,
    pub(crate) by: GroupBy,
    /// Keeps names of spans or of functions.
    pub(crate) name: Option<Regex>,
    /// Asks about samples also where there are spans.
    pub(crate) of_samples: bool,
    pub(crate) format: RowFormat,
    /// Asks about counters instead of spans.
    pub(crate) counters: bool,
    /// Asks about scheduling instead of spans.
    pub(crate) scheduling: Option<ScheduledKind>,
    /// Counts by time and duration instead of by name.
    pub(crate) heat_map: Option<HeatMapGrid>,
}

/// The arguments of `longspan flame`.
#[derive(Debug)]
pub(super) struct Flame {
    pub(crate) sources: Sources,
    pub(crate) scope: ScopeArgs,
    /// Asks about samples also where there are spans.
    pub(crate) of_samples: bool,
    /// The name of an event, or its title with the unit.
    pub(crate) event: Option<String>,
    pub(crate) view: FlameView,
    /// Whether small paths are counted too, where the ledger lacks them.
    pub(crate) is_exact: bool,
    pub(crate) format: FlameFormat,
}

/// The file format of a flame graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FlameFormat {
    Folded,
    Svg,
    Json,
    Pprof,
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
    /// A path or the name of a file.
    pub(crate) module: Option<String>,
    pub(crate) side: CodeSide,
    pub(crate) source_maps: Vec<SourceMap>,
    /// The name of an event, or its title with the unit.
    pub(crate) event: Option<String>,
    pub(crate) format: ValueFormat,
}
