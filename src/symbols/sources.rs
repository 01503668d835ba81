//! Reads source files. Their paths in debug information are from the build machine, and untrusted. A file is opened
//! only below the user's source and symbol folders, and below the folder of the trace.
//!
//! A source folder without a prefix is searched for the end of the path, as debuggers do: most folders have moved since
//! the build.

use std::path::{Component, Path, PathBuf};
use std::time::SystemTime;

use super::file::{InputFile, OpenError, Roots};
use super::locate::folder_problem;
use super::paths::{real_folder, without_parents};

/// Size limit of a source file; generated ones have a few megabytes.
const FILE_BYTES_MAX: u64 = 16 << 20;

/// Limit for the components of a path that are looked for in a folder; sources of packages have about ten.
const ENDS_MAX: usize = 32;

/// A source folder, and the path prefix that it replaces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SourceMap {
    from: PathBuf,
    /// Whether the folder may hold the files of any other path.
    is_searched: bool,
    /// The folder without `..`, with links resolved.
    folder: PathBuf,
}

impl SourceMap {
    /// Parses `FROM=FOLDER`, or a folder without a prefix.
    #[must_use]
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (from, folder) = text.split_once('=').unwrap_or((text, text));
        let absolute = std::path::absolute(folder).ok().filter(|_| !folder.is_empty())?;
        let from = if text.contains('=') { Some(PathBuf::from(from)) } else { without_parents(&absolute) };
        let from = from.filter(|from| !from.as_os_str().is_empty())?;
        Some(Self { from, is_searched: !text.contains('='), folder: real_folder(&absolute) })
    }

    /// Returns why no file is found in the folder, such as that there is no such folder.
    #[must_use]
    pub(crate) fn problem(&self) -> Option<String> {
        folder_problem(&self.folder)
    }
}

/// The folders of source files.
#[derive(Debug, Clone, Default)]
pub(crate) struct SourceFolders {
    roots: Roots,
    maps: Vec<SourceMap>,
}

/// The reason for missing source text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SourceProblem {
    /// The path is below none of the user's folders.
    NotNamed,
    Missing,
    /// The file is not a regular file, too large, or unreadable.
    Unreadable,
}

impl SourceProblem {
    /// Returns a short text for the user.
    #[must_use]
    pub(crate) fn label(self) -> &'static str {
        match self {
            Self::NotNamed => "not opened: it is outside the given source folders",
            Self::Missing => "no such file",
            Self::Unreadable => "unreadable",
        }
    }
}

/// The lines of a source file.
#[derive(Debug)]
pub(super) struct SourceText {
    pub(super) path: PathBuf,
    pub(super) modified: Option<SystemTime>,
    text: String,
    /// End offset of each line, without its line break.
    ends: Vec<usize>,
}

impl SourceFolders {
    /// Returns the folders of traces at these paths, of symbols, and of mapped prefixes.
    #[must_use]
    pub(crate) fn for_traces<'a>(
        traces: impl IntoIterator<Item = &'a Path>,
        symbols: &[PathBuf],
        maps: Vec<SourceMap>,
    ) -> Self {
        let mut roots = Roots::default();
        let traces = traces.into_iter().filter_map(|trace| Some(std::path::absolute(trace).ok()?.parent()?.to_owned()));
        let symbols = symbols.iter().filter_map(|folder| std::path::absolute(folder).ok());
        let named = maps.iter().map(|map| map.folder.clone());
        traces.chain(symbols).chain(named).for_each(|folder| roots.add(&folder));
        Self { roots, maps }
    }

    /// Reads a file by its path in debug information.
    pub(super) fn read(&self, recorded: &str) -> Result<SourceText, SourceProblem> {
        let recorded = without_parents(Path::new(recorded)).ok_or(SourceProblem::NotNamed)?;
        let mapped = self.maps.iter().filter_map(|map| Some(map.folder.join(recorded.strip_prefix(&map.from).ok()?)));
        let mut problem = SourceProblem::NotNamed;
        for path in mapped.chain([recorded.clone()]) {
            match self.roots.open(&path) {
                Ok(file) => {
                    return SourceText::read(file).ok_or(SourceProblem::Unreadable);
                }
                Err(OpenError::OutsideRoots { .. }) => {}
                Err(OpenError::Missing) => problem = SourceProblem::Missing,
                Err(_) => problem = SourceProblem::Unreadable,
            }
        }
        self.find(&recorded).ok_or(problem)
    }

    /// Searches the folders without a prefix for the longest end of a path.
    fn find(&self, recorded: &Path) -> Option<SourceText> {
        let components: Vec<_> = recorded.components().filter(|part| matches!(part, Component::Normal(_))).collect();
        let first = components.len().saturating_sub(ENDS_MAX);
        for from in first..components.len() {
            let end: PathBuf = components[from..].iter().collect();
            for map in self.maps.iter().filter(|map| map.is_searched) {
                if let Ok(file) = self.roots.open(&map.folder.join(&end))
                    && let Some(text) = SourceText::read(file)
                {
                    return Some(text);
                }
            }
        }
        None
    }
}

