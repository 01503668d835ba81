//! Processes, threads and tracks, with names and sort indices of the trace.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use bytemuck::{Pod, Zeroable};
use serde::{Deserialize, Serialize};

use super::counter_unit::unit_in_name;
use super::facts::{Facts, TraceFact};
use super::group_names::GroupNames;
use super::group_path::GroupPath;
pub use super::id::Id;
use super::key_texts::KeyName;
use super::modules::Module;
use super::unwind::UnwoundModule;

/// A row of [`TrackTables::tracks`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Pod, Zeroable, Serialize, Deserialize)]
#[repr(transparent)]
pub struct TrackIdx(pub u32);

/// A row of [`TrackTables::processes`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Pod, Zeroable, Serialize, Deserialize)]
#[repr(transparent)]
pub struct ProcessIdx(pub u32);

impl TrackIdx {
    /// Returns the index as a position in an array.
    #[must_use]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl ProcessIdx {
    /// Returns the index as a position in an array.
    #[must_use]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// The kind of a track's rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum TrackKind {
    /// Events of the whole trace.
    Global,
    /// Events of a process that belong to none of its threads.
    Process,
    /// Spans and instants of a thread.
    Thread,
    /// Async spans. In a [`Batch`](super::Batch), all of a category; after the sort, at most one tree of one name at a
    /// time.
    Async,
    /// The values of one counter over time.
    Counter,
    /// Samples of the track with the same ids, converted to spans. Derived, not recorded.
    Samples,
    /// Threads running on a CPU; its number is the `tid` and the `slot`.
    Cpu,
    /// Scheduler states of the thread with the same ids.
    State,
}

impl TrackKind {
    /// Returns the word for it in tables and options.
    #[must_use]
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Global => "global",
            Self::Process => "process",
            Self::Thread => "thread",
            Self::Async => "async",
            Self::Counter => "counter",
            Self::Samples => "samples",
            Self::Cpu => "cpu",
            Self::State => "state",
        }
    }

    /// Returns whether the rows are derived from another track for display. They are not events of the trace, so they
    /// are not counted, listed or exported.
    #[must_use]
    pub(crate) fn is_derived(self) -> bool {
        self == Self::Samples
    }
}

/// The identity of a track during a load.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct TrackKey {
    /// Decides which of the other fields identify the track.
    pub kind: TrackKind,
    /// Id of the process; [`Id::None`] if unknown, or for the whole trace.
    pub pid: Id,
    /// Id of its thread, for tracks of a thread; number of its CPU, for [`TrackKind::Cpu`].
    pub tid: Id,
    /// Name of the counter or the async group, or the event of samples if there are several. Empty for other tracks,
    /// which [`Metadata`] names.
    pub name: KeyName,
    /// Distinguishes tracks that are otherwise equal, such as concurrent async trees of one name.
    pub slot: u32,
}

impl TrackKey {
    /// In a [`Batch`](super::Batch), the first slot of async tracks that are named by their key or their first event.
    /// They are laid out together with others of that name in their process.
    pub(crate) const SLOT_SIBLING: u32 = 1 << 30;
    /// The first slot of async tracks that share no row with others.
    pub(crate) const SLOT_ALONE: u32 = 1 << 31;
    /// A thread of a profile without times. A sample is as wide as its weight. The reader assigns its position, and the
    /// ingest moves it to the start of the events with times.
    pub(crate) const SLOT_UNTIMED: u32 = 1;
    /// An async track with async ids, whose trees have the name of the track and not of their first event.
    pub(crate) const SLOT_NAMED: u32 = Self::SLOT_ALONE + 1;

    /// Returns the name of the file or the host that follows the ids of its processes; CPUs have it as their process.
    pub(crate) fn id_suffix(&self) -> Option<&str> {
        match &self.pid {
            Id::None | Id::Number(_) => None,
            Id::Text(suffix) if self.kind == TrackKind::Cpu => Some(suffix),
            Id::Text(pid) => pid.split_once(" in ").map(|(_, suffix)| suffix),
        }
    }

    /// Returns the id with this number in the same file and on the same host.
    pub(crate) fn id_beside(&self, number: i64) -> Id {
        self.id_suffix().map_or(Id::Number(number), |suffix| Id::Text(format!("{number} in {suffix}").into()))
    }

    /// Creates the key of a track that its kind and ids identify.
    #[inline]
    pub(crate) fn new(kind: TrackKind, pid: Id, tid: Id) -> Self {
        Self { kind, pid, tid, name: KeyName::default(), slot: 0 }
    }

    /// Returns whether its samples have no times, so that they are drawn side by side.
    #[must_use]
    pub(crate) fn is_untimed(&self) -> bool {
        self.slot == Self::SLOT_UNTIMED && matches!(self.kind, TrackKind::Thread | TrackKind::Samples)
    }

    /// Creates the key of a thread; its process may be [`Id::None`].
    #[inline]
    pub(crate) fn thread(pid: Id, tid: Id) -> Self {
        Self::new(TrackKind::Thread, pid, tid)
    }

    /// Creates the key of a thread whose samples have no times.
    pub(crate) fn untimed_thread(pid: Id, tid: Id) -> Self {
        Self { slot: Self::SLOT_UNTIMED, ..Self::thread(pid, tid) }
    }
}

/// A process of the trace.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Process {
    /// The id as recorded; in a trace of several files, the name of the file may follow it.
    pub pid: Id,
    /// Process name; empty if the trace has none.
    pub name: Box<str>,
    /// Labels of the process, displayed after its name.
    pub labels: Box<str>,
    /// Sort index among the processes.
    pub sort_index: i64,
    /// File of the process, for a trace of several files.
    pub(crate) file: Option<Arc<str>>,
}

