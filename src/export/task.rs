//! The common loop of all formats: visits the rows of an excerpt, counts them, and checks for cancellation.

use std::io::Write;

use super::derived::{DerivedValues, exported_counters};
use super::error::SinkError;
use super::excerpt::Excerpt;
use super::format::ExportFormat;
use super::options::ExportOptions;
use super::read_ahead::{RowBatch, each_batch_of_rows};
use super::source_stacks::ExportedStacks;
use crate::base::cancel::{Cancel, Cancelled};
use crate::base::progress::{Progress, Stage};
use crate::model::{Details, Event, EventKind, TrackTables};
use crate::query::Snapshot;
use crate::store::LaneKind;

/// The counts of an export.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ExportReport {
    /// Spans written, including unfinished ones.
    pub spans: u64,
    /// Written spans outside of the exported part that flows connect to it, and their ancestors.
    pub connected_spans: u64,
    /// Instants written, including instants of async tracks.
    pub instants: u64,
    /// Counter values written, including values of derived tracks.
    pub counters: u64,
    /// Points of flows written, not whole flows.
    pub flows: u64,
    /// Samples written. Samples left out do not count.
    pub samples: u64,
    /// Samples of events beyond the limit of a pprof profile, which are not written.
    pub samples_left_out: u64,
    /// Values and durations beyond the largest number of the format, which is written instead.
    pub values_capped: u64,
    /// Nanoseconds added to all times, so that none is before 0.
    pub moved_ns: u64,
    /// Bytes of all files written.
    pub bytes: u64,
}

impl ExportReport {
    fn count(&mut self, kind: EventKind) {
        let count = match kind {
            EventKind::Instant => &mut self.instants,
            EventKind::Counter => &mut self.counters,
            EventKind::FlowStart | EventKind::FlowStep | EventKind::FlowEnd => &mut self.flows,
            EventKind::Sample => &mut self.samples,
            _ => &mut self.spans,
        };
        *count += 1;
    }

    /// Returns sentences about values and times that differ from the trace.
    pub(crate) fn notes(&self) -> impl Iterator<Item = String> {
        let moved_text = format!("times are {} ns later, because a Perfetto trace has none before 0", self.moved_ns);
        capped_text(self.values_capped).into_iter().chain((self.moved_ns > 0).then_some(moved_text))
    }

    pub(super) fn plus(self, other: Self) -> Self {
        Self {
            spans: self.spans + other.spans,
            connected_spans: self.connected_spans + other.connected_spans,
            instants: self.instants + other.instants,
            counters: self.counters + other.counters,
            flows: self.flows + other.flows,
            samples: self.samples + other.samples,
            samples_left_out: self.samples_left_out + other.samples_left_out,
            values_capped: self.values_capped + other.values_capped,
            moved_ns: self.moved_ns.max(other.moved_ns),
            bytes: self.bytes + other.bytes,
        }
    }
}

/// Describes values that are above the maximum of a pprof profile or of Parquet; `None` without any.
pub(crate) fn capped_text(values: u64) -> Option<String> {
    let (ending, are) = if values == 1 { ("", "is") } else { ("s", "are") };
    (values > 0).then(|| format!("{values} value{ending} {are} written as 2^63 - 1, the maximum of the format"))
}

/// An export in progress: its snapshot, its progress, and its cancellation.
pub(super) struct Task<'a> {
    pub(super) snapshot: &'a Snapshot,
    /// The tables of the trace, with the derived tracks of this export.
    pub(super) tables: &'a TrackTables,
    pub(super) stacks: &'a ExportedStacks<'a>,
    pub(super) cancel: &'a Cancel,
    pub(super) progress: &'a Progress,
}

/// Rows between two checks for cancellation: some milliseconds.
const ROWS_BETWEEN_CHECKS: usize = 16 * 1024;

impl Task<'_> {
    /// Selects the rows and starts the stage in the progress.
    pub(super) fn begin(&self, options: &ExportOptions) -> Result<Excerpt, Cancelled> {
        let mut excerpt = Excerpt::new(self.snapshot, options, self.cancel)?;
        if options.format.has_counters() {
            excerpt.derived = exported_counters(self.tables, &options.derived, excerpt.range);
        }
        if matches!(options.format, ExportFormat::Csv { .. }) {
            excerpt = excerpt.only_spans(self.snapshot);
        }
        self.progress.begin(Stage::Exporting, excerpt.count(self.snapshot));
        Ok(excerpt)
    }

    /// Calls `take` for each row in time order, with an event and the blob of its details. Returns the counts.
    pub(super) fn each_event(
        &self,
        excerpt: &Excerpt,
        mut take: impl FnMut(&Event, &[u8]) -> Result<(), SinkError>,
    ) -> Result<ExportReport, SinkError> {
        self.each_batch(excerpt, |events, details| {
            events.iter().try_for_each(|event| take(&Event { detail: 0, ..*event }, details.blob(event.detail)))
        })
    }

    /// Calls `take` for the rows in time order, as events with their details. Returns the counts.
    pub(super) fn each_batch(
        &self,
        excerpt: &Excerpt,
        mut take: impl FnMut(&[Event], &Details) -> Result<(), SinkError>,
    ) -> Result<ExportReport, SinkError> {
        let connected = excerpt.outside.iter().filter(|row| row.kind == LaneKind::Spans).count();
        let mut report = ExportReport { connected_spans: connected as u64, ..ExportReport::default() };
        let mut count = |events: &[Event], details: &Details| -> Result<(), SinkError> {
            for events in events.chunks(ROWS_BETWEEN_CHECKS) {
                take(events, details)?;
                events.iter().for_each(|event| report.count(event.kind));
                self.progress.advance(events.len() as u64);
                self.progress.add_events(events.len() as u64);
                self.cancel.check()?;
            }
            Ok(())
        };
        let mut derived = DerivedValues::new(&excerpt.derived);
        each_batch_of_rows(self.snapshot, excerpt, |RowBatch { mut events, details }| {
            self.stacks.map_samples(&mut events);
            if excerpt.derived.is_empty() {
                return count(&events, &details);
            }
            for event in events {
                while let Some(value) = derived.next_until(event.ts_ns) {
                    count(&[value], &Details::default())?;
                }
                count(&[event], &details)?;
            }
            Ok(())
        })?;
        while let Some(value) = derived.next_until(i64::MAX) {
            count(&[value], &Details::default())?;
        }
        Ok(report)
    }
}

/// The writer of any output, as a trait object.
pub(super) type Out<'a> = &'a mut dyn Write;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capped_values_are_said_in_full_sentences() {
        assert_eq!(capped_text(0), None);
        for (values, start) in [(1, "1 value is written as 2^63 - 1, "), (2, "2 values are written as 2^63 - 1, ")] {
            assert!(capped_text(values).is_some_and(|text| text.starts_with(start)), "{:?}", capped_text(values));
        }
    }
}
