//! A filter resolved against one trace: names and tracks are tested once each, so a row costs a bit test.

use std::cell::LazyCell;
use std::ops::{Range, RangeInclusive};
use std::sync::Arc;

use serde_json::Value;

use super::argument_path::ArgumentPath;
use super::filter::{Filter, RowData, Test, TextTest};
use super::flow_rows::FlowRows;
use super::inside::Inside;
use super::name_set::{NameSet, mask_of};
use super::snapshot::Snapshot;
use crate::base::cancel::{Cancel, Cancelled};
use crate::model::args::{Detail, has_members};
use crate::model::{NameIdx, Names, StackIdx, TrackIdx};
use crate::store::block::{BLOCK_ROWS, Block};
use crate::store::details::DetailReader;
use crate::store::{DetailRef, LaneIdx, LaneKind};

/// A filter that can test rows.
#[derive(Debug, Clone)]
pub struct Matcher {
    names: Option<NameSet>,
    /// Whether each track matches; `None` if all do.
    tracks: Option<Vec<bool>>,
    /// Bounds of the duration, in nanoseconds.
    durations: RangeInclusive<u64>,
    /// Durations that do not match, even within `durations`.
    not_durations: Vec<RangeInclusive<u64>>,
    /// Bounds of the start, in nanoseconds of the trace's clock.
    starts: RangeInclusive<i64>,
    /// Starts that do not match, even within `starts`.
    not_starts: Vec<RangeInclusive<i64>>,
    /// Terms about the spans above a row. Each says that such a span must be open, or that none may be.
    inside: Vec<Arc<Inside>>,
    /// Whether rows must have a flow or not, by a term each.
    flows: Vec<(bool, Arc<FlowRows>)>,
    /// Whether rows must have a call stack or not, by a term each.
    stacks: Vec<bool>,
    arguments: Vec<ArgumentTest>,
    /// Whether `names` tells spans that failed from others, which the sums of a ledger do not.
    is_by_failure: bool,
}

impl Default for Matcher {
    fn default() -> Self {
        Self {
            names: None,
            tracks: None,
            durations: 0..=u64::MAX,
            not_durations: Vec::new(),
            starts: i64::MIN..=i64::MAX,
            not_starts: Vec::new(),
            inside: Vec::new(),
            flows: Vec::new(),
            stacks: Vec::new(),
            arguments: Vec::new(),
            is_by_failure: false,
        }
    }
}

#[derive(Debug, Clone)]
struct ArgumentTest {
    /// The test of one argument; `None` if any will do.
    value: Option<(ArgumentPath, TextTest)>,
    negated: bool,
}

/// The position of a block of rows.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BlockPosition {
    pub(crate) lane: LaneIdx,
    pub(crate) kind: LaneKind,
    /// The first row of the block in its lane.
    pub(crate) first_row: u64,
}

