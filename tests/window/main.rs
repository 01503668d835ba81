//! The real window, driven as a person drives it: keys, wheel, mouse, dropped files; judged by the pixels on the screen.
//! Each test has an X server in memory to itself. Nothing is skipped: what is missing is a failure that names `.ci/setup`.

mod clipboard;
mod desk;
mod hand;
mod moves;
mod open;
mod picture;
mod rows;
mod second;
mod work;
