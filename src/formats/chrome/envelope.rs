//! Parses the syntax around the event array: its brackets, or the object with `traceEvents` or `samples` as a key.
//! Other keys are skipped in constant memory. The object may be within a reply of a protocol, such as
//! `{"result":{..}}`, or a message of the `DevTools` protocol,
//! `{"method":"Tracing.dataCollected","params":{"value":[..]}}`. Several documents may follow each other, as from runs
//! that append to one file, or one message per line. Messages may also be in an array. Events may be separate values,
//! usually one per line.

use super::document_clock::DocumentClock;
use super::wire::member;
use crate::formats::input::source::{EXCERPT_BYTES, excerpt, without_mark};
use crate::formats::json::outline::Outline;
use crate::formats::json::scan::{Broken, JsonValue, Scanner, Shape};
use crate::formats::json::skip::ValueSkipper;
use crate::model::{Loss, LossValue, Losses, SourcePos};

/// The reason why the input is not a trace: the byte offset, the expected syntax, and the bytes there.
#[derive(Debug)]
pub(super) struct NotATrace {
    pub(super) offset: u64,
    pub(super) expected: &'static str,
    pub(super) found: String,
}

/// The next part of the document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NextSyntax {
    /// More of the envelope, once there are more bytes.
    Envelope,
    /// The first record of an event array, or its end.
    Records,
}

/// Parse state of the envelope.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is about another part of the document")]
pub(super) struct Envelope {
    stage: EnvelopeStage,
    /// Number of objects around the position, [`DEPTH_MAX`] at most.
    depth: u8,
    array_found: bool,
    /// Whether this must be a trace: the array is the document or has the key `traceEvents`. The keys `samples` and
    /// `value` alone are ambiguous.
    is_certain: bool,
    /// Whether events are separate values, without an array and without commas.
    is_bare: bool,
    /// Whether the document is an array of messages that is not closed yet.
    is_message_list: bool,
    /// Whether there is a table of stack frames.
    has_frames: bool,
    /// Whether the skipped value is a table of stack frames.
    is_in_frames: bool,
    /// The text of the last table of the document, until it is taken; empty at the start of a further document.
    frames_text: Option<Vec<u8>>,
    /// Limit for the text of a table; 0 if tables are not collected.
    frames_bytes_max: usize,
    /// Text of the kernel trace that is not taken yet, with its offset.
    system_text: Option<(Vec<u8>, u64)>,
    clock: DocumentClock,
    /// The first keys other than `traceEvents`, for an error message.
    keys: Vec<String>,
}

#[derive(Debug, Clone, Copy)]
enum EnvelopeStage {
    Start,
    ArrayOpened,
    Members,
    Value(ValueSkipper),
    /// Inside the string with the kernel trace. `is_escaped` means that the last character was a backslash.
    SystemText {
        is_escaped: bool,
    },
    Closed,
    /// Other bytes follow the end, or are in place of a member. They are counted once, and the rest is ignored.
    Abandoned,
}

/// The result of a step: what follows if the caller must act, or the expected syntax if the input is not a trace.
type EnvelopeStep = Result<Option<NextSyntax>, &'static str>;

/// Limit for objects around the event array: the message of a protocol, and its parameters or result.
pub(super) const DEPTH_MAX: u8 = 2;

/// Limit for keys in an error message.
const KEYS_NAMED_MAX: usize = 5;

/// Limit for values that are parsed whole: times and the metadata of recorders.
const SMALL_BYTES_MAX: usize = 4096;

/// Time of the start of the clock of a trace, in nanoseconds since 1970: of `PyTorch`, Proton and `VizTracer`.
const BASE_TIME: &[u8] = b"baseTimeNanoseconds";

const LATE_BASE_TIME: &str =
    "the document tells the start of its clock after its events, which are shown by the clock of the first document";

/// Returns the next value, or an absent value in place of a large or damaged one, which the caller counts.
fn small_value<'a>(scanner: &Scanner<'a>) -> Result<JsonValue<'a>, Broken> {
    let ahead = &scanner.bytes[scanner.pos..];
    match Scanner::new(&ahead[..ahead.len().min(SMALL_BYTES_MAX)], 0).value(0) {
        Ok(value) => Ok(value),
        Err(Broken::Incomplete) if ahead.len() < SMALL_BYTES_MAX => Err(Broken::Incomplete),
        Err(_) => Ok(JsonValue::ABSENT),
    }
}

