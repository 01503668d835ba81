//! How the threads, processes and CPUs of a scope spend their time: running, runnable, or waiting.
//!
//! A thread is counted by its state track, a CPU by its own track. Times are clipped to the range. Counts, longest run
//! and longest wait include rows that reach into the range, with their whole durations, as in
//! [`totals`](super::totals). Sums come from the ledger if a track has a tree, else from its rows. A thread is in scope
//! if its states or its spans are. Track filters apply; row filters do not.
//!
//! The naive way is a loop over all rows of all these tracks.

use rustc_hash::{FxHashMap, FxHashSet};

use super::groups::{GroupBy, NameKey, OwnerKey, SpanGroup};
use super::scope::Scope;
use super::snapshot::Snapshot;
use super::totals::{GrowingTotals, NameTotals, Totals, sum_up};
use crate::base::cancel::{Cancel, Cancelled};
use crate::base::progress::{Progress, Stage};
use crate::model::{Id, ProcessIdx, TrackIdx, TrackKind, TrackSet};

/// Tracks whose states are summed at once: with about ten state names each, their sums take 30 MB.
const TRACKS_AT_ONCE: usize = 1 << 14;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ThreadState {
    Running,
    /// Ready to run, waiting for a CPU.
    Runnable,
    /// Waiting; a signal wakes it.
    Sleeping,
    /// Waiting for a device or a kernel lock; signals do not wake it.
    Uninterruptible,
    /// Stopped, traced, parked, ended, or unknown.
    Other,
}

impl ThreadState {
    /// All states in table order. The length is right as long as `Other` is the last variant of the enum.
    pub(crate) const ALL: [Self; Self::Other as usize + 1] =
        [Self::Running, Self::Runnable, Self::Sleeping, Self::Uninterruptible, Self::Other];

    /// Parses the category of a state row: the letters of Linux, or a word.
    #[must_use]
    pub(crate) fn from_letters(letters: &str) -> Self {
        match letters {
            "Running" => Self::Running,
            // `I` is an idle kernel thread, which waits for work and causes no load.
            "I" => Self::Sleeping,
            _ if letters.starts_with('R') => Self::Runnable,
            _ if letters.starts_with('D') => Self::Uninterruptible,
            _ if letters.starts_with('S') => Self::Sleeping,
            _ => Self::Other,
        }
    }
}

/// The thread, process or CPU of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ScheduledUnit {
    /// The state track of a thread.
    Thread(TrackIdx),
    Process(ProcessIdx),
    Cpu(TrackIdx),
}

/// The kinds of units; each has a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum ScheduledKind {
    #[default]
    Threads,
    Processes,
    Cpus,
}

/// How one unit spends its time. Sums saturate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ScheduledTime {
    pub(crate) unit: ScheduledUnit,
    /// Threads of a process in scope; 1 for a thread, 0 for a CPU.
    pub(crate) threads: u32,
    /// By [`ThreadState`]. A CPU has only [`ThreadState::Running`].
    time_ns: [u64; ThreadState::ALL.len()],
    /// How often the thread was put on a CPU.
    pub(crate) slices: u64,
    /// Longest time on a CPU without a switch.
    pub(crate) longest_run_ns: u64,
    /// Longest time from becoming runnable to the next change.
    pub(crate) longest_wait_ns: u64,
}

impl ScheduledTime {
    fn new(unit: ScheduledUnit) -> Self {
        let threads = matches!(unit, ScheduledUnit::Thread(_)).into();
        let time_ns = [0; ThreadState::ALL.len()];
        Self { unit, threads, time_ns, slices: 0, longest_run_ns: 0, longest_wait_ns: 0 }
    }

    #[must_use]
    pub(crate) fn time_ns(&self, state: ThreadState) -> u64 {
        self.time_ns[state as usize]
    }

    fn add_state(&mut self, state: ThreadState, totals: &NameTotals) {
        let time_ns = &mut self.time_ns[state as usize];
        *time_ns = time_ns.saturating_add(u64::try_from(totals.total_ns).unwrap_or(u64::MAX));
        match state {
            ThreadState::Running => {
                self.slices += totals.count;
                self.longest_run_ns = self.longest_run_ns.max(totals.max_ns);
            }
            ThreadState::Runnable => self.longest_wait_ns = self.longest_wait_ns.max(totals.max_ns),
            ThreadState::Sleeping | ThreadState::Uninterruptible | ThreadState::Other => {}
        }
    }

    fn add_thread(&mut self, thread: &Self) {
        self.threads += thread.threads;
        for (sum, time_ns) in self.time_ns.iter_mut().zip(thread.time_ns) {
            *sum = sum.saturating_add(time_ns);
        }
        self.slices += thread.slices;
        self.longest_run_ns = self.longest_run_ns.max(thread.longest_run_ns);
        self.longest_wait_ns = self.longest_wait_ns.max(thread.longest_wait_ns);
    }
}

