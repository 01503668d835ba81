//! Pages (HTML) that show a trace, which they contain between the tags of scripts. A page of `systrace` has the text
//! of the kernel and JSON, a page of `trace2html` a compressed trace in base64.
//!
//! Text is read from the page itself, by `text`. Any other part is copied to a temporary file, and read like one of
//! several files. Its processes are separate, and its times are aligned with the text if they share a clock sync.

mod parts;
mod text;

use std::io::{self, Read};
use std::ops::Range;
use std::path::{Path, PathBuf};

use self::parts::{PagePart, PagePartKind, PageParts, WithoutParts};
pub(crate) use self::text::PAGE_WITHOUT_TRACE;
use super::cargo_timings;
use super::chrome;
use super::format::{Format, Opener};
use super::input::base64::Base64Reader;
use super::input::page_head::is_page;
use super::input::source::Source;
use super::input::unpack::{Allowance, UnpackOutcome};
use super::json::sniff::looks_like_json;
use super::linux::ftrace;
use super::multi::joined_files::{JoinedFiles, read_sequentially};
use super::multi::namespace::{FileScope, only_losses};
use super::{BatchSink, ReadContext, ReadError, Reader, StreamReader};
use crate::base::progress::Progress;
use crate::base::temporary::Scratch;
use crate::model::{Loss, Losses, SourcePos};

/// Text of the kernel, and pages that contain such text or JSON.
pub(crate) const FORMAT: Format =
    Format { sniff: looks_like_ftrace, opener: Opener::Trace(|source, _| Ok(open(source))), ..ftrace::FORMAT };

/// Length of JSON that may be a note. Systrace writes short parts with clocks and settings, which have no events.
const NOTES_BYTES_MAX: usize = 1 << 20;

/// Limit for the parts of a page that are not text; pages have a few.
const PARTS_MAX: usize = 1 << 12;

const NOT_A_TRACE: &str = "A part of the page is neither Chrome JSON nor text of ftrace; it is not shown.";

/// Returns whether this is text of the kernel, or a page that may contain some.
fn looks_like_ftrace(head: &[u8]) -> bool {
    is_page(head) && !cargo_timings::is_page(head) || ftrace::looks_like_ftrace(head)
}

/// Creates a reader of text, or of a page. A page that is still written is read as text only.
fn open(source: Source) -> Reader {
    if !is_page(source.head()) {
        ftrace::open(source)
    } else if source.is_live() {
        text::open(source)
    } else {
        Reader::stream(TracePage { source })
    }
}

struct TracePage {
    source: Source,
}

#[derive(Debug, Default)]
struct PageContents {
    /// Whether the page has text, in a part or in the string of an old page.
    has_text: bool,
    /// Parts that are not text, in order.
    others: Vec<Range<u64>>,
    /// Offsets of the parts that are read as files.
    files: Vec<u64>,
    losses: Losses,
}

impl StreamReader for TracePage {
    fn read(self: Box<Self>, sink: &mut dyn BatchSink, context: &ReadContext) -> Result<(), ReadError> {
        let path = self.source.path().to_owned();
        let PageContents { has_text, others, files, losses } = list_parts(self.source, &path, context)?;
        // Without parts, the text reader reports why.
        let has_text = has_text || files.is_empty();
        let mut parts = PartReader {
            allowance: Allowance::for_packed(std::fs::metadata(&path).map_or(0, |metadata| metadata.len())),
            context: ReadContext { progress: Progress::default(), ..context.clone() },
            is_alone: usize::from(has_text) + files.len() == 1,
            joined: JoinedFiles::default(),
            losses,
            path,
        };
        if has_text {
            parts.read_text(&others, sink)?;
        }
        if !files.is_empty() {
            parts.read_files(&files, sink)?;
        }
        sink.accept(only_losses(parts.losses))
    }
}

/// Finds out which parts a page has.
fn list_parts(source: Source, path: &Path, context: &ReadContext) -> Result<PageContents, ReadError> {
    let (mut contents, mut parts) = (PageContents::default(), PageParts::new(source));
    while let Some(part) = parts.next(&context.cancel, path)? {
        if part.kind == PagePartKind::Text {
            contents.has_text = true;
            continue;
        }
        let pos = SourcePos::Offset(part.offset);
        if contents.others.len() >= PARTS_MAX {
            contents.losses.add(Loss::OverLimit, pos);
            break;
        }
        let io_error = |source| ReadError::Io { path: path.to_owned(), offset: part.offset, source };
        let (mut content, mut beginning) = (parts.content(), Vec::new());
        let beginning_bytes = NOTES_BYTES_MAX as u64 + 1;
        let len = content.by_ref().take(beginning_bytes).read_to_end(&mut beginning).map_err(io_error)?;
        let rest = io::copy(&mut content, &mut io::sink()).map_err(io_error)?;
        contents.others.push(part.offset..part.offset + len as u64 + rest);
        if part.kind == PagePartKind::Json && len <= NOTES_BYTES_MAX && !text::has_events(&beginning) {
            contents.losses.add(Loss::IgnoredMetadata, pos);
        } else {
            contents.files.push(part.offset);
        }
    }
    contents.has_text |= parts.has_old_text();
    Ok(contents)
}

