//! Text that `babeltrace` and `babeltrace2` print for traces in the Common Trace Format, which `LTTng` records. Each
//! event is a line with its time, host, name, context and fields. Pairs of events are spans, scheduler events of the
//! kernel are scheduling, all others are instants.
//!
//! Rows are threads if the context has their ids. Without ids, events of the kernel belong to the thread that runs on
//! their CPU. All others have a row for each CPU of their host. Ids of further hosts are extended by the name of the
//! host, and each host has its own rows of CPUs.

mod clock;
mod functions;
mod kernel;
mod line;
mod pairs;
mod rows;
mod value;

use std::borrow::Cow;

use rustc_hash::FxHashMap;

use self::clock::{DayClock, WrittenTime};
use self::functions::function_side;
use self::line::EventLine;
use self::pairs::{PairSide, Pairs, UnpairedBegin, pair_of};
use self::rows::{EventRow, HostRows, other_context};
use self::value::LttngFields;
use crate::formats::ReadError;
use crate::formats::format::{DataKind, Format, Opener};
use crate::formats::input::lines::{LineParser, Output, TextLine, head_lines};
use crate::formats::input::text::{parsed, without_colours};
use crate::formats::output::args::ArgsWriter;
use crate::formats::output::batch::BatchBuilder;
use crate::model::{Event, EventFlags, EventKind, Loss, NameIdx, SourcePos, TrackKey};

pub(crate) const FORMAT: Format = Format {
    name: "babeltrace",
    record: "An event is a line of time, host, name and fields: \"[10:15:20.123456789] (+0.000001234) host x: { cpu_id = 1 }, { id = 7 }\".",
    sniff: looks_like_babeltrace,
    is_event: Some(looks_like_babeltrace),
    live: None,
    shows: &[DataKind::Spans, DataKind::Instants, DataKind::Arguments, DataKind::Scheduling],
    opener: Opener::Trace(|source, _| Ok(crate::formats::input::lines::open(source, Babeltrace::default()))),
};

/// Returns whether the first line that is not a note is an event.
fn looks_like_babeltrace(head: &[u8]) -> bool {
    let mut lines = head_lines(head).map(without_colours).filter(|line| !is_note(line));
    lines.next().is_some_and(|line| EventLine::parse(&line).is_some())
}

/// Returns whether a line is about the trace: the folder that `lttng view` prints, or an empty line.
fn is_note(line: &[u8]) -> bool {
    let line = line.trim_ascii();
    line.is_empty() || line.starts_with(b"Trace directory: ") || discarded(line).is_some()
}

/// Returns the number of events that the tracer has discarded, of a warning such as `Tracer discarded 12 events between
/// ...`.
fn discarded(line: &[u8]) -> Option<u64> {
    const WARNING: &[u8] = b"racer discarded ";
    let count = &line[memchr::memmem::find(line, WARNING)? + WARNING.len()..];
    let digits = count.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let is_of_events = count[digits..].starts_with(b" event");
    parsed::<u64>(&count[..digits]).filter(|_| is_of_events && !line.ends_with(b"}"))
}

#[derive(Debug, Default)]
struct Babeltrace {
    clock: DayClock,
    /// Whether an event had no time.
    has_untimed: bool,
    rows: HostRows,
    pairs: Pairs,
    args: ArgsWriter,
}

/// An event at its time.
#[derive(Debug)]
struct TimedEvent<'l> {
    ts_ns: i64,
    line: EventLine<'l>,
    pos: SourcePos,
}

impl LineParser for Babeltrace {
    fn line(&mut self, line: TextLine<'_>, batch: &mut BatchBuilder) {
        let text: Cow<'_, [u8]> = without_colours(line.bytes);
        if is_note(&text) {
            if let Some(lost) = discarded(&text) {
                batch.losses().add_many(Loss::RecorderLost, line.pos(), lost);
            }
            return;
        }
        let pos = line.pos();
        let Some(event) = EventLine::parse(text.trim_ascii_end()) else { return batch.lose(line.loss(), pos) };
        line.count_missing_end(batch);
        if event.time == WrittenTime::Unknown && !std::mem::replace(&mut self.has_untimed, true) {
            batch.lose(Loss::NoTimes, pos);
        }
        let ts_ns = self.clock.time(event.time, event.distance_ns);
        self.add(&TimedEvent { ts_ns, line: event, pos }, batch);
    }

    fn finish(&mut self, out: &mut Output<'_>) -> Result<(), ReadError> {
        for (begin, had_ends) in self.pairs.finish() {
            self.add_waiting(&begin, had_ends, out.batch);
            out.flush_if_full()?;
        }
        self.rows.finish(out.batch);
        out.flush_if_full()
    }
}

impl Babeltrace {
    fn add(&mut self, event: &TimedEvent<'_>, batch: &mut BatchBuilder) {
        let EventLine { name, payload, .. } = &event.line;
        let row = self.rows.row(event, batch);
        if let Some((host, pid)) = row.host.zip(row.pid) {
            self.rows.host(host).files.learn(pid, name, payload);
        }
        if let Some(kind) = function_side(name) {
            return self.function(kind, event, &row, batch);
        }
        if self.kernel_event(event, &row, batch) {
            return;
        }
        match pair_of(name) {
            Some((base, PairSide::Begin)) => self.begin(base, &row.key, event, batch),
            Some((base, PairSide::End)) => self.end(base, &row.key, event, batch),
            None => self.instant(event, &row.key, batch),
        }
    }

