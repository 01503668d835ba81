//! Traces in unsupported formats, or without the data for a timeline. They are refused with the name of the format and
//! a way to convert them. The formats are in `table`. Content decides; the file name extension counts only if no format
//! matches.

mod bytes;
mod compressed;
mod folders;
mod logs;
mod names;
mod printed;
mod recordings;
mod reports;
mod results;
mod services;
mod table;
mod tracers;

use std::io::Read as _;
use std::path::Path;

use super::format::{Format, Opener};
use super::input::source::Source;
use super::json::outline::Outline;
use super::json::sniff::looks_like_json;
use super::{ReadError, Reader, RefusedKind};
pub(crate) use folders::folder;
use names::{DATABASES, EXTENSIONS};
pub(super) use table::DEVTOOLS_LOG;
use table::{Sniff, UnsupportedFormat};

/// Formats that first bytes or keys identify with certainty.
const UNSUPPORTED: &[&[UnsupportedFormat]] =
    &[table::UNSUPPORTED, recordings::RECORDINGS, results::RESULTS, services::SERVICES, tracers::DOCUMENTS];

/// Formats that are only tried after all others.
const LATE: &[&[UnsupportedFormat]] =
    &[table::LATE, results::LATE_RESULTS, printed::PRINTED, reports::REPORTS, tracers::TRACERS, compressed::COMPRESSED];

/// Formats that are detected with certainty and refused.
pub(super) const FORMAT: Format = Format {
    name: "trace to convert",
    record: "",
    sniff: |head| find(UNSUPPORTED, head).is_some(),
    is_event: None,
    live: None,
    shows: &[],
    opener: Opener::Trace(|source, _| refuse(source, UNSUPPORTED)),
};

/// Formats that are refused only if no other format matches.
pub(super) const LATE_FORMAT: Format = Format {
    name: "trace to record again",
    record: "",
    sniff: |head| find(LATE, head).is_some(),
    is_event: None,
    live: None,
    shows: &[],
    opener: Opener::Trace(|source, _| refuse(source, LATE)),
};

/// Bytes of a database that are searched for table names. Its first page may only refer to the pages that list the
/// tables.
const DATABASE_BYTES: usize = 1 << 20;

/// Returns the first matching format of the tables.
fn find(tables: &'static [&'static [UnsupportedFormat]], head: &[u8]) -> Option<&'static UnsupportedFormat> {
    let outline = looks_like_json(head).then(|| Outline::from_head(head));
    // Keys other than the events of Chrome JSON are metadata, which may have any names.
    let outline = outline.filter(|outline| !outline.has_all(&["traceEvents"]));
    let has_all = |keys: &[&str]| outline.as_ref().is_some_and(|outline| outline.has_all(keys));
    tables.iter().copied().flatten().find(|format| match format.sniff {
        Sniff::Head(fits) => fits(head),
        Sniff::Keys(keys) => has_all(keys),
        Sniff::Both(keys, fits) => has_all(keys) && fits(head),
    })
}

/// Returns whether the head is compressed in a way that is not unpacked.
pub(super) fn is_compressed(head: &[u8]) -> bool {
    find(&[compressed::COMPRESSED], head).is_some()
}

/// Returns whether the head matches a format of `LATE`. Looser sniffers must then not claim it.
pub(super) fn is_late(head: &[u8]) -> bool {
    find(LATE, head).is_some()
}

/// Returns the error with the name of the format and a way to convert it.
fn refuse(mut source: Source, tables: &'static [&'static [UnsupportedFormat]]) -> Result<Reader, ReadError> {
    let path = source.path().to_owned();
    let mut refused = find(tables, source.head()).map(|format| format.refused);
    if source.head().starts_with(bytes::SQLITE) {
        let mut pages = vec![0; DATABASE_BYTES];
        let len = source.read(&mut pages).unwrap_or(0);
        let more = source.fill(&mut pages[len..])?;
        let has = |table: &[u8]| memchr::memmem::find(&pages[..len + more], table).is_some();
        let is_any = |tables: &[&[u8]]| tables.iter().any(|table| has(table));
        let database = DATABASES.iter().find(|database| is_any(database.tables) && has(database.also));
        refused = database.map(|database| database.refused).or(refused);
    }
    let refused = refused.unwrap_or(RefusedKind::new("a trace of another tool", "convert it with that tool"));
    Err(ReadError::Unsupported { path, refused })
}

/// Returns the error for an unrecognised file, if its extension identifies the format.
pub(super) fn by_name(path: &Path) -> Option<ReadError> {
    let extension = path.extension()?.to_str()?;
    let format = EXTENSIONS.iter().find(|format| format.extension.eq_ignore_ascii_case(extension))?;
    Some(ReadError::Unsupported { path: path.to_owned(), refused: format.refused })
}

#[cfg(test)]
mod tests;
