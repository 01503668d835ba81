//! Writes samples as a pprof profile. Locations are functions by name. A name such as `file+0x12` is written as an
//! address in a mapping, which pprof tools can symbolise. Buffers the message, which has one sample for each stack and
//! set of labels.

use rustc_hash::FxHashMap;

use super::fields::{function, label, line, location, mapping, profile, sample, value_type};
use crate::formats::protobuf::encode::{push_bytes, push_message, push_number, push_varint};
use crate::formats::protobuf::numbers::FieldNumber;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PprofLabel {
    Text {
        key: String,
        value: String,
    },
    /// A number; `unit` may be empty.
    Number {
        key: String,
        value: i64,
        unit: String,
    },
}

/// A profile being built.
#[derive(Debug)]
pub(crate) struct PprofWriter {
    message: Vec<u8>,
    texts: Vec<Box<str>>,
    text_rows: FxHashMap<Box<str>, u64>,
    /// Location ids by frame name.
    locations: FxHashMap<Box<str>, u64>,
    /// Mapping ids by file name.
    mappings: FxHashMap<Box<str>, u64>,
    /// Encoded mappings. `code` has the encoded locations and functions.
    mapped: Vec<u8>,
    code: Vec<u8>,
}

impl PprofWriter {
    /// Creates a profile with these value types and their units.
    pub(crate) fn new<'t>(types: impl IntoIterator<Item = (&'t str, &'t str)>) -> Self {
        let mut writer = Self {
            message: Vec::new(),
            texts: vec![Box::default()],
            text_rows: [(Box::default(), 0)].into_iter().collect(),
            locations: FxHashMap::default(),
            mappings: FxHashMap::default(),
            mapped: Vec::new(),
            code: Vec::new(),
        };
        for (kind, unit) in types {
            let (kind, unit) = (writer.text(kind), writer.text(unit));
            push_message(&mut writer.message, profile::SAMPLE_TYPE, |message| {
                push_number(message, value_type::TYPE, kind);
                push_number(message, value_type::UNIT, unit);
            });
        }
        writer
    }

    /// Adds a sample: frames, innermost first, a value for each type, and labels.
    pub(crate) fn add<'f>(&mut self, frames: impl IntoIterator<Item = &'f str>, values: &[u64], labels: &[PprofLabel]) {
        let locations: Vec<u64> = frames.into_iter().map(|frame| self.location(frame)).collect();
        let rows: Vec<[u64; 4]> = labels.iter().map(|label| self.label(label)).collect();
        push_message(&mut self.message, profile::SAMPLE, |message| {
            push_packed(message, sample::LOCATION_ID, &locations);
            push_packed(message, sample::VALUE, values);
            for [key, words, number, unit] in rows {
                push_message(message, sample::LABEL, |message| {
                    push_number(message, label::KEY, key);
                    // Protobuf omits zeros.
                    let parts = [(label::STR, words), (label::NUM, number), (label::NUM_UNIT, unit)];
                    parts.into_iter().filter(|&(_, value)| value != 0).for_each(|(field, value)| {
                        push_number(message, field, value);
                    });
                });
            }
        });
    }

    /// Sets the value type that is shown first.
    pub(crate) fn set_default_type(&mut self, kind: &str) {
        let kind = self.text(kind);
        push_number(&mut self.message, profile::DEFAULT_SAMPLE_TYPE, kind);
    }

    /// Returns the encoded message. The start time is in nanoseconds since 1970, the duration in nanoseconds; 0 for
    /// none.
    pub(crate) fn finish(mut self, time_ns: i64, duration_ns: u64) -> Vec<u8> {
        let mut message = std::mem::take(&mut self.message);
        message.append(&mut self.mapped);
        message.append(&mut self.code);
        for text in &self.texts {
            push_bytes(&mut message, profile::STRING_TABLE, text.as_bytes());
        }
        if time_ns != 0 {
            push_number(&mut message, profile::TIME_NANOS, time_ns.cast_unsigned());
        }
        if duration_ns != 0 {
            push_number(&mut message, profile::DURATION_NANOS, duration_ns);
        }
        message
    }

    fn text(&mut self, text: &str) -> u64 {
        if let Some(&row) = self.text_rows.get(text) {
            return row;
        }
        let new = self.texts.len() as u64;
        self.texts.push(text.into());
        self.text_rows.insert(text.into(), new);
        new
    }

    /// Returns the encoded label: key, text, number, unit.
    fn label(&mut self, label: &PprofLabel) -> [u64; 4] {
        match label {
            PprofLabel::Text { key, value } => [self.text(key), self.text(value), 0, 0],
            PprofLabel::Number { key, value, unit } => [self.text(key), 0, value.cast_unsigned(), self.text(unit)],
        }
    }

    fn location(&mut self, name: &str) -> u64 {
        if let Some(&id) = self.locations.get(name) {
            return id;
        }
        let id = self.locations.len() as u64 + 1;
        self.locations.insert(name.into(), id);
        if let Some((file, offset)) = address_in_file(name) {
            let mapping_id = self.mapping(file);
            push_message(&mut self.code, profile::LOCATION, |message| {
                push_number(message, location::ID, id);
                push_number(message, location::MAPPING_ID, mapping_id);
                push_number(message, location::ADDRESS, offset);
            });
            return id;
        }
        let name = self.text(name);
        push_message(&mut self.code, profile::LOCATION, |message| {
            push_number(message, location::ID, id);
            push_message(message, location::LINE, |message| push_number(message, line::FUNCTION_ID, id));
        });
        push_message(&mut self.code, profile::FUNCTION, |message| {
            push_number(message, function::ID, id);
            push_number(message, function::NAME, name);
            push_number(message, function::SYSTEM_NAME, name);
        });
        id
    }

    /// Returns the id of the mapping of a file, whose addresses are file offsets.
    fn mapping(&mut self, file: &str) -> u64 {
        if let Some(&id) = self.mappings.get(file) {
            return id;
        }
        let id = self.mappings.len() as u64 + 1;
        self.mappings.insert(file.into(), id);
        let file = self.text(file);
        push_message(&mut self.mapped, profile::MAPPING, |message| {
            push_number(message, mapping::ID, id);
            push_number(message, mapping::FILENAME, file);
        });
        id
    }
}

/// Parses `file+0x12`; returns `None` for function names, recognised by an empty file, spaces, parentheses or slashes.
fn address_in_file(name: &str) -> Option<(&str, u64)> {
    let (file, offset) = name.rsplit_once("+0x")?;
    let is_written = !file.is_empty() && !file.contains([' ', '(', '/']) && !offset.starts_with(['+', '0']);
    Some((file, u64::from_str_radix(offset, 16).ok()?)).filter(|_| is_written)
}

fn push_packed(message: &mut Vec<u8>, field: FieldNumber, numbers: &[u64]) {
    let mut packed = Vec::with_capacity(2 * numbers.len());
    numbers.iter().for_each(|&number| push_varint(&mut packed, number));
    push_bytes(message, field, &packed);
}
