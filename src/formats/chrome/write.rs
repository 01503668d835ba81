//! Writes events as Chrome JSON, one per line, in the order of the calls. Uses the object form; times are decimal
//! microseconds with three decimals. Never sorts, pairs or drops events, and copies arguments unchanged.
//!
//! | event | written as |
//! |---|---|
//! | complete span | `X`; without an end, `B` with its `dur` and `unfinished` |
//! | begin, end | `B`, `E` |
//! | thread state | `T` of the category `thread_state` with a duration, as Perfetto reads it |
//! | CPU run | `X` with `cpu` |
//! | instant | `i` with thread, process or global scope; `n` on an async track |
//! | counter | `C` with the series of its track; `unit` if the name has it in brackets |
//! | async begin, end, instant, step | `b`, `e`, `n`, `n`; a begin without an end has `dur` and `unfinished` |
//! | flow start, step, end | `s`, `t`, `f`; `"bp":"e"` if it binds to the enclosing span; `place` if ambiguous |
//! | sample | `P` with `sf`, an id in `stackFrames`, which precedes all events; `untimed` in a profile without times |
//! | process, track | `M`, before all events |
//!
//! Ids are written in hexadecimal, and mean the same in all processes.

use std::borrow::Cow;
use std::io::{self, Write};

use rustc_hash::FxHashMap;
use serde::de::IgnoredAny;

use crate::formats::json::text::quoted;
use crate::model::args::Detail;
use crate::model::counter_unit::unit_in_name;
use crate::model::frame_sources::FrameSources;
use crate::model::{
    Event, EventFlags, EventKind, Id, NameIdx, Names, Payload, Process, StackIdx, Stacks, Track, TrackIdx, TrackKey,
    TrackKind, TrackTables,
};

/// Writes a trace as Chrome JSON.
#[derive(Debug)]
pub(crate) struct ChromeJsonWriter<'a, W> {
    out: W,
    names: &'a Names,
    stacks: &'a Stacks,
    tracks: &'a TrackTables,
    /// Cached members `name` and `cat`, by name row.
    name_members: Vec<Option<Box<[u8]>>>,
    /// Members `pid` and `tid`, by track.
    track_members: Vec<Box<[u8]>>,
    /// Name of the first point of each open flow: all points of a flow must have the same name.
    flow_names: FxHashMap<u64, NameIdx>,
    counter_numbers: CounterNumbers<'a>,
    line: Vec<u8>,
    is_first: bool,
}

/// Numbers of the counters with a name that another counter of their process has. Readers know a counter only by these.
#[derive(Debug, Default)]
struct CounterNumbers<'a> {
    /// From 1, in order of their first values.
    of_tracks: FxHashMap<TrackIdx, u32>,
    /// The last number of each process and name.
    last: FxHashMap<(&'a Id, &'a str), u32>,
}

impl<'a> CounterNumbers<'a> {
    /// Returns the number of a counter; `None` for the first one of its name.
    fn number(&mut self, index: TrackIdx, key: &'a TrackKey) -> Option<u32> {
        let number = *self.of_tracks.entry(index).or_insert_with(|| {
            let last = self.last.entry((&key.pid, &*key.name)).or_default();
            *last = last.saturating_add(1);
            *last
        });
        (number > 1).then_some(number)
    }
}

impl<'a, W: Write> ChromeJsonWriter<'a, W> {
    /// Writes the processes and tracks of a trace. All writing methods return the I/O errors of the output.
    pub(crate) fn new(
        mut out: W,
        names: &'a Names,
        (stacks, sources): (&'a Stacks, &FrameSources<'_>),
        tracks: &'a TrackTables,
    ) -> io::Result<Self> {
        out.write_all(b"{\"displayTimeUnit\":\"ns\",")?;
        if let Some(offset_ns) = tracks.utc_offset_ns {
            // The name by which PyTorch and VizTracer state the start of their clock.
            write!(out, "\"baseTimeNanoseconds\":{offset_ns},")?;
        }
        write_stack_frames(&mut out, names, (stacks, sources))?;
        out.write_all(b"\"traceEvents\":[")?;
        let mut writer = Self {
            out,
            names,
            stacks,
            tracks,
            name_members: vec![None; names.len()],
            track_members: tracks.tracks.iter().map(track_members).collect(),
            flow_names: FxHashMap::default(),
            counter_numbers: CounterNumbers::default(),
            line: Vec::new(),
            is_first: true,
        };
        tracks.processes.iter().try_for_each(|process| writer.process(process))?;
        tracks.tracks.iter().try_for_each(|track| writer.track(track))?;
        Ok(writer)
    }

