//! The order of events of one track at one time. The order of the trace may nest wrongly.
//!
//! Ends of earlier spans move before the begins, but not before other events ahead of the first begin: these are still
//! inside the earlier spans. Longer complete spans go first, so that a parent that is written after its child nests
//! correctly. All other events keep their order, and so do spans with a given lane: in one lane, an empty span may come
//! before a longer span.

use super::steps;
use super::text_stack::TextStack;
use crate::model::{Event, EventFlags, EventKind, NameIdx, StrIdx};

/// Sorts the events of one track at one time into the order in which they nest. `event_of` returns the event of an
/// item. `text_of` returns the text of a name, because an end need not repeat the category of its begin.
pub(crate) fn order<T>(items: &mut Vec<T>, event_of: impl Fn(&T) -> &Event, text_of: impl Fn(NameIdx) -> StrIdx) {
    if items.len() < 2 {
        return;
    }
    ends_of_earlier_spans_first(items, &event_of, text_of);
    longer_complete_spans_first(items, &event_of);
}

/// An end with a name closes an open begin of that name at the same time; an end without one closes any open begin.
fn ends_of_earlier_spans_first<T>(
    items: &mut Vec<T>,
    event_of: &impl Fn(&T) -> &Event,
    text_of: impl Fn(NameIdx) -> StrIdx,
) {
    if !items.iter().any(|item| event_of(item).kind == EventKind::End) {
        return;
    }
    let mut ends = EndsFirst::default();
    let closes_earlier: Vec<bool> = items.iter().map(|item| ends.goes_first(event_of(item), &text_of)).collect();
    let mut flags = closes_earlier.into_iter();
    let mut keyed: Vec<(bool, T)> = items.drain(..).map(|item| (!flags.next().unwrap_or(false), item)).collect();
    keyed.sort_by_key(|(stays, _)| *stays);
    items.extend(keyed.into_iter().map(|(_, item)| item));
}

/// Finds the events that go before the others, among events of one track and time in trace order. Applies only if one
/// of the events is an end.
#[derive(Debug, Default)]
pub(super) struct EndsFirst {
    /// Names of the begins that have no end yet.
    open: TextStack,
    has_begun: bool,
}

impl EndsFirst {
    pub(super) fn goes_first(&mut self, event: &Event, text_of: impl Fn(NameIdx) -> StrIdx) -> bool {
        match event.kind {
            EventKind::Begin => {
                self.open.push(text_of(event.name));
                self.has_begun = true;
                false
            }
            EventKind::End if event.flags.has(EventFlags::UNNAMED) => self.open.pop().is_none(),
            EventKind::End => !self.open.pop_to(text_of(event.name)),
            EventKind::Complete => {
                self.has_begun = true;
                false
            }
            _ => !self.has_begun,
        }
    }
}

/// Sorts complete spans without a given lane by duration, longest first, among their own positions.
fn longer_complete_spans_first<T>(items: &mut [T], event_of: &impl Fn(&T) -> &Event) {
    let indices: Vec<usize> = (0..items.len()).filter(|&index| goes_by_length(event_of(&items[index]))).collect();
    let sorted = indices.windows(2).all(|pair| length(event_of(&items[pair[0]])) >= length(event_of(&items[pair[1]])));
    if sorted {
        return;
    }
    let mut by_length = indices.clone();
    by_length.sort_by_key(|&index| std::cmp::Reverse(length(event_of(&items[index]))));
    // `from[k]` is the position of the item that goes to position k.
    let mut from: Vec<usize> = (0..items.len()).collect();
    indices.iter().zip(by_length).for_each(|(&index, source)| from[index] = source);
    // Each cycle of the permutation is walked once.
    for start in 0..items.len() {
        let mut index = start;
        while from[index] != start {
            steps::add(1);
            let source = std::mem::replace(&mut from[index], index);
            items.swap(index, source);
            index = source;
        }
        from[index] = index;
    }
}

