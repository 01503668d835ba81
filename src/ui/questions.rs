//! The questions of panels that take longer than a frame, and the answers. The application asks them in the background
//! and hands each answer to its panel.

use std::path::PathBuf;
use std::sync::Arc;

use crate::base::time::duration_text;
use crate::frame::filtered::Filtered;
use crate::model::{Sources, TrackSet};
use crate::query::Snapshot;
use crate::query::counters::CounterStats;
use crate::query::filter::Filter;
use crate::query::flame::{FlamePicture, FlameView, FunctionKey};
use crate::query::group_choice::GroupChoice;
use crate::query::groups::GroupBy;
use crate::query::heat_map::{HeatMap, HeatMapAxis};
use crate::query::matcher::Matcher;
use crate::query::overlay::NameOverlay;
use crate::query::sample_table::{SampleBy, SampleTable};
use crate::query::samples::SampleEvent;
use crate::query::scheduling::{ScheduledKind, ScheduledTime, Scheduling};
use crate::query::scheduling_order::SchedulingColumn;
use crate::query::scope::Scope;
use crate::query::search::{Hit, Hits};
use crate::query::stacks::CallPaths;
use crate::query::totals::Totals;
use crate::store::lane::RowIdx;
use crate::symbols::code::choice::NoFunction;
use crate::symbols::code::listing::FunctionCode;
use crate::symbols::lookup::TraceNames;
use crate::symbols::report::ModuleReport;
use crate::symbols::sources::SourceMap;

/// A part of the capture's time, from its first nanosecond to the first after it; `None`: all of it.
pub(crate) type TimeRange = Option<(i64, i64)>;

/// The part of the trace that the user has selected. Clones are cheap.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct SelectedScope {
    pub(crate) range: TimeRange,
    pub(crate) tracks: TrackSet,
    /// A valid filter; empty: none.
    pub(crate) filter: Arc<str>,
}

impl SelectedScope {
    /// Whether nothing is selected, so that questions are about the whole trace.
    #[must_use]
    pub(crate) fn is_whole(&self) -> bool {
        self.range.is_none() && self.tracks.is_all() && self.filter.is_empty()
    }

    /// The scope in a trace, for rows that also pass another filter. Compiles both filters.
    #[must_use]
    pub(crate) fn with_filter(&self, snapshot: &Snapshot, more: &str) -> Scope {
        // Panels take only filters that are valid.
        let filters = [&*self.filter, more].map(|text| Filter::parse(text).unwrap_or_default());
        let terms = filters.into_iter().flat_map(|filter| filter.terms).collect();
        let range = Scope::from_range(self.range.map(|(from_ns, _)| from_ns), self.range.map(|(_, to_ns)| to_ns));
        Scope { tracks: self.tracks.clone(), ..range }.matching(Matcher::new(snapshot, &Filter { terms }))
    }

    /// The scope in words, for the title of a panel.
    #[must_use]
    pub(crate) fn title(&self) -> String {
        match self.range {
            None if self.is_whole() => "of the whole trace".to_owned(),
            Some((from_ns, to_ns)) if self.tracks.is_all() && self.filter.is_empty() => {
                format!("of the selected {}", duration_text(to_ns.abs_diff(from_ns)))
            }
            _ => "of the scope".to_owned(),
        }
    }
}

/// A question. A new one of a kind takes the place of the one before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Question {
    /// All rows of a scope that pass a filter.
    Search(String, SelectedScope),
    /// Rows of an answer from a number on, and how many at most.
    Page(HitsOf, u64, usize),
    /// All spans of a scope in order of time, with instants and samples if they are wanted.
    Spans { scope: SelectedScope, with_instants: bool },
    /// The longest spans of a scope, so many at most.
    Longest(SelectedScope, usize),
    /// The counters of a scope.
    Counters(SelectedScope),
    /// The threads, processes or CPUs of a scope in an order.
    Scheduling(Box<SchedulingQuestion>),
    /// The spans of a scope by start and duration.
    HeatMap(Box<HeatMapQuestion>),
    /// The same from sketches, which is known sooner, where there are any.
    HeatMapSketch(Box<HeatMapQuestion>),
    /// The number of a row among the spans of [`Question::Spans`].
    NumberOf(RowIdx),
    /// The hit after a place in time, or before it.
    Neighbour {
        /// Whether to find the hit after `from`, or the one before.
        forward: bool,
        /// A time, and the row that starts then if it is one.
        from: (i64, Option<RowIdx>),
    },
    /// Spans added up by keys.
    Totals(SelectedScope, GroupBy),
    /// More about the spans of one group.
    Group(GroupChoice, SelectedScope),
    /// Samples added up by what they have in common.
    Samples(Box<SampleQuestion>),
    /// The callers and callees of a function, for another panel than the flame graph.
    Sandwich(Box<PathsQuestion>),
    /// A view of the call tree of a scope.
    Paths(Box<PathsQuestion>),
    /// A function with its samples, where names were looked up.
    Code(Box<CodeQuestion>),
    /// Names for the addresses of the trace, which the application looks up by itself.
    Names(NameQuery),
}

