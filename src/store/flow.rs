//! Encodes a flow point's role and binding in the `detail` bits of its row.

use std::collections::VecDeque;

use crate::model::{Event, EventFlags, EventKind};

/// Role of a flow point within its flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FlowRole {
    /// The flow leaves its span.
    Start,
    /// The flow arrives at its span, and leaves it again.
    Step,
    /// The flow arrives at its span.
    End,
}

/// A point of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlowPoint {
    /// Its role in the flow.
    pub role: FlowRole,
    /// Whether an end binds to the enclosing span instead of the next span on its thread.
    pub binds_enclosing: bool,
    /// Depth of the enclosing span, if any.
    pub depth: Option<u16>,
    /// How its event was determined.
    pub(crate) bound: FlowBound,
}

/// How the event of a flow point was determined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum FlowBound {
    /// By time alone: the running event, the last one, or the next one.
    #[default]
    Time,
    /// The trace binds it to the enclosing span, at its depth.
    Span,
    /// The trace binds it to an instant at its time.
    Instant,
}

impl FlowBound {
    fn from_bits(bits: u64) -> Self {
        match bits {
            1 => Self::Span,
            2 => Self::Instant,
            _ => Self::Time,
        }
    }
}

const ROLE_MASK: u64 = 3;
const ENCLOSING: u64 = 4;
const DEPTH_SHIFT: u32 = 3;
/// The depth takes 16 bits, plus one because 0 means none.
const BOUND_SHIFT: u32 = DEPTH_SHIFT + 17;

/// Within the depth of a bound event, the binding is stored in bits that nesting never reaches.
const PLACED_BOUND_SHIFT: u32 = 14;
const PLACED_DEPTH_MAX: u16 = (1 << PLACED_BOUND_SHIFT) - 1;

impl FlowPoint {
    /// Converts an event, with the depth of the enclosing span if the event has no binding of its own.
    #[must_use]
    pub(crate) fn from_event(event: &Event, around: Option<u16>) -> Self {
        let (depth, bound) = if event.flags.has(EventFlags::PLACED) {
            let bound = event.depth >> PLACED_BOUND_SHIFT;
            ((event.depth & PLACED_DEPTH_MAX).checked_sub(1), bound)
        } else {
            (around, event.depth)
        };
        let bound = FlowBound::from_bits(bound.into());
        let role = match event.kind {
            EventKind::FlowStart => FlowRole::Start,
            EventKind::FlowEnd => FlowRole::End,
            _ => FlowRole::Step,
        };
        Self { role, binds_enclosing: event.flags.has(EventFlags::BIND_ENCLOSING), depth, bound }
    }

    /// Encodes the binding as a depth.
    #[must_use]
    pub(crate) fn placed_depth(self) -> u16 {
        let depth = self.depth.map_or(0, |depth| depth.saturating_add(1)).min(PLACED_DEPTH_MAX);
        depth | (self.bound as u16) << PLACED_BOUND_SHIFT
    }

    /// Encodes the point as a detail.
    #[must_use]
    pub(crate) fn to_bits(self) -> u64 {
        let enclosing = if self.binds_enclosing { ENCLOSING } else { 0 };
        let depth = self.depth.map_or(0, |depth| u64::from(depth) + 1);
        self.role as u64 | enclosing | depth << DEPTH_SHIFT | (self.bound as u64) << BOUND_SHIFT
    }

    /// Decodes the detail of a row.
    #[must_use]
    pub fn from_bits(bits: u64) -> Self {
        let role = match bits & ROLE_MASK {
            0 => FlowRole::Start,
            1 => FlowRole::Step,
            _ => FlowRole::End,
        };
        let depth = bits >> DEPTH_SHIFT & ((1 << (BOUND_SHIFT - DEPTH_SHIFT)) - 1);
        let depth = depth.checked_sub(1).map(|depth| depth as u16);
        let bound = FlowBound::from_bits(bits >> BOUND_SHIFT);
        Self { role, binds_enclosing: bits & ENCLOSING != 0, depth, bound }
    }
}

