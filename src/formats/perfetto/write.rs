//! Writes events as a Perfetto trace, one packet each, in the order of the calls. All packets form one sequence; names,
//! categories, argument keys, stacks and frames are interned at first use. Never sorts, pairs or nests.
//!
//! | event | written as | |---|---| | span begin, end | a slice begin and end, on its own track or on an overlap track
//! | | instant | an instant | | counter | a value of a counter track | | flow | an id of the event that it binds to, or
//! a legacy flow event if it binds by time | | sample | a `PerfSample` with an interned callstack | | CPU run, thread
//! state | generic kernel thread state changes, if the part has the runs of all states | | group of tracks | a parent
//! track, for counters and tracks whose names begin with the name of the group | | offset to UTC | a clock snapshot | |
//! process, thread | descriptors, before all events; made-up numbers for ids that are text or missing |
//!
//! Times cannot be negative in this format, so a trace that starts before 0 is shifted to start at 0. Thread times are
//! whole microseconds.

mod rows;
mod tasks;
mod utc;

use std::io::{self, Write};

use rustc_hash::{FxHashMap, FxHashSet};
use serde_json::Value;

pub(crate) use tasks::{TaskRun, WrittenState};
use utc::push_utc_snapshot;

use super::annotate::AnnotationKeys;
use super::fields::{
    child_ordering, counter_descriptor, counter_unit, cpu_mode, interned_data, interned_string, legacy_event,
    perf_sample, perf_sample_defaults, process_descriptor, sequence_flags, thread_descriptor, timebase, trace,
    trace_packet, trace_packet_defaults, track_descriptor, track_event, track_event_type,
};
use super::interned_stacks::InternedStacks;
use super::own_fields::{own_process_descriptor, own_sample_defaults, own_thread_descriptor, own_track_event};
use super::written_groups::{WrittenGroup, WrittenGroups};
use crate::formats::protobuf::encode::{push_bytes, push_fixed64, push_message, push_number};
use crate::formats::protobuf::numbers::FieldNumber;
use crate::model::args::Detail;
use crate::model::frame_sources::FrameSources;
use crate::model::{
    Event, EventFlags, EventKind, Id, NameIdx, Names, StackIdx, Stacks, Track, TrackIdx, TrackKind, TrackTables,
};

/// The packet sequence of all packets.
const SEQUENCE: u64 = 1;
/// First number for ids that are text or missing: above the ids of real systems, within the range of the format.
const MADE_UP_IDS: i64 = 0x7000_0000;
/// Number of track index bits in a uuid; the bits above are the overlap row.
const OVERLAP_SHIFT: u32 = 32;
/// Bit that distinguishes uuids of processes from uuids of tracks.
const PROCESS_BIT: u64 = 1 << 62;
/// Bit that distinguishes uuids of groups from uuids of tracks.
const GROUP_BIT: u64 = 1 << 63;

/// A flow that binds to an event, and whether it ends there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FlowOf {
    pub(crate) id: u64,
    pub(crate) ends: bool,
}

/// Properties that samples have in common.
#[derive(Debug, Default)]
struct SampleTimebase {
    event: Box<str>,
    /// Unit of the period; empty for the unit of the event.
    unit: Box<str>,
    period: Option<u64>,
    /// Whether the times of the samples only place them side by side.
    is_untimed: bool,
}

/// Whether a name is interned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WrittenName {
    No,
    /// Without a category.
    Alone,
    WithCategory,
}

/// A row below a track for spans that do not nest; 0 is the track itself.
pub(crate) type Overlap = u32;

/// The last overlap row: uuids have 30 bits for it, below the bit of processes.
pub(crate) const OVERLAP_MAX: Overlap = (1 << 30) - 1;

/// The tables of the trace to write.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WrittenTrace<'a> {
    pub(crate) names: &'a Names,
    pub(crate) stacks: &'a Stacks,
    pub(crate) sources: &'a FrameSources<'a>,
    pub(crate) tracks: &'a TrackTables,
    /// Whether CPU runs and thread states are written as state changes, not as slices: see [`has_tasks`].
    pub(crate) has_tasks: bool,
}

