//! What a format says of itself: one constant of [`Format`] for each, in the table of [`super::sniff`].

use super::error::ReadError;
use super::input::source::Source;
use super::reader::{ReadContext, Reader};

/// What a reader makes of a capture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shown {
    /// What runs for a while.
    Spans,
    /// What happens at a time.
    Instants,
    /// Numbers over time.
    Counters,
    /// Arrows from one span to another.
    Flows,
    /// What events carry.
    Arguments,
    /// What CPUs run and threads wait for.
    Scheduling,
    /// Call stacks at a time.
    Samples,
}

impl Shown {
    /// All, in the order of the documentation.
    pub(crate) const ALL: [Self; 7] =
        [Self::Spans, Self::Instants, Self::Counters, Self::Flows, Self::Arguments, Self::Scheduling, Self::Samples];

    /// One word.
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

/// A format that is recognised, and usually read.
#[derive(Debug)]
pub struct Format {
    /// Its name, for a person.
    pub name: &'static str,
    /// Whether a (decompressed) capture that begins so is probably one.
    pub(crate) sniff: fn(head: &[u8]) -> bool,
    /// What of a capture it shows; nothing for those that are refused, or that hold captures.
    pub(crate) shows: &'static [Shown],
    /// Makes its reader.
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

/// The first of `formats` that a decompressed capture is in, by its first bytes.
#[must_use]
pub(crate) fn recognise(formats: &'static [Format], head: &[u8]) -> Option<&'static Format> {
    formats.iter().find(|format| (format.sniff)(head))
}
