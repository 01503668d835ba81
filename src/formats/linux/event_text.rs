//! Kernel events as text, shared by `ftrace` and `perf script`: `name: key=value key=value`. Scheduler events become
//! CPU and state tracks, CPU frequency and idle events counters. System calls, graph functions, interrupts and work
//! items become spans, markers the events that they describe. All other events are instants on their thread.

use std::borrow::Cow;

use super::binder::{Binder, BinderEvent, BinderThread, BinderTransaction};
use super::function_calls::{FunctionCalls, FunctionMoment, FunctionSpan, GraphOwner};
use super::function_text::{FunctionSide, FunctionText};
use super::kernel_pairs::{
    KernelPair, KernelPairs, PairEvent, PairLabel, SOFTIRQS, label, pair_from_name, probed_function,
};
use super::scheduler::{BlockedReason, Scheduler, SchedulerTask, Switch, TaskState};
use super::syscalls::{CallThread, SystemCall, ThreadCalls, end_of_current};
use super::thread_table::{TaskName, ThreadTable, push_kernel_name};
use super::trace_markers::{MarkerSource, marker};
use super::tracer_text::function_dur_ns;
use crate::base::hex::prefixed_hex_number;
use crate::formats::input::text::parsed;
use crate::formats::output::args::ArgsWriter;
use crate::formats::output::batch::BatchBuilder;
use crate::model::{Event, EventKind, Id, Loss, NameIdx, SourcePos, TrackKey, TrackKind};

/// An event parsed from a line.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TextEvent<'a> {
    pub(crate) ts_ns: i64,
    pub(crate) tid: i64,
    /// Name of the thread; empty if the tracer does not know it.
    pub(crate) task: &'a [u8],
    pub(crate) cpu: Option<u64>,
    pub(crate) name: &'a [u8],
    pub(crate) fields: &'a [u8],
    pub(crate) pos: SourcePos,
}

/// The state of the kernel up to the current event.
#[derive(Debug, Default)]
pub(crate) struct KernelText {
    pub(crate) scheduler: Scheduler,
    /// Machine type as in `uname -m`; empty if unknown.
    pub(crate) machine: String,
    args: ArgsWriter,
    binder: Binder,
    calls: ThreadCalls,
    functions: FunctionCalls,
    pairs: KernelPairs,
    /// Last known names of threads.
    named: ThreadTable<TaskName>,
}

impl KernelText {
    /// Creates the state of another host than the first one of the trace.
    pub(crate) fn for_host(host: &str) -> Self {
        Self { scheduler: Scheduler::for_host(host), ..Self::default() }
    }

    /// Adds the next event to the batch.
    pub(crate) fn add_event(&mut self, batch: &mut BatchBuilder, event: &TextEvent<'_>) {
        let fields = decimal_fields(event.fields);
        let event = &TextEvent { fields: &fields, ..*event };
        let &TextEvent { ts_ns, tid, name, fields, pos, .. } = event;
        self.name_task(batch, event);
        match name {
            b"sched_switch" => self.switch(batch, event),
            b"sched_waking" | b"sched_wakeup" | b"sched_wakeup_new" => match task_from_fields(fields) {
                Some(task) => self.scheduler.wake(batch, ts_ns, &task, Some(tid), pos),
                None => batch.lose(Loss::BadRecord, pos),
            },
            b"cpu_frequency" => Self::cpu_counter(batch, event, "frequency", "kHz"),
            b"cpu_idle" => Self::cpu_counter(batch, event, "idle state", ""),
            b"tracing_mark_write" | b"print" | b"0" => self.marker(batch, event),
            b"task_newtask" => {
                self.start_task(batch, event);
                self.other(batch, event);
            }
            b"task_rename" => {
                if let (Some(tid), Some(name)) =
                    (number(fields, b"pid"), name_before(fields, b"newcomm", b"oom_score_adj"))
                {
                    self.scheduler.rename(batch, tid, name, pos);
                }
                self.other(batch, event);
            }
            b"sched_blocked_reason" => self.blocked(batch, event),
            b"binder_transaction" | b"binder_transaction_received" | b"binder_return" => self.binder(batch, event),
            // The transaction or its return has the same information.
            b"binder_command" => {}
            b"funcgraph_entry" | b"funcgraph_exit" => self.function(batch, event),
            _ if self.pair(batch, event) => {}
            _ => self.other(batch, event),
        }
    }

