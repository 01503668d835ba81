//! The names of modules as shown: the file name, with as many folders as distinguish it from other files of the same
//! name.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;

use crate::query::Snapshot;

/// The titles of modules that share their file name with other modules, by path.
#[derive(Debug, Default)]
pub(super) struct ModuleTitles(FxHashMap<Box<str>, Box<str>>);

impl ModuleTitles {
    /// Collects the modules of a trace that share their file names.
    pub(super) fn from_snapshot(snapshot: &Snapshot) -> Self {
        Self::from_paths(snapshot.tracks().modules.iter().map(|module| &*module.category))
    }

    fn from_paths<'a>(paths: impl Iterator<Item = &'a str>) -> Self {
        let mut by_file = FxHashMap::<&str, BTreeSet<&str>>::default();
        for path in paths.filter(|path| path.starts_with('/')) {
            by_file.entry(file_name(path)).or_default().insert(path);
        }
        let alike = by_file.into_values().filter(|paths| paths.len() > 1);
        Self(alike.flat_map(|paths| with_folders(&paths)).collect())
    }

    /// Returns the shown name of a module, which is its path or a name in brackets.
    pub(super) fn title<'a>(&'a self, module: &'a str) -> &'a str {
        match self.0.get(module) {
            Some(title) => title,
            None => bare_name(module),
        }
    }
}

/// Returns the shortest end of each path that no other path has, in whole folders.
fn with_folders(paths: &BTreeSet<&str>) -> Vec<(Box<str>, Box<str>)> {
    let mut count_by_end = FxHashMap::<&str, usize>::default();
    for path in paths {
        ends(path).for_each(|end| *count_by_end.entry(end).or_default() += 1);
    }
    let title = |path: &&str| {
        let title = ends(path).find(|end| count_by_end[end] == 1).unwrap_or(path);
        ((*path).into(), title.into())
    };
    paths.iter().map(title).collect()
}

/// Iterates over the ends of a path, from its file name to all of it.
fn ends(path: &str) -> impl Iterator<Item = &str> {
    let name_at = path.len() - file_name(path).len();
    let folders = path[..name_at].rmatch_indices('/').map(|(at, _)| &path[at + 1..]);
    folders.chain([path])
}

/// Returns whether a name means a module: its path, or the end of it in whole folders. The brackets of a name such as
/// `[kernel.kallsyms]` may be left out.
pub(crate) fn is_module(name: &str, module: &str) -> bool {
    let is_end = || module.strip_suffix(name).is_some_and(|folders| folders.ends_with('/'));
    // The category of a span may have slashes too.
    !name.is_empty() && (inside(name) == inside(module) || module.starts_with('/') && is_end())
}

/// Strips the folders of an absolute path, or the brackets of a name. Some recorders give the path of a module, others
/// its file name.
pub(super) fn bare_name(module: &str) -> &str {
    if module.starts_with('/') { file_name(module) } else { inside(module) }
}

/// Strips the folders of a path, which ` (build ..)` may follow.
fn file_name(path: &str) -> &str {
    let end = path.find(" (").unwrap_or(path.len());
    path[..end].rfind('/').map_or(path, |folder| &path[folder + 1..])
}

/// Strips enclosing square brackets, as of `[kernel.kallsyms]`; returns other text unchanged.
pub(super) fn inside(text: &str) -> &str {
    text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_files_of_one_name_have_the_folders_that_distinguish_them() {
        let paths = [
            ("/d1/q", "d1/q"),
            ("/x/d2/q", "d2/q"),
            ("/lib/a.so", "/lib/a.so"),
            ("/usr/lib/a.so", "usr/lib/a.so"),
            ("/opt/lib/a.so", "opt/lib/a.so"),
            ("/d1/alone", "alone"),
            ("/d1/old", "old"),
            ("/d1/old (build 7/f)", "old (build 7/f)"),
            ("/d1/two (no build-id)", "d1/two (no build-id)"),
            ("/d2/two (no build-id)", "d2/two (no build-id)"),
            ("[kernel.kallsyms]", "kernel.kallsyms"),
            ("relative/path", "relative/path"),
        ];
        let titles = ModuleTitles::from_paths(paths.iter().map(|(path, _)| *path).chain(["/d1/q"]));
        for (path, title) in paths {
            assert_eq!(titles.title(path), title, "{path}");
            assert!(is_module(title, path) && is_module(path, path), "{path}");
        }
        assert_eq!(titles.title("/not/recorded/f (file 2)"), "f (file 2)");
        for (name, path, is_meant) in [
            ("q", "/d1/q", true),
            ("1/q", "/d1/q", false),
            ("", "/d1/", false),
            ("[kernel.kallsyms]", "[kernel.kallsyms]", true),
            ("kallsyms]", "[kernel.kallsyms]", false),
            ("q", "q", true),
            ("http", "net/http", false),
        ] {
            assert_eq!(is_module(name, path), is_meant, "{name}");
        }
    }
}
