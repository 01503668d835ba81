//! Several files as one capture, given together or in an archive: their clocks set against each other, their
//! processes kept apart.

pub(crate) mod archive;
pub(crate) mod clock_sync;
pub(crate) mod files;
pub(crate) mod namespace;
