//! Spans that Chrome JSON represents correctly only as a begin and an end.
//!
//! Readers nest complete spans with the same start by their lengths, longest first; Perfetto places them before all
//! begins of that time. So a span that follows an empty span of the same time would become its parent. A span inside an
//! unfinished span of the same time would be placed around it. As a begin, it keeps its place.
//!
//! A span with a length would also be placed inside a child that outlasts it, if both start at the same time. As a
//! begin, it stays around the child.
//!
//! A span that overlaps an open span remains complete, since an end closes the innermost begin. A span around an
//! unfinished span remains complete too, since its end would close the unfinished span. Memory grows with the open
//! spans.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};
use std::io::{self, Write};
use std::ops::Bound;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::formats::chrome::write::ChromeJsonWriter;
use crate::model::{Event, EventKind, Payload, TrackIdx};
use crate::query::Snapshot;
use crate::query::cursor::LaneCursor;

/// The start of a span and its depth, which order the spans of a track with parents before their children.
type SpanStart = (i64, u16);

/// The starts of the spans of each track that never end: at most one per lane.
type Unfinished = FxHashMap<TrackIdx, BTreeSet<SpanStart>>;

/// Returns the spans that never end. Reads one row of each lane that has one.
pub(super) fn unfinished_spans(snapshot: &Snapshot) -> Unfinished {
    let mut unfinished = Unfinished::default();
    for index in snapshot.event_lanes() {
        let lane = snapshot.store().lane(index);
        let Some(last) = lane.rows().checked_sub(1).filter(|&last| lane.is_unfinished(last)) else { continue };
        let Some(row) = LaneCursor::new(snapshot.store(), index).row(last) else { continue };
        let info = lane.info();
        unfinished.entry(info.track).or_default().insert((row.start_ns, info.depth));
    }
    unfinished
}

/// The spans that are open as begins.
#[derive(Debug, Default)]
pub(super) struct BegunSpans {
    unfinished: Unfinished,
    /// The time of the last span, and the tracks that have an empty span or a begin at this time.
    ts_ns: i64,
    preceded: FxHashSet<TrackIdx>,
    /// By track: the spans whose begin is written and whose end is not, outermost first.
    open: FxHashMap<TrackIdx, Vec<Event>>,
    /// The ends of the open spans: time, depth (the innermost first) and track.
    ends: BinaryHeap<Reverse<(i64, Reverse<u16>, TrackIdx)>>,
}

impl BegunSpans {
    pub(super) fn new(unfinished: Unfinished) -> Self {
        Self { unfinished, ..Self::default() }
    }

    /// Returns the form in which an event is written: a begin, or the event itself. Events come in time order, and
    /// parents come before children with the same start. `is_outlasted`: a span inside the event, with the same start,
    /// ends later.
    pub(super) fn form(&mut self, event: Event, is_outlasted: bool) -> Event {
        let Payload::Span { dur_ns, is_unfinished } = event.payload() else { return event };
        if event.ts_ns != self.ts_ns {
            self.ts_ns = event.ts_ns;
            self.preceded.clear();
        }
        if dur_ns == 0 || is_unfinished {
            self.preceded.insert(event.track);
            return event;
        }
        let end_ns = event.end_ns();
        let contains = |outer: &Event| outer.end_ns() >= end_ns;
        let nests = self.innermost(event.track).is_none_or(contains) && !self.is_around_unfinished(&event);
        if !(is_outlasted || self.preceded.contains(&event.track)) || !nests {
            return event;
        }
        self.open.entry(event.track).or_default().push(event);
        self.ends.push(Reverse((end_ns, Reverse(event.depth), event.track)));
        Event { kind: EventKind::Begin, ..event }
    }

    /// Returns the time of the next end.
    pub(super) fn next_end_ns(&self) -> Option<i64> {
        self.ends.peek().map(|Reverse((end_ns, ..))| *end_ns)
    }

    /// Writes the next end, with the name of its begin: another begin inside may never end.
    pub(super) fn write_end<W: Write>(&mut self, writer: &mut ChromeJsonWriter<'_, W>) -> io::Result<()> {
        let Some(Reverse((end_ns, _, track))) = self.ends.pop() else { return Ok(()) };
        let Some(open) = self.open.get_mut(&track) else { return Ok(()) };
        // The spans of a track nest.
        let Some(span) = open.pop() else { return Ok(()) };
        if open.is_empty() {
            self.open.remove(&track);
        }
        writer.event(&Event { ts_ns: end_ns, kind: EventKind::End, ..span }, &[])
    }

    fn is_around_unfinished(&self, span: &Event) -> bool {
        let inside = (Bound::Excluded((span.ts_ns, span.depth)), Bound::Excluded((span.end_ns(), 0)));
        self.unfinished.get(&span.track).is_some_and(|unfinished| unfinished.range(inside).next().is_some())
    }

