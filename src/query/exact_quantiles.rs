//! Exact quantiles of durations in bounded memory, by radix selection: each pass over the rows finds the next 16 bits.
//!
//! The naive way is to sort all durations.

use std::sync::{Mutex, PoisonError};

use super::longest::longest;
use super::scan::{LaneScan, judge_extents};
use super::scope::Scope;
use super::snapshot::Snapshot;
use crate::base::cancel::{Cancel, Cancelled};
use crate::base::progress::Progress;
use crate::base::sketch::rank;
use crate::store::block::BLOCK_ROWS;
use crate::store::details::DetailReader;

/// The quantiles that are computed, as parts of the spans.
pub(crate) const QUANTILE_PARTS: [f64; 4] = [0.5, 0.9, 0.95, 0.99];

/// Bits that a pass finds.
const DIGIT_BITS: u32 = 16;

/// Extents that one thread counts at once: two million rows.
const EXTENTS_AT_ONCE: usize = 512;

/// The number of durations by prefix, which are their known upper bits, and next digit.
type DigitCounts = Vec<Vec<u64>>;

/// Returns the quantiles of the whole durations of a scope's spans, in nanoseconds; `None` without spans. Returns
/// `Cancelled` if cancelled.
pub(crate) fn exact_quantiles(
    snapshot: &Snapshot,
    scope: &Scope,
    cancel: &Cancel,
) -> Result<Option<[u64; QUANTILE_PARTS.len()]>, Cancelled> {
    let scope = &scope.clone().spans();
    let Some(longest) = longest(snapshot, scope, 1, cancel)?.pop() else { return Ok(None) };
    let matcher = &*scope.matcher;
    let lanes = scope.lanes(snapshot, matcher);
    let scans: Vec<_> = lanes.map(|lane| LaneScan::new(snapshot, matcher, scope, lane)).collect();
    let bits = u64::BITS - longest.dur_ns.leading_zeros();
    let digits = bits.div_ceil(DIGIT_BITS).max(1);
    // The known upper bits of each quantile, and its rank among the durations that have them.
    let mut found = [(0, None); QUANTILE_PARTS.len()];
    for digit in (0..digits).rev() {
        let mut prefixes = found.map(|(prefix, _)| prefix).to_vec();
        prefixes.sort_unstable();
        prefixes.dedup();
        let by_thread = count_digits(&scans, &prefixes, digit * DIGIT_BITS, cancel)?;
        for ((prefix, left), part) in found.iter_mut().zip(QUANTILE_PARTS) {
            let of_prefix = prefixes.partition_point(|other| other < prefix);
            let sum_of = |digit: usize| by_thread.iter().map(|counts| counts[of_prefix][digit]).sum();
            let counts: Vec<u64> = (0..1 << DIGIT_BITS).map(sum_of).collect();
            let mut rest = left.unwrap_or_else(|| rank(counts.iter().sum(), part));
            let holds_rank = |count: &u64| {
                let holds = rest < *count;
                rest -= if holds { 0 } else { *count };
                holds
            };
            let Some(digit) = counts.iter().position(holds_rank) else { return Ok(None) };
            (*prefix, *left) = (*prefix << DIGIT_BITS | digit as u64, Some(rest));
        }
    }
    Ok(Some(found.map(|(dur_ns, _)| dur_ns)))
}

