//! Converts records to events. `None` means that a record ends before its last field.

use xxhash_rust::xxh3::xxh3_64;

use super::fields::{
    BitField, argument, argument_type, boolean_argument, context_switch, event, event_type, kernel_object,
    kernel_object_type, legacy_context_switch, log, scheduling, scheduling_record_type, string_argument, thread_state,
};
use super::names::{FxtText, FxtThread, Provider, ThreadId};
use super::wire::{TextRef, Words};
use crate::formats::linux::scheduler::{Scheduler, SchedulerTask, Switch, TaskState};
use crate::formats::output::args::{ArgsWriter, push_quoted};
use crate::formats::output::batch::{BatchBuilder, label};
use crate::model::args::Detail;
use crate::model::{
    Event, EventFlags, EventKind, Id, Loss, LossValue, Metadata, NameIdx, SourcePos, TrackKey, TrackKind,
};

/// Weight of the idle thread of a CPU: the smallest 32-bit integer.
const IDLE_WEIGHT: f64 = i32::MIN as f64;

/// Thread id of an idle CPU in the scheduler.
const NO_THREAD: i64 = 0;

/// Converts records to events, and keeps the state between records.
#[derive(Debug, Default)]
pub(super) struct FxtEventBuilder {
    scheduler: Scheduler,
    args: ArgsWriter,
    /// Numeric arguments, for counters: name and value.
    numbers: Vec<(Vec<u8>, f64)>,
    /// The argument `process` of the current record. Only threads have it, among kernel objects.
    process: Option<u64>,
    /// Scratch for the bytes that [`Self::joined`] hashes.
    scratch: Vec<u8>,
}

/// Converts the id of a kernel object.
fn id(koid: u64) -> Id {
    i64::try_from(koid).map_or_else(|_| Id::Text(koid.to_string().into()), Id::Number)
}

fn key(kind: TrackKind, thread: ThreadId) -> TrackKey {
    let tid = if kind == TrackKind::Thread { id(thread.thread) } else { Id::None };
    TrackKey::new(kind, id(thread.process), tid)
}

/// A record with the state of its parser.
pub(super) struct FxtRecord<'a, 'b> {
    /// The provider that wrote the record.
    pub(super) provider: &'a Provider,
    pub(super) header: u64,
    /// The unread words after the header.
    pub(super) words: Words<'a>,
    pub(super) pos: SourcePos,
    pub(super) batch: &'b mut BatchBuilder,
}

impl<'a> FxtRecord<'a, '_> {
    /// Returns `None` if words are left after the last field: the record is damaged, and counts as lost.
    fn end(&self) -> Option<()> {
        self.words.is_empty().then_some(())
    }

    pub(super) fn lose_value(&mut self, loss: Loss, value: LossValue) {
        self.batch.lose_value(loss, value, self.pos);
    }

    pub(super) fn lose(&mut self, loss: Loss) {
        self.batch.lose(loss, self.pos);
    }

    /// Counts a record whose subtype is undefined, and skips its fields.
    fn lose_undefined(&mut self, loss: Loss, value: LossValue) {
        self.lose_value(loss, value);
        self.words.skip_rest();
    }

    /// Returns the text of a string reference in the header.
    fn text(&mut self, reference: BitField) -> Option<&'a [u8]> {
        let text = self.provider.text(TextRef::from_bits(reference.get(self.header)), &mut self.words)?;
        Some(self.text_bytes(text))
    }

    /// Returns the bytes of a text. An undefined string index counts as a loss and yields an empty text.
    fn text_bytes(&mut self, text: FxtText<'a>) -> &'a [u8] {
        match text {
            FxtText::Present(bytes) => bytes,
            FxtText::Missing => {
                self.lose(Loss::MissingText);
                b""
            }
        }
    }

    /// Returns the thread of a thread reference in the header. An undefined thread index counts as a loss and yields
    /// thread 0 of process 0.
    fn thread(&mut self, reference: BitField) -> Option<ThreadId> {
        let thread = self.provider.thread(reference.get(self.header) as u8, &mut self.words)?;
        if thread == FxtThread::Missing {
            self.lose(Loss::MissingText);
        }
        Some(thread.or_nobody())
    }

    /// Converts a time. Counts a loss and returns `None` if it exceeds 64 bits.
    fn nanos(&mut self, ticks: u64) -> Option<i64> {
        let nanos = self.provider.nanos(ticks);
        if nanos.is_none() {
            self.lose(Loss::BadTime);
        }
        nanos
    }
}