    fn innermost(&self, track: TrackIdx) -> Option<&Event> {
        self.open.get(&track)?.last()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::frame_sources::FrameSources;
    use crate::model::{Id, Names, Registry, Stacks, TrackKey, TrackKind};

    /// Returns phase and name of each written event, and the times of ends. The events are tuples of time, thread,
    /// depth, name and duration, which is -1 for an unfinished span.
    fn written(events: &[(i64, i64, u16, &str, i64)]) -> String {
        let (mut names, mut registry) = (Names::default(), Registry::default());
        let mut event_of = |&(ts_ns, tid, depth, name, dur_ns): &(i64, i64, u16, &str, i64)| {
            let (kind, pid, tid) = (TrackKind::Thread, Id::Number(1), Id::Number(tid));
            let key = TrackKey::new(kind, pid, tid);
            let event = Event::at(ts_ns, registry.track(&key).expect("a track"), names.intern(name, None));
            event.span(u64::try_from(dur_ns).unwrap_or(0), dur_ns < 0).placed(depth)
        };
        let events: Vec<Event> = events.iter().map(&mut event_of).collect();
        let mut unfinished = Unfinished::default();
        for event in &events {
            if matches!(event.payload(), Payload::Span { is_unfinished: true, .. }) {
                unfinished.entry(event.track).or_default().insert((event.ts_ns, event.depth));
            }
        }
        let stacks = Stacks::default();
        let mut writer = ChromeJsonWriter::new(Vec::new(), &names, (&stacks, FrameSources::NONE), registry.tables())
            .expect("to memory");
        let mut begun = BegunSpans::new(unfinished);
        for event in events {
            while begun.next_end_ns().is_some_and(|end_ns| end_ns <= event.ts_ns) {
                begun.write_end(&mut writer).expect("to memory");
            }
            writer.event(&begun.form(event, false), &[]).expect("to memory");
        }
        while begun.next_end_ns().is_some() {
            begun.write_end(&mut writer).expect("to memory");
        }
        let json: serde_json::Value = serde_json::from_slice(&writer.finish().expect("to memory")).expect("JSON");
        let text = |event: &serde_json::Value| {
            let at =
                if event["ph"] == "E" { format!("@{}", event["ts"].as_f64().unwrap_or(-1.0)) } else { String::new() };
            let part = |key: &str| event[key].as_str().unwrap_or_default();
            format!("{}{}{at}", part("ph"), part("name"))
        };
        json["traceEvents"].as_array().expect("an array").iter().map(text).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_span_after_an_empty_one_of_its_time_does_not_become_its_parent() {
        let first = (10_000, 1, 0, "first", 0);
        assert_eq!(written(&[first, (10_000, 1, 0, "second", 5000)]), "Xfirst Bsecond Esecond@15");
        // A complete child with the same start would be placed before the begin of its parent.
        let around = [(10_000, 1, 0, "p", 9000), (10_000, 1, 1, "e", 0), (10_000, 1, 1, "s", 5000)];
        let inside = [(10_000, 1, 2, "f", 0), (10_000, 1, 2, "c", 5000), (12_000, 1, 3, "d", 1000)];
        assert_eq!(written(&[around, inside].concat()), "Xp Xe Bs Xf Bc Xd Ec@15 Es@15");
    }

    #[test]
    fn a_span_inside_one_that_never_ends_is_not_around_it() {
        let spans = [(10_000, 1, 0, "open", -1), (10_000, 1, 1, "a", 1000), (10_500, 1, 2, "b", 100)];
        assert_eq!(written(&spans), "Bopen Ba Xb Ea@11");
    }

    #[test]
    fn a_span_around_one_that_never_ends_does_not_end_it() {
        let spans = [(10_000, 1, 0, "open", -1), (10_000, 1, 1, "a", 10_000), (11_000, 1, 2, "open", -1)];
        assert_eq!(written(&spans), "Bopen Xa Bopen");
        // A span that never ends is not inside if it begins at the end, or on another thread.
        let spans = [(10_000, 1, 0, "e", 0), (10_000, 1, 0, "a", 10_000), (20_000, 1, 0, "open", -1)];
        assert_eq!(written(&spans), "Xe Ba Ea@20 Bopen");
        let spans = [(10_000, 1, 0, "e", 0), (10_000, 1, 0, "a", 10_000), (11_000, 2, 0, "open", -1)];
        assert_eq!(written(&spans), "Xe Ba Bopen Ea@20");
    }

    #[test]
    fn an_end_comes_before_what_begins_at_its_time() {
        let spans =
            [(10_000, 1, 0, "a", 0), (10_000, 1, 0, "b", 5000), (15_000, 1, 0, "c", 0), (15_000, 1, 0, "d", 1000)];
        assert_eq!(written(&spans), "Xa Bb Eb@15 Xc Bd Ed@16");
    }

    #[test]
    fn spans_without_an_empty_one_before_them_are_complete() {
        let spans =
            [(10_000, 1, 0, "a", 5000), (10_000, 1, 1, "b", 0), (10_000, 2, 0, "other", 5000), (11_000, 1, 1, "c", 0)];
        assert_eq!(written(&spans), "Xa Xb Xother Xc");
    }

    #[test]
    fn a_span_that_overlaps_a_begin_has_no_end_that_would_close_it() {
        let first = [(10_000, 1, 0, "a", 0), (10_000, 1, 0, "b", 5000)];
        let second = [(12_000, 1, 1, "c", 0), (12_000, 1, 1, "overlaps", 9000)];
        assert_eq!(written(&[first, second].concat()), "Xa Bb Xc Xoverlaps Eb@15");
    }
}
