//! The texts that the application copies to the clipboard.

use super::App;
use crate::app::pasted::Pasted;
use crate::app::tab::TabMessage;
use crate::app::tasks;
use crate::ui::panel::Panel;

impl App {
    /// The selected span as text; `None` where none is selected.
    pub(super) fn selected_span_text(&self) -> Option<String> {
        Some(self.tab().capture.as_ref()?.details.as_ref()?.as_text())
    }

    /// The table of statistics as CSV.
    pub(super) fn statistics_csv(&mut self) -> Option<String> {
        let cells = self.cells();
        let tab = self.tab_mut();
        let snapshot = tab.capture.as_ref()?.timeline.snapshot().clone();
        Some(tab.panels.table_of(Panel::Statistics, &snapshot)?.to_csv(cells))
    }

    /// The command line that gives the same as a panel; says so where there is none.
    pub(super) fn command_line(&mut self, panel: Panel) -> Option<String> {
        let line = self.tab_mut().panels.command_line(panel)?;
        let capture = self.tab().capture.as_ref()?;
        let text = line.text(&capture.sources, capture.timeline.snapshot(), capture.timeline.scope());
        if text.is_none() {
            self.set_note(
                "No options of a command name exactly these tracks: take whole processes or threads.".to_owned(),
            );
        }
        text
    }

    /// Opens the files whose paths a text holds, a path or the address of a file on each line, as one capture. The text
    /// may be long and its files far away: it is read in the background.
    pub(crate) fn paste(&mut self, text: String) {
        tasks::read_pasted(text, &self.wake);
    }

    /// Opens the files that a pasted text names. Lines that name no file are left out, and the status bar says so.
    pub(super) fn open_pasted(&mut self, pasted: Pasted) {
        let Pasted { lines, paths, missing, chosen } = pasted;
        if paths == 0 {
            self.set_note("What was copied is no path of a file.".to_owned());
            return;
        }
        self.open_chosen(chosen);
        if !missing.is_empty() {
            let (title, text) = ("Not every file can be opened", missing.join("\n"));
            self.tab_mut().message = Some(TabMessage { title, text, is_of_tab: false });
        }
        if paths < lines {
            self.set_note(format!("Of {lines} lines that were copied, {paths} name a file; the others were left out."));
        }
    }
}
