//! `longspan spans`: the spans of a capture as rows, sorted by time, then depth. Holds one block of each lane at a time.

use std::path::Path;

use super::args::{Load, Spans};
use super::load::load;
use super::{CliError, to_stdout};
use crate::export::csv::span_row;
use crate::export::table::Table;
use crate::model::NameIdx;
use crate::query::Snapshot;
use crate::query::rows::SortedRows;
use crate::store::LaneKind;

/// Prints the spans that `spans` asks for.
pub fn print(spans: &Spans, how: &Load) -> Result<(), CliError> {
    let snapshot = Snapshot::new(load(Path::new(&spans.file), how)?.store);
    let wanted = wanted_names(&snapshot, spans);
    let (from_ns, to_ns) = spans.range.on_clock_of(snapshot.start_ns());
    let span_lanes = snapshot.capture_lanes().filter(|&lane| snapshot.lane(lane).kind == LaneKind::Spans);
    let rows = SortedRows::new(&snapshot, span_lanes, from_ns, to_ns);
    let rows = rows.filter(|row| wanted.as_ref().is_none_or(|wanted| wanted[row.row.name as usize]));
    let limit = usize::try_from(spans.limit).unwrap_or(usize::MAX);
    to_stdout(|out| {
        let mut table = Table::begin(out, spans.format)?;
        for row in rows.take(limit) {
            let lane = snapshot.lane(row.index.lane);
            let dur_ns = (!row.unfinished).then_some(row.row.value);
            let times = (row.row.start_ns, dur_ns);
            table.row(&span_row(&snapshot, lane.track, lane.depth, times, NameIdx(row.row.name)))?;
        }
        Ok(())
    })
}

/// Whether each name is asked for: a capture has many spans of few names, and each name is matched once.
fn wanted_names(snapshot: &Snapshot, spans: &Spans) -> Option<Vec<bool>> {
    let expression = spans.name.as_ref()?;
    let names = snapshot.names();
    let rows = (0..u32::try_from(names.len()).unwrap_or(u32::MAX)).map(NameIdx);
    Some(rows.map(|name| expression.is_match(names.get(name).text)).collect())
}