impl SourceText {
    /// Reads a file; `None` if it is too large or unreadable.
    fn read(file: InputFile) -> Option<Self> {
        let bytes = file.read_all(FILE_BYTES_MAX)?;
        let modified = file.metadata().and_then(|metadata| metadata.modified().ok());
        Some(Self { modified, ..Self::new(file.path, &bytes) })
    }

    fn new(path: PathBuf, bytes: &[u8]) -> Self {
        let text = String::from_utf8_lossy(bytes).into_owned();
        let ends = memchr::memchr_iter(b'\n', text.as_bytes());
        let last = (!text.ends_with('\n')).then_some(text.len());
        Self { path, modified: None, ends: ends.chain(last).collect(), text }
    }

    /// Returns a line by its 1-based number.
    pub(super) fn line(&self, number: u32) -> Option<&str> {
        let row = (number as usize).checked_sub(1)?;
        let end = *self.ends.get(row)?;
        let start = row.checked_sub(1).map_or(0, |before| self.ends[before] + 1);
        let line = self.text.get(start..end)?;
        Some(line.strip_suffix('\r').unwrap_or(line))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_that_have_moved_are_found_by_the_longest_end_of_their_path() {
        let folder = tempfile::tempdir().unwrap();
        for (file, text) in [("main.c", "top"), ("src/main.c", "src"), ("lib/src/main.c", "lib"), ("a.c/b.c", "deep")] {
            let path = folder.path().join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let map = SourceMap::parse(folder.path().to_str().unwrap()).unwrap();
        let folders = SourceFolders::for_traces([], &[], vec![map]);
        let found = |path: &str| folders.read(path).ok().map(|text| text.line(1).unwrap().to_owned());
        let cases = [
            ("/build/7/lib/src/main.c", "lib"),
            ("/build/7/other/src/main.c", "src"),
            ("/build/7/other/main.c", "top"),
            ("/main.c", "top"),
            ("/x/a.c/../a.c/b.c", "deep"),
            // Builds that anyone can repeat leave out their folder.
            ("./lib/src/main.c", "lib"),
            ("main.c", "top"),
        ];
        for (path, text) in cases {
            assert_eq!(found(path).as_deref(), Some(text), "{path}");
        }
        let long = format!("{}/src/main.c", "/d".repeat(2000));
        assert_eq!(found(&long).as_deref(), Some("src"));
        // A folder of that name is not a file.
        for path in ["/build/a.c", "/build/none.c", "/", "/build/main.c/"] {
            assert_eq!(found(path).as_deref(), path.ends_with("main.c/").then_some("top"), "{path}");
        }
        let replaced = SourceMap::parse(&format!("/build={}", folder.path().display())).unwrap();
        let folders = SourceFolders::for_traces([], &[], vec![replaced]);
        assert!(folders.read("/elsewhere/src/main.c").is_err(), "a folder with a prefix is for that prefix");
    }

    #[test]
    fn files_are_opened_below_named_folders_alone() {
        let (named, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        std::fs::create_dir(named.path().join("src")).unwrap();
        std::fs::write(named.path().join("src/a.c"), "one\r\ntwo\n\nfour").unwrap();
        std::fs::write(other.path().join("b.c"), "secret\n").unwrap();
        let map = |text: String| SourceMap::parse(&text).unwrap();
        let folder = named.path().display();
        let maps = vec![map(format!("/build/x={folder}")), map(folder.to_string())];
        let folders = SourceFolders::for_traces([], &[], maps);
        let first = |path: &str| folders.read(path).map(|text| text.line(1).map(str::to_owned));
        let one = Ok(Some("one".to_owned()));
        assert_eq!(first("/build/x/src/a.c"), one);
        assert_eq!(first("/build/x/lib/../src/./a.c"), one);
        assert_eq!(first(&format!("{folder}/src/a.c")), one);
        let outside = other.path().join("b.c").display().to_string();
        let above = format!("/build/x/../..{outside}");
        for path in [&*outside, &above, "/build/xy/src/c.c", "/etc/passwd", "src/none.c", "../src/a.c", ""] {
            assert_eq!(first(path), Err(SourceProblem::NotNamed), "{path}");
        }
        assert_eq!(first("./src/a.c"), one);
        assert_eq!(first("/build/x/src/b.c"), Err(SourceProblem::Missing));
        assert_eq!(first("/build/x/src"), Err(SourceProblem::Unreadable));
        let text = folders.read("/build/x/src/a.c").unwrap();
        let lines = [0, 1, 2, 3, 4, 5].map(|line| text.line(line));
        assert_eq!(lines, [None, Some("one"), Some("two"), Some(""), Some("four"), None]);
        assert_eq!(SourceText::new("/e".into(), b"").line(1), Some(""));
        for nothing in ["", "=", "a=", "=/b"] {
            assert_eq!(SourceMap::parse(nothing), None, "{nothing}");
        }
    }
}
