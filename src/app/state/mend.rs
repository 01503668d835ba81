//! Captures that are sorted again while they are open: those whose cached store turns out to be damaged, and those
//! with stacks that can be unwound further by files that were found since.

use super::{App, LoadSource};
use crate::app::tab::TabMessage;
use crate::ingest::CachePolicy;
use crate::store::cache::Cache;

impl App {
    /// Leaves a damaged store to the caller, who has no tabs to load into.
    pub(in crate::app) fn leave_damage(&mut self) {
        if let Some(capture) = &mut self.tab_mut().capture {
            capture.is_mended = true;
        }
    }

    /// Sorts a capture again of which the kept store turned out to be damaged. What is looked at stays in view.
    pub(in crate::app) fn mend(&mut self) {
        let Some(capture) = &self.tab().capture else { return };
        let store = capture.timeline.snapshot().store();
        if self.tab().running.is_some() || self.tab().follow.is_some() || capture.is_mended || store.damaged() == 0 {
            return;
        }
        let (sources, forgotten) = (capture.sources.clone(), Cache::forget(store.path()));
        // The loads of other tabs keep their cache.
        let cache = self.options.load.cache.clone();
        if forgotten.is_err() {
            // From there, the load would take the damaged store again.
            self.options.load.cache = CachePolicy::None;
        }
        let export = self.tab_mut().export.take();
        self.load(LoadSource::Files(sources.clone()));
        self.options.load.cache = cache;
        self.tab_mut().export = export;
        if let Err(error) = forgotten {
            self.tab_mut().message =
                Some(TabMessage::of_tab("The sorted store is damaged", format!("{sources}: {error}")));
        }
        "The sorted store of this trace was damaged; the trace is sorted again.".clone_into(&mut self.tab_mut().note);
        if let Some(capture) = &mut self.tab_mut().capture {
            (capture.grows, capture.is_mended) = (true, true);
        }
    }

    /// Sorts a capture again whose stacks are unwound by files that the user has just located. What is looked at stays
    /// in view.
    pub(in crate::app) fn unwind_again(&mut self) {
        let Some(capture) = &self.tab().capture else { return };
        if self.tab().running.is_some() || self.tab().follow.is_some() || !capture.has_other_stacks {
            return;
        }
        let sources = capture.sources.clone();
        self.load(LoadSource::Files(sources));
        "Files that stacks are unwound by were found; the trace is sorted again.".clone_into(&mut self.tab_mut().note);
        if let Some(capture) = &mut self.tab_mut().capture {
            (capture.grows, capture.has_other_stacks) = (true, false);
        }
    }
}
