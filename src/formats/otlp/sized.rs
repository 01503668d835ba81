//! Requests with their sizes. The file exporter of the Collector writes four bytes, big-endian, before each protobuf
//! request, and before each zstd frame of a request in either encoding. Protobuf libraries write a varint.
//!
//! Buffers one request at a time, of at most 64 MiB, and as much again if it is compressed.

use std::io::Read as _;

use super::fields::{key_value, request, resource, resource_spans};
use super::json_request::{JsonDecoder, is_json_request, no_spans};
use super::proto_request::{ProtoDecoder, RESOURCE_BYTES_MAX, is_attribute_key};
use crate::formats::input::byte_reader::ByteReader;
use crate::formats::input::lengths::saturating_len;
use crate::formats::input::lines::Output;
use crate::formats::input::members::ZSTD_MAGIC;
use crate::formats::input::source::{HEAD_BYTES, Source};
use crate::formats::output::batch::BatchBuilder;
use crate::formats::protobuf::decode::{Fields, bytes_tag, take_varint};
use crate::formats::{BatchSink, ReadContext, ReadError, StreamReader};
use crate::model::{Loss, SourcePos};

/// Limit for a request, packed or not; the largest usual ones have a few MiB.
const REQUEST_BYTES_MAX: usize = RESOURCE_BYTES_MAX;

/// The encoding of the size before a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SizePrefix {
    FourBytes,
    Varint,
}

impl SizePrefix {
    /// Detects the encoding by the first request.
    pub(super) fn detect(head: &[u8]) -> Option<Self> {
        [Self::FourBytes, Self::Varint].into_iter().find(|prefix| prefix.fits(head))
    }

    fn fits(self, head: &[u8]) -> bool {
        let Some((size, prefix_len)) = self.read(head) else { return false };
        let (len, rest) = (saturating_len(size), &head[prefix_len..]);
        let bytes = &rest[..len.min(rest.len())];
        let is_packed = self == Self::FourBytes && bytes.starts_with(&ZSTD_MAGIC);
        len <= REQUEST_BYTES_MAX && if is_packed { is_packed_request(bytes, len) } else { is_request(bytes, len) }
    }

    /// Maximum length of a prefix.
    fn len_max(self) -> usize {
        match self {
            Self::FourBytes => 4,
            Self::Varint => 10,
        }
    }

    /// Returns the size and the length of its prefix; `None` if the prefix is truncated.
    fn read(self, bytes: &[u8]) -> Option<(u64, usize)> {
        match self {
            Self::FourBytes => bytes.first_chunk().map(|size| (u64::from(u32::from_be_bytes(*size)), size.len())),
            Self::Varint => {
                let mut rest = bytes;
                take_varint(&mut rest).map(|size| (size, bytes.len() - rest.len()))
            }
        }
    }
}

/// Returns whether a protobuf request of `len` bytes begins with a resource that has an attribute, and each message
/// fits into the enclosing message.
fn is_request(bytes: &[u8], len: usize) -> bool {
    let path = [request::RESOURCE_SPANS, resource_spans::RESOURCE, resource::ATTRIBUTES, key_value::KEY];
    let mut room = (bytes, len);
    for field in path {
        let Some(mut rest) = room.0.strip_prefix(&[bytes_tag(field) as u8]) else { return false };
        let Some(size) = take_varint(&mut rest) else { return false };
        let header_len = room.0.len() - rest.len();
        if room.1.checked_sub(header_len).is_none_or(|room| saturating_len(size) > room) {
            return false;
        }
        room = (rest, saturating_len(size));
    }
    let value_tag = bytes_tag(key_value::VALUE) as u8;
    room.0.split_at_checked(room.1).is_some_and(|(key, rest)| is_attribute_key(key) && rest.first() == Some(&value_tag))
}

/// Returns whether a zstd frame of `len` bytes holds a request. Only the header is checked of a frame that is longer
/// than the head, since a block is unpacked as a whole.
fn is_packed_request(bytes: &[u8], len: usize) -> bool {
    if bytes.len() < len {
        return zstd::zstd_safe::get_frame_content_size(bytes).is_ok();
    }
    let (head, _) = unpack(bytes, HEAD_BYTES);
    is_json_request(&head) || is_request(&head, usize::MAX)
}

/// Unpacks up to a byte more than `bytes_max`. Returns the bytes before damage, and whether there is none.
fn unpack(packed: &[u8], bytes_max: usize) -> (Vec<u8>, bool) {
    let mut bytes = Vec::new();
    let Ok(decoder) = zstd::Decoder::with_buffer(packed) else { return (bytes, false) };
    let is_whole = decoder.take(bytes_max as u64 + 1).read_to_end(&mut bytes).is_ok();
    (bytes, is_whole)
}

/// A trace of requests with their sizes.
pub(super) struct SizedRequests {
    source: Source,
    prefix: SizePrefix,
}

