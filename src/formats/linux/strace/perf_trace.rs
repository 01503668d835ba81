//! Parses lines of `perf trace`, which prints calls like `strace` and times in milliseconds, as in
//! `0.055 ( 0.017 ms): comm/12 read(fd: 3) = 5`. Times are call starts, relative to the first call or, with `-T`, to
//! boot. A call already running when the recording starts has no start time and is skipped. Without system calls there
//! is no column of durations, as in `0.055 comm/12 sched:sched_switch(..)`.

use super::line::{StraceClock, StraceEvent, StraceRecord, number};
use crate::formats::input::decimal::{NumberError, nanos_from_millis};
use crate::formats::input::text::{parsed, split_word};

/// Number of decimals of a time in milliseconds.
const DECIMALS: usize = 3;

/// Placeholder for a negative duration: the call is kept without one, and the loss needs no amount.
const BEFORE_START_NS: i64 = -1;

/// Parses a line; returns `None` if it is not from `perf trace`.
pub(super) fn record(line: &[u8]) -> Option<StraceRecord<'_>> {
    let (time, rest) = split_word(line.trim_ascii_start());
    let column = rest.strip_prefix(b"(");
    let (dur_ns, rest) = match column {
        Some(inside) => {
            let close = memchr::memmem::find(inside, b"): ")?;
            let took = inside[..close].trim_ascii();
            let dur_ns = match took.strip_suffix(b" ms") {
                Some(millis) => Some(duration_ns(millis.trim_ascii())?),
                None if matches!(took, b"" | b"?") => None,
                None => return None,
            };
            (dur_ns, inside[close + 3..].trim_ascii())
        }
        None => (None, rest.trim_ascii()),
    };
    let (tid, comm, call) = owner(rest);
    let ns = match time {
        b"?" => None,
        _ => Some(time.contains(&b'.').then(|| start_ns(time))??),
    };
    // Lines of other tools also have a time and a call.
    let is_own = || time.len() > DECIMALS && time[time.len() - DECIMALS - 1] == b'.' && is_tracepoint(call);
    if column.is_none() && !is_own() {
        return None;
    }
    let event = match ns {
        Some(_) => event(call, dur_ns),
        // It started before the recording, and its end is unknown.
        None => StraceEvent::Skipped,
    };
    Some(StraceRecord { tid, comm, ns: ns.unwrap_or(0), clock: StraceClock::Machine, event })
}

/// Returns the time of a call. A call of another CPU may start before the first call. `perf trace` prints that
/// difference without its sign, as `18446744073706.430`: 2^64 ns too much.
fn start_ns(millis: &[u8]) -> Option<i64> {
    match nanos_from_millis(millis) {
        Ok(ns) => Some(ns),
        Err(NumberError::OutOfRange) => {
            let (millis, decimals) = millis.split_at_checked(millis.len().checked_sub(1 + DECIMALS)?)?;
            let micros: u64 = parsed(decimals.strip_prefix(b".")?)?;
            let ns = parsed::<u64>(millis)?.checked_mul(1_000_000)?.checked_add(micros * 1000)?.cast_signed();
            (ns < 0).then_some(ns)
        }
        Err(_) => None,
    }
}

/// Returns a duration. The end of a call may precede its start, if events of two CPUs are out of order. `perf trace`
/// prints such a difference without its sign, as `18446744073708.391`.
fn duration_ns(millis: &[u8]) -> Option<i64> {
    match nanos_from_millis(millis) {
        Ok(ns) => Some(ns),
        Err(NumberError::OutOfRange) if !millis.starts_with(b"-") => Some(BEFORE_START_NS),
        Err(_) => None,
    }
}

/// Returns the number of events that `perf trace` says it lost, as in `LOST 5 events!`.
pub(super) fn lost_events(line: &[u8]) -> Option<u64> {
    let count = line.trim_ascii().strip_prefix(b"LOST ")?.strip_suffix(b" events!")?;
    std::str::from_utf8(count).ok()?.parse().ok()
}

/// Returns whether this is the heading of the summary that `perf trace -S` prints after the calls.
pub(super) fn begins_summary(line: &[u8]) -> bool {
    line.trim_ascii() == b"Summary of events:"
}

