//! The timeline: the canvas with its ruler, its gutter, its minimap and the marks on them.

pub(crate) mod bookmarks;
mod canvas_menu;
mod file_offset_drag;
pub(crate) mod filter_field;
mod flow_curves;
mod gutter;
mod input;
mod layout;
mod minimap;
mod navigation;
mod pane;
mod range;
mod ruler;
pub(crate) mod saved;
mod scroll_bar;
mod span_names;
pub(crate) mod state;
mod still;
mod tooltip;
pub(crate) mod tracks;
mod unsorted;
