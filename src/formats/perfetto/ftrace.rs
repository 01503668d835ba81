//! The kernel's events: who runs on which CPU, and the markers that programs write (`B|pid|name` and the like). Others are
//! counted.

use rustc_hash::{FxHashMap, FxHashSet};

use super::clocks::{Clocks, KERNEL, Time};
use super::tracks::{TrackNumber, Tracks};
use super::wire::{Fields, Value};
use crate::formats::args::ArgsWriter;
use crate::formats::batch::{BatchBuilder, bare, text};
use crate::model::args::Detail;
use crate::model::{Event, EventFlags, EventKind, Id, Loss, Metadata, Place, TrackKey, TrackKind};
use xxhash_rust::xxh3::xxh3_64;

/// A machine has fewer CPUs than this.
const CPUS_MAX: usize = 1 << 16;

/// What the kernel's events need from one bundle to the next.
#[derive(Debug, Default)]
pub(super) struct Kernel {
    /// By CPU: who runs on it.
    running: FxHashMap<u64, Running>,
    /// The process of each thread, as its markers say.
    process_of: FxHashMap<i64, i64>,
    /// Threads that the scheduler named.
    named: FxHashSet<i64>,
    scratch: ArgsWriter,
}

#[derive(Debug)]
struct Running {
    since_ns: i64,
    tid: i64,
    name: Box<[u8]>,
}

/// A switch to another thread.
struct Switch<'a> {
    ts_ns: i64,
    tid: i64,
    name: &'a [u8],
}

/// What is needed to take a bundle.
pub(super) struct Taker<'t> {
    pub(super) kernel: &'t mut Kernel,
    pub(super) clocks: &'t mut Clocks,
    pub(super) tracks: &'t mut Tracks,
    pub(super) batch: &'t mut BatchBuilder,
    pub(super) sequence: u32,
    pub(super) place: Place,
}

/// How the times of a bundle are to be read.
#[derive(Debug, Clone, Copy)]
struct BundleClock {
    id: u64,
    later_ns: i64,
}

