//! Splits a trace into packets, each preceded by a tag and a length. Unpacks compressed bundles and resynchronises
//! after damage. Buffers one packet and a read-ahead block, even if a length claims more.

use std::io::Read as _;
use std::num::NonZeroU32;

use super::fields::{trace, trace_packet};
use crate::base::cancel::Cancel;
use crate::formats::ReadError;
use crate::formats::input::source::Source;
use crate::formats::protobuf::decode::{Fields, ProtoField, ProtoValue, bytes_tag, take_varint};
use crate::formats::protobuf::numbers::FieldNumber;
use crate::model::{Loss, Losses, SourcePos};

/// Tag of a packet, which is the only top-level field.
pub(super) const PACKET_TAG: u8 = bytes_tag(trace::PACKET) as u8;

/// Limit for the bytes of a packet, packed or unpacked; a longer packet is damage. Writers stay below 512 KiB, but a
/// screenshot may take a few MiB.
pub(super) const PACKET_BYTES_MAX: usize = 64 << 20;

/// Read size; small enough that parsed packets stay in the cache of a core until the interpreting thread reads them.
const READ_BYTES: usize = 64 * 1024;

/// Limit for packets in a block. Bounds the parse results of packets without content.
const BLOCK_PACKETS_MAX: usize = 4096;

/// Limit for nested bundles; deeper nesting is damage or an attack.
pub(super) const BUNDLES_MAX: u32 = 2;

/// Limit for the length of the first packet after damage; otherwise one wrong length would hide everything after it.
const FOUND_PACKET_BYTES_MAX: usize = 1 << 20;

/// Number of fields that are checked in the first packet after damage; bounds the time per byte.
const FOUND_PACKET_FIELDS: usize = 32;

/// Limit for field numbers of a packet; larger ones mean that the bytes are not a packet.
const FIELD_NUMBER_MAX: u32 = 2000;

/// Splits a trace into blocks of packets.
pub(super) struct Packets {
    source: Source,
    buffer: Vec<u8>,
    /// Offset of the next packet in the buffer.
    start: usize,
    /// Offset of the buffer in the trace.
    offset: u64,
    at_end: bool,
    cancel: Cancel,
    /// Losses from damage between packets.
    pub(super) losses: Losses,
}

/// A byte range in a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PacketPart {
    start: u32,
    /// Nonzero, because a tag precedes every part. This makes `Option<PacketPart>` as small as `PacketPart`.
    end: NonZeroU32,
}

impl PacketPart {
    /// Returns the position of `bytes` in `block`.
    #[inline]
    pub(super) fn new(bytes: &[u8], block: &[u8]) -> Self {
        let start = bytes.as_ptr().addr().wrapping_sub(block.as_ptr().addr());
        // A block is far smaller than 4 GiB; all empty parts are equal.
        let end = u32::try_from(start.wrapping_add(bytes.len())).ok().and_then(NonZeroU32::new);
        let end = end.filter(|_| !bytes.is_empty()).unwrap_or(NonZeroU32::MIN);
        Self { start: end.get().saturating_sub(bytes.len() as u32), end }
    }

    #[inline]
    pub(super) fn in_block(self, block: &[u8]) -> &[u8] {
        block.get(self.start as usize..self.end.get() as usize).unwrap_or_default()
    }
}

/// Consecutive packets, without the damage between them.
#[derive(Debug, Default)]
pub(super) struct PacketBlock {
    pub(super) bytes: Vec<u8>,
    /// Offset of the first byte in the trace. Packets of a bundle have the offset of the bundle.
    pub(super) offset: u64,
    /// Offset of each packet, and its content.
    pub(super) packets: Vec<(u32, PacketPart)>,
}

impl PacketBlock {
    /// Returns the position in the trace of the packet at byte `at` of the block.
    pub(super) fn pos(&self, at: u32) -> SourcePos {
        SourcePos::Offset(self.offset + u64::from(at))
    }
}

/// Classification of the next bytes.
enum NextPacket {
    /// A complete packet, with the length of its tag and length prefix.
    Packet { head: usize, len: usize },
    /// A packet that is not fully buffered.
    Unfinished { need: usize },
    /// Bytes that do not start a packet.
    Damaged,
}

impl Packets {
    pub(super) fn new(source: Source, cancel: &Cancel) -> Self {
        let (cancel, losses) = (cancel.clone(), Losses::default());
        Self { source, buffer: Vec::new(), start: 0, offset: 0, at_end: false, cancel, losses }
    }

