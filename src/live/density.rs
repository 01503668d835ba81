//! How busy a live trace is over time: outermost spans by time bucket, for the minimap. Each span costs the same,
//! however long it is, and can be removed again while it may still move.
//!
//! Equivalent to counting, for each bucket, the spans that start in it or reach into it.

use crate::query::Buckets;

/// Limit for the buckets: one per point of a wide screen.
const BUCKETS_MAX: usize = 4096;

/// The widest bucket, as for [`Buckets`].
const WIDTH_LOG2_MAX: u32 = 62;

/// Counts of starts and ends of spans by time.
#[derive(Debug, Clone, Default)]
pub struct LiveDensity {
    /// Index of the first bucket.
    first: i64,
    width_log2: u32,
    /// Starts and ends in each bucket. A span that only passes through counts in neither.
    counts: Vec<[u32; 2]>,
}

impl LiveDensity {
    pub(super) fn add(&mut self, start_ns: i64, end_ns: i64) {
        let [start, end] = self.positions(start_ns, end_ns);
        self.counts[start][0] = self.counts[start][0].saturating_add(1);
        self.counts[end][1] = self.counts[end][1].saturating_add(1);
    }

    /// Removes a span that was added with these times.
    pub(super) fn remove(&mut self, start_ns: i64, end_ns: i64) {
        let [start, end] = self.positions(start_ns, end_ns);
        self.counts[start][0] = self.counts[start][0].saturating_sub(1);
        self.counts[end][1] = self.counts[end][1].saturating_sub(1);
    }

    fn positions(&mut self, start_ns: i64, end_ns: i64) -> [usize; 2] {
        let end_ns = end_ns.max(start_ns);
        // Both positions are allocated first, because allocating moves buckets.
        self.position(start_ns);
        self.position(end_ns);
        [self.position(start_ns), self.position(end_ns)]
    }

    /// Returns the buckets, with the number of spans that start in each or reach into it.
    pub(crate) fn filled(&self) -> (Buckets, Vec<u32>) {
        let count = u32::try_from(self.counts.len()).unwrap_or(u32::MAX);
        let mut open = 0_i64;
        let filled = self.counts.iter().map(|&[starts, ends]| {
            let touching = open + i64::from(starts);
            open = touching - i64::from(ends);
            u32::try_from(touching).unwrap_or(0)
        });
        (Buckets { first: self.first, count, width_log2: self.width_log2 }, filled.collect())
    }

    /// Returns the index of the bucket of a time, and adds the bucket if it is missing. Widens all buckets if there are
    /// too many.
    fn position(&mut self, ts_ns: i64) -> usize {
        if self.counts.is_empty() {
            self.first = ts_ns >> self.width_log2;
            self.counts.push([0; 2]);
        }
        let mut is_first = true;
        loop {
            let bucket = ts_ns >> self.width_log2;
            let last = self.first.saturating_add_unsigned(self.counts.len() as u64 - 1);
            let (from, to) = (self.first.min(bucket), last.max(bucket));
            let needed = usize::try_from(to.abs_diff(from)).unwrap_or(usize::MAX).saturating_add(1);
            // Earlier times are added only by widening the buckets: a stream that goes back in time moves them some
            // sixty times, not once per span.
            let is_earlier = bucket < self.first && std::mem::take(&mut is_first) && self.counts.len() > 1;
            if (needed > BUCKETS_MAX || is_earlier) && self.width_log2 < WIDTH_LOG2_MAX {
                self.halve();
                continue;
            }
            if bucket < self.first {
                let missing = usize::try_from(self.first.abs_diff(bucket)).unwrap_or(0);
                self.counts.splice(0..0, std::iter::repeat_n([0; 2], missing));
                self.first = bucket;
            }
            let position = usize::try_from(bucket.abs_diff(self.first)).unwrap_or(0);
            if position >= self.counts.len() {
                self.counts.resize(position + 1, [0; 2]);
            }
            return position;
        }
    }

    fn halve(&mut self) {
        let lead = usize::from(self.first & 1 == 1).min(self.counts.len());
        let (first, rest) = self.counts.split_at(lead);
        let pairs = rest.chunks(2).map(|pair| {
            pair.iter().fold([0_u32; 2], |[a, b], [starts, ends]| [a.saturating_add(*starts), b.saturating_add(*ends)])
        });
        self.counts = first.iter().copied().chain(pairs).collect();
        self.first >>= 1;
        self.width_log2 += 1;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Loops over all spans for each bucket.
    fn scan(spans: &[(i64, i64)], Buckets { first, count, width_log2 }: Buckets) -> Vec<u32> {
        let of = |ts_ns: i64| ts_ns >> width_log2;
        let touches =
            |bucket: i64| spans.iter().filter(|(start, end)| of(*start) <= bucket && bucket <= of(*end)).count();
        (0..i64::from(count)).map(|number| touches(first + number) as u32).collect()
    }

    proptest! {
        #[test]
        fn each_bucket_has_the_spans_that_touch_it(
            spans in proptest::collection::vec((any::<i32>(), 0i64..1 << 40, any::<bool>()), 1..60),
            base in prop_oneof![Just(0i64), Just(i64::MAX - (1 << 41)), Just(i64::MIN + (1 << 41))],
        ) {
            let mut density = LiveDensity::default();
            let mut kept = Vec::new();
            for &(start, dur_ns, stays) in &spans {
                let (start_ns, end_ns) = (base + i64::from(start), (base + i64::from(start)).saturating_add(dur_ns));
                density.add(start_ns, end_ns);
                if stays {
                    kept.push((start_ns, end_ns));
                }
            }
            for &(start, dur_ns, _) in spans.iter().filter(|(.., stays)| !stays) {
                let start_ns = base + i64::from(start);
                density.remove(start_ns, start_ns.saturating_add(dur_ns));
            }
            let (buckets, filled) = density.filled();
            prop_assert!(buckets.count as usize <= BUCKETS_MAX);
            prop_assert_eq!(filled, scan(&kept, buckets));
        }
    }

    #[test]
    fn all_times_have_room_and_a_stream_that_goes_back_moves_the_buckets_rarely() {
        let mut density = LiveDensity::default();
        for ts_ns in [0, i64::MAX, i64::MIN, -1] {
            density.add(ts_ns, i64::MAX);
        }
        let (buckets, filled) = density.filled();
        assert!(buckets.count as usize <= BUCKETS_MAX && filled.iter().max() == Some(&4), "{buckets:?}");
        let mut density = LiveDensity::default();
        let mut widths = std::collections::BTreeSet::new();
        for step in 0..100_000i64 {
            density.add(-step * 1000, -step * 1000 + 10);
            widths.insert((density.width_log2, density.first >> 11));
        }
        assert!(widths.len() < 130, "{}", widths.len());
        assert_eq!(LiveDensity::default().filled().1, Vec::<u32>::new());
    }
}
