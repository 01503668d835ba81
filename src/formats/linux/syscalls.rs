//! System calls as kernel tracers record them: a tracepoint for each call with its name, or one for all calls with a
//! number. Call numbers depend on the machine; on an unknown machine, the number is the name. Exits close the spans of
//! entries by thread, even if the entry or the exit was not recorded. An entry or exit that both tracepoints record is
//! shown once.

use std::borrow::Cow;

use rustc_hash::FxHashMap;
use xxhash_rust::xxh3::xxh3_64;

use crate::formats::input::text::parsed;
use crate::formats::output::batch::BatchBuilder;
use crate::model::{Event, EventFlags, EventKind, Loss, NameIdx, SourcePos, TrackIdx};

/// Number of the exit of `rt_sigreturn`: the kernel has restored the registers of the interrupted program.
const FORGOTTEN_NUMBER: i64 = -1;

/// The entry or exit of a system call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SystemCall<'a> {
    pub(crate) kind: EventKind,
    pub(crate) name: Cow<'a, [u8]>,
    /// Whether the exit does not name its call, and ends the current call of its thread.
    is_of_any_call: bool,
    source: CallSource,
}

/// The kind of tracepoint that records a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CallSource {
    /// The tracepoint of this call.
    OneCall,
    /// The tracepoint of all calls. Without a known number, the name of the call is made up.
    AllCalls { has_name: bool },
}

impl<'a> SystemCall<'a> {
    /// Parses a tracepoint of a single call, with or without its group.
    pub(crate) fn from_tracepoint(name: &'a [u8]) -> Option<Self> {
        let name = name.strip_prefix(b"syscalls:").unwrap_or(name);
        // The entry of `exit_group`, not the exit of a call named `group`.
        if name == b"sys_exit_group" {
            return None;
        }
        let call_after = |kind, before: &[u8]| Some(Self::named(kind, kernel_name(name.strip_prefix(before)?)));
        call_after(EventKind::Begin, b"sys_enter_").or_else(|| call_after(EventKind::End, b"sys_exit_"))
    }

    /// Parses an event of `LTTng`, such as `syscall_entry_read`, or `sys_read` and `exit_syscall` of old versions.
    pub(crate) fn from_lttng(name: &'a [u8]) -> Option<Self> {
        let name = name.strip_prefix(b"compat_").unwrap_or(name);
        if name == b"exit_syscall" {
            return Some(Self { is_of_any_call: true, ..Self::named(EventKind::End, Cow::Borrowed(name)) });
        }
        let kinds = [
            (EventKind::Begin, &b"syscall_entry_"[..]),
            (EventKind::End, b"syscall_exit_"),
            (EventKind::Begin, b"sys_"),
        ];
        kinds.into_iter().find_map(|(kind, before)| Some(Self::named(kind, kernel_name(name.strip_prefix(before)?))))
    }

    /// Looks up the call of a tracepoint for all calls by its number.
    pub(crate) fn from_number(name: &[u8], number: i64, machine: &str) -> Option<Self> {
        Some(Self::numbered(kind_from_name(name)?, number, machine))
    }

    fn named(kind: EventKind, name: Cow<'a, [u8]>) -> Self {
        Self { kind, name, is_of_any_call: false, source: CallSource::OneCall }
    }

    fn numbered(kind: EventKind, number: i64, machine: &str) -> Self {
        let is_of_any_call = kind == EventKind::End && number == FORGOTTEN_NUMBER;
        let known = name_from_number(number, machine);
        let source = CallSource::AllCalls { has_name: known.is_some() };
        let name =
            known.map_or_else(|| format!("syscall {number}").into_bytes().into(), |name| kernel_name(name.as_bytes()));
        Self { kind, name, is_of_any_call, source }
    }

