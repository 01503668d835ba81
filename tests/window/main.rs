//! Tests of the real window with keys, wheel, mouse and dropped files, checked by pixels and the accessibility tree.
//! Each test has its own X server in memory. No test is skipped: a missing tool is a failure that names `.ci/setup`.
//! The table in `promises` lists each promise of the window and its tests.
#![cfg(target_os = "linux")] // an X server, a bus

mod accessibility;
mod analysis;
mod clipboard;
mod jobs;
mod live;
mod navigation;
mod open;
mod pan_zoom;
mod persistence;
mod portal;
mod promises;
mod screenshot;
mod second_instance;
mod session;
mod time_ranges;
mod track_kinds;
mod tracks;
mod wayland;
