//! The header of a line of babeltrace, with or without names, and its groups of fields, such as `[time] (+distance)
//! host name: { cpu_id = 1 }, { vtid = 7 }, { id = 0 }`. The last group has the fields of the event, the groups before
//! it have the context.

use smallvec::SmallVec;

use super::clock::{WrittenTime, distance_ns};
use super::value::{LttngFields, ValueParser};
use crate::formats::input::text::parsed;

/// Names of the groups, with the option that prints them.
const SCOPES: [&[u8]; 5] =
    [b"stream.packet.context", b"stream.event.header", b"stream.event.context", b"event.context", b"event.fields"];

/// Name of the group with the fields of an event.
const PAYLOAD: &[u8] = b"event.fields";

/// An event as its line has it.
#[derive(Debug)]
pub(super) struct EventLine<'a> {
    pub(super) time: WrittenTime,
    pub(super) distance_ns: Option<i64>,
    /// Empty if the trace has no host.
    pub(super) host: &'a [u8],
    /// The process of a trace of one process, and its name, which may be empty.
    pub(super) vpid: Option<i64>,
    pub(super) procname: &'a [u8],
    /// Empty unless it is printed.
    pub(super) log_level: &'a [u8],
    pub(super) name: &'a [u8],
    pub(super) context: LttngFields,
    pub(super) payload: LttngFields,
}

/// The trace of an event: its host, and its process if the trace has only one.
#[derive(Debug, Default)]
struct EventOrigin<'a> {
    host: &'a [u8],
    vpid: Option<i64>,
    procname: &'a [u8],
}

/// The parts of a header, and the text of the groups after it.
#[derive(Debug)]
struct LineHeader<'a> {
    time: WrittenTime,
    distance_ns: Option<i64>,
    origin: EventOrigin<'a>,
    log_level: &'a [u8],
    name: &'a [u8],
    groups: &'a [u8],
}

impl<'a> EventLine<'a> {
    /// Parses a line; returns `None` for any other text.
    pub(super) fn parse(line: &'a [u8]) -> Option<Self> {
        let header = LineHeader::parse(line).or_else(|| LineHeader::parse_named(line))?;
        let LineHeader { time, distance_ns, origin, log_level, name, groups } = header;
        let EventOrigin { host, vpid, procname } = origin;
        let parsed = fields(ValueParser::new(groups)).or_else(|| fields(ValueParser::lenient(groups)));
        let (context, payload) = parsed?;
        Some(Self { time, distance_ns, host, vpid, procname, log_level, name, context, payload })
    }
}

impl<'a> LineHeader<'a> {
    /// Parses `[time] (+distance) host:domain LEVEL (1) name: `, where only the time and the name are certain.
    fn parse(line: &'a [u8]) -> Option<Self> {
        let inside = line.strip_prefix(b"[")?;
        let close = memchr::memchr(b']', inside)?;
        let time = WrittenTime::parse(&inside[..close])?;
        let mut rest = inside[close + 1..].trim_ascii_start();
        let mut distance = None;
        if let Some(after) = rest.strip_prefix(b"(+") {
            let close = memchr::memchr(b')', after)?;
            distance = distance_ns(&rest[1..=close + 1]);
            rest = after[close + 1..].trim_ascii_start();
        }
        let is_before_groups = |&at: &usize| begins_group(&rest[at + 2..]);
        let colon = memchr::memmem::find_iter(rest, b": ").find(is_before_groups)?;
        let (head, groups) = (&rest[..colon], &rest[colon + 2..]);
        let space = memchr::memrchr(b' ', head).map_or(0, |space| space + 1);
        let (before, name) = (head[..space].trim_ascii_end(), &head[space..]);
        let (before, log_level) = split_log_level(before);
        let origin = EventOrigin::parse(before);
        (!name.is_empty()).then_some(Self { time, distance_ns: distance, origin, log_level, name, groups })
    }

    /// Parses `timestamp = time, delta = +distance, trace:hostname = host, name = name, `.
    fn parse_named(line: &'a [u8]) -> Option<Self> {
        let mut rest = line.strip_prefix(b"timestamp = ")?;
        let (mut time, mut distance, mut origin, mut log_level) = (None, None, EventOrigin::default(), &b""[..]);
        let mut key = &b"timestamp"[..];
        loop {
            let end = memchr::memmem::find(rest, b", ")?;
            let value = &rest[..end];
            rest = rest[end..].strip_prefix(b", , ").unwrap_or(&rest[end + 2..]);
            match key {
                b"timestamp" => time = Some(WrittenTime::parse(value)?),
                b"delta" => distance = distance_ns(value),
                b"trace:hostname" => origin.host = value,
                b"trace:procname" => origin.procname = value,
                b"trace:vpid" => origin.vpid = vpid(value),
                b"loglevel" => log_level = value,
                b"name" => {
                    let header =
                        Self { time: time?, distance_ns: distance, origin, log_level, name: value, groups: rest };
                    return (!value.is_empty() && begins_group(rest)).then_some(header);
                }
                _ => {}
            }
            let equals = memchr::memmem::find(rest, b" = ")?;
            key = &rest[..equals];
            rest = &rest[equals + 3..];
        }
    }
}

impl<'a> EventOrigin<'a> {
    /// Parses `host:domain:process name:process id`; any part may be missing. With all fields, the path or the name of
    /// the trace precedes the host.
    fn parse(text: &'a [u8]) -> Self {
        let parts: SmallVec<[&[u8]; 4]> = text.split(|&byte| byte == b':').collect();
        let first = parts.first().copied().unwrap_or_default();
        let first = &first[memchr::memrchr(b' ', first).map_or(0, |space| space + 1)..];
        let numbered = parts.iter().enumerate().skip(1).find_map(|(at, part)| Some((at, vpid(part)?)));
        let procname = numbered.filter(|&(at, _)| at > 1).map_or(&b""[..], |(at, _)| parts[at - 1]);
        Self { host: without_trace_name(first), vpid: numbered.map(|(_, vpid)| vpid), procname }
    }
}

