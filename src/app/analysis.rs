//! Runs the queries of the panels in the background: one of each kind at a time, the latest. An outdated query is
//! cancelled.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::app::background::{guarded, spawn};
use crate::app::event::{TabEvent, TabWake, TaskError, TaskId};
use crate::app::namesake::namesake;
use crate::base::cancel::{Cancel, Cancelled};
use crate::base::progress::Progress;
use crate::frame::filtered::{FilterView, Filtered};
use crate::model::SourceFile;
use crate::model::unwind::UnwindFiles as _;
use crate::query::Snapshot;
use crate::query::counters::counters;
use crate::query::flame::{FlamePicture, FlameView};
use crate::query::heat_map::{coarse_heat_map, heat_map};
use crate::query::longest::longest;
use crate::query::matcher::Matcher;
use crate::query::over_time::over_time;
use crate::query::sample_table::SampleTable;
use crate::query::samples::SampleHistogram;
use crate::query::scheduling::scheduling;
use crate::query::scheduling_order::{ScheduledFilter, order};
use crate::query::scope::Scope;
use crate::query::search::{Hits, search};
use crate::query::stacks::{self, CallPaths};
use crate::query::totals::{GrowingTotals, add_up};
use crate::symbols::cache::NameCache;
use crate::symbols::code::choice::{NoFunction, choose};
use crate::symbols::code::listing::list;
use crate::symbols::code::samples::CodeSamples;
use crate::symbols::locate::{Locator, folder_problem};
use crate::symbols::lookup::{TraceFrames, look_up, overlay};
use crate::symbols::report::report;
use crate::symbols::sources::SourceFolders;
use crate::symbols::unwind::SymbolUnwinding;
use crate::ui::panels::counter_lines::CounterLines;
use crate::ui::panels::group_lines::GroupLines;
use crate::ui::panels::table_order::{OrderedRows, TableData, TableSort};
use crate::ui::questions::{
    Answer, CodeAnswer, CodeQuestion, FlameAnswer, GroupFacts, HeatMapQuestion, NameQuery, NamedTrace, NeighbourHit,
    PathsOf, PathsQuestion, PtrEq, Question, QuestionKind, SampleQuestion, SchedulingAnswer, SchedulingQuestion,
};

/// Number of longest spans listed for a group.
const LONGEST_COUNT: usize = 100;

/// Number of time columns for the spans of a group: as many bars as fit in a panel.
const TIME_PARTS: usize = 120;

/// The running queries, at most one of a kind.
#[derive(Debug, Default)]
pub(super) struct Analysis {
    running: BTreeMap<QuestionKind, RunningQuery>,
}

#[derive(Debug)]
struct RunningQuery {
    id: TaskId,
    progress: Progress,
    cancel: Cancel,
    /// The partial totals that a query counts or reads.
    growing: Option<Arc<GrowingTotals>>,
}

impl Drop for RunningQuery {
    fn drop(&mut self) {
        self.cancel.cancel();
    }
}

impl Analysis {
    /// Starts a query, and cancels a running one of its kind.
    pub(super) fn ask(
        &mut self,
        id: TaskId,
        question: Question,
        snapshot: &Snapshot,
        hits: Option<&Hits>,
        wake: &TabWake,
    ) {
        let kind = question.kind();
        let growing = if let Question::Totals(_, by) = &question {
            self.stop(QuestionKind::PartialTotals);
            Some(Arc::new(GrowingTotals::grouped(by.clone())))
        } else if kind == QuestionKind::PartialTotals {
            // Without a running query, the totals are complete.
            let Some(totals) = self.running.get(&QuestionKind::Totals) else { return };
            totals.growing.clone()
        } else {
            None
        };
        let (snapshot, hits, totals) = (snapshot.clone(), hits.cloned(), growing.clone());
        self.start(id, kind, growing, wake, move |cancel, progress| {
            answer(question, &snapshot, hits, totals.as_deref(), cancel, progress)
        });
    }

    /// Queries the filter's matches in view, unless that is running.
    pub(super) fn ask_pixels(
        &mut self,
        id: TaskId,
        matcher: Arc<Matcher>,
        in_view: FilterView,
        snapshot: &Snapshot,
        wake: &TabWake,
    ) {
        if self.running.contains_key(&QuestionKind::Pixels) {
            return;
        }
        let snapshot = snapshot.clone();
        self.start(id, QuestionKind::Pixels, None, wake, move |cancel, _| {
            Ok(Some(Answer::Pixels(Arc::new(Filtered::find(matcher, &snapshot, in_view, cancel)?))))
        });
    }

