//! Descriptors of tracks, processes, threads and argument types. They are collected as packets arrive, or all at once
//! if an event needs a later one. Skips events.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::fields::{
    child_ordering, chrome_process_descriptor, chrome_process_type, counter_descriptor, counter_type, counter_unit,
    process_descriptor, process_ordering, process_tree, process_tree_process, process_tree_thread,
    sibling_merge_behavior, system_info, thread_descriptor, thread_ordering, trace_packet, track_descriptor, utsname,
};
use super::limits::has_room;
use super::own_fields::{own_process_descriptor, own_thread_descriptor};
use super::packet_fields::{kernel_process, kernel_process_tree, kernel_thread};
use super::packets::{PacketBlock, Packets, each_unpacked};
use super::pids::Pids;
use super::schema::Schema;
use super::translations::Translations;
use crate::formats::input::source::Source;
use crate::formats::output::batch::label;
use crate::formats::protobuf::decode::{Fields, ProtoValue};
use crate::formats::protobuf::message::ProtoMessage as _;
use crate::formats::protobuf::numbers::FieldNumber;
use crate::formats::{ReadContext, ReadError};
use crate::model::{Id, Loss, Losses, Metadata, SourcePos};

/// Limit for a chain of parents; a longer chain is a cycle or an attack.
pub(super) const PARENTS_MAX: usize = 128;

/// Limit for track descriptors, about 500 MiB, and for threads with a process. Chromium may have a descriptor for each
/// asynchronous span.
const DESCRIPTORS_MAX: usize = 4 << 20;

/// Limit for commands of processes; a system has a few thousand.
const COMMANDS_MAX: usize = 1 << 16;

/// The descriptors of tracks so far, and facts from other packets that tracks depend on.
#[derive(Debug, Default)]
pub(super) struct Descriptors {
    by_uuid: FxHashMap<u64, Descriptor>,
    /// Process of each thread, for ftrace events.
    pub(super) process_of: FxHashMap<i64, i64>,
    /// Command of each process in the process trees, for names of tracks.
    pub(super) commands: FxHashMap<i64, Box<str>>,
    pub(super) pids: Pids,
    /// Whether the root track orders processes and threads by rank.
    ranks: Ranked,
    /// Whether the kernel is older than 4.14.
    pub(super) is_before_4_14: bool,
    /// Machine type as in `uname -m`; empty if unknown.
    pub(super) machine: String,
    pub(super) page_bytes: Option<u64>,
    pub(super) schema: Arc<Schema>,
    pub(super) translations: Translations,
    /// Names and sort indices to be added to the next batch.
    pub(super) metadata: Vec<Metadata>,
    /// Losses in descriptors, to be added to the next batch.
    pub(super) losses: Losses,
}

/// Whether processes and threads are ordered by the ranks of their tracks.
#[derive(Debug, Default)]
struct Ranked {
    processes: bool,
    threads: bool,
}

/// The descriptor of a track, merged from all packets with its uuid.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Descriptor {
    pub(super) parent: Option<u64>,
    pub(super) name: Box<str>,
    pub(super) process: Option<Id>,
    pub(super) thread: Option<(Id, i64)>,
    pub(super) counter: Option<CounterDescriptor>,
    /// Unit of counter values; empty for none.
    pub(super) unit: Box<str>,
    /// Order of its child tracks.
    pub(super) children: ChildOrder,
    /// Rank among its siblings, if the parent orders by rank.
    pub(super) rank: i64,
    /// Whether it is not merged with siblings of the same name.
    pub(super) stands_alone: bool,
    /// Key for merging with siblings; if it is empty, they are merged by name.
    pub(super) merge_key: Box<str>,
}

impl Descriptor {
    /// Takes what a newer packet describes.
    fn update(&mut self, newer: Self) {
        self.parent = newer.parent.or(self.parent);
        self.process = newer.process.or_else(|| self.process.take());
        // A thread stays in its first process.
        self.thread = self.thread.take().or(newer.thread);
        self.counter = newer.counter.or(self.counter);
        self.stands_alone |= newer.stands_alone;
        if newer.children != ChildOrder::Appearance {
            self.children = newer.children;
        }
        if newer.rank != 0 {
            self.rank = newer.rank;
        }
        if !newer.unit.is_empty() {
            self.unit = newer.unit;
        }
        if !newer.merge_key.is_empty() {
            self.merge_key = newer.merge_key;
        }
        if !newer.name.is_empty() {
            self.name = newer.name;
        }
    }
}

