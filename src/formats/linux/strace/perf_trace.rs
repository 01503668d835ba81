//! Parses lines of `perf trace`, which prints calls like `strace` and times in milliseconds, as in
//! `0.055 ( 0.017 ms): comm/12 read(fd: 3) = 5`. Times are call starts, relative to the first call or, with `-T`, to
//! boot. A call already running when the recording starts has no start time and is skipped.

use super::line::{StraceClock, StraceEvent, StraceRecord, number, word};
use crate::formats::input::decimal::nanos_from_millis;

/// Parses a line; returns `None` if it is not from `perf trace`.
pub(super) fn record(line: &[u8]) -> Option<StraceRecord<'_>> {
    let (time, rest) = word(line.trim_ascii_start());
    let inside = rest.strip_prefix(b"(")?;
    let close = memchr::memmem::find(inside, b"): ")?;
    let took = inside[..close].trim_ascii();
    let dur_ns = match took.strip_suffix(b" ms") {
        Some(millis) => Some(nanos_from_millis(millis.trim_ascii()).ok()?),
        None if took.is_empty() => None,
        None => return None,
    };
    let rest = inside[close + 3..].trim_ascii();
    let (tid, comm, call) = owner(rest);
    let ns = match time {
        b"?" => None,
        _ => Some(time.contains(&b'.').then(|| nanos_from_millis(time).ok())??),
    };
    let what = match ns {
        Some(_) => event(call, dur_ns),
        // It started before the recording, and its end is unknown.
        None => StraceEvent::Skipped,
    };
    Some(StraceRecord { tid, comm, ns: ns.unwrap_or(0), clock: StraceClock::Machine, what })
}

/// Returns thread id, name and rest of `comm/12 call`, `12 call`, or a call alone. Names may contain spaces.
fn owner(text: &[u8]) -> (Option<i64>, &[u8], &[u8]) {
    let before_call = &text[..memchr::memchr(b'(', text).unwrap_or(text.len())];
    for slash in memchr::memchr_iter(b'/', before_call) {
        let (id, call) = word(&text[slash + 1..]);
        if let Some(tid) = number(id) {
            return (Some(tid), &text[..slash], call);
        }
    }
    let (id, call) = word(text);
    match number(id) {
        Some(tid) => (Some(tid), b"", call),
        None => (None, b"", text),
    }
}

fn event(call: &[u8], dur_ns: Option<i64>) -> StraceEvent<'_> {
    // `... [continued]: read()) = 5` ends an unfinished call.
    if let Some(rest) = call.strip_prefix(b"... [continued]: ") {
        let open = memchr::memchr(b'(', rest).unwrap_or(rest.len());
        let result = memchr::memmem::rfind(rest, b" = ").map_or(&b""[..], |equals| rest[equals + 3..].trim_ascii());
        return StraceEvent::Resumed { name: &rest[..open], args: b"", result, dur_ns };
    }
    if dur_ns.is_none()
        && let Some(begun) = call.strip_suffix(b"...")
        && let StraceEvent::Begun { name, args } = StraceEvent::begun(begun.trim_ascii_end())
    {
        let args = args.strip_suffix(b")").unwrap_or(args).trim_ascii_end();
        return StraceEvent::Begun { name, args };
    }
    match StraceEvent::from_text(call) {
        StraceEvent::Call { name, args, result, .. } => StraceEvent::Call { name, args, result, dur_ns },
        // Page faults and tracepoints.
        _ if !call.is_empty() => StraceEvent::Note(call),
        _ => StraceEvent::Unknown,
    }
}
