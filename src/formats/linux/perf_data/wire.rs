//! Binary layout of attributes, records and samples, little endian.

use crate::base::bytes::ByteCursor;
use crate::model::sample_measure::{COUNT, NANOSECONDS};

/// Magic of files and pipes, byte-swapped on big-endian machines.
pub(super) const MAGIC: &[u8; 8] = b"PERFILE2";

/// Bytes of kind, flags and length of a record, which the length includes.
pub(super) const RECORD_HEADER_BYTES: usize = 8;

/// Record kinds: of the kernel below 64, of perf itself from there.
pub(super) mod kind {
    use std::ops::RangeInclusive;

    pub(in super::super) const OF_KERNEL: RangeInclusive<u32> = 1..=31;
    pub(in super::super) const OF_PERF: RangeInclusive<u32> = 64..=127;
    pub(in super::super) const MMAP: u32 = 1;
    pub(in super::super) const LOST: u32 = 2;
    pub(in super::super) const COMM: u32 = 3;
    pub(in super::super) const EXIT: u32 = 4;
    pub(in super::super) const FORK: u32 = 7;
    pub(in super::super) const SAMPLE: u32 = 9;
    pub(in super::super) const MMAP2: u32 = 10;
    pub(in super::super) const LOST_SAMPLES: u32 = 13;
    pub(in super::super) const SWITCH: u32 = 14;
    pub(in super::super) const SWITCH_CPU_WIDE: u32 = 15;
    pub(in super::super) const KSYMBOL: u32 = 17;
    pub(in super::super) const ATTR: u32 = 64;
    pub(in super::super) const TRACING_DATA: u32 = 66;
    pub(in super::super) const BUILD_ID: u32 = 67;
    pub(in super::super) const FINISHED_ROUND: u32 = 68;
    pub(in super::super) const AUXTRACE: u32 = 71;
    pub(in super::super) const FEATURE: u32 = 80;
    pub(in super::super) const COMPRESSED: u32 = 81;
    pub(in super::super) const COMPRESSED2: u32 = 83;
}

/// Values of `Attr::kind` (`PERF_TYPE_*`).
pub(super) mod attr_type {
    pub(in super::super) const HARDWARE: u32 = 0;
    pub(in super::super) const SOFTWARE: u32 = 1;
    pub(in super::super) const TRACEPOINT: u32 = 2;
}

/// Values of `Attr::config` for software events (`PERF_COUNT_SW_*`).
mod software {
    pub(super) const CPU_CLOCK: u64 = 0;
    pub(super) const TASK_CLOCK: u64 = 1;
}

/// Attribute flag: child threads are recorded too.
const IS_INHERITED: u64 = 1 << 1;

/// Attribute flag: the kernel adapts the period to a frequency.
const IS_FREQUENCY: u64 = 1 << 10;

/// Attribute flag: recording starts with the command, and covers its threads only.
const STARTS_WITH_COMMAND: u64 = 1 << 12;

/// Attribute flag: times are those of the clock of the attribute, instead of perf's own.
const USES_CLOCK: u64 = 1 << 25;

/// `CLOCK_MONOTONIC`.
pub(super) const MONOTONIC_CLOCK: u64 = 1;

/// Attribute flag: all records of the event, not only samples, have time and ids.
const SAMPLE_ID_ALL: u64 = 1 << 18;

/// Bits for the fields of a sample.
pub(super) mod sample_type {
    pub(in super::super) const IP: u64 = 1;
    pub(in super::super) const TID: u64 = 1 << 1;
    pub(in super::super) const TIME: u64 = 1 << 2;
    pub(in super::super) const ADDRESS: u64 = 1 << 3;
    pub(in super::super) const READ: u64 = 1 << 4;
    pub(in super::super) const CALLCHAIN: u64 = 1 << 5;
    pub(in super::super) const ID: u64 = 1 << 6;
    pub(in super::super) const CPU: u64 = 1 << 7;
    pub(in super::super) const PERIOD: u64 = 1 << 8;
    pub(in super::super) const STREAM_ID: u64 = 1 << 9;
    pub(in super::super) const RAW: u64 = 1 << 10;
    pub(in super::super) const BRANCH_STACK: u64 = 1 << 11;
    pub(in super::super) const REGISTERS: u64 = 1 << 12;
    pub(in super::super) const STACK_BYTES: u64 = 1 << 13;
    pub(in super::super) const IDENTIFIER: u64 = 1 << 16;
}

