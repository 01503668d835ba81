//! The links of scheduling rows. A state or a CPU run leads to the thread that woke its thread, and so ended the sleep
//! before it. A run and its state lead to each other.
//!
//! A waking is an argument of the state that it starts, so it costs no extra space. A query visits all tracks and one
//! moment of each CPU: work for the background. There is no guess if the row does not name the waker.

use serde_json::Value;

use super::cursor::LaneCursor;
use super::snapshot::Snapshot;
use crate::base::cancel::{Cancel, Cancelled};
use crate::model::args::Detail;
use crate::model::{TrackIdx, TrackKind};
use crate::store::details::DetailReader;
use crate::store::{LaneIdx, LaneKind, RowIdx};

/// The category of a state in which a thread is on a CPU.
const RUNNING: &str = "Running";

/// The ids of a thread in the arguments of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ThreadIds {
    pid: i64,
    tid: i64,
}

impl ThreadIds {
    /// Returns whether the process may have been unknown when the row was read: the thread counts as its own process.
    fn has_no_process(self) -> bool {
        self.pid == self.tid
    }

    fn is_same_thread(self, other: Self) -> bool {
        self.tid == other.tid && (self.pid == other.pid || self.has_no_process() || other.has_no_process())
    }
}

/// The links of a scheduling row.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct RunLinks {
    /// The row of the waker, and the time of the waking.
    pub(super) waking: Option<(RowIdx, i64)>,
    /// The CPU run of a state, or the state of a run.
    pub(super) same_run: Option<RowIdx>,
}

/// Returns the links of a row; none for other rows. Returns `Cancelled` if cancelled.
pub(super) fn run_links(snapshot: &Snapshot, row: RowIdx, cancel: &Cancel) -> Result<RunLinks, Cancelled> {
    let track = snapshot.lane(row.lane).track;
    let links = Links { snapshot, scope: IdScope::of_track(snapshot, track), cancel };
    match snapshot.track(track).key.kind {
        TrackKind::State => links.for_state(row, track),
        TrackKind::Cpu => links.for_run(row),
        _ => Ok(RunLinks::default()),
    }
}

/// The file and the host in which the ids of a track are unique, for a trace of several.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct IdScope<'a> {
    file: Option<&'a str>,
    host: Option<&'a str>,
}

impl<'a> IdScope<'a> {
    fn of_track(snapshot: &'a Snapshot, track: TrackIdx) -> Self {
        let track = snapshot.track(track);
        let file = snapshot.tracks().processes[track.process.index()].file.as_deref();
        Self { file, host: track.key.id_suffix() }
    }
}

struct Links<'a> {
    snapshot: &'a Snapshot,
    scope: IdScope<'a>,
    cancel: &'a Cancel,
}

impl<'a> Links<'a> {
    fn for_state(&self, row: RowIdx, track: TrackIdx) -> Result<RunLinks, Cancelled> {
        let same_run = if self.is_running(row) { self.run_of(row, track)? } else { None };
        let Some((ready, ids)) = self.waking_of(row) else { return Ok(RunLinks { waking: None, same_run }) };
        let woken_ns = self.snapshot.row(ready).start_ns;
        let waker = self.state_track(ids)?.and_then(|track| self.row_at(track, woken_ns));
        Ok(RunLinks { waking: waker.map(|waker| (waker, woken_ns)), same_run })
    }

    fn for_run(&self, row: RowIdx) -> Result<RunLinks, Cancelled> {
        let Some(ids) = self.ids(row, "pid", "tid") else { return Ok(RunLinks::default()) };
        let start_ns = self.snapshot.row(row).start_ns;
        let state = match self.state_track(ids)? {
            Some(track) => self.starting_at(track, start_ns).into_iter().find(|&state| self.is_running(state)),
            None => None,
        };
        let Some((ready, ids)) = state.and_then(|state| self.waking_of(state)) else {
            return Ok(RunLinks { waking: None, same_run: state });
        };
        let woken_ns = self.snapshot.row(ready).start_ns;
        let mut waker = None;
        for cpu in self.cpus() {
            self.cancel.check()?;
            let ran = self.rows_at(cpu, woken_ns).into_iter().flatten();
            let is_waker = |&run: &RowIdx| self.ids(run, "pid", "tid").is_some_and(|ran| ran.is_same_thread(ids));
            waker = waker.or_else(|| ran.into_iter().find(is_waker));
        }
        Ok(RunLinks { waking: waker.map(|waker| (waker, woken_ns)), same_run: state })
    }