/// The order of child tracks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum ChildOrder {
    /// By first event.
    #[default]
    Appearance,
    Name,
    /// By `sibling_order_rank`, lowest first.
    Rank,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CounterDescriptor {
    /// Whether it counts CPU time of the thread, which is shown as an attribute of spans.
    pub(super) is_thread_time: bool,
    pub(super) is_incremental: bool,
    pub(super) multiplier: i64,
}

/// The track that describes a process.
#[derive(Debug, Clone, Copy)]
struct DescribedProcess {
    uuid: u64,
    /// Type of a process of Chromium; empty if unknown.
    chrome_type: &'static str,
}

/// Fields of the messages of a process tree.
struct ProcessTreeFields {
    processes: FieldNumber,
    threads: FieldNumber,
    pid: FieldNumber,
    command: FieldNumber,
    tid: FieldNumber,
    thread_process: FieldNumber,
    thread_name: FieldNumber,
}

const LINUX_TREE: ProcessTreeFields = ProcessTreeFields {
    processes: process_tree::PROCESSES,
    threads: process_tree::THREADS,
    pid: process_tree_process::PID,
    command: process_tree_process::CMDLINE,
    tid: process_tree_thread::TID,
    thread_process: process_tree_thread::TGID,
    thread_name: process_tree_thread::NAME,
};

const GENERIC_TREE: ProcessTreeFields = ProcessTreeFields {
    processes: kernel_process_tree::PROCESSES,
    threads: kernel_process_tree::THREADS,
    pid: kernel_process::PID,
    command: kernel_process::CMDLINE,
    tid: kernel_thread::TID,
    thread_process: kernel_thread::PID,
    thread_name: kernel_thread::COMM,
};

impl Descriptors {
    /// Collects the descriptors of a whole trace.
    pub(super) fn collect(source: Source, context: &ReadContext) -> Result<Self, ReadError> {
        let mut described = Self::default();
        let mut packets = Packets::new(source, &context.cancel);
        let mut block = PacketBlock::default();
        while let Some(next) = packets.next(block)? {
            context.cancel.check()?;
            // Damage is counted by the main pass.
            each_unpacked(&next, 0, is_description, &mut |packet, pos| described.read_packet(packet, pos));
            block = next;
        }
        Ok(described)
    }

    pub(super) fn get(&self, uuid: u64) -> Option<&Descriptor> {
        self.by_uuid.get(&uuid)
    }

    fn read_packet(&mut self, packet: &[u8], pos: SourcePos) {
        for field in Fields::new(packet) {
            if let ProtoValue::Bytes(bytes) = field.value {
                self.read_field(field.number, bytes, pos);
            }
        }
    }

    /// Handles a field of a packet if it is a descriptor.
    pub(super) fn read_field(&mut self, number: FieldNumber, bytes: &[u8], pos: SourcePos) {
        match number {
            trace_packet::PROCESS_TREE => self.process_tree(&LINUX_TREE, bytes, pos),
            trace_packet::GENERIC_KERNEL_PROCESS_TREE => self.process_tree(&GENERIC_TREE, bytes, pos),
            trace_packet::PROCESS_DESCRIPTOR => drop(self.process(bytes, None, pos)),
            trace_packet::THREAD_DESCRIPTOR => drop(self.thread(bytes, pos)),
            trace_packet::SYSTEM_INFO => self.system(bytes),
            trace_packet::TRACK_DESCRIPTOR => self.track(bytes, pos),
            trace_packet::TRANSLATION_TABLE => self.translate(bytes, pos),
            trace_packet::EXTENSION_DESCRIPTOR => {
                Arc::make_mut(&mut self.schema).add_extension(bytes, pos, &mut self.losses);
            }
            _ => {}
        }
    }

    fn translate(&mut self, bytes: &[u8], pos: SourcePos) {
        if !self.translations.add_table(bytes) {
            self.losses.add(Loss::OverLimit, pos);
        }
    }

    /// Drops the track descriptors and the processes of threads. Keeps pids, and pending metadata and losses.
    pub(super) fn forget(&mut self) {
        self.by_uuid.clear();
        self.process_of.clear();
    }

    /// Returns whether a track and all its parents are described.
    pub(super) fn has_all_parents(&self, uuid: u64) -> bool {
        self.missing_ancestor(uuid).is_none()
    }

