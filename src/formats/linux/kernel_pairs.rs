//! Pairs of kernel events that start and end a span, in text and in `perf.data`: interrupts, work, file systems, and
//! the entry and exit of a function that an fprobe traces. Names and tracks are the same as in Perfetto. A span is
//! added at its end. An event without its partner is an instant on its thread, since recordings often have only one of
//! the two.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;

use crate::formats::output::args::push_quoted;
use crate::formats::output::batch::BatchBuilder;
use crate::model::{Event, EventKind, Id, SourcePos, TrackKey, TrackKind};

/// Limit for starts that wait for their ends: one per CPU, or per thread that works.
const OPEN_MAX: usize = 1 << 16;

/// Limit for the starts of one function that wait on a thread, since it may call itself. More are starts without ends.
const RECURSION_MAX: usize = 64;

/// Limit for the bytes of these starts, whose arguments may be long in a damaged trace.
const OPEN_BYTES_MAX: usize = 16 << 20;

/// Softirqs of Linux, by number.
pub(crate) const SOFTIRQS: &[(u64, &str)] = &[
    (0, "HI"),
    (1, "TIMER"),
    (2, "NET_TX"),
    (3, "NET_RX"),
    (4, "BLOCK"),
    (5, "IRQ_POLL"),
    (6, "TASKLET"),
    (7, "SCHED"),
    (8, "HRTIMER"),
    (9, "RCU"),
];

#[derive(Debug)]
pub(crate) struct KernelPair {
    /// Group of the events, as `perf` prints it.
    group: &'static [u8],
    begin: &'static [u8],
    end: &'static [u8],
    pub(crate) label: PairLabel,
    category: &'static str,
    /// Name of its track of a CPU, before the number; empty if its spans are on their threads.
    track: &'static str,
}

/// The name of a span.
#[derive(Debug, Clone, Copy)]
pub(crate) enum PairLabel {
    /// The name of the handler of an interrupt.
    Irq,
    Softirq,
    /// The function of a work item.
    Function,
    /// The function of a probe, which is the name of its events without an ending.
    Probe,
    Fixed(&'static str),
}

/// The probes of functions, `f__entry` and `f__exit`, as the kernel names them.
const PROBE: KernelPair = KernelPair {
    group: b"fprobes",
    begin: b"__entry",
    end: b"__exit",
    label: PairLabel::Probe,
    category: "fprobes",
    track: "",
};

const PAIRS: &[KernelPair] = &[
    KernelPair {
        group: b"irq",
        begin: b"irq_handler_entry",
        end: b"irq_handler_exit",
        label: PairLabel::Irq,
        category: "irq",
        track: "Irq Cpu ",
    },
    KernelPair {
        group: b"irq",
        begin: b"softirq_entry",
        end: b"softirq_exit",
        label: PairLabel::Softirq,
        category: "irq",
        track: "SoftIrq Cpu ",
    },
    KernelPair {
        group: b"irq_vectors",
        begin: b"local_timer_entry",
        end: b"local_timer_exit",
        label: PairLabel::Fixed("IRQ (LocalTimer)"),
        category: "irq",
        track: "Irq Cpu ",
    },
    KernelPair {
        group: b"workqueue",
        begin: b"workqueue_execute_start",
        end: b"workqueue_execute_end",
        label: PairLabel::Function,
        category: "workqueue",
        track: "",
    },
    KernelPair {
        group: b"ipi",
        begin: b"ipi_entry",
        end: b"ipi_exit",
        label: PairLabel::Fixed("IPI"),
        category: "irq",
        track: "Ipi Cpu ",
    },
    KernelPair {
        group: b"timer",
        begin: b"hrtimer_expire_entry",
        end: b"hrtimer_expire_exit",
        label: PairLabel::Fixed("hrtimer_expire"),
        category: "timer",
        track: "Irq Cpu ",
    },
    KernelPair {
        group: b"ext4",
        begin: b"ext4_sync_file_enter",
        end: b"ext4_sync_file_exit",
        label: PairLabel::Fixed("ext4_sync_file"),
        category: "ext4",
        track: "",
    },
    KernelPair {
        group: b"ext4",
        begin: b"ext4_da_write_begin",
        end: b"ext4_da_write_end",
        label: PairLabel::Fixed("ext4_da_write"),
        category: "ext4",
        track: "",
    },
    KernelPair {
        group: b"ext4",
        begin: b"ext4_unlink_enter",
        end: b"ext4_unlink_exit",
        label: PairLabel::Fixed("ext4_unlink"),
        category: "ext4",
        track: "",
    },
    KernelPair {
        group: b"ext4",
        begin: b"ext4_truncate_enter",
        end: b"ext4_truncate_exit",
        label: PairLabel::Fixed("ext4_truncate"),
        category: "ext4",
        track: "",
    },
    KernelPair {
        group: b"f2fs",
        begin: b"f2fs_sync_file_enter",
        end: b"f2fs_sync_file_exit",
        label: PairLabel::Fixed("f2fs_sync_file"),
        category: "f2fs",
        track: "",
    },
    KernelPair {
        group: b"f2fs",
        begin: b"f2fs_write_begin",
        end: b"f2fs_write_end",
        label: PairLabel::Fixed("f2fs_write"),
        category: "f2fs",
        track: "",
    },
    KernelPair {
        group: b"compaction",
        begin: b"mm_compaction_begin",
        end: b"mm_compaction_end",
        label: PairLabel::Fixed("mm_compaction"),
        category: "memory",
        track: "",
    },
];

/// Returns the pair of an event, with or without its group, and whether the event is the start.
pub(crate) fn pair_from_name(name: &[u8]) -> Option<(&'static KernelPair, bool)> {
    if name.ends_with(PROBE.begin) || name.ends_with(PROBE.end) {
        return Some((&PROBE, name.ends_with(PROBE.begin)));
    }
    PAIRS.iter().find_map(|pair| {
        let grouped = name.strip_prefix(pair.group).and_then(|rest| rest.strip_prefix(b":"));
        match grouped.unwrap_or(name) {
            event if event == pair.begin => Some((pair, true)),
            event if event == pair.end => Some((pair, false)),
            _ => None,
        }
    })
}

/// Returns the function of a probe from the name of its event; empty for other events.
pub(crate) fn probed_function<'a>(pair: &KernelPair, name: &'a [u8]) -> &'a [u8] {
    let PairLabel::Probe = pair.label else { return b"" };
    let name = &name[memchr::memrchr(b':', name).map_or(0, |colon| colon + 1)..];
    name.strip_suffix(pair.begin).or_else(|| name.strip_suffix(pair.end)).unwrap_or(name)
}

