//! Header lines of `perf script`: `comm pid/tid [cpu] flags time: period event: fields`, each of which `-F` may omit.
//! Parts are separated by spaces, and in lines of simpleperf's `report_sample.py` also by tabs.

use crate::formats::input::decimal::nanos_from_seconds;
use crate::formats::input::lines::head_lines;
use crate::formats::input::text::parsed;
use crate::formats::linux::perf_fields::{last_blank, sampled_fields, split_blank, without_misc};

/// The form of the header lines, which all have the same fields.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) enum HeaderForm {
    #[default]
    Timed,
    /// Without a time, or without headers.
    Untimed,
    /// Without a time and an event.
    Bare { has_ids: bool },
}

impl HeaderForm {
    pub(super) fn from_head(head: &[u8]) -> Self {
        if head_lines(head).any(|line| ScriptHeader::parse(line, false).is_some() || is_task_line(line)) {
            return Self::Timed;
        }
        // Headers are separated from the stacks before them by empty lines.
        let mut is_after_empty = true;
        let is_header = |line: &&[u8]| {
            let is_empty = line.trim_ascii().is_empty();
            std::mem::replace(&mut is_after_empty, is_empty || line.starts_with(b"#"))
                && !is_empty
                && !line.starts_with(b"#")
        };
        let mut headers = head_lines(head).filter(is_header).peekable();
        match headers.peek() {
            Some(first) if !first.starts_with(b"\t") && ScriptHeader::untimed(first).is_none() => {
                // Some names end with a number, and some lines are damaged.
                let (mut with_ids, mut all) = (0, 0);
                for line in headers {
                    all += 1;
                    with_ids += usize::from(ScriptHeader::bare(line, true).tid.is_some());
                }
                Self::Bare { has_ids: 2 * with_ids > all }
            }
            _ => Self::Untimed,
        }
    }
}

/// The parsed header line of an event.
#[derive(Debug, Clone, Copy)]
pub(super) struct ScriptHeader<'a> {
    pub(super) comm: &'a [u8],
    pub(super) pid: Option<i64>,
    /// `None` if the line has no ids.
    pub(super) tid: Option<i64>,
    pub(super) cpu: Option<u64>,
    pub(super) ts_ns: i64,
    pub(super) period: Option<u64>,
    /// Empty if the line has no event name.
    pub(super) event: &'a [u8],
    pub(super) fields: &'a [u8],
}

impl<'a> ScriptHeader<'a> {
    /// Parses a line with thread ids.
    pub(super) fn from_line(line: &'a [u8]) -> Option<Self> {
        Self::parse(line, true)
    }

    /// Parses a line. `with_ids` makes the ids mandatory; `-F` may omit them.
    pub(super) fn parse(line: &'a [u8], with_ids: bool) -> Option<Self> {
        // Program names are arbitrary. The time is the first decimal number followed by a colon, with ids before it.
        memchr::memchr_iter(b':', line).filter(|colon| is_blank(line.get(colon + 1))).find_map(|colon| {
            let before = &line[..colon];
            let (before, time) = before.split_at(last_blank(before).map_or(0, |blank| blank + 1));
            memchr::memchr(b'.', time)?;
            let ts_ns = time[0].is_ascii_digit().then(|| nanos_from_seconds(time).ok().or(negative_ns(time)))??;
            let before = without_date(before.trim_ascii_end());
            let (before, cpu, ids) = cpu_and_ids(before, true);
            let (comm, pid, tid) = match (ids, with_ids) {
                (Some((comm, pid, tid)), _) => (comm, pid, Some(tid)),
                (None, false) => (before, None, None),
                (None, true) => return None,
            };
            let rest = line[colon + 1..].trim_ascii();
            let (word, after) = split_blank(rest);
            // Without an event, a number may be an address.
            let is_period = || split_blank(after).0.ends_with(b":") || !is_frame(rest);
            let (period, rest) = match parsed::<i64>(word) {
                Some(period) if is_period() => (u64::try_from(period).ok(), after),
                _ => (None, rest),
            };
            let (event, fields) = split_blank(rest);
            // `-F` may omit the name and everything after it.
            let (event, fields) = match event.strip_suffix(b":").filter(|event| !event.is_empty()) {
                Some(event) => (event, fields),
                None if rest.is_empty() || tid.is_some() && (cpu.is_some() || is_frame(rest)) => (&b""[..], rest),
                None => return None,
            };
            Some(Self { comm: comm.trim_ascii(), pid, tid, cpu, ts_ns, period, event, fields })
        })
    }

    /// Parses a line without a time, such as `comm pid/tid [cpu] period event:`. Only the event is mandatory.
    pub(super) fn untimed(line: &'a [u8]) -> Option<Self> {
        let line = line.trim_ascii_end();
        let (before, event) = line.strip_suffix(b":")?.split_at(last_blank(line)? + 1);
        let before = before.trim_ascii_end();
        (!event.is_empty() && !before.is_empty()).then(|| Self { event, ..Self::bare(before, true) })
    }

    /// Parses a line without a time and an event, such as `comm pid/tid [cpu] period`. Any text is such a line. Without
    /// `has_ids`, a number after the name belongs to it.
    pub(super) fn bare(line: &'a [u8], has_ids: bool) -> Self {
        let (before, period) = split_period(line.trim_ascii_end());
        let (before, cpu, ids) = cpu_and_ids(before, has_ids);
        let (comm, pid, tid) = ids.map_or((before, None, None), |(comm, pid, tid)| (comm, pid, Some(tid)));
        Self { comm: comm.trim_ascii(), pid, tid, cpu, ts_ns: 0, period, event: b"", fields: b"" }
    }
}

