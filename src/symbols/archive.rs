//! Archives of symbol files, such as `perf archive` writes: tar, perhaps compressed by gzip, bzip2 or zstd. Their files
//! are opened like files below a folder with the path of the archive.
//!
//! An archive is unpacked once, into a temporary file without a name. So no entry is written to a path of its choice,
//! and links lead only to other entries. Sparse files are left out, and an archive ends at its limits.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fs::{File, Metadata};
use std::io::{self, BufReader, Read};
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use tar::{EntryType, GnuExtSparseHeader, GnuHeader, PaxExtensions};

use crate::base::cancel::{Cancel, Cancelled};
use crate::base::{files, folders, free_space};

/// Limit for the unpacked bytes: debug files of a browser and its libraries take 8 GiB.
const UNPACKED_BYTES_MAX: u64 = 32 << 30;

/// The first bytes of compressed archives.
const GZIP: &[u8] = &[0x1f, 0x8b];
const BZIP2: &[u8] = b"BZh";
const ZSTD: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];

/// Limit for the entries; perf writes two per file.
const ENTRIES_MAX: usize = 1 << 17;

/// Limit for the bytes of a path, as in Linux.
const PATH_BYTES_MAX: usize = 4096;

/// Limit for the bytes of an extended header, which may have attributes beside the path.
const HEADER_BYTES_MAX: u64 = 64 << 10;

/// Limit for the bytes of all paths and targets.
const NAMES_BYTES_MAX: usize = 32 << 20;

/// Limit for the links of a path, as in Linux.
const LINKS_MAX: usize = 40;

/// Bytes copied between two checks of the free space.
const COPY_BYTES: u64 = free_space::CHECK_EVERY_BYTES;

/// Number of archives that stay unpacked.
const RECENT_MAX: usize = 4;

/// The archives that were used last. Each look-up creates new locators, and unpacking may take minutes.
static RECENT: Mutex<Vec<Arc<Archive>>> = Mutex::new(Vec::new());

/// An archive, and its files once they are unpacked.
#[derive(Debug)]
pub(super) struct Archive {
    /// The path of the archive, with links resolved.
    path: PathBuf,
    metadata: Metadata,
    unpacked: Mutex<Option<Arc<Unpacked>>>,
}

/// The files of an archive, one after the other.
#[derive(Debug, Default)]
struct Unpacked {
    content: Option<File>,
    /// By the path below the root of the archive.
    entries: HashMap<PathBuf, ArchiveEntry>,
    /// The reason for missing files.
    problem: Option<String>,
    /// Whether the disk of the temporary file caused the problem, so that another attempt may succeed.
    is_retryable: bool,
}

#[derive(Debug)]
enum ArchiveEntry {
    File {
        offset: u64,
        bytes: u64,
    },
    /// A link, to a path below the root of the archive.
    Link(PathBuf),
}

/// A file of an archive.
#[derive(Debug)]
pub(super) struct ArchivedFile {
    archive: Arc<Archive>,
    unpacked: Arc<Unpacked>,
    offset: u64,
    pub(super) bytes: u64,
    /// The path of the archive, followed by the path of the file in it, with links resolved.
    pub(super) path: PathBuf,
}

impl Archive {
    /// Returns the archive at a path; `None` if there is no file, or if the file has no tar header.
    pub(super) fn at(path: &Path) -> Option<Arc<Self>> {
        let path = path.canonicalize().ok()?;
        let metadata = path.metadata().ok().filter(Metadata::is_file)?;
        let mut recent = RECENT.lock().unwrap_or_else(PoisonError::into_inner);
        let stamps = files::stamps(&metadata);
        let is_known = |it: &Arc<Self>| it.path == path && files::stamps(&it.metadata) == stamps;
        let archive = if let Some(index) = recent.iter().position(is_known) {
            recent.remove(index)
        } else {
            let mut archive = tar::Archive::new(decoder(&path).ok()?);
            archive.entries().ok()?.raw(true).next()?.ok()?;
            Arc::new(Self { path, metadata, unpacked: Mutex::default() })
        };
        recent.insert(0, Arc::clone(&archive));
        recent.truncate(RECENT_MAX);
        Some(archive)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Unpacks the files, unless they are unpacked. Tries again if the disk had too little room before.
    pub(super) fn unpack(&self, cancel: &Cancel) -> Result<(), Cancelled> {
        let mut unpacked = self.unpacked.lock().unwrap_or_else(PoisonError::into_inner);
        // The partial files are dropped first, to free their space.
        unpacked.take_if(|unpacked| unpacked.is_retryable);
        drop(unpacked);
        self.unpacked(cancel).map(|_| ())
    }

    /// Returns why files are missing, if they are unpacked.
    pub(super) fn problem(&self) -> Option<String> {
        self.unpacked.lock().unwrap_or_else(PoisonError::into_inner).as_ref()?.problem.clone()
    }

    /// Opens a file by its path below the archive; `None` if there is none.
    pub(super) fn open(self: &Arc<Self>, below: &Path) -> Option<ArchivedFile> {
        // Look-ups that can be cancelled have already unpacked the archive.
        let unpacked = self.unpacked(&Cancel::default()).unwrap_or_default();
        let (path, offset, bytes) = unpacked.find(below)?;
        Some(ArchivedFile { archive: Arc::clone(self), offset, bytes, path: self.path.join(path), unpacked })
    }

    fn unpacked(&self, cancel: &Cancel) -> Result<Arc<Unpacked>, Cancelled> {
        let mut unpacked = self.unpacked.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(unpacked) = &*unpacked {
            return Ok(Arc::clone(unpacked));
        }
        Ok(Arc::clone(unpacked.insert(Arc::new(Unpacked::read(&self.path, cancel)?))))
    }
}

impl ArchivedFile {
    /// Fills a buffer from an offset. The caller checks that it is inside the file.
    pub(super) fn read_exact_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        let content = self.unpacked.content.as_ref().ok_or(io::ErrorKind::NotFound)?;
        files::read_exact_at(content, bytes, self.offset + offset)
    }

