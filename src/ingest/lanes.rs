//! Assigns spans to the lanes of their track. This module tracks the open spans of one track, and knows neither events
//! nor files.
//!
//! A span goes one lane below the innermost open span that contains it. A span that overlaps another without nesting
//! goes to the next free lane: no span is dropped, cut or hidden, up to 65,536 lanes.
//!
//! A scan over all open spans would be quadratic. A list ordered by lane needs no scan if spans nest, at any depth, and
//! only a short one if few spans are open. An operation that would scan more than `FEW` spans converts the list to an
//! index (`lane_index`) with steps of O(log n). The index serves until few spans are open again.

use smallvec::SmallVec;

use super::lane_index::LaneIndex;
use super::open_span::{OpenSpan, Placement, Until};
use super::steps;
use crate::model::StrIdx;

/// The open spans of one track, by lane. A scan visits at most `FEW` of them.
#[derive(Debug, Clone)]
pub(crate) struct OpenLanes<T, const FEW: usize = 32> {
    /// Empty while there is an index.
    list: LaneList<T>,
    index: Option<Box<LaneIndex<T>>>,
}

/// Open spans, ordered by lane.
#[derive(Debug, Clone)]
struct LaneList<T> {
    /// One span is stored inline: heap-allocated lists of a million threads with one span each would take 200 MB.
    open: SmallVec<[OpenSpan<T>; 1]>,
    /// Whether some span ends after a span of a lower lane, so that ended spans may be anywhere in the list.
    ragged: bool,
    /// Number of open begins beyond the last lane.
    unplaced: u32,
}

/// The result of a scan, innermost span first.
enum Scan {
    /// A position in the list.
    At(usize),
    Nowhere,
    /// The list is too long to scan, or there is an index instead.
    TooLong,
}

impl<T, const FEW: usize> Default for OpenLanes<T, FEW> {
    fn default() -> Self {
        Self { list: LaneList { open: SmallVec::new(), ragged: false, unplaced: 0 }, index: None }
    }
}

impl<T, const FEW: usize> OpenLanes<T, FEW> {
    /// Removes complete spans that end at `ts_ns` or before.
    #[inline]
    pub(crate) fn close_ended(&mut self, ts_ns: i64) {
        if self.index.is_none() && !self.list.ragged {
            self.list.pop_ended(ts_ns);
        } else {
            self.close_ended_anywhere(ts_ns);
        }
    }

    /// The slow path of [`Self::close_ended`], not inlined so that the fast path saves no registers.
    #[inline(never)]
    fn close_ended_anywhere(&mut self, ts_ns: i64) {
        if self.index.is_none() && self.list.open.len() <= FEW {
            self.list.remove_ended(ts_ns);
        } else {
            self.index().close_ended(ts_ns);
            self.list_if_few();
        }
    }

    /// Opens a complete span; `None` beyond the last lane.
    #[inline]
    pub(crate) fn place_complete(&mut self, end_ns: i64) -> Option<Placement> {
        // Fast path: the span is usually inside the innermost open span, so it is appended.
        if self.index.is_none() && self.list.open.last().is_none_or(|open| open.contains(end_ns)) {
            return self.list.push_complete(end_ns);
        }
        self.place_complete_anywhere(end_ns)
    }

    #[inline(never)]
    fn place_complete_anywhere(&mut self, end_ns: i64) -> Option<Placement> {
        match self.scan(|open| open.contains(end_ns)) {
            Scan::At(parent) => self.list.insert_below(Some(parent), end_ns),
            Scan::Nowhere => self.list.insert_below(None, end_ns),
            Scan::TooLong => self.index().place_complete(end_ns),
        }
    }

    /// Opens a begin and returns its lane; `None` beyond the last lane.
    ///
    /// It goes below all open spans: its end is unknown, and usually the earliest. A begin that is not `closable` is
    /// ignored by ends.
    #[inline]
    pub(crate) fn place_begin(&mut self, payload: T, closable: bool) -> Option<u16> {
        match &mut self.index {
            None => self.list.push_begin(payload, closable),
            Some(index) => index.place_begin(payload, closable),
        }
    }

