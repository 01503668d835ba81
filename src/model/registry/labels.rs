//! The names of processes and threads, within a limit for each and a limit for all together.

use std::sync::Arc;

use crate::model::shared_texts::SharedTexts;

/// Length of a name for which SECURITY.md grants memory per process and track.
pub(super) const LABEL_BYTES: usize = 128;

/// Limit for the length of names of processes and threads.
pub(super) const LABEL_BYTES_MAX: usize = 1 << 10;

/// Limit for the bytes of all names beyond [`LABEL_BYTES`] of each.
pub(super) const LONG_LABEL_BYTES_MAX: usize = 8 << 20;

/// Bounds names before they are stored.
#[derive(Debug, Clone, Default)]
pub(super) struct Labels {
    /// Names of threads, groups and derived tracks. Many of them may have the same name.
    shared: SharedTexts,
    /// Bytes of the stored names beyond [`LABEL_BYTES`] of each. Names that threads share count for each.
    long_bytes: usize,
    cut: u64,
    is_full: bool,
}

impl Labels {
    /// Returns the text, shared with an earlier equal one where that is known.
    pub(super) fn share(&mut self, text: &str) -> Arc<str> {
        self.shared.share(text)
    }

    /// Replaces the name or labels of a process.
    pub(super) fn replace(&mut self, label: &mut Box<str>, name: &str) {
        *label = self.bounded(label.len(), name).into();
    }

    /// Replaces the name of a thread.
    pub(super) fn replace_shared(&mut self, label: &mut Option<Arc<str>>, name: &str) {
        let name = self.bounded(label.as_ref().map_or(0, |label| label.len()), name);
        *label = Some(self.shared.share(name));
    }

    /// Returns the part of a name that is stored in place of one of `replaced_bytes`.
    fn bounded<'n>(&mut self, replaced_bytes: usize, name: &'n str) -> &'n str {
        self.long_bytes = self.long_bytes.saturating_sub(long_bytes(replaced_bytes));
        let start = |bytes_max| &name[..name.floor_char_boundary(bytes_max)];
        let mut bounded = start(LABEL_BYTES_MAX);
        if self.long_bytes + long_bytes(bounded.len()) > LONG_LABEL_BYTES_MAX {
            bounded = start(LABEL_BYTES);
            self.is_full = true;
        }
        self.long_bytes += long_bytes(bounded.len());
        self.cut += u64::from(bounded.len() < name.len());
        bounded
    }

    /// Returns the number of names that were cut, because they or all names together were too long.
    pub(super) fn cut(&self) -> u64 {
        self.cut
    }

    /// Returns whether a name was cut because all names together were too long.
    pub(super) fn is_full(&self) -> bool {
        self.is_full
    }
}

/// Returns the bytes of a name of this length that count towards [`LONG_LABEL_BYTES_MAX`].
fn long_bytes(bytes: usize) -> usize {
    bytes.saturating_sub(LABEL_BYTES)
}
