//! Call paths of spans in random ranges, in milliseconds: of all tracks, of one, and of ten. A sweep over the rows of
//! some of these ranges in the same run is the comparison. No range is queried twice.
//!
//! `cargo bench --no-default-features --bench paths -- [SPANS | FILE] [RANGES]`: without a file, spans are generated.
//! Their paths rarely repeat, so that no ledger contains them. The paths of `longspan synth --depth 4` do repeat.

use std::error::Error;

use longspan::facade::base::cancel::Cancel;
use longspan::facade::base::progress::Progress;
use longspan::facade::query::stacks::{from_spans, sweep_spans};

use self::ranges::{Random, Trace, at, sorted, timed};

#[path = "support/ranges.rs"]
mod ranges;

const RANGES: usize = 200;
/// A sweep takes a hundred times as long.
const SWEPT_RANGES: usize = 9;

fn main() -> Result<(), Box<dyn Error>> {
    let trace = Trace::from_words()?;
    let snapshot = &trace.snapshot;
    println!(
        "{:<10}{:>12}{:>10}{:>10}{:>10}{:>12}{:>12}{:>12}",
        "tracks", "paths p50", "p99", "max", "nodes", "rows", "sweep p50", "sweep max"
    );
    let (cancel, progress) = (Cancel::default(), Progress::default());
    for (title, some) in [("all", 0), ("1", 1), ("10", 10)] {
        let ranges = trace.scopes(some, trace.scopes.unwrap_or(RANGES), &mut Random(5));
        let (mut paths_ms, mut nodes, mut rows, mut sweep_ms) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let swept = ranges.len().div_ceil(SWEPT_RANGES);
        for (number, scope) in ranges.iter().enumerate() {
            let (took_ms, found) = timed(|| from_spans(snapshot, scope, &cancel, &progress));
            let found = found?;
            paths_ms.push(took_ms);
            nodes.push(found.ledger_nodes() as f64);
            rows.push(found.rows_read() as f64);
            if number % swept == 0 {
                sweep_ms.push(timed(|| sweep_spans(snapshot, scope, &cancel, &progress).is_ok()).0);
            }
        }
        let [paths_ms, nodes, rows, sweep_ms] = [paths_ms, nodes, rows, sweep_ms].map(sorted);
        println!(
            "{title:<10}{:>12.2}{:>10.2}{:>10.2}{:>10}{:>12}{:>12.2}{:>12.2}",
            at(&paths_ms, 0.5),
            at(&paths_ms, 0.99),
            at(&paths_ms, 1.0),
            at(&nodes, 0.5),
            at(&rows, 0.5),
            at(&sweep_ms, 0.5),
            at(&sweep_ms, 1.0),
        );
    }
    Ok(())
}
