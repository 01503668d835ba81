//! The window: a state machine that does not know what draws it, the loop that feeds it, background work, dialogs, and
//! the same picture with no window. The only place that knows the system's windows.

mod analysis;
mod background;
mod capture;
mod cut_short;
pub(crate) mod demo;
mod derive;
pub(crate) mod desktop;
pub(crate) mod dialogs;
mod display;
pub(crate) mod event;
mod follow;
pub(crate) mod follow_request;
mod fonts;
mod keyboard;
#[cfg(test)]
mod keys_tests;
#[cfg(test)]
mod moving_tests;
mod offscreen;
mod panels;
mod pasted;
pub(crate) mod picture;
pub(crate) mod preferences;
pub(crate) mod recent;
pub(crate) mod restart;
mod selected_flows;
mod show;
pub(crate) mod single_instance;
pub(crate) mod state;
mod tab;
mod tabs;
pub(crate) mod tasks;
#[cfg(test)]
mod tests;
mod timeline_keeper;
#[cfg(test)]
mod track_reads_tests;
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
    /// The options of every load of a capture.
    pub load: LoadOptions,
    /// The bound on the memory of loads that the command line gives; `None`: that of the preferences holds.
    pub memory_bytes: Option<u64>,
    /// Whether to open a generated capture when no file is given.
    pub demo: bool,
    /// Whether a window that is open already may take over what this one is to open, and this one what others are.
    pub hand_over: bool,
    /// Dark or light at first.
    pub shade: Shade,
    /// How spans are coloured at first.
    pub colors: Colors,
    /// How the view moves; `None` follows the desktop.
    pub navigation: Option<Navigation>,
    /// Where preferences are kept, and what was in view of each capture; `None`: nothing is kept.
    pub folders: Option<Folders>,
    /// Where names for addresses are looked for.
    pub symbols: SymbolOptions,
    /// The sources to follow at the start.
    pub follow: Option<FollowRequest>,
}

/// Where names for addresses are looked for, as the command line says.
#[derive(Debug, Clone, Default)]
pub struct SymbolOptions {
    /// Whether functions keep their addresses.
    pub is_off: bool,
    /// Folders that are searched before those of the system.
    pub folders: Vec<PathBuf>,
}

impl SymbolOptions {
    /// The look-up of names for a trace.
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

/// Why there is no window, or no picture.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AppError {
    /// No graphics card, or none that can draw.
    #[error(transparent)]
    Gpu(#[from] GpuError),
    /// No display, or none that answers.
    #[error("cannot open a window: {reason}; `longspan render FILE -o PNG` draws without one")]
    NoWindow { reason: String },
    /// The display went away while the window was open.
    #[error("The connection to the display was lost")]
    DisplayLost,
    /// A library of the system is missing.
    #[error(
        "cannot open a window: {reason}; on Debian and Ubuntu: apt install libxkbcommon-x11-0 libx11-6 libx11-xcb1 libxcursor1 libxi6"
    )]
    MissingLibrary { reason: String },
    /// The picture cannot be written.
    #[error(transparent)]
    Write(#[from] ExportError),
}
