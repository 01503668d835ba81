//! The panels beside the timeline, one file each, and their parts: the dock with its tabs, tables, numbers, the menu of
//! a value. A panel shows its arguments and returns commands.

pub(crate) mod about;
mod answer_state;
pub(crate) mod bookmarks;
mod call_order;
mod call_rows;
pub(crate) mod code;
mod context;
pub(crate) mod counter_lines;
pub(crate) mod counters;
pub(crate) mod derived;
pub(crate) mod details;
pub(crate) mod dock;
pub(crate) mod dock_panel;
mod elided;
pub(crate) mod flame;
mod group_columns;
mod group_facts;
mod group_label;
pub(crate) mod group_lines;
mod group_rows;
pub(crate) mod heat_map;
mod hit_list;
mod hit_table;
pub(crate) mod keys;
pub(crate) mod losses;
mod number;
pub(crate) mod preferences;
mod renewal;
pub(crate) mod sample_lines;
mod sample_rows;
pub(crate) mod samples;
pub(crate) mod scheduling;
mod scheduling_rows;
pub(crate) mod scope_bar;
pub(crate) mod search;
pub(crate) mod sources;
pub(crate) mod spans;
pub(crate) mod statistics;
pub(crate) mod symbols;
mod table;
mod table_column;
pub(crate) mod table_keys;
pub(crate) mod table_order;
mod value_menu;

pub(crate) use context::PanelContext;
