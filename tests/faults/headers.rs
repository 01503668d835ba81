//! Loads a native trace with single flipped bits in its chunk headers. Each flip is tested with the old checksum, which
//! detects it. It is also tested with a new checksum, so that only the rest of the trace contradicts it.

use std::fs;
use std::mem::offset_of;
use std::path::Path;

use longspan::facade::base::budget::Memory;
use longspan::facade::formats::native::wire::{ChunkHeader, ChunkKind, FileHeader};
use longspan::facade::ingest::CachePolicy;

use crate::harness::{Line, folder, is_part_of, lines, load, native_trace, options};

const HEADER_BYTES: usize = size_of::<ChunkHeader>();

/// Returns the headers of a trace with their offsets.
fn headers(trace: &[u8]) -> Vec<(usize, ChunkHeader)> {
    let mut found = Vec::new();
    let mut offset = FileHeader::BYTES as usize;
    while let Some(bytes) = trace.get(offset..offset + HEADER_BYTES) {
        let header: ChunkHeader = bytemuck::pod_read_unaligned(bytes);
        if !header.is_whole() {
            break;
        }
        found.push((offset, header));
        offset += header.stride_bytes() as usize;
    }
    found
}

/// Sorts rows, to compare them as multisets.
fn sorted(mut lines: Vec<Line>) -> Vec<Line> {
    // If an end is lost, its span may end elsewhere, so only the presence of spans is compared.
    lines.iter_mut().for_each(|line| (line.value, line.depth, line.unfinished) = (0, 0, false));
    lines.sort();
    lines
}

/// Loads the result of `alter` for each bit of the headers of `kind`. Requires the events of other chunks, and a
/// counted loss for all missing ones. Bits that match `hides_others` may cost other chunks too, but must be counted.
fn flip_each_bit(kind: ChunkKind, alter: impl Fn(&mut Vec<u8>, usize, usize), hides_others: impl Fn(usize) -> bool) {
    let folder = folder();
    let whole_file = fs::read(native_trace(folder.path(), 1500)).expect("written");
    let file = folder.path().join("altered.longspan");
    let memory = longspan::facade::ingest::LoadOptions {
        memory: Memory::new(1 << 26),
        cache: CachePolicy::None,
        ..options(None)
    };
    let load_bytes = |bytes: &[u8], file: &Path| {
        fs::write(file, bytes).expect("written");
        load(file, &memory)
    };
    let headers = headers(&whole_file);
    let of_kind: Vec<_> = headers.iter().filter(|(_, header)| header.kind() == Some(kind)).collect();
    let &&(offset, header) = of_kind.get(of_kind.len() / 2).expect("a chunk of each kind");
    let whole = sorted(lines(&load_bytes(&whole_file, &file).expect("loads").store));

    // The rows without the chunk: the minimum after any damage to its header.
    let mut without = whole_file.clone();
    without[offset..offset + header.stride_bytes() as usize].fill(0);
    let least = load_bytes(&without, &file).map(|loaded| sorted(lines(&loaded.store))).unwrap_or_default();
    for bit in 0..HEADER_BYTES * 8 {
        let mut altered = whole_file.clone();
        alter(&mut altered, offset, bit);
        let Ok(loaded) = load_bytes(&altered, &file) else { continue };
        let found = sorted(lines(&loaded.store));
        assert!(hides_others(bit) || is_part_of(&least, &found), "bit {bit} loses events of other chunks");
        assert!(found.len() <= whole.len(), "bit {bit} makes events up");
        let losses = &loaded.store.meta().losses;
        assert!(found == whole || !losses.is_empty(), "bit {bit} loses {} rows silently", whole.len() - found.len());
    }
}

fn flip(trace: &mut [u8], offset: usize, bit: usize) {
    trace[offset + bit / 8] ^= 1 << (bit % 8);
}

/// Flips a bit and updates the checksum. Removes the directory, which has a copy of the header.
fn lie(trace: &mut Vec<u8>, offset: usize, bit: usize) {
    flip(trace, offset, bit);
    let mut header: ChunkHeader = bytemuck::pod_read_unaligned(&trace[offset..offset + HEADER_BYTES]);
    header.seal();
    trace[offset..offset + HEADER_BYTES].copy_from_slice(bytemuck::bytes_of(&header));
    let directory = headers(trace).into_iter().rfind(|(_, header)| header.kind() == Some(ChunkKind::Directory));
    if let Some((directory, _)) = directory {
        trace.truncate(directory);
    }
}

#[test]
fn a_flipped_bit_in_an_event_chunk_header_costs_at_most_that_chunk_and_is_counted() {
    flip_each_bit(ChunkKind::Events, |trace, offset, bit| flip(trace, offset, bit), |_| false);
}

#[test]
fn a_flipped_bit_in_a_table_chunk_header_is_counted() {
    flip_each_bit(ChunkKind::Tables, |trace, offset, bit| flip(trace, offset, bit), |_| false);
}

#[test]
fn a_flipped_bit_in_the_directory_chunk_header_is_counted() {
    flip_each_bit(ChunkKind::Directory, |trace, offset, bit| flip(trace, offset, bit), |_| false);
}

#[test]
fn a_false_event_chunk_header_with_a_valid_checksum_is_counted() {
    // Without a directory, the sequence number and the length of this chunk determine the positions of later ones.
    let field = |start: usize| start * 8..(start + 4) * 8;
    let (sequence, length) = (field(offset_of!(ChunkHeader, sequence)), field(offset_of!(ChunkHeader, payload_bytes)));
    flip_each_bit(ChunkKind::Events, lie, |bit| sequence.contains(&bit) || length.contains(&bit));
}
