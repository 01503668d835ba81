//! Assigns lanes to the spans of one track while they arrive. Spans that are written at their ends come after their
//! children, so the latest spans stay in a window. Each snapshot places them again in order of start. Rows before the
//! window are settled, and keep their lanes. A span that arrives later and starts before the window is rejected, and
//! the caller gives it a separate lane. The placement needs no store, no names and no clock.
//!
//! Within the window, the result equals the placement of all rows by the final sort, but for rows that still grow.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::pairs::RowOrder;
use crate::ingest::lanes::OpenLanes;

/// A span, an instant or a flow point that has arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct WindowRow {
    pub(super) start_ns: i64,
    pub(super) order: RowOrder,
    pub(super) value: WindowValue,
    pub(super) name: u32,
    /// The bits of a flow point.
    pub(super) detail: u64,
}

/// The kind of a row that may still move.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WindowValue {
    Span {
        end_ns: i64,
    },
    Instant,
    /// A flow point. A placed one says itself which span is around it.
    Flow {
        id: u64,
        is_placed: bool,
    },
}

impl WindowRow {
    /// Returns the end of a span.
    pub(super) fn end_ns(&self) -> Option<i64> {
        match self.value {
            WindowValue::Span { end_ns } => Some(end_ns),
            WindowValue::Instant | WindowValue::Flow { .. } => None,
        }
    }

    /// Returns whether it is a complete span instead of a begin and an end.
    fn nests_by_times(&self) -> bool {
        self.order.end.is_none() && self.end_ns().is_some()
    }
}

/// A span whose end has not arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct OpenRow {
    pub(super) start_ns: i64,
    pub(super) order: RowOrder,
    pub(super) name: u32,
    /// Its arguments, once it is known to have no end.
    pub(super) detail: u64,
}

impl OpenRow {
    fn key(&self) -> (i64, u64) {
        (self.start_ns, self.order.begin)
    }

    /// Returns the span as a row that ends now.
    fn until(&self, now_ns: i64) -> WindowRow {
        let &Self { start_ns, order, name, detail } = self;
        let value = WindowValue::Span { end_ns: now_ns.max(start_ns) };
        WindowRow { start_ns, order, value, name, detail }
    }
}

/// A row with its lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PlacedRow {
    /// A span, open or ended.
    Span { lane: u16, row: WindowRow, is_open: bool },
    /// An instant, at the depth of the open spans around it.
    Instant { depth: u64, row: WindowRow },
    /// A point of the flow `id`, with the depth of the span around it.
    Flow { id: u64, around: Option<u16>, row: WindowRow },
}

/// The spans of one track that may still move, and the state of the settled ones.
#[derive(Debug, Default)]
pub(super) struct TrackWindow {
    /// The lanes occupied by settled spans; open ones are begins.
    lanes: OpenLanes<()>,
    /// Settled open spans with their lanes, by start and begin.
    reserved: BTreeMap<(i64, u64), (OpenRow, u16)>,
    /// Spans that are known to have no end, and are not settled.
    endless: Vec<OpenRow>,
    /// Ended spans in their lanes, until the rows before their ends are placed.
    ended: BTreeMap<SpanEnd, WindowRow>,
    rows: Vec<WindowRow>,
    is_sorted: bool,
    /// All rows that start earlier are settled.
    settled_to_ns: Option<i64>,
}

/// The end of a span in its lane. Ends with the same time come in the order of the final sort.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct SpanEnd {
    end_ns: i64,
    /// Whether the span begins at this time too: ends of earlier spans come first.
    is_empty: bool,
    /// Its position among the events of its track, unless the span nests by its times.
    position: Option<u64>,
    lane: u16,
}

/// The next item in the order of the final sort.
#[derive(Debug, Clone, Copy)]
enum Next {
    /// A row, with the position where it is sorted: a longer span may take the position of a shorter one.
    Row(WindowRow, u64),
    Open(OpenRow),
}

/// Assigns lanes in the order of the final sort.
struct Placer<'a> {
    lanes: &'a mut OpenLanes<()>,
    ended: &'a mut BTreeMap<SpanEnd, WindowRow>,
    /// The start of the last span.
    begun_ns: Option<i64>,
}

impl TrackWindow {
    /// Number of rows that may still move.
    pub(super) fn len(&self) -> usize {
        self.rows.len() + self.ended.len()
    }

    /// Returns whether a span outside of the moving rows still grows: a settled one, or one without an end.
    pub(super) fn has_growing(&self) -> bool {
        !self.reserved.is_empty() || !self.endless.is_empty()
    }

