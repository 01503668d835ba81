//! Tests of the events that switches and wakeups produce.

use super::*;
use crate::formats::{BatchSink, ChunkLimits, ReadError};
use crate::model::args::Detail;
use crate::model::{Batch, Metadata};

#[derive(Default)]
struct BatchList(Vec<Batch>);

impl BatchSink for BatchList {
    fn accept(&mut self, batch: Batch) -> Result<(), ReadError> {
        self.0.push(batch);
        Ok(())
    }
}

const POS: SourcePos = SourcePos::Offset(0);

fn task(tid: i64, name: &str) -> SchedulerTask<'_> {
    SchedulerTask { tid, name: name.as_bytes(), priority: Some(120) }
}

fn switch<'a>(ts_ns: i64, previous: SchedulerTask<'a>, letters: &str, next: SchedulerTask<'a>) -> Switch<'a> {
    let previous_state = TaskState::from_letters(letters.as_bytes());
    Switch { ts_ns, cpu: 2, previous: Some(previous), previous_state, next }
}

/// Time, track kind, track tid, name, duration, flags.
type Seen = (i64, TrackKind, String, String, u64, EventFlags);

type SchedulerCall<'f> = &'f dyn Fn(&mut Scheduler, &mut BatchBuilder);

/// Returns the events of all calls, with a batch after each, so that nothing depends on batch boundaries.
fn fed(feed: &[SchedulerCall<'_>]) -> (Vec<Seen>, Vec<Batch>) {
    let (mut scheduler, mut batch, mut taken) =
        (Scheduler::default(), BatchBuilder::new(ChunkLimits::default()), BatchList::default());
    for step in feed {
        step(&mut scheduler, &mut batch);
        batch.flush(&mut taken).unwrap();
    }
    scheduler.finish(&mut batch, POS);
    batch.flush(&mut taken).unwrap();
    let mut seen: Vec<Seen> = Vec::new();
    for batch in &taken.0 {
        for event in &batch.chunk.events {
            let key = &batch.tracks[event.track.index()];
            let name = batch.names[event.name.index()].text.to_string();
            let flags = event.flags.without(EventFlags::LATE);
            seen.push((event.ts_ns, key.kind, key.tid.to_string(), name, event.value, flags));
        }
    }
    seen.sort_by_key(|seen| (seen.1 != TrackKind::Cpu, seen.0));
    (seen, taken.0)
}

#[test]
fn a_switch_ends_the_run_before_it_and_sets_the_states_of_both_threads() {
    let idle = task(0, "swapper/2");
    let (seen, batches) = fed(&[
        &|scheduler, _| scheduler.set_process(7, 5),
        &|scheduler, batch| scheduler.switch(batch, &switch(10, idle, "R", task(7, "a")), POS),
        &|scheduler, batch| scheduler.switch(batch, &switch(30, task(7, "a"), "S", task(8, "b")), POS),
        &|scheduler, batch| scheduler.wake(batch, 35, &task(7, "a"), Some(8), POS),
        &|scheduler, batch| scheduler.switch(batch, &switch(40, task(8, "b"), "R+", idle), POS),
        &|scheduler, batch| scheduler.switch(batch, &switch(50, idle, "R", task(7, "renamed")), POS),
        &|scheduler, batch| scheduler.wake(batch, 90, &task(8, "b"), None, POS),
    ]);
    let (none, awake) = (EventFlags::NONE, EventFlags::AWAKE);
    let (run, wakes) = (EventFlags::PLACED, awake.with(EventFlags::FROM_REST));
    let last = run.with(EventFlags::UNFINISHED);
    let expected = [
        (10, TrackKind::Cpu, "2", "a", 20, run),
        (30, TrackKind::Cpu, "2", "b", 10, run),
        (50, TrackKind::Cpu, "2", "renamed", 40, last),
        (10, TrackKind::State, "7", "Running", 0, awake),
        (30, TrackKind::State, "7", "Sleeping", 0, none),
        (30, TrackKind::State, "8", "Running", 0, awake),
        (35, TrackKind::State, "7", "Runnable", 0, wakes),
        (40, TrackKind::State, "8", "Runnable (preempted)", 0, awake),
        (50, TrackKind::State, "7", "Running", 0, awake),
        (90, TrackKind::State, "8", "Runnable", 0, wakes),
    ];
    assert_eq!(seen, expected.map(|(ts, kind, tid, name, dur, flags)| (ts, kind, tid.into(), name.into(), dur, flags)));
    let metadata: Vec<_> = batches.iter().flat_map(|batch| &batch.metadata).collect();
    let named =
        |pid, tid, name: &str| Metadata::KernelName { pid: Id::Number(pid), tid: Id::Number(tid), name: name.into() };
    assert_eq!(metadata, [&named(5, 7, "a"), &named(8, 8, "b"), &named(5, 7, "renamed")]);
    let args = |batch: &Batch| -> Vec<String> {
        let of = |event: &Event| Detail::decode(batch.chunk.details.blob(event.detail)).args_json.to_owned();
        batch.chunk.events.iter().filter(|event| event.kind == EventKind::State).map(of).collect()
    };
    let woken: Vec<String> = batches.iter().flat_map(args).filter(|args| !args.is_empty()).collect();
    assert_eq!(woken, [r#"{"waker_pid":8,"waker_tid":8}"#], "the process of 8 is not known; who woke it is not");
    let first_run = batches.iter().flat_map(|batch| &batch.chunk.details.bytes).copied().skip(1).collect::<Vec<u8>>();
    assert!(first_run.starts_with(br#"{"pid":5,"tid":7,"prio":120,"end_state":"S"}"#));
}

#[test]
fn a_switch_from_another_thread_than_the_one_that_runs_is_counted() {
    let (seen, batches) = fed(&[
        &|scheduler, batch| scheduler.switch(batch, &switch(10, task(0, ""), "R", task(7, "a")), POS),
        &|scheduler, batch| scheduler.switch(batch, &switch(30, task(9, "c"), "D", task(0, "")), POS),
    ]);
    let mismatched: u64 = batches.iter().map(|batch| batch.losses.count(Loss::LostSwitch)).sum();
    assert_eq!(mismatched, 1);
    assert_eq!((seen[0].0, &*seen[0].3, seen[0].4), (10, "a", 20));
    let states: Vec<_> = seen[1..].iter().map(|state| (state.0, &*state.2, &*state.3)).collect();
    assert_eq!(states, [(10, "7", "Running"), (30, "7", "Unknown"), (30, "9", "Uninterruptible sleep")]);
}

#[test]
fn a_lost_switch_keeps_the_state_of_a_thread_that_runs_on_another_cpu() {
    let on = |cpu, switch: Switch<'static>| Switch { cpu, ..switch };
    let (seen, _) = fed(&[
        &|scheduler, batch| scheduler.switch(batch, &on(2, switch(10, task(0, ""), "R", task(7, "a"))), POS),
        &|scheduler, batch| scheduler.switch(batch, &on(3, switch(20, task(0, ""), "R", task(7, "a"))), POS),
        &|scheduler, batch| scheduler.switch(batch, &on(2, switch(30, task(9, "c"), "S", task(0, ""))), POS),
        &|scheduler, batch| scheduler.switch(batch, &on(3, switch(40, task(7, "a"), "S", task(0, ""))), POS),
    ]);
    let states = seen.iter().filter(|seen| seen.1 == TrackKind::State && seen.2 == "7");
    let states: Vec<_> = states.map(|state| (state.0, &*state.3)).collect();
    assert_eq!(states, [(10, "Running"), (20, "Running"), (40, "Sleeping")]);
}

/// The process, the tid and the name of each state.
fn states_by_process(batches: &[Batch]) -> Vec<(String, String, String)> {
    let of = |batch: &Batch| -> Vec<_> {
        let states = batch.chunk.events.iter().filter(|event| event.kind == EventKind::State);
        let named = states.map(|event| {
            let key = &batch.tracks[event.track.index()];
            (key.pid.to_string(), key.tid.to_string(), batch.names[event.name.index()].text.to_string())
        });
        named.collect()
    };
    batches.iter().flat_map(of).collect()
}

#[test]
fn a_thread_that_runs_before_its_process_is_known_is_one_thread() {
    let (mut scheduler, mut batch, mut taken) =
        (Scheduler::default(), BatchBuilder::new(ChunkLimits::default()), BatchList::default());
    scheduler.switch(&mut batch, &switch(10, task(0, ""), "R", task(7, "a")), POS);
    scheduler.learn_process(&mut batch, 7, 5);
    scheduler.switch(&mut batch, &switch(30, task(7, "a"), "S", task(0, "")), POS);
    batch.flush(&mut taken).unwrap();
    let state = |name: &str| ("5".to_owned(), "7".to_owned(), name.to_owned());
    assert_eq!(states_by_process(&taken.0), [state("Running"), state("Sleeping")]);
    let [tid, before, pid] = [7, 7, 5].map(Id::Number);
    assert!(taken.0[0].metadata.contains(&Metadata::ThreadProcess { tid, before, pid }));
}

#[test]
fn a_thread_whose_process_is_stated_before_its_events_does_not_move() {
    let (_, batches) = fed(&[
        &|scheduler, batch| scheduler.learn_process(batch, 7, 5),
        &|scheduler, batch| scheduler.learn_process(batch, 7, 7),
        &|scheduler, batch| scheduler.learn_process(batch, 7, 5),
        &|scheduler, batch| scheduler.wake(batch, 20, &task(7, "b"), None, POS),
    ]);
    assert_eq!(states_by_process(&batches), [("5".to_owned(), "7".to_owned(), "Runnable".to_owned())]);
    assert!(batches.iter().flat_map(|batch| &batch.metadata).all(|metadata| !metadata.is_move()));
}

#[test]
fn a_new_thread_of_the_id_of_another_ends_the_state_of_the_former() {
    let (_, batches) = fed(&[
        &|scheduler, batch| scheduler.learn_process(batch, 7, 5),
        &|scheduler, batch| scheduler.switch(batch, &switch(10, task(7, "a"), "S", task(0, "")), POS),
        &|scheduler, _| scheduler.set_process(7, 6),
        &|scheduler, batch| scheduler.wake(batch, 20, &task(7, "b"), None, POS),
    ]);
    let state = |pid: &str, name: &str| (pid.to_owned(), "7".to_owned(), name.to_owned());
    assert_eq!(states_by_process(&batches), [state("5", "Sleeping"), state("5", ""), state("6", "Runnable")]);
}

#[test]
fn a_thread_that_ends_is_in_no_state() {
    let (seen, _) = fed(&[&|scheduler, batch| {
        scheduler.switch(batch, &switch(10, task(7, "a"), "X", task(0, "")), POS);
    }]);
    assert_eq!((seen.len(), &*seen[0].3), (1, ""));
}

#[test]
fn states_are_read_from_letters_and_from_the_bits_of_old_and_new_kernels() {
    for letters in ["S", "D", "R", "R+", "T", "t", "X", "Z", "P", "I", "DK", "S+"] {
        assert_eq!(TaskState::from_letters(letters.as_bytes()).unwrap().letters(), letters);
    }
    assert_eq!(TaskState::from_letters(b"D|K").unwrap().letters(), "DK");
    assert_eq!(TaskState::from_letters(b"?"), None);
    assert_eq!(TaskState::from_letters(b""), None);
    let new = [(0, "R"), (1, "S"), (2, "D"), (0x100, "R+"), (0x80, "I"), (0x40, "P"), (0x10, "X")];
    assert!(new.iter().all(|&(bits, letters)| TaskState::from_bits(bits, false).letters() == letters));
    let old = [(0, "R"), (1, "S"), (2, "D"), (2048, "R+"), (4096, "R+"), (0x82, "DK"), (512, "P"), (64, "x")];
    assert!(old.iter().all(|&(bits, letters)| TaskState::from_bits(bits, true).letters() == letters));
}

#[test]
fn a_thread_that_enters_an_unknown_state_no_longer_runs() {
    let idle = task(0, "swapper/2");
    let (seen, batches) = fed(&[
        &|scheduler, batch| scheduler.switch(batch, &switch(10, idle, "R", task(7, "a")), POS),
        &|scheduler, batch| scheduler.switch(batch, &switch(20, task(7, "a"), "?", task(8, "b")), POS),
        &|scheduler, batch| scheduler.switch(batch, &switch(30, task(8, "b"), "S", task(7, "a")), POS),
        &|scheduler, batch| scheduler.switch(batch, &switch(40, task(7, "a"), "S", idle), POS),
    ]);
    let states: Vec<_> = seen.iter().filter(|seen| seen.1 == TrackKind::State && seen.2 == "7").collect();
    let states: Vec<_> = states.into_iter().map(|state| (state.0, &*state.3)).collect();
    assert_eq!(states, [(10, "Running"), (20, "Unknown"), (30, "Running"), (40, "Sleeping")]);
    assert!(batches.iter().all(|batch| batch.losses.is_empty()));
}
