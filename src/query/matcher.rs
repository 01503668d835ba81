//! A filter as it applies to one capture: names and tracks are judged once each, so that a row costs a look at a bit.

use std::ops::RangeInclusive;

use serde_json::Value;

use super::filter::{Filter, Test, TextTest};
use super::snapshot::Snapshot;
use crate::model::args::Detail;
use crate::model::{NameIdx, TrackIdx};
use crate::store::block::{BLOCK_ROWS, Block};
use crate::store::details::DetailReader;
use crate::store::signature::NameSignature;
use crate::store::{DetailRef, LaneKind, Store};

/// A filter that is ready to be asked of rows.
#[derive(Debug, Clone)]
pub struct Matcher {
    names: Option<NameSet>,
    /// Whether each track passes; `None`: all do.
    tracks: Option<Vec<bool>>,
    /// Bounds in nanoseconds, both included.
    durations: RangeInclusive<u64>,
    /// Ranges of which none may hold a row's duration.
    not_durations: Vec<RangeInclusive<u64>>,
    arguments: Vec<ArgumentTest>,
}

/// Some of the names of a capture.
#[derive(Debug, Clone)]
struct NameSet {
    /// One bit for each name.
    bits: Vec<u64>,
    /// The smallest and the largest of them; the other way round if there are none.
    bounds: (u32, u32),
    signature: NameSignature,
}

#[derive(Debug, Clone)]
struct ArgumentTest {
    path: Vec<String>,
    test: TextTest,
    negated: bool,
}

impl Matcher {
    /// Resolves a filter against a capture. The work grows with its names and tracks, not with its rows.
    #[must_use]
    pub fn new(snapshot: &Snapshot, filter: &Filter) -> Self {
        let mut names: Option<Vec<bool>> = None;
        let mut tracks: Option<Vec<bool>> = None;
        let mut matcher = Self {
            names: None,
            tracks: None,
            durations: 0..=u64::MAX,
            not_durations: Vec::new(),
            arguments: Vec::new(),
        };
        for term in &filter.terms {
            match &term.test {
                Test::Name(test) => narrow(&mut names, snapshot.names().len(), |name| {
                    test.holds(snapshot.names().get(NameIdx(name)).text) != term.negated
                }),
                Test::Category(test) => narrow(&mut names, snapshot.names().len(), |name| {
                    let category = snapshot.names().get(NameIdx(name)).category;
                    category.is_some_and(|category| test.holds(category)) != term.negated
                }),
                Test::Thread(test) => narrow(&mut tracks, snapshot.tracks().tracks.len(), |track| {
                    let track = snapshot.track(TrackIdx(track));
                    (test.holds(&track.name) || test.holds(&track.key.tid.to_string())) != term.negated
                }),
                Test::Process(test) => narrow(&mut tracks, snapshot.tracks().tracks.len(), |track| {
                    let process = &snapshot.tracks().processes[snapshot.track(TrackIdx(track)).process.index()];
                    (test.holds(&process.name) || test.holds(&process.pid.to_string())) != term.negated
                }),
                Test::Duration(range) if term.negated => matcher.not_durations.push(range.clone()),
                Test::Duration(range) => {
                    let (least, most) =
                        (range.start().max(matcher.durations.start()), range.end().min(matcher.durations.end()));
                    matcher.durations = *least..=*most;
                }
                Test::Argument { path, test } => {
                    let (path, test, negated) = (path.clone(), test.clone(), term.negated);
                    matcher.arguments.push(ArgumentTest { path, test, negated });
                }
            }
        }
        matcher.names = names.map(|names| NameSet::new(&names));
        matcher.tracks = tracks;
        matcher
    }

    /// The same for rows of one name and no other.
    #[must_use]
    pub(crate) fn and_name(mut self, name: NameIdx) -> Self {
        let alone = self.has_name(name);
        let mut names = vec![false; name.index() + 1];
        names[name.index()] = alone;
        self.names = Some(NameSet::new(&names));
        self
    }

    /// Whether every row of a lane whose track matches does.
    #[must_use]
    pub(crate) fn is_every_row_of_lane(&self) -> bool {
        self.names.is_none() && self.are_all_durations() && self.arguments.is_empty()
    }

    /// Whether rows of a track may match.
    #[must_use]
    pub(crate) fn has_track(&self, track: TrackIdx) -> bool {
        self.tracks.as_ref().is_none_or(|tracks| tracks.get(track.index()).copied().unwrap_or(false))
    }

    /// Whether rows of a name may match.
    #[must_use]
    pub(crate) fn has_name(&self, name: NameIdx) -> bool {
        self.names.as_ref().is_none_or(|names| names.has(name.0))
    }