impl Matcher {
    /// Resolves a filter against a trace. The work grows with its names and tracks, not with its rows.
    #[must_use]
    pub fn new(snapshot: &Snapshot, filter: &Filter) -> Self {
        let mut names: Option<Vec<bool>> = None;
        let mut tracks: Option<Vec<bool>> = None;
        let mut matcher = Self::default();
        for term in &filter.terms {
            match &term.test {
                Test::Name(test) => {
                    let named = names_passing(snapshot, test);
                    narrow(&mut names, named.len(), |name| named[name as usize] != term.negated);
                }
                Test::Category(test) => narrow(&mut names, snapshot.names().len(), |name| {
                    let category = snapshot.names().get(NameIdx(name)).category;
                    category.is_some_and(|category| test.holds(category)) != term.negated
                }),
                Test::Thread(test) => narrow(&mut tracks, snapshot.tracks().tracks.len(), |track| {
                    let track = snapshot.track(TrackIdx(track));
                    (test.holds(&track.name) || test.holds(&track.key.tid.to_string())) != term.negated
                }),
                Test::Process(test) => narrow(&mut tracks, snapshot.tracks().tracks.len(), |track| {
                    let process = &snapshot.tracks().processes[snapshot.track(TrackIdx(track)).process.index()];
                    test.holds_process(&process.name, &process.pid) != term.negated
                }),
                Test::Failed => {
                    matcher.is_by_failure = true;
                    let names_of_all = snapshot.names();
                    narrow(&mut names, names_of_all.len(), |name| {
                        names_of_all.is_failed(NameIdx(name)) != term.negated
                    });
                }
                Test::Duration(range) if term.negated => matcher.not_durations.push(range.clone()),
                Test::Duration(range) => matcher.durations = intersection(range, &matcher.durations),
                Test::Start(test) => {
                    let starts = test.on_clock_of(snapshot.start_ns());
                    if term.negated {
                        matcher.not_starts.push(starts);
                    } else {
                        matcher.starts = intersection(&starts, &matcher.starts);
                    }
                }
                Test::Inside(test) => {
                    let names = NameSet::new(&names_passing(snapshot, test));
                    matcher.inside.push(Arc::new(Inside::named(snapshot, names, term.negated)));
                }
                Test::Within(position) => {
                    let inside = Inside::at(snapshot, position, term.negated);
                    if !term.negated {
                        let count = snapshot.tracks().tracks.len();
                        narrow(&mut tracks, count, |track| inside.may_be_on(TrackIdx(track)));
                    }
                    matcher.inside.push(Arc::new(inside));
                }
                Test::Argument { path, test } => {
                    let value = Some((path.clone(), test.clone()));
                    matcher.arguments.push(ArgumentTest { value, negated: term.negated });
                }
                Test::Has(RowData::Arguments) => {
                    matcher.arguments.push(ArgumentTest { value: None, negated: term.negated });
                }
                Test::Has(RowData::Flow) => {
                    if !term.negated {
                        let may_match = |track| FlowRows::may_be_on(snapshot, TrackIdx(track));
                        narrow(&mut tracks, snapshot.tracks().tracks.len(), may_match);
                    }
                    let known = matcher.flows.first().map(|(_, flows)| Arc::clone(flows));
                    matcher.flows.push((!term.negated, known.unwrap_or_else(|| FlowRows::new(snapshot).into())));
                }
                Test::Has(RowData::Stack) => matcher.stacks.push(!term.negated),
            }
        }
        matcher.names = names.map(|names| NameSet::new(&names));
        matcher.tracks = tracks;
        matcher
    }

    /// Restricts matches to rows of one regular name, including failed spans.
    #[must_use]
    pub(crate) fn and_name(self, name: NameIdx, names: &Names) -> Self {
        self.and_names(names.len(), |other| names.regular(other) == name)
    }

    /// Restricts matches to rows of some of the first `count` names.
    #[must_use]
    pub(crate) fn and_names(mut self, count: usize, is_meant: impl Fn(NameIdx) -> bool) -> Self {
        // Name indices have 32 bits.
        let names = (0..count as u32).map(NameIdx).map(|name| self.has_name(name) && is_meant(name));
        self.names = Some(NameSet::new(&names.collect::<Vec<_>>()));
        self
    }

    /// Restricts matches to rows whose argument passes a test of its text.
    #[must_use]
    pub(crate) fn and_argument(mut self, path: &ArgumentPath, test: TextTest) -> Self {
        self.arguments.push(ArgumentTest { value: Some((path.clone(), test)), negated: false });
        self
    }

    /// Restricts matches to rows without an argument.
    #[must_use]
    pub(crate) fn and_no_argument(mut self, path: &ArgumentPath) -> Self {
        // Every value contains the letters of an empty text.
        let every_value = TextTest::Letters(Vec::new());
        self.arguments.push(ArgumentTest { value: Some((path.clone(), every_value)), negated: true });
        self
    }

    /// Returns whether every row of a lane matches if its track does.
    #[must_use]
    pub(crate) fn is_every_row_of_lane(&self) -> bool {
        self.names.is_none() && self.are_all_durations() && !self.reads_more_than_names()
    }

    /// Returns whether matching depends only on names and tracks.
    #[must_use]
    pub(crate) fn is_by_name(&self) -> bool {
        self.are_all_durations() && !self.reads_more_than_names()
    }

    /// Computes what the tests of flows and of spans above need of a track. Otherwise the first block does, which
    /// cannot be cancelled.
    ///
    /// # Errors
    /// Returns an error if cancelled.
    pub(crate) fn prepare(&self, snapshot: &Snapshot, track: TrackIdx, cancel: &Cancel) -> Result<(), Cancelled> {
        self.inside.iter().try_for_each(|inside| inside.prepare(snapshot, track, cancel))?;
        // All terms share the rows.
        self.flows.first().map_or(Ok(()), |(_, flows)| flows.prepare(snapshot, track, cancel))
    }

