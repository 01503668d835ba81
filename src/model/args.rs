//! Event arguments: JSON text as the trace has it, stored whole and parsed only for display.
//!
//! They are text and not a tree, because a trace may have a billion of them and a user looks at one. Storing the text
//! costs a copy; building a tree costs an allocation per value. Text also preserves numbers that no `f64` can
//! represent.

mod merge;

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use merge::merge_objects;

/// A string or a key of JSON that is borrowed if it has no escapes. A plain `Cow` would always be copied.
#[derive(Debug, Deserialize)]
pub(crate) struct JsonText<'a>(#[serde(borrow)] pub(crate) Cow<'a, str>);

/// The optional fields of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Detail<'a> {
    /// Thread CPU time at the start, in nanoseconds.
    pub thread_ts_ns: Option<i64>,
    /// Duration in thread CPU time, in nanoseconds.
    pub thread_dur_ns: Option<i64>,
    /// One JSON object as valid JSON text, or empty.
    pub args_json: &'a str,
}

/// Returns whether a JSON object, or an empty text, has a member. A text that is not an object has content to show.
#[must_use]
pub(crate) fn has_members(args_json: &str) -> bool {
    // An object without members has only braces and blanks.
    args_json.contains(|c: char| !c.is_whitespace() && c != '{' && c != '}')
}

/// The details of a chunk's events: blobs in one buffer, addressed by row.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Details {
    /// `ends[k]` is the end offset of blob `k` in `bytes`.
    pub(crate) ends: Vec<u32>,
    /// The blobs, encoded by [`Detail::encode_into`].
    pub(crate) bytes: Vec<u8>,
    /// Rows, as in [`super::Event::detail`], whose arguments were dropped because they exceed
    /// [`Detail::ARGS_BYTES_MAX`].
    #[serde(skip)]
    pub(crate) too_long: Vec<u32>,
    /// Number of blobs that were dropped because their end or row would exceed [`Self::INDEX_MAX`].
    #[serde(skip)]
    pub(crate) over_limit: u64,
}

const HAS_THREAD_TS: u8 = 1;
const HAS_THREAD_DUR: u8 = 2;

impl<'a> Detail<'a> {
    /// Maximum size of one event's arguments, in bytes. The merged arguments of a begin and its end then fit in a
    /// chunk, for which readers enforce a limit of 64 MiB.
    pub(crate) const ARGS_BYTES_MAX: usize = 16 << 20;

    /// Appends the blob of this detail: a byte of flags, the fixed fields that are present, and the JSON text.
    pub fn encode_into(&self, bytes: &mut Vec<u8>) {
        let mut flags = 0;
        if self.thread_ts_ns.is_some() {
            flags |= HAS_THREAD_TS;
        }
        if self.thread_dur_ns.is_some() {
            flags |= HAS_THREAD_DUR;
        }
        bytes.push(flags);
        for field in [self.thread_ts_ns, self.thread_dur_ns].into_iter().flatten() {
            bytes.extend_from_slice(&field.to_le_bytes());
        }
        bytes.extend_from_slice(self.args_json.as_bytes());
    }

    /// Decodes a blob. Malformed parts decode as absent: a damaged blob must not hide its span.
    #[must_use]
    pub fn decode(blob: &'a [u8]) -> Self {
        let Some((&flags, mut rest)) = blob.split_first() else { return Self::default() };
        let mut field = |flag: u8| -> Option<i64> {
            if flags & flag == 0 {
                return None;
            }
            let (bytes, tail) = rest.split_first_chunk::<8>()?;
            rest = tail;
            Some(i64::from_le_bytes(*bytes))
        };
        let thread_ts_ns = field(HAS_THREAD_TS);
        let thread_dur_ns = field(HAS_THREAD_DUR);
        Self { thread_ts_ns, thread_dur_ns, args_json: std::str::from_utf8(rest).unwrap_or("") }
    }

    /// Returns the blob of a span that begins with `self` and ends with `end`. The arguments are merged; at one key,
    /// `end` takes precedence.
    #[must_use]
    pub(crate) fn ended_by(&self, end: &Detail<'_>) -> Vec<u8> {
        let merged_args;
        let thread_dur_ns = match (self.thread_ts_ns, end.thread_ts_ns) {
            (Some(start_ns), Some(end_ns)) => end_ns.checked_sub(start_ns),
            _ => self.thread_dur_ns,
        };
        let args_json = match (self.args_json, end.args_json) {
            (args, "") | ("", args) => args,
            (begun, ended) => {
                merged_args = merge_objects(begun, ended);
                &merged_args
            }
        };
        // Room for the flags and both times: growing costs more than all the rest.
        let mut blob = Vec::with_capacity(1 + 2 * size_of::<i64>() + args_json.len());
        Detail { thread_ts_ns: self.thread_ts_ns, thread_dur_ns, args_json }.encode_into(&mut blob);
        blob
    }

