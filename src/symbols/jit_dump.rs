//! Reads `jit-PID.dump`, in which a program dumps its JIT-compiled functions for perf, each with its code. Later code
//! replaces the earlier code that it overlaps, and functions may be moved. Supports little-endian dumps, up to a
//! truncated record. Source lines are ignored: V8 counts their addresses from 64 bytes before the code, others from its
//! start, and a dump does not say which.

use std::ops::Range;

use rustc_hash::FxHashMap;

use super::file::InputFile;
use super::latest::{LatestRanges, LatestRangesBuilder};
use crate::model::unwind::JitLoad;

const MAGIC: &[u8; 4] = b"DTiJ";

/// The shortest header: magic, version, header length, machine, process, time and flags.
const HEADER_BYTES_MIN: usize = 40;

/// Flag of the header: times are those of the processor's counter, not of the monotonic clock.
const HAS_PROCESSOR_TIMES: u64 = 1;

/// Type, length and time of a record.
const RECORD_BYTES: usize = 16;

const LOAD: u32 = 0;
const MOVE: u32 = 1;

/// Functions by address, and by the offset of their code. Names are ranges of the dump.
#[derive(Debug, Default)]
pub(super) struct JitDump {
    rows: LatestRanges<NameRange>,
    /// Functions with their code, which is at increasing offsets.
    code: Vec<DumpedCode>,
    loads: Vec<JitLoad>,
    dump: Vec<u8>,
    /// The process that wrote the dump.
    pub(super) pid: u32,
}

/// Start and end of a name in the dump.
type NameRange = (usize, usize);

/// The code of a function in the dump, without code that its record lacks.
#[derive(Debug, Clone, Copy)]
struct DumpedCode {
    offset: u64,
    len: u64,
    name: NameRange,
}

/// Code at an address.
#[derive(Debug, Clone, Copy)]
struct PlacedCode {
    start: u64,
    len: u64,
    code: DumpedCode,
}

/// Reads numbers and texts front to back.
struct DumpFields<'a> {
    dump: &'a [u8],
    at: usize,
    end: usize,
}

impl DumpFields<'_> {
    fn u32(&mut self) -> Option<u32> {
        let bytes = self.dump[self.at..self.end].first_chunk()?;
        self.at += bytes.len();
        Some(u32::from_le_bytes(*bytes))
    }

    fn u64(&mut self) -> Option<u64> {
        let bytes = self.dump[self.at..self.end].first_chunk()?;
        self.at += bytes.len();
        Some(u64::from_le_bytes(*bytes))
    }

    /// Reads a zero-terminated, non-empty text.
    fn text(&mut self) -> Option<Range<usize>> {
        let len = memchr::memchr(0, &self.dump[self.at..self.end]).filter(|&len| len > 0)?;
        Some(self.at..self.at + len)
    }
}

struct DumpHeader {
    /// Its length.
    bytes: usize,
    pid: u32,
    has_processor_times: bool,
}

impl DumpHeader {
    fn read(dump: &[u8]) -> Option<Self> {
        if !dump.starts_with(MAGIC) {
            return None;
        }
        let mut fields = DumpFields { dump, at: MAGIC.len(), end: dump.len() };
        let (_version, bytes, _machine, _padding) = (fields.u32()?, fields.u32()?, fields.u32()?, fields.u32()?);
        let (pid, _ts_ns, flags) = (fields.u32()?, fields.u64()?, fields.u64()?);
        let bytes = usize::try_from(bytes).ok().filter(|&bytes| bytes >= HEADER_BYTES_MIN)?;
        Some(Self { bytes, pid, has_processor_times: flags & HAS_PROCESSOR_TIMES != 0 })
    }
}

impl JitDump {
    /// Reads a dump; `None` if it is invalid.
    pub(super) fn read(dump: Vec<u8>) -> Option<Self> {
        let header = DumpHeader::read(&dump)?;
        let mut read = Self { pid: header.pid, ..Self::default() };
        read.rows = read.read_records(&dump, header.bytes);
        if header.has_processor_times {
            read.loads.clear();
        }
        // Threads may write their records a little out of order.
        read.loads.sort_by_key(|load| load.ts_ns);
        Some(Self { dump, ..read })
    }

