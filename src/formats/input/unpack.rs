//! Unpacks files to temporary files, for formats that read by position, with a limit on the compression ratio.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

use super::source::Source;
use crate::base::temporary::Scratch;
use crate::formats::input::lengths::saturating_len;
use crate::formats::{ReadContext, ReadError};

/// Size that every file may unpack to: small archives may contain very repetitive text.
const UNPACKED_BYTES_MIN: u64 = 1 << 30;

/// Maximal ratio of unpacked to packed length. Text traces compress by a factor of twenty, rarely fifty.
const UNPACKED_RATIO_MAX: u64 = 256;

/// Bytes between checks for cancellation. Small, since each of perhaps a million files clears a block.
const BLOCK_BYTES: usize = 64 << 10;

/// How unpacking ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UnpackOutcome {
    Complete,
    LimitReached,
    Damaged,
}

/// Bytes that a file, or all members of an archive together, may still unpack to.
#[derive(Debug)]
pub(crate) struct Allowance {
    pub(crate) left_bytes: u64,
}

impl Allowance {
    pub(crate) fn for_packed(archive_bytes: u64) -> Self {
        Self { left_bytes: UNPACKED_BYTES_MIN.max(archive_bytes.saturating_mul(UNPACKED_RATIO_MAX)) }
    }

    /// Unpacks data of the file at `path` to a temporary file. Damage ends it; a failed read of the file or a failed
    /// write is an error.
    pub(crate) fn unpack(
        &mut self,
        packed: &mut dyn Read,
        path: &Path,
        context: &ReadContext,
    ) -> Result<(Scratch, UnpackOutcome), ReadError> {
        let folder = std::env::temp_dir();
        let write_error = |source| ReadError::TemporaryCopy { folder: folder.clone(), source };
        let mut file = Scratch::new(&folder).map_err(write_error)?;
        let mut unpacked_bytes = 0;
        let mut block = vec![0; BLOCK_BYTES];
        loop {
            context.cancel.check()?;
            let wanted = saturating_len(self.left_bytes).min(BLOCK_BYTES);
            if wanted == 0 {
                return Ok((file, UnpackOutcome::LimitReached));
            }
            match packed.read(&mut block[..wanted]) {
                Ok(0) => return Ok((file, UnpackOutcome::Complete)),
                Ok(len) => {
                    file.file().write_all(&block[..len]).map_err(write_error)?;
                    self.left_bytes -= len as u64;
                    unpacked_bytes += len as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // Errors of decompressors are not of the system.
                Err(source) if source.raw_os_error().is_some() => {
                    return Err(ReadError::Io { path: path.to_owned(), offset: unpacked_bytes, source });
                }
                Err(_) => return Ok((file, UnpackOutcome::Damaged)),
            }
        }
    }
}

/// Unpacks a source to a temporary file. Fails with [`ReadError::Malformed`] beyond the size limit, and with I/O
/// errors.
pub(crate) fn unpacked_to_file(mut source: Source, context: &ReadContext) -> Result<Scratch, ReadError> {
    let path = source.path().to_owned();
    let packed_bytes = File::open(&path).and_then(|file| file.metadata()).map_or(0, |metadata| metadata.len());
    let mut allowance = Allowance::for_packed(packed_bytes);
    let allowed = allowance.left_bytes;
    let (file, outcome) = allowance.unpack(&mut source, &path, context)?;
    if outcome == UnpackOutcome::LimitReached {
        let expected = format!("at most {allowed} bytes of decompressed data");
        return Err(ReadError::malformed(path, allowed, expected, "more"));
    }
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fails once.
    struct FailingRead(Option<io::Error>);

    impl Read for FailingRead {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            self.0.take().map_or(Ok(0), Err)
        }
    }

    #[test]
    fn a_failed_read_of_the_disk_is_no_damage_of_the_data() {
        let unpack = |error: io::Error| {
            let mut allowance = Allowance::for_packed(1);
            let unpacked = allowance.unpack(&mut FailingRead(Some(error)), Path::new("a.gz"), &ReadContext::default());
            unpacked.map(|(_, outcome)| outcome).map_err(|error| error.to_string())
        };
        assert_eq!(unpack(io::ErrorKind::InvalidData.into()), Ok(UnpackOutcome::Damaged));
        // EIO.
        let error = unpack(io::Error::from_raw_os_error(5)).expect_err("a failed read");
        assert!(error.starts_with("a.gz: cannot read at byte 0: "), "{error}");
    }
}