/// Branch flag: a hardware index precedes the branches.
const BRANCH_INDEX: u64 = 1 << 17;

/// Branch flag: the counts of each branch follow the branches.
const BRANCH_COUNTERS: u64 = 1 << 19;

/// Bytes of a recorded branch: from, to, flags.
const BRANCH_BYTES: usize = 24;

/// Marker before user addresses in a call chain.
const CONTEXT_USER: u64 = 0_u64.wrapping_sub(512);

/// Lowest marker value in a call chain; a marker gives the mode of the addresses after it.
const CONTEXT_MIN: u64 = 0_u64.wrapping_sub(4095);

/// The recorded settings of one event (`perf_event_attr`).
#[derive(Debug, Clone, Default)]
pub(super) struct Attr {
    pub(super) kind: u32,
    /// The event within its type; the id for tracepoints.
    pub(super) config: u64,
    /// Period of all samples; `None` if it varies.
    pub(super) period: Option<u64>,
    pub(super) sample_type: u64,
    pub(super) read_format: u64,
    /// Fields of recorded branches, as bits (`branch_sample_type`).
    pub(super) branches: u64,
    /// User registers of samples, as a mask in perf's order.
    pub(super) registers: u64,
    /// Whether other records than samples also have time and ids.
    pub(super) has_sample_id: bool,
    /// Clock of its times (`clockid`, as with `-k mono`); `None` for perf's own.
    pub(super) clock: Option<u64>,
    /// Whether only the threads of one command were recorded.
    pub(super) is_of_command: bool,
    /// Whether child threads are recorded, with counters of their own under the same ids.
    pub(super) is_inherited: bool,
    pub(super) name: String,
}

/// The tracepoint of context switches, which says more than switch records.
const SCHED_SWITCH: &str = "sched:sched_switch";

