//! Recognises a trace by the fields of its first packet, which may continue beyond the bytes at hand.

use super::fields::trace_packet;
use super::packets::{PACKET_TAG, is_whole};
use crate::formats::input::members::ZSTD_MAGIC;
use crate::formats::protobuf::decode::{FieldHead, Fields, ProtoValue, take_varint};
use crate::formats::protobuf::numbers::FieldNumber;
use crate::model::Loss;

/// Largest field number of a packet kind, with a margin, to distinguish packets from pprof profiles.
const KIND_MAX: u32 = 140;

/// First byte of zlib data with the usual window of 32 KiB.
const ZLIB_START: [u8; 1] = [0x78];

/// Returns whether a file starts with a packet, and not with a pprof profile, which has the same first byte.
#[must_use]
pub(crate) fn looks_like_perfetto(head: &[u8]) -> bool {
    use trace_packet as packet;
    const KINDS: [FieldNumber; 8] = [
        packet::FTRACE_EVENTS,
        packet::PROCESS_TREE,
        packet::CHROME_EVENTS,
        packet::CLOCK_SNAPSHOT,
        packet::SYS_STATS,
        packet::PROCESS_STATS,
        packet::TRACK_EVENT,
        packet::INTERNED_DATA,
    ];
    const NUMBERS: [FieldNumber; 9] = [
        packet::TRUSTED_UID,
        packet::TIMESTAMP,
        packet::TRUSTED_PACKET_SEQUENCE_ID,
        packet::SEQUENCE_FLAGS,
        packet::INCREMENTAL_STATE_CLEARED,
        packet::PREVIOUS_PACKET_DROPPED,
        packet::TIMESTAMP_CLOCK_ID,
        packet::TRUSTED_PID,
        packet::FIRST_PACKET_ON_SEQUENCE,
    ];
    let is_kind =
        |number: FieldNumber| KINDS.contains(&number) || number >= packet::TRACE_CONFIG && number.get() <= KIND_MAX;
    if head.first() != Some(&PACKET_TAG) {
        return false;
    }
    let mut rest = &head[1..];
    let Some(len) = take_varint(&mut rest).and_then(|len| usize::try_from(len).ok()) else { return false };
    let is_cut = len > rest.len();
    let body = &rest[..len.min(rest.len())];
    let mut fields = Fields::new(body);
    // A packet has a sequence, a time, or a kind that needs neither; a pprof value type has two small numbers.
    let is_packet = fields.by_ref().any(|field| match (field.number, field.value) {
        (number, ProtoValue::Bytes(_)) => is_kind(number),
        (number, _) => NUMBERS.contains(&number),
    });
    if is_cut {
        // A line break and a letter may look like the tag and the length of a long packet.
        let is_text = body.iter().all(|byte| byte.is_ascii_graphic() || byte.is_ascii_whitespace());
        return !is_text && (is_packet || has_cut_kind(body, len as u64, is_kind));
    }
    is_packet && is_whole(body) && rest.get(len).is_none_or(|&tag| tag == PACKET_TAG)
}

/// Returns whether the field at which a packet of `len` bytes is cut is its kind. Its content must begin with fields
/// that fit into it, or be a compressed bundle, since one plausible tag is also found in text.
fn has_cut_kind(packet: &[u8], len: u64, is_kind: impl Fn(FieldNumber) -> bool) -> bool {
    let Ok(Some(CutField { number, content, content_bytes })) = CutField::find(packet, len) else { return false };
    let is_content = match number {
        trace_packet::COMPRESSED_PACKETS => content.starts_with(&ZLIB_START),
        trace_packet::ZSTD_COMPRESSED_PACKETS => content.starts_with(&ZSTD_MAGIC),
        _ => !content.is_empty() && CutField::find(content, content_bytes).is_ok(),
    };
    is_kind(number) && is_content
}

/// A field of a message that continues beyond the bytes at hand.
struct CutField<'a> {
    number: FieldNumber,
    content: &'a [u8],
    /// The length of the whole content.
    content_bytes: u64,
}

impl<'a> CutField<'a> {
    /// Finds the cut field of a message of `len` bytes that begins with `bytes`; `None` if the cut is between fields or
    /// within a tag. Fails if the bytes are not a message, or if a field is longer than the message.
    fn find(mut bytes: &'a [u8], mut len: u64) -> Result<Option<Self>, Loss> {
        loop {
            let head = match FieldHead::decode(bytes) {
                Err(Loss::Truncated) => return Ok(None),
                head => head?,
            };
            let FieldHead { head_bytes, content_bytes, .. } = head;
            let field_bytes = head_bytes.saturating_add(content_bytes);
            len = len.checked_sub(field_bytes).ok_or(Loss::BadRecord)?;
            let whole = usize::try_from(field_bytes).ok().and_then(|field_bytes| bytes.split_at_checked(field_bytes));
            let Some((_, rest)) = whole else {
                let content = bytes.get(head_bytes as usize..).unwrap_or_default();
                return Ok(Some(Self { number: head.number(), content, content_bytes }));
            };
            bytes = rest;
        }
    }
}
