//! Resolves reused pids: a track descriptor with another name or start time means that a new process has the pid.
//! The id of a new process has a count appended. Also resolves the numbers that stand for missing ids.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::model::Id;

/// Limit for remembered pids and tracks.
const PIDS_MAX: usize = 1 << 20;

/// Processes of pids that have a descriptor.
#[derive(Debug, Default)]
pub(super) struct Pids {
    by_number: FxHashMap<i64, PidOwner>,
    by_uuid: FxHashMap<u64, Id>,
    /// Tracks whose process has a name that is not its command line.
    named: FxHashSet<u64>,
    /// Numbers of threads that have no id.
    missing_tids: FxHashSet<i64>,
}

/// The current process of a pid.
#[derive(Debug, Default)]
struct PidOwner {
    /// The track uuid that describes the process.
    uuid: u64,
    name: Box<str>,
    start_ns: Option<i64>,
    /// Number of processes that have had this pid.
    count: u32,
    /// Whether the pid stands for a missing id.
    is_missing: bool,
}

impl Pids {
    /// Returns the current process of a pid.
    pub(super) fn id(&self, pid: i64) -> Id {
        match self.by_number.get(&pid) {
            Some(owner) if owner.is_missing => Id::None,
            owner => id_of(pid, owner.map_or(1, |owner| owner.count)),
        }
    }

    /// Returns the id of a thread.
    pub(super) fn thread_id(&self, tid: i64) -> Id {
        if self.missing_tids.contains(&tid) { Id::None } else { Id::Number(tid) }
    }

    /// Marks a number as a stand-in for the missing id of the process that a track descriptor describes.
    pub(super) fn add_missing(&mut self, pid: i64, uuid: u64) {
        if self.by_uuid.len() < PIDS_MAX {
            let owner = PidOwner { uuid, count: 1, is_missing: true, ..PidOwner::default() };
            self.by_number.insert(pid, owner);
            self.by_uuid.insert(uuid, Id::None);
        }
    }

    /// Marks a number as a stand-in for the missing id of a thread.
    pub(super) fn add_missing_thread(&mut self, tid: i64) {
        if self.missing_tids.len() < PIDS_MAX {
            self.missing_tids.insert(tid);
        }
    }

    /// Marks the process of a track as named by more than its command line.
    pub(super) fn add_name(&mut self, uuid: u64) {
        if self.named.len() < PIDS_MAX {
            self.named.insert(uuid);
        }
    }

    /// Returns whether the process of a track is named by more than its command line.
    pub(super) fn has_name(&self, uuid: u64) -> bool {
        self.named.contains(&uuid)
    }

    /// Returns the process that a track descriptor describes.
    pub(super) fn described(&mut self, pid: i64, uuid: u64, name: &str, start_ns: Option<i64>) -> Id {
        if let Some(id) = self.by_uuid.get(&uuid) {
            return id.clone();
        }
        if self.by_uuid.len() >= PIDS_MAX {
            return self.id(pid);
        }
        let owner = self.by_number.entry(pid).or_default();
        let is_renamed = !name.is_empty() && !owner.name.is_empty() && *owner.name != *name;
        let is_restarted = start_ns.is_some() && owner.start_ns.is_some() && owner.start_ns != start_ns;
        if owner.count == 0 || owner.uuid != uuid && (is_renamed || is_restarted) {
            *owner = PidOwner { uuid, name: name.into(), start_ns, count: owner.count + 1, is_missing: false };
        } else if owner.name.is_empty() {
            owner.name = name.into();
        }
        let id = id_of(pid, owner.count);
        self.by_uuid.insert(uuid, id.clone());
        id
    }
}

fn id_of(pid: i64, count: u32) -> Id {
    if count <= 1 { Id::Number(pid) } else { Id::Text(format!("{pid} ({count})").into()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_track_with_another_name_or_start_makes_a_pid_another_process() {
        let mut pids = Pids::default();
        let first = Id::Number(5);
        let second = Id::Text("5 (2)".into());
        assert_eq!(pids.described(5, 10, "p1", None), first);
        assert_eq!(pids.described(5, 11, "", None), first, "says nothing else");
        assert_eq!(pids.described(5, 12, "p1", Some(7)), first, "the first said no start");
        assert_eq!((pids.described(5, 20, "p2", Some(7)), pids.id(5)), (second.clone(), second.clone()));
        assert_eq!(pids.described(5, 10, "p3", None), first, "a track stays in its process, whatever its name");
        assert_eq!(pids.described(5, 30, "p2", Some(9)), Id::Text("5 (3)".into()));
        assert_eq!((pids.described(6, 40, "p2", Some(9)), pids.id(7)), (Id::Number(6), Id::Number(7)));
    }
}
