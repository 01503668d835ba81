//! Samples in the spill file, for traces whose charts do not fit in memory. They are drawn at the end of the trace,
//! chart by chart, with one chart in memory at a time.

use std::io;

use crate::ingest::flame::{DrawnChart, FlameChart, TimedStack};
use crate::ingest::spill::SpillFile;
use crate::ingest::tie_sort::{SortedTies, TieSorter, TieSpill, Tied};
use crate::model::{Event, EventKind, NameIdx, StackIdx, TrackIdx};

/// Collects samples in time order.
#[derive(Debug)]
pub(super) struct SampleSpill<'a> {
    file: &'a SpillFile,
    /// Sorts by chart number, which is stored as the track.
    sorter: TieSorter<'a>,
}

/// The samples by chart, each in time order.
pub(super) struct SpilledSamples<'a> {
    file: &'a SpillFile,
    sorted: SortedTies<'a>,
    next: Option<Tied>,
}

/// The next record of a chart.
pub(super) enum Spilled {
    /// The chart of the samples that were not spilled. It comes first.
    Chart(FlameChart),
    Sample(TimedStack),
}

impl<'a> SampleSpill<'a> {
    /// Creates a collection that takes about `bytes` of memory.
    pub(super) fn within(file: &'a SpillFile, bytes: u64) -> Self {
        Self { file, sorter: TieSorter::by_key(TieSpill::within(file, bytes), |tied| tied.event.track.0.into()) }
    }

    /// Adds a sample. Fails with the I/O error of the file.
    pub(super) fn push(&mut self, chart: u32, sample: TimedStack) -> io::Result<()> {
        self.sorter.push(record(chart, sample.ts_ns, sample.stack, [sample.period_ns, 0]))
    }

    /// Adds the state of a chart. Fails as [`Self::push`] does.
    pub(super) fn push_chart(&mut self, chart: u32, so_far: FlameChart) -> io::Result<()> {
        let samples = match so_far {
            FlameChart::Empty => return Ok(()),
            FlameChart::One(ts_ns, stack) => vec![TimedStack { ts_ns, stack, period_ns: TimedStack::NO_PERIOD }],
            FlameChart::Few(samples) => samples.to_vec(),
            FlameChart::Drawn(drawn) => {
                let bytes = drawn.to_bytes()?;
                let offset = self.file.write_bytes(&bytes)?;
                return self.sorter.push(record(chart, 0, StackIdx::EMPTY, [offset, bytes.len() as u64]));
            }
        };
        samples.into_iter().try_for_each(|sample| self.push(chart, sample))
    }

    /// Returns all samples. Fails as [`Self::push`] does.
    pub(super) fn into_samples(self) -> io::Result<SpilledSamples<'a>> {
        let mut sorted = self.sorter.sorted()?;
        let next = sorted.next()?;
        Ok(SpilledSamples { file: self.file, sorted, next })
    }
}

fn record(chart: u32, ts_ns: i64, StackIdx(stack): StackIdx, [blob_start, blob_bytes]: [u64; 2]) -> Tied {
    let event = Event::at(ts_ns, TrackIdx(chart), NameIdx::EMPTY);
    Tied { event: Event { kind: EventKind::Sample, value: stack.into(), ..event }, blob_start, blob_bytes }
}

impl SpilledSamples<'_> {
    /// Returns the next record of a chart; charts must come in order. Fails with the I/O error of the file.
    pub(super) fn next_of(&mut self, chart: u32) -> io::Result<Option<Spilled>> {
        let Some(Tied { event, blob_start, blob_bytes }) = self.next.filter(|next| next.event.track.0 == chart) else {
            return Ok(None);
        };
        self.next = self.sorted.next()?;
        if blob_bytes > 0 {
            let mut bytes = vec![0; usize::try_from(blob_bytes).map_err(io::Error::other)?];
            self.file.read_bytes(&mut bytes, blob_start)?;
            return Ok(Some(Spilled::Chart(FlameChart::Drawn(Box::new(DrawnChart::from_bytes(&bytes)?)))));
        }
        let stack = StackIdx::from_value(event.value);
        Ok(Some(Spilled::Sample(TimedStack { ts_ns: event.ts_ns, stack, period_ns: blob_start })))
    }
}