impl<'a> WrittenTrace<'a> {
    /// Describes a trace that is written as a whole.
    pub(crate) fn whole(names: &'a Names, stacks: &'a Stacks, tracks: &'a TrackTables) -> Self {
        Self { names, stacks, sources: FrameSources::NONE, tracks, has_tasks: has_tasks(tracks) }
    }
}

/// Writes a trace. All writing methods return the I/O errors of the output.
#[derive(Debug)]
pub(crate) struct PerfettoWriter<'a, W> {
    out: W,
    names: &'a Names,
    tracks: &'a TrackTables,
    /// Nanoseconds added to all times.
    shift_ns: u64,
    made_up: FxHashMap<Id, i64>,
    /// The ids of the trace from [`MADE_UP_IDS`] on, which are not made up again.
    high_ids: FxHashSet<i64>,
    /// The next id to make up.
    next_made_up: i64,
    /// The first track of each thread, by process and thread id.
    threads: FxHashMap<(&'a Id, &'a Id), u32>,
    groups: WrittenGroups<'a>,
    /// Whether a name is interned, and whether it has a category, by name row.
    named: Vec<WrittenName>,
    interned_stacks: InternedStacks<'a>,
    keys: AnnotationKeys,
    /// Whether some tracks other than threads have a rank among their siblings.
    is_ordered: bool,
    /// Whether CPU runs and thread states are written as state changes, not as slices.
    has_tasks: bool,
    /// Rows that got a descriptor with their first span.
    described_rows: FxHashSet<(u32, Overlap)>,
    is_begun: bool,
    /// The properties of the last sample.
    sampled: SampleTimebase,
    /// Scratch for the current packet: defaults, interned data, message.
    defaults: Vec<u8>,
    interned: Vec<u8>,
    message: Vec<u8>,
    packet: Vec<u8>,
}

impl<'a, W: Write> PerfettoWriter<'a, W> {
    /// Writes the descriptors of processes and tracks; `shift_ns` is added to all times, since none may be before 0.
    pub(crate) fn new(out: W, trace: WrittenTrace<'a>, shift_ns: u64) -> io::Result<Self> {
        let WrittenTrace { names, stacks, sources, tracks, has_tasks } = trace;
        let mut writer = Self {
            out,
            names,
            tracks,
            shift_ns,
            made_up: FxHashMap::default(),
            high_ids: high_ids(tracks),
            next_made_up: MADE_UP_IDS,
            threads: first_threads(tracks),
            groups: WrittenGroups::new(tracks),
            named: vec![WrittenName::No; names.len()],
            interned_stacks: InternedStacks::new(names, (stacks, sources), &tracks.modules),
            keys: AnnotationKeys::default(),
            is_ordered: tracks.tracks.iter().any(has_rank),
            has_tasks,
            described_rows: FxHashSet::default(),
            is_begun: false,
            sampled: SampleTimebase::default(),
            defaults: Vec::new(),
            interned: Vec::new(),
            message: Vec::new(),
            packet: Vec::new(),
        };
        let is_nothing = tracks.processes.is_empty() && tracks.tracks.is_empty();
        if writer.is_ordered || is_nothing {
            // Tracks without a process are children of the root track. An empty trace still needs a packet, since an
            // empty file is not a trace.
            push_number(&mut writer.message, track_descriptor::UUID, 0);
            writer.order_children();
            writer.end_packet(None, trace_packet::TRACK_DESCRIPTOR)?;
        }
        if let Some(offset_ns) = tracks.utc_offset_ns {
            push_utc_snapshot(&mut writer.message, i128::from(offset_ns) - i128::from(shift_ns));
            if !writer.message.is_empty() {
                writer.end_packet(None, trace_packet::CLOCK_SNAPSHOT)?;
            }
        }
        for row in 0..tracks.processes.len() {
            writer.process(row)?;
        }
        for number in 0..writer.groups.all().len() as u32 {
            writer.group(number)?;
        }
        for (row, track) in (0u32..).zip(&tracks.tracks) {
            writer.track(row, track)?;
        }
        Ok(writer)
    }

