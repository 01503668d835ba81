//! Which files are one capture, and by how much each is moved in time. Opens none of them.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

/// A file of a capture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceFile {
    /// Where it is.
    pub path: PathBuf,
    /// What is added to its times, in nanoseconds: for clocks that began at different moments.
    pub offset_ns: i64,
}

/// The files that are shown on one timeline: one, or several.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Sources {
    files: Vec<SourceFile>,
    /// What to read instead of a file, by its position; files without are themselves.
    instead: Vec<Option<PathBuf>>,
}

impl Sources {
    /// The path of what comes to the standard input of this process.
    pub const INPUT: &str = if cfg!(unix) { "/dev/stdin" } else { "-" };

    /// Has a file be read from another place; it is still called what it is called.
    pub fn read_instead(&mut self, position: usize, path: PathBuf) {
        self.instead.resize(self.files.len(), None);
        if let Some(instead) = self.instead.get_mut(position) {
            *instead = Some(path);
        }
    }

    /// Where a file is to be read.
    ///
    /// # Panics
    /// If there are not so many files.
    #[must_use]
    pub fn path_to_read(&self, position: usize) -> &Path {
        let instead = self.instead.get(position).and_then(Option::as_deref);
        instead.unwrap_or(&self.files[position].path)
    }

    /// These files, in this order: the processes of the first keep their ids.
    #[must_use]
    pub fn new(files: Vec<SourceFile>) -> Self {
        Self { files, instead: Vec::new() }
    }

    /// These files, none of them moved.
    #[must_use]
    pub fn unmoved(paths: impl IntoIterator<Item = PathBuf>) -> Self {
        Self::new(paths.into_iter().map(|path| SourceFile { path, offset_ns: 0 }).collect())
    }

    /// The files, in order.
    #[must_use]
    pub fn files(&self) -> &[SourceFile] {
        &self.files
    }

    /// The path of the only file, if there is but one and it is not moved: then its times, its ids and its losses are those
    /// of the capture.
    #[must_use]
    pub fn alone(&self) -> Option<&Path> {
        match &self.files[..] {
            [file] if file.offset_ns == 0 => Some(&file.path),
            _ => None,
        }
    }

    /// What each file is called, as no other: by its name, by its path where two names are the same, and by a number where
    /// one file is there twice.
    #[must_use]
    pub fn names(&self) -> Vec<Arc<str>> {
        let name =
            |file: &SourceFile| file.path.file_name().map(OsStr::to_string_lossy).map(std::borrow::Cow::into_owned);
        let bases: Vec<Option<String>> = self.files.iter().map(name).collect();
        let mut counts: FxHashMap<&Option<String>, usize> = FxHashMap::default();
        bases.iter().for_each(|base| *counts.entry(base).or_default() += 1);
        let mut taken: FxHashSet<Arc<str>> = FxHashSet::default();
        // By name: the first number that may be free.
        let mut numbers: FxHashMap<String, usize> = FxHashMap::default();
        let mut names: Vec<Arc<str>> = Vec::with_capacity(self.files.len());
        for (file, base) in self.files.iter().zip(&bases) {
            let is_alone = counts.get(base) == Some(&1);
            let whole = || file.path.display().to_string();
            let name = base.clone().filter(|_| is_alone).unwrap_or_else(whole);
            let mut free: Arc<str> = name.as_str().into();
            if taken.contains(&free) {
                let number = numbers.entry(name.clone()).or_insert(2);
                while taken.contains(&free) {
                    free = format!("{name} ({number})").into();
                    *number += 1;
                }
            }
            taken.insert(Arc::clone(&free));
            names.push(free);
        }
        names
    }

    /// The same with the file of this name, as [`Sources::names`] calls it, moved further.
    #[must_use]
    pub fn moved_by(&self, name: &str, by_ns: i64) -> Self {
        let files = self.files.iter().zip(self.names()).map(|(file, known)| {
            let by_ns = if *known == *name { by_ns } else { 0 };
            SourceFile { path: file.path.clone(), offset_ns: file.offset_ns.saturating_add(by_ns) }
        });
        Self::new(files.collect())
    }

    /// What they are called together, in a few words.
    #[must_use]
    pub fn title(&self) -> String {
        match &self.names()[..] {
            [] => String::new(),
            [name] => name.to_string(),
            [first, second] => format!("{first} and {second}"),
            [first, rest @ ..] => format!("{first} and {} more", rest.len()),
        }
    }
}

/// One file, not moved.
impl<P: AsRef<Path> + ?Sized> From<&P> for Sources {
    fn from(path: &P) -> Self {
        Self::unmoved([path.as_ref().to_owned()])
    }
}

/// The paths, for messages.
impl std::fmt::Display for Sources {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (position, file) in self.files.iter().enumerate() {
            let comma = if position == 0 { "" } else { ", " };
            write!(f, "{comma}{}", file.path.display())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_file_a_hundred_thousand_times_is_named_at_once() {
        let names = Sources::unmoved((0..100_000).map(|_| PathBuf::from("a"))).names();
        assert_eq!((&*names[1], &*names[99_999]), ("a (2)", "a (100000)"));
    }

    #[test]
    fn no_two_files_are_called_the_same() {
        let sources = |paths: &[&str]| Sources::unmoved(paths.iter().map(PathBuf::from));
        let names = |paths: &[&str]| sources(paths).names().iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(names(&["x/a.json", "y/b.json"]), ["a.json", "b.json"]);
        assert_eq!(names(&["x/a.json", "y/a.json", "b"]), ["x/a.json", "y/a.json", "b"]);
        assert_eq!(names(&["a", "a", "a"]), ["a", "a (2)", "a (3)"]);
        assert_eq!(names(&["/"]), ["/"]);
        assert_eq!(names(&["a (2)", "a", "a", "a"]), ["a (2)", "a", "a (3)", "a (4)"]);
        assert_eq!(sources(&["x/a", "y/b", "c"]).title(), "a and 2 more");
        assert_eq!(sources(&["x/a", "y/b"]).title(), "a and b");
    }
}
