//! Converts packets to batches of events. Several threads parse blocks of packets. One thread interprets them in order,
//! since packets depend on earlier packets, while the thread that accepts the batches sorts them.

use std::thread;

use crossbeam_channel::bounded;
use rustc_hash::FxHashMap;

use super::clocks::{Clocks, MONOTONIC, Time};
use super::descriptors;
use super::emit::{EmitBatch, emit_if_full, take_batch};
use super::event_builder::{PerfettoEventBuilder, TrackEvent};
use super::facts::facts;
use super::fields::trace_packet;
use super::ftrace::{SystemEventBuilder, SystemState};
use super::groups::track_groups;
use super::heap_profile::HeapProfiles;
use super::interned::InternRoom;
use super::legacy_event::Legacy;
use super::order::sort_indices;
use super::packet_kinds::{is_about_the_recording, unread_data};
use super::packets::{BUNDLES_MAX, Bundle, PACKET_BYTES_MAX, PacketBlock, PacketPart, Packets};
use super::parse::{PacketFields, PacketTable, ParsedBlock, ParsedBundle, RareFields};
use super::profile::{PerfettoSample, streamed};
use super::sequence::Sequence;
use super::sniff::looks_like_perfetto;
use super::tracks::{LaterDescriptors, PerfettoTracks, SecondPass};
use crate::base::budget_shares::BudgetShare;
use crate::base::cancel::Cancelled;
use crate::base::progress::Progress;
use crate::base::threads::start_scoped;
use crate::formats::format::{ArrivalKey, DataKind, Format, Opener};
use crate::formats::input::ahead::{in_order, jobs_ahead};
use crate::formats::input::lengths::saturating_len;
use crate::formats::input::source::Source;
use crate::formats::output::args::ArgsWriter;
use crate::formats::output::batch::BatchBuilder;
use crate::formats::output::modules::FrameModules;
use crate::formats::profiles::v8_parts::{ProfilePart, Profiles};
use crate::formats::protobuf::numbers::FieldNumber;
use crate::formats::{BatchSink, ChunkLimits, ReadContext, ReadError, Reader, StreamReader};
use crate::model::{Loss, LossValue, Losses, Metadata, SourcePos, StackIdx};

/// Limit for packet sequences; usual recordings have a few thousand.
const SEQUENCES_MAX: usize = 1 << 18;

/// Queue length of unsorted batches, a few MiB each: enough to absorb differences between batches.
const BATCHES_AHEAD: usize = 4;

/// Typical memory of a parsed block: eight times its bytes.
const BLOCK_MEMORY_BYTES: u64 = 512 << 10;

/// Events in a batch. Large, since each batch looks up all interned names again.
const BATCH_EVENTS: usize = 64 * 1024;

/// Message about the packets of another machine.
const MACHINES: &str = "The trace has packets of several machines (machine_id); processes, threads and CPUs with the same number are shown as one.";

pub(crate) const FORMAT: Format = Format {
    name: "Perfetto",
    record: "A record is a TracePacket message in field 1.",
    sniff: looks_like_perfetto,
    is_event: None,
    live: Some(ArrivalKey::End),
    shows: &DataKind::ALL,
    opener: Opener::Trace(|source, _| Ok(open(source))),
};

/// Creates a reader for a Perfetto trace.
fn open(source: Source) -> Reader {
    Reader::stream(Perfetto { source })
}

struct Perfetto {
    source: Source,
}

impl StreamReader for Perfetto {
    fn read(self: Box<Self>, sink: &mut dyn BatchSink, context: &ReadContext) -> Result<(), ReadError> {
        let mut source = Some(self.source);
        if context.threads > 1
            && let Some(read) = read_on_thread(&mut source, sink, context)
        {
            return read;
        }
        let Some(source) = source else { return Ok(()) };
        decode(source, context, &mut |mut batch| {
            batch.chunk.sort();
            sink.accept(batch)
        })
    }
}

