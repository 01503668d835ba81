//! Errors of unreadable traces: each names the file, the position, and the expected and actual content.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::base::cancel::Cancelled;
use crate::base::escape::escaped;
use crate::base::files::FileKind;
use crate::base::similar::nearest_within;

/// A kind of file that is recognised and refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RefusedKind {
    pub(crate) name: &'static str,
    /// A way to obtain a supported trace.
    pub(crate) advice: &'static str,
    /// Whether it has data of a trace. Other kinds may be beside traces in an archive, such as pictures and reports.
    pub(crate) is_trace: bool,
}

impl RefusedKind {
    pub(crate) const fn new(name: &'static str, advice: &'static str) -> Self {
        Self { name, advice, is_trace: true }
    }

    pub(crate) const fn no_trace(name: &'static str, advice: &'static str) -> Self {
        Self { name, advice, is_trace: false }
    }
}

/// Why a trace, or a chunk of it, is unreadable.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the fields are named as the message shows them")]
pub enum ReadError {
    #[error("{}: {}", path.display(), io_text(*offset, source))]
    Io { path: PathBuf, offset: u64, source: std::io::Error },
    /// No file has this path; another file beside it may have a similar name.
    #[error("{}: no such file: {}", path.display(), missing_advice(similar.as_deref()))]
    Missing { path: PathBuf, similar: Option<String> },
    #[error("{}: the file is empty", path.display())]
    Empty { path: PathBuf },
    /// The path is not a regular file.
    #[error("{}: not a file but {kind}{}", path.display(), advice_for(*kind))]
    NotAFile { path: PathBuf, kind: FileKind },
    /// The path is a folder, with a trace somewhere below it.
    #[error("{}: not a file but a folder with {kind}: open {}", path.display(), inside.display())]
    TraceInside { path: PathBuf, kind: &'static str, inside: PathBuf },
    /// The format is not recognised.
    #[error(
        "{}: byte 0: unrecognised file format, found {found}.{guess} Supported: {supported}", path.display()
    )]
    Unrecognised { path: PathBuf, found: String, guess: String, supported: String },
    /// The content violates the format.
    #[error("{}: byte {offset}: expected {expected}, found {found}", path.display())]
    Malformed { path: PathBuf, offset: u64, expected: String, found: String },
    /// A known format that is not supported.
    #[error("{}: this is {}, which Longspan does not read: {}", path.display(), refused.name, refused.advice)]
    Unsupported { path: PathBuf, refused: RefusedKind },
    /// A trace that has records but no readable event.
    #[error("{}: the format is {format}, but no event could be read: {lost} {record}", path.display())]
    NoEvents { path: PathBuf, format: &'static str, lost: String, record: &'static str },
    /// A copy of the trace for reading by position cannot be written.
    #[error(
        "{}: cannot write a temporary copy of the trace: {source}; free some space there, or choose another folder with the variable TMPDIR", folder.display()
    )]
    TemporaryCopy { folder: PathBuf, source: std::io::Error },
    /// The reasons why several files are unreadable.
    #[error("{} files cannot be read:\n{}", errors.len(), lines(errors))]
    Several { errors: Vec<ReadError> },
    /// The user cancelled the work.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
    /// The sink could not store a batch.
    #[error("{0}")]
    Sink(#[source] Box<dyn std::error::Error + Send + Sync>),
}

fn advice_for(kind: FileKind) -> &'static str {
    if kind == FileKind::Folder { ": open the files in it" } else { "" }
}

fn missing_advice(similar: Option<&str>) -> String {
    match similar {
        Some(name) => format!("did you mean {}?", escaped(name)),
        None => "check the path and the current folder".to_owned(),
    }
}

/// Limit for the files whose names are compared with the name of a missing file.
const SIMILAR_FILES_MAX: usize = 10_000;

/// Minimum similarity of file names that a user may confuse. The same extension alone makes names similar.
const FILE_SIMILARITY_MIN: f64 = 0.92;

/// Returns the name in the folder of a missing file that is most similar to its name, if any is similar.
fn similar_file(path: &Path) -> Option<String> {
    let wanted = path.file_name()?.to_str()?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let entries = std::fs::read_dir(folder).ok()?.take(SIMILAR_FILES_MAX).flatten();
    let names: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    nearest_within(wanted, names.iter().map(String::as_str), FILE_SIMILARITY_MIN).map(str::to_owned)
}

/// Returns the problem, with advice if the path is wrong or not accessible.
fn io_text(offset: u64, error: &std::io::Error) -> String {
    match error.kind() {
        ErrorKind::NotFound => "no such file: check the path and the current folder".to_owned(),
        ErrorKind::PermissionDenied => "cannot be read, for lack of permission: check its owner and mode".to_owned(),
        _ => format!("cannot read at byte {offset}: {error}"),
    }
}

