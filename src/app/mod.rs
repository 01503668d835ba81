//! The window: a state machine independent of drawing, the event loop that drives it, background work, dialogs, and
//! pictures without a window. The only module that uses the windowing system.
//!
//! [`state`] holds the application's state, with one [`tab`] per trace; [`show`] draws it, and routes commands.
//! [`window`] is the event loop, which gets the [`event`]s of background work: [`tasks`] import and export,
//! [`analysis`] answers panels, [`follow`] follows live traces, [`mod@derive`] computes derived tracks. [`panels`]
//! holds the panels of a tab. Keepers save the [`preferences`] and the timeline of each trace ([`timeline_keeper`]).
//! [`picture`], [`offscreen`] and [`drawn_frames`] draw without a window.

mod analysis;
mod answer_clock;
mod background;
mod background_writes;
mod close_request;
mod closing;
pub(crate) mod demo;
mod derive;
pub(crate) mod desktop;
pub(crate) mod dialogs;
mod display;
pub(crate) mod drawn_frames;
pub(crate) mod event;
mod file_stamps;
mod follow;
pub(crate) mod follow_request;
#[cfg(test)]
mod followed_tests;
mod fonts;
#[cfg(test)]
mod idle_frames_tests;
mod interrupted_traces;
mod keyboard;
#[cfg(test)]
mod keys_tests;
#[cfg(test)]
mod lit_tests;
mod merged_preferences;
#[cfg(test)]
mod moving_tests;
mod notes;
mod offscreen;
mod open_trace;
mod opened_files;
mod panels;
mod pasted;
pub(crate) mod picture;
pub(crate) mod preferences;
mod preferences_keeper;
mod received;
pub(crate) mod recent;
mod reimport;
pub(crate) mod restart;
#[cfg(test)]
mod restored_tests;
mod same_name;
mod selected_flows;
mod show;
pub(crate) mod single_instance;
pub(crate) mod state;
mod state_keeper;
#[cfg(test)]
mod stopped_tests;
mod tab;
mod tabs;
pub(crate) mod tasks;
#[cfg(test)]
mod tests;
mod timeline_keeper;
mod track_ranks;
#[cfg(test)]
mod track_reads_tests;
mod typed_path;
pub(crate) mod window;
#[cfg(test)]
mod written_tests;

use std::path::PathBuf;

use crate::export::ExportError;
use crate::ingest::{CachePolicy, LoadOptions};
use crate::model::Sources;
use crate::render::GpuError;
use crate::scene::color::Shade;
use crate::scene::palette::Colors;

use crate::ui::questions::NameQuery;
use crate::ui::settings::Navigation;
use follow_request::FollowRequest;
use preferences::Folders;
pub(crate) use window::run;

/// The options of a window at its start.
#[derive(Debug, Clone, Default)]
pub struct AppOptions {
    /// The options of every import.
    pub load: LoadOptions,
    /// The memory limit of imports from the command line; `None` uses the limit of the preferences.
    pub memory_bytes: Option<u64>,
    /// Whether to open a generated trace if no file is given.
    pub demo: bool,
    /// Whether to pass files to a window that is open already, and to accept files from later starts.
    pub hand_over: bool,
    /// The theme if there are no `folders` with preferences.
    pub shade: Shade,
    /// The colour scheme of spans if there are no `folders` with preferences.
    pub colors: Colors,
    /// Navigation settings if there are no `folders` with preferences. `None` follows the desktop.
    pub navigation: Option<Navigation>,
    /// The folders of preferences and of saved timelines; `None` saves nothing.
    pub folders: Option<Folders>,
    /// The folders and archives to search for symbols.
    pub symbols: SymbolOptions,
    /// The sources to follow at the start.
    pub follow: Option<FollowRequest>,
}

/// Search options for symbols, from the command line.
#[derive(Debug, Clone, Default)]
pub struct SymbolOptions {
    /// Whether symbol resolution is off.
    pub is_off: bool,
    /// Folders searched before the system's folders.
    pub folders: Vec<PathBuf>,
}

impl SymbolOptions {
    /// Returns the query that resolves symbols of a trace.
    pub(crate) fn query(&self, sources: &Sources, load: &LoadOptions) -> NameQuery {
        let (sources, folders) = (sources.clone(), self.folders.clone());
        let cache = match &load.cache {
            CachePolicy::Folder(folder) => Some(folder.clone()),
            CachePolicy::None => None,
        };
        let bytes_max = load.memory.limit_bytes() / 2;
        let is_wanted = !self.is_off;
        NameQuery { is_wanted, is_located: false, compares_stacks: false, sources, folders, cache, bytes_max }
    }
}

/// Error of opening a window or drawing a picture.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AppError {
    /// There is no GPU that can draw.
    #[error(transparent)]
    Gpu(#[from] GpuError),
    /// There is no display that responds.
    #[error("cannot open a window: {reason}; `longspan render FILE -o PNG` draws without one")]
    NoWindow { reason: String },
    /// The display was closed while the window was open.
    #[error("The connection to the display was lost")]
    DisplayLost,
    /// A system library is missing.
    #[error(
        "cannot open a window: {reason}; on Debian and Ubuntu: apt install libxkbcommon-x11-0 libx11-6 libx11-xcb1 libxcursor1 libxi6"
    )]
    MissingLibrary { reason: String },
    /// The picture cannot be written.
    #[error(transparent)]
    Write(#[from] ExportError),
}