    /// Returns the state that a waking started, and the waker. The state is the row itself, the row right before a run,
    /// or the row right after a sleep.
    fn waking_of(&self, row: RowIdx) -> Option<(RowIdx, ThreadIds)> {
        let waker_of = |ready: RowIdx| Some((ready, self.ids(ready, "waker_pid", "waker_tid")?));
        let are_adjacent = |[first, second]: [RowIdx; 2]| {
            let [first, second] = [first, second].map(|row| self.snapshot.row(row));
            first.end_ns() == second.start_ns
        };
        if self.is_running(row) {
            let before = RowIdx { row: row.row.checked_sub(1)?, ..row };
            return waker_of(before).filter(|_| are_adjacent([before, row]));
        }
        let after = || {
            let after = RowIdx { row: row.row + 1, ..row };
            let is_in_lane = after.row < self.snapshot.lane(row.lane).rows;
            (is_in_lane && are_adjacent([row, after])).then_some(after).and_then(waker_of)
        };
        waker_of(row).or_else(after)
    }

    /// Returns the CPU run that starts with a state.
    fn run_of(&self, row: RowIdx, track: TrackIdx) -> Result<Option<RowIdx>, Cancelled> {
        let key = &self.snapshot.track(track).key;
        let start_ns = self.snapshot.row(row).start_ns;
        for cpu in self.cpus() {
            self.cancel.check()?;
            let is_same = |&run: &RowIdx| {
                let ids = self.ids(run, "pid", "tid").filter(|ids| key.tid.is_number(ids.tid));
                ids.is_some_and(|ids| key.pid.is_number(ids.pid) || ids.has_no_process())
            };
            if let Some(run) = self.starting_at(cpu, start_ns).into_iter().find(is_same) {
                return Ok(Some(run));
            }
        }
        Ok(None)
    }

    fn is_running(&self, row: RowIdx) -> bool {
        self.snapshot.raw_names().get(self.snapshot.row(row).name).category == Some(RUNNING)
    }

    /// Returns the ids of a thread in the arguments of a row.
    fn ids(&self, row: RowIdx, pid: &str, tid: &str) -> Option<ThreadIds> {
        let mut reader = DetailReader::default();
        let blob = self.snapshot.store().detail(self.snapshot.row(row).detail, &mut reader);
        let args: Value = serde_json::from_str(Detail::decode(blob).args_json).ok()?;
        Some(ThreadIds { pid: args.get(pid)?.as_i64()?, tid: args.get(tid)?.as_i64()? })
    }

