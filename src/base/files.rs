//! Platform-specific file operations: positional reads and writes, file identity, permissions. One file for Unix and
//! one for Windows, with the same functions, so that other modules rarely need a `cfg`.

use std::fs::{self, Metadata};
use std::io;
use std::path::{Component, Path, PathBuf};

#[cfg(unix)]
#[path = "files/unix.rs"]
mod system;
#[cfg(windows)]
#[path = "files/windows.rs"]
mod system;

#[cfg(unix)]
pub(crate) use system::make_secret_folder;

pub(crate) use system::{
    check_private_folder, duplicate, free_bytes, identity, inherit_rights, is_local, is_null_device, is_same_file,
    make_hole, make_private_folder, open_without_waiting, path_of_open, private, read_at, read_exact_at, stamps,
    standard_output, sync_folder, user, write_all_at,
};

/// The kind of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// A regular file, for positional reads.
    File,
    Folder,
    /// A pipe or similar input, which can be read once, front to back.
    Pipe,
    Socket,
    /// A terminal, a disk and the like.
    Device,
}

impl FileKind {
    /// Determines the kind from metadata.
    #[must_use]
    pub(crate) fn from_metadata(metadata: &Metadata) -> Self {
        if metadata.is_file() {
            Self::File
        } else if metadata.is_dir() {
            Self::Folder
        } else {
            system::special_kind(metadata)
        }
    }
}

impl std::fmt::Display for FileKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::File => "a file",
            Self::Folder => "a folder",
            Self::Pipe => "a pipe",
            Self::Socket => "a socket",
            Self::Device => "a device",
        })
    }
}

/// Returns the length of a file, or the sum of the lengths of the files in a folder.
pub(crate) fn content_bytes(path: &Path) -> io::Result<u64> {
    let metadata = fs::metadata(path)?;
    if !metadata.is_dir() {
        return Ok(metadata.len());
    }
    let mut bytes = 0u64;
    for entry in fs::read_dir(path)? {
        let metadata = entry?.metadata()?;
        bytes = bytes.saturating_add(if metadata.is_file() { metadata.len() } else { 0 });
    }
    Ok(bytes)
}

/// Returns the path at the end of a chain of links, whether or not it exists. Returns an error for a cycle of links.
pub(crate) fn link_target(path: &Path) -> io::Result<PathBuf> {
    /// Limit for the links to follow, as in the kernel.
    const LINKS_MAX: usize = 40;
    let mut target = path.to_path_buf();
    for _ in 0..LINKS_MAX {
        match fs::read_link(&target) {
            Ok(next) => target = target.parent().unwrap_or(Path::new("")).join(next),
            Err(_) => return Ok(target),
        }
    }
    Err(io::Error::other("too many links"))
}

/// Flips a bit of the byte at `offset`.
#[cfg(test)]
pub(crate) fn damage_at(file: &fs::File, offset: u64) {
    let mut byte = [0];
    read_exact_at(file, &mut byte, offset).unwrap();
    write_all_at(file, &[byte[0] ^ 1], offset).unwrap();
}

/// Returns the folder of a path.
#[must_use]
pub(crate) fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Returns the absolute path without `..`. After a link, `..` is the folder above the linked folder. Paths with `..`
/// have other parents than their folders, and two of them may be one file.
#[must_use]
pub(crate) fn absolute(path: &Path) -> PathBuf {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let goes_up = absolute.components().any(|part| part == Component::ParentDir);
    let real = goes_up.then(|| Some(folder_of(&absolute).canonicalize().ok()?.join(absolute.file_name()?))).flatten();
    real.unwrap_or(absolute)
}

#[cfg(test)]
mod tests {
    use std::fs::{File, OpenOptions};
    use std::io::ErrorKind;

    use super::*;

