//! A chunk as columns: the payload of an event chunk, and of a run that the sort spills. Pure functions between a
//! [`Chunk`] and bytes; knows nothing of files, and refuses what would not fit [`DECODED_BYTES_MAX`].
//!
//! Each field of the events is cut into planes of one byte each (all lowest bytes, then all second bytes), because the
//! high bytes of neighbouring events are alike and the low ones are noise: apart, the first compress to almost nothing
//! and the second are copied. A plane whose bytes are all equal is not stored at all. Measured beside rows of the same
//! events under the same compressor: half the bytes, and a fraction of the time to read them back.
//!
//! | bytes | what |
//! |---|---|
//! | 0..64 | the `Prefix`: counts, which planes are stored, the bytes of those that are not |
//! | 64.. | the stored planes in the order of `WIDTHS`, the stored planes of the detail lengths, the detail bytes |
//!
//! From byte 64 on the payload is compressed with zstd when that makes it smaller. Times are kept as the zigzag of the
//! wrapping step from the event before, which is exact over the whole of `i64`; details as the step from the last one.

use bytemuck::{Pod, Zeroable};

use crate::model::{Chunk, Details, Event, EventFlags, EventKind, NameIdx, TrackIdx};

/// The most bytes that a chunk may take in memory, so that no capture can make its reader run out of it.
pub const DECODED_BYTES_MAX: u64 = 64 << 20;

/// How many planes each column has: time, value, track, name, detail, depth, kind, flags.
const WIDTHS: [u32; 8] = [8, 8, 4, 4, 4, 2, 1, 1];
const TS: usize = 0;
const VALUE: usize = 1;
const TRACK: usize = 2;
const NAME: usize = 3;
const DETAIL: usize = 4;
const DEPTH: usize = 5;
const KIND: usize = 6;
const FLAGS: usize = 7;
const PLANES: usize = 32;
const LENGTH_PLANES: usize = 4;

/// Events that are turned at once: their columns take 16 KiB, half of a first-level cache.
const BLOCK_EVENTS: usize = 256;

/// The level at which compression still outruns the disk; higher ones gain a few percent here and cost several times.
const ZSTD_LEVEL: i32 = 1;

const CODEC_RAW: u8 = 0;
const CODEC_ZSTD: u8 = 1;

/// Every kind of event, at the place of its byte.
const KINDS: [EventKind; 13] = [
    EventKind::Complete,
    EventKind::Begin,
    EventKind::End,
    EventKind::Instant,
    EventKind::Counter,
    EventKind::AsyncBegin,
    EventKind::AsyncEnd,
    EventKind::AsyncInstant,
    EventKind::AsyncStepInto,
    EventKind::AsyncStepPast,
    EventKind::FlowStart,
    EventKind::FlowStep,
    EventKind::FlowEnd,
];

const _: () = {
    let mut kind = 0;
    while kind < KINDS.len() {
        assert!(KINDS[kind] as usize == kind, "each kind stands at the place of its byte");
        kind += 1;
    }
};

/// What stands before the planes. Little-endian.
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Prefix {
    first_ts_ns: i64,
    event_count: u32,
    detail_count: u32,
    detail_bytes: u32,
    /// Bit `p`: plane `p` of the events is stored.
    stored: u32,
    /// The byte of each plane of the events that is not stored.
    constants: [u8; PLANES],
    /// The same for the planes of the detail lengths.
    length_constants: [u8; LENGTH_PLANES],
    /// Bit `p`: plane `p` of the detail lengths is stored.
    lengths_stored: u8,
    codec: u8,
    reserved: [u8; 2],
}

const PREFIX_BYTES: usize = size_of::<Prefix>();
const _: () = assert!(PREFIX_BYTES == 64, "the table above says so, and no field is padded");
const _: () = assert!(cfg!(target_endian = "little"), "captures are little-endian and cast in place");

