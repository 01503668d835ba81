//! Passes rows from the nesting to the store writer. The writer packs and writes them on its own thread, because that
//! takes as long as nesting. The store does not depend on the number of threads.

use std::io;
use std::thread;

use crossbeam_channel::{Receiver, Sender, bounded};

use crate::base::threads::start_scoped;
use crate::model::TrackIdx;
use crate::store::{DetailPositions, DetailRef, LaneIdx, LaneKind, Meta, Row, Store, StoreWriter, next_lane};

/// Number of steps per batch: about 100 KiB, which fit the cache of a core.
const STEPS: usize = 2048;

/// Number of steps whose lanes are prefetched at once: a core has about as many reads in flight.
const STEPS_PREFETCHED: usize = 32;

/// Bytes of details that end a batch early.
const BLOB_BYTES: usize = 256 << 10;

/// Maximum number of queued batches: nesting continues while the writer flushes a full buffer.
const BATCHES_AHEAD: usize = 8;

/// The receiver of rows: a store writer on this thread or on another thread.
pub struct RowSink<'a>(RowTarget<'a>);

enum RowTarget<'a> {
    SameThread(&'a mut StoreWriter),
    OtherThread(Queue),
}

/// Sends steps to the writer thread.
struct Queue {
    batch: StepBatch,
    messages: Sender<WriterMessage>,
    /// Written batches, to be reused.
    spares: Receiver<StepBatch>,
    /// Latest end by lane of spans; the maximum time for other lanes.
    lane_ends_ns: Vec<i64>,
    details: DetailPositions,
}

/// Steps in order, with their details in one buffer.
#[derive(Default)]
struct StepBatch {
    steps: Vec<RowStep>,
    blobs: Vec<u8>,
}

enum RowStep {
    Lane { track: TrackIdx, kind: LaneKind, depth: u16 },
    Row { lane: LaneIdx, row: Row },
    Detail { bytes: usize },
    Unfinished { lane: LaneIdx },
}

impl RowStep {
    /// Returns the lane of a row.
    fn lane(&self) -> Option<LaneIdx> {
        match *self {
            Self::Row { lane, .. } => Some(lane),
            _ => None,
        }
    }
}

enum WriterMessage {
    Write(StepBatch),
    Preview(Box<Meta>, Sender<io::Result<Store>>),
}

impl<'a> From<&'a mut StoreWriter> for RowSink<'a> {
    fn from(writer: &'a mut StoreWriter) -> Self {
        Self(RowTarget::SameThread(writer))
    }
}