    /// Writes the start of a span.
    pub(crate) fn begin(
        &mut self,
        span: &Event,
        overlap: Overlap,
        detail: &Detail<'_>,
        flows: &[FlowOf],
    ) -> io::Result<()> {
        self.describe_row(span, overlap)?;
        self.event(span, uuid(span.track.0, overlap), track_event_type::TYPE_SLICE_BEGIN, detail, flows);
        if span.flags.has(EventFlags::UNFINISHED) {
            push_number(&mut self.message, own_track_event::UNFINISHED_DUR_NS, span.value);
        }
        self.end_packet(Some(span.ts_ns), trace_packet::TRACK_EVENT)
    }

    /// Writes the end of a span, with the thread time if it is known.
    pub(crate) fn end(
        &mut self,
        end: &Event,
        overlap: Overlap,
        thread_ns: Option<i64>,
        flows: &[FlowOf],
    ) -> io::Result<()> {
        let unnamed = Event { name: NameIdx::EMPTY, ..*end };
        let detail = Detail { thread_ts_ns: thread_ns, ..Detail::default() };
        self.event(&unnamed, uuid(end.track.0, overlap), track_event_type::TYPE_SLICE_END, &detail, flows);
        self.end_packet(Some(end.ts_ns), trace_packet::TRACK_EVENT)
    }

    /// Writes an instant with its encoded details.
    pub(crate) fn instant(&mut self, instant: &Event, blob: &[u8], flows: &[FlowOf]) -> io::Result<()> {
        let detail = Detail::decode(blob);
        let uuid = self.track_uuid(instant);
        self.event(instant, uuid, track_event_type::TYPE_INSTANT, &detail, flows);
        self.end_packet(Some(instant.ts_ns), trace_packet::TRACK_EVENT)
    }

    pub(crate) fn counter(&mut self, value: &Event) -> io::Result<()> {
        push_number(&mut self.message, track_event::TYPE, track_event_type::TYPE_COUNTER);
        push_number(&mut self.message, track_event::TRACK_UUID, uuid(value.track.0, 0));
        push_fixed64(&mut self.message, track_event::DOUBLE_COUNTER_VALUE, value.value);
        self.end_packet(Some(value.ts_ns), trace_packet::TRACK_EVENT)
    }

    /// Writes a flow point that binds by time.
    pub(crate) fn flow(&mut self, point: &Event, overlap: Overlap) -> io::Result<()> {
        let phase = match point.kind {
            EventKind::FlowStart => b's',
            EventKind::FlowStep => b't',
            _ => b'f',
        };
        let uuid = if overlap > 0 { uuid(point.track.0, overlap) } else { self.track_uuid(point) };
        push_number(&mut self.message, track_event::TRACK_UUID, uuid);
        // All flows have the same name: points of a flow must agree in it, and the ids already distinguish flows.
        push_bytes(&mut self.message, track_event::NAME, b"flow");
        push_message(&mut self.message, track_event::LEGACY_EVENT, |bytes| {
            push_number(bytes, legacy_event::PHASE, u64::from(phase));
            push_number(bytes, legacy_event::UNSCOPED_ID, point.value);
            if point.kind == EventKind::FlowEnd && point.flags.has(EventFlags::BIND_ENCLOSING) {
                push_number(bytes, legacy_event::BIND_TO_ENCLOSING, 1);
            }
        });
        self.end_packet(Some(point.ts_ns), trace_packet::TRACK_EVENT)
    }

