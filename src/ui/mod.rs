//! The panels of the window. Each shows what it is given and returns [`Command`]s; none changes the store, opens a file or
//! starts a thread.

pub mod details;
pub mod errors;
mod gutter;
mod hover;
mod input;
pub mod losses;
pub mod menu;
pub mod picker;
mod places;
pub mod progress;
mod ruler_bar;
mod scroll_bar;
mod span_names;
pub mod status;
pub mod theme;
pub mod timeline;
mod unsorted;
pub mod welcome;

use std::path::PathBuf;

use crate::scene::color::Shade;
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
    /// To show the whole capture.
    ShowAll,
    /// To fill the view with the selected span.
    ShowSelection,
    /// To zoom around the middle by a factor in percent: above 100 in, below out.
    ZoomPercent(u16),
    /// To fold all processes, or to unfold all.
    FoldAll(bool),
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