    /// Returns whether rows of a track may match.
    #[must_use]
    pub(crate) fn has_track(&self, track: TrackIdx) -> bool {
        self.tracks.as_ref().is_none_or(|tracks| tracks.get(track.index()).copied().unwrap_or(false))
    }

    /// Returns whether all names match.
    #[must_use]
    pub(crate) fn is_every_name(&self) -> bool {
        self.names.is_none()
    }

    /// Returns whether a row on a matching track matches if it is long enough.
    #[must_use]
    pub(crate) fn takes_the_longest(&self) -> bool {
        let has_end = *self.durations.end() < u64::MAX || !self.not_durations.is_empty();
        self.is_every_name() && !has_end && !self.reads_more_than_names()
    }

    /// Returns whether rows of a name may match.
    #[must_use]
    pub(crate) fn has_name(&self, name: NameIdx) -> bool {
        self.names.as_ref().is_none_or(|names| names.has(name.0))
    }

    /// Returns whether rows of a duration may match.
    #[must_use]
    pub(crate) fn has_duration(&self, dur_ns: u64) -> bool {
        self.durations.contains(&dur_ns) && !self.not_durations.iter().any(|range| range.contains(&dur_ns))
    }

    /// Returns whether matching depends on more than track, regular name and duration: on failures, starts, arguments,
    /// flows, stacks, or spans above.
    #[must_use]
    pub(crate) fn reads_more_than_names(&self) -> bool {
        let has_data = !self.arguments.is_empty() || !self.flows.is_empty() || !self.stacks.is_empty();
        self.is_by_failure || has_data || !self.inside.is_empty() || !self.are_all_starts()
    }

    /// Returns whether matching depends on whether spans failed.
    #[must_use]
    pub(crate) fn is_by_failure(&self) -> bool {
        self.is_by_failure
    }

    /// Returns whether all tracks match.
    #[must_use]
    pub(crate) fn is_every_track(&self) -> bool {
        self.tracks.is_none()
    }

    /// Returns the time range that contains the starts of all matching rows of a track; a range up to `i64::MAX`
    /// includes it.
    #[must_use]
    pub(crate) fn starts_in(&self, track: TrackIdx) -> Option<Range<i64>> {
        let (least_ns, most_ns) = (*self.starts.start(), *self.starts.end());
        let own_range = match least_ns <= most_ns {
            _ if self.starts == (i64::MIN..=i64::MAX) => None,
            true => Some(least_ns..most_ns.saturating_add(1)),
            false => Some(0..0),
        };
        let ranges = self.inside.iter().filter_map(|inside| inside.starts_in(track)).chain(own_range);
        ranges.reduce(|one, other| one.start.max(other.start)..one.end.min(other.end))
    }

    /// Returns whether an extent may have matches, by the signature of its names and its longest duration.
    #[must_use]
    pub(crate) fn may_be_in(&self, kind: LaneKind, signature: &[u64], longest_ns: u64) -> bool {
        let long_enough = kind != LaneKind::Spans || longest_ns >= *self.durations.start();
        let is_named = |names: &NameSet| names.may_be_in(signature);
        long_enough && !self.durations.is_empty() && self.names.as_ref().is_none_or(is_named)
    }

    /// Returns a bit per matching row of a block.
    ///
    /// Equivalent to testing every term on each row's name, duration, arguments, flows, stack and spans above it.
    #[must_use]
    pub(crate) fn rows_of(
        &self,
        block: &Block<'_>,
        position: BlockPosition,
        snapshot: &Snapshot,
        reader: &mut DetailReader,
    ) -> u64 {
        let mut mask = self.rows_but_arguments(block, position, snapshot);
        if !self.arguments.is_empty() {
            let mut left = mask;
            while left != 0 {
                let row = left.trailing_zeros();
                left &= left - 1;
                if !self.has_arguments(DetailRef(block.detail(row as usize)), snapshot, reader) {
                    mask &= !(1 << row);
                }
            }
        }
        mask
    }

    /// Returns whether matching depends on arguments.
    #[must_use]
    pub(crate) fn reads_arguments(&self) -> bool {
        !self.arguments.is_empty()
    }

    /// Returns whether the arguments of a row match.
    #[must_use]
    pub(crate) fn has_arguments(&self, detail: DetailRef, snapshot: &Snapshot, reader: &mut DetailReader) -> bool {
        let blob = snapshot.store().detail(detail, reader);
        let args_json = Detail::decode(blob).args_json;
        // Several terms share the parsed arguments, and some need only the text.
        let args = LazyCell::new(|| serde_json::from_str(args_json).unwrap_or_default());
        self.arguments.iter().all(|argument| argument.holds(args_json, || &args))
    }

