//! Heap profiles of Android: the bytes that each stack has allocated since the previous profile, its bytes in use, and
//! its bytes in use at the maximum. They become samples at the time of the profile, on one track of the process for
//! each of these.

use xxhash_rust::xxh3::xxh3_64;

use super::clocks::{Clocks, Time};
use super::fields::builtin_clock;
use super::limits::has_room;
use super::packet_fields::{heap_sample, process_heap, profile_packet};
use super::sequence::Sequence;
use super::tracks::PerfettoTracks;
use crate::formats::output::args::ArgsWriter;
use crate::formats::output::batch::BatchBuilder;
use crate::formats::output::modules::FrameModules;
use crate::formats::protobuf::decode::ProtoValue;
use crate::formats::protobuf::message::ProtoMessage as _;
use crate::model::sample_measure::BYTES;
use crate::model::{Id, Loss, SourcePos, TrackKey, TrackKind};

/// Limit for stacks whose totals are kept; programs have several hundred thousand.
const TOTALS_MAX: usize = 1 << 20;

/// The heap of a profile that does not name it.
const DEFAULT_HEAP: &str = "libc.malloc";

/// The state that heap profiles are decoded with.
pub(super) struct HeapProfiles<'m> {
    pub(super) sequence: &'m mut Sequence,
    pub(super) tracks: &'m mut PerfettoTracks,
    pub(super) clocks: &'m mut Clocks,
    pub(super) modules: &'m mut FrameModules,
    pub(super) batch: &'m mut BatchBuilder,
    pub(super) args: &'m mut ArgsWriter,
    pub(super) pos: SourcePos,
}

impl HeapProfiles<'_> {
    /// Decodes a packet, which contains one profile of each process, or a part of it.
    pub(super) fn packet(&mut self, id: u32, time: Option<Time>, bytes: &[u8]) {
        for process in bytes.repeated(profile_packet::PROCESS_DUMPS) {
            let own = process.value(process_heap::TIMESTAMP).map(ProtoValue::number).filter(|&raw| raw != 0);
            let own = own.map(|raw| self.clocks.time(id, Some(builtin_clock::MONOTONIC_COARSE), raw));
            // Without a snapshot of that clock, the time of the packet is a better estimate.
            let time = own.filter(|time| matches!(time, Time::Known(_))).or(time).or(own);
            let Some(ts_ns) = time.unwrap_or(Time::Bad).usable(self.batch, self.pos) else { continue };
            let is_incomplete = [
                process_heap::REJECTED_CONCURRENT,
                process_heap::BUFFER_OVERRAN,
                process_heap::BUFFER_CORRUPTED,
                process_heap::HIT_GUARDRAIL,
            ];
            if is_incomplete.iter().any(|&flag| process.number(flag) != 0) {
                self.batch.lose(Loss::RecorderLost, self.pos);
            }
            self.process(ts_ns, process);
        }
    }

    fn process(&mut self, ts_ns: i64, process: &[u8]) {
        let pid = process.signed(process_heap::PID);
        let heap = process.text(process_heap::HEAP_NAME);
        let heap = if heap.is_empty() { DEFAULT_HEAP } else { &heap };
        let heap_hash = xxh3_64(heap.as_bytes());
        for sample in process.repeated(process_heap::SAMPLES) {
            let stack = sample.number(heap_sample::CALLSTACK_ID);
            let allocated = sample.number(heap_sample::SELF_ALLOCATED);
            let freed = sample.number(heap_sample::SELF_FREED);
            let totals = &mut self.sequence.heap_totals;
            let key = (pid, heap_hash, stack);
            if !has_room(totals, &key, TOTALS_MAX) {
                self.batch.lose(Loss::OverLimit, self.pos);
                continue;
            }
            let before = totals.insert(key, allocated).unwrap_or(0);
            self.push((ts_ns, pid, stack), heap, "allocated", allocated.saturating_sub(before));
            self.push((ts_ns, pid, stack), heap, "in use", allocated.saturating_sub(freed));
            self.push((ts_ns, pid, stack), heap, "in use at its maximum", sample.number(heap_sample::SELF_MAX));
        }
    }

    /// Adds a sample with a weight in bytes, unless it is 0.
    fn push(&mut self, (ts_ns, pid, stack): (i64, i64, u64), heap: &str, what: &str, bytes: u64) {
        if bytes == 0 {
            return;
        }
        let stack = self.sequence.stacks.stack(stack, self.modules, self.batch, self.pos);
        let Some(stack) = stack else { return self.batch.lose(Loss::MissingText, self.pos) };
        let event = format!("{heap} {what}");
        let key = TrackKey {
            kind: TrackKind::Thread,
            pid: self.tracks.process_now(pid),
            tid: Id::Number(pid),
            name: event.as_str().into(),
            slot: 0,
        };
        let track = self.tracks.number(key);
        let track = self.batch.track(track, self.tracks);
        self.args.clear();
        self.args.measure(&event, BYTES, bytes);
        let detail = self.batch.args(self.args.finish());
        self.batch.push_sample(ts_ns, track, stack, detail);
    }
}
