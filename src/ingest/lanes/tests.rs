//! Compares lanes of open spans with a naive oracle that scans all open spans; and tests the growth of the work for the
//! worst shapes.

use proptest::prelude::*;

use super::*;

/// An open span of the oracle; the end is `None` for a begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Naive {
    lane: u16,
    end_ns: Option<i64>,
    text: StrIdx,
    closable: bool,
}

/// The open spans of the oracle, by lane.
#[derive(Debug, Default)]
struct NaiveLanes {
    open: Vec<Naive>,
}

impl NaiveLanes {
    fn close_ended(&mut self, ts_ns: i64) {
        self.open.retain(|open| open.end_ns.is_none_or(|end_ns| end_ns > ts_ns));
    }

    /// Places a span on the first free lane below the deepest span that contains it.
    fn place(&mut self, end_ns: Option<i64>, text: StrIdx, closable: bool) -> Option<Placement> {
        let contains = |open: &Naive| match (open.end_ns, end_ns) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(own_ns), Some(end_ns)) => own_ns >= end_ns,
        };
        let last = self.open.last().map(|open| open.lane);
        let parent =
            if end_ns.is_none() { last } else { self.open.iter().rfind(|open| contains(open)).map(|open| open.lane) };
        let first = parent.map_or(Some(0), |parent| parent.checked_add(1))?;
        let lane = (first..=u16::MAX).find(|lane| self.open.iter().all(|open| open.lane != *lane))?;
        let overlaps = last.is_some_and(|last| parent.is_none_or(|parent| last > parent));
        self.open.push(Naive { lane, end_ns, text, closable });
        self.open.sort_by_key(|open| open.lane);
        Some(Placement { lane, overlaps })
    }

    fn innermost(&self, text: Option<StrIdx>) -> Option<u16> {
        let is_wanted =
            |open: &&Naive| open.end_ns.is_none() && open.closable && text.is_none_or(|text| open.text == text);
        self.open.iter().rev().find(is_wanted).map(|open| open.lane)
    }

    fn take_begin(&mut self, lane: u16) -> Option<StrIdx> {
        let position = self.open.iter().position(|open| open.lane == lane && open.end_ns.is_none())?;
        Some(self.open.remove(position).text)
    }
}

#[derive(Debug, Clone, Copy)]
enum LaneCall {
    Complete(i64),
    Begin(u32, bool),
    End,
    EndOf(u32),
    TakeOf(u32),
    Wait(i64),
}

fn call() -> impl Strategy<Value = LaneCall> {
    prop_oneof![
        8 => (0i64..300).prop_map(LaneCall::Complete),
        4 => (0u32..6, any::<bool>()).prop_map(|(text, closable)| LaneCall::Begin(text, closable)),
        1 => Just(LaneCall::End),
        1 => (0u32..6).prop_map(LaneCall::EndOf),
        2 => (0u32..6).prop_map(LaneCall::TakeOf),
        2 => (0i64..60).prop_map(LaneCall::Wait),
    ]
}