    /// Returns the first uuid without a descriptor among a track and its parents.
    pub(super) fn missing_ancestor(&self, uuid: u64) -> Option<u64> {
        let mut next = Some(uuid);
        for _ in 0..PARENTS_MAX {
            let uuid = next.filter(|&uuid| uuid != 0)?;
            let Some(descriptor) = self.by_uuid.get(&uuid) else { return Some(uuid) };
            next = descriptor.parent;
        }
        None
    }

    fn track(&mut self, bytes: &[u8], pos: SourcePos) {
        let uuid = track_uuid(bytes);
        let mut descriptor = Descriptor::default();
        let mut counter = None;
        let (mut merging, mut merge_key) = (0, Box::default());
        for field in Fields::new(bytes) {
            match field.number {
                track_descriptor::NAME | track_descriptor::STATIC_NAME | track_descriptor::ATRACE_NAME => {
                    descriptor.name = self.text(field.value.bytes(), pos);
                }
                track_descriptor::PROCESS => {
                    let described = DescribedProcess { uuid, chrome_type: chrome_type(bytes) };
                    descriptor.process = self.process(field.value.bytes(), Some(described), pos);
                }
                track_descriptor::THREAD => descriptor.thread = self.thread(field.value.bytes(), pos),
                track_descriptor::PARENT_UUID => descriptor.parent = Some(field.value.number()),
                track_descriptor::COUNTER => counter = Some(self.counter(field.value.bytes(), pos)),
                track_descriptor::PROCESS_ORDERING if uuid == 0 => {
                    self.ranks.processes = field.value.number() == process_ordering::PROCESS_ORDERING_EXPLICIT;
                }
                track_descriptor::THREAD_ORDERING if uuid == 0 => {
                    self.ranks.threads = field.value.number() == thread_ordering::THREAD_ORDERING_EXPLICIT;
                }
                track_descriptor::CHILD_ORDERING => descriptor.children = order(field.value.number()),
                track_descriptor::SIBLING_ORDER_RANK => descriptor.rank = field.value.signed(),
                track_descriptor::SIBLING_MERGE_BEHAVIOR => merging = field.value.number(),
                track_descriptor::SIBLING_MERGE_KEY => merge_key = self.text(field.value.bytes(), pos),
                track_descriptor::SIBLING_MERGE_KEY_INT if str::is_empty(&merge_key) => {
                    merge_key = format!("number {}", field.value.number()).into();
                }
                _ => {}
            }
        }
        descriptor.stands_alone = merging == sibling_merge_behavior::SIBLING_MERGE_BEHAVIOR_NONE;
        if merging == sibling_merge_behavior::SIBLING_MERGE_BEHAVIOR_BY_SIBLING_MERGE_KEY {
            descriptor.merge_key = merge_key;
        }
        if let Some((counter, unit, name)) = counter {
            (descriptor.counter, descriptor.unit) = (Some(counter), unit);
            if descriptor.name.is_empty() {
                descriptor.name = name.into();
            }
        }
        if !has_room(&self.by_uuid, &uuid, DESCRIPTORS_MAX) {
            return self.losses.add(Loss::OverLimit, pos);
        }
        self.name_and_order(&descriptor);
        self.by_uuid.entry(uuid).or_default().update(descriptor);
    }

    /// Adds the name and the rank of a track to its thread or process.
    fn name_and_order(&mut self, descriptor: &Descriptor) {
        let (name, sort_index) = (descriptor.name.clone(), descriptor.rank);
        let (has_name, has_rank) = (!name.is_empty(), sort_index != 0);
        if let Some((pid, tid)) = descriptor.thread.clone() {
            let tid = self.pids.thread_id(tid);
            if has_rank && self.ranks.threads {
                self.metadata.push(Metadata::ThreadSortIndex { pid: pid.clone(), tid: tid.clone(), sort_index });
            }
            if has_name {
                self.metadata.push(Metadata::ThreadName { pid, tid, name });
            }
        } else if let Some(pid) = descriptor.process.clone() {
            if has_rank && self.ranks.processes {
                self.metadata.push(Metadata::ProcessSortIndex { pid: pid.clone(), sort_index });
            }
            if has_name {
                self.metadata.push(Metadata::ProcessName { pid, name });
            }
        }
    }

