//! Assigns lanes to the spans of one track while they arrive. Spans that are written at their ends come after their
//! children, so the latest ones stay in a window. Each picture places them again in order of start. Rows before the
//! window are settled, and keep their lanes. A span that comes later than that is rejected, and the caller gives it a
//! separate lane. Independent of store, names and clock.
//!
//! Within the window, the result equals the placement of all spans by the final sort.

use std::collections::BTreeMap;

use smallvec::SmallVec;

use crate::ingest::lanes::OpenLanes;

/// A span, an instant or a flow point that has arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct WindowRow {
    pub(super) start_ns: i64,
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct OpenRow {
    pub(super) start_ns: i64,
    pub(super) name: u32,
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
    /// The lanes of settled open spans, by start and name.
    reserved: BTreeMap<OpenRow, SmallVec<[u16; 1]>>,
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

    /// Returns whether a settled span is open, so that it grows.
    pub(super) fn has_reserved(&self) -> bool {
        !self.reserved.is_empty()
    }

    /// Adds a row. Returns it if it starts before the settled time.
    pub(super) fn add(&mut self, row: WindowRow) -> Result<(), WindowRow> {
        if self.settled_to_ns.is_none_or(|settled_ns| row.start_ns >= settled_ns) {
            self.is_sorted &= self.rows.last().is_none_or(|last| order(last) <= order(&row));
            self.rows.push(row);
            return Ok(());
        }
        let Some(end_ns) = row.end_ns() else { return Err(row) };
        let key = OpenRow { start_ns: row.start_ns, name: row.name };
        let Some(lanes) = self.reserved.get_mut(&key) else { return Err(row) };
        let Some(lane) = lanes.pop() else { return Err(row) };
        if lanes.is_empty() {
            self.reserved.remove(&key);
        }
        self.ended.insert((end_ns, lane), row);
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
        let mut lanes = self.lanes.clone();
        self.take_reserved(open);
        let mut ended = self.ended.iter().peekable();
        each_in_order(&self.rows, open, |next| {
            let start_ns = next.start_ns();
            while let Some(((_, lane), row)) = ended.next_if(|((end_ns, _), _)| *end_ns <= start_ns) {
                lanes.take_begin(*lane);
                out(PlacedRow::Span { lane: *lane, row: *row, is_open: false });
            }
            place_next(&mut lanes, &next, now_ns, out);
        });
        ended.for_each(|((_, lane), row)| out(PlacedRow::Span { lane: *lane, row: *row, is_open: false }));
        for (&OpenRow { start_ns, name }, lanes) in &self.reserved {
            let row = open_row(start_ns, now_ns, name);
            lanes.iter().for_each(|&lane| out(PlacedRow::Span { lane, row, is_open: true }));
        }
    }

    /// Settles all rows that start before `to_ns`, and passes those that have ended by then to `out`, in order within a
    /// lane. The others keep their lanes. Later rows that start before `to_ns` are rejected.
    pub(super) fn settle(&mut self, to_ns: i64, open: &mut Vec<OpenRow>, out: &mut dyn FnMut(PlacedRow)) {
        self.sort();
        self.take_reserved(open);
        let count = self.rows.partition_point(|row| row.start_ns < to_ns);
        open.retain(|open| open.start_ns < to_ns);
        let rows: Vec<WindowRow> = self.rows.drain(..count).collect();
        let Self { lanes, ended, reserved, .. } = self;
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
                        reserved.entry(open).or_default().push(lane);
                    }
                }
                Next::Row(_) => place_next(lanes, &next, to_ns, out),
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
            // The rows are nearly sorted, which a stable sort handles fast.
            self.rows.sort_by_key(order);
            self.is_sorted = true;
        }
    }
}

/// The sort key: time; among spans with the same start the longest first, then points.
fn order(row: &WindowRow) -> (i64, bool, i64) {
    let end_ns = row.end_ns();
    (row.start_ns, end_ns.is_none(), end_ns.map_or(0, i64::saturating_neg))
}

/// Returns an open span, as long as it is so far.
fn open_row(start_ns: i64, now_ns: i64, name: u32) -> WindowRow {
    WindowRow { start_ns, value: WindowValue::Span { end_ns: now_ns.max(start_ns) }, name, detail: 0 }
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
    open.sort_by_key(|open| open.start_ns);
    let mut open = open.iter().peekable();
    for row in rows {
        while let Some(open) = open.next_if(|open| open.start_ns <= row.start_ns) {
            each(Next::Open(*open));
        }
        each(Next::Row(*row));
    }
    open.for_each(|open| each(Next::Open(*open)));
}

/// Places one row. A span beyond the last lane is left out, as by the final sort.
fn place_next(lanes: &mut OpenLanes<()>, next: &Next, now_ns: i64, out: &mut dyn FnMut(PlacedRow)) {
    lanes.close_ended(next.start_ns());
    match *next {
        Next::Row(row) => match row.value {
            WindowValue::Instant => out(PlacedRow::Instant { depth: lanes.count() as u64, row }),
            WindowValue::Flow { id, .. } => {
                let around = lanes.count().checked_sub(1).map(|depth| depth as u16);
                out(PlacedRow::Flow { id, around, row });
            }
            WindowValue::Span { end_ns } => {
                if let Some(placed) = lanes.place_complete(end_ns) {
                    out(PlacedRow::Span { lane: placed.lane, row, is_open: false });
                }
            }
        },
        Next::Open(OpenRow { start_ns, name }) => {
            let row = open_row(start_ns, now_ns, name);
            if let Some(lane) = lanes.place_begin((), true) {
                out(PlacedRow::Span { lane, row, is_open: true });
            }
        }
    }
}

#[cfg(test)]
mod tests;
