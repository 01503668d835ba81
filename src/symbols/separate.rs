//! Finds debug information outside of a file. `.gnu_debuglink` names the file with all of it, by checksum.
//! `.gnu_debugaltlink` names the file to which `dwz` moved shared parts, by build-id. `.gnu_debugdata` is an embedded,
//! compressed symbol table. Paths are untrusted: only those below the roots are opened.

use std::path::{Component, Path, PathBuf};

use flate2::Crc;

use super::elf::ElfFile;
use super::file::InputFile;
use super::xz;
use crate::base::cancel::{Cancel, Cancelled};
use crate::model::BuildId;

/// Size limit of a link section: a path of Linux, and a build-id.
const LINK_BYTES_MAX: u64 = 8192;

/// Limit for a decompressed symbol table; that of a browser takes 20 MiB.
const MINI_BYTES_MAX: u64 = 64 << 20;

/// Bytes per step of a checksum.
const SUM_BYTES: u64 = 1 << 20;

/// The name and checksum of a debug file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DebugLink {
    pub(super) name: PathBuf,
    sum: u32,
}

/// The path of a shared debug file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SharedLink {
    pub(super) path: PathBuf,
    pub(super) build_id: BuildId,
}

impl DebugLink {
    /// Returns the link of a file; `None` without one, or if it has folders.
    pub(super) fn from_elf(elf: &ElfFile) -> Option<Self> {
        let bytes = elf.bytes_of(elf.named(".gnu_debuglink")?, LINK_BYTES_MAX)?;
        let end = memchr::memchr(0, &bytes)?;
        let name = PathBuf::from(std::str::from_utf8(&bytes[..end]).ok()?);
        let is_name = matches!(name.components().collect::<Vec<_>>()[..], [Component::Normal(_)]);
        // The checksum is aligned to 4 after the name.
        let sum = bytes.get((end + 1).next_multiple_of(4)..)?.first_chunk()?;
        is_name.then_some(Self { name, sum: u32::from_le_bytes(*sum) })
    }

    /// Returns whether a file has the checksum, or `Cancelled` if cancelled.
    pub(super) fn is_of(&self, file: &InputFile, cancel: &Cancel) -> Result<bool, Cancelled> {
        let (mut sum, mut at) = (Crc::new(), 0);
        while at < file.bytes {
            cancel.check()?;
            let Some(bytes) = file.read(at, SUM_BYTES.min(file.bytes - at), SUM_BYTES) else { return Ok(false) };
            sum.update(&bytes);
            at += bytes.len() as u64;
        }
        Ok(sum.sum() == self.sum)
    }
}

impl SharedLink {
    /// Returns the link of a debug file.
    pub(super) fn from_elf(elf: &ElfFile) -> Option<Self> {
        let bytes = elf.bytes_of(elf.named(".gnu_debugaltlink")?, LINK_BYTES_MAX)?;
        let end = memchr::memchr(0, &bytes)?;
        let path = Path::new(std::str::from_utf8(&bytes[..end]).ok()?);
        let folder = elf.file.path.parent()?;
        Some(Self { path: without_parents(&folder.join(path))?, build_id: BuildId::new(&bytes[end + 1..])? })
    }
}

/// Resolves `..` lexically; `None` if the path leaves the root.
pub(super) fn without_parents(path: &Path) -> Option<PathBuf> {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => plain.pop().then_some(())?,
            Component::CurDir => {}
            part => plain.push(part),
        }
    }
    Some(plain)
}

/// Returns the compressed symbol table in a stripped file.
pub(super) fn mini_debug_info(elf: &ElfFile, bytes_max: u64) -> Option<ElfFile> {
    let packed = elf.bytes_of(elf.named(".gnu_debugdata")?, bytes_max)?;
    let bytes = xz::unpack(&packed, bytes_max.min(MINI_BYTES_MAX))?;
    ElfFile::read(InputFile::from_bytes(elf.file.path.clone(), bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relative_paths_go_up_no_further_than_the_root() {
        let plain = |path: &str| without_parents(Path::new(path));
        assert_eq!(plain("/usr/lib/debug/a/../../x/./y"), Some("/usr/lib/x/y".into()));
        assert_eq!(plain("/../etc"), None);
        assert_eq!(plain("/a/../../etc"), None);
    }
}
