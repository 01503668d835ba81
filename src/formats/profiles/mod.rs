//! Profiles: stacks with weights or times, over one table of frames.

pub(crate) mod collapsed;
pub(crate) mod cpuprofile;
pub(crate) mod firefox;
pub(crate) mod frames;
pub(crate) mod pprof;
pub(crate) mod speedscope;
