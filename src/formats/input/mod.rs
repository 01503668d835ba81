//! From a file to the bytes of a capture: opened by position, decompressed, cut into lines or records,
//! and the numbers that text holds.

pub(crate) mod ahead;
pub(crate) mod byte_reader;
pub(crate) mod decimal;
pub(crate) mod decompress;
pub(crate) mod lengths;
pub(crate) mod lines;
pub(crate) mod source;
pub(crate) mod ticks;
pub(crate) mod unpack;