    /// Adds the begin or the end of a function of a program.
    fn function(&mut self, kind: EventKind, event: &TimedEvent<'_>, row: &EventRow, batch: &mut BatchBuilder) {
        let &TimedEvent { ts_ns, ref line, pos } = event;
        let address = line.payload.unsigned("addr");
        let name = address.map(|address| match row.host {
            Some(host) => self.rows.host(host).files.name(row.pid.unwrap_or(0), address, pos, batch),
            None => batch.name(format!("{address:#x}").as_bytes(), None, pos),
        });
        let track = batch.track_with(&row.key);
        match (kind, name) {
            (EventKind::End, None) => {
                batch.push(Event { flags: EventFlags::UNNAMED, ..Event::new(ts_ns, kind, track, NameIdx::EMPTY) });
            }
            (EventKind::End, Some(name)) => batch.push(Event::new(ts_ns, kind, track, name)),
            (_, Some(name)) => {
                let detail = self.detail(event, batch);
                batch.push(Event { detail, ..Event::new(ts_ns, kind, track, name) });
            }
            (_, None) => batch.lose(Loss::BadRecord, pos),
        }
    }

    /// Lets an event wait for its end.
    fn begin(&mut self, base: &[u8], track: &TrackKey, event: &TimedEvent<'_>, batch: &mut BatchBuilder) {
        let &TimedEvent { ts_ns, ref line, pos } = event;
        let mut fields = line.payload.clone();
        fields.0.extend(other_context(line));
        let (base, name) = (base.into(), line.name.into());
        let begin = UnpairedBegin { ts_ns, track: track.clone(), base, name, fields, pos };
        if let Some(begin) = self.pairs.begin(begin) {
            self.add_waiting(&begin, false, batch);
        }
    }

    /// Adds the span of an end; without a begin, the end is an instant.
    fn end(&mut self, base: &[u8], track: &TrackKey, event: &TimedEvent<'_>, batch: &mut BatchBuilder) {
        let Some(begin) = self.pairs.end(track, base, &event.line.payload) else {
            return self.instant(event, track, batch);
        };
        let name = batch.name(kernel::span_name(&begin).as_bytes(), None, begin.pos);
        self.args.clear();
        write_fields(&begin.fields, &mut self.args);
        // The first of several fields with the same name counts.
        let known: FxHashMap<&str, &str> = begin.fields.0.iter().rev().map(|(key, json)| (&**key, &**json)).collect();
        for (key, json) in &event.line.payload.0 {
            match known.get(&**key) {
                Some(same) if *same == &**json => {}
                // The field has another value at the end.
                Some(_) => write_json("exit.", key, json, &mut self.args),
                None => write_json("", key, json, &mut self.args),
            }
        }
        let detail = batch.args(self.args.finish());
        let dur_ns = event.ts_ns.checked_sub(begin.ts_ns).and_then(|dur_ns| u64::try_from(dur_ns).ok());
        if dur_ns.is_none() {
            batch.lose(Loss::NegativeDuration, event.pos);
        }
        let (value, row) = (dur_ns.unwrap_or(0), batch.track_with(track));
        batch.push(Event { value, detail, ..Event::new(begin.ts_ns, EventKind::Complete, row, name) });
    }

    /// Adds a begin without an end: an unfinished span, or an instant if its name never had an end.
    fn add_waiting(&mut self, begin: &UnpairedBegin, had_ends: bool, batch: &mut BatchBuilder) {
        let (kind, name) = if had_ends {
            (EventKind::Begin, batch.name(kernel::span_name(begin).as_bytes(), None, begin.pos))
        } else {
            (EventKind::Instant, batch.name(&begin.name, None, begin.pos))
        };
        self.args.clear();
        write_fields(&begin.fields, &mut self.args);
        let detail = batch.args(self.args.finish());
        let track = batch.track_with(&begin.track);
        batch.push(Event { detail, ..Event::new(begin.ts_ns, kind, track, name) });
    }

    fn instant(&mut self, event: &TimedEvent<'_>, track: &TrackKey, batch: &mut BatchBuilder) {
        let (track, name) = (batch.track_with(track), batch.name(event.line.name, None, event.pos));
        let detail = self.detail(event, batch);
        batch.push(Event { detail, ..Event::new(event.ts_ns, EventKind::Instant, track, name) });
    }

    /// Adds the arguments of an event: its fields, and its context without the ids of its row.
    fn detail(&mut self, event: &TimedEvent<'_>, batch: &mut BatchBuilder) -> u32 {
        self.args.clear();
        write_fields(&event.line.payload, &mut self.args);
        for (key, json) in other_context(&event.line) {
            write_json("", &key, &json, &mut self.args);
        }
        batch.args(self.args.finish())
    }
}

/// Writes fields as arguments. A field without a name has its number as name.
fn write_fields(fields: &LttngFields, args: &mut ArgsWriter) {
    for (position, (key, json)) in fields.0.iter().enumerate() {
        if key.is_empty() {
            write_json("", &position.to_string(), json, args);
        } else {
            write_json("", key, json, args);
        }
    }
}

fn write_json(prefix: &str, key: &str, json: &str, args: &mut ArgsWriter) {
    args.key(prefix, key.as_bytes());
    args.json.push_str(json);
}

#[cfg(test)]
mod tests;
