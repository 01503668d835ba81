//! Random late parents and open spans, compared with the placement of all spans in order.

use proptest::prelude::*;

use super::*;

/// Returns the lanes of all rows as the final sort assigns them.
fn offline(mut rows: Vec<WindowRow>) -> Vec<(u16, WindowRow)> {
    rows.sort_by_key(|row| (row.start_ns, row.end_ns().map(Reverse), row.order.begin));
    let mut lanes = OpenLanes::<()>::default();
    let place = |row: WindowRow| {
        lanes.close_ended(row.start_ns);
        lanes.place_complete(row.end_ns().unwrap()).map(|placed| (placed.lane, row))
    };
    rows.into_iter().filter_map(place).collect()
}

fn span(start_ns: i64, end_ns: i64, name: u32) -> WindowRow {
    let order = RowOrder { begin: u64::from(name), end: None };
    WindowRow { start_ns, order, value: WindowValue::Span { end_ns }, name, detail: 0 }
}

fn open(start_ns: i64, name: u32) -> OpenRow {
    OpenRow { start_ns, order: RowOrder { begin: u64::from(name), end: Some(u64::MAX) }, name, detail: 0 }
}

/// A total order, to compare rows.
fn key(&(lane, row): &(u16, WindowRow)) -> (i64, u32, u16) {
    (row.start_ns, row.name, lane)
}

/// The settled rows, and the window after them.
#[derive(Default)]
struct Placements {
    window: TrackWindow,
    settled: Vec<(u16, WindowRow)>,
}

impl Placements {
    fn settle(&mut self, to_ns: i64, open: &[OpenRow]) {
        let settled = &mut self.settled;
        self.window.settle(to_ns, &mut open.to_vec(), &mut |placed| settled.extend(span_of(placed)));
    }

    /// Returns all ended spans of the snapshot, sorted by start and lane, and checks each lane.
    fn snapshot(&mut self, open: &[OpenRow], now_ns: i64) -> Vec<(u16, WindowRow)> {
        let mut all = self.settled.clone();
        let mut in_lanes = all.clone();
        self.window.place(&mut open.to_vec(), now_ns, &mut |placed| {
            if let PlacedRow::Span { lane, row, is_open } = placed {
                in_lanes.push((lane, row));
                if !is_open {
                    all.push((lane, row));
                }
            }
        });
        let mut ends = std::collections::BTreeMap::new();
        for (lane, row) in in_lanes {
            let end_ns = ends.insert(lane, row.end_ns().unwrap()).unwrap_or(i64::MIN);
            assert!(row.start_ns >= end_ns, "lane {lane}: {row:?} starts before {end_ns}");
        }
        all.sort_by_key(key);
        all
    }
}

fn span_of(placed: PlacedRow) -> Option<(u16, WindowRow)> {
    match placed {
        PlacedRow::Span { lane, row, is_open: false } => Some((lane, row)),
        PlacedRow::Span { .. } | PlacedRow::Instant { .. } | PlacedRow::Flow { .. } => None,
    }
}

