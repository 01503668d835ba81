//! One record of a capture, in the fixed size that the sort moves. Text and arguments live beside it, in its chunk.

use bytemuck::{CheckedBitPattern, NoUninit, Pod, Zeroable};

use super::{NameIdx, TrackIdx};

/// The kind of an event: what happened at its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, NoUninit, CheckedBitPattern)]
#[repr(u8)]
pub enum EventKind {
    /// A span with its duration in `value`, in nanoseconds.
    Complete,
    /// A span opens on its thread; an [`EventKind::End`] closes it. With a `value` that is not 0, so many nanoseconds
    /// later the innermost open span of the thread closes, before anything else that happens then: as by an end of that
    /// time which carries nothing more, in one event with the begin.
    Begin,
    /// The innermost open span of the thread closes; with a name, the innermost of that name.
    End,
    /// A point in time, without a duration.
    Instant,
    /// The counter of the track takes the value whose `f64` bits are in `value`.
    Counter,
    /// An asynchronous span opens under the async id in `value`.
    AsyncBegin,
    /// The innermost asynchronous span of the async id in `value` closes.
    AsyncEnd,
    /// A point in time within the async id in `value`.
    AsyncInstant,
    /// The async id in `value` enters a step: the step before it closes, and this one opens.
    AsyncStepInto,
    /// The async id in `value` has passed a step, which began at the step before it.
    AsyncStepPast,
    /// A flow with the id in `value` leaves this place.
    FlowStart,
    /// A flow with the id in `value` passes through this place.
    FlowStep,
    /// A flow with the id in `value` arrives at this place.
    FlowEnd,
    /// The call stack in `value` (a [`super::StackIdx`]) was seen on the thread. In a [`super::Batch`]: a row of its
    /// own table of stacks. The name is left empty: the ingest gives it that of the innermost frame. What was counted
    /// until the sample was taken (a period, bytes) is an argument.
    Sample,
    /// From here on the thread of the track is in the state of that name, up to the next
    /// such event: the names of states are shown as spans. The empty name: it is in
    /// none. See [`EventFlags::AWAKE`] and [`EventFlags::FROM_REST`].
    State,
}

/// Rarely needed facts about an event, as bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Pod, Zeroable)]
#[repr(transparent)]
pub struct EventFlags(pub u8);

impl EventFlags {
    /// The empty set of flags.
    pub const NONE: Self = Self(0);
    /// A complete span whose end is not in the capture; `value` says how long it is drawn.
    pub const UNFINISHED: Self = Self(1);
    /// A flow that binds to the span around it rather than to the next one on its thread.
    pub(crate) const BIND_ENCLOSING: Self = Self(2);
    /// `depth` is already known: the event comes from a sorted capture and is not nested again.
    pub(crate) const PLACED: Self = Self(4);
    /// An end that carries no name and closes whatever is innermost.
    pub const UNNAMED: Self = Self(8);
    /// The event came after a later one in its chunk; set by [`super::Chunk::sort`].
    pub const LATE: Self = Self(16);
    /// The event lies outside of the exported part of a capture, and is there for its relation to that part: a parent
    /// that began before it, the value of a counter, the other end of a flow.
    pub(crate) const OUTSIDE: Self = Self(32);
    /// A state in which the thread runs, or would if a CPU were free.
    pub(crate) const AWAKE: Self = Self(64);
    /// A state that counts only if the thread is in none that is [`EventFlags::AWAKE`]: it is woken.
    pub(crate) const FROM_REST: Self = Self(128);

    /// Whether every bit of `other` is set.
    #[must_use]
    pub fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// The bits that are not in `other`.
    #[must_use]
    pub fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    #[must_use]
    pub(crate) fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// One event: 32 bytes, so that two fit a cache line and a chunk of 64 Ki takes 2 MiB.
#[derive(Debug, Clone, Copy, PartialEq, Eq, NoUninit, CheckedBitPattern)]
#[repr(C)]
pub struct Event {
    /// When, in nanoseconds of the capture's clock.
    pub ts_ns: i64,
    /// What `kind` says it is: a duration, the bits of a counter's value, an async id, a flow id, a stack.
    pub value: u64,
    /// Where it happened. In a [`super::Batch`]: a row of its own table of tracks.
    pub track: TrackIdx,
    /// Name and category. In a [`super::Batch`]: a row of its own table of names.
    pub name: NameIdx,
    /// Its arguments: 0 for none, else 1 + the row in the [`super::Details`] of its chunk.
    pub detail: u32,
    /// Which lane of its track, when [`EventFlags::PLACED`] is set. Of a point of a flow: [`Event::FLOW_OF_SPAN`],
    /// [`Event::FLOW_OF_INSTANT`], or 0 where only its time tells what it belongs to.
    pub depth: u16,
    /// The kind of the event.
    pub kind: EventKind,
    /// Rarely needed facts, as bits.
    pub flags: EventFlags,
}

impl Event {
    /// A point of a flow that belongs to the innermost span which is open on its track at its place in the capture.
    pub(crate) const FLOW_OF_SPAN: u16 = 1;
    /// A point of a flow that belongs to the last instant of its time on its track.
    pub(crate) const FLOW_OF_INSTANT: u16 = 2;
}

const _: () = assert!(size_of::<Event>() == 32, "no padding, and two to a cache line");
