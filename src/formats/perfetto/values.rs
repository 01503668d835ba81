//! Writes argument values as JSON: debug annotations and typed messages, which may contain each other. Undescribed
//! fields of track events are counted as losses; undescribed fields of annotations are shown by number.

use std::fmt::Write as _;
use std::sync::Arc;

use super::fields::{debug_annotation, field_type, nested_type, nested_value};
use super::schema::{DEPTH_MAX, Schema, SchemaField, TRACK_EVENT, UNKNOWN, lossy};
use super::sequence::{InternedTexts, Location};
use super::tracks::PerfettoTracks;
use crate::formats::output::args::{lossy_text, push_double, push_quoted};
use crate::formats::protobuf::decode::{Fields, ProtoValue};
use crate::formats::protobuf::message::ProtoMessage as _;
use crate::formats::protobuf::numbers::FieldNumber;
use crate::model::args::Detail;
use crate::model::{Loss, Losses, SourcePos};

/// Limit for nested values, below the limit of 128 of the JSON parser minus the enclosing object.
const VALUE_DEPTH_MAX: u32 = 120;

/// The message whose entries become members of the enclosing message, under their own names.
const ANNOTATION: &str = ".perfetto.protos.DebugAnnotation";

/// The message whose name may be interned.
const HISTOGRAM: &str = ".perfetto.protos.ChromeHistogramSample";

/// Writes a source location as an object.
pub(super) fn write_location(json: &mut String, location: &Location) {
    json.push('{');
    push_location_members(json, location);
    json.push('}');
}

pub(super) fn push_location_members(json: &mut String, location: &Location) {
    json.push_str("\"file_name\":");
    push_quoted(json, &lossy_text(&location.file));
    json.push_str(",\"function_name\":");
    push_quoted(json, &lossy_text(&location.function));
    let _ = write!(json, ",\"line_number\":{}", location.line); // to memory
}

/// Writes the value of an annotation.
pub(super) fn write_annotation(json: &mut String, shared: &mut ValueTables<'_>, bytes: &[u8], depth: u32) {
    ValueWriter { json, shared }.annotation(bytes, depth);
}

/// The tables that annotations refer to, with position and losses of the current packet.
pub(super) struct ValueTables<'a> {
    pub(super) texts: &'a InternedTexts,
    /// Provides the message types.
    pub(super) tracks: &'a mut PerfettoTracks,
    pub(super) pos: SourcePos,
    pub(super) losses: &'a mut Losses,
}

impl ValueTables<'_> {
    pub(super) fn lose(&mut self, loss: Loss) {
        self.losses.add(loss, self.pos);
    }
}

/// Returns the name of an annotation, inline or interned.
pub(super) fn annotation_name<'a>(
    bytes: &'a [u8],
    texts: &'a InternedTexts,
    pos: SourcePos,
    losses: &mut Losses,
) -> &'a [u8] {
    for field in Fields::new(bytes) {
        match field.number {
            debug_annotation::NAME_IID => {
                let name = texts.argument_names.get(field.value.number());
                if name.is_none() {
                    losses.add(Loss::MissingText, pos);
                }
                return name.map_or(&b"?"[..], |name| name);
            }
            debug_annotation::NAME => return field.value.bytes(),
            _ => {}
        }
    }
    b""
}

struct ValueWriter<'a, 's> {
    json: &'a mut String,
    shared: &'a mut ValueTables<'s>,
}

impl ValueWriter<'_, '_> {
    fn lose(&mut self, loss: Loss) {
        self.shared.lose(loss);
    }