    fn cpus(&self) -> impl Iterator<Item = TrackIdx> + '_ {
        self.tracks(TrackKind::Cpu)
    }

    /// Iterates over the tracks of a kind in the file and on the host of the row.
    fn tracks(&self, kind: TrackKind) -> impl Iterator<Item = TrackIdx> + '_ {
        let tracks = (0..).map(TrackIdx).zip(&self.snapshot.tracks().tracks);
        let of_kind = tracks.filter(move |(_, track)| track.key.kind == kind).map(|(index, _)| index);
        of_kind.filter(|&index| IdScope::of_track(self.snapshot, index) == self.scope)
    }

    /// Returns the state track of a thread: the track in its process, or else in another process. A thread may have
    /// been woken before its process was known.
    fn state_track(&self, ids: ThreadIds) -> Result<Option<TrackIdx>, Cancelled> {
        let mut of_other = None;
        for track in self.tracks(TrackKind::State) {
            let key = &self.snapshot.track(track).key;
            if !key.tid.is_number(ids.tid) {
                continue;
            }
            self.cancel.check()?;
            if key.pid.is_number(ids.pid) {
                return Ok(Some(track));
            }
            of_other.get_or_insert(track);
        }
        Ok(of_other)
    }

    /// Returns the spans of a track that start at a time: at most one has a duration.
    fn starting_at(&self, track: TrackIdx, start_ns: i64) -> Vec<RowIdx> {
        self.lanes(track)
            .filter_map(|lane| {
                let mut cursor = LaneCursor::new(self.snapshot.store(), lane);
                let row = cursor.first_from(start_ns).row;
                let span = cursor.span(row).filter(|span| span.start_ns == start_ns)?;
                // After the last zero-length row comes the row with a duration.
                let next = cursor.span(row + 1).filter(|next| next.start_ns == start_ns && span.dur_ns == 0);
                Some(RowIdx { lane, row: row + u64::from(next.is_some()) })
            })
            .collect()
    }

    /// Returns the run of a thread at a time if its state track has one, or else its state.
    fn row_at(&self, track: TrackIdx, ts_ns: i64) -> Option<RowIdx> {
        let rows = self.rows_at(track, ts_ns);
        let all = || rows.iter().flatten().copied();
        all().find(|&row| self.is_running(row)).or_else(|| all().next())
    }

    /// Returns the row around a time, and the previous row if it ends exactly then. With microsecond clocks, a waking
    /// and the next switch may have the same time.
    fn rows_at(&self, track: TrackIdx, ts_ns: i64) -> [Option<RowIdx>; 2] {
        let Some(lane) = self.lanes(track).next() else { return [None; 2] };
        let mut cursor = LaneCursor::new(self.snapshot.store(), lane);
        let after = cursor.first_after(ts_ns).row;
        let mut reaching = |row: Option<u64>| {
            let row = row?;
            cursor.span(row).filter(|span| span.end_ns() >= ts_ns).map(|_| RowIdx { lane, row })
        };
        [reaching(after.checked_sub(1)), reaching(after.checked_sub(2))]
    }

    fn lanes(&self, track: TrackIdx) -> impl Iterator<Item = LaneIdx> + 'a {
        let snapshot = self.snapshot;
        snapshot.lanes_of(track).map(LaneIdx).filter(move |&lane| snapshot.lane(lane).kind == LaneKind::Spans)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Id;
    use crate::query::flow_chain::chain;
    use crate::scene::tests::snapshot;

    /// Two CPUs. Thread "a" wakes "b" in the microsecond in which it leaves its CPU, and an interrupt wakes "a" while
    /// both CPUs are idle. Thread "c" runs on the other CPU from the start of "b", and has no waker.
    const TRACE: &str = "# tracer: nop
  <idle>-0     (-----) [000] d... 1.000000: sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=a next_pid=7 next_prio=120
       a-7     (    7) [000] d... 1.000003: sched_waking: comm=b pid=8 prio=120 target_cpu=000
       a-7     (    7) [000] d... 1.000003: sched_switch: prev_comm=a prev_pid=7 prev_prio=120 prev_state=S ==> next_comm=swapper/0 next_pid=0 next_prio=120
  <idle>-0     (-----) [001] d... 1.000005: sched_switch: prev_comm=swapper/1 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=c next_pid=9 next_prio=120
  <idle>-0     (-----) [000] d... 1.000005: sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=b next_pid=8 next_prio=120
       b-8     (    8) [000] d... 1.000008: sched_switch: prev_comm=b prev_pid=8 prev_prio=120 prev_state=R+ ==> next_comm=swapper/0 next_pid=0 next_prio=120
       c-9     (    9) [001] d... 1.000008: sched_switch: prev_comm=c prev_pid=9 prev_prio=120 prev_state=S ==> next_comm=swapper/1 next_pid=0 next_prio=120
  <idle>-0     (-----) [000] d.h. 1.000009: sched_waking: comm=a pid=7 prio=120 target_cpu=000
  <idle>-0     (-----) [000] d... 1.000010: sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=a next_pid=7 next_prio=120
       a-7     (    7) [000] d... 1.000012: sched_switch: prev_comm=a prev_pid=7 prev_prio=120 prev_state=S ==> next_comm=b next_pid=8 next_prio=120
       b-8     (    8) [000] d... 1.000020: sched_switch: prev_comm=b prev_pid=8 prev_prio=120 prev_state=S ==> next_comm=swapper/0 next_pid=0 next_prio=120
