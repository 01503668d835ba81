//! Queries over all spans: a search for a name that is in few extents, for one that is in all, and for long spans. Also
//! the pixels of a filtered view, totals by name, the longest spans, call paths. Milliseconds with warm pages, best of
//! three rounds.
//!
//! `cargo bench --no-default-features --bench search -- [SPANS]`

use std::io;
use std::sync::Arc;
use std::time::Instant;

use longspan::facade::base::cancel::Cancel;
use longspan::facade::base::progress::Progress;
use longspan::facade::model::{Id, Names, Registry, TrackKey, TrackKind};
use longspan::facade::query::filter::Filter;
use longspan::facade::query::longest::longest;
use longspan::facade::query::matcher::Matcher;
use longspan::facade::query::scope::Scope;
use longspan::facade::query::search::search;
use longspan::facade::query::totals::{GrowingTotals, add_up};
use longspan::facade::query::{Buckets, Snapshot, filtered, stacks};
use longspan::facade::store::{LaneIdx, LaneKind, Meta, Row, Store, StoreWriter, Summary};

const SPANS: u64 = 4_000_000;
const LANES: u64 = 16;
const NAMES: u64 = 500;
const ROUNDS: usize = 3;
/// A view of 1920 pixels, at the zoom between two powers of two with the most buckets.
const BUCKETS: i64 = 1920;

fn main() -> io::Result<()> {
    let spans = std::env::args().find_map(|word| word.parse().ok()).unwrap_or(SPANS);
    let started = Instant::now();
    let snapshot = snapshot(spans)?;
    let seconds = started.elapsed().as_secs_f64();
    let bytes = snapshot.store().file_bytes() as f64 / spans as f64;
    println!("{spans} spans in {LANES} lanes, {bytes:.2} bytes each, written in {seconds:.1} s");
    println!(
        "{:<20}{:>12}{:>12}{:>12}{:>14}{:>12}{:>16}",
        "filter", "hits", "search", "page", "all pixels", "totals", "longest 100"
    );
    for filter in ["rare", "name_7", "\"name_77\"", "/name_.*1$/", "dur>199us", "dur<10", "-rare"] {
        measure(&snapshot, filter);
    }
    let (scope, cancel, progress) = (Scope::default(), Cancel::default(), Progress::default());
    let paths_ms = best_ms(|| drop(stacks::from_spans(&snapshot, &scope, &cancel, &progress)));
    println!("call paths of all spans: {paths_ms:.2}");
    Ok(())
}

/// Each lane has phases with a few dozen names each, like real programs; `rare` occurs in a thousandth of them.
fn snapshot(spans: u64) -> io::Result<Snapshot> {
    let (mut names, mut registry) = (Names::default(), Registry::default());
    let rare = names.intern("rare", None).0;
    let common: Vec<u32> = (0..NAMES).map(|name| names.intern(&format!("name_{name}"), None).0).collect();
    let file = tempfile::tempfile()?;
    let mut writer = StoreWriter::new(file.try_clone()?, 256 << 20)?;
    let mut random = Random(3);
    let mut end_ns = 0;
    for lane in 0..LANES {
        let key = TrackKey {
            kind: TrackKind::Thread,
            pid: Id::Number(1),
            tid: Id::Number(lane as i64),
            name: "".into(),
            slot: 0,
        };
        let track = registry.track(&key).ok_or_else(|| io::Error::other("more tracks than a trace may have"))?;
        let lane = writer.add_lane(track, LaneKind::Spans, 0)?;
        let mut free_ns = 0;
        let mut phase = 0;
        for k in 0..spans / LANES {
            if k % 20_000 == 0 {
                phase = random.below(NAMES);
            }
            let is_rare = phase == 7 && random.below(1000) == 0;
            let name = if is_rare { rare } else { common[((phase + random.below(40)) % NAMES) as usize] };
            let start_ns = free_ns + random.below(2000) as i64;
            let dur_ns = if random.below(5000) == 0 { random.below(200_000) } else { random.below(1000) };
            free_ns = start_ns + dur_ns as i64;
            writer.push(lane, Row { start_ns, value: dur_ns, detail: 0, name })?;
        }
        end_ns = free_ns.max(end_ns);
    }
    let summary = Summary { end_ns, ..Summary::default() };
    writer.finish(&Meta { names: names.into(), tracks: registry.tables().clone(), summary, ..Meta::default() })?;
    let store = Store::from_file(&file, "bench".as_ref()).map_err(io::Error::other)?;
    Ok(Snapshot::new(Arc::new(store)))
}

fn measure(snapshot: &Snapshot, text: &str) {
    let filter = Filter::parse(text).unwrap_or_default();
    let matcher = Matcher::new(snapshot, &filter);
    let scope = Scope::from_matcher(matcher.clone());
    let find = || search(snapshot, &scope, &Cancel::default(), &Progress::default());
    let Ok(hits) = find() else { return };
    let search_ms = best_ms(|| drop(find()));
    let page_ms = best_ms(|| drop(hits.page(hits.total() / 2, 50)));
    let buckets = Buckets::covering(0, snapshot.end_ns(), (snapshot.end_ns() / BUCKETS).max(1).cast_unsigned());
    let pixels_ms = best_ms(|| {
        for lane in 0..LANES as u32 {
            drop(filtered::longest(snapshot, &matcher, LaneIdx(lane), buckets, &Cancel::default()));
        }
    });
    let (cancel, progress) = (Cancel::default(), Progress::default());
    let totals_ms = best_ms(|| {
        add_up(snapshot, &scope, &GrowingTotals::default(), &cancel, &progress).ok();
    });
    let longest_ms = best_ms(|| drop(longest(snapshot, &scope, 100, &cancel)));
    println!(
        "{text:<20}{:>12}{search_ms:>12.2}{page_ms:>12.2}{pixels_ms:>14.2}{totals_ms:>12.2}{longest_ms:>16.2}",
        hits.total()
    );
}

fn best_ms(mut work: impl FnMut()) -> f64 {
    let round = |_| {
        let started = Instant::now();
        work();
        started.elapsed().as_secs_f64() * 1e3
    };
    (0..ROUNDS).map(round).fold(f64::INFINITY, f64::min)
}

struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}
