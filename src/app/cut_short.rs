//! Traces that were followed until their window was killed, looked for in the background at the start.

use std::sync::Arc;

use super::background::spawn;
use super::event::{TaskEvent, Wake};
use crate::ingest::{CachePolicy, LoadOptions};
use crate::live::spool_folder::{FOLLOWED, HeldFolder, LeftFolder};
use crate::ui::cut_short::CutShort;

/// The traces that were cut short.
#[derive(Debug, Default)]
pub(super) struct CutShortTraces {
    /// Those that are not dealt with yet, as the welcome page shows them.
    pub(super) offered: CutShort,
    /// All that were found.
    pub(super) found: Vec<LeftFolder>,
    /// Those that are open.
    pub(super) held: Vec<HeldFolder>,
}

/// Looks for traces that killed windows left.
pub(super) fn look(load: &LoadOptions, wake: &Wake) {
    let CachePolicy::Folder(cache) = &load.cache else { return };
    let (parent, wake) = (cache.join(FOLLOWED), Arc::clone(wake));
    let work = move || {
        let mut left = LeftFolder::all(&parent).unwrap_or_default();
        left.retain(|left| left.bytes > 0);
        left.sort_by_key(|left| std::cmp::Reverse(left.changed));
        if !left.is_empty() {
            wake(TaskEvent::CutShort(left));
        }
    };
    spawn("look", work).ok(); // they are found at the next start
}
