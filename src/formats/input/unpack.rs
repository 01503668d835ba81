//! Unpacks to temporary files, for what is read by position, within a limit on what a small file may become.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

use super::source::Source;
use crate::base::temporary::Scratch;
use crate::formats::input::lengths::saturating_len;
use crate::formats::{ReadContext, ReadError};

/// Bytes that every file may unpack to: small archives may hold very repetitive text.
const UNPACKED_BYTES_MIN: u64 = 1 << 30;

/// The most that an archive may unpack to, as a multiple of its length. Text captures shrink to a twentieth,
/// and seldom to a fiftieth.
const UNPACKED_RATIO_MAX: u64 = 256;

/// Bytes between two checks for cancellation. Small, since each of perhaps a million files clears a block.
const BLOCK_BYTES: usize = 64 << 10;

/// Why unpacking of a file ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ended {
    AtItsEnd,
    AtTheLimit,
    InDamage,
}

/// The bytes that a file, or all members of an archive together, may still unpack to.
#[derive(Debug)]
pub(crate) struct Allowance {
    pub(crate) left_bytes: u64,
}

impl Allowance {
    pub(crate) fn for_packed(archive_bytes: u64) -> Self {
        Self { left_bytes: UNPACKED_BYTES_MIN.max(archive_bytes.saturating_mul(UNPACKED_RATIO_MAX)) }
    }

    /// Unpacks bytes of the file at `path` to a temporary file. Damaged bytes end it; a failed write
    /// or read is an error.
    pub(crate) fn unpack(
        &mut self,
        packed: &mut dyn Read,
        path: &Path,
        context: &ReadContext,
    ) -> Result<(Scratch, Ended), ReadError> {
        let io_error = |source: io::Error| ReadError::Io { path: path.to_owned(), offset: 0, source };
        let mut file = Scratch::new(&std::env::temp_dir()).map_err(io_error)?;
        let mut block = vec![0; BLOCK_BYTES];
        loop {
            context.cancel.check()?;
            let wanted = saturating_len(self.left_bytes).min(BLOCK_BYTES);
            if wanted == 0 {
                return Ok((file, Ended::AtTheLimit));
            }
            match packed.read(&mut block[..wanted]) {
                Ok(0) => return Ok((file, Ended::AtItsEnd)),
                Ok(len) => {
                    file.file().write_all(&block[..len]).map_err(io_error)?;
                    self.left_bytes -= len as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return Ok((file, Ended::InDamage)),
            }
        }
    }
}

/// Unpacks a source to a file, for formats that read by position. Fails with [`ReadError::Malformed`] if the source
/// unpacks to far more than it is, and with I/O errors.
pub(crate) fn unpacked_to_file(mut source: Source, context: &ReadContext) -> Result<Scratch, ReadError> {
    let path = source.path().to_owned();
    let packed_bytes = File::open(&path).and_then(|file| file.metadata()).map_or(0, |metadata| metadata.len());
    let mut allowance = Allowance::for_packed(packed_bytes);
    let allowed = allowance.left_bytes;
    let (file, ended) = allowance.unpack(&mut source, &path, context)?;
    if ended == Ended::AtTheLimit {
        let expected = format!("at most {allowed} bytes of decompressed data");
        return Err(ReadError::Malformed { path, offset: allowed, expected, found: "more".to_owned() });
    }
    Ok(file)
}