    /// Writes a message with the type that the annotation names; undescribed fields are keyed by number.
    fn message(&mut self, message: &[u8], annotation: &[u8], depth: u32) {
        let ValueTables { texts, tracks, pos, losses } = &mut *self.shared;
        let mut type_name: &[u8] = b"";
        for field in Fields::new(annotation) {
            match field.number {
                debug_annotation::PROTO_TYPE_NAME_IID => match texts.argument_types.get(field.value.number()) {
                    Some(name) => type_name = name,
                    None => losses.add(Loss::MissingText, *pos),
                },
                debug_annotation::PROTO_TYPE_NAME => type_name = field.value.bytes(),
                _ => {}
            }
        }
        let type_name = lossy_text(type_name);
        // Descriptor names have a leading dot, which annotations may omit.
        let type_name = if type_name.starts_with('.') { type_name } else { format!(".{type_name}").into() };
        let schema = tracks.schema_with_type(&type_name);
        TypedWriter { json: self.json, schema, shared: self.shared, shows_unknown: true }
            .message(message, &type_name, depth);
    }

    fn annotation(&mut self, bytes: &[u8], depth: u32) {
        let begins_at = self.json.len();
        if depth > VALUE_DEPTH_MAX {
            self.lose(Loss::DeepNesting);
            self.json.push_str("null");
            return;
        }
        let mut fields = Fields::new(bytes);
        let mut members = 0usize;
        let mut close = None;
        for field in fields.by_ref() {
            let value = field.value;
            let is_entry = field.number == debug_annotation::DICT_ENTRIES;
            let is_member = is_entry || field.number == debug_annotation::ARRAY_VALUES;
            if close.is_some() && !is_member {
                continue;
            }
            if self.json.len() > Detail::ARGS_BYTES_MAX {
                break; // too long to be kept
            }
            if is_member && (close.is_some() || self.json.len() == begins_at) {
                if close.is_none() {
                    close = Some(if is_entry { '}' } else { ']' });
                    self.json.push(if is_entry { '{' } else { '[' });
                }
                if (close == Some('}')) != is_entry {
                    continue; // a dictionary and an array at once
                }
                if members > 0 {
                    self.json.push(',');
                }
                members += 1;
                if is_entry {
                    let key = annotation_name(value.bytes(), self.shared.texts, self.shared.pos, self.shared.losses);
                    push_quoted(self.json, &lossy_text(key));
                    self.json.push(':');
                }
                self.annotation(value.bytes(), depth + 1);
            } else if self.json.len() == begins_at {
                // Only the first value counts.
                self.single_value(field.number, value, (bytes, depth));
            }
        }
        if let Some(close) = close {
            self.json.push(close);
        } else if self.json.len() == begins_at {
            self.json.push_str("null");
        }
        if fields.is_broken() {
            self.lose(Loss::BadRecord);
        }
    }

    /// Writes a value of an annotation that is neither a dictionary nor an array, if the field has one.
    fn single_value(&mut self, number: FieldNumber, value: ProtoValue<'_>, (annotation, depth): (&[u8], u32)) {
        match number {
            debug_annotation::BOOL_VALUE => self.json.push_str(if value.number() == 0 { "false" } else { "true" }),
            debug_annotation::UINT_VALUE => self.display(value.number()),
            debug_annotation::INT_VALUE => self.display(value.signed()),
            debug_annotation::DOUBLE_VALUE => push_double(self.json, value.double()),
            debug_annotation::STRING_VALUE => push_quoted(self.json, &lossy_text(value.bytes())),
            debug_annotation::POINTER_VALUE => {
                let _ = write!(self.json, "\"{:#x}\"", value.number()); // to memory
            }
            debug_annotation::NESTED_VALUE => self.nested(value.bytes(), depth + 1),
            debug_annotation::LEGACY_JSON_VALUE => self.raw_json(value.bytes()),
            debug_annotation::STRING_VALUE_IID => {
                if let Some(text) = self.shared.texts.argument_values.get(value.number()) {
                    push_quoted(self.json, &lossy_text(text));
                } else {
                    self.lose(Loss::MissingText);
                    self.json.push_str("null");
                }
            }
            debug_annotation::PROTO_VALUE => self.message(value.bytes(), annotation, depth),
            _ => {}
        }
    }

