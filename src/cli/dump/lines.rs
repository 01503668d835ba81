//! Writes the lines of a dump, and ids in them.

use std::io::{self, Write};

use serde_json::Value;

use crate::base::escape::write_json;
use crate::model::{Id, TrackKey};

/// Writes an object as a line.
pub(super) fn line(out: &mut dyn Write, object: &Value) -> io::Result<()> {
    write_json(&mut *out, object)?;
    out.write_all(b"\n")
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
