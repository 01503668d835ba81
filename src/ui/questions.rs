//! The queries of panels that take longer than a frame, and their answers. The application runs them in the background,
//! and passes each answer to its panel.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use crate::base::direction::Direction;
use crate::frame::filtered::Filtered;
use crate::model::{ProcessIdx, Sources, TrackIdx};
use crate::query::Snapshot;
use crate::query::exact_quantiles::QUANTILE_PARTS;
use crate::query::flame::{FlamePicture, FlameView, FunctionKey};
use crate::query::group_choice::GroupChoice;
use crate::query::groups::GroupBy;
use crate::query::heat_map::{HeatMap, HeatMapAxis};
use crate::query::ordered_rows::ListOrder;
use crate::query::overlay::NameOverlay;
use crate::query::sample_table::{SampleBy, SampleTable};
use crate::query::samples::SampleEvent;
use crate::query::scheduling::{ScheduledKind, ScheduledTime, Scheduling};
use crate::query::scheduling_order::SchedulingColumn;
use crate::query::search::{Hit, Hits, moved_hits};
use crate::query::stacks::CallPaths;
use crate::store::lane::RowIdx;
use crate::store::live_lanes::LaneMoves;
use crate::symbols::code::choice::NoFunction;
use crate::symbols::code::listing::FunctionCode;
use crate::symbols::lookup::TraceNames;
use crate::symbols::report::ModuleReport;
use crate::symbols::sources::SourceMap;
use crate::ui::panel::Panel;
use crate::ui::panels::counter_lines::CounterLines;
use crate::ui::panels::group_lines::GroupLines;
use crate::ui::panels::sample_lines::SampleLines;
use crate::ui::panels::table_order::{OrderedRows, TableSort};
use crate::ui::selected_scope::SelectedScope;

/// A query. A new query replaces a running query of its kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Question {
    /// All rows of a scope that match a filter.
    Search(String, SelectedScope),
    /// A page of an answer: the index of its first row, and the maximum number of rows.
    Page(HitsOf, u64, usize),
    /// All spans of a scope in time order, optionally with instants and samples.
    Spans {
        scope: SelectedScope,
        with_instants: bool,
    },
    /// The first rows of a list in an order other than time.
    Ordered(Box<OrderedQuestion>),
    Counters(SelectedScope),
    /// The threads, processes or CPUs of a scope, sorted.
    Scheduling(Box<SchedulingQuestion>),
    /// The spans of a scope by start and duration.
    HeatMap(Box<HeatMapQuestion>),
    /// A first answer for the heat map from sketches, which arrives sooner.
    HeatMapSketch(Box<HeatMapQuestion>),
    /// The index of a row among the hits of a search or the spans of [`Question::Spans`].
    NumberOf(HitsOf, RowIdx),
    /// The next hit after or before a position.
    Neighbour {
        direction: Direction,
        /// A time, and a row that starts then, if any.
        from: (i64, Option<RowIdx>),
    },
    /// The next or previous row with the name of a row, on all tracks.
    SameName {
        from: RowIdx,
        direction: Direction,
    },
    /// Totals of the spans of a scope, grouped by keys.
    Totals(SelectedScope, GroupBy),
    /// The groups that are counted so far by a running [`Question::Totals`].
    PartialTotals,
    /// Groups in the order of a column.
    OrderGroups(PtrEq<GroupLines>, TableSort),
    /// Rows of a sample table in the order of a column.
    OrderSamples(PtrEq<SampleLines>, TableSort),
    /// The spans of a scope by call path, top down or inverted.
    SpanCalls(Box<PathsQuestion>),
    /// Rows of a call tree of spans in the order of a column.
    OrderSpanCalls(PtrEq<SampleLines>, TableSort),
    /// Counters in the order of a column.
    OrderCounters(PtrEq<CounterLines>, TableSort),
    /// Details of one group of spans.
    Group(GroupChoice, SelectedScope),
    /// The exact quantiles of one group of spans.
    Quantiles(GroupChoice, SelectedScope),
    /// A sample table of a scope, by group.
    Samples(Box<SampleQuestion>),
    /// The callers and callees of a function, for panels other than the flame graph.
    Sandwich(Box<PathsQuestion>),
    /// A view of the call tree of a scope.
    Paths(Box<PathsQuestion>),
    /// A function with its samples, after symbol resolution.
    Code(Box<CodeQuestion>),
    /// Symbol resolution for the addresses of the trace, started by the application.
    Names(NameQuery),
}

