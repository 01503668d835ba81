//! One event of a trace, as a fixed-size record that is cheap to sort. Its texts and arguments are stored in its chunk.

use bytemuck::{CheckedBitPattern, NoUninit, Pod, Zeroable};

use super::{NameIdx, StackIdx, TrackIdx};

/// The kind of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, NoUninit, CheckedBitPattern)]
#[repr(u8)]
pub enum EventKind {
    /// A span with its duration in `value`, in nanoseconds.
    Complete,
    /// Opens a span on its thread, which an [`EventKind::End`] closes. If `value` is not 0, it is a duration in
    /// nanoseconds. After that time the innermost open span of the thread closes, before other events of that time.
    /// This stores a begin and an end without arguments as one event.
    Begin,
    /// Closes the innermost open span of the thread; with a name, the innermost span of that name.
    End,
    /// A point in time, without a duration.
    Instant,
    /// Sets the counter of the track; `value` contains the bits of an `f64`.
    Counter,
    /// Opens an async span with the async id in `value`.
    AsyncBegin,
    /// Closes the innermost async span with the async id in `value`.
    AsyncEnd,
    /// A point in time of the async id in `value`.
    AsyncInstant,
    /// Starts a step of the async id in `value`, and closes the previous step.
    AsyncStepInto,
    /// Ends a step of the async id in `value`, which started at the previous step.
    AsyncStepPast,
    /// Starts a flow with the id in `value`.
    FlowStart,
    /// An intermediate point of the flow with the id in `value`.
    FlowStep,
    /// Ends the flow with the id in `value`.
    FlowEnd,
    /// A sample of the thread's call stack; `value` is a [`super::StackIdx`], in a [`super::Batch`] a row of the
    /// batch's stacks. The name is empty: the ingest sets it to the innermost frame. The sample's period or size is an
    /// argument.
    Sample,
    /// Sets the state of the track to the event's name, until the next such event. States are shown as spans. The empty
    /// name ends the state. States of threads may have [`EventFlags::AWAKE`] and [`EventFlags::FROM_REST`].
    State,
}

impl EventKind {
    /// All kinds, each at the index of its byte.
    pub(crate) const ALL: [Self; 15] = [
        Self::Complete,
        Self::Begin,
        Self::End,
        Self::Instant,
        Self::Counter,
        Self::AsyncBegin,
        Self::AsyncEnd,
        Self::AsyncInstant,
        Self::AsyncStepInto,
        Self::AsyncStepPast,
        Self::FlowStart,
        Self::FlowStep,
        Self::FlowEnd,
        Self::Sample,
        Self::State,
    ];
}

const _: () = {
    let mut kind = 0;
    while kind < EventKind::ALL.len() {
        assert!(EventKind::ALL[kind] as usize == kind, "the index of each kind is its byte");
        kind += 1;
    }
};

/// Rare properties of an event, as bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Pod, Zeroable)]
#[repr(transparent)]
pub struct EventFlags(pub u8);

impl EventFlags {
    /// No flag, as for most events.
    pub const NONE: Self = Self(0);
    /// A complete span whose end is not in the trace; `value` is the duration to draw. A begin without an end in the
    /// trace; `value` is the time to the last event of its track, as far as it is known. The end of an async id, or a
    /// state, with this flag closes nothing: it marks the last event.
    pub const UNFINISHED: Self = Self(1);
    /// A flow that binds to its enclosing span and not to the next span of its thread.
    pub(crate) const BIND_ENCLOSING: Self = Self(2);
    /// A span of a kind whose spans may overlap other spans of their thread without nesting. Flows use the same bit.
    pub(crate) const MAY_OVERLAP: Self = Self(2);
    /// `depth` is set: the event comes from a sorted trace, and is not nested again.
    pub(crate) const PLACED: Self = Self(4);
    /// An end without a name, which closes the innermost span.
    pub const UNNAMED: Self = Self(8);
    /// The event follows a later one in its chunk. Set by [`super::Chunk::sort`].
    pub const LATE: Self = Self(16);
    /// The event is outside of the exported range, but included for context. It is an earlier parent span, the value of
    /// a counter, or the other end of a flow.
    pub(crate) const OUTSIDE: Self = Self(32);
    /// A state in which the thread is running or runnable.
    pub(crate) const AWAKE: Self = Self(64);
    /// A wakeup: a state that applies only if the thread is in no [`EventFlags::AWAKE`] state.
    pub(crate) const FROM_REST: Self = Self(128);

