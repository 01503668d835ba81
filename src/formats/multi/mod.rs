//! Several files as one trace, given together or in an archive: aligns their clocks and separates their processes.

pub(crate) mod archive;
pub(crate) mod clock_sync;
pub(crate) mod files;
pub(crate) mod joined_files;
pub(crate) mod namespace;