    /// Parses a process descriptor, with the track that contains it, if any.
    fn process(&mut self, bytes: &[u8], track: Option<DescribedProcess>, pos: SourcePos) -> Option<Id> {
        let (mut pid, mut name, mut command) = (None, &b""[..], &b""[..]);
        let mut labels: Vec<Box<str>> = Vec::new();
        let (mut sort_index, mut start_ns, mut has_id) = (None, None, true);
        for field in Fields::new(bytes) {
            match field.number {
                process_descriptor::START_TIMESTAMP_NS => start_ns = Some(field.value.signed()),
                process_descriptor::PID => pid = Some(field.value.signed()),
                process_descriptor::CMDLINE if command.is_empty() => command = field.value.bytes(),
                process_descriptor::LEGACY_SORT_INDEX => sort_index = Some(field.value.signed()),
                process_descriptor::PROCESS_NAME => name = field.value.bytes(),
                own_process_descriptor::HAS_NO_ID => has_id = field.value.number() == 0,
                process_descriptor::PROCESS_LABELS => labels.push(self.text(field.value.bytes(), pos)),
                _ => {}
            }
        }
        let pid: i64 = pid?;
        let is_named = !name.is_empty() && name != command && !is_chrome_command(name);
        // A command line that is not shown may be of any length.
        let mut losses = Losses::default();
        let mut name = label(if name.is_empty() { command } else { name }, pos, &mut losses);
        let pid = match track {
            Some(DescribedProcess { uuid, .. }) => {
                if !has_id {
                    self.pids.add_missing(pid, uuid);
                }
                self.pids.described(pid, uuid, &name, start_ns)
            }
            None => self.pids.id(pid),
        };
        if track.is_none_or(|track| self.choose_name(&track, &mut name, is_named)) {
            self.losses.merge(&losses);
        }
        if !name.is_empty() {
            self.metadata.push(Metadata::ProcessName { pid: pid.clone(), name });
        }
        if !labels.is_empty() {
            self.metadata.push(Metadata::ProcessLabels { pid: pid.clone(), labels: labels.join(", ").into() });
        }
        if let Some(sort_index) = sort_index {
            self.metadata.push(Metadata::ProcessSortIndex { pid: pid.clone(), sort_index });
        }
        Some(pid)
    }

    /// Replaces a command line by the name of its type of process, or clears it if the process has another name
    /// already. Chromium describes a process from several threads, with its name or its command line. Returns whether
    /// the name stays.
    fn choose_name(&mut self, track: &DescribedProcess, name: &mut Box<str>, is_named: bool) -> bool {
        let &DescribedProcess { uuid, chrome_type } = track;
        let is_kept = if is_named || !chrome_type.is_empty() {
            self.pids.add_name(uuid);
            is_named
        } else {
            !self.pids.has_name(uuid)
        };
        if !is_kept {
            *name = chrome_type.into();
        }
        is_kept
    }

    fn thread(&mut self, bytes: &[u8], pos: SourcePos) -> Option<(Id, i64)> {
        let descriptor = thread(bytes)?;
        if !descriptor.has_id {
            self.pids.add_missing_thread(descriptor.tid);
        }
        let (pid, tid) = (self.pids.id(descriptor.pid), self.pids.thread_id(descriptor.tid));
        if !descriptor.name.is_empty() {
            let name = self.text(descriptor.name, pos);
            self.metadata.push(Metadata::ThreadName { pid: pid.clone(), tid: tid.clone(), name });
        }
        if let Some(sort_index) = descriptor.sort_index {
            self.metadata.push(Metadata::ThreadSortIndex { pid: pid.clone(), tid, sort_index });
        }
        if pid != Id::None {
            self.set_process(descriptor.tid, descriptor.pid, pos);
        }
        Some((pid, descriptor.tid))
    }

    /// Sets the process of a thread. Counts a thread beyond the limit as lost.
    fn set_process(&mut self, tid: i64, pid: i64, pos: SourcePos) {
        if has_room(&self.process_of, &tid, DESCRIPTORS_MAX) {
            self.process_of.insert(tid, pid);
        } else {
            self.losses.add(Loss::OverLimit, pos);
        }
    }

