//! Writes the result of a command to stdout.

use std::io::{self, BufWriter, Write};

use super::error::CliError;
use crate::export::check;
use crate::export::guarded::GuardedWriter;
use crate::query::Snapshot;

/// Bytes per write to a pipe.
const STDOUT_BYTES: usize = 1 << 16;

/// Runs `write` with a buffered stdout and flushes it: a full disk is an error even for the last bytes.
pub(super) fn to_stdout(write: impl FnOnce(&mut dyn Write) -> Result<(), CliError>) -> Result<(), CliError> {
    let mut out = BufWriter::with_capacity(STDOUT_BYTES, io::stdout().lock());
    write(&mut out)?;
    Ok(out.flush()?)
}

/// Runs `write`, which writes rows of `snapshot`, with a buffered stdout. For a damaged store, returns an error and
/// drops the buffered bytes.
pub(super) fn rows_to_stdout(
    snapshot: &Snapshot,
    write: impl FnOnce(&mut dyn Write) -> Result<(), CliError>,
) -> Result<(), CliError> {
    let mut guarded = GuardedWriter::new(io::stdout().lock());
    guarded.guard(snapshot);
    let mut out = BufWriter::with_capacity(STDOUT_BYTES, guarded);
    let written = write(&mut out);
    if let Err(damaged) = check(snapshot.store()) {
        let (guarded, _) = out.into_parts();
        return Err(damaged.streamed(guarded.bytes() > 0).into());
    }
    written?;
    Ok(out.flush()?)
}