    fn switch(&mut self, batch: &mut BatchBuilder, event: &TextEvent<'_>) {
        let &TextEvent { ts_ns, cpu, fields, pos, .. } = event;
        match (cpu, switch_from_fields(fields)) {
            (Some(cpu), Some((previous, state, next))) => {
                let previous_state = task_state(state);
                let switch = Switch { ts_ns, cpu, previous: Some(previous), previous_state, next };
                self.scheduler.switch(batch, &switch, pos);
            }
            // `perf script -F` may omit the CPU.
            (None, Some(_)) => self.other(batch, event),
            _ => batch.lose(Loss::BadRecord, pos),
        }
    }

    fn marker(&mut self, batch: &mut BatchBuilder, event: &TextEvent<'_>) {
        let &TextEvent { ts_ns, tid, name, fields, pos, .. } = event;
        // `trace_printk` prints the address or the name of the caller before the text.
        let text =
            if name == b"print" { fields.strip_prefix(b"tracing_mark_write: ").unwrap_or(fields) } else { fields };
        // Programs write markers with a system call, whose end must not close the span that the marker opens.
        if self.calls.end_early(tid) {
            self.end_call(batch, ts_ns, tid);
        }
        marker(&mut self.scheduler, batch, MarkerSource { ts_ns, tid, pos }, text);
    }

    /// Adds a new thread, which may reuse the id of an earlier thread.
    fn start_task(&mut self, batch: &mut BatchBuilder, event: &TextEvent<'_>) {
        let &TextEvent { ts_ns, tid, fields, .. } = event;
        let flags = value(fields, b"clone_flags").and_then(prefixed_hex_number);
        if let (Some(new), Some(flags)) = (number(fields, b"pid"), flags) {
            if self.calls.start_thread(new) {
                self.end_call(batch, ts_ns, new);
            }
            self.scheduler.new_task(tid, new, flags);
        }
    }

    fn blocked(&mut self, batch: &mut BatchBuilder, event: &TextEvent<'_>) {
        let &TextEvent { fields, pos, .. } = event;
        let Some(tid) = number(fields, b"pid") else { return batch.lose(Loss::BadRecord, pos) };
        let is_io_wait = value(fields, b"iowait") == Some(b"1");
        // The function without its offset.
        let caller = value(fields, b"caller").unwrap_or_default();
        let function = &caller[..memchr::memchr(b'+', caller).unwrap_or(caller.len())];
        self.scheduler.blocked(batch, &BlockedReason { tid, is_io_wait, function }, pos);
    }

    fn binder(&mut self, batch: &mut BatchBuilder, event: &TextEvent<'_>) {
        let &TextEvent { ts_ns, tid, name, fields, pos, .. } = event;
        let Some(binder_event) = binder_from_fields(name, fields) else { return batch.lose(Loss::BadRecord, pos) };
        let track = batch.track_with(&self.thread(tid));
        self.binder.add_event(batch, BinderThread { ts_ns, tid, track, pos }, binder_event);
    }

    /// Adds a value of a counter of one CPU, which the event names, or else its line.
    fn cpu_counter(batch: &mut BatchBuilder, event: &TextEvent<'_>, label: &str, unit: &str) {
        let cpu = number(event.fields, b"cpu_id").and_then(|cpu| u64::try_from(cpu).ok()).or(event.cpu);
        let (Some(cpu), Some(state)) = (cpu, number(event.fields, b"state")) else {
            return batch.lose(Loss::BadCounter, event.pos);
        };
        let text = format!("CPU {cpu} {label}").into();
        let key = TrackKey { kind: TrackKind::Counter, pid: Id::None, tid: Id::None, name: text, slot: 0 };
        let track = batch.counter_track(&key, unit);
        // u32::MAX means that the CPU left its idle state.
        let state = if state == i64::from(u32::MAX) { -1 } else { state };
        let value = (state as f64).to_bits();
        batch.push(Event { value, ..Event::new(event.ts_ns, EventKind::Counter, track, NameIdx::EMPTY) });
    }