    /// Returns whether all bits of `other` are set.
    #[must_use]
    pub fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Returns the bits that are not in `other`.
    #[must_use]
    pub fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    #[must_use]
    pub(crate) fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// An event's `value` and the flags of its kind, decoded.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Payload {
    /// A span with its duration in nanoseconds. The end of an unfinished span is not in the trace.
    Span { dur_ns: u64, is_unfinished: bool },
    /// A begin; with a duration, it includes its end.
    Begin { dur_ns: Option<u64> },
    /// An end, which closes the innermost span if it is unnamed, else the innermost of its name.
    End { is_unnamed: bool },
    /// A point in time, without a value.
    Instant,
    /// The value of a counter.
    Counter(f64),
    /// The async id of one of the five async kinds.
    Async(u64),
    /// The id of a flow's start, step or end, and whether it binds to the enclosing span.
    Flow { id: u64, binds_enclosing: bool },
    /// The call stack of a sample.
    Sample(StackIdx),
    /// A thread state: see [`EventFlags::AWAKE`] and [`EventFlags::FROM_REST`].
    State { is_awake: bool, is_from_rest: bool },
}

/// One event: 32 bytes, so that two fit a cache line and a chunk of 64 Ki takes 2 MiB.
#[derive(Debug, Clone, Copy, PartialEq, Eq, NoUninit, CheckedBitPattern)]
#[repr(C)]
pub struct Event {
    /// Time in nanoseconds, by the trace's clock.
    pub ts_ns: i64,
    /// A duration, the bits of a counter's value, an async id, a flow id or a stack, depending on `kind`: see
    /// [`Payload`].
    pub value: u64,
    /// Track of the event; in a [`super::Batch`], a row of the batch's tracks.
    pub track: TrackIdx,
    /// Name and category; in a [`super::Batch`], a row of the batch's names.
    pub name: NameIdx,
    /// Arguments: 0 for none, else 1 + the row in the [`super::Details`] of its chunk.
    pub detail: u32,
    /// Lane of a span, if [`EventFlags::PLACED`] is set. For a flow point: [`Event::FLOW_OF_SPAN`],
    /// [`Event::FLOW_OF_INSTANT`], [`Event::FLOW_OF_LATEST`], or 0 if it is bound by its time only.
    pub depth: u16,
    /// Decides the meaning of `value`, `depth` and some flags.
    pub kind: EventKind,
    /// Rare properties as bits; [`EventFlags::NONE`] for most events.
    pub flags: EventFlags,
}

impl Event {
    /// A flow point of the innermost open span of its track, at its position in the trace.
    pub(crate) const FLOW_OF_SPAN: u16 = 1;
    /// A flow point of the last instant with the same time and track.
    pub(crate) const FLOW_OF_INSTANT: u16 = 2;
    /// A flow point of the last instant before it with the same time and track. Without such an instant, the point is
    /// bound by its time.
    pub(crate) const FLOW_OF_LATEST: u16 = 3;

    /// Creates an event without a value and arguments.
    #[must_use]
    pub(crate) fn new(ts_ns: i64, kind: EventKind, track: TrackIdx, name: NameIdx) -> Self {
        Self { ts_ns, value: 0, track, name, detail: 0, depth: 0, kind, flags: EventFlags::NONE }
    }

    /// Returns an instant without arguments; the methods below convert it to other kinds.
    #[must_use]
    pub(crate) fn at(ts_ns: i64, track: TrackIdx, name: NameIdx) -> Self {
        Self::new(ts_ns, EventKind::Instant, track, name)
    }

    /// Returns the event as a span.
    #[must_use]
    pub(crate) fn span(self, dur_ns: u64, is_unfinished: bool) -> Self {
        let flags = if is_unfinished { EventFlags::UNFINISHED } else { EventFlags::NONE };
        Self { kind: EventKind::Complete, value: dur_ns, flags: self.flags.with(flags), ..self }
    }

    /// Returns the event as a counter value.
    #[must_use]
    pub(crate) fn counter(self, value: f64) -> Self {
        Self { kind: EventKind::Counter, value: value.to_bits(), ..self }
    }

    /// Returns the event as a sample.
    #[must_use]
    pub(crate) fn sample(self, stack: StackIdx) -> Self {
        Self { kind: EventKind::Sample, value: stack.0.into(), ..self }
    }

    /// Returns the event as a flow point; `kind` is a start, a step or an end.
    #[must_use]
    pub(crate) fn flow(self, kind: EventKind, id: u64, binds_enclosing: bool) -> Self {
        debug_assert!(matches!(kind, EventKind::FlowStart | EventKind::FlowStep | EventKind::FlowEnd));
        let flags = if binds_enclosing { EventFlags::BIND_ENCLOSING } else { EventFlags::NONE };
        Self { kind, value: id, flags: self.flags.with(flags), ..self }
    }

    /// Returns the event with a known depth, as in a sorted trace.
    #[must_use]
    pub(crate) fn placed(self, depth: u16) -> Self {
        Self { depth, flags: self.flags.with(EventFlags::PLACED), ..self }
    }