    /// Returns a bit per row of a block that matches if its arguments do.
    #[must_use]
    pub(crate) fn rows_but_arguments(&self, block: &Block<'_>, position: BlockPosition, snapshot: &Snapshot) -> u64 {
        let BlockPosition { lane, kind, first_row } = position;
        let mut mask = u64::MAX >> (BLOCK_ROWS - block.rows());
        if let Some(names) = &self.names {
            mask &= names.rows_of(block);
        }
        if mask != 0 && !self.are_all_durations() {
            let mut values = [0; BLOCK_ROWS];
            if kind == LaneKind::Spans {
                block.values(&mut values);
            }
            mask &= mask_of(&values[..block.rows()], |&dur_ns| self.has_duration(dur_ns));
        }
        if mask != 0 && !(self.inside.is_empty() && self.are_all_starts()) {
            let mut starts = [0; BLOCK_ROWS];
            block.starts(&mut starts);
            mask &= mask_of(&starts[..block.rows()], |&start_ns| self.has_start(start_ns));
            mask &= self.inside.iter().fold(mask, |mask, inside| {
                if mask == 0 { 0 } else { mask & inside.rows_of(snapshot, lane, &starts[..block.rows()]) }
            });
        }
        for &is_wanted in &self.stacks {
            let with_stack = if mask == 0 { 0 } else { rows_with_stack(block, kind) };
            mask &= if is_wanted { with_stack } else { !with_stack };
        }
        for (is_wanted, flows) in &self.flows {
            let with_flow = if mask == 0 { 0 } else { flows.rows_of(snapshot, lane, first_row, block.rows()) };
            mask &= if *is_wanted { with_flow } else { !with_flow };
        }
        mask
    }

    fn has_start(&self, start_ns: i64) -> bool {
        self.starts.contains(&start_ns) && !self.not_starts.iter().any(|range| range.contains(&start_ns))
    }

    fn are_all_starts(&self) -> bool {
        self.starts == (i64::MIN..=i64::MAX) && self.not_starts.is_empty()
    }

    fn are_all_durations(&self) -> bool {
        self.durations == (0..=u64::MAX) && self.not_durations.is_empty()
    }
}

impl ArgumentTest {
    /// Tests the arguments of a row, as text or parsed.
    fn holds<'a>(&self, args_json: &str, args: impl FnOnce() -> &'a Value) -> bool {
        let passes = match &self.value {
            Some((path, test)) => path.find(args()).is_some_and(|value| test.holds_value(value)),
            None => has_members(args_json),
        };
        passes != self.negated
    }
}

/// Returns a bit per row of a block that is a sample with a call stack.
fn rows_with_stack(block: &Block<'_>, kind: LaneKind) -> u64 {
    if kind != LaneKind::Samples {
        return 0;
    }
    let mut values = [0; BLOCK_ROWS];
    block.values(&mut values);
    mask_of(&values[..block.rows()], |&value| StackIdx::from_value(value) != StackIdx::EMPTY)
}

/// Returns whether each name passes a test. A frame with inlined functions passes by its whole name or by one of them.
fn names_passing(snapshot: &Snapshot, test: &TextTest) -> Vec<bool> {
    let names = snapshot.names();
    // Name indices have 32 bits.
    let mut passing: Vec<bool> =
        (0..names.len() as u32).map(|name| test.holds(names.get(NameIdx(name)).text)).collect();
    let frames = snapshot.overlay().into_iter().flat_map(|overlay| overlay.lines.frames());
    // A function is a name too, so its text is tested once for all its frames.
    for (frame, functions) in frames {
        passing[frame.index()] |= functions.iter().any(|line| passing[line.function.index()]);
    }
    passing
}

fn intersection<T: Copy + Ord>(one: &RangeInclusive<T>, other: &RangeInclusive<T>) -> RangeInclusive<T> {
    *one.start().max(other.start())..=*one.end().min(other.end())
}

/// Clears the mask at each index of `0..count` for which `holds` returns false.
fn narrow(mask: &mut Option<Vec<bool>>, count: usize, holds: impl Fn(u32) -> bool) {
    let mask = mask.get_or_insert_with(|| vec![true; count]);
    for (index, is_kept) in (0..).zip(mask) {
        *is_kept = *is_kept && holds(index);
    }
}