/// Why bytes are not a payload, or a chunk cannot become one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the fields are named as the message shows them")]
pub enum ColumnsError {
    /// Fewer bytes than the prefix takes.
    #[error("a payload of {have} bytes, which has at least {need}")]
    TooShort { need: usize, have: usize },
    /// The chunk would take too much memory.
    #[error("a chunk of {bytes} bytes in memory, above the limit of {limit}")]
    TooLarge { bytes: u64, limit: u64 },
    /// The planes are not as many bytes as the prefix says.
    #[error("columns of {have} bytes where the counts say {need}")]
    Length { need: u64, have: u64 },
    /// A byte that says how the planes are compressed, and is neither raw nor zstd.
    #[error("codec {0}, which is not known")]
    UnknownCodec(u8),
    /// A byte that says what an event is, and is none of its kinds.
    #[error("event kind {0}, which is not known")]
    UnknownKind(u64),
    /// The compressed planes do not decompress.
    #[error("damaged compressed columns")]
    Damaged,
}

/// The bytes of a chunk.
///
/// # Errors
/// [`ColumnsError::TooLarge`] if the chunk is larger than [`decode`] would accept.
pub fn encode(chunk: &Chunk) -> Result<Vec<u8>, ColumnsError> {
    let bytes_in_memory = decoded_bytes(chunk.events.len(), chunk.details.ends.len(), chunk.details.bytes.len());
    let too_large = ColumnsError::TooLarge { bytes: bytes_in_memory, limit: DECODED_BYTES_MAX };
    let count = |len: usize| u32::try_from(len).map_err(|_| too_large.clone());
    if bytes_in_memory > DECODED_BYTES_MAX {
        return Err(too_large);
    }

    let mut prefix = Prefix::zeroed();
    prefix.event_count = count(chunk.events.len())?;
    prefix.detail_count = count(chunk.details.ends.len())?;
    prefix.detail_bytes = count(chunk.details.bytes.len())?;
    prefix.first_ts_ns = chunk.events.first().map_or(0, |event| event.ts_ns);

    let (first, differ) = varying_bits(&chunk.events);
    for_each_plane(|plane, column, shift| {
        prefix.constants[plane] = byte_at(first[column], shift);
        prefix.stored |= u32::from(byte_at(differ[column], shift) != 0) << plane;
    });
    let mut body = Vec::new();
    encode_events(&chunk.events, prefix.stored, &mut body);
    encode_details(&chunk.details, &mut prefix, &mut body);

    let mut bytes = Vec::with_capacity(PREFIX_BYTES + zstd::zstd_safe::compress_bound(body.len()));
    bytes.extend_from_slice(bytemuck::bytes_of(&prefix));
    bytes.resize(bytes.capacity(), 0);
    match zstd::bulk::compress_to_buffer(&body, &mut bytes[PREFIX_BYTES..], ZSTD_LEVEL) {
        Ok(compressed) if compressed < body.len() => {
            bytes.truncate(PREFIX_BYTES + compressed);
            prefix.codec = CODEC_ZSTD;
        }
        _ => {
            bytes.truncate(PREFIX_BYTES);
            bytes.extend_from_slice(&body);
            prefix.codec = CODEC_RAW;
        }
    }
    bytes[..PREFIX_BYTES].copy_from_slice(bytemuck::bytes_of(&prefix));
    Ok(bytes)
}

/// The chunk that [`encode`] made these bytes of.
///
/// # Errors
/// A [`ColumnsError`] for bytes that are no such chunk. Never takes more memory than a few times
/// [`DECODED_BYTES_MAX`], whatever the bytes say.
pub fn decode(bytes: &[u8]) -> Result<Chunk, ColumnsError> {
    let too_short = ColumnsError::TooShort { need: PREFIX_BYTES, have: bytes.len() };
    let (prefix, body) = bytes.split_at_checked(PREFIX_BYTES).ok_or(too_short)?;
    let prefix: Prefix = bytemuck::pod_read_unaligned(prefix);
    let [events, details, detail_bytes] =
        [prefix.event_count, prefix.detail_count, prefix.detail_bytes].map(|count| count as usize);

    let in_memory = decoded_bytes(events, details, detail_bytes);
    if in_memory > DECODED_BYTES_MAX {
        return Err(ColumnsError::TooLarge { bytes: in_memory, limit: DECODED_BYTES_MAX });
    }
    let length_planes = prefix.lengths_stored & ((1 << LENGTH_PLANES) - 1);
    let planes_bytes = prefix.stored.count_ones() as usize * events;
    let need = planes_bytes + length_planes.count_ones() as usize * details + detail_bytes;

    let decompressed;
    let body = match prefix.codec {
        CODEC_RAW => body,
        CODEC_ZSTD => {
            decompressed = zstd::bulk::decompress(body, need).map_err(|_| ColumnsError::Damaged)?;
            &decompressed
        }
        unknown => return Err(ColumnsError::UnknownCodec(unknown)),
    };
    if body.len() != need {
        return Err(ColumnsError::Length { need: need as u64, have: body.len() as u64 });
    }
    let (planes, detail_columns) = body.split_at(planes_bytes);
    Ok(Chunk {
        events: decode_events(&prefix, planes)?,
        details: decode_details(&prefix, length_planes, detail_columns),
        max_lateness_ns: 0,
    })
}

