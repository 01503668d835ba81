//! Parses the file header, and the feature sections after the records that name events and describe tracepoints.

use std::path::Path;

use rustc_hash::FxHashMap;

use super::fields::{Tracepoints, cut_name};
use super::wire::{Attr, MAGIC, MONOTONIC_CLOCK, attr_type};
use crate::base::bytes::ByteCursor;
use crate::formats::input::byte_reader::ByteReader;
use crate::formats::input::source::{Source, excerpt};
use crate::formats::{ReadContext, ReadError, RefusedKind};

/// Limit for each section; ids and attributes take a few KiB, so a larger size means damage.
pub(super) const HEADER_BYTES_MAX: u64 = 16 << 20;

/// Feature bit of the tracepoint descriptions.
const TRACING_DATA: u64 = 1;

/// Feature bit of the build-id list.
const BUILD_ID: u64 = 2;

/// Feature bit of the kernel's release.
pub(super) const OS_RELEASE: u64 = 4;

/// Limit for the bytes of a release; kernels have at most 64.
const RELEASE_BYTES_MAX: usize = 256;

/// Feature bit of the machine type.
pub(super) const ARCH: u64 = 6;

/// Feature bit of the event names.
pub(super) const EVENT_DESC: u64 = 12;

/// Feature bit of the layout of a folder.
const DIR_FORMAT: u64 = 24;

/// Feature bit of a moment on the clock of the records and in UTC. Recordings with `-k` have it.
pub(super) const CLOCK_DATA: u64 = 29;

/// Layout of a folder whose records are in files beside the header. With the other layout, they follow the header.
const DIR_VERSION: u64 = 1;

/// The kind of a recording in several files, and what converts it.
pub(crate) const THREADED: RefusedKind = RefusedKind::new(
    "a recording of `perf record --threads`",
    "its samples are in the files data.0, data.1 and so on of its folder: convert the folder with `perf script -i FOLDER > trace.txt` and open trace.txt",
);

/// Length of the file header.
const FILE_HEADER_BYTES: usize = 104;

/// Length of the header in pipe mode: the magic and this length.
const PIPE_HEADER_BYTES: u64 = 16;

const FEATURE_BITS: u64 = 256;

/// Recording settings, and the extent of the records.
#[derive(Debug, Default)]
pub(super) struct PerfHeader {
    pub(super) attrs: Vec<Attr>,
    pub(super) by_id: FxHashMap<u64, usize>,
    /// Number of the attributes of the tracepoint of context switches.
    sched_switches: usize,
    pub(super) tracepoints: Tracepoints,
    /// Machine type as in `uname -m`; empty if unknown.
    pub(super) machine: String,
    /// Release of the kernel as in `uname -r`, if known.
    pub(super) release: Option<String>,
    /// Offset from times of the records to UTC, if known.
    pub(super) utc_offset_ns: Option<i64>,
    /// The build-id list; empty in pipe mode, which has a record for each.
    pub(super) build_ids: Vec<u8>,
    /// `None` in pipe mode: up to the end of input.
    pub(super) data_bytes: Option<u64>,
    /// Number of feature sections, which follow the data.
    sections: usize,
}