/// Decodes on another thread. Returns `None`, and leaves the source, if none can be started.
fn read_on_thread(
    source: &mut Option<Source>,
    sink: &mut dyn BatchSink,
    context: &ReadContext,
) -> Option<Result<(), ReadError>> {
    thread::scope(|scope| {
        let (batches, decoded) = bounded(BATCHES_AHEAD);
        let decoding = start_scoped(scope, "decode", move || {
            let Some(source) = source.take() else { return Ok(()) };
            // The receiver is gone once the sink has failed.
            decode(source, context, &mut |batch| batches.send(batch).map_err(|_| ReadError::Cancelled(Cancelled)))
        });
        let decoding = decoding.ok()?;
        for mut batch in &decoded {
            batch.chunk.sort();
            if let Err(error) = sink.accept(batch) {
                drop(decoded);
                return Some(Err(error));
            }
        }
        Some(match decoding.join() {
            Ok(decoded) => decoded,
            Err(panic) => std::panic::resume_unwind(panic),
        })
    })
}

/// Decodes a trace and emits unsorted batches in order.
fn decode(source: Source, context: &ReadContext, emit: EmitBatch<'_>) -> Result<(), ReadError> {
    let is_live = source.is_live();
    let later = if is_live {
        LaterDescriptors::Unknown
    } else {
        let quietly = ReadContext { progress: Progress::default(), ..context.clone() };
        LaterDescriptors::Unread(SecondPass { path: source.path().into(), context: quietly })
    };
    let mut decoder = Decoder::new(later, context);
    let mut packets = Packets::new(source, &context.cancel);
    let affordable = BudgetShare::PerfettoBlocks.bytes(&context.budget) / BLOCK_MEMORY_BYTES;
    let threads = context.threads;
    let ahead = saturating_len(affordable).clamp(2, jobs_ahead(threads));
    // Buffers of finished blocks, for reuse.
    let (spare, spares) = bounded(ahead);
    let next = || {
        let (block, table) = spares.try_recv().unwrap_or_default();
        let next = match context.cancel.check() {
            Ok(()) => packets.next(block).transpose()?,
            Err(cancelled) => Err(cancelled.into()),
        };
        Some((next, table))
    };
    let parse = |(block, table): (Result<PacketBlock, ReadError>, PacketTable)| {
        block.map(|block| {
            let parsed = ParsedBlock::parse(block, table);
            let charge = context.budget.charge(parsed.memory_bytes());
            (parsed, charge)
        })
    };
    in_order((threads, ahead), next, parse, |parsed| -> Result<(), ReadError> {
        let (mut parsed, _charge) = parsed?;
        decoder.decode_block(&mut parsed, emit)?;
        if is_live {
            decoder.emit_if_any(emit)?;
        }
        // The queue may be full.
        spare.try_send((parsed.block, parsed.table)).ok();
        Ok(())
    })?;
    decoder.finish(emit, &packets.losses)
}

/// The packet sequences of a trace, in order of first appearance.
#[derive(Debug, Default)]
struct Sequences {
    #[expect(clippy::vec_box, reason = "a vector of large values is in memory twice while it grows")]
    all: Vec<Box<Sequence>>,
    rows: FxHashMap<u32, usize>,
    /// The sequence of the previous packet, which is often the next too.
    recent: Option<(u32, usize)>,
}

impl Sequences {
    /// Returns the row of a sequence, adding it if needed; `None` if there are too many.
    #[inline]
    fn sequence_row(&mut self, id: u32) -> Option<usize> {
        if let Some((recent, row)) = self.recent
            && recent == id
        {
            return Some(row);
        }
        let row = match self.rows.get(&id) {
            Some(&row) => row,
            None if self.all.len() >= SEQUENCES_MAX => return None,
            None => {
                self.all.push(Box::default());
                self.rows.insert(id, self.all.len() - 1);
                self.all.len() - 1
            }
        };
        self.recent = Some((id, row));
        Some(row)
    }
}

/// Interprets packets in order, with the state that they share.
struct Decoder {
    sequences: Sequences,
    intern_room: InternRoom,
    clocks: Clocks,
    tracks: PerfettoTracks,
    state: SystemState,
    modules: FrameModules,
    batch: BatchBuilder,
    args: ArgsWriter,
    v8_profiles: Profiles,
    /// Limit for the bytes of profile parts that wait for earlier parts.
    v8_bytes_max: u64,
    /// The machine of the first packet.
    machine: Option<u32>,
    has_machines: bool,
}

