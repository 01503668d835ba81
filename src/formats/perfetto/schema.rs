//! Message types by name, from the descriptors in the trace. Types that Perfetto itself defines are in `types.txt`,
//! which `tests/proto/perfetto_types.py` generates.

use rustc_hash::FxHashMap;

use super::fields::{
    enum_descriptor, enum_value_descriptor, extension_descriptor, field_descriptor, field_label, file_descriptor,
    file_descriptor_set, message_descriptor,
};
use crate::formats::protobuf::decode::{Fields, ProtoValue};
use crate::formats::protobuf::message::ProtoMessage as _;
use crate::formats::protobuf::numbers::FieldNumber;
use crate::model::{Loss, Losses, SourcePos};

/// The message whose extensions are typed arguments.
pub(super) const TRACK_EVENT: &str = ".perfetto.protos.TrackEvent";

/// Table of the types that Perfetto defines.
const BUILT_IN: &str = include_str!("types.txt");

/// Limit for fields and enum values, about 100 MiB; Chromium has about 3,000.
const ROWS_MAX: usize = 1 << 20;

/// Field numbers of messages, enums and extensions in a file.
const OF_FILE: [FieldNumber; 3] =
    [file_descriptor::MESSAGE_TYPE, file_descriptor::ENUM_TYPE, file_descriptor::EXTENSION];

/// Field numbers of nested messages, enums and extensions in a message.
const OF_MESSAGE: [FieldNumber; 3] =
    [message_descriptor::NESTED_TYPE, message_descriptor::ENUM_TYPE, message_descriptor::EXTENSION];

/// Limit for nested types and messages, below the limit of 128 of the JSON parser.
pub(super) const DEPTH_MAX: u32 = 100;

/// The type of an undescribed field.
pub(super) const UNKNOWN: u64 = 0;

/// Message types, and names of enum values.
#[derive(Debug, Clone)]
pub(super) struct Schema {
    pub(super) messages: FxHashMap<Box<str>, FxHashMap<FieldNumber, SchemaField>>,
    pub(super) enums: FxHashMap<Box<str>, FxHashMap<i64, Box<str>>>,
    rows: usize,
}

#[derive(Debug, Clone, Default)]
pub(super) struct SchemaField {
    pub(super) name: Box<str>,
    pub(super) kind: u64,
    /// Its message or enum type.
    pub(super) type_name: Box<str>,
    pub(super) is_repeated: bool,
}

impl Default for Schema {
    fn default() -> Self {
        let mut schema = Self { messages: FxHashMap::default(), enums: FxHashMap::default(), rows: 0 };
        schema.add_built_in(BUILT_IN);
        schema
    }
}

impl Schema {
    /// Returns whether a message type is known, by its full name with a leading dot.
    pub(super) fn knows_type(&self, name: &str) -> bool {
        self.messages.contains_key(name)
    }

    /// Returns whether a field of track events has a known type.
    pub(super) fn knows(&self, number: FieldNumber) -> bool {
        self.messages.get(TRACK_EVENT).is_some_and(|fields| fields.contains_key(&number))
    }

    /// Adds the types of a table in the format of `types.txt`; ignores other lines.
    fn add_built_in(&mut self, table: &str) {
        let (mut fields, mut values) = (None, None);
        for line in table.lines() {
            let mut words = line.split(' ');
            let (Some(first), Some(second)) = (words.next(), words.next()) else { continue };
            match (first, first.parse::<u64>(), words.next()) {
                ("message", ..) => {
                    (fields, values) = (Some(self.messages.entry(full_name(second)).or_default()), None);
                }
                ("enum", ..) => (fields, values) = (None, Some(self.enums.entry(full_name(second)).or_default())),
                (_, Ok(number), Some(name)) => {
                    let kind = second.trim_end_matches('*');
                    let field = SchemaField {
                        name: name.into(),
                        kind: kind.parse().unwrap_or(UNKNOWN),
                        type_name: words.next().map(full_name).unwrap_or_default(),
                        is_repeated: kind.len() < second.len(),
                    };
                    if let Some(fields) = &mut fields
                        && let Some(number) = ProtoValue::Varint(number).field_number()
                    {
                        fields.insert(number, field);
                    }
                }
                (_, Ok(number), None) => {
                    if let Some(values) = &mut values {
                        values.insert(number.cast_signed(), second.into());
                    }
                }
                _ => {}
            }
        }
    }