    #[test]
    fn absolute_paths_go_up_to_the_folder_above_even_after_a_link() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        std::fs::create_dir_all(root.join("one/two")).unwrap();
        File::create(root.join("one/trace.json")).unwrap();
        assert_eq!(absolute(&root.join("one/two/../trace.json")), root.join("one/trace.json"));
        assert_eq!(absolute(&root.join("one/trace.json")), root.join("one/trace.json"));
        // A missing folder is named as it was written.
        assert_eq!(absolute(&root.join("none/../trace.json")), root.join("none/../trace.json"));
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink(root.join("one/two"), root.join("link")).unwrap();
            assert_eq!(absolute(&root.join("link/../trace.json")), root.join("one/trace.json"));
            assert_eq!(absolute(&root.join("link/trace.json")), root.join("link/trace.json"));
        }
    }

    #[test]
    fn bytes_written_at_an_offset_are_read_there_and_reads_stop_at_the_end() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let file = OpenOptions::new().read(true).write(true).create_new(true).open(&path).unwrap();
        write_all_at(&file, b"behind", 4).unwrap();
        write_all_at(&file, b"head", 0).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"headbehind");
        let mut four = [0; 4];
        read_exact_at(&file, &mut four, 3).unwrap();
        assert_eq!(&four, b"dbeh");
        assert_eq!(read_at(&file, &mut four, 8).unwrap(), 2);
        assert_eq!(read_at(&file, &mut four, 10).unwrap(), 0);
        assert_eq!(read_exact_at(&file, &mut four, 8).unwrap_err().kind(), ErrorKind::UnexpectedEof);
    }

    #[test]
    #[cfg(unix)]
    fn the_kind_of_a_file_is_determined_without_opening_it() {
        let folder = tempfile::tempdir().unwrap();
        let kind = |path: &Path| FileKind::from_metadata(&fs::metadata(path).unwrap()).to_string();
        let (file, socket) = (folder.path().join("file"), folder.path().join("socket"));
        fs::write(&file, "x").unwrap();
        let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        let told = [&*file, folder.path(), &*socket, Path::new("/dev/zero")].map(kind);
        assert_eq!(told, ["a file", "a folder", "a socket", "a device"]);
    }

    #[test]
    #[cfg(unix)]
    fn free_space_is_known_for_a_folder_and_unknown_for_a_missing_one() {
        let folder = tempfile::tempdir().unwrap();
        assert!(free_bytes(folder.path()).is_some_and(|bytes| bytes > 0));
        assert_eq!(free_bytes(&folder.path().join("none")), None);
    }

    #[test]
    fn a_file_is_the_same_under_two_names_and_not_as_its_copy() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("a"), "x").unwrap();
        fs::copy(at("a"), at("copy")).unwrap();
        fs::hard_link(at("a"), at("link")).unwrap();
        assert!(is_same_file(&at("a"), &at("link")));
        assert!(is_same_file(&at("a"), &folder.path().join(".").join("a")));
        assert!(!is_same_file(&at("a"), &at("copy")));
        assert!(!is_same_file(&at("none"), &at("none too")));
    }

    #[test]
    fn a_file_that_changes_has_other_stamps_and_one_that_is_read_has_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let stamps_of = |path: &Path| stamps(&fs::metadata(path).unwrap());
        fs::write(&path, "a").unwrap();
        let before = stamps_of(&path);
        assert_eq!(fs::read(&path).unwrap(), b"a");
        assert_eq!(stamps_of(&path), before);
        fs::write(&path, "ab").unwrap();
        assert_ne!(stamps_of(&path), before);
    }

    #[test]
    fn a_folder_is_made_once_and_a_file_in_its_place_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let private = folder.path().join("private");
        make_private_folder(&private).unwrap();
        make_private_folder(&private).unwrap();
        sync_folder(&private).unwrap();
        let file = folder.path().join("file");
        File::create(&file).unwrap();
        assert_eq!(make_private_folder(&file).unwrap_err().kind(), ErrorKind::NotADirectory);
    }
}