    /// Returns whether no field is set.
    #[must_use]
    pub(crate) fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl Details {
    /// The last byte offset and row of a chunk's details. The decoded size of a chunk is limited to 64 MiB, far below.
    const INDEX_MAX: u32 = u32::MAX;

    /// Adds a detail and returns its [`super::Event::detail`]: 0 for an empty detail.
    pub fn push(&mut self, detail: &Detail<'_>) -> u32 {
        if detail.is_empty() {
            return 0;
        }
        let is_too_long = detail.args_json.len() > Detail::ARGS_BYTES_MAX;
        let args_json = if is_too_long { "" } else { detail.args_json };
        let start = self.bytes.len();
        Detail { args_json, ..*detail }.encode_into(&mut self.bytes);
        let row = self.close(start, Self::INDEX_MAX);
        if is_too_long {
            self.too_long.push(row);
        }
        row
    }

    /// Adds an encoded blob and returns its [`super::Event::detail`].
    pub fn push_blob(&mut self, blob: &[u8]) -> u32 {
        self.push_blob_within(blob, Self::INDEX_MAX)
    }

    fn push_blob_within(&mut self, blob: &[u8], index_max: u32) -> u32 {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(blob);
        self.close(start, index_max)
    }

    /// Returns the blob of an [`super::Event::detail`]; empty for 0 and for a row that does not exist.
    #[must_use]
    pub fn blob(&self, detail: u32) -> &[u8] {
        let Some(row) = (detail as usize).checked_sub(1) else { return &[] };
        let start = match row.checked_sub(1) {
            Some(before) => self.ends.get(before).copied().unwrap_or(0) as usize,
            None => 0,
        };
        let end = self.ends.get(row).copied().unwrap_or(0) as usize;
        self.bytes.get(start..end).unwrap_or(&[])
    }

    /// Ends a row at the end of `bytes`; it starts at `start`. If the end or the row exceeds `index_max`, the bytes are
    /// dropped and counted, and 0 is returned.
    fn close(&mut self, start: usize, index_max: u32) -> u32 {
        let within = |index: usize| u32::try_from(index).ok().filter(|&index| index <= index_max);
        let (Some(end), Some(row)) = (within(self.bytes.len()), within(self.ends.len() + 1)) else {
            self.bytes.truncate(start);
            self.over_limit += 1;
            return 0;
        };
        self.ends.push(end);
        row
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn details_come_back_as_they_went_in() {
        let mut details = Details::default();
        let both = Detail { thread_ts_ns: Some(-5), thread_dur_ns: Some(7), args_json: r#"{"a":1}"# };
        let one = Detail { thread_dur_ns: Some(9), ..Detail::default() };
        let rows = [details.push(&both), details.push(&Detail::default()), details.push(&one)];
        assert_eq!(rows, [1, 0, 2]);
        assert_eq!(Detail::decode(details.blob(1)), both);
        assert_eq!(Detail::decode(details.blob(0)), Detail::default());
        assert_eq!(Detail::decode(details.blob(2)), one);
        assert_eq!(details.blob(3), b"");
    }

    #[test]
    fn the_end_adds_its_arguments_and_the_threads_own_duration() {
        let begun = Detail { thread_ts_ns: Some(10), thread_dur_ns: None, args_json: r#"{"a":1,"b":2}"# };
        let ended = Detail { thread_ts_ns: Some(25), thread_dur_ns: None, args_json: r#"{"b":3.10}"# };
        let blob = begun.ended_by(&ended);
        let expected = Detail { thread_ts_ns: Some(10), thread_dur_ns: Some(15), args_json: r#"{"a":1,"b":3.10}"# };
        assert_eq!(Detail::decode(&blob), expected);
    }

    #[test]
    fn arguments_beyond_the_limit_are_left_out_and_noted() {
        let mut details = Details::default();
        let longest = format!(r#""{}""#, "x".repeat(Detail::ARGS_BYTES_MAX - 2));
        let row = details.push(&Detail { args_json: &longest, ..Detail::default() });
        assert_eq!((details.blob(row).len(), &*details.too_long), (1 + Detail::ARGS_BYTES_MAX, &[][..]));
        let longer = Detail { thread_ts_ns: Some(7), thread_dur_ns: None, args_json: &format!("{longest} ") };
        let row = details.push(&longer);
        assert_eq!(Detail::decode(details.blob(row)), Detail { args_json: "", ..longer });
        assert_eq!(details.too_long, [row]);
    }

    #[test]
    fn blobs_beyond_the_last_index_are_counted_and_never_those_of_another_row() {
        let mut details = Details::default();
        let rows = [&b"abc"[..], b"defgh", b"ij"].map(|blob| details.push_blob_within(blob, 5));
        assert_eq!((rows, details.over_limit), ([1, 0, 2], 1));
        assert_eq!([details.blob(1), details.blob(0), details.blob(2)], [&b"abc"[..], b"", b"ij"]);
        let rows = [details.push_blob_within(b"", 2), details.push_blob_within(b"k", 5)];
        assert_eq!((rows, details.over_limit, details.bytes.len()), ([0, 0], 3, 5));
    }

    #[test]
    fn a_cut_blob_reads_as_nothing_rather_than_panicking() {
        assert_eq!(Detail::decode(&[HAS_THREAD_TS, 1, 2]).thread_ts_ns, None);
    }
}