    /// Reads the next packets into `block`; returns `None` at the end.
    pub(super) fn next(&mut self, mut block: PacketBlock) -> Result<Option<PacketBlock>, ReadError> {
        block.packets.clear();
        loop {
            let next = peek_next(&self.buffer[self.start..]);
            if let NextPacket::Packet { head, len } = next
                && (self.start + head + len < self.buffer.len() || self.at_end || self.source.is_live())
                && block.packets.len() < BLOCK_PACKETS_MAX
            {
                let body = self.start + head;
                let follows = self.buffer.get(body + len).copied();
                let bytes = &self.buffer[body..body + len];
                // The byte after the last packet of a live stream may not arrive for a long time.
                let is_followed = follows.map_or(self.at_end, |tag| tag == PACKET_TAG);
                if is_followed || is_whole(bytes) {
                    // The read-ahead is far below 4 GiB.
                    block.packets.push((self.start as u32, PacketPart::new(bytes, &self.buffer)));
                    self.start = body + len;
                    continue;
                }
            }
            if !block.packets.is_empty() {
                return Ok(Some(self.take_ready_packets(block)));
            }
            let may_go_on = match next {
                // The next byte shows whether the length is right.
                NextPacket::Packet { head, len } if self.start + head + len == self.buffer.len() && !self.at_end => {
                    self.read_more(head + len + 1)?;
                    true
                }
                NextPacket::Unfinished { need } => self.read_more(need)? || self.find_last_packet()?,
                // Neither the content nor the following byte is valid, so the length is wrong.
                NextPacket::Packet { .. } | NextPacket::Damaged => self.find_packet()?,
            };
            if !may_go_on {
                return Ok(None);
            }
        }
    }

    /// Moves the buffered packets into the block.
    fn take_ready_packets(&mut self, mut block: PacketBlock) -> PacketBlock {
        block.bytes.clear();
        block.bytes.extend_from_slice(&self.buffer[self.start..]);
        std::mem::swap(&mut block.bytes, &mut self.buffer);
        block.bytes.truncate(self.start);
        block.offset = self.offset;
        self.offset += self.start as u64;
        self.start = 0;
        block
    }

    /// Searches for a packet in the rest of the input, which is shorter than the current packet claims.
    fn find_last_packet(&mut self) -> Result<bool, ReadError> {
        if self.start < self.buffer.len() {
            return self.find_packet();
        }
        if let Some(cut_at) = self.source.cut_at() {
            self.losses.add(Loss::Truncated, SourcePos::Offset(cut_at));
        }
        Ok(false)
    }

    fn pos(&self) -> SourcePos {
        SourcePos::Offset(self.offset + self.start as u64)
    }

    /// Reads until the buffer has `need` unread bytes or the source ends; returns whether it has them.
    fn read_more(&mut self, need: usize) -> Result<bool, ReadError> {
        if self.at_end || self.buffer.len() - self.start >= need {
            return Ok(self.buffer.len() - self.start >= need);
        }
        self.cancel.check()?;
        let block_bytes = self.source.block_bytes(READ_BYTES);
        // A search asks for a few more bytes at a time, for which moving all others would be slow.
        if self.start >= block_bytes || self.start == self.buffer.len() {
            self.buffer.drain(..self.start);
            self.offset += self.start as u64;
            self.start = 0;
        }
        while self.buffer.len() - self.start < need && !self.at_end {
            let filled = self.buffer.len();
            self.buffer.resize(filled + block_bytes, 0);
            let len = self.source.fill(&mut self.buffer[filled..])?;
            self.buffer.truncate(filled + len);
            self.at_end = len == 0 || len < block_bytes && !self.source.is_live();
        }
        Ok(self.buffer.len() - self.start >= need)
    }

    /// Skips to the next likely packet, and counts one loss. Returns false at the end of the trace.
    fn find_packet(&mut self) -> Result<bool, ReadError> {
        let damaged_at = self.pos();
        self.start = (self.start + 1).min(self.buffer.len());
        loop {
            let rest = &self.buffer[self.start..];
            let Some(position) = memchr::memchr(PACKET_TAG, rest) else {
                self.start = self.buffer.len();
                if self.read_more(1)? {
                    continue;
                }
                // Without another packet up to the end, the current one is truncated.
                self.losses.add(Loss::Truncated, damaged_at);
                return Ok(false);
            };
            self.start += position;
            self.read_more(FOUND_PACKET_BYTES_MAX + READ_BYTES)?;
            if is_probable(&self.buffer[self.start..]) {
                self.losses.add(Loss::BadRecord, damaged_at);
                return Ok(true);
            }
            self.start += 1;
        }
    }
}

/// Parses a tag and a length.
fn peek_next(bytes: &[u8]) -> NextPacket {
    let Some((&tag, mut rest)) = bytes.split_first() else { return NextPacket::Unfinished { need: 1 } };
    if tag != PACKET_TAG {
        return NextPacket::Damaged;
    }
    let Some(len) = take_varint(&mut rest) else {
        return if rest.len() < 10 { NextPacket::Unfinished { need: bytes.len() + 1 } } else { NextPacket::Damaged };
    };
    let head = bytes.len() - rest.len();
    match usize::try_from(len) {
        Ok(len) if len <= rest.len() => NextPacket::Packet { head, len },
        Ok(len) if len <= PACKET_BYTES_MAX => NextPacket::Unfinished { need: head + len },
        // No writer produces such a length.
        _ => NextPacket::Damaged,
    }
}

