//! Traces of running sources that cannot be parsed, and the fate of their bytes.

use std::fmt;

use super::feed::FeedError;

/// A trace that is not parsed.
#[derive(Debug)]
pub(crate) struct RefusedTrace {
    pub(crate) error: FeedError,
    pub(crate) fate: RefusedFate,
}

/// The fate of the bytes of a trace that is not parsed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RefusedFate {
    /// They are recorded, and read once their source has ended.
    Recorded,
    /// They are not a trace, and are not read.
    LeftOut,
    /// They are not recorded, so nothing can read them later.
    Lost,
}

impl fmt::Display for RefusedTrace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fate = match self.fate {
            RefusedFate::Recorded => "It is recorded, and read once it has ended",
            RefusedFate::LeftOut | RefusedFate::Lost => "It is left out",
        };
        write!(f, "{}. {fate}", self.error)
    }
}
