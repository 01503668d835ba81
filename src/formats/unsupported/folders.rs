//! Refuses a folder, and names the trace inside it that the user probably meant. Searches a few levels for recordings
//! that consist of folders, and for files that tools call traces.

use std::collections::VecDeque;
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use super::names::FOLDERS;
use super::table::CTF;
use crate::formats::ReadError;
use crate::formats::input::source::HEAD_BYTES;
use crate::formats::linux::uftrace;

/// Limit for the entries that are looked at.
const ENTRIES_MAX: usize = 1000;

/// Levels below the folder. `LTTng` puts metadata into `ust/uid/0/64-bit`.
const LEVELS_MAX: usize = 5;

/// Beginnings of the metadata of CTF: as packets in either byte order, and as text.
const CTF_METADATA: [&[u8]; 3] = [b"\x75\xd1\x1d\x57", b"\x57\x1d\xd1\x75", b"/* CTF "];

/// Returns the error for a folder, if files in it are of a known format. `is_trace` recognises a trace by its first
/// bytes.
pub(crate) fn folder(path: &Path, is_trace: impl Fn(&[u8]) -> bool) -> Option<ReadError> {
    let unsupported = |refused| ReadError::Unsupported { path: path.to_owned(), refused };
    let format = FOLDERS.iter().find(|folder| folder.files.iter().all(|file| path.join(file).exists()));
    if let Some(format) = format {
        return Some(unsupported(format.refused));
    }
    let inside = |kind, inside| ReadError::TraceInside { path: path.to_owned(), kind, inside };
    match search(path, is_trace)? {
        FolderContent::Ctf => Some(unsupported(CTF)),
        FolderContent::Uftrace(folder) => Some(inside("a recording of uftrace", folder)),
        FolderContent::Trace(file) => Some(inside("a trace", file)),
    }
}

/// A recording or a trace in a folder.
enum FolderContent {
    Ctf,
    Uftrace(PathBuf),
    Trace(PathBuf),
}

/// Searches a folder, the files of upper levels first.
fn search(path: &Path, is_trace: impl Fn(&[u8]) -> bool) -> Option<FolderContent> {
    let mut folders = VecDeque::from([(path.to_owned(), 0)]);
    let mut seen = 0;
    while let Some((folder, level)) = folders.pop_front() {
        let entries = fs::read_dir(&folder).ok().into_iter().flatten().flatten();
        let mut entries: Vec<_> = entries.take(ENTRIES_MAX - seen).collect();
        seen += entries.len();
        entries.sort_by_key(fs::DirEntry::file_name);
        for entry in entries {
            // The type of a link, which may lead back to the folder, is neither.
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_dir() && level < LEVELS_MAX {
                if uftrace::info_file(&entry.path()).is_some() {
                    return Some(FolderContent::Uftrace(entry.path()));
                }
                folders.push_back((entry.path(), level + 1));
            } else if kind.is_file()
                && let Some(found) = found(&entry.path(), &is_trace)
            {
                return Some(found);
            }
        }
    }
    None
}

/// Returns what a file with a trace-like name contains.
fn found(path: &Path, is_trace: impl Fn(&[u8]) -> bool) -> Option<FolderContent> {
    let name = path.file_name()?;
    let is_metadata = name == "metadata";
    if !is_metadata && name != "trace" && path.extension().is_none_or(|extension| extension != "trace") {
        return None;
    }
    let mut head = Vec::new();
    fs::File::open(path).ok()?.take(HEAD_BYTES as u64).read_to_end(&mut head).ok()?;
    if is_metadata {
        return CTF_METADATA.iter().any(|begin| head.starts_with(begin)).then_some(FolderContent::Ctf);
    }
    is_trace(&head).then(|| FolderContent::Trace(path.to_owned()))
}
