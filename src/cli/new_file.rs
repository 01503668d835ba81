//! A file that appears under its name only once it is whole. Devices and pipes are written to as they are: to rename over
//! `/dev/null` would replace it.

use std::fs::{self, File};
use std::io::{self, BufWriter};
use std::path::Path;

use super::CliError;

/// Large enough that a disk sees few writes.
const BUFFER_BYTES: usize = 1 << 20;

/// Writes a new file at `path` through `write`, in place of one that may be there.
pub fn write(
    path: &Path,
    write: impl FnOnce(BufWriter<File>) -> Result<BufWriter<File>, CliError>,
) -> Result<(), CliError> {
    let failed = |source: io::Error| CliError::File { path: path.into(), source };
    if fs::metadata(path).is_ok_and(|meta| !meta.is_file() && !meta.is_dir()) {
        let device = File::options().write(true).open(path).map_err(failed)?;
        let written = write(BufWriter::with_capacity(BUFFER_BYTES, device))?;
        return written.into_inner().map(drop).map_err(|error| failed(error.into_error()));
    }
    // A link keeps pointing to the file that is written.
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.into());
    let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut builder = tempfile::Builder::new();
    builder.prefix(".longspan-");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // what any new file gets: the user's mask still takes away
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    let temporary = builder.tempfile_in(folder).map_err(failed)?;
    let (file, name) = temporary.into_parts();
    let written = write(BufWriter::with_capacity(BUFFER_BYTES, file))?;
    let file = written.into_inner().map_err(|error| failed(error.into_error()))?;
    file.sync_all().map_err(failed)?;
    name.persist(&target).map_err(|error| failed(error.error))
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn a_failed_write_leaves_the_old_file_and_nothing_else() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("out");
        fs::write(&path, "old").expect("written");
        let failed = write(&path, |mut file| {
            file.write_all(b"half")?;
            Err(CliError::Usage("stopped".into()))
        });
        assert!(failed.is_err());
        assert_eq!(fs::read(&path).expect("still there"), b"old");
        assert_eq!(folder.path().read_dir().expect("readable").count(), 1);
        write(&path, |mut file| {
            file.write_all(b"new")?;
            Ok(file)
        })
        .expect("written");
        assert_eq!(fs::read(&path).expect("there"), b"new");
    }

    #[cfg(unix)]
    #[test]
    fn a_device_stays_a_device() {
        use std::os::unix::fs::FileTypeExt;
        let null = Path::new("/dev/null");
        write(null, Ok).expect("takes everything");
        assert!(fs::metadata(null).is_ok_and(|meta| meta.file_type().is_char_device()));
    }
}
