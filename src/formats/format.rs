//! The description of a format: each has one constant of [`Format`], in the table of [`super::sniff`].

use super::error::ReadError;
use super::input::source::Source;
use super::reader::{ReadContext, Reader};

/// A kind of data that a reader extracts from a capture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shown {
    Spans,
    Instants,
    /// Values that change over time.
    Counters,
    /// Arrows from one span to another.
    Flows,
    /// Arguments of events, as JSON.
    Arguments,
    /// Threads on CPUs, and why threads wait.
    Scheduling,
    /// Call stacks at a time.
    Samples,
}

impl Shown {
    /// All, in the order of the documentation.
    pub(crate) const ALL: [Self; 7] =
        [Self::Spans, Self::Instants, Self::Counters, Self::Flows, Self::Arguments, Self::Scheduling, Self::Samples];

    /// The heading in the table of the documentation.
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

/// A format that the program recognises, and usually reads.
#[derive(Debug)]
pub struct Format {
    /// Its name, for a person.
    pub name: &'static str,
    /// Whether a (decompressed) capture that begins so is probably one.
    pub(crate) sniff: fn(head: &[u8]) -> bool,
    /// The kinds of data that it reads; none for a format that is refused, or that holds captures.
    pub(crate) shows: &'static [Shown],
    pub(crate) opener: Opener,
}

/// Makes the reader of a capture.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Opener {
    /// A capture. A format that reads by position opens the path again and drops the source.
    Capture(fn(source: Source, context: &ReadContext) -> Result<Reader, ReadError>),
    /// An archive, whose members are in any of `formats`, the most certain first.
    Archive(fn(source: Source, formats: &'static [Format]) -> Reader),
}

impl Format {
    /// Whether it holds captures rather than being one.
    #[must_use]
    pub fn is_archive(&self) -> bool {
        matches!(self.opener, Opener::Archive(_))
    }
}

/// The first of `formats` that recognises a decompressed capture by its first bytes.
#[must_use]
pub(crate) fn recognise(formats: &'static [Format], head: &[u8]) -> Option<&'static Format> {
    formats.iter().find(|format| (format.sniff)(head))
}
