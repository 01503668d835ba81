//! Parses lines of `strace` and `ltrace`: the thread, the time, and a call or a part of one. Lines that are not calls
//! become [`StraceEvent::Unknown`].

use crate::formats::input::decimal::nanos_from_seconds;

/// Times with fewer digits before the point are relative.
const EPOCH_DIGITS: usize = 9;

/// A stack line: `file(function+0x1) [0x2]`.
#[derive(Debug)]
pub(super) struct StackLine {
    pub(super) name: Box<[u8]>,
    pub(super) module: Box<[u8]>,
}

/// A parsed line.
#[derive(Debug, Clone, Copy)]
pub(super) struct StraceRecord<'a> {
    /// `None` without `-f`, which traces one thread.
    pub(super) tid: Option<i64>,
    /// Name of the thread (`-Y`); empty if the line has none.
    pub(super) comm: &'a [u8],
    pub(super) ns: i64,
    pub(super) clock: StraceClock,
    pub(super) what: StraceEvent<'a>,
}

/// The clock of a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StraceClock {
    /// Since 1970.
    Utc,
    TimeOfDay,
    /// Since the previous line.
    Distance,
    /// A time of the machine, or since the start of the recording.
    Machine,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum StraceEvent<'a> {
    /// A complete call: `name(args) = result <seconds>`.
    Call {
        name: &'a [u8],
        args: &'a [u8],
        result: &'a [u8],
        dur_ns: Option<i64>,
    },
    /// The start of a call: `name(args <unfinished ...>`.
    Begun {
        name: &'a [u8],
        args: &'a [u8],
    },
    /// The end of a call: `<... name resumed>args) = result <seconds>`.
    Resumed {
        name: &'a [u8],
        args: &'a [u8],
        result: &'a [u8],
        dur_ns: Option<i64>,
    },
    /// `--- signal ---` or `+++ exited with 0 +++`.
    Note(&'a [u8]),
    /// The end of a call that started before the recording; it has no times.
    Skipped,
    Unknown,
}

impl<'a> StraceRecord<'a> {
    pub(super) fn from_line(line: &'a [u8]) -> Option<Self> {
        let mut rest = line.trim_ascii_start();
        let mut owner = None;
        if let Some(after) = rest.strip_prefix(b"[pid ") {
            let end = memchr::memchr(b']', after)?;
            owner = Some(process(after[..end].trim_ascii())?);
            rest = after[end + 1..].trim_ascii_start();
        } else if let Some((first, after)) = process_before_time(rest) {
            owner = Some(first);
            rest = after;
        }
        let (tid, comm) = owner.map_or((None, &b""[..]), |(tid, comm)| (Some(tid), comm));
        let (time, rest) = word(rest);
        let (ns, clock) = if let Some(ns) = time_of_day(time) {
            (ns, StraceClock::TimeOfDay)
        } else {
            let point = memchr::memchr(b'.', time)?;
            let clock = if point >= EPOCH_DIGITS { StraceClock::Utc } else { StraceClock::Distance };
            (nanos_from_seconds(time).ok().filter(|&ns| ns >= 0)?, clock)
        };
        let what = StraceEvent::from_text(without_notes(rest));
        // Rows of the summary table also start with decimal numbers.
        let is_record = clock != StraceClock::Distance || what != StraceEvent::Unknown;
        is_record.then_some(Self { tid, comm, ns, clock, what })
    }
}

/// Process id and name, which may be empty.
type NamedProcess<'a> = (i64, &'a [u8]);

/// Parses a process such as `12` or `12<sh>`.
fn process(text: &[u8]) -> Option<NamedProcess<'_>> {
    let Some(open) = memchr::memchr(b'<', text) else { return Some((number(text)?, b"")) };
    Some((number(&text[..open])?, text[open + 1..].strip_suffix(b">")?))
}

/// Parses the process at the start of a line, and returns it and the rest. Names may contain spaces.
fn process_before_time(text: &[u8]) -> Option<(NamedProcess<'_>, &[u8])> {
    let (first, after) = word(text);
    if let Some(process) = process(first) {
        return Some((process, after));
    }
    let close = memchr::memmem::find(text, b"> ")?;
    Some((process(&text[..=close])?, text[close + 1..].trim_ascii_start()))
}

/// Skips the output of `-r`, `-n` and `-i` between the time and the call: `(+ 0.000027)`, `[ 257]`, `[00007f]`.
fn without_notes(mut rest: &[u8]) -> &[u8] {
    if let Some(distance) = rest.strip_prefix(b"(+")
        && let Some(close) = memchr::memchr(b')', distance)
    {
        rest = distance[close + 1..].trim_ascii_start();
    }
    while let Some(inside) = rest.strip_prefix(b"[")
        && let Some(close) = memchr::memchr(b']', inside)
        && inside[..close].iter().all(|byte| byte.is_ascii_hexdigit() || matches!(byte, b' ' | b'x' | b'?'))
    {
        rest = inside[close + 1..].trim_ascii_start();
    }
    rest
}

impl<'a> StraceEvent<'a> {
    /// Parses the name of a call, and everything after its opening bracket.
    pub(super) fn begun(text: &'a [u8]) -> Self {
        let Some(open) = memchr::memchr(b'(', text) else { return Self::Unknown };
        let (name, args) = (&text[..open], &text[open + 1..]);
        // `ltrace` prints `library->function`, `function@library` and C++ names.
        let is_of_name = |byte: &u8| byte.is_ascii_alphanumeric() || b"_.:~<>@$-".contains(byte);
        if !name.first().is_some_and(|first| first.is_ascii_alphanumeric() || b"_.".contains(first))
            || !name.iter().all(is_of_name)
        {
            return Self::Unknown;
        }
        Self::Begun { name, args }
    }