    /// Parses the call of a text line, and its arguments or its result.
    pub(crate) fn from_text(name: &'a [u8], fields: &'a [u8], machine: &str) -> Option<(Self, &'a [u8])> {
        if let Some(call) = Self::from_tracepoint(name) {
            return Some((call, fields));
        }
        if let Some(kind) = kind_from_name(name) {
            // `NR 1 (3, 7ffd31a171fc, ..)` and `NR 1 = 16`, or with ftrace's option `fields`, `id=1 args=..` and
            // `id=1 ret=16`.
            let numbered = fields.strip_prefix(b"NR ").or_else(|| fields.strip_prefix(b"id="))?;
            let (number, detail) = numbered.split_at(memchr::memchr(b' ', numbered)?);
            let number = parsed(number)?;
            let detail = detail.trim_ascii();
            let detail = match kind {
                EventKind::End => detail.strip_prefix(b"= ").or_else(|| detail.strip_prefix(b"ret=")).unwrap_or(detail),
                _ => detail.strip_prefix(b"(").and_then(|detail| detail.strip_suffix(b")")).unwrap_or(detail),
            };
            return Some((Self::numbered(kind, number, machine), detail));
        }
        // `sys_read(fd: 3, ..)` and `sys_read -> 0x10`
        let is_named = name.starts_with(b"sys_");
        let (kind, detail) = match fields.strip_prefix(b"-> ") {
            Some(result) => (EventKind::End, result),
            None => (EventKind::Begin, fields),
        };
        is_named.then_some((Self::named(kind, Cow::Borrowed(name)), detail))
    }
}

/// The system call that each thread is in. A thread is in one call at a time.
#[derive(Debug, Default)]
pub(crate) struct ThreadCalls(FxHashMap<i64, CurrentCall>);

/// The latest system call of a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CurrentCall {
    /// Its span is still open. The exit of another call does not end it.
    Open(CallRecord),
    /// Its span was ended before its exit.
    Ended,
    /// The thread has left the call.
    Left(CallRecord),
}

/// An entry or exit, as one of the two kinds of tracepoints recorded it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct CallRecord {
    name_hash: u64,
    source: CallSource,
}

impl CallRecord {
    /// Returns whether both records can be of one call.
    fn has_call_of(self, other: Self) -> bool {
        let is_unnamed = |source| source == CallSource::AllCalls { has_name: false };
        self.name_hash == other.name_hash || is_unnamed(self.source) != is_unnamed(other.source)
    }

    /// Returns whether both kinds of tracepoints recorded one entry or one exit.
    fn repeats(self, other: Self) -> bool {
        (self.source == CallSource::OneCall) != (other.source == CallSource::OneCall) && self.has_call_of(other)
    }
}

/// A thread that enters or exits a system call.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CallThread {
    pub(crate) ts_ns: i64,
    pub(crate) tid: i64,
    pub(crate) track: TrackIdx,
}

impl ThreadCalls {
    /// Returns the event of an entry or exit; these must be in order of time. Returns `None` if the span of the call
    /// has already ended. A second record of the same entry or exit is counted, and has no event either.
    ///
    /// Ends the call before an entry, and before the exit of another call, so that calls whose exits were not recorded
    /// last until the next.
    pub(crate) fn event(
        &mut self,
        batch: &mut BatchBuilder,
        thread: CallThread,
        call: &SystemCall<'_>,
        pos: SourcePos,
    ) -> Option<Event> {
        let CallThread { ts_ns, tid, track } = thread;
        let mut kind = call.kind;
        let record = CallRecord { name_hash: xxh3_64(&call.name), source: call.source };
        if kind == EventKind::End {
            match self.0.insert(tid, CurrentCall::Left(record)) {
                Some(CurrentCall::Ended) => return None,
                Some(CurrentCall::Left(first)) if first.repeats(record) => {
                    batch.lose(Loss::RepeatedEvent, pos);
                    return None;
                }
                Some(CurrentCall::Open(_)) if call.is_of_any_call => return Some(end_of_current(ts_ns, track)),
                Some(CurrentCall::Open(entered)) if entered.name_hash == record.name_hash => {}
                Some(CurrentCall::Open(entered)) if entered.has_call_of(record) => {
                    return Some(end_of_current(ts_ns, track));
                }
                Some(CurrentCall::Open(_)) => {
                    batch.push(end_of_current(ts_ns, track));
                    kind = EventKind::Instant;
                }
                // The thread was in the call when the recording started, or when the thread was created.
                Some(CurrentCall::Left(_)) | None => kind = EventKind::Instant,
            }
        } else {
            match self.0.insert(tid, CurrentCall::Open(record)) {
                Some(CurrentCall::Open(first)) if first.repeats(record) => {
                    self.0.insert(tid, CurrentCall::Open(first));
                    batch.lose(Loss::RepeatedEvent, pos);
                    return None;
                }
                Some(CurrentCall::Open(_)) => batch.push(end_of_current(ts_ns, track)),
                Some(CurrentCall::Ended | CurrentCall::Left(_)) | None => {}
            }
        }
        Some(Event::new(ts_ns, kind, track, batch.name(&call.name, None, pos)))
    }

