//! Records -> events. `None` where a record ends before all that its header promises.

use xxhash_rust::xxh3::xxh3_64;

use super::names::{Provider, Text, Thread, ThreadId};
use super::wire::{TextRef, Words, bits};
use crate::formats::args::ArgsWriter;
use crate::formats::batch::{BatchBuilder, bare, text};
use crate::formats::kernel::{Scheduler, Switch, Task, TaskState};
use crate::model::args::Detail;
use crate::model::{Event, EventFlags, EventKind, Id, Loss, Metadata, NameIdx, Place, TrackKey, TrackKind};

/// Makes events of records.
#[derive(Debug, Default)]
pub(super) struct Maker {
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
    TrackKey { kind, pid: id(thread.process), tid, name: Box::default(), slot: 0 }
}

/// The bytes of a text; nothing, counted, where its number stands for nothing.
fn known<'a>(found: Text<'a>, place: Place, batch: &mut BatchBuilder) -> &'a [u8] {
    match found {
        Text::There(bytes) => bytes,
        Text::Missing => {
            batch.lose(Loss::MissingText, place);
            b""
        }
    }
}

impl Maker {
    /// The end of the capture.
    pub(super) fn finish(&mut self, batch: &mut BatchBuilder) {
        self.scheduler.finish(batch, Place::Offset(0));
    }