/// Returns the name of a span from the name of its handler, softirq or function.
pub(crate) fn label(pair: &KernelPair, what: &str) -> String {
    match pair.label {
        PairLabel::Irq => format!("IRQ ({what})"),
        PairLabel::Softirq | PairLabel::Function | PairLabel::Probe => what.to_owned(),
        PairLabel::Fixed(text) => text.to_owned(),
    }
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct PairEvent<'a> {
    pub(crate) ts_ns: i64,
    pub(crate) cpu: Option<u64>,
    pub(crate) thread: &'a TrackKey,
    /// Name of the event, for an instant.
    pub(crate) name: &'a [u8],
    pub(crate) pos: SourcePos,
}

/// The start of a span.
#[derive(Debug)]
struct OpenPair {
    ts_ns: i64,
    label: String,
    thread: TrackKey,
    name: Box<[u8]>,
    args_json: String,
    pos: SourcePos,
}

/// The pair of a start, the function of a probe, and the track of the span.
type PairKey = (&'static [u8], Box<[u8]>, TrackKey);

/// The starts that wait for their ends.
#[derive(Debug, Default)]
pub(crate) struct KernelPairs {
    /// The starts of each key, innermost last.
    open: FxHashMap<PairKey, VecDeque<OpenPair>>,
    /// Number of the starts, and their bytes.
    count: usize,
    bytes: usize,
}

impl KernelPairs {
    /// Keeps the start of a span with its arguments. An earlier start without an end becomes an instant: neither
    /// handlers of a CPU nor work items of a thread nest. Probed functions do.
    pub(crate) fn begin(
        &mut self,
        batch: &mut BatchBuilder,
        pair: &'static KernelPair,
        event: &PairEvent<'_>,
        (label, args_json): (String, &str),
    ) {
        let open = OpenPair {
            ts_ns: event.ts_ns,
            label,
            thread: event.thread.clone(),
            name: event.name.into(),
            args_json: args_json.to_owned(),
            pos: event.pos,
        };
        let key = key(pair, event);
        let depth_max = if matches!(pair.label, PairLabel::Probe) { RECURSION_MAX } else { 1 };
        if self.open.get(&key).is_some_and(|starts| starts.len() >= depth_max)
            && let Some(outermost) = self.remove(&key, VecDeque::pop_front)
        {
            outermost.push_instant(batch);
        }
        if self.count >= OPEN_MAX || self.bytes + open.bytes() > OPEN_BYTES_MAX {
            return open.push_instant(batch);
        }
        self.count += 1;
        self.bytes += open.bytes();
        self.open.entry(key).or_default().push_back(open);
    }

    /// Adds the span that an event ends, with its result if it has one. Returns false if its start is missing.
    pub(crate) fn end(
        &mut self,
        batch: &mut BatchBuilder,
        pair: &'static KernelPair,
        event: &PairEvent<'_>,
        result: Option<&str>,
    ) -> bool {
        let key = key(pair, event);
        let Some(mut open) = self.remove(&key, VecDeque::pop_back) else { return false };
        let Ok(dur_ns) = u64::try_from(event.ts_ns.saturating_sub(open.ts_ns)) else {
            open.push_instant(batch);
            return false;
        };
        if let Some(result) = result {
            open.args_json.truncate(open.args_json.len().saturating_sub(1));
            open.args_json.push_str(if open.args_json.is_empty() { "{\"ret\":" } else { ",\"ret\":" });
            push_quoted(&mut open.args_json, result);
            open.args_json.push('}');
        }
        let (track, detail) = (batch.track_with(&key.2), open.detail(batch));
        let name = batch.name(open.label.as_bytes(), Some(pair.category.as_bytes()), open.pos);
        batch.push(Event { value: dur_ns, detail, ..Event::new(open.ts_ns, EventKind::Complete, track, name) });
        true
    }

    fn remove(&mut self, key: &PairKey, pop: impl Fn(&mut VecDeque<OpenPair>) -> Option<OpenPair>) -> Option<OpenPair> {
        let starts = self.open.get_mut(key)?;
        let open = pop(starts)?;
        if starts.is_empty() {
            self.open.remove(key);
        }
        self.count -= 1;
        self.bytes -= open.bytes();
        Some(open)
    }

    /// Adds the starts without an end, at the end of the trace.
    pub(crate) fn finish(&mut self, batch: &mut BatchBuilder) {
        let mut open: Vec<OpenPair> = std::mem::take(self).open.into_values().flatten().collect();
        open.sort_by(|a, b| (a.ts_ns, &a.name, a.pos).cmp(&(b.ts_ns, &b.name, b.pos)));
        open.iter().for_each(|open| open.push_instant(batch));
    }
}

impl OpenPair {
    fn bytes(&self) -> usize {
        size_of::<Self>() + self.label.len() + self.name.len() + self.args_json.len()
    }

    fn detail(&self, batch: &mut BatchBuilder) -> u32 {
        batch.args(&self.args_json)
    }

    /// Adds the event as an instant on its thread, like any other kernel event.
    fn push_instant(&self, batch: &mut BatchBuilder) {
        let (track, detail) = (batch.track_with(&self.thread), self.detail(batch));
        let name = batch.name(&self.name, None, self.pos);
        batch.push(Event { detail, ..Event::new(self.ts_ns, EventKind::Instant, track, name) });
    }
}

/// Returns the key of an event. Its track is its CPU or its thread.
fn key(pair: &'static KernelPair, event: &PairEvent<'_>) -> PairKey {
    let track = match event.cpu.filter(|_| !pair.track.is_empty()) {
        Some(cpu) => {
            let name = format!("{}{cpu}", pair.track).into();
            TrackKey { kind: TrackKind::Async, pid: Id::None, tid: Id::None, name, slot: TrackKey::SLOT_ALONE }
        }
        None => event.thread.clone(),
    };
    (pair.begin, probed_function(pair, event.name).into(), track)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::ChunkLimits;
    use crate::formats::testing::{Reading, read};

    /// Returns start and duration in microseconds, kind, name, track and arguments.
    fn shown(reading: &Reading) -> Vec<(i64, u64, EventKind, &str, String, &str)> {
        let track = |event: &crate::formats::testing::ReadEvent| match &event.track.tid {
            Id::None => event.track.name.to_string(),
            tid => tid.to_string(),
        };
        let events = reading.events.iter();
        let mut shown: Vec<_> = events
            .map(|event| {
                let (start_us, dur_us) = (event.ts_ns / 1000 % 1000, event.value / 1000);
                (start_us, dur_us, event.kind, &*event.name, track(event), &*event.args)
            })
            .collect();
        shown.sort_by_key(|event| event.0);
        shown
    }

    #[test]
    fn interrupts_softirqs_and_work_are_spans_in_text_of_each_tracer() {
        let events = [
            (1, "irq", "irq_handler_entry: irq=5 name=eth0 rx"),
            (3, "irq", "irq_handler_exit: irq=5 ret=handled"),
            (4, "irq", "softirq_entry: vec=1 [action=TIMER]"),
            (6, "irq", "softirq_exit: vec=1 [action=TIMER]"),
            (7, "workqueue", "workqueue_execute_start: work struct 0000000012: function foo"),
            (9, "workqueue", "workqueue_execute_end: work struct 0000000012: function foo"),
        ];
        let ftrace = events.map(|(us, _, event)| format!("   bash-7     [003] .....   5.{us:06}: {event}\n")).concat();
        let script =
            events.map(|(us, group, event)| format!("bash  7/7  [003]  5.{us:06}: {group}:{event}\n")).concat();
        let complete = EventKind::Complete;
        let expected = [
            (
                1,
                2,
                complete,
                "IRQ (eth0 rx)",
                "Irq Cpu 3",
                r#"{"fields":"irq=5 name=eth0 rx","cpu":3,"ret":"handled"}"#,
            ),
            (4, 2, complete, "TIMER", "SoftIrq Cpu 3", r#"{"fields":"vec=1 [action=TIMER]","cpu":3}"#),
            (7, 2, complete, "foo", "7", r#"{"fields":"work struct 0000000012: function foo","cpu":3}"#),
        ];
        let expected = expected.map(|(us, dur, kind, name, track, args)| (us, dur, kind, name, track.to_owned(), args));
        for text in ["# tracer: nop\n".to_owned() + &ftrace, script] {
            let reading = read(&text);
            assert_eq!((shown(&reading), reading.lost()), (expected.to_vec(), vec![]), "{text}");
        }
    }

    #[test]
    fn timers_and_calls_of_file_systems_are_spans() {
        let reading = read(
            "# tracer: nop\n\
             a-7 [003] ..... 5.000001: ext4_sync_file_enter: dev 8,1 ino 5 parent 2 datasync 1\n\
             a-7 [003] d.h.. 5.000002: hrtimer_expire_entry: hrtimer=00000000 function=tick now=5\n\
             a-7 [003] d.h.. 5.000004: hrtimer_expire_exit: hrtimer=00000000\n\
             a-7 [003] ..... 5.000009: ext4_sync_file_exit: dev 8,1 ino 5 ret 0\n",
        );
        let found: Vec<_> =
            shown(&reading).into_iter().map(|(us, dur, kind, name, track, _)| (us, dur, kind, name, track)).collect();
        let complete = EventKind::Complete;
        let expected = [
            (1, 8, complete, "ext4_sync_file", "7".to_owned()),
            (2, 2, complete, "hrtimer_expire", "Irq Cpu 3".to_owned()),
        ];
        assert_eq!((found, reading.lost()), (expected.to_vec(), vec![]));
    }

    #[test]
    fn entry_and_exit_of_a_probed_function_are_a_span_and_functions_nest() {
        let events = [
            (1, "vfs_read__entry: (vfs_read+0x4/0x340) count=5"),
            (2, "rw_verify__entry: (rw_verify+0x4/0x50)"),
            (3, "rw_verify__exit: (vfs_read+0x75/0x100 <- rw_verify)"),
            (4, "other__exit: (vfs_read+0x75/0x100 <- other) ret=1"),
            (5, "vfs_read__exit: (ksys_read+0x75/0x100 <- vfs_read) ret=8"),
        ];
        let ftrace = events.map(|(us, event)| format!("   sh-7     [003] .....   5.{us:06}: {event}\n")).concat();
        let script = events.map(|(us, event)| format!("sh  7/7  [003]  5.{us:06}: fprobes:{event}\n")).concat();
        for (text, prefix) in [("# tracer: nop\n".to_owned() + &ftrace, ""), (script, "fprobes:")] {
            let reading = read(&text);
            let other = format!("{prefix}other__exit");
            let complete = EventKind::Complete;
            let expected = [
                (1, 4, complete, "vfs_read", r#"{"fields":"(vfs_read+0x4/0x340) count=5","cpu":3,"ret":"8"}"#),
                (2, 1, complete, "rw_verify", r#"{"fields":"(rw_verify+0x4/0x50)","cpu":3}"#),
                (4, 0, EventKind::Instant, &*other, r#"{"fields":"(vfs_read+0x75/0x100 <- other) ret=1","cpu":3}"#),
            ];
            let found: Vec<_> = shown(&reading)
                .into_iter()
                .map(|(us, dur, kind, name, _, args)| (us, dur, kind, name.to_owned(), args))
                .collect();
            let expected = expected.map(|(us, dur, kind, name, args)| (us, dur, kind, name.to_owned(), args));
            assert_eq!((found, reading.lost()), (expected.to_vec(), vec![]), "{text}");
        }
    }

    #[test]
    fn a_probed_function_that_calls_itself_nests_to_a_limited_depth() {
        let line = |us: usize, side: &str| format!("a-7 [003] ..... 5.{us:06}: f__{side}: (f+0x4)\n");
        let recursive = |depth: usize| -> String {
            let entries = (1..=depth).map(|us| line(us, "entry"));
            entries.chain((0..depth).map(|back| line(500 + back, "exit"))).collect()
        };
        let reading = read(&format!("# tracer: nop\n{}", recursive(3)));
        let found: Vec<_> = shown(&reading).into_iter().map(|(us, dur, kind, ..)| (us, dur, kind)).collect();
        let complete = EventKind::Complete;
        assert_eq!(found, [(1, 501, complete), (2, 499, complete), (3, 497, complete)]);
        let reading = read(&format!("# tracer: nop\n{}", recursive(RECURSION_MAX + 1)));
        let instants = reading.events.iter().filter(|event| event.kind == EventKind::Instant);
        // The outermost entry, and its exit.
        let times: Vec<_> = instants.map(|event| event.ts_ns / 1000 % 1000).collect();
        assert_eq!((reading.events.len(), times), (RECURSION_MAX + 2, vec![1, 500 + RECURSION_MAX as i64]));
    }

    #[test]
    fn an_event_without_its_partner_is_an_instant_on_its_thread() {
        let reading = read(
            "# tracer: nop\n\
             a-7 [003] ..... 5.000001: irq_handler_exit: irq=5 ret=handled\n\
             a-7 [003] ..... 5.000002: softirq_entry: vec=1 [action=TIMER]\n\
             a-7 [003] ..... 5.000003: softirq_entry: vec=9 [action=RCU]\n\
             a-7 [004] ..... 5.000004: softirq_exit: vec=9 [action=RCU]\n\
             a-7 [003] ..... 5.000005: irq_handler_entry: irq=5\n",
        );
        let found: Vec<_> =
            shown(&reading).into_iter().map(|(us, _, kind, name, track, _)| (us, kind, name, track)).collect();
        let instant = |us, name| (us, EventKind::Instant, name, "7".to_owned());
        let expected = [
            instant(1, "irq_handler_exit"),
            instant(2, "softirq_entry"),
            instant(3, "softirq_entry"),
            instant(4, "softirq_exit"),
            instant(5, "irq_handler_entry"),
        ];
        assert_eq!((found, reading.lost()), (expected.to_vec(), vec![]));
    }

    #[test]
    fn few_bytes_wait_however_long_arguments_are_and_all_starts_are_kept() {
        let (mut batch, mut pairs) = (BatchBuilder::new(ChunkLimits::default()), KernelPairs::default());
        let thread = TrackKey::thread(Id::Number(1), Id::Number(1));
        let long = format!("{{\"name\":\"{}\"}}", "x".repeat(1 << 20));
        for cpu in 0..50 {
            let pos = SourcePos::Offset(cpu);
            let event = PairEvent { ts_ns: 5, cpu: Some(cpu), thread: &thread, name: b"irq_handler_entry", pos };
            // The second start on a CPU replaces the first.
            for _ in 0..2 {
                pairs.begin(&mut batch, &PAIRS[0], &event, ("IRQ (x)".to_owned(), &long));
            }
            assert!(pairs.bytes <= OPEN_BYTES_MAX, "{} bytes", pairs.bytes);
        }
        assert_eq!(pairs.open.len(), 15);
        pairs.finish(&mut batch);
        assert_eq!((batch.batch().chunk.events.len(), pairs.bytes), (100, 0));
    }
}
