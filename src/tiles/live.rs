//! The tiles of a view: loaded in the background between frames, or at once for a picture.

use std::sync::Arc;
use std::time::Instant;

use super::cache::Tiles;
use super::loader::{LoaderPool, PauseGuard, TileLoader, TileRequest, ahead_of_zoom};
use super::source::{TileOwner, TileSource};
use crate::query::{Buckets, Snapshot};
use crate::scene::viewport::Viewport;
use crate::store::lane::LaneKind;

/// The cached tiles, and the loader of missing ones.
#[derive(Default)]
pub(crate) struct LiveTiles {
    tiles: Tiles,
    /// Without a loader, frames wait for all their tiles.
    loader: Option<TileLoader>,
    view: Option<Viewport>,
    /// The view before `view`, from which the direction of a zoom is derived.
    came_from: Option<Viewport>,
    /// Whether tiles were loaded for an earlier snapshot of the trace.
    has_grown: bool,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct FrameQuery<'a> {
    /// The time range in view.
    pub(crate) view: &'a Viewport,
    pub(crate) buckets: Buckets,
    pub(crate) owners: &'a [(TileOwner, LaneKind)],
    /// When the frame stops waiting for tiles.
    pub(crate) deadline: Instant,
}

impl LiveTiles {
    /// Loads tiles of a trace with `pool` from now on. Without a pool, frames wait for their tiles.
    pub(crate) fn load_with(&mut self, source: Arc<dyn TileSource>, pool: Option<&LoaderPool>) {
        self.loader = pool.map(|pool| TileLoader::new(source, pool));
    }

    /// Drops all tiles. The next frame loads the visible tiles again.
    pub(crate) fn forget(&mut self) {
        self.tiles = Tiles::default();
    }

    /// Switches to a later snapshot of the same trace, with more rows sorted. The old tiles are drawn until the new
    /// ones are loaded.
    pub(crate) fn update_snapshot(&mut self, earlier: &Snapshot, later: &Snapshot, pool: Option<&LoaderPool>) {
        self.tiles.outdate(|owner| match owner {
            TileOwner::Lane(lane) => {
                later.lane_since(earlier, lane).map(|lane| (TileOwner::Lane(lane), later.lane(lane)))
            }
            // Summaries are built again for the later snapshot.
            TileOwner::Custom(_) | TileOwner::Process(_) | TileOwner::Tracks(_) => None,
        });
        self.load_with(Arc::new(later.clone()), pool);
        self.has_grown = true;
    }

    /// Loads the tiles of a frame, as far as they arrive in time. Workers pause until the returned guard is dropped,
    /// when the frame is built.
    pub(crate) fn prepare(&mut self, source: &dyn TileSource, query: FrameQuery<'_>) -> Option<PauseGuard> {
        let FrameQuery { view, buckets, owners, deadline } = query;
        if self.view != Some(*view) {
            self.came_from = self.view.replace(*view);
        }
        let Some(loader) = &self.loader else {
            self.tiles.prepare(source, buckets, owners);
            return None;
        };
        // Tiles of a growing trace are loaded again and again, so only a movement is a reason to load more.
        let before = self.came_from.or((!self.has_grown).then_some(*view));
        let ahead = before.and_then(|before| ahead_of_zoom(&before, view, buckets));
        let patience = deadline.saturating_duration_since(Instant::now());
        Some(loader.prepare(&mut self.tiles, TileRequest { buckets, owners, ahead }, patience))
    }

    /// Returns the cached tiles; some of the last request may be missing.
    #[must_use]
    pub(crate) fn cached(&self) -> &Tiles {
        &self.tiles
    }
}
