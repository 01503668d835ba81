//! Totals of random ranges, in milliseconds: of all tracks, of one, of ten, and of half of them, with and without
//! quantiles. A sweep over the rows of the same ranges in the same run is the comparison. No range is queried twice.
//!
//! `cargo bench --no-default-features --bench totals -- [SPANS | FILE] [RANGES]`: without a file, spans are generated.

use std::error::Error;
use std::sync::Arc;

use longspan::facade::base::cancel::Cancel;
use longspan::facade::base::progress::Progress;
use longspan::facade::query::filter::Filter;
use longspan::facade::query::matcher::Matcher;
use longspan::facade::query::scope::Scope;
use longspan::facade::query::totals::{GrowingTotals, TotalsWork, add_up, sum_up};

use self::ranges::{Random, Trace, at, sorted, timed};

#[path = "support/ranges.rs"]
mod ranges;

const RANGES: usize = 200;
/// A sweep takes a hundred times as long.
const SWEPT_RANGES: usize = 9;

fn main() -> Result<(), Box<dyn Error>> {
    let trace = Trace::from_words()?;
    let snapshot = &trace.snapshot;
    let count = trace.scopes.unwrap_or(RANGES);
    let mut random = Random(1);
    println!(
        "{:<16}{:>12}{:>10}{:>10}{:>14}{:>10}{:>10}{:>14}{:>14}",
        "tracks", "sums p50", "p99", "max", "quantiles p50", "nodes", "sweeps", "sweep p50", "sweep max"
    );
    for (title, some) in [("all", 0), ("1", 1), ("10", 10), ("half", trace.tracks.len() / 2)] {
        let ranges = trace.scopes(some, count, &mut random);
        // A duration filter, which no ledger supports.
        let swept: Arc<Matcher> = Matcher::new(snapshot, &Filter::parse("dur>=1ns")?).into();
        let sum = |scope: &Scope| -> (f64, TotalsWork) {
            let growing = GrowingTotals::default();
            timed(|| sum_up(snapshot, scope, &growing, &Cancel::default(), &Progress::default()).unwrap_or_default())
        };
        let (sums, mut works): (Vec<f64>, Vec<TotalsWork>) = ranges.iter().map(sum).unzip();
        let few = || ranges.iter().step_by(ranges.len().div_ceil(SWEPT_RANGES));
        let quantiles = few().map(|scope| {
            let growing = GrowingTotals::default();
            timed(|| add_up(snapshot, scope, &growing, &Cancel::default(), &Progress::default()).is_ok()).0
        });
        let sweeps = few().map(|scope| sum(&scope.clone().matching(Arc::clone(&swept))).0);
        let (sums, quantiles, sweeps) = (sorted(sums), sorted(quantiles.collect()), sorted(sweeps.collect()));
        works.sort_by_key(|work| work.nodes);
        let work = works[works.len() / 2];
        println!(
            "{title:<16}{:>12.2}{:>10.2}{:>10.2}{:>14.2}{:>10}{:>10}{:>14.2}{:>14.2}",
            at(&sums, 0.5),
            at(&sums, 0.99),
            at(&sums, 1.0),
            at(&quantiles, 0.5),
            work.nodes,
            work.sweeps,
            at(&sweeps, 0.5),
            at(&sweeps, 1.0),
        );
    }
    Ok(())
}
