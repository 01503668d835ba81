//! The panels as a screen reader tells them, worked without a mouse where a user could: no window, no graphics card. What
//! stands on the screen is found by what it says it is, never by where it is.

mod controls;
mod copied;
mod dock;
mod files;
mod finding;
mod hand;
mod menus;
mod names;
mod session;
mod tables;
