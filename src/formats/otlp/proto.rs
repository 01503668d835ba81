//! Protobuf requests: `ExportTraceServiceRequest`, or several of them concatenated. Buffers one `ResourceSpans` at a
//! time, of at most 64 MiB.

use super::attributes::{Attributes, WriteJson, kind_name, status_name, write_double, write_list, write_object};
use super::fields::{
    any_value, array_value, event, key_value, kvlist, link, request, resource, resource_spans, scope, scope_spans,
    span, status,
};
use super::ids::hex;
use super::layout::{Layout, Point, ServiceSpan, span_id};
use crate::formats::format::{Format, Opener, Shown};
use crate::formats::input::byte_reader::ByteReader;
use crate::formats::input::lines::Output;
use crate::formats::input::source::Source;
use crate::formats::output::args::push_quoted;
use crate::formats::output::batch::BatchBuilder;
use crate::formats::protobuf::decode::{Fields, ProtoValue, bytes_tag, take_varint};
use crate::formats::protobuf::numbers::FieldNumber;
use crate::formats::{BatchSink, ReadContext, ReadError, Reader, StreamReader};
use crate::model::{Loss, SourcePos};

/// Tag of `ResourceSpans`, the only field of a request.
const TAG: u8 = bytes_tag(request::RESOURCE_SPANS) as u8;

/// Maximal bytes of a tag and a length.
const HEADER_BYTES: usize = 11;

/// Limit for `ResourceSpans`; a larger one is damage.
const RESOURCE_BYTES_MAX: usize = 64 << 20;

/// Limit for nested values; the JSON parser of arguments allows 128.
const DEPTH_MAX: u32 = 100;

pub(crate) const FORMAT: Format = Format {
    name: "OpenTelemetry protobuf",
    record: "A record is a ResourceSpans message with ScopeSpans, whose spans have a start and an end.",
    sniff: looks_like_otlp,
    shows: &[Shown::Spans, Shown::Instants, Shown::Flows, Shown::Arguments],
    opener: Opener::Capture(|source, _| Ok(open(source))),
};

/// Returns whether a file starts with a resource with named attributes. Perfetto and pprof files start with the same
/// byte, but have numbers in place of this text.
fn looks_like_otlp(head: &[u8]) -> bool {
    let inside = |bytes: &[u8], field: FieldNumber| -> Option<Vec<u8>> {
        let mut rest = bytes.strip_prefix(&[bytes_tag(field) as u8])?;
        let len = usize::try_from(take_varint(&mut rest)?).ok()?;
        Some(rest[..len.min(rest.len())].to_vec())
    };
    let path = [request::RESOURCE_SPANS, resource_spans::RESOURCE, resource::ATTRIBUTES, key_value::KEY];
    let key = path.into_iter().try_fold(head.to_vec(), |bytes, field| inside(&bytes, field));
    let is_key = |key: &[u8]| key.iter().all(|&byte| byte.is_ascii_alphanumeric() || b"._-/".contains(&byte));
    key.is_some_and(|key| key.len() > 2 && is_key(&key))
}

/// Creates a reader of requests.
fn open(source: Source) -> Reader {
    Reader::Stream(Box::new(Protobuf { source: Some(source) }))
}

struct Protobuf {
    source: Option<Source>,
}

impl StreamReader for Protobuf {
    fn read(&mut self, sink: &mut dyn BatchSink, context: &ReadContext) -> Result<(), ReadError> {
        let Some(source) = self.source.take() else { return Ok(()) };
        let mut input = ByteReader::new(source);
        let mut batch = BatchBuilder::new(context.chunk_limits);
        let mut decoder = ProtoDecoder::default();
        loop {
            context.cancel.check()?;
            let place = SourcePos::Offset(input.offset());
            if input.would_wait(HEADER_BYTES) {
                decoder.layout.flush(&mut Output::new(&mut batch, &mut *sink, context))?;
                batch.flush_if_any(sink)?;
            }
            let mut head = input.peek(HEADER_BYTES)?;
            let Some((&tag, rest)) = head.split_first() else { break };
            head = rest;
            let before = head.len();
            let len = take_varint(&mut head).and_then(|len| usize::try_from(len).ok());
            let header = 1 + (before - head.len()) as u64;
            match len {
                Some(len) if tag == TAG && len <= RESOURCE_BYTES_MAX => {
                    input.skip(header)?;
                    let bytes = input.peek(len)?;
                    let (taken, is_cut) = (bytes.len() as u64, bytes.len() < len);
                    decoder.resource_spans(bytes, place, &mut batch);
                    if is_cut {
                        batch.lose(Loss::Truncated, place);
                    }
                    input.skip(taken)?;
                }
                None if before < 10 => {
                    batch.lose(Loss::Truncated, place);
                    break;
                }
                _ => {
                    // The format has no markers to resynchronise.
                    batch.lose(Loss::BadRecord, place);
                    break;
                }
            }
            if decoder.layout.is_full(&context.budget) {
                decoder.layout.flush(&mut Output::new(&mut batch, &mut *sink, context))?;
            }
        }
        decoder.layout.flush(&mut Output::new(&mut batch, &mut *sink, context))?;
        if let Some(offset) = input.source().cut_at()
            && batch.batch.losses.count(Loss::Truncated) == 0
        {
            batch.lose(Loss::Truncated, SourcePos::Offset(offset));
        }
        batch.flush(sink)
    }
}

