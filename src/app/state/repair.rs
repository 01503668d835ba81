//! Imports open traces again if their cached store is damaged, or if new files allow their stacks to be unwound
//! further.

use super::{App, LoadSource};
use crate::app::notes::NoteKind;
use crate::app::open_trace::Growth;
use crate::app::tab::TabMessage;
use crate::ingest::CachePolicy;
use crate::store::cache::Cache;

impl App {
    /// Turns repairs off, for pictures without a window: these report damage instead.
    pub(in crate::app) fn disable_repair(&mut self) {
        if let Some(trace) = &mut self.tab_mut().trace {
            trace.is_repaired = true;
        }
    }

    /// Imports the trace of a tab again if its cached store is damaged. The view stays.
    pub(in crate::app) fn repair(&mut self, at: usize) {
        let tab = &self.tabs[at];
        let Some(trace) = &tab.trace else { return };
        let store = trace.timeline.snapshot().store();
        let is_due = !trace.is_repaired && store.damaged() > 0 && tab.can_be_read_again();
        if tab.is_busy() || tab.follow.is_some() || !is_due {
            return;
        }
        let (sources, forgotten) = (trace.sources.clone(), Cache::forget(store.path()));
        // With the cache, the import would use the damaged store again.
        let cache = if forgotten.is_err() { CachePolicy::None } else { self.options.load.cache.clone() };
        self.load_with(at, LoadSource::Files(sources.clone()), cache);
        let tab = &mut self.tabs[at];
        if let Err(error) = forgotten {
            let text = format!("{sources}: {error}");
            tab.show_message(TabMessage::for_tab("The sorted store is damaged", text));
        }
        tab.notes.set("The sorted store of this trace was damaged; the trace is sorted again.".to_owned());
        if let Some(trace) = &mut tab.trace {
            (trace.growth, trace.is_repaired) = (Growth::Grows, true);
        }
    }

    /// Imports a trace again whose stacks can be unwound with files that the user has just added. The view stays.
    pub(in crate::app) fn unwind_again(&mut self) {
        let Some(trace) = &self.tab().trace else { return };
        // The user has stopped at a part.
        let is_due = trace.has_other_stacks && trace.is_whole() && self.tab().can_be_read_again();
        if self.tab().is_busy() || self.tab().follow.is_some() || !is_due {
            return;
        }
        let sources = trace.sources.clone();
        self.load(self.shown_tab, LoadSource::Files(sources));
        let note = "Files for its stacks were found; the trace is sorted again.";
        self.tab_mut().notes.replace(NoteKind::Passing, note.to_owned());
        if let Some(trace) = &mut self.tab_mut().trace {
            (trace.growth, trace.has_other_stacks) = (Growth::Grows, false);
        }
    }
}