impl Envelope {
    pub(super) fn new() -> Self {
        Self {
            stage: EnvelopeStage::Start,
            depth: 0,
            array_found: false,
            is_certain: false,
            is_bare: false,
            is_message_list: false,
            has_frames: false,
            is_in_frames: false,
            frames_text: None,
            frames_bytes_max: 0,
            system_text: None,
            clock: DocumentClock::default(),
            keys: Vec::new(),
        }
    }

    /// Creates the envelope of separate events; the input is at the first.
    pub(super) fn bare() -> Self {
        Self { stage: EnvelopeStage::Closed, array_found: true, is_certain: true, is_bare: true, ..Self::new() }
    }

    /// Creates the envelope of an array of messages.
    pub(super) fn message_list() -> Self {
        Self { is_message_list: true, ..Self::new() }
    }

    /// Returns whether events are separate values.
    pub(super) fn is_bare(&self) -> bool {
        self.is_bare
    }

    /// Takes the text of the kernel trace since the last call, with its offset.
    pub(super) fn take_system_text(&mut self) -> Option<(Vec<u8>, u64)> {
        self.system_text.take()
    }

    /// Takes the offset from times to UTC, if the trace has stated it since the last call.
    pub(super) fn take_utc_offset_ns(&mut self) -> Option<i64> {
        self.clock.take_utc_offset_ns()
    }

    /// Returns the offset from the clock of the document to the clock of the trace.
    pub(super) fn shift_ns(&self) -> i64 {
        self.clock.shift_ns()
    }

    /// Returns whether the string with the kernel trace continues.
    pub(super) fn is_in_system_text(&self) -> bool {
        matches!(self.stage, EnvelopeStage::SystemText { .. })
    }

    /// Collects the tables of stack frames that precede the events of their documents, up to a number of bytes.
    pub(super) fn collect_frames(&mut self, bytes_max: usize) {
        self.frames_bytes_max = bytes_max;
    }

    /// Takes the text of the table of stack frames once it is complete. The text is empty at the start of a further
    /// document.
    pub(super) fn take_frames_text(&mut self) -> Option<Vec<u8>> {
        if self.is_in_frames { None } else { self.frames_text.take() }
    }

    /// Returns whether there was a table of stack frames so far.
    pub(super) fn has_frames(&self) -> bool {
        self.has_frames
    }

    /// Continues after the closing bracket of the event array.
    pub(super) fn array_closed(&mut self) {
        self.stage = if self.depth > 0 { EnvelopeStage::Members } else { EnvelopeStage::Closed };
    }

    /// Returns whether the input may end here without a loss. The array form may end anywhere, since tracers leave it
    /// open to be crash-safe.
    pub(super) fn may_end(&self) -> bool {
        self.depth == 0 || matches!(self.stage, EnvelopeStage::Closed | EnvelopeStage::Abandoned)
    }

    /// Returns an error if the input ended at `offset` without a trace. `is_recognised` means that there was an event.
    pub(super) fn at_end(&self, offset: u64, is_recognised: bool) -> Result<(), NotATrace> {
        let is_empty_object = matches!(self.stage, EnvelopeStage::Closed) && self.keys.is_empty();
        // A lone opening bracket is an unclosed array.
        if self.array_found && (self.is_certain || is_recognised)
            || is_empty_object
            || matches!(self.stage, EnvelopeStage::ArrayOpened)
        {
            return Ok(());
        }
        let found = if self.keys.is_empty() {
            "the end of the file".to_owned()
        } else {
            format!("an object with the keys {}", self.keys.join(", "))
        };
        Err(NotATrace { offset, expected: "an array of events, or an object with the key traceEvents", found })
    }

