//! Reads a tar archive sequentially, and the archives appended to it, as GNU tar does with `--ignore-zeros`. Buffers
//! one header and at most [`RECORD_BYTES_MAX`] of its extended header, whatever sizes the archive claims. Neither
//! interprets content nor writes files.

use std::io::{self, Read};

use tar::{EntryType, GnuHeader, Header};

use super::members::MemberName;
use crate::base::cancel::Cancel;
use crate::formats::ReadError;
use crate::formats::input::decompress::read_full;
use crate::formats::input::lengths::saturating_len;
use crate::formats::input::source::Source;
use crate::formats::input::text::parsed;
use crate::formats::input::unpack::Allowance;

/// Block size of tar archives.
const BLOCK_BYTES: u64 = 512;

/// Bytes between checks for cancellation.
const SKIP_BYTES: u64 = 1 << 20;

/// Limit for the extended header of a file. Real headers have a few hundred bytes, or a few KiB with extended
/// attributes.
const RECORD_BYTES_MAX: u64 = 1 << 20;

/// Returns whether a file is a tar archive without entries: two blocks of zeros, or as many as a record has.
pub(crate) fn is_empty_tar(source: &mut Source) -> Result<bool, ReadError> {
    const RECORD_BYTES: usize = 20 * BLOCK_BYTES as usize;
    let is_zero = |bytes: &[u8]| bytes.iter().all(|&byte| byte == 0);
    if !is_zero(source.head()) {
        return Ok(false);
    }
    let mut bytes = vec![0; RECORD_BYTES + 1];
    let len = source.fill(&mut bytes)?;
    let is_whole = (len as u64).is_multiple_of(BLOCK_BYTES) && (2 * BLOCK_BYTES as usize..=RECORD_BYTES).contains(&len);
    Ok(is_whole && is_zero(&bytes))
}

/// One step through an archive.
pub(super) enum TarStep {
    /// A file, a folder or a link; its content follows.
    Entry(TarEntry),
    /// The end of the file.
    End,
    /// Data that is not an archive follows the end of the archive, from this offset on.
    Trailing { offset: u64 },
    /// There is no valid header at this offset, and no way to resynchronise.
    Damaged { offset: u64 },
    /// The entry at this offset exceeds the limit for unpacked data of the archive.
    OverLimit { offset: u64 },
}

/// The header of an entry, with its extended headers applied.
pub(super) struct TarEntry {
    pub(super) name: MemberName,
    pub(super) header_offset: u64,
    pub(super) bytes: u64,
    pub(super) kind: EntryKind,
    /// Whether its extended header exceeded the limit.
    pub(super) has_long_records: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EntryKind {
    File,
    /// A sparse file: the stored content is not the content of the file.
    Sparse,
    /// A folder, a link or a device.
    Other,
}

/// The archive and the read position.
pub(super) struct TarReader<R> {
    bytes: R,
    offset: u64,
    /// Offset of the next header.
    next: u64,
}

/// Extended headers of the next file.
#[derive(Default)]
struct Described {
    name: Option<MemberName>,
    bytes: Option<u64>,
    is_sparse: bool,
    is_long: bool,
}

impl<R: Read> TarReader<R> {
    pub(super) fn new(bytes: R) -> Self {
        Self { bytes, offset: 0, next: 0 }
    }