    fn start(
        &mut self,
        id: TaskId,
        kind: QuestionKind,
        growing: Option<Arc<GrowingTotals>>,
        wake: &TabWake,
        work: impl FnOnce(&Cancel, &Progress) -> Result<Option<Answer>, Cancelled> + Send + 'static,
    ) {
        let running = RunningQuery { id, progress: Progress::default(), cancel: Cancel::default(), growing };
        let (cancel, progress) = (running.cancel.clone(), running.progress.clone());
        // Dropping the previous query cancels it.
        self.running.insert(kind, running);
        let (failed, wake) = (Arc::clone(wake), Arc::clone(wake));
        let work = move || {
            let answer = guarded(|| work(&cancel, &progress).map_err(|_| TaskError::Cancelled));
            wake(TabEvent::Answered(id, kind, answer.map(Box::new)));
        };
        if let Err(error) = spawn("question", work) {
            failed(TabEvent::Answered(id, kind, Err(error)));
        }
    }

    /// Removes a running query, and returns whether it had this id.
    pub(super) fn is_awaited(&mut self, id: TaskId, kind: QuestionKind) -> bool {
        let is_awaited = self.running.get(&kind).is_some_and(|running| running.id == id);
        if is_awaited {
            self.running.remove(&kind);
        }
        is_awaited
    }

    /// Returns the progress of a running query of a kind.
    #[must_use]
    pub(super) fn progress(&self, kind: QuestionKind) -> Option<&Progress> {
        self.running.get(&kind).map(|running| &running.progress)
    }

    /// Returns whether any query is running, so that the window must poll.
    #[must_use]
    pub(super) fn is_busy(&self) -> bool {
        !self.running.is_empty()
    }

    /// Cancels the queries of a kind.
    pub(super) fn stop(&mut self, kind: QuestionKind) {
        self.running.remove(&kind);
    }
}

/// Resolves the names of all addresses of a trace.
fn find_names(
    query: &NameQuery,
    snapshot: &Snapshot,
    cancel: &Cancel,
    progress: &Progress,
) -> Result<NamedTrace, Cancelled> {
    let paths = || query.sources.files().iter().map(SourceFile::path);
    let cache = query.cache.as_deref().map(NameCache::in_folder);
    let locator = Locator::for_traces(paths(), &query.folders).with_cache(cache);
    let frames = TraceFrames::from_snapshot(snapshot);
    let found = look_up(snapshot, &frames, &locator, query.bytes_max, cancel, progress)?;
    let overlay = overlay(snapshot, &frames, &found, cancel)?.map(Arc::new);
    let traces: Vec<_> = paths().collect();
    let modules = report(snapshot, &frames, &found, &traces, cancel, progress)?;
    let missing_folder = query.folders.iter().find_map(|folder| Some((folder.clone(), folder_problem(folder)?)));
    let unwinding = SymbolUnwinding { folders: query.folders.clone(), has_system: true };
    let has_other_stacks = query.compares_stacks && !unwinding.are_same(&query.sources, &snapshot.tracks().unwound);
    let located = query.folders.first().filter(|_| query.compares_stacks && !has_other_stacks);
    let unused_folder = located.filter(|folder| !found.uses_folder(folder)).cloned();
    let (found, modules) = (PtrEq(Arc::new(found)), Arc::new(modules));
    Ok(NamedTrace { overlay, found, modules, has_other_stacks, missing_folder, unused_folder })
}

/// Lists the code of a function with the samples of its event.
fn list_code(
    question: &CodeQuestion,
    snapshot: &Snapshot,
    cancel: &Cancel,
    progress: &Progress,
) -> Result<CodeAnswer, Cancelled> {
    let CodeQuestion { request, query, found } = question;
    let key = &request.function.key;
    let function = match choose(snapshot, &found.0, &key.name, key.module.as_deref()) {
        Ok(function) => function,
        Err(reason) => return Ok(CodeAnswer { code: Err(reason) }),
    };
    let scope = request.scope.with_filter(snapshot, "");
    let histogram = SampleHistogram::count(snapshot, &scope, cancel, progress)?;
    let event = match &request.function.event {
        Some(wanted) => histogram.events().iter().position(|event| event == wanted),
        None => histogram.default_event(snapshot),
    };
    let Some(event) = event else {
        return Ok(CodeAnswer { code: Err(NoFunction::Unsampled) });
    };
    let paths = || query.sources.files().iter().map(SourceFile::path);
    let locator = Locator::for_traces(paths(), &query.folders);
    let folders = SourceFolders::for_traces(paths(), &query.folders, request.source_maps.clone());
    let frames = TraceFrames::from_snapshot(snapshot);
    let samples = CodeSamples { snapshot, frames: &frames, found: &found.0, histogram: &histogram, event };
    let code = list(samples, &function, (&locator, &folders), query.bytes_max, cancel)?;
    let code = if code.sums.total.samples > 0 { Ok(Arc::new(code)) } else { Err(NoFunction::Unsampled) };
    Ok(CodeAnswer { code })
}

