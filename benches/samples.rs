//! Samples of random scopes, in milliseconds: call paths, and the table by function; of all tracks, of one, and of ten.
//! Compared with a pass over the samples of some of these scopes in the same run. No scope is queried twice.
//!
//! `cargo bench --no-default-features --bench samples -- FILE [SCOPES]`: a trace with samples.

use std::error::Error;
use std::sync::Arc;

use longspan::facade::base::cancel::Cancel;
use longspan::facade::base::progress::Progress;
use longspan::facade::query::filter::Filter;
use longspan::facade::query::matcher::Matcher;
use longspan::facade::query::sample_table::{SampleBy, SampleTable};
use longspan::facade::query::scope::Scope;
use longspan::facade::query::stacks::from_samples;

use self::ranges::{Random, Trace, at, sorted, timed};

#[path = "support/ranges.rs"]
mod ranges;

const SCOPES: usize = 100;
/// A pass over the samples takes a hundred times as long.
const PASSED_SCOPES: usize = 7;

fn main() -> Result<(), Box<dyn Error>> {
    let trace = Trace::from_words()?;
    let snapshot = &trace.snapshot;
    println!("{} samples", snapshot.summary().samples);
    println!(
        "{:<10}{:>12}{:>10}{:>10}{:>12}{:>10}{:>10}{:>12}{:>12}",
        "tracks", "paths p50", "p99", "max", "table p50", "p99", "nodes", "pass p50", "pass max"
    );
    let every_row: Arc<Matcher> = Matcher::new(snapshot, &Filter::parse("dur>=0ns")?).into();
    let (cancel, progress) = (Cancel::default(), Progress::default());
    for (title, some) in [("all", 0), ("1", 1), ("10", 10)] {
        let scopes = trace.scopes(some, trace.scopes.unwrap_or(SCOPES), &mut Random(3));
        let (mut paths_ms, mut table_ms, mut pass_ms, mut nodes) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let passed = scopes.len().div_ceil(PASSED_SCOPES);
        for (number, scope) in scopes.iter().enumerate() {
            let paths = |scope: &Scope| timed(|| from_samples(snapshot, scope, None, &cancel, &progress));
            let (took_ms, found) = paths(scope);
            let found = Arc::new(found?);
            paths_ms.push(took_ms);
            nodes.push(found.ledger_nodes() as f64);
            let table = || SampleTable::new(snapshot, Arc::clone(&found), SampleBy::Function, &cancel).is_ok();
            table_ms.push(took_ms + timed(table).0);
            if number % passed == 0 {
                pass_ms.push(paths(&scope.clone().matching(Arc::clone(&every_row))).0);
            }
        }
        let [paths_ms, table_ms, pass_ms, nodes] = [paths_ms, table_ms, pass_ms, nodes].map(sorted);
        println!(
            "{title:<10}{:>12.2}{:>10.2}{:>10.2}{:>12.2}{:>10.2}{:>10}{:>12.2}{:>12.2}",
            at(&paths_ms, 0.5),
            at(&paths_ms, 0.99),
            at(&paths_ms, 1.0),
            at(&table_ms, 0.5),
            at(&table_ms, 0.99),
            at(&nodes, 0.5),
            at(&pass_ms, 0.5),
            at(&pass_ms, 1.0),
        );
    }
    Ok(())
}
