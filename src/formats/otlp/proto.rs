//! Protobuf requests: `ExportTraceServiceRequest`, or several of them concatenated. Buffers one `ResourceSpans` at a
//! time, of at most 64 MiB. Requests with their sizes are read by `sized`.

use super::fields::{key_value, request, resource, resource_spans};
use super::json_request::no_spans;
use super::layout::Layout;
use super::proto_request::{ProtoDecoder, RESOURCE_BYTES_MAX, is_attribute_key};
use super::sized::{SizePrefix, SizedRequests};
use crate::formats::format::{ArrivalKey, DataKind, Format, Opener};
use crate::formats::input::byte_reader::ByteReader;
use crate::formats::input::lines::Output;
use crate::formats::input::source::Source;
use crate::formats::output::batch::BatchBuilder;
use crate::formats::protobuf::decode::{FieldHead, bytes_tag, take_varint};
use crate::formats::protobuf::numbers::FieldNumber;
use crate::formats::{BatchSink, ReadContext, ReadError, Reader, StreamReader};
use crate::model::{Loss, LossValue, SourcePos};

pub(crate) const FORMAT: Format = Format {
    name: "OpenTelemetry protobuf",
    record: "A record is a ResourceSpans message with ScopeSpans, whose spans have a start and an end.",
    sniff: looks_like_otlp,
    is_event: None,
    live: Some(ArrivalKey::EndWithPoints),
    shows: &[DataKind::Spans, DataKind::Instants, DataKind::Flows, DataKind::Arguments],
    opener: Opener::Trace(|source, _| Ok(open(source))),
};

/// Returns whether a file starts with a request, or with its size and a request.
fn looks_like_otlp(head: &[u8]) -> bool {
    is_request(head) || SizePrefix::detect(head).is_some()
}

/// Returns whether a file starts with a resource with named attributes. Perfetto and pprof files start with the same
/// byte, but have numbers in place of this text.
fn is_request(head: &[u8]) -> bool {
    let inside = |bytes: &[u8], field: FieldNumber| -> Option<Vec<u8>> {
        let mut rest = bytes.strip_prefix(&[bytes_tag(field) as u8])?;
        let len = usize::try_from(take_varint(&mut rest)?).ok()?;
        Some(rest[..len.min(rest.len())].to_vec())
    };
    let path = [request::RESOURCE_SPANS, resource_spans::RESOURCE, resource::ATTRIBUTES, key_value::KEY];
    let key = path.into_iter().try_fold(head.to_vec(), |bytes, field| inside(&bytes, field));
    key.is_some_and(|key| is_attribute_key(&key))
}

/// Creates a reader of requests.
fn open(source: Source) -> Reader {
    if let Some(prefix) = SizePrefix::detect(source.head()).filter(|_| !is_request(source.head())) {
        return Reader::stream(SizedRequests::new(source, prefix));
    }
    Reader::stream(Protobuf { source })
}

struct Protobuf {
    source: Source,
}

impl StreamReader for Protobuf {
    fn read(self: Box<Self>, sink: &mut dyn BatchSink, context: &ReadContext) -> Result<(), ReadError> {
        let mut batch = BatchBuilder::new(context.chunk_limits);
        let (mut decoder, mut layout) = (ProtoDecoder::default(), Layout::default());
        let path = self.source.path().to_owned();
        let mut input = ByteReader::new(self.source);
        loop {
            context.cancel.check()?;
            let pos = SourcePos::Offset(input.offset());
            if input.would_wait(FieldHead::BYTES_MAX) {
                layout.flush(&mut Output::new(&mut batch, &mut *sink, context))?;
                batch.flush_if_any(sink)?;
            }
            let head = input.peek(FieldHead::BYTES_MAX)?;
            if head.is_empty() {
                break;
            }
            let field = match FieldHead::decode(head) {
                Ok(field) => field,
                Err(loss) => {
                    // The format has no markers by which the reader could resynchronise.
                    batch.lose(loss, pos);
                    break;
                }
            };
            input.skip(field.head_bytes)?;
            let len = usize::try_from(field.content_bytes).ok().filter(|&len| len <= RESOURCE_BYTES_MAX);
            let Some(len) = len else {
                // A length beyond the end of the file is damage.
                let is_whole = input.skip(field.content_bytes)?;
                batch.lose(if is_whole { Loss::OverLimit } else { Loss::BadRecord }, pos);
                continue;
            };
            let bytes = input.peek(len)?;
            let (taken, is_cut) = (bytes.len() as u64, bytes.len() < len);
            if field.tag == bytes_tag(request::RESOURCE_SPANS) {
                decoder.resource_spans(bytes, pos, &mut layout, &mut batch);
            } else {
                batch.lose_value(Loss::IgnoredPacket, LossValue::Number("field", field.tag >> 3), pos);
            }
            if is_cut {
                batch.lose(Loss::Truncated, pos);
            }
            input.skip(taken)?;
            layout.flush_if_full(&mut Output::new(&mut batch, &mut *sink, context))?;
        }
        if decoder.has_others && !decoder.has_spans {
            return Err(no_spans(path));
        }
        layout.finish(&mut Output::new(&mut batch, &mut *sink, context))?;
        batch.lose_cut(input.source().cut_at());
        batch.flush(sink)
    }
}
