//! Readers of trace formats: bytes in, batches of events or sortable chunks out. Never sorts across chunks, never
//! nests.
//!
//! A format is one file, or a folder with a `wire` (its layout) and a `read` (its events). It implements one of two
//! traits: [`StreamReader`] if it is parsed sequentially, [`ChunkSource`] if it has chunks that can be fetched in any
//! order, given their headers. Text with one record per line implements [`input::lines::LineParser`] only.
//!
//! Imports run one way: `error`, `reader` and `format` at the bottom, `input`, `output`, `json` and `protobuf` above
//! them. Then come the formats, each of which exports a [`format::Format`] constant, then archives, `sniff` with the
//! table of all formats, and `multi::files`.

pub(crate) mod cargo_timings;
pub(crate) mod chrome;
pub(crate) mod error;
pub(crate) mod format;
pub(crate) mod fxt;
pub(crate) mod input;
mod json;
pub(crate) mod linux;
pub(crate) mod live;
pub(crate) mod multi;
pub(crate) mod native;
pub(crate) mod ninja;
pub(crate) mod otlp;
pub(crate) mod output;
mod page;
pub(crate) mod perfetto;
pub(crate) mod profiles;
mod protobuf;
pub(crate) mod reader;
pub(crate) mod record_check;
pub(crate) mod requests;
pub(crate) mod sniff;
pub(crate) mod spall;
pub(crate) mod tracy;
mod unsupported;

#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

pub(crate) use error::{ReadError, RefusedKind};
pub(crate) use reader::{
    BatchSink, ChunkHead, ChunkLimits, ChunkSource, ChunkedTrace, ReadContext, Reader, StoreParts, StreamReader,
    TraceFiles,
};
