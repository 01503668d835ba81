//! A profile -> samples, markers and counters.

use serde_json::value::RawValue;
use xxhash_rust::xxh3::xxh3_64;

use super::thread::Stacks;
use super::wire::{Category, Counter, Profile, Tables, Thread};
use crate::formats::batch::{BatchBuilder, bare};
use crate::formats::document::{Document, Unit, id};
use crate::formats::source::Source;
use crate::formats::{BatchSink, ReadContext, ReadError, Reader, StreamReader};
use crate::model::args::Detail;
use crate::model::{Event, EventFlags, EventKind, Id, Loss, Metadata, NameIdx, Place, TrackKey, TrackKind};

/// A process starts processes, but not for ever.
const PROCESSES_DEEP_MAX: u32 = 16;

/// Whether this is JSON whose first key is that of a profile.
#[must_use]
pub fn looks_like_firefox(head: &[u8]) -> bool {
    let has = |text: &str| memchr::memmem::find(head, text.as_bytes()).is_some();
    let inside = head.strip_prefix("\u{feff}".as_bytes()).unwrap_or(head).trim_ascii_start();
    let key = inside.strip_prefix(b"{").map(<[u8]>::trim_ascii_start).unwrap_or_default();
    let begins =
        [&b"\"meta\""[..], b"\"libs\"", b"\"shared\"", b"\"threads\""].iter().any(|first| key.starts_with(first));
    begins
        && !has("\"traceEvents\"")
        && (has("\"preprocessedProfileVersion\"") || has("\"interval\"") || has("\"stackwalk\""))
}

/// Makes a reader of a profile.
#[must_use]
pub fn open(source: Source) -> Reader {
    Reader::Stream(Box::new(Firefox { source: Some(source) }))
}

struct Firefox {
    source: Option<Source>,
}

impl StreamReader for Firefox {
    fn read(&mut self, sink: &mut dyn BatchSink, context: &ReadContext) -> Result<(), ReadError> {
        let Some(source) = self.source.take() else { return Ok(()) };
        let path = source.path().to_owned();
        let document = Document::read(source, context)?;
        let profile: Profile<'_> = document.parse()?;
        let start_ns = profile.meta.start_time.and_then(|start| Unit::Milliseconds.nanos(start).ok());
        let mut maker = Maker { batch: BatchBuilder::new(context.grain), sink, context, start_ns, offset_ns: 0 };
        maker.profile(&profile, 0).map_err(|error| match error {
            Failed::Read(error) => error,
            Failed::Table(error) => ReadError::Malformed {
                path,
                offset: 0,
                expected: "tables of a profile".to_owned(),
                found: error.to_string(),
            },
        })?;
        maker.batch.flush(maker.sink)
    }
}

/// Why a profile cannot be read on.
enum Failed {
    Read(ReadError),
    /// A table is JSON, but no table.
    Table(serde_json::Error),
}

impl From<ReadError> for Failed {
    fn from(error: ReadError) -> Self {
        Self::Read(error)
    }
}

impl From<serde_json::Error> for Failed {
    fn from(error: serde_json::Error) -> Self {
        Self::Table(error)
    }
}

struct Maker<'a> {
    batch: BatchBuilder,
    sink: &'a mut dyn BatchSink,
    context: &'a ReadContext,
    /// When the first process started, since 1970.
    start_ns: Option<i64>,
    /// How much later this process started.
    offset_ns: i64,
}