    /// Adds the descriptors of a packet. They override the built-in table.
    pub(super) fn add_extension(&mut self, extension: &[u8], pos: SourcePos, losses: &mut Losses) {
        let sets = extension.repeated(extension_descriptor::EXTENSION_SET);
        for file in sets.flat_map(|set| set.repeated(file_descriptor_set::FILE)) {
            let package = text_field(file, file_descriptor::PACKAGE);
            let scope = if package.is_empty() { String::new() } else { format!(".{package}") };
            let bad_fields = self.add_types(file, OF_FILE, &scope, 0);
            losses.add_many(Loss::BadRecord, pos, bad_fields);
        }
        if self.rows >= ROWS_MAX {
            losses.add(Loss::OverLimit, pos);
        }
    }

    /// Adds the messages, enums and extensions of a file or message, given their field numbers. Returns the number of
    /// fields that could not be added.
    fn add_types(
        &mut self,
        bytes: &[u8],
        [messages, enums, extensions]: [FieldNumber; 3],
        scope: &str,
        depth: u32,
    ) -> u64 {
        let mut bad_fields = 0;
        for field in Fields::new(bytes) {
            if depth > DEPTH_MAX || self.rows >= ROWS_MAX {
                return bad_fields;
            }
            let inner = field.value.bytes();
            if field.number == extensions {
                let is_added = self.add_field(inner, &text_field(inner, field_descriptor::EXTENDEE));
                bad_fields += u64::from(!is_added);
            } else if field.number == messages {
                let name = format!("{scope}.{}", text_field(inner, message_descriptor::NAME));
                for field in inner.repeated(message_descriptor::FIELD) {
                    bad_fields += u64::from(!self.add_field(field, &name));
                }
                bad_fields += self.add_types(inner, OF_MESSAGE, &name, depth + 1);
            } else if field.number == enums {
                let name = format!("{scope}.{}", text_field(inner, enum_descriptor::NAME));
                let values = self.enums.entry(name.into()).or_default();
                for value in inner.repeated(enum_descriptor::VALUE) {
                    let number = Fields::new(value).find(|field| field.number == enum_value_descriptor::NUMBER);
                    let name = text_field(value, enum_value_descriptor::NAME);
                    values.insert(number.map_or(0, |field| field.value.signed()), name.into());
                    self.rows += 1;
                }
            }
        }
        bad_fields
    }

    /// Adds a field of a message. Returns false if its number is no field number.
    fn add_field(&mut self, bytes: &[u8], message: &str) -> bool {
        let (mut number, mut field) = (FieldNumber::NONE, SchemaField::default());
        for part in Fields::new(bytes) {
            match part.number {
                field_descriptor::NAME => field.name = lossy(part.value.bytes()).into(),
                field_descriptor::NUMBER => match part.value.field_number() {
                    Some(valid) => number = valid,
                    None => return false,
                },
                field_descriptor::LABEL => field.is_repeated = part.value.number() == field_label::LABEL_REPEATED,
                field_descriptor::TYPE => field.kind = part.value.number(),
                field_descriptor::TYPE_NAME => field.type_name = lossy(part.value.bytes()).into(),
                _ => {}
            }
        }
        self.rows += 1;
        self.messages.entry(message.into()).or_default().insert(number, field);
        true
    }
}

/// Returns the full name of a type in the table.
fn full_name(name: &str) -> Box<str> {
    format!(".perfetto.protos.{name}").into()
}

fn text_field(bytes: &[u8], number: FieldNumber) -> String {
    let field = Fields::new(bytes).find(|field| field.number == number);
    field.map(|field| lossy(field.value.bytes())).unwrap_or_default()
}

pub(super) fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