/// The query for names of addresses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NameQuery {
    /// `false`: functions keep their addresses until the user asks for names.
    pub(crate) is_wanted: bool,
    /// Whether the user has named folders in the window.
    pub(crate) is_located: bool,
    /// Whether stacks may be others with the files that are there now: where the user has just named a folder.
    pub(crate) compares_stacks: bool,
    pub(crate) sources: Sources,
    /// Folders that are searched before those of the system.
    pub(crate) folders: Vec<PathBuf>,
    /// The folder of sorted traces, in which names are kept, too.
    pub(crate) cache: Option<PathBuf>,
    /// The most bytes of debug information that are read of a file.
    pub(crate) bytes_max: u64,
}

/// A question for a heat map.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HeatMapQuestion {
    pub(crate) scope: SelectedScope,
    /// A filter that spans pass beside that of the scope; empty: none.
    pub(crate) filter: Arc<str>,
    pub(crate) axis: HeatMapAxis,
}

/// A question for a table of scheduling.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SchedulingQuestion {
    pub(crate) scope: SelectedScope,
    pub(crate) kind: ScheduledKind,
    /// The column, and whether the smallest comes first.
    pub(crate) sorted_by: (SchedulingColumn, bool),
    /// Words that names have, in lower case; empty: all.
    pub(crate) words: String,
    /// The scheduling of the scope where it is known: then only the order is looked for.
    pub(crate) known: Option<KnownScheduling>,
}

/// Scheduling that is added up.
#[derive(Debug, Clone)]
pub(crate) struct KnownScheduling(pub(crate) Arc<Scheduling>);

impl PartialEq for KnownScheduling {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for KnownScheduling {}

/// A question for a table of samples.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SampleQuestion {
    pub(crate) scope: SelectedScope,
    /// The event to ask about; `None` for the default one.
    pub(crate) event: Option<SampleEvent>,
    pub(crate) by: SampleBy,
    /// The paths of the scope where they are known: then nothing is counted.
    pub(crate) known: Option<KnownPaths>,
}

/// A question for a flame graph.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PathsQuestion {
    pub(crate) scope: SelectedScope,
    pub(crate) of: PathsOf,
    pub(crate) view: FlameView,
    /// The paths of the scope where they are known from another view: then nothing is counted.
    pub(crate) known: Option<KnownPaths>,
    /// Whether small paths are counted too, where the ledger lacks them: that may take a pass over all spans.
    pub(crate) is_exact: bool,
}

/// Call paths that are counted.
#[derive(Debug, Clone)]
pub(crate) struct KnownPaths(pub(crate) Arc<CallPaths>);

impl PartialEq for KnownPaths {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for KnownPaths {}

/// The events whose call paths are asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PathsOf {
    Spans,
    /// The samples of one event; `None`: of the default one.
    Samples(Option<SampleEvent>),
}

/// A function in the samples of an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SampledFunction {
    pub(crate) key: FunctionKey,
    /// The event to ask about; `None` for the default one.
    pub(crate) event: Option<SampleEvent>,
}

/// A function that a panel shows, and the folders of sources that the user named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CodeRequest {
    pub(crate) function: SampledFunction,
    pub(crate) scope: SelectedScope,
    pub(crate) source_maps: Vec<SourceMap>,
}

/// The same, and where the code and its names are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CodeQuestion {
    pub(crate) request: CodeRequest,
    pub(crate) query: NameQuery,
    pub(crate) found: FoundNames,
}

/// The names of all addresses of a trace.
#[derive(Debug, Clone)]
pub(crate) struct FoundNames(pub(crate) Arc<TraceNames>);

impl PartialEq for FoundNames {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for FoundNames {}

/// The kind of a question: a question replaces an earlier one of its kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum QuestionKind {
    Search,
    Page,
    Spans,
    SpanPage,
    Longest,
    Counters,
    Scheduling,
    HeatMap,
    HeatMapSketch,
    NumberOf,
    Neighbour,
    Totals,
    Group,
    Paths,
    Samples,
    Sandwich,
    Code,
    Names,
    /// The matches in view, which the application looks up by itself.
    Pixels,
}

