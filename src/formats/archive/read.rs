//! Goes through an archive: every file in it is recognised and read, or counted.

use std::fs::File;
use std::path::{Path, PathBuf};

use super::members::{Allowance, Ended, MEMBERS_MAX, Member, is_hidden, unpacked_to_file};
use crate::base::progress::Progress;
use crate::formats::clock_sync::KnownSyncs;
use crate::formats::scoped::{Scope, Scoped, only_losses};
use crate::formats::source::Source;
use crate::formats::{BatchSink, ReadContext, ReadError, Reader, StreamReader, chunked, detect};
use crate::model::{Loss, Losses, Place};

/// Whether a capture begins as zip archives do.
#[must_use]
pub fn looks_like_zip(head: &[u8]) -> bool {
    head.starts_with(b"PK\x03\x04")
}

/// Whether a capture begins as tar archives do.
#[must_use]
pub fn looks_like_tar(head: &[u8]) -> bool {
    head.get(257..262) == Some(b"ustar")
}

/// Makes a reader of a zip archive.
#[must_use]
pub fn open_zip(source: Source) -> Reader {
    Reader::Stream(Box::new(Archive { source: Some(source), kind: Kind::Zip }))
}

/// Makes a reader of a tar archive.
#[must_use]
pub fn open_tar(source: Source) -> Reader {
    Reader::Stream(Box::new(Archive { source: Some(source), kind: Kind::Tar }))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Zip,
    Tar,
}

struct Archive {
    source: Option<Source>,
    kind: Kind,
}

/// What lasts from one file to the next.
struct Walk<'a> {
    path: PathBuf,
    sink: &'a mut dyn BatchSink,
    /// With a progress of its own: bytes of the archive are what is counted.
    context: ReadContext,
    allowance: Allowance,
    losses: Losses,
    /// How many files had events.
    read: usize,
    count: usize,
    /// Whether the archive has one file only.
    is_alone: bool,
    clock_syncs: KnownSyncs,
    /// Why the first file that could not be read was not.
    refused: Option<ReadError>,
}

impl StreamReader for Archive {
    fn read(&mut self, sink: &mut dyn BatchSink, context: &ReadContext) -> Result<(), ReadError> {
        let Some(source) = self.source.take() else { return Ok(()) };
        let path = source.path().to_owned();
        let bytes = std::fs::metadata(&path).map_or(0, |metadata| metadata.len());
        let quietly = ReadContext { progress: Progress::default(), ..context.clone() };
        let mut walk = Walk {
            path,
            sink,
            context: quietly,
            allowance: Allowance::of(bytes),
            losses: Losses::default(),
            read: 0,
            count: 0,
            is_alone: false,
            clock_syncs: KnownSyncs::default(),
            refused: None,
        };
        match self.kind {
            Kind::Zip => walk.zip(source)?,
            Kind::Tar => walk.tar(source)?,
        }
        walk.finish()
    }
}