impl Decoder {
    fn new(later: LaterDescriptors, context: &ReadContext) -> Self {
        Self {
            sequences: Sequences::default(),
            intern_room: InternRoom::new(&context.budget),
            clocks: Clocks::default(),
            state: SystemState::new(&context.budget, matches!(later, LaterDescriptors::Unknown)),
            modules: FrameModules::default(),
            v8_profiles: Profiles::new(context.chunk_limits),
            v8_bytes_max: BudgetShare::V8Profiles.bytes(&context.budget),
            batch: BatchBuilder::with_shared_names(ChunkLimits {
                batch_events: context.chunk_limits.batch_events.or(Some(BATCH_EVENTS)),
                ..context.chunk_limits
            }),
            tracks: PerfettoTracks::new(later),
            args: ArgsWriter::default(),
            machine: None,
            has_machines: false,
        }
    }

    fn decode_block(&mut self, parsed: &mut ParsedBlock, emit: EmitBatch<'_>) -> Result<(), ReadError> {
        let mut bundles = std::mem::take(&mut parsed.bundles).into_iter().peekable();
        for (row, fields) in parsed.table.packets.iter().enumerate() {
            if Bundle::is_bundle(fields.kind) {
                let unpacked = bundles.next_if(|&(bundle_row, _)| bundle_row == row).map(|(_, bundle)| bundle);
                let unpacked =
                    unpacked.unwrap_or_else(|| ParsedBundle::unpack(fields, &parsed.block, PACKET_BYTES_MAX));
                self.bundle(unpacked, 1, emit)?;
            } else {
                self.decode_packet(fields, parsed.table.rare_fields(fields), &parsed.block, emit)?;
            }
        }
        Ok(())
    }

    /// Emits the events so far, of a live trace whose next packets may not arrive for a long time.
    fn emit_if_any(&mut self, emit: EmitBatch<'_>) -> Result<(), ReadError> {
        if self.batch.is_empty() { Ok(()) } else { emit(take_batch(&mut self.batch, &mut self.tracks)) }
    }

    /// Decodes the packets of a bundle that is nested in `depth` - 1 other bundles.
    fn bundle(&mut self, mut unpacked: ParsedBundle, depth: u32, emit: EmitBatch<'_>) -> Result<(), ReadError> {
        loop {
            let block = &unpacked.bundle.block;
            for fields in &unpacked.table.packets {
                if !Bundle::is_bundle(fields.kind) {
                    self.decode_packet(fields, unpacked.table.rare_fields(fields), block, emit)?;
                } else if depth < BUNDLES_MAX {
                    self.bundle(ParsedBundle::unpack(fields, block, PACKET_BYTES_MAX), depth + 1, emit)?;
                } else {
                    self.batch.lose(Loss::DeepNesting, block.pos(fields.at));
                }
            }
            if !unpacked.next() {
                break;
            }
        }
        self.batch.losses().merge(&unpacked.bundle.losses);
        Ok(())
    }

    /// Decodes a packet that is not a bundle. Emits the batch if it is full.
    fn decode_packet(
        &mut self,
        fields: &PacketFields,
        rare: &RareFields,
        block: &PacketBlock,
        emit: EmitBatch<'_>,
    ) -> Result<(), ReadError> {
        self.packet(fields, rare, block, emit)?;
        if let Some(error) = self.tracks.failure() {
            return Err(error);
        }
        self.apply_v8_profiles(self.v8_bytes_max, emit)?;
        emit_if_full(&mut self.batch, &mut self.tracks, emit)
    }

    /// Adds the samples of the earliest parts of V8 profiles, until the others have at most these bytes.
    #[inline]
    fn apply_v8_profiles(&mut self, bytes_max: u64, emit: EmitBatch<'_>) -> Result<(), ReadError> {
        while self.v8_profiles.apply_earliest(bytes_max) {
            if let Some(samples) = self.v8_profiles.full_batch() {
                self.batch.extend_metadata(self.tracks.take_units());
                emit(self.batch.take_batch_before_others())?;
                emit(samples)?;
            }
        }
        Ok(())
    }

