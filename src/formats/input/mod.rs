//! Reads files: by position, decompressed, split into lines or records, with exact parsing of numbers.

pub(crate) mod ahead;
pub(crate) mod base64;
pub(crate) mod byte_reader;
pub(crate) mod decimal;
pub(crate) mod decompress;
pub(crate) mod lengths;
pub(crate) mod lines;
pub(crate) mod members;
pub(crate) mod packed_end;
pub(crate) mod page_head;
pub(crate) mod source;
pub(crate) mod text;
pub(crate) mod ticks;
pub(crate) mod unpack;
