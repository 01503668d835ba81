//! Converts a profile to samples, allocations, markers and counters.

mod samples;

use std::borrow::Cow;
use std::rc::Rc;

use rustc_hash::FxHashMap;
use serde_json::value::RawValue;
use xxhash_rust::xxh3::xxh3_64;

use super::thread::{FirefoxStacks, FirefoxTexts};
use super::wire::{
    Category, FirefoxLibrary, FirefoxObject, FirefoxStackTables, FirefoxTable, MarkerSchema, SampleUnits, marker_phase,
    phase_of_unphased,
};
use crate::formats::format::{DataKind, Format, Opener};
use crate::formats::input::source::Source;
use crate::formats::json::document::{Document, JsonExtent, TimeUnit, id};
use crate::formats::json::sniff::has_key;
use crate::formats::output::batch::BatchBuilder;
use crate::formats::output::modules::FrameModules;
use crate::formats::{BatchSink, ReadContext, ReadError, Reader, StreamReader};
use crate::model::{Event, EventFlags, EventKind, Id, Loss, Metadata, NameIdx, SourcePos, TrackKey, TrackKind};

const NESTED_PROCESSES_MAX: u32 = 16;

pub(crate) const FORMAT: Format = Format {
    name: "Firefox profile",
    record: "A sample is a row of samples in a thread, with a stack and a time.",
    sniff: looks_like_firefox,
    is_event: None,
    live: None,
    shows: &[DataKind::Spans, DataKind::Instants, DataKind::Counters, DataKind::Arguments, DataKind::Samples],
    opener: Opener::Trace(|source, _| Ok(open(source))),
};

/// Returns whether this is JSON that begins with the first key of a profile.
fn looks_like_firefox(head: &[u8]) -> bool {
    let has = |key| has_key(head, key);
    let inside = head.trim_ascii_start();
    let key = inside.strip_prefix(b"{").map(<[u8]>::trim_ascii_start).unwrap_or_default();
    let begins = [&b"\"meta\""[..], b"\"libs\"", b"\"shared\"", b"\"threads\"", b"\"counters\""]
        .iter()
        .any(|first| key.starts_with(first));
    // Firefox itself writes long lists of libraries, categories and markers before the interval. Sorted keys begin with
    // counters.
    let keys = [
        "preprocessedProfileVersion",
        "interval",
        "stackwalk",
        "breakpadId",
        "categories",
        "markerSchema",
        "mainThreadIndex",
    ];
    begins && !has("traceEvents") && keys.into_iter().any(has)
}

/// Creates a reader of a profile.
fn open(source: Source) -> Reader {
    Reader::stream(Firefox { source })
}

struct Firefox {
    source: Source,
}

impl StreamReader for Firefox {
    fn read(self: Box<Self>, sink: &mut dyn BatchSink, context: &ReadContext) -> Result<(), ReadError> {
        let document = Document::open(self.source, context)?;
        let batch = BatchBuilder::new(context.chunk_limits);
        let mut builder = FirefoxEventBuilder {
            document: &document,
            batch,
            sink,
            context,
            start_ns: None,
            offset_ns: 0,
            unit: TimeUnit::Milliseconds,
            threads: 0,
            modules: FrameModules::default(),
        };
        builder.profile(document.whole(), 0)?;
        if builder.threads == 0 {
            return Err(document.without("the JSON of a profile with threads"));
        }
        document.count_rest(builder.batch.losses())?;
        builder.batch.flush(builder.sink)
    }
}

struct FirefoxEventBuilder<'d, 'a> {
    document: &'d Document,
    batch: BatchBuilder,
    sink: &'a mut dyn BatchSink,
    context: &'a ReadContext,
    /// Start of the first process, since 1970.
    start_ns: Option<i64>,
    /// Start of this process relative to the first.
    offset_ns: i64,
    /// Time unit of this process.
    unit: TimeUnit,
    /// Number of threads so far.
    threads: u64,
    modules: FrameModules,
}

/// Tables shared by the threads of a process.
struct SharedTables<'d> {
    libs: Vec<FirefoxLibrary>,
    markers: Markers,
    tables: FirefoxStackTables,
    texts: Option<Rc<FirefoxTexts<'d>>>,
    /// Stacks of threads without their own tables.
    stacks: Option<FirefoxStacks<'d>>,
}

/// The type of a marker's data, which selects its schema.
#[derive(serde::Deserialize)]
struct Typed<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<Cow<'a, str>>,
}

/// Tables that markers refer to.
struct Markers {
    categories: Vec<Category>,
    /// Keys of the data that are string indices, by marker type.
    texts: FxHashMap<String, Vec<String>>,
}

