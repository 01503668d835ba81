//! Packets out of a capture: a tag and a length before each. Unpacks bundles that are compressed. Finds its way again
//! behind damage; holds one packet and what was read ahead of it, whatever the lengths claim.

use std::io::Read as _;

use super::wire::{Fields, Value, take_varint};
use crate::formats::ReadError;
use crate::formats::source::Source;
use crate::model::{Loss, Losses, Place};

/// The tag of a packet: field 1, a message. All that stands at the top level.
pub(super) const PACKET_TAG: u8 = 0x0a;

/// The most bytes of a packet, packed or unpacked: a longer one is taken for damage. Writers keep them below 512 KiB; a screenshot may have some MiB.
const PACKET_BYTES_MAX: usize = 64 << 20;

/// Bytes read at once.
const READ_BYTES: usize = 256 * 1024;

/// A bundle in a bundle is an accident or an attack.
const BUNDLES_MAX: u32 = 2;

/// Behind damage, only a packet up to this length is taken for one: else one wrong length hides what follows.
const FOUND_PACKET_BYTES_MAX: usize = 1 << 20;

/// Behind damage, this many fields of a packet are looked at before it is taken for one: bounds the time for each byte.
const FOUND_PACKET_FIELDS: usize = 32;

/// Fields that a packet may have: more is not a packet.
const FIELD_NUMBER_MAX: u32 = 2000;

const COMPRESSED_DEFLATE: u32 = 50;
const COMPRESSED_ZSTD: u32 = 133;

/// Splits a capture.
pub(super) struct Packets {
    source: Source,
    buffer: Vec<u8>,
    /// Where the next packet begins in the buffer.
    start: usize,
    /// Where the buffer stands in the capture.
    offset: u64,
    at_end: bool,
    /// What was damaged on the way.
    pub(super) losses: Losses,
}

/// A packet and where it stands. Those of a bundle stand where the bundle does.
#[derive(Debug, Clone, Copy)]
pub(super) struct Packet<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) offset: u64,
}

/// What the next bytes are.
enum Next {
    /// A packet with so many bytes before its body.
    Packet { head: usize, len: usize },
    /// The beginning of a packet.
    Unfinished { need: usize },
    /// Anything else.
    Damaged,
}

impl Packets {
    pub(super) fn of(source: Source) -> Self {
        Self { source, buffer: Vec::new(), start: 0, offset: 0, at_end: false, losses: Losses::default() }
    }

    /// The next packet; `None` at the end.
    pub(super) fn next(&mut self) -> Result<Option<Packet<'_>>, ReadError> {
        loop {
            match next_of(&self.buffer[self.start..]) {
                // What follows tells whether the length is right.
                Next::Packet { head, len } if self.start + head + len == self.buffer.len() && !self.at_end => {
                    self.read_more(head + len + 1)?;
                }
                Next::Packet { head, len } => {
                    let body = self.start + head;
                    let offset = self.offset + self.start as u64;
                    let follows = self.buffer.get(body + len).copied();
                    if follows.is_some_and(|tag| tag != PACKET_TAG) && !is_whole(&self.buffer[body..body + len]) {
                        // Neither what is in it nor what follows it makes sense: the length is wrong.
                        self.find_packet()?;
                        continue;
                    }
                    self.start = body + len;
                    return Ok(Some(Packet { bytes: &self.buffer[body..body + len], offset }));
                }
                Next::Unfinished { need } => {
                    if !self.read_more(need)? {
                        if self.start < self.buffer.len() {
                            if self.find_packet()? {
                                continue;
                            }
                        } else if let Some(cut_at) = self.source.cut_at() {
                            self.losses.add(Loss::Truncated, Place::Offset(cut_at));
                        }
                        return Ok(None);
                    }
                }
                Next::Damaged => {
                    if !self.find_packet()? {
                        return Ok(None);
                    }
                }
            }
        }
    }

    fn place(&self) -> Place {
        Place::Offset(self.offset + self.start as u64)
    }

    /// Reads until `need` bytes stand behind the start or the source ends; says whether there are that many.
    fn read_more(&mut self, need: usize) -> Result<bool, ReadError> {
        let block_bytes = self.source.block_bytes(READ_BYTES);
        if self.start > 0 {
            self.buffer.drain(..self.start);
            self.offset += self.start as u64;
            self.start = 0;
        }
        while self.buffer.len() < need && !self.at_end {
            let filled = self.buffer.len();
            self.buffer.resize(filled + block_bytes, 0);
            let len = self.source.fill(&mut self.buffer[filled..])?;
            self.buffer.truncate(filled + len);
            self.at_end = len < block_bytes;
        }
        Ok(self.buffer.len() >= need)
    }

    /// Steps forward to what looks like a packet, and counts one damage. False when there is none: the capture ends.
    fn find_packet(&mut self) -> Result<bool, ReadError> {
        let damaged_at = self.place();
        self.start = (self.start + 1).min(self.buffer.len());
        loop {
            let rest = &self.buffer[self.start..];
            let Some(position) = memchr::memchr(PACKET_TAG, rest) else {
                self.start = self.buffer.len();
                if self.read_more(1)? {
                    continue;
                }
                // What cannot be a packet up to the very end is a packet that was cut.
                self.losses.add(Loss::Truncated, damaged_at);
                return Ok(false);
            };
            self.start += position;
            if self.buffer.len() - self.start < FOUND_PACKET_BYTES_MAX + READ_BYTES {
                self.read_more(FOUND_PACKET_BYTES_MAX + READ_BYTES)?;
            }
            if is_probable(&self.buffer[self.start..]) {
                self.losses.add(Loss::BadRecord, damaged_at);
                return Ok(true);
            }
            self.start += 1;
        }
    }
}

