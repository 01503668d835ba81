//! Emits the batches of a trace, each with the units of its new counters.

use super::tracks::PerfettoTracks;
use crate::formats::ReadError;
use crate::formats::output::batch::BatchBuilder;
use crate::model::Batch;

pub(super) type EmitBatch<'h> = &'h mut dyn FnMut(Batch) -> Result<(), ReadError>;

/// Takes the batch with the units of its new counters.
pub(super) fn take_batch(batch: &mut BatchBuilder, tracks: &mut PerfettoTracks) -> Batch {
    batch.extend_metadata(tracks.take_units());
    batch.take_batch()
}

/// Emits the batch if it is full.
pub(super) fn emit_if_full(
    batch: &mut BatchBuilder,
    tracks: &mut PerfettoTracks,
    emit: EmitBatch<'_>,
) -> Result<(), ReadError> {
    if batch.is_full() { emit(take_batch(batch, tracks)) } else { Ok(()) }
}