fn answer(
    question: Question,
    snapshot: &Snapshot,
    hits: Option<Hits>,
    growing: Option<&GrowingTotals>,
    cancel: &Cancel,
    progress: &Progress,
) -> Result<Option<Answer>, Cancelled> {
    Ok(match question {
        Question::Search(text, scope) => {
            // Everything that is highlighted is counted.
            let scope = Scope { with_charts: true, ..scope.with_filter(snapshot, &text) };
            Some(Answer::Hits(search(snapshot, &scope, cancel, progress)?))
        }
        Question::Page(of, first, count) => hits.map(|hits| Answer::Page(of, first, hits.page(first, count))),
        Question::Spans { scope, with_instants } => {
            let scope = scope.with_filter(snapshot, "");
            let scope = if with_instants { scope } else { scope.spans() };
            Some(Answer::Spans(search(snapshot, &scope, cancel, progress)?))
        }
        Question::Longest(scope, count) => {
            let scope = scope.with_filter(snapshot, "");
            Some(Answer::Longest(Arc::new(longest(snapshot, &scope, count, cancel)?)))
        }
        Question::Counters(scope) => {
            let scope = scope.with_filter(snapshot, "");
            let counters = counters(snapshot, &scope, cancel, progress)?;
            Some(Answer::Counters(Arc::new(CounterLines::new(snapshot, counters))))
        }
        Question::Scheduling(question) => {
            let SchedulingQuestion { scope, kind, sorted_by, words, process, known } = *question;
            let scheduling = match known {
                Some(known) => known.0,
                None => Arc::new(scheduling(snapshot, &scope.with_filter(snapshot, ""), cancel, progress)?),
            };
            let filter = ScheduledFilter { words: &words, process };
            let order = Arc::new(order(snapshot, &scheduling, kind, sorted_by, filter, cancel)?);
            let sum = scheduling.sum(kind, &order);
            Some(Answer::Scheduling(Arc::new(SchedulingAnswer { scheduling, kind, sorted_by, order, sum })))
        }
        Question::HeatMap(question) => {
            let HeatMapQuestion { scope, filter, axis } = *question;
            let scope = scope.with_filter(snapshot, &filter);
            Some(Answer::HeatMap(Arc::new(heat_map(snapshot, &scope, axis, cancel, progress)?)))
        }
        Question::HeatMapSketch(question) => {
            let HeatMapQuestion { scope, filter, axis } = *question;
            let scope = scope.with_filter(snapshot, &filter);
            let map = coarse_heat_map(snapshot, &scope, axis, cancel)?;
            map.map(|map| Answer::HeatMapSketch(Arc::new(map)))
        }
        Question::NumberOf(row) => hits.map(|hits| {
            let start_ns = snapshot.row(row).start_ns;
            let mut tied = (0u64..).zip(hits.from(start_ns).take_while(|hit| hit.start_ns == start_ns));
            let before = tied.find(|(_, hit)| hit.row == row).map(|(before, _)| before);
            Answer::NumberOf(row, before.map(|before| hits.rank(start_ns) + before))
        }),
        Question::Neighbour { forward, from: (ts_ns, row) } => hits.map(|hits| {
            let hit = if forward { hits.next(ts_ns, row) } else { hits.previous(ts_ns, row) };
            let further = || if forward { hits.from(i64::MIN).next() } else { hits.previous(i64::MAX, None) };
            let has_wrapped = hit.is_none();
            Answer::Neighbour(hit.or_else(further).map(|hit| {
                let before = hits.rank(hit.start_ns);
                let tied = hits.from(hit.start_ns).take_while(|other| *other < hit).count() as u64;
                NeighbourHit { number: before + tied, hit, wrapped: has_wrapped.then_some(forward) }
            }))
        }),
        Question::Namesake { from, forward } => Some(Answer::Namesake(namesake(snapshot, from, forward, cancel)?)),
        Question::Totals(scope, by) => {
            let own = GrowingTotals::grouped(by);
            let growing = growing.unwrap_or(&own);
            add_up(snapshot, &scope.with_filter(snapshot, ""), growing, cancel, progress)?;
            Some(Answer::Totals(Arc::new(GroupLines::new(Arc::new(growing.so_far()), snapshot, cancel)?)))
        }
        Question::PartialTotals => {
            let lines = growing.map(|growing| GroupLines::new(Arc::new(growing.so_far()), snapshot, cancel));
            lines.transpose()?.map(|lines| Answer::PartialTotals(Arc::new(lines)))
        }
        Question::OrderGroups(lines, sort) => Some(Answer::OrderedGroups(ordered(lines, sort, cancel)?)),
        Question::OrderSamples(lines, sort) => Some(Answer::OrderedSamples(ordered(lines, sort, cancel)?)),
        Question::OrderCounters(lines, sort) => Some(Answer::OrderedCounters(ordered(lines, sort, cancel)?)),
        Question::Group(group, selected) => {
            let scope = group.narrow(snapshot, selected.with_filter(snapshot, "").spans());
            let range = selected.range.unwrap_or((snapshot.start_ns(), snapshot.end_ns()));
            Some(Answer::Group(Arc::new(GroupFacts {
                group,
                range,
                longest: longest(snapshot, &scope, LONGEST_COUNT, cancel)?,
                over_time: over_time(snapshot, &scope, range, TIME_PARTS, cancel)?,
            })))
        }
        Question::Samples(question) => {
            let SampleQuestion { scope, event, by, known } = *question;
            let (of, view) = (PathsOf::Samples(event), FlameView::default());
            let question = PathsQuestion { scope, of, view, known, is_exact: false };
            let paths = call_paths(&question, snapshot, cancel, progress)?;
            Some(Answer::Samples(Arc::new(SampleTable::new(snapshot, paths, by, cancel)?)))
        }
        Question::Sandwich(question) => Some(Answer::Sandwich(Arc::new(flame(&question, snapshot, cancel, progress)?))),
        Question::Code(question) => Some(Answer::Code(Arc::new(list_code(&question, snapshot, cancel, progress)?))),
        Question::Names(query) => Some(Answer::Names(Arc::new(find_names(&query, snapshot, cancel, progress)?))),
        Question::Paths(question) => Some(Answer::Paths(Arc::new(flame(&question, snapshot, cancel, progress)?))),
    })
}

