//! Packets in the order of the capture -> batches of events. One thread decodes, since each packet builds on those before
//! it; the thread that takes the batches sorts them meanwhile.

use std::thread;

use crossbeam_channel::bounded;
use rustc_hash::FxHashMap;

use super::clocks::{Clocks, MONOTONIC, Time};
use super::descriptors::{self, PACKETS_PER_CHECK};
use super::ftrace::{Kernel, Taker};
use super::packets::{Bundle, Packet, Packets, unpack_bundle};
use super::profile::{PerfSample, streamed};
use super::sequence::Sequence;
use super::track_event::{Maker, TrackEvent};
use super::tracks::{Rest, Tracks};
use super::wire::{Fields, Value};
use crate::base::cancel::Cancelled;
use crate::base::progress::Progress;
use crate::formats::args::ArgsWriter;
use crate::formats::batch::BatchBuilder;
use crate::formats::source::Source;
use crate::formats::{BatchSink, Grain, ReadContext, ReadError, Reader, StreamReader};
use crate::model::args::Detail;
use crate::model::{Batch, Loss, Losses, Place, StackIdx};

/// A recording has some thousand writers; more is an attack.
const SEQUENCES_MAX: usize = 1 << 18;

/// Batches that wait to be sorted, some MiB: enough that neither thread waits for the other's worst batch.
const BATCHES_AHEAD: usize = 4;

/// Events of a batch. A writer interns its names once, and each batch has to look each of them up again.
const BATCH_EVENTS: usize = 64 * 1024;

/// Makes a reader of a Perfetto capture.
#[must_use]
pub fn open(source: Source) -> Reader {
    Reader::Stream(Box::new(Perfetto { source: Some(source) }))
}

/// A capture of Perfetto.
struct Perfetto {
    source: Option<Source>,
}

impl StreamReader for Perfetto {
    fn read(&mut self, sink: &mut dyn BatchSink, context: &ReadContext) -> Result<(), ReadError> {
        let Some(source) = self.source.take() else { return Ok(()) };
        if context.threads < 2 {
            return decode(source, context, &mut |mut batch| {
                batch.chunk.sort();
                sink.accept(batch)
            });
        }
        thread::scope(|scope| {
            let (batches, decoded) = bounded(BATCHES_AHEAD);
            let decoding = scope.spawn(move || {
                // Nobody waits once what takes the batches has failed.
                decode(source, context, &mut |batch| batches.send(batch).map_err(|_| ReadError::Cancelled(Cancelled)))
            });
            for mut batch in &decoded {
                batch.chunk.sort();
                if let Err(error) = sink.accept(batch) {
                    drop(decoded);
                    return Err(error);
                }
            }
            match decoding.join() {
                Ok(decoded) => decoded,
                Err(panic) => std::panic::resume_unwind(panic),
            }
        })
    }
}

/// Takes a batch that is full.
type Hand<'h> = &'h mut dyn FnMut(Batch) -> Result<(), ReadError>;

/// Goes through a capture, handing on batches in its order, each unsorted.
fn decode(source: Source, context: &ReadContext, hand: Hand<'_>) -> Result<(), ReadError> {
    let quietly = ReadContext { progress: Progress::default(), ..context.clone() };
    let mut decoder = Decoder::new(Rest { path: source.path().into(), context: quietly });
    let mut packets = Packets::of(source);
    let mut count = 0u64;
    while let Some(packet) = packets.next()? {
        count += 1;
        if count.is_multiple_of(PACKETS_PER_CHECK) {
            context.cancel.check()?;
        }
        decoder.take(packet, 0, hand)?;
    }
    decoder.finish(hand, &packets.losses)
}

/// The writers of a capture, in order of first appearance.
#[derive(Debug, Default)]
struct Sequences {
    all: Vec<Sequence>,
    rows: FxHashMap<u32, usize>,
    /// The writer of the packet before, which often has the next one too.
    recent: Option<(u32, usize)>,
}

