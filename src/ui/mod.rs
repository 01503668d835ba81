//! The panels of the window. Each shows what it is given and returns [`Command`]s; none changes the store, opens a file or
//! starts a thread.

mod bars;
mod canvas_menu;
mod color_key;
pub(crate) mod commands;
pub(crate) mod errors;
pub(crate) mod field;
mod filter;
mod flow_curves;
mod gutter;
mod hover;
mod input;
pub(crate) mod kept;
pub(crate) mod keys;
pub(crate) mod losses;
pub(crate) mod marks;
pub(crate) mod menu;
mod minimap;
mod moves;
mod moving;
pub(crate) mod navigation;
pub(crate) mod palette;
mod pane;
pub(crate) mod panels;
pub(crate) mod picker;
mod places;
pub(crate) mod preferences;
pub(crate) mod progress;
pub(crate) mod questions;
mod range;
mod reading_order;
pub(crate) mod rows;
mod ruler_bar;
mod scroll_bar;
pub(crate) mod sources;
mod span_names;
pub(crate) mod status;
mod still;
pub(crate) mod tab_bar;
pub(crate) mod theme;
pub(crate) mod timeline;
mod typed_ahead;
mod unsorted;
pub(crate) mod welcome;

use std::path::PathBuf;
use std::sync::Arc;

use self::marks::RulerOrigin;
use self::navigation::Navigation;
use self::picker::Purpose;
use self::preferences::{SecondStart, Sizes};
use self::questions::Question;
use crate::model::{NameIdx, Sources, TrackIdx};
use crate::scene::arrange::Order;
use crate::scene::bookmarks::BookmarkId;
use crate::scene::color::Shade;
use crate::scene::palette::Colors;
use crate::scene::rows::{Density, GroupKind};
use crate::store::lane::RowIdx;

/// What the user asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Command {
    /// To choose a file in a dialog.
    Choose(Purpose),
    /// To open a capture.
    Open(Sources),
    /// To load the files of the capture that is open anew, moved in time.
    MoveFiles(Sources),
    /// To show one of them, by its name, later by so many nanoseconds while a hand moves it; `None`: where it is.
    ShowFileMoved(Option<(Arc<str>, i64)>),
    /// To move one of them further, by its name, and to load them anew.
    MoveFileBy(Arc<str>, i64),
    /// To open the files whose paths were copied elsewhere.
    Paste,
    /// To open the files whose paths this text holds.
    OpenPasted(String),
    /// To copy the selected span as text.
    CopySpan,
    /// To copy the table of statistics as comma-separated text.
    CopyTable,
    /// To choose a capture in the picker of the window itself.
    ShowPicker,
    /// To open a generated capture.
    OpenDemo,
    /// To write a file.
    Write(Purpose, PathBuf),
    /// To list a folder in the picker.
    List(PathBuf),
    /// To close the picker.
    ClosePicker,
    /// To stop the load or the export that runs.
    Cancel,
    /// To close the message.
    Dismiss,
    /// To go to a tab, or to close one.
    Tabs(TabCommand),
    /// To leave.
    Quit,
    /// Dark or light; `None`: as the desktop.
    SetShade(Option<Shade>),
    /// To colour spans otherwise.
    SetColors(Colors),
    /// Larger or smaller text, in percent of the normal size.
    SetTextPercent(u16),
    /// To show or hide a panel.
    Toggle(Panel),
    /// To show a panel that answers questions, if it is not shown.
    Show(Panel),
    /// To show the statistics, and of this name all that they tell.
    StatisticsOf(NameIdx),
    /// To fill the view with the selected span, whatever time is selected.
    ZoomToSpan,
    /// To select a row, or none.
    Select(Option<RowIdx>),
    /// To select a row and bring it into view.
    Reveal(RowIdx),
    /// To bring a time into view.
    ShowTime(i64),
    /// To fill the view with a slice of time: its first nanosecond, and the first after it.
    ShowSlice(i64, i64),
    /// To move.
    Step(Step),
    /// To mark moments, or to do something with the marks.
    Mark(MarkCommand),
    /// To move otherwise from now on.
    SetNavigation(Navigation),
    /// What a second start does from now on.
    SetSecondStart(SecondStart),
    /// Whether comma-separated text marks what a spreadsheet would take for a formula.
    SetCsvSafe(bool),
    /// To give loads other bounds from now on.
    SetSizes(Sizes),
    /// To show every command, to be chosen from.
    ShowCommands,
    /// To arrange rows otherwise.
    Rows(RowCommand),
    /// To search, or to go on typing what is searched.
    Search,
    /// To search for this.
    SearchFor(String),
    /// To go to the next hit of the search, or to the one before.
    GoToHit {
        /// To the next.
        forward: bool,
    },
    /// To look for nothing any more while the text is no filter.
    StopSearch,
    /// To close the search.
    CloseSearch,
    /// To ask what takes longer than a frame.
    Ask(Question),
    /// To stop counting for the statistics, and to keep what is counted.
    StopCounting,
}