/// Looks at a tag and a length.
fn next_of(bytes: &[u8]) -> Next {
    let Some((&tag, mut rest)) = bytes.split_first() else { return Next::Unfinished { need: 1 } };
    if tag != PACKET_TAG {
        return Next::Damaged;
    }
    let Some(len) = take_varint(&mut rest) else {
        return if rest.len() < 10 { Next::Unfinished { need: bytes.len() + 1 } } else { Next::Damaged };
    };
    let head = bytes.len() - rest.len();
    match usize::try_from(len) {
        Ok(len) if len <= rest.len() => Next::Packet { head, len },
        Ok(len) if len <= PACKET_BYTES_MAX => Next::Unfinished { need: head + len },
        // A length that no writer gives is a wrong one.
        _ => Next::Damaged,
    }
}

/// Whether a message is well-formed.
fn is_whole(bytes: &[u8]) -> bool {
    let mut fields = Fields::of(bytes);
    fields.by_ref().for_each(drop);
    !fields.is_broken()
}

/// Whether a packet seems to stand here: its first fields are ones that packets have, and a packet follows it.
pub(super) fn is_probable(bytes: &[u8]) -> bool {
    let Next::Packet { head, len } = next_of(bytes) else { return false };
    let body = &bytes[head..head + len];
    let mut fields = Fields::of(body);
    let known = fields.by_ref().take(FOUND_PACKET_FIELDS).all(|field| field.number < FIELD_NUMBER_MAX);
    let follows = bytes.get(head + len).is_none_or(|&tag| tag == PACKET_TAG);
    len > 0 && len <= FOUND_PACKET_BYTES_MAX && known && !fields.is_broken() && follows
}

/// Whether a capture begins with a packet rather than with a profile of pprof, which has the same first byte.
#[must_use]
pub fn looks_like_perfetto(head: &[u8]) -> bool {
    if head.first() != Some(&PACKET_TAG) {
        return false;
    }
    let mut rest = &head[1..];
    let Some(len) = take_varint(&mut rest).and_then(|len| usize::try_from(len).ok()) else { return false };
    let is_cut = len > rest.len();
    let body = &rest[..len.min(rest.len())];
    let mut fields = Fields::of(body);
    // A packet tells its writer, its time, or is of a kind that stands alone; a value type of pprof has two small numbers.
    let is_packet = fields.by_ref().any(|field| match (field.number, field.value) {
        (1 | 2, Value::Bytes(_)) => true,
        (number, Value::Bytes(_)) => matches!(number, 5..=7 | 9 | 11 | 12 | 33..=140),
        (number, _) => matches!(number, 3 | 8 | 10 | 13 | 41 | 42 | 58 | 79 | 87),
    });
    let begins_well = is_packet && (is_cut || is_whole(body));
    begins_well && (is_cut || rest.get(len).is_none_or(|&tag| tag == PACKET_TAG))
}

/// Packets that are compressed together.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bundle<'a> {
    /// The number of the field that holds them: how they are compressed.
    number: u32,
    bytes: &'a [u8],
    offset: u64,
    /// How many bundles are around it.
    depth: u32,
}

impl<'a> Bundle<'a> {
    /// The bundle that a field of a packet is, if it is one.
    pub(super) fn of_field(number: u32, bytes: &'a [u8], offset: u64, depth: u32) -> Option<Self> {
        matches!(number, COMPRESSED_DEFLATE | COMPRESSED_ZSTD).then_some(Self { number, bytes, offset, depth })
    }
}

/// Hands on a packet, or what is in it if it is a bundle.
pub(super) fn unpack(packet: Packet<'_>, losses: &mut Losses, take: &mut dyn FnMut(Packet<'_>, &mut Losses)) {
    unpack_within(packet, 0, losses, take);
}

fn unpack_within(packet: Packet<'_>, depth: u32, losses: &mut Losses, take: &mut dyn FnMut(Packet<'_>, &mut Losses)) {
    let bundle = Fields::of(packet.bytes)
        .find_map(|field| Bundle::of_field(field.number, field.value.bytes(), packet.offset, depth));
    match bundle {
        Some(bundle) => unpack_bundle(&bundle, losses, &mut |packet, losses| {
            unpack_within(packet, depth + 1, losses, take);
        }),
        None => take(packet, losses),
    }
}

/// Hands on the packets of a bundle.
pub(super) fn unpack_bundle(bundle: &Bundle<'_>, losses: &mut Losses, take: &mut dyn FnMut(Packet<'_>, &mut Losses)) {
    let &Bundle { number, bytes: packed, offset, depth } = bundle;
    let place = Place::Offset(offset);
    if depth >= BUNDLES_MAX {
        return losses.add(Loss::DeepNesting, place);
    }
    let mut bytes = Vec::new();
    let limit = PACKET_BYTES_MAX as u64;
    let unpacked = match number {
        COMPRESSED_DEFLATE => flate2::read::ZlibDecoder::new(packed).take(limit).read_to_end(&mut bytes),
        _ => zstd::Decoder::with_buffer(packed).and_then(|decoder| decoder.take(limit).read_to_end(&mut bytes)),
    };
    if unpacked.is_err() {
        losses.add(Loss::BadRecord, place);
    }
    if bytes.len() >= PACKET_BYTES_MAX {
        losses.add(Loss::OverLimit, place);
    }
    let mut fields = Fields::of(&bytes);
    for field in fields.by_ref() {
        match (field.number, field.value) {
            (1, Value::Bytes(bytes)) => take(Packet { bytes, offset }, losses),
            _ => losses.add(Loss::BadRecord, place),
        }
    }
    if fields.is_broken() {
        losses.add(Loss::Truncated, place);
    }
}
