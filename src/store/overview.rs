//! A small pyramid of time buckets per lane: the longest span that touches each bucket, for zoomed-out views.
//!
//! Zoomed fully out, an exact query per pixel reads a few cold cache lines of the forest for each pixel. The pyramid
//! answers the same query from a few contiguous kilobytes. Bucket widths are powers of two in absolute time. The
//! buckets of a level are thus unions of lower ones, and align with the buckets of a view.
//!
//! Equivalent to: for each bucket, the longest of the spans that touch it, the first one on ties.

use std::mem;
use std::ops::Range;

use bytemuck::{Pod, Zeroable};

use super::block::Row;
use crate::model::NameIdx;

/// Buckets at the finest level of a large lane: eight per pixel column of a 1920-pixel view of the whole trace. The
/// pyramid then serves the first three doublings of zoom, in which the forest would read the most blocks.
pub(crate) const BUCKETS_MAX: usize = 16 * 1024;

/// Rows per bucket of a small lane: half a block, because a bucket with both ends inside blocks unpacks two. The
/// pyramid with all levels then takes at most two bytes per row.
const ROWS_PER_BUCKET: u64 = 32;

/// Minimum number of rows for a pyramid; below, the forest answers from a handful of extents.
pub(crate) const ROWS_MIN: u64 = 256 * ROWS_PER_BUCKET;

/// The summary of one bucket. A span counts in every bucket that it touches, any other row in the bucket of its start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct OverviewBucket {
    pub(crate) start_ns: i64,
    pub(crate) dur_ns: u64,
    /// Index of the longest span in the lane; `u64::MAX` if no span touches the bucket.
    pub(crate) row: u64,
    pub(crate) name: NameIdx,
    /// Spans that start in the bucket; saturates.
    pub(crate) rows: u32,
}

const EMPTY: OverviewBucket = OverviewBucket { start_ns: 0, dur_ns: 0, row: u64::MAX, name: NameIdx::EMPTY, rows: 0 };

impl OverviewBucket {
    /// Returns whether no span touches the bucket.
    #[must_use]
    pub(crate) fn is_empty(&self) -> bool {
        self.row == u64::MAX
    }

    /// Merges two buckets; `later` covers the later time.
    #[must_use]
    pub(crate) fn combine(self, later: Self) -> Self {
        let rows = self.rows.saturating_add(later.rows);
        let first_wins = later.is_empty() || (!self.is_empty() && self.dur_ns >= later.dur_ns);
        Self { rows, ..if first_wins { self } else { later } }
    }
}

/// Builds the finest level while a lane grows, and doubles the bucket width whenever there are too many buckets.
#[derive(Debug, Default)]
pub(crate) struct OverviewBuilder {
    buckets: Vec<OverviewBucket>,
    first: i64,
    width_log2: u32,
    rows: u64,
}

impl OverviewBuilder {
    #[must_use]
    pub(crate) fn buckets(&self) -> usize {
        self.buckets.len()
    }

    /// Merges buckets until at most `buckets_max` (at least 4) are left.
    pub(crate) fn shrink_to(&mut self, buckets_max: usize) {
        while self.buckets.len() > buckets_max.max(4) {
            self.halve();
        }
        self.buckets.shrink_to_fit();
    }

    /// Adds the next spans of the lane, in order and without overlaps, to at most `buckets_max` buckets.
    pub(crate) fn push_rows(&mut self, spans: &[Row], buckets_max: usize) {
        let Some(first) = spans.first() else { return };
        if self.buckets.is_empty() {
            self.first = first.start_ns >> self.width_log2;
        }
        // The bucket of the last span, and the summary of spans that are not added to it yet: most lie in one bucket.
        let (mut last_bucket, mut summary) = (0, EMPTY);
        for span in spans {
            let row = self.rows;
            self.rows += 1;
            let last_ns = span.start_ns.saturating_add_unsigned(span.value).saturating_sub(1).max(span.start_ns);
            let limit =
                usize::try_from(self.rows / ROWS_PER_BUCKET).unwrap_or(buckets_max).clamp(4, buckets_max.max(4));
            // Spans come in order, so the difference is not negative and fits `u64`.
            if (last_ns >> self.width_log2).wrapping_sub(self.first).cast_unsigned() >= limit as u64 {
                self.add(last_bucket, mem::replace(&mut summary, EMPTY));
                while (last_ns >> self.width_log2).wrapping_sub(self.first).cast_unsigned() >= limit as u64 {
                    self.halve();
                }
            }
            let position = |ts_ns: i64| (ts_ns >> self.width_log2) - self.first;
            debug_assert!(position(span.start_ns) >= 0, "spans come in order of their starts");
            let (first, last) = (position(span.start_ns).max(0) as usize, position(last_ns).max(0) as usize);
            let touched =
                OverviewBucket { start_ns: span.start_ns, dur_ns: span.value, row, name: NameIdx(span.name), rows: 1 };
            if first != last_bucket {
                self.add(last_bucket, mem::replace(&mut summary, EMPTY));
            }
            summary = summary.combine(touched);
            if last > first {
                self.add(first, mem::replace(&mut summary, EMPTY));
                (first + 1..=last).for_each(|bucket| self.add(bucket, OverviewBucket { rows: 0, ..touched }));
            }
            last_bucket = last;
        }
        self.add(last_bucket, summary);
    }

