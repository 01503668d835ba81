//! The points of a series in a mapped file, with a pyramid of summaries. The summary of a range of points costs a few
//! nodes per level.

use std::fs::File;
use std::io::{self, BufWriter, Write as _};
use std::ops::Range;

use bytemuck::{Pod, Zeroable};
use rayon::prelude::*;

use super::histograms::write_histograms;
use super::room::{DerivedError, DerivedRoom};
use super::running::{HighWords, PointMeaning, RunningValue};
use crate::base::cancel::Cancel;
use crate::base::mapped::Mapped;
use crate::base::temporary::Scratch;
use crate::query::time_sort::TimedValue;

/// Points per node of the first level, and nodes per node above. All levels together then take a fifteenth of the bytes
/// of the points.
pub(super) const FAN_OUT: usize = 16;

/// Nodes built between two checks for cancellation.
const NODES_AT_ONCE: usize = 64 * 1024;

/// The points of a time part, with row counts. Running values start at zero in each part.
#[derive(Debug, Default)]
pub(super) struct PartPoints {
    pub(super) points: Vec<TimedValue>,
    pub(super) rows: u64,
    /// Number of rows that were tested.
    pub(super) judged: u64,
}

/// Bounds of the values of some points; for sums, both are the sum.
#[derive(Debug, Clone, Copy, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub(super) struct PointSummary {
    pub(super) least: f64,
    pub(super) most: f64,
}

impl PointSummary {
    const NONE: Self = Self { least: f64::INFINITY, most: f64::NEG_INFINITY };
    const ZERO: Self = Self { least: 0.0, most: 0.0 };

    pub(super) fn from_value(value: f64) -> Self {
        Self { least: value, most: value }
    }
}

impl PointMeaning {
    pub(super) fn nothing(self) -> PointSummary {
        if self == Self::Sum { PointSummary::ZERO } else { PointSummary::NONE }
    }

    /// Returns the summary of a single point.
    pub(super) fn summary(self, point: TimedValue) -> PointSummary {
        PointSummary::from_value(match self {
            Self::Sum | Self::Level => f64::from_bits(point.value),
            Self::RowsSoFar | Self::Open | Self::OpenTime | Self::Longest | Self::Durations => point.value as f64,
        })
    }

    /// Returns whether a pyramid answers ranges of points.
    fn has_pyramid(self) -> bool {
        match self {
            Self::Open | Self::Longest | Self::Sum | Self::Level => true,
            // These are differences of two points, or of two cumulative histograms.
            Self::RowsSoFar | Self::OpenTime | Self::Durations => false,
        }
    }

    pub(super) fn combine(self, one: PointSummary, other: PointSummary) -> PointSummary {
        if self == Self::Sum {
            return PointSummary::from_value(one.least + other.least);
        }
        PointSummary { least: one.least.min(other.least), most: one.most.max(other.most) }
    }
}

/// How columns present the points of a series.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ShownValue {
    Plain,
    PerSecond,
    /// A percentile of durations, 1 to 99.
    Quantile(u8),
}

/// The series of a derived track: points sorted by time, at most one per time except for durations. Any thread can
/// query it.
#[derive(Debug)]
pub(crate) struct DerivedSeries {
    pub(super) meaning: PointMeaning,
    pub(super) shown: ShownValue,
    /// First and last nanosecond of its time range.
    pub(super) bounds_ns: (i64, i64),
    /// Smallest value at any point, or 0, and largest value.
    extremes: (f64, f64),
    /// Number of rows that contributed.
    pub(super) rows: u64,
    /// `None` if there are no points.
    map: Option<Mapped>,
    points: usize,
    /// The high words of open times.
    high_words: HighWords,
    /// Byte range of each pyramid level, finest first.
    levels: Vec<Range<usize>>,
}

impl DerivedSeries {
    pub(super) fn points(&self) -> &[TimedValue] {
        let bytes = self.map.as_ref().map_or(&[][..], |map| &map[..self.points * size_of::<TimedValue>()]);
        bytemuck::try_cast_slice(bytes).unwrap_or_default()
    }

    /// Returns the total time of open spans up to a point.
    pub(super) fn open_time_ns(&self, index: usize) -> u128 {
        self.high_words.join(index, self.points()[index].value)
    }

    fn level(&self, level: usize) -> &[PointSummary] {
        let bytes = self.map.as_ref().zip(self.levels.get(level)).map_or(&[][..], |(map, range)| &map[range.clone()]);
        bytemuck::try_cast_slice(bytes).unwrap_or_default()
    }

    /// Returns value bounds that hold for columns of any width. They exist for values at a time, for busy time, and for
    /// longest durations. Counts and sums grow with the width.
    #[must_use]
    pub(crate) fn steady_range(&self) -> Option<(f64, f64)> {
        match self.meaning {
            PointMeaning::Open | PointMeaning::Longest | PointMeaning::Level => Some(self.extremes),
            // In percent, as if all spans that are ever open at once were open all the time.
            PointMeaning::OpenTime => Some((0.0, self.extremes.1 * 100.0)),
            PointMeaning::RowsSoFar | PointMeaning::Sum | PointMeaning::Durations => None,
        }
    }

    /// Returns the first and the last time of the series.
    #[must_use]
    pub(crate) fn bounds_ns(&self) -> (i64, i64) {
        self.bounds_ns
    }

    /// Returns whether columns with many spans come from histograms.
    #[must_use]
    pub(crate) fn is_of_quantiles(&self) -> bool {
        self.meaning == PointMeaning::Durations
    }

    /// Number of rows that contributed.
    #[must_use]
    pub(crate) fn rows(&self) -> u64 {
        self.rows
    }

