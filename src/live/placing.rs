//! Assigns lanes to the spans of one track while they arrive. Spans that are written at their ends come after their
//! children, so the latest ones stay in a window. Each snapshot places them again in order of start. Rows before the
//! window are settled, and keep their lanes. A span that comes later than that is rejected, and the caller gives it a
//! separate lane. Independent of store, names and clock.
//!
//! Within the window, the result equals the placement of all spans by the final sort.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use smallvec::SmallVec;

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
}

/// An open span.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct OpenRow {
    pub(super) start_ns: i64,
    /// The position of its begin among the events of its track.
    pub(super) begin: u64,
    pub(super) name: u32,
    /// Its arguments, once it is known to have no end.
    pub(super) detail: u64,
}

impl OpenRow {
    fn key(&self) -> (i64, u64) {
        (self.start_ns, self.begin)
    }

    /// Returns the span as a row that ends now.
    fn until(&self, now_ns: i64) -> WindowRow {
        let &Self { start_ns, begin, name, detail } = self;
        let value = WindowValue::Span { end_ns: now_ns.max(start_ns) };
        WindowRow { start_ns, order: RowOrder { begin, end: None }, value, name, detail }
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
    /// Ended spans, by end and lane, until the rows before their end are placed.
    ended: BTreeMap<(i64, u16), WindowRow>,
    rows: Vec<WindowRow>,
    is_sorted: bool,
    /// All rows that start earlier are settled.
    settled_to_ns: Option<i64>,
}

/// The next item in time order.
enum Next {
    Row(WindowRow),
    Open(OpenRow),
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
        self.ended.insert((end_ns, lane), row);
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
        let (mut lanes, mut empty) = (self.lanes.clone(), EmptySpans::default());
        self.take_reserved(open);
        open.extend(&self.endless);
        let mut ended = self.ended.iter().peekable();
        each_in_order(&self.rows, open, |next| {
            let start_ns = next.start_ns();
            while let Some(((_, lane), row)) = ended.next_if(|((end_ns, _), _)| *end_ns <= start_ns) {
                lanes.take_begin(*lane);
                out(PlacedRow::Span { lane: *lane, row: *row, is_open: false });
            }
            place_next((&mut lanes, &mut empty), &next, now_ns, out);
        });
        ended.for_each(|((_, lane), row)| out(PlacedRow::Span { lane: *lane, row: *row, is_open: false }));
        for &(open, lane) in self.reserved.values() {
            out(PlacedRow::Span { lane, row: open.until(now_ns), is_open: true });
        }
    }

    /// Settles all rows that start before `to_ns`, and passes those that have ended by then to `out`, in order within a
    /// lane. The others keep their lanes. Later rows that start before `to_ns` are rejected.
    pub(super) fn settle(&mut self, to_ns: i64, open: &mut Vec<OpenRow>, out: &mut dyn FnMut(PlacedRow)) {
        self.sort();
        self.take_reserved(open);
        open.extend(&self.endless);
        self.endless.retain(|open| open.start_ns >= to_ns);
        let count = self.rows.partition_point(|row| row.start_ns < to_ns);
        open.retain(|open| open.start_ns < to_ns);
        let rows: Vec<WindowRow> = self.rows.drain(..count).collect();
        let Self { lanes, ended, reserved, .. } = self;
        let mut empty = EmptySpans::default();
        let mut release = |lanes: &mut OpenLanes<()>, ts_ns: i64, out: &mut dyn FnMut(PlacedRow)| {
            while let Some(first) = ended.first_entry().filter(|first| first.key().0 <= ts_ns) {
                let ((_, lane), row) = first.remove_entry();
                lanes.take_begin(lane);
                out(PlacedRow::Span { lane, row, is_open: false });
            }
        };
        each_in_order(&rows, open, |next| {
            release(lanes, next.start_ns(), out);
            match next {
                Next::Open(open) => {
                    lanes.close_ended(open.start_ns);
                    if let Some(lane) = lanes.place_begin((), true) {
                        reserved.insert(open.key(), (open, lane));
                    }
                }
                Next::Row(_) => place_next((lanes, &mut empty), &next, to_ns, out),
            }
        });
        release(lanes, to_ns, out);
        self.settled_to_ns = self.settled_to_ns.max(Some(to_ns));
    }

    /// Removes spans from `open` whose lanes are settled.
    fn take_reserved(&self, open: &mut Vec<OpenRow>) {
        let Some(settled_ns) = self.settled_to_ns else { return };
        open.retain(|open| open.start_ns >= settled_ns);
    }