    /// Writes an event with its encoded details. An event with an unknown track is written without a thread.
    pub(crate) fn event(&mut self, event: &Event, blob: &[u8]) -> io::Result<()> {
        let tracks = self.tracks;
        let track = tracks.tracks.get(event.track.index());
        let kind = track.map_or(TrackKind::Global, |track| track.key.kind);
        match event.payload() {
            Payload::Span { dur_ns, is_unfinished } if matches!(kind, TrackKind::Cpu | TrackKind::State) => {
                self.task(event, track, dur_ns, is_unfinished)?;
            }
            Payload::Span { dur_ns, is_unfinished: true } => {
                self.begin_line(b'B', event, event.name);
                self.unfinished_duration(dur_ns);
            }
            Payload::Begin { .. } => self.begin_line(b'B', event, event.name),
            Payload::Span { dur_ns, is_unfinished: false } => {
                self.begin_line(b'X', event, event.name);
                self.line.extend_from_slice(b",\"dur\":");
                push_micros(&mut self.line, false, dur_ns);
            }
            Payload::End { .. } => self.begin_line(b'E', event, event.name),
            Payload::Instant if kind == TrackKind::Async => self.with_id(b'n', event, event.name),
            Payload::Instant | Payload::State { .. } => {
                self.begin_line(b'i', event, event.name);
                self.line.extend_from_slice(match kind {
                    TrackKind::Global => b",\"s\":\"g\"",
                    TrackKind::Process => b",\"s\":\"p\"",
                    _ => b",\"s\":\"t\"",
                });
            }
            Payload::Counter(value) => return self.counter(event, value, track),
            Payload::Async(_) => {
                let ph = match event.kind {
                    EventKind::AsyncBegin => b'b',
                    EventKind::AsyncEnd => b'e',
                    _ => b'n',
                };
                self.with_id(ph, event, event.name);
            }
            Payload::Flow { id, binds_enclosing } => self.flow(event, id, binds_enclosing)?,
            Payload::Sample(stack) => {
                // The innermost frame of the table: a name with inlined functions is several frames there, and readers
                // take any other name for the event.
                let name = if stack == StackIdx::EMPTY { event.name } else { self.stacks.get(stack).name };
                self.begin_line(b'P', event, name);
                if stack != StackIdx::EMPTY {
                    write!(self.line, ",\"sf\":{}", stack.0)?;
                } else if event.name != NameIdx::EMPTY {
                    // Otherwise readers would use its name as its only frame.
                    self.line.extend_from_slice(b",\"stack\":[]");
                }
                if track.is_some_and(|track| track.key.is_untimed()) {
                    // Only this program reads `untimed`.
                    self.line.extend_from_slice(b",\"untimed\":true");
                }
            }
        }
        self.details(&Detail::decode(blob));
        self.end_line()
    }

    /// Writes the begin of an async span without an end, whose duration other viewers ignore.
    pub(crate) fn unfinished_async(&mut self, begin: &Event, dur_ns: u64, blob: &[u8]) -> io::Result<()> {
        self.with_id(b'b', begin, begin.name);
        if dur_ns > 0 {
            self.unfinished_duration(dur_ns);
        }
        self.details(&Detail::decode(blob));
        self.end_line()
    }

    /// Closes the array and flushes the output.
    pub(crate) fn finish(mut self) -> io::Result<W> {
        self.out.write_all(b"\n]}\n")?;
        self.out.flush()?;
        Ok(self.out)
    }

