//! The points of a curve in a mapped file, with a pyramid of summaries over them: what a range of points comes to is
//! known after some nodes of each level. Knows no rows.

use std::fs::File;
use std::io::{self, BufWriter, Write as _};
use std::ops::Range;

use bytemuck::{Pod, Zeroable};
use rayon::prelude::*;

use super::entries::TimedValue;
use super::histograms::write_histograms;
use super::room::{DerivedError, DerivedRoom};
use super::running::{PointMeaning, RunningValue};
use crate::base::cancel::Cancel;
use crate::base::mapped::Mapped;
use crate::base::temporary::Scratch;

/// Points under a node of the first level, and nodes under each node above.
pub(super) const FAN_OUT: usize = 16;

/// Nodes that are made between two looks at the request to stop.
const NODES_AT_ONCE: usize = 64 * 1024;

/// The points of a part of the time, and how many rows they are of. Running values begin at zero in each part.
#[derive(Debug, Default)]
pub(super) struct PartPoints {
    pub(super) points: Vec<TimedValue>,
    pub(super) rows: u64,
    /// The rows that were judged.
    pub(super) judged: u64,
}

/// The summary of some points.
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

    /// The summary of a point by itself.
    pub(super) fn summary(self, point: TimedValue) -> PointSummary {
        PointSummary::from_value(match self {
            Self::Sum | Self::Level => f64::from_bits(point.value),
            Self::RowsSoFar | Self::Open | Self::OpenTime | Self::Longest | Self::Durations => point.value as f64,
        })
    }

    /// Whether a range of points is answered by nodes above them.
    fn has_pyramid(self) -> bool {
        match self {
            Self::Open | Self::Longest | Self::Sum | Self::Level => true,
            // Those are differences of two points, and of two sums of histograms.
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

/// The part of its points that the columns of a series show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ShownValue {
    /// The values.
    Plain,
    /// Counts for each second.
    PerSecond,
    /// The duration that so many of a hundred do not exceed.
    Quantile(u8),
}

/// The curve of a derived track: points in order of time, no two of one time but of durations. Any
/// thread can ask it.
#[derive(Debug)]
pub(crate) struct DerivedSeries {
    pub(super) meaning: PointMeaning,
    /// The part of its points that columns show.
    pub(super) shown: ShownValue,
    /// The time that it is about: its first nanosecond, and its last.
    pub(super) bounds_ns: (i64, i64),
    /// The smallest value that it ever has at one point, or 0, and the largest.
    extremes: (f64, f64),
    /// How many rows took part.
    pub(super) rows: u64,
    /// `None`: there are no points.
    map: Option<Mapped>,
    points: usize,
    /// The bytes of each level of the pyramid, from the finest.
    levels: Vec<Range<usize>>,
}

impl DerivedSeries {
    pub(super) fn points(&self) -> &[TimedValue] {
        let bytes = self.map.as_ref().map_or(&[][..], |map| &map[..self.points * size_of::<TimedValue>()]);
        bytemuck::try_cast_slice(bytes).unwrap_or_default()
    }

    fn level(&self, level: usize) -> &[PointSummary] {
        let bytes = self.map.as_ref().zip(self.levels.get(level)).map_or(&[][..], |(map, range)| &map[range.clone()]);
        bytemuck::try_cast_slice(bytes).unwrap_or_default()
    }

    /// Bounds of the columns of every width, where there are any: of what has a value at a time, of the time that spans
    /// are open, and of the longest durations. Counts and sums grow with the width.
    #[must_use]
    pub(crate) fn steady_range(&self) -> Option<(f64, f64)> {
        match self.meaning {
            PointMeaning::Open | PointMeaning::Longest | PointMeaning::Level => Some(self.extremes),
            // In percent, where all that are ever open at once are open all the time.
            PointMeaning::OpenTime => Some((0.0, self.extremes.1 * 100.0)),
            PointMeaning::RowsSoFar | PointMeaning::Sum | PointMeaning::Durations => None,
        }
    }

    /// The first time of the series, and the last.
    #[must_use]
    pub(crate) fn bounds_ns(&self) -> (i64, i64) {
        self.bounds_ns
    }

    /// Whether columns of many spans come from histograms.
    #[must_use]
    pub(crate) fn is_of_quantiles(&self) -> bool {
        self.meaning == PointMeaning::Durations
    }

    /// How many rows took part in it.
    #[must_use]
    pub(crate) fn rows(&self) -> u64 {
        self.rows
    }

    /// The bytes of its file.
    #[cfg(test)]
    #[must_use]
    pub(crate) fn bytes(&self) -> u64 {
        self.map.as_ref().map_or(0, |map| map.len() as u64)
    }

    /// The sums of histograms over durations.
    pub(super) fn histograms(&self) -> &[u64] {
        let bytes = self.map.as_ref().zip(self.levels.first()).map_or(&[][..], |(map, range)| &map[range.clone()]);
        bytemuck::try_cast_slice(bytes).unwrap_or_default()
    }

    /// The nodes above some of the last level, or of the points.
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

    /// The summary of the points of a range. `nodes` counts the points and nodes that were looked at.
    ///
    /// The slow answer: all points of the range, combined one by one.
    pub(super) fn summary(&self, range: Range<usize>, nodes: &mut u64) -> PointSummary {
        let Range { mut start, mut end } = range;
        let meaning = self.meaning;
        let (mut left, mut right) = (meaning.nothing(), meaning.nothing());
        // The level below the first is that of the points.
        for level in 0..=self.levels.len() {
            let points = self.points();
            let at = |index: usize| match level.checked_sub(1) {
                None => points.get(index).map(|&point| meaning.summary(point)),
                Some(level) => self.level(level).get(index).copied(),
            };
            let at = |index| at(index).unwrap_or(meaning.nothing());
            let is_last = level == self.levels.len();
            while start < end && (is_last || !start.is_multiple_of(FAN_OUT)) {
                left = meaning.combine(left, at(start));
                (start, *nodes) = (start + 1, *nodes + 1);
            }
            while start < end && !end.is_multiple_of(FAN_OUT) {
                (end, *nodes) = (end - 1, *nodes + 1);
                right = meaning.combine(at(end), right);
            }
            if start >= end {
                break;
            }
            (start, end) = (start / FAN_OUT, end / FAN_OUT);
        }
        meaning.combine(left, right)
    }
}

/// Writes the points of a series, and the pyramid over them.
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

    /// Takes the points of parts that follow those before; running values begin at zero in each.
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

    /// Writes what is above the points, and maps the file.
    pub(super) fn finish(
        mut self,
        shown: ShownValue,
        bounds_ns: (i64, i64),
        cancel: &Cancel,
    ) -> Result<DerivedSeries, DerivedError> {
        self.out.flush()?;
        let Self { mut scratch, mut out, running, points, rows, extremes } = self;
        let meaning = running.meaning();
        let mut series =
            DerivedSeries { meaning, shown, bounds_ns, extremes, rows, map: None, points, levels: Vec::new() };
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