/// Makes all calls on both and compares the results.
fn compare<const FEW: usize>(calls: &[LaneCall]) -> Result<(), TestCaseError> {
    let (mut lanes, mut naive) = (OpenLanes::<StrIdx, FEW>::default(), NaiveLanes::default());
    let mut now_ns = 0;
    for &call in calls {
        match call {
            LaneCall::Complete(dur_ns) => {
                lanes.close_ended(now_ns);
                naive.close_ended(now_ns);
                let expected = naive.place(Some(now_ns + dur_ns), StrIdx(0), false);
                prop_assert_eq!(lanes.place_complete(now_ns + dur_ns), expected);
            }
            LaneCall::Begin(text, closable) => {
                let expected = naive.place(None, StrIdx(text), closable).map(|placed| placed.lane);
                prop_assert_eq!(lanes.place_begin(StrIdx(text), closable), expected);
            }
            LaneCall::End => {
                let expected = naive.innermost(None).and_then(|lane| naive.take_begin(lane).map(|text| (lane, text)));
                prop_assert_eq!(lanes.innermost().map(|(lane, &text)| (lane, text)), expected);
                prop_assert_eq!(lanes.take_innermost(), expected);
            }
            LaneCall::EndOf(text) => {
                let outer = naive.innermost(Some(StrIdx(text)));
                prop_assert_eq!(lanes.innermost_named(StrIdx(text), |&text| text), outer);
                while let (Some(outer), Some(innermost)) = (outer, naive.innermost(None))
                    && innermost >= outer
                {
                    let expected = naive.take_begin(innermost).map(|text| (innermost, text));
                    prop_assert_eq!(lanes.take_innermost(), expected);
                }
            }
            LaneCall::TakeOf(text) => {
                let lane = naive.innermost(Some(StrIdx(text)));
                prop_assert_eq!(lanes.innermost_named(StrIdx(text), |&text| text), lane);
                prop_assert_eq!(
                    lane.and_then(|lane| lanes.take_begin(lane)),
                    lane.and_then(|lane| naive.take_begin(lane))
                );
            }
            LaneCall::Wait(dur_ns) => now_ns += dur_ns,
        }
        prop_assert_eq!(lanes.count(), naive.open.len());
        let below = naive.open.iter().map(|open| u64::from(open.lane) + 1).max();
        prop_assert_eq!(lanes.depth_below(), below.unwrap_or(0));
        prop_assert_eq!(lanes.has_begins(), naive.open.iter().any(|open| open.end_ns.is_none()));
    }
    let begins: Vec<_> =
        naive.open.iter().filter(|open| open.end_ns.is_none()).map(|open| (open.lane, open.text)).collect();
    prop_assert_eq!(lanes.drain(), begins);
    Ok(())
}

proptest! {
    #[test]
    fn spans_take_the_lanes_and_ends_close_the_begins_that_a_scan_finds(
        calls in proptest::collection::vec(call(), 0..300),
    ) {
        compare::<0>(&calls)?;
        compare::<1>(&calls)?;
        compare::<4>(&calls)?;
        compare::<32>(&calls)?;
    }

    #[test]
    fn spans_of_one_lane_never_overlap(raw in proptest::collection::vec((0i64..200, 0i64..40), 1..150)) {
        let mut spans: Vec<_> = raw.into_iter().map(|(start, dur)| (start, start + dur)).collect();
        spans.sort_by_key(|&(start, end)| (start, std::cmp::Reverse(end)));
        let lanes = lanes_of(&spans);
        for b in 0..spans.len() {
            let mut parent_lane = None;
            for a in 0..b {
                let overlap = spans[a].1 > spans[b].0;
                prop_assert!(!(overlap && lanes[a] == lanes[b]), "{:?} and {:?}", spans[a], spans[b]);
                if overlap && spans[a].1 >= spans[b].1 {
                    parent_lane = parent_lane.max(Some(lanes[a]));
                }
            }
            prop_assert!(parent_lane.is_none_or(|lane| lanes[b] > lane), "below all that contain it");
        }
    }
}

fn lanes_of(spans: &[(i64, i64)]) -> Vec<u16> {
    let mut lanes = OpenLanes::<()>::default();
    let place = |&(start_ns, end_ns): &(i64, i64)| {
        lanes.close_ended(start_ns);
        lanes.place_complete(end_ns).unwrap().lane
    };
    spans.iter().map(place).collect()
}

#[test]
fn nested_spans_go_down_and_neighbours_stay() {
    assert_eq!(lanes_of(&[(0, 10), (0, 5), (1, 2), (5, 10), (10, 11)]), [0, 1, 2, 1, 0]);
}

#[test]
fn a_chain_of_overlaps_reuses_free_lanes_rather_than_sinking_for_ever() {
    let chain: Vec<_> = (0..1000).map(|k| (k * 5, k * 5 + 12)).collect();
    assert_eq!(lanes_of(&chain).into_iter().max(), Some(2));
}

#[test]
fn a_child_of_an_overlapping_span_stays_below_it() {
    assert_eq!(lanes_of(&[(0, 10), (5, 15), (12, 13)]), [0, 1, 2]);
}

#[test]
fn a_span_without_length_is_a_neighbour_of_the_next_and_a_child_of_what_is_around() {
    assert_eq!(lanes_of(&[(0, 4), (1, 1), (1, 1), (1, 3), (4, 4)]), [0, 1, 1, 1, 0]);
}

