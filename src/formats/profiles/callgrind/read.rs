//! Parses a profile into functions with self costs and call costs.

use rustc_hash::FxHashMap;

use super::call_graph::{CallGraph, CostEvent};
use super::cycles::Cycles;
use super::part_end::PartEnd;
use super::paths::emit;
use crate::formats::format::{DataKind, Format, Opener};
use crate::formats::input::lines::{LineReader, TextLine, head_lines};
use crate::formats::input::source::Source;
use crate::formats::output::batch::BatchBuilder;
use crate::formats::output::modules::file_name;
use crate::formats::profiles::pprof::tables::ProfileMemory;
use crate::formats::{BatchSink, ReadContext, ReadError, Reader, StreamReader};
use crate::model::{Loss, SourcePos};

/// Profiles of callgrind, and of other tools that write its format.
pub(crate) const FORMAT: Format = Format {
    name: "Callgrind profile",
    record: "A cost is a line of numbers below a function: \"fn=main\", then \"3 100\".",
    sniff: looks_like_callgrind,
    is_event: None,
    live: None,
    shows: &[DataKind::Arguments, DataKind::Samples],
    opener: Opener::Trace(|source, _| Ok(Reader::stream(Callgrind { source }))),
};

/// Limit for kinds of cost; a full cache simulation has thirteen.
const EVENTS_MAX: usize = 32;

/// Limit for a line; C++ names may have a few thousand letters.
const LINE_BYTES_MAX: usize = 1 << 20;

/// Lines between checks for cancellation.
const LINES_PER_CHECK: u64 = 4096;

/// Beginning of the line that Xdebug writes before each profile of a file that it appends to.
const SEPARATOR: &[u8] = b"==== NEW PROFILING FILE ====";

/// Returns whether the heading lists the events, or names the format.
fn looks_like_callgrind(head: &[u8]) -> bool {
    let lines = head_lines(head).map(<[u8]>::trim_ascii_end);
    let mut lines = lines.skip_while(|line| line.is_empty() || line.starts_with(SEPARATOR)).peekable();
    if lines.peek().is_some_and(|line| *line == b"# callgrind format") {
        return true;
    }
    let is_heading = |line: &[u8]| {
        let keys = [&b"version:"[..], b"creator:", b"desc:", b"cmd:", b"positions:", b"event:"];
        keys.iter().any(|key| line.starts_with(key))
    };
    let mut headings = 0;
    let mut first_lines = lines.by_ref().take(60);
    while let Some(line) = first_lines.next() {
        if line.starts_with(b"events:") {
            // All other headings are optional.
            return headings > 0 || first_lines.any(|line| line.starts_with(b"fn="));
        }
        if is_heading(line) {
            headings += 1;
        } else if headings == 0 {
            return false;
        }
    }
    false
}

struct Callgrind {
    source: Source,
}

impl StreamReader for Callgrind {
    fn read(self: Box<Self>, sink: &mut dyn BatchSink, context: &ReadContext) -> Result<(), ReadError> {
        let path = self.source.path().to_owned();
        let mut batch = BatchBuilder::new(context.chunk_limits);
        let mut parser = CallgrindParser::new(ProfileMemory::new(&path, context));
        let mut lines = LineReader::new(self.source, LINE_BYTES_MAX);
        let (mut count, mut end) = (0u64, 0);
        while let Some(line) = lines.next(&mut batch)? {
            end = line.offset + line.bytes.len() as u64;
            parser.line(line, &mut batch)?;
            count += 1;
            if count.is_multiple_of(LINES_PER_CHECK) {
                context.cancel.check()?;
            }
        }
        batch.lose_cut(lines.cut_at());
        batch.lose_cut(parser.part_end.is_any_cut().then_some(end));
        let CallgrindParser { mut graph, events, .. } = parser;
        batch.losses().add_many(Loss::BadNumber, SourcePos::Offset(end), graph.link_unplaced());
        let cycles = Cycles::new(&graph);
        for (row, event) in events.iter().enumerate() {
            emit(&graph, &cycles, row, event, &mut batch, sink, context)?;
        }
        batch.flush(sink)
    }
}

/// Names that are abbreviated by numbers.
#[derive(Debug, Default)]
struct NumberedNames {
    numbered: FxHashMap<u64, Box<[u8]>>,
}

