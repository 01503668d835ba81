//! An output file that is published under its name only once it is complete, and never replaces the trace that it is
//! made of. Devices, pipes and the standard output are written directly.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use super::error::ExportError;
use super::guarded::GuardedWriter;
use crate::base::disk::SystemDisk;
use crate::base::files::{self, folder_of, link_target};
use crate::base::replace::Replacement;
use crate::base::temporary::{Temporary, sweep};
use crate::model::Sources;
use crate::query::Snapshot;

/// The path of this process's standard output.
pub(crate) const STDOUT: &str = if cfg!(unix) { "/dev/stdout" } else { "-" };

/// Large enough that a disk sees few writes.
const BUFFER_BYTES: usize = 1 << 20;

/// A file being written, or a device or pipe.
#[derive(Debug)]
pub(crate) struct OutputFile {
    /// The path as given by the user, for errors.
    path: PathBuf,
    writer: BufWriter<GuardedWriter<File>>,
    /// Publishes the complete file; `None` for devices and the like.
    replacement: Option<Replacement>,
}

impl OutputFile {
    /// Creates a file for `path`, in its final folder. Returns [`ExportError::IsSource`] if `path` is one of `sources`
    /// under this or another name, [`ExportError::IsFolder`], or an I/O error.
    pub(crate) fn create(path: &Path, sources: &Sources) -> Result<Self, ExportError> {
        let failed = |source| ExportError::Io { path: path.into(), source };
        let (file, replacement) = match OutputTarget::from_path(path, sources)? {
            // It is not opened by its path: a file redirected by the shell keeps its content, and later output follows
            // it.
            OutputTarget::Stdout => (files::standard_output().map_err(failed)?, None),
            OutputTarget::Descriptor(number) => (files::duplicate(number, path).map_err(failed)?, None),
            OutputTarget::Device => (File::options().write(true).open(path).map_err(failed)?, None),
            OutputTarget::File(target) => {
                let replacement = Replacement::begin(&target).map_err(failed)?;
                (replacement.file().map_err(failed)?, Some(replacement))
            }
        };
        Ok(Self { path: path.into(), writer: buffered(file), replacement })
    }

    /// Checks that a file can be created for `path`, for a command that runs for hours before it does. Leaves nothing
    /// behind, and opens no device or pipe. Returns the errors of [`OutputFile::create`].
    pub(crate) fn check(path: &Path, sources: &Sources) -> Result<(), ExportError> {
        let OutputTarget::File(target) = OutputTarget::from_path(path, sources)? else { return Ok(()) };
        let replacement = Replacement::begin(&target);
        replacement.map(drop).map_err(|source| ExportError::Io { path: path.into(), source })
    }

    /// Rejects more bytes once the store of `snapshot` is found damaged. Bytes written before that are correct.
    pub(crate) fn guard(&mut self, snapshot: &Snapshot) {
        self.writer.get_mut().guard(snapshot);
    }

    /// Returns the writer of the file.
    pub(crate) fn writer(&mut self) -> &mut dyn Write {
        &mut self.writer
    }

    /// Syncs the file and publishes it. Returns its length, or an I/O error; then there is no new file.
    pub(crate) fn publish(self) -> Result<u64, ExportError> {
        let Self { path, writer, replacement } = self;
        let failed = |source| ExportError::Io { path: path.clone(), source };
        let guarded = writer.into_inner().map_err(|error| failed(error.into_error()))?;
        let (bytes, file) = (guarded.bytes(), guarded.into_inner());
        if let Some(replacement) = replacement {
            file.sync_all().map_err(failed)?;
            replacement.publish(&SystemDisk).map_err(failed)?;
        }
        Ok(bytes)
    }

    /// Discards the file. Returns whether a device or a pipe has received a part of it.
    #[must_use]
    pub(crate) fn discard(self) -> bool {
        // Taken apart first, because dropping the writer would flush its buffer.
        let (guarded, _) = self.writer.into_parts();
        self.replacement.is_none() && guarded.bytes() > 0
    }
}

/// Where the bytes of an output go.
enum OutputTarget {
    Stdout,
    /// A file that the shell has opened for this process, by the number of its descriptor.
    Descriptor(u32),
    /// A device, a pipe or the like.
    Device,
    /// A file at this path, without links.
    File(PathBuf),
}