    /// Adds a row. Returns it if it starts before the settled time.
    pub(super) fn add(&mut self, row: WindowRow) -> Result<(), WindowRow> {
        if self.settled_to_ns.is_none_or(|settled_ns| row.start_ns >= settled_ns) {
            self.is_sorted &= self.rows.last().is_none_or(|last| last.start_ns < row.start_ns);
            self.rows.push(row);
            return Ok(());
        }
        let Some(end_ns) = row.end_ns() else { return Err(row) };
        let key = (row.start_ns, row.order.begin);
        let Some((_, lane)) = self.reserved.remove(&key) else { return Err(row) };
        self.ended.insert(SpanEnd::new(&row, end_ns, lane), row);
        Ok(())
    }

    /// Adds a span that has no end, because its source has ended. Returns it if it starts before the settled time and
    /// was not open then.
    pub(super) fn add_endless(&mut self, open: OpenRow) -> Result<(), OpenRow> {
        if let Some((reserved, _)) = self.reserved.get_mut(&open.key()) {
            *reserved = open;
        } else if self.settled_to_ns.is_some_and(|settled_ns| open.start_ns < settled_ns) {
            return Err(open);
        } else {
            self.endless.push(open);
        }
        Ok(())
    }

    /// Returns the start of the middle row of the window: settling up to there halves it.
    pub(super) fn middle_ns(&mut self) -> Option<i64> {
        self.sort();
        self.rows.get(self.rows.len() / 2).map(|row| row.start_ns)
    }

    /// Places all rows of the window, and `open`, which last until `now_ns`. Rows of a lane come in order.
    pub(super) fn place(&mut self, open: &mut Vec<OpenRow>, now_ns: i64, out: &mut dyn FnMut(PlacedRow)) {
        self.sort();
        let (mut lanes, mut ended) = (self.lanes.clone(), self.ended.clone());
        self.take_reserved(open);
        open.extend(&self.endless);
        let mut placer = Placer::new(&mut lanes, &mut ended);
        each_in_order(&self.rows, open, |next| {
            placer.reach(&next, out);
            match next {
                Next::Row(row, _) => placer.place(row, out),
                Next::Open(open) => {
                    if let Some(lane) = placer.lanes.place_begin((), true) {
                        out(PlacedRow::Span { lane, row: open.until(now_ns), is_open: true });
                    }
                }
            }
        });
        ended.iter().for_each(|(end, row)| out(PlacedRow::Span { lane: end.lane, row: *row, is_open: false }));
        for &(open, lane) in self.reserved.values() {
            out(PlacedRow::Span { lane, row: open.until(now_ns), is_open: true });
        }
    }

    /// Settles all rows that start before `to_ns`. Passes the rows that have ended by then to `out`, in order within a
    /// lane; the others keep their lanes. Later rows that start before `to_ns` are rejected.
    pub(super) fn settle(&mut self, to_ns: i64, open: &mut Vec<OpenRow>, out: &mut dyn FnMut(PlacedRow)) {
        self.sort();
        self.take_reserved(open);
        open.extend(&self.endless);
        self.endless.retain(|open| open.start_ns >= to_ns);
        let count = self.rows.partition_point(|row| row.start_ns < to_ns);
        open.retain(|open| open.start_ns < to_ns);
        let rows: Vec<WindowRow> = self.rows.drain(..count).collect();
        let Self { lanes, ended, reserved, .. } = self;
        let mut placer = Placer::new(lanes, ended);
        each_in_order(&rows, open, |next| {
            placer.reach(&next, out);
            match next {
                Next::Row(row, _) => placer.place(row, out),
                Next::Open(open) => {
                    if let Some(lane) = placer.lanes.place_begin((), true) {
                        reserved.insert(open.key(), (open, lane));
                    }
                }
            }
        });
        // Points at this time that are still to come may be inside of spans that end at it.
        placer.release(|end| end.end_ns < to_ns, out);
        self.settled_to_ns = self.settled_to_ns.max(Some(to_ns));
    }

    /// Removes spans from `open` whose lanes are settled.
    fn take_reserved(&self, open: &mut Vec<OpenRow>) {
        let Some(settled_ns) = self.settled_to_ns else { return };
        open.retain(|open| open.start_ns >= settled_ns);
    }

    fn sort(&mut self) {
        if !self.is_sorted {
            // The rows are nearly sorted, which a stable sort handles fast.
            self.rows.sort_by_key(|row| (row.start_ns, row.order.begin));
            self.is_sorted = true;
        }
    }
}

