//! Detection of unsupported binary formats. Each checks more than the magic number if that is short or missing.

use crate::base::bytes::{u32_at, u64_at};
use crate::formats::input::lines::head_lines;
use crate::formats::input::page_head::is_page;

pub(super) const SQLITE: &[u8] = b"SQLite format 3\0";

/// Returns whether this is a Windows program: a DOS header that locates a PE header.
pub(super) fn is_windows_program(head: &[u8]) -> bool {
    let windows = u32_at(head, 0x3c).and_then(|at| head.get(usize::try_from(at).ok()?..));
    head.starts_with(b"MZ") && windows.is_some_and(|windows| windows.starts_with(b"PE\0\0"))
}

/// Returns whether this is a PNG, JPEG, GIF or WebP picture.
pub(super) fn is_picture(head: &[u8]) -> bool {
    let beginnings: [&[u8]; 4] = [b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF87a", b"GIF89a"];
    let is_webp = head.starts_with(b"RIFF") && head.get(8..).is_some_and(|kind| kind.starts_with(b"WEBP"));
    is_webp || beginnings.iter().any(|beginning| head.starts_with(beginning))
}

/// Returns whether this is a gperftools CPU profile: words with 0, header length, version, period and 0. They have the
/// size and the byte order of the machine.
pub(super) fn is_gperftools(head: &[u8]) -> bool {
    let is_header = |word: &dyn Fn(usize) -> Option<u64>| {
        let period_us = word(3).unwrap_or(0);
        [word(0), word(1), word(2), word(4)] == [Some(0), Some(3), Some(0), Some(0)]
            && (1..10_000_000).contains(&period_us)
    };
    let (long, short) = (|index: usize| u64_at(head, 8 * index), |index: usize| u32_at(head, 4 * index));
    is_header(&|index| long(index))
        || is_header(&|index| long(index).map(u64::swap_bytes))
        || is_header(&|index| short(index).map(u64::from))
        || is_header(&|index| short(index).map(|word| word.swap_bytes().into()))
}

/// Returns whether this is the header of an LLVM `XRay` log: version, kind, flags, clock frequency.
pub(super) fn is_xray(head: &[u8]) -> bool {
    /// Plausible clock frequencies: 1 MHz to 100 GHz.
    const CLOCKS_HZ: std::ops::RangeInclusive<u64> = 1_000_000..=100_000_000_000;
    let (Some(kinds), Some(flags), Some(clock_hz)) = (u32_at(head, 0), u32_at(head, 4), u64_at(head, 8)) else {
        return false;
    };
    let (version, kind) = (kinds & 0xffff, kinds >> 16);
    // Two flags are defined; logs of the basic mode have rests of memory in the others.
    (1..=5).contains(&version) && kind <= 1 && flags <= 0xff && CLOCKS_HZ.contains(&clock_hz)
}

/// Returns whether this is the first buffer of an ETW log. It starts with its size, a power of two, and the used part;
/// a log header with the same buffer size follows.
pub(super) fn is_etl(head: &[u8]) -> bool {
    let word = |at: usize| u32_at(head, at).unwrap_or(0);
    let size = word(0);
    let fits = size.is_power_of_two() && (1 << 10..=1 << 24).contains(&size) && word(4) <= size && word(8) <= size;
    fits && head.len() >= 0x70 && (word(0x68) == size || head[12..0x48].iter().all(|&byte| byte == 0))
}

/// Returns whether this is an `XSpace` of the XLA profiler: its first field is a plane whose name starts with a slash.
pub(super) fn is_xplane(head: &[u8]) -> bool {
    let Some((0x0a, rest)) = head.split_first().map(|(first, rest)| (*first, rest)) else { return false };
    let len = rest.iter().take(10).take_while(|&&byte| byte & 0x80 != 0).count() + 1;
    let plane = rest.get(len..).unwrap_or_default();
    let id = plane.strip_prefix(&[0x08]).map_or(plane, |rest| {
        let len = rest.iter().take(10).take_while(|&&byte| byte & 0x80 != 0).count() + 1;
        rest.get(len..).unwrap_or_default()
    });
    matches!(id, [0x12, _, name @ ..] if name.starts_with(b"/host:") || name.starts_with(b"/device:"))
}

/// Returns whether this is a dictionary of tuples in Python's marshal format, as saved by cProfile.
pub(super) fn is_pstats(head: &[u8]) -> bool {
    // The dictionary and a tuple of three, small or not, each with or without a reference flag.
    let tuple = head.strip_prefix(b"{").or_else(|| head.strip_prefix(b"\xfb")).unwrap_or_default();
    [&b"\xa9\x03"[..], b")\x03", b"(\x03\0\0\0", b"\xa8\x03\0\0\0"].iter().any(|begin| tuple.starts_with(begin))
}

/// Returns whether these are stacks of gdb: `Thread 1 (..`, or `#0  ..` after the first lines. Messages come before.
pub(super) fn is_gdb_stacks(head: &[u8]) -> bool {
    let is_thread = |line: &[u8]| {
        let rest = line.strip_prefix(b"Thread ").unwrap_or_default();
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        digits > 0 && rest[digits..].starts_with(b" (")
    };
    has_line(head, b"#0  ") || head_lines(head).any(is_thread)
}

/// Returns whether this is a dictionary of symbols in Ruby's marshal format, with the keys of stackprof.
pub(super) fn is_stackprof(head: &[u8]) -> bool {
    let has = |key: &[u8]| memchr::memmem::find(&head[..head.len().min(256)], key).is_some();
    head.starts_with(b"\x04\x08{") && has(b"mode") && (has(b"version") || has(b"interval"))
}

/// Returns whether the text is from heaptrack: a line `v` with versions, then `X`, `I` or the like.
pub(super) fn is_heaptrack(head: &[u8]) -> bool {
    let mut lines = head_lines(head);
    let is_version = lines.next().is_some_and(|line| {
        let mut words = line.split(|&byte| byte == b' ');
        words.next() == Some(b"v") && words.next().is_some_and(|word| word.iter().all(u8::is_ascii_hexdigit))
    });
    is_version && lines.next().is_some_and(|line| matches!(line, [b'X' | b'I' | b'x' | b's' | b'R', b' ', ..]))
}

/// Returns whether a page has this text near its start.
pub(super) fn is_page_with(head: &[u8], text: &str) -> bool {
    is_page(head) && memchr::memmem::find(head, text.as_bytes()).is_some()
}

/// Returns whether one of the first lines starts with this text.
pub(super) fn has_line(head: &[u8], begin: &[u8]) -> bool {
    head_lines(head).take(20).any(|line| line.starts_with(begin))
}

/// Returns whether one of the first lines contains this text.
pub(super) fn has_word(head: &[u8], word: &[u8]) -> bool {
    head_lines(head).take(20).any(|line| memchr::memmem::find(line, word).is_some())
}

/// Returns whether this is a packet capture: pcap in either byte order and time unit, or pcapng, whose byte order
/// follows its length.
pub(super) fn is_pcap(head: &[u8]) -> bool {
    let magics: [&[u8]; 4] = [b"\xd4\xc3\xb2\xa1", b"\xa1\xb2\xc3\xd4", b"\x4d\x3c\xb2\xa1", b"\xa1\xb2\x3c\x4d"];
    let is_next = || matches!(head.get(8..12), Some(b"\x4d\x3c\x2b\x1a" | b"\x1a\x2b\x3c\x4d"));
    magics.iter().any(|magic| head.starts_with(magic)) || head.starts_with(b"\n\r\r\n") && is_next()
}

/// Returns whether this is an ELF core dump, in either byte order.
pub(super) fn is_core_dump(head: &[u8]) -> bool {
    head.starts_with(b"\x7fELF") && matches!(head.get(16..18), Some([4, 0] | [0, 4]))
}

/// Returns whether this is a macOS program for one or several machines. Java classes start like the latter, but with a
/// larger number.
pub(super) fn is_mach_program(head: &[u8]) -> bool {
    /// Maximum number of machines of a program.
    const MACHINES_MAX: u32 = 20;
    let machines = || head.get(4..).and_then(|rest| Some(u32::from_be_bytes(*rest.first_chunk()?)));
    let is_one = [b"\xcf\xfa\xed\xfe", b"\xce\xfa\xed\xfe"].iter().any(|magic| head.starts_with(*magic));
    is_one || head.starts_with(b"\xca\xfe\xba\xbe") && machines().is_some_and(|machines| machines <= MACHINES_MAX)
}

/// Returns whether these are `TensorFlow` records that start with the version of `TensorBoard` events.
pub(super) fn is_tfrecord_of_events(head: &[u8]) -> bool {
    let len = u64_at(head, 0).unwrap_or(0);
    (1..=64).contains(&len) && memchr::memmem::find(&head[..head.len().min(96)], b"brain.Event:").is_some()
}

/// Returns whether this is a value change dump, whose sections start with a dollar sign and a word.
pub(super) fn is_value_dump(head: &[u8]) -> bool {
    let sections: [&[u8]; 4] = [b"$date", b"$version", b"$comment", b"$timescale"];
    sections.iter().any(|section| head.starts_with(section)) && memchr::memmem::find(head, b"$end").is_some()
}

/// Returns whether these are stacks with frames numbered from 0, each a function and `file:line`.
pub(super) fn is_phpspy(head: &[u8]) -> bool {
    let is_frame = |line: &[u8], number: &[u8]| {
        let Some((frame, line)) = line.strip_prefix(number).zip(memchr::memrchr(b':', line).map(|at| &line[at + 1..]))
        else {
            return false;
        };
        let digits = line.strip_prefix(b"-").unwrap_or(line);
        frame.contains(&b' ') && !digits.is_empty() && digits.iter().all(u8::is_ascii_digit)
    };
    let mut lines = head_lines(head).filter(|line| !line.starts_with(b"#"));
    lines.next().is_some_and(|line| is_frame(line, b"0 ")) && lines.next().is_some_and(|line| is_frame(line, b"1 "))
}

/// Returns whether this is a profile of Go's `net/http/pprof` with `debug=1`. The heap profiles of gperftools begin
/// like Go's, but do not have the type `heap`.
pub(super) fn is_go_text_profile(head: &[u8]) -> bool {
    let first = head_lines(head).next().unwrap_or_default();
    let has = |text: &[u8]| memchr::memmem::find(first, text).is_some();
    first.starts_with(b"heap profile: ") && has(b"] @ heap/")
        || [&b"goroutine profile: total "[..], b"threadcreate profile: total "].iter().any(|it| first.starts_with(it))
        || matches!(first.trim_ascii_end(), b"--- contention:" | b"--- mutex:") && has_line(head, b"cycles/second=")
}

/// Returns whether these are counts of `perf stat`, as a table, separated by commas, or as JSON below a comment.
pub(super) fn is_perf_stat(head: &[u8]) -> bool {
    head.starts_with(b"# started on ")
        || head.starts_with(b"#           time ") && has_word(head, b"counts unit events")
        || has_word(head, b"Performance counter stats for ")
}

/// Returns whether this is GCC's table of the time of each phase.
pub(super) fn is_gcc_time_report(head: &[u8]) -> bool {
    has_line(head, b"Time variable ") && has_line(head, b" phase setup ")
}

/// Returns whether bpftrace has written this before the output of a script.
pub(super) fn is_start_of_bpftrace(head: &[u8]) -> bool {
    let first = head_lines(head).next().unwrap_or_default().trim_ascii_end();
    first.starts_with(b"Attaching ") && [&b" probe..."[..], b" probes..."].iter().any(|end| first.ends_with(end))
}

/// Returns whether the first line has column titles of `strace -c` or `ltrace -c`, in any order and number, and the
/// second line is their ruler.
pub(super) fn is_strace_summary(head: &[u8]) -> bool {
    const TITLES: [&[u8]; 10] = [
        b"% time",
        b"seconds",
        b"usecs/call",
        b"calls",
        b"errors",
        b"syscall",
        b"shortest",
        b"longest",
        b"min time",
        b"max time",
    ];
    let mut lines = head_lines(head);
    let mut titles = lines.next().unwrap_or_default().trim_ascii();
    let has_titles = !titles.is_empty();
    while let Some(rest) = TITLES.iter().find_map(|title| titles.strip_prefix(*title)) {
        titles = rest.trim_ascii_start();
    }
    let ruler = lines.next().unwrap_or_default().trim_ascii();
    let is_ruler = ruler.starts_with(b"------") && ruler.iter().all(|byte| matches!(byte, b'-' | b' '));
    has_titles && is_ruler && (titles.is_empty() || titles == b"function")
}

/// Returns whether this is what a command of `uftrace` prints: `replay`, `report`, `graph`, `dump` or `info`.
pub(super) fn is_uftrace_text(head: &[u8]) -> bool {
    let mut lines = head_lines(head);
    let first = lines.next().unwrap_or_default().trim_ascii_end();
    let second = lines.next().unwrap_or_default().trim_ascii();
    let ends = |names: [&[u8]; 2]| names.iter().any(|name| first.ends_with(name));
    let is_ruler = second.starts_with(b"==") && second.iter().all(|byte| matches!(byte, b'=' | b' '));
    let is_replay = first.starts_with(b"#") && first.ends_with(b" FUNCTION") && second.contains(&b'|');
    is_replay
        || first.starts_with(b"# DURATION")
        || is_ruler && ends([b"  Function", b"  Task name"])
        || [&b"# uftrace diff"[..], b"# Function Call Graph for '", b"========== TASK GRAPH", b"uftrace file header: "]
            .iter()
            .any(|begin| has_line(head, begin))
        || head.starts_with(b"# version\":\"uftrace")
        || head.starts_with(b"# system information\n") && has_line(head, b"# program version ")
        || has_line(head, b"#   TIMESTAMP        DURATION")
}

/// Returns whether the first line has all of these texts.
pub(super) fn first_line_has(head: &[u8], texts: &[&str]) -> bool {
    let first = head_lines(head).next().unwrap_or_default();
    texts.iter().all(|text| memchr::memmem::find(first, text.as_bytes()).is_some())
}

/// Returns whether this is a JSON object with this first key.
pub(super) fn begins_with_key(head: &[u8], key: &str) -> bool {
    let head = head.trim_ascii_start();
    let first = head.strip_prefix(b"{").map(<[u8]>::trim_ascii_start).unwrap_or_default();
    first.starts_with(format!("\"{key}\"").as_bytes())
}

/// Returns whether a key `trace_id` has an id of AWS X-Ray, such as `1-5759e988-bd862e3fe1be46a994272793`.
pub(super) fn has_xray_id(head: &[u8]) -> bool {
    const KEY: &[u8] = b"\"trace_id\"";
    memchr::memmem::find_iter(head, KEY).any(|at| {
        let value = head[at + KEY.len()..].trim_ascii_start().strip_prefix(b":").unwrap_or_default().trim_ascii_start();
        let id = value.strip_prefix(b"\"1-").unwrap_or_default();
        matches!(id.split_at_checked(8), Some((time, [b'-', ..])) if time.iter().all(u8::is_ascii_hexdigit))
    })
}

/// Returns the name of the first element of an XML document, after its declaration, document type and comments.
pub(super) fn first_element(head: &[u8]) -> &[u8] {
    let mut rest = head.trim_ascii_start();
    loop {
        let end: &[u8] = match rest {
            [b'<', b'?', ..] => b"?>",
            [b'<', b'!', b'-', b'-', ..] => b"-->",
            [b'<', b'!', ..] => b">",
            [b'<', name @ ..] => {
                let len = name.iter().take_while(|byte| byte.is_ascii_alphanumeric()).count();
                return &name[..len];
            }
            _ => return b"",
        };
        let Some(at) = memchr::memmem::find(rest, end) else { return b"" };
        rest = rest[at + end.len()..].trim_ascii_start();
    }
}

/// Returns whether these are indented stacks of `DTrace`: a module and a function per frame, and a count below each
/// stack.
pub(super) fn is_dtrace_stacks(head: &[u8]) -> bool {
    let is_function = |line: &[u8]| line.starts_with(b" ") && line.contains(&b'`');
    let is_frame = |line: &&[u8]| is_function(line) || line.trim_ascii().starts_with(b"0x");
    let is_count = |line: &[u8]| line.trim_ascii().iter().all(u8::is_ascii_digit);
    let mut lines = head_lines(head).filter(|line| !line.trim_ascii().is_empty());
    lines.next().is_some_and(is_function) && lines.find(|line| !is_frame(line)).is_some_and(is_count)
}

/// Returns whether this is a pickle of Python's `line_profiler`.
pub(super) fn is_line_profile(head: &[u8]) -> bool {
    let has = |text: &[u8]| memchr::memmem::find(&head[..head.len().min(96)], text).is_some();
    head.starts_with(b"\x80") && has(b"line_profiler") && has(b"LineStats")
}

/// Returns whether one of the first lines is a collection of V8, such as `[7:0x27830c00]  184 ms: Scavenge`.
pub(super) fn is_trace_gc(head: &[u8]) -> bool {
    head_lines(head).take(20).any(|line| {
        let rest = line.strip_prefix(b"[").unwrap_or_default();
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        digits > 0 && rest[digits..].starts_with(b":0x") && memchr::memmem::find(rest, b" ms: ").is_some()
    })
}

/// Returns whether this is a container of apitrace: a magic number and the size of a chunk, which has a megabyte
/// unpacked.
pub(super) fn is_apitrace(head: &[u8]) -> bool {
    const CHUNK_BYTES: std::ops::Range<u32> = 1..2 << 20;
    head.starts_with(b"at") && u32_at(head, 2).is_some_and(|bytes| CHUNK_BYTES.contains(&bytes))
}

/// Returns whether the first lines are hexadecimal addresses, sizes and names of functions.
pub(super) fn is_perf_map(head: &[u8]) -> bool {
    let is_entry = |line: &[u8]| {
        let mut words = line.split(|&byte| byte == b' ');
        let mut is_hex = |digits_min: usize| {
            let word = words.next().unwrap_or_default();
            let digits = word.strip_prefix(b"0x").unwrap_or(word);
            digits.len() >= digits_min && digits.iter().all(u8::is_ascii_hexdigit)
        };
        is_hex(4) && is_hex(1) && words.next().is_some_and(|name| !name.is_empty())
    };
    let mut lines = head_lines(head).filter(|line| !line.is_empty()).take(20).peekable();
    lines.peek().is_some() && lines.all(is_entry)
}

/// Returns whether this is a trace file of Erlang: a zero, a size and an external term, which is a trace message.
pub(super) fn is_erlang_trace(head: &[u8]) -> bool {
    let term = head.strip_prefix(b"\0").and_then(|rest| rest.get(4..)).unwrap_or_default();
    term.starts_with(b"\x83h") && memchr::memmem::find(&term[..term.len().min(16)], b"trace").is_some()
}
