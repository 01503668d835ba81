//! Several files as one capture, given together or in an archive: aligns their clocks and keeps their processes apart.

pub(crate) mod archive;
pub(crate) mod clock_sync;
pub(crate) mod files;
pub(crate) mod namespace;
