//! The points of a curve in a mapped file, with a pyramid of summaries over them: what a range of points comes to is
//! known after some nodes of each level. Knows no rows.

use std::fs::File;
use std::io::{self, BufWriter, Write as _};
use std::ops::Range;

use bytemuck::{Pod, Zeroable};
use rayon::prelude::*;

use super::entries::TimedValue;
use super::room::{DerivedError, DerivedRoom};
use crate::base::cancel::Cancel;
use crate::base::mapped::Mapped;
use crate::base::temporary::Scratch;

/// Points under a node of the first level, and nodes under each node above.
pub(super) const FAN_OUT: usize = 16;

/// Nodes that are made between two looks at the request to stop.
const NODES_AT_ONCE: usize = 64 * 1024;

/// The meaning of the values of points.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PointMeaning {
    /// How many rows start at that time or before.
    RowsSoFar,
    /// How many spans are open from that time on.
    Open,
    /// The longest duration of the spans that start then.
    Longest,
    /// The bits of the sum of the values then.
    Sum,
}

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
            Self::Sum => f64::from_bits(point.value),
            Self::RowsSoFar | Self::Open | Self::Longest => point.value as f64,
        })
    }

    /// The value of two rows of one time.
    pub(super) fn together(self, one: u64, other: u64) -> u64 {
        match self {
            Self::Sum => (f64::from_bits(one) + f64::from_bits(other)).to_bits(),
            Self::Longest => one.max(other),
            // An end is the same as one less.
            Self::RowsSoFar | Self::Open => one.wrapping_add(other),
        }
    }

    /// Whether the value of a point holds those of all before it.
    fn is_running(self) -> bool {
        matches!(self, Self::RowsSoFar | Self::Open)
    }

    pub(super) fn combine(self, one: PointSummary, other: PointSummary) -> PointSummary {
        if self == Self::Sum {
            return PointSummary::from_value(one.least + other.least);
        }
        PointSummary { least: one.least.min(other.least), most: one.most.max(other.most) }
    }
}

/// The curve of a derived track: points in order of time, no two of one time. Any thread can ask it.
#[derive(Debug)]
pub(crate) struct DerivedSeries {
    pub(super) meaning: PointMeaning,
    /// Whether its counts are shown for each second.
    pub(super) is_rate: bool,
    /// The time that it is about: its first nanosecond, and its last.
    pub(super) bounds_ns: (i64, i64),
    /// The largest value that it ever has at one point.
    largest: f64,
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

    /// The largest value at one point; 0 where there is none above.
    #[must_use]
    pub(crate) fn largest(&self) -> f64 {
        self.largest
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
    meaning: PointMeaning,
    points: usize,
    rows: u64,
    largest: f64,
    /// The value after the points so far, where they are running ones.
    running: u64,
}

impl PointWriter {
    pub(super) fn new(meaning: PointMeaning, room: &DerivedRoom) -> io::Result<Self> {
        let mut scratch = Scratch::new(&room.folder)?;
        let out = BufWriter::with_capacity(1 << 16, scratch.file().try_clone()?);
        Ok(Self { scratch, out, meaning, points: 0, rows: 0, largest: 0.0, running: 0 })
    }

    /// Takes the points of parts that follow those before; running values begin at zero in each.
    pub(super) fn push_parts(&mut self, parts: Vec<PartPoints>) -> io::Result<()> {
        for PartPoints { mut points, rows, .. } in parts {
            if self.meaning.is_running() {
                points.iter_mut().for_each(|point| point.value = point.value.wrapping_add(self.running));
                self.running = points.last().map_or(self.running, |last| last.value);
            }
            let most = points.iter().map(|&point| self.meaning.summary(point).most);
            self.largest = most.fold(self.largest, f64::max);
            self.points += points.len();
            self.rows += rows;
            self.out.write_all(bytemuck::cast_slice(&points))?;
        }
        Ok(())
    }

    /// Writes the pyramid and maps the file.
    pub(super) fn finish(
        mut self,
        is_rate: bool,
        bounds_ns: (i64, i64),
        cancel: &Cancel,
    ) -> Result<DerivedSeries, DerivedError> {
        self.out.flush()?;
        let Self { mut scratch, mut out, meaning, points, rows, largest, .. } = self;
        let mut series =
            DerivedSeries { meaning, is_rate, bounds_ns, largest, rows, map: None, points, levels: Vec::new() };
        if points == 0 {
            return Ok(series);
        }
        let path = scratch.path().to_owned();
        loop {
            series.map = Some(Mapped::from_store(scratch.file(), &path)?);
            let below = series.levels.last().map_or(points, |bytes| bytes.len() / size_of::<PointSummary>());
            // Sums of counts are differences of two points.
            if below <= FAN_OUT || meaning == PointMeaning::RowsSoFar {
                return Ok(series);
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
        }
    }
}
