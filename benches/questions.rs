//! Queries of random scopes, in milliseconds: the 1,000 longest spans, hits of names, and totals by keys other than
//! names. A pass over the rows of some of these scopes in the same run is the comparison. No scope is queried twice.
//!
//! `cargo bench --no-default-features --bench questions -- [SPANS | FILE] [SCOPES]`: without a file, spans are
//! generated.

use std::error::Error;

use longspan::facade::base::cancel::Cancel;
use longspan::facade::base::progress::Progress;
use longspan::facade::model::NameIdx;
use longspan::facade::query::filter::Filter;
use longspan::facade::query::hit_count::count;
use longspan::facade::query::longest::LongestSpans;
use longspan::facade::query::matcher::Matcher;
use longspan::facade::query::scope::Scope;
use longspan::facade::query::search::search as find;
use longspan::facade::query::totals::{GrowingTotals, sum_up};

use self::ranges::{Random, Trace, at, sorted, timed};

#[path = "support/ranges.rs"]
mod ranges;

const SCOPES: usize = 100;
/// A pass over the rows takes at least a hundred times as long.
const PASSED_SCOPES: usize = 7;
const LONGEST: usize = 1000;
const PAGE: usize = 100;

fn main() -> Result<(), Box<dyn Error>> {
    let trace = Trace::from_words()?;
    let snapshot = &trace.snapshot;
    let names = snapshot.names().len();
    let mut random = Random(2);
    println!(
        "{:<28}{:>10}{:>10}{:>10}{:>12}{:>12}{:>14}",
        "question", "p50", "p99", "max", "work p50", "pass p50", "pass max"
    );
    // A duration filter evaluates every row.
    let by_rows = Matcher::new(snapshot, &Filter::parse("dur>=1ns")?);
    let every_row = |scope: &Scope| scope.clone().matching(by_rows.clone());
    let scopes = trace.scopes.unwrap_or(SCOPES);
    let (all, one_track) = (trace.scopes(0, scopes, &mut random), trace.scopes(1, scopes, &mut random));
    // The same names, without the ledger.
    let (mut named, mut named_by_rows) = (Vec::new(), Vec::new());
    for scope in &all {
        let name = NameIdx((random.unit() * names as f64) as u32);
        let text = snapshot.names().get(name).text;
        for (scopes, filter) in
            [(&mut named, format!("\"{text}\"")), (&mut named_by_rows, format!("\"{text}\" dur>=0ns"))]
        {
            scopes.push(scope.clone().matching(Matcher::new(snapshot, &Filter::parse(&filter)?)));
        }
    }

    let longest = |scope: &Scope| {
        timed(|| {
            let mut longest = LongestSpans::new(snapshot, scope);
            longest.page(LONGEST, &Cancel::default()).map(|_| longest.work().parts).unwrap_or_default()
        })
    };
    let search = |scope: &Scope| timed(|| find(snapshot, scope, &Cancel::default(), &Progress::default()).is_ok()).0;
    let pass = |scope: &Scope| search(&every_row(scope));
    row("1,000 longest", &all, longest, pass);
    row("1,000 longest, one track", &one_track, longest, pass);
    row("1,000 longest, one name", &named, longest, search);
    let hits = |scope: &Scope| {
        timed(|| count(snapshot, scope, &Cancel::default(), &Progress::default()).unwrap_or_default().rows)
    };
    row("hits of one name", &named, hits, search);
    // A search with its ticks, and a page in the middle of its hits.
    let listed = |scope: &Scope| {
        timed(|| match find(snapshot, scope, &Cancel::default(), &Progress::default()) {
            Ok(hits) => hits.page(hits.total() / 2, PAGE).len() as u64,
            Err(_) => 0,
        })
    };
    let by_rows = |scope: &Scope| {
        let scopes = named.iter().zip(&named_by_rows);
        let same = scopes.filter(|(named, _)| std::ptr::eq(*named, scope)).map(|(_, by_rows)| by_rows);
        same.map(|scope| listed(scope).0).sum()
    };
    row("a page of these hits", &named, listed, by_rows);
    for keys in ["category", "thread", "process", "name,thread"] {
        let sum = |scope: &Scope| -> (f64, u64) {
            let Ok(by) = keys.parse() else { return (0.0, 0) };
            let growing = GrowingTotals::grouped(by);
            let (cancel, progress) = (Cancel::default(), Progress::default());
            timed(|| sum_up(snapshot, scope, &growing, &cancel, &progress).unwrap_or_default().nodes)
        };
        let pass = |scope: &Scope| sum(&every_row(scope)).0;
        row(&format!("totals by {keys}"), &all, sum, pass);
    }
    Ok(())
}

/// Queries all scopes, and passes over the rows of some.
fn row(title: &str, scopes: &[Scope], ask: impl Fn(&Scope) -> (f64, u64), pass: impl Fn(&Scope) -> f64) {
    let (times, mut works): (Vec<f64>, Vec<u64>) = scopes.iter().map(ask).unzip();
    let few = scopes.iter().step_by(scopes.len().div_ceil(PASSED_SCOPES));
    let (times, passes) = (sorted(times), sorted(few.map(pass).collect()));
    works.sort_unstable();
    println!(
        "{title:<28}{:>10.2}{:>10.2}{:>10.2}{:>12}{:>12.2}{:>14.2}",
        at(&times, 0.5),
        at(&times, 0.99),
        at(&times, 1.0),
        works[works.len() / 2],
        at(&passes, 0.5),
        at(&passes, 1.0),
    );
}