    /// Parses the process tree of a kernel.
    fn process_tree(&mut self, tree: &ProcessTreeFields, bytes: &[u8], pos: SourcePos) {
        for field in Fields::new(bytes) {
            let (mut id, mut group, mut name) = (None, None, Box::default());
            let is_process = field.number == tree.processes;
            if !is_process && field.number != tree.threads {
                continue;
            }
            let (id_field, name_field) =
                if is_process { (tree.pid, tree.command) } else { (tree.tid, tree.thread_name) };
            for field in Fields::new(field.value.bytes()) {
                if field.number == id_field {
                    id = Some(field.value.signed());
                } else if field.number == tree.thread_process && !is_process {
                    group = Some(field.value.signed());
                } else if field.number == name_field && str::is_empty(&name) {
                    name = self.text(field.value.bytes(), pos);
                }
            }
            let Some(tid) = id else { continue };
            let pid = if is_process { tid } else { group.unwrap_or(tid) };
            self.set_process(tid, pid, pos);
            if name.is_empty() {
                continue;
            }
            if is_process && has_room(&self.commands, &pid, COMMANDS_MAX) {
                self.commands.insert(pid, name.clone());
            }
            let (pid, tid) = (Id::Number(pid), Id::Number(tid));
            self.metadata.push(if is_process {
                Metadata::ProcessName { pid, name }
            } else {
                Metadata::ThreadName { pid, tid, name }
            });
        }
    }

    fn system(&mut self, bytes: &[u8]) {
        let page_size = Fields::new(bytes).find(|field| field.number == system_info::PAGE_SIZE);
        self.page_bytes = page_size.map(|field| field.value.number()).filter(|&bytes| bytes > 0).or(self.page_bytes);
        let field_bytes =
            |bytes, number| Fields::new(bytes).find(|field| field.number == number).map(|field| field.value.bytes());
        let Some(names) = field_bytes(bytes, system_info::UTSNAME) else { return };
        self.is_before_4_14 = field_bytes(names, utsname::RELEASE).is_some_and(is_before_4_14);
        self.machine = field_bytes(names, utsname::MACHINE)
            .map(|machine| String::from_utf8_lossy(machine).into_owned())
            .unwrap_or_default();
    }

    /// Parses a counter descriptor. Returns the counter, its unit, and a default name.
    fn counter(&mut self, bytes: &[u8], pos: SourcePos) -> (CounterDescriptor, Box<str>, &'static str) {
        let mut counter = CounterDescriptor { is_thread_time: false, is_incremental: false, multiplier: 1 };
        let (mut unit, mut own_unit, mut name) = ("", Box::default(), "");
        for field in Fields::new(bytes) {
            match (field.number, field.value.number()) {
                (counter_descriptor::TYPE, counter_type::COUNTER_THREAD_TIME_NS) => counter.is_thread_time = true,
                (counter_descriptor::TYPE, counter_type::COUNTER_THREAD_INSTRUCTION_COUNT) => {
                    name = "thread_instruction_count";
                }
                // A plain count is shown without a unit.
                (counter_descriptor::UNIT, counter_unit::UNIT_TIME_NS) => unit = "ns",
                (counter_descriptor::UNIT, counter_unit::UNIT_SIZE_BYTES) => unit = "bytes",
                (counter_descriptor::UNIT_MULTIPLIER, multiplier) => counter.multiplier = multiplier as i64,
                (counter_descriptor::IS_INCREMENTAL, is_incremental) => {
                    counter.is_incremental = is_incremental != 0;
                }
                (counter_descriptor::UNIT_NAME, _) => own_unit = self.text(field.value.bytes(), pos),
                _ => {}
            }
        }
        (counter, if own_unit.is_empty() { unit.into() } else { own_unit }, name)
    }

    fn text(&mut self, bytes: &[u8], pos: SourcePos) -> Box<str> {
        label(bytes, pos, &mut self.losses)
    }
}

/// Returns whether a name is the command line of a child process of Chromium.
fn is_chrome_command(name: &[u8]) -> bool {
    memchr::memmem::find(name, b" --type=").is_some()
}

/// Returns the name of the type of a process of Chromium, from its track descriptor; empty if it has none.
fn chrome_type(bytes: &[u8]) -> &'static str {
    let process = bytes.content(track_descriptor::CHROME_PROCESS).unwrap_or_default();
    match process.number(chrome_process_descriptor::PROCESS_TYPE) {
        chrome_process_type::PROCESS_BROWSER => "Browser",
        chrome_process_type::PROCESS_RENDERER => "Renderer",
        chrome_process_type::PROCESS_UTILITY => "Utility",
        chrome_process_type::PROCESS_ZYGOTE => "Zygote",
        chrome_process_type::PROCESS_SANDBOX_HELPER => "SandboxHelper",
        chrome_process_type::PROCESS_GPU => "Gpu",
        chrome_process_type::PROCESS_PPAPI_PLUGIN => "PpapiPlugin",
        chrome_process_type::PROCESS_PPAPI_BROKER => "PpapiBroker",
        _ => "",
    }
}

