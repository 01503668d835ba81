//! Shuffles all events of a trace of any size: the worst case for a sort that expects nearly sorted input.
//!
//! Each event goes to a random partition, and each partition is then shuffled in memory: together a uniformly random
//! permutation. Partitions are stored in an unnamed temporary file.

use std::fs::File;
use std::io;

use super::random::Random;
use crate::base::files;
use crate::formats::native::write::CHUNK_EVENTS;
use crate::model::{Chunk, Event};

/// Number of partitions: for 10^9 events, each takes 156 MB in the file.
const PARTITIONS: usize = 256;

/// Bytes buffered per partition: 64 MiB for all together.
const BUFFER_BYTES: usize = 256 * 1024;

/// Takes events and returns them in random order.
#[derive(Debug)]
pub(super) struct Shuffle {
    random: Random,
    file: File,
    end: u64,
    partitions: Vec<Partition>,
}

#[derive(Debug, Default)]
struct Partition {
    buffer: Vec<u8>,
    blocks: Vec<(u64, usize)>,
}

impl Shuffle {
    /// Creates an empty shuffle; equal seeds give equal orders. Returns an error if no temporary file can be created.
    pub(super) fn new(seed: u64) -> io::Result<Self> {
        let partitions = (0..PARTITIONS).map(|_| Partition::default()).collect();
        let file = tempfile::tempfile().map_err(|error| of_temporary(&error))?;
        Ok(Self { random: Random::new(seed, u64::MAX - 1), file, end: 0, partitions })
    }

    /// Adds the events of a chunk. Returns the I/O error of a failed write.
    pub(super) fn push(&mut self, chunk: &Chunk) -> io::Result<()> {
        for event in &chunk.events {
            let partition = &mut self.partitions[self.random.below(PARTITIONS as u64) as usize];
            let blob = chunk.details.blob(event.detail);
            partition.buffer.extend_from_slice(bytemuck::bytes_of(event));
            partition.buffer.extend_from_slice(&(blob.len() as u64).to_le_bytes());
            partition.buffer.extend_from_slice(blob);
            if partition.buffer.len() >= BUFFER_BYTES {
                files::write_all_at(&self.file, &partition.buffer, self.end).map_err(|error| of_temporary(&error))?;
                partition.blocks.push((self.end, partition.buffer.len()));
                self.end += partition.buffer.len() as u64;
                partition.buffer.clear();
            }
        }
        Ok(())
    }

    /// Passes all events to `sink`, chunk by chunk, until it returns false. Returns the I/O error of a failed read.
    pub(super) fn finish(mut self, sink: &mut dyn FnMut(Chunk) -> bool) -> io::Result<()> {
        let mut chunk = Chunk::default();
        for Partition { buffer, blocks } in std::mem::take(&mut self.partitions) {
            let mut bytes = Vec::with_capacity(blocks.iter().map(|block| block.1).sum::<usize>() + buffer.len());
            for (offset, length) in blocks {
                let start = bytes.len();
                bytes.resize(start + length, 0);
                files::read_exact_at(&self.file, &mut bytes[start..], offset).map_err(|error| of_temporary(&error))?;
            }
            bytes.extend_from_slice(&buffer);
            let mut events = parse(&bytes);
            for index in (1..events.len()).rev() {
                events.swap(index, self.random.below(index as u64 + 1) as usize);
            }
            for (event, blob) in events {
                let detail = if blob.is_empty() { 0 } else { chunk.details.push_blob(blob) };
                chunk.events.push(Event { detail, ..event });
                if chunk.events.len() == CHUNK_EVENTS && !sink(std::mem::take(&mut chunk)) {
                    return Ok(());
                }
            }
        }
        if !chunk.events.is_empty() {
            sink(chunk);
        }
        Ok(())
    }
}

/// Adds the folder to an error of the temporary file, which would be taken for one of the output.
fn of_temporary(error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("the temporary folder {}: {error}", std::env::temp_dir().display()))
}

/// Decodes the events of a partition with their details.
fn parse(mut bytes: &[u8]) -> Vec<(Event, &[u8])> {
    let mut events = Vec::new();
    while let Some((fixed, rest)) = bytes.split_at_checked(size_of::<Event>())
        && let Ok(event) = bytemuck::checked::try_pod_read_unaligned(fixed)
        && let Some((length, rest)) = rest.split_first_chunk::<8>()
        && let Some((blob, rest)) = rest.split_at_checked(u64::from_le_bytes(*length) as usize)
    {
        events.push((event, blob));
        bytes = rest;
    }
    events
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synth::{Synth, SynthOptions};

    #[test]
    fn all_events_come_out_once_with_their_details_and_in_no_order() {
        let synth = Synth::new(SynthOptions { spans: 150_000, ..SynthOptions::demo() });
        let seen = |chunk: &Chunk| -> Vec<_> {
            chunk
                .events
                .iter()
                .map(|event| (event.ts_ns, event.value, event.name, chunk.details.blob(event.detail).to_vec()))
                .collect()
        };
        let mut shuffle = Shuffle::new(1).unwrap();
        let (mut before, mut after) = (Vec::new(), Vec::new());
        synth
            .generate(&mut |chunk| {
                before.extend(seen(&chunk));
                shuffle.push(&chunk)
            })
            .unwrap();
        shuffle
            .finish(&mut |chunk| {
                after.extend(seen(&chunk));
                true
            })
            .unwrap();
        let falls = after.windows(2).filter(|pair| pair[1].0 < pair[0].0).count();
        assert!(falls > after.len() * 2 / 5, "half of all steps go back in a random order, {falls} do");
        before.sort_unstable();
        after.sort_unstable();
        assert_eq!(before, after);
    }
}
