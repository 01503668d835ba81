//! File operations on Unix, through `rustix` where the standard library has none.

use std::fs::{self, DirBuilder, File, Metadata, OpenOptions, Permissions};
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::{DirBuilderExt, FileExt, FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};

use super::FileKind;

/// Reads up to the length of `buffer` at `offset`; returns 0 at the end of the file, or the error of the system.
pub(crate) fn read_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    file.read_at(buffer, offset)
}

/// Fills `buffer` with the bytes at `offset`. Returns [`io::ErrorKind::UnexpectedEof`] if the file ends before, or the
/// error of the system.
pub(crate) fn read_exact_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<()> {
    file.read_exact_at(buffer, offset)
}

/// Opens a file for reading without blocking on the writer of a pipe or on a device. Does not follow a link at the end
/// of the path. Returns the error of the system.
pub(crate) fn open_without_waiting(path: &Path) -> io::Result<File> {
    let flags = rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NOCTTY;
    OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(path)
}

/// Punches a hole into a file; its bytes then read as zeros. Returns an error if the system or the disk does not
/// support it.
#[cfg(target_os = "linux")]
pub(crate) fn make_hole(file: &File, offset: u64, bytes: u64) -> io::Result<()> {
    let flags = rustix::fs::FallocateFlags::PUNCH_HOLE | rustix::fs::FallocateFlags::KEEP_SIZE;
    Ok(rustix::fs::fallocate(file, flags, offset, bytes)?)
}

/// Always returns an error: holes are supported on Linux only.
#[cfg(not(target_os = "linux"))]
pub(crate) fn make_hole(_file: &File, _offset: u64, _bytes: u64) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Returns whether a file is on a local disk, as far as the system reports it: network file systems may not respond.
#[cfg(target_os = "linux")]
pub(crate) fn is_local(file: &File) -> bool {
    /// NFS, SMB in three versions, AFS, Ceph, Coda, 9P.
    const OF_NETWORKS: [u64; 8] =
        [0x6969, 0x517b, 0xff53_4d42, 0xfe53_4d42, 0x6b41_4653, 0x00c3_6400, 0x7375_7245, 0x0102_1997];
    let system = rustix::fs::fstatfs(file).map(|system| u64::try_from(system.f_type).unwrap_or_default() & 0xffff_ffff);
    system.is_ok_and(|system| !OF_NETWORKS.contains(&system))
}

/// Returns true: this system is not queried.
#[cfg(not(target_os = "linux"))]
pub(crate) fn is_local(_file: &File) -> bool {
    true
}

/// Writes all of `bytes` at `offset`. Returns the error of the system, such as a full disk.
pub(crate) fn write_all_at(file: &File, bytes: &[u8], offset: u64) -> io::Result<()> {
    file.write_all_at(bytes, offset)
}

/// Returns the standard output of this process as a file that shares its position, or the error of the system.
pub(crate) fn standard_output() -> io::Result<File> {
    Ok(io::stdout().as_fd().try_clone_to_owned()?.into())
}

/// Returns a file of this process that shares the position of an open descriptor, which `path` names. Returns the error
/// of the system.
#[cfg(target_os = "linux")]
pub(crate) fn duplicate(number: u32, _path: &Path) -> io::Result<File> {
    use rustix::process::{PidfdFlags, PidfdGetfdFlags, getpid, pidfd_getfd, pidfd_open};
    // Opening the path would start at the beginning of the file.
    let this_process = pidfd_open(getpid(), PidfdFlags::empty())?;
    let number = number.try_into().map_err(|_| io::ErrorKind::NotFound)?;
    Ok(pidfd_getfd(this_process, number, PidfdGetfdFlags::empty())?.into())
}

/// Opens `path`, which shares the position of the descriptor on these systems.
#[cfg(not(target_os = "linux"))]
pub(crate) fn duplicate(_number: u32, path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).open(path)
}

/// Returns numbers of a file. At least one of them changes whenever the file does.
#[must_use]
pub(crate) fn stamps(metadata: &Metadata) -> Vec<u64> {
    let numbers = [metadata.dev(), metadata.ino(), metadata.len()];
    let times = [metadata.mtime(), metadata.mtime_nsec(), metadata.ctime(), metadata.ctime_nsec()];
    numbers.into_iter().chain(times.map(i64::cast_unsigned)).collect()
}

/// Returns the kind of something that is neither a file nor a folder.
pub(super) fn special_kind(metadata: &Metadata) -> FileKind {
    let kind = metadata.file_type();
    if kind.is_fifo() {
        FileKind::Pipe
    } else if kind.is_socket() {
        FileKind::Socket
    } else {
        FileKind::Device
    }
}

