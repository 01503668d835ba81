//! Parses lines of `strace` and `ltrace`: the thread, the time, and a call or a part of one. Lines that are not calls
//! become [`StraceEvent::Unknown`].

use crate::formats::input::decimal::nanos_from_seconds;
use crate::formats::input::text::{parsed, split_word};

/// Times with fewer digits before the point are relative.
const EPOCH_DIGITS: usize = 9;

/// Start of the messages about processes.
const MESSAGE: &[u8] = b"strace: Process ";

/// Mark of an `execve` that gives its thread the id of its process.
const PID_CHANGED: &[u8] = b"<pid changed to ";

/// A message that a process is traced from now on, or no longer.
#[derive(Debug, Clone, Copy, PartialEq)]
struct ProcessMessage {
    id: i64,
    is_attached: bool,
}

/// A stack line: `file(function+0x1) [0x2]`.
#[derive(Debug)]
pub(super) struct StackLine {
    pub(super) name: Box<[u8]>,
    pub(super) module: Box<[u8]>,
}

/// A line, split into thread, time and event.
#[derive(Debug, Clone, Copy)]
pub(super) struct StraceRecord<'a> {
    /// `None` without `-f`, which traces one thread.
    pub(super) tid: Option<i64>,
    /// Name of the thread (`-Y`); empty if the line has none.
    pub(super) comm: &'a [u8],
    pub(super) ns: i64,
    pub(super) clock: StraceClock,
    pub(super) event: StraceEvent<'a>,
}

/// The clock of a time, which was rounded down to a multiple of its tick.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StraceClock {
    Utc {
        tick_ns: i64,
    },
    TimeOfDay {
        tick_ns: i64,
    },
    /// Since the previous line.
    Distance {
        tick_ns: i64,
    },
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
    /// The start of an `execve` that ends in another thread: `execve(args <pid changed to 12 ...>`.
    PidChanged {
        name: &'a [u8],
        args: &'a [u8],
        new_id: i64,
    },
    /// A call that is interrupted at its end: `<... name resumed>args <unfinished ...>`.
    Interrupted {
        name: &'a [u8],
        args: &'a [u8],
    },
    /// The start or the end of a call that other output cuts; it goes on in a later line without a time.
    Cut {
        name: &'a [u8],
        args: &'a [u8],
        is_resumed: bool,
        /// Whether a message of `strace` cuts it. Otherwise it may be something else.
        is_by_message: bool,
    },
    /// The end of a call: `<... name resumed>args) = result <seconds>`.
    Resumed {
        name: &'a [u8],
        args: &'a [u8],
        result: &'a [u8],
        dur_ns: Option<i64>,
    },
    /// An event without an end that has arguments, such as a tracepoint of `perf trace`.
    Instant {
        name: &'a [u8],
        args: &'a [u8],
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
        let (time, rest) = split_word(without_context(rest));
        let tick_ns = tick_ns(time);
        let (ns, clock) = if let Some(ns) = time_of_day(time) {
            (ns, StraceClock::TimeOfDay { tick_ns })
        } else {
            let point = memchr::memchr(b'.', time)?;
            let is_utc = point >= EPOCH_DIGITS;
            let clock = if is_utc { StraceClock::Utc { tick_ns } } else { StraceClock::Distance { tick_ns } };
            (nanos_from_seconds(time).ok().filter(|&ns| ns >= 0)?, clock)
        };
        let event = StraceEvent::from_text(without_notes(rest));
        // Rows of the summary table also start with decimal numbers.
        let is_record = !matches!(clock, StraceClock::Distance { .. }) || event != StraceEvent::Unknown;
        is_record.then_some(Self { tid, comm, ns, clock, event })
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
    let (first, after) = split_word(text);
    if let Some(process) = process(first) {
        return Some((process, after));
    }
    let close = memchr::memmem::find(text, b"> ")?;
    Some((process(&text[..=close])?, text[close + 1..].trim_ascii_start()))
}