/// An answer that comes in pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HitsOf {
    Search,
    Spans,
}

#[derive(Debug, Clone)]
pub enum Answer {
    Hits(Hits),
    /// Answers [`Question::Page`]: the number of the first hit, and the hits.
    Page(HitsOf, u64, Vec<Hit>),
    Spans(Hits),
    /// Answers [`Question::Longest`], from the longest.
    Longest(Arc<Vec<Hit>>),
    /// Counters in the order of tracks.
    Counters(Arc<Vec<CounterStats>>),
    Scheduling(Arc<SchedulingAnswer>),
    HeatMap(Arc<HeatMap>),
    HeatMapSketch(Arc<HeatMap>),
    /// The number of a row, if it is among the spans.
    NumberOf(RowIdx, Option<u64>),
    /// Answers [`Question::Neighbour`], with its number.
    Neighbour(Option<(u64, Hit)>),
    Totals(Arc<Totals>),
    Group(Arc<GroupFacts>),
    Paths(Arc<FlameAnswer>),
    Samples(Arc<SampleTable>),
    Sandwich(Arc<FlameAnswer>),
    Code(Arc<CodeAnswer>),
    Names(Arc<NamedTrace>),
    Pixels(Arc<Filtered>),
}

/// Scheduling and the order of one of its tables.
#[derive(Debug)]
pub struct SchedulingAnswer {
    pub(crate) scheduling: Arc<Scheduling>,
    pub(crate) kind: ScheduledKind,
    pub(crate) sorted_by: (SchedulingColumn, bool),
    /// The numbers of the rows that are shown.
    pub(crate) order: Arc<Vec<u32>>,
    /// The sum of the rows; `None` without rows.
    pub(crate) sum: Option<ScheduledTime>,
}

/// Call paths and one view of them.
#[derive(Debug)]
pub struct FlameAnswer {
    pub(crate) paths: Arc<CallPaths>,
    pub(crate) picture: Arc<FlamePicture>,
}

/// A function with its samples, or why there is none.
#[derive(Debug)]
pub struct CodeAnswer {
    pub(crate) code: Result<Arc<FunctionCode>, NoFunction>,
}

/// The names that were found for the addresses of a trace.
#[derive(Debug)]
pub struct NamedTrace {
    /// Shows the functions; `None` if no address has a name.
    pub(crate) overlay: Option<Arc<NameOverlay>>,
    pub(crate) found: FoundNames,
    /// Modules in the order of their samples.
    pub(crate) modules: Arc<Vec<ModuleReport>>,
    /// Whether the trace has stacks that would be others with the files that are there now.
    pub(crate) has_other_stacks: bool,
    /// A folder that was to be searched and cannot be, and the problem.
    pub(crate) missing_folder: Option<(PathBuf, String)>,
}

/// More about the spans of one group.
#[derive(Debug, Clone)]
pub struct GroupFacts {
    pub(crate) group: GroupChoice,
    pub(crate) range: (i64, i64),
    /// The longest, from the longest.
    pub(crate) longest: Vec<Hit>,
    /// How many start in each of equal parts of the range.
    pub(crate) over_time: Vec<u64>,
}

impl Question {
    #[must_use]
    pub(crate) fn kind(&self) -> QuestionKind {
        match self {
            Self::Search(..) => QuestionKind::Search,
            Self::Page(HitsOf::Search, ..) => QuestionKind::Page,
            Self::Page(HitsOf::Spans, ..) => QuestionKind::SpanPage,
            Self::Spans { .. } => QuestionKind::Spans,
            Self::Longest(..) => QuestionKind::Longest,
            Self::Counters(_) => QuestionKind::Counters,
            Self::Scheduling(_) => QuestionKind::Scheduling,
            Self::HeatMap(_) => QuestionKind::HeatMap,
            Self::HeatMapSketch(_) => QuestionKind::HeatMapSketch,
            Self::NumberOf(_) => QuestionKind::NumberOf,
            Self::Neighbour { .. } => QuestionKind::Neighbour,
            Self::Totals(..) => QuestionKind::Totals,
            Self::Group(..) => QuestionKind::Group,
            Self::Paths(..) => QuestionKind::Paths,
            Self::Samples(_) => QuestionKind::Samples,
            Self::Sandwich(_) => QuestionKind::Sandwich,
            Self::Code(_) => QuestionKind::Code,
            Self::Names(_) => QuestionKind::Names,
        }
    }
}
