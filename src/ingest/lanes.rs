//! Which lane of its track a span takes. Knows the open spans of one track, and nothing of events or files.
//!
//! A span goes one lane below the innermost open span that contains it. One that overlaps another without nesting takes
//! the next lane that is free: it is never dropped, cut or hidden.

/// An open span of a track.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Open<T> {
    lane: u16,
    /// When it ends, or `None` for a begin whose end has not come.
    end_ns: Option<i64>,
    payload: T,
}

/// The open spans of one track, by lane.
#[derive(Debug)]
pub struct OpenLanes<T> {
    open: Vec<Open<T>>,
    /// Whether some span ends after one of a lower lane, so that ended spans may stand anywhere.
    ragged: bool,
}

/// The place of a span.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Placed {
    /// The lane.
    pub lane: u16,
    /// Whether it overlaps an open span without nesting in it.
    pub overlaps: bool,
}

impl<T> Default for OpenLanes<T> {
    fn default() -> Self {
        Self { open: Vec::new(), ragged: false }
    }
}

impl<T> OpenLanes<T> {
    /// Forgets complete spans that have ended at `ts_ns`.
    pub fn close_ended(&mut self, ts_ns: i64) {
        let ended = |open: &Open<T>| open.end_ns.is_some_and(|end_ns| end_ns <= ts_ns);
        if self.ragged {
            self.open.retain(|open| !ended(open));
            self.ragged = self.open.windows(2).any(|pair| ends_later(pair[1].end_ns, pair[0].end_ns));
        } else {
            while self.open.last().is_some_and(ended) {
                self.open.pop();
            }
        }
    }

    /// Opens a span up to `end_ns`, or up to an end that is still to come. `None` beyond the last lane.
    pub fn place(&mut self, end_ns: Option<i64>, payload: T) -> Option<Placed> {
        let contains = |open: &Open<T>| !ends_later(end_ns, open.end_ns);
        // A begin goes below everything: its end is not known, and it will usually come first.
        let parent = if end_ns.is_none() || self.open.last().is_none_or(contains) {
            self.open.len().checked_sub(1)
        } else {
            self.open.iter().rposition(contains)
        };
        let mut position = parent.map_or(0, |parent| parent + 1);
        let overlaps = position < self.open.len();
        let mut lane = match parent {
            Some(parent) => self.open[parent].lane.checked_add(1)?,
            None => 0,
        };
        while self.open.get(position).is_some_and(|open| open.lane == lane) {
            lane = lane.checked_add(1)?;
            position += 1;
        }
        let above = position.checked_sub(1).map(|above| self.open[above].end_ns);
        self.ragged |= overlaps || above.is_some_and(|above| ends_later(end_ns, above));
        self.open.insert(position, Open { lane, end_ns, payload });
        Some(Placed { lane, overlaps })
    }

    /// How many spans are open.
    #[must_use]
    pub fn count(&self) -> usize {
        self.open.len()
    }

    /// The innermost open begin.
    #[must_use]
    pub fn innermost(&self) -> Option<usize> {
        self.open.iter().rposition(|open| open.end_ns.is_none())
    }

    /// The innermost open begin that `matches`.
    pub fn innermost_where(&self, matches: impl Fn(&T) -> bool) -> Option<usize> {
        self.open.iter().rposition(|open| open.end_ns.is_none() && matches(&open.payload))
    }

    /// How many begins are open inside of the span at `position`.
    #[must_use]
    pub fn begins_inside(&self, position: usize) -> usize {
        self.open[position + 1..].iter().filter(|open| open.end_ns.is_none()).count()
    }

    /// The span at `position`.
    #[must_use]
    pub fn get(&self, position: usize) -> &T {
        &self.open[position].payload
    }

    /// Takes the open begin at `position` out, and returns its lane and payload.
    #[inline]
    pub fn take(&mut self, position: usize) -> (u16, T) {
        // The innermost nearly always, for which nothing has to move.
        if position + 1 == self.open.len()
            && let Some(Open { lane, payload, .. }) = self.open.pop()
        {
            return (lane, payload);
        }
        let Open { lane, payload, .. } = self.open.remove(position);
        (lane, payload)
    }

    /// Takes all open begins out, outermost first.
    pub fn drain(&mut self) -> impl Iterator<Item = (u16, T)> {
        let open = std::mem::take(&mut self.open);
        open.into_iter().filter(|open| open.end_ns.is_none()).map(|open| (open.lane, open.payload))
    }
}

/// Whether `a` ends after `b`, where `None` is an end that is still to come.
fn ends_later(a: Option<i64>, b: Option<i64>) -> bool {
    match (a, b) {
        (_, None) => false,
        (None, Some(_)) => true,
        (Some(a), Some(b)) => a > b,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn lanes_of(spans: &[(i64, i64)]) -> Vec<u16> {
        let mut lanes = OpenLanes::default();
        let place = |&(start_ns, end_ns): &(i64, i64)| {
            lanes.close_ended(start_ns);
            lanes.place(Some(end_ns), ()).unwrap().lane
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

    proptest! {
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
}