/// Skips the security context that `--secontext` prints before the time, such as `[unconfined_t]`.
fn without_context(rest: &[u8]) -> &[u8] {
    let (word, after) = split_word(rest);
    if word.starts_with(b"[") && word.ends_with(b"]") { after } else { rest }
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
            // `strace` prints a call that it cannot read, because its thread was killed, as `????(`.
            return if name == b"????" { Self::Begun { name, args } } else { Self::Unknown };
        }
        Self::Begun { name, args }
    }

    /// Parses the name of a call, which may be a C++ function with its parameters: `operator new(unsigned long)(5)`.
    /// Other lines are as for [`Self::begun`].
    fn begun_with_parameters(text: &'a [u8]) -> Self {
        let narrow = Self::begun(text);
        match narrow {
            Self::Begun { args, .. } if !ends_in_parameters(args) => narrow,
            _ => demangled_call(text).map_or(narrow, |(name, args)| Self::Begun { name, args }),
        }
    }

    pub(super) fn from_text(rest: &'a [u8]) -> Self {
        if let Some(resumed) = rest.strip_prefix(b"<... ") {
            let Some(end) = memchr::memmem::find(resumed, b" resumed>") else { return Self::Unknown };
            let name = &resumed[..end];
            return match CallRest::from_resumed(&resumed[end + b" resumed>".len()..]) {
                CallRest::Done { args, result, dur_ns } => Self::Resumed { name, args, result, dur_ns },
                CallRest::Unfinished { args } | CallRest::PidChanged { args, .. } => Self::Interrupted { name, args },
                CallRest::Cut { args, is_by_message } => Self::Cut { name, args, is_resumed: true, is_by_message },
            };
        }
        if rest.starts_with(b"--- ") || rest.starts_with(b"+++ ") {
            return Self::Note(note(rest));
        }
        // `ltrace` stops one thread at the breakpoint of a function while another steps over it.
        if let Some(address) = rest.strip_prefix(b"unexpected breakpoint at ") {
            return Self::Instant { name: b"unexpected breakpoint", args: address };
        }
        let Self::Begun { name, args: rest } = Self::begun_with_parameters(rest) else { return Self::Unknown };
        match CallRest::from_text(rest) {
            CallRest::Done { args, result, dur_ns } => Self::Call { name, args, result, dur_ns },
            CallRest::Unfinished { args } => Self::Begun { name, args },
            CallRest::PidChanged { args, new_id } => Self::PidChanged { name, args, new_id },
            CallRest::Cut { args, is_by_message } => Self::Cut { name, args, is_resumed: false, is_by_message },
        }
    }
}

/// Returns whether the first bracket of a call contains parameters of its name. `args` is the text after the bracket.
/// Nothing but a result follows the bracket of arguments.
fn ends_in_parameters(args: &[u8]) -> bool {
    // Most lines of `strace` have no second bracket.
    if memchr::memchr(b'(', args).is_none() {
        return false;
    }
    let mut depth = 1;
    for (at, byte) in args.iter().enumerate() {
        match byte {
            b'(' => depth += 1,
            b')' => depth -= 1,
            b'"' | b'\'' => return false,
            _ => {}
        }
        if depth == 0 {
            return !matches!(args[at + 1..].trim_ascii_start().first(), None | Some(b'=' | b'<'));
        }
    }
    false
}

/// Splits a call of `ltrace -C` into its name and the text after the bracket of its arguments. This is the last
/// outermost bracket before the result. Returns `None` for other lines.
fn demangled_call(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let (mut depth, mut open) = (0_usize, None);
    for (at, byte) in text.iter().enumerate() {
        match byte {
            b'(' => {
                if depth == 0 {
                    open = Some(at);
                }
                depth += 1;
            }
            b')' => depth = depth.checked_sub(1)?,
            // Names have no strings, so these are in the arguments.
            b'"' | b'\'' => break,
            b' ' if depth == 0 && text[at + 1..].starts_with(b"= ") => break,
            _ => {}
        }
    }
    let (name, rest) = text.split_at(open?);
    let rest = &rest[1..];
    let is_first = |first: &u8| first.is_ascii_alphanumeric() || b"_.(~".contains(first);
    // Text of other programs has spaces in front of its brackets, or before the first of them.
    let is_name = name.first().is_some_and(is_first)
        && !name.ends_with(b" ")
        && (name.contains(&b')') || !name.contains(&b' '))
        && name.iter().all(|byte| !byte.is_ascii_control())
        // A descriptor with its path, or a comment, is an argument.
        && !name.windows(2).any(|pair| matches!(pair, b"</" | b"/*"));
    let is_call = match CallRest::from_text(rest) {
        CallRest::Done { .. } => is_closed(rest),
        CallRest::Unfinished { .. } => true,
        _ => false,
    };
    (is_name && is_call).then_some((name, rest))
}