    /// Returns the next entry. Skipped bytes count against `allowance`, since they were unpacked too. Fails only on
    /// cancellation: a read error ends the archive like damage.
    pub(super) fn next(&mut self, allowance: &mut Allowance, cancel: &Cancel) -> Result<TarStep, ReadError> {
        let mut described = Described::default();
        let mut is_after_end = false;
        loop {
            cancel.check()?;
            let offset = self.next;
            match self.skip_to(offset, allowance, cancel)? {
                Skipped::All => {}
                Skipped::Cut => return Ok(TarStep::Damaged { offset: self.offset }),
                Skipped::OverLimit => return Ok(TarStep::OverLimit { offset }),
            }
            let mut header = Header::new_old();
            let Ok(len) = read_full(&mut self.bytes, header.as_mut_bytes()) else {
                return Ok(TarStep::Damaged { offset });
            };
            self.offset += len as u64;
            let is_zero = header.as_bytes()[..len].iter().all(|&byte| byte == 0);
            if len == 0 || is_zero && (is_after_end || len as u64 == BLOCK_BYTES) {
                if !described.is_empty() {
                    return Ok(TarStep::Damaged { offset });
                }
                if (len as u64) < BLOCK_BYTES {
                    return Ok(TarStep::End);
                }
                // Zeros end an archive and fill its last record; another archive may follow.
                if allowance.left_bytes < BLOCK_BYTES {
                    return Ok(TarStep::OverLimit { offset });
                }
                allowance.left_bytes -= BLOCK_BYTES;
                self.next = self.offset;
                is_after_end = true;
                continue;
            }
            let no_header = || if is_after_end { TarStep::Trailing { offset } } else { TarStep::Damaged { offset } };
            if (len as u64) < BLOCK_BYTES {
                return Ok(no_header());
            }
            let Some(claimed) = self.begin(&header, &described) else { return Ok(no_header()) };
            is_after_end = false;
            let kind = header.entry_type();
            // Files are read up to the limit; other large entries are useless.
            if claimed > allowance.left_bytes && !is_file(kind) {
                return Ok(TarStep::OverLimit { offset });
            }
            if kind.is_gnu_longname() {
                let name = self.read_up_to(claimed, MemberName::BYTES_MAX as u64 + 1, allowance);
                described.name = Some(MemberName::from_bytes(name.strip_suffix(b"\0").unwrap_or(&name)));
            } else if kind.is_pax_local_extensions() {
                let records = self.read_up_to(claimed, RECORD_BYTES_MAX, allowance);
                described.is_long |= claimed > RECORD_BYTES_MAX;
                described.add_records(&records);
            } else if !(kind.is_gnu_longlink() || kind.is_pax_global_extensions()) {
                if kind.is_gnu_sparse() && self.skip_maps(&header).is_none() {
                    return Ok(TarStep::Damaged { offset });
                }
                return Ok(TarStep::Entry(described.into_entry(&header, offset, claimed)));
            }
        }
    }

    /// Returns the content of the current entry.
    pub(super) fn content(&mut self, entry: &TarEntry) -> impl Read + '_ {
        let left = (entry.header_offset + BLOCK_BYTES + entry.bytes).saturating_sub(self.offset);
        Content { tar: self, left }
    }

    /// Returns the size of an entry from its header, and sets the offset of the next header. Returns `None` if the
    /// header is invalid.
    fn begin(&mut self, header: &Header, described: &Described) -> Option<u64> {
        let bytes = header.as_bytes();
        let sum: u32 = bytes[..148].iter().chain(&bytes[156..]).map(|&byte| u32::from(byte)).sum();
        // The checksum field itself counts as spaces.
        if header.cksum().ok()? != sum + 8 * u32::from(b' ') {
            return None;
        }
        let kind = header.entry_type();
        let describes = kind.is_gnu_longname()
            || kind.is_gnu_longlink()
            || kind.is_pax_local_extensions()
            || kind.is_pax_global_extensions();
        let claimed = described.bytes.filter(|_| !describes).map_or_else(|| header.entry_size().ok(), Some)?;
        self.next = self.offset.checked_add(claimed.checked_next_multiple_of(BLOCK_BYTES)?)?;
        Some(claimed)
    }

    /// Skips more blocks of the sparse map, which precede the content and are not part of its size.
    fn skip_maps(&mut self, header: &Header) -> Option<()> {
        /// Offset in a block of the flag for another block.
        const IS_EXTENDED: usize = 504;
        let mut is_extended = header.as_gnu().is_some_and(GnuHeader::is_extended);
        while is_extended {
            let mut map = [0; BLOCK_BYTES as usize];
            self.bytes.read_exact(&mut map).ok()?;
            self.offset += BLOCK_BYTES;
            self.next = self.next.checked_add(BLOCK_BYTES)?;
            is_extended = map[IS_EXTENDED] == 1;
        }
        Some(())
    }