    /// Marks the call of a thread as ended before its exit. Returns whether its span was open.
    pub(crate) fn end_early(&mut self, tid: i64) -> bool {
        let open = self.0.get_mut(&tid).filter(|call| call.is_open());
        open.map(|call| *call = CurrentCall::Ended).is_some()
    }

    /// Forgets the call of an earlier thread with the same id, such as `exit`, which never returns. Returns whether its
    /// span was open.
    pub(crate) fn start_thread(&mut self, tid: i64) -> bool {
        self.0.remove(&tid).is_some_and(CurrentCall::is_open)
    }
}

impl CurrentCall {
    fn is_open(self) -> bool {
        matches!(self, Self::Open(_))
    }
}

/// Returns the end of the current call of a thread, which is its innermost open span.
pub(crate) fn end_of_current(ts_ns: i64, track: TrackIdx) -> Event {
    Event { flags: EventFlags::UNNAMED, ..Event::new(ts_ns, EventKind::End, track, NameIdx::EMPTY) }
}

/// Returns the kernel's name of a call, which differs from that of functions and of other spans: `sys_read`.
fn kernel_name(call: &[u8]) -> Cow<'_, [u8]> {
    Cow::Owned([b"sys_", call].concat())
}

/// Returns the event kind of a tracepoint for all calls.
fn kind_from_name(name: &[u8]) -> Option<EventKind> {
    match name.strip_prefix(b"raw_syscalls:").unwrap_or(name) {
        b"sys_enter" => Some(EventKind::Begin),
        b"sys_exit" => Some(EventKind::End),
        _ => None,
    }
}

