//! Reads the central directory of a zip archive, one entry at a time. Buffers one entry, whose texts have at most 64
//! KiB each, whatever counts and sizes the archive claims. Unpacks stored and deflated files.
//!
//! A truncated archive lacks its directory, so its files are found by their own headers, one after the other.

use std::fs::File;
use std::io::{self, BufReader, Read, Take};

use flate2::Crc;
use flate2::bufread::DeflateDecoder;

use super::members::MemberName;
use crate::base::files;

/// Bytes of the end record without its comment.
pub(super) const END_BYTES: usize = 22;

/// Maximal bytes of the end record.
const END_BYTES_MAX: u64 = END_BYTES as u64 + u16::MAX as u64;

/// Bytes of the zip64 locator, just before the end record.
const LOCATOR_BYTES: u64 = 20;

const LARGE_END_BYTES: usize = 56;
const ENTRY_BYTES: usize = 46;
const LOCAL_BYTES: usize = 30;

const END: &[u8] = b"PK\x05\x06";
const LOCATOR: &[u8] = b"PK\x06\x07";
const LARGE_END: &[u8] = b"PK\x06\x06";
const ENTRY: &[u8] = b"PK\x01\x02";
const LOCAL: &[u8] = b"PK\x03\x04";
const DESCRIPTION: &[u8] = b"PK\x07\x08";

/// Id of the zip64 extra field, which has the values beyond 32 bits.
const LARGE_FIELD: u16 = 1;

/// Supported compression methods.
const STORED: u16 = 0;
const DEFLATED: u16 = 8;

/// The flag of an entry whose content is encrypted.
const ENCRYPTED: u16 = 1;

/// The flag of a local header whose checksum and sizes follow the content.
const DESCRIBED_AFTER: u16 = 8;

/// Possible lengths of the description after a content: with or without its signature, with sizes of 32 or 64 bits.
const DESCRIPTION_BYTES: [usize; 4] = [12, 16, 20, 24];

/// The reason why the content of an entry cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum NoContent {
    #[error("it is not where the list of the archive says")]
    Missing,
    #[error("its length is unknown without the list of the archive, which is missing")]
    Length,
    #[error("it is encrypted")]
    Encrypted,
    #[error("it is compressed with method {0}; only stored and deflated files are supported")]
    Method(u16),
}

/// Position of the central directory.
#[derive(Debug, Clone, Copy)]
pub(super) struct Directory {
    start: u64,
    end: u64,
    /// Offset of the archive in the file, if other data precedes it.
    shift: u64,
    /// Number of entries that the end record claims.
    pub(super) count: u64,
}

/// An entry of the central directory, or a local header.
pub(super) struct ZipEntry {
    pub(super) name: MemberName,
    /// Offset of its local header.
    pub(super) offset: u64,
    /// Length of its content in the archive; `u64::MAX` if it is unknown.
    pub(super) packed_bytes: u64,
    method: u16,
    flags: u16,
    /// `None` if it follows the content.
    crc: Option<u32>,
}

/// Iterates over the entries of the central directory, in its order.
pub(super) struct Entries<'a> {
    bytes: BufReader<ZipReader<'a>>,
    left: u64,
    shift: u64,
}

impl Directory {
    /// Finds the central directory; returns `None` if there is none.
    pub(super) fn find(file: &File) -> io::Result<Option<Self>> {
        let file_bytes = file.metadata()?.len();
        let tail_start = file_bytes.saturating_sub(END_BYTES_MAX);
        let mut tail = Vec::new();
        ZipReader { file, offset: tail_start }.take(END_BYTES_MAX).read_to_end(&mut tail)?;
        // The last signature with room for its comment, since comments may contain anything.
        let mut ends = memchr::memmem::rfind_iter(&tail, END);
        let Some(at) = ends.find(|&at| {
            let comment = tail.get(at + 20..at + END_BYTES).map(|len| usize::from(u16_at(len, 0)));
            comment.is_some_and(|comment| at + END_BYTES + comment <= tail.len())
        }) else {
            return Ok(None);
        };
        let (end, end_at) = (&tail[at..at + END_BYTES], tail_start + at as u64);
        let (count, bytes, offset) = (u16_at(end, 10).into(), u32_at(end, 12).into(), u32_at(end, 16).into());
        let (count, bytes, offset, end_at) = large_end(file, end_at)?.unwrap_or((count, bytes, offset, end_at));
        let Some(start) = end_at.checked_sub(bytes) else { return Ok(None) };
        // Both are equal unless data precedes the archive.
        for start in [start, offset] {
            let mut mark = [0; 4];
            let is_list = start <= end_at && files::read_exact_at(file, &mut mark, start).is_ok() && mark == ENTRY;
            if is_list || (count == 0 && start == end_at) {
                return Ok(Some(Self { start, end: end_at, shift: start.saturating_sub(offset), count }));
            }
        }
        Ok(None)
    }