    /// Adds a function graph entry: `| f() {`, later `1.5 us | }`, or `0.5 us | g();` for a leaf.
    fn function(&mut self, batch: &mut BatchBuilder, event: &TextEvent<'_>) {
        let pos = event.pos;
        let Some(bar) = memchr::memchr(b'|', event.fields) else { return batch.lose(Loss::BadRecord, pos) };
        let (drawn, code) = (event.fields[..bar].trim_ascii(), event.fields[bar + 1..].trim_ascii());
        let Some((side, text)) = FunctionText::from_column(code) else { return batch.lose(Loss::BadRecord, pos) };
        // Each CPU has its own idle task 0.
        let cpu = event.cpu.and_then(|cpu| u32::try_from(cpu).ok()).unwrap_or(u32::MAX);
        let owner = if event.tid == 0 { GraphOwner::Cpu(cpu) } else { GraphOwner::Task(event.tid) };
        let at = FunctionMoment { owner, cpu, ts_ns: Some(event.ts_ns), pos };
        let key = self.function_track(owner);
        let emit = |text: &FunctionText<'_>, span: &FunctionSpan| span.add_span(text, batch.track_with(&key), batch);
        let added = match side {
            FunctionSide::Exit => self.functions.leave(&at, text.result, function_dur_ns(drawn), emit),
            FunctionSide::Entry => self.functions.enter(&at, text),
            FunctionSide::Leaf => self.functions.leaf(&at, text, function_dur_ns(drawn), emit),
        };
        if let Err(loss) = added {
            batch.lose(loss, pos);
        }
    }

    /// Ends the open functions and the scheduler states at the end of the trace.
    pub(crate) fn finish(&mut self, batch: &mut BatchBuilder) {
        let mut functions = std::mem::take(&mut self.functions);
        functions.finish(batch, |owner| self.function_track(owner));
        self.pairs.finish(batch);
        self.scheduler.finish(batch, SourcePos::Offset(0));
    }

    /// Returns the track of the functions of a task, or of the idle task of a CPU.
    fn function_track(&mut self, owner: GraphOwner) -> TrackKey {
        match owner {
            GraphOwner::Task(tid) => self.thread(tid),
            GraphOwner::Cpu(_) => owner.key(),
        }
    }

    /// Returns the track of a thread, in its process if that is known.
    pub(crate) fn thread(&mut self, tid: i64) -> TrackKey {
        let pid = self.scheduler.process_or_own(tid);
        self.scheduler.thread_key(TrackKind::Thread, pid, tid)
    }

    /// Adds the name of a thread to the batch if it changed.
    pub(crate) fn name_task(&mut self, batch: &mut BatchBuilder, event: &TextEvent<'_>) {
        let &TextEvent { tid, task, pos, .. } = event;
        if tid == 0 || task.is_empty() || !self.named.set_name(tid, task, batch, pos) {
            return;
        }
        let TrackKey { pid, tid, .. } = self.thread(tid);
        push_kernel_name(batch, pid, tid, task, pos);
    }

    /// Adds an instant with the arguments that were written. Its name does not identify a kernel event: functions may
    /// be named like tracepoints and system calls.
    pub(crate) fn add_instant(&mut self, batch: &mut BatchBuilder, event: &TextEvent<'_>, args: &mut ArgsWriter) {
        self.name_task(batch, event);
        if let Some(cpu) = event.cpu {
            args.number("cpu", cpu);
        }
        let detail = batch.args(args.finish());
        let track = batch.track_with(&self.thread(event.tid));
        let name = batch.name(event.name, None, event.pos);
        batch.push(Event { detail, ..Event::new(event.ts_ns, EventKind::Instant, track, name) });
    }

    /// Ends the span of the current system call of a thread.
    fn end_call(&mut self, batch: &mut BatchBuilder, ts_ns: i64, tid: i64) {
        let track = batch.track_with(&self.thread(tid));
        batch.push(end_of_current(ts_ns, track));
    }

    /// Adds an event that starts or ends a span. Returns false if it is an instant.
    fn pair(&mut self, batch: &mut BatchBuilder, event: &TextEvent<'_>) -> bool {
        let Some((pair, is_begin)) = pair_from_name(event.name) else { return false };
        let &TextEvent { ts_ns, cpu, name, fields, pos, .. } = event;
        let thread = self.thread(event.tid);
        let paired = PairEvent { ts_ns, cpu, thread: &thread, name, pos };
        if !is_begin {
            let result = value(fields, b"ret").map(String::from_utf8_lossy);
            return self.pairs.end(batch, pair, &paired, result.as_deref());
        }
        let Some(label) = label_from_fields(pair, name, fields) else { return false };
        self.args.clear();
        self.args.text("fields", fields);
        if let Some(cpu) = cpu {
            self.args.number("cpu", cpu);
        }
        self.pairs.begin(batch, pair, &paired, (label, self.args.finish()));
        true
    }

