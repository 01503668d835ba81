//! Finds debug information outside of a file. `.gnu_debuglink` names the file with all of it, by checksum.
//! `.gnu_debugaltlink` names the file to which `dwz` moved shared parts, by build-id. `.gnu_debugdata` is an embedded,
//! compressed symbol table. Paths are untrusted: only paths below the roots are opened.

use std::path::{Component, Path, PathBuf};

use flate2::Crc;

use super::elf::ElfFile;
use super::file::InputFile;
use super::locate::Locator;
use super::paths::without_parents;
use super::xz;
use crate::base::cancel::{Cancel, Cancelled};
use crate::model::BuildId;

/// Size limit of a link section: a path of Linux, and a build-id.
const LINK_BYTES_MAX: u64 = 8192;

/// Limit for a decompressed symbol table; the table of a browser takes 20 MiB.
const MINI_BYTES_MAX: u64 = 64 << 20;

/// Limit for the bytes after all sections of a debug file, such as a signature or the table of sections.
const TAIL_BYTES_MAX: u64 = 16 << 20;

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

    /// Returns whether a file has the checksum, or `Cancelled` if cancelled. A file is not read if it is much longer
    /// than its sections, or beyond the locator's limit for checksums.
    pub(super) fn is_of(&self, elf: &ElfFile, locator: &Locator, cancel: &Cancel) -> Result<bool, Cancelled> {
        let file = &elf.file;
        if file.bytes > elf.end().saturating_add(TAIL_BYTES_MAX) || !locator.spend_checksum(file.bytes) {
            return Ok(false);
        }
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

/// Returns the compressed symbol table in a stripped file.
pub(super) fn mini_debug_info(elf: &ElfFile, bytes_max: u64) -> Option<ElfFile> {
    let packed = elf.bytes_of(elf.named(".gnu_debugdata")?, bytes_max)?;
    let bytes = xz::unpack(&packed, bytes_max.min(MINI_BYTES_MAX))?;
    ElfFile::read(InputFile::from_bytes(elf.file.path.clone(), bytes))
}
