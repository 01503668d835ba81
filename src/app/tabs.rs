//! Several traces in one window: opens and switches tabs. Inactive tabs continue their background work, but are
//! not drawn.

use super::state::{App, Effect};
use super::tab::{Tab, TabMessage};
use super::tasks::LoadSource;
use crate::app::event::{TabId, TaskError};
use crate::model::Sources;
use crate::ui::chrome::tab_bar::TabTitle;
use crate::ui::command::TabCommand;

impl App {
    pub(super) fn tab(&self) -> &Tab {
        &self.tabs[self.shown_tab]
    }

    pub(super) fn tab_mut(&mut self) -> &mut Tab {
        &mut self.tabs[self.shown_tab]
    }

    /// Returns the tab with this id; `None` if it is closed.
    pub(super) fn tab_of(&self, id: TabId) -> Option<&Tab> {
        self.tabs.iter().find(|tab| tab.id == id)
    }

    /// Returns the index of a tab; `None` if it is closed.
    pub(super) fn position_of(&self, id: TabId) -> Option<usize> {
        self.tabs.iter().position(|tab| tab.id == id)
    }

    /// Returns the number of tabs, at least one.
    #[must_use]
    pub fn tab_count(&self) -> usize {
        self.tabs.len()
    }

    /// Opens a trace in a new tab, or in the active tab if it is empty.
    pub(super) fn open_in_tab(&mut self, source: LoadSource) {
        let position_of = |is_tab: fn(&Tab, &Sources) -> bool| match &source {
            LoadSource::Files(sources) => self.tabs.iter().position(|tab| is_tab(tab, sources)),
            LoadSource::Demo => None,
        };
        if let Some(importing) = position_of(Tab::is_importing) {
            self.show_tab(importing);
            return;
        }
        if let Some(open) = position_of(Tab::shows_same_files) {
            // The trace is imported again, because it may have changed.
            self.show_tab(open);
        } else {
            self.show_tab_for_more();
        }
        self.clear_earlier_notes();
        self.load(self.shown_tab, source);
    }

    /// Clears the notes about an earlier content of the active tab. A note about the start also belongs to the trace
    /// that opens with it.
    pub(super) fn clear_earlier_notes(&mut self) {
        if !self.tab().awaits_trace {
            self.tab_mut().notes.clear();
        }
    }

    /// Activates an empty tab: the active one, or a new one beside it.
    pub(super) fn show_tab_for_more(&mut self) {
        if !self.tab().is_empty() {
            let tab = self.new_tab();
            self.tabs.insert(self.shown_tab + 1, tab);
            self.show_tab(self.shown_tab + 1);
        }
    }

    pub(super) fn act_on_tabs(&mut self, command: TabCommand) -> Option<Effect> {
        let count = self.tabs.len();
        match command {
            TabCommand::Next => self.show_tab((self.shown_tab + 1) % count),
            TabCommand::Previous => self.show_tab((self.shown_tab + count - 1) % count),
            TabCommand::Show(tab) => self.show_tab(tab),
            TabCommand::Close => self.close_tab(self.shown_tab),
            TabCommand::CloseAt(tab) => self.close_tab(tab),
            TabCommand::CloseOthers(tab) => self.close_others(tab),
            TabCommand::Reopen => {
                // A tab that was reopened meanwhile would be imported again.
                while let Some(sources) = self.closed_tabs.pop_back() {
                    if !self.tabs.iter().any(|tab| tab.shows_same_files(&sources) || tab.is_importing(&sources)) {
                        self.open_in_tab(LoadSource::Files(sources));
                        return None;
                    }
                }
                self.reply("All closed tabs are open again.".to_owned());
            }
            TabCommand::CopyPaths(tab) => {
                let paths: Vec<_> = self.tabs.get(tab)?.paths().map(|path| path.display().to_string()).collect();
                return Some(Effect::Copy(paths.join("\n")));
            }
        }
        None
    }

    /// Returns title and state of each tab, for the tab bar.
    pub(super) fn tab_titles(&self) -> Vec<TabTitle> {
        let title = |(index, tab): (usize, &Tab)| TabTitle {
            text: tab.title(),
            progress_fraction: tab.tasks().next().map(|task| task.progress.view().fraction().unwrap_or(0.0)),
            has_failed: tab.messages.iter().any(|message| message.concerns_tab),
            is_shown: index == self.shown_tab,
            files: tab.paths().take(2).count(),
            reload_disabled: tab.reload_state().disabled_reason(),
        };
        self.tabs.iter().enumerate().map(title).collect()
    }

    /// Returns titles and states as if the tasks had just started.
    pub(super) fn tab_titles_without_progress(&self) -> Vec<TabTitle> {
        self.tab_titles()
            .into_iter()
            .map(|title| TabTitle { progress_fraction: title.progress_fraction.and(Some(0.0)), ..title })
            .collect()
    }

    /// Shows an error; an empty tab is closed, and the previous tab shows the error. `concerns_tab` is whether the
    /// error is about the content of the tab.
    pub(super) fn fail(&mut self, at: usize, title: &'static str, error: TaskError, concerns_tab: bool) {
        let is_gone = self.tabs[at].is_empty() && self.tabs.len() > 1;
        let at = if is_gone { self.remove_tab(at) } else { at };
        let tab = &mut self.tabs[at];
        match error {
            TaskError::Cancelled => tab.notes.set("Stopped.".to_owned()),
            TaskError::Damaged(text) | TaskError::Failed(text) => {
                tab.show_message(TabMessage { title, text, concerns_tab: concerns_tab && !is_gone });
            }
        }
    }

    pub(super) fn new_tab(&mut self) -> Tab {
        self.tabs_opened += 1;
        Tab::new(TabId(self.tabs_opened), &self.wake)
    }

    pub(super) fn show_tab(&mut self, tab: usize) {
        if tab == self.shown_tab || tab >= self.tabs.len() {
            return;
        }
        // Tiles of an inactive timeline are loaded again when it is shown.
        if let Some(timeline) = self.tab_mut().timeline_mut() {
            timeline.release_tiles();
        }
        self.shown_tab = tab;
        self.dialogs.picker = None;
    }

    /// Removes a tab, and returns the index of the tab that takes its place.
    pub(super) fn remove_tab(&mut self, tab: usize) -> usize {
        self.tabs.remove(tab);
        let before = tab.saturating_sub(1);
        if self.shown_tab > tab {
            self.shown_tab -= 1;
        } else if self.shown_tab == tab {
            self.shown_tab = before;
        }
        before
    }
}

#[cfg(test)]
mod tests;