";

    /// Returns the row of a track that starts this many microseconds after the first.
    fn row(snapshot: &Snapshot, kind: TrackKind, tid: i64, start_us: i64) -> RowIdx {
        let lanes = (0..snapshot.store().lane_count()).map(LaneIdx);
        let mut rows = lanes.flat_map(|lane| (0..snapshot.lane(lane).rows).map(move |row| RowIdx { lane, row }));
        let is_meant = |row: &RowIdx| {
            let key = &snapshot.track(snapshot.lane(row.lane).track).key;
            let is_track = key.kind == kind && key.tid.is_number(tid);
            is_track && snapshot.row(*row).start_ns - snapshot.start_ns() == start_us * 1000
        };
        rows.rfind(is_meant).expect("a row")
    }

    /// Returns the row of the waker, when it woke, and the counterpart of the run.
    fn links(snapshot: &Snapshot, row: RowIdx) -> (Option<(RowIdx, i64)>, Option<RowIdx>) {
        let links = run_links(snapshot, row, &Cancel::default()).unwrap();
        (links.waking.map(|(row, ns)| (row, (ns - snapshot.start_ns()) / 1000)), links.same_run)
    }

    #[test]
    fn a_run_and_its_state_lead_to_each_other_and_to_the_run_of_their_waker() {
        let snapshot = snapshot(TRACE);
        let state = |tid, start_us| row(&snapshot, TrackKind::State, tid, start_us);
        let run = |cpu, start_us| row(&snapshot, TrackKind::Cpu, cpu, start_us);
        // The waker ran up to the waking, and then changed its state.
        let of_a = (state(7, 0), run(0, 0));
        assert_eq!(links(&snapshot, state(8, 3)), (Some((of_a.0, 3)), None), "runnable");
        assert_eq!(links(&snapshot, state(8, 5)), (Some((of_a.0, 3)), Some(run(0, 5))), "running");
        assert_eq!(links(&snapshot, run(0, 5)), (Some((of_a.1, 3)), Some(state(8, 5))), "on its CPU");
        let chain = chain(&snapshot, run(0, 5), &Cancel::default()).unwrap();
        let waking = chain.waking.expect("a link");
        assert_eq!((waking.from, waking.to, waking.from_ns == waking.to_ns), (of_a.1, run(0, 5), true));
        assert_eq!(chain.same_run, Some(state(8, 5)));
    }

    #[test]
    fn runs_that_nothing_or_no_thread_woke_have_no_waker() {
        let snapshot = snapshot(TRACE);
        let state = |tid, start_us| row(&snapshot, TrackKind::State, tid, start_us);
        let run = |cpu, start_us| row(&snapshot, TrackKind::Cpu, cpu, start_us);
        // Two runs that start at one time have different threads.
        assert_eq!(links(&snapshot, state(9, 5)), (None, Some(run(1, 5))));
        assert_eq!(links(&snapshot, run(1, 5)), (None, Some(state(9, 5))));
        // An idle CPU has no run, and a preempted thread has no waker.
        assert_eq!(links(&snapshot, run(0, 10)), (None, Some(state(7, 10))));
        assert_eq!(links(&snapshot, run(0, 12)), (None, Some(state(8, 12))));
        assert_eq!(links(&snapshot, state(8, 8)), (None, None));
        let stopped = Cancel::default();
        stopped.cancel();
        assert!(run_links(&snapshot, run(0, 5), &stopped).is_err());
    }

    #[test]
    fn a_sleep_leads_to_the_thread_that_ended_it() {
        let snapshot = snapshot(
            "# tracer: nop
  <idle>-0     (-----) [000] d... 1.000000: sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=a next_pid=7 next_prio=120
  <idle>-0     (-----) [001] d... 1.000001: sched_switch: prev_comm=swapper/1 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=b next_pid=8 next_prio=120
       b-8     (    8) [001] d... 1.000002: sched_switch: prev_comm=b prev_pid=8 prev_prio=120 prev_state=S ==> next_comm=swapper/1 next_pid=0 next_prio=120
       a-7     (    7) [000] d... 1.000005: sched_waking: comm=b pid=8 prio=120 target_cpu=001
  <idle>-0     (-----) [001] d... 1.000006: sched_switch: prev_comm=swapper/1 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=b next_pid=8 next_prio=120
       b-8     (    8) [001] d... 1.000009: sched_switch: prev_comm=b prev_pid=8 prev_prio=120 prev_state=S ==> next_comm=swapper/1 next_pid=0 next_prio=120
",
        );
        let state = |tid, start_us| row(&snapshot, TrackKind::State, tid, start_us);
        let waking = Some((state(7, 0), 5));
        for of_waking in [2, 5, 6] {
            assert_eq!(links(&snapshot, state(8, of_waking)).0, waking, "the state at {of_waking} us");
        }
        assert_eq!(links(&snapshot, state(8, 1)).0, None, "before the sleep");
        let chain = chain(&snapshot, state(8, 2), &Cancel::default()).unwrap();
        let link = chain.waking.expect("a link");
        assert_eq!((link.to, link.from_ns == link.to_ns), (state(8, 2), true), "at the end of the sleep");
    }

    /// Threads and CPUs of two hosts have the same numbers and times.
    #[test]
    fn each_host_has_its_own_runs_and_wakers() {
        let switch = |us: u32, from: u32, to: u32| {
            let state = u32::from(from != 0);
            format!(
                "{us:06}000] H sched_switch: {{ cpu_id = 0 }}, {{ prev_comm = \"t{from}\", prev_tid = {from}, prev_prio = 20, prev_state = {state}, next_comm = \"t{to}\", next_tid = {to}, next_prio = 20 }}"
            )
        };
        let waking = "000003000] H sched_waking: { cpu_id = 0 }, { comm = \"t8\", tid = 8, prio = 20 }".to_owned();
        let lines = [switch(0, 0, 7), waking, switch(4, 7, 8), switch(9, 8, 0)];
        let of_hosts = |line: &String| {
            ["one", "two"].map(|host| format!("[00:00:01.{}\n", line.replace(" H ", &format!(" {host} "))))
        };
        let text: String = lines.iter().flat_map(of_hosts).collect();
        let snapshot = snapshot(&text);
        let rows = |kind: TrackKind, tid: i64, start_us: i64| {
            let is_of_first = |row: &RowIdx| {
                let key = &snapshot.track(snapshot.lane(row.lane).track).key;
                matches!(key.pid, Id::None | Id::Number(_))
            };
            let lanes = (0..snapshot.store().lane_count()).map(LaneIdx);
            let all = lanes.flat_map(|lane| (0..snapshot.lane(lane).rows).map(move |row| RowIdx { lane, row }));
            let is_meant = |row: &RowIdx| {
                let key = &snapshot.track(snapshot.lane(row.lane).track).key;
                let is_track = key.kind == kind && key.tid.is_number(tid);
                is_track && snapshot.row(*row).start_ns - snapshot.start_ns() == start_us * 1000
            };
            let (first, second): (Vec<RowIdx>, Vec<RowIdx>) = all.filter(is_meant).partition(is_of_first);
            assert_eq!((first.len(), second.len()), (1, 1), "{kind:?} {tid} {start_us}");
            [first[0], second[0]]
        };
        let (runs, states, wakers) =
            (rows(TrackKind::Cpu, 0, 4), rows(TrackKind::State, 8, 4), rows(TrackKind::Cpu, 0, 0));
        for host in 0..2 {
            assert_eq!(links(&snapshot, runs[host]), (Some((wakers[host], 3)), Some(states[host])));
            assert_eq!(links(&snapshot, states[host]).1, Some(runs[host]));
        }
    }
}