    /// Returns the offset of the directory.
    pub(super) fn offset(self) -> u64 {
        self.start
    }

    pub(super) fn entries(self, file: &File) -> Entries<'_> {
        let bytes = BufReader::new(ZipReader { file, offset: self.start });
        Entries { bytes, left: self.end - self.start, shift: self.shift }
    }
}

/// Returns count, size, offset and end of the directory from a zip64 end record, if there is one.
fn large_end(file: &File, end_at: u64) -> io::Result<Option<(u64, u64, u64, u64)>> {
    let Some(locator_at) = end_at.checked_sub(LOCATOR_BYTES) else { return Ok(None) };
    let mut locator = [0; LOCATOR_BYTES as usize];
    files::read_exact_at(file, &mut locator, locator_at)?;
    if !locator.starts_with(LOCATOR) {
        return Ok(None);
    }
    // At the offset in the locator, or just before the locator if data precedes the archive.
    for at in [Some(u64_at(&locator, 8)), locator_at.checked_sub(LARGE_END_BYTES as u64)].into_iter().flatten() {
        let mut record = [0; LARGE_END_BYTES];
        if at < locator_at && files::read_exact_at(file, &mut record, at).is_ok() && record.starts_with(LARGE_END) {
            return Ok(Some((u64_at(&record, 32), u64_at(&record, 40), u64_at(&record, 48), at)));
        }
    }
    Ok(None)
}

impl Entries<'_> {
    /// Returns the next entry; `None` at the end or at damage.
    pub(super) fn next(&mut self) -> io::Result<Option<ZipEntry>> {
        let mut fixed = [0; ENTRY_BYTES];
        if !self.take_exact(&mut fixed)? || !fixed.starts_with(ENTRY) {
            return Ok(None);
        }
        let [name_len, extra_len, comment_len] = [28, 30, 32].map(|at| usize::from(u16_at(&fixed, at)));
        let (mut name, mut extra) = (vec![0; name_len], vec![0; extra_len]);
        if !self.take_exact(&mut name)? || !self.take_exact(&mut extra)? || comment_len as u64 > self.left {
            return Ok(None);
        }
        self.left -= comment_len as u64;
        io::copy(&mut self.bytes.by_ref().take(comment_len as u64), &mut io::sink())?;
        let [_bytes, packed_bytes, offset] = widened(&fixed, [24, 20, 42], &extra);
        Ok(Some(ZipEntry {
            name: MemberName::from_bytes(&name),
            offset: offset.saturating_add(self.shift),
            packed_bytes,
            method: u16_at(&fixed, 10),
            flags: u16_at(&fixed, 8),
            crc: Some(u32_at(&fixed, 16)),
        }))
    }

    /// Fills `buffer`; returns `false` if the directory ends early.
    fn take_exact(&mut self, buffer: &mut [u8]) -> io::Result<bool> {
        let Some(left) = self.left.checked_sub(buffer.len() as u64) else { return Ok(false) };
        self.left = left;
        match self.bytes.read_exact(buffer) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
            read => read.map(|()| true),
        }
    }
}

/// Iterates over the files of a truncated archive by their local headers.
pub(super) struct LocalEntries<'a> {
    file: &'a File,
    /// Offset of the next header, or of the cut.
    pub(super) offset: u64,
}

impl<'a> LocalEntries<'a> {
    pub(super) fn new(file: &'a File) -> Self {
        Self { file, offset: 0 }
    }