/// Formats each error on its own line; line breaks in file names are escaped.
fn lines(errors: &[ReadError]) -> String {
    errors.iter().map(|error| escaped(&error.to_string()).into_owned()).collect::<Vec<_>>().join("\n")
}

impl ReadError {
    /// Creates the error of a path that cannot be inspected. Looks for a file with a similar name if none has it.
    pub(crate) fn inaccessible(path: &Path, source: std::io::Error) -> Self {
        if source.kind() == ErrorKind::NotFound {
            return Self::Missing { path: path.to_owned(), similar: similar_file(path) };
        }
        Self::Io { path: path.to_owned(), offset: 0, source }
    }

    /// Creates the error of content that violates the format.
    pub(crate) fn malformed(
        path: impl Into<PathBuf>,
        offset: u64,
        expected: impl Into<String>,
        found: impl Into<String>,
    ) -> Self {
        Self::Malformed { path: path.into(), offset, expected: expected.into(), found: found.into() }
    }

    /// Returns the path of the unreadable file, if the error is about one.
    fn path_mut(&mut self) -> Option<&mut PathBuf> {
        match self {
            Self::Io { path, .. }
            | Self::Missing { path, .. }
            | Self::Empty { path }
            | Self::NotAFile { path, .. }
            | Self::TraceInside { path, .. }
            | Self::Unrecognised { path, .. }
            | Self::Unsupported { path, .. }
            | Self::NoEvents { path, .. }
            | Self::Malformed { path, .. } => Some(path),
            Self::TemporaryCopy { .. } | Self::Several { .. } | Self::Cancelled(_) | Self::Sink(_) => None,
        }
    }

    /// Replaces the path `read` by `named`, for a file that was read in place of another.
    #[must_use]
    pub(crate) fn renamed(mut self, read: &Path, named: &Path) -> Self {
        if let Some(path) = self.path_mut().filter(|path| *path == read) {
            named.clone_into(path);
        }
        if let Self::Several { errors } = self {
            return Self::Several { errors: errors.into_iter().map(|error| error.renamed(read, named)).collect() };
        }
        self
    }

    /// Replaces the path of a temporary copy by the path that the user knows.
    #[must_use]
    pub(crate) fn in_file(mut self, named: &Path) -> Self {
        if let Some(path) = self.path_mut() {
            named.clone_into(path);
        }
        self
    }

    /// Moves the position, for an error about a part of a file.
    #[must_use]
    pub(crate) fn moved(mut self, move_offset: impl Fn(u64) -> u64) -> Self {
        if let Self::Io { offset, .. } | Self::Malformed { offset, .. } = &mut self {
            *offset = move_offset(*offset);
        }
        self
    }

    /// Returns the position of the error in the file; `None` if it is about the whole file.
    #[must_use]
    pub(crate) fn offset(&self) -> Option<u64> {
        match self {
            Self::Io { offset, .. } | Self::Malformed { offset, .. } => Some(*offset),
            Self::Missing { .. }
            | Self::Empty { .. }
            | Self::NotAFile { .. }
            | Self::TraceInside { .. }
            | Self::Unrecognised { .. }
            | Self::Unsupported { .. }
            | Self::NoEvents { .. }
            | Self::TemporaryCopy { .. }
            | Self::Several { .. }
            | Self::Cancelled(_)
            | Self::Sink(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mistyped_file_means_the_one_with_a_similar_name_beside_it() {
        let folder = tempfile::tempdir().expect("a folder for temporary files");
        for name in ["trace.json", "b.json", "capture.pftrace"] {
            std::fs::write(folder.path().join(name), "").expect("written");
        }
        let advice = |name: &str| {
            let path = folder.path().join(name);
            let error = ReadError::inaccessible(&path, std::fs::metadata(&path).expect_err("no such file"));
            error.to_string().rsplit(": ").next().expect("a part").to_owned()
        };
        for name in ["trac.json", "Trace.json", "tarce.json", "trace.jsn"] {
            assert_eq!(advice(name), "did you mean trace.json?", "{name}");
        }
        for name in ["a.json", "capture.json", "none/trace.json"] {
            assert_eq!(advice(name), "check the path and the current folder", "{name}");
        }
    }

    #[test]
    fn a_missing_file_is_named_without_a_position() {
        let text = |kind: ErrorKind, offset| {
            ReadError::Io { path: "nmaes.json".into(), offset, source: kind.into() }.to_string()
        };
        assert_eq!(text(ErrorKind::NotFound, 0), "nmaes.json: no such file: check the path and the current folder");
        let denied = text(ErrorKind::PermissionDenied, 0);
        assert_eq!(denied, "nmaes.json: cannot be read, for lack of permission: check its owner and mode");
        let cut = text(ErrorKind::UnexpectedEof, 9);
        assert!(cut.starts_with("nmaes.json: cannot read at byte 9: "), "{cut}");
    }
}
