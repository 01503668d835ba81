//! Closes tabs and the window. If something would be lost, a dialog asks first.

use super::close_request::{CloseRequest, CloseTarget};
use super::follow::FollowTask;
use super::opened_files::can_be_read_again;
use super::state::{App, Effect, WindowEffect};
use super::tab::Tab;
use crate::export::ExportFormat;
use crate::model::Sources;
use crate::ui::chrome::close_dialog::CloseQuestion;
use crate::ui::command::{AppCommand, CloseChoice, Command};
use crate::ui::purpose::Purpose;

/// Number of closed tabs that can be reopened. More would name files that the user has long forgotten.
const CLOSED_TABS_MAX: usize = 20;

impl App {
    /// Closes a tab; asks first if something would be lost.
    pub(super) fn close_tab(&mut self, tab: usize) {
        let Some(closed) = self.tabs.get(tab) else { return };
        let target = CloseTarget::Tab(closed.id);
        let losses: Vec<_> = closed.losses_of_close().into_iter().map(str::to_owned).collect();
        if losses.is_empty() {
            self.close_tab_at_once(tab);
        } else if self.dialogs.close_request.is_none() {
            self.show_tab(tab);
            self.ask_before_close(target, "Close the tab?", losses);
        }
    }

    /// Closes all tabs but one, from the right. A tab that would lose something stays, and asks first.
    pub(super) fn close_others(&mut self, kept: usize) {
        let Some(id) = self.tabs.get(kept).map(|tab| tab.id) else { return };
        for tab in (0..self.tabs.len()).rev() {
            if self.tabs.get(tab).is_some_and(|tab| tab.id != id) {
                self.close_tab(tab);
            }
        }
    }

    /// Returns whether the window may close. If not, it shows the first tab that would lose something, and asks. A
    /// second request by the desktop closes the window.
    pub(crate) fn may_quit(&mut self) -> bool {
        if self.dialogs.close_request.as_ref().is_some_and(|request| request.target == CloseTarget::Window) {
            return true;
        }
        let with_losses: Vec<_> = (0..self.tabs.len()).filter(|&tab| self.tabs[tab].has_loss_of_close()).collect();
        let Some(&first) = with_losses.first() else { return true };
        self.show_tab(first);
        let mut losses: Vec<_> = self.tab().losses_of_close().into_iter().map(str::to_owned).collect();
        match with_losses.len() - 1 {
            0 => {}
            1 => losses.push("Another tab would lose data too.".to_owned()),
            others => losses.push(format!("{others} other tabs would lose data too.")),
        }
        self.ask_before_close(CloseTarget::Window, "Quit Longspan?", losses);
        false
    }

    /// Quits by a command, which has no effect while the dialog is open: a key may be pressed twice.
    pub(super) fn quit(&mut self) -> Option<Effect> {
        let is_asked = self.dialogs.close_request.as_ref().is_some_and(|request| request.target == CloseTarget::Window);
        (!is_asked && self.may_quit()).then_some(Effect::Window(WindowEffect::Quit))
    }

    /// Closes, exports or keeps what the dialog asked about. Returns the effect of a confirmed quit.
    pub(super) fn answer_close(&mut self, choice: CloseChoice) -> Option<Effect> {
        let CloseRequest { target, asked, .. } = self.dialogs.close_request.take()?;
        match (choice, target) {
            (CloseChoice::Cancel, _) => None,
            (CloseChoice::Export, _) => {
                self.show_tab(self.position_of(asked)?);
                self.act(Command::App(AppCommand::Choose(Purpose::Export(ExportFormat::NATIVE))))
            }
            (CloseChoice::Discard, CloseTarget::Window) => Some(Effect::Window(WindowEffect::Quit)),
            (CloseChoice::Discard, CloseTarget::Tab(id)) => {
                if let Some(tab) = self.position_of(id) {
                    self.close_tab_at_once(tab);
                }
                None
            }
        }
    }

    fn ask_before_close(&mut self, target: CloseTarget, title: &'static str, losses: Vec<String>) {
        let can_export = self.tab().can_export() && self.tab().is_only_copy();
        let go_on = match target {
            CloseTarget::Window => "Quit anyway",
            CloseTarget::Tab(_) => "Close anyway",
        };
        let question = CloseQuestion { title, losses, can_export, go_on, is_new: true };
        self.dialogs.close_request = Some(CloseRequest { target, asked: self.tab().id, question });
    }

    fn close_tab_at_once(&mut self, tab: usize) {
        self.tabs[tab].save(self.options.folders.as_ref(), &self.writes);
        if let Some(sources) = self.tabs[tab].sources_to_reopen() {
            self.closed_tabs.push_back(sources.clone());
            if self.closed_tabs.len() > CLOSED_TABS_MAX {
                self.closed_tabs.pop_front();
            }
        }
        if self.tabs.len() == 1 {
            // A window always has a tab, even if it is empty.
            self.tabs = vec![self.new_tab()];
        } else {
            self.remove_tab(tab);
        }
    }
}

impl Tab {
    /// Returns the losses that closing would cause.
    fn losses_of_close(&self) -> Vec<&'static str> {
        let is_exporting = self.writing.is_some() || self.waiting_export.is_some();
        let export = is_exporting.then_some("An export is in progress, and would be stopped.");
        let received = self.is_only_copy().then_some("The received data is not saved, and would be discarded.");
        [export, received].into_iter().flatten().collect()
    }

    fn has_loss_of_close(&self) -> bool {
        !self.losses_of_close().is_empty()
    }

    /// Returns the files of the tab's trace, if they can be opened again.
    fn sources_to_reopen(&self) -> Option<&Sources> {
        match (&self.trace, &self.running) {
            _ if self.follow.is_some() => None,
            (Some(trace), _) => self.can_be_read_again().then_some(&trace.sources),
            (None, running) => running.as_ref().map(|running| &running.sources).filter(|all| can_be_read_again(all)),
        }
    }

    /// Returns whether the tab has rows that are nowhere else, or recorded bytes that are read only at the end.
    fn is_only_copy(&self) -> bool {
        let has_bytes = self.follow.as_ref().is_some_and(FollowTask::has_received);
        let has_rows = self.trace.as_ref().is_some_and(|trace| {
            let summary = trace.timeline.snapshot().summary();
            summary.spans + summary.instants + summary.counters + summary.samples > 0
        });
        self.has_only_copy() && (has_rows || has_bytes)
    }
}