    /// Decodes a packet. Emits full batches within it, since a bundle may have millions of events.
    fn packet(
        &mut self,
        fields: &PacketFields,
        rare: &RareFields,
        block: &PacketBlock,
        emit: EmitBatch<'_>,
    ) -> Result<(), ReadError> {
        let pos = block.pos(fields.at);
        let in_block = |part: PacketPart| part.in_block(&block.bytes);
        let data = fields.data.map_or(&[][..], in_block);
        if fields.is_broken {
            self.batch.lose(Loss::BadRecord, pos);
        }
        let is_of_first_machine = *self.machine.get_or_insert(rare.machine) == rare.machine;
        if !is_of_first_machine && !self.has_machines {
            self.has_machines = true;
            self.batch.losses().add_because(MACHINES, Loss::IgnoredMetadata, pos);
        }
        // Descriptors do not depend on earlier packets.
        if descriptors::is_description(fields.kind) {
            self.tracks.describe(fields.kind, data, pos, &mut self.batch);
            if is_of_first_machine {
                self.batch.extend_metadata(facts(fields.kind, data, fields.sequence, &mut self.clocks));
            }
        }
        let Some(row) = self.sequences.sequence_row(fields.sequence) else {
            self.batch.lose(Loss::OverLimit, pos);
            return Ok(());
        };
        self.update_sequence(row, fields, rare, block);
        let sequence = &self.sequences.all[row];
        if fields.needs_state && !sequence.is_valid {
            self.batch.lose(Loss::MissingState, pos);
            return Ok(());
        }
        if fields.kind == trace_packet::CLOCK_SNAPSHOT {
            self.clocks.snapshot(fields.sequence, data, pos, self.batch.losses());
            return Ok(());
        }
        let clock = fields.clock.map(u64::from).or(sequence.defaults.clock);
        // Converts every time, even if it is unused: the next time of an incremental clock is relative to it.
        let time = fields.timestamp.map(|raw| self.clocks.time(fields.sequence, clock, raw));
        if fields.kind == trace_packet::TRACK_EVENT {
            let legacy = rare.legacy.map(|part| Legacy::read(in_block(part)));
            let event = TrackEvent::new(data, &fields.event, rare, legacy.as_ref(), &block.bytes);
            self.track_event(&event, time, (fields.sequence, row), pos);
        } else if fields.kind == trace_packet::FTRACE_EVENTS {
            self.system_events(fields.sequence, Some(row), pos).bundle(data, emit)?;
        } else {
            self.other_packet(fields, data, time, row, pos);
        }
        Ok(())
    }

    /// Adds the state of a packet to its sequence, and counts packets that the recorder lost.
    #[inline]
    fn update_sequence(&mut self, row: usize, fields: &PacketFields, rare: &RareFields, block: &PacketBlock) {
        let pos = block.pos(fields.at);
        let sequence = &mut self.sequences.all[row];
        if fields.is_cleared {
            sequence.clear(&mut self.intern_room);
        } else if fields.was_dropped {
            sequence.is_valid = false;
        }
        // The first packet of a sequence has this flag too, although no packet is lost.
        if fields.was_dropped && sequence.is_known {
            self.batch.lose(Loss::RecorderLost, pos);
        }
        sequence.is_known = true;
        if let Some(interned) = rare.interned
            && let Some(loss) = sequence.intern(interned.in_block(&block.bytes), &mut self.intern_room)
        {
            self.batch.lose(loss, pos);
        }
        if let Some(defaults) = rare.defaults {
            sequence.set_defaults(defaults.in_block(&block.bytes));
        }
    }

