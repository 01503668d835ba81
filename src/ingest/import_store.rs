//! Imports the store in a sorted trace. This repacks its rows on all threads, instead of decoding, merging and nesting
//! the events sequentially. If the store is damaged, of another version, or does not belong to the trace, the caller
//! sorts the events.

use std::io;
use std::sync::Arc;
use std::time::Instant;

use super::ledger_budget::with_ledger;
use super::previews::Previews;
use super::store_target::StoreFile;
use crate::base::budget_shares::BudgetShare;
use crate::base::cancel::Cancelled;
use crate::base::progress::Stage;
use crate::formats::input::ahead::{in_order, jobs_ahead};
use crate::formats::{ReadContext, ReadError, StoreParts};
use crate::store::carried::{self, CarriedStore, NoStore};
use crate::store::ledger_build::LedgerContext;
use crate::store::{FinishedStore, LaneInfo, LaneKind, Meta, Store, Summary};

/// Bytes of parts that are packed at once: enough lanes for every thread, within a small memory bound.
const BYTES_AT_ONCE: u64 = 16 << 20;

/// An error of importing a store.
#[derive(Debug, thiserror::Error)]
pub(super) enum ImportError {
    /// The store is damaged, of another version, or does not belong to the trace; the events can still be sorted.
    #[error(transparent)]
    NoStore(#[from] NoStore),
    /// The imported store cannot be written.
    #[error(transparent)]
    Write(#[from] io::Error),
    /// The trace can no longer be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
}

/// Imports the store in `parts` into the empty `target`. `meta` belongs to the trace; the counts of its summary are 0,
/// and its end is the latest time in the trace's headers.
///
/// # Errors
/// See [`ImportError`]; `target` is then unusable.
pub(super) fn import_store(
    parts: &dyn StoreParts,
    meta: Meta,
    target: &StoreFile,
    context: &ReadContext,
    previews: &mut Previews<'_>,
    started: Instant,
) -> Result<FinishedStore, ImportError> {
    context.progress.begin(Stage::Unpacking, parts.bytes());
    let count = parts.count();
    // The last part identifies the store, so it is read first.
    let last = intact(parts.load(count.checked_sub(1).ok_or(NoStore)?))?;
    if !carried::is_last_part(&last) {
        return Err(NoStore.into());
    }
    let held_bytes = BudgetShare::StoreRows.bytes(&context.budget);
    let writer = target.writer(usize::try_from(held_bytes).unwrap_or(usize::MAX))?;
    let mut store = CarriedStore::new(writer, &meta, context.threads);
    let (mut numbers, mut waiting, mut waiting_bytes) = (0..count, Vec::new(), 0);
    // Parts are read and verified while earlier parts are packed.
    in_order(
        (context.threads, jobs_ahead(context.threads)),
        || numbers.next(),
        |number| (number + 1 == count, intact(parts.load(number))),
        |(is_last, bytes)| -> Result<(), ImportError> {
            context.cancel.check()?;
            let bytes = bytes?;
            waiting_bytes += bytes.len() as u64;
            waiting.push(bytes);
            if is_last || waiting_bytes >= BYTES_AT_ONCE.min(held_bytes) {
                // The packed rows take as much again.
                let _held = context.budget.charge(2 * waiting_bytes);
                store.add_parts(&waiting)??;
                context.progress.advance(waiting_bytes);
                (waiting_bytes, waiting) = (0, Vec::new());
                if previews.are_due() {
                    previews.send(|| {
                        let sorted_to_ns = Some(store.sorted_to_ns()).filter(|&ts_ns| ts_ns < i64::MAX);
                        let summary = Summary { sorted_to_ns, ..summary_of_lanes(&store, &meta) };
                        store.preview(Meta { summary, ..meta.clone() })
                    })?;
                }
            }
            Ok(())
        },
    )?;
    context.progress.begin(Stage::Publishing, 0);
    let mut summary = summary_of_lanes(&store, &meta);
    summary.end_ns = range_ns(&store, &meta).map_or(0, |(_, end_ns)| end_ns);
    summary.load.peak_budget_bytes = context.budget.peak_bytes();
    summary.load.seconds = started.elapsed().as_secs_f64();
    let (meta, show) = (Meta { summary, ..meta }, |store: &Arc<Store>| previews.send_sorted(store));
    let finish = |ledger: Option<&LedgerContext<'_>>| store.finish_with_ledger(meta, ledger, show);
    let finished = with_ledger(context, started, target.has_ledgers, finish)??;
    context.cancel.check()?;
    Ok(finished)
}

/// Maps a damaged part to [`NoStore`].
fn intact(part: Result<Vec<u8>, ReadError>) -> Result<Vec<u8>, ImportError> {
    part.map_err(|error| match error {
        ReadError::Malformed { .. } => NoStore.into(),
        error => error.into(),
    })
}

/// Returns the summary with the counts of the lanes. Charts of samples are derived, so they are not counted.
fn summary_of_lanes(store: &CarriedStore, meta: &Meta) -> Summary {
    let mut summary = meta.summary.clone();
    let is_counted = |lane: &LaneInfo| !meta.tracks.tracks[lane.track.index()].key.kind.is_derived();
    for lane in store.lanes().filter(is_counted) {
        *match lane.kind {
            LaneKind::Instants => &mut summary.instants,
            LaneKind::Samples => &mut summary.samples,
            LaneKind::Counter => &mut summary.counters,
            LaneKind::Spans => &mut summary.spans,
            LaneKind::Flows => &mut summary.flows,
        } += lane.rows;
    }
    let (start_ns, end_ns) = range_ns(store, meta).unwrap_or((0, summary.end_ns));
    (summary.start_ns, summary.end_ns) = (start_ns, end_ns.max(summary.end_ns));
    summary
}

/// Returns the start and end of the rows with times. If no row has a time, returns the start and end of all rows.
fn range_ns(store: &CarriedStore, meta: &Meta) -> Option<(i64, i64)> {
    let extend =
        |(start_ns, end_ns): (i64, i64), lane: LaneInfo| (lane.start_ns.min(start_ns), lane.end_ns.max(end_ns));
    let range = |lanes: &mut dyn Iterator<Item = LaneInfo>| {
        let first = lanes.next()?;
        Some(lanes.fold((first.start_ns, first.end_ns), extend))
    };
    let has_times = |lane: &LaneInfo| !meta.tracks.tracks[lane.track.index()].key.is_untimed();
    range(&mut store.lanes().filter(has_times)).or_else(|| range(&mut store.lanes()))
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use super::*;
    use crate::base::budget::Memory;
    use crate::ingest::store_target::StoreTarget;
    use crate::ingest::{CachePolicy, LoadOptions};
    use crate::model::{Id, Registry, Sources, TrackIdx, TrackKey};
    use crate::store::{LaneIdx, Row, StoreWriter};

    /// Spans of a single lane: about six parts.
    const SPANS: u64 = 400_000;

    /// Parts that are slow to read. One of them may be damaged.
    struct SlowParts {
        parts: Vec<Vec<u8>>,
        damaged: Option<usize>,
        delay: Duration,
        loads: AtomicUsize,
    }

    impl StoreParts for SlowParts {
        fn count(&self) -> usize {
            self.parts.len()
        }

        fn bytes(&self) -> u64 {
            self.parts.iter().map(|part| part.len() as u64).sum()
        }

        fn load(&self, part: usize) -> Result<Vec<u8>, ReadError> {
            self.loads.fetch_add(1, Ordering::Relaxed);
            std::thread::sleep(self.delay);
            if self.damaged == Some(part) {
                let (path, expected, found) = ("test".into(), String::new(), String::new());
                return Err(ReadError::Malformed { path, offset: 0, expected, found });
            }
            Ok(self.parts[part].clone())
        }
    }

    fn meta() -> Meta {
        let (pid, tid) = (Id::Number(1), Id::Number(1));
        let mut registry = Registry::default();
        registry.track(&TrackKey::thread(pid, tid));
        Meta { tracks: registry.tables().clone(), ..Meta::default() }
    }

    fn slow_parts(damaged: Option<usize>, delay: Duration) -> SlowParts {
        let file = tempfile::tempfile().unwrap();
        let mut writer = StoreWriter::new(file.try_clone().unwrap(), 1 << 20).unwrap();
        let lane = writer.add_lane(TrackIdx(0), LaneKind::Spans, 0).unwrap();
        for number in 0..SPANS {
            // Times that compress badly, so that there are several parts.
            let jitter = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 4;
            let start_ns = (number << 32) as i64 + (jitter & 0xffff_ffff) as i64 / 2;
            writer.push(lane, Row { start_ns, value: jitter & 0x7fff_ffff, detail: 0, name: 0 }).unwrap();
        }
        writer.finish(&meta()).unwrap();
        let store = Store::from_file(&file, Path::new("")).unwrap();
        let parts = store.carried_parts().map(|part| part.unwrap()).collect();
        SlowParts { parts, damaged, delay, loads: AtomicUsize::new(0) }
    }

    /// Returns the result of the import, and the previews.
    fn imported_previews(parts: &SlowParts, threads: usize) -> (Result<FinishedStore, ImportError>, Vec<Arc<Store>>) {
        let options = LoadOptions { cache: CachePolicy::None, ..LoadOptions::default() };
        let target = StoreTarget::for_once(&Sources::from("test"), &options).start().unwrap();
        let context = ReadContext { threads, budget: Memory::new(4 << 20).budget(), ..ReadContext::default() };
        let mut shown = Vec::new();
        let mut sink = |store| shown.push(store);
        let mut previews = Previews::new(Some(&mut sink));
        let result = import_store(parts, meta(), &target, &context, &mut previews, Instant::now());
        (result, shown)
    }

    #[test]
    fn previews_show_the_imported_part_of_a_store() {
        let parts = slow_parts(None, Duration::from_millis(80));
        assert!(parts.parts.len() > 3, "{} parts", parts.parts.len());
        let (result, shown) = imported_previews(&parts, 1);
        result.unwrap();
        let summary = &shown.first().expect("a preview").meta().summary;
        assert!((1..SPANS).contains(&summary.spans) && summary.sorted_to_ns.is_some(), "{summary:?}");
        // The last one has all rows, before their ledgers are built.
        let last = shown.last().expect("a preview");
        let summary = &last.meta().summary;
        assert_eq!((summary.spans, summary.sorted_to_ns), (SPANS, None));
        assert_eq!((0..last.lane_count()).map(|lane| last.lane(LaneIdx(lane)).rows()).sum::<u64>(), SPANS);
        assert!(last.ledger().is_none() && last.damaged_in_all() == 0);
    }

    #[test]
    fn the_time_of_an_import_includes_that_of_its_ledgers() {
        let options = LoadOptions { cache: CachePolicy::None, ..LoadOptions::default() };
        let mut store_target = StoreTarget::for_once(&Sources::from("test"), &options);
        let target = store_target.start().unwrap();
        let started = Instant::now().checked_sub(Duration::from_secs(5)).unwrap();
        let mut shown = Vec::new();
        let mut sink = |store: Arc<Store>| shown.push(store.meta().summary.load.seconds);
        let mut previews = Previews::new(Some(&mut sink));
        let parts = slow_parts(None, Duration::from_millis(80));
        import_store(&parts, meta(), &target, &ReadContext::default(), &mut previews, started).unwrap();
        let (file, path) = store_target.keep(target);
        let seconds = Store::from_file(&file, &path).unwrap().meta().summary.load.seconds;
        let sorted = shown.last().copied().unwrap();
        assert!(5.0 <= sorted && sorted < seconds && seconds < 600.0, "{sorted} {seconds}");
    }

    #[test]
    fn a_damaged_part_ends_it_and_no_more_is_read_than_was_under_way() {
        for threads in [1, 2] {
            let mut parts = slow_parts(Some(0), Duration::ZERO);
            let last = parts.parts.pop().unwrap();
            parts.parts = vec![last; 50];
            let (result, _) = imported_previews(&parts, threads);
            assert!(matches!(result, Err(ImportError::NoStore(_))), "{result:?}");
            let ahead = if threads == 1 { 1 } else { jobs_ahead(threads) + 2 };
            let loads = parts.loads.into_inner();
            // The last part was loaded first.
            assert!(loads <= 1 + ahead, "{loads} of {} parts", parts.parts.len());
        }
    }
}