/// A line after the opening bracket of a call, or after `resumed>`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum CallRest<'a> {
    /// `args) = result <seconds>`.
    Done { args: &'a [u8], result: &'a [u8], dur_ns: Option<i64> },
    /// `args <unfinished ...>`.
    Unfinished { args: &'a [u8] },
    /// `args <pid changed to 12 ...>`.
    PidChanged { args: &'a [u8], new_id: i64 },
    /// The arguments up to a message, or up to the end of the line.
    Cut { args: &'a [u8], is_by_message: bool },
}

impl<'a> CallRest<'a> {
    pub(super) fn args(&self) -> &'a [u8] {
        let (Self::Done { args, .. }
        | Self::Unfinished { args }
        | Self::PidChanged { args, .. }
        | Self::Cut { args, .. }) = self;
        args
    }

    fn from_text(rest: &'a [u8]) -> Self {
        if let Some(at) = memchr::memmem::rfind(rest, MESSAGE)
            && process_message(&rest[at..]).is_some()
        {
            return Self::Cut { args: &rest[..at], is_by_message: true };
        }
        for mark in [&b"<unfinished ...>"[..], b"<no return ...>", b"<detached ...>"] {
            if let Some(args) = rest.strip_suffix(mark) {
                return Self::Unfinished { args: args.trim_ascii_end() };
            }
        }
        if let Some(inside) = rest.strip_suffix(b" ...>")
            && let Some(at) = memchr::memmem::rfind(inside, PID_CHANGED)
            && let Some(new_id) = number(&inside[at + PID_CHANGED.len()..])
        {
            return Self::PidChanged { args: rest[..at].trim_ascii_end(), new_id };
        }
        let (args, result, dur_ns) = ended(rest);
        if result.is_empty() {
            return Self::Cut { args: rest, is_by_message: false };
        }
        // A call that is killed has no result, and the mark before `) = ?`.
        let args = args.strip_suffix(b"<unfinished ...>").map_or(args, <[u8]>::trim_ascii_end);
        Self::Done { args, result, dur_ns }
    }

    /// Parses the end of a call, whose result may be missing: `ltrace -S` prints none for a call that a signal
    /// interrupts.
    fn from_resumed(rest: &'a [u8]) -> Self {
        match Self::from_text(rest) {
            Self::Cut { is_by_message: false, .. } if is_closed(rest) => {
                let (args, result, dur_ns) = ended(rest);
                Self::Done { args, result, dur_ns }
            }
            other => other,
        }
    }

    /// Parses a line that continues a call that was cut, such as `, tidptr=0x5) = 12`. Returns `None` if it does not.
    pub(super) fn continuing(line: &'a [u8]) -> Option<Self> {
        let rest = Self::from_text(line);
        match rest {
            Self::Done { .. } => is_closed(line).then_some(rest),
            Self::Cut { is_by_message: false, .. } => None,
            _ => Some(rest),
        }
    }
}

/// Returns whether the bracket of the arguments closes before the result, as in `args) = result`.
fn is_closed(rest: &[u8]) -> bool {
    memchr::memmem::rfind(rest, b" = ").is_some_and(|equals| rest[..equals].trim_ascii_end().ends_with(b")"))
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
    (args.strip_suffix(b")").unwrap_or(args).trim_ascii_end(), rest[equals + 3..].trim_ascii(), dur_ns)
}

/// Returns the message if `strace` itself printed the line, without the path that started it.
pub(super) fn tracer_message(line: &[u8]) -> Option<&[u8]> {
    let (path, message) = line.split_at(memchr::memmem::find(line, b"strace: ")?);
    (path.is_empty() || path.ends_with(b"/") && !path.contains(&b' ')).then_some(message)
}

/// Returns the process that is traced from now on, according to the message at the end of a line.
pub(super) fn attached_process(line: &[u8]) -> Option<i64> {
    let message = &line[memchr::memmem::rfind(line, MESSAGE)?..];
    process_message(message).filter(|message| message.is_attached).map(|message| message.id)
}

/// Parses `strace: Process 12 attached`, also `detached` and `attached with 3 threads`.
fn process_message(text: &[u8]) -> Option<ProcessMessage> {
    let (id, change) = split_word(text.strip_prefix(MESSAGE)?);
    let is_attached = change == b"attached" || change.starts_with(b"attached with ");
    (is_attached || change == b"detached").then_some(())?;
    Some(ProcessMessage { id: number(id)?, is_attached })
}

/// Returns whether a line has data that `-e read=` or `-e write=` prints below a call: ` | 00000  68 65  he |`. The
/// data of a buffer has a heading, ` * 2 bytes in buffer 0`.
pub(super) fn is_dump_line(line: &[u8]) -> bool {
    if let Some(heading) = line.strip_prefix(b" * ") {
        let (count, rest) = split_word(heading);
        return number(count).is_some() && rest.starts_with(b"bytes in buffer ");
    }
    let Some(row) = line.strip_prefix(b" | ").and_then(|row| row.strip_suffix(b" |")) else { return false };
    let (offset, _) = split_word(row);
    !offset.is_empty() && offset.iter().all(u8::is_ascii_hexdigit)
}

/// Parses a stack line of `-k` below its call: ` > file(function+0x1) [0x2]`, or ` > function+0x1 [0x2]`. The source
/// line that `-kk` prints before the address is ignored.
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
    let (module, function) = module_and_function(text).unwrap_or_else(|| {
        match text.strip_suffix(b")").and_then(|inside| Some((inside, memchr::memchr(b'(', inside)?))) {
            Some((inside, open)) => (&text[..open], &inside[open + 1..]),
            None if text.starts_with(b"/") => (text, &b""[..]),
            None => (&b""[..], text),
        }
    });
    let plus = memchr::memmem::rfind(function, b"+0x").unwrap_or(function.len());
    let base = module.rsplit(|&byte| byte == b'/').next().unwrap_or_default();
    let name = if plus == 0 { [b"[", base, b"]"].concat() } else { function[..plus].to_vec() };
    Some(StackLine { name: name.into(), module: module.into() })
}

