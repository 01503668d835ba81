//! The parts of the window around the timeline: bars at its edges, dialogs, and the welcome page.

pub(crate) mod close_dialog;
mod color_key;
pub(crate) mod command_palette;
pub(crate) mod dialog_outcome;
pub(crate) mod file_picker;
pub(crate) mod floating_window;
pub(crate) mod go_to_time;
pub(crate) mod live_badge;
pub(crate) mod menu_bar;
pub(crate) mod message;
pub(crate) mod progress;
pub(crate) mod status_bar;
pub(crate) mod tab_bar;
pub(crate) mod welcome;