/// Bytes in memory of a chunk with these counts.
#[must_use]
pub fn decoded_bytes(events: usize, details: usize, detail_bytes: usize) -> u64 {
    let bytes = events as u128 * size_of::<Event>() as u128 + details as u128 * 4 + detail_bytes as u128;
    u64::try_from(bytes).unwrap_or(u64::MAX)
}

/// One word of each column for each event of a block.
type Block = [[u64; BLOCK_EVENTS]; WIDTHS.len()];

/// What a column's words lean on from one event to the next.
struct Before {
    ts_ns: i64,
    detail: u32,
}

impl Before {
    fn words(&mut self, event: &Event) -> [u64; WIDTHS.len()] {
        let step = event.ts_ns.wrapping_sub(self.ts_ns);
        self.ts_ns = event.ts_ns;
        [
            zigzag(step),
            event.value,
            u64::from(event.track.0),
            u64::from(event.name.0),
            u64::from(self.detail_step(event.detail)),
            u64::from(event.depth),
            event.kind as u64,
            u64::from(event.flags.0),
        ]
    }

    /// The wrapping step from the last detail, except that "no detail" is 0: the two change places.
    fn detail_step(&mut self, detail: u32) -> u32 {
        if detail == 0 {
            return 0;
        }
        let step = detail.wrapping_sub(self.detail);
        let swapped = if step == 0 { self.detail.wrapping_neg() } else { step };
        self.detail = detail;
        swapped
    }

    fn detail(&mut self, step: u32) -> u32 {
        if step == 0 {
            return 0;
        }
        let detail = self.detail.wrapping_add(step);
        // A step onto 0 stands for no step at all.
        if detail != 0 {
            self.detail = detail;
        }
        self.detail
    }
}

/// Calls `each` with every plane of the events, its column, and how far its byte is shifted in the column's word.
fn for_each_plane(mut each: impl FnMut(usize, usize, u32)) {
    let mut plane = 0;
    for (column, width) in WIDTHS.into_iter().enumerate() {
        for byte in 0..width {
            each(plane, column, byte * 8);
            plane += 1;
        }
    }
}

/// The first event's words, and in which bits any other differs from them.
fn varying_bits(events: &[Event]) -> ([u64; WIDTHS.len()], [u64; WIDTHS.len()]) {
    let Some(first) = events.first() else { return Default::default() };
    let mut before = Before { ts_ns: first.ts_ns, detail: 0 };
    let first = before.words(first);
    let mut differ = [0; WIDTHS.len()];
    for event in &events[1..] {
        for (differ, (word, first)) in differ.iter_mut().zip(before.words(event).into_iter().zip(first)) {
            *differ |= word ^ first;
        }
    }
    (first, differ)
}

fn encode_events(events: &[Event], stored: u32, body: &mut Vec<u8>) {
    body.resize(stored.count_ones() as usize * events.len(), 0);
    let mut before = Before { ts_ns: events.first().map_or(0, |event| event.ts_ns), detail: 0 };
    let mut words: Box<Block> = Box::new([[0; BLOCK_EVENTS]; WIDTHS.len()]);
    for (block, rows) in events.chunks(BLOCK_EVENTS).enumerate() {
        for (row, event) in rows.iter().enumerate() {
            for (column, word) in before.words(event).into_iter().enumerate() {
                words[column][row] = word;
            }
        }
        let mut start = block * BLOCK_EVENTS;
        for_each_plane(|plane, column, shift| {
            if stored >> plane & 1 == 1 {
                for (byte, word) in body[start..start + rows.len()].iter_mut().zip(&words[column]) {
                    *byte = byte_at(*word, shift);
                }
                start += events.len();
            }
        });
    }
}

