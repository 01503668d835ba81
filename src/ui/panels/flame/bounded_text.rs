//! A text of limited length, for the clipboard.

use std::io::{self, Write};

use crate::ui::command::COPY_BYTES_MAX;

/// Text for the clipboard, which fails once it is longer than [`COPY_BYTES_MAX`].
#[derive(Default)]
pub(super) struct BoundedText {
    pub(super) bytes: Vec<u8>,
}

impl Write for BoundedText {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.bytes.len() > COPY_BYTES_MAX {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
