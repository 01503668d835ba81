//! Detection of unsupported logs by their lines: of the kernel, of Java's virtual machine, and counts of bpftrace.

use super::bytes::has_word;
use crate::formats::input::lines::head_lines;

/// Returns whether the first line belongs to the log of the kernel: `[    0.000000] text`, or with the time of day as
/// `dmesg -T` prints it, `[Sat Nov 28 12:34:03 2026] text`.
pub(super) fn is_kernel_log(head: &[u8]) -> bool {
    /// Length of the name of a day, and of a whole date.
    const DAY_BYTES: usize = 3;
    const DATE_BYTES: usize = 24;
    /// Number of decimals of the time since the start.
    const DECIMALS: usize = 6;
    let first = head_lines(head).next().unwrap_or_default();
    let Some(inside) = first.strip_prefix(b"[") else { return false };
    let Some(close) = memchr::memmem::find(inside, b"] ") else { return false };
    let (time, text) = (&inside[..close], &inside[close + 2..]);
    let days = [&b"Mon"[..], b"Tue", b"Wed", b"Thu", b"Fri", b"Sat", b"Sun"];
    let is_date = time.len() == DATE_BYTES && days.contains(&&time[..DAY_BYTES]);
    let is_uptime = || {
        let time = time.trim_ascii_start();
        let point = memchr::memchr(b'.', time).unwrap_or_default();
        point > 0
            && time.len() == point + 1 + DECIMALS
            && time.iter().all(|byte| byte.is_ascii_digit() || *byte == b'.')
    };
    // Logs of Apache have a level in brackets after the date.
    is_date && !text.starts_with(b"[") || is_uptime()
}

/// Returns whether the first lines are of the log of Java's virtual machine.
pub(super) fn is_jvm_log(head: &[u8]) -> bool {
    is_unified_log(head) || is_uptime_log(head) || is_collection_log(head)
}

/// Returns whether the first line has decorations in brackets, with a level and tags.
fn is_unified_log(head: &[u8]) -> bool {
    let first = head_lines(head).next().unwrap_or_default();
    let mut decorations = first.split(|&byte| byte == b']').map_while(|text| text.strip_prefix(b"["));
    let is_level =
        |text: &[u8]| [&b"trace"[..], b"debug", b"info", b"warning", b"error"].contains(&text.trim_ascii_end());
    let is_tag = |byte: &u8| byte.is_ascii_lowercase() || matches!(byte, b',' | b' ');
    // Before the level is a time, at least.
    decorations.next().is_some_and(|time| time.iter().any(u8::is_ascii_digit))
        && decorations.by_ref().any(is_level)
        && decorations.next().is_some_and(|tags| tags.iter().all(is_tag))
}

/// Returns whether the lines have only the time since the start, as `[0.100s] GC(0) Pause Young`.
fn is_uptime_log(head: &[u8]) -> bool {
    let is_uptime = |line: &[u8]| {
        let Some(inside) = line.strip_prefix(b"[") else { return false };
        let time = &inside[..memchr::memmem::find(inside, b"] ").unwrap_or(0)];
        let number = time.strip_suffix(b"ms").or_else(|| time.strip_suffix(b"s")).unwrap_or_default();
        !number.is_empty() && number.iter().all(|byte| byte.is_ascii_digit() || *byte == b'.')
    };
    let mut lines = head_lines(head).filter(|line| !line.is_empty()).take(20).peekable();
    lines.peek().is_some() && lines.all(is_uptime) && (has_word(head, b"] GC(") || has_word(head, b"] Using "))
}

/// Returns whether one of the first lines is a collection of Java 8, such as `0.123: [GC (Allocation Failure)`.
fn is_collection_log(head: &[u8]) -> bool {
    head_lines(head).take(20).any(|line| {
        let kinds = [&b": [GC ("[..], b": [Full GC (", b": [GC pause (", b": [GC concurrent-"];
        line.first().is_some_and(u8::is_ascii_digit)
            && kinds.iter().any(|kind| memchr::memmem::find(line, kind).is_some())
    })
}

/// Returns whether the text begins with a map of bpftrace: `@[key]: 5` or `@name: 5`, or with a histogram below
/// `@name[key]:`.
pub(super) fn is_bpf_map(head: &[u8]) -> bool {
    let mut lines = head_lines(head).map(<[u8]>::trim_ascii).filter(|line| !line.is_empty());
    let Some(map) = lines.next().and_then(|line| line.strip_prefix(b"@")) else { return false };
    let name_bytes = map.iter().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_').count();
    let Some(colon) = memchr::memrchr(b':', map) else { return false };
    let (key, value) = (&map[name_bytes..colon], map[colon + 1..].trim_ascii());
    let has_key = key.is_empty() || key.starts_with(b"[") && key.ends_with(b"]");
    let is_count = !value.is_empty() && value.iter().all(u8::is_ascii_digit);
    let mut is_histogram =
        || value.is_empty() && lines.next().is_some_and(|line| line.starts_with(b"[") && line.contains(&b'|'));
    has_key && (is_count || is_histogram())
}
