//! Reads files: by position, decompressed, split into lines or records, with exact parsing of numbers.

pub(crate) mod ahead;
pub(crate) mod byte_reader;
pub(crate) mod decimal;
pub(crate) mod decompress;
mod gzip;
pub(crate) mod lengths;
pub(crate) mod lines;
pub(crate) mod source;
pub(crate) mod ticks;
pub(crate) mod trailing;
pub(crate) mod unpack;