/// An encoded attribute value.
#[derive(Clone, Copy)]
struct ProtoAnyValue<'a> {
    bytes: &'a [u8],
    depth: u32,
}

impl WriteJson for ProtoAnyValue<'_> {
    fn write_json(&self, json: &mut String) {
        use std::fmt::Write as _;
        let depth = self.depth + 1;
        let value = Fields::new(self.bytes)
            .find(|field| any_value::STRING_VALUE <= field.number && field.number <= any_value::BYTES_VALUE);
        match value.map(|field| (field.number, field.value)) {
            Some((any_value::STRING_VALUE, text)) => push_quoted(json, &String::from_utf8_lossy(text.bytes())),
            Some((any_value::BOOL_VALUE, flag)) => json.push_str(if flag.number() == 0 { "false" } else { "true" }),
            Some((any_value::INT_VALUE, number)) => {
                let _ = write!(json, "{}", number.signed()); // to memory
            }
            Some((any_value::DOUBLE_VALUE, number)) => write_double(number.double(), json),
            Some((any_value::ARRAY_VALUE, list)) if depth < DEPTH_MAX => {
                let values = Fields::new(list.bytes()).filter(|field| field.number == array_value::VALUES);
                write_list(values.map(|field| ProtoAnyValue { bytes: field.value.bytes(), depth }), json);
            }
            Some((any_value::KVLIST_VALUE, list)) if depth < DEPTH_MAX => {
                let members = Fields::new(list.bytes()).filter(|field| field.number == kvlist::VALUES);
                let members: Vec<_> = members.map(|field| key_value(field.value.bytes(), depth)).collect();
                let texts: Vec<_> = members.iter().map(|member| String::from_utf8_lossy(member.0)).collect();
                write_object(texts.iter().map(|text| &**text).zip(members.iter().map(|member| member.1)), json);
            }
            Some((any_value::BYTES_VALUE, bytes)) => {
                push_quoted(json, &hex(bytes.bytes()));
            }
            _ => json.push_str("null"),
        }
    }
}

fn key_value(bytes: &[u8], depth: u32) -> (&[u8], ProtoAnyValue<'_>) {
    let (mut key, mut value) = (&b""[..], &b""[..]);
    for field in Fields::new(bytes) {
        match field.number {
            key_value::KEY => key = field.value.bytes(),
            key_value::VALUE => value = field.value.bytes(),
            _ => {}
        }
    }
    (key, ProtoAnyValue { bytes: value, depth })
}

/// An encoded span link: ids and attributes.
struct ProtoLink<'a>(&'a [u8]);

struct ProtoLinks<'a>(Vec<ProtoLink<'a>>);

impl WriteJson for ProtoLink<'_> {
    fn write_json(&self, json: &mut String) {
        let id = |number| {
            Fields::new(self.0).find(|field| field.number == number).map_or(String::new(), |id| hex(id.value.bytes()))
        };
        json.push_str("{\"trace_id\":");
        push_quoted(json, &id(link::TRACE_ID));
        json.push_str(",\"span_id\":");
        push_quoted(json, &id(link::SPAN_ID));
        json.push_str(",\"attributes\":");
        let members: Vec<_> = Fields::new(self.0).filter(|field| field.number == link::ATTRIBUTES).collect();
        let members: Vec<_> = members.iter().map(|member| key_value(member.value.bytes(), 0)).collect();
        let texts: Vec<_> = members.iter().map(|member| String::from_utf8_lossy(member.0)).collect();
        write_object(texts.iter().map(|text| &**text).zip(members.iter().map(|member| member.1)), json);
        json.push('}');
    }
}

impl WriteJson for ProtoLinks<'_> {
    fn write_json(&self, json: &mut String) {
        write_list(self.0.iter().map(|link| ProtoLink(link.0)), json);
    }
}

#[derive(Default)]
struct ProtoDecoder {
    layout: Layout,
    attributes: Attributes,
}