    /// Returns the metadata of the archive, which changes with any of its files.
    pub(super) fn metadata(&self) -> Metadata {
        self.archive.metadata.clone()
    }
}

impl Unpacked {
    /// Unpacks an archive as far as possible.
    fn read(path: &Path, cancel: &Cancel) -> Result<Self, Cancelled> {
        let mut unpacked = Self::default();
        let added = unpacked.add_entries(path, cancel);
        cancel.check()?;
        if let Err(error) = added {
            let is_full = matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded);
            unpacked.is_retryable = is_full || unpacked.content.is_none();
            unpacked.problem = Some(error.to_string());
        }
        Ok(unpacked)
    }

    fn add_entries(&mut self, path: &Path, cancel: &Cancel) -> io::Result<()> {
        let folder = folders::cache().filter(|folder| folder.is_dir()).unwrap_or_else(std::env::temp_dir);
        let content = self.content.insert(tempfile::tempfile_in(&folder)?);
        let packed = RefCell::new(BoundedReader { reader: decoder(path)?, left: UNPACKED_BYTES_MAX, cancel });
        let mut archive = tar::Archive::new(SharedReader(&packed));
        let (mut offset, mut names_bytes, mut headers) = (0, 0, ExtendedHeaders::default());
        // The library would read names of any length into memory.
        for entry in archive.entries()?.raw(true) {
            let mut entry = entry?;
            let kind = entry.header().entry_type();
            if headers.read(kind, &mut entry)? {
                continue;
            }
            if kind.is_gnu_sparse() {
                skip_sparse_headers(entry.header(), SharedReader(&packed))?;
            }
            let ExtendedHeaders { path, target } = std::mem::take(&mut headers);
            let path = path.unwrap_or_else(|| entry.path_bytes().into_owned());
            let Some(path) = path_below(Path::new(""), &path) else { continue };
            let added = match kind {
                EntryType::Regular | EntryType::Continuous => {
                    let start = offset;
                    offset += copy(&mut entry, content, &folder)?;
                    let bytes = offset - start;
                    if bytes < entry.size() {
                        return Err(io::Error::other("it ends early"));
                    }
                    ArchiveEntry::File { offset: start, bytes }
                }
                EntryType::Link | EntryType::Symlink => {
                    // Hard links name a path from the root of the archive.
                    let parent = path.parent().filter(|_| kind == EntryType::Symlink).unwrap_or(Path::new(""));
                    let target = target.or_else(|| Some(entry.link_name_bytes()?.into_owned()));
                    let Some(target) = target.and_then(|target| path_below(parent, &target)) else { continue };
                    names_bytes += target.as_os_str().len();
                    ArchiveEntry::Link(target)
                }
                _ => continue,
            };
            names_bytes += path.as_os_str().len();
            if self.entries.len() == ENTRIES_MAX || names_bytes > NAMES_BYTES_MAX {
                return Err(io::Error::other("too many files"));
            }
            // As with tar, the last entry of a name wins.
            self.entries.insert(path, added);
        }
        Ok(())
    }

    /// Returns the path, the offset and the bytes of a file, after all links.
    fn find(&self, path: &Path) -> Option<(PathBuf, u64, u64)> {
        let mut path = path_below(Path::new(""), path.as_os_str().as_encoded_bytes())?;
        for _ in 0..LINKS_MAX {
            if let Some(&ArchiveEntry::File { offset, bytes }) = self.entries.get(&path) {
                return Some((path, offset, bytes));
            }
            // The first link on the way.
            let folders: Vec<&Path> = path.ancestors().collect();
            let (link, target) = folders.iter().rev().find_map(|&link| match self.entries.get(link) {
                Some(ArchiveEntry::Link(target)) => Some((link, target)),
                _ => None,
            })?;
            path = target.components().chain(path.strip_prefix(link).ok()?.components()).collect();
        }
        None
    }
}

