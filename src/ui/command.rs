//! The commands of the window. Panels and painters return them; the application routes each enum in one place.
//!
//! Every match on these enums lists all variants, so a new command does not compile before it is routed.

use std::path::PathBuf;
use std::sync::Arc;

use super::panel::{DockTab, Panel, PinId};
use super::purpose::Purpose;
use super::questions::{CodeRequest, Question, SampledFunction};
use super::selected_scope::SelectedScope;
use super::settings::{Navigation, RulerOrigin, SecondStart, Sizes, TableLayout};
use crate::base::direction::Direction;
use crate::model::{NameIdx, Sources, TrackIdx};
use crate::query::derived::DerivedKind;
use crate::query::groups::GroupBy;
use crate::scene::arrange::TrackOrder;
use crate::scene::arrange::moves::MovedRow;
use crate::scene::bookmarks::BookmarkId;
use crate::scene::color::Shade;
use crate::scene::counter_form::CounterForm;
use crate::scene::custom_groups::CustomGroupId;
use crate::scene::palette::Colors;
use crate::scene::rows::{GroupKind, TrackDensity};
use crate::store::lane::RowIdx;
use crate::ui::selected_scope::TimeRange;

/// Limit for a copied text. An X server passes a text of the clipboard in one request of at most 16 MiB. A program that
/// pastes a longer text would wait forever.
pub(crate) const COPY_BYTES_MAX: usize = 15 << 20;

/// A command, by the part of the program that runs it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Command {
    App(AppCommand),
    Setting(SettingCommand),
    Tab(TabCommand),
    /// Commands for the timeline of the active tab.
    Timeline(TimelineCommand),
    /// Commands for the panels of the active tab.
    Panel(PanelCommand),
}

macro_rules! commands_from {
    ($($inner:ty: $value:ident => $outer:expr;)*) => {
        $(impl From<$inner> for Command {
            fn from($value: $inner) -> Self {
                $outer
            }
        })*
    };
}

// The enum of a component is converted through the enum that contains it.
commands_from! {
    AppCommand: command => Self::App(command);
    LiveCommand: command => AppCommand::Live(command).into();
    InterruptedCommand: command => AppCommand::Interrupted(command).into();
    SettingCommand: command => Self::Setting(command);
    TabCommand: command => Self::Tab(command);
    TimelineCommand: command => Self::Timeline(command);
    NavigationStep: step => TimelineCommand::Step(step).into();
    BookmarkCommand: command => TimelineCommand::Bookmark(command).into();
    RowCommand: command => TimelineCommand::Rows(command).into();
    CustomGroupCommand: command => RowCommand::Group(command).into();
    ScopeCommand: command => TimelineCommand::Scope(command).into();
    DerivedCommand: command => TimelineCommand::Derived(command).into();
    PanelCommand: command => Self::Panel(command);
    Question: question => PanelCommand::Ask(question).into();
}

/// Files, dialogs, copied texts and tool windows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum AppCommand {
    /// Opens a file dialog of the system.
    Choose(Purpose),
    Open(Sources),
    /// Imports the files of the open trace again; the view stays.
    OpenAgain,
    /// Imports the files of the open trace again, with other time offsets.
    MoveFiles(Sources),
    /// Adds nanoseconds to the offset of the file with this name, and imports the files again.
    MoveFileBy(Arc<str>, i64),
    /// Opens the files named on the clipboard.
    Paste,
    /// Opens the files whose paths are in this text.
    OpenPasted(String),
    CopySpan,
    /// Copies the table of statistics of a tab as CSV.
    CopyTable(DockTab),
    /// Copies the table of a panel as shown, with tabs between cells.
    CopyPanel(DockTab),
    /// Copies the command line with the same result as a panel.
    CopyCommandLine(DockTab),
    /// Copies this text, if it has at most [`COPY_BYTES_MAX`].
    CopyText(String),
    /// Opens the window's own file picker.
    ShowPicker,
    OpenDemo,
    /// Lists a folder in the picker.
    List(PathBuf),
    /// Picks a path in the picker: a folder is entered, a file is opened or written. An existing file is replaced only
    /// if `replaces`; otherwise the picker asks first.
    PickPath {
        path: PathBuf,
        replaces: bool,
    },
    ClosePicker,
    /// Resolves function names again, with this folder or archive searched first.
    LocateSymbols(PathBuf),
    CancelImport,
    /// Cancels the export or long table that is being written.
    CancelWrite,
    /// Says why the command whose keys were pressed is disabled.
    ShowDisabledReason {
        title: &'static str,
        reason: &'static str,
    },
    Dismiss,
    Quit,
    /// Answers the question before something is closed.
    AnswerClose(CloseChoice),
    ShowCommands,
    /// Shows the field for a time to go to.
    ShowGoToTime,
    /// Shows or hides a tool window.
    Toggle(ToolWindow),
    Live(LiveCommand),
    Interrupted(InterruptedCommand),
}

