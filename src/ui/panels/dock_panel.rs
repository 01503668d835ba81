//! The trait of a dock panel, and the view of the trace that each panel gets.

use egui::Ui;

use super::PanelContext;
use super::details::DetailsPanel;
pub(crate) use super::dock::PanelTools;
use super::elided::{SCOPE_LETTERS, short_scope};
use crate::base::csv::Cells;
use crate::base::progress::Progress;
use crate::export::values::TableSource;
use crate::query::Snapshot;
use crate::store::live_lanes::LaneMoves;
use crate::ui::command::Command;
use crate::ui::command_line::PanelCommandLine;
use crate::ui::questions::{Question, QuestionKind};
use crate::ui::selected_scope::SelectedScope;
use crate::ui::timeline::state::Timeline;

/// The part of a frame that every panel sees: the timeline, the selected span, and running queries.
#[derive(Clone, Copy)]
pub(crate) struct PanelView<'a> {
    pub(crate) timeline: &'a Timeline,
    /// The scope of the panel: the selected scope, or the scope of a pinned panel.
    pub(crate) scope: &'a SelectedScope,
    /// The description of the scope of a pinned panel.
    pub(crate) pinned: Option<&'a str>,
    /// Whether the typed filter is invalid, so that the scope still has the previous filter.
    pub(crate) has_invalid_filter: bool,
    /// The details of the selected span, while their panel is open.
    pub(crate) details: Option<&'a DetailsPanel>,
    /// Returns the progress of a running query of a kind.
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
        self.scope
    }

    /// Describes the scope, for the title of a panel. The title of a pinned panel is longer if `spare_points` of its
    /// line are free beside a short title.
    #[must_use]
    pub(crate) fn scope_title(&self, spare_points: f32) -> String {
        self.title_of(self.scope, spare_points)
    }

    /// Describes the scope of an answer that leaves out its filter.
    #[must_use]
    pub(crate) fn unfiltered_title(&self, spare_points: f32) -> String {
        let omitted = if self.scope.filter.is_empty() { "" } else { ", without its filter" };
        self.scope_title(spare_points) + omitted
    }

    /// Returns the free width beside a short title, in points, of a line that is complete at a width of `points`.
    #[must_use]
    pub(crate) fn spare_points(&self, ui: &Ui, points: f32) -> f32 {
        ui.available_width() - self.narrow_points(points)
    }

    /// Returns the width below which a panel reduces its toolbar, in points. `points` assumes the title of the selected
    /// scope; a pinned panel has a longer title.
    #[must_use]
    pub(crate) fn narrow_points(&self, points: f32) -> f32 {
        /// Additional width of the title of a pinned panel.
        const PINNED_POINTS: f32 = 180.0;
        points + if self.pinned.is_some() { PINNED_POINTS } else { 0.0 }
    }

    /// Describes a scope that the panel derives from its scope.
    #[must_use]
    pub(crate) fn title_of(&self, scope: &SelectedScope, spare_points: f32) -> String {
        /// Width of a wide letter.
        const LETTER_POINTS: f32 = 9.0;
        let letters = SCOPE_LETTERS + spare_points.max(0.0) / LETTER_POINTS;
        match self.pinned {
            Some(title) => format!("{}, pinned", short_scope(title, letters)),
            None if scope.is_whole() && self.timeline.is_live() => "of the trace so far".to_owned(),
            None => scope.title(self.snapshot().axis_unit()),
        }
    }
}

/// A panel of the dock. The dock keeps which panels are open, so a panel holds only its queries and answers.
pub(crate) trait DockPanel {
    /// Shows the panel in the rest of the dock. Starts its query if the scope differs from the answered scope.
    fn show(&mut self, ui: &mut Ui, view: &PanelView<'_>) -> Vec<Command>;

    /// Returns whether there is anything to show. Without content, the panel has no tab.
    fn has_content(&self, _view: &PanelView<'_>) -> bool {
        true
    }

    /// Returns whether this panel included the details of the selected span in the last frame.
    fn shows_details(&self) -> bool {
        false
    }

    /// Returns a count for the title of the tab; may be empty.
    fn count(&self) -> String {
        String::new()
    }

    /// Returns the actions that the dock offers for the panel.
    fn tools(&self) -> PanelTools {
        PanelTools::default()
    }

    /// Returns whether the answer belongs to a scope, and can be copied and exported under its name.
    fn is_current(&self, _scope: &SelectedScope) -> bool {
        true
    }

    /// Returns the table as shown, with tabs between cells; `None` without a table. A paged table gives the loaded
    /// rows.
    fn copied(&self, _snapshot: &Snapshot, _cells: Cells) -> Option<String> {
        None
    }

    /// Returns how many rows are copied and how many there are, if these are more than are copied.
    fn copied_part(&self) -> Option<(u64, u64)> {
        None
    }

    /// Returns the whole table, to be written in the background.
    fn to_export(&self, _snapshot: &Snapshot) -> Option<Box<dyn TableSource>> {
        None
    }

    /// Returns the command line with the same result, without the trace and the scope.
    fn command_line(&self) -> Option<PanelCommandLine> {
        None
    }

    /// Drops all answers, because another trace is open. Returns the query that an open panel starts at once.
    fn forget(&mut self) -> Option<Question>;

    /// Queries again, because the trace has grown. Answers stay until the new ones arrive, so that they do not flicker,
    /// and lists keep their scroll position.
    fn renew(&mut self) -> Option<Question> {
        self.forget()
    }

    /// Maps the rows of answers, because lanes have moved while the trace has grown.
    fn move_rows(&mut self, _moves: &LaneMoves) {}

    /// Keeps partial results. Returns the kinds of queries that are to be cancelled.
    fn stop(&mut self) -> &'static [QuestionKind] {
        &[]
    }

    /// Handles a query of the panel without an answer. The message is empty if the query was cancelled.
    fn fail(&mut self, _kind: QuestionKind, _message: &str) {}
}

/// The tab of the selected span's details, which are looked up on selection.
#[derive(Debug, Default)]
pub(crate) struct DetailsTab;

impl DockPanel for DetailsTab {
    fn show(&mut self, ui: &mut Ui, view: &PanelView<'_>) -> Vec<Command> {
        view.details.map(|details| details.show(ui, view.context.theme, view.timeline.clock())).unwrap_or_default()
    }

    fn has_content(&self, view: &PanelView<'_>) -> bool {
        view.details.is_some()
    }

    fn forget(&mut self) -> Option<Question> {
        None
    }
}