/// The latest instants with the same time, for [`Event::FLOW_OF_LATEST`].
#[derive(Debug)]
pub(crate) struct LatestInstants<T> {
    ts_ns: i64,
    tracks: VecDeque<T>,
}

impl<T> Default for LatestInstants<T> {
    fn default() -> Self {
        Self { ts_ns: i64::MIN, tracks: VecDeque::new() }
    }
}

impl<T: PartialEq> LatestInstants<T> {
    /// Limit for the instants with the same time. Tracers write an instant right before its flow points.
    const LATEST_MAX: usize = 64;

    /// Adds an instant. Times do not decrease.
    pub(crate) fn add(&mut self, ts_ns: i64, track: T) {
        if ts_ns != self.ts_ns {
            self.ts_ns = ts_ns;
            self.tracks.clear();
        }
        if self.tracks.len() == Self::LATEST_MAX {
            self.tracks.pop_front();
        }
        self.tracks.push_back(track);
    }

    /// Returns a flow point with its binding: to an instant, or by its time.
    #[must_use]
    pub(crate) fn bound(&self, event: &Event, track: &T) -> Event {
        if event.depth != Event::FLOW_OF_LATEST || event.flags.has(EventFlags::PLACED) {
            return *event;
        }
        let is_of_instant = self.ts_ns == event.ts_ns && self.tracks.contains(track);
        Event { depth: if is_of_instant { Event::FLOW_OF_INSTANT } else { 0 }, ..*event }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{NameIdx, TrackIdx};

    #[test]
    fn a_point_is_of_the_last_instant_of_its_time_and_track() {
        let mut instants = LatestInstants::default();
        let point = Event::at(5, TrackIdx(0), NameIdx(0)).flow(EventKind::FlowStart, 7, true);
        let latest = Event { depth: Event::FLOW_OF_LATEST, ..point };
        assert_eq!(instants.bound(&latest, &1).depth, 0);
        instants.add(4, 1);
        assert_eq!(instants.bound(&latest, &1).depth, 0, "earlier");
        instants.add(5, 1);
        instants.add(5, 2);
        assert_eq!(instants.bound(&latest, &1).depth, Event::FLOW_OF_INSTANT);
        assert_eq!(instants.bound(&latest, &3).depth, 0);
        assert_eq!(instants.bound(&point, &1), point, "bound by its time");
        let placed = latest.placed(Event::FLOW_OF_LATEST);
        assert_eq!(instants.bound(&placed, &1), placed);
        for _ in 0..2 * LatestInstants::<i32>::LATEST_MAX {
            instants.add(5, 2);
        }
        assert_eq!(instants.tracks.len(), LatestInstants::<i32>::LATEST_MAX);
    }

    #[test]
    fn a_point_comes_back_from_its_bits_and_from_an_event() {
        for role in [FlowRole::Start, FlowRole::Step, FlowRole::End] {
            for depth in [None, Some(0), Some(7), Some(u16::MAX)] {
                for bound in [FlowBound::Time, FlowBound::Span, FlowBound::Instant] {
                    for binds_enclosing in [false, true] {
                        let point = FlowPoint { role, binds_enclosing, depth, bound };
                        assert_eq!(FlowPoint::from_bits(point.to_bits()), point);
                        let kind = match role {
                            FlowRole::Start => EventKind::FlowStart,
                            FlowRole::Step => EventKind::FlowStep,
                            FlowRole::End => EventKind::FlowEnd,
                        };
                        let flags = if binds_enclosing { EventFlags::BIND_ENCLOSING } else { EventFlags::NONE };
                        let (flags, depth) = (flags.with(EventFlags::PLACED), point.placed_depth());
                        let (track, name) = (TrackIdx(0), NameIdx(0));
                        let event = Event { ts_ns: 0, value: 0, track, name, detail: 0, depth, kind, flags };
                        let back = FlowPoint::from_event(&event, None);
                        let expected = FlowPoint { depth: point.depth.map(|d| d.min(PLACED_DEPTH_MAX - 1)), ..point };
                        assert_eq!(back, expected);
                    }
                }
            }
        }
    }
}
