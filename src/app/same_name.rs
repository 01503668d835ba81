//! Finds the next and the previous row with the name of a row, on all tracks.
//!
//! Searches ranges of time that grow away from the row, so that a frequent name is found in a small part of the trace.
//! A rare name takes some larger ranges, in which the search skips extents without it.
//!
//! Equivalent to the neighbours of the row among all hits of a search for exactly this name.

use std::sync::Arc;

use crate::base::cancel::{Cancel, Cancelled};
use crate::base::direction::Direction;
use crate::base::progress::Progress;
use crate::query::Snapshot;
use crate::query::matcher::Matcher;
use crate::query::scope::Scope;
use crate::query::search::{Hit, search};
use crate::store::lane::RowIdx;

/// Average number of rows in the first range.
const FIRST_ROWS: u64 = 4096;

/// The factor by which ranges grow.
const GROWTH: u64 = 64;

/// Returns the next row of this name in hit order, or the previous one.
///
/// # Errors
/// Returns `Cancelled` if cancelled.
pub(super) fn next_of_same_name(
    snapshot: &Snapshot,
    row: RowIdx,
    direction: Direction,
    cancel: &Cancel,
) -> Result<Option<Hit>, Cancelled> {
    let (names, summary) = (snapshot.names(), snapshot.summary());
    let span = snapshot.row(row);
    let text = names.get(span.name).text;
    let matcher = Arc::new(Matcher::default().and_names(names.len(), |name| names.get(name).text == text));
    let rows = (summary.spans + summary.instants + summary.samples).max(1);
    let average_ns = u128::from(summary.end_ns.abs_diff(summary.start_ns)) * u128::from(FIRST_ROWS) / u128::from(rows);
    let mut reach_ns = u64::try_from(average_ns).unwrap_or(u64::MAX).max(1);
    loop {
        // The range includes the start of the row. Its other end is open once it is outside the trace.
        let (from_ns, to_ns) = if direction.is_forward() {
            let to_ns = span.start_ns.checked_add_unsigned(reach_ns);
            (Some(span.start_ns), to_ns.filter(|to_ns| *to_ns <= summary.end_ns))
        } else {
            let from_ns = span.start_ns.checked_sub_unsigned(reach_ns);
            (from_ns.filter(|from_ns| *from_ns >= summary.start_ns), span.start_ns.checked_add(1))
        };
        // The bars of samples are hits of a search as well.
        let scope = Scope { with_charts: true, ..Scope::from_range(from_ns, to_ns) }.matching(Arc::clone(&matcher));
        let hits = search(snapshot, &scope, cancel, &Progress::default())?;
        let found = if direction.is_forward() {
            hits.next(span.start_ns, Some(row))
        } else {
            // A row that reaches into the range may start before others that end outside it.
            let starts_inside = |hit: &Hit| from_ns.is_none_or(|from_ns| hit.start_ns >= from_ns);
            hits.previous(span.start_ns, Some(row)).filter(starts_inside)
        };
        let is_open = if direction.is_forward() { to_ns.is_none() } else { from_ns.is_none() };
        if found.is_some() || is_open {
            return Ok(found);
        }
        reach_ns = reach_ns.saturating_mul(GROWTH);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::filter::{Filter, quoted};

    /// A trace whose spans of name `long` reach over ranges in which other rows of that name start and end.
    fn trace() -> Snapshot {
        let mut state = 7_u64;
        let mut random = |below: u64| {
            // Knuth's linear congruential generator.
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        let mut events = Vec::new();
        for thread in 0..4 {
            let mut ts = 0;
            for _ in 0..6000 {
                ts += random(3);
                let (name, dur) = match random(1000) {
                    0 => ("rare", 5),
                    1 => ("long", 40_000 / (thread + 1)),
                    2..40 => ("long", 1),
                    _ => ("often", 1),
                };
                let is_instant = random(10) == 0;
                let (ph, rest) =
                    if is_instant { ("i", r#","s":"t""#.to_owned()) } else { ("X", format!(r#","dur":{dur}"#)) };
                events.push(format!(r#"{{"ph":"{ph}","name":"{name}","pid":1,"tid":{thread},"ts":{ts}{rest}}}"#));
                ts += if is_instant { 0 } else { dur };
            }
        }
        super::super::tests::snapshot(&format!("[{}]", events.join(",")))
    }

    #[test]
    fn namesake_steps_equal_those_through_the_hits_of_a_search() {
        let snapshot = trace();
        for name in ["rare", "long", "often"] {
            let filter = Filter::parse(&format!("name:{}", quoted(name))).expect("a filter");
            let scope = Scope::default().matching(Matcher::new(&snapshot, &filter));
            let hits = search(&snapshot, &scope, &Cancel::default(), &Progress::default()).expect("not cancelled");
            let all: Vec<Hit> = hits.from(i64::MIN).collect();
            assert!(all.len() > 10, "{name}: {}", all.len());
            let step = all.len() / 150 + 1;
            for at in (0..all.len()).step_by(step).chain([1, all.len() - 2, all.len() - 1]) {
                let found = |direction| {
                    next_of_same_name(&snapshot, all[at].row, direction, &Cancel::default()).expect("not cancelled")
                };
                assert_eq!(found(Direction::Forward), all.get(at + 1).copied(), "{name}: after {at} of {}", all.len());
                assert_eq!(
                    found(Direction::Backward),
                    at.checked_sub(1).map(|before| all[before]),
                    "{name}: before {at}"
                );
            }
        }
    }

    #[test]
    fn a_cancelled_search_for_a_neighbour_returns_no_row() {
        let snapshot = trace();
        let cancel = Cancel::default();
        cancel.cancel();
        let row = RowIdx { lane: crate::store::LaneIdx(0), row: 0 };
        assert!(next_of_same_name(&snapshot, row, Direction::Forward, &cancel).is_err());
    }
}