/// Returns the kind of an event; counters and unknown types are handled before.
fn kind_of(event_type: u64) -> EventKind {
    match event_type {
        event_type::DURATION_BEGIN => EventKind::Begin,
        event_type::DURATION_END => EventKind::End,
        event_type::DURATION_COMPLETE => EventKind::Complete,
        event_type::ASYNC_BEGIN => EventKind::AsyncBegin,
        event_type::ASYNC_INSTANT => EventKind::AsyncInstant,
        event_type::ASYNC_END => EventKind::AsyncEnd,
        event_type::FLOW_BEGIN => EventKind::FlowStart,
        event_type::FLOW_STEP => EventKind::FlowStep,
        event_type::FLOW_END => EventKind::FlowEnd,
        _ => EventKind::Instant,
    }
}

/// The tasks of a context switch. For a wakeup, both are the woken task.
struct FxtTasks {
    cpu: u64,
    /// State of the previous task.
    state: u64,
    previous: SchedulerTask<'static>,
    next: SchedulerTask<'static>,
}

impl FxtEventBuilder {
    /// Adds the runs that last to the end of the trace.
    pub(super) fn finish(&mut self, batch: &mut BatchBuilder) {
        self.scheduler.finish(batch, SourcePos::Offset(0));
    }

    pub(super) fn event(&mut self, record: &mut FxtRecord<'_, '_>) -> Option<()> {
        let ticks = record.words.word()?;
        let thread = record.thread(event::THREAD)?;
        let (category, name_text) = (record.text(event::CATEGORY)?, record.text(event::NAME)?);
        self.arguments(event::NUMBER_OF_ARGUMENTS.get(record.header), record)?;
        self.scheduler.learn_process(record.batch, thread.thread.cast_signed(), thread.process.cast_signed());
        let event_type = event::EVENT_TYPE.get(record.header);
        // The number of a counter, the end of a span, or the id of an async span or a flow.
        let last_word = match event_type {
            event_type::INSTANT | event_type::DURATION_BEGIN | event_type::DURATION_END => 0,
            event_type::COUNTER | event_type::DURATION_COMPLETE..=event_type::FLOW_END => record.words.word()?,
            _ => {
                record.lose_undefined(Loss::UnknownPhase, LossValue::Number("event type", event_type));
                return Some(());
            }
        };
        record.end()?;
        let Some(ts_ns) = record.nanos(ticks) else { return Some(()) };
        if event_type == event_type::COUNTER {
            self.counters(ts_ns, thread, name_text, last_word, record);
            return Some(());
        }
        let name = record.batch.name(name_text, Some(category), record.pos);
        let track = record.batch.track_with(&key(TrackKind::Thread, thread));
        let mut event = Event::new(ts_ns, kind_of(event_type), track, name);
        match event_type {
            event_type::DURATION_COMPLETE => {
                let dur_ns =
                    record.nanos(last_word).map(|end_ns| u64::try_from(i128::from(end_ns) - i128::from(ts_ns)));
                match dur_ns {
                    Some(Ok(dur_ns)) => event.value = dur_ns,
                    Some(Err(_)) => record.lose(Loss::NegativeDuration),
                    // The end was counted as a bad time.
                    None => {}
                }
            }
            event_type::ASYNC_BEGIN | event_type::ASYNC_INSTANT | event_type::ASYNC_END => {
                event.value = self.joined(last_word, category, &thread.process.to_le_bytes());
                let group =
                    TrackKey { name: String::from_utf8_lossy(category).into(), ..key(TrackKind::Async, thread) };
                event.track = record.batch.track_with(&group);
            }
            event_type::FLOW_BEGIN | event_type::FLOW_STEP | event_type::FLOW_END => {
                event.value = self.joined(last_word, category, name_text);
                event.flags = EventFlags::BIND_ENCLOSING;
            }
            _ => {}
        }
        let detail = Detail { args_json: self.args.finish(), ..Detail::default() };
        event.detail = record.batch.detail(&detail);
        record.batch.push(event);
        Some(())
    }

    /// Hashes an id with the scope in which it is unique.
    fn joined(&mut self, id: u64, category: &[u8], within: &[u8]) -> u64 {
        self.scratch.clear();
        self.scratch.extend_from_slice(&id.to_le_bytes());
        self.scratch.extend_from_slice(&(category.len() as u64).to_le_bytes());
        self.scratch.extend_from_slice(category);
        self.scratch.extend_from_slice(within);
        xxh3_64(&self.scratch)
    }

