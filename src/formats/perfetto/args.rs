//! Arguments of events -> the text of one JSON object, under the keys that Perfetto shows: `debug.name` and the like.
//! Messages of a type, as arguments or in an annotation, are in [`super::schema`].

use std::borrow::Cow;
use std::fmt::Write as _;

use super::fields::{debug_annotation, nested_type, nested_value};
use super::schema::TypedWriter;
use super::sequence::{InternedTexts, Location};
use super::tracks::PerfettoTracks;
use crate::formats::output::args::{ArgsWriter, push_quoted};
use crate::formats::protobuf::decode::{Fields, ProtoValue};
use crate::formats::protobuf::numbers::FieldNumber;
use crate::model::{Loss, Losses, SourcePos};

/// Frames of the stack of one event that are shown: recorders unwind no further, and each event may name the longest.
const FRAMES_SHOWN_MAX: usize = 1024;

/// The object around and the parser's own limit of 128 leave this much.
const DEPTH_MAX: u32 = 120;

impl ArgsWriter {
    /// Adds a place in a source.
    pub(super) fn location(&mut self, key: &str, location: &Location) {
        self.key("", key.as_bytes());
        self.json.push_str("{\"file_name\":");
        push_quoted(&mut self.json, &String::from_utf8_lossy(&location.file));
        self.json.push_str(",\"function_name\":");
        push_quoted(&mut self.json, &String::from_utf8_lossy(&location.function));
        let _ = write!(self.json, ",\"line_number\":{}}}", location.line); // to memory
    }

    /// Adds the names of frames, outermost first; those that are not there are counted.
    pub(super) fn stack<'n>(
        &mut self,
        key: &str,
        names: impl Iterator<Item = Option<Cow<'n, [u8]>>>,
        place: SourcePos,
        losses: &mut Losses,
    ) {
        self.key("", key.as_bytes());
        self.json.push('[');
        for (position, name) in names.enumerate() {
            if position >= FRAMES_SHOWN_MAX {
                losses.add(Loss::DeepNesting, place);
                break;
            }
            if position > 0 {
                self.json.push(',');
            }
            if name.is_none() {
                losses.add(Loss::MissingText, place);
            }
            push_quoted(&mut self.json, &String::from_utf8_lossy(&name.unwrap_or_default()));
        }
        self.json.push(']');
    }

    /// Adds a debug annotation: its name, then its value, as a member of the object.
    pub(super) fn annotation(&mut self, bytes: &[u8], shared: &mut Shared<'_>) {
        let key = annotation_name(bytes, shared.texts, shared.place, shared.losses);
        self.key("debug.", key);
        let mut writer = ValueWriter { json: &mut self.json, shared };
        writer.annotation(bytes, 0);
    }
}

/// The tables that annotations refer to, and the position and losses of their packet.
pub(super) struct Shared<'a> {
    pub(super) texts: &'a InternedTexts,
    /// Know the types of messages.
    pub(super) tracks: &'a mut PerfettoTracks,
    pub(super) place: SourcePos,
    pub(super) losses: &'a mut Losses,
}

/// The name of an annotation, in full or interned.
pub(super) fn annotation_name<'a>(
    bytes: &'a [u8],
    texts: &'a InternedTexts,
    place: SourcePos,
    losses: &mut Losses,
) -> &'a [u8] {
    for field in Fields::new(bytes) {
        match field.number {
            debug_annotation::NAME_IID => {
                let known = texts.argument_names.get(field.value.number());
                if known.is_none() {
                    losses.add(Loss::MissingText, place);
                }
                return known.map_or(&b"?"[..], |name| name);
            }
            debug_annotation::NAME => return field.value.bytes(),
            _ => {}
        }
    }
    b""
}

/// The value of an annotation that is a number, for counters of the oldest kind.
pub(super) fn annotation_number(bytes: &[u8]) -> Option<f64> {
    Fields::new(bytes).find_map(|field| match field.number {
        debug_annotation::BOOL_VALUE | debug_annotation::UINT_VALUE | debug_annotation::POINTER_VALUE => {
            Some(field.value.number() as f64)
        }
        debug_annotation::INT_VALUE => Some(field.value.signed() as f64),
        debug_annotation::DOUBLE_VALUE => Some(field.value.double()),
        _ => None,
    })
}

/// The value of an annotation that is text.
pub(super) fn annotation_text(bytes: &[u8]) -> Option<&[u8]> {
    let text = Fields::new(bytes).find(|field| field.number == debug_annotation::STRING_VALUE);
    text.map(|field| field.value.bytes())
}

struct ValueWriter<'a, 's> {
    json: &'a mut String,
    shared: &'a mut Shared<'s>,
}

impl ValueWriter<'_, '_> {
    fn lose(&mut self, loss: Loss) {
        self.shared.losses.add(loss, self.shared.place);
    }

