//! The grouping keys of totals: names, categories, threads, processes, pairs of these, or the values of an argument.
//!
//! A category follows from a name and a process from a track, so such groups need no access to rows. Values of
//! arguments are only in the rows.

use std::fmt;
use std::str::FromStr;

use rustc_hash::FxHashMap;

use super::argument_path::ArgumentPath;
use super::snapshot::Snapshot;
use crate::model::{Id, NameIdx, ProcessIdx, Track, TrackIdx, TrackKind};

/// A grouping key that follows from the name of a span.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NameKey {
    /// The name and its category.
    Name,
    /// The category alone, whatever the name.
    Category,
}

/// A grouping key that follows from the track of a span.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OwnerKey {
    /// A thread, or a track outside any thread.
    Thread,
    /// The process of the track.
    Process,
}

/// The keys that spans are grouped by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GroupBy {
    /// A key of the name, of the track, or of both.
    Keys {
        /// The key of the name.
        name: Option<NameKey>,
        /// The key of the track.
        track: Option<OwnerKey>,
    },
    /// The value of an argument.
    Argument(ArgumentPath),
}

impl Default for GroupBy {
    fn default() -> Self {
        Self::Keys { name: Some(NameKey::Name), track: None }
    }
}

impl GroupBy {
    /// Returns whether union time is known. It is additive over the tracks of a name, but not over the names of a
    /// category.
    #[must_use]
    pub(crate) fn has_union(&self) -> bool {
        matches!(self, Self::Argument(_) | Self::Keys { name: Some(NameKey::Name), .. })
    }

    /// Returns whether groups have two keys, so that there may be as many groups as spans.
    #[must_use]
    pub(crate) fn is_pair(&self) -> bool {
        matches!(self, Self::Keys { name: Some(_), track: Some(_) })
    }
}

/// Writes the value of `longspan stats --by`.
impl fmt::Display for GroupBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, track) = match self {
            Self::Argument(path) => return write!(f, "arg:{path}"),
            Self::Keys { name, track } => (name, track),
        };
        let name = name.map(|name| match name {
            NameKey::Name => "name",
            NameKey::Category => "category",
        });
        let track = track.map(|track| match track {
            OwnerKey::Thread => "thread",
            OwnerKey::Process => "process",
        });
        f.write_str(&[name, track].into_iter().flatten().collect::<Vec<_>>().join(","))
    }
}

/// Error of an unknown grouping key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "expected name, category, thread, process, a name or category with a thread or process such as name,thread, or \
     arg:KEY; found {0}"
)]
pub struct UnknownKey(String);

impl FromStr for GroupBy {
    type Err = UnknownKey;

    fn from_str(text: &str) -> Result<Self, UnknownKey> {
        let unknown = || UnknownKey(text.to_owned());
        if let Some(path) = text.strip_prefix("arg:") {
            return ArgumentPath::parse(path).map(Self::Argument).ok_or_else(unknown);
        }
        let (mut name, mut track) = (None, None);
        for word in text.split(',') {
            let is_second = match word {
                "name" => name.replace(NameKey::Name).is_some(),
                "category" => name.replace(NameKey::Category).is_some(),
                "thread" => track.replace(OwnerKey::Thread).is_some(),
                "process" => track.replace(OwnerKey::Process).is_some(),
                _ => true,
            };
            if is_second {
                return Err(unknown());
            }
        }
        Ok(Self::Keys { name, track })
    }
}

/// A row of a totals table: the spans with one value of each key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct SpanGroup {
    /// The name, the first name of the category, or the index of the value; 0 for groups by track alone.
    pub(crate) name: NameIdx,
    /// The index of the track or the process; 0 for groups by neither.
    pub(crate) owner: u32,
}

impl SpanGroup {
    /// The merged groups beyond the limit.
    pub(crate) const OTHERS: Self = Self { name: NameIdx(u32::MAX), owner: u32::MAX };

    /// Returns the group of a name, for spans grouped by name.
    #[must_use]
    pub(crate) fn from_name(name: NameIdx) -> Self {
        Self { name, owner: 0 }
    }
}

/// Maps all names and tracks of a trace to their groups.
#[derive(Debug)]
pub(super) struct Grouping {
    name: Option<NameKey>,
    track: Option<OwnerKey>,
    /// By name, the first name of its category, or its regular name; empty if each name is its own group.
    first_names: Vec<NameIdx>,
    /// By track, its process or the first track of the same name; empty unless grouped by these.
    owners: Vec<u32>,
}

