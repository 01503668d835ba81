//! The files of one trace, with the time offset of each. This module opens no file.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::WeightUnit;

/// The input of a file of a trace, with its displayed path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Input {
    /// A path of the file system; may be a pipe.
    File(PathBuf),
    /// The standard input of this process.
    Stdin(PathBuf),
    /// Another open file of this process, such as `/dev/fd/63`.
    Fd(PathBuf),
}

impl Input {
    /// The path of the standard input in messages.
    const STDIN: &str = if cfg!(unix) { "/dev/stdin" } else { "-" };

    /// Returns the standard input, given as `-`.
    #[must_use]
    pub(crate) fn stdin() -> Self {
        Self::Stdin(Self::STDIN.into())
    }

    /// Returns the path for messages and lists.
    #[must_use]
    pub(crate) fn path(&self) -> &Path {
        let (Self::File(path) | Self::Stdin(path) | Self::Fd(path)) = self;
        path
    }

    /// Returns whether the input is an open file of this process, which other processes cannot open.
    #[must_use]
    pub(crate) fn is_open_file(&self) -> bool {
        !matches!(self, Self::File(_))
    }
}

impl From<PathBuf> for Input {
    /// The paths of open files are recognised only here.
    fn from(path: PathBuf) -> Self {
        if [Self::STDIN, "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"].iter().any(|name| path == Path::new(name)) {
            Self::Stdin(path)
        } else if path.starts_with("/dev/fd") || path.starts_with("/proc/self") {
            Self::Fd(path)
        } else {
            Self::File(path)
        }
    }
}

/// A file of a trace, with its time offset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceFile {
    pub(crate) input: Input,
    /// Offset that is added to its times, in nanoseconds: for clocks with different origins.
    pub offset_ns: i64,
}

/// The files that are shown on one timeline.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Sources {
    files: Vec<SourceFile>,
    /// By file, the path of a copy to read instead; `None` to read the file itself.
    instead: Vec<Option<PathBuf>>,
    /// Unit of weights without one.
    weight_unit: Option<WeightUnit>,
}

impl SourceFile {
    #[must_use]
    pub(crate) fn new(path: PathBuf, offset_ns: i64) -> Self {
        Self { input: path.into(), offset_ns }
    }

    /// Returns the path for messages and lists.
    #[must_use]
    pub(crate) fn path(&self) -> &Path {
        self.input.path()
    }
}

impl Sources {
    /// Sets the path of a copy to read instead of a file; its displayed path stays.
    pub(crate) fn read_instead(&mut self, position: usize, path: PathBuf) {
        self.instead.resize(self.files.len(), None);
        if let Some(instead) = self.instead.get_mut(position) {
            *instead = Some(path);
        }
    }

    /// Returns the same sources without their copies: the files are read themselves.
    #[must_use]
    pub(crate) fn without_copies(self) -> Self {
        Self { instead: Vec::new(), ..self }
    }

    /// Returns the path to read a file from. Panics for a position beyond the last file.
    #[must_use]
    pub(crate) fn path_to_read(&self, position: usize) -> &Path {
        let instead = self.instead.get(position).and_then(Option::as_deref);
        instead.unwrap_or(self.files[position].path())
    }

    /// Creates a list of files in this order; processes of the first file keep their ids.
    #[must_use]
    pub(crate) fn new(files: Vec<SourceFile>) -> Self {
        Self { files, instead: Vec::new(), weight_unit: None }
    }

    /// Returns the same sources with a unit for weights that have none.
    #[must_use]
    pub(crate) fn with_weight_unit(self, weight_unit: Option<WeightUnit>) -> Self {
        Self { weight_unit, ..self }
    }

    /// Returns the same sources with the offsets of `other`, by position.
    #[must_use]
    pub(crate) fn with_offsets_of(mut self, other: &Self) -> Self {
        for (file, other) in self.files.iter_mut().zip(&other.files) {
            file.offset_ns = other.offset_ns;
        }
        self
    }

    /// Returns whether any file has an offset.
    #[must_use]
    pub(crate) fn has_offsets(&self) -> bool {
        self.files.iter().any(|file| file.offset_ns != 0)
    }

    #[must_use]
    pub(crate) fn weight_unit(&self) -> Option<WeightUnit> {
        self.weight_unit
    }

    /// Creates a list of files without offsets.
    #[must_use]
    pub fn unmoved(paths: impl IntoIterator<Item = PathBuf>) -> Self {
        Self::new(paths.into_iter().map(|path| SourceFile::new(path, 0)).collect())
    }

    /// Returns the files in order.
    #[must_use]
    pub fn files(&self) -> &[SourceFile] {
        &self.files
    }

    /// Returns the path of the only file, if it has no offset: the trace then has the times, ids and losses of the
    /// file.
    #[must_use]
    pub(crate) fn alone(&self) -> Option<&Path> {
        match &self.files[..] {
            [file] if file.offset_ns == 0 => Some(file.path()),
            _ => None,
        }
    }

