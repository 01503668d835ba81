//! The panels of the window. Each shows what it is given and returns [`Command`]s; none changes the store, opens a file or
//! starts a thread.

pub mod commands;
pub mod details;
pub mod errors;
mod filter;
mod gutter;
mod hover;
mod input;
pub mod losses;
pub mod menu;
mod minimap;
pub mod navigation;
pub mod palette;
mod pane;
pub mod picker;
mod places;
pub mod progress;
mod range;
pub mod rows;
mod ruler_bar;
mod scroll_bar;
mod span_names;
pub mod status;
pub mod theme;
pub mod timeline;
mod unsorted;
pub mod welcome;

use std::path::PathBuf;

use self::navigation::Navigation;
use crate::model::TrackIdx;
use crate::scene::arrange::Order;
use crate::scene::color::Shade;
use crate::scene::rows::{Density, GroupKind};
use crate::store::lane::RowIdx;

/// What the user asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// To choose a capture in a dialog.
    ChooseCapture,
    /// To choose where to write the capture, sorted.
    ChooseExport(ExportFormat),
    /// To open a capture.
    Open(PathBuf),
    /// To choose a capture in the picker of the window itself.
    ShowPicker,
    /// To open a generated capture.
    OpenDemo,
    /// To write the capture, sorted.
    Export(ExportFormat, PathBuf),
    /// To list a folder in the picker.
    List(PathBuf),
    /// To close the picker.
    ClosePicker,
    /// To stop the load or the export that runs.
    Cancel,
    /// To close the message.
    Dismiss,
    /// To leave.
    Quit,
    /// Dark or light.
    SetShade(Shade),
    /// Larger or smaller text, in percent of the normal size.
    SetTextPercent(u16),
    /// To show or hide a panel.
    Toggle(Panel),
    /// To select a row, or none.
    Select(Option<RowIdx>),
    /// To select a row and bring it into view.
    Reveal(RowIdx),
    /// To bring a time into view.
    ShowTime(i64),
    /// To move.
    Step(Step),
    /// To move otherwise from now on.
    SetNavigation(Navigation),
    /// To show every command, to be chosen from.
    ShowCommands,
    /// To arrange rows otherwise.
    Rows(RowCommand),
}

/// A movement by a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
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

/// What the user asks for of the rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RowCommand {
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
pub enum Panel {
    /// What is known of the selected span.
    Details,
    /// What was lost.
    Losses,
    /// The keys.
    Keys,
}

/// In which format the sorted capture is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExportFormat {
    /// Longspan's own.
    Native,
    /// Chrome JSON.
    Chrome,
}

impl ExportFormat {
    /// The usual ending of its files.
    #[must_use]
    pub fn extension(self) -> &'static str {
        match self {
            Self::Native => "longspan",
            Self::Chrome => "json",
        }
    }
}
