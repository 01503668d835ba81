//! A sorted capture that carries its store: that is taken out, which is packing its rows again on all threads, instead of
//! made from the events, which is decoding, merging and nesting them one after the other. What is damaged, of another
//! version or no store of that capture is left, and the caller sorts the events.

use std::io;
use std::time::Instant;

use super::place::StoreFile;
use super::previews::Previews;
use crate::base::cancel::Cancelled;
use crate::base::progress::Stage;
use crate::formats::ahead::{in_order, jobs_ahead};
use crate::formats::{ReadContext, ReadError, StoreParts};
use crate::store::carried::{self, CarriedStore};
use crate::store::{LaneInfo, LaneKind, Meta, Summary};

/// Bytes of parts that are packed at once: enough for every thread to have lanes of its own, few enough to hold.
const BYTES_AT_ONCE: u64 = 16 << 20;

/// Why nothing can be said of a store that came with a capture.
#[derive(Debug, thiserror::Error)]
pub(super) enum AdoptError {
    /// It cannot be written where it is to be.
    #[error(transparent)]
    Write(#[from] io::Error),
    /// The capture became unreadable.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The work was asked to stop.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
}

/// Takes the store in `parts` out, into the empty `target`. `meta` is what the capture itself says, with a summary whose
/// counts are 0 and whose end is the last time that the capture tells of. Returns whether `target` holds a finished store
/// now: else it holds nothing of use.
///
/// # Errors
/// See [`AdoptError`].
pub(super) fn adopt(
    parts: &dyn StoreParts,
    meta: Meta,
    target: &StoreFile,
    context: &ReadContext,
    previews: &mut Previews<'_>,
    started: Instant,
) -> Result<bool, AdoptError> {
    context.progress.begin(Stage::Unpacking, parts.bytes());
    let count = parts.count();
    // The last part says whether the others are worth taking.
    let last = count.checked_sub(1).map(|last| intact(parts.load(last))).transpose()?.flatten();
    if !last.is_some_and(|last| carried::is_last_part(&last)) {
        return Ok(false);
    }
    // A quarter of the budget, as for rows that are sorted.
    let held_bytes = context.budget.limit_bytes() / 4;
    let writer = target.writer(usize::try_from(held_bytes).unwrap_or(usize::MAX))?;
    let mut store = CarriedStore::new(writer, &meta, context.threads)?;
    let (mut numbers, mut waiting, mut waiting_bytes, mut is_store) = (0..count, Vec::new(), 0, true);
    // Parts are read, and held against their sums, while those before them are packed.
    in_order(
        (context.threads, jobs_ahead(context.threads)),
        || numbers.next(),
        |number| (number + 1 == count, intact(parts.load(number))),
        |(is_last, bytes)| -> Result<(), AdoptError> {
            context.cancel.check()?;
            let Some(bytes) = bytes?.filter(|_| is_store) else {
                is_store = false;
                return Ok(());
            };
            waiting_bytes += bytes.len() as u64;
            waiting.push(bytes);
            if is_last || waiting_bytes >= BYTES_AT_ONCE.min(held_bytes) {
                // Packed once more, they take as much again.
                let _held = context.budget.charge(2 * waiting_bytes);
                is_store = store.take(&waiting)?.is_ok();
                context.progress.advance(waiting_bytes);
                (waiting_bytes, waiting) = (0, Vec::new());
                if is_store && previews.are_due() {
                    previews.send(|| {
                        let sorted_to_ns = Some(store.sorted_to_ns()).filter(|&ts_ns| ts_ns < i64::MAX);
                        let summary = Summary { sorted_to_ns, ..counted(&store, &meta) };
                        store.preview(Meta { summary, ..meta.clone() })
                    })?;
                }
            }
            Ok(())
        },
    )?;
    if !is_store {
        return Ok(false);
    }
    context.progress.begin(Stage::Publishing, 0);
    let mut summary = counted(&store, &meta);
    summary.end_ns = store.lanes().map(|lane| lane.end_ns).max().unwrap_or(0);
    summary.load.peak_budget_bytes = context.budget.peak_bytes();
    summary.load.seconds = started.elapsed().as_secs_f64();
    Ok(store.finish(&Meta { summary, ..meta })?.is_ok())
}

/// What was read, unless it is damaged.
fn intact(part: Result<Vec<u8>, ReadError>) -> Result<Option<Vec<u8>>, ReadError> {
    match part {
        Ok(bytes) => Ok(Some(bytes)),
        Err(ReadError::Malformed { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The summary with what the lanes tell so far. The chart of a thread's samples is made for the eye, and counted nowhere.
fn counted(store: &CarriedStore, meta: &Meta) -> Summary {
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
    summary.start_ns = store.lanes().map(|lane| lane.start_ns).min().unwrap_or(0);
    summary.end_ns = store.lanes().map(|lane| lane.end_ns).fold(summary.end_ns, i64::max);
    summary
}
