//! Opens files named by a trace or a folder: regular files on a local disk, below one of the roots, or in an archive.
//! Rejects pipes, devices, links that leave the roots, and network file systems, which may not respond.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::archive::{Archive, ArchivedFile};
use super::paths::{is_plain, without_parents};
use crate::base::cancel::{Cancel, Cancelled};
use crate::base::files;

/// Size limit: a browser's debug file has 4 GiB.
const FILE_BYTES_MAX: u64 = 64 << 30;

/// A file opened for positional reads.
#[derive(Debug)]
pub(crate) struct InputFile {
    content: FileContent,
    pub(crate) path: PathBuf,
    pub(crate) bytes: u64,
    /// Counts the bytes read, with the other files of its roots.
    read: Arc<AtomicU64>,
}

#[derive(Debug)]
enum FileContent {
    File(File),
    Archived(ArchivedFile),
    Bytes(Vec<u8>),
}

/// The reason why a file is not read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum OpenError {
    #[error("no such file")]
    Missing,
    #[error("{} is outside the searched folders", .path.display())]
    OutsideRoots {
        /// The target of the links, if the path is below the roots.
        path: PathBuf,
    },
    #[error("not a file on a local disk")]
    NotRegular,
    #[error("{bytes} bytes exceed the limit of {FILE_BYTES_MAX}")]
    TooLarge { bytes: u64 },
    #[error("{0}")]
    Io(#[from] io::Error),
}

/// The folders below which files may be opened.
#[derive(Debug, Clone, Default)]
pub(crate) struct Roots {
    /// The folders as given, and with links resolved; none has `..`.
    folders: Vec<PathBuf>,
    /// Archives, whose files are opened below the path of the archive.
    archives: Vec<Arc<Archive>>,
    /// Counts the bytes read from all files opened below the folders.
    read: Arc<AtomicU64>,
}

impl Roots {
    /// Adds a folder, if it is one. The root of the file system is rejected, since it contains everything.
    pub(crate) fn add(&mut self, folder: &Path) {
        let is_folder = folder.is_absolute() && folder.components().nth(1).is_some();
        if !is_folder {
            return;
        }
        let real = folder.canonicalize().ok();
        // After a link, `..` leads elsewhere than the path without it.
        let is_same = |plain: &PathBuf| is_plain(folder) || real.is_some() && plain.canonicalize().ok() == real;
        let plain = without_parents(folder).filter(is_same);
        for folder in [plain, real].into_iter().flatten() {
            if folder.components().nth(1).is_some() && !self.folders.contains(&folder) {
                self.folders.push(folder);
            }
        }
    }

    pub(super) fn add_archive(&mut self, archive: Arc<Archive>) {
        self.archives.push(archive);
    }

    /// Unpacks the archives. Otherwise opening the first file of an archive unpacks it, which cannot be cancelled.
    pub(super) fn unpack_archives(&self, cancel: &Cancel) -> Result<(), Cancelled> {
        self.archives.iter().try_for_each(|archive| archive.unpack(cancel))
    }

    /// Returns whether a path without `..` is lexically below one of the folders or archives. Does not access the file
    /// system, because the path may be on a network file system.
    pub(super) fn holds(&self, path: &Path) -> bool {
        let archives = self.archives.iter().map(|archive| archive.path());
        is_plain(path) && self.folders.iter().map(PathBuf::as_path).chain(archives).any(|root| path.starts_with(root))
    }

    /// Returns the bytes read from all files opened below the folders.
    pub(crate) fn bytes_read(&self) -> u64 {
        self.read.load(Ordering::Relaxed)
    }

    /// Opens a file below the roots, with all links below them.
    pub(crate) fn open(&self, path: &Path) -> Result<InputFile, OpenError> {
        if !self.holds(path) {
            return Err(OpenError::OutsideRoots { path: path.to_owned() });
        }
        let read = Arc::clone(&self.read);
        let below = |archive: &'_ Arc<Archive>| Some(archive.open(path.strip_prefix(archive.path()).ok()?));
        if let Some(file) = self.archives.iter().find_map(below) {
            let file = file.ok_or(OpenError::Missing)?;
            let (path, bytes) = (file.path.clone(), file.bytes);
            return Ok(InputFile { content: FileContent::Archived(file), path, bytes, read });
        }
        let missing = |error: io::Error| match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => OpenError::Missing,
            _ => error.into(),
        };
        let target = path.canonicalize().map_err(missing)?;
        if !self.holds(&target) {
            return Err(OpenError::OutsideRoots { path: target });
        }
        let file = files::open_without_waiting(&target).map_err(missing)?;
        let metadata = file.metadata()?;
        if !metadata.is_file() || !files::is_local(&file) {
            return Err(OpenError::NotRegular);
        }
        let bytes = metadata.len();
        if bytes > FILE_BYTES_MAX {
            return Err(OpenError::TooLarge { bytes });
        }
        Ok(InputFile { content: FileContent::File(file), path: target, bytes, read })
    }
}

