//! Columns that the text outputs of the kernel tracers share: the task, and the duration of a function.

use crate::formats::input::decimal::nanos_from_micros;
use crate::formats::input::text::parsed;

/// Parses `comm-tid`. The name may contain dashes, and keeps its padding.
pub(super) fn comm_and_tid(text: &[u8]) -> Option<(&[u8], i64)> {
    let dash = memchr::memrchr(b'-', text)?;
    let tid = parsed(&text[dash + 1..]).filter(|&tid| tid >= 0)?;
    Some((&text[..dash], tid))
}

/// Parses a duration such as `+ 12.5 us`, where `+` marks a long one.
pub(super) fn function_dur_ns(column: &[u8]) -> Option<u64> {
    let micros = column.strip_suffix(b"us")?.trim_ascii_end();
    let micros = micros.rsplit(|&byte| byte == b' ').next()?;
    nanos_from_micros(micros).ok().and_then(|ns| u64::try_from(ns).ok())
}
