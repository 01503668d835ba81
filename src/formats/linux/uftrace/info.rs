//! The text of `info`: specifications of the recorded arguments and return values of functions, by name.

use rustc_hash::FxHashMap;

use super::arguments::{CallSpecs, ValueSpecs};
use super::wire::UftraceHeader;
use crate::formats::ReadError;
use crate::formats::input::byte_reader::ByteReader;
use crate::formats::input::source::Source;

/// Limit for the text, which lists some hundred functions.
const TEXT_BYTES_MAX: usize = 4 << 20;

/// The text of `info` as far as it is used.
#[derive(Debug, Default)]
pub(super) struct UftraceInfo {
    /// Values by the name of a function.
    pub(super) specs_by_name: FxHashMap<Box<[u8]>, CallSpecs>,
    pub(super) has_relative_symbols: bool,
    pub(super) word_bytes: usize,
}

impl UftraceInfo {
    /// Reads the rest of the file.
    pub(super) fn read(source: Source, header: UftraceHeader) -> Result<Self, ReadError> {
        let mut input = ByteReader::new(source);
        input.skip(header.bytes.into())?;
        let UftraceHeader { has_relative_symbols, word_bytes, .. } = header;
        let mut info = Self { has_relative_symbols, word_bytes, ..Self::default() };
        info.add_lines(input.peek(TEXT_BYTES_MAX)?);
        Ok(info)
    }

    fn add_lines(&mut self, text: &[u8]) {
        for line in text.split(|&byte| byte == b'\n') {
            let Some(colon) = memchr::memchr(b':', line) else { continue };
            // The specifications of the user precede the built-in ones, and win.
            let is_return = match &line[..colon] {
                b"argspec" | b"argauto" => false,
                b"retspec" | b"retauto" => true,
                _ => continue,
            };
            for function in line[colon + 1..].split(|&byte| byte == b';') {
                let Some(at) = memchr::memchr(b'@', function) else { continue };
                let specs = self.specs_by_name.entry(function[..at].into()).or_default();
                let list = if is_return { &mut specs.returned } else { &mut specs.arguments };
                if list.is_none() {
                    *list = ValueSpecs::parse(&function[at + 1..], self.word_bytes);
                }
            }
        }
    }
}