    /// Reads the content of an entry, up to `most` bytes, which count against `allowance`. The rest is skipped by the
    /// next step.
    fn read_up_to(&mut self, claimed: u64, most: u64, allowance: &mut Allowance) -> Vec<u8> {
        let mut bytes = Vec::new();
        let read = self.bytes.by_ref().take(claimed.min(most)).read_to_end(&mut bytes);
        self.offset += bytes.len() as u64;
        allowance.left_bytes = allowance.left_bytes.saturating_sub(bytes.len() as u64);
        // A read error recurs at the next header.
        read.map_or_else(|_| Vec::new(), |_| bytes)
    }

    fn skip_to(&mut self, end: u64, allowance: &mut Allowance, cancel: &Cancel) -> Result<Skipped, ReadError> {
        while self.offset < end {
            cancel.check()?;
            let wanted = (end - self.offset).min(SKIP_BYTES);
            if wanted > allowance.left_bytes {
                return Ok(Skipped::OverLimit);
            }
            let skipped = io::copy(&mut self.bytes.by_ref().take(wanted), &mut io::sink()).unwrap_or(0);
            self.offset += skipped;
            allowance.left_bytes -= skipped;
            if skipped < wanted {
                return Ok(Skipped::Cut);
            }
        }
        Ok(Skipped::All)
    }
}

fn is_file(kind: EntryType) -> bool {
    matches!(kind, EntryType::Regular | EntryType::Continuous)
}

enum Skipped {
    All,
    Cut,
    OverLimit,
}

struct Content<'a, R> {
    tar: &'a mut TarReader<R>,
    left: u64,
}

impl<R: Read> Read for Content<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let most = saturating_len(self.left).min(buffer.len());
        let len = self.tar.bytes.read(&mut buffer[..most])?;
        self.tar.offset += len as u64;
        self.left -= len as u64;
        Ok(len)
    }
}

impl Described {
    fn is_empty(&self) -> bool {
        self.name.is_none() && self.bytes.is_none() && !self.is_long
    }

    /// Returns the entry of the header that follows these.
    fn into_entry(self, header: &Header, header_offset: u64, bytes: u64) -> TarEntry {
        let kind = match header.entry_type() {
            kind if self.is_sparse || kind.is_gnu_sparse() => EntryKind::Sparse,
            kind if is_file(kind) => EntryKind::File,
            _ => EntryKind::Other,
        };
        let name = self.name.unwrap_or_else(|| MemberName::from_bytes(&header.path_bytes()));
        TarEntry { name, header_offset, bytes, kind, has_long_records: self.is_long }
    }

    /// Parses records of the form `LENGTH KEY=VALUE` and a line break, up to the first damaged record.
    fn add_records(&mut self, mut records: &[u8]) {
        while let Some((key, value, rest)) = first_record(records) {
            match key {
                b"path" => self.name = Some(MemberName::from_bytes(value)),
                b"size" => self.bytes = parsed(value),
                b"GNU.sparse.name" => (self.name, self.is_sparse) = (Some(MemberName::from_bytes(value)), true),
                _ if key.starts_with(b"GNU.sparse.") => self.is_sparse = true,
                _ => {}
            }
            records = rest;
        }
    }
}