/// A thread: its track, and the extents of its tables.
struct FirefoxThread {
    key: TrackKey,
    samples: Option<JsonExtent>,
    native_allocations: Option<JsonExtent>,
    js_allocations: Option<JsonExtent>,
    markers: Option<JsonExtent>,
}

impl<'d> FirefoxEventBuilder<'d, '_> {
    fn profile(&mut self, profile: JsonExtent, depth: u32) -> Result<(), ReadError> {
        let document = self.document;
        let keys = ["meta", "libs", "shared", "threads", "counters", "processes"];
        let [meta, libs, shared, threads, counters, processes] = document.pick(profile, keys)?;
        let markers = self.meta(meta, depth)?;
        let tables = FirefoxStackTables::from_members(&FirefoxObject::read(document, shared)?);
        let losses = self.batch.losses();
        let mut shared = SharedTables {
            libs: FirefoxLibrary::read_all(document, libs, losses)?.unwrap_or_default(),
            markers,
            tables,
            texts: tables.texts.map(|texts| FirefoxTexts::read(document, Some(texts), losses)).transpose()?,
            stacks: None,
        };
        let process = self.threads(threads, &mut shared)?;
        drop(shared);
        let mut counters = document.items(counters);
        while let Some(counter) = counters.next()? {
            self.counter(counter, &process)?;
        }
        let mut processes = document.items(processes);
        while let Some(process) = processes.next()? {
            if depth >= NESTED_PROCESSES_MAX {
                self.batch.lose(Loss::DeepNesting, process.pos());
                break;
            }
            self.profile(process, depth + 1)?;
        }
        Ok(())
    }

    /// Reads the start and the unit of times of a process, and the tables of its markers. `depth` is 0 for the first
    /// process.
    fn meta(&mut self, meta: Option<JsonExtent>, depth: u32) -> Result<Markers, ReadError> {
        let document = self.document;
        let keys = ["startTime", "categories", "sampleUnits", "markerSchema", "product"];
        let [start, categories, units, schema, product] =
            meta.map_or(Ok([None; 5]), |meta| document.pick(meta, keys))?;
        let start = start.map(|start| document.text(start)).transpose()?;
        let start_ns = start.and_then(|start| TimeUnit::Milliseconds.parse_nanos(&start).ok());
        self.start_ns = if depth == 0 { start_ns } else { self.start_ns };
        self.offset_ns = match (start_ns, self.start_ns) {
            (Some(this), Some(first)) => this.saturating_sub(first),
            _ => 0,
        };
        // Other tools have a different origin: samply counts from boot, whatever the start time in the profile.
        let is_browser =
            document.value::<String>(product, self.batch.losses())?.is_some_and(|product| product == "Firefox");
        if let Some(offset_ns) = start_ns.filter(|_| depth == 0 && is_browser) {
            self.batch.add_metadata(Metadata::Utc { offset_ns });
        }
        let units: Option<SampleUnits> = document.value(units, self.batch.losses())?;
        self.unit = match units.and_then(|units| units.time).as_deref() {
            // Size profiles: a byte is drawn 1 ns wide.
            Some("ns" | "bytes") => TimeUnit::Nanoseconds,
            _ => TimeUnit::Milliseconds,
        };
        let schema: Option<Vec<MarkerSchema>> = document.value(schema, self.batch.losses())?;
        let schema = schema.unwrap_or_default().into_iter().map(MarkerSchema::texts);
        Ok(Markers {
            categories: document.value(categories, self.batch.losses())?.unwrap_or_default(),
            texts: schema.filter(|(_, texts)| !texts.is_empty()).collect(),
        })
    }

    /// Adds all threads of a process. Returns the id of the process, from its first thread that has it.
    fn threads(&mut self, threads: Option<JsonExtent>, shared: &mut SharedTables<'d>) -> Result<Id, ReadError> {
        let mut threads = self.document.items(threads);
        let mut process = Id::None;
        for position in 0i64.. {
            let Some(thread) = threads.next()? else { break };
            self.context.cancel.check()?;
            self.threads += 1;
            let pid = self.thread(thread, shared, position)?;
            process = if process == Id::None { pid } else { process };
        }
        Ok(process)
    }

    fn time(&self, time: Option<&[u8]>) -> Option<i64> {
        self.unit.parse_nanos(time?).ok()?.checked_add(self.offset_ns)
    }

    /// Returns the time of a row, from its time or from its delta to the previous row.
    fn next_time(&self, now_ns: i64, time: Option<&[u8]>, delta: Option<&[u8]>) -> Option<i64> {
        match delta {
            Some(delta) => self.unit.parse_nanos(delta).ok().and_then(|delta| now_ns.checked_add(delta)),
            None => self.time(time),
        }
    }

    /// Adds a thread. Returns the id of its process.
    fn thread(&mut self, thread: JsonExtent, shared: &mut SharedTables<'d>, position: i64) -> Result<Id, ReadError> {
        let document = self.document;
        let members = FirefoxObject::read(document, Some(thread))?;
        let text = |key| members.get(key).map(|value| document.text(value)).transpose();
        let (pid, tid) = (id(text("pid")?.as_deref()), text("tid")?);
        // Without an id, the position distinguishes it from other threads.
        let tid = if tid.is_some() { id(tid.as_deref()) } else { Id::Number(position) };
        if let Some(name) = document.value::<String>(members.get("processName"), self.batch.losses())? {
            self.batch.add_metadata(Metadata::ProcessName { pid: pid.clone(), name: name.into() });
        }
        if let Some(name) =
            document.value::<String>(members.get("name"), self.batch.losses())?.filter(|name| !name.is_empty())
        {
            let (pid, tid) = (pid.clone(), tid.clone());
            self.batch.add_metadata(Metadata::ThreadName { pid, tid, name: name.into() });
        }
        let key = TrackKey::thread(pid.clone(), tid);
        let thread = FirefoxThread {
            key,
            samples: members.get("samples"),
            native_allocations: members.get("nativeAllocations"),
            js_allocations: members.get("jsAllocations"),
            markers: members.get("markers"),
        };
        let own_tables = FirefoxStackTables::from_members(&members);
        // Before version 41 each thread had its own libraries.
        let own_libs = FirefoxLibrary::read_all(document, members.get("libs"), self.batch.losses())?;
        let libs = own_libs.as_deref().unwrap_or(&shared.libs);
        let texts = match (own_tables.texts, &shared.texts) {
            (None, Some(texts)) => Rc::clone(texts),
            (own_texts, _) => FirefoxTexts::read(document, own_texts, self.batch.losses())?,
        };
        if own_tables != FirefoxStackTables::default() {
            let mut stacks = FirefoxStacks::read(
                document,
                &own_tables.or(shared.tables),
                texts,
                libs,
                &mut self.modules,
                &mut self.batch,
            )?;
            self.events(&thread, &mut stacks, &shared.markers)?;
            return Ok(pid);
        }
        let stacks = match shared.stacks.take() {
            Some(stacks) => stacks,
            None => FirefoxStacks::read(document, &shared.tables, texts, libs, &mut self.modules, &mut self.batch)?,
        };
        let stacks = shared.stacks.insert(stacks);
        self.events(&thread, stacks, &shared.markers)?;
        Ok(pid)
    }

    fn events(
        &mut self,
        thread: &FirefoxThread,
        stacks: &mut FirefoxStacks<'_>,
        markers: &Markers,
    ) -> Result<(), ReadError> {
        self.samples(thread, stacks)?;
        self.markers(thread, &stacks.texts, markers)
    }

    fn markers(
        &mut self,
        thread: &FirefoxThread,
        texts: &FirefoxTexts<'_>,
        markers: &Markers,
    ) -> Result<(), ReadError> {
        let names = ["name", "startTime", "endTime", "phase", "category", "data", "time"];
        let mut rows = FirefoxTable::open(self.document, thread.markers, names, self.batch.losses())?;
        while let Some(row) = rows.next(self.batch.losses())? {
            let (start, end, phase) = match row.get(6) {
                Some(time) if row.get(1).is_none() && row.get(2).is_none() => phase_of_unphased(time, row.get(5)),
                _ => (row.get(1), row.get(2), row.index(3)),
            };
            let (start_ns, end_ns) = (self.time(start), self.time(end));
            let pos = SourcePos::Time(start_ns.or(end_ns).unwrap_or(self.offset_ns));
            let (kind, ts_ns) = match phase {
                Some(marker_phase::INTERVAL) => (EventKind::Complete, start_ns),
                Some(marker_phase::INTERVAL_START) => (EventKind::AsyncBegin, start_ns),
                Some(marker_phase::INTERVAL_END) => (EventKind::AsyncEnd, end_ns),
                _ => (EventKind::Instant, start_ns),
            };
            let Some(ts_ns) = ts_ns else {
                self.batch.lose(Loss::BadTime, pos);
                continue;
            };
            let name = row.index(0).map_or("", |name| texts.get(name));
            let category = row.index(4).and_then(|category| markers.categories.get(category as usize));
            let category = category.map(|category| category.name.as_bytes());
            let mut event = Event::new(ts_ns, kind, self.batch.track_with(&thread.key), NameIdx::EMPTY);
            event.name = self.batch.name(name.as_bytes(), category, pos);
            match kind {
                EventKind::Complete => match end_ns.map(|end_ns| end_ns.checked_sub(ts_ns)) {
                    // Markers of a thread are of many kinds, such as requests and timers.
                    Some(Some(dur_ns)) if dur_ns >= 0 => {
                        (event.value, event.flags) = (dur_ns.unsigned_abs(), EventFlags::MAY_OVERLAP);
                    }
                    Some(_) => self.batch.lose(Loss::NegativeDuration, pos),
                    None => event.flags = EventFlags::UNFINISHED,
                },
                EventKind::AsyncBegin | EventKind::AsyncEnd => {
                    // Begins and ends are matched by name on their thread, and need not nest.
                    let group = TrackKey { kind: TrackKind::Async, ..thread.key.clone() };
                    event.track = self.batch.track_with(&group);
                    event.value = xxh3_64(format!("{:?} {name}", (&thread.key.pid, &thread.key.tid)).as_bytes());
                }
                _ => {}
            }
            event.detail = self.arguments(row.get(5), texts, markers, pos);
            self.batch.push(event);
            self.batch.flush_if_full(self.sink, self.context)?;
        }
        Ok(())
    }

    /// Stores the data of a marker, with strings in place of their indices. Returns its detail index; 0 if there is
    /// none, or if it is not an object.
    fn arguments(&mut self, data: Option<&[u8]>, texts: &FirefoxTexts<'_>, markers: &Markers, pos: SourcePos) -> u32 {
        let Some(data) = data.filter(|data| data.starts_with(b"{")) else { return 0 };
        let Ok(data) = serde_json::from_slice::<&RawValue>(data) else {
            self.batch.lose(Loss::BadRecord, pos);
            return 0;
        };
        let mut data_json = None;
        if !markers.texts.is_empty()
            && let Ok(Typed { kind: Some(kind) }) = serde_json::from_str(data.get())
            && let Some(keys) = markers.texts.get(&*kind)
            && let Ok(mut object) = serde_json::from_str::<serde_json::Map<_, _>>(data.get())
        {
            for key in keys {
                let Some(value) = object.get_mut(key) else { continue };
                let Some(text) = value.as_u64().and_then(|number| texts.try_get(number)) else {
                    self.batch.losses().add_many(Loss::MissingText, pos, u64::from(value.is_number()));
                    continue;
                };
                *value = text.into();
            }
            data_json = serde_json::to_string(&object).ok();
        }
        let args_json = data_json.as_deref().unwrap_or_else(|| data.get());
        self.batch.args(args_json)
    }

    /// Adds a counter. Values are deltas, which are summed for memory. In the Gecko form a counter belongs to the
    /// process that lists it.
    fn counter(&mut self, counter: JsonExtent, process: &Id) -> Result<(), ReadError> {
        let document = self.document;
        let members = FirefoxObject::read(document, Some(counter))?;
        let losses = self.batch.losses();
        let category: String = document.value(members.get("category"), losses)?.unwrap_or_default();
        let name: String = document.value(members.get("name"), losses)?.unwrap_or_default();
        let title = if category.is_empty() { name } else { format!("{category} {name}") };
        let pid = members.get("pid").map(|pid| document.text(pid)).transpose()?;
        let pid = pid.map_or_else(|| process.clone(), |pid| id(Some(&pid)));
        let key = TrackKey { kind: TrackKind::Counter, pid, tid: Id::None, name: title.into(), slot: 0 };
        // Firefox draws its categories in these units.
        let unit = match &*category {
            "Memory" | "Bandwidth" => "bytes",
            "power" => "pWh",
            _ => "",
        };
        let samples = match members.get("samples") {
            Some(samples) => Some(samples),
            // Older profiles have sample groups, but never more than one.
            None => match document.items(members.get("sampleGroups").or(members.get("sample_groups"))).next()? {
                Some(group) => document.pick(group, ["samples"])?[0],
                None => None,
            },
        };
        let mut rows = FirefoxTable::open(document, samples, ["time", "timeDeltas", "count"], losses)?;
        let (mut now_ns, mut sum) = (self.offset_ns, 0.0);
        while let Some(row) = rows.next(self.batch.losses())? {
            let Some(ts_ns) = self.next_time(now_ns, row.get(0), row.get(1)) else {
                self.batch.lose(Loss::BadTime, SourcePos::Time(now_ns));
                continue;
            };
            now_ns = ts_ns;
            let pos = SourcePos::Time(ts_ns);
            let change = row.get(2).and_then(|count| std::str::from_utf8(count).ok()?.parse::<f64>().ok());
            let Some(change) = change.filter(|change| change.is_finite()) else {
                self.batch.lose(Loss::BadCounter, pos);
                continue;
            };
            sum = if category == "Memory" { sum + change } else { change };
            let track = self.batch.counter_track(&key, unit);
            let name = self.batch.name(key.name.as_bytes(), None, pos);
            self.batch.push(Event { value: f64::to_bits(sum), ..Event::new(ts_ns, EventKind::Counter, track, name) });
            self.batch.flush_if_full(self.sink, self.context)?;
        }
        Ok(())
    }
}
