//! The captures that were opened last, to be offered again: each with all of its files, and with what these are moved
//! by.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::model::{SourceFile, Sources};

/// The most traces in the list.
const RECENT_MAX: usize = 12;

/// A capture of more files is not offered again: the preferences are read at each start and written at each change.
const FILES_MAX: usize = 256;

/// The captures that were opened last, the last one first.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(from = "Vec<RecentEntry>", into = "Vec<RecentEntry>")]
pub struct RecentTraces(Vec<Sources>);

impl RecentTraces {
    /// The captures, the last one first.
    #[must_use]
    pub(crate) fn captures(&self) -> &[Sources] {
        &self.0
    }

    /// Puts an opened capture at the top of the list. A path that is no text cannot be kept in JSON: such a capture is
    /// left out of the list.
    pub(crate) fn note(&mut self, sources: &Sources) {
        if sources.files().len() > FILES_MAX {
            return;
        }
        let absolute = |file: &SourceFile| {
            let path = std::path::absolute(file.path()).unwrap_or_else(|_| file.path().to_owned());
            path.to_str().is_some().then_some(SourceFile::new(path, file.offset_ns))
        };
        let files: Option<Vec<_>> = sources.files().iter().map(absolute).collect();
        let Some(files) = files.filter(|files| !files.is_empty()) else { return };
        let sources = Sources::new(files);
        // The same files moved otherwise are the same capture: the way in which they lie now is the one that is meant.
        let paths = |of: &Sources| of.files().iter().map(|file| file.path().to_owned()).collect::<Vec<_>>();
        self.0.retain(|trace| paths(trace) != paths(&sources));
        self.0.insert(0, sources);
        self.0.truncate(RECENT_MAX);
    }
}

/// A capture in the file: a path for a file as it is, a list for several or for one that is moved.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum RecentEntry {
    Path(String),
    Files(Vec<MovedFile>),
}

#[derive(Serialize, Deserialize)]
struct MovedFile {
    path: String,
    #[serde(default)]
    offset_ns: i64,
}

impl From<Vec<RecentEntry>> for RecentTraces {
    fn from(entries: Vec<RecentEntry>) -> Self {
        let sources = |entry| match entry {
            RecentEntry::Path(path) => Sources::unmoved([PathBuf::from(path)]),
            RecentEntry::Files(files) => {
                let file = |MovedFile { path, offset_ns }| SourceFile::new(path.into(), offset_ns);
                Sources::new(files.into_iter().map(file).collect())
            }
        };
        let captures = entries.into_iter().map(sources).filter(|sources| !sources.files().is_empty());
        Self(captures.take(RECENT_MAX).collect())
    }
}

impl From<RecentTraces> for Vec<RecentEntry> {
    fn from(recent: RecentTraces) -> Self {
        let text = |path: &std::path::Path| path.to_string_lossy().into_owned();
        let file = |file: &SourceFile| MovedFile { path: text(file.path()), offset_ns: file.offset_ns };
        let files = |sources: &Sources| RecentEntry::Files(sources.files().iter().map(file).collect());
        let entry =
            |sources: Sources| sources.alone().map_or_else(|| files(&sources), |path| RecentEntry::Path(text(path)));
        recent.0.into_iter().map(entry).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moved(files: &[(&str, i64)]) -> Sources {
        Sources::new(files.iter().map(|&(path, offset_ns)| SourceFile::new(path.into(), offset_ns)).collect())
    }

    #[test]
    fn several_files_are_one_entry_with_what_each_is_moved_by_and_single_ones_are_read_as_they_always_were() {
        let mut recent = RecentTraces::default();
        recent.note(&Sources::from("/a.json"));
        recent.note(&moved(&[("/b.json", 0), ("/c.json", -5)]));
        let text = serde_json::to_string(&recent).unwrap();
        assert_eq!(text, r#"[[{"path":"/b.json","offset_ns":0},{"path":"/c.json","offset_ns":-5}],"/a.json"]"#);
        assert_eq!(serde_json::from_str::<RecentTraces>(&text).unwrap(), recent);
        let earlier: RecentTraces = serde_json::from_str(r#"["/a.json","/b.json",[]]"#).unwrap();
        assert_eq!(earlier.captures(), [Sources::from("/a.json"), Sources::from("/b.json")]);
    }

    #[test]
    fn what_is_opened_again_comes_to_the_top_once_and_the_oldest_is_forgotten() {
        let mut recent = RecentTraces::default();
        for number in 0..20 {
            recent.note(&Sources::from(&format!("/{number}")));
        }
        assert_eq!(recent.captures().len(), RECENT_MAX);
        recent.note(&moved(&[("/15", 7)]));
        assert_eq!(recent.captures().len(), RECENT_MAX);
        assert_eq!(recent.captures()[..2], [moved(&[("/15", 7)]), Sources::from("/19")]);
        assert!(!recent.captures().contains(&Sources::from("/15")));
        recent.note(&Sources::default());
        assert_eq!(recent.captures().len(), RECENT_MAX);
    }
}