fn decode_events(prefix: &Prefix, planes: &[u8]) -> Result<Vec<Event>, ColumnsError> {
    let count = prefix.event_count as usize;
    let mut events = Vec::with_capacity(count);
    let mut before = Before { ts_ns: prefix.first_ts_ns, detail: 0 };
    let mut constants = [0u64; WIDTHS.len()];
    for_each_plane(|plane, column, shift| {
        if prefix.stored >> plane & 1 == 0 {
            constants[column] |= u64::from(prefix.constants[plane]) << shift;
        }
    });
    let mut words: Box<Block> = Box::new([[0; BLOCK_EVENTS]; WIDTHS.len()]);
    for first in (0..count).step_by(BLOCK_EVENTS) {
        let rows = BLOCK_EVENTS.min(count - first);
        for (column, constant) in words.iter_mut().zip(constants) {
            column.fill(constant);
        }
        let mut start = first;
        for_each_plane(|plane, column, shift| {
            if prefix.stored >> plane & 1 == 1 {
                for (word, byte) in words[column].iter_mut().zip(&planes[start..start + rows]) {
                    *word |= u64::from(*byte) << shift;
                }
                start += count;
            }
        });
        if let Some(&unknown) = words[KIND][..rows].iter().find(|&&kind| kind >= KINDS.len() as u64) {
            return Err(ColumnsError::UnknownKind(unknown));
        }
        events.extend((0..rows).map(|row| {
            let word = |column: usize| words[column][row];
            before.ts_ns = before.ts_ns.wrapping_add(unzigzag(word(TS)));
            Event {
                ts_ns: before.ts_ns,
                value: word(VALUE),
                track: TrackIdx(low_half(word(TRACK))),
                name: NameIdx(low_half(word(NAME))),
                detail: before.detail(low_half(word(DETAIL))),
                depth: (word(DEPTH) & 0xffff) as u16,
                kind: KINDS[word(KIND) as usize % KINDS.len()],
                flags: EventFlags(byte_at(word(FLAGS), 0)),
            }
        }));
    }
    Ok(events)
}

/// The lengths of the details, cut into planes like the events, and their bytes as they are.
fn encode_details(details: &Details, prefix: &mut Prefix, body: &mut Vec<u8>) {
    let mut before = 0u32;
    let lengths: Vec<u32> =
        details.ends.iter().map(|&end| end.wrapping_sub(std::mem::replace(&mut before, end))).collect();
    let first = lengths.first().copied().unwrap_or(0);
    let differ = lengths.iter().fold(0, |differ, length| differ | (length ^ first));
    prefix.length_constants = first.to_le_bytes();
    for (plane, differ) in differ.to_le_bytes().into_iter().enumerate() {
        if differ != 0 {
            prefix.lengths_stored |= 1 << plane;
            body.extend(lengths.iter().map(|length| length.to_le_bytes()[plane]));
        }
    }
    body.extend_from_slice(&details.bytes);
}

fn decode_details(prefix: &Prefix, length_planes: u8, columns: &[u8]) -> Details {
    let count = prefix.detail_count as usize;
    let mut lengths = vec![[0u8; LENGTH_PLANES]; count];
    let mut rest = columns;
    for plane in 0..LENGTH_PLANES {
        if length_planes >> plane & 1 == 1 {
            let (bytes, tail) = rest.split_at(count);
            rest = tail;
            lengths.iter_mut().zip(bytes).for_each(|(length, &byte)| length[plane] = byte);
        } else {
            lengths.iter_mut().for_each(|length| length[plane] = prefix.length_constants[plane]);
        }
    }
    let ends = lengths.into_iter().scan(0u32, |end, length| {
        *end = end.wrapping_add(u32::from_le_bytes(length));
        Some(*end)
    });
    Details { ends: ends.collect(), bytes: rest.to_vec() }
}

/// Small steps either way as small numbers.
fn zigzag(step: i64) -> u64 {
    (step << 1 ^ step >> 63).cast_unsigned()
}

fn unzigzag(word: u64) -> i64 {
    (word >> 1).cast_signed() ^ -(word & 1).cast_signed()
}

fn byte_at(word: u64, shift: u32) -> u8 {
    (word >> shift) as u8
}

/// What a column of four planes holds.
fn low_half(word: u64) -> u32 {
    word as u32
}

#[cfg(test)]
#[path = "columns_tests.rs"]
mod tests;
