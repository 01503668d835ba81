//! Fields of `perf script -F` next to the stack of a sample. Data addresses and data sources are kept as text;
//! branches, registers, instructions, physical addresses and page sizes are ignored.

use crate::formats::input::text::parsed;

/// Guesses the tracepoint from its fields, for `-F` without the event name.
pub(super) fn event_of_fields(fields: &[u8]) -> &[u8] {
    let has = |key: &[u8]| memchr::memmem::find(fields, key).is_some();
    if fields.starts_with(b"prev_comm=") && has(b" ==> next_comm=") {
        b"sched:sched_switch"
    } else if fields.starts_with(b"comm=") && has(b" target_cpu=") {
        b"sched:sched_wakeup"
    } else {
        b"(unnamed event)"
    }
}

/// Returns whether a name is a hardware or clock event, not a tracepoint `group:name`. Hardware events may have
/// parameters between slashes, or modifiers such as `:uk`.
pub(super) fn is_hardware_event(event: &[u8]) -> bool {
    let restricts =
        |letters: &[u8]| !letters.is_empty() && letters.iter().all(|letter| b"ukhHGSDIWePpb".contains(letter));
    if event.is_empty() || event == b"(unnamed event)" {
        return false;
    }
    match memchr::memchr(b'/', event) {
        Some(slash) => !event[..slash].contains(&b':'),
        None => memchr::memchr(b':', event).is_none_or(|colon| restricts(&event[colon + 1..])),
    }
}

/// Splits a text at its first space or tab. Returns the word before it, and the text from the next word on.
pub(super) fn split_blank(text: &[u8]) -> (&[u8], &[u8]) {
    let (word, rest) = text.split_at(memchr::memchr2(b' ', b'\t', text).unwrap_or(text.len()));
    (word, rest.trim_ascii_start())
}

/// Returns the position of the last space or tab of a text.
pub(super) fn last_blank(text: &[u8]) -> Option<usize> {
    memchr::memrchr2(b' ', b'\t', text)
}

/// Strips the flags of `-F +misc`, as in `comm 12 K`.
pub(super) fn without_misc(before: &[u8]) -> Option<&[u8]> {
    let (text, misc) = before.split_at(last_blank(before)?);
    misc[1..].iter().all(|letter| b"KUHGgEMSp*".contains(letter)).then(|| text.trim_ascii_end())
}

/// Returns whether a line below a sample has machine state: branches, registers, or instructions with source.
pub(super) fn is_machine_line(line: &[u8]) -> bool {
    let text = line.trim_ascii();
    let is_label = || line.starts_with(b"\t") && text.ends_with(b":") && !text.contains(&b' ');
    // Searches for the keys would take longer to prepare than these short lines to scan.
    let has_instruction = || {
        memchr::memchr_iter(b':', text).any(|at| {
            let key = &text[..at];
            text[at + 1..].starts_with(b" ") && (key.ends_with(b"insn") || key.ends_with(b"ilen"))
        })
    };
    line.starts_with(b"|")
        || text.starts_with(b"ABI:")
        || line[0].is_ascii_whitespace() && (has_instruction() || is_label())
        || line.starts_with(b" ") && is_branch(text.split(|&byte| byte == b' ').next().unwrap_or_default())
}

/// Returns whether a line below a stack has the physical address and the page sizes of
/// `-F +phys_addr,data_page_size,code_page_size`, with any of them: `12345000 4K 2M`.
pub(super) fn is_page_line(line: &[u8]) -> bool {
    if !matches!(line.trim_ascii_end().last(), Some(b'K' | b'M' | b'G' | b'A')) {
        return false;
    }
    let mut words = words(line).map(|(_, word)| word).peekable();
    if words.peek().is_some_and(|word| word.iter().all(u8::is_ascii_hexdigit)) {
        words.next();
    }
    words.peek().is_some() && words.all(is_page_size)
}

/// Returns whether a word is the size of a page, such as `4K`.
fn is_page_size(word: &[u8]) -> bool {
    let digits = word.strip_suffix(b"K").or(word.strip_suffix(b"M")).or(word.strip_suffix(b"G"));
    word == b"N/A" || digits.is_some_and(|digits| parsed::<i64>(digits).is_some())
}

/// Returns whether a text is the path of a control group, as `-F +cgroup` prints it.
pub(super) fn is_cgroup(text: &[u8]) -> bool {
    text.starts_with(b"/") && !text.contains(&b' ') || text == b"unknown"
}

/// Splits the call or return that `--call-trace` and `--call-ret-trace` print, as in `return ([kernel.kallsyms])   f`.
/// Returns the text before the function, and the function.
pub(super) fn traced_call(fields: &[u8]) -> Option<(&[u8], &[u8])> {
    let (open, close) = file_extent(fields)?;
    let is_flags = fields[..open].iter().all(|byte| byte.is_ascii_lowercase() || *byte == b' ');
    let function = fields[close..].trim_ascii();
    (is_flags && !function.is_empty()).then_some((&fields[..close], function))
}

