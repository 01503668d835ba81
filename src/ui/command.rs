//! The commands of the window. Panels and painters return them; the application routes each group in one place.
//!
//! Every match on these enums lists all variants, so that a new command does not compile before it is routed.

use std::path::PathBuf;
use std::sync::Arc;

use super::panel::Panel;
use super::purpose::Purpose;
use super::questions::{CodeRequest, Question, SampledFunction, SelectedScope};
use super::settings::{Navigation, RulerOrigin, SecondStart, Sizes, TableLayout};
use crate::model::{NameIdx, Sources, TrackIdx};
use crate::query::derived::DerivedKind;
use crate::query::flame::FunctionKey;
use crate::query::groups::GroupBy;
use crate::scene::arrange::TrackOrder;
use crate::scene::bookmarks::BookmarkId;
use crate::scene::color::Shade;
use crate::scene::counter_form::CounterForm;
use crate::scene::palette::Colors;
use crate::scene::rows::{GroupKind, TrackDensity};
use crate::store::lane::RowIdx;

/// A command, by the part of the program that runs it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Command {
    App(AppCommand),
    Tab(TabCommand),
    /// Commands for the timeline of the tab that is shown.
    Timeline(TimelineCommand),
    /// Commands for the panels of the tab that is shown.
    Panel(PanelCommand),
}

/// Files, preferences, dialogs and tool windows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum AppCommand {
    /// Opens a file dialog of the system.
    Choose(Purpose),
    Open(Sources),
    /// Loads the files of the open trace again, with other time offsets.
    MoveFiles(Sources),
    /// Adds nanoseconds to the offset of the file with this name, and loads the files again.
    MoveFileBy(Arc<str>, i64),
    /// Reads the clipboard and opens the files that it names.
    Paste,
    /// Opens the files whose paths this text holds.
    OpenPasted(String),
    CopySpan,
    /// Copies the table of statistics as CSV.
    CopyTable,
    /// Copies the table of a panel as it is shown, cells between tabs.
    CopyPanel(Panel),
    /// Copies the command line that gives the same as a panel.
    CopyCommandLine(Panel),
    CopyText(String),
    /// Keeps the height of the dock in the preferences, in points.
    KeepDockHeight(u16),
    /// Keeps the layout of a table in the preferences, by its name.
    KeepTable(&'static str, TableLayout),
    /// Opens the file picker of the window itself.
    ShowPicker,
    OpenDemo,
    Write(Purpose, PathBuf),
    /// Lists a folder in the picker.
    List(PathBuf),
    /// Takes a path from the picker: a folder is gone into, a file is opened or written.
    PickPath(Purpose, PathBuf),
    ClosePicker,
    /// Stops the load or the export that runs.
    Cancel,
    Dismiss,
    Quit,
    /// The theme; `None` follows the desktop.
    SetShade(Option<Shade>),
    SetColors(Colors),
    /// Sets the size of text in percent of the normal size.
    SetTextPercent(u16),
    SetNavigation(Navigation),
    SetSecondStart(SecondStart),
    /// Whether CSV marks text that a spreadsheet would take for a formula.
    SetCsvSafe(bool),
    SetSizes(Sizes),
    /// The folders that sources may be opened below, in all tabs, as `FOLDER` or `FROM=FOLDER`.
    SetSourceFolders(Vec<String>),
    /// The track height, in all tabs.
    SetDensity(TrackDensity),
    ShowCommands,
    /// Shows or hides a tool window.
    Toggle(ToolWindow),
    Live(LiveCommand),
    CutShort(CutShortCommand),
}

/// For a trace that was followed until its window was killed, by its folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum CutShortCommand {
    Open(PathBuf),
    /// Keeps it, and offers it again at the next start.
    Keep(PathBuf),
    /// Asks whether to delete it.
    AskToDelete(PathBuf),
    Delete(PathBuf),
}

/// Commands for the trace of the tab that is shown, while it still runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LiveCommand {
    /// Brings the view to what comes.
    Follow,
    /// The same, or has the picture stand still where it is there already.
    FollowOrPause,
    /// Has the picture stand still, or go on. What comes is kept all the same.
    TogglePause,
    /// Asks the sources to end.
    Stop,
}

/// Tabs are counted from the left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TabCommand {
    /// One to the right; from the last to the first.
    Next,
    /// One to the left; from the first to the last.
    Previous,
    Show(usize),
    /// Closes the tab that is shown.
    Close,
    CloseAt(usize),
}

/// The view, the selection, the bookmarks and the tracks of a timeline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TimelineCommand {
    /// Paints the rows of a file later by some nanoseconds during a drag; `None` paints them in their place.
    ShowFileMoved(Option<(Arc<str>, i64)>),
    Select(Option<RowIdx>),
    /// Selects a row and scrolls it into view.
    Reveal(RowIdx),
    /// Zooms to the selected span, also while a range is selected.
    ZoomToSpan,
    /// Scrolls to a time, in nanoseconds.
    ShowTime(i64),
    /// Unfolds what hides a track and scrolls it into view.
    ShowTrack(TrackIdx),
    /// Zooms to a range: its first nanosecond, and the first after it.
    ShowSlice(i64, i64),
    Step(NavigationStep),
    Bookmark(BookmarkCommand),
    Rows(RowCommand),
    Scope(ScopeCommand),
    Derived(DerivedCommand),
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
    /// Around the middle of the view.
    ZoomIn,
    /// Around the middle of the view.
    ZoomOut,
    Whole,
    /// Zooms to the selected range, or else to the selected span.
    Selection,
    /// The previous view in the history.
    Back,
    /// The next view in the history.
    Forward,
    /// The previous span in the lane of the selected one; where none is selected, this and the next three select the
    /// span in the middle of the view.
    Previous,
    /// The next span in the lane of the selected one.
    Next,
    /// The parent of the selected span; scrolls up where no span is in view.
    Parent,
    /// The longest child of the selected span; scrolls down where no span is in view.
    Child,
    /// Closes the search, or else clears the scope, or else the selected span.
    LetGo,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum BookmarkCommand {
    /// Adds a marker at the pointer, else at the start of the selected span, else in the middle of the view.
    Add,
    AddAt(i64),
    /// Makes a bookmark the one that distances are measured from.
    Choose(BookmarkId),
    /// Chooses a bookmark and scrolls to it.
    Go(BookmarkId),
    Rename(BookmarkId, String),
    Remove(BookmarkId),
    /// Selects the range between the two bookmarks that were added or chosen last.
    Measure,
    /// The next bookmark; `false`: the previous one.
    Next(bool),
    Origin(RulerOrigin),
}

