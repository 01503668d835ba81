//! `longspan spans`: the spans of a trace as rows, sorted by time, then depth, or longest first.

use super::args::{ImportArgs, SpanChoice, Spans};
use super::empty_answers::say_no_spans;
use super::error::CliError;
use super::load::retry_if_damaged;
use super::stdout::rows_to_stdout;
use super::symbols::load_with_names;
use crate::base::cancel::Cancel;
use crate::base::progress::Progress;
use crate::export::csv::span_row;
use crate::export::table::{RowFormat, TableRow, TableWriter};
use crate::query::Snapshot;
use crate::query::longest::{LongestSpans, sorted_longest};
use crate::query::scope::Scope;
use crate::query::search::{Hit, search};

/// Limit for the spans with the same start that are sorted by depth: a trace may have equal times only.
const TIED_MAX: usize = 64 * 1024;

/// Limit for the spans of a trace that are sorted by length, in bytes: 160 MiB, or all of `--memory` if that is less.
const SORTED_BYTES_MAX: u64 = 160 << 20;

/// If at least one in this many spans is printed, sorting all is faster than searching for the longest.
const SORTED_SHARE: u64 = 8;

/// Number of longest spans that are queried at once.
const PAGE: usize = 1024;

pub(super) fn print(spans: &Spans, import: &ImportArgs) -> Result<(), CliError> {
    retry_if_damaged(&spans.sources, import, |import| print_once(spans, import))
}

fn print_once(spans: &Spans, import: &ImportArgs) -> Result<(), CliError> {
    let snapshot = load_with_names(&spans.sources, import)?;
    let scope = spans.scope.on(&snapshot)?.spans();
    let (SpanChoice::First { count: wanted } | SpanChoice::Longest { count: wanted }) = spans.choice;
    let has_rows = match spans.choice {
        SpanChoice::First { count } => print_in_order(&snapshot, &scope, count, spans.format),
        SpanChoice::Longest { count } => {
            let bytes_max = import.memory.limit_bytes().min(SORTED_BYTES_MAX);
            print_longest(&snapshot, &scope, count, bytes_max, spans.format)
        }
    }?;
    if !has_rows && wanted > 0 {
        say_no_spans(&snapshot, &spans.scope);
    }
    Ok(())
}

/// Prints the first `count` spans. Returns whether there are any.
fn print_in_order(snapshot: &Snapshot, scope: &Scope, count: u64, format: RowFormat) -> Result<bool, CliError> {
    let Ok(hits) = search(snapshot, scope, &Cancel::default(), &Progress::default()) else { return Ok(true) };
    let mut has_rows = false;
    rows_to_stdout(snapshot, |out| {
        let mut table = TableWriter::begin(out, format)?;
        let mut left = count;
        let mut hits = hits.from(i64::MIN).peekable();
        let mut tied: Vec<Hit> = Vec::new();
        while left > 0 {
            // Hits that start at one time are sorted by lane.
            tied.clear();
            tied.extend(hits.next());
            let Some(&first) = tied.first() else { break };
            has_rows = true;
            while tied.len() < TIED_MAX
                && let Some(hit) = hits.next_if(|hit| hit.start_ns == first.start_ns)
            {
                tied.push(hit);
            }
            tied.sort_by_key(|hit| (snapshot.lane(hit.row.lane).depth, hit.row));
            for hit in tied.iter().take(usize::try_from(left).unwrap_or(usize::MAX)) {
                table.row(&row(snapshot, hit))?;
            }
            left = left.saturating_sub(tied.len() as u64);
        }
        Ok(())
    })?;
    Ok(has_rows)
}

/// Returns whether the longest `count` of some spans are found by sorting all, in at most `bytes_max` bytes.
fn is_sorted(spans: u64, count: u64, bytes_max: u64) -> bool {
    spans <= bytes_max / size_of::<Hit>() as u64 && count >= spans / SORTED_SHARE
}

/// Prints the longest `count` spans, sorting at most `bytes_max` bytes of spans. Returns whether there are any.
fn print_longest(
    snapshot: &Snapshot,
    scope: &Scope,
    count: u64,
    bytes_max: u64,
    format: RowFormat,
) -> Result<bool, CliError> {
    if is_sorted(snapshot.summary().spans, count, bytes_max) {
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        let Ok(hits) = sorted_longest(snapshot, scope, count, &Cancel::default()) else { return Ok(true) };
        rows_to_stdout(snapshot, |out| {
            let mut table = TableWriter::begin(out, format)?;
            hits.iter().try_for_each(|hit| table.row(&row(snapshot, hit)))?;
            Ok(())
        })?;
        return Ok(!hits.is_empty());
    }
    let (mut longest, mut has_rows) = (LongestSpans::new(snapshot, scope), false);
    rows_to_stdout(snapshot, |out| {
        let mut table = TableWriter::begin(out, format)?;
        let mut left = count;
        while left > 0 {
            let page = usize::try_from(left).unwrap_or(PAGE).min(PAGE);
            let Ok(hits) = longest.page(page, &Cancel::default()) else { break }; // never cancelled
            for hit in &hits {
                table.row(&row(snapshot, hit))?;
            }
            has_rows |= !hits.is_empty();
            left = if hits.len() < page { 0 } else { left - page as u64 };
        }
        Ok(())
    })?;
    Ok(has_rows)
}

fn row<'a>(snapshot: &'a Snapshot, hit: &Hit) -> TableRow<'a> {
    let lane = snapshot.lane(hit.row.lane);
    let unfinished = snapshot.store().lane(hit.row.lane).is_unfinished(hit.row.row);
    let times = (hit.start_ns, (!unfinished).then_some(hit.dur_ns));
    span_row(snapshot, lane.track, lane.depth, times, hit.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_sorted_only_within_the_memory_limit() {
        // A span takes 40 bytes.
        let eight_mib = 8 << 20;
        assert!(is_sorted(209_715, 209_715, eight_mib) && !is_sorted(209_716, 209_716, eight_mib));
        assert!(is_sorted(4 << 20, 1 << 20, SORTED_BYTES_MAX) && !is_sorted((4 << 20) + 1, 1 << 20, SORTED_BYTES_MAX));
        assert!(!is_sorted(1000, 124, eight_mib), "a search for few is faster");
    }
}