    fn other(&mut self, batch: &mut BatchBuilder, event: &TextEvent<'_>) {
        let &TextEvent { ts_ns, tid, cpu, name, fields, pos, .. } = event;
        let track = batch.track_with(&self.thread(tid));
        let (shown, key, detail) = match SystemCall::from_text(name, fields, &self.machine) {
            Some((call, detail)) => {
                let key = if call.kind == EventKind::End { "ret" } else { "fields" };
                let shown = self.calls.event(batch, CallThread { ts_ns, tid, track }, &call, pos);
                let Some(shown) = shown else { return };
                (shown, key, detail)
            }
            None => (Event::new(ts_ns, EventKind::Instant, track, batch.name(name, None, pos)), "fields", fields),
        };
        self.args.clear();
        if !detail.is_empty() {
            self.args.text(key, detail);
        }
        if let Some(cpu) = cpu {
            self.args.number("cpu", cpu);
        }
        let detail = batch.args(self.args.finish());
        batch.push(Event { detail, ..shown });
    }
}

/// Replaces integers such as `0x57b2 (22450)`, which ftrace's option `fields` prints, by their decimal form.
fn decimal_fields(fields: &[u8]) -> Cow<'_, [u8]> {
    const HEX: &[u8] = b"=0x";
    let mut decimal = Vec::new();
    let mut copied = 0;
    for at in memchr::memmem::find_iter(fields, HEX) {
        let after = &fields[at + HEX.len()..];
        let digits = after.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
        let Some(inside) = after[digits..].strip_prefix(b" (").filter(|_| digits > 0) else { continue };
        let Some(close) = memchr::memchr(b')', inside).filter(|&close| parsed::<i64>(&inside[..close]).is_some())
        else {
            continue;
        };
        decimal.extend_from_slice(&fields[copied..=at]);
        decimal.extend_from_slice(&inside[..close]);
        copied = at + HEX.len() + digits + b" (".len() + close + 1;
    }
    if copied == 0 {
        return Cow::Borrowed(fields);
    }
    decimal.extend_from_slice(&fields[copied..]);
    Cow::Owned(decimal)
}

/// Returns the name of the span that an event starts.
fn label_from_fields(pair: &KernelPair, name: &[u8], fields: &[u8]) -> Option<String> {
    let what = match pair.label {
        // The last field, which may contain spaces.
        PairLabel::Irq => find_key(fields, b"name")?.1,
        PairLabel::Softirq => {
            if let Some(at) = memchr::memmem::find(fields, b"[action=") {
                let action = &fields[at + b"[action=".len()..];
                action.strip_suffix(b"]").unwrap_or(action)
            } else {
                // `trace-cmd report -R` prints the number only.
                let vec = u64::try_from(number(fields, b"vec")?).ok()?;
                SOFTIRQS.iter().find(|&&(number, _)| number == vec)?.1.as_bytes()
            }
        }
        PairLabel::Function => match memchr::memmem::find(fields, b"function ") {
            Some(at) => &fields[at + b"function ".len()..],
            None => value(fields, b"function")?,
        },
        PairLabel::Probe => probed_function(pair, name),
        PairLabel::Fixed(_) => b"",
    };
    Some(label(pair, &String::from_utf8_lossy(what.trim_ascii())))
}

/// Returns the number after ` key=`.
fn number(fields: &[u8], key: &[u8]) -> Option<i64> {
    value(fields, key).and_then(parsed)
}

/// Returns the text after ` key=`, up to the next space.
fn value<'a>(fields: &'a [u8], key: &[u8]) -> Option<&'a [u8]> {
    let (_, rest) = find_key(fields, key)?;
    Some(&rest[..memchr::memchr(b' ', rest).unwrap_or(rest.len())])
}

/// Returns the position of a key and the text after its `=`.
fn find_key<'a>(fields: &'a [u8], key: &[u8]) -> Option<(usize, &'a [u8])> {
    positions_of(fields, key).next()
}

/// Iterates over the positions of a key, with the text after its `=`. Looks at each `=`, since a search for the key
/// takes longer to prepare than these short texts to scan.
fn positions_of<'a>(fields: &'a [u8], key: &[u8]) -> impl Iterator<Item = (usize, &'a [u8])> {
    memchr::memchr_iter(b'=', fields).filter_map(move |equals| {
        let before = fields[..equals].strip_suffix(key)?;
        (before.is_empty() || before.ends_with(b" ")).then(|| (before.len(), &fields[equals + 1..]))
    })
}

