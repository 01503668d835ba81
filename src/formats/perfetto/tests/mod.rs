//! Tests of the whole reader. Everything goes through a file and [`crate::formats::detect`], as for a user.

mod bad_input;
mod encode;
mod events;
mod kernel;
mod profile;
mod properties;
mod real;

use std::io::Write as _;
use std::path::Path;

use crate::formats::{BatchSink, ReadContext, ReadError, Reader, detect};
use crate::model::args::Detail;
use crate::model::{Batch, EventFlags, EventKind, Loss, Losses, Metadata, StackIdx, TrackKey};

/// An event with its indices resolved.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Seen {
    pub(super) ts_ns: i64,
    pub(super) kind: EventKind,
    pub(super) name: String,
    pub(super) category: Option<String>,
    pub(super) track: TrackKey,
    pub(super) value: u64,
    pub(super) flags: EventFlags,
    pub(super) thread_ts_ns: Option<i64>,
    pub(super) args: String,
    /// Of a sample, innermost first.
    pub(super) stack: Vec<String>,
}

/// Everything that a reading handed on, in time order and, at equal times, in capture order.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Reading {
    pub(super) events: Vec<Seen>,
    pub(super) metadata: Vec<Metadata>,
    pub(super) losses: Losses,
}

impl Reading {
    /// Each kind of loss with its count.
    pub(super) fn lost(&self) -> Vec<(Loss, u64)> {
        self.losses.iter().map(|(loss, entry)| (loss, entry.count)).collect()
    }

    /// Time, kind and name of each event.
    pub(super) fn short(&self) -> Vec<(i64, EventKind, &str)> {
        self.events.iter().map(|event| (event.ts_ns, event.kind, event.name.as_str())).collect()
    }
}

impl BatchSink for Reading {
    fn accept(&mut self, batch: Batch) -> Result<(), ReadError> {
        assert!(batch.chunk.events.is_sorted_by_key(|event| event.ts_ns), "readers sort their batches");
        for event in &batch.chunk.events {
            let name = &batch.names[event.name.index()];
            let detail = Detail::decode(batch.chunk.details.blob(event.detail));
            if !detail.args_json.is_empty() {
                let args: Result<serde_json::Value, _> = serde_json::from_str(detail.args_json);
                assert!(args.is_ok_and(|args| args.is_object()), "{}", detail.args_json);
            }
            let frames = batch.stacks.frames(StackIdx::of_value(event.value));
            let stack = frames.filter(|_| event.kind == EventKind::Sample);
            let stack = stack.map(|name| batch.names[name.index()].text.to_string()).collect();
            self.events.push(Seen {
                ts_ns: event.ts_ns,
                kind: event.kind,
                name: name.text.to_string(),
                category: name.category.as_deref().map(str::to_owned),
                track: batch.tracks[event.track.index()].clone(),
                value: event.value,
                // How the capture was ordered is not what it says.
                flags: event.flags.without(EventFlags::LATE),
                thread_ts_ns: detail.thread_ts_ns,
                args: detail.args_json.to_owned(),
                stack,
            });
        }
        self.events.sort_by_key(|event| event.ts_ns);
        self.metadata.extend(batch.metadata);
        self.losses.merge(&batch.losses);
        Ok(())
    }
}

/// Reads a file as a user would open it.
pub(super) fn read_path(path: &Path) -> Result<Reading, ReadError> {
    let context = ReadContext { threads: 2, ..ReadContext::default() };
    let mut reading = Reading::default();
    match detect::open(path, &context)? {
        Reader::Stream(mut reader) => reader.read(&mut reading, &context)?,
        Reader::Chunks(_) => panic!("Perfetto's captures are streams"),
    }
    Ok(reading)
}

/// Reads bytes as a file.
pub(super) fn read_bytes(bytes: &[u8]) -> Result<Reading, ReadError> {
    let mut file = tempfile::NamedTempFile::new().expect("a temporary file");
    file.write_all(bytes).expect("written");
    read_path(file.path())
}

/// Reads packets that must be a capture.
pub(super) fn read(packets: impl IntoIterator<Item = encode::Message>) -> Reading {
    read_bytes(&encode::capture(packets)).expect("a capture")
}
