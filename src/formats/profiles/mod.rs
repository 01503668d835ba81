//! Profiles: stacks with weights or times, on a common frame table.

pub(crate) mod austin;
pub(crate) mod callgrind;
pub(crate) mod collapsed;
pub(crate) mod cpuprofile;
pub(crate) mod firefox;
pub(crate) mod frames;
pub(crate) mod heap_profile;
pub(crate) mod pprof;
pub(crate) mod speedscope;
pub(crate) mod v8_calls;
mod v8_head;
pub(crate) mod v8_parts;
mod v8_tree;
mod weighed;
mod weight_scale;
pub(crate) mod xdebug;
mod xdebug_calls;
mod xdebug_text;
