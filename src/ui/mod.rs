//! The widgets of the window. Each shows its arguments and returns [`command::Command`]s; none changes the store, opens
//! a file or starts a thread.

pub(crate) mod chrome;
pub(crate) mod command;
pub(crate) mod command_line;
pub(crate) mod command_table;
pub(crate) mod cut_short;
pub(crate) mod keys;
pub(crate) mod panel;
pub(crate) mod panels;
pub(crate) mod purpose;
pub(crate) mod questions;
pub(crate) mod recent;
pub(crate) mod selected_scope;
pub(crate) mod settings;
pub(crate) mod theme;
pub(crate) mod timeline;
mod typed_ahead;
pub(crate) mod widgets;
