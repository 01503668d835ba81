//! Totals of random ranges, in milliseconds: of all tracks, of one, of ten, and of half of them, with and without
//! quantiles; beside a sweep of the rows of the same ranges in the same run. No range is asked twice.
//!
//! `cargo bench --no-default-features --bench totals -- [SPANS | FILE] [RANGES]`: without a file, spans are generated.

use std::error::Error;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use longspan::facade::base::cancel::Cancel;
use longspan::facade::base::progress::Progress;
use longspan::facade::ingest::{CachePolicy, LoadOptions, open};
use longspan::facade::model::TrackIdx;
use longspan::facade::query::Snapshot;
use longspan::facade::query::filter::Filter;
use longspan::facade::query::matcher::Matcher;
use longspan::facade::query::scope::Scope;
use longspan::facade::query::totals::{GrowingTotals, TotalsWork, add_up, sum_up};
use longspan::facade::synth::{Synth, SynthOptions, write};

const SPANS: u64 = 10_000_000;
const THREADS: u32 = 64;
const RANGES: usize = 200;
/// A sweep takes a hundred times as long.
const SWEPT_RANGES: usize = 9;

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with("--")).collect();
    let numbers: Vec<u64> = words.iter().filter_map(|word| word.parse().ok()).collect();
    let file = words.iter().map(PathBuf::from).find(|path| path.is_file());
    let folder = tempfile::tempdir()?;
    let (path, cache) = if let Some(path) = &file {
        (path.clone(), LoadOptions::default().cache)
    } else {
        let path = folder.path().join("made.longspan");
        let spans = numbers.first().copied().unwrap_or(SPANS);
        let synth = Synth::new(SynthOptions { spans, threads: THREADS, ..SynthOptions::default() });
        write::write_native(&synth, std::fs::File::create(&path)?)?;
        (path, CachePolicy::Folder(folder.path().join("cache")))
    };
    let count = numbers.last().copied().filter(|_| file.is_some() || numbers.len() > 1);
    let count = count.and_then(|count| usize::try_from(count).ok()).unwrap_or(RANGES);
    let started = Instant::now();
    let options = LoadOptions { cache, ..LoadOptions::default() };
    let loaded = open(&*path, &options, &Cancel::default(), &Progress::default())?;
    let snapshot = Snapshot::new(loaded.store);
    let (start_ns, end_ns) = (snapshot.start_ns(), snapshot.end_ns());
    let spans = snapshot.summary().spans;
    println!(
        "{spans} spans, {:.3} bytes each in the store, opened in {:.1} s, cached: {}",
        snapshot.store().file_bytes() as f64 / spans.max(1) as f64,
        started.elapsed().as_secs_f64(),
        loaded.report.cached,
    );
    let mut tracks: Vec<TrackIdx> = snapshot.capture_lanes().map(|lane| snapshot.lane(lane).track).collect();
    tracks.dedup();
    let mut random = Random(1);
    println!(
        "{:<16}{:>12}{:>10}{:>10}{:>14}{:>10}{:>10}{:>14}{:>14}",
        "tracks", "sums p50", "p99", "max", "quantiles p50", "nodes", "sweeps", "sweep p50", "sweep max"
    );
    for (title, some) in [("all", 0), ("1", 1), ("10", 10), ("half", tracks.len() / 2)] {
        let mut ranges = Vec::new();
        for _ in 0..count {
            // Lengths are spread evenly over six orders of magnitude.
            let part = 10f64.powf(-6.0 * random.unit());
            let width_ns = (end_ns.abs_diff(start_ns) as f64 * part) as u64;
            let from_ns = start_ns.saturating_add_unsigned(
                (end_ns.abs_diff(start_ns) - width_ns).min((end_ns.abs_diff(start_ns) as f64 * random.unit()) as u64),
            );
            let scope = Scope::from_range(Some(from_ns), Some(from_ns.saturating_add_unsigned(width_ns)));
            let any_track = |_| tracks[(random.unit() * tracks.len() as f64) as usize];
            ranges.push(if some > 0 {
                scope.with_tracks(&(0..some).map(any_track).collect::<Vec<_>>())
            } else {
                scope
            });
        }
        // Asks for durations, so no ledger has the answer.
        let swept: Arc<Matcher> = Matcher::new(&snapshot, &Filter::parse("dur>=1ns")?).into();
        let mut works = Vec::new();
        let sums: Vec<f64> = ranges
            .iter()
            .map(|scope| {
                let (ms, work) =
                    timed(|growing| sum_up(&snapshot, scope, growing, &Cancel::default(), &Progress::default()));
                works.push(work);
                ms
            })
            .collect();
        let few = || ranges.iter().step_by(ranges.len().div_ceil(SWEPT_RANGES));
        let quantiles = few().map(|scope| {
            timed(|growing| add_up(&snapshot, scope, growing, &Cancel::default(), &Progress::default())).0
        });
        let sweeps = few().map(|scope| {
            timed(|growing| {
                sum_up(
                    &snapshot,
                    &scope.clone().matching(Arc::clone(&swept)),
                    growing,
                    &Cancel::default(),
                    &Progress::default(),
                )
            })
            .0
        });
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

fn timed<E>(work: impl FnOnce(&GrowingTotals) -> Result<TotalsWork, E>) -> (f64, TotalsWork) {
    let growing = GrowingTotals::default();
    let started = Instant::now();
    let work = work(&growing).unwrap_or_default();
    (started.elapsed().as_secs_f64() * 1e3, work)
}

fn sorted(mut values: Vec<f64>) -> Vec<f64> {
    values.sort_by(f64::total_cmp);
    values
}

/// The value that a part of all does not exceed.
fn at(sorted: &[f64], part: f64) -> f64 {
    let rank = (sorted.len() as f64 * part).ceil() as usize;
    sorted.get(rank.clamp(1, sorted.len().max(1)) - 1).copied().unwrap_or(0.0)
}

/// A random sequence that is the same everywhere.
struct Random(u64);

impl Random {
    /// From 0 to below 1.
    fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }
}