impl Maker<'_> {
    fn profile(&mut self, profile: &Profile<'_>, depth: u32) -> Result<(), Failed> {
        let start_ns = profile.meta.start_time.and_then(|start| Unit::Milliseconds.nanos(start).ok());
        self.offset_ns = match (start_ns, self.start_ns) {
            (Some(this), Some(first)) => this.saturating_sub(first),
            _ => 0,
        };
        for (position, thread) in (0i64..).zip(&profile.threads) {
            self.context.cancel.check().map_err(ReadError::from)?;
            let (thread, tables) = (serde_json::from_str(thread.get())?, serde_json::from_str(thread.get())?);
            self.thread(&thread, &tables, profile, position)?;
        }
        for counter in &profile.counters {
            self.counter(counter)?;
        }
        for process in &profile.processes {
            if depth >= PROCESSES_DEEP_MAX {
                self.batch.lose(Loss::DeepNesting, Place::Time(self.offset_ns));
                break;
            }
            self.profile(process, depth + 1)?;
        }
        Ok(())
    }

    fn time(&mut self, time: Option<&RawValue>) -> Option<i64> {
        Unit::Milliseconds.nanos(time?).ok()?.checked_add(self.offset_ns)
    }

    fn thread(
        &mut self,
        thread: &Thread<'_>,
        tables: &Tables<'_>,
        profile: &Profile<'_>,
        position: i64,
    ) -> Result<(), Failed> {
        let pid = id(thread.pid);
        // Without an id of its own it is at least another thread than the others.
        let tid = if thread.tid.is_some() { id(thread.tid) } else { Id::Number(position) };
        let metadata = &mut self.batch.batch.metadata;
        if let Some(name) = &thread.process_name {
            metadata.push(Metadata::ProcessName { pid: pid.clone(), name: name.as_str().into() });
        }
        if !thread.name.is_empty() {
            let (pid, tid, name) = (pid.clone(), tid.clone(), thread.name.as_str().into());
            metadata.push(Metadata::ThreadName { pid, tid, name });
        }
        let key = TrackKey { kind: TrackKind::Thread, pid, tid, name: Box::default(), slot: 0 };
        let mut stacks = Stacks::of(tables, profile.shared.as_ref(), &profile.libs)?;
        self.samples(thread, &key, &mut stacks)?;
        self.markers(thread, &key, &stacks, &profile.meta.categories)
    }

    fn samples(&mut self, thread: &Thread<'_>, key: &TrackKey, stacks: &mut Stacks<'_>) -> Result<(), Failed> {
        let Some(samples) = &thread.samples else { return Ok(()) };
        let samples = samples.columns(&["stack", "time", "timeDeltas"])?;
        let mut now_ns = self.offset_ns;
        for row in 0..samples.len {
            let ts_ns = match samples.get(2, row) {
                Some(delta) => Unit::Milliseconds.nanos(delta).ok().and_then(|delta| now_ns.checked_add(delta)),
                None => self.time(samples.get(1, row)),
            };
            let Some(ts_ns) = ts_ns else {
                self.batch.lose(Loss::BadTime, Place::Time(now_ns));
                continue;
            };
            now_ns = ts_ns;
            let place = Place::Time(ts_ns);
            let stack = samples.index(0, row).map(|stack| stacks.frames.stack(stack, &mut self.batch, place));
            let track = self.batch.track_with(key);
            let value = u64::from(stack.unwrap_or_default().0);
            self.batch.push(Event { value, ..bare(ts_ns, EventKind::Sample, track, NameIdx::EMPTY) });
            self.batch.flush_if_full(self.sink, self.context)?;
        }
        Ok(())
    }

    fn markers(
        &mut self,
        thread: &Thread<'_>,
        key: &TrackKey,
        stacks: &Stacks<'_>,
        categories: &[Category],
    ) -> Result<(), Failed> {
        let Some(markers) = &thread.markers else { return Ok(()) };
        let markers = markers.columns(&["name", "startTime", "endTime", "phase", "category", "data"])?;
        for row in 0..markers.len {
            let (start_ns, end_ns) = (self.time(markers.get(1, row)), self.time(markers.get(2, row)));
            let place = Place::Time(start_ns.or(end_ns).unwrap_or(self.offset_ns));
            let (kind, ts_ns) = match markers.index(3, row) {
                Some(1) => (EventKind::Complete, start_ns),
                Some(2) => (EventKind::AsyncBegin, start_ns),
                Some(3) => (EventKind::AsyncEnd, end_ns),
                _ => (EventKind::Instant, start_ns),
            };
            let Some(ts_ns) = ts_ns else {
                self.batch.lose(Loss::BadTime, place);
                continue;
            };
            let name = markers.index(0, row).map_or("", |name| stacks.text(name));
            let category = markers.index(4, row).and_then(|category| categories.get(category as usize));
            let category = category.map(|category| category.name.as_bytes());
            let mut event = bare(ts_ns, kind, self.batch.track_with(key), NameIdx::EMPTY);
            event.name = self.batch.name(name.as_bytes(), category, place);
            match kind {
                EventKind::Complete => match end_ns.map(|end_ns| end_ns.checked_sub(ts_ns)) {
                    Some(Some(dur_ns)) if dur_ns >= 0 => event.value = dur_ns.unsigned_abs(),
                    Some(_) => self.batch.lose(Loss::NegativeDuration, place),
                    None => event.flags = EventFlags::UNFINISHED,
                },
                EventKind::AsyncBegin | EventKind::AsyncEnd => {
                    // Begins and ends are matched by their name on their thread, and need not nest.
                    let group = TrackKey { kind: TrackKind::Async, ..key.clone() };
                    event.track = self.batch.track_with(&group);
                    event.value = xxh3_64(format!("{:?} {name}", (&key.pid, &key.tid)).as_bytes());
                }
                _ => {}
            }
            if let Some(data) = markers.get(5, row).map(RawValue::get)
                && data.starts_with('{')
            {
                let detail = Detail { args_json: data, ..Detail::default() };
                event.detail = self.batch.batch.chunk.details.push(&detail);
            }
            self.batch.push(event);
            self.batch.flush_if_full(self.sink, self.context)?;
        }
        Ok(())
    }

    /// Values are changes; of memory, what they sum up to is what a person asks for.
    fn counter(&mut self, counter: &Counter<'_>) -> Result<(), Failed> {
        let Some(samples) = &counter.samples else { return Ok(()) };
        let samples = samples.columns(&["time", "timeDeltas", "count"])?;
        let name: Box<str> = match (&*counter.category, &*counter.name) {
            ("", name) => name.into(),
            (category, name) => format!("{category} {name}").into(),
        };
        let key = TrackKey { kind: TrackKind::Counter, pid: id(counter.pid), tid: Id::None, name, slot: 0 };
        let (mut now_ns, mut sum) = (self.offset_ns, 0.0);
        for row in 0..samples.len {
            let ts_ns = match samples.get(1, row) {
                Some(delta) => Unit::Milliseconds.nanos(delta).ok().and_then(|delta| now_ns.checked_add(delta)),
                None => self.time(samples.get(0, row)),
            };
            let change = samples.get(2, row).and_then(|count| count.get().parse::<f64>().ok());
            let (Some(ts_ns), Some(change)) = (ts_ns, change) else {
                let loss = if ts_ns.is_none() { Loss::BadTime } else { Loss::BadCounter };
                self.batch.lose(loss, Place::Time(now_ns));
                continue;
            };
            now_ns = ts_ns;
            sum = if counter.category == "Memory" { sum + change } else { change };
            let (track, name) =
                (self.batch.track_with(&key), self.batch.name(key.name.as_bytes(), None, Place::Time(ts_ns)));
            self.batch.push(Event { value: f64::to_bits(sum), ..bare(ts_ns, EventKind::Counter, track, name) });
            self.batch.flush_if_full(self.sink, self.context)?;
        }
        Ok(())
    }
}