/// The part of the trace that questions are about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ScopeCommand {
    ClearTime,
    ClearTracks,
    /// Takes the place of the scope.
    Set(Box<SelectedScope>),
    /// Takes a valid filter; an empty one clears it.
    Filter(String),
    /// Takes the tracks of a group in place of those before.
    Only(GroupKind),
    /// Adds the tracks of a group, or takes them away.
    Toggle(GroupKind),
    /// Selects what lies inside a span.
    Inside(RowIdx),
    /// Saves the scope under a name.
    Save(String),
    /// Selects a saved scope, by its number.
    Recall(usize),
    /// Forgets a saved scope, by its number.
    Forget(usize),
}

/// Tells a derived track from the others of its trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct DerivedId(pub(crate) u64);

/// The kinds of derived tracks that menus offer.
pub(crate) const DERIVE_CHOICES: [(&str, DerivedKind); 7] = [
    ("Rate", DerivedKind::Rate),
    ("Count", DerivedKind::Count),
    ("Concurrency", DerivedKind::Concurrency),
    ("Share of time", DerivedKind::Busy),
    ("Longest duration", DerivedKind::MaxDuration),
    ("p50 of durations", DerivedKind::Quantile(50)),
    ("p99 of durations", DerivedKind::Quantile(99)),
];

/// Tracks that are made of the rows of a scope.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum DerivedCommand {
    Add(DerivedKind, SelectedScope),
    /// Adds one of the rows of the scope.
    AddOfScope(DerivedKind),
    /// Adds the shares of time that a process, a thread or CPUs spend in the states of the scheduler.
    AddScheduling(GroupKind),
    Rename(DerivedId, String),
    Remove(DerivedId),
    /// Stops the making of a derived track.
    Stop(DerivedId),
    /// Makes a derived track again after a failure or a stop.
    Make(DerivedId),
    /// Whether exports write the tracks as counters.
    Export(bool),
}

/// Folding, pinning, hiding, ordering and filtering of tracks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RowCommand {
    ToggleFold(GroupKind),
    /// Folds or unfolds the track of the selected span.
    ToggleFoldOfSelected,
    /// Folds all processes; `false` unfolds everything.
    FoldAll(bool),
    TogglePin(TrackIdx),
    /// Pins or unpins the track of the selected span.
    TogglePinOfSelected,
    Hide(GroupKind),
    /// Hides all tracks but those of the scope.
    ShowOnlyScope,
    ShowHidden,
    /// Draws a counter as its values, its changes or its rate.
    ShowCounterAs(TrackIdx, CounterForm),
    Order(TrackOrder),
    /// Shows only rows whose names hold these words.
    Filter(String),
    /// Moves the keyboard focus into the filter field.
    FocusFilter,
}

/// The panels of the dock and their questions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PanelCommand {
    Toggle(Panel),
    Show(Panel),
    /// Opens the statistics and chooses this name there.
    StatisticsOf(NameIdx),
    /// Opens the statistics, grouped by these keys.
    StatisticsBy(GroupBy),
    /// Opens the search bar, or moves the focus into it.
    Search,
    SearchFor(String),
    GoToHit {
        /// Goes to the next hit, or else to the previous one.
        forward: bool,
    },
    /// Clears the hits while the text is no valid filter.
    StopSearch,
    CloseSearch,
    /// Asks a question that takes longer than a frame.
    Ask(Question),
    /// Shows the next tab of the dock; `false`: the previous one.
    NextPanel {
        forward: bool,
    },
    /// Gives the panel all of the room, or the timeline its part again.
    ToggleFull,
    /// Stops the count for the statistics and keeps the totals so far.
    StopCounting,
    /// Opens the heat map of the spans of this name.
    HeatMapOf(NameIdx),
    /// Stops the count for the heat map.
    StopHeatMap,
    /// Stops the count of call paths.
    StopPaths,
    /// Stops the count of samples for their table.
    StopSamples,
    /// Opens the flame graph of samples with a function between its callers and callees.
    Callers(FunctionKey),
    /// Opens the code of a function with its samples.
    ShowCode(Box<SampledFunction>),
    /// Lists a function, for the panel that shows it.
    AskCode(Box<CodeRequest>),
    /// Looks names of functions up again, in this folder first.
    LocateSymbols(PathBuf),
    /// Stops the look-up of names: functions keep their addresses.
    StopNaming,
}

/// A window over the timeline that shows state and asks no questions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ToolWindow {
    Losses,
    Bookmarks,
    Derived,
    /// The files of the trace and their time offsets.
    Sources,
    Preferences,
    Keys,
    /// Version, licence and graphics card.
    About,
}