/// Returns whether a message is well-formed.
pub(super) fn is_whole(bytes: &[u8]) -> bool {
    let mut fields = Fields::new(bytes);
    fields.by_ref().for_each(drop);
    !fields.is_broken()
}

/// Returns whether the bytes look like a packet: its first fields have valid numbers, and another packet follows.
pub(super) fn is_probable(bytes: &[u8]) -> bool {
    let NextPacket::Packet { head, len } = peek_next(bytes) else { return false };
    let body = &bytes[head..head + len];
    let mut fields = Fields::new(body);
    let has_known_fields = fields.by_ref().take(FOUND_PACKET_FIELDS).all(|field| field.number.get() < FIELD_NUMBER_MAX);
    let follows = bytes.get(head + len).is_none_or(|&tag| tag == PACKET_TAG);
    len > 0 && len <= FOUND_PACKET_BYTES_MAX && has_known_fields && !fields.is_broken() && follows
}

/// A compressed bundle of packets.
#[derive(Debug)]
pub(super) struct Bundle {
    /// The current packets, as many as fit in a block.
    pub(super) block: PacketBlock,
    /// Bytes that are already split into packets.
    taken: usize,
    /// Losses from damage inside the bundle.
    pub(super) losses: Losses,
}

impl Bundle {
    /// Returns whether a field of a packet is a bundle.
    #[inline]
    pub(super) fn is_bundle(number: FieldNumber) -> bool {
        matches!(number, trace_packet::COMPRESSED_PACKETS | trace_packet::ZSTD_COMPRESSED_PACKETS)
    }

    /// Unpacks a bundle, up to `bytes_max` bytes; counts a loss if there are more.
    pub(super) fn unpack(number: FieldNumber, packed: &[u8], offset: u64, bytes_max: usize) -> Self {
        let (mut losses, pos) = (Losses::default(), SourcePos::Offset(offset));
        let mut bytes = Vec::new();
        let limit = bytes_max as u64;
        let unpacked = match number {
            trace_packet::COMPRESSED_PACKETS => {
                flate2::read::ZlibDecoder::new(packed).take(limit).read_to_end(&mut bytes)
            }
            _ => zstd::Decoder::with_buffer(packed).and_then(|decoder| decoder.take(limit).read_to_end(&mut bytes)),
        };
        if unpacked.is_err() {
            losses.add(Loss::BadRecord, pos);
        }
        if bytes.len() >= bytes_max {
            losses.add(Loss::OverLimit, pos);
        }
        Self { block: PacketBlock { bytes, offset, packets: Vec::new() }, taken: 0, losses }
    }

    /// Advances to the next packets; returns false if there are none.
    pub(super) fn next(&mut self) -> bool {
        let Self { block: PacketBlock { bytes, offset, packets }, taken, losses } = self;
        let pos = SourcePos::Offset(*offset);
        let mut fields = Fields::new(&bytes[*taken..]);
        packets.clear();
        while packets.len() < BLOCK_PACKETS_MAX
            && let Some(field) = fields.next()
        {
            match (field.number, field.value) {
                (trace::PACKET, ProtoValue::Bytes(packet)) => packets.push((0, PacketPart::new(packet, bytes))),
                _ => losses.add(Loss::BadRecord, pos),
            }
        }
        *taken = bytes.len() - fields.rest().len();
        if fields.is_broken() {
            losses.add(Loss::Truncated, pos);
        }
        !packets.is_empty()
    }
}

/// Calls `take` with the content and position of each packet that has a wanted field. Includes the packets of bundles
/// in the block.
pub(super) fn each_unpacked(
    block: &PacketBlock,
    depth: u32,
    is_wanted: impl Fn(FieldNumber) -> bool + Copy,
    take: &mut dyn FnMut(&[u8], SourcePos),
) {
    for &(at, part) in &block.packets {
        let (packet, pos) = (part.in_block(&block.bytes), block.pos(at));
        let mut has_wanted = false;
        let mut fields = Fields::new(packet);
        let bundle = loop {
            // Small numbers are neither wanted nor bundles.
            if fields.small().is_some() {
                continue;
            }
            let Some(field) = fields.next() else { break None };
            has_wanted |= is_wanted(field.number);
            if Bundle::is_bundle(field.number) {
                break Some(field);
            }
        };
        match bundle {
            Some(_) if depth >= BUNDLES_MAX => {}
            Some(ProtoField { number, value }) => {
                let SourcePos::Offset(offset) = pos else { continue };
                let mut bundle = Bundle::unpack(number, value.bytes(), offset, PACKET_BYTES_MAX);
                while bundle.next() {
                    each_unpacked(&bundle.block, depth + 1, is_wanted, take);
                }
            }
            None if has_wanted => take(packet, pos),
            None => {}
        }
    }
}