impl NumberedNames {
    /// Resolves `(3) name`, `(3)` or `name`; returns `None` for an undefined number.
    fn resolve(
        &mut self,
        text: &[u8],
        memory: &mut ProfileMemory<'_>,
        offset: u64,
    ) -> Result<Option<Box<[u8]>>, ReadError> {
        let text = text.trim_ascii();
        let numbered = text.strip_prefix(b"(").and_then(|rest| {
            let close = memchr::memchr(b')', rest)?;
            let number = std::str::from_utf8(&rest[..close]).ok()?.parse::<u64>().ok()?;
            Some((number, rest[close + 1..].trim_ascii()))
        });
        Ok(match numbered {
            Some((number, b"")) => self.numbered.get(&number).cloned(),
            Some((number, name)) => {
                memory.add(name.len() + 4 * size_of::<(u64, Box<[u8]>)>(), offset)?;
                self.numbered.insert(number, name.into());
                Some(name.into())
            }
            None => Some(text.into()),
        })
    }
}

/// Parses a file line by line; builds its call graph.
struct CallgrindParser<'c> {
    memory: ProfileMemory<'c>,
    graph: CallGraph,
    events: Vec<CostEvent>,
    /// Event of each cost column of the current part; `None` if there are too many.
    columns: Vec<Option<usize>>,
    /// Long names of events, by event.
    long_names: FxHashMap<Box<[u8]>, Box<[u8]>>,
    /// Number of position columns in a cost line.
    positions: usize,
    files: NumberedNames,
    functions: NumberedNames,
    /// File of the current function.
    file: Box<[u8]>,
    current: Option<u32>,
    called_file: Option<Box<[u8]>>,
    called: Option<u32>,
    next: NextLine,
    part_end: PartEnd,
}

/// The meaning of the next cost line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NextLine {
    OwnCost,
    CallCost,
    /// Position of a jump, which has no cost.
    Jump,
}

impl<'c> CallgrindParser<'c> {
    fn new(memory: ProfileMemory<'c>) -> Self {
        Self {
            memory,
            graph: CallGraph::default(),
            events: Vec::new(),
            columns: Vec::new(),
            long_names: FxHashMap::default(),
            positions: 1,
            files: NumberedNames::default(),
            functions: NumberedNames::default(),
            file: Box::default(),
            current: None,
            called_file: None,
            called: None,
            next: NextLine::OwnCost,
            part_end: PartEnd::default(),
        }
    }

    fn line(&mut self, line: TextLine<'_>, batch: &mut BatchBuilder) -> Result<(), ReadError> {
        let text = line.bytes.trim_ascii();
        let Some(&first) = text.first() else { return Ok(()) };
        match first {
            b'#' => Ok(()),
            // Each appended profile has its own numbers of names, so they start empty.
            b'=' if text.starts_with(SEPARATOR) => {
                (self.files, self.functions) = Default::default();
                (self.current, self.called, self.called_file) = (None, None, None);
                Ok(())
            }
            b'0'..=b'9' | b'+' | b'-' | b'*' => self.costs(text, line, batch),
            _ => match text.iter().position(|byte| matches!(byte, b'=' | b':')) {
                Some(at) if text[at] == b'=' => self.assign(&text[..at], &text[at + 1..], line, batch),
                Some(at) => self.heading(&text[..at], text[at + 1..].trim_ascii(), line, batch),
                None => {
                    batch.lose(line.loss(), line.pos());
                    Ok(())
                }
            },
        }
    }

    fn heading(
        &mut self,
        key: &[u8],
        value: &[u8],
        line: TextLine<'_>,
        batch: &mut BatchBuilder,
    ) -> Result<(), ReadError> {
        let words = || value.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
        self.part_end.heading(key, value);
        match key {
            // Each part of a file lists its events, usually the same.
            b"events" => {
                self.columns.clear();
                for word in words().take(EVENTS_MAX) {
                    let name = String::from_utf8_lossy(word);
                    let column = self.events.iter().position(|event| *event.name == *name);
                    let column = column.or_else(|| (self.events.len() < EVENTS_MAX).then_some(self.events.len()));
                    if column == Some(self.events.len()) {
                        let long = self.long_names.get(word).map(|long| String::from_utf8_lossy(long));
                        self.events.push(CostEvent::from_names(&name, &long.unwrap_or_default()));
                    }
                    self.columns.push(column);
                }
                let cut = words().count().saturating_sub(EVENTS_MAX);
                batch.losses().add_many(Loss::OverLimit, line.pos(), cut as u64);
                self.memory.add(self.graph.set_events(self.events.len()), line.offset)?;
            }
            // The long name of an event precedes it: `event: curB : currently allocated Bytes`.
            b"event" if self.long_names.len() < EVENTS_MAX => {
                if let Some(colon) = memchr::memchr(b':', value) {
                    self.long_names.insert(value[..colon].trim_ascii().into(), value[colon + 1..].trim_ascii().into());
                }
            }
            b"positions" => self.positions = words().count().clamp(1, 4),
            _ => {}
        }
        Ok(())
    }

