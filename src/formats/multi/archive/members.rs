//! Files of an archive, unpacked one at a time.

use crate::base::temporary::Scratch;
use crate::formats::input::unpack::UnpackOutcome;

/// Limit for files in an archive; no recording has more.
pub(super) const MEMBERS_MAX: usize = 1_000_000;

/// Name of a file in an archive, truncated to the limit for event names.
pub(super) struct MemberName {
    pub(super) text: String,
    pub(super) is_cut: bool,
}

impl MemberName {
    /// Limit for the bytes of a name.
    pub(super) const BYTES_MAX: usize = 64 << 10;

    /// Converts bytes to a name; invalid UTF-8 is replaced.
    pub(super) fn from_bytes(bytes: &[u8]) -> Self {
        let prefix = &bytes[..bytes.len().min(Self::BYTES_MAX)];
        Self { text: String::from_utf8_lossy(prefix).into_owned(), is_cut: prefix.len() < bytes.len() }
    }
}

/// An unpacked file of an archive.
pub(super) struct Member {
    pub(super) name: MemberName,
    pub(super) file: Scratch,
    /// Whether unpacking ended at the end of the file, at the limit, or at damage.
    pub(super) outcome: UnpackOutcome,
}

/// Returns whether a file is metadata about other files, or hidden.
pub(super) fn is_hidden(name: &str) -> bool {
    name.ends_with('/')
        || name.starts_with("__MACOSX/")
        || name.rsplit('/').next().is_some_and(|base| base.starts_with('.'))
}
