//! Answers one query of a panel from the trace.

use std::sync::Arc;

use super::row_values::row_values;
use crate::app::same_name::next_of_same_name;
use crate::base::cancel::{Cancel, Cancelled};
use crate::base::direction::Direction;
use crate::base::progress::Progress;
use crate::model::SourceFile;
use crate::model::unwind::UnwindFiles as _;
use crate::query::Snapshot;
use crate::query::counters::counters;
use crate::query::exact_quantiles::exact_quantiles;
use crate::query::first_track::first_track_with_stacks;
use crate::query::flame::{FlamePicture, FlameShape, FlameView};
use crate::query::group_choice::GroupChoice;
use crate::query::groups::GroupBy;
use crate::query::heat_map::{HeatMap, coarse_heat_map, heat_map};
use crate::query::longest::longest;
use crate::query::ordered_rows::{ListColumn, ListOrder, first_rows};
use crate::query::over_time::over_time;
use crate::query::pick::rows_starting;
use crate::query::sample_table::SampleTable;
use crate::query::scheduling::scheduling;
use crate::query::scheduling_order::{ScheduledFilter, order};
use crate::query::scope::Scope;
use crate::query::search::{Hit, Hits, moved_hits, search};
use crate::query::stacks::{self, CallPaths};
use crate::query::totals::{GrowingTotals, add_up};
use crate::store::lane::RowIdx;
use crate::store::{LaneIdx, LaneKind};
use crate::symbols::cache::NameCache;
use crate::symbols::locate::{Locator, symbols_problem};
use crate::symbols::lookup::{TraceFrames, look_up, overlay};
use crate::symbols::report::{functions_without_module, report};
use crate::symbols::unwind::SymbolUnwinding;
use crate::ui::panels::counter_lines::CounterLines;
use crate::ui::panels::group_lines::GroupLines;
use crate::ui::panels::table_order::{OrderedRows, TableData, TableSort};
use crate::ui::questions::{
    Answer, FlameAnswer, GroupFacts, GroupQuantiles, HeatMapQuestion, HitsOf, NameQuery, NamedTrace, NeighbourHit,
    OrderedQuestion, PathsOf, PathsQuestion, PtrEq, Question, SampleQuestion, SchedulingAnswer, SchedulingQuestion,
};
use crate::ui::selected_scope::SelectedScope;

/// Number of longest spans listed for a group.
const LONGEST_COUNT: usize = 100;

/// Number of time columns for the spans of a group: as many bars as fit in a panel.
const TIME_PARTS: usize = 120;

/// The input of a query, and its connection to the window.
pub(super) struct QueryContext<'a> {
    pub(super) snapshot: &'a Snapshot,
    /// The answer of an earlier query, for a query of a part of it.
    pub(super) hits: Option<&'a Hits>,
    /// Shared totals, which `Totals` writes and `PartialTotals` reads.
    pub(super) growing: Option<&'a GrowingTotals>,
    pub(super) cancel: &'a Cancel,
    pub(super) progress: &'a Progress,
}

