//! Fields of `perf script -F` next to the stack of a sample. Data addresses and data sources are kept as text;
//! branches, registers and instructions are ignored.

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
    let has = |key: &[u8]| memchr::memmem::find(text, key).is_some();
    line.starts_with(b"|")
        || text.starts_with(b"ABI:")
        || line[0].is_ascii_whitespace() && (has(b"insn: ") || has(b"ilen: ") || is_label())
        || line.starts_with(b" ") && is_branch(text.split(|&byte| byte == b' ').next().unwrap_or_default())
}

/// Returns whether a word is a branch `from/to/P/-/-/0`, where P or M means predicted or mispredicted.
fn is_branch(word: &[u8]) -> bool {
    word.windows(3).any(|part| matches!(part, b"/P/" | b"/M/" | b"/-/"))
}

/// Splits the fields of a sample into its own fields and its frame `address symbol (file)`. Cuts off branch targets and
/// machine state.
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
    // A physical address follows the file.
    if let Some(close) = memchr::memrchr(b')', text)
        && text[close + 1..].iter().all(|byte| byte.is_ascii_hexdigit() || *byte == b' ')
    {
        text = &text[..=close];
    }
    let is_address = |word: &[u8]| word.len() > 1 && word.iter().all(u8::is_ascii_hexdigit);
    let mut last = None;
    for (at, word) in words(text) {
        let next = text[at + word.len()..].trim_ascii_start();
        if is_address(word) && !next.starts_with(b"|") && next.ends_with(b")") {
            last = Some(at);
        }
        if word.contains(&b'+') || word.starts_with(b"(") {
            break;
        }
    }
    last.map_or((text, &b""[..]), |at| (text[..at].trim_ascii_end(), &text[at..]))
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
            ("x=1 (y)", "x=1 (y)", ""),
        ] {
            assert_eq!(split(fields), (said.to_owned(), frame.to_owned()), "{fields}");
        }
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