    /// Returns the next file; `None` at the cut, at damage, or at the rest of the central directory.
    pub(super) fn next(&mut self) -> Option<ZipEntry> {
        let offset = self.offset;
        let mut fixed = [0; LOCAL_BYTES];
        files::read_exact_at(self.file, &mut fixed, offset).ok().filter(|()| fixed.starts_with(LOCAL))?;
        let [name_len, extra_len] = [26, 28].map(|at| usize::from(u16_at(&fixed, at)));
        let mut texts = vec![0; name_len + extra_len];
        files::read_exact_at(self.file, &mut texts, offset + LOCAL_BYTES as u64).ok()?;
        let (name, extra) = texts.split_at(name_len);
        let [_bytes, packed_bytes] = widened(&fixed, [22, 18], extra);
        let (flags, method) = (u16_at(&fixed, 6), u16_at(&fixed, 8));
        let is_described_after = flags & DESCRIBED_AFTER != 0;
        let is_unknown = is_described_after && packed_bytes == 0;
        self.offset = offset + (LOCAL_BYTES + texts.len()) as u64;
        if !is_unknown {
            self.offset = self.offset.saturating_add(packed_bytes);
        }
        Some(ZipEntry {
            name: MemberName::from_bytes(name),
            offset,
            packed_bytes: if is_unknown { u64::MAX } else { packed_bytes },
            method,
            flags,
            crc: (!is_described_after).then(|| u32_at(&fixed, 14)),
        })
    }

    /// Moves past the unpacked content of the current file and its description. Returns whether its checksum is right.
    pub(super) fn pass(&mut self, entry: &ZipEntry, content: &ZipContent<'_>) -> io::Result<bool> {
        if entry.crc.is_some() {
            return Ok(true);
        }
        if let Unpacker::Deflated(decoder) = &content.unpacker
            && entry.packed_bytes == u64::MAX
        {
            self.offset += decoder.total_in();
        }
        let mut description = Vec::new();
        let longest = DESCRIPTION_BYTES[DESCRIPTION_BYTES.len() - 1] + LOCAL.len();
        ZipReader { file: self.file, offset: self.offset }.take(longest as u64).read_to_end(&mut description)?;
        let ends = |len: &&usize| {
            let after = description.get(**len..).unwrap_or_default();
            after.starts_with(LOCAL) || after.starts_with(ENTRY)
        };
        let len = DESCRIPTION_BYTES.iter().find(ends).copied().unwrap_or(0);
        self.offset += len as u64;
        let crc_at = if description.starts_with(DESCRIPTION) { DESCRIPTION.len() } else { 0 };
        Ok(len == 0 || u32_at(&description, crc_at) == content.crc.sum())
    }
}

impl ZipEntry {
    /// Returns a reader of the file, or the reason why there is none.
    pub(super) fn content<'a>(&self, file: &'a File) -> Result<ZipContent<'a>, NoContent> {
        let mut local = [0; LOCAL_BYTES];
        let is_there = files::read_exact_at(file, &mut local, self.offset).is_ok() && local.starts_with(LOCAL);
        if !is_there {
            return Err(NoContent::Missing);
        }
        if self.flags & ENCRYPTED != 0 {
            return Err(NoContent::Encrypted);
        }
        let names_len = u64::from(u16_at(&local, 26)) + u64::from(u16_at(&local, 28));
        let start = self.offset + LOCAL_BYTES as u64 + names_len;
        let packed = BufReader::new(ZipReader { file, offset: start }.take(self.packed_bytes));
        let unpacker = match self.method {
            STORED if self.packed_bytes == u64::MAX => return Err(NoContent::Length),
            STORED => Unpacker::Stored(packed),
            DEFLATED => Unpacker::Deflated(DeflateDecoder::new(packed)),
            method => return Err(NoContent::Method(method)),
        };
        Ok(ZipContent { unpacker, crc: Crc::new(), expected: self.crc })
    }
}

/// Reader of a file, which verifies its checksum at the end.
pub(super) struct ZipContent<'a> {
    unpacker: Unpacker<'a>,
    crc: Crc,
    /// `None` if it follows the content.
    expected: Option<u32>,
}

enum Unpacker<'a> {
    Stored(PackedBytes<'a>),
    Deflated(DeflateDecoder<PackedBytes<'a>>),
}

type PackedBytes<'a> = BufReader<Take<ZipReader<'a>>>;

impl Read for ZipContent<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let len = match &mut self.unpacker {
            Unpacker::Stored(packed) => packed.read(buffer)?,
            Unpacker::Deflated(decoder) => decoder.read(buffer)?,
        };
        self.crc.update(&buffer[..len]);
        if len == 0 && !buffer.is_empty() && self.expected.is_some_and(|expected| self.crc.sum() != expected) {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "the checksum of the content differs"));
        }
        Ok(len)
    }
}