/// Runs `nest` with a sink of rows that are written to `writer`. The writes are on another thread if `threads` is 2 or
/// more and the system starts one. Returns the results of `nest` and of the writes, after all rows up to
/// [`RowSink::finish`] were written.
pub(crate) fn write_behind<R>(
    writer: &mut StoreWriter,
    threads: usize,
    nest: impl FnOnce(RowSink<'_>) -> R,
) -> (R, io::Result<()>) {
    if threads < 2 {
        return (nest(RowSink::from(writer)), Ok(()));
    }
    let written = thread::scope(|scope| {
        let (messages, waiting) = bounded(BATCHES_AHEAD);
        let (spare, spares) = bounded(BATCHES_AHEAD);
        let target = &mut *writer;
        let writing = start_scoped(scope, "write", move || write(target, &waiting, &spare));
        let Ok(writing) = writing else { return Err(nest) };
        let (batch, lane_ends_ns, details) = (StepBatch::default(), Vec::new(), DetailPositions::default());
        let nested = nest(RowSink(RowTarget::OtherThread(Queue { batch, messages, spares, lane_ends_ns, details })));
        match writing.join() {
            Ok(written) => Ok((nested, written)),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    });
    written.unwrap_or_else(|nest| (nest(RowSink::from(writer)), Ok(())))
}

fn write(writer: &mut StoreWriter, waiting: &Receiver<WriterMessage>, spare: &Sender<StepBatch>) -> io::Result<()> {
    for message in waiting {
        match message {
            WriterMessage::Write(mut batch) => {
                batch.write(writer)?;
                // Dropped if the channel is full.
                spare.try_send(batch).ok();
            }
            // The requester waits for the reply, or has failed.
            WriterMessage::Preview(meta, reply) => {
                writer.flush()?;
                drop(reply.send(writer.preview(*meta)));
            }
        }
    }
    Ok(())
}

impl StepBatch {
    fn write(&mut self, writer: &mut StoreWriter) -> io::Result<()> {
        let mut blobs = &self.blobs[..];
        for near in self.steps.chunks(STEPS_PREFETCHED) {
            writer.prefetch(near.iter().filter_map(RowStep::lane));
            // Steps are read by reference. A moved step would be copied with widths that differ from the stores of its
            // row, and store forwarding would stall on each row.
            for step in near {
                match *step {
                    RowStep::Row { lane, row } => writer.push(lane, row)?,
                    RowStep::Detail { bytes } => {
                        let (blob, rest) = blobs.split_at(bytes);
                        writer.push_detail(blob)?;
                        blobs = rest;
                    }
                    RowStep::Lane { track, kind, depth } => _ = writer.add_lane(track, kind, depth)?,
                    RowStep::Unfinished { lane } => writer.mark_unfinished(lane),
                }
            }
        }
        self.steps.clear();
        self.blobs.clear();
        Ok(())
    }
}

impl RowSink<'_> {
    /// See [`StoreWriter::add_lane`]. Returns an error beyond the maximum number of lanes.
    pub(crate) fn add_lane(&mut self, track: TrackIdx, kind: LaneKind, depth: u16) -> io::Result<LaneIdx> {
        match &mut self.0 {
            RowTarget::SameThread(writer) => writer.add_lane(track, kind, depth),
            RowTarget::OtherThread(queue) => {
                let lane = next_lane(queue.lane_ends_ns.len())?;
                queue.lane_ends_ns.push(if kind == LaneKind::Spans { i64::MIN } else { i64::MAX });
                queue.batch.steps.push(RowStep::Lane { track, kind, depth });
                Ok(lane)
            }
        }
    }

    /// See [`StoreWriter::lane_end_ns`]; for lanes of spans.
    #[must_use]
    pub(crate) fn lane_end_ns(&self, lane: LaneIdx) -> i64 {
        match &self.0 {
            RowTarget::SameThread(writer) => writer.lane_end_ns(lane),
            RowTarget::OtherThread(queue) => queue.lane_ends_ns[lane.index()],
        }
    }

    /// See [`StoreWriter::push`]. Returns the I/O error of a write; if the writer is on another thread, a placeholder
    /// for the error that [`write_behind`] returns.
    // Inlined, so that the row is built in its final position. An uninlined call would copy it right after its fields
    // were stored one by one. The stalls of store forwarding would cost a fifth of a load.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "measured; see above")]
    pub(crate) fn push(&mut self, lane: LaneIdx, row: Row) -> io::Result<()> {
        match &mut self.0 {
            RowTarget::SameThread(writer) => writer.push(lane, row),
            RowTarget::OtherThread(queue) => {
                let end_ns = &mut queue.lane_ends_ns[lane.index()];
                *end_ns = (*end_ns).max(row.start_ns.saturating_add_unsigned(row.value));
                queue.batch.steps.push(RowStep::Row { lane, row });
                if queue.batch.steps.len() >= STEPS { queue.send_batch() } else { Ok(()) }
            }
        }
    }

    /// See [`StoreWriter::push_detail`]. Errors as [`Self::push`].
    pub(crate) fn push_detail(&mut self, blob: &[u8]) -> io::Result<DetailRef> {
        match &mut self.0 {
            RowTarget::SameThread(writer) => writer.push_detail(blob),
            RowTarget::OtherThread(_) if blob.is_empty() => Ok(DetailRef(0)),
            RowTarget::OtherThread(queue) => {
                queue.batch.blobs.extend_from_slice(blob);
                queue.batch.steps.push(RowStep::Detail { bytes: blob.len() });
                if queue.batch.blobs.len() >= BLOB_BYTES {
                    queue.send_batch()?;
                }
                Ok(queue.details.next(blob))
            }
        }
    }

    pub(crate) fn mark_unfinished(&mut self, lane: LaneIdx) {
        match &mut self.0 {
            RowTarget::SameThread(writer) => writer.mark_unfinished(lane),
            RowTarget::OtherThread(queue) => queue.batch.steps.push(RowStep::Unfinished { lane }),
        }
    }

    /// See [`StoreWriter::preview`]; includes all rows pushed so far.
    ///
    /// # Errors
    /// As [`Self::push`]. An inner error concerns the preview only: the store can still be completed.
    pub(crate) fn preview(&mut self, meta: Meta) -> io::Result<io::Result<Store>> {
        match &mut self.0 {
            RowTarget::SameThread(writer) => {
                writer.flush()?;
                Ok(writer.preview(meta))
            }
            RowTarget::OtherThread(queue) => {
                queue.send_batch()?;
                let (reply, preview) = bounded(1);
                queue.messages.send(WriterMessage::Preview(Box::new(meta), reply)).map_err(|_| writer_has_stopped())?;
                preview.recv().map_err(|_| writer_has_stopped())
            }
        }
    }

    /// Sends the remaining steps. Errors as [`Self::push`].
    pub(crate) fn finish(self) -> io::Result<()> {
        match self.0 {
            RowTarget::SameThread(_) => Ok(()),
            RowTarget::OtherThread(mut queue) => queue.send_batch(),
        }
    }
}

impl Queue {
    /// Sends the batch to the writer, and takes an empty batch.
    fn send_batch(&mut self) -> io::Result<()> {
        let batch = std::mem::replace(&mut self.batch, self.spares.try_recv().unwrap_or_default());
        self.messages.send(WriterMessage::Write(batch)).map_err(|_| writer_has_stopped())
    }
}

/// The placeholder for an error of the writer thread, which returns the cause itself.
fn writer_has_stopped() -> io::Error {
    io::Error::other("the store is no longer written")
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;
    use crate::base::threads::tests::with_only;
    use crate::model::{Id, NameIdx, Registry, TrackKey, TrackKind};

    /// Writes lanes of spans. The second lane has fewer rows, and some details are large.
    fn fill(mut sink: RowSink<'_>, lane_count: u16) -> io::Result<Vec<u64>> {
        let mut seen = Vec::new();
        let lanes = (0..lane_count).map(|depth| sink.add_lane(TrackIdx(0), LaneKind::Spans, depth));
        let lanes = lanes.collect::<io::Result<Vec<_>>>()?;
        for row in 0..20_000u32 {
            let lane = if row % 3 == 0 { lanes[1] } else { lanes[row as usize * 7 % lanes.len()] };
            let blob = vec![row as u8; if row % 4000 == 1 { 100_000 } else { row as usize % 3 }];
            let DetailRef(detail) = sink.push_detail(&blob)?;
            let start_ns = i64::from(row) * 10;
            sink.push(lane, Row { start_ns, value: u64::from(row % 10), detail, name: row % 5 })?;
            seen.extend([detail, sink.lane_end_ns(lane).cast_unsigned()]);
        }
        sink.mark_unfinished(lanes[1]);
        sink.finish()?;
        Ok(seen)
    }

    fn store(threads: usize, lane_count: u16) -> (Vec<u64>, Vec<u8>) {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        let mut writer = StoreWriter::new(file.reopen().unwrap(), 1 << 20).unwrap();
        let (seen, written) = write_behind(&mut writer, threads, |sink| fill(sink, lane_count));
        written.unwrap();
        writer.finish(&Meta::default()).unwrap();
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).unwrap();
        (seen.unwrap(), bytes)
    }

    #[test]
    fn the_store_is_the_same_from_another_thread() {
        // The second number is above the limit from which lanes are prefetched.
        for lane_count in [2, 10_000] {
            let (here, elsewhere) = (store(1, lane_count), store(2, lane_count));
            assert_eq!(here.0, elsewhere.0, "details and ends of lanes");
            assert!(here.1 == elsewhere.1, "all bytes");
            let refused = with_only(0, || store(2, lane_count));
            assert!(here.1 == refused.1, "all bytes, if the system refuses the thread");
        }
    }

    #[test]
    fn a_preview_has_all_rows_that_were_pushed_before_it() {
        let mut writer = StoreWriter::new(tempfile::tempfile().unwrap(), 1 << 20).unwrap();
        let mut tracks = Registry::default();
        let (kind, pid, tid) = (TrackKind::Thread, Id::Number(1), Id::Number(1));
        tracks.track(&TrackKey::new(kind, pid, tid));
        let meta = Meta { tracks: tracks.tables().clone(), ..Meta::default() };
        let (rows, written) = write_behind(&mut writer, 2, |mut sink| {
            let lane = sink.add_lane(TrackIdx(0), LaneKind::Spans, 0).unwrap();
            let count = STEPS as i64 + 7;
            for start_ns in 0..count {
                sink.push(lane, Row { start_ns, name: NameIdx::EMPTY.0, ..Row::default() }).unwrap();
            }
            let store = sink.preview(meta).unwrap().unwrap();
            (store.lane(LaneIdx(0)).rows(), count)
        });
        written.unwrap();
        assert_eq!(rows.0, rows.1.cast_unsigned());
    }
}
