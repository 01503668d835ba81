//! Random late parents and open spans, compared with the placement of all spans in order.

use proptest::prelude::*;

use super::*;

/// Returns the lanes of all rows as the final sort assigns them.
fn offline(mut rows: Vec<WindowRow>) -> Vec<(u16, WindowRow)> {
    rows.sort_by_key(order);
    let mut lanes = OpenLanes::<()>::default();
    let place = |row: WindowRow| {
        lanes.close_ended(row.start_ns);
        lanes.place_complete(row.end_ns().unwrap()).map(|placed| (placed.lane, row))
    };
    rows.into_iter().filter_map(place).collect()
}

fn span(start_ns: i64, end_ns: i64, name: u32) -> WindowRow {
    WindowRow { start_ns, value: WindowValue::Span { end_ns }, name, detail: 0 }
}

/// The settled rows, and the window after them.
#[derive(Default)]
struct Shown {
    window: TrackWindow,
    settled: Vec<(u16, WindowRow)>,
}

impl Shown {
    fn settle(&mut self, to_ns: i64, open: &[OpenRow]) {
        let settled = &mut self.settled;
        self.window.settle(to_ns, &mut open.to_vec(), &mut |placed| settled.extend(span_of(placed)));
    }

    /// Returns all ended spans of the picture, sorted by start and lane, and checks each lane.
    fn picture(&mut self, open: &[OpenRow], now_ns: i64) -> Vec<(u16, WindowRow)> {
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
        all.sort_by_key(|(lane, row)| (order(row), *lane));
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
        let mut shown = Shown::default();
        for (count, row) in rows.iter().enumerate() {
            shown.window.add(*row).unwrap();
            if count % settle_every == 0 {
                // No span takes longer than 60.
                shown.settle(row.end_ns().unwrap() - 60, &[]);
            }
            if count % 7 == 0 {
                let mut expected = offline(rows[..=count].to_vec());
                expected.sort_by_key(|(lane, row)| (order(row), *lane));
                prop_assert_eq!(shown.picture(&[], 1000), expected);
            }
        }
        let mut expected = offline(rows);
        expected.sort_by_key(|(lane, row)| (order(row), *lane));
        prop_assert_eq!(shown.picture(&[], 1000), expected);
    }

    /// Begins and ends of one stack; the window is settled anywhere, even inside open spans.
    #[test]
    fn spans_that_are_open_keep_their_lanes_when_what_is_in_them_is_settled(
        steps in proptest::collection::vec((any::<bool>(), 1i64..5, 0u8..10), 1..200),
    ) {
        let (mut shown, mut stack, mut ended) = (Shown::default(), Vec::<OpenRow>::new(), Vec::new());
        let mut now_ns = 0;
        for (name, (begins, after_ns, settles)) in (0u32..).zip(steps) {
            now_ns += after_ns;
            match stack.pop() {
                Some(open) if !begins => {
                    let row = span(open.start_ns, now_ns, open.name);
                    shown.window.add(row).unwrap();
                    ended.push(row);
                }
                open => {
                    stack.extend(open);
                    stack.push(OpenRow { start_ns: now_ns, name });
                }
            }
            if settles == 0 {
                shown.settle(now_ns, &stack);
            }
            shown.picture(&stack, now_ns);
        }
        while let Some(open) = stack.pop() {
            now_ns += 1;
            let row = span(open.start_ns, now_ns, open.name);
            shown.window.add(row).unwrap();
            ended.push(row);
        }
        let mut expected = offline(ended);
        expected.sort_by_key(|(lane, row)| (order(row), *lane));
        prop_assert_eq!(shown.picture(&[], now_ns), expected);
    }
}

#[test]
fn what_starts_before_the_settled_rows_is_given_back_and_moves_nothing() {
    let mut shown = Shown::default();
    (0..10).for_each(|number| shown.window.add(span(number * 10, number * 10 + 5, 1)).unwrap());
    shown.settle(60, &[]);
    let before = shown.picture(&[], 100);
    let late = span(0, 200, 7);
    assert_eq!(shown.window.add(late), Err(late));
    assert_eq!(shown.picture(&[], 100), before);
    assert_eq!(shown.window.len(), 4);
    // A span that starts at the edge is not late.
    assert_eq!(shown.window.add(span(60, 100, 8)), Ok(()));
}

#[test]
fn an_instant_is_below_the_spans_that_are_open_around_it() {
    let mut window = TrackWindow::default();
    let instant = WindowRow { start_ns: 5, value: WindowValue::Instant, name: 3, detail: 0 };
    [instant, span(2, 8, 2), span(0, 10, 1)].into_iter().for_each(|row| window.add(row).unwrap());
    let mut depths = Vec::new();
    window.place(&mut vec![OpenRow { start_ns: 1, name: 9 }], 10, &mut |placed| {
        if let PlacedRow::Instant { depth, .. } = placed {
            depths.push(depth);
        }
    });
    assert_eq!(depths, [3]);
}