impl ProtoDecoder {
    fn resource_spans(&mut self, bytes: &[u8], place: SourcePos, batch: &mut BatchBuilder) {
        let mut name = String::from("unknown service");
        let mut fields = Fields::new(bytes);
        for field in fields.by_ref().filter(|field| field.number == resource_spans::RESOURCE) {
            for attribute in Fields::new(field.value.bytes()).filter(|field| field.number == resource::ATTRIBUTES) {
                let (key, value) = key_value(attribute.value.bytes(), 0);
                if key == b"service.name"
                    && let Some(text) = Fields::new(value.bytes).find(|field| field.number == any_value::STRING_VALUE)
                {
                    name = String::from_utf8_lossy(text.value.bytes()).into_owned();
                }
            }
        }
        let is_broken = fields.is_broken();
        let service = self.layout.service(&name, batch);
        for of_scope in Fields::new(bytes).filter(|field| field.number == resource_spans::SCOPE_SPANS) {
            let bytes = of_scope.value.bytes();
            let named = Fields::new(bytes).find(|field| field.number == scope_spans::SCOPE);
            let named =
                named.and_then(|named| Fields::new(named.value.bytes()).find(|field| field.number == scope::NAME));
            let scope = named.map(|scope| String::from_utf8_lossy(scope.value.bytes()).into_owned());
            let mut fields = Fields::new(bytes);
            for span in fields.by_ref().filter(|field| field.number == scope_spans::SPANS) {
                self.span(span.value.bytes(), service, scope.as_deref().unwrap_or_default(), place, batch);
            }
            if fields.is_broken() {
                batch.lose(Loss::BadRecord, place);
            }
        }
        if is_broken {
            batch.lose(Loss::BadRecord, place);
        }
    }

    fn span(&mut self, bytes: &[u8], service: u32, scope: &str, place: SourcePos, batch: &mut BatchBuilder) {
        let (mut trace, mut id, mut parent, mut name) = (&b""[..], &b""[..], &b""[..], &b""[..]);
        let (mut kind, mut start, mut end, mut status) = (0, None, 0, &b""[..]);
        let mut fields = Fields::new(bytes);
        for field in fields.by_ref() {
            match (field.number, field.value) {
                (span::TRACE_ID, value) => trace = value.bytes(),
                (span::SPAN_ID, value) => id = value.bytes(),
                (span::PARENT_SPAN_ID, value) => parent = value.bytes(),
                (span::NAME, value) => name = value.bytes(),
                (span::KIND, value) => kind = value.number(),
                (span::START_TIME_UNIX_NANO, value) => start = Some(value.number()),
                (span::END_TIME_UNIX_NANO, value) => end = value.number(),
                (span::STATUS, ProtoValue::Bytes(bytes)) => status = bytes,
                _ => {}
            }
        }
        if fields.is_broken() {
            return batch.lose(Loss::BadRecord, place);
        }
        let (Some(Ok(start_ns)), Ok(end_ns)) = (start.map(i64::try_from), i64::try_from(end)) else {
            return batch.lose(Loss::BadTime, place);
        };
        let parent = Some(parent).filter(|parent| parent.iter().any(|&byte| byte != 0));
        self.attributes.begin();
        self.attributes.text("scope", scope);
        self.attributes.text("kind", kind_name(kind));
        for field in Fields::new(status) {
            match field.number {
                status::MESSAGE => self.attributes.text("message", &String::from_utf8_lossy(field.value.bytes())),
                status::CODE => self.attributes.text("status", status_name(field.value.number())),
                _ => {}
            }
        }
        self.attributes.text("trace_id", &hex(trace));
        self.attributes.text("span_id", &hex(id));
        self.attributes.text("parent_span_id", &hex(parent.unwrap_or_default()));
        for field in Fields::new(bytes).filter(|field| field.number == span::ATTRIBUTES) {
            let (key, value) = key_value(field.value.bytes(), 0);
            self.attributes.value(key, &value);
        }
        let links: Vec<_> = Fields::new(bytes).filter(|field| field.number == span::LINKS).collect();
        if !links.is_empty() {
            let links = links.iter().map(|link| ProtoLink(link.value.bytes())).collect();
            self.attributes.value(b"links", &ProtoLinks(links));
        }
        let args = self.attributes.finish();
        let mut points = Vec::new();
        for event in Fields::new(bytes).filter(|field| field.number == span::EVENTS) {
            let (mut ts, mut name) = (None, &b""[..]);
            self.attributes.begin();
            for field in Fields::new(event.value.bytes()) {
                match field.number {
                    event::TIME_UNIX_NANO => ts = i64::try_from(field.value.number()).ok(),
                    event::NAME => name = field.value.bytes(),
                    event::ATTRIBUTES => {
                        let (key, value) = key_value(field.value.bytes(), 0);
                        self.attributes.value(key, &value);
                    }
                    _ => {}
                }
            }
            let args = self.attributes.finish();
            match ts {
                Some(ts_ns) => points.push(Point { ts_ns, name: name.into(), args }),
                None => batch.lose(Loss::BadTime, place),
            }
        }
        let (id, parent) = (span_id(trace, id), parent.map(|parent| span_id(trace, parent)));
        self.layout.push(ServiceSpan { start_ns, end_ns, id, parent, service, name: name.into(), args, points, place });
    }
}