    /// Adds the summary of later spans to a bucket.
    fn add(&mut self, bucket: usize, summary: OverviewBucket) {
        if !summary.is_empty() {
            if bucket >= self.buckets.len() {
                self.buckets.resize(bucket + 1, EMPTY);
            }
            self.buckets[bucket] = self.buckets[bucket].combine(summary);
        }
    }

    /// Returns the finished pyramid, finest level first; `None` for a lane that is too small to need one.
    #[must_use]
    pub(crate) fn finish(self) -> Option<(OverviewShape, Vec<OverviewBucket>)> {
        if self.rows < ROWS_MIN {
            return None;
        }
        let shape = OverviewShape { first: self.first, width_log2: self.width_log2, count: self.buckets.len() as u32 };
        let mut all = self.buckets;
        let (mut start, mut first) = (0, shape.first);
        // Two buckets may remain: buckets before and after time 0 have no common parent.
        while all.len() - start > 2 {
            let level = coarser(&all[start..], first);
            start = all.len();
            first >>= 1;
            all.extend(level);
        }
        Some((shape, all))
    }

    fn halve(&mut self) {
        self.buckets = coarser(&self.buckets, self.first);
        self.first >>= 1;
        self.width_log2 += 1;
    }
}

/// Computes the level above `buckets`. Their first bucket has the index `first`.
fn coarser(buckets: &[OverviewBucket], first: i64) -> Vec<OverviewBucket> {
    let mut level = Vec::with_capacity(buckets.len() / 2 + 1);
    // A first bucket with an odd index is the right half of its parent.
    let lead = usize::from(first & 1 == 1).min(buckets.len());
    level.extend_from_slice(&buckets[..lead]);
    level.extend(buckets[lead..].chunks(2).map(|pair| pair.iter().skip(1).fold(pair[0], |a, &b| a.combine(b))));
    level
}

/// The finest level of a pyramid; the others follow from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct OverviewShape {
    /// Index of the first bucket.
    pub(crate) first: i64,
    /// Binary logarithm of the bucket width in nanoseconds.
    pub(crate) width_log2: u32,
    /// Number of buckets; 0 for a lane without a pyramid.
    pub(crate) count: u32,
}

impl OverviewShape {
    /// The shape of a lane that has no pyramid.
    pub(crate) const NONE: Self = Self { first: 0, width_log2: 0, count: 0 };
}

/// One level of a pyramid in the mapped file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OverviewLevel<'a> {
    /// Index of the first bucket.
    pub(crate) first: i64,
    /// Binary logarithm of the bucket width in nanoseconds.
    pub(crate) width_log2: u32,
    /// Position of the first bucket in the pyramid.
    pub(super) start: usize,
    pub(crate) buckets: &'a [OverviewBucket],
}

impl OverviewLevel<'_> {
    /// Returns the part that touches a range of buckets `2^width_log2` wide, which are at least as wide as these.
    #[must_use]
    pub(super) fn within(self, buckets: Range<i64>, width_log2: u32) -> Self {
        let shift = width_log2.saturating_sub(self.width_log2);
        let position = |bucket: i64| {
            let position = (i128::from(bucket) << shift) - i128::from(self.first);
            usize::try_from(position.max(0)).unwrap_or(usize::MAX).min(self.buckets.len())
        };
        let (from, to) = (position(buckets.start), position(buckets.end));
        let buckets = &self.buckets[from..to.max(from)];
        Self { first: self.first + from as i64, start: self.start + from, buckets, ..self }
    }
}