/// A request to resolve symbols.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NameQuery {
    /// If `false`, functions keep their addresses until the user requests names.
    pub(crate) is_wanted: bool,
    /// Whether the user has added folders in the window.
    pub(crate) is_located: bool,
    /// Whether to check if stacks would change with the files present now, after the user has added a folder.
    pub(crate) compares_stacks: bool,
    pub(crate) sources: Sources,
    /// Folders that are searched before the system's.
    pub(crate) folders: Vec<PathBuf>,
    /// The cache folder, where resolved names are also stored.
    pub(crate) cache: Option<PathBuf>,
    /// Limit for the bytes of debug information read per file.
    pub(crate) bytes_max: u64,
}

/// A query for the first rows of a list in an order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OrderedQuestion {
    pub(crate) of: HitsOf,
    pub(crate) scope: SelectedScope,
    /// The filter of the search in addition to the scope's; empty for the list of spans.
    pub(crate) text: String,
    pub(crate) order: ListOrder,
    /// Whether to list instants and samples too. They have no duration, so no order by duration has them.
    pub(crate) with_instants: bool,
    /// Maximum number of rows.
    pub(crate) count: usize,
}

/// A query for a heat map.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HeatMapQuestion {
    pub(crate) scope: SelectedScope,
    /// A filter in addition to the scope's; may be empty.
    pub(crate) filter: Arc<str>,
    pub(crate) axis: HeatMapAxis,
}

/// A query for a scheduling table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SchedulingQuestion {
    pub(crate) scope: SelectedScope,
    pub(crate) kind: ScheduledKind,
    /// The sort column, and whether the order is ascending.
    pub(crate) sorted_by: (SchedulingColumn, bool),
    /// Lower-case words that names must contain; may be empty.
    pub(crate) words: String,
    /// The process of the threads; `None` for all processes.
    pub(crate) process: Option<ProcessIdx>,
    /// The scheduling of the scope if it is known, so that only sorting is left.
    pub(crate) known: Option<CachedScheduling>,
}

/// A shared result, which equals only itself.
#[derive(Debug)]
pub(crate) struct PtrEq<T>(pub(crate) Arc<T>);

impl<T: Default> Default for PtrEq<T> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl<T> Clone for PtrEq<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> PartialEq for PtrEq<T> {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl<T> Eq for PtrEq<T> {}

/// Scheduling that an earlier query has summed.
pub(crate) type CachedScheduling = PtrEq<Scheduling>;

/// A query for a sample table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SampleQuestion {
    pub(crate) scope: SelectedScope,
    /// The event; `None` for the default.
    pub(crate) event: Option<SampleEvent>,
    pub(crate) by: SampleBy,
    /// The paths of the scope if they are known, so that nothing is counted.
    pub(crate) known: Option<CachedPaths>,
}

/// A query for a flame graph.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PathsQuestion {
    pub(crate) scope: SelectedScope,
    pub(crate) of: PathsOf,
    pub(crate) view: FlameView,
    /// The paths of the scope if they are known from another view, so that nothing is counted.
    pub(crate) known: Option<CachedPaths>,
    /// Whether to count small paths that the ledger lacks, which may need a scan of all spans.
    pub(crate) is_exact: bool,
}

/// Call paths that an earlier query has counted.
pub(crate) type CachedPaths = PtrEq<CallPaths>;

/// The source of call paths.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PathsOf {
    Spans,
    /// The samples of one event; `None` for the default event.
    Samples(Option<SampleEvent>),
}

