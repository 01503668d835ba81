//! The file of a capture: its records and payloads, read by `pread` and compared with their checksums. Never maps it,
//! since it may be cut while it is read; knows nothing of the content of a payload.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use super::columns::DECODED_BYTES_MAX;
use super::wire::{ChunkHeader, DirectoryEntry, checksum};
use crate::base::files::{self, FileKind};
use crate::formats::ReadError;

/// A capture with its name, for errors.
#[derive(Debug)]
pub(super) struct CaptureFile {
    file: File,
    path: PathBuf,
    /// Bytes of the file when it was opened: what it grows by later is not read.
    pub(super) bytes: u64,
}

impl CaptureFile {
    /// Opens a file; [`ReadError::NotAFile`] and [`ReadError::Empty`] refuse what can hold no capture.
    pub(super) fn open(path: &Path) -> Result<Self, ReadError> {
        let io = |source| ReadError::Io { path: path.into(), offset: 0, source };
        let file = File::open(path).map_err(io)?;
        let metadata = file.metadata().map_err(io)?;
        if !metadata.is_file() {
            return Err(ReadError::NotAFile { path: path.into(), kind: FileKind::from_metadata(&metadata) });
        }
        if metadata.len() == 0 {
            return Err(ReadError::Empty { path: path.into() });
        }
        Ok(Self { file, path: path.into(), bytes: metadata.len() })
    }

    /// The same file, which errors are to call by another name.
    pub(super) fn with_path(self, path: &Path) -> Self {
        Self { path: path.into(), ..self }
    }

    /// Fills `buffer` from `offset` on.
    pub(super) fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), ReadError> {
        let io = |source| ReadError::Io { path: self.path.clone(), offset, source };
        files::read_exact_at(&self.file, buffer, offset).map_err(io)
    }

    /// Reads a fixed-size record; `None` if the file ends inside of it.
    pub(super) fn record<T: bytemuck::Pod>(&self, offset: u64) -> Result<Option<T>, ReadError> {
        if offset.checked_add(size_of::<T>() as u64).is_none_or(|end| end > self.bytes) {
            return Ok(None);
        }
        let mut record = T::zeroed();
        self.read_at(offset, bytemuck::bytes_of_mut(&mut record))?;
        Ok(Some(record))
    }

    /// The payload after a header, as it was written.
    pub(super) fn payload(&self, entry: &DirectoryEntry) -> Result<Vec<u8>, ReadError> {
        let mut chunk = vec![0; size_of::<ChunkHeader>() + entry.header.payload_bytes as usize];
        self.read_at(entry.offset, &mut chunk).map_err(|error| match error {
            // The file was cut after it was opened: this chunk is lost like a damaged one, and those before it are not.
            ReadError::Io { source, .. } if source.kind() == io::ErrorKind::UnexpectedEof => {
                self.malformed(entry.offset, format!("{} bytes", chunk.len()), "the end of the file".into())
            }
            error => error,
        })?;
        let payload = chunk.split_off(size_of::<ChunkHeader>());
        if chunk != bytemuck::bytes_of(&entry.header) {
            return Err(self.malformed(entry.offset, "the header in the directory".into(), "another".into()));
        }
        let found = checksum(&payload);
        if found != entry.header.payload_checksum {
            let expected = format!("checksum {:016x}", entry.header.payload_checksum);
            return Err(self.malformed(entry.offset, expected, format!("{found:016x}")));
        }
        Ok(payload)
    }

    /// The decompressed payload of a chunk of tables or of a directory.
    pub(super) fn decompressed(&self, entry: &DirectoryEntry) -> Option<Vec<u8>> {
        let payload = self.payload(entry).ok()?;
        let bytes = zstd::bulk::decompress(&payload, entry.header.memory_bytes as usize).ok()?;
        (bytes.len() == entry.header.memory_bytes as usize).then_some(bytes)
    }

    /// The decoded payload of a chunk of tables or stacks.
    pub(super) fn patch<T: serde::de::DeserializeOwned>(&self, entry: &DirectoryEntry) -> Option<T> {
        postcard::from_bytes(&self.decompressed(entry)?).ok()
    }

    /// Whether a header can be followed: nothing about it has changed, and its chunk lies within the file.
    pub(super) fn holds(&self, entry: &DirectoryEntry) -> bool {
        entry.header.is_whole()
            && u64::from(entry.header.memory_bytes) <= DECODED_BYTES_MAX
            && entry.offset.checked_add(entry.header.stride_bytes()).is_some_and(|end| end <= self.bytes)
    }

    /// An error at an offset of the file.
    pub(super) fn malformed(&self, offset: u64, expected: String, found: String) -> ReadError {
        ReadError::Malformed { path: self.path.clone(), offset, expected, found }
    }
}
