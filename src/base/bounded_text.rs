//! A text of limited length, such as one for the clipboard.

use std::io::{self, Write};

/// A text that fails to grow once it is longer than its limit.
#[derive(Debug)]
pub(crate) struct BoundedText {
    bytes: Vec<u8>,
    bytes_max: usize,
}

impl BoundedText {
    #[must_use]
    pub(crate) fn new(bytes_max: usize) -> Self {
        Self { bytes: Vec::new(), bytes_max }
    }

    /// Returns the text; longer than its limit if it is incomplete.
    #[must_use]
    pub(crate) fn into_text(self) -> String {
        String::from_utf8(self.bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
    }
}

impl Write for BoundedText {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.bytes.len() > self.bytes_max {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_beyond_its_limit_is_recognised_by_its_length() {
        let mut text = BoundedText::new(10);
        let written = (0..100).take_while(|_| text.write_all(b"four").is_ok()).count();
        assert_eq!((written, text.into_text().len()), (3, 12));
    }
}
