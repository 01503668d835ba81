//! Markers that programs write to the kernel trace, in the format of Android's `atrace`. `B|pid|name` and `E` are
//! spans, `I` and `N` instants, `C|pid|name|value` counters. `S` and `F`, `G` and `H` are asynchronous spans. Chromium
//! adds arguments and a category: `B|pid|name|key=value;key=value|category` and `C|pid|name|value|category`. Any other
//! text is a message.

use xxhash_rust::xxh3::xxh3_64;

use super::scheduler::Scheduler;
use crate::formats::input::text::{parsed, split_at_byte};
use crate::formats::output::args::ArgsWriter;
use crate::formats::output::batch::BatchBuilder;
use crate::model::{Event, EventFlags, EventKind, Id, Loss, NameIdx, SourcePos, TrackKey, TrackKind};

/// The thread that wrote a marker, and the time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MarkerSource {
    pub(crate) ts_ns: i64,
    pub(crate) tid: i64,
    pub(crate) pos: SourcePos,
}

/// Adds the event of a marker. Assigns its process to the thread if that is unknown: a program in a container sees
/// another process id than the kernel.
pub(crate) fn marker(scheduler: &mut Scheduler, batch: &mut BatchBuilder, written: MarkerSource, text: &[u8]) {
    let MarkerSource { ts_ns, tid, pos } = written;
    let text = text.trim_ascii_end();
    let MarkerParts { kind, pid, mut category, text: rest, mut args, separator } = MarkerParts::parse(text);
    if let Some(pid) = pid
        && matches!(kind, b"B" | b"E" | b"I")
        && scheduler.process(tid).is_none()
    {
        scheduler.learn_process(batch, tid, pid);
    }
    let mut thread = || {
        let pid = scheduler.process(tid).or(pid).unwrap_or_else(|| scheduler.process_or_own(tid));
        key(TrackKind::Thread, pid, Id::Number(tid), b"")
    };
    let asynchronous = |pid, name: &[u8]| key(TrackKind::Async, pid, Id::None, name);
    let named_track = |pid, track| TrackKey { slot: TrackKey::SLOT_NAMED, ..asynchronous(pid, track) };
    let (track, kind, name, value) = match (kind, pid) {
        (b"B", Some(_)) => {
            let mut name = rest;
            if let Some(parts) = chromium_parts(rest).filter(|_| !is_hitrace(rest)) {
                (name, args, category) = (parts.name, parts.args, Some(parts.category));
            }
            (thread(), EventKind::Begin, name, 0)
        }
        (b"E", _) => (thread(), EventKind::End, &b""[..], 0),
        (b"I", Some(_)) => (thread(), EventKind::Instant, rest, 0),
        (b"C", Some(pid)) => {
            let Some(counter) = counter_parts(rest) else { return batch.lose(Loss::BadCounter, pos) };
            category = counter.category;
            let track = key(TrackKind::Counter, pid, Id::None, counter.name);
            (track, EventKind::Counter, counter.name, counter.value.to_bits())
        }
        (b"S" | b"F", Some(pid)) => {
            let (name, cookie) = if is_hitrace(rest) { split_hitrace(rest) } else { split_last(rest) };
            let begun = if kind == b"S" { EventKind::AsyncBegin } else { EventKind::AsyncEnd };
            (asynchronous(pid, b""), begun, name, async_id(pid, name, cookie))
        }
        // These have a named track: `G|pid|track|name|cookie`, `H|pid|track|cookie`.
        (b"G", Some(pid)) => {
            let (named, cookie) = split_last(rest);
            let (track, name) = split_at_byte(named, b'|');
            (named_track(pid, track), EventKind::AsyncBegin, name, async_id(pid, track, cookie))
        }
        (b"H", Some(pid)) => {
            let ((track, _), (_, cookie)) = (split_at_byte(rest, b'|'), split_last(rest));
            (named_track(pid, track), EventKind::AsyncEnd, &b""[..], async_id(pid, track, cookie))
        }
        (b"N", Some(pid)) => {
            let (track, name) = split_at_byte(rest, b'|');
            let track = TrackKey { slot: TrackKey::SLOT_ALONE, ..asynchronous(pid, track) };
            (track, EventKind::Instant, name, 0)
        }
        _ => (thread(), EventKind::Instant, text, 0),
    };
    let (track, name) = (batch.track_with(&track), batch.name(name, category, pos));
    let is_unnamed = matches!(kind, EventKind::End | EventKind::AsyncEnd) && name == NameIdx::EMPTY;
    let flags = if is_unnamed { EventFlags::UNNAMED } else { EventFlags::NONE };
    let detail = batch.args(write_args(args, separator).finish());
    batch.push(Event { value, detail, flags, ..Event::new(ts_ns, kind, track, name) });
}

/// The parts of `kind|pid|text`, where the text may have arguments.
struct MarkerParts<'a> {
    kind: &'a [u8],
    pid: Option<i64>,
    category: Option<&'a [u8]>,
    /// The text without category and arguments.
    text: &'a [u8],
    args: &'a [u8],
    /// Separator of the arguments.
    separator: u8,
}

impl<'a> MarkerParts<'a> {
    fn parse(text: &'a [u8]) -> Self {
        let mut parts = text.splitn(3, |&byte| byte == b'|');
        let kind = parts.next().unwrap_or_default();
        let pid = parts.next().and_then(parsed::<i64>);
        let text = parts.next().unwrap_or_default();
        match hitrace_parts(kind, text) {
            Some(HitraceParts { text, category, args }) => Self { kind, pid, category, text, args, separator: b',' },
            None => Self { kind, pid, category: None, text, args: b"", separator: b';' },
        }
    }
}

