//! The files of an archive, unpacked one at a time.

use crate::base::temporary::Scratch;
use crate::formats::input::unpack::Ended;

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
    pub(super) fn from_bytes(bytes: &[u8]) -> Self {
        let prefix = &bytes[..bytes.len().min(Self::BYTES_MAX)];
        Self { text: String::from_utf8_lossy(prefix).into_owned(), is_cut: prefix.len() < bytes.len() }
    }
}

/// A file of an archive.
pub(super) struct Member {
    pub(super) name: MemberName,
    pub(super) file: Scratch,
    /// Whether it ended at the limit rather than at its end, or its data are damaged.
    pub(super) ended: Ended,
}

/// Whether a file of an archive is about other files rather than one that a person put there.
pub(super) fn is_hidden(name: &str) -> bool {
    name.ends_with('/')
        || name.starts_with("__MACOSX/")
        || name.rsplit('/').next().is_some_and(|base| base.starts_with('.'))
}
