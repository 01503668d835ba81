//! Tracepoints of kernels whose fields have other offsets: real-time kernels have more common fields, and 32-bit
//! kernels a shorter state.

use super::*;

/// Offsets of the fields of `sched_switch`, and the bytes of the state.
pub(super) struct SwitchLayout {
    previous: usize,
    state: usize,
    state_bytes: usize,
    next: usize,
}

pub(super) const USUAL: SwitchLayout = SwitchLayout { previous: 8, state: 32, state_bytes: 8, next: 40 };
const REAL_TIME: SwitchLayout = SwitchLayout { previous: 12, state: 40, state_bytes: 8, next: 48 };
const BITS_32: SwitchLayout = SwitchLayout { previous: 8, state: 32, state_bytes: 4, next: 36 };

fn line(declared: &str, offset: usize, bytes: usize, is_signed: bool) -> String {
    format!("\tfield:{declared};\toffset:{offset};\tsize:{bytes};\tsigned:{};\n", u8::from(is_signed))
}

/// Returns the lines that every tracepoint has.
fn common() -> String {
    [
        line("unsigned short common_type", 0, 2, false),
        line("unsigned char common_flags", 2, 1, false),
        line("unsigned char common_preempt_count", 3, 1, false),
        line("int common_pid", 4, 4, true),
    ]
    .concat()
}

impl SwitchLayout {
    /// Builds the description of `sched_switch`, whose id is 70.
    pub(super) fn described(&self) -> Vec<u8> {
        let task = |which: &str, offset: usize| {
            [
                line(&format!("char {which}_comm[16]"), offset, 16, false),
                line(&format!("pid_t {which}_pid"), offset + 16, 4, true),
                line(&format!("int {which}_prio"), offset + 20, 4, true),
            ]
            .concat()
        };
        let state = line("long prev_state", self.state, self.state_bytes, true);
        let fields = [common(), task("prev", self.previous), state, task("next", self.next)].concat();
        described(&[("sched", "sched_switch", 70, fields)])
    }

    /// Builds a recording of switches from thread 8 to 9 and back, after which 8 sleeps.
    fn recording(&self, description: &[u8]) -> Vec<u8> {
        let raw = |previous: u32, state: u8, next: u32| {
            let mut raw = vec![0; self.next + 24];
            for (offset, tid) in [(self.previous, previous), (self.next, next)] {
                raw[offset] = b'a';
                raw[offset + 16..offset + 20].copy_from_slice(&tid.to_le_bytes());
                raw[offset + 20] = 120;
            }
            raw[self.state] = state;
            raw
        };
        let switched = |time: u64, raw: &[u8]| {
            let ids = [7u32.to_le_bytes(), 8u32.to_le_bytes()].concat();
            let head = [&0u64.to_le_bytes()[..], &ids, &time.to_le_bytes(), &[0; 8]].concat();
            record(9, &[&head[..], &(raw.len() as u32).to_le_bytes(), raw, &[0; 4]].concat())
        };
        // Address, thread, time, CPU, raw data.
        let attr = attr(2, 70, 0b111 | 1 << 7 | 1 << 10, None);
        let records = [switched(10, &raw(8, 2, 9)), switched(30, &raw(9, 0, 8)), switched(60, &raw(8, 1, 0))].concat();
        [&b"PERFILE2"[..], &16u64.to_le_bytes(), &attr, description, &records].concat()
    }
}

#[test]
fn switches_are_the_same_wherever_the_kernel_has_their_fields() {
    let shown = |layout: &SwitchLayout| {
        let reading = read_bytes(&layout.recording(&layout.described())).expect("a capture");
        let scheduling = reading.events.iter().filter(|event| event.track.kind != TrackKind::Thread);
        let scheduling =
            scheduling.map(|event| (event.ts_ns, event.value, event.track.tid.clone(), event.name.clone()));
        (scheduling.collect::<Vec<_>>(), reading.lost())
    };
    let (usual, losses) = shown(&USUAL);
    let runs: Vec<_> = usual.iter().filter(|event| event.3 == "a").map(|event| (event.0, event.1)).collect();
    assert_eq!((runs, losses), (vec![(10, 20), (30, 30)], vec![]));
    assert!(usual.iter().any(|event| event.3.starts_with("Sleeping")), "{usual:?}");
    for layout in [REAL_TIME, BITS_32] {
        assert_eq!(shown(&layout), shown(&USUAL));
    }
}

#[test]
fn calls_have_the_number_of_the_field_that_the_kernel_describes() {
    for offset in [8, 16] {
        let fields = [common(), line("long id", offset, 8, true), line("long ret", offset + 8, 8, true)].concat();
        let attr = |number: u64| attr(2, number, 1 << 16 | 0b111 | 1 << 10, Some(number));
        let called = |tracepoint: u64, time: u64, number: u64| {
            let thread = [7u32.to_le_bytes(), 8u32.to_le_bytes()].concat();
            let mut raw = vec![0; offset + 16];
            raw[offset..offset + 8].copy_from_slice(&number.to_le_bytes());
            let head = [&tracepoint.to_le_bytes()[..], &0u64.to_le_bytes(), &thread, &time.to_le_bytes()].concat();
            record(9, &[&head[..], &(raw.len() as u32).to_le_bytes(), &raw, &[0; 4]].concat())
        };
        let points = ["sys_enter", "sys_exit"].into_iter().zip([70, 71]);
        let points: Vec<_> = points.map(|(name, id)| ("raw_syscalls", name, id, fields.clone())).collect();
        let records = [attr(70), attr(71), described(&points), called(70, 10, 3), called(71, 20, 3)].concat();
        let bytes = [&b"PERFILE2"[..], &16u64.to_le_bytes(), &records].concat();
        let reading = read_bytes(&bytes).expect("a capture");
        let names: Vec<_> = reading.events.iter().map(|event| &*event.name).collect();
        assert_eq!(names, ["syscall 3", "syscall 3"], "{offset}");
        assert_eq!(reading.lost(), []);
    }
}
