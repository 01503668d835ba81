//! A panel of the dock: the trait that the dock drives every panel by, and the view of the trace that each panel gets.

use egui::Ui;

use super::PanelContext;
use super::details::DetailsPanel;
pub(crate) use super::dock::PanelTools;
use crate::base::csv::Cells;
use crate::base::progress::Progress;
use crate::export::values::TableSource;
use crate::query::Snapshot;
use crate::ui::command::Command;
use crate::ui::command_line::PanelCommandLine;
use crate::ui::questions::{Question, QuestionKind, SelectedScope};
use crate::ui::timeline::state::Timeline;

/// The part of a frame that every panel sees: the timeline, the selected span, and the questions that run.
#[derive(Clone, Copy)]
pub(crate) struct PanelView<'a> {
    pub(crate) timeline: &'a Timeline,
    /// The details of the selected span, while their panel is open.
    pub(crate) details: Option<&'a DetailsPanel>,
    /// How far the answer to a question of a kind is, while it is waited for.
    pub(crate) progress: &'a dyn Fn(QuestionKind) -> Option<&'a Progress>,
    pub(crate) context: PanelContext<'a>,
}

impl<'a> PanelView<'a> {
    #[must_use]
    pub(crate) fn snapshot(&self) -> &'a Snapshot {
        self.timeline.snapshot()
    }

    #[must_use]
    pub(crate) fn scope(&self) -> &'a SelectedScope {
        self.timeline.scope()
    }
}

/// A panel of the dock. The dock keeps which panels are open, so a panel holds only its questions and answers.
pub(crate) trait DockPanel {
    /// Shows the panel in all of the room that is left. Asks its question where the scope is not the one of its answer.
    fn show(&mut self, ui: &mut Ui, view: &PanelView<'_>) -> Vec<Command>;

    /// Whether there is anything to show. The panel has no tab while there is not.
    fn has_content(&self, _view: &PanelView<'_>) -> bool {
        true
    }

    /// Whether the last frame showed the details of the selected span in this panel, too.
    fn shows_details(&self) -> bool {
        false
    }

    /// A count after the title of the tab; empty where there is none.
    fn count(&self) -> String {
        String::new()
    }

    /// The actions that the dock offers with the panel's tab.
    fn tools(&self) -> PanelTools {
        PanelTools::default()
    }

    /// The table as it is shown, cells between tabs; `None` where there is no table, or no end of it.
    fn copied(&self, _cells: Cells) -> Option<String> {
        None
    }

    /// The whole table, to be written in the background.
    fn to_export(&self, _snapshot: &Snapshot) -> Option<Box<dyn TableSource>> {
        None
    }

    /// The command line that gives the same, without the trace and the scope.
    fn command_line(&self) -> Option<PanelCommandLine> {
        None
    }

    /// Forgets all answers: another trace, or more of it, is open. Returns what an open panel asks at once.
    fn forget(&mut self) -> Option<Question>;

    /// Takes note that a question has no answer, for any panel's question. The message is empty where it was stopped.
    fn fail(&mut self, _kind: QuestionKind, _message: &str) {}
}

/// The tab of the selected span's details, which are looked up when the span is selected.
#[derive(Debug, Default)]
pub(crate) struct DetailsTab;

impl DockPanel for DetailsTab {
    fn show(&mut self, ui: &mut Ui, view: &PanelView<'_>) -> Vec<Command> {
        view.details.map(|details| details.show(ui, view.context.theme)).unwrap_or_default()
    }

    fn has_content(&self, view: &PanelView<'_>) -> bool {
        view.details.is_some()
    }

    fn forget(&mut self) -> Option<Question> {
        None
    }
}
