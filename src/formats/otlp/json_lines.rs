//! Parses text with JSON requests in its lines.

use super::json_request::{JsonDecoder, WITHOUT_SPANS};
use crate::formats::ReadError;
use crate::formats::input::lines::{LineParser, Output, TextLine};
use crate::formats::output::batch::BatchBuilder;

/// Decodes the request of a line.
type DecodeLine = fn(TextLine<'_>, &mut JsonDecoder, &mut BatchBuilder);

pub(super) struct JsonLines {
    decoder: JsonDecoder,
    decode_line: DecodeLine,
}

impl JsonLines {
    pub(super) fn new(decode_line: DecodeLine) -> Self {
        Self { decoder: JsonDecoder::default(), decode_line }
    }
}

impl LineParser for JsonLines {
    /// Limit for a line; the largest usual requests have a few MiB.
    const LINE_BYTES_MAX: usize = 64 << 20;

    fn line(&mut self, line: TextLine<'_>, batch: &mut BatchBuilder) {
        (self.decode_line)(line, &mut self.decoder, batch);
    }

    fn after_line(&mut self, out: &mut Output<'_>) -> Result<(), ReadError> {
        self.decoder.layout.flush_if_full(out)
    }

    fn pause(&mut self, out: &mut Output<'_>) -> Result<(), ReadError> {
        self.decoder.layout.flush(out)
    }

    fn refusal(&self) -> Option<&'static str> {
        self.decoder.has_others_only().then_some(WITHOUT_SPANS)
    }

    fn finish(&mut self, out: &mut Output<'_>) -> Result<(), ReadError> {
        self.decoder.layout.finish(out)
    }
}
