//! Reads the tables of samples of a thread: its samples, and its native and JavaScript allocations.
//!
//! The weights of a table are samples, milliseconds or bytes. Negative weights belong to a separate event, as for
//! freed memory. Without a weight, a sample counts as one sample.

use serde_json::value::RawValue;

use super::{FirefoxEventBuilder, FirefoxThread};
use crate::formats::ReadError;
use crate::formats::json::document::{JsonExtent, TimeUnit};
use crate::formats::output::args::ArgsWriter;
use crate::formats::profiles::firefox::thread::FirefoxStacks;
use crate::formats::profiles::firefox::wire::{FirefoxObject, FirefoxRow, FirefoxTable};
use crate::formats::profiles::weight_scale::WeightScale;
use crate::model::sample_measure::{BYTES, NANOSECONDS, SAMPLES};
use crate::model::{Loss, SourcePos};

/// Columns that any table of samples may have.
const SAMPLE_COLUMNS: [&str; 4] = ["stack", "time", "timeDeltas", "weight"];

/// Further columns of allocations, which are arguments.
const ALLOCATION_COLUMNS: [&str; 6] = ["className", "typeName", "coarseType", "inNursery", "memoryAddress", "threadId"];

const COLUMNS: usize = SAMPLE_COLUMNS.len() + ALLOCATION_COLUMNS.len();

/// The tables of a thread that contain samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SampleKind {
    Samples,
    NativeAllocations,
    JsAllocations,
}

struct TableWeights {
    unit: Box<str>,
    scale: WeightScale,
    /// Whether the table has a column of weights.
    has_column: bool,
    /// Events of positive and of negative weights.
    events: [&'static str; 2],
}

impl SampleKind {
    fn columns(self) -> [&'static str; COLUMNS] {
        let mut columns = [""; COLUMNS];
        columns[..SAMPLE_COLUMNS.len()].copy_from_slice(&SAMPLE_COLUMNS);
        if self != Self::Samples {
            columns[SAMPLE_COLUMNS.len()..].copy_from_slice(&ALLOCATION_COLUMNS);
        }
        columns
    }

    fn weights(self, weight_type: Option<&str>, has_column: bool) -> TableWeights {
        let default = if self == Self::Samples { SAMPLES } else { BYTES };
        let (unit, scale) = match weight_type.unwrap_or(default) {
            "tracing-ms" => (NANOSECONDS, WeightScale::Time(TimeUnit::Milliseconds)),
            unit => (unit, WeightScale::Whole),
        };
        let events = match (self, unit) {
            (Self::Samples, SAMPLES) => ["", "decrease"],
            (Self::Samples, NANOSECONDS) => ["time", "time decrease"],
            (Self::Samples, _) => ["weight", "weight decrease"],
            (Self::NativeAllocations, _) => ["native allocations", "native deallocations"],
            (Self::JsAllocations, _) => ["JavaScript allocations", "JavaScript deallocations"],
        };
        TableWeights { unit: unit.into(), scale, has_column, events }
    }
}

impl FirefoxEventBuilder<'_, '_> {
    /// Adds the samples and the allocations of a thread.
    pub(super) fn samples(&mut self, thread: &FirefoxThread, stacks: &mut FirefoxStacks<'_>) -> Result<(), ReadError> {
        for (table, kind) in [
            (thread.samples, SampleKind::Samples),
            (thread.native_allocations, SampleKind::NativeAllocations),
            (thread.js_allocations, SampleKind::JsAllocations),
        ] {
            self.sample_table(thread, (table, kind), stacks)?;
        }
        Ok(())
    }

    fn sample_table(
        &mut self,
        thread: &FirefoxThread,
        (table, kind): (Option<JsonExtent>, SampleKind),
        stacks: &mut FirefoxStacks<'_>,
    ) -> Result<(), ReadError> {
        if table.is_none() {
            return Ok(());
        }
        let weights = self.table_weights(table, kind)?;
        let mut rows = FirefoxTable::open(self.document, table, kind.columns(), self.batch.losses())?;
        let (mut now_ns, mut args) = (self.offset_ns, ArgsWriter::default());
        while let Some(row) = rows.next(self.batch.losses())? {
            let Some(ts_ns) = self.next_time(now_ns, row.get(1), row.get(2)) else {
                self.batch.lose(Loss::BadTime, SourcePos::Time(now_ns));
                continue;
            };
            now_ns = ts_ns;
            let pos = SourcePos::Time(ts_ns);
            let stack = row.index(0).map(|stack| stacks.frames.stack(stack, &mut self.batch, pos));
            let detail = self.sample_detail(&row, &weights, pos, &mut args);
            let track = self.batch.track_with(&thread.key);
            self.batch.push_sample(ts_ns, track, stack.unwrap_or_default(), detail);
            self.batch.flush_if_full(self.sink, self.context)?;
        }
        Ok(())
    }

    /// Returns the measure of a table, and whether it has weights: the column may be missing or `null`.
    fn table_weights(&mut self, table: Option<JsonExtent>, kind: SampleKind) -> Result<TableWeights, ReadError> {
        let document = self.document;
        let members = FirefoxObject::read(document, table)?;
        let weight_type: Option<String> = document.value(members.get("weightType"), self.batch.losses())?;
        let has_column = match members.get("schema") {
            Some(schema) => document.pick(schema, ["weight"])?[0].is_some(),
            None => document.items(members.get("weight")).next()?.is_some(),
        };
        Ok(kind.weights(weight_type.as_deref(), has_column))
    }

    /// Stores the event, the weight and the arguments of a sample, and returns the detail index; 0 for a plain sample.
    fn sample_detail(
        &mut self,
        row: &FirefoxRow<'_, COLUMNS>,
        weights: &TableWeights,
        pos: SourcePos,
        args: &mut ArgsWriter,
    ) -> u32 {
        let TableWeights { unit, scale, has_column, events } = weights;
        args.clear();
        let weight = match row.get(3) {
            Some(text) => {
                let scaled = scale.parse(text);
                let losses = self.batch.losses();
                losses.add_many(Loss::BadNumber, pos, u64::from(scaled.is_none()));
                losses.add_many(Loss::RoundedWeight, pos, u64::from(scaled.is_some_and(|scaled| scaled.is_rounded)));
                Some(scaled.map_or(0, |scaled| scaled.weight))
            }
            // The table has no weights, or counts samples, so that each weighs one.
            None if !has_column || **unit == *SAMPLES => None,
            None => {
                self.batch.lose(Loss::BadNumber, pos);
                Some(0)
            }
        };
        let event = events[usize::from(weight.is_some_and(|weight| weight < 0))];
        if !event.is_empty() {
            args.text("event", event.as_bytes());
        }
        if let Some(weight) = weight.filter(|&weight| weight != 1 || **unit != *SAMPLES) {
            args.text("unit", unit.as_bytes());
            args.number("period", weight.unsigned_abs());
        }
        for (column, key) in (SAMPLE_COLUMNS.len()..).zip(ALLOCATION_COLUMNS) {
            let Some(text) = row.get(column) else { continue };
            match serde_json::from_slice::<&RawValue>(text) {
                Ok(value) => {
                    args.key("", key.as_bytes());
                    args.json.push_str(value.get());
                }
                Err(_) => self.batch.lose(Loss::BadRecord, pos),
            }
        }
        self.batch.args(args.finish())
    }
}