impl Sequences {
    /// The row of a writer, new or known; `None` if there are too many.
    #[inline]
    fn row_of(&mut self, id: u32) -> Option<usize> {
        if let Some((recent, row)) = self.recent
            && recent == id
        {
            return Some(row);
        }
        let row = match self.rows.get(&id) {
            Some(&known) => known,
            None if self.all.len() >= SEQUENCES_MAX => return None,
            None => {
                self.all.push(Sequence::default());
                self.rows.insert(id, self.all.len() - 1);
                self.all.len() - 1
            }
        };
        self.recent = Some((id, row));
        Some(row)
    }
}

/// What lasts from one packet to the next.
struct Decoder {
    sequences: Sequences,
    clocks: Clocks,
    tracks: Tracks,
    kernel: Kernel,
    batch: BatchBuilder,
    args: ArgsWriter,
}

/// The fields of a packet that say how to read it, and what it is.
#[derive(Debug, Clone, Copy, Default)]
#[expect(clippy::struct_excessive_bools, reason = "the format has these flags")]
struct PacketFields<'a> {
    timestamp: Option<u64>,
    clock: Option<u64>,
    sequence: u32,
    is_cleared: bool,
    needs_state: bool,
    was_dropped: bool,
    interned: Option<&'a [u8]>,
    defaults: Option<&'a [u8]>,
    /// The number of the field that says what it is, and its bytes.
    data: Option<(u32, &'a [u8])>,
    is_broken: bool,
}

impl<'a> PacketFields<'a> {
    fn read(bytes: &'a [u8]) -> Self {
        let mut packet = Self::default();
        let mut fields = Fields::of(bytes);
        for field in fields.by_ref() {
            match (field.number, field.value) {
                (8, value) => packet.timestamp = Some(value.number()),
                (10, value) => packet.sequence = value.number() as u32,
                (12, Value::Bytes(bytes)) => packet.interned = Some(bytes),
                (13, value) => {
                    packet.is_cleared |= value.number() & 1 != 0;
                    packet.needs_state |= value.number() & 2 != 0;
                }
                (41, value) => packet.is_cleared |= value.number() != 0,
                (42, value) => packet.was_dropped = value.number() != 0,
                (58, value) => packet.clock = Some(value.number()),
                (59, Value::Bytes(bytes)) => packet.defaults = Some(bytes),
                (number, Value::Bytes(bytes)) => packet.data = Some((number, bytes)),
                _ => {}
            }
        }
        packet.is_broken = fields.is_broken();
        packet
    }
}

impl Decoder {
    fn new(rest: Rest) -> Self {
        Self {
            sequences: Sequences::default(),
            clocks: Clocks::default(),
            kernel: Kernel::default(),
            batch: BatchBuilder::new(Grain {
                batch_events: rest.context.grain.batch_events.or(Some(BATCH_EVENTS)),
                ..rest.context.grain
            }),
            tracks: Tracks::new(rest),
            args: ArgsWriter::default(),
        }
    }

    /// Takes a packet, or those in it if it is a bundle. Hands the batch on whenever it is full.
    fn take(&mut self, packet: Packet<'_>, depth: u32, hand: Hand<'_>) -> Result<(), ReadError> {
        let fields = PacketFields::read(packet.bytes);
        if let Some((number, bytes)) = fields.data
            && let Some(bundle) = Bundle::of_field(number, bytes, packet.offset, depth)
        {
            let (mut losses, mut taken) = (Losses::default(), Ok(()));
            unpack_bundle(&bundle, &mut losses, &mut |packet, _| {
                if taken.is_ok() {
                    taken = self.take(packet, depth + 1, hand);
                }
            });
            self.batch.batch.losses.merge(&losses);
            return taken;
        }
        self.packet(&fields, Place::Offset(packet.offset));
        if let Some(error) = self.tracks.failure() {
            return Err(error);
        }
        if self.batch.is_full() { hand(self.batch.take()) } else { Ok(()) }
    }

