//! Widgets and text layout that panels share.

pub(crate) mod bars;
pub(crate) mod context_menu;
pub(crate) mod field;
pub(crate) mod focus_ring;
pub(crate) mod letters;
pub(crate) mod marks;
pub(crate) mod press;
pub(crate) mod reading_order;
pub(crate) mod spoken;
pub(crate) mod tab_order;
pub(crate) mod tip_text;
