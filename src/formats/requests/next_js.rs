//! Next.js traces (`.next/trace`): each line is an array of spans with parents. `timestamp` and `duration` are
//! microseconds on a process clock; `startTime`, in milliseconds since 1970, gives the offset of that clock. All spans
//! belong to one service.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::{SpanDecoder, SpanDocument, SpanSink, id_text, times};
use crate::formats::format::{DataKind, Format, Opener};
use crate::formats::input::lines::{LineParser, Output, TextLine};
use crate::formats::json::document::{JsonExtent, TimeUnit};
use crate::formats::json::lenient::text;
use crate::formats::json::outline::Outline;
use crate::formats::json::scan::{Broken, Scanner};
use crate::formats::json::sniff::looks_like_json;
use crate::formats::json::text::parse;
use crate::formats::otlp::layout::{Layout, ServiceSpan, span_id};
use crate::formats::output::args::ArgsWriter;
use crate::formats::output::batch::BatchBuilder;
use crate::formats::{ReadError, Reader, input};
use crate::model::{Loss, SourcePos};

pub(crate) const FORMAT: Format = Format {
    name: "Next.js trace",
    record: "A span is an object with id, name, timestamp and duration, in an array on each line.",
    sniff: |head| {
        let outline = looks_like_json(head).then(|| Outline::from_head(head));
        outline.is_some_and(|outline| {
            outline.has_all(&["[].traceId", "[].id", "[].timestamp", "[].duration", "[].startTime"])
                || outline.has_all(&["traceId", "id", "timestamp", "duration", "startTime"])
        })
    },
    is_event: None,
    live: None,
    shows: &[DataKind::Spans, DataKind::Flows, DataKind::Arguments],
    opener: Opener::Trace(|source, _| {
        if is_pretty(source.head()) {
            return Ok(Reader::stream(SpanDocument { source, decoder: NextClock::default() }));
        }
        Ok(input::lines::open(source, NextLines::default()))
    }),
};

/// Returns whether the first span continues on the next line, as `jq` prints it.
fn is_pretty(head: &[u8]) -> bool {
    let mut lines = head.split_inclusive(|&byte| byte == b'\n').map(<[u8]>::trim_ascii_start);
    let first_span = lines.find(|line| !matches!(line.trim_ascii_end(), b"" | b"["));
    first_span.is_some_and(|line| {
        let span = line.strip_prefix(b"[").unwrap_or(line);
        line.ends_with(b"\n") && matches!(Scanner::new(span, 0).value(0), Err(Broken::Incomplete))
    })
}

/// A trace with an array of spans on each line.
#[derive(Default)]
struct NextLines {
    layout: Layout,
    clock: NextClock,
}

#[derive(Default)]
struct NextClock {
    /// Offset from the clock of the trace to the time since 1970, from the first span.
    offset_ns: Option<i64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct NextSpan<'a> {
    #[serde(default, deserialize_with = "text")]
    trace_id: String,
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    parent_id: Option<&'a RawValue>,
    #[serde(default, deserialize_with = "text")]
    name: String,
    #[serde(borrow)]
    timestamp: Option<&'a RawValue>,
    #[serde(borrow)]
    duration: Option<&'a RawValue>,
    #[serde(borrow)]
    start_time: Option<&'a RawValue>,
    #[serde(borrow)]
    tags: Option<&'a RawValue>,
}

impl LineParser for NextLines {
    /// Long builds write lines of several MiB.
    const LINE_BYTES_MAX: usize = 64 << 20;

    fn line(&mut self, line: TextLine<'_>, batch: &mut BatchBuilder) {
        let mut scanner = Scanner::new(line.bytes, 0);
        // A line may contain several arrays.
        while let Ok(byte) = scanner.peek() {
            if matches!(byte, b'[' | b',' | b']') {
                scanner.pos += 1;
                continue;
            }
            let pos = SourcePos::Offset(line.offset.saturating_add(scanner.pos as u64));
            let value = match scanner.value(0) {
                Ok(value) => value,
                Err(Broken::Incomplete) => return batch.lose(line.loss(), pos),
                Err(_) => return batch.lose(Loss::BadRecord, pos),
            };
            let mut copy = String::new();
            match parse::<NextSpan<'_>>(value.text, &mut copy, pos, batch.losses()) {
                Some(span) => self.clock.add_span(&span, pos, &mut self.layout, batch),
                None => batch.lose(Loss::BadRecord, pos),
            }
        }
    }

    fn after_line(&mut self, out: &mut Output<'_>) -> Result<(), ReadError> {
        self.layout.flush_if_full(out)
    }

    fn finish(&mut self, out: &mut Output<'_>) -> Result<(), ReadError> {
        self.layout.flush(out)
    }
}

impl SpanDecoder for NextClock {
    fn decode(&mut self, extent: JsonExtent, sink: &mut SpanSink<'_, '_>) -> Result<bool, ReadError> {
        let SpanSink { document, layout, out } = sink;
        let is_array = document.is_array(extent)?;
        let mut spans = if is_array { document.elements(Some(extent)) } else { document.values(extent) };
        while let Some(element) = spans.next()? {
            let pos = SourcePos::Offset(element.offset);
            let Some(span) = element.parse::<NextSpan<'_>>(out.batch.losses()) else { continue };
            self.add_span(&span, pos, layout, out.batch);
            layout.flush_if_full(out)?;
        }
        Ok(true)
    }
}

impl NextClock {
    fn add_span(&mut self, span: &NextSpan<'_>, pos: SourcePos, layout: &mut Layout, batch: &mut BatchBuilder) {
        const UNIT: TimeUnit = TimeUnit::Microseconds;
        let offset_ns = *self.offset_ns.get_or_insert_with(|| {
            let epoch_ns = span.start_time.and_then(|start| TimeUnit::Milliseconds.nanos(start).ok());
            let clock_ns = span.timestamp.and_then(|timestamp| UNIT.nanos(timestamp).ok());
            epoch_ns.zip(clock_ns).and_then(|(epoch_ns, clock_ns)| epoch_ns.checked_sub(clock_ns)).unwrap_or(0)
        });
        let times = times(span.timestamp, span.duration, UNIT, offset_ns, pos, batch);
        let Some((start_ns, end_ns)) = times else { return };
        let service = layout.service("Next.js", batch);
        let mut args = ArgsWriter::default();
        if let Some(tags) = span.tags.filter(|tags| !matches!(tags.get(), "null" | "{}")) {
            args.key("", b"tags");
            args.json.push_str(tags.get());
        }
        args.text("trace_id", span.trace_id.as_bytes());
        for (key, id) in [("span_id", span.id), ("parent_span_id", span.parent_id)] {
            if let Some(id) = id {
                args.key("", key.as_bytes());
                args.json.push_str(id.get());
            }
        }
        let id_of = |id: &RawValue| span_id(span.trace_id.as_bytes(), id_text(id).as_bytes());
        layout.push(ServiceSpan {
            id: span.id.map_or(0, id_of),
            parent: span.parent_id.map(id_of),
            args: args.finish().into(),
            ..ServiceSpan::new(service, span.name.as_bytes(), start_ns, end_ns, pos)
        });
    }
}
