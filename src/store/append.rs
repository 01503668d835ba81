//! Appends to a file through one large buffer. Never reads or seeks.

use std::fs::File;
use std::io;
use std::sync::Arc;

use crate::base::disk::Disk;

/// Bytes buffered before a write: a billion spans take about ten thousand writes.
const BUFFER_BYTES: usize = 1 << 20;

/// The store file while it grows, with its write buffer.
#[derive(Debug)]
pub(crate) struct AppendFile {
    file: File,
    disk: Arc<dyn Disk>,
    buffer: Vec<u8>,
    written: u64,
}

impl AppendFile {
    /// Starts at offset 0 of an empty file.
    #[must_use]
    pub(crate) fn new(file: File, disk: Arc<dyn Disk>) -> Self {
        Self { file, disk, buffer: Vec::with_capacity(BUFFER_BYTES), written: 0 }
    }

    /// The offset of the next byte.
    #[must_use]
    pub(crate) fn position(&self) -> u64 {
        self.written + self.buffer.len() as u64
    }

    /// Appends what `fill` adds to the buffer, padded to start at a multiple of 8. Returns its offset, or the I/O error
    /// of a write, such as a full disk.
    pub(crate) fn append_with(&mut self, fill: impl FnOnce(&mut Vec<u8>)) -> io::Result<u64> {
        if self.buffer.len() >= BUFFER_BYTES {
            self.flush()?;
        }
        while !self.position().is_multiple_of(8) {
            self.buffer.push(0);
        }
        let position = self.position();
        fill(&mut self.buffer);
        Ok(position)
    }

    /// Appends `bytes`, padded to start at a multiple of 8. Returns their offset, or the I/O error of a write.
    pub(crate) fn append(&mut self, bytes: &[u8]) -> io::Result<u64> {
        self.append_with(|buffer| buffer.extend_from_slice(bytes))
    }

    /// Appends `bytes` without padding. Returns the I/O error of a failed write.
    pub(crate) fn append_more(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.buffer.len() >= BUFFER_BYTES {
            self.flush()?;
        }
        self.buffer.extend_from_slice(bytes);
        Ok(())
    }

    /// Writes the buffer to the file. Returns the I/O error of a failed write.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        if self.buffer.is_empty() {
            return Ok(());
        }
        self.disk.write_all_at(&self.file, &self.buffer, self.written)?;
        self.written += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }

    /// Drops everything after `position`, which no map of the file reaches. Returns the I/O error of the system.
    pub(super) fn truncate(&mut self, position: u64) -> io::Result<()> {
        self.buffer.clear();
        self.written = position;
        // A failed write may have left a part after the written bytes.
        self.file.set_len(position)
    }

    /// Writes the buffer to the file and syncs it to disk. Returns the I/O error of a failed write.
    pub(crate) fn sync(&mut self) -> io::Result<()> {
        self.flush()?;
        self.disk.sync(&self.file)
    }

    #[must_use]
    pub(crate) fn file(&self) -> &File {
        &self.file
    }
}
