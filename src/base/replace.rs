//! Atomic file replacement: a file is published under its name only once it is complete. Until then, an earlier file is
//! unchanged. Its mode, its owner if allowed, and symbolic links to it are preserved. Hard links keep the old content.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use super::disk::Disk;
use super::files;
use super::temporary::{Access, Temporary, sweep};

/// A file being written beside the one that it will replace.
#[derive(Debug)]
pub(crate) struct Replacement {
    temporary: Temporary,
    target: PathBuf,
}

impl Replacement {
    /// Creates a file for `path`; if that is a link, for its target. Returns an I/O error, such as a folder that is
    /// missing or not writable.
    pub(crate) fn begin(path: &Path) -> io::Result<Self> {
        let target = files::link_target(path)?;
        let folder = files::folder_of(&target);
        sweep(folder);
        let replaced = fs::metadata(&target).ok().filter(fs::Metadata::is_file);
        // Users who could not read the old file cannot read the new one while it is written either.
        let access = if replaced.is_some() { Access::Private } else { Access::Usual };
        let temporary = Temporary::file(folder, access)?;
        if let Some(replaced) = replaced {
            files::inherit_rights(&temporary.open_file()?, &replaced);
        }
        Ok(Self { temporary, target })
    }

    /// Returns the file to write to. Returns an error if the system has no free file handle.
    pub(crate) fn file(&self) -> io::Result<File> {
        self.temporary.open_file()
    }

    /// Renames the file to its final name. The caller has synced its content, if that is wanted. Returns an I/O error;
    /// the old file is then still there.
    pub(crate) fn publish(self, disk: &dyn Disk) -> io::Result<()> {
        let Self { temporary, target } = self;
        temporary.publish(|from| disk.rename(from, &target))?;
        // The name is durable once its folder is synced, as far as the file system supports it.
        disk.sync_folder(files::folder_of(&target)).ok();
        Ok(())
    }
}

/// Writes a small file atomically. Returns an I/O error; the old file is then still there.
pub(crate) fn write(path: &Path, bytes: &[u8], disk: &dyn Disk) -> io::Result<()> {
    let replacement = Replacement::begin(path)?;
    disk.write_all_at(&replacement.file()?, bytes, 0)?;
    replacement.publish(disk)
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

    use super::*;
    use crate::base::disk::SystemDisk;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().mode() & 0o7777
    }

    #[test]
    fn rights_owner_and_links_outlive_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let (path, link) = (folder.path().join("file"), folder.path().join("link"));
        symlink("file", &link).unwrap();
        write(&link, b"new", &SystemDisk).unwrap();
        let usual = mode(&path);
        assert_ne!(usual & 0o044, 0, "others may read it, as any new file: {usual:o}");
        for rights in [0o600, 0o640, 0o444, 0o755, 0o4755] {
            fs::set_permissions(&path, fs::Permissions::from_mode(rights)).unwrap();
            let is_given_away = std::os::unix::fs::chown(&path, Some(12345), Some(12345)).is_ok();
            write(&link, b"newer", &SystemDisk).unwrap();
            assert_eq!((mode(&path), fs::read(&path).unwrap()), (rights & 0o777, b"newer".to_vec()));
            assert_eq!(fs::metadata(&path).unwrap().uid() == 12345, is_given_away);
            assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    }

    #[test]
    fn a_file_is_not_open_to_others_while_it_is_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(&path, "secret").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        let replacement = Replacement::begin(&path).unwrap();
        assert_eq!(mode(replacement.temporary.path()), 0o600);
    }
}
