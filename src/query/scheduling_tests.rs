//! Scheduling tables against an oracle: a loop over all states and runs.

use std::collections::BTreeMap;

use super::Snapshot;
use super::filter::Filter;
use super::ledger_traces::{RandomSequence, SMALL, ranges};
use super::matcher::Matcher;
use super::scheduling::{ScheduledKind, ScheduledTime, ScheduledUnit, Scheduling, ThreadState, scheduling};
use super::scheduling_order::{ScheduledFilter, SchedulingColumn, order};
use super::scope::Scope;
use crate::base::cancel::Cancel;
use crate::base::progress::Progress;
use crate::model::{Id, Metadata, NameIdx, Names, Registry, TrackIdx, TrackKey, TrackKind};
use crate::store::ledger::LedgerShape;
use crate::store::ledger_build::LedgerContext;
use crate::store::path_ledger::PathShape;
use crate::store::sample_ledger::SampleShape;
use crate::store::{LaneKind, Meta, Row, Store, StoreWriter, Summary};

/// Names and letters of states, and the expected class.
const STATES: [(&str, &str, &str); 8] = [
    ("Running", "Running", "running"),
    ("Runnable", "R", "runnable"),
    ("Runnable (preempted)", "R+", "runnable"),
    ("Sleeping", "S", "sleeping"),
    ("Idle", "I", "sleeping"),
    ("Uninterruptible sleep", "DK", "uninterruptible"),
    ("Stopped", "T", "other"),
    ("Unknown", "", "other"),
];

/// A state of a thread, or a run on a CPU.
#[derive(Debug, Clone, Copy)]
struct Stay {
    track: u32,
    start_ns: i64,
    dur_ns: u64,
    /// Index of the state; arbitrary for a run.
    state: usize,
}

/// The tracks of a trace: thread states first, then spans, then CPUs.
struct Machine {
    threads: u32,
    cpus: u32,
    stays: Vec<Stay>,
}

impl Machine {
    fn new(threads: u32, cpus: u32, stays_each: u64, seed: u64) -> Self {
        let mut random = RandomSequence(seed | 1);
        let mut stays = Vec::new();
        for track in (0..threads).chain(2 * threads..2 * threads + cpus) {
            let mut now_ns = random.below(50) as i64 - 20;
            // The last CPU is idle except for one run.
            let count = if track + 1 == 2 * threads + cpus { 1 } else { stays_each / u64::from(1 + track % 3) };
            for number in 0..count {
                now_ns += (random.below(2) * random.below(9)) as i64;
                // Of the states of a thread, only the last may take no time, as it has not ended.
                let least_ns = u64::from(track < threads && number + 1 < count);
                let dur_ns = (random.below(40) * random.below(7)).max(least_ns);
                stays.push(Stay { track, start_ns: now_ns, dur_ns, state: random.below(8) as usize });
                now_ns += dur_ns as i64;
            }
        }
        Self { threads, cpus, stays }
    }

    fn process_of(thread: u32) -> i64 {
        i64::from(100 + thread / 3)
    }

