//! Records -> events. `None` where a record ends before all that its header promises.

use std::sync::Arc;

use xxhash_rust::xxh3::xxh3_64;

use super::names::{FxtText, FxtThread, Provider, ThreadId};
use super::wire::{TextRef, Words, bits};
use crate::formats::linux::scheduler::{Scheduler, SchedulerTask, Switch, TaskState};
use crate::formats::output::args::ArgsWriter;
use crate::formats::output::batch::{BatchBuilder, bare, text};
use crate::model::args::Detail;
use crate::model::{Event, EventFlags, EventKind, Id, Loss, Metadata, NameIdx, SourcePos, TrackKey, TrackKind};

/// Makes events of records.
#[derive(Debug, Default)]
pub(super) struct FxtEventBuilder {
    scheduler: Scheduler,
    args: ArgsWriter,
    /// The arguments that are numbers, for counters: name and value.
    numbers: Vec<(Vec<u8>, f64)>,
    /// The last argument that names a process, for kernel objects.
    process: Option<u64>,
    /// The weights of threads in a switch.
    scratch: Vec<u8>,
}

/// A number that the kernel gives to an object.
fn id(koid: u64) -> Id {
    i64::try_from(koid).map_or_else(|_| Id::Text(koid.to_string().into()), Id::Number)
}

fn key(kind: TrackKind, thread: ThreadId) -> TrackKey {
    let tid = if kind == TrackKind::Thread { id(thread.thread) } else { Id::None };
    TrackKey { kind, pid: id(thread.process), tid, name: Arc::default(), slot: 0 }
}

/// A record, with what its reading needs.
pub(super) struct FxtRecord<'a, 'b> {
    /// Who wrote it.
    pub(super) provider: &'a Provider,
    pub(super) header: u64,
    /// What is behind the header and not taken yet.
    pub(super) words: Words<'a>,
    pub(super) place: SourcePos,
    /// Where its events go.
    pub(super) batch: &'b mut BatchBuilder,
}

impl<'a> FxtRecord<'a, '_> {
    /// Some bits of the header, from `first` on.
    fn bits(&self, first: u32, count: u32) -> u64 {
        bits(self.header, first, count)
    }

    pub(super) fn lose(&mut self, loss: Loss) {
        self.batch.lose(loss, self.place);
    }

    /// The text that 16 bits of the header refer to.
    fn text(&mut self, first: u32) -> Option<&'a [u8]> {
        let found = self.provider.text(TextRef::from_bits(self.bits(first, 16)), &mut self.words)?;
        Some(self.known(found))
    }

    /// The bytes of a text; nothing, counted, where its number stands for nothing.
    fn known(&mut self, found: FxtText<'a>) -> &'a [u8] {
        match found {
            FxtText::Present(bytes) => bytes,
            FxtText::Missing => {
                self.lose(Loss::MissingText);
                b""
            }
        }
    }

    /// The thread that 8 bits of the header refer to; nobody, counted, where its number stands for nothing.
    fn thread(&mut self, first: u32) -> Option<ThreadId> {
        let found = self.provider.thread(self.bits(first, 8) as u8, &mut self.words)?;
        if found == FxtThread::Missing {
            self.lose(Loss::MissingText);
        }
        Some(found.or_nobody())
    }

    /// A time; `None`, counted, beyond 64 bits.
    fn nanos(&mut self, ticks: u64) -> Option<i64> {
        let nanos = self.provider.nanos(ticks);
        if nanos.is_none() {
            self.lose(Loss::BadTime);
        }
        nanos
    }
}

impl FxtEventBuilder {
    /// The end of the capture.
    pub(super) fn finish(&mut self, batch: &mut BatchBuilder) {
        self.scheduler.finish(batch, SourcePos::Offset(0));
    }