impl SpanEnd {
    fn new(row: &WindowRow, end_ns: i64, lane: u16) -> Self {
        Self { end_ns, is_empty: end_ns == row.start_ns, position: row.order.end, lane }
    }
}

impl Next {
    fn start_ns(&self) -> i64 {
        match self {
            Self::Row(row, _) => row.start_ns,
            Self::Open(open) => open.start_ns,
        }
    }

    /// Returns the position where it is sorted among the events of its track.
    fn position(&self) -> u64 {
        match self {
            Self::Row(_, position) => *position,
            Self::Open(open) => open.order.begin,
        }
    }

    fn is_span(&self) -> bool {
        match self {
            Self::Row(row, _) => row.end_ns().is_some(),
            Self::Open(_) => true,
        }
    }
}

/// Calls `each` for all rows, sorted by start, in the order of the final sort. Rows of equal time keep the order of the
/// trace, except that spans which nest by their times are sorted among their positions, longest first. Spans that still
/// grow count as the longest.
fn each_in_order(rows: &[WindowRow], open: &mut [OpenRow], mut each: impl FnMut(Next)) {
    open.sort_by_key(|open| (open.start_ns, open.order.end.is_some(), open.order.begin));
    let mut open = open.iter().peekable();
    let mut by_length: Vec<WindowRow> = Vec::new();
    for tied in rows.chunk_by(|a, b| a.start_ns == b.start_ns) {
        by_length.extend(tied.iter().filter(|row| row.nests_by_times()));
        by_length.sort_by_key(|row| row.end_ns().map(Reverse));
        let mut longest = by_length.drain(..);
        for row in tied {
            let (start_ns, position) = (row.start_ns, row.order.begin);
            let is_before = |open: &OpenRow| {
                open.start_ns < start_ns
                    || open.start_ns == start_ns && (open.order.end.is_none() || open.order.begin < position)
            };
            while let Some(open) = open.next_if(|open| is_before(open)) {
                each(Next::Open(*open));
            }
            let longest = if row.nests_by_times() { longest.next() } else { None };
            each(Next::Row(longest.unwrap_or(*row), position));
        }
    }
    open.for_each(|open| each(Next::Open(*open)));
}

impl<'a> Placer<'a> {
    fn new(lanes: &'a mut OpenLanes<()>, ended: &'a mut BTreeMap<SpanEnd, WindowRow>) -> Self {
        Self { lanes, ended, begun_ns: None }
    }

    /// Removes the spans from their lanes that end before `next`. Ends of earlier spans come before the spans of their
    /// time, but not before points of the trace ahead of these.
    fn reach(&mut self, next: &Next, out: &mut dyn FnMut(PlacedRow)) {
        let (start_ns, position) = (next.start_ns(), Some(next.position()));
        let has_begun = next.is_span() || self.begun_ns == Some(start_ns);
        let is_before = |end: &SpanEnd| end.position < position || has_begun && !end.is_empty;
        self.release(|end| end.end_ns < start_ns || end.end_ns == start_ns && is_before(end), out);
        self.lanes.close_ended(start_ns);
        if next.is_span() {
            self.begun_ns = Some(start_ns);
        }
    }

    /// Removes the first spans with such ends from their lanes, and passes them to `out`.
    fn release(&mut self, has_ended: impl Fn(&SpanEnd) -> bool, out: &mut dyn FnMut(PlacedRow)) {
        while let Some(first) = self.ended.first_entry().filter(|first| has_ended(first.key())) {
            let (SpanEnd { lane, .. }, row) = first.remove_entry();
            self.lanes.take_begin(lane);
            out(PlacedRow::Span { lane, row, is_open: false });
        }
    }

    /// Places one row. A span of a begin and an end is passed to `out` when it ends. A span beyond the last lane is
    /// left out, as by the final sort.
    fn place(&mut self, row: WindowRow, out: &mut dyn FnMut(PlacedRow)) {
        match row.value {
            WindowValue::Instant => out(PlacedRow::Instant { depth: self.lanes.depth_below(), row }),
            WindowValue::Flow { id, .. } => out(PlacedRow::Flow { id, around: self.lanes.deepest_lane(), row }),
            WindowValue::Span { end_ns } if row.nests_by_times() => {
                if let Some(placed) = self.lanes.place_complete(end_ns) {
                    out(PlacedRow::Span { lane: placed.lane, row, is_open: false });
                }
            }
            WindowValue::Span { end_ns } => {
                if let Some(lane) = self.lanes.place_begin((), true) {
                    self.ended.insert(SpanEnd::new(&row, end_ns, lane), row);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