/// A function in the samples of an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SampledFunction {
    pub(crate) key: FunctionKey,
    /// The event; `None` for the default.
    pub(crate) event: Option<SampleEvent>,
}

impl SampledFunction {
    /// Returns the innermost function at the address that names a row, or the function of a bar of samples. `None` for
    /// other rows.
    pub(crate) fn from_row(snapshot: &Snapshot, row: RowIdx) -> Option<Self> {
        let name = snapshot.row(row).name;
        let resolved = snapshot.overlay().and_then(|overlay| overlay.lines.lines(name).first());
        let is_bar = snapshot.track(snapshot.lane(row.lane).track).key.kind.is_derived();
        let function = resolved.map(|line| line.function).or(is_bar.then_some(name))?;
        let name = snapshot.names().get(function);
        let key = FunctionKey { name: name.text.into(), module: name.category.map(Into::into) };
        Some(Self { key, event: None })
    }
}

/// A function to show, with the user's source folders.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CodeRequest {
    pub(crate) function: SampledFunction,
    pub(crate) scope: SelectedScope,
    pub(crate) source_maps: Vec<SourceMap>,
}

/// A [`CodeRequest`] with the location of the code and its names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CodeQuestion {
    pub(crate) request: CodeRequest,
    pub(crate) query: NameQuery,
    pub(crate) found: ResolvedNames,
    pub(crate) by_address: TraceByAddress,
}

/// The resolved names of a trace's addresses.
pub(crate) type ResolvedNames = PtrEq<TraceNames>;

/// A trace by name that was imported again by address, with its names. Empty until a query needs it; `None` if it has
/// no addresses or could not be imported.
pub(crate) type TraceByAddress = PtrEq<OnceLock<Option<(Snapshot, TraceNames)>>>;

/// The kind of a query. A query replaces an earlier one of its kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum QuestionKind {
    Search,
    HitPage,
    Spans,
    SpanPage,
    OrderedSpans,
    OrderedHits,
    Counters,
    Scheduling,
    HeatMap,
    HeatMapSketch,
    SpanNumber,
    HitNumber,
    Neighbour,
    SameName,
    Totals,
    PartialTotals,
    OrderGroups,
    OrderSamples,
    OrderCounters,
    Group,
    Quantiles,
    SpanCalls,
    OrderSpanCalls,
    Paths,
    Samples,
    Sandwich,
    Code,
    Names,
    /// The matches in view, queried by the application itself.
    Pixels,
}

impl QuestionKind {
    /// Returns the other kinds whose running queries are outdated once a query of this kind starts. The list of spans
    /// has one order at a time: a late answer in the other order would replace the rows in view.
    #[must_use]
    pub(crate) fn replaces(self) -> &'static [Self] {
        match self {
            Self::Spans => &[Self::OrderedSpans],
            Self::OrderedSpans => &[Self::Spans, Self::SpanPage, Self::SpanNumber],
            // The hits of an earlier text or scope.
            Self::Search => &[Self::OrderedHits, Self::HitNumber, Self::Neighbour],
            Self::Totals => &[Self::PartialTotals],
            Self::HitPage
            | Self::SpanPage
            | Self::OrderedHits
            | Self::Counters
            | Self::Scheduling
            | Self::HeatMap
            | Self::HeatMapSketch
            | Self::SpanNumber
            | Self::HitNumber
            | Self::Neighbour
            | Self::SameName
            | Self::PartialTotals
            | Self::OrderGroups
            | Self::OrderSamples
            | Self::OrderCounters
            | Self::Group
            | Self::Quantiles
            | Self::SpanCalls
            | Self::OrderSpanCalls
            | Self::Paths
            | Self::Samples
            | Self::Sandwich
            | Self::Code
            | Self::Names
            | Self::Pixels => &[],
        }
    }

    /// Returns the panel that shows the answer; `None` if only the timeline does.
    #[must_use]
    pub(crate) fn panel(self) -> Option<Panel> {
        Some(match self {
            Self::Totals
            | Self::PartialTotals
            | Self::OrderGroups
            | Self::Group
            | Self::Quantiles
            | Self::SpanCalls
            | Self::OrderSpanCalls => Panel::Statistics,
            Self::Spans | Self::SpanPage | Self::OrderedSpans | Self::SpanNumber => Panel::Spans,
            Self::Counters | Self::OrderCounters => Panel::Counters,
            Self::Scheduling => Panel::Scheduling,
            Self::HeatMap | Self::HeatMapSketch => Panel::HeatMap,
            Self::Paths => Panel::Flame,
            Self::Samples | Self::OrderSamples | Self::Sandwich => Panel::Samples,
            Self::Code => Panel::Code,
            Self::Names => Panel::Symbols,
            Self::Search | Self::HitPage | Self::OrderedHits | Self::HitNumber | Self::Neighbour => Panel::Search,
            Self::SameName | Self::Pixels => return None,
        })
    }
}