impl OutputTarget {
    /// Opens nothing. Returns the errors of [`OutputFile::create`].
    fn from_path(path: &Path, sources: &Sources) -> Result<Self, ExportError> {
        let failed = |source| ExportError::Io { path: path.into(), source };
        let is_source = |path: &Path| sources.files().iter().any(|source| same_file(path, source.path()));
        let there = fs::metadata(path).ok();
        if is_source(path) {
            return Err(ExportError::IsSource { path: path.into() });
        }
        if there.as_ref().is_some_and(fs::Metadata::is_dir) {
            return Err(ExportError::IsFolder { path: path.into() });
        }
        if is_stdout(path) {
            return Ok(Self::Stdout);
        }
        if there.as_ref().is_some_and(|there| !there.is_file()) {
            return Ok(Self::Device);
        }
        if let Some(number) = descriptor(path).filter(|_| there.is_some()) {
            return Ok(Self::Descriptor(number));
        }
        // A link continues to point to the written file, even if its target does not exist yet.
        let target = link_target(path).map_err(failed)?;
        existing_folder_of(&target).map_err(failed)?;
        Ok(Self::File(target))
    }
}

/// A folder being filled, published under its name only once it is complete.
#[derive(Debug)]
pub(crate) struct OutputFolder {
    /// The path as given by the user, for errors.
    path: PathBuf,
    /// The path without a link.
    target: PathBuf,
    temporary: Temporary,
    /// The subfolders, relative to the root.
    folders: BTreeSet<PathBuf>,
}

impl OutputFolder {
    /// Creates a folder for `path`, under a temporary name beside it. Returns [`ExportError::IsThere`] if `path` exists
    /// and is not an empty folder. Otherwise a failure is an I/O error, as for a path like `.`, which cannot be
    /// replaced.
    pub(crate) fn create(path: &Path) -> Result<Self, ExportError> {
        let failed = |source| ExportError::Io { path: path.into(), source };
        let is_free = match fs::read_dir(path) {
            Ok(mut entries) => entries.next().is_none(),
            Err(_) => fs::symlink_metadata(path).is_err_and(|error| error.kind() == io::ErrorKind::NotFound),
        };
        if !is_free {
            return Err(ExportError::IsThere { path: path.into() });
        }
        let target = link_target(path).map_err(failed)?;
        if target.file_name().is_none() {
            return Err(failed(io::Error::other("give a folder by its name")));
        }
        let folder = existing_folder_of(&target).map_err(failed)?;
        sweep(folder);
        let temporary = Temporary::folder(folder).map_err(failed)?;
        Ok(Self { path: path.into(), target, temporary, folders: BTreeSet::new() })
    }

    /// Creates a file in it, with its parent folders. Returns the I/O error of the system.
    pub(crate) fn file(&mut self, path_from_root: &str) -> io::Result<File> {
        let path_from_root = Path::new(path_from_root);
        for folder in path_from_root.ancestors().skip(1) {
            self.folders.insert(folder.into());
        }
        let root = self.temporary.path();
        // The root itself is never created again: a signal may have removed it.
        let folders: Vec<_> = path_from_root.ancestors().skip(1).filter(|folder| *folder != Path::new("")).collect();
        for folder in folders.into_iter().rev() {
            match fs::create_dir(root.join(folder)) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
                _ => {}
            }
        }
        File::create(root.join(path_from_root))
    }

    /// Syncs the folder and publishes it; its files are synced already. Returns an I/O error; then there is no new
    /// folder.
    pub(crate) fn publish(self) -> Result<(), ExportError> {
        let failed = |source| ExportError::Io { path: self.path.clone(), source };
        for folder in &self.folders {
            files::sync_folder(&self.temporary.path().join(folder)).ok(); // as far as the system supports it
        }
        // An empty folder of that name is replaced.
        self.temporary.publish(|from| fs::rename(from, &self.target)).map_err(failed)?;
        files::sync_folder(folder_of(&self.target)).ok();
        Ok(())
    }
}

/// Returns whether a path is the standard output of this process.
#[must_use]
pub(crate) fn is_stdout(path: &Path) -> bool {
    [STDOUT, "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"].iter().any(|name| path == Path::new(name))
}

/// Returns the number of a descriptor of this process that a path names, such as `/dev/fd/3`.
fn descriptor(path: &Path) -> Option<u32> {
    if path == Path::new("/dev/stderr") {
        return Some(2);
    }
    let is_folder = |folder: &Path| folder == Path::new("/dev/fd") || folder == Path::new("/proc/self/fd");
    path.parent().filter(|folder| is_folder(folder)).and(path.file_name()?.to_str()?.parse().ok())
}

