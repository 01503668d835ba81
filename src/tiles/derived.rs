//! Loads the columns of derived tracks in view on its own thread, so that a page fault in a series never delays a
//! frame. Until an answer arrives, the previous one is drawn at its own times.

use std::io;
use std::sync::Arc;
use std::time::Instant;

use crossbeam_channel::{Receiver, Sender, unbounded};
use rustc_hash::FxHashMap;

use crate::query::derived::DerivedSeries;
use crate::query::{Buckets, CounterCell};

/// Series, and the columns to compute.
#[derive(Debug, Clone)]
pub(crate) struct ColumnQuery {
    pub(crate) buckets: Buckets,
    pub(crate) series: Vec<Arc<DerivedSeries>>,
}

/// The columns of each series of a query.
#[derive(Debug)]
pub(crate) struct ColumnAnswer {
    query: ColumnQuery,
    cells: Vec<Vec<CounterCell>>,
    ranges: Vec<(f64, f64)>,
}

/// Cache of the smallest and largest values of blocks of columns. A scale that covers some views to either side stays
/// the same while the view moves.
#[derive(Debug, Default)]
struct RangeCache {
    series: Vec<Arc<DerivedSeries>>,
    /// By index of the series, width of the columns, and index of the block.
    block_ranges: FxHashMap<(usize, u32, i64), (f64, f64)>,
}

/// Limit for the cached blocks.
const BLOCKS_MAX: usize = 4096;

/// Answers queries in the background, and keeps the last answer.
#[derive(Default)]
pub(crate) struct ColumnLoader {
    /// The worker; `None` in tests, where frames wait for their answers.
    thread: Option<(Sender<ColumnQuery>, Receiver<ColumnAnswer>)>,
    latest_query: Option<ColumnQuery>,
    answer: Option<ColumnAnswer>,
    /// Used by frames that wait.
    ranges: RangeCache,
}

impl PartialEq for ColumnQuery {
    fn eq(&self, other: &Self) -> bool {
        let are_same = |(one, other): (&Arc<DerivedSeries>, &Arc<DerivedSeries>)| Arc::ptr_eq(one, other);
        self.buckets == other.buckets
            && self.series.len() == other.series.len()
            && self.series.iter().zip(&other.series).all(are_same)
    }
}

impl RangeCache {
    /// Returns the value range around a view of each series: 0, and the values of the blocks that overlap the view.
    fn ranges(&mut self, query: &ColumnQuery) -> Vec<(f64, f64)> {
        let are_same = self.series.len() == query.series.len()
            && self.series.iter().zip(&query.series).all(|(one, other)| Arc::ptr_eq(one, other));
        if !are_same || self.block_ranges.len() > BLOCKS_MAX {
            self.block_ranges.clear();
            self.series.clone_from(&query.series);
        }
        (0..query.series.len()).map(|index| self.range(index, query.buckets)).collect()
    }

    fn range(&mut self, index: usize, buckets: Buckets) -> (f64, f64) {
        let series = &self.series[index];
        if let Some(range) = series.steady_range() {
            return range;
        }
        // Columns per block: several screens, computed within a millisecond; percentiles take longer.
        let log2 = if series.is_of_quantiles() { 11 } else { 14 };
        let (first, last) = (buckets.first >> log2, buckets.end().saturating_sub(1).max(buckets.first) >> log2);
        let block = |number: i64| {
            let entry = self.block_ranges.entry((index, buckets.width_log2, number));
            *entry.or_insert_with(|| block_range(series, buckets.width_log2, number << log2, 1 << log2))
        };
        (first..=last)
            .map(block)
            .fold((0.0, 0.0), |(least, most): (f64, f64), (low, high)| (least.min(low), most.max(high)))
    }
}

/// Returns the smallest and largest value of a block of columns, including 0.
fn block_range(series: &DerivedSeries, width_log2: u32, first: i64, count: i64) -> (f64, f64) {
    let (start_ns, last_ns) = series.bounds_ns();
    let (from, end) =
        (first.max(start_ns >> width_log2), first.saturating_add(count).min((last_ns >> width_log2).saturating_add(1)));
    let count = u32::try_from(end.saturating_sub(from)).unwrap_or(0);
    if count == 0 {
        return (0.0, 0.0);
    }
    let mut cells = Vec::new();
    series.columns(Buckets { first: from, count, width_log2 }, &mut cells);
    let finite = cells.iter().filter(|cell| cell.min.is_finite() && cell.max.is_finite());
    finite.fold((0.0, 0.0), |(least, most), cell| (least.min(cell.min), most.max(cell.max)))
}

impl ColumnAnswer {
    fn new(query: ColumnQuery, ranges: &mut RangeCache) -> Self {
        let columns = |series: &Arc<DerivedSeries>| {
            let mut cells = Vec::new();
            series.columns(query.buckets, &mut cells);
            cells
        };
        let ranges = ranges.ranges(&query);
        Self { cells: query.series.iter().map(columns).collect(), query, ranges }
    }

    /// Returns the buckets of the answered columns.
    pub(crate) fn buckets(&self) -> Buckets {
        self.query.buckets
    }

    /// Returns the columns of a series, if it was in the query.
    pub(crate) fn cells(&self, series: &Arc<DerivedSeries>) -> Option<&[CounterCell]> {
        self.cells.get(self.index_of(series)?).map(Vec::as_slice)
    }

    /// Returns the value range of a series in the view and for some views around it.
    pub(crate) fn range(&self, series: &Arc<DerivedSeries>) -> Option<(f64, f64)> {
        self.ranges.get(self.index_of(series)?).copied()
    }

