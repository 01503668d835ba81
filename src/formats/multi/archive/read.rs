//! Reads an archive: every file in it is detected and read, or counted as a loss.

use std::fs::File;
use std::path::{Path, PathBuf};

use super::attachments::{Attachments, is_empty_log, is_of_playwright};
use super::members::{MEMBERS_MAX, Member, MemberName, is_hidden};
use super::tar::{self, EntryKind, TarStep};
use super::zip;
use crate::base::progress::Progress;
use crate::formats::format::{Format, Opener, recognise_source};
use crate::formats::input::source::Source;
use crate::formats::input::unpack::{Allowance, UnpackOutcome, unpacked_to_file};
use crate::formats::multi::joined_files::{JoinedFiles, read_sequentially};
use crate::formats::multi::namespace::{FileScope, only_losses};
use crate::formats::page::PAGE_WITHOUT_TRACE;
use crate::formats::record_check::{RecordKind, checked};
use crate::formats::{BatchSink, ReadContext, ReadError, Reader, RefusedKind, StreamReader};
use crate::model::{Loss, Losses, SourcePos};

pub(crate) const ZIP: Format = Format {
    name: "zip archive",
    record: "The archive must contain a trace in a supported format.",
    sniff: looks_like_zip,
    is_event: None,
    live: None,
    shows: &[],
    opener: Opener::Archive(|source, formats| Archive::open(source, ArchiveKind::Zip, formats)),
};

pub(crate) const TAR: Format = Format {
    name: "tar archive",
    record: "The archive must contain a trace in a supported format.",
    sniff: looks_like_tar,
    is_event: None,
    live: None,
    shows: &[],
    opener: Opener::Archive(|source, formats| Archive::open(source, ArchiveKind::Tar, formats)),
};

const NESTED: RefusedKind = RefusedKind::new("an archive in an archive", "unpack the outer archive, and open this one");

/// Advice for a zip archive without its central directory.
const NO_LIST: &str =
    "The archive lacks its list of files, because it is truncated or damaged; the files before this place are shown.";

/// Returns whether a file starts like a zip archive: with a file, or with the end record of an empty archive.
fn looks_like_zip(head: &[u8]) -> bool {
    head.starts_with(b"PK\x03\x04") || head.starts_with(b"PK\x05\x06") && head.len() >= zip::END_BYTES
}

/// Returns whether a file starts like a tar archive.
fn looks_like_tar(head: &[u8]) -> bool {
    head.get(257..262) == Some(b"ustar")
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ArchiveKind {
    Zip,
    Tar,
}

struct Archive {
    source: Source,
    kind: ArchiveKind,
    formats: &'static [Format],
}

impl Archive {
    /// Creates a reader of an archive with members in any of these formats.
    fn open(source: Source, kind: ArchiveKind, formats: &'static [Format]) -> Reader {
        Reader::stream(Self { source, kind, formats })
    }
}

/// State across the files of an archive.
struct ArchiveReader<'a> {
    path: PathBuf,
    formats: &'static [Format],
    sink: &'a mut dyn BatchSink,
    /// Has a separate progress, since the bytes of the archive are counted.
    context: ReadContext,
    allowance: Allowance,
    losses: Losses,
    attachments: Attachments,
    /// Whether it has a file, which may be unreadable or no trace.
    has_files: bool,
    /// Whether the archive has a single file.
    is_alone: bool,
    joined: JoinedFiles,
    /// Error of the first unreadable file.
    refused: Option<ReadError>,
    /// Error of the first unreadable file that is only an attachment if the archive has a Playwright trace.
    refused_attachment: Option<ReadError>,
    /// Error of the first nested archive. It takes precedence, since the traces are more likely in there than in an
    /// unreadable file.
    nested: Option<ReadError>,
}