/// The scheduling tables of a scope.
#[derive(Debug, Clone, Default)]
pub(crate) struct Scheduling {
    /// Threads with a state in the range, in track order.
    threads: Vec<ScheduledTime>,
    /// The processes of these threads, in trace order.
    processes: Vec<ScheduledTime>,
    /// CPUs in scope by number, including idle ones.
    cpus: Vec<ScheduledTime>,
    /// The part of the range in which the trace has rows.
    pub(crate) range_ns: u64,
    /// Whether the trace has thread states or CPU runs.
    pub(crate) is_in_trace: bool,
}

impl Scheduling {
    /// Returns the table of a kind of units.
    #[must_use]
    pub(crate) fn rows(&self, kind: ScheduledKind) -> &[ScheduledTime] {
        match kind {
            ScheduledKind::Threads => &self.threads,
            ScheduledKind::Processes => &self.processes,
            ScheduledKind::Cpus => &self.cpus,
        }
    }

    /// Sums some rows of a table, and takes the longest run and wait of any; `None` without rows.
    #[must_use]
    pub(crate) fn sum(&self, kind: ScheduledKind, rows: &[u32]) -> Option<ScheduledTime> {
        let all = self.rows(kind);
        let mut sum = ScheduledTime { threads: 0, ..ScheduledTime::new(all.first()?.unit) };
        rows.iter().for_each(|&row| sum.add_thread(&all[row as usize]));
        (!rows.is_empty()).then_some(sum)
    }

    /// Returns the share of the range that a unit is on a CPU, or that a CPU is busy. More than 1 for processes that
    /// use several CPUs.
    #[must_use]
    pub(crate) fn utilisation(&self, row: &ScheduledTime) -> Option<f64> {
        (self.range_ns > 0).then(|| row.time_ns(ThreadState::Running) as f64 / self.range_ns as f64)
    }
}

/// Computes the scheduling tables of `scope`. `progress` counts tracks if there are very many, else ranges. Returns
/// `Cancelled` if cancelled.
pub(crate) fn scheduling(
    snapshot: &Snapshot,
    scope: &Scope,
    cancel: &Cancel,
    progress: &Progress,
) -> Result<Scheduling, Cancelled> {
    let tables = snapshot.tracks();
    let of_kind = |kind| {
        let tracks = (0..).map(TrackIdx).zip(&tables.tracks);
        let tracks =
            tracks.filter(move |(index, track)| track.key.kind == kind && !snapshot.lanes_of(*index).is_empty());
        tracks.map(|(index, _)| index)
    };
    let chosen = chosen_threads(snapshot, scope);
    let is_chosen = |index: TrackIdx| {
        let key = &snapshot.track(index).key;
        scope.has_track(index) || chosen.contains(&(&key.pid, &key.tid))
    };
    let states: Vec<TrackIdx> = of_kind(TrackKind::State).filter(|&index| is_chosen(index)).collect();
    let cpus: Vec<TrackIdx> = of_kind(TrackKind::Cpu).filter(|&index| scope.has_track(index)).collect();
    let adding = Adding { snapshot, scope, cancel };
    let threads = adding.threads(&states, progress)?;
    Ok(Scheduling {
        processes: processes(snapshot, &threads),
        threads,
        cpus: adding.cpus(&cpus, progress)?,
        range_ns: range_ns(snapshot, scope),
        is_in_trace: of_kind(TrackKind::State).chain(of_kind(TrackKind::Cpu)).next().is_some(),
    })
}

/// Returns the part of a scope's range in which the trace has rows.
fn range_ns(snapshot: &Snapshot, scope: &Scope) -> u64 {
    let from_ns = scope.from_ns.map_or(snapshot.start_ns(), |from_ns| from_ns.max(snapshot.start_ns()));
    let to_ns = scope.to_ns.map_or(snapshot.end_ns(), |to_ns| to_ns.min(snapshot.end_ns()));
    if to_ns > from_ns { to_ns.abs_diff(from_ns) } else { 0 }
}

/// The process id and thread id of a thread.
type ThreadIds<'a> = (&'a Id, &'a Id);

/// Returns the threads whose spans are in scope, if the scope excludes tracks.
fn chosen_threads<'a>(snapshot: &'a Snapshot, scope: &Scope) -> FxHashSet<ThreadIds<'a>> {
    if scope.tracks.is_all() && scope.matcher.is_every_track() {
        return FxHashSet::default();
    }
    let tracks = (0..).map(TrackIdx).zip(&snapshot.tracks().tracks);
    let threads = tracks.filter(|(index, track)| track.key.kind == TrackKind::Thread && scope.has_track(*index));
    threads.map(|(_, track)| (&track.key.pid, &track.key.tid)).collect()
}

/// Returns the processes of threads, in trace order.
fn processes(snapshot: &Snapshot, threads: &[ScheduledTime]) -> Vec<ScheduledTime> {
    let mut rows: FxHashMap<ProcessIdx, ScheduledTime> = FxHashMap::default();
    for thread in threads {
        let ScheduledUnit::Thread(track) = thread.unit else { continue };
        let process = snapshot.track(track).process;
        let row = rows.entry(process).or_insert_with(|| ScheduledTime::new(ScheduledUnit::Process(process)));
        row.add_thread(thread);
    }
    let mut rows: Vec<_> = rows.into_values().collect();
    rows.sort_unstable_by_key(|row| row.unit);
    rows
}