    pub(super) fn from_text(rest: &'a [u8]) -> Self {
        if let Some(resumed) = rest.strip_prefix(b"<... ") {
            let Some(end) = memchr::memmem::find(resumed, b" resumed>") else { return Self::Unknown };
            let (args, result, dur_ns) = ended(&resumed[end + b" resumed>".len()..]);
            return Self::Resumed { name: &resumed[..end], args, result, dur_ns };
        }
        if rest.starts_with(b"--- ") || rest.starts_with(b"+++ ") {
            return Self::Note(note(rest));
        }
        let Self::Begun { name, args: rest } = Self::begun(rest) else { return Self::Unknown };
        // On a terminal, the attach message of a new process cuts the line of the call that created it.
        if let Some(cut) = memchr::memmem::rfind(rest, b"strace: Process ").filter(|_| rest.ends_with(b" attached")) {
            return Self::Begun { name, args: &rest[..cut] };
        }
        if let Some(args) = rest.strip_suffix(b"<unfinished ...>").or(rest.strip_suffix(b"<no return ...>")) {
            return Self::Begun { name, args: args.trim_ascii_end() };
        }
        let (args, result, dur_ns) = ended(rest);
        if result.is_empty() { Self::Unknown } else { Self::Call { name, args, result, dur_ns } }
    }
}

/// Splits `args) = result <seconds>` into the arguments, the result and the duration. The result is empty if there is
/// none.
fn ended(mut rest: &[u8]) -> (&[u8], &[u8], Option<i64>) {
    let mut dur_ns = None;
    if let Some(timed) = rest.strip_suffix(b">")
        && let Some(open) = memchr::memmem::rfind(timed, b" <")
        && let Ok(ns) = nanos_from_seconds(&timed[open + 2..])
    {
        (rest, dur_ns) = (&timed[..open], Some(ns));
    }
    let Some(equals) = memchr::memmem::rfind(rest, b" = ") else { return (rest, b"", dur_ns) };
    let args = rest[..equals].trim_ascii_end();
    (args.strip_suffix(b")").unwrap_or(args).trim_ascii(), rest[equals + 3..].trim_ascii(), dur_ns)
}

/// Parses a stack line of `-k` below its call: ` > file(function+0x1) [0x2]`, or ` > function+0x1 [0x2]`.
pub(super) fn stack_line(line: &[u8]) -> Option<StackLine> {
    const INDENT: &[u8] = &[b' '; 24];
    if line.starts_with(INDENT) {
        // `perf trace --call-graph` prints `function (file)`.
        let text = line.trim_ascii();
        let (function, file) = text.split_at(memchr::memmem::rfind(text, b" (")?);
        let module = file[2..].strip_suffix(b")")?;
        return Some(StackLine { name: function.into(), module: module.into() });
    }
    let text = line.strip_prefix(b" > ")?.trim_ascii_end();
    let text =
        text.strip_suffix(b"]").and_then(|text| Some(text[..memchr::memmem::rfind(text, b" [0x")?].trim_ascii_end()));
    let text = text.unwrap_or(line[3..].trim_ascii_end());
    let (module, function) =
        match text.strip_suffix(b")").and_then(|inside| Some((inside, memchr::memchr(b'(', inside)?))) {
            Some((inside, open)) => (&text[..open], &inside[open + 1..]),
            None if text.starts_with(b"/") => (text, &b""[..]),
            None => (&b""[..], text),
        };
    let plus = memchr::memmem::rfind(function, b"+0x").unwrap_or(function.len());
    let base = module.rsplit(|&byte| byte == b'/').next().unwrap_or_default();
    let name = if plus == 0 { [b"[", base, b"]"].concat() } else { function[..plus].to_vec() };
    Some(StackLine { name: name.into(), module: module.into() })
}

/// Returns whether a line may belong to a summary table: a ruler, or a percentage followed by more.
pub(super) fn is_of_table(line: &[u8]) -> bool {
    let (first, rest) = word(line.trim_ascii());
    let is_share = || first.contains(&b'.') && first.iter().all(|&byte| byte.is_ascii_digit() || byte == b'.');
    first.starts_with(b"---") || is_share() && !rest.is_empty()
}

/// Returns the text between the marks of `--- signal ---`.
fn note(line: &[u8]) -> &[u8] {
    let (mark, note) = line.split_at(3);
    let note = note.trim_ascii();
    note.strip_suffix(mark).unwrap_or(note).trim_ascii_end()
}

pub(super) fn word(text: &[u8]) -> (&[u8], &[u8]) {
    let (word, rest) = text.split_at(memchr::memchr(b' ', text).unwrap_or(text.len()));
    (word, rest.trim_ascii_start())
}

pub(super) fn number(text: &[u8]) -> Option<i64> {
    let is_number = !text.is_empty() && text.iter().all(u8::is_ascii_digit);
    is_number.then(|| std::str::from_utf8(text).ok()?.parse().ok()).flatten()
}

/// Parses `HH:MM:SS` with optional decimals.
fn time_of_day(text: &[u8]) -> Option<i64> {
    let [hours @ .., b':', m1, m2, b':', s1, s2] = text.get(..8)? else { return None };
    let (hours, minutes) = (number(hours)?, number(&[*m1, *m2])?);
    let seconds = nanos_from_seconds(&[&[*s1, *s2], &text[8..]].concat()).ok()?;
    (hours < 24 && minutes < 60).then_some(seconds + (hours * 60 + minutes) * 60_000_000_000)
}