impl Attr {
    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        let mut front = ByteCursor(bytes);
        let (kind, _size, config, period) = (front.u32()?, front.u32()?, front.u64()?, front.u64()?);
        let (sample_type, read_format, flags) = (front.u64()?, front.u64()?, front.u64()?);
        let name = usual_name(kind, config);
        // Attributes of older kernels end earlier.
        let late = |at: usize| bytes.get(at..).and_then(|bytes| ByteCursor(bytes).u64()).unwrap_or(0);
        let (branches, registers) = (late(72), late(80));
        // The upper half; the lower one is the size of stack dumps.
        let clock = Some(late(88) >> 32).filter(|_| flags & USES_CLOCK != 0);
        let has_sample_id = flags & SAMPLE_ID_ALL != 0;
        let period = Some(period).filter(|&period| period > 0 && flags & IS_FREQUENCY == 0);
        let is_of_command = flags & STARTS_WITH_COMMAND != 0;
        let is_inherited = flags & IS_INHERITED != 0;
        Some(Self {
            kind,
            config,
            period,
            sample_type,
            read_format,
            branches,
            registers,
            has_sample_id,
            clock,
            is_of_command,
            is_inherited,
            name,
        })
    }

    pub(super) fn is_sched_switch(&self) -> bool {
        self.kind == attr_type::TRACEPOINT && self.name == SCHED_SWITCH
    }

    /// Returns the unit of periods, whatever the name of the event is.
    pub(super) fn unit(&self) -> &'static str {
        match (self.kind, self.config) {
            (attr_type::SOFTWARE, software::CPU_CLOCK | software::TASK_CLOCK) => NANOSECONDS,
            _ => COUNT,
        }
    }

    /// Returns the format of the counts that its samples read.
    pub(super) fn counts(&self) -> CountFormat {
        CountFormat(self.read_format)
    }

    /// Returns whether the counts of a sample are per thread.
    pub(super) fn counts_threads(&self) -> bool {
        self.is_inherited && self.sample_type & sample_type::TID != 0
    }

    /// Returns whether user stacks are recorded as bytes.
    pub(super) fn has_raw_stacks(&self) -> bool {
        self.sample_type & sample_type::STACK_BYTES != 0
    }

    /// Returns whether samples have times.
    pub(super) fn has_time(&self) -> bool {
        self.sample_type & sample_type::TIME != 0
    }

    /// Returns the time of a record in nanoseconds; `None` if it has none.
    pub(super) fn time(&self, kind: u32, body: &[u8]) -> Option<i64> {
        use sample_type::{CPU, ID, IDENTIFIER, IP, STREAM_ID, TID, TIME};
        if !self.has_time() {
            return None;
        }
        let count = |fields: u64| (self.sample_type & fields).count_ones() as usize * 8;
        let at = if kind == kind::SAMPLE {
            count(IDENTIFIER | IP | TID)
        } else if self.has_sample_id {
            body.len().checked_sub(count(TIME | ID | STREAM_ID | CPU | IDENTIFIER))?
        } else {
            return None;
        };
        i64::try_from(ByteCursor(body.get(at..)?).u64()?).ok()
    }

    /// Returns the thread and the CPU at the end of any record but a sample; `None` without thread or time there.
    pub(super) fn sample_id(&self, body: &[u8]) -> Option<SampleId> {
        use sample_type::{CPU, ID, IDENTIFIER, STREAM_ID, TID, TIME};
        let has = |field: u64| self.sample_type & field != 0;
        if !self.has_sample_id || !has(TID) || !has(TIME) {
            return None;
        }
        let count = |fields: u64| (self.sample_type & fields).count_ones() as usize * 8;
        let at = body.len().checked_sub(count(TID | TIME | ID | STREAM_ID | CPU | IDENTIFIER))?;
        let mut front = ByteCursor(&body[at..]);
        let (pid, tid) = (front.i32()?.into(), front.i32()?.into());
        front.bytes(count(TIME | ID | STREAM_ID))?;
        let cpu = if has(CPU) { Some(front.u32()?.into()) } else { None };
        Some(SampleId { pid, tid, cpu })
    }

    /// Returns the event id of a record, if its offset does not depend on other fields.
    pub(super) fn id(&self, kind: u32, body: &[u8]) -> Option<u64> {
        use sample_type::{ADDRESS, ID, IDENTIFIER, IP, TID, TIME};
        let count = |fields: u64| (self.sample_type & fields).count_ones() as usize * 8;
        let has = |field: u64| self.sample_type & field != 0;
        let at = match kind {
            kind::SAMPLE if has(IDENTIFIER) => 0,
            kind::SAMPLE if has(ID) => count(IP | TID | TIME | ADDRESS),
            kind::SAMPLE => return None,
            _ if self.has_sample_id && has(IDENTIFIER) => body.len().checked_sub(8)?,
            _ => return None,
        };
        ByteCursor(body.get(at..)?).u64()
    }
}

/// The thread of a record and its CPU, if that is recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SampleId {
    pub(super) pid: i64,
    pub(super) tid: i64,
    pub(super) cpu: Option<u64>,
}

/// Returns perf's default name of an event.
fn usual_name(kind: u32, config: u64) -> String {
    const HARDWARE: [&str; 10] = [
        "cycles",
        "instructions",
        "cache-references",
        "cache-misses",
        "branches",
        "branch-misses",
        "bus-cycles",
        "stalled-cycles-frontend",
        "stalled-cycles-backend",
        "ref-cycles",
    ];
    const SOFTWARE: [&str; 7] = [
        "cpu-clock",
        "task-clock",
        "page-faults",
        "context-switches",
        "cpu-migrations",
        "minor-faults",
        "major-faults",
    ];
    let name = match kind {
        attr_type::HARDWARE => HARDWARE.get(config as usize),
        attr_type::SOFTWARE => SOFTWARE.get(config as usize),
        _ => None,
    };
    name.map_or_else(|| format!("event {kind}:{config:#x}"), |name| (*name).to_owned())
}

