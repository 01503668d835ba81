//! Zipkin spans of version 1. Annotations have the times: `cs` and `cr` of the client, `sr` and `ss` of the server,
//! `ms` and `mr` of a message. Tags are binary annotations. A span with both sides becomes two, as in version 2.

use super::zipkin_span::{SpanSide, ZipkinSpan};
use crate::formats::json::document::TimeUnit;
use crate::formats::output::args::ArgsWriter;

/// Sides of a span, with the annotations of their starts and ends.
const SIDES: [(&str, &str, &str); 4] =
    [("CLIENT", "cs", "cr"), ("SERVER", "sr", "ss"), ("PRODUCER", "ms", ""), ("CONSUMER", "mr", "")];

/// Tags that are addresses: of the server, the client, a message broker, and local work.
const ADDRESSES: [&str; 4] = ["sa", "ca", "ma", "lc"];

/// Returns the sides of a span of version 1; empty for version 2.
pub(super) fn span_sides<'s>(span: &'s ZipkinSpan<'_>) -> Vec<SpanSide<'s>> {
    const UNIT: TimeUnit = TimeUnit::Microseconds;
    let is_first_version = !span.binary_annotations.is_empty()
        || span.local_endpoint.is_none() && span.annotations.iter().any(|annotation| annotation.endpoint.is_some());
    if !is_first_version {
        return Vec::new();
    }
    let find_annotation =
        |value: &str| span.annotations.iter().find(|annotation| annotation.value == value && !value.is_empty());
    let time = |value: &str| UNIT.nanos(find_annotation(value)?.timestamp?).ok();
    let service = |value: &str| find_annotation(value)?.endpoint.as_ref().map(|endpoint| &*endpoint.service_name);
    let address = |key: &str| {
        let tag = span.binary_annotations.iter().find(|tag| tag.key == key)?;
        tag.endpoint.as_ref().map(|endpoint| &*endpoint.service_name)
    };
    let own_start = span.timestamp.and_then(|timestamp| UNIT.nanos(timestamp).ok());
    let own_dur = span.duration.and_then(|duration| UNIT.nanos(duration).ok());
    let own_end = own_start.zip(own_dur).map(|(start_ns, dur_ns)| start_ns.saturating_add(dur_ns));
    let recorded: Vec<_> = SIDES.iter().filter(|(_, begin, end)| time(begin).or(time(end)).is_some()).collect();
    let is_alone = recorded.len() == 1;
    let mut sides: Vec<SpanSide<'_>> = Vec::new();
    for &&(kind, begin, end) in &recorded {
        // The side that created the span has its times.
        let start_ns = if is_alone { own_start.or(time(begin)) } else { time(begin) };
        let end_ns = if is_alone { own_end.or(time(end)) } else { time(end) };
        let Some(start_ns) = start_ns.or(end_ns) else { continue };
        let remote =
            if matches!(kind, "CLIENT" | "PRODUCER") { address("sa").or(address("ma")) } else { address("ca") };
        sides.push(SpanSide {
            service: service(begin).or(service(end)),
            kind: Some(kind),
            start_ns,
            end_ns,
            remote,
            is_shared: kind == "SERVER" && !is_alone,
        });
    }
    if let (true, Some(start_ns)) = (sides.is_empty(), own_start) {
        let mut services = span.binary_annotations.iter().filter_map(|tag| tag.endpoint.as_ref());
        let annotated = span.annotations.iter().find_map(|annotation| annotation.endpoint.as_ref());
        let service = services.next().or(annotated).map(|endpoint| &*endpoint.service_name);
        sides.push(SpanSide { service, kind: None, start_ns, end_ns: own_end, remote: None, is_shared: false });
    }
    sides
}

/// Writes the binary annotations of a span as its tags.
pub(super) fn write_tags(span: &ZipkinSpan<'_>, args: &mut ArgsWriter) {
    let tags = span.binary_annotations.iter().filter(|tag| !ADDRESSES.contains(&&*tag.key));
    let mut json = String::new();
    for tag in tags {
        json.push(if json.is_empty() { '{' } else { ',' });
        crate::formats::output::args::push_quoted(&mut json, &tag.key);
        json.push(':');
        json.push_str(tag.value.map_or("null", |value| value.get()));
    }
    if !json.is_empty() {
        json.push('}');
        args.key("", b"tags");
        args.json.push_str(&json);
    }
}
