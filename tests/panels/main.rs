//! Tests the panels through their accessibility tree, without a window or a graphics card, and by keyboard where
//! possible. Tests find a control by its label, never by its position.

mod absent;
mod call_tree;
#[cfg(target_os = "linux")] // ELF files
mod code;
mod controls;
mod copied;
mod counters;
mod custom_groups;
mod derived;
mod details;
mod dock;
mod files;
mod finding;
mod first_frames;
mod flame;
mod frame;
mod group_levels;
mod groups;
mod heat_map;
mod kept;
mod live;
mod markers;
mod menus;
mod names;
mod picker;
mod pinch;
mod pinned;
mod pointer;
#[cfg(target_os = "linux")]
#[path = "../protobuf/mod.rs"]
mod protobuf;
#[cfg(target_os = "linux")]
#[path = "../recording/mod.rs"]
mod recording;
mod same_name;
mod samples;
mod scheduling;
mod scope;
mod session;
mod spans;
mod spoken;
#[cfg(target_os = "linux")] // ELF files
mod symbols;
mod tables;
mod tabs;
mod track_groups;
mod track_moves;
mod track_order;
mod track_statistics;
mod undo;