    /// Returns a unique name for each file: its file name, its path if file names collide, with a number if a file is
    /// given twice.
    #[must_use]
    pub(crate) fn names(&self) -> Vec<Arc<str>> {
        let mut counts = FxHashMap::<_, usize>::default();
        for file in &self.files {
            *counts.entry(base(file)).or_default() += 1;
        }
        names_of(&self.files, |file| counts.get(&base(file)) == Some(&1))
    }

    /// Returns the same sources with an additional offset for the file with this name, as in [`Sources::names`]. The
    /// files are read themselves, because a load removes their copies.
    #[must_use]
    pub(crate) fn moved_by(&self, name: &str, by_ns: i64) -> Self {
        let files = self.files.iter().zip(self.names()).map(|(file, file_name)| {
            let by_ns = if *file_name == *name { by_ns } else { 0 };
            SourceFile { input: file.input.clone(), offset_ns: file.offset_ns.saturating_add(by_ns) }
        });
        Self::new(files.collect()).with_weight_unit(self.weight_unit)
    }

    /// Returns a short title for all files.
    #[must_use]
    pub(crate) fn title(&self) -> String {
        // Names of two files only: the title is computed several times per frame.
        let is_alone =
            |file: &SourceFile| self.files.iter().filter(|other| base(other) == base(file)).take(2).count() == 1;
        match &names_of(&self.files[..self.files.len().min(2)], is_alone)[..] {
            [] => String::new(),
            [name] => name.to_string(),
            [first, second] if self.files.len() == 2 => format!("{first} and {second}"),
            [first, ..] => format!("{first} and {} more", self.files.len() - 1),
        }
    }
}

/// Returns the file name of a path.
fn base(file: &SourceFile) -> Option<Cow<'_, str>> {
    file.path().file_name().map(OsStr::to_string_lossy)
}

/// Returns names of files: the file name if it is unique. Takes linear time.
fn names_of(files: &[SourceFile], is_alone: impl Fn(&SourceFile) -> bool) -> Vec<Arc<str>> {
    let (mut taken, mut numbers) = (FxHashSet::<Arc<str>>::default(), FxHashMap::<Arc<str>, u64>::default());
    let mut name = |file: &SourceFile| {
        let base = base(file).filter(|_| is_alone(file));
        let wanted: Arc<str> = base.unwrap_or_else(|| file.path().to_string_lossy()).into();
        let number = numbers.entry(Arc::clone(&wanted)).or_insert(1);
        let mut name = Arc::clone(&wanted);
        while !taken.insert(Arc::clone(&name)) {
            *number += 1;
            name = format!("{wanted} ({number})").into();
        }
        name
    };
    files.iter().map(&mut name).collect()
}

/// One file without an offset.
impl<P: AsRef<Path> + ?Sized> From<&P> for Sources {
    fn from(path: &P) -> Self {
        Self::unmoved([path.as_ref().to_owned()])
    }
}

/// Shows the paths in order, separated by commas.
impl std::fmt::Display for Sources {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (position, file) in self.files.iter().enumerate() {
            let comma = if position == 0 { "" } else { ", " };
            write!(f, "{comma}{}", file.path().display())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn open_files_of_this_process_are_known_by_their_paths_and_keep_them() {
        let input = |path: &str| Input::from(PathBuf::from(path));
        for path in ["/dev/stdin", "/dev/fd/0", "/proc/self/fd/0", Input::STDIN] {
            assert_eq!(input(path), Input::Stdin(path.into()));
        }
        for path in ["/dev/fd/63", "/proc/self/fd/3", "/dev/fd"] {
            assert_eq!((input(path), input(path).path()), (Input::Fd(path.into()), Path::new(path)));
        }
        for path in ["/dev/fdx", "stdin", "/none", "/dev/stdin2"] {
            assert_eq!(input(path), Input::File(path.into()));
        }
    }

    #[test]
    fn no_two_files_are_called_the_same() {
        let sources = |paths: &[&str]| Sources::unmoved(paths.iter().map(PathBuf::from));
        let names = |paths: &[&str]| sources(paths).names().iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(names(&["x/a.json", "y/b.json"]), ["a.json", "b.json"]);
        assert_eq!(names(&["x/a.json", "y/a.json", "b"]), ["x/a.json", "y/a.json", "b"]);
        assert_eq!(names(&["a", "a", "a"]), ["a", "a (2)", "a (3)"]);
        assert_eq!(names(&["/"]), ["/"]);
        // A file may already have the name of a numbered one.
        assert_eq!(names(&["x/a (2)", "a", "a"]), ["a (2)", "a", "a (3)"]);
        assert_eq!(sources(&["x/a", "y/b", "c"]).title(), "a and 2 more");
        assert_eq!(sources(&["x/a", "y/b"]).title(), "a and b");
    }
}
