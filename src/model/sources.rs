//! Which files are one capture, and by how much each is moved in time. Opens none of them.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::WeightUnit;

/// The input that a file of a capture is read from, with the path that names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Input {
    /// A path of the file system, at which there may be a pipe.
    File(PathBuf),
    /// The standard input of this process.
    Stdin(PathBuf),
    /// Another open file of this process, such as `/dev/fd/63`.
    Fd(PathBuf),
}

impl Input {
    /// The path that messages show for the standard input.
    const STDIN: &str = if cfg!(unix) { "/dev/stdin" } else { "-" };

    /// The standard input, as `-` names it.
    #[must_use]
    pub(crate) fn stdin() -> Self {
        Self::Stdin(Self::STDIN.into())
    }

    /// The path by which messages and lists name it.
    #[must_use]
    pub(crate) fn path(&self) -> &Path {
        let (Self::File(path) | Self::Stdin(path) | Self::Fd(path)) = self;
        path
    }

    /// Whether only this process can read it, since it is one of its own open files.
    #[must_use]
    pub(crate) fn is_open_file(&self) -> bool {
        !matches!(self, Self::File(_))
    }
}

impl From<PathBuf> for Input {
    /// The one place that knows the paths of open files.
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

/// A file of a capture, moved in time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceFile {
    pub(crate) input: Input,
    /// The offset that is added to its times, in nanoseconds: for clocks that began at different moments.
    pub offset_ns: i64,
}

/// The files that are shown on one timeline: one, or several.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Sources {
    files: Vec<SourceFile>,
    /// The path to read instead of a file, by its position; `None` for the file itself.
    instead: Vec<Option<PathBuf>>,
    /// The unit of weights without one.
    weight_unit: Option<WeightUnit>,
}

impl SourceFile {
    #[must_use]
    pub(crate) fn new(path: PathBuf, offset_ns: i64) -> Self {
        Self { input: path.into(), offset_ns }
    }

    /// The path by which messages and lists name it.
    #[must_use]
    pub(crate) fn path(&self) -> &Path {
        self.input.path()
    }
}

impl Sources {
    /// Has a file be read from another place; it is still called what it is called.
    pub(crate) fn read_instead(&mut self, position: usize, path: PathBuf) {
        self.instead.resize(self.files.len(), None);
        if let Some(instead) = self.instead.get_mut(position) {
            *instead = Some(path);
        }
    }

    /// The path to read a file from. Panics for a position beyond the last file.
    #[must_use]
    pub(crate) fn path_to_read(&self, position: usize) -> &Path {
        let instead = self.instead.get(position).and_then(Option::as_deref);
        instead.unwrap_or(self.files[position].path())
    }

    /// These files, in this order: the processes of the first keep their ids.
    #[must_use]
    pub(crate) fn new(files: Vec<SourceFile>) -> Self {
        Self { files, instead: Vec::new(), weight_unit: None }
    }

    /// The same with a unit for weights that have none.
    #[must_use]
    pub(crate) fn with_weight_unit(self, weight_unit: Option<WeightUnit>) -> Self {
        Self { weight_unit, ..self }
    }

    #[must_use]
    pub(crate) fn weight_unit(&self) -> Option<WeightUnit> {
        self.weight_unit
    }

    /// These files, none of them moved.
    #[must_use]
    pub fn unmoved(paths: impl IntoIterator<Item = PathBuf>) -> Self {
        Self::new(paths.into_iter().map(|path| SourceFile::new(path, 0)).collect())
    }

    /// The files in their order.
    #[must_use]
    pub fn files(&self) -> &[SourceFile] {
        &self.files
    }

    /// The path of the only file, if there is but one and it is not moved: then its times, its ids and its losses
    /// are those of the capture.
    #[must_use]
    pub(crate) fn alone(&self) -> Option<&Path> {
        match &self.files[..] {
            [file] if file.offset_ns == 0 => Some(file.path()),
            _ => None,
        }
    }

    /// A distinct name for each file: its name, its path where two names are the same, and a number where
    /// one file was given twice.
    #[must_use]
    pub(crate) fn names(&self) -> Vec<Arc<str>> {
        let mut counts = FxHashMap::<_, usize>::default();
        for file in &self.files {
            *counts.entry(base(file)).or_default() += 1;
        }
        names_of(&self.files, |file| counts.get(&base(file)) == Some(&1))
    }

    /// The same with the file of this name, as [`Sources::names`] calls it, moved further.
    #[must_use]
    pub(crate) fn moved_by(&self, name: &str, by_ns: i64) -> Self {
        let files = self.files.iter().zip(self.names()).map(|(file, known)| {
            let by_ns = if *known == *name { by_ns } else { 0 };
            SourceFile { input: file.input.clone(), offset_ns: file.offset_ns.saturating_add(by_ns) }
        });
        Self::new(files.collect()).with_weight_unit(self.weight_unit)
    }

    /// One name for all of them, in a few words.
    #[must_use]
    pub(crate) fn title(&self) -> String {
        // Of two files only: a frame asks for the title several times.
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

/// The last part of the path of a file.
fn base(file: &SourceFile) -> Option<Cow<'_, str>> {
    file.path().file_name().map(OsStr::to_string_lossy)
}

/// The names of files: the last part of a path where it is unique. Linear in their number.
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

/// One file whose times are not moved.
impl<P: AsRef<Path> + ?Sized> From<&P> for Sources {
    fn from(path: &P) -> Self {
        Self::unmoved([path.as_ref().to_owned()])
    }
}

/// The paths, as messages list them.
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
        // A number may be taken by a file that is called so.
        assert_eq!(names(&["x/a (2)", "a", "a"]), ["a (2)", "a", "a (3)"]);
        assert_eq!(sources(&["x/a", "y/b", "c"]).title(), "a and 2 more");
        assert_eq!(sources(&["x/a", "y/b"]).title(), "a and b");
    }
}