/// Returns the name of a call number on a machine type as in `uname -m`.
fn name_from_number(number: i64, machine: &str) -> Option<&'static str> {
    use syscalls::{aarch64, arm, riscv64, x86, x86_64};
    let number = usize::try_from(number).ok()?;
    match machine {
        "x86_64" => x86_64::Sysno::new(number).map(|call| call.name()),
        "aarch64" | "arm64" => aarch64::Sysno::new(number).map(|call| call.name()),
        "riscv64" => riscv64::Sysno::new(number).map(|call| call.name()),
        "i386" | "i486" | "i586" | "i686" => x86::Sysno::new(number).map(|call| call.name()),
        _ if machine.starts_with("arm") => arm::Sysno::new(number).map(|call| call.name()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::testing::{Reading, read};

    fn shown(reading: &Reading) -> Vec<(i64, EventKind, &str, &str)> {
        reading.events.iter().map(|event| (event.ts_ns % 1_000_000, event.kind, &*event.name, &*event.args)).collect()
    }

    #[test]
    fn the_exit_of_rt_sigreturn_has_no_number_and_ends_the_call_of_its_thread() {
        let line = |us: u32, event: &str| {
            (
                format!("sh-7 [001] ..... 5.{us:06}: {event}\n"),
                format!("sh 7/7 [001] 5.{us:06}: raw_syscalls:{event}\n"),
            )
        };
        let (ftrace, script): (Vec<_>, Vec<_>) = [
            // The thread was in a call, or ptrace skipped it.
            line(1, "sys_exit: NR -1 = 0"),
            line(2, "sys_enter: NR 15 (3, 0)"),
            line(3, "sys_exit: NR -1 = 5"),
            line(4, "sys_enter: NR -1 (0)"),
            line(5, "sys_exit: NR -1 = -38"),
            line(6, "sys_exit: NR 15 = 0"),
        ]
        .into_iter()
        .unzip();
        let (begin, end, instant) = (EventKind::Begin, EventKind::End, EventKind::Instant);
        let expected = [
            (1_000, instant, "syscall -1", r#"{"ret":"0","cpu":1}"#),
            (2_000, begin, "syscall 15", r#"{"fields":"3, 0","cpu":1}"#),
            (3_000, end, "", r#"{"ret":"5","cpu":1}"#),
            (4_000, begin, "syscall -1", r#"{"fields":"0","cpu":1}"#),
            (5_000, end, "", r#"{"ret":"-38","cpu":1}"#),
            (6_000, instant, "syscall 15", r#"{"ret":"0","cpu":1}"#),
        ];
        for text in [format!("# tracer: nop\n{}", ftrace.concat()), script.concat()] {
            let reading = read(&text);
            assert_eq!((shown(&reading), reading.lost()), (expected.to_vec(), vec![]), "{text}");
        }
    }

    #[test]
    fn a_call_that_two_tracepoints_record_is_one_span() {
        let (raw, named) = ("raw_syscalls:sys_enter: NR 230 (0, 7f)", "syscalls:sys_enter_clock_nanosleep: which: 0");
        let (raw_exit, named_exit) = ("raw_syscalls:sys_exit: NR 230 = 0", "syscalls:sys_exit_clock_nanosleep: 0x0");
        let orders: [(&[&str], usize); 5] = [
            (&[raw, named, raw_exit], 1),
            (&[named, raw, raw_exit, named_exit], 2),
            (&[raw, named, named_exit, raw_exit], 2),
            (&[raw, raw_exit, named_exit], 1),
            (&[raw, named_exit], 0),
        ];
        for header in ["", "# arch : x86_64\n"] {
            for (order, repeated) in orders {
                let line = |us: usize, event: &str| format!("sh 7/7 [001] 5.{us:06}: {event}\n");
                let lines =
                    |from_us| (from_us..).zip(order).map(|(us, event)| line(us, event)).collect::<Vec<_>>().concat();
                let reading = read(&format!("{header}{}{}", lines(1), lines(11)));
                let kinds: Vec<_> = reading.events.iter().map(|event| event.kind).collect();
                assert_eq!(kinds, [EventKind::Begin, EventKind::End].repeat(2), "{header}{order:?}");
                let ends: Vec<_> =
                    reading.events.iter().skip(1).step_by(2).map(|end| end.ts_ns % 1_000_000 / 1000).collect();
                let end_us = 1 + order.iter().position(|event| event.contains("exit")).expect("an exit") as i64;
                assert_eq!(ends, [end_us, end_us + 10], "{header}{order:?}");
                let lost = if repeated == 0 { vec![] } else { vec![(Loss::RepeatedEvent, 2 * repeated as u64)] };
                assert_eq!(reading.lost(), lost, "{header}{order:?}");
            }
        }
    }

    #[test]
    fn a_new_thread_is_not_in_the_call_of_an_earlier_thread_with_its_id() {
        let reading = read(
            "# tracer: nop\n\
             a-9 [001] ..... 5.000001: sys_enter_exit: error_code: 0\n\
             b-7 [001] ..... 5.000002: task_newtask: pid=9 comm=b clone_flags=1200000 oom_score_adj=0\n\
             b-9 [001] ..... 5.000003: sys_exit_clone: 0x0\n",
        );
        let (begin, end, instant) = (EventKind::Begin, EventKind::End, EventKind::Instant);
        let found: Vec<_> = shown(&reading).into_iter().map(|(ts_ns, kind, name, _)| (ts_ns, kind, name)).collect();
        let expected = [
            (1_000, begin, "sys_exit"),
            (2_000, end, ""),
            (2_000, instant, "task_newtask"),
            (3_000, instant, "sys_clone"),
        ];
        assert_eq!((found, reading.lost()), (expected.to_vec(), vec![]));
    }

    #[test]
    fn the_exit_of_another_call_ends_the_current_one_and_is_an_instant() {
        let reading = read(
            "# tracer: nop\n\
             a-9 [001] ..... 5.000001: sys_enter_read: fd: 3\n\
             a-9 [001] ..... 5.000004: sys_exit_write: 0x1\n\
             a-9 [001] ..... 5.000005: sys_enter_close: fd: 3\n\
             a-9 [001] ..... 5.000006: sys_exit_close: 0x0\n",
        );
        let (begin, end, instant) = (EventKind::Begin, EventKind::End, EventKind::Instant);
        let found: Vec<_> = shown(&reading).into_iter().map(|(ts_ns, kind, name, _)| (ts_ns, kind, name)).collect();
        let calls = [(5_000, begin, "sys_close"), (6_000, end, "sys_close")];
        let expected =
            [&[(1_000, begin, "sys_read"), (4_000, end, ""), (4_000, instant, "sys_write")], &calls[..]].concat();
        assert_eq!((found, reading.lost()), (expected, vec![]));
    }

    #[test]
    fn calls_have_their_names_or_else_their_numbers() {
        for (machine, number, expected) in [
            ("x86_64", 1, "sys_write"),
            ("aarch64", 64, "sys_write"),
            ("armv7l", 4, "sys_write"),
            ("i686", 4, "sys_write"),
            ("riscv64", 64, "sys_write"),
            ("", 1, "syscall 1"),
            ("x86_64", -1, "syscall -1"),
            ("x86_64", 1 << 40, "syscall 1099511627776"),
        ] {
            let call = SystemCall::from_number(b"raw_syscalls:sys_enter", number, machine).expect("a call");
            assert_eq!((call.kind, String::from_utf8_lossy(&call.name).as_ref()), (EventKind::Begin, expected));
        }
        assert_eq!(SystemCall::from_number(b"raw_syscalls:other", 1, "x86_64"), None);
    }

    #[test]
    fn lines_of_each_form_have_the_call_and_its_arguments_or_result() {
        let (begin, end) = (EventKind::Begin, EventKind::End);
        for (name, fields, expected) in [
            ("sys_read", "fd: 3, count: 2", Some((begin, "sys_read", "fd: 3, count: 2"))),
            ("sys_read", "-> 0x10", Some((end, "sys_read", "0x10"))),
            ("syscalls:sys_enter_read", "fd: 0x3", Some((begin, "sys_read", "fd: 0x3"))),
            ("syscalls:sys_exit_read", "0x3", Some((end, "sys_read", "0x3"))),
            // The format of ftrace.
            ("sys_enter_write", "fd: 0x3", Some((begin, "sys_write", "fd: 0x3"))),
            ("sys_exit_write", "0x10", Some((end, "sys_write", "0x10"))),
            ("sys_exit_group", "error_code: 0", Some((begin, "sys_exit_group", "error_code: 0"))),
            ("sys_enter", "NR 0 (3, 7ffd, 0)", Some((begin, "sys_read", "3, 7ffd, 0"))),
            ("raw_syscalls:sys_exit", "NR 0 = -11", Some((end, "sys_read", "-11"))),
            // The call number is missing: no span, since nothing would end it.
            ("sys_enter", "id: 0", None),
            ("sys_exit", "", None),
            ("sched_stat_runtime", "comm=x", None),
        ] {
            let found = SystemCall::from_text(name.as_bytes(), fields.as_bytes(), "x86_64");
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            let found = found.map(|(call, detail)| (call.kind, text(&call.name), text(detail)));
            assert_eq!(
                found,
                expected.map(|(kind, name, detail)| (kind, name.to_owned(), detail.to_owned())),
                "{name}"
            );
        }
    }
}
