//! The files of an archive, unpacked one at a time.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

use crate::base::temporary::Scratch;
use crate::formats::input::source::Source;
use crate::formats::{ReadContext, ReadError};

/// What may be unpacked whatever the archive is: small archives of very repetitive text.
const UNPACKED_BYTES_MIN: u64 = 1 << 30;

/// What an archive may unpack to, times its own length. Captures as text shrink to a twentieth, seldom to a fiftieth.
const UNPACKED_RATIO_MAX: u64 = 256;

/// Bytes between two looks at whether to stop.
const BLOCK_BYTES: usize = 1 << 20;

/// More files than any recording has.
pub(super) const MEMBERS_MAX: usize = 1_000_000;

/// The name of a file in an archive, cut where it is longer than names of events may be.
pub(super) struct MemberName {
    pub(super) text: String,
    pub(super) is_cut: bool,
}

impl MemberName {
    /// The most bytes of a name.
    pub(super) const BYTES_MAX: usize = 64 << 10;

    /// Bytes that are no text are replaced: such a name is still the name of a file.
    pub(super) fn of(bytes: &[u8]) -> Self {
        let kept = &bytes[..bytes.len().min(Self::BYTES_MAX)];
        Self { text: String::from_utf8_lossy(kept).into_owned(), is_cut: kept.len() < bytes.len() }
    }
}

/// A file of an archive.
pub(super) struct Member {
    pub(super) name: MemberName,
    pub(super) file: Scratch,
    /// Whether it ended at the limit rather than at its end, or its data are damaged.
    pub(super) ended: Ended,
}

/// How unpacking ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ended {
    AtItsEnd,
    AtTheLimit,
    InDamage,
}

/// What all members of an archive may unpack to.
#[derive(Debug)]
pub(super) struct Allowance {
    pub(super) left_bytes: u64,
}

impl Allowance {
    pub(super) fn of(archive_bytes: u64) -> Self {
        Self { left_bytes: UNPACKED_BYTES_MIN.max(archive_bytes.saturating_mul(UNPACKED_RATIO_MAX)) }
    }

    /// Unpacks a member to a temporary file.
    pub(super) fn unpack(
        &mut self,
        name: MemberName,
        packed: &mut dyn Read,
        path: &Path,
        context: &ReadContext,
    ) -> Result<Member, ReadError> {
        let (file, ended) = copy(packed, &mut self.left_bytes, path, context)?;
        Ok(Member { name, file, ended })
    }
}

/// Whether a file of an archive is about other files rather than one that a person put there.
pub(super) fn is_hidden(name: &str) -> bool {
    name.ends_with('/')
        || name.starts_with("__MACOSX/")
        || name.rsplit('/').next().is_some_and(|base| base.starts_with('.'))
}

/// Copies bytes to a temporary file. Damage of the bytes ends them; a failure to write is an error.
fn copy(
    packed: &mut dyn Read,
    left_bytes: &mut u64,
    path: &Path,
    context: &ReadContext,
) -> Result<(Scratch, Ended), ReadError> {
    let io_error = |source: io::Error| ReadError::Io { path: path.to_owned(), offset: 0, source };
    let mut file = Scratch::new(&std::env::temp_dir()).map_err(io_error)?;
    let mut block = vec![0; BLOCK_BYTES];
    loop {
        context.cancel.check()?;
        let wanted = usize::try_from(*left_bytes).unwrap_or(usize::MAX).min(BLOCK_BYTES);
        if wanted == 0 {
            return Ok((file, Ended::AtTheLimit));
        }
        match packed.read(&mut block[..wanted]) {
            Ok(0) => return Ok((file, Ended::AtItsEnd)),
            Ok(len) => {
                file.file().write_all(&block[..len]).map_err(io_error)?;
                *left_bytes -= len as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return Ok((file, Ended::InDamage)),
        }
    }
}

/// The decompressed bytes of a source as a file, for formats that read by position.
///
/// # Errors
/// [`ReadError::Malformed`] for what unpacks to far more than it is, and what the system says.
pub(crate) fn unpacked_to_file(mut source: Source, context: &ReadContext) -> Result<Scratch, ReadError> {
    let path = source.path().to_owned();
    let packed_bytes = File::open(&path).and_then(|file| file.metadata()).map_or(0, |metadata| metadata.len());
    let mut left_bytes = Allowance::of(packed_bytes).left_bytes;
    let allowed = left_bytes;
    let (file, ended) = copy(&mut source, &mut left_bytes, &path, context)?;
    if ended == Ended::AtTheLimit {
        let expected = format!("at most {allowed} bytes of decompressed data");
        return Err(ReadError::Malformed { path, offset: allowed, expected, found: "more".to_owned() });
    }
    Ok(file)
}