    fn index_of(&self, series: &Arc<DerivedSeries>) -> Option<usize> {
        self.query.series.iter().position(|other| Arc::ptr_eq(other, series))
    }
}

impl ColumnLoader {
    /// Starts the thread, unless it runs.
    pub(crate) fn start(&mut self) -> io::Result<()> {
        if self.thread.is_some() {
            return Ok(());
        }
        let (queries, query_receiver) = unbounded::<ColumnQuery>();
        let (answers, answered) = unbounded();
        let work = move || {
            let mut ranges = RangeCache::default();
            while let Ok(query) = query_receiver.recv() {
                // Only the latest view is answered.
                let query = query_receiver.try_iter().last().unwrap_or(query);
                if answers.send(ColumnAnswer::new(query, &mut ranges)).is_err() {
                    return;
                }
            }
        };
        std::thread::Builder::new().name("derived tracks".to_owned()).spawn(work)?;
        self.thread = Some((queries, answered));
        Ok(())
    }

    /// Answers a query until a deadline. Returns whether the answer is late.
    pub(crate) fn prepare(&mut self, query: &ColumnQuery, deadline: Instant) -> bool {
        let is_answered = |answer: &Option<ColumnAnswer>| answer.as_ref().is_some_and(|answer| answer.query == *query);
        if is_answered(&self.answer) {
            return false;
        }
        let Some((queries, answers)) = &self.thread else {
            self.answer = Some(ColumnAnswer::new(query.clone(), &mut self.ranges));
            return false;
        };
        if self.latest_query.as_ref() != Some(query) {
            self.latest_query = Some(query.clone());
            if queries.send(query.clone()).is_err() {
                self.thread = None;
                return true;
            }
        }
        while let Ok(answer) = answers.recv_deadline(deadline) {
            self.answer = Some(answer);
            if is_answered(&self.answer) {
                return false;
            }
        }
        true
    }

    /// Returns the last answer, of this view or an earlier one.
    pub(crate) fn answer(&self) -> Option<&ColumnAnswer> {
        self.answer.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::base::cancel::Cancel;
    use crate::base::progress::Progress;
    use crate::query::derived::{DerivedKind, DerivedRoom, derive};
    use crate::query::scope::Scope;
    use crate::scene::tests::snapshot;

    fn series() -> Arc<DerivedSeries> {
        let spans = (0..100).map(|n| format!(r#"{{"ph":"X","name":"a","pid":1,"tid":1,"ts":{},"dur":1}}"#, n * 10));
        let snapshot = snapshot(&format!("[{}]", spans.collect::<Vec<_>>().join(",")));
        let room = DerivedRoom::new(std::env::temp_dir(), 1 << 20);
        let (cancel, progress) = (Cancel::default(), Progress::default());
        Arc::new(derive(&snapshot, &Scope::default(), &DerivedKind::Count, &room, &cancel, &progress).unwrap())
    }

    fn shown(loader: &ColumnLoader, series: &Arc<DerivedSeries>) -> Vec<CounterCell> {
        loader.answer().and_then(|answer| answer.cells(series)).map(<[_]>::to_vec).unwrap_or_default()
    }

    #[test]
    fn a_range_has_the_columns_in_view_and_stays_while_the_view_moves() {
        let series = series();
        let mut ranges = RangeCache::default();
        let mut range = |from_ns: i64, width_ns: u64| {
            let buckets = Buckets::covering(from_ns, from_ns + 200 * width_ns as i64, width_ns);
            let answer = ColumnAnswer::new(ColumnQuery { buckets, series: vec![Arc::clone(&series)] }, &mut ranges);
            let most = answer.cells(&series).unwrap().iter().map(|cell| cell.max).fold(0.0, f64::max);
            let (least, largest) = answer.range(&series).unwrap();
            assert!(least == 0.0 && largest >= most, "{largest} {most}");
            largest
        };
        // A span starts every 10 us.
        for (width_ns, most) in [(1 << 10, 1.0), (1 << 16, 7.0), (1 << 20, 100.0), (1 << 40, 100.0)] {
            for from_ns in [0, 3000, 500_000, 990_000] {
                assert_eq!(range(from_ns, width_ns), most, "{width_ns} {from_ns}");
            }
        }
        assert_eq!(range(i64::MAX - (1 << 20), 1 << 10), 0.0);
        assert_eq!(range(i64::MIN, 1 << 10), 0.0);
    }

    #[test]
    fn columns_in_time_are_those_of_waiting_and_late_ones_leave_those_before() {
        let series = series();
        let (mut threaded, mut waiting) = (ColumnLoader::default(), ColumnLoader::default());
        threaded.start().unwrap();
        let query = |width_ns| ColumnQuery {
            buckets: Buckets::covering(0, 1_000_000, width_ns),
            series: vec![Arc::clone(&series)],
        };
        let soon = || Instant::now() + Duration::from_mins(1);
        for width_ns in [1, 1000, 100_000] {
            assert!(!threaded.prepare(&query(width_ns), soon()));
            // Without a thread, deadlines are ignored.
            assert!(!waiting.prepare(&query(width_ns), Instant::now()));
            let cells = shown(&threaded, &series);
            assert!(!cells.is_empty() && cells == shown(&waiting, &series));
        }
        // An answer may arrive at once; whatever is shown is complete.
        let before = shown(&threaded, &series);
        let is_late = threaded.prepare(&query(16), Instant::now());
        assert_eq!(is_late, shown(&threaded, &series) == before);
        assert!(!threaded.prepare(&query(16), soon()));
        assert!(!waiting.prepare(&query(16), soon()));
        assert_eq!(shown(&threaded, &series), shown(&waiting, &series));
        // A series outside the query has no columns.
        assert!(shown(&threaded, &self::series()).is_empty());
    }
}
