//! The kernel trace in the text of a page. Passes the lines between the tags of trace data to the parser of ftrace
//! text, and ignores the others. Counts parts that are JSON; [`super`] reads them if the page is complete.

use crate::formats::input::lines::{LineParser, Output, TextLine};
use crate::formats::input::source::Source;
use crate::formats::json::sniff::looks_like_json;
use crate::formats::linux::ftrace::{Ftrace, FtraceLine};
use crate::formats::output::batch::BatchBuilder;
use crate::formats::{ReadError, Reader};
use crate::model::Loss;

/// Name of a page that contains no trace.
pub(crate) const PAGE_WITHOUT_TRACE: &str = "an HTML page without a trace";

/// Name of a page whose trace is not text.
const VIEWER_PAGE: &str = "a page (HTML) of a trace viewer such as trace2html: open the JSON that it was made from";

/// Message about a part of a page that is JSON.
const JSON_PART: &str =
    "A part of the page is a trace as JSON, which is not read in a page; open the JSON that the page was made from.";

/// Creates a reader for the text of a page.
pub(super) fn open(source: Source) -> Reader {
    crate::formats::input::lines::open(source, PageText::default())
}

/// Returns whether JSON text has an event that is neither a clock nor metadata.
pub(super) fn has_events(json: &[u8]) -> bool {
    let phase = |at: usize| {
        let value = json[at + b"\"ph\"".len()..].trim_ascii_start().strip_prefix(b":")?.trim_ascii_start();
        value.strip_prefix(b"\"")?.first()
    };
    memchr::memmem::find_iter(json, b"\"ph\"").filter_map(phase).any(|phase| !matches!(phase, b'c' | b'M'))
}

/// The content of the current line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum LineContent {
    /// The page itself, such as the code of the viewer.
    #[default]
    NoPart,
    Text {
        /// Whether the part has had an event. Parts without are process lists.
        has_event: bool,
    },
    Json {
        /// Whether the part has had an event, and has been counted.
        has_event: bool,
    },
}

/// Parses the lines of a page.
#[derive(Debug, Default)]
struct PageText {
    parser: Ftrace,
    content: LineContent,
    /// Whether the page has trace data.
    has_trace: bool,
    /// Whether a part is JSON with events.
    has_json: bool,
    /// Whether the page has data of a viewer that is not text.
    has_viewer_data: bool,
}

impl PageText {
    /// Returns the text of a line of trace data. Counts JSON, and returns `None` for it and for lines of the page.
    fn trace_text<'a>(&mut self, line: TextLine<'a>, batch: &mut BatchBuilder) -> Option<&'a [u8]> {
        let bytes = line.bytes;
        let has = |text: &str| memchr::memmem::find(bytes, text.as_bytes()).is_some();
        if self.content == LineContent::NoPart {
            // In old pages, the trace is a string in a script, whose first line is empty. The viewer of a newer page
            // contains a pattern for that line.
            let begins_old = || bytes.trim_ascii_end().ends_with(b"linuxPerfData = \"\\");
            if has("<script") && has("trace-data") || begins_old() {
                (self.content, self.has_trace) = (LineContent::Text { has_event: false }, true);
            } else {
                // The trace in such pages is JSON, often compressed.
                self.has_viewer_data |= has("<script id=\"viewer-data\"");
            }
            return None;
        }
        if has("</script>") || bytes.trim_ascii().starts_with(b"\";") {
            self.content = LineContent::NoPart;
            self.has_viewer_data |= has("<script id=\"viewer-data\"");
            return None;
        }
        // The string of an old page may end in its last line.
        if let Some(last) = bytes.strip_suffix(b"\\n\";") {
            self.content = LineContent::NoPart;
            return (!last.trim_ascii().is_empty()).then_some(last);
        }
        let is_json = match self.content {
            LineContent::Text { has_event } => !has_event && looks_like_json(bytes),
            LineContent::Json { .. } => true,
            LineContent::NoPart => false,
        };
        if is_json {
            self.json_line(line, batch);
            return None;
        }
        Some(bytes.strip_suffix(b"\\n\\").unwrap_or(bytes))
    }

    /// Counts a part that is JSON at its first line with events. Parts without events are notes: systrace writes clocks
    /// and its settings.
    fn json_line(&mut self, line: TextLine<'_>, batch: &mut BatchBuilder) {
        if self.content == (LineContent::Json { has_event: true }) {
            return;
        }
        let has_event = has_events(line.bytes);
        self.content = LineContent::Json { has_event };
        self.has_json |= has_event;
        if has_event {
            batch.losses().add_because(JSON_PART, Loss::BadRecord, line.pos());
        } else {
            batch.lose(Loss::IgnoredMetadata, line.pos());
        }
    }
}

impl LineParser for PageText {
    fn line(&mut self, line: TextLine<'_>, batch: &mut BatchBuilder) {
        let Some(bytes) = self.trace_text(line, batch) else { return };
        match self.parser.parse_line(TextLine { bytes, ..line }, batch) {
            FtraceLine::Event => {
                if let LineContent::Text { has_event } = &mut self.content {
                    *has_event = true;
                }
            }
            FtraceLine::Unknown => {
                let is_list = self.content == (LineContent::Text { has_event: false });
                batch.lose(if is_list { Loss::IgnoredMetadata } else { line.loss() }, line.pos());
            }
            FtraceLine::GraphFunction | FtraceLine::Other => {}
        }
    }

    fn refusal(&self) -> Option<&'static str> {
        if self.has_trace && (self.parser.has_event() || !self.has_json) {
            None
        } else if self.has_viewer_data || self.has_json {
            Some(VIEWER_PAGE)
        } else {
            Some(PAGE_WITHOUT_TRACE)
        }
    }

    fn pause(&mut self, out: &mut Output<'_>) -> Result<(), ReadError> {
        self.parser.pause(out)
    }

    fn finish(&mut self, out: &mut Output<'_>) -> Result<(), ReadError> {
        self.parser.finish(out)
    }
}
