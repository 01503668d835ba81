//! The sorted result on disk: per-lane blocks of spans with their indexes, one file, mapped read-only.

pub mod lane;
