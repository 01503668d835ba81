//! The recently opened traces, each with all of its files and their offsets.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::base::files;
use crate::model::{SourceFile, Sources, WeightUnit};
use crate::ui::recent::{RecentFacts, RecentTrace};

/// Limit for the traces in the list.
const RECENT_MAX: usize = 12;

/// Limit for the files of a listed trace: the preferences are read at each start and written at each change.
const FILES_MAX: usize = 256;

/// The recently opened traces, the latest first.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(from = "Vec<RecentEntry>", into = "Vec<RecentEntry>")]
pub struct RecentTraces(Vec<RecentTrace>);

impl RecentTraces {
    /// Returns the traces, the latest first.
    #[must_use]
    pub(crate) fn traces(&self) -> &[RecentTrace] {
        &self.0
    }

    /// Records the facts about an imported trace, for the list.
    pub(crate) fn note_facts(&mut self, sources: &Sources, facts: RecentFacts) {
        let wanted = absolute_paths(sources);
        if let Some(trace) = self.0.iter_mut().find(|trace| paths(&trace.sources) == wanted) {
            trace.facts = Some(facts);
        }
    }

    /// Restores the offsets with which these files were last open; `None` if they had no offsets then, or have some
    /// now.
    pub(crate) fn with_last_offsets(&self, sources: &Sources) -> Option<Sources> {
        let wanted = absolute_paths(sources);
        let last = self.0.iter().find(|trace| paths(&trace.sources) == wanted)?;
        let is_restored = !sources.has_offsets() && last.sources.has_offsets();
        is_restored.then(|| sources.clone().with_offsets_of(&last.sources))
    }

    /// Returns the traces that a window has opened since `before`, then the traces saved by other windows.
    pub(super) fn merged(saved: &Self, before: &Self, now: &Self) -> Self {
        let is_opened = |trace: &&RecentTrace| !before.0.contains(trace);
        let mut traces: Vec<_> = now.0.iter().filter(is_opened).cloned().collect();
        let opened: Vec<_> = traces.iter().map(|trace| paths(&trace.sources)).collect();
        traces.extend(saved.0.iter().filter(|trace| !opened.contains(&paths(&trace.sources))).cloned());
        traces.truncate(RECENT_MAX);
        Self(traces)
    }

    /// Moves an opened trace to the top of the list. A path that is not UTF-8 cannot be stored in JSON: such a trace is
    /// not listed.
    pub(crate) fn note(&mut self, sources: &Sources) {
        if sources.files().len() > FILES_MAX {
            return;
        }
        let absolute = |file: &SourceFile| {
            let path = files::absolute(file.path());
            path.to_str().is_some().then_some(SourceFile::new(path, file.offset_ns))
        };
        let files: Option<Vec<_>> = sources.files().iter().map(absolute).collect();
        let Some(files) = files.filter(|files| !files.is_empty()) else { return };
        let sources = Sources::new(files).with_weight_unit(sources.weight_unit());
        // The same files with other offsets or another unit are the same trace; the present offsets and unit are kept.
        self.0.retain(|trace| paths(&trace.sources) != paths(&sources));
        self.0.insert(0, RecentTrace { sources, facts: None });
        self.0.truncate(RECENT_MAX);
    }
}

fn paths(sources: &Sources) -> Vec<PathBuf> {
    sources.files().iter().map(|file| file.path().to_owned()).collect()
}

/// Returns the paths as in the list, where they are absolute.
fn absolute_paths(sources: &Sources) -> Vec<PathBuf> {
    sources.files().iter().map(|file| files::absolute(file.path())).collect()
}

/// A trace in the file: a path for an unmoved file, or a list for several files or a moved file. Either may have its
/// unit and its facts.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum RecentEntry {
    Path(String),
    Files(Vec<MovedFile>),
    Known {
        files: Vec<MovedFile>,
        /// The value of `--unit`, if it was given.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        unit: Option<String>,
        #[serde(flatten)]
        facts: Option<RecentFacts>,
    },
}

#[derive(Serialize, Deserialize)]
struct MovedFile {
    path: String,
    #[serde(default)]
    offset_ns: i64,
}

impl From<Vec<RecentEntry>> for RecentTraces {
    fn from(entries: Vec<RecentEntry>) -> Self {
        let of_files = |files: Vec<MovedFile>| {
            Sources::new(files.into_iter().map(|file| SourceFile::new(file.path.into(), file.offset_ns)).collect())
        };
        let trace = |entry| match entry {
            RecentEntry::Path(path) => RecentTrace { sources: Sources::unmoved([PathBuf::from(path)]), facts: None },
            RecentEntry::Files(files) => RecentTrace { sources: of_files(files), facts: None },
            RecentEntry::Known { files, unit, facts } => {
                let unit = unit.as_deref().and_then(WeightUnit::from_option);
                RecentTrace { sources: of_files(files).with_weight_unit(unit), facts }
            }
        };
        let traces = entries.into_iter().map(trace).filter(|trace| !trace.sources.files().is_empty());
        Self(traces.take(RECENT_MAX).collect())
    }
}