impl Walk<'_> {
    /// A zip archive is read by position: one that is itself compressed is unpacked first.
    fn zip(&mut self, source: Source) -> Result<(), ReadError> {
        let malformed = |walk: &Self, found: String| ReadError::Malformed {
            path: walk.path.clone(),
            offset: 0,
            expected: "a zip archive".to_owned(),
            found,
        };
        let unpacked = if source.is_packed() { Some(unpacked_to_file(source, &self.context)?) } else { None };
        let file = File::open(unpacked.as_ref().map_or(self.path.as_path(), |file| file.path()));
        let file = file.map_err(|source| ReadError::Io { path: self.path.clone(), offset: 0, source })?;
        let mut archive = zip::ZipArchive::new(std::io::BufReader::new(file)).map_err(|error| {
            let found = format!("{error}; one that was cut short lacks the list of its files, which is at its end");
            malformed(self, found)
        })?;
        let visible = archive.file_names().filter(|name| name.as_ref().is_ok_and(|name| !is_hidden(name))).count();
        self.is_alone = visible == 1;
        for position in 0..archive.len() {
            let Ok(mut member) = archive.by_index(position) else {
                // Encrypted, or packed in a way that nobody uses for captures.
                self.losses.add(Loss::UnreadableMember, Place::Offset(0));
                continue;
            };
            // A name that is no text is still the name of a file.
            let name = member.name().map_or_else(|_| format!("file {position}"), std::borrow::Cow::into_owned);
            if member.is_dir() || is_hidden(&name) {
                continue;
            }
            let offset = member.header_start();
            if self.is_over_limit(offset) {
                break;
            }
            let member = self.allowance.unpack(name, &mut member, &self.path, &self.context)?;
            self.member(&member, offset)?;
        }
        Ok(())
    }

    fn tar(&mut self, source: Source) -> Result<(), ReadError> {
        let mut archive = tar::Archive::new(source);
        let entries =
            archive.entries().map_err(|source| ReadError::Io { path: self.path.clone(), offset: 0, source })?;
        let mut end = 0;
        for entry in entries {
            let Ok(mut entry) = entry else {
                // There is no mark to go on from.
                self.losses.add(Loss::Truncated, Place::Offset(end));
                break;
            };
            let offset = entry.raw_header_position();
            end = entry.raw_file_position();
            let name = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
            if !entry.header().entry_type().is_file() || is_hidden(&name) {
                continue;
            }
            if self.is_over_limit(offset) {
                break;
            }
            let size = entry.size();
            let mut member = self.allowance.unpack(name, &mut entry, &self.path, &self.context)?;
            let len = member.file.len();
            if len < size && member.ended == Ended::AtItsEnd {
                member.ended = Ended::InDamage;
            }
            self.member(&member, offset)?;
        }
        Ok(())
    }

    fn is_over_limit(&mut self, offset: u64) -> bool {
        self.count += 1;
        if self.count > MEMBERS_MAX {
            self.losses.add(Loss::OverLimit, Place::Offset(offset));
        }
        self.count > MEMBERS_MAX
    }

    /// Reads a file of the archive that stands at `offset` of it.
    fn member(&mut self, member: &Member, offset: u64) -> Result<(), ReadError> {
        let place = Place::Offset(offset);
        let mut losses = Losses::default();
        match member.ended {
            Ended::AtItsEnd => {}
            Ended::AtTheLimit => losses.add(Loss::OverLimit, place),
            Ended::InDamage => losses.add(Loss::Truncated, place),
        }
        match self.read_member(member) {
            Ok(true) => {}
            Ok(false) => losses.add(Loss::UnknownMember, place),
            Err(error @ (ReadError::Cancelled(_) | ReadError::Sink(_))) => return Err(error),
            Err(error) => {
                let error = in_archive(error, &self.path.join(&member.name));
                losses.add_because(&error.to_string(), Loss::UnreadableMember, place);
                self.refused.get_or_insert(error);
            }
        }
        let named = if self.is_alone { losses } else { losses.in_file(Some(&member.name.as_str().into()), 0) };
        self.losses.merge(&named);
        Ok(())
    }

    /// Reads a file of the archive; `false` if it is no capture.
    fn read_member(&mut self, member: &Member) -> Result<bool, ReadError> {
        let source = match Source::open(member.file.path(), &self.context) {
            Ok(source) => source,
            Err(ReadError::Empty { .. }) => return Ok(false),
            Err(error) => return Err(error),
        };
        let known = detect::format_of(source.head()).filter(|format| !format.is_archive());
        let Some(format) = known else { return Ok(false) };
        let reader = (format.open)(source, &self.context)?;
        let base = member.name.rsplit('/').next().unwrap_or_default();
        let (file, label) = (member.name.as_str().into(), base.into());
        let scope = Scope { file, label, is_first: self.read == 0, is_alone: self.is_alone, offset_ns: 0 };
        let mut scoped = Scoped::new(&mut *self.sink, scope);
        let read = match reader {
            Reader::Stream(mut reader) => reader.read(&mut scoped, &self.context),
            Reader::Chunks(capture) => chunked::read(&capture, &mut scoped, &self.context),
        };
        self.read += usize::from(scoped.finish(&mut self.clock_syncs)?);
        read.map(|()| true)
    }

    /// Hands on what was lost. An archive of which nothing could be read is as unreadable as the first file in it.
    fn finish(self) -> Result<(), ReadError> {
        let Self { path, sink, losses, read, refused, .. } = self;
        if read == 0 {
            if let Some(error) = refused {
                return Err(error);
            }
            if losses.count(Loss::UnknownMember) > 0 {
                let (expected, found) = ("a capture in the archive", "files in no known format");
                return Err(ReadError::Malformed { path, offset: 0, expected: expected.into(), found: found.into() });
            }
        }
        sink.accept(only_losses(losses))
    }
}

/// The same error about the file as a person knows it.
fn in_archive(error: ReadError, shown: &Path) -> ReadError {
    let path = shown.to_owned();
    match error {
        ReadError::Malformed { offset, expected, found, .. } => ReadError::Malformed { path, offset, expected, found },
        ReadError::Io { offset, source, .. } => ReadError::Io { path, offset, source },
        ReadError::Empty { .. } => ReadError::Empty { path },
        other => other,
    }
}