    /// Counts an open begin without a lane, so that its end does not close a begin with a lane.
    pub(crate) fn add_unplaced(&mut self) {
        self.list.unplaced = self.list.unplaced.saturating_add(1);
    }

    /// Closes an open begin without a lane, which is inside all others. Returns whether there was one.
    #[inline]
    pub(crate) fn take_unplaced(&mut self) -> bool {
        let unplaced = self.list.unplaced.checked_sub(1);
        self.list.unplaced = unplaced.unwrap_or(0);
        unplaced.is_some()
    }

    /// Returns the lane of the deepest open span.
    #[must_use]
    pub(crate) fn deepest_lane(&self) -> Option<u16> {
        match &self.index {
            None => self.list.open.last().map(|open| open.lane),
            Some(index) => index.deepest_lane(),
        }
    }

    /// Returns the depth below all open spans. It is more than their number if some overlap and a lane between is free.
    #[must_use]
    pub(crate) fn depth_below(&self) -> u64 {
        self.deepest_lane().map_or(0, |lane| u64::from(lane) + 1)
    }

    /// Returns the number of open spans.
    #[cfg(test)]
    pub(crate) fn count(&self) -> usize {
        self.index.as_ref().map_or(self.list.open.len(), |index| index.count())
    }

    /// Returns whether a begin with a lane is open.
    pub(crate) fn has_begins(&mut self) -> bool {
        match self.scan(|open| matches!(open.until, Until::End(_))) {
            Scan::At(_) => true,
            Scan::Nowhere => false,
            Scan::TooLong => self.index().has_begins(),
        }
    }

    /// Returns whether no begin is open, with or without a lane: no end is to come.
    pub(crate) fn is_idle(&mut self) -> bool {
        self.list.unplaced == 0 && !self.has_begins()
    }

    /// Returns the innermost closable begin with its lane.
    #[inline]
    pub(crate) fn innermost(&mut self) -> Option<(u16, &T)> {
        match self.scan(OpenSpan::is_closable) {
            Scan::At(position) => self.list.open[position].begin(),
            Scan::Nowhere => None,
            Scan::TooLong => self.index().innermost(),
        }
    }

    /// Returns the lane of the innermost closable begin with this name text.
    pub(crate) fn innermost_named(&mut self, text: StrIdx, text_of: impl Fn(&T) -> StrIdx) -> Option<u16> {
        let is_named = |open: &OpenSpan<T>| {
            open.closable && matches!(&open.until, Until::End(payload) if text_of(payload) == text)
        };
        match self.scan(is_named) {
            Scan::At(position) => Some(self.list.open[position].lane),
            Scan::Nowhere => None,
            Scan::TooLong => self.index().innermost_named(text, text_of),
        }
    }

    /// Removes the innermost closable begin.
    #[inline]
    pub(crate) fn take_innermost(&mut self) -> Option<(u16, T)> {
        // Fast path: it is usually the innermost span.
        if self.list.open.last().is_some_and(OpenSpan::is_closable) {
            return self.list.open.pop().and_then(OpenSpan::into_begin);
        }
        let (lane, _) = self.innermost()?;
        self.take_begin(lane).map(|payload| (lane, payload))
    }

    /// Removes the open begin in `lane`.
    pub(crate) fn take_begin(&mut self, lane: u16) -> Option<T> {
        if self.index.is_none() {
            let position = self.list.open.binary_search_by_key(&lane, |open| open.lane).ok()?;
            if self.list.open.len() - position <= FEW {
                return self.list.open.remove(position).into_begin().map(|(_, payload)| payload);
            }
        }
        let taken = self.index().take_begin(lane);
        self.list_if_few();
        taken
    }

