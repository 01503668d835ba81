//! Writes the lines of a dump, and ids in them.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::Value;

use crate::base::escape::write_json;
use crate::model::{Id, TrackKey};

/// Fits most lines.
const LINE_BYTES: usize = 512;

/// The line of a span or an instant. As a `Value`, each of its members would take allocations.
#[derive(Serialize)]
pub(super) struct DumpedSlice<'a> {
    pub(super) t: &'static str,
    pub(super) id: u64,
    pub(super) ts: i64,
    /// -1 without an end in the trace.
    pub(super) dur: i128,
    pub(super) name: &'a str,
    pub(super) cat: Option<&'a str>,
    pub(super) track: u32,
    pub(super) depth: u16,
    pub(super) parent: Option<u64>,
    pub(super) thread_ts: Option<i64>,
    pub(super) thread_dur: Option<i64>,
    pub(super) args: Vec<(String, Value)>,
}

/// The line of a counter value.
#[derive(Serialize)]
pub(super) struct DumpedCounter {
    pub(super) t: &'static str,
    pub(super) ts: i64,
    pub(super) track: u32,
    pub(super) value: f64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) args: Vec<(String, Value)>,
}

/// Writes an object as a line.
pub(super) fn line(out: &mut dyn Write, object: &impl Serialize) -> io::Result<()> {
    // Written at once: a line has dozens of parts.
    let mut text = Vec::with_capacity(LINE_BYTES);
    write_json(&mut text, object)?;
    text.push(b'\n');
    out.write_all(&text)
}

/// Returns process and thread id, if both are numbers.
pub(super) fn ids_of(key: &TrackKey) -> Option<(i64, i64)> {
    match (&key.pid, &key.tid) {
        (&Id::Number(pid), &Id::Number(tid)) => Some((pid, tid)),
        _ => None,
    }
}

pub(super) fn id_value(id: &Id) -> Value {
    match id {
        Id::None => Value::Null,
        Id::Number(number) => Value::from(*number),
        Id::Text(text) => Value::from(&**text),
    }
}