    /// Returns the process that wrote a dump; `None` if the file is none.
    pub(super) fn process_of(file: &InputFile) -> Option<u32> {
        let header = file.read(0, HEADER_BYTES_MIN as u64, HEADER_BYTES_MIN as u64)?;
        Some(DumpHeader::read(&header)?.pid)
    }

    /// Reads the records from an offset on, and returns the functions by address.
    fn read_records(&mut self, dump: &[u8], mut at: usize) -> LatestRanges<NameRange> {
        let mut rows = LatestRangesBuilder::default();
        // Code by function index, for functions that are moved.
        let mut by_index: FxHashMap<u64, DumpedCode> = FxHashMap::default();
        while let Some(record) = at.checked_add(RECORD_BYTES).filter(|&body| body <= dump.len()) {
            let mut head = DumpFields { dump, at, end: record };
            let Some((kind, bytes)) = head.u32().zip(head.u32()) else { break };
            let ts_ns = head.u64().and_then(|ts_ns| i64::try_from(ts_ns).ok());
            let end = at.checked_add(bytes as usize).filter(|&end| end >= record && end <= dump.len());
            let Some(end) = end else { break };
            let mut fields = DumpFields { dump, at: record, end };
            let placed = match kind {
                LOAD => loaded(&mut fields, &mut by_index),
                MOVE => moved(&mut fields, &by_index),
                _ => None,
            };
            if let Some(PlacedCode { start, len, code }) = placed
                && let Some(end) = start.checked_add(len)
            {
                rows.push(start, end, code.name, |one, other| dump[one.0..one.1] == dump[other.0..other.1]);
                if kind == LOAD {
                    self.code.push(code);
                }
                let load = |ts_ns| JitLoad { ts_ns, start, len: len.min(code.len), dump_offset: code.offset };
                self.loads.extend(ts_ns.map(load).filter(|load| load.len > 0));
            }
            at = end;
        }
        rows.finish()
    }

    /// Returns the last function that contained an address.
    pub(super) fn find(&self, address: u64) -> Option<&[u8]> {
        self.rows.find(address).map(|&(start, end)| &self.dump[start..end])
    }

    /// Returns whether several functions were at an address.
    pub(super) fn is_replaced(&self, address: u64) -> bool {
        self.rows.is_replaced(address)
    }

    /// Returns the function whose code is at an offset of the dump.
    pub(super) fn function_at_offset(&self, offset: u64) -> Option<&[u8]> {
        let after = self.code.partition_point(|code| code.offset <= offset);
        let code = self.code.get(after.checked_sub(1)?)?;
        (offset - code.offset < code.len).then(|| &self.dump[code.name.0..code.name.1])
    }

    /// Returns what was loaded and moved, in order of time; nothing if the dump has times of another clock.
    pub(super) fn into_loads(self) -> Vec<JitLoad> {
        self.loads
    }
}

fn loaded(fields: &mut DumpFields<'_>, by_index: &mut FxHashMap<u64, DumpedCode>) -> Option<PlacedCode> {
    let (_pid, _tid, _memory) = (fields.u32()?, fields.u32()?, fields.u64()?);
    let (start, len, number) = (fields.u64()?, fields.u64()?, fields.u64()?);
    let name = fields.text()?;
    // The code follows the end of the name.
    let offset = name.end + 1;
    let in_record = fields.end.saturating_sub(offset) as u64;
    let code = DumpedCode { offset: offset as u64, len: len.min(in_record), name: (name.start, name.end) };
    by_index.insert(number, code);
    Some(PlacedCode { start, len, code })
}

