//! The description of a format; each has a [`Format`] constant in the table of [`super::sniff`].

use super::error::ReadError;
use super::input::source::{Source, without_mark};
use super::json::sniff::{has_chrome_events, looks_like_json};
use super::reader::{ReadContext, Reader};

/// A kind of data that a reader extracts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DataKind {
    Spans,
    Instants,
    /// Values that change over time.
    Counters,
    /// Arrows from one span to another.
    Flows,
    /// Arguments of events, as JSON.
    Arguments,
    /// Threads on CPUs, and the states of threads.
    Scheduling,
    Samples,
}

impl DataKind {
    /// All kinds, in the order of the documentation.
    pub(crate) const ALL: [Self; 7] =
        [Self::Spans, Self::Instants, Self::Counters, Self::Flows, Self::Arguments, Self::Scheduling, Self::Samples];

    /// Returns the column heading in the documentation.
    #[cfg(test)]
    #[must_use]
    pub(crate) fn label(self) -> &'static str {
        match self {
            Self::Spans => "spans",
            Self::Instants => "instants",
            Self::Counters => "counters",
            Self::Flows => "flows",
            Self::Arguments => "arguments",
            Self::Scheduling => "scheduling",
            Self::Samples => "samples",
        }
    }
}

/// The time by which events of a live stream arrive approximately in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ArrivalKey {
    /// Spans are written at their start, or sorted by start.
    Start,
    /// Spans are written at their end.
    End,
    /// Spans are written at their end, followed by the instants in them.
    EndWithPoints,
}

/// A format that is recognised, and usually supported.
#[derive(Debug)]
pub struct Format {
    /// Name for messages and the documentation.
    pub name: &'static str,
    /// A sentence that describes a record, for the error about a trace without readable records.
    pub(crate) record: &'static str,
    /// Returns whether decompressed data with this head is probably in the format.
    pub(crate) sniff: fn(head: &[u8]) -> bool,
    /// Returns whether a text begins with an event. `None` unless events may follow messages of the recorder or of the
    /// shell that ran it, as in `perf script 2>&1`.
    pub(crate) is_event: Option<fn(text: &[u8]) -> bool>,
    /// How the events of a live stream are ordered; `None` for formats that are read by position or as a whole.
    pub(crate) live: Option<ArrivalKey>,
    /// The kinds of data that it extracts; empty for unsupported formats and archives.
    pub(crate) shows: &'static [DataKind],
    pub(crate) opener: Opener,
}

/// Creates the reader of a trace.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Opener {
    /// A trace. Formats that read by position open the path again and drop the source.
    Trace(fn(source: Source, context: &ReadContext) -> Result<Reader, ReadError>),
    /// An archive with members in any of `formats`, the most specific first.
    Archive(fn(source: Source, formats: &'static [Format]) -> Reader),
}

impl Format {
    /// Name of the format that reads all JSON without the keys of another format.
    pub(crate) const ANY_JSON: &str = "Chrome JSON";

    /// Returns whether it is an archive.
    #[must_use]
    pub fn is_archive(&self) -> bool {
        matches!(self.opener, Opener::Archive(_))
    }
}

/// Returns the first of `formats` that matches the head of a source.
///
/// If none does, its first lines and then a longer head are tried, since the head may end within a record. JSON without
/// the keys of any format is decided by the longer head too.
///
/// # Errors
/// If the source cannot be read.
pub(crate) fn recognise_source(
    formats: &'static [Format],
    source: &mut Source,
) -> Result<Option<&'static Format>, ReadError> {
    let known = recognise(formats, source.head());
    if known.is_some_and(|format| format.name != Format::ANY_JSON || has_chrome_events(source.head())) {
        return Ok(known);
    }
    if known.is_none()
        && let Some(lines) = source.read_head_lines()?
        && let Some(format) = recognise(formats, &lines)
    {
        return Ok(Some(format));
    }
    match source.read_long_head()? {
        Some(head) if known.is_none() || !has_chrome_events(head) => Ok(recognise(formats, head)),
        _ => Ok(known),
    }
}

/// Returns the first of `formats` that matches the head of decompressed data, with or without a byte order mark. Events
/// of the format may also follow some lines of messages.
#[must_use]
pub(crate) fn recognise(formats: &'static [Format], head: &[u8]) -> Option<&'static Format> {
    let head = without_mark(head);
    formats.iter().find(|format| (format.sniff)(head)).or_else(|| recognise_after_messages(formats, head))
}

/// Limit for the lines of messages before the first event.
const MESSAGES_MAX: usize = 10;

/// Returns the format of events after some lines of messages. Any text may have a line like an event, but hardly with
/// another event or a stack below it.
fn recognise_after_messages(formats: &'static [Format], head: &[u8]) -> Option<&'static Format> {
    if looks_like_json(head) {
        return None;
    }
    let starts: Vec<usize> = memchr::memchr_iter(b'\n', head).map(|at| at + 1).take(MESSAGES_MAX + 1).collect();
    starts.windows(2).find_map(|pair| {
        let (line, next) = (&head[pair[0]..], &head[pair[1]..]);
        let has_events = |is_event: fn(&[u8]) -> bool| is_event(line) && (next.starts_with(b"\t") || is_event(next));
        formats.iter().find(|format| format.is_event.is_some_and(has_events))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::testing::format_of;

    #[test]
    fn messages_of_the_tool_and_the_shell_may_precede_the_events() {
        let perf = "bash 977 [000] 17284.993652: 250000 cycles: \n\t    55aa f+0x1 (/x)\n\n";
        let events = [
            ("strace", "977 1795166531.000001 getpid() = 977 <0.000004>\n".repeat(2)),
            ("perf script", perf.repeat(2)),
            ("ftrace", "  bash-977 [000] 17284.993652: sys_write: 1\n".repeat(2)),
            ("babeltrace", "[10:15:20.123456789] (+0.000001234) host x: { cpu_id = 1 }, { id = 7 }\n".repeat(2)),
            ("Austin samples", "P1;T1;main.py:f:3 100\n".repeat(2)),
        ];
        let messages = [
            "$ tool --option file\n",
            "no symbols found in /usr/bin/x, maybe install a debug package?\n",
            "[kernel.kallsyms] with build id 12 not found, continuing without symbols\n",
            "version = 6\nfailed to read event print fmt for x\n",
            "+ strace -f ls\n\nwarning: a message with 12 345.678: numbers\n",
        ];
        for (format, events) in &events {
            for message in messages {
                let text = format!("{message}{events}");
                assert_eq!(format_of(text.as_bytes()), Some(*format), "{text}");
            }
            let one = events.lines().next().unwrap();
            assert_eq!(format_of(format!("A log\n{one}\nof its own\n").as_bytes()), None, "{one}");
            let late = format!("{}{events}", "a line of a log\n".repeat(MESSAGES_MAX + 2));
            assert_eq!(format_of(late.as_bytes()), None, "{late}");
        }
    }
}