impl PerfHeader {
    /// Parses the header, and leaves `input` at the first record.
    pub(super) fn read(input: &mut ByteReader, context: &ReadContext) -> Result<Self, ReadError> {
        let path = input.source().path().to_owned();
        let malformed =
            |offset, expected: &str, found: String| Err(ReadError::malformed(path.as_path(), offset, expected, found));
        let head = input.peek(FILE_HEADER_BYTES)?.to_vec();
        let number = |at: usize| head.get(at..).and_then(|bytes| ByteCursor(bytes).u64());
        match number(8) {
            Some(PIPE_HEADER_BYTES) => {
                input.skip(PIPE_HEADER_BYTES)?;
                return Ok(Self::default());
            }
            Some(len) if len == FILE_HEADER_BYTES as u64 => {}
            _ => {
                return malformed(8, "the length of a header, 16 or 104", excerpt(head.get(8..16).unwrap_or_default()));
            }
        }
        let fields = [16, 24, 32, 40, 48].map(number);
        let [Some(attr_bytes), Some(attrs_at), Some(attrs_bytes), Some(data_at), Some(data_bytes)] = fields else {
            return malformed(head.len() as u64, "a header of 104 bytes", "the end of the file".to_owned());
        };
        if data_at > HEADER_BYTES_MAX || attr_bytes < 64 {
            let found = format!("{data_at} and {attr_bytes}");
            return malformed(16, "records within 16 MiB and attributes of at least 64 bytes", found);
        }
        let before = input.peek(data_at as usize)?;
        let slice = |at: u64, len: u64| -> Option<&[u8]> {
            let (at, len) = (usize::try_from(at).ok()?, usize::try_from(len).ok()?);
            before.get(at..at.checked_add(len)?)
        };
        let mut header = Self { data_bytes: Some(data_bytes), ..Self::default() };
        let mut ids_bytes = 0;
        for row in 0..attrs_bytes / attr_bytes {
            let bytes = attrs_at.checked_add(row * attr_bytes).and_then(|at| slice(at, attr_bytes));
            let Some((attr, section)) = bytes.and_then(|bytes| bytes.split_at_checked(bytes.len() - 16)) else {
                return malformed(
                    attrs_at,
                    "attributes before the records",
                    "attributes that overlap the records".to_owned(),
                );
            };
            let mut section = ByteCursor(section);
            let ids = section.u64().zip(section.u64()).and_then(|(at, len)| slice(at, len)).unwrap_or_default();
            ids_bytes += ids.len();
            // If attributes shared ids, their memory would be the product of both numbers.
            if ids_bytes > before.len() {
                return malformed(attrs_at, "ids of attributes within the header", "overlapping ids".to_owned());
            }
            header.add(attr, ids);
        }
        header.sections = (0..FEATURE_BITS).filter(|&bit| has_section(&head, bit)).count();
        header.read_sections(&path, data_at.saturating_add(data_bytes), &head, context)?;
        input.skip(data_at)?;
        Ok(header)
    }

    /// Reads the feature sections of the file, whose table is at `at`. Fails for a recording in several files.
    fn read_sections(&mut self, path: &Path, at: u64, head: &[u8], context: &ReadContext) -> Result<(), ReadError> {
        let read = |feature| section(path, at, head, feature, context);
        if let Some(bytes) = read(TRACING_DATA)? {
            self.describe_tracepoints(&bytes);
        }
        if let Some(bytes) = read(BUILD_ID)? {
            self.build_ids = bytes;
        }
        if let Some(bytes) = read(OS_RELEASE)? {
            self.take_release(&bytes);
        }
        if let Some(bytes) = read(ARCH)? {
            self.take_machine(&bytes);
        }
        if let Some(bytes) = read(CLOCK_DATA)? {
            self.take_clocks(&bytes);
        }
        if let Some(bytes) = read(EVENT_DESC)? {
            // Event names before the damage are used.
            let _ = self.describe(&bytes);
        }
        if read(DIR_FORMAT)?.and_then(|bytes| ByteCursor(&bytes).u64()) == Some(DIR_VERSION) {
            return Err(ReadError::Unsupported { path: path.to_owned(), refused: THREADED });
        }
        Ok(())
    }

    /// Returns the offset after the last feature section, whose table is at `at`. Returns `None` for an input that ends
    /// before it, or is past the table.
    pub(super) fn sections_end(&self, input: &mut ByteReader, at: u64) -> Result<Option<u64>, ReadError> {
        if at.checked_sub(input.offset()).is_none_or(|distance| distance > 0) {
            return Ok(None);
        }
        let table_bytes = 16 * self.sections;
        let table = input.peek(table_bytes)?;
        if table.len() < table_bytes {
            return Ok(None);
        }
        let (words, _) = table.as_chunks::<8>();
        let (sections, _) = words.as_chunks::<2>();
        let ends = sections.iter().map(|section| {
            let [offset, len] = section.map(u64::from_le_bytes);
            offset.saturating_add(len)
        });
        Ok(Some(ends.fold(at + table_bytes as u64, u64::max)))
    }