/// Returns a name, which may contain spaces and `=`: the text between its key and the next key.
fn name_before<'a>(fields: &'a [u8], key: &[u8], next: &[u8]) -> Option<&'a [u8]> {
    let (_, rest) = find_key(fields, key)?;
    let (next_at, _) = positions_of(rest, next).find(|&(at, _)| at > 0)?;
    Some(&rest[..next_at - 1])
}

fn binder_from_fields(name: &[u8], fields: &[u8]) -> Option<BinderEvent> {
    let hexadecimal = |key: &[u8]| prefixed_hex_number(value(fields, key)?);
    if name == b"binder_return" {
        return Some(BinderEvent::Return { code: hexadecimal(b"cmd")? });
    }
    let id = number(fields, b"transaction")?;
    if name == b"binder_transaction_received" {
        return Some(BinderEvent::Received { id });
    }
    let numeric_field = |key: &[u8]| number(fields, key).unwrap_or(0);
    Some(BinderEvent::Transaction(BinderTransaction {
        id,
        to_node: numeric_field(b"dest_node"),
        to_process: numeric_field(b"dest_proc"),
        to_thread: numeric_field(b"dest_thread"),
        is_reply: numeric_field(b"reply") != 0,
        flags: hexadecimal(b"flags").unwrap_or(0),
        code: hexadecimal(b"code").unwrap_or(0),
    }))
}

fn task_from_fields(fields: &[u8]) -> Option<SchedulerTask<'_>> {
    if let Some(tid) = number(fields, b"pid") {
        let name = name_before(fields, b"comm", b"pid").unwrap_or_default();
        return Some(SchedulerTask { tid, name, priority: number(fields, b"prio") });
    }
    // `name:tid [priority] ..`, as `perf` formats the events that it knows.
    short_task(fields).map(|(task, _)| task)
}

fn switch_from_fields(fields: &[u8]) -> Option<(SchedulerTask<'_>, &[u8], SchedulerTask<'_>)> {
    // `trace-cmd report -R` prints no arrow.
    const ARROW: &[u8] = b" ==> ";
    let (before, after) = if let Some(arrow) = memchr::memmem::find(fields, ARROW) {
        (&fields[..arrow], &fields[arrow + ARROW.len()..])
    } else {
        let next = memchr::memmem::find(fields, b" next_comm=")?;
        (&fields[..next], &fields[next + 1..])
    };
    let long = |fields, [name, tid, priority]: [&[u8]; 3]| {
        let name = name_before(fields, name, tid).unwrap_or_default();
        Some(SchedulerTask { tid: number(fields, tid)?, name, priority: number(fields, priority) })
    };
    if let Some(next) = long(after, [b"next_comm", b"next_pid", b"next_prio"]) {
        let previous = long(before, [b"prev_comm", b"prev_pid", b"prev_prio"])?;
        return Some((previous, value(before, b"prev_state")?, next));
    }
    let (previous, state) = short_task(before)?;
    Some((previous, state.trim_ascii(), short_task(after)?.0))
}

/// Parses the letters of a state, or its bits as `trace-cmd report -R` prints them. Only kernels before 4.14 use bits
/// above the ninth.
fn task_state(state: &[u8]) -> Option<TaskState> {
    const BITS_SINCE_4_14: u64 = 0x1ff;
    match parsed::<i64>(state).and_then(|bits| u64::try_from(bits).ok()) {
        Some(bits) => Some(TaskState::from_bits(bits, bits > BITS_SINCE_4_14)),
        None => TaskState::from_letters(state),
    }
}