/// Which part of a page the events come from.
#[derive(Clone, Copy)]
enum PartName {
    /// The text of the page itself.
    Text,
    /// A part that was copied to a file, by its number.
    Number(usize),
}

/// Reads the parts of a page.
struct PartReader {
    path: PathBuf,
    /// Has a separate progress, since the bytes of the page are counted.
    context: ReadContext,
    allowance: Allowance,
    /// Whether the page has a single part.
    is_alone: bool,
    joined: JoinedFiles,
    losses: Losses,
}

impl PartReader {
    /// Reads the text of the kernel, without the other parts: they may be lines of any length.
    fn read_text(&mut self, others: &[Range<u64>], sink: &mut dyn BatchSink) -> Result<(), ReadError> {
        let source = Source::open(&self.path, &self.context)?;
        if others.is_empty() {
            return self.read_as(PartName::Text, text::open(source), sink);
        }
        let mut text = WithoutParts::new(source, others);
        let (file, outcome) = self.allowance.unpack(&mut text, &self.path, &self.context)?;
        if outcome == UnpackOutcome::LimitReached {
            self.losses.add(Loss::OverLimit, SourcePos::Offset(file.len()));
        }
        let source = Source::open(file.path(), &self.context)?;
        // The copy has the offsets of the page.
        let read = self.read_as(PartName::Text, text::open(source), sink);
        read.map_err(|error| error.in_file(&self.path))
    }

    /// Reads the parts at these offsets of the page, in order.
    fn read_files(&mut self, offsets: &[u64], sink: &mut dyn BatchSink) -> Result<(), ReadError> {
        let (path, context) = (self.path.clone(), self.context.clone());
        let mut parts = PageParts::new(Source::open(&path, &context)?);
        let last = offsets.last().copied().unwrap_or(0);
        let mut number = 0;
        while let Some(part) = parts.next(&context.cancel, &path)?.filter(|part| part.offset <= last) {
            number += 1;
            if offsets.binary_search(&part.offset).is_err() {
                continue;
            }
            let mut content = parts.content();
            let (file, outcome) = match part.kind {
                PagePartKind::Base64 => self.allowance.unpack(&mut Base64Reader::new(content), &path, &context)?,
                PagePartKind::Text | PagePartKind::Json => self.allowance.unpack(&mut content, &path, &context)?,
            };
            let read = self.read_file((&file, outcome), number, part, sink);
            match read.map_err(|error| error.moved(|offset| part.offset_in_page(offset)).in_file(&path)) {
                Ok(()) => {}
                Err(error @ (ReadError::Cancelled(_) | ReadError::Sink(_))) => return Err(error),
                Err(error) if self.is_alone => return Err(error),
                Err(error) => {
                    let pos = SourcePos::Offset(part.offset);
                    self.losses.add_because(&error.to_string(), Loss::UnreadableMember, pos);
                }
            }
        }
        Ok(())
    }

    /// Reads a part that was copied to a file.
    fn read_file(
        &mut self,
        (file, outcome): (&Scratch, UnpackOutcome),
        number: usize,
        part: PagePart,
        sink: &mut dyn BatchSink,
    ) -> Result<(), ReadError> {
        let pos = SourcePos::Offset(part.offset);
        match outcome {
            UnpackOutcome::Complete => {}
            UnpackOutcome::LimitReached => self.losses.add(Loss::OverLimit, pos),
            UnpackOutcome::Damaged if file.len() == 0 => {
                return Err(ReadError::malformed(file.path(), 0, "base64", "other characters"));
            }
            UnpackOutcome::Damaged => self.losses.add(Loss::Truncated, pos),
        }
        let source = Source::open(file.path(), &self.context)?;
        let end = source.packed_end();
        let mut reader = if looks_like_json(source.head()) {
            chrome::read::open(source)
        } else if ftrace::looks_like_ftrace(source.head()) && !is_page(source.head()) {
            ftrace::open(source)
        } else {
            self.losses.add_because(NOT_A_TRACE, Loss::BadRecord, pos);
            return Ok(());
        };
        if let Some(end) = end {
            reader = end.counted_by(reader);
        }
        self.read_as(PartName::Number(number), reader, sink)
    }

    fn read_as(&mut self, name: PartName, reader: Reader, sink: &mut dyn BatchSink) -> Result<(), ReadError> {
        let (text, are_losses_named) = match name {
            PartName::Text => ("text".to_owned(), !self.is_alone),
            // The positions of losses are relative to the part.
            PartName::Number(number) => (format!("part {number}"), true),
        };
        let scope = FileScope {
            file: text.as_str().into(),
            label: text.into(),
            is_alone: self.is_alone,
            are_losses_named,
            offset_ns: 0,
        };
        self.joined.add(scope, sink, |sink| read_sequentially(reader, &self.path, sink, &self.context))?
    }
}

#[cfg(test)]
mod tests;
