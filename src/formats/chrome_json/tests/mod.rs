//! Tests of the whole reader. Everything goes through a file and [`crate::formats::detect`], as for a user.

mod bad_input;
mod phases;
mod progress;
mod properties;
mod real;

use std::io::Write as _;
use std::path::Path;

use super::read::open_in_pieces;
use crate::formats::source::Source;
use crate::formats::{BatchSink, ReadContext, ReadError, Reader, detect};
use crate::model::args::Detail;
use crate::model::{Batch, EventFlags, EventKind, Id, Loss, Losses, Metadata, TrackKind};

/// An event with its indices resolved, so that two readings can be compared whatever their batches.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Seen {
    pub(super) ts_ns: i64,
    pub(super) kind: EventKind,
    pub(super) name: String,
    pub(super) category: Option<String>,
    pub(super) track: TrackKind,
    pub(super) pid: Id,
    pub(super) tid: Id,
    pub(super) track_name: String,
    pub(super) value: u64,
    pub(super) flags: EventFlags,
    pub(super) thread_ts_ns: Option<i64>,
    pub(super) thread_dur_ns: Option<i64>,
    pub(super) args: String,
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

    pub(super) fn names(&self) -> Vec<&str> {
        self.events.iter().map(|event| event.name.as_str()).collect()
    }
}

impl BatchSink for Reading {
    fn accept(&mut self, batch: Batch) -> Result<(), ReadError> {
        assert!(batch.chunk.events.is_sorted_by_key(|event| event.ts_ns), "readers sort their batches");
        for event in &batch.chunk.events {
            let name = &batch.names[event.name.index()];
            let track = &batch.tracks[event.track.index()];
            let detail = Detail::decode(batch.chunk.details.blob(event.detail));
            self.events.push(Seen {
                ts_ns: event.ts_ns,
                kind: event.kind,
                name: name.text.to_string(),
                category: name.category.as_deref().map(str::to_owned),
                track: track.kind,
                pid: track.pid.clone(),
                tid: track.tid.clone(),
                track_name: track.name.to_string(),
                value: event.value,
                // How the capture was ordered is not what it says.
                flags: event.flags.without(EventFlags::LATE),
                thread_ts_ns: detail.thread_ts_ns,
                thread_dur_ns: detail.thread_dur_ns,
                args: detail.args_json.to_owned(),
            });
        }
        self.events.sort_by_key(|event| event.ts_ns);
        self.metadata.extend(batch.metadata);
        self.losses.merge(&batch.losses);
        Ok(())
    }
}

pub(super) fn context(threads: usize) -> ReadContext {
    ReadContext { threads, ..ReadContext::default() }
}

/// Reads a file as a user would open it.
pub(super) fn read_path(path: &Path) -> Result<Reading, ReadError> {
    finish(detect::open(path, &context(2))?, &context(2))
}

/// Reads bytes as a file.
pub(super) fn read_bytes(bytes: &[u8]) -> Result<Reading, ReadError> {
    read_path(file_of(bytes).path())
}

/// Reads text that must be a capture.
pub(super) fn read(text: &str) -> Reading {
    read_bytes(text.as_bytes()).expect("a capture")
}

/// Reads bytes with pieces of a given size.
pub(super) fn read_in_pieces(bytes: &[u8], piece_bytes: usize) -> Result<Reading, ReadError> {
    let file = file_of(bytes);
    let context = context(2);
    finish(open_in_pieces(Source::open(file.path(), &context)?, piece_bytes), &context)
}

fn finish(reader: Reader, context: &ReadContext) -> Result<Reading, ReadError> {
    let mut reading = Reading::default();
    match reader {
        Reader::Stream(mut reader) => reader.read(&mut reading, context)?,
        Reader::Chunks(_) => panic!("Chrome JSON is a stream"),
    }
    Ok(reading)
}

pub(super) fn file_of(bytes: &[u8]) -> tempfile::NamedTempFile {
    let mut file = tempfile::NamedTempFile::new().expect("a temporary file");
    file.write_all(bytes).expect("written");
    file
}
