//! Checks for cancellation and for a full batch once per 1,024 events, because an event takes only some nanoseconds.

use crate::formats::output::batch::BatchBuilder;
use crate::formats::{BatchSink, ReadContext, ReadError};

const EVENTS_PER_CHECK: u32 = 1024;

/// The number of events since the last check.
#[derive(Debug, Default)]
pub(super) struct EventCheck(u32);

impl EventCheck {
    /// Counts an event. Returns an error if reading is cancelled, or if the batch cannot be emitted.
    pub(super) fn count(
        &mut self,
        batch: &mut BatchBuilder,
        sink: &mut dyn BatchSink,
        context: &ReadContext,
    ) -> Result<(), ReadError> {
        self.0 += 1;
        if self.0 < EVENTS_PER_CHECK {
            return Ok(());
        }
        self.0 = 0;
        context.cancel.check()?;
        batch.flush_if_full(sink, context)
    }
}