/// Counts the durations with each of some prefixes by their digit above the lowest `shift` bits. Returns the counts of
/// each thread.
fn count_digits(
    scans: &[LaneScan<'_>],
    prefixes: &[u64],
    shift: u32,
    cancel: &Cancel,
) -> Result<Vec<DigitCounts>, Cancelled> {
    // At most one count per thread, since there may be far more lanes than any lane has rows.
    let all: Mutex<Vec<DigitCounts>> = Mutex::default();
    judge_extents(scans, EXTENTS_AT_ONCE, (cancel, &Progress::default()), |scan, extents| {
        let taken = all.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut counts = taken.unwrap_or_else(|| vec![vec![0; 1 << DIGIT_BITS]; prefixes.len()]);
        let mut reader = DetailReader::default();
        for &extent in extents {
            cancel.check()?;
            for (_, hits) in scan.blocks(extent, 0, &mut reader) {
                let mut durs = [0; BLOCK_ROWS];
                hits.block.values(&mut durs);
                for dur_ns in hits.slots().map(|slot| durs[slot]) {
                    let upper = dur_ns >> shift;
                    if let Ok(prefix) = prefixes.binary_search(&(upper >> DIGIT_BITS)) {
                        counts[prefix][(upper & ((1 << DIGIT_BITS) - 1)) as usize] += 1;
                    }
                }
            }
        }
        all.lock().unwrap_or_else(PoisonError::into_inner).push(counts);
        Ok::<(), Cancelled>(())
    })?;
    Ok(all.into_inner().unwrap_or_else(PoisonError::into_inner))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::filter::Filter;
    use crate::query::ledger_traces::{RandomSequence, SMALL, TraceSpan, ranges, spans, store};
    use crate::query::matcher::Matcher;

    #[test]
    fn quantiles_are_those_of_the_sorted_durations_of_any_range_and_name() {
        let trace = spans(5, 2, 400, 60, -500);
        // Durations with up to four digits. Many are equal in the upper digits.
        let stretched: Vec<_> = trace
            .iter()
            .map(|span| {
                let mut span = *span;
                span.start_ns = span.start_ns.saturating_mul(1 << 40);
                span.dur_ns = span.dur_ns.saturating_mul(1 << 40).saturating_sub(span.dur_ns % 5);
                span
            })
            .collect();
        for trace in [trace, stretched] {
            let (_, snapshot) = store(&trace, Some(SMALL), 1 << 20);
            for (from_ns, to_ns) in ranges(&snapshot, &mut RandomSequence(9), 20) {
                for filter in ["", "-cat:1", "dur>40"] {
                    let matcher = Matcher::new(&snapshot, &Filter::parse(filter).unwrap());
                    let scope = Scope::from_range(from_ns, to_ns).matching(matcher);
                    let hits = crate::query::search::search(
                        &snapshot,
                        &scope.clone().spans(),
                        &Cancel::default(),
                        &Progress::default(),
                    );
                    let mut durs: Vec<u64> = hits.unwrap().from(i64::MIN).map(|hit| hit.dur_ns).collect();
                    durs.sort_unstable();
                    let expected = (!durs.is_empty()).then(|| {
                        QUANTILE_PARTS.map(|part| durs[((durs.len() as f64 * part).ceil() as usize).max(1) - 1])
                    });
                    let found = exact_quantiles(&snapshot, &scope, &Cancel::default());
                    assert_eq!(found.unwrap(), expected, "{from_ns:?} {to_ns:?} {filter}");
                }
            }
        }
        let cancel = Cancel::default();
        cancel.cancel();
        let (_, snapshot) = store(&spans(2, 1, 50, 5, 0), Some(SMALL), 1 << 20);
        assert!(exact_quantiles(&snapshot, &Scope::default(), &cancel).is_err());
    }

    #[test]
    fn many_lanes_share_the_counts_of_their_thread() {
        let span = |track| TraceSpan { track, lane: 0, start_ns: 0, dur_ns: u64::from(track), name: 1 };
        let (_, snapshot) = store(&(0..300).map(span).collect::<Vec<_>>(), None, 1 << 20);
        let scope = Scope::default();
        let lanes = scope.lanes(&snapshot, &scope.matcher);
        let scans: Vec<_> = lanes.map(|lane| LaneScan::new(&snapshot, &scope.matcher, &scope, lane)).collect();
        let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
        let by_thread = pool.install(|| count_digits(&scans, &[0], 0, &Cancel::default())).unwrap();
        assert!(by_thread.len() <= 2, "{} counts", by_thread.len());
        assert!((0..300).all(|dur_ns| by_thread.iter().map(|counts| counts[0][dur_ns]).sum::<u64>() == 1));
    }
}