    pub(super) fn event(&mut self, record: &mut FxtRecord<'_, '_>) -> Option<()> {
        let ticks = record.words.word()?;
        let thread = record.thread(24)?;
        let (category, name_text) = (record.text(32)?, record.text(48)?);
        self.arguments(record.bits(20, 4), record)?;
        self.scheduler.set_process(thread.thread.cast_signed(), thread.process.cast_signed());
        let Some(ts_ns) = record.nanos(ticks) else { return Some(()) };
        let kind = record.bits(16, 4);
        if kind == 1 {
            let counter = record.words.word()?;
            self.counters(ts_ns, thread, name_text, counter, record);
            return Some(());
        }
        let name = record.batch.name(name_text, Some(category), record.place);
        let track = record.batch.track_with(&key(TrackKind::Thread, thread));
        let mut event = bare(ts_ns, EventKind::Instant, track, name);
        match kind {
            0 => {}
            2 => event.kind = EventKind::Begin,
            3 => event.kind = EventKind::End,
            4 => {
                event.kind = EventKind::Complete;
                let end_ns = record.provider.nanos(record.words.word()?);
                match end_ns.and_then(|end_ns| end_ns.checked_sub(ts_ns)) {
                    Some(dur_ns) if dur_ns >= 0 => event.value = dur_ns.unsigned_abs(),
                    _ => record.lose(Loss::NegativeDuration),
                }
            }
            5..=7 => {
                event.kind = [EventKind::AsyncBegin, EventKind::AsyncInstant, EventKind::AsyncEnd][kind as usize - 5];
                event.value = self.joined(record.words.word()?, category, &thread.process.to_le_bytes());
                let group =
                    TrackKey { name: String::from_utf8_lossy(category).into(), ..key(TrackKind::Async, thread) };
                event.track = record.batch.track_with(&group);
            }
            8..=10 => {
                event.kind = [EventKind::FlowStart, EventKind::FlowStep, EventKind::FlowEnd][kind as usize - 8];
                event.value = self.joined(record.words.word()?, category, name_text);
                event.flags = EventFlags::BIND_ENCLOSING;
            }
            _ => {
                record.lose(Loss::UnknownPhase);
                return Some(());
            }
        }
        let detail = Detail { args_json: self.args.finish(), ..Detail::default() };
        event.detail = record.batch.batch.chunk.details.push(&detail);
        record.batch.push(event);
        Some(())
    }

    /// One number for an id and what it is unique within.
    fn joined(&mut self, id: u64, category: &[u8], within: &[u8]) -> u64 {
        self.scratch.clear();
        self.scratch.extend_from_slice(&id.to_le_bytes());
        self.scratch.extend_from_slice(&(category.len() as u64).to_le_bytes());
        self.scratch.extend_from_slice(category);
        self.scratch.extend_from_slice(within);
        xxh3_64(&self.scratch)
    }

    /// Each argument that is a number is a series.
    fn counters(&mut self, ts_ns: i64, thread: ThreadId, name: &[u8], counter: u64, record: &mut FxtRecord<'_, '_>) {
        if self.numbers.is_empty() {
            record.lose(Loss::BadCounter);
        }
        for (series, value) in self.numbers.drain(..) {
            let (name, series) = (String::from_utf8_lossy(name), String::from_utf8_lossy(&series));
            let text = if counter == 0 { format!("{name} {series}") } else { format!("{name}[{counter}] {series}") };
            let track = record.batch.track_with(&TrackKey { name: text.into(), ..key(TrackKind::Counter, thread) });
            let value = value.to_bits();
            record.batch.push(Event { value, ..bare(ts_ns, EventKind::Counter, track, NameIdx::EMPTY) });
        }
    }

    /// Reads arguments: as JSON, and those that are numbers or a process also as such.
    fn arguments(&mut self, count: u64, record: &mut FxtRecord<'_, '_>) -> Option<()> {
        self.args.clear();
        self.numbers.clear();
        self.process = None;
        for _ in 0..count {
            let mut rest = record.words;
            let header = rest.word()?;
            let words = &mut record.words.take_words(bits(header, 4, 12).max(1) as usize)?;
            words.word()?;
            let name = record.provider.text(TextRef::from_bits(bits(header, 16, 16)), words)?;
            let name = record.known(name);
            let upper = bits(header, 32, 32);
            let number = match bits(header, 0, 4) {
                0 => {
                    self.args.key("", name);
                    self.args.json.push_str("null");
                    None
                }
                1 => Some(FxtNumber::Signed(i64::from(upper as i32))),
                2 => Some(FxtNumber::Unsigned(upper)),
                3 => Some(FxtNumber::Signed(words.word()?.cast_signed())),
                4 => Some(FxtNumber::Unsigned(words.word()?)),
                5 => Some(FxtNumber::Float(f64::from_bits(words.word()?))),
                6 => {
                    let value = record.provider.text(TextRef::from_bits(bits(header, 32, 16)), words)?;
                    let value = record.known(value);
                    self.args.key("", name);
                    crate::formats::output::args::push_quoted(&mut self.args.json, &String::from_utf8_lossy(value));
                    None
                }
                7 => {
                    let pointer = format!("\"{:#x}\"", words.word()?);
                    self.args.key("", name);
                    self.args.json.push_str(&pointer);
                    None
                }
                8 => {
                    let koid = words.word()?;
                    if name == b"process" {
                        self.process = Some(koid);
                    }
                    self.args.key("", name);
                    self.args.json.push_str(&koid.to_string());
                    None
                }
                9 => {
                    self.args.key("", name);
                    self.args.json.push_str(if upper & 1 == 0 { "false" } else { "true" });
                    None
                }
                _ => {
                    record.lose(Loss::IgnoredArguments);
                    None
                }
            };
            if let Some(number) = number {
                self.args.key("", name);
                self.args.json.push_str(&number.json());
                self.numbers.push((name.to_vec(), number.value()));
            }
        }
        Some(())
    }

