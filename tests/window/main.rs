//! The real window, driven as a person drives it: keys, wheel, mouse, dropped files; judged by the pixels on the screen
//! and by the accessibility tree. Each test has an X server in memory to itself. Nothing is skipped: a missing tool is
//! a failure that names `.ci/setup`. The table in `promises` lists each promise of the window and its tests.
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
