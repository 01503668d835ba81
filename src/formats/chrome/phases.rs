//! The meaning of each phase letter: the one table of phases.

use crate::model::EventKind;

/// The meaning of a record by its `ph`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// A span of a thread, whole or one end of it.
    Span(EventKind),
    /// A point in time; `s` says whether it is of the thread, the process or the whole capture.
    Instant,
    /// A counter: one series for each argument.
    Counter,
    /// Nestable asynchronous: identified by category or scope, and id.
    Async(EventKind),
    /// Asynchronous as old Chrome and node write it: identified by the name as well; steps are named by `args.step`.
    OldAsync(EventKind),
    Flow(EventKind),
    /// An event in the life of an object: shown as a point in time, never as a span.
    Object(&'static str),
    /// A sample of a call stack, or a part of a profile of V8.
    Sample,
    /// Names and order of processes and threads.
    Metadata,
    /// Known, and not something that a timeline shows: memory dumps, contexts.
    Ignored,
    /// No phase of the format.
    Unknown,
}

/// The meaning of `ph`: that of its first letter, as other viewers take it.
pub(super) fn phase(ph: &[u8]) -> Phase {
    let Some(&letter) = ph.first() else { return Phase::Unknown };
    match letter {
        b'B' => Phase::Span(EventKind::Begin),
        b'E' => Phase::Span(EventKind::End),
        b'X' => Phase::Span(EventKind::Complete),
        // A clock sync also relates the clocks of files that are opened together.
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
        b'v' | b'V' | b'(' | b')' => Phase::Ignored,
        _ => Phase::Unknown,
    }
}
