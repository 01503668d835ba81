//! A writer that counts its bytes, and rejects more once the written store is found damaged.

use std::io::{self, Write};

use super::error::check;
use crate::query::Snapshot;

/// See the module documentation. Bytes written before the damage is found are correct.
#[derive(Debug)]
pub(crate) struct GuardedWriter<W> {
    out: W,
    bytes: u64,
    guarded: Option<Snapshot>,
}

impl<W> GuardedWriter<W> {
    #[must_use]
    pub(crate) fn new(out: W) -> Self {
        Self { out, bytes: 0, guarded: None }
    }

    /// Rejects more bytes once the store of `snapshot` is found damaged.
    pub(crate) fn guard(&mut self, snapshot: &Snapshot) {
        self.guarded = Some(snapshot.clone());
    }

    /// Returns the number of written bytes.
    #[must_use]
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    #[must_use]
    pub(crate) fn into_inner(self) -> W {
        self.out
    }
}

impl<W: Write> Write for GuardedWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if let Some(snapshot) = &self.guarded {
            check(snapshot.store()).map_err(io::Error::other)?;
        }
        let written = self.out.write(bytes)?;
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