    fn packet(&mut self, fields: &PacketFields<'_>, place: Place) {
        if fields.is_broken {
            self.batch.lose(Loss::BadRecord, place);
        }
        // Descriptions build on nothing before them.
        if let Some((number @ (2 | 43 | 44 | 45 | 60 | 72), bytes)) = fields.data {
            self.tracks.describe(number, bytes, place, &mut self.batch);
        }
        let Some(row) = self.sequences.row_of(fields.sequence) else {
            return self.batch.lose(Loss::OverLimit, place);
        };
        let sequence = &mut self.sequences.all[row];
        if fields.is_cleared {
            sequence.clear();
        } else if fields.was_dropped {
            sequence.is_valid = false;
        }
        // The first packet of a sequence says so too: nothing is known to be lost before it.
        if fields.was_dropped && sequence.is_known {
            self.batch.lose(Loss::RecorderLost, place);
        }
        sequence.is_known = true;
        if let Some(interned) = fields.interned
            && !sequence.intern(interned)
        {
            self.batch.lose(Loss::BadRecord, place);
        }
        if let Some(defaults) = fields.defaults {
            sequence.set_defaults(defaults);
        }
        if fields.needs_state && !sequence.is_valid {
            return self.batch.lose(Loss::MissingState, place);
        }
        if let Some((6, snapshot)) = fields.data {
            return self.clocks.snapshot(fields.sequence, snapshot, place, &mut self.batch.batch.losses);
        }
        let clock = fields.clock.or(sequence.defaults.clock);
        // Asked of every packet with a time: the next one of its clock may be a distance from it.
        let time = fields.timestamp.map(|raw| self.clocks.time(fields.sequence, clock, raw));
        match fields.data {
            Some((11, event)) => self.track_event(event, time, (fields.sequence, row), place),
            Some((66, sample)) => self.perf_sample(sample, time, row, place),
            Some((54, samples)) => self.streamed_samples(samples, (fields.sequence, row), place),
            Some((1, bundle)) => self.kernel_taker(fields.sequence, place).bundle(bundle),
            Some((44, descriptor)) => {
                if let Some(thread) = descriptors::thread(descriptor) {
                    let sequence = &mut self.sequences.all[row];
                    sequence.thread = Some((thread.pid, thread.tid));
                    sequence.newest_us = thread.reference_us.unwrap_or(sequence.newest_us);
                    sequence.newest_thread_us = thread.reference_thread_us.unwrap_or(sequence.newest_thread_us);
                }
            }
            Some((number, _)) if is_about_the_recording(number) => {}
            Some(_) => self.batch.lose(Loss::IgnoredPacket, place),
            None => {}
        }
    }

    fn track_event(&mut self, bytes: &[u8], time: Option<Time>, (id, row): (u32, usize), place: Place) {
        let event = TrackEvent::read(bytes);
        let time = time.or_else(|| {
            let ns = event.own_us(&mut self.sequences.all[row])?.checked_mul(1000)?;
            Some(u64::try_from(ns).map_or(Time::Bad, |ns| self.clocks.time(id, Some(MONOTONIC), ns)))
        });
        let Some(ts_ns) = self.told(time, place) else { return };
        let sequence = &mut self.sequences.all[row];
        let (tracks, batch, args) = (&mut self.tracks, &mut self.batch, &mut self.args);
        Maker { sequence, tracks, batch, args, place }.take(&event, ts_ns);
    }

    /// A time that can be used; counts one that cannot.
    fn told(&mut self, time: Option<Time>, place: Place) -> Option<i64> {
        match time {
            Some(Time::Known(ts_ns)) => Some(ts_ns),
            Some(Time::Foreign(ts_ns)) => {
                self.batch.lose(Loss::UnknownClock, place);
                Some(ts_ns)
            }
            Some(Time::Bad) | None => {
                self.batch.lose(Loss::BadTime, place);
                None
            }
        }
    }