    /// Adds an attribute with its ids.
    pub(super) fn add(&mut self, attr: &[u8], ids: &[u8]) {
        let Some(attr) = Attr::read(attr) else { return };
        let (ids, _) = ids.as_chunks::<8>();
        self.by_id.extend(ids.iter().map(|id| (u64::from_le_bytes(*id), self.attrs.len())));
        self.sched_switches += usize::from(attr.is_sched_switch());
        self.attrs.push(attr);
    }

    /// Returns whether an event is the tracepoint of context switches.
    pub(super) fn has_sched_switch(&self) -> bool {
        self.sched_switches > 0
    }

    /// Parses the machine type from its feature section.
    pub(super) fn take_machine(&mut self, bytes: &[u8]) {
        self.machine = String::from_utf8_lossy(text_of_section(bytes)).into_owned();
    }

    /// Parses the release of the kernel from its feature section.
    pub(super) fn take_release(&mut self, bytes: &[u8]) {
        let release = std::str::from_utf8(text_of_section(bytes)).ok();
        let is_release = |release: &&str| (1..=RELEASE_BYTES_MAX).contains(&release.len());
        self.release = release.filter(is_release).map(str::to_owned);
    }

    /// Parses a moment on both clocks; ignores a damaged moment.
    pub(super) fn take_clocks(&mut self, bytes: &[u8]) {
        let mut front = ByteCursor(bytes);
        let (_version, _clock) = (front.u32(), front.u32());
        let moment = front.u64().zip(front.u64());
        self.utc_offset_ns = moment.and_then(|(utc_ns, own_ns)| i64::try_from(utc_ns.checked_sub(own_ns)?).ok());
    }

    /// Parses the event names, each with its attribute and ids.
    pub(super) fn describe(&mut self, bytes: &[u8]) -> Option<()> {
        let mut front = ByteCursor(bytes);
        let (count, attr_bytes) = (front.u32()?, front.u32()? as usize);
        for _ in 0..count {
            front.bytes(attr_bytes)?;
            let (ids, len) = (front.u32()? as usize, front.u32()? as usize);
            let name = ByteCursor(front.bytes(len)?).text();
            // Each attribute has its own copy.
            let name = cut_name(&String::from_utf8_lossy(name)).to_owned();
            let ids = front.bytes(ids.checked_mul(8)?)?;
            let (ids, _) = ids.as_chunks::<8>();
            for id in ids {
                if let Some(attr) = self.by_id.get(&u64::from_le_bytes(*id)).and_then(|&at| self.attrs.get_mut(at)) {
                    self.sched_switches -= usize::from(attr.is_sched_switch());
                    attr.name.clone_from(&name);
                    self.sched_switches += usize::from(attr.is_sched_switch());
                }
            }
        }
        Some(())
    }

    /// Returns whether samples of some event have times.
    pub(super) fn has_times(&self) -> bool {
        self.attrs.iter().any(Attr::has_time)
    }

    /// Returns whether times are of the monotonic clock.
    pub(super) fn has_monotonic_clock(&self) -> bool {
        self.attrs.iter().any(|attr| attr.clock == Some(MONOTONIC_CLOCK))
    }

    /// Returns the attribute of the event that a record belongs to.
    pub(super) fn attr(&self, kind: u32, body: &[u8]) -> Option<&Attr> {
        let first = self.attrs.first()?;
        let attr_index = first.id(kind, body).and_then(|id| self.by_id.get(&id));
        Some(attr_index.and_then(|&at| self.attrs.get(at)).unwrap_or(first))
    }

    /// Parses the tracepoint descriptions, which also name events without a name. Returns `None` at damage.
    pub(super) fn describe_tracepoints(&mut self, bytes: &[u8]) -> Option<()> {
        let whole = self.tracepoints.read(bytes);
        for attr in self.attrs.iter_mut().filter(|attr| attr.kind == attr_type::TRACEPOINT) {
            if let Some(tracepoint) = self.tracepoints.get(attr.config) {
                attr.name.clone_from(&tracepoint.name);
            }
        }
        self.sched_switches = self.attrs.iter().filter(|attr| attr.is_sched_switch()).count();
        whole
    }
}