    fn sort(&mut self) {
        if !self.is_sorted {
            sort(&mut self.rows);
            self.is_sorted = true;
        }
    }
}

/// Sorts rows by time, as the final sort does. Those of one time keep the order of their begins, points are last, and
/// longer spans precede shorter ones in the positions of the spans that nest by their times.
fn sort(rows: &mut [WindowRow]) {
    // The rows are nearly sorted, which a stable sort handles fast.
    rows.sort_by_key(|row| (row.start_ns, row.end_ns().is_none(), row.order.begin));
    let mut by_times: Vec<(usize, WindowRow)> = Vec::new();
    for tied in rows.chunk_by_mut(|a, b| a.start_ns == b.start_ns) {
        if tied.len() < 2 {
            continue;
        }
        let nests_by_times = |row: &WindowRow| row.order.end.is_none() && row.end_ns().is_some();
        by_times.extend(tied.iter().enumerate().filter(|(_, row)| nests_by_times(row)).map(|(at, row)| (at, *row)));
        let positions: SmallVec<[usize; 4]> = by_times.iter().map(|(at, _)| *at).collect();
        by_times.sort_by_key(|(_, row)| row.end_ns().map(Reverse));
        positions.into_iter().zip(by_times.drain(..)).for_each(|(at, (_, row))| tied[at] = row);
    }
}

/// Begins and ends of one time that nest: spans without a duration, which occupy no lane.
#[derive(Debug, Default)]
struct EmptySpans {
    start_ns: i64,
    /// The positions of their ends, outermost first.
    ends: SmallVec<[u64; 4]>,
}

impl EmptySpans {
    /// Returns the number of empty spans around a row. Adds the row if it is an empty span itself.
    fn around(&mut self, row: &WindowRow) -> u16 {
        let Some(end) = row.order.end.filter(|_| row.end_ns() == Some(row.start_ns)) else { return 0 };
        if self.start_ns != row.start_ns {
            (self.start_ns, self.ends) = (row.start_ns, SmallVec::new());
        }
        while self.ends.last().is_some_and(|&around| around < row.order.begin) {
            self.ends.pop();
        }
        let count = u16::try_from(self.ends.len()).unwrap_or(u16::MAX);
        self.ends.push(end);
        count
    }
}

impl Next {
    fn start_ns(&self) -> i64 {
        match self {
            Self::Row(row) => row.start_ns,
            Self::Open(open) => open.start_ns,
        }
    }
}

/// Calls `each` for all rows in time order. Open spans contain those that start with them.
fn each_in_order(rows: &[WindowRow], open: &mut [OpenRow], mut each: impl FnMut(Next)) {
    open.sort_by_key(OpenRow::key);
    let mut open = open.iter().peekable();
    for row in rows {
        // Only a span of a begin and an end may have ended before another begins at the same time.
        let is_before = |open: &OpenRow| {
            open.start_ns < row.start_ns
                || open.start_ns == row.start_ns && (row.order.end.is_none() || open.begin < row.order.begin)
        };
        while let Some(open) = open.next_if(|open| is_before(open)) {
            each(Next::Open(*open));
        }
        each(Next::Row(*row));
    }
    open.for_each(|open| each(Next::Open(*open)));
}

/// Places one row. A span beyond the last lane is left out, as by the final sort.
fn place_next(
    (lanes, empty): (&mut OpenLanes<()>, &mut EmptySpans),
    next: &Next,
    now_ns: i64,
    out: &mut dyn FnMut(PlacedRow),
) {
    lanes.close_ended(next.start_ns());
    match *next {
        Next::Row(row) => match row.value {
            WindowValue::Instant => out(PlacedRow::Instant { depth: lanes.count() as u64, row }),
            WindowValue::Flow { id, .. } => {
                let around = lanes.count().checked_sub(1).map(|depth| depth as u16);
                out(PlacedRow::Flow { id, around, row });
            }
            WindowValue::Span { end_ns } => {
                let around = empty.around(&row);
                let lane = lanes.place_complete(end_ns).and_then(|placed| placed.lane.checked_add(around));
                if let Some(lane) = lane {
                    out(PlacedRow::Span { lane, row, is_open: false });
                }
            }
        },
        Next::Open(open) => {
            if let Some(lane) = lanes.place_begin((), true) {
                out(PlacedRow::Span { lane, row: open.until(now_ns), is_open: true });
            }
        }
    }
}

#[cfg(test)]
mod tests;
