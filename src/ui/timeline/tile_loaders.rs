//! The threads that load the tiles of a timeline.

use crate::tiles::loader::LoaderPool;

/// Enough to load the few summaries in view, on the remaining cores.
const SUMMARY_THREADS: usize = 2;

/// The pools of a timeline.
pub(super) struct TileLoaders {
    /// Loads the tiles of the rows; without it, frames wait for their tiles.
    rows: Option<LoaderPool>,
    /// Loads the tiles of folded processes and groups. Queries of their many lanes do not delay the queries of rows.
    summaries: Option<LoaderPool>,
}

impl TileLoaders {
    pub(super) fn new(rows: Option<LoaderPool>) -> Self {
        Self { rows, summaries: None }
    }

    pub(super) fn row_pool(&self) -> Option<&LoaderPool> {
        self.rows.as_ref()
    }

    /// Returns the pool of summaries, which starts when it is first used. Without a pool of rows there is none.
    pub(super) fn start_summary_pool(&mut self) -> Option<&LoaderPool> {
        if self.rows.is_some() && self.summaries.is_none() {
            self.summaries = LoaderPool::start(SUMMARY_THREADS).ok();
        }
        self.summaries.as_ref()
    }

    /// Drops a value with an entry per track on a thread of the pool.
    pub(super) fn drop_later(&self, value: impl Send + 'static) {
        if let Some(pool) = &self.rows {
            pool.drop_later(value);
        }
    }

    /// Makes frames wait for their tiles.
    pub(super) fn stop_rows(&mut self) {
        self.rows = None;
    }
}
