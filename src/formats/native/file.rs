//! The file of a native trace: reads records and payloads with `pread` and verifies their checksums. Never maps the
//! file, since it may be truncated while it is read. Does not interpret payloads.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use super::wire::{ChunkHeader, DirectoryEntry, checksum};
use crate::base::files::{self, FileKind};
use crate::formats::ReadError;

/// A trace file with its path, for errors.
#[derive(Debug)]
pub(super) struct NativeFile {
    file: File,
    path: PathBuf,
    /// Length of the file when it was opened; later growth is ignored.
    pub(super) bytes: u64,
}

impl NativeFile {
    /// Opens a file; refuses non-files with [`ReadError::NotAFile`] and empty ones with [`ReadError::Empty`].
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

    /// Replaces the path that errors show.
    pub(super) fn with_path(self, path: &Path) -> Self {
        Self { path: path.into(), ..self }
    }

    /// Fills `buffer` from an offset.
    pub(super) fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), ReadError> {
        let io = |source| ReadError::Io { path: self.path.clone(), offset, source };
        files::read_exact_at(&self.file, buffer, offset).map_err(io)
    }

    /// Reads a fixed-size record; returns `None` if the file ends inside it.
    pub(super) fn record<T: bytemuck::Pod>(&self, offset: u64) -> Result<Option<T>, ReadError> {
        if offset.checked_add(size_of::<T>() as u64).is_none_or(|end| end > self.bytes) {
            return Ok(None);
        }
        let mut record = T::zeroed();
        self.read_at(offset, bytemuck::bytes_of_mut(&mut record))?;
        Ok(Some(record))
    }

    /// Reads the raw payload of a chunk, and verifies its header and checksum.
    pub(super) fn payload(&self, entry: &DirectoryEntry) -> Result<Vec<u8>, ReadError> {
        let bytes = size_of::<ChunkHeader>() + entry.header.payload_bytes as usize;
        let cut = |error| match error {
            // The file was truncated after it was opened: this chunk is lost like a damaged chunk, earlier chunks are
            // not.
            ReadError::Io { source, .. } if source.kind() == io::ErrorKind::UnexpectedEof => {
                self.malformed(entry.offset, format!("{bytes} bytes"), "the end of the file".into())
            }
            error => error,
        };
        let mut header = [0; size_of::<ChunkHeader>()];
        self.read_at(entry.offset, &mut header).map_err(cut)?;
        if header != *bytemuck::bytes_of(&entry.header) {
            return Err(self.malformed(entry.offset, "the header in the directory".into(), "another".into()));
        }
        let mut payload = vec![0; entry.header.payload_bytes as usize];
        self.read_at(entry.offset + ChunkHeader::BYTES, &mut payload).map_err(cut)?;
        let payload_checksum = checksum(&payload);
        if payload_checksum != entry.header.payload_checksum {
            let expected = format!("checksum {:016x}", entry.header.payload_checksum);
            return Err(self.malformed(entry.offset, expected, format!("{payload_checksum:016x}")));
        }
        Ok(payload)
    }

    /// Returns the decompressed payload of a chunk of tables or of a directory; `None` if it is damaged.
    pub(super) fn decompressed(&self, entry: &DirectoryEntry) -> Result<Option<Vec<u8>>, ReadError> {
        let payload = match self.payload(entry) {
            Ok(payload) => payload,
            Err(ReadError::Malformed { .. }) => return Ok(None),
            // The file was cut meanwhile.
            Err(ReadError::Io { source, .. }) if source.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
            Err(error) => return Err(error),
        };
        let bytes = zstd::bulk::decompress(&payload, entry.header.memory_bytes as usize).ok();
        Ok(bytes.filter(|bytes| bytes.len() == entry.header.memory_bytes as usize))
    }

    /// Returns the deserialised payload of a chunk of tables or stacks; `None` if it is damaged.
    pub(super) fn patch<T: serde::de::DeserializeOwned>(&self, entry: &DirectoryEntry) -> Result<Option<T>, ReadError> {
        Ok(self.decompressed(entry)?.and_then(|bytes| postcard::from_bytes(&bytes).ok()))
    }

    /// Returns whether a chunk can be read: its header is intact, and the chunk lies within the file.
    pub(super) fn holds(&self, entry: &DirectoryEntry) -> bool {
        entry.header.is_whole()
            && entry.header.fits_memory()
            && entry.offset.checked_add(entry.header.stride_bytes()).is_some_and(|end| end <= self.bytes)
    }

    /// Creates an error at an offset of the file.
    pub(super) fn malformed(&self, offset: u64, expected: String, found: String) -> ReadError {
        ReadError::Malformed { path: self.path.clone(), offset, expected, found }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chunk_that_cannot_be_read_is_an_error_and_one_that_is_damaged_is_not() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("t.longspan");
        let payload = zstd::bulk::compress(b"no tables", 1).expect("compressed");
        let header = ChunkHeader {
            memory_bytes: 9,
            payload_bytes: payload.len() as u32,
            payload_checksum: checksum(&payload),
            ..bytemuck::Zeroable::zeroed()
        };
        std::fs::write(&path, [bytemuck::bytes_of(&header), &payload].concat()).expect("written");
        let entry = DirectoryEntry { offset: 0, header };
        let file = NativeFile::open(&path).expect("a file");
        assert_eq!(file.decompressed(&entry).expect("read").as_deref(), Some(&b"no tables"[..]));
        // Text has no numbers of these bytes.
        assert_eq!(file.patch::<Vec<u64>>(&entry).expect("read"), None);
        // A file that is open for writing only cannot be read.
        let unreadable = File::options().write(true).open(&path).expect("open");
        let file = NativeFile { file: unreadable, ..file };
        assert!(matches!(file.decompressed(&entry), Err(ReadError::Io { .. })));
        assert!(matches!(file.patch::<String>(&entry), Err(ReadError::Io { .. })));
        let file = NativeFile::open(&path).expect("a file");
        File::options().write(true).open(&path).expect("open").set_len(20).expect("cut");
        assert_eq!(file.decompressed(&entry).expect("read"), None, "a file that was cut is damaged");
    }
}