    fn snapshot(&self, shape: Option<LedgerShape>) -> Snapshot {
        let (mut names, mut registry) = (Names::default(), Registry::default());
        let names_of = STATES.map(|(name, letters, _)| names.intern(name, Some(letters)));
        let ran = names.intern("a thread", None);
        for kind in [TrackKind::State, TrackKind::Thread] {
            for thread in 0..self.threads {
                let (pid, tid) = (Id::Number(Self::process_of(thread)), Id::Number(thread.into()));
                registry.track(&TrackKey::new(kind, pid.clone(), tid.clone()));
                registry.apply(&Metadata::ThreadName { pid, tid, name: format!("thread {}", thread % 2).into() });
            }
        }
        for cpu in 0..self.cpus {
            // The largest slot appears first.
            let slot = self.cpus - 1 - cpu;
            let (tid, name) = (Id::Number(slot.into()), format!("CPU {slot}").into());
            registry.track(&TrackKey { kind: TrackKind::Cpu, pid: Id::None, tid, name, slot });
        }
        let file = tempfile::tempfile().unwrap();
        let mut writer = StoreWriter::new(file.try_clone().unwrap(), 1 << 24).unwrap();
        for track in 0..2 * self.threads + self.cpus {
            let lane = writer.add_lane(TrackIdx(track), LaneKind::Spans, 0).unwrap();
            for stay in self.stays.iter().filter(|stay| stay.track == track) {
                let name: NameIdx = if track < self.threads { names_of[stay.state] } else { ran };
                let (start_ns, value) = (stay.start_ns, stay.dur_ns);
                writer.push(lane, Row { start_ns, value, detail: 0, name: name.0 }).unwrap();
            }
        }
        let ends = self.stays.iter().map(|stay| stay.start_ns + stay.dur_ns as i64);
        let (start_ns, end_ns) = (self.stays.iter().map(|stay| stay.start_ns).min(), ends.max());
        let summary = Summary { start_ns: start_ns.unwrap_or(0), end_ns: end_ns.unwrap_or(0), ..Summary::default() };
        let meta = Meta { names: names.into(), tracks: registry.into_tables(), summary, ..Meta::default() };
        let (cancel, progress) = (Cancel::default(), Progress::default());
        let (samples, paths, budget_bytes) = (SampleShape::default(), PathShape::default(), 1 << 20);
        let context = shape.map(|shape| LedgerContext {
            shape,
            samples,
            paths,
            budget_bytes,
            started: std::time::Instant::now(),
            cancel: &cancel,
            progress: &progress,
        });
        writer.finish_with_ledger(meta, context.as_ref(), |_| {}).unwrap();
        Snapshot::new(Store::from_file(&file, "test".as_ref()).unwrap().into())
    }

    /// Returns, by track, the time, count and longest of each state class, by a loop over a range.
    fn expected(&self, from_ns: i64, to_ns: i64) -> BTreeMap<u32, BTreeMap<&'static str, (u64, u64, u64)>> {
        let mut expected: BTreeMap<u32, BTreeMap<_, (u64, u64, u64)>> = BTreeMap::new();
        for stay in &self.stays {
            let end_ns = stay.start_ns + stay.dur_ns as i64;
            let reaches_in = stay.start_ns < to_ns && (stay.start_ns >= from_ns || end_ns > from_ns);
            if !reaches_in {
                continue;
            }
            let word = if stay.track < self.threads { STATES[stay.state].2 } else { "running" };
            let sums = expected.entry(stay.track).or_default().entry(word).or_default();
            sums.0 += (end_ns.min(to_ns) - stay.start_ns.max(from_ns)).max(0) as u64;
            sums.1 += u64::from(stay.dur_ns > 0 || stay.track >= self.threads);
            sums.2 = sums.2.max(stay.dur_ns);
        }
        expected
    }
}

fn scheduling_of(snapshot: &Snapshot, scope: &Scope) -> Scheduling {
    scheduling(snapshot, scope, &Cancel::default(), &Progress::default()).unwrap()
}

/// Returns the numbers of a row in the form of [`Machine::expected`].
fn numbers(row: &ScheduledTime) -> [u64; 8] {
    let [running, runnable, sleeping, uninterruptible, other] = ThreadState::ALL.map(|state| row.time_ns(state));
    let (slices, run, wait) = (row.slices, row.longest_run_ns, row.longest_wait_ns);
    [running, runnable, sleeping, uninterruptible, other, slices, run, wait]
}

fn expected_numbers(sums: &BTreeMap<&'static str, (u64, u64, u64)>) -> [u64; 8] {
    let of = |word| sums.get(word).copied().unwrap_or_default();
    let times = ["running", "runnable", "sleeping", "uninterruptible", "other"].map(|word| of(word).0);
    let [running, runnable, sleeping, uninterruptible, other] = times;
    let (ran, waited) = (of("running"), of("runnable"));
    [running, runnable, sleeping, uninterruptible, other, ran.1, ran.2, waited.2]
}

