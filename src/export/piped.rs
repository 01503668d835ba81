//! Runs a writer on a separate thread and passes its bytes on in pieces. A piece is compressed while the next one is
//! formatted.

use std::io::{self, BufWriter, IntoInnerError, Write};
use std::panic::resume_unwind;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread;

use super::error::SinkError;
use super::task::Out;
use crate::base::threads::start_scoped;

/// Bytes of a piece. A compressor takes four times as long for single lines.
const PIECE_BYTES: usize = 256 * 1024;

/// Pieces that wait to be passed on: 1 MiB.
const PIECES_AHEAD: usize = 4;

/// A writer that sends its bytes to another thread. An empty piece is a flush.
struct PieceSender(SyncSender<Vec<u8>>);

impl Write for PieceSender {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // The receiver is gone once the output has failed.
        self.0.send(bytes.into()).map_err(|_| io::ErrorKind::BrokenPipe)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.write(&[]).map(drop)
    }
}

/// Runs `write` on another thread, and passes the bytes it writes to `out`. Returns the error of `out`, or else the
/// result of `write`. Runs it on the calling thread if the system refuses another.
pub(super) fn write_piped<T: Send>(
    out: Out<'_>,
    write: impl Fn(Out<'_>) -> Result<T, SinkError> + Sync,
) -> Result<T, SinkError> {
    let piped = thread::scope(|scope| {
        let (full, pieces) = sync_channel(PIECES_AHEAD);
        let producer = start_scoped(scope, "export text", || buffered(PieceSender(full), &write)).ok()?;
        // `into_iter` drops the receiver before this waits for the writer.
        let pass_on = |piece: Vec<u8>| if piece.is_empty() { out.flush() } else { out.write_all(&piece) };
        let passed_on = pieces.into_iter().try_for_each(pass_on);
        let written = producer.join().unwrap_or_else(|panic| resume_unwind(panic));
        Some(passed_on.map_err(SinkError::from).and(written))
    });
    piped.unwrap_or_else(|| buffered(out, &write))
}

fn buffered<T>(out: impl Write, write: impl Fn(Out<'_>) -> Result<T, SinkError>) -> Result<T, SinkError> {
    let mut buffered = BufWriter::with_capacity(PIECE_BYTES, out);
    let written = write(&mut buffered)?;
    buffered.into_inner().map_err(IntoInnerError::into_error)?;
    Ok(written)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::threads::tests::with_only;

    /// An output that is full after some bytes.
    struct Full(usize);

    impl Write for Full {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 = self.0.checked_sub(bytes.len()).ok_or(io::ErrorKind::StorageFull)?;
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn bytes_are_passed_on_in_order_and_the_error_of_the_output_is_returned() {
        let line = |number: usize| format!("{number}\n").repeat(1 + number % 50);
        let write = |out: Out<'_>| -> Result<u32, SinkError> {
            (0..20_000).try_for_each(|number| out.write_all(line(number).as_bytes()))?;
            Ok(7)
        };
        let expected: String = (0..20_000).map(line).collect();
        for threads in [0, 1] {
            let (mut out, mut full) = (Vec::new(), Full(PIECE_BYTES));
            assert_eq!(with_only(threads, || write_piped(&mut out, write)).unwrap(), 7);
            assert!(out == expected.as_bytes(), "{threads} threads");
            let error = with_only(threads, || write_piped(&mut full, write)).unwrap_err();
            assert_eq!(error.to_string(), io::Error::from(io::ErrorKind::StorageFull).to_string());
        }
    }
}