/// Returns whether a line may belong to the summary: a thread or a call with its share, or a heading of their columns.
pub(super) fn is_of_summary(line: &[u8]) -> bool {
    let line = line.trim_ascii();
    let begins = |text: &[u8]| line.starts_with(text);
    // Page faults and time on CPUs follow the share of a thread.
    let is_of_thread = || memchr::memmem::find(line, b" events, ").is_some();
    line.ends_with(b"%") || is_of_thread() || begins(b"syscall  ") || begins(b"(msec)") || begins(b"------")
}

/// Returns whether this is a tracepoint or a probe, `group:event(fields)`; versions before 4.20 write `group:event:`.
fn is_tracepoint(call: &[u8]) -> bool {
    split_tracepoint(call).is_some() && call.ends_with(b")")
}

/// Splits a tracepoint or a probe into its name and the text of its fields.
fn split_tracepoint(call: &[u8]) -> Option<(&[u8], &[u8])> {
    let is_of_name = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_' || *byte == b'-';
    let colon = memchr::memchr(b':', call).filter(|&colon| colon > 0)?;
    let len = call[colon + 1..].iter().take_while(|byte| is_of_name(byte)).count();
    let (name, fields) = call.split_at(colon + 1 + len);
    let is_named = len > 0 && name[..colon].iter().all(is_of_name) && matches!(fields.first(), Some(b'(' | b':'));
    is_named.then_some(())?;
    let fields = fields.strip_prefix(b":").unwrap_or(fields);
    // The bracket at the end has no counterpart in `group:event:fields)`.
    let inside = fields.strip_prefix(b"(").unwrap_or(fields);
    Some((name, inside.strip_suffix(b")").unwrap_or(inside).trim_ascii()))
}

/// Splits a page fault into its name and its function, address and file.
fn split_fault(call: &[u8]) -> Option<(&[u8], &[u8])> {
    let (name, rest) = split_word(call);
    (matches!(name, b"minfault" | b"majfault") && rest.starts_with(b"[")).then_some((name, rest))
}

/// Returns thread id, name and rest of `comm/12 call`, `12 call`, or a call alone. Names are arbitrary, so that a call
/// must follow the id if possible.
fn owner(text: &[u8]) -> (Option<i64>, &[u8], &[u8]) {
    let named = || {
        memchr::memchr_iter(b'/', text).filter_map(|slash| {
            let (id, call) = split_word(&text[slash + 1..]);
            Some((Some(number(id)?), &text[..slash], call))
        })
    };
    if let Some(owner) = named().find(|(.., call)| begins_call(call)).or_else(|| named().next()) {
        return owner;
    }
    let (id, call) = split_word(text);
    match number(id) {
        Some(tid) => (Some(tid), b"", call),
        None => (None, b"", text),
    }
}

/// Returns whether a text begins with a call, the end of a call, or a page fault.
fn begins_call(text: &[u8]) -> bool {
    text.starts_with(b"... [continued]: ")
        || split_fault(text).is_some()
        || StraceEvent::begun(text) != StraceEvent::Unknown
}