impl InputFile {
    /// Wraps bytes in memory under a name.
    pub(crate) fn from_bytes(path: PathBuf, bytes: Vec<u8>) -> Self {
        let read = Arc::default();
        Self { path, bytes: bytes.len() as u64, content: FileContent::Bytes(bytes), read }
    }

    /// Reads a file of the system itself, whose path does not come from a trace.
    pub(crate) fn read_system_file(path: &Path) -> io::Result<Vec<u8>> {
        /// The symbols of a kernel with many modules take 20 MiB.
        const BYTES_MAX: u64 = 256 << 20;
        let mut bytes = Vec::new();
        io::Read::read_to_end(&mut io::Read::take(File::open(path)?, BYTES_MAX), &mut bytes)?;
        Ok(bytes)
    }

    /// Reads bytes at an offset; `None` if they are beyond the file, or more than `max`.
    pub(crate) fn read(&self, offset: u64, len: u64, max: u64) -> Option<Vec<u8>> {
        let is_inside = offset.checked_add(len).is_some_and(|end| end <= self.bytes);
        if !is_inside || len > max {
            return None;
        }
        let (start, len) = (usize::try_from(offset).ok()?, usize::try_from(len).ok()?);
        let mut bytes = vec![0; len];
        match &self.content {
            FileContent::Bytes(all) => bytes.copy_from_slice(&all[start..start + len]),
            FileContent::File(file) => files::read_exact_at(file, &mut bytes, offset).ok()?,
            FileContent::Archived(file) => file.read_exact_at(&mut bytes, offset).ok()?,
        }
        self.read.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        Some(bytes)
    }

    /// Reads a whole file of at most `max` bytes.
    pub(crate) fn read_all(&self, max: u64) -> Option<Vec<u8>> {
        self.read(0, self.bytes, max)
    }

    /// Returns its metadata; `None` for bytes in memory.
    pub(crate) fn metadata(&self) -> Option<std::fs::Metadata> {
        match &self.content {
            FileContent::File(file) => file.metadata().ok(),
            FileContent::Archived(file) => Some(file.metadata()),
            FileContent::Bytes(_) => None,
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn only_regular_files_below_the_roots_are_opened() {
        let (inside, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let mut roots = Roots::default();
        roots.add(inside.path());
        roots.add(Path::new("/"));
        roots.add(Path::new("relative"));
        let secret = outside.path().join("secret");
        std::fs::write(&secret, b"secret").unwrap();
        let at = |name: &str| inside.path().join(name);
        std::fs::write(at("file"), b"bytes").unwrap();
        symlink(at("file"), at("link")).unwrap();
        symlink(&secret, at("leads_out")).unwrap();
        symlink(outside.path(), at("folder_out")).unwrap();
        symlink(at("circle"), at("circle")).unwrap();
        std::fs::create_dir(at("folder")).unwrap();
        let made = std::process::Command::new("mkfifo").arg(at("pipe")).status().unwrap();
        assert!(made.success());
        for name in ["file", "link"] {
            assert_eq!(roots.open(&at(name)).unwrap().read_all(10).unwrap(), b"bytes");
        }
        let up = at("..").join(outside.path().file_name().unwrap()).join("secret");
        let real = secret.canonicalize().unwrap();
        for (path, outside) in [
            (secret.clone(), &secret),
            (at("leads_out"), &real),
            (at("folder_out/secret"), &real),
            (up.clone(), &up),
            ("/proc/self/maps".into(), &"/proc/self/maps".into()),
        ] {
            let is_outside = |error: OpenError| matches!(error, OpenError::OutsideRoots { path } if path == *outside);
            assert!(roots.open(&path).is_err_and(is_outside), "{}", path.display());
        }
        for name in ["pipe", "folder"] {
            assert!(matches!(roots.open(&at(name)), Err(OpenError::NotRegular)), "{name}");
        }
        assert!(matches!(roots.open(&at("missing")), Err(OpenError::Missing)));
        assert!(matches!(roots.open(&at("file/below")), Err(OpenError::Missing)));
        assert!(matches!(roots.open(&at("circle")), Err(OpenError::Io(_))));
    }

    #[test]
    fn reads_beyond_the_file_or_the_bound_are_nothing() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("file"), b"0123456789").unwrap();
        let mut roots = Roots::default();
        roots.add(folder.path());
        let file = roots.open(&folder.path().join("file")).unwrap();
        assert_eq!(file.read(2, 3, 3).unwrap(), b"234");
        for (offset, len, max) in [(0, 4, 3), (8, 3, 9), (u64::MAX, 1, 9), (1, u64::MAX, u64::MAX)] {
            assert_eq!(file.read(offset, len, max), None);
        }
    }
}
