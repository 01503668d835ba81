//! Tests of the real window with keys, wheel, mouse and dropped files, checked by pixels and the accessibility tree.
//! Each test has its own X server in memory. Nothing is skipped: a missing tool is a failure that names `.ci/setup`.
//! The table in `promises` lists each promise of the window and its tests.
#![cfg(target_os = "linux")] // an X server, a bus

mod clipboard;
mod finding;
mod hand;
mod kept;
mod kinds;
mod live;
mod moves;
mod open;
mod picture;
mod portal;
mod promises;
mod rows;
mod second;
mod session;
mod time;
mod told;
mod wayland;
mod work;