    /// Writes a sample with its encoded details, and its stack if it is new.
    pub(crate) fn sample(&mut self, sample: &Event, blob: &[u8]) -> io::Result<()> {
        let stack = StackIdx::from_value(sample.value);
        self.interned_stacks.intern(stack, &mut self.interned);
        let (pid, tid) = self.track_ids(sample.track.index());
        let args: Value = serde_json::from_str(Detail::decode(blob).args_json).unwrap_or_default();
        let track = self.tracks.tracks.get(sample.track.index());
        self.sample_defaults(&args, track.is_some_and(|track| track.key.is_untimed()));
        if let Some(cpu) = args["cpu"].as_u64() {
            push_number(&mut self.message, perf_sample::CPU, cpu);
        }
        let mode = match args["mode"].as_str() {
            Some("kernel") => Some(cpu_mode::MODE_KERNEL),
            Some("user") => Some(cpu_mode::MODE_USER),
            _ => None,
        };
        if let Some(mode) = mode {
            push_number(&mut self.message, perf_sample::CPU_MODE, mode);
        }
        if let Some(count) = args["count"].as_u64() {
            push_number(&mut self.message, perf_sample::TIMEBASE_COUNT, count);
        }
        push_number(&mut self.message, perf_sample::PID, pid);
        push_number(&mut self.message, perf_sample::TID, tid);
        push_number(&mut self.message, perf_sample::CALLSTACK_IID, u64::from(stack.0) + 1);
        self.end_packet(Some(sample.ts_ns), trace_packet::PERF_SAMPLE)
    }

    /// Writes event, unit and period as sample defaults, if they changed since the last sample.
    fn sample_defaults(&mut self, args: &Value, is_untimed: bool) {
        let text = |key: &str| args[key].as_str().unwrap_or_default();
        let (event, unit, period) = (text("event"), text("unit"), args["period"].as_u64());
        let last = &self.sampled;
        if (&*last.event, &*last.unit, last.period, last.is_untimed) == (event, unit, period, is_untimed) {
            return;
        }
        self.sampled = SampleTimebase { event: event.into(), unit: unit.into(), period, is_untimed };
        push_message(&mut self.defaults, trace_packet_defaults::PERF_SAMPLE_DEFAULTS, |bytes| {
            push_message(bytes, perf_sample_defaults::TIMEBASE, |bytes| {
                if let Some(period) = period {
                    push_number(bytes, timebase::PERIOD, period);
                }
                if !event.is_empty() {
                    push_bytes(bytes, timebase::NAME, event.as_bytes());
                }
            });
            if !unit.is_empty() {
                push_bytes(bytes, own_sample_defaults::PERIOD_UNIT, unit.as_bytes());
            }
            if is_untimed {
                push_number(bytes, own_sample_defaults::HAS_NO_TIMES, 1);
            }
        });
    }

    /// Flushes and returns the output.
    pub(crate) fn finish(mut self) -> io::Result<W> {
        self.out.flush()?;
        Ok(self.out)
    }

    /// Builds the message of an event.
    fn event(&mut self, event: &Event, uuid: u64, kind: u64, detail: &Detail<'_>, flows: &[FlowOf]) {
        push_number(&mut self.message, track_event::TYPE, kind);
        push_number(&mut self.message, track_event::TRACK_UUID, uuid);
        if kind != track_event_type::TYPE_SLICE_END {
            let iid = u64::from(event.name.0) + 1;
            if self.intern_name(event.name, iid) == WrittenName::WithCategory {
                push_number(&mut self.message, track_event::CATEGORY_IIDS, iid);
            }
            push_number(&mut self.message, track_event::NAME_IID, iid);
        }
        if let Some(thread_ns) = detail.thread_ts_ns {
            let us = thread_ns.div_euclid(1000).cast_unsigned();
            push_number(&mut self.message, track_event::THREAD_TIME_ABSOLUTE_US, us);
        }
        self.keys.annotate(detail.args_json, &mut self.message, &mut self.interned);
        for flow in flows {
            let field = if flow.ends { track_event::TERMINATING_FLOW_IDS } else { track_event::FLOW_IDS };
            push_fixed64(&mut self.message, field, flow.id);
        }
    }

