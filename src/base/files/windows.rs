//! File operations on Windows: compiled in checks, never run on a machine. Permissions are inherited from the folder
//! there, so callers put private files below the user's own folder.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io;
use std::os::windows::fs::{FileExt, MetadataExt};
use std::os::windows::io::AsHandle;
use std::path::{Path, PathBuf};

use super::FileKind;

/// Reads up to the length of `buffer` at `offset`; returns 0 at the end of the file, or the error of the system.
pub(crate) fn read_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    file.seek_read(buffer, offset)
}

/// Fills `buffer` with the bytes at `offset`. Returns [`io::ErrorKind::UnexpectedEof`] if the file ends before, or the
/// error of the system.
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

/// Opens a file for reading. Returns the error of the system.
pub(crate) fn open_without_waiting(path: &Path) -> io::Result<File> {
    File::open(path)
}

/// Returns true: this system is not queried.
pub(crate) fn is_local(_file: &File) -> bool {
    true
}

/// Writes all of `bytes` at `offset`. Returns the error of the system, such as a full disk.
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

/// Returns the standard output of this process as a file that shares its position, or the error of the system.
pub(crate) fn standard_output() -> io::Result<File> {
    Ok(io::stdout().as_handle().try_clone_to_owned()?.into())
}

/// Opens `path`: this system has no paths of descriptors.
pub(crate) fn duplicate(_number: u32, path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).open(path)
}

/// Returns numbers of a file. At least one of them changes whenever the file does.
#[must_use]
pub(crate) fn stamps(metadata: &Metadata) -> Vec<u64> {
    vec![metadata.file_size(), metadata.creation_time(), metadata.last_write_time()]
}

/// Returns the kind of something that is neither a file nor a folder.
pub(super) fn special_kind(_: &Metadata) -> FileKind {
    FileKind::Device
}

/// Returns `false`: the null device has no metadata.
#[must_use]
pub(crate) fn is_null_device(_: &Metadata) -> bool {
    false
}

/// Returns `None`: there is no path that reopens an open file.
#[must_use]
pub(crate) fn path_of_open(_: &File) -> Option<PathBuf> {
    None
}

/// Returns `None`: the free bytes are unknown.
#[must_use]
pub(crate) fn free_bytes(_: &Path) -> Option<u64> {
    None
}

/// Returns zeros: std has no file identity here.
pub(crate) fn identity(_: &Metadata) -> (u64, u64) {
    (0, 0)
}

/// Returns whether both paths are the same existing file.
#[must_use]
pub(crate) fn is_same_file(a: &Path, b: &Path) -> bool {
    same_file::is_same_file(a, b).unwrap_or(false)
}

/// Does nothing: files are private by their folder.
pub(crate) fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    options
}

/// Does nothing: permissions are inherited from the folder.
pub(crate) fn inherit_rights(_: &File, _: &Metadata) {}

/// Creates a folder unless it exists; its parent must exist. Returns an error if it cannot be created, or is a link or
/// no folder.
pub(crate) fn make_private_folder(path: &Path) -> io::Result<()> {
    match fs::create_dir(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => check_private_folder(path),
    }
}

/// Checks an existing folder. Returns an error if it is a link or not a folder.
pub(crate) fn check_private_folder(path: &Path) -> io::Result<()> {
    if !fs::symlink_metadata(path)?.is_dir() {
        let message = format!("{} is a link or not a folder", path.display());
        return Err(io::Error::new(io::ErrorKind::NotADirectory, message));
    }
    Ok(())
}

/// Does nothing: names are durable with the files, and folders cannot be opened like files.
pub(crate) fn sync_folder(_: &Path) -> io::Result<()> {
    Ok(())
}

/// Returns 0: each user has separate temporary files here.
#[must_use]
pub(crate) fn user() -> u32 {
    0
}

/// Always returns an error: holes are supported on Linux only.
pub(crate) fn make_hole(_file: &File, _offset: u64, _bytes: u64) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}