#[test]
fn times_are_those_of_a_loop_over_all_states_with_and_without_a_ledger() {
    let mut random = RandomSequence(77);
    for (threads, cpus, stays) in [(1, 1, 90), (7, 3, 60), (20, 9, 25)] {
        let machine = Machine::new(threads, cpus, stays, stays);
        let stores = [machine.snapshot(None), machine.snapshot(Some(SMALL))];
        assert!(stores[1].store().ledger().is_some());
        for (from_ns, to_ns) in ranges(&stores[1], &mut random, 24) {
            let expected = machine.expected(from_ns.unwrap_or(i64::MIN), to_ns.unwrap_or(i64::MAX));
            for snapshot in &stores {
                let found = scheduling_of(snapshot, &Scope::from_range(from_ns, to_ns));
                assert!(found.is_in_trace);
                let what = format!("{threads} threads in {from_ns:?}..{to_ns:?}");
                let of_threads: BTreeMap<u32, [u64; 8]> =
                    found.rows(ScheduledKind::Threads).iter().map(|row| (track(row), numbers(row))).collect();
                let wanted = expected.iter().filter(|(track, _)| **track < threads);
                let wanted: BTreeMap<_, _> = wanted.map(|(track, sums)| (*track, expected_numbers(sums))).collect();
                assert_eq!(of_threads, wanted, "{what}");
                // A process is the sum of its threads.
                let mut of_processes: BTreeMap<i64, ([u64; 8], u32)> = BTreeMap::new();
                for (thread, numbers) in &wanted {
                    let (sums, count) = of_processes.entry(Machine::process_of(*thread)).or_default();
                    sums.iter_mut().zip(numbers).take(6).for_each(|(sum, number)| *sum += number);
                    sums.iter_mut().zip(numbers).skip(6).for_each(|(most, number)| *most = (*most).max(*number));
                    *count += 1;
                }
                let found_processes: BTreeMap<i64, ([u64; 8], u32)> = found
                    .rows(ScheduledKind::Processes)
                    .iter()
                    .map(|row| (process_id(snapshot, row), (numbers(row), row.threads)))
                    .collect();
                assert_eq!(found_processes, of_processes, "{what}");
                // CPUs are listed by number, including idle ones.
                let slots = (0..cpus).map(|slot| {
                    let sums = expected.get(&(2 * threads + cpus - 1 - slot)).cloned().unwrap_or_default();
                    expected_numbers(&sums)
                });
                let found_cpus: Vec<[u64; 8]> = found.rows(ScheduledKind::Cpus).iter().map(numbers).collect();
                assert_eq!(found_cpus, slots.collect::<Vec<_>>(), "{what}");
            }
        }
    }
}

fn track(row: &ScheduledTime) -> u32 {
    match row.unit {
        ScheduledUnit::Thread(track) | ScheduledUnit::Cpu(track) => track.0,
        ScheduledUnit::Process(_) => panic!("no track"),
    }
}

fn process_id(snapshot: &Snapshot, row: &ScheduledTime) -> i64 {
    let ScheduledUnit::Process(process) = row.unit else { panic!("no process") };
    match snapshot.tracks().processes[process.index()].pid {
        Id::Number(pid) => pid,
        _ => panic!("no number"),
    }
}