/// The parts that Chromium adds to the name of a span.
struct ChromiumParts<'a> {
    name: &'a [u8],
    /// Arguments as `key=value;key=value`; empty if there are none.
    args: &'a [u8],
    category: &'a [u8],
}

/// Splits `name|key=value;key=value|category`; returns `None` for other names, which may contain bars.
fn chromium_parts(text: &[u8]) -> Option<ChromiumParts<'_>> {
    let (before, category) = split_last(text);
    let (name, args) = before.split_at(memchr::memrchr(b'|', before)?);
    let args = &args[1..];
    let has_args = args.is_empty() || args.split(|&byte| byte == b';').all(|arg| arg.contains(&b'='));
    (has_args && is_category(category) && !name.is_empty()).then_some(ChromiumParts { name, args, category })
}

/// The parts that `HiTrace` of `HarmonyOS` adds to the name of a span or counter.
struct HitraceParts<'a> {
    /// The name, with the id of an asynchronous span or the value of a counter.
    text: &'a [u8],
    category: Option<&'a [u8]>,
    /// Arguments as `key=value,key=value`; empty if there are none.
    args: &'a [u8],
}

/// Returns whether a name is of `HiTrace`.
fn is_hitrace(text: &[u8]) -> bool {
    text.starts_with(b"H:")
}

/// Splits `H:name|level`, followed by `|args`, or by `|category|args` of an asynchronous span. Returns `None` for other
/// names, and for names of earlier versions, which have no level.
fn hitrace_parts<'a>(kind: &[u8], text: &'a [u8]) -> Option<HitraceParts<'a>> {
    let bars = is_hitrace(text).then(|| memchr::memchr_iter(b'|', text))?;
    let (level_at, mut rest) =
        bars.map(|bar| (bar, split_at_byte(&text[bar + 1..], b'|'))).find_map(|(bar, part)| {
            // A letter for the level, and the number of the tag: `M62`.
            let (level, rest) = part;
            let is_level = matches!(level, [b'D' | b'I' | b'C' | b'M', tag @ ..] if parsed::<u32>(tag).is_some());
            is_level.then_some((bar, rest))
        })?;
    let mut category = None;
    if kind == b"S" {
        let (first, args) = split_at_byte(rest, b'|');
        (category, rest) = (Some(first).filter(|category| !category.is_empty()), args);
    }
    Some(HitraceParts { text: &text[..level_at], category, args: rest })
}

/// Splits a name of `HiTrace` and the id or value after it, before which earlier versions have a space.
fn split_hitrace(text: &[u8]) -> (&[u8], &[u8]) {
    if text.contains(&b'|') {
        return split_last(text);
    }
    let space = memchr::memrchr(b' ', text).unwrap_or(text.len());
    (&text[..space], text.get(space + 1..).unwrap_or_default())
}

fn is_category(text: &[u8]) -> bool {
    !text.is_empty() && !text.iter().any(|byte| matches!(byte, b'=' | b' '))
}

/// Writes the arguments `key=value`, with a separator between two.
fn write_args(text: &[u8], separator: u8) -> ArgsWriter {
    let mut args = ArgsWriter::default();
    for arg in text.split(|&byte| byte == separator).filter(|arg| !arg.is_empty()) {
        let (key, value) = arg.split_at(memchr::memchr(b'=', arg).unwrap_or(arg.len()));
        args.text(&String::from_utf8_lossy(key), value.strip_prefix(b"=").unwrap_or(value));
    }
    args
}

/// The parts of a counter. Chromium adds the category.
struct CounterParts<'a> {
    name: &'a [u8],
    value: f64,
    category: Option<&'a [u8]>,
}

/// Splits `name|value` or `name|value|category`.
fn counter_parts(text: &[u8]) -> Option<CounterParts<'_>> {
    if let Some((name, value)) = counter_value(text) {
        return Some(CounterParts { name, value, category: None });
    }
    let (before, last) = split_last(text);
    let is_number = parsed_f64(last).is_some();
    let (name, value) = counter_value(before).filter(|_| is_category(last) && !is_number)?;
    Some(CounterParts { name, value, category: Some(last) })
}

/// Splits `name|value` of a counter.
fn counter_value(text: &[u8]) -> Option<(&[u8], f64)> {
    let (name, value) = if is_hitrace(text) { split_hitrace(text) } else { split_last(text) };
    let value = parsed_f64(value).filter(|value| value.is_finite())?;
    Some((name, value))
}

/// Parses a number, which may be infinite or none, as `NaN`.
fn parsed_f64(text: &[u8]) -> Option<f64> {
    std::str::from_utf8(text).ok()?.trim().parse().ok()
}

fn key(kind: TrackKind, pid: i64, tid: Id, name: &[u8]) -> TrackKey {
    TrackKey { kind, pid: Id::Number(pid), tid, name: String::from_utf8_lossy(name).into(), slot: 0 }
}

fn async_id(pid: i64, name: &[u8], cookie: &[u8]) -> u64 {
    let mut bytes = pid.to_le_bytes().to_vec();
    bytes.extend_from_slice(&(name.len() as u64).to_le_bytes());
    bytes.extend_from_slice(name);
    bytes.extend_from_slice(cookie);
    xxh3_64(&bytes)
}

fn split_last(text: &[u8]) -> (&[u8], &[u8]) {
    let position = memchr::memrchr(b'|', text).unwrap_or(text.len());
    (&text[..position], text.get(position + 1..).unwrap_or_default())
}