    /// Adds a counter value for each numeric argument; each is a series.
    fn counters(&mut self, ts_ns: i64, thread: ThreadId, name: &[u8], counter: u64, record: &mut FxtRecord<'_, '_>) {
        if self.numbers.is_empty() {
            record.lose(Loss::BadCounter);
        }
        for (series, value) in self.numbers.drain(..) {
            let (name, series) = (String::from_utf8_lossy(name), String::from_utf8_lossy(&series));
            let text = if counter == 0 { format!("{name} {series}") } else { format!("{name}[{counter}] {series}") };
            let track = record.batch.track_with(&TrackKey { name: text.into(), ..key(TrackKind::Counter, thread) });
            let value = value.to_bits();
            record.batch.push(Event { value, ..Event::new(ts_ns, EventKind::Counter, track, NameIdx::EMPTY) });
        }
    }

    /// Reads arguments as JSON. Also collects numeric arguments and the process.
    fn arguments(&mut self, count: u64, record: &mut FxtRecord<'_, '_>) -> Option<()> {
        self.args.clear();
        self.numbers.clear();
        self.process = None;
        for _ in 0..count {
            let mut rest = record.words;
            let header = rest.word()?;
            let words = &mut record.words.take_words(argument::ARGUMENT_SIZE.get(header).max(1) as usize)?;
            words.word()?;
            let name = record.provider.text(TextRef::from_bits(argument::ARGUMENT_NAME.get(header)), words)?;
            let name = record.text_bytes(name);
            let value = argument::ARGUMENT_VALUE.get(header);
            match argument::ARGUMENT_TYPE.get(header) {
                argument_type::NULL => self.json_argument(name, "null"),
                argument_type::INT32 => self.number_argument(name, FxtNumber::Signed(i64::from(value as i32))),
                argument_type::UINT32 => self.number_argument(name, FxtNumber::Unsigned(value)),
                argument_type::INT64 => self.number_argument(name, FxtNumber::Signed(words.word()?.cast_signed())),
                argument_type::UINT64 => self.number_argument(name, FxtNumber::Unsigned(words.word()?)),
                argument_type::DOUBLE => self.number_argument(name, FxtNumber::Float(f64::from_bits(words.word()?))),
                argument_type::STRING => {
                    let reference = TextRef::from_bits(string_argument::ARGUMENT_VALUE.get(header));
                    let value = record.provider.text(reference, words)?;
                    let value = record.text_bytes(value);
                    self.args.key("", name);
                    push_quoted(&mut self.args.json, &String::from_utf8_lossy(value));
                }
                argument_type::POINTER => self.json_argument(name, &format!("\"{:#x}\"", words.word()?)),
                argument_type::KERNEL_OBJECT_ID => {
                    let koid = words.word()?;
                    if name == b"process" {
                        self.process = Some(koid);
                    }
                    self.json_argument(name, &koid.to_string());
                }
                argument_type::BOOLEAN => {
                    let is_true = boolean_argument::ARGUMENT_VALUE.get(header) != 0;
                    self.json_argument(name, if is_true { "true" } else { "false" });
                }
                _ => record.lose(Loss::IgnoredArguments),
            }
        }
        Some(())
    }

    fn json_argument(&mut self, name: &[u8], json: &str) {
        self.args.key("", name);
        self.args.json.push_str(json);
    }

    fn number_argument(&mut self, name: &[u8], number: FxtNumber) {
        self.json_argument(name, &number.json());
        self.numbers.push((name.to_vec(), number.value()));
    }

    /// Reads the name of a process or thread.
    pub(super) fn kernel_object(&mut self, record: &mut FxtRecord<'_, '_>) -> Option<()> {
        let koid = record.words.word()?;
        let name = record.text(kernel_object::NAME)?;
        self.arguments(kernel_object::NUMBER_OF_ARGUMENTS.get(record.header), record)?;
        record.end()?;
        let name = label(name, record.pos, record.batch.losses());
        match (kernel_object::KERNEL_OBJECT_TYPE.get(record.header), self.process) {
            (kernel_object_type::PROCESS, _) => {
                record.batch.add_metadata(Metadata::ProcessName { pid: id(koid), name });
            }
            (kernel_object_type::THREAD, Some(process)) => {
                self.scheduler.learn_process(record.batch, koid.cast_signed(), process.cast_signed());
                let tid = id(koid);
                record.batch.add_metadata(Metadata::ThreadName { pid: id(process), tid, name });
            }
            (kind, _) => record.lose_value(Loss::IgnoredMetadata, LossValue::Number("object type", kind)),
        }
        Some(())
    }