/// Strips the time of day that `-F +tod` prints before the time: `2020-07-13 18:26:55.620971`.
fn without_date(before: &[u8]) -> &[u8] {
    let split = || {
        let is_like = |text: &[u8], form: &[u8]| {
            text.len() == form.len()
                && text.iter().zip(form).all(|(byte, form)| byte == form || *form == b'0' && byte.is_ascii_digit())
        };
        let (rest, clock) = before.split_at(last_blank(before)? + 1);
        if !is_like(clock.get(.."00:00:00".len())?, b"00:00:00") {
            return None;
        }
        let rest = rest.trim_ascii_end();
        let (rest, date) = rest.split_at(last_blank(rest).map_or(0, |blank| blank + 1));
        is_like(date, b"0000-00-00").then_some(rest.trim_ascii_end())
    };
    split().unwrap_or(before)
}

/// Parses a negative time since the previous event, which `--deltatime` prints as a number of 64 bits without a sign:
/// `18446744073.709544`.
fn negative_ns(time: &[u8]) -> Option<i64> {
    const NANOS: u64 = 1_000_000_000;
    let point = memchr::memchr(b'.', time)?;
    let seconds = u64::try_from(parsed::<i64>(&time[..point])?).ok()?;
    let rest = nanos_from_seconds(&[b"0", &time[point..]].concat()).ok()?.unsigned_abs();
    let ns = seconds.checked_mul(NANOS)?.checked_add(rest)?.cast_signed();
    (ns < 0).then_some(ns)
}

/// Returns whether fields are nothing but a frame, as in samples without call chains.
fn is_frame(fields: &[u8]) -> bool {
    let (before, frame) = sampled_fields(fields);
    before.is_empty() && !frame.is_empty()
}

/// Returns whether a colon ends its word: a blank or nothing follows.
fn is_blank(next: Option<&u8>) -> bool {
    next.is_none_or(|next| matches!(next, b' ' | b'\t'))
}

/// Name, process and thread of a header.
type TaskIds<'a> = (&'a [u8], Option<i64>, i64);

/// Splits off the CPU and then the ids, which the flags of `-F +misc` may follow: `comm 5/6 [001] U`. Returns the text
/// before the CPU. Without `has_ids`, only flags that follow a CPU are split off.
fn cpu_and_ids(text: &[u8], has_ids: bool) -> (&[u8], Option<u64>, Option<TaskIds<'_>>) {
    let ids_of = |text| task_ids(text).filter(|_| has_ids);
    let (before, cpu) = split_cpu(text);
    if let Some(ids) = ids_of(before) {
        return (before, cpu, Some(ids));
    }
    let Some((without, flagged_cpu)) = without_misc(before).map(split_cpu) else { return (before, cpu, None) };
    match ids_of(without) {
        Some(ids) => (without, cpu.or(flagged_cpu), Some(ids)),
        None if flagged_cpu.is_some() => (without, flagged_cpu, None),
        None => (before, cpu, None),
    }
}

/// Splits off `[000]`. Thread names may end with a bracket or with a number in brackets, but not with three digits.
fn split_cpu(before: &[u8]) -> (&[u8], Option<u64>) {
    /// `perf` pads the number to this many digits.
    const CPU_DIGITS: usize = 3;
    let split = || {
        let inside = before.strip_suffix(b"]")?;
        let open = memchr::memrchr(b'[', inside)?;
        let digits = &inside[open + 1..];
        let is_padded = digits.len() >= CPU_DIGITS && digits.iter().all(u8::is_ascii_digit);
        let cpu = u64::try_from(parsed::<i64>(digits).filter(|_| is_padded)?).ok()?;
        Some((before[..open].trim_ascii_end(), Some(cpu)))
    };
    split().unwrap_or((before, None))
}

/// Splits off a period, which is padded unlike an id, or follows a CPU or two ids.
fn split_period(before: &[u8]) -> (&[u8], Option<u64>) {
    /// `perf` pads a period to this width, and an id to less.
    const PERIOD_WIDTH: usize = 10;
    let split = || {
        let blank = last_blank(before)?;
        let period = u64::try_from(parsed::<i64>(&before[blank + 1..])?).ok()?;
        let rest = before[..blank].trim_ascii_end();
        let is_last = before.len() - rest.len() > PERIOD_WIDTH
            || split_cpu(rest).1.is_some()
            || task_ids(rest).is_some_and(|(_, pid, _)| pid.is_some());
        is_last.then_some((rest, Some(period)))
    };
    split().unwrap_or((before, None))
}

/// Splits `comm pid/tid` or `comm tid`. Without a name, ids that fill their five columns start the line.
fn task_ids(text: &[u8]) -> Option<TaskIds<'_>> {
    let (comm, ids) = text.split_at(last_blank(text).map_or(0, |blank| blank + 1));
    let mut ids = ids.split(|&byte| byte == b'/');
    let first = parsed(ids.next()?)?;
    let (pid, tid) = match ids.next() {
        Some(tid) => (Some(first), parsed(tid)?),
        None => (None, first),
    };
    Some((comm, pid, tid))
}

/// Returns whether this is a line of `--show-task-events`, `--show-mmap-events` and the like, such as
/// `comm tid time: PERF_RECORD_COMM ..`. Thread names are taken from the events instead.
pub(super) fn is_task_line(line: &[u8]) -> bool {
    if line.starts_with(b"PERF_RECORD_") {
        return true;
    }
    let Some(colon) = memchr::memmem::find(line, b": PERF_RECORD_") else { return false };
    let mut before = line[..colon].rsplit(|byte| matches!(byte, b' ' | b'\t')).filter(|word| !word.is_empty());
    before.next().is_some_and(|time| nanos_from_seconds(time).is_ok()) && before.next().is_some()
}