impl QueryContext<'_> {
    /// Answers a query; `None` if the earlier answer that it needs is missing.
    pub(super) fn answer(&self, question: Question) -> Result<Option<Answer>, Cancelled> {
        Ok(match question {
            Question::Search(text, scope) => Some(Answer::Hits(self.search(&text, &scope)?)),
            Question::Spans { scope, with_instants } => Some(Answer::Spans(self.spans(&scope, with_instants)?)),
            Question::Ordered(question) => Some(Answer::Ordered(question.of, Arc::new(self.ordered_rows(&question)?))),
            Question::Page(of, first, count) => self.page(first, count).map(|hits| Answer::Page(of, first, hits)),
            Question::NumberOf(of, row) => self.hits.map(|hits| Answer::NumberOf(of, row, self.number_of(hits, row))),
            Question::Neighbour { direction, from } => {
                self.hits.map(|hits| Answer::Neighbour(self.neighbour(hits, from, direction)))
            }
            Question::SameName { from, direction } => {
                Some(Answer::SameName(next_of_same_name(self.snapshot, from, direction, self.cancel)?))
            }
            Question::Counters(scope) => Some(Answer::Counters(Arc::new(self.counters(&scope)?))),
            Question::Scheduling(question) => Some(Answer::Scheduling(Arc::new(self.scheduling(*question)?))),
            Question::HeatMap(question) => Some(Answer::HeatMap(Arc::new(self.heat_map(&question)?))),
            Question::HeatMapSketch(question) => {
                self.heat_map_sketch(&question)?.map(|map| Answer::HeatMapSketch(Arc::new(map)))
            }
            Question::Totals(scope, by) => Some(Answer::Totals(Arc::new(self.totals(&scope, by)?))),
            Question::PartialTotals => self.partial_totals()?.map(|lines| Answer::PartialTotals(Arc::new(lines))),
            Question::Group(group, scope) => Some(Answer::Group(Arc::new(self.group(group, &scope)?))),
            Question::Quantiles(group, scope) => {
                let spans = group.narrow(self.snapshot, self.scope(&scope).spans());
                let quantiles = exact_quantiles(self.snapshot, &spans, self.cancel)?;
                Some(Answer::Quantiles(Arc::new(GroupQuantiles { group, quantiles })))
            }
            Question::OrderGroups(lines, sort) => Some(Answer::OrderedGroups(self.ordered(lines, sort)?)),
            Question::OrderSamples(lines, sort) => Some(Answer::OrderedSamples(self.ordered(lines, sort)?)),
            Question::OrderSpanCalls(lines, sort) => Some(Answer::OrderedSpanCalls(self.ordered(lines, sort)?)),
            Question::OrderCounters(lines, sort) => Some(Answer::OrderedCounters(self.ordered(lines, sort)?)),
            Question::SpanCalls(question) => Some(Answer::SpanCalls(Arc::new(self.span_calls(&question)?))),
            Question::Samples(question) => Some(Answer::Samples(Arc::new(self.samples(*question)?))),
            Question::Sandwich(question) => Some(Answer::Sandwich(Arc::new(self.flame(&question)?))),
            Question::Paths(question) => Some(Answer::Paths(Arc::new(self.flame(&question)?))),
            Question::Code(question) => Some(Answer::Code(Arc::new(self.code(&question)?))),
            Question::Names(query) => Some(Answer::Names(Arc::new(self.names(&query)?))),
        })
    }

    /// Compiles a scope, without a further filter.
    pub(super) fn scope(&self, selected: &SelectedScope) -> Scope {
        selected.with_filter(self.snapshot, "")
    }

    fn search(&self, text: &str, selected: &SelectedScope) -> Result<Hits, Cancelled> {
        // Everything that is highlighted is counted.
        let scope = Scope { with_charts: true, ..selected.with_filter(self.snapshot, text) };
        search(self.snapshot, &scope, self.cancel, self.progress)
    }

    /// Returns a page of hits, with lane indices of the current snapshot.
    fn page(&self, first: u64, count: usize) -> Option<Vec<Hit>> {
        let hits = self.hits?;
        Some(moved_hits(&hits.page(first, count), &self.snapshot.lane_moves_since(hits.snapshot())?))
    }

    /// Returns the index of a row among the hits, if the row is a hit.
    fn number_of(&self, hits: &Hits, row: RowIdx) -> Option<u64> {
        let start_ns = self.snapshot.row(row).start_ns;
        let row = hits.snapshot().lane_moves_since(self.snapshot)?.row(row)?;
        // A million hits may start at one time.
        let tied = hits.from(start_ns).take_while(|hit| hit.start_ns == start_ns && !self.cancel.is_cancelled());
        let mut tied = (0u64..).zip(tied);
        let before = tied.find(|(_, hit)| hit.row == row).map(|(before, _)| before);
        before.map(|before| hits.rank(start_ns) + before)
    }

    /// Returns the next hit after or before a position, or else the first hit from the other end.
    fn neighbour(
        &self,
        hits: &Hits,
        (ts_ns, row): (i64, Option<RowIdx>),
        direction: Direction,
    ) -> Option<NeighbourHit> {
        let moves = hits.snapshot().lane_moves_since(self.snapshot)?;
        let found = neighbour(hits, (ts_ns, row.and_then(|row| moves.row(row))), direction, self.cancel)?;
        let moves = self.snapshot.lane_moves_since(hits.snapshot())?;
        Some(NeighbourHit { hit: found.hit.moved(&moves)?, ..found })
    }

    fn spans(&self, selected: &SelectedScope, with_instants: bool) -> Result<Hits, Cancelled> {
        let scope = self.scope(selected);
        let scope = if with_instants { scope } else { scope.spans() };
        search(self.snapshot, &scope, self.cancel, self.progress)
    }

    fn ordered_rows(&self, question: &OrderedQuestion) -> Result<Vec<Hit>, Cancelled> {
        let OrderedQuestion { of, scope, text, order, with_instants, count } = question;
        let scope = scope.with_filter(self.snapshot, text);
        if *order == ListOrder::LONGEST {
            return longest(self.snapshot, &scope, *count, self.cancel);
        }
        // Everything that a search highlights is listed.
        let scope = Scope { with_charts: *of == HitsOf::Search, ..scope };
        let scope = if *with_instants && order.column != ListColumn::Duration { scope } else { scope.spans() };
        let order = (&row_values(self.snapshot, order.column), order.is_ascending);
        first_rows(self.snapshot, &scope, order, *count, (self.cancel, self.progress))
    }

    fn counters(&self, selected: &SelectedScope) -> Result<CounterLines, Cancelled> {
        let counters = counters(self.snapshot, &self.scope(selected), self.cancel, self.progress)?;
        Ok(CounterLines::new(self.snapshot, counters))
    }

    /// Sums scheduled time unless it is known, and sorts one table of it.
    fn scheduling(&self, question: SchedulingQuestion) -> Result<SchedulingAnswer, Cancelled> {
        let SchedulingQuestion { scope, kind, sorted_by, words, process, known } = question;
        let scheduling = match known {
            Some(known) => known.0,
            None => Arc::new(scheduling(self.snapshot, &self.scope(&scope), self.cancel, self.progress)?),
        };
        let filter = ScheduledFilter { words: &words, process };
        let order = Arc::new(order(self.snapshot, &scheduling, kind, sorted_by, filter, self.cancel)?);
        let sum = scheduling.sum(kind, &order);
        Ok(SchedulingAnswer { scheduling, kind, sorted_by, order, sum })
    }

    fn heat_map(&self, question: &HeatMapQuestion) -> Result<HeatMap, Cancelled> {
        let scope = question.scope.with_filter(self.snapshot, &question.filter);
        heat_map(self.snapshot, &scope, question.axis, self.cancel, self.progress)
    }

    fn heat_map_sketch(&self, question: &HeatMapQuestion) -> Result<Option<HeatMap>, Cancelled> {
        let scope = question.scope.with_filter(self.snapshot, &question.filter);
        coarse_heat_map(self.snapshot, &scope, question.axis, self.cancel)
    }

    /// Counts totals, which other queries read meanwhile.
    fn totals(&self, selected: &SelectedScope, by: GroupBy) -> Result<GroupLines, Cancelled> {
        let own = GrowingTotals::grouped(by);
        let growing = self.growing.unwrap_or(&own);
        add_up(self.snapshot, &self.scope(selected), growing, self.cancel, self.progress)?;
        let lines = GroupLines::new(Arc::new(growing.so_far()), self.snapshot, self.cancel)?;
        // A table without lines says whether there are instants instead.
        let has_instants = lines.is_empty() && self.has_instants(selected)?;
        Ok(lines.with_instants(has_instants))
    }

    /// Returns whether instants start in a scope. Returns false for a scope with a filter, which its instants may not
    /// match.
    fn has_instants(&self, selected: &SelectedScope) -> Result<bool, Cancelled> {
        if !selected.filter.is_empty() {
            return Ok(false);
        }
        for lane in (0..self.snapshot.store().lane_count()).map(LaneIdx) {
            self.cancel.check()?;
            let info = self.snapshot.lane(lane);
            let rows = || match selected.range {
                None => info.rows,
                Some((from_ns, to_ns)) => rows_starting(self.snapshot, lane, from_ns, to_ns),
            };
            if info.kind == LaneKind::Instants && selected.tracks.contains(info.track) && rows() > 0 {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns the totals that a running query has counted so far.
    fn partial_totals(&self) -> Result<Option<GroupLines>, Cancelled> {
        let lines = |growing: &GrowingTotals| GroupLines::new(Arc::new(growing.so_far()), self.snapshot, self.cancel);
        self.growing.map(lines).transpose()
    }

    fn group(&self, group: GroupChoice, selected: &SelectedScope) -> Result<GroupFacts, Cancelled> {
        let snapshot = self.snapshot;
        let scope = group.narrow(snapshot, self.scope(selected).spans());
        let range = selected.range.unwrap_or((snapshot.start_ns(), snapshot.end_ns()));
        Ok(GroupFacts {
            group,
            range,
            longest: longest(snapshot, &scope, LONGEST_COUNT, self.cancel)?,
            over_time: over_time(snapshot, &scope, range, TIME_PARTS, self.cancel)?,
        })
    }

    /// Filters and sorts the rows of a table.
    fn ordered<D: TableData>(&self, lines: PtrEq<D>, sort: TableSort) -> Result<Arc<OrderedRows<D>>, Cancelled> {
        Ok(Arc::new(OrderedRows::new(lines.0, sort, self.cancel)?))
    }

    fn samples(&self, question: SampleQuestion) -> Result<SampleTable, Cancelled> {
        let SampleQuestion { scope, event, by, known } = question;
        let (of, view) = (PathsOf::Samples(event), FlameView::default());
        let paths = self.call_paths(&PathsQuestion { scope, of, view, known, is_exact: false })?;
        SampleTable::new(self.snapshot, paths, by, self.cancel)
    }

    /// Lists the spans by call path. Counts the paths unless they are known.
    fn span_calls(&self, question: &PathsQuestion) -> Result<SampleTable, Cancelled> {
        let paths = self.call_paths(question)?;
        let picture = self.picture(question, &paths)?;
        let is_inverted = question.view.shape == FlameShape::Inverted;
        Ok(SampleTable::from_spans(self.snapshot, paths, picture, is_inverted))
    }

    /// Counts the paths unless they are known, and builds their view.
    fn flame(&self, question: &PathsQuestion) -> Result<FlameAnswer, Cancelled> {
        let paths = self.call_paths(question)?;
        let picture = Arc::new(self.picture(question, &paths)?);
        let are_sampled = matches!(question.of, PathsOf::Samples(_));
        let track = first_track_with_stacks(self.snapshot, &self.scope(&question.scope), are_sampled);
        Ok(FlameAnswer { paths, picture, track })
    }

    /// Builds the view of counted paths.
    fn picture(&self, question: &PathsQuestion, paths: &CallPaths) -> Result<FlamePicture, Cancelled> {
        let (snapshot, view) = (self.snapshot, &question.view);
        if matches!(question.of, PathsOf::Samples(_)) || view.shape != FlameShape::Inverted {
            return FlamePicture::new(snapshot, &paths.tree, view, self.cancel);
        }
        let own_sums = stacks::own_sums_of_spans(snapshot, &self.scope(&question.scope), paths, self.cancel)?;
        FlamePicture::with_own_sums(snapshot, (&paths.tree, &own_sums), view, self.cancel)
    }

    /// Counts the paths unless they are known.
    fn call_paths(&self, question: &PathsQuestion) -> Result<Arc<CallPaths>, Cancelled> {
        if let Some(known) = &question.known {
            return Ok(Arc::clone(&known.0));
        }
        let (snapshot, cancel, progress) = (self.snapshot, self.cancel, self.progress);
        let scope = self.scope(&question.scope);
        let paths = match &question.of {
            PathsOf::Samples(event) => stacks::from_samples(snapshot, &scope, event.as_ref(), cancel, progress)?,
            PathsOf::Spans if question.is_exact => stacks::exact_spans(snapshot, &scope, cancel, progress)?,
            PathsOf::Spans => stacks::from_spans(snapshot, &scope, cancel, progress)?,
        };
        Ok(Arc::new(paths))
    }

    /// Resolves the names of all addresses of a trace.
    fn names(&self, query: &NameQuery) -> Result<NamedTrace, Cancelled> {
        let (snapshot, cancel, progress) = (self.snapshot, self.cancel, self.progress);
        let paths = || query.sources.files().iter().map(SourceFile::path);
        let cache = query.cache.as_deref().map(NameCache::in_folder);
        let locator = Locator::for_traces(paths(), &query.folders).with_cache(cache);
        let frames = TraceFrames::from_snapshot(snapshot);
        let found = look_up(snapshot, &frames, &locator, query.bytes_max, cancel, progress)?;
        let overlay = overlay(snapshot, &frames, &found, cancel)?.map(Arc::new);
        let traces: Vec<_> = paths().collect();
        let modules = report(snapshot, &frames, &found, &traces, cancel, progress)?;
        let without_module = functions_without_module(snapshot, self.cancel)?;
        let missing_folder = query.folders.iter().find_map(|folder| Some((folder.clone(), symbols_problem(folder)?)));
        let unwinding = SymbolUnwinding { folders: query.folders.clone(), has_system: true };
        let has_other_stacks = query.compares_stacks && !unwinding.are_same(&query.sources, &snapshot.tracks().unwound);
        let located = query.folders.first().filter(|_| query.compares_stacks && !has_other_stacks);
        let unused_folder = located.filter(|folder| !found.uses_folder(folder)).cloned();
        let (found, modules) = (PtrEq(Arc::new(found)), Arc::new(modules));
        Ok(NamedTrace { overlay, found, modules, without_module, has_other_stacks, missing_folder, unused_folder })
    }
}

/// Returns the next hit after or before a position in the snapshot of the hits, or else the first hit from the other
/// end.
fn neighbour(
    hits: &Hits,
    (ts_ns, row): (i64, Option<RowIdx>),
    direction: Direction,
    cancel: &Cancel,
) -> Option<NeighbourHit> {
    let hit = if direction.is_forward() { hits.next(ts_ns, row) } else { hits.previous(ts_ns, row) };
    let further = || if direction.is_forward() { hits.from(i64::MIN).next() } else { hits.previous(i64::MAX, None) };
    let has_wrapped = hit.is_none();
    hit.or_else(further).map(|hit| {
        let before = hits.rank(hit.start_ns);
        // A million hits may start at one time.
        let tied = hits.from(hit.start_ns).take_while(|other| *other < hit && !cancel.is_cancelled());
        NeighbourHit { number: before + tied.count() as u64, hit, wrapped: has_wrapped.then_some(direction) }
    })
}
