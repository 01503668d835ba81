//! Entries in order of time, whatever their number: sorted in memory as far as that has room, beyond it written as
//! sorted runs and merged. Knows nothing of what they are.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::io::{self, Write as _};
use std::ops::Range;
use std::path::PathBuf;

use bytemuck::{Pod, Zeroable};
use rayon::prelude::*;

use crate::base::cancel::{Cancel, Cancelled};
use crate::base::mapped::Mapped;
use crate::base::temporary::Scratch;

/// Entries between two looks at the request to stop.
const ENTRIES_BETWEEN_CHECKS: u64 = 64 * 1024;

/// A value at a time. Entries of one time are in order of their values, so that sums are the same in every run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Pod, Zeroable)]
#[repr(C)]
pub(super) struct TimedValue {
    pub(super) ts_ns: i64,
    pub(super) value: u64,
}

/// Takes entries in any order, and gives them back in order.
pub(super) struct EntrySorter {
    folder: PathBuf,
    held: Vec<TimedValue>,
    held_max: usize,
    /// Sorted runs in a file, by the indices of their entries.
    runs: Option<(Scratch, Vec<Range<usize>>)>,
}

impl EntrySorter {
    /// Holds at most `held_bytes` in memory, and writes the rest to a file in `folder`.
    pub(super) fn new(folder: PathBuf, held_bytes: u64) -> Self {
        let held_max = (held_bytes as usize / size_of::<TimedValue>()).max(1);
        Self { folder, held: Vec::new(), held_max, runs: None }
    }

    /// Takes entries; fails where a run cannot be written.
    pub(super) fn extend(&mut self, mut entries: &[TimedValue]) -> io::Result<()> {
        while !entries.is_empty() {
            let room = self.held_max - self.held.len();
            let (fits, rest) = entries.split_at(room.min(entries.len()));
            self.held.extend_from_slice(fits);
            entries = rest;
            if self.held.len() == self.held_max {
                self.write_run()?;
            }
        }
        Ok(())
    }

    fn write_run(&mut self) -> io::Result<()> {
        self.held.par_sort_unstable();
        let (mut scratch, mut runs) = match self.runs.take() {
            Some(runs) => runs,
            None => (Scratch::new(&self.folder)?, Vec::new()),
        };
        scratch.file().write_all(bytemuck::cast_slice(&self.held))?;
        let start = runs.last().map_or(0, |run: &Range<usize>| run.end);
        runs.push(start..start + self.held.len());
        self.runs = Some((scratch, runs));
        self.held.clear();
        Ok(())
    }

    /// Calls `take` for each entry in order, until it fails or the work is to stop.
    pub(super) fn merge<E: From<io::Error> + From<Cancelled>>(
        mut self,
        cancel: &Cancel,
        mut take: impl FnMut(TimedValue) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut count = 0u64;
        let mut take = |entry| {
            if count.is_multiple_of(ENTRIES_BETWEEN_CHECKS) {
                cancel.check()?;
            }
            count += 1;
            take(entry)
        };
        if self.runs.is_none() {
            self.held.par_sort_unstable();
            return self.held.iter().try_for_each(|&entry| take(entry));
        }
        if !self.held.is_empty() {
            self.write_run()?;
        }
        drop(std::mem::take(&mut self.held));
        let Some((mut scratch, mut runs)) = self.runs.take() else { return Ok(()) };
        let path = scratch.path().to_owned();
        let map = Mapped::from_store(scratch.file(), &path)?;
        let entries: &[TimedValue] =
            bytemuck::try_cast_slice(&map).map_err(|_| io::Error::from(io::ErrorKind::InvalidData))?;
        let mut heads = BinaryHeap::with_capacity(runs.len());
        for (number, run) in runs.iter_mut().enumerate() {
            heads.extend(entries.get(run.start).map(|&entry| Reverse((entry, number))));
            run.start += 1;
        }
        while let Some(mut head) = heads.peek_mut() {
            let Reverse((entry, number)) = *head;
            take(entry)?;
            let run = &mut runs[number];
            if run.start < run.end {
                *head = Reverse((entries[run.start], number));
                run.start += 1;
            } else {
                PeekMut::pop(head);
            }
        }
        Ok(())
    }
}