/// Returns where the first file in parentheses starts and ends: `(/bin/a (deleted))` or `([vdso])`.
fn file_extent(text: &[u8]) -> Option<(usize, usize)> {
    let is_start = |open: &usize| {
        matches!(text.get(open + 1), Some(b'/' | b'[')) && (*open == 0 || matches!(text[open - 1], b' ' | b'\t'))
    };
    let open = memchr::memchr_iter(b'(', text).find(is_start)?;
    let mut depth = 0;
    let close = memchr::memchr2_iter(b'(', b')', &text[open..]).find(|&at| {
        depth += if text[open + at] == b'(' { 1 } else { -1 };
        depth == 0
    })?;
    Some((open, open + close + 1))
}

/// Returns whether a word is a branch `from/to/P/-/-/0`, where P or M means predicted or mispredicted.
fn is_branch(word: &[u8]) -> bool {
    word.windows(3).any(|part| matches!(part, b"/P/" | b"/M/" | b"/-/"))
}

/// Splits the fields of a sample into its own fields and its frame `address symbol (file)`. Cuts off branch targets,
/// machine state and disassembled instructions.
pub(super) fn sampled_fields(fields: &[u8]) -> (&[u8], &[u8]) {
    let cut = |text: &[u8], mark: &[u8]| memchr::memmem::find(text, mark).unwrap_or(text.len());
    let mut text = &fields[..cut(fields, b" => ")];
    // Most tracepoints have no colon, and a search for a byte needs no preparation.
    if text.contains(&b':') {
        for mark in [&b" insn: "[..], b" ilen: ", b" ABI:", b"\t IPC: "] {
            text = &text[..cut(text, mark)];
        }
    }
    let branch = words(text).find(|&(_, word)| is_branch(word) && !word.starts_with(b"("));
    text = branch.map_or(text, |(at, _)| &text[..at]).trim_ascii_end();
    let Some(extent) = file_extent(text) else { return frame_without_file(text) };
    // The data address of `-F +addr` has its own symbol and file, before the symbol and file of the sample.
    let after = text[extent.1..].trim_ascii_start();
    if is_code_address(split_blank(after).0)
        && let Some(extent) = file_extent(after)
        && let (b"", frame @ [_, ..]) = frame_with_file(after, extent)
    {
        return (text[..text.len() - after.len()].trim_ascii_end(), frame);
    }
    frame_with_file(text, extent)
}

/// Splits fields, whose first file starts and ends at `file` and `close`, into those before the frame and the frame.
fn frame_with_file(mut text: &[u8], (file, close): (usize, usize)) -> (&[u8], &[u8]) {
    // A physical address, sizes of pages or an instruction follow the file.
    let rest = &text[close..];
    if rest.starts_with(b"  ") || rest.starts_with(b"\t") || is_page_line(rest) {
        text = &text[..close];
    }
    if !text.ends_with(b")") {
        return (text, b"");
    }
    let mut last = None;
    for (at, word) in words(text).take_while(|&(at, _)| at < file) {
        let next = text[at + word.len()..].trim_ascii_start();
        // The address of an unknown function may be 0.
        let is_address = word.len() > 1 || next.starts_with(b"[unknown] ");
        // A function after its address may have a name like an address, such as `add`.
        let is_function = last.is_some() && next.starts_with(b"(");
        if is_address && !is_function && word.iter().all(u8::is_ascii_hexdigit) && !next.starts_with(b"|") {
            last = Some(at);
        }
        if word.contains(&b'+') {
            break;
        }
    }
    last.map_or((text, &b""[..]), |at| (text[..at].trim_ascii_end(), &text[at..]))
}

/// Splits off a frame `address symbol`, as printed without the field `dso`. Only other addresses precede it.
fn frame_without_file(text: &[u8]) -> (&[u8], &[u8]) {
    // A function may be named like a number, as `add`.
    let numbers = words(text).take_while(|&(_, word)| word.iter().all(u8::is_ascii_hexdigit));
    let Some((at, address)) = numbers.filter(|&(_, word)| is_code_address(word)).last() else { return (text, b"") };
    let symbol = text[at + address.len()..].trim_ascii_start();
    let is_symbol = symbol.first().is_some_and(|&first| first.is_ascii_alphabetic() || b"_.[<~$".contains(&first));
    if is_symbol { (text[..at].trim_ascii_end(), &text[at..]) } else { (text, b"") }
}