    /// Writes a message by the type that the annotation names; fields that nothing describes by their numbers.
    fn message(&mut self, message: &[u8], annotation: &[u8], depth: u32) {
        let Shared { texts, tracks, place, losses } = &mut *self.shared;
        let mut of: &[u8] = b"";
        for field in Fields::new(annotation) {
            match field.number {
                debug_annotation::PROTO_TYPE_NAME_IID => match texts.argument_types.get(field.value.number()) {
                    Some(name) => of = name,
                    None => losses.add(Loss::MissingText, *place),
                },
                debug_annotation::PROTO_TYPE_NAME => of = field.value.bytes(),
                _ => {}
            }
        }
        let of = String::from_utf8_lossy(of);
        // Names in descriptors have a dot before them, which annotations may omit.
        let of = if of.starts_with('.') { of } else { format!(".{of}").into() };
        let schema = tracks.schema_with_type(&of);
        TypedWriter { json: self.json, schema, place: *place, losses, shows_unknown: true }
            .message(message, &of, depth);
    }

    fn annotation(&mut self, bytes: &[u8], depth: u32) {
        let begins_at = self.json.len();
        if depth > DEPTH_MAX {
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
            match field.number {
                _ if is_member && (close.is_some() || self.json.len() == begins_at) => {
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
                        let key =
                            annotation_name(value.bytes(), self.shared.texts, self.shared.place, self.shared.losses);
                        push_quoted(self.json, &String::from_utf8_lossy(key));
                        self.json.push(':');
                    }
                    self.annotation(value.bytes(), depth + 1);
                }
                _ if self.json.len() > begins_at => {} // the first value is the one
                debug_annotation::BOOL_VALUE => self.json.push_str(if value.number() == 0 { "false" } else { "true" }),
                debug_annotation::UINT_VALUE => self.display(value.number()),
                debug_annotation::INT_VALUE => self.display(value.signed()),
                debug_annotation::DOUBLE_VALUE => self.double(value.double()),
                debug_annotation::STRING_VALUE => push_quoted(self.json, &String::from_utf8_lossy(value.bytes())),
                debug_annotation::POINTER_VALUE => {
                    let _ = write!(self.json, "\"{:#x}\"", value.number()); // to memory
                }
                debug_annotation::NESTED_VALUE => self.nested(value.bytes(), depth + 1),
                debug_annotation::LEGACY_JSON_VALUE => self.raw_json(value.bytes()),
                debug_annotation::STRING_VALUE_IID => {
                    if let Some(text) = self.shared.texts.argument_values.get(value.number()) {
                        push_quoted(self.json, &String::from_utf8_lossy(text));
                    } else {
                        self.lose(Loss::MissingText);
                        self.json.push_str("null");
                    }
                }
                debug_annotation::PROTO_VALUE => self.message(value.bytes(), bytes, depth),
                _ => {}
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

    /// Writes a value of the older kind, where the keys and the values of a dictionary are separate lists.
    fn nested(&mut self, bytes: &[u8], depth: u32) {
        if depth > DEPTH_MAX {
            self.lose(Loss::DeepNesting);
            self.json.push_str("null");
            return;
        }
        let begins_at = self.json.len();
        let kind = Fields::new(bytes).find(|field| field.number == nested_value::NESTED_TYPE);
        let of = |number: FieldNumber| {
            Fields::new(bytes).filter(move |field| field.number == number).map(|field| field.value.bytes())
        };
        match kind.map_or(0, |field| field.value.number()) {
            nested_type::DICT => {
                self.json.push('{');
                for (position, (key, value)) in
                    of(nested_value::DICT_KEYS).zip(of(nested_value::DICT_VALUES)).enumerate()
                {
                    if position > 0 {
                        self.json.push(',');
                    }
                    push_quoted(self.json, &String::from_utf8_lossy(key));
                    self.json.push(':');
                    self.nested(value, depth + 1);
                }
                self.json.push('}');
            }
            nested_type::ARRAY => {
                self.json.push('[');
                for (position, value) in of(nested_value::ARRAY_VALUES).enumerate() {
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
                        (nested_value::DOUBLE_VALUE, value) => self.double(value.double()),
                        (nested_value::BOOL_VALUE, value) => {
                            self.json.push_str(if value.number() == 0 { "false" } else { "true" });
                        }
                        (nested_value::STRING_VALUE, ProtoValue::Bytes(text)) => {
                            push_quoted(self.json, &String::from_utf8_lossy(text));
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

    fn double(&mut self, value: f64) {
        // JSON has no word for the others.
        let _ = if value.is_finite() { write!(self.json, "{value:?}") } else { write!(self.json, "\"{value}\"") };
    }

    /// JSON in a text, if it is JSON.
    fn raw_json(&mut self, bytes: &[u8]) {
        let text = String::from_utf8_lossy(bytes);
        if serde_json::from_str::<serde::de::IgnoredAny>(&text).is_ok() {
            self.json.push_str(text.trim());
        } else {
            push_quoted(self.json, &text);
        }
    }
}
