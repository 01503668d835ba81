//! Distinct names for the sources of a session. Thousands of connections may come from one program.

use std::path::{Path, PathBuf};

use rustc_hash::{FxHashMap, FxHashSet};

/// The names that sources have.
#[derive(Debug, Default)]
pub(super) struct DistinctNames {
    taken: FxHashSet<PathBuf>,
    /// By name, the number below which all are taken.
    next: FxHashMap<PathBuf, usize>,
}

impl DistinctNames {
    /// Adds a source that keeps its name.
    pub(super) fn reserve(&mut self, name: PathBuf) {
        self.taken.insert(name);
    }

    /// Adds a source, and returns a name for it as [`Sources::names`](crate::model::Sources::names) does.
    pub(super) fn add(&mut self, name: &Path) -> PathBuf {
        let first = self.next.get(name).copied().unwrap_or(1);
        let (distinct, number) = self.add_numbered(name, first);
        self.next.insert(name.to_owned(), number + 1);
        distinct
    }

    /// Adds a source with the first free number from `number` on, and returns its name and that number.
    pub(super) fn add_numbered(&mut self, name: &Path, mut number: usize) -> (PathBuf, usize) {
        loop {
            let numbered = match number {
                1 => name.to_owned(),
                _ => format!("{} ({number})", name.display()).into(),
            };
            if self.taken.insert(numbered.clone()) {
                return (numbered, number);
            }
            number += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_of_one_name_are_numbered_without_a_search_for_each() {
        let mut names = DistinctNames::default();
        names.reserve("app".into());
        assert_eq!(names.add_numbered("app".as_ref(), 3), ("app (3)".into(), 3));
        let added: Vec<_> = (0..3).map(|_| names.add("app".as_ref()).display().to_string()).collect();
        assert_eq!(added, ["app (2)", "app (4)", "app (5)"]);
        assert_eq!(names.add("app (2)".as_ref()).display().to_string(), "app (2) (2)");
        // A search from the first number for each would take minutes.
        (0..100_000).for_each(|_| drop(names.add("app".as_ref())));
        assert_eq!(names.next.len(), 2);
        assert_eq!(names.add("app".as_ref()).display().to_string(), "app (100006)");
    }
}