/// Returns whether this is `/dev/null`, which is always empty.
#[must_use]
pub(crate) fn is_null_device(metadata: &Metadata) -> bool {
    let null = fs::metadata("/dev/null");
    metadata.file_type().is_char_device() && null.is_ok_and(|null| null.rdev() == metadata.rdev())
}

/// Returns a path that reopens an open file even if it has no name; `None` on systems without.
#[must_use]
pub(crate) fn path_of_open(file: &File) -> Option<PathBuf> {
    let path = PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()));
    path.exists().then_some(path)
}

/// Returns the bytes that this user may still write to a folder's disk, if the system reports them.
#[must_use]
pub(crate) fn free_bytes(folder: &Path) -> Option<u64> {
    let disk = rustix::fs::statvfs(folder).ok()?;
    disk.f_bavail.checked_mul(disk.f_frsize)
}

/// Returns device and inode of a file, which distinguish it from another file at the same path.
pub(crate) fn identity(metadata: &Metadata) -> (u64, u64) {
    (metadata.dev(), metadata.ino())
}

/// Returns whether both paths are the same existing file. Opens neither, because opening a pipe blocks.
#[must_use]
pub(crate) fn is_same_file(a: &Path, b: &Path) -> bool {
    let numbers = |path| fs::metadata(path).map(|metadata| identity(&metadata)).ok();
    numbers(a).is_some_and(|numbers_of_a| numbers(b) == Some(numbers_of_a))
}

/// Makes a new file private to this user.
pub(crate) fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    options.mode(0o600)
}

/// Copies owner, group and permissions of the replaced file to a new one, as far as this user may. If the group cannot
/// be copied, its permissions are not given to anybody else.
pub(crate) fn inherit_rights(file: &File, replaced: &Metadata) {
    let (uid, gid) = (replaced.uid(), replaced.gid());
    let has_owner = |file: &File| file.metadata().is_ok_and(|metadata| (metadata.uid(), metadata.gid()) == (uid, gid));
    let has_group = |file: &File| file.metadata().is_ok_and(|metadata| metadata.gid() == gid);
    if !has_owner(file) && fchown(file, Some(uid), Some(gid)).is_err() {
        fchown(file, None, Some(gid)).ok(); // only the superuser may give files away
    }
    // Without the set-user-id bits, because this is another program.
    let mut mode = replaced.mode() & 0o777;
    if !has_group(file) {
        mode &= !0o070 | ((mode & 0o007) << 3);
    }
    file.set_permissions(Permissions::from_mode(mode)).ok(); // some file systems have no permissions
}

/// Creates a folder that no other user can read. Returns an error for an existing one that others can enter.
pub(crate) fn make_secret_folder(path: &Path) -> io::Result<()> {
    /// The permission bits of others.
    const OF_OTHERS: u32 = 0o077;
    make_private_folder(path)?;
    if fs::symlink_metadata(path)?.mode() & OF_OTHERS == 0 {
        return Ok(());
    }
    let why = format!("{} can be entered by others: `chmod 700` makes it this user's", path.display());
    Err(io::Error::new(io::ErrorKind::PermissionDenied, why))
}

/// Creates a private folder in an existing folder. Returns an error for an existing one that is a link or not a folder,
/// belongs to another user, or is writable by others.
pub(crate) fn make_private_folder(path: &Path) -> io::Result<()> {
    match DirBuilder::new().mode(0o700).create(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => check_private_folder(path),
    }
}

/// Checks an existing folder. Returns an error if it is a link or not a folder, belongs to another user, or is writable
/// by others.
pub(crate) fn check_private_folder(path: &Path) -> io::Result<()> {
    let refused = |kind, why: String| Err(io::Error::new(kind, format!("{} {why}", path.display())));
    // A link planted in a shared folder would let its owner choose where files go.
    let metadata = fs::symlink_metadata(path)?;
    if !metadata.is_dir() {
        return refused(io::ErrorKind::NotADirectory, "is a link or not a folder".to_owned());
    }
    // Its owner could replace files in it, which are trusted later.
    let this_user = user();
    if metadata.uid() != this_user {
        let why = format!("belongs to user {}, not to user {this_user}", metadata.uid());
        return refused(io::ErrorKind::PermissionDenied, why);
    }
    if metadata.mode() & 0o022 != 0 {
        return refused(io::ErrorKind::PermissionDenied, "can be written by others".to_owned());
    }
    Ok(())
}

#[must_use]
pub(crate) fn user() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Syncs the names in a folder. Returns the error of the system.
pub(crate) fn sync_folder(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}