/// Returns the text of a feature section. It follows its length, which includes zero padding.
fn text_of_section(bytes: &[u8]) -> &[u8] {
    bytes.get(4..).map_or(&[][..], |bytes| ByteCursor(bytes).text())
}

/// Returns whether the file has the section of a feature.
fn has_section(head: &[u8], bit: u64) -> bool {
    head.get(72 + bit as usize / 8).is_some_and(|byte| byte >> (bit % 8) & 1 != 0)
}

/// Reads a feature section after the records. The section table is at offset `at`, with offset and length of each
/// section in bit order. A truncated file has no sections; its events then have default names and no fields.
fn section(path: &Path, at: u64, head: &[u8], bit: u64, context: &ReadContext) -> Result<Option<Vec<u8>>, ReadError> {
    let has = |bit: u64| has_section(head, bit);
    if !has(bit) {
        return Ok(None);
    }
    let before = (0..bit).filter(|&bit| has(bit)).count() as u64;
    debug_assert!(before < FEATURE_BITS);
    let quietly = ReadContext { progress: crate::base::progress::Progress::default(), ..context.clone() };
    let mut input = ByteReader::new(Source::open(path, &quietly)?);
    if !input.skip(at.saturating_add(before * 16))? {
        return Ok(None);
    }
    let mut section = ByteCursor(input.peek(16)?);
    let Some((offset, len)) = section.u64().zip(section.u64()) else { return Ok(None) };
    let Some(distance) = offset.checked_sub(input.offset()) else { return Ok(None) };
    if len > HEADER_BYTES_MAX || !input.skip(distance)? {
        return Ok(None);
    }
    Ok(Some(input.peek(len as usize)?.to_vec()))
}

/// Returns whether a file starts like perf data, of any endianness.
pub(super) fn begins(head: &[u8]) -> bool {
    head.starts_with(MAGIC) || is_big_endian(head)
}

/// Returns whether a recording was written to a pipe. In a file, the header is completed when the recording ends.
pub(crate) fn is_pipe_mode(head: &[u8]) -> bool {
    let header_bytes = head.strip_prefix(MAGIC).and_then(|rest| ByteCursor(rest).u64());
    header_bytes == Some(PIPE_HEADER_BYTES)
}

/// Returns whether the magic is byte-swapped.
pub(super) fn is_big_endian(head: &[u8]) -> bool {
    head.get(..8).is_some_and(|magic| magic.iter().rev().eq(MAGIC.iter()))
}

#[cfg(test)]
mod tests {
    use super::super::tests::{pipe, record, sample};
    use super::*;
    use crate::formats::testing::read_bytes;
    use crate::model::Metadata;

    #[test]
    fn a_moment_on_both_clocks_gives_the_time_of_day() {
        let clocks = |moment: &[u64]| {
            let moment: Vec<u8> = moment.iter().flat_map(|ns| ns.to_le_bytes()).collect();
            let body = [&CLOCK_DATA.to_le_bytes()[..], &1u32.to_le_bytes(), &1u32.to_le_bytes(), &moment].concat();
            let reading = read_bytes(&pipe(&[record(80, &body), sample(2, 0x1010)])).expect("a capture");
            reading.metadata.iter().find_map(|metadata| match metadata {
                Metadata::Utc { offset_ns } => Some(*offset_ns),
                _ => None,
            })
        };
        assert_eq!(clocks(&[1_795_165_362_000_000_000, 1000]), Some(1_795_165_361_999_999_000));
        assert_eq!(clocks(&[1_795_165_362_000_000_000]), None);
        assert_eq!(clocks(&[5, 6]), None, "a clock before 1970 is damage");
        assert_eq!(clocks(&[u64::MAX, 6]), None);
    }
}
