//! Writes generated traces chunk by chunk, so that memory does not grow with them. Generation and compression run
//! concurrently; the bytes are deterministic.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::{self, Write};
use std::sync::mpsc;

use rayon::prelude::*;

use super::event::event;
use super::{Synth, SynthOptions};
use crate::formats::chrome::write::ChromeJsonWriter;
use crate::formats::native::write::{EncodedChunk, NativeWriter, WriteError};
use crate::formats::perfetto::write::{PerfettoWriter, WrittenTrace};
use crate::model::args::Detail;
use crate::model::frame_sources::FrameSources;
use crate::model::{Chunk, Event, EventKind, Losses, NameIdx, Stacks, TrackIdx};

/// Chunks encoded at once, with as many more queued: about 64 MiB at 2 MiB each.
const CHUNKS_AT_ONCE: usize = 16;

/// Writes the trace in the native format and returns `out`.
///
/// # Errors
/// Returns the I/O error of `out`.
pub fn write_native<W: Write>(synth: &Synth, out: W) -> Result<W, WriteError> {
    let mut writer = NativeWriter::new(out, false)?;
    writer.write_tables(synth.names(), synth.tracks())?;
    let (chunks, made) = mpsc::sync_channel::<Chunk>(CHUNKS_AT_ONCE);
    std::thread::scope(|scope| {
        // Owned here, so that it is dropped before the scope waits: a failed write then ends the generator as well.
        let made = made;
        let producer = scope.spawn(move || synth.produce(&mut |chunk| chunks.send(chunk).is_ok()));
        while let Ok(first) = made.recv() {
            let mut batch = vec![first];
            batch.extend(made.try_iter().take(CHUNKS_AT_ONCE - 1));
            let encoded: Vec<_> = batch.par_iter().map(EncodedChunk::new).collect();
            for chunk in encoded {
                writer.write_encoded(&chunk?)?;
            }
        }
        match producer.join() {
            Ok(produced) => produced?,
            Err(panic) => std::panic::resume_unwind(panic),
        }
        writer.finish(&Losses::default())
    })
}

/// Writes the trace as Chrome JSON and returns `out`.
///
/// # Errors
/// Returns the I/O error of `out`.
pub fn write_chrome_json<W: Write>(synth: &Synth, out: W) -> io::Result<W> {
    let stacks = Stacks::default();
    let mut writer = ChromeJsonWriter::new(out, synth.names(), (&stacks, FrameSources::NONE), synth.tracks())?;
    each_event(synth, |event, blob| writer.event(event, blob))?;
    writer.finish()
}

/// Writes the trace as Perfetto protobuf and returns `out`. A span is a begin and an end there, which pair up by time,
/// and at one time by their order. So begins stray, and every end is in its place, before the begins at its time.
///
/// # Errors
/// Returns I/O errors, and [`io::ErrorKind::Unsupported`] for anything but spans, which would have to be sorted.
pub fn write_perfetto<W: Write>(synth: &Synth, out: W) -> io::Result<W> {
    let stacks = Stacks::default();
    let mut writer = PerfettoWriter::new(out, WrittenTrace::whole(synth.names(), &stacks, synth.tracks()), 0)?;
    let in_order = Synth::new(SynthOptions { disorder: 0.0, ..synth.options.clone() });
    let (chunks, made) = mpsc::sync_channel::<Chunk>(CHUNKS_AT_ONCE);
    std::thread::scope(|scope| {
        // Ends when the receiver is dropped.
        scope.spawn(move || in_order.produce(&mut |chunk| chunks.send(chunk).is_ok()));
        let mut ends = Ends { made, chunk: Vec::new().into_iter(), next: None, open: BinaryHeap::new() };
        each_event(synth, |event, blob| {
            if event.kind != EventKind::Complete {
                return Err(io::Error::new(io::ErrorKind::Unsupported, "only spans can be written unsorted"));
            }
            ends.write_until(event.ts_ns, &mut writer)?;
            writer.begin(event, 0, &Detail::decode(blob), &[])
        })?;
        ends.write_until(i64::MAX, &mut writer)
    })?;
    writer.finish()
}

/// The ends of all spans, which are written in time order. Only the ends of open spans are in memory.
struct Ends {
    /// The spans in time order.
    made: mpsc::Receiver<Chunk>,
    chunk: std::vec::IntoIter<Event>,
    next: Option<Event>,
    /// Ends and tracks; the order of two ends at one time of one track does not matter.
    open: BinaryHeap<Reverse<(i64, TrackIdx)>>,
}

impl Ends {
    /// Writes the pending ends up to a time.
    fn write_until<W: Write>(&mut self, ts_ns: i64, writer: &mut PerfettoWriter<'_, W>) -> io::Result<()> {
        while let Some(span) = self.next.take().or_else(|| self.next_span()) {
            if span.ts_ns > ts_ns {
                self.next = Some(span);
                break;
            }
            self.open.push(Reverse((span.end_ns(), span.track)));
        }
        while let Some(&Reverse((end_ns, track))) = self.open.peek()
            && end_ns <= ts_ns
        {
            self.open.pop();
            writer.end(&event(EventKind::End, end_ns, track, NameIdx::EMPTY), 0, None, &[])?;
        }
        Ok(())
    }

    fn next_span(&mut self) -> Option<Event> {
        loop {
            if let Some(span) = self.chunk.next() {
                return Some(span);
            }
            self.chunk = self.made.recv().ok()?.events.into_iter();
        }
    }
}

/// Passes all events with the blobs of their details, in trace order.
fn each_event(synth: &Synth, mut write: impl FnMut(&Event, &[u8]) -> io::Result<()>) -> io::Result<()> {
    let mut written = Ok(());
    synth.produce(&mut |chunk| {
        written = chunk.events.iter().try_for_each(|event| write(event, chunk.details.blob(event.detail)));
        written.is_ok()
    })?;
    written
}