    /// Interns the texts of a name at its first use.
    fn intern_name(&mut self, name: NameIdx, iid: u64) -> WrittenName {
        let Some(named) = self.named.get_mut(name.index()) else { return WrittenName::No };
        if *named != WrittenName::No {
            return *named;
        }
        let row = self.names.get(name);
        *named = if row.category.is_some() { WrittenName::WithCategory } else { WrittenName::Alone };
        let texts = [(interned_data::EVENT_CATEGORIES, row.category), (interned_data::EVENT_NAMES, Some(row.text))];
        for (table, text) in texts.into_iter().filter_map(|(table, text)| Some((table, text?))) {
            push_message(&mut self.interned, table, |bytes| {
                push_number(bytes, interned_string::IID, iid);
                push_bytes(bytes, interned_string::STR, text.as_bytes());
            });
        }
        *named
    }

    fn process(&mut self, row: usize) -> io::Result<()> {
        let tables = self.tracks;
        let process = &tables.processes[row];
        if process.pid == Id::None && process.name.is_empty() && !self.needs_process(row) {
            return Ok(());
        }
        let pid = self.id_number(&process.pid);
        let text = if let Id::Text(text) = &process.pid { text } else { "" };
        let name = if process.name.is_empty() { text } else { &process.name };
        push_number(&mut self.message, track_descriptor::UUID, PROCESS_BIT | row as u64);
        push_message(&mut self.message, track_descriptor::PROCESS, |bytes| {
            push_number(bytes, process_descriptor::PID, pid);
            if process.pid == Id::None {
                push_number(bytes, own_process_descriptor::HAS_NO_ID, 1);
            }
            push_bytes(bytes, process_descriptor::PROCESS_NAME, name.as_bytes());
            if !process.labels.is_empty() {
                push_bytes(bytes, process_descriptor::PROCESS_LABELS, process.labels.as_bytes());
            }
            if process.sort_index != 0 {
                push_number(bytes, process_descriptor::LEGACY_SORT_INDEX, process.sort_index.cast_unsigned());
            }
        });
        self.order_children();
        self.end_packet(None, trace_packet::TRACK_DESCRIPTOR)
    }

    /// Returns whether some track is described by its process.
    fn needs_process(&self, row: usize) -> bool {
        let needs = |track: &Track| matches!(track.key.kind, TrackKind::Thread | TrackKind::Process);
        self.tracks.tracks.iter().any(|track| track.process.index() == row && needs(track))
    }

    /// Adds an explicit child ordering to the track descriptor, if tracks are ordered.
    fn order_children(&mut self) {
        if self.is_ordered {
            push_number(&mut self.message, track_descriptor::CHILD_ORDERING, child_ordering::EXPLICIT);
        }
    }

    fn track(&mut self, row: u32, track: &Track) -> io::Result<()> {
        let is_task = self.has_tasks && matches!(track.key.kind, TrackKind::Cpu | TrackKind::State);
        let has_none = track.key.kind.is_derived() || matches!(track.key.kind, TrackKind::Global | TrackKind::Process);
        if is_task || has_none { Ok(()) } else { self.describe(row, track) }
    }