    /// Writes a run on a CPU, or a thread state, which is named by the letters of the kernel.
    fn task(&mut self, event: &Event, track: Option<&Track>, dur_ns: u64, is_unfinished: bool) -> io::Result<()> {
        if let Some(TrackKey { kind: TrackKind::Cpu, tid, .. }) = track.map(|track| &track.key) {
            self.begin_line(b'X', event, event.name);
            write!(self.line, ",\"cpu\":{}", quoted(&tid.to_string()))?;
        } else {
            let name = self.names.get(event.name);
            // A state that readers do not know has no letters.
            let letters = quoted(name.category.filter(|letters| !letters.is_empty()).unwrap_or(name.text));
            self.begin_event(b'T', event);
            write!(self.line, ",\"name\":{letters},\"cat\":\"thread_state\"")?;
        }
        if is_unfinished {
            self.unfinished_duration(dur_ns);
        } else {
            self.line.extend_from_slice(b",\"dur\":");
            push_micros(&mut self.line, false, dur_ns);
        }
        Ok(())
    }

    /// Writes the duration of a span without an end: up to the last event of its track, which a part of a trace may
    /// lack. Only this program reads `unfinished`.
    fn unfinished_duration(&mut self, dur_ns: u64) {
        self.line.extend_from_slice(b",\"dur\":");
        push_micros(&mut self.line, false, dur_ns);
        self.line.extend_from_slice(b",\"unfinished\":true");
    }

    /// Writes a value of a counter series. The name of its track consists of the counter name, its id in brackets, and
    /// the series name.
    fn counter(&mut self, event: &Event, value: f64, track: Option<&'a Track>) -> io::Result<()> {
        let whole = track.map_or("", |track| &*track.key.name);
        let (name, id, series) = counter_parts(whole, self.names.get(event.name).text);
        let number = track.and_then(|track| self.counter_numbers.number(event.track, &track.key));
        let number = number.map(|number| format!("#{number}"));
        let id = [id, number.as_deref()].into_iter().flatten().collect::<Vec<_>>().join(" ");
        // The format has no field for a unit, so other readers find it in the name.
        let unit = self.tracks.units.get(&event.track).filter(|unit| unit_in_name(whole) != Some(unit));
        let series = match unit {
            Some(unit) if series.is_empty() => Cow::Owned(format!("({unit})")),
            Some(unit) => Cow::Owned(format!("{series} ({unit})")),
            None => Cow::Borrowed(series),
        };
        let (name, id, series) = (quoted(name), (!id.is_empty()).then(|| quoted(&id)), quoted(&series));
        self.begin_event(b'C', event);
        write!(self.line, ",\"name\":{name}")?;
        if let Some(category) = self.names.get(event.name).category {
            write!(self.line, ",\"cat\":{}", quoted(category))?;
        }
        if let Some(id) = id {
            write!(self.line, ",\"id\":{id}")?;
        }
        if let Some(unit) = unit {
            write!(self.line, ",\"unit\":{}", quoted(unit))?;
        }
        // JSON has neither NaN nor infinities.
        let value = serde_json::Number::from_f64(value).map_or_else(|| quoted(&value.to_string()), |it| it.to_string());
        write!(self.line, ",\"args\":{{{series}:{value}}}")?;
        self.end_line()
    }

    fn flow(&mut self, event: &Event, id: u64, binds_enclosing: bool) -> io::Result<()> {
        let name = *self.flow_names.entry(id).or_insert(event.name);
        let ph = match event.kind {
            EventKind::FlowStart => b's',
            EventKind::FlowStep => b't',
            _ => {
                self.flow_names.remove(&id);
                b'f'
            }
        };
        self.with_id(ph, event, name);
        if event.kind == EventKind::FlowEnd && binds_enclosing {
            self.line.extend_from_slice(b",\"bp\":\"e\"");
        }
        if event.flags.has(EventFlags::PLACED) && event.depth != 0 {
            // Only this program reads `place`. Others cannot bind a flow to an instant, to a span that ends at this
            // time, or to one whose child starts then.
            write!(self.line, ",\"place\":{}", event.depth)?;
        }
        Ok(())
    }

    fn with_id(&mut self, ph: u8, event: &Event, name: NameIdx) {
        self.begin_line(ph, event, name);
        self.line.extend_from_slice(b",\"id\":\"0x");
        push_hex(&mut self.line, event.value);
        self.line.push(b'"');
    }

