//! The export formats, and the only function that derives a format from a file name.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::base::csv::Cells;
use crate::base::similar::nearest;

/// The output format of an export, with its options.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExportFormat {
    /// A sorted trace in Longspan's own format, without losses.
    Native {
        /// Whether a whole trace is written without its store: in less than half the bytes, but the next open has to
        /// index it again.
        compact: bool,
    },
    /// Chrome JSON, which most viewers read; import issues are not included.
    ChromeJson {
        /// Whether the text is compressed with gzip.
        gzip: bool,
    },
    /// A compressed pprof profile with the samples only; see [`super::pprof`].
    Pprof,
    /// Perfetto's protobuf format; import issues and arguments of samples are not included.
    Perfetto,
    /// The spans only, as CSV; see [`super::csv`].
    Csv {
        /// How text in cells is written.
        cells: Cells,
    },
    /// A folder of tables for databases; see [`super::parquet`].
    Parquet {
        /// Whether each process has its own files.
        by_process: bool,
    },
}

/// File extensions without the dot, each with its format. The first of a format is its default.
const ENDINGS: &[(&str, ExportFormat)] = &[
    ("longspan", ExportFormat::Native { compact: false }),
    ("json", ExportFormat::ChromeJson { gzip: false }),
    ("json.gz", ExportFormat::ChromeJson { gzip: true }),
    ("pftrace", ExportFormat::Perfetto),
    ("perfetto-trace", ExportFormat::Perfetto),
    ("pb.gz", ExportFormat::Pprof),
    ("pprof", ExportFormat::Pprof),
    ("csv", ExportFormat::CSV),
    ("parquet", ExportFormat::Parquet { by_process: false }),
];

/// Extensions of compressed files. Only Chrome JSON and profiles are written compressed.
const PACKED: &[&str] = &["gz", "zst"];

/// All extensions of [`ENDINGS`], for messages.
pub(crate) const ENDINGS_TEXT: &str =
    ".longspan, .json, .json.gz, .pftrace, .perfetto-trace, .pb.gz, .pprof, .csv or .parquet";

/// Error of a compressed file name for a format that is not written compressed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}: only .json and .pb can be written compressed: give a name that ends in {ENDINGS_TEXT}", path.display())]
pub(crate) struct PackedName {
    pub(crate) path: PathBuf,
}

/// Error of a file name that determines no format.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum OutputNameError {
    #[error(transparent)]
    Packed(#[from] PackedName),
    #[error("{}: no format has the extension .{ending}{}: give a name that ends in {ENDINGS_TEXT}",
        path.display(), meant.map(|meant| format!(" (did you mean .{meant}?)")).unwrap_or_default())]
    Unknown {
        path: PathBuf,
        /// The extension without the dot.
        ending: String,
        /// The most similar known extension.
        meant: Option<&'static str>,
    },
}

impl ExportFormat {
    /// A Longspan trace that is not compacted: the default in the window.
    pub(crate) const NATIVE: Self = Self::Native { compact: false };
    /// CSV with texts as they are in the trace.
    pub(crate) const CSV: Self = Self::Csv { cells: Cells::PLAIN };

    /// Returns the format for a file name; `None` if it has no extension of [`ENDINGS_TEXT`]. Returns [`PackedName`]
    /// for a compressed file that cannot be written: its content would not match its name.
    pub(crate) fn from_name(path: &Path) -> Result<Option<Self>, PackedName> {
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
        let ends_in = |ending: &str| {
            let stem = name.strip_suffix(ending).and_then(|rest| rest.strip_suffix('.'));
            stem.is_some_and(|stem| !stem.is_empty())
        };
        if let Some((_, format)) = ENDINGS.iter().find(|(ending, _)| ends_in(ending)) {
            return Ok(Some(*format));
        }
        if PACKED.iter().any(|ending| ends_in(ending)) {
            return Err(PackedName { path: path.to_owned() });
        }
        Ok(None)
    }

    /// Returns the format for the output of a command: the native one for a name without an extension. An unknown
    /// extension is an error, since it is probably mistyped.
    pub(crate) fn from_output(path: &Path) -> Result<Self, OutputNameError> {
        if let Some(format) = Self::from_name(path)? {
            return Ok(format);
        }
        match path.extension().map(|ending| ending.to_string_lossy().into_owned()) {
            Some(ending) if !ending.is_empty() => {
                let (typed, known) = (ending.to_lowercase(), || ENDINGS.iter().map(|(ending, _)| *ending));
                let is_packed = |known: &&str| known.strip_prefix(&*typed).is_some_and(|rest| rest.starts_with('.'));
                let meant = known().find(is_packed).or_else(|| nearest(&typed, known()));
                Err(OutputNameError::Unknown { path: path.to_owned(), ending, meant })
            }
            _ => Ok(Self::NATIVE),
        }
    }

    /// Returns the file and format of an export with this name, for the selected format `self`. An extension of the
    /// name takes precedence; a name without one gets the extension of `self`. Fails as [`ExportFormat::from_name`]
    /// does.
    pub(crate) fn for_name(self, path: PathBuf) -> Result<(PathBuf, Self), PackedName> {
        Ok(match Self::from_name(&path)? {
            None => (with_ending(path, self.ending()), self),
            // A name does not determine the other options of a format, so the options of `self` are kept.
            Some(named) if named.shares_endings(self) => (path, self),
            Some(named) => (path, named),
        })
    }