    /// The name of a process or a thread.
    pub(super) fn kernel_object(&mut self, record: &mut FxtRecord<'_, '_>) -> Option<()> {
        let koid = record.words.word()?;
        let name = record.text(24)?;
        self.arguments(record.bits(40, 4), record)?;
        let batch = &mut record.batch.batch;
        let name = text(name, record.place, &mut batch.losses);
        match (bits(record.header, 16, 8), self.process) {
            (1, _) => batch.metadata.push(Metadata::ProcessName { pid: id(koid), name }),
            (2, Some(process)) => {
                self.scheduler.set_process(koid.cast_signed(), process.cast_signed());
                batch.metadata.push(Metadata::ThreadName { pid: id(process), tid: id(koid), name });
            }
            _ => record.lose(Loss::IgnoredMetadata),
        }
        Some(())
    }

    /// A switch from one thread to another, or the waking of one.
    pub(super) fn scheduling(&mut self, record: &mut FxtRecord<'_, '_>) -> Option<()> {
        let kind = record.bits(60, 4);
        if kind > 2 {
            record.lose(Loss::IgnoredPacket);
            return Some(());
        }
        let ticks = record.words.word()?;
        // The oldest form has references to threads and priorities; the others have the kernel's numbers.
        let (cpu, state, previous, next) = if kind == 0 {
            let mut thread = |first, priority| -> Option<SchedulerTask<'_>> {
                let found = record.thread(first)?;
                self.scheduler.set_process(found.thread.cast_signed(), found.process.cast_signed());
                let priority = Some(record.bits(priority, 8).cast_signed());
                Some(SchedulerTask { tid: found.thread.cast_signed(), name: b"", priority })
            };
            let (previous, next) = (thread(28, 44)?, thread(36, 52)?);
            (record.bits(16, 8), record.bits(24, 4), previous, next)
        } else {
            let mut thread =
                || Some(SchedulerTask { tid: record.words.word()?.cast_signed(), ..SchedulerTask::default() });
            let previous = thread()?;
            let next = if kind == 1 { thread()? } else { previous };
            // The weights that the scheduler gave them, which nothing shows.
            let weights = record.bits(16, 4);
            self.arguments(weights, record)?;
            record.batch.batch.losses.add_many(Loss::IgnoredArguments, record.place, weights);
            (record.bits(20, 16), record.bits(36, 4), previous, next)
        };
        let Some(ts_ns) = record.nanos(ticks) else { return Some(()) };
        if kind == 2 {
            self.scheduler.wake(record.batch, ts_ns, &previous, record.place);
            return Some(());
        }
        // New, running, suspended, blocked, dying, dead.
        let letters: &[u8] = match state {
            0 | 1 => b"R",
            2 => b"T",
            3 => b"S",
            _ => b"X",
        };
        let previous_state = TaskState::from_letters(letters);
        let switch = Switch { ts_ns, cpu, previous: Some(previous), previous_state, next };
        self.scheduler.switch(record.batch, &switch, record.place);
        Some(())
    }

    /// A message is an instant.
    pub(super) fn log(record: &mut FxtRecord<'_, '_>) -> Option<()> {
        let ticks = record.words.word()?;
        let thread = record.thread(32)?;
        let message = record.words.text(record.bits(16, 15) as usize)?;
        let Some(ts_ns) = record.nanos(ticks) else { return Some(()) };
        let track = record.batch.track_with(&key(TrackKind::Thread, thread));
        let name = record.batch.name(message, Some(b"log"), record.place);
        record.batch.push(bare(ts_ns, EventKind::Instant, track, name));
        Some(())
    }
}

/// A number as an argument has it.
#[derive(Debug, Clone, Copy)]
enum FxtNumber {
    Signed(i64),
    Unsigned(u64),
    Float(f64),
}

impl FxtNumber {
    fn value(self) -> f64 {
        match self {
            Self::Signed(number) => number as f64,
            Self::Unsigned(number) => number as f64,
            Self::Float(number) => number,
        }
    }

    fn json(self) -> String {
        match self {
            Self::Signed(number) => number.to_string(),
            Self::Unsigned(number) => number.to_string(),
            Self::Float(number) if number.is_finite() => format!("{number:?}"),
            Self::Float(number) => format!("\"{number}\""),
        }
    }
}