/// Reader of a file from an offset.
struct ZipReader<'a> {
    file: &'a File,
    offset: u64,
}

impl Read for ZipReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let len = files::read_at(self.file, buffer, self.offset)?;
        self.offset += len as u64;
        Ok(len)
    }
}

/// Returns values of a header. Values that do not fit in 32 bits are in an extra field, in this order.
fn widened<const COUNT: usize>(header: &[u8], positions: [usize; COUNT], extra: &[u8]) -> [u64; COUNT] {
    let mut large = extra_field(extra, LARGE_FIELD);
    positions.map(|at| match u32_at(header, at) {
        u32::MAX => large.split_off(..8).map_or(u32::MAX.into(), |field| u64_at(field, 0)),
        small => small.into(),
    })
}

/// Returns the first extra field with an id.
fn extra_field(mut extra: &[u8], kind: u16) -> &[u8] {
    while extra.len() >= 4 {
        let (id, len) = (u16_at(extra, 0), usize::from(u16_at(extra, 2)));
        let end = extra.len().min(4 + len);
        if id == kind {
            return &extra[4..end];
        }
        extra = &extra[end..];
    }
    &[]
}

fn number_at<const LEN: usize>(bytes: &[u8], at: usize) -> [u8; LEN] {
    bytes.get(at..).and_then(|rest| rest.first_chunk()).copied().unwrap_or([0; LEN])
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes(number_at(bytes, at))
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(number_at(bytes, at))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(number_at(bytes, at))
}

#[cfg(test)]
mod tests {
    use std::io::{Cursor, Write as _};

    use proptest::prelude::*;

    use super::*;
    use crate::formats::testing::file_of;

    /// Name and content of each file; `None` if it is unreadable.
    type Files = Vec<(String, Option<Vec<u8>>)>;

    fn listed(archive: &[u8]) -> Option<Files> {
        let file = file_of(archive);
        let file = file.as_file();
        let mut entries = Directory::find(file).expect("a file")?.entries(file);
        let mut files = Vec::new();
        while let Some(entry) = entries.next().expect("a file") {
            let content = entry.content(file).ok().and_then(|mut content| {
                let mut bytes = Vec::new();
                content.read_to_end(&mut bytes).is_ok().then_some(bytes)
            });
            files.push((entry.name.text, content));
        }
        Some(files)
    }

    /// Returns the same by the `zip` package.
    fn listed_by_package(archive: &[u8]) -> Files {
        let mut archive = ::zip::ZipArchive::new(Cursor::new(archive)).expect("an archive");
        let mut files = Vec::new();
        for position in 0..archive.len() {
            let mut file = archive.by_index(position).expect("a file");
            let mut bytes = Vec::new();
            file.read_to_end(&mut bytes).expect("in memory");
            files.push((file.name().expect("text").into_owned(), Some(bytes)));
        }
        files
    }

    fn written(files: &[(String, Vec<u8>, bool, bool)], comment: &str) -> Vec<u8> {
        let mut writer = ::zip::ZipWriter::new(Cursor::new(Vec::new()));
        for (name, content, is_packed, is_large) in files {
            let method = if *is_packed { ::zip::CompressionMethod::Deflated } else { ::zip::CompressionMethod::Stored };
            let options = ::zip::write::SimpleFileOptions::default().compression_method(method).large_file(*is_large);
            writer.start_file(name.as_str(), options).expect("written");
            writer.write_all(content).expect("written");
        }
        writer.set_comment(comment).expect("short enough");
        writer.finish().expect("written").into_inner()
    }

    fn files() -> impl Strategy<Value = Vec<(String, Vec<u8>, bool, bool)>> {
        let file = ("[a-zé]{1,30}", prop::collection::vec(0_u8..4, 0..3000), any::<bool>(), any::<bool>());
        prop::collection::vec(file, 0..6).prop_map(|mut files| {
            files.iter_mut().zip(0..).for_each(|((name, ..), number)| name.push_str(&i32::to_string(&number)));
            files
        })
    }

