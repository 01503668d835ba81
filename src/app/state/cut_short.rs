//! Interrupted traces: opened like any trace, kept, or deleted after a confirmation. An open one stays on disk, and is
//! offered again at the next start.

use std::path::Path;
use std::time::UNIX_EPOCH;

use crate::app::state::App;
use crate::app::tasks;
use crate::base::escape::escaped;
use crate::live::spool_folder::{HeldFolder, LeftFolder};
use crate::ui::chrome::progress::bytes_text;
use crate::ui::command::CutShortCommand;
use crate::ui::cut_short::CutShortTrace;

impl App {
    /// Offers interrupted traces, the latest first.
    pub(in crate::app) fn offer_cut_short(&mut self, left: Vec<LeftFolder>) {
        let offered = |left: &LeftFolder| CutShortTrace {
            folder: left.path.clone(),
            title: left.sources().title(),
            bytes: left.bytes,
            rows: left.rows(),
            changed_s: left
                .changed
                .and_then(|at| at.duration_since(UNIX_EPOCH).ok())
                .map_or(0, |since| since.as_secs()),
        };
        self.cut_short.offered.traces = left.iter().map(offered).collect();
        self.cut_short.found = left;
    }

    pub(super) fn act_on_cut_short(&mut self, command: CutShortCommand) {
        match command {
            CutShortCommand::Open(folder) => self.recover(&folder),
            CutShortCommand::Keep(folder) => self.forget_cut_short(&folder),
            CutShortCommand::AskToDelete(folder) => self.cut_short.offered.asked = Some(folder),
            CutShortCommand::Delete(folder) => {
                let Some(held) = self.hold_cut_short(&folder) else { return };
                let bytes = bytes_text(held.folder.bytes);
                let said = match held.folder.remove() {
                    Ok(()) => format!("{bytes} deleted"),
                    Err(error) => format!("{}: {error}", folder.display()),
                };
                self.set_note(said);
                self.forget_cut_short(&folder);
            }
        }
    }

    /// Opens the recorded part of a trace like a followed trace that has ended.
    fn recover(&mut self, folder: &Path) {
        let Some(held) = self.hold_cut_short(folder) else { return };
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
        self.forget_cut_short(folder);
        self.cut_short.held.push(held);
    }

    /// Locks a folder against other windows; shows a note if one has it.
    fn hold_cut_short(&mut self, folder: &Path) -> Option<HeldFolder> {
        let left = self.cut_short.found.iter().find(|left| left.path == folder)?;
        let held = left.hold();
        if held.is_none() {
            self.reply("The data was removed, or is open in another window.".to_owned());
            self.forget_cut_short(folder);
        }
        held
    }

    fn forget_cut_short(&mut self, folder: &Path) {
        self.cut_short.offered.traces.retain(|trace| trace.folder != folder);
        self.cut_short.offered.asked = None;
    }
}