    /// Writes the descriptor of a track.
    fn describe(&mut self, row: u32, track: &Track) -> io::Result<()> {
        let (pid, tid) = self.track_ids(row as usize);
        push_number(&mut self.message, track_descriptor::UUID, uuid(row, 0));
        if track.key.kind == TrackKind::Thread {
            push_message(&mut self.message, track_descriptor::THREAD, |bytes| {
                push_number(bytes, thread_descriptor::PID, pid);
                push_number(bytes, thread_descriptor::TID, tid);
                if track.key.tid == Id::None {
                    push_number(bytes, own_thread_descriptor::HAS_NO_ID, 1);
                }
                let text = if let Id::Text(text) = &track.key.tid { text } else { "" };
                let name = if track.name.is_empty() { text } else { &track.name };
                if !name.is_empty() {
                    push_bytes(bytes, thread_descriptor::THREAD_NAME, name.as_bytes());
                }
                if track.sort_index != 0 {
                    push_number(bytes, thread_descriptor::LEGACY_SORT_INDEX, track.sort_index.cast_unsigned());
                }
            });
            self.order_children();
            return self.end_packet(None, trace_packet::TRACK_DESCRIPTOR);
        }
        let group = self.groups.number(row).map(group_uuid);
        if let Some(parent) = group.or_else(|| self.owner(track)) {
            push_number(&mut self.message, track_descriptor::PARENT_UUID, parent);
        }
        let name = if track.key.kind == TrackKind::State { "state" } else { self.groups.name_below(row, track) };
        push_bytes(&mut self.message, track_descriptor::NAME, name.as_bytes());
        if track.key.kind == TrackKind::Counter {
            let unit = self.tracks.units.get(&TrackIdx(row)).map_or("", |unit| &**unit);
            push_message(&mut self.message, track_descriptor::COUNTER, |bytes| match unit {
                "" => {}
                "ns" => push_number(bytes, counter_descriptor::UNIT, counter_unit::UNIT_TIME_NS),
                "bytes" => push_number(bytes, counter_descriptor::UNIT, counter_unit::UNIT_SIZE_BYTES),
                unit => push_bytes(bytes, counter_descriptor::UNIT_NAME, unit.as_bytes()),
            });
        }
        if has_rank(track) {
            push_number(&mut self.message, track_descriptor::SIBLING_ORDER_RANK, track.sort_index.cast_unsigned());
        }
        self.end_packet(None, trace_packet::TRACK_DESCRIPTOR)
    }

    /// Returns the uuid of the thread or process of a track.
    fn owner(&self, track: &Track) -> Option<u64> {
        let of_thread = track.key.tid != Id::None && track.key.kind != TrackKind::Cpu;
        let thread = self.threads.get(&(&track.key.pid, &track.key.tid)).filter(|_| of_thread);
        match thread {
            Some(&thread) => Some(uuid(thread, 0)),
            None => (track.key.pid != Id::None).then_some(PROCESS_BIT | u64::from(track.process.0)),
        }
    }

    /// Writes the descriptor of a group.
    fn group(&mut self, number: u32) -> io::Result<()> {
        let WrittenGroup { path, outer, first, rank } = self.groups.all()[number as usize];
        push_number(&mut self.message, track_descriptor::UUID, group_uuid(number));
        if let Some(parent) = outer.map(group_uuid).or_else(|| self.owner(first)) {
            push_number(&mut self.message, track_descriptor::PARENT_UUID, parent);
        }
        push_bytes(&mut self.message, track_descriptor::NAME, path.name().as_bytes());
        if rank != 0 {
            push_number(&mut self.message, track_descriptor::SIBLING_ORDER_RANK, rank.cast_unsigned());
        }
        self.order_children();
        self.end_packet(None, trace_packet::TRACK_DESCRIPTOR)
    }

    /// Returns the track uuid of an event: a track, its process, or 0 for the root track.
    fn track_uuid(&self, event: &Event) -> u64 {
        match self.tracks.tracks.get(event.track.index()) {
            Some(track) if track.key.kind == TrackKind::Global => 0,
            Some(track) if track.key.kind == TrackKind::Process => PROCESS_BIT | u64::from(track.process.0),
            _ => uuid(event.track.0, 0),
        }
    }

    fn track_ids(&mut self, track: usize) -> (u64, u64) {
        let tables = self.tracks;
        let Some(track) = tables.tracks.get(track) else { return (0, 0) };
        (self.id_number(&track.key.pid), self.id_number(&track.key.tid))
    }

    /// Returns the number of an id, or a generated one for text and for a missing id, since 0 is the idle process.
    fn id_number(&mut self, id: &Id) -> u64 {
        let number = match id {
            Id::Number(number) => *number,
            Id::None | Id::Text(_) => {
                let Self { made_up, high_ids, next_made_up, .. } = self;
                *made_up.entry(id.clone()).or_insert_with(|| {
                    let mut new = *next_made_up;
                    while high_ids.contains(&new) {
                        new += 1;
                    }
                    *next_made_up = new + 1;
                    new
                })
            }
        };
        number.cast_unsigned()
    }