/// Splits `file(function+0x1)`, which a source line may follow. Files and functions may contain brackets.
fn module_and_function(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let plus = memchr::memmem::rfind(text, b"+0x")?;
    let digits = text[plus + 3..].iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
    let close = plus + 3 + digits;
    if text.get(close) != Some(&b')') {
        return None;
    }
    let mut depth = 0;
    let open = text[..close].iter().rposition(|byte| {
        depth += i32::from(*byte == b'(') - i32::from(*byte == b')');
        depth > 0
    })?;
    let file = text[..open].strip_suffix(b" (deleted)").unwrap_or(&text[..open]);
    Some((file, &text[open + 1..close]))
}

/// Returns whether a line may belong to a summary table: a ruler, or a percentage followed by more.
pub(super) fn is_of_table(line: &[u8]) -> bool {
    let (first, rest) = split_word(line.trim_ascii());
    let is_share = || first.contains(&b'.') && first.iter().all(|&byte| byte.is_ascii_digit() || byte == b'.');
    first.starts_with(b"---") || is_share() && !rest.is_empty()
}

/// Returns the text between the marks of `--- signal ---`.
fn note(line: &[u8]) -> &[u8] {
    let (mark, note) = line.split_at(3);
    let note = note.trim_ascii();
    note.strip_suffix(mark).unwrap_or(note).trim_ascii_end()
}

/// Parses a number without a sign.
pub(super) fn number(text: &[u8]) -> Option<i64> {
    let is_number = !text.is_empty() && text.iter().all(u8::is_ascii_digit);
    if is_number { parsed(text) } else { None }
}

/// Returns the unit of a time's last digit.
fn tick_ns(time: &[u8]) -> i64 {
    let decimals = memchr::memchr(b'.', time).map_or(0, |point| time.len() - point - 1);
    (0..decimals).fold(1_000_000_000, |tick_ns, _| (tick_ns / 10).max(1))
}

/// Parses `HH:MM:SS` with optional decimals.
fn time_of_day(text: &[u8]) -> Option<i64> {
    let [hours @ .., b':', m1, m2, b':', s1, s2] = text.get(..8)? else { return None };
    let (hours, minutes) = (number(hours)?, number(&[*m1, *m2])?);
    let seconds = nanos_from_seconds(&[&[*s1, *s2], &text[8..]].concat()).ok()?;
    (hours < 24 && minutes < 60).then_some(seconds + (hours * 60 + minutes) * 60_000_000_000)
}