/// Returns whether a Linux release such as `4.9.270-g862f51bac900` is older than 4.14.
fn is_before_4_14(release: &[u8]) -> bool {
    let mut numbers = str::from_utf8(release).unwrap_or_default().split(|letter: char| !letter.is_ascii_digit());
    let mut next = || numbers.next().and_then(|number| number.parse::<u32>().ok());
    next().zip(next()).is_some_and(|version| version < (4, 14))
}

/// A thread descriptor. The oldest traces also use it to set the thread and reference time of a sequence.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct PerfettoThread<'a> {
    pub(super) pid: i64,
    pub(super) tid: i64,
    /// Whether `tid` is its id, not a number in place of a missing id.
    pub(super) has_id: bool,
    pub(super) name: &'a [u8],
    pub(super) sort_index: Option<i64>,
    pub(super) reference_us: Option<i64>,
    pub(super) reference_thread_us: Option<i64>,
    pub(super) reference_instructions: Option<i64>,
}

/// Parses a thread descriptor; returns `None` if it has no tid.
pub(super) fn thread(bytes: &[u8]) -> Option<PerfettoThread<'_>> {
    let mut descriptor = PerfettoThread { has_id: true, ..PerfettoThread::default() };
    let (mut has_pid, mut has_tid) = (false, false);
    for field in Fields::new(bytes) {
        match field.number {
            thread_descriptor::PID => (descriptor.pid, has_pid) = (field.value.signed(), true),
            thread_descriptor::TID => (descriptor.tid, has_tid) = (field.value.signed(), true),
            own_thread_descriptor::HAS_NO_ID => descriptor.has_id = field.value.number() == 0,
            thread_descriptor::LEGACY_SORT_INDEX => descriptor.sort_index = Some(field.value.signed()),
            thread_descriptor::THREAD_NAME => descriptor.name = field.value.bytes(),
            thread_descriptor::REFERENCE_TIMESTAMP_US => descriptor.reference_us = Some(field.value.signed()),
            thread_descriptor::REFERENCE_THREAD_TIME_US => descriptor.reference_thread_us = Some(field.value.signed()),
            thread_descriptor::REFERENCE_THREAD_INSTRUCTION_COUNT => {
                descriptor.reference_instructions = Some(field.value.signed());
            }
            _ => {}
        }
    }
    if !has_pid {
        descriptor.pid = descriptor.tid;
    }
    has_tid.then_some(descriptor)
}

/// Returns the uuid that a track descriptor describes, 0 without one.
pub(super) fn track_uuid(bytes: &[u8]) -> u64 {
    bytes.number(track_descriptor::UUID)
}

/// Returns the default thread for the following events of a sequence, from a thread descriptor or a thread track
/// descriptor.
pub(super) fn thread_of_writer(kind: FieldNumber, bytes: &[u8]) -> Option<PerfettoThread<'_>> {
    if kind == trace_packet::THREAD_DESCRIPTOR {
        return thread(bytes);
    }
    bytes.content(track_descriptor::THREAD).and_then(thread)
}

/// Returns whether a packet kind is a descriptor.
pub(super) fn is_description(kind: FieldNumber) -> bool {
    matches!(
        kind,
        trace_packet::PROCESS_TREE
            | trace_packet::GENERIC_KERNEL_PROCESS_TREE
            | trace_packet::PROCESS_DESCRIPTOR
            | trace_packet::THREAD_DESCRIPTOR
            | trace_packet::SYSTEM_INFO
            | trace_packet::TRACK_DESCRIPTOR
            | trace_packet::EXTENSION_DESCRIPTOR
            | trace_packet::TRANSLATION_TABLE
    )
}

fn order(number: u64) -> ChildOrder {
    match number {
        child_ordering::LEXICOGRAPHIC => ChildOrder::Name,
        child_ordering::EXPLICIT => ChildOrder::Rank,
        _ => ChildOrder::Appearance,
    }
}
