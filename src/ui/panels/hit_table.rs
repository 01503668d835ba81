//! Exports the rows of a search or of a list. They are streamed, so a billion take no more memory than ten.

use std::sync::Arc;

use crate::base::cancel::Cancel;
use crate::base::progress::Progress;
use crate::export::SinkError;
use crate::export::csv::span_row;
use crate::export::values::{TableSource, TableValue, TableValueWriter};
use crate::model::Id;
use crate::query::Snapshot;
use crate::query::search::{Hit, Hits};
use crate::store::LaneKind;
use crate::store::live_lanes::LaneMoves;

/// The columns of `longspan spans`, and the kind of the row, which lists of spans alone leave out.
const COLUMNS: [&str; 11] =
    ["ts", "dur", "depth", "name", "category", "pid", "tid", "process", "thread", "track", "kind"];

/// The duration of a span without an end, as `longspan spans` writes it.
const UNFINISHED_DUR: i128 = -1;

/// Rows between two checks for cancellation.
const ROWS_BETWEEN_CHECKS: u64 = 4096;

/// The rows to write, and their trace.
pub(super) struct HitExport {
    snapshot: Snapshot,
    rows: HitTableRows,
    /// Whether the rows may be of several kinds.
    has_kinds: bool,
}

/// The source of the rows.
pub(super) enum HitTableRows {
    /// Hits of a search, in time order.
    Hits(Hits),
    List(Arc<Vec<Hit>>),
}

impl HitExport {
    /// Creates an export. Hits of an earlier snapshot of a live trace are written with the tracks of that snapshot.
    pub(super) fn new(snapshot: &Snapshot, rows: HitTableRows, has_kinds: bool) -> Self {
        let earlier = match &rows {
            HitTableRows::Hits(hits) if snapshot.lane_moves_since(hits.snapshot()) != Some(LaneMoves::None) => {
                Some(hits.snapshot())
            }
            HitTableRows::Hits(_) | HitTableRows::List(_) => None,
        };
        Self { snapshot: earlier.unwrap_or(snapshot).clone(), rows, has_kinds }
    }

    fn column_count(&self) -> usize {
        if self.has_kinds { COLUMNS.len() } else { COLUMNS.len() - 1 }
    }

    fn write_all(
        &self,
        hits: impl Iterator<Item = Hit>,
        table: &mut TableValueWriter<'_>,
        cancel: &Cancel,
        progress: &Progress,
    ) -> Result<(), SinkError> {
        for (number, hit) in (0u64..).zip(hits) {
            if number % ROWS_BETWEEN_CHECKS == 0 {
                cancel.check()?;
                progress.advance(if number == 0 { 0 } else { ROWS_BETWEEN_CHECKS });
            }
            table.row(&values(&self.snapshot, &hit)[..self.column_count()])?;
        }
        Ok(())
    }
}

impl TableSource for HitExport {
    fn columns(&self) -> Vec<&'static str> {
        COLUMNS[..self.column_count()].to_vec()
    }

    fn rows(&self) -> u64 {
        match &self.rows {
            HitTableRows::Hits(hits) => hits.total(),
            HitTableRows::List(hits) => hits.len() as u64,
        }
    }

    fn write(&self, table: &mut TableValueWriter<'_>, cancel: &Cancel, progress: &Progress) -> Result<(), SinkError> {
        match &self.rows {
            HitTableRows::Hits(hits) => self.write_all(hits.from(i64::MIN), table, cancel, progress),
            HitTableRows::List(hits) => self.write_all(hits.iter().copied(), table, cancel, progress),
        }
    }
}

fn values<'s>(snapshot: &'s Snapshot, hit: &Hit) -> [TableValue<'s>; COLUMNS.len()] {
    let lane = snapshot.lane(hit.row.lane);
    let is_unfinished = snapshot.store().lane(hit.row.lane).is_unfinished(hit.row.row);
    let (kind, has_end) = match lane.kind {
        LaneKind::Spans => ("span", !is_unfinished),
        LaneKind::Instants => ("instant", false),
        LaneKind::Samples => ("sample", false),
        LaneKind::Counter => ("counter", false),
        LaneKind::Flows => ("flow", false),
    };
    let row = span_row(snapshot, lane.track, lane.depth, (hit.start_ns, has_end.then_some(hit.dur_ns)), hit.name);
    let dur_ns = if is_unfinished { Some(UNFINISHED_DUR) } else { row.dur_ns.map(i128::from) };
    let text = |text: &'s str| if text.is_empty() { TableValue::Empty } else { TableValue::Text(text.into()) };
    let id = |id: &'s Id| match id {
        Id::None => TableValue::Empty,
        Id::Number(number) => TableValue::Whole((*number).into()),
        Id::Text(text) => TableValue::Text((&**text).into()),
    };
    [
        TableValue::Whole(row.ts_ns.into()),
        dur_ns.map_or(TableValue::Empty, TableValue::Whole),
        TableValue::Whole(row.depth.into()),
        TableValue::Text(row.name.into()),
        row.category.map_or(TableValue::Empty, text),
        id(row.pid),
        id(row.tid),
        text(row.process),
        text(row.thread),
        text(row.track),
        TableValue::Text(kind.into()),
    ]
}
