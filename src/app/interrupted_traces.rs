//! Finds interrupted traces, whose live window was killed, in the background at the start.

use std::sync::Arc;

use super::background::spawn;
use super::event::{TaskEvent, Wake};
use crate::ingest::{CachePolicy, LoadOptions};
use crate::live::spool_folder::{FOLLOWED, HeldFolder, LeftFolder};
use crate::ui::interrupted_traces::InterruptedOffer;

/// Traces that killed windows left in their spool folders.
#[derive(Debug, Default)]
pub(super) struct InterruptedTraces {
    /// Traces to offer on the welcome page.
    pub(super) offered: InterruptedOffer,
    /// All that the search at the start has found.
    pub(super) found: Vec<LeftFolder>,
    /// Open traces, with their locks.
    pub(super) held: Vec<HeldFolder>,
}

/// Searches for traces that killed windows left.
pub(super) fn search(load: &LoadOptions, wake: &Wake) {
    let CachePolicy::Folder(cache) = &load.cache else { return };
    let (parent, wake) = (cache.join(FOLLOWED), Arc::clone(wake));
    let work = move || {
        let mut left = LeftFolder::all(&parent).unwrap_or_default();
        left.retain(|left| left.bytes > 0);
        if !left.is_empty() {
            wake(TaskEvent::FoundInterrupted(left));
        }
    };
    spawn("look", work).ok(); // they are found at the next start
}