    /// Decodes a packet that is not a track event.
    #[inline(never)]
    fn other_packet(&mut self, fields: &PacketFields, data: &[u8], time: Option<Time>, row: usize, pos: SourcePos) {
        match fields.kind {
            trace_packet::PERF_SAMPLE => self.perf_sample(data, time, row, pos),
            trace_packet::STREAMING_PROFILE_PACKET => self.streamed_samples(data, (fields.sequence, row), pos),
            trace_packet::PROFILE_PACKET => self.heap_profile(data, time, (fields.sequence, row), pos),
            // The thread of the descriptor becomes the default thread of the sequence.
            trace_packet::TRACK_DESCRIPTOR | trace_packet::THREAD_DESCRIPTOR => {
                self.describe_sequence(fields.kind, data, row);
            }
            FieldNumber::NONE => {}
            kind if is_about_the_recording(kind) => {}
            kind if self.system_events(fields.sequence, Some(row), pos).packet(kind, time, data) => {}
            kind => {
                let unread = unread_data(kind).map(|name| (Loss::UnreadPacket, LossValue::text(name)));
                let ignored = || (Loss::IgnoredPacket, LossValue::Number("packet", kind.get().into()));
                let (loss, value) = unread.unwrap_or_else(ignored);
                self.batch.lose_value(loss, value, pos);
            }
        }
    }

    fn heap_profile(&mut self, data: &[u8], time: Option<Time>, (id, row): (u32, usize), pos: SourcePos) {
        let sequence = &mut self.sequences.all[row];
        let (tracks, clocks, modules) = (&mut self.tracks, &mut self.clocks, &mut self.modules);
        let (batch, args) = (&mut self.batch, &mut self.args);
        HeapProfiles { sequence, tracks, clocks, modules, batch, args, pos }.packet(id, time, data);
    }

    /// Sets the thread of a sequence, and the times that its next events are relative to.
    fn describe_sequence(&mut self, kind: FieldNumber, data: &[u8], row: usize) {
        let Some(thread) = descriptors::thread_of_writer(kind, data) else { return };
        let sequence = &mut self.sequences.all[row];
        let described = Some((self.tracks.process_now(thread.pid), thread.tid));
        match kind {
            trace_packet::THREAD_DESCRIPTOR => sequence.thread = described,
            _ => sequence.described_thread = described,
        }
        sequence.newest_us = thread.reference_us.unwrap_or(sequence.newest_us);
        sequence.newest_thread_us = thread.reference_thread_us.unwrap_or(sequence.newest_thread_us);
        sequence.newest_instructions = thread.reference_instructions.unwrap_or(sequence.newest_instructions);
    }

    fn track_event(&mut self, event: &TrackEvent<'_>, time: Option<Time>, (id, row): (u32, usize), pos: SourcePos) {
        let time = time.or_else(|| {
            let ns = event.own_us(&mut self.sequences.all[row])?.checked_mul(1000)?;
            Some(u64::try_from(ns).map_or(Time::Bad, |ns| self.clocks.time(id, Some(MONOTONIC), ns)))
        });
        let Some(ts_ns) = self.usable_time(time, pos) else { return };
        let sequence = &mut self.sequences.all[row];
        let (tracks, batch, args) = (&mut self.tracks, &mut self.batch, &mut self.args);
        let mut events = PerfettoEventBuilder { sequence, tracks, batch, args, pos };
        let Some(part) = events.profile_part(event, ts_ns) else { return events.track_event(event, ts_ns) };
        // V8 has its own times, of this clock.
        let clock_shift_ns = self.clocks.shift_ns(id, MONOTONIC, ts_ns);
        self.v8_profiles.push(ProfilePart { clock_shift_ns, ..part });
    }

    /// Returns a usable time, and counts a loss for others.
    fn usable_time(&mut self, time: Option<Time>, pos: SourcePos) -> Option<i64> {
        time.unwrap_or(Time::Bad).usable(&mut self.batch, pos)
    }

    fn perf_sample(&mut self, bytes: &[u8], time: Option<Time>, row: usize, pos: SourcePos) {
        let sample = PerfettoSample::read(bytes);
        self.batch.losses().add_many(Loss::RecorderLost, pos, sample.lost.max(sample.is_skipped.into()));
        if sample.lost > 0 || sample.is_skipped {
            return;
        }
        let Some(ts_ns) = self.usable_time(time, pos) else { return };
        let sequence = &mut self.sequences.all[row];
        let stack = match sample.callstack {
            Some(iid) => sequence.stacks.stack(iid, &mut self.modules, &mut self.batch, pos),
            None => Some(StackIdx::EMPTY),
        };
        let Some(stack) = stack else { return self.batch.lose(Loss::MissingText, pos) };
        let is_untimed = self.sequences.all[row].defaults.samples.is_untimed;
        let track = self.tracks.sampled_thread(sample.pid, sample.tid, is_untimed);
        let track = self.batch.track(track, &self.tracks);
        self.args.clear();
        self.sequences.all[row].defaults.samples.write_measure(&mut self.args);
        if let Some(cpu) = sample.cpu {
            self.args.number("cpu", cpu);
        }
        if let Some(mode) = sample.mode() {
            self.args.text("mode", mode.as_bytes());
        }
        self.sequences.all[row].defaults.samples.write_counts(bytes, &mut self.args);
        let detail = self.batch.args(self.args.finish());
        self.batch.push_sample(ts_ns, track, stack, detail);
    }

