//! File dialogs of the system, and the window's own picker. A choice is for the tab in which its dialog was opened,
//! even if another tab is shown when the choice arrives.

use std::path::{Path, PathBuf};

use super::{App, Effect, WindowEffect, folder_of};
use crate::app::event::{DialogChoice, FileRequest, PickedPath, TaskId};
use crate::app::open_trace::OpenTrace;
use crate::app::tasks;
use crate::base::escape::escaped;
use crate::base::folders;
use crate::ui::chrome::file_picker::Picker;
use crate::ui::purpose::Purpose;

pub(in crate::app) struct OpenPicker {
    pub(in crate::app) picker: Picker,
    request: FileRequest,
    /// The last look-up of a path; the results of earlier look-ups are dropped.
    awaited: Option<TaskId>,
}

impl App {
    /// Returns the effect that shows a dialog of the system for the active tab.
    pub(super) fn choose(&self, purpose: Purpose) -> Effect {
        let request = self.request(purpose);
        let (suggested_name, folder) = (self.suggested_name(request), self.dialog_folder(request));
        Effect::Window(WindowEffect::Dialog { request, suggested_name, folder })
    }

    /// Creates a request for the active tab.
    pub(super) fn request(&self, purpose: Purpose) -> FileRequest {
        FileRequest { purpose, tab: self.tab().id }
    }

    /// Handles the result of a dialog of the system.
    pub(super) fn handle_choice(&mut self, choice: DialogChoice) {
        match choice {
            DialogChoice::Chosen(request, paths) => self.use_chosen(request, &paths),
            DialogChoice::Dismissed => {}
            DialogChoice::NoDialog(request) => self.show_picker(request),
        }
    }

    pub(super) fn show_picker(&mut self, request: FileRequest) {
        let folder = self.dialog_folder(request).or_else(|| std::env::current_dir().ok()).or_else(folders::home);
        let picker = Picker::new(request.purpose, folder.unwrap_or_default(), self.suggested_name(request));
        let first = picker.first_command();
        self.dialogs.picker = Some(OpenPicker { picker, request, awaited: None });
        self.act(first);
    }

    /// Lists the folder that the picker has entered.
    pub(super) fn list_folder(&mut self, folder: PathBuf) {
        if let Some(open) = &mut self.dialogs.picker {
            open.awaited = None;
        }
        tasks::list(folder, &self.wake);
    }

    /// Looks up a path of the picker, in place of the path pressed before.
    pub(super) fn pick_path(&mut self, path: PathBuf, replaces: bool) {
        let id = self.next_task();
        if let Some(open) = &mut self.dialogs.picker {
            open.awaited = Some(id);
            tasks::pick_path(id, open.request.purpose, path, replaces, &self.wake);
        }
    }

    /// Handles a path that was looked up, unless the picker was closed or awaits another path.
    pub(super) fn handle_picked(&mut self, id: TaskId, picked: PickedPath) {
        let Some(open) = self.dialogs.picker.as_mut().filter(|open| open.awaited == Some(id)) else { return };
        match picked {
            PickedPath::Folder(folder) => {
                let listing = open.picker.enter(folder);
                self.act(listing);
            }
            PickedPath::Existing => open.picker.warn_of_existing(),
            PickedPath::Missing(error) => open.picker.refuse(error),
            PickedPath::File(path) => {
                let request = open.request;
                self.dialogs.picker = None;
                self.use_chosen(request, &[path]);
            }
        }
    }

    /// Searches a folder or an archive for the symbols of a tab. A growing trace is sorted first.
    pub(super) fn locate_symbols(&mut self, at: usize, folder: &Path) {
        let tab = &mut self.tabs[at];
        let Some(trace) = &tab.trace else { return };
        if trace.grows() {
            tab.panels.locate_later(folder);
            tab.notes.reply(format!("{} is searched once the trace is sorted.", escaped(&folder.to_string_lossy())));
        } else {
            tab.panels.locate(folder, trace.timeline.snapshot());
        }
    }

    /// Returns the initial folder of a dialog: the folder of its tab's trace, or else of the last opened trace.
    fn dialog_folder(&self, request: FileRequest) -> Option<PathBuf> {
        let trace = self.tab_of(request.tab).and_then(|tab| tab.trace.as_ref());
        let of_trace = trace.and_then(|trace| folder_of(&trace.sources));
        of_trace.or_else(|| self.folder.clone()).filter(|folder| folder.is_dir())
    }

