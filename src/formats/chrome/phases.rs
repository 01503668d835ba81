//! Table of the meanings of all phase letters.

use crate::model::EventKind;

/// The meaning of the `ph` of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// A span of a thread, complete or only its begin or its end.
    Span(EventKind),
    /// An instant; `s` selects thread, process or global scope.
    Instant,
    /// A counter with one series per argument.
    Counter,
    /// Nestable async event, identified by category or scope, and id.
    Async(EventKind),
    /// Async event of old Chrome and Node.js, also identified by its name; steps are named by `args.step`.
    OldAsync(EventKind),
    Flow(EventKind),
    /// An event in the life of an object, shown as an instant.
    Object(&'static str),
    /// A call stack sample, or a part of a V8 profile.
    Sample,
    /// Names and sort indices of processes and threads.
    Metadata,
    /// Known, but not shown on a timeline: memory dumps, contexts, links between ids.
    Ignored,
    /// Not a phase of the format.
    Unknown,
}

/// Returns the meaning of `ph` by its first letter, like other viewers.
pub(super) fn phase(ph: &[u8]) -> Phase {
    let Some(&letter) = ph.first() else { return Phase::Unknown };
    match letter {
        b'B' => Phase::Span(EventKind::Begin),
        b'E' => Phase::Span(EventKind::End),
        b'X' => Phase::Span(EventKind::Complete),
        // Clock sync events also relate the clocks of files that are opened together.
        b'I' | b'i' | b'R' | b'c' => Phase::Instant,
        b'C' => Phase::Counter,
        b'b' => Phase::Async(EventKind::AsyncBegin),
        b'n' => Phase::Async(EventKind::AsyncInstant),
        b'e' => Phase::Async(EventKind::AsyncEnd),
        b'S' => Phase::OldAsync(EventKind::AsyncBegin),
        b'T' => Phase::OldAsync(EventKind::AsyncStepInto),
        b'p' => Phase::OldAsync(EventKind::AsyncStepPast),
        b'F' => Phase::OldAsync(EventKind::AsyncEnd),
        b's' => Phase::Flow(EventKind::FlowStart),
        b't' => Phase::Flow(EventKind::FlowStep),
        b'f' => Phase::Flow(EventKind::FlowEnd),
        b'M' => Phase::Metadata,
        b'P' => Phase::Sample,
        b'N' => Phase::Object("created"),
        b'O' => Phase::Object("seen"),
        b'D' => Phase::Object("deleted"),
        b'v' | b'V' | b'(' | b')' | b'=' => Phase::Ignored,
        _ => Phase::Unknown,
    }
}
