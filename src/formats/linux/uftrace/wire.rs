//! The header of a recording and its records, as uftrace writes them. Numbers are little-endian; recordings of
//! big-endian machines are refused.

/// First bytes of the file `info`.
pub(super) const MAGIC: [u8; 8] = *b"Ftrace!\0";

/// Versions of the format with these records.
const VERSIONS: std::ops::RangeInclusive<u32> = 3..=4;

/// Length of the fields of the header up to the masks.
const HEADER_BYTES: usize = 32;

const LITTLE_ENDIAN: u8 = 1;

/// Class of 32-bit programs, as in ELF.
const CLASS_32_BIT: u8 = 1;

/// Bits of the mask of features.
mod feature {
    /// Symbols have addresses relative to the start of their file in memory.
    pub(super) const RELATIVE_SYMBOLS: u64 = 1 << 5;
}

pub(super) const RECORD_BYTES: usize = 16;

/// Limit for the number of lost records; the recorder counts them in an `int`.
const LOST_MAX: u64 = i32::MAX as u64;

/// Value of the field that marks a record.
const RECORD_MAGIC: u64 = 5;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct UftraceHeader {
    /// Length of the header, at which the text of `info` starts.
    pub(super) bytes: u16,
    pub(super) has_relative_symbols: bool,
    /// Length of a machine word of the programs, which untyped values have.
    pub(super) word_bytes: usize,
}

/// Returns whether this is the start of a file `info`.
pub(super) fn is_info(head: &[u8]) -> bool {
    head.starts_with(&MAGIC)
}

/// Parses the header of `info`. Returns the offset, the expected and the actual content of an unsupported one.
pub(super) fn header(head: &[u8]) -> Result<UftraceHeader, (u64, &'static str, String)> {
    let Some(bytes) = head.first_chunk::<HEADER_BYTES>() else {
        return Err((head.len() as u64, "a header of 40 bytes", "the end of the file".to_owned()));
    };
    let [_, _, _, _, _, _, _, _, v0, v1, v2, v3, s0, s1, byte_order, class, f0, f1, f2, f3, f4, f5, f6, f7, ..] =
        *bytes;
    if byte_order != LITTLE_ENDIAN {
        return Err((14, "the byte order of a little-endian machine", format!("byte order {byte_order}")));
    }
    let version = u32::from_le_bytes([v0, v1, v2, v3]);
    if !VERSIONS.contains(&version) {
        return Err((8, "version 3 or 4", format!("version {version}")));
    }
    let features = u64::from_le_bytes([f0, f1, f2, f3, f4, f5, f6, f7]);
    let has_relative_symbols = features & feature::RELATIVE_SYMBOLS != 0;
    let word_bytes = if class == CLASS_32_BIT { size_of::<u32>() } else { size_of::<u64>() };
    Ok(UftraceHeader { bytes: u16::from_le_bytes([s0, s1]), has_relative_symbols, word_bytes })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum UftraceRecordKind {
    Entry,
    Exit,
    /// The number of lost records is in the address.
    Lost,
    /// The id of the event is in the address.
    Event,
}

/// A record: the entry or exit of a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct UftraceRecord {
    pub(super) ts_ns: u64,
    pub(super) kind: UftraceRecordKind,
    /// Whether values follow the record.
    pub(super) has_values: bool,
    /// Number of functions around it.
    pub(super) depth: u16,
    pub(super) address: u64,
}

impl UftraceRecord {
    /// Parses a record; returns `None` if the bytes are not a record, or too few.
    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        let (time, rest) = bytes.split_first_chunk()?;
        let (ts_ns, fields) = (u64::from_le_bytes(*time), u64::from_le_bytes(*rest.first_chunk()?));
        // Two bits of kind, one for values, three of the mark, ten of depth, and the address.
        if fields >> 3 & 7 != RECORD_MAGIC {
            return None;
        }
        let kind =
            [UftraceRecordKind::Entry, UftraceRecordKind::Exit, UftraceRecordKind::Lost, UftraceRecordKind::Event]
                [(fields & 3) as usize];
        let depth = (fields >> 6 & 0x3ff) as u16;
        Some(Self { ts_ns, kind, has_values: fields >> 2 & 1 != 0, depth, address: fields >> 16 })
    }

    /// Returns whether this is a number of lost records, which the recorder writes with time 0 and an unset depth.
    fn is_untimed_loss(&self) -> bool {
        self.kind == UftraceRecordKind::Lost && self.ts_ns == 0 && !self.has_values && self.address <= LOST_MAX
    }

    /// Returns whether this record may follow `before` by its time.
    pub(super) fn is_not_before(&self, before: &Self) -> bool {
        self.ts_ns >= before.ts_ns || self.is_untimed_loss()
    }

    /// Returns whether this record may follow `before` in its thread: not earlier, and at a depth that calls reach.
    pub(super) fn may_follow(&self, before: &Self) -> bool {
        let fits = match self.kind {
            UftraceRecordKind::Entry => self.depth <= before.depth.saturating_add(1),
            UftraceRecordKind::Exit => self.depth <= before.depth,
            UftraceRecordKind::Lost | UftraceRecordKind::Event => true,
        };
        // An event has no depth of its own, and depths of lost records are unknown.
        let has_depth_before = !matches!(before.kind, UftraceRecordKind::Event | UftraceRecordKind::Lost);
        self.is_not_before(before) && (fits || !has_depth_before)
    }
}

/// Ids of events that uftrace defines.
pub(super) mod event {
    /// First id of events of uftrace itself. Smaller ids are events of the kernel.
    const BUILTIN: u64 = 100_000;

    /// Names of the events of uftrace, from the first id after [`BUILTIN`], and of the numbers of each.
    const NAMES: [(&str, &[&str]); 12] = [
        ("read:proc/statm", &["vmsize", "vmrss", "shared"]),
        ("read:page-fault", &["major", "minor"]),
        ("diff:proc/statm", &["vmsize", "vmrss", "shared"]),
        ("diff:page-fault", &["major", "minor"]),
        ("read:pmu-cycle", &["cycle", "instructions"]),
        ("diff:pmu-cycle", &["cycle", "instructions"]),
        ("read:pmu-cache", &["refers", "misses"]),
        ("diff:pmu-cache", &["refers", "misses"]),
        ("read:pmu-branch", &["branch", "misses"]),
        ("diff:pmu-branch", &["branch", "misses"]),
        ("watch:cpu", &["cpu"]),
        ("watch:var", &["address", "value"]),
    ];

    /// Returns the name of an event of uftrace, and the names of its numbers.
    pub(in super::super) fn builtin(id: u64) -> Option<(&'static str, &'static [&'static str])> {
        let position = usize::try_from(id.checked_sub(BUILTIN + 1)?).ok()?;
        NAMES.get(position).copied()
    }
}