impl SizedRequests {
    pub(super) fn new(source: Source, prefix: SizePrefix) -> Self {
        Self { source, prefix }
    }
}

impl StreamReader for SizedRequests {
    fn read(self: Box<Self>, sink: &mut dyn BatchSink, context: &ReadContext) -> Result<(), ReadError> {
        let path = self.source.path().to_owned();
        let malformed = |offset: u64, expected: String, found: String| {
            let path = path.clone();
            Err(ReadError::Malformed { path, offset, expected, found })
        };
        let mut input = ByteReader::new(self.source);
        let (mut decoder, mut batch) = (SizedDecoder::default(), BatchBuilder::new(context.chunk_limits));
        loop {
            context.cancel.check()?;
            let offset = input.offset();
            let pos = SourcePos::Offset(offset);
            if input.would_wait(self.prefix.len_max()) {
                decoder.flush(&mut batch, sink, context)?;
            }
            let head = input.peek(self.prefix.len_max())?;
            if head.is_empty() {
                break;
            }
            let Some((size, prefix_len)) = self.prefix.read(head) else {
                let is_whole = head.len() == self.prefix.len_max();
                batch.lose(if is_whole { Loss::BadRecord } else { Loss::Truncated }, pos);
                break;
            };
            let len = saturating_len(size);
            let expected = || format!("a request of at most {REQUEST_BYTES_MAX} bytes");
            if len > REQUEST_BYTES_MAX {
                return malformed(offset, expected(), format!("the size {size}"));
            }
            input.skip(prefix_len as u64)?;
            if input.would_wait(len) {
                decoder.flush(&mut batch, sink, context)?;
            }
            let bytes = input.peek(len)?;
            let taken = bytes.len();
            if decoder.message(bytes, taken == len, pos, &mut batch) == MessageFit::TooLarge {
                return malformed(offset, expected(), "one that is larger when it is unpacked".to_owned());
            }
            if taken < len {
                batch.lose(Loss::Truncated, pos);
            }
            input.skip(taken as u64)?;
            decoder.json.layout.flush_if_full(&mut Output::new(&mut batch, &mut *sink, context))?;
        }
        if decoder.has_others_only() {
            return Err(no_spans(path));
        }
        decoder.json.layout.finish(&mut Output::new(&mut batch, &mut *sink, context))?;
        batch.lose_cut(input.source().cut_at());
        batch.flush(sink)
    }
}

/// Whether a message is within the limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MessageFit {
    Fits,
    TooLarge,
}

/// Decodes requests in either encoding into one layout.
#[derive(Default)]
struct SizedDecoder {
    json: JsonDecoder,
    proto: ProtoDecoder,
}

impl SizedDecoder {
    /// Decodes a message, compressed or not. A truncated message yields the resources before the cut.
    fn message(&mut self, bytes: &[u8], is_whole: bool, pos: SourcePos, batch: &mut BatchBuilder) -> MessageFit {
        if !bytes.starts_with(&ZSTD_MAGIC) {
            self.request(bytes, is_whole, pos, batch);
            return MessageFit::Fits;
        }
        let (unpacked, is_sound) = unpack(bytes, REQUEST_BYTES_MAX);
        if unpacked.len() > REQUEST_BYTES_MAX {
            return MessageFit::TooLarge;
        }
        self.request(&unpacked, is_whole && is_sound, pos, batch);
        if is_whole && !is_sound {
            batch.lose(Loss::BadRecord, pos);
        }
        MessageFit::Fits
    }

    fn request(&mut self, bytes: &[u8], is_whole: bool, pos: SourcePos, batch: &mut BatchBuilder) {
        // White space before the bracket is not skipped: a line break is the first byte of a protobuf request.
        let is_sound = if bytes.starts_with(b"{") {
            self.json.decode_text(bytes, pos, batch).is_some()
        } else {
            let (mut fields, mut resources) = (Fields::new(bytes), 0);
            for field in fields.by_ref().filter(|field| field.number == request::RESOURCE_SPANS) {
                self.proto.resource_spans(field.value.bytes(), pos, &mut self.json.layout, batch);
                resources += 1;
            }
            !fields.is_broken() && (resources > 0 || bytes.is_empty())
        };
        if is_whole && !is_sound {
            batch.lose(Loss::BadRecord, pos);
        }
    }

    fn has_others_only(&self) -> bool {
        let (json, proto) = (&self.json, &self.proto);
        (json.has_others || proto.has_others) && !(json.has_spans || proto.has_spans)
    }

    /// Emits what was decoded, since the next request has not arrived yet.
    fn flush(
        &mut self,
        batch: &mut BatchBuilder,
        sink: &mut dyn BatchSink,
        context: &ReadContext,
    ) -> Result<(), ReadError> {
        self.json.layout.flush(&mut Output::new(batch, &mut *sink, context))?;
        batch.flush_if_any(sink)
    }
}
