//! The purposes of file dialogs, with their titles and suggested names.

use super::panel::{DockTab, Panel};
use crate::export::ExportFormat;

/// The purpose of a file dialog.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    Open,
    /// Follows files that are still being written.
    Follow,
    Export(ExportFormat),
    /// Exports the selected range, in the format of the file extension.
    ExportSelected,
    /// Exports the table of a panel, in the format of the file extension.
    Table(DockTab),
    /// Exports the flame graph, in the format of the file extension.
    FlameGraph(DockTab),
    /// Exports a picture of the timeline.
    Picture(PictureSize),
    /// Exports a picture of the window with its panels.
    WindowPicture,
    /// Searches a folder for symbols.
    SymbolFolder,
    /// Searches an archive of `perf archive` for symbols.
    SymbolArchive,
}

impl Purpose {
    /// Returns the title of the dialog.
    #[must_use]
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Open => "Open a trace, or several on one timeline",
            Self::Follow => "Follow a trace that is still written, or several on one timeline",
            Self::Export(ExportFormat::Native { compact: true }) => "Export the trace, compact",
            Self::Export(_) => "Export the trace",
            Self::ExportSelected => "Export selection",
            Self::Table(_) => "Export the table",
            Self::FlameGraph(_) => "Export the flame graph",
            Self::Picture(_) => "Save an image of the timeline",
            Self::WindowPicture => "Save an image of the window",
            Self::SymbolFolder => "Choose a folder with symbols",
            Self::SymbolArchive => "Choose an archive with symbols",
        }
    }

    /// Returns whether the dialog opens an existing file or folder rather than saving a file.
    #[must_use]
    pub(crate) fn reads(self) -> bool {
        match self {
            Self::Open | Self::Follow | Self::SymbolFolder | Self::SymbolArchive => true,
            Self::Export(_)
            | Self::ExportSelected
            | Self::Table(_)
            | Self::FlameGraph(_)
            | Self::Picture(_)
            | Self::WindowPicture => false,
        }
    }

    /// Returns whether a folder is an answer rather than a place to look for one.
    #[must_use]
    pub(crate) fn takes_folders(self) -> bool {
        self == Self::SymbolFolder
    }

    /// Returns the suggested name of a file derived from this trace; empty for files to open.
    #[must_use]
    pub(crate) fn suggested_name(self, trace: &str) -> String {
        let stem = trace.strip_suffix(".gz").unwrap_or(trace);
        let stem = stem.rsplit_once('.').map_or(stem, |(stem, _)| stem);
        let stem = if stem.is_empty() { "trace" } else { stem };
        match self {
            Self::Open | Self::Follow | Self::SymbolFolder | Self::SymbolArchive => String::new(),
            Self::Table(tab) => format!("{stem}-{}.csv", tab.panel.file_stem()),
            Self::FlameGraph(_) => format!("{stem}-{}.svg", Panel::Flame.file_stem()),
            Self::Picture(_) => format!("{stem}.png"),
            Self::WindowPicture => format!("{stem}-window.png"),
            Self::ExportSelected => format!("{stem}-selected.{}", ExportFormat::NATIVE.ending()),
            Self::Export(format @ ExportFormat::Native { compact: true }) => {
                format!("{stem}-compact.{}", format.ending())
            }
            Self::Export(format) => format!("{stem}-sorted.{}", format.ending()),
        }
    }
}

/// The size of a picture of the timeline, in pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PictureSize {
    /// The size of the window.
    AsShown,
    /// Twice as wide and high, for print and high-resolution screens.
    Doubled,
}
