//! Tests of recordings of one command, which lack the switches of other threads.

use super::*;

/// Builds a switch on a CPU from a thread of process 7 to another thread.
fn switch(time: u64, cpu: u32, (previous, next): (u32, u32)) -> Vec<u8> {
    let task = |tid: u32| [&[b'a'; 15][..], &[0], &tid.to_le_bytes(), &120u32.to_le_bytes()].concat();
    let raw = [&[0; 8][..], &task(previous), &1u64.to_le_bytes(), &task(next)].concat();
    let thread = [7u32.to_le_bytes(), previous.to_le_bytes()].concat();
    let head = [&1u64.to_le_bytes()[..], &thread, &time.to_le_bytes(), &cpu.to_le_bytes(), &[0; 4]].concat();
    record(9, &[&head[..], &(raw.len() as u32).to_le_bytes(), &raw, &[0; 4]].concat())
}

/// Builds a recording of switches, of one command or of all threads.
fn switches(is_of_command: bool) -> Vec<u8> {
    // Address, thread, time, CPU, raw data.
    let mut attr = attr(2, 70, 0b111 | 1 << 7 | 1 << 10, None);
    let flags = u64::from(is_of_command) << 12;
    attr[8 + 40..8 + 48].copy_from_slice(&flags.to_le_bytes());
    let points = layouts::USUAL.described();
    // Thread 7 leaves CPU 1 for thread 9 of another process, then CPU 0 for its own thread 8.
    let fork: Vec<u8> = [7u32, 7, 8, 7].iter().flat_map(|id| id.to_le_bytes()).collect();
    let fork = record(7, &[&fork[..], &5u64.to_le_bytes()].concat());
    let switched = [switch(10, 1, (7, 9)), switch(20, 0, (7, 8)), switch(30, 0, (8, 9)), switch(60, 1, (7, 9))];
    let records = [&[attr, points, fork][..], &switched].concat().concat();
    [&b"PERFILE2"[..], &16u64.to_le_bytes(), &records].concat()
}

#[test]
fn a_recording_of_one_command_has_no_runs_of_other_threads() {
    let shown = |is_of_command: bool| {
        let reading = read_bytes(&switches(is_of_command)).expect("a capture");
        let runs = reading.events.iter().filter(|event| event.track.kind == TrackKind::Cpu);
        let mut runs: Vec<_> = runs.map(|run| (run.ts_ns, run.value, run.track.slot)).collect();
        runs.sort_unstable();
        (runs, reading.lost())
    };
    assert_eq!(shown(true), (vec![(20, 10, 0)], vec![(Loss::UnrecordedRun, 3)]));
    let all = vec![(10, 50, 1), (20, 10, 0), (30, 30, 0), (60, 0, 1)];
    assert_eq!(shown(false), (all, vec![(Loss::LostSwitch, 1)]));
}