/// Sets a preference, which is saved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SettingCommand {
    /// The theme; `None` follows the desktop.
    Shade(Option<Shade>),
    Colors(Colors),
    /// The font size in percent of the default, as far as its limits allow.
    TextPercent(u16),
    Navigation(Navigation),
    SecondStart(SecondStart),
    /// Whether CSV escapes text that a spreadsheet would take for a formula.
    CsvSafe(bool),
    Sizes(Sizes),
    /// The folders in which source files are looked up, in all tabs, as `FOLDER` or `FROM=FOLDER`.
    SourceFolders(Vec<String>),
    /// The track height, in all tabs.
    Density(TrackDensity),
    /// The height of the dock, in points.
    DockHeight(u16),
    /// The width of the track names, in points, in all tabs.
    GutterWidth(u16),
    /// The layout of a table, by its name.
    Table(&'static str, TableLayout),
}

/// The answer to the question before something is closed whose data would be lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CloseChoice {
    /// Exports the trace, and closes nothing.
    Export,
    /// Closes without an export: the data is lost.
    Discard,
    Cancel,
}

/// For a trace whose live window was killed, by its folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum InterruptedCommand {
    Open(PathBuf),
    /// Keeps the trace, and offers it again at the next start.
    Keep(PathBuf),
    /// Asks whether to delete the trace.
    AskToDelete(PathBuf),
    Delete(PathBuf),
}

/// Commands for the live trace of the active tab.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LiveCommand {
    /// Scrolls with new events of a live trace.
    Follow,
    /// Follows, or pauses if it follows already.
    FollowOrPause,
    /// Pauses or resumes the picture. Events are recorded meanwhile.
    TogglePause,
    /// Asks the sources to end.
    Stop,
}

/// Tab indices count from the left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TabCommand {
    /// One to the right, wrapping around.
    Next,
    /// One to the left, wrapping around.
    Previous,
    Show(usize),
    Close,
    CloseAt(usize),
    /// Closes all tabs but the one at an index.
    CloseOthers(usize),
    /// Opens the trace of the last closed tab again.
    Reopen,
    /// Copies the paths of its files, one a line.
    CopyPaths(usize),
}

/// The view, the selection, the bookmarks and the tracks of a timeline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TimelineCommand {
    /// Draws the rows of a file some nanoseconds later during a drag; `None` ends that.
    ShowFileMoved(Option<(Arc<str>, i64)>),
    Select(Option<RowIdx>),
    /// Selects a row and scrolls it into view.
    Reveal(RowIdx),
    /// Zooms to the selected span, even if a range is selected.
    ZoomToSpan,
    /// Scrolls to a time in nanoseconds.
    ShowTime(i64),
    /// Scrolls so that a time is in the middle. Zooms in if most of the trace is in view.
    Center(i64),
    /// Unfolds the parents of a track and scrolls it into view. Also zooms to a time, if given.
    ShowTrack(TrackIdx, TimeRange),
    /// Zooms to a range: its first nanosecond, and the first after it.
    ShowSlice(i64, i64),
    Step(NavigationStep),
    Bookmark(BookmarkCommand),
    Rows(RowCommand),
    Scope(ScopeCommand),
    Derived(DerivedCommand),
    /// Undoes the last edit of markers, saved scopes, groups, counters, or derived, hidden, pinned, moved or ordered
    /// tracks.
    UndoEdit,
    /// Does the last undone edit again.
    RedoEdit,
}

