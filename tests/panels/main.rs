//! The panels through their accessibility tree, used without a mouse where a user could: no window, no graphics card.
//! Tests find a control by its label, never by its place.

mod controls;
mod copied;
mod counters;
mod dock;
mod files;
mod finding;
mod flame;
mod frame;
mod groups;
mod hand;
mod kept;
mod menus;
mod names;
mod scope;
mod session;
mod spans;
mod tables;