/// Parses `name:tid [priority]`, and returns the task and the text after it.
fn short_task(text: &[u8]) -> Option<(SchedulerTask<'_>, &[u8])> {
    let open = memchr::memmem::find(text, b" [")?;
    let colon = memchr::memrchr(b':', &text[..open])?;
    let tid = parsed(&text[colon + 1..open])?;
    let close = open + memchr::memchr(b']', &text[open..])?;
    let priority = parsed(&text[open + 2..close]);
    Some((SchedulerTask { tid, name: &text[..colon], priority }, &text[close + 1..]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::testing::read;

    #[test]
    fn raw_fields_of_trace_cmd_are_read_like_formatted_ones() {
        // As `trace-cmd report -R` prints them.
        let reading = read(
            "          father-1234  [002] 18765.018235: sched_switch:          prev_comm=father prev_pid=1234 prev_prio=120 prev_state=0 next_comm=father next_pid=5678 next_prio=120\n\
             \x20          child-5678  [002] 18766.018236: sched_switch:          prev_comm=child prev_pid=5678 prev_prio=120 prev_state=1 next_comm=sh next_pid=3367 next_prio=120\n\
             \x20             sh-3367  [002] 18766.018240: softirq_entry:         vec=1\n\
             \x20             sh-3367  [002] 18766.018250: softirq_exit:          vec=1\n\
             \x20             sh-3367  [002] 18766.018260: workqueue_execute_start: work=0xff function=flush_cookie\n\
             \x20             sh-3367  [002] 18766.018280: workqueue_execute_end: work=0xff function=flush_cookie\n",
        );
        assert_eq!(reading.lost(), []);
        let spans = reading.events.iter().filter(|event| event.kind == EventKind::Complete);
        let spans: Vec<_> = spans.map(|event| (event.track.kind, &*event.name, event.value / 1000)).collect();
        for expected in [(TrackKind::Async, "TIMER", 10), (TrackKind::Thread, "flush_cookie", 20)] {
            assert!(spans.contains(&expected), "{expected:?} in {spans:?}");
        }
        let states = reading.events.iter().filter(|event| event.track.kind == TrackKind::State);
        let states: Vec<_> = states.map(|event| (event.track.tid.to_string(), &*event.name)).collect();
        for expected in [("1234", "Runnable"), ("5678", "Sleeping")] {
            assert!(states.contains(&(expected.0.to_owned(), expected.1)), "{expected:?} in {states:?}");
        }
        let old = task_state(b"1024").expect("bits");
        assert_eq!(old.letters(), "N", "before Linux 4.14");
    }

    #[test]
    fn functions_of_trace_cmd_are_named_by_themselves_and_not_by_their_tracer() {
        let reading = read(
            "       trace-cmd-24174 [001] 164303.595438: function:             __do_page_fault\n\
             \x20      trace-cmd-24174 [001] 164303.595439: function:             print <-- vfs_write\n\
             \x20    kworker/1:1-84    [001]    164303.595440: bprint:               serial8250_tx_dma: tx_size=3 fifo_len=3\n\
             \x20      trace-cmd-24174 [001] 164303.595441: function:             ip=0xffffffff81 parent_ip=0xffffffff82\n",
        );
        let found: Vec<_> = reading.events.iter().map(|event| (event.kind, &*event.name, &*event.args)).collect();
        let instant = EventKind::Instant;
        let expected = [
            (instant, "__do_page_fault", r#"{"cpu":1}"#),
            (instant, "print", r#"{"fields":"<-- vfs_write","cpu":1}"#),
            (instant, "serial8250_tx_dma", r#"{"fields":"tx_size=3 fifo_len=3","cpu":1}"#),
            (instant, "function", r#"{"fields":"ip=0xffffffff81 parent_ip=0xffffffff82","cpu":1}"#),
        ];
        assert_eq!((found, reading.lost()), (expected.to_vec(), vec![]));
    }

    #[test]
    fn switches_are_read_in_both_spellings_for_any_names() {
        let long: &[u8] =
            b"prev_comm=a b=c pid=1 prev_pid=7 prev_prio=120 prev_state=R+ ==> next_comm===> x next_pid=8 next_prio=-1";
        let (previous, state, next) = switch_from_fields(long).expect("a switch");
        assert_eq!((previous.tid, previous.name, state), (7, &b"a b=c pid=1"[..], &b"R+"[..]));
        assert_eq!((next.tid, next.priority), (8, Some(-1)));
        let (previous, state, next) =
            switch_from_fields(b"perf:7889 [120] D ==> migration/0:18 [0]").expect("a switch");
        assert_eq!((previous.tid, previous.name, state), (7889, &b"perf"[..], &b"D"[..]));
        assert_eq!((next.tid, next.name, next.priority), (18, &b"migration/0"[..], Some(0)));
        let task = task_from_fields(b"comm=Binder:1_2 pid=9 prio=120 target_cpu=001").expect("a task");
        assert_eq!((task.tid, task.name, task.priority), (9, &b"Binder:1_2"[..], Some(120)));
        let task = task_from_fields(b"comm=a old_pid=7 pid=9 prio=120").expect("a task");
        assert_eq!((task.tid, task.name), (9, &b"a old_pid=7"[..]), "a key is a whole word");
        assert!(switch_from_fields(b"prev_comm=a ==> next_comm=b").is_none());
    }
}
