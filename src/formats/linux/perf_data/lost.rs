//! Counts the samples that the kernel or perf lost. The kernel reports them where they are missing. Since version 6.1,
//! perf repeats the sum of each event at the end, in records without a time.

use super::wire::kind;
use crate::base::bytes::ByteCursor;
use crate::formats::output::batch::BatchBuilder;
use crate::model::{Loss, SourcePos};

/// The records that were lost so far.
#[derive(Debug, Default)]
pub(super) struct LostRecords {
    /// Count of the records in the order of time.
    reported: u64,
    /// Count of the sums at the end.
    summed: u64,
    /// Position of the first sum.
    first_sum: Option<SourcePos>,
}

impl LostRecords {
    /// Handles a record that reports losses; ignores others. `time_ns` is its own time, if it has one. Returns `None`
    /// if it is damaged.
    pub(super) fn add(
        &mut self,
        (kind, body): (u32, &[u8]),
        time_ns: Option<i64>,
        pos: SourcePos,
        batch: &mut BatchBuilder,
    ) -> Option<()> {
        let mut front = ByteCursor(body);
        let count = match kind {
            kind::LOST => {
                front.u64()?;
                front.u64()?
            }
            kind::LOST_SAMPLES => front.u64()?,
            _ => return Some(()),
        };
        if kind == kind::LOST_SAMPLES && time_ns.unwrap_or(0) == 0 {
            self.summed = self.summed.saturating_add(count);
            self.first_sum.get_or_insert(pos);
            return Some(());
        }
        if kind == kind::LOST {
            self.reported = self.reported.saturating_add(count);
        }
        batch.losses().add_many(Loss::RecorderLost, pos, count);
        Some(())
    }

    /// Adds the part of the sums that no record has reported, at the end of the trace.
    pub(super) fn finish(&mut self, batch: &mut BatchBuilder) {
        let Self { reported, summed, first_sum } = std::mem::take(self);
        let Some(pos) = first_sum.filter(|_| summed > reported) else { return };
        batch.losses().add_many(Loss::RecorderLost, pos, summed - reported);
    }
}
