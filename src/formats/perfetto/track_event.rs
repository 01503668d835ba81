//! Converts a track event: one event for the span, instant or counter, and one for each flow and extra counter.

use super::event_builder::{PerfettoEventBuilder, TrackEvent};
use super::fields::track_event_type;
use crate::model::{Event, EventFlags, EventKind, Loss, LossValue, NameIdx};

impl PerfettoEventBuilder<'_> {
    /// Adds the event with its counters, flows and arguments.
    pub(super) fn track_event(&mut self, event: &TrackEvent<'_>, ts_ns: i64) {
        if event.is_broken {
            // The part before the damage is still shown.
            self.batch.lose(Loss::BadRecord, self.pos);
        }
        let kind = match u64::from(event.kind) {
            track_event_type::TYPE_SLICE_BEGIN => EventKind::Begin,
            track_event_type::TYPE_SLICE_END => EventKind::End,
            track_event_type::TYPE_INSTANT => EventKind::Instant,
            track_event_type::TYPE_COUNTER => {
                self.counter(event, ts_ns);
                self.further_counters(event, ts_ns);
                return;
            }
            track_event_type::TYPE_STATE => return self.state(event, ts_ns),
            _ => {
                if let Some(legacy) = event.legacy {
                    return self.legacy(event, legacy, ts_ns);
                }
                self.further_counters(event, ts_ns);
                let value = LossValue::Number("event type", event.kind.into());
                return self.batch.lose_value(Loss::UnknownPhase, value, self.pos);
            }
        };
        let name = self.name(event);
        let track = self.event_track(event);
        let thread_ts_ns = self.thread_time(event, ts_ns);
        let track = self.batch.track(track, self.tracks);
        let is_unnamed = kind == EventKind::End && name == NameIdx::EMPTY;
        let flags = if is_unnamed { EventFlags::UNNAMED } else { EventFlags::NONE };
        let detail = self.detail(event, thread_ts_ns, None);
        let made = || Event { detail, flags, ..Event::new(ts_ns, kind, track, name) };
        if let Some(dur_ns) = event.unfinished_dur_ns().filter(|_| kind == EventKind::Begin) {
            let value = dur_ns.min(i64::MAX.abs_diff(ts_ns));
            let unfinished = Event { flags: EventFlags::UNFINISHED, value, ..made() };
            return self.push_with_flows(event, unfinished);
        }
        if event.has_flows || event.legacy.is_some() {
            self.push_with_flows(event, made());
        } else {
            // The closure builds the event in its final place: moving it there costs as much as all the rest.
            self.batch.push(made());
        }
    }

    /// Sets the state of a track. A state without a name ends the one before.
    #[inline(never)]
    fn state(&mut self, event: &TrackEvent<'_>, ts_ns: i64) {
        let uuid = event.track.or(self.sequence.defaults.track).unwrap_or(0);
        let track = self.tracks.states(uuid);
        let track = self.batch.track(track, self.tracks);
        let name = self.name(event);
        let has_name = self.batch.name_row(name).is_some_and(|row| !row.text.is_empty());
        let name = if has_name { name } else { NameIdx::EMPTY };
        let thread_ts_ns = self.thread_time(event, ts_ns);
        let detail = if has_name { self.detail(event, thread_ts_ns, None) } else { 0 };
        self.push_with_flows(event, Event { detail, ..Event::new(ts_ns, EventKind::State, track, name) });
    }

    #[inline(never)]
    fn push_with_flows(&mut self, event: &TrackEvent<'_>, made: Event) {
        // A flow binds to the open span, which includes one that ends here.
        if made.kind == EventKind::End {
            self.flows(event, &made);
        }
        self.batch.push(made);
        if made.kind != EventKind::End {
            self.flows(event, &made);
        }
        if let Some(legacy) = event.legacy {
            self.bound_flow(legacy, &made);
        }
    }
}