/// The fields of a sample that are shown.
#[derive(Debug, Default)]
pub(super) struct PerfSample<'a> {
    pub(super) ip: Option<u64>,
    pub(super) pid: i64,
    pub(super) tid: i64,
    pub(super) cpu: Option<u64>,
    pub(super) period: Option<u64>,
    /// Counter values in the attribute's [`CountFormat`]; empty if it reads none.
    pub(super) counts: &'a [u8],
    /// Call chain addresses of 8 bytes each, innermost first.
    chain: &'a [u8],
    pub(super) raw: &'a [u8],
    /// User registers and stack, if they are recorded as bytes.
    pub(super) program: Option<ProgramState<'a>>,
}

/// Registers and stack of a user program.
#[derive(Debug, Clone, Copy)]
pub(super) struct ProgramState<'a> {
    /// 0 for kernel threads, which have no user program.
    pub(super) abi: u64,
    /// Mask of the present registers, in perf's order.
    pub(super) mask: u64,
    /// Register values, 8 bytes each.
    pub(super) registers: &'a [u8],
    pub(super) stack: &'a [u8],
}

impl<'a> PerfSample<'a> {
    /// Parses the fields that the attribute lists; returns `None` if the record ends early.
    pub(super) fn read(attr: &Attr, body: &'a [u8]) -> Option<Self> {
        use sample_type::{ADDRESS, CALLCHAIN, CPU, ID, IDENTIFIER, IP, PERIOD, RAW, READ, STREAM_ID, TID, TIME};
        let has = |field: u64| attr.sample_type & field != 0;
        let mut front = ByteCursor(body);
        let mut sample = Self { period: attr.period, ..Self::default() };
        if has(IDENTIFIER) {
            front.u64()?;
        }
        if has(IP) {
            sample.ip = Some(front.u64()?);
        }
        if has(TID) {
            (sample.pid, sample.tid) = (front.i32()?.into(), front.i32()?.into());
        }
        for field in [TIME, ADDRESS, ID, STREAM_ID] {
            if has(field) {
                front.u64()?;
            }
        }
        if has(CPU) {
            sample.cpu = Some(front.u32()?.into());
            front.u32()?;
        }
        if has(PERIOD) {
            sample.period = Some(front.u64()?);
        }
        if has(READ) {
            sample.counts = attr.counts().split_off(&mut front)?;
        }
        if has(CALLCHAIN) {
            let count = usize::try_from(front.u64()?).ok()?;
            sample.chain = front.bytes(count.checked_mul(8)?)?;
        }
        if has(RAW) {
            let len = front.u32()? as usize;
            sample.raw = front.bytes(len)?;
        }
        if attr.has_raw_stacks() {
            sample.program = ProgramState::read(attr, front);
        }
        Some(sample)
    }

    /// Returns the kernel part of the call chain, innermost first, for samples with a separate user stack. `ip` is the
    /// address in the user program.
    pub(super) fn kernel_addresses(&self, ip: Option<u64>) -> impl DoubleEndedIterator<Item = u64> + '_ {
        let alone = if self.chain.is_empty() { self.ip.filter(|sample_ip| Some(*sample_ip) != ip) } else { None };
        let (chain, _) = self.chain.as_chunks::<8>();
        let end = chain.iter().position(|address| u64::from_le_bytes(*address) == CONTEXT_USER);
        let chain = chain[..end.unwrap_or(chain.len())].iter().map(|address| u64::from_le_bytes(*address));
        alone.into_iter().chain(chain.filter(|&address| address < CONTEXT_MIN))
    }

    /// Returns the addresses of the call chain, innermost first.
    pub(super) fn addresses(&self) -> impl DoubleEndedIterator<Item = u64> + '_ {
        let alone = if self.chain.is_empty() { self.ip } else { None };
        let (chain, _) = self.chain.as_chunks::<8>();
        let chain = chain.iter().map(|address| u64::from_le_bytes(*address));
        alone.into_iter().chain(chain.filter(|&address| address < CONTEXT_MIN))
    }
}