/// A movement by a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NavigationStep {
    Left,
    Right,
    Up,
    Down,
    /// Up by nine tenths of the rows in view.
    PageUp,
    /// Down by nine tenths of the rows in view.
    PageDown,
    /// Zooms in at the middle of the view.
    ZoomIn,
    /// Zooms out at the middle of the view.
    ZoomOut,
    Whole,
    /// Zooms to the selected range, or else to the selected span.
    Selection,
    /// The previous view in the history.
    Back,
    /// The next view in the history.
    Forward,
    /// The previous span in the lane of the selected span. Without a selection, this step and the next three select the
    /// span in the middle of the view.
    Previous,
    /// The next span in the lane of the selected span.
    Next,
    /// The parent of the selected span; scrolls up if no span is in view.
    Parent,
    /// The longest child of the selected span; scrolls down if no span is in view.
    Child,
    /// The span that the last incoming flow of the selected span leaves, or the span that woke it.
    PreviousInFlow,
    /// The span at which the first outgoing flow of the selected span arrives.
    NextInFlow,
    /// Closes the search, or else clears the scope, or else the selected span.
    ClearSelection,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum BookmarkCommand {
    /// Adds a bookmark at the pointer, or else at the start of the selected span, or else in the middle of the view.
    Add,
    AddAt(i64),
    /// Selects the bookmark that intervals are measured from.
    Choose(BookmarkId),
    /// Selects a bookmark and scrolls to it.
    Go(BookmarkId),
    /// Begins a name, so that its letters are one step to undo.
    StartNaming,
    Rename(BookmarkId, String),
    Remove(BookmarkId),
    /// Selects the range between the two bookmarks added or selected last.
    Measure,
    /// Selects the range from the previous bookmark in time to this one.
    MeasureTo(BookmarkId),
    /// Goes to the next or previous bookmark.
    Next(Direction),
    Origin(RulerOrigin),
}

/// The part of the trace that queries cover.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ScopeCommand {
    ClearTime,
    ClearTracks,
    /// Replaces the time range, the tracks and the filter.
    Set(Box<SelectedScope>),
    /// Sets a valid filter; an empty text clears the filter.
    Filter(String),
    /// Extends the filter: with an alternative, if it is another value of the same key, or else with a condition that
    /// must also match.
    AddFilter(String),
    /// Replaces the tracks by the tracks of a group.
    Only(GroupKind),
    /// Adds or removes the tracks of a group.
    Toggle(GroupKind),
    /// Selects the time range and tracks within a span.
    Inside(RowIdx),
    /// Saves the scope under a name.
    Save(String),
    /// Restores a saved scope, by its index.
    Recall(usize),
    /// Deletes a saved scope, by its index.
    Delete(usize),
}

/// Identifies a derived track of a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct DerivedId(pub(crate) u64);

/// The kinds of derived tracks in menus.
pub(crate) const DERIVE_CHOICES: [(&str, DerivedKind); 7] = [
    ("Rate", DerivedKind::Rate),
    ("Count", DerivedKind::Count),
    ("Concurrency", DerivedKind::Concurrency),
    ("Share of time", DerivedKind::Busy),
    ("Longest duration", DerivedKind::MaxDuration),
    ("p50 of durations", DerivedKind::Quantile(50)),
    ("p99 of durations", DerivedKind::Quantile(99)),
];

/// Tracks computed from the rows of a scope.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum DerivedCommand {
    Add(DerivedKind, SelectedScope),
    /// Adds a track computed from the rows of the scope.
    AddOfScope(DerivedKind),
    /// Adds the shares of time in scheduler states of a process, a thread or CPUs.
    AddScheduling(GroupKind),
    /// Begins a name, so that its letters are one step to undo.
    StartNaming,
    Rename(DerivedId, String),
    /// Sets whether a track of durations has a logarithmic scale.
    SetLogarithmic(DerivedId, bool),
    Remove(DerivedId),
    /// Cancels the computation of a derived track.
    Stop(DerivedId),
    /// Computes a derived track again after an error or a cancellation.
    Compute(DerivedId),
    /// Sets whether exports write the tracks as counters.
    Export(bool),
}