    /// Removes all open begins, outermost first.
    pub(crate) fn drain(&mut self) -> Vec<(u16, T)> {
        let Self { list, index } = std::mem::take(self);
        let open = index.map_or(list.open, |index| index.into_open().into());
        open.into_iter().filter_map(OpenSpan::into_begin).collect()
    }

    /// Scans the list, innermost span first.
    #[inline]
    fn scan(&self, test: impl Fn(&OpenSpan<T>) -> bool) -> Scan {
        if self.index.is_some() {
            return Scan::TooLong;
        }
        let open = &self.list.open;
        let near = &open[open.len().saturating_sub(FEW)..];
        let position = near.iter().rposition(|open| {
            steps::add(1);
            test(open)
        });
        match position {
            Some(position) => Scan::At(open.len() - near.len() + position),
            None if near.len() == open.len() => Scan::Nowhere,
            None => Scan::TooLong,
        }
    }

    /// Returns the index; converts the list to one if necessary.
    fn index(&mut self) -> &mut LaneIndex<T> {
        let list = &mut self.list;
        self.index.get_or_insert_with(|| Box::new(LaneIndex::from_open(std::mem::take(&mut list.open).into_vec())))
    }

    /// Converts the index to a list if at most half of `FEW` spans are open. The gap to `FEW` amortizes the
    /// conversions.
    fn list_if_few(&mut self) {
        if let Some(index) = self.index.take_if(|index| index.count() <= FEW / 2) {
            self.list.open = index.into_open().into();
            self.list.ragged = self.list.is_ragged();
        }
    }
}

impl<T> LaneList<T> {
    #[inline]
    fn pop_ended(&mut self, ts_ns: i64) {
        let open = self.open.as_slice();
        let ended = open.iter().rev().take_while(|open| open.has_ended(ts_ns)).count();
        if ended > 0 {
            steps::add(ended);
            let open_count = open.len() - ended;
            self.open.truncate(open_count);
        }
    }

    fn remove_ended(&mut self, ts_ns: i64) {
        steps::add(self.open.len());
        self.open.retain(|open| !open.has_ended(ts_ns));
        self.ragged = self.is_ragged();
    }

    fn is_ragged(&self) -> bool {
        self.open.windows(2).any(|pair| pair[1].ends_after(&pair[0]))
    }

    fn push_begin(&mut self, payload: T, closable: bool) -> Option<u16> {
        steps::add(1);
        let lane = match self.open.last() {
            Some(last) => {
                self.ragged |= matches!(last.until, Until::Time(_));
                last.lane.checked_add(1)?
            }
            None => 0,
        };
        self.open.push(OpenSpan::new_begin(lane, payload, closable));
        Some(lane)
    }

    /// Appends a complete span, which the innermost span contains.
    #[inline]
    fn push_complete(&mut self, end_ns: i64) -> Option<Placement> {
        steps::add(1);
        let lane = self.open.last().map_or(Some(0), |last| last.lane.checked_add(1))?;
        self.open.push(OpenSpan::complete(lane, end_ns));
        Some(Placement { lane, overlaps: false })
    }

    /// Inserts a complete span on the next free lane below the open span at `parent`.
    fn insert_below(&mut self, parent: Option<usize>, end_ns: i64) -> Option<Placement> {
        let mut position = parent.map_or(0, |parent| parent + 1);
        let overlaps = position < self.open.len();
        let mut lane = match parent {
            Some(parent) => self.open[parent].lane.checked_add(1)?,
            None => 0,
        };
        while self.open.get(position).is_some_and(|open| open.lane == lane) {
            steps::add(1);
            lane = lane.checked_add(1)?;
            position += 1;
        }
        let span = OpenSpan::complete(lane, end_ns);
        let above = position.checked_sub(1).map(|above| &self.open[above]);
        self.ragged |= overlaps || above.is_some_and(|above| span.ends_after(above));
        self.open.insert(position, span);
        Some(Placement { lane, overlaps })
    }
}

#[cfg(test)]
mod tests;