    fn perf_sample(&mut self, bytes: &[u8], time: Option<Time>, row: usize, place: Place) {
        let sample = PerfSample::read(bytes);
        self.batch.batch.losses.add_many(Loss::RecorderLost, place, sample.lost.max(sample.is_skipped.into()));
        if sample.lost > 0 || sample.is_skipped {
            return;
        }
        let Some(ts_ns) = self.told(time, place) else { return };
        let sequence = &mut self.sequences.all[row];
        let stack = match sample.callstack {
            Some(iid) => sequence.stacks.stack(iid, &mut self.batch, place),
            None => Some(StackIdx::EMPTY),
        };
        let Some(stack) = stack else { return self.batch.lose(Loss::MissingText, place) };
        let track = self.tracks.thread(sample.pid, sample.tid);
        let track = self.batch.track(track, &self.tracks);
        self.args.clear();
        if let Some(cpu) = sample.cpu {
            self.args.number("cpu", cpu);
        }
        let detail = Detail { args_json: self.args.finish(), ..Detail::default() };
        let detail = self.batch.batch.chunk.details.push(&detail);
        self.batch.push_sample(ts_ns, track, stack, detail);
    }

    /// Samples of the writer's thread, each told by the time from the one before; the packet's own time says when it was
    /// written.
    fn streamed_samples(&mut self, bytes: &[u8], (id, row): (u32, usize), place: Place) {
        let sequence = &mut self.sequences.all[row];
        let Some((pid, tid)) = sequence.thread else { return self.batch.lose(Loss::MissingState, place) };
        let track = self.tracks.thread(pid, tid);
        let track = self.batch.track(track, &self.tracks);
        for (iid, later_us) in streamed(bytes) {
            sequence.newest_us = sequence.newest_us.wrapping_add(later_us);
            let Some(stack) = sequence.stacks.stack(iid, &mut self.batch, place) else {
                self.batch.lose(Loss::MissingText, place);
                continue;
            };
            let raw = sequence.newest_us.checked_mul(1000).and_then(|ns| u64::try_from(ns).ok());
            let time = raw.map_or(Time::Bad, |ns| self.clocks.time(id, Some(MONOTONIC), ns));
            match time {
                Time::Known(ts_ns) | Time::Foreign(ts_ns) => self.batch.push_sample(ts_ns, track, stack, 0),
                Time::Bad => self.batch.lose(Loss::BadTime, place),
            }
        }
    }

    fn kernel_taker(&mut self, sequence: u32, place: Place) -> Taker<'_> {
        let (kernel, clocks) = (&mut self.kernel, &mut self.clocks);
        Taker { kernel, clocks, tracks: &mut self.tracks, batch: &mut self.batch, sequence, place }
    }

    fn finish(mut self, hand: Hand<'_>, losses: &Losses) -> Result<(), ReadError> {
        self.kernel_taker(0, Place::Offset(0)).finish();
        self.batch.batch.losses.merge(losses);
        hand(self.batch.take())
    }
}

/// Packets that say how the capture was recorded, or that the first pass has taken: nothing of them belongs on a timeline.
fn is_about_the_recording(number: u32) -> bool {
    const DESCRIPTORS: [u32; 3] = [2, 43, 60];
    // Configuration, statistics, sync marker, system, trigger, service.
    const SERVICE: [u32; 7] = [33, 34, 35, 36, 45, 46, 69];
    // Metadata of Chrome, descriptor files, state of the interface, uuid, range of interest, provenance, attributes.
    const METADATA: [u32; 7] = [51, 72, 78, 89, 90, 124, 126];
    DESCRIPTORS.contains(&number) || SERVICE.contains(&number) || METADATA.contains(&number)
}