    pub(super) fn event<'a>(
        &mut self,
        provider: &'a Provider,
        header: u64,
        words: &mut Words<'a>,
        place: Place,
        batch: &mut BatchBuilder,
    ) -> Option<()> {
        let ticks = words.word()?;
        let thread = provider.thread(bits(header, 24, 8) as u8, words)?;
        let category = provider.text(TextRef::of(bits(header, 32, 16)), words)?;
        let name = provider.text(TextRef::of(bits(header, 48, 16)), words)?;
        self.arguments(bits(header, 20, 4), provider, words, place, batch)?;
        let (category, name_text) = (known(category, place, batch), known(name, place, batch));
        if thread == Thread::Missing {
            batch.lose(Loss::MissingText, place);
        }
        let thread = thread.or_nobody();
        self.scheduler.thread_of(thread.thread.cast_signed(), thread.process.cast_signed());
        let Some(ts_ns) = provider.nanos(ticks) else {
            batch.lose(Loss::BadTime, place);
            return Some(());
        };
        let kind = bits(header, 16, 4);
        if kind == 1 {
            let counter = words.word()?;
            self.counters(ts_ns, thread, name_text, counter, place, batch);
            return Some(());
        }
        let name = batch.name(name_text, Some(category), place);
        let mut event = bare(ts_ns, EventKind::Instant, batch.track_with(&key(TrackKind::Thread, thread)), name);
        match kind {
            0 => {}
            2 => event.kind = EventKind::Begin,
            3 => event.kind = EventKind::End,
            4 => {
                event.kind = EventKind::Complete;
                match provider.nanos(words.word()?).and_then(|end_ns| end_ns.checked_sub(ts_ns)) {
                    Some(dur_ns) if dur_ns >= 0 => event.value = dur_ns.unsigned_abs(),
                    _ => batch.lose(Loss::NegativeDuration, place),
                }
            }
            5..=7 => {
                event.kind = [EventKind::AsyncBegin, EventKind::AsyncInstant, EventKind::AsyncEnd][kind as usize - 5];
                event.value = self.joined(words.word()?, category, &thread.process.to_le_bytes());
                let group =
                    TrackKey { name: String::from_utf8_lossy(category).into(), ..key(TrackKind::Async, thread) };
                event.track = batch.track_with(&group);
            }
            8..=10 => {
                event.kind = [EventKind::FlowStart, EventKind::FlowStep, EventKind::FlowEnd][kind as usize - 8];
                event.value = self.joined(words.word()?, category, name_text);
                event.flags = EventFlags::BIND_ENCLOSING;
            }
            _ => {
                batch.lose(Loss::UnknownPhase, place);
                return Some(());
            }
        }
        let detail = Detail { args_json: self.args.finish(), ..Detail::default() };
        event.detail = batch.batch.chunk.details.push(&detail);
        batch.push(event);
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
    fn counters(
        &mut self,
        ts_ns: i64,
        thread: ThreadId,
        name: &[u8],
        counter: u64,
        place: Place,
        batch: &mut BatchBuilder,
    ) {
        if self.numbers.is_empty() {
            batch.lose(Loss::BadCounter, place);
        }
        for (series, value) in self.numbers.drain(..) {
            let (name, series) = (String::from_utf8_lossy(name), String::from_utf8_lossy(&series));
            let text = if counter == 0 { format!("{name} {series}") } else { format!("{name}[{counter}] {series}") };
            let track = batch.track_with(&TrackKey { name: text.into(), ..key(TrackKind::Counter, thread) });
            let value = value.to_bits();
            batch.push(Event { value, ..bare(ts_ns, EventKind::Counter, track, NameIdx::EMPTY) });
        }
    }

    /// Reads arguments: as JSON, and those that are numbers or a process also as such.
    fn arguments<'a>(
        &mut self,
        count: u64,
        provider: &'a Provider,
        words: &mut Words<'a>,
        place: Place,
        batch: &mut BatchBuilder,
    ) -> Option<()> {
        self.args.clear();
        self.numbers.clear();
        self.process = None;
        for _ in 0..count {
            let mut rest = *words;
            let header = rest.word()?;
            let mut words_of = words.take_words(bits(header, 4, 12).max(1) as usize)?;
            words_of.word()?;
            let words_of = &mut words_of;
            let name = provider.text(TextRef::of(bits(header, 16, 16)), words_of)?;
            let name = known(name, place, batch);
            let upper = bits(header, 32, 32);
            let number = match bits(header, 0, 4) {
                0 => {
                    self.args.key("", name);
                    self.args.json.push_str("null");
                    None
                }
                1 => Some(Number::Signed(i64::from(upper as i32))),
                2 => Some(Number::Unsigned(upper)),
                3 => Some(Number::Signed(words_of.word()?.cast_signed())),
                4 => Some(Number::Unsigned(words_of.word()?)),
                5 => Some(Number::Float(f64::from_bits(words_of.word()?))),
                6 => {
                    let value = provider.text(TextRef::of(bits(header, 32, 16)), words_of)?;
                    let value = known(value, place, batch);
                    self.args.key("", name);
                    crate::formats::args::push_quoted(&mut self.args.json, &String::from_utf8_lossy(value));
                    None
                }
                7 => {
                    let pointer = format!("\"{:#x}\"", words_of.word()?);
                    self.args.key("", name);
                    self.args.json.push_str(&pointer);
                    None
                }
                8 => {
                    let koid = words_of.word()?;
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
                    batch.lose(Loss::IgnoredArguments, place);
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
    pub(super) fn kernel_object<'a>(
        &mut self,
        provider: &'a Provider,
        header: u64,
        words: &mut Words<'a>,
        place: Place,
        batch: &mut BatchBuilder,
    ) -> Option<()> {
        let koid = words.word()?;
        let name = provider.text(TextRef::of(bits(header, 24, 16)), words)?;
        self.arguments(bits(header, 40, 4), provider, words, place, batch)?;
        let name = known(name, place, batch);
        let name = text(name, place, &mut batch.batch.losses);
        match (bits(header, 16, 8), self.process) {
            (1, _) => batch.batch.metadata.push(Metadata::ProcessName { pid: id(koid), name }),
            (2, Some(process)) => {
                self.scheduler.thread_of(koid.cast_signed(), process.cast_signed());
                batch.batch.metadata.push(Metadata::ThreadName { pid: id(process), tid: id(koid), name });
            }
            _ => batch.lose(Loss::IgnoredMetadata, place),
        }
        Some(())
    }

    /// A switch from one thread to another, or the waking of one.
    pub(super) fn scheduling(
        &mut self,
        provider: &Provider,
        header: u64,
        words: &mut Words<'_>,
        place: Place,
        batch: &mut BatchBuilder,
    ) -> Option<()> {
        let kind = bits(header, 60, 4);
        if kind > 2 {
            batch.lose(Loss::IgnoredPacket, place);
            return Some(());
        }
        let ts_ns = provider.nanos(words.word()?);
        // The oldest form has references to threads and priorities; the others have the kernel's numbers.
        let (cpu, state, previous, next) = if kind == 0 {
            let mut thread = |first, priority| -> Option<Task<'_>> {
                let found = provider.thread(bits(header, first, 8) as u8, words)?.or_nobody();
                self.scheduler.thread_of(found.thread.cast_signed(), found.process.cast_signed());
                let priority = Some(bits(header, priority, 8).cast_signed());
                Some(Task { tid: found.thread.cast_signed(), name: b"", priority })
            };
            let (previous, next) = (thread(28, 44)?, thread(36, 52)?);
            (bits(header, 16, 8), bits(header, 24, 4), previous, next)
        } else {
            let mut thread = || Some(Task { tid: words.word()?.cast_signed(), ..Task::default() });
            let previous = thread()?;
            let next = if kind == 1 { thread()? } else { previous };
            (bits(header, 20, 16), bits(header, 36, 4), previous, next)
        };
        let Some(ts_ns) = ts_ns else {
            batch.lose(Loss::BadTime, place);
            return Some(());
        };
        if kind == 2 {
            self.scheduler.wake(batch, ts_ns, &previous, place);
            return Some(());
        }
        // New, running, suspended, blocked, dying, dead.
        let letters: &[u8] = match state {
            0 | 1 => b"R",
            2 => b"T",
            3 => b"S",
            _ => b"X",
        };
        let previous_state = TaskState::of_letters(letters);
        let switch = Switch { ts_ns, cpu, previous: Some(previous), previous_state, next };
        self.scheduler.switch(batch, &switch, place);
        Some(())
    }

    /// A message is an instant.
    pub(super) fn log(
        provider: &Provider,
        header: u64,
        words: &mut Words<'_>,
        place: Place,
        batch: &mut BatchBuilder,
    ) -> Option<()> {
        let ticks = words.word()?;
        let thread = provider.thread(bits(header, 32, 8) as u8, words)?.or_nobody();
        let message = words.text(bits(header, 16, 15) as usize)?;
        let Some(ts_ns) = provider.nanos(ticks) else {
            batch.lose(Loss::BadTime, place);
            return Some(());
        };
        let (track, name) =
            (batch.track_with(&key(TrackKind::Thread, thread)), batch.name(message, Some(b"log"), place));
        batch.push(bare(ts_ns, EventKind::Instant, track, name));
        Some(())
    }
}

/// A number as an argument has it.
#[derive(Debug, Clone, Copy)]
enum Number {
    Signed(i64),
    Unsigned(u64),
    Float(f64),
}

impl Number {
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