    /// Returns whether it supports counters.
    #[must_use]
    pub(crate) fn has_counters(self) -> bool {
        match self {
            Self::Native { .. } | Self::ChromeJson { .. } | Self::Perfetto | Self::Parquet { .. } => true,
            Self::Pprof | Self::Csv { .. } => false,
        }
    }

    /// Returns whether the format has a source line per frame of [`super::source_stacks`].
    pub(super) fn has_source_lines(self) -> bool {
        match self {
            Self::ChromeJson { .. } | Self::Perfetto | Self::Parquet { .. } => true,
            Self::Native { .. } | Self::Pprof | Self::Csv { .. } => false,
        }
    }

    /// Sets the cell format of CSV.
    #[must_use]
    pub(crate) fn with_cells(self, cells: Cells) -> Self {
        if let Self::Csv { .. } = self { Self::Csv { cells } } else { self }
    }

    /// Returns the default extension of its files, without the dot.
    #[must_use]
    pub(crate) fn ending(self) -> &'static str {
        self.endings().next().unwrap_or_default()
    }

    /// Iterates over the extensions of its files, without the dot.
    pub(crate) fn endings(self) -> impl Iterator<Item = &'static str> {
        ENDINGS.iter().filter(move |(_, format)| format.shares_endings(self)).map(|(ending, _)| *ending)
    }

    /// Returns whether files of both have the same extensions. Compression has its own, other options have none.
    fn shares_endings(self, other: Self) -> bool {
        match (self, other) {
            (Self::ChromeJson { gzip }, Self::ChromeJson { gzip: other }) => gzip == other,
            _ => std::mem::discriminant(&self) == std::mem::discriminant(&other),
        }
    }

    /// Returns its name in a sentence, with an article where it needs one.
    #[must_use]
    pub(crate) fn label(self) -> &'static str {
        match self {
            Self::Native { .. } => "a Longspan trace",
            Self::ChromeJson { gzip: false } => "Chrome JSON",
            Self::ChromeJson { gzip: true } => "compressed Chrome JSON",
            Self::Perfetto => "a Perfetto trace",
            Self::Pprof => "a pprof profile",
            Self::Csv { .. } => "comma-separated text",
            Self::Parquet { .. } => "Parquet tables",
        }
    }
}

/// Returns whether a file name ends in `.gz`.
#[must_use]
pub(crate) fn ends_in_gz(path: &Path) -> bool {
    path.extension().is_some_and(|last| last.eq_ignore_ascii_case("gz"))
}

/// Appends a dot and an extension to the file name of a path.
#[must_use]
pub(crate) fn with_ending(path: PathBuf, ending: &str) -> PathBuf {
    let mut text = OsString::from(path);
    text.push(".");
    text.push(ending);
    text.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NATIVE: ExportFormat = ExportFormat::NATIVE;

    #[test]
    fn the_endings_of_messages_are_those_of_the_table() {
        let named = ENDINGS_TEXT.split([',', ' ']).filter_map(|word| word.strip_prefix('.')).collect::<Vec<_>>();
        assert_eq!(named, ENDINGS.iter().map(|(ending, _)| *ending).collect::<Vec<_>>());
        for (ending, format) in ENDINGS {
            assert_eq!(ExportFormat::from_name(format!("a.{ending}").as_ref()), Ok(Some(*format)), "{ending}");
            assert!(format.endings().any(|known| known == *ending), "{ending}");
        }
    }

    #[test]
    fn a_name_without_an_ending_gets_one_and_any_other_decides() {
        let compact = ExportFormat::Native { compact: true };
        let gzip = ExportFormat::ChromeJson { gzip: true };
        for (chosen, name, expected, format) in [
            (NATIVE, "c", "c.longspan", NATIVE),
            (NATIVE, "c.v2", "c.v2.longspan", NATIVE),
            (NATIVE, "c.", "c..longspan", NATIVE),
            (NATIVE, ".json", ".json.longspan", NATIVE),
            (compact, "c.longspan", "c.longspan", compact),
            (compact, "c.JSON", "c.JSON", ExportFormat::ChromeJson { gzip: false }),
            (NATIVE, "c.json.gz", "c.json.gz", gzip),
            (gzip, "c", "c.json.gz", gzip),
            (ExportFormat::Perfetto, "c.perfetto-trace", "c.perfetto-trace", ExportFormat::Perfetto),
            (
                ExportFormat::Parquet { by_process: true },
                "c.parquet",
                "c.parquet",
                ExportFormat::Parquet { by_process: true },
            ),
        ] {
            assert_eq!(chosen.for_name(name.into()), Ok((expected.into(), format)), "{name}");
        }
        for name in ["c.csv.gz", "c.gz", "c.pftrace.zst", "C.CSV.GZ"] {
            assert_eq!(NATIVE.for_name(name.into()), Err(PackedName { path: name.into() }));
        }
    }
}
