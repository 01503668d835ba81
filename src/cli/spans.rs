//! `longspan spans`: the spans of a capture as rows, sorted by time, then depth. Holds one block of
//! each lane at a time.

use super::args::{Load, Spans};
use super::error::CliError;
use super::load::{load, starting_over};
use super::stdout::rows_to_stdout;
use crate::base::cancel::Cancel;
use crate::base::progress::Progress;
use crate::export::csv::span_row;
use crate::export::table::TableWriter;
use crate::query::Snapshot;
use crate::query::search::{Hit, search};

/// The most spans of one time that are put in order of depth: those of a capture in which all times are
/// equal are more than fit.
const TIED_MAX: usize = 64 * 1024;

/// Prints the spans that `spans` asks for.
pub(super) fn print(spans: &Spans, how: &Load) -> Result<(), CliError> {
    starting_over(&spans.sources, how, |how| print_once(spans, how))
}

fn print_once(spans: &Spans, how: &Load) -> Result<(), CliError> {
    let snapshot = Snapshot::new(load(&spans.sources, how)?.store);
    let scope = spans.scope.on(&snapshot)?.spans();
    let Ok(hits) = search(&snapshot, &scope, &Cancel::default(), &Progress::default()) else { return Ok(()) };
    rows_to_stdout(snapshot.store(), |out| {
        let mut table = TableWriter::begin(out, spans.format)?;
        let mut left = spans.limit;
        let mut hits = hits.from(i64::MIN).peekable();
        let mut tied: Vec<Hit> = Vec::new();
        while left > 0 {
            // Hits come by lane where they start at one time.
            tied.clear();
            tied.extend(hits.next());
            let Some(&first) = tied.first() else { break };
            while tied.len() < TIED_MAX
                && let Some(hit) = hits.next_if(|hit| hit.start_ns == first.start_ns)
            {
                tied.push(hit);
            }
            tied.sort_by_key(|hit| (snapshot.lane(hit.row.lane).depth, hit.row));
            for hit in tied.iter().take(usize::try_from(left).unwrap_or(usize::MAX)) {
                let lane = snapshot.lane(hit.row.lane);
                let unfinished = snapshot.store().lane(hit.row.lane).is_unfinished(hit.row.row);
                let times = (hit.start_ns, (!unfinished).then_some(hit.dur_ns));
                table.row(&span_row(&snapshot, lane.track, lane.depth, times, hit.name))?;
            }
            left = left.saturating_sub(tied.len() as u64);
        }
        Ok(())
    })
}