    /// Writes a legacy nested value, in which keys and values of a dictionary are separate lists.
    fn nested(&mut self, bytes: &[u8], depth: u32) {
        if depth > VALUE_DEPTH_MAX {
            self.lose(Loss::DeepNesting);
            self.json.push_str("null");
            return;
        }
        let begins_at = self.json.len();
        let kind = Fields::new(bytes).find(|field| field.number == nested_value::NESTED_TYPE);
        let field_values = |number: FieldNumber| bytes.repeated(number);
        match kind.map_or(0, |field| field.value.number()) {
            nested_type::DICT => {
                self.json.push('{');
                for (position, (key, value)) in
                    field_values(nested_value::DICT_KEYS).zip(field_values(nested_value::DICT_VALUES)).enumerate()
                {
                    if position > 0 {
                        self.json.push(',');
                    }
                    push_quoted(self.json, &lossy_text(key));
                    self.json.push(':');
                    self.nested(value, depth + 1);
                }
                self.json.push('}');
            }
            nested_type::ARRAY => {
                self.json.push('[');
                for (position, value) in field_values(nested_value::ARRAY_VALUES).enumerate() {
                    if position > 0 {
                        self.json.push(',');
                    }
                    self.nested(value, depth + 1);
                }
                self.json.push(']');
            }
            _ => {
                for field in Fields::new(bytes) {
                    match (field.number, field.value) {
                        _ if self.json.len() > begins_at => {}
                        (nested_value::INT_VALUE, value) => self.display(value.signed()),
                        (nested_value::DOUBLE_VALUE, value) => push_double(self.json, value.double()),
                        (nested_value::BOOL_VALUE, value) => {
                            self.json.push_str(if value.number() == 0 { "false" } else { "true" });
                        }
                        (nested_value::STRING_VALUE, ProtoValue::Bytes(text)) => {
                            push_quoted(self.json, &lossy_text(text));
                        }
                        _ => {}
                    }
                }
                if self.json.len() == begins_at {
                    self.json.push_str("null");
                }
            }
        }
    }

    fn display(&mut self, value: impl std::fmt::Display) {
        let _ = write!(self.json, "{value}"); // to memory
    }

    /// Writes text as JSON if it is valid, else as a string.
    fn raw_json(&mut self, bytes: &[u8]) {
        let text = lossy_text(bytes);
        if serde_json::from_str::<serde::de::IgnoredAny>(&text).is_ok() {
            self.json.push_str(text.trim());
        } else {
            push_quoted(self.json, &text);
        }
    }
}

/// Writes typed arguments as JSON, using a schema.
pub(super) struct TypedWriter<'a, 's> {
    pub(super) json: &'a mut String,
    pub(super) schema: Arc<Schema>,
    pub(super) shared: &'a mut ValueTables<'s>,
    /// Whether undescribed fields are keyed by number; otherwise they count as losses.
    pub(super) shows_unknown: bool,
}

impl TypedWriter<'_, '_> {
    /// Writes the given fields of a track event as members of the open object.
    pub(super) fn track_event(&mut self, bytes: &[u8], numbers: &[FieldNumber]) {
        let fields = Fields::new(bytes).filter(|field| numbers.contains(&field.number));
        self.members(fields.map(|field| (field.number, field.value)).collect(), TRACK_EVENT, 0);
    }

    /// Writes a message as an object.
    pub(super) fn message(&mut self, bytes: &[u8], type_name: &str, depth: u32) {
        self.json.push('{');
        if depth > DEPTH_MAX {
            self.shared.lose(Loss::DeepNesting);
        } else {
            let mut fields = Fields::new(bytes);
            let members = fields.by_ref().map(|field| (field.number, field.value)).collect();
            if fields.is_broken() {
                self.shared.lose(Loss::BadRecord);
            }
            self.members(members, type_name, depth);
        }
        self.json.push('}');
    }