    /// Continues through `bytes`, which start at `offset` and end with the input if `at_end`. Returns the number of
    /// consumed bytes and what follows.
    pub(super) fn advance(
        &mut self,
        bytes: &[u8],
        offset: u64,
        at_end: bool,
        losses: &mut Losses,
    ) -> Result<(usize, NextSyntax), NotATrace> {
        let mut scanner = Scanner::new(bytes, 0);
        loop {
            let before = scanner.pos;
            if let EnvelopeStage::Value(mut skip) = self.stage {
                let len = skip.advance(&bytes[before..]);
                self.collect(&bytes[before..len.map_or(bytes.len(), |len| before + len)]);
                let Some(len) = len else {
                    self.stage = EnvelopeStage::Value(skip);
                    return Ok((bytes.len(), NextSyntax::Envelope));
                };
                self.is_in_frames = false;
                scanner.pos = before + len;
                self.stage = EnvelopeStage::Members;
                continue;
            }
            if let EnvelopeStage::SystemText { is_escaped } = self.stage {
                let len = self.system_text(&bytes[before..], is_escaped, offset.saturating_add(before as u64));
                // The caller takes the text before the next call.
                return Ok((before + len, NextSyntax::Envelope));
            }
            let Ok(byte) = scanner.peek() else { return Ok((scanner.pos, NextSyntax::Envelope)) };
            let here = scanner.pos;
            let offset_here = offset.saturating_add(here as u64);
            let follows = match self.stage {
                EnvelopeStage::Start => self.start(&mut scanner, &bytes[here..]),
                EnvelopeStage::ArrayOpened => self.enter_array(byte, losses, offset_here),
                EnvelopeStage::Members => self.next_member(&mut scanner, byte, losses, offset_here),
                EnvelopeStage::Closed => {
                    self.next_document(&mut scanner, byte, losses, offset_here);
                    Ok(None)
                }
                EnvelopeStage::Abandoned | EnvelopeStage::Value(_) | EnvelopeStage::SystemText { .. } => {
                    return Ok((bytes.len(), NextSyntax::Envelope));
                }
            };
            match follows {
                Ok(None) => {}
                Ok(Some(follows)) => return Ok((here, follows)),
                // So that the message does not depend on the lengths of pieces.
                Err(_) if !at_end && bytes.len() - here < EXCERPT_BYTES => return Ok((here, NextSyntax::Envelope)),
                Err(expected) => {
                    let found = excerpt(&bytes[here..]);
                    return Err(NotATrace { offset: offset_here, expected, found });
                }
            }
        }
    }

    /// Appends a part of the skipped value to the table of stack frames, if the value is this table. Drops a table that
    /// is too long.
    fn collect(&mut self, part: &[u8]) {
        if !self.is_in_frames {
            return;
        }
        let text = self.frames_text.get_or_insert_default();
        if text.len() + part.len() > self.frames_bytes_max {
            self.is_in_frames = false;
            *text = Vec::new();
        } else {
            text.extend_from_slice(part);
        }
    }

    /// Takes the text of the kernel trace up to its closing quote. Returns the number of consumed bytes.
    fn system_text(&mut self, text: &[u8], is_escaped: bool, offset: u64) -> usize {
        let (len, stage) = text_len(text, is_escaped);
        self.system_text = Some((text[..len].to_vec(), offset));
        self.stage = stage;
        len + usize::from(matches!(stage, EnvelopeStage::Members))
    }

    /// Parses the opening bracket of the document.
    fn start(&mut self, scanner: &mut Scanner<'_>, rest: &[u8]) -> EnvelopeStep {
        const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();
        if rest.starts_with(BYTE_ORDER_MARK) {
            scanner.pos += BYTE_ORDER_MARK.len();
            return Ok(None);
        }
        let is_object = rest.starts_with(b"{");
        if !is_object && !rest.starts_with(b"[") {
            return Err("JSON");
        }
        if !is_object && self.is_message_list {
            scanner.pos += 1;
            self.stage = EnvelopeStage::Closed;
            return Ok(None);
        }
        self.is_certain = !is_object;
        self.open_document(scanner, is_object);
        Ok(None)
    }

    /// Enters a document after its opening bracket.
    fn open_document(&mut self, scanner: &mut Scanner<'_>, is_object: bool) {
        scanner.pos += 1;
        self.depth = is_object.into();
        self.stage = if is_object { EnvelopeStage::Members } else { EnvelopeStage::ArrayOpened };
    }

    /// Checks the first byte of the array: the start of an event, or its end.
    fn enter_array(&mut self, byte: u8, losses: &mut Losses, offset: u64) -> EnvelopeStep {
        if matches!(byte, b'{' | b']' | b',') {
            self.array_found = true;
            self.clock.begin_events();
            return Ok(Some(NextSyntax::Records));
        }
        if !self.array_found {
            return Err("an object for each event");
        }
        self.abandon(losses, offset);
        Ok(None)
    }