/// Filters and sorts the rows of a table.
fn ordered<D: TableData>(lines: PtrEq<D>, sort: TableSort, cancel: &Cancel) -> Result<Arc<OrderedRows<D>>, Cancelled> {
    Ok(Arc::new(OrderedRows::new(lines.0, sort, cancel)?))
}

/// Counts the paths unless they are known, and builds their view.
fn flame(
    question: &PathsQuestion,
    snapshot: &Snapshot,
    cancel: &Cancel,
    progress: &Progress,
) -> Result<FlameAnswer, Cancelled> {
    let paths = call_paths(question, snapshot, cancel, progress)?;
    let picture = Arc::new(FlamePicture::new(snapshot, &paths.tree, &question.view, cancel)?);
    Ok(FlameAnswer { paths, picture })
}

/// Counts the paths unless they are known.
fn call_paths(
    question: &PathsQuestion,
    snapshot: &Snapshot,
    cancel: &Cancel,
    progress: &Progress,
) -> Result<Arc<CallPaths>, Cancelled> {
    let scope = || question.scope.with_filter(snapshot, "");
    Ok(match (&question.known, &question.of) {
        (Some(known), _) => Arc::clone(&known.0),
        (None, PathsOf::Samples(event)) => {
            Arc::new(stacks::from_samples(snapshot, &scope(), event.as_ref(), cancel, progress)?)
        }
        (None, PathsOf::Spans) if question.is_exact => {
            Arc::new(stacks::exact_spans(snapshot, &scope(), cancel, progress)?)
        }
        (None, PathsOf::Spans) => Arc::new(stacks::from_spans(snapshot, &scope(), cancel, progress)?),
    })
}
