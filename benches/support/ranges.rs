//! The queried trace, random scopes of it, and quantiles of query times.

use std::error::Error;
use std::path::PathBuf;
use std::time::Instant;

use longspan::facade::base::cancel::Cancel;
use longspan::facade::base::progress::Progress;
use longspan::facade::ingest::{CachePolicy, LoadOptions, open};
use longspan::facade::model::TrackIdx;
use longspan::facade::query::Snapshot;
use longspan::facade::query::scope::Scope;
use longspan::facade::synth::{Synth, SynthOptions, write};
use tempfile::TempDir;

const SPANS: u64 = 10_000_000;
const THREADS: u32 = 64;

/// A trace given on the command line, or a generated one.
pub(crate) struct Trace {
    pub(crate) snapshot: Snapshot,
    pub(crate) tracks: Vec<TrackIdx>,
    /// Number of scopes to query, if given.
    pub(crate) scopes: Option<usize>,
    _folder: TempDir,
}

impl Trace {
    /// Loads the trace of `[SPANS | FILE] [SCOPES]`. The store of a file is cached in `LONGSPAN_BENCH_CACHE`, or in the
    /// user's cache folder.
    pub(crate) fn from_words() -> Result<Self, Box<dyn Error>> {
        let words: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with("--")).collect();
        let numbers: Vec<u64> = words.iter().filter_map(|word| word.parse().ok()).collect();
        let file = words.iter().map(PathBuf::from).find(|path| path.is_file());
        let folder = tempfile::tempdir()?;
        let named = std::env::var_os("LONGSPAN_BENCH_CACHE").map(|path| CachePolicy::Folder(path.into()));
        let (path, cache) = if let Some(path) = &file {
            (path.clone(), named.unwrap_or_else(|| LoadOptions::default().cache))
        } else {
            let path = folder.path().join("made.longspan");
            let spans = numbers.first().copied().unwrap_or(SPANS);
            let synth = Synth::new(SynthOptions { spans, threads: THREADS, ..SynthOptions::default() });
            write::write_native(&synth, std::fs::File::create(&path)?)?;
            (path, CachePolicy::Folder(folder.path().join("cache")))
        };
        let scopes = numbers.last().copied().filter(|_| file.is_some() || numbers.len() > 1);
        let started = Instant::now();
        let options = LoadOptions { cache, ..LoadOptions::default() };
        let loaded = open(&*path, &options, &Cancel::default(), &Progress::default())?;
        let snapshot = Snapshot::new(loaded.store);
        // Read and verify all pages before the measurement.
        if snapshot.store().damaged_in_all() > 0 {
            return Err("the cached store is damaged".into());
        }
        let spans = snapshot.summary().spans;
        println!(
            "{spans} spans, {:.3} bytes each in the store, opened in {:.1} s, cached: {}",
            snapshot.store().file_bytes() as f64 / spans.max(1) as f64,
            started.elapsed().as_secs_f64(),
            loaded.report.cached,
        );
        let mut tracks: Vec<TrackIdx> = snapshot.event_lanes().map(|lane| snapshot.lane(lane).track).collect();
        tracks.dedup();
        let scopes = scopes.and_then(|scopes| usize::try_from(scopes).ok());
        Ok(Self { snapshot, tracks, scopes, _folder: folder })
    }

    /// Returns random ranges of `some` tracks; 0 for all tracks. Lengths are uniform over six orders of magnitude.
    pub(crate) fn scopes(&self, some: usize, count: usize, random: &mut Random) -> Vec<Scope> {
        let (start_ns, end_ns) = (self.snapshot.start_ns(), self.snapshot.end_ns());
        let all_ns = end_ns.abs_diff(start_ns);
        let scope = |_| {
            let width_ns = (all_ns as f64 * 10f64.powf(-6.0 * random.unit())) as u64;
            let offset_ns = (all_ns - width_ns).min((all_ns as f64 * random.unit()) as u64);
            let from_ns = start_ns.saturating_add_unsigned(offset_ns);
            let scope = Scope::from_range(Some(from_ns), Some(from_ns.saturating_add_unsigned(width_ns)));
            let mut any_track = || self.tracks[(random.unit() * self.tracks.len() as f64) as usize];
            match some {
                0 => scope,
                some => scope.with_tracks(&(0..some).map(|_| any_track()).collect::<Vec<_>>()),
            }
        };
        (0..count).map(scope).collect()
    }
}

/// Returns the result of `work`, and its duration in milliseconds.
pub(crate) fn timed<T>(work: impl FnOnce() -> T) -> (f64, T) {
    let started = Instant::now();
    let result = work();
    (started.elapsed().as_secs_f64() * 1e3, result)
}

pub(crate) fn sorted(mut values: Vec<f64>) -> Vec<f64> {
    values.sort_by(f64::total_cmp);
    values
}

/// Returns the quantile of a sorted list.
pub(crate) fn at(sorted: &[f64], part: f64) -> f64 {
    let rank = (sorted.len() as f64 * part).ceil() as usize;
    sorted.get(rank.clamp(1, sorted.len().max(1)) - 1).copied().unwrap_or(0.0)
}

/// Pseudo-random numbers, the same everywhere.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    /// Returns a number in 0..1.
    pub(crate) fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }
}