fn moved(fields: &mut DumpFields<'_>, by_index: &FxHashMap<u64, DumpedCode>) -> Option<PlacedCode> {
    let (_pid, _tid, _memory, _before) = (fields.u32()?, fields.u32()?, fields.u64()?, fields.u64()?);
    let (start, len, number) = (fields.u64()?, fields.u64()?, fields.u64()?);
    Some(PlacedCode { start, len, code: *by_index.get(&number)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(kind: u32, words: &[u64], name: &str) -> Vec<u8> {
        let words: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let body = [&[7, 0, 0, 0, 7, 0, 0, 0][..], &words, name.as_bytes()].concat();
        let head = [kind.to_le_bytes(), (body.len() as u32 + 16).to_le_bytes(), [0; 4], [0; 4]].concat();
        [head, body].concat()
    }

    fn dump() -> Vec<u8> {
        let head =
            [&MAGIC[..], &1u32.to_le_bytes(), &40u32.to_le_bytes(), &[0; 8], &7u32.to_le_bytes(), &[0; 16]].concat();
        let load = |start: u64, bytes: u64, number: u64, name: &str| record(LOAD, &[0, start, bytes, number], name);
        [
            head,
            load(0x1000, 0x20, 1, "old\0code"),
            load(0x2000, 0x10, 2, "work app.js:3\0"),
            record(4, &[1, 2], "unwinding"),
            load(0x1000, 0x10, 3, "new\0"),
            record(MOVE, &[0, 0x2000, 0x3000, 0x10, 2], ""),
            record(MOVE, &[0, 0x2000, 0x4000, 0x10, 99], ""),
            load(u64::MAX, 2, 4, "end\0"),
            load(0x5000, 0x10, 5, "\0"),
            load(0x6000, 0x10, 6, "without an end"),
        ]
        .concat()
    }

    #[test]
    fn functions_are_where_they_were_last() {
        let dump = JitDump::read(dump()).unwrap();
        let at = |address| dump.find(address).map(|name| String::from_utf8_lossy(name).into_owned());
        let [new, old] = ["new", "old"].map(|name| Some(name.to_owned()));
        assert_eq!((dump.pid, at(0x1008), at(0x1018)), (7, new, old));
        assert_eq!([0x1000, 0x100f, 0x1010, 0x2000].map(|it| dump.is_replaced(it)), [true, true, false, false]);
        let work = Some("work app.js:3".to_owned());
        assert_eq!((at(0x2000), at(0x300f), at(0x3010)), (work.clone(), work, None));
        assert_eq!([0x4000, 0x5000, 0x6000, u64::MAX].map(at), [const { None }; 4]);
    }

    #[test]
    fn code_is_found_at_its_offset_and_at_each_time() {
        let at = |ts_ns: u64, mut record: Vec<u8>| {
            record[8..16].copy_from_slice(&ts_ns.to_le_bytes());
            record
        };
        let head = dump()[..HEADER_BYTES_MIN].to_vec();
        let dump = [
            head.clone(),
            at(30, record(LOAD, &[0, 0x1000, 4, 1], "one\0code")),
            at(10, record(MOVE, &[0, 0x1000, 0x2000, 9, 1], "")),
            // Without its code.
            at(20, record(LOAD, &[0, 0x3000, 4, 2], "two\0")),
            at(40, record(LOAD, &[0, 0x1000, 4, 3], "three\0cod")),
        ]
        .concat();
        let offset = |code: &str| dump.windows(code.len()).position(|bytes| bytes == code.as_bytes()).unwrap() as u64;
        let (one, three) = (offset("one\0") + 4, offset("three\0") + 6);
        let read = JitDump::read(dump.clone()).unwrap();
        let name = |offset| read.function_at_offset(offset).map(|name| String::from_utf8_lossy(name).into_owned());
        assert_eq!([one - 1, one, one + 3, one + 4].map(name).map(|it| it.is_some()), [false, true, true, false]);
        assert_eq!(name(three + 2).as_deref(), Some("three"));
        let loads: Vec<_> = read.into_loads().iter().map(|it| (it.ts_ns, it.start, it.len, it.dump_offset)).collect();
        assert_eq!(loads, [(10, 0x2000, 4, one), (30, 0x1000, 4, one), (40, 0x1000, 3, three)]);
        // Times of the processor's counter.
        let mut other = dump;
        other[32] = 1;
        assert_eq!(JitDump::read(other).unwrap().into_loads(), []);
    }

    #[test]
    fn a_dump_that_is_cut_has_the_functions_before() {
        let whole = dump();
        for end in 0..whole.len() {
            let found = JitDump::read(whole[..end].to_vec());
            let has_first = found.is_some_and(|dump| dump.find(0x1000).is_some());
            assert_eq!(has_first, end >= 40 + 16 + 40 + 8, "{end}");
        }
        assert!(JitDump::read(b"JiTD of another machine, whose numbers are reversed".to_vec()).is_none());
    }
}