/// Consumes the totals of one group, and the tracks that were summed at once.
type TakeGroup<'t> = dyn FnMut(SpanGroup, &NameTotals, &[TrackIdx]) + 't;

/// Sums the rows of many tracks.
struct Adding<'a> {
    snapshot: &'a Snapshot,
    scope: &'a Scope,
    cancel: &'a Cancel,
}

impl Adding<'_> {
    /// Returns the threads with these tracks of states, in track order.
    fn threads(&self, states: &[TrackIdx], progress: &Progress) -> Result<Vec<ScheduledTime>, Cancelled> {
        let names = self.snapshot.raw_names();
        let mut threads: FxHashMap<TrackIdx, ScheduledTime> = FxHashMap::default();
        let by_state = GroupBy::Keys { name: Some(NameKey::Name), track: Some(OwnerKey::Thread) };
        self.in_parts(states, &by_state, progress, &mut |group, totals, of_part| {
            let (track, state) = match of_part {
                // State names of a single track beyond the limit.
                [only] if group == SpanGroup::OTHERS => (*only, ThreadState::Other),
                _ => {
                    let letters = names.get(group.name).category.unwrap_or_default();
                    (TrackIdx(group.owner), ThreadState::from_letters(letters))
                }
            };
            let row = threads.entry(track).or_insert_with(|| ScheduledTime::new(ScheduledUnit::Thread(track)));
            row.add_state(state, totals);
            if state == ThreadState::Running && totals.min_ns == 0 {
                // A thread has at most one run that takes no time: one that is open at the end.
                row.slices -= 1;
            }
        })?;
        let mut threads: Vec<_> = threads.into_values().collect();
        threads.sort_unstable_by_key(|row| row.unit);
        Ok(threads)
    }

    /// Returns the CPUs with these tracks of runs, by number.
    fn cpus(&self, cpus: &[TrackIdx], progress: &Progress) -> Result<Vec<ScheduledTime>, Cancelled> {
        let mut runs: FxHashMap<TrackIdx, ScheduledTime> = FxHashMap::default();
        let by_track = GroupBy::Keys { name: None, track: Some(OwnerKey::Thread) };
        self.in_parts(cpus, &by_track, progress, &mut |group, totals, _| {
            let track = TrackIdx(group.owner);
            let row = runs.entry(track).or_insert_with(|| ScheduledTime::new(ScheduledUnit::Cpu(track)));
            row.add_state(ThreadState::Running, totals);
        })?;
        let idle = |&track| runs.get(&track).copied().unwrap_or(ScheduledTime::new(ScheduledUnit::Cpu(track)));
        let mut cpus: Vec<_> = cpus.iter().map(idle).collect();
        cpus.sort_by_key(|row| match row.unit {
            ScheduledUnit::Cpu(track) => (self.snapshot.track(track).key.slot, track),
            ScheduledUnit::Thread(_) | ScheduledUnit::Process(_) => (0, TrackIdx::default()),
        });
        Ok(cpus)
    }

    /// Sums some of the tracks at a time, so that the sums of a million threads are never in memory at once.
    fn in_parts(
        &self,
        tracks: &[TrackIdx],
        by: &GroupBy,
        progress: &Progress,
        take: &mut TakeGroup<'_>,
    ) -> Result<(), Cancelled> {
        if tracks.len() <= TRACKS_AT_ONCE {
            return self.add(tracks, by, progress, take);
        }
        progress.begin(Stage::Counting, tracks.len() as u64);
        for part in tracks.chunks(TRACKS_AT_ONCE) {
            self.add(part, by, &Progress::default(), take)?;
            progress.advance(part.len() as u64);
        }
        Ok(())
    }

    fn add(
        &self,
        tracks: &[TrackIdx],
        by: &GroupBy,
        progress: &Progress,
        take: &mut TakeGroup<'_>,
    ) -> Result<(), Cancelled> {
        if tracks.is_empty() {
            return Ok(());
        }
        let totals = self.totals(tracks, by, progress)?;
        if totals.has_others() && tracks.len() > 1 {
            // There are too many state names to separate groups, and half of the tracks have fewer.
            let (first, second) = tracks.split_at(tracks.len() / 2);
            self.add(first, by, progress, take)?;
            return self.add(second, by, progress, take);
        }
        totals.by_group().into_iter().for_each(|(group, sums)| take(group, sums, tracks));
        Ok(())
    }

    fn totals(&self, tracks: &[TrackIdx], by: &GroupBy, progress: &Progress) -> Result<Totals, Cancelled> {
        let Scope { from_ns, to_ns, .. } = *self.scope;
        let tracks = tracks.iter().copied().collect::<TrackSet>();
        let scope = Scope { from_ns, to_ns, tracks, ..Scope::default() };
        let growing = GrowingTotals::grouped(by.clone());
        sum_up(self.snapshot, &scope, &growing, self.cancel, progress)?;
        Ok(growing.into_totals())
    }
}