#[test]
fn a_thread_is_in_scope_with_its_states_or_with_its_spans_and_rows_are_not_filtered() {
    let machine = Machine::new(6, 2, 20, 5);
    let snapshot = machine.snapshot(Some(SMALL));
    let threads = |scope: &Scope| -> Vec<u32> {
        scheduling_of(&snapshot, scope).rows(ScheduledKind::Threads).iter().map(track).collect()
    };
    assert_eq!(threads(&Scope::default()), [0, 1, 2, 3, 4, 5]);
    // The states of 2, the spans of 4, a CPU.
    let scope = Scope::default().with_tracks(&[TrackIdx(2), TrackIdx(6 + 4), TrackIdx(13)]);
    assert_eq!(threads(&scope), [2, 4]);
    assert_eq!(scheduling_of(&snapshot, &scope).rows(ScheduledKind::Cpus).len(), 1);
    let filter = |text: &str| Scope::from_matcher(Matcher::new(&snapshot, &Filter::parse(text).unwrap()));
    assert_eq!(threads(&filter("process:101")), [3, 4, 5]);
    assert_eq!(threads(&filter("dur>1h Sleeping")), threads(&Scope::default()));
    // An empty scope.
    let nothing = Scope::default().with_tracks(&[]);
    assert!(threads(&nothing).is_empty() && scheduling_of(&snapshot, &nothing).is_in_trace);
    let before = Scope::from_range(None, Some(snapshot.start_ns()));
    let found = scheduling_of(&snapshot, &before);
    assert_eq!((found.range_ns, threads(&before).len(), found.rows(ScheduledKind::Cpus).len()), (0, 0, 2));
    assert_eq!(found.utilisation(&found.rows(ScheduledKind::Cpus)[0]), None);
}

#[test]
fn a_trace_without_scheduling_has_none() {
    let found = scheduling_of(&Machine::new(0, 0, 0, 1).snapshot(None), &Scope::default());
    assert!(!found.is_in_trace && found.rows(ScheduledKind::Threads).is_empty());
}

#[test]
fn orders_are_those_of_a_stable_sort_and_words_are_of_threads_and_processes() {
    let machine = Machine::new(30, 12, 12, 9);
    let snapshot = machine.snapshot(None);
    let found = scheduling_of(&snapshot, &Scope::default());
    let filtered = |kind, by, filter| order(&snapshot, &found, kind, by, filter, &Cancel::default()).unwrap();
    let ordered = |kind, by, words| filtered(kind, by, ScheduledFilter { words, process: None });
    let running = SchedulingColumn::Time(ThreadState::Running);
    let by_time = ordered(ScheduledKind::Threads, (running, false), "");
    let rows = found.rows(ScheduledKind::Threads);
    let mut expected: Vec<u32> = (0..rows.len() as u32).collect();
    expected.sort_by_key(|&row| (u64::MAX - rows[row as usize].time_ns(ThreadState::Running), row));
    assert_eq!(by_time, expected);
    let process = Some(snapshot.track(TrackIdx(4)).process);
    let mut of_process = filtered(ScheduledKind::Threads, (running, false), ScheduledFilter { words: "", process });
    of_process.sort_unstable();
    assert_eq!(of_process.iter().map(|&row| track(&rows[row as usize])).collect::<Vec<_>>(), [3, 4, 5]);
    let cpus = ordered(ScheduledKind::Cpus, (SchedulingColumn::Name, true), "");
    assert_eq!(cpus, (0..12).collect::<Vec<_>>(), "10 is after 2");
    let named = ordered(ScheduledKind::Threads, (SchedulingColumn::Name, true), "thread 1");
    assert_eq!(named, (0..30).filter(|row| row % 2 == 1).collect::<Vec<_>>());
    // Process 109 has threads 27 to 29.
    assert_eq!(ordered(ScheduledKind::Threads, (SchedulingColumn::Process, false), "109"), [27, 28, 29]);
    assert_eq!(ordered(ScheduledKind::Processes, (SchedulingColumn::Threads, false), "nothing"), [0; 0]);
    let stopped = Cancel::default();
    stopped.cancel();
    assert!(
        order(&snapshot, &found, ScheduledKind::Threads, (running, true), ScheduledFilter::default(), &stopped)
            .is_err()
    );
    assert!(scheduling(&snapshot, &Scope::default(), &stopped, &Progress::default()).is_err());
}