    proptest! {
        #[test]
        fn every_file_is_as_zip_unpacks_it(files in files(), comment in "[a-z]{0,40}|PK\u{5}\u{6}[a-z]{0,40}") {
            let archive = written(&files, &comment);
            prop_assert_eq!(listed(&archive), Some(listed_by_package(&archive)));
        }

        /// Self-extracting programs are such files.
        #[test]
        fn data_before_an_archive_is_skipped(files in files(), before in "[a-z]{1,100}") {
            let archive = [before.as_bytes(), &written(&files, "")].concat();
            prop_assert_eq!(listed(&archive), Some(listed_by_package(&archive)));
        }

        #[test]
        fn damage_is_found_or_harmless(files in files(), at in any::<prop::sample::Index>(), byte in any::<u8>()) {
            let whole = written(&files, "");
            let mut damaged = whole.clone();
            damaged[at.index(whole.len())] = byte;
            let expected = listed(&whole).expect("an archive");
            for (_, content) in listed(&damaged).unwrap_or_default() {
                // The content belongs to one of the files, or is empty.
                let is_known = |content: &Vec<u8>| expected.iter().any(|(_, whole)| whole.as_ref() == Some(content));
                prop_assert!(content.is_none_or(|content| content.is_empty() || is_known(&content)));
            }
        }
    }

    /// Returns the files that are found by their own headers.
    fn listed_by_headers(archive: &[u8]) -> Files {
        let file = file_of(archive);
        let mut entries = LocalEntries::new(file.as_file());
        let mut files = Vec::new();
        while let Some(entry) = entries.next() {
            let content = entry.content(file.as_file()).ok().and_then(|mut content| {
                let mut bytes = Vec::new();
                content.read_to_end(&mut bytes).ok()?;
                entries.pass(&entry, &content).expect("a file").then_some(bytes)
            });
            files.push((entry.name.text, content));
        }
        files
    }

    /// Returns an archive whose headers precede the lengths of their contents.
    fn streamed(files: &[(String, Vec<u8>, bool, bool)]) -> Vec<u8> {
        let mut writer = ::zip::ZipWriter::new_stream(Vec::new());
        for (name, content, _, is_large) in files {
            let method = ::zip::CompressionMethod::Deflated;
            let options = ::zip::write::SimpleFileOptions::default().compression_method(method).large_file(*is_large);
            writer.start_file(name.as_str(), options).expect("written");
            writer.write_all(content).expect("written");
        }
        writer.finish().expect("written").into_inner()
    }

    proptest! {
        #[test]
        fn files_before_a_cut_are_found_by_their_headers(files in files(), at in any::<prop::sample::Index>()) {
            for archive in [written(&files, ""), streamed(&files)] {
                let expected = listed_by_package(&archive);
                let file = file_of(&archive);
                let list = Directory::find(file.as_file()).expect("a file").expect("a list").offset();
                let list = usize::try_from(list).expect("small");
                let cut = list + at.index(archive.len() - list);
                prop_assert_eq!(&listed_by_headers(&archive[..cut]), &expected, "cut in the list");
                let cut = at.index(list + 1);
                let mut whole = listed_by_headers(&archive[..cut]);
                if whole.last() != expected.get(whole.len().wrapping_sub(1)) {
                    // The cut is within the last content.
                    let (name, content) = whole.pop().expect("a file");
                    prop_assert_eq!((&name, content), (&expected[whole.len()].0, None));
                }
                prop_assert!(expected.starts_with(&whole));
            }
        }

        #[test]
        fn damaged_headers_end_within_the_archive(
            files in files(),
            edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        ) {
            for mut archive in [written(&files, ""), streamed(&files)] {
                for (at, byte) in &edits {
                    let at = at.index(archive.len());
                    archive[at] = *byte;
                }
                prop_assert!(listed_by_headers(&archive).len() <= archive.len() / LOCAL_BYTES);
            }
        }
    }

    #[test]
    fn a_list_that_claims_more_files_than_it_holds_ends_where_it_ends() {
        let mut archive = written(&[("a".to_owned(), b"x".to_vec(), true, false)], "");
        let end = archive.len() - END_BYTES;
        archive[end + 10..end + 12].copy_from_slice(&u16::MAX.to_le_bytes());
        let file = file_of(&archive);
        assert_eq!(Directory::find(file.as_file()).expect("a file").map(|list| list.count), Some(u16::MAX.into()));
        assert_eq!(listed(&archive).map(|files| files.len()), Some(1));
    }
}
