//! The description of a format; each has a [`Format`] constant in the table of [`super::sniff`].

use super::error::ReadError;
use super::input::source::{Source, without_mark};
use super::json::sniff::has_chrome_events;
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

/// A format that is recognised, and usually supported.
#[derive(Debug)]
pub struct Format {
    /// Name for messages and the documentation.
    pub name: &'static str,
    /// A sentence that describes a record, for the error about a trace without readable records.
    pub(crate) record: &'static str,
    /// Returns whether decompressed data with this head is probably in the format.
    pub(crate) sniff: fn(head: &[u8]) -> bool,
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
    /// Name of the format of all JSON without the keys of another one.
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

/// Returns the first of `formats` that matches the head of decompressed data, with or without a byte order mark.
#[must_use]
pub(crate) fn recognise(formats: &'static [Format], head: &[u8]) -> Option<&'static Format> {
    let head = without_mark(head);
    formats.iter().find(|format| (format.sniff)(head))
}