    /// Writes a packet with the current message in the field `field`.
    fn end_packet(&mut self, ts_ns: Option<i64>, field: FieldNumber) -> io::Result<()> {
        let begun = std::mem::replace(&mut self.is_begun, true);
        let Self { packet, message, defaults, interned, shift_ns, .. } = self;
        packet.clear();
        push_message(packet, trace::PACKET, |bytes| {
            if let Some(ts_ns) = ts_ns {
                push_number(bytes, trace_packet::TIMESTAMP, ts_ns.cast_unsigned().wrapping_add(*shift_ns));
            }
            push_number(bytes, trace_packet::TRUSTED_PACKET_SEQUENCE_ID, SEQUENCE);
            // The first packet clears the incremental state, all others need it.
            push_number(
                bytes,
                trace_packet::SEQUENCE_FLAGS,
                if begun {
                    sequence_flags::SEQ_NEEDS_INCREMENTAL_STATE
                } else {
                    sequence_flags::SEQ_INCREMENTAL_STATE_CLEARED
                },
            );
            if !interned.is_empty() {
                push_bytes(bytes, trace_packet::INTERNED_DATA, interned);
            }
            if !defaults.is_empty() {
                push_bytes(bytes, trace_packet::TRACE_PACKET_DEFAULTS, defaults);
            }
            push_bytes(bytes, field, message);
        });
        self.out.write_all(packet)?;
        message.clear();
        interned.clear();
        defaults.clear();
        Ok(())
    }
}

/// Returns whether CPU runs and thread states can be written as state changes. They need numeric ids, and states need
/// runs, since a running thread has a CPU. A thread without a process would get one. State changes do not name a file,
/// so state changes of several files would be mixed up.
pub(crate) fn has_tasks(tracks: &TrackTables) -> bool {
    let tracks_of_kind = |kind| tracks.tracks.iter().filter(move |track| track.key.kind == kind);
    let is_number = |track: &Track| matches!(track.key.tid, Id::Number(_));
    let is_cpu = |track: &Track| is_number(track) && track.key.pid == Id::None;
    let is_task = |track: &Track| is_number(track) && track.key.pid != Id::None;
    let file_of = |track: &Track| tracks.processes.get(track.process.index()).and_then(|process| process.file.clone());
    let mut state_files = tracks_of_kind(TrackKind::State).map(file_of);
    let first_file = state_files.next();
    tracks_of_kind(TrackKind::Cpu).next().is_some()
        && tracks_of_kind(TrackKind::Cpu).all(is_cpu)
        && tracks_of_kind(TrackKind::State).all(is_task)
        && state_files.all(|file| Some(file) == first_file)
}

/// Returns the ids of processes and threads from [`MADE_UP_IDS`] on, as an export that is read again has them.
fn high_ids(tracks: &TrackTables) -> FxHashSet<i64> {
    let ids = tracks.tracks.iter().flat_map(|track| [&track.key.pid, &track.key.tid]);
    let ids = ids.chain(tracks.processes.iter().map(|process| &process.pid));
    let numbers = ids.filter_map(|id| if let Id::Number(number) = id { Some(*number) } else { None });
    numbers.filter(|&number| number >= MADE_UP_IDS).collect()
}

/// Returns the first track of each thread.
fn first_threads(tracks: &TrackTables) -> FxHashMap<(&Id, &Id), u32> {
    let mut threads = FxHashMap::default();
    for (row, track) in (0u32..).zip(&tracks.tracks).filter(|(_, track)| track.key.kind == TrackKind::Thread) {
        threads.entry((&track.key.pid, &track.key.tid)).or_insert(row);
    }
    threads
}

/// Returns whether a track has a rank among its siblings; threads have a sort index instead.
fn has_rank(track: &Track) -> bool {
    track.sort_index != 0 && track.key.kind != TrackKind::Thread && !track.key.kind.is_derived()
}

fn uuid(track: u32, overlap: Overlap) -> u64 {
    // Not 0, which is the root track.
    u64::from(overlap) << OVERLAP_SHIFT | (u64::from(track) + 1)
}

fn group_uuid(number: u32) -> u64 {
    GROUP_BIT | u64::from(number)
}