    fn suggested_name(&self, request: FileRequest) -> String {
        let trace = self.tab_of(request.tab).and_then(|tab| tab.trace.as_ref());
        request.purpose.suggested_name(&trace.map(OpenTrace::title).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::event::TaskEvent;
    use crate::app::stopped_tests::with_preview;
    use crate::app::tests::{Session, TWO_SPANS, file, snapshot};
    use crate::export::ExportFormat;
    use crate::ui::command::{AppCommand, Command, TabCommand};

    const ONE_SPAN: &str = r#"[{"ph":"X","name":"only","pid":1,"tid":1,"ts":0,"dur":5}]"#;

    /// Handles the results of this number of look-ups.
    fn handle_picked(session: &mut Session, mut count: usize) {
        while count > 0 {
            let event = session.events.recv_timeout(std::time::Duration::from_secs(20)).expect("a result");
            count -= usize::from(matches!(event, TaskEvent::Picked(..)));
            session.app.handle(event);
        }
    }

    #[test]
    fn a_file_is_written_from_the_tab_of_its_dialog_although_another_is_shown() {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("two.csv");
        let mut session = Session::new();
        session.app.open_files(&[file(folder.path(), "two.json", TWO_SPANS)]);
        session.finish_tasks();
        let request = session.app.request(Purpose::Export(ExportFormat::CSV));
        session.app.open_files(&[file(folder.path(), "one.json", ONE_SPAN)]);
        session.finish_tasks();
        assert_eq!(session.app.title(), "one.json - Longspan");
        session.app.handle(TaskEvent::Chosen(DialogChoice::Chosen(request, vec![out.clone()])));
        session.finish_tasks();
        let written = std::fs::read_to_string(&out).unwrap();
        assert!(written.contains("alpha") && !written.contains("only"), "{written}");
        assert!(!session.app.note().contains("written"), "{}", session.app.note());
        // The tab is closed before the next file is chosen.
        session.app.act(Command::Tab(TabCommand::CloseAt(0)));
        let late = folder.path().join("late.csv");
        session.app.handle(TaskEvent::Chosen(DialogChoice::Chosen(request, vec![late.clone()])));
        assert!(
            session.app.message().is_some_and(|text| text.contains("tab was closed")),
            "{:?}",
            session.app.message()
        );
        assert!(session.app.tab().writing.is_none() && !late.exists());
    }

    #[test]
    fn a_path_of_a_cancelled_picker_is_not_written() {
        let folder = tempfile::tempdir().unwrap();
        let mut session = Session::new();
        session.app.show_trace(snapshot(TWO_SPANS), "two".into(), false);
        session.open_picker(Purpose::Export(ExportFormat::CSV));
        session.pick(&folder.path().join("out.csv"));
        session.app.act(Command::App(AppCommand::ClosePicker));
        // Another picker does not take the result either.
        session.open_picker(Purpose::Export(ExportFormat::CSV));
        handle_picked(&mut session, 1);
        assert!(session.app.tab().writing.is_none() && session.app.dialogs.picker.is_some());
    }

    /// Returns the folders that are searched for the symbols of a trace with sampled code.
    fn symbol_folders(session: &mut Session) -> Vec<PathBuf> {
        let snapshot = session.app.timeline_mut().expect("a timeline").snapshot().clone();
        session.app.tab().panels.symbol_folders(&snapshot).to_vec()
    }

    /// Handles the result of one look-up, and drops other events.
    fn handle_only_picked(session: &mut Session) {
        let is_picked = |event: &TaskEvent| matches!(event, TaskEvent::Picked(..));
        let mut next = || session.events.recv_timeout(std::time::Duration::from_secs(20)).expect("a result");
        let event = std::iter::repeat_with(&mut next).find(is_picked).expect("endless");
        session.app.handle(event);
    }

    #[test]
    fn a_folder_or_an_archive_chosen_for_symbols_is_searched_and_not_entered() {
        let folder = tempfile::tempdir().unwrap();
        let archive = file(folder.path(), "symbols.tar", "");
        let (mut session, _) = with_preview(folder.path());
        let request = session.app.request(Purpose::SymbolArchive);
        session.app.handle(TaskEvent::Chosen(DialogChoice::Chosen(request, vec![archive.clone()])));
        assert_eq!(symbol_folders(&mut session), std::slice::from_ref(&archive));
        // Without dialogs of the system.
        session.open_picker(Purpose::SymbolFolder);
        session.pick(&folder.path().join("missing"));
        handle_only_picked(&mut session);
        assert!(session.app.dialogs.picker.is_some(), "a missing folder is refused");
        session.pick(folder.path());
        handle_only_picked(&mut session);
        assert!(session.app.dialogs.picker.is_none());
        assert_eq!(symbol_folders(&mut session), [folder.path().to_owned(), archive]);
    }

    #[test]
    fn a_folder_chosen_to_open_or_as_an_archive_is_entered() {
        let folder = tempfile::tempdir().unwrap();
        for purpose in [Purpose::Open, Purpose::SymbolArchive] {
            let mut session = Session::new();
            session.open_picker(purpose);
            session.pick(folder.path());
            handle_only_picked(&mut session);
            assert!(session.app.dialogs.picker.is_some(), "{purpose:?}");
        }
    }

    #[test]
    fn a_file_that_is_picked_twice_is_opened_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = file(folder.path(), "two.json", TWO_SPANS);
        let mut session = Session::new();
        session.open_picker(Purpose::Open);
        (0..2).for_each(|_| session.pick(&path));
        handle_picked(&mut session, 2);
        session.finish_tasks();
        assert_eq!((session.app.tab_count(), session.app.title().as_str()), (1, "two.json - Longspan"));
    }
}