/// Headers that describe the next entry: its path and the target of its link.
#[derive(Debug, Default)]
struct ExtendedHeaders {
    path: Option<Vec<u8>>,
    target: Option<Vec<u8>>,
}

impl ExtendedHeaders {
    /// Reads an entry, if it is an extended header. The entry after a header over the limit has no path.
    fn read(&mut self, kind: EntryType, entry: &mut impl Read) -> io::Result<bool> {
        let is_header = kind.is_gnu_longname() || kind.is_gnu_longlink() || kind.is_pax_local_extensions();
        if !is_header {
            return Ok(kind.is_pax_global_extensions());
        }
        let mut bytes = Vec::new();
        entry.take(HEADER_BYTES_MAX + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > HEADER_BYTES_MAX {
            self.path = Some(Vec::new());
            return Ok(true);
        }
        let text = || bytes.strip_suffix(b"\0").unwrap_or(&bytes).to_vec();
        if kind.is_gnu_longname() {
            self.path = Some(text());
        } else if kind.is_gnu_longlink() {
            self.target = Some(text());
        } else {
            for record in PaxExtensions::new(&bytes).flatten() {
                match record.key_bytes() {
                    b"path" => self.path = Some(record.value_bytes().to_vec()),
                    b"linkpath" => self.target = Some(record.value_bytes().to_vec()),
                    _ => {}
                }
            }
        }
        Ok(true)
    }
}

/// Copies the content of an entry to a file in a folder, as long as its disk has free space. Returns the bytes.
fn copy(entry: &mut impl Read, content: &mut File, folder: &Path) -> io::Result<u64> {
    let mut bytes = 0;
    loop {
        free_space::check(folder)?;
        let copied = io::copy(&mut entry.by_ref().take(COPY_BYTES), content)?;
        bytes += copied;
        if copied < COPY_BYTES {
            return Ok(bytes);
        }
    }
}

/// Reads the further headers of a sparse file. The library takes them for content, so that it would end the archive
/// within the content.
fn skip_sparse_headers(header: &tar::Header, mut packed: impl Read) -> io::Result<()> {
    let mut is_extended = header.as_gnu().is_some_and(GnuHeader::is_extended);
    while is_extended {
        let mut next = GnuExtSparseHeader::new();
        packed.read_exact(next.as_mut_bytes())?;
        is_extended = next.is_extended();
    }
    Ok(())
}

/// Reads from a reader that others use too.
struct SharedReader<'a, R>(&'a RefCell<R>);

impl<R: Read> Read for SharedReader<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.borrow_mut().read(buffer)
    }
}

/// Stops reading when it is cancelled, and at a limit: a compressed archive may expand without end.
struct BoundedReader<'a, R> {
    reader: R,
    left: u64,
    cancel: &'a Cancel,
}

impl<R: Read> Read for BoundedReader<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.cancel.check().map_err(io::Error::other)?;
        if self.left == 0 {
            return Err(io::Error::other(format!("more than {UNPACKED_BYTES_MAX} bytes")));
        }
        let len = self.reader.by_ref().take(self.left).read(buffer)?;
        self.left -= len as u64;
        Ok(len)
    }
}

/// Returns a reader of the unpacked tar archive.
fn decoder(path: &Path) -> io::Result<Box<dyn Read>> {
    let mut file = BufReader::new(files::open_without_waiting(path)?);
    let head = io::BufRead::fill_buf(&mut file)?;
    Ok(if head.starts_with(GZIP) {
        Box::new(flate2::bufread::MultiGzDecoder::new(file))
    } else if head.starts_with(BZIP2) {
        Box::new(bzip2::bufread::MultiBzDecoder::new(file))
    } else if head.starts_with(ZSTD) {
        Box::new(zstd::Decoder::with_buffer(file)?)
    } else {
        Box::new(file)
    })
}