#[test]
fn spans_at_the_ends_of_time_are_placed_as_a_scan_places_them() {
    let ends = [i64::MIN, i64::MIN, i64::MAX, 0, i64::MIN, i64::MAX, i64::MIN];
    let (mut lanes, mut naive) = (OpenLanes::<StrIdx, 0>::default(), NaiveLanes::default());
    for end_ns in ends {
        assert_eq!(lanes.place_complete(end_ns), naive.place(Some(end_ns), StrIdx(0), false), "{end_ns}");
    }
    lanes.close_ended(i64::MAX);
    assert_eq!(lanes.count(), 0);
}

/// Opens `count` spans, and returns the number of spans beyond the last lane.
type Shape = fn(i64) -> usize;

/// Each span overlaps all earlier ones without nesting.
fn overlaps(count: i64) -> usize {
    let mut lanes = OpenLanes::<StrIdx>::default();
    (0..count)
        .filter(|&k| {
            lanes.close_ended(k);
            lanes.place_complete(count + k).is_none()
        })
        .count()
}

/// Spans of random lengths; thousands are open at once.
fn random_overlaps(count: i64) -> usize {
    let mut lanes = OpenLanes::<StrIdx>::default();
    let length = |k: i64| (k * 7_919 + k / 3 * 104_729) % 30_000;
    (0..count)
        .filter(|&k| {
            lanes.close_ended(k);
            lanes.place_complete(k + length(k)).is_none()
        })
        .count()
}

/// Places complete spans, each inside the previous one.
fn nested(count: i64) -> usize {
    let mut lanes = OpenLanes::<StrIdx>::default();
    (0..count)
        .filter(|&k| {
            lanes.close_ended(k);
            lanes.place_complete(3 * count - k).is_none()
        })
        .count()
}

/// Begins inside complete spans that end earlier, so that ended spans are between open ones.
fn begins_between_complete_spans(count: i64) -> usize {
    let mut lanes = OpenLanes::<StrIdx>::default();
    let refused = (0..count).filter(|&k| {
        lanes.close_ended(k);
        if k % 2 == 0 { lanes.place_complete(k + 5).is_none() } else { lanes.place_begin(StrIdx(0), true).is_none() }
    });
    refused.count()
}

/// Begins that are never closed, around begins that are closed one after the other.
fn endless_begins(count: i64) -> usize {
    let mut lanes = OpenLanes::<StrIdx>::default();
    let placed = (0..60_000).filter_map(|k| lanes.place_begin(StrIdx(k), k < 30_000)).count();
    assert_eq!(placed, 60_000);
    (0..count).filter(|_| lanes.innermost().is_none() || lanes.take_innermost().is_none()).count().min(1)
}

/// Ends by name, from the outermost of many begins inwards, and ends with an unknown name.
fn ends_by_name(count: i64) -> usize {
    let mut lanes = OpenLanes::<StrIdx>::default();
    let refused = (0..count as u32).filter(|&k| lanes.place_begin(StrIdx(k), true).is_none()).count();
    for k in 0..count as u32 {
        assert_eq!(lanes.innermost_named(StrIdx(u32::MAX), |&text| text), None);
        let lane = lanes.innermost_named(StrIdx(k), |&text| text);
        assert_eq!(lane.and_then(|lane| lanes.take_begin(lane)), lane.map(|_| StrIdx(k)));
    }
    refused
}

#[test]
fn a_hundred_times_the_spans_take_little_more_than_a_hundred_times_the_steps() {
    const SHAPES: &[(&str, Shape)] = &[
        ("overlaps", overlaps),
        ("random overlaps", random_overlaps),
        ("nested", nested),
        ("begins between complete spans", begins_between_complete_spans),
        ("endless begins", endless_begins),
        ("ends by name", ends_by_name),
    ];
    const LANES: usize = 1 << 16;
    for (name, shape) in SHAPES {
        let [few, many] = [10_000, 1_000_000].map(|count| steps::count(|| _ = shape(count)) / count.cast_unsigned());
        // A few operations with a depth of 16 each.
        assert!(few <= 100 && many <= 100, "{name}: {few} steps for each of 10,000 spans, {many} of a million");
        assert!(shape(LANES as i64) <= 1, "{name}: there is a lane for each of {LANES} spans");
    }
    assert_eq!(overlaps(1_000_000), 1_000_000 - LANES, "those beyond the last lane are counted");
}