impl Taker<'_> {
    /// Takes the events of one CPU.
    pub(super) fn bundle(&mut self, bytes: &[u8]) {
        let (mut cpu, mut clock, mut ftrace_ns, mut boot_ns) = (0, 0, None, None);
        let mut fields = Fields::of(bytes);
        for field in fields.by_ref() {
            match field.number {
                1 => cpu = field.value.number(),
                3 if field.value.number() != 0 => self.batch.lose(Loss::RecorderLost, self.place),
                6 => clock = field.value.number(),
                7 => ftrace_ns = Some(field.value.signed()),
                8 => boot_ns = Some(field.value.signed()),
                _ => {}
            }
        }
        if fields.is_broken() {
            self.batch.lose(Loss::BadRecord, self.place);
        }
        let later_ns = ftrace_ns.and_then(|ftrace_ns| boot_ns?.checked_sub(ftrace_ns)).unwrap_or(0);
        // The kernel's raw clock is the only other one that snapshots know.
        let clock = if clock == 4 { BundleClock { id: 5, later_ns: 0 } } else { BundleClock { id: KERNEL, later_ns } };
        for field in Fields::of(bytes) {
            match (field.number, field.value) {
                (2, Value::Bytes(bytes)) => self.event(cpu, clock, bytes),
                (4, Value::Bytes(bytes)) => self.compact_switches(cpu, clock, bytes),
                _ => {}
            }
        }
    }

    /// Threads that run to the end of the capture.
    pub(super) fn finish(&mut self) {
        let mut running: Vec<_> = std::mem::take(&mut self.kernel.running).into_iter().collect();
        running.sort_by_key(|&(cpu, _)| cpu);
        for (cpu, running) in running {
            self.ran(cpu, &running, None);
        }
    }

    fn time(&mut self, clock: BundleClock, raw: u64) -> Option<i64> {
        let shifted = raw.checked_add_signed(clock.later_ns);
        let time = shifted.map_or(Time::Bad, |raw| self.clocks.time(self.sequence, Some(clock.id), raw));
        match time {
            Time::Known(ts_ns) => Some(ts_ns),
            Time::Foreign(ts_ns) => {
                self.batch.lose(Loss::UnknownClock, self.place);
                Some(ts_ns)
            }
            Time::Bad => {
                self.batch.lose(Loss::BadTime, self.place);
                None
            }
        }
    }

    fn event(&mut self, cpu: u64, clock: BundleClock, bytes: &[u8]) {
        let (mut raw, mut tid) = (None, 0);
        let mut what = None;
        let mut fields = Fields::of(bytes);
        for field in fields.by_ref() {
            match (field.number, field.value) {
                (1, value) => raw = Some(value.number()),
                (2, value) => tid = value.signed(),
                (number, Value::Bytes(bytes)) => what = Some((number, bytes)),
                _ => {}
            }
        }
        let (Some(raw), false) = (raw, fields.is_broken()) else {
            return self.batch.lose(Loss::BadRecord, self.place);
        };
        match what {
            Some((3, print)) => {
                let Some(ts_ns) = self.time(clock, raw) else { return };
                let text = Fields::of(print).find(|field| field.number == 2).map_or(&b""[..], |f| f.value.bytes());
                self.marker(ts_ns, tid, text);
            }
            Some((4, switch)) => {
                let Some(ts_ns) = self.time(clock, raw) else { return };
                let mut next = Switch { ts_ns, tid: 0, name: b"" };
                for field in Fields::of(switch) {
                    match field.number {
                        5 => next.name = field.value.bytes(),
                        6 => next.tid = field.value.signed(),
                        _ => {}
                    }
                }
                self.switch(cpu, &next);
            }
            _ => self.batch.lose(Loss::IgnoredPacket, self.place),
        }
    }

    /// Switches as columns: distances of times, threads, and rows of a table of names.
    fn compact_switches(&mut self, cpu: u64, clock: BundleClock, bytes: &[u8]) {
        let column = |number: u32| {
            Fields::of(bytes).filter(move |field| field.number == number).flat_map(|f| f.value.numbers(false))
        };
        let names: Vec<&[u8]> =
            Fields::of(bytes).filter(|field| field.number == 5).map(|field| field.value.bytes()).collect();
        let mut raw = 0u64;
        for ((distance, tid), name) in column(1).zip(column(3)).zip(column(6)) {
            raw = raw.wrapping_add(distance);
            let Some(ts_ns) = self.time(clock, raw) else { continue };
            let name = names.get(name as usize).copied().unwrap_or(b"");
            self.switch(cpu, &Switch { ts_ns, tid: tid as i64, name });
        }
        let wakeups = column(7).count() as u64;
        self.batch.batch.losses.add_many(Loss::IgnoredPacket, self.place, wakeups);
    }

    fn switch(&mut self, cpu: u64, next: &Switch<'_>) {
        if let Some(running) = self.kernel.running.remove(&cpu) {
            self.ran(cpu, &running, Some(next.ts_ns));
        }
        // Thread 0 is the CPU at rest.
        if next.tid == 0 {
            return;
        }
        if self.kernel.running.len() >= CPUS_MAX {
            return self.batch.lose(Loss::OverLimit, self.place);
        }
        let running = Running { since_ns: next.ts_ns, tid: next.tid, name: next.name.into() };
        self.kernel.running.insert(cpu, running);
        let process = self.tracks.described.process_of.get(&next.tid).copied();
        if let Some(pid) = process
            && !next.name.is_empty()
            && self.kernel.named.insert(next.tid)
        {
            let name = text(next.name, self.place, &mut self.batch.batch.losses);
            let (pid, tid) = (Id::Number(pid), Id::Number(next.tid));
            self.batch.batch.metadata.push(Metadata::ThreadName { pid, tid, name });
        }
    }

    /// A thread ran on a CPU, up to a time or to the end of the capture.
    fn ran(&mut self, cpu: u64, running: &Running, until_ns: Option<i64>) {
        let label: Box<str> = format!("CPU {cpu}").into();
        let tid = Id::Text(label.as_ref().into());
        let key = TrackKey { kind: TrackKind::Thread, pid: Id::None, tid, name: Box::default(), slot: 0 };
        let is_new = !self.tracks.has(&key);
        if is_new {
            let (pid, tid) = (key.pid.clone(), key.tid.clone());
            self.batch.batch.metadata.push(Metadata::ThreadName { pid, tid: tid.clone(), name: label });
            let (pid, sort_index) = (Id::None, i64::try_from(cpu).unwrap_or(i64::MAX));
            self.batch.batch.metadata.push(Metadata::ThreadSortIndex { pid, tid, sort_index });
        }
        let track = self.tracks.number(key);
        let track = self.batch.track(track, self.tracks);
        let name = self.batch.name(&running.name, None, self.place);
        let args = &mut self.kernel.scratch;
        args.clear();
        args.number("tid", running.tid.unsigned_abs());
        let detail = Detail { args_json: args.finish(), ..Detail::default() };
        let detail = self.batch.batch.chunk.details.push(&detail);
        let mut event = Event { detail, ..bare(running.since_ns, EventKind::Complete, track, name) };
        match until_ns.map(|until_ns| until_ns.checked_sub(running.since_ns)) {
            Some(Some(dur_ns)) if dur_ns >= 0 => event.value = dur_ns.unsigned_abs(),
            Some(_) => self.batch.lose(Loss::NegativeDuration, self.place),
            None => event.flags = EventFlags::UNFINISHED,
        }
        self.batch.push(event);
    }

    /// A line that a program wrote into the kernel's trace.
    fn marker(&mut self, ts_ns: i64, tid: i64, text: &[u8]) {
        let text = text.trim_ascii_end();
        let mut parts = text.splitn(3, |&byte| byte == b'|');
        let kind = parts.next().unwrap_or_default();
        let pid = parts.next().and_then(|pid| std::str::from_utf8(pid).ok()).and_then(|pid| pid.parse::<i64>().ok());
        let rest = parts.next().unwrap_or_default();
        if let Some(pid) = pid
            && matches!(kind, b"B" | b"I")
        {
            self.kernel.process_of.insert(tid, pid);
        }
        let thread = |taker: &mut Self| {
            let told = taker.kernel.process_of.get(&tid).or_else(|| taker.tracks.described.process_of.get(&tid));
            let pid = told.copied().or(pid).unwrap_or(tid);
            taker.tracks.thread(pid, tid)
        };
        let (track, event) = match (kind, pid) {
            (b"B", Some(_)) => (thread(self), (EventKind::Begin, rest, 0)),
            (b"E", _) => (thread(self), (EventKind::End, &b""[..], 0)),
            (b"I", Some(_)) => (thread(self), (EventKind::Instant, rest, 0)),
            (b"C", Some(pid)) => {
                let (name, value) = split_last(rest);
                let value = std::str::from_utf8(value).ok().and_then(|value| value.trim().parse::<f64>().ok());
                let Some(value) = value.filter(|value| value.is_finite()) else {
                    return self.batch.lose(Loss::BadCounter, self.place);
                };
                let track = self.tracks.named_counter(Id::Number(pid), &String::from_utf8_lossy(name));
                (track, (EventKind::Counter, name, value.to_bits()))
            }
            (b"S" | b"F", Some(pid)) => {
                let (name, cookie) = split_last(rest);
                let kind = if kind == b"S" { EventKind::AsyncBegin } else { EventKind::AsyncEnd };
                (self.process_async(pid), (kind, name, async_id(pid, name, cookie)))
            }
            // With a track of their own: `G|pid|track|name|cookie`, `H|pid|track|cookie`.
            (b"G", Some(pid)) => {
                let (named, cookie) = split_last(rest);
                let (track, name) = split_first(named);
                (self.process_async(pid), (EventKind::AsyncBegin, name, async_id(pid, track, cookie)))
            }
            (b"H", Some(pid)) => {
                let (track, _) = split_first(rest);
                let (_, cookie) = split_last(rest);
                (self.process_async(pid), (EventKind::AsyncEnd, &b""[..], async_id(pid, track, cookie)))
            }
            (b"N", Some(pid)) => {
                let (track, name) = split_first(rest);
                let name_of_track = String::from_utf8_lossy(track).into_owned().into();
                let key = TrackKey {
                    kind: TrackKind::Async,
                    pid: Id::Number(pid),
                    tid: Id::None,
                    name: name_of_track,
                    slot: TrackKey::SLOT_ALONE,
                };
                (self.tracks.number(key), (EventKind::Instant, name, 0))
            }
            // Any other text is a message.
            _ => (thread(self), (EventKind::Instant, text, 0)),
        };
        let (kind, name, value) = event;
        let track = self.batch.track(track, self.tracks);
        let name = self.batch.name(name, None, self.place);
        let is_unnamed = matches!(kind, EventKind::End | EventKind::AsyncEnd) && name == crate::model::NameIdx::EMPTY;
        let flags = if is_unnamed { EventFlags::UNNAMED } else { EventFlags::NONE };
        self.batch.push(Event { value, flags, ..bare(ts_ns, kind, track, name) });
    }

    fn process_async(&mut self, pid: i64) -> TrackNumber {
        let pid = Id::Number(pid);
        self.tracks.number(TrackKey { kind: TrackKind::Async, pid, tid: Id::None, name: Box::default(), slot: 0 })
    }
}

fn async_id(pid: i64, name: &[u8], cookie: &[u8]) -> u64 {
    let mut bytes = pid.to_le_bytes().to_vec();
    bytes.extend_from_slice(&(name.len() as u64).to_le_bytes());
    bytes.extend_from_slice(name);
    bytes.extend_from_slice(cookie);
    xxh3_64(&bytes)
}

fn split_first(text: &[u8]) -> (&[u8], &[u8]) {
    let position = memchr::memchr(b'|', text).unwrap_or(text.len());
    (&text[..position], text.get(position + 1..).unwrap_or_default())
}

fn split_last(text: &[u8]) -> (&[u8], &[u8]) {
    let position = memchr::memrchr(b'|', text).unwrap_or(text.len());
    (&text[..position], text.get(position + 1..).unwrap_or_default())
}