    /// Writes fields sorted by number, so that repeated ones become one list. For other fields the last value counts.
    fn members(&mut self, mut fields: Vec<(FieldNumber, ProtoValue<'_>)>, type_name: &str, depth: u32) {
        fields.sort_by_key(|&(number, _)| number);
        let schema = Arc::clone(&self.schema);
        let types = schema.messages.get(type_name);
        let has_name = |fields: &[(FieldNumber, ProtoValue<'_>)]| {
            let name = types.and_then(|types| types.iter().find(|(_, field)| &*field.name == "name"));
            name.is_some_and(|(number, _)| fields.iter().any(|field| field.0 == *number))
        };
        for values in fields.chunk_by(|a, b| a.0 == b.0) {
            let number = values[0].0;
            let unknown;
            let field = if let Some(field) = types.and_then(|types| types.get(&number)) {
                field
            } else if self.shows_unknown {
                unknown = SchemaField::unknown(number, values);
                &unknown
            } else {
                let ValueTables { losses, pos, .. } = &mut *self.shared;
                losses.add_many(Loss::IgnoredArguments, *pos, values.len() as u64);
                continue;
            };
            if &*field.type_name == ANNOTATION {
                self.annotations(values, depth);
                continue;
            }
            if let Some(name) = field.name.strip_suffix("location_iid")
                && let Some(location) = self.shared.texts.locations.get(values[values.len() - 1].1.number())
            {
                self.key(&format!("{name}location"));
                write_location(self.json, location);
            }
            if type_name == HISTOGRAM
                && &*field.name == "name_iid"
                && !has_name(&fields)
                && let Some(name) = self.shared.texts.histograms.get(values[values.len() - 1].1.number())
            {
                self.key("name");
                push_quoted(self.json, &lossy(name));
            }
            self.key(&field.name);
            if field.is_repeated {
                self.list(field, values, depth);
            } else {
                self.value(field, values[values.len() - 1].1, depth);
            }
        }
    }

    /// Starts a member of the object.
    fn key(&mut self, name: &str) {
        if self.json.is_empty() {
            self.json.push('{');
        } else if !self.json.ends_with('{') {
            self.json.push(',');
        }
        push_quoted(self.json, name);
        self.json.push(':');
    }

    /// Writes annotations within a message as members under their own names.
    fn annotations(&mut self, values: &[(FieldNumber, ProtoValue<'_>)], depth: u32) {
        for (_, annotation) in values {
            let ValueTables { texts, pos, losses, .. } = &mut *self.shared;
            let name = lossy(annotation_name(annotation.bytes(), texts, *pos, losses));
            self.key(&name);
            write_annotation(self.json, self.shared, annotation.bytes(), depth + 1);
        }
    }

    fn list(&mut self, field: &SchemaField, values: &[(FieldNumber, ProtoValue<'_>)], depth: u32) {
        self.json.push('[');
        let begins_at = self.json.len();
        for &(_, value) in values {
            match value {
                ProtoValue::Bytes(packed)
                    if !matches!(
                        field.kind,
                        field_type::TYPE_STRING | field_type::TYPE_BYTES | field_type::TYPE_MESSAGE | UNKNOWN
                    ) =>
                {
                    for value in unpacked(packed, field.kind) {
                        self.comma(begins_at);
                        self.value(field, value, depth);
                    }
                }
                value => {
                    self.comma(begins_at);
                    self.value(field, value, depth);
                }
            }
        }
        self.json.push(']');
    }

    /// Writes a value of unknown type. Bytes become text if they are valid text, else a message if they parse as one.
    fn unknown(&mut self, value: ProtoValue<'_>, depth: u32) {
        let ProtoValue::Bytes(bytes) = value else {
            let _ = write!(self.json, "{}", value.number()); // to memory
            return;
        };
        let is_text = |text: &str| !text.chars().any(|letter| letter.is_control() && !"\t\r\n".contains(letter));
        match str::from_utf8(bytes) {
            Ok(text) if is_text(text) => push_quoted(self.json, text),
            _ if is_message(bytes) => self.message(bytes, "", depth + 1),
            _ => push_base64(self.json, bytes),
        }
    }

    fn comma(&mut self, begins_at: usize) {
        if self.json.len() > begins_at {
            self.json.push(',');
        }
    }

    fn value(&mut self, field: &SchemaField, value: ProtoValue<'_>, depth: u32) {
        let json = &mut *self.json;
        // All to memory.
        let _ = match field.kind {
            field_type::TYPE_MESSAGE => {
                self.message(value.bytes(), &field.type_name, depth + 1);
                Ok(())
            }
            field_type::TYPE_STRING => {
                push_quoted(json, &lossy(value.bytes()));
                Ok(())
            }
            field_type::TYPE_BYTES => {
                push_base64(json, value.bytes());
                Ok(())
            }
            field_type::TYPE_BOOL => write!(json, "{}", value.number() != 0),
            field_type::TYPE_ENUM => {
                let names = self.schema.enums.get(&field.type_name);
                match names.and_then(|names| names.get(&value.signed())) {
                    Some(name) => {
                        push_quoted(json, name);
                        Ok(())
                    }
                    None => write!(json, "{}", value.signed()),
                }
            }
            field_type::TYPE_DOUBLE | field_type::TYPE_FLOAT => {
                // A float has fewer digits than a double. JSON has no literals for NaN and infinities.
                let text = match value {
                    ProtoValue::Fixed32(bits) => format!("{:?}", f32::from_bits(bits)),
                    other => format!("{:?}", other.double()),
                };
                let quote = if value.double().is_finite() { "" } else { "\"" };
                write!(json, "{quote}{text}{quote}")
            }
            field_type::TYPE_INT64 | field_type::TYPE_INT32 | field_type::TYPE_SFIXED64 => {
                write!(json, "{}", value.signed())
            }
            field_type::TYPE_SFIXED32 => write!(json, "{}", value.number() as u32 as i32),
            field_type::TYPE_SINT32 | field_type::TYPE_SINT64 => write!(json, "{}", value.zigzag()),
            field_type::TYPE_UINT64 | field_type::TYPE_UINT32 | field_type::TYPE_FIXED64 | field_type::TYPE_FIXED32 => {
                write!(json, "{}", value.number())
            }
            UNKNOWN => {
                self.unknown(value, depth);
                Ok(())
            }
            // Groups, which are obsolete.
            _ => write!(json, "null"),
        };
    }
}

impl SchemaField {
    /// Creates the schema of an undescribed field with these values.
    fn unknown(number: FieldNumber, values: &[(FieldNumber, ProtoValue<'_>)]) -> Self {
        let is_repeated = values.len() > 1;
        Self { name: number.get().to_string().into(), kind: UNKNOWN, type_name: Box::default(), is_repeated }
    }
}

/// Returns whether bytes parse as a message.
fn is_message(bytes: &[u8]) -> bool {
    let mut fields = Fields::new(bytes);
    let all_numbered = fields.by_ref().all(|field| field.number != FieldNumber::NONE);
    all_numbered && !fields.is_broken()
}

/// Unpacks the values of a packed field.
fn unpacked(packed: &[u8], kind: u64) -> Vec<ProtoValue<'_>> {
    match kind {
        field_type::TYPE_FLOAT | field_type::TYPE_FIXED32 | field_type::TYPE_SFIXED32 => {
            let (chunks, _) = packed.as_chunks();
            chunks.iter().map(|chunk| ProtoValue::Fixed32(u32::from_le_bytes(*chunk))).collect()
        }
        field_type::TYPE_DOUBLE | field_type::TYPE_FIXED64 | field_type::TYPE_SFIXED64 => {
            let (chunks, _) = packed.as_chunks();
            chunks.iter().map(|chunk| ProtoValue::Fixed64(u64::from_le_bytes(*chunk))).collect()
        }
        _ => ProtoValue::Bytes(packed).varints().map(ProtoValue::Varint).collect(),
    }
}

/// Writes bytes as a JSON string in padded base64.
fn push_base64(json: &mut String, bytes: &[u8]) {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    json.push('"');
    for group in bytes.chunks(3) {
        let bits =
            group.iter().enumerate().fold(0u32, |bits, (index, &byte)| bits | u32::from(byte) << (16 - 8 * index));
        for index in 0..4 {
            let is_padding = index > group.len();
            let letter = LETTERS[(bits >> (18 - 6 * index) & 63) as usize];
            json.push(if is_padding { '=' } else { letter as char });
        }
    }
    json.push('"');
}
