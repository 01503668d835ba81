//! Interrupted traces: opened like any trace, kept, or deleted after a confirmation. An open trace stays on disk, and
//! is offered again at the next start.

use std::path::Path;
use std::time::UNIX_EPOCH;

use crate::app::state::App;
use crate::app::tasks;
use crate::base::escape::escaped;
use crate::live::spool_folder::{HeldFolder, LeftFolder};
use crate::ui::chrome::progress::bytes_text;
use crate::ui::command::InterruptedCommand;
use crate::ui::interrupted_traces::InterruptedTrace;

impl App {
    /// Offers interrupted traces, the latest first.
    pub(in crate::app) fn offer_interrupted(&mut self, left: Vec<LeftFolder>) {
        let offered = |left: &LeftFolder| InterruptedTrace {
            folder: left.path.clone(),
            title: left.sources().title(),
            bytes: left.bytes,
            rows: left.rows(),
            changed_s: left
                .changed
                .and_then(|at| at.duration_since(UNIX_EPOCH).ok())
                .map_or(0, |since| since.as_secs()),
        };
        self.interrupted.offered.traces = left.iter().map(offered).collect();
        self.interrupted.found = left;
    }

    pub(super) fn act_on_interrupted(&mut self, command: InterruptedCommand) {
        match command {
            InterruptedCommand::Open(folder) => self.recover(&folder),
            InterruptedCommand::Keep(folder) => self.forget_interrupted(&folder),
            InterruptedCommand::AskToDelete(folder) => self.interrupted.offered.asked = Some(folder),
            InterruptedCommand::Delete(folder) => {
                let Some(held) = self.hold_interrupted(&folder) else { return };
                let bytes = bytes_text(held.folder.bytes);
                let said = match held.folder.remove() {
                    Ok(()) => format!("{bytes} deleted"),
                    Err(error) => format!("{}: {error}", folder.display()),
                };
                self.set_note(said);
                self.forget_interrupted(&folder);
            }
        }
    }

    /// Opens the recorded part of a trace like a followed trace that has ended.
    fn recover(&mut self, folder: &Path) {
        let Some(held) = self.hold_interrupted(folder) else { return };
        self.show_tab_for_more();
        self.clear_earlier_notes();
        let (id, load, reader) = (self.next_task(), self.options.load.clone(), self.timeline_reader());
        let sources = held.folder.sources();
        let tab = &mut self.tabs[self.shown_tab];
        tab.keep_unread_messages();
        tab.awaits_trace = false;
        tab.running = Some(tasks::load_spooled(id, sources, load, reader, &tab.wake));
        tab.notes
            .add(format!("Export it to keep it for longer: so far it is in {}", escaped(&folder.to_string_lossy())));
        self.forget_interrupted(folder);
        self.interrupted.held.push(held);
    }

    /// Locks a folder against other windows; shows a note if another window has locked it.
    fn hold_interrupted(&mut self, folder: &Path) -> Option<HeldFolder> {
        let left = self.interrupted.found.iter().find(|left| left.path == folder)?;
        let held = left.hold();
        if held.is_none() {
            self.reply("The data was removed, or is open in another window.".to_owned());
            self.forget_interrupted(folder);
        }
        held
    }

    fn forget_interrupted(&mut self, folder: &Path) {
        self.interrupted.offered.traces.retain(|trace| trace.folder != folder);
        self.interrupted.offered.asked = None;
    }
}