    /// Returns the size of its file.
    #[cfg(test)]
    #[must_use]
    pub(crate) fn bytes(&self) -> u64 {
        self.map.as_ref().map_or(0, |map| map.len() as u64)
    }

    /// Returns the cumulative histograms of durations.
    pub(super) fn histograms(&self) -> &[u64] {
        let bytes = self.map.as_ref().zip(self.levels.first()).map_or(&[][..], |(map, range)| &map[range.clone()]);
        bytemuck::try_cast_slice(bytes).unwrap_or_default()
    }

    /// Builds the parent nodes of some nodes of the last level, or of the points.
    fn nodes_above(&self, range: Range<usize>) -> Vec<PointSummary> {
        let combine = |one, other| self.meaning.combine(one, other);
        let or_nothing = |node: Option<PointSummary>| node.unwrap_or(self.meaning.nothing());
        match self.levels.len().checked_sub(1) {
            None => {
                let points = self.points().get(range).unwrap_or(&[]).par_chunks(FAN_OUT);
                let summary = |&point: &TimedValue| self.meaning.summary(point);
                points.map(|points| or_nothing(points.iter().map(summary).reduce(combine))).collect()
            }
            Some(level) => {
                let nodes = self.level(level).get(range).unwrap_or(&[]).par_chunks(FAN_OUT);
                nodes.map(|nodes| or_nothing(nodes.iter().copied().reduce(combine))).collect()
            }
        }
    }

    /// Summarises a range of points. `nodes` counts the points and nodes read.
    ///
    /// Equivalent to combining all points of the range one by one.
    pub(super) fn summary(&self, range: Range<usize>, nodes: &mut u64) -> PointSummary {
        let Range { mut start, mut end } = range;
        let meaning = self.meaning;
        let (mut left, mut right) = (meaning.nothing(), meaning.nothing());
        // The level below the first holds the points.
        for level in 0..=self.levels.len() {
            let points = self.points();
            let node_summary = |index: usize| match level.checked_sub(1) {
                None => points.get(index).map(|&point| meaning.summary(point)),
                Some(level) => self.level(level).get(index).copied(),
            };
            let node_summary = |index| node_summary(index).unwrap_or(meaning.nothing());
            let is_last = level == self.levels.len();
            while start < end && (is_last || !start.is_multiple_of(FAN_OUT)) {
                left = meaning.combine(left, node_summary(start));
                (start, *nodes) = (start + 1, *nodes + 1);
            }
            while start < end && !end.is_multiple_of(FAN_OUT) {
                (end, *nodes) = (end - 1, *nodes + 1);
                right = meaning.combine(node_summary(end), right);
            }
            if start >= end {
                break;
            }
            (start, end) = (start / FAN_OUT, end / FAN_OUT);
        }
        meaning.combine(left, right)
    }
}

/// Writes the points of a series and the pyramid over them.
pub(super) struct PointWriter {
    scratch: Scratch,
    out: BufWriter<File>,
    running: RunningValue,
    points: usize,
    rows: u64,
    extremes: (f64, f64),
}

impl PointWriter {
    pub(super) fn new(meaning: PointMeaning, room: &DerivedRoom) -> io::Result<Self> {
        let mut scratch = Scratch::new(&room.folder)?;
        let out = BufWriter::with_capacity(1 << 16, scratch.file().try_clone()?);
        Ok(Self { scratch, out, running: RunningValue::new(meaning), points: 0, rows: 0, extremes: (0.0, 0.0) })
    }

    /// Appends the points of the next parts, in which running values start at zero.
    pub(super) fn push_parts(&mut self, parts: Vec<PartPoints>) -> io::Result<()> {
        for PartPoints { mut points, rows, .. } in parts {
            let (least, most) = self.running.carry_on(&mut points);
            self.extremes = (self.extremes.0.min(least), self.extremes.1.max(most));
            self.points += points.len();
            self.rows += rows;
            self.out.write_all(bytemuck::cast_slice(&points))?;
        }
        Ok(())
    }

    /// Writes the pyramid, and maps the file.
    pub(super) fn finish(
        mut self,
        shown: ShownValue,
        bounds_ns: (i64, i64),
        cancel: &Cancel,
    ) -> Result<DerivedSeries, DerivedError> {
        self.out.flush()?;
        let Self { mut scratch, mut out, running, points, rows, extremes } = self;
        let meaning = running.meaning();
        let mut series = DerivedSeries {
            meaning,
            shown,
            bounds_ns,
            extremes,
            rows,
            map: None,
            points,
            high_words: running.into_high_words(),
            levels: Vec::new(),
        };
        if points == 0 {
            return Ok(series);
        }
        let path = scratch.path().to_owned();
        series.map = Some(Mapped::from_store(scratch.file(), &path)?);
        if meaning == PointMeaning::Durations {
            let start = points * size_of::<TimedValue>();
            let bytes = write_histograms(series.points(), &mut out, cancel)?;
            series.levels.push(start..start + bytes);
            series.map = Some(Mapped::from_store(scratch.file(), &path)?);
        }
        while meaning.has_pyramid() {
            let below = series.levels.last().map_or(points, |bytes| bytes.len() / size_of::<PointSummary>());
            if below <= FAN_OUT {
                break;
            }
            let start = series.map.as_ref().map_or(0, |map| map.len());
            for first in (0..below).step_by(NODES_AT_ONCE * FAN_OUT) {
                cancel.check()?;
                let end = (first + NODES_AT_ONCE * FAN_OUT).min(below);
                out.write_all(bytemuck::cast_slice(&series.nodes_above(first..end)))?;
            }
            out.flush()?;
            let end = start + below.div_ceil(FAN_OUT) * size_of::<PointSummary>();
            series.levels.push(start..end);
            series.map = Some(Mapped::from_store(scratch.file(), &path)?);
        }
        Ok(series)
    }
}