/// An answer that is loaded in pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HitsOf {
    Search,
    Spans,
}

/// The next hit of a search in some direction.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NeighbourHit {
    /// Its index among the hits.
    pub(crate) number: u64,
    pub(crate) hit: Hit,
    /// The direction, if there was no such hit and the search went on at the other end.
    pub(crate) wrapped: Option<Direction>,
}

#[derive(Debug, Clone)]
pub enum Answer {
    Hits(Hits),
    /// Answers [`Question::Page`]: the index of the first hit, and the hits.
    Page(HitsOf, u64, Vec<Hit>),
    Spans(Hits),
    /// Answers [`Question::Ordered`].
    Ordered(HitsOf, Arc<Vec<Hit>>),
    Counters(Arc<CounterLines>),
    Scheduling(Arc<SchedulingAnswer>),
    HeatMap(Arc<HeatMap>),
    HeatMapSketch(Arc<HeatMap>),
    /// The index of a row, if it is among the spans.
    NumberOf(HitsOf, RowIdx, Option<u64>),
    /// Answers [`Question::Neighbour`]; `None` if there are no hits.
    Neighbour(Option<NeighbourHit>),
    SameName(Option<Hit>),
    Totals(Arc<GroupLines>),
    PartialTotals(Arc<GroupLines>),
    OrderedGroups(Arc<OrderedRows<GroupLines>>),
    OrderedSamples(Arc<OrderedRows<SampleLines>>),
    OrderedCounters(Arc<OrderedRows<CounterLines>>),
    Group(Arc<GroupFacts>),
    Quantiles(Arc<GroupQuantiles>),
    SpanCalls(Arc<SampleTable>),
    OrderedSpanCalls(Arc<OrderedRows<SampleLines>>),
    Paths(Arc<FlameAnswer>),
    Samples(Arc<SampleTable>),
    Sandwich(Arc<FlameAnswer>),
    Code(Arc<CodeAnswer>),
    Names(Arc<NamedTrace>),
    Pixels(Arc<Filtered>),
}

/// The scheduling sums, and the order of one table.
#[derive(Debug)]
pub struct SchedulingAnswer {
    pub(crate) scheduling: Arc<Scheduling>,
    pub(crate) kind: ScheduledKind,
    pub(crate) sorted_by: (SchedulingColumn, bool),
    /// Indices of the visible rows, sorted.
    pub(crate) order: Arc<Vec<u32>>,
    /// Sum of the rows; `None` without rows.
    pub(crate) sum: Option<ScheduledTime>,
}

/// Call paths and one view of them.
#[derive(Debug)]
pub struct FlameAnswer {
    pub(crate) paths: Arc<CallPaths>,
    pub(crate) picture: Arc<FlamePicture>,
    /// The first track with these stacks.
    pub(crate) track: Option<TrackIdx>,
}

/// A function with its samples, or the reason for its absence.
#[derive(Debug)]
pub struct CodeAnswer {
    pub(crate) code: Result<Arc<FunctionCode>, NoFunction>,
}

