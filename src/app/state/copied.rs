//! The texts that the application copies to the clipboard.

use super::App;
use crate::app::pasted::Pasted;
use crate::app::tab::TabMessage;
use crate::app::tasks;
use crate::base::time::grouped_digits;
use crate::scene::labels::shown;
use crate::ui::command::COPY_BYTES_MAX;
use crate::ui::panel::DockTab;

impl App {
    /// Returns the selected span as text; `None` without a selection.
    pub(super) fn selected_span_text(&self) -> Option<String> {
        let trace = self.tab().trace.as_ref()?;
        Some(trace.details.as_ref()?.as_text(trace.timeline.clock()))
    }

    /// Returns the statistics table of a tab of the dock as CSV; shows a note if it is not counted.
    pub(super) fn statistics_csv(&mut self, shown: DockTab) -> Option<String> {
        let cells = self.cells();
        let tab = self.tab_mut();
        let table = tab.panels.table_of(shown, &tab.trace.as_ref()?.timeline);
        if table.is_none() {
            self.reply("The statistics of this scope are not counted yet.".to_owned());
        }
        Some(table?.to_csv(cells, COPY_BYTES_MAX))
    }

    /// Returns the table of a panel as text; shows a note if the text is only a part of the table.
    pub(super) fn panel_text(&mut self, shown: DockTab) -> Option<String> {
        let cells = self.cells();
        let tab = self.tab_mut();
        let timeline = &tab.trace.as_ref()?.timeline;
        let text = tab.panels.copied(shown, timeline, cells)?;
        if let Some((copied, all)) = tab.panels.copied_part(shown) {
            let (copied, all) = (grouped_digits(copied), grouped_digits(all));
            self.reply(format!("{copied} of {all} rows are copied. Export... writes all of them."));
        }
        Some(text)
    }

    /// Returns the command line with the same result as a panel; shows a note if there is none.
    pub(super) fn command_line(&mut self, dock_tab: DockTab) -> Option<String> {
        let line = self.tab_mut().panels.command_line(dock_tab)?;
        let tab = self.tab();
        let trace = tab.trace.as_ref()?;
        let snapshot = trace.timeline.snapshot();
        let scope = tab.panels.scope_of(dock_tab).unwrap_or_else(|| trace.timeline.scope());
        let text = line.text(&trace.sources, snapshot, scope, tab.panels.symbol_folders(snapshot));
        let changed = if trace.timeline.is_live() {
            Some(
                "The trace is live: the command reads the data present when it runs, so its numbers may differ."
                    .to_owned(),
            )
        } else {
            trace.files.stamps.first_changed().map(|path| {
                let path = shown(&path.to_string_lossy()).into_owned();
                format!("{path} has changed since it was opened, and the command reads it as it is now.")
            })
        };
        match &text {
            Ok(_) => {
                let omits = "The copied command prints all rows: it has no option for the filter field.";
                let notes = line.omits_words.then(|| omits.to_owned()).into_iter().chain(changed);
                let note = notes.collect::<Vec<_>>().join(" ");
                let copied = "The command is copied: paste it into a terminal.";
                self.reply(if note.is_empty() { copied.to_owned() } else { note });
            }
            Err(reason) => self.reply(reason.to_string()),
        }
        text.ok()
    }

    /// Opens the files in a text, one path or file URL per line, as one trace. Parsed in the background, because the
    /// text may be long and its files on a slow disk.
    pub(crate) fn paste(&mut self, text: String) {
        tasks::read_pasted(text, &self.wake);
    }

    /// Opens the files in a pasted text. Lines without a file are skipped, with a note in the status bar.
    pub(super) fn open_pasted(&mut self, pasted: Pasted) {
        let Pasted { lines, paths, missing, chosen } = pasted;
        if paths == 0 {
            self.reply("The copied text is not a file path.".to_owned());
            return;
        }
        self.open_chosen(chosen);
        if !missing.is_empty() {
            let (title, text) = ("Not every file can be opened", missing.join("\n"));
            self.tab_mut().show_message(TabMessage { title, text, concerns_tab: false });
        }
        if paths < lines {
            self.reply(format!("{paths} of {lines} copied lines are file paths; the others were skipped."));
        }
    }
}