    /// Whether rows of a duration may match.
    #[must_use]
    pub(crate) fn has_duration(&self, dur_ns: u64) -> bool {
        self.durations.contains(&dur_ns) && !self.not_durations.iter().any(|range| range.contains(&dur_ns))
    }

    /// Whether rows must be read to know whether they match.
    #[must_use]
    pub(crate) fn asks_arguments(&self) -> bool {
        !self.arguments.is_empty()
    }

    /// Whether an extent may hold a row that matches, by the signature of its names and its longest duration.
    #[must_use]
    pub(crate) fn may_be_in(&self, kind: LaneKind, signature: &[u64], longest_ns: u64) -> bool {
        let long_enough = kind != LaneKind::Spans || longest_ns >= *self.durations.start();
        let is_named = |names: &NameSet| !names.is_empty() && names.signature.may_meet(signature);
        long_enough && !self.durations.is_empty() && self.names.as_ref().is_none_or(is_named)
    }

    /// The rows of a block that match, one bit each.
    ///
    /// The slow answer: a bit for each row whose name, duration and arguments pass every term.
    #[must_use]
    pub(crate) fn rows_of(&self, block: &Block<'_>, kind: LaneKind, store: &Store, reader: &mut DetailReader) -> u64 {
        let mut mask = u64::MAX >> (BLOCK_ROWS - block.rows());
        if let Some(names) = &self.names {
            mask &= names.rows_of(block);
        }
        if mask != 0 && !self.are_all_durations() {
            let mut values = [0; BLOCK_ROWS];
            if kind == LaneKind::Spans {
                block.values(&mut values);
            }
            mask &= mask_of(&values[..block.rows()], |&dur_ns| self.has_duration(dur_ns));
        }
        if !self.arguments.is_empty() {
            let mut left = mask;
            while left != 0 {
                let row = left.trailing_zeros();
                left &= left - 1;
                let blob = store.detail(DetailRef(block.detail(row as usize)), reader);
                if !self.arguments.iter().all(|argument| argument.holds(Detail::decode(blob).args_json)) {
                    mask &= !(1 << row);
                }
            }
        }
        mask
    }

    fn are_all_durations(&self) -> bool {
        self.durations == (0..=u64::MAX) && self.not_durations.is_empty()
    }
}

impl NameSet {
    fn new(names: &[bool]) -> Self {
        let mut bits = vec![0u64; names.len().div_ceil(64)];
        let held = || (0u32..).zip(names).filter(|(_, held)| **held).map(|(name, _)| name);
        held().for_each(|name| bits[name as usize / 64] |= 1 << (name % 64));
        let bounds = (held().next().unwrap_or(u32::MAX), held().last().unwrap_or(0));
        Self { bits, bounds, signature: held().map(NameIdx).collect() }
    }

    fn is_empty(&self) -> bool {
        self.bounds.0 > self.bounds.1
    }

    fn has(&self, name: u32) -> bool {
        self.bits.get(name as usize / 64).is_some_and(|word| word >> (name % 64) & 1 != 0)
    }

    fn rows_of(&self, block: &Block<'_>) -> u64 {
        let (least, most) = block.name_bounds();
        if most < self.bounds.0 || least > self.bounds.1 {
            return 0;
        }
        if least == most {
            return if self.has(least) { u64::MAX } else { 0 };
        }
        let mut names = [0; BLOCK_ROWS];
        block.names(&mut names);
        mask_of(&names[..block.rows()], |&name| self.has(name as u32))
    }
}

impl ArgumentTest {
    fn holds(&self, args_json: &str) -> bool {
        let found = serde_json::from_str::<Value>(args_json).ok();
        let value = self.path.iter().try_fold(found.as_ref(), |value, member| Some(value?.get(member)));
        let passes = match value.flatten() {
            Some(Value::String(text)) => self.test.holds(text),
            Some(other) => self.test.holds(&other.to_string()),
            None => false,
        };
        passes != self.negated
    }
}

/// Keeps of `0..count` what was kept before and holds.
fn narrow(kept: &mut Option<Vec<bool>>, count: usize, holds: impl Fn(u32) -> bool) {
    let kept = kept.get_or_insert_with(|| vec![true; count]);
    for (index, kept) in (0..).zip(kept) {
        *kept = *kept && holds(index);
    }
}

fn mask_of<T>(values: &[T], holds: impl Fn(&T) -> bool) -> u64 {
    values.iter().rev().fold(0, |mask, value| mask << 1 | u64::from(holds(value)))
}
