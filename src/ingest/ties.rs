//! The order of events of one track at one time, where the capture's own order would nest wrongly.
//!
//! Events keep their order in the capture, except that an end which closes an earlier span goes before the begins (not
//! before what stood before these, which was still inside of the span), and among complete spans the longer goes first: a parent that is written after its child still nests right.

use crate::model::{Event, EventFlags, EventKind, NameIdx, StrIdx};

/// Puts the events of one track at one time into the order in which they nest; `event_of` tells an item's event, and
/// `text_of` the text of a name: an end need not repeat the category of its begin.
pub fn order<T>(items: &mut Vec<T>, event_of: impl Fn(&T) -> &Event, text_of: impl Fn(NameIdx) -> StrIdx) {
    if items.len() < 2 {
        return;
    }
    ends_of_earlier_spans_first(items, &event_of, text_of);
    longer_complete_spans_first(items, &event_of);
}

/// An end closes a begin of the same time if one is open before it that it names, or any if it names none.
fn ends_of_earlier_spans_first<T>(
    items: &mut Vec<T>,
    event_of: &impl Fn(&T) -> &Event,
    text_of: impl Fn(NameIdx) -> StrIdx,
) {
    if !items.iter().any(|item| event_of(item).kind == EventKind::End) {
        return;
    }
    let mut open: Vec<StrIdx> = Vec::new();
    let mut has_begun = false;
    let mut closes_earlier = Vec::with_capacity(items.len());
    for item in items.iter() {
        let event = event_of(item);
        closes_earlier.push(match event.kind {
            EventKind::Begin => {
                open.push(text_of(event.name));
                has_begun = true;
                false
            }
            EventKind::End if event.flags.has(EventFlags::UNNAMED) => open.pop().is_none(),
            EventKind::End => match open.iter().rposition(|&text| text == text_of(event.name)) {
                Some(position) => {
                    open.truncate(position);
                    false
                }
                None => true,
            },
            EventKind::Complete => {
                has_begun = true;
                false
            }
            _ => !has_begun,
        });
    }
    let mut flags = closes_earlier.into_iter();
    let mut keyed: Vec<(bool, T)> = items.drain(..).map(|item| (!flags.next().unwrap_or(false), item)).collect();
    keyed.sort_by_key(|(stays, _)| *stays);
    items.extend(keyed.into_iter().map(|(_, item)| item));
}

/// Complete spans take the places that complete spans had, longest first.
fn longer_complete_spans_first<T>(items: &mut [T], event_of: &impl Fn(&T) -> &Event) {
    let is_complete = |item: &T| event_of(item).kind == EventKind::Complete;
    let places: Vec<usize> = (0..items.len()).filter(|&place| is_complete(&items[place])).collect();
    let sorted = places.windows(2).all(|pair| length(event_of(&items[pair[0]])) >= length(event_of(&items[pair[1]])));
    if sorted {
        return;
    }
    let mut by_length = places.clone();
    by_length.sort_by_key(|&place| std::cmp::Reverse(length(event_of(&items[place]))));
    // `from[k]` is where the item for position k stands now.
    let mut from: Vec<usize> = (0..items.len()).collect();
    places.iter().zip(by_length).for_each(|(&place, source)| from[place] = source);
    for place in 0..items.len() {
        let mut source = from[place];
        // What stood there may have been moved on by an earlier swap.
        while source < place {
            source = from[source];
        }
        items.swap(place, source);
    }
}

/// A span without an end counts as the longest.
fn length(event: &Event) -> u64 {
    if event.flags.has(EventFlags::UNFINISHED) { u64::MAX } else { event.value }
}

#[cfg(test)]
mod tests {
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
        // hundreds are categories
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
    fn many_equal_times_are_sorted_like_a_stable_sort() {
        for count in 2..60u64 {
            let events: Vec<_> = (0..count).map(|k| event(EventKind::Complete, k * 7919 % 13, k as u32)).collect();
            let mut expected = events.clone();
            expected.sort_by_key(|event| std::cmp::Reverse(event.value));
            let expected: Vec<u32> = expected.iter().map(|event| event.name.0).collect();
            assert_eq!(names_in_order(events), expected);
        }
    }
}