    /// Handles a line such as `fn=(3) name`.
    fn assign(
        &mut self,
        key: &[u8],
        value: &[u8],
        line: TextLine<'_>,
        batch: &mut BatchBuilder,
    ) -> Result<(), ReadError> {
        // A truncated name would be a different name.
        if !line.has_end {
            batch.lose(Loss::Truncated, line.pos());
            return Ok(());
        }
        let offset = line.offset;
        match key {
            b"fl" => self.file = self.files.resolve(value, &mut self.memory, offset)?.unwrap_or_default(),
            // Code inlined from another file: its cost belongs to the function.
            b"fi" | b"fe" => _ = self.files.resolve(value, &mut self.memory, offset)?,
            b"fn" => {
                let name = self.functions.resolve(value, &mut self.memory, offset)?;
                self.current = self.function(name.as_deref(), (None, false), line, batch)?;
                (self.called, self.called_file) = (None, None);
            }
            b"cfi" | b"cfl" => self.called_file = self.files.resolve(value, &mut self.memory, offset)?,
            b"cfn" => {
                let name = self.functions.resolve(value, &mut self.memory, offset)?;
                let file = self.called_file.take();
                self.called = self.function(name.as_deref(), (file.as_deref(), true), line, batch)?;
            }
            b"calls" => self.next = NextLine::CallCost,
            b"jump" | b"jcnd" => self.next = NextLine::Jump,
            // `ob`, `cob`: functions of different objects are merged by name.
            _ => {}
        }
        Ok(())
    }

    /// Returns the row of a function in a file, or in the current one. A call may lack the file of its function.
    fn function(
        &mut self,
        name: Option<&[u8]>,
        (file, is_call): (Option<&[u8]>, bool),
        line: TextLine<'_>,
        batch: &mut BatchBuilder,
    ) -> Result<Option<u32>, ReadError> {
        let Some(name) = name else {
            batch.lose(Loss::MissingText, line.pos());
            return Ok(None);
        };
        let is_placed = file.is_some() || !is_call;
        let file = file.unwrap_or(&self.file);
        let text = if matches!(file_name(file), b"" | b"???" | b"UnknownFile???") {
            name.to_vec()
        } else {
            [name, b" (", file, b")"].concat()
        };
        let (row, bytes) = self.graph.function(&text, name.len(), is_placed);
        self.memory.add(bytes, line.offset)?;
        Ok(row)
    }

    fn costs(&mut self, text: &[u8], line: TextLine<'_>, batch: &mut BatchBuilder) -> Result<(), ReadError> {
        let next = std::mem::replace(&mut self.next, NextLine::OwnCost);
        if next == NextLine::Jump {
            return Ok(());
        }
        let words = || text.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
        if !line.has_end && words().count() < self.positions + self.columns.len() {
            batch.lose(Loss::Truncated, line.pos());
            return Ok(());
        }
        let Some(current) = self.current else {
            batch.lose(Loss::BadRecord, line.pos());
            return Ok(());
        };
        if let Some(called) = self.called.filter(|_| next == NextLine::CallCost) {
            self.memory.add(self.graph.call(current, called), line.offset)?;
        }
        let costs = words().skip(self.positions);
        for (column, (&event, cost)) in self.columns.iter().zip(costs).enumerate() {
            // A dot is a count of 0 in cachegrind.
            let cost = if cost == b"." { b"0" } else { cost };
            let cost = std::str::from_utf8(cost).ok().and_then(|cost| cost.parse::<u64>().ok());
            let Some((event, cost)) = event.zip(cost) else {
                batch.lose(Loss::BadNumber, line.pos());
                continue;
            };
            let is_added = if next == NextLine::CallCost {
                self.called.is_none_or(|called| self.graph.add_call(current, called, event, cost))
            } else {
                if column == 0 {
                    self.part_end.add_cost(cost);
                }
                self.graph.add_own(current, event, cost)
            };
            if !is_added {
                batch.lose(Loss::BadNumber, line.pos());
            }
        }
        if next == NextLine::CallCost {
            self.called = None;
        }
        Ok(())
    }
}