/// Returns whether a word is the address of an instruction. Shorter words may be numbers or names.
fn is_code_address(word: &[u8]) -> bool {
    word.len() >= 6 && word.iter().all(u8::is_ascii_hexdigit) && word.iter().any(u8::is_ascii_digit)
}

/// Returns the words of a text with their positions.
fn words(text: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    let mut at = 0;
    text.split(|&byte| byte == b' ').filter_map(move |word| {
        let begin = at;
        at += word.len() + 1;
        (!word.is_empty()).then_some((begin, word))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(fields: &str) -> (String, String) {
        let (said, frame) = sampled_fields(fields.as_bytes());
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (text(said), text(frame))
    }

    #[test]
    fn fields_of_samples_end_before_machine_state() {
        for (fields, said, frame) in [
            ("7f12 main+0x10 (/bin/a)", "", "7f12 main+0x10 (/bin/a)"),
            (
                "7ff0 |OP LOAD|LVL L1 hit|LCK No   30 55aa f(int)+0x1 (/x)",
                "7ff0 |OP LOAD|LVL L1 hit|LCK No   30",
                "55aa f(int)+0x1 (/x)",
            ),
            ("call    55aa main+0x1 (/x) =>  66bb foo+0x0 (/x)", "call", "55aa main+0x1 (/x)"),
            ("55aa main+0x1 (/x) 0x55/0x66/P/-/-/0  0x1/0x2/M/-/-/1", "", "55aa main+0x1 (/x)"),
            ("55aa main+0x1 (/x) insn: 55 48", "", "55aa main+0x1 (/x)"),
            ("55aa main+0x1 (/x)           1234abcd", "", "55aa main+0x1 (/x)"),
            ("55aa main+0x1 (/x) ABI:2    AX:0x0", "", "55aa main+0x1 (/x)"),
            ("55aa [unknown] (/x (deleted))", "", "55aa [unknown] (/x (deleted))"),
            ("55aa add (/x)", "", "55aa add (/x)"),
            ("55aa (/x)", "", "55aa (/x)"),
            ("55aa main+0x1 (/x (deleted))\t\tpushw $0x1234(%rax)", "", "55aa main+0x1 (/x (deleted))"),
            ("IRQ 236 (interrupt) 0 [unknown] ([unknown])", "IRQ 236 (interrupt)", "0 [unknown] ([unknown])"),
            ("freq: 2189 MHz (200%)", "freq: 2189 MHz (200%)", ""),
            ("x=1 (y)", "x=1 (y)", ""),
            ("ffffffff815fd38b ___pte_offset_map", "", "ffffffff815fd38b ___pte_offset_map"),
            ("7ffd12345678           401136 f(int, char)", "7ffd12345678", "401136 f(int, char)"),
            ("401136 [unknown]", "", "401136 [unknown]"),
            ("401136 add", "", "401136 add"),
            ("1234 main", "1234 main", ""),
            ("facade main", "facade main", ""),
            ("401136", "401136", ""),
            (
                "55e6a590a5c0 name+0x0 (/usr/bin/ls) ffffffff8175336a elf_load+0x28a ([kernel.kallsyms])        0",
                "55e6a590a5c0 name+0x0 (/usr/bin/ls)",
                "ffffffff8175336a elf_load+0x28a ([kernel.kallsyms])",
            ),
            // A hostile line repeats them: only two are looked at.
            (
                "55e6a590a5c0 a (/x) 55e6a590a5c1 b (/x) 55e6a590a5c2 c (/x)",
                "55e6a590a5c0 a (/x)",
                "55e6a590a5c1 b (/x) 55e6a590a5c2 c (/x)",
            ),
            (
                "7ffdeef5e9d9 [unknown] ([stack])     7f7db2b96110 f() const (/x)",
                "7ffdeef5e9d9 [unknown] ([stack])",
                "7f7db2b96110 f() const (/x)",
            ),
        ] {
            assert_eq!(split(fields), (said.to_owned(), frame.to_owned()), "{fields}");
        }
    }

    #[test]
    fn a_long_line_of_frames_takes_neither_a_deep_stack_nor_long() {
        let frame = "55e6a590a5c0 f (/x) ";
        let line = frame.repeat(50_000);
        let (data, frames) = split(&line);
        assert_eq!((data.as_str(), frames.len()), (frame.trim_end(), line.len() - frame.len() - 1));
    }

    #[test]
    fn tracepoints_are_distinguished_from_events_with_modifiers() {
        for (event, is_hardware) in [
            ("cycles", true),
            ("cpu-clock:uhH", true),
            ("cpu/mem-loads,ldlat=30/P", true),
            ("sched:sched_switch", false),
            ("probe:f", false),
            ("bpf:a/b", false),
            ("", false),
        ] {
            assert_eq!(is_hardware_event(event.as_bytes()), is_hardware, "{event}");
        }
    }
}