/// A track of the trace, which the ingest splits into lanes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Track {
    /// Identity as of the load, which the trace's events refer to.
    pub key: TrackKey,
    /// A row of [`TrackTables::processes`].
    pub process: ProcessIdx,
    /// Name of the thread, counter or async group; empty if the trace has none.
    pub name: Arc<str>,
    /// Sort index among the tracks of its process.
    pub sort_index: i64,
}

/// Facts about processes and threads, in trace order: the last one wins.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the fields are what the variants say")]
pub enum Metadata {
    ProcessName {
        pid: Id,
        name: Box<str>,
    },
    /// File of a process, for a trace of several files.
    ProcessFile {
        pid: Id,
        file: Arc<str>,
    },
    /// Labels of a process, displayed after its name.
    ProcessLabels {
        pid: Id,
        labels: Box<str>,
    },
    ProcessSortIndex {
        pid: Id,
        sort_index: i64,
    },
    ThreadName {
        pid: Id,
        tid: Id,
        name: Box<str>,
    },
    /// The kernel's name (comm) of a thread, used if it has no other name.
    KernelName {
        pid: Id,
        tid: Id,
        name: Box<str>,
    },
    /// The process of a thread whose process was unknown. Its earlier events and names are in process `before`. The
    /// tracks of its own batch are in the new process, so it is applied before they are added.
    ThreadProcess {
        tid: Id,
        before: Id,
        pid: Id,
    },
    /// Sort index of a thread.
    ThreadSortIndex {
        pid: Id,
        tid: Id,
        sort_index: i64,
    },
    /// Sort index of a track other than a thread's.
    TrackSortIndex {
        key: TrackKey,
        sort_index: i64,
    },
    /// The unit of the values of a counter.
    CounterUnit {
        key: TrackKey,
        unit: Arc<str>,
    },
    /// The groups that show a track with others of its process or thread, as the text of a [`GroupPath`].
    TrackGroup {
        key: TrackKey,
        group: Arc<str>,
    },
    /// Offset from times to UTC nanoseconds since 1970. The first one wins, because clocks drift.
    Utc {
        offset_ns: i64,
    },
    /// A fact that only lists and queries of the trace show.
    Fact {
        fact: Box<TraceFact>,
    },
    /// A module with sampled code.
    Module {
        module: Box<Module>,
    },
    /// A module that stacks were unwound with.
    Unwound {
        module: Box<UnwoundModule>,
    },
}

impl Metadata {
    /// Returns whether it moves tracks. This must happen before the tracks of its batch are added.
    pub(crate) fn is_move(&self) -> bool {
        matches!(self, Self::ThreadProcess { .. })
    }
}

/// The processes and tracks of a trace.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrackTables {
    /// Processes in order of first appearance.
    pub processes: Vec<Process>,
    /// Tracks in order of first appearance; each refers to a row of `processes`.
    pub tracks: Vec<Track>,
    /// Offset from times to UTC nanoseconds since 1970, if known.
    pub(crate) utc_offset_ns: Option<i64>,
    /// Modules with sampled code, in order of first appearance.
    pub(crate) modules: Vec<Module>,
    /// Modules that stacks were unwound with, or whose files were missing.
    pub(crate) unwound: Vec<UnwoundModule>,
    /// Units of counters that the trace states; for all counters see [`Self::unit`].
    pub(crate) units: BTreeMap<TrackIdx, Arc<str>>,
    /// Facts about the recording, its processes and threads.
    pub(crate) facts: Facts,
    /// Paths of the groups that the trace puts tracks into; see [`Self::group`].
    pub(crate) groups: GroupNames<TrackIdx>,
}

impl TrackTables {
    /// Returns the unit of a counter, as stated by the trace or in its name. Empty if it has none.
    #[must_use]
    pub(crate) fn unit(&self, track: TrackIdx) -> &str {
        if let Some(unit) = self.units.get(&track) {
            return unit;
        }
        let counter = self.tracks.get(track.index()).filter(|track| track.key.kind == TrackKind::Counter);
        counter.and_then(|counter| unit_in_name(&counter.name)).unwrap_or_default()
    }

    /// Returns the path of the group that the trace puts a track into. Only async tracks, counters and threads have
    /// one.
    #[must_use]
    pub(crate) fn group(&self, track: TrackIdx) -> Option<GroupPath<'_>> {
        let group = self.groups.get(track)?;
        let kind = self.tracks.get(track.index())?.key.kind;
        let is_possible = matches!(kind, TrackKind::Async | TrackKind::Counter | TrackKind::Thread);
        is_possible.then(|| GroupPath::new(group))
    }

    /// Returns the name of a track with its unit in brackets, for formats without a field for it: `MemFree (bytes)`.
    #[must_use]
    pub(crate) fn name_with_unit(&self, track: TrackIdx) -> Cow<'_, str> {
        let name = self.tracks.get(track.index()).map_or("", |track| &*track.name);
        match self.units.get(&track) {
            Some(unit) if unit_in_name(name) != Some(unit) => Cow::Owned(format!("{name} ({unit})")),
            _ => Cow::Borrowed(name),
        }
    }
}

/// Kinds and slots of tracks that have the process, name and sort index of their thread.
pub(crate) const OF_THREAD: [(TrackKind, u32); 3] =
    [(TrackKind::Thread, 0), (TrackKind::State, 0), (TrackKind::Thread, TrackKey::SLOT_UNTIMED)];