proptest! {
    /// Spans come in order of their ends, so that each parent is late; the window is settled before all later rows.
    #[test]
    fn late_parents_are_placed_as_the_sort_at_the_end_places_them(
        spans in proptest::collection::vec((0i64..400, 0i64..60), 1..120),
        settle_every in 1usize..30,
    ) {
        let mut rows: Vec<WindowRow> =
            (0u32..).zip(&spans).map(|(name, &(start_ns, dur_ns))| span(start_ns, start_ns + dur_ns, name)).collect();
        rows.sort_by_key(WindowRow::end_ns);
        let mut shown = Placements::default();
        for (count, row) in rows.iter().enumerate() {
            shown.window.add(*row).unwrap();
            if count % settle_every == 0 {
                // No span takes longer than 60.
                shown.settle(row.end_ns().unwrap() - 60, &[]);
            }
            if count % 7 == 0 {
                let mut expected = offline(rows[..=count].to_vec());
                expected.sort_by_key(key);
                prop_assert_eq!(shown.snapshot(&[], 1000), expected);
            }
        }
        let mut expected = offline(rows);
        expected.sort_by_key(key);
        prop_assert_eq!(shown.snapshot(&[], 1000), expected);
    }

    /// Begins and ends of one stack, some at the same time; the window is settled anywhere, even inside open spans.
    #[test]
    fn spans_that_are_open_keep_their_lanes_when_what_is_in_them_is_settled(
        steps in proptest::collection::vec((any::<bool>(), prop_oneof![Just(0i64), 1i64..5], 0u8..10), 1..200),
    ) {
        let (mut shown, mut stack, mut ended) = (Placements::default(), Vec::<OpenRow>::new(), Vec::new());
        let mut now_ns = 0;
        let mut end = |open: OpenRow, number: u32, now_ns: i64, shown: &mut Placements| {
            let mut row = span(open.start_ns, now_ns, open.name);
            row.order.end = Some(u64::from(number));
            shown.window.add(row).unwrap();
            ended.push(row);
        };
        for (number, (begins, after_ns, settles)) in (0u32..).zip(steps) {
            now_ns += after_ns;
            match stack.pop() {
                Some(open) if !begins => end(open, number, now_ns, &mut shown),
                popped => {
                    stack.extend(popped);
                    stack.push(open(now_ns, number));
                }
            }
            if settles == 0 {
                shown.settle(now_ns, &stack);
            }
            shown.snapshot(&stack, now_ns);
        }
        while let Some(open) = stack.pop() {
            now_ns += 1;
            end(open, u32::MAX, now_ns, &mut shown);
        }
        // The depth of a span is the number of spans that are open when it begins. Ends of earlier spans come before
        // the begins with the same time.
        let is_around = |around: &&WindowRow, row: &WindowRow| {
            around.order.begin < row.order.begin
                && around.order.end > Some(row.order.begin)
                && (around.end_ns() > Some(row.start_ns) || around.start_ns == row.start_ns)
        };
        let depth = |row: &WindowRow| ended.iter().filter(|around| is_around(around, row)).count();
        let mut expected: Vec<_> = ended.iter().map(|row| (u16::try_from(depth(row)).unwrap(), *row)).collect();
        expected.sort_by_key(key);
        prop_assert_eq!(shown.snapshot(&[], now_ns), expected);
    }
}

#[test]
fn rows_that_start_before_the_settled_ones_are_returned_and_move_nothing() {
    let mut shown = Placements::default();
    (0..10).for_each(|number| shown.window.add(span(number * 10, number * 10 + 5, 1)).unwrap());
    shown.settle(60, &[]);
    let before = shown.snapshot(&[], 100);
    let late = span(0, 200, 7);
    assert_eq!(shown.window.add(late), Err(late));
    assert_eq!(shown.snapshot(&[], 100), before);
    assert_eq!(shown.window.len(), 4);
    // A span that starts at the edge is not late.
    assert_eq!(shown.window.add(span(60, 100, 8)), Ok(()));
}

#[test]
fn an_instant_is_below_the_spans_that_are_open_around_it() {
    let mut window = TrackWindow::default();
    let order = RowOrder::default();
    let instant = WindowRow { start_ns: 5, order, value: WindowValue::Instant, name: 3, detail: 0 };
    [instant, span(2, 8, 2), span(0, 10, 1)].into_iter().for_each(|row| window.add(row).unwrap());
    let mut depths = Vec::new();
    window.place(&mut vec![open(1, 9)], 10, &mut |placed| {
        if let PlacedRow::Instant { depth, .. } = placed {
            depths.push(depth);
        }
    });
    assert_eq!(depths, [3]);
}

#[test]
fn a_span_without_an_end_grows_in_its_lane_with_its_arguments() {
    let mut window = TrackWindow::default();
    window.add_endless(OpenRow { detail: 7, ..open(1, 1) }).unwrap();
    window.settle(5, &mut vec![open(3, 2)], &mut |placed| panic!("{placed:?}"));
    window.add_endless(OpenRow { detail: 8, ..open(3, 2) }).unwrap();
    let late = open(2, 3);
    assert_eq!(window.add_endless(late), Err(late), "its lane is unknown");
    let mut placed = Vec::new();
    window.place(&mut Vec::new(), 20, &mut |row| placed.push(row));
    let row = |start_ns, name, detail| WindowRow { detail, ..open(start_ns, name).until(20) };
    let expected = [(0, row(1, 1, 7)), (1, row(3, 2, 8))];
    assert_eq!(placed, expected.map(|(lane, row)| PlacedRow::Span { lane, row, is_open: true }));
}