/// Parses the id of a process, which `babeltrace2` prints in parentheses.
fn vpid(text: &[u8]) -> Option<i64> {
    let inside = text.strip_prefix(b"(").and_then(|text| text.strip_suffix(b")"));
    parsed(inside.unwrap_or(text))
}

/// Returns the host of `host/kernelhost`: `babeltrace2` prints the name of a trace, which begins with the name of its
/// host, directly before the host.
fn without_trace_name(text: &[u8]) -> &[u8] {
    let host = memchr::memchr(b'/', text).map(|slash| &text[..slash]).filter(|host| !host.is_empty());
    host.filter(|host| text.ends_with(host)).unwrap_or(text)
}

/// Returns whether a group of fields begins here, with or without its name.
fn begins_group(text: &[u8]) -> bool {
    let is_scope = |scope: &&[u8]| text.strip_prefix(*scope).is_some_and(|rest| rest.starts_with(b" = {"));
    text.starts_with(b"{") || SCOPES.iter().any(is_scope)
}

/// Splits the log level, such as `TRACE_DEBUG (14)`, from the end of the text before the name.
fn split_log_level(before: &[u8]) -> (&[u8], &[u8]) {
    let open = before.strip_suffix(b")").and_then(|inside| memchr::memmem::rfind(inside, b" ("));
    let Some(open) = open else { return (before, b"") };
    let start = before[..open].iter().rposition(|byte| b" :".contains(byte)).map_or(0, |at| at + 1);
    (before[..start].trim_ascii_end(), &before[start..])
}

/// Parses all groups of a line: the fields of its context and of the event.
fn fields(mut parser: ValueParser<'_>) -> Option<(LttngFields, LttngFields)> {
    let (mut context, mut payload) = (LttngFields::default(), LttngFields::default());
    let mut number = 0;
    loop {
        let scope = parser.key();
        let group = parser.fields()?;
        let is_last = !parser.skip(b", ");
        let is_payload = if scope.is_empty() { is_last } else { scope == PAYLOAD };
        if is_payload {
            payload = group;
        } else {
            context.0.extend(named(group, number));
        }
        number += 1;
        if is_last {
            break;
        }
    }
    parser.is_at_end().then_some((context, payload))
}

/// Returns the fields of a group of the context. The only number of the first group is the CPU.
fn named(group: LttngFields, number: usize) -> impl Iterator<Item = (Box<str>, Box<str>)> {
    let is_cpu = number == 0 && group.0.len() == 1;
    group
        .0
        .into_iter()
        .map(move |(key, json)| if is_cpu && key.is_empty() { ("cpu_id".into(), json) } else { (key, json) })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns host, name, log level, and the fields of context and event.
    fn parts(line: &str) -> Option<String> {
        let EventLine { host, log_level, name, context, payload, .. } = EventLine::parse(line.as_bytes())?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let fields = |fields: &LttngFields| {
            fields.0.iter().map(|(key, json)| format!("{key}={json}")).collect::<Vec<_>>().join(",")
        };
        Some([text(host), text(name), text(log_level), fields(&context), fields(&payload)].join("|"))
    }

    #[test]
    fn lines_of_all_options_have_the_same_parts() {
        let groups = "{ cpu_id = 1 }, { vpid = 5, procname = \"a: { b\" }, { id = 0 }";
        let scopes = "stream.packet.context = { cpu_id = 1 }, stream.event.context = { vpid = 5, procname = \"a: { b\" }, event.fields = { id = 0 }";
        let expected = "vm|demo:job||cpu_id=1,vpid=5,procname=\"a: { b\"|id=0";
        let time = "16:17:32.669015243";
        for line in [
            format!("[{time}] (+0.000006169) vm demo:job: {groups}"),
            format!("[{time}] vm demo:job: {groups}"),
            format!("[2026-11-28 {time}] (+?.?????????) vm:ust demo:job: {groups}"),
            format!("[{time}] (+0.000006169) vm demo:job: {scopes}"),
            format!("timestamp = {time}, delta = +0.000006169, trace:hostname = vm, name = demo:job, {groups}"),
            format!(
                "timestamp = {time}, delta = +0.0, trace = vm/ust, , trace:hostname = vm, name = demo:job, {scopes}"
            ),
        ] {
            assert_eq!(parts(&line).as_deref(), Some(expected), "{line}");
        }
        let level = format!("[{time}] vm:ust:TRACE_DEBUG (14) x: {{ 3 }}, {{ }}");
        assert_eq!(parts(&level).as_deref(), Some("vm|x|TRACE_DEBUG (14)|cpu_id=3|"));
        let line = format!("[{time}] (+?.?????????) isr_enter: {{ }}");
        assert_eq!(parts(&line).as_deref(), Some("|isr_enter|||"));
    }

    #[test]
    fn other_lines_are_refused() {
        for line in [
            "[    0.000000] Linux: { }",
            "[16:17:32] x: { }",
            "[16:17:32.669015243] x",
            "[16:17:32.669015243] : { }",
            "[16:17:32.669015243] x: { } y",
            "[16:17:32.669015243] x: { }, ",
            "timestamp = 16:17:32.669015243, name = x",
            "timestamp = x, name = x, { }",
            "",
        ] {
            assert_eq!(parts(line), None, "{line}");
        }
    }
}