    /// Reads a context switch or a wakeup.
    pub(super) fn scheduling(&mut self, record: &mut FxtRecord<'_, '_>) -> Option<()> {
        let record_type = scheduling::SCHEDULING_RECORD_TYPE.get(record.header);
        if record_type > scheduling_record_type::THREAD_WAKEUP {
            record.lose_undefined(Loss::IgnoredPacket, LossValue::Number("scheduling record", record_type));
            return Some(());
        }
        let ticks = record.words.word()?;
        // The legacy form has thread references and priorities; the others have kernel ids and arguments.
        let FxtTasks { cpu, state, previous, next } = match record_type {
            scheduling_record_type::LEGACY_CONTEXT_SWITCH => self.legacy_tasks(record)?,
            _ => self.tasks(record, record_type == scheduling_record_type::CONTEXT_SWITCH)?,
        };
        record.end()?;
        let Some(ts_ns) = record.nanos(ticks) else { return Some(()) };
        if record_type == scheduling_record_type::THREAD_WAKEUP {
            self.scheduler.wake(record.batch, ts_ns, &previous, None, record.pos);
            return Some(());
        }
        // Dying and dead threads become X, as do all states that the specification does not define.
        let letters: &[u8] = match state {
            thread_state::NEW | thread_state::RUNNING => b"R",
            thread_state::SUSPENDED => b"T",
            thread_state::BLOCKED => b"S",
            _ => b"X",
        };
        let previous_state = TaskState::from_letters(letters);
        let switch = Switch { ts_ns, cpu, previous: Some(previous), previous_state, next };
        self.scheduler.switch(record.batch, &switch, record.pos);
        Some(())
    }

    /// Reads the tasks of a context switch in the legacy form.
    fn legacy_tasks(&mut self, record: &mut FxtRecord<'_, '_>) -> Option<FxtTasks> {
        use legacy_context_switch as fields;
        let mut task = |thread, priority: BitField| -> Option<SchedulerTask<'static>> {
            let thread = record.thread(thread)?;
            self.scheduler.learn_process(record.batch, thread.thread.cast_signed(), thread.process.cast_signed());
            let priority = Some(priority.get(record.header).cast_signed());
            Some(SchedulerTask { tid: thread.thread.cast_signed(), name: b"", priority })
        };
        let previous = task(fields::OUTGOING_THREAD, fields::OUTGOING_THREAD_PRIORITY)?;
        let next = task(fields::INCOMING_THREAD, fields::INCOMING_THREAD_PRIORITY)?;
        let (cpu, state) = (fields::CPU_NUMBER.get(record.header), fields::OUTGOING_THREAD_STATE.get(record.header));
        Some(FxtTasks { cpu, state, previous, next })
    }

    /// Reads the tasks of a context switch, or the only task of a wakeup, with their weights.
    fn tasks(&mut self, record: &mut FxtRecord<'_, '_>, is_switch: bool) -> Option<FxtTasks> {
        use context_switch as fields;
        let mut task = || Some(SchedulerTask { tid: record.words.word()?.cast_signed(), ..SchedulerTask::default() });
        let mut previous = task()?;
        let mut next = if is_switch { task()? } else { previous };
        let count = fields::ARGUMENT_COUNT.get(record.header);
        self.arguments(count, record)?;
        let mut weighed = 0;
        let mut weigh = |task: &mut SchedulerTask<'_>, argument: &[u8]| {
            let Some((_, weight)) = self.numbers.iter().find(|(name, _)| name == argument) else { return };
            weighed += 1;
            if *weight == IDLE_WEIGHT {
                *task = SchedulerTask { tid: NO_THREAD, ..*task };
            } else {
                task.priority = Some(*weight as i64);
            }
        };
        if is_switch {
            weigh(&mut previous, b"outgoing_weight");
            weigh(&mut next, b"incoming_weight");
        } else {
            weigh(&mut previous, b"weight");
        }
        record.batch.losses().add_many(Loss::IgnoredArguments, record.pos, count.saturating_sub(weighed));
        let (cpu, state) = (fields::CPU_NUMBER.get(record.header), fields::OUTGOING_THREAD_STATE.get(record.header));
        Some(FxtTasks { cpu, state, previous, next })
    }

    /// Adds a log message as an instant.
    pub(super) fn log(record: &mut FxtRecord<'_, '_>) -> Option<()> {
        let ticks = record.words.word()?;
        let thread = record.thread(log::THREAD)?;
        let message = record.words.text(log::MESSAGE_LENGTH.get(record.header) as usize)?;
        record.end()?;
        let Some(ts_ns) = record.nanos(ticks) else { return Some(()) };
        let track = record.batch.track_with(&key(TrackKind::Thread, thread));
        let name = record.batch.name(message, Some(b"log"), record.pos);
        record.batch.push(Event::new(ts_ns, EventKind::Instant, track, name));
        Some(())
    }
}

/// A number in an argument.
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