impl OverviewShape {
    /// Returns the coarsest level whose buckets are at most `2^width_log2` wide, or `None` if even the finest is wider.
    #[must_use]
    pub(crate) fn level<'a>(&self, all: &'a [OverviewBucket], width_log2: u32) -> Option<OverviewLevel<'a>> {
        if width_log2 < self.width_log2 {
            return None;
        }
        let (mut start, mut first, mut count, mut width) = (0, self.first, self.count as usize, self.width_log2);
        while width < width_log2 && count > 2 {
            start += count;
            let last = first + count as i64 - 1;
            first >>= 1;
            count = usize::try_from((last >> 1) - first + 1).ok()?;
            width += 1;
        }
        Some(OverviewLevel { first, width_log2: width, start, buckets: all.get(start..start + count)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn scan(spans: &[Row], start_ns: i128, end_ns: i128) -> (Option<u64>, u32) {
        let touches = |span: &&Row| {
            let (from, to) = (i128::from(span.start_ns), i128::from(span.start_ns) + i128::from(span.value));
            from < end_ns && (to > start_ns || from >= start_ns)
        };
        let longest = spans.iter().filter(touches).map(|span| span.value).max();
        let starts = spans.iter().filter(|span| (start_ns..end_ns).contains(&i128::from(span.start_ns))).count();
        (longest, starts as u32)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn every_bucket_of_every_level_equals_a_scan(
            base in prop_oneof![Just(0i64), Just(-1_000_000), Just(i64::MAX / 2), Just(1_700_000_000_000_000_000)],
            steps in proptest::collection::vec((0i64..2000, 0u64..3000), 400),
            run in 1usize..100,
        ) {
            let mut spans = Vec::new();
            let mut free_ns = base;
            for k in 0..ROWS_MIN as usize + 100 {
                let (gap, dur_ns) = steps[(k * k + k / 7) % steps.len()];
                let start_ns = free_ns + if k % 500 == 0 { gap * 1000 } else { gap };
                spans.push(Row { start_ns, value: dur_ns, name: k as u32, ..Row::default() });
                free_ns = start_ns + dur_ns as i64;
            }
            let mut builder = OverviewBuilder::default();
            spans.chunks(run).for_each(|run| builder.push_rows(run, BUCKETS_MAX));
            let (shape, all) = builder.finish().unwrap();
            prop_assert!(shape.count as usize <= BUCKETS_MAX);
            for width_log2 in [shape.width_log2, shape.width_log2 + 1, shape.width_log2 + 5, 62] {
                let level = shape.level(&all, width_log2).unwrap();
                for (k, bucket) in level.buckets.iter().enumerate().step_by(1 + level.buckets.len() / 40) {
                    let start_ns = i128::from(level.first + k as i64) << level.width_log2;
                    let (longest, starts) = scan(&spans, start_ns, start_ns + (1i128 << level.width_log2));
                    prop_assert_eq!((!bucket.is_empty()).then_some(bucket.dur_ns), longest);
                    prop_assert_eq!(bucket.rows, starts);
                    if let Some(dur_ns) = longest {
                        prop_assert_eq!(spans[bucket.row as usize].value, dur_ns);
                        prop_assert_eq!(bucket.name.0, spans[bucket.row as usize].name);
                    }
                }
            }
            for (width_log2, from, count) in [(shape.width_log2, 3, 90), (shape.width_log2 + 3, -2, 5), (62, -1, 2), (63, 0, 1)] {
                let (whole, from) = (shape.level(&all, width_log2).unwrap(), (base >> width_log2) + from);
                let part = whole.within(from..from + count, width_log2);
                let shift = width_log2 - whole.width_log2;
                let numbers = whole.first..whole.first + whole.buckets.len() as i64;
                let touched: Vec<i64> = numbers.filter(|number| (from..from + count).contains(&(number >> shift))).collect();
                prop_assert_eq!(part.buckets.len(), touched.len());
                if let Some(&first) = touched.first() {
                    let skipped = (first - whole.first) as usize;
                    prop_assert_eq!((part.first, part.start), (first, whole.start + skipped));
                    prop_assert_eq!(part.buckets, &whole.buckets[skipped..skipped + touched.len()]);
                    prop_assert_eq!(&all[part.start..part.start + touched.len()], part.buckets);
                }
            }
            let finer = shape.width_log2.checked_sub(1).and_then(|width| shape.level(&all, width));
            prop_assert!(finer.is_none());
        }
    }
}
