//! Files as Windows has them: checked by the compiler, never tried on a machine. Rights come with the folder there, so
//! private files lie below the user's own folder, which the callers see to.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io;
use std::os::windows::fs::{FileExt, MetadataExt};
use std::os::windows::io::AsHandle;
use std::path::{Path, PathBuf};

use super::FileKind;

/// Reads at `offset`, at most the length of `buffer`; 0 at the end of the file. Fails with the error of the system.
pub(crate) fn read_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    file.seek_read(buffer, offset)
}

/// Fills `buffer` with the bytes at `offset`. Fails with [`io::ErrorKind::UnexpectedEof`] if the file ends before, or
/// with the error of the system.
pub(crate) fn read_exact_at(file: &File, mut buffer: &mut [u8], mut offset: u64) -> io::Result<()> {
    while !buffer.is_empty() {
        match file.seek_read(buffer, offset) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(len) => {
                buffer = &mut buffer[len..];
                offset += len as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Opens a file for reading. Fails with the error of the system.
pub(crate) fn open_without_waiting(path: &Path) -> io::Result<File> {
    File::open(path)
}

/// Whether a file is on a disk of this machine: the system is not asked here.
pub(crate) fn is_local(_file: &File) -> bool {
    true
}

/// Writes all of `bytes` at `offset`. Fails with the error of the system, such as a full disk.
pub(crate) fn write_all_at(file: &File, mut bytes: &[u8], mut offset: u64) -> io::Result<()> {
    while !bytes.is_empty() {
        match file.seek_write(bytes, offset) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(len) => {
                bytes = &bytes[len..];
                offset += len as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// The standard output of this process, as a file: a write goes where the next result would. Fails with the error of
/// the system, such as that there is none.
pub(crate) fn standard_output() -> io::Result<File> {
    Ok(io::stdout().as_handle().try_clone_to_owned()?.into())
}

/// Numbers of a file of which one at least changes whenever the file does, and all stay while it stays.
#[must_use]
pub(crate) fn stamps(metadata: &Metadata) -> Vec<u64> {
    vec![metadata.file_size(), metadata.creation_time(), metadata.last_write_time()]
}

/// The kind of something that is neither a file nor a folder.
pub(super) fn special_kind(_: &Metadata) -> FileKind {
    FileKind::Device
}

/// A path by which an open file can be opened again even where it has no name: there is none.
#[must_use]
pub(crate) fn path_of_open(_: &File) -> Option<PathBuf> {
    None
}

/// Bytes that may still be written to the disk that a folder is on: not known.
#[must_use]
pub(crate) fn free_bytes(_: &Path) -> Option<u64> {
    None
}

/// Nothing: std has no such numbers there.
pub(crate) fn identity(_: &Metadata) -> (u64, u64) {
    (0, 0)
}

/// Whether both paths name the same existing file.
#[must_use]
pub(crate) fn is_same_file(a: &Path, b: &Path) -> bool {
    same_file::is_same_file(a, b).unwrap_or(false)
}

/// Has a new file be for this user alone, as its folder is.
pub(crate) fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    options
}

/// Gives a new file the rights of the one that it replaces: those come with the folder here.
pub(crate) fn inherit_rights(_: &File, _: &Metadata) {}

/// Makes a folder, unless it is there; its parent has to be. Fails if it cannot be made, or is a link or no folder.
pub(crate) fn make_private_folder(path: &Path) -> io::Result<()> {
    match fs::create_dir(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    if !fs::symlink_metadata(path)?.is_dir() {
        let message = format!("{} is a link or no folder", path.display());
        return Err(io::Error::new(io::ErrorKind::NotADirectory, message));
    }
    Ok(())
}

/// Does nothing and never fails: the names in a folder are durable with the files, and folders cannot
/// be opened as files are.
pub(crate) fn sync_folder(_: &Path) -> io::Result<()> {
    Ok(())
}

/// The number of this user: each has temporary files of its own there.
#[must_use]
pub(crate) fn user() -> u32 {
    0
}

/// Fails: holes are made on Linux alone.
pub(crate) fn make_hole(_file: &File, _offset: u64, _bytes: u64) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}