    /// Adds samples of the sequence's thread. Each has the time since the previous sample. The time of the packet is
    /// ignored, since it is the time of writing.
    fn streamed_samples(&mut self, bytes: &[u8], (id, row): (u32, usize), pos: SourcePos) {
        let sequence = &mut self.sequences.all[row];
        let track = sequence.any_thread().cloned().map(|(pid, tid)| self.tracks.thread_of(pid, tid));
        let track = track.map(|track| self.batch.track(track, &self.tracks));
        for (iid, later_us) in streamed(bytes) {
            // Added even if the sample is not shown: later samples are relative to it.
            sequence.newest_us = sequence.newest_us.wrapping_add(later_us);
            let Some(track) = track else {
                self.batch.lose(Loss::MissingState, pos);
                continue;
            };
            let stack = iid.and_then(|iid| sequence.stacks.stack(iid, &mut self.modules, &mut self.batch, pos));
            let Some(stack) = stack else {
                self.batch.lose(Loss::MissingText, pos);
                continue;
            };
            let raw = sequence.newest_us.checked_mul(1000).and_then(|ns| u64::try_from(ns).ok());
            let time = raw.map_or(Time::Bad, |ns| self.clocks.time(id, Some(MONOTONIC), ns));
            if let Some(ts_ns) = time.usable(&mut self.batch, pos) {
                self.batch.push_sample(ts_ns, track, stack, 0);
            }
        }
    }

    fn system_events(&mut self, sequence: u32, row: Option<usize>, pos: SourcePos) -> SystemEventBuilder<'_> {
        let (state, clocks) = (&mut self.state, &mut self.clocks);
        let texts = row.and_then(|row| self.sequences.all.get(row)).map(|sequence| &sequence.texts);
        let (tracks, batch) = (&mut self.tracks, &mut self.batch);
        SystemEventBuilder { state, clocks, tracks, batch, texts, sequence, pos }
    }

    fn add_metadata(&mut self, metadata: Metadata, emit: EmitBatch<'_>) -> Result<(), ReadError> {
        self.batch.add_metadata(metadata);
        emit_if_full(&mut self.batch, &mut self.tracks, emit)
    }

    fn finish(mut self, emit: EmitBatch<'_>, losses: &Losses) -> Result<(), ReadError> {
        self.system_events(0, None, SourcePos::Offset(0)).finish(emit)?;
        self.batch.losses().merge(losses);
        let children = self.tracks.children();
        let (indices, groups) = (sort_indices(&self.tracks, &children), track_groups(&self.tracks, &children));
        drop(children);
        for (track, sort_index) in indices {
            self.add_metadata(Metadata::TrackSortIndex { key: self.tracks.key(track).clone(), sort_index }, emit)?;
        }
        for (track, group) in groups {
            self.add_metadata(Metadata::TrackGroup { key: self.tracks.key(track).clone(), group }, emit)?;
        }
        if let Some(offset_ns) = self.clocks.utc_offset_ns() {
            self.batch.add_metadata(Metadata::Utc { offset_ns });
        }
        self.apply_v8_profiles(0, emit)?;
        self.v8_profiles.finish();
        emit(take_batch(&mut self.batch, &mut self.tracks))?;
        let samples = self.v8_profiles.rest();
        let has_samples = !samples.chunk.events.is_empty() || !samples.losses.is_empty();
        if has_samples { emit(samples) } else { Ok(()) }
    }
}