    /// Starts a line with the members of nearly all events.
    fn begin_line(&mut self, ph: u8, event: &Event, name: NameIdx) {
        self.begin_event(ph, event);
        let is_unnamed_end = event.kind == EventKind::End && event.flags.has(EventFlags::UNNAMED);
        if !is_unnamed_end && let Some(members) = self.name_members.get_mut(name.index()) {
            let members = members.get_or_insert_with(|| name_members(self.names, name));
            self.line.extend_from_slice(members);
        }
    }

    /// Starts a line with phase, track and time.
    fn begin_event(&mut self, ph: u8, event: &Event) {
        self.line.extend_from_slice(b"{\"ph\":\"");
        self.line.push(ph);
        self.line.push(b'"');
        if let Some(members) = self.track_members.get(event.track.index()) {
            self.line.extend_from_slice(members);
        }
        self.line.extend_from_slice(b",\"ts\":");
        push_micros(&mut self.line, event.ts_ns < 0, event.ts_ns.unsigned_abs());
        if event.flags.has(EventFlags::OUTSIDE) {
            // No viewer uses it, and readers skip unknown members.
            self.line.extend_from_slice(b",\"outside\":true");
        }
    }

    fn details(&mut self, detail: &Detail<'_>) {
        for (member, time_ns) in [("tts", detail.thread_ts_ns), ("tdur", detail.thread_dur_ns)] {
            if let Some(time_ns) = time_ns {
                push_member(&mut self.line, member);
                push_micros(&mut self.line, time_ns < 0, time_ns.unsigned_abs());
            }
        }
        let args = detail.args_json;
        if args.is_empty() {
            return;
        }
        push_member(&mut self.line, "args");
        // Damaged arguments must not make the whole file unreadable: anything but an object is written as text.
        if args.trim_start().starts_with('{') && serde_json::from_str::<IgnoredAny>(args).is_ok() {
            self.line.extend(args.bytes().map(|byte| if byte == b'\n' || byte == b'\r' { b' ' } else { byte }));
        } else {
            self.line.extend_from_slice(b"{\"args\":");
            self.line.extend_from_slice(quoted(args).as_bytes());
            self.line.push(b'}');
        }
    }

    fn process(&mut self, process: &Process) -> io::Result<()> {
        let mut members = Vec::new();
        push_id(&mut members, "pid", &process.pid);
        if !process.name.is_empty() {
            self.metadata("process_name", &members, "name", &quoted(&process.name))?;
        }
        if !process.labels.is_empty() {
            self.metadata("process_labels", &members, "labels", &quoted(&process.labels))?;
        }
        if process.sort_index != 0 {
            self.metadata("process_sort_index", &members, "sort_index", &process.sort_index.to_string())?;
        }
        Ok(())
    }

    /// Only threads have names and sort indices in this format; other tracks are named by their events.
    fn track(&mut self, track: &Track) -> io::Result<()> {
        if !matches!(track.key.kind, TrackKind::Thread | TrackKind::Cpu) {
            return Ok(());
        }
        let members = track_members(track);
        if !track.name.is_empty() {
            self.metadata("thread_name", &members, "name", &quoted(&track.name))?;
        }
        if track.sort_index != 0 {
            self.metadata("thread_sort_index", &members, "sort_index", &track.sort_index.to_string())?;
        }
        Ok(())
    }

    fn metadata(&mut self, name: &str, members: &[u8], arg: &str, value: &str) -> io::Result<()> {
        self.line.extend_from_slice(b"{\"ph\":\"M\"");
        self.line.extend_from_slice(members);
        write!(self.line, ",\"name\":\"{name}\",\"args\":{{\"{arg}\":{value}}}")?;
        self.end_line()
    }

    fn end_line(&mut self) -> io::Result<()> {
        self.out.write_all(if self.is_first { b"\n" } else { b",\n" })?;
        self.is_first = false;
        self.line.push(b'}');
        self.out.write_all(&self.line)?;
        self.line.clear();
        Ok(())
    }
}