/// Groups of tracks that the user makes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum CustomGroupCommand {
    /// Makes a group of the tracks of the scope, and asks for its name.
    GroupScope,
    /// Adds the tracks of the scope to a group.
    AddScope(CustomGroupId),
    /// Removes the tracks of the scope from their groups.
    UngroupScope,
    /// Removes a track from its group.
    Leave(TrackIdx),
    /// Drops a group; its tracks return to their processes.
    Ungroup(CustomGroupId),
    /// Moves a group before or after another group.
    Move {
        group: CustomGroupId,
        beside: CustomGroupId,
        is_after: bool,
    },
    /// Shows the field of a group's name.
    StartNaming(CustomGroupId),
    Rename(CustomGroupId, String),
    /// Hides the field of the name.
    EndNaming,
}

/// Folding, pinning, hiding, grouping, sorting and filtering of tracks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RowCommand {
    ToggleFold(GroupKind),
    /// Folds or unfolds the track of the selected span.
    ToggleFoldOfSelected,
    /// Folds all processes, or unfolds everything if `false`.
    FoldAll(bool),
    TogglePin(TrackIdx),
    /// Pins or unpins the track of the selected span.
    TogglePinOfSelected,
    Hide(GroupKind),
    /// Hides all tracks outside the scope.
    ShowOnlyScope,
    ShowHidden,
    /// Draws a counter as its values, its changes or its rate.
    ShowCounterAs(TrackIdx, CounterForm),
    /// Draws the counters of the scope in this form.
    ShowCountersAs(CounterForm),
    /// Draws the counters of the scope, of a group or of several rows in one row.
    OverlayCounters {
        of: Option<GroupKind>,
        is_stacked: bool,
    },
    /// Draws counters in separate rows again.
    SeparateCounters(Option<GroupKind>),
    Group(CustomGroupCommand),
    Order(TrackOrder),
    /// Puts a row beside another row.
    Move(MovedRow),
    /// Puts a pinned track beside another pinned track.
    MovePinned {
        track: TrackIdx,
        beside: TrackIdx,
        is_after: bool,
    },
    /// Moves a row up or down by one place.
    Step(GroupKind, Direction),
    /// Moves the track of the selected span up or down by one place.
    StepOfSelected(Direction),
    /// Puts all moved rows back into the order of the trace.
    ForgetMoves,
    /// Shows only rows whose names contain these words.
    Filter(String),
    /// Moves the keyboard focus into the filter field.
    FocusFilter,
}

/// The panels of the dock and their queries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PanelCommand {
    Toggle(Panel),
    Show(Panel),
    /// Opens the panel that sums up the rows of the scope: of spans, or else of samples, counters or instants.
    ShowScopeSummary,
    /// Opens the statistics and selects this name.
    StatisticsOf(NameIdx),
    /// Opens the statistics, grouped by these keys.
    StatisticsBy(GroupBy),
    /// Opens the search bar, or focuses it.
    Search,
    SearchFor(String),
    /// Searches without leaving the panel that has the keyboard.
    Highlight(String),
    GoToHit(Direction),
    /// Goes from the selected row to another row of its name, on all tracks. A search stays as it is.
    GoToSameName(Direction),
    /// Clears the hits while the text is not a valid filter.
    StopSearch,
    CloseSearch,
    /// Runs a query that takes longer than a frame.
    Ask(Question),
    /// Cancels the query of a panel, which keeps its partial results.
    StopQuery(Panel),
    /// Runs a query of a pinned panel.
    AskPinned(PinId, Question),
    /// Cancels the query of a pinned panel.
    StopPinned(PinId),
    ClosePinned(PinId),
    /// Pins the active panel to its scope, or makes a pinned one follow the scope again.
    TogglePin,
    /// Shows the next or previous tab of the dock.
    NextPanel(Direction),
    /// Maximises the panel, or restores the timeline.
    ToggleFull,
    /// Restores the timeline beside a maximised panel.
    LeaveFull,
    /// Opens the heat map of the spans of this name.
    HeatMapOf(NameIdx),
    /// Opens the flame graph of samples with a function between its callers and callees.
    Callers(Box<SampledFunction>),
    /// Opens the code of a function with its samples.
    ShowCode(Box<SampledFunction>),
    /// Lists the code of a function for its panel.
    AskCode(Box<CodeRequest>),
}

/// A floating window that shows state and runs no queries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ToolWindow {
    Losses,
    Bookmarks,
    Derived,
    /// The files of the trace and their time offsets.
    Sources,
    Preferences,
    Keys,
    About,
}
