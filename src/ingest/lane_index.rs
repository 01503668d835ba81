//! An index of the open spans of one track: each operation takes O(log n) for n open spans. Its results equal the
//! results of the list in [`lanes`](super::lanes), which decides when to convert between both.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

use super::lane_set::LaneSet;
use super::open_span::{OpenSpan, Placement, Until};
use super::steps;
use crate::base::ends::EndTree;
use crate::model::StrIdx;

/// Depth of a binary tree over all lanes.
const STEPS_DOWN: usize = 17;

/// Open spans by lane, by end and by name text.
#[derive(Debug, Clone)]
pub(super) struct LaneIndex<T> {
    used: LaneSet,
    /// Tree of the latest end by range of lanes.
    ends: EndTree,
    /// The complete spans, earliest end first.
    complete: BinaryHeap<Reverse<(i64, u16)>>,
    begins: BTreeMap<u16, Begin<T>>,
    closable: LaneSet,
    /// The closable begins whose name texts were looked up.
    named: BTreeSet<(StrIdx, u16)>,
    /// The closable begins whose name texts were not looked up yet.
    unnamed: LaneSet,
}

#[derive(Debug, Clone)]
struct Begin<T> {
    payload: T,
    closable: bool,
    /// Name text, if it is in `named`.
    text: Option<StrIdx>,
}

impl<T> Default for LaneIndex<T> {
    fn default() -> Self {
        Self {
            used: LaneSet::default(),
            ends: EndTree::default(),
            complete: BinaryHeap::new(),
            begins: BTreeMap::new(),
            closable: LaneSet::default(),
            named: BTreeSet::new(),
            unnamed: LaneSet::default(),
        }
    }
}

impl<T> LaneIndex<T> {
    /// Builds the index from spans of distinct lanes.
    pub(super) fn from_open(open: Vec<OpenSpan<T>>) -> Self {
        let mut index = Self::default();
        for OpenSpan { lane, closable, until } in open {
            match until {
                Until::Time(end_ns) => index.add_complete(lane, end_ns),
                Until::End(payload) => index.add_begin(lane, payload, closable),
            }
        }
        index
    }

    /// Returns all spans, ordered by lane.
    pub(super) fn into_open(self) -> Vec<OpenSpan<T>> {
        let complete = self.complete.into_iter().map(|Reverse((end_ns, lane))| OpenSpan::complete(lane, end_ns));
        let begins = self.begins.into_iter();
        let begins = begins.map(|(lane, begin)| OpenSpan::new_begin(lane, begin.payload, begin.closable));
        let mut open: Vec<_> = complete.chain(begins).collect();
        open.sort_unstable_by_key(|open| open.lane);
        open
    }

    pub(super) fn count(&self) -> usize {
        self.complete.len() + self.begins.len()
    }

    pub(super) fn deepest_lane(&self) -> Option<u16> {
        self.used.last()
    }

    pub(super) fn has_begins(&self) -> bool {
        !self.begins.is_empty()
    }

    pub(super) fn close_ended(&mut self, ts_ns: i64) {
        while let Some(&Reverse((end_ns, lane))) = self.complete.peek()
            && end_ns <= ts_ns
        {
            steps::add(self.complete.len().ilog2() as usize + 1);
            self.complete.pop();
            self.used.remove(lane);
            self.set_end(lane, None);
        }
    }

    pub(super) fn place_complete(&mut self, end_ns: i64) -> Option<Placement> {
        steps::add(STEPS_DOWN);
        let parent = self.ends.deepest(usize::MAX, end_ns);
        let first = u16::try_from(parent.map_or(0, |parent| parent + 1)).ok()?;
        let overlaps = self.used.last().is_some_and(|last| last >= first);
        let lane = self.used.first_free(first)?;
        self.add_complete(lane, end_ns);
        Some(Placement { lane, overlaps })
    }

    pub(super) fn place_begin(&mut self, payload: T, closable: bool) -> Option<u16> {
        let lane = match self.used.last() {
            Some(last) => last.checked_add(1)?,
            None => 0,
        };
        self.add_begin(lane, payload, closable);
        Some(lane)
    }

    pub(super) fn innermost(&self) -> Option<(u16, &T)> {
        let lane = self.closable.last()?;
        self.begins.get(&lane).map(|begin| (lane, &begin.payload))
    }

    pub(super) fn innermost_named(&mut self, text: StrIdx, text_of: impl Fn(&T) -> StrIdx) -> Option<u16> {
        while let Some(lane) = self.unnamed.last() {
            steps::add(1);
            self.unnamed.remove(lane);
            if let Some(begin) = self.begins.get_mut(&lane) {
                let text = text_of(&begin.payload);
                begin.text = Some(text);
                self.named.insert((text, lane));
            }
        }
        self.named.range((text, 0)..=(text, u16::MAX)).next_back().map(|&(_, lane)| lane)
    }

    pub(super) fn take_begin(&mut self, lane: u16) -> Option<T> {
        steps::add(1);
        let begin = self.begins.remove(&lane)?;
        self.used.remove(lane);
        self.set_end(lane, None);
        self.closable.remove(lane);
        self.unnamed.remove(lane);
        if let Some(text) = begin.text {
            self.named.remove(&(text, lane));
        }
        Some(begin.payload)
    }

    fn set_end(&mut self, lane: u16, end_ns: Option<i64>) {
        steps::add(self.ends.set(lane.into(), end_ns));
    }

    fn add_complete(&mut self, lane: u16, end_ns: i64) {
        self.used.insert(lane);
        self.set_end(lane, Some(end_ns));
        self.complete.push(Reverse((end_ns, lane)));
    }

    fn add_begin(&mut self, lane: u16, payload: T, closable: bool) {
        self.used.insert(lane);
        // A begin ends later than any complete span.
        self.set_end(lane, Some(i64::MAX));
        if closable {
            self.closable.insert(lane);
            self.unnamed.insert(lane);
        }
        self.begins.insert(lane, Begin { payload, closable, text: None });
    }
}
