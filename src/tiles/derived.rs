//! The columns of derived tracks in view, answered by a thread of their own: a page of a curve that is not in memory
//! holds up no frame. Until an answer comes, the one before is drawn at its own times.

use std::io;
use std::sync::Arc;
use std::time::Instant;

use crossbeam_channel::{Receiver, Sender, unbounded};

use crate::query::derived::DerivedSeries;
use crate::query::{Buckets, CounterCell};

/// Curves, and the columns to answer.
#[derive(Debug, Clone)]
pub(crate) struct ColumnQuery {
    pub(crate) buckets: Buckets,
    pub(crate) series: Vec<Arc<DerivedSeries>>,
}

/// The columns of each curve of a query.
#[derive(Debug)]
pub(crate) struct ColumnAnswer {
    query: ColumnQuery,
    cells: Vec<Vec<CounterCell>>,
}

/// Answers queries in the background, and keeps the last answer.
#[derive(Default)]
pub(crate) struct ColumnLoader {
    /// Without it, frames wait.
    thread: Option<(Sender<ColumnQuery>, Receiver<ColumnAnswer>)>,
    asked: Option<ColumnQuery>,
    answer: Option<ColumnAnswer>,
}

impl PartialEq for ColumnQuery {
    fn eq(&self, other: &Self) -> bool {
        let are_same = |(one, other): (&Arc<DerivedSeries>, &Arc<DerivedSeries>)| Arc::ptr_eq(one, other);
        self.buckets == other.buckets
            && self.series.len() == other.series.len()
            && self.series.iter().zip(&other.series).all(are_same)
    }
}

impl ColumnAnswer {
    fn new(query: ColumnQuery) -> Self {
        let columns = |series: &Arc<DerivedSeries>| {
            let mut cells = Vec::new();
            series.columns(query.buckets, &mut cells);
            cells
        };
        Self { cells: query.series.iter().map(columns).collect(), query }
    }

    /// The columns that were answered.
    pub(crate) fn buckets(&self) -> Buckets {
        self.query.buckets
    }

    /// The columns of a curve, if it was in the query.
    pub(crate) fn cells(&self, series: &Arc<DerivedSeries>) -> Option<&[CounterCell]> {
        let at = self.query.series.iter().position(|known| Arc::ptr_eq(known, series))?;
        self.cells.get(at).map(Vec::as_slice)
    }
}

impl ColumnLoader {
    /// Starts the thread, unless it runs.
    pub(crate) fn start(&mut self) -> io::Result<()> {
        if self.thread.is_some() {
            return Ok(());
        }
        let (queries, asked) = unbounded::<ColumnQuery>();
        let (answers, answered) = unbounded();
        let work = move || {
            while let Ok(query) = asked.recv() {
                // Only the last view is wanted.
                let query = asked.try_iter().last().unwrap_or(query);
                if answers.send(ColumnAnswer::new(query)).is_err() {
                    return;
                }
            }
        };
        std::thread::Builder::new().name("derived tracks".to_owned()).spawn(work)?;
        self.thread = Some((queries, answered));
        Ok(())
    }

    /// Has the columns of a query answered, until a deadline. Returns whether they are late.
    pub(crate) fn prepare(&mut self, query: &ColumnQuery, deadline: Instant) -> bool {
        let is_answered = |answer: &Option<ColumnAnswer>| answer.as_ref().is_some_and(|answer| answer.query == *query);
        if is_answered(&self.answer) {
            return false;
        }
        let Some((queries, answers)) = &self.thread else {
            self.answer = Some(ColumnAnswer::new(query.clone()));
            return false;
        };
        if self.asked.as_ref() != Some(query) {
            self.asked = Some(query.clone());
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

    /// The last answer, of this view or of one before.
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
            // Without a thread, no deadline counts.
            assert!(!waiting.prepare(&query(width_ns), Instant::now()));
            let cells = shown(&threaded, &series);
            assert!(!cells.is_empty() && cells == shown(&waiting, &series));
        }
        // An answer may come at once; whatever is shown is whole.
        let before = shown(&threaded, &series);
        let is_late = threaded.prepare(&query(16), Instant::now());
        assert_eq!(is_late, shown(&threaded, &series) == before);
        assert!(!threaded.prepare(&query(16), soon()));
        assert!(!waiting.prepare(&query(16), soon()));
        assert_eq!(shown(&threaded, &series), shown(&waiting, &series));
        // A curve that was not asked for has no columns.
        assert!(shown(&threaded, &self::series()).is_empty());
    }
}
