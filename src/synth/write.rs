//! Writes generated captures. Generation and compression run at the same time; the bytes do not depend on how.

use std::io::{self, Write};
use std::sync::mpsc;

use rayon::prelude::*;

use super::Synth;
use crate::formats::chrome_json::write::ChromeJsonWriter;
use crate::formats::native::write::{EncodedChunk, NativeWriter, WriteError};
use crate::model::{Chunk, Losses, Stacks};

/// Chunks that are encoded at once, and at most as many more that wait: some 64 MiB at 2 MiB each.
const CHUNKS_AT_ONCE: usize = 16;

/// Writes the capture in the native format and returns what it was written to.
///
/// # Errors
/// What the system says.
pub fn write_native<W: Write>(synth: &Synth, out: W) -> Result<W, WriteError> {
    let mut writer = NativeWriter::new(out, false)?;
    writer.write_tables(synth.names(), synth.tracks())?;
    let (chunks, made) = mpsc::sync_channel::<Chunk>(CHUNKS_AT_ONCE);
    std::thread::scope(|scope| {
        // The generator stops when the receiver is gone, which happens when the disk is full.
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

/// Writes the capture as Chrome JSON and returns what it was written to.
///
/// # Errors
/// What the system says.
pub fn write_chrome_json<W: Write>(synth: &Synth, out: W) -> io::Result<W> {
    let mut writer = ChromeJsonWriter::new(out, synth.names(), &Stacks::default(), synth.tracks())?;
    synth.generate(&mut |chunk| {
        chunk.events.iter().try_for_each(|event| writer.event(event, chunk.details.blob(event.detail)))
    })?;
    writer.finish()
}
