//! The widgets of the window. Each shows its arguments and returns [`command::Command`]s; none changes the store, opens
//! a file or starts a thread.
//!
//! [`timeline`] is the canvas, [`panels`] are the dock and the tool windows beside it, [`chrome`] is around both, and
//! [`widgets`] are their common parts. [`command_table`] has the title and keys of each command, which [`keys`] finds
//! by key presses. Panels ask [`questions`] about a [`selected_scope`], which the application answers in the
//! background.

pub(crate) mod chrome;
pub(crate) mod command;
pub(crate) mod command_line;
pub(crate) mod command_table;
pub(crate) mod held_keys;
pub(crate) mod interrupted_traces;
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