/// Writes the stack frames, each with its caller. Only this program writes `file` and `line`.
fn write_stack_frames(
    out: &mut impl Write,
    names: &Names,
    (stacks, sources): (&Stacks, &FrameSources<'_>),
) -> io::Result<()> {
    if stacks.is_empty() {
        return Ok(());
    }
    out.write_all(b"\"stackFrames\":{")?;
    for (number, row) in (1u32..).zip(stacks.rows()) {
        let name = names.get(row.name);
        out.write_all(if number == 1 { b"\n" } else { b",\n" })?;
        write!(out, "\"{number}\":{{\"name\":{}", quoted(name.text))?;
        if let Some(category) = name.category {
            write!(out, ",\"category\":{}", quoted(category))?;
        }
        if row.parent != StackIdx::EMPTY {
            write!(out, ",\"parent\":{}", row.parent.0)?;
        }
        if let Some(source) = sources.get(StackIdx(number)) {
            write!(out, ",\"file\":{}", quoted(source.file))?;
            if source.line > 0 {
                write!(out, ",\"line\":{}", source.line)?;
            }
        }
        out.write_all(b"}")?;
    }
    out.write_all(b"\n},")
}

/// Splits the name of a counter track into counter, id and series, for events with the name `counter`.
fn counter_parts<'n>(whole: &'n str, counter: &str) -> (&'n str, Option<&'n str>, &'n str) {
    let Some(rest) = whole.strip_prefix(counter) else { return (whole, None, "") };
    let name = &whole[..counter.len()];
    if rest.is_empty() {
        return (name, None, "");
    }
    if let Some(series) = rest.strip_prefix(' ').filter(|series| !series.is_empty() && !name.is_empty()) {
        return (name, None, series);
    }
    if let Some((id, series)) = rest.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        match series.strip_prefix(' ') {
            Some(series) if !series.is_empty() => return (name, Some(id), series),
            None if series.is_empty() => return (name, Some(id), ""),
            _ => {}
        }
    }
    (whole, None, "")
}

fn name_members(names: &Names, name: NameIdx) -> Box<[u8]> {
    let row = names.get(name);
    let mut members = format!(",\"name\":{}", quoted(row.text));
    if let Some(category) = row.category {
        members.push_str(",\"cat\":");
        members.push_str(&quoted(category));
    }
    members.into_bytes().into()
}

fn track_members(track: &Track) -> Box<[u8]> {
    let mut members = Vec::new();
    match (&track.key.pid, track.key.kind) {
        // Other viewers drop async events without a process.
        (Id::None, TrackKind::Async) => members.extend_from_slice(b",\"pid\":0,\"global\":true"),
        (pid, _) => push_id(&mut members, "pid", pid),
    }
    let tid = &track.key.tid;
    match track.key.kind {
        // Otherwise they would nest with the spans of the thread with this id.
        TrackKind::Cpu => push_id(&mut members, "tid", &Id::Text(format!("CPU {tid}").into())),
        _ => push_id(&mut members, "tid", tid),
    }
    members.into()
}

fn push_id(line: &mut Vec<u8>, member: &str, id: &Id) {
    let text = match id {
        Id::None => return,
        Id::Number(number) => number.to_string(),
        Id::Text(text) => quoted(text),
    };
    push_member(line, member);
    line.extend_from_slice(text.as_bytes());
}

fn push_member(line: &mut Vec<u8>, member: &str) {
    line.extend_from_slice(b",\"");
    line.extend_from_slice(member.as_bytes());
    line.extend_from_slice(b"\":");
}

/// Writes nanoseconds as microseconds with three decimals.
fn push_micros(line: &mut Vec<u8>, is_negative: bool, magnitude_ns: u64) {
    // 20 digits of 64 bits, and the point.
    let mut digits = [0u8; 21];
    let mut start = digits.len();
    let mut rest = magnitude_ns;
    while rest > 0 || digits.len() - start < 5 {
        if digits.len() - start == 3 {
            start -= 1;
            digits[start] = b'.';
        }
        start -= 1;
        digits[start] = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    if is_negative {
        line.push(b'-');
    }
    line.extend_from_slice(&digits[start..]);
}

fn push_hex(line: &mut Vec<u8>, value: u64) {
    let skipped = (value.leading_zeros() / 4).min(15);
    let nibbles = (0..16 - skipped).rev().map(|nibble| (value >> (nibble * 4) & 15) as usize);
    line.extend(nibbles.map(|nibble| b"0123456789abcdef"[nibble]));
}

#[cfg(test)]
mod tests;
