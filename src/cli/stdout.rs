//! Writes the result of a command to stdout.

use std::io::{self, BufWriter, Write};

use super::error::CliError;
use crate::export::check;
use crate::store::Store;

/// Bytes per write to a pipe.
const STDOUT_BYTES: usize = 1 << 16;

/// Runs `write` with a buffered stdout and flushes it: a full disk is an error even for the last bytes.
pub(super) fn to_stdout(write: impl FnOnce(&mut dyn Write) -> Result<(), CliError>) -> Result<(), CliError> {
    let mut out = BufWriter::with_capacity(STDOUT_BYTES, io::stdout().lock());
    write(&mut out)?;
    Ok(out.flush()?)
}

/// Runs `write`, which writes rows of `store`, with a buffered stdout. For a damaged store, returns an error and drops
/// the buffered bytes.
pub(super) fn rows_to_stdout(
    store: &Store,
    write: impl FnOnce(&mut dyn Write) -> Result<(), CliError>,
) -> Result<(), CliError> {
    let mut out = BufWriter::with_capacity(STDOUT_BYTES, Guarded { out: io::stdout().lock(), store, bytes: 0 });
    let written = write(&mut out);
    if let Err(damaged) = check(store) {
        let (guarded, _) = out.into_parts();
        return Err(damaged.streamed(guarded.bytes > 0).into());
    }
    written?;
    Ok(out.flush()?)
}

/// Counts bytes, and rejects more once the store is found damaged. Bytes written before that are correct.
struct Guarded<'a, W> {
    out: W,
    store: &'a Store,
    bytes: u64,
}

impl<W: Write> Write for Guarded<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        check(self.store).map_err(io::Error::other)?;
        let taken = self.out.write(bytes)?;
        self.bytes += taken as u64;
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
