//! Derived tracks of the scheduling of a process, a thread or a CPU: shares of time in scheduler states. A process is
//! the sum of its threads, so 200 % running means two CPUs. Offered if the trace has scheduler states.

use super::state::Timeline;
use crate::model::{TrackIdx, TrackKind, TrackSet};
use crate::query::derived::DerivedKind;
use crate::query::track_groups::GroupId;
use crate::scene::rows::GroupKind;
use crate::ui::selected_scope::SelectedScope;

/// The thread states with a track each, and the filters of their rows, by the letters of Linux.
const STATES: [(&str, &str); 4] = [
    ("on CPU", "cat:/^Running$/"),
    ("runnable", "cat:/^R/ -cat:/^Running$/"),
    ("sleeping", "cat:/^(S|I$)/"),
    ("uninterruptible, I/O", "cat:/^D/"),
];

/// The subject of the tracks.
enum Scheduled {
    Cpus(TrackSet),
    States(TrackSet),
}

impl Timeline {
    /// Returns whether scheduling tracks are offered for a process, a group or a track.
    pub(super) fn has_scheduling(&self, kind: GroupKind) -> bool {
        match kind {
            GroupKind::Custom(_) => match scheduled(self, kind) {
                Scheduled::Cpus(tracks) | Scheduled::States(tracks) => !tracks.is_empty(),
            },
            GroupKind::Process(_) => self.snapshot.has_states(),
            GroupKind::Tracks(GroupId { lead: track, .. }) | GroupKind::Track(track) => {
                match self.snapshot.track(track).key.kind {
                    TrackKind::Cpu | TrackKind::State => true,
                    TrackKind::Thread => matches!(kind, GroupKind::Track(_)) && self.snapshot.has_states(),
                    TrackKind::Global
                    | TrackKind::Process
                    | TrackKind::Async
                    | TrackKind::Counter
                    | TrackKind::Samples => false,
                }
            }
        }
    }

    /// Adds the scheduling tracks of a process, a thread, or of CPUs.
    pub(super) fn derive_scheduling(&mut self, kind: GroupKind) {
        let title = match kind {
            GroupKind::Custom(group) => self.custom_group_text(group).0,
            GroupKind::Process(process) => self.process_text(process),
            GroupKind::Tracks(group) => self.group_text(group).0,
            GroupKind::Track(track) => self.track_text(track).0,
        };
        let scheduled = scheduled(self, kind);
        let mut add = |tracks: TrackSet, filter: &str, state: &str| {
            if tracks.iter().next().is_some() {
                let scope = SelectedScope { range: None, tracks, filter: filter.into() };
                self.derive(DerivedKind::Busy, scope, &format!("{title}: {state}"));
            }
        };
        match scheduled {
            Scheduled::Cpus(tracks) => add(tracks, "", "busy"),
            Scheduled::States(tracks) => STATES.iter().for_each(|(state, filter)| add(tracks.clone(), filter, state)),
        }
    }
}

fn scheduled(timeline: &Timeline, kind: GroupKind) -> Scheduled {
    let snapshot = &timeline.snapshot;
    let of = |is_meant: &dyn Fn(TrackIdx) -> bool| TrackSet::from_fn(snapshot.tracks().tracks.len(), is_meant);
    let is_state = |track: TrackIdx| snapshot.track(track).key.kind == TrackKind::State;
    match kind {
        GroupKind::Custom(group) => {
            let tracks = timeline.tracks.arrangement().custom_groups.get(group).map(|group| &group.tracks);
            Scheduled::States(of(&|track| is_state(track) && tracks.is_some_and(|tracks| tracks.contains(track))))
        }
        GroupKind::Process(process) => {
            Scheduled::States(of(&|track| is_state(track) && snapshot.track(track).process == process))
        }
        GroupKind::Tracks(group) => Scheduled::Cpus(of(&|track| {
            snapshot.track(track).key.kind == TrackKind::Cpu && snapshot.is_in_group(track, group)
        })),
        GroupKind::Track(track) if snapshot.track(track).key.kind == TrackKind::Cpu => {
            Scheduled::Cpus(of(&|other| other == track))
        }
        GroupKind::Track(track) => {
            let own = &snapshot.track(track).key;
            let is_own = |other: TrackIdx| {
                let key = &snapshot.track(other).key;
                (&key.pid, &key.tid) == (&own.pid, &own.tid)
            };
            Scheduled::States(of(&|other| is_state(other) && is_own(other)))
        }
    }
}