impl From<RecentTraces> for Vec<RecentEntry> {
    fn from(recent: RecentTraces) -> Self {
        let text = |path: &std::path::Path| path.to_string_lossy().into_owned();
        let file = |file: &SourceFile| MovedFile { path: text(file.path()), offset_ns: file.offset_ns };
        let entry = |RecentTrace { sources, facts }: RecentTrace| {
            let files = || sources.files().iter().map(file).collect();
            let unit = sources.weight_unit().map(|unit| unit.option().to_owned());
            match (facts, sources.alone()) {
                (None, Some(path)) if unit.is_none() => RecentEntry::Path(text(path)),
                (None, None) if unit.is_none() => RecentEntry::Files(files()),
                (facts, _) => RecentEntry::Known { files: files(), unit, facts },
            }
        };
        recent.0.into_iter().map(entry).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sources(recent: &RecentTraces) -> Vec<Sources> {
        recent.traces().iter().map(|trace| trace.sources.clone()).collect()
    }

    fn moved(files: &[(&str, i64)]) -> Sources {
        Sources::new(files.iter().map(|&(path, offset_ns)| SourceFile::new(path.into(), offset_ns)).collect())
    }

    #[test]
    fn several_files_are_one_entry_with_their_offsets_and_old_entries_are_read() {
        let mut recent = RecentTraces::default();
        recent.note(&Sources::from("/a.json"));
        recent.note(&moved(&[("/b.json", 0), ("/c.json", -5)]));
        let text = serde_json::to_string(&recent).unwrap();
        assert_eq!(text, r#"[[{"path":"/b.json","offset_ns":0},{"path":"/c.json","offset_ns":-5}],"/a.json"]"#);
        assert_eq!(serde_json::from_str::<RecentTraces>(&text).unwrap(), recent);
        let earlier: RecentTraces = serde_json::from_str(r#"["/a.json","/b.json",[]]"#).unwrap();
        assert_eq!(sources(&earlier), [Sources::from("/a.json"), Sources::from("/b.json")]);
    }

    #[test]
    fn only_files_without_offsets_get_their_last_ones() {
        let mut recent = RecentTraces::default();
        recent.note(&moved(&[("/a.json", 0), ("/b.json", -5)]));
        recent.note(&moved(&[("/c.json", 0)]));
        let restored = |files: &[(&str, i64)]| recent.with_last_offsets(&moved(files));
        assert_eq!(restored(&[("/a.json", 0), ("/b.json", 0)]), Some(moved(&[("/a.json", 0), ("/b.json", -5)])));
        assert_eq!(restored(&[("/a.json", 7), ("/b.json", 0)]), None);
        assert_eq!(restored(&[("/b.json", 0), ("/a.json", 0)]), None, "another order is another trace");
        assert_eq!(restored(&[("/b.json", 0)]), None);
        assert_eq!(restored(&[("/c.json", 0)]), None);
    }

    #[test]
    fn size_and_time_are_saved_with_the_loaded_trace() {
        let mut recent = RecentTraces::default();
        recent.note(&Sources::from("/a.json"));
        recent.note(&moved(&[("/b.json", 0), ("/c.json", -5)]));
        recent.note_facts(&Sources::from("/a.json"), RecentFacts { bytes: 7, opened_s: 1000 });
        recent.note_facts(&Sources::from("/unknown.json"), RecentFacts { bytes: 8, opened_s: 1001 });
        let text = serde_json::to_string(&recent).unwrap();
        assert!(
            text.ends_with(r#",{"files":[{"path":"/a.json","offset_ns":0}],"bytes":7,"opened_s":1000}]"#),
            "{text}"
        );
        assert_eq!(serde_json::from_str::<RecentTraces>(&text).unwrap(), recent);
        // Opening it again clears the facts.
        recent.note(&Sources::from("/a.json"));
        assert_eq!(recent.traces()[0], RecentTrace { sources: Sources::from("/a.json"), facts: None });
    }

    #[test]
    fn the_unit_of_weights_is_saved_with_the_trace() {
        let stacks = Sources::from("/a.folded").with_weight_unit(Some(WeightUnit::Milliseconds));
        let mut recent = RecentTraces::default();
        recent.note(&stacks);
        for facts in [None, Some(RecentFacts { bytes: 7, opened_s: 1000 })] {
            recent.note_facts(&stacks, facts.unwrap_or(RecentFacts { bytes: 0, opened_s: 0 }));
            recent.0[0].facts = facts;
            let text = serde_json::to_string(&recent).unwrap();
            let read: RecentTraces = serde_json::from_str(&text).unwrap();
            assert_eq!(read.traces()[0], RecentTrace { sources: stacks.clone(), facts }, "{text}");
        }
    }

    #[test]
    fn a_trace_opened_again_moves_to_the_top_and_the_oldest_is_dropped() {
        let mut recent = RecentTraces::default();
        for number in 0..20 {
            recent.note(&Sources::from(&format!("/{number}")));
        }
        assert_eq!(recent.traces().len(), RECENT_MAX);
        recent.note(&moved(&[("/15", 7)]));
        assert_eq!(recent.traces().len(), RECENT_MAX);
        assert_eq!(sources(&recent)[..2], [moved(&[("/15", 7)]), Sources::from("/19")]);
        assert!(!sources(&recent).contains(&Sources::from("/15")));
        recent.note(&Sources::default());
        assert_eq!(recent.traces().len(), RECENT_MAX);
    }
}