/// The resolved names of a trace's addresses.
#[derive(Debug)]
pub struct NamedTrace {
    /// Overlay with the names; `None` if no address is resolved.
    pub(crate) overlay: Option<Arc<NameOverlay>>,
    pub(crate) found: ResolvedNames,
    /// Modules, most samples first.
    pub(crate) modules: Arc<Vec<ModuleReport>>,
    /// Number of functions in stacks that have no module, so that no file can name them.
    pub(crate) without_module: u64,
    /// Whether the trace has stacks that would change with the files present now.
    pub(crate) has_other_stacks: bool,
    /// A folder that cannot be searched, with the error.
    pub(crate) missing_folder: Option<(PathBuf, String)>,
    /// The folder that the user has just added, if no file in it was used.
    pub(crate) unused_folder: Option<PathBuf>,
}

/// The exact quantiles of one group of spans.
#[derive(Debug)]
pub struct GroupQuantiles {
    pub(crate) group: GroupChoice,
    pub(crate) quantiles: Option<ExactQuantiles>,
}

/// The p50, p90, p95 and p99 of durations, in nanoseconds.
pub(crate) type ExactQuantiles = [u64; QUANTILE_PARTS.len()];

/// Details of one group of spans.
#[derive(Debug, Clone)]
pub struct GroupFacts {
    pub(crate) group: GroupChoice,
    pub(crate) range: (i64, i64),
    /// The longest spans, longest first.
    pub(crate) longest: Vec<Hit>,
    /// Number of starts in each of several equal parts of the range.
    pub(crate) over_time: Vec<u64>,
}

impl GroupFacts {
    /// Returns the facts with the new indices of lanes.
    #[must_use]
    pub(crate) fn moved(&self, moves: &LaneMoves) -> Self {
        Self { longest: moved_hits(&self.longest, moves), ..self.clone() }
    }
}

impl Question {
    #[must_use]
    pub(crate) fn kind(&self) -> QuestionKind {
        match self {
            Self::Search(..) => QuestionKind::Search,
            Self::Page(HitsOf::Search, ..) => QuestionKind::HitPage,
            Self::Page(HitsOf::Spans, ..) => QuestionKind::SpanPage,
            Self::Spans { .. } => QuestionKind::Spans,
            Self::Ordered(question) => match question.of {
                HitsOf::Spans => QuestionKind::OrderedSpans,
                HitsOf::Search => QuestionKind::OrderedHits,
            },
            Self::Counters(_) => QuestionKind::Counters,
            Self::Scheduling(_) => QuestionKind::Scheduling,
            Self::HeatMap(_) => QuestionKind::HeatMap,
            Self::HeatMapSketch(_) => QuestionKind::HeatMapSketch,
            Self::NumberOf(HitsOf::Search, _) => QuestionKind::HitNumber,
            Self::NumberOf(HitsOf::Spans, _) => QuestionKind::SpanNumber,
            Self::Neighbour { .. } => QuestionKind::Neighbour,
            Self::SameName { .. } => QuestionKind::SameName,
            Self::Totals(..) => QuestionKind::Totals,
            Self::PartialTotals => QuestionKind::PartialTotals,
            Self::OrderGroups(..) => QuestionKind::OrderGroups,
            Self::OrderSamples(..) => QuestionKind::OrderSamples,
            Self::OrderCounters(..) => QuestionKind::OrderCounters,
            Self::Group(..) => QuestionKind::Group,
            Self::Quantiles(..) => QuestionKind::Quantiles,
            Self::SpanCalls(_) => QuestionKind::SpanCalls,
            Self::OrderSpanCalls(..) => QuestionKind::OrderSpanCalls,
            Self::Paths(..) => QuestionKind::Paths,
            Self::Samples(_) => QuestionKind::Samples,
            Self::Sandwich(_) => QuestionKind::Sandwich,
            Self::Code(_) => QuestionKind::Code,
            Self::Names(_) => QuestionKind::Names,
        }
    }
}