    /// Decodes `value` and the flags of the kind.
    #[inline]
    #[must_use]
    pub(crate) fn payload(&self) -> Payload {
        let Self { value, flags, .. } = *self;
        match self.kind {
            EventKind::Complete => Payload::Span { dur_ns: value, is_unfinished: flags.has(EventFlags::UNFINISHED) },
            EventKind::Begin => {
                let has_end = value > 0 && !flags.has(EventFlags::UNFINISHED);
                Payload::Begin { dur_ns: has_end.then_some(value) }
            }
            EventKind::End => Payload::End { is_unnamed: flags.has(EventFlags::UNNAMED) },
            EventKind::Instant => Payload::Instant,
            EventKind::Counter => Payload::Counter(f64::from_bits(value)),
            EventKind::AsyncBegin
            | EventKind::AsyncEnd
            | EventKind::AsyncInstant
            | EventKind::AsyncStepInto
            | EventKind::AsyncStepPast => Payload::Async(value),
            EventKind::FlowStart | EventKind::FlowStep | EventKind::FlowEnd => {
                Payload::Flow { id: value, binds_enclosing: flags.has(EventFlags::BIND_ENCLOSING) }
            }
            EventKind::Sample => Payload::Sample(StackIdx::from_value(value)),
            EventKind::State => Payload::State {
                is_awake: flags.has(EventFlags::AWAKE),
                is_from_rest: flags.has(EventFlags::FROM_REST),
            },
        }
    }

    /// Returns whether the event is the time to which the open spans of an async id or the states of threads last.
    #[must_use]
    pub(crate) fn is_last_time(&self) -> bool {
        matches!(self.kind, EventKind::AsyncEnd | EventKind::State) && self.flags.has(EventFlags::UNFINISHED)
    }

    /// Returns the end of a span, or of a begin that includes its end, clamped to the maximum time. For other kinds,
    /// returns the time.
    #[inline]
    #[must_use]
    pub(crate) fn end_ns(&self) -> i64 {
        match self.kind {
            EventKind::Complete | EventKind::Begin => self.ts_ns.saturating_add_unsigned(self.value),
            _ => self.ts_ns,
        }
    }
}

const _: () = assert!(size_of::<Event>() == 32, "no padding, and two to a cache line");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn payloads_return_the_values_given_to_constructors() {
        let at = Event::at(5, TrackIdx(1), NameIdx(2));
        assert_eq!((at.payload(), at.end_ns()), (Payload::Instant, 5));
        for is_unfinished in [false, true] {
            let span = at.span(7, is_unfinished);
            assert_eq!((span.payload(), span.end_ns()), (Payload::Span { dur_ns: 7, is_unfinished }, 12));
            let flow = at.flow(EventKind::FlowStep, u64::MAX, is_unfinished).placed(3);
            assert_eq!(flow.payload(), Payload::Flow { id: u64::MAX, binds_enclosing: is_unfinished });
            assert_eq!((flow.depth, flow.flags.has(EventFlags::PLACED), flow.end_ns()), (3, true, 5));
        }
        assert_eq!(at.counter(-0.5).payload(), Payload::Counter(-0.5));
        assert_eq!(at.sample(StackIdx(9)).payload(), Payload::Sample(StackIdx(9)));
        assert_eq!(at.span(u64::MAX, false).end_ns(), i64::MAX);
    }

    #[test]
    fn a_value_and_flags_mean_one_thing_for_each_kind() {
        let flags = EventFlags::NONE;
        let payload = |kind, flags| Event { kind, flags, value: 3, ..Event::at(0, TrackIdx(0), NameIdx(0)) }.payload();
        for kind in EventKind::ALL {
            // Flags of other kinds have no effect.
            let own = match kind {
                EventKind::Complete | EventKind::Begin => EventFlags::UNFINISHED,
                EventKind::End => EventFlags::UNNAMED,
                EventKind::FlowStart | EventKind::FlowStep | EventKind::FlowEnd => EventFlags::BIND_ENCLOSING,
                EventKind::State => EventFlags::AWAKE.with(EventFlags::FROM_REST),
                _ => EventFlags::NONE,
            };
            assert_eq!(payload(kind, flags), payload(kind, EventFlags(u8::MAX).without(own)), "{kind:?}");
            assert_eq!(payload(kind, flags) == payload(kind, own), own == EventFlags::NONE, "{kind:?}");
        }
        let begin = Event { kind: EventKind::Begin, ..Event::at(4, TrackIdx(0), NameIdx(0)) };
        assert_eq!((begin.payload(), begin.end_ns()), (Payload::Begin { dur_ns: None }, 4));
        assert_eq!(payload(EventKind::Begin, flags), Payload::Begin { dur_ns: Some(3) });
    }
}