impl StreamReader for Archive {
    fn read(self: Box<Self>, sink: &mut dyn BatchSink, context: &ReadContext) -> Result<(), ReadError> {
        let Self { source, kind, formats } = *self;
        let path = source.path().to_owned();
        let bytes = std::fs::metadata(&path).map_or(0, |metadata| metadata.len());
        let quietly = ReadContext { progress: Progress::default(), ..context.clone() };
        let mut reader = ArchiveReader {
            path,
            formats,
            sink,
            context: quietly,
            allowance: Allowance::for_packed(bytes),
            losses: Losses::default(),
            attachments: Attachments::default(),
            has_files: false,
            is_alone: false,
            joined: JoinedFiles::default(),
            refused: None,
            refused_attachment: None,
            nested: None,
        };
        match kind {
            ArchiveKind::Zip => reader.zip(source)?,
            ArchiveKind::Tar => reader.tar(source)?,
        }
        reader.finish()
    }
}

impl ArchiveReader<'_> {
    /// Reads a zip archive. It is read by position, so a compressed archive is unpacked first.
    fn zip(&mut self, source: Source) -> Result<(), ReadError> {
        let unpacked = if source.is_packed() { Some(unpacked_to_file(source, &self.context)?) } else { None };
        let path = self.path.clone();
        let io_error = |source| ReadError::Io { path: path.clone(), offset: 0, source };
        let file = File::open(unpacked.as_ref().map_or(self.path.as_path(), |file| file.path())).map_err(io_error)?;
        let file_bytes = file.metadata().map_err(io_error)?.len();
        let Some(list) = zip::Directory::find(&file).map_err(io_error)? else { return self.truncated_zip(&file) };
        self.is_alone = has_one_file(list, &file).map_err(io_error)?;
        let mut entries = list.entries(&file);
        let (mut listed, mut packed_bytes) = (0, 0_u64);
        while let Some(entry) = entries.next().map_err(io_error)? {
            self.context.cancel.check()?;
            listed += 1;
            packed_bytes = packed_bytes.saturating_add(entry.packed_bytes);
            // Overlapping files are small in the archive, but large when unpacked.
            if packed_bytes > file_bytes || listed > MEMBERS_MAX as u64 {
                self.losses.add(Loss::OverLimit, SourcePos::Offset(entry.offset));
                return Ok(());
            }
            if is_hidden(&entry.name.text) {
                continue;
            }
            let mut content = match entry.content(&file) {
                Ok(content) => content,
                Err(why) => {
                    self.lose_member(&entry.name, &why.to_string(), entry.offset);
                    continue;
                }
            };
            let (file, outcome) = self.allowance.unpack(&mut content, &self.path, &self.context)?;
            let member = Member { name: entry.name, file, outcome };
            self.member(&member, entry.offset)?;
            if member.outcome == UnpackOutcome::LimitReached {
                return Ok(());
            }
        }
        if listed < list.count {
            self.losses.add(Loss::Truncated, SourcePos::Offset(list.offset()));
        }
        Ok(())
    }

    /// Reads the files of an archive up to the place where it is cut, without its central directory.
    fn truncated_zip(&mut self, file: &File) -> Result<(), ReadError> {
        let path = self.path.clone();
        let io_error = |source| ReadError::Io { path: path.clone(), offset: 0, source };
        let mut entries = zip::LocalEntries::new(file);
        let (mut next, mut listed) = (entries.next(), 0);
        // The last file if it is incomplete.
        let mut cut_file = None;
        if next.is_none() {
            let found = "neither its list of files nor a whole file: it is truncated or damaged";
            return Err(ReadError::malformed(path.as_path(), 0, "a zip archive", found));
        }
        while let Some(entry) = next {
            self.context.cancel.check()?;
            listed += 1;
            if listed > MEMBERS_MAX {
                self.losses.add(Loss::OverLimit, SourcePos::Offset(entry.offset));
                return Ok(());
            }
            let mut content = match entry.content(file) {
                Ok(content) => content,
                Err(why) => {
                    self.lose_member(&entry.name, &why.to_string(), entry.offset);
                    next = entries.next();
                    continue;
                }
            };
            let (scratch, mut outcome) = self.allowance.unpack(&mut content, &self.path, &self.context)?;
            if outcome == UnpackOutcome::Complete && !entries.pass(&entry, &content).map_err(io_error)? {
                outcome = UnpackOutcome::Damaged;
            }
            next = entries.next();
            self.is_alone = listed == 1 && next.is_none();
            cut_file = None;
            if !is_hidden(&entry.name.text) {
                cut_file = (outcome != UnpackOutcome::Complete).then(|| (entry.name.text.clone(), entry.offset));
                self.member(&Member { name: entry.name, file: scratch, outcome }, entry.offset)?;
            }
            if outcome == UnpackOutcome::LimitReached {
                return Ok(());
            }
        }
        // The loss of an attachment is only information, but the loss of the files after it is not.
        let cut_at = match cut_file {
            None => entries.offset,
            Some((name, offset)) if self.attachments.has(&name) => offset,
            Some(_) => return Ok(()),
        };
        self.losses.add_because(NO_LIST, Loss::Truncated, SourcePos::Offset(cut_at));
        Ok(())
    }

    fn tar(&mut self, source: Source) -> Result<(), ReadError> {
        let mut tar = tar::TarReader::new(source);
        let mut listed = 0;
        loop {
            let entry = match tar.next(&mut self.allowance, &self.context.cancel)? {
                TarStep::Entry(entry) => entry,
                TarStep::End => return Ok(()),
                TarStep::Trailing { offset } => {
                    let reason = "Data after the end of the archive is not another archive; it is not shown.";
                    self.losses.add_because(reason, Loss::TrailingData, SourcePos::Offset(offset));
                    return Ok(());
                }
                TarStep::Damaged { offset } => {
                    self.losses.add(Loss::Truncated, SourcePos::Offset(offset));
                    return Ok(());
                }
                TarStep::OverLimit { offset } => {
                    self.losses.add(Loss::OverLimit, SourcePos::Offset(offset));
                    return Ok(());
                }
            };
            let pos = SourcePos::Offset(entry.header_offset);
            listed += 1;
            if listed > MEMBERS_MAX || entry.has_long_records {
                self.losses.add(Loss::OverLimit, pos);
            }
            if listed > MEMBERS_MAX {
                return Ok(());
            }
            if is_hidden(&entry.name.text) || entry.kind == EntryKind::Other {
                continue;
            }
            if entry.kind == EntryKind::Sparse {
                self.lose_member(&entry.name, "it has holes (sparse), which are not read", entry.header_offset);
                continue;
            }
            let mut content = tar.content(&entry);
            let (file, outcome) = self.allowance.unpack(&mut content, &self.path, &self.context)?;
            let mut member = Member { name: entry.name, file, outcome };
            if member.file.len() < entry.bytes && member.outcome == UnpackOutcome::Complete {
                member.outcome = UnpackOutcome::Damaged;
            }
            self.member(&member, entry.header_offset)?;
            if member.outcome == UnpackOutcome::LimitReached {
                return Ok(());
            }
        }
    }

    /// Counts a file at `offset` of the archive that cannot be read.
    fn lose_member(&mut self, name: &MemberName, why: &str, offset: u64) {
        let mut losses = Losses::default();
        let reason = format!("{}: {why}", self.path.join(&name.text).display());
        losses.add_because(&reason, Loss::UnreadableMember, SourcePos::Offset(offset));
        let named = if self.is_alone { losses } else { losses.in_file(Some(&name.text.as_str().into()), 0) };
        self.losses.merge(&named);
    }

    /// Reads the file at `offset` of the archive.
    fn member(&mut self, member: &Member, offset: u64) -> Result<(), ReadError> {
        self.has_files = true;
        let pos = SourcePos::Offset(offset);
        let mut losses = Losses::default();
        match member.outcome {
            UnpackOutcome::Complete => {}
            UnpackOutcome::LimitReached => losses.add(Loss::OverLimit, pos),
            UnpackOutcome::Damaged => losses.add(Loss::Truncated, pos),
        }
        if member.name.is_cut {
            losses.add(Loss::LongText, pos);
        }
        match self.read_member(member) {
            Ok(true) => {}
            Ok(false) if is_empty_log(&member.name.text, member.file.len()) => {
                self.losses.add(Loss::IgnoredMetadata, pos);
            }
            Ok(false) => losses.add(Loss::UnknownMember, pos),
            Err(error @ (ReadError::Cancelled(_) | ReadError::Sink(_))) => return Err(error),
            Err(error) => {
                let error = error.in_file(&self.path.join(&member.name.text));
                if is_no_trace(&error) {
                    losses.add(Loss::UnknownMember, pos);
                } else {
                    losses.add_because(&error.to_string(), Loss::UnreadableMember, pos);
                }
                let is_nested = matches!(error, ReadError::Unsupported { refused: NESTED, .. });
                let first = if is_nested {
                    &mut self.nested
                } else if is_of_playwright(&member.name.text) {
                    &mut self.refused_attachment
                } else {
                    &mut self.refused
                };
                first.get_or_insert(error);
            }
        }
        let named = if self.is_alone { losses } else { losses.in_file(Some(&member.name.text.as_str().into()), 0) };
        self.losses.merge(&named);
        Ok(())
    }

    /// Reads a file of the archive; returns `false` if it is not a trace.
    fn read_member(&mut self, member: &Member) -> Result<bool, ReadError> {
        let mut source = match Source::open(member.file.path(), &self.context) {
            Ok(source) => source,
            Err(ReadError::Empty { .. }) => return Ok(false),
            Err(error) => return Err(error),
        };
        let Some(format) = recognise_source(self.formats, &mut source)? else { return Ok(false) };
        let Opener::Trace(open) = format.opener else { return Err(nested(member.file.path())) };
        let text = || Source::open(member.file.path(), &self.context);
        self.attachments.add(&member.name.text, format.name, text, &self.context.cancel)?;
        let (path, kind, end) = (member.file.path(), RecordKind::new(format), source.packed_end());
        let mut reader = open(source, &self.context)?;
        if let Some(end) = end {
            reader = end.counted_by(reader);
        }
        let reader = checked(reader, path.to_owned(), kind);
        let base = member.name.text.rsplit('/').next().unwrap_or_default();
        let scope = FileScope {
            file: member.name.text.as_str().into(),
            label: base.into(),
            is_alone: self.is_alone,
            are_losses_named: !self.is_alone,
            offset_ns: 0,
        };
        let context = &self.context;
        let read = self.joined.add(scope, &mut *self.sink, |sink| read_sequentially(reader, path, sink, context))?;
        read.map(|()| true)
    }

    /// Adds the losses. If no file was readable, returns the error of the first file.
    fn finish(self) -> Result<(), ReadError> {
        let Self {
            path, sink, mut losses, attachments, has_files, joined, refused, refused_attachment, nested, ..
        } = self;
        if !has_files && losses.is_empty() {
            return Err(empty_archive(&path));
        }
        attachments.count_as_information(&mut losses);
        // A bug report has hundreds of files around its traces.
        losses.merge_files(Loss::UnknownMember);
        if !joined.has_events() {
            let refused = refused.or(refused_attachment.filter(|_| !attachments.has_playwright()));
            if let Some(error) = nested.or(refused) {
                return Err(error);
            }
            if losses.count(Loss::UnknownMember) > 0 {
                return Err(ReadError::malformed(path, 0, "a trace in the archive", "files in no known format"));
            }
        }
        sink.accept(only_losses(losses))
    }
}

/// Returns whether an error is of a file that tools put beside their traces: a picture, a document or a report.
fn is_no_trace(error: &ReadError) -> bool {
    match error {
        ReadError::Unsupported { refused, .. } => !refused.is_trace,
        ReadError::Malformed { found, .. } => found == PAGE_WITHOUT_TRACE,
        _ => false,
    }
}

/// Returns the error of an archive without files.
pub(crate) fn empty_archive(path: &Path) -> ReadError {
    ReadError::malformed(path, 0, "a trace in the archive", "an empty archive")
}

/// Returns whether the archive has a single visible file. Looks no further than the second.
fn has_one_file(list: zip::Directory, file: &File) -> std::io::Result<bool> {
    let (mut entries, mut visible) = (list.entries(file), 0);
    while let Some(entry) = entries.next()? {
        visible += usize::from(!is_hidden(&entry.name.text));
        if visible > 1 {
            break;
        }
    }
    Ok(visible == 1)
}

/// Returns the error of an archive in an archive. These are not read, because each layer multiplies the ratio of
/// compression.
fn nested(path: &Path) -> ReadError {
    ReadError::Unsupported { path: path.to_owned(), refused: NESTED }
}