impl Grouping {
    pub(super) fn new(snapshot: &Snapshot, by: &GroupBy) -> Self {
        // Argument values take the place of names.
        let (name, track) = match by {
            GroupBy::Keys { name, track } => (*name, *track),
            GroupBy::Argument(_) => (Some(NameKey::Name), None),
        };
        let first_names = match name {
            Some(NameKey::Category) => first_names(snapshot),
            Some(NameKey::Name) if snapshot.names().has_failed() => {
                all_names(snapshot).map(|name| snapshot.names().regular(name)).collect()
            }
            Some(NameKey::Name) | None => Vec::new(),
        };
        let owners = match track {
            Some(OwnerKey::Thread) => first_tracks(snapshot).into_iter().map(|track| track.0).collect(),
            Some(OwnerKey::Process) => {
                snapshot.tracks().tracks.iter().map(|track| track.process.index() as u32).collect()
            }
            None => Vec::new(),
        };
        Self { name, track, first_names, owners }
    }

    /// Returns whether spans with the same name on two tracks may be in two groups.
    pub(super) fn is_by_track(&self) -> bool {
        self.track.is_some()
    }

    pub(super) fn group(&self, name: NameIdx, track: TrackIdx) -> SpanGroup {
        let name = match self.name {
            None => NameIdx::EMPTY,
            Some(NameKey::Name | NameKey::Category) => self.first_names.get(name.index()).copied().unwrap_or(name),
        };
        SpanGroup { name, owner: self.owners.get(track.index()).copied().unwrap_or(0) }
    }
}

/// Returns, by name, the first name of the same category.
pub(super) fn first_names(snapshot: &Snapshot) -> Vec<NameIdx> {
    let mut first: FxHashMap<Option<&str>, NameIdx> = FxHashMap::default();
    all_names(snapshot).map(|name| *first.entry(snapshot.names().get(name).category).or_insert(name)).collect()
}

fn all_names(snapshot: &Snapshot) -> impl Iterator<Item = NameIdx> + use<> {
    // Name indices have 32 bits.
    (0..snapshot.names().len() as u32).map(NameIdx)
}

/// Returns, by track, the first track of the same ids and name: async operations of one name have a track each, but the
/// same label.
pub(super) fn first_tracks(snapshot: &Snapshot) -> Vec<TrackIdx> {
    let mut first = FxHashMap::default();
    let tracks = snapshot.tracks().tracks.iter().zip((0..).map(TrackIdx));
    tracks.map(|(track, idx)| *first.entry(label(track)).or_insert(idx)).collect()
}

/// Returns whether two tracks are in one group of [`first_tracks`].
#[must_use]
pub(crate) fn have_same_label(one: &Track, other: &Track) -> bool {
    label(one) == label(other)
}

/// Returns the parts of a track by which [`first_tracks`] groups it.
fn label(track: &Track) -> (ProcessIdx, TrackKind, &Id, &str) {
    (track.process, track.key.kind, &track.key.tid, &track.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_one_of_the_name_and_one_of_the_track_in_any_order() {
        let by = |text: &str| text.parse::<GroupBy>();
        assert_eq!(by("name"), Ok(GroupBy::default()));
        assert_eq!(by("thread,category"), by("category,thread"));
        assert_eq!(by("arg:a.b"), Ok(GroupBy::Argument(ArgumentPath::from_parts(["a", "b"]))));
        assert_eq!(by("arg:a b"), by("arg:\"a b\""));
        for text in ["name", "category,thread", "process", "arg:a.b", "arg:\"a b\".\"c.d\"", "arg:\"\""] {
            assert_eq!(by(text).unwrap().to_string(), text);
        }
        assert!(by("name,process").unwrap().is_pair() && !by("process").unwrap().is_pair());
        assert!(by("name,thread").unwrap().has_union() && !by("category").unwrap().has_union());
        let refused = ["", "names", "name,name", "name,category", "thread,process", "name,thread,", "arg:", "arg:a."];
        for wrong in refused.into_iter().chain(["arg:\"a"]) {
            assert_eq!(by(wrong), Err(UnknownKey(wrong.to_owned())));
        }
    }
}
