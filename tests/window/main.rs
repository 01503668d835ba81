//! The real window, driven as a person drives it: keys, wheel, mouse, dropped files; judged by the pixels on the screen and by
//! what a screen reader is told. Each test has an X server in memory to itself. Nothing is skipped: what is missing is a failure
//! that names `.ci/setup`. What is promised of the window, and which test holds it, is the table in `promises`.
#![cfg(target_os = "linux")] // an X server, a bus

mod clipboard;
mod finding;
mod hand;
mod kept;
mod kinds;
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