impl<'a> ProgramState<'a> {
    /// Parses the fields after the call chain; returns `None` if the record ends early.
    fn read(attr: &Attr, mut front: ByteCursor<'a>) -> Option<Self> {
        use sample_type::{BRANCH_STACK, REGISTERS};
        if attr.sample_type & BRANCH_STACK != 0 {
            let count = usize::try_from(front.u64()?).ok()?;
            let index = if attr.branches & BRANCH_INDEX != 0 { 8 } else { 0 };
            let counts = if attr.branches & BRANCH_COUNTERS != 0 { 8 } else { 0 };
            front.bytes(count.checked_mul(BRANCH_BYTES + counts)?.checked_add(index)?)?;
        }
        let (mut abi, mut registers) = (0, &[][..]);
        if attr.sample_type & REGISTERS != 0 {
            abi = front.u64()?;
            if abi != 0 {
                registers = front.bytes(attr.registers.count_ones() as usize * 8)?;
            }
        }
        let len = usize::try_from(front.u64()?).ok()?;
        let recorded = front.bytes(len)?;
        // The kernel may copy fewer bytes than it reserves.
        let filled = if len == 0 { 0 } else { usize::try_from(front.u64()?).ok()? };
        let stack = &recorded[..filled.min(len)];
        Some(Self { abi, mask: attr.registers, registers, stack })
    }
}

/// Layout of the counts that a sample reads, for its own event or for a group.
#[derive(Debug, Clone, Copy)]
pub(super) struct CountFormat(u64);

impl CountFormat {
    const TIMES: u64 = 0b11;
    const ID: u64 = 0b100;
    const GROUP: u64 = 0b1000;
    const LOST: u64 = 0b1_0000;

    pub(super) fn is_group(self) -> bool {
        self.0 & Self::GROUP != 0
    }

    pub(super) fn has_id(self) -> bool {
        self.0 & Self::ID != 0
    }

    pub(super) fn has_lost(self) -> bool {
        self.0 & Self::LOST != 0
    }

    /// Returns the bytes of the enabled and running times.
    pub(super) fn time_bytes(self) -> usize {
        (self.0 & Self::TIMES).count_ones() as usize * 8
    }

    /// Splits off the bytes of the counts.
    fn split_off<'a>(self, front: &mut ByteCursor<'a>) -> Option<&'a [u8]> {
        let each = 1 + (self.0 & (Self::ID | Self::LOST)).count_ones() as usize;
        let mut ahead = *front;
        let group = if self.is_group() { Some(ahead.u64()?) } else { None };
        let count = group.map_or(Some(1), |count| usize::try_from(count).ok())?;
        let numbers = count.checked_mul(each)?.checked_add(usize::from(group.is_some()))?;
        front.bytes(numbers.checked_mul(8)?.checked_add(self.time_bytes())?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn branches_before_the_registers_are_skipped_in_every_layout() {
        let sample_type = sample_type::BRANCH_STACK | sample_type::REGISTERS | sample_type::STACK_BYTES;
        for (branches, header_words, branch_words) in
            [(0, 0, 3), (BRANCH_INDEX, 1, 3), (BRANCH_COUNTERS, 0, 4), (BRANCH_INDEX | BRANCH_COUNTERS, 1, 4)]
        {
            let attr = Attr { sample_type, branches, registers: 0b101, ..Attr::default() };
            let skipped = vec![9; header_words + 2 * branch_words];
            let program = [2, 70, 71, 8, 80, 8];
            let words = [&[2][..], &skipped, &program].concat();
            let body: Vec<u8> = words.into_iter().flat_map(u64::to_le_bytes).collect();
            let program = PerfSample::read(&attr, &body).and_then(|sample| sample.program).expect("a stack");
            let registers: Vec<u8> = [70_u64, 71].into_iter().flat_map(u64::to_le_bytes).collect();
            assert_eq!((program.abi, program.registers), (2, &*registers), "{branches:#x}");
            assert_eq!(program.stack, 80_u64.to_le_bytes(), "{branches:#x}");
        }
    }
}
