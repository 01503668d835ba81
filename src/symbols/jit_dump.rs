//! Reads `jit-PID.dump`, in which a program dumps its JIT-compiled functions for perf, each with its code. Later code
//! replaces the earlier code that it overlaps, and functions may be moved. The times of records are ignored: an address
//! has one name in a trace, the last. Addresses that had another name are counted. Supports little-endian dumps, up to
//! a truncated record. Source lines are ignored: V8 counts their addresses from 64 bytes before the code, others from
//! its start, and a dump does not say which.

use std::ops::Range;

use rustc_hash::FxHashMap;

use super::latest::{LatestRanges, LatestRangesBuilder};

const MAGIC: &[u8; 4] = b"DTiJ";

/// The shortest header: magic, version, header length, machine, process, time and flags.
const HEADER_BYTES_MIN: usize = 40;

/// Type, length and time of a record.
const RECORD_BYTES: usize = 16;

const LOAD: u32 = 0;
const MOVE: u32 = 1;

/// Functions by address. Names are ranges of the dump.
#[derive(Debug, Default)]
pub(super) struct JitDump {
    rows: LatestRanges<(usize, usize)>,
    dump: Vec<u8>,
    /// The process that wrote the dump.
    pub(super) pid: u32,
}

#[derive(Debug, Clone)]
struct DumpedFunction {
    start: u64,
    end: u64,
    name: Range<usize>,
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

impl JitDump {
    /// Reads a dump; `None` if it is invalid.
    pub(super) fn read(dump: Vec<u8>) -> Option<Self> {
        let mut fields = DumpFields { dump: &dump, at: MAGIC.len(), end: dump.len().max(MAGIC.len()) };
        if !dump.starts_with(MAGIC) {
            return None;
        }
        let (_version, header_bytes, _machine, _padding) = (fields.u32()?, fields.u32()?, fields.u32()?, fields.u32()?);
        let pid = fields.u32()?;
        let header_bytes = usize::try_from(header_bytes).ok().filter(|&bytes| bytes >= HEADER_BYTES_MIN)?;
        Some(Self { rows: rows(&dump, header_bytes), dump, pid })
    }

    /// Returns the function that contains an address.
    pub(super) fn find(&self, address: u64) -> Option<&[u8]> {
        self.rows.find(address).map(|&(start, end)| &self.dump[start..end])
    }

    /// Returns whether several functions were at an address.
    pub(super) fn is_replaced(&self, address: u64) -> bool {
        self.rows.is_replaced(address)
    }
}

/// Returns the functions of a dump from an offset on, by address.
fn rows(dump: &[u8], mut at: usize) -> LatestRanges<(usize, usize)> {
    let mut rows = LatestRangesBuilder::default();
    // Names by function index, for functions that are moved.
    let mut names: FxHashMap<u64, Range<usize>> = FxHashMap::default();
    while let Some(record) = at.checked_add(RECORD_BYTES).filter(|&body| body <= dump.len()) {
        let mut head = DumpFields { dump, at, end: record };
        let Some((kind, bytes)) = head.u32().zip(head.u32()) else { break };
        let Some(end) = at.checked_add(bytes as usize).filter(|&end| end >= record && end <= dump.len()) else { break };
        let mut fields = DumpFields { dump, at: record, end };
        let function = match kind {
            LOAD => loaded(&mut fields, &mut names),
            MOVE => moved(&mut fields, &names),
            _ => None,
        };
        if let Some(DumpedFunction { start, end, name }) = function {
            rows.push(start, end, (name.start, name.end), |one, other| dump[one.0..one.1] == dump[other.0..other.1]);
        }
        at = end;
    }
    rows.finish()
}

fn loaded(fields: &mut DumpFields<'_>, names: &mut FxHashMap<u64, Range<usize>>) -> Option<DumpedFunction> {
    let (_pid, _tid, _memory) = (fields.u32()?, fields.u32()?, fields.u64()?);
    let (start, bytes, number) = (fields.u64()?, fields.u64()?, fields.u64()?);
    let name = fields.text()?;
    names.insert(number, name.clone());
    Some(DumpedFunction { start, end: start.checked_add(bytes)?, name })
}

fn moved(fields: &mut DumpFields<'_>, names: &FxHashMap<u64, Range<usize>>) -> Option<DumpedFunction> {
    let (_pid, _tid, _memory, _before) = (fields.u32()?, fields.u32()?, fields.u64()?, fields.u64()?);
    let (start, bytes, number) = (fields.u64()?, fields.u64()?, fields.u64()?);
    Some(DumpedFunction { start, end: start.checked_add(bytes)?, name: names.get(&number)?.clone() })
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