/// Returns the folder of a path, if it exists. An error of the system would name a temporary file, which the user does
/// not know.
fn existing_folder_of(path: &Path) -> io::Result<&Path> {
    let folder = folder_of(path);
    let absent = || io::Error::new(io::ErrorKind::NotFound, format!("there is no folder {}", folder.display()));
    if folder.is_dir() { Ok(folder) } else { Err(absent()) }
}

fn buffered(file: File) -> BufWriter<GuardedWriter<File>> {
    BufWriter::with_capacity(BUFFER_BYTES, GuardedWriter::new(file))
}

/// Returns whether both paths are the same file: through a link, a hard link, or another spelling. The file may not
/// exist yet.
fn same_file(a: &Path, b: &Path) -> bool {
    files::is_same_file(a, b) || a == b || resolve_path(a).zip(resolve_path(b)).is_some_and(|(a, b)| a == b)
}

/// Returns the path without links of a file that may not exist yet; `None` without its folder.
fn resolve_path(path: &Path) -> Option<PathBuf> {
    fs::canonicalize(path).ok().or_else(|| {
        let target = link_target(path).ok()?;
        Some(fs::canonicalize(folder_of(&target)).ok()?.join(target.file_name()?))
    })
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn folder() -> tempfile::TempDir {
        tempfile::tempdir().unwrap()
    }

    fn entries(folder: &tempfile::TempDir) -> usize {
        fs::read_dir(folder.path()).unwrap().count()
    }

    #[test]
    fn a_file_that_is_not_published_leaves_the_old_one_and_nothing_else() {
        let folder = folder();
        let (path, source) = (folder.path().join("out"), folder.path().join("in"));
        fs::write(&path, "old").unwrap();
        let old_mode = fs::metadata(&path).unwrap().permissions().mode();
        let mut file = OutputFile::create(&path, &Sources::from(&source)).unwrap();
        file.writer().write_all(b"half").unwrap();
        assert_eq!(entries(&folder), 2);
        drop(file);
        assert_eq!((fs::read(&path).unwrap(), entries(&folder)), (b"old".to_vec(), 1));

        let mut file = OutputFile::create(&path, &Sources::from(&source)).unwrap();
        file.writer().write_all(b"whole").unwrap();
        assert_eq!(file.publish().unwrap(), 5);
        assert_eq!((fs::read(&path).unwrap(), entries(&folder)), (b"whole".to_vec(), 1));
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, old_mode & 0o777, "the rights stay");
    }

    #[test]
    fn the_source_is_refused_under_every_name_that_it_has() {
        let folder = folder();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("in"), "capture").unwrap();
        fs::hard_link(at("in"), at("hard")).unwrap();
        std::os::unix::fs::symlink(at("in"), at("soft")).unwrap();
        std::os::unix::fs::symlink("soft", at("softer")).unwrap();
        fs::create_dir(at("sub")).unwrap();
        for name in ["in", "hard", "soft", "softer", "sub/../in", "./in"] {
            let error = OutputFile::create(&at(name), &Sources::unmoved([at("other"), at("in")])).unwrap_err();
            assert!(matches!(error, ExportError::IsSource { .. }), "{name}: {error}");
            let error = OutputFile::create(&at("in"), &Sources::from(&at(name))).unwrap_err();
            assert!(matches!(error, ExportError::IsSource { .. }), "{name} as the source: {error}");
        }
        assert_eq!(fs::read(at("in")).unwrap(), b"capture");
    }

    /// A live source may appear later.
    #[test]
    fn a_source_that_does_not_exist_yet_is_refused_under_every_name_that_it_will_have() {
        let folder = folder();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir(at("sub")).unwrap();
        for (link, target) in [("soft", "later"), ("softer", "soft"), ("sub/up", "../later"), ("folder", "sub")] {
            std::os::unix::fs::symlink(target, at(link)).unwrap();
        }
        for name in ["later", "soft", "softer", "sub/up", "sub/../later", "./later", "folder/../later"] {
            for (output, source) in [(at(name), at("later")), (at("later"), at(name))] {
                let refused = OutputFile::check(&output, &Sources::unmoved([at("other"), source]));
                assert!(matches!(refused, Err(ExportError::IsSource { .. })), "{name}");
            }
        }
        for name in ["late", "sub/later", "folder/later"] {
            assert!(OutputFile::check(&at(name), &Sources::from(&at("later"))).is_ok(), "{name}");
        }
    }

    #[test]
    fn a_check_finds_what_a_file_would_fail_with_and_leaves_nothing() {
        let folder = folder();
        let check = |path: &Path| OutputFile::check(path, &Sources::from("/none"));
        assert!(matches!(check(folder.path()), Err(ExportError::IsFolder { .. })));
        let absent = check(&folder.path().join("no/where")).unwrap_err().to_string();
        assert!(absent.contains("there is no folder"), "{absent}");
        std::os::unix::fs::symlink("no/where", folder.path().join("astray")).unwrap();
        assert!(matches!(check(&folder.path().join("astray")), Err(ExportError::Io { .. })));
        // Opening a pipe would wait for its reader.
        let pipe = folder.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        check(&pipe).unwrap();
        let old = folder.path().join("old");
        fs::write(&old, "old").unwrap();
        check(&old).unwrap();
        check(&folder.path().join("new")).unwrap();
        assert_eq!((fs::read(&old).unwrap(), entries(&folder)), (b"old".to_vec(), 3));
    }

    #[test]
    fn a_link_goes_on_pointing_to_what_is_written() {
        let folder = folder();
        let (link, target) = (folder.path().join("link"), folder.path().join("target"));
        std::os::unix::fs::symlink("target", &link).unwrap();
        for text in ["first", "second"] {
            let mut file = OutputFile::create(&link, &Sources::from("/none")).unwrap();
            file.writer().write_all(text.as_bytes()).unwrap();
            file.publish().unwrap();
            assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
            assert_eq!(fs::read_to_string(&target).unwrap(), text);
        }
    }

    #[test]
    fn a_folder_appears_whole_or_not_at_all_and_never_in_place_of_something() {
        let folder = folder();
        let path = folder.path().join("out");
        let mut output = OutputFolder::create(&path).unwrap();
        output.file("a/b=1/file").unwrap().write_all(b"half").unwrap();
        assert!(!path.exists());
        drop(output);
        assert_eq!(entries(&folder), 0, "nothing is left of it");

        fs::create_dir(&path).unwrap();
        let mut output = OutputFolder::create(&path).unwrap();
        output.file("a/b=1/file").unwrap().write_all(b"whole").unwrap();
        output.publish().unwrap();
        assert_eq!((fs::read(path.join("a/b=1/file")).unwrap(), entries(&folder)), (b"whole".to_vec(), 1));
        assert_ne!(fs::metadata(&path).unwrap().permissions().mode() & 0o055, 0, "others may read it");

        let (empty, linked) = (folder.path().join("empty"), folder.path().join("linked"));
        fs::create_dir(&empty).unwrap();
        std::os::unix::fs::symlink("empty", &linked).unwrap();
        let mut output = OutputFolder::create(&linked).unwrap();
        output.file("file").unwrap().write_all(b"whole").unwrap();
        output.publish().unwrap();
        assert_eq!(fs::read(empty.join("file")).unwrap(), b"whole");
        assert!(fs::symlink_metadata(&linked).unwrap().is_symlink());

        fs::create_dir(folder.path().join("new")).unwrap();
        let refused = OutputFolder::create(&folder.path().join("new/sub/..")).unwrap_err().to_string();
        assert!(refused.ends_with("cannot write: give a folder by its name"), "{refused}");
        fs::write(folder.path().join("file"), "x").unwrap();
        std::os::unix::fs::symlink("nowhere", folder.path().join("link")).unwrap();
        for there in ["out", "file", "link"] {
            let refused = OutputFolder::create(&folder.path().join(there));
            assert!(matches!(refused, Err(ExportError::IsThere { .. })), "{there}");
        }
    }

    #[test]
    fn a_folder_and_a_path_without_a_folder_are_refused_and_a_device_is_written_to() {
        let folder = folder();
        let create = |path: &Path| OutputFile::create(path, &Sources::from("/none"));
        assert!(matches!(create(folder.path()).unwrap_err(), ExportError::IsFolder { .. }));
        let absent = create(&folder.path().join("no/where")).unwrap_err().to_string();
        assert!(absent.ends_with(&format!("there is no folder {}", folder.path().join("no").display())), "{absent}");
        let absent = OutputFolder::create(&folder.path().join("no/where")).unwrap_err().to_string();
        assert!(absent.contains("there is no folder"), "{absent}");
        let mut null = create(Path::new("/dev/null")).unwrap();
        null.writer().write_all(b"gone").unwrap();
        assert_eq!(null.publish().unwrap(), 4);
        assert!(!fs::metadata("/dev/null").unwrap().is_file());
        let mut full = create(Path::new("/dev/full")).unwrap();
        full.writer().write_all(b"x").unwrap();
        assert!(matches!(full.publish(), Err(ExportError::Io { .. })), "an error of the last bytes is not lost");
    }
}