/// Returns whether an event is a complete span without a given lane.
pub(super) fn goes_by_length(event: &Event) -> bool {
    event.kind == EventKind::Complete && !event.flags.has(EventFlags::PLACED)
}

/// Returns the duration. A span without an end counts as the longest.
pub(super) fn length(event: &Event) -> u64 {
    if event.flags.has(EventFlags::UNFINISHED) { u64::MAX } else { event.value }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::model::TrackIdx;

    fn event(kind: EventKind, value: u64, name: u32) -> Event {
        Event {
            ts_ns: 0,
            value,
            track: TrackIdx(0),
            name: NameIdx(name),
            detail: 0,
            depth: 0,
            kind,
            flags: EventFlags::NONE,
        }
    }

    fn names_in_order(mut events: Vec<Event>) -> Vec<u32> {
        // The hundreds are the category.
        order(&mut events, |event| event, |name| StrIdx(name.0 % 100));
        events.iter().map(|event| event.name.0).collect()
    }

    #[test]
    fn an_end_of_an_earlier_span_goes_before_a_begin() {
        let begin = event(EventKind::Begin, 0, 1);
        let end = event(EventKind::End, 0, 2);
        assert_eq!(names_in_order(vec![begin, end]), [2, 1]);
    }

    #[test]
    fn an_instant_that_stood_before_the_end_stays_inside_of_the_span() {
        let begin = event(EventKind::Begin, 0, 1);
        let end = event(EventKind::End, 0, 2);
        let instant = event(EventKind::Instant, 0, 3);
        assert_eq!(names_in_order(vec![instant, end, begin]), [3, 2, 1]);
        assert_eq!(names_in_order(vec![begin, instant, end]), [2, 1, 3], "it is inside of the span that begins");
    }

    #[test]
    fn a_span_without_length_keeps_its_begin_before_its_end() {
        let begin = event(EventKind::Begin, 0, 1);
        let end = event(EventKind::End, 0, 1);
        let unnamed = Event { flags: EventFlags::UNNAMED, ..event(EventKind::End, 0, 0) };
        assert_eq!(names_in_order(vec![begin, end]), [1, 1]);
        let end_without_category = event(EventKind::End, 0, 101);
        assert_eq!(names_in_order(vec![begin, end_without_category]), [1, 101]);
        assert_eq!(names_in_order(vec![begin, unnamed, unnamed]), [0, 1, 0], "the second closes an earlier span");
    }

    #[test]
    fn longer_complete_spans_go_first_and_equal_ones_keep_their_order() {
        let complete = |dur_ns, name| event(EventKind::Complete, dur_ns, name);
        let instant = event(EventKind::Instant, 0, 9);
        let unfinished = Event { flags: EventFlags::UNFINISHED, ..complete(0, 7) };
        let events = vec![complete(1, 1), instant, complete(5, 2), complete(5, 3), complete(9, 4), unfinished];
        assert_eq!(names_in_order(events), [7, 9, 4, 2, 3, 1]);
    }

    #[test]
    fn a_span_with_a_given_lane_keeps_its_position() {
        let placed = |dur_ns, name| Event { flags: EventFlags::PLACED, ..event(EventKind::Complete, dur_ns, name) };
        let complete = |dur_ns, name| event(EventKind::Complete, dur_ns, name);
        let last = Event { flags: EventFlags::PLACED.with(EventFlags::UNFINISHED), ..placed(0, 5) };
        assert_eq!(
            names_in_order(vec![placed(0, 1), complete(1, 2), placed(8, 3), complete(4, 4), last]),
            [1, 4, 3, 2, 5]
        );
    }

    #[test]
    fn many_equal_times_are_sorted_like_a_stable_sort() {
        for count in 2..60u64 {
            let events: Vec<_> = (0..count).map(|k| event(EventKind::Complete, k * 7919 % 13, k as u32)).collect();
            let mut expected = events.clone();
            expected.sort_by_key(|event| std::cmp::Reverse(event.value));
            let expected: Vec<u32> = expected.iter().map(|event| event.name.0).collect();
            assert_eq!(names_in_order(events), expected);
        }
    }

    /// Oracle: scans the open begins for each end, and sorts the complete spans with a stable sort.
    fn naive_order(events: Vec<Event>) -> Vec<Event> {
        let mut open: Vec<u32> = Vec::new();
        let mut has_begun = false;
        let (mut first, mut rest) = (Vec::new(), Vec::new());
        let has_end = events.iter().any(|event| event.kind == EventKind::End);
        for event in events {
            let text = event.name.0 % 100;
            let goes_first = match event.kind {
                EventKind::Begin => {
                    open.push(text);
                    has_begun = true;
                    false
                }
                EventKind::End if event.flags.has(EventFlags::UNNAMED) => open.pop().is_none(),
                EventKind::End => {
                    let begin = open.iter().rposition(|&other| other == text);
                    open.truncate(begin.unwrap_or(open.len()));
                    begin.is_none()
                }
                EventKind::Complete => {
                    has_begun = true;
                    false
                }
                _ => !has_begun,
            };
            if goes_first && has_end { first.push(event) } else { rest.push(event) }
        }
        first.append(&mut rest);
        let is_complete = |event: &&Event| event.kind == EventKind::Complete;
        let mut complete: Vec<Event> = first.iter().filter(is_complete).copied().collect();
        complete.sort_by_key(|event| std::cmp::Reverse(length(event)));
        let mut complete = complete.into_iter();
        let reordered = |event: Event| if is_complete(&&event) { complete.next().unwrap() } else { event };
        first.into_iter().map(reordered).collect()
    }

    fn tied_event() -> impl Strategy<Value = Event> {
        (0u32..9, 0u64..5, 0u32..40).prop_map(|(kind, value, name)| match kind {
            0..=2 => event(EventKind::Begin, 0, name),
            3 => event(EventKind::End, 0, name),
            4 => Event { flags: EventFlags::UNNAMED, ..event(EventKind::End, 0, 0) },
            5 | 6 => event(EventKind::Complete, value, name),
            7 => Event { flags: EventFlags::UNFINISHED, ..event(EventKind::Complete, 0, name) },
            _ => event(EventKind::Instant, 0, name),
        })
    }

    proptest! {
        #[test]
        fn events_of_one_time_get_the_order_that_a_scan_gives_them(
            events in proptest::collection::vec(tied_event(), 0..200),
        ) {
            let mut ordered = events.clone();
            order(&mut ordered, |event| event, |name| StrIdx(name.0 % 100));
            prop_assert_eq!(ordered, naive_order(events));
        }
    }

    #[test]
    fn a_hundred_times_the_ties_take_little_more_than_a_hundred_times_the_steps() {
        type Shape = fn(u32, u32) -> Event;
        const SHAPES: &[(&str, Shape)] = &[
            ("longer and longer", |k, _| event(EventKind::Complete, u64::from(k), k)),
            ("one long span at the end", |k, count| event(EventKind::Complete, u64::from(k + 1 == count), k)),
            ("begins, then ends of other names", |k, count| {
                event(if k < count / 2 { EventKind::Begin } else { EventKind::End }, 0, k)
            }),
            ("begins and ends of other names in turns", |k, _| {
                event(if k % 2 == 0 { EventKind::Begin } else { EventKind::End }, 0, k)
            }),
            ("ends of the outermost of many begins", |k, count| {
                event(if k < count / 2 { EventKind::Begin } else { EventKind::End }, 0, k % (count / 2))
            }),
        ];
        for (shape, event_of) in SHAPES {
            for count in [10_000, 1_000_000] {
                let mut events: Vec<Event> = (0..count).map(|k| event_of(k, count)).collect();
                let steps = steps::count(|| {
                    fn counted(event: &Event) -> &Event {
                        steps::add(1);
                        event
                    }
                    order(&mut events, counted, |name| StrIdx(name.0));
                });
                let per_event = steps / u64::from(count);
                assert!(per_event <= 100, "{shape}: {per_event} steps for each of {count}");
            }
        }
    }
}