/// Returns a path below the root of an archive, relative to one of its folders unless it is absolute. As at the root
/// of a file system, `..` leads no further up. Returns `None` for the root itself and for paths over the limit.
fn path_below(folder: &Path, path: &[u8]) -> Option<PathBuf> {
    let text = std::str::from_utf8(path).ok().filter(|text| text.len() <= PATH_BYTES_MAX)?;
    let mut below = if text.starts_with('/') { PathBuf::new() } else { folder.to_path_buf() };
    for part in Path::new(text).components() {
        match part {
            Component::Normal(name) => below.push(name),
            Component::ParentDir => {
                below.pop();
            }
            Component::RootDir | Component::CurDir | Component::Prefix(_) => {}
        }
    }
    (!below.as_os_str().is_empty()).then_some(below)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns an archive of entries: the path, and the content or the target of a link.
    fn archive(folder: &Path, entries: &[(&str, EntryType, &str)]) -> Arc<Archive> {
        let path = folder.join("archive.tar");
        let mut builder = tar::Builder::new(File::create(&path).unwrap());
        for &(name, kind, text) in entries {
            let mut header = tar::Header::new_gnu();
            header.set_entry_type(kind);
            let content = if kind == EntryType::Regular { text } else { "" };
            header.set_size(content.len() as u64);
            // The library refuses to write hostile paths itself.
            let bytes = header.as_mut_bytes();
            bytes[..name.len()].copy_from_slice(name.as_bytes());
            if kind != EntryType::Regular {
                bytes[157..157 + text.len()].copy_from_slice(text.as_bytes());
            }
            header.set_cksum();
            builder.append(&header, content.as_bytes()).unwrap();
        }
        builder.finish().unwrap();
        Archive::at(&path).unwrap()
    }

    fn content(archive: &Arc<Archive>, path: &str) -> Option<String> {
        let file = archive.open(Path::new(path))?;
        let mut bytes = vec![0; file.bytes as usize];
        file.read_exact_at(&mut bytes, 0).unwrap();
        Some(String::from_utf8(bytes).unwrap())
    }

    #[test]
    fn links_lead_to_other_entries_and_never_out_of_the_archive() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("secret"), "secret").unwrap();
        let outside = folder.path().join("secret").display().to_string();
        let archive = archive(
            folder.path(),
            &[
                ("./usr/bin/work/abcd/elf", EntryType::Regular, "program"),
                (".build-id/ab/cd", EntryType::Symlink, "../../usr/bin/work/abcd"),
                ("second", EntryType::Symlink, ".build-id/ab"),
                ("hard", EntryType::Link, "usr/bin/work/abcd/elf"),
                ("/absolute", EntryType::Regular, "below"),
                ("../../up", EntryType::Regular, "up"),
                ("outside", EntryType::Symlink, &outside),
                ("climbing", EntryType::Symlink, "../../../../../../../etc/passwd"),
                ("circle", EntryType::Symlink, "circle/circle"),
                ("one", EntryType::Symlink, "other"),
                ("other", EntryType::Symlink, "one"),
                ("pipe", EntryType::Fifo, ""),
                ("twice", EntryType::Regular, "first"),
                ("twice", EntryType::Regular, "last"),
            ],
        );
        for (path, expected) in [
            ("usr/bin/work/abcd/elf", Some("program")),
            (".build-id/ab/cd/elf", Some("program")),
            ("second/cd/elf", Some("program")),
            ("hard", Some("program")),
            ("absolute", Some("below")),
            ("up", Some("up")),
            ("twice", Some("last")),
            ("usr/bin/work", None),
            (".build-id/ab/cd", None),
            ("outside", None),
            ("climbing", None),
            ("circle", None),
            ("one", None),
            ("pipe", None),
            ("", None),
            ("../secret", None),
        ] {
            assert_eq!(content(&archive, path).as_deref(), expected, "{path}");
        }
        assert_eq!(archive.problem(), None);
        let written: Vec<_> = folder.path().read_dir().unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(written.len(), 2, "only the archive and the secret: {written:?}");
    }

    #[test]
    fn long_names_are_read_and_names_over_the_limit_are_not() {
        let folder = tempfile::tempdir().unwrap();
        let (long, too_long) = (format!("{}/elf", "d".repeat(300)), format!("{}/elf", "d/".repeat(3000)));
        let path = folder.path().join("archive.tar");
        let mut builder = tar::Builder::new(File::create(&path).unwrap());
        for name in [&long, &too_long] {
            let mut header = tar::Header::new_gnu();
            header.set_size(4);
            builder.append_data(&mut header, name, &b"text"[..]).unwrap();
        }
        let mut header = tar::Header::new_gnu();
        header.set_size(0);
        header.set_entry_type(EntryType::Symlink);
        builder.append_link(&mut header, "link", &long).unwrap();
        let pax = format!("{} path={long}x\n", 10 + long.len() + 1);
        let mut header = tar::Header::new_ustar();
        header.set_size(pax.len() as u64);
        header.set_entry_type(EntryType::XHeader);
        header.set_cksum();
        builder.append(&header, pax.as_bytes()).unwrap();
        let mut header = tar::Header::new_ustar();
        header.set_size(3);
        builder.append_data(&mut header, "short", &b"pax"[..]).unwrap();
        builder.finish().unwrap();
        let archive = Archive::at(&path).unwrap();
        assert_eq!(content(&archive, &long).as_deref(), Some("text"));
        assert_eq!(content(&archive, "link").as_deref(), Some("text"));
        assert_eq!(content(&archive, &format!("{long}x")).as_deref(), Some("pax"));
        assert_eq!(content(&archive, &too_long), None);
    }

    #[test]
    fn files_after_a_sparse_one_of_many_parts_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("archive.tar");
        let mut builder = tar::Builder::new(File::create(&path).unwrap());
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(EntryType::GNUSparse);
        header.set_path("sparse").unwrap();
        header.set_size(1024);
        header.as_gnu_mut().unwrap().set_is_extended(true);
        header.set_cksum();
        let [mut first, last] = [GnuExtSparseHeader::new(), GnuExtSparseHeader::new()];
        first.set_is_extended(true);
        let stored = [&first.as_bytes()[..], last.as_bytes(), &[0; 1024]].concat();
        builder.append(&header, &*stored).unwrap();
        let mut header = tar::Header::new_gnu();
        header.set_size(4);
        builder.append_data(&mut header, "after", &b"text"[..]).unwrap();
        builder.finish().unwrap();
        let archive = Archive::at(&path).unwrap();
        assert_eq!(content(&archive, "after").as_deref(), Some("text"));
        assert_eq!((content(&archive, "sparse"), archive.problem()), (None, None));
    }

    #[test]
    fn an_archive_that_ends_early_or_has_other_data_keeps_the_files_before() {
        let folder = tempfile::tempdir().unwrap();
        let whole = archive(folder.path(), &[("a", EntryType::Regular, "first"), ("b", EntryType::Regular, "second")]);
        let bytes = std::fs::read(whole.path()).unwrap();
        for cut in [0, 100, 511, 512, 514, 1023, 1024, 1536, 1538, 2048] {
            let path = folder.path().join(format!("{cut}.tar"));
            std::fs::write(&path, &bytes[..cut]).unwrap();
            let Some(archive) = Archive::at(&path) else {
                assert!(cut < 512, "{cut}");
                continue;
            };
            assert_eq!(content(&archive, "a").is_some(), cut > 512 + 5, "{cut}");
            assert_eq!(content(&archive, "b").is_some(), cut > 1536 + 6, "{cut}");
            let is_at_an_entry = cut == 1024 || cut == 2048;
            assert_eq!(archive.problem().is_none(), is_at_an_entry, "{cut}: {:?}", archive.problem());
        }
        std::fs::write(folder.path().join("text"), "text ".repeat(1000)).unwrap();
        assert!(Archive::at(&folder.path().join("text")).is_none());
        assert!(Archive::at(folder.path()).is_none() && Archive::at(&folder.path().join("none")).is_none());
    }

    #[test]
    fn a_cancelled_archive_is_unpacked_by_the_next_question() {
        let folder = tempfile::tempdir().unwrap();
        let archive = archive(folder.path(), &[("a", EntryType::Regular, "text")]);
        let cancel = Cancel::default();
        cancel.cancel();
        assert_eq!(archive.unpack(&cancel), Err(Cancelled));
        assert_eq!(archive.unpack(&Cancel::default()), Ok(()));
        assert_eq!(content(&archive, "a").as_deref(), Some("text"));
    }

    #[test]
    fn an_archive_that_did_not_fit_on_the_disk_is_unpacked_again_and_a_damaged_one_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let archive = archive(folder.path(), &[("a", EntryType::Regular, "text")]);
        for is_retryable in [false, true] {
            let failed = Unpacked { problem: Some("failed".into()), is_retryable, ..Unpacked::default() };
            *archive.unpacked.lock().unwrap() = Some(Arc::new(failed));
            assert_eq!((content(&archive, "a"), archive.problem()), (None, Some("failed".to_owned())));
            assert_eq!(archive.unpack(&Cancel::default()), Ok(()));
            let expected = is_retryable.then(|| "text".to_owned());
            assert_eq!((content(&archive, "a"), archive.problem().is_none()), (expected, is_retryable));
        }
    }
}