    /// Parses the next member of the object, or its end.
    fn next_member(&mut self, scanner: &mut Scanner<'_>, byte: u8, losses: &mut Losses, offset: u64) -> EnvelopeStep {
        match byte {
            b',' => scanner.pos += 1,
            b'}' => {
                scanner.pos += 1;
                self.depth -= 1;
                if self.depth == 0 {
                    self.stage = EnvelopeStage::Closed;
                }
            }
            _ => match self.member(scanner, losses, offset) {
                Ok(()) => {}
                Err(Broken::Incomplete) => return Ok(Some(NextSyntax::Envelope)),
                Err(_) if self.array_found => self.abandon(losses, offset),
                Err(_) => return Err("a key and its value"),
            },
        }
        Ok(None)
    }

    /// Enters the next document of the file, or of an array of messages.
    fn next_document(&mut self, scanner: &mut Scanner<'_>, byte: u8, losses: &mut Losses, offset: u64) {
        match byte {
            b',' if self.is_message_list => scanner.pos += 1,
            b']' if self.is_message_list => {
                scanner.pos += 1;
                self.is_message_list = false;
            }
            b'[' | b'{' => {
                self.clock.begin_later_document();
                self.frames_text = Some(Vec::new());
                self.open_document(scanner, byte == b'{');
            }
            _ => self.abandon(losses, offset),
        }
    }

    /// Counts damage, and ignores the rest.
    fn abandon(&mut self, losses: &mut Losses, offset: u64) {
        losses.add(Loss::BadRecord, SourcePos::Offset(offset));
        self.stage = EnvelopeStage::Abandoned;
    }

    /// Parses a key and its colon, and the opening bracket of a value that is or contains an event array.
    fn member(&mut self, scanner: &mut Scanner<'_>, losses: &mut Losses, offset: u64) -> Result<(), Broken> {
        let key = scanner.key()?;
        let first = scanner.peek()?;
        let is_array = first == b'[';
        let has_events = match key.text {
            b"traceEvents" => is_array,
            // Other values have these keys too.
            b"samples" | b"value" => is_array && Scanner::new(scanner.bytes, scanner.pos + 1).peek()? == b'{',
            _ => false,
        };
        if has_events {
            scanner.pos += 1;
            self.is_certain |= key.text == b"traceEvents";
            self.name_key(&key, "");
            self.stage = EnvelopeStage::ArrayOpened;
            return Ok(());
        }
        if matches!(key.text, b"params" | b"result") && first == b'{' && self.depth < DEPTH_MAX {
            scanner.pos += 1;
            self.depth += 1;
            self.name_key(&key, "");
            return Ok(());
        }
        if key.text == b"stackFrames" {
            self.has_frames = true;
            self.is_in_frames = self.frames_bytes_max > 0;
            self.frames_text = None;
        }
        self.metadata(&key, scanner, losses, offset)?;
        if key.text == b"systemTraceEvents" && first == b'"' {
            scanner.pos += 1;
            (self.array_found, self.is_certain) = (true, true);
            self.stage = EnvelopeStage::SystemText { is_escaped: false };
            return Ok(());
        }
        if key.text == b"traceEvents" {
            if first == b'n' {
                // Go writes an empty list as `null`.
                (self.array_found, self.is_certain) = (true, true);
            } else {
                self.name_key(&key, " (not an array)");
            }
            self.stage = EnvelopeStage::Value(ValueSkipper::default());
            return Ok(());
        }
        if key.text == b"systemTraceEvents" {
            losses.add_value(Loss::IgnoredPhase, LossValue::text(key.text), SourcePos::Offset(offset));
        }
        self.name_key(&key, "");
        self.stage = EnvelopeStage::Value(ValueSkipper::default());
        Ok(())
    }

