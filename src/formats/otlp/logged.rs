//! Requests in the log of a program, as Java's exporter of OTLP JSON to a logger writes them. Each is on a line of its
//! own, without line breaks, after the time, thread and level that the logger adds. It is a whole request, or one
//! `ResourceSpans`. Other lines are only counted.

use memchr::memmem;

use super::json_request::JsonDecoder;
use crate::formats::input::lines::TextLine;
use crate::formats::input::source::HEAD_BYTES;
use crate::formats::json::outline::Outline;
use crate::formats::json::scan::Scanner;
use crate::formats::json::text::line_loss;
use crate::formats::output::batch::BatchBuilder;
use crate::model::Loss;

/// The first bytes of all forms of requests.
const BEGINNING: &[u8] = b"{\"resource";

/// The package of Java's exporters. Java's default logger writes their class on the line before the request.
const EXPORTERS: &[u8] = b"io.opentelemetry.exporter.logging.otlp.";

/// Returns whether any line has a request after the prefix of a logger. The last line may be incomplete.
pub(super) fn looks_like_logged(head: &[u8]) -> bool {
    head.split(|&byte| byte == b'\n').filter_map(request_in).any(is_request)
}

/// Returns the possible request in a line. A quote before it means that it is part of another document.
fn request_in(line: &[u8]) -> Option<&[u8]> {
    let at = memmem::find(line, BEGINNING)?;
    (!line[..at].contains(&b'"')).then(|| &line[at..])
}

/// Returns whether JSON text has the keys of a request, or of a resource with attributes or data.
fn is_request(text: &[u8]) -> bool {
    let outline = Outline::from_head(&text[..text.len().min(HEAD_BYTES)]);
    let data = ["scopeSpans", "scopeMetrics", "scopeLogs"];
    let requests = ["resourceSpans", "resourceMetrics", "resourceLogs"];
    outline.has_all(&["resource.attributes[].key", "resource.attributes[].value"])
        || outline.has_all(&["resource"]) && outline.count_of(&data) > 0
        || outline.count_of(&requests) > 0
}

/// Decodes the request in a line of a log; other lines are counted.
pub(super) fn decode_logged_line(line: TextLine<'_>, decoder: &mut JsonDecoder, batch: &mut BatchBuilder) {
    let Some(text) = request_in(line.bytes) else {
        let is_other = !line.bytes.trim_ascii().is_empty() && memmem::find(line.bytes, EXPORTERS).is_none();
        return batch.losses().add_many(Loss::IgnoredMetadata, line.pos(), u64::from(is_other));
    };
    // A logger may write more after the request.
    let text = Scanner::new(text, 0).value(0).map_or(text, |value| value.text);
    match decoder.decode_text(text, line.pos(), batch) {
        Some(true) => {}
        None if is_request(text) => batch.lose(line_loss(&TextLine { bytes: text, ..line }), line.pos()),
        _ => batch.lose(Loss::IgnoredMetadata, line.pos()),
    }
}
