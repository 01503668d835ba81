//! One record of a capture, in the fixed size that the sort moves. Text and arguments live beside it, in its chunk.

use bytemuck::{CheckedBitPattern, NoUninit, Pod, Zeroable};

use super::{NameIdx, StackIdx, TrackIdx};

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

/// The meaning of an event's `value` and of the flags of its kind.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Payload {
    /// A span with its duration in nanoseconds. An unfinished one has no end in the capture and is drawn that long.
    Span { dur_ns: u64, is_unfinished: bool },
    /// A begin. With a duration, its end comes with it.
    Begin { dur_ns: Option<u64> },
    /// An end, which closes whatever is innermost if it is unnamed.
    End { is_unnamed: bool },
    /// A point in time, without a value.
    Instant,
    /// The value of a counter.
    Counter(f64),
    /// The async id of one of the five asynchronous kinds.
    Async(u64),
    /// The flow id of a start, step or end, and whether it binds to the span around it.
    Flow { id: u64, binds_enclosing: bool },
    /// The call stack of a sample.
    Sample(StackIdx),
    /// A state of a thread: see [`EventFlags::AWAKE`] and [`EventFlags::FROM_REST`].
    State { is_awake: bool, is_from_rest: bool },
}

/// One event: 32 bytes, so that two fit a cache line and a chunk of 64 Ki takes 2 MiB.
#[derive(Debug, Clone, Copy, PartialEq, Eq, NoUninit, CheckedBitPattern)]
#[repr(C)]
pub struct Event {
    /// When, in nanoseconds of the capture's clock.
    pub ts_ns: i64,
    /// A duration, the bits of a counter's value, an async id, a flow id or a stack, by `kind`: see [`Payload`].
    pub value: u64,
    /// The track of the event. In a [`super::Batch`]: a row of its own table of tracks.
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

    /// An instant without arguments, which the methods below make an event of another kind.
    #[must_use]
    pub(crate) fn at(ts_ns: i64, track: TrackIdx, name: NameIdx) -> Self {
        let (kind, flags) = (EventKind::Instant, EventFlags::NONE);
        Self { ts_ns, value: 0, track, name, detail: 0, depth: 0, kind, flags }
    }

    /// The event as a span with its duration.
    #[must_use]
    pub(crate) fn span(self, dur_ns: u64, is_unfinished: bool) -> Self {
        let flags = if is_unfinished { EventFlags::UNFINISHED } else { EventFlags::NONE };
        Self { kind: EventKind::Complete, value: dur_ns, flags: self.flags.with(flags), ..self }
    }

    /// The event as a value of its track's counter.
    #[must_use]
    pub(crate) fn counter(self, value: f64) -> Self {
        Self { kind: EventKind::Counter, value: value.to_bits(), ..self }
    }

    /// The event as a sample of its thread.
    #[must_use]
    pub(crate) fn sample(self, stack: StackIdx) -> Self {
        Self { kind: EventKind::Sample, value: stack.0.into(), ..self }
    }

    /// The event as a point of a flow: `kind` is a start, a step or an end.
    #[must_use]
    pub(crate) fn flow(self, kind: EventKind, id: u64, binds_enclosing: bool) -> Self {
        debug_assert!(matches!(kind, EventKind::FlowStart | EventKind::FlowStep | EventKind::FlowEnd));
        let flags = if binds_enclosing { EventFlags::BIND_ENCLOSING } else { EventFlags::NONE };
        Self { kind, value: id, flags: self.flags.with(flags), ..self }
    }

    /// The event as one of a sorted capture, which knows its depth.
    #[must_use]
    pub(crate) fn placed(self, depth: u16) -> Self {
        Self { depth, flags: self.flags.with(EventFlags::PLACED), ..self }
    }

    /// The meaning of `value` and of the flags of its kind.
    #[inline]
    #[must_use]
    pub(crate) fn payload(&self) -> Payload {
        let Self { value, flags, .. } = *self;
        match self.kind {
            EventKind::Complete => Payload::Span { dur_ns: value, is_unfinished: flags.has(EventFlags::UNFINISHED) },
            EventKind::Begin => Payload::Begin { dur_ns: (value > 0).then_some(value) },
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

    /// The end of a span, or of a begin that comes with its end, cut to the end of time. Of another kind: its time.
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

    const KINDS: [EventKind; 15] = [
        EventKind::Complete,
        EventKind::Begin,
        EventKind::End,
        EventKind::Instant,
        EventKind::Counter,
        EventKind::AsyncBegin,
        EventKind::AsyncEnd,
        EventKind::AsyncInstant,
        EventKind::AsyncStepInto,
        EventKind::AsyncStepPast,
        EventKind::FlowStart,
        EventKind::FlowStep,
        EventKind::FlowEnd,
        EventKind::Sample,
        EventKind::State,
    ];

    #[test]
    fn what_a_constructor_takes_its_payload_gives_back() {
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
        for kind in KINDS {
            // A flag of another kind changes nothing.
            let own = match kind {
                EventKind::Complete => EventFlags::UNFINISHED,
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