/// Returns key and value of the first record, and the bytes after it.
fn first_record(records: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    let blank = records.iter().take(20).position(|&byte| byte == b' ')?;
    let len: usize = parsed(&records[..blank])?;
    let (record, rest) = records.split_at_checked(len)?;
    let text = record.get(blank + 1..)?.strip_suffix(b"\n")?;
    let equals = text.iter().position(|&byte| byte == b'=')?;
    Some((&text[..equals], &text[equals + 1..], rest))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Returns name, size and content of each entry.
    fn walked(archive: &[u8]) -> Vec<(String, u64, Vec<u8>)> {
        let (mut tar, mut allowance) = (TarReader::new(archive), Allowance { left_bytes: 1 << 30 });
        let mut entries = Vec::new();
        while let Ok(TarStep::Entry(entry)) = tar.next(&mut allowance, &Cancel::default()) {
            let mut content = Vec::new();
            tar.content(&entry).read_to_end(&mut content).expect("in memory");
            entries.push((entry.name.text, entry.bytes, content));
        }
        entries
    }

    /// Returns the same by the `tar` package.
    fn listed(archive: &[u8]) -> Vec<(String, u64, Vec<u8>)> {
        let mut archive = tar::Archive::new(archive);
        let entries = archive.entries().expect("an archive").map_while(Result::ok).map(|mut entry| {
            let mut content = Vec::new();
            entry.read_to_end(&mut content).expect("in memory");
            (String::from_utf8_lossy(&entry.path_bytes()).into_owned(), entry.size(), content)
        });
        entries.collect()
    }

    /// Returns an extended header, then a file of this name, with a checksum each.
    fn described(kind: EntryType, content: &[u8], name: &str) -> Vec<u8> {
        let mut builder = tar::Builder::new(Vec::new());
        for (kind, name, content) in [(kind, "records", content), (EntryType::Regular, name, &b"four"[..])] {
            let mut header = Header::new_ustar();
            header.set_entry_type(kind);
            header.set_size(content.len() as u64);
            header.set_path(name).expect("a short name");
            header.set_cksum();
            builder.append(&header, content).expect("written");
        }
        builder.into_inner().expect("written")
    }

    #[test]
    fn records_replace_the_name_and_the_size_of_the_header() {
        let archive = described(EntryType::XHeader, b"18 path=long/name\n10 size=2\n", "short");
        assert_eq!(walked(&archive), [("long/name".to_owned(), 2, b"fo".to_vec())]);
    }

    #[test]
    fn extended_headers_count_against_the_allowance() {
        const LEN: usize = 3000;
        for kind in [EntryType::XHeader, EntryType::GNULongName] {
            let archive = described(kind, &[0; LEN], "a");
            let (mut tar, mut allowance) = (TarReader::new(&archive[..]), Allowance { left_bytes: 4096 });
            let step = tar.next(&mut allowance, &Cancel::default());
            assert!(matches!(step, Ok(TarStep::Entry(_))));
            assert_eq!(allowance.left_bytes, 4096 - LEN.next_multiple_of(BLOCK_BYTES as usize) as u64);
        }
    }

    proptest! {
        /// Names of more than 100 bytes need extended headers.
        #[test]
        fn every_file_is_where_the_tar_package_finds_it(
            files in prop::collection::vec(("[a-zé/]{1,260}", prop::collection::vec(any::<u8>(), 0..1500), any::<bool>()), 0..5),
        ) {
            let mut builder = tar::Builder::new(Vec::new());
            for (name, content, has_records) in &files {
                let name = format!("x{}", name.replace("//", "/"));
                if *has_records {
                    builder.append_pax_extensions([("path", name.as_bytes()), ("comment", b"a=\nb".as_slice())]).expect("written");
                }
                let mut header = Header::new_gnu();
                header.set_size(content.len() as u64);
                builder.append_data(&mut header, &name, &**content).expect("written");
            }
            let archive = builder.into_inner().expect("written");
            let walked = walked(&archive);
            prop_assert_eq!(walked.len(), files.len());
            let with_newlines = files.iter().any(|(_, _, has_records)| *has_records);
            // The package splits records at line breaks, so it may lose records after such a value.
            prop_assert!(walked == listed(&archive) || with_newlines);
            for ((_, bytes, content), (_, expected, _)) in walked.iter().zip(&files) {
                prop_assert_eq!(*bytes, expected.len() as u64);
                prop_assert_eq!(content, expected);
            }
        }

        #[test]
        fn a_damaged_archive_ends_without_a_panic(at in 0_usize..2048, byte in any::<u8>(), len in 0_usize..4096) {
            let mut builder = tar::Builder::new(Vec::new());
            for name in ["a".repeat(150), "b".to_owned()] {
                let mut header = Header::new_gnu();
                header.set_size(300);
                builder.append_data(&mut header, &name, &[7; 300][..]).expect("written");
            }
            let mut archive = builder.into_inner().expect("written");
            archive[at] = byte;
            archive.truncate(len);
            prop_assert!(walked(&archive).len() <= 2);
        }
    }
}