/// A movement by a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// To earlier times.
    Left,
    /// To later times.
    Right,
    /// To the rows above.
    Up,
    /// To the rows below.
    Down,
    /// By nearly all rows in view.
    PageUp,
    /// By nearly all rows in view.
    PageDown,
    /// Around the middle.
    ZoomIn,
    /// Around the middle.
    ZoomOut,
    /// To the whole capture.
    Whole,
    /// To fill the view with what is selected.
    Selection,
    /// To the view before.
    Back,
    /// To the view that was gone back from.
    Forward,
    /// To the span before the selected one in its lane.
    Previous,
    /// To the span after the selected one in its lane.
    Next,
    /// To the span around the selected one; where none is selected, to the rows above.
    Parent,
    /// To the longest span in the selected one; where none is selected, to the rows below.
    Child,
    /// To let go of the selected time, or else of the selected span.
    LetGo,
}

/// What the user asks for of the tabs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TabCommand {
    /// To go to the one on the right, from the last to the first.
    Next,
    /// To go to the one on the left, from the first to the last.
    Previous,
    /// To go to one, counted from the left.
    Show(usize),
    /// To close the one that is shown.
    Close,
    /// To close one, counted from the left.
    CloseAt(usize),
}

/// What the user asks for of the marks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum MarkCommand {
    /// To mark the moment under the pointer, or of the selected span.
    Add,
    /// To mark this moment.
    AddAt(i64),
    /// To measure from a mark.
    Choose(BookmarkId),
    /// To bring a mark into view.
    Go(BookmarkId),
    /// To call a mark otherwise.
    Rename(BookmarkId, String),
    /// To take a mark away.
    Remove(BookmarkId),
    /// To select the time between the two marks that were made or chosen last.
    Measure,
    /// To go to the next mark, or to the one before.
    Next(bool),
    /// To let the ruler count from elsewhere.
    Origin(RulerOrigin),
}

/// What the user asks for of the rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RowCommand {
    /// To fold a process or a track, or to unfold it.
    ToggleFold(GroupKind),
    /// The same of the track of the selected span.
    ToggleFoldOfSelected,
    /// To fold all processes, or to unfold all.
    FoldAll(bool),
    /// To keep a track at the top, or to let go of it.
    TogglePin(TrackIdx),
    /// The same of the track of the selected span.
    TogglePinOfSelected,
    /// To hide a process or a track.
    Hide(GroupKind),
    /// To show all that is hidden.
    ShowHidden,
    /// Another order.
    Order(Order),
    /// Only rows whose names hold these words.
    Filter(String),
    /// To write into the filter.
    FocusFilter,
    /// Other heights.
    Density(Density),
}

/// Panels that can be shown and hidden.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Panel {
    /// What is known of the selected span.
    Details,
    /// What was lost.
    Losses,
    /// The marks.
    Marks,
    /// The files of a capture that has several.
    Sources,
    /// What has no menu.
    Preferences,
    /// The keys.
    Keys,
    /// Spans added up by name.
    Statistics,
    /// The flame graph.
    Flame,
}

/// How many pixels a picture of the timeline has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PictureSize {
    /// As many as on the screen.
    AsShown,
    /// Twice as many across and down: for print, and for screens with finer pixels.
    Doubled,
}