    /// Reads the start of the clock and the losses of the recorder, if this is a member with either. Its value is still
    /// skipped.
    fn metadata(
        &mut self,
        key: &JsonValue<'_>,
        scanner: &mut Scanner<'_>,
        losses: &mut Losses,
        offset: u64,
    ) -> Result<(), Broken> {
        match key.text {
            BASE_TIME => self.set_base_time(&small_value(scanner)?, 1, losses, offset),
            b"viztracer_metadata" => {
                let metadata = small_value(scanner)?;
                if member(&metadata, b"overflow").text == b"true" {
                    losses.add_because("the ring buffer overflowed", Loss::RecorderLost, SourcePos::Offset(offset));
                }
                self.set_base_time(&member(&metadata, BASE_TIME), 1, losses, offset);
            }
            // The last message of the DevTools protocol.
            b"dataLossOccurred" if scanner.peek()? == b't' => {
                losses.add_because("the trace buffer overflowed", Loss::RecorderLost, SourcePos::Offset(offset));
            }
            // Bazel has milliseconds.
            b"otherData" => {
                let start = member(&small_value(scanner)?, b"profile_start_ts");
                self.set_base_time(&start, 1_000_000, losses, offset);
            }
            _ => {}
        }
        Ok(())
    }

    /// Records the time of the start of the clock, in units of `unit_ns` since 1970. Other values are ignored.
    fn set_base_time(&mut self, time: &JsonValue<'_>, unit_ns: i64, losses: &mut Losses, offset: u64) {
        let number = str::from_utf8(time.text).ok().and_then(|digits| digits.parse::<i64>().ok());
        let start_ns = number.and_then(|number| number.checked_mul(unit_ns));
        if start_ns.is_some_and(|start_ns| !self.clock.set_start(start_ns)) {
            losses.add_because(LATE_BASE_TIME, Loss::UnknownClock, SourcePos::Offset(offset));
        }
    }

    /// Records a key for an error message, with a note on its value.
    fn name_key(&mut self, key: &JsonValue<'_>, note: &str) {
        if self.keys.len() < KEYS_NAMED_MAX && key.shape == Shape::String {
            let shown = &key.text[..key.text.len().min(40)];
            self.keys.push(format!("{}{note}", String::from_utf8_lossy(shown).escape_debug()));
        }
    }
}

/// Returns whether the document is an array of messages of the `DevTools` protocol.
pub(super) fn begins_messages(head: &[u8]) -> bool {
    let head = without_mark(head).trim_ascii_start();
    if !head.starts_with(b"[") {
        return false;
    }
    let outline = Outline::from_head(head);
    // Events may have members of any names.
    outline.has_all(&["[].method", "[].params"]) && !outline.has_all(&["[].ph"])
}

/// Returns whether the document is an event without an envelope, followed by nothing or by another object.
pub(super) fn begins_bare(head: &[u8]) -> bool {
    let mut scanner = Scanner::new(head, 0);
    let first = match scanner.value(0) {
        Ok(first) => first,
        Err(Broken::Incomplete) => return begins_event(head),
        Err(_) => return false,
    };
    let is_event = first.shape == Shape::Object
        && member(&first, b"ph").shape == Shape::String
        && member(&first, b"traceEvents").is_absent();
    if matches!(scanner.peek(), Ok(b',')) {
        scanner.pos += 1;
    }
    is_event && scanner.peek().map_or(true, |byte| byte == b'{')
}

/// Returns whether the document begins with an event that is longer than the head.
fn begins_event(head: &[u8]) -> bool {
    let mut scanner = Scanner::new(head, 0);
    if !matches!(scanner.peek(), Ok(b'{')) {
        return false;
    }
    let mut has_phase = false;
    loop {
        // The opening brace, or the comma after a member.
        scanner.pos += 1;
        let Ok(key) = scanner.key() else { return has_phase };
        if matches!(key.text, b"traceEvents" | b"samples") {
            return false;
        }
        let Ok(value) = scanner.value(1) else { return has_phase };
        has_phase |= key.text == b"ph" && value.shape == Shape::String;
        if !matches!(scanner.peek(), Ok(b',')) {
            return has_phase;
        }
    }
}

/// Returns the length of a string up to its closing quote or the end of the bytes, and the next stage.
fn text_len(text: &[u8], mut is_escaped: bool) -> (usize, EnvelopeStage) {
    for (at, &byte) in text.iter().enumerate() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            b'"' => return (at, EnvelopeStage::Members),
            _ => {}
        }
    }
    (text.len(), EnvelopeStage::SystemText { is_escaped })
}