fn event(call: &[u8], dur_ns: Option<i64>) -> StraceEvent<'_> {
    // `... [continued]: read()) = 5` ends an unfinished call.
    if let Some(rest) = call.strip_prefix(b"... [continued]: ") {
        let open = memchr::memchr(b'(', rest).unwrap_or(rest.len());
        let result = memchr::memmem::rfind(rest, b" = ").map_or(&b""[..], |equals| rest[equals + 3..].trim_ascii());
        return StraceEvent::Resumed { name: &rest[..open], args: b"", result, dur_ns };
    }
    // Old versions print the duration so far.
    if let Some(begun) = call.strip_suffix(b"...")
        && let StraceEvent::Begun { name, args } = StraceEvent::begun(begun.trim_ascii_end())
    {
        let args = args.strip_suffix(b")").unwrap_or(args).trim_ascii_end();
        return StraceEvent::Begun { name, args };
    }
    if let Some((name, args)) = split_tracepoint(call).or_else(|| split_fault(call)) {
        // A truncated line has no closing bracket.
        return if call.ends_with(b")") { StraceEvent::Instant { name, args } } else { StraceEvent::Unknown };
    }
    match StraceEvent::from_text(call) {
        StraceEvent::Call { name, args, result, .. } => StraceEvent::Call { name, args, result, dur_ns },
        // A call whose result `perf trace` does not know, such as `getppid() =`.
        StraceEvent::Cut { name, args, .. }
            if let Some(args) = args.strip_suffix(b"=").and_then(|args| args.trim_ascii_end().strip_suffix(b")")) =>
        {
            StraceEvent::Call { name, args: args.trim_ascii_end(), result: b"", dur_ns }
        }
        StraceEvent::Cut { .. } if !call.ends_with(b")") => StraceEvent::Unknown,
        _ if !call.is_empty() => StraceEvent::Note(call),
        _ => StraceEvent::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use crate::formats::testing::{format_of, read};
    use crate::model::{EventKind, Id, Loss};

    #[test]
    fn the_summary_after_the_calls_is_not_damage_and_a_cut_call_is_not_an_instant() {
        let calls = "     0.055 ( 0.017 ms): fib/12 read(fd: 3)                = 5\n     0.100 (         ): fib/12 exit_group() = ?\n";
        let summary = "\n\n Summary of events:\n\n fib (12), 2 events, 30.7%\n\n   syscall            calls  errors  total       min       avg       max       stddev\n                                     (msec)    (msec)    (msec)    (msec)        (%)\n   --------------- --------  ------ -------- --------- --------- ---------     ------\n   read                   1      0     0.017     0.017     0.017     0.017      0.00%\n\n\n";
        let reading = read(&format!("{calls}{summary}"));
        assert_eq!((reading.events.len(), reading.lost()), (2, vec![(Loss::IgnoredMetadata, 1)]));
        // Rows without the heading are damage.
        let reading = read(&format!("{calls}{}", &summary[40..]));
        assert!(
            reading.lost().iter().any(|&(loss, count)| loss == Loss::BadRecord && count > 1),
            "{:?}",
            reading.lost()
        );
        let reading = read(&format!("{calls}    55.054 (         ): fib/12 clock_nanosleep(rqtp: 0x7ff21c89ae90"));
        assert_eq!((reading.events.len(), reading.lost()), (2, vec![(Loss::Truncated, 1)]));
    }

    #[test]
    fn unknown_durations_of_old_versions_are_not_damage() {
        let text = "         ? (     ?   ): tc/9491  ... [continued]: execve()) = 0\n     0.034 ( 0.005 ms): tc/9491 brk() = 0x1\n";
        assert_eq!(format_of(text.as_bytes()), format_of(text.split_once('\n').expect("lines").1.as_bytes()));
        let reading = read(text);
        assert_eq!((reading.names(), reading.lost()), (vec!["brk"], vec![(Loss::IgnoredMetadata, 1)]));
    }

    #[test]
    fn tracepoints_that_perf_trace_prints_without_system_calls_have_no_column_of_durations() {
        let text = "     0.000 ls/7 sched:sched_process_exec(filename: \"/usr/bin/ls\", pid: 7 (ls), old_pid: 7 (ls))\n\
             \x20                                      schedule ([kernel.kallsyms])\n\
             \x20                                      main (/usr/bin/ls)\n\
             \x20    0.776 8 probe_libc:inet_pton:(7f14b)\n     1.500 a:b/2 [x]/9 sched:sched_wakeup(comm: \"a/8 b\")\n\
             \x20    2.500 probe:vfs_read()\n     3.500 ls/7 sched:sched_switch(comm: \"l";
        let reading = read(text);
        let found: Vec<_> = reading
            .events
            .iter()
            .map(|event| (event.ts_ns / 1000, event.kind, event.track.tid.clone(), event.stack.join(";")))
            .collect();
        let (instant, sample) = (EventKind::Instant, EventKind::Sample);
        let [one, two, three, zero] = [7, 8, 9, 0].map(Id::Number);
        let expected = [
            (0, instant, one.clone(), ""),
            (0, sample, one, "main;schedule"),
            (776, instant, two, ""),
            (1500, instant, three, ""),
            (2500, instant, zero, ""),
        ];
        assert_eq!(found, expected.map(|(us, kind, tid, stack)| (us, kind, tid, stack.to_owned())));
        assert_eq!(reading.events[0].name, "sched:sched_process_exec");
        assert!(reading.events[0].args.contains("/usr/bin/ls"), "{}", reading.events[0].args);
        assert_eq!(reading.lost(), [(Loss::Truncated, 1)]);
        for log in
            ["0.000 ls/7 started: now (ok)\n", "0.123456 std::find(x)\n", "1.500 ls/7 read(fd: 3)\n", "2.5 a:b(c)\n"]
        {
            assert_eq!(format_of(log.as_bytes()), None, "{log}");
        }
    }

    #[test]
    fn tracepoints_and_page_faults_are_named_without_their_fields() {
        let reading = read(
            "     0.100 (         ): ls/7 sched:sched_switch(prev_comm: \"ls\", prev_pid: 7 (ls))\n\
             \x20    0.200 ( 0.000 ms): ls/7 minfault [_start+0x0] => /usr/lib/ld.so@0x1ab70 (d.)\n\
             \x20    0.300 (         ): sched:sched_switch:sh:55 [120] S ==> swapper/0:0 [120])\n\
             \x20    0.400 ( 0.001 ms): ls/7 close(fd: 3)       = 0\n",
        );
        let found: Vec<_> = reading.events.iter().map(|event| (&*event.name, &*event.args)).collect();
        let expected = [
            ("sched:sched_switch", r#"{"args":"prev_comm: \"ls\", prev_pid: 7 (ls)"}"#),
            ("minfault", r#"{"args":"[_start+0x0] => /usr/lib/ld.so@0x1ab70 (d.)"}"#),
            ("sched:sched_switch", r#"{"args":"sh:55 [120] S ==> swapper/0:0 [120]"}"#),
            ("close", r#"{"args":"fd: 3","ret":"0"}"#),
        ];
        assert_eq!((found, reading.lost()), (expected.to_vec(), vec![]));
    }

    #[test]
    fn the_summary_of_threads_with_page_faults_is_not_damage() {
        let reading = read(
            "56109864.597 ( 0.000 ms): ls/7 minfault [elf_load+0x28a] => 0x558952a4d5c0 (?k)\n\n Summary of events:\n\n\
             \x20ls (7), 102 events, 66.7%, 102 minfaults\n\n\
             \x20  syscall            calls  errors  total       min       avg       max       stddev\n\
             \x20                                    (msec)    (msec)    (msec)    (msec)        (%)\n\
             \x20  --------------- --------  ------ -------- --------- --------- ---------     ------\n\n\n",
        );
        assert_eq!((reading.events.len(), reading.lost()), (1, vec![(Loss::IgnoredMetadata, 1)]));
    }

    #[test]
    fn threads_of_perf_trace_may_have_slashes_numbers_and_brackets_in_their_names() {
        let reading = read(
            "     0.100 ( 0.001 ms): (sd-pam)/12 close(fd: 3</a/5 b>)       = 0\n\
             \x20    0.200 ( 0.001 ms): a/2 b/13 close(fd: 3)       = 0\n\
             \x20    0.300 ( 0.000 ms): kworker/0:1/14 minfault [f+0x1] => /tmp/5 /x@0x1 (d.)\n",
        );
        let tids: Vec<_> = reading.events.iter().map(|event| event.track.tid.clone()).collect();
        assert_eq!((tids, reading.lost()), ([12, 13, 14].map(Id::Number).to_vec(), vec![]));
    }

    #[test]
    fn a_call_without_an_end_lasts_until_the_next_of_its_thread() {
        let reading = read(
            "    10.865 (         ): sh/9 rt_sigreturn()                                     ...\n\
             \x20   10.870 ( 0.001 ms): sh/8 close(fd: 3)                                   = 0\n\
             \x20   10.880 ( 0.000 ms): sh/9 minfault [f+0x1] => 0x5 (d.)\n\
             \x20   10.921 ( 0.013 ms): sh/9 wait4(upid: -1)                                = 5\n\
             \x20   11.000 ( 0.010 ms): sh/9 getppid()                                      = \n\
             \x20   12.000 (         ): sh/9 rt_sigreturn()                                 ...\n\
             \x20   12.500 ( 1.500 ms): sh/9  ... [continued]: pause())                     = 0\n",
        );
        let calls = reading.events.iter().filter(|event| event.track.tid == Id::Number(9));
        let found: Vec<_> = calls.map(|event| (event.ts_ns / 1000, event.value / 1000, &*event.name)).collect();
        let expected = [
            (10_865, 56, "rt_sigreturn"),
            (10_880, 0, "minfault"),
            (10_921, 13, "wait4"),
            (11_000, 10, "getppid"),
            (12_000, 500, "rt_sigreturn"),
            (12_500, 0, "pause"),
        ];
        assert_eq!((found, reading.lost()), (expected.to_vec(), vec![]));
        assert_eq!(reading.events.iter().find(|event| event.name == "getppid").expect("a call").args, "");
    }

    #[test]
    fn a_call_whose_duration_wrapped_around_is_kept_and_counted() {
        let reading = read(
            "     1.000 ( 0.017 ms): fib/12 read(fd: 3)                = 5\n\
             \x20    2.000 (18446744073708.391 ms): fib/12 futex(uaddr: 0x7ff) = 0\n\
             \x20    3.000 (         ): fib/12 pause()                                       ...\n\
             \x20    4.000 (18446744073709.551 ms): fib/12  ... [continued]: pause())         = 0\n",
        );
        let found: Vec<_> =
            reading.events.iter().map(|event| (event.ts_ns / 1000, event.value, &*event.name)).collect();
        assert_eq!(found, [(1000, 17_000, "read"), (2000, 0, "futex"), (3000, 1_000_000, "pause")]);
        assert_eq!(reading.lost(), [(Loss::NegativeDuration, 1)]);
        assert_eq!(format_of(b"     2.000 (18446744073708.391 ms): fib/12 futex(uaddr: 0x7ff) = 0\n"), Some("strace"));
    }

    #[test]
    fn calls_of_other_cpus_that_start_before_the_first_one_are_before_zero() {
        let text = "18446744073706.430 ( 0.016 ms): w/3097 access(filename: 0x4b6f72a0, mode: R)   = -1 ENOENT (No)\n\
             \x20   24.992 ( 0.017 ms): sh/3101 access(filename: 0xa33112a0, mode: R)   = -1 ENOENT (No)\n";
        let reading = read(text);
        let found: Vec<_> = reading.events.iter().map(|event| (event.ts_ns, event.value, &*event.name)).collect();
        assert_eq!(found, [(-3_121_616, 16_000, "access"), (24_992_000, 17_000, "access")]);
        assert_eq!((reading.lost(), format_of(text.as_bytes())), (vec![], Some("strace")));
        assert_eq!(super::start_ns(b"18446744073709.552"), None, "2^64 and more");
        assert_eq!(super::start_ns(b"9223372036854.775"), Some(9_223_372_036_854_775_000));
    }

    #[test]
    fn a_call_that_goes_on_may_have_a_duration_so_far() {
        let reading = read(
            "     0.354 ( 0.290 ms): iscsid/22 poll(ufds: 0x7fff, nfds: 2, timeout_msecs: 250                ) ...\n\
             \x20    0.369 ( 0.015 ms): sshd/14 rt_sigprocmask(how: SETMASK) = 0\n\
             \x20  250.354 (250.000 ms): iscsid/22  ... [continued]: poll()) = 0 Timeout\n",
        );
        let mut found: Vec<_> = reading.events.iter().map(|event| (event.ts_ns, event.value, &*event.name)).collect();
        found.sort_unstable();
        assert_eq!(found, [(354_000, 250_000_000, "poll"), (369_000, 15_000, "rt_sigprocmask")]);
        assert_eq!(reading.lost(), []);
    }
}
